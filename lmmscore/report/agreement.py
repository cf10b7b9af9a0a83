"""An agreement in the format asked for."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from lmmscore.agreement import Agreement
from lmmscore.agreement.rows import Row
from lmmscore.csvsafe import defuse
from lmmscore.report.agreement_grids import SECTIONS, agreement_grids
from lmmscore.report.leaderboard import Format, render_grids

CSV_COLUMNS = (
    "judge", "factor", "level", "task", "statistic", "value", "low", "high", "n", "of", "averaging", "left_out",
    "why", "interval", "resamples",
)  # fmt: skip


def render(
    found: Agreement,
    format: Format,
    *,
    sections: Sequence[str] = SECTIONS,
    caution: str = "",
    width: int | None = None,
    color: bool = False,
) -> str:
    """Return an agreement as text: the answer and the sections asked for; CSV and JSON always hold everything.

    Notes stand below the tables in Markdown and LaTeX; the command line prints them to standard error as well.
    """
    if format == "json":
        return found.to_json() + "\n"
    if format == "csv":
        return csv_text(found)
    notes = found.notes if format != "term" else ()
    return render_grids(
        agreement_grids(found, sections), format, caution, notes, width=width, color=color
    )


def csv_text(found: Agreement) -> str:
    """Return every row, people's under the judge's name `people`, at full precision."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in (*found.rows, *found.tasks, *found.people):
        writer.writerow(_cells(row))
    return out.getvalue()


def _cells(row: Row) -> list[Any]:
    data = row.to_json() | {"judge": row.judge or "people"}
    data["left_out"] = "; ".join(
        f"{reason} ({count})" for reason, count in row.measure.left_out.items()
    )
    cells = [data.get(column) for column in CSV_COLUMNS]
    return [
        "" if cell is None else defuse(cell) if isinstance(cell, str) else cell for cell in cells
    ]
