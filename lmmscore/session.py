"""One dialog about one item, as a value: what to say next, and what was read from the replies so far.

A session does no input or output. Whoever has replies drives it:

    while isinstance(step := session.next(), Question):
        session = session.hear(reply_to(step))

The asyncio executor asks a judge, `plan` and `dialogs show` only look at the outline, and replaying takes
the replies from a ledger. None of them knows how a dialog is led or how scores are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

from lmmscore.dialog import Dialog, Turn, position_slots, reply_schema, task_title
from lmmscore.justifications import length_notes
from lmmscore.parsing import Fault, Reading, merged, read_overall, read_reply
from lmmscore.records import Item, Outcome, Reply
from lmmscore.templates import cardinal, fill


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture that goes with a question: its kind and its file."""

    kind: str
    path: Path


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
    """The dialog's system message, on the question that opens the conversation."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a conversation could not be finished."""

    outcome: Outcome
    reason: str
    cause: str = ""
    """The kind of error behind it, by which failures alike are told; empty where there was none."""


@dataclass(frozen=True, slots=True)
class Done:
    """There is nothing left to say: what was read from the conversation."""

    reading: Reading
    stated: Mapping[int, Fraction]
    """The overall scores that the judge worked out itself, by position."""
    notes: tuple[str, ...] = ()
    """What is worth knowing of how it was read: mended JSON, justifications of another length."""
    failure: Ending | None = None
    """Set when the conversation could not be finished."""


@dataclass(frozen=True, slots=True)
class _Progress:
    """How far a session is. Only `Session.hear` and `Session.end` make new ones."""

    step: int = 0
    repair: int = 0
    turn_reading: Reading | None = None
    """What the scoring turn now under way has given so far; None outside of one."""
    reading: Reading = field(default_factory=Reading)
    stated: Mapping[int, Fraction] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failure: Ending | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """One dialog × item × order × repeat, and what was heard of it so far. Immutable; `hear` returns the next."""

    dialog: Dialog
    item: Item
    repeat: int
    order: tuple[str, ...]
    """The methods in the order their edits are shown; just one where the dialog covers one edit."""
    settings: Mapping[str, str] = field(default_factory=dict)
    structured: bool = False
    """Whether the judge is held to the JSON schema of its replies."""
    _progress: _Progress = field(default_factory=_Progress, repr=False)

    def next(self) -> Question | Done:
        """Return what to say next, or what was read once there is nothing left to say."""
        now = self._progress
        step = self._step()
        if step is None:
            return Done(now.reading, now.stated, now.reading.notes + now.notes, now.failure)
        if now.repair:
            return self._repair_question(step)
        return self._question(step)

    def hear(self, reply: Reply) -> Session:
        """Return the session after the reply to `next()`."""
        step = self._step()
        if step is None:
            raise ValueError("nothing was asked: the session is over")
        turn = step.turn

        if reply.finish == "content_filter":
            reason = f"turn {turn.name}: the provider's content filter withheld the answer"
            return self.end(Outcome.FILTERED, reason)
        if turn.read == "scores":
            return self._hear_scores(step, reply)
        if not spoken(reply).strip():
            # An empty message cannot be sent back as something the judge said.
            return self.end(Outcome.UNREADABLE, f"turn {turn.name}: the answer is empty")
        if turn.read == "overall":
            stated = read_overall(reply.text, len(self.order))
            return self._after(step, stated=stated)
        return self._after(step)

    def end(self, outcome: Outcome, reason: str, cause: str = "") -> Session:
        """Return the session ended early, because its driver could get no answer."""
        return self._with(replace(self._progress, failure=Ending(outcome, reason, cause)))

    @property
    def steps_over(self) -> int:
        """How many turns are over."""
        return self._progress.step

    def outline(self) -> tuple[Question, ...]:
        """Return every question as it is put when all replies can be read: no repair, no early end."""
        return tuple(self._question(step) for step in steps_of(self.dialog, len(self.order)))

    def _step(self) -> Step | None:
        """Return the step whose question or repair comes next; None when the session is over."""
        now = self._progress
        if now.failure is not None:
            return None
        steps = steps_of(self.dialog, len(self.order))
        for step in steps[now.step :]:
            # The judge's own sums are of no use when there is nothing to compare them with.
            if step.turn.read != "overall" or now.reading.complete:
                return step
        return None

    def _after(self, step: Step, **changes: Any) -> Session:
        """Return the session once a step is over."""
        over = replace(self._progress, step=step.number + 1, repair=0, turn_reading=None)
        return self._with(replace(over, **changes))

    def _with(self, progress: _Progress) -> Session:
        return replace(self, _progress=progress)

    def _hear_scores(self, step: Step, reply: Reply) -> Session:
        """Read the scores; where some are missing and a repair is left, ask for them next."""
        now = self._progress
        n = len(self.order)
        factors = self.dialog.factors_read_by(step.turn)
        reading = read_reply(reply, factors, n)
        if now.turn_reading is not None:
            reading = merged(now.turn_reading, reading, factors, n)

        if not reading.complete and now.repair < self.dialog.repair.at_most:
            return self._with(replace(now, repair=now.repair + 1, turn_reading=reading))

        notes = now.notes + length_notes(reply.text, step.turn.form, factors)
        if step.turn.factors is not None:
            # Other turns read the other factors: what they gave stays.
            reading = merged(now.reading, reading, self.dialog.factors, n)
        return self._after(step, reading=reading, notes=notes)

    def _question(self, step: Step) -> Question:
        turn = step.turn
        place = step.position or 1
        where = f"dialog {self.dialog.name}, turn {turn.name}"
        slots = slots_for(self)
        filled = slots | position_slots(place)
        kinds = [fill(kind, filled, where) for kind in turn.show]
        return Question(
            turn.name,
            step.position,
            fill(turn.words(place, len(self.order)), filled, where),
            tuple(Shown(kind, self._file(kind, place)) for kind in kinds),
            self._schema(turn, slots),
            system=self._system(slots) if step.number == 0 else "",
        )

    def _repair_question(self, step: Step) -> Question:
        now = self._progress
        slots = slots_for(self)
        faults = now.turn_reading.faults if now.turn_reading else ()
        problems = "\n".join(f"- {self._in_words(fault)}" for fault in faults)
        where = f"dialog {self.dialog.name}, repair"
        text = fill(self.dialog.repair.say, slots | {"problems": problems}, where)
        schema = self._schema(step.turn, slots)
        return Question(step.turn.name, None, text, schema=schema, repair=now.repair)

    def _in_words(self, fault: Fault) -> str:
        """Return a fault in the dialog's own words for the factor."""
        words = fault.says
        if fault.factor:
            factor = self.dialog.factor(fault.factor)
            words = f"{factor.symbol or factor.key}: {words}"
        if fault.position and len(self.order) > 1:
            words = f"Image {fault.position}, {words}"
        return words

    def _file(self, kind: str, position: int) -> Path:
        if kind == "edit":
            return self.item.edits[self.order[position - 1]]
        return self.item.images[kind]

    def _schema(self, turn: Turn, slots: Mapping[str, str]) -> str:
        if not self.structured or turn.form is None:
            return ""
        return reply_schema(turn.form, self.dialog.factors_read_by(turn), slots)

    def _system(self, slots: Mapping[str, str]) -> str:
        return fill(self.dialog.system, slots, f"dialog {self.dialog.name}, system")


