"""Explanations that name other factors, other numbers and other verdicts leave scores where they are."""

from __future__ import annotations

import pytest

from lmmscore.dialog import load_dialog
from lmmscore.parsing import read_text

FOUR = load_dialog("lmm-score").factors
ONE = "S_acc: 8\nS_pre: 7\nS_qua: 9\nS_real: 6"
TWO = (
    "Image 1: S_acc: 8, S_pre: 7, S_qua: 9, S_real: 6\n"
    "Image 2: S_acc: 5, S_pre: 9, S_qua: 4, S_real: 3"
)


def read(reply: str, n: int = 1) -> dict[str, int]:
    """Return the scores of a reply by image and factor."""
    return {
        f"{at}.{key}": int(score) for (at, key), score in read_text(reply, FOUR, n).scores.items()
    }


@pytest.mark.parametrize(
    "aside",
    [
        "Visual Quality is another matter.",
        "S_qua is another matter.",
        "More a question of Visual Quality.",
        "See also visual quality",
        "Which costs it something in S_qua, too.",
    ],
)
@pytest.mark.parametrize(
    "layout",
    [
        "#### Editing Accuracy\n{aside}\nScore: 3",
        "- **Editing Accuracy**\n    - {aside}\n    - Score: 3",
        "Editing Accuracy:\n  reason: {aside}\n  score: 3",
    ],
)
def test_a_factor_that_an_explanation_mentions_gets_no_score(layout: str, aside: str) -> None:
    """The score below is of the factor that heads the explanation, or nobody's."""
    found = read(layout.format(aside=aside))
    assert found in ({"1.acc": 3}, {})
    more = f"**Image 1**\n{layout.format(aside=aside)}\n\n**Image 2**\nS_acc: 4\nS_qua: 5"
    assert "1.qua" not in read(more, 2)


def test_a_factor_mentioned_in_a_list_under_another_gets_no_score() -> None:
    """In a list by factor the heading says what is scored."""
    reply = (
        "**Accuracy**\n#### Image 1\nFine.\nScore: 7\n#### Image 2\nFine, too.\nScore: 8\n\n"
        "**Realism**\n#### Image 1\nVisual quality is another matter.\nScore: 6\n"
        "#### Image 2\nThe shadow is missing.\nScore: 2"
    )
    assert not {"1.qua", "2.qua"} & set(read(reply, 2))


def test_a_number_that_heads_the_next_list_is_not_of_the_name_above() -> None:
    """Names listed under their scores."""
    reply = "### 7/10\n- Image 1: S_pre\n\n### 6/10\n- Image 1: S_acc\n\n### 5/10\n- Image 1: S_qua"
    assert read(reply) in ({}, {"1.pre": 7, "1.acc": 6, "1.qua": 5})


def test_a_remark_column_may_name_factors_and_numbers() -> None:
    """A table stays one, and a blank score stays blank."""
    reply = (
        "Factor\tImage #\tValue\tReason\n"
        "editing accuracy\t1\t10\tunlike the source, it keeps all 7 candles\n"
        "visual quality\t1\t\tthe crop hides about 30% of it\n"
        "logical realism\t1\t8\tits preservation of 9 notwithstanding"
    )
    assert read(reply) == {"1.acc": 10, "1.real": 8}


def test_a_remark_right_under_a_score_does_not_end_its_section() -> None:
    """However short it is, if a heading names the factor."""
    block = "\n\n".join(
        f"#### {factor.name}\n**Score: {score}/10**\nFine."
        for factor, score in zip(FOUR, (9, 6, 8, 7), strict=True)
    )
    scores = {f"{image}.{factor.key}" for image in (1, 2) for factor in FOUR}
    assert set(read(f"### Image 1\n{block}\n\n### Image 2\n{block}", 2)) == scores


