"""`lmmscore doctor`: the versions that matter for a bug report."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from shutil import get_terminal_size, which
from typing import Any

import click

from lmmscore.cli.command_line import json_flag, put_json
from lmmscore.resources import __version__

_PROGRAMS = {
    "chromium": (
        ("chromium", "chromium-browser", "google-chrome", "chrome"),
        "only for our own tests of the report",
    ),
    "pdflatex": (("pdflatex",), "to typeset leaderboard.tex"),
}
_SETTINGS = ("NO_COLOR", "COLUMNS", "PYTHONIOENCODING", "PYTHONUTF8", "CI")


@click.command("doctor")
@json_flag
def command(as_json: bool) -> None:
    """Print what a bug report should say: versions, extras, programs, console.

    Of a key it says only whether one is set. No folder or file is named.
    """
    found = examine()
    if as_json:
        put_json(found)
        return

    for section, entries in found.items():
        if not isinstance(entries, dict):
            click.echo(f"{section}: {entries}")
            continue

        click.echo(f"{section}:")
        width = max(map(len, entries), default=0)
        for name, value in entries.items():
            click.echo(f"  {name:{width}}  {value}")


def examine() -> dict[str, Any]:
    """Return everything, section by section."""
    import sqlite3

    required, extras = _distribution()
    return {
        "lmmscore": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": f"{platform.platform()} ({platform.machine()}, {os.cpu_count()} cores)",
        "sqlite": sqlite3.sqlite_version,
        "dependencies": {
            name: _version(name) or "missing: pip install lmmscore again" for name in required
        },
        "extras": {extra: _extra(extra, names) for extra, names in extras.items()},
        "programs": {name: _program(*spec) for name, spec in _PROGRAMS.items()},
        "console": _console(),
        "keys": {"OPENAI_API_KEY": "set" if os.environ.get("OPENAI_API_KEY") else "not set"},
    }


def _distribution() -> tuple[list[str], dict[str, list[str]]]:
    """Return what lmmscore needs and what its extras need, from its own metadata."""
    try:
        lines = requires("lmmscore") or []
    except PackageNotFoundError:  # run from a checkout that was never installed
        lines = []

    required: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in lines:
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", line)
        if name is None or name[0] == "lmmscore":
            continue

        if extra is None:
            required.append(name[0])
        elif extra[1] != "dev":
            extras.setdefault(extra[1], []).append(name[0])

    return required, extras


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _extra(extra: str, names: list[str]) -> str:
    versions = {name: _version(name) for name in names}
    if all(versions.values()):
        return ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"not installed: pip install 'lmmscore[{extra}]'"


def _program(names: tuple[str, ...], purpose: str) -> str:
    return "found" if any(map(which, names)) else f"not found; needed {purpose}"


def _console() -> dict[str, str]:
    described = {"stdout": _described(sys.stdout), "stderr": _described(sys.stderr)}
    described["width"] = str(get_terminal_size().columns)

    for name in _SETTINGS:
        if name in os.environ:
            described[name] = os.environ[name]

    return described


def _described(stream: Any) -> str:
    kind = "terminal" if stream.isatty() else "redirected"
    encoding = getattr(stream, "encoding", "") or "unknown"
    return f"{kind}, {encoding}"
