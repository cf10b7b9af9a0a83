"""The whole program from Python: a request, the plan that follows from it, one function that plays
it, and one that probes a judge with several.

A request says only what was asked. What it leaves open comes from the run that is replayed, from
the run that the folder holds already, or from the defaults, in this order.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
import re
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lmmscore.benchmark import Benchmark, load_benchmark
from lmmscore.dialog import is_bundled
from lmmscore.errors import BenchmarkError, LmmscoreError, counted
from lmmscore.execution.executor import Executor, Job, Listeners, executors, recall_unit
from lmmscore.images import ImageFormat, Pictures, Recipe, load_rgb
from lmmscore.judges import Bench, open_judge
from lmmscore.judges.judge import Judge, Recorded, Silent, kind_of, spending_of
from lmmscore.judges.limits import Spending, files_allowed
from lmmscore.judges.trials import FIRST_REPEAT, append_round
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
from lmmscore.plan import (
    Order,
    Plan,
    Protocol,
    Unit,
    load_protocol,
    make_plan,
    refuse_broken_pictures,
)
from lmmscore.records import OVERALL, Item
from lmmscore.run_folder import NO_READER, Circumstances, Manifest, Run, recorded_run
from lmmscore.run_writer import RunWriter
from lmmscore.scores import Result
from lmmscore.yaml_files import yaml_text

if TYPE_CHECKING:
    import pandas as pd

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
    def answers_here(self) -> bool:
        """Whether the judge answers on this machine, from what is at hand, at no cost."""
        return isinstance(self.judge, str) and kind_of(self.judge).answers_here

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

    def ledger_path(self, request: Request) -> Path:
        """Return where the exchanges are: as asked, as recorded with the run, or in its folder.

        Raises LmmscoreError where the run's ledger has gone: in a new one, every answer would be
        asked and paid for again.
        """
        if request.ledger is not None:
            return request.ledger
        if self.resumed is None:
            return self.folder / "ledger.sqlite"

        path = self.resumed.ledger_path
        if path.is_file():
            return path
        if self.resumed.manifest.ledger is not None:
            raise LmmscoreError(
                f"{self.folder}: its exchanges are in a ledger elsewhere, and {path} is not it; "
                "say with --ledger where it is now"
            )

        has_answers = any(record.exchanges for record in self.resumed.intact_records())
        if has_answers and not request.answers_here:
            raise LmmscoreError(
                f"{path} is gone, and with it every answer of the run; put it back, or have "
                f"everything asked and paid for again with --ledger {shlex.quote(str(path))}"
            )
        return path


def prepare(request: Request, judge: str = "") -> Prepared:
    """Return the plan and the folder of a request. Raises where anything would stop the run.

    `judge` is the name of the opened judge; without it, what the folder holds is ignored. A run
    that is resumed keeps its words and its orders.
    """
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
    plan = _with_anchors(replace(plan, chosen=plan.chosen or chosen), request, whole)
    # A replay asks nothing new: what failed in the run that is replayed fails again.
    if judge and request.recorded is None:
        refuse_broken_pictures(plan)

    return Prepared(plan, folder, resumed)


def _replayed(request: Request) -> Run | None:
    """Return the run that is replayed; with another dialog, its ledger only provides answers."""
    run = request.recorded
    if run is None or request.dialog not in (None, run.manifest.dialog):
        return None
    return run


def folder_of(request: Request, default: Path) -> Path:
    """Return the folder of the run: a shard has its own inside."""
    folder = request.out or default
    if request.shard is None:
        return folder
    number, shards = request.shard
    return folder / f"shard-{number}-of-{shards}"


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
    scores = any(turn.read == "scores" for dialog in protocol.dialogs for turn in dialog.turns)
    if request.structured_turns and not scores:
        raise LmmscoreError(f"{protocol.name} scores nothing, so --structured-turns does not apply")

    return replace(
        protocol, reader=_asks_a_reader(request), structured_turns=request.structured_turns
    )


def _asks_a_reader(request: Request) -> bool:
    """Tell whether replies that cannot be read go to a reader, judging by the request alone."""
    if request.reader is not None:
        return request.reader != NO_READER
    # A judge that measures pictures cannot read; a record may hold a reader's answers.
    return not request.answers_here or str(request.judge).startswith("replay:")


def _plan(request: Request, whole: Benchmark, protocol: Protocol, earlier: Run | None) -> Plan:
    """Return the plan of a request; with the earlier run's orders where the request allows."""
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
    if earlier is None:
        return plan
    if (plan.order, plan.seed) != (earlier.manifest.order, earlier.manifest.seed):
        return plan

    # The way orders are derived may change; how the edits were shown then does not.
    return replace(plan, recorded_orders=earlier.orders())


