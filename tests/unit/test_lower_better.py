"""Factors whose low scores are the good ones: shown as given, ranked and counted the right way."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmmscore.dialog import Dialog
from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard import rank
from lmmscore.leaderboard.cube import group_means, reweigh
from lmmscore.leaderboard.diagnostics import position_effect, sensitivity
from lmmscore.leaderboard.differences import power_of
from lmmscore.report.formats import marks
from lmmscore.report.leaderboard import render
from lmmscore.run_folder import FactorRecord, Manifest

SCALES = {"fit": (0.0, 10.0), "artifacts": (0.0, 5.0)}
LOW = ("artifacts",)


def dialog(**changes: Any) -> Dialog:
    """Return a dialog with a factor of either kind."""
    data: dict[str, Any] = {
        "dialog": "both-ways",
        "version": 1,
        "title": "Fit and artifacts",
        "format": 2,
        "covers": "edit",
        "factors": [
            {"key": "fit", "scale": {"min": 0, "max": 10}},
            {"key": "artifacts", "scale": {"min": 0, "max": 5}, "better": "low"},
        ],
        "overall": "mean",
        "turns": [{"name": "judge", "say": "Score.", "show": ["source", "edit"], "read": "scores"}],
        "repair": {"say": "Again: {{problems}}"},
    }
    return Dialog.model_validate(data | changes)


def value(made: Dialog, **scores: int) -> Fraction | None:
    """Return the overall of these scores."""
    assert made.formula is not None
    return made.formula.value({name: Fraction(score) for name, score in scores.items()})


def table(**methods: list[float]) -> pd.DataFrame:
    """Return scores of artifacts, one item after the other; NaN where there is none."""
    lines = [
        {
            "item": f"i{k}",
            "task": "t",
            "method": method,
            "repeat": 1,
            "position": 1 + (k + place) % len(methods),
            "factor": "artifacts",
            "score": score,
            "outcome": "unreadable" if np.isnan(score) else "scored",
        }
        for place, (method, scores) in enumerate(methods.items())
        for k, score in enumerate(scores)
    ]
    return pd.DataFrame(lines)


EIGHT = table(Clean=[0, 1, 0, 1, 0, 1, 0, 1], Dirty=[4, 5, 3, 5, 4, 5, 4, 3])


def test_in_the_overall_it_counts_turned_round_on_its_scale() -> None:
    """No artifact at all is worth the top of the scale, and the ends stay what they are."""
    made = dialog()
    assert value(made, fit=8, artifacts=0) == Fraction(13, 2)
    assert value(made, fit=8, artifacts=5) == 4
    assert made.formula is not None and made.formula.ends == (0, Fraction(15, 2))


def test_conditions_are_about_scores_as_given() -> None:
    """Whoever writes `artifacts at least 4` means what the judge says."""
    rule = {"mean": ["fit"], "then": [{"where": {"artifacts": {"at_least": 4}}, "becomes": 0}]}
    assert value(dialog(overall=rule), fit=8, artifacts=1) == 8
    assert value(dialog(overall=rule), fit=8, artifacts=4) == 0


def test_weights_turn_it_too() -> None:
    """A weighted sum counts it as a mean does."""
    made = dialog(overall={"weighted": {"fit": 0.5, "artifacts": 0.5}})
    assert value(made, fit=8, artifacts=1) == 6


def test_it_needs_format_2_and_no_other_digest_changes() -> None:
    """A dialog that says `high`, which all did before, is the same as one that says nothing."""
    with pytest.raises(ValueError, match="`better: low` needs `format: 2`"):
        dialog(format=1)

    plain = [{"key": "fit", "scale": {"min": 0, "max": 10}}]
    said = [{**plain[0], "better": "high"}]
    turned = [{**plain[0], "better": "low"}]
    assert dialog(factors=plain).digest == dialog(factors=said).digest
    assert dialog(factors=plain).wording == dialog(factors=said).wording
    assert dialog(factors=plain).digest != dialog(factors=turned).digest


def test_a_run_records_it_and_older_runs_have_none() -> None:
    """run.yaml of earlier versions has no such key: every factor is better high."""
    records = [FactorRecord.of(factor) for factor in dialog().factors]
    assert Manifest(factors=records).lower_better == LOW
    assert FactorRecord(key="fit", min=0, max=10).better == "high"


def test_the_lowest_mean_ranks_first_and_stays_as_given() -> None:
    """Means, differences and intervals are in the judge's numbers; who leads is turned."""
    board = rank(EIGHT, factor="artifacts", scales=SCALES, lower_better=LOW)
    whole = board.table()
    assert [(row.method, row.rank, row.mean) for row in whole.rows] == [
        ("Clean", 1, 0.5),
        ("Dirty", 2, 4.125),
    ]
    assert whole.differences is not None
    pair = whole.differences.pairs[0]
    assert (pair.difference, pair.wins, pair.losses) == (-3.625, 8, 0)
    assert whole.differences.won() == {("Clean", "Dirty")}
    assert whole.row("Clean").rank_interval == (1, 1)
    assert whole.verdict == "Clean ranks first, significantly ahead of all others."
    assert whole.caption.startswith("Mean artifacts (lower is better) over 8 items")
    untested = rank(EIGHT, factor="artifacts", lower_better=LOW, resamples=0).table()
    assert untested.verdict == "Clean has the lowest mean; no differences were tested."


