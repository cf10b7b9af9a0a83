"""The statistics of agreement, by name. A new one is one new module here that registers itself.

A statistic needs no more than a function of two columns, the judge's scores and people's means;
it is then had at every level. What else a `Statistic` holds are faster forms of the same function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from lmmscore.options import Registry
from lmmscore.stats import (
    SAME,
    CountStatistic,
    Floats,
    Ints,
    Transform,
    correlation,
    mean_of,
    pearson_of_counts,
    spearman_of_counts,
)
from lmmscore.stats.correlation import (
    PAIR_STATISTICS,
    Within,
    of_pairs,
    pair_statistics,
    scored_pairs,
    too_many,
)

ITEM, WITHIN_ITEM, WITHIN_METHOD, METHOD = "item", "within-item", "within-method", "method"
LEVELS = (ITEM, WITHIN_ITEM, WITHIN_METHOD, METHOD)
"""`item`: all edits pooled. `within-item`: over the methods of each item, then averaged over items.
`within-method`: over the items of each method, then averaged over methods. `method`: over methods'
means."""

Columns = Callable[[Floats, Floats], float]
OfCounts = Callable[[Floats, Floats, Ints, int], CountStatistic]
OfRows = Callable[[Floats, Floats], Floats]
OfGrid = Callable[[Floats, Floats, np.random.Generator], float]


@dataclass(frozen=True, slots=True)
class Statistic:
    """One statistic of agreement."""

    name: str
    title: str
    """What heads its column."""
    of: Columns | None = None
    """From the judge's and people's column to a value, NaN where undefined."""
    order: int = 100
    """Where it stands among the others."""
    levels: tuple[str, ...] = LEVELS
    transform: Transform = "fisher"
    correlation: bool = False
    """Whether it is undefined where a side is constant, and may be averaged by Fisher's z."""
    needs_scale: bool = False
    """Whether it means something only where both sides have the same scale."""
    of_counts: OfCounts | None = None
    """From columns, items and their number to a function of counts, for intervals."""
    of_rows: OfRows | None = None
    """From item × method tables to one value per item."""
    of_grid: OfGrid | None = None
    """At the level `method`: from item × method tables, where means alone do not do."""
    extra: Callable[[Floats, Floats], Mapping[str, Any]] = field(default=lambda _judge, _people: {})
    """From two columns to what else is to be said with the value."""
    extra_rows: Callable[[Floats, Floats], Mapping[str, Any]] = field(
        default=lambda _judge, _people: {}
    )
    """The same at the level `within-item`, from tables."""


STATISTICS: Registry[Statistic] = Registry(
    "statistic", __name__, group="lmmscore.agreement_statistics"
)


def register(statistic: Statistic) -> Statistic:
    """Add a statistic under its own name."""
    return STATISTICS.register(statistic.name)(statistic)


@cache
def statistics(level: str) -> tuple[Statistic, ...]:
    """Return the statistics of a level, in their order."""
    found = [STATISTICS.get(name) for name in STATISTICS.names()]
    chosen = [one for one in found if level in one.levels]
    return tuple(sorted(chosen, key=lambda one: (one.order, one.name)))


# --------------------------------------------------------------------------------------------------
# Those that come with lmmscore: correlations, distances (only where both sides have the same
# scale), and shares of pairs that the judge orders as people do: with ties, calibrated, and soft.
# --------------------------------------------------------------------------------------------------


def _correlation_rows(name: str) -> OfRows:
    return lambda judge, people: Within(judge, people).correlations()[name]


def _of_counts(name: str) -> OfCounts:
    """Return a statistic of pairs as a function of counts, one of many that are had together."""

    def factory(judge: Floats, people: Floats, item: Ints, items: int) -> CountStatistic:
        threshold = 0.0
        if name == "pairwise_accuracy_calibrated":
            threshold = correlation.calibrate(judge, people) or 0.0

        edits = scored_pairs(judge, people, item, items, threshold)
        if too_many(edits):
            raise OverflowError("all pairs of so many edits on so fine a scale are too many")

        joint = pair_statistics(edits)
        place = PAIR_STATISTICS.index(name)
        return lambda counted: np.asarray(joint(counted)[place])

    return factory


register(
    Statistic(
        "spearman",
        "Spearman ρ",
        correlation.spearman,
        order=1,
        correlation=True,
        of_counts=spearman_of_counts,
        of_rows=_correlation_rows("spearman"),
    )
)


register(
    Statistic(
        "pearson",
        "Pearson r",
        correlation.pearson,
        order=2,
        correlation=True,
        of_counts=pearson_of_counts,
        of_rows=_correlation_rows("pearson"),
    )
)


