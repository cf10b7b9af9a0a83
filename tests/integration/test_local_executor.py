from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import lmmscore
from lmmscore.api import Hooks
from lmmscore.conversation import Conversation
from lmmscore.errors import JudgeError, LedgerError, LmmscoreError
from lmmscore.execution.executor import Executor, Listeners
from lmmscore.ledger import Ledger
from lmmscore.records import Reply
from tests.conftest import ScriptedJudge, fair_answer

Maker = Callable[..., Path]


class Slow(ScriptedJudge):
    """A judge that takes its time, and charges for a question as soon as it is asked."""

    charged = 0

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer a little later, not always in the order of asking."""
        self.charged += 1
        await asyncio.sleep(0.01 * (1 + self.charged % 4))
        return await super().ask(conversation)


def recorded(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM exchange").fetchone()[0])


def test_a_full_disk_for_the_scores_costs_no_answer_in_flight(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """When scores.csv cannot be written, what was asked is still answered and recorded before the run ends."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    root, judge = make_benchmark(items=60), Slow(fair_answer)
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "scores.csv.part").symlink_to("/dev/full")
    with pytest.raises(LmmscoreError, match=r"No space left.*every reply so far is in the ledger"):
        lmmscore.run(
            root, judge=judge, out=tmp_path / "r", ledger=tmp_path / "l.sqlite", concurrency=8
        )
    assert 0 < judge.charged < 60 * 7, "the run was stopped"
    assert recorded(tmp_path / "l.sqlite") == judge.charged


def test_a_bug_in_one_session_costs_no_answer_of_another(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A judge that breaks is raised, after what the other sessions had asked is recorded; nothing new is asked."""
    root = make_benchmark(items=40)

    def breaks(conversation: Conversation) -> str:
        if len(judge.asked) == 30:
            raise ZeroDivisionError("a bug")
        return fair_answer(conversation)

    judge = Slow(breaks)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        lmmscore.run(root, judge=judge, out=tmp_path / "r", concurrency=8)
    assert recorded(tmp_path / "r" / "ledger.sqlite") == judge.charged - 1
    assert judge.charged < 50


def test_a_listener_that_breaks_costs_no_answer(tmp_path: Path, make_benchmark: Maker) -> None:
    """What looks on may fail; the answers are recorded all the same."""
    judge, heard = Slow(fair_answer), []

    def listen(exchange: object) -> None:
        heard.append(exchange)
        if len(heard) == 30:
            raise ValueError("cannot draw this")

    with pytest.raises(ValueError, match="cannot draw"):
        lmmscore.run(
            make_benchmark(items=40),
            judge=judge,
            out=tmp_path / "r",
            hooks=Hooks(Listeners(on_exchange=listen)),
        )
    assert recorded(tmp_path / "r" / "ledger.sqlite") == judge.charged


def test_a_ledger_that_cannot_be_read_stops_the_run_and_keeps_the_answers(
    tmp_path: Path, make_benchmark: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look-up that fails is one line; whatever is in flight is recorded first."""
    judge, find_all = Slow(fair_answer), Ledger.find_all

    def failing(ledger: Ledger, keys: Sequence[str]) -> dict[str, Reply]:
        if len(judge.asked) >= 30:
            raise LedgerError("ledger.sqlite: disk I/O error")
        return find_all(ledger, keys)

    monkeypatch.setattr(Ledger, "find_all", failing)
    with pytest.raises(JudgeError, match="disk I/O error"):
        lmmscore.run(make_benchmark(items=40), judge=judge, out=tmp_path / "r")
    assert recorded(tmp_path / "r" / "ledger.sqlite") == judge.charged


def test_a_cancelled_run_does_not_wait(tmp_path: Path, make_benchmark: Maker) -> None:
    """Cancelling the task of a run ends it at once, though a judge would take an hour."""
    from lmmscore.api import Request, play_request

    asked = asyncio.Event()

    class Hour(ScriptedJudge):
        async def ask(self, conversation: Conversation) -> Reply:
            asked.set()
            await asyncio.sleep(3600)
            return await super().ask(conversation)

    async def cancelled() -> None:
        request = Request(make_benchmark(items=4), judge=Hour(fair_answer), out=tmp_path / "r")
        task = asyncio.create_task(play_request(request, Hooks()))
        await asyncio.wait_for(asked.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)

    asyncio.run(cancelled())


def test_what_was_broken_off_says_why_to_those_who_wait(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """After a break the runner's error names the cause, for whoever holds the runner."""
    runners: list[Executor] = []
    judge = ScriptedJudge(lambda _: 1 // 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError):
        lmmscore.run(
            make_benchmark(items=2),
            judge=judge,
            out=tmp_path / "r",
            hooks=Hooks(on_start=lambda runner, *_: runners.append(runner)),
        )
    assert "ZeroDivisionError" in str(runners[0].error)
    assert len(judge.asked) == 1
