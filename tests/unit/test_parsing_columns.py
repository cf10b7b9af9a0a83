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


@pytest.mark.parametrize(
    ("total", "read"),
    [
        ("Total (max 40)", True),
        ("Sum (out of 40)", True),
        ("Average (1-10)", True),
        ("Confidence (1-5)", True),
        ("Total (max 20)", False),
        ("Mean (out of 5)", False),
        ("Overall (0-100)", False),
    ],
)
def test_the_scale_of_a_total_must_fit_the_scores_it_sums_up(total, read):
    """Four scores up to 10 sum up to 40; a total of at most 20 leaves 5 for each."""
    text = table(f"Image | {FACTORS} | {total}", "1 | 4 | 3 | 5 | 2 | 14")
    reading = read_text(text, FOUR, 1)
    assert reading.complete == read
    assert bool(reading.scores) == read


@pytest.mark.parametrize("head", ["Factor | Score | Max", "Factor | Score | Out of"])
def test_a_column_of_tops_states_the_scale(head):
    """Scores up to 5 are no scores up to 10."""
    assert len(read_text(by_factor(head, *["4 | 10"] * 4), FOUR, 1).scores) == 4
    assert not read_text(by_factor(head, *["4 | 5"] * 4), FOUR, 1).scores


def test_a_total_has_its_own_scale_where_every_score_states_its():
    """The scale of a weighted total says nothing of columns that state theirs, as rows do."""
    heads = " | ".join(f"S_{key} (/10)" for key in KEYS)
    text = table(f"Image | {heads} | Total (max 100)", "1 | 4 | 3 | 5 | 2 | 34")
    assert rows(read_text(text, FOUR, 1), 1) == [[4, 3, 5, 2]]

    labels = [f"S_{key} (out of 10) | {i} | {9 - i}" for i, key in enumerate(KEYS, 1)]
    text = table("Factor | Image 1 | Image 2", *labels, "Total (out of 40) | 10 | 26")
    assert rows(read_text(text, FOUR, 2), 2) == [[1, 2, 3, 4], [8, 7, 6, 5]]


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        (
            f"Image | {FACTORS} | | Image | {FACTORS}",
            ["1 | 2 | 3 | 4 | 5 | | 3 | 6 | 7 | 8 | 9", "2 | 9 | 8 | 7 | 6 | | | | | |"],
            [[2, 3, 4, 5], [9, 8, 7, 6], [6, 7, 8, 9]],
        ),
        (
            "Factor | Image 1 | Image 2 | Factor | Image 3",
            [f"S_{key} | {i} | {i + 1} | S_{key} | {i + 2}" for i, key in enumerate(KEYS, 1)],
            [[1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]],
        ),
        (
            "Factor | Score | Factor | Score",
            ["S_acc | 7 | S_qua | 5", "S_pre | 6 | S_real | 4"],
            [[7, 6, 5, 4]],
        ),
    ],
)
def test_a_heading_that_comes_again_begins_a_table_beside_the_first(head, body, expected):
    """Blocks of columns side by side are read one by one."""
    n = len(expected)
    assert rows(read_text(table(head, *body), FOUR, n), n) == expected


def test_a_row_of_blocks_with_a_cell_too_few_is_not_read():
    """Nobody knows in which of two blocks the cell is missing."""
    text = table(
        f"Image | {FACTORS} | Image | {FACTORS}",
        "1 | 2 | 3 | 4 | 5 | 2 | 6 | 7 | 8 | 9",
        "3 | 2 | 3 | 4 | 4 | 6 | 7 | 8 | 9",
    )
    reading = read_text(text, FOUR, 4)
    assert {position for position, _ in reading.scores} == {1, 2}


@pytest.mark.parametrize(
    ("head", "cells"),
    [
        (
            "Score | Weight | Points",
            ["6 | 50 % | 3.0", "7 | 20% | 1.4", "5 | 20 % | 1", "4 | 10% | 0.4"],
        ),
        (
            "Weight | Points | Score",
            ["0.5 | 6 | 3.0", "0,2 | 7 | 1.4", "0.2 | 5 | 1", "0.1 | 4 | .4"],
        ),
        ("Score | Weight | Points", ["6 | 3 | 18", "7 | ×2 | 14", "5 | 2 | 10", "4 | 1 | 4"]),
    ],
)
def test_scores_times_weights_tell_which_of_two_columns_holds_the_scores(head, cells):
    """Where one column is the other times the weights in every row, it holds products."""
    text = by_factor(f"Factor | {head}", *(cell.replace(" .4", " 0.4") for cell in cells))
    assert rows(read_text(text, FOUR, 1), 1) == [[6, 7, 5, 4]]


