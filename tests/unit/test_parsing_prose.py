"""Numbers in prose that are no scores, and numbers that are said of something else than the edit."""

from __future__ import annotations

import pytest

from lmmscore.parsing import read_text
from lmmscore.parsing.names import names_of
from lmmscore.scales import Factor
from tests.reply_layouts import FOUR

KEYS = ("acc", "pre", "qua", "real")
SCORES = "S_acc: 5\nS_pre: 4\nS_qua: 3\nS_real: 2\n"
TENS = "S_acc: 10\nS_pre: 10\nS_qua: 10\nS_real: 10\n"
TWO = f"Image 1:\nS_acc: 6\nS_pre: 7\nS_qua: 8\nS_real: 9\n\nImage 2:\n{SCORES}\n"


@pytest.mark.parametrize(
    "line",
    [
        "S_pre (1 to 10): 1 is worst, 10 is best",
        "S_pre: 1 worst, 10 best",
        "S_pre: 1/10 is worst",
        "S_pre: 1: bad 10: good",
        "S_pre: 7 %",
        "S_pre: 9 pct",
        "S_pre: 7...8",
        "S_pre: 7 up to 8",
        "S_pre: 7, 8",
        "S_pre: (7, 8)",
        "S_pre: 7, maybe 8",
        "S_pre: 7 (or 8)",
        "S_pre: 7 but could be 8",
        "S_pre: 7 minus 1 for artifacts",
        "S_pre: 7; it should have been a 9",
        "S_pre: 7 (95% interval 8 to 9)",
        "S_pre: 7分（扣2分）",
        "S_pre: 1: 7 of 10 points",
        "I raise preservation to 7.",
        "S_pre: 10, minus 2 for the seams, so 8",
        "S_pre: 10 (minus 2)",
        "S_pre: 8 is too generous, so 5",
        "S_pre: 8 at first sight, but the tail is gone, so 5.",
        "S_pre: 7 would be too high",
        "S_pre: 9 → no, 4",
        "S_pre: 1 point lower than Image 1",
        "S_pre: 3 less",
        "S_pre: 2 higher than image 1",
        "S_pre: 2 above Image 1",
        "S_pre: 1 (…)",
        r"Contextual Preservation (10\%): --",
        "S_pre: 7 – half a point less",
        "Of the 40 points, 10 go to accuracy, 10 to preservation and 10 to quality.",
        "[1] Accuracy: 3 errors\n[2] Preservation: fine\n[3] Quality: 1 smear\n[4] Realism: fine",
        "**7**\nAccuracy\n**5**\nPreservation\n**9**\nQuality\n**6**\nRealism",
        "Accuracy\n\n7\nPreservation\n\n5\nQuality\n\n9\nRealism",
        "Plan – S_acc gets a 7, S_pre a 5, S_qua a 9 and S_real a 6.",
        "The format is: S_acc: 6, S_pre: 7, S_qua: 8, S_real: 9. I cannot evaluate this.",
        "For example, S_acc: 6, S_pre: 7, S_qua: 8, S_real: 9 would be a typical score.",
    ],
)
def test_a_number_that_is_no_score_is_not_read_as_one(line):
    """Ends of the scale, shares, ranges, differences, sums, second thoughts and examples are none."""
    assert not read_text(f"{line}\n", FOUR, 1).scores


