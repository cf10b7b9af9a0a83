"""The statistics as functions of how often each item was drawn: what the bootstrap evaluates.

Every factory takes the edits (`judge`, `people`) and for each edit the index of its item, and returns a function
from counts of items to values. Values are sorted once, here, and never inside a resample.
"""

from __future__ import annotations

import numpy as np

from lmmscore.agreement.arrays import Floats, Ints, snap
from lmmscore.agreement.bootstrap import CountStatistic

TINY = 1e-12


def collapse(judge: Floats, people: Floats) -> tuple[Floats, Floats, Ints]:
    """Return the distinct pairs and how often each occurs: a contingency table's occupied cells."""
    pairs = snap(judge) + 1j * snap(people)
    cells, multiplicity = np.unique(pairs, return_counts=True)
    return cells.real.copy(), cells.imag.copy(), multiplicity


def spearman(judge: Floats, people: Floats, item: Ints) -> CountStatistic:
    """Return Spearman's ρ of counts: midranks come from the cumulated counts of values sorted once."""
    spread_out = _to_edits(item)
    cells = Cells(judge, people, item) if 64 < len(judge) > int(item.max()) + 1 else None
    if cells is not None and len(cells.judge) * 2 <= len(judge):
        # Items with several edits on a short scale: fewer distinct pairs of scores than edits.
        judge, people, spread_out = cells.judge, cells.people, cells.of
    left, right = _Midranks(snap(judge)), _Midranks(snap(people))

    def of(counts: Floats) -> Floats:
        drawn = spread_out(counts)
        total = drawn.sum(axis=1)
        rank_left, ties_left = left.of(drawn)
        rank_right, ties_right = right.of(drawn)
        # Ranks are centred, so the products below are covariances; midranks always average to (n + 1) / 2.
        cross = np.einsum("ij,ij,ij->i", drawn, rank_left, rank_right)
        spread = (total**3 - ties_left) * (total**3 - ties_right) / 144
        return divide(cross, np.sqrt(np.maximum(spread, 0)))

    return of


class _Midranks:
    """Centred midranks of a column under counts."""

    def __init__(self, values: Floats) -> None:
        _, self.code = np.unique(values, return_inverse=True)
        self.order = np.argsort(self.code, kind="stable")
        self.levels = int(self.code.max()) + 1 if len(values) else 0
        self.distinct = self.levels == len(values)
        self.sorted = _is_identity(self.order)
        self.starts = np.flatnonzero(np.diff(self.code[self.order], prepend=-1))
        # A short scale is summed by one matrix product; a long one by running sums over the sorted column.
        self.table = np.eye(self.levels)[self.code] if self.levels <= 64 else None

    def of(self, drawn: Floats) -> tuple[Floats, Floats]:
        """Return each edit's centred midrank and Σ(tied³), a row a resample."""
        level = self._by_level(drawn)
        # Whole numbers add up six times faster than floats: an addition need not wait for the one before.
        upto = np.cumsum(level.astype(np.int64), axis=1)
        centred = upto - (level + upto[:, -1:]) / 2
        ties = np.einsum("ij,ij,ij->i", level, level, level)
        in_place = self.sorted and self.distinct
        return (centred if in_place else np.take(centred, self.code, axis=1)), ties

    def _by_level(self, drawn: Floats) -> Floats:
        if self.table is not None:
            return drawn @ self.table
        ordered = drawn if self.sorted else np.take(drawn, self.order, axis=1)
        return ordered if self.distinct else np.add.reduceat(ordered, self.starts, axis=1)


def pearson(judge: Floats, people: Floats, item: Ints) -> CountStatistic:
    """Return Pearson's r of counts, from sums per item."""
    left, right = judge - judge.mean(), people - people.mean()
    sums = _item_sums(
        item, np.ones_like(left), left, right, left * left, right * right, left * right
    )

    def of(counts: Floats) -> Floats:
        n, a, b, aa, bb, ab = (counts @ sums).T
        return divide(n * ab - a * b, np.sqrt(spread(n, a, aa) * spread(n, b, bb)))

    return of


def spread(n: Floats, total: Floats, squares: Floats) -> Floats:
    """Return n·Σx² − (Σx)², exactly 0 where the values are all the same but for rounding."""
    found = n * squares - total**2
    return np.where(found > 1e-11 * n * squares, found, 0.0)


def mean_of(values: Floats, item: Ints, items: int) -> CountStatistic:
    """Return the mean of counts over the values that are defined: MAE, bias, and every within-item average."""
    known = ~np.isnan(values)
    sums = _item_sums(item[known], np.ones(int(known.sum())), values[known], items=items)

    def of(counts: Floats) -> Floats:
        n, total = (counts @ sums).T
        return divide(total, n)

    return of


class Cells:
    """The distinct pairs of scores, and from counts of items how often each was drawn."""

    def __init__(self, judge: Floats, people: Floats, item: Ints) -> None:
        pairs = snap(judge) + 1j * snap(people)
        found, self.cell, self.size = np.unique(pairs, return_inverse=True, return_counts=True)
        self.judge, self.people = found.real.copy(), found.imag.copy()
        self._item = item
        self._table = np.zeros((int(item.max()) + 1, len(found)))
        np.add.at(self._table, (item, self.cell), 1)

    def of(self, counts: Floats) -> Floats:
        """Return how often each cell was drawn."""
        return np.asarray(counts[:, : len(self._table)] @ self._table)


def _item_sums(item: Ints, *columns: Floats, items: int | None = None) -> Floats:
    """Return the sums of columns by item, a row an item."""
    size = int(item.max()) + 1 if items is None else items
    return np.stack(
        [np.bincount(item, weights=column, minlength=size) for column in columns], axis=1
    )


def _to_edits(item: Ints) -> CountStatistic:
    """Return a function from counts of items to counts of edits; where each item has one edit they are the same."""
    plain = _is_identity(item)
    return lambda counts: counts if plain and counts.shape[1] == len(item) else counts[:, item]


def _is_identity(item: Ints) -> bool:
    return bool(np.array_equal(item, np.arange(len(item))))


def divide(top: Floats, bottom: Floats) -> Floats:
    """Divide, giving NaN where the bottom vanishes: there the statistic is undefined."""
    safe = bottom > TINY
    return np.asarray(np.divide(top, bottom, out=np.full(len(top), np.nan), where=safe))
