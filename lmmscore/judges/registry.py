"""The kinds of judges, each registered by the file that implements it, and judges by name.

A judge is named by one string: `pixels`, `openai/MODEL`, `replay:PATH`, or a name from judges.yaml.
What stands before the first `/` or `:` is its kind: a module of this package, or an entry point of
another in the group `lmmscore.judges`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lmmscore.errors import JudgeFileError, LmmscoreError, nearest
from lmmscore.judges.base import Answerer, Judge, adapted
from lmmscore.judges.config import NamedJudge, load_judges, mask
from lmmscore.ledger import Ledger
from lmmscore.registry import Registry

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
    configure: Callable[[str, Mapping[str, Any]], NamedJudge] | None = None
    """Returns model, options and prices without opening the judge, where a kind is configured so."""


_KINDS: Registry[JudgeKind] = Registry("judge", "lmmscore.judges", group="lmmscore.judges")


def register(name: str, *, form: str, **about: Any) -> Callable[[Opener], Opener]:
    """Register a kind of judge: `@register("openai", form="openai/MODEL")` above what opens one."""

    def add(opener: Opener) -> Opener:
        _KINDS.register(name)(JudgeKind(form, opener, **about))
        return opener

    return add


def open_judge(spec: str | Judge | Answerer, options: Mapping[str, Any] | None = None) -> Bench:
    """Return the judge that a string names, or that an object is, ready to be asked."""
    if not isinstance(spec, str):
        return Bench(adapted(spec))
    opened = kind_of(spec).open(spec, options or {})
    return opened if isinstance(opened, Bench) else Bench(adapted(opened))


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
