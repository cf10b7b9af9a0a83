"""Permutation tests, corrections and what follows from them, against slow and obvious versions."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lmmscore import stats as resampling
from lmmscore.leaderboard import differences as d


def slow_p(gaps: list[float]) -> float:
    observed = abs(sum(gaps))
    sums = [
        abs(sum(s * g for s, g in zip(signs, gaps, strict=True)))
        for signs in product((1, -1), repeat=len(gaps))
    ]
    return sum(total >= observed - 1e-9 for total in sums) / len(sums)


def slow_holm(p: list[float]) -> list[float]:
    order = sorted(range(len(p)), key=lambda k: p[k])
    found, highest = [0.0] * len(p), 0.0
    for step, k in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - step) * p[k]))
        found[k] = highest
    return found


def p_of(values: np.ndarray, draws: int = 2_000, strata: np.ndarray | None = None) -> np.ndarray:
    pairs = list(combinations(range(values.shape[1]), 2))
    rng = np.random.default_rng(0)
    return resampling.sign_flip_p(values, pairs, strata, draws=draws, rng=rng)


def compared(values: np.ndarray, **options: object) -> d.Differences:
    names = [f"m{k}" for k in range(values.shape[1])]
    chosen = {"strata": None, "level": 0.95, "draws": 2_000, "rng": np.random.default_rng(0)}
    found = d.differences(values, names, **{**chosen, **options})  # type: ignore[arg-type]
    return d.corrected([found])[0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-30, 30)] * 3), min_size=1, max_size=9))
def test_small_samples_get_the_exact_p(tenths: list[tuple[int, int, int]]) -> None:
    """Up to 16 items every sign pattern counts, for each pair as in the slow version."""
    values = np.array(tenths) / 10
    for (a, b), p in zip(combinations(range(3), 2), p_of(values), strict=True):
        assert p == pytest.approx(slow_p(list(values[:, a] - values[:, b])))


def test_missing_scores_leave_an_item_out_of_their_pairs_alone() -> None:
    """A pair is tested on the items both have, others on all of theirs."""
    rng = np.random.default_rng(3)
    values = np.round(rng.uniform(1, 10, (9, 3)), 1)
    values[[1, 4], 0] = np.nan
    found = p_of(values)
    for (a, b), p in zip(combinations(range(3), 2), found, strict=True):
        gaps = values[:, a] - values[:, b]
        assert p == pytest.approx(slow_p(list(gaps[np.isfinite(gaps)])))


def slow_p_over_tasks(gaps: np.ndarray, strata: np.ndarray) -> float:
    weighed = []
    for task in np.unique(strata):
        part = gaps[(strata == task) & np.isfinite(gaps)]
        weighed += list(part / len(part))
    return slow_p(weighed)


def test_means_over_tasks_are_tested_with_their_weights() -> None:
    """With strata, an item of a small task weighs more, in complete pairs and in incomplete ones."""
    values = np.round(np.random.default_rng(1).uniform(1, 10, (8, 3)), 2)
    values[0, 2] = np.nan
    strata = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    found = p_of(values, strata=strata)
    for (a, b), p in zip(combinations(range(3), 2), found, strict=True):
        assert p == pytest.approx(slow_p_over_tasks(values[:, a] - values[:, b], strata))


@pytest.mark.parametrize("seed", range(6))
def test_weights_that_end_in_no_decimal_keep_their_ties(seed: int) -> None:
    """Of seven items per task each method has five and both have three: their gaps weigh a third,
    though every single score weighs a fifth."""
    values = np.random.default_rng(seed).integers(1, 11, (14, 2)).astype(float)
    values[[0, 1, 7, 8], 0] = np.nan
    values[[5, 6, 12, 13], 1] = np.nan
    strata = np.repeat([0, 1], 7)
    expected = slow_p_over_tasks(values[:, 0] - values[:, 1], strata)
    assert p_of(values, strata=strata)[0] == pytest.approx(expected)


def test_exact_p_agrees_with_scipy() -> None:
    """scipy's paired permutation test of the mean difference gives the same p."""
    rng = np.random.default_rng(0)
    values = rng.normal(6, 1, (9, 2))
    theirs = stats.permutation_test(
        (values[:, 0], values[:, 1]),
        lambda x, y: np.mean(x - y),
        permutation_type="samples",
        n_resamples=10_000,
    )
    assert p_of(values)[0] == pytest.approx(theirs.pvalue)


def test_many_items_get_a_sampled_p_near_the_t_test() -> None:
    """With 60 items the sampled test agrees with the paired t-test, and never says zero."""
    rng = np.random.default_rng(1)
    values = rng.normal(0, 1, (60, 3)) + np.array([0.3, 0.0, 5.0])
    p = p_of(values, draws=20_000)
    assert p[0] == pytest.approx(stats.ttest_rel(values[:, 0], values[:, 1]).pvalue, abs=0.01)
    assert p[1] == pytest.approx(1 / 20_001)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_matches_the_obvious_version(p: list[float]) -> None:
    """Holm's correction is the step-down maximum, capped at 1."""
    assert resampling.holm(np.array(p)).tolist() == pytest.approx(slow_holm(p))


