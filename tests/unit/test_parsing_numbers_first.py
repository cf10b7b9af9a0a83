"""Numbers before their names, and numbers that only look like scores: labels, scales, lists."""

from __future__ import annotations

import pytest

from lmmscore.dialog import load_dialog
from lmmscore.parsing import read_text

FOUR = load_dialog("lmm-score").factors
KEYS = ("acc", "pre", "qua", "real")


def scores(reply, n=1):
    """Return what is read of each image, in the order of the factors; None for what is not."""
    found = read_text(reply, FOUR, n).scores
    rows = [tuple(found.get((image, key)) for key in KEYS) for image in range(1, n + 1)]
    return rows[0] if n == 1 else rows


@pytest.mark.parametrize(
    "reply",
    [
        "1 - Editing Accuracy [ ]\n2 - Context Preservation: 8\n3 - Visual Quality: 9",
        "1.1 Editing Accuracy [ ]\n1.2 Context Preservation: 8",
        "2.1 Editing Accuracy\n2.2 Context Preservation",
        "1.1 S_acc\n   Score: none\n1.3 S_qua\n   Score: not given",
        "**1** Editing Accuracy\n**2** Context Preservation: 7\n**3** Visual Quality: 6",
        "№1 Editing Accuracy\n№2 Context Preservation - 7",
        "Point 1 - Editing Accuracy\nPoint 2 - Context Preservation: 7",
        "§1 Editing Accuracy\n§2 Context Preservation: 5",
        "1 of 4 – Editing Accuracy\n2 of 4 – Context Preservation: 5",
        "1: Editing Accuracy\n   not scored\n2: Context Preservation: 6",
        "1 – S_acc\n2 – S_pre\n3 – S_qua\n4 – S_real",
        "1 S_acc\n3 S_qua",
        "№ 1 – S_real: 6\n№ 1 – S_acc\n  - N/A",
    ],
)
def test_a_label_is_no_score(reply):
    """A number that counts factors is not the score of one whose score is missing."""
    assert scores(reply)[0] is None


def test_numbers_first_throughout_are_scores():
    """Bare numbers before their names are scores where every line goes that way."""
    assert scores("8 – S_acc\n6 – S_pre\n9 – S_qua\n7 – S_real") == (8, 6, 9, 7)
    assert scores("9/10 S_acc\n1/10 S_pre\n2/10 S_qua\n3/10 S_real") == (9, 1, 2, 3)


@pytest.mark.parametrize(
    "before",
    [
        "/10",
        "_/10",
        "?? / 10",
        "sur 10",
        "из 10",
        "de 10",
        "p. 7",
        "see p. 7",
        "cf. §7",
        "see (7)",
        "N/A [3]",
        "as in Table 7",
        "like image 7",
        "6..8",
        "6–8",
        "5+2",
        "2·3",
        "7 +/- 1",
        "12 - 4",
        "1到10",
        "half of 10",
        "short of a 7",
        "close to a 7",
        "far from 9",
        "less than 8",
    ],
)
@pytest.mark.parametrize("joint", [" for ", " – "])
def test_what_leads_up_to_a_number_decides(before, joint):
    """A page, a range, a scale, a sum or a share before a name is no score."""
    assert scores(f"{before}{joint}Editing Accuracy\n9{joint}Visual Quality")[0] is None


@pytest.mark.parametrize(
    "reply",
    [
        "I give it 8 for accuracy, 6 for preservation, a strong 9 for quality and 7 for realism.",
        "The edit earns an 8 for accuracy, only 6 for preservation, 9 for quality, 7 for realism.",
        "With a score of 8 for accuracy, 6 for preservation, 9 for quality and 7 for realism.",
        "8pts S_acc / 6pts S_pre / 9pts S_qua / 7pts S_real",
        "I rate the edited photo 8 for S_acc, 6 for S_pre, 9 for S_qua, 7 for S_real.",
    ],
)
def test_words_that_give_lead_up_to_a_score(reply):
    """A number behind words that give it, or where an entry begins, is the next name's."""
    assert scores(reply) == (8, 6, 9, 7)


