"""The whole program from Python: one function runs a benchmark."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lmmscore.anchors import FIRST_REPEAT, anchor_units, append_round
from lmmscore.benchmark import Benchmark, load_benchmark
from lmmscore.errors import BenchmarkError, LmmscoreError
from lmmscore.images import ImageFormat, Pictures, Recipe
from lmmscore.judges import Bench, open_judge
from lmmscore.judges.base import Judge
from lmmscore.judges.recorded import Recorded
from lmmscore.judges.spending import Spending
from lmmscore.ledger import Asker, Ledger
from lmmscore.orders import Order
from lmmscore.planning import Plan, Protocol, load_protocol, make_plan
from lmmscore.records import Item
from lmmscore.runner import Listeners, Result, Runner
from lmmscore.runs import Run, RunFolder, describe


@dataclass(frozen=True, slots=True)
class Request:
    """Everything a run is asked for."""

    benchmark: Path
    dialog: str = "lmm-score"
    judge: str | Judge = "pixels"
    out: Path | None = None
    order: Order = "shuffled"
    repeats: int = 1
    seed: int = 0
    concurrency: int = 8
    tasks: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    ledger: Path | None = None
    root: Path | None = None
    """The folder the pictures are in, in place of `root:` in benchmark.yaml."""
    max_side_px: int = 1024
    image_format: ImageFormat = "png"
    judge_options: Mapping[str, Any] = field(default_factory=dict)
    anchors: tuple[str, ...] = ()
    """Items asked anew at each run, whichever are judged, to see whether the judge drifts."""
    command: str = ""

    @property
    def recipe(self) -> Recipe:
        """How pictures are prepared."""
        return Recipe(self.max_side_px, self.image_format)


@dataclass(frozen=True, slots=True)
class Hooks:
    """Where a caller can look on or take hold of a run."""

    listeners: Listeners = field(default_factory=Listeners)
    on_start: Callable[[Runner, Plan, Bench], None] = lambda *_: None


def plan_of(request: Request) -> Plan:
    """Return the sessions a request stands for. Raises where anything would stop the run."""
    whole = load_benchmark(request.benchmark, request.root)
    chosen = whole.select(request.tasks, request.items, request.methods)
    protocol = load_protocol(
        request.dialog, request.settings, bool(request.judge_options.get("structured"))
    )
    if request.repeats < 1 or request.concurrency < 1 or request.max_side_px < 1:
        raise LmmscoreError(
            "repeats, concurrency and the longest side of a picture must be at least 1"
        )
    plan = make_plan(whole, chosen, protocol, request.order, request.repeats, request.seed)
    return replace(plan, anchors=_anchors(request, whole, protocol)) if request.anchors else plan


def _anchors(request: Request, whole: Benchmark, protocol: Protocol) -> tuple[Item, ...]:
    """Return the anchors, from the whole benchmark; they are held to all that is asked of items that are judged."""
    chosen = whole.select(items=request.anchors, methods=request.methods)
    for item in chosen.items:
        if not any(method in item.edits for method in chosen.methods):
            raise BenchmarkError(
                f"anchor {item.id}: no method made an edit of this item; choose another"
            )
    return make_plan(whole, chosen, protocol).benchmark.items


async def play_request(request: Request, hooks: Hooks) -> Run:
    """Play the request's sessions and return the run; asking the same again asks nothing that is on record."""
    plan = plan_of(request)
    bench = open_judge(request.judge, request.judge_options)
    out = request.out or default_folder(plan, bench.judge.name)
    ledger_path = request.ledger or out / "ledger.sqlite"
    asker = Asker.of(bench.judge.name, bench.judge.parameters)
    described = describe(plan, request.recipe, asker, bench.judge.caution, request.command)
    pictures = Pictures(request.recipe)
    with (
        closing(RunFolder(out, described, ledger_path)) as folder,
        closing(_told_what_was_spent(bench, out, ledger_path)),
        Ledger(ledger_path) as ledger,
    ):
        runner = Runner(
            Recorded(bench.judge, ledger, bench.answers),
            pictures,
            request.concurrency,
            hooks.listeners,
        )
        hooks.on_start(runner, plan, bench)
        try:
            folder.begin()
            await runner.run(plan, folder.take)
            anchored = await _play_anchors(plan, runner, ledger, asker)
            if anchored:
                append_round(out / "anchors.csv", anchored, asker, pictures)
            state = "finished" if runner.error is None else f"stopped: {runner.error}"
            run = _finished(folder, runner, state)
        finally:
            await bench.judge.close()
            if bench.answers is not None:
                bench.answers.close()
    if runner.error is not None:
        raise runner.error
    return run


