"""Dialogs: protocols as strict, versioned YAML. Nothing in a dialog is code.

Format 1 is what `format` absent means; everything marked so in the descriptions needs `format: 2`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from lmmscore.conversation import (
    FIELD,
    IMAGE_KINDS,
    PAIR_KINDS,
    SHOW,
    SLOT_NAMES,
    JsonForm,
    Repair,
    Turn,
    fill,
    is_file,
    shown_in,
    slots_of,
)
from lmmscore.errors import DialogError, FileProblem, alternatives, nearest
from lmmscore.records import OVERALL, Item
from lmmscore.resources import bundled
from lmmscore.scales import (
    OPEN,
    Factor,
    Formula,
    Overall,
    Rule,
    RulePart,
    faults_of,
    formula,
    parts_of,
)
from lmmscore.yaml_files import (
    Place,
    PlacedError,
    StrictModel,
    line_at,
    parse_model,
    parse_yaml,
    read_text,
)

_KIND = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class Setting(StrictModel):
    """A choice the dialog offers. Each choice gives values to the slots `setting.NAME`."""

    default: str = Field(description="The choice where none is made.")
    about: str = Field("", description="What is chosen.")
    choices: dict[str, dict[str, str]] = Field(
        min_length=1, description="For each choice, what it gives to each of the setting's names."
    )

    @model_validator(mode="after")
    def _same_names(self) -> Setting:
        """Refuse a setting whose choices do not give the same names."""
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
        "`edit`: one about each edit; `pair`: one about each pair of them (format 2)."
    )
    orders: Literal["both", "one"] = Field(
        "both", description="Format 2: whether each pair is shown in both orders, or in one."
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict, description="Choices it offers; made with --setting NAME=CHOICE."
    )
    factors: tuple[Factor, ...] = Field(
        (), description="What is scored; may be left out where only the winner of a pair is read."
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
        # No dialog of format 1 is about pairs, so format 2 must be meant.
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
    def digest(self) -> str:
        """Identifies what is said and read, whatever the layout of the file."""
        return self._digest()

    @cached_property
    def wording(self) -> str:
        """Identifies what is said, shown and read: a new title or version alone changes nothing."""
        return self._digest("title", "about", "origin", "version", "dialog", "questions")

    def _digest(self, *without: str) -> str:
        """Return the digest of every key but some."""
        # A definition is shown to human raters only: the judge is asked the same without it.
        left_out: dict[str, Any] = {"factors": {"__all__": {"definition"}}}
        left_out |= dict.fromkeys(without, True)
        described = self.model_dump(mode="json", exclude=left_out)
        # Digests of dialogs written before a factor could say so stay what they were.
        for factor in described["factors"]:
            if factor["better"] == "high":
                del factor["better"]

        if self.format == 1:
            # Digests of dialogs that could be written before format 2 stay what they were.
            described = _without_format_2(described)

        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()

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
        """Return the path of a picture next to the dialog.

        Raises DialogError for a dialog that was not read from a file, so that it has no folder.
        """
        if self._folder is None:
            raise DialogError(f"dialog {self.name} shows {name}, but its folder is not known")

        return self._folder / name

    def beside(self, folder: Path) -> Dialog:
        """Return the dialog with the folder of its pictures.

        Raises DialogError if one of them is missing, or lies outside.
        """
        for name in self.files:
            _refuse_outside(folder, name, f"dialog {self.name}")

        placed = self.model_copy()
        placed._folder = folder
        return placed

    @property
    def files(self) -> tuple[str, ...]:
        """The picture files that it shows, as paths relative to its folder."""
        shown = (name for turn in self.turns for name in turn.show if is_file(name))
        return tuple(dict.fromkeys(shown))

    def kept_in(self, folder: Path) -> Dialog:
        """Return the dialog with its pictures taken from its own folder below this one."""
        return self.beside(folder / self.name) if self.files else self

    def remarks(self) -> Iterator[str]:
        """Yield what is allowed but hardly intended."""
        for place, turn in enumerate(self.turns):
            if turn.is_shot and not self._is_seen(place):
                yield f"turn {turn.name}: an example that no question follows, so no judge sees it"

        # A dialog that covers several edits starts a new conversation to leave earlier ones out.
        if self.covers == "edit":
            for turn in self.turns:
                yield from _blind_words(turn)

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
        """Return the factors read from the reply to this turn, in its order."""
        if turn.factors is None:
            return self.factors

        return tuple(self.factor(key) for key in turn.factors)

    def setting_values(self, chosen: Mapping[str, str]) -> dict[str, str]:
        """Return the slots that the chosen settings give, defaults for the rest."""
        for name in chosen:
            if name not in self.settings:
                there_are = "; it has no settings"
                if self.settings:
                    there_are = alternatives(name, self.settings, "it has")

                raise DialogError(f"dialog {self.name}: no setting {name!r}{there_are}")

        values: dict[str, str] = {}
        for name, setting in self.settings.items():
            choice = chosen.get(name, setting.default)
            if choice not in setting.choices:
                known = ", ".join(setting.choices)
                raise DialogError(
                    f"dialog {self.name}: setting {name} cannot be {choice!r}; it can be: {known}"
                )

            # The choice itself is a slot too: {{setting}} says its name.
            values |= {f"{name}.{key}": text for key, text in setting.choices[choice].items()}
            values[name] = choice

        return values

    def images_shown(self, chosen: Mapping[str, str]) -> tuple[str, ...]:
        """Return the kinds of image this dialog shows under these settings, each once,
        `edit` included."""
        values = self.setting_values(chosen)
        shown = (
            fill(kind, values, f"dialog {self.name}")
            for turn in self.turns
            for kind in turn.kinds()
        )
        return tuple(dict.fromkeys(shown))

    def images_needed(self, item: Item, chosen: Mapping[str, str]) -> tuple[str, ...]:
        """Return the kinds of the item's own images that a conversation about it shows."""
        values = self.setting_values(chosen)
        where = f"dialog {self.name}"
        needed = []
        for turn in self.turns_for(item):
            for kind in turn.kinds(item.task):
                filled = fill(kind, values, where)
                if filled not in ("edit", *PAIR_KINDS) and not is_file(filled):
                    needed.append(filled)

        return tuple(dict.fromkeys(needed))

    def columns_needed(self, item: Item) -> tuple[str, ...]:
        """Return the columns of the items file that a conversation about an item says."""
        return self._columns(self.turns_for(item), item.task)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the items file that it says, of whatever items."""
        return self._columns(self.turns)

    def _columns(self, turns: Iterable[Turn], task: str | None = None) -> tuple[str, ...]:
        texts = [self.system]
        for turn in turns:
            texts += [*turn.texts(task), turn.heard or ""]

        columns: list[str] = []
        for text in texts:
            names = [name for name in slots_of(text) if name.startswith(FIELD)]
            columns += [name.removeprefix(FIELD) for name in names]

        return tuple(dict.fromkeys(columns))

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
    """Yield where a new conversation scores an edit that it does not show, by task if need be."""
    apart = turn.fresh and turn.read == "scores"
    if not apart or "edit" in turn.show or _shows_by_setting(turn):
        return

    says = f"turn {turn.name}: scores an edit that a new conversation never shows"
    if "edit" not in shown_in(turn.say):
        yield says

    for task, text in turn.say_for.items():
        if "edit" not in shown_in(text):
            yield f"{says} for the task {task}"


def _refuse_outside(folder: Path, name: str, where: str) -> None:
    """Refuse a picture outside the dialog's folder: dialogs come from other people."""
    path = PurePosixPath(name)
    outside = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name
    if outside or not (folder / name).resolve().is_relative_to(folder.resolve()):
        raise DialogError(
            f"{where}: {name} is outside the dialog's folder; put it next to the dialog"
        )

    if not (folder / name).is_file():
        raise DialogError(f"{where}: there is no file {name} next to the dialog, in {folder}")