@pytest.mark.parametrize(
    "line",
    [
        "S_pre: 7, as 2 dogs are missing",
        "S_pre: 7 so the fox is intact",
        "S_pre: 7. For example, 2 dogs are gone.",
        "S_pre: 7, 2 dogs are missing.",
        "Here are the scores in the required format: S_pre: 7",
        "S_pre: 7 but 2 dogs are missing",
        "S_pre: 7 the best of all",
        "1) S_pre: 7, 2) S_qua: good",
        "S_pre: 7 – half of the fence is gone",
        "S_pre: 7 (two pedestrians are missing)",
        "S_pre: 7 (the best of the 4)",
        'S_pre: 7 – the sign still reads "Route 5"',
        "The only edited image gets S_pre 7.",
        "S_pre: 7 (the mean of 6 for the sail and 8 for the mast)",
        "S_pre: 7 (5 for the sail, 9 for the mast, averaged)",
        "S_pre: 7 (the source would get a 9)",
        "S_pre: 7 (I considered 8)",
        "S_pre: 7 instead of 8 because of the seam",
        "S_pre: 7 (1 = all is new, 10 = nothing is)",
        "S_pre: 7. 10 would require a mast.",
        "S_pre: 7, the 2 chairs became 1",
        "S_pre: 7 → another pose, 1 arm is hidden",
        "A 7 for preservation is fair because 1 gull is gone",
        "S_pre: 7 / total: 7",
        "S_pre: 7. S_pre would be 9 if the gull were there.",
        "S_pre: 7; it would have been a 9 without the seam",
        "S_pre: 7 (95% interval 6.5 to 8)",
        "S_pre: 7分（扣3分：少了2只鸟）",
        "S_pre: 7: 2 of 3 gulls are left",
        "S_pre: 7: all 3, one of them pale",
    ],
)
def test_an_explanation_does_not_hide_a_score(line):
    """What merely resembles a range or a difference is still an explanation."""
    assert read_text(f"{line}\n", FOUR, 1).scores == {(1, "pre"): 7}


@pytest.mark.parametrize(
    "other",
    ["Original image\n", "Source image:\n", "Original\n", "**Original image (for reference)**\n"],
)
def test_the_sources_numbers_do_not_replace_the_edits(other):
    """Of one edit, what stands under the original is not said of the edit, with or without a colon."""
    for text in (
        f"Edited image:\n{SCORES}\n{other}{TENS}",
        f"{other}{TENS}\nEdited image\n{SCORES}",
    ):
        reading = read_text(text, FOUR, 1)
        assert [reading.scores[1, key] for key in KEYS] == [5, 4, 3, 2]


def test_two_letters_are_two_images():
    """Where one edit was shown, scores of an Image A and an Image B are not one verdict after another."""
    inline = "S_acc: 6, S_pre: 7, S_qua: 8, S_real: {}"
    reading = read_text(f"Image A: {inline.format(9)}\nImage B: {inline.format(2)}", FOUR, 1)
    assert not reading.scores
    assert [fault.kind for fault in reading.faults] == ["contradiction"]
    assert read_text(f"Image A: {inline.format(9)}", FOUR, 1).complete


def test_a_lettered_image_is_not_the_numbered_one_above_it():
    """What stands under "Image B" is not put down to image 2."""
    reading = read_text(f"{TWO}\nImage B:\n{TENS}", FOUR, 2)
    assert reading.complete
    assert reading.scores[2, "acc"] == 5


def test_a_factor_given_twice_at_the_beginning_is_a_contradiction():
    """`S_acc: 6` and then `S_acc: 9` leave that factor without a score, at either end of a verdict."""
    for text in (f"S_acc: 9\n{SCORES}", f"{SCORES}S_acc: 9"):
        reading = read_text(text, FOUR, 1)
        assert [(fault.kind, fault.factor) for fault in reading.faults] == [
            ("contradiction", "acc")
        ]


@pytest.mark.parametrize(
    "words",
    [
        "On reflection, I change S_acc of image 2 to 7.",
        "Correction: S_acc of Image 2 should be 7, not 5.",
        "Correction - Image 2: S_acc: 7",
        "Correction:\n- S_acc of image 2 → 7",
        "Image 2: after a second look I lower S_acc to 3.",
        "The lamp is on in Image 2, so S_acc ends up at a 3.",
        "The lamp is on in Image 2, so S_acc has to be 3.",
        "The Editing Accuracy of the second image should be 7 instead of 5.",
        "I raised Editing Accuracy for Image 2 from 5 to 7 after that.",
    ],
)
def test_a_correction_in_words_is_a_contradiction(words):
    """A verdict that is changed afterwards does not stand, and what the change is is asked rather than guessed."""
    reading = read_text(TWO + words, FOUR, 2)
    assert [(fault.kind, fault.position, fault.factor) for fault in reading.faults] == [
        ("contradiction", 2, "acc")
    ]
    assert len(reading.scores) == 7


