"""Correlations of a judge with people, pairwise accuracies, and the reliability of raters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmmscore.stats import (
    SAME,
    Bools,
    CountStatistic,
    Floats,
    GroupRanks,
    Ints,
    ItemGroups,
    coins,
    divide,
    item_sums,
    snap,
    spread,
    sum_table,
)

# --------------------------------------------------------------------------------------------------
# Pairs of edits: pairwise accuracy with ties, its tie-calibrated form, and soft accuracy.
#
# A pair of edits is judged correctly when the judge orders it as people do, a tie counting as an
# order of its own. Calibrated, the judge is credited with a tie wherever its two scores differ by
# no more than a threshold, chosen so that accuracy is greatest (Deutsch, Foster and Freitag,
# 2023); without it a judge with a fine scale, which hardly ever ties, is punished for that alone.
# --------------------------------------------------------------------------------------------------

MOST_CELLS = 5_000
"""Distinct pairs of scores above which comparing every two of them would not fit in memory."""

_SHORT_CELLS, _SHORT_WORK = 4e6, 2e10
"""Size of a table of scores by scores, and multiplications, up to which such a table is used."""


def _score_tables(judge: Floats, people: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the judge's scores and, for every two of them,
    the pairs people tie and the pairs they order alike."""
    levels, left = np.unique(snap(judge), return_inverse=True)
    scores, right = np.unique(snap(people), return_inverse=True)
    table = np.zeros((len(levels), len(scores)))
    np.add.at(table, (left, right), 1)
    return levels, table @ table.T, table @ (np.cumsum(table, axis=1) - table).T


def short_scales(judge: Floats, people: Floats) -> bool:
    """Return whether a table of the judge's by people's scores is small enough to work with."""
    left, right = (len(np.unique(snap(side))) for side in (judge, people))
    return left * right <= _SHORT_CELLS and left**2 * right <= _SHORT_WORK


