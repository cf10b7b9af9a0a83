"""Tables with cells left blank, columns of other numbers, and cells that go over several."""

from __future__ import annotations

import pytest

from lmmscore.parsing import read_text
from tests.reply_layouts import FOUR


def scores(text: str, n: int) -> dict[str, float]:
    return {f"{i}.{key}": float(v) for (i, key), v in read_text(text, FOUR, n).scores.items()}


# --- Tags ---


@pytest.mark.parametrize("nothing", ["", "&nbsp;", "N/A", "/10", "<i>not scored</i>", "–"])
def test_a_tag_named_like_one_of_html_is_a_factors_beside_other_factors(nothing):
    """`<pre>` beside `<acc>` is a factor, and its number is not that of an empty tag before it."""
    text = f"<acc>{nothing}</acc><pre>5</pre>\n<qua>6</qua>"
    assert scores(text, 1) == {"1.pre": 5, "1.qua": 6}
    assert scores(f"<pre>7</pre>\n<acc>{nothing}</acc>", 1) == {"1.pre": 7}


def test_images_under_a_tag_named_like_one_of_html():
    """Scores by factor: an empty `<image>` takes nothing from the next factor's."""
    text = """<acc>
  <image id="1">9</image>
  <image id="2"></image>
</acc>
<pre>
  <image id="1">3</image>
  <image id="2">7</image>
</pre>"""
    assert scores(text, 2) == {"1.acc": 9, "1.pre": 3, "2.pre": 7}


def test_pre_of_html_around_scores_is_no_factor():
    """`<pre>` around everything says nothing."""
    assert scores("<pre>\n<acc>7</acc>\n<qua>8</qua>\n</pre>", 1) == {"1.acc": 7, "1.qua": 8}
    assert scores("<pre>\nS_acc: 7\nS_qua: 8\n</pre>", 1) == {"1.acc": 7, "1.qua": 8}


# --- Cells over several columns ---


@pytest.mark.parametrize("filled", ["", "none", "--", r"\textit{pending}"])
def test_a_cell_of_latex_over_several_columns_moves_none(filled):
    """What stands behind it keeps its column."""
    text = rf"""\begin{{tabular}}{{lccccc}}
Image & acc & pre & qua & real & Weight \\
Image 1 & \multicolumn{{2}}{{c}}{{{filled}}} & 5 & 6 & 2 \\
Image 2 & 3 & 4 & \multicolumn{{2}}{{c}}{{{filled}}} & 1 \\
\end{{tabular}}"""
    assert scores(text, 2) == {"1.qua": 5, "1.real": 6, "2.acc": 3, "2.pre": 4}


def test_a_number_over_several_columns_is_of_none():
    """Whether it is the score of each cannot be told."""
    latex = r"""\begin{tabular}{lccc}
Image & acc & pre & qua \\
Image 1 & \multicolumn{2}{c}{7} & 5 \\
\end{tabular}"""
    html = """<table><tr><th>Image</th><th>acc</th><th>pre</th><th>qua</th></tr>
<tr><td>Image 1</td><td colspan="2">7</td><td>5</td></tr></table>"""
    assert scores(latex, 1) == {"1.qua": 5}
    assert scores(html, 1) == {"1.qua": 5}


def test_a_footnote_alone_in_a_cell_is_no_score():
    """`<sup>2</sup>` behind nothing marks a cell that was left blank."""
    text = """<table><tr><th>Image</th><th>S_acc</th><th>S_pre</th></tr>
<tr><td>Image 1</td><td>7<sup>2</sup></td><td><sup>2</sup></td></tr></table>
<p><sup>2</sup> Judged at full size.</p>"""
    assert scores(text, 1) == {"1.acc": 7}


# --- Columns of other numbers ---


@pytest.mark.parametrize(
    "other",
    ["conf. ({})", "votes ({})", "errors ({})", "reliability ({})", "{} (count)", "{} (seconds)"],
)
@pytest.mark.parametrize("bar", [" | ", ", ", "\t"])
def test_another_quantity_beside_each_factor_fills_no_blank(other, bar):
    """A heading that names a factor beside another word is not that of its scores."""
    names = ("S_acc", "S_pre", "S_qua")
    heads = [each for name in names for each in (name, other.format(name))]
    lines = [["Image", *heads], ["Image 1", "7", "3", "", "2", "6", "1"]]
    lines.append(["Image 2", "n/a", "5", "8", "4", "-", "2"])
    text = "\n".join(bar.join(line) for line in lines)
    assert scores(text, 2) == {"1.acc": 7, "1.qua": 6, "2.pre": 8}


