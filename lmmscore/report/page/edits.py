"""The edits and the conversations as data: what the page's code unpacks when it is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmmscore.records import OVERALL, Item, Outcome
from lmmscore.report.conversation import PlayedTurn, Talk
from lmmscore.report.page.links import item_id, slug, talk_id, turn_id
from lmmscore.report.page.markup import is_plain, markup
from lmmscore.report.page.pictures import PictureSet
from lmmscore.report.page.raters import MeanRatings
from lmmscore.report.run_data import RunData, ScoredEdit

TALKS_IN_BUNDLE = 20
"""So many conversations lie together."""

_FIRST_KINDS = ("source", "reference", "marked")


class SharedTexts:
    """Texts that many conversations share, each kept once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Return the number of a text."""
        return self.texts.setdefault(text, len(self.texts))


class EditData:
    """Turns one run into the items and conversations of the page."""

    def __init__(self, run: RunData, prefix: str, pictures: PictureSet, texts: SharedTexts) -> None:
        self._run = run
        self._prefix = prefix
        self._pictures = pictures
        self._texts = texts
        several = len({talk.dialog for talk in run.talks}) > 1
        self._several_dialogs = several
        self._talk_ids = [talk_id(talk, prefix, several) for talk in run.talks]

    # Items

    def items(self, ratings: MeanRatings) -> list[dict[str, Any]]:
        """Return every item with its pictures, its edits and their scores, in the run's order."""
        by_item: dict[str, list[tuple[str, Talk]]] = {}
        for name, talk in zip(self._talk_ids, self._run.talks, strict=True):
            by_item.setdefault(talk.item, []).append((name, talk))
        return [
            self._item(item, task, by_item.get(item, []), ratings) for item, task in self._run.items
        ]

    def _item(
        self, item: str, task: str, talks: list[tuple[str, Talk]], ratings: MeanRatings
    ) -> dict[str, Any]:
        run = self._run
        seen = _seen(talks)
        # The benchmark is only looked into for what no conversation shows: it may have moved.
        complete = bool(talks) and len(seen) == len(run.methods)
        known = None if complete else run.benchmark_items.get(item)
        images = talks[0][1].images if talks else known.images if known else {}
        kinds = sorted(images, key=_kind_order)
        return {
            "id": item,
            "slug": item_id(item, self._prefix),
            "task": task,
            "instruction": _instruction(talks, known),
            "pictures": [[kind, self._pictures.add(images[kind])] for kind in kinds],
            "edits": [
                self._edit(item, number, method, seen.get(method, []), known, ratings)
                for number, method in enumerate(run.methods)
                if (item, method) in run.edits
            ],
            "talks": [name for name, _ in talks],
        }

    def _edit(
        self,
        item: str,
        number: int,
        method: str,
        seen: list[tuple[Path, list[Any]]],
        known: Item | None,
        ratings: MeanRatings,
    ) -> dict[str, Any]:
        path = seen[0][0] if seen else known.edits.get(method) if known else None
        edit = self._run.edits[item, method]
        data: dict[str, Any] = {
            "method": number,
            "picture": None if path is None else self._pictures.add(path),
            "seen": [place for _, place in seen],
            "scores": [_short(edit.mean(factor)) for factor in self._run.factors],
        }
        data |= _outcome(edit)
        spreads = [_short(edit.spread(factor)) for factor in self._run.factors]
        if any(value is not None for value in spreads):
            data["spread"] = spreads
        rated = [self._rating(ratings, item, method, factor) for factor in self._run.factors]
        if any(value is not None for value in rated):
            data["people"] = rated
        return data

    def _rating(self, ratings: MeanRatings, item: str, method: str, factor: str) -> float | None:
        own = ratings.get((item, method, factor))
        # Ratings of a single method may name none.
        return _short(ratings.get((item, "", factor)) if own is None else own)

    # Conversations

    def talks(self) -> list[dict[str, Any]]:
        """Return every conversation as plain data."""
        pairs = zip(self._talk_ids, self._run.talks, strict=True)
        return [self._talk(name, talk) for name, talk in pairs]

    def _talk(self, name: str, talk: Talk) -> dict[str, Any]:
        run = self._run
        methods = {method: number for number, method in enumerate(run.methods)}
        return {
            "id": name,
            "label": self._label(talk),
            "item": talk.item,
            "instruction": talk.instruction,
            "repeat": talk.repeat,
            "about": talk.covers,
            "order": [methods[method] for method in talk.order if method in methods],
            "system": talk.system,
            "turns": [self._turn(name, turn) for turn in talk.turns],
            "read": [self._read(talk, place) for place in range(1, len(talk.order) + 1)],
            "faults": list(talk.faults),
            "failure": talk.failure,
        }

    def _label(self, talk: Talk) -> str:
        dialog = talk.dialog if self._several_dialogs else ""
        method = self._run.names.method(talk.method) if talk.method else ""
        return ", ".join(part for part in (f"repeat {talk.repeat}", dialog, method) if part)

    def _read(self, talk: Talk, position: int) -> dict[str, Any]:
        """Return what was read for one edit in this conversation."""
        key = (talk.item, talk.method_at(position), talk.repeat)
        numbers = self._run.by_repeat.get(key, {})
        factors = [factor for factor in self._run.factors if factor != OVERALL]
        line: dict[str, Any] = {
            "scores": [numbers.get(factor) for factor in factors],
            "overall": numbers.get(OVERALL),
            "stated": talk.stated.get(position),
        }
        if position in talk.slips:
            line["error"] = True
        return line

    def _turn(self, talk: str, turn: PlayedTurn) -> dict[str, Any]:
        nodes = markup(turn.pieces)
        data: dict[str, Any] = {
            "id": turn_id(talk, turn),
            "name": turn.name,
            "position": turn.position,
            "pictures": [[kind, self._pictures.add(path)] for kind, path in turn.images],
            "question": self._texts.add(turn.entry.question if turn.entry else ""),
            "reply": nodes,
            "marks": list(turn.marks),
        }
        optional = {
            "raw": "" if is_plain(nodes) else turn.reply.text,
            "scored": any(piece.read for piece in turn.pieces),
            "refusal": turn.reply.refusal,
            "reasoning": turn.reply.reasoning,
            "facts": _facts(turn),
        }
        return data | {key: value for key, value in optional.items() if value}


