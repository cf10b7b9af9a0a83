"""The whole program from Python: one function runs a benchmark."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmmscore.anchors import FIRST_REPEAT, append_round
from lmmscore.errors import LmmscoreError
from lmmscore.execution.executor import Executor, Job, Listeners, executors
from lmmscore.images import Pictures
from lmmscore.judges import Bench, open_judge
from lmmscore.judges.budget import Spending
from lmmscore.judges.judge import Judge, Recorded, spending_of
from lmmscore.judges.replay import Silent
from lmmscore.ledger import Asker, Ledger
from lmmscore.options import declared, taken
from lmmscore.plan import Plan, Unit
from lmmscore.request import NO_READER, Prepared, Request, prepare
from lmmscore.run_folder import Manifest, Run
from lmmscore.run_writer import RunWriter
from lmmscore.scores import Result

if TYPE_CHECKING:
    from lmmscore.results import RunResult


@dataclass(frozen=True, slots=True)
class Hooks:
    """Where a caller can look on or take hold of a run."""

    listeners: Listeners = field(default_factory=Listeners)
    on_start: Callable[[Executor, Plan, Bench], None] = lambda *_: None


async def play_request(request: Request, hooks: Hooks) -> Run:
    """Play the request's sessions and return the run; nothing that is on record is asked again."""
    bench = open_judge(request.judge, request.all_judge_options)
    prepared = prepare(request, bench.judge.name)
    plan, out = prepared.plan, prepared.folder
    ledger_path = request.ledger or out / "ledger.sqlite"
    asker = Asker.of(bench.judge.name, bench.judge.parameters)
    reader = _other_reader(request, prepared, bench)
    manifest = Manifest.of(
        plan,
        request.recipe,
        asker,
        bench.judge.caution,
        request.command,
        out,
        _reading_asker(plan, asker, reader),
    )
    pictures = Pictures(request.recipe)
    with (
        closing(RunWriter(out, manifest, plan, ledger_path)) as folder,
        closing(_told_what_was_spent(bench, out, ledger_path)) as spending,
        Ledger(ledger_path) as ledger,
    ):
        judge = Recorded(bench.judge, ledger, bench.answers)
        if reader is not None:
            reader.judge.keep(spending)

        engine = executors.get(request.engine)
        job = Job(
            plan.protocol,
            judge,
            pictures,
            request.concurrency,
            hooks.listeners,
            request.judge if isinstance(request.judge, str) else None,
            request.all_judge_options,
            out,
            engine.options(**taken(engine.options, request.engine_options, request.engine)),
            Recorded(reader.judge, ledger, reader.answers) if reader else None,
            request.reader if isinstance(request.reader, str) else None,
        )
        executor = engine.make(job)
        hooks.on_start(executor, plan, bench)
        try:
            # Ctrl-C while all this was prepared takes effect here, before run.yaml says that the
            # run is under way.
            await asyncio.sleep(0)
            folder.begin()
            units: Iterable[Unit] = plan
            if hooks.listeners.skip_known:
                on_known = hooks.listeners.on_known or _unheard
                units = folder.unknown(plan, ledger, on_known)

            await executor.run(units, folder.take)
            anchored = await _play_anchors(plan, executor, judge)
            if anchored:
                append_round(out / "anchors.csv", anchored, plan.protocol, asker, pictures)

            state = "finished"
            if executor.error is not None:
                state = f"stopped: {executor.error}"
            elif executor.waiting:
                state = "waiting"

            run = _finished(folder, executor, state)
        finally:
            await executor.close()
            await bench.judge.close()
            if reader is not None:
                await reader.judge.close()

            if bench.answers is not None:
                bench.answers.close()

    if executor.error is not None:
        raise executor.error
    return run


def _unheard(unit: Unit, exchanges: int) -> None:
    """Nobody listens."""


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


def _finished(folder: RunWriter, executor: Executor, state: str) -> Run:
    try:
        return folder.finish(state, executor.waiting)
    except LmmscoreError:
        if executor.error is None:
            raise
        # The run was stopped already: what stopped it is the news, not that its tables cannot be
        # written.
        raise executor.error from None


def _told_what_was_spent(bench: Bench, out: Path, ledger_path: Path) -> Spending:
    """Tell a judge that counts money what this run has spent: a budget covers all parts of it."""
    spending = spending_of(out, ledger_path)
    bench.judge.keep(spending)
    return spending


async def _play_anchors(plan: Plan, executor: Executor, judge: Recorded) -> list[Result]:
    """Ask the anchors again; return nothing where the run was stopped,
    for a round is whole or none."""
    if not plan.anchors or executor.error is not None:
        return []

    # Counted by the ledger, which may be shared: a round that another run has asked is no measure
    # of today.
    repeat = max(FIRST_REPEAT, 1 + judge.last_repeat())
    results: list[Result] = []
    await executor.run(plan.anchor_units(repeat), results.append)
    return results if executor.error is None else []


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
    fields of `lmmscore.request.Request`; those of the judge go into `judge_options`. The same call
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
