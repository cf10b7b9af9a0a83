"""What a leaderboard is: tables of rows with their uncertainty, and the sentences that belong to
them."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lmmscore.whiskers import Whisker, draw

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.leaderboard.differences import Differences

Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One method's line. A figure that the data cannot give is None, never 0 and never NaN."""

    rank: int | None
    """1 + the number of methods with a higher mean; ties share it. None when no edit was scored."""
    method: str
    mean: float | None
    std: float | None
    """Sample standard deviation over items; None with fewer than two."""
    n: int
    """Items the mean is over."""
    coverage: float
    """Share of the judgements asked for (edits × repeats) that gave a score."""
    factors: Mapping[str, float | None]
    """Mean of each factor, over the same items as far as they are scored."""
    mean_interval: Limits | None = None
    rank_interval: tuple[int, int] | None = None
    """Ranks that the significant differences leave open, right for all methods together."""
    rank_range: tuple[int, int] | None = None
    """Best and worst rank, whatever the missing scores would have been."""
    group: str = ""
    """Letters: between two methods that share one there is no significant difference."""
    items: int = 0
    """Items this method was entered for."""
    common_mean: float | None = None
    """Mean over the items that every ranked method has a score for; None where all have all."""


@dataclass(frozen=True, slots=True)
class BoardTable:
    """The methods ranked on one factor in one task category, or over all of them (`task` is
    None)."""

    task: str | None
    factor: str
    rows: tuple[BoardRow, ...]
    caption: str
    """Which mean this is, over how many items, and how missing scores were treated."""
    rule: str = ""
    """The part of the caption that is the same for all tables of a leaderboard."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before the figures: missing scores first."""
    notes: tuple[str, ...] = ()
    """What the data cannot say: few items, equal scores, one method."""
    differences: Differences | None = None
    holes: int = 0
    """Judgements without a score."""
    common_items: int | None = None
    """Items that every ranked method has a score for; None where nothing is missing."""
    among: tuple[str, ...] = ()
    """The task categories a table without a task is over, where it is not all of them."""

    def row(self, method: str) -> BoardRow:
        """Return the line of `method`."""
        return next(row for row in self.rows if row.method == method)


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The tables of a run. `to_frame()` is tidy, `as_dict()` the JSON; lmmscore.report renders the
    rest."""

    tables: tuple[BoardTable, ...]
    notes: tuple[str, ...] = ()
    caution: str = ""
    """What the judge's own limits mean for every figure here; shown with every table."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Weights, missing rule, average, resamples, seed: what these figures depend on besides the
    scores."""

    def table(self, task: str | None = None, factor: str | None = None) -> BoardTable:
        """Return the table of a task category (None: over all) and a factor (None: the first there
        is)."""
        for table in self.tables:
            if table.task == task and factor in (None, table.factor):
                return table
        raise KeyError(f"no table for task {task!r}, factor {factor!r}")

    def to_frame(self) -> pd.DataFrame:
        """Return one line per table and method, with intervals as low and high columns."""
        import pandas as pd

        lines = [flat(table, row) for table in self.tables for row in table.rows]
        return pd.DataFrame(lines)

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the JSON object: `{"tables": [{"task", "rows": [...]}]}` and what explains it."""
        return {
            "tables": [_table_dict(table, decimals) for table in self.tables],
            "notes": list(self.notes),
            "caution": self.caution,
            "settings": dict(self.settings),
        }

    def to_json(self, decimals: int | None = None) -> str:
        """Return the same as text."""
        return json.dumps(self.as_dict(decimals), ensure_ascii=False, indent=2) + "\n"

    def _repr_html_(self) -> str:
        """Return the tables as a notebook shows them, the warnings above the figures."""
        parts = [f"<p><strong>{html.escape(self.caution)}</strong></p>"] if self.caution else []
        frame = self.to_frame()
        for table in self.tables:
            chosen = frame[(frame["factor"] == table.factor)]
            chosen = chosen[
                chosen["task"].isna() if table.task is None else chosen["task"] == table.task
            ]
            parts += [f"<p>{html.escape(text)}</p>" for text in (*table.warnings, table.caption)]
            shown = chosen.drop(columns=["task", "factor"])
            parts.append(shown.to_html(index=False, na_rep="–", float_format="{:.2f}".format))
            marks = [
                Whisker(row.method, row.mean, *(row.mean_interval or (None, None)))
                for row in table.rows
            ]
            parts.append(draw(marks, f"Means with their intervals: {table.caption}"))
            parts += [f"<p><small>{html.escape(text)}</small></p>" for text in table.notes]
        return "\n".join(
            parts + [f"<p><small>{html.escape(text)}</small></p>" for text in self.notes]
        )


def flat(table: BoardTable, row: BoardRow) -> dict[str, Any]:
    """Return a row as one flat line. A factor that is called like a column of ours is marked as a
    factor."""
    mean, rank, holes = row.mean_interval, row.rank_interval, row.rank_range
    lead = {
        "task": table.task,
        "factor": table.factor,
        "rank": row.rank,
        "method": row.method,
        "mean": row.mean,
        "std": row.std,
        "n": row.n,
        "coverage": row.coverage,
    }
    rest = {
        "mean_low": mean[0] if mean else None,
        "mean_high": mean[1] if mean else None,
        "rank_low": rank[0] if rank else None,
        "rank_high": rank[1] if rank else None,
        "rank_best": holes[0] if holes else None,
        "rank_worst": holes[1] if holes else None,
        "group": row.group,
        "common_mean": row.common_mean,
    }
    taken = {*lead, *rest}
    factors = {
        f"factor_{name}" if name in taken else name: value for name, value in row.factors.items()
    }
    return {**lead, **factors, **rest}


def _table_dict(table: BoardTable, decimals: int | None) -> dict[str, Any]:
    return {
        "task": table.task,
        "factor": table.factor,
        **({"among": list(table.among)} if table.among else {}),
        "caption": table.caption,
        "warnings": list(table.warnings),
        "notes": list(table.notes),
        "common_items": table.common_items,
        "rows": [_row_dict(row, decimals) for row in table.rows],
        "differences": table.differences.as_list(decimals) if table.differences else [],
    }


def _row_dict(row: BoardRow, decimals: int | None) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "method": row.method,
        "mean": rounded(row.mean, decimals),
        "std": rounded(row.std, decimals),
        "n": row.n,
        "coverage": rounded(row.coverage, decimals),
        "factors": {name: rounded(value, decimals) for name, value in row.factors.items()},
        "mean_interval": [rounded(end, decimals) for end in row.mean_interval]
        if row.mean_interval
        else None,
        "rank_interval": list(row.rank_interval) if row.rank_interval else None,
        "rank_range": list(row.rank_range) if row.rank_range else None,
        "group": row.group,
        "items": row.items,
        "common_mean": rounded(row.common_mean, decimals),
    }


def rounded(value: float | None, decimals: int | None) -> float | None:
    """Return a figure for JSON: None for what is no number, and no digits that only arithmetic put
    there."""
    if value is None or not math.isfinite(value):
        return None
    # Scores are decimals with few places: beyond the tenth there is only the noise of binary
    # fractions.
    return round(value, 10 if decimals is None else decimals)
