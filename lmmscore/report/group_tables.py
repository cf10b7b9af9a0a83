"""Means by any keys, in any format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from lmmscore.csvsafe import defuse
from lmmscore.leaderboard.groups import Group
from lmmscore.report.grids import Grid, number, percent, plain
from lmmscore.report.leaderboard import Format, render_grids


def render_groups(
    groups: Sequence[Group],
    by: Sequence[str],
    form: Format,
    *,
    factor: str,
    caution: str,
    decimals: int | None,
) -> str:
    """Return one table with a line for each group; in JSON, one object with `by` and `rows`."""
    lines = [group.as_dict(decimals) for group in groups]
    if form == "json":
        table = {"task": None, "by": list(by), "rows": lines}
        return json.dumps({"tables": [table], "caution": caution}, ensure_ascii=False, indent=2) + "\n"
    what = "the factor named" if "factor" in by else factor
    said = (
        f"Mean of {what} over edits, their repeats averaged first; std over edits; unscored edits left out."
    )
    if form == "csv":
        return _csv(lines, by, caution)
    places = 2 if decimals is None else decimals
    rows = tuple(
        plain(*g.keys.values(), number(g.mean, places), number(g.std, places), str(g.n), percent(g.coverage))
        for g in groups
    )
    columns = (*(name.capitalize() for name in by), "Mean", "Std", "n", "Coverage")
    grid = Grid(f"By {', '.join(by)}", columns, rows, said, text_columns=frozenset(range(len(by))))
    return render_grids([grid], form, caution)


def _csv(lines: Sequence[dict[str, Any]], by: Sequence[str], caution: str) -> str:
    heads = [*by, "mean", "std", "n", "coverage", *(["caution"] if caution else [])]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heads)
    for line in lines:
        cells = [{**line, "caution": caution}[head] for head in heads]
        writer.writerow(["" if c is None else defuse(c) if isinstance(c, str) else c for c in cells])
    return out.getvalue()
