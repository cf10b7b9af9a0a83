"""`lmmscore run`: run a dialog about every item and score the edits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from lmmscore.api import Hooks, Request, default_folder, play_request, watching
from lmmscore.benchmark import names_given_away
from lmmscore.cli.command_line import (
    JUDGE_PREFIX,
    Command,
    FilePath,
    GroupedCommand,
    json_flag,
    options_of,
    print_board,
    take_judge_options,
)
from lmmscore.errors import counted
from lmmscore.execution.executor import Executor, StopRequested, executors
from lmmscore.judges import Bench
from lmmscore.judges.budget import NOTICES
from lmmscore.judges.config import JudgeOptions
from lmmscore.options import GROUPS, MACHINES, declared
from lmmscore.plan import Plan
from lmmscore.run_folder import Run

if TYPE_CHECKING:
    from lmmscore.anchors import Drift
    from lmmscore.cli.watch import WatchAlongside


# --------------------------------------------------------------------------------------------------
# The options of a run on the command line, as those who understand them declare them.
# --------------------------------------------------------------------------------------------------

_ENGINE = "engine_option_"

judge_options = options_of(JudgeOptions, JUDGE_PREFIX)


def run_options(command: Command) -> Command:
    """Add everything a run can be asked for, the judge's and the engines' options included."""
    for name in reversed(executors.names()):
        command = options_of(executors.get(name).options, _ENGINE)(command)
    command = options_of(Request)(judge_options(command))
    return click.argument("benchmark", type=FilePath(path_type=Path))(command)


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
    """Remove what only one engine understands from a command's arguments, and return it."""
    if given.pop("batch", False):
        given["engine"] = "batch"

    chosen: dict[str, Any] = {}
    for name in executors.names():
        for each in declared(executors.get(name).options):
            value = given.pop(_ENGINE + each.name)
            if value and given["engine"] != name:
                raise click.UsageError(f"{each.about.flag} goes with --engine {name}")

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

    `on_folder` is told the folder of the run once that is known.
    """
    _log_to_stderr(log_level)
    try:
        return asyncio.run(_play(request, on_folder))
    except StopRequested as stopped:
        click.echo(f"lmmscore: {stopped}", err=True)
        raise click.exceptions.Exit(130) from stopped


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to whatever standard error is at the moment:
    above the live display while there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        self.stream = sys.stderr
        super().emit(record)


def _log_to_stderr(level: str) -> None:
    # Only our own lines: other libraries log whole requests, pictures and all.
    ours = logging.getLogger("lmmscore")
    handler = _Stderr()
    # What a judge notices is said by the display, in a line that is meant for people.
    handler.addFilter(lambda record: record.name != NOTICES)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    ours.handlers = [handler]
    ours.setLevel(level.upper())
    ours.propagate = False


async def _play(request: Request, on_folder: Callable[[Path], None] | None) -> Run:
    with contextlib.ExitStack() as stack:

        def begin(runner: Executor, plan: Plan) -> None:
            for problem in (*plan.benchmark.problems, *names_given_away(plan.benchmark)):
                click.echo(f"warning: {problem}", err=True)

            _on_signals(runner, stack.close)

        shown = watching(stack, begin)

        def start(runner: Executor, plan: Plan, bench: Bench) -> None:
            shown.on_start(runner, plan, bench)
            if on_folder is not None:
                names = (plan.benchmark.name, plan.protocol.name, bench.judge.name)
                on_folder(request.out or default_folder(*names))

        return await play_request(request, Hooks(shown.listeners, start))


def _on_signals(runner: Executor, close_display: Callable[[], None]) -> None:
    """Stop asking at the first Ctrl-C or SIGTERM; give up at once at the second."""
    asked: list[bool] = []

    def stop() -> None:
        if asked:
            # Now means now: whatever is recorded is durable already, and nothing else is worth
            # waiting for. But the terminal gets its cursor back, which only the display can do,
            # whatever state that is in.
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
    # A terminal that is closed asks for the same as Ctrl-C: save what there is.
    hangup = [signal.SIGHUP] if hasattr(signal, "SIGHUP") else []
    for number in (signal.SIGINT, signal.SIGTERM, *hangup):
        _install(loop, number, stop)


def _install(loop: asyncio.AbstractEventLoop, number: int, stop: Callable[[], None]) -> None:
    try:
        loop.add_signal_handler(number, stop)
    except (NotImplementedError, RuntimeError):
        # Windows has no such thing on its event loop.
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

    The same command resumes where it stopped: nothing that was answered is asked again.
    Ctrl-C once stops asking, finishes what is in flight and saves; twice stops at once.
    """
    request = request_from(given)
    if watch:
        unscored = _run_watched(request, log_level, as_json)
    else:
        unscored = _run(request, log_level, as_json)

    if unscored:
        raise click.exceptions.Exit(3)


