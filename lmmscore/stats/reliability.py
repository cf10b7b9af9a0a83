"""How far raters, or repeats, agree with each other: α, ICC, ceilings and variance components.

Ratings of one factor are parallel arrays: the value, and codes of its edit, its item, its rater.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lmmscore.stats import resampling
from lmmscore.stats.correlation import spearman
from lmmscore.stats.resampling import CountStatistic, Floats, Ints, divide, item_sums, snap


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


def alpha(ratings: Ratings, items: int) -> CountStatistic:
    """Return Krippendorff's α for interval data over edits, of counts of items."""
    n, total, squares, item = _edit_sums(ratings)
    pairable = n > 1
    within = np.where(pairable, n * (squares - total**2 / n) / np.maximum(n - 1, 1), 0.0)
    columns = (n * pairable, within, total * pairable, squares * pairable)
    sums = item_sums(item, *columns, items=items)

    def of(counted: Floats) -> Floats:
        size, inside, s, ss = (counted @ sums).T
        return 1 - divide((size - 1) * inside, resampling.spread(size, s, ss))

    return of


def icc(ratings: Ratings, items: int, *, averaged: bool) -> CountStatistic:
    """Return ICC(1), or ICC(1,k) of the averaged rating, of counts of items.

    One-way: every edit has raters of its own. With unequal numbers of them k is the usual
    k₀ = (N − Σn²/N) / (edits − 1).
    """
    n, total, squares, item = _edit_sums(ratings)
    columns = (np.ones_like(n), n, n**2, total**2 / n, total, squares)
    sums = item_sums(item, *columns, items=items)

    def of(counted: Floats) -> Floats:
        edits, size, size2, between, s, ss = (counted @ sums).T
        mean_between = divide(between - divide(s**2, size), edits - 1)
        mean_within = divide(ss - between, size - edits)
        k = divide(size - divide(size2, size), edits - 1)
        below = mean_between if averaged else mean_between + (k - 1) * mean_within
        return divide(mean_between - mean_within, below)

    return of


def _edit_sums(ratings: Ratings) -> tuple[Floats, Floats, Floats, Ints]:
    """Return for each edit its number of ratings, their sum and sum of squares, and its item.

    Values are centred first; squares of large numbers would cost digits.
    """
    centred = ratings.value - ratings.value.mean()
    _, first, edit = np.unique(ratings.edit, return_index=True, return_inverse=True)
    n = np.bincount(edit).astype(np.float64)
    total = np.bincount(edit, weights=centred).astype(np.float64)
    squares = np.bincount(edit, weights=centred**2).astype(np.float64)
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
    """Set each rater beside the mean of the others, on edits that others rated too.

    With a judge, only edits it scored count.
    """
    n = np.bincount(ratings.edit)
    total = np.bincount(ratings.edit, weights=ratings.value)
    others = (total[ratings.edit] - ratings.value) / np.maximum(n[ratings.edit] - 1, 1)
    judge = np.zeros_like(others) if judge_by_edit is None else judge_by_edit[ratings.edit]
    usable = (n[ratings.edit] > 1) & ~np.isnan(judge)
    found = []
    for rater in np.unique(ratings.rater):
        mine = usable & (ratings.rater == rater)
        rest = snap(others[mine])
        found.append(Beside(int(rater), ratings.value[mine], rest, judge[mine], ratings.item[mine]))

    return found


def rater_spearmans(beside: list[Beside], *, judge: bool) -> Floats:
    """Return Spearman within each rater's edits, of the rater or the judge, against the others.

    Never pooled over raters: a lenient rater lowers the mean of the others on exactly the edits
    they rate high. NaN where undefined.
    """
    return np.array([spearman(one.judge if judge else one.own, one.others) for one in beside])


def rater_ranks(beside: list[Beside], items: int, *, judge: bool) -> resampling.GroupRanks:
    """Return Spearman within rater of counts: of their own ratings, and of the judge's scores."""
    each = [one for one in beside if len(one.own) > 1]
    sides = [[one.own for one in each]]

    # The judge as a second side: ranked on the same edits, against the same others.
    if judge:
        sides.append([one.judge for one in each])

    return resampling.GroupRanks(
        [one.others for one in each], sides, [one.item for one in each], items
    )