def test_a_correction_of_no_factor_in_particular_spoils_all_of_the_image():
    """Which score is meant is not guessed, nor which image where none is named."""
    assert {at[0] for at in read_text(TWO + "Image 2 should get 7 instead.", FOUR, 2).scores} == {1}
    assert {at[1] for at in read_text(TWO + "I lower S_acc to 3.", FOUR, 2).scores} == {
        "pre",
        "qua",
        "real",
    }


@pytest.mark.parametrize(
    "words",
    [
        "I lowered S_acc of Image 2 from 7 to 5, because the tail is gone.",
        "To raise the Visual Quality of image 2, the seams should be 2 pixels thinner.",
        "Image 2 should be ranked second to 1.",
        "The change of the sky in Image 1 is correct.",
        "Updated sum for image 2: S_all = 0.4 × S_acc + 0.3 × S_pre + 0.2 × S_qua + 0.1 × S_real = 4",
    ],
)
def test_words_that_change_nothing_leave_the_verdict(words):
    """An explanation that agrees with the verdict, and advice, are no corrections."""
    assert read_text(TWO + words, FOUR, 2).complete


def test_an_explanation_on_the_line_of_the_scores_is_no_correction():
    """The numbers of the verdict itself are not taken for those of a change."""
    text = "Image 1: S_acc: 6, S_pre: 7, S_qua: 8, S_real: 9 – the sky should be warmer"
    assert read_text(text, FOUR, 1).complete


def test_a_title_over_the_source_does_not_hide_the_scores_below():
    """A description of the original, headed so, ends where the scores have a heading of their own."""
    assert read_text(
        f"**Original image**\nA fox in the snow.\n\n**Scores**\n{SCORES}", FOUR, 1
    ).complete


@pytest.mark.parametrize(
    "words",
    [
        "A little softer than the source.",
        "I see no seams.",
        "Élégant et net.",
        "**Well** kept throughout.",
        "“Natural” light, no seams.",
    ],
)
def test_a_sentence_after_the_score_explains_it(words: str) -> None:
    """However it begins, a sentence behind a labelled score is no second opinion."""
    lines = [f"* $S_{{{key}}}$: 7 {words}" for key in ("acc", "pre", "qua", "real")]
    reply = "**Image 1:**\n" + "\n".join(lines)
    reading = read_text(reply, FOUR, 1)
    assert set(reading.scores.values()) == {7}
    assert reading.complete


@pytest.mark.parametrize(
    "remark", ["Image 2 and Image 1 are alike", "Excellent contextual preservation (see Image 1)."]
)
def test_a_remark_that_names_images_and_factors_never_moves_a_score(remark: str) -> None:
    """What follows such a remark may stay unread, for a repair turn to ask; it is never read wrong."""
    keys = ("acc", "pre", "qua", "real")
    lines = []
    for image in (1, 2):
        lines.append(f"**Image {image}:**")
        for place, key in enumerate(keys, 1):
            said = remark if (image, key) == (2, "qua") else "Fine."
            lines.append(f"* $S_{{{key}}}$: {image + place}. {said}")
    reading = read_text("\n".join(lines), FOUR, 2)
    expected = {(i, key): i + place for i in (1, 2) for place, key in enumerate(keys, 1)}
    assert reading.scores.items() <= expected.items()
    assert len(reading.scores) >= 6


def test_a_few_words_under_a_score_explain_it_and_head_nothing() -> None:
    """A reason without a full stop is no caption of the score below it."""
    reply = "S_acc: 5\n  clear beach setting\nS_pre: 4\nS_qua: 3\nS_real: 2\n"

    assert read_text(reply, FOUR, 1).complete


