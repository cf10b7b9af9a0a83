"""Ranking methods by pairwise comparisons: Bradley–Terry with ties after Davidson (1970).

With strengths π and a tie parameter ν, of two methods the first wins with probability
π₁ / (π₁ + π₂ + ν√(π₁π₂)), the second likewise, and the rest is a tie. Without ties ν is 0 and the
model is Bradley and Terry's. Everything here is a pure function of counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmmscore.stats.resampling import Floats, Ints

_MOST_STEPS = 200
_CLOSE = 1e-10
_ENDLESS = 25.0
"""Strengths that grow beyond this grow for ever: nobody has met a method e²⁵ times as good."""
_RIDGE = 1e-12
"""Keeps a step defined on the way to infinity."""


@dataclass(frozen=True, slots=True)
class Davidson:
    """A fitted model. `strengths` are log π, centred on 0; a higher one is a better method."""

    strengths: Floats
    tie: float
    """ν: 0 where nothing was ever tied; at 2, equal methods tie half of the time."""

    def probabilities(self, first: int, second: int) -> tuple[float, float, float]:
        """Return the chances that the first wins, that both tie, and that the second wins."""
        half = (self.strengths[first] - self.strengths[second]) / 2
        weights = np.array([math.exp(half), self.tie, math.exp(-half)])
        win, tie, loss = weights / weights.sum()
        return float(win), float(tie), float(loss)


@dataclass(frozen=True, slots=True)
class Votes:
    """Comparisons one by one: the two methods, the item, and who won: 1, 0 for a tie, or −1."""

    first: Ints
    second: Ints
    item: Ints
    winner: Ints


def tally(votes: Votes, methods: int, weights: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the win matrix and the tie matrix: `wins[a, b]` is how often a beat b.

    `ties` is symmetric, each tie standing in both halves. `weights` is what each vote counts.
    """
    counted = np.ones(len(votes.winner)) if weights is None else weights
    wins = np.zeros((methods, methods))
    ties = np.zeros((methods, methods))
    won, lost, tied = votes.winner > 0, votes.winner < 0, votes.winner == 0
    np.add.at(wins, (votes.first[won], votes.second[won]), counted[won])
    np.add.at(wins, (votes.second[lost], votes.first[lost]), counted[lost])
    np.add.at(ties, (votes.first[tied], votes.second[tied]), counted[tied])
    np.add.at(ties, (votes.second[tied], votes.first[tied]), counted[tied])
    return wins, ties


def connected_groups(wins: Floats, ties: Floats) -> list[list[int]]:
    """Return the methods in groups that comparisons link in both directions.

    The model has a finite fit exactly if there is one group: for any split of the methods in two,
    each part must have beaten, or tied, the other at least once. A tie links both ways.
    """
    reached = ((wins + ties) > 0) | np.eye(len(wins), dtype=bool)
    for middle in range(len(reached)):
        reached |= reached[:, [middle]] & reached[[middle], :]

    both = reached & reached.T
    groups: list[list[int]] = []
    seen: set[int] = set()
    for method in range(len(both)):
        if method not in seen:
            group = [int(other) for other in np.flatnonzero(both[method])]
            seen.update(group)
            groups.append(group)

    return groups


def fit_davidson(wins: Floats, ties: Floats | None = None, *, prior: float = 0.0) -> Davidson:
    """Fit strengths and the tie parameter by maximum likelihood.

    `wins[a, b]` is how often a beat b, `ties` symmetric (see `tally`). `prior` adds that many wins
    each way to every pair, which makes the fit finite whatever the data; 0 is plain likelihood.
    Raises ValueError where there is no finite fit: check with `connected_groups` first.
    """
    wins = np.asarray(wins, dtype=float)
    ties = np.zeros_like(wins) if ties is None else np.asarray(ties, dtype=float)
    if prior:
        wins = wins + prior * (1 - np.eye(len(wins)))

    if len(connected_groups(wins, ties)) > 1:
        raise ValueError("no finite fit: some methods never beat, or never lost to, the others")

    strengths, tie = fit_many(wins[None], ties[None])
    if np.isnan(strengths).any():
        # Ties link methods, but not always closely enough: 6 wins, no loss and 4 ties have no fit.
        raise ValueError("no finite fit: some methods never lost to some others")
    return Davidson(strengths[0], float(tie[0]))


