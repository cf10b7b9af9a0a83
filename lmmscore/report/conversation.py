"""Conversations as they were played, put together again from a run's sessions and its ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmmscore.dialog import Dialog, Turn
from lmmscore.ledger import Entry, Ledger
from lmmscore.parsing import Reading, merged
from lmmscore.records import Item, Reply
from lmmscore.run_folder import Run
from lmmscore.scales import show
from lmmscore.session import Session, read_scores_of, read_winner_of, slots_for
from lmmscore.templates import fill, slots_of

Place = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the judge's words; `read` says what it was read as, if anything."""

    text: str
    read: str = ""
    counts: bool = True
    """False where a later reply replaced what was read here."""


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """One turn: what was asked and shown, and what the judge said."""

    name: str
    position: int | None
    repair: int
    key: str
    """What the ledger knows it by."""
    images: tuple[tuple[str, Path], ...]
    entry: Entry | None
    """None where the ledger does not have it."""
    pieces: tuple[Piece, ...] = ()
    marks: tuple[str, ...] = ()
    """What is out of the ordinary, in a word or two."""

    @property
    def reply(self) -> Reply:
        """The judge's answer; an empty one where it is not on record."""
        return self.entry.reply if self.entry else Reply("")


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation, with what became of it."""

    item: str
    task: str
    instruction: str
    repeat: int
    dialog: str
    covers: str
    """`item`, or `edit` where each edit has a conversation of its own."""
    order: tuple[str, ...]
    system: str
    turns: tuple[PlayedTurn, ...]
    faults: tuple[str, ...] = ()
    failure: str = ""
    stated: Mapping[int, str] = field(default_factory=dict)
    slips: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """By position: what the sub-scores give, and what the judge said instead."""
    images: Mapping[str, Path] = field(default_factory=dict)
    """The item's own pictures, by kind."""

    @property
    def method(self) -> str:
        """The method, where the conversation is about one edit alone."""
        return self.order[0] if self.covers == "edit" and self.order else ""

    def method_at(self, position: int | None) -> str:
        """Return the method whose edit was shown at a position; nothing for no position."""
        return self.order[position - 1] if position and position <= len(self.order) else ""


class Talks:
    """The conversations of a run."""

    def __init__(self, run: Run, ledger: Ledger | None, images: Path | None = None) -> None:
        self._run = run
        self._ledger = ledger
        self._root = images or Path(run.settings.get("images_root") or ".")
        known = (Dialog.model_validate(dialog) for dialog in run.settings.get("dialogs") or ())
        self._dialogs = {dialog.name: dialog for dialog in known}

    def talk(self, line: Mapping[str, Any]) -> Talk:
        """Return the conversation of one line of sessions.jsonl."""
        dialog = self._dialogs.get(line["dialog"])
        turns = [self._turn(exchange) for exchange in line["exchanges"]]
        return Talk(
            item=line["item"],
            task=line["task"],
            instruction=line["instruction"],
            repeat=line["repeat"],
            dialog=line["dialog"],
            covers=dialog.covers if dialog else "item",
            order=tuple(line["order"]),
            system=_system(dialog, line, self._run.settings.get("settings") or {})
            if dialog
            else "",
            turns=tuple(_read(turns, dialog, len(line["order"]))),
            faults=tuple(line.get("faults") or ()),
            failure=line.get("failure") or "",
            stated={int(position): value for position, value in (line.get("stated") or {}).items()},
            slips={position: (exact, said) for position, exact, said in line.get("slips") or ()},
            images={kind: self._root / path for kind, path in (line.get("images") or {}).items()},
        )

    def _turn(self, exchange: Mapping[str, Any]) -> PlayedTurn:
        return PlayedTurn(
            name=exchange["turn"],
            position=exchange["position"],
            repair=exchange["repair"],
            key=exchange["key"],
            images=tuple((kind, self._root / path) for kind, path in exchange["images"]),
            entry=self._ledger.entry(exchange["key"]) if self._ledger else None,
        )


