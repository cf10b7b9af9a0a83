"""Dialogs: protocols as strict, versioned YAML. Nothing in a dialog is code.

Format 1 is what `format` absent means; everything marked so in the descriptions needs `format: 2`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import Field, PrivateAttr, field_validator, model_validator

from lmmscore.errors import DialogError, nearest
from lmmscore.images import IMAGE_SUFFIXES
from lmmscore.records import OVERALL, Item
from lmmscore.rules import Formula, Overall, Rule, faults_of, formula, parts_of
from lmmscore.scales import Factor, Scale, weights_of
from lmmscore.templates import fill, ordinal, slots_of
from lmmscore.yaml_files import Place, PlacedError, StrictModel

IMAGE_KINDS = ("source", "reference", "marked", "edit")
PAIR_KINDS = ("first", "second")
"""The two edits of a pair, in the order they are shown."""

SHOW = "show."
"""A slot that begins so stands for a picture: `{{show.source}}`."""

FIELD = "field."
"""A slot that begins so stands for a column of the items file."""

_KIND = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

SLOT_NAMES = {
    "n": "how many edits this conversation is about",
    "n_word": "the same in words: eight",
    "position": "the place of the edit now shown: 3",
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
"""What a word of a judge says of a pair."""


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
        """What each word says of a pair."""
        return self.words if isinstance(self.words, dict) else {}


class When(StrictModel):
    """Of which items a turn is asked. Every condition given must hold."""

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
        """Tell whether the turn is asked of an item."""
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
        "or a file beside the dialog.",
    )
    say: str = Field(description="The words, with slots.")
    say_first: str | None = Field(None, description="With each: the words for the first edit.")
    say_last: str | None = Field(None, description="With each: the words for the last edit.")
    say_only: str | None = Field(
        None, description="With each: the words where there is just one edit."
    )
    say_at: dict[int, str] = Field(
        default_factory=dict,
        description="With each: the words for edits in certain places, before all other forms.",
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
        None, description="Format 2: of which items it is asked; of all if absent."
    )
    heard: str | None = Field(
        None,
        description="Format 2: the answer. Such a turn is not asked: question and answer are put "
        "into the conversation, as an example.",
    )

    def words(self, position: int, n: int, task: str = "") -> str:
        """Return the text that fits the task, and the place of the edit among n."""
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

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text of this turn."""
        return (*self._common_texts, *self.say_for.values())

    @property
    def _common_texts(self) -> tuple[str, ...]:
        forms = (self.say, self.say_first, self.say_last, self.say_only)
        said = (text for text in forms if text is not None)
        return (*said, *self.say_at.values())

    def texts_for(self, task: str) -> tuple[str, ...]:
        """Return every text that may be said about an item of a task category."""
        return (self.say_for[task],) if task in self.say_for else self._common_texts

    @property
    def is_shot(self) -> bool:
        """Whether it is an example put into the conversation rather than asked."""
        return self.heard is not None

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every kind of picture it shows, before its words or between them."""
        return self._shown_with(self.texts)

    def kinds_for(self, task: str) -> tuple[str, ...]:
        """Return the kinds of picture it shows with an item of a task category."""
        return self._shown_with(self.texts_for(task))

    def _shown_with(self, texts: Sequence[str]) -> tuple[str, ...]:
        between = (kind for text in texts for kind in shown_in(text))
        return tuple(dict.fromkeys((*self.show, *between)))

    def asked_of(self, item: Item) -> bool:
        """Tell whether it has a place in a conversation about this item."""
        return self.when is None or self.when.holds(item)


def shown_in(text: str) -> list[str]:
    """Return the kinds of picture that stand between the words of a text, in order."""
    return [name.removeprefix(SHOW) for name in slots_of(text) if name.startswith(SHOW)]


def is_file(kind: str) -> bool:
    """Tell whether what a turn shows is a file beside the dialog."""
    return PurePosixPath(kind).suffix.lower() in IMAGE_SUFFIXES


class Repair(StrictModel):
    """What is said when scores could not be read: exactly what is missing."""

    say: str = Field(description="The words; {{problems}} lists what is missing.")
    at_most: int = Field(2, ge=0, le=2, description="How many times in one conversation.")


class Setting(StrictModel):
    """A choice the dialog offers. Each choice gives values to the slots `setting.NAME`."""

    default: str = Field(description="The choice where none is made.")
    about: str = Field("", description="What is chosen.")
    choices: dict[str, dict[str, str]] = Field(
        min_length=1, description="For each choice, what it gives to each of the setting's names."
    )

    @model_validator(mode="after")
    def _same_names(self) -> Setting:
        if self.default not in self.choices:
            raise ValueError(
                f"the default {self.default!r} is not among the choices: {', '.join(self.choices)}"
            )

        names = [set(values) for values in self.choices.values()]
        if any(each != names[0] for each in names):
            raise ValueError("every choice must give the same names")

        return self


class Dialog(StrictModel):
    """A protocol: what is said and shown to the judge, and what is read from its replies."""

    dialog: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*$", description="The name.")
    version: int = Field(ge=1, description="Raised whenever the words or the rules change.")
    title: str = Field(description="What it is, in a line.")
    about: str = Field("", description="What it does, in a few sentences.")
    origin: str = Field("", description="Where the protocol was published.")
    format: Literal[1, 2] = Field(1, description="Which version of this language it is written in.")
    covers: Literal["item", "edit", "pair"] = Field(
        description="`item`: one conversation about all edits of an item; "
        "`edit`: one about each edit; `pair`: one about each two of them (format 2)."
    )
    orders: Literal["both", "one"] = Field(
        "both", description="Format 2: whether each pair is shown in both orders, or in one."
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict, description="Choices it offers; made with --setting NAME=CHOICE."
    )
    factors: tuple[Factor, ...] = Field(
        (), description="What is scored; needed but where only the winner of a pair is read."
    )
    overall: Overall = Field(
        "none",
        description="How the overall score comes from the factors: a rule over all of them in a "
        "word, or (format 2) one spelt out. `bradley-terry` for pairs.",
    )
    overall_symbol: str = Field("S_all", description="What replies call the overall score.")
    avoid_ties: bool = Field(False, description="The words ask the judge to avoid equal scores.")
    system: str = Field("", description="A system message, where the protocol has one.")
    turns: tuple[Turn, ...] = Field(min_length=1, description="What is said, in order.")
    repair: Repair = Field(description="What is said when scores could not be read.")
    questions: dict[str, str] = Field(
        default_factory=dict,
        description="What an import could not infer, by the key that answers it.",
    )

    _folder: Path | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _pairs_are_new(cls, data: Any) -> Any:
        # No dialog of format 1 is about pairs, so there is nothing else that one could mean.
        if isinstance(data, dict) and data.get("covers") == "pair":
            return {"format": 2, **data}

        return data

    @model_validator(mode="after")
    def _coherent(self) -> Dialog:
        for place, problem in _incoherences(self):
            raise PlacedError(problem, *place)

        return self

    @property
    def name(self) -> str:
        """The dialog's name."""
        return self.dialog

    @cached_property
    def weights(self) -> dict[str, Fraction]:
        """The weight of every factor; 0 where it has none."""
        return weights_of(self.factors)

    @cached_property
    def digest(self) -> str:
        """Identifies what is said and read, whatever the layout of the file."""
        # A definition is shown to human raters only: with or without it, the judge is asked the
        # same.
        described = self.model_dump(mode="json", exclude={"factors": {"__all__": {"definition"}}})
        if self.format == 1:
            # Digests of dialogs that could be written before format 2 stay what they were.
            described = _without_format_2(described)

        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()

    @cached_property
    def wording(self) -> str:
        """Identifies what is said, shown and read: a new title or version alone changes nothing."""
        described = {"title", "about", "origin", "version", "dialog", "questions"}
        data = self.model_dump(mode="json", exclude=described)
        if self.format == 1:
            data = _without_format_2(data)

        for factor in data["factors"]:
            factor.pop("definition", None)

        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

    @cached_property
    def formula(self) -> Formula | None:
        """The overall as a function of the factors; None where there is none."""
        rule = self.overall
        if rule == "none" and len(self.factors) == 1 and self.covers != "pair":
            rule = "mean"

        return formula(rule, parts_of(self.factors))

    def turns_for(self, item: Item) -> tuple[Turn, ...]:
        """Return the turns that have a place in a conversation about this item."""
        return tuple(turn for turn in self.turns if turn.asked_of(item))

    def factors_for(self, item: Item) -> tuple[Factor, ...]:
        """Return the factors that are asked of this item."""
        read = {
            factor.key
            for turn in self.turns_for(item)
            if turn.read == "scores"
            for factor in self.factors_read_by(turn)
        }
        return tuple(factor for factor in self.factors if factor.key in read)

    def not_asked(self, key: str) -> str:
        """Return why a factor is left out for some items, in words."""
        reads = (turn for turn in self.turns if turn.read == "scores")
        conditions = [
            str(turn.when) for turn in reads if turn.when and key in (turn.factors or (key,))
        ]
        return f"asked only where {', or '.join(conditions)}"

    def file(self, name: str) -> Path:
        """Return a picture beside the dialog."""
        if self._folder is None:
            raise DialogError(f"dialog {self.name} shows {name}, but its folder is not known")

        return self._folder / name

    def beside(self, folder: Path) -> Dialog:
        """Return the dialog with the folder of its own pictures. Raises where one is not there."""
        for name in self.files:
            _refuse_outside(folder, name, f"dialog {self.name}")

        placed = self.model_copy()
        placed._folder = folder
        return placed

    @property
    def files(self) -> tuple[str, ...]:
        """The pictures of its own that it shows, by their paths beside it."""
        shown = (name for turn in self.turns for name in turn.show if is_file(name))
        return tuple(dict.fromkeys(shown))

    def kept_in(self, folder: Path) -> Dialog:
        """Return the dialog with its own pictures in a folder that has one for each dialog."""
        return self.beside(folder / self.name) if self.files else self

    def remarks(self) -> Iterator[str]:
        """Yield what plays, but is hardly what the author meant."""
        for place, turn in enumerate(self.turns):
            if turn.is_shot and not self._is_seen(place):
                yield f"turn {turn.name}: an example that no question follows, so no judge sees it"

        for turn in self.turns:
            if turn.fresh and turn.read == "scores" and self.covers == "edit":
                for where in _blind_words(turn):
                    yield f"turn {turn.name}: scores an edit that a new conversation {where}"

    def _is_seen(self, place: int) -> bool:
        """Tell whether a question follows an example in the same conversation."""
        for turn in self.turns[place + 1 :]:
            if turn.fresh or not turn.is_shot:
                return not turn.fresh

        return False

    def factor(self, key: str) -> Factor:
        """Return the factor of that key."""
        return next(factor for factor in self.factors if factor.key == key)

    def factors_read_by(self, turn: Turn) -> tuple[Factor, ...]:
        """Return the factors read from the reply to this turn."""
        return (
            self.factors
            if turn.factors is None
            else tuple(self.factor(key) for key in turn.factors)
        )

    def setting_values(self, chosen: Mapping[str, str]) -> dict[str, str]:
        """Return the slots that the chosen settings give, defaults for the rest."""
        for name in chosen:
            if name not in self.settings:
                known = ", ".join(self.settings) or "it has none"
                raise DialogError(
                    f"dialog {self.name}: no setting {name!r}{nearest(name, self.settings)} "
                    f"({known})"
                )

        values: dict[str, str] = {}
        for name, setting in self.settings.items():
            choice = chosen.get(name, setting.default)
            if choice not in setting.choices:
                known = ", ".join(setting.choices)
                raise DialogError(
                    f"dialog {self.name}: setting {name} cannot be {choice!r}; it can be: {known}"
                )

            values |= {f"{name}.{key}": text for key, text in setting.choices[choice].items()}
            values[name] = choice

        return values

    def images_shown(self, chosen: Mapping[str, str]) -> tuple[str, ...]:
        """Return the kinds of image this dialog shows under these settings, each once,
        `edit` included."""
        values = self.setting_values(chosen)
        shown = (
            fill(kind, values, f"dialog {self.name}") for turn in self.turns for kind in turn.kinds
        )
        return tuple(dict.fromkeys(shown))

    def images_needed(self, item: Item, chosen: Mapping[str, str]) -> tuple[str, ...]:
        """Return the kinds of the item's own images that a conversation about it shows."""
        values = self.setting_values(chosen)
        where = f"dialog {self.name}"
        needed = []
        for turn in self.turns_for(item):
            for kind in turn.kinds_for(item.task):
                filled = fill(kind, values, where)
                if filled not in ("edit", *PAIR_KINDS) and not is_file(filled):
                    needed.append(filled)

        return tuple(dict.fromkeys(needed))

    def columns_needed(self, item: Item) -> tuple[str, ...]:
        """Return the columns of the items file that a conversation about an item says."""
        texts = [self.system]
        for turn in self.turns_for(item):
            texts += [*turn.texts_for(item.task), turn.heard or ""]

        names = (name for text in texts for name in slots_of(text) if name.startswith(FIELD))
        return tuple(dict.fromkeys(name.removeprefix(FIELD) for name in names))

    def calls(self, n: int) -> int:
        """Return how many calls an item with n edits takes when nothing needs repair."""
        asked = [turn for turn in self.turns if not turn.is_shot]
        per_edit = sum(turn.each == "edit" for turn in asked)
        if self.covers == "edit":
            return n * len(asked)

        if self.covers == "pair":
            shown = n * (n - 1) // (1 if self.orders == "both" else 2)
            return shown * (len(asked) + per_edit)

        return len(asked) - per_edit + per_edit * n


