"""Try out a judge with one small conversation whose answers can be verified."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from lmmscore.conversation import Conversation
from lmmscore.errors import JudgeError
from lmmscore.images import Picture, Pictures, Recipe, plain_picture
from lmmscore.judges.base import Judge
from lmmscore.judges.options import OpenAIOptions
from lmmscore.records import Reply

COLOURS = {
    "red": (220, 20, 20),
    "green": (20, 160, 40),
    "blue": (20, 40, 220),
    "yellow": (245, 225, 30),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
}
WORDS = ("walnut", "harbour", "lantern", "meadow", "copper", "violin", "glacier", "saddle")
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"score": {"type": "integer"}},
        "required": ["score"],
        "additionalProperties": False,
    }
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `works` is None when it could not be told."""

    what: str
    works: bool | None
    detail: str
    needed: bool = False
    """Whether a judge without this is of no use."""


T = TypeVar("T")
Make = Callable[[OpenAIOptions], Judge]


async def check_up(make: Make, options: OpenAIOptions, rng: random.Random) -> list[Finding]:
    """Ask a judge four short questions and return what was found. Raises JudgeError when the first has no answer."""
    with tempfile.TemporaryDirectory() as folder:
        names = rng.sample(list(COLOURS), 2)
        shown = tuple(_draw(Path(folder), number, name) for number, name in enumerate(names))
        findings = await _with(make(options), lambda judge: _converse(judge, shown, names, rng))
        strict = make(replace(options, api="chat", structured=True))
        findings.append(await _with(strict, _structured))
        # Responses takes no seed, and what is tried out here is the way, not the parameters.
        other = make(replace(options, api="responses", seed=None))
        findings.append(await _with(other, lambda judge: _responses(judge, shown)))
    return findings


async def _with(judge: Judge, work: Callable[[Judge], Awaitable[T]]) -> T:
    try:
        return await work(judge)
    finally:
        await judge.close()


def _draw(folder: Path, number: int, colour: str) -> Picture:
    path = folder / f"{number}.png"
    plain_picture(path, COLOURS[colour], side_px=96)
    return Pictures(Recipe()).get(path)


async def _converse(
    judge: Judge, shown: tuple[Picture, ...], names: list[str], rng: random.Random
) -> list[Finding]:
    word = rng.choice(WORDS)
    talk = Conversation().say(
        f"Here are two pictures, each of one plain colour. Name the colour of the first and then of the second, in "
        f"two words, and nothing else. Keep the word {word} in mind for later.",
        shown,
    )
    first = await judge.ask(talk)
    talk = talk.hear(first.text).say(
        "Which word were you asked to keep in mind? Answer with that word alone."
    )
    second = await judge.ask(talk)
    return [
        Finding("answers", bool(first.text), f"finish {first.finish}", needed=True),
        _colours(first, names),
        Finding(
            "remembers", word in second.text.lower(), f"asked for {word!r}, got {_short(second)}", needed=True
        ),
        _usage(first),
        Finding(
            "model", bool(first.model) or None, first.model or "the server does not say which model answered"
        ),
        Finding("fingerprint", bool(first.fingerprint) or None, first.fingerprint or "none given"),
    ]


def _colours(reply: Reply, names: list[str]) -> Finding:
    text = reply.text.lower()
    seen = all(name in text for name in names) and text.index(names[0]) < text.rindex(names[1])
    return Finding("sees images", seen, f"shown {names[0]} and {names[1]}, said {_short(reply)}", needed=True)


def _usage(reply: Reply) -> Finding:
    usage = reply.usage
    counted = usage.prompt_tokens is not None and usage.completion_tokens is not None
    detail = (
        f"{usage.prompt_tokens} in, {usage.completion_tokens} out" if counted else "no token counts: no price"
    )
    if counted and usage.cached_tokens is not None:
        detail += f", cached tokens reported ({usage.cached_tokens})"
    return Finding("reports usage", counted, detail)


async def _structured(judge: Judge) -> Finding:
    talk = Conversation().say("Give a score of 7, as JSON with the one key score.", schema=SCHEMA)
    try:
        reply = await judge.ask(talk)
    except JudgeError as error:
        return Finding("structured output", False, str(error))
    try:
        followed = isinstance(json.loads(reply.text)["score"], int)
    except (ValueError, KeyError, TypeError):
        followed = False
    return Finding("structured output", followed, f"asked for a schema, got {_short(reply)}")


async def _responses(judge: Judge, shown: tuple[Picture, ...]) -> Finding:
    talk = Conversation().say("Name the colour of this picture in one word.", shown[:1])
    try:
        reply = await judge.ask(talk)
    except JudgeError as error:
        return Finding("Responses API", False, str(error))
    meter = getattr(judge, "meter", None)
    notices = "; ".join(meter.notices) if meter is not None else ""
    works = "no Responses API" not in notices
    return Finding("Responses API", works, notices or f"with files, said {_short(reply)}")


def _short(reply: Reply) -> str:
    text = " ".join((reply.text or reply.refusal).split())
    return repr(text if len(text) <= 60 else text[:57] + "…")
