"""Tables as one JSON object."""

from __future__ import annotations

import json

from lmmscore.report.formats import TableDocument, TableLayout, formats


@formats.register("json")
def write_json(document: TableDocument, layout: TableLayout) -> str:  # noqa: ARG001
    """Return everything there is, at full precision."""
    return json.dumps(document.data, ensure_ascii=False, indent=2) + "\n"
