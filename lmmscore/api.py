"""The whole program from Python: a request, the plan that follows from it, and one function that
plays it.

A request says only what was asked. What it leaves open comes from the run that is replayed, from
the run that the folder holds already, or from the defaults, in this order.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from lmmscore.anchors import FIRST_REPEAT, append_round
from lmmscore.benchmark import Benchmark, load_benchmark
from lmmscore.dialog import is_bundled
from lmmscore.errors import BenchmarkError, LmmscoreError, counted, nearest
from lmmscore.execution.executor import Executor, Job, Listeners, executors
from lmmscore.images import ImageFormat, Pictures, Recipe
from lmmscore.judges import Bench, open_judge
from lmmscore.judges.budget import Spending
from lmmscore.judges.judge import Judge, Recorded, kind_of, spending_of
from lmmscore.judges.limits import files_allowed
from lmmscore.judges.replay import Silent
from lmmscore.ledger import Asker, Ledger
from lmmscore.options import (
    ANSWERS,
    COST,
    JUDGED,
    MACHINES,
    PICTURES,
    Selection,
    declared,
    option,
    same_as,
    taken,
)
from lmmscore.plan import Order, Plan, Protocol, Unit, load_protocol, make_plan
from lmmscore.records import Item
from lmmscore.run_folder import NO_READER, Circumstances, Manifest, Run, recorded_run
from lmmscore.run_writer import RunWriter
from lmmscore.scores import Result

if TYPE_CHECKING:
    from lmmscore.results import RunResult


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
    def chooses_items(self) -> bool:
        """Whether only some items of the benchmark are asked for, shards aside."""
        return bool(self.tasks or self.items or self.limit)

    @property
    def recipe(self) -> Recipe:
        """How pictures are prepared."""
        run = self.recorded
        known = run.manifest.recipe if run else Recipe()
        return Recipe(self.max_side_px or known.max_side_px, self.image_format or known.format)

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

    `judge` is the name of the opened judge; without it the folder is not looked into. A run that
    the folder holds already keeps its words and its orders.
    """
    _refuse_what_flags_refuse(request)
    # The dialog first: a mistyped name should not wait for a large benchmark.
    replayed = _replayed(request)
    protocol = _protocol(request, replayed)
    whole = load_benchmark(request.benchmark, request.root)
    folder = folder_of(request, default_folder(whole.name, protocol.name, judge))
    resumed = Run(folder) if judge and (folder / "run.yaml").is_file() else None

    chosen = ""
    if replayed is not None:
        if not (request.chooses_items or request.shard):
            chosen = replayed.manifest.chosen

        request = _as_recorded(request, replayed, whole)
    elif resumed is not None:
        protocol = _resumed_protocol(protocol, request, resumed)

    plan = _plan(request, whole, protocol, replayed or resumed)
    plan = replace(plan, chosen=plan.chosen or chosen)
    return Prepared(_with_anchors(plan, request, whole), folder, resumed)


def _refuse_what_flags_refuse(request: Request) -> None:
    """Refuse from Python what the command line does not let through."""
    if min(request.repeats or 1, request.concurrency, request.max_side_px or 1) < 1:
        raise LmmscoreError(
            "repeats, concurrency and the longest side of a picture must be at least 1"
        )

    _refuse_unknown("order", request.order, get_args(Order))
    _refuse_unknown("image_format", request.image_format, get_args(ImageFormat))


def _replayed(request: Request) -> Run | None:
    """Return the run that is replayed; with another dialog, a record only answers questions."""
    run = request.recorded
    if run is None or request.dialog not in (None, run.manifest.dialog):
        return None
    return run


def folder_of(request: Request, default: Path) -> Path:
    """Return the folder of the run: a shard has its own inside."""
    folder = request.out or default
    if request.shard is None:
        return folder
    number, count = request.shard
    return folder / f"shard-{number}-of-{count}"


def _refuse_unknown(name: str, given: str | None, known: Sequence[str]) -> None:
    """Refuse a word that is none of those there are."""
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
    """Return the plan of a request; orders are the earlier run's where these are asked for."""
    chosen, words = _part(request, whole.select(request.tasks, request.items, request.methods))
    wanted = Plan(
        chosen,
        protocol,
        order=request.order or "shuffled",
        repeats=request.repeats or 1,
        seed=request.seed or 0,
        order_rule=earlier.manifest.order_rule if earlier else 2,
        chosen=words,
        beside=_companions(request, whole, protocol),
        pairs=request.pairs,
    )
    plan = make_plan(whole, wanted)
    if earlier is not None and _same_orders(plan, earlier) and not protocol.covers_pairs:
        # How orders come about may change; how the edits were shown then does not.
        plan = replace(plan, recorded_orders=earlier.orders())

    return plan