def _run_watched(request: Request, log_level: str, as_json: bool) -> bool:
    """Play the request with a page beside it that stays when the run is over."""
    from lmmscore.cli.watch import WatchAlongside

    with contextlib.closing(WatchAlongside()) as page:
        unscored = _run(request, log_level, as_json, page)
        page.until_interrupted()
    return unscored


def _run(
    request: Request, log_level: str, as_json: bool, page: WatchAlongside | None = None
) -> bool:
    """Play the request and print what came of it; return whether something is unscored."""

    run = play(request, log_level, page.begin if page else None)
    if run.manifest.state == "waiting":
        _say_waiting(run, as_json, bool(request.engine_options.get("cancel")))
        return False

    unscored = run.manifest.unscored
    moved = _say_drift(run) if request.anchors else None
    if as_json:
        keys = {"state", "judge", "dialog", "models", "caution", "unscored", "slips", "repairs"}
        found = {"run": str(run.path), **run.manifest.model_dump(mode="json", include=keys)}
        click.echo(json.dumps(found | ({"anchors": asdict(moved)} if moved else {}), indent=2))
    else:
        _print_result(run)

    if unscored:
        noun, lacks = ("comparison", "winner") if run.is_of_pairs else ("edit", "score")
        subject = f"{noun} has" if unscored == 1 else f"{noun}s have"
        said = f"{unscored} {subject} no {lacks}; {run.path / run.results_file} says why"
        click.echo(said, err=True)

    return bool(unscored or (moved and moved.unscored))


def _say_waiting(run: Run, as_json: bool, cancelled: bool) -> None:
    """Say what is on its way; the same command collects it."""
    manifest = run.manifest
    if as_json:
        found = {"run": str(run.path), "state": manifest.state, "waiting": manifest.waiting}
        click.echo(json.dumps(found | {"judged": manifest.judged, "planned": manifest.planned}))

    follows = "The same command collects what is answered and sends what follows (--wait stays)"
    if cancelled:
        follows = "The same command without --cancel sends again what was not answered"

    waiting = "the batches were told to end" if cancelled else f"waiting for {manifest.waiting}"
    sessions = counted(manifest.planned, "session is", "sessions are")
    judged = f"{manifest.judged} of {sessions} judged"
    click.echo(f"{waiting}; {judged}. {follows}", err=True)


def _say_drift(run: Run) -> Drift:
    from lmmscore.anchors import drift
    from lmmscore.report.formats.terminal import printable

    found = drift(run.path / "anchors.csv")
    click.echo(printable(str(found)), err=True)
    return found


def request_from(given: dict[str, Any]) -> Request:
    """Return the request that a command's arguments stand for."""
    from lmmscore.judges.config import mask

    # The command is kept with the run and shown in its report; a password in an address is not, nor
    # is a path that may hold a user's name.
    words = ["lmmscore", *(_without_folders(mask(word)) for word in sys.argv[1:])]
    request = request_of(given, shlex.join(words))
    if request.engine == "batch" and request.anchors:
        raise click.UsageError(
            "--anchors ask anew at each run, which batches cannot; leave one out"
        )
    return request


def _without_folders(word: str) -> str:
    """Return an argument without the folders of an absolute path in it."""
    name, equals, value = word.rpartition("=")
    return f"{name}{equals}{Path(value).name}" if Path(value).is_absolute() else word


def _print_result(run: Run) -> None:
    from lmmscore.report.leaderboard import write_leaderboards, write_pair_boards

    if not run.manifest.planned:
        click.echo(f"nothing to judge: {run.manifest.chosen or 'no edits'}", err=True)
        return

    print_board(write_pair_boards(run) if run.is_of_pairs else write_leaderboards(run))
    click.echo(f"\nrun:  {run.path}", err=True)
    shown = shlex.quote(str(run.path))
    click.echo(f"next: lmmscore leaderboard {shown} --format tex", err=True)
    if not run.is_of_pairs:
        click.echo(f"      lmmscore report {shown}", err=True)
