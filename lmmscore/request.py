"""What a run is asked for, and the plan that follows from it.

A request says only what was asked. What it leaves open comes from the run that is replayed, from
the run that the folder holds already, or from the defaults, in this order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, get_args

from lmmscore.benchmark import Benchmark, load_benchmark
from lmmscore.dialog import is_bundled
from lmmscore.errors import BenchmarkError, LmmscoreError, counted, nearest
from lmmscore.images import ImageFormat, Recipe
from lmmscore.judges.judge import Judge, kind_of
from lmmscore.options import (
    ANSWERS,
    COST,
    JUDGED,
    MACHINES,
    PICTURES,
    Selection,
    option,
    same_as,
    taken,
)
from lmmscore.plan import Order, Plan, Protocol, load_protocol, make_plan
from lmmscore.records import Item
from lmmscore.run_folder import Run, recorded_run

NO_READER = "none"


@dataclass(frozen=True, slots=True)
class Request:
    """Everything a run is asked for. None means: not asked for, so the default, or as recorded.

    The fields are in the order in which the help of `lmmscore run` lists them.
    """

    benchmark: Path
    dialog: str | None = option(
        None,
        "Dialog or suite: a name or a file  [default: lmm-score]",
        flag="--dialog",
        short="-d",
        group=JUDGED,
    )
    judge: str | Judge = option(
        "pixels",
        "pixels, openai/MODEL[@URL,…], replay:PATH or a name from judges.yaml.",
        flag="--judge",
        short="-j",
        group=JUDGED,
    )
    out: Path | None = option(
        None,
        "Folder of the run  [default: results/BENCH-DIALOG-JUDGE]",
        flag="--out",
        short="-o",
        group=JUDGED,
    )
    limit: int | None = option(
        None,
        "Only N items, spread over the task categories: a pilot.",
        flag="--limit",
        metavar="N",
        group=JUDGED,
        at_least=1,
    )
    tasks: tuple[str, ...] = same_as(Selection, "tasks")
    items: tuple[str, ...] = same_as(Selection, "items")
    methods: tuple[str, ...] = option(
        (),
        "Only this method; may be repeated. Their order is kept.",
        flag="--method",
        group=JUDGED,
    )
    beside: tuple[str, ...] = option(
        (),
        "Judge --method among these, already scored in this folder: A,B or one by one.",
        flag="--beside",
        metavar="METHOD",
        group=JUDGED,
    )
    repeats: int | None = option(
        None,
        "How often each item is judged  [default: 1]",
        flag="--repeats",
        group=JUDGED,
        at_least=1,
    )
    order: Order | None = option(
        None,
        "Order in which the edits are shown  [default: shuffled]",
        flag="--order",
        group=JUDGED,
    )
    seed: int | None = option(None, "Seed of the orders  [default: 0]", flag="--seed", group=JUDGED)
    pairs: int | None = option(
        None,
        "With a dialog of pairs: compare so many pairs of methods per item  [default: all]",
        flag="--pairs",
        metavar="K",
        group=JUDGED,
        at_least=1,
    )
    settings: Mapping[str, str] = same_as(Selection, "settings")
    root: Path | None = same_as(Selection, "root")
    ledger: Path | None = option(
        None,
        "Ledger to share between runs  [default: in the run's folder]",
        flag="--ledger",
        group=JUDGED,
    )
    anchors: tuple[str, ...] = option(
        (),
        "Ask this item again at each run, selected or not, to measure drift.",
        flag="--anchors",
        metavar="ITEM",
        group=JUDGED,
    )
    concurrency: int = option(
        8, "Sessions at once.", flag="--concurrency", short="-c", group=COST, at_least=1
    )
    reader: str | Judge | None = option(
        None,
        "Who quotes the scores from a reply that cannot be read  [default: the judge]",
        flag="--reader",
        metavar="JUDGE|none",
        group=ANSWERS,
    )
    structured_turns: Literal["", "scores"] = option(
        "",
        "Hold only the scoring turn of a prose dialog to a JSON schema: a variant.",
        flag="--structured-turns",
        group=ANSWERS,
    )
    max_side_px: int | None = option(
        None,
        "Longest side of a picture as sent, in pixels  [default: 1024]",
        flag="--max-side",
        group=PICTURES,
        at_least=16,
    )
    image_format: ImageFormat | None = option(
        None,
        "How pictures are encoded; png and webp lose nothing  [default: png]",
        flag="--image-format",
        group=PICTURES,
    )
    engine: str = option(
        "local",
        "What drives the sessions: local (this process), ray or batch.",
        flag="--engine",
        group=MACHINES,
    )
    shard: tuple[int, int] | None = option(
        None,
        "Only a stable Nth of the items, in a folder of its own: for arrays of jobs.",
        flag="--shard",
        metavar="K/N",
        group=MACHINES,
    )
    judge_options: Mapping[str, Any] = option({}, "Options of the judge, by their names.")
    engine_options: Mapping[str, Any] = option({}, "Options of the engine, by their names.")
    command: str = ""
    """The command line that asked for it, to be kept with the run."""

    @classmethod
    def of(cls, benchmark: str | Path, **given: Any) -> Request:
        """Return what a caller from Python asks for; None leaves an option open.

        Raises TypeError for an option there is not.
        """
        return cls(Path(benchmark), **taken(cls, given, "a run"))

    @property
    def all_judge_options(self) -> Mapping[str, Any]:
        """The judge's options, with those that follow from what else is asked for."""
        held = {"structured": True} if self.structured_turns else {}
        return {**self.judge_options, **held}

    @property
    def recipe(self) -> Recipe:
        """How pictures are prepared."""
        recorded = self._recorded_recipe()
        return Recipe(
            self.max_side_px or recorded.max_side_px, self.image_format or recorded.format
        )

    def _recorded_recipe(self) -> Recipe:
        run = self.recorded
        return run.manifest.recipe if run else Recipe()

    @property
    def recorded(self) -> Run | None:
        """The run that is replayed, where the judge is the record of one."""
        return recorded_run(self.judge) if isinstance(self.judge, str) else None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request made definite: which sessions, and in which folder."""

    plan: Plan
    folder: Path
    resumed: Run | None
    """The run that the folder holds already."""


def plan_of(request: Request) -> Plan:
    """Return the sessions a request stands for, whatever its folder holds."""
    return prepare(replace(request, out=None)).plan


def prepare(request: Request, judge: str = "") -> Prepared:
    """Return the plan and the folder of a request. Raises where anything would stop the run.

    A run that the folder holds already keeps its words and its orders.
    """
    if min(request.repeats or 1, request.concurrency, request.max_side_px or 1) < 1:
        raise LmmscoreError(
            "repeats, concurrency and the longest side of a picture must be at least 1"
        )

    _refuse_unknown("order", request.order, get_args(Order))
    _refuse_unknown("image_format", request.image_format, get_args(ImageFormat))
    # The dialog first: a mistyped name should not wait for a large benchmark.
    replayed = request.recorded
    if replayed is not None and request.dialog not in (None, replayed.manifest.dialog):
        replayed = None

    protocol = _protocol(request, replayed)
    whole = load_benchmark(request.benchmark, request.root)
    folder = request.out or default_folder(whole.name, protocol.name, judge)
    if request.shard is not None:
        number, count = request.shard
        folder = folder / f"shard-{number}-of-{count}"

    resumed = Run(folder) if (folder / "run.yaml").is_file() and judge else None
    chosen = ""
    if replayed is not None:
        if not (request.tasks or request.items or request.limit or request.shard):
            chosen = replayed.manifest.chosen

        request = _as_recorded(request, replayed, whole)
    elif resumed is not None:
        if request.reader is None:
            protocol = replace(protocol, reader=resumed.protocol.reader)

        protocol = _resumed_protocol(protocol, request, resumed)

    plan = _plan(request, whole, protocol, replayed or resumed)
    plan = replace(plan, chosen=plan.chosen or chosen)
    return Prepared(_with_anchors(plan, request, whole), folder, resumed)


def _refuse_unknown(name: str, given: str | None, known: Sequence[str]) -> None:
    """Refuse a word that is none of those there are; the command line does so itself."""
    if given is not None and given not in known:
        raise LmmscoreError(f"{name}={given!r}{nearest(given, known)}; known: {', '.join(known)}")


def _protocol(request: Request, replayed: Run | None) -> Protocol:
    if replayed is not None:
        recorded = replayed.protocol
        reader = recorded.reader if request.reader is None else request.reader != NO_READER
        settings = {**recorded.settings, **request.settings}
        return replace(recorded, settings=settings, reader=reader)

    structured = bool(request.judge_options.get("structured"))
    if structured and request.structured_turns:
        raise LmmscoreError(
            "--structured holds every turn to its form, and --structured-turns only some; "
            "leave out one of the two"
        )

    protocol = load_protocol(request.dialog or "lmm-score", request.settings, structured)
    if request.structured_turns:
        _refuse_silent_turns(request, protocol)

    return replace(
        protocol, reader=_asks_a_reader(request), structured_turns=request.structured_turns
    )


def _refuse_silent_turns(request: Request, protocol: Protocol) -> None:
    """Refuse to hold the turns that score to a schema where none does."""
    if request.structured_turns != "scores":
        raise LmmscoreError(f"--structured-turns {request.structured_turns}: there is only scores")
    if not any(turn.read == "scores" for dialog in protocol.dialogs for turn in dialog.turns):
        raise LmmscoreError(f"{protocol.name} scores nothing, so --structured-turns has no place")


def _asks_a_reader(request: Request) -> bool:
    """Tell whether replies that cannot be read are put to a reader, going by the request alone."""
    if request.reader is not None:
        return request.reader != NO_READER
    judge = request.judge
    # What answers by measuring cannot read; a record may hold what a reader said.
    can_read = not isinstance(judge, str) or judge.startswith("replay:")
    return can_read or not kind_of(str(judge)).answers_here


def _plan(request: Request, whole: Benchmark, protocol: Protocol, earlier: Run | None) -> Plan:
    chosen = whole.select(request.tasks, request.items, request.methods)
    words = ""
    if request.limit is not None and request.limit < len(chosen.items):
        items = spread(chosen.items, request.limit)
        words = f"{len(items)} of {len(chosen.items)} items (--limit {request.limit})"
        chosen = replace(chosen, items=items)

    if request.shard is not None:
        number, count = request.shard
        items = tuple(item for item in chosen.items if shard_of(item.id, count) == number)
        whole_part = counted(len(chosen.items), "item")
        words = f"shard {number} of {count}, {len(items)} of {whole_part}"
        chosen = replace(chosen, items=items)

    wanted = Plan(
        chosen,
        protocol,
        order=request.order or "shuffled",
        repeats=request.repeats or 1,
        seed=request.seed or 0,
        order_rule=earlier.manifest.order_rule if earlier else 2,
        pairs=request.pairs,
    )
    plan = make_plan(whole, wanted)
    same_orders = earlier is not None and _same_orders(plan, earlier)
    if earlier is not None and same_orders and not protocol.covers_pairs:
        # How orders come about may change; how the edits were shown then does not.
        plan = replace(plan, recorded_orders=earlier.orders())

    return replace(plan, chosen=words, beside=_companions(request, whole, protocol))


def _same_orders(plan: Plan, earlier: Run) -> bool:
    manifest = earlier.manifest
    return (plan.order, plan.seed) == (manifest.order, manifest.seed)


def _companions(request: Request, whole: Benchmark, protocol: Protocol) -> tuple[str, ...]:
    """Return the methods that the chosen ones are judged beside."""
    if not request.beside:
        return ()
    if protocol.covers_pairs:
        raise LmmscoreError(f"{protocol.name} compares pairs, so --beside has no place here")
    if protocol.covers_edits:
        raise LmmscoreError(
            f"{protocol.name} judges each edit by itself, so --beside has no place here; "
            "--method alone judges a new method"
        )
    if not request.methods:
        raise LmmscoreError("--beside needs the new methods: name them with --method")

    beside = _one_by_one(request.beside, whole.methods)
    both = set(beside) & set(request.methods)
    if both:
        raise LmmscoreError(f"{sorted(both)[0]} is both in --method and in --beside; choose one")
    return whole.select(methods=beside).methods


def _one_by_one(given: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return methods named `A,B` each by itself; a name may hold a comma of its own."""
    found: list[str] = []
    for name in given:
        found += [name] if name in known else [part.strip() for part in name.split(",")]
    return tuple(dict.fromkeys(found))


