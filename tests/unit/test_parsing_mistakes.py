"""Mistakes that real tools make when they read replies, each with a test that ours does not."""

from __future__ import annotations

import pytest

from lmmscore.parsing import merged, read_reply, read_text
from lmmscore.records import Outcome, Reply
from tests.reply_layouts import BINARY, FOUR, TWELVE

REFUSAL = "I'm sorry, but I can't evaluate this image."


def test_no_random_number_on_refusal():
    """A refusal read a hundred times gives a hundred times nothing."""
    readings = [read_reply(Reply(REFUSAL), FOUR, 1) for _ in range(100)]
    assert all(
        reading.scores == {} and reading.faults[0].outcome is Outcome.REFUSED
        for reading in readings
    )


def test_ten_is_more_than_eight():
    """Scores are numbers, not strings: "10" is not below "8"."""
    scores = read_text('{"acc": "10", "pre": "8", "qua": "9", "real": "1"}', FOUR, 1).scores
    assert min(scores.values()) == 1
    assert max(scores.values()) == 10
    assert scores[1, "acc"] > scores[1, "pre"]


def test_a_fraction_is_one_number():
    """4/5 is not a 4 and a 5; on a scale to 10 it is no score at all, and on a scale to 7 neither."""
    for factors in (FOUR[:1], TWELVE[:1]):
        reading = read_text(f"{factors[0].key}: 4/5", factors, 1)
        assert reading.scores == {}
        assert reading.faults[0].says.startswith("4/5 is not on the scale")


def test_factors_that_did_not_parse_are_not_left_out():
    """Three factors out of four are not averaged: the fourth is a fault of its edit."""
    reading = read_text("S_acc: 6\nS_pre: 7\nS_qua: good\nS_real: 6", FOUR, 1)
    assert not reading.complete
    assert [(fault.kind, fault.factor) for fault in reading.faults_of(1)] == [
        ("missing-factor", "qua")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "On a scale of 1 to 10, I rate this: S_acc: 6",
        "There are 3 dogs. S_acc: 6",
        "1. S_acc: 6",
        "In 2024, with 2 methods, S_acc = 6",
    ],
)
def test_the_first_digit_in_the_text_is_not_the_score(text):
    """The score is the number given to the factor."""
    assert read_text(text, FOUR, 1).scores == {(1, "acc"): 6}


@pytest.mark.parametrize(
    "text", ["", "???", "The edit is average.", "S_acc: medium", '{"acc": "medium"}']
)
def test_no_score_in_the_middle_of_the_scale_on_failure(text):
    """What cannot be read has no score: neither the middle of the scale nor its lower end."""
    reading = read_reply(Reply(text), FOUR, 1)
    assert reading.scores == {}
    assert reading.faults


@pytest.mark.parametrize(
    "text",
    [
        "Error code: 429 - {'error': {'message': 'Rate limit reached', 'type': 'tokens', 'code': 1}}",
        "Internal Server Error (500)",
        '{"error": {"code": 503, "message": "overloaded"}}',
    ],
)
def test_an_error_message_is_not_an_answer(text):
    """A message of the transport that was taken for a reply has no scores in it."""
    for factors in (FOUR, BINARY):
        assert read_text(text, factors, 1).scores == {}


def test_two_objects_that_differ_are_a_contradiction():
    """Of two JSON objects the last one is the verdict only where words between them say so."""
    first, last = (
        f'{{"Contextual_Preservation": {{"reason": "2 lamps", "score": {score}}}}}'
        for score in (0, 1)
    )
    assert read_text(f"{first}\n{last}", BINARY, 1).faults[0].kind == "contradiction"
    reading = read_text(f"{first}\nOn reflection:\n{last}", BINARY, 1)
    assert reading.complete
    assert reading.scores == {(1, "Contextual_Preservation"): 1}


def test_a_second_refusal_is_not_a_zero():
    """On a scale that has a 0, a refusal is still no 0."""
    for text in (REFUSAL, "I have already said that I cannot help with that."):
        reading = read_reply(Reply(text), BINARY, 1)
        assert reading.scores == {}
        assert reading.faults[0].kind == "refused"


def test_a_repair_that_answers_only_what_was_missing_loses_nothing():
    """Three factors were read, the fourth is asked again, and the answer gives that one: all four are kept."""
    first = read_text(
        "Image 1: S_acc: 6, S_pre: 7, S_qua: 5, S_real: 6\nImage 2: S_pre: 4, S_qua: 3, S_real: 2",
        FOUR,
        2,
    )
    both = merged(first, read_text("Image 2: S_acc: 7", FOUR, 2), FOUR, 2)
    assert both.complete
    assert [both.scores[2, key] for key in ("acc", "pre", "qua", "real")] == [7, 4, 3, 2]


FOUR_OF_ONE = "S_acc: 8, S_pre: 7, S_qua: 9, S_real: 6"
TWO = f"Image 1: {FOUR_OF_ONE}\nImage 2: S_acc: 5, S_pre: 10, S_qua: 4, S_real: 3"
JSON_OF_ONE = '"image_1": {"S_acc": 8, "S_pre": 7, "S_qua": 9, "S_real": 6}'


