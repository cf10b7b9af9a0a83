"""An option is declared once; the command line and Python derive from it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import lmmscore
from lmmscore.api import Request
from lmmscore.cli import lmmscore as command
from lmmscore.errors import LmmscoreError
from lmmscore.execution.executor import executors
from lmmscore.judges.config import JudgeOptions
from lmmscore.options import declared


@pytest.mark.parametrize("name", ["run", "plan"])
def test_every_declared_option_is_a_flag(name: str) -> None:
    """What a run, a judge or an engine understands can be said to `run` and to `plan` alike."""
    shown = CliRunner().invoke(command, [name, "--help"]).output
    engines = [executors.get(engine).options for engine in executors.names()]
    flags = [
        each.about.flag
        for declaration in (Request, JudgeOptions, *engines)
        for each in declared(declaration)
        if each.about.flag
    ]
    assert len(flags) > 35
    assert [flag for flag in flags if f"{flag} " not in shown and f"{flag}\n" not in shown] == []


def test_python_takes_the_options_of_the_command_line() -> None:
    """`help(lmmscore.run)` lists them, with the defaults that are declared."""
    parameters = inspect.signature(lmmscore.run).parameters
    for each in declared(Request):
        assert parameters[each.name].default == each.default, each.name


def test_values_from_python_are_taken_as_meant() -> None:
    """Texts may be paths, one name need not be a list, and None says nothing."""
    request = Request.of(
        "pictures", out="results/x", tasks="colour", items=["a", "b"], repeats=None
    )
    assert request.benchmark == Path("pictures") and request.out == Path("results/x")
    assert request.tasks == ("colour",) and request.items == ("a", "b")
    assert request.repeats is None and request.judge == "pixels"


def test_an_unknown_option_is_named() -> None:
    """A mistyped option is not swallowed."""
    with pytest.raises(TypeError, match=r"no option 'taks' \(did you mean tasks"):
        Request.of("pictures", taks=["colour"])
    with pytest.raises(LmmscoreError, match="out is empty"):
        Request.of("pictures", out="")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"limit": -1}, "limit=-1: must be at least 1"),
        ({"repeats": 0}, "repeats=0: must be at least 1"),
        ({"max_side_px": 4}, "max_side_px=4: must be at least 16"),
        ({"seed": "one"}, "seed='one': must be a whole number"),
        ({"order": "mixed"}, "order='mixed'; known: given"),
    ],
)
def test_python_is_held_to_the_bounds_of_the_command_line(
    given: dict[str, object], says: str
) -> None:
    """A limit of -1 would judge all items but one, and call the run finished."""
    with pytest.raises(LmmscoreError, match=says):
        Request.of("pictures", **given)


def test_an_option_of_another_engine_is_refused() -> None:
    """`--wait` means nothing where nothing is sent by batch."""
    done = CliRunner().invoke(command, ["run", "pictures", "--wait"])
    assert done.exit_code == 2 and "--wait goes with --engine batch" in done.output


def test_the_help_of_a_run_needs_no_extra() -> None:
    """An engine's options are known without the package it drives, which takes seconds to import."""
    words = "import sys; sys.modules['ray'] = None; from lmmscore.cli import lmmscore as command"
    call = f"{words}; command(['run', '--help'])"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "--ray-players" in done.stdout, done.stderr
