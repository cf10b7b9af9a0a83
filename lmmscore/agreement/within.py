"""Agreement inside items, all items at once: a row an item, a column a method, NaN where there is no edit.

Results are a number an item, NaN where the statistic is undefined in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lmmscore.agreement.arrays import SAME, Bools, Floats, snap

AT_ONCE = 1 << 20
"""Pairs of methods handled at a time, which bounds memory."""


class Within:
    """A judge's and people's scores of every item's methods."""

    def __init__(self, judge: Floats, people: Floats) -> None:
        self.there = ~(np.isnan(judge) | np.isnan(people))
        self.judge, self.people = (_snapped(side, self.there) for side in (judge, people))
        self.size = self.there.sum(axis=1)
        self.pairs = self.size * (self.size - 1) / 2
        self.lone = self.size < 2
        self.judge_constant, self.people_constant = (
            ~self.lone & _constant(side) for side in (self.judge, self.people)
        )

    def correlations(self) -> dict[str, Floats]:
        """Return Spearman, Pearson and τ-b of each item."""
        undefined = self.lone | self.judge_constant | self.people_constant
        ranks = [midrank_rows(side) for side in (self.judge, self.people)]
        found = {
            "spearman": pearson_rows(*ranks),
            "pearson": pearson_rows(self.judge, self.people),
            "kendall_b": self._kendall(),
        }
        return {name: np.where(undefined, np.nan, values) for name, values in found.items()}

    def _kendall(self) -> Floats:
        found = [np.zeros(0)]
        for _, gaps, order in self._gaps():
            left, right = np.sign(gaps), order
            below = np.sqrt(np.nansum(left**2, axis=1) * np.nansum(right**2, axis=1))
            found.append(_divide(np.nansum(left * right, axis=1), below))
        return np.concatenate(found)

    def accuracy(self, threshold: float) -> Floats:
        """Return the share of pairs of methods ordered alike, with the judge tied up to the threshold."""
        found = [np.zeros(0)]
        for rows, gaps, order in self._gaps():
            # NaN equals nothing, so a pair with a missing edit is never right.
            called = np.where(np.abs(gaps) <= threshold + SAME, 0, np.sign(gaps))
            found.append(_divide((called == order).sum(axis=1), self.pairs[rows]))
        return np.concatenate(found)

    def gains(self) -> tuple[Floats, Floats]:
        """Return for each pair its gap by the judge and what calling it a tie would add to its item's accuracy."""
        sizes, gains = [np.zeros(0)], [np.zeros(0)]
        for rows, gaps, order in self._gaps():
            gain = (order == 0).astype(float) - (np.sign(gaps) == order)
            counts = gain != 0
            sizes.append(np.abs(gaps[counts]))
            gains.append((gain / np.maximum(self.pairs[rows], 1)[:, None])[counts])
        return np.concatenate(sizes), np.concatenate(gains)

    def _gaps(self) -> Iterator[tuple[slice, Floats, Floats]]:
        """Yield some items, the judge's gap of every two of their methods, and people's order of the two."""
        first, second = np.triu_indices(self.judge.shape[1], 1)
        rows = max(1, AT_ONCE // max(1, len(first)))
        for start in range(0, len(self.size), rows):
            some = slice(start, start + rows)
            judge, people = self.judge[some], self.people[some]
            yield (
                some,
                judge[:, first] - judge[:, second],
                np.sign(people[:, first] - people[:, second]),
            )


def pearson_rows(x: Floats, y: Floats) -> Floats:
    """Return Pearson's r of each row; a hole in a row is a hole in both."""
    size = np.maximum((~np.isnan(x)).sum(axis=1, keepdims=True), 1)
    left, right = (side - np.nansum(side, axis=1, keepdims=True) / size for side in (x, y))
    spread = np.nansum(left**2, axis=1) * np.nansum(right**2, axis=1)
    return _divide(np.nansum(left * right, axis=1), np.sqrt(spread))


def midrank_rows(x: Floats) -> Floats:
    """Return each entry's centred midrank in its row: half of how many are below it less how many are above."""
    total = np.zeros_like(x)
    for column in range(x.shape[1]):
        total += np.nan_to_num(np.sign(x - x[:, column : column + 1]))
    return np.where(np.isnan(x), np.nan, total / 2)


def _snapped(values: Floats, there: Bools) -> Floats:
    found = np.full(values.shape, np.nan)
    found[there] = snap(values[there])
    return found


def _constant(values: Floats) -> Bools:
    low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
    return np.asarray(high - low <= SAME)


def _divide(top: Floats, bottom: Floats) -> Floats:
    return np.asarray(np.divide(top, bottom, out=np.full(len(bottom), np.nan), where=bottom > 0))
