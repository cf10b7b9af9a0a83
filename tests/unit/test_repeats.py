"""Spread over repeats and over items, and what it would take to tell two methods apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard.diagnostics import repeat_spread
from lmmscore.leaderboard.diagnostics import repeat_statement as statement
from lmmscore.leaderboard.differences import Power, power_of, t_power
from lmmscore.stats.correlation import within_between as components
from tests.tidy_frames import judged, overall, tidy


def noisy(
    items: int, repeats: int, *, item_std: float, repeat_std: float, gap: float, seed: int
) -> pd.DataFrame:
    """Return two methods whose paired difference has a known mean and two known spreads."""
    rng = np.random.default_rng(seed)
    true = gap + rng.normal(0, item_std, items)
    rows = []
    for i in range(items):
        for k in range(1, repeats + 1):
            rows.append({"item": str(i), "method": "B", "repeat": k, "score": 5.0})
            rows.append(
                {
                    "item": str(i),
                    "method": "A",
                    "repeat": k,
                    "score": 5.0 + true[i] + rng.normal(0, repeat_std),
                }
            )
    return tidy(rows)


def asked(scores: pd.DataFrame, power: float = 0.8) -> Power:
    return power_of(scores, "A", "B", task=None, factor="overall", power=power, alpha=0.05)


def test_components_are_those_of_the_analysis_of_variance() -> None:
    """Within and between variances come from the mean squares, written out for groups of equal size."""
    rng = np.random.default_rng(0)
    table = rng.normal(0, 2, (8, 1)) + rng.normal(0, 1, (8, 3))
    within = table.var(axis=1, ddof=1).mean()
    between = table.mean(axis=1).var(ddof=1) - within / 3
    found = components(table.ravel(), np.repeat(np.arange(8), 3))
    assert found == pytest.approx((within, between, 3.0))


def test_reliability_is_the_intraclass_correlation() -> None:
    """Test–retest reliability is ICC(1,1) from the F ratio; that of the mean is ICC(1,k)."""
    scores = judged(10, 4, repeats=3)
    used = scores[scores["factor"] == "overall"]
    groups = [g["score"].to_numpy() for _, g in used.groupby(["task", "item", "method"])]
    f = stats.f_oneway(*groups).statistic
    spread = repeat_spread(scores, factor="overall")[0]
    assert spread.reliability == pytest.approx((f - 1) / (f + 2))
    assert spread.reliability_of_mean == pytest.approx((f - 1) / f)
    assert (spread.edits, spread.judgements) == (40, 120)


def test_unequal_repeats_are_allowed() -> None:
    """Holes leave some edits with fewer repeats; the spread is still estimated, and near the true one."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(400), rng.integers(1, 5, 400))
    value = rng.normal(0, 2, 400)[group] + rng.normal(0, 1, len(group))
    found = components(value, group)
    assert found is not None
    assert found[0] == pytest.approx(1, rel=0.15)
    assert found[1] == pytest.approx(4, rel=0.2)


def test_without_repeats_their_spread_is_unknown() -> None:
    """Unknown is said to be unknown, and how to find out."""
    spread = repeat_spread(judged(4, 2), factor="overall")[0]
    assert (spread.within, spread.reliability) == (None, None)
    assert "--repeats" in statement(spread)


def test_equal_scores_have_no_reliability() -> None:
    """Where nothing varies, a share of the variation is undefined, and the sentence says so."""
    scores = pd.concat([overall({"A": [5.0, 5.0]}), overall({"A": [5.0, 5.0]}).assign(repeat=2)])
    spread = repeat_spread(scores, factor="overall")[0]
    assert (spread.within, spread.between, spread.reliability) == (0.0, 0.0, None)
    assert "undefined" in statement(spread)


def test_power_is_that_of_simulated_t_tests() -> None:
    """The power formula agrees with how often a paired t-test of simulated differences succeeds."""
    rng = np.random.default_rng(0)
    p = stats.ttest_1samp(rng.normal(0.5, 1, (4_000, 20)), 0, axis=1).pvalue
    assert t_power(0.5, 1.0, 20, 0.05) == pytest.approx((p < 0.05).mean(), abs=0.03)


def test_the_items_needed_are_the_fewest_that_suffice() -> None:
    """One item fewer would not reach the wanted power."""
    scores = noisy(12, 1, item_std=1.0, repeat_std=0.0, gap=0.5, seed=2)
    found = asked(scores)
    gaps = scores[scores["method"] == "A"]["score"].to_numpy() - 5.0
    variance = gaps.var(ddof=1)
    assert found.items_needed is not None
    assert t_power(found.difference, variance, found.items_needed, 0.05) >= 0.8
    assert t_power(found.difference, variance, found.items_needed - 1, 0.05) < 0.8


