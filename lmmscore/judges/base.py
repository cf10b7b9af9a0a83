"""What every judge is: something that can answer a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from lmmscore.conversation import Conversation
from lmmscore.errors import JudgeError, LmmscoreError
from lmmscore.judges.budget import Meter, Spending
from lmmscore.records import Reply


@runtime_checkable
class Judge(Protocol):
    """Anything that can answer a conversation.

    `JudgeBase` has defaults for all but name and ask.
    """

    @property
    def name(self) -> str:
        """Who answers, as it stands in keys and tables: `pixels`, `openai/MODEL`.

        Never holds a secret.
        """

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Whatever else changes the answers (temperature, seed, …), as plain JSON.

        Part of every key.
        """

    @property
    def caution(self) -> str:
        """What every table with this judge's scores must say of it; empty for most judges."""

    @property
    def meter(self) -> Meter | None:
        """Running totals, for whoever shows progress; None for a judge that counts nothing."""

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer the last message.

        Raises JudgeError when there is no answer; never returns a made-up one.
        """

    def keep(self, spending: Spending) -> None:
        """Count what the run has spent before, and write down what it spends from now on."""

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new: what is in flight is finished, what merely waits raises this."""

    async def close(self) -> None:
        """Let go of connections."""


class JudgeBase:
    """A judge without parameters that costs nothing and never waits.

    Give it a name and an `ask`.
    """

    @property
    def name(self) -> str:
        """Who answers."""
        raise NotImplementedError(f"{type(self).__name__} has no name")

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Nothing else changes the answers."""
        return {}

    @property
    def caution(self) -> str:
        """Nothing to be careful about."""
        return ""

    @property
    def meter(self) -> Meter | None:
        """Nothing is counted."""
        return None

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer the last message."""
        raise NotImplementedError(f"{type(self).__name__} cannot be asked")

    def keep(self, spending: Spending) -> None:
        """Nothing is spent."""

    def stop(self, error: JudgeError) -> None:
        """Nothing waits."""

    async def close(self) -> None:
        """Nothing to let go of."""


@runtime_checkable
class Answerer(Protocol):
    """The least a judge object can be: what version 0.1 asked of one."""

    @property
    def name(self) -> str:
        """Who answers."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Whatever else changes the answers."""

    @property
    def caution(self) -> str:
        """What to be careful about."""

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer the last message."""

    async def close(self) -> None:
        """Let go of connections."""


def adapted(judge: Judge | Answerer) -> Judge:
    """Return a judge object with all that a judge has.

    This is the one place that looks what it has.
    """
    if isinstance(judge, Judge):
        return judge
    if isinstance(judge, Answerer):
        return AdaptedJudge(judge)
    needed = ("name", "parameters", "caution", "ask", "close")
    lacking = [name for name in needed if not hasattr(judge, name)]
    raise LmmscoreError(
        f"a judge of type {type(judge).__name__} lacks {', '.join(lacking)}; derive it from "
        "lmmscore.judges.JudgeBase, which has all but name and ask"
    )


class AdaptedJudge(JudgeBase):
    """A judge object from somewhere else, whole: what it does not have is the default."""

    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer

    @property
    def name(self) -> str:
        """Who answers."""
        return self._answerer.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Whatever else changes the answers."""
        return self._answerer.parameters

    @property
    def caution(self) -> str:
        """What to be careful about."""
        return self._answerer.caution

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer the last message."""
        return await self._answerer.ask(conversation)

    async def close(self) -> None:
        """Let go of connections."""
        await self._answerer.close()
