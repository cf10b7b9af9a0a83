"""The whole program from Python: one function runs a benchmark."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmmscore.anchors import FIRST_REPEAT, append_round
from lmmscore.benchmark import Benchmark, load_benchmark
from lmmscore.errors import BenchmarkError, LmmscoreError
from lmmscore.execution.base import Executor, Job, Listeners, executors
from lmmscore.images import ImageFormat, Pictures, Recipe
from lmmscore.judges import Bench, open_judge
from lmmscore.judges.base import Judge
from lmmscore.judges.recorded import Recorded
from lmmscore.judges.spending import Spending
from lmmscore.ledger import Asker, Ledger
from lmmscore.plan import Order, Plan, load_protocol, make_plan
from lmmscore.run_folder import Manifest, Run, RunFolder, recorded_run
from lmmscore.scores import Result

if TYPE_CHECKING:
    from lmmscore.results import RunResult


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
    settings: Mapping[str, str] = field(default_factory=dict)
    ledger: Path | None = None
    max_side_px: int | None = None
    image_format: ImageFormat | None = None
    judge_options: Mapping[str, Any] = field(default_factory=dict)
    anchors: tuple[str, ...] = ()
    """Items asked again at each run, whichever are judged, to see whether the judge drifts."""
    engine: str = "local"
    """Which executor plays the sessions."""
    command: str = ""

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
class Hooks:
    """Where a caller can look on or take hold of a run."""

    listeners: Listeners = field(default_factory=Listeners)
    on_start: Callable[[Executor, Plan, Bench], None] = lambda *_: None


def plan_of(request: Request) -> Plan:
    """Return the sessions a request stands for. Raises where anything would stop the run."""
    if min(request.repeats or 1, request.concurrency, request.max_side_px or 1) < 1:
        raise LmmscoreError(
            "repeats, concurrency and the longest side of a picture must be at least 1"
        )
    structured = bool(request.judge_options.get("structured"))
    recorded = request.recorded
    if recorded is not None and request.dialog in (None, recorded.manifest.dialog):
        return _recorded_plan(request, recorded)
    protocol = load_protocol(request.dialog or "lmm-score", request.settings, structured)
    whole = load_benchmark(request.benchmark)
    chosen = whole.select(request.tasks, request.items, request.methods)
    order = request.order or "shuffled"
    plan = make_plan(whole, chosen, protocol, order, request.repeats or 1, request.seed or 0)
    return _with_anchors(plan, request, whole)


def _recorded_plan(request: Request, run: Run) -> Plan:
    """Return the plan of a recorded run, in its own words, order and settings, as far as none is given."""
    manifest = run.manifest
    protocol = manifest.protocol
    if request.settings:
        protocol = replace(protocol, settings={**protocol.settings, **request.settings})
    whole = load_benchmark(request.benchmark)
    items = request.items
    if not (request.tasks or request.items):
        items = run.item_ids() if manifest.items != len(whole.items) else ()
    chosen = whole.select(request.tasks, items, request.methods or tuple(manifest.methods))
    given = (request.order, request.repeats, request.seed, *request.methods)
    plan = make_plan(
        whole,
        chosen,
        protocol,
        request.order or manifest.order,
        request.repeats or manifest.repeats,
        manifest.seed if request.seed is None else request.seed,
    )
    if all(value is None for value in given):
        # How orders come about may change; how the edits were shown then does not.
        plan = replace(plan, recorded_orders=run.orders())
    return _with_anchors(plan, request, whole)


def _with_anchors(plan: Plan, request: Request, whole: Benchmark) -> Plan:
    """Return the plan with its anchors, which are held to all that is asked of items that are judged."""
    if not request.anchors:
        return plan
    chosen = whole.select(items=request.anchors, methods=request.methods)
    for item in chosen.items:
        if not any(method in item.edits for method in chosen.methods):
            raise BenchmarkError(
                f"anchor {item.id}: no method made an edit of this item; choose another"
            )
    checked = make_plan(whole, chosen, plan.protocol)
    return replace(plan, anchors=checked.benchmark.items)


async def play_request(request: Request, hooks: Hooks) -> Run:
    """Play the request's sessions and return the run; nothing that is on record is asked again."""
    plan = plan_of(request)
    bench = open_judge(request.judge, request.judge_options)
    out = request.out or default_folder(plan, bench.judge.name)
    ledger_path = request.ledger or out / "ledger.sqlite"
    asker = Asker.of(bench.judge.name, bench.judge.parameters)
    manifest = Manifest.of(plan, request.recipe, asker, bench.judge.caution, request.command)
    pictures = Pictures(request.recipe)
    with (
        closing(RunFolder(out, manifest, plan.benchmark.root, ledger_path)) as folder,
        closing(_told_what_was_spent(bench, out, ledger_path)),
        Ledger(ledger_path) as ledger,
    ):
        judge = Recorded(bench.judge, ledger, bench.answers)
        job = Job(plan.protocol, judge, pictures, request.concurrency, hooks.listeners)
        executor = executors.get(request.engine)(job)
        hooks.on_start(executor, plan, bench)
        try:
            folder.begin()
            await executor.run(plan, folder.take)
            anchored = await _play_anchors(plan, executor, ledger, asker)
            if anchored:
                append_round(out / "anchors.csv", anchored, plan.protocol, asker, pictures)
            state = "finished" if executor.error is None else f"stopped: {executor.error}"
            run = _finished(folder, executor, state)
        finally:
            await bench.judge.close()
            if bench.answers is not None:
                bench.answers.close()
    if executor.error is not None:
        raise executor.error
    return run


