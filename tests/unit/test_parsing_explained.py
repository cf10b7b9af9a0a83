"""Scores that are complete and explained: what is merely unknown beside them voids none."""

from __future__ import annotations

import pytest

from lmmscore.dialog import load_dialog
from lmmscore.parsing import read_text

FOUR = load_dialog("lmm-score").factors
BARE = (
    "Image 1: S_acc: 8, S_pre: 7, S_qua: 9, S_real: 6\n"
    "Image 2: S_acc: 5, S_pre: 9, S_qua: 4, S_real: 3"
)
EXPLAINED = """**Image 1**
- S_acc: 8 – the ferry carries a blue funnel now, only its rim stayed red
- S_pre: 7 – two of the gulls above the pier are gone
- S_qua: 9 – rivets and ropes are crisp
- S_real: 6 – the funnel throws its shade towards the sun

**Image 2**
- S_acc: 5 – the funnel turned violet rather than blue
- S_pre: 9 – pier, gulls and waves are where they were
- S_qua: 4 – a blurred patch runs along the deck
- S_real: 3 – smoke rises below the chimney"""
TABLE = """| Image | S_acc | S_pre | S_qua | S_real |
|---|---|---|---|---|
| 1 | 8 | 7 | 9 | 6 |
| 2 | 5 | 9 | 4 | 3 |

The first turned the funnel blue and lost two of the gulls above the pier.
The second went for violet, and a blurred patch runs along the whole length of its deck."""
SCORES = {1: (8, 7, 9, 6), 2: (5, 9, 4, 3)}
WHOLE = {
    (image, factor.key): score
    for image, scores in SCORES.items()
    for factor, score in zip(FOUR, scores, strict=True)
}
UNKNOWN = [
    "Quite a maritime pair of candidates on the table today.",
    "Dear colleague,",
    "Elbette!",
    "The two come out further apart than their thumbnails suggest.",
    "A harbour like that deserves sturdier gulls.",
    "Po uważnym obejrzeniu obu wersji podaję punkty.",
]
VOIDING = [
    "I work from text alone and inferred all of it from the wording of the task.",
    "The image box stayed empty for both of them.",
    "The more an image collects, the worse it is.",
    "What you have just read goes back to last week's session.",
    "Having written all this, I would not stand by any of it.",
    "That is what they would come to, were the border cropped.",
    "I noticed that I had the pictures of a different job in front of me.",
    "My colleague dictated these to me.",
    "Please do not record these yet, I will settle on the figures tomorrow.",
    "Je höher die Zahl, desto schlechter das Bild.",
    "Pensándolo bien, retiro todo lo dicho.",
]


def read(reply: str) -> dict[tuple[int, str], int]:
    """Return the scores of a reply on two images."""
    return {cell: int(score) for cell, score in read_text(reply, FOUR, 2).scores.items()}


@pytest.mark.parametrize("remark", UNKNOWN)
@pytest.mark.parametrize("reply", [EXPLAINED, TABLE], ids=["list", "table"])
def test_an_unknown_remark_leaves_explained_scores(reply: str, remark: str) -> None:
    """Above them or below: it says nothing of scores that raises a doubt."""
    assert read(f"{remark}\n\n{reply}") == WHOLE
    assert read(f"{reply}\n\n{remark}") == WHOLE


def test_the_same_remark_voids_scores_that_nothing_speaks_for() -> None:
    """Bare numbers may be anything."""
    assert read(BARE) == WHOLE
    assert read(f"A harbour drill for the new gulls.\n\n{BARE}") == {}


@pytest.mark.parametrize("remark", VOIDING)
@pytest.mark.parametrize("reply", [EXPLAINED, TABLE, BARE], ids=["list", "table", "bare"])
def test_what_voids_scores_voids_explained_ones_too(reply: str, remark: str) -> None:
    """Explanations prove that somebody wrote them, not that the pictures were seen."""
    assert read(f"{reply}\n\n{remark}") == {}


def test_a_verdict_that_is_not_complete_has_to_be_known_throughout() -> None:
    """Whoever leaves scores out may have more to say."""
    remark = "Quite a maritime pair of candidates on the table today."
    missing = EXPLAINED.replace("- S_qua: 4 – a blurred patch runs along the deck\n", "")
    assert read(missing) == {cell: score for cell, score in WHOLE.items() if cell != (2, "qua")}
    assert len(read(f"{remark}\n\n{missing}")) in (0, len(WHOLE) - 1)


@pytest.mark.parametrize(
    ("explanation", "read_as"),
    [
        ("which keeps it from a perfect 10", 8),
        ("the boxes (3) are intact", 8),
        ("I count 9, and 2 of them are unlit", 8),
        ("the sticker (9–18) was erased", 8),
        ("een raam heeft nu 3 ruiten in plaats van 4", 8),
        ("or rather 6", None),
        ("6 on closer inspection", None),
    ],
)
def test_numbers_in_an_explanation(explanation: str, read_as: int | None) -> None:
    """Counts, ranges of something else and the best there is compete with no score."""
    reply = EXPLAINED.replace(
        "the ferry carries a blue funnel now, only its rim stayed red", explanation
    )
    assert read(reply).get((1, "acc")) == read_as


def test_short_sentences_below_scores_end_no_section() -> None:
    """Where most scores have one, none of them is the heading of an image."""
    lines = []
    for image in (1, 2):
        lines.append(f"Image {image}:")
        for factor in FOUR:
            lines += [f"{factor.symbol}: {WHOLE[image, factor.key]}", "Sharp and clean."]
    assert read("\n".join(lines)) == WHOLE
