"""Play one dialog about one item.

A session asks; whether an answer comes from the judge or from the ledger is not its business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from lmmscore.conversation import Conversation, Message
from lmmscore.dialogs import Dialog, Turn, position_slots, task_title
from lmmscore.errors import ContentFiltered, ImageProblem, JudgeError
from lmmscore.images import Pictures
from lmmscore.judges.recorded import Heard
from lmmscore.justifications import length_notes
from lmmscore.parsing import Fault, Reading, merged, read_overall, read_reply
from lmmscore.records import Item, Outcome, Reply
from lmmscore.schemas import reply_schema
from lmmscore.templates import cardinal, fill


class Asked(Protocol):
    """What a session needs of a judge."""

    async def ask(self, conversation: Conversation, repeat: int) -> Heard:
        """Answer the last message."""


@dataclass(frozen=True, slots=True)
class Session:
    """One dialog × item × order × repeat: what is going to be played."""

    dialog: Dialog
    item: Item
    repeat: int
    order: tuple[str, ...]
    """The methods in the order their edits are shown; just one where the dialog covers one edit."""
    settings: Mapping[str, str] = field(default_factory=dict)
    structured: bool = False
    """Whether the judge is held to the JSON schema of its replies."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A turn as it was played."""

    turn: str
    position: int | None
    """Which edit was shown, where one was."""
    question: str
    images: tuple[tuple[str, Path], ...]
    """What was shown, by kind."""
    reply: Reply
    recalled: bool
    key: str
    """What the ledger knows it by."""
    repair: int = 0
    """0, or which repair turn this was."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a conversation could not be finished."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class Played:
    """A session after it was played: the conversation, what was read from it, and why it ended early if it did."""

    session: Session
    exchanges: tuple[Exchange, ...]
    reading: Reading
    stated: Mapping[int, Fraction]
    """The overall scores the judge worked out itself, by position."""
    notes: tuple[str, ...] = ()
    """What is worth knowing of how it was read: JSON that had to be mended, justifications of another length."""
    failure: Ending | None = None
    """Set when the conversation could not be finished."""

    @property
    def repairs(self) -> int:
        """How many repair turns it took."""
        return sum(1 for exchange in self.exchanges if exchange.repair)


async def play(
    session: Session,
    judge: Asked,
    pictures: Pictures,
    listener: Callable[[Exchange], None] | None = None,
) -> Played:
    """Play the dialog to its end. Raises JudgeError only for what must stop the whole run."""
    player = _Player(session, judge, pictures, listener)
    failure: Ending | None = None
    try:
        await player.play()
    except _Ended as end:
        failure = end.ending
    except ContentFiltered as error:
        failure = Ending(Outcome.FILTERED, str(error))
    except JudgeError as error:
        if error.scope == "run":
            raise
        failure = Ending(Outcome.FAILED, str(error))
    except ImageProblem as error:
        failure = Ending(Outcome.FAILED, str(error))
    notes = player.reading.notes + player.notes
    return Played(session, tuple(player.exchanges), player.reading, player.stated, notes, failure)


class _Ended(Exception):
    """The conversation cannot go on."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.ending = Ending(outcome, reason)


