"""Tables go into real papers: compiled with pdflatex, and no box is overfull."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from lmmscore.leaderboard import Leaderboard, rank
from lmmscore.report.leaderboard import render
from tests.tidy_frames import judged, overall

pytestmark = pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="needs pdflatex: apt-get install texlive-latex-recommended",
)

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

PAPERS = {
    "article": r"\documentclass{article}",
    "article, two columns": r"\documentclass[twocolumn]{article}",
    "NeurIPS-like": (
        r"\documentclass{article}\usepackage[letterpaper,textwidth=5.5in,textheight=9in]{geometry}"
    ),
    "CVPR-like": (
        r"\documentclass[10pt,twocolumn]{article}"
        r"\usepackage[letterpaper,textwidth=6.875in,textheight=8.875in]{geometry}"
        r"\setlength{\columnsep}{0.3125in}"
    ),
}


def nasty() -> Leaderboard:
    names = {name: [5.0 + k / 10, 6.0, 7.0 - k / 10] for k, name in enumerate(NASTY)}
    scores = pd.concat([overall(names, task="add_object & co"), overall(names, task="change #1")])
    return rank(scores, resamples=100)


def _ordinary() -> Leaderboard:
    return rank(judged(8, 6, holes=0.1), resamples=200, caution="a stand-in for a judge")


def _long_names() -> Leaderboard:
    names = {f"A method with a very long name, number {k}": [5.0 + k, 6.0, 7.0] for k in range(12)}
    return rank(overall(names), resamples=100)


def _compile(text: str, preamble: str, folder: Path) -> str:
    """Compile a paper that takes the tables in, and return the log. Fails where LaTeX does."""
    (folder / "table.tex").write_text(text, encoding="utf-8")
    paper = (
        preamble + r"\usepackage{booktabs,graphicx}\begin{document}Before the table. "
        r"\input{table}After the table.\end{document}"
    )
    (folder / "paper.tex").write_text(paper)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (folder / "paper.pdf").stat().st_size > 1000
    return (folder / "paper.log").read_text(errors="replace")


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("star", [False, True], ids=["column", "page"])
@pytest.mark.parametrize("form", ["compact", "full", "wide"])
def test_tables_fit_the_paper(form: str, star: bool, paper: str, tmp_path: Path) -> None:
    """Every style, one or both columns wide, fits article, NeurIPS and CVPR without an overfull box."""
    for name, board in (("ordinary", _ordinary()), ("long", _long_names()), ("nasty", nasty())):
        folder = tmp_path / name
        folder.mkdir()
        style = None if form == "wide" else form
        text = render(board, "tex", style=style, wide=form == "wide", star=star)  # type: ignore[arg-type]
        log = _compile(text, PAPERS[paper], folder)
        assert "Overfull \\hbox" not in log, log[log.index("Overfull") :][:400]


def test_an_ordinary_table_is_not_scaled(tmp_path: Path) -> None:
    """Names of usual length fit a column as they are: nothing is shrunk, graphicx is not needed."""
    text = render(_ordinary(), "tex")
    assert "resizebox" not in text
    assert "Overfull" not in _compile(text, PAPERS["article, two columns"], tmp_path)
