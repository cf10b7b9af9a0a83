"""From a turn of a dialog to what is said: texts with slots, turns, chained messages."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from lmmscore.errors import DialogError, alternatives
from lmmscore.images import IMAGE_SUFFIXES, Picture
from lmmscore.records import Item
from lmmscore.scales import Factor, Scale
from lmmscore.yaml_files import StrictModel

# --------------------------------------------------------------------------------------------------
# Texts with slots: `{{name}}`. Single braces are plain text, since prompts are full of JSON.
# --------------------------------------------------------------------------------------------------

SLOT = re.compile(r"(\\?)\{\{\s*([A-Za-z][\w.\-]*)\s*\}\}")
"""A slot, or with a backslash before it the same characters as plain text."""

_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_CARDINALS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()


def ordinal(number: int) -> str:
    """Return `first`, `second`, … `twentieth`, `21st`, …"""
    if 1 <= number <= len(_ORDINALS):
        return _ORDINALS[number - 1]

    # 111th, not 111st.
    is_teen = 10 <= number % 100 <= 20
    suffix = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def cardinal(number: int) -> str:
    """Return `one`, `two`, … `twenty`, `21`, …"""
    return _CARDINALS[number - 1] if 1 <= number <= len(_CARDINALS) else str(number)


# A dialog's few texts are searched for every session: a quarter of the time of a large plan.
@lru_cache(maxsize=512)
def slots_of(text: str) -> tuple[str, ...]:
    """Return the names of the slots in a text, in order."""
    return tuple(match[2] for match in SLOT.finditer(text) if not match[1])


@lru_cache(maxsize=512)
def split_at(text: str, prefix: str) -> tuple[tuple[str, str], ...]:
    """Return the text cut at the slots with this prefix: pieces, each with its slot."""
    pieces = []
    at = 0
    for match in SLOT.finditer(text):
        if not match[1] and match[2].startswith(prefix):
            pieces.append((text[at : match.start()], match[2]))
            at = match.end()

    return (*pieces, (text[at:], ""))


def escape(text: str) -> str:
    """Return the text escaped: filling it gives the text itself, whatever braces it holds."""
    return SLOT.sub(lambda match: "\\" + match[0], text)


def fill(text: str, values: Mapping[str, str], where: str) -> str:
    """Return the text with its slots filled. Raises DialogError for an unknown name.

    A full stop right after a slot is not doubled when the value ends in one already.
    """

    def value(match: re.Match[str]) -> str:
        # A backslash before it makes it plain text.
        if match[1]:
            return match[0][1:]

        if match[2] not in values:
            known = alternatives(match[2], sorted(values))
            raise DialogError(f"{where}: unknown name {{{{{match[2]}}}}}{known}")

        filled = values[match[2]]
        return filled.removesuffix(".") if text[match.end() : match.end() + 1] == "." else filled

    return SLOT.sub(value, text) if "{{" in text else text


# --------------------------------------------------------------------------------------------------
# Turns: one step of a dialog each, and the form its reply is asked to have.
# --------------------------------------------------------------------------------------------------

IMAGE_KINDS = ("source", "reference", "marked", "edit")

PAIR_KINDS = ("first", "second")
"""The two edits of a pair, in the order they are shown."""

SHOW = "show."
"""The prefix of a slot that stands for a picture: `{{show.source}}`."""

FIELD = "field."
"""The prefix of a slot that stands for a column of the items file."""

SLOT_NAMES = {
    "n": "how many edits this conversation is about",
    "n_word": "the same in words: eight",
    "position": "the position of the edit now shown: 3",
    "ordinal": "the same in words: third",
    "task": "the task category as a title: Background Change",
    "task_lower": "the task category in lower case: background change",
    "task_id": "the task category as the benchmark writes it: background_change",
    "instruction": "the editing instruction",
    "item": "the item's id",
    "problems": "in a repair turn: what could not be read, line by line",
}
"""Every slot a text may use, besides `field.COLUMN` of the items file and the names
of the dialog's settings."""

Winner = Literal["first", "second", "tie", "both-good", "both-bad"]
"""What a judge's word says about a pair."""


