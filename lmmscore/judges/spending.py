"""What a run folder has spent, in a file that only grows: a budget must outlive the process that kept it.

The sum of its lines is what may have been spent. Money set aside for a question is given back when the question is
settled; a process that is killed gives nothing back, since the server may have charged for what was in flight.
"""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path
from typing import Literal

from lmmscore.errors import FileProblem, NotRecorded

What = Literal["set aside", "given back", "counted", "assumed"]


class Spending:
    """The file `spending.csv` of a run folder. `counted` is what servers counted; the rest is assumed."""

    def __init__(self, path: Path, before_usd: float = 0.0) -> None:
        """Read what is there. Where there is no file yet, it starts with what was spent before there was one."""
        self._path = path
        self._file: int | None = None
        self._carried_usd = 0.0 if path.exists() else before_usd
        rows = [] if not path.exists() else _read(path)
        self.total_usd = max(0.0, math.fsum(usd for usd, _ in rows)) + self._carried_usd
        self.counted_usd = (
            math.fsum(usd for usd, what in rows if what == "counted") + self._carried_usd
        )

    def write(self, *rows: tuple[float, What]) -> None:
        """Append lines, all at once. Raises NotRecorded."""
        rows = tuple((usd, what) for usd, what in rows if usd)
        if not rows:
            return
        try:
            if self._file is None:
                self._open()
            self._append(*rows)
        except OSError as error:
            raise NotRecorded(
                f"{self._path}: cannot be written ({error.strerror or error}); make room, then run the same command"
            ) from error

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> None:
        new = not self._path.exists()
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        if new:
            os.write(self._file, b"usd,what")
            self._append((self._carried_usd, "counted"))

    def _append(self, *rows: tuple[float, What]) -> None:
        assert self._file is not None
        # The line break comes first, so that a line cut short by a full disk cannot spoil the one after it.
        os.write(self._file, "".join(f"\n{usd:.9f},{what}" for usd, what in rows).encode())


def _read(path: Path) -> list[tuple[float, str]]:
    found: list[tuple[float, str]] = []
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.reader(file):
                usd = _number(row[0]) if len(row) == 2 else None
                if usd is not None:
                    found.append((usd, row[1]))
    except (OSError, csv.Error) as error:
        raise FileProblem(
            f"{path}: cannot be read ({error}); it says what the run has spent"
        ) from error
    return found


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
