"""Which sessions a run consists of, and in which order each shows the edits.

Nothing is asked here, and everything that would stop a run is found here.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lmmscore.benchmark import Benchmark
from lmmscore.dialog import Dialog, Ensemble, Suite, find_dialog, load_members
from lmmscore.errors import (
    BenchmarkError,
    DialogError,
    ImageProblem,
    alternatives,
    counted,
    listed,
)
from lmmscore.images import refuse_broken
from lmmscore.records import OVERALL, Item

if TYPE_CHECKING:
    from lmmscore.session import Session

Order = Literal["given", "shuffled", "balanced"]

Place = tuple[str, str, int]
"""Task, item and repeat: where in a run something belongs."""

Orders = Mapping[tuple[Place, frozenset[str]], tuple[str, ...]]
"""The order in which methods were shown at a place."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is played: a dialog, or the members of a suite in turn, with the chosen settings."""

    played: Dialog | Ensemble
    settings: Mapping[str, str] = field(default_factory=dict)
    structured: bool = False
    """Whether the judge is held to the JSON schema of its replies."""
    reader: bool = False
    """Whether a reply that cannot be read goes to a reader before the judge is asked again."""
    structured_turns: str = ""
    """`scores`: the judge is held to a JSON schema where it scores, and nowhere else."""

    @property
    def variant(self) -> str:
        """How it differs from the protocol as written, in words; empty where it does not."""
        if not self.structured_turns:
            return ""
        option = f"--structured-turns {self.structured_turns}"
        return f"A variant of {self.name}: scores are given as JSON, held to a schema ({option})."

    @property
    def name(self) -> str:
        """The name of the dialog or suite."""
        return self.played.name

    @property
    def dialogs(self) -> tuple[Dialog, ...]:
        """Every dialog, in the order they are played."""
        return (self.played,) if isinstance(self.played, Dialog) else self.played.dialogs

    @property
    def suite(self) -> Suite | None:
        """The suite, where it is one."""
        return None if isinstance(self.played, Dialog) else self.played.suite

    @property
    def covers_edits(self) -> bool:
        """Whether each edit has a conversation of its own."""
        return self.dialogs[0].covers == "edit"

    @property
    def covers_pairs(self) -> bool:
        """Whether each pair of edits has a conversation of its own."""
        return self.dialogs[0].covers == "pair"

    @property
    def wording(self) -> tuple[str, ...]:
        """Digests of what is said, shown and read; equal where only titles or versions differ."""
        members = tuple(dialog.wording for dialog in self.dialogs)
        rule = (f"{self.suite.rule} gate={self.suite.gate}",) if self.suite else ()
        return members + rule

    def settings_for(self, dialog: Dialog) -> dict[str, str]:
        """Return the chosen settings that this dialog has."""
        return {name: choice for name, choice in self.settings.items() if name in dialog.settings}

    def refuse_unknown_settings(self) -> None:
        """Raise DialogError where a setting was chosen that no dialog has."""
        known = {setting for dialog in self.dialogs for setting in dialog.settings}
        for name, choice in self.settings.items():
            if name not in known:
                # Raises, with the settings there are.
                self.dialogs[0].setting_values({name: choice})

    def images_needed(self, item: Item) -> set[str]:
        """Return the kinds of the item's own images that are shown with it."""
        needed: set[str] = set()
        for dialog in self.dialogs:
            needed.update(dialog.images_needed(item, self.settings_for(dialog)))
        return needed

    def sessions(self, unit: Unit) -> tuple[Session, ...]:
        """Return the sessions of a unit, in the order they are played;
        none where nothing is shown."""
        # Imported late: only playing sessions involves reading replies, tables do not.
        from lmmscore.session import Session

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
                self.reader,
                self.structured_turns,
            )
            for dialog in self.dialogs
        )


