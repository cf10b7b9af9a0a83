"""What a run is asked for, and the plan that follows from it.

A request says only what was asked. What it leaves open comes from the run that is replayed, from
the run that the folder holds already, or from the defaults, in this order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from lmmscore.benchmark import Benchmark, load_benchmark
from lmmscore.dialog_files import is_bundled
from lmmscore.errors import BenchmarkError, LmmscoreError
from lmmscore.images import ImageFormat, Recipe
from lmmscore.judges.judge import Judge, kind_of
from lmmscore.plan import Order, Plan, Protocol, load_protocol, make_plan
from lmmscore.records import Item
from lmmscore.run_folder import Run, recorded_run

NO_READER = "none"


@dataclass(frozen=True, slots=True)
class Request:
    """Everything a run is asked for. None means: not asked for, so the default, or as recorded."""

    benchmark: Path
    dialog: str | None = None
    judge: str | Judge = "pixels"
    out: Path | None = None
    order: Order | None = None
    repeats: int | None = None
    seed: int | None = None
    concurrency: int = 8
    tasks: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    limit: int | None = None
    """Judge so many items only, spread over the task categories: a pilot."""
    shard: tuple[int, int] | None = None
    """Judge a stable part of the items only, `(3, 16)` being the third of sixteen."""
    beside: tuple[str, ...] = ()
    """Judge the chosen methods among these, which a run in the same folder has scored already."""
    settings: Mapping[str, str] = field(default_factory=dict)
    ledger: Path | None = None
    root: Path | None = None
    """The folder the pictures are in, in place of `root:` in benchmark.yaml."""
    max_side_px: int | None = None
    image_format: ImageFormat | None = None
    judge_options: Mapping[str, Any] = field(default_factory=dict)
    anchors: tuple[str, ...] = ()
    """Items asked again at each run, whichever are judged, to see whether the judge drifts."""
    engine: str = "local"
    """Which executor plays the sessions."""
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    pairs: int | None = None
    """With a dialog of pairs: how many pairs of methods are compared per item; None for all."""
    reader: str | Judge | None = None
    """Who quotes the scores from a reply that cannot be read; None for the judge itself."""
    structured_turns: str = ""
    """`scores` to hold only the turns that score to a JSON schema, the others being prose."""
    command: str = ""

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
    if replayed is not None:
        request = _as_recorded(request, replayed, whole)
    elif resumed is not None:
        if request.reader is None:
            protocol = replace(protocol, reader=resumed.protocol.reader)
        protocol = _resumed_protocol(protocol, request, resumed)
    plan = _plan(request, whole, protocol, replayed or resumed)
    return Prepared(_with_anchors(plan, request, whole), folder, resumed)


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
        words = f"shard {number} of {count}, {len(items)} of {len(chosen.items)} items"
        chosen = replace(chosen, items=items)
    plan = make_plan(
        whole,
        chosen,
        protocol,
        request.order or "shuffled",
        request.repeats or 1,
        request.seed or 0,
        earlier.manifest.order_rule if earlier else 2,
        request.pairs,
    )
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
    both = set(request.beside) & set(request.methods)
    if both:
        raise LmmscoreError(f"{sorted(both)[0]} is both in --method and in --beside; choose one")
    return whole.select(methods=request.beside).methods


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
    checked = make_plan(whole, chosen, plan.protocol)
    return replace(plan, anchors=checked.benchmark.items)


def default_folder(benchmark: str, dialog: str, judge: str) -> Path:
    """Return results/BENCHMARK-DIALOG-JUDGE, in letters every file system takes."""
    model = judge.removeprefix("openai/").split("@")[0]
    protocol = Path(dialog).stem if dialog.endswith((".yaml", ".yml")) else dialog
    name = f"{benchmark}-{protocol}-{model}"
    return Path("results") / (re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run")
