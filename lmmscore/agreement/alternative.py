"""May the judge replace a person? The alternative annotator test (Calderon, Reichart and Dror, 2025).

Each person in turn is set aside, and on every edit they rated one asks who is nearer to the remaining people: the
person or the judge. The judge wins against that person if it is not behind by more than ε, the advantage granted to
people for what they cost; it may stand in for a person if it wins against at least half of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from lmmscore.agreement.arrays import SAME, Floats, Ints
from lmmscore.agreement.people import Ratings

MINIMUM_EDITS = 30
"""Edits a person must have rated for the test's normal approximation to hold."""
FALSE_DISCOVERY_RATE = 0.05


@dataclass(frozen=True, slots=True)
class AltTest:
    """The result: `winning_rate` is ω, `advantage` is the mean probability of being at least as near as a person."""

    winning_rate: float | None
    advantage: float | None
    p_values: tuple[float, ...]
    raters: int
    left_out: int
    """People with fewer than the minimum of edits."""
    why: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether the judge may stand in for a person; None where the test could not be made."""
        return None if self.winning_rate is None else self.winning_rate >= 0.5


def alternative_test(
    ratings: Ratings, judge_by_edit: Floats, *, epsilon: float, minimum: int = MINIMUM_EDITS
) -> AltTest:
    """Run the test on one factor; `judge_by_edit` is NaN where the judge has no score."""
    duels = [_duel(ratings, judge_by_edit, rater) for rater in np.unique(ratings.rater)]
    enough = [duel for duel in duels if len(duel) >= minimum]
    left_out = len(duels) - len(enough)
    if not enough:
        most = max((len(duel) for duel in duels), default=0)
        why = (
            f"no rater shares {minimum} edits with the judge and another rater; the most is {most}"
        )
        return AltTest(None, None, (), 0, left_out, why)
    p_values = [_p_value(duel, epsilon) for duel in enough]
    wins = int(rejected(np.array(p_values), FALSE_DISCOVERY_RATE).sum())
    advantage = float(np.mean([np.mean(duel <= 0) for duel in enough]))
    return AltTest(wins / len(enough), advantage, tuple(p_values), len(enough), left_out)


def _duel(ratings: Ratings, judge_by_edit: Floats, rater: int) -> Ints:
    """Return for each edit of a rater 1 where the rater is nearer to the others, −1 the judge, 0 for a draw.

    Nearness is the root mean square distance to the others' ratings; its square orders alike and needs but sums.
    """
    n, total = np.bincount(ratings.edit), np.bincount(ratings.edit, weights=ratings.value)
    mine = ratings.rater == rater
    edit, own = ratings.edit[mine], ratings.value[mine]
    others = n[edit] - 1
    usable = (others > 0) & ~np.isnan(judge_by_edit[edit])
    edit, own, others = edit[usable], own[usable], others[usable]
    mean = (total[edit] - own) / others
    gap = np.abs(judge_by_edit[edit] - mean) - np.abs(own - mean)
    return np.where(np.abs(gap) <= SAME, 0, np.sign(gap)).astype(np.int64)


def _p_value(duel: Ints, epsilon: float) -> float:
    """Return the p-value of "the judge is behind by ε or more", one-sided t."""
    if duel.min() == duel.max():
        return 0.0 if duel[0] < epsilon else 1.0
    t = (duel.mean() - epsilon) / (duel.std(ddof=1) / np.sqrt(len(duel)))
    return float(special.stdtr(len(duel) - 1, t))


def rejected(p_values: Floats, rate: float) -> Floats:
    """Return which hypotheses fall at this false discovery rate under any dependence (Benjamini–Yekutieli)."""
    tests = len(p_values)
    place = np.arange(1, tests + 1)
    order = np.argsort(p_values)
    adjusted = p_values[order] * tests * np.sum(1 / place) / place
    # A hypothesis falls with any that has a greater p-value.
    adjusted = np.minimum.accumulate(adjusted[::-1])[::-1]
    fallen = np.zeros(tests)
    fallen[order] = adjusted <= rate
    return fallen
