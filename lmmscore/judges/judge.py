"""What a judge is, the kinds there are, and how one is found by its name.

A judge is named by one string: `pixels`, `openai/MODEL`, `replay:PATH`, or a name from judges.yaml.
What stands before the first `/` or `:` is its kind: a module of this package, or an entry point of
another in the group `lmmscore.judges`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from lmmscore.conversation import Conversation
from lmmscore.errors import JudgeError, JudgeFileError, LmmscoreError, nearest
from lmmscore.judges.budget import Meter, Spending
from lmmscore.judges.config import JudgeOptions, NamedJudge, load_judges, mask
from lmmscore.ledger import Ledger
from lmmscore.options import declared
from lmmscore.records import Reply
from lmmscore.registry import Registry


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


_ELSEWHERE = {
    "anthropic": "openai/MODEL@https://api.anthropic.com/v1",
    "claude": "openai/MODEL@https://api.anthropic.com/v1",
    "azure": "openai/DEPLOYMENT@https://RESOURCE.openai.azure.com/openai/v1",
    "gemini": "openai/MODEL@https://generativelanguage.googleapis.com/v1beta/openai",
    "google": "openai/MODEL@https://generativelanguage.googleapis.com/v1beta/openai",
    "openrouter": "openai/PROVIDER/MODEL@https://openrouter.ai/api/v1",
    "vllm": "openai/MODEL@http://127.0.0.1:8000/v1",
    "sglang": "openai/MODEL@http://127.0.0.1:30000/v1",
    "ollama": "openai/MODEL@http://127.0.0.1:11434/v1",
    "lmstudio": "openai/MODEL@http://127.0.0.1:1234/v1",
    "llamacpp": "openai/MODEL@http://127.0.0.1:8080/v1",
}
"""How to reach those that people ask for by name and that are no kind of their own."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The judge that is asked, and a ledger of earlier answers to look in first."""

    judge: Judge
    answers: Ledger | None = None


Opener = Callable[[str, Mapping[str, Any]], "Bench | Judge | Answerer"]
"""Makes a judge from its whole name and the options given with it."""


@dataclass(frozen=True, slots=True)
class JudgeKind:
    """One kind of judge, registered by a module here or named by an entry point."""

    form: str
    """How such a judge is written, for messages."""
    open: Opener
    answers_here: bool = False
    """Whether it answers on this machine, from what is at hand: such a judge costs nothing."""
    takes: Collection[str] | None = None
    """The options it takes, by their names in `JudgeOptions`: others are refused, not ignored. None
    passes on whatever is given."""
    configure: Callable[[str, Mapping[str, Any]], NamedJudge] | None = None
    """Returns model, options and prices without opening the judge, where a kind is configured so.
    """


_KINDS: Registry[JudgeKind] = Registry("judge", "lmmscore.judges", group="lmmscore.judges")


def register(name: str, *, form: str, **about: Any) -> Callable[[Opener], Opener]:
    """Register a kind of judge: `@register("openai", form="openai/MODEL")` above what opens one."""

    def add(opener: Opener) -> Opener:
        _KINDS.register(name)(JudgeKind(form, opener, **about))
        return opener

    return add


def open_judge(spec: str | Judge | Answerer, options: Mapping[str, Any] | None = None) -> Bench:
    """Return the judge that a string names, or that an object is, ready to be asked."""
    options = options or {}
    if not isinstance(spec, str):
        _refuse_options(adapted(spec).name, options, ())
        return Bench(adapted(spec))
    kind = kind_of(spec)
    if kind.takes is not None:
        _refuse_options(mask(spec), options, kind.takes)
    opened = kind.open(spec, options)
    return opened if isinstance(opened, Bench) else Bench(adapted(opened))


# A judge that costs nothing keeps within any budget, and the dialog of a structured run is another
# one whoever answers.
_KEPT_BY_ALL = frozenset({"budget_usd", "structured"})


def _refuse_options(judge: str, options: Mapping[str, Any], takes: Collection[str]) -> None:
    given = {name for name, value in options.items() if value is not None and value is not False}
    ignored = given - _KEPT_BY_ALL - {*takes}
    if ignored:
        flags = {each.name: each.about.flag for each in declared(JudgeOptions)}
        names = [flags.get(name) or name for name in sorted(ignored)]
        raise JudgeFileError(f"{judge} takes no {', '.join(names)}; leave it out")


def kind_of(spec: str) -> JudgeKind:
    """Return the kind of a judge.

    Raises JudgeFileError, saying what was meant, where there is none.
    """
    name = re.split(r"[/:]", spec, maxsplit=1)[0]
    kind = _KINDS.find(name)
    if kind is not None:
        return kind
    named = load_judges()
    if spec in named:
        return _KINDS.get("openai")
    raise JudgeFileError(f"no judge {mask(spec)!r}{_advice(spec, name, [*named])}")


def _advice(spec: str, name: str, named: list[str]) -> str:
    if name in _ELSEWHERE and spec != name:
        return (
            f"; no judge is of that kind, but its server speaks OpenAI's API: write "
            f"{_ELSEWHERE[name]} (the recipe is in docs/judges.md)"
        )
    kinds = _KINDS.names()
    hint = nearest(name, kinds) or nearest(spec, named)
    forms = ", ".join(_form(kind) for kind in kinds)
    return f"{hint}; a judge is {forms}, or a name from judges.yaml"


def _form(name: str) -> str:
    try:
        return _KINDS.get(name).form
    except LmmscoreError:
        # A package that cannot be loaded is no reason not to answer about another.
        return f"{name}/…"
