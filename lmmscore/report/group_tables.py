"""Means by any keys, in any format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from lmmscore.csvsafe import defuse
from lmmscore.leaderboard.groups import Groups
from lmmscore.report.grids import Grid, number, percent, plain
from lmmscore.report.leaderboard import Format, render_grids


def render_groups(groups: Groups, form: Format, *, caution: str, decimals: int | None) -> str:
    """Return one table with a line for each group; in JSON, one object with `by` and `rows`."""
    by = groups.keys
    lines = [group.as_dict(decimals) for group in groups.rows]
    if form == "json":
        table = {"task": None, "by": list(by), "caption": groups.caption, "rows": lines}
        return (
            json.dumps({"tables": [table], "caution": caution}, ensure_ascii=False, indent=2) + "\n"
        )
    if form == "csv":
        return _csv(lines, by, caution)
    places = 2 if decimals is None else decimals
    rows = tuple(
        plain(
            *g.keys.values(),
            number(g.mean, places),
            number(g.std, places),
            str(g.n),
            percent(g.coverage),
        )
        for g in groups.rows
    )
    columns = (*(name.capitalize() for name in by), "Mean", "Std", "n", "Coverage")
    grid = Grid(
        f"By {', '.join(by)}", columns, rows, groups.caption, text_columns=frozenset(range(len(by)))
    )
    return render_grids([grid], form, caution)


def _csv(lines: Sequence[dict[str, Any]], by: Sequence[str], caution: str) -> str:
    heads = [*by, "mean", "std", "n", "coverage", *(["caution"] if caution else [])]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heads)
    for line in lines:
        cells = [{**line, "caution": caution}[head] for head in heads]
        writer.writerow(
            ["" if c is None else defuse(c) if isinstance(c, str) else c for c in cells]
        )
    return out.getvalue()
