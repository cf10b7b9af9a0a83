"""Several runs side by side, and when they may be pooled."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats

from lmmscore.cli import lmmscore
from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard import rank
from lmmscore.leaderboard.compare import RunComparison, compare, pool
from lmmscore.report.figures import comparison_drawings
from lmmscore.report.leaderboard import comparison_grids
from tests.tidy_frames import FACTORS, judged, overall, tidy

SAME: dict[str, Any] = {
    "judge": "j",
    "models": ["j-1"],
    "dialog": "d",
    "dialog_version": 1,
    "images_digest": "x",
}


def side_by_side(
    *scores: pd.DataFrame, settings: list[dict[str, Any]] | None = None
) -> RunComparison:
    names = [f"run{k}" for k in range(len(scores))]
    boards = [rank(frame, resamples=0) for frame in scores]
    return compare(names, boards, scores, settings or [SAME] * len(scores), factor="overall")


def test_ranks_in_every_run_and_their_change() -> None:
    """A method that falls from first to last has a change of +2."""
    found = side_by_side(
        overall({"A": [9.0, 9.0], "B": [8.0, 8.0], "C": [7.0, 7.0]}),
        overall({"A": [6.0, 6.0], "B": [8.0, 8.0], "C": [7.0, 7.0]}),
    )
    changes = {
        line.method: (line.ranks, line.change) for line in found.changes if line.task is None
    }
    assert changes == {"A": ((1, 3), 2), "B": ((2, 1), -1), "C": ((3, 2), -1)}

    # A method that only one of them has changes the rank of no other.
    one = {"A": [9.0, 9.0], "B": [8.0, 8.0]}
    found = side_by_side(overall(one), overall({**one, "X": [9.5, 9.5]}))
    changes = {line.method: (line.ranks, line.change) for line in found.changes if line.task}
    assert changes == {"A": ((1, 2), 0), "B": ((2, 3), 0), "X": ((None, 1), None)}


def test_ranks_are_over_the_items_that_all_runs_have() -> None:
    """Equal scores change no rank, however many items more one of the runs has."""
    all_items = {"A": [9.0, 3.0, 3.0], "B": [8.0, 8.0, 8.0]}
    found = side_by_side(overall(all_items), overall({"A": [9.0], "B": [8.0]}))
    assert [(line.ranks, line.means, line.n, line.change) for line in found.changes[:2]] == [
        ((1, 1), (9.0, 9.0), (1, 1), 0),
        ((2, 2), (8.0, 8.0), (1, 1), 0),
    ]
    assert found.shared[0].statement.startswith("3 items against 1; compared over the 1 they share")

    # A score that is missing in one run is left out of the other, too.
    found = side_by_side(overall(all_items), overall({**all_items, "A": [9.0, None, None]}))
    assert {line.change for line in found.changes} == {0}
    assert "(4 and 4 of 6 and 4)" in found.shared[0].statement


def test_runs_that_share_no_item_have_no_change_of_rank() -> None:
    """Ranks over other items stand with their n, without arrows, and a sentence says so."""
    first = overall({"A": [9.0, 9.0], "B": [8.0, 8.0]}, task="t")
    second = overall({"A": [6.0], "B": [8.0]}, task="u")
    found = side_by_side(first, second)
    lines = [line for line in found.changes if line.task is None]
    assert [(line.ranks, line.n, line.change) for line in lines] == [
        ((1, 2), (2, 1), None),
        ((2, 1), (2, 1), None),
    ]
    shown = comparison_grids(found, 2)[0]
    assert "2 items against 1, none of which they share" in shown.caption
    assert "n = 2" in str(shown.rows) and "worse" not in str(shown.rows)
    assert comparison_drawings(found, {}) == []


def test_lower_scores_stay_better_over_shared_items() -> None:
    """Ranks over the shared items keep the direction of the factor."""
    frames = [overall({"A": [1.0, 9.0], "B": [2.0, 2.0]}), overall({"A": [1.0], "B": [2.0]})]
    frames = [frame.assign(factor="harm") for frame in frames]
    boards = [rank(f, factor="harm", lower_better=["harm"], resamples=0) for f in frames]
    found = compare(["a", "b"], boards, frames, [SAME, SAME], factor="harm")
    assert {line.method: line.ranks for line in found.changes} == {"A": (1, 1), "B": (2, 2)}


def test_agreement_is_over_the_edits_both_have() -> None:
    """Correlations and distances agree with scipy on the common edits, repeats averaged."""
    first, second = judged(8, 3, repeats=2, seed=1), judged(6, 3, seed=2)
    pair = side_by_side(first, second).agreements[0]
    a = first[first["factor"] == "overall"].groupby(["task", "item", "method"])["score"].mean()
    b = second[second["factor"] == "overall"].groupby(["task", "item", "method"])["score"].mean()
    x, y = a.align(b, join="inner")
    assert pair.edits == 18
    assert pair.pearson == pytest.approx(stats.pearsonr(x, y).statistic)
    assert pair.spearman == pytest.approx(stats.spearmanr(x, y).statistic)
    assert pair.mean_difference == pytest.approx((y - x).mean())
    assert pair.mean_distance == pytest.approx((y - x).abs().mean())


def test_missing_scores_do_not_move_the_correlation_of_methods() -> None:
    """Two runs give every edit the same score; one lacks A's good item. They agree on all methods."""
    first = overall({"A": [9.0, 3.0], "B": [5.0, 5.0], "C": [4.0, 4.0], "D": [1.0, 1.0]})
    second = overall({"A": [None, 3.0], "B": [5.0, 5.0], "C": [4.0, 4.0], "D": [1.0, 1.0]})
    pair = side_by_side(first, second).agreements[0]
    assert (pair.edits, pair.methods) == (7, 4)
    assert pair.rank_spearman == pytest.approx(1)


