"""A few ratings and many judge scores: prediction-powered means (PPI++; Angelopoulos, Duchi and Zrnic, 2023).

The estimate is the mean rating, corrected by how the judge's scores on unrated edits differ from those on rated
ones. λ between 0 and 1 says how far the judge is believed; it is chosen for the least variance, so a useless judge
costs nothing. By stratum (task), the estimates are averaged by the strata's sizes (Fogliato et al., 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from lmmscore.agreement.arrays import Floats

FEWEST_RATED = 3
"""Rated edits below which a variance is not worth computing."""


@dataclass(frozen=True, slots=True)
class Powered:
    """A prediction-powered mean with its standard error, and what people alone would have given."""

    value: float
    error: float
    trust: float
    """λ: 0 ignores the judge, 1 corrects by it in full."""
    people_only: float
    people_error: float
    rated: int
    unrated: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the normal interval."""
        reach = float(special.ndtri((1 + confidence) / 2)) * self.error
        return self.value - reach, self.value + reach


def powered_mean(people: Floats, judge: Floats, judge_unrated: Floats) -> Powered | str:
    """Return the mean rating of all edits, rated or not, or the reason why it cannot be estimated."""
    n, more = len(people), len(judge_unrated)
    if n < FEWEST_RATED:
        return f"{n} rated edits, and at least {FEWEST_RATED} are needed"
    plain = float(people.var(ddof=1) / n)
    if more < 2:
        return Powered(
            float(people.mean()), plain**0.5, 0.0, float(people.mean()), plain**0.5, n, more
        )
    spread = float(np.concatenate([judge, judge_unrated]).var(ddof=1))
    shared = float(np.cov(people, judge)[0, 1])
    trust = float(np.clip(shared / ((1 + n / more) * spread), 0, 1)) if spread > 0 else 0.0
    value = people.mean() + trust * (judge_unrated.mean() - judge.mean())
    variance = (people - trust * judge).var(ddof=1) / n + trust**2 * judge_unrated.var(
        ddof=1
    ) / more
    return Powered(
        float(value), float(variance) ** 0.5, trust, float(people.mean()), plain**0.5, n, more
    )


def stratified(parts: Sequence[Powered]) -> Powered:
    """Return the mean over strata, each weighing as many edits as it has."""
    sizes = np.array([part.rated + part.unrated for part in parts], dtype=float)
    weights = sizes / sizes.sum()

    def average(values: list[float]) -> float:
        return float(weights @ np.array(values))

    def error(values: list[float]) -> float:
        return float(np.sqrt(weights**2 @ np.square(values)))

    return Powered(
        average([part.value for part in parts]),
        error([part.error for part in parts]),
        average([part.trust for part in parts]),
        average([part.people_only for part in parts]),
        error([part.people_error for part in parts]),
        sum(part.rated for part in parts),
        sum(part.unrated for part in parts),
    )
