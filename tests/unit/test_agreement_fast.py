"""The fast forms of agreement against slow, obvious ones, on made-up scores."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmmscore.agreement import (
    affording,
    agree,
    building,
    correlation,
    counted,
    levels,
    pairforms,
    pairs,
    people,
)
from lmmscore.agreement.arrays import Floats, Ints
from lmmscore.agreement.pairing import Paired
from lmmscore.agreement.people import Ratings
from lmmscore.agreement.raterranks import RaterRanks
from lmmscore.agreement.within import Within


def made_up(
    seed: int, items: int = 7, methods: int = 4, steps: int = 5
) -> tuple[Floats, Floats, Ints]:
    """Scores with ties of items with unequal numbers of edits."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), rng.integers(1, methods + 1, items))
    judge, mean = rng.integers(0, steps, (2, len(item))) / 2
    return judge, mean, item


def draw(item: Ints, seed: int, rows: int = 8) -> Floats:
    """Counts of items in some resamples."""
    items = int(item.max()) + 1
    return (
        np.random.default_rng(seed)
        .multinomial(items, np.full(items, 1 / items), rows)
        .astype(float)
    )


def slow_pairs(
    judge: Floats, mean: Floats, item: Ints, counts: Floats, threshold: float
) -> list[float]:
    """τ-b and both accuracies of one resample that is built, edit by edit, and compared pair by pair."""
    edits = np.repeat(np.arange(len(item)), counts[item].astype(int))
    right = {0.0: [], threshold: []} if threshold else {0.0: []}  # type: dict[float, list[bool]]
    for a, b in itertools.combinations(edits, 2):
        if a != b:
            gap, order = judge[a] - judge[b], np.sign(mean[a] - mean[b])
            for limit, found in right.items():
                found.append((0 if abs(gap) <= limit else np.sign(gap)) == order)
    shares = [float(np.mean(found)) if found else float("nan") for found in right.values()]
    return [correlation.kendall_b(judge[edits], mean[edits]), shares[0], shares[-1]]


@pytest.mark.parametrize("make", [pairforms.by_items, pairforms.by_grid])
@given(seed=st.integers(0, 10_000), threshold=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=25, deadline=None)
def test_pairs_in_a_resample_are_those_of_the_built_resample(
    make: Callable[[pairforms.Scored], pairforms.Sums], seed: int, threshold: float
) -> None:
    """Both tables give τ-b and accuracy exactly, with no pair of an edit and its own copy."""
    judge, mean, item = made_up(seed)
    edits = pairforms.scored(judge, mean, item, threshold)
    counts = draw(item, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairforms, "_grid_ns", lambda _: 0.0 if make is pairforms.by_grid else 1e9)
        found = pairforms.pair_statistics(edits)(counts)
    for row, fast in zip(counts, found.T, strict=True):
        slow = slow_pairs(judge, mean, item, row, threshold)
        assert fast == pytest.approx(slow, abs=1e-12, nan_ok=True)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_all_items_at_once_are_items_one_by_one(seed: int) -> None:
    """Correlations and accuracy inside items equal the plain statistics of each item; NaN where these are."""
    judge, mean, item = made_up(seed)
    place = np.concatenate([np.arange(size) for size in np.bincount(item)])
    grids = np.full((2, item.max() + 1, 4), np.nan)
    grids[0, item, place], grids[1, item, place] = judge, mean
    inside = Within(grids[0], grids[1])
    single = [(judge[item == one], mean[item == one]) for one in range(item.max() + 1)]
    for name, values in inside.correlations().items():
        plain = [correlation.STATISTICS[name](*one) for one in single]
        assert values == pytest.approx(np.array(plain), abs=1e-12, nan_ok=True)
    for threshold in (0.0, 0.5):
        plain = [pairs.accuracy(*one, threshold) for one in single]
        assert inside.accuracy(threshold) == pytest.approx(np.array(plain), abs=1e-12, nan_ok=True)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_within_items_the_best_threshold_is_found(seed: int) -> None:
    """No other threshold gives a greater accuracy averaged over items, and no smaller one the same."""
    judge, mean, item = made_up(seed, items=6)
    groups = [(judge[item == one], mean[item == one]) for one in range(6)]
    paired = Paired(_edits(judge, mean, item), {}, pd.DataFrame())
    threshold = pairs.best_threshold(*Within(paired.grid("judge"), paired.grid("people")).gains())
    tried = {
        limit: np.nanmean([pairs.accuracy(*one, limit) for one in groups] or [0]) for limit in STEPS
    }
    assert tried[threshold] == pytest.approx(max(tried.values()), abs=1e-12)
    assert all(
        value < tried[threshold] - 1e-12 for limit, value in tried.items() if limit < threshold
    )


STEPS = (0.0, 0.5, 1.0, 1.5, 2.0)


def _edits(judge: Floats, mean: Floats, item: Ints) -> pd.DataFrame:
    place = np.concatenate([np.arange(size) for size in np.bincount(item)])
    names = {"item": [f"i{k:03d}" for k in item], "method": [f"m{k}" for k in place], "task": ""}
    return pd.DataFrame(names | {"judge": judge, "people": mean})


