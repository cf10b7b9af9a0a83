"""Correlations of two columns, of many rows at once, and across methods' means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lmmscore.stats import concordance
from lmmscore.stats.arrays import SAME, Bools, Floats, divide, snap

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
    judge, people = snap(judge), snap(people)
    if not concordance.short_scales(judge, people):
        from scipy import stats  # about a second to import, so only where it is needed

        return float(stats.kendalltau(judge, people, variant="b").statistic)

    untied = []
    for side in (judge, people):
        sizes = np.unique(side, return_counts=True)[1]
        untied.append(float(len(side) ** 2 - (sizes**2).sum()))
    signs = 2 * concordance.agreeing_less_opposed(judge, people)
    return float(signs / np.sqrt(untied[0] * untied[1]))


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
