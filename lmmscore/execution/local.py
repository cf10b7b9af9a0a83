"""The asyncio executor: many sessions at once in this process.

Results leave in the order of the plan and soon, so that a run of any length needs the same memory
and writes the same files however its sessions happened to overtake each other.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from lmmscore.conversation import Conversation
from lmmscore.errors import ImageProblem, JudgeError
from lmmscore.execution.base import FailureWatch, Job, LedSession, OrderedTasks, engine
from lmmscore.images import Pictures
from lmmscore.judges.judge import Heard
from lmmscore.plan import Unit
from lmmscore.scores import Result, result_of, settled
from lmmscore.session import Exchange, Played, Session

COLLECT_AFTER = 20_000
"""So many new objects are made, during a run, before the collector looks at them."""


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
    led = LedSession(session, pictures)
    while (put := led.open()) is not None:
        asking = reader if reader is not None and put.question.aside else judge
        try:
            heard = await asking.ask(put.conversation, put.repeat)
        except (JudgeError, ImageProblem) as error:
            led.fail(error)
            continue

        exchange = led.hear(heard)
        if listener is not None:
            listener(exchange)

    return led.played()


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
        tasks = OrderedTasks(self._play)
        at_once = self._job.concurrency
        try:
            with _still_heap():
                await tasks.run(units, sink, at_once, lambda: self.error is not None)
        except Exception as error:
            self._break_off(error)
            await tasks.settle()
            raise
        finally:
            # There is something left only if the run itself was cancelled, and then now means now.
            await tasks.settle(cancel=True)

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


@contextlib.contextmanager
def _still_heap() -> Iterator[None]:
    """Keep the collector from going through all sessions under way, time and again.

    Benchmark and plan stay until the end anyway, and what a session makes is let go of with it. It
    is worth a fifth of the time of short sessions.
    """
    if gc.get_freeze_count() or not gc.isenabled():
        # Somebody else decides about this process.
        yield
        return

    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(before[0], COLLECT_AFTER), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