_NEW_KEYS = {
    "dialog": ("format", "orders"),
    "turn": ("say_for", "fresh", "when", "heard"),
    "form": ("list", "key"),
    "scale": ("words",),
}
"""What came with format 2, by where it stands."""
_NEEDS_FORMAT_2 = "needs `format: 2`"


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


def _format_incoherences(dialog: Dialog) -> Iterator[str]:
    """Yield everything in a dialog of format 1 that only format 2 has."""
    if dialog.format != 1:
        return

    if dialog.orders != "both":
        yield f"orders {_NEEDS_FORMAT_2}"

    if isinstance(dialog.overall, Rule) or dialog.overall in ("min", "max", "product"):
        yield f"this kind of overall {_NEEDS_FORMAT_2}"

    if any(factor.scale.words for factor in dialog.factors):
        yield f"a scale of words {_NEEDS_FORMAT_2}"

    if any(factor.better != "high" for factor in dialog.factors):
        yield f"`better: low` {_NEEDS_FORMAT_2}"

    for turn in dialog.turns:
        for key in _newer_in_turn(turn):
            yield f"turn {turn.name}: {key} {_NEEDS_FORMAT_2}"


def _newer_in_turn(turn: Turn) -> Iterator[str]:
    """Yield the keys of a turn that only format 2 has."""
    for key in _NEW_KEYS["turn"]:
        if getattr(turn, key) not in (None, False, {}):
            yield key

    form = turn.form or JsonForm()
    for key in _NEW_KEYS["form"]:
        if getattr(form, key):
            yield f"form: {key}"

    for text in turn.texts():
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