def test_two_columns_of_scores_without_such_a_product_are_not_read():
    """One product that does not come out leaves open which column holds the scores."""
    cells = ["6 | 50 % | 3.0", "7 | 20% | 2.4", "5 | 20 % | 1", "4 | 10% | 0.4"]
    assert not read_text(by_factor("Factor | Score | Weight | Points", *cells), FOUR, 1).scores


RANKED = ("1 | 2 | 9 | 7 | 8 | 6", "2 | 1 | 5 | 4 | 3 | 2")


@pytest.mark.parametrize("head", ["Rank | Image", "Place | Edit", "Rang | Bild", "排名 | 图像"])
@pytest.mark.parametrize("above", ["", "Sorted from best to worst:\n\n", "In descending order:\n"])
def test_rows_in_order_of_rank_belong_to_the_images_they_name(head, above):
    """A rank numbers no image where a column names them, and sorting moves whole rows."""
    text = above + table(f"{head} | {FACTORS}", *RANKED)
    assert rows(read_text(text, FOUR, 2), 2) == [[5, 4, 3, 2], [9, 7, 8, 6]]


@pytest.mark.parametrize("head", ["#", "No.", ""])
def test_running_numbers_of_sorted_rows_may_be_ranks(head):
    """Under "sorted from best to worst" row 1 may be of any image."""
    text = table(f"{head} | {FACTORS}", "1 | 9 | 7 | 8 | 6", "2 | 5 | 4 | 3 | 2")
    assert not read_text(f"Sorted from best to worst:\n\n{text}", FOUR, 2).scores


@pytest.mark.parametrize(
    "text",
    [
        "\tS_acc\tS_pre\tS_qua\tS_real\nImage 1\t5\t4\t3\t2\nImage 2\t9\t7\t8\t6",
        "\tImage\tS_acc\tS_pre\tS_qua\tS_real\n\t1\t5\t4\t3\t2\n\t2\t9\t7\t8\t6",
        "\tImage 1\tImage 2\nS_acc\t5\t9\nS_pre\t4\t7\nS_qua\t3\t8\nS_real\t2\t6",
        "\\begin{tabular}{lcccc}\n & $S_{acc}$ & $S_{pre}$ & $S_{qua}$ & $S_{real}$ \\\\ \\hline\n"
        "Image 1 & 5 & 4 & 3 & 2 \\\\\nImage 2 & 9 & 7 & 8 & 6 \\\\\n\\end{tabular}",
    ],
)
def test_the_corner_of_a_table_may_be_blank(text):
    """Tabs and ampersands at the beginning of the heading leave the corner blank."""
    assert rows(read_text(text, FOUR, 2), 2) == [[5, 4, 3, 2], [9, 7, 8, 6]]


@pytest.mark.parametrize(
    "text",
    [
        "S_acc,S_pre,S_qua,S_real\n7,6,5,4",
        "```csv\nS_acc; S_pre; S_qua; S_real\n7; 6; 5; 4\n```",
        "S_acc  S_pre  S_qua  S_real\n7      6      5      4",
        "S_acc\tS_pre\tS_qua\tS_real\n7\t6\t5\t4",
        '<image id="1" S_acc="7" S_pre="6" S_qua="5" S_real="4"/>',
        "| Score | Factor |\n|---|---|\n| 7 | S_acc |\n| 6 | S_pre |\n| 5 | S_qua |\n| 4 | S_real |",
        "Rating,Criterion,Note\n7,S_acc,1 sail\n6,S_pre,ok\n5,S_qua,ok\n4,S_real,ok",
    ],
)
def test_the_only_image_needs_no_column_of_its_own(text):
    """Headings that are all factors, and a number for each below, are its scores."""
    assert rows(read_text(text, FOUR, 1), 1) == [[7, 6, 5, 4]]
    assert len(read_text(text, FOUR, 2).scores) == (4 if text.startswith("<") else 0)