def test_another_quantity_below_each_factor_fills_no_blank():
    """The same where factors head the rows."""
    text = """| Factor | Image 1 | Image 2 |
|---|---|---|
| S_acc | | 9 |
| errors (S_acc) | 8 | 5 |
| S_pre | 2 | |
| errors (S_pre) | 4 | 2 |"""
    assert scores(text, 2) == {"2.acc": 9, "1.pre": 2}


@pytest.mark.parametrize(
    "heads",
    [
        "Accuracy ↑ | Preservation ↑",
        "Accuracy (higher is better) | Preservation (higher is better)",
        "Accuracy score | Preservation score",
        "My score (S_acc) | My score (S_pre)",
        "S_acc (1–10) | S_pre (1–10)",
        "S_acc (max. 10) | S_pre (max. 10)",
        "Genauigkeit (S_acc) | Erhalt (S_pre)",
        "1. S_acc (Treue) | 2. S_pre (Erhalt)",
        "S_acc (instruction following) | S_pre",
    ],
)
def test_words_for_scores_and_translations_beside_a_name_leave_it_a_name(heads):
    """Where a factor has one column, what says how it is scored or what it is called is no
    other quantity."""
    text = f"| Image | {heads} |\n|---|---|---|\n| Image 1 | 7 | 6 |\n| Image 2 | 5 | |"
    assert scores(text, 2) == {"1.acc": 7, "1.pre": 6, "2.acc": 5}


def test_a_row_without_the_bars_around_the_others_keeps_its_first_cell():
    """Rows with and without bars at their ends may stand in one table."""
    text = """|  | S_acc | S_pre | S_qua | Max |
|-|-|-|-|-|
Image 1 | 1 | 3 | 5 | 10
| Image 2 | 2 | 4 |  | 10 |
| Mean | 1.5 | 3.5 | 5 |  |"""
    expected = {"1.acc": 1, "1.pre": 3, "1.qua": 5, "2.acc": 2, "2.pre": 4}
    assert scores(text, 2) == expected


# --- Columns that are only aligned ---


def test_the_place_of_a_number_says_which_column_it_is_of():
    """Where a cell is blank, what stands beside it keeps its column."""
    text = (
        "Image    S_acc  S_pre  S_qua  Weight\n"
        "Image 1  7             5      2\n"
        "Image 2         6             3\n"
    )
    assert scores(text, 2) == {"1.acc": 7, "1.qua": 5, "2.pre": 6}


@pytest.mark.parametrize(
    "other", ["Weight", "Max", "Out of", "Confidence", "Seconds", "Page", "First pass", "Rank"]
)
@pytest.mark.parametrize("score", ["Score", "Score /10", "Rating (1-10)", "Final score", "Points"])
@pytest.mark.parametrize("corner", ["Factor", "Image 1", "Criterion", ""])
@pytest.mark.parametrize("rule", [True, False])
def test_another_column_fills_no_blank_of_the_scores(corner, score, other, rule):
    """A number under another heading is no score, whichever comes first."""
    for heads in ((score, other), (other, score)):
        lines = [f"{corner:<24}{heads[0]:<16}{heads[1]}"]
        lines += ["=" * 56] if rule else []
        for name, value in (("S_acc", ""), ("S_pre", "6/10"), ("S_qua", "n/a"), ("S_real", "8")):
            cells = (value, "10") if heads[0] == score else ("10", value)
            lines.append(f"{name:<24}{cells[0]:<16}{cells[1]}".rstrip())

        assert scores("Image 1:\n\n" + "\n".join(lines), 1) in ({"1.pre": 6, "1.real": 8}, {})


def test_of_initial_revised_and_final_scores_only_the_final_count():
    """A final score that is missing is missing."""
    text = """| Factor | Initial | Revised | Final |
|---|---|---|---|
| S_acc | 8 | 7 | (6) |
| S_pre | 5 | 4 | |
| S_qua | 6 | 3 | n/a |"""
    assert scores(text, 1) == {"1.acc": 6}


def test_rows_that_head_others():
    """A row with nothing but a factor's name heads the images below it, and the other way round."""
    by_factor = """Item      Rating   Out of
S_acc
Image 1   3        10
Image 2            10
S_pre
Image 1   6        10
Image 2   7        10"""
    assert scores(by_factor, 2) == {"1.acc": 3, "1.pre": 6, "2.pre": 7}
    by_image = """Item      Rating   Out of
Image 1
S_acc     3        10
S_pre              10
Image 2
S_acc              10
S_pre     7        10"""
    assert scores(by_image, 2) == {"1.acc": 3, "2.pre": 7}


