"""What every executor is given and must do, and how one is found by name.

A new executor is one module in this package, called as its engine is, with a class or function that
is registered:

    @engine("local")
    class LocalExecutor: ...
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from typing import Protocol as Interface

from lmmscore.conversation import Conversation, Message
from lmmscore.errors import JudgeError
from lmmscore.images import Pictures
from lmmscore.judges.recorded import Recorded
from lmmscore.plan import Protocol, Unit
from lmmscore.records import Outcome, Reply
from lmmscore.registry import Registry
from lmmscore.scores import Result
from lmmscore.session import Exchange, Played, Question, spoken

_Make = TypeVar("_Make", bound="Callable[[Job], Executor]")

ALIKE_FAILURES = 5
"""So many sessions in a row failing alike stop the run: something is wrong with more than a
session."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told what, while it happens."""

    on_exchange: Callable[[Exchange], None] = lambda _: None
    on_result: Callable[[Result], None] = lambda _: None
    """Called as soon as a unit is done, in any order."""
    on_known: Callable[[Unit, int], None] | None = None
    """Called for a unit that was derived before from replies that are still the same, with how many
    they are. Where it is missing, whoever listens hears every exchange, and everything is derived
    anew."""

    @property
    def skip_known(self) -> bool:
        """Whether nobody minds when a unit is taken as it was derived before."""
        return self.on_known is not None or self == Listeners()


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be played, by whom it is judged, and who looks on."""

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
    """What only this kind of executor knows: an instance of the class of options it declares."""
    reader: Recorded | None = None
    """Who is asked to quote the scores from a reply that cannot be read; None for the judge."""


class Executor(Interface):
    """Plays the units of a plan."""

    @property
    def error(self) -> JudgeError | None:
        """What stopped the run, if anything did."""

    @property
    def waiting(self) -> str:
        """What is still on its way when `run` returns, in words; empty where nothing is."""

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new from now on; what is in flight is finished and recorded."""

    async def run(self, units: Iterable[Unit], sink: Callable[[Result], None]) -> None:
        """Play every unit and hand the results to `sink` in the order of the plan.

        Where the run is stopped, units that were not finished have no result, and `error` says why.
        """

    async def close(self) -> None:
        """Let go of what this executor holds; `run` is not called again."""


@dataclass(frozen=True, slots=True)
class NoOptions:
    """An executor that knows no options of its own."""


@dataclass(frozen=True, slots=True)
class Engine:
    """How an executor is made, and a dataclass that declares what only it understands."""

    make: Callable[[Job], Executor]
    options: type = NoOptions


executors: Registry[Engine] = Registry("engine", "lmmscore.execution")


def engine(name: str, options: type = NoOptions) -> Callable[[_Make], _Make]:
    """Return a decorator that registers an executor under the name that `--engine` takes.

    The flags of its options appear on the command line by themselves.
    """

    def add(make: _Make) -> _Make:
        executors.register(name)(Engine(make, options))
        return make

    return add


class AlikeFailures(JudgeError):
    """Session after session failed in the same way."""

    scope = "run"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"{ALIKE_FAILURES} sessions in a row failed alike, so the run was stopped: {reason}. "
            "Everything recorded is kept; mend the cause and run the same command"
        )


class FailureWatch:
    """Notices when session after session fails in the same way."""

    def __init__(self) -> None:
        self._causes: deque[str] = deque(maxlen=ALIKE_FAILURES)

    def see(self, played: Sequence[Played]) -> AlikeFailures | None:
        """Take note of sessions that are over; return the error once it is enough."""
        for each in played:
            failure = each.done.failure
            if failure is None or failure.outcome != Outcome.FAILED:
                self._causes.clear()
                continue
            self._causes.append(failure.cause)
            if len(self._causes) == ALIKE_FAILURES and len(set(self._causes)) == 1:
                return AlikeFailures(failure.reason)
        return None


class StopRequested(JudgeError):
    """The user asked to stop: nothing new is asked."""

    scope = "run"


def asked(before: Conversation, question: Question, pictures: Pictures) -> Conversation:
    """Return the conversation with the question put.

    Opens the pictures' files to know their digests.
    """
    if question.fresh or question.aside:
        before = Conversation()
    if question.system:
        before = before.add(Message("system", question.system))
    for shot in question.shots:
        images = tuple(pictures.get(shown.path) for shown in shot.images)
        before = before.say(shot.text, images, places=shot.places).hear(shot.heard)
    images = tuple(pictures.get(shown.path) for shown in question.images)
    return before.say(question.text, images, question.schema, question.places)


def answered(
    before: Conversation, put: Conversation, question: Question, reply: Reply
) -> Conversation:
    """Return the conversation after a reply; what was put aside leaves it as it was before."""
    return before if question.aside else put.hear(spoken(reply) or "(no answer)")
