"""The tables as text: Markdown, CSV, LaTeX, JSON and terminal."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard import Leaderboard, rank
from lmmscore.report.formats import (
    Grid,
    TableDocument,
    TableLayout,
    format_names,
    formats,
    latex,
    marks,
    number,
    percent,
    plain,
    span,
    text,
    write,
)
from lmmscore.report.leaderboard import FORMATS, render
from tests.tidy_frames import judged, overall

CAUTION = "a stand-in for trying things out"


def board(**options: object) -> Leaderboard:
    return rank(judged(6, 3, holes=0.15), resamples=200, caution=CAUTION, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_shows_caution_coverage_and_holes(form: str) -> None:
    """No format drops the judge's caution, the coverage, or (where there is room) the warning about holes."""
    text = render(board(), form)  # type: ignore[arg-type]
    assert CAUTION in text.replace("\n", " ")
    assert form == "tex" or "overage" in text
    assert form == "csv" or "gave no score" in text
    assert "nan" not in text.lower().replace("finance", "")


@pytest.mark.parametrize("form", ["md", "term"])
def test_holes_are_announced_above_the_figures(form: str) -> None:
    """A reader meets the warning before the first number."""
    holed = rank(overall({"A": [8.25, None], "B": [4.0, 4.0]}), task="t", resamples=0)
    text = render(holed, form)  # type: ignore[arg-type]
    assert text.index("gave no score") < text.index("8.25")


def test_decimals_are_chosen() -> None:
    """Tables have as many decimals as asked for, two by default; data files have all."""
    exact = rank(overall({"A": [1.0, 1.0, 2.0]}), resamples=0)
    assert "1.33" in render(exact, "md")
    assert "1.3333" in render(exact, "md", decimals=4)
    assert json.loads(render(exact, "json"))["tables"][0]["rows"][0]["mean"] == pytest.approx(4 / 3)
    assert json.loads(render(exact, "json", decimals=1))["tables"][0]["rows"][0]["mean"] == 1.3


@pytest.mark.parametrize(
    ("value", "shown"), [(9.665, "9.67"), (9.425, "9.43"), (-0.125, "-0.13"), (-0.004, "0.00")]
)
def test_halves_are_rounded_as_by_hand(value: float, shown: str) -> None:
    """The decimal that a float stands for is rounded, halves away from zero, in tables and JSON."""
    assert number(value, 2) == shown
    table = json.loads(render(rank(overall({"A": [value]}), resamples=0), "json", decimals=2))
    assert table["tables"][0]["rows"][0]["mean"] == float(shown)


def test_csv_reads_back_with_its_names() -> None:
    """A spreadsheet runs nothing, and the figures come back as written."""
    text = render(rank(overall({"=cmd()": [5.0, 6.0], "B": [4.0, 4.5]}), resamples=0), "csv")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["method"] for line in lines[:2]] == ["'=cmd()", "B"]
    assert [line["task"] for line in lines] == ["t", "t", "", ""]
    assert float(lines[0]["mean"]) == 5.5
    assert list(lines[0])[:8] == [
        "task",
        "factor",
        "rank",
        "method",
        "mean",
        "std",
        "n",
        "coverage",
    ]


def test_best_is_bold_and_second_underlined() -> None:
    """Ties are marked together; a column without differences is not marked at all."""
    assert marks([7.0, 9.0, 8.0, 9.0, None]) == ["", "best", "second", "best", ""]
    assert marks([5.0, 5.0]) == ["", ""]
    text = render(rank(overall({"A": [9.0], "B": [8.0], "C": [7.0]}), resamples=0), "tex")
    assert r"\textbf{9.00}" in text
    assert r"\underline{8.00}" in text
    assert r"\textbf{7.00}" not in text


def test_a_latex_caption_is_one_sentence_that_says_what_is_incomplete() -> None:
    """The caption tells that scores are missing; how many stands in the notes below the table."""
    holed = rank(overall({"A": [8.25, None], "B": [4.0, 4.0]}), task="t", resamples=0)
    text = render(holed, "tex")
    caption = text.split("\\caption{")[1].split("}\n")[0]
    assert caption == "T: mean overall over 2 items (incomplete: see the notes)."
    assert text.index("\\bottomrule") < text.index("gave no score")


def test_a_latex_table_is_what_a_paper_prints() -> None:
    """Compact: method, mean ± its interval, rank with its interval, group; a label; no document."""
    text = render(board(), "tex")
    assert "Method & Mean & Rank & Group" in text
    assert r"\ensuremath{\pm}" in text and "\\label{tab:" in text
    assert r"\documentclass" not in text and r"\begin{document}" not in text
    assert text.count(r"\begin{table}") == 3
    assert r"\begin{table*}" in render(board(), "tex", star=True)


@pytest.mark.parametrize("form", ["md", "tex", "term"])
def test_intervals_are_called_what_they_are(form: str) -> None:
    """Of a board made with another level, no heading and no note says 95%."""
    text = render(rank(judged(8, 3), level=0.8), form)
    assert "80" in text and "95%" not in text and r"95\%" not in text