def test_a_factor_in_the_corner_heads_the_scores_of_all_images():
    """`S_acc | Score | Defects` over rows of images."""
    text = "S_acc     Score  Defects\nImage 1   7      2\nImage 2          4\nImage 3   5      1"
    assert scores(text, 3) == {"1.acc": 7, "3.acc": 5}


def test_a_blank_image_in_a_table_with_tabs():
    """A row that begins with a tab leaves its first column blank."""
    text = "Image\tFactor\tScore\tOut of\nImage 1\tS_acc\t7\t10\n\tS_pre\t\t10\n\tS_qua\t5\t10"
    assert scores(text, 1) == {"1.acc": 7, "1.qua": 5}


def test_a_column_without_a_heading_may_be_that_of_missing_scores():
    """Of two columns without headings, the one with numbers need not be the scores."""
    assert not scores("| S_acc | 10 | ? |\n| S_pre | 10 | – |\n| S_qua | 10 | X |", 1)
    remarks = "| S_acc | 7 | one dog is left |\n| S_pre | 5 | the sky is new |"
    assert scores(remarks, 1) == {"1.acc": 7, "1.pre": 5}


def test_a_running_number_before_factors_names_no_image():
    """Under "Row no.", rows are counted; the images head the other columns."""
    text = """| Row no. | Criterion | Image 1 | Image 2 |
|---|---|---|---|
| 1 | S_acc | (3) | (6) |
| 2 | S_pre | (5) | … |"""
    assert scores(text, 2) == {"1.acc": 3, "2.acc": 6, "1.pre": 5}


def test_a_heading_that_comes_again_beside_others_need_not_head_images():
    """A second "#" over anything but images parts no table."""
    text = """| # | S_acc | # | S_pre |
|---|---|---|---|
| Image 1 | 7 | 2 birds | 6 |
| Image 2 | 8 | 1/10 | 5 |"""
    assert scores(text, 2) == {"1.acc": 7, "1.pre": 6, "2.acc": 8, "2.pre": 5}


def test_entries_parted_by_bars_are_no_headings():
    """A row of names with numbers is no heading of the next."""
    text = "Image 1\n— (S_acc)\t4 (S_pre)\t— (S_qua)\n\nImage 2\n5: S_acc\t8: S_pre\t9: S_qua"
    assert scores(text, 2).get("1.acc") is None


# --- Images counted from 0 ---


@pytest.mark.parametrize("name", ["edit_{}.png", "img_00{}.jpg", "Image {}"])
def test_images_counted_from_0_are_shifted_where_the_first_has_no_scores(name):
    """Where an image 0 is named and no image n, the numbers are one too low, in every layout."""
    first, second, third = (name.format(number) for number in range(3))
    lines = f"{first}\nS_acc: n/a\n\n{second}\nS_acc: 7\n\n{third}\nS_pre: 6"
    table = f"| Image | S_acc | S_pre |\n|---|---|---|\n| {first} | | |\n| {second} | 7 | |\n"
    table += f"| {third} | | 6 |"
    data = f'{{"{first}": null, "{second}": {{"S_acc": 7}}, "{third}": {{"S_pre": 6}}}}'
    for text in (lines, table, data):
        assert scores(text, 3) == {"2.acc": 7, "3.pre": 6}


def test_image_0_may_be_the_source():
    """Then the others are counted from 1."""
    text = "Image 0 (the original): not scored\n\nImage 1\nS_acc: 7\n\nImage 2\nS_acc: 6"
    assert scores(text, 2) == {"1.acc": 7, "2.acc": 6}


@pytest.mark.parametrize("between", ["", "\n", "\n    "])
def test_a_cell_over_several_columns_shifts_no_other(between):
    """Whether the cells of a row stand on one line or each on its own."""
    rows = [
        ["Image", *(factor.symbol for factor in FOUR), "S_all"],
        ["Image 1", "4", "4", "8", "6", "5.0"],
    ]
    made = [f"<tr>{between.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
    wide = ["<td>Image 2</td>", "<td>5</td>", "<td>5</td>", '<td colspan="2">not scored</td>']
    made.append(f"<tr>{between.join([*wide, '<td>5.0</td>'])}</tr>")
    second = {key: score for key, score in scores("\n".join(made), 2).items() if key[0] == "2"}
    assert second == {"2.acc": 5, "2.pre": 5}