def test_a_row_with_fewer_numbers_than_headings_is_not_read():
    """Which of four factors has no number cannot be told."""
    assert not read_text("S_acc,S_pre,S_qua,S_real\n7,6,5", FOUR, 1).scores


def test_image_0_is_not_the_only_image_where_a_row_of_image_1_cannot_be_read():
    """A row whose cells stand astray has its image all the same."""
    text = (
        "#        S_acc  S_pre  S_qua  S_real\n"
        "1        7    5  6\n"
        "Image 0  6      5      4      3\n"
    )
    assert not read_text(text, FOUR, 1).scores


def test_a_title_that_comes_twice_in_a_row_parts_no_tables():
    """Under "# | #" the rows keep their labels, and an average stays one."""
    text = table(
        f"# | # | {FACTORS}",
        "Image 1 | good | 6 | 7 | 8 | 9",
        "Image 2 | good | 5 | 4 | 3 | 2",
        "Average | 1 | 5 | 5 | 5 | 5",
    )
    assert rows(read_text(text, FOUR, 2), 2) == [[6, 7, 8, 9], [5, 4, 3, 2]]


def test_a_column_of_scores_that_comes_first_names_no_images():
    """Of ten images 3/10 may be the third, but not under "Score"; nor is a rank an image."""
    lines = "\n".join(f"| {11 - i}/10 | S_acc | {i} |" for i in range(1, 11))
    head = "| {} | Factor | Image |\n|---|---|---|\n"
    scores = read_text(head.format("Score") + lines, FOUR, 10).scores
    assert scores == {(i, "acc"): 11 - i for i in range(1, 11)}
    ranks = "| 2 | S_acc | 1 |\n| 1 | S_acc | 2 |"
    assert read_text(head.format("Rank") + ranks, FOUR, 2).scores == {}


@pytest.mark.parametrize(
    "text",
    [
        table("No. | Factor | Image 1 | Image 2", "1 | S_acc | 5 | 4", "2 | S_pre | 7 | –"),
        table("Row | Image | Factor | Score", "1 | 1 | S_acc | 5", "2 | 1 | S_pre | 7")
        + "\n| 3 | 2 | S_acc | 4 |",
        table("Factor | Image | Score", "S_acc | Image 1 | 5", " | Image 2 | 4")
        + "\n| S_pre | Image 1 | 7 |\n|  | Image 2 |  |",
        " | Image 1\nS_acc | 5\nS_pre | 7\n\nFactor / Image | 2\nS_acc | 4\nS_pre | –",
        '<table border="1">\n<tr>\n  <th>Image</th>\n  <th align="center">S_acc</th>\n'
        "  <th>S_pre</th>\n</tr>\n<tr>\n  <td>1</td>\n  <td>5</td>\n  <td>7</td>\n</tr>\n"
        "<tr>\n  <td>2</td>\n  <td>4</td>\n  <td></td>\n</tr>\n</table>",
    ],
)
def test_what_counts_rows_names_no_images(text):
    """Numbered rows, factors first, a table right below, cells on lines of their own."""
    assert read_text(text, FOUR, 2).scores == {(1, "acc"): 5, (1, "pre"): 7, (2, "acc"): 4}


def test_a_numbered_table_of_factors_is_of_the_image_above_it():
    """Its numbers are not those of the images."""
    text = "### Image 3\n\n" + table("# | Factor | Score", "1 | S_acc | 5", "2 | S_pre | 7")
    assert read_text(text, FOUR, 4).scores == {(3, "acc"): 5, (3, "pre"): 7}


def test_a_row_left_blank_does_not_end_a_table():
    """Nor does its image head the rows below it."""
    text = table("Image | S_acc | S_pre", "1 | 4 | 5", "Image 2 |  | ", "3 | 6 | 7")
    wanted = {(1, "acc"): 4, (1, "pre"): 5, (3, "acc"): 6, (3, "pre"): 7}
    assert read_text(text, FOUR, 3).scores == wanted