def _factor_incoherences(dialog: Dialog) -> Iterator[str]:
    """Yield what is wrong with the list of factors."""
    keys = [factor.key for factor in dialog.factors]
    if not keys and dialog.covers != "pair":
        yield "factors: missing; a dialog scores at least one"

    if len(set(keys)) < len(keys):
        yield "factors: two factors have the same key"

    if OVERALL in keys:
        yield f"factors: the key {OVERALL} is taken; give this factor another"


def _missing_turns(dialog: Dialog) -> Iterator[str]:
    """Yield what no turn does though one must: ask something, show an edit."""
    asked = [turn for turn in dialog.turns if not turn.is_shot]
    if not asked:
        yield "turns: nothing is asked; every turn is an example with its answer (`heard`)"

    if any(_shows_by_setting(turn) for turn in asked):
        return

    shown = {kind for turn in asked for kind in turn.kinds()}
    edits = PAIR_KINDS if dialog.covers == "pair" else ("edit",)
    if "edit" not in shown and not shown.issuperset(edits):
        yield f"turns: no turn shows an edit; one must `show: [{', '.join(edits)}]`"


def _shows_by_setting(turn: Turn) -> bool:
    return any(map(slots_of, turn.show))


def _pair_incoherences(dialog: Dialog) -> Iterator[str]:
    """Yield why a dialog cannot say who wins a pair, or speaks of winners without pairs."""
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

    for one, other in combinations(reads, 2):
        if not _exclude_each_other(one, other):
            yield f"factors: {key} is read by more than one turn; {remedy}"


def _exclude_each_other(one: Turn, other: Turn) -> bool:
    """Tell whether two turns may read the same: no item meets both, or only the items can tell."""
    if one.when is None or other.when is None:
        return False

    by_task = one.when.task is not None and other.when.task is not None
    return one.when.excludes(other.when) or not by_task


