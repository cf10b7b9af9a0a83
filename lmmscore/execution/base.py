"""What every executor is given and must do, and how one is found by name.

A new executor is one module in this package, called as its engine is, with a class or function that is
registered:

    @executors.register("local")
    class LocalExecutor: ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from lmmscore.conversation import Conversation, Message
from lmmscore.errors import JudgeError
from lmmscore.images import Pictures
from lmmscore.judges.recorded import Recorded
from lmmscore.plan import Protocol, Unit
from lmmscore.records import Reply
from lmmscore.registry import Registry
from lmmscore.scores import Result
from lmmscore.session import Exchange, Question, spoken


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told what, while it happens."""

    on_exchange: Callable[[Exchange], None] = lambda _: None
    on_result: Callable[[Result], None] = lambda _: None
    """Called as soon as a unit is done, in any order."""


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
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    """What only this kind of executor knows, as it was asked for."""
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


executors: Registry[Callable[[Job], Executor]] = Registry("engine", "lmmscore.execution")


class StopRequested(JudgeError):
    """The user asked to stop: nothing new is asked."""

    scope = "run"


def asked(before: Conversation, question: Question, pictures: Pictures) -> Conversation:
    """Return the conversation with the question put. Opens the pictures' files to know their digests."""
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
