"""Ranking: what the tables say, and what they say about what they cannot know."""

from __future__ import annotations

import json
import math
import statistics
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard import Leaderboard, rank
from lmmscore.leaderboard.cube import parse_weights, reweigh
from tests.tidy_frames import FACTORS, WEIGHTS, judged, overall, tidy


def quick(scores: pd.DataFrame, **options: object) -> Leaderboard:
    return rank(scores, **{"resamples": 300, **options})  # type: ignore[arg-type]


def no_nan(value: object) -> bool:
    """Tell whether a JSON object is free of numbers that are none."""
    if isinstance(value, dict):
        return all(map(no_nan, value.values()))
    if isinstance(value, list):
        return all(map(no_nan, value))
    return not isinstance(value, float) or math.isfinite(value)


def test_rows_hold_mean_std_n_and_coverage() -> None:
    """A row's figures are the plain ones: mean, sample standard deviation, number of items, share scored."""
    row = (
        quick(overall({"A": [6.1, 7.3, 8.0, None], "B": [5.0, 5.5, 5.2, 5.1]})).table("t").row("A")
    )
    assert row.mean == pytest.approx(statistics.mean([6.1, 7.3, 8.0]))
    assert row.std == pytest.approx(statistics.stdev([6.1, 7.3, 8.0]))
    assert (row.n, row.coverage, row.rank) == (3, 0.75, 1)


def test_json_has_the_shape_programs_rely_on() -> None:
    """Tables by task, then one over all with task null; each row with its factor means."""
    board = quick(judged(6, 3)).as_dict()
    assert [table["task"] for table in board["tables"]] == ["t0", "t1", None]
    row = board["tables"][0]["rows"][0]
    assert {"rank", "method", "mean", "std", "n", "coverage", "factors"} <= set(row)
    assert list(row["factors"]) == list(FACTORS)
    json.dumps(board, allow_nan=False)


def test_one_item_gives_its_scores_and_no_std() -> None:
    """A single item has a mean and a rank; its std and interval are null, and a sentence says why."""
    scores = tidy(
        [
            {"method": m, "score": s, "factor": f}
            for m, s in (("A", 8.5), ("B", 6.1))
            for f in ("overall", "acc")
        ]
    )
    table = quick(scores).as_dict()["tables"][0]
    first = table["rows"][0]
    assert (first["method"], first["mean"], first["std"], first["mean_interval"]) == (
        "A",
        8.5,
        None,
        None,
    )
    assert first["factors"] == {"acc": 8.5}
    assert any("One item" in note for note in table["notes"])


def test_ties_share_a_rank() -> None:
    """Equal means have equal ranks, and the next rank is skipped, whatever the floats say."""
    board = quick(overall({"A": [0.1, 0.2], "B": [0.2, 0.1], "C": [0.3, 0.0], "D": [0.0, 0.1]}))
    assert [(r.rank, r.method) for r in board.table().rows] == [
        (1, "A"),
        (1, "B"),
        (1, "C"),
        (4, "D"),
    ]


def test_repeats_are_averaged_before_items() -> None:
    """An item judged three times weighs as much as one judged once, and the caption says so."""
    scores = tidy(
        [{"item": "1", "repeat": k, "score": 9.0} for k in (1, 2, 3)]
        + [{"item": "2", "repeat": 1, "score": 3.0}]
    )
    table = quick(scores).table()
    assert (table.row("A").mean, table.row("A").n) == (6.0, 2)
    assert "repeats averaged first" in table.caption


def test_the_same_id_in_two_tasks_is_two_items() -> None:
    """Benchmarks number their items anew in every task."""
    scores = pd.concat([overall({"A": [5.0]}, task="x"), overall({"A": [9.0]}, task="y")])
    assert (quick(scores).table().row("A").n, quick(scores).table().row("A").mean) == (2, 7.0)


def test_means_over_items_and_over_tasks_differ_and_are_named() -> None:
    """Three easy items of one task and a hard one of another: which mean is meant stands in the caption."""
    scores = pd.concat(
        [overall({"A": [9.0, 9.0, 9.0]}, task="easy"), overall({"A": [1.0]}, task="hard")]
    )
    by_items, by_tasks = quick(scores).table(), quick(scores, average="tasks").table()
    assert (by_items.row("A").mean, by_tasks.row("A").mean) == (7.0, 5.0)
    assert "over 4 items" in by_items.caption
    assert "each the mean of its items" in by_tasks.caption