def _turn_incoherences(dialog: Dialog, turn: Turn, where: str) -> Iterator[str]:
    """Yield every contradiction inside one turn, or between it and its dialog."""
    yield from _slot_incoherences(dialog, turn, where)

    if dialog.covers == "edit" and turn.each == "edit":
        yield f"{where}: `each: edit` makes no sense in a dialog that covers one edit"
    elif turn.each == "edit" and turn.read:
        # A reply about one of several edits may well call it image 1, whichever it is.
        yield (
            f"{where}: with `each: edit` nothing can be read, as it would not be known which edit "
            "the scores are of; read them in one turn about all edits, or say `covers: edit`"
        )

    keys = [factor.key for factor in dialog.factors]
    for key in turn.factors or ():
        if key not in keys:
            yield f"{where}: unknown factor {key}{nearest(key, keys)}"

    # Question and answer of an example are written in the dialog: there is no reply to read, and no
    # edit to repeat it for.
    if turn.is_shot and (turn.read or turn.each or turn.form):
        yield f"{where}: nothing is read from a turn that is `heard`, and it has no `each`"

    if turn.form is not None:
        yield from _form_incoherences(turn, turn.form, where)


def _slot_incoherences(dialog: Dialog, turn: Turn, where: str) -> Iterator[str]:
    """Yield the unknown names in a turn's words, and the pictures that it cannot show."""
    known = _known_slots(dialog) - _ONLY_IN_REPAIRS
    # Any kind of picture may stand between the words; which of them can be shown is asked below.
    kinds = {f"{SHOW}{kind}" for kind in turn.kinds()}
    for text in turn.texts():
        yield from _unknown_slots(text, known | kinds, where)

    yield from _unknown_slots(turn.heard or "", known, where)

    for kind in turn.kinds():
        yield from _unknown_slots(kind, known, where)
        # A kind that a setting gives is known only once the setting is chosen.
        if not slots_of(kind):
            yield from _kind_incoherences(dialog, turn, kind, where)


def _kind_incoherences(dialog: Dialog, turn: Turn, kind: str, where: str) -> Iterator[str]:
    """Yield why a turn cannot show a kind of picture."""
    if kind == OPEN:
        yield (
            f"{where}: an open question: which images does it show? Write show: [source, edit], or "
            "import it again with --set show=source,edit"
        )
        return

    if kind == "edit":
        yield from _edit_incoherences(dialog, turn, where)
        return

    if kind in PAIR_KINDS:
        if dialog.covers != "pair":
            yield f"{where}: {kind} is an edit of a pair; it needs `covers: pair`"

        return

    # Whether the file is there is asked when the dialog is read from its folder.
    if is_file(kind):
        if dialog.format == 1:
            yield f"{where}: showing a file {_NEEDS_FORMAT_2}"

        return

    own_kinds = dialog.format == 2 and not _is_mistyped(kind)
    if kind not in IMAGE_KINDS and not own_kinds:
        yield f"{where}: cannot show {kind!r}{alternatives(kind, IMAGE_KINDS)}"


def _edit_incoherences(dialog: Dialog, turn: Turn, where: str) -> Iterator[str]:
    """Yield why a turn cannot show the edit that is judged."""
    if dialog.covers != "edit" and turn.each != "edit":
        yield f"{where}: shows an edit, so it needs `each: edit`"

    if turn.is_shot:
        yield f"{where}: an example cannot show the edit that is judged"


def _is_mistyped(kind: str) -> bool:
    """Tell whether a kind cannot be one of the benchmark's own.

    A benchmark may name any kind of picture, but nobody names one `sources`.
    """
    if not _KIND.fullmatch(kind):
        return True

    if kind[-1].isdigit():
        return False

    return bool(get_close_matches(kind, IMAGE_KINDS, cutoff=0.8))


def _form_incoherences(turn: Turn, form: JsonForm, where: str) -> Iterator[str]:
    """Yield what a form asks for that the turn does not read."""
    if form.list and turn.read != "scores":
        yield f"{where}: `form: list` holds scores, so it needs `read: scores`"

    names_winner = bool(form.key or form.winners)
    if names_winner and turn.read != "winner":
        yield f"{where}: `form: key` and words that name a winner need `read: winner`"

    # Words for ties alone could never say who wins.
    meanings = set(form.winners.values())
    if meanings and not meanings.issuperset(PAIR_KINDS):
        yield f"{where}: form: words: one must mean first, and one second"