@pytest.mark.parametrize(
    ("reply", "n"),
    [
        (f"{TWO}\n\nRead the list from bottom to top.", 2),
        (f"{TWO}\n\nEach number is twice what I meant.", 2),
        (f"{TWO}\n\nThe list above are differences.", 2),
        (f"Only the source image arrived. I extrapolated the rest:\n\n{TWO}", 2),
        (f"Scores between 0 and 1:\n{TWO}", 2),
        (f"Weights for each image:\n\n{TWO}", 2),
        (f"Draft scores of images 1 and 2:\n\n{TWO}", 2),
        (f"Remarks per factor (a tally, not scores):\n\n{TWO}", 2),
        (f"(max. 5 points each)\n\n{TWO}", 2),
        ('{"is_placeholder": true, ' + JSON_OF_ONE + "}", 1),
        ('{"images_received": 0, ' + JSON_OF_ONE + "}", 1),
        ('{"source": "human annotators", ' + JSON_OF_ONE + "}", 1),
        ("| Votes | S_acc | S_pre |\n|---|---|---|\n| Image 1 | 2 | 1 |\n| Image 2 | 4 | 2 |", 2),
        ("Difference to Image 1:\n\n| Image | S_acc |\n|---|---|\n| 2 | 3 |\n| 3 | 1 |", 3),
        ("With S_acc = 10, S_pre = 10 and S_qua = 10 the overall score would be 10.", 1),
        ("You said S_acc should be 8, S_pre 7, S_qua 9 and S_real 6.", 1),
        (f"For reference, the source photo has {FOUR_OF_ONE}.", 1),
        ("Editing Accuracy [8], Visual Quality [7] and Logical Realism [6] are defined here.", 1),
        (f"{TWO}\n\nBitte nicht ernst nehmen.", 2),
        (f"{TWO}\n\nC'était une blague.", 2),
        (f"{TWO}\nThis was a drill.", 2),
        (f"{TWO}\n\nA first stab, to be refined.", 2),
        (f"{TWO}\n\nI have not looked at anything yet.", 2),
        (f"{TWO}\n\nThe last two columns have traded their labels, S_qua and S_real.", 2),
        (f"All I got was the text of your request.\n\n{TWO}", 2),
        (f"Scores (five is the maximum):\n\n{TWO}", 2),
        (f"Golf rules: fewer points win.\n\n{TWO}", 2),
        ('{"mode": "demo", ' + JSON_OF_ONE + "}", 1),
        ('{"blind": true, ' + JSON_OF_ONE + "}", 1),
        ('{"scale": {"min": 0, "max": 50}, ' + JSON_OF_ONE + "}", 1),
        ("| Likes | S_acc | S_pre |\n|---|---|---|\n| Image 1 | 2 | 1 |\n| Image 2 | 4 | 2 |", 2),
        ("| Image | S_acc ↓ | S_pre ↓ |\n|---|---|---|\n| 1 | 2 | 1 |\n| 2 | 4 | 2 |", 2),
        ("S_acc weighs 4 pounds, S_pre 3, S_qua 2, S_real 1.", 1),
        ("S_acc 8, S_pre 7, S_qua 9 and S_real 6 are the minimum values.", 1),
        ("I need 8 minutes for S_acc, 7 for S_pre, 9 for S_qua, 6 for S_real.", 1),
        ("a — for S_acc – a 5 for S_pre – a 6 for S_qua", 1),
        (f"In the handbook, {FOUR_OF_ONE}.", 1),
        (f"{FOUR_OF_ONE} (blind guess)", 1),
    ],
)
def test_numbers_that_words_make_something_else_are_no_scores(reply, n):
    """A closing sentence, a flag, a caption or a corner cell may say what the numbers are."""
    assert not read_text(reply, FOUR, n).scores


@pytest.mark.parametrize(
    "reply",
    [
        f"{TWO}\n\nNeither edit is flawless, but the first one is closer to the request.",
        f"{TWO}\n\nBei Fragen gern melden!",
        f"{TWO}\n\nThe second edit could do without its halo.",
        f"Below is the list you asked for.\n\n{TWO}",
        f"Both edits keep the fox; only one has sand.\n\n{TWO}",
        f"Scores on a scale of 1 to 10 (10 = best):\n\n{TWO}",
        "| Edited image | S_acc | S_pre | S_qua | S_real |\n|---|---|---|---|---|\n"
        "| 1 | 8 | 7 | 9 | 6 |\n| 2 | 5 | 10 | 4 | 3 |",
    ],
)
def test_what_leaves_scores_as_they_are_costs_none(reply):
    """Announcements, remarks about the pictures and courtesies void nothing, in any language."""
    assert read_text(reply, FOUR, 2).complete


@pytest.mark.parametrize("remark", ["Skipped; same numbers as above.", "The upload was damaged."])
def test_a_remark_on_one_image_voids_its_scores_only(remark):
    """What is said under an image's heading is said of that image."""
    entries = "\n".join(f"- {entry}" for entry in FOUR_OF_ONE.split(", "))
    reply = f"Image 1:\n{entries}\n\nImage 2:\n{remark}\n{entries}\n\nImage 3:\n{entries}"
    assert {position for position, _ in read_text(reply, FOUR, 3).scores} == {1, 3}


