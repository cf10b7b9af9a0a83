"""The asyncio executor: many sessions at once in this process.

Results leave in the order of the plan and soon, so that a run of any length needs the same memory
and writes the same files however its sessions happened to overtake each other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from lmmscore.conversation import Conversation
from lmmscore.errors import ContentFiltered, ImageProblem, JudgeError, NoRecordedReply
from lmmscore.execution.base import FailureWatch, Job, answered, asked, engine
from lmmscore.images import Pictures
from lmmscore.judges.recorded import Heard
from lmmscore.plan import Unit
from lmmscore.records import Outcome
from lmmscore.scores import Result, result_of, settled
from lmmscore.session import Done, Exchange, Played, Question, Session

_Task = asyncio.Task[Result | None]


class Asked(Protocol):
    """What playing a session needs of a judge."""

    async def ask(self, conversation: Conversation, repeat: int) -> Heard:
        """Answer the last message."""


async def play(
    session: Session,
    judge: Asked,
    pictures: Pictures,
    listener: Callable[[Exchange], None] | None = None,
    reader: Asked | None = None,
) -> Played:
    """Play a session to its end. Raises JudgeError only for what must stop the whole run."""
    reader = reader or judge
    begun = session
    conversation = Conversation()
    exchanges: list[Exchange] = []
    while isinstance(question := session.next(), Question):
        try:
            put = asked(conversation, question, pictures)
            asking = reader if question.aside else judge
            heard = await asking.ask(put, session.repeat)
        except NoRecordedReply as error:
            # A record made without a reader is played without one.
            session = session.unhelped() if question.aside else _ended(session, error)
            continue
        except (JudgeError, ImageProblem) as error:
            session = _ended(session, error)
            continue
        exchange = Exchange(question, heard.reply, heard.recalled, heard.key)
        exchanges.append(exchange)
        if listener is not None:
            listener(exchange)
        conversation = answered(conversation, put, question, heard.reply)
        session = session.hear(heard.reply)
    assert isinstance(question, Done)
    return Played(begun, tuple(exchanges), question)


def _ended(session: Session, error: JudgeError | ImageProblem) -> Session:
    """Return the session ended by an error; raise the error where it stops the whole run."""
    if isinstance(error, JudgeError) and error.scope == "run":
        raise error
    outcome = Outcome.FILTERED if isinstance(error, ContentFiltered) else Outcome.FAILED
    return session.end(outcome, str(error), type(error).__name__)


class _BrokenOff(JudgeError):
    """Something else went wrong, and is going to be raised: meanwhile nothing new is asked."""

    scope = "run"


@engine("local")
class LocalExecutor:
    """Plays units with one judge, as asyncio tasks."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._failures = FailureWatch()
        self.error: JudgeError | None = None
        """What stopped the run, if anything did."""
        self.waiting = ""

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new from now on; what is in flight is finished and recorded."""
        if self.error is None:
            self.error = error
            self._job.judge.stop(error)
            if self._job.reader is not None:
                self._job.reader.stop(error)

    async def run(self, units: Iterable[Unit], sink: Callable[[Result], None]) -> None:
        """Play every unit and hand the results to `sink` in the order of the plan.

        Whatever goes wrong, in `sink` or in a session, stops the run as `stop` does and is raised
        at the end.
        """
        active: set[_Task] = set()
        try:
            await self._play_all(iter(units), sink, active)
        except Exception as error:
            self._break_off(error)
            await asyncio.gather(*active, return_exceptions=True)
            raise
        finally:
            # There is something left only if the run itself was cancelled, and then now means now.
            for task in active:
                task.cancel()
            await asyncio.gather(*active, return_exceptions=True)

    async def _play_all(
        self, units: Iterator[Unit], sink: Callable[[Result], None], active: set[_Task]
    ) -> None:
        window = max(64, 8 * self._job.concurrency)
        waiting: deque[_Task] = deque()
        exhausted = False
        while not exhausted or waiting:
            while not exhausted and len(active) < self._job.concurrency and len(waiting) < window:
                unit = next(units, None) if self.error is None else None
                if unit is None:
                    exhausted = True
                    break
                task = asyncio.create_task(self._play(unit))
                active.add(task)
                waiting.append(task)
            if active:
                done, _ = await asyncio.wait(active, return_when=asyncio.FIRST_COMPLETED)
                active -= done
                _raise_first(done)
            while waiting and waiting[0].done():
                result = waiting.popleft().result()
                if result is not None:
                    sink(result)

    def _break_off(self, error: Exception) -> None:
        self.stop(_BrokenOff(f"the run was broken off by {type(error).__name__}: {error}"))

    async def _play(self, unit: Unit) -> Result | None:
        """Return the unit's result; None where the run was stopped before it was finished."""
        job = self._job
        played: list[Played] = []
        try:
            for session in job.protocol.sessions(unit):
                on_exchange = job.listeners.on_exchange
                asked_of = (job.judge, job.pictures, on_exchange, job.reader)
                played.append(await play(session, *asked_of))
                if settled(job.protocol, played[-1]):
                    break
        except JudgeError as error:
            self.stop(error)
            return None
        except Exception as error:
            # At once, before any other session can ask: those who wait for the same answer would
            # ask in its place.
            self._break_off(error)
            raise
        result = result_of(unit, job.protocol, played)
        alike = self._failures.see(played)
        if alike is not None:
            self.stop(alike)
        job.listeners.on_result(result)
        return result

    async def close(self) -> None:
        """There is nothing to let go of."""


def _raise_first(done: set[_Task]) -> None:
    """Raise what went wrong in one of these tasks, if anything did."""
    for task in done:
        error = task.exception()
        if error is not None:
            raise error
