"""The conversations' data, in bundles that the page unpacks when one of them is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmmscore.records import OVERALL
from lmmscore.report.conversation import PlayedTurn, Talk
from lmmscore.report.page.album import Album
from lmmscore.report.page.judged import Judged
from lmmscore.report.page.names import talk_id, turn_id

BUNDLE = 20
"""So many conversations lie together."""


class Words:
    """Texts that many conversations share, each kept once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Return the number of a text."""
        return self.texts.setdefault(text, len(self.texts))


def talk_ids(judged: Judged, prefix: str) -> list[str]:
    """Return the names of all conversations of a run."""
    several = len({talk.dialog for talk in judged.talks}) > 1
    return [talk_id(talk, prefix, several) for talk in judged.talks]


def dialogue(
    judged: Judged, ids: Sequence[str], album: Album, words: Words
) -> list[dict[str, Any]]:
    """Return every conversation as plain data."""
    return [
        _talk(judged, talk, name, album, words)
        for talk, name in zip(judged.talks, ids, strict=True)
    ]


def label(talk: dict[str, Any], several_dialogs: bool, methods: Sequence[str]) -> str:
    """Return what a conversation is called among those about the same item."""
    method = methods[talk["order"][0]] if talk["about"] == "edit" and talk["order"] else ""
    parts = [f"repeat {talk['repeat']}", talk["dialog"] if several_dialogs else "", method]
    return ", ".join(part for part in parts if part)


def _talk(judged: Judged, talk: Talk, name: str, album: Album, words: Words) -> dict[str, Any]:
    factors = [factor for factor in judged.factors if factor != OVERALL]
    return {
        "id": name,
        "item": talk.item,
        "task": talk.task,
        "instruction": talk.instruction,
        "repeat": talk.repeat,
        "dialog": talk.dialog,
        "about": talk.covers,
        "order": [
            judged.methods.index(method) for method in talk.order if method in judged.methods
        ],
        "system": talk.system,
        "turns": [_turn(name, turn, album, words) for turn in talk.turns],
        "read": [
            _read(judged, talk, position, factors) for position in range(1, len(talk.order) + 1)
        ],
        "faults": list(talk.faults),
        "failure": talk.failure,
    }


def _read(judged: Judged, talk: Talk, position: int, factors: Sequence[str]) -> dict[str, Any]:
    """Return what was read for one edit in this conversation."""
    numbers = judged.by_repeat.get((talk.item, talk.method_at(position), talk.repeat), {})
    line: dict[str, Any] = {
        "scores": [numbers.get(factor) for factor in factors],
        "overall": numbers.get(OVERALL),
        "stated": talk.stated.get(position),
    }
    if position in talk.slips:
        line["slip"] = True
    return line


def _turn(talk: str, turn: PlayedTurn, album: Album, words: Words) -> dict[str, Any]:
    data: dict[str, Any] = {
        "id": turn_id(talk, turn),
        "name": turn.name,
        "position": turn.position,
        "pictures": [[kind, album.add(path)] for kind, path in turn.images],
        "question": words.add(turn.entry.question if turn.entry else ""),
        "reply": [_piece(piece.text, piece.read, piece.counts) for piece in turn.pieces],
        "marks": list(turn.marks),
    }
    reply = turn.reply
    optional = {"refusal": reply.refusal, "reasoning": reply.reasoning, "facts": _facts(turn)}
    return data | {key: value for key, value in optional.items() if value}


def _piece(text: str, read: str, counts: bool) -> str | list[Any]:
    if not read:
        return text
    return [text, read] if counts else [text, read, 0]


def _facts(turn: PlayedTurn) -> str:
    """Return who answered, when, and at what cost, in one line."""
    if turn.entry is None:
        return ""
    reply, usage = turn.reply, turn.reply.usage
    parts = [reply.model, turn.entry.recorded_at.replace("T", " ").removesuffix("+00:00") + " UTC"]
    if usage.prompt_tokens is not None or usage.completion_tokens is not None:
        parts.append(
            f"{usage.prompt_tokens or 0:,} tokens in, {usage.completion_tokens or 0:,} out"
        )
    if reply.cost_usd is not None:
        parts.append(f"${reply.cost_usd:.4f}")
    return " · ".join(part for part in parts if part)


def bundles(talks: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the conversations in bundles."""
    return [list(talks[start : start + BUNDLE]) for start in range(0, len(talks), BUNDLE)]