def _blind_words(turn: Turn) -> Iterator[str]:
    """Yield how a turn of its own leaves the edit out: in all its words, or in some of them."""
    if "edit" in turn.show or _shows_by_setting(turn):
        return

    if "edit" not in shown_in(turn.say):
        yield "never shows"

    for task, text in turn.say_for.items():
        if "edit" not in shown_in(text):
            yield f"never shows for the task {task}"


def _refuse_outside(folder: Path, name: str, where: str) -> None:
    path = PurePosixPath(name)
    outside = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name
    if outside or not (folder / name).resolve().is_relative_to(folder.resolve()):
        raise DialogError(
            f"{where}: {name} is outside the dialog's folder; put it beside the dialog"
        )

    if not (folder / name).is_file():
        raise DialogError(f"{where}: there is no file {name} beside the dialog, in {folder}")


_NEW_KEYS = {
    "dialog": ("format", "orders"),
    "turn": ("say_for", "fresh", "when", "heard"),
    "form": ("list", "key"),
    "scale": ("words",),
}
"""What came with format 2, by where it stands."""


def _without_format_2(described: dict[str, Any]) -> dict[str, Any]:
    """Return the dump of a dialog of format 1 without the keys that it cannot have."""

    def without(data: dict[str, Any], where: str) -> dict[str, Any]:
        return {key: value for key, value in data.items() if key not in _NEW_KEYS[where]}

    factors = [
        {**factor, "scale": without(factor["scale"], "scale")} for factor in described["factors"]
    ]
    turns = [without(turn, "turn") for turn in described["turns"]]
    for turn in turns:
        turn["form"] = turn["form"] and without(turn["form"], "form")

    return {**without(described, "dialog"), "factors": factors, "turns": turns}


