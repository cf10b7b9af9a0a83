"""`lmmscore run`: run a dialog about every item and score the edits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from lmmscore.api import Hooks, Request, default_folder, folder_of, play_request, watching
from lmmscore.benchmark import names_given_away
from lmmscore.cli.command_line import (
    JUDGE_PREFIX,
    Command,
    GroupedCommand,
    json_flag,
    options_of,
    path_argument,
    print_board,
    put_json,
    take_judge_options,
    together,
    write_boards,
)
from lmmscore.errors import counted
from lmmscore.execution.batch import BatchLog
from lmmscore.execution.executor import Executor, StopRequested, executors
from lmmscore.judges import Bench
from lmmscore.judges.config import JudgeOptions, mask
from lmmscore.judges.limits import NOTICES
from lmmscore.judges.trials import drift
from lmmscore.options import GROUPS, MACHINES, declared
from lmmscore.plan import Plan
from lmmscore.report.formats.terminal import printable
from lmmscore.run_folder import Run

if TYPE_CHECKING:
    from lmmscore.cli.watch import WatchAlongside
    from lmmscore.judges.trials import Drift


# --------------------------------------------------------------------------------------------------
# The options of a run on the command line, from where they are declared.
# --------------------------------------------------------------------------------------------------

_ENGINE = "engine_option_"

judge_options = options_of(JudgeOptions, JUDGE_PREFIX)


def run_options(command: Command) -> Command:
    """Add the options of a run, including the judge's and the engines'."""
    engines = [options_of(executors.get(name).options, _ENGINE) for name in executors.names()]
    add = together(path_argument("benchmark"), options_of(Request), judge_options, *engines)
    return add(command)


def run_groups() -> dict[str, list[str]]:
    """Return the flags of a run by the groups in which its help lists them."""
    engines = [executors.get(name).options for name in executors.names()]
    found: dict[str, list[str]] = {title: [] for title in GROUPS}
    for declaration in (Request, JudgeOptions, *engines):
        for each in declared(declaration):
            if each.about.flag and each.about.group:
                found[each.about.group].append(each.about.flag.removeprefix("--"))

    found[MACHINES].append("batch")
    return found


def request_of(given: dict[str, Any], command: str = "") -> Request:
    """Return what the arguments of a command ask for."""
    judge = take_judge_options(given)
    engine = _engine_options(given)
    asked = {name: value for name, value in given.items() if value is not None}
    return Request(**asked, judge_options=judge, engine_options=engine, command=command)


def _engine_options(given: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of a single engine from a command's arguments, and return them."""
    if given.pop("batch", False):
        given["engine"] = "batch"

    # Refuses an engine that there is not.
    executors.get(given["engine"])
    chosen: dict[str, Any] = {}
    for name in executors.names():
        for each in declared(executors.get(name).options):
            value = given.pop(_ENGINE + each.name)
            if value and given["engine"] != name:
                short = ", or --batch for short" if name == "batch" else ""
                raise click.UsageError(f"{each.about.flag} goes with --engine {name}{short}")

            if value:
                chosen[each.name] = value

    return chosen


# --------------------------------------------------------------------------------------------------
# Play a request in the foreground: progress on standard error, Ctrl-C understood.
# --------------------------------------------------------------------------------------------------


def play(
    request: Request,
    log_level: str = "warning",
    on_folder: Callable[[Path], None] | None = None,
) -> Run:
    """Play the request to its end, or until Ctrl-C; exits with 130 when interrupted.

    `on_folder` is called with the folder of the run before anything is asked.
    """
    _log_to_stderr(log_level)
    try:
        return asyncio.run(_play(request, on_folder))
    except StopRequested as stopped:
        click.echo(f"lmmscore: {stopped}", err=True)
        raise click.exceptions.Exit(130) from stopped


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to the current standard error, which the live display replaces while it is up."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        self.stream = sys.stderr
        super().emit(record)


def _log_to_stderr(level: str) -> None:
    # Only our own messages: other libraries log whole requests, pictures and all.
    ours = logging.getLogger("lmmscore")
    handler = _Stderr()
    # The display shows what a judge notices, in words meant for users.
    handler.addFilter(lambda record: record.name != NOTICES)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    ours.handlers = [handler]
    ours.setLevel(level.upper())
    ours.propagate = False


async def _play(request: Request, on_folder: Callable[[Path], None] | None) -> Run:
    with contextlib.ExitStack() as stack:

        def begin(runner: Executor, plan: Plan) -> None:
            told = [name for dialog in plan.protocol.dialogs for name in dialog.columns]
            for problem in (*plan.benchmark.problems, *names_given_away(plan.benchmark, told)):
                click.echo(f"warning: {problem}", err=True)

            _on_signals(runner, stack.close)

        shown = watching(stack, begin)

        def start(runner: Executor, plan: Plan, bench: Bench) -> None:
            shown.on_start(runner, plan, bench)
            if on_folder is not None:
                names = (plan.benchmark.name, plan.protocol.name, bench.judge.name)
                on_folder(folder_of(request, default_folder(*names)))

        return await play_request(request, Hooks(shown.listeners, start))


def _on_signals(runner: Executor, close_display: Callable[[], None]) -> None:
    """Stop asking at the first Ctrl-C or SIGTERM; give up at once at the second."""
    asked: list[bool] = []

    def stop() -> None:
        if asked:
            # What is recorded is on disk already, and nothing else is worth waiting for. But the
            # terminal gets its cursor back, which only the display can do.
            try:
                close_display()
            finally:
                os._exit(130)

        asked.append(True)
        click.echo("stopping: finishing what is in flight (Ctrl-C again to stop at once)", err=True)
        runner.stop(
            StopRequested(
                "interrupted; every reply so far is recorded. Run the same command to resume"
            )
        )

    loop = asyncio.get_running_loop()
    # Closing the terminal means the same as Ctrl-C: save what there is.
    hangup = [signal.SIGHUP] if hasattr(signal, "SIGHUP") else []
    for number in (signal.SIGINT, signal.SIGTERM, *hangup):
        _install(loop, number, stop)


