"""Strengths from pairwise comparisons: the fit is the maximum of the likelihood, and says when there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import optimize, stats

from lmmscore.leaderboard.matches import (
    Votes,
    binomial_p,
    connected_groups,
    fit_finite,
    fit_many,
    has_finite_fit,
    position_bias,
    tally,
)


@dataclass(frozen=True)
class Davidson:
    """The model as it is written down: strengths are log π, the tie parameter is ν."""

    strengths: np.ndarray
    tie: float

    def probabilities(self, first: int, second: int) -> tuple[float, float, float]:
        """The chances that the first wins, that both tie, and that the second wins."""
        one, other = math.exp(self.strengths[first]), math.exp(self.strengths[second])
        weights = np.array([one, self.tie * math.sqrt(one * other), other])
        win, tie, loss = weights / weights.sum()
        return float(win), float(tie), float(loss)


def fit_davidson(wins: np.ndarray, ties: np.ndarray | None = None) -> Davidson:
    strengths, tie = fit_many(wins[None], np.zeros_like(wins)[None] if ties is None else ties[None])
    return Davidson(strengths[0], float(tie[0]))


def log_likelihood(model: Davidson, wins: np.ndarray, ties: np.ndarray) -> float:
    """The likelihood, comparison by comparison: slow and obvious."""
    total = 0.0
    methods = len(wins)
    for first in range(methods):
        for second in range(first + 1, methods):
            win, tie, loss = model.probabilities(first, second)
            total += wins[first, second] * np.log(win) + wins[second, first] * np.log(loss)
            if ties[first, second]:
                total += ties[first, second] * np.log(tie)
    return total


def random_games(seed: int, methods: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    wins = rng.integers(1, 12, (methods, methods)).astype(float)
    np.fill_diagonal(wins, 0)
    half = np.triu(rng.integers(0, 6, (methods, methods)), 1).astype(float)
    return wins, half + half.T


@pytest.mark.parametrize("seed", range(4))
def test_the_fit_maximises_the_likelihood(seed: int) -> None:
    """A general optimiser of the likelihood finds the same strengths and tie parameter."""
    wins, ties = random_games(seed)
    found = fit_davidson(wins, ties)

    def cost(x: np.ndarray) -> float:
        return -log_likelihood(Davidson(np.append(x[:-1], 0.0), float(np.exp(x[-1]))), wins, ties)

    best = optimize.minimize(cost, np.zeros(len(wins)), method="BFGS", options={"gtol": 1e-9})
    strengths = np.append(best.x[:-1], 0.0)
    assert found.strengths == pytest.approx(strengths - strengths.mean(), abs=1e-4)
    assert found.tie == pytest.approx(np.exp(best.x[-1]), rel=1e-3)


def test_two_methods_without_ties_are_their_odds() -> None:
    """With 30 wins to 10 the difference of strengths is log 3."""
    found = fit_davidson(np.array([[0.0, 30.0], [10.0, 0.0]]))
    assert found.strengths[0] - found.strengths[1] == pytest.approx(np.log(3))
    assert found.tie == 0
    assert found.probabilities(0, 1) == pytest.approx((0.75, 0.0, 0.25))


def test_equal_methods_tie_as_often_as_they_did() -> None:
    """Of two methods that won 5 each and tied 10 times, half of the comparisons tie."""
    found = fit_davidson(np.array([[0.0, 5.0], [5.0, 0.0]]), np.array([[0.0, 10.0], [10.0, 0.0]]))
    assert found.probabilities(0, 1) == pytest.approx((0.25, 0.5, 0.25))
    assert found.tie == pytest.approx(2)


def test_a_method_that_always_wins_has_no_finite_strength() -> None:
    """Whoever never lost is named as a group of its own, and the fit is refused, not invented."""
    wins = np.array([[0.0, 3.0, 2.0], [0.0, 0.0, 1.0], [0.0, 2.0, 0.0]])
    assert connected_groups(wins) == [[0], [1, 2]]
    assert not has_finite_fit(wins[None], np.zeros((1, 3, 3)))[0]
    strengths, _, held = fit_finite(wins[None], np.zeros((1, 3, 3)))
    assert held[0] and strengths[0].argmax() == 0
    assert np.abs(strengths).max() < 5


def test_ties_alone_do_not_always_hold_a_fit_finite() -> None:
    """Of 6 wins, no loss and 4 ties the likelihood has no maximum: wins are added there too."""
    wins, ties = np.array([[[0.0, 6.0], [0.0, 0.0]]]), np.array([[[0.0, 4.0], [4.0, 0.0]]])
    assert connected_groups(wins[0] + ties[0]) == [[0, 1]]
    strengths, _, held = fit_finite(wins, ties)
    assert held[0] and np.abs(strengths).max() < 5
    wins[0, 1, 0] = 1.0
    assert not fit_finite(wins, ties)[2][0]


def slow_finite(wins: np.ndarray, ties: np.ndarray) -> bool:
    """Look by linear programming for a direction in which nothing seen becomes less likely."""
    methods = len(wins)
    gains = []
    for a in range(methods):
        for b in range(methods):
            lead = np.zeros(methods + 1)
            lead[a], lead[b] = 0.5, -0.5
            tie = np.eye(methods + 1)[methods] * (ties.sum() > 0)
            if wins[a, b]:
                gains += [2 * lead, lead - tie] if ties.sum() else [2 * lead]
            if ties[a, b]:
                gains.append(tie - lead)

    rows = np.array(gains)
    free = optimize.linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1))
    return bool(-free.fun < 1e-9)


def test_a_finite_fit_is_known_beforehand() -> None:
    """For random results of linked methods it is told exactly as by linear programming."""
    rng = np.random.default_rng(5)
    seen = []
    for _ in range(300):
        methods = int(rng.integers(2, 5))
        wins = (rng.random((methods, methods)) < 0.4) * (1 - np.eye(methods))
        half = np.triu(rng.random((methods, methods)) < 0.25, 1)
        ties = (half | half.T).astype(float)
        if wins.sum() and len(connected_groups(wins + wins.T + ties)) == 1:
            seen.append(bool(has_finite_fit(wins[None], ties[None])[0]))
            assert seen[-1] == slow_finite(wins, ties)

    assert 50 < sum(seen) < len(seen) - 50


def test_methods_never_compared_are_not_connected() -> None:
    """Two islands of comparisons cannot be ranked against each other; one tie links them."""
    wins = np.zeros((4, 4))
    wins[0, 1] = wins[1, 0] = wins[2, 3] = wins[3, 2] = 2.0
    assert connected_groups(wins) == [[0, 1], [2, 3]]
    ties = np.zeros((4, 4))
    ties[1, 2] = ties[2, 1] = 1.0
    assert connected_groups(wins + ties) == [[0, 1, 2, 3]]


def test_votes_are_tallied() -> None:
    """A vote counts for the winner wherever it stood; a tie stands in both halves."""
    rng = np.random.default_rng(3)
    truth = np.array([0.8, 0.0, -0.8])
    first = np.tile([0, 0, 1, 1, 2, 2], 60)
    second = np.tile([1, 2, 0, 2, 0, 1], 60)
    item = np.repeat(np.arange(60), 6)
    model = Davidson(truth, 0.5)
    chances = [model.probabilities(a, b) for a, b in zip(first, second, strict=True)]
    winner = np.array([rng.choice([1, 0, -1], p=chance) for chance in chances])
    votes = Votes(first, second, item, winner)

    wins, ties = (counts.sum(axis=0) for counts in tally(votes, 60, 3))
    assert wins.sum() + ties.sum() / 2 == len(winner)
    assert ties == pytest.approx(ties.T)
    won = ((first == 0) & (second == 1) & (winner > 0)) | (
        (first == 1) & (second == 0) & (winner < 0)
    )
    assert wins[0, 1] == won.sum()


def test_position_bias_is_a_binomial_test() -> None:
    """Ties say nothing about places; the p-value is scipy's exact one."""
    found = position_bias([1] * 14 + [-1] * 4 + [0] * 5)
    assert (found.first, found.decided) == (14, 18)
    assert found.p == pytest.approx(stats.binomtest(14, 18, 0.5).pvalue)
    assert binomial_p(5, 10) == 1.0
    assert binomial_p(80, 80) == pytest.approx(2.0**-79, rel=1e-9, abs=0)
    assert position_bias([0, 0]).share is None
