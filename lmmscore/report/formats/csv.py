"""Tables as CSV: one line per row, at full precision."""

from __future__ import annotations

import csv
import io
from typing import Any

from lmmscore.report.formats import TableDocument, TableLayout, formats
from lmmscore.tables import defuse


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
        writer.writerow([_cell(line.get(head)) for head in heads])

    return out.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return defuse(value) if isinstance(value, str) else value
