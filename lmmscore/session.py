"""One dialog about one item, as a value: what to say next, and what was read from the replies so
far.

A session does no input or output. Whoever has replies drives it:

    while isinstance(step := session.next(), Question):
        session = session.hear(reply_to(step))

The asyncio executor asks a judge, `plan` and `dialogs show` only look at the outline, and replaying
takes the replies from a ledger. None of them knows how a dialog is led or how scores are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from lmmscore.conversation import (
    PAIR_KINDS,
    SHOW,
    Turn,
    cardinal,
    fill,
    is_file,
    position_slots,
    reply_schema,
    scores_schema,
    split_at,
    task_title,
)
from lmmscore.dialog import Dialog
from lmmscore.errors import DialogError, alternatives
from lmmscore.parsing import Cell, Fault, FaultKind, Reading, merged, read_overall
from lmmscore.parsing.extract import can_be_helped, reader_question, with_help
from lmmscore.parsing.json import length_notes
from lmmscore.parsing.read import FormReading, expected_scores, read_form
from lmmscore.parsing.winner import WinnerReading, read_winner
from lmmscore.records import Item, Outcome, Reply
from lmmscore.scales import Factor

SHORT_REPLY = 80
"""Replies up to this many characters are likely to recur verbatim, so their reading is cached."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture that goes with a question: its kind and its file."""

    kind: str
    path: Path


@dataclass(frozen=True, slots=True)
class Shot:
    """An example in the conversation: a question that was never asked, and its answer."""

    text: str
    images: tuple[Shown, ...]
    places: tuple[int, ...]
    heard: str


@dataclass(frozen=True, slots=True)
class Question:
    """What the judge is told and shown next."""

    turn: str
    position: int | None
    """Which edit the turn is about, where it is about one."""
    text: str
    images: tuple[Shown, ...] = ()
    schema: str = ""
    """The JSON schema, as text, that the reply is held to where the judge can be held to one."""
    repair: int = 0
    """0, or which repair turn this is."""
    system: str = ""
    """The dialog's system message, on the question that opens a conversation."""
    places: tuple[int, ...] = ()
    """The character of the text before which each image stands; empty where all precede it."""
    fresh: bool = False
    """Whether it begins a new conversation, without anything said before."""
    shots: tuple[Shot, ...] = ()
    """Examples put into the conversation right before it."""
    aside: bool = False
    """Whether it goes to the reader, outside the conversation."""
    formerly: str = ""
    """The text as earlier versions said it, where that differs: its answer may be on record."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a conversation could not be finished."""

    outcome: Outcome
    reason: str
    cause: str = ""
    """The kind of error behind it, by which repeated failures are recognised; empty without one."""


@dataclass(frozen=True, slots=True)
class Done:
    """There is nothing left to say: what was read from the conversation."""

    reading: Reading = field(default_factory=Reading)
    stated: Mapping[int, Fraction] = field(default_factory=dict)
    """The overall scores that the judge computed itself, by position."""
    notes: tuple[str, ...] = ()
    """Remarks on how it was read: repaired JSON, justifications of the wrong length."""
    failure: Ending | None = None
    """Set when the conversation could not be finished."""
    absent: frozenset[Cell] = frozenset()
    """Images and factors that the judge called not applicable."""
    winner: WinnerReading | None = None
    """Of a pair: which edit is preferred."""
    expected: Mapping[Cell, Fraction] = field(default_factory=dict)
    """By image and factor: the score expected from the probabilities of the words."""
    helped: frozenset[Cell] = frozenset()
    """Images and factors whose score a reader had to find in the reply."""


@dataclass(frozen=True, slots=True)
class _Progress:
    """How far a session is. Only `Session.hear` and `Session.end` make new ones."""

    found: Done = field(default_factory=Done)
    """What was read so far."""
    step: int = 0
    repair: int = 0
    turn_reading: Reading | None = None
    """What the current scoring turn has given so far; None outside of one."""
    unread: str = ""
    """The reply that goes to the reader next; empty where none does."""