def test_a_margin_is_not_shortened_by_the_end_of_the_scale() -> None:
    """±: how far the interval reaches on its longer side, where the scale cuts the other off."""
    scores = overall({"A": [9.0, 10.0, 10.0, 10.0], "B": [4.0, 5.0, 4.0, 5.0]})
    [table] = rank(scores, task="t", scales={"overall": (1.0, 10.0)}).tables
    low, high = table.rows[0].mean_interval
    assert high == 10.0 and table.rows[0].mean == 9.75
    text = render(rank(scores, task="t", scales={"overall": (1.0, 10.0)}), "md", style="compact")
    assert f"9.75 ± {9.75 - low:.2f}" in text and 9.75 - low > high - 9.75


def test_tasks_stand_side_by_side_in_latex() -> None:
    """A multi-task table has a group of columns for each task, with a rule under its name."""
    text = render(board(), "tex", wide=True, star=True)
    assert r"\multicolumn{2}{c}{T0} & \multicolumn{2}{c}{T1}" in text
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in text
    assert text.count(r"\begin{table*}") == 1

    tasks = board(task=["t0"])
    rows = [row.method for row in tasks.tables[0].rows]
    column = render(tasks, "tex", wide=True)
    assert sorted(rows, key=lambda name: column.index(f"{name} &")) == rows
    assert "Sampled tests" not in column


def test_a_heading_stands_above_its_own_column_in_latex() -> None:
    """Columns without a heading over them keep their places in the row of headings."""
    grid = Grid("T", ("a", "b", "c"), (plain("1", "2", "3"),), groups=(("", 2), ("over c", 1)))
    text = write(TableDocument([grid]), "tex")
    assert r" &  & \multicolumn{1}{c}{over c} \\" in text and r"\cmidrule(lr){3-3}" in text


def test_a_note_that_some_tables_share_names_them_on_the_terminal() -> None:
    """A footnote of the small tables must not be read as one of the large table above it."""
    notes = {"A": ("few", "all"), "B": ("few", "all"), "C": ("all",)}
    grids = [Grid(name, ("x",), (plain("1"),), below=below) for name, below in notes.items()]
    assert write(TableDocument(grids), "term").splitlines()[-2:] == ["A and B: few", "all"]


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("people gave no overall", "People gave no overall."),
        ("run1: all out.", "run1: all out."),
        ("Scale 1 to 5 (state it with --scale).", "Scale 1 to 5."),
        ("because of 1 to 5; add --rescale: it compares", "Because of 1 to 5."),
        (
            "std over items; missing excluded (--missing exclude)",
            "Std over items; missing excluded.",
        ),
    ],
)
def test_a_paper_has_sentences_and_no_options(note: str, said: str) -> None:
    """What a note tells the person at the terminal to type is not for the readers of a paper."""
    assert latex.sentence(note) == said


def test_minus_signs_are_minus_signs() -> None:
    """A negative figure has a minus sign in LaTeX, not a hyphen; a name keeps its hyphens."""
    negative = rank(overall({"a-1": [-2.0, -3.0], "B": [1.0, 1.0]}), resamples=0)
    text = render(negative, "tex", style="full")
    assert r"\ensuremath{-}2.50" in text and "a-1" in text


def test_columns_are_chosen_by_the_names_of_the_json() -> None:
    """`columns` picks and orders; an unknown one is refused with the nearest."""
    text = render(board(), "md", columns=["method", "rank_interval", "acc"])
    assert "| Method | Rank interval | acc |" in text
    with pytest.raises(LmmscoreError, match=r"no column 'rank_intervals'.*rank_interval"):
        render(board(), "md", columns=["rank_intervals"])

    figures = render(board(), "md", columns=["mean", "n"])
    assert "| Method | Mean | n |" in figures
    unshown = ("Common mean", "Sampled tests", "Holm-corrected", "std over items")
    assert not [words for words in unshown if words in figures]
    assert "Common mean" in render(board(), "md")
    compact = render(board(), "tex")
    assert "Common mean" not in compact and "Holm-corrected" in compact


def test_display_names_are_for_readers_and_not_for_programs() -> None:
    """Tables to be read call methods by their display names; CSV and JSON keep the ids."""
    made = rank(overall({"m1": [5.0, 6.0], "m2": [4.0, 4.5]}), resamples=0)
    names = {"m1": "Method One"}
    assert all("Method One" in render(made, form, names=names) for form in ("term", "md", "tex"))
    assert all("Method One" not in render(made, form, names=names) for form in ("csv", "json"))


def test_one_task_is_one_table() -> None:
    """A run with one task category prints its table once, footnotes once."""
    made = rank(overall({"A": [9.0, 8.0], "B": [8.0, 7.0]}), resamples=100)
    text = render(made, "term")
    assert text.count("Method ") == 1 and text.count("seed 0") == 1
    several = render(board(), "term")
    assert several.count("missing scores excluded") == 1


