"""A few ratings and many judge scores: prediction-powered means (PPI++; Angelopoulos et al., 2023).

The estimate is the mean rating, corrected by how the judge's scores on unrated edits differ from
those on rated ones. λ between 0 and 1 says how far the judge is believed; it is chosen for the
least variance, so a useless judge costs nothing. Over strata (tasks) the estimates are averaged by
the strata's sizes (Fogliato et al., 2024). Intervals have Student's t: λ is fitted on the rated
edits, so one more degree of freedom is gone than for a mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmmscore.stats.arrays import Floats
from lmmscore.stats.jackknife import t_quantile

FEWEST_RATED = 3
"""Rated edits below which a variance is not worth computing."""

FEW_RATED = 10
"""Rated edits below which an estimate carries a caution."""


@dataclass(frozen=True, slots=True)
class Powered:
    """A prediction-powered mean with its standard error, and what people alone would have given."""

    value: float
    error: float
    freedom: float
    trust: float
    """λ: 0 ignores the judge, 1 corrects by it in full."""
    people_only: float
    people_error: float
    people_freedom: float
    rated: int
    unrated: int

    @property
    def few(self) -> bool:
        """Whether so few edits were rated that the interval is to be taken with care."""
        return self.rated < FEW_RATED

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the t interval."""
        reach = t_quantile(self.freedom, confidence) * self.error
        return self.value - reach, self.value + reach

    def people_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the t interval of people's mean alone."""
        reach = t_quantile(self.people_freedom, confidence) * self.people_error
        return self.people_only - reach, self.people_only + reach

    def p_value(self) -> float:
        """Return the two-sided p of a mean of 0: for differences of two methods."""
        from scipy.special import stdtr

        if self.error <= 1e-12:
            return 1.0
        return float(2 * stdtr(self.freedom, -abs(self.value) / self.error))


def powered_mean(people: Floats, judge: Floats, judge_unrated: Floats) -> Powered | str:
    """Return the mean rating of all edits, rated or not, or the reason why it cannot be
    estimated."""
    n, more = len(people), len(judge_unrated)
    if n < FEWEST_RATED:
        return f"{n} rated edits, and at least {FEWEST_RATED} are needed"
    mean = float(people.mean())
    plain = math.sqrt(float(people.var(ddof=1)) / n)
    alone = Powered(mean, plain, n - 1, 0.0, mean, plain, n - 1, n, more)
    if more < 2:
        return alone

    spread = float(np.concatenate([judge, judge_unrated]).var(ddof=1))
    shared = float(np.cov(people, judge)[0, 1])
    if spread <= 0 or shared <= 0:
        return alone
    trust = min(1.0, shared / ((1 + n / more) * spread))
    value = mean + trust * float(judge_unrated.mean() - judge.mean())
    rated_part = float((people - trust * judge).var(ddof=1)) * (n - 1) / (n - 2) / n
    unrated_part = trust**2 * float(judge_unrated.var(ddof=1)) / more
    error = math.sqrt(rated_part + unrated_part)
    return Powered(value, error, n - 2, trust, mean, plain, n - 1, n, more)


def stratified(parts: Sequence[Powered]) -> Powered:
    """Return the mean over strata, each weighing as many edits as it has."""
    sizes = np.array([part.rated + part.unrated for part in parts], dtype=float)
    weights = sizes / sizes.sum()
    error, freedom = _combined(weights, [(part.error, part.freedom) for part in parts])
    alone = [(part.people_error, part.people_freedom) for part in parts]
    people_error, people_freedom = _combined(weights, alone)
    return Powered(
        value=float(weights @ np.array([part.value for part in parts])),
        error=error,
        freedom=freedom,
        trust=float(weights @ np.array([part.trust for part in parts])),
        people_only=float(weights @ np.array([part.people_only for part in parts])),
        people_error=people_error,
        people_freedom=people_freedom,
        rated=sum(part.rated for part in parts),
        unrated=sum(part.unrated for part in parts),
    )


def _combined(weights: Floats, errors: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the standard error of a weighted sum and its degrees of freedom (Satterthwaite)."""
    variances = weights**2 * np.array([error**2 for error, _ in errors])
    freedoms = np.array([freedom for _, freedom in errors])
    total = float(variances.sum())
    if total <= 0:
        return 0.0, float(freedoms.sum())
    return math.sqrt(total), total**2 / float((variances**2 / freedoms).sum())