def _finished(folder: RunFolder, runner: Runner, state: str) -> Run:
    try:
        return folder.finish(state)
    except LmmscoreError:
        if runner.error is None:
            raise
        # The run was stopped already: what stopped it is the news, not that its tables cannot be written.
        raise runner.error from None


def _told_what_was_spent(bench: Bench, out: Path, ledger_path: Path) -> Spending:
    """Tell a judge that counts money what this run has spent: a budget covers all parts of it, and no other run."""
    path, before_usd = out / "spending.csv", 0.0
    if not path.exists() and ledger_path == out / "ledger.sqlite" and ledger_path.is_file():
        # A folder that never had, or has lost, its own account: what its ledger has priced is the least it spent.
        with Ledger(ledger_path, read_only=True) as earlier:
            before_usd = earlier.cost_usd()
    spending = Spending(path, before_usd)
    tell = getattr(bench.judge, "keep", None)
    if tell is not None:
        tell(spending)
    return spending


async def _play_anchors(plan: Plan, runner: Runner, ledger: Ledger, asker: Asker) -> list[Result]:
    """Ask the anchors anew; return nothing where the run was stopped, for a round is whole or it is none."""
    if not plan.anchors or runner.error is not None:
        return []
    # Counted by the ledger, which may be shared: a round that another run has asked is no measure of today.
    repeat = max(FIRST_REPEAT, 1 + ledger.last_repeat(asker))
    results: list[Result] = []
    await runner.run(anchor_units(plan, repeat), results.append)
    return results if runner.error is None else []


def default_folder(plan: Plan, judge: str) -> Path:
    """Return results/BENCHMARK-DIALOG-JUDGE, in letters every file system takes."""
    name = (
        f"{plan.benchmark.name}-{plan.protocol.name}-{judge.removeprefix('openai/').split('@')[0]}"
    )
    return Path("results") / (re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run")


def run(
    benchmark: str | Path,
    dialog: str = "lmm-score",
    judge: str | Judge = "pixels",
    *,
    out: str | Path | None = None,
    order: Order = "shuffled",
    repeats: int = 1,
    seed: int = 0,
    concurrency: int = 8,
    tasks: Iterable[str] = (),
    items: Iterable[str] = (),
    methods: Iterable[str] = (),
    settings: Mapping[str, str] | None = None,
    ledger: str | Path | None = None,
    root: str | Path | None = None,
    max_side_px: int = 1024,
    image_format: ImageFormat = "png",
    judge_options: Mapping[str, Any] | None = None,
    anchors: Iterable[str] = (),
    hooks: Hooks | None = None,
) -> Run:
    """Judge a benchmark and return the run, as `lmmscore run` does.

    `judge` is a name as on the command line, or any object that has the methods of `lmmscore.judges.base.Judge`.
    The same call again goes on where it stopped, at no cost for what was answered before.
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
        root=_named("root", root),
        max_side_px=max_side_px,
        image_format=image_format,
        judge_options=dict(judge_options or {}),
        anchors=tuple(anchors),
    )
    return _run_anywhere(request, hooks or Hooks())


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
