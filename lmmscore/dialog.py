"""Dialogs: protocols as strict, versioned YAML. Nothing in a dialog is code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lmmscore.errors import DialogError, FileProblem, nearest
from lmmscore.records import OVERALL
from lmmscore.resources import bundled
from lmmscore.scales import Factor, OverallRule, Scale, weights_of
from lmmscore.templates import fill, ordinal, slots_of
from lmmscore.yaml_files import load_yaml, validate

IMAGE_KINDS = ("source", "reference", "marked", "edit")

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
"""Every slot a text may use, besides `field.COLUMN` of the items file and the names of the dialog's settings."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class JsonForm(_Strict):
    """The JSON a reply is asked to hold; only needed to ask a judge for structured output."""

    under: str = Field("", description="The key the factors stand under, if any. May use slots.")
    number: str = Field("score", description="The key of the number inside a factor.")
    text: str = Field("", description="The key of the justification inside a factor.")
    words: tuple[int, int] | None = Field(
        None, description="How long a justification should be; noted only."
    )


class Turn(_Strict):
    """A single step of a dialog: words, pictures to go with them, and what the answer is read for."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9_-]*$", description="How messages and links refer to this turn."
    )
    each: Literal["edit"] | None = Field(
        None, description="`edit`: say this once for every edit, in order."
    )
    show: tuple[str, ...] = Field(
        (), description="Images shown, in order: source, reference, marked, edit."
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
    read: Literal["scores", "overall"] | None = Field(
        None,
        description="What is read from the reply: scores; or the judge's own overall, which is compared, not used.",
    )
    factors: tuple[str, ...] | None = Field(
        None, description="With read: scores, which factors; all if absent."
    )
    form: JsonForm | None = Field(None, description="The JSON asked for, where the reply is JSON.")

    def words(self, position: int, n: int) -> str:
        """Return the text that fits the place of the edit among n."""
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
        forms = (self.say, self.say_first, self.say_last, self.say_only)
        return (*(text for text in forms if text is not None), *self.say_at.values())


class Repair(_Strict):
    """What is said when scores could not be read: exactly what is missing."""

    say: str = Field(description="The words; {{problems}} lists what is missing.")
    at_most: int = Field(2, ge=0, le=2, description="How many times in one conversation.")


class Setting(_Strict):
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


class Dialog(_Strict):
    """A protocol: what is said and shown to the judge, and what is read from its replies."""

    dialog: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*$", description="The name.")
    version: int = Field(ge=1, description="Raised whenever the words or the rules change.")
    title: str = Field(description="What it is, in a line.")
    about: str = Field("", description="What it does, in a few sentences.")
    origin: str = Field("", description="Where the protocol was published.")
    covers: Literal["item", "edit"] = Field(
        description="`item`: one conversation about all edits of an item; `edit`: one about each edit."
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict, description="Choices it offers; made with --setting NAME=CHOICE."
    )
    factors: tuple[Factor, ...] = Field(min_length=1, description="What is scored.")
    overall: OverallRule = Field(
        "none", description="How the overall score comes from the factors."
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

    @model_validator(mode="after")
    def _coherent(self) -> Dialog:
        for problem in _incoherences(self):
            raise ValueError(problem)
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
        # A definition is shown to human raters only: with or without it, the judge is asked the same.
        described = self.model_dump(mode="json", exclude={"factors": {"__all__": {"definition"}}})
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()

    @cached_property
    def wording(self) -> str:
        """Identifies what is said, shown and read: a new title or version alone changes nothing."""
        described = {"title", "about", "origin", "version", "dialog", "questions"}
        data = self.model_dump(mode="json", exclude=described)
        for factor in data["factors"]:
            factor.pop("definition", None)
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

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
                    f"dialog {self.name}: no setting {name!r}{nearest(name, self.settings)} ({known})"
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
        """Return the kinds of image this dialog shows under these settings, each once, `edit` included."""
        values = self.setting_values(chosen)
        shown = (
            fill(kind, values, f"dialog {self.name}") for turn in self.turns for kind in turn.show
        )
        return tuple(dict.fromkeys(shown))

    def calls(self, n: int) -> int:
        """Return how many calls an item with n edits takes when nothing needs repair."""
        per_edit = sum(turn.each == "edit" for turn in self.turns)
        if self.covers == "edit":
            return n * len(self.turns)
        return len(self.turns) - per_edit + per_edit * n


def _incoherences(dialog: Dialog) -> Iterator[str]:
    """Yield every contradiction inside a dialog, each with its place and remedy."""
    keys = [factor.key for factor in dialog.factors]
    if len(set(keys)) < len(keys):
        yield "factors: two factors have the same key"
    if OVERALL in keys:
        yield f"factors: the key {OVERALL} is taken; give this factor another"
    if dialog.overall == "weighted":
        yield from _weight_incoherences(dialog)
    read = [key for turn in dialog.turns if turn.read == "scores" for key in (turn.factors or keys)]
    for key in keys:
        if read.count(key) != 1:
            times = "by no turn" if key not in read else "by more than one turn"
            yield f"factors: {key} is read {times}; exactly one turn must `read: scores` for it"
    for number, turn in enumerate(dialog.turns, 1):
        yield from _turn_incoherences(dialog, turn, f"turn {number} ({turn.name})")
    known = _known_slots(dialog)
    yield from _unknown_slots(dialog.system, known - _ONLY_IN_REPAIRS, "system")
    yield from _unknown_slots(dialog.repair.say, known, "repair")
    if not any("edit" in turn.show or any(map(slots_of, turn.show)) for turn in dialog.turns):
        yield "turns: no turn shows an edit; one must `show: [edit]`"


def _weight_incoherences(dialog: Dialog) -> Iterator[str]:
    weights = [factor.weight for factor in dialog.factors]
    given = [weight for weight in weights if weight is not None]
    if len(given) < len(weights):
        yield "overall: weighted, but a factor has no weight"
    elif any(not weight.is_finite() or weight < 0 for weight in given):
        yield "factors: a weight must be 0 or more"
    elif sum(given) != 1:
        yield f"factors: the weights add up to {sum(given)}, not to 1"


def _turn_incoherences(dialog: Dialog, turn: Turn, where: str) -> Iterator[str]:
    known = _known_slots(dialog) - _ONLY_IN_REPAIRS
    for text in turn.texts:
        yield from _unknown_slots(text, known, where)
    for kind in turn.show:
        if not slots_of(kind) and kind not in IMAGE_KINDS:
            yield f"{where}: cannot show {kind!r}{nearest(kind, IMAGE_KINDS)}; known: {', '.join(IMAGE_KINDS)}"
        yield from _unknown_slots(kind, known, where)
    if dialog.covers == "item" and "edit" in turn.show and turn.each != "edit":
        yield f"{where}: shows an edit, so it needs `each: edit`"
    if dialog.covers == "edit" and turn.each == "edit":
        yield f"{where}: `each: edit` has no place where the dialog covers one edit"
    for key in turn.factors or ():
        if key not in [factor.key for factor in dialog.factors]:
            yield f"{where}: unknown factor {key}{nearest(key, [factor.key for factor in dialog.factors])}"


def _known_slots(dialog: Dialog) -> set[str]:
    settings = {
        f"{n}.{key}" for n, s in dialog.settings.items() for c in s.choices.values() for key in c
    }
    return {*SLOT_NAMES, *settings, *dialog.settings}


_ONLY_IN_REPAIRS = {"problems"}


def _unknown_slots(text: str, known: set[str], where: str) -> Iterator[str]:
    for name in slots_of(text):
        if name not in known and not name.startswith("field."):
            listed = ", ".join(sorted(known))
            yield f"{where}: unknown name {{{{{name}}}}}{nearest(name, known)}; known: {listed}"


class Suite(_Strict):
    """Several dialogs about the same edits, combined into one overall score."""

    suite: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*$", description="The name.")
    version: int = Field(ge=1, description="Raised whenever the members or the rules change.")
    title: str = Field(description="What it is, in a line.")
    about: str = Field("", description="What it does, in a few sentences.")
    members: tuple[str, ...] = Field(
        min_length=1, description="Dialogs, in the order they are played."
    )
    combine: Literal["mean", "geometric"] = Field(
        description="How the members' overalls become one."
    )
    gate: bool = Field(
        False, description="Where a member's overall is 0, later members are not asked."
    )

    @property
    def name(self) -> str:
        """The suite's name."""
        return self.suite