@dataclass(frozen=True, slots=True)
class Session:
    """One dialog × item × order × repeat, and what was heard of it so far.

    Immutable; `hear` returns the next.
    """

    dialog: Dialog
    item: Item
    repeat: int
    order: tuple[str, ...]
    """The methods in the order their edits are shown: all, one, or the two of a pair."""
    settings: Mapping[str, str] = field(default_factory=dict)
    structured: bool = False
    """Whether the judge is held to the JSON schema of its replies."""
    reader: bool = False
    """Whether a reply that cannot be read goes to a reader before the judge is asked again."""
    structured_turns: str = ""
    """`scores`: the judge is held to a JSON schema where it scores, and nowhere else."""
    _progress: _Progress = field(default_factory=_Progress, repr=False)
    _known_steps: list[Step] | None = field(default=None, repr=False, compare=False)
    """The turns as they are played for this item, computed at the first question."""

    def next(self) -> Question | Done:
        """Return what to say next, or what was read once there is nothing left to say."""
        now = self._progress
        step = self._step()
        if step is None:
            return replace(now.found, notes=now.found.reading.notes + now.found.notes)

        if now.unread:
            return self._aside(step)
        if now.repair:
            return self._repair_question(step)
        return self._question(step)

    def hear(self, reply: Reply) -> Session:
        """Return the session after the reply to `next()`."""
        step = self._step()
        if step is None:
            raise ValueError("nothing was asked: the session is over")

        if self._progress.unread:
            return self._hear_reader(step, reply)

        turn = step.turn
        if reply.finish == "content_filter":
            reason = f"turn {turn.name}: the provider's content filter withheld the answer"
            return self.end(Outcome.FILTERED, reason)

        if turn.read == "scores":
            return self._hear_scores(step, reply)
        if turn.read == "winner":
            return self._hear_winner(step, reply)
        if not spoken(reply).strip():
            # An empty message cannot be sent back as something the judge said.
            return self.end(Outcome.UNREADABLE, f"turn {turn.name}: the answer is empty")

        if turn.read == "overall":
            symbol = self.dialog.overall_symbol
            stated = read_overall(reply.text, len(self.order), symbol)
            return self._after(step, stated=stated)

        return self._after(step)

    def end(self, outcome: Outcome, reason: str, cause: str = "") -> Session:
        """Return the session ended early, because its driver could get no answer."""
        return self._found(failure=Ending(outcome, reason, cause))

    def unhelped(self) -> Session:
        """Return the session after the reader was to be asked and there was none."""
        step = self._step()
        assert step is not None and self._progress.turn_reading is not None, (
            "no question is for the reader"
        )
        return self._after_reading(step, self._progress.unread, self._progress.turn_reading)

    @property
    def steps_over(self) -> int:
        """How many turns are over."""
        return self._progress.step

    def outline(self) -> tuple[Question, ...]:
        """Return every question as asked when all replies can be read: no repair, no early end."""
        return tuple(self._question(step) for step in self._steps())

    def _steps(self) -> list[Step]:
        if self._known_steps is None:
            known = steps_of(self.dialog, len(self.order), self.item)
            object.__setattr__(self, "_known_steps", known)
            return known
        return self._known_steps

    def _step(self) -> Step | None:
        """Return the step whose question or repair comes next; None when the session is over."""
        now = self._progress
        if now.found.failure is not None:
            return None

        for step in self._steps()[now.step :]:
            # The judge's own sums are of no use when there is nothing to compare them with.
            if step.turn.read != "overall" or now.found.reading.complete:
                return step

        return None

    def _after(self, step: Step, **found: Any) -> Session:
        """Return the session after a step, with what the step gave."""
        return self._with(_Progress(replace(self._progress.found, **found), step.number + 1))

    def _found(self, **changes: Any) -> Session:
        """Return the session with changes to what was read so far."""
        return self._within(found=replace(self._progress.found, **changes))

    def _within(self, **changes: Any) -> Session:
        """Return the session further along in the same step."""
        return self._with(replace(self._progress, **changes))

    def _with(self, progress: _Progress) -> Session:
        # Not dataclasses.replace, which takes three times as long, several times a turn.
        return Session(
            self.dialog,
            self.item,
            self.repeat,
            self.order,
            self.settings,
            self.structured,
            self.reader,
            self.structured_turns,
            progress,
            self._known_steps,
        )

    def _hear_scores(self, step: Step, reply: Reply) -> Session:
        """Read the scores; where some are missing and a repair is left, ask for them next."""
        now = self._progress
        n = len(self.order)
        factors = self.dialog.factors_read_by(step.turn)
        # Each reply is read by itself, then merged: a complete repair replaces what came before it,
        # any other only adds what was missing.
        form = read_scores_of(reply, step.turn, factors, n)
        reading = form.reading
        scored = set(reading.scores)
        absent = (now.found.absent | form.absent) - scored
        # What a repair scores again is no longer expected from the words before it.
        kept = {cell: mean for cell, mean in now.found.expected.items() if cell not in scored}
        expected = kept | expected_scores(reply, reading, factors)
        if now.turn_reading is not None:
            reading = without(merged(now.turn_reading, reading, factors, n), absent)

        heard = self._found(expected=expected, absent=absent, helped=now.found.helped - scored)
        if self.reader and can_be_helped(reading, reply.text):
            return heard._within(unread=reply.text, turn_reading=reading)
        return heard._after_reading(step, reply.text, reading)

    def _hear_reader(self, step: Step, answer: Reply) -> Session:
        """Accept what the reader quotes correctly from the reply it was given, or what was withheld
        from it where the reader settles all doubts."""
        now = self._progress
        assert now.turn_reading is not None, "only a reply that was read is put to a reader"
        factors = self.dialog.factors_read_by(step.turn)
        reading = with_help(now.turn_reading, answer.text, now.unread, factors, len(self.order))
        before = now.turn_reading.scores
        helped = {cell for cell, score in reading.scores.items() if before.get(cell) != score}
        expected = {at: mean for at, mean in now.found.expected.items() if at not in helped}
        heard = self._found(helped=now.found.helped | helped, expected=expected)
        return heard._after_reading(step, now.unread, reading)

    def _after_reading(self, step: Step, text: str, reading: Reading) -> Session:
        """Return the session once a reply was read: a repair comes next, or the step is over."""
        now = self._progress
        if not reading.complete and now.repair < self.dialog.repair.at_most:
            return self._within(repair=now.repair + 1, turn_reading=reading, unread="")

        factors = self.dialog.factors_read_by(step.turn)
        notes = now.found.notes + length_notes(text, step.turn.form, factors)
        if step.turn.factors is not None:
            # Other turns read the other factors: what they gave stays.
            reading = _joined(now.found.reading, reading, factors)

        return self._after(step, reading=reading, notes=notes)

    def _hear_winner(self, step: Step, reply: Reply) -> Session:
        """Read which edit wins; where the reply does not say and a repair is left, ask again."""
        repair = self._progress.repair
        winner = read_winner_of(reply, step.turn)
        if winner.fault is not None and repair < self.dialog.repair.at_most:
            return self._within(repair=repair + 1, turn_reading=Reading(faults=(winner.fault,)))
        return self._after(step, winner=winner)

    def _question(self, step: Step) -> Question:
        turn = step.turn
        place = step.position or 1
        slots = slots_for(self)
        said = self._said(turn, place, slots)
        system = ""
        if step.opens:
            system = fill(self.dialog.system, slots, f"dialog {self.dialog.name}, system")

        return Question(
            turn.name,
            step.position,
            said.text,
            said.images,
            self._schema(turn, slots),
            system=system,
            places=said.places,
            fresh=step.opens and step.number > 0,
            shots=tuple(self._said(shot, 1, slots) for shot in step.shots),
        )

    def _said(self, turn: Turn, place: int, slots: Mapping[str, str]) -> Shot:
        """Return the words and pictures of a turn, and where in the words each picture stands."""
        where = f"dialog {self.dialog.name}, turn {turn.name}"
        filled = {**slots, **position_slots(place)}
        template = turn.words(place, len(self.order), self.item.task)
        kinds = [fill(kind, filled, where) for kind in turn.show]
        places = [0] * len(kinds)
        text = ""
        for piece, slot in split_at(template, SHOW):
            text += fill(piece, filled, where)
            if slot:
                kinds.append(slot.removeprefix(SHOW))
                places.append(len(text))

        images = tuple(Shown(kind, self.file_of(kind, place)) for kind in kinds)
        heard = fill(turn.heard or "", filled, where)
        return Shot(text, images, tuple(places) if any(places) else (), heard)

    def _repair_question(self, step: Step) -> Question:
        now = self._progress
        slots = slots_for(self)
        faults = now.turn_reading.faults if now.turn_reading else ()
        where = f"dialog {self.dialog.name}, repair"

        def said(words: Callable[[Fault], str]) -> str:
            problems = "\n".join(f"- {self._placed(fault, words(fault))}" for fault in faults)
            return fill(self.dialog.repair.say, slots | {"problems": problems}, where)

        # Until 0.1, the judge was also told what only the user can do, and quoted its refusal.
        text = said(lambda fault: _to_judge(fault, step.turn))
        formerly = said(lambda fault: fault.reason)
        return Question(
            step.turn.name,
            None,
            text,
            schema=self._schema(step.turn, slots),
            repair=now.repair,
            formerly=formerly if formerly != text else "",
        )

    def _aside(self, step: Step) -> Question:
        """Return the question to the reader: the text of the reply alone, without pictures."""
        now = self._progress
        factors = self.dialog.factors_read_by(step.turn)
        assert now.turn_reading is not None, "only a reply that was read is put to a reader"
        text, schema = reader_question(now.turn_reading, now.unread, factors, len(self.order))
        return Question(step.turn.name, None, text, schema=schema, repair=now.repair, aside=True)

    def _placed(self, fault: Fault, words: str) -> str:
        """Return words about a fault after its image and factor, as the dialog calls them."""
        if fault.factor:
            factor = self.dialog.factor(fault.factor)
            words = f"{factor.symbol or factor.key}: {words}"

        if fault.position and len(self.order) > 1:
            words = f"Image {fault.position}, {words}"

        return words

    def file_of(self, kind: str, position: int) -> Path:
        """Return the file of a picture that a turn about this edit shows."""
        if kind == "edit":
            return self.item.edits[self.order[position - 1]]
        if kind in PAIR_KINDS:
            return self.item.edits[self.order[PAIR_KINDS.index(kind)]]
        return self.dialog.file(kind) if is_file(kind) else self.item.images[kind]

    def _schema(self, turn: Turn, slots: Mapping[str, str]) -> str:
        held = self.structured or (self.structured_turns and turn.read == self.structured_turns)
        if held and turn.form is not None:
            return reply_schema(turn.form, self.dialog.factors_read_by(turn), slots)

        # A prose dialog has no form of its own: its scoring turn is held to that of all scores.
        if held and not self.structured:
            return scores_schema(self.dialog.factors_read_by(turn), len(self.order))

        return ""