def test_an_ampersand_in_a_name_may_be_written_out() -> None:
    """A judge writes "Detail and Fidelity" where the dialog has "Detail & Fidelity"."""
    scale = FOUR[0].scale
    factors = (
        Factor(key="seam", name="Visual Seamlessness", scale=scale),
        Factor(key="phys", name="Physical & Detail Fidelity", scale=scale),
    )

    reading = read_text("Visual Seamlessness: 3.\nPhysical and Detail Fidelity: 5.", factors, 1)

    assert reading.scores == {(1, "seam"): 3, (1, "phys"): 5}


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("IMAGE 2", [(2,)]),
        ("see İmage 2 and ımage 3", [(2, 3)]),
        ("the 3rd edit, the last one", [(3,), (8,)]),
        ("图像2、第三张", [(2,), (3,)]),
        ("2番目の画像", [(2,)]),
        ("All images", [tuple(range(1, 9))]),
        ("#4", [(4,)]),
        ("imageA", [(1,)]),
        ("The 2. Bild", [(2,)]),
        ("the imagery of 2 foxes", []),
    ],
)
def test_images_are_found_by_every_kind_of_name(
    text: str, positions: list[tuple[int, ...]]
) -> None:
    """Wherever a name may begin is looked at, in any case and script."""
    found = names_of(FOUR, 8).images_in(text, 0, len(text))

    assert [image.positions for image in found] == positions


@pytest.mark.parametrize("piece", [".", ". ", "- ", "_ ", "…", "~", "`"])
def test_a_page_of_nothing_but_signs_is_read_in_one_pass(piece: str) -> None:
    """What leads up to a number is found at its end, however long it is."""
    reply = "S_acc " + piece * 5_000 + " 7\nS_pre: 4\nS_qua: 3\nS_real: 2\n"

    assert read_text(reply, FOUR, 1).scores[1, "pre"] == 4


@pytest.mark.parametrize(
    "reply",
    [
        "Image 1: S_acc 8 | Image 2 [Acc (3); Pre (4)] | S_pre 5, S_qua 6 [I3]",
        "Results for Image 1 to Image 3:\nS_acc: 9, S_pre: 5, all of Image 1",
        "S_acc: A: -\nB:\nC: 4\nS_pre: A: 5\nB: 4",
        "Image 1:\n\n***\nS_pre: 5",
        "Image 1\n\n| S_acc | 8 |\n| S_qua | 7 |\n\n***\n\n| S_acc | 6 |\n| S_pre | 5 |",
    ],
)
def test_what_is_not_understood_ends_a_section(reply):
    """A score behind a heading, label or list that nobody understands is not the last image's."""
    read = read_text(reply, FOUR, 3).scores
    assert not [cell for cell in read if cell[1] == "pre"], read


def test_a_paragraph_that_an_image_opens_is_its_own_where_each_image_has_one():
    """What the first sentence says of the image need not look like a heading."""
    first = "Image 1 does what was asked. I give it an 8 for accuracy and a 6 for realism."
    second = "Image 2 keeps the snow. Compared with Image 1, it is blurred. Its accuracy is 2."

    both = read_text(f"{first}\n\n{second}", FOUR, 2).scores
    assert both == {(1, "acc"): 8, (1, "real"): 6, (2, "acc"): 2}
    assert read_text(f"{first}\n\nMoving on. {second}", FOUR, 3).scores == {}


def test_a_name_before_the_reasons_and_its_symbol_behind_them_are_one_entry():
    """The image that an explanation compares with takes no score."""
    text = (
        "Image 1:\n- Editing Accuracy: Better than image 2. S_acc = 6\n"
        "Image 2:\n- Editing Accuracy: The rim is odd. S_acc = 4\n"
    )
    assert read_text(text, FOUR, 2).scores == {(1, "acc"): 6, (2, "acc"): 4}
    unsettled = text.replace("The rim is odd.", "Of image 3:")
    assert (2, "acc") not in read_text(unsettled, FOUR, 3).scores


def test_the_order_of_bare_numbers_may_be_stated_behind_them():
    """Where no other line names a factor, the last may say what the numbers are."""
    rows = "Image 1: 7, 6, 8, 5\nImage 2: 9, 6, 7, 4\n\n"
    stated = f"{rows}(The four numbers are S_acc, S_pre, S_qua and S_real, in this order.)"
    read = read_text(stated, FOUR, 2).scores
    assert [read[1, "acc"], read[2, "acc"], read[2, "real"]] == [7, 9, 4]
    assert not read_text(f"{rows}The ranks are by S_acc, S_pre, S_qua, S_real", FOUR, 2).scores
