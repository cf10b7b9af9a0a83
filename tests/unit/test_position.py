"""The effect of position, against a regression written out with a column for everything."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lmmscore.leaderboard.diagnostics import Placed, PositionEffect, fit_slope, position_effect
from tests.tidy_frames import judged, tidy


def fitted(scores: pd.DataFrame) -> PositionEffect:
    return position_effect(scores, factor="overall", level=0.95)


def moved(scores: pd.DataFrame, slope: float) -> pd.DataFrame:
    place = scores["position"].to_numpy(dtype=float)
    return scores.assign(score=scores["score"] + slope * (place - place.mean()))


def slow_slope(scores: pd.DataFrame) -> float:
    used = scores[(scores["factor"] == "overall") & scores["score"].notna()]
    sessions = pd.get_dummies(used["item"] + "/" + used["repeat"].astype(str), dtype=float)
    methods = pd.get_dummies(used["method"], dtype=float).iloc[:, 1:]
    columns = np.column_stack([used["position"].to_numpy(dtype=float), sessions, methods])
    return float(np.linalg.lstsq(columns, used["score"].to_numpy(), rcond=None)[0][0])


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_the_slope_is_that_of_the_full_regression(holes: float) -> None:
    """Sweeping sessions and methods out gives the same slope as a dummy column for each, also with holes."""
    scores = moved(judged(10, 5, repeats=2, holes=holes), 0.15)
    assert fitted(scores).slope == pytest.approx(slow_slope(scores), abs=1e-9)


def test_a_true_effect_is_found_and_a_missing_one_is_not() -> None:
    """A shift of 0.5 a place lies in the interval and is significant; without a shift zero is in it."""
    scores = judged(40, 5, seed=3)
    with_effect, without = fitted(moved(scores, 0.5)), fitted(scores)
    assert with_effect.interval is not None
    assert without.interval is not None
    assert with_effect.interval[0] < 0.5 < with_effect.interval[1]
    assert with_effect.p is not None
    assert with_effect.p < 0.001
    assert without.interval[0] < 0 < without.interval[1]
    assert "Position moved the scores" in with_effect.statement


@pytest.mark.slow
def test_the_interval_covers_zero_about_95_times_in_100() -> None:
    """Over many runs without an effect, the 95% interval of the slope misses zero about once in twenty."""
    held = 0
    for seed in range(80):
        interval = fitted(judged(12, 4, tasks=1, seed=seed)).interval
        assert interval is not None
        held += interval[0] <= 0 <= interval[1]
    assert 0.89 <= held / 80 <= 0.99


def test_adjusted_means_take_the_place_out() -> None:
    """A method that always came late gets back what its place cost it."""
    rows = []
    for i, (first, second) in enumerate([("A", "B")] * 6 + [("B", "A")] * 2):
        for place, method in enumerate((first, second), 1):
            rows.append(
                {"item": str(i), "method": method, "position": place, "score": 5.0 - 1.0 * place}
            )
    effect = fitted(tidy(rows))
    assert effect.slope == pytest.approx(-1.0)
    assert effect.means["A"] > effect.means["B"]
    assert effect.adjusted["A"] == pytest.approx(effect.adjusted["B"])
    assert "A leads B" in effect.doubts[0]


def test_a_fixed_order_cannot_be_told_from_the_method() -> None:
    """With `given` order there is no slope, and the statement says what to do."""
    rows = [
        {"item": str(i), "method": m, "position": k, "score": 5.0 + k + i}
        for i in range(4)
        for k, m in enumerate("AB", 1)
    ]
    effect = fitted(tidy(rows))
    assert (effect.slope, effect.interval, effect.p, effect.fixed) == (None, None, None, True)
    assert "--order shuffled" in effect.statement


@pytest.mark.parametrize(
    ("items", "shown_order", "advice"),
    [
        (4, "given", "Run with --order shuffled or balanced to find out."),
        (1, "given", "Run with --order shuffled or balanced, over several items, to find out."),
        (1, "shuffled", "Run over several items to find out."),
        (2, "balanced", "Run over more items to find out."),
        (2, "as told", "Conversations that show the methods in other orders would tell."),
    ],
)
def test_advice_about_the_order_leaves_out_what_was_done(
    items: int, shown_order: str, advice: str
) -> None:
    """Who shuffled one item needs items, and transcripts have no --order."""
    rows = [
        {"item": str(i), "method": m, "position": k, "score": 5.0 + k + i}
        for i in range(items)
        for k, m in enumerate("AB", 1)
    ]
    effect = position_effect(tidy(rows), factor="overall", level=0.95, shown_order=shown_order)
    assert effect.fixed
    assert effect.statement.endswith(f"one of method. {advice}")


def test_scores_without_positions_say_so() -> None:
    """Files of other tools have no positions: no effect, no crash."""
    scores = judged(4, 3).assign(position=pd.array([pd.NA] * 60, dtype="Int64"))
    assert "No positions are recorded" in fitted(scores).statement
    assert "No positions" in fitted(scores.drop(columns="position")).statement


def test_one_item_is_too_little() -> None:
    """A slope needs several items; one gives a statement."""
    assert fitted(judged(1, 3, tasks=1)).slope is None


def test_edits_judged_one_by_one_have_no_place() -> None:
    """Where each edit has a conversation of its own, no warning about fixed places is given."""
    alone = judged(6, 3).assign(position=1)
    found = fitted(alone)
    assert not found.fixed
    assert "conversation of its own" in found.statement


def test_the_interval_holds_what_the_test_does_not_refuse() -> None:
    """At either limit the test is on the edge: inside it does not refuse a slope, outside it does."""
    rng = np.random.default_rng(5)
    place = np.argsort(rng.random((8, 4)), axis=1).ravel() + 1.0
    session, method = np.repeat(np.arange(8), 4), np.tile(np.arange(4), 8)
    score = rng.normal(5, 1, 32) + 0.3 * place

    def p_of(slope: float) -> float:
        moved = Placed(score - slope * place, place, method, session, session)
        found = fit_slope(moved, level=0.95)
        assert not isinstance(found, str)
        return found.p

    found = fit_slope(Placed(score, place, method, session, session), level=0.95)
    assert not isinstance(found, str) and found.interval is not None
    low, high = found.interval
    assert p_of(low + 1e-6) > 0.05 >= p_of(low - 1e-6)
    assert p_of(high - 1e-6) > 0.05 >= p_of(high + 1e-6)


def test_three_sessions_have_a_slope_and_no_interval() -> None:
    """Six ways of giving three orders out refuse nothing at 5%: no interval, rather than a narrow one."""
    effect = fitted(judged(3, 4, tasks=1))
    assert effect.slope is not None and effect.interval is None
    assert "interval" not in effect.statement
