"""Where a score is missing, no other number takes its place: each case once went wrong.

All were found by random replies of authors who had not seen the reader.
"""

from __future__ import annotations

import pytest

from lmmscore.dialog import load_dialog
from lmmscore.parsing import read_text
from tests.reply_layouts import FOUR


def read(text: str, n: int, factors=FOUR) -> dict[str, float]:
    """What is read, as `2.acc: 7`."""
    scores = read_text(text, factors, n).scores
    return {f"{image}.{key}": float(score) for (image, key), score in scores.items()}


def none_wrong(found: dict[str, float], written: dict[str, float]) -> bool:
    """Whether nothing is read but what was written."""
    return found.items() <= written.items()


ALTERNATING = (
    "Image 1: 5 | S_acc | 1 | S_pre | 10 | S_qua\nImage 2: N/A | S_acc | 2 | S_pre | 4 | S_qua"
)
NUMBER_SIGNS = "Image 3:\n- S_acc: 8\n- #2 S_pre: 10\n\nImage 2:\n- S_acc: 9\n- #3 S_qua: 4"
CHECKED_OFF = "Image 3:\n- [x] #2 S_pre: 10\n\nImage 2:\n- S_acc: 9"
LEFT_OUT = (
    "No. 2\n=> skipped\n\nRight, number three.\n=> S_acc: 9 out of ten\n=> S_pre: 6 out of ten"
)
IN_CIRCLES = "Panel 2: refused\n❸ S_acc: 6/10, S_pre: 5/10, S_qua: 4/10"
NEVER_NAMED = "Image 1:\nS_acc: 7\n\nOkay then.\nS_pre: 4\nS_qua: 5\n\nImage 3:\nS_acc: 2"
PASSED_OVER = (
    "Edit 1 of 2 - N/A /// Edit 2 of 2, the red one - S_acc is 9   S_pre is 4   S_qua is 8"
)
BEHIND = "- 8 — S_acc, Image 1\n- – — S_qua, Image 2\n- 1.5 — S_acc, Image 3\n- 2 — S_pre, Image 3"
STRANGE_WORDS = (
    "Image 1:\nS_acc takes a 2 // the poster is kept\n5/10\nS_pre: 6\n\nImage 2:\nS_acc: 6"
)
A_SHARE = "Image 1:\nS_acc: 9\nS_pre: (9 of 10 leaves are sharp)\n\nImage 2:\nS_pre → (9 of 10 boats float)"
HEADED_REMARK = "Image 1:\n#### S_acc: 4; like Image 2\n#### S_pre: 5\n\nImage 2:\n#### S_acc: 8"
FOR_STRANGERS = "S_acc: 6 for Image 1 | 5 for Image 2 | – for Image 3 | 3 points for Siebtes Bild"
A_LIST_OF_SEVERAL = "S_acc [images 1–2]: 8, N/A\nS_pre [images 1–2]: 4, –\nS_qua [images 1–2]: 6, x"
NUMBERED_STEPS = (
    "4. S_qua\n  - Image 1: 5\n  - Image 3: 8\n5. Judge the edits on S_real.\n  - Image 1 - undecided\n"
    "  - Image 2: 6\n  - Image 3: 3"
)
LETTERED = (
    "Image 1:\na) *Quality*:\n  Sharp. I give it 7\nb) *Preservation*:\n"
    "  The visual quality is another matter. I give it 3\n\nImage 2:\na) *Quality*:\n  Dull. I give it 4"
)
A_COUNT_IN_WORDS = "Image one of two\nS_qua: 5\n\nImage two of two\nS_acc（left open）\nS_qua: 4"
IN_ELEMENTS = (
    "Image 1 — dull\n- S_acc : <score>5</score> # below Image 2\n- S_pre : <score>7</score>\n"
    "\nImage 2\n- S_acc : <score>1</score>"
)
TAGS = "Image 1:\n<acc>N/A</acc>. <pre>1/10</pre>. <qua>9/10</qua>.\nImage 2:\n<acc>3</acc>. <pre>8</pre>."
BRACKETED_NUMBER = "- [Image 3] S_qua […]\n- [No. 7] S_qua [9.5]\n- [Image 3] S_acc [2]"


