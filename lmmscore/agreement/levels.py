"""The same statistics at three levels. The level changes the answer, so every number carries its name.

`item`: all edits pooled. `within-item`: methods compared inside an item, then averaged over items, which is what a
comparative judge is for. `method`: means per method, compared across methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lmmscore.agreement import correlation, counted, pairforms, pairs, soft
from lmmscore.agreement.across import ACROSS, across, across_counts
from lmmscore.agreement.arrays import Floats
from lmmscore.agreement.bootstrap import CountStatistic, parts
from lmmscore.agreement.pairing import Paired
from lmmscore.agreement.raterranks import RaterRanks
from lmmscore.agreement.rows import Measure
from lmmscore.agreement.within import Within

POOLED = "over all edits pooled"
BY_ITEM = "inside each item over its methods, then averaged over items"
BY_METHOD = "over the methods' means"

NO_METHODS = "there is one edit an item, so no methods to rank"
NO_EDITS = "no edit has both a score and a rating"
LONE = "items with fewer than two methods"
TOO_MANY_SCORES = f"there are more than {pairs.MOST_CELLS} distinct pairs of scores to try"


def item_level(paired: Paired) -> list[Measure]:
    """Return every statistic over all edits pooled."""
    judge, people, item = paired.judge, paired.people, paired.item
    why = correlation.reason_undefined(judge, people)
    common: dict[str, Any] = {
        "level": "item",
        "n": len(judge),
        "of": "edits",
        "averaging": POOLED,
        "left_out": paired.left_out,
    }
    threshold = pairs.calibrate(judge, people) if len(judge) > 1 else 0.0
    by_pairs = _pair_intervals(paired, threshold)
    of: dict[str, Any] = by_pairs | {
        "spearman": {"counted": None if why else _spearman(paired)},
        "pearson": {"counted": None if why else counted.pearson(judge, people, item)},
    }
    found = []
    for name in correlation.CORRELATIONS:
        value = correlation.STATISTICS[name](judge, people)
        found.append(Measure(statistic=name, value=value, why=why, **of[name], **common))
    for name, gaps in (("mae", np.abs(judge - people)), ("bias", judge - people)):
        mean = counted.mean_of(gaps, item, paired.items) if len(gaps) else None
        value = correlation.STATISTICS[name](judge, people)
        none = "" if len(judge) else NO_EDITS
        found.append(Measure(statistic=name, value=value, why=none, counted=mean, **common))
    return found + _pooled_pairs(judge, people, threshold, by_pairs, common)


def _spearman(paired: Paired) -> CountStatistic:
    """Return Spearman's ρ of counts, in the layout that suits: items of one edit each, or of several."""
    judge, people, item = paired.judge, paired.people, paired.item
    if len(judge) == paired.items:
        return counted.spearman(judge, people, item)
    ranks = RaterRanks([people], [[judge]], [item], paired.items)
    return lambda counts: ranks.of(counts)[0, 0]


def _pooled_pairs(
    judge: Floats,
    people: Floats,
    threshold: float | None,
    of: dict[str, Any],
    common: dict[str, Any],
) -> list[Measure]:
    """Return pairwise accuracy over all pairs of edits, plain and tie-calibrated."""
    lone = "a pair needs two edits" if len(judge) < 2 else ""
    name = "pairwise_accuracy"
    value = pairs.accuracy(judge, people, 0.0)
    plain = Measure(statistic=name, value=value, why=lone, **of[name], **common)
    name = "pairwise_accuracy_calibrated"
    if threshold is None:
        return [plain, Measure(statistic=name, value=float("nan"), why=TOO_MANY_SCORES, **common)]
    value, extra = (
        pairs.accuracy(judge, people, threshold),
        {} if lone else {"threshold": threshold},
    )
    return [
        plain,
        Measure(statistic=name, value=value, why=lone, extra=extra, **of[name], **common),
    ]


def _pair_intervals(paired: Paired, threshold: float | None) -> dict[str, dict[str, Any]]:
    """Return for each statistic over pairs of edits its function of counts and cost, or why it goes without."""
    if len(paired.edits) < 2:
        return {name: {} for name in pairforms.PAIR_STATISTICS}
    edits = pairforms.scored(paired.judge, paired.people, paired.item, threshold or 0.0)
    cost = pairforms.cost_ns(edits)
    if np.isinf(cost):
        why = f"no interval, because all pairs of {len(edits.item):,} edits of {edits.items:,} items are too many"
        return {name: {"no_interval": why} for name in pairforms.PAIR_STATISTICS}
    joint = pairforms.pair_statistics(edits)
    found = parts(joint, pairforms.PAIR_STATISTICS)
    return {name: {"counted": of, "cost_ns": cost} for name, of in found.items()}


