"""Pairwise differences, against slow and obvious versions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

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


def compared(values: np.ndarray, **options: object) -> d.Differences:
    names = [f"m{k}" for k in range(values.shape[1])]
    settings_ = {
        "strata": None,
        "level": 0.95,
        "draws": 2_000,
        "rng": np.random.default_rng(0),
        **options,
    }
    return d.differences(values, names, **settings_)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-30, 30), min_size=1, max_size=9))
def test_small_samples_get_the_exact_p(tenths: list[int]) -> None:
    """Up to 16 items every sign pattern counts, as in the slow version."""
    gaps = [t / 10 for t in tenths]
    p = d.permutation_p(np.array(gaps)[:, None], draws=0, rng=np.random.default_rng(0))
    assert p[0] == pytest.approx(slow_p(gaps))


def test_exact_p_agrees_with_scipy() -> None:
    """scipy's paired permutation test of the mean difference gives the same p."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(6, 1, 9), rng.normal(5.5, 1, 9)
    theirs = stats.permutation_test(
        (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=10_000
    )
    p = d.permutation_p((a - b)[:, None], draws=0, rng=rng)
    assert p[0] == pytest.approx(theirs.pvalue)


def test_many_items_get_a_sampled_p_near_the_t_test() -> None:
    """With 60 items the sampled test agrees with the paired t-test, and never says zero."""
    rng = np.random.default_rng(1)
    gaps = rng.normal(0.3, 1, (60, 2))
    gaps[:, 1] += 5
    p = d.permutation_p(gaps, draws=20_000, rng=rng)
    assert p[0] == pytest.approx(stats.ttest_1samp(gaps[:, 0], 0).pvalue, abs=0.01)
    assert p[1] == pytest.approx(1 / 20_001)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_matches_the_obvious_version(p: list[float]) -> None:
    """Holm's correction is the step-down maximum, capped at 1."""
    assert d.holm(np.array(p)).tolist() == pytest.approx(slow_holm(p))


def test_differences_are_over_the_items_both_have() -> None:
    """A hole in one method takes the item out of its pairs, and out of no other pair."""
    values = np.array([[5.0, 4.0, 1.0], [6.0, np.nan, 2.0], [7.0, 5.0, 3.0]])
    found = {(p.first, p.second): p for p in compared(values).pairs}
    assert (found["m0", "m1"].n, found["m0", "m1"].difference) == (2, pytest.approx(1.5))
    assert (found["m0", "m2"].n, found["m0", "m2"].difference) == (3, pytest.approx(4.0))


def test_the_win_matrix_counts_items_won() -> None:
    """A row's method beat a column's on so many items; ties count for neither."""
    values = np.array([[5.0, 4.0], [3.0, 4.0], [4.0, 4.0], [6.0, 4.0]])
    found = compared(values)
    assert found.win_matrix() == [[None, 2], [1, None]]
    assert found.pairs[0].ties == 1


def test_without_items_in_common_there_is_no_p() -> None:
    """Two methods that share no item are not compared, and nothing is made up."""
    pair = compared(np.array([[5.0, np.nan], [np.nan, 4.0]])).pairs[0]
    assert (pair.n, pair.difference, pair.interval, pair.p, pair.p_holm) == (
        0,
        None,
        None,
        None,
        None,
    )


def test_letters_are_shared_exactly_by_those_not_apart() -> None:
    """Two methods share a letter when, and only when, they were not told apart."""
    names = ["A", "B", "C", "D", "E"]
    for mask in range(1 << 10):
        pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
        apart = {pair for k, pair in enumerate(pairs) if mask >> k & 1}
        found = d.letters(names, apart)
        for a, b in pairs:
            assert bool(set(found[a]) & set(found[b])) != ((a, b) in apart)


def test_many_methods_are_compared_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs are worked off in parts; the parts change no difference, no exact p and no correction."""
    values = np.round(np.random.default_rng(4).uniform(1, 10, (9, 7)), 1)
    whole = compared(values)
    monkeypatch.setattr(d, "_PAIRS", 4)
    parts = compared(values)
    assert [(p.difference, p.p, p.p_holm) for p in parts.pairs] == [
        (p.difference, p.p, p.p_holm) for p in whole.pairs
    ]


def test_relabelling_methods_changes_only_labels() -> None:
    """The order in which methods come makes no difference to any pair."""
    values = np.round(np.random.default_rng(2).uniform(1, 10, (10, 3)), 1)
    ours = {frozenset((p.first, p.second)): abs(p.difference or 0) for p in compared(values).pairs}
    turned = d.differences(
        values[:, [2, 0, 1]],
        ["m2", "m0", "m1"],
        strata=None,
        level=0.95,
        draws=100,
        rng=np.random.default_rng(0),
    )
    for pair in turned.pairs:
        assert abs(pair.difference or 0) == pytest.approx(
            ours[frozenset((pair.first, pair.second))]
        )


def test_means_over_tasks_weigh_tasks_alike() -> None:
    """With strata, the difference is the mean of the tasks' differences."""
    values = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [9.0, 0.0]])
    found = compared(values, strata=np.array([0, 0, 0, 1]))
    assert found.pairs[0].difference == pytest.approx(5.0)
    assert compared(values).pairs[0].difference == pytest.approx(3.0)
