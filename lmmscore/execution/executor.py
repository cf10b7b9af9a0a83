"""Drivers of sessions: what every executor is given and must do, and the one of this process.

First what all executors have in common, then how one session is led to its end, and last the local
executor. `ray` and `batch` build on the first two.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from lmmscore.conversation import Conversation, Message
from lmmscore.errors import (
    ContentFiltered,
    FatalJudgeError,
    ImageProblem,
    JudgeError,
    LmmscoreError,
    NoRecordedReply,
)
from lmmscore.images import Pictures
from lmmscore.judges.judge import Heard, Recorded
from lmmscore.options import Registry
from lmmscore.plan import Protocol, Unit
from lmmscore.records import Outcome
from lmmscore.scores import Result, is_gated, result_of, settled
from lmmscore.session import Done, Ending, Exchange, Played, Question, Session, spoken

# --------------------------------------------------------------------------------------------------
# What every executor is given and must do, and how one is found by its name.
#
# A new executor is one module in this package, named like its engine, with a class that is
# registered:
#
#     @engine("local")
#     class LocalExecutor(Executor): ...
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listeners:
    """Callbacks during a run."""

    on_exchange: Callable[[Exchange], None] = lambda _: None
    on_result: Callable[[Result], None] = lambda _: None
    """Called as soon as a unit is done, in any order."""
    on_known: Callable[[Unit, int], None] | None = None
    """Called for a unit that is taken as it was derived before, with the number of its replies. If
    missing, every unit is derived again, so that the listener hears every exchange."""

    @property
    def skip_known(self) -> bool:
        """Whether units may be taken as they were derived before."""
        return self.on_known is not None or self == Listeners()


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be played, by whom it is judged, and who is told."""

    protocol: Protocol
    judge: Recorded
    pictures: Pictures
    concurrency: int = 8
    """How many sessions are played at once."""
    listeners: Listeners = Listeners()
    judge_spec: str | None = None
    """The judge's name, for an executor that opens it elsewhere; None for an object."""
    judge_options: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()
    """The run's folder, for an executor that keeps something of its own there."""
    engine_options: Any = None
    """The executor's own options: an instance of the class it declares."""
    reader: Recorded | None = None
    """Who is asked to quote the scores from a reply that cannot be read; None for the judge."""
    reader_spec: str | None = None
    """The reader's name, where it has one."""


ALIKE_FAILURES = 5
"""The run stops after this many sessions in a row failed in the same way."""


class AlikeFailures(FatalJudgeError):
    """Session after session failed in the same way."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"{ALIKE_FAILURES} sessions in a row failed alike, so the run was stopped: {reason}. "
            "Everything recorded is kept; fix the cause and run the same command"
        )


class _BrokenOff(FatalJudgeError):
    """An unexpected error is about to be raised: meanwhile nothing new is asked."""


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of an executor that has none of its own."""


