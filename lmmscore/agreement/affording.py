"""Intervals for many measures at once: all the resamples asked for, or as many as a costly one can be granted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmmscore.agreement.bootstrap import CountStatistic, Interval, intervals
from lmmscore.agreement.rows import Measure

BUDGET_NS = 6e8
"""Time granted to all resamples of one costly statistic, as estimated: so a machine's speed changes no number."""
FEWEST_RESAMPLES = 400


def with_intervals(
    measures: Sequence[Measure], items: int, *, resamples: int, seed: int
) -> dict[int, Interval | None]:
    """Return the interval of each measure by its place. The same seed gives all of them the same resamples."""
    once = np.ones(items, dtype=np.int64)
    granted: dict[int, dict[int, CountStatistic]] = {}
    for place, measure in enumerate(measures):
        if measure.counted:
            granted.setdefault(affordable(measure.cost_ns, resamples), {})[place] = measure.counted
    found: dict[int, Interval | None] = dict.fromkeys(range(len(measures)))
    for number, of in granted.items():
        named = {str(place): one for place, one in of.items()}
        drawn = intervals(named, once, resamples=number, rng=np.random.default_rng(seed))
        found |= {int(place): one for place, one in drawn.items()}
    return found


def affordable(cost_ns: float, resamples: int) -> int:
    """Return how many of the resamples a statistic gets that takes this long in each."""
    return int(np.clip(BUDGET_NS / max(cost_ns, 1.0), min(FEWEST_RESAMPLES, resamples), resamples))