def _part(request: Request, chosen: Benchmark) -> tuple[Benchmark, str]:
    """Return the items within the limit and of the shard, and in words which part that is."""
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

    return chosen, words


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
    if not request.chooses_items and manifest.items != len(whole.items):
        items = run.item_ids()

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
    """Return the words of the run that is resumed, where today's bundled dialog has others.

    Who reads what cannot be read stays, too, unless the request names someone.
    """
    manifest = run.manifest
    if request.reader is None:
        protocol = replace(protocol, reader=run.protocol.reader)

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


# --------------------------------------------------------------------------------------------------
# Play a request.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hooks:
    """Where a caller can look on or take hold of a run."""

    listeners: Listeners = field(default_factory=Listeners)
    on_start: Callable[[Executor, Plan, Bench], None] = lambda *_: None


async def play_request(request: Request, hooks: Hooks) -> Run:
    """Play the request's sessions and return the run; nothing that is on record is asked again.

    Raises what stopped the run, once its tables are written.
    """
    async with _opened(request, hooks.listeners) as stage:
        hooks.on_start(stage.executor, stage.plan, stage.bench)
        # Ctrl-C while all this was prepared takes effect here, before run.yaml says that the
        # run is under way.
        await asyncio.sleep(0)
        stage.writer.begin()
        await stage.executor.run(stage.units(), stage.writer.take)
        await stage.ask_anchors()
        return stage.finish()


@dataclass(frozen=True, slots=True)
class _Stage:
    """All that a run is played with, opened and ready."""

    plan: Plan
    bench: Bench
    asker: Asker
    pictures: Pictures
    ledger: Ledger
    writer: RunWriter
    judge: Recorded
    executor: Executor
    listeners: Listeners

    def units(self) -> Iterable[Unit]:
        """Return the plan, without what was derived before where nobody minds."""
        if not self.listeners.skip_known:
            return self.plan
        return self.writer.unknown(
            self.plan, self.ledger, self.listeners.on_known or (lambda *_: None)
        )

    async def ask_anchors(self) -> None:
        """Ask the anchors again, and keep their scores; those of a stopped run are not kept, for a
        round is whole or none."""
        if not self.plan.anchors or self.executor.error is not None:
            return

        # Counted by the ledger, which may be shared: a round that another run has asked is no
        # measure of today.
        repeat = max(FIRST_REPEAT, 1 + self.judge.last_repeat())
        results: list[Result] = []
        await self.executor.run(self.plan.anchor_units(repeat), results.append)
        if results and self.executor.error is None:
            path = self.writer.path / "anchors.csv"
            append_round(path, results, self.plan.protocol, self.asker, self.pictures)

    def finish(self) -> Run:
        """Write the tables and return the run. Raises what stopped it."""
        error, waiting = self.executor.error, self.executor.waiting
        if error is None:
            return self.writer.finish("waiting" if waiting else "finished", waiting)

        # What stopped the run is the news, not that its tables cannot be written either.
        with contextlib.suppress(LmmscoreError):
            self.writer.finish(f"stopped: {error}", waiting)
        raise error


@contextlib.asynccontextmanager
async def _opened(request: Request, listeners: Listeners) -> AsyncIterator[_Stage]:
    """Open the judge, the run's folder, its ledger and an executor; close them at the end."""
    files_allowed()
    bench = open_judge(request.judge, request.all_judge_options)
    prepared = prepare(request, bench.judge.name)
    plan, out = prepared.plan, prepared.folder
    reader = _other_reader(request, prepared, bench)
    asker = Asker.of(bench.judge.name, bench.judge.parameters)
    pictures = Pictures(request.recipe)
    circumstances = Circumstances(
        asker,
        pictures.recipe,
        reader=_reading_asker(plan, asker, reader),
        caution=bench.judge.caution,
        command=request.command,
    )
    manifest = Manifest.of(plan, out, circumstances)
    ledger_path = request.ledger or out / "ledger.sqlite"

    async with contextlib.AsyncExitStack() as stack:
        writer = stack.enter_context(
            contextlib.closing(RunWriter(out, manifest, plan, ledger_path))
        )
        # A judge that counts money is told what was spent: a budget covers all parts of a run.
        spending = stack.enter_context(contextlib.closing(spending_of(out, ledger_path)))
        ledger = stack.enter_context(Ledger(ledger_path))
        judge = _recorded(bench, ledger, spending, stack)
        engine = executors.get(request.engine)
        job = Job(
            plan.protocol,
            judge,
            pictures,
            concurrency=request.concurrency,
            listeners=listeners,
            judge_spec=request.judge if isinstance(request.judge, str) else None,
            judge_options=request.all_judge_options,
            folder=out,
            engine_options=engine.options(
                **taken(engine.options, request.engine_options, request.engine)
            ),
            reader=_recorded(reader, ledger, spending, stack) if reader else None,
            reader_spec=request.reader if isinstance(request.reader, str) else None,
        )
        executor = engine.make(job)
        stack.push_async_callback(executor.close)
        yield _Stage(plan, bench, asker, pictures, ledger, writer, judge, executor, listeners)


