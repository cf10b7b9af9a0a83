"""Is one judge nearer to people than another? Both scored the same edits, so both tests are paired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from lmmscore.agreement import counted
from lmmscore.agreement.arrays import Floats, Ints
from lmmscore.agreement.bootstrap import CountStatistic
from lmmscore.agreement.correlation import midranks

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Draws:
    """How many random swaps are drawn, and where they come from."""

    permutations: int
    rng: np.random.Generator

    def batches(self) -> list[int]:
        """Return the sizes in which they are drawn."""
        return [
            min(AT_ONCE, self.permutations - start)
            for start in range(0, self.permutations, AT_ONCE)
        ]


@dataclass(frozen=True, slots=True)
class Williams:
    """Williams' t for two correlations that share a variable, two-sided."""

    t: float
    df: int
    p: float


def williams(first: float, second: float, between: float, n: int) -> Williams | None:
    """Return Williams' test of r(A, people) = r(B, people) given r(A, B); None where it is undefined.

    Its assumption is n independent edits; where an item has several, the permutation test is the one to trust.
    """
    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    mean = (first + second) / 2
    below = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - between) ** 3 if n > 3 else 0.0
    if not below > 1e-12:
        return None
    t = (first - second) * np.sqrt((n - 1) * (1 + between) / below)
    return Williams(float(t), n - 3, float(2 * special.stdtr(n - 3, -abs(t))))


def permute(
    first: Floats, second: Floats, people: Floats, item: Ints, *, statistic: str, draws: Draws
) -> float:
    """Return the two-sided p-value of equal agreement, by swapping the judges' scores item by item.

    Scores are standardised first (ranks for Spearman, z-scores for Pearson): only then is a swap between judges
    with different habits a fair one. Both judges' scores are sorted once, together; a swap is a choice of counts.
    """
    standardise = midranks if statistic == "spearman" else _z_scores
    both = np.concatenate([standardise(first), standardise(second)])
    make = counted.spearman if statistic == "spearman" else counted.pearson
    of = make(both, np.tile(people, 2), np.arange(2 * len(people)))
    observed = float(_difference(of, np.ones((1, len(people))))[0])
    items = int(item.max()) + 1
    swaps = (
        draws.rng.integers(0, 2, (rows, items)).astype(float)[:, item] for rows in draws.batches()
    )
    return _p_value(observed, np.concatenate([_difference(of, keep) for keep in swaps]))


def _z_scores(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / values.std())


def _difference(of: CountStatistic, keep: Floats) -> Floats:
    """Return A's statistic minus B's, where `keep` is 1 for scores that stay and 0 for those that are swapped."""
    return of(np.hstack([keep, 1 - keep])) - of(np.hstack([1 - keep, keep]))


def flip(first: Floats, second: Floats, *, draws: Draws) -> float:
    """Return the two-sided p-value of equal within-item averages, by swapping the two values of an item."""
    gaps = first - second
    signs = (draws.rng.choice([1.0, -1.0], size=(rows, len(gaps))) for rows in draws.batches())
    return _p_value(float(gaps.mean()), np.concatenate([sign @ gaps / len(gaps) for sign in signs]))


def _p_value(observed: float, permuted: Floats) -> float:
    """Return the share of permutations as far from zero, the observed one counted among them."""
    known = permuted[~np.isnan(permuted)]
    return float((1 + np.sum(np.abs(known) >= abs(observed) - 1e-12)) / (1 + len(known)))