@pytest.mark.parametrize(
    ("reply", "n", "never"),
    [
        ("- S_acc: 6\n+ S_acc: 8\n- S_pre: 5\n+ S_pre: 7", 1, {(1, "acc"): 6, (1, "pre"): 5}),
        (f"Image 1 is strong, with S_acc 3.\n\n{TWO}", 2, {(1, "acc"): 8}),
        ("S_acc: 10, 3 points deducted for the halo\nS_pre: 7", 1, {(1, "acc"): 10}),
        (
            "Image 2\nS_acc | 1/10. S_qua |  S_pre | 2/10.\n"
            "Image 3 –: S_acc | 3/10. S_qua | 8/10. S_pre | 7/10.",
            3,
            {(2, "pre"): 8},
        ),
        (f"{TWO}\n\nImage 2, S_pre: strike the 10, it has no score.", 2, {(2, "pre"): 10}),
        (f"{TWO}\n\nLooking once more, Image 1's realism is a 5, not a 6.", 2, {(1, "real"): 6}),
        ("Candidate 1 –\n\n— 2 —\nS_acc: 2\nS_qua: 2", 2, {(1, "acc"): 2}),
        ("Factor    1/4   Overall\nS_acc     4/10  3\nS_pre     —     1", 1, {(1, "pre"): 1}),
        ("Image 2\n- S_pre: 8; see Image 1\n- S_real: 5", 2, {(1, "real"): 5}),
        ("Image 1: 8, 7, 9, 6 (S_acc, S_pre, S_qua, S_real)", 1, {(1, "acc"): 6}),
        ("S_acc\n- Edit 1: 8\n- Edit 2 4 - S_qua suffers", 2, {(2, "qua"): 4}),
        ("S_qua: Edit 1 gets 3/10\nS_acc: Edit 3 gets , Edit 2 gets 8/10", 3, {(1, "acc"): 8}),
        ("S_qua – **1** – N/A\nS_pre – **1** – 7", 1, {(1, "qua"): 1}),
        ("a_1.png\nacc | 1. pre | 8; edit_2.png\nacc | 3. pre | 5", 2, {(1, "pre"): 5}),
        ("edit_1.png\nS_acc: 1, S_pre: 8; edit_2.png\nS_pre: 3", 2, {(1, "pre"): 3}),
        (
            "Image (1): 8 S_acc · 7 S_pre\n(2) 6 - S_acc · 5 - S_pre\n<3>\n4 (S_acc)",
            3,
            {(1, "pre"): 5},
        ),
        ("Image 1/2: S_acc [1] / S_pre [9]; 2)\nS_acc [10] / S_pre [3]", 2, {(1, "pre"): 3}),
        (
            "Image 1 surprised me. S_acc is 7.\n\nThe second picture did not. Image 1 got 9 for "
            "S_real; this one gets no score. With S_qua at 2, it holds its place.",
            2,
            {(1, "qua"): 2},
        ),
        (
            "Now to picture 2. Here, as in the first picture, a dog is missing. S_pre gets 3.",
            2,
            {(1, "pre"): 3},
        ),
        ("The source gets 9 for S_qua and 10 for S_real.", 1, {(1, "qua"): 9, (1, "real"): 10}),
        ("For a perfect edit: S_acc 10, S_pre 10", 1, {(1, "acc"): 10, (1, "pre"): 10}),
        ("Image 1 gets 8 for S_acc, more than Image 2; its S_qua is 4.", 2, {(1, "qua"): 4}),
        (
            "Edit 1 is dark. Image 2 got 9 for S_acc; for this one I give none. I give 3 for S_pre.",
            2,
            {(2, "pre"): 3},
        ),
        (
            "The first image is next. S_acc differs from image 2, which got 8: I see why. "
            "I rate S_pre at 3.",
            2,
            {(2, "pre"): 3},
        ),
    ],
)
def test_a_number_of_something_else_is_not_taken(reply, n, never):
    """An old value, a mention, a summary, a missing cell's neighbour: none of them is a score."""
    scores = read_text(reply, FOUR, n).scores
    assert not {cell for cell, value in never.items() if scores.get(cell) == value}


def test_brackets_behind_images_hold_their_scores():
    """Several images on one line, each with its scores in brackets, keep them apart."""
    reply = "Image 1 (S_acc: 8, S_pre: 7), Image 2 (S_acc: 5, S_pre: 10), Image 3 (S_pre: 2)"
    found = read_text(reply, FOUR, 3).scores
    wanted = {(1, "acc"): 8, (1, "pre"): 7, (2, "acc"): 5, (2, "pre"): 10, (3, "pre"): 2}
    assert found == wanted


def test_the_column_called_score_holds_the_scores():
    """Whatever form its numbers have: a bare number beside them is a remark."""
    reply = (
        "Image 1\n\n| Factor | Score | Why |\n|---|---|---|\n| S_acc | [6] | 7 |\n| S_pre | ? | 7 |"
    )
    assert read_text(reply, FOUR, 2).scores == {(1, "acc"): 6}


@pytest.mark.parametrize(
    "heading",
    [
        "Having looked at Image 1, I come to Image 2.",
        "After Image 1 now Image 2:",
        "From Image 1 on to Image 2:",
    ],
)
def test_an_image_that_is_only_passed_heads_nothing(heading):
    """Which of the two heads the list is not guessed; no score goes to the first."""
    reply = f"Image 1:\n- S_pre: 8\n\n{heading}\n- S_acc: 3\n- S_qua: 4"
    read = read_text(reply, FOUR, 2).scores
    assert {cell: score for cell, score in read.items() if cell[0] == 1} in ({}, {(1, "pre"): 8})