@pytest.mark.parametrize(
    ("text", "n", "written"),
    [
        (ALTERNATING, 2, {"1.acc": 5, "1.pre": 1, "1.qua": 10, "2.pre": 2, "2.qua": 4}),
        (NUMBER_SIGNS, 3, {"3.acc": 8, "3.pre": 10, "2.acc": 9, "2.qua": 4}),
        (CHECKED_OFF, 3, {"3.pre": 10, "2.acc": 9}),
        (LEFT_OUT, 3, {"3.acc": 9, "3.pre": 6}),
        (IN_CIRCLES, 3, {"3.acc": 6, "3.pre": 5, "3.qua": 4}),
        (NEVER_NAMED, 3, {"1.acc": 7, "3.acc": 2}),
        (PASSED_OVER, 2, {"2.acc": 9, "2.pre": 4, "2.qua": 8}),
        (BEHIND, 3, {"1.acc": 8, "3.acc": 1.5, "3.pre": 2}),
        (STRANGE_WORDS, 2, {"1.acc": 2, "1.pre": 6, "2.acc": 6}),
        (A_SHARE, 2, {"1.acc": 9}),
        (HEADED_REMARK, 2, {"1.acc": 4, "1.pre": 5, "2.acc": 8}),
        (FOR_STRANGERS, 7, {"1.acc": 6, "2.acc": 5, "7.acc": 3}),
        (A_LIST_OF_SEVERAL, 2, {"1.acc": 8, "1.pre": 4, "1.qua": 6}),
        (NUMBERED_STEPS, 3, {"1.qua": 5, "3.qua": 8, "2.real": 6, "3.real": 3}),
        (LETTERED, 2, {"1.qua": 7, "1.pre": 3, "2.qua": 4}),
        (A_COUNT_IN_WORDS, 2, {"1.qua": 5, "2.qua": 4}),
        (IN_ELEMENTS, 2, {"1.acc": 5, "1.pre": 7, "2.acc": 1}),
        (TAGS, 2, {"1.pre": 1, "1.qua": 9, "2.acc": 3, "2.pre": 8}),
        (BRACKETED_NUMBER, 7, {"7.qua": 9.5, "3.acc": 2}),
    ],
)
def test_a_missing_score_is_filled_in_from_nowhere(text: str, n: int, written: dict[str, float]):
    """Not from the next image, nor from what counts, explains, or lists."""
    assert none_wrong(read(text, n), written)


def test_what_is_plain_beside_a_missing_score_is_read():
    """Caution costs only what is in doubt."""
    assert read(BEHIND, 3) == {"1.acc": 8, "3.acc": 1.5, "3.pre": 2}
    assert read(IN_ELEMENTS, 2) == {"1.acc": 5, "1.pre": 7, "2.acc": 1}
    assert read(NEVER_NAMED, 3) == {"1.acc": 7, "3.acc": 2}
    assert read("**Image 2**\n① Accuracy: 7\n\n**Image 1**\nS_acc: 🔟", 2)["1.acc"] == 10


# --- Tables ---

GROUPED = """
    Factor    Image      Score   Note
    =================================
    S-acc     Image 2    5       fine
              Image 1    6       No. 4 is legible
    S-pre     Image 2    3       2 of 9 windows
              Image 1    1       80% repainted"""
WIDE = """
Factor \\ Image   图像1   图像2   图像3   图像4
===============================================
🎯 S_acc         4       6       6       7
🖼️ S_pre                          4       6"""
CENTRED = """
Preservation, Quality, Realism:

Image    Spre /10  Squa /10  Sreal /10  Avg.
Image 1     4         6         10      6.7
Image 2     1                   7.5     4.25"""


@pytest.mark.parametrize(
    ("text", "n", "written"),
    [
        (GROUPED, 2, {"2.acc": 5, "1.acc": 6, "2.pre": 3, "1.pre": 1}),
        (WIDE, 4, {"1.acc": 4, "2.acc": 6, "3.acc": 6, "4.acc": 7, "3.pre": 4, "4.pre": 6}),
        (CENTRED, 2, {"1.pre": 4, "1.qua": 6, "1.real": 10, "2.pre": 1, "2.real": 7.5}),
        (
            "S_pre\tfour; S_real\t1.5; S_qua: none\nS_acc\tone",
            1,
            {"1.pre": 4, "1.real": 1.5, "1.acc": 1},
        ),
    ],
)
def test_a_cell_is_of_the_column_and_the_row_that_it_stands_in(text, n, written):
    """Columns of wide characters, blank cells, and rows that begin another factor."""
    assert none_wrong(read(text, n), written)


