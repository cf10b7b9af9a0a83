"""Two judges, a judge in a person's place, and few ratings with many scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lmmscore.agreement import comparison
from lmmscore.agreement.alternative import alternative_test, rejected
from lmmscore.agreement.comparison import Draws
from lmmscore.agreement.people import Ratings
from lmmscore.agreement.powered import Powered, powered_mean, stratified


def test_williams_gives_the_textbook_value() -> None:
    """Steiger's (1980) example: r = .40 and .50 that share a variable, .10 between them, n = 103: t = −0.89."""
    test = comparison.williams(0.4, 0.5, 0.1, 103)
    assert test is not None
    assert test.t == pytest.approx(-0.8913, abs=5e-4)
    assert test.df == 100
    assert test.p == pytest.approx(2 * stats.t.sf(abs(test.t), 100))


def test_williams_is_undefined_for_the_same_judge_twice_or_too_few_edits() -> None:
    """Two identical judges cannot be told apart, and three edits leave no degree of freedom."""
    assert comparison.williams(1.0, 1.0, 1.0, 50) is None
    assert comparison.williams(0.4, 0.5, 0.1, 3) is None


@pytest.mark.parametrize("statistic", ["spearman", "pearson"])
def test_permutation_tells_a_good_judge_from_noise(statistic: str) -> None:
    """A judge near to people beats a random one; two noises of the same kind are not told apart."""
    rng = np.random.default_rng(0)
    people = rng.normal(size=80)
    good, noise, other = (
        people + 0.3 * rng.normal(size=80),
        rng.normal(size=80),
        rng.normal(size=80),
    )
    item = np.arange(80)
    assert (
        comparison.permute(good, noise, people, item, statistic=statistic, draws=Draws(9_999, rng))
        < 0.001
    )
    assert (
        comparison.permute(noise, other, people, item, statistic=statistic, draws=Draws(9_999, rng))
        > 0.05
    )


def test_permutation_swaps_items_whole() -> None:
    """With two items there are but four swaps, so no p-value can be small, however many edits they have."""
    rng = np.random.default_rng(0)
    people = rng.normal(size=60)
    item = np.repeat([0, 1], 30)
    p = comparison.permute(
        people, rng.normal(size=60), people, item, statistic="pearson", draws=Draws(9_999, rng)
    )
    assert p > 0.2


def test_flipping_item_values_is_a_sign_test_of_their_mean() -> None:
    """All of 12 items in favour of one judge: p is near 2 / 2¹²."""
    rng = np.random.default_rng(0)
    p = comparison.flip(np.full(12, 0.5), np.zeros(12), draws=Draws(9_999, rng))
    assert p == pytest.approx(2 / 2**12, abs=1e-3)


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


def test_a_random_judge_may_not() -> None:
    """It wins against nobody."""
    ratings, _ = crowd(1)
    test = alternative_test(ratings, np.random.default_rng(5).uniform(1, 7, 40), epsilon=0.2)
    assert test.passed is False
    assert test.winning_rate == 0


def test_the_alternative_test_needs_thirty_edits_a_rater() -> None:
    """Below the minimum there is a reason, not a number."""
    ratings, truth = crowd(2, items=20)
    test = alternative_test(ratings, truth, epsilon=0.2)
    assert test.winning_rate is None
    assert test.left_out == 5
    assert "30 edits" in test.why and "20" in test.why


def test_duels_are_decided_by_distance_to_the_remaining_raters() -> None:
    """On one edit rated 1, 5, 5 by three raters, a judge saying 5 beats the first and draws with the others' twin."""
    ratings = Ratings(np.array([1.0, 5, 5]), np.zeros(3, int), np.zeros(3, int), np.arange(3))
    test = alternative_test(ratings, np.array([5.0]), epsilon=0.2, minimum=1)
    assert test.advantage == 1
    assert test.p_values == (0.0, 0.0, 0.0)


def test_many_raters_are_corrected_for() -> None:
    """A single p of 0.03 among ten does not survive the Benjamini–Yekutieli correction."""
    assert rejected(np.array([0.03]), 0.05).sum() == 1
    assert rejected(np.array([0.03, *np.full(9, 0.9)]), 0.05).sum() == 0


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
        assert found.error <= 1.02 * found.people_error
        low, high = found.interval()
        assert low < 4.3 and high > 3.7


def test_prediction_powered_intervals_cover() -> None:
    """Over many draws the 95% interval holds the true mean about 95% of the time, biased judge or not."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        truth = rng.normal(4, 1.5, 300)
        judge = truth + 1.0 + rng.normal(size=300)
        found = powered_mean(truth[:40], judge[:40], judge[40:])
        assert isinstance(found, Powered)
        low, high = found.interval()
        held += low <= 4 <= high
    assert 0.91 <= held / 400 <= 0.98


def test_strata_weigh_as_many_edits_as_they_have() -> None:
    """A task with three times the edits counts three times."""
    small = Powered(2.0, 0.1, 0, 2.0, 0.1, 10, 0)
    large = Powered(6.0, 0.1, 0, 6.0, 0.1, 30, 0)
    both = stratified([small, large])
    assert both.value == pytest.approx(5.0)
    assert both.error == pytest.approx(np.hypot(0.25 * 0.1, 0.75 * 0.1))


def test_two_ratings_are_too_few_to_power() -> None:
    """There is a reason instead of a number."""
    assert "at least 3" in str(
        powered_mean(np.array([1.0, 2]), np.array([1.0, 2]), np.array([1.0]))
    )