@pytest.mark.parametrize(
    "reply",
    [
        "Editing Accuracy: of 10\nVisual Quality: 8",
        "Editing Accuracy: 10分中\nVisual Quality: 8",
        "Editing Accuracy: 十分模糊，不评分\nVisual Quality: 8",
        "Editing Accuracy: 7 in 10 pixels changed\nVisual Quality: 8",
        "Editing Accuracy: five, no: none\nVisual Quality: 8",
        "Editing Accuracy: 5 – nein, keine Note\nVisual Quality: 8",
    ],
)
def test_numbers_behind_a_name_that_are_no_scores(reply):
    """A scale alone, a share, an adverb and a number taken back at once are no scores."""
    assert scores(reply) == (None, None, 8, None)


@pytest.mark.parametrize(
    "reply",
    [
        "Editing Accuracy · Context Preservation · Visual Quality · Logical Realism = 7 · – · 9 · –",
        "Logical Realism | Editing Accuracy: 7 | N/A",
        "IV. Logical Realism | I. Editing Accuracy: 7 | N/A",
        "S_acc (out of 10), S_pre (out of 10) = –, seven",
        "– and 8 for Visual Quality and Logical Realism",
        "? and 8 for S_acc and S_pre",
        "none; none; 4 (Editing Accuracy (S_acc); Context Preservation (S_pre); Visual Quality)",
        "③ Visual Quality | ② Context Preservation: 1 | 7",
    ],
)
def test_lists_side_by_side_with_gaps(reply):
    """Of a list of names beside a list with gaps, no name gets what stands next to it."""
    assert not read_text(reply, FOUR, 1).scores


@pytest.mark.parametrize(
    "reply",
    [
        "Image 1 scores 7 in quality.\n\nWith 5 for realism, Image 2 is decent.",
        "Image 1 scores 7 in quality. With 5 for realism, Image 2 is decent.",
    ],
)
def test_a_phrase_before_an_image_is_not_of_the_one_above(reply):
    """A score in a phrase that leads to an image is not given to the image named before."""
    assert scores(reply, 2) == [(None, None, 7, None), (None,) * 4]


@pytest.mark.parametrize(
    "reply",
    [
        "All images get 8 for accuracy, except Image 2, which I could not score.",
        "All images: accuracy 8 (Image 2 excluded)",
        "All images get 6 for quality.\nAccuracy – 8 for Images 1 and 3 only.",
        "All images get 6 for quality.\nAccuracy: 8, for Image 1 only.",
    ],
)
def test_what_is_said_of_all_but_some(reply):
    """A score said of several images is nobody's where the line names other images, too."""
    assert [row[0] for row in scores(reply, 3)] == [None] * 3


def test_a_number_before_its_image_under_a_factor():
    """`5: Image 1` under a factor is not the score of the image named last above."""
    reply = "**S_acc**: Image 1: 4; Image 2: –; Image 3: 7\n\n**S_pre**: 5: Image 1; (not Image 2)"
    assert scores(reply, 3) == [(4, None, None, None), (None,) * 4, (7, None, None, None)]


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_records_whose_score_comes_first(gap):
    """Where `Score: 7` stands above `Factor: name`, no factor gets the score below it."""
    records = ["Score: 9\nFactor: S_acc", "Score: 3\nFactor: S_pre", "Score: 2\nFactor: S_qua"]
    assert not read_text("Photo.\n" + gap.join(records), FOUR, 1).scores
    records = ["Factor: S_acc\nScore: 9", "Factor: S_pre\nScore: 3", "Factor: S_qua\nScore: 2"]
    assert scores("Photo.\n" + gap.join(records)) == (9, 3, 2, None)