def test_a_task_with_one_score_gives_no_interval_over_tasks() -> None:
    """Nothing is known about the spread in that task, so there is a note and no interval."""
    scores = pd.concat(
        [
            overall({"A": [9.0, 8.0, 7.0], "B": [5.0, 6.0, 5.0]}, task="easy"),
            overall({"A": [1.0, None], "B": [2.0, 4.0]}, task="hard"),
        ]
    )
    table = rank(scores, average="tasks", resamples=100).table()
    assert table.row("A").mean_interval is None
    assert table.row("B").mean_interval is not None
    assert any("one score in a task category" in note and "A" in note for note in table.notes)
    assert rank(scores, resamples=100).table().row("A").mean_interval is not None


def test_holes_are_announced_and_bound_the_rank() -> None:
    """A table with an unscored edit says so, why, and which ranks the missing score would have allowed."""
    scores = overall({"A": [8.0, 8.0], "B": [7.5, None], "C": [2.0, 2.0]})
    table = quick(scores, scales={"overall": (1.0, 10.0)}).table("t")
    assert table.warnings[0].startswith("1 of 6 judgements gave no score (1 unreadable)")
    assert [row.rank_range for row in table.rows] == [(1, 2), (1, 2), (3, 3)]
    assert "B 1–2" in table.warnings[1]


