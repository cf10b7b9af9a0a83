from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import lmmscore
from lmmscore.conversation import Conversation
from lmmscore.errors import BenchmarkError, DialogError, JudgeError, LmmscoreError
from tests.conftest import ScriptedJudge, fair_answer

Maker = Callable[..., Path]


def judge() -> ScriptedJudge:
    return ScriptedJudge(fair_answer)


def test_a_run_gives_scores_and_a_leaderboard(tmp_path: Path, make_benchmark: Maker) -> None:
    """From Python: one call, a tidy DataFrame, a leaderboard."""
    run = lmmscore.run(make_benchmark(items=2), judge=judge(), out=tmp_path / "r")
    scores = run.scores()
    assert (
        list(scores.columns)
        == "item task method repeat position factor score outcome reason".split()
    )
    assert len(scores) == 2 * 3 * 5
    assert set(scores["position"]) == {1, 2, 3}
    assert {row.method for row in run.leaderboard().tables[0].rows} == {"alpha", "beta", "gamma"}


def test_the_second_run_asks_nothing(tmp_path: Path, make_benchmark: Maker) -> None:
    """Replaying a finished run makes no judge calls and writes the same scores, byte for byte."""
    root = make_benchmark(items=3)
    lmmscore.run(root, judge=judge(), out=tmp_path / "r", repeats=2)
    before = (tmp_path / "r" / "scores.csv").read_bytes()
    silent = judge()
    lmmscore.run(root, judge=silent, out=tmp_path / "r", repeats=2)
    assert silent.asked == []
    assert (tmp_path / "r" / "scores.csv").read_bytes() == before


def test_an_unrelated_option_asks_nothing_new(tmp_path: Path, make_benchmark: Maker) -> None:
    """Concurrency, or judging only a part, does not change a key."""
    root = make_benchmark(items=3)
    lmmscore.run(root, judge=judge(), out=tmp_path / "r", concurrency=1)
    silent = judge()
    ledger = tmp_path / "r" / "ledger.sqlite"
    lmmscore.run(root, judge=silent, out=tmp_path / "s", concurrency=7, items=["i1"], ledger=ledger)
    assert silent.asked == []


@pytest.mark.parametrize(
    "change", [{"max_side_px": 16}, {"repeats": 2}, {"seed": 5}, {"order": "given"}]
)
def test_a_changed_question_is_asked(
    tmp_path: Path, make_benchmark: Maker, change: dict[str, object]
) -> None:
    """Another size, repeat or order is another question."""
    root = make_benchmark(items=3)
    lmmscore.run(root, judge=judge(), out=tmp_path / "r")
    again = judge()
    ledger = tmp_path / "r" / "ledger.sqlite"
    lmmscore.run(root, judge=again, out=tmp_path / "s", ledger=ledger, **change)  # type: ignore[arg-type]
    assert again.asked


def test_the_same_words_are_asked_once_for_all_items(tmp_path: Path, make_benchmark: Maker) -> None:
    """Every session opens alike; the greeting is paid for once."""
    asked = judge()
    lmmscore.run(make_benchmark(items=5), judge=asked, out=tmp_path / "r", concurrency=5)
    keys = [conversation.digest for conversation in asked.asked]
    assert len(keys) == len(set(keys))
    assert len(keys) == 2 + 5 * 7


def test_a_missing_edit_is_an_outcome(tmp_path: Path, make_benchmark: Maker) -> None:
    """A method without an edit has rows that say so, and no number."""
    run = lmmscore.run(
        make_benchmark(items=2, absent=((0, "beta"),)), judge=judge(), out=tmp_path / "r"
    )
    scores = run.scores()
    gone = scores[(scores["item"] == "i0") & (scores["method"] == "beta")]
    assert set(gone["outcome"]) == {"missing"}
    assert gone["score"].isna().all()
    assert gone["position"].isna().all()


def test_scores_come_out_in_the_order_of_the_plan(tmp_path: Path, make_benchmark: Maker) -> None:
    """However sessions overtake each other, the file is the same."""
    root = make_benchmark(items=8)

    class Slow(ScriptedJudge):
        async def ask(self, conversation: Conversation):  # type: ignore[no-untyped-def]
            await asyncio.sleep(int(conversation.digest[:2], 16) / 50_000)
            return await super().ask(conversation)

    files = []
    for name, concurrency in (("a", 1), ("b", 8)):
        lmmscore.run(root, judge=Slow(fair_answer), out=tmp_path / name, concurrency=concurrency)
        files.append((tmp_path / name / "scores.csv").read_bytes())
    assert files[0] == files[1]


