"""Do people agree with each other? Reliability of ratings, and the ceiling they set for a judge.

Functions take one factor's ratings as parallel arrays: the value, and codes of its edit, its item and its rater.
"""

from __future__ import annotations

from dataclasses import dataclass

import krippendorff
import numpy as np

from lmmscore.agreement import correlation, counted
from lmmscore.agreement.arrays import Bools, Floats, Ints, snap
from lmmscore.agreement.bootstrap import CountStatistic
from lmmscore.agreement.raterranks import RaterRanks


@dataclass(frozen=True, slots=True)
class Ratings:
    """One factor's ratings. Codes run from 0 without gaps."""

    value: Floats
    edit: Ints
    item: Ints
    rater: Ints

    @property
    def edits(self) -> int:
        """How many edits were rated."""
        return len(np.unique(self.edit))

    @property
    def raters(self) -> int:
        """How many people rated."""
        return len(np.unique(self.rater))


MOST_COINCIDENCES = 2e6
"""Edits times distinct ratings squared up to which α comes from the `krippendorff` package."""


def alpha_interval(ratings: Ratings) -> float:
    """Return Krippendorff's α for interval data over edits; NaN where it is undefined.

    The package tabulates every edit's coincidences of every two ratings. Fine scales make that gigabytes; there the
    same number comes from sums of squares.
    """
    edits = int(ratings.edit.max()) + 1
    if edits * len(np.unique(ratings.value)) ** 2 > MOST_COINCIDENCES:
        items = int(ratings.item.max()) + 1
        return float(alpha_of_counts(ratings, items)(np.ones((1, items)))[0])
    table = np.full((int(ratings.rater.max()) + 1, edits), np.nan)
    table[ratings.rater, ratings.edit] = ratings.value
    return float(krippendorff.alpha(reliability_data=table, level_of_measurement="interval"))


def alpha_of_counts(ratings: Ratings, items: int) -> CountStatistic:
    """Return α as a function of how often each item was drawn, from sums per item."""
    n, total, squares, item = _edit_sums(ratings)
    pairable = n > 1
    within = np.where(pairable, n * (squares - total**2 / n) / np.maximum(n - 1, 1), 0.0)
    columns = [n * pairable, within, total * pairable, squares * pairable]
    sums = np.stack(
        [np.bincount(item, weights=column, minlength=items) for column in columns], axis=1
    )

    def of(counts: Floats) -> Floats:
        size, inside, s, ss = (counts @ sums).T
        return 1 - counted.divide((size - 1) * inside, counted.spread(size, s, ss))

    return of


def icc_of_counts(ratings: Ratings, items: int, *, averaged: bool) -> CountStatistic:
    """Return ICC(1), or ICC(1,k) of the averaged rating, of counts: one-way, every edit with its own raters.

    With unequal numbers of raters k is the usual k₀ = (N − Σn²/N) / (edits − 1).
    """
    n, total, squares, item = _edit_sums(ratings)
    columns = [np.ones_like(n), n, n**2, total**2 / n, total, squares]
    sums = np.stack(
        [np.bincount(item, weights=column, minlength=items) for column in columns], axis=1
    )

    def of(counts: Floats) -> Floats:
        edits, size, size2, between, s, ss = (counts @ sums).T
        mean_between = counted.divide(between - counted.divide(s**2, size), edits - 1)
        mean_within = counted.divide(ss - between, size - edits)
        k = counted.divide(size - counted.divide(size2, size), edits - 1)
        below = mean_between if averaged else mean_between + (k - 1) * mean_within
        return counted.divide(mean_between - mean_within, below)

    return of


def _edit_sums(ratings: Ratings) -> tuple[Floats, Floats, Floats, Ints]:
    """Return for each edit its number of ratings, their sum and sum of squares, and its item.

    Values are centred first; squares of large numbers would cost digits.
    """
    centred = ratings.value - ratings.value.mean()
    _, first, edit = np.unique(ratings.edit, return_index=True, return_inverse=True)
    ones = np.ones_like(centred)
    n, total, squares = (
        np.bincount(edit, weights=column).astype(float) for column in (ones, centred, centred**2)
    )
    return n, total, squares, ratings.item[first]


@dataclass(frozen=True, slots=True)
class Beside:
    """One rater's edits: what they gave, what the others gave on average, what the judge gave."""

    rater: int
    own: Floats
    others: Floats
    judge: Floats
    item: Ints


def beside_others(ratings: Ratings, judge_by_edit: Floats | None) -> list[Beside]:
    """Set each rater beside the mean of the others, on the edits that others rated too (and the judge scored)."""
    n, total = np.bincount(ratings.edit), np.bincount(ratings.edit, weights=ratings.value)
    others = (total[ratings.edit] - ratings.value) / np.maximum(n[ratings.edit] - 1, 1)
    judge = np.zeros_like(others) if judge_by_edit is None else judge_by_edit[ratings.edit]
    usable = (n[ratings.edit] > 1) & ~np.isnan(judge)
    found = []
    for rater in np.unique(ratings.rater):
        mine = usable & (ratings.rater == rater)
        found.append(
            Beside(
                int(rater), ratings.value[mine], snap(others[mine]), judge[mine], ratings.item[mine]
            )
        )
    return found


def rater_spearmans(beside: list[Beside], *, judge: bool) -> Floats:
    """Return Spearman within each rater's edits, of the rater or of the judge, against the others; NaN undefined.

    Never pooled over raters: a lenient rater lowers the mean of the others on exactly the edits they rate high.
    """
    return np.array(
        [correlation.spearman(one.judge if judge else one.own, one.others) for one in beside]
    )


def own_of_counts(beside: list[Beside], items: int) -> CountStatistic:
    """Return the average over raters of Spearman within rater, of counts."""
    each = [one for one in beside if len(one.own) > 1]
    ranks = _ranks(each, [[one.own for one in each]], items)
    return lambda counts: mean_known(ranks.of(counts)[0])


def judge_of_counts(beside: list[Beside], usable: Bools, items: int) -> CountStatistic:
    """Return three averages over raters, of counts: of the judge's Spearman in their place, of that minus the rater's
    own over the usable raters, and of their own."""
    each = [one for one in beside if len(one.own) > 1]
    chosen = usable[[len(one.own) > 1 for one in beside]]
    ranks = _ranks(each, [[one.judge for one in each], [one.own for one in each]], items)

    def of(counts: Floats) -> Floats:
        judge, own = ranks.of(counts)
        return np.stack([mean_known(judge), mean_known((judge - own)[chosen]), mean_known(own)])

    return of


def _ranks(each: list[Beside], sides: list[list[Floats]], items: int) -> RaterRanks:
    return RaterRanks([one.others for one in each], sides, [one.item for one in each], items)


def mean_known(table: Floats) -> Floats:
    """Return the mean over rows, in each column over those that are known; NaN where none is."""
    known = ~np.isnan(table)
    return counted.divide(np.where(known, table, 0).sum(axis=0), known.sum(axis=0).astype(float))
