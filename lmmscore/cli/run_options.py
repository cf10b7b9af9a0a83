"""The options of a run on the command line, as those who understand them declare them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lmmscore.cli.options import Command, FilePath, options_of
from lmmscore.execution.base import executors
from lmmscore.judges.config import JudgeOptions
from lmmscore.options import GROUPS, MACHINES, declared
from lmmscore.request import Request

_JUDGE = "judge_option_"
"""Apart from a command's own: the judge has a seed, and so have the orders."""
_ENGINE = "engine_option_"

judge_options = options_of(JudgeOptions, _JUDGE)


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


def take_judge_options(given: dict[str, Any]) -> dict[str, Any]:
    """Remove the judge's options from a command's arguments and return those that were given."""
    names = [name for name in given if name.startswith(_JUDGE)]
    taken = {name.removeprefix(_JUDGE): given.pop(name) for name in names}
    # Compared by identity: 0 equals False, and a temperature, a seed or a budget of 0 is a wish.
    return {
        name: value for name, value in taken.items() if value is not None and value is not False
    }
