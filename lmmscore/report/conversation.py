"""A conversation as it was played: what was asked and shown, what the judge said, what was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lmmscore.dialog import Dialog, Turn
from lmmscore.ledger import RecordedExchange
from lmmscore.parsing import Reading, merged
from lmmscore.parsing.extract import READ_WITH_HELP, with_help
from lmmscore.records import Reply
from lmmscore.scales import show
from lmmscore.session import read_scores_of, read_winner_of

Place = tuple[int, str]
"""Where a score belongs: the position of the edit, and the factor."""


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
    entry: RecordedExchange | None
    """None where the ledger does not have it."""
    aside: bool = False
    """Whether it was put to the reader, outside the conversation."""
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
        if position is None or not 1 <= position <= len(self.order):
            return ""
        return self.order[position - 1]


def with_scores_marked(
    turns: list[PlayedTurn], dialog: Dialog | None, n: int
) -> Iterator[PlayedTurn]:
    """Yield the turns with the judge's words cut into pieces, those read as scores apart."""
    by_name = {turn.name: turn for turn in dialog.turns} if dialog else {}
    readings = [_reading(turn, by_name.get(turn.name), dialog, n) for turn in turns]
    helped: dict[int, set[Place]] = {}
    for k, turn in enumerate(turns):
        said = by_name.get(turn.name)
        before = readings[k - 1] if k else None
        if turn.aside and dialog is not None and said is not None and before is not None:
            factors = dialog.factors_read_by(said)
            answer, reply = turn.reply.text, turns[k - 1].reply.text
            after = with_help(before, answer, reply, factors, n)
            helped[k - 1] = set(after.scores) - set(before.scores)
            readings[k - 1] = after

    last: dict[Place, int] = {}
    final = Reading()
    for k, reading in enumerate(readings):
        if reading is not None and dialog is not None:
            final = merged(final, reading, dialog.factors, n)
            last |= dict.fromkeys(reading.scores, k)

    for k, (turn, reading) in enumerate(zip(turns, readings, strict=True)):
        counting = {place for place, at in last.items() if at == k and place in final.scores}
        said = by_name.get(turn.name)
        if said is not None and said.read == "winner":
            pieces = _winner_pieces(turn.reply, said)
        else:
            pieces = _pieces(turn.reply.text, reading, counting, n, helped.get(k, set()))
        yield replace(
            turn,
            pieces=tuple(pieces),
            marks=tuple(_marks(turn, reading)),
        )


def _reading(turn: PlayedTurn, said: Turn | None, dialog: Dialog | None, n: int) -> Reading | None:
    if said is None or dialog is None or turn.entry is None or turn.aside:
        return None

    if said.read == "scores":
        return read_scores_of(turn.reply, said, dialog.factors_read_by(said), n).reading

    if said.read == "winner":
        fault = read_winner_of(turn.reply, said).fault
        return Reading(faults=(fault,) if fault else ())

    return None


def _pieces(
    text: str, reading: Reading | None, counting: set[Place], n: int, helped: set[Place]
) -> Iterator[Piece]:
    spans = sorted(reading.spans.items(), key=lambda found: found[1]) if reading else []
    at = 0
    for place, (start, end) in spans:
        if reading is None or start < at or place not in reading.scores:
            continue
        if start > at:
            yield Piece(text[at:start])
        image = f"Image {place[0]}, " if n > 1 else ""
        label = f"{image}{place[1]} = {show(reading.scores[place])}"
        if place in helped:
            label += f" ({READ_WITH_HELP})"
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
    if turn.aside:
        yield "put to the reader"
    elif turn.repair:
        yield f"repair {turn.repair}"
    finish = {"length": "cut off", "content_filter": "filtered"}.get(turn.reply.finish)
    if finish:
        yield finish

    faults = reading.faults if reading else ()
    refused = turn.reply.refusal or any(fault.kind == "refused" for fault in faults)
    if refused:
        yield "refused"
    elif faults:
        yield "not all could be read"
    if not turn.reply.text.strip() and not turn.reply.refusal:
        yield "empty"
