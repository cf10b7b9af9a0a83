from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from lmmscore.conversation import Conversation
from lmmscore.errors import JudgeError, JudgeUnavailable
from lmmscore.judges.judge import Heard, Recorded
from lmmscore.ledger import Asker, Claims, Ledger, key_of
from lmmscore.records import Reply

OPENING = Conversation().say("Hello, judge.")


class Gate:
    """A judge that answers when it is let, with what it is handed: a text, or an error to raise."""

    name, parameters, caution = "gate", {}, ""  # type: ignore[var-annotated]

    def __init__(self) -> None:
        self.asked = 0
        self.answers: asyncio.Queue[str | Exception] = asyncio.Queue()

    async def ask(self, conversation: Conversation) -> Reply:
        """Wait for an answer to be put in."""
        self.asked += 1
        answer = await self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer)

    async def close(self) -> None:
        """Nothing to let go of."""


def play(tmp_path: Path, scene: Callable[[Recorded, Gate], Awaitable[None]]) -> None:
    """Play a scene with a judge and an empty ledger."""

    async def main() -> None:
        gate = Gate()
        with Ledger(tmp_path / "l.sqlite") as ledger:
            async with asyncio.timeout(10):
                await scene(Recorded(gate, ledger), gate)

    asyncio.run(main())


async def waiting(judge: Recorded, gate: Gate, number: int) -> list[asyncio.Task[Heard]]:
    """So many sessions that ask the same thing at the same time."""
    tasks = [asyncio.create_task(judge.ask(OPENING, 1)) for _ in range(number)]
    while not gate.asked:
        await asyncio.sleep(0)  # each runs as far as it can: the first asks, the others wait
    return tasks


def test_those_who_wait_for_one_answer_share_it(tmp_path: Path) -> None:
    """Ten sessions ask the same thing at once: one question, and the answer was new to one of them."""

    async def scene(judge: Recorded, gate: Gate) -> None:
        tasks = await waiting(judge, gate, 10)
        gate.answers.put_nowait("Hello.")
        heard = await asyncio.gather(*tasks)
        assert {one.reply.text for one in heard} == {"Hello."}
        assert [one.recalled for one in heard] == [False] + [True] * 9
        assert gate.asked == 1

    play(tmp_path, scene)


def test_those_who_wait_for_one_answer_share_its_failure(tmp_path: Path) -> None:
    """A server found dead by one session is not looked for by the others that wait for the same answer."""

    async def scene(judge: Recorded, gate: Gate) -> None:
        tasks = await waiting(judge, gate, 10)
        gate.answers.put_nowait(JudgeUnavailable("nobody there"))
        errors = await asyncio.gather(*tasks, return_exceptions=True)
        assert [str(error) for error in errors] == ["nobody there"] * 10
        assert gate.asked == 1

    play(tmp_path, scene)


def test_whoever_comes_after_a_failure_asks_anew(tmp_path: Path) -> None:
    """A failure is shared with those who waited for it, and with no one else."""

    async def scene(judge: Recorded, gate: Gate) -> None:
        (first,) = await waiting(judge, gate, 1)
        gate.answers.put_nowait(JudgeUnavailable("nobody there"))
        with pytest.raises(JudgeUnavailable):
            await first
        gate.answers.put_nowait("Hello.")
        assert (await judge.ask(OPENING, 1)).reply.text == "Hello."
        assert gate.asked == 2

    play(tmp_path, scene)


def test_when_the_one_who_asks_is_cancelled_the_next_one_asks(tmp_path: Path) -> None:
    """A cancelled session says nothing about the server."""

    async def scene(judge: Recorded, gate: Gate) -> None:
        first, *others = await waiting(judge, gate, 4)
        first.cancel()
        while gate.asked < 2:
            await asyncio.sleep(0)
        gate.answers.put_nowait("Hello.")
        assert {heard.reply.text for heard in await asyncio.gather(*others)} == {"Hello."}
        assert gate.asked == 2

    play(tmp_path, scene)


def test_when_a_judge_breaks_the_next_one_asks(tmp_path: Path) -> None:
    """A bug is the bug of the one it happened to."""

    async def scene(judge: Recorded, gate: Gate) -> None:
        first, second = await waiting(judge, gate, 2)
        gate.answers.put_nowait(ZeroDivisionError("a bug"))
        gate.answers.put_nowait("Hello.")
        with pytest.raises(ZeroDivisionError):
            await first
        assert (await second).reply.text == "Hello."

    play(tmp_path, scene)


def test_once_stopped_those_who_wait_are_told_and_nothing_is_asked(tmp_path: Path) -> None:
    """Ctrl-C while ten wait for one answer: the answer is recorded and all have it; the next question is not asked."""

    async def scene(judge: Recorded, gate: Gate) -> None:
        tasks = await waiting(judge, gate, 3)
        judge.stop(JudgeError("stopped"))
        gate.answers.put_nowait("Hello.")
        assert {heard.reply.text for heard in await asyncio.gather(*tasks)} == {"Hello."}
        with pytest.raises(JudgeError, match="stopped"):
            await judge.ask(OPENING.hear("Hello.").say("And now?"), 1)
        assert gate.asked == 1

    play(tmp_path, scene)


def test_answers_under_a_former_name_are_known_and_counted(tmp_path: Path) -> None:
    """Version 0.1 named the server too: its answers are recalled, and the next anchor round is a new one."""
    former = Asker("openai/tiny@http://127.0.0.1:9/v1", "{}")
    other = Asker("openai/tiny@http://127.0.0.1:9/v1", '{"temperature": 0.5}')

    class Tiny(Gate):
        name = "openai/tiny"

    async def main() -> None:
        with Ledger(tmp_path / "l.sqlite") as ledger:
            ledger.record(former, OPENING, 7, Reply("then")).result()
            ledger.record(other, OPENING, 8, Reply("otherwise")).result()
            gate = Tiny()
            judge = Recorded(gate, ledger)
            assert judge.last_repeat() == 7, "the other had other parameters"
            assert (await judge.ask(OPENING, 7)).reply.text == "then"
            gate.answers.put_nowait("now")
            heard = await judge.ask(OPENING, 8)
            assert (heard.reply.text, heard.recalled) == ("now", False)

    asyncio.run(main())


def test_a_session_cancelled_before_it_asks_leaves_its_question_to_others(tmp_path: Path) -> None:
    """It was about to claim the question: another process may ask it at once."""

    async def scene(judge: Recorded, gate: Gate) -> None:
        task = asyncio.create_task(judge.ask(OPENING, 1))
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert not gate.asked
        other = Claims(tmp_path / "l.sqlite")
        assert other.take(key_of(judge.asker, OPENING, 1))
        other.close()

    play(tmp_path, scene)