def _newer_than_format_1(dialog: Dialog) -> Iterator[str]:
    """Yield everything in a dialog that only format 2 has."""
    if dialog.orders != "both":
        yield "orders"

    if isinstance(dialog.overall, Rule) or dialog.overall in ("min", "max", "product"):
        yield "this kind of overall"

    if any(factor.scale.words for factor in dialog.factors):
        yield "a scale of words"

    for turn in dialog.turns:
        for key in _newer_in_turn(turn):
            yield f"turn {turn.name}: {key}"


def _newer_in_turn(turn: Turn) -> Iterator[str]:
    for key in _NEW_KEYS["turn"]:
        if getattr(turn, key) not in (None, False, {}):
            yield key

    form = turn.form or JsonForm()
    for key in _NEW_KEYS["form"]:
        if getattr(form, key):
            yield f"form: {key}"

    for text in turn.texts:
        for kind in shown_in(text):
            yield f"{{{{{SHOW}{kind}}}}}"


def _incoherences(dialog: Dialog) -> Iterator[tuple[Place, str]]:
    """Yield every contradiction inside a dialog: where it stands, and the remedy."""
    known = _known_slots(dialog)
    found: list[tuple[Place, Iterable[str]]] = [
        ((), _format_incoherences(dialog)),
        (("factors",), _factor_incoherences(dialog)),
        (("overall",), faults_of(dialog.overall, parts_of(dialog.factors))),
        (("turns",), _pair_incoherences(dialog)),
    ]
    for number, factor in enumerate(dialog.factors):
        found.append((("factors", number), _reading_incoherences(dialog, factor.key)))

    for number, turn in enumerate(dialog.turns):
        where = f"turn {number + 1} ({turn.name})"
        found.append((("turns", number), _turn_incoherences(dialog, turn, where)))

    found += [
        (("system",), _unknown_slots(dialog.system, known - _ONLY_IN_REPAIRS, "system")),
        (("repair", "say"), _unknown_slots(dialog.repair.say, known, "repair")),
        (("turns",), _missing_turns(dialog)),
    ]
    for place, problems in found:
        for problem in problems:
            yield place, problem