def dialog_folders() -> list[Path]:
    """Return where dialogs are looked for by name: the working folder's dialogs/, then the bundled ones."""
    return [folder for folder in (Path("dialogs"), bundled("dialogs")) if folder.is_dir()]


def dialog_names() -> list[str]:
    """Return the names of all dialogs and suites at hand."""
    return sorted({path.stem for folder in dialog_folders() for path in folder.glob("*.yaml")})


def find_dialog(name: str) -> Path:
    """Return the file of a dialog given by name or path."""
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    for folder in dialog_folders():
        if (folder / f"{name}.yaml").is_file():
            return folder / f"{name}.yaml"
    known = dialog_names()
    raise DialogError(
        f"no dialog {name!r}{nearest(name, known)} (there are: {', '.join(known)}; or give a file)"
    )


def is_bundled(name: str) -> bool:
    """Tell whether a name means a dialog that comes with lmmscore."""
    return find_dialog(name).parent == bundled("dialogs")


def load(name: str) -> Dialog | Suite:
    """Return the dialog or suite given by name or path."""
    path = find_dialog(name)
    data = load_yaml(path)
    try:
        if isinstance(data, dict) and "suite" in data:
            return validate(Suite, data, str(path))
        return validate(Dialog, data, str(path))
    except FileProblem as error:
        raise DialogError(str(error)) from error


