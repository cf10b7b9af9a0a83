"""Whole ledgers as files: what is in one, several united, a part taken out, checked, exported.

An exchange's key is a digest of exactly what was asked, so that ledgers can be united without any
agreement between those who wrote them: equal keys are the same question.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmmscore.conversation import Conversation
from lmmscore.errors import FileProblem, LedgerError
from lmmscore.ledger import COLUMNS, Ledger, identity_of, is_damaged

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM exchange"
_INSERT = f"INSERT INTO exchange ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_REPLY = ("reply", "finish", "refusal")
"""What makes two answers to the same question different ones."""


Row = tuple[Any, ...]
"""An exchange, column by column."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a ledger holds of one judge with one set of parameters."""

    judge: str
    parameters: str
    exchanges: int
    openings: int
    """How many different first questions: conversations that begin alike share theirs."""
    repeats: int
    models: tuple[str, ...]
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """The same question with different answers in two ledgers."""

    key: str
    kept: Path
    other: Path


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of uniting ledgers."""

    added: int
    known: int
    conflicts: tuple[Conflict, ...]


def contents(path: Path) -> list[Content]:
    """Return what a ledger holds, judge by judge."""
    sql = """
        SELECT judge, parameters, count(*), total(before = ?), count(DISTINCT repeat),
               group_concat(DISTINCT model), total(prompt_tokens), total(completion_tokens),
               total(cost_usd), min(recorded_at), max(recorded_at)
        FROM exchange GROUP BY judge, parameters ORDER BY min(rowid)
    """
    with closing(_opened(path)) as connection:
        rows = connection.execute(sql, (Conversation().digest,)).fetchall()
    return [
        Content(
            judge=row[0],
            parameters=row[1],
            exchanges=row[2],
            openings=int(row[3]),
            repeats=row[4],
            models=tuple(filter(None, (row[5] or "").split(","))),
            prompt_tokens=int(row[6]),
            completion_tokens=int(row[7]),
            cost_usd=row[8],
            first=row[9],
            last=row[10],
        )
        for row in rows
    ]


def merge(out: Path, sources: Sequence[Path]) -> Merged:
    """Unite ledgers into one. What `out` has already stands; then what is recorded first.

    Raises before anything is written where a source cannot be read.
    """
    for path in sources:
        _opened(path).close()
    out.parent.mkdir(parents=True, exist_ok=True)
    Ledger(out).close()
    added = known = 0
    conflicts: list[Conflict] = []
    origin: dict[str, Path] = {}
    with closing(sqlite3.connect(out, isolation_level=None, timeout=60)) as target:
        target.execute("BEGIN IMMEDIATE")
        for path, row in _in_order_of_recording(sources):
            values = dict(zip(COLUMNS, row, strict=True))
            done = target.execute(f"{_INSERT} ON CONFLICT DO NOTHING", row)
            if done.rowcount == 1:
                added += 1
                origin[values["key"]] = path
                continue
            known += 1
            standing = target.execute(f"{_SELECT} WHERE key = ?", (values["key"],)).fetchone()
            stands = dict(zip(COLUMNS, standing, strict=True))
            if any(stands[name] != values[name] for name in _REPLY):
                conflicts.append(Conflict(values["key"], origin.get(values["key"], out), path))
        target.execute("COMMIT")
    return Merged(added, known, tuple(conflicts))


def _in_order_of_recording(sources: Sequence[Path]) -> Iterator[tuple[Path, Row]]:
    """Yield every exchange of all sources, the earliest recorded first."""
    import heapq

    def rows(number: int, path: Path) -> Iterator[tuple[str, int, Path, Row]]:
        with closing(_opened(path)) as connection:
            for row in connection.execute(f"{_SELECT} ORDER BY recorded_at, key"):
                yield row[-1], number, path, row

    streams = [rows(number, path) for number, path in enumerate(sources)]
    for _, _, path, row in heapq.merge(*streams, key=lambda each: (each[0], each[1], each[3][0])):
        yield path, row


def extract(path: Path, out: Path, *, keys: Iterable[str] | None = None, judge: str = "") -> int:
    """Copy a part of a ledger: the exchanges of a run, by their keys, or those of one judge."""
    if out.exists():
        raise FileProblem(f"{out}: exists already; name a new file")
    return write_rows(out, rows_of(path, keys=keys, judge=judge))


def rows_of(path: Path, *, keys: Iterable[str] | None = None, judge: str = "") -> Iterator[Row]:
    """Yield the exchanges of a ledger as they were recorded: all, those wanted, or one judge's."""
    wanted = None if keys is None else set(keys)
    with closing(_opened(path)) as source:
        for row in source.execute(f"{_SELECT} ORDER BY rowid"):
            key, name = row[:2]
            is_wanted = wanted is None or key in wanted
            is_the_judges = judge in ("", name, identity_of(name))
            if is_wanted and is_the_judges:
                yield row


