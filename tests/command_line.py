"""Commands typed as a user would, each in a process of its own.

Most of the time of a short command goes into imports. `lmm` forks a process that has them behind it; `started`
starts Python and the program from nothing, for whatever depends on how they start.
"""

from __future__ import annotations

import functools
import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing import forkserver
from pathlib import Path
from unittest import mock

from lmmscore.cli import main

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 120

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.prepared"])


def lmm(
    *words: object, cwd: Path | None = None, program: str = "lmmscore", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command, as if by a program of this name; its terminal is 200 columns wide."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        known = {**os.environ, "COLUMNS": "200", **environment}
        code = fork([program, *map(str, words)], out, err, cwd or Path.cwd(), known)
        written = [path.read_text(encoding="utf-8") for path in (out, err)]
    return subprocess.CompletedProcess(words, code, *written)


def started(
    *words: object, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a Python of its own."""
    return subprocess.run(
        [sys.executable, "-m", "lmmscore", *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", **environment},
        check=False,
        timeout=TIMEOUT_S,
    )


def fork(
    words: list[str], out: Path, err: Path, folder: Path, environment: Mapping[str, str]
) -> int:
    """Run a program with its output in files, which may be the same, and return its exit code."""
    _prepare()
    process = _context.Process(target=_run, args=(words, out, err, folder, dict(environment)))
    process.start()
    process.join(TIMEOUT_S)
    if process.exitcode is None:
        process.kill()
        raise subprocess.TimeoutExpired(words, TIMEOUT_S)
    code = process.exitcode
    process.close()
    return code


@functools.cache
def _prepare() -> None:
    """Start the process that the others are forked from, where it finds this package."""
    with mock.patch.dict(os.environ, {"PYTHONPATH": str(ROOT)}):
        forkserver.ensure_running()


def _run(words: list[str], out: Path, err: Path, folder: Path, environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for descriptor, path in ((1, out), (2, err)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, descriptor)
        os.close(file)
    sys.stdout, sys.stderr = (_unbuffered(descriptor) for descriptor in (1, 2))
    sys.argv = words
    main()


def _unbuffered(descriptor: int) -> io.TextIOWrapper:
    raw = os.fdopen(descriptor, "wb", buffering=0, closefd=False)
    return io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
