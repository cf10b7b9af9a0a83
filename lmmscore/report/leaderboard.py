"""A leaderboard in the format asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from lmmscore.leaderboard.board import Leaderboard
from lmmscore.report.board_grids import board_grids
from lmmscore.report.csv_tables import csv_text
from lmmscore.report.grids import Grid

Format = Literal["md", "csv", "tex", "json", "term"]
FORMATS: tuple[Format, ...] = ("md", "csv", "tex", "json", "term")


def render(
    board: Leaderboard,
    format: Format,
    *,
    decimals: int | None = None,
    wide: bool | None = None,
    further: Sequence[Grid] = (),
    extra: Mapping[str, Any] | None = None,
    width: int | None = None,
    color: bool = False,
) -> str:
    """Return a leaderboard as text, ready to be printed or written to a file.

    `decimals` None: 2 in tables to be read, everything there is in CSV and JSON. `wide` puts the task
    categories side by side; None does so for LaTeX, before the separate tables. `further` grids follow, in
    the formats that have room for them; `extra` adds keys to the JSON.
    """
    if format == "json":
        return (
            json.dumps({**board.as_dict(decimals), **(extra or {})}, ensure_ascii=False, indent=2)
            + "\n"
        )
    if format == "csv":
        return csv_text(board, decimals=decimals)
    places = 2 if decimals is None else decimals
    grids = board_grids(board, decimals=places, wide=bool(wide))
    if format == "tex" and wide is None and _several_tasks(board):
        grids = board_grids(board, decimals=places, wide=True) + grids
    return render_grids(
        [*grids, *further], format, board.caution, board.notes, width=width, color=color
    )


def _several_tasks(board: Leaderboard) -> bool:
    return len({table.task for table in board.tables if table.task is not None}) > 1


def render_grids(
    grids: Sequence[Grid],
    format: Format,
    caution: str,
    notes: Sequence[str] = (),
    *,
    width: int | None = None,
    color: bool = False,
) -> str:
    """Return grids as Markdown, LaTeX or terminal text."""
    if format == "tex":
        from lmmscore.report.latex_tables import latex

        return latex(grids, caution=caution, notes=notes)
    if format == "md":
        from lmmscore.report.markdown_tables import markdown

        return markdown(grids, caution=caution, notes=notes)
    from lmmscore.report.terminal_tables import terminal

    return terminal(grids, caution=caution, notes=notes, width=width, color=color)