def test_rank_ranges_match_trying_every_filling() -> None:
    """Best and worst rank are those found by putting every combination of extreme scores into the holes."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = np.round(rng.uniform(3, 8, (4, 3)), 1)
        holes = [tuple(hole) for hole in np.argwhere(rng.random((4, 3)) < 0.3)]
        shown = values.astype(object)
        for i, m in holes:
            shown[i, m] = None
        columns = {
            f"m{m}": [None if v is None else float(v) for v in shown[:, m]] for m in range(3)
        }
        found = quick(overall(columns), scales={"overall": (1.0, 10.0)}, resamples=0).table("t")
        seen: dict[str, set[int]] = {f"m{m}": set() for m in range(3)}
        for mask in range(1 << len(holes)):
            filled = values.copy()
            for k, (i, m) in enumerate(holes):
                filled[i, m] = 10.0 if mask >> k & 1 else 1.0
            means = filled.mean(axis=0)
            for m in range(3):
                seen[f"m{m}"].add(1 + int((means > means[m] + 1e-9).sum()))
        for row in found.rows:
            if holes:
                assert row.rank_range == (min(seen[row.method]), max(seen[row.method]))


def test_missing_worst_counts_holes_as_the_lowest_score() -> None:
    """With missing="worst" a hole is the bottom of the scale, and the caption names the rule."""
    scores = overall({"A": [9.0, None], "B": [6.0, 6.0]})
    table = quick(scores, missing="worst", scales={"overall": (1.0, 10.0)}).table()
    assert (table.row("A").mean, table.row("A").rank, table.row("A").coverage) == (5.0, 2, 0.5)
    assert "--missing worst" in table.caption
    assert "counted as 1" in table.caption


def test_a_method_without_a_line_has_a_hole() -> None:
    """An edit that is simply absent from the file counts as missing, not as never asked for."""
    scores = overall({"A": [8.0, 8.0], "B": [7.0, 7.0]})
    scores = scores[~((scores["method"] == "B") & (scores["item"] == "1"))]
    table = quick(scores).table("t")
    assert table.row("B").coverage == 0.5
    assert "1 without a line" in table.warnings[0]


def test_a_method_that_was_repeated_less_often_lacks_nothing() -> None:
    """A repeat without any line of a method was not asked of it: the worst score counts nowhere."""
    once = overall({"A": [8.0, 6.0], "B": [7.0, 7.0]})
    more = overall({"A": [6.0, None]}).assign(repeat=7)
    for missing, mean, coverage in (("exclude", 6.5, 0.75), ("worst", 5.25, 0.75)):
        scores = pd.concat([once, more], ignore_index=True)
        table = quick(scores, missing=missing, scales={"overall": (1.0, 10.0)}).table()
        assert (table.row("B").mean, table.row("B").coverage) == (7.0, 1.0)
        assert (table.row("A").mean, table.row("A").coverage) == (mean, coverage)


def test_a_method_not_entered_for_a_task_is_no_hole() -> None:
    """Surveys enter methods for some tasks only: such a method is absent there, and the whole table warns."""
    scores = pd.concat(
        [overall({"A": [8.0], "B": [7.0]}, task="x"), overall({"A": [6.0]}, task="y")]
    )
    board = quick(scores)
    assert [row.method for row in board.table("y").rows] == ["A"]
    assert board.table().row("B").coverage == 1.0
    assert any("Not every method was entered" in text for text in board.table().warnings)


def test_weights_derive_the_overall_anew() -> None:
    """Other weights give other overalls from the same factors; weights are scaled to add up to 1."""
    scores = judged(5, 3)
    board = quick(scores, weights={"acc": 2, "pre": 2})
    acc, pre = (quick(scores, factor=f).table().row("m0").mean or 0 for f in ("acc", "pre"))
    assert board.table().row("m0").mean == pytest.approx((acc + pre) / 2)
    assert "acc 0.5" in board.notes[0]


def test_the_dialogs_own_weights_give_its_own_overall() -> None:
    """Deriving with the weights in use changes nothing, not even a tie."""
    scores = judged(8, 4, repeats=2, holes=0.1)
    ours = quick(scores, weights=WEIGHTS)
    assert ours.to_frame()["mean"].tolist() == pytest.approx(
        quick(scores).to_frame()["mean"].tolist()
    )


def test_an_edit_that_lacks_a_weighed_factor_has_no_overall() -> None:
    """Nothing is made up for a factor that could not be read; one without weight may be absent."""
    scores = tidy(
        [{"factor": "acc", "score": 8.0}, {"factor": "pre", "score": None, "outcome": "unreadable"}]
    )
    derived = reweigh(scores, {"acc": 0.5, "pre": 0.5})
    line = derived[derived["factor"] == "overall"].iloc[0]
    assert math.isnan(line["score"])
    assert line["outcome"] == "unreadable"
    assert reweigh(scores, {"acc": 1}).iloc[0]["score"] == 8.0

    # Also where the overall alone has a line, scored or not: its edit is missing, not forgotten.
    bare = tidy([{"item": "2", "score": 9.0}, {"item": "3", "outcome": "failed"}])
    table = quick(pd.concat([scores, bare], ignore_index=True), weights={"acc": 1}).table()
    assert (table.row("A").mean, table.row("A").items) == (8.0, 3)
    assert "2 of 3 judgements gave no score (1 unreadable, 1 failed)" in table.warnings[0]


@pytest.mark.parametrize("text", ["acc", "acc=x", "=1", "acc=.5,acc=.5", "acc=nan"])
def test_weights_that_cannot_be_read_are_refused(text: str) -> None:
    """A slip in --weights is a line on the screen, not a wrong table."""
    with pytest.raises(LmmscoreError, match="--weights"):
        parse_weights(text)


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ({"ac": 1.0}, "did you mean acc"),
        ({"acc": -1.0}, "negative"),
        ({"acc": 0.0}, "every weight is 0"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weights: dict[str, float], says: str) -> None:
    """Unknown, negative or all-zero weights are refused with the reason."""
    with pytest.raises(LmmscoreError, match=says):
        quick(judged(2, 2), weights=weights)


def test_tasks_and_factors_can_be_chosen() -> None:
    """One task alone has the figures it has among all; `all` gives a table for each factor."""
    scores = judged(8, 3)
    alone, among = quick(scores, task="t1").tables, quick(scores).table("t1")
    assert alone == (among,)
    assert {t.factor for t in quick(scores, factor="all").tables} == {"overall", *FACTORS}
    with pytest.raises(LmmscoreError, match="did you mean t1"):
        quick(scores, task="t11")
    with pytest.raises(LmmscoreError, match="no factor"):
        quick(scores, factor="beauty")


def test_scores_without_an_overall_are_ranked_by_factor() -> None:
    """A dialog may have no overall: then every factor gets its table, and a note says so."""
    scores = judged(4, 2)
    board = quick(scores[scores["factor"] != "overall"])
    assert [t.factor for t in board.tables if t.task is None] == list(FACTORS)
    assert "No edit has an overall" in board.notes[0]


ODD = {
    "one method": {"A": [5.0, 6.0, 7.0]},
    "one score": {"A": [5.0, None, None], "B": [6.0, 7.0, 8.0]},
    "all equal": {"A": [5.0, 5.0, 5.0], "B": [5.0, 5.0, 5.0]},
    "one item": {"A": [5.0], "B": [6.0]},
    "nothing scored": {"A": [None, None], "B": [None, None]},
    "one unscored": {"A": [None, None], "B": [5.0, 6.0]},
    "no item in common": {"A": [5.0, None], "B": [None, 6.0]},
    "two items": {"A": [5.0, 6.0], "B": [6.0, 5.0], "C": [1.0, 2.0]},
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize(
    "options", [{}, {"missing": "worst"}, {"average": "tasks"}, {"resamples": 0}]
)
def test_thin_data_gives_a_table_with_a_plain_statement(
    case: str, options: dict[str, object]
) -> None:
    """However little there is, there is a table, a sentence that says so, and no number that is none."""
    board = quick(overall(ODD[case]), **options)
    table = board.table("t")
    assert {row.method for row in table.rows} == set(ODD[case])
    assert table.notes
    assert no_nan(board.as_dict())
    assert "nan" not in board._repr_html_().lower()


def test_a_method_without_a_score_has_no_rank() -> None:
    """It stands last, without a figure, and is named below the table."""
    table = quick(overall({"A": [None, None], "B": [5.0, 6.0]})).table("t")
    assert [(r.method, r.rank, r.mean) for r in table.rows] == [("B", 1, 5.5), ("A", None, None)]
    assert any("without a rank: A" in note for note in table.notes)


def test_few_items_say_that_groups_mean_nothing() -> None:
    """Where no difference could be significant, letters would mislead, and the note says so."""
    few = quick(overall({"A": [9.0, 9.1], "B": [1.0, 1.1]})).table("t")
    assert any("groups say nothing" in note for note in few.notes)
    many = quick(overall({"A": [9.0] * 8, "B": [1.0] * 8})).table("t")
    assert [row.group for row in many.rows] == ["a", "b"]


def test_a_judgement_that_stands_twice_is_refused() -> None:
    """Averaging a line with its copy would shrink the intervals."""
    scores = overall({"A": [5.0, 6.0]})
    with pytest.raises(LmmscoreError, match="twice for the same repeat"):
        quick(pd.concat([scores, scores]))


@pytest.mark.parametrize("column", ["item", "method", "score"])
def test_a_lacking_column_is_named(column: str) -> None:
    """A table that cannot be ranked says which column it lacks."""
    with pytest.raises(LmmscoreError, match=f"'{column}'"):
        quick(overall({"A": [5.0]}).drop(columns=column))


def test_an_empty_table_is_refused() -> None:
    """No lines, no leaderboard."""
    with pytest.raises(LmmscoreError, match="empty"):
        quick(overall({"A": [5.0]}).iloc[:0])


def test_the_same_seed_gives_the_same_intervals() -> None:
    """A leaderboard can be made again to the last digit, also one table of it alone."""
    scores = judged(30, 4)
    assert rank(scores, seed=3) == rank(scores, seed=3)
    assert rank(scores, seed=3).table().differences != rank(scores, seed=4).table().differences


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(5)), st.integers(0, 50))
def test_relabelling_methods_and_permuting_items_changes_no_rank(
    order: list[int], seed: int
) -> None:
    """Names and the order of lines carry no information."""
    scores = judged(6, 5, seed=seed)
    before = {row.method: row for row in quick(scores, resamples=0).table().rows}
    turned = scores.sample(frac=1, random_state=seed)
    turned["method"] = turned["method"].map({f"m{k}": f"x{order[k]}" for k in range(5)})
    after = {row.method: row for row in quick(turned, resamples=0).table().rows}
    for k in range(5):
        old, new = before[f"m{k}"], after[f"x{order[k]}"]
        assert (new.rank, new.n, new.coverage) == (old.rank, old.n, old.coverage)
        assert new.mean == pytest.approx(old.mean)
        assert new.std == pytest.approx(old.std)


@settings(max_examples=20, deadline=None)
@given(st.integers(-20, 20), st.integers(0, 50))
def test_adding_a_constant_moves_means_and_nothing_else(tenths: int, seed: int) -> None:
    """Intervals move along with the means; ranks, spreads and p-values stay."""
    scores = judged(6, 4, seed=seed)
    moved = scores.assign(score=(scores["score"] * 10 + tenths).round(6) / 10)
    for before, after in zip(quick(scores).table().rows, quick(moved).table().rows, strict=True):
        assert (after.method, after.rank, after.rank_interval, after.group) == (
            before.method, before.rank, before.rank_interval, before.group,
        )  # fmt: skip
        assert after.mean == pytest.approx((before.mean or 0) + tenths / 10)
        assert np.allclose(np.array(after.mean_interval) - tenths / 10, before.mean_interval)


def test_categories_rank_like_strings() -> None:
    """Large runs keep names as categories; the table is the same."""
    scores = judged(5, 3, holes=0.2)
    names = ["item", "task", "method", "factor", "outcome", "reason"]
    assert quick(scores.astype(dict.fromkeys(names, "category")), weights=WEIGHTS) == quick(
        scores, weights=WEIGHTS
    )


def test_ten_thousand_sessions_take_little_memory() -> None:
    """10,000 sessions of 8 methods and 5 factors are tabulated in a few times the memory of their numbers."""
    import tracemalloc

    from lmmscore.leaderboard.cube import tabulate

    sessions, methods, factors = 10_000, 8, 5
    lines = sessions * methods * factors
    codes = np.arange(lines)
    frame = pd.DataFrame(
        {
            "item": pd.Categorical.from_codes(
                codes // (methods * factors), [f"i{k}" for k in range(sessions)]
            ),
            "task": pd.Categorical.from_codes(np.zeros(lines, dtype=int), ["t"]),
            "method": pd.Categorical.from_codes(
                codes // factors % methods, [f"m{k}" for k in range(methods)]
            ),
            "repeat": 1,
            "factor": pd.Categorical.from_codes(codes % factors, [*FACTORS, "overall"]),
            "score": np.random.default_rng(0).integers(10, 100, lines) / 10,
        }
    )
    tracemalloc.start()
    cube = tabulate(frame)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert cube.mean.shape == (sessions, methods, factors)
    assert peak < 60e6


def test_the_frame_is_tidy_and_the_notebook_shows_the_caution() -> None:
    """`to_frame` has a line for each table and method; a notebook shows warnings, caution and tables."""
    board = quick(judged(6, 3, holes=0.2), caution="only a <baseline>")
    frame = board.to_frame()
    assert len(frame) == 9
    assert {"task", "factor", "rank", "method", "mean", "mean_low", "rank_high", "acc"} <= set(
        frame.columns
    )
    html = board._repr_html_()
    assert "only a &lt;baseline&gt;" in html
    assert "gave no score" in html


def test_a_fixed_order_is_pointed_out() -> None:
    """If every method always stood in the same place, a rank may be the place's, and a note says so."""
    scores = overall({"A": [8.0, 7.0, 8.0], "B": [6.0, 5.0, 6.5]})
    scores["position"] = pd.array([1 if m == "A" else 2 for m in scores["method"]], dtype="Int64")
    assert any("always stood in the same place" in note for note in quick(scores).notes)


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"level": 1.5}, "between 0 and 1"),
        ({"level": float("nan")}, "between 0 and 1"),
        ({"resamples": -5}, "whole number of at least 0"),
        ({"resamples": 10.5}, "whole number of at least 0"),
        ({"seed": -1}, "whole number of at least 0"),
        ({"task": []}, "task is empty; name one of: t0, t1"),
        ({"factor": []}, "factor is empty; name one of: acc"),
        ({"weights": {}}, "there are no weights"),
        ({"weights": {"acc": float("inf")}}, "finite"),
        ({"scales": {"overall": (1.0, float("inf"))}}, "lowest and the highest"),
        ({"scales": {"overall": (10, 1)}}, "lowest and the highest"),
    ],
)
def test_what_cannot_be_ranked_by_is_refused_in_a_line(wish: dict[str, Any], says: str) -> None:
    """A program that asks for what makes no sense is told so, as LmmscoreError."""
    with pytest.raises(LmmscoreError, match=says):
        rank(judged(4, 2), **wish)


