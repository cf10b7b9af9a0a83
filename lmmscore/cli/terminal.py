"""What several commands print."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypedDict

import click

if TYPE_CHECKING:
    from lmmscore.leaderboard import Leaderboard
    from lmmscore.leaderboard.pairs import PairBoard


class Screen(TypedDict):
    """How tables are to be drawn."""

    color: bool
    width: int | None


def screen() -> Screen:
    """Return what standard output can show: colours and a width where someone is looking, else neither."""
    from shutil import get_terminal_size

    tty = sys.stdout.isatty()
    return {"color": tty, "width": get_terminal_size().columns if tty else None}


def print_board(board: Leaderboard | PairBoard) -> None:
    """Print a leaderboard's tables to standard output, in colour where someone is looking."""
    from lmmscore.leaderboard.pairs import PairBoard
    from lmmscore.report.leaderboard import render
    from lmmscore.report.pair_grids import render_pairs

    if isinstance(board, PairBoard):
        click.echo(render_pairs(board, "term", **screen()), nl=False)
        return
    click.echo(render(board, "term", **screen()), nl=False)
