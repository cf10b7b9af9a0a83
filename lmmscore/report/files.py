"""The leaderboard files of a run's folder."""

from __future__ import annotations

from lmmscore.leaderboard import Leaderboard
from lmmscore.leaderboard.pairs import PairBoard
from lmmscore.report.leaderboard import FORMATS, render
from lmmscore.report.pair_grids import render_pairs
from lmmscore.run_folder import Run


def write_leaderboards(run: Run) -> Leaderboard:
    """Write leaderboard.md, .csv, .tex and .json beside the scores, and return the leaderboard."""
    board = run.leaderboard()
    for form in FORMATS:
        if form != "term":
            (run.path / f"leaderboard.{form}").write_text(render(board, form), encoding="utf-8")
    return board


def write_pair_boards(run: Run) -> PairBoard:
    """Do the same for a run that compares pairs."""
    board = run.pair_board()
    for form in FORMATS:
        if form != "term":
            text = render_pairs(board, form)
            (run.path / f"leaderboard.{form}").write_text(text, encoding="utf-8")
    return board
