"""The tables as text: Markdown, CSV, LaTeX, JSON and terminal."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmmscore.leaderboard import Leaderboard, rank
from lmmscore.report import latex_tables, markdown_tables
from lmmscore.report.grids import marks, number, percent, span
from lmmscore.report.leaderboard import FORMATS, render
from tests.tidy_frames import judged, overall

CAUTION = "a stand-in for trying things out"
NASTY = [
    "A_1",
    "B&C%",
    "$x^2$",
    "{\\bf D}",
    "#E~",
    "[F]",
    "*G",
    "LEDITS++",
    "émile",
    "狐🦊",
    'say "hi"',
    "a--b",
    "<b>|`x`",
]


def board(**options: object) -> Leaderboard:
    return rank(judged(6, 3, holes=0.15), resamples=200, caution=CAUTION, **options)  # type: ignore[arg-type]


def nasty() -> Leaderboard:
    names = {name: [5.0 + k / 10, 6.0, 7.0 - k / 10] for k, name in enumerate(NASTY)}
    scores = pd.concat([overall(names, task="add_object & co"), overall(names, task="change #1")])
    return rank(scores, resamples=100)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_shows_caution_coverage_and_holes(form: str) -> None:
    """No format drops the judge's caution, the coverage, or (where there is room) the warning about holes."""
    text = render(board(), form)  # type: ignore[arg-type]
    assert CAUTION in text.replace("\n", " ")
    assert "overage" in text
    assert form == "csv" or "gave no score" in text
    assert "nan" not in text.lower().replace("finance", "")


@pytest.mark.parametrize("form", ["md", "tex", "term"])
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


def test_tasks_stand_side_by_side_in_latex() -> None:
    """A multi-task table has a group of columns for each task, with a rule under its name."""
    text = render(board(), "tex")
    assert r"\multicolumn{2}{c}{t0} & \multicolumn{2}{c}{t1}" in text
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in text
    assert text.count(r"\begin{table}") == 4


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("inside", [False, True])
def test_latex_compiles_as_it_stands_and_inside_a_paper(inside: bool, tmp_path: Path) -> None:
    """The file is a document by itself, and tables when a paper takes it in, whatever the names in it."""
    (tmp_path / "table.tex").write_text(render(nasty(), "tex"), encoding="utf-8")
    paper = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}A\\input{table}B\\end{document}"
    (tmp_path / "paper.tex").write_text(paper)
    name = "paper" if inside else "table"
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / f"{name}.pdf").stat().st_size > 1000


@given(st.text())
def test_latex_text_is_ascii_and_has_no_open_brace(text: str) -> None:
    """Whatever a method is called, LaTeX gets signs it can print and braces that close."""
    escaped = latex_tables.escape(text)
    assert escaped.isascii()
    bare = escaped.replace("\\{", "").replace("\\}", "")
    assert bare.count("{") == bare.count("}")


def test_markdown_keeps_its_columns_and_plain_names() -> None:
    """A pipe in a name does not open a column, and an ordinary underscore stays as it is."""
    assert markdown_tables.escape("a|b") == r"a\|b"
    assert markdown_tables.escape("null_text") == "null_text"
    assert markdown_tables.escape("_x_") == r"\_x\_"
    assert markdown_tables.escape("<img>") == "&lt;img>"
    assert markdown_tables.escape("a\nb") == "a b"


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
        "99.9%",
        "50%",
        "–",
    )


def test_a_narrow_terminal_leaves_columns_out_and_cuts_no_figure() -> None:
    """On 80 columns the factors go first, a line says so, and every other figure is whole."""
    narrow, wide = render(board(), "term", width=80), render(board(), "term", width=200)
    assert "No room for acc, pre, qua, real" in narrow
    assert "No room" not in wide
    assert "…" not in narrow
    assert "100%" in narrow


def test_rendering_is_at_hand_from_python() -> None:
    """`lmmscore.render` gives any format, and a leaderboard its own JSON."""
    import lmmscore

    made = board()
    assert lmmscore.render(made, "md").startswith("> **Caution.**")
    assert (
        json.loads(made.to_json())["tables"] == json.loads(lmmscore.render(made, "json"))["tables"]
    )
