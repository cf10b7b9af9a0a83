"""Play many sessions at once; report progress by callback; hand over results in the order of the plan.

Results leave in order and soon, so that a run of any length needs the same memory and writes the same files
however its sessions happened to overtake each other.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from lmmscore.errors import JudgeError
from lmmscore.images import Pictures
from lmmscore.judges.recorded import Recorded
from lmmscore.planning import Unit
from lmmscore.records import OVERALL, Outcome, Score
from lmmscore.scores import combined, missing_scores, scores_of
from lmmscore.session import Exchange, Played, play

ALIKE_FAILURES = 5
"""So many sessions in a row failing alike stop the run: something is wrong with more than a session."""


@dataclass(frozen=True, slots=True)
class Result:
    """A unit of the plan after it was played."""

    unit: Unit
    played: tuple[Played, ...]
    scores: tuple[Score, ...]


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told what, while it happens."""

    on_exchange: Callable[[Exchange], None] = lambda _: None
    on_result: Callable[[Result], None] = lambda _: None
    """Called as soon as a unit is done, in any order."""


class StopRequested(JudgeError):
    """The user asked to stop: nothing new is asked."""

    scope = "run"


class _BrokenOff(JudgeError):
    """Something else went wrong, and is going to be raised: meanwhile nothing new is asked."""

    scope = "run"


class Runner:
    """Plays the units of a plan with one judge."""

    def __init__(
        self, judge: Recorded, pictures: Pictures, concurrency: int, listeners: Listeners
    ) -> None:
        self._judge = judge
        self._pictures = pictures
        self._concurrency = concurrency
        self._listeners = listeners
        self._failures: deque[str] = deque(maxlen=ALIKE_FAILURES)
        self.error: JudgeError | None = None
        """What stopped the run, if anything did."""

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new from now on; what is in flight is finished and recorded."""
        if self.error is None:
            self.error = error
            self._judge.stop(error)

    async def run(self, plan: Iterable[Unit], sink: Callable[[Result], None]) -> None:
        """Play every unit and hand the results to `sink` in the order of the plan.

        Whatever goes wrong, in `sink` or in one session, stops the run as `stop` does and is raised at the end.
        """
        active: set[asyncio.Task[Result | None]] = set()
        try:
            await self._play_all(iter(plan), sink, active)
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
        self,
        units: Iterator[Unit],
        sink: Callable[[Result], None],
        active: set[asyncio.Task[Result | None]],
    ) -> None:
        window = max(64, 8 * self._concurrency)
        waiting: deque[asyncio.Task[Result | None]] = deque()
        exhausted = False
        while not exhausted or waiting:
            while not exhausted and len(active) < self._concurrency and len(waiting) < window:
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
        played: list[Played] = []
        try:
            for session in unit.sessions:
                played.append(
                    await play(session, self._judge, self._pictures, self._listeners.on_exchange)
                )
                if _gated(unit, played[-1]):
                    break
        except JudgeError as error:
            self.stop(error)
            return None
        except Exception as error:
            # At once, before any other session can ask: those who wait for the same answer would ask in its place.
            self._break_off(error)
            raise
        result = Result(unit, tuple(played), tuple(_scores(unit, played)))
        self._break_on_alike_failures(played)
        self._listeners.on_result(result)
        return result

    def _break_on_alike_failures(self, played: list[Played]) -> None:
        for each in played:
            failed = each.failure is not None and each.failure.outcome == Outcome.FAILED
            if not failed or each.failure is None:
                self._failures.clear()
                continue
            self._failures.append(re.sub(r"\d+|'[^']*'|\S*/\S*", "#", each.failure.reason))
            if len(self._failures) == ALIKE_FAILURES and len(set(self._failures)) == 1:
                self.stop(_AlikeFailures(each.failure.reason))


def _raise_first(done: set[asyncio.Task[Result | None]]) -> None:
    """Raise what went wrong in one of these tasks, if anything did."""
    errors = [error for task in done if (error := task.exception()) is not None]
    if errors:
        raise errors[0]


class _AlikeFailures(JudgeError):
    scope = "run"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"{ALIKE_FAILURES} sessions in a row failed alike, so the run was stopped: {reason}. Everything "
            "recorded is kept; mend the cause and run the same command"
        )


def _gated(unit: Unit, played: Played) -> bool:
    """Tell whether later members need not be asked: the overall is 0 whatever they say."""
    suite = unit.plan.protocol.suite
    if suite is None or not suite.gate or not unit.plan.protocol.covers_edits:
        return False
    return any(row.factor == OVERALL and row.score == 0 for row in scores_of(played))


def _scores(unit: Unit, played: list[Played]) -> list[Score]:
    """Return the unit's scores, method by method in the order of the benchmark."""
    protocol = unit.plan.protocol
    by_dialog = [scores_of(each) for each in played]
    rows = [row for scores in by_dialog for row in scores] if protocol.suite is None else []
    if protocol.suite is not None and unit.sessions:
        for method in unit.sessions[0].order:
            members = [[row for row in scores if row.method == method] for scores in by_dialog]
            rows += combined(protocol.suite, protocol.dialogs, members)
    for method in unit.absent:
        rows += missing_scores(unit.item, method, unit.repeat, protocol.dialogs)
    place = {method: number for number, method in enumerate(unit.plan.benchmark.methods)}
    return sorted(rows, key=lambda row: place[row.method])
