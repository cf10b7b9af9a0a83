"""Standard output: streams that take every character, and what several commands print on them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypedDict

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


def never_fail_to_print(*streams: TextIO) -> None:
    """Make the streams UTF-8, or where someone asked for another encoding, replace what that cannot
    show.

    Python writes to a Windows console in UTF-8 already, but into a file or a pipe in the code page
    of the country, which lacks the lines of our tables; one such character would end the program.
    """
    asked = os.environ.get("PYTHONIOENCODING", "").partition(":")

    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        encoding = (getattr(stream, "encoding", "") or "").lower().replace("-", "")
        if reconfigure is None or encoding == "utf8":
            continue

        if asked[0] or stream.isatty():
            reconfigure(errors=asked[2] or "replace")
        else:
            reconfigure(encoding="utf-8")