def test_five_failures_alike_stop_the_run(tmp_path: Path, make_benchmark: Maker) -> None:
    """A server that is down does not cost a retry for each of a thousand items."""

    def down(conversation: Conversation) -> str:
        if len(conversation.messages) > 4:
            raise JudgeError("no route to host, attempt 7")
        return "I see."

    root = make_benchmark(items=30)
    asked = ScriptedJudge(down)
    with pytest.raises(JudgeError, match="5 sessions in a row failed alike"):
        lmmscore.run(root, judge=asked, out=tmp_path / "r", concurrency=1)
    assert len(asked.asked) == 2 + 5
    assert (tmp_path / "r" / "scores.csv").is_file()


def test_a_run_error_keeps_what_was_finished(tmp_path: Path, make_benchmark: Maker) -> None:
    """A wrong key stops the run at once; what was scored is there, and the next run goes on."""
    root = make_benchmark(items=4)

    def expires(conversation: Conversation) -> str:
        if len(first.asked) > 12:
            error = JudgeError("the key was revoked")
            error.scope = "run"
            raise error
        return fair_answer(conversation)

    first = ScriptedJudge(expires)
    with pytest.raises(JudgeError, match="revoked"):
        lmmscore.run(root, judge=first, out=tmp_path / "r", concurrency=1)
    scores = (tmp_path / "r" / "scores.csv").read_text().splitlines()
    assert sum("overall" in line and "scored" in line for line in scores) == 3
    second = judge()
    lmmscore.run(root, judge=second, out=tmp_path / "r", concurrency=1)
    assert len(second.asked) == 2 + 4 * 7 - 12


