"""The statistics against scipy, against published figures and against slow, obvious versions."""

from __future__ import annotations

import itertools
import math

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lmmscore import stats as resampling
from lmmscore.stats import Floats, Ints, correlation, item_weights, ranks, snap
from lmmscore.stats.correlation import Ratings, Within

COLUMNS = st.integers(3, 25).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(1, 7), min_size=n, max_size=n),
        st.lists(st.integers(1, 7), min_size=n, max_size=n),
    )
)


def arrays(columns: tuple[list[int], list[int]]) -> tuple[Floats, Floats]:
    return np.array(columns[0], dtype=float), np.array(columns[1], dtype=float)


def made_up(
    seed: int, items: int = 7, methods: int = 4, steps: int = 5
) -> tuple[Floats, Floats, Ints]:
    """Scores with ties, of items with unequal numbers of edits."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), rng.integers(1, methods + 1, items))
    judge, people = rng.integers(0, steps, (2, len(item))) / 2
    return judge, people, item


def kept_rows(items: int, seed: int, rows: int = 8) -> Floats:
    """Counts that leave some items out."""
    return np.random.default_rng(seed).integers(0, 2, (rows, items)).astype(float)


@given(COLUMNS)
@settings(max_examples=60, deadline=None)
def test_correlations_are_scipys(columns: tuple[list[int], list[int]]) -> None:
    """Spearman, Pearson and τ-b are what scipy gives, ties included; a constant side gives none."""
    x, y = arrays(columns)
    ours = [correlation.spearman(x, y), correlation.pearson(x, y), correlation.kendall_b(x, y)]
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(ours).all()
        assert "gave every edit" in correlation.reason_undefined(x, y)
        return
    theirs = [stats.spearmanr(x, y), stats.pearsonr(x, y), stats.kendalltau(x, y)]
    assert ours == pytest.approx([one.statistic for one in theirs], abs=1e-12)


@given(COLUMNS, st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_counts_give_what_the_edits_left_give(
    columns: tuple[list[int], list[int]], seed: int
) -> None:
    """A statistic of counts equals the plain statistic of the edits those counts leave."""
    x, y = arrays(columns)
    item = np.unique(np.random.default_rng(seed).integers(0, 4, len(x)), return_inverse=True)[1]
    items = int(item.max()) + 1
    rows = np.random.default_rng(seed).integers(0, 3, (6, items)).astype(float)
    for name, plain in (("spearman", correlation.spearman), ("pearson", correlation.pearson)):
        found = getattr(resampling, f"{name}_of_counts")(x, y, item, items)(rows)
        for row, value in zip(rows, found, strict=True):
            built = np.repeat(np.arange(len(x)), row[item].astype(int))
            assert value == pytest.approx(plain(x[built], y[built]), abs=1e-9, nan_ok=True)


def slow_pairs(judge: Floats, people: Floats, threshold: float) -> list[float]:
    """τ-b and the three accuracies, pair by pair."""
    right, calibrated, ordered = [], [], []
    for a, b in itertools.combinations(range(len(judge)), 2):
        gap, order = judge[a] - judge[b], np.sign(people[a] - people[b])
        right.append(np.sign(gap) == order)
        calibrated.append((0 if abs(gap) <= threshold else np.sign(gap)) == order)
        if gap and order:
            ordered.append(np.sign(gap) == order)
    shares = [np.mean(one) if one else math.nan for one in (right, calibrated, ordered)]
    varied = len(set(judge)) > 1 and len(set(people)) > 1
    tau = stats.kendalltau(judge, people).statistic if varied else math.nan
    return [float(tau), *map(float, shares)]


@pytest.mark.parametrize("grid", [True, False])
@given(seed=st.integers(0, 10_000), threshold=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=25, deadline=None)
def test_pairs_of_counts_are_those_of_the_edits_left(
    grid: bool, seed: int, threshold: float
) -> None:
    """Both tables give τ-b and every accuracy exactly."""
    judge, people, item = made_up(seed)
    items = int(item.max()) + 1
    rows = kept_rows(items, seed)
    edits = correlation.scored_pairs(judge, people, item, items, threshold)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlation, "_GRID_CELLS", 1_000_000 if grid else 0)
        found = correlation.pair_statistics(edits)(rows)
    for row, fast in zip(rows, found.T, strict=True):
        left = row[item] > 0
        slow = slow_pairs(judge[left], people[left], threshold)
        assert fast == pytest.approx(slow, abs=1e-12, nan_ok=True)


@given(COLUMNS)
@settings(max_examples=50, deadline=None)
def test_calibration_finds_the_best_threshold(columns: tuple[list[int], list[int]]) -> None:
    """The calibrated accuracy is the greatest over all thresholds."""
    x, y = arrays(columns)
    threshold = correlation.calibrate(x, y)
    assert threshold is not None
    best = max(slow_pairs(x, y, limit)[2] for limit in range(7))
    found = correlation.of_pairs(x, y, threshold)
    assert found["pairwise_accuracy_calibrated"] == pytest.approx(best, abs=1e-12)
    assert found["pairwise_accuracy"] == pytest.approx(slow_pairs(x, y, 0)[1], abs=1e-12)


def test_tied_pairs_are_counted_for_both_sides() -> None:
    """Of six pairs the judge ties one and people three."""
    found = correlation.tie_shares(np.array([1.0, 1, 2, 3]), np.array([5.0, 5, 5, 6]))
    assert found == pytest.approx((1 / 6, 3 / 6))


@given(seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_all_items_at_once_are_items_one_by_one(seed: int) -> None:
    """Inside items, every statistic is the plain one of each item; NaN where that is."""
    judge, people, item = made_up(seed)
    place = np.concatenate([np.arange(size) for size in np.bincount(item)])
    grids = np.full((2, item.max() + 1, 4), np.nan)
    grids[0, item, place], grids[1, item, place] = judge, people
    inside = Within(grids[0], grids[1])
    single = [(judge[item == one], people[item == one]) for one in range(item.max() + 1)]
    for name, values in inside.correlations().items():
        plain = [getattr(correlation, name)(*one) for one in single]
        assert values == pytest.approx(np.array(plain), abs=1e-12, nan_ok=True)
    both, right = inside.ordered_accuracy()
    for number, one in enumerate(single):
        slow = slow_pairs(*one, 0.5)
        assert inside.accuracy(0.0)[number] == pytest.approx(slow[1], nan_ok=True)
        assert inside.accuracy(0.5)[number] == pytest.approx(slow[2], nan_ok=True)
        if both[number]:
            assert right[number] / both[number] == pytest.approx(slow[3])
    tried = {
        limit: np.nanmean([slow_pairs(*one, limit)[2] for one in single] or [0])
        for limit in (0.0, 0.5, 1.0, 1.5, 2.0)
    }
    best = correlation.best_threshold(*inside.gains())
    assert tried[best] == pytest.approx(max(tried.values()), abs=1e-12)


@pytest.mark.parametrize("block", [1, 50, 10_000])
def test_groups_ranked_together_are_groups_ranked_alone(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However groups are put into blocks, each one's ρ is that of the group alone."""
    monkeypatch.setattr(resampling, "_BLOCK_EDITS", block)
    monkeypatch.setattr(resampling, "_AT_ONCE", 400)
    rng = np.random.default_rng(0)
    item = [np.sort(rng.integers(0, 30, size)) for size in (25, 2, 60, 9)]
    others, own, judge = ([rng.integers(0, 8, len(one)) / 2 for one in item] for _ in range(3))
    rows = kept_rows(30, 1, rows=40)
    found = resampling.GroupRanks(others, [own, judge], item, 30).of(rows)
    for side, columns in enumerate((own, judge)):
        for group, column in enumerate(columns):
            for row, value in zip(rows, found[side, group], strict=True):
                left = row[item[group]] > 0
                plain = correlation.spearman(column[left], others[group][left])
                assert value == pytest.approx(plain, abs=1e-12, nan_ok=True)