def _to_judge(fault: Fault, turn: Turn) -> str:
    """Return what is wrong with a reply, as its judge is told."""
    # Its own refusal, put before it as a problem, invites the judge to refuse again; what is
    # missing is what the repair is about.
    if fault.kind == FaultKind.REFUSED:
        return "no verdict was given" if turn.read == "winner" else "no scores were given"

    return fault.says


@dataclass(frozen=True, slots=True)
class Step:
    """A turn at its place in the conversation."""

    number: int
    turn: Turn
    position: int | None
    """Which edit it is about, where it is about one."""
    opens: bool = False
    """Whether a conversation begins with it, or with the examples before it."""
    shots: tuple[Turn, ...] = ()
    """The examples put into the conversation right before it."""


def steps_of(dialog: Dialog, n: int, item: Item) -> list[Step]:
    """Return the turns as they are played about n edits of an item.

    Consecutive turns for each edit are all played for one edit before the next is shown.
    """
    placed: list[tuple[Turn, int | None]] = []
    for each, group in groupby(dialog.turns_for(item), key=lambda turn: turn.each):
        turns = list(group)
        if each == "edit":
            placed += [(turn, position) for position in range(1, n + 1) for turn in turns]
        else:
            position = 1 if dialog.covers == "edit" else None
            placed += [(turn, position) for turn in turns]

    steps: list[Step] = []
    shots: list[Turn] = []
    opens = True
    for turn, position in placed:
        if turn.fresh:
            shots, opens = [], True

        if turn.is_shot:
            shots.append(turn)
            continue

        steps.append(Step(len(steps), turn, position, opens, tuple(shots)))
        shots, opens = [], False

    return steps


