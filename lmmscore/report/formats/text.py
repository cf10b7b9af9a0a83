"""Tables as text for programs and editors: CSV, JSON and Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from typing import Any

from lmmscore.report.formats import Cell, Grid, TableDocument, TableLayout, formats
from lmmscore.tables import defuse

# --------------------------------------------------------------------------------------------------
# Tables as CSV: one line per row, at full precision.
# --------------------------------------------------------------------------------------------------


@formats.register("csv")
def write_csv(document: TableDocument, layout: TableLayout) -> str:  # noqa: ARG001
    """Return the records as CSV. Text that a spreadsheet would run is defused."""
    heads = list(dict.fromkeys(name for record in document.records for name in record))
    if document.caution:
        # On every line: lines get torn from their files.
        heads.append("caution")

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([defuse(head) for head in heads])
    for record in document.records:
        line = {"caution": document.caution, **record}
        writer.writerow([_csv_cell(line.get(head)) for head in heads])

    return out.getvalue()


def _csv_cell(value: Any) -> Any:
    if value is None:
        return ""
    return defuse(value) if isinstance(value, str) else value


# --------------------------------------------------------------------------------------------------
# Tables as one JSON object.
# --------------------------------------------------------------------------------------------------


@formats.register("json")
def write_json(document: TableDocument, layout: TableLayout) -> str:  # noqa: ARG001
    """Return everything there is, at full precision. Raises ValueError for NaN and infinity.

    A figure that does not exist is null, with its reason: `NaN` is no JSON, and no reason.
    """
    return json.dumps(document.data, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


# --------------------------------------------------------------------------------------------------
# Tables as Markdown.
# --------------------------------------------------------------------------------------------------

_MARKED = {"best": "**{}**", "second": "<u>{}</u>", "": "{}"}


@formats.register("md")
def write_markdown(document: TableDocument, layout: TableLayout) -> str:  # noqa: ARG001
    """Return the tables as one Markdown text, the caution before everything."""
    parts = []
    if document.caution:
        parts.append(f"> **Caution.** {escape(document.caution)}")

    parts += [escape(text) for text in document.headline]
    parts += [_grid(grid) for grid in document.grids]
    if document.notes:
        parts.append(_bullets(document.notes))

    return "\n\n".join(parts) + "\n"


def _grid(grid: Grid) -> str:
    parts = [f"## {escape(grid.title)}"]
    if grid.verdict:
        parts.append(escape(grid.verdict))

    parts += [f"> **Note.** {escape(text)}" for text in grid.above]
    if grid.caption:
        parts.append(escape(grid.caption))

    if grid.rows:
        parts.append(_table(grid))

    if grid.below:
        parts.append(_bullets(grid.below))

    return "\n\n".join(parts)


def _bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"- {escape(text)}" for text in texts)


def _table(grid: Grid) -> str:
    heads = [escape(head) for head in _heads(grid)]
    rules = ["---" if k in grid.text_columns else "---:" for k in range(len(heads))]
    body = [[_cell(cell) for cell in row] for row in grid.rows]
    lines = [heads, rules, *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _heads(grid: Grid) -> list[str]:
    """Return the headings.

    Markdown has none over several columns: each carries its group's name.
    """
    if not grid.groups:
        return list(grid.columns)

    heads = []
    columns = iter(grid.columns)
    for group, width in grid.groups:
        for _ in range(width):
            name = next(columns)
            heads.append(f"{group}: {name}" if group else name)

    return heads


def _cell(cell: Cell) -> str:
    return _MARKED[cell.mark].format(escape(cell.text))


def escape(text: str) -> str:
    """Return text that Markdown shows as it is. An underscore inside a word needs nothing."""
    text = " ".join(text.split())
    text = re.sub(r"([\\`*|\[\]])", r"\\\1", text)
    text = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("~~", r"\~\~")
