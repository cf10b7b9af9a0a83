"""Runs that compare pairs of edits: what is asked, what is kept, how methods are ranked."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import lmmscore
from lmmscore import run_writer
from lmmscore.cli import lmmscore as program
from lmmscore.conversation import Conversation
from lmmscore.errors import BenchmarkError, LmmscoreError
from lmmscore.execution.executor import StopRequested
from lmmscore.leaderboard.matches import rank_pairs
from lmmscore.plan import chosen_pairs
from lmmscore.records import Outcome
from lmmscore.report.leaderboard import render_pairs
from lmmscore.report.page import compared_runs
from lmmscore.report.run_data import RunData
from lmmscore.report.run_view import rank_run
from lmmscore.scores import Comparison
from tests.conftest import PAIR_DIALOG, ScriptedJudge

Maker = Callable[..., Path]
METHODS = ("alpha", "beta", "gamma")


def written(tmp_path: Path, **changes: Any) -> str:
    path = tmp_path / "pairwise.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(PAIR_DIALOG), **changes}))
    return str(path)


def better(*ranking: str) -> ScriptedJudge:
    """A judge that prefers by method, whatever the order."""

    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        first, second = [image.path.stem.split("_")[1] for image in conversation.message.images[1:]]
        return "[[A>B]]" if ranking.index(first) < ranking.index(second) else "[[B>A]]"

    return ScriptedJudge(answer)


def rows(run: lmmscore.Run) -> list[dict[str, str]]:
    with (run.path / "pairs.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_method_that_never_lost_gets_no_strength_of_its_own_accord() -> None:
    """Its strength would be infinite: wins are added and that is said, and nothing is called sure."""
    verdicts = [
        Comparison(str(item), "t", "A", "B", order, 1, "A", Outcome.SCORED)
        for item in range(6)
        for order in ("ab", "ba")
    ]
    table = rank_pairs(verdicts).table()
    # Six wins and half a win each way: odds of 13 to 1.
    assert [row.strength for row in table.rows] == pytest.approx(
        [math.log(13) / 2, -math.log(13) / 2]
    )
    assert any("0.5 wins each way were added" in note for note in table.notes)
    assert all(row.strength_interval is None for row in table.rows)


def test_every_pair_is_asked_in_both_orders(tmp_path: Path, make_benchmark: Maker) -> None:
    """Three methods on two items: three pairs, two orders each; pairs.csv has a line for each."""
    judge = better(*METHODS)
    run = lmmscore.run(make_benchmark(), written(tmp_path), judge, out=tmp_path / "r")
    found = rows(run)
    assert len(judge.asked) == len(found) == 2 * 3 * 2
    assert list(found[0])[:9] == [
        *("item", "task", "method_a", "method_b", "order"),
        *("repeat", "winner", "outcome", "reason"),
    ]
    assert Counter(row["order"] for row in found) == {"ab": 6, "ba": 6}
    assert all(row["winner"] == row["method_a"] for row in found)
    assert run.manifest.unscored == 0


def test_inconsistent_answers_are_ties_and_are_counted(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A judge that always takes the first place has said nothing: all ties, and the table says why."""
    judge = ScriptedJudge(lambda _: "I compared them.\n\n**[[A>B]]**")
    run = lmmscore.run(make_benchmark(), written(tmp_path), judge, out=tmp_path / "r")
    table = run.pair_board().table()
    assert (table.matches, table.inconsistent, table.unscored) == (6, 6, 0)
    assert {row.ties for row in table.rows} == {4}
    assert [row.strength for row in table.rows] == pytest.approx([0, 0, 0])
    assert (table.position.share, table.swings.first, table.swings.decided) == (1.0, 6, 6)
    assert "6 of 6 matches shown in both orders (100%) ended differently" in " ".join(table.notes)