def test_draws_suffice_for_the_correction() -> None:
    """With 34 methods clear differences are significant, however few draws are asked for."""
    rng = np.random.default_rng(0)
    values = rng.normal(0, 0.5, (40, 34)) + 3 * np.arange(34)
    tests = 34 * 33 // 2
    draws = resampling.draws_needed(tests, 0.05, 1_000)
    assert draws >= 10 * tests / 0.05
    assert len(compared(values, draws=draws).significant()) == tests


def test_the_fewest_items_are_those_whose_least_p_passes() -> None:
    """One fewer could never be significant; with these, all differences of one sign are."""
    for tests in (1, 3, 45, 561):
        n = resampling.fewest_items(tests, 0.05)
        assert 2.0 ** (1 - n) * tests <= 0.05 < 2.0 ** (2 - n) * tests


def test_differences_are_over_the_items_both_have() -> None:
    """A missing score takes the item out of its method's pairs, and out of no other pair."""
    values = np.array([[5.0, 4.0, 1.0], [6.0, np.nan, 2.0], [7.0, 5.0, 3.0]])
    found = {(p.first, p.second): p for p in compared(values).pairs}
    assert (found["m0", "m1"].n, found["m0", "m1"].difference) == (2, pytest.approx(1.5))
    assert (found["m0", "m2"].n, found["m0", "m2"].difference) == (3, pytest.approx(4.0))


def test_intervals_of_differences_are_students() -> None:
    """On complete data the interval is that of the paired t-test."""
    values = np.random.default_rng(5).normal(5, 1, (12, 2))
    theirs = stats.ttest_rel(values[:, 0], values[:, 1]).confidence_interval()
    assert compared(values).pairs[0].interval == pytest.approx((theirs.low, theirs.high))


def test_the_win_matrix_counts_items_won() -> None:
    """A row's method beat a column's on so many items; ties count for neither."""
    found = compared(np.array([[5.0, 4.0], [3.0, 4.0], [4.0, 4.0], [6.0, 4.0]]))
    assert found.win_matrix() == [[None, 2], [1, None]]
    assert found.pairs[0].ties == 1


def test_without_items_in_common_there_is_no_p() -> None:
    """Two methods that share no item are not compared, and nothing is made up."""
    pair = compared(np.array([[5.0, np.nan], [np.nan, 4.0]])).pairs[0]
    assert (pair.n, pair.difference, pair.interval, pair.p, pair.p_holm) == (0, *[None] * 4)


def test_letters_are_shared_exactly_by_those_not_apart() -> None:
    """Two methods share a letter if, and only if, their difference is not significant."""
    names = ["A", "B", "C", "D", "E"]
    pairs = list(combinations(names, 2))
    for mask in range(1 << 10):
        apart = {pair for k, pair in enumerate(pairs) if mask >> k & 1}
        found = resampling.letters(names, apart)
        for a, b in pairs:
            assert bool(set(found[a]) & set(found[b])) != ((a, b) in apart)


def test_rank_limits_count_those_surely_better_and_surely_worse() -> None:
    """One is surely better than C, and C surely better than D: C is second or third of four."""
    found = resampling.rank_limits(["A", "B", "C", "D"], {("A", "C"), ("C", "D"), ("A", "D")})
    assert found == {"A": (1, 2), "B": (1, 4), "C": (2, 3), "D": (3, 4)}


def test_many_raters_are_corrected_for() -> None:
    """A single p of 0.03 among ten does not survive the Benjamini–Yekutieli correction."""
    assert resampling.benjamini_yekutieli(np.array([0.03]), 0.05).sum() == 1
    assert resampling.benjamini_yekutieli(np.array([0.03, *np.full(9, 0.9)]), 0.05).sum() == 0


def test_flipping_item_values_is_a_sign_test_of_their_mean() -> None:
    """All of 12 items in favour of one judge: p is near 2 / 2¹²."""
    gap = resampling.flip_difference(np.full(12, 0.5))
    p = resampling.swap_p(gap, 12, draws=9_999, rng=np.random.default_rng(0))
    assert p == pytest.approx(2 / 2**12, abs=1e-3)


def test_a_correction_over_several_tables_is_stricter() -> None:
    """Corrected together, no p is lower than corrected table by table."""
    rng = np.random.default_rng(0)
    tables = [compared(rng.normal(0, 1, (12, 3)) + np.array([0, 0.8, 1.6])) for _ in range(3)]
    together = d.corrected(tables)
    for alone, both in zip(tables, together, strict=True):
        assert both.tests == 9
        for one, two in zip(alone.pairs, both.pairs, strict=True):
            assert (two.p_holm or 0) >= (one.p_holm or 0)