def _cells(judge: Floats, people: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct pairs of scores and how many edits have each."""
    found, size = np.unique(snap(judge) + 1j * snap(people), return_counts=True)
    return found.real.copy(), found.imag.copy(), size.astype(float)


def calibrate(judge: Floats, people: Floats) -> float | None:
    """Return the threshold that makes accuracy over all pairs greatest, the smallest of equals.

    None where scores are so many and so fine that not all thresholds can be tried.
    """
    if short_scales(judge, people):
        levels, tied, ordered = _score_tables(judge, people)
        first, second = np.tril_indices(len(levels), -1)
        return best_threshold(levels[first] - levels[second], (tied - ordered)[first, second])

    x, y, size = _cells(judge, people)
    if len(x) > MOST_CELLS:
        return None

    first, second = np.triu_indices(len(x), 1)
    by_judge, by_people = x[first] - x[second], y[first] - y[second]
    gain = (by_people == 0).astype(float) - _alike(by_judge, by_people, 0.0)
    return best_threshold(np.abs(by_judge), gain * size[first] * size[second])


def best_threshold(gaps: Floats, gains: Floats) -> float:
    """Return the gap up to which the gains of calling pairs ties add up to the most;
    0 where none adds anything."""
    if not len(gaps):
        return 0.0

    order = np.argsort(gaps, kind="stable")
    gaps, running = gaps[order], np.cumsum(gains[order])
    # Only after the last of equal gaps is a sum complete: a threshold takes in all of them.
    last = np.append(np.diff(gaps) > SAME, True)
    complete = np.where(last, running, -np.inf)
    best = int(np.argmax(complete >= complete.max() - SAME))
    return float(gaps[best]) if running[best] > SAME else 0.0


def _alike(by_judge: Floats, by_people: Floats, threshold: float) -> Bools:
    tied = np.abs(by_judge) <= threshold + SAME
    return np.asarray(np.where(tied, 0, np.sign(by_judge)) == np.sign(by_people))


PAIR_STATISTICS = (
    "kendall_b",
    "pairwise_accuracy",
    "pairwise_accuracy_calibrated",
    "pairwise_accuracy_ordered",
)
"""What `pair_statistics` returns, in this order."""

_GRID_CELLS = 1_000_000
"""Pairs of a judge's and people's scores up to which a table of them is made."""

_MOST_PAIRS = 4e8
"""Pairs of edits up to which every two of them are compared, where no table of scores is made."""

_GRID_BLOCK = 1 << 18

_Sums = Callable[[Floats], tuple[Floats, Floats, Floats]]
"""From counts to Σ signs, and the pairs judged right without and with a threshold."""


@dataclass(frozen=True)
class ScoredPairs:
    """Edits as places among the sorted distinct scores of judge and people.

    `group` says which edits leave together; sums over pairs need no finer division than that.
    """

    judge: Ints
    people: Ints
    group: Ints
    groups: int
    levels: Floats
    """The judge's distinct scores."""
    threshold: float

    @property
    def scores(self) -> tuple[int, int]:
        """How many distinct scores the judge and people gave."""
        return len(self.levels), int(self.people.max()) + 1

    def below(self, threshold: float) -> Ints:
        """Return for each of the judge's scores how many are lower by more than the threshold."""
        return np.searchsorted(self.levels, self.levels - threshold - SAME, side="left")


def scored_pairs(
    judge: Floats, people: Floats, group: Ints, groups: int, threshold: float
) -> ScoredPairs:
    """Return the edits by the places of their scores."""
    levels, left = np.unique(snap(judge), return_inverse=True)
    right = np.unique(snap(people), return_inverse=True)[1]
    return ScoredPairs(left, right, group, groups, levels, threshold)


def too_many(edits: ScoredPairs) -> bool:
    """Return whether neither a table of scores nor all pairs of edits can be afforded."""
    return not _grid_fits(edits) and len(edits.group) ** 2 > _MOST_PAIRS


def _grid_fits(edits: ScoredPairs) -> bool:
    return edits.scores[0] * edits.scores[1] <= _GRID_CELLS


def pair_statistics(edits: ScoredPairs) -> CountStatistic:
    """Return the statistics named above, one row each, of counts of groups."""
    cells = edits.scores[0] * edits.scores[1]
    few = len(edits.group) ** 2 * 20 < cells * edits.groups
    sums = by_groups(edits) if few or not _grid_fits(edits) else by_grid(edits)
    size = np.bincount(edits.group, minlength=edits.groups).astype(float)
    judge_ties = _tied(edits.judge, edits)
    people_ties = _tied(edits.people, edits)
    both = edits.judge * edits.scores[1] + edits.people
    shared_ties = _tied(np.unique(both, return_inverse=True)[1], edits)

    def of(counts: Floats) -> Floats:
        signs, plain, calibrated = sums(counts)
        n = counts @ size
        # Each edit makes a pair with itself in these sums, which nobody judged.
        pairs = n**2 - n
        alike = plain - shared_ties(counts)
        untied = (n**2 - judge_ties(counts)) * (n**2 - people_ties(counts))
        return np.stack(
            [
                divide(signs, np.sqrt(untied)),
                divide(plain - n, pairs),
                divide(calibrated - n, pairs),
                divide(alike, 2 * alike - signs),
            ]
        )

    return of


def of_pairs(judge: Floats, people: Floats, threshold: float) -> dict[str, float]:
    """Return the same of two columns, by name; NaN where undefined."""
    if not len(judge):
        return dict.fromkeys(PAIR_STATISTICS, float("nan"))

    edits = scored_pairs(judge, people, np.zeros(len(judge), dtype=np.int64), 1, threshold)
    values = pair_statistics(edits)(np.ones((1, 1)))[:, 0]
    return dict(zip(PAIR_STATISTICS, values.tolist(), strict=True))


def _tied(codes: Ints, edits: ScoredPairs) -> CountStatistic:
    """Return how many ordered pairs, each edit with itself included, one side ties, of counts."""
    table = sum_table(codes, edits.group, (int(codes.max()) + 1, edits.groups))

    def of(counts: Floats) -> Floats:
        level = table @ np.ascontiguousarray(counts.T)
        return np.asarray(np.einsum("ij,ij->j", level, level))

    return of


def by_groups(edits: ScoredPairs) -> _Sums:
    """Return the sums from tables of groups by groups."""
    tables = _group_tables(edits)
    wide = np.hstack(tables)

    def of(counts: Floats) -> tuple[Floats, Floats, Floats]:
        product = (counts @ wide).reshape(len(counts), len(tables), -1)
        sums = np.einsum("itj,ij->ti", product, counts)
        return 2 * sums[0], sums[1], sums[-1]

    return of


def _group_tables(edits: ScoredPairs) -> list[Floats]:
    """Return what each group's edits add against each other group's.

    That is half the signs, and the pairs judged right; then the same with the threshold, left away
    where that is 0. Over both directions a pair is right where the judge's higher is people's
    higher (counted twice), or where people tie it, unless the judge does not.
    """
    x, y = edits.judge, edits.people
    limits = [edits.below(limit) for limit in dict.fromkeys((0.0, edits.threshold))]
    tables = [np.zeros((edits.groups, edits.groups)) for _ in range(1 + len(limits))]
    for group, judge, people in zip(edits.group, x, y, strict=True):
        tied = (y == people).astype(float)
        higher = (y < people).astype(float)
        above = limits[0][judge] > x
        credit = 2 * (higher - tied)
        right = [tied + (limit[judge] > x) * credit for limit in limits]
        adding = [above * (2 * higher + tied - 1), *right]
        for table, values in zip(tables, adding, strict=True):
            table[group] += np.bincount(edits.group, weights=values, minlength=edits.groups)

    return tables


def by_grid(edits: ScoredPairs) -> _Sums:
    """Return the sums from a table of the judge's by people's scores, by cumulated counts."""
    left, right = edits.scores
    cell = edits.judge * right + edits.people
    table = sum_table(cell, edits.group, (left * right, edits.groups))
    limits = [edits.below(limit) for limit in (0.0, edits.threshold)]
    width = max(1, _GRID_BLOCK // (left * right))

    def of(counts: Floats) -> tuple[Floats, Floats, Floats]:
        parts = []
        for start in range(0, len(counts), width):
            some = np.ascontiguousarray(counts[start : start + width].T)
            parts.append(_grid_sums(np.asarray(table @ some).reshape(left, right, -1), limits))

        signs, plain, calibrated = np.concatenate(parts, axis=1)
        return signs, plain, calibrated

    return of


def _grid_sums(grid: Floats, limits: list[Ints]) -> Floats:
    """Return the three sums of grids of counts: judge's scores by people's scores by rows."""
    # Row k: of the judge's k lowest scores, how many edits people put at this score, or below it.
    same = np.zeros((grid.shape[0] + 1, *grid.shape[1:]))
    np.cumsum(grid, axis=0, out=same[1:])
    below = np.cumsum(same, axis=1) - same
    every = same.sum(axis=1, keepdims=True)
    tied = (same[-1] ** 2).sum(axis=0)
    signs = _weigh(grid, (2 * below + same - every)[limits[0]])
    right = [tied + 2 * _weigh(grid, (below - same)[limit]) for limit in limits]
    return np.stack([2 * signs, *right])


def _weigh(grid: Floats, weights: Floats) -> Floats:
    return np.asarray(np.einsum("lrb,lrb->b", grid, weights))


def tie_shares(judge: Floats, people: Floats) -> tuple[float, float]:
    """Return the share of pairs of edits that the judge ties, and that people tie."""
    n = len(judge)
    if n < 2:
        return float("nan"), float("nan")

    found = []
    for side in (judge, people):
        size = np.unique(snap(side), return_counts=True)[1].astype(float)
        found.append(float((size * (size - 1)).sum() / (n * (n - 1))))

    return found[0], found[1]


ENUMERATED_ITEMS = 13
"""Up to this many items all sign flips are enumerated, and soft accuracy is exact."""

_FLIPS_AT_ONCE = 128
_MOST_FLIPS = 10_000

Flips = NDArray[np.int8]


def sign_flips(items: int, rng: np.random.Generator) -> Flips:
    """Return rows of ±1, one entry per item: all of them for few items, else a random sample."""
    if items <= ENUMERATED_ITEMS:
        return np.array(list(itertools.product([1, -1], repeat=items)), dtype=np.int8)
    rows = max(1_000, min(_MOST_FLIPS, 4_000_000 // items))
    return 1 - 2 * coins(rows, items, rng).astype(np.int8)


def soft_pairwise_accuracy(judge: Floats, people: Floats, flips: Flips) -> float:
    """Return soft pairwise accuracy (Thompson et al., 2024); rows are items, columns methods.

    For each two methods, both sides give a p-value that the first is better, by sign flips over
    items; agreement is 1 − |difference of the two|. An item takes part in a pair of methods where
    both have a score from both sides. A pair with fewer than two such items is left out: one says
    nothing about how certain a side is. NaN where none is left.
    """
    first, second = np.triu_indices(judge.shape[1], 1)
    by_judge = judge[:, first] - judge[:, second]
    by_people = people[:, first] - people[:, second]
    usable = ~(np.isnan(by_judge) | np.isnan(by_people))
    shared = usable.sum(axis=0) > 1
    if not shared.any():
        return float("nan")

    p_judge = _mid_p(np.where(usable, by_judge, 0.0)[:, shared], flips)
    p_people = _mid_p(np.where(usable, by_people, 0.0)[:, shared], flips)
    return float(np.mean(1 - np.abs(p_judge - p_people)))


def _mid_p(differences: Floats, flips: Flips) -> Floats:
    """Return for each pair the share of flips whose sum exceeds the observed one, ties by half.

    With halves, the p-values of a pair and of its reverse add up to 1: which method is called the
    first cannot matter, however many items are tied.
    """
    observed = differences.sum(axis=0)
    above = np.zeros(differences.shape[1])
    for start in range(0, len(flips), _FLIPS_AT_ONCE):
        sums = flips[start : start + _FLIPS_AT_ONCE].astype(float) @ differences
        gaps = sums - observed
        above += (gaps > SAME).sum(axis=0) + (np.abs(gaps) <= SAME).sum(axis=0) / 2

    return above / len(flips)


# --------------------------------------------------------------------------------------------------
# Correlations of two columns, of many rows at once, and across methods' means.
# --------------------------------------------------------------------------------------------------

_AT_ONCE = 1 << 20
"""Pairs of methods handled at a time, which bounds memory."""


def pearson(judge: Floats, people: Floats) -> float:
    """Return the product-moment correlation, NaN where a side is constant."""
    if reason_undefined(judge, people):
        return float("nan")
    left, right = judge - judge.mean(), people - people.mean()
    return float(left @ right / np.sqrt((left @ left) * (right @ right)))


def spearman(judge: Floats, people: Floats) -> float:
    """Return the correlation of midranks, NaN where a side is constant."""
    return pearson(midranks(judge), midranks(people))


def midranks(values: Floats) -> Floats:
    """Return ranks from 1, equal values sharing the mean of theirs."""
    if not len(values):
        return np.zeros(0)
    _, code, size = np.unique(snap(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(size) - (size - 1) / 2)[code])


def kendall_b(judge: Floats, people: Floats) -> float:
    """Return Kendall's τ-b, NaN where a side is constant."""
    if reason_undefined(judge, people):
        return float("nan")

    if not short_scales(judge, people):
        from scipy import stats  # about a second to import, so only where it is needed

        return float(stats.kendalltau(snap(judge), snap(people), variant="b").statistic)

    return of_pairs(judge, people, 0.0)["kendall_b"]


def mae(judge: Floats, people: Floats) -> float:
    """Return the mean absolute error, NaN for no pairs."""
    return float(np.mean(np.abs(judge - people))) if len(judge) else float("nan")


def bias(judge: Floats, people: Floats) -> float:
    """Return judge minus people on average, NaN for no pairs: a kind judge is above 0."""
    return float(np.mean(judge - people)) if len(judge) else float("nan")


def reason_undefined(judge: Floats, people: Floats, *, of: str = "edit") -> str:
    """Return why a correlation of these two is undefined, or nothing where it is defined."""
    if len(judge) < 2:
        there = f"one {of}" if len(judge) else f"no {of}"
        return f"there is {there} to compare, and a correlation needs two"

    for who, values in (("the judge", judge), ("people", people)):
        if values.max() - values.min() <= SAME:
            return f"{who} gave every {of} {values[0]:g}"

    return ""


def fisher_mean(values: Floats) -> float:
    """Return tanh of the mean of Fisher's z; NaN where a correlation is ±1,
    for its z is infinite."""
    if not len(values) or np.abs(values).max() >= 1 - SAME:
        return float("nan")
    return float(np.tanh(np.arctanh(values).mean()))


@dataclass(frozen=True, slots=True)
class Williams:
    """Williams' t for two correlations that share a variable, two-sided."""

    t: float
    df: int
    p: float


def williams(first: float, second: float, between: float, n: int) -> Williams | None:
    """Return Williams' test of r(A, people) = r(B, people) given r(A, B); None where undefined.

    It supposes n independent edits; where an item has several, trust the permutation test.
    """
    if n <= 3:
        return None

    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    mean = (first + second) / 2
    below = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - between) ** 3
    if below <= 1e-12:
        return None

    from scipy.special import stdtr

    t = (first - second) * np.sqrt((n - 1) * (1 + between) / below)
    return Williams(float(t), n - 3, float(2 * stdtr(n - 3, -abs(t))))


def pearson_rows(x: Floats, y: Floats) -> Floats:
    """Return Pearson's r of each row; a missing entry must be missing in both."""
    size = np.maximum((~np.isnan(x)).sum(axis=1, keepdims=True), 1)
    left = x - np.nansum(x, axis=1, keepdims=True) / size
    right = y - np.nansum(y, axis=1, keepdims=True) / size
    spread = np.nansum(left**2, axis=1) * np.nansum(right**2, axis=1)
    return divide(np.nansum(left * right, axis=1), np.sqrt(spread))


def midrank_rows(x: Floats) -> Floats:
    """Return each entry's centred midrank in its row: half of those below less those above it."""
    total = np.zeros_like(x)
    for column in range(x.shape[1]):
        total += np.nan_to_num(np.sign(x - x[:, column : column + 1]))
    return np.where(np.isnan(x), np.nan, total / 2)


def spearman_rows(x: Floats, y: Floats) -> Floats:
    """Return Spearman's ρ of each row, near-equal entries being tied; NaN where undefined."""
    both = np.isnan(x) | np.isnan(y)
    left = np.where(both, np.nan, np.round(x / SAME) * SAME)
    right = np.where(both, np.nan, np.round(y / SAME) * SAME)
    return pearson_rows(midrank_rows(left), midrank_rows(right))


class Within:
    """A judge's and people's scores of every item's methods: a row per item, NaN without an edit.

    Results are one number per item, NaN where the statistic is undefined in it.
    """

    def __init__(self, judge: Floats, people: Floats) -> None:
        self.there = ~(np.isnan(judge) | np.isnan(people))
        self.judge = _snapped(judge, self.there)
        self.people = _snapped(people, self.there)
        self.size = self.there.sum(axis=1)
        self.pairs = self.size * (self.size - 1) / 2
        self.lone = self.size < 2
        self.judge_constant = ~self.lone & _constant(self.judge)
        self.people_constant = ~self.lone & _constant(self.people)

    def correlations(self) -> dict[str, Floats]:
        """Return Spearman, Pearson and τ-b of each item."""
        undefined = self.lone | self.judge_constant | self.people_constant
        found = {
            "spearman": pearson_rows(midrank_rows(self.judge), midrank_rows(self.people)),
            "pearson": pearson_rows(self.judge, self.people),
            "kendall_b": self._kendall(),
        }
        return {name: np.where(undefined, np.nan, values) for name, values in found.items()}

    def _kendall(self) -> Floats:
        found = [np.zeros(0)]
        for _, gaps, order in self._gaps():
            left = np.sign(gaps)
            below = np.sqrt(np.nansum(left**2, axis=1) * np.nansum(order**2, axis=1))
            found.append(divide(np.nansum(left * order, axis=1), below))
        return np.concatenate(found)

    def accuracy(self, threshold: float) -> Floats:
        """Return the share of pairs ordered alike, with the judge tied up to the threshold."""
        found = [np.zeros(0)]
        for rows, gaps, order in self._gaps():
            # NaN equals nothing, so a pair with a missing edit is never right.
            called = np.where(np.abs(gaps) <= threshold + SAME, 0, np.sign(gaps))
            found.append(divide((called == order).sum(axis=1), self.pairs[rows]))
        return np.concatenate(found)

    def ordered_accuracy(self) -> tuple[Floats, Floats]:
        """Return for each item its pairs that both sides order, and those ordered alike."""
        both, right = [np.zeros(0)], [np.zeros(0)]
        for _, gaps, order in self._gaps():
            signs = np.nan_to_num(np.sign(gaps)) * np.nan_to_num(order)
            both.append((signs != 0).sum(axis=1).astype(float))
            right.append((signs > 0).sum(axis=1).astype(float))
        return np.concatenate(both), np.concatenate(right)

    def ties(self) -> tuple[float, float]:
        """Return the share of pairs that the judge ties, and that people tie."""
        judge = people = 0
        for _, gaps, order in self._gaps():
            judge += int((gaps == 0).sum())
            people += int((order == 0).sum())
        total = max(float(self.pairs.sum()), 1.0)
        return judge / total, people / total

    def gains(self) -> tuple[Floats, Floats]:
        """Return each pair's gap by the judge, and what calling it a tie adds to its item."""
        sizes, gains = [np.zeros(0)], [np.zeros(0)]
        for rows, gaps, order in self._gaps():
            gain = (order == 0).astype(float) - (np.sign(gaps) == order)
            counts = gain != 0
            sizes.append(np.abs(gaps[counts]))
            gains.append((gain / np.maximum(self.pairs[rows], 1)[:, None])[counts])

        return np.concatenate(sizes), np.concatenate(gains)

    def _gaps(self) -> Iterator[tuple[slice, Floats, Floats]]:
        """Yield some items, the judge's gap of every two methods, and people's order of the two."""
        first, second = np.triu_indices(self.judge.shape[1], 1)
        rows = max(1, _AT_ONCE // max(1, len(first)))
        for start in range(0, len(self.size), rows):
            some = slice(start, start + rows)
            judge, people = self.judge[some], self.people[some]
            gaps = judge[:, first] - judge[:, second]
            yield some, gaps, np.sign(people[:, first] - people[:, second])


def _snapped(values: Floats, there: Bools) -> Floats:
    found = np.full(values.shape, np.nan)
    found[there] = snap(values[there])
    return found


def _constant(values: Floats) -> Bools:
    low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
    return np.asarray(high - low <= SAME)


# --------------------------------------------------------------------------------------------------
# How far raters, or repeats, agree with each other: α, ICC, ceilings and variance components.
#
# Ratings of one factor are parallel arrays: the value, and codes of its edit, its item, its rater.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ratings:
    """One factor's ratings. Codes run from 0, without gaps unless some ratings were chosen."""

    value: Floats
    edit: Ints
    item: Ints
    rater: Ints

    def chosen(self, kept: Bools) -> Ratings:
        """Return some of the ratings, by their places; edits, items and raters keep their codes."""
        return Ratings(self.value[kept], self.edit[kept], self.item[kept], self.rater[kept])

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
        return 1 - divide((size - 1) * inside, spread(size, s, ss))

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


def items_of(beside: list[Beside]) -> Ints:
    """Return the items of some raters' edits, each as often as it occurs."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *(one.item for one in beside)])


def rater_spearmans(beside: list[Beside], *, judge: bool) -> Floats:
    """Return Spearman within each rater's edits, of the rater or the judge, against the others.

    Never pooled over raters: a lenient rater lowers the mean of the others on exactly the edits
    they rate high. NaN where undefined.
    """
    return np.array([spearman(one.judge if judge else one.own, one.others) for one in beside])


def rater_ranks(beside: list[Beside], groups: ItemGroups, *, judge: bool) -> GroupRanks:
    """Return Spearman within rater, of counts of groups of items: of their own ratings and, with
    `judge`, of the judge's scores."""
    each = [one for one in beside if len(one.own) > 1]
    sides = [[one.own for one in each]]

    # The judge as a second side: ranked on the same edits, against the same others.
    if judge:
        sides.append([one.judge for one in each])

    item = [groups.of_item[one.item] for one in each]
    return GroupRanks([one.others for one in each], sides, item, groups.number)


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