def test_williams_gives_the_textbook_value() -> None:
    """Steiger's (1980) example: r = .40 and .50, .10 between them, n = 103: t = −0.89."""
    test = correlation.williams(0.4, 0.5, 0.1, 103)
    assert test is not None
    assert (test.t, test.df) == (pytest.approx(-0.8913, abs=5e-4), 100)
    assert test.p == pytest.approx(2 * stats.t.sf(abs(test.t), 100))
    assert correlation.williams(1.0, 1.0, 1.0, 50) is None
    assert correlation.williams(0.4, 0.5, 0.1, 3) is None


def test_the_fisher_average_is_that_of_transformed_values() -> None:
    """tanh of the mean of atanh; a correlation of 1 has none, which is said and not capped."""
    values = np.array([0.1, 0.5, 0.9])
    assert correlation.fisher_mean(values) == pytest.approx(np.tanh(np.arctanh(values).mean()))
    assert math.isnan(correlation.fisher_mean(np.array([0.3, 1.0])))


def test_the_jackknife_of_a_mean_is_its_t_interval() -> None:
    """Leaving single values out of a mean gives exactly Student's interval."""
    values = np.random.default_rng(0).normal(5, 2, 12)
    of = resampling.mean_of(values, np.arange(12), 12)
    found = resampling.item_groups(np.arange(12), np.random.default_rng(0)).interval(
        float(values.mean()), of, "none"
    )
    assert found is not None
    theirs = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert found.limits == pytest.approx(theirs)
    assert resampling.mean_limits(values, None, level=0.95) == pytest.approx(theirs)