def _part(request: Request, chosen: Benchmark) -> tuple[Benchmark, str]:
    """Return the items within the limit and the shard, and a description of that part."""
    words = ""
    if request.limit is not None and request.limit < len(chosen.items):
        items = spread(chosen.items, request.limit)
        words = f"{len(items)} of {len(chosen.items)} items (--limit {request.limit})"
        chosen = replace(chosen, items=items)

    if request.shard is not None:
        number, shards = request.shard
        if not 1 <= number <= shards:
            raise LmmscoreError(f"shards are numbered from 1 to {shards}; there is no {number}")

        items = tuple(item for item in chosen.items if shard_of(item.id, shards) == number)
        whole_part = counted(len(chosen.items), "item")
        words = f"shard {number} of {shards}, {len(items)} of {whole_part}"
        chosen = replace(chosen, items=items)

    return chosen, words


def _companions(request: Request, whole: Benchmark, protocol: Protocol) -> tuple[str, ...]:
    """Return the methods beside which the chosen ones are judged."""
    if not request.beside:
        return ()
    if protocol.covers_pairs:
        raise LmmscoreError(f"{protocol.name} compares pairs, so --beside does not apply")
    if protocol.covers_edits:
        raise LmmscoreError(
            f"{protocol.name} judges each edit by itself, so --beside does not apply; "
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
    """Return methods given as `A,B` one by one; a name may itself contain a comma."""
    found: list[str] = []
    for name in given:
        found += [name] if name in known else [part.strip() for part in name.split(",")]
    return tuple(dict.fromkeys(found))


def _as_recorded(request: Request, run: Run, whole: Benchmark) -> Request:
    """Return the request with its gaps filled from the run that is replayed."""
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
    """Return the protocol of the run that is resumed, where the bundled dialog has changed since.

    The reader stays the same too, unless the request names one.
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


def shard_of(item: str, shards: int) -> int:
    """Return the shard, of so many, that an item belongs to, whatever else is judged."""
    digest = hashlib.sha256(item.encode()).digest()
    return int.from_bytes(digest[:8], "big") % shards + 1


def spread(items: Sequence[Item], limit: int) -> tuple[Item, ...]:
    """Return `limit` items, taken from the task categories in turn, in the benchmark's order.

    A smaller limit gives a subset of what a larger one gives, so that a pilot can be extended.
    """
    by_task: dict[str, list[Item]] = {}

    for item in items:
        by_task.setdefault(item.task, []).append(item)

    rounds = zip_longest(*by_task.values())
    drawn = [item for each in rounds for item in each if item is not None][:limit]
    kept = {item.id for item in drawn}
    return tuple(item for item in items if item.id in kept)


def _with_anchors(plan: Plan, request: Request, whole: Benchmark) -> Plan:
    """Return the plan with its anchors, which must meet all that judged items must meet."""
    if not request.anchors:
        return plan
    if plan.protocol.covers_pairs:
        raise LmmscoreError("anchors are scored, and pairs are not; leave out --anchors")
    if request.engine == "batch":
        raise LmmscoreError(
            "--anchors asks again at each run, which batches cannot do; leave one of them out"
        )

    chosen = whole.select(items=request.anchors, methods=request.methods)
    for item in chosen.items:
        if not any(method in item.edits for method in chosen.methods):
            raise BenchmarkError(
                f"anchor {item.id}: no method made an edit of this item; choose another"
            )

    checked = make_plan(whole, Plan(chosen, plan.protocol))
    return replace(plan, anchors=checked.benchmark.items)


def default_folder(benchmark: str, dialog: str, judge: str) -> Path:
    """Return results/BENCHMARK-DIALOG-JUDGE, in characters that every file system accepts."""
    model = judge.removeprefix("openai/").split("@")[0]
    protocol = Path(dialog).stem if dialog.endswith((".yaml", ".yml")) else dialog
    name = f"{benchmark}-{protocol}-{model}"
    return Path("results") / (re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run")


# --------------------------------------------------------------------------------------------------
# Play a request.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hooks:
    """How a caller follows a run, or takes control of it."""

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
    writer: RunWriter
    job: Job
    executor: Executor

    def units(self) -> Iterable[Unit]:
        """Return the plan, without what was derived before unless a listener wants it all."""
        listeners = self.job.listeners
        if not listeners.skip_known:
            return self.plan
        return self.writer.unknown(
            self.plan,
            self.job.judge.ledger,
            listeners.on_known or (lambda *_: None),
            lambda unit: recall_unit(unit, self.job),
        )

    async def ask_anchors(self) -> None:
        """Ask the anchors again and keep their scores, unless the run was stopped: a round is whole
        or not recorded."""
        if not self.plan.anchors or self.executor.error is not None:
            return

        # Numbered after the ledger, which may be shared: another run's round is no measure of this
        # one's.
        judge = self.job.judge
        repeat = max(FIRST_REPEAT, 1 + judge.last_repeat())
        results: list[Result] = []
        await self.executor.run(self.plan.anchor_units(repeat), results.append)
        if results and self.executor.error is None:
            path = self.writer.path / "anchors.csv"
            append_round(path, results, self.plan.protocol, judge.asker, self.job.pictures)

    def finish(self) -> Run:
        """Write the tables and return the run. Raises what stopped it."""
        error, waiting = self.executor.error, self.executor.waiting
        if error is None and waiting:
            return self.writer.finish("waiting", waiting)
        if error is None and self.executor.ended_early:
            return self.writer.finish(f"stopped: {self.executor.ended_early}")
        if error is None:
            return self.writer.finish("finished")

        # Report what stopped the run, not that its tables cannot be written either.
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
    manifest = _manifest(request, prepared, bench, reader)
    ledger_path = prepared.ledger_path(request)

    async with contextlib.AsyncExitStack() as stack:
        writer = stack.enter_context(
            contextlib.closing(RunWriter(out, manifest, plan, ledger_path))
        )
        # A budget covers all parts of a run, so the judge must know what was spent before.
        spending = stack.enter_context(contextlib.closing(spending_of(out, ledger_path)))
        ledger = stack.enter_context(Ledger(ledger_path))
        judge = _recorded(bench, ledger, spending, stack)
        engine = executors.get(request.engine)
        job = Job(
            plan.protocol,
            judge,
            Pictures(request.recipe),
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
        executor = engine(job)
        stack.push_async_callback(executor.close)
        yield _Stage(plan, bench, writer, job, executor)


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
    """Return the reader, if it is not the judge itself; None also where there is none."""
    if not prepared.plan.protocol.reader:
        return None

    if request.reader is not None:
        same = request.reader == request.judge
        # The judge's options may not suit another model; the budget is shared.
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


def _manifest(request: Request, prepared: Prepared, bench: Bench, reader: Bench | None) -> Manifest:
    """Return what run.yaml says before the first question."""
    judge = Asker.of(bench.judge.name, bench.judge.parameters)
    reads = judge if reader is None else Asker.of(reader.judge.name, reader.judge.parameters)
    known = Circumstances(
        judge,
        request.recipe,
        reader=reads if prepared.plan.protocol.reader else None,
        caution=bench.judge.caution,
        command=_command(request, prepared, bench),
    )
    return Manifest.of(prepared.plan, prepared.folder, known)


def _command(request: Request, prepared: Prepared, bench: Bench) -> str:
    """Return the command that run.yaml keeps: a run replayed into itself keeps its own."""
    if prepared.resumed is None or bench.answers is None:
        return request.command

    recorded = prepared.resumed.manifest.command
    # By file: a folder has many names, and runs may share a ledger.
    own = prepared.ledger_path(request)
    if own.is_file() and own.samefile(bench.answers.path):
        return recorded

    # A run whose judge was asked does not become a replay; one that is a replay may grow.
    return request.command if not recorded or "replay:" in recorded else recorded


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
    from lmmscore.results import RunResult

    request = Request.of(benchmark, dialog=dialog, judge=judge, **options)
    with contextlib.ExitStack() as stack:
        if hooks is None:
            shown = _in_notebook() if progress is None else progress
            hooks = watching(stack) if shown else Hooks()

        return RunResult(_run_anywhere(request, hooks).path)


def _with_options(given: inspect.Signature) -> inspect.Signature:
    """Return the signature of `run` with its options by name, in place of `**options`."""
    own = [each for each in given.parameters.values() if each.name != "options"]
    options = [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default)
        for each in declared(Request)
        if each.name not in given.parameters
    ]
    return given.replace(parameters=[*own, *options])


# For help(), and for completion in notebooks.
run.__signature__ = _with_options(inspect.signature(run))  # type: ignore[attr-defined]


def watching(
    stack: contextlib.ExitStack, on_start: Callable[[Executor, Plan], None] = lambda *_: None
) -> Hooks:
    """Return hooks that show progress until the stack is closed.

    `on_start` is called before the display appears.
    """
    from lmmscore.report.formats.terminal import Progress

    shown: list[Progress] = []

    def start(executor: Executor, plan: Plan, bench: Bench) -> None:
        on_start(executor, plan)
        shown.append(stack.enter_context(Progress(plan.all_units, bench.judge.meter)))

    listeners = Listeners(
        on_exchange=lambda exchange: shown[0].exchange(exchange),
        on_result=lambda result: shown[0].result(result),
        on_known=lambda _, exchanges: shown[0].known(exchanges),
    )
    return Hooks(listeners, start)


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook; imports nothing to find out."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def _run_anywhere(request: Request, hooks: Hooks) -> Run:
    """Run to the end; in another thread where an event loop, such as a notebook's, runs in this
    one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(play_request(request, hooks))

    with ThreadPoolExecutor(1, "lmmscore") as pool:
        return pool.submit(asyncio.run, play_request(request, hooks)).result()


# --------------------------------------------------------------------------------------------------
# Can a judge be steered? Some edits are judged again with changes that should not matter.
# --------------------------------------------------------------------------------------------------

AGAIN = "again"
"""The name of the control: the same pictures asked again."""

_Alter = Callable[[Any], Any]
"""Returns a picture as it is shown instead of another."""


@dataclass(frozen=True, slots=True)
class Steered:
    """How far a change of the picture moved the scores of edits."""

    alteration: str
    done: str
    factor: str
    change: float | None
    """Mean score of the altered edit minus that of the edit as it is; None where none was scored.
    """
    low: float | None
    high: float | None
    items: int
    unscored: int
    """Items on which the edit has no score, before or after."""


def probe(
    judge: str | Judge,
    benchmark: str | Path,
    *,
    items: int,
    out: Path,
    dialog: str | None = None,
    seed: int = 0,
    judge_options: Mapping[str, Any] | None = None,
    said: Callable[[str], None] = lambda _: None,
) -> list[Steered]:
    """Judge `items` items as they are, twice, and once with each change to one of their edits.

    The first entry is the control: the same pictures asked again, which shows the judge's noise.
    `out` receives a run for each, so that every reply can be looked up and an interrupted probe
    resumes at no cost.
    """
    from lmmscore.judges.trials import ALTERATIONS

    if isinstance(judge, str):
        # Raises for a judge there is not, before any picture is copied.
        kind_of(judge)

    whole = load_benchmark(Path(benchmark))
    chosen = _chosen(whole, items, seed)
    common: dict[str, Any] = {
        "dialog": dialog,
        "judge": judge,
        "seed": seed,
        "order": "shuffled",
        "judge_options": judge_options,
        "progress": False,
    }
    said(f"{counted(len(chosen), 'item')} as they are, twice")
    folder = _copied(whole, chosen, out / "unaltered", lambda picture: picture)
    plain = run(folder, out=out / "unaltered" / "run", repeats=2, **common).scores()
    first = _altered_scores(plain[plain["repeat"] == 1], chosen)
    second = _altered_scores(plain[plain["repeat"] == 2], chosen)
    found = [*_compared(AGAIN, "the same pictures asked again", first, second)]
    for name, (done, alter) in ALTERATIONS.items():
        said(f"one edit of each with {done}")
        folder = _copied(whole, chosen, out / name, alter)
        altered = run(folder, out=out / name / "run", repeats=1, **common).scores()
        found += _compared(name, done, first, _altered_scores(altered, chosen))

    return found


def _chosen(whole: Benchmark, items: int, seed: int) -> dict[str, str]:
    """Return the items to judge again, and which method's edit is altered in each."""
    usable = [item for item in whole.items if item.edits]
    if not usable:
        raise BenchmarkError(f"{whole.path}: no item has an edit to alter")

    import numpy as np

    order = np.random.default_rng(seed).permutation(len(usable))[:items]
    found = {}
    for turn, place in enumerate(order):
        item = usable[place]
        # Methods take turns, so that no change is tried on one method alone.
        methods = [method for method in whole.methods if method in item.edits]
        found[item.id] = methods[turn % len(methods)]

    return found


def _copied(whole: Benchmark, chosen: Mapping[str, str], folder: Path, alter: _Alter) -> Path:
    """Write the chosen items as a benchmark, with one edit of each altered."""
    folder.mkdir(parents=True, exist_ok=True)
    # By number: the names of items and methods come with the benchmark, and may lead elsewhere.
    numbers = count(1)

    def copy(path: Path, altered: bool = False) -> str:
        picture, name = load_rgb(path), f"{next(numbers)}.png"
        (alter(picture) if altered else picture).save(folder / name)
        return name

    items = []
    for item in whole.items:
        if item.id in chosen:
            edits = item.edits.items()
            row = {"id": item.id, "task": item.task, "instruction": item.instruction}
            images = {kind: copy(path) for kind, path in item.images.items()}
            made = {method: copy(path, method == chosen[item.id]) for method, path in edits}
            items.append({**row, "others": images, "edits": made, "fields": dict(item.fields)})

    path = folder / "benchmark.yaml"
    about = {"name": whole.name, "methods": list(whole.methods), "items": items}
    path.write_text(yaml_text(about), encoding="utf-8")
    return path


def _altered_scores(table: pd.DataFrame, chosen: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Return by factor and item the score of the edit that is altered; NaN where it has none."""
    found: dict[str, dict[str, float]] = {}
    for row in table.to_dict("records"):
        if chosen.get(str(row["item"])) == row["method"]:
            found.setdefault(str(row["factor"]), {})[str(row["item"])] = float(row["score"])
    return found


def _compared(
    name: str,
    done: str,
    before: Mapping[str, Mapping[str, float]],
    after: Mapping[str, Mapping[str, float]],
) -> Iterator[Steered]:
    """Yield the mean change of every factor, the overall first."""
    import numpy as np

    from lmmscore.stats import mean_limits

    for factor in sorted(before, key=lambda one: one != OVERALL):
        changed = after.get(factor, {})
        gaps = np.array(
            [changed.get(item, np.nan) - score for item, score in before[factor].items()]
        )
        known = gaps[np.isfinite(gaps)]
        limits = mean_limits(gaps, None, level=0.95) or (None, None)
        mean = float(known.mean()) if len(known) else None
        yield Steered(
            name, done, factor, mean, limits[0], limits[1], len(known), len(gaps) - len(known)
        )
