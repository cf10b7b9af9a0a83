"""Statistics as functions of how often each item counts: what the jackknife evaluates.

Every factory takes edits (`judge`, `people`) and the index of each edit's item, and returns a
function from counts of items to values. Values are sorted once, here, and never inside a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmmscore.stats.arrays import TINY, Floats, Ints, divide, item_sums, mean_known, snap, sum_table
from lmmscore.stats.correlation import across
from lmmscore.stats.jackknife import CountStatistic

_BLOCK_EDITS = 4_096
"""Edits of several groups that are handled together."""

_AT_ONCE = 1 << 16
"""Edits times rows handled at once: half a megabyte, which a cache holds."""


def spearman(judge: Floats, people: Floats, item: Ints, items: int) -> CountStatistic:
    """Return Spearman's ρ of counts."""
    ranks = GroupRanks([people], [[judge]], [item], items)
    return lambda counts: ranks.of(counts)[0, 0]


def pearson(judge: Floats, people: Floats, item: Ints, items: int) -> CountStatistic:
    """Return Pearson's r of counts, from sums per item."""
    left, right = judge - judge.mean(), people - people.mean()
    columns = (np.ones_like(left), left, right, left * left, right * right, left * right)
    sums = item_sums(item, *columns, items=items)

    def of(counts: Floats) -> Floats:
        n, a, b, aa, bb, ab = (counts @ sums).T
        return divide(n * ab - a * b, np.sqrt(spread(n, a, aa) * spread(n, b, bb)))

    return of


def spread(n: Floats, total: Floats, squares: Floats) -> Floats:
    """Return n·Σx² − (Σx)², exactly 0 where the values are all the same but for rounding."""
    found = n * squares - total**2
    return np.where(found > 1e-11 * n * squares, found, 0.0)


def mean_of(values: Floats, item: Ints, items: int) -> CountStatistic:
    """Return the mean of counts over the values that are defined."""
    known = ~np.isnan(values)
    ones = np.ones(int(known.sum()))
    sums = item_sums(item[known], ones, values[known], items=items)

    def of(counts: Floats) -> Floats:
        n, total = (counts @ sums).T
        return divide(total, n)

    return of


def ratio_of(top: Floats, bottom: Floats) -> CountStatistic:
    """Return the ratio of two sums over items, of counts."""
    table = np.stack([top, bottom], axis=1)

    def of(counts: Floats) -> Floats:
        above, below = (counts @ table).T
        return divide(above, below)

    return of


def across_means(judge: Floats, people: Floats) -> CountStatistic:
    """Return the statistics of `across` over methods' means, of counts: one row each."""
    there = (~np.isnan(judge)).astype(float)
    table = np.hstack([there, np.where(there > 0, judge, 0), np.where(there > 0, people, 0)])

    def of(counts: Floats) -> Floats:
        n, x, y = np.split(counts @ table, 3, axis=1)
        # A row that misses a method altogether cannot rank it: NaN spreads to the statistics.
        with np.errstate(invalid="ignore", divide="ignore"):
            return across(x / n, y / n)

    return of


def group_means(ranks: GroupRanks) -> CountStatistic:
    """Return for each side of the ranks the average over groups of Spearman, of counts."""

    def of(counts: Floats) -> Floats:
        return np.stack([mean_known(side) for side in ranks.of(counts)])

    return of


class GroupRanks:
    """Spearman inside each of many groups (raters, methods), for many rows of counts at once.

    Here a column is a row of counts: each step runs along contiguous memory, and small groups
    share numpy's calls.
    """

    def __init__(
        self,
        people: Sequence[Floats],
        sides: Sequence[Sequence[Floats]],
        item: Sequence[Ints],
        items: int,
    ) -> None:
        """Take for each group its edits: people's values, the sides' scores and the items."""
        self.sides = len(sides)
        self.blocks = []
        for places in _blocks([len(one) for one in item], _BLOCK_EDITS):
            own = [[side[place] for place in places] for side in sides]
            block = _Block(
                [people[place] for place in places], own, [item[place] for place in places], items
            )
            self.blocks.append(block)

    def of(self, counts: Floats) -> Floats:
        """Return Spearman's ρ, of shape (sides, groups, rows), NaN where undefined."""
        if not self.blocks:
            return np.zeros((self.sides, 0, len(counts)))
        return np.concatenate([_in_slices(block, counts) for block in self.blocks], axis=1)


