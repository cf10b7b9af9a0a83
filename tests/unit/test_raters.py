"""A judge in a person's place, and few ratings with many scores."""

from __future__ import annotations

import numpy as np
import pytest

from lmmscore.agreement.raters import alternative_test
from lmmscore.stats import Powered, powered_mean, stratified
from lmmscore.stats.correlation import Ratings


def crowd(seed: int, items: int = 40, noise: float = 1.0) -> tuple[Ratings, np.ndarray]:
    """Five raters of the same quality, with the true quality behind them."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(4, 1.5, items)
    table = truth[:, None] + noise * rng.normal(size=(items, 5))
    edit = np.repeat(np.arange(items), 5)
    return Ratings(table.ravel(), edit, edit, np.tile(np.arange(5), items)), truth


def test_a_judge_that_knows_the_truth_may_replace_a_person() -> None:
    """It is nearer to the others than any single rater is, and wins against all of them."""
    ratings, truth = crowd(0)
    test = alternative_test(ratings, truth, epsilon=0.2)
    assert test.passed
    assert test.winning_rate == 1
    assert test.advantage is not None and test.advantage > 0.5


def test_a_random_judge_is_not_shown_to() -> None:
    """It wins against nobody."""
    ratings, _ = crowd(1)
    test = alternative_test(ratings, np.random.default_rng(5).uniform(1, 7, 40), epsilon=0.2)
    assert test.passed is False
    assert test.winning_rate == 0


def test_the_power_beside_the_test_is_its_power() -> None:
    """For judges exactly as good as a rater, one test's share of wins is what was announced."""
    announced, won, tests = [], 0, 0
    for seed in range(60):
        ratings, truth = crowd(seed, items=60)
        judge = truth + np.random.default_rng(1_000 + seed).normal(size=60)
        test = alternative_test(ratings, judge, epsilon=0.2)
        assert test.power is not None
        announced.append(test.power)
        harmonic = sum(1 / place for place in range(1, 6))
        won += sum(p <= 0.05 / (5 * harmonic) for p in test.p_values)
        tests += 5
    assert won / tests == pytest.approx(np.mean(announced), abs=0.12)

    # It is that of a judge exactly as near, not of this one: a judge that always loses has none.
    far = alternative_test(ratings, np.full(60, 99.0), epsilon=0.2)
    assert far.advantage == 0 and far.power == pytest.approx(np.mean(announced), abs=0.05)


def test_the_alternative_test_needs_thirty_edits_per_rater() -> None:
    """Below the minimum there is a reason, not a number."""
    ratings, truth = crowd(2, items=20)
    test = alternative_test(ratings, truth, epsilon=0.2)
    assert test.winning_rate is None
    assert test.left_out == 5
    assert "30 edits" in test.why and "20" in test.why


def test_duels_are_decided_by_distance_to_the_remaining_raters() -> None:
    """Of 1, 5, 5 a judge saying 5 beats the first and draws with the others."""
    ratings = Ratings(np.array([1.0, 5, 5]), np.zeros(3, int), np.zeros(3, int), np.arange(3))
    test = alternative_test(ratings, np.array([5.0]), epsilon=0.2, minimum=1)
    assert test.advantage == 1
    assert test.p_values == (0.0, 0.0, 0.0)


def test_a_good_judge_narrows_the_interval_and_a_useless_one_costs_nothing() -> None:
    """PPI++ is never much wider than people alone; with a good judge it is narrower."""
    rng = np.random.default_rng(0)
    truth = rng.normal(4, 1.5, 600)
    people = truth + 0.5 * rng.normal(size=600)
    good, useless = truth + 0.5 * rng.normal(size=600), rng.normal(size=600)
    for judge, narrower in ((good, True), (useless, False)):
        found = powered_mean(people[:60], judge[:60], judge[60:])
        assert isinstance(found, Powered)
        assert (found.error < 0.7 * found.people_error) == narrower
        assert found.error <= 1.03 * found.people_error
        low, high = found.interval() or (np.nan, np.nan)
        assert low < 4.3 and high > 3.7


@pytest.mark.parametrize("rated", [3, 5, 40])
def test_prediction_powered_intervals_cover(rated: int) -> None:
    """The 95% interval holds the true mean about 95% of the time, also with three ratings."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        truth = rng.normal(4, 1.5, 300)
        judge = truth + 1.0 + rng.normal(size=300)
        found = powered_mean(truth[:rated], judge[:rated], judge[rated:])
        assert isinstance(found, Powered)
        low, high = found.interval() or (np.nan, np.nan)
        held += low <= 4 <= high
    assert 0.92 <= held / 400 <= 0.99


def test_strata_weigh_as_many_edits_as_they_have() -> None:
    """A task with three times the edits counts three times."""
    small = Powered(2.0, 0.1, 9, 0, 2.0, 0.1, 9, 10, 0)
    large = Powered(6.0, 0.1, 29, 0, 6.0, 0.1, 29, 30, 0)
    both = stratified([small, large])
    assert both.value == pytest.approx(5.0)
    assert both.error == pytest.approx(np.hypot(0.25 * 0.1, 0.75 * 0.1))
    assert 29 < both.freedom < 40
    assert small.few is False and Powered(2, 1, 1, 0, 2, 1, 2, 3, 9).few


def test_two_ratings_are_too_few_to_power() -> None:
    """There is a reason instead of a number; and of equal ratings no interval of width 0."""
    same = powered_mean(np.full(6, 7.0), np.arange(6.0), np.arange(20.0))
    assert isinstance(same, Powered) and same.value == 7
    assert same.interval() is None and same.people_interval() is None
    few = powered_mean(np.array([1.0, 2]), np.array([1.0, 2]), np.array([1.0]))
    assert "at least 3" in str(few)