class Executor:
    """Plays the units of a plan. A subclass has at least `run`."""

    options: type = NoOptions
    """A dataclass that declares the executor's own options; each becomes a flag."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._causes: deque[str] = deque(maxlen=ALIKE_FAILURES)
        """Why the latest sessions failed."""
        self.error: JudgeError | None = None
        """What stopped the run, if anything did."""
        self.waiting = ""
        """What is still on its way when `run` returns, in words; empty where nothing is."""
        self.ended_early = ""
        """Why units were left out though nothing went wrong; empty where none were."""

    async def run(self, units: Iterable[Unit], sink: Callable[[Result], None]) -> None:
        """Play every unit and hand the results to `sink` in the order of the plan.

        Where the run is stopped, units that were not finished have no result, and `error` says why.
        """
        raise NotImplementedError(f"{type(self).__name__} plays nothing")

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new from now on; what is in flight is finished and recorded."""
        if self.error is None:
            self.error = error
            self._job.judge.stop(error)
            if self._job.reader is not None:
                self._job.reader.stop(error)

    async def close(self) -> None:
        """Let go of what this executor holds; `run` is not called again."""

    async def _play_in_order(
        self,
        play: Callable[[Unit], Awaitable[Result | None]],
        units: Iterable[Unit],
        sink: Callable[[Result], None],
        at_once: int,
    ) -> None:
        """Play units, `at_once` at a time, and hand on their results in the order of the plan.

        However long the run, it needs the same memory: no unit is begun that is too far ahead of
        the first unfinished one. Whatever goes wrong, in `sink` or in a unit, is raised once what
        is in flight is recorded.
        """
        room = asyncio.Semaphore(at_once)
        # Wide enough that one slow session does not hold up the others behind it.
        window = max(64, 8 * at_once)
        waiting: deque[asyncio.Task[Result | None]] = deque()

        async def play_one(unit: Unit) -> Result | None:
            try:
                return await play(unit)
            except Exception as error:
                # At once: sessions that wait for the same answer would otherwise ask in its place.
                self._break_off(error)
                raise
            finally:
                room.release()

        async def hand_on() -> None:
            result = await waiting[0]
            waiting.popleft()
            if result is not None:
                sink(result)

        # Lazily: a plan may have millions of units, and one that stops early never makes the rest.
        coming = iter(units)
        try:
            while True:
                await room.acquire()
                while waiting and (waiting[0].done() or len(waiting) == window):
                    await hand_on()

                unit = None if self.error is not None else next(coming, None)
                if unit is None:
                    break

                waiting.append(asyncio.create_task(play_one(unit)))

            while waiting:
                await hand_on()
        except Exception as error:
            self._break_off(error)
            await asyncio.gather(*waiting, return_exceptions=True)
            raise
        finally:
            # Tasks are left only if the run itself was cancelled, and then there is no waiting.
            for task in waiting:
                task.cancel()

            await asyncio.gather(*waiting, return_exceptions=True)

    def _break_off(self, error: Exception) -> None:
        self.stop(_BrokenOff(f"the run was broken off by {type(error).__name__}: {error}"))

    def _finish(self, unit: Unit, played: Sequence[Played]) -> Result:
        """Return the result of a unit, after telling the listeners.

        Stops the run once session after session fails in the same way.
        """
        for each in played:
            failure = each.done.failure
            if failure is None or failure.outcome != Outcome.FAILED:
                self._causes.clear()
                continue

            self._causes.append(failure.cause)
            if len(self._causes) == ALIKE_FAILURES and len(set(self._causes)) == 1:
                self.stop(AlikeFailures(failure.reason))

        result = result_of(unit, self._job.protocol, played)
        self._job.listeners.on_result(result)
        return result


executors: Registry[type[Executor]] = Registry("engine", "lmmscore.execution")

engine = executors.register
"""Returns a decorator that registers an executor under the name that `--engine` takes."""


class StopRequested(FatalJudgeError):
    """The user asked to stop: nothing new is asked."""


# --------------------------------------------------------------------------------------------------
# One session, led to its end. Whoever can answer leads it: a judge, a ledger, a person.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question that waits for its answer, as it stands in the conversation."""

    question: Question
    conversation: Conversation
    repeat: int


