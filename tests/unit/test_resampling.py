"""The paired bootstrap, against slow and obvious versions of itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lmmscore.leaderboard import resampling as r


def slow_ranks(means: list[float]) -> list[int]:
    return [1 + sum(other > mean + 1e-9 for other in means) for mean in means]


def test_means_are_those_of_the_drawn_items() -> None:
    """Every resampled mean is the mean of n items drawn with replacement, the same ones for every method."""
    values = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    draws = r.resampled_means(values, draws=500, rng=np.random.default_rng(0))
    possible = {round((a + b + c) / 3, 9) for a in (1, 2, 4) for b in (1, 2, 4) for c in (1, 2, 4)}
    assert {round(mean, 9) for mean in draws[:, 0]} == possible
    assert np.allclose(draws[:, 1], 10 * draws[:, 0])


def test_resampled_means_have_the_spread_scipy_finds() -> None:
    """Mean and standard error of the draws agree with scipy.stats.bootstrap."""
    values = np.random.default_rng(0).gamma(2, 1, (40, 1))
    ours = r.resampled_means(values, draws=20_000, rng=np.random.default_rng(1))
    theirs = stats.bootstrap(
        (values[:, 0],), np.mean, n_resamples=20_000, rng=np.random.default_rng(2)
    )
    assert ours.mean() == pytest.approx(values.mean(), abs=0.01)
    assert ours.std(ddof=1) == pytest.approx(theirs.standard_error, rel=0.03)


@pytest.mark.parametrize("step", [1.0, 0.1, 0.01, 1 / 3])
def test_grid_and_plain_arithmetic_agree(step: float) -> None:
    """Short decimals are summed as whole numbers, others as they are; the means are the same either way."""
    values = np.random.default_rng(0).integers(1, 100, (30, 3)) * step
    fast = r.resampled_means(values, draws=200, rng=np.random.default_rng(3))
    rng = np.random.default_rng(3)
    picks = rng.integers(0, 30, (200, 30), dtype=np.uint16)
    assert np.allclose(fast, values[picks].mean(axis=1), atol=1e-12)


def test_a_hole_leaves_only_its_method() -> None:
    """A method's mean is over the drawn items it has; a draw with none of them gives no number."""
    values = np.array([[1.0, np.nan], [3.0, 5.0]])
    draws = r.resampled_means(values, draws=400, rng=np.random.default_rng(0))
    assert set(draws[:, 0]) == {1.0, 2.0, 3.0}
    assert np.isnan(draws[draws[:, 0] == 1.0, 1]).all()
    assert (draws[draws[:, 0] > 1.0, 1] == 5.0).all()


def test_tasks_are_drawn_within_and_weigh_the_same() -> None:
    """With the mean over tasks, a task of one item always counts half of two."""
    values = np.array([[0.0], [10.0], [100.0]])
    draws = r.resampled_task_means(
        values, np.array([0, 0, 1]), draws=300, rng=np.random.default_rng(0)
    )
    assert set(draws[:, 0]) == {50.0, 52.5, 55.0}


@given(st.lists(st.integers(10, 100), min_size=1, max_size=8))
def test_ranks_match_the_obvious_version(tenths: list[int]) -> None:
    """A rank is one more than the number of higher means, and sums that differ by noise share it."""
    means = [t / 10 + (1e-13 if k % 2 else 0.0) for k, t in enumerate(tenths)]
    assert r.ranks(np.array([means]))[0].tolist() == slow_ranks([t / 10 for t in tenths])


def test_sums_of_decimals_that_are_equal_tie() -> None:
    """0.1 + 0.2 and 0.3 share a rank although their floats differ."""
    assert r.ranks(np.array([[0.1 + 0.2, 0.3, 0.2]]))[0].tolist() == [1, 1, 3]


def test_few_items_cut_off_less_than_many() -> None:
    """The percentiles widen as Student's t does, and come to 2.5% for many items."""
    cuts = [r.tail([n], level=0.95) for n in (3, 10, 100, 100_000)]
    assert cuts == sorted(cuts)
    assert cuts[-1] == pytest.approx(0.025, abs=1e-4)
    assert r.tail([10], level=0.95) == pytest.approx(
        stats.norm.cdf(-stats.t.ppf(0.975, 9) * (10 / 9) ** 0.5)
    )


def test_one_value_has_no_interval() -> None:
    """From a single score no interval can be made, and none is."""
    column = np.array([np.nan, 4.0, np.nan])
    assert r.cut_of(column, None, level=0.95) is None
    assert r.interval_of(column, None, np.array([4.0, 4.0]), level=0.95) is None


def test_rank_intervals_are_whole_ranks() -> None:
    """The interval of a rank ends at ranks that were drawn."""
    draws = np.array([1] * 90 + [2] * 8 + [5] * 2)
    assert r.rank_interval(draws, cut=0.025) == (1, 2)
    assert r.rank_interval(draws, cut=0.0) == (1, 5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(-5, 5))
def test_adding_a_constant_moves_every_draw_by_it(seed: int, constant: int) -> None:
    """Shifting all scores shifts all resampled means and changes no rank."""
    values = np.round(np.random.default_rng(seed).uniform(1, 10, (7, 4)), 1)
    first = r.resampled_means(values, draws=50, rng=np.random.default_rng(1))
    second = r.resampled_means(values + constant, draws=50, rng=np.random.default_rng(1))
    assert np.allclose(first + constant, second, atol=1e-9)
    assert (r.ranks(first) == r.ranks(second)).all()


def test_the_interval_of_the_mean_holds_the_truth_about_95_times_in_100() -> None:
    """Simulated with 12 items, the 95% interval covers the true mean between 93% and 97% of the time."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(1_500):
        values = np.round(rng.normal(6.5, 1.5, (12, 1)), 1)
        draws = r.resampled_means(values, draws=600, rng=rng)
        low, high = r.interval_of(values[:, 0], None, draws[:, 0], level=0.95) or (0.0, 0.0)
        held += low <= 6.5 <= high
    assert 0.93 <= held / 1_500 <= 0.97