def test_a_verdict_says_who_is_first_and_whether_it_is_significant() -> None:
    """Ahead of all, level with some, too few items, ties: each has its sentence."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.1, (3, 20))
    apart = {"A": 9 + noise[0], "B": 7 + noise[1], "C": 5 + noise[2]}
    assert _verdict(apart) == "A ranks first, significantly ahead of all others."
    close = {"A": 9 + noise[0], "B": 9 - 0.01 + noise[1], "C": 5 + noise[2]}
    assert "no significant difference among the first two" in _verdict(close)
    few = {"A": [9.0, 9.0], "B": [1.0, 2.0], "C": [1.0, 3.0]}
    assert "2 items are too few" in _verdict(few)
    assert _verdict({"A": [5.0, 5.0], "B": [5.0, 5.0]}) == "A and B share the first rank."
    assert _verdict({"A": [5.0, 6.0]}) == "A is the only method with scores."


def test_a_verdict_never_contradicts_the_paired_test() -> None:
    """A method refused on the hard items has the highest mean and loses every common item."""
    items = np.linspace(2, 8, 30)
    kept = np.where(items > 5, items, np.nan)
    said = _verdict({"A": kept, "B": items + 0.4, "C": items - 1})
    assert said.startswith("A has the highest mean, but B scores significantly higher")


def _verdict(scores: dict[str, Any]) -> str:
    frame = overall({name: list(map(float, own)) for name, own in scores.items()})
    return rank(frame, task="t", resamples=2_000).tables[0].verdict


def test_a_format_is_one_registered_function() -> None:
    """A new format needs nothing but a writer that registers itself; commands then offer it."""

    @formats.register("shout")
    def shout(document: TableDocument, layout: TableLayout) -> str:
        return " ".join(grid.title for grid in document.grids).upper()

    try:
        assert "shout" in format_names()
        assert write(TableDocument([Grid("title", (), ())]), "shout") == "TITLE"
    finally:
        formats._members.pop("shout")


@given(st.text())
def test_latex_text_is_ascii_and_has_no_open_brace(text: str) -> None:
    """Whatever a method is called, LaTeX gets signs it can print and braces that close."""
    escaped = latex.escape(text)
    assert escaped.isascii()
    bare = escaped.replace("\\{", "").replace("\\}", "")
    assert bare.count("{") == bare.count("}")


def test_markdown_keeps_its_columns_and_plain_names() -> None:
    """A pipe in a name does not open a column, and an ordinary underscore stays as it is."""
    assert text.escape("a|b") == r"a\|b"
    assert text.escape("null_text") == "null_text"
    assert text.escape("_x_") == r"\_x\_"
    assert text.escape("<img>") == "&lt;img>"
    assert text.escape("a\nb") == "a b"


def test_terminal_text_takes_names_literally() -> None:
    """Square brackets are not markup and control characters do not reach the terminal."""
    scores = overall({"[red]x[/red]": [5.0], "a\x1b[31mb": [4.0]})
    text = render(rank(scores, resamples=0), "term")
    assert "[red]x[/red]" in text
    assert "\x1b" not in text


def test_figures_that_do_not_exist_are_dashes() -> None:
    """No nan, no zero in place of nothing, no minus before zero; nearly all is not 100%."""
    assert (number(None, 2), number(float("nan"), 2), number(-0.0001, 2)) == ("–", "–", "0.00")
    assert (span(None, 2), span((1.0, 2.0), 1), span((-1.0, 2.0), 1)) == (
        "–",
        "1.0–2.0",
        "-1.0 to 2.0",
    )
    assert (percent(1.0), percent(0.9999), percent(0.5), percent(None)) == (
        "100%",
        ">99.9%",
        "50%",
        "–",
    )


def test_a_narrow_terminal_leaves_columns_out_and_cuts_no_figure() -> None:
    """On 80 columns the factors go first, a line says so, and every other figure is whole."""
    narrow, wide = render(board(), "term", width=80), render(board(), "term", width=200)
    assert "Left out for lack of room" in narrow and "acc, pre, qua, real" in narrow
    assert "Left out" not in wide
    assert "…" not in narrow.split("Left out")[0].replace("—", "")
    assert max(len(line) for line in narrow.splitlines()) <= 80
    assert "Mean" in narrow and "95% interval" in narrow and "Group" in narrow


def test_rendering_is_at_hand_from_python() -> None:
    """`lmmscore.render` gives any format, and a leaderboard its own JSON."""
    import lmmscore

    made = board()
    assert lmmscore.render(made, "md").startswith("> **Caution.**")
    assert (
        json.loads(made.to_json())["tables"] == json.loads(lmmscore.render(made, "json"))["tables"]
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_json_never_holds_what_is_no_number(value: float) -> None:
    """`NaN` is no JSON, and programs that take it compute with it: no file rather than that."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        write(TableDocument([], data={"mean": value}), "json")


def test_a_table_without_rows_is_a_sentence_in_latex() -> None:
    """The reason stands in the text; a tabular with nothing in it would be a broken table."""
    grid = Grid(
        "A & B", ("factor",), (), caption="Undefined, because of 50% of it.", below=("So.",)
    )
    text = write(TableDocument([grid]), "tex")
    assert "tabular" not in text and "table" not in text.replace("booktabs", "")
    assert r"\textbf{A \& B} Undefined, because of 50\% of it. So.\par" in text