@pytest.mark.parametrize(
    "remark", [". Image 2 got 3 here", "; Image 2 got 3 here", ", Image 2: 3 here"]
)
def test_a_remark_on_another_image_takes_nothing_over(remark):
    """The list goes on with the image that heads it, or nothing more is read of it."""
    reply = (
        f"Image 1:\n- S_acc: 8{remark}\n- S_pre: 6\n- S_qua: 5\n\nImage 2:\n- S_acc: 3\n- S_real: 7"
    )
    read = read_text(reply, FOUR, 2).scores
    given = {(1, "acc"): 8, (1, "pre"): 6, (1, "qua"): 5, (2, "acc"): 3, (2, "real"): 7}
    assert read.items() <= given.items()


def test_a_letter_that_answers_a_question_is_no_image():
    """ "Q:" and "A:" are who speaks, and "a)" before every entry is a bullet."""
    asked = "Q: And the second one?\nA: S_acc 5, S_pre 7, S_qua 2, S_real 8"
    assert read_text(asked, FOUR, 2).scores == {}
    bullets = "a) S_acc: 7\na) S_pre: 5 (cf. S_acc)\na) S_qua: 9\na) S_real: 6"
    assert (1, "pre") not in read_text(f"Image 2\n{bullets}", FOUR, 2).scores


@pytest.mark.parametrize("label", ["Overall score", "Final score", "Overall"])
def test_the_overall_below_is_not_the_last_factors_score(label):
    """The last factor has none; what follows is the sum of the others."""
    reply = f"Image 1:\nS_acc: 7\nS_pre: 5\nS_qua: 9\nS_real: cannot judge\n{label}: 6.7"
    assert (1, "real") not in read_text(reply, FOUR, 2).scores


@pytest.mark.parametrize(
    "entry",
    [
        "S_acc: 7점 이상",
        "S_acc: 10点満点で後で付けます",
        "S_acc: 7 for the time being",
        "S_acc: 7 (typo, I mean 6)",
        "S_acc: 7 on my own 1–5 scale",
        "Many viewers would rate S_acc 7",
        "rated 8 and 7 for S_pre and S_acc",
        "S_acc never gets a 7",
        "S_acc starts with a 7, then drops",
        "S_acc in the source gets a 7",
        "S_acc: 7 – hm, I take it back; unscored",
        "S_acc: 7, scratch that",
        "S_acc: 7 and n/a, respectively",
        "S_pre (Context) and S_acc (Editing) are seven out of ten and two out of ten, respectively",
        "S_acc[1]: undecided",
        "S_pre: 8 | no score → S_acc | Average: 8.0",
        "S_acc: not scored vs. 3/10",
        "S_acc...2/10 // S_pre...3/10 // Overall score: 2.5",
        "S_acc (max. 10); score: 2   S_pre (max. 10); score: 7",
    ],
)
def test_numbers_that_are_not_settled(entry):
    """At least, another number, another scale, other people, what is taken back, and lists that
    nobody has put together."""
    assert (1, "acc") not in read_text(entry, FOUR, 1).scores


def test_sections_are_numbered_not_scored():
    """`3.1 Editing Accuracy` heads a paragraph."""
    reply = "3.1 S_acc\nFine.\n3.2 S_pre\nFine.\n3.3 S_qua\nFine.\n3.4 S_real\nFine."
    assert read_text(reply, FOUR, 1).scores == {}


def test_a_table_under_another_in_another_order():
    """Behind a blank line a heading in words begins a table of its own, ruled off or not."""
    reply = (
        "| Image | S_acc | S_pre |\n| 1 | 7 | 5 |\n| 2 | 4 | 8 |\n\n"
        "| Image | S_real | S_qua |\n| 1 | 6 | 9 |\n| 2 | 2 | 3 |"
    )
    read = read_text(reply, FOUR, 2).scores
    given = {"acc": (7, 4), "pre": (5, 8), "qua": (9, 3), "real": (6, 2)}
    assert read == {(i + 1, key): row[i] for key, row in given.items() for i in (0, 1)}


def test_scores_of_what_was_not_given_are_not_replaced_by_their_announcement():
    """Whatever is announced behind it was not seen, either."""
    reply = (
        "I was not given the edited image. The scores would have this form:\n\nS_acc: 7\nS_pre: 5"
    )
    assert read_text(reply, FOUR, 1).scores == {}


OUTLINE = """1. Edit 1
  1.1 S_acc – 4
  1.2 S_pre – 5
  1.4 S_real – n/a
2. Edit 2
  2.1 S_acc – 9
  2.3 S_qua – 7"""
IN_BRACKETS = """**Image 1** [1] S_acc: 9; [2] S_pre: 3; [3] S_qua: 4; [4] S_real: 5
**Image 2** [1] S_acc: 3; [4] S_real: —"""
A_TABLE_EACH = """## Image 1
| No. | Criterion | Mark |
|---|---|---|
| 2 | S_pre | 9 |
| 4 | S_real | 5 |

## Image 2
| No. | Criterion | Mark |
|---|---|---|
| 1 | S_acc | 7 |"""
AN_OUTLINE = {(1, "acc"): 4, (1, "pre"): 5, (2, "acc"): 9, (2, "qua"): 7}
BRACKETED = {(2, "acc"): 3, (1, "acc"): 9, (1, "pre"): 3, (1, "qua"): 4, (1, "real"): 5}
TABLED = {(1, "pre"): 9, (1, "real"): 5, (2, "acc"): 7}


