"""The kinds of judges, each registered by the file that implements it, and judges by name.

A judge is named by one string: `pixels`, `openai/MODEL`, `replay:PATH`, or a name from judges.yaml. What stands before
the first `/` or `:` is its kind. The kind K is registered by a module of this package whose name begins with K, or by
another package through an entry point named K in the group `lmmscore.judges`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from lmmscore.errors import JudgeFileError, LmmscoreError, nearest
from lmmscore.judges.base import Answerer, Judge, adapted
from lmmscore.judges.config import load_judges, mask
from lmmscore.ledger import Ledger

GROUP = "lmmscore.judges"
_PACKAGE = __name__.rpartition(".")[0]
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
    """One kind of judge."""

    name: str
    form: str
    """How such a judge is written, for messages."""
    open: Opener
    answers_here: bool = False
    """Whether it answers on this machine, from what is at hand: such a judge costs nothing."""


_KINDS: dict[str, JudgeKind] = {}


def register(name: str, *, form: str, answers_here: bool = False) -> Callable[[Opener], Opener]:
    """Register a kind of judge: `@register("openai", form="openai/MODEL")` above what opens one."""

    def keep(opener: Opener) -> Opener:
        _KINDS[name] = JudgeKind(name, form, opener, answers_here)
        return opener

    return keep


def open_judge(spec: str | Judge | Answerer, options: Mapping[str, Any] | None = None) -> Bench:
    """Return the judge that a string names, or that an object is, ready to be asked."""
    if not isinstance(spec, str):
        return Bench(adapted(spec))
    kind = kind_of(spec)
    opened = kind.open(spec, options or {})
    return opened if isinstance(opened, Bench) else Bench(adapted(opened))


def kind_of(spec: str) -> JudgeKind:
    """Return the kind of a judge. Raises JudgeFileError, saying what was meant, where there is none."""
    name = _kind_name(spec)
    kind = _find(name)
    if kind is not None:
        return kind
    named = load_judges()
    openai = _find("openai")
    if spec in named and openai is not None:
        return openai
    raise JudgeFileError(f"no judge {mask(spec)!r}{_advice(spec, name, [*named])}")


def _kind_name(spec: str) -> str:
    return re.split(r"[/:]", spec, maxsplit=1)[0]


def _find(name: str) -> JudgeKind | None:
    if name not in _KINDS and re.fullmatch(r"[a-z]\w*", name):
        for module in _modules():
            if module.startswith(name):
                importlib.import_module(f"{_PACKAGE}.{module}")
    if name not in _KINDS:
        for point in entry_points(group=GROUP, name=name):
            _load(point)
    return _KINDS.get(name)


def _modules() -> list[str]:
    package = importlib.import_module(_PACKAGE)
    return [module.name for module in pkgutil.iter_modules(package.__path__)]


def _load(point: EntryPoint) -> None:
    """Load another package's judge: a module that registers itself, or a function that opens a judge."""
    if point.name in _KINDS:
        return
    try:
        loaded = point.load()
    except Exception as error:
        raise LmmscoreError(
            f"the judge {point.name} of {point.value} cannot be loaded ({error!r}); update or "
            "uninstall the package that brings it"
        ) from error
    if point.name not in _KINDS and callable(loaded):
        register(point.name, form=f"{point.name}/…")(loaded)


def _advice(spec: str, name: str, named: list[str]) -> str:
    if name in _ELSEWHERE and spec != name:
        return (
            f"; there is none of that kind, but a server that speaks OpenAI's API: write "
            f"{_ELSEWHERE[name]} (docs/judges.md has the recipe)"
        )
    for module in _modules():
        importlib.import_module(f"{_PACKAGE}.{module}")
    others = [point.name for point in entry_points(group=GROUP)]
    hint = nearest(name, [*_KINDS, *others]) or nearest(spec, named)
    forms = [kind.form for kind in _KINDS.values()]
    forms += [f"{other}/…" for other in others if other not in _KINDS]
    return f"{hint}; a judge is {', '.join(forms)}, or a name from judges.yaml"
