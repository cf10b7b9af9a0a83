"""The statistics against published figures, against scipy and against slow, obvious versions."""

from __future__ import annotations

import itertools

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lmmscore.agreement import correlation, counted, levels, pairs, people, soft
from lmmscore.agreement.arrays import Floats, snap
from lmmscore.agreement.bootstrap import count_indices, intervals, intervals_from
from lmmscore.agreement.pairing import Paired
from lmmscore.agreement.people import Ratings
from lmmscore.agreement.rows import Measure

GRIDS = st.integers(3, 25).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(1, 7), min_size=n, max_size=n),
        st.lists(st.integers(1, 7), min_size=n, max_size=n),
    )
)


def synthetic() -> Paired:
    """Four methods on ten items, by a formula."""
    edits = [
        {"item": f"{i}", "method": f"m{s}", "task": "", "judge": (5 * i + 2 * s) % 13 + 0.5 * s,
         "people": float((7 * i + 3 * s) % 11 + s)}
        for i in range(10)
        for s in range(4)
    ]  # fmt: skip
    return Paired(pd.DataFrame(edits), {}, pd.DataFrame(columns=["item"]))


def value(measures: list[Measure], statistic: str) -> float:
    """The value of one statistic."""
    return next(measure.value for measure in measures if measure.statistic == statistic)


def test_levels_give_the_figures_of_the_synthetic_check() -> None:
    """The same numbers give 0.194, 0.175 or 0.941, depending on the level: each is right, and each is named."""
    paired = synthetic()
    pooled, within = levels.item_level(paired), levels.within_item(paired)
    by_method = levels.method_level(
        paired, lambda items: soft.sign_flips(items, np.random.default_rng(0))
    )
    assert value(within, "pearson") == pytest.approx(0.194398238, abs=1e-9)
    assert value(pooled, "pearson") == pytest.approx(0.174890068, abs=1e-9)
    assert value(by_method, "pearson") == pytest.approx(0.940543381, abs=1e-9)
    assert value(within, "spearman") == pytest.approx(0.24, abs=1e-12)
    assert value(within, "pairwise_accuracy_calibrated") == pytest.approx(0.616666667, abs=1e-9)
    assert value(by_method, "soft_pairwise_accuracy") == pytest.approx(0.85205078125, abs=1e-12)


