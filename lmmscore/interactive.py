"""`lmmscore.run` as people call it: the engine's, with progress shown where someone looks on."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lmmscore import api
from lmmscore.judges import Bench
from lmmscore.planning import Plan
from lmmscore.report.progress import Progress
from lmmscore.runner import Listeners, Runner
from lmmscore.runs import Run


def run(
    benchmark: str | Path,
    dialog: str = "lmm-score",
    judge: Any = "pixels",
    *,
    progress: bool | None = None,
    **options: Any,
) -> Run:
    """Judge a benchmark and return the run, as `lmmscore.api.run` does; options are the same.

    `progress` shows how far it is; None does so in a notebook and keeps quiet in a program.
    """
    if options.get("hooks") is not None or not (_in_notebook() if progress is None else progress):
        return api.run(benchmark, dialog, judge, **options)
    with contextlib.ExitStack() as stack:
        return api.run(benchmark, dialog, judge, **{**options, "hooks": watching(stack)})


def watching(
    stack: contextlib.ExitStack, on_start: Callable[[Runner, Plan], None] = lambda *_: None
) -> api.Hooks:
    """Return hooks that show progress until the stack is left; `on_start` is called before it appears."""
    shown: list[Progress] = []

    def start(runner: Runner, plan: Plan, bench: Bench) -> None:
        on_start(runner, plan)
        shown.append(stack.enter_context(Progress(plan.units, bench.judge.meter)))

    listeners = Listeners(
        on_exchange=lambda exchange: shown[0].exchange(exchange),
        on_result=lambda result: shown[0].result(result),
    )
    return api.Hooks(listeners, start)


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook; asking costs no import."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
