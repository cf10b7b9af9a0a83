"""Agreement across methods' means, for many resamples at once: a row a resample, a column a method."""

from __future__ import annotations

import numpy as np

from lmmscore.agreement.arrays import SAME, Floats
from lmmscore.agreement.bootstrap import CountStatistic
from lmmscore.agreement.counted import divide

ACROSS = ("spearman", "pearson", "kendall_b", "mae", "bias", "pairwise_accuracy")


def across(x: Floats, y: Floats) -> Floats:
    """Return the statistics named above, a row a statistic, from both sides' means."""
    first, second = np.triu_indices(x.shape[1], 1)
    left, right = _order(x[:, first] - x[:, second]), _order(y[:, first] - y[:, second])
    known = ~np.isnan((x + y).sum(axis=1))
    found = [
        _pearson(_ranks(left, x.shape[1]), _ranks(right, x.shape[1])),
        _pearson(x, y),
        divide((left * right).sum(axis=1), np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))),
        np.abs(x - y).mean(axis=1),
        (x - y).mean(axis=1),
        (left == right).mean(axis=1) if len(first) else np.full(len(x), np.nan),
    ]
    return np.where(known, np.stack(found), np.nan)


def across_counts(judge: Floats, people: Floats) -> CountStatistic:
    """Return the statistics over methods' means as a function of how often each item was drawn."""
    there = (~np.isnan(judge)).astype(float)
    table = np.hstack([there, np.where(there > 0, judge, 0), np.where(there > 0, people, 0)])

    def of(counts: Floats) -> Floats:
        n, x, y = np.split(counts @ table, 3, axis=1)
        # A resample that misses a method altogether cannot rank it: NaN spreads to the statistics.
        with np.errstate(invalid="ignore", divide="ignore"):
            return across(x / n, y / n)

    return of


def _order(gaps: Floats) -> Floats:
    """Return the sign of every gap, near-equal means being tied."""
    return np.where(np.abs(gaps) < SAME, 0, np.sign(gaps))


def _ranks(order: Floats, methods: int) -> Floats:
    """Return twice the centred midranks: how many a method beats less how many beat it."""
    first, second = np.triu_indices(methods, 1)
    places = np.arange(methods)
    beats = (first[:, None] == places).astype(float) - (second[:, None] == places)
    return np.asarray(order @ beats)


def _pearson(x: Floats, y: Floats) -> Floats:
    left, right = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    spread = (left**2).sum(axis=1) * (right**2).sum(axis=1)
    return divide((left * right).sum(axis=1), np.sqrt(spread))