@pytest.mark.parametrize(
    ("text", "scores"),
    [(OUTLINE, AN_OUTLINE), (IN_BRACKETS, BRACKETED), (A_TABLE_EACH, TABLED)],
)
def test_numbers_that_count_factors_are_no_scores(text, scores):
    """Where a score is left out, the number of its line or row must not stand in for it."""
    found = read_text(text, FOUR, 2).scores
    assert found.items() <= scores.items()
    assert found


@pytest.mark.parametrize("order", ['ids = ["c", "a", "b"]', "methods: [x, y, z]"])
def test_lists_of_scores_are_not_put_in_an_order_that_the_reply_contradicts(order):
    """Scores listed by image belong to the images in the order that the reply states."""
    lists = "acc: [7, 5, 4]\npre: [8, 1, 2]\nqua: [3, 6, 9]\nreal: [4, 4, 5]"
    assert read_text(f"images: [Image 1, Image 2, Image 3]\n{lists}", FOUR, 3).complete
    assert read_text(f"{order}\n{lists}", FOUR, 3).scores == {}
    turned = read_text(f"images: [Image 3, Image 1, Image 2]\n{lists}", FOUR, 3).scores
    assert [turned[image, "acc"] for image in (3, 1, 2)] == [7, 5, 4]


@pytest.mark.parametrize("remark", ["zachter dan afbeelding 3", "plus net que l'image 3"])
def test_a_remark_in_another_language_does_not_head_the_next_lines(remark):
    """An image that ends a line of scores behind unknown words may be mentioned only."""
    text = f"Image 2\nS_acc: 5\nS_pre: 8; {remark}\nS_qua: 7"
    assert {cell[0] for cell in read_text(text, FOUR, 3).scores} == {2}


@pytest.mark.parametrize(
    "table",
    [
        "Factor                **1**  Overall\nS_acc     6      8\nS_pre            9",
        "Factor\tA\tOverall\nS_acc\t\t9\nS_pre\t-\t6",
        "Factor    Image 1 (nice)        Image 2 (nice)\nS_acc     —               5\nS_pre     3              4",
    ],
)
def test_a_number_in_another_column_is_not_the_score_that_is_missing(table):
    """What stands under "Overall", or under nothing, is nobody's score."""
    found = read_text(table, FOUR, 2 if "Image 2" in table else 1).scores
    assert (1, "pre") not in found or found[1, "pre"] == 3
    assert (2, "acc") not in found
    assert 9 not in found.values()


def test_a_column_that_could_be_two_things_is_one():
    """ "Edited image" heads scores here, and could head images: nothing breaks on it."""
    table = "| Factor | Ground truth image | Edited image |\n|---|---|---|\n| S_acc | 9 | 4 |"
    assert read_text(table, FOUR, 1).scores == {(1, "acc"): 4}


TWO = (
    "Image 1: S_acc 9, S_pre 9, S_qua 9, S_real 9 and Image 2: S_acc 9, S_pre 8, S_qua 9, S_real 7"
)


@pytest.mark.parametrize(
    "text",
    [
        f"If I were lenient I'd give {TWO}. But I am strict.",
        f"{TWO}\n\nThat is what a lenient judge would give.",
        f"{TWO}\n\nI would go lower.",
        f"I would give {TWO}, were it not for the halo; as it is, deduct three.",
        f'I will answer in the form "{TWO}" as soon as I have both.',
    ],
)
def test_what_would_be_given_is_not_given(text):
    """Scores on a condition, or another's, are no verdict, however complete they look."""
    assert read_text(f"I would give {TWO}.", FOUR, 2).complete
    assert read_text(text, FOUR, 2).scores == {}


@pytest.mark.parametrize("reason", [": sharp", "\nsharp", ""])
def test_a_number_above_its_factor_is_not_that_of_the_factor_before(reason):
    """A blank line parts a number from the name above it."""
    text = f"**7/10**\nS_acc{reason}\n\n**9/10**\nS_pre{reason}\n\n**5/10**\nS_qua{reason}"
    right = {(1, "acc"): 7, (1, "pre"): 9, (1, "qua"): 5}
    assert read_text(text, FOUR, 1).scores.items() <= right.items()


@pytest.mark.parametrize("joint", [":", " =", " for", ". for", ". for the", " in"])
def test_a_number_joined_to_the_next_name_is_not_the_last_ones(joint):
    """Where numbers stand before names and one is missing, the others must not slip."""
    text = f"Image 2: …{joint} S_acc …{joint} S_pre 6/10{joint} S_qua 2/10{joint} S_real"
    found = read_text(text, FOUR, 2).scores
    assert found.items() <= {(2, "qua"): 6, (2, "real"): 2}.items()


def test_a_number_on_a_line_of_its_own_may_head_the_next_image():
    """A missing score is not filled in by the number of the image that comes next."""
    text = "Image 1\n- S_pre=\n*** 2 ***\n- S_acc=3\n- S_qua=5\n- S_real=8"
    assert (1, "pre") not in read_text(text, FOUR, 2).scores