def _format_incoherences(dialog: Dialog) -> Iterator[str]:
    if dialog.format == 1:
        yield from (f"{key} needs `format: 2`" for key in _newer_than_format_1(dialog))


def _factor_incoherences(dialog: Dialog) -> Iterator[str]:
    keys = [factor.key for factor in dialog.factors]
    if not keys and dialog.covers != "pair":
        yield "factors: missing; a dialog scores at least one"

    if len(set(keys)) < len(keys):
        yield "factors: two factors have the same key"

    if OVERALL in keys:
        yield f"factors: the key {OVERALL} is taken; give this factor another"


def _missing_turns(dialog: Dialog) -> Iterator[str]:
    asked = [turn for turn in dialog.turns if not turn.is_shot]
    if not asked:
        yield "turns: nothing is asked; every turn is an example with its answer (`heard`)"

    edits = PAIR_KINDS if dialog.covers == "pair" else ("edit",)
    for edit in edits:
        if not any({edit, "edit"} & {*turn.kinds} or _shows_by_setting(turn) for turn in asked):
            yield f"turns: no turn shows an edit; one must `show: [{', '.join(edits)}]`"


def _shows_by_setting(turn: Turn) -> bool:
    return any(map(slots_of, turn.show))


def _pair_incoherences(dialog: Dialog) -> Iterator[str]:
    reading = [turn for turn in dialog.turns if turn.read == "winner"]
    if dialog.covers != "pair":
        if dialog.overall == "bradley-terry":
            yield "overall: bradley-terry ranks by pairs, so it needs `covers: pair`"

        for turn in reading:
            yield f"turn {turn.name}: `read: winner` needs `covers: pair`"

        return

    if not reading and formula(dialog.overall, parts_of(dialog.factors)) is None:
        yield "turns: no turn says who wins; one must `read: winner`"

    for one, other in combinations(reading, 2):
        if not _exclude_each_other(one, other):
            yield f"turns: both {one.name} and {other.name} `read: winner`; one must say who wins"