def test_the_worst_of_a_missing_score_is_the_highest() -> None:
    """`--missing worst` never rewards an edit that was not scored."""
    scores = table(A=[1, np.nan], B=[2, 2])
    settings: dict[str, Any] = {"factor": "artifacts", "scales": SCALES, "lower_better": LOW}
    whole = rank(scores, missing="worst", resamples=0, **settings).table()
    assert [(row.method, row.mean) for row in whole.rows] == [("B", 2.0), ("A", 3.0)]
    assert "missing scores counted as 5, the highest score" in whole.caption
    groups = group_means(scores, ["method"], missing="worst", **settings)
    assert [group.mean for group in groups.rows] == [3.0, 2.0]

    excluded = rank(scores, resamples=0, **settings).table()
    assert excluded.row("A").rank == 1
    assert excluded.row("A").rank_range == (1, 2)
    clear = rank(table(A=[1, np.nan], B=[5, 5]), resamples=0, **settings).table()
    assert clear.row("A").rank_range == (1, 1)


def test_an_overall_derived_again_counts_it_turned() -> None:
    """New weights mean the same as in the dialog; without a scale nothing can be turned."""
    fit = EIGHT.assign(factor="fit", score=8.0)
    both = pd.concat([EIGHT, fit], ignore_index=True)
    weights = {"fit": 0.5, "artifacts": 0.5}
    made = reweigh(both, weights, scales=SCALES, lower_better=LOW)
    overall = made[(made["factor"] == "overall") & (made["item"] == "i0")]
    assert dict(zip(overall["method"], overall["score"], strict=True)) == {
        "Clean": 6.5,
        "Dirty": 4.5,
    }
    with pytest.raises(LmmscoreError, match="its scale is not known"):
        reweigh(both, weights, lower_better=LOW)

    rng = np.random.default_rng(0)
    found = sensitivity(both, weights, task=None, sample=100, rng=rng, lower_better=LOW)
    assert found.standings[0].method == "Clean" and not found.reversible


def test_power_and_position_know_who_leads() -> None:
    """The sentences name the cleaner method as the better one."""
    test: dict[str, Any] = {"task": None, "factor": "artifacts", "power": 0.8, "alpha": 0.05}
    found = power_of(EIGHT, "Dirty", "Clean", lower_better=LOW, **test)
    assert found.statements[0].startswith(
        "Clean leads Dirty by 3.62 in artifacts (lower is better)"
    )
    effect = position_effect(EIGHT, factor="artifacts", level=0.95, lower_better=LOW)
    assert effect.lower_better and not effect.doubts


@pytest.mark.parametrize("form", ["md", "tex", "term"])
def test_tables_mark_the_column_and_the_lowest_figure(form: str) -> None:
    """An arrow says which way it counts, and bold is the lowest."""
    board = rank(EIGHT, factor="artifacts", scales=SCALES, lower_better=LOW)
    text = render(board, form)
    assert ("↓" in text) or (r"\downarrow" in text)
    if form == "md":
        assert "**0.50**" in text and "**4.13**" not in text
        assert "artifacts ↓" in text


def test_marks_go_to_the_lowest() -> None:
    """Best and second best are counted from the other end."""
    assert marks([3.0, 1.0, None, 2.0], low=True) == ["", "best", "", "second"]


def test_an_overall_is_never_better_low() -> None:
    """Whatever its factors, an overall is the better the higher it is."""
    with pytest.raises(LmmscoreError, match="always better the higher"):
        rank(EIGHT, lower_better=["overall"])