@dataclass(frozen=True, slots=True)
class Unit:
    """What one worker plays: a session, or a suite's sessions about the same edits, one after the
    other.

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
    is_pair: bool = False
    """Whether two edits are compared, in the order they are shown."""

    @property
    def absent(self) -> tuple[str, ...]:
        """The methods that made no edit of this item."""
        return tuple(method for method in self.methods if method not in self.item.edits)

    @property
    def place(self) -> Place:
        """Where it belongs; the units of one place share an item and a repeat."""
        return self.item.task, self.item.id, self.repeat

    @property
    def key(self) -> tuple[Place, tuple[str, ...]]:
        """What identifies it within its plan."""
        # A pair is shown in two orders, and each is a unit of its own.
        in_order = self.is_pair and bool(self.shown)
        return self.place, self.shown if in_order else self.methods


def load_protocol(name: str, settings: Mapping[str, str], structured: bool = False) -> Protocol:
    """Return what to play for a name. Raises DialogError where its parts or settings do not fit."""
    protocol = Protocol(load_members(name), dict(settings), structured)
    try:
        _refuse_unplayable(protocol)
    except DialogError as error:
        raise DialogError(f"{find_dialog(name)}: {error}") from error

    return protocol


def _refuse_unplayable(protocol: Protocol) -> None:
    """Raise DialogError where the parts or settings of a protocol do not fit together."""
    played, dialogs = protocol.played, protocol.dialogs
    if isinstance(played, Ensemble):
        _refuse_unlike_members(played)

    keys = [factor.key for dialog in dialogs for factor in dialog.factors]
    taken = sorted({key for key in keys if keys.count(key) > 1 or key == OVERALL})
    if taken:
        raise DialogError(f"{played.name}: the factor name {taken[0]} is taken; rename it")

    protocol.refuse_unknown_settings()
    for dialog in dialogs:
        _refuse_open_questions(dialog)
        if protocol.structured:
            _refuse_prose(dialog)

        dialog.images_shown(protocol.settings_for(dialog))


def _refuse_unlike_members(played: Ensemble) -> None:
    """Refuse a suite whose members' scores cannot be combined, or whose names are ambiguous."""
    covered = {dialog.covers for dialog in played.dialogs}
    if len(covered) > 1:
        raise DialogError(f"suite {played.name}: all members must cover an item, or all an edit")
    if covered == {"pair"}:
        raise DialogError(
            f"suite {played.name}: its members compare pairs, which give no scores to combine; "
            "run each by itself"
        )

    names = [member.name for member in _members(played)]
    keys = [factor.key for dialog in played.dialogs for factor in dialog.factors]
    for name in names:
        if names.count(name) > 1 or name in keys or name == OVERALL:
            raise DialogError(f"suite {played.name}: the name {name} is taken; rename that member")

    # Raises where a rule does not fit the members.
    for member in (played, *_members(played)):
        if isinstance(member, Ensemble):
            member.formula  # noqa: B018


def _members(played: Ensemble) -> Iterator[Dialog | Ensemble]:
    """Yield every member, those of inner suites included."""
    for member in played.members:
        yield member
        if isinstance(member, Ensemble):
            yield from _members(member)


def _refuse_open_questions(dialog: Dialog) -> None:
    for key, text in dialog.questions.items():
        if key != OVERALL:
            raise DialogError(f"dialog {dialog.name} leaves a question open, {key}: {text}")


