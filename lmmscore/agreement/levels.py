"""The same statistics at three levels. The level changes the answer, so every number carries its name.

`item`: all edits pooled. `within-item`: methods compared inside an item, then averaged over items, which is what a
comparative judge is for. `method`: means per method, compared across methods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from lmmscore.agreement import correlation, counted, pairs, soft
from lmmscore.agreement.arrays import Floats, Ints
from lmmscore.agreement.bootstrap import CountStatistic
from lmmscore.agreement.pairing import Paired
from lmmscore.agreement.rows import Measure

POOLED = "over all edits pooled"
BY_ITEM = "inside each item over its methods, then averaged over items"
BY_METHOD = "over the methods' means"

NO_METHODS = "there is one edit an item, so no methods to rank"

_COUNTED: dict[str, Callable[[Floats, Floats, Ints], CountStatistic]] = {
    "spearman": counted.spearman,
    "pearson": counted.pearson,
    "kendall_b": counted.kendall_b,
}


def item_level(paired: Paired) -> list[Measure]:
    """Return every statistic over all edits pooled."""
    judge, people, item = paired.judge, paired.people, paired.item
    why = correlation.reason_undefined(judge, people)
    cost = _pair_cost(judge, people, paired.items)
    none = "" if len(judge) else "no edit has both a score and a rating"
    common: dict[str, Any] = {
        "level": "item",
        "n": len(judge),
        "of": "edits",
        "averaging": POOLED,
        "left_out": paired.left_out,
    }
    found = [
        Measure(
            statistic=name,
            value=correlation.STATISTICS[name](judge, people),
            why=why,
            counted=None
            if why or (cost > MOST_COST and name in _COSTLY)
            else _COUNTED[name](judge, people, item),
            cost=cost if name in _COSTLY else 0,
            **common,
        )
        for name in correlation.CORRELATIONS
    ]
    for name, gaps in (("mae", np.abs(judge - people)), ("bias", judge - people)):
        mean = counted.mean_of(gaps, item, paired.items) if len(gaps) else None
        value = correlation.STATISTICS[name](judge, people)
        found.append(Measure(statistic=name, value=value, why=none, counted=mean, **common))
    return found + _pooled_pairs(judge, people, item, cost, common)


def _pooled_pairs(
    judge: Floats, people: Floats, item: Ints, cost: float, common: dict[str, Any]
) -> list[Measure]:
    """Return pairwise accuracy over all pairs of edits, plain and tie-calibrated."""
    names = ("pairwise_accuracy", "pairwise_accuracy_calibrated")
    if len(judge) < 2:
        why = "a pair needs two edits"
        return [Measure(statistic=name, value=float("nan"), why=why, **common) for name in names]
    few = pairs.distinct(judge, people) <= pairs.MOST_CELLS
    threshold = pairs.calibrate(judge, people, np.zeros(len(judge), dtype=np.int64)) if few else float("nan")
    found = []
    for name, limit in zip(names, (0.0, threshold), strict=True):
        skip = np.isnan(limit)
        found.append(
            Measure(
                statistic=name,
                value=float("nan") if skip else pairs.accuracy(judge, people, limit),
                why=f"there are more than {pairs.MOST_CELLS} distinct pairs of scores to try" if skip else "",
                counted=None if skip or cost > MOST_COST else counted.pair_share(judge, people, item, limit),
                cost=cost,
                extra={"threshold": limit} if name.endswith("calibrated") and not skip else {},
                **common,
            )
        )
    return found


_COSTLY = ("kendall_b",)
MOST_COST = 2.0 * pairs.MOST_CELLS**2 * 2
"""Above this a table of all pairs would not fit in memory, and the statistic goes without an interval."""


def _pair_cost(judge: Floats, people: Floats, items: int) -> float:
    """Return about how many operations all pairs take in one resample, with what numpy spends on starting."""
    cells = pairs.distinct(judge, people) if len(judge) > counted.FEW_EDITS else len(judge)
    return max(2.0 * cells * (cells + items), 2e6)


def within_item(paired: Paired) -> list[Measure]:
    """Return the statistics inside items, averaged over the items where they are defined."""
    if len(paired.edits) == paired.items:
        return [_one_edit_an_item(name, paired.items) for name in _WITHIN]
    judge, people = paired.grid("judge"), paired.grid("people")
    rows = [both_known(judge[row], people[row]) for row in range(paired.items)]
    found = [
        _averaged(
            name, [correlation.STATISTICS[name](*row) for row in rows], [_why_not(*row) for row in rows]
        )
        for name in correlation.CORRELATIONS
    ]
    lone = ["" if len(row[0]) > 1 else "items with fewer than two methods" for row in rows]
    threshold = pairs.calibrate(paired.judge, paired.people, paired.item)
    for name, limit in (("pairwise_accuracy", 0.0), ("pairwise_accuracy_calibrated", threshold)):
        measure = _averaged(name, [pairs.accuracy(*row, limit) for row in rows], lone, threshold=limit)
        found.append(measure)
    return found


_WITHIN = (*correlation.CORRELATIONS, "pairwise_accuracy", "pairwise_accuracy_calibrated")


def _one_edit_an_item(name: str, items: int) -> Measure:
    lone = {"items with fewer than two methods": items} if items else {}
    why = NO_METHODS if items else "no edit has both a score and a rating"
    return Measure("within-item", name, float("nan"), 0, "items", BY_ITEM, left_out=lone, why=why)


def both_known(judge: Floats, people: Floats) -> tuple[Floats, Floats]:
    """Return the entries of a row where there is an edit."""
    there = ~np.isnan(judge)
    return judge[there], people[there]


def _why_not(judge: Floats, people: Floats) -> str:
    """Return under which heading an item is left out, or nothing."""
    if len(judge) < 2:
        return "items with fewer than two methods"
    reason = correlation.reason_undefined(judge, people)
    if not reason:
        return ""
    who = "the judge" if reason.startswith("the judge") else "people"
    return f"items where {who} gave all methods the same"


def _averaged(name: str, values: list[float], reasons: list[str], threshold: float = 0.0) -> Measure:
    """Return the mean over items where the statistic is defined, saying how many are not and why."""
    column = np.array(values, dtype=float)
    known = ~np.isnan(column)
    left_out = dict(Counter(reason for reason in reasons if reason))
    why = "" if known.any() else _why_none(left_out)
    items = np.arange(len(column))
    return Measure(
        level="within-item",
        statistic=name,
        value=float(column[known].mean()) if known.any() else float("nan"),
        n=int(known.sum()),
        of="items",
        averaging=BY_ITEM,
        left_out=left_out,
        why=why,
        counted=counted.mean_of(column, items, len(column)) if known.any() else None,
        extra={"threshold": threshold} if name.endswith("calibrated") else {},
    )


def _why_none(left_out: dict[str, int]) -> str:
    return "it is defined in no item: " + ", ".join(
        f"{reason} ({count})" for reason, count in left_out.items()
    )


def method_level(paired: Paired, rng: np.random.Generator) -> list[Measure]:
    """Return the statistics over methods' means, and soft pairwise accuracy."""
    judge, people = paired.grid("judge"), paired.grid("people")
    methods = judge.shape[1]
    one_each = paired.edits["method"].eq("").all() if methods == 1 else False
    lone = NO_METHODS if one_each else f"a ranking needs two methods, and there is {methods or 'none'}"
    x, y = _means(judge), _means(people)
    common: dict[str, Any] = {"level": "method", "n": methods, "of": "methods", "averaging": BY_METHOD}
    found = []
    for name in (*correlation.STATISTICS, "pairwise_accuracy"):
        why = lone if methods < 2 else ""
        if not why and name in correlation.CORRELATIONS:
            why = correlation.reason_undefined(x, y, of="method")
        value = float("nan") if why else float(_ACROSS[name](x[None, :], y[None, :])[0])
        of = None if why else _across_counts(judge, people, _ACROSS[name])
        found.append(Measure(statistic=name, value=value, why=why, counted=of, **common))
    return [*found, _soft(judge, people, rng, common, lone)]