def within_item(paired: Paired) -> list[Measure]:
    """Return the statistics inside items, averaged over the items where they are defined."""
    if len(paired.edits) == paired.items:
        return [_one_edit_an_item(name, paired.items) for name in _WITHIN]
    inside = Within(paired.grid("judge"), paired.grid("people"))
    lone = {LONE: int(inside.lone.sum())}
    constant = lone | {
        "items where the judge gave all methods the same": int(inside.judge_constant.sum()),
        "items where people gave all methods the same": int(
            (inside.people_constant & ~inside.judge_constant).sum()
        ),
    }
    found = [_averaged(name, values, constant) for name, values in inside.correlations().items()]
    threshold = pairs.best_threshold(*inside.gains())
    plain = _averaged("pairwise_accuracy", inside.accuracy(0.0), lone)
    extra = {"threshold": threshold}
    calibrated = _averaged("pairwise_accuracy_calibrated", inside.accuracy(threshold), lone, extra)
    return [*found, plain, calibrated]


_WITHIN = (*correlation.CORRELATIONS, "pairwise_accuracy", "pairwise_accuracy_calibrated")


def _one_edit_an_item(name: str, items: int) -> Measure:
    lone = {LONE: items} if items else {}
    why = NO_METHODS if items else NO_EDITS
    return Measure("within-item", name, float("nan"), 0, "items", BY_ITEM, left_out=lone, why=why)


def _averaged(
    name: str, values: Floats, left_out: Mapping[str, int], extra: Mapping[str, Any] | None = None
) -> Measure:
    """Return the mean over items where the statistic is defined, saying how many are not and why."""
    known = ~np.isnan(values)
    left_out = {reason: count for reason, count in left_out.items() if count}
    return Measure(
        level="within-item",
        statistic=name,
        value=float(values[known].mean()) if known.any() else float("nan"),
        n=int(known.sum()),
        of="items",
        averaging=BY_ITEM,
        left_out=left_out,
        why="" if known.any() else _why_none(left_out),
        counted=counted.mean_of(values, np.arange(len(values)), len(values))
        if known.any()
        else None,
        extra=extra or {},
    )


def _why_none(left_out: dict[str, int]) -> str:
    return "it is defined in no item: " + ", ".join(
        f"{reason} ({count})" for reason, count in left_out.items()
    )


def method_level(paired: Paired, flips_of: Callable[[int], soft.Flips]) -> list[Measure]:
    """Return the statistics over methods' means, and soft pairwise accuracy by the sign flips of so many items."""
    judge, people = paired.grid("judge"), paired.grid("people")
    methods = judge.shape[1]
    one_each = paired.edits["method"].eq("").all() if methods == 1 else False
    lone = (
        NO_METHODS if one_each else f"a ranking needs two methods, and there is {methods or 'none'}"
    )
    x, y = _means(judge), _means(people)
    common: dict[str, Any] = {
        "level": "method",
        "n": methods,
        "of": "methods",
        "averaging": BY_METHOD,
    }
    ranked = lone if methods < 2 else ""
    values = across(x[None, :], y[None, :])[:, 0] if not ranked else np.full(len(ACROSS), np.nan)
    constant = ranked or correlation.reason_undefined(x, y, of="method")
    found = []
    for (name, of), value in zip(
        parts(across_counts(judge, people), ACROSS).items(), values, strict=True
    ):
        why = constant if name in correlation.CORRELATIONS else ranked
        known = float("nan") if why else float(value)
        found.append(
            Measure(statistic=name, value=known, why=why, counted=None if why else of, **common)
        )
    return [*found, _soft(judge, people, flips_of, common, lone)]


def _soft(
    judge: Floats,
    people: Floats,
    flips_of: Callable[[int], soft.Flips],
    common: dict[str, Any],
    lone: str,
) -> Measure:
    """Return soft pairwise accuracy, exact for few items."""
    methods, items = judge.shape[1], len(judge)
    if methods < 3:
        why = (
            lone if methods < 2 else "a ranking of three or more methods is needed, and there are 2"
        )
        return Measure(statistic="soft_pairwise_accuracy", value=float("nan"), why=why, **common)
    flips = flips_of(items)
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
