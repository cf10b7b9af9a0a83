"""An agreement in the format asked for."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lmmscore.agreement.result import Agreement, AgreementRow, MethodStanding
from lmmscore.report.agreement_grids import SECTIONS, agreement_grids
from lmmscore.report.leaderboard import Format, render_grids
from lmmscore.tables import defuse

CSV_COLUMNS = (
    *(
        "judge",
        "factor",
        "level",
        "task",
        "method",
        "statistic",
        "averaging",
        "value",
        "low",
        "high",
    ),
    *("n", "of", "left_out", "why"),
)


def render(
    found: Agreement,
    format: Format,
    *,
    sections: Sequence[str] = SECTIONS,
    caution: str = "",
    width: int | None = None,
    color: bool = False,
) -> str:
    """Return an agreement as text: the answer and the sections asked for; CSV and JSON always hold
    everything.

    Notes stand below the tables in Markdown and LaTeX; the command line prints them to standard
    error as well.
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
    """Return every row, people's under the judge's name `people`, at full precision.

    The table of methods stands first, as rows of the statistics judge_mean, judge_rank, human_mean
    and human_rank at the level `method`.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for standing in found.methods:
        writer.writerows(_standing_cells(standing))
    for row in (*found.rows, *found.task_rows, *found.people):
        writer.writerow(_cells(row))
    return out.getvalue()


def _standing_cells(standing: MethodStanding) -> Iterator[list[Any]]:
    for name in ("judge_mean", "judge_rank", "human_mean", "human_rank"):
        data = standing.to_json() | {"level": "method", "statistic": name, "of": "items"}
        data |= {"value": getattr(standing, name), "n": standing.items}
        yield _written(data)


def _cells(row: AgreementRow) -> list[Any]:
    data = row.to_json() | {"judge": row.judge or "people"}
    told = [f"{reason} ({count})" for reason, count in row.left_out.items()]
    return _written(data | {"left_out": "; ".join(told)})


def _written(data: Mapping[str, Any]) -> list[Any]:
    cells = []
    for column in CSV_COLUMNS:
        cell = data.get(column)
        if isinstance(cell, str):
            cell = defuse(cell)
        cells.append("" if cell is None else cell)
    return cells