def fit_many(wins: Floats, ties: Floats) -> tuple[Floats, Floats]:
    """Fit many data sets at once: strengths and tie parameter of each, by maximum likelihood.

    Axes are data set, method, method, counts as in `fit_davidson`. Strengths are NaN where there is
    no finite fit. Where nothing was tied the tie parameter is 0; where nothing else happened it is
    infinite, and all strengths are equal.
    """
    count, methods = wins.shape[:2]
    games = wins + wins.transpose(0, 2, 1) + ties
    margin = (wins - wins.transpose(0, 2, 1)).sum(axis=2) / 2
    tied = ties.sum(axis=(1, 2)) / 2
    won = wins.sum(axis=(1, 2))
    some_tied, some_won = tied > 0, won > 0

    strengths = np.zeros((count, methods))
    log_tie = np.log(np.where(some_tied & some_won, 2 * tied / np.maximum(won, 1e-300), 1.0))
    for _ in range(_MOST_STEPS):
        tie = np.where(some_tied, np.exp(log_tie), 0.0)
        gradient, information = _newton_terms(strengths, tie, games, margin, tied)
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        # A damped Newton step: far from the optimum a full one could overshoot.
        longest = np.abs(step).max(axis=1)
        step *= np.minimum(1.0, 2.0 / np.maximum(longest, 1e-300))[:, None]
        endless = np.abs(strengths).max(axis=1) > _ENDLESS
        step[~some_won | endless] = 0.0
        strengths = strengths + step[:, :methods]
        strengths -= strengths.mean(axis=1, keepdims=True)
        log_tie = log_tie + np.where(some_tied, step[:, methods], 0.0)
        if float(np.abs(step).max()) < _CLOSE:
            break

    tie = np.where(some_tied, np.where(some_won, np.exp(log_tie), np.inf), 0.0)
    strengths[np.abs(strengths).max(axis=1) > _ENDLESS] = np.nan
    return strengths, tie


def _newton_terms(
    strengths: Floats, tie: Floats, games: Floats, margin: Floats, tied: Floats
) -> tuple[Floats, Floats]:
    """Return gradient and information of every data set: the strengths, then the log of the tie
    parameter.

    Davidson's model is a multinomial logit in these, so its likelihood has a single maximum.
    """
    count, methods = strengths.shape
    half = (strengths[:, :, None] - strengths[:, None, :]) / 2
    win, loss = np.exp(half), np.exp(-half)
    total = win + loss + tie[:, None, None]
    lead, p_tie = (win - loss) / total, tie[:, None, None] / total

    gradient = np.zeros((count, methods + 1))
    gradient[:, :methods] = margin - (games * lead).sum(axis=2) / 2
    gradient[:, methods] = tied - (games * p_tie).sum(axis=(1, 2)) / 2

    variance = games * (1 - p_tie - lead**2) / 4
    information = np.zeros((count, methods + 1, methods + 1))
    own = np.arange(methods)
    # Adding a constant to all strengths changes nothing; the last term keeps their mean where it
    # is.
    information[:, :methods, :methods] = 1.0 / methods - variance
    information[:, own, own] += variance.sum(axis=2) + _RIDGE
    both = -(games * lead * p_tie).sum(axis=2) / 2
    information[:, :methods, methods] = both
    information[:, methods, :methods] = both
    spread = (games * p_tie * (1 - p_tie)).sum(axis=(1, 2)) / 2
    information[:, methods, methods] = np.where(spread > 0, spread, 1.0)
    return gradient, information


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How often the edit shown first was preferred, among comparisons that were not ties."""

    share: float | None
    first: int
    decided: int
    p: float | None
    """Two-sided, of an even chance (binomial, exact)."""


def position_bias(first_won: Sequence[int]) -> PositionBias:
    """Return the preference for the first place; 1 the first won, −1 the second, 0 a tie.

    Meaningful where each pair was shown in both orders, or in a random one.
    """
    won = sum(1 for one in first_won if one > 0)
    lost = sum(1 for one in first_won if one < 0)
    decided = won + lost
    if not decided:
        return PositionBias(None, 0, 0, None)
    return PositionBias(won / decided, won, decided, binomial_p(won, decided))


def binomial_p(successes: int, trials: int) -> float:
    """Return the exact two-sided p of an even chance."""
    from scipy.special import bdtrc

    far = max(successes, trials - successes)
    return min(1.0, 2 * float(bdtrc(far - 1, trials, 0.5)))
