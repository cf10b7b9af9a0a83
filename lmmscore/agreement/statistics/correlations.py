"""Spearman, Pearson and Kendall."""

from __future__ import annotations

from lmmscore.agreement.statistics import Statistic, register
from lmmscore.stats import correlation, counts
from lmmscore.stats.arrays import Floats, Ints
from lmmscore.stats.correlation import Within
from lmmscore.stats.jackknife import CountStatistic
from lmmscore.stats.pairs import pair_statistics, scored_pairs, too_many


def _spearman_rows(judge: Floats, people: Floats) -> Floats:
    return Within(judge, people).correlations()["spearman"]


def _pearson_rows(judge: Floats, people: Floats) -> Floats:
    return Within(judge, people).correlations()["pearson"]


def _kendall_rows(judge: Floats, people: Floats) -> Floats:
    return Within(judge, people).correlations()["kendall_b"]


def _kendall_counts(judge: Floats, people: Floats, item: Ints, items: int) -> CountStatistic:
    pairs = scored_pairs(judge, people, item, items, 0.0)
    if too_many(pairs):
        raise OverflowError("all pairs of so many edits on so fine a scale are too many")
    joint = pair_statistics(pairs)
    return lambda counted: joint(counted)[0]


register(
    Statistic(
        "spearman",
        "Spearman ρ",
        correlation.spearman,
        order=1,
        correlation=True,
        of_counts=counts.spearman,
        of_rows=_spearman_rows,
    )
)
register(
    Statistic(
        "pearson",
        "Pearson r",
        correlation.pearson,
        order=2,
        correlation=True,
        of_counts=counts.pearson,
        of_rows=_pearson_rows,
    )
)
register(
    Statistic(
        "kendall_b",
        "τ-b",
        correlation.kendall_b,
        order=3,
        correlation=True,
        of_counts=_kendall_counts,
        of_rows=_kendall_rows,
    )
)