def test_runs_without_common_edits_have_no_agreement() -> None:
    """Nothing in common gives no number, and no crash."""
    pair = side_by_side(overall({"A": [5.0]}), overall({"B": [6.0]}, task="u")).agreements[0]
    assert (pair.edits, pair.pearson, pair.mean_difference, pair.rank_spearman) == (
        0,
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("judge", "k", "another judge"),
        ("models", ["j-2"], "judge snapshot"),
        ("dialog_version", 2, "dialog version"),
        ("images_digest", "y", "image set"),
    ],
)
def test_what_is_not_comparable_is_not_pooled_unless_told(
    key: str, value: object, says: str
) -> None:
    """Another snapshot, dialog version or image set stops pooling, and the message names it."""
    scores = [overall({"A": [5.0]}), overall({"A": [7.0]})]
    settings = [SAME, {**SAME, key: value}]
    with pytest.raises(LmmscoreError, match=says):
        pool(["a", "b"], scores, settings, anyway=False)
    assert len(pool(["a", "b"], scores, settings, anyway=True)) == 2
    assert says in side_by_side(*scores, settings=settings).differing[0]


def test_files_without_a_record_are_not_pooled_unless_told() -> None:
    """A bare scores.csv does not say who judged, so it may not be comparable."""
    scores = [overall({"A": [5.0]}), overall({"A": [7.0]})]
    with pytest.raises(LmmscoreError, match="not on record"):
        pool(["a", "b"], scores, [{}, SAME], anyway=False)


def test_without_digests_the_names_of_the_edits_decide() -> None:
    """Runs over other items are other image sets, also where no digest is on record."""
    plain = {key: value for key, value in SAME.items() if key != "images_digest"}
    with pytest.raises(LmmscoreError, match="share 1 of 2 edits"):
        pool(
            ["a", "b"],
            [overall({"A": [5.0]}), overall({"A": [7.0, 8.0]})],
            [plain, plain],
            anyway=False,
        )

    # An edit that one of them could not score is still the same edit.
    scores = [overall({"A": [5.0, 6.0]}), overall({"A": [5.0, None]})]
    boards = [rank(frame, resamples=0) for frame in scores]
    found = compare(["a", "b"], boards, scores, [plain, plain], factor="overall")
    assert found.differing == ()


def test_pooled_runs_are_further_repeats() -> None:
    """The same item in two runs is one item judged twice, not two items."""
    pooled = pool(
        ["a", "b"],
        [overall({"A": [5.0, 5.0]}), overall({"A": [7.0, 7.0]})],
        [SAME, SAME],
        anyway=False,
    )
    row = rank(pooled, resamples=0).table().row("A")
    assert (row.mean, row.n, row.coverage) == (6.0, 2, 1.0)


def test_json_has_ranks_agreement_and_what_differs() -> None:
    """A program finds the runs, what differs, the ranks and the agreement."""
    found = side_by_side(judged(4, 2), judged(4, 2, seed=1)).as_dict()
    assert set(found) == {"runs", "differing", "ranks", "agreement", "cautions", "shared"}
    assert {line["task"] for line in found["ranks"]} == {"t0", "t1", None}
    assert all(len(line["ranks"]) == len(line["means"]) == 2 for line in found["ranks"])