@given(GRIDS)
@settings(max_examples=60, deadline=None)
def test_correlations_are_scipys(columns: tuple[list[int], list[int]]) -> None:
    """Spearman, Pearson and τ-b are what scipy gives, with ties; a constant side gives no number."""
    x, y = (np.array(column, dtype=float) for column in columns)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(
            [correlation.spearman(x, y), correlation.pearson(x, y), correlation.kendall_b(x, y)]
        ).all()
        assert "gave every edit" in correlation.reason_undefined(x, y)
        return
    assert correlation.spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert correlation.pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert correlation.kendall_b(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


@given(GRIDS, st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_counts_give_what_a_built_resample_gives(
    columns: tuple[list[int], list[int]], seed: int
) -> None:
    """Every statistic of counts equals the plain statistic of the resample those counts describe."""
    x, y = (np.array(column, dtype=float) for column in columns)
    item = np.random.default_rng(seed).integers(0, 4, len(x))
    item = np.unique(item, return_inverse=True)[1]
    counts = np.random.default_rng(seed).integers(0, 3, (6, item.max() + 1)).astype(float)
    for name in ("spearman", "pearson"):
        found = getattr(counted, name)(x, y, item)(counts)
        for row, drawn in zip(counts, found, strict=True):
            built = np.repeat(np.arange(len(x)), row[item].astype(int))
            plain = correlation.STATISTICS[name](x[built], y[built])
            assert drawn == pytest.approx(plain, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("whole_numbers", [True, False])
def test_intervals_are_scipys_on_identical_resamples(whole_numbers: bool) -> None:
    """Replicates, percentile and BCa limits agree with scipy.stats.bootstrap when both use the same draws."""
    rng = np.random.default_rng(3)
    x = rng.integers(1, 8, 50).astype(float) if whole_numbers else rng.normal(size=50)
    y = (
        np.clip(np.round(x + rng.normal(size=50)), 1, 7)
        if whole_numbers
        else x + rng.normal(size=50)
    )

    def spearman(a: Floats, b: Floats) -> float:
        return float(stats.spearmanr(a, b).statistic)

    indices = np.random.default_rng(8).integers(0, 50, (300, 50))
    of = counted.spearman(x, y, np.arange(50))
    ours = intervals_from({"": of}, np.ones(50, dtype=np.int64), [lambda: count_indices(indices)])[
        ""
    ]
    for method in ("BCa", "percentile"):
        theirs = stats.bootstrap(
            (x, y), spearman, paired=True, vectorized=False, n_resamples=300, method=method,
            rng=np.random.default_rng(8),
        )  # fmt: skip
        assert of(count_indices(indices)) == pytest.approx(theirs.bootstrap_distribution, abs=1e-12)
        limits = ours.bca if method == "BCa" else ours.percentile
        assert limits == pytest.approx(tuple(theirs.confidence_interval), abs=1e-12)


def test_the_contingency_table_has_the_jackknife_of_single_edits() -> None:
    """Collapsed to cells, leaving out one edit of each cell gives the same acceleration as leaving out each edit."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(1, 4, 60).astype(float), rng.integers(1, 4, 60).astype(float)
    a, b, multiplicity = counted.collapse(x, y)
    draws = np.random.default_rng(1).integers(0, 60, (400, 60))
    singles = intervals_from(
        {"": counted.spearman(x, y, np.arange(60))},
        np.ones(60, dtype=np.int64),
        [lambda: count_indices(draws)],
    )[""]
    cell = np.array([np.flatnonzero((a == x[k]) & (b == y[k]))[0] for k in range(60)])
    table = np.stack([np.bincount(cell[row], minlength=len(a)) for row in draws]).astype(float)
    cells = intervals_from(
        {"": counted.spearman(a, b, np.arange(len(a)))}, multiplicity, [lambda: table]
    )[""]
    assert cells.bca == pytest.approx(singles.bca, abs=1e-12)
    assert cells.value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


def test_an_interval_does_not_depend_on_the_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same seed gives the same interval on any machine."""
    monkeypatch.setattr("lmmscore.agreement.bootstrap.MANY_CHUNKS", 0)
    x, y = np.random.default_rng(0).normal(size=(2, 300))
    of, once = {"": counted.spearman(x, y, np.arange(300))}, np.ones(300, dtype=np.int64)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    alone = intervals(of, once, resamples=500, rng=np.random.default_rng(4))
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert intervals(of, once, resamples=500, rng=np.random.default_rng(4)) == alone


def test_a_cluster_is_drawn_whole() -> None:
    """Items whose edits are copies of each other give a wider interval than as many independent edits would."""
    rng = np.random.default_rng(0)
    x, y = np.repeat(rng.normal(size=(2, 20)), 8, axis=1)
    item = np.repeat(np.arange(20), 8)
    clustered = intervals(
        {"": counted.pearson(x, y, item)}, np.ones(20, dtype=np.int64), resamples=800, rng=rng
    )[""]
    loose = intervals(
        {"": counted.pearson(x, y, np.arange(160))},
        np.ones(160, dtype=np.int64),
        resamples=800,
        rng=rng,
    )[""]
    width = [high - low for low, high in (clustered.percentile, loose.percentile)]
    assert width[0] > 2 * width[1]


def test_ties_do_not_hang_on_the_last_bit() -> None:
    """Two overalls equal on paper are a tie, though their floats differ."""
    values = np.array([0.1 + 0.2, 0.3, 0.5])
    assert values[0] != values[1]
    assert snap(values)[0] == snap(values)[1]


def slow_accuracy(x: Floats, y: Floats, threshold: float) -> float:
    """Pairwise accuracy, pair by pair."""
    right = [
        (0 if abs(x[a] - x[b]) <= threshold else np.sign(x[a] - x[b])) == np.sign(y[a] - y[b])
        for a, b in itertools.combinations(range(len(x)), 2)
    ]
    return float(np.mean(right))


@given(GRIDS)
@settings(max_examples=50, deadline=None)
def test_calibration_finds_the_best_threshold(columns: tuple[list[int], list[int]]) -> None:
    """The calibrated accuracy is the greatest over all thresholds, and never below the plain one."""
    x, y = (np.array(column, dtype=float) for column in columns)
    threshold = pairs.calibrate(x, y)
    assert threshold is not None
    best = max(slow_accuracy(x, y, limit) for limit in range(7))
    assert pairs.accuracy(x, y, threshold) == pytest.approx(best, abs=1e-12)
    assert pairs.accuracy(x, y, 0.0) == pytest.approx(slow_accuracy(x, y, 0), abs=1e-12)


def test_pairwise_accuracy_counts_a_tie_in_both_as_agreement() -> None:
    """Two edits that judge and people find equal are a pair judged correctly."""
    assert pairs.accuracy(np.array([3.0, 3.0]), np.array([5.0, 5.0]), 0.0) == 1
    assert pairs.accuracy(np.array([3.0, 3.0]), np.array([5.0, 6.0]), 0.0) == 0


def test_soft_accuracy_leaves_a_pair_without_shared_items_out() -> None:
    """Methods never edited the same item cannot be compared; the rest still can."""
    judge = np.array([[1, 2, np.nan], [2, 4, np.nan], [np.nan, 3, 5.0], [np.nan, 2, 6.0]])
    flips = soft.sign_flips(4, np.random.default_rng(0))
    assert soft.soft_pairwise_accuracy(judge, judge, flips) == 1
    alone = np.array([[1.0, np.nan], [np.nan, 2.0]])
    assert np.isnan(
        soft.soft_pairwise_accuracy(alone, alone, soft.sign_flips(2, np.random.default_rng(0)))
    )


def some_ratings(seed: int) -> Ratings:
    """Ratings of 30 edits of 10 items by some of 6 raters each."""
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 8, (30, 6))
    edit, rater = np.nonzero(rng.random((30, 6)) < 0.6)
    edit = np.unique(edit, return_inverse=True)[1]
    return Ratings(
        table[edit, rater].astype(float), edit, edit // 3, np.unique(rater, return_inverse=True)[1]
    )


@pytest.mark.parametrize("seed", range(4))
def test_alpha_of_counts_is_krippendorffs(seed: int) -> None:
    """The fast form used in resamples gives the value of the krippendorff package."""
    ratings = some_ratings(seed)
    items = int(ratings.item.max()) + 1
    fast = people.alpha_of_counts(ratings, items)(np.ones((1, items)))[0]
    assert fast == pytest.approx(people.alpha_interval(ratings), abs=1e-12)
    table = np.full((6, ratings.edits), np.nan)
    table[ratings.rater, ratings.edit] = ratings.value
    plain = krippendorff.alpha(reliability_data=table, level_of_measurement="interval")
    assert fast == pytest.approx(plain, abs=1e-12)


def test_icc_is_the_one_way_analysis_of_variance() -> None:
    """With equal groups ICC(1) is (MSB − MSW) / (MSB + (k − 1) MSW), from scipy's F."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(12, 4)) + rng.normal(size=(12, 1))
    edit = np.repeat(np.arange(12), 4)
    ratings = Ratings(table.ravel(), edit, edit, np.tile(np.arange(4), 12))
    f = stats.f_oneway(*table).statistic
    whole = np.ones((1, 12))
    assert people.icc_of_counts(ratings, 12, averaged=False)(whole)[0] == pytest.approx(
        (f - 1) / (f + 3)
    )
    assert people.icc_of_counts(ratings, 12, averaged=True)(whole)[0] == pytest.approx((f - 1) / f)


def test_the_ceiling_is_taken_within_raters() -> None:
    """Raters who agree perfectly but differ in leniency reach 1; pooled over raters they would not."""
    quality = np.array([1.0, 2, 3, 4, 5, 6])
    edit, rater = np.tile(np.arange(6), 3), np.repeat(np.arange(3), 6)
    ratings = Ratings(quality[edit] + 10.0 * rater, edit, edit, rater)
    beside = people.beside_others(ratings, None)
    assert people.rater_spearmans(beside, judge=False).tolist() == [1, 1, 1]
    own = np.concatenate([one.own for one in beside])
    others = np.concatenate([one.others for one in beside])
    assert stats.spearmanr(own, others).statistic < 0


def test_the_normal_form_of_soft_accuracy_is_near_the_permutations() -> None:
    """What resamples use in place of permutations differs from them by little."""
    rng = np.random.default_rng(0)
    people_scores = rng.normal(size=(40, 5)) + np.linspace(0, 1, 5)
    judge_scores = people_scores + rng.normal(size=(40, 5))
    exact = soft.soft_pairwise_accuracy(judge_scores, people_scores, soft.sign_flips(40, rng))
    near = soft.soft_of_counts(judge_scores, people_scores)(np.ones((1, 40)))[0]
    assert near == pytest.approx(exact, abs=0.01)
