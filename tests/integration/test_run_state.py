"""A run says what it is: unfinished, extended, judged beside others, moved."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import lmmscore
from lmmscore.api import Hooks, Request, play_request, prepare
from lmmscore.cli import lmmscore as command
from lmmscore.cli.run import without_folders
from lmmscore.conversation import Conversation
from lmmscore.errors import FileProblem, JudgeError, LmmscoreError
from lmmscore.execution.executor import Executor, Listeners, StopRequested
from lmmscore.images import Pictures
from lmmscore.ledger import Ledger
from lmmscore.records import Reply
from lmmscore.resources import bundled
from lmmscore.run_folder import Run, open_run, shown_digests
from tests.conftest import ScriptedJudge, fair_answer

Maker = Callable[..., Path]
AGAINST_SOURCE = {"against": "source"}


def stop_after(units: int) -> Hooks:
    """Hooks that stop a run as Ctrl-C does, after so many units."""
    held: list[Executor] = []
    done: list[object] = []

    def on_result(result: object) -> None:
        done.append(result)
        if len(done) == units:
            held[0].stop(StopRequested("interrupted"))

    return Hooks(Listeners(on_result=on_result), lambda executor, *_: held.append(executor))


def stop_at_once() -> Hooks:
    """Hooks that stop a run before its first question."""
    return Hooks(on_start=lambda executor, *_: executor.stop(StopRequested("interrupted")))


def rows(run: Path) -> list[dict[str, str]]:
    with (run / "scores.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def outcomes(run: Path, factor: str = "overall") -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows(run):
        if row["factor"] == factor:
            found[row["outcome"]] = found.get(row["outcome"], 0) + 1
    return found


def interrupted(bench: Path, out: Path, units: int = 2, **options: object) -> None:
    with pytest.raises(StopRequested):
        lmmscore.run(
            bench,
            judge=ScriptedJudge(fair_answer),
            out=out,
            concurrency=1,
            hooks=stop_after(units) if units else stop_at_once(),
            **options,  # type: ignore[arg-type]
        )


def test_what_was_planned_and_not_judged_is_in_the_table(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A run stopped at 2 of 5 sessions has a coverage of 40%, and says so first."""
    bench = make_benchmark(items=5)
    interrupted(bench, tmp_path / "r")
    assert outcomes(tmp_path / "r") == {"scored": 6, "unjudged": 9}
    run = open_run(tmp_path / "r")
    assert run.manifest.caution.startswith("Unfinished: 2 of 5 sessions were judged.")
    table = run.leaderboard(resamples=100).tables[0]
    assert {row.coverage for row in table.rows} == {0.4}


def test_a_resumed_run_is_finished_and_complete(tmp_path: Path, make_benchmark: Maker) -> None:
    """The same command again leaves nothing unjudged and no word of caution."""
    bench = make_benchmark(items=5)
    interrupted(bench, tmp_path / "r")
    run = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r")
    assert outcomes(tmp_path / "r") == {"scored": 15}
    assert run.manifest.state == "finished"
    assert "Unfinished" not in run.manifest.caution