def _as_recorded(request: Request, run: Run, whole: Benchmark) -> Request:
    """Return the request with what it does not say taken from the run that is replayed."""
    manifest = run.manifest
    items = request.items
    if not (request.tasks or request.items or request.limit):
        items = run.item_ids() if manifest.items != len(whole.items) else ()

    return replace(
        request,
        items=items,
        methods=request.methods or tuple(manifest.methods),
        order=request.order or manifest.order,
        repeats=request.repeats or manifest.repeats,
        seed=manifest.seed if request.seed is None else request.seed,
        pairs=request.pairs or manifest.pairs,
    )


def _resumed_protocol(protocol: Protocol, request: Request, run: Run) -> Protocol:
    """Return the words of the run that is resumed, where today's bundled dialog has others."""
    manifest = run.manifest
    held = (protocol.structured, protocol.structured_turns)
    same = manifest.dialog == protocol.name
    same = same and held == (manifest.structured, manifest.structured_turns)
    if not same or not is_bundled(request.dialog or "lmm-score"):
        return protocol
    return replace(run.protocol, settings=protocol.settings, reader=protocol.reader)


def shard_of(item: str, count: int) -> int:
    """Return which of so many shards an item belongs to; it stays there whatever else is judged."""
    digest = hashlib.sha256(item.encode()).digest()
    return int.from_bytes(digest[:8], "big") % count + 1