def refused_on_hard_items() -> pd.DataFrame:
    """Forty items; A loses to B on every one, and has no score on the harder half."""
    rng = np.random.default_rng(0)
    hard = np.sort(rng.normal(0, 2, 40))
    a, b = 6 + hard, 6.37 + hard
    refused = [
        None if difficulty < 0 else float(score) for difficulty, score in zip(hard, a, strict=True)
    ]
    return overall({"A": refused, "B": list(map(float, b)), "C": list(map(float, b - 2))})


def test_an_order_that_paired_differences_contradict_is_said_above_the_table() -> None:
    """A method refused on the hard items ranks first by its mean, and the table says what is wrong."""
    table = rank(refused_on_hard_items()).table()
    assert table.rows[0].method == "A"
    assert table.warnings[0].startswith("The order contradicts paired differences: A ranks above B")
    assert "0.37 lower" in table.warnings[0] and "p < 0.001" in table.warnings[0]
    assert table.rows[0].rank_interval == (2, 2)
    assert table.row("B").rank_interval == (1, 1)
    assert (table.row("B").group, table.row("A").group) == ("a", "b")


def test_a_leader_that_is_not_beaten_keeps_the_first_rank_it_shares() -> None:
    """X beats A on the items both have and loses to B: it is not ahead of both, however they sort."""
    ahead, behind = [9.0] * 12 + [5.0] * 12, [5.0] * 12 + [9.0] * 12
    fewer = [None] * 12 + [5.9, 6.1] * 6
    for first, second in ((ahead, behind), (behind, ahead)):
        table = rank(overall({"A": first, "B": second, "X": fewer})).table()
        assert table.verdict == "A and B share the first rank."
        assert "ranks above X, but scores 1.00 lower" in table.warnings[0]


