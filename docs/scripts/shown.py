"""Run the commands that the documentation shows, and keep the output it shows real.

A fenced block of language `console` holds commands after `$ ` and their output; one of language `sh` only commands.
Comments right before a block say what a reader need not see:

    <!-- not run: REASON -->   the block cannot run offline
    <!-- exit: N -->           the last command ends with this code
    <!-- before: COMMAND -->   run first, output ignored

A line `...` in an output stands for any number of lines. `python docs/scripts/shown.py` writes the real output into the
pages; the tests compare.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(
    r"(?P<comments>(?:<!--(?:(?!-->).)*-->\n+)*)(?P<fence>```(?P<kind>console|sh)\n(?P<body>.*?)```)",
    re.DOTALL,
)
_COMMENT = re.compile(r"<!-- (not run|exit|before): (.*?) -->", re.DOTALL)
_PROGRESS = re.compile(r"\d+/\d+ sessions ·|calls \+|… \d+ of \d+")


@dataclass(frozen=True)
class Command:
    """A command as shown, with the output shown after it."""

    text: str
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A fenced block of commands."""

    kind: str
    commands: tuple[Command, ...]
    not_run: str = ""
    exit: int = 0
    before: tuple[str, ...] = ()
    span: tuple[int, int] = (0, 0)
    """Where the body stands in the page."""


def pages() -> list[Path]:
    """Return README.md and the pages of docs/, decisions aside."""
    docs = ROOT / "docs"
    return [ROOT / "README.md", *sorted(docs.glob("*.md")), *sorted(docs.glob("protocols/*.md"))]


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of commands of a page."""
    for match in _BLOCK.finditer(text):
        notes = _COMMENT.findall(match["comments"])
        yield Block(
            match["kind"],
            tuple(_commands(match["kind"], match["body"])),
            next((value for name, value in notes if name == "not run"), ""),
            next((int(value) for name, value in notes if name == "exit"), 0),
            tuple(value for name, value in notes if name == "before"),
            match.span("body"),
        )


def _commands(kind: str, body: str) -> Iterator[Command]:
    lines = body.splitlines()
    if kind == "sh":
        joined = re.sub(r"\\\n\s*", "", body)
        yield from (
            Command(line, ())
            for line in joined.splitlines()
            if line.strip() and not line.startswith("#")
        )
        return
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        last = start
        while lines[last].endswith("\\"):
            last += 1
        text = " ".join(
            line.removesuffix("\\").strip() for line in lines[start : last + 1]
        ).removeprefix("$ ")
        yield Command(text, tuple(lines[last + 1 : end]))


class Shell:
    """A folder of its own in which a page's commands run one after the other, offline and without colours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = folder / ".bin"
        programs.mkdir()
        for name, module in (("lmmscore", "-m lmmscore"), ("python", "")):
            (programs / name).write_text(
                f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n', encoding="utf-8"
            )
            (programs / name).chmod(0o755)
        # Not in the environment of a test: a key, a proxy, a colour, a width.
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
        self.environment = {
            **kept,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "PYTHONWARNINGS": "ignore",
            "COLUMNS": "100",
        }

    def run(self, command: str) -> tuple[list[str], int]:
        """Return the lines a command prints, progress left out, and its exit code."""
        text, code = self.printed(command)
        lines = text.replace(str(self.folder) + "/", "").replace(str(ROOT), "…").splitlines()
        kept = [line.rstrip() for line in lines if not _PROGRESS.search(line)]
        while kept and not kept[-1]:
            kept.pop()
        return kept, code

    def printed(self, command: str) -> tuple[str, int]:
        """Return all that a command prints, and its exit code."""
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        return done.stdout, done.returncode


def matches(shown: tuple[str, ...] | list[str], real: list[str]) -> bool:
    """Whether the output shown is the real one, `...` standing for any lines."""
    shown = list(shown)
    while shown and not shown[-1].strip():
        shown.pop()
    if "..." not in shown:
        return shown == real
    at = shown.index("...")
    if shown[:at] != real[:at]:
        return False
    rest = shown[at + 1 :]
    return any(matches(rest, real[start:]) for start in range(at, len(real) + 1)) if rest else True


def elided(shown: tuple[str, ...], real: list[str]) -> list[str]:
    """Return the real output cut as the shown one is: so many lines before `...`, so many after."""
    if "..." not in shown:
        return real
    before = shown.index("...")
    after = len(shown) - before - 1
    if before + after >= len(real):
        return real
    return [*real[:before], "...", *(real[len(real) - after :] if after else [])]


def rewrite(page: Path) -> bool:
    """Run a page's commands and write their output into it; return whether it changed."""
    text = page.read_text(encoding="utf-8")
    pieces, last = [], 0
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(Path(folder).resolve())
        for block in blocks(text):
            if block.not_run:
                continue
            for command in block.before:
                shell.run(command)
            body = text[slice(*block.span)]
            if block.kind == "console":
                body = "".join(_played(shell, block))
            else:
                for command in block.commands:
                    shell.run(command.text)
            pieces += [text[last : block.span[0]], body]
            last = block.span[1]
    new = "".join([*pieces, text[last:]])
    page.write_text(new, encoding="utf-8")
    return new != text


def _played(shell: Shell, block: Block) -> Iterator[str]:
    for command in block.commands:
        real, code = shell.run(command.text)
        if code != (block.exit if command is block.commands[-1] else 0):
            print(
                f"warning: {command.text!r} ended with {code}:\n" + "\n".join(real), file=sys.stderr
            )
        shown = "\n".join(command.shown).rstrip().splitlines()
        lines = elided(tuple(shown), real)
        yield "\n".join([f"$ {command.text}", *lines]) + "\n"


if __name__ == "__main__":
    chosen = [Path(name) for name in sys.argv[1:]] or pages()
    for path in chosen:
        print(f"{path}: {'changed' if rewrite(path) else 'as it was'}", file=sys.stderr)