def spread(items: Sequence[Item], limit: int) -> tuple[Item, ...]:
    """Return so many items, one task category after the other, in the order of the benchmark.

    A smaller number gives a part of what a larger one gives, so that a pilot can be extended.
    """
    by_task: dict[str, list[Item]] = {}

    for item in items:
        by_task.setdefault(item.task, []).append(item)

    rounds = zip_longest(*by_task.values())
    drawn = [item for each in rounds for item in each if item is not None][:limit]
    kept = {item.id for item in drawn}
    return tuple(item for item in items if item.id in kept)


def _with_anchors(plan: Plan, request: Request, whole: Benchmark) -> Plan:
    """Return the plan with its anchors, which are held to all that is asked of items
    that are judged."""
    if not request.anchors:
        return plan
    if plan.protocol.covers_pairs:
        raise LmmscoreError("anchors are scored, and pairs are not; leave out --anchors")

    chosen = whole.select(items=request.anchors, methods=request.methods)
    for item in chosen.items:
        if not any(method in item.edits for method in chosen.methods):
            raise BenchmarkError(
                f"anchor {item.id}: no method made an edit of this item; choose another"
            )

    checked = make_plan(whole, Plan(chosen, plan.protocol))
    return replace(plan, anchors=checked.benchmark.items)


def default_folder(benchmark: str, dialog: str, judge: str) -> Path:
    """Return results/BENCHMARK-DIALOG-JUDGE, in letters every file system takes."""
    model = judge.removeprefix("openai/").split("@")[0]
    protocol = Path(dialog).stem if dialog.endswith((".yaml", ".yml")) else dialog
    name = f"{benchmark}-{protocol}-{model}"
    return Path("results") / (re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run")
