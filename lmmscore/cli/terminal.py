"""What several commands print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

if TYPE_CHECKING:
    from lmmscore.leaderboard import Leaderboard
    from lmmscore.leaderboard.matches import PairBoard


class Screen(TypedDict):
    """How tables are to be drawn."""

    color: bool
    width: int | None


def screen() -> Screen:
    """Return what standard output can show: colours and a width where someone is looking,
    else neither."""
    from shutil import get_terminal_size

    tty = sys.stdout.isatty()
    return {"color": tty, "width": get_terminal_size().columns if tty else None}


def put(text: str, out: Path | None) -> None:
    """Print a table, or write it to a file and say so."""
    if out is None:
        click.echo(text, nl=False)
        return
    from lmmscore.errors import FileProblem

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        reason = error.strerror or error
        raise FileProblem(f"{out}: cannot be written ({reason}); give another --out") from error
    click.echo(f"wrote {out}", err=True)


def print_board(board: Leaderboard | PairBoard) -> None:
    """Print a leaderboard's tables to standard output, in colour where someone is looking."""
    from lmmscore.leaderboard.matches import PairBoard
    from lmmscore.report.leaderboard import render, render_pairs

    if isinstance(board, PairBoard):
        click.echo(render_pairs(board, "term", **screen()), nl=False)
        return
    click.echo(render(board, "term", **screen()), nl=False)