register(
    Statistic(
        "kendall_b",
        "τ-b",
        correlation.kendall_b,
        order=3,
        correlation=True,
        of_counts=_of_counts("kendall_b"),
        of_rows=_correlation_rows("kendall_b"),
    )
)


def _mae_counts(judge: Floats, people: Floats, item: Ints, items: int) -> CountStatistic:
    return mean_of(np.abs(judge - people), item, items)


def _bias_counts(judge: Floats, people: Floats, item: Ints, items: int) -> CountStatistic:
    return mean_of(judge - people, item, items)


register(
    Statistic(
        "mae",
        "MAE",
        correlation.mae,
        order=4,
        levels=(METHOD, ITEM),
        transform="none",
        needs_scale=True,
        of_counts=_mae_counts,
    )
)


register(
    Statistic(
        "bias",
        "bias",
        correlation.bias,
        order=5,
        levels=(METHOD, ITEM),
        transform="none",
        needs_scale=True,
        of_counts=_bias_counts,
    )
)


def _accuracy(judge: Floats, people: Floats) -> float:
    return of_pairs(judge, people, 0.0)["pairwise_accuracy"]


def _calibrated(judge: Floats, people: Floats) -> float:
    threshold = correlation.calibrate(judge, people)
    if threshold is None:
        return float("nan")
    return of_pairs(judge, people, threshold)["pairwise_accuracy_calibrated"]


def _ordered(judge: Floats, people: Floats) -> float:
    """Return the share ordered alike of the pairs that both sides order."""
    return of_pairs(judge, people, 0.0)["pairwise_accuracy_ordered"]


def _ties(judge: Floats, people: Floats) -> Mapping[str, Any]:
    by_judge, by_people = correlation.tie_shares(judge, people)
    if np.isnan(by_judge):
        return {}
    return {"ties_judge": by_judge, "ties_people": by_people}


def _ties_rows(judge: Floats, people: Floats) -> Mapping[str, Any]:
    by_judge, by_people = Within(judge, people).ties()
    return {"ties_judge": by_judge, "ties_people": by_people}


def _threshold(judge: Floats, people: Floats) -> Mapping[str, Any]:
    found = correlation.calibrate(judge, people)
    return {} if found is None else {"threshold": found}


def _rows(judge: Floats, people: Floats) -> Floats:
    return Within(judge, people).accuracy(0.0)


def _rows_threshold(inside: Within) -> float:
    return correlation.best_threshold(*inside.gains())


def _calibrated_rows(judge: Floats, people: Floats) -> Floats:
    inside = Within(judge, people)
    return inside.accuracy(_rows_threshold(inside))


def _threshold_rows(judge: Floats, people: Floats) -> Mapping[str, Any]:
    return {"threshold": _rows_threshold(Within(judge, people))}


def _ordered_rows(judge: Floats, people: Floats) -> Floats:
    both, right = Within(judge, people).ordered_accuracy()
    undefined = np.full(len(both), np.nan)
    return np.asarray(np.divide(right, both, out=undefined, where=both > SAME))


def _exact(judge: Floats, _people: Floats) -> Mapping[str, Any]:
    return {"exact": len(judge) <= correlation.ENUMERATED_ITEMS}


def _soft(judge: Floats, people: Floats, rng: np.random.Generator) -> float:
    flips = correlation.sign_flips(len(judge), rng)
    return correlation.soft_pairwise_accuracy(judge, people, flips)


register(
    Statistic(
        "pairwise_accuracy",
        "pairs",
        _accuracy,
        order=10,
        levels=(METHOD, WITHIN_ITEM, ITEM),
        transform="logit",
        of_counts=_of_counts("pairwise_accuracy"),
        of_rows=_rows,
        extra=_ties,
        extra_rows=_ties_rows,
    )
)


register(
    Statistic(
        "pairwise_accuracy_ordered",
        "pairs both order",
        _ordered,
        order=11,
        levels=(METHOD, WITHIN_ITEM, ITEM),
        transform="logit",
        of_counts=_of_counts("pairwise_accuracy_ordered"),
        of_rows=_ordered_rows,
        extra=_ties,
        extra_rows=_ties_rows,
    )
)


register(
    Statistic(
        "pairwise_accuracy_calibrated",
        "pairs, calibrated",
        _calibrated,
        order=12,
        levels=(WITHIN_ITEM, ITEM),
        transform="logit",
        of_counts=_of_counts("pairwise_accuracy_calibrated"),
        of_rows=_calibrated_rows,
        extra=_threshold,
        extra_rows=_threshold_rows,
    )
)


register(
    Statistic(
        "soft_pairwise_accuracy",
        "soft pairs",
        order=13,
        levels=(METHOD,),
        transform="logit",
        of_grid=_soft,
        extra_rows=_exact,
    )
)
