"""Which ranks depend on the weights of the factors."""

from __future__ import annotations

import numpy as np
import pytest

from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard.diagnostics import Sensitivity, sensitivity
from lmmscore.leaderboard.diagnostics import sensitivity_statement as statement
from tests.tidy_frames import WEIGHTS, judged, tidy


def weighed(means: dict[str, tuple[float, float]], sample: int = 4_000) -> Sensitivity:
    rows = [
        {"method": method, "factor": factor, "score": score}
        for method, pair in means.items()
        for factor, score in zip(("acc", "pre"), pair, strict=True)
    ]
    return sensitivity(
        tidy(rows), {"acc": 0.7, "pre": 0.3}, task=None, sample=sample, rng=np.random.default_rng(0)
    )


def test_a_method_better_in_every_factor_is_always_first() -> None:
    """No weights can put it second, and the statement says that nothing depends on them."""
    found = weighed({"A": (9.0, 8.0), "B": (7.0, 7.0)})
    assert [(s.method, s.first, s.depends) for s in found.standings] == [
        ("A", 1.0, False),
        ("B", 0.0, False),
    ]
    assert found.reversible == ()
    assert "No rank depends" in statement(found)


def test_the_share_of_weights_is_the_share_of_the_simplex() -> None:
    """Trailing by 1 in one factor and leading by 3 in the other wins under three quarters of all weights."""
    found = weighed({"A": (5.0, 8.0), "B": (6.0, 5.0)})
    first = {s.method: s.first for s in found.standings}
    # A wins where -w + 3 (1 - w) > 0, that is for w below 3/4.
    assert first["A"] == pytest.approx(0.75, abs=0.03)
    assert first["A"] + first["B"] == pytest.approx(1.0)
    assert all(s.depends for s in found.standings)
    assert found.reversible == (("A", "B"),)


def test_the_ranks_in_use_are_those_of_the_given_weights() -> None:
    """The rank beside each method is the leaderboard's own."""
    from lmmscore.leaderboard import rank

    scores = judged(8, 5)
    found = sensitivity(scores, WEIGHTS, task=None, sample=100, rng=np.random.default_rng(0))
    board = {row.method: row.rank for row in rank(scores, resamples=0).table().rows}
    assert {s.method: s.rank for s in found.standings} == board


def test_only_ranks_that_can_change_are_said_to_depend() -> None:
    """The last of three is last whatever the weights; the first two may swap."""
    found = weighed({"A": (9.0, 5.0), "B": (6.0, 8.0), "C": (1.0, 1.0)})
    assert {s.method: s.depends for s in found.standings} == {"A": True, "B": True, "C": False}
    assert [(s.best, s.worst) for s in found.standings] == [(1, 2), (1, 2), (3, 3)]


def test_equal_methods_always_share_their_rank() -> None:
    """Twins are first together under all weights."""
    found = weighed({"A": (5.0, 6.0), "B": (5.0, 6.0)})
    assert [(s.rank, s.first, s.depends) for s in found.standings] == [
        (1, 1.0, False),
        (1, 1.0, False),
    ]


def test_one_factor_leaves_nothing_to_weigh() -> None:
    """With one factor there are no weights to vary, and that is said."""
    with pytest.raises(LmmscoreError, match="no weights to vary"):
        sensitivity(
            tidy([{"factor": "acc", "score": 5.0}]),
            None,
            task=None,
            sample=9,
            rng=np.random.default_rng(0),
        )