def test_means_over_common_items_stand_beside_the_others() -> None:
    """With missing scores, the mean over the items all methods have shows which is better."""
    table = rank(refused_on_hard_items()).table()
    a, b = table.row("A"), table.row("B")
    assert table.common_items == a.n < b.n
    assert a.common_mean == pytest.approx(a.mean)
    assert b.common_mean == pytest.approx((a.mean or 0) + 0.37)
    whole = rank(overall({"A": [5.0, 6.0], "B": [6.0, 7.0]})).table()
    assert whole.common_items is None
    assert whole.row("A").common_mean is None


def test_many_methods_can_differ_significantly_whatever_resamples_says() -> None:
    """Eleven methods, clearly apart on twenty items, do not share a letter with 1,000 draws."""
    rng = np.random.default_rng(1)
    scores = overall({f"m{k:02d}": list(k + rng.normal(0, 0.2, 20)) for k in range(11)})
    rows = rank(scores, resamples=1_000).table().rows
    assert len({row.group for row in rows}) == 11
    assert [row.rank_interval for row in rows] == [(k, k) for k in range(1, 12)]


def test_too_few_items_for_the_correction_are_named() -> None:
    """With 11 methods and 8 items nothing could reach 5%, and 12 are the least."""
    rng = np.random.default_rng(1)
    scores = overall({f"m{k:02d}": list(k + rng.normal(0, 0.2, 8)) for k in range(11)})
    notes = rank(scores).table().notes
    assert any("With 8 items no difference" in note and "12 items" in note for note in notes)


