"""How far the judge's numbers are from people's: only where both have the same scale."""

from __future__ import annotations

import numpy as np

from lmmscore.agreement.statistics import ITEM, METHOD, Statistic, register
from lmmscore.stats import correlation, counts
from lmmscore.stats.arrays import Floats, Ints
from lmmscore.stats.jackknife import CountStatistic


def _mae_counts(judge: Floats, people: Floats, item: Ints, items: int) -> CountStatistic:
    return counts.mean_of(np.abs(judge - people), item, items)


def _bias_counts(judge: Floats, people: Floats, item: Ints, items: int) -> CountStatistic:
    return counts.mean_of(judge - people, item, items)


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