def test_rows_that_name_factors_again_are_no_table():
    """Bars and tabs between entries make no heading of the first line."""
    first = "S_acc | 6/10 | S_pre | 7/10 | S_qua | – | S_real | –"
    reply = f"1. {first}\n---\n2. S_acc | – | S_pre | 5/10 | S_qua | 9/10 | S_real | 3/10"
    assert scores(reply, 2)[0][1] in {7, None}
    assert scores(reply, 2)[1] in {(None, 5, 9, 3), (None,) * 4}

    row = "(Editing Accuracy | Context Preservation | Visual Quality | Logical Realism)"
    reply = f"Image 1 - 2 | 8 | 7 | 10 {row}\nImage 2 - 1 | n/a | 7 | 8 {row}"
    assert scores(reply, 2) == [(2, 8, 7, 10), (None,) * 4]


@pytest.mark.parametrize(
    "reply",
    [
        "S_acc –\nS_pre –\nS_qua: 1\nS_real – 1 10",
        "### S_acc\n- 1\n### S_pre\n- 1 7\n### S_qua\n- 1 4\n### S_real\n- 1",
    ],
)
def test_the_number_of_the_only_image_is_no_score(reply):
    """A 1 that stands before the scores, where there are any, is none where they are missing."""
    found = scores(reply)
    assert found[0] is None
    assert found[2] is None


@pytest.mark.parametrize(
    "reply",
    [
        "8/10 — Editing Accuracy: The roof is red.\n6/10 — Context Preservation: A tree is gone.\n"
        "9/10 — Visual Quality: Hardly any noise.\n7/10 — Logical Realism: The shadow is odd.",
        "8 for S_acc: The roof is red.\n6 for S_pre: A tree is gone.\n"
        "9 for S_qua: Hardly any noise.\n7 for S_real: The shadow is odd.",
        "A strong 8 for accuracy, a middling 6 for preservation, a good 9 for quality, and a fair 7 "
        "for realism.",
        "1. S_acc – 8 2. S_pre – 6 3. S_qua – 9 4. S_real – 7",
        "S_acc pari a 8, S_pre pari a 6, S_qua pari a 9, S_real pari a 7.",
        "S_acc得分为8，S_pre得分为6，S_qua得分为9，S_real得分为7。",
    ],
)
def test_ways_to_give_numbers_to_names(reply):
    """Before a reason, behind an adjective, before the next entry's number, in other languages."""
    assert scores(reply) == (8, 6, 9, 7)


@pytest.mark.parametrize(
    "reply",
    [
        "For S_acc, Images 1 and 2 receive 8 and 4, respectively.\n"
        "For S_pre, Images 1 and 2 receive 6 and 5, respectively.\n"
        "For S_qua, Images 1 and 2 receive 9 and 3, respectively.\n"
        "For S_real, Images 1 and 2 receive 7 and 2, respectively.",
        "On S_acc, Image 1 earns an 8, whereas Image 2 only merits a 4.\n"
        "On S_pre, Image 1 earns a 6, whereas Image 2 only merits a 5.\n"
        "On S_qua, Image 1 earns a 9, whereas Image 2 only merits a 3.\n"
        "On S_real, Image 1 earns a 7, whereas Image 2 only merits a 2.",
        "Image 1 -> [8, 6, 9, 7]\nImage 2 -> [4, 5, 3, 2]\n(order: acc, pre, qua, real)",
        "1: S_acc 8, S_pre 6, S_qua 9, S_real 7\n2: S_acc 4, S_pre 5, S_qua 3, S_real 2",
        "1: S_acc 8, S_pre 6, S_qua 9, S_real 7; 2: S_acc 4, S_pre 5, S_qua 3, S_real 2",
    ],
)
def test_several_images_on_a_line(reply):
    """Images named before a list of numbers, or by a label before their scores."""
    assert scores(reply, 2) == [(8, 6, 9, 7), (4, 5, 3, 2)]


@pytest.mark.parametrize(
    "reply",
    [
        "S_acc (Image 2 / Image 1): 8 / 4\nS_pre (Image 2 / Image 1): 6 / 5\n"
        "S_qua (Image 2 / Image 1): 9 / 3\nS_real (Image 2 / Image 1): 7 / 2",
        "S_acc (Image 1 / Image 2): 8 / –\nS_pre (Image 1 / Image 2): 6 / 5\n"
        "S_qua (Image 1 / Image 2): 9 / 3\nS_real (Image 1 / Image 2): 7 / 2",
        "1: S_acc 8, S_pre 6, S_qua 9\n2: S_acc 4, S_pre 5, S_qua 3, S_real 2",
    ],
)
def test_several_images_on_a_line_with_gaps(reply):
    """In another order than that of the images, or with a number missing, nothing is shifted."""
    assert (4, 5, 3, 2) not in scores(reply, 2)[:1]
    assert (8, 6, 9, 7) not in scores(reply, 2)


