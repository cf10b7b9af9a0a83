"""What was derived from a unit's replies, kept beside the run so that deriving it again is cheap.

Never a second truth: what is kept counts only while the replies in the ledger, the pictures' files,
what was planned and the code that reads are all as they were. The file may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import orjson

from lmmscore.ledger import Ledger, digest_of
from lmmscore.plan import Protocol, Unit
from lmmscore.records import Reply

NAME = ".readings.sqlite"
"""The file in a run's folder."""

COMMITTED_AT_ONCE = 1000
_UNCONCERNED = {"cli", "report", "web", "leaderboard", "agreement", "stats", "importers", "judges"}
"""Packages that have no part in deriving a session's scores from its replies."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS reading (
  unit TEXT PRIMARY KEY,        -- which unit of the plan
  conditions TEXT NOT NULL,     -- digest of all that the derivation depends on, but for the replies
  keys TEXT NOT NULL,           -- JSON list of the ledger's keys, in the order of the conversation
  replies TEXT NOT NULL,        -- digest of those rows of the ledger
  derived TEXT NOT NULL         -- JSON: what was derived
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Derived:
    """What a run's folder says of a unit."""

    tables: Mapping[str, str]
    """By file, the lines that the unit adds to it."""
    counts: Mapping[str, int]
    models: list[tuple[str, str]] = field(default_factory=list)
    """Every model that answered, with its fingerprint."""


@dataclass(frozen=True, slots=True)
class KeptReading:
    """What is kept of a unit, as it lies in the file."""

    exchanges: int
    text: str

    def derived(self) -> Derived:
        """Return what was derived."""
        return Derived(**orjson.loads(self.text))


class Readings:
    """The readings of a run. Whatever is wrong with the file, the run does without."""

    def __init__(self, folder: Path, protocol: Protocol, asker: str, root: Path) -> None:
        self._path = folder / NAME
        self._root = f"{root}{os.sep}"
        self._context = _digest([reader_version(), _described(protocol), asker])
        self._pending = 0
        # What is no such file is removed, and made anew.
        self._connection = self._open() or self._open()

    def _open(self) -> sqlite3.Connection | None:
        connection = None
        try:
            connection = sqlite3.connect(self._path, isolation_level=None)
            # It can be made again at any time: nothing is worth waiting for the disk.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(_SCHEMA)
            connection.execute("BEGIN")
        except sqlite3.Error:
            if connection is not None:
                connection.close()
            with contextlib.suppress(OSError):
                self._path.unlink()
            return None
        return connection

    def find(self, unit: Unit, ledger: Ledger) -> KeptReading | None:
        """Return what is kept of a unit where it still holds, else None."""
        row = self._one(
            "SELECT conditions, keys, replies, derived FROM reading WHERE unit = ?", unit
        )
        if row is None:
            return None
        conditions, listed, replies, derived = row
        if conditions != self._conditions(unit):
            return None
        keys: list[str] = orjson.loads(listed)
        return KeptReading(len(keys), derived) if ledger.digest(keys) == replies else None

    def get(self, unit: Unit) -> Derived:
        """Return what is kept of a unit that was found to hold before."""
        row = self._one("SELECT derived FROM reading WHERE unit = ?", unit)
        assert row is not None, "found before"
        return KeptReading(0, row[0]).derived()

    def keep(self, unit: Unit, replies: Mapping[str, Reply], derived: Derived) -> None:
        """Keep what was derived from replies, which are given by their keys in the ledger."""
        conditions = self._conditions(unit)
        if self._connection is None or conditions is None:
            return
        held = {
            "tables": derived.tables,
            "counts": derived.counts,
            "models": derived.models,
        }
        keys = orjson.dumps(list(replies)).decode()
        row = (_name(unit), conditions, keys, digest_of(replies), orjson.dumps(held).decode())
        self._pending += 1
        with self._doing_without():
            self._connection.execute("INSERT OR REPLACE INTO reading VALUES (?, ?, ?, ?, ?)", row)
            if self._pending % COMMITTED_AT_ONCE == 0:
                self._connection.execute("COMMIT")
                self._connection.execute("BEGIN")

    def close(self) -> None:
        """Write what is pending."""
        if self._connection is not None:
            with self._doing_without():
                self._connection.execute("COMMIT")
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _one(self, sql: str, unit: Unit) -> tuple[str, ...] | None:
        row: tuple[str, ...] | None = None
        if self._connection is not None:
            with self._doing_without():
                row = self._connection.execute(sql, (_name(unit),)).fetchone()
        return row

    @contextlib.contextmanager
    def _doing_without(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error:
            assert self._connection is not None
            self._connection.close()
            self._connection = None

    def _conditions(self, unit: Unit) -> str | None:
        """Return a digest of all that a unit's scores depend on, its replies apart.

        A picture is taken to be the same while its file has the same size and time of change.
        """
        item = unit.item
        try:
            files = [self._file(kind, path) for kind, path in item.images.items()]
            files += [self._file(method, item.edits[method]) for method in unit.shown]
        except OSError:
            return None
        about = [item.task, item.instruction, dict(item.fields)]
        return _digest([self._context, _name(unit), unit.shown, about, files])

    def _file(self, name: str, path: Path) -> tuple[str, str, int, int]:
        return name, str(path).removeprefix(self._root), *_stamp(path)


def _name(unit: Unit) -> str:
    return json.dumps([unit.item.id, unit.repeat, unit.methods])


def _digest(parts: Iterable[object]) -> str:
    # Not orjson: the name of a picture's file may hold what is no Unicode.
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()


def _described(protocol: Protocol) -> list[object]:
    dialogs = [dialog.model_dump(mode="json") for dialog in protocol.dialogs]
    suite = protocol.suite.model_dump(mode="json") if protocol.suite else None
    own = [_stamp(dialog.file(name)) for dialog in protocol.dialogs for name in dialog.files]
    held = (protocol.structured, protocol.structured_turns, protocol.reader)
    return [dialogs, suite, dict(protocol.settings), held, own]


def _stamp(path: Path) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116 - a hundred thousand times, and Path.stat takes twice as long
    return found.st_size, found.st_mtime_ns


@cache
def reader_version() -> str:
    """Return a digest of the code that leads sessions and reads replies."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in _UNCONCERNED:
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
