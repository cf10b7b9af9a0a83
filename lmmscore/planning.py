"""Which sessions a run consists of. Nothing is asked here; everything that would stop a run is found here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from lmmscore.benchmark import Benchmark
from lmmscore.dialogs import Dialog, Suite, load_members
from lmmscore.errors import BenchmarkError, DialogError
from lmmscore.orders import Order, order_of
from lmmscore.records import OVERALL, Item
from lmmscore.session import Session


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is played: one dialog, or the members of a suite in turn; and the settings chosen for them."""

    dialogs: tuple[Dialog, ...]
    suite: Suite | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    structured: bool = False
    """Whether the judge is held to the JSON schema of its replies."""

    @property
    def name(self) -> str:
        """The name it was asked for by."""
        return self.suite.name if self.suite else self.dialogs[0].name

    @property
    def covers_edits(self) -> bool:
        """Whether each edit has a conversation of its own."""
        return self.dialogs[0].covers == "edit"

    def settings_for(self, dialog: Dialog) -> dict[str, str]:
        """Return the chosen settings that this dialog has."""
        return {name: choice for name, choice in self.settings.items() if name in dialog.settings}

    def images_shown(self) -> set[str]:
        """Return the kinds of image that must be at hand, besides the edits."""
        shown = (kind for d in self.dialogs for kind in d.images_shown(self.settings_for(d)))
        return set(shown) - {"edit"}


def load_protocol(name: str, settings: Mapping[str, str], structured: bool = False) -> Protocol:
    """Return what to play for a name. Raises DialogError where its parts or the settings do not fit together."""
    suite, dialogs = load_members(name)
    if len({dialog.covers for dialog in dialogs}) > 1:
        raise DialogError(f"suite {name}: all members must cover an item, or all an edit")
    keys = [factor.key for dialog in dialogs for factor in dialog.factors]
    doubled = sorted({key for key in keys if keys.count(key) > 1} | ({OVERALL} & set(keys)))
    if doubled:
        raise DialogError(f"{name}: the factor name {doubled[0]} is taken; rename it")
    known = {setting for dialog in dialogs for setting in dialog.settings}
    for chosen in set(settings) - known:
        dialogs[0].setting_values({chosen: settings[chosen]})
    for dialog in dialogs:
        _refuse_open_questions(dialog)
        if structured and any(turn.read == "scores" and turn.form is None for turn in dialog.turns):
            raise DialogError(
                f"dialog {dialog.name} asks for prose, so --structured has no place here"
            )
    protocol = Protocol(tuple(dialogs), suite, dict(settings), structured)
    protocol.images_shown()
    return protocol


def _refuse_open_questions(dialog: Dialog) -> None:
    blocking = {key: text for key, text in dialog.questions.items() if key != OVERALL}
    for key, text in blocking.items():
        raise DialogError(f"dialog {dialog.name} leaves a question open, {key}: {text}")


@dataclass(frozen=True, slots=True)
class Plan:
    """A benchmark, what is played about it, and in which order the edits are shown."""

    benchmark: Benchmark
    protocol: Protocol
    order: Order = "shuffled"
    repeats: int = 1
    seed: int = 0
    numbers: Mapping[str, int] = field(default_factory=dict, repr=False)
    """Each item's place in the whole benchmark, so that judging a part does not change the orders."""
    anchors: tuple[Item, ...] = ()
    """Items asked anew at each run, whether or not they are among those judged."""

    @property
    def units(self) -> int:
        """How many units of work there are, those of the anchors included."""
        return self.repeats * self._work(self.benchmark.items) + self._work(self.anchors)

    def _work(self, items: Iterable[Item]) -> int:
        if not self.protocol.covers_edits:
            return sum(any(m in item.edits for m in self._methods) for item in items)
        return sum(m in item.edits for item in items for m in self._methods)

    @property
    def _methods(self) -> tuple[str, ...]:
        return self.benchmark.methods

    def __iter__(self) -> Iterator[Unit]:
        for item in self.benchmark.items:
            for repeat in range(1, self.repeats + 1):
                yield from self._units_of(item, repeat)

    def _units_of(self, item: Item, repeat: int) -> Iterator[Unit]:
        present = [method for method in self._methods if method in item.edits]
        absent = tuple(method for method in self._methods if method not in item.edits)
        if self.protocol.covers_edits:
            for method in present:
                yield Unit(self, item, repeat, self._sessions(item, repeat, (method,)), ())
            if absent:
                yield Unit(self, item, repeat, (), absent)
            return
        shown = order_of(
            self.order,
            present,
            item=item.id,
            item_number=self.numbers.get(item.id, 0),
            repeat=repeat,
            repeats=self.repeats,
            seed=self.seed,
        )
        yield Unit(self, item, repeat, self._sessions(item, repeat, shown) if shown else (), absent)

    def _sessions(self, item: Item, repeat: int, shown: tuple[str, ...]) -> tuple[Session, ...]:
        return tuple(
            Session(
                dialog,
                item,
                repeat,
                shown,
                self.protocol.settings_for(dialog),
                self.protocol.structured,
            )
            for dialog in self.protocol.dialogs
        )


@dataclass(frozen=True, slots=True)
class Unit:
    """What is played one after the other by one worker: a session, or the sessions of a suite about the same edits."""

    plan: Plan
    item: Item
    repeat: int
    sessions: tuple[Session, ...]
    absent: tuple[str, ...]
    """Methods without an edit of this item."""


def make_plan(
    whole: Benchmark,
    chosen: Benchmark,
    protocol: Protocol,
    order: Order = "shuffled",
    repeats: int = 1,
    seed: int = 0,
) -> Plan:
    """Return the plan, or raise BenchmarkError naming every item that lacks a picture the protocol shows."""
    _refuse_lacking(chosen, protocol)
    numbers = {item.id: number for number, item in enumerate(whole.items)}
    return Plan(chosen, protocol, order, repeats, seed, numbers)


def _refuse_lacking(benchmark: Benchmark, protocol: Protocol) -> None:
    for kind in sorted(protocol.images_shown()):
        lacking = [
            item.id
            for item in benchmark.items
            if kind not in item.images or not item.images[kind].is_file()
        ]
        if lacking:
            listed = ", ".join(lacking[:8]) + (
                f" and {len(lacking) - 8} more" if len(lacking) > 8 else ""
            )
            remedy = f"give `{kind}` in {benchmark.path}" + _other_setting(protocol, kind)
            raise BenchmarkError(
                f"{protocol.name} shows the {kind} image, which {len(lacking)} of {len(benchmark.items)} items lack: "
                f"{listed}; {remedy}"
            )


def _other_setting(protocol: Protocol, kind: str) -> str:
    """Return the setting under which the protocol does without this kind of image, as a remedy."""
    for dialog in protocol.dialogs:
        for name, setting in dialog.settings.items():
            for choice in setting.choices:
                if kind not in dialog.images_shown({**protocol.settings_for(dialog), name: choice}):
                    return f", or play it with --setting {name}={choice}"
    return ""