def _soft(
    judge: Floats, people: Floats, rng: np.random.Generator, common: dict[str, Any], lone: str
) -> Measure:
    """Return soft pairwise accuracy, exact for few items."""
    methods, items = judge.shape[1], len(judge)
    if methods < 3:
        why = lone if methods < 2 else "a ranking of three or more methods is needed, and there are 2"
        return Measure(statistic="soft_pairwise_accuracy", value=float("nan"), why=why, **common)
    flips = soft.sign_flips(items, rng)
    exact = items <= soft.ENUMERATED_ITEMS
    return Measure(
        statistic="soft_pairwise_accuracy",
        value=soft.soft_pairwise_accuracy(judge, people, flips),
        why="no two methods share an item",
        counted=soft.soft_of_counts(judge, people),
        extra={"permutations": len(flips), "exact": exact},
        **common,
    )


def _means(grid: Floats) -> Floats:
    known = ~np.isnan(grid)
    return np.asarray(np.where(known, grid, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))


def _across_counts(
    judge: Floats, people: Floats, across: Callable[[Floats, Floats], Floats]
) -> CountStatistic:
    """Return a statistic over methods' means as a function of how often each item was drawn."""
    there = (~np.isnan(judge)).astype(float)
    x, y = np.where(there > 0, judge, 0), np.where(there > 0, people, 0)

    def of(counts: Floats) -> Floats:
        n = counts @ there
        # A resample that misses a method altogether cannot rank it: NaN spreads to the statistic.
        with np.errstate(invalid="ignore", divide="ignore"):
            means_x, means_y = (counts @ x) / n, (counts @ y) / n
        return across(means_x, means_y)

    return of


def _pearson_rows(x: Floats, y: Floats) -> Floats:
    left, right = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    spread = (left**2).sum(axis=1) * (right**2).sum(axis=1)
    return counted.divide((left * right).sum(axis=1), np.sqrt(spread))


def _order_rows(x: Floats) -> Floats:
    """Return for each row the sign of every two columns' difference, near-equal means being tied."""
    gaps = x[:, :, None] - x[:, None, :]
    return np.where(np.isnan(gaps), np.nan, np.where(np.abs(gaps) < 1e-9, 0, np.sign(gaps)))


def _spearman_rows(x: Floats, y: Floats) -> Floats:
    return _pearson_rows(_order_rows(x).sum(axis=2), _order_rows(y).sum(axis=2))


def _kendall_rows(x: Floats, y: Floats) -> Floats:
    left, right = _order_rows(x), _order_rows(y)
    spread = (left**2).sum(axis=(1, 2)) * (right**2).sum(axis=(1, 2))
    return counted.divide((left * right).sum(axis=(1, 2)), np.sqrt(spread))


def _accuracy_rows(x: Floats, y: Floats) -> Floats:
    left, right = _order_rows(x), _order_rows(y)
    first, second = np.triu_indices(x.shape[1], 1)
    same = (left == right)[:, first, second].mean(axis=1)
    return np.where(np.isnan(left).any(axis=(1, 2)), np.nan, same)


_ACROSS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "spearman": _spearman_rows,
    "pearson": _pearson_rows,
    "kendall_b": _kendall_rows,
    "mae": lambda x, y: np.abs(x - y).mean(axis=1),
    "bias": lambda x, y: (x - y).mean(axis=1),
    "pairwise_accuracy": _accuracy_rows,
}