def _known_slots(dialog: Dialog) -> set[str]:
    """Return every name that a text may have as a slot, columns of the items file aside."""
    known = {*SLOT_NAMES, *dialog.settings}
    for name, setting in dialog.settings.items():
        # Every choice gives the same names.
        known |= {f"{name}.{key}" for key in setting.choices[setting.default]}

    return known


_ONLY_IN_REPAIRS = {"problems"}


def _unknown_slots(text: str, known: set[str], where: str) -> Iterator[str]:
    for name in slots_of(text):
        if name not in known and not name.startswith(FIELD):
            yield f"{where}: unknown name {{{{{name}}}}}{alternatives(name, sorted(known))}"


# --------------------------------------------------------------------------------------------------
# Dialogs by name or file, and suites: several dialogs as one protocol.
# --------------------------------------------------------------------------------------------------


class Suite(StrictModel):
    """Several dialogs about the same edits, combined into one overall score."""

    suite: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*$", description="The name.")
    version: int = Field(ge=1, description="Raised whenever the members or the rules change.")
    title: str = Field(description="What it is, in a line.")
    about: str = Field("", description="What it does, in a few sentences.")
    format: Literal[1, 2] = Field(1, description="Which version of this language it is written in.")
    members: tuple[str, ...] = Field(
        min_length=1,
        description="Dialogs, in the order they are run. Format 2: suites too.",
    )
    combine: Literal["mean", "geometric"] | None = Field(
        None, description="How the members' overalls become one; format 2 has `overall` for it."
    )
    overall: Overall | None = Field(
        None, description="Format 2: the rule by which the members' overalls become one."
    )
    gate: bool = Field(
        False, description="Where a member's overall is 0, later members are not asked and count 0."
    )

    @model_validator(mode="after")
    def _one_rule(self) -> Suite:
        """Refuse a suite without a rule, with two, or with one that makes no sense for members."""
        if self.format == 1 and self.overall is not None:
            raise ValueError("overall needs `format: 2`; format 1 has `combine`")

        if (self.combine is None) == (self.overall is None):
            raise ValueError(f"give {'combine' if self.format == 1 else 'overall'}, and just that")

        if self.overall in ("none", "weighted", "bradley-terry"):
            raise ValueError(
                f"overall: {self.overall} cannot be used in a suite; spell out another rule"
            )

        return self

    @property
    def name(self) -> str:
        """The suite's name."""
        return self.suite

    @property
    def rule(self) -> Overall:
        """How the members' overalls become one."""
        return self.overall or self.combine or "none"


@dataclass(frozen=True, slots=True)
class Ensemble:
    """A suite with its members loaded; a member may be a suite as well."""

    suite: Suite
    members: tuple[Dialog | Ensemble, ...]

    @property
    def name(self) -> str:
        """The suite's name."""
        return self.suite.name

    @property
    def dialogs(self) -> tuple[Dialog, ...]:
        """All dialogs, in the order they are run."""
        found: list[Dialog] = []
        for member in self.members:
            found += [member] if isinstance(member, Dialog) else member.dialogs

        return tuple(found)

    def kept_in(self, folder: Path) -> Ensemble:
        """Return the suite with each dialog's pictures taken from its folder below this one."""
        return Ensemble(self.suite, tuple(member.kept_in(folder) for member in self.members))

    @property
    def formula(self) -> Formula:
        """The overall as a function of the members' overalls. Raises where a member has none."""
        parts = []
        for member in self.members:
            inner = member.formula
            if inner is None:
                raise DialogError(
                    f"suite {self.name}: {member.name} gives no overall; give it an `overall`"
                )

            parts.append(RulePart(member.name, inner.ends))

        for fault in faults_of(self.suite.rule, parts):
            raise DialogError(f"suite {self.name}: {fault}")

        found = formula(self.suite.rule, parts)
        assert found is not None, "a suite always has a rule"
        return found