def _kind_order(kind: str) -> tuple[int, str]:
    known = _FIRST_KINDS.index(kind) if kind in _FIRST_KINDS else len(_FIRST_KINDS)
    return known, kind


def _instruction(talks: Sequence[tuple[str, Talk]], known: Item | None) -> str:
    if talks:
        return talks[0][1].instruction
    return known.instruction if known else ""


def _seen(talks: Sequence[tuple[str, Talk]]) -> dict[str, list[tuple[Path, list[Any]]]]:
    """Return, by method, every showing of its edit: the file, and repeat, position and turn."""
    found: dict[str, list[tuple[Path, list[Any]]]] = {}
    for name, talk in talks:
        for turn in talk.turns:
            position = turn.position or 1
            for path in (path for kind, path in turn.images if kind == "edit"):
                place = [talk.repeat, position, turn_id(name, turn)]
                found.setdefault(talk.method_at(position), []).append((path, place))
    return found


def _outcome(edit: ScoredEdit) -> dict[str, str]:
    if edit.outcome == Outcome.SCORED:
        return {"outcome": str(edit.outcome)}
    return {"outcome": str(edit.outcome), "reason": edit.reason}


def _facts(turn: PlayedTurn) -> str:
    """Return who answered, when, and at what cost, in one line."""
    if turn.entry is None:
        return ""
    reply, usage = turn.reply, turn.reply.usage
    when = turn.entry.recorded_at.replace("T", " ").removesuffix("+00:00")
    parts = [reply.model, f"{when} UTC"]
    if usage.prompt_tokens is not None or usage.completion_tokens is not None:
        sent, received = usage.prompt_tokens or 0, usage.completion_tokens or 0
        parts.append(f"{sent:,} tokens in, {received:,} out")
    if reply.cost_usd is not None:
        parts.append(f"${reply.cost_usd:.4f}")
    return " · ".join(part for part in parts if part)


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def run_facts(run: RunData, *, rated: bool) -> dict[str, Any]:
    """Return what the page's code must know of a run."""
    tasks = dict.fromkeys(task for _, task in run.items)
    return {
        "name": run.name,
        "methods": [run.names.method(name) for name in run.methods],
        "method_ids": run.methods,
        "method_slugs": [slug(name) for name in run.methods],
        "factors": [
            {
                "key": key,
                "slug": slug(key),
                "title": run.title(key),
                "scale": run.scales.get(key),
            }
            for key in run.factors
        ],
        "overall": OVERALL if OVERALL in run.factors else "",
        "tasks": [
            {"key": task, "slug": slug(task), "title": run.names.task(task)} for task in tasks
        ],
        "outcomes": sorted({str(edit.outcome) for edit in run.edits.values()}),
        "about": "edit" if run.apart else "item",
        "people": rated,
        "repeats": run.repeats,
    }


def talk_list(talks: Sequence[Mapping[str, Any]], run: int, first: int) -> list[dict[str, Any]]:
    """Return every conversation by name, with the bundle it lies in; `first` is its number."""
    return [
        {
            "id": talk["id"],
            "item": talk["item"],
            "label": talk["label"],
            "run": run,
            "bundle": (first + k) // TALKS_IN_BUNDLE,
        }
        for k, talk in enumerate(talks)
    ]