class JsonForm(StrictModel):
    """The form a reply is asked to have.

    Most replies are read without it: it is needed to hold a judge to structured output, for scores
    in a list without names, and for the words that name the winner of a pair.
    """

    under: str = Field("", description="The key the factors stand under, if any. May use slots.")
    number: str = Field("score", description="The key of the number inside a factor.")
    text: str = Field("", description="The key of the justification inside a factor.")
    words: tuple[int, int] | dict[str, Winner] | None = Field(
        None,
        description="How long a justification should be, `[15, 30]`; noted only. "
        "With read: winner, which words mean which: `{A: first, B: second, neither: tie}`.",
    )
    list: str = Field(
        "",
        description="Format 2: the key of a list with one score for each factor, in their order.",
    )
    key: str = Field(
        "",
        description="Format 2, with read: winner: the key of the winner, where the reply is JSON.",
    )

    @field_validator("words", mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {str(word): meaning for word, meaning in value.items()}

        return value

    @property
    def lengths(self) -> tuple[int, int] | None:
        """How long a justification should be."""
        return self.words if isinstance(self.words, tuple) else None

    @property
    def winners(self) -> dict[str, Winner]:
        """What each word says about a pair."""
        return self.words if isinstance(self.words, dict) else {}


class When(StrictModel):
    """Which items a turn is asked about. Every condition given must hold."""

    task: tuple[str, ...] | None = Field(
        None, min_length=1, description="Items of these task categories."
    )
    field: tuple[str, ...] = Field((), description="Items that have something in these columns.")
    image: tuple[str, ...] = Field((), description="Items that have these kinds of picture.")
    without_field: tuple[str, ...] = Field(
        (), description="Items that have nothing in these columns."
    )
    without_image: tuple[str, ...] = Field(
        (), description="Items that have none of these kinds of picture."
    )

    @field_validator("*", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _some(self) -> When:
        if not any(getattr(self, name) for name in type(self).model_fields):
            raise ValueError("give task, field or image, or without_field or without_image")

        return self

    def holds(self, item: Item) -> bool:
        """Tell whether the turn is asked about an item."""
        if self.task is not None and item.task not in self.task:
            return False

        filled = {name for name, value in item.fields.items() if value.strip()}
        if not filled.issuperset(self.field) or filled & set(self.without_field):
            return False

        shown = set(item.images)
        return shown.issuperset(self.image) and not shown & set(self.without_image)

    def excludes(self, other: When) -> bool:
        """Tell whether no item can meet both."""
        if self.task and other.task and not set(self.task) & set(other.task):
            return True

        opposites = (
            (self.field, other.without_field),
            (self.without_field, other.field),
            (self.image, other.without_image),
            (self.without_image, other.image),
        )
        return any(set(has) & set(lacks) for has, lacks in opposites)

    def __str__(self) -> str:
        conditions = []
        if self.task is not None:
            conditions.append(f"task is {' or '.join(self.task)}")

        conditions += [f"the item has {name}" for name in self.field]
        conditions += [f"the item has no {name}" for name in self.without_field]
        conditions += [f"there is a {kind} image" for kind in self.image]
        conditions += [f"there is no {kind} image" for kind in self.without_image]
        return " and ".join(conditions)


class Turn(StrictModel):
    """One step of a dialog: words, pictures to go with them, and what the answer is read for."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9_-]*$", description="How messages and links refer to this turn."
    )
    each: Literal["edit"] | None = Field(
        None, description="`edit`: say this once for every edit, in order."
    )
    show: tuple[str, ...] = Field(
        (),
        description="Images shown before the words, in order: source, reference, marked, edit. "
        "Format 2: any kind that the benchmark names, first and second for a pair, "
        "or a file next to the dialog.",
    )
    say: str = Field(description="The words, with slots.")
    say_first: str | None = Field(None, description="With each: the words for the first edit.")
    say_last: str | None = Field(None, description="With each: the words for the last edit.")
    say_only: str | None = Field(
        None, description="With each: the words where there is just one edit."
    )
    say_at: dict[int, str] = Field(
        default_factory=dict,
        description="With each: the words for edits in certain positions, before all other forms.",
    )
    say_for: dict[str, str] = Field(
        default_factory=dict,
        description="Format 2: by task category, the words in place of all others.",
    )
    read: Literal["scores", "overall", "winner"] | None = Field(
        None,
        description="What is read from the reply: scores; or the judge's own overall, which is "
        "compared, not used; or, of a pair, the winner (format 2).",
    )
    factors: tuple[str, ...] | None = Field(
        None, description="With read: scores, which factors; all if absent."
    )
    form: JsonForm | None = Field(None, description="The form the reply is asked to have.")
    fresh: bool = Field(
        False, description="Format 2: begin a new conversation; nothing said before is sent."
    )
    when: When | None = Field(
        None, description="Format 2: which items it is asked about; all if absent."
    )
    heard: str | None = Field(
        None,
        description="Format 2: the answer. Such a turn is not asked: question and answer are put "
        "into the conversation, as an example.",
    )

    def words(self, position: int, n: int, task: str = "") -> str:
        """Return the text that fits the task, and the place of the edit among n."""
        # From the most particular to the most general.
        if task in self.say_for:
            return self.say_for[task]

        if position in self.say_at:
            return self.say_at[position]

        if n == 1 and self.say_only is not None:
            return self.say_only

        if position == 1 and self.say_first is not None:
            return self.say_first

        if position == n and self.say_last is not None:
            return self.say_last

        return self.say

    def texts(self, task: str | None = None) -> tuple[str, ...]:
        """Return every text of this turn, or those that may be said about items of a task."""
        if task in self.say_for:
            return (self.say_for[task],)

        forms = (self.say, self.say_first, self.say_last, self.say_only)
        said = [text for text in forms if text is not None]
        said += self.say_at.values()
        if task is None:
            said += self.say_for.values()

        return tuple(said)

    def kinds(self, task: str | None = None) -> tuple[str, ...]:
        """Return the kinds of picture it shows, before its words or between them: every one, or
        those shown with items of a task."""
        between = [kind for text in self.texts(task) for kind in shown_in(text)]
        return tuple(dict.fromkeys((*self.show, *between)))

    @property
    def is_shot(self) -> bool:
        """Whether it is an example put into the conversation rather than asked."""
        return self.heard is not None

    def asked_of(self, item: Item) -> bool:
        """Tell whether it is part of a conversation about this item."""
        return self.when is None or self.when.holds(item)


def shown_in(text: str) -> list[str]:
    """Return the kinds of picture that stand between the words of a text, in order."""
    return [name.removeprefix(SHOW) for name in slots_of(text) if name.startswith(SHOW)]


def is_file(kind: str) -> bool:
    """Tell whether what a turn shows is a file next to the dialog."""
    return PurePosixPath(kind).suffix.lower() in IMAGE_SUFFIXES


class Repair(StrictModel):
    """What is said when scores could not be read: exactly what is missing."""

    say: str = Field(description="The words; {{problems}} lists what is missing.")
    at_most: int = Field(2, ge=0, le=2, description="How many times in one conversation.")


def task_title(task: str) -> str:
    """Return a task category as a title: background_change → Background Change."""
    words = task.replace("_", " ").replace("-", " ").split()
    return " ".join(word if word.isupper() else word.capitalize() for word in words)


def task_in_words(task: str) -> str:
    """Return a task category as tables and pages show it: background_change → Background change."""
    words = " ".join(task.replace("_", " ").replace("-", " ").split())
    return words[:1].upper() + words[1:]


def position_slots(position: int) -> dict[str, str]:
    """Return the slots that speak of the edit now shown."""
    return {"position": str(position), "ordinal": ordinal(position)}


def reply_schema(form: JsonForm, factors: Sequence[Factor], slots: Mapping[str, str]) -> str:
    """Return the JSON schema of a reply, as text: every factor, its scale and its justification."""
    if form.winners:
        parts = _text_schema(form) | {form.key or "winner": {"enum": [*form.winners]}}
        return json.dumps(_object_schema(parts))

    if form.list:
        scores = {"type": "array", "items": _score_schema(factors[0].scale)}
        made = _object_schema(_text_schema(form) | {form.list: scores})
    else:
        made = _factors_schema(factors, form)

    under = fill(form.under, slots, "form.under")
    return json.dumps(_object_schema({under: made}) if under else made)


def scores_schema(factors: Sequence[Factor], n: int) -> str:
    """Return the JSON schema of a reply that scores n images, for a turn that asks for prose."""
    image = _factors_schema(factors, JsonForm(text="justification"))
    if n == 1:
        return json.dumps(image)

    return json.dumps(_object_schema({f"image_{number}": image for number in range(1, n + 1)}))


def _text_schema(form: JsonForm) -> dict[str, Any]:
    # The justification first, so that the judge scores after it has given its reasons.
    return {form.text: {"type": "string"}} if form.text else {}


def _factors_schema(factors: Sequence[Factor], form: JsonForm) -> dict[str, Any]:
    """Return the schema of one image: each factor with its justification and its score."""
    made = {}
    for factor in factors:
        score = {form.number: _score_schema(factor.scale)}
        made[factor.key] = _object_schema(_text_schema(form) | score)

    return _object_schema(made)


def _score_schema(scale: Scale) -> dict[str, Any]:
    """Return the schema of one score: its words, its values, or the ends of its range."""
    if scale.words:
        return {"type": "string", "enum": [*scale.words]}

    if scale.values:
        return {"type": "number", "enum": [float(value) for value in scale.values]}

    if scale.integers:
        whole = range(math.ceil(scale.low), math.floor(scale.high) + 1)
        return {"type": "integer", "enum": list(whole)}

    return {"type": "number", "minimum": float(scale.low), "maximum": float(scale.high)}


def _object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with just these keys, as strict structured output asks."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


# --------------------------------------------------------------------------------------------------
# Messages and their digest chain.
#
# A conversation grows at its end only. Each message carries the digest of everything up to it, so
# that the key of a question costs one hash, whatever the length of what was said before.
# --------------------------------------------------------------------------------------------------

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One thing said, with the pictures shown with it."""

    role: Role
    text: str
    images: tuple[Picture, ...] = ()
    schema: str = ""
    """A JSON schema, as text, that the answer is to follow where a judge can be held to one."""
    places: tuple[int, ...] = ()
    """Before which character each picture stands; empty where all stand before the words."""

    def content(self) -> Iterator[str | Picture]:
        """Yield the words and pictures in the order the judge meets them."""
        at = 0
        for picture, place in zip(self.images, self.places or [0] * len(self.images), strict=True):
            # Some servers refuse a stretch of text that is nothing but blanks.
            if self.text[at:place].strip():
                yield self.text[at:place]

            yield picture
            at = place

        # Blank text after leading pictures is sent, as it always was.
        if self.text[at:].strip() or not self.places:
            yield self.text[at:]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Conversation:
    """A message and the conversation before it; the empty one has no message."""

    parent: Conversation | None = None
    message: Message | None = None
    digest: str = field(default=hashlib.sha256(b"lmmscore conversation v1").hexdigest())
    """Covers every message so far: role, text, every picture and where it stands."""

    def add(self, message: Message) -> Conversation:
        """Return this conversation with one message more."""
        return Conversation(self, message, _chain(self.digest, message))

    def say(
        self,
        text: str,
        images: tuple[Picture, ...] = (),
        schema: str = "",
        places: tuple[int, ...] = (),
    ) -> Conversation:
        """Return this conversation with one more thing said to the judge."""
        return self.add(Message("user", text, images, schema, places if any(places) else ()))

    def hear(self, text: str) -> Conversation:
        """Return this conversation with one more reply of the judge."""
        return self.add(Message("assistant", text))

    @property
    def messages(self) -> list[Message]:
        """All messages, first to last."""
        return [message for _, message in self.backwards()][::-1]

    @property
    def beginning(self) -> Conversation:
        """The conversation when its first message had been said."""
        nodes = [node for node, _ in self.backwards()]
        return nodes[-1] if nodes else self

    def backwards(self) -> Iterator[tuple[Conversation, Message]]:
        """Yield the conversation as it was after each message, last to first, and that message."""
        node: Conversation | None = self
        while node is not None and node.message is not None:
            yield node, node.message
            node = node.parent


def _chain(before: str, message: Message) -> str:
    """Return the digest of a conversation with one message more."""
    # Lengths keep the fields apart: no two different messages can hash the same bytes.
    digest = hashlib.sha256(bytes.fromhex(before))
    parts = [message.role, message.text, *(picture.digest for picture in message.images)]
    if message.schema:
        parts.append(f"schema {message.schema}")

    # Absent where the pictures stand before the words, so that old keys stay what they were.
    if message.places:
        parts.append(f"places {' '.join(map(str, message.places))}")

    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)

    return digest.hexdigest()
