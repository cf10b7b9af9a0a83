"""What several commands print."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lmmscore.leaderboard import Leaderboard


def print_board(board: Leaderboard) -> None:
    """Print a leaderboard's tables to standard output, in colour where someone is looking."""
    from lmmscore.report.leaderboard import render

    looking = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if looking else None
    click.echo(render(board, "term", color=looking and "NO_COLOR" not in os.environ, width=width), nl=False)