def test_the_number_of_the_only_image_is_not_its_missing_score():
    """Where each entry begins with the image's number, an entry without more has no score."""
    text = "S_acc – 1\nS_pre – 1 4\nS_qua – 1 3\nS_real – 1 1"
    assert (1, "acc") not in read_text(text, FOUR, 1).scores


@pytest.mark.parametrize("label", ["Two", "Scores (second):", "And number 2", "(B)"])
def test_an_image_without_scores_does_not_get_those_of_the_next(label):
    """Words between a heading and the first score may name another image, however they do."""
    text = f"Image 1:\n{label}\n- S_acc: 9\n- S_pre: 2\n- S_qua: 4\n- S_real: 6"
    assert read_text(text, FOUR, 2).scores == {}


def test_a_list_behind_a_blank_line_is_not_that_of_the_image_above():
    """A factor that was left without a score has had its turn, dots or not."""
    text = "Image 1: S_acc .... - S_pre .... - S_qua .... 4\n\nS_acc .... 6 S_pre .... 5"
    assert read_text(text, FOUR, 2).scores == {(1, "qua"): 4}


@pytest.mark.parametrize(
    "remark",
    [
        "See image 2.",
        "(see image 2)",
        "As in image 2.",
        "Look at image 2.",
        "Ahead of image 2",
        "Voir image 2.",
        "Ver imagen 2.",
        "见图2。",
        "不如图像2",
        "Смотри изображение 2.",
        "Requested edit 2: the dog",
        "Sub-edit 2:",
        "**Image 2 is better here.**",
        "By the way, image 2 has the better sky.",
    ],
)
@pytest.mark.parametrize("heads", [("## Image 1", "## Image 2"), ("## Red coat", "## Green coat")])
def test_a_mention_amid_scores_is_no_heading(remark: str, heads: tuple[str, str]) -> None:
    """What follows stays with the image that heads it, or with none."""
    first, second = heads
    reply = f"{first}\nS_acc: 7\n{remark}\nS_qua: 8\n\n{second}\nS_acc: 5\nS_pre: 4\n"
    assert (2, "qua") not in read_reply(Reply(reply), FOUR, 2).scores


@pytest.mark.parametrize(
    "below", ["↑ Image {}", "*Above: Image {}*", "(The list above is for Image {}.)", "— Image {}"]
)
def test_images_named_below_their_scores_head_nothing(below: str) -> None:
    """What stands under such a line is of the next image."""
    lists = ("S_acc: 9\nS_pre: 2", "S_acc: 4\nS_pre: 6\nS_qua: 3")
    reply = "\n\n".join(
        f"{scores}\n{below.format(number)}" for number, scores in enumerate(lists, start=1)
    )
    scores = read_reply(Reply(reply), FOUR, 2).scores
    right = {(1, "acc"): 9, (1, "pre"): 2, (2, "acc"): 4, (2, "pre"): 6, (2, "qua"): 3}
    assert all(right.get(cell) == score for cell, score in scores.items())


@pytest.mark.parametrize("cell", ["S_acc, Image 2:", "S_acc (Image 2)", "Image 2 – S_acc:"])
def test_a_number_below_a_cell_is_of_that_cell(cell: str) -> None:
    """Not of the image whose entry stands before it."""
    scores = read_reply(Reply(f"Image 1 – S_acc: –\n{cell}\n  - 7/10\n"), FOUR, 2).scores
    assert (1, "acc") not in scores


def test_another_image_in_the_same_sentence_is_mentioned() -> None:
    """The sentences that follow are not said of it."""
    reply = (
        "Now image 1. Quality gets 7; image 2 has the softer light. Realism stands at 10. "
        "Now image 2. Quality gets 4."
    )
    assert (2, "real") not in read_reply(Reply(reply), FOUR, 2).scores


def test_labels_that_count_factors_are_no_images() -> None:
    """They restart under every heading."""
    factors = ("S_acc", "S_pre", "S_qua", "S_real")
    blocks = [
        f"## Image {image}\n"
        + "\n".join(f"Nr. {nr}: {name}: {image + nr}" for nr, name in enumerate(factors, 1))
        for image in (1, 2)
    ]
    scores = read_reply(Reply("\n\n".join(blocks)), FOUR, 2).scores
    assert {cell: int(score) for cell, score in scores.items()} == {
        (image, key): image + nr
        for image in (1, 2)
        for nr, key in enumerate(("acc", "pre", "qua", "real"), 1)
    }


def test_numbers_in_descriptive_file_names_name_no_image() -> None:
    """The second of four pictures is not the one whose name ends in 2."""
    files = ("red-hat.png", "blur.png", "dusk-2.png", "dogs.png")
    reply = "\n".join(["S_acc", *(f"- {file}: {7 - nr}" for nr, file in enumerate(files))])
    assert read_reply(Reply(reply), FOUR, 4).scores.get((2, "acc")) in (None, 6)