def test_a_run_stopped_at_once_keeps_the_tables_there_were(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A key that has expired since does not cost the scores of yesterday."""
    root = make_benchmark(items=2)
    lmmscore.run(root, judge=judge(), out=tmp_path / "r")
    before = (tmp_path / "r" / "scores.csv").read_bytes()

    def expired(conversation: Conversation) -> str:
        error = JudgeError("expired")
        error.scope = "run"
        raise error

    with pytest.raises(JudgeError, match="expired"):
        lmmscore.run(root, judge=ScriptedJudge(expired), out=tmp_path / "r", repeats=2)
    after = (tmp_path / "r" / "scores.csv").read_bytes()
    assert after.startswith(before)
    assert b",scored," not in after.removeprefix(before)


def test_another_run_is_not_written_over(tmp_path: Path, make_benchmark: Maker) -> None:
    """A folder that holds another dialog's run is refused."""
    root = make_benchmark(items=1)
    lmmscore.run(root, judge=judge(), out=tmp_path / "r")
    with pytest.raises(LmmscoreError, match="give this one another --out"):
        lmmscore.run(root, judge=ScriptedJudge(fair_answer, name="other"), out=tmp_path / "r")


def test_a_shared_ledger_serves_several_runs(tmp_path: Path, make_benchmark: Maker) -> None:
    """The same question is never paid for twice, across runs either."""
    root = make_benchmark(items=2)
    lmmscore.run(root, judge=judge(), out=tmp_path / "a", ledger=tmp_path / "shared.sqlite")
    silent = judge()
    lmmscore.run(root, judge=silent, out=tmp_path / "b", ledger=tmp_path / "shared.sqlite")
    assert silent.asked == []


def test_a_replayed_ledger_needs_no_judge(tmp_path: Path, make_benchmark: Maker) -> None:
    """Hand someone the ledger, and they regenerate the scores."""
    root = make_benchmark(items=2)
    lmmscore.run(root, judge=judge(), out=tmp_path / "a")
    lmmscore.run(root, judge=f"replay:{tmp_path / 'a'}", out=tmp_path / "b")
    assert (tmp_path / "a" / "scores.csv").read_bytes() == (
        tmp_path / "b" / "scores.csv"
    ).read_bytes()
    with pytest.raises(JudgeError, match=r"no answer to turn \d+ \(“"):
        lmmscore.run(root, judge=f"replay:{tmp_path / 'a'}", out=tmp_path / "c", repeats=2)


def test_scores_are_not_read_from_a_turn_about_one_edit_of_several(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Of three replies that each speak of "image 1", the last would become the first edit's score."""
    path = tmp_path / "one-by-one.yaml"
    path.write_text(
        "dialog: one-by-one\nversion: 1\ntitle: One by one\ncovers: item\noverall: mean\n"
        "factors: [{key: acc, scale: {min: 1, max: 10}}]\n"
        "turns: [{name: s, each: edit, show: [edit], read: scores, say: Score it.}]\n"
        'repair: {say: "{{problems}}"}\n'
    )
    with pytest.raises(DialogError, match=r"turn 1 \(s\): with `each: edit` nothing can be read"):
        lmmscore.run(make_benchmark(), str(path), ScriptedJudge(fair_answer), out=tmp_path / "r")


def test_a_lacking_image_is_named_before_anything_is_asked(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A dialog that shows a ground truth says which items have none, and the setting that does without."""
    asked = judge()
    with pytest.raises(
        BenchmarkError, match=r"reference image, which 2 of 2 items lack: i0 and i1.*against=source"
    ):
        lmmscore.run(make_benchmark(), dialog="factors-12", judge=asked, out=tmp_path / "r")
    assert asked.asked == []


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path, make_benchmark: Maker) -> None:
    """A read-only results folder is one line, and nothing was asked."""
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (tmp_path / "ro").mkdir()
    (tmp_path / "ro").chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(LmmscoreError, match="cannot be written"):
        lmmscore.run(make_benchmark(), judge=judge(), out=tmp_path / "ro" / "r")


def test_a_results_path_that_is_a_file_says_so(tmp_path: Path, make_benchmark: Maker) -> None:
    """Something in the way of the results folder is one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(LmmscoreError, match="cannot be written"):
        lmmscore.run(make_benchmark(), judge=judge(), out=tmp_path / "file" / "r")


def test_it_runs_inside_a_running_event_loop(tmp_path: Path, make_benchmark: Maker) -> None:
    """A notebook has an event loop of its own; `lmmscore.run` works there."""
    root = make_benchmark(items=1)

    async def cell() -> lmmscore.Run:
        return lmmscore.run(root, judge=judge(), out=tmp_path / "r")

    assert len(asyncio.run(cell()).scores()) == 15


SLOW_RUN = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from tests.conftest import ScriptedJudge, fair_answer
import lmmscore
class Slow(ScriptedJudge):
    async def ask(self, conversation):
        await asyncio.sleep(0.03)
        with open({log!r}, "a") as file:
            file.write(conversation.digest + "\\n")
        return await super().ask(conversation)
lmmscore.run({root!r}, judge=Slow(fair_answer), out={out!r}, concurrency=4)
"""


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_where_it_was(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """kill -9 again and again: nothing recorded is asked again, and scores.csv comes out as if undisturbed."""
    root = make_benchmark(items=12)
    log = tmp_path / "asked.log"
    code = SLOW_RUN.format(
        tests=str(Path(__file__).parents[2]),
        log=str(log),
        root=str(root),
        out=str(tmp_path / "killed"),
    )
    for asked in (8, 30, 55):
        process = subprocess.Popen([sys.executable, "-c", code])
        while process.poll() is None and (not log.exists() or len(log.read_text().split()) < asked):
            time.sleep(0.005)
        assert process.poll() is None, "it finished before it could be killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([sys.executable, "-c", code], check=True)
    calm = ScriptedJudge(fair_answer)
    lmmscore.run(root, judge=calm, out=tmp_path / "calm")
    assert (tmp_path / "killed" / "scores.csv").read_bytes() == (
        tmp_path / "calm" / "scores.csv"
    ).read_bytes()
    # Only what was in flight at the moment of a kill, one question a worker, may have been asked twice.
    assert len(log.read_text().split()) <= len(calm.asked) + 4 * 3


def test_an_unknown_word_is_refused_with_those_there_are(make_benchmark: Maker) -> None:
    """As the command line does: one line, with what was probably meant."""
    bench = make_benchmark(items=1)
    with pytest.raises(LmmscoreError, match=r"balance.*did you mean balanced.*given, shuffled"):
        lmmscore.run(bench, judge=judge(), order="balance")  # type: ignore[arg-type]
    with pytest.raises(LmmscoreError, match=r"image_format='gif'.*known: png"):
        lmmscore.run(bench, judge=judge(), image_format="gif")  # type: ignore[arg-type]
    with pytest.raises(LmmscoreError, match="from 1 to 3; there is no 5"):
        lmmscore.run(bench, judge=judge(), shard=(5, 3))
    with pytest.raises(LmmscoreError, match="--anchors asks again at each run, which batches"):
        lmmscore.run(bench, judge=judge(), engine="batch", anchors="i0")


def test_an_empty_path_is_refused(make_benchmark: Maker) -> None:
    """An empty `out` or `ledger` would be the folder one happens to be in."""
    for name in ("out", "ledger"):
        with pytest.raises(LmmscoreError, match=f"{name} is empty"):
            lmmscore.run(make_benchmark(items=1), judge=judge(), **{name: ""})