def write_rows(out: Path, rows: Iterable[Row]) -> int:
    """Write exchanges as a new ledger; the same rows in the same order give the same bytes."""
    count = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    Ledger(out).close()
    with closing(sqlite3.connect(out, isolation_level=None)) as target:
        # One file, with nothing beside it: it is made to be sent somewhere.
        target.execute("PRAGMA journal_mode = DELETE")
        target.execute("BEGIN")
        for row in rows:
            target.execute(_INSERT, row)
            count += 1
        target.execute("COMMIT")
        target.execute("VACUUM")
    return count


def row_digest(row: Row) -> str:
    """Return the digest of an exchange: every column, in order."""
    return hashlib.sha256(json.dumps(row, ensure_ascii=False).encode()).hexdigest()


def problems(path: Path) -> Iterator[str]:
    """Yield what is wrong with a ledger: its file, keys that do not fit,
    rows that cannot be read."""
    try:
        with closing(_opened(path)) as connection:
            for (line,) in connection.execute("PRAGMA integrity_check"):
                if line != "ok":
                    yield f"{path}: {line}"
            for row in connection.execute(_SELECT):
                yield from (f"{path}: exchange {row[0][:12]}: {says}" for says in faults_of(row))
    except sqlite3.Error as error:
        damaged = "damaged" if is_damaged(error) else "not readable"
        yield f"{path}: {damaged} ({error})"


def faults_of(row: Row) -> Iterator[str]:
    """Yield what is wrong with one exchange."""
    values = dict(zip(COLUMNS, row, strict=True))
    parts = [values["judge"], values["parameters"], values["conversation"], values["repeat"]]
    digest = hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()
    if digest != values["key"]:
        yield "its key does not fit what was asked"
    for name in ("parameters", "images"):
        try:
            json.loads(values[name])
        except ValueError:
            yield f"{name} is not JSON"


def export(path: Path, out: Path) -> int:
    """Write every exchange to a .jsonl or .parquet file; return how many."""
    suffix = out.suffix.lower()
    if suffix not in (".jsonl", ".parquet"):
        raise FileProblem(f"{out}: name a .jsonl or a .parquet file")
    with closing(_opened(path)) as connection:
        rows = (
            dict(zip(COLUMNS, row, strict=True))
            for row in connection.execute(f"{_SELECT} ORDER BY rowid")
        )
        return _write_lines(rows, out) if suffix == ".jsonl" else _write_parquet(rows, out)


def _write_lines(rows: Iterator[dict[str, Any]], out: Path) -> int:
    count = 0
    with out.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def _write_parquet(rows: Iterator[dict[str, Any]], out: Path) -> int:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise FileProblem(f"{out}: Parquet needs `pip install 'lmmscore[parquet]'`") from error
    table = pyarrow.Table.from_pylist(list(rows))
    pyarrow.parquet.write_table(table, out)
    return int(table.num_rows)


def _opened(path: Path) -> sqlite3.Connection:
    """Open a ledger, or the ledger of a run's folder, to read.

    Raises LedgerError where it is none.
    """
    # The ledger's own checks: is it there, is it one of ours, is it of a version we know.
    Ledger(path, read_only=True).close()
    still = not path.with_name(f"{path.name}-wal").exists()
    location = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if still else ''}"
    try:
        return sqlite3.connect(location, uri=True)
    except sqlite3.Error as error:
        raise LedgerError(f"{path}: {error}") from error