def ensemble_of(suite: Suite, inner: Sequence[Suite], dialogs: Sequence[Dialog]) -> Ensemble:
    """Return a suite put together from its parts, which are known by their names."""
    found: dict[str, Dialog | Suite] = {dialog.name: dialog for dialog in dialogs}
    found |= {each.name: each for each in inner}
    members: list[Dialog | Ensemble] = []
    for name in suite.members:
        member = found[name]
        if isinstance(member, Suite):
            members.append(ensemble_of(member, inner, dialogs))
        else:
            members.append(member)

    return Ensemble(suite, tuple(members))


def dialog_folders() -> list[Path]:
    """Return where dialogs are looked for by name: the working folder's dialogs/,
    then the bundled ones."""
    return [folder for folder in (Path("dialogs"), bundled("dialogs")) if folder.is_dir()]


def dialog_names() -> list[str]:
    """Return the names of all dialogs and suites that can be named."""
    return sorted({path.stem for folder in dialog_folders() for path in folder.glob("*.yaml")})


def find_dialog(name: str, beside: Path | None = None) -> Path:
    """Return the file of a dialog given by name or path; a suite's members may lie beside it."""
    if name.endswith((".yaml", ".yml")):
        near = beside / name if beside else None
        return near if near is not None and near.is_file() else Path(name)

    folders = dialog_folders() if beside is None else [beside, *dialog_folders()]
    for folder in folders:
        if (folder / f"{name}.yaml").is_file():
            return folder / f"{name}.yaml"

    if Path(name).is_file():
        raise DialogError(f"{name}: a dialog's file must end in .yaml or .yml; rename it")

    there_are = alternatives(name, dialog_names(), "there are")
    raise DialogError(f"no dialog {name!r}{there_are}; or give a file")


def is_bundled(name: str) -> bool:
    """Tell whether a name means a dialog that comes with lmmscore."""
    try:
        return find_dialog(name).parent == bundled("dialogs")
    except DialogError:
        return False


def load(name: str) -> Dialog | Suite:
    """Return the dialog or suite given by name or path."""
    return _load_file(find_dialog(name))


def _load_file(path: Path) -> Dialog | Suite:
    """Return what a file holds. Raises DialogError, with the line at fault."""
    text = read_text(path)
    data = parse_yaml(text, str(path))
    try:
        if isinstance(data, dict) and "suite" in data:
            return parse_model(Suite, text, str(path))

        return parse_model(Dialog, text, str(path)).beside(path.parent)
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


def load_members(name: str) -> Dialog | Ensemble:
    """Return what a name stands for: a dialog, or a suite with all its members."""
    return _load_members(find_dialog(name), ())


def _load_members(path: Path, inside: tuple[Path, ...]) -> Dialog | Ensemble:
    """Return a dialog, or a suite with its members; `inside` are the suites around it."""
    loaded = _load_file(path)
    if isinstance(loaded, Dialog):
        return loaded

    if path.resolve() in inside:
        raise DialogError(f"{path}: the suite holds itself; take it out of its members")

    # Where a suite of format 1 finds its members stays what it was.
    beside = path.parent if loaded.format == 2 else None
    found = []
    for number, name in enumerate(loaded.members):
        try:
            member_path = find_dialog(name, beside)
        except DialogError as error:
            where = line_at(path, "members", number)
            raise DialogError(f"{where}: members: {error}") from error

        member = _load_members(member_path, (*inside, path.resolve()))
        if loaded.format == 1 and isinstance(member, Ensemble):
            raise DialogError(f"{path}: {name} is a suite; a suite of suites needs `format: 2`")

        found.append(member)

    # From here on members go by their names, wherever their files were.
    named = loaded.model_copy(update={"members": tuple(member.name for member in found)})
    return Ensemble(named, tuple(found))
