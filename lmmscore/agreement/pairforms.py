"""All pairs of edits in every resample: Kendall's τ-b and pairwise accuracy, plain and tie-calibrated, of counts.

What pairs of edits add up to is a quadratic form in the counts of their items, so a table of items by items serves,
however many edits they have. On a short scale a table of the judge's by people's scores is the smaller one. Both
are exact: an edit drawn twice makes no pair with its own copy, for nobody compared those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmmscore.agreement.arrays import SAME, Floats, Ints, adding, snap
from lmmscore.agreement.bootstrap import CountStatistic
from lmmscore.agreement.counted import divide

PAIR_STATISTICS = ("kendall_b", "pairwise_accuracy", "pairwise_accuracy_calibrated")
MOST_ITEMS = 6_000
"""Items above which a table of all pairs of them is not made: it would take half a gigabyte."""
MOST_SCORES = 1_000_000
"""Pairs of a judge's and people's scores above which a table of them is not made."""
GRID_BLOCK = 1 << 18

Sums = Callable[[Floats], tuple[Floats, Floats, Floats]]
"""From counts to Σ signs, and the pairs judged right without and with a threshold, copies of edits among them."""


@dataclass(frozen=True)
class Scored:
    """Edits as places among the sorted distinct scores of judge and people."""

    judge: Ints
    people: Ints
    item: Ints
    levels: Floats
    """The judge's distinct scores."""
    threshold: float

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self.item.max()) + 1

    @property
    def scores(self) -> tuple[int, int]:
        """How many distinct scores the judge and people gave."""
        return len(self.levels), int(self.people.max()) + 1

    def below(self, threshold: float) -> Ints:
        """Return for each of the judge's scores how many are lower by more than the threshold."""
        return np.searchsorted(self.levels, self.levels - threshold - SAME, side="left")


def scored(judge: Floats, people: Floats, item: Ints, threshold: float) -> Scored:
    """Return the edits by the places of their scores."""
    levels, left = np.unique(snap(judge), return_inverse=True)
    return Scored(left, np.unique(snap(people), return_inverse=True)[1], item, levels, threshold)


def cost_ns(edits: Scored) -> float:
    """Return about how many nanoseconds one resample takes, infinite where no table would fit in memory."""
    return min(_items_ns(edits), _grid_ns(edits))


def _items_ns(edits: Scored) -> float:
    return 0.15 * edits.items**2 if edits.items <= MOST_ITEMS else float("inf")


def _grid_ns(edits: Scored) -> float:
    cells = edits.scores[0] * edits.scores[1]
    return 10.0 * cells if cells <= MOST_SCORES else float("inf")


def pair_statistics(edits: Scored) -> CountStatistic:
    """Return the statistics named above, a row each, of counts."""
    sums = by_grid(edits) if _grid_ns(edits) < _items_ns(edits) else by_items(edits)
    size = np.bincount(edits.item).astype(float)
    sides = [_tied(codes, edits) for codes in (edits.judge, edits.people)]

    def of(counts: Floats) -> Floats:
        signs, plain, calibrated = sums(counts)
        n, copies = counts @ size, counts**2 @ size
        untied = [n**2 - tied(counts) for tied in sides]
        right = [divide(found - copies, n**2 - copies) for found in (plain, calibrated)]
        return np.stack([divide(signs, np.sqrt(untied[0] * untied[1])), *right])

    return of


def _tied(codes: Ints, edits: Scored) -> CountStatistic:
    """Return how many ordered pairs one side ties, of counts."""
    table = adding(codes, edits.item, (int(codes.max()) + 1, edits.items))

    def of(counts: Floats) -> Floats:
        level = table @ np.ascontiguousarray(counts.T)
        return np.asarray(np.einsum("ij,ij->j", level, level))

    return of


def by_items(edits: Scored) -> Sums:
    """Return the sums from tables of items by items."""
    tables = _item_tables(edits)
    most = np.bincount(edits.item).max()
    # Whole numbers this small are exact in single precision, which is twice as fast.
    kind: Any = np.float32 if 2 * most * len(edits.item) < 2**24 else np.float64
    wide = np.hstack(tables).astype(kind)

    def of(counts: Floats) -> tuple[Floats, Floats, Floats]:
        product = (counts.astype(kind) @ wide).reshape(len(counts), len(tables), -1)
        sums = np.einsum("itj,ij->ti", product, counts)
        return 2 * sums[0], sums[1], sums[-1]

    return of


def _item_tables(edits: Scored) -> list[Floats]:
    """Return what each item's edits add against each other item's: half the signs, and the pairs judged right.

    The last of three, with the threshold, is left away where that is 0 and it would be the same.

    Summed over both directions, a pair is right where the judge's higher is people's higher (counted twice), or
    where people tie it, unless the judge does not.
    """
    x, low, low_calibrated, y = (_padded(codes, edits.item) for codes in _codes(edits))
    items = x.shape[1]
    tables = [np.zeros((items, items), dtype=np.int32) for _ in range(3 if edits.threshold else 2)]
    for start in range(0, items, 64):
        rows = slice(start, start + 64)
        signs, plain, *calibrated = (table[rows] for table in tables)
        for a in range(len(x)):
            for b in range(len(x)):
                tied = (y[a, rows, None] == y[b]).view(np.int8)
                higher = (y[a, rows, None] > y[b]).view(np.int8)
                order = higher - (y[a, rows, None] < y[b]).view(np.int8)
                credit = 2 * (higher - tied)
                above = (low[a, rows, None] > x[b]).view(np.int8)
                signs += above * order
                plain += tied + above * credit
                for table in calibrated:
                    table += tied + (low_calibrated[a, rows, None] > x[b]).view(np.int8) * credit
    return tables  # type: ignore[return-value]


def _codes(edits: Scored) -> list[Ints]:
    limits = [edits.below(limit)[edits.judge] for limit in (0.0, edits.threshold)]
    return [edits.judge, *limits, edits.people]


def _padded(codes: Ints, item: Ints) -> Floats:
    """Return an item's edits below each other, a column an item, NaN where it has fewer: NaN compares as false."""
    order = np.argsort(item, kind="stable")
    size = np.bincount(item)
    place = np.arange(len(item)) - np.repeat(np.cumsum(size) - size, size)
    found = np.full((int(size.max()), len(size)), np.nan, dtype=np.float32)
    found[place, item[order]] = codes[order]
    return found  # type: ignore[return-value]


def by_grid(edits: Scored) -> Sums:
    """Return the sums from a table of the judge's by people's scores, by cumulated counts."""
    left, right = edits.scores
    cell = edits.judge * right + edits.people
    table = adding(cell, edits.item, (left * right, edits.items))
    limits = [edits.below(limit) for limit in (0.0, edits.threshold)]
    width = max(1, GRID_BLOCK // (left * right))

    def of(counts: Floats) -> tuple[Floats, Floats, Floats]:
        parts = []
        for start in range(0, len(counts), width):
            some = np.ascontiguousarray(counts[start : start + width].T)
            parts.append(_grid_sums(np.asarray(table @ some).reshape(left, right, -1), limits))
        signs, plain, calibrated = np.concatenate(parts, axis=1)
        return signs, plain, calibrated

    return of


def _grid_sums(grid: Floats, limits: list[Ints]) -> Floats:
    """Return the three sums of grids of counts: judge's scores by people's scores by resamples."""
    # Row k: of the judge's k lowest scores, how many edits people put at this score, and how many below it.
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