PAIR = FOUR[:2]


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ("The image has a high level of accuracy with a score of 9.", {"acc": 9}),
        ("The picture shows a wedding cake with an accuracy score of 8.", {"acc": 8}),
        ("Thus, the overall score would be 8 for accuracy and 1 for preservation.", None),
        ("So, the scores would be 8 for accuracy and 1 for preservation.", None),
        ("The score would be 8 for accuracy and 1 for preservation without the halo.", {}),
        ("For a better edit, the score would be 8 for accuracy and 1 for preservation.", {}),
        ("In that case the score would be 8 for accuracy and 1 for preservation.", {}),
        ("The source image has a high level of accuracy with a score of 9.", {}),
        ("An expert's picture would have an accuracy score of 8.", {}),
    ],
)
def test_a_description_may_end_in_a_score(reply: str, scores: dict[str, int] | None) -> None:
    """Of the only image, and of nothing that is supposed."""
    found = read_reply(Reply(reply), PAIR, 1).scores
    wanted = {"acc": 8, "pre": 1} if scores is None else scores
    assert {key: int(score) for (_, key), score in found.items()} == wanted


def _found(reply: str, n: int) -> dict[str, int]:
    scores = read_text(reply, FOUR, n).scores
    return {f"{position}.{key}": int(score) for (position, key), score in scores.items()}


LISTED = "#1 Accuracy: 7\n#2 Preservation: 5\n#3 Realism: 2\n#4 Quality: 9\n"


@pytest.mark.parametrize(
    ("reply", "n", "scores"),
    [
        # Signs and numbers that count factors are no images, and no scores.
        (f"Bird of prey\n{LISTED}\nBird at rest\n{LISTED}", 4, {}),
        (f"Photo #2 =\n{LISTED}~ ~ ~\nPhoto #1 =\n#1 Realism: 3\n#2 Quality: 4", 2, {}),
        ("(1) Accuracy ▸ 6\n(2) Quality ▸ 4, regardless of accuracy\n(3) Realism ▸ 8", 3, {}),
        ("#1 Accuracy: fine as it is\n#2 Quality: 6", 1, {"1.qua": 6}),
        ("#1 S_acc 7, S_pre 6\n#2 S_acc 5, S_pre 8", 2, "1.acc 7 1.pre 6 2.acc 5 2.pre 8"),
        # A rank before an image is not its number.
        ("### #1 – Image 2\nS_acc: 9\n\n### #2 – Image 1\nS_acc: 4", 2, "2.acc 9 1.acc 4"),
        # What numbers the answer names no image.
        ("Rating sheet, version 2\n\nS_acc: 9, S_pre: 8, S_qua: 7, S_real: 6", 2, {}),
        ("Rating sheet, version 2\n\nImage 1: S_acc 9\nImage 2: S_acc 4", 2, "1.acc 9 2.acc 4"),
        ("Version 1: S_acc 9\nVersion 2: S_acc 4", 2, "1.acc 9 2.acc 4"),
        # A list most of which is not understood.
        ("Image 1: - S_acc, 9 S_pre, - S_qua, - S_real More: 6 - S_acc, 2 - S_pre", 2, {}),
        # Behind a rule, another image begins.
        ("Image 1: S_acc 3, S_real 4\n*** S_pre 2", 2, "1.acc 3 1.real 4"),
        # A dash in a column of its own is a missing score.
        ("S_acc  4   8/10\nS_pre  —   5/10", 1, {}),
        # A heading of factors ends an image's list.
        (
            "Image 1:\nS_acc: 3\nImage 2:\nS_acc: 5\n\n**Quality and realism**\n\n1) S_qua = 9",
            2,
            None,
        ),
        # A number before a name in brackets is its score: what stands below is not.
        ("Image 1\nScore: 3 (Realism)\nScore: 5 (Mood)\nImage 2\nS_acc: 4", 2, "2.acc 4"),
        # A rule below a name and its number ends a list, and heads no table.
        ("Image 1:\n+ S_qua |\n+ S_real | [4]\n---\n+ S_acc | [7]\n+ S_real | [9]", 2, "1.real 4"),
        # A number is of the name that it shares a cell with, or is not parted from.
        ("Image 1: none • realism | N/A • quality | 8 • preservation", 2, {}),
        ("Image 1: N/A - S_acc N/A - S_pre 5/10. - S_qua 5/10. - S_real", 2, {}),
        ("Image 1: [Score:  (Realism), Score: 8 (Quality)]", 2, {}),
        # What a column counts numbers no images.
        ("| Thing | S_acc | Flaws |\n|---|---|---|\n| Beach | 7 | 2 |\n| Dune | 4 | 1 |", 2, {}),
        ("| Factor | A | # |\n|---|---|---|\n| S_acc | n/a | 9 |\n| S_pre | n/a | good |", 1, {}),
        # A title that begins with a factor's name heads its list.
        (
            "*Accuracy*\n\n- Image 1: 9\n\n*Preservation of all else*\n\n- Image 1: 6\n- Image 2: 8",
            2,
            "1.acc 9 1.pre 6 2.pre 8",
        ),
        # Images in brackets of their own stand behind their numbers.
        ("### Quality\n9 <image_1>\nno score <image_2>\n### Realism\n<image_1> –", 2, {}),
    ],
)
def test_what_counts_or_heads_otherwise_is_no_image(reply, n, scores):
    """A number is an image's, and a score, only where that is plain."""
    if scores is None:
        assert _found(reply, n).get("2.qua") is None
        return

    wanted = (
        scores if isinstance(scores, dict) else dict(zip(*[iter(scores.split())] * 2, strict=True))
    )
    assert _found(reply, n) == {cell: int(score) for cell, score in wanted.items()}


