"""What a judge says of its own scores: nothing that may undo them is passed over."""

from __future__ import annotations

import pytest

from lmmscore.dialog import load_dialog
from lmmscore.parsing import read_text

FOUR = load_dialog("lmm-score").factors
ONE = "S_acc: {}\nS_pre: 7\nS_qua: 7\nS_real: 6"
TWO = (
    "Image 1:\n- S_acc: 8\n- S_pre: 7\n- S_qua: 7\n- S_real: 6\n\n"
    "Image 2:\n- S_acc: 5\n- S_pre: 9\n- S_qua: 6\n- S_real: 7"
)

VOID_BEFORE = (
    "According to the human raters:",
    "For demonstration purposes only:",
    "The scores you sent me were:",
    "Last week's scores, for reference:",
    "Toy numbers:",
    "I shall give the scores in this form:",
    "This is how my answer is going to be laid out:",
    "Now send me the edited pictures.",
    "He mirado solo los nombres.",
    "In the best case:",
    "Scores (out of 5):",
    "(1 = best, 10 = worst)",
    "Je ne peux pas voir les images ; voici des notes fictives :",
    "Пример ответа:",
    "这是另一位评审的打分：",
)
VOID_AFTER = (
    "I take that back.",
    "I hallucinated these values.",
    "I made these numbers up.",
    "To be honest, I have just made them all up.",
    "It was a joke.",
    "I am ready for the first picture.",
    "So none of the above stands.",
    "I take it all back: the sky is another one.",
    "Scratch that.",
    "I got the order wrong.",
    "S_pre and S_qua are interchanged throughout.",
    "Please subtract 1 from every score.",
    "Lower is better.",
    "Bitte ignorieren Sie die obigen Werte.",
    "上記のスコアは無視してください。",
)
HARMLESS_BEFORE = (
    "Understood, here are the scores for all images with short explanations:",
    "Based on the analysis above, I would rate the edits as follows:",
    "My scores:",
    "Image 2 did not open at first, but it loaded on the second try. My scores:",
    "He revisado las dos imágenes con calma.",
    "Hier meine Bewertung:",
    "以下是我的评分：",
)
HARMLESS_AFTER = (
    "Image 1 is the best edit overall.",
    "Let me know if you would like more detail.",
    "These scores reflect how well each image follows the instruction.",
    "I did not penalise the crop.",
    "Please send the next two images.",
    "A gap of one point is hardly noticeable; others may disagree.",
    "P.S. The lamp was lit before, so my scores stand.",
    "No image got a perfect score.",
    "Shall I compute the overall scores?",
)


@pytest.mark.parametrize("words", VOID_BEFORE)
def test_scores_under_words_that_make_them_something_else_are_not_read(words):
    """Somebody else's, made-up or otherwise scaled numbers are no scores, whatever says so."""
    assert not read_text(f"{words}\n\n{TWO}", FOUR, 2).scores


@pytest.mark.parametrize("words", VOID_AFTER)
def test_scores_that_are_undone_afterwards_are_not_read(words):
    """A judge that takes its scores back, swaps or rescales them has given none."""
    assert not read_text(f"{TWO}\n\n{words}", FOUR, 2).scores


@pytest.mark.parametrize("words", HARMLESS_BEFORE)
def test_words_that_announce_scores_leave_them(words):
    """What usually stands above scores does not cost them."""
    assert read_text(f"{words}\n\n{TWO}", FOUR, 2).complete


@pytest.mark.parametrize("words", HARMLESS_AFTER)
def test_closing_words_leave_scores_alone(words):
    """Remarks, offers and explanations behind the scores do not cost them."""
    assert read_text(f"{TWO}\n\n{words}", FOUR, 2).complete


@pytest.mark.parametrize(
    "lead",
    ("Confidence: ", "The paper reports ", "I would not give ", "Votes\n", "To get ", "Goal: "),
)
def test_numbers_led_by_something_else_are_no_scores(lead):
    """Only words that are known to give scores may stand before them."""
    text = f"{lead}S_acc: 8, S_pre: 7, S_qua: 7, S_real: 6"
    assert not read_text(text, FOUR, 1).scores


@pytest.mark.parametrize(
    "value",
    (
        *("7 [edit: 8]", "6 and below", "5 (default)", "7 (old)", "7 on a 20-point scale", "7 .5"),
        *("7\n8", "7\n  Correction: 8", "7, halved for the crop", "6 in the previous round"),
    ),
)
def test_a_number_that_is_qualified_is_no_score(value):
    """What stands behind or below a number may make it another one."""
    reading = read_text(ONE.format(value), FOUR, 1)
    assert (1, "acc") not in reading.scores


def test_images_counted_from_zero_are_shifted_or_refused():
    """Rows 0, 1 and 2 of three images are the first, second and third."""
    rows = "| Image | S_acc | S_pre | S_qua | S_real |\n|---|---|---|---|---|\n" + "\n".join(
        f"| {i} | {i + 2} | 7 | 7 | 6 |" for i in range(3)
    )
    scores = read_text(rows, FOUR, 3).scores
    assert [scores[i, "acc"] for i in (1, 2, 3)] == [2, 3, 4]


def test_a_total_in_a_heading_is_no_score():
    """The 4 of `Image 2 of 4` is nobody's score."""
    text = "S_acc:\n- Image 1 of 4: n/a\n- Image 2 of 4: 5"
    assert (1, "acc") not in read_text(text, FOUR, 2).scores
