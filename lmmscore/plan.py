"""Which sessions a run consists of, and in which order each shows the edits.

Nothing is asked here, and everything that would stop a run is found here.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from lmmscore.benchmark import Benchmark
from lmmscore.dialog import Dialog, Suite, load_members
from lmmscore.errors import BenchmarkError, DialogError
from lmmscore.records import OVERALL, Item
from lmmscore.session import Session

Order = Literal["given", "shuffled", "balanced"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is played: one dialog, or the members of a suite in turn, and the settings chosen for them."""

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

    @property
    def wording(self) -> tuple[str, ...]:
        """Digests of what is said, shown and read; equal where only titles or versions differ."""
        members = tuple(dialog.wording for dialog in self.dialogs)
        rule = (f"{self.suite.combine} gate={self.suite.gate}",) if self.suite else ()
        return members + rule

    def settings_for(self, dialog: Dialog) -> dict[str, str]:
        """Return the chosen settings that this dialog has."""
        return {name: choice for name, choice in self.settings.items() if name in dialog.settings}

    def images_shown(self) -> set[str]:
        """Return the kinds of image that must be at hand, besides the edits."""
        shown: set[str] = set()
        for dialog in self.dialogs:
            shown.update(dialog.images_shown(self.settings_for(dialog)))
        return shown - {"edit"}

    def sessions(self, unit: Unit) -> tuple[Session, ...]:
        """Return the sessions of a unit, in the order they are played; none where nothing is shown."""
        if not unit.shown:
            return ()
        return tuple(
            Session(
                dialog,
                unit.item,
                unit.repeat,
                unit.shown,
                self.settings_for(dialog),
                self.structured,
            )
            for dialog in self.dialogs
        )


@dataclass(frozen=True, slots=True)
class Unit:
    """What one worker plays: a session, or a suite's sessions about the same edits, one after the other.

    It travels to other processes and machines, so it holds nothing of the benchmark but its item.
    """

    item: Item
    repeat: int
    methods: tuple[str, ...]
    """The methods it accounts for, in the order of the benchmark."""
    shown: tuple[str, ...]
    """Those whose edits are shown, in the order they are shown."""
    repeats: int = 1
    """How many repeats the plan has, this one among them."""

    @property
    def absent(self) -> tuple[str, ...]:
        """The methods that made no edit of this item."""
        return tuple(method for method in self.methods if method not in self.item.edits)


def load_protocol(name: str, settings: Mapping[str, str], structured: bool = False) -> Protocol:
    """Return what to play for a name. Raises DialogError where its parts or settings do not fit."""
    suite, dialogs = load_members(name)
    return make_protocol(name, suite, dialogs, settings, structured)


def make_protocol(
    name: str,
    suite: Suite | None,
    dialogs: Sequence[Dialog],
    settings: Mapping[str, str],
    structured: bool = False,
) -> Protocol:
    """Return what to play, once it is known to fit together."""
    if len({dialog.covers for dialog in dialogs}) > 1:
        raise DialogError(f"suite {name}: all members must cover an item, or all an edit")
    keys = [factor.key for dialog in dialogs for factor in dialog.factors]
    taken = sorted({key for key in keys if keys.count(key) > 1 or key == OVERALL})
    if taken:
        raise DialogError(f"{name}: the factor name {taken[0]} is taken; rename it")
    known = {setting for dialog in dialogs for setting in dialog.settings}
    for chosen in set(settings) - known:
        # Raises, with the settings there are.
        dialogs[0].setting_values({chosen: settings[chosen]})
    for dialog in dialogs:
        _refuse_open_questions(dialog)
        if structured:
            _refuse_prose(dialog)
    protocol = Protocol(tuple(dialogs), suite, dict(settings), structured)
    protocol.images_shown()
    return protocol


def _refuse_open_questions(dialog: Dialog) -> None:
    for key, text in dialog.questions.items():
        if key != OVERALL:
            raise DialogError(f"dialog {dialog.name} leaves a question open, {key}: {text}")


