"""A leaderboard as CSV: one line per table and method, at full precision."""

from __future__ import annotations

import csv
import io
from typing import Any

from lmmscore.csvsafe import defuse
from lmmscore.leaderboard.board import BoardRow, BoardTable, Leaderboard, flat, rounded


def csv_text(board: Leaderboard, *, decimals: int | None) -> str:
    """Return the leaderboard as CSV. The table over all task categories has an empty task.

    Text that a spreadsheet would run is defused; a caution stands in a column of its own, on every line.
    """
    lines = [_line(board, table, row) for table in board.tables for row in table.rows]
    heads = list(dict.fromkeys(name for line in lines for name in line))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([defuse(head) for head in heads])
    for line in lines:
        writer.writerow([_cell(line.get(head), decimals) for head in heads])
    return out.getvalue()


def _line(board: Leaderboard, table: BoardTable, row: BoardRow) -> dict[str, Any]:
    # Each line says which mean it is and what to beware of: lines get torn from their files.
    caution = {"caution": board.caution} if board.caution else {}
    return {**flat(table, row), "caption": table.caption, **caution}


def _cell(value: Any, decimals: int | None) -> Any:
    if value is None:
        return ""
    if isinstance(value, float):
        return rounded(value, decimals)
    return defuse(value) if isinstance(value, str) else value