def _refuse_prose(dialog: Dialog) -> None:
    if any(turn.read == "scores" and turn.form is None for turn in dialog.turns):
        raise DialogError(
            f"dialog {dialog.name} asks for prose, so --structured does not apply; "
            "--structured-turns scores holds the turn that scores to a schema"
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """A benchmark, what is played about it, and in which order the edits are shown."""

    benchmark: Benchmark
    protocol: Protocol
    order: Order = "shuffled"
    repeats: int = 1
    seed: int = 0
    numbers: Mapping[str, int] = field(default_factory=dict, repr=False)
    """Each item's place in the whole benchmark, so that judging a part does not change the orders.
    """
    order_rule: int = 2
    """2: orders come from the methods' names; 1, of older runs: from their order in the benchmark.
    """
    chosen: str = ""
    """Which part of the benchmark this is, in words; empty for all of it."""
    beside: tuple[str, ...] = ()
    """Methods shown along with the benchmark's own, without being scored again."""
    anchors: tuple[Item, ...] = ()
    """Items asked again at each run, whether or not they are among those judged."""
    recorded_orders: Orders = field(default_factory=dict, repr=False)
    """How the edits were shown in a run that is resumed or replayed."""
    pairs: int | None = None
    """How many pairs of methods are compared per item; None for all."""

    @property
    def is_part(self) -> bool:
        """Whether only some items of the benchmark are judged."""
        return len(self.numbers) > len(self.benchmark.items)

    @property
    def newcomers(self) -> tuple[str, ...]:
        """The methods that are judged among others that were judged before."""
        return self.benchmark.methods if self.beside else ()

    @property
    def units(self) -> int:
        """How many units of work there are, those of the anchors aside."""
        return self.repeats * self._work(self.benchmark.items)

    @property
    def all_units(self) -> int:
        """How many units of work there are, those of the anchors included."""
        return self.units + self._work(self.anchors)

    def _work(self, items: Iterable[Item]) -> int:
        """Return how many units one repeat of the items has; what shows nothing is none."""
        # Counted, not made: the progress of a large run should not wait for a million orders.
        return sum(map(self._work_of, items))

    def _work_of(self, item: Item) -> int:
        if self.protocol.covers_pairs:
            return sum(len(orders) for _, orders in self._pairs_shown(item, 1))

        present = sum(method in item.edits for method in self.benchmark.methods)
        return present if self.protocol.covers_edits else min(present, 1)

    def __iter__(self) -> Iterator[Unit]:
        for item in self.benchmark.items:
            for repeat in range(1, self.repeats + 1):
                yield from self._units_of(item, repeat)

    def anchor_units(self, repeat: int) -> Iterator[Unit]:
        """Yield the anchors' units: shown as in the first repeat,
        asked as a repeat of their own."""
        plan = replace(self, repeats=1)
        for item in self.anchors:
            for unit in plan._units_of(item, 1):
                yield replace(unit, repeat=repeat)

    def _units_of(self, item: Item, repeat: int) -> Iterator[Unit]:
        methods = self.benchmark.methods
        present = tuple(method for method in methods if method in item.edits)
        if self.protocol.covers_pairs:
            yield from self._pair_units(item, repeat)
            return

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

    def _pair_units(self, item: Item, repeat: int) -> Iterator[Unit]:
        for pair, orders in self._pairs_shown(item, repeat):
            for order in orders or [()]:
                yield Unit(item, repeat, pair, order, self.repeats, is_pair=True)

    def _pairs_shown(
        self, item: Item, repeat: int
    ) -> Iterator[tuple[tuple[str, str], list[tuple[str, ...]]]]:
        """Yield each pair with the orders it is shown in; no order where an edit is missing."""
        both = self.protocol.dialogs[0].orders == "both"
        for number, pair in enumerate(self.pairs_of(item)):
            if not all(method in item.edits for method in pair):
                yield pair, []
            elif both:
                yield pair, [pair, pair[::-1]]
            else:
                name = f"{item.id} {pair[0]} {pair[1]}"
                known = self._recorded_order(item, repeat, pair)
                place = self._number(item) + number
                yield pair, [known or self._ordered(pair, name, place, repeat)]

    def pairs_of(self, item: Item) -> list[tuple[str, str]]:
        """Return the pairs of methods compared on an item, each in the order of the benchmark."""
        return chosen_pairs(self.benchmark.methods, self.pairs, self._number(item), self.seed)

    def _number(self, item: Item) -> int:
        return self.numbers.get(item.id, 0)

    def _order_of(self, item: Item, repeat: int, present: Sequence[str]) -> tuple[str, ...]:
        recorded = self._recorded_order(item, repeat, present)
        if recorded is not None:
            return recorded

        if self.order_rule >= 2 and self.order != "given":
            # From the names: a benchmark that lists its methods in another order asks the same.
            present = sorted(present)

        return self._ordered(present, item.id, self._number(item), repeat)

    def _recorded_order(
        self, item: Item, repeat: int, methods: Sequence[str]
    ) -> tuple[str, ...] | None:
        return self.recorded_orders.get(((item.task, item.id, repeat), frozenset(methods)))

    def _ordered(
        self, methods: Sequence[str], item: str, number: int, repeat: int
    ) -> tuple[str, ...]:
        return order_of(
            self.order,
            methods,
            item=item,
            item_number=number,
            repeat=repeat,
            repeats=self.repeats,
            seed=self.seed,
        )


def make_plan(whole: Benchmark, plan: Plan) -> Plan:
    """Return a plan for a part of the whole benchmark, once it is known that it can be played.

    Raises BenchmarkError where it cannot, naming for instance the items that lack a picture the
    protocol shows.
    """
    chosen, protocol = plan.benchmark, plan.protocol
    # By what they show, as nearly all items show the same.
    showing: dict[str, list[Item]] = {}
    for item in chosen.items:
        for kind in protocol.images_needed(item):
            showing.setdefault(kind, []).append(item)

    for kind in sorted(showing):
        _refuse_lacking(showing[kind], chosen, protocol, kind)

    for item in chosen.items:
        _refuse_silence(protocol, item)
        _refuse_unknown_columns(protocol, item, chosen)

    plan = with_numbers(whole, plan)
    if protocol.covers_pairs:
        _refuse_unconnected(plan)
    elif plan.pairs is not None:
        raise BenchmarkError(
            f"--pairs is for dialogs of pairs; {protocol.name} does not compare pairs"
        )

    return plan


def with_numbers(whole: Benchmark, plan: Plan) -> Plan:
    """Return the plan with each item's place in the whole benchmark; nothing is checked."""
    ids = [item.id for item in whole.items]
    if plan.order_rule >= 2:
        ids.sort()

    return replace(plan, numbers={item: number for number, item in enumerate(ids)})


def _refuse_unconnected(plan: Plan) -> None:
    """Refuse a plan whose comparisons cannot rank all methods, whoever wins."""
    methods = plan.benchmark.methods
    if len(methods) < 2:
        raise BenchmarkError(f"{plan.protocol.name} compares pairs; that takes two methods or more")

    group = {methods[0]}
    links = {
        pair
        for item in plan.benchmark.items
        for pair, orders in plan._pairs_shown(item, 1)
        if orders
    }
    for _ in methods:
        group |= {method for pair in links if group & set(pair) for method in pair}

    left = [method for method in methods if method not in group]
    if left:
        remedy = "; compare more: raise --pairs, or leave it out" if plan.pairs else ""
        raise BenchmarkError(
            f"nothing would link {', '.join(left)} with {', '.join(sorted(group))}, so they could "
            f"not be ranked together{remedy}"
        )


def _refuse_silence(protocol: Protocol, item: Item) -> None:
    """Refuse an item of which nothing is asked, or the same thing twice."""
    read: list[str] = []
    for dialog in protocol.dialogs:
        for turn in dialog.turns_for(item):
            if turn.read == "scores":
                read += [factor.key for factor in dialog.factors_read_by(turn)]
            elif turn.read == "winner":
                read.append("the winner")

    twice = sorted({key for key in read if read.count(key) > 1})
    if twice:
        raise BenchmarkError(
            f"{protocol.name} asks for {twice[0]} twice of item {item.id} (task {item.task}); "
            "make the `when` of its turns exclude each other"
        )
    if not read:
        raise BenchmarkError(
            f"{protocol.name} asks nothing of item {item.id} (task {item.task}); choose the others "
            "with --task or --item, or correct the `when` of its turns"
        )


def _refuse_lacking(
    showing: Sequence[Item], benchmark: Benchmark, protocol: Protocol, kind: str
) -> None:
    lacking = [item.id for item in showing if not _has(item, kind)]
    if not lacking:
        return

    raise BenchmarkError(
        f"{protocol.name} shows the {kind} image, which {len(lacking)} of "
        f"{counted(len(showing), 'item lacks', 'items lack')}: {listed(lacking, 9)}; "
        f"give `{kind}` in {benchmark.path}"
        f"{_setting_without(protocol, kind)}"
    )


def refuse_broken_pictures(plan: Plan) -> None:
    """Raise BenchmarkError, naming the pictures, where one that is to be shown is broken.

    Found only when it is shown, it would cost every method the item.
    """
    methods = (*plan.benchmark.methods, *plan.beside)
    broken: dict[Path, str] = {}
    for item in (*plan.benchmark.items, *plan.anchors):
        shown = [item.images[kind] for kind in plan.protocol.images_needed(item)]
        shown += [item.edits[method] for method in methods if method in item.edits]
        for path in shown:
            try:
                refuse_broken(path)
            except ImageProblem as error:
                broken[path] = str(error)

    if broken:
        number = counted(len(broken), "picture is", "pictures are")
        raise BenchmarkError(
            "\n".join(list(broken.values())[:10])
            + f"\n{number} broken; an edit whose file you remove counts as missing, and "
            "`lmmscore check` lists every problem"
        )


def _refuse_unknown_columns(protocol: Protocol, item: Item, benchmark: Benchmark) -> None:
    """Refuse texts that refer to a column the items lack, before anything is asked.

    A column that only some items have is empty for the others.
    """
    for dialog in protocol.dialogs:
        # Most dialogs say none: looking through all turns for every item takes as long as the rest.
        for column in dialog.columns_needed(item) if dialog.columns else ():
            if column not in item.fields:
                they_have = alternatives(column, item.fields, "they have")
                raise BenchmarkError(
                    f"dialog {dialog.name} says {{{{field.{column}}}}}, a column that the items of "
                    f"{benchmark.path} do not have{they_have}"
                )


def _has(item: Item, kind: str) -> bool:
    # Of every item: Path.is_file takes twice as long.
    return kind in item.images and os.path.isfile(item.images[kind])  # noqa: PTH113


def _setting_without(protocol: Protocol, kind: str) -> str:
    """Return, as a remedy, a setting under which the protocol needs no image of this kind."""
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


def chosen_pairs(
    methods: Sequence[str], wanted: int | None, item_number: int, seed: int
) -> list[tuple[str, str]]:
    """Return the pairs compared on one item, all or `wanted`, each in the order of the methods.

    All pairs stand in the order of a round-robin tournament, and each item takes the next `wanted`
    of them. So over any run of items each method and each pair is met equally often, give or take
    one, and as few pairs as can link all methods do: two rounds of a tournament are one chain.
    """
    place = {method: number for number, method in enumerate(methods)}
    mixed = list(methods)
    random.Random(f"{seed} pairs").shuffle(mixed)
    every = _tournament(mixed)
    if wanted is not None and wanted < len(every):
        start = item_number * wanted
        every = [every[(start + step) % len(every)] for step in range(wanted)]

    ordered = [sorted(pair, key=place.__getitem__) for pair in every]
    ordered.sort(key=lambda pair: [place[method] for method in pair])
    return [(one, other) for one, other in ordered]


def _tournament(methods: Sequence[str]) -> list[tuple[str, str]]:
    """Return all pairs, round by round; in a round nobody plays twice (the circle method)."""
    seats: list[str | None] = [*methods, *([None] if len(methods) % 2 else [])]
    found: list[tuple[str, str]] = []
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        for one, other in zip(seats[:half], reversed(seats[half:]), strict=True):
            if one is not None and other is not None:
                found.append((one, other))

        seats = [seats[0], seats[-1], *seats[1:-1]]

    return found