@pytest.mark.parametrize("block", [1, 50, 10_000])
def test_raters_ranked_together_are_raters_ranked_alone(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However raters are put into blocks, each one's ρ in each resample is that of the rater alone."""
    monkeypatch.setattr("lmmscore.agreement.raterranks.BLOCK_EDITS", block)
    monkeypatch.setattr("lmmscore.agreement.raterranks.AT_ONCE", 400)
    rng = np.random.default_rng(0)
    item = [np.sort(rng.integers(0, 30, size)) for size in (25, 2, 60, 9)]
    others, own, judge = ([rng.integers(0, 8, len(one)) / 2 for one in item] for _ in range(3))
    counts = draw(np.arange(30), 1, rows=40)
    found = RaterRanks(others, [own, judge], item, 30).of(counts)
    for side, columns in enumerate((own, judge)):
        for rater, column in enumerate(columns):
            alone = counted.spearman(column, others[rater], item[rater])(counts)
            assert found[side, rater] == pytest.approx(alone, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("short", [True, False])
def test_short_and_long_scales_give_the_same(short: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kendall, accuracy and the threshold do not depend on which table they come from."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 30, 400) / 10
    y = np.round(x + rng.normal(0, 1, 400))
    whole = correlation.kendall_b(x, y), pairs.calibrate(x, y), pairs.accuracy(x, y, 0.3)
    monkeypatch.setattr(pairs, "MOST_SCORES", 1e9 if short else 0)
    again = correlation.kendall_b(x, y), pairs.calibrate(x, y), pairs.accuracy(x, y, 0.3)
    assert again == pytest.approx(whole, abs=1e-12)


def test_alpha_is_the_same_without_the_table_of_coincidences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On fine scales α comes from sums of squares, and is the package's."""
    rng = np.random.default_rng(0)
    edit = np.repeat(np.arange(20), 3)
    ratings = Ratings(
        rng.integers(1, 8, 60).astype(float), edit, edit // 2, np.tile(np.arange(3), 20)
    )
    package = people.alpha_interval(ratings)
    monkeypatch.setattr(people, "MOST_COINCIDENCES", 0)
    assert people.alpha_interval(ratings) == pytest.approx(package, abs=1e-12)


def test_an_interval_left_away_for_its_cost_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The value stands, there are no limits, and the row says why."""
    monkeypatch.setattr(pairforms, "MOST_ITEMS", 3)
    monkeypatch.setattr(pairforms, "MOST_SCORES", 3)
    paired = Paired(_edits(*made_up(0, items=12)), {}, pd.DataFrame())
    rows = [row.to_json() for row in building.judge_rows("j", "f", paired, resamples=100, seed=0)]
    found = {row["statistic"]: row for row in rows if row["level"] == "item"}
    for name in pairforms.PAIR_STATISTICS:
        assert found[name]["value"] is not None and found[name]["low"] is None
        assert found[name]["why"].startswith("no interval, because all pairs of ")
    assert found["spearman"]["low"] is not None and "why" not in found["spearman"]


def test_a_costly_statistic_gets_fewer_resamples_and_the_row_says_how_many() -> None:
    """Cost is estimated, not measured, so that the numbers are the same on any machine."""
    assert affording.affordable(1.0, 9_999) == 9_999
    assert affording.affordable(1e12, 9_999) == affording.FEWEST_RESAMPLES
    assert affording.affordable(1e12, 100) == 100


def test_progress_is_counted_to_the_end() -> None:
    """Whoever watches is told how many steps there are, and each one as it is done."""
    judge, mean, item = made_up(1, items=8)
    table = _edits(judge, mean, item).drop(columns=["judge", "people"]).assign(factor="quality")
    scores = table.assign(score=judge, outcome="scored", repeat=1, reason="")
    edits = table.drop(columns="task").assign(score=mean, where="")
    ratings = pd.concat([edits.assign(rater=rater) for rater in ("a", "b")])
    watched = Watcher()
    agree({"j": scores}, ratings.reset_index(drop=True), resamples=100, counting=watched)
    assert watched.total > 0 and watched.done == watched.total


class Watcher:
    """Counts the steps it is told of."""

    total = done = 0

    def __call__(self, total: int) -> Watcher:
        """Take the number of steps."""
        self.total = total
        return self

    def __enter__(self) -> Callable[[], None]:
        """Give the function that counts."""
        return self.step

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def step(self) -> None:
        """Count one step."""
        self.done += 1


def test_items_of_several_edits_have_the_same_spearman_either_way() -> None:
    """The layout for many edits an item gives the replicates of the other."""
    judge, mean, item = made_up(3, items=30)
    paired = Paired(_edits(judge, mean, item), {}, pd.DataFrame())
    of = next(one.counted for one in levels.item_level(paired) if one.statistic == "spearman")
    counts = draw(item, 2, rows=30)
    assert of is not None
    assert of(counts) == pytest.approx(counted.spearman(judge, mean, item)(counts), abs=1e-12)