def test_a_run_stopped_before_its_first_session_says_so(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Neither an empty table nor a traceback: one line with the way on."""
    interrupted(make_benchmark(), tmp_path / "r", units=0)
    with pytest.raises(FileProblem, match=r"no session was finished.*lmmscore run.*resumes"):
        open_run(tmp_path / "r").leaderboard()


def test_a_killed_run_shows_what_it_has(tmp_path: Path, make_benchmark: Maker) -> None:
    """Where a run was cut off before it saved its tables, the rows written so far are there, and the
    rest of the plan counts as unjudged: coverage is over all that was asked for."""
    bench = make_benchmark(items=4)
    run = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r")
    lines = (run.path / "scores.csv").read_text().splitlines(keepends=True)
    (run.path / "scores.csv.part").write_text("".join(lines[:31]) + lines[31][:7])
    (run.path / "scores.csv").unlink()
    text = (run.path / "run.yaml").read_text()
    text = text.replace("state: finished", "state: running").replace(
        "caution: ''", "caution: 'Unfinished: the run is still going on, or was cut off.'"
    )
    (run.path / "run.yaml").write_text(text)
    found = open_run(run.path)
    assert "cut off" in found.progress()
    counts = found.scores()["outcome"].value_counts().to_dict()
    assert counts == {"scored": 30, "unjudged": 30}
    assert {row.coverage for row in found.leaderboard().tables[0].rows} == {0.5}
    listed = CliRunner().invoke(command, ["list", str(tmp_path)])
    assert "cut off" in listed.stdout


def test_a_run_killed_before_its_first_session_says_so(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Nothing of it was written yet, which is no damage."""
    bench = make_benchmark()
    run = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r")
    for name in ("scores.csv", "sessions.jsonl"):
        (run.path / name).unlink()
    (run.path / "scores.csv.part").touch()
    text = (run.path / "run.yaml").read_text()
    (run.path / "run.yaml").write_text(text.replace("state: finished", "state: running"))
    for name in ("leaderboard", "report"):
        said = CliRunner().invoke(command, [name, str(run.path)]).exception
        assert "no session was finished" in str(said)
        assert "the same `lmmscore run` resumes it" in str(said)


def test_more_repeats_of_the_same_methods_mix_no_sets(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Stopped halfway, or asked for of some items only, they are no reason for a word about sets
    or about a part of the benchmark."""
    bench, out = make_benchmark(items=4), tmp_path / "r"
    lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out)
    interrupted(bench, out, units=5, repeats=2)
    caution = open_run(out).manifest.caution
    assert re.fullmatch(r"Unfinished: \d of 8 sessions were judged\.", caution)
    lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out, repeats=2)
    more = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out, repeats=3, limit=2)
    assert (more.manifest.caution, more.manifest.chosen) == ("", "")


def test_an_interrupted_rerun_loses_nothing_that_was_judged(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """All of it is still there, so the run is as finished as before, and so are its tables."""
    bench = make_benchmark(items=5)
    run = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r")
    (run.path / "leaderboard.md").write_text("a table of these scores")
    before = (run.path / "scores.csv").read_bytes()
    interrupted(bench, run.path, units=1)
    assert (run.path / "scores.csv").read_bytes() == before
    assert (run.path / "leaderboard.md").exists()
    manifest = open_run(run.path).manifest
    assert (manifest.state, manifest.judged, manifest.planned) == ("finished", 5, 5)
    assert "Unfinished" not in manifest.caution


def test_an_interrupted_extension_says_how_far_it_is(tmp_path: Path, make_benchmark: Maker) -> None:
    """Older results stay and count, and no older table stands beside newer scores."""
    bench = make_benchmark(items=5)
    options = {"judge": ScriptedJudge(fair_answer), "out": tmp_path / "r"}
    run = lmmscore.run(bench, items=["i0", "i1"], **options)  # type: ignore[arg-type]
    (run.path / "leaderboard.md").write_text("an older table")
    interrupted(bench, run.path, units=3)
    assert outcomes(run.path) == {"scored": 9, "unjudged": 6}
    assert not (run.path / "leaderboard.md").exists()
    manifest = open_run(run.path).manifest
    assert manifest.caution.startswith("Unfinished: 3 of 5 sessions were judged.")


def test_a_list_of_runs_says_how_far_each_is(tmp_path: Path, make_benchmark: Maker) -> None:
    """In a few words; what to do about a stopped run is for `run` and `leaderboard` to say."""
    interrupted(make_benchmark(items=5), tmp_path / "runs" / "r")
    done = CliRunner().invoke(command, ["list", str(tmp_path / "runs")])
    assert "stopped, 2 of 5 sessions" in done.output
    assert "resume" not in done.output


MOMENTS = ("begin", "take", "finish", "_put_in_place", "_write_manifest", "close")
KILLED = """
import os
from pathlib import Path
import lmmscore
from lmmscore.run_writer import RunWriter
from tests.conftest import ScriptedJudge, fair_answer
for moment in {moments!r}:
    if os.fork() == 0:
        setattr(RunWriter, moment, lambda *_, **__: os._exit(9))
        # Nothing kept: every session is taken anew, from the ledger.
        Path({out!r}, ".readings.sqlite").unlink(missing_ok=True)
        lmmscore.run({bench!r}, judge=ScriptedJudge(fair_answer), out={out!r})
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 9
    print(moment, lmmscore.open_run({out!r}).manifest.state)
"""


def test_a_finished_run_is_finished_at_every_moment_of_deriving_it_again(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Killed wherever it is, the folder says of itself what its tables say."""
    bench = make_benchmark(items=3)
    run = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r")
    (run.path / "leaderboard.md").write_text("a table of these scores")
    before = (run.path / "scores.csv").read_bytes()
    code = KILLED.format(moments=MOMENTS, out=str(run.path), bench=str(bench))
    project = str(Path(__file__).parents[2])
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == [f"{moment} finished" for moment in MOMENTS]
    assert (run.path / "scores.csv").read_bytes() == before
    assert (run.path / "leaderboard.md").exists()
    assert open_run(run.path).manifest.judged == 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"order": "balanced"}, "--order"),
        ({"seed": 5}, "--seed"),
        ({"max_side_px": 64}, "--max-side"),
        ({"dialog": "factors-12"}, "dialog"),
    ],
)
def test_another_question_does_not_overwrite_a_run(
    tmp_path: Path, make_benchmark: Maker, options: dict[str, object], says: str
) -> None:
    """What would change the meaning of the scores is refused, with the way out."""
    bench = make_benchmark(kinds=("source", "reference"))
    run = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r")
    before = (run.path / "scores.csv").read_bytes()
    with pytest.raises(LmmscoreError, match=rf"{says}.*another --out.*--ledger"):
        lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=run.path, **options)  # type: ignore[arg-type]
    assert (run.path / "scores.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "choice"),
    [
        ({"items": ["i0"]}, "--task colour --item i0"),
        ({"items": ["i0", "i1"]}, "--item i0 --item i1"),
        ({"limit": 1}, "--task colour --item i0"),
        ({"repeats": 1}, None),
        ({"tasks": ["shape"]}, "--task shape"),
        ({"items": ["i1"]}, "--task shape"),
        ({"methods": ["alpha", "beta"]}, "--method alpha --method beta"),
    ],
)
def test_a_part_of_a_run_is_refused_with_a_command_that_ranks_it(
    tmp_path: Path, make_benchmark: Maker, options: dict[str, object], choice: str | None
) -> None:
    """1,396 lines do not become 16; the command named instead works, or none is named."""
    bench = make_benchmark(items=3, tasks=("colour", "shape"))
    judge = ScriptedJudge(fair_answer)
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "r", repeats=2)
    before = (run.path / "scores.csv").read_bytes()
    with pytest.raises(LmmscoreError, match=r"holds more than is asked.*--ledger") as refused:
        lmmscore.run(bench, judge=judge, out=run.path, **{"repeats": 2, **options})  # type: ignore[arg-type]
    assert (run.path / "scores.csv").read_bytes() == before
    named = re.findall("`lmmscore (.*?)`", str(refused.value))
    assert named == ([f"leaderboard {run.path} {choice}"] if choice else [])
    for words in named:
        assert CliRunner().invoke(command, shlex.split(words)).exit_code == 0