def read_scores_of(reply: Reply, turn: Turn, factors: Sequence[Factor], n: int) -> FormReading:
    """Return the scores that a reply to a turn gives n images, in the form the turn asks for."""
    layout = turn.form.list if turn.form else ""
    if len(reply.text) > SHORT_REPLY:
        return read_form(reply, factors, n, layout)
    return _read_short(reply.text, reply.finish, reply.refusal, tuple(factors), n, layout)


@lru_cache(maxsize=1024)
def _read_short(
    text: str, finish: str, refusal: str, factors: tuple[Factor, ...], n: int, layout: str
) -> FormReading:
    """Return what a short reply gives. Where only a number is asked for, the same few recur,
    and reading one takes as long as sending its question."""
    return read_form(Reply(text, finish, refusal), factors, n, layout)


def read_winner_of(reply: Reply, turn: Turn) -> WinnerReading:
    """Return which edit of a pair a reply to a turn prefers."""
    form = turn.form
    return read_winner(reply, form.winners, form.key) if form else read_winner(reply)


def read_answer(dialog: Dialog, reply: Reply, n: int, name: str = "") -> Reading | WinnerReading:
    """Return what a single reply says: scores of n images, or the winner of a pair."""
    if dialog.format == 1 and not name:
        return read_form(reply, dialog.factors, n).reading

    turn = turn_read(dialog, name)
    if turn.read == "winner":
        return read_winner_of(reply, turn)

    images = {"edit": 1, "pair": 2}.get(dialog.covers, n)
    return read_scores_of(reply, turn, dialog.factors_read_by(turn), images).reading


