"""Play a request in the foreground: progress on standard error, Ctrl-C understood."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import click

from lmmscore.api import Hooks, play_request, watching
from lmmscore.check import names_given_away
from lmmscore.execution.base import Executor, StopRequested
from lmmscore.judges import Bench
from lmmscore.plan import Plan
from lmmscore.request import Request, default_folder
from lmmscore.run_folder import Run


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