def test_tests_can_be_corrected_over_all_tables() -> None:
    """On request Holm's correction is over the pairs of every table, and the note says so."""
    scores = judged(16, 4)
    alone, together = rank(scores), rank(scores, holm="tables")
    pairs = sum(len(table.differences.pairs) for table in together.tables if table.differences)
    for one, two in zip(alone.tables, together.tables, strict=True):
        assert one.differences is not None and two.differences is not None
        assert two.differences.tests == pairs
        for first, second in zip(one.differences.pairs, two.differences.pairs, strict=True):
            assert (second.p_holm or 0) >= (first.p_holm or 0)
    assert any("of all tables" in note for table in together.tables for note in table.notes)


def test_an_interval_stays_on_a_known_scale() -> None:
    """No mean lies beyond the scale, so no interval does; where the scale is unknown it may."""
    scores = overall({"A": [10.0, 10.0, 4.0], "B": [5.0, 6.0, 7.0]})
    free = quick(scores).table("t").row("A").mean_interval
    kept = quick(scores, scales={"overall": (1.0, 10.0)}).table("t").row("A").mean_interval
    assert free is not None and free[1] > 10 and kept == (pytest.approx(1.0), 10.0)


def test_few_items_are_a_caution_only_where_scores_are_skewed() -> None:
    """The note names the methods it is about; even scores get none."""
    even = [5.0, 6.0, 7.0, 8.0, 6.5, 7.5]
    skewed = [1.0, 1.0, 1.1, 1.2, 1.0, 9.0]
    notes = quick(overall({"A": even, "B": skewed})).table("t").notes
    assert any("less often than stated" in note and note.endswith("skewed: B.") for note in notes)
    assert not any("less often" in note for note in quick(overall({"A": even})).table("t").notes)