def turn_read(dialog: Dialog, name: str = "") -> Turn:
    """Return the named turn, or the only one whose reply is read."""
    reading = [turn for turn in dialog.turns if turn.read in ("scores", "winner")]
    chosen = [turn for turn in reading if name in ("", turn.name)]
    if len(chosen) == 1:
        return chosen[0]

    names = [turn.name for turn in reading]
    if name:
        there_are = alternatives(name, names, "there are")
        raise DialogError(f"dialog {dialog.name}: no turn {name!r} is read{there_are}")
    raise DialogError(f"dialog {dialog.name} reads several turns; name one of {', '.join(names)}")


def without(reading: Reading, absent: frozenset[Cell]) -> Reading:
    """Return the reading without faults about what does not apply."""
    faults = tuple(
        fault for fault in reading.faults if (fault.position, fault.factor) not in absent
    )
    return replace(reading, faults=faults)


def _joined(earlier: Reading, later: Reading, factors: Sequence[Factor]) -> Reading:
    """Return the reading of an earlier turn, extended by a later one about other factors."""
    faults = list(earlier.faults)
    for fault in later.faults:
        keys = [fault.factor] if fault.factor else [factor.key for factor in factors]
        faults += [replace(fault, factor=key) for key in keys]

    return Reading(
        earlier.scores | later.scores,
        later.spans,
        tuple(faults),
        later.layout or earlier.layout,
        tuple(dict.fromkeys(earlier.notes + later.notes)),
    )