def test_verdicts_side_by_side_under_labels_are_none() -> None:
    """Neither is the judge's, though one of the labels alone would leave its scores."""
    reply = (
        "Strictly judged: S_acc: 5, S_pre: 6, S_qua: 4, S_real: 5\n"
        "Leniently judged: S_acc: 7, S_pre: 8, S_qua: 6, S_real: 7"
    )
    assert read(reply) == {}


@pytest.mark.parametrize(
    "label", ["Mean of the two", "Mean", "Averages over both images", "Medians"]
)
def test_averages_behind_scores_correct_nothing(label: str) -> None:
    """A row of averages gives no image another number."""
    reply = f"{TWO}\n\n{label}: S_acc: 6.5, S_pre: 8, S_qua: 6.5, S_real: 4.5"
    assert len(read(reply, 2)) == 8


@pytest.mark.parametrize(
    "reply",
    [
        ONE.replace("8", "8 (see note 2)"),
        ONE.replace("8", "8 (cf. remark 3)"),
        "S_acc: 8 баллов\nS_pre: 7 баллов\nS_qua: 9 баллов\nS_real: 6 баллов",
        "<details><summary>Reasoning</summary>\n\nS_acc: 3 at first\n\n</details>\n\n" + ONE,
        "| Symbol | Factor | Weight | Score |\n|---|---|---|---|\n| S_acc | Editing Accuracy | 40% | 8 |\n"
        "| S_pre | Contextual Preservation | 30% | 7 |\n| S_qua | Visual Quality | 20% | 9 |\n"
        "| S_real | Logical Realism | 10% | 6 |",
        "编辑准确性（S_acc）：汽车已变为蓝色，得分：8\n上下文保持（S_pre）：3盏路灯没有变化，得分：7\n"
        "视觉质量（S_qua）：车牌略有模糊，得分：9\n逻辑真实性（S_real）：水中倒影仍为红色，得分：6",
        "S_acc: the car is now blue, score: 8\nS_pre: 3 lamps are unchanged, score: 7\n"
        "S_qua: sharp, score: 9\nS_real: the mirror image is still red, score: 6",
        f"Here is the scoring grid:\n\n{ONE}",
        f"{ONE}\n\nIf you wish, I can compute the overall scores with the weights 0.4, 0.3, 0.2 and 0.1.",
    ],
)
def test_forms_that_are_read_whole(reply: str) -> None:
    """References, units, folded reasoning, columns of symbols, reasons before their score."""
    assert read(reply) == {"1.acc": 8, "1.pre": 7, "1.qua": 9, "1.real": 6}


def test_a_misspelt_symbol_leaves_the_score_before_it() -> None:
    """What is unknown is not read; the rest is."""
    reply = TWO.replace("S_real", "S_rael")
    first, second = {"1.acc": 8, "1.pre": 7, "1.qua": 9}, {"2.acc": 5, "2.pre": 9, "2.qua": 4}
    assert read(reply, 2) == first | second


def test_numbers_in_words_before_their_names() -> None:
    """Given to an image, one factor after the other."""
    reply = "Image 1 gets nine for accuracy, six for preservation, eight for quality and one for realism."
    assert read(reply, 2) == {"1.acc": 9, "1.pre": 6, "1.qua": 8, "1.real": 1}
    assert read("Image 1: the two for accuracy are alike.", 2) == {}


def test_a_score_in_a_cell_with_its_reason_below() -> None:
    """A line break within a cell ends the number."""
    reply = (
        "| Image | S_acc | S_pre | S_qua | S_real |\n|---|---|---|---|---|\n"
        "| 1 | **6**<br>car fully blue | 8<br>or 7 | 9<br>2 shadows | 7/10<br>stale |"
    )
    assert read(reply) == {"1.acc": 6, "1.qua": 9, "1.real": 7}