def test_ctrl_c_while_a_run_is_prepared_leaves_no_run_behind(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A run that never began does not say that it is under way."""
    bench = make_benchmark()
    tasks: list[asyncio.Task[object]] = []
    request = Request.of(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r")

    async def main() -> None:
        # What asyncio does at Ctrl-C.
        hooks = Hooks(on_start=lambda *_: tasks[0].cancel() and None)
        tasks.append(asyncio.create_task(play_request(request, hooks)))
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]

    asyncio.run(main())
    assert not (tmp_path / "r" / "run.yaml").exists()


def test_more_items_and_repeats_extend_a_run(tmp_path: Path, make_benchmark: Maker) -> None:
    """A pilot becomes the whole; nothing that was answered is asked again."""
    bench = make_benchmark(items=4)
    pilot = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r", limit=2)
    assert "--limit 2" in pilot.manifest.caution
    started = pilot.manifest.started
    judge = ScriptedJudge(fair_answer)
    whole = lmmscore.run(bench, judge=judge, out=tmp_path / "r")
    assert outcomes(whole.path) == {"scored": 12}
    assert whole.manifest.started == started
    assert whole.manifest.caution == ""
    lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r", repeats=2)
    assert outcomes(whole.path) == {"scored": 24}


def test_every_session_of_an_extended_run_is_counted(tmp_path: Path) -> None:
    """Where each edit has a session of its own, two items with two edits each are four."""
    asked = {"out": tmp_path / "r", "methods": ["CleanEdit", "TintLeak"]}
    for item in ("boat", "cottage"):
        run = lmmscore.run(bundled("media") / "demo", "factors-12", items=[item], **asked)

    assert (run.manifest.planned, run.manifest.judged) == (4, 4)


def test_sessions_about_other_methods_stay_counted(tmp_path: Path, make_benchmark: Maker) -> None:
    """Where each edit has its own session, a new method adds sessions and replaces none."""
    bench, out = make_benchmark(), tmp_path / "run"
    for methods in (["alpha", "beta"], ["gamma"]):
        lmmscore.run(bench, "preservation-3", out=out, methods=methods, settings=AGAINST_SOURCE)
    manifest = open_run(out).manifest
    assert (manifest.planned, manifest.judged) == (6, 6)
    assert len(list(open_run(out).records())) == 6

    lines = (out / "sessions.jsonl").read_bytes().splitlines(keepends=True)
    (out / "sessions.jsonl").write_bytes(b"".join(lines[:3]))
    with pytest.raises(FileProblem, match="holds 3 of 6 sessions"):
        list(open_run(out).records())


def test_what_an_earlier_part_left_unscored_stays_counted(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """run.yaml speaks of the whole folder, as its table does."""
    bench = make_benchmark(items=2, absent=((0, "beta"),))
    for item, unscored in (("i0", 1), ("i1", 1)):
        judge = ScriptedJudge(fair_answer)
        run = lmmscore.run(bench, judge=judge, out=tmp_path / "r", items=[item])
        assert run.manifest.unscored == unscored


def test_another_model_for_another_part_is_said(tmp_path: Path, make_benchmark: Maker) -> None:
    """One table of two parts that two snapshots of a judge answered must say so."""
    bench = make_benchmark(items=2)
    for item, model in (("i0", "m-1"), ("i1", "m-2")):

        def answer(conversation: Conversation, model: str = model) -> Reply:
            return Reply(fair_answer(conversation), model=model)

        judge = ScriptedJudge(answer)
        run = lmmscore.run(bench, judge=judge, out=tmp_path / "r", items=[item])

    assert run.manifest.models == ["m-1", "m-2"]
    assert "The judge's model changed during this run: m-1, m-2." in run.manifest.caution


def test_deriving_again_keeps_when_the_judge_answered(
    tmp_path: Path, make_benchmark: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`started` and `finished` speak of the answers, not of the tables."""
    from lmmscore import run_writer

    bench = make_benchmark()
    monkeypatch.setattr(run_writer, "_now", lambda: "2026-01-01T00:00:00+00:00")
    first = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r").manifest
    monkeypatch.setattr(run_writer, "_now", lambda: "2027-01-01T00:00:00+00:00")
    again = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r").manifest
    assert (again.started, again.finished) == (first.started, first.finished)


def test_another_order_of_the_methods_in_the_file_asks_nothing_new(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Orders come from the names and the seed."""
    bench = make_benchmark(items=4, methods=("alpha", "beta", "gamma"))
    file = bench / "benchmark.yaml"
    for order in ("shuffled", "balanced"):
        file.write_text(_with_methods(file, ["alpha", "beta", "gamma"]))
        out = tmp_path / order
        lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out / "a", order=order)  # type: ignore[arg-type]
        file.write_text(_with_methods(file, ["gamma", "alpha", "beta"]))
        judge = ScriptedJudge(fair_answer)
        lmmscore.run(
            bench,
            judge=judge,
            out=out / "b",
            order=order,  # type: ignore[arg-type]
            ledger=out / "a" / "ledger.sqlite",
        )
        assert judge.asked == []


def _with_methods(file: Path, methods: list[str]) -> str:
    data = yaml.safe_load(file.read_text())
    return yaml.safe_dump({**data, "methods": methods})


def test_a_new_method_is_judged_beside_others(tmp_path: Path, make_benchmark: Maker) -> None:
    """The newcomer's scores are added, those of the others stay, and the table says how it was judged."""
    bench = make_benchmark(items=3, methods=("alpha", "beta", "gamma"))
    old = ["alpha", "beta"]
    run = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r", methods=old)
    before = rows(run.path)
    judge = ScriptedJudge(fair_answer)
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "r", methods=["gamma"], beside=["beta"])
    after = rows(run.path)
    assert [row for row in after if row["method"] != "gamma"] == before
    assert sum(row["method"] == "gamma" for row in after) == 3 * 5
    assert run.manifest.beside == {"gamma": ["beta"]}
    assert "gamma was judged beside beta only" in run.manifest.caution
    for form, marked in (("md", "gamma †"), ("tex", r"gamma \dag{}"), ("csv", "gamma,")):
        table = CliRunner().invoke(command, ["leaderboard", str(run.path), "--format", form])
        assert marked in table.stdout
    assert max(shown(conversation) for conversation in judge.asked) == 3


@pytest.mark.parametrize(
    "words", ["leaderboard A B --anyway", "leaderboard A B --panel", "compare A B"]
)
def test_the_mark_of_a_method_judged_beside_others_outlasts_other_runs(
    tmp_path: Path, make_benchmark: Maker, words: str
) -> None:
    """Where several runs are one table, it marks the method whichever run it comes from."""
    bench = make_benchmark(items=3, methods=("alpha", "beta", "gamma"))
    judge = ScriptedJudge(fair_answer)
    whole = lmmscore.run(bench, judge=judge, out=tmp_path / "whole")
    for part in ({"methods": ["alpha", "beta"]}, {"methods": ["gamma"], "beside": ["beta"]}):
        marked = lmmscore.run(bench, judge=judge, out=tmp_path / "marked", **part)

    typed = words.replace("A", str(whole.path)).replace("B", str(marked.path)).split()
    table = CliRunner().invoke(command, [*typed, "--format", "md"])
    assert "| gamma † |" in table.stdout and "alpha †" not in table.stdout


def test_the_methods_a_new_one_is_judged_beside_may_be_given_together(
    make_benchmark: Maker,
) -> None:
    """`--beside A,B` is `--beside A --beside B`; a method whose name holds a comma stays one."""
    bench = make_benchmark(methods=("alpha", "beta", "gamma"))
    request = Request.of(bench, methods=["gamma"], beside=["alpha,beta"])
    assert prepare(request).plan.beside == ("alpha", "beta")
    text = (bench / "benchmark.yaml").read_text().replace("[alpha, beta,", "['alpha,beta',")
    (bench / "benchmark.yaml").write_text(text)
    assert prepare(request).plan.beside == ("alpha,beta",)


def shown(conversation: Conversation) -> int:
    return sum(len(message.images) for message in conversation.messages)


def test_a_larger_set_replaces_the_smaller_item_by_item(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Interrupted, the table says which items were judged among fewer methods; sets are never mixed in an item."""
    bench = make_benchmark(items=4, methods=("alpha", "beta", "gamma"))
    out = tmp_path / "r"
    lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out, methods=["alpha", "beta"])
    interrupted(bench, out, units=1)
    run = open_run(out)
    assert "3 items were judged among alpha, beta only" in run.manifest.caution
    assert outcomes(out) == {"scored": 3 + 3 * 2, "unjudged": 3}
    sets = {tuple(sorted(record.order)) for record in run.records()}
    assert sets == {("alpha", "beta"), ("alpha", "beta", "gamma")}
    lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out)
    assert outcomes(out) == {"scored": 12}


def test_a_run_folder_holds_no_absolute_path(
    tmp_path: Path, make_benchmark: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Double-blind review: no path of the machine and no user's name in any file of a run."""
    monkeypatch.setenv("HOME", str(tmp_path / "alice"))
    bench = make_benchmark(folder="alice/bench")
    run = lmmscore.run(
        bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r", ledger=tmp_path / "l.sqlite"
    )
    for file in run.path.iterdir():
        assert str(tmp_path).encode() not in file.read_bytes(), file.name
        assert b"alice" not in file.read_bytes(), file.name


@pytest.mark.parametrize("before", ["", "-o", "--out=", "replay:", "--judge=replay:", "-jreplay:"])
def test_the_command_on_record_names_no_folder(before: str) -> None:
    """However a path is written, its folders may hold a user's name; addresses stay."""
    assert without_folders(f"{before}/home/alice/run") == f"{before}run"
    assert without_folders(f"{before}results/run") == f"{before}results/run"
    assert without_folders("openai/m@http://host/v1") == "openai/m@http://host/v1"


def test_what_sessions_share_is_listed_as_paid_for_once(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """All sessions open with the same words, which are asked and paid for once."""
    judge = ScriptedJudge(lambda asked: Reply(fair_answer(asked), cost_usd=1.0))
    lmmscore.run(make_benchmark(items=3), judge=judge, out=tmp_path / "runs" / "r")
    listed = CliRunner().invoke(command, ["list", str(tmp_path / "runs"), "--json"])
    assert json.loads(listed.stdout)["runs"][0]["cost_usd"] == len(judge.asked)


def test_a_run_and_its_benchmark_can_be_moved(tmp_path: Path, make_benchmark: Maker) -> None:
    """Moved together, or the benchmark put beside the run, the pictures are found."""
    bench = make_benchmark()
    run = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "results" / "r")
    moved = tmp_path / "quite" / "elsewhere"
    shutil.copytree(run.path, moved / "r")
    assert open_run(moved / "r").find_benchmark() is None
    shutil.copytree(bench, moved / bench.name)
    assert open_run(moved / "r").find_benchmark() == moved / bench.name / "benchmark.yaml"
    assert open_run(run.path).find_pictures(bench) == bench


def test_a_run_with_a_ledger_elsewhere_can_be_replayed(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """The run knows where its ledger is."""
    bench = make_benchmark()
    run = lmmscore.run(
        bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r", ledger=tmp_path / "l.sqlite"
    )
    again = lmmscore.run(bench, judge=f"replay:{run.path}", out=tmp_path / "again")
    assert (again.path / "scores.csv").read_bytes() == (run.path / "scores.csv").read_bytes()


def test_a_benchmark_of_the_same_name_does_not_mix_with_another(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Both would go to the same folder by default; once moved, a benchmark is still the same."""
    one, other = make_benchmark(folder="one"), make_benchmark(items=3, folder="other")
    out = tmp_path / "run"
    lmmscore.run(one, judge=ScriptedJudge(fair_answer), out=out)
    with pytest.raises(LmmscoreError, match="another benchmark of the same name; give this one"):
        lmmscore.run(other, judge=ScriptedJudge(fair_answer), out=out)
    assert len(open_run(out).item_ids()) == 2
    moved = one.rename(tmp_path / "moved")
    lmmscore.run(moved, judge=ScriptedJudge(fair_answer), out=out)


def test_a_run_is_resumed_with_the_ledger_it_has(tmp_path: Path, make_benchmark: Maker) -> None:
    """Wherever that is: nothing is asked twice because --ledger was not typed again."""
    bench, out, elsewhere = make_benchmark(), tmp_path / "run", tmp_path / "all.sqlite"
    lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out, ledger=elsewhere)
    judge = ScriptedJudge(fair_answer)
    lmmscore.run(bench, judge=judge, out=out)
    assert not judge.asked
    assert open_run(out).ledger_path.samefile(elsewhere)

    elsewhere.rename(tmp_path / "moved.sqlite")
    with pytest.raises(LmmscoreError, match="say with --ledger where it is now"):
        lmmscore.run(bench, judge=judge, out=out)
    lmmscore.run(bench, judge=judge, out=out, ledger=tmp_path / "moved.sqlite")
    assert not judge.asked


def test_a_run_whose_ledger_is_gone_is_not_paid_for_again_unasked(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """It says how to go on, and does so once the ledger is named; at no cost it just goes on."""
    bench, out, judge = make_benchmark(), tmp_path / "run", ScriptedJudge(fair_answer)
    lmmscore.run(bench, judge=judge, out=out)
    (out / "ledger.sqlite").unlink()
    judge.asked.clear()
    with pytest.raises(LmmscoreError, match=f"put it back, or .* again with --ledger {out}"):
        lmmscore.run(bench, judge=judge, out=out)
    assert not judge.asked and not (out / "ledger.sqlite").exists()
    lmmscore.run(bench, judge=judge, out=out, ledger=out / "ledger.sqlite")
    assert judge.asked and open_run(out).manifest.ledger is None

    lmmscore.run(bench, judge="pixels", out=tmp_path / "free")
    (tmp_path / "free" / "ledger.sqlite").unlink()
    lmmscore.run(bench, judge="pixels", out=tmp_path / "free")


def test_a_judge_that_fails_for_good_leaves_an_unfinished_run(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Whatever stopped it, the state and the table say so."""

    class Gone(JudgeError):
        scope = "run"

    def answer(conversation: Conversation) -> str:
        if len(judge.asked) > 10:
            raise Gone("the server is gone")
        return fair_answer(conversation)

    judge = ScriptedJudge(answer)
    with pytest.raises(Gone):
        lmmscore.run(make_benchmark(items=3), judge=judge, out=tmp_path / "r", concurrency=1)
    assert open_run(tmp_path / "r").manifest.state == "stopped: the server is gone"
    assert outcomes(tmp_path / "r")["unjudged"] == 6


def test_a_received_run_leads_to_no_file_outside_its_benchmark(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Absolute paths and `..` in sessions.jsonl are cut to a bare name."""
    run = lmmscore.run(make_benchmark(), judge=ScriptedJudge(fair_answer), out=tmp_path / "r")
    path = run.path / "sessions.jsonl"
    text = (
        path.read_text().replace("source/i0.png", "/etc/passwd").replace("edits/", "../../edits/")
    )
    path.write_text(text)
    names = [
        name
        for record in open_run(run.path).records()
        for exchange in record.exchanges
        for _, name in exchange.images
    ]
    assert names
    assert not any(name.startswith("/") or ".." in name for name in names)


def test_what_was_shown_is_known_by_its_digest(tmp_path: Path, make_benchmark: Maker) -> None:
    """A picture that was exchanged since is told from the one that was judged."""
    bench = make_benchmark(items=1)
    run = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r")
    with Ledger(run.ledger_path, read_only=True) as ledger:
        shown = shown_digests(run.records(), ledger)
    pictures = Pictures(run.manifest.recipe)
    assert all(pictures.get(bench / name).digest in digests for name, digests in shown.items())
    assert len(shown) == 4


def test_a_changed_picture_is_named_and_not_shown(tmp_path: Path, make_benchmark: Maker) -> None:
    """The report shows what was judged, or says that it cannot."""
    bench = make_benchmark(items=2)
    run = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r")
    edits = sorted((bench / "edits").iterdir())
    edits[0].write_bytes(edits[1].read_bytes())
    out = tmp_path / "report.html"
    done = CliRunner().invoke(command, ["report", str(run.path), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert f"1 picture changed since judged, and not shown: edits/{edits[0].name}" in (
        out.read_text()
    )


@pytest.mark.parametrize("damage", ["cut in half", "not UTF-8", "empty"])
def test_a_damaged_run_names_its_remedy_and_hides_no_other(
    tmp_path: Path, make_benchmark: Maker, damage: str
) -> None:
    """The remedy works: without run.yaml, the same run is made again of the ledger alone."""
    bench, judge = make_benchmark(), ScriptedJudge(fair_answer)
    runs = tmp_path / "runs"
    for name in ("whole", "damaged"):
        lmmscore.run(bench, judge=judge, out=runs / name)
    path = runs / "damaged" / "run.yaml"
    content = path.read_bytes()
    broken = {"cut in half": content[: len(content) // 2], "not UTF-8": b"\xff" + content}
    path.write_bytes(broken.get(damage, b""))

    listed = CliRunner().invoke(command, ["list", str(runs)])
    assert listed.exit_code == 0, listed.exception
    assert "whole" in listed.stdout
    assert f"{path}" in listed.stderr
    with pytest.raises(FileProblem, match="remove it: `lmmscore run`"):
        open_run(runs / "damaged").scores()

    asked = len(judge.asked)
    path.unlink()
    again = lmmscore.run(bench, judge=judge, out=runs / "damaged")
    assert len(judge.asked) == asked
    assert rows(again.path) == rows(runs / "whole")


def test_a_conversation_without_its_ledger_says_so_once(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """What is missing is named, not repeated at every turn."""
    run = lmmscore.run(make_benchmark(), judge=ScriptedJudge(fair_answer), out=tmp_path / "r")
    (run.path / "ledger.sqlite").unlink()
    shown = CliRunner().invoke(command, ["show", str(run.path), "i0"])
    assert shown.exit_code == 0, shown.exception
    assert "ledger.sqlite is not here" in shown.stderr
    assert "not in the ledger" not in shown.stdout


def test_a_conversation_of_a_run_without_sessions_says_how_far_it_is(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """There is nothing to list as an alternative."""
    interrupted(make_benchmark(), tmp_path / "r", units=0)
    shown = CliRunner().invoke(command, ["show", str(tmp_path / "r"), "i0"])
    assert "no session was finished" in str(shown.exception)


@pytest.mark.parametrize("damage", ["cut between lines", "sessions not UTF-8", "scores not UTF-8"])
def test_what_is_damaged_is_named_and_the_same_command_mends_it(
    tmp_path: Path, make_benchmark: Maker, damage: str
) -> None:
    """Half of the sessions are neither shown nor published as if they were all."""
    bench, judge, out = make_benchmark(items=4), ScriptedJudge(fair_answer), tmp_path / "r"
    lmmscore.run(bench, judge=judge, out=out)
    path = out / ("scores.csv" if "scores" in damage else "sessions.jsonl")
    whole = path.read_bytes()
    half = b"".join(whole.splitlines(keepends=True)[:2])
    broken = whole[:170] + b"\xff\xfe" + whole[170:]
    path.write_bytes(half if "cut" in damage else broken)

    words = [["publish", str(out), str(tmp_path / "r.zip")], ["show", str(out), "i3"]]
    for each in words:
        said = str(CliRunner().invoke(command, each).exception)
        assert str(path) in said
        assert "`lmmscore run` with the same arguments writes it again" in said

    asked = len(judge.asked)
    lmmscore.run(bench, judge=judge, out=out)
    assert len(judge.asked) == asked
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("right", "wrong"),
    [(",repeat,", ",rep,"), (",1,", ",x,"), (",scored,", ",scord,")],
    ids=["column", "repeat", "outcome"],
)
def test_a_damaged_table_does_not_stop_the_run_that_writes_it_again(
    right: str, wrong: str, tmp_path: Path, make_benchmark: Maker
) -> None:
    """A row that does not say what it is about is left out and derived again, not a crash."""
    bench, out = make_benchmark(items=3), tmp_path / "run"
    lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out)
    table = out / "scores.csv"
    before = table.read_text(encoding="utf-8")
    table.write_text(before.replace(right, wrong, 1), encoding="utf-8")
    judge = ScriptedJudge(fair_answer)
    lmmscore.run(bench, judge=judge, out=out)
    assert table.read_text(encoding="utf-8") == before
    assert not judge.asked


def test_a_part_is_replayed_whole_though_its_table_is_cut_off(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Which items were judged is in run.yaml; half a table does not make it a smaller part."""
    bench, out = make_benchmark(items=4), tmp_path / "run"
    lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out, limit=3)
    whole = (out / "scores.csv").read_bytes()
    (out / "scores.csv").write_bytes(whole[: len(whole) // 2])
    lmmscore.run(bench, judge=f"replay:{out}", out=tmp_path / "again")
    assert (tmp_path / "again" / "scores.csv").read_bytes() == whole


def test_a_finished_run_without_its_sessions_is_damaged(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """It is neither shown as a run without conversations nor published without them."""
    out = tmp_path / "run"
    lmmscore.run(make_benchmark(), judge=ScriptedJudge(fair_answer), out=out)
    (out / "sessions.jsonl").unlink()
    for words in (["show", str(out), "i0"], ["publish", str(out), str(tmp_path / "a.zip")]):
        done = CliRunner().invoke(command, words)
        assert isinstance(done.exception, FileProblem)
        assert "sessions.jsonl: missing; `lmmscore run` with the same" in str(done.exception)


def test_a_run_without_its_dialog_says_so(tmp_path: Path, make_benchmark: Maker) -> None:
    """Whoever cut it out of run.yaml hears it, wherever the words of the dialog are needed."""
    bench, out = make_benchmark(), tmp_path / "run"
    lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out)
    settings = yaml.safe_load((out / "run.yaml").read_text(encoding="utf-8"))
    (out / "run.yaml").write_text(yaml.safe_dump({**settings, "dialogs": []}), encoding="utf-8")
    for words in (["show", str(out), "i0"], ["run", str(bench), "--judge", f"replay:{out}"]):
        done = CliRunner().invoke(command, words)
        assert isinstance(done.exception, FileProblem)
        assert "the dialog recorded in run.yaml: there is none" in str(done.exception)


def test_a_conversation_says_which_of_its_pictures_changed_or_are_gone(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Of a picture that is not the one that was judged, `show` names no file as if it were."""
    bench, out = make_benchmark(), tmp_path / "r"
    lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out)
    edits = bench / "edits"
    shutil.copyfile(edits / "i0_beta.png", edits / "i0_alpha.png")
    (edits / "i0_gamma.png").unlink()
    shown = CliRunner().invoke(command, ["show", str(out), "i0"])
    assert "1 picture changed since judged, and not shown: edits/i0_alpha.png.\n" in shown.stderr
    assert "1 of 4 pictures not here: edits/i0_gamma.png. Put" in shown.stderr
    assert "edit edits/i0_alpha.png (not at hand as it was judged)" in shown.stdout
    assert f"{bench.name}/edits/i0_beta.png" in shown.stdout


def test_a_conversation_of_a_damaged_ledger_is_not_shown(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """The remedy is another than for a ledger that is not here."""
    run = lmmscore.run(make_benchmark(), judge=ScriptedJudge(fair_answer), out=tmp_path / "r")
    (run.path / "ledger.sqlite").write_bytes(b"not a database at all" * 100)
    shown = CliRunner().invoke(command, ["show", str(run.path), "i0"])
    said = str(shown.exception)
    assert "file is not a database; put back a copy, or move it away: the tables" in said
    assert "name another file" not in said


def test_a_conversation_is_shown_whatever_is_wrong_with_others(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Only what is shown is checked, the exchange by its key and the picture by its digest."""
    bench, out = make_benchmark(), tmp_path / "r"
    run = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out)
    (bench / "edits" / "i1_alpha.png").unlink()
    other = next(record for record in run.records() if record.item == "i1").exchanges[-1].key
    with closing(sqlite3.connect(out / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("UPDATE exchange SET repeat = 7 WHERE key = ?", (other,))

    shown = CliRunner().invoke(command, ["show", str(out), "i0"])
    assert (shown.exit_code, shown.stderr) == (0, ""), shown.exception
    refused = CliRunner().invoke(command, ["show", str(out), "i1"])
    assert "its key does not match" in str(refused.exception)


def test_the_replay_of_a_part_says_that_it_is_one(tmp_path: Path, make_benchmark: Maker) -> None:
    """Its tables are those of the run, the first line included."""
    bench = make_benchmark(items=4)
    part = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r", limit=2)
    again = lmmscore.run(bench, judge=f"replay:{part.path}", out=tmp_path / "again")
    assert "2 of 4 items" in part.manifest.caution
    assert again.manifest.caution == part.manifest.caution


def test_a_run_of_one_session_is_spoken_of_in_the_singular(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """`0 of 1 sessions were` would be said by a program."""
    interrupted(make_benchmark(items=1), tmp_path / "r", units=0)
    assert open_run(tmp_path / "r").manifest.caution == "Unfinished: 0 of 1 session was judged."
    assert "0 of 1 session " in CliRunner().invoke(command, ["list", str(tmp_path)]).stdout


def played(request: Request) -> Run:
    """Play a request as a command does, which is kept with the run."""
    return asyncio.run(play_request(request, Hooks()))


@pytest.mark.parametrize("way", ["plain", "dotted", "symlink", "ledger"])
def test_a_run_replayed_into_itself_keeps_its_command(
    tmp_path: Path, make_benchmark: Maker, way: str
) -> None:
    """Where the scores come from is not rewritten, by whatever path the folder is named."""
    bench, out = make_benchmark(), tmp_path / "r"
    request = Request(bench, judge=ScriptedJudge(fair_answer), out=out, command="lmmscore run b")
    played(request)
    replayed, again = out, out
    if way == "dotted":
        again = tmp_path / "bench" / ".." / "r"
    elif way == "symlink":
        again = tmp_path / "link"
        again.symlink_to(out)
    elif way == "ledger":
        replayed = out / "ledger.sqlite"

    before = (out / "run.yaml").read_text()
    second = replace(request, judge=f"replay:{replayed}", out=again, command="lmmscore replayed")
    played(second)
    assert (out / "run.yaml").read_text() == before


def test_a_judged_run_does_not_become_the_replay_of_another(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A folder that a judge filled keeps its command; the replay's own folder has the replay's."""
    bench = make_benchmark()
    for name in ("one", "two"):
        judge = ScriptedJudge(fair_answer)
        played(Request(bench, judge=judge, out=tmp_path / name, command=f"run {name}"))

    commands = []
    for name in ("two", "three"):
        words = f"run --judge replay:one --out {name}"
        judge = f"replay:{tmp_path / 'one'}"
        run = played(Request(bench, judge=judge, out=tmp_path / name, command=words))
        commands.append(run.manifest.command)

    assert commands == ["run two", "run --judge replay:one --out three"]