def test_leaving_out_is_the_slow_jackknife_on_fishers_scale() -> None:
    """The interval of Spearman equals one made by deleting each item and ranking again."""
    judge, people, item = made_up(5, items=14)
    of = resampling.spearman_of_counts(judge, people, item, 14)
    found = resampling.item_groups(np.arange(14), np.random.default_rng(0)).interval(
        correlation.spearman(judge, people), of, "fisher"
    )
    assert found is not None
    slow = [
        math.atanh(correlation.spearman(judge[item != one], people[item != one]))
        for one in range(14)
    ]
    error = math.sqrt(13 / 14 * sum((z - np.mean(slow)) ** 2 for z in slow))
    centre = math.atanh(correlation.spearman(judge, people))
    reach = stats.t.ppf(0.975, 13) * error
    assert found.limits == pytest.approx((math.tanh(centre - reach), math.tanh(centre + reach)))


def test_many_items_leave_in_groups() -> None:
    """Above 200 items there are 200 groups of nearly equal size, and every item is in one."""
    groups = resampling.item_groups(np.arange(1_003), np.random.default_rng(0))
    sizes = np.bincount(groups.of_item)
    assert groups.number == 200
    assert len(sizes) == 200
    assert set(sizes) == {5, 6}


def test_perfect_agreement_gets_no_interval() -> None:
    """A ρ of 1 on these items is not 1.00 to 1.00 on others."""
    found = resampling.interval_over(8, 1.0, lambda: np.ones(8), "fisher")
    assert found is not None and found.limits is None
    assert "perfect" in found.why


def test_what_rests_on_one_item_gets_no_interval() -> None:
    """Without the only item that the judge scored otherwise there is no ρ, so none has limits.

    From the other replicates it would have them, and the narrower the fewer such items there are:
    in simulations they held in 54% of cases.
    """
    judge, people = np.array([5.0] * 9 + [8.0]), np.arange(10.0)
    of = resampling.spearman_of_counts(judge, people, np.arange(10), 10)
    found = resampling.item_groups(np.arange(10), np.random.default_rng(0)).interval(
        correlation.spearman(judge, people), of, "fisher"
    )
    assert found == resampling.Interval(found.value, why=resampling.UNDEFINED_WITHOUT)


def test_the_mean_over_strata_has_welchs_interval() -> None:
    """Two tasks of two items each: the error is that of the mean of two means."""
    values, strata = np.array([1.0, 3.0, 10.0, 14.0]), np.array([0, 0, 1, 1])
    limits = resampling.mean_limits(values, strata, level=0.95)
    variances = [1.0, 4.0]
    freedom = sum(variances) ** 2 / (1.0 + 16.0)
    reach = stats.t.ppf(0.975, freedom) * math.sqrt(sum(variances)) / 2
    assert limits == pytest.approx((7 - reach, 7 + reach))
    assert resampling.mean_limits(np.array([2.0, 2.0]), None, level=0.95) is None
    assert resampling.mean_limits(np.array([2.0, np.nan]), None, level=0.95) is None


