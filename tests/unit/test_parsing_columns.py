"""Tables that hold more than scores: numbered rows, weights, maxima, ranks and the source."""

from __future__ import annotations

import pytest

from lmmscore.parsing import Reading, read_text
from tests.reply_layouts import FOUR

KEYS = ("acc", "pre", "qua", "real")
FACTORS = "S_acc | S_pre | S_qua | S_real"


def rows(reading: Reading, n: int) -> list[list[float]]:
    return [[float(reading.scores[i, key]) for key in KEYS] for i in range(1, n + 1)]


def table(*lines: str) -> str:
    head, *body = (f"| {line} |" for line in lines)
    return "\n".join([head, "|---" * lines[0].count("|") + "|---|", *body])


def by_factor(head: str, *cells: str) -> str:
    return table(head, *(f"S_{key} | {cell}" for key, cell in zip(KEYS, cells, strict=True)))


@pytest.mark.parametrize(
    "head",
    [
        "# | Edit",
        "No. | Candidate",
        "Nr | Which",
        "Place | Image",
        "Position | Edit",
        "Rank | Method",
    ],
)
def test_a_row_that_says_which_image_it_is_of_is_not_numbered_otherwise(head):
    """Beside a column of running numbers, "Image 2" is image 2."""
    text = table(
        f"{head} | {FACTORS}", "1 | Image 2 | 6 | 7 | 8 | 9", "2 | Image 1 | 5 | 4 | 3 | 2"
    )
    assert rows(read_text(text, FOUR, 2), 2) == [[5, 4, 3, 2], [6, 7, 8, 9]]


@pytest.mark.parametrize("head", ["Image | Label", "Which | Nearest", "Candidate | Other"])
def test_two_columns_that_name_different_images_are_a_contradiction(head):
    """A row said to be of two images gives neither a score, and no earlier table does either."""
    first = table(f"Image | {FACTORS}", "1 | 1 | 1 | 1 | 1", "2 | 2 | 2 | 2 | 2")
    cells = ("1", "2") if head.startswith("Image") else ("Image 1", "Image 2")
    text = table(
        f"{head} | {FACTORS}",
        f"{cells[0]} | Image 2 | 6 | 7 | 8 | 9",
        f"{cells[1]} | Image 1 | 5 | 4 | 3 | 2",
    )
    reading = read_text(f"{first}\n\nFinal:\n\n{text}", FOUR, 2)
    assert not reading.scores
    assert {fault.kind for fault in reading.faults} == {"contradiction"}


def test_two_columns_of_bare_numbers_are_a_contradiction():
    """Without headings that say so, either may number the images."""
    text = table(f"First | Second | {FACTORS}", "1 | 2 | 6 | 7 | 8 | 9", "2 | 1 | 5 | 4 | 3 | 2")
    assert not read_text(text, FOUR, 2).scores


@pytest.mark.parametrize(
    ("head", "others"),
    [
        ("Factor | Max score | Score", "10 10 10 10"),
        ("Factor | Weighted score | Score", "2.4 2.1 1.6 1.9"),
        ("Factor | Scale | Result", "10 10 10 10"),
        ("Factor | Weight | Given", "4 3 2 1"),
        ("Factor | Original | Edited", "10 10 10 10"),
        ("Factor | Weight | Score (1-10)", "4 3 2 1"),
        ("Factor | Out of | Points", "10 10 10 10"),
    ],
)
def test_the_score_is_in_the_column_headed_so(head, others):
    """Weights, maxima and the source's numbers beside the scores are not read as scores."""
    cells = [
        f"{other} | {score}" for other, score in zip(others.split(), (6, 7, 8, 9), strict=True)
    ]
    assert rows(read_text(by_factor(head, *cells), FOUR, 1), 1) == [[6, 7, 8, 9]]


@pytest.mark.parametrize(
    "head", ["Factor | First | Second", "Factor | Weight | Product", "Factor | Score | Rating"]
)
def test_several_columns_of_numbers_without_a_clear_heading_are_a_fault(head):
    """Which column holds the scores is not guessed."""
    reading = read_text(by_factor(head, "6 | 1", "7 | 2", "8 | 3", "9 | 4"), FOUR, 1)
    assert not reading.scores
    assert {fault.kind for fault in reading.faults} == {"contradiction"}


def test_a_table_of_weights_alone_scores_nothing():
    """A single column of numbers headed as weights is none of scores."""
    assert not read_text(by_factor("Factor | Weight", "4", "3", "2", "1"), FOUR, 1).scores


def test_a_line_a_score_may_have_a_weight_in_it():
    """`| Image | Factor | Weight | Given |` is read in its last column."""
    lines = [f"{i} | S_{key} | 4 | {i + 5}" for i in (1, 2) for key in KEYS]
    reading = read_text(table("Image | Factor | Weight | Given", *lines), FOUR, 2)
    assert rows(reading, 2) == [[6, 6, 6, 6], [7, 7, 7, 7]]


@pytest.mark.parametrize(
    ("score", "other"),
    [
        ("Score", "Maximum"),
        ("Score", "Weight"),
        ("Edited", "Original"),
        ("Edited image", "Source image"),
        ("1", "Rank"),
    ],
)
def test_a_row_of_something_else_does_not_replace_the_verdict(score, other):
    """Of one image, rows of weights, maxima or the source are no verdict, wherever they stand."""
    lines = [f"{score} | 6 | 7 | 8 | 9", f"{other} | 4 | 3 | 2 | 1"]
    for order in (lines, lines[::-1]):
        assert rows(read_text(table(f"What | {FACTORS}", *order), FOUR, 1), 1) == [[6, 7, 8, 9]]


def test_two_rows_with_different_numbers_for_the_only_image_are_a_contradiction():
    """In one table, the last row is not better than the first."""
    reading = read_text(
        table(f"What | {FACTORS}", "Foo | 6 | 7 | 8 | 9", "Bar | 6 | 7 | 8 | 2"), FOUR, 1
    )
    assert [(fault.kind, fault.factor) for fault in reading.faults] == [("contradiction", "real")]


@pytest.mark.parametrize(
    "caption",
    [
        "Ranks for each factor:",
        "**Weighted contributions**",
        "Here is the ranking per factor:",
        "Weights",
    ],
)
def test_a_table_of_ranks_does_not_replace_the_scores(caption):
    """What the line above a table announces as ranks or weights is none of scores."""
    scores = table(f"Image | {FACTORS}", "1 | 6 | 7 | 8 | 9", "2 | 5 | 4 | 3 | 2")
    ranks = table(f"Image | {FACTORS}", "1 | 1 | 1 | 1 | 1", "2 | 2 | 2 | 2 | 2")
    assert rows(read_text(f"{scores}\n\n{caption}\n\n{ranks}", FOUR, 2), 2) == [
        [6, 7, 8, 9],
        [5, 4, 3, 2],
    ]
    assert rows(read_text(f"Ranking and scores:\n\n{scores}", FOUR, 2), 2) == [
        [6, 7, 8, 9],
        [5, 4, 3, 2],
    ]