def _finished(folder: RunFolder, executor: Executor, state: str) -> Run:
    try:
        return folder.finish(state)
    except LmmscoreError:
        if executor.error is None:
            raise
        # The run was stopped already: what stopped it is the news, not that its tables cannot be
        # written.
        raise executor.error from None


def _told_what_was_spent(bench: Bench, out: Path, ledger_path: Path) -> Spending:
    """Tell a judge that counts money what this run has spent: a budget covers all parts of it."""
    path, before_usd = out / "spending.csv", 0.0
    if not path.exists() and ledger_path == out / "ledger.sqlite" and ledger_path.is_file():
        # A folder that never had, or has lost, its own account: what its ledger has priced is the
        # least it spent.
        with Ledger(ledger_path, read_only=True) as earlier:
            before_usd = earlier.cost_usd()
    spending = Spending(path, before_usd)
    tell = getattr(bench.judge, "keep", None)
    if tell is not None:
        tell(spending)
    return spending


async def _play_anchors(
    plan: Plan, executor: Executor, ledger: Ledger, asker: Asker
) -> list[Result]:
    """Ask the anchors again; return nothing where the run was stopped, for a round is whole or none."""
    if not plan.anchors or executor.error is not None:
        return []
    # Counted by the ledger, which may be shared: a round that another run has asked is no measure
    # of today.
    repeat = max(FIRST_REPEAT, 1 + ledger.last_repeat(asker))
    results: list[Result] = []
    await executor.run(plan.anchor_units(repeat), results.append)
    return results if executor.error is None else []


def default_folder(plan: Plan, judge: str) -> Path:
    """Return results/BENCHMARK-DIALOG-JUDGE, in letters every file system takes."""
    model = judge.removeprefix("openai/").split("@")[0]
    name = f"{plan.benchmark.name}-{plan.protocol.name}-{model}"
    return Path("results") / (re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run")


def run(
    benchmark: str | Path,
    dialog: str | None = None,
    judge: str | Judge = "pixels",
    *,
    out: str | Path | None = None,
    order: Order | None = None,
    repeats: int | None = None,
    seed: int | None = None,
    concurrency: int = 8,
    tasks: Iterable[str] = (),
    items: Iterable[str] = (),
    methods: Iterable[str] = (),
    settings: Mapping[str, str] | None = None,
    ledger: str | Path | None = None,
    max_side_px: int | None = None,
    image_format: ImageFormat | None = None,
    judge_options: Mapping[str, Any] | None = None,
    anchors: Iterable[str] = (),
    engine: str = "local",
    hooks: Hooks | None = None,
    progress: bool | None = None,
) -> RunResult:
    """Judge a benchmark and return the run, as `lmmscore run` does.

    `judge` is a name as on the command line, or any object that has the methods of
    `lmmscore.judges.base.Judge`. The same call again resumes where it stopped, at no cost for what was
    answered before. `progress` shows how far it is; None does so in a notebook and keeps quiet in a
    program.
    """
    request = Request(
        benchmark=Path(benchmark),
        dialog=dialog,
        judge=judge,
        out=_named("out", out),
        order=order,
        repeats=repeats,
        seed=seed,
        concurrency=concurrency,
        tasks=tuple(tasks),
        items=tuple(items),
        methods=tuple(methods),
        settings=dict(settings or {}),
        ledger=_named("ledger", ledger),
        max_side_px=max_side_px,
        image_format=image_format,
        judge_options=dict(judge_options or {}),
        anchors=tuple(anchors),
        engine=engine,
    )
    if hooks is not None:
        return _result(_run_anywhere(request, hooks))
    if not (_in_notebook() if progress is None else progress):
        return _result(_run_anywhere(request, Hooks()))
    with contextlib.ExitStack() as stack:
        return _result(_run_anywhere(request, watching(stack)))


def _result(run: Run) -> RunResult:
    from lmmscore.results import RunResult

    return RunResult(run.path)


def watching(
    stack: contextlib.ExitStack, on_start: Callable[[Executor, Plan], None] = lambda *_: None
) -> Hooks:
    """Return hooks that show progress until the stack is left; `on_start` is called before it appears."""
    from lmmscore.report.progress import Progress

    shown: list[Progress] = []

    def start(executor: Executor, plan: Plan, bench: Bench) -> None:
        on_start(executor, plan)
        meter = getattr(bench.judge, "meter", None)
        shown.append(stack.enter_context(Progress(plan.units, meter)))

    listeners = Listeners(
        on_exchange=lambda exchange: shown[0].exchange(exchange),
        on_result=lambda result: shown[0].result(result),
    )
    return Hooks(listeners, start)


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook; asking costs no import."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def _named(name: str, value: str | Path | None) -> Path | None:
    """Return a path; raise for an empty one, which would be the folder one happens to be in."""
    if value == "":
        raise LmmscoreError(f"{name} is empty; name a path, or leave it out")
    return None if value is None else Path(value)


def _run_anywhere(request: Request, hooks: Hooks) -> Run:
    """Run to the end, in a thread of its own where a notebook's event loop already occupies this one."""
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