def _reading_incoherences(dialog: Dialog, key: str) -> Iterator[str]:
    """Yield what is wrong with how often a factor is read: of any item, by one turn at most."""
    reads = [turn for turn in dialog.turns if turn.read == "scores"]
    reads = [turn for turn in reads if turn.factors is None or key in turn.factors]
    remedy = "exactly one turn must `read: scores` for it"
    if not reads:
        yield f"factors: {key} is read by no turn; {remedy}"

    if any(not _exclude_each_other(one, other) for one, other in combinations(reads, 2)):
        yield f"factors: {key} is read by more than one turn; {remedy}"


def _exclude_each_other(one: Turn, other: Turn) -> bool:
    """Tell whether two turns may read the same: no item, or only the items can tell, meets both."""
    if one.when is None or other.when is None:
        return False

    by_task = one.when.task is not None and other.when.task is not None
    return one.when.excludes(other.when) or not by_task


def _turn_incoherences(dialog: Dialog, turn: Turn, where: str) -> Iterator[str]:
    known = _known_slots(dialog) - _ONLY_IN_REPAIRS
    kinds = {f"{SHOW}{kind}" for text in turn.texts for kind in shown_in(text)}

    for text in turn.texts:
        yield from _unknown_slots(text, known | kinds, where)

    yield from _unknown_slots(turn.heard or "", known, where)

    for kind in turn.kinds:
        yield from _unknown_slots(kind, known, where)
        if not slots_of(kind):
            yield from _kind_incoherences(dialog, turn, kind, where)

    if dialog.covers == "edit" and turn.each == "edit":
        yield f"{where}: `each: edit` has no place where the dialog covers one edit"

    keys = [factor.key for factor in dialog.factors]

    for key in turn.factors or ():
        if key not in keys:
            yield f"{where}: unknown factor {key}{nearest(key, keys)}"

    if turn.is_shot and (turn.read or turn.each or turn.form):
        yield f"{where}: nothing is read from a turn that is `heard`, and it has no `each`"

    if turn.form is not None:
        yield from _form_incoherences(turn, turn.form, where)