def test_an_ampersand_parts_no_cells_where_tabs_do():
    """ "Texture & Detail" is one column: else all behind it shift."""
    factors = load_dialog("factors-12").factors
    head = "Image\t" + "\t".join(factor.name.replace(" and ", " & ") for factor in factors)
    assert "&" in head
    scores = [1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5]
    row = "\t".join(map(str, scores))
    found = read(f"{head}\nImage 1\t{row}\nImage 2\t{row}", 2, factors)
    assert [found[f"2.{factor.key}"] for factor in factors] == scores


# --- YAML ---

NESTED = """
evaluation:
  - image: 2
    scores:
      S_acc: {score: 7, reason: "like Image 1"}
      S_pre:
        score: 4
  - image: 1
    scores:
      S_acc:
        reason: better than Image 2
        score: null
      S_pre:
        score: 9"""
IN_ANOTHER_ORDER = "images: [edit_2, edit_1]\nS_acc: [9, 2]\nS_pre: [8, NA]\nS_qua: [4, 2]"


def test_yaml_is_read_as_yaml():
    """Fenced or not, by its keys and in the order that it states; prose around it does no harm."""
    written = {"2.acc": 7, "2.pre": 4, "1.pre": 9}
    assert read(NESTED, 2) == written
    assert read(f"Here are my scores:\n```yaml{NESTED}\n```\nLet me know.", 2) == written
    assert read(IN_ANOTHER_ORDER, 2) == {"2.acc": 9, "1.acc": 2, "2.pre": 8, "2.qua": 4, "1.qua": 2}


def test_a_caption_of_several_images_gives_none_of_them_the_first_score():
    """ "Images 1, 2" stands over records of one image each."""
    record = "- name: Image {}\n  factor: S_acc\n  score: {}\n"
    found = read("## Images 1, 2\n\n" + record.format(1, 3) + record.format(2, 8), 2)
    assert none_wrong(found, {"1.acc": 3, "2.acc": 8})


# --- Words around scores ---

SCORES = "\n\nImage 1:\nS_acc: 7\nS_pre: 6\nS_qua: 6\nS_real: 5\n\nImage 2:\nS_acc: 4\nS_pre: 3"


@pytest.mark.parametrize(
    "words",
    [
        "Some of the scores could not be given.",
        "I left out what I could not judge.",
        "Anything without a number was left open on purpose.",
        "S_all: not computed (incomplete)",
        "Scores run from 1 (worst) to 10 (best), halves allowed.",
        "While I can't verify the identity of the hiker, here is my evaluation:",
        "I'm not able to identify people, but I can evaluate the edits:",
    ],
)
def test_what_is_said_of_gaps_of_people_or_of_the_scale_voids_nothing(words: str):
    """The scores that are given are the judge's own."""
    assert read(words + SCORES, 2)["1.acc"] == 7


@pytest.mark.parametrize(
    "words",
    [
        "Some of the scores could not be given, so I guessed them.",
        "I left out what I could not judge and took the average of the others.",
        "Scores run from 1 to 5.",
        "I cannot identify the images, so these are guesses:",
        "I'm not able to identify people, but I can make up scores:",
    ],
)
def test_what_sounds_alike_and_voids_scores_does(words: str):
    """A gap that was filled, another scale, a judge that saw nothing."""
    assert read(words + SCORES, 2) == {}


@pytest.mark.parametrize(
    "entry",
    [
        "8 only if the shadow is forgiven",
        "8, but only when seen from afar",
        "8 as long as the halo is ignored",
        "8 on condition that the sky is cropped",
        "8 in case the hat was meant",
        "8 nur wenn man den Schatten verzeiht",
    ],
)
def test_a_score_on_a_condition_is_none(entry: str):
    """Whatever the condition is called."""
    assert "1.acc" not in read(f"S_acc: {entry}\nS_pre: 7\nS_qua: 7\nS_real: 6", 1)
    assert read("S_acc: 8 only because it is sharp\nS_pre: 7", 1)["1.acc"] == 8