def _refuse_prose(dialog: Dialog) -> None:
    if any(turn.read == "scores" and turn.form is None for turn in dialog.turns):
        raise DialogError(f"dialog {dialog.name} asks for prose, so --structured has no place here")


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
    order_rule: int = 2
    """2: orders come from the methods' names; 1, of older runs: from their order in the benchmark."""
    chosen: str = ""
    """Which part of the benchmark this is, in words; empty for all of it."""
    beside: tuple[str, ...] = ()
    """Methods that the benchmark's are judged among, without being scored again themselves."""
    anchors: tuple[Item, ...] = ()
    """Items asked again at each run, whether or not they are among those judged."""
    recorded_orders: Mapping[tuple[str, str, int], tuple[str, ...]] = field(
        default_factory=dict, repr=False
    )
    """By task, item and repeat: how the edits were shown in a run that is replayed."""

    @property
    def newcomers(self) -> tuple[str, ...]:
        """The methods that are judged among others that were judged before."""
        return self.benchmark.methods if self.beside else ()

    @property
    def units(self) -> int:
        """How many units of work there are, those of the anchors included."""
        return self.repeats * self._work(self.benchmark.items) + self._work(self.anchors)

    def _work(self, items: Iterable[Item]) -> int:
        methods = self.benchmark.methods
        if self.protocol.covers_edits:
            return sum(method in item.edits for item in items for method in methods)
        return sum(any(method in item.edits for method in methods) for item in items)

    def __iter__(self) -> Iterator[Unit]:
        for item in self.benchmark.items:
            for repeat in range(1, self.repeats + 1):
                yield from self._units_of(item, repeat)

    def anchor_units(self, repeat: int) -> Iterator[Unit]:
        """Yield the anchors' units: shown as in the first repeat, asked as a repeat of their own."""
        plan = replace(self, repeats=1)
        for item in self.anchors:
            for unit in plan._units_of(item, 1):
                yield replace(unit, repeat=repeat)

    def _units_of(self, item: Item, repeat: int) -> Iterator[Unit]:
        methods = self.benchmark.methods
        present = tuple(method for method in methods if method in item.edits)
        if not self.protocol.covers_edits:
            companions = tuple(method for method in self.beside if method in item.edits)
            shown = self._order_of(item, repeat, present + companions) if present else ()
            yield Unit(item, repeat, methods, shown, self.repeats)
            return
        for method in present:
            yield Unit(item, repeat, (method,), (method,), self.repeats)
        if len(present) < len(methods):
            absent = tuple(method for method in methods if method not in item.edits)
            yield Unit(item, repeat, absent, (), self.repeats)

    def _order_of(self, item: Item, repeat: int, present: Sequence[str]) -> tuple[str, ...]:
        recorded = self.recorded_orders.get((item.task, item.id, repeat))
        if recorded is not None and set(recorded) == set(present):
            return recorded
        if self.order_rule >= 2 and self.order != "given":
            # From the names: a benchmark that lists its methods in another order asks the same.
            present = sorted(present)
        return order_of(
            self.order,
            present,
            item=item.id,
            item_number=self.numbers.get(item.id, 0),
            repeat=repeat,
            repeats=self.repeats,
            seed=self.seed,
        )


def make_plan(
    whole: Benchmark,
    chosen: Benchmark,
    protocol: Protocol,
    order: Order = "shuffled",
    repeats: int = 1,
    seed: int = 0,
    order_rule: int = 2,
) -> Plan:
    """Return the plan. Raises BenchmarkError naming the items that lack a picture the protocol shows."""
    for kind in sorted(protocol.images_shown()):
        _refuse_lacking(chosen, protocol, kind)
    ids = [item.id for item in whole.items]
    if order_rule >= 2:
        ids.sort()
    numbers = {item: number for number, item in enumerate(ids)}
    return Plan(chosen, protocol, order, repeats, seed, numbers, order_rule)


def _refuse_lacking(benchmark: Benchmark, protocol: Protocol, kind: str) -> None:
    lacking = [item.id for item in benchmark.items if not _has(item, kind)]
    if not lacking:
        return
    listed = ", ".join(lacking[:8])
    if len(lacking) > 8:
        listed += f" and {len(lacking) - 8} more"
    raise BenchmarkError(
        f"{protocol.name} shows the {kind} image, which {len(lacking)} of "
        f"{len(benchmark.items)} items lack: {listed}; give `{kind}` in {benchmark.path}"
        f"{_setting_without(protocol, kind)}"
    )


def _has(item: Item, kind: str) -> bool:
    return kind in item.images and item.images[kind].is_file()


def _setting_without(protocol: Protocol, kind: str) -> str:
    """Return, as a remedy, the setting under which the protocol does without this kind of image."""
    for dialog in protocol.dialogs:
        for name, setting in dialog.settings.items():
            for choice in setting.choices:
                chosen = {**protocol.settings_for(dialog), name: choice}
                if kind not in dialog.images_shown(chosen):
                    return f", or play it with --setting {name}={choice}"
    return ""


def order_of(
    kind: Order,
    methods: Sequence[str],
    *,
    item: str,
    item_number: int,
    repeat: int,
    repeats: int,
    seed: int,
) -> tuple[str, ...]:
    """Return the methods in the order their edits are shown.

    It depends on the item and the repeat alone, so that judging a part of a benchmark first changes
    nothing for the rest. `item_number` counts all items of the benchmark from 0.
    """
    if kind == "given":
        return tuple(methods)
    if kind == "shuffled":
        shuffled = list(methods)
        random.Random(f"{seed} {item} {repeat}").shuffle(shuffled)
        return tuple(shuffled)
    start = list(methods)
    random.Random(f"{seed}").shuffle(start)
    return _row_of_square(start, item_number * repeats + repeat - 1)


def _row_of_square(methods: list[str], row: int) -> tuple[str, ...]:
    """Return one row of a Williams square: over n rows each method stands in each place once.

    For an even number of methods each also follows each other one equally often, so that an edit is
    not always seen after the same one.
    """
    n = len(methods)
    zigzag = [(place + 1) // 2 if place % 2 else n - place // 2 for place in range(n)]
    return tuple(methods[(step + row) % n] for step in zigzag)