def _install(loop: asyncio.AbstractEventLoop, number: int, stop: Callable[[], None]) -> None:
    try:
        loop.add_signal_handler(number, stop)
    except (NotImplementedError, RuntimeError):
        # The event loop on Windows has no signal handlers.
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))


# --------------------------------------------------------------------------------------------------
# `lmmscore run`: run a dialog about every item and score the edits.
# --------------------------------------------------------------------------------------------------


@click.command("run", cls=GroupedCommand, groups=run_groups())
@run_options
@click.option("--batch", is_flag=True, help="Send questions as batches, and collect them later.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="What is logged to standard error.",
)
@click.option(
    "--watch", is_flag=True, help="Show the run on a web page too; it stays until Ctrl-C."
)
@json_flag
def command(as_json: bool, log_level: str, watch: bool, **given: Any) -> None:
    """Run a dialog about every item of BENCHMARK and score the edits.

    BENCHMARK is a benchmark.yaml or its folder; `lmmscore init` writes one. The same command
    resumes where it stopped: nothing that was answered is asked again. Ctrl-C once stops asking,
    finishes what is in flight and saves; twice stops at once.
    """
    # The command is kept with the run and shown in its report, without passwords in addresses and
    # without absolute paths, which may hold a user's name.
    words = ["lmmscore", *(without_folders(mask(word)) for word in sys.argv[1:])]
    request = request_of(given, shlex.join(words))
    if watch:
        unscored = _run_watched(request, log_level, as_json)
    else:
        unscored = _run(request, log_level, as_json)

    if unscored:
        raise click.exceptions.Exit(3)


def _run_watched(request: Request, log_level: str, as_json: bool) -> bool:
    """Play the request with a web page beside it that stays up when the run is over."""
    from lmmscore.cli.watch import WatchAlongside

    with contextlib.closing(WatchAlongside()) as page:
        unscored = _run(request, log_level, as_json, page)
        page.until_interrupted()
    return unscored


def _run(
    request: Request, log_level: str, as_json: bool, page: WatchAlongside | None = None
) -> bool:
    """Play the request and print what came of it; return whether something is unscored."""
    cancel = bool(request.engine_options.get("cancel"))
    had_batches = False

    def begin(folder: Path) -> None:
        nonlocal had_batches
        if cancel:
            had_batches = bool(BatchLog(folder / "batches.jsonl").unfinished())
        if page is not None:
            page.begin(folder)

    run = play(request, log_level, begin)
    if not run.finished:
        if as_json:
            keys = {"state", "waiting", "judged", "planned"}
            put_json({"run": str(run.path), **run.manifest.model_dump(mode="json", include=keys)})

        _say_unfinished(run, cancel, had_batches)
        return False

    unscored = run.manifest.unscored
    moved = _say_drift(run) if request.anchors else None
    if as_json:
        keys = {"state", "judge", "dialog", "models", "caution", "unscored", "slips", "repairs"}
        found = {"run": str(run.path), **run.manifest.model_dump(mode="json", include=keys)}
        put_json(found | ({"anchors": asdict(moved)} if moved else {}))
    else:
        _print_result(run)

    if unscored:
        noun, lacks = ("comparison", "winner") if run.is_of_pairs else ("edit", "score")
        subject = counted(unscored, f"{noun} has", f"{noun}s have")
        click.echo(f"{subject} no {lacks}; {run.path / run.results_file} says why", err=True)

    return bool(unscored or (moved and moved.unscored))


def _say_unfinished(run: Run, cancelled: bool, had_batches: bool) -> None:
    """Say what is out, or what --cancel has ended, and what the next command does."""
    state = f"waiting for {run.manifest.waiting}"
    follows = "The same command collects what is answered and sends what follows (--wait stays)"
    if cancelled and had_batches:
        state = "the batches were told to end"
        follows = "The same command without --cancel sends again what was not answered"
    elif cancelled:
        state = "no batch was out: there was nothing to cancel"
        follows = "The same command without --cancel sends what is not answered"

    sessions = counted(run.manifest.planned, "session is", "sessions are")
    click.echo(f"{state}; {run.manifest.judged} of {sessions} judged. {follows}", err=True)


def _say_drift(run: Run) -> Drift:
    found = drift(run.path / "anchors.csv")
    click.echo(printable(str(found)), err=True)
    return found


_BEFORE_PATH = re.compile(r"(?:.*=|-\w|replay:)*")
"""What may stand before a path in an argument: `--out=`, `-o`, `replay:`."""


def without_folders(word: str) -> str:
    """Return an argument without the folders of an absolute path in it."""
    found = _BEFORE_PATH.match(word)
    before = found[0] if found else ""
    path = Path(word[len(before) :])
    return f"{before}{path.name}" if path.is_absolute() else word


def _print_result(run: Run) -> None:
    if not run.manifest.planned:
        click.echo(f"nothing to judge: {run.manifest.chosen or 'no edits'}", err=True)
        return

    print_board(write_boards(run), run.manifest)
    click.echo(f"\nrun:  {run.path}", err=True)
    shown = shlex.quote(str(run.path))
    click.echo(f"next: lmmscore leaderboard {shown} --format tex", err=True)
    if not run.is_of_pairs:
        click.echo(f"      lmmscore report {shown}", err=True)