def _recorded(
    bench: Bench, ledger: Ledger, spending: Spending, stack: contextlib.AsyncExitStack
) -> Recorded:
    """Return a judge whose answers are recorded; the stack closes it."""
    bench.judge.keep(spending)
    if bench.answers is not None:
        stack.callback(bench.answers.close)

    stack.push_async_callback(bench.judge.close)
    return Recorded(bench.judge, ledger, bench.answers)


def _other_reader(request: Request, prepared: Prepared, bench: Bench) -> Bench | None:
    """Return who reads what cannot be read; None where nobody does, or the judge itself."""
    if not prepared.plan.protocol.reader:
        return None

    if request.reader is not None:
        same = request.reader == request.judge
        # The judge's own options may not suit another model; the money is the same.
        shared = {key: value for key, value in request.judge_options.items() if key == "budget_usd"}
        return None if same else open_judge(request.reader, shared)

    recorded = request.recorded or prepared.resumed
    if recorded is None or recorded.manifest.reader in (NO_READER, recorded.manifest.judge):
        return None

    manifest = recorded.manifest
    if request.recorded is None:
        raise LmmscoreError(
            f"{recorded.path}: its replies are read with the help of {manifest.reader}; "
            f"name it again with --reader {manifest.reader}"
        )
    return Bench(Silent(manifest.reader, manifest.reader_parameters), bench.answers)


def _reading_asker(plan: Plan, judge: Asker, reader: Bench | None) -> Asker | None:
    """Return under which name the reader's answers are on record; None where there is no reader."""
    if not plan.protocol.reader:
        return None
    return Asker.of(reader.judge.name, reader.judge.parameters) if reader else judge


# --------------------------------------------------------------------------------------------------
# The same from Python.
# --------------------------------------------------------------------------------------------------


def run(
    benchmark: str | Path,
    dialog: str | None = None,
    judge: str | Judge = "pixels",
    *,
    hooks: Hooks | None = None,
    progress: bool | None = None,
    **options: Any,
) -> RunResult:
    """Judge a benchmark and return the run, as `lmmscore run` does.

    `judge` is a name as on the command line, or any object that has the methods of
    `lmmscore.judges.judge.Judge`. The options are those of the command line, under the names of the
    fields of `lmmscore.api.Request`; those of the judge go into `judge_options`. The same call
    again resumes where it stopped, at no cost for what was answered before. `progress` shows how
    far it is; None does so in a notebook and keeps quiet in a program.
    """
    request = Request.of(benchmark, dialog=dialog, judge=judge, **options)
    if hooks is not None:
        return _result(_run_anywhere(request, hooks))
    if not (_in_notebook() if progress is None else progress):
        return _result(_run_anywhere(request, Hooks()))

    with contextlib.ExitStack() as stack:
        return _result(_run_anywhere(request, watching(stack)))


def _with_options(given: inspect.Signature) -> inspect.Signature:
    """Return the signature of `run` with its options by name, in place of `**options`."""
    own = [each for each in given.parameters.values() if each.name != "options"]
    options = [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default)
        for each in declared(Request)
        if each.name not in given.parameters
    ]
    return given.replace(parameters=[*own, *options])


# So that help() and the completion of a notebook know the options.
run.__signature__ = _with_options(inspect.signature(run))  # type: ignore[attr-defined]


def _result(run: Run) -> RunResult:
    from lmmscore.results import RunResult

    return RunResult(run.path)


def watching(
    stack: contextlib.ExitStack, on_start: Callable[[Executor, Plan], None] = lambda *_: None
) -> Hooks:
    """Return hooks that show progress until the stack is left;
    `on_start` is called before it appears."""
    from lmmscore.report.screen import Progress

    shown: list[Progress] = []

    def start(executor: Executor, plan: Plan, bench: Bench) -> None:
        on_start(executor, plan)
        shown.append(stack.enter_context(Progress(plan.units, bench.judge.meter)))

    listeners = Listeners(
        on_exchange=lambda exchange: shown[0].exchange(exchange),
        on_result=lambda result: shown[0].result(result),
        on_known=lambda _, exchanges: shown[0].known(exchanges),
    )
    return Hooks(listeners, start)


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook; asking costs no import."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def _run_anywhere(request: Request, hooks: Hooks) -> Run:
    """Run to the end, in a thread of its own where a notebook's event loop already occupies this
    one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(play_request(request, hooks))

    outcome: list[Run | BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(play_request(request, hooks)))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=work, name="lmmscore")
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