def test_a_pair_without_a_verdict_is_left_out_and_counted(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Half a comparison is none; it never becomes a tie."""

    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        names = [image.path.stem.split("_")[1] for image in conversation.message.images[1:]]
        return "Hard to say." if names in (["alpha", "beta"], []) else "[[A=B=Bad]]"

    run = lmmscore.run(
        make_benchmark(items=1), written(tmp_path), ScriptedJudge(answer), out=tmp_path / "r"
    )
    lost = [row for row in rows(run) if not row["winner"]]
    assert [(row["order"], row["outcome"]) for row in lost] == [("ab", "unreadable")]
    assert "which of the two is better" in lost[0]["reason"]
    assert {row["both"] for row in rows(run) if row["winner"]} == {"bad"}
    table = run.pair_board().table()
    assert (table.matches, table.unscored) == (2, 1)
    assert run.manifest.unscored == 1


def test_a_method_without_an_edit_has_no_comparison(tmp_path: Path, make_benchmark: Maker) -> None:
    """Its pairs on that item are missing, with the reason; no one is asked."""
    judge = better(*METHODS)
    root = make_benchmark(items=2, absent=((0, "gamma"),))
    run = lmmscore.run(root, written(tmp_path), judge, out=tmp_path / "r")
    assert len(judge.asked) == 2 + 6
    lost = [row for row in rows(run) if row["outcome"] == "missing"]
    assert len(lost) == 2
    assert lost[0]["reason"] == "gamma made no edit of this item"


def test_the_scores_of_both_edits_are_kept_and_can_decide(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A protocol that scores both edits: the higher overall wins, and the scores stand in pairs.csv."""
    turn = {
        "name": "judge",
        "read": "scores",
        "say": "Score both. {{show.first}}{{show.second}}",
    }
    path = written(
        tmp_path,
        turns=[turn],
        factors=[{"key": "look", "scale": {"min": 1, "max": 10}}],
        overall="mean",
    )

    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        names = [image.path.stem.split("_")[1] for image in conversation.message.images]
        marks = {"alpha": 9, "beta": 5, "gamma": 5}
        return "\n".join(f"Image {at}: look: {marks[name]}" for at, name in enumerate(names, 1))

    asked = {"judge": ScriptedJudge(answer), "out": tmp_path / "r"}
    bench = make_benchmark(items=2)
    run = lmmscore.run(bench, path, items=["i0"], **asked)
    first = rows(run)
    found = {(row["method_a"], row["method_b"]): row for row in first if row["order"] == "ba"}
    assert found["alpha", "beta"]["winner"] == "alpha"
    assert found["beta", "gamma"]["winner"] == "tie"
    assert (found["alpha", "beta"]["look_a"], found["alpha", "beta"]["look_b"]) == ("9", "5")

    extended = rows(lmmscore.run(bench, path, items=["i1"], **asked))
    assert [row for row in extended if row["item"] == "i0"] == first, "the other item's stay whole"


def test_both_orders_of_a_pair_are_derived_again_each_for_itself(
    tmp_path: Path, make_benchmark: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of one order never stands in for the other, however often it is written down."""
    monkeypatch.setattr(run_writer, "COMMITTED_AT_ONCE", 1)
    asked = (make_benchmark(items=1), written(tmp_path), better(*METHODS))
    run = lmmscore.run(*asked, out=tmp_path / "r")
    first = rows(run)
    assert rows(lmmscore.run(*asked, out=tmp_path / "r")) == first
    assert rows(lmmscore.run(*asked, out=tmp_path / "r")) == first


@pytest.mark.parametrize("n", [2, 3, 5, 8, 9])
def test_a_part_of_the_pairs_is_connected_and_balanced(n: int) -> None:
    """Over any run of items each method is met equally often, give or take; n − 1 pairs link all."""
    methods = [f"m{place}" for place in range(n)]
    total = n * (n - 1) // 2
    for wanted in range(1, total + 1):
        taken: list[tuple[str, str]] = []
        for item in range(5, 5 + 2 * n):
            pairs = chosen_pairs(methods, wanted, item, seed=3)
            assert len(set(pairs)) == wanted
            taken += pairs
            met = Counter(method for pair in taken for method in pair)
            if len(taken) >= n:
                assert max(met.values()) - min(met[method] for method in methods) <= 3
        used = Counter(taken)
        assert len(taken) < total or max(used.values()) - min(used.values()) <= 1
    assert chosen_pairs(methods, None, 0, 0) == chosen_pairs(methods, total + 5, 7, 0)
    chain = chosen_pairs(methods, min(n - 1, total), 0, seed=1)
    linked = {methods[0]}
    for _ in methods:
        linked |= {method for pair in chain if linked & set(pair) for method in pair}
    assert linked == set(methods)


def test_a_plan_that_cannot_rank_all_methods_is_refused(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Before anything is asked, with what to do."""
    root = make_benchmark(items=1)
    judge = better(*METHODS)
    with pytest.raises(BenchmarkError, match="raise --pairs"):
        lmmscore.run(root, written(tmp_path), judge, out=tmp_path / "r", pairs=1)
    with pytest.raises(BenchmarkError, match="--pairs is for dialogs of pairs"):
        lmmscore.run(root, "lmm-score", judge, out=tmp_path / "s", pairs=1)
    assert judge.asked == []


def test_a_part_of_the_pairs_is_asked_and_replayed(tmp_path: Path, make_benchmark: Maker) -> None:
    """--pairs 1 on six items: six pairs, twice each; the record of the run gives the same table again."""
    root = make_benchmark(items=6)
    judge = better(*METHODS)
    run = lmmscore.run(root, written(tmp_path), judge, out=tmp_path / "r", pairs=1)
    assert len(judge.asked) == 12
    again = lmmscore.run(root, judge=f"replay:{run.path}", out=tmp_path / "again")
    assert (again.path / "pairs.csv").read_bytes() == (run.path / "pairs.csv").read_bytes()


def test_one_order_is_enough_where_the_dialog_says_so(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """`orders: one`: each pair once, neither place always first."""
    judge = better(*METHODS)
    path, bench = written(tmp_path, orders="one"), make_benchmark(items=8)
    run = lmmscore.run(bench, path, judge, out=tmp_path / "r", order="balanced")
    orders = Counter(row["order"] for row in rows(run))
    assert sum(orders.values()) == 24
    assert set(orders) == {"ab", "ba"}

    # A second repeat keeps the first as it was shown: no pair is met three times in two.
    again = lmmscore.run(bench, path, judge, out=tmp_path / "r", order="balanced", repeats=2)
    assert len(rows(again)) == 48


def comparisons(results: list[tuple[str, str, str]], item: int = 0) -> list[Comparison]:
    """Return comparisons shown in one order each: (a, b, winner)."""
    return [
        Comparison(f"i{item + at}", "t", a, b, "ab", 1, winner, Outcome.SCORED)
        for at, (a, b, winner) in enumerate(results)
    ]


def test_strengths_are_those_of_davidsons_model() -> None:
    """For two methods the fit has a closed form: the odds of the wins, and ν from the ties."""
    results = [("a", "b", "a")] * 6 + [("a", "b", "b")] * 3 + [("a", "b", "tie")] * 4
    table = rank_pairs(comparisons(results), resamples=200).table()
    first, second = table.rows
    assert (first.method, first.rank, second.rank) == ("a", 1, 2)
    assert first.strength is not None
    assert second.strength is not None
    assert first.strength - second.strength == pytest.approx(math.log(2), abs=1e-6)
    assert table.tie == pytest.approx(4 / (6 * 3) ** 0.5, abs=1e-6)
    assert first.win_rate == pytest.approx(8 / 13)
    assert first.strength_interval is not None
    assert first.strength_interval[0] < first.strength < first.strength_interval[1]


def test_methods_that_nothing_links_are_not_ranked() -> None:
    """Two islands: no strengths, no ranks, and the reason above the table; win rates stand."""
    results = [("a", "b", "a"), ("a", "b", "b"), ("c", "d", "c"), ("c", "d", "tie")]
    table = rank_pairs(comparisons(results)).table()
    assert table.groups == (("a", "b"), ("c", "d"))
    assert {row.rank for row in table.rows} == {None}
    assert "do not link all methods (a, b; c, d)" in table.warnings[0]


def test_a_method_that_a_category_has_no_pair_of_unlinks_nothing_there() -> None:
    """Each category ranks the methods entered for it; over all, every one is ranked."""
    both = comparisons([("a", "b", "a"), ("a", "b", "b"), ("a", "b", "a")])
    more = [("a", "c", "c"), ("a", "c", "a"), ("b", "c", "b"), ("b", "c", "c")]
    other = [replace(row, task="u") for row in comparisons(more, item=10)]
    board = rank_pairs([*both, *other], resamples=100)
    assert [row.method for row in board.table("t").rows] == ["a", "b"]
    assert {row.rank for row in board.table("t").rows} == {1, 2}
    assert len(board.table().rows) == 3


def test_strengths_have_no_interval_where_most_resamples_cannot_be_ranked() -> None:
    """A single item links c to the others: two in three resamples either lack it or one other."""
    results = [("a", "b", "a"), ("a", "b", "b"), ("b", "c", "c"), ("c", "d", "d"), ("d", "e", "e")]
    table = rank_pairs(comparisons(results), resamples=400).table()
    assert {row.strength_interval for row in table.rows} == {None}
    assert "of the resamples of items do not link all methods" in " ".join(table.warnings)


def test_who_wins_everything_is_first_with_a_finite_strength() -> None:
    """Separation: held finite by added wins, and the note says so.

    What those wins leave of an interval of strengths would be theirs; ranks still have one.
    """
    results = [("a", "b", "a")] * 6 + [("b", "c", "b"), ("b", "c", "c"), ("b", "c", "b")]
    table = rank_pairs(comparisons(results), resamples=200).table()
    assert [row.method for row in table.rows] == ["a", "b", "c"]
    assert "would make strengths infinite" in " ".join(table.notes)
    assert "do not link all methods" in " ".join(table.notes)
    assert {row.strength_interval for row in table.rows} == {None}
    assert table.rows[0].rank_interval == (1, 1)
    with pytest.raises(LmmscoreError, match="between 0 and 1"):
        rank_pairs(comparisons(results), level=95)


def test_nothing_but_ties_has_no_tie_parameter() -> None:
    """It would be infinite, which JSON cannot say: null, and a note."""
    board = rank_pairs(comparisons([("a", "b", "tie")] * 3), resamples=200)
    [table] = json.loads(render_pairs(board, "json"), parse_constant=pytest.fail)["tables"]
    assert table["tie_parameter"] is None
    assert any("All matches were ties" in note for note in table["notes"])


@pytest.mark.parametrize(
    ("winners", "verdict"),
    [
        (("a", "b", "a"), "a ranks first; too few comparisons to say how surely."),
        (("a", "b", "c"), "a, b and c share the first rank; too few comparisons to say how surely"),
    ],
)
def test_few_items_give_no_interval_and_say_why(
    winners: tuple[str, str, str], verdict: str
) -> None:
    """Below five items no interval could be trusted: none, and the reason above the table."""
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    found = [
        Comparison(item, "t", one, other, "ab", 1, winner, Outcome.SCORED)
        for item in ("i0", "i1", "i2", "i3")
        for (one, other), winner in zip(pairs, winners, strict=True)
    ]
    board = rank_pairs(found, resamples=200)
    table = board.table()
    assert {(row.strength_interval, row.rank_interval) for row in table.rows} == {(None, None)}
    assert "No intervals: 4 items with results" in table.warnings[0]
    assert not any("bootstrap" in note or "intervals" in note for note in board.notes)
    assert verdict in render_pairs(board, "md")


def test_items_that_are_all_alike_give_no_interval_and_say_why() -> None:
    """A spread that was never seen is not one of 0."""
    table = rank_pairs(comparisons([("a", "b", "a")] * 5), resamples=200).table()
    assert {row.rank_interval for row in table.rows} == {None}
    assert "No intervals: every resample" in table.warnings[0]


def test_the_commands_know_pairs(tmp_path: Path, make_benchmark: Maker) -> None:
    """`leaderboard` in every format, `agree` with votes; what needs scores says where to look instead."""
    run = lmmscore.run(make_benchmark(), written(tmp_path), better(*METHODS), out=tmp_path / "r")
    runner = CliRunner()
    shown = runner.invoke(program, ["leaderboard", str(run.path)])
    assert "alpha" in shown.output
    assert "Win rate" in shown.output
    for form in ("md", "tex", "csv", "json"):
        assert (
            runner.invoke(program, ["leaderboard", str(run.path), "--format", form]).exit_code == 0
        )
    table = json.loads(runner.invoke(program, ["leaderboard", str(run.path), "--json"]).output)
    assert [row["method"] for row in table["tables"][0]["rows"]] == list(METHODS)
    assert table["tables"][0]["matrix"]["alpha"]["beta"] == 1
    refused = runner.invoke(program, ["leaderboard", str(run.path), "--weights", "a=1"])
    assert refused.exit_code == 2
    votes = tmp_path / "votes.csv"
    votes.write_text("item,method_a,method_b,winner\ni0,alpha,beta,alpha\ni1,beta,alpha,beta\n")
    agreed = runner.invoke(program, ["agree", str(run.path), "--human", str(votes), "--json"])
    assert json.loads(agreed.output)["votes"]["r"]["accuracy"] == 0.5
    assert "with itself" not in agreed.stderr
    own = runner.invoke(program, ["agree", str(run.path), "--human", str(run.path / "pairs.csv")])
    assert "compares the judge with itself" in own.stderr
    people = ["agree", str(run.path), "--human", str(votes)]
    runner.invoke(program, [*people, "--out", str(tmp_path / "agreed.txt")])
    assert "50" in (tmp_path / "agreed.txt").read_text(encoding="utf-8")
    assert "--level is for scores" in runner.invoke(program, [*people, "--level", "item"]).output
    report = runner.invoke(program, ["report", str(run.path)])
    assert "alpha ranks first" in Path(report.output.strip()).read_text(encoding="utf-8")
    refused = runner.invoke(program, ["report", str(run.path), "--human", str(votes)])
    assert refused.exit_code == 1
    assert "lmmscore agree" in str(refused.exception)
    # While a run is going, its table has another name, and its last line may be half a line.
    half = (run.path / "pairs.csv").rename(run.path / "pairs.csv.part")
    half.write_text(half.read_text(encoding="utf-8") + "i9,ta", encoding="utf-8")
    assert runner.invoke(program, ["report", str(run.path)]).exit_code == 0
    assert "[[A>B]]" in runner.invoke(program, ["show", str(run.path), "i0"]).output


def test_a_report_of_two_runs_ranks_over_the_items_both_have(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """The same verdicts change no rank, where one run of pairs has an item more, won by another."""
    bench = make_benchmark()

    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        item, first = conversation.message.images[1].path.stem.split("_")
        second = conversation.message.images[2].path.stem.split("_")[1]
        order = METHODS if item == "i0" else METHODS[::-1]
        return "[[A>B]]" if order.index(first) < order.index(second) else "[[B>A]]"

    runs = []
    for name, items in (("all", None), ("one", ["i0"])):
        chosen = {} if items is None else {"items": items}
        dialog = written(tmp_path)
        run = lmmscore.run(bench, dialog, ScriptedJudge(answer), out=tmp_path / name, **chosen)
        runs.append(RunData(name, run))

    count = len({row.item for row in runs[0].comparisons})
    assert count > 1
    [grid], bumps = shown_ranks(runs)
    assert grid.caption == f"{count} items against 1; compared over the 1 they share."
    assert [[cell.text for cell in row] for row in grid.rows] == [
        [method, str(k), str(k)] for k, method in enumerate(METHODS, start=1)
    ]
    assert len(bumps) == 1


def shown_ranks(runs: list[RunData]) -> tuple[list[Any], list[Any]]:
    section = compared_runs(runs, [rank_run(run) for run in runs])
    assert section is not None
    return section.grids, section.bumps


def test_strengths_are_drawn_under_the_names_asked_for(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """`--plots` writes a forest plot of a run of pairs too; `--names` holds for table and figure."""
    pytest.importorskip("matplotlib")
    run = lmmscore.run(make_benchmark(), written(tmp_path), better(*METHODS), out=tmp_path / "r")
    options = ["--plots", str(tmp_path / "p"), "--plot-format", "svg", "--names", "alpha=First"]
    done = CliRunner().invoke(program, ["leaderboard", str(run.path), *options])
    assert "First" in done.stdout and "alpha" not in done.stdout
    drawn = (tmp_path / "p" / "forest-all-task-categories.svg").read_text(encoding="utf-8")
    assert "First" in drawn and "strength" in drawn


def test_a_stopped_run_says_which_pairs_were_not_reached(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """They stand in pairs.csv as unjudged, and the next run asks for these alone."""
    calls = 0

    def answer(conversation: Conversation) -> str:
        nonlocal calls
        calls += 1
        if calls > 4:
            raise StopRequested("enough")
        return "[[A>B]]"

    root = make_benchmark(items=1)
    path = written(tmp_path)
    with pytest.raises(StopRequested):
        lmmscore.run(root, path, ScriptedJudge(answer), out=tmp_path / "r", concurrency=1)
    run = lmmscore.Run(tmp_path / "r")
    assert Counter(row["outcome"] for row in rows(run)) == {"scored": 4, "unjudged": 2}
    assert run.pair_board().caution.startswith("Unfinished")
    judge = ScriptedJudge(lambda _: "[[A>B]]")
    again = lmmscore.run(root, path, judge, out=tmp_path / "r")
    assert len(judge.asked) == 2
    assert {row["outcome"] for row in rows(again)} == {"scored"}


def test_the_pairs_that_a_killed_run_did_not_reach_are_counted(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Coverage is over all that was planned, whether or not the run could write down what it had
    not reached."""
    bench = make_benchmark(items=2)
    (bench / "edits" / "i1_gamma.png").unlink()
    run = lmmscore.run(bench, written(tmp_path), better(*METHODS), out=tmp_path / "r")
    # As `kill -9` leaves a folder: half a line at the end, and no word of what was to follow.
    lines = (run.path / "pairs.csv").read_text().splitlines(keepends=True)
    (run.path / "pairs.csv.part").write_text("".join(lines[:5]) + lines[5][:7])
    (run.path / "pairs.csv").unlink()
    settings = (run.path / "run.yaml").read_text().replace("state: finished", "state: running")
    (run.path / "run.yaml").write_text(settings)

    outcomes = Counter(str(row.outcome) for row in lmmscore.Run(run.path).comparisons())
    assert outcomes == {"scored": 4, "unjudged": 4, "missing": 2}
    said = CliRunner().invoke(program, ["leaderboard", str(run.path), "--json"])
    assert said.exit_code == 0, said.exception
    table = json.loads(said.stdout)["tables"][-1]
    assert (table["matches"], table["unscored"]) == (2, 4)


def test_what_is_for_scores_is_refused_and_the_rest_works(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """An option that changed nothing would be taken for one that did; display names are shown."""
    run = lmmscore.run(make_benchmark(), written(tmp_path), better(*METHODS), out=tmp_path / "r")
    runner = CliRunner()
    for words in (["--columns", "rank"], ["--holm", "tables"]):
        refused = runner.invoke(program, ["leaderboard", str(run.path), *words])
        assert refused.exit_code == 2
        assert f"{words[0]} is for scores" in refused.output

    named = runner.invoke(program, ["leaderboard", str(run.path), "--names", "alpha=Ours"])
    assert "Ours" in named.stdout