class LedSession:
    """A session under way, with its conversation so far.

    Whoever can answer leads it to its end:

        led = LedSession(session, pictures)
        while (asked := led.open()) is not None:
            led.hear(answer_to(asked))
        led.played()
    """

    def __init__(self, session: Session, pictures: Pictures) -> None:
        self._begun = session
        self._session = session
        self._pictures = pictures
        self._conversation = Conversation()
        self._exchanges: list[Exchange] = []
        self._open: OpenQuestion | None = None

    def open(self) -> OpenQuestion | None:
        """Return the question that waits for an answer; None once nothing is left to ask.

        Opens the pictures' files to know their digests. A picture that cannot be read ends the
        session.
        """
        while self._open is None and isinstance(question := self._session.next(), Question):
            try:
                put = asked(self._conversation, question, self._pictures)
            except ImageProblem as error:
                self.fail(error)
            else:
                self._open = OpenQuestion(question, put, self._session.repeat)

        return self._open

    def hear(self, heard: Heard) -> Exchange:
        """Take the answer to the open question, and return the exchange."""
        assert self._open is not None, "nothing is asked"
        question, put = self._open.question, self._open.conversation
        exchange = Exchange(question, heard.reply, heard.recalled, heard.key)
        self._exchanges.append(exchange)
        # What was put to the reader by itself is no part of the conversation.
        if not question.aside:
            self._conversation = put.hear(spoken(heard.reply) or "(no answer)")

        self._go_on(self._session.hear(heard.reply))
        return exchange

    def fail(self, error: JudgeError | ImageProblem) -> None:
        """Take that there is no answer. Raises the error if it stops the whole run."""
        # A record made without a reader is played without one.
        without_reader = self._is_aside and isinstance(error, NoRecordedReply)
        if isinstance(error, JudgeError) and error.scope == "run" and not without_reader:
            raise error

        outcome = Outcome.FILTERED if isinstance(error, ContentFiltered) else Outcome.FAILED
        self.end(Ending(outcome, str(error), type(error).__name__))

    def end(self, ending: Ending) -> None:
        """End the session early; where only the reader failed, go on without it."""
        if self._is_aside:
            self.do_without_reader()
        else:
            self._go_on(self._session.end(ending.outcome, ending.reason, ending.cause))

    def do_without_reader(self) -> None:
        """Go on as if there were no reader, whose question is open."""
        self._go_on(self._session.unhelped())

    def unaided(self) -> OpenQuestion | None:
        """Return what comes after the open question if the reader is not asked.

        None where nothing is left to ask, or the open question is not for the reader.
        """
        if not self._is_aside:
            return None

        question = self._session.unhelped().next()
        if isinstance(question, Done):
            return None

        put = asked(self._conversation, question, self._pictures)
        return OpenQuestion(question, put, self._session.repeat)

    def recall(self, find: Callable[[OpenQuestion], Heard | Ending | None]) -> OpenQuestion | None:
        """Continue while answers are found; return the first question without one, if any.

        `find` raises NoRecordedReply to do without a reader's answer.
        """
        while (put := self.open()) is not None:
            try:
                found = self._found_formerly(find) or find(put)
            except NoRecordedReply as error:
                self.fail(error)
                continue

            if found is None:
                following = self.unaided()
                if following is None or find(following) is None:
                    return put

                # The reader failed then, and the conversation went on: see `_was_done_without`.
                self.do_without_reader()
            elif isinstance(found, Ending):
                self.end(found)
            else:
                self.hear(found)

        return None

    def former(self) -> OpenQuestion | None:
        """Return the open question as earlier versions asked it; None where they did as now."""
        if self._open is None or not self._open.question.formerly:
            return None

        question = replace(self._open.question, text=self._open.question.formerly, formerly="")
        put = asked(self._conversation, question, self._pictures)
        return OpenQuestion(question, put, self._session.repeat)

    def ask_instead(self, put: OpenQuestion) -> None:
        """Open this question in place of the one that is."""
        self._open = put

    def _found_formerly(
        self, find: Callable[[OpenQuestion], Heard | Ending | None]
    ) -> Heard | Ending | None:
        """Return the answer to the open question in former words, and keep to these words."""
        former, found = self.former(), None
        if former is not None:
            with contextlib.suppress(LmmscoreError):
                found = find(former)

            if found is not None:
                self.ask_instead(former)

        return found

    def played(self) -> Played:
        """Return the session with its exchanges, once nothing is left to ask."""
        done = self._session.next()
        assert isinstance(done, Done), "a question is open"
        return Played(self._begun, tuple(self._exchanges), done)

    @property
    def turns_over(self) -> int:
        """How many turns are over; all of them once nothing is left to ask."""
        if isinstance(self._session.next(), Done):
            return len(self._begun.outline())
        return self._session.steps_over

    @property
    def _is_aside(self) -> bool:
        """Whether the open question is for the reader."""
        return self._open is not None and self._open.question.aside

    def _go_on(self, session: Session) -> None:
        self._session = session
        self._open = None


def asked(before: Conversation, question: Question, pictures: Pictures) -> Conversation:
    """Return the conversation with the question added."""
    if question.fresh or question.aside:
        before = Conversation()

    if question.system:
        before = before.add(Message("system", question.system))

    for shot in question.shots:
        images = tuple(pictures.get(shown.path) for shown in shot.images)
        before = before.say(shot.text, images, places=shot.places).hear(shot.heard)

    images = tuple(pictures.get(shown.path) for shown in question.images)
    return before.say(question.text, images, question.schema, question.places)