def test_an_image_that_comes_again_is_scored_on_another_factor():
    """Whatever the heading between them says."""
    reply = "Quality\n- img_1: –\n- img_2: 4\nSome other thing\n- img_1: 3\n- img_2: 1"
    assert _found(reply, 2) == {"2.qua": 4}


@pytest.mark.parametrize("key", ["shown_as", "index_from_1"])
def test_objects_with_numbers_of_their_own_are_in_no_order(key):
    """Their place in the list says nothing, where a number in them says otherwise."""
    objects = [f'{{"{key}": {number}, "S_acc": {number + 4}}}' for number in (2, 1)]
    assert _found(f"[{', '.join(objects)}]", 2) == {}
    assert _found("\n".join(objects), 2) == {}
    assert _found(f"[{', '.join(reversed(objects))}]", 2) == {"1.acc": 5, "2.acc": 6}


def test_image_0_beside_a_list_that_is_not_understood_shifts_nothing():
    """The last image may be the one whose heading is not understood."""
    table = "| Image | S_acc |\n|---|---|\n| I1 | 7 |\n| Image 0 | 9 |"
    assert _found(f"=== 2 ===\n+ S_acc -> 4\n\n{table}", 2) == {}
    assert _found(table, 2) == {"2.acc": 7, "1.acc": 9}


@pytest.mark.parametrize(
    "reason",
    [
        "The bird is larger than the tree it sits in, in contrast to\n  Image 2, which keeps it small.",
        "The wings have lost some of their feathers, which also\n  affects Logical Realism.",
        "The wings have lost some of their feathers. See also Logical\n  Realism.",
        "The wings have lost feathers.\n    Logical realism suffers for the same reason.",
        "The wings are\n    red now, not blue. This also affects\n    Logical Realism. So be it.",
        "The shadow of the wings is missing, compared with the one in\nImage 2, and the beak is blurred.",
    ],
)
def test_a_sentence_over_two_lines_is_one(reason):
    """What its second line begins with is only mentioned."""
    reply = f"Image 1\n- S_qua: {reason}\n  Score: 5\n- S_acc: 4\n\nImage 2\n- S_acc: 9\n- S_qua: 3"
    assert _found(reply, 2).get("1.real") is None
    assert _found(reply, 2).get("2.acc") in {None, 9}
    assert _found(reply, 2).get("1.acc") in {None, 4}


@pytest.mark.parametrize(
    "missing",
    [
        *("N/A", "n.a.", "not scored", "unrated", "no rating", "left blank", "skipped", "tbd"),
        *(
            "not evaluated",
            "keine Angabe",
            "nicht bewertet",
            "sin nota",
            "未评分",
            "未評価",
            "미평가",
        ),
    ],
)
def test_a_missing_score_is_missing_in_whatever_words(missing):
    """No number further on fills it in."""
    reply = f"S_acc: {missing} vs. 3/10\nS_pre: 6\nS_qua: {missing}\n7/10 would be usual."
    assert _found(reply, 1) in ({"1.pre": 6}, {})
    assert _found(f"S_acc\n- Image 1: {missing}\n- Image 2: 4", 2) == {"2.acc": 4}


@pytest.mark.parametrize(
    "heading", ["**Image {}**", "=== Image {} ===", "Evaluation of Image {}:", "Image {}"]
)
@pytest.mark.parametrize("joint", [" ", "\n"])
def test_a_comparison_at_the_end_of_an_entry_heads_nothing(heading, joint):
    """What stands below it is of the image whose list it is, or of nobody known."""
    entries = f"S_acc: 6.{joint}The hat is blue. Image 2 got 9 for S_acc.\nS_pre: 7\nS_qua: 4"
    reply = f"{heading.format(1)}\n{entries}\n\n{heading.format(2)}\nS_acc: 9\nS_real: 3"
    wanted = {"1.acc": 6, "1.pre": 7, "1.qua": 4, "2.acc": 9, "2.real": 3}
    assert _found(reply, 2).items() <= wanted.items()


@pytest.mark.parametrize(
    "item",
    [
        "closer to the source than Image 2: 6",
        "the hat is red, unlike in Image 2: score 6",
        "only realism suffers more: score 6/10",
        "Only realism suffers more. Score: 6",
    ],
)
def test_what_an_item_is_compared_with_is_not_scored(item):
    """The image at its head is, on the factor above it."""
    found = _found(f"Accuracy\n- Image 1 – {item}\n- Image 2: 8\n\nQuality\n- Image 1: 3", 2)
    assert found.items() <= {"1.acc": 6, "2.acc": 8, "1.qua": 3}.items()


@pytest.mark.parametrize(
    "reply",
    [
        "Image 2 — Unlike Image 1, which got 8 for S_acc, Image 2 gets no S_acc score from me.",
        "Image 2: (S_acc) 7   (S_pre) 6   (S_qua) 8   (S_real) not scored",
        "Image 2: S_acc, score: n/a · S_pre, score: 3",
    ],
)
def test_no_number_is_shifted_to_a_name_without_one(reply):
    """It is the other image's, or that of the name before it."""
    given = {"1.acc": 8} if "Unlike" in reply else {"2.acc": 7, "2.pre": 6, "2.qua": 8}
    given = {"2.pre": 3} if "score: n/a" in reply else given
    assert _found(reply, 2).items() <= given.items()
