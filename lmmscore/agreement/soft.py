"""Soft pairwise accuracy of a ranking of methods (Thompson, Mathur, Deutsch and Khayrallah, 2024).

For each two methods, people's ratings and the judge's scores each give a p-value that the first is better, by a
paired permutation over items. Agreement on that pair is 1 − |difference of the two p-values|: a judge that is sure
where people are unsure loses some, one that is unsure where they are unsure loses nothing.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy import special

from lmmscore.agreement.arrays import SAME, Floats
from lmmscore.agreement.bootstrap import CountStatistic
from lmmscore.agreement.counted import divide

ENUMERATED_ITEMS = 13
"""Up to this many items all sign flips are enumerated, and the result is exact."""
AT_ONCE = 128
FLIPS = 10_000
"""Random flips drawn where there are more items; fewer, but at least a thousand, for very many items."""


Flips = NDArray[np.int8]


def sign_flips(items: int, rng: np.random.Generator) -> Flips:
    """Return rows of ±1, an entry an item: all of them for few items, else a random sample."""
    if items <= ENUMERATED_ITEMS:
        return np.array(list(itertools.product([1, -1], repeat=items)), dtype=np.int8)
    size = (max(1_000, min(FLIPS, 10_000_000 // items)), items)
    return (1 - 2 * rng.integers(0, 2, size)).astype(np.int8)


def soft_pairwise_accuracy(judge: Floats, people: Floats, flips: Flips) -> float:
    """Return the soft pairwise accuracy; rows are items, columns methods, NaN where there is no score.

    An item takes part in a pair of methods where both have a score from both sides. A pair with no such item
    says nothing, and is left out; NaN where none is left.
    """
    first, second = np.triu_indices(judge.shape[1], 1)
    by_judge = judge[:, first] - judge[:, second]
    by_people = people[:, first] - people[:, second]
    usable = ~(np.isnan(by_judge) | np.isnan(by_people))
    counted = usable.any(axis=0)
    if not counted.any():
        return float("nan")
    p_judge = _p_values(np.where(usable, by_judge, 0.0)[:, counted], flips)
    p_people = _p_values(np.where(usable, by_people, 0.0)[:, counted], flips)
    return float(np.mean(1 - np.abs(p_judge - p_people)))


def _p_values(differences: Floats, flips: Flips) -> Floats:
    """Return for each pair the share of flips whose sum reaches the observed one: one-sided p-values."""
    reached = np.zeros(differences.shape[1])
    for start in range(0, len(flips), AT_ONCE):
        some = flips[start : start + AT_ONCE].astype(float)
        reached += (some @ differences >= differences.sum(axis=0) - SAME).sum(axis=0)
    return reached / len(flips)


def soft_of_counts(judge: Floats, people: Floats) -> CountStatistic:
    """Return soft pairwise accuracy of counts, with the permutation's normal approximation for its p-values.

    Under random signs a sum of differences has mean 0 and variance the sum of their squares, and both sums are linear
    in the counts: a resample needs no permutations of its own.
    """
    first, second = np.triu_indices(judge.shape[1], 1)
    by_judge, by_people = judge[:, first] - judge[:, second], people[:, first] - people[:, second]
    usable = ~(np.isnan(by_judge) | np.isnan(by_people))
    sides = [np.where(usable, gaps, 0.0) for gaps in (by_judge, by_people)]
    table = np.hstack([usable, *sides, *(gaps**2 for gaps in sides)])

    def of(counts: Floats) -> Floats:
        n, judge_sum, people_sum, judge_squares, people_squares = np.split(
            counts @ table, 5, axis=1
        )
        shared = n > 0
        p_judge, p_people = (
            _normal_p(judge_sum, judge_squares),
            _normal_p(people_sum, people_squares),
        )
        alike = np.where(shared, 1 - np.abs(p_judge - p_people), 0.0)
        return divide(alike.sum(axis=1), shared.sum(axis=1).astype(float))

    return of


def _normal_p(total: Floats, squares: Floats) -> Floats:
    """Return the one-sided p-value of a sum; 1 where all differences are nil, as every flip reaches that sum."""
    spread = np.sqrt(np.maximum(squares, 0))
    ratio = np.divide(total, spread, out=np.full_like(total, -np.inf), where=spread > SAME)
    return np.asarray(special.ndtr(-ratio))