@dataclass(frozen=True, slots=True)
class Step:
    """A turn at its place in the conversation."""

    number: int
    turn: Turn
    position: int | None
    """Which edit it is about, where it is about one."""


def steps_of(dialog: Dialog, n: int) -> list[Step]:
    """Return the turns as they are played about n edits.

    Neighbouring turns for each edit are said about one edit before the next edit is shown.
    """
    placed: list[tuple[Turn, int | None]] = []
    for each, group in groupby(dialog.turns, key=lambda turn: turn.each):
        turns = list(group)
        if each == "edit":
            placed += [(turn, position) for position in range(1, n + 1) for turn in turns]
        else:
            position = 1 if dialog.covers == "edit" else None
            placed += [(turn, position) for turn in turns]
    return [Step(number, turn, position) for number, (turn, position) in enumerate(placed)]


def spoken(reply: Reply) -> str:
    """Return what stands in the conversation as the judge's words."""
    return reply.text or reply.refusal


def slots_for(session: Session) -> dict[str, str]:
    """Return what the dialog's texts may say of this item. Nothing here names a method."""
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
    dialog: Dialog, n: int, task: str, instruction: str, settings: Mapping[str, str]
) -> list[dict[str, str | list[str]]]:
    """Return the turns as they would be played about n edits that nobody made."""
    kinds = dialog.images_shown(settings)
    images = {kind: Path(kind) for kind in kinds if kind != "edit"}
    item = Item("example", task, instruction, images, {"": Path("edit")})
    edits = n if dialog.covers == "item" else 1
    session = Session(dialog, item, 1, ("",) * edits, settings)
    steps = steps_of(dialog, edits)
    return [
        {
            "turn": question.turn,
            "shows": [shown.kind for shown in question.images],
            "say": question.text,
            "reads": _reads(dialog, step.turn),
        }
        for step, question in zip(steps, session.outline(), strict=True)
    ]


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
    """What the ledger knows it by."""


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
        return sum(1 for exchange in self.exchanges if exchange.question.repair)