def test_a_heading_that_is_a_factor_heads_no_scale() -> None:
    """Though its name begins as that of a legend does."""
    twelve = load_dialog("factors-12").factors
    reply = "\n\n".join(
        f"### {number}. {factor.name}\nAs asked for.\n\n**Score: {1 + number % 7}/7**"
        for number, factor in enumerate(twelve, 1)
    )
    scores = read_text(reply, twelve, 1).scores
    assert {key: int(score) for (_, key), score in scores.items()} == {
        factor.key: 1 + number % 7 for number, factor in enumerate(twelve, 1)
    }


def test_what_may_be_an_entry_or_an_aside_gets_no_score() -> None:
    """Behind a colon, under another factor that has no score yet."""
    reply = "**Editing Accuracy**\nContextual Preservation: will be treated below.\nScore: 7/10"
    assert read(reply) == {}


@pytest.mark.parametrize(
    ("remark", "gone"),
    [
        ("On reflection, every S_qua above is one point too high.", {"1.qua", "2.qua"}),
        ("The S_acc of Image 2 is half a point off.", {"2.acc"}),
    ],
)
def test_points_too_many_fault_the_scores_named(remark: str, gone: set[str]) -> None:
    """The others stay."""
    assert set(read(TWO, 2)) - set(read(f"{TWO}\n\n{remark}", 2)) == gone


@pytest.mark.parametrize("note", ["corrected: must be 5, the paw is white.", "should be 5."])
def test_a_footnote_that_gives_another_number_faults_its_score(note: str) -> None:
    """Whichever of the two holds."""
    assert "1.acc" not in read(f"{ONE.replace('8', '8†')}\n\n† {note}")


@pytest.mark.parametrize(
    "reply",
    [
        "I will report my scores like this:\n\n" + TWO + "\n\nIs this form acceptable to you?",
        "Note: I numbered the images from right to left.\n\n" + TWO,
        "The images are counted from the last to the first: counted backwards.\n\n" + TWO,
    ],
)
def test_forms_and_other_numberings_are_no_verdict(reply: str) -> None:
    """A form that is announced, and images that were numbered in another way."""
    assert read(reply, 2) == {}


def test_somebody_elses_number_is_no_score() -> None:
    """The judge abstains."""
    assert "1.acc" not in read(ONE.replace("8", '"8", as the crowd workers put it; I abstain'))


@pytest.mark.parametrize(
    "reply",
    [
        f"{ONE}\n\nI double-checked all scores above and see no reason to change or withdraw any of them.",
        "8 (S_acc), 7 (S_pre), 9 (S_qua), 6 (S_real), 7.7 (S_all)",
        "First pass: S_acc: 5, S_pre: 6, S_qua: 6, S_real: 4\n"
        "Second pass: S_acc: 9, S_pre: 9, S_qua: 6, S_real: 6\n\n"
        "Final scores: S_acc: 8, S_pre: 7, S_qua: 9, S_real: 6",
        ONE.replace("8", "8. A 10 would have required that all of the snow goes").replace(
            "7", "7. I took off 3 for the hills"
        ),
    ],
)
def test_more_forms_that_are_read_whole(reply: str) -> None:
    """What is denied, sums in brackets, a final verdict, and how far a score is from the best."""
    assert read(reply) == {"1.acc": 8, "1.pre": 7, "1.qua": 9, "1.real": 6}


def test_the_number_before_an_image_is_its_own() -> None:
    """Not the score of the last factor of the image before it."""
    reply = (
        "1. Image 1 5/10 S_acc / 9/10 S_pre / 3/10 S_qua / 2/10 S_real "
        "2. Image 2 6/10 S_acc / 7/10 S_pre / 9/10 S_qua / 3/10 S_real"
    )
    assert read(reply, 2).get("1.real") in (None, 2)


def test_points_taken_off_in_brackets() -> None:
    """Off the best there is, or off the score itself: then it is none."""
    assert read("S_acc: 8 (-2 for the halo)\nS_pre: 10 (−3 for the fence)") == {"1.acc": 8}


