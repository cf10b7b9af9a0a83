from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import lmmscore
from lmmscore.conversation import Conversation
from lmmscore.errors import FileProblem, LmmscoreError
from lmmscore.records import Reply
from lmmscore.run_folder import RunLock
from lmmscore.run_writer import NAME
from tests.conftest import ScriptedJudge, fair_answer

Maker = Callable[..., Path]
ROOT = Path(__file__).parents[2]

HOLD = """
import sys, time
from pathlib import Path
from lmmscore.run_folder import RunLock
lock = RunLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """Another process that is writing this folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", HOLD, str(folder)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a_folder_being_written_by_another_process_is_refused_at_once(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """The second run says which folder, who writes it and what to do, asks nothing and leaves everything alone."""
    root, out = make_benchmark(items=1), tmp_path / "r"
    lmmscore.run(root, judge=ScriptedJudge(fair_answer), out=out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    other, asked = holder(out), ScriptedJudge(fair_answer)
    try:
        with pytest.raises(
            FileProblem,
            match=rf"r: another run is writing it \(process {other.pid}\); wait .*--out",
        ):
            lmmscore.run(root, judge=asked, out=out, repeats=2)
        assert asked.asked == []
        assert {name: (out / name).read_bytes() for name in before} == before
    finally:
        end(other)


def test_a_killed_run_holds_nothing_up(tmp_path: Path, make_benchmark: Maker) -> None:
    """kill -9 leaves the folder free: the next run goes on in it, and leaves no lock behind."""
    out = tmp_path / "r"
    out.mkdir()
    end(holder(out))
    run = lmmscore.run(make_benchmark(items=1), judge=ScriptedJudge(fair_answer), out=out)
    names = sorted(path.name for path in run.path.iterdir())
    assert names == [NAME, "ledger.sqlite", "run.yaml", "scores.csv", "sessions.jsonl"]


def test_a_run_that_was_refused_or_failed_holds_nothing_up(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """In a notebook a run that could not start leaves its folder free for the next cell."""
    root, out = make_benchmark(items=1), tmp_path / "r"
    (tmp_path / "text").write_text("this is no ledger, nor was it ever one; " * 100)
    with pytest.raises(LmmscoreError):
        lmmscore.run(root, judge=ScriptedJudge(fair_answer), out=out, ledger=tmp_path / "text")
    assert list(out.iterdir()) == []
    lmmscore.run(root, judge=ScriptedJudge(fair_answer), out=out)
    with pytest.raises(LmmscoreError, match="give this one another --out"):
        lmmscore.run(root, judge=ScriptedJudge(fair_answer, name="other"), out=out)
    lmmscore.run(root, judge=ScriptedJudge(fair_answer), out=out)


def test_a_lock_that_was_let_go_and_removed_protects_no_one_else(tmp_path: Path) -> None:
    """However many take and leave the folder, no two have it at once."""
    inside, most, refused = [0], [0], [0]
    guard = threading.Lock()

    def work() -> None:
        for _ in range(100):
            try:
                lock = RunLock(tmp_path)
            except FileProblem:
                refused[0] += 1
                continue
            with guard:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            time.sleep(0)
            with guard:
                inside[0] -= 1
            lock.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1
    assert list(tmp_path.iterdir()) == []


def test_runs_in_different_folders_share_a_ledger_at_the_same_time(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A lock is on the run's folder, not on the ledger: two runs fill one ledger side by side."""
    root, met = make_benchmark(items=2), threading.Barrier(2, timeout=30)

    class Meeting(ScriptedJudge):
        async def ask(self, conversation: Conversation) -> Reply:
            if not self.asked:
                await asyncio.to_thread(met.wait)
            return await super().ask(conversation)

    def play(name: str) -> None:
        judge = Meeting(fair_answer, name=name)
        lmmscore.run(root, judge=judge, out=tmp_path / name, ledger=tmp_path / "shared.sqlite")

    threads = [threading.Thread(target=play, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((tmp_path / name / "scores.csv").is_file() for name in ("one", "two"))