def load_dialog(name: str) -> Dialog:
    """Return the dialog given by name or path; a suite is refused."""
    loaded = load(name)
    if isinstance(loaded, Suite):
        raise DialogError(
            f"{name} is a suite of {', '.join(loaded.members)}; name one of these here"
        )
    return loaded


def load_members(name: str) -> tuple[Suite | None, list[Dialog]]:
    """Return the dialogs to play for a name: one, or the members of a suite and the suite."""
    loaded = load(name)
    if isinstance(loaded, Dialog):
        return None, [loaded]
    return loaded, [load_dialog(member) for member in loaded.members]


def task_title(task: str) -> str:
    """Return a task category as a title: background_change → Background Change."""
    words = task.replace("_", " ").replace("-", " ").split()
    return " ".join(word if word.isupper() else word.capitalize() for word in words)


def position_slots(position: int) -> dict[str, str]:
    """Return the slots that speak of the edit now shown."""
    return {"position": str(position), "ordinal": ordinal(position)}


def reply_schema(form: JsonForm, factors: Sequence[Factor], slots: Mapping[str, str]) -> str:
    """Return the JSON schema of a reply, as text: every factor, its scale and its justification."""
    made = _object_schema({factor.key: _factor_schema(factor, form) for factor in factors})
    under = fill(form.under, slots, "form.under")
    return json.dumps(_object_schema({under: made}) if under else made)


def _factor_schema(factor: Factor, form: JsonForm) -> dict[str, Any]:
    # The justification first: a judge that has given its reasons scores after them.
    parts: dict[str, Any] = {form.text: {"type": "string"}} if form.text else {}
    return _object_schema({**parts, form.number: _number_schema(factor.scale)})


def _number_schema(scale: Scale) -> dict[str, Any]:
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