class _Player:
    """The conversation so far, and what was read from it."""

    def __init__(
        self,
        session: Session,
        judge: Asked,
        pictures: Pictures,
        listener: Callable[[Exchange], None] | None,
    ) -> None:
        self.session = session
        self.dialog = session.dialog
        self.judge = judge
        self.pictures = pictures
        self.listener = listener
        self.slots = slots_for(session)
        self.conversation = _opening(session.dialog, self.slots)
        self.exchanges: list[Exchange] = []
        self.reading = Reading()
        self.stated: dict[int, Fraction] = {}
        self.notes: tuple[str, ...] = ()

    async def play(self) -> None:
        for turn, position in steps(self.dialog, len(self.session.order)):
            # The judge's own sums are of no use when there is nothing to compare them with.
            if turn.read == "overall" and not self.reading.complete:
                continue
            reply = await self._take(turn, position)
            if turn.read == "scores":
                await self._read_scores(turn, reply)
            elif turn.read == "overall":
                self.stated = read_overall(reply.text, len(self.session.order))

    async def _take(self, turn: Turn, position: int | None) -> Reply:
        n = len(self.session.order)
        text = turn.words(position or 1, n)
        slots = self.slots | position_slots(position or 1)
        where = f"dialog {self.dialog.name}, turn {turn.name}"
        kinds = [fill(kind, slots, where) for kind in turn.show]
        images = tuple((kind, self._path(kind, position or 1)) for kind in kinds)
        return await self._ask(turn, position, fill(text, slots, where), images)

    def _path(self, kind: str, position: int) -> Path:
        if kind == "edit":
            return self.session.item.edits[self.session.order[position - 1]]
        return self.session.item.images[kind]

    async def _ask(
        self,
        turn: Turn,
        position: int | None,
        text: str,
        images: tuple[tuple[str, Path], ...] = (),
        repair: int = 0,
    ) -> Reply:
        shown = tuple(self.pictures.get(path) for _, path in images)
        self.conversation = self.conversation.say(
            text, shown, schema_of(self.session, turn, self.slots)
        )
        heard = await self.judge.ask(self.conversation, self.session.repeat)
        exchange = Exchange(
            turn.name, position, text, images, heard.reply, heard.recalled, heard.key, repair
        )
        self.exchanges.append(exchange)
        if self.listener is not None:
            self.listener(exchange)
        self._hear(turn, heard.reply)
        return heard.reply

    def _hear(self, turn: Turn, reply: Reply) -> None:
        if reply.finish == "content_filter":
            raise _Ended(
                Outcome.FILTERED,
                f"turn {turn.name}: the provider's content filter withheld the answer",
            )
        heard = reply.text or reply.refusal
        if not heard.strip() and turn.read != "scores":
            # An empty message cannot be sent back as something the judge said.
            raise _Ended(Outcome.UNREADABLE, f"turn {turn.name}: the answer is empty")
        self.conversation = self.conversation.hear(heard or "(no answer)")

    async def _read_scores(self, turn: Turn, reply: Reply) -> None:
        n = len(self.session.order)
        factors = self.dialog.factors_read_by(turn)
        reading = read_reply(reply, factors, n)
        repair = 0
        while not reading.complete and repair < self.dialog.repair.at_most:
            repair += 1
            problems = "\n".join(f"- {self._in_words(fault)}" for fault in reading.faults)
            text = fill(
                self.dialog.repair.say,
                self.slots | {"problems": problems},
                f"dialog {self.dialog.name}, repair",
            )
            reply = await self._ask(turn, None, text, repair=repair)
            reading = merged(reading, read_reply(reply, factors, n), factors, n)
        self.notes += length_notes(reply.text, turn.form, factors)
        self.reading = (
            merged(self.reading, reading, self.dialog.factors, n) if turn.factors else reading
        )

    def _in_words(self, fault: Fault) -> str:
        """Return a fault in the dialog's own words for the factor."""
        image = (
            f"Image {fault.position}, " if fault.position and len(self.session.order) > 1 else ""
        )
        factor = self.dialog.factor(fault.factor) if fault.factor else None
        name = (factor.symbol or factor.key) + ": " if factor else ""
        return f"{image}{name}{fault.says}"


def steps(dialog: Dialog, n: int) -> Iterator[tuple[Turn, int | None]]:
    """Yield the turns in order, those for each edit n times in a row with the edit's position."""
    group: list[Turn] = []
    for turn in dialog.turns:
        if turn.each == "edit":
            group.append(turn)
            continue
        yield from _each_edit(group, n)
        group = []
        yield turn, (1 if dialog.covers == "edit" else None)
    yield from _each_edit(group, n)


def _each_edit(group: list[Turn], n: int) -> Iterator[tuple[Turn, int | None]]:
    # Neighbouring turns for each edit are said about one edit before the next is shown.
    if group:
        yield from ((turn, position) for position in range(1, n + 1) for turn in group)


def schema_of(session: Session, turn: Turn, slots: Mapping[str, str]) -> str:
    """Return the JSON schema that the reply to a turn is held to, or nothing."""
    if not session.structured or turn.form is None:
        return ""
    return reply_schema(turn.form, session.dialog.factors_read_by(turn), slots)


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


def _opening(dialog: Dialog, slots: Mapping[str, str]) -> Conversation:
    if not dialog.system:
        return Conversation()
    return Conversation().add(
        Message("system", fill(dialog.system, slots, f"dialog {dialog.name}, system"))
    )


def script(
    dialog: Dialog, n: int, task: str, instruction: str, settings: Mapping[str, str]
) -> list[dict[str, str | list[str]]]:
    """Return the turns as they would be played about n edits, without playing them."""
    session = Session(dialog, Item("example", task, instruction, {}, {}), 1, ("",) * n, settings)
    slots = slots_for(session)
    lines: list[dict[str, str | list[str]]] = []
    for turn, position in steps(dialog, n if dialog.covers == "item" else 1):
        known = slots | position_slots(position or 1)
        where = f"dialog {dialog.name}, turn {turn.name}"
        reads = {
            "scores": ", ".join(factor.key for factor in dialog.factors_read_by(turn)),
            "overall": "overall",
        }
        lines.append(
            {
                "turn": turn.name,
                "shows": [fill(kind, known, where) for kind in turn.show],
                "say": fill(turn.words(position or 1, n), known, where),
                "reads": reads[turn.read] if turn.read else "",
            }
        )
    return lines