def spoken(reply: Reply) -> str:
    """Return the judge's words as the conversation repeats them."""
    return reply.text or reply.refusal


def slots_for(session: Session) -> dict[str, str]:
    """Return the values a dialog's texts may refer to. None of them names a method."""
    item, n = session.item, len(session.order)
    words = item.task.replace("_", " ").replace("-", " ")
    return {
        "n": str(n),
        "n_word": cardinal(n),
        "task": task_title(item.task),
        "task_lower": words.lower(),
        "task_id": item.task,
        "instruction": item.instruction.strip(),
        "item": item.id,
        **{f"field.{name}": value for name, value in item.fields.items()},
        **session.dialog.setting_values(session.settings),
    }


def script(
    dialog: Dialog,
    n: int,
    task: str,
    instruction: str,
    settings: Mapping[str, str],
    fields: Mapping[str, str] | None = None,
) -> list[dict[str, str | list[str]]]:
    """Return the turns as they would be played about n imaginary edits."""
    own = (kind for kind in dialog.images_shown(settings) if not is_file(kind))
    images = {kind: Path(kind) for kind in own if kind not in ("edit", *PAIR_KINDS)}
    item = Item("example", task, instruction, images, {"": Path("edit")}, fields or {})
    edits = {"edit": 1, "pair": 2}.get(dialog.covers, n)
    session = Session(dialog, item, 1, ("",) * edits, settings)
    lines: list[dict[str, str | list[str]]] = []
    for step, question in zip(steps_of(dialog, edits, item), session.outline(), strict=True):
        for turn, shot in zip(step.shots, question.shots, strict=True):
            lines.append({**_line(turn.name, shot, ""), "heard": shot.heard})

        lines.append(_line(question.turn, question, _reads(dialog, step.turn)))
        if question.fresh:
            lines[-1]["fresh"] = "yes"

    return lines


def _line(turn: str, said: Question | Shot, reads: str) -> dict[str, str | list[str]]:
    shows = [shown.kind for shown in said.images]
    return {"turn": turn, "shows": shows, "say": with_pictures(said), "reads": reads}


def with_pictures(said: Question | Shot) -> str:
    """Return the words, with the kind of each picture that stands between them in brackets."""
    text = said.text
    placed = zip(said.images, said.places, strict=False)
    for shown, place in reversed([*placed]):
        if place:
            text = f"{text[:place]}[{shown.kind} image]{text[place:]}"
    return text


def _reads(dialog: Dialog, turn: Turn) -> str:
    if turn.read == "scores":
        return ", ".join(factor.key for factor in dialog.factors_read_by(turn))
    return turn.read or ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question as it was put, and the reply."""

    question: Question
    reply: Reply
    recalled: bool
    """Whether the reply came from the ledger."""
    key: str
    """Its key in the ledger."""


@dataclass(frozen=True, slots=True)
class Played:
    """A session after it was played: the conversation, and what was read from it."""

    session: Session
    exchanges: tuple[Exchange, ...]
    done: Done

    @property
    def reading(self) -> Reading:
        """The scores read, and what could not be read."""
        return self.done.reading

    @property
    def repairs(self) -> int:
        """How many repair turns it took."""
        asked = [exchange.question for exchange in self.exchanges if exchange.question.repair]
        return sum(1 for question in asked if not question.aside)
