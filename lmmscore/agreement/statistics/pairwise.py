"""Shares of pairs that the judge orders as people do: with ties, calibrated, and soft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lmmscore.agreement.statistics import (
    ITEM,
    METHOD,
    WITHIN_ITEM,
    OfCounts,
    Statistic,
    register,
)
from lmmscore.stats import pairs
from lmmscore.stats.arrays import SAME, Floats, Ints
from lmmscore.stats.correlation import Within
from lmmscore.stats.jackknife import CountStatistic
from lmmscore.stats.pairs import PAIR_STATISTICS


def _accuracy(judge: Floats, people: Floats) -> float:
    return pairs.accuracy(judge, people, 0.0)


def _calibrated(judge: Floats, people: Floats) -> float:
    threshold = pairs.calibrate(judge, people) if len(judge) > 1 else None
    return float("nan") if threshold is None else pairs.accuracy(judge, people, threshold)


def _ordered(judge: Floats, people: Floats) -> float:
    """Return the share ordered alike of the pairs that both sides order."""
    if len(judge) < 2:
        return float("nan")
    group = np.zeros(len(judge), dtype=np.int64)
    edits = pairs.scored_pairs(judge, people, group, 1, 0.0)
    if pairs.too_many(edits):
        return float("nan")
    return float(pairs.pair_statistics(edits)(np.ones((1, 1)))[-1][0])


def _of_counts(name: str) -> OfCounts:
    def factory(judge: Floats, people: Floats, item: Ints, items: int) -> CountStatistic:
        threshold = 0.0
        if name == "pairwise_accuracy_calibrated":
            threshold = pairs.calibrate(judge, people) or 0.0
        edits = pairs.scored_pairs(judge, people, item, items, threshold)
        if pairs.too_many(edits):
            raise OverflowError("all pairs of so many edits on so fine a scale are too many")
        joint = pairs.pair_statistics(edits)
        place = PAIR_STATISTICS.index(name)
        return lambda counted: np.asarray(joint(counted)[place])

    return factory


def _ties(judge: Floats, people: Floats) -> Mapping[str, Any]:
    by_judge, by_people = pairs.tie_shares(judge, people)
    if np.isnan(by_judge):
        return {}
    return {"ties_judge": by_judge, "ties_people": by_people}


def _ties_rows(judge: Floats, people: Floats) -> Mapping[str, Any]:
    by_judge, by_people = Within(judge, people).ties()
    return {"ties_judge": by_judge, "ties_people": by_people}


def _threshold(judge: Floats, people: Floats) -> Mapping[str, Any]:
    found = pairs.calibrate(judge, people) if len(judge) > 1 else None
    return {} if found is None else {"threshold": found}


def _rows(judge: Floats, people: Floats) -> Floats:
    return Within(judge, people).accuracy(0.0)


def _rows_threshold(inside: Within) -> float:
    return pairs.best_threshold(*inside.gains())


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
    return {"exact": len(judge) <= pairs.ENUMERATED_ITEMS}


def _soft(judge: Floats, people: Floats, rng: np.random.Generator) -> float:
    return pairs.soft_pairwise_accuracy(judge, people, pairs.sign_flips(len(judge), rng))


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