def test_a_stratum_with_one_value_leaves_the_mean_without_an_interval() -> None:
    """The spread inside that task is unknown; to take it for 0 would make the interval too sure."""
    values, strata = np.array([1.0, 3.0, 10.0]), np.array([0, 0, 1])
    assert resampling.mean_limits(values, strata, level=0.95) is None
    assert resampling.mean_limits(values, None, level=0.95) is not None


def test_weights_ranks_and_ties() -> None:
    """Tasks weigh alike, near-equal means share a rank, and a tie hangs on no last bit."""
    values = np.array([[1.0], [1.0], [1.0], [9.0]])
    assert item_weights(values, np.array([0, 0, 0, 1])).ravel() == pytest.approx(
        [1 / 6] * 3 + [0.5]
    )
    assert ranks(np.array([[1.0, 3.0, 3.0 + 1e-12, 2.0]])).tolist() == [[4, 1, 1, 3]]
    same = snap(np.array([0.1 + 0.2, 0.3, 0.5]))
    assert same[0] == same[1]


def some_ratings(seed: int) -> Ratings:
    """Ratings of 30 edits of 10 items by some of 6 raters each."""
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 8, (30, 6))
    edit, rater = np.nonzero(rng.random((30, 6)) < 0.6)
    edit = np.unique(edit, return_inverse=True)[1]
    rater_code = np.unique(rater, return_inverse=True)[1]
    return Ratings(table[edit, rater].astype(float), edit, edit // 3, rater_code)


@pytest.mark.parametrize("seed", range(4))
def test_alpha_is_krippendorffs(seed: int) -> None:
    """The sums of squares give the value of the krippendorff package."""
    ratings = some_ratings(seed)
    items = int(ratings.item.max()) + 1
    table = np.full((6, ratings.edits), np.nan)
    table[ratings.rater, ratings.edit] = ratings.value
    package = krippendorff.alpha(reliability_data=table, level_of_measurement="interval")
    assert correlation.alpha(ratings, items)(np.ones((1, items)))[0] == pytest.approx(package)


def test_icc_is_the_one_way_analysis_of_variance() -> None:
    """With equal groups ICC(1) is (MSB − MSW) / (MSB + (k − 1) MSW), from scipy's F."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(12, 4)) + rng.normal(size=(12, 1))
    edit = np.repeat(np.arange(12), 4)
    ratings = Ratings(table.ravel(), edit, edit, np.tile(np.arange(4), 12))
    f, whole = stats.f_oneway(*table).statistic, np.ones((1, 12))
    single = correlation.icc(ratings, 12, averaged=False)(whole)[0]
    assert single == pytest.approx((f - 1) / (f + 3))
    assert correlation.icc(ratings, 12, averaged=True)(whole)[0] == pytest.approx((f - 1) / f)
    assert correlation.ceiling_of((f - 1) / f) == pytest.approx(math.sqrt((f - 1) / f))


def test_the_ceiling_is_taken_within_raters() -> None:
    """Raters who agree perfectly but differ in leniency reach 1; pooled they would not."""
    quality = np.array([1.0, 2, 3, 4, 5, 6])
    edit, rater = np.tile(np.arange(6), 3), np.repeat(np.arange(3), 6)
    ratings = Ratings(quality[edit] + 10.0 * rater, edit, edit, rater)
    beside = correlation.beside_others(ratings, None)
    assert correlation.rater_spearmans(beside, judge=False).tolist() == [1, 1, 1]
    own = np.concatenate([one.own for one in beside])
    others = np.concatenate([one.others for one in beside])
    assert stats.spearmanr(own, others).statistic < 0


def test_variance_components_are_found_again() -> None:
    """A large table made with known variances gives them back, and what more of each brings."""
    rng = np.random.default_rng(0)
    items, methods, repeats = 400, 60, 4
    base = 2 * rng.normal(size=(items, 1, 1)) + 1.5 * rng.normal(size=(1, methods, 1))
    both = 1.0 * rng.normal(size=(items, methods, 1))
    values = base + both + 0.5 * rng.normal(size=(items, methods, repeats))
    cell = np.repeat(np.arange(items * methods), repeats)
    within = correlation.within_between(values.ravel(), cell)
    assert within is not None
    found = correlation.components(values.mean(axis=2), within[0], within[2])
    assert found is not None
    assert found.item == pytest.approx(4, rel=0.15)
    assert found.method == pytest.approx(2.25, rel=0.35)
    assert found.interaction == pytest.approx(1, rel=0.05)
    assert found.residual == pytest.approx(0.25, rel=0.05)
    per_item = found.interaction + 0.25 / 4
    assert found.error_of_difference() == pytest.approx(math.sqrt(2 * per_item / items), rel=0.02)
    assert found.error_of_difference(items=100) < found.error_of_difference(replicates=4)
    noise = found.interaction + (found.residual or 0) / repeats
    reliable = found.method / (found.method + noise / items)
    assert correlation.mean_reliability(values.mean(axis=2)) == pytest.approx(reliable, abs=1e-3)


def test_unequal_repeats_leave_the_interaction_as_it_is() -> None:
    """Where some means are of one judgement and some of six, the noise is that of 1/n on average."""
    rng = np.random.default_rng(1)
    items, methods = 400, 40
    counts = rng.choice([1, 6], (items, methods))
    both = rng.normal(size=(items, methods))
    cell = np.repeat(np.arange(items * methods), counts.ravel())
    values = both.ravel()[cell] + 2 * rng.normal(size=len(cell))
    means = np.bincount(cell, weights=values) / counts.ravel()
    within = correlation.within_between(values, cell)
    assert within is not None
    found = correlation.components(means.reshape(items, methods), within[0], counts.astype(float))
    assert found is not None
    assert found.interaction == pytest.approx(1, rel=0.1)
    assert found.replicates == pytest.approx(stats.hmean(counts.ravel()))


def slow_soft(judge: Floats, people: Floats) -> float:
    """Soft pairwise accuracy with mid-p values from every sign pattern, one by one."""
    items, methods = judge.shape
    found = []
    for a, b in itertools.combinations(range(methods), 2):
        p = []
        for side in (judge, people):
            gaps = side[:, a] - side[:, b]
            sums = [np.dot(signs, gaps) for signs in itertools.product((1, -1), repeat=items)]
            more = np.mean([s > gaps.sum() + 1e-9 for s in sums])
            same = np.mean([abs(s - gaps.sum()) <= 1e-9 for s in sums])
            p.append(more + same / 2)
        found.append(1 - abs(p[0] - p[1]))
    return float(np.mean(found))


@given(seed=st.integers(0, 1000), methods=st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_soft_accuracy_does_not_depend_on_names(seed: int, methods: int) -> None:
    """It is the slow version's, also for two methods, and the same in any order of the methods."""
    rng = np.random.default_rng(seed)
    judge, people = rng.integers(1, 4, (2, 6, methods)).astype(float)
    flips = correlation.sign_flips(6, rng)
    found = correlation.soft_pairwise_accuracy(judge, people, flips)
    assert found == pytest.approx(slow_soft(judge, people))
    order = rng.permutation(methods)
    turned = correlation.soft_pairwise_accuracy(judge[:, order], people[:, order], flips)
    assert turned == pytest.approx(found)
    sampled = correlation.sign_flips(40, rng)
    many, more = rng.integers(1, 4, (2, 40, methods)).astype(float)
    assert correlation.soft_pairwise_accuracy(many, more, sampled) == pytest.approx(
        correlation.soft_pairwise_accuracy(many[:, order], more[:, order], sampled)
    )


def test_soft_accuracy_leaves_a_pair_without_shared_items_out() -> None:
    """Methods never edited the same item cannot be compared; the rest still can."""
    judge = np.array([[1, 2, np.nan], [2, 4, np.nan], [np.nan, 3, 5.0], [np.nan, 2, 6.0]])
    flips = correlation.sign_flips(4, np.random.default_rng(0))
    assert correlation.soft_pairwise_accuracy(judge, judge, flips) == 1
    alone = np.array([[1.0, np.nan], [np.nan, 2.0]])
    assert math.isnan(correlation.soft_pairwise_accuracy(alone, alone, flips[:, :2]))