def _in_slices(block: _Block, counts: Floats) -> Floats:
    step = max(8, _AT_ONCE // max(len(block.item), 1))
    slices = [counts[start : start + step] for start in range(0, len(counts), step)]
    return np.concatenate([block.of(np.ascontiguousarray(some.T)) for some in slices], axis=2)


def _blocks(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Return groups in runs that together have no more than so many edits, or one group."""
    found: list[list[int]] = []
    held = most + 1
    for place, size in enumerate(sizes):
        if held + size > most:
            found.append([])
            held = 0
        found[-1].append(place)
        held += size
    return found


class _Block:
    """Some groups. Each has a column of people's values and one per side; all are ranked at
    once."""

    def __init__(
        self,
        people: Sequence[Floats],
        sides: Sequence[Sequence[Floats]],
        item: Sequence[Ints],
        items: int,
    ) -> None:
        groups, sizes = len(item), [len(one) for one in item]
        self.item = np.concatenate(item)
        edits = np.arange(len(self.item))
        self.by_group = sum_table(np.repeat(np.arange(groups), sizes), edits, (groups, len(edits)))

        columns = list(people)
        for side in sides:
            columns += side
        column = np.repeat(np.arange(len(columns)), sizes * (1 + len(sides)))
        values = np.concatenate([snap(one) for one in columns])
        # Sorted once; the levels of all columns lie one after the other.
        levels, code = np.unique(column + 1j * values, return_inverse=True)
        self.code = code.reshape(1 + len(sides), len(edits))
        owner = levels.real.astype(np.int64)
        self.first = np.flatnonzero(np.diff(owner, prepend=-1))
        self.last = np.append(self.first[1:], len(levels)) - 1
        self.table = sum_table(code, np.tile(self.item, len(self.code)), (len(levels), items))
        self.by_column = sum_table(owner, np.arange(len(levels)), (len(columns), len(levels)))

    def of(self, columns: Floats) -> Floats:
        """Return ρ by side, group and row, from counts with one column per row."""
        ranks, n, middle, untied = self._ranks(columns)
        weighted = np.take(ranks, self.code[0], axis=0)
        weighted *= np.take(columns, self.item, axis=0)

        products = []
        for code in self.code[1:]:
            side = np.take(ranks, code, axis=0)
            side *= weighted
            products.append(self.by_group @ side)
        # Ranks are whole numbers, so taking their means off afterwards loses nothing.
        cross = np.stack(products) - n * middle[0] * middle[1:]
        below = 4 * np.sqrt(np.maximum(untied[0] * untied[1:] / 144, 0))
        out = np.full_like(cross, np.nan)
        return np.asarray(np.divide(cross, below, out=out, where=below > TINY))

    def _ranks(self, columns: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return twice each level's midrank, counted on through the columns; and for each column
        how many edits count, twice their mean midrank, and n³ − Σ(tied³)."""
        level = self.table @ columns
        upto = np.cumsum(level, axis=0)
        through = upto[self.last]
        before = upto[self.first] - level[self.first]
        # Products, for numpy's ** 3 is a general power and many times slower.
        cubes = level * level
        cubes *= level
        n = through - before
        untied = n * n * n - self.by_column @ cubes
        upto += upto
        upto -= level
        shape = (len(self.code), -1, columns.shape[1])
        return (
            upto,
            n.reshape(shape)[0],
            (before + through).reshape(shape),
            untied.reshape(shape),
        )