def _kind_incoherences(dialog: Dialog, turn: Turn, kind: str, where: str) -> Iterator[str]:
    if kind in PAIR_KINDS:
        if dialog.covers != "pair":
            yield f"{where}: {kind} is an edit of a pair; it needs `covers: pair`"
    elif kind == "edit":
        if dialog.covers != "edit" and turn.each != "edit":
            yield f"{where}: shows an edit, so it needs `each: edit`"

        if turn.is_shot:
            yield f"{where}: an example cannot show the edit that is judged"
    elif is_file(kind):
        if dialog.format == 1:
            yield f"{where}: showing a file needs `format: 2`"
    elif kind not in IMAGE_KINDS and (dialog.format == 1 or _is_mistyped(kind)):
        hint = nearest(kind, IMAGE_KINDS)
        yield f"{where}: cannot show {kind!r}{hint}; known: {', '.join(IMAGE_KINDS)}"


def _is_mistyped(kind: str) -> bool:
    """Tell whether a kind can be none of the benchmark's own.

    A benchmark may name any kind of picture, but nobody names one `sources`.
    """
    if not _KIND.fullmatch(kind):
        return True

    if kind[-1].isdigit():
        return False

    return bool(get_close_matches(kind, IMAGE_KINDS, cutoff=0.8))


def _form_incoherences(turn: Turn, form: JsonForm, where: str) -> Iterator[str]:
    if form.list and turn.read != "scores":
        yield f"{where}: `form: list` holds scores, so it needs `read: scores`"

    if (form.key or form.winners) and turn.read != "winner":
        yield f"{where}: `form: key` and words that name a winner need `read: winner`"

    if form.winners and not {"first", "second"} <= set(form.winners.values()):
        yield f"{where}: form: words: one must mean first, and one second"


def _known_slots(dialog: Dialog) -> set[str]:
    settings = {
        f"{n}.{key}" for n, s in dialog.settings.items() for c in s.choices.values() for key in c
    }
    return {*SLOT_NAMES, *settings, *dialog.settings}


_ONLY_IN_REPAIRS = {"problems"}


def _unknown_slots(text: str, known: set[str], where: str) -> Iterator[str]:
    for name in slots_of(text):
        if name not in known and not name.startswith(FIELD):
            listed = ", ".join(sorted(known))
            yield f"{where}: unknown name {{{{{name}}}}}{nearest(name, known)}; known: {listed}"


def task_title(task: str) -> str:
    """Return a task category as a title: background_change → Background Change."""
    words = task.replace("_", " ").replace("-", " ").split()
    return " ".join(word if word.isupper() else word.capitalize() for word in words)


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
        made = _object_schema({factor.key: _factor_schema(factor, form) for factor in factors})

    under = fill(form.under, slots, "form.under")
    return json.dumps(_object_schema({under: made}) if under else made)


def scores_schema(factors: Sequence[Factor], n: int) -> str:
    """Return the JSON schema of a reply that scores n images, for a turn that asks for prose."""
    form = JsonForm(text="justification")
    image = _object_schema({factor.key: _factor_schema(factor, form) for factor in factors})
    if n == 1:
        return json.dumps(image)

    return json.dumps(_object_schema({f"image_{number}": image for number in range(1, n + 1)}))


def _text_schema(form: JsonForm) -> dict[str, Any]:
    # The justification first: a judge that has given its reasons scores after them.
    return {form.text: {"type": "string"}} if form.text else {}


def _factor_schema(factor: Factor, form: JsonForm) -> dict[str, Any]:
    return _object_schema({**_text_schema(form), form.number: _score_schema(factor.scale)})


def _score_schema(scale: Scale) -> dict[str, Any]:
    if scale.words:
        return {"type": "string", "enum": [*scale.words]}

    if scale.values:
        return {"type": "number", "enum": [float(value) for value in scale.values]}

    if scale.integers:
        return {"type": "integer", "enum": list(range(int(scale.low), int(scale.high) + 1))}

    return {"type": "number", "minimum": float(scale.low), "maximum": float(scale.high)}


def _object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