def test_cells_that_hold_lists_of_scores() -> None:
    """A table of images with all their scores in one cell, and a comment."""
    reply = (
        "| Image | Scores | Comment |\n|---|---|---|\n"
        "| Image 1 | S_acc = 8, S_pre = 7, S_qua = 9, S_real = 6 | Two of the 5 panes are gone. |\n"
        "| Image 2 | S_acc = 5, S_pre = 9, S_qua = 4, S_real = 3 | Grainy. |"
    )
    assert read(reply, 2) == read(TWO, 2)


def test_other_peoples_scores_above_the_judges_own() -> None:
    """They contradict nothing."""
    reply = (
        "Reported by the authors: S_acc 9, S_pre 9, S_qua 9, S_real 8.\n\n"
        "My scores: S_acc 8, S_pre 7, S_qua 9, S_real 6."
    )
    assert read(reply) == {"1.acc": 8, "1.pre": 7, "1.qua": 9, "1.real": 6}


def test_an_image_named_in_passing_is_not_the_one_that_is_scored() -> None:
    """In a paragraph under the heading of another."""
    reply = (
        "### Image 1\nAccuracy receives 7, as asked. Good, but Image 2 has the cleaner edges, so "
        "quality gets 2.\n\n### Image 2\nAccuracy receives 4, as the sky was repainted."
    )
    found = read(reply, 2)
    assert found.get("2.qua") is None
    assert found["1.acc"] == 7 and found["2.acc"] == 4


@pytest.mark.parametrize(
    ("reply", "n"),
    [
        ("- Image 2 ➜ 2: editing accuracy suffers from the same halo", 4),
        (
            "| Item 1 | Sub-score S_real | this also hurts Editing Accuracy | 6 |\n| Item 2 | … | fine | 7 |",
            2,
        ),
    ],
)
def test_a_reason_that_begins_or_ends_with_a_factor_is_no_entry(reply: str, n: int) -> None:
    """Its number is of what the line is about."""
    assert not {key for key in read(reply, n) if key.endswith(".acc")}


def test_numbers_given_for_names_are_not_those_of_the_names_before() -> None:
    """Whatever else a line counts at its end."""
    reply = (
        "Image 1: [a score of 4 for Contextual Preservation | a score of 10 for Logical Realism | a "
        "score of 7 for Visual Quality | a score of 1 for Editing Accuracy] — one finger too many (6 instead of 5)"
    )
    found = read(reply, 2)
    written = {"1.pre": 4, "1.real": 10, "1.qua": 7, "1.acc": 1}
    assert all(written[key] == score for key, score in found.items())


def test_a_table_without_rows_has_none_of_the_next_ones() -> None:
    """Each heading begins a table of its own."""
    reply = (
        "Name\tImage 1\nS_acc\t9\nS_pre\t5\n\nName\tImage 2\n\nName\tImage 3\nS_acc\t2\nS_pre\t3"
    )
    assert read(reply, 3) == {"1.acc": 9, "1.pre": 5, "3.acc": 2, "3.pre": 3}


def test_then_begins_an_image_that_is_not_named() -> None:
    """Its scores are not those of the image before it."""
    reply = (
        "Image 1: - S_acc, 4 out of 10 S_pre, - S_qua, - S_real\n"
        "Then: 3 out of 10 S_acc, 8 out of 10 S_pre, 4 out of 10 S_qua, 2 out of 10 S_real"
    )
    assert not {"1.acc", "1.qua", "1.real"} & set(read(reply, 2))


def test_image_0_beside_another_row_is_not_the_only_image() -> None:
    """It may be the source."""
    head = "| # | S_acc | S_pre | S_qua | S_real |\n|---|---|---|---|---|\n"
    assert read(f"{head}| Image 0 | 9 | 9 | 8 | 9 |\n| A | — | — | — | — |") == {}
    assert len(read(f"{head}| Image 0 | 9 | 9 | 8 | 9 |")) == 4
