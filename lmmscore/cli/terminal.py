"""What several commands print."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lmmscore.leaderboard import Leaderboard


def print_board(board: Leaderboard) -> None:
    """Print a leaderboard's tables to standard output, in colour where someone is looking."""
    from lmmscore.report.leaderboard import render

    click.echo(render(board, "term", color=sys.stdout.isatty()), nl=False)