def ceiling_of(reliability: float) -> float:
    """Return the highest correlation with a mean of this reliability: its square root."""
    return math.sqrt(reliability) if reliability > 0 else float("nan")


def within_between(value: Floats, group: Ints) -> tuple[float, float, float] | None:
    """Return the variances within and between groups and the typical group size.

    One-way random effects from the analysis of variance, also for groups of unequal size. A
    negative estimate of the variance between groups means that none can be seen, and is given
    as 0. None where nothing repeats.
    """
    _, group = np.unique(group, return_inverse=True)
    sizes = np.bincount(group)
    n, groups = len(value), len(sizes)
    if groups < 2 or n == groups:
        return None

    means = np.bincount(group, weights=value) / sizes
    within = float(((value - means[group]) ** 2).sum()) / (n - groups)
    outer = float((sizes * (means - value.mean()) ** 2).sum()) / (groups - 1)
    typical = float(n - (sizes**2).sum() / n) / (groups - 1)
    within = 0.0 if within < 1e-18 else within
    return within, max(0.0, (outer - within) / typical), typical


@dataclass(frozen=True, slots=True)
class Components:
    """Where the variance of scores comes from, in a design of items by methods.

    `residual` is the variance of one more judgement of the same edit (a repeat, or a rating), None
    where every edit was judged once; it is then part of `interaction`.
    """

    item: float
    method: float
    interaction: float
    residual: float | None
    items: int
    methods: int
    replicates: float

    def error_of_difference(self, *, items: int = 0, replicates: int = 0) -> float:
        """Return the standard error of the difference of two methods' means,
        with more of either."""
        n = self.items + items
        per_item = self.interaction
        if self.residual is not None:
            per_item += self.residual / (self.replicates + replicates)
        return math.sqrt(2 * per_item / n)


def components(
    values: Floats, residual: float | None = None, replicates: float | Floats = 1.0
) -> Components | None:
    """Return the variance components of an item × method table of means.

    `residual` is the variance within cells, `replicates` the number of judgements behind each mean.
    Only items with all methods count. None with fewer than two items or methods.
    """
    whole = np.isfinite(values).all(axis=1)
    complete = values[whole]
    items, methods = complete.shape
    if items < 2 or methods < 2:
        return None

    behind = _harmonic_mean(np.broadcast_to(replicates, values.shape)[whole])

    grand = complete.mean()
    by_item = complete.mean(axis=1) - grand
    by_method = complete.mean(axis=0) - grand
    left = complete - grand - by_item[:, None] - by_method[None, :]
    noise = float((left**2).sum()) / ((items - 1) * (methods - 1))
    item = methods * float((by_item**2).sum()) / (items - 1)
    method = items * float((by_method**2).sum()) / (methods - 1)
    repeated = 0.0 if residual is None else residual / behind
    return Components(
        item=max(0.0, (item - noise) / methods),
        method=max(0.0, (method - noise) / items),
        interaction=max(0.0, noise - repeated),
        residual=residual,
        items=items,
        methods=methods,
        replicates=behind,
    )


def _harmonic_mean(counts: Floats) -> float:
    """Return the mean by which a variance is divided: the noise of unequal means is that of 1/n."""
    sizes, cells = np.unique(counts, return_counts=True)
    return float(cells.sum() / (cells / sizes).sum())


def rater_variance(ratings: Ratings) -> tuple[float, float] | None:
    """Return the variances of raters' levels and of the residual;
    None unless all rated all edits."""
    edits, raters = ratings.edits, ratings.raters
    if len(ratings.value) != edits * raters or edits < 2 or raters < 2:
        return None

    table = np.full((edits, raters), np.nan)
    table[ratings.edit, ratings.rater] = ratings.value
    if np.isnan(table).any():
        return None

    found = components(table)
    return None if found is None else (found.method, found.interaction)


def mean_reliability(values: Floats) -> float:
    """Return how reliable methods' means over items are: the share of their variance not noise.

    Rows are items, columns methods. Noise is what of the item × method interaction is left in the
    means; effects that all methods of an item share do not move a ranking. NaN where undefined.
    """
    found = components(values)
    if found is None:
        return float("nan")
    total = found.method + found.interaction / found.items
    return found.method / total if total > 0 else float("nan")