class Asked(Interface):
    """What playing a session needs of a judge."""

    async def ask(self, conversation: Conversation, repeat: int) -> Heard:
        """Answer the last message."""

    async def knows(self, conversation: Conversation, repeat: int) -> bool:
        """Tell whether the answer is on record."""


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
            if await _was_done_without(asking, led, put, judge):
                led.do_without_reader()
                continue

            former = led.former()
            if former is not None and await asking.knows(former.conversation, former.repeat):
                led.ask_instead(former)
                put = former

            heard = await asking.ask(put.conversation, put.repeat)
        except (JudgeError, ImageProblem) as error:
            led.fail(error)
            continue

        exchange = led.hear(heard)
        if listener is not None:
            listener(exchange)

    return led.played()


async def _was_done_without(
    reader: Asked, led: LedSession, put: OpenQuestion, judge: Asked
) -> bool:
    """Tell whether the reader has failed before, and the conversation on record went on without.

    Asked again, the reader may answer this time, and its scores would replace those that the judge
    gave in the repair: whoever resumes a run gets the scores of the first time.
    """
    following = led.unaided()
    if following is None or await reader.knows(put.conversation, put.repeat):
        return False

    return await judge.knows(following.conversation, following.repeat)


async def play_unit(
    unit: Unit,
    protocol: Protocol,
    judge: Asked,
    pictures: Pictures,
    listener: Callable[[Exchange], None] | None = None,
    reader: Asked | None = None,
) -> list[Played]:
    """Play a unit's sessions one after the other; one may make the rest unnecessary."""
    played: list[Played] = []
    for session in protocol.sessions(unit):
        played.append(await play(session, judge, pictures, listener, reader))
        if settled(protocol, played[-1]):
            break

    return played


def recall_unit(unit: Unit, job: Job) -> Result:
    """Return a unit's result from the record alone. Raises NoRecordedReply where it lacks one."""

    def find(put: OpenQuestion) -> Heard:
        asked_of = job.reader if job.reader is not None and put.question.aside else job.judge
        heard = asked_of.recall(put.conversation, put.repeat)
        if heard is None:
            raise NoRecordedReply(
                f"item {unit.item.id}, turn {put.question.turn}: the answer is no longer on "
                "record; was a picture changed meanwhile? Run the same command again"
            )
        return heard

    played, _ = replay_unit(unit, job.protocol, job.pictures, find)
    return result_of(unit, job.protocol, played)


def replay_unit(
    unit: Unit,
    protocol: Protocol,
    pictures: Pictures,
    find: Callable[[OpenQuestion], Heard | Ending | None],
) -> tuple[list[Played], list[OpenQuestion]]:
    """Lead a unit's sessions as far as answers are found, as `LedSession.recall` does.

    Returns those that are over, and the questions that are open: of every other session at once,
    unless the answers of one may make the rest unnecessary.
    """
    over: list[Played] = []
    questions: list[OpenQuestion] = []
    for session in protocol.sessions(unit):
        led = LedSession(session, pictures)
        question = led.recall(find)
        if question is None:
            over.append(led.played())
            if settled(protocol, over[-1]):
                break
        else:
            questions.append(question)
            if is_gated(protocol):
                break

    return over, questions


# --------------------------------------------------------------------------------------------------
# The local executor: asyncio tasks in this process.
# --------------------------------------------------------------------------------------------------

COLLECT_AFTER = 20_000
"""During a run, the garbage collector waits for this many new objects."""


@engine("local")
class LocalExecutor(Executor):
    """Plays units with one judge, as asyncio tasks."""

    async def run(self, units: Iterable[Unit], sink: Callable[[Result], None]) -> None:
        """Play every unit and hand the results to `sink` in the order of the plan."""
        with _still_heap():
            await self._play_in_order(self._play, units, sink, self._job.concurrency)

    async def _play(self, unit: Unit) -> Result | None:
        """Return the unit's result; None where the run was stopped before it was finished."""
        job = self._job
        try:
            played = await play_unit(
                unit,
                job.protocol,
                job.judge,
                job.pictures,
                job.listeners.on_exchange,
                job.reader,
            )
        except JudgeError as error:
            self.stop(error)
            return None

        return self._finish(unit, played)


@contextlib.contextmanager
def _still_heap() -> Iterator[None]:
    """Keep the garbage collector from scanning all sessions under way again and again.

    Benchmark and plan live until the end anyway, and what a session creates is freed by reference
    counting. This saves a fifth of the time of short sessions.
    """
    if gc.get_freeze_count() or not gc.isenabled():
        # The process has its own policy.
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
