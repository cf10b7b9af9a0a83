"""How two columns agree: the five statistics, plainly, and why one of them may be undefined."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lmmscore.agreement import pairs
from lmmscore.agreement.arrays import SAME, Floats, snap

CORRELATIONS = ("spearman", "pearson", "kendall_b")
"""Undefined where either side is constant."""
DISTANCES = ("mae", "bias")
"""Defined wherever there is a pair."""


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
    if pairs.short_scales(judge, people):
        untied = [
            len(side) ** 2 - (np.unique(side, return_counts=True)[1] ** 2).sum()
            for side in (judge, people)
        ]
        return float(
            2
            * pairs.agreeing_less_opposed(judge, people)
            / np.sqrt(float(untied[0]) * float(untied[1]))
        )
    from scipy import stats  # about a second to import, so only where it is needed

    return float(stats.kendalltau(judge, people, variant="b").statistic)


def mae(judge: Floats, people: Floats) -> float:
    """Return the mean absolute error, NaN for no pairs."""
    return float(np.mean(np.abs(judge - people))) if len(judge) else float("nan")


def bias(judge: Floats, people: Floats) -> float:
    """Return judge minus people on average, NaN for no pairs: positive means the judge is the kinder one."""
    return float(np.mean(judge - people)) if len(judge) else float("nan")


STATISTICS: dict[str, Callable[[Floats, Floats], float]] = {
    "spearman": spearman,
    "pearson": pearson,
    "kendall_b": kendall_b,
    "mae": mae,
    "bias": bias,
}


def reason_undefined(judge: Floats, people: Floats, *, of: str = "edit") -> str:
    """Return why a correlation of these two is undefined, or nothing where it is defined."""
    if len(judge) < 2:
        return f"there is {'one ' + of if len(judge) else 'no ' + of} to compare, and a correlation needs two"
    for who, values in (("the judge", judge), ("people", people)):
        if values.max() - values.min() <= SAME:
            return f"{who} gave every {of} {values[0]:g}"
    return ""