def test_more_repeats_help_where_repeats_are_the_noise() -> None:
    """With no spread over items a few more repeats do; with much of it no number would."""
    helped = asked(noisy(40, 3, item_std=0.0, repeat_std=2.0, gap=0.5, seed=0))
    assert helped.repeats_needed is not None
    hopeless = asked(noisy(6, 4, item_std=3.0, repeat_std=0.5, gap=0.5, seed=5))
    assert hopeless.repeats_needed is None
    assert any("repeats of these items would not do" in text for text in hopeless.statements)


def test_the_spread_over_items_allows_for_unequal_repeats() -> None:
    """Half of the items judged once and half six times: the spread over items is found again."""
    scores = noisy(800, 6, item_std=1.0, repeat_std=2.0, gap=0.5, seed=3)
    once = scores["item"].astype(int) % 2 == 0
    found = asked(scores[~once | (scores["repeat"] == 1)])
    assert found.item_std == pytest.approx(1, rel=0.12)
    assert found.repeat_std == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ({"A": [5.0, 6.0], "B": [6.0, 5.0]}, "same mean"),
        ({"A": [5.0], "B": [6.0]}, "judge more items first"),
        ({"A": [6.0, 6.1, 6.2], "B": [5.0, 5.0, 5.0]}, "6 items in all"),
        ({"A": [6.0, 6.0], "B": [5.0, 5.0]}, "6 items are the least"),
    ],
)
def test_every_case_gets_a_plain_answer(scores: dict[str, list[float]], says: str) -> None:
    """Equal means, one item or a clear case: a sentence, not a number that means nothing."""
    assert any(says in text for text in asked(overall(scores)).statements)


def test_no_fewer_items_are_named_than_could_be_significant() -> None:
    """However large the difference, the sign-flip test needs its least number of items."""
    rng = np.random.default_rng(0)
    methods = {name: list(rng.normal(9 - 2 * k, 0.1, 12)) for k, name in enumerate("ABCDEFGHIJ")}
    found = asked(overall(methods))
    assert found.pairs == 45
    assert found.fewest == 11
    assert found.items_needed == 11
    assert found.items_range == (11, 11)


@pytest.mark.slow
def test_a_pilot_gives_a_range_that_mostly_holds_the_truth() -> None:
    """Of pilots of 10 items with an effect that needs 34 items, about four in five say so."""
    held = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        gaps = rng.normal(0.5, 1.0, 10)
        found = asked(overall({"A": list(5 + gaps), "B": [5.0] * 10}))
        assert found.items_range is not None
        low, high = found.items_range
        held += low <= 34 and (high is None or high >= 34)
    assert 0.72 <= held / 200 <= 0.9


def test_the_detectable_difference_has_the_wanted_power() -> None:
    """A difference of that size, tested as the leaderboard does, has a power of 80%."""
    scores = noisy(25, 1, item_std=1.0, repeat_std=0.0, gap=0.2, seed=2)
    found = asked(scores)
    gaps = scores[scores["method"] == "A"]["score"].to_numpy() - 5.0
    assert found.detectable is not None
    assert t_power(found.detectable, gaps.var(ddof=1), 25, 0.05) == pytest.approx(0.8, abs=1e-6)


def test_without_a_spread_no_difference_is_called_detectable() -> None:
    """The same lead on eight items does not mean that a lead of 0 would be shown."""
    found = asked(overall({"A": [7.0] * 8, "B": [6.0] * 8}))
    assert found.detectable is None
    assert not any("would show a difference" in text for text in found.statements)
    strict = {"task": None, "factor": "overall", "power": 0.999, "alpha": 0.001}
    scores = noisy(25, 1, item_std=1.0, repeat_std=0.0, gap=0.2, seed=2)
    assert "power of 99.9% at 0.1%" in power_of(scores, "A", "B", **strict).statements[1]


def test_unknown_methods_are_named_with_the_nearest() -> None:
    """A slip in a method's name is answered with the one that was meant."""
    scores = overall({"InstructPix2Pix": [5.0, 6.0], "B": [4.0, 5.0]})
    with pytest.raises(LmmscoreError, match="did you mean InstructPix2Pix"):
        power_of(scores, "InstructPix2pix", "B", task=None, factor="overall", power=0.8, alpha=0.05)
    with pytest.raises(LmmscoreError, match="no scored item in common"):
        asked(overall({"A": [5.0, None], "B": [None, 5.0]}))