@pytest.mark.parametrize("missing", ["none", "not scored", "N/A", "–", "no score"])
def test_a_label_before_a_missing_score_is_none(missing):
    """What follows the colon of a name with a number before it must explain that number."""
    assert scores(f"1/10 — S_acc: {missing}\n2/10 — S_pre: {missing}") == (None,) * 4


@pytest.mark.parametrize(
    ("reply", "row"),
    [
        ("7/10 – S_acc: 2 cups are gone.\n9/10 – S_qua: soft.", (7, None, 9, None)),
        ("7/10 – S_acc: seven\n9/10 – S_qua: pending", (None,) * 4),
        ("7/10 – S_acc: 2\n9/10 – S_qua: n/a", (None,) * 4),
        ("7/10 (for S_acc)\n9/10 (for S_qua). Soft.", (7, None, 9, None)),
        ("7/10 (for accuracy suffers)", (None,) * 4),
        ("7/10 (for S_qua and S_real)", (None,) * 4),
        ("- 7/10 (towards S_acc)\n- 9/10 (towards style). Soft.", (None,) * 4),
        ("S_acc: (1-10) 7\nS_qua: [1 to 10] 9", (7, None, 9, None)),
        ("S_acc: (1-5) 4\nS_qua: (6-7) 9\nS_real: (1-10)", (None,) * 4),
        ("Accuracy 7, quality 9. Overall about 8.", (7, None, 9, None)),
        ("7 for accuracy and 9 for quality, which averages to 8.", (7, None, 9, None)),
        ("7 for accuracy and 9 for quality (mean 8).", (7, None, 9, None)),
        ("7 for accuracy and 9 for quality, which I lower to 8.", (None,) * 4),
        ("Accuracy: 7, but with the blur it averages 5.", (None,) * 4),
    ],
)
def test_other_numbers_beside_a_score(reply, row):
    """What counts, the scale, and what several scores come to; not what may be meant instead."""
    assert scores(reply) == row


@pytest.mark.parametrize("sign", [",", ";"])
def test_images_in_brackets_behind_their_numbers(sign):
    """On every line, whatever follows it."""
    reply = f"S_acc: 7 (Image 1){sign} 3 (Image 2)\nS_pre: 4 (Image 1){sign} 9 (Image 2)\nThe end."
    assert [row[:2] for row in scores(reply, 2)] == [(7, 4), (3, 9)]


@pytest.mark.parametrize(
    ("value", "score"),
    [("Mostly agree (6)", 6), ("very good: 8", 8), ("good -7", None), ("fair (5-6)", None)],
)
def test_a_grade_before_its_number(value, score):
    """In JSON and tables as in prose."""
    assert scores(f'{{"S_acc": "{value}", "S_pre": 5, "S_qua": 6, "S_real": 7}}')[0] == score
    table = f"| S_acc | S_pre | S_qua | S_real |\n|---|---|---|---|\n| {value} | 5 | 6 | 7 |"
    assert scores(table)[0] == score


@pytest.mark.parametrize(
    ("reply", "row"),
    [
        ("Image 1\nS_acc: 2. Image 2 is softer\nImage 2\nS_acc: 8", [2, 8]),
        ("S_acc: 1. Image 1 gets 8, 2. Image 2 gets 5", [8, 5]),
        ("S_acc: 1. Image 1: 8, 2. Image 2: 5", [8, 5]),
    ],
)
def test_a_score_before_the_image_of_that_number(reply, row):
    """It is a score where words follow the image, and a label where its score does."""
    assert [each[0] for each in scores(reply, 2)] == row