def _system(dialog: Dialog, line: Mapping[str, Any], chosen: Mapping[str, str]) -> str:
    """Return the system message as it was said."""
    if not dialog.system:
        return ""
    item = Item(line["item"], line["task"], line["instruction"], {}, {})
    settings = {name: choice for name, choice in chosen.items() if name in dialog.settings}
    slots = slots_for(Session(dialog, item, line["repeat"], tuple(line["order"]), settings))
    # Further columns of the items file are not on record: their slots are shown as slots.
    unknown = {name: "{{" + name + "}}" for name in slots_of(dialog.system) if name not in slots}
    return fill(dialog.system, slots | unknown, f"dialog {dialog.name}, system")


def _read(turns: list[PlayedTurn], dialog: Dialog | None, n: int) -> Iterator[PlayedTurn]:
    """Yield the turns with the judge's words cut into pieces, those that were read as scores apart."""
    by_name = {turn.name: turn for turn in dialog.turns} if dialog else {}
    readings = [_reading(turn, by_name.get(turn.name), dialog, n) for turn in turns]
    last: dict[Place, int] = {}
    final = Reading()
    for number, reading in enumerate(readings):
        if reading is not None and dialog is not None:
            final = merged(final, reading, dialog.factors, n)
            last |= dict.fromkeys(reading.scores, number)
    for number, (turn, reading) in enumerate(zip(turns, readings, strict=True)):
        counting = {place for place, at in last.items() if at == number and place in final.scores}
        pieces = _pieces(turn.reply.text, reading, counting, n)
        said = by_name.get(turn.name)
        if said is not None and said.read == "winner":
            pieces = _winner_pieces(turn.reply, said)
        yield PlayedTurn(
            *(turn.name, turn.position, turn.repair, turn.key, turn.images, turn.entry),
            pieces=tuple(pieces),
            marks=tuple(_marks(turn, reading)),
        )


def _reading(turn: PlayedTurn, said: Turn | None, dialog: Dialog | None, n: int) -> Reading | None:
    if said is None or dialog is None or turn.entry is None:
        return None
    if said.read == "scores":
        return read_scores_of(turn.reply, said, dialog.factors_read_by(said), n).reading
    if said.read == "winner":
        fault = read_winner_of(turn.reply, said).fault
        return Reading(faults=(fault,) if fault else ())
    return None


def _pieces(text: str, reading: Reading | None, counting: set[Place], n: int) -> Iterator[Piece]:
    at = 0
    spans = sorted(reading.spans.items(), key=lambda span: span[1]) if reading else []
    for place, (start, end) in spans:
        if reading is None or start < at or place not in reading.scores:
            continue
        if start > at:
            yield Piece(text[at:start])
        image = f"Image {place[0]}, " if n > 1 else ""
        label = f"{image}{place[1]} = {show(reading.scores[place])}"
        yield Piece(text[start:end], label, place in counting)
        at = end
    if at < len(text):
        yield Piece(text[at:])


def _winner_pieces(reply: Reply, said: Turn) -> Iterator[Piece]:
    """Yield the judge's words with its verdict on a pair apart."""
    found = read_winner_of(reply, said)
    start, end = found.span
    if found.fault is not None or start >= end:
        yield Piece(reply.text)
        return
    yield Piece(reply.text[:start])
    label = f"both {found.both}" if found.both else found.winner
    yield Piece(reply.text[start:end], f"winner = {label}")
    yield Piece(reply.text[end:])


def _marks(turn: PlayedTurn, reading: Reading | None) -> Iterator[str]:
    if turn.entry is None:
        yield "not in the ledger"
        return
    if turn.repair:
        yield f"repair {turn.repair}"
    finish = {"length": "cut off", "content_filter": "filtered"}.get(turn.reply.finish)
    if finish:
        yield finish
    refused = turn.reply.refusal or (
        reading and any(fault.kind == "refused" for fault in reading.faults)
    )
    if refused:
        yield "refused"
    if reading and reading.faults and not refused:
        yield "not all could be read"
    if not turn.reply.text.strip() and not turn.reply.refusal:
        yield "empty"
