"""A run's leaderboard beside a published one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lmmscore.leaderboard.published import Entry, key_of
from lmmscore.leaderboard.resampling import ranks
from lmmscore.leaderboard.tables import Leaderboard, Row, Table, rounded
from lmmscore.records import OVERALL


@dataclass(frozen=True, slots=True)
class Matched:
    """One method in both tables. Ranks are among those in both, by mean; `printed_rank` is as published."""

    method: str
    published_method: str
    mean: float
    published_mean: float
    difference: float
    rank: int
    published_rank: int
    printed_rank: int | None
    n: int


@dataclass(frozen=True, slots=True)
class TaskAgainst:
    """One task category of a run against the published one."""

    task: str
    rows: tuple[Matched, ...]
    spearman: float | None
    kendall: float | None
    only_run: tuple[str, ...]
    only_published: tuple[str, ...]
    statement: str
    factor: str = OVERALL
    """What the run's means are of."""
    ambiguous: tuple[str, ...] = ()
    """Names left out: they differ from another of their table only in case or punctuation, and match both."""

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the comparison for JSON."""
        found = asdict(self)
        found["rows"] = [
            {k: rounded(v, decimals) if isinstance(v, float) else v for k, v in asdict(row).items()}
            for row in self.rows
        ]
        found["spearman"], found["kendall"] = (
            rounded(self.spearman, decimals),
            rounded(self.kendall, decimals),
        )
        return {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}


def against(board: Leaderboard, entries: Sequence[Entry]) -> list[TaskAgainst]:
    """Return the methods in both, side by side, for every task category in both; names match by `key_of`."""
    found = []
    for table in board.tables:
        if table.task is not None:
            theirs = [entry for entry in entries if key_of(entry.task) == key_of(table.task)]
            if theirs:
                found.append(_task(table, theirs))
    return found


def _task(table: Table, theirs: Sequence[Entry]) -> TaskAgainst:
    ours = {key_of(row.method) for row in table.rows if row.mean is not None}
    keys = {key_of(entry.method) for entry in theirs}
    pairs = [
        (row, entry)
        for row in table.rows
        for entry in theirs
        if _same(row, entry, table.rows, theirs)
    ]
    rows = _matched([(row, entry) for row, entry in pairs if row.mean is not None])
    spearman, kendall = correlations([r.mean for r in rows], [r.published_mean for r in rows])
    taken = {id(one) for pair in pairs for one in pair}
    shared = keys & {key_of(row.method) for row in table.rows}
    names = [(row.method, id(row)) for row in table.rows] + [
        (entry.method, id(entry)) for entry in theirs
    ]
    left = [name for name, line in names if key_of(name) in shared and line not in taken]
    return TaskAgainst(
        task=str(table.task),
        rows=rows,
        spearman=spearman,
        kendall=kendall,
        only_run=tuple(row.method for row in table.rows if key_of(row.method) not in keys),
        only_published=tuple(
            entry.method
            for entry in theirs
            if key_of(entry.method) not in ours and entry.method not in left
        ),
        statement=_statement(len(rows), spearman, kendall),
        factor=table.factor,
        ambiguous=tuple(dict.fromkeys(left)),
    )


def _same(row: Row, entry: Entry, ours: Sequence[Row], theirs: Sequence[Entry]) -> bool:
    """Tell whether two lines are one method's: by key where that is nobody else's, else by the very name."""
    if key_of(row.method) != key_of(entry.method):
        return False
    names = [other.method for other in theirs if key_of(other.method) == key_of(entry.method)]
    rivals = [other for other in ours if key_of(other.method) == key_of(row.method)]
    if len(names) == len(rivals) == 1:
        return True
    return row.method == entry.method and names.count(entry.method) == 1


def _matched(pairs: Sequence[tuple[Row, Entry]]) -> tuple[Matched, ...]:
    if not pairs:
        return ()
    means = np.array(
        [[row.mean for row, _ in pairs], [entry.mean for _, entry in pairs]], dtype=np.float64
    )
    place = ranks(means)
    rows = [
        Matched(
            method=row.method,
            published_method=entry.method,
            mean=float(means[0, k]),
            published_mean=entry.mean,
            difference=float(means[0, k] - means[1, k]),
            rank=int(place[0, k]),
            published_rank=int(place[1, k]),
            printed_rank=entry.rank,
            n=row.n,
        )
        for k, (row, entry) in enumerate(pairs)
    ]
    return tuple(sorted(rows, key=lambda row: (row.rank, row.method)))


def correlations(
    first: Sequence[float], second: Sequence[float]
) -> tuple[float | None, float | None]:
    """Return Spearman's rho and Kendall's tau-b; None below three pairs or where one side is all ties."""
    from scipy.stats import kendalltau, spearmanr

    a, b = np.round(first, 9), np.round(second, 9)
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None, None
    return float(spearmanr(a, b).statistic), float(kendalltau(a, b).statistic)


def _statement(n: int, spearman: float | None, kendall: float | None) -> str:
    if not n:
        return "No method is in both tables."
    if spearman is None or kendall is None:
        few = f"{n} method{'' if n == 1 else 's'} in both"
        return f"{few}: " + (
            "too few for a rank correlation." if n < 3 else "one side is all ties, no correlation."
        )
    return f"Rank correlation of the means over {n} methods: Spearman {spearman:.2f}, Kendall {kendall:.2f}."