def saved(tmp_path: Path, **frames: pd.DataFrame) -> list[str]:
    for name, frame in frames.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return [str(tmp_path / f"{name}.csv") for name in frames]


def compared(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(lmmscore, ["compare", *words, "--json"])
    assert done.exit_code == 0, repr(done.exception)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_agreement_is_over_the_tasks_asked_for(tmp_path: Path) -> None:
    """--task narrows the agreement as it narrows the tables, and two tasks count both."""
    first, second = judged(12, 4, tasks=3, seed=1), judged(12, 4, tasks=3, seed=2)
    files = saved(tmp_path, first=first, second=second)
    one = compared(*files, "--task", "t1")["agreement"][0]
    assert one["edits"] == 16
    two = compared(*files, "--task", "t1", "--task", "t2")["agreement"][0]
    means = [
        frame[(frame["factor"] == "overall") & frame["task"].isin(["t1", "t2"])]
        .groupby("method")["score"]
        .mean()
        for frame in (first, second)
    ]
    assert two["edits"] == 32
    assert two["rank_spearman"] == pytest.approx(stats.spearmanr(means[0], means[1]).statistic)
    assert compared(*files)["agreement"][0]["edits"] == 48


def test_without_an_overall_each_factor_is_compared_and_named(tmp_path: Path) -> None:
    """A dialog without an overall gives a table and an agreement for every factor, and so does `all`."""
    full = judged(6, 3, seed=1)
    parts = full[full["factor"] != "overall"]
    files = saved(tmp_path, first=parts, second=judged(6, 3, seed=2))
    found = compared(*files)
    assert {line["factor"] for line in found["ranks"]} == set(FACTORS)
    assert [(pair["factor"], pair["edits"]) for pair in found["agreement"]] == [
        (f, 18) for f in FACTORS
    ]
    shown = CliRunner().invoke(lmmscore, ["compare", *files, "--format", "md"]).stdout
    assert all(f"All task categories: {factor}" in shown for factor in FACTORS)
    assert "Not every run has an overall" in shown
    everything = saved(tmp_path, third=full, fourth=judged(6, 3, seed=2))
    assert [pair["factor"] for pair in compared(*everything, "--factor", "all")["agreement"]] == [
        "overall", *FACTORS,
    ]  # fmt: skip


def test_changes_of_rank_are_drawn_factor_by_factor(tmp_path: Path) -> None:
    """A figure per factor; methods that share a rank share a label."""
    pytest.importorskip("matplotlib")
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    tied = overall({"A": [9.0, 8.0], "B": [9.0, 8.0], "C": [7.0, 7.0]})
    for path in (first, second):
        pd.concat([tied, tied.assign(factor="acc")]).to_csv(path, index=False)
    options = ["--factor", "all", "--plots", str(tmp_path / "p"), "--plot-format", "svg"]
    done = CliRunner().invoke(lmmscore, ["compare", str(first), str(second), *options])
    assert done.exit_code == 0, done.exception
    names = {path.name for path in (tmp_path / "p").iterdir()}
    assert names == {"rank-changes-overall.svg", "rank-changes-acc.svg"}
    drawn = (tmp_path / "p" / "rank-changes-acc.svg").read_text(encoding="utf-8")
    assert drawn.count(">A, B<") == 2 and drawn.count(">C<") == 2


def test_figures_without_matplotlib_are_refused_before_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra is named, and nothing is printed that would scroll it away."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    files = saved(tmp_path, a=judged(6, 3, seed=1), b=judged(6, 3, seed=2))
    done = CliRunner().invoke(lmmscore, ["compare", *files, "--plots", str(tmp_path / "p")])
    assert "pip install 'lmmscore[plots]'" in str(done.exception)
    assert done.stdout == ""


def test_runs_without_a_common_factor_are_not_compared(tmp_path: Path) -> None:
    """What cannot be compared is refused with what each run has; a misspelt factor names the run."""
    files = saved(
        tmp_path, a=tidy([{"factor": "x", "score": 5.0}]), b=tidy([{"factor": "yy", "score": 5.0}])
    )
    refused = CliRunner().invoke(lmmscore, ["compare", *files])
    assert "no scored factor in common (a: x; b: yy)" in str(refused.exception)
    assert "no factor 'x' in b" in str(
        CliRunner().invoke(lmmscore, ["compare", *files, "--factor", "x"]).exception
    )
