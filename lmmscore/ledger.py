"""The append-only record of exchanges, in SQLite, and who is asking what right now.

An exchange is durable before `record` returns. Commits are shared: whatever arrives while one
commit is being flushed goes into the next, so that many sessions at once do not wait for a flush
each. Pictures are not stored: their digests are, and the benchmark has the files.

Several processes may share a ledger and never ask the same question. A claim is a lease: its holder
renews it while it lives, and when it dies another may ask: at once where the death can be seen from
the same machine, else when the claim expires. Claims lie in a file of their own beside the ledger,
because they are written for every question and need not survive the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import heapq
import json
import os
import platform
import queue
import sqlite3
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import orjson

from lmmscore.conversation import Conversation
from lmmscore.errors import FileProblem, LedgerDamaged, LedgerError
from lmmscore.records import Reply, Usage

_Value = TypeVar("_Value")
_Done = TypeVar("_Done", Future[Reply], asyncio.Future[Reply])
Row = tuple[Any, ...]
"""An exchange, column by column, or a part of one."""

APPLICATION_ID = 0x6C6D6D73  # "lmms"
VERSION = 1

MOST_CELLS = 900
"""What one statement may be given: older builds of SQLite take 999."""

EXPORTED_AT_ONCE = 10_000
"""How many exchanges are in memory at once while they are written as Parquet."""

BUSY_S = 60.0
"""How long to wait for another process that writes the same file."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS exchange (
  key TEXT PRIMARY KEY,           -- digest of judge, parameters, conversation and repeat
  judge TEXT NOT NULL,
  parameters TEXT NOT NULL,       -- JSON
  repeat INTEGER NOT NULL,
  before TEXT NOT NULL,           -- digest of the conversation before the question
  conversation TEXT NOT NULL,     -- digest of the conversation with the question
  question TEXT NOT NULL,
  images TEXT NOT NULL,           -- JSON list of the digests of the pictures shown \
with the question
  reply TEXT NOT NULL,
  finish TEXT NOT NULL,
  refusal TEXT NOT NULL,
  reasoning TEXT NOT NULL,
  model TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  request_id TEXT NOT NULL,
  also TEXT NOT NULL,             -- JSON: whatever else came with the reply
  prompt_tokens INTEGER,
  completion_tokens INTEGER,
  cached_tokens INTEGER,
  reasoning_tokens INTEGER,
  cost_usd REAL,
  recorded_at TEXT NOT NULL
);
"""

COLUMNS = (
    "key judge parameters repeat before conversation question images reply finish refusal "
    "reasoning model fingerprint request_id also prompt_tokens completion_tokens cached_tokens "
    "reasoning_tokens cost_usd recorded_at"
).split()
"""The columns of an exchange, in their order."""

_REPLY_COLUMNS = ", ".join(COLUMNS[COLUMNS.index("reply") : -1])


@dataclass(frozen=True, slots=True)
class Asker:
    """Who is asked: a judge's name and whatever else changes its answers."""

    judge: str
    parameters: str

    @classmethod
    def of(cls, name: str, parameters: Mapping[str, Any]) -> Asker:
        """Return the asker for a judge; the order of its parameters does not matter."""
        return cls(name, json.dumps(dict(parameters), sort_keys=True, ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """An exchange as it stands in the file."""

    question: str
    reply: Reply
    recorded_at: str
    """When it was written, in UTC."""
    judge: str = ""
    conversation: str = ""
    """The digest of the conversation with the question."""


def key_of(asker: Asker, conversation: Conversation, repeat: int) -> str:
    """Return the digest of exactly what is asked.

    Neither the way it travels nor the time of day is in it.
    """
    return _digest([asker.judge, asker.parameters, conversation.digest, repeat])


def _digest(parts: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def identity_of(name: str) -> str:
    """Return a judge's name without its server, which version 0.1 made a part of it."""
    return name.partition("@http")[0] if name.startswith("openai/") else name


@dataclass(frozen=True, slots=True)
class Envelope:
    """What the ledger keeps of a question: enough to record an answer that comes another day."""

    key: str
    repeat: int
    before: str
    conversation: str
    question: str
    images: list[str]

    @classmethod
    def of(cls, asker: Asker, conversation: Conversation, repeat: int) -> Envelope:
        """Return what is kept of the last message of a conversation."""
        message, parent = conversation.message, conversation.parent
        if message is None or parent is None:
            raise ValueError("an empty conversation asks nothing")

        return cls(
            key_of(asker, conversation, repeat),
            repeat,
            parent.digest,
            conversation.digest,
            message.text,
            [picture.digest for picture in message.images],
        )


# --------------------------------------------------------------------------------------------------
# The ledger: looked into by many threads, written by one.
# --------------------------------------------------------------------------------------------------


class Ledger:
    """A file of exchanges. Safe to use from many threads, and from several processes at once."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._read = _connect(path, read_only=read_only)
        self._read_lock = threading.Lock()
        self._pending: queue.SimpleQueue[_PendingExchange | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._closed = False
        self._claims: Claims | None = None
        if not read_only:
            with _translated(path):
                self._claims = Claims(path)

            self._writer = threading.Thread(target=self._write_forever, name="ledger", daemon=True)
            self._writer.start()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is pending and close the file."""
        if self._closed:
            return

        self._closed = True
        # The writer first: it lets go of the claims of what it writes.
        if self._writer is not None:
            self._pending.put(None)
            self._writer.join()

        if self._claims is not None:
            self._claims.close()

        self._read.close()

    def find(self, key: str) -> Reply | None:
        """Return the recorded reply to a question, or None."""
        row = self._one(f"SELECT {_REPLY_COLUMNS} FROM exchange WHERE key = ?", (key,))
        return None if row is None else _reply(row)

    def find_all(self, keys: Sequence[str]) -> dict[str, Reply]:
        """Return the replies that are on record, by key."""
        return {key: _reply(cells) for key, *cells in self._rows(keys)}

    def _rows(self, keys: Sequence[str]) -> list[Row]:
        found: list[Row] = []
        for some in _batched(keys):
            sql = f"SELECT key, {_REPLY_COLUMNS} FROM exchange WHERE key IN ({_marks(some)})"
            found += self._all(sql, tuple(some))

        return found

    def digest(self, keys: Sequence[str]) -> str | None:
        """Return a digest of the replies with these keys; None where one is not on record."""
        rows = self._rows(keys)
        if len(rows) != len(set(keys)):
            return None
        return _digest_of_rows(rows)

    def entry(self, key: str) -> RecordedExchange | None:
        """Return the whole exchange known by a key, or None."""
        row = self._one(
            f"SELECT question, recorded_at, judge, conversation, {_REPLY_COLUMNS} "
            "FROM exchange WHERE key = ?",
            (key,),
        )
        if row is None:
            return None

        question, recorded_at, judge, conversation, *reply = row
        return RecordedExchange(question, _reply(reply), recorded_at, judge, conversation)

    def pictures(self, key: str) -> list[str]:
        """Return the digests of the pictures shown with a question, in order; none if unknown."""
        row = self._one("SELECT images FROM exchange WHERE key = ?", (key,))
        try:
            return [] if row is None else list(json.loads(row[0]))
        except ValueError as error:
            raise LedgerError(f"{self.path}: exchange {key[:12]}: {_DAMAGED}") from error

    def record(
        self, asker: Asker, conversation: Conversation, repeat: int, reply: Reply
    ) -> Future[Reply]:
        """Append an exchange.

        The future's result is the reply that stands: the first one recorded for this key.
        """
        return self.record_envelope(asker, Envelope.of(asker, conversation, repeat), reply)

    def record_envelope(self, asker: Asker, envelope: Envelope, reply: Reply) -> Future[Reply]:
        """Append an exchange of which only the envelope was kept, as `record` does."""
        return self._append(asker, envelope, reply, Future())

    def recorded(
        self, asker: Asker, conversation: Conversation, repeat: int, reply: Reply
    ) -> asyncio.Future[Reply]:
        """Append an exchange as `record` does, for a caller in an event loop.

        It is appended even if the caller no longer waits.
        """
        envelope = Envelope.of(asker, conversation, repeat)
        done: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        return self._append(asker, envelope, reply, done)

    def _append(self, asker: Asker, envelope: Envelope, reply: Reply, done: _Done) -> _Done:
        """Hand an exchange to the writer; `done` is settled once it is on disk."""
        self._pending.put(_PendingExchange(_row(asker, envelope, reply), reply, done))
        return done

    def claim(self, *keys: str) -> set[str]:
        """Take on questions; return them without those that another process is asking now."""
        if self._claims is None:
            return set(keys)
        with _translated(self.path):
            return self._claims.take(*keys)

    def release(self, *keys: str) -> None:
        """Let go of questions that were taken on."""
        if self._claims is not None:
            self._claims.release(*keys)

    def askers(self) -> list[Asker]:
        """Return everyone who was asked, in order of first appearance."""
        rows = self._all(
            "SELECT judge, parameters FROM exchange GROUP BY judge, parameters ORDER BY min(rowid)"
        )
        return [Asker(*row) for row in rows]

    def last_repeat(self, asker: Asker) -> int:
        """Return the highest repeat that has an answer, whatever was asked; 0 where nothing was."""
        sql = "SELECT max(repeat) FROM exchange WHERE judge = ? AND parameters = ?"
        return int(self._figure(sql, (asker.judge, asker.parameters)))

    def count(self) -> int:
        """Return how many exchanges are recorded."""
        return int(self._figure("SELECT count(*) FROM exchange"))

    def cost_usd(self) -> float:
        """Return what all recorded exchanges cost together, as far as a price was known."""
        return self._figure("SELECT total(cost_usd) FROM exchange")

    def _figure(self, sql: str, values: tuple[Any, ...] = ()) -> float:
        """Return the one figure of an aggregate; 0 where SQLite has none."""
        row = self._one(sql, values)
        return (row and row[0]) or 0

    def _one(self, sql: str, values: tuple[Any, ...]) -> Row | None:
        rows = self._all(sql, values)
        return rows[0] if rows else None

    def _all(self, sql: str, values: tuple[Any, ...] = ()) -> list[Row]:
        # Asked for every question: a context manager would take as long as the look-up itself.
        with self._read_lock:
            try:
                return self._read.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                raise _in_our_words(error, self.path) from error

    def _write_forever(self) -> None:
        try:
            connection = _connect(self.path, read_only=False)
        except LedgerError as error:
            while (batch := _gather(self._pending)) is not None:
                _tell(batch, error)
            return

        with contextlib.closing(connection):
            while (batch := _gather(self._pending)) is not None:
                self._write(connection, batch)

    def _write(self, connection: sqlite3.Connection, batch: list[_PendingExchange]) -> None:
        """Write exchanges in one transaction, then tell the callers. Never raises."""
        try:
            with _translated(self.path), connection:
                standing = _insert(connection, batch)
        except Exception as error:
            # Whatever it is: the callers of this batch must hear of it, and the next batch must be
            # written.
            known = (
                error if isinstance(error, LedgerError) else LedgerError(f"{self.path}: {error!r}")
            )
            _tell(batch, known)
            return

        if self._claims is not None:
            # Once for all of them: each release alone would be a transaction of its own.
            self._claims.release(*(entry.key for entry in batch))

        _tell(batch, standing)


@dataclass(frozen=True, slots=True)
class _PendingExchange:
    """An exchange on its way into the file, and who waits for it to be there."""

    row: Row
    reply: Reply
    done: Future[Reply] | asyncio.Future[Reply]

    @property
    def key(self) -> str:
        return str(self.row[0])


def _row(asker: Asker, envelope: Envelope, reply: Reply) -> Row:
    """Return an exchange, recorded now, as the columns of the ledger."""
    return (
        *(envelope.key, asker.judge, asker.parameters, envelope.repeat),
        *(envelope.before, envelope.conversation),
        *(envelope.question, json.dumps(envelope.images)),
        *_reply_cells(reply),
        datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _insert(connection: sqlite3.Connection, batch: list[_PendingExchange]) -> list[Reply]:
    """Insert exchanges whose question has no answer yet; return the answers that stand."""
    standing: list[Reply] = []
    for some in _batched(batch, len(COLUMNS)):
        # One statement for many rows: between any two, the writer would wait for its turn in
        # Python again.
        rows = ", ".join([f"({_marks(COLUMNS)})"] * len(some))
        cells = [cell for entry in some for cell in entry.row]
        done = connection.execute(
            f"INSERT INTO exchange VALUES {rows} ON CONFLICT DO NOTHING", cells
        )
        if done.rowcount == len(some):
            standing += [entry.reply for entry in some]
            continue

        sql = f"SELECT {_REPLY_COLUMNS} FROM exchange WHERE key = ?"
        standing += [_reply(connection.execute(sql, (each.key,)).fetchone()) for each in some]

    return standing


def _tell(batch: Sequence[_PendingExchange], outcome: Sequence[Reply] | LedgerError) -> None:
    """Tell everyone who waits for an exchange what became of it.

    Those of one event loop are told together, as each call into it from outside wakes it up:
    recording takes half the time that it would with `asyncio.wrap_future`.
    """
    by_loop: dict[asyncio.AbstractEventLoop, list[Callable[[], None]]] = {}
    for number, entry in enumerate(batch):
        found = outcome if isinstance(outcome, LedgerError) else outcome[number]
        settle = partial(_settle, entry.done, found)
        if isinstance(entry.done, Future):
            settle()
        else:
            by_loop.setdefault(entry.done.get_loop(), []).append(settle)

    for loop, calls in by_loop.items():
        # A loop that is closed has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_call_all, calls)


def _call_all(calls: Sequence[Callable[[], None]]) -> None:
    for call in calls:
        call()


def _settle(done: Future[Reply] | asyncio.Future[Reply], found: Reply | LedgerError) -> None:
    if done.cancelled():
        return
    if isinstance(found, LedgerError):
        done.set_exception(found)
    else:
        done.set_result(found)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _batched(values: Sequence[_Value], each: int = 3) -> Iterator[Sequence[_Value]]:
    """Yield as many values at a time as one statement takes, each of so many cells.

    A claim has three; a key alone would have room for more, at no gain.
    """
    size = MOST_CELLS // each
    for start in range(0, len(values), size):
        yield values[start : start + size]


def digest_of(replies: Mapping[str, Reply]) -> str:
    """Return what `Ledger.digest` says of these replies, by key, once they are on record."""
    rows = [(key, *_reply_cells(reply)) for key, reply in replies.items()]
    return _digest_of_rows(rows)


def _digest_of_rows(rows: Sequence[Row]) -> str:
    return hashlib.sha256(orjson.dumps(sorted(rows, key=itemgetter(0)))).hexdigest()


def _reply_cells(reply: Reply) -> Row:
    """Return a reply as the columns of the ledger that hold it."""
    usage = reply.usage
    return (
        *(reply.text, reply.finish, reply.refusal, reply.reasoning),
        *(reply.model, reply.fingerprint, reply.request_id, reply.also),
        *(usage.prompt_tokens, usage.completion_tokens),
        *(usage.cached_tokens, usage.reasoning_tokens),
        None if reply.cost_usd is None else float(reply.cost_usd),
    )


def _gather(pending: queue.SimpleQueue[_PendingExchange | None]) -> list[_PendingExchange] | None:
    """Wait for an entry, then take all there are; None when there will be no more."""
    first = pending.get()
    if first is None:
        return None

    batch = [first]
    while not pending.empty():
        entry = pending.get()
        if entry is None:
            pending.put(None)
            break

        batch.append(entry)

    return batch


def _reply(row: Sequence[Any]) -> Reply:
    text, finish, refusal, reasoning, model, fingerprint, request_id, also, *usage, cost = row
    return Reply(
        text,
        finish,
        refusal,
        reasoning,
        model,
        fingerprint,
        request_id,
        usage=Usage(*usage),
        cost_usd=cost,
        also=also,
    )


# --------------------------------------------------------------------------------------------------
# Claims: who is asking what right now. See docs/decisions/0152 and 0182.
# --------------------------------------------------------------------------------------------------

LEASE_S = 30.0
"""How long a claim holds after its holder was last heard of."""

_CLAIM_SCHEMA = """
CREATE TABLE IF NOT EXISTS claim (key TEXT PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL)
"""

_TAKE = """
INSERT INTO claim VALUES {rows}
ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires = excluded.expires
WHERE claim.expires < ? OR claim.owner = excluded.owner
"""


class Claims:
    """The claims of one process. Safe to use from many threads."""

    def __init__(self, ledger: Path, lease_s: float = LEASE_S) -> None:
        self._path = ledger.with_name(ledger.name + "-claims")
        self._owner = f"{_machine()}:{os.getpid()}:{uuid.uuid4().hex}"
        self._held: set[str] = set()
        self._lease_s = lease_s
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._connection = self._open()
        # Whoever closes last removes the file. If that happened while it was opened here, nobody
        # else would see this one.
        while not self._path.exists():
            self._connection.close()
            self._connection = self._open()

        self._renewer = threading.Thread(target=self._renew_forever, name="claims", daemon=True)
        self._renewer.start()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._sign_in()
        except sqlite3.DatabaseError as error:
            if not _is_damaged(error):
                raise

        # As a machine that fails may leave it: nobody can be asking by it.
        self._remove()
        return self._sign_in()

    def _sign_in(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, check_same_thread=False, timeout=BUSY_S, isolation_level=None
        )
        switch_to_wal(connection)
        # Nothing is lost with the machine but claims, and with it their holders are gone too.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(_CLAIM_SCHEMA)

        # Not a question: a sign of life.
        now = time.time()
        sign = (self._owner, self._owner, now + self._lease_s, now)
        connection.execute(_TAKE.format(rows="(?, ?, ?)"), sign)

        owners = connection.execute("SELECT DISTINCT owner FROM claim").fetchall()
        dead = [row for row in owners if _has_died(row[0])]
        connection.executemany("DELETE FROM claim WHERE owner = ?", dead)
        return connection

    def take(self, *keys: str) -> set[str]:
        """Claim questions; return them without those that another process is asking."""
        taken: set[str] = set()
        with self._lock:
            for some in _batched(keys):
                if self._take(*some):
                    taken.update(some)
                else:
                    taken.update(key for key in some if self._take_one(key))

            self._held |= taken

        return taken

    def _take_one(self, key: str) -> bool:
        """Claim a question; also one whose holder has died, whose claims all go."""
        if self._take(key):
            return True

        sql = "SELECT owner FROM claim WHERE key = ?"
        holder = self._connection.execute(sql, (key,)).fetchone()
        if holder is not None and not _has_died(holder[0]):
            return False

        if holder is not None:
            self._connection.execute("DELETE FROM claim WHERE owner = ?", holder)

        return self._take(key)

    def _take(self, *keys: str) -> bool:
        """Claim all of them, in one transaction; False where there is one that cannot be had."""
        now = time.time()
        rows = [value for key in keys for value in (key, self._owner, now + self._lease_s)]
        sql = _TAKE.format(rows=", ".join(["(?, ?, ?)"] * len(keys)))
        return self._connection.execute(sql, (*rows, now)).rowcount == len(keys)

    def release(self, *keys: str) -> None:
        """Let go of questions: they are answered, or someone else may try."""
        with self._lock:
            held = [key for key in keys if key in self._held]
            self._held.difference_update(keys)
            # On a full disk they stay, and expire.
            with contextlib.suppress(sqlite3.Error):
                for some in _batched(held):
                    sql = f"DELETE FROM claim WHERE key IN ({_marks(some)}) AND owner = ?"
                    self._connection.execute(sql, (*some, self._owner))

    def close(self) -> None:
        """Let go of everything. The last one out removes the file."""
        self._closing.set()
        self._renewer.join()
        with (
            self._lock,
            contextlib.closing(self._connection) as connection,
            contextlib.suppress(sqlite3.Error),
        ):
            # Nobody can sign in while this transaction lasts, so nobody loses a file in use.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM claim WHERE owner = ?", (self._owner,))
            alive = "SELECT count(*) FROM claim WHERE expires > ?"
            (others,) = connection.execute(alive, (time.time(),)).fetchone()
            if not others:
                self._remove()

            connection.execute("COMMIT")

    def _remove(self) -> None:
        for suffix in ("-wal", "-shm", ""):
            with contextlib.suppress(OSError):
                self._path.with_name(self._path.name + suffix).unlink()

    def _renew_forever(self) -> None:
        while not self._closing.wait(self._lease_s / 3):
            sql = "UPDATE claim SET expires = ? WHERE owner = ?"
            with self._lock, contextlib.suppress(sqlite3.Error):
                self._connection.execute(sql, (time.time() + self._lease_s, self._owner))


@cache
def _machine() -> str:
    """Return an id of this machine since it was booted; "" if unknown.

    Processes with the same id see each other's process numbers; those of two containers do not.
    """
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        numbers = Path("/proc/self/ns/pid").readlink()
    except OSError:
        return ""
    return hashlib.sha256(f"{platform.node()} {started} {numbers}".encode()).hexdigest()[:16]


def _has_died(owner: str) -> bool:
    """Tell whether the process that holds a claim is known to have ended."""
    machine, _, rest = owner.partition(":")
    number = rest.partition(":")[0]
    if not machine or machine != _machine() or not number.isdecimal():
        return False

    try:
        # Signal 0 does nothing; it only asks whether there is such a process.
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False

    return False


# --------------------------------------------------------------------------------------------------
# The file: how it is opened, and what its errors mean.
# --------------------------------------------------------------------------------------------------


def _connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Open a ledger; to write, it is created where missing. Raises LedgerError."""
    with _translated(path):
        return _open_to_read(path) if read_only else _open_to_write(path)


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Open a ledger without changing anything, not even beside it."""
    if not path.is_file():
        raise LedgerError(f"{path}: no such ledger")

    # What a process killed before its first write leaves is an empty file.
    is_still = not path.with_name(path.name + "-wal").exists()
    if is_still and path.stat().st_size == 0:
        return _empty()

    # A published ledger may be in a read-only folder, where SQLite must be told that nobody writes.
    connection = _sqlite(path, "mode=ro&immutable=1" if is_still else "mode=ro")
    with _closed_on_error(connection):
        if "exchange" in _tables(connection, path):
            return connection

    # Cut short before its tables were made: a ledger without exchanges.
    connection.close()
    return _empty()


def _open_to_write(path: Path) -> sqlite3.Connection:
    _refuse_without_locks(path)
    connection = _sqlite(path, "mode=rwc")
    with _closed_on_error(connection):
        tables = _tables(connection, path)
        switch_to_wal(connection)
        # FULL makes a commit survive the machine, not only the process.
        connection.execute("PRAGMA synchronous = FULL")
        if "exchange" not in tables:
            # All or nothing: what a full disk cut short is made when there is room.
            connection.executescript(
                f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID}; "
                f"PRAGMA user_version = {VERSION}; {_SCHEMA} COMMIT;"
            )

    return connection


def _sqlite(path: Path, query: str) -> sqlite3.Connection:
    location = f"{path.absolute().as_uri()}?{query}"
    return sqlite3.connect(location, uri=True, check_same_thread=False, timeout=BUSY_S)


@contextlib.contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _empty() -> sqlite3.Connection:
    """Return a ledger without exchanges."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(_SCHEMA)
    return connection


def _tables(connection: sqlite3.Connection, path: Path) -> set[str]:
    """Return the names of the tables. Raises LedgerError for a file that is no ledger of ours."""
    # In this order: another run that is just making the file writes its id before its tables.
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if rows and application != APPLICATION_ID:
        raise LedgerError(f"{path}: an SQLite file, but not a ledger of lmmscore")
    if version > VERSION:
        raise LedgerError(
            f"{path}: written by a newer lmmscore (format {version}); update lmmscore"
        )
    return {name for (name,) in rows}


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _in_our_words(error, path) from error


_DAMAGED = "the file is damaged; put back a copy, or move it away: what it held is then asked again"
_FOREIGN = f"so it is not a ledger: name another file. If it was one, {_DAMAGED}"
_WITHOUT_LOCKS = (
    sqlite3.SQLITE_IOERR_LOCK,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMMAP,
    sqlite3.SQLITE_IOERR_SHMLOCK,
    sqlite3.SQLITE_PROTOCOL,
)
"""What SQLite says where the file system cannot lock files, as some network file systems cannot."""
_NO_LOCKS = (
    "this file system has no locks, which SQLite needs; keep the ledger on a local disk with "
    "--ledger"
)


def _refuse_without_locks(path: Path) -> None:
    """Raise where files cannot be locked, which SQLite would take for another process at work."""
    if sys.platform != "win32":
        import fcntl

        # A file of its own: closing another handle of the ledger would let go of SQLite's locks.
        try:
            with tempfile.TemporaryFile(dir=path.parent) as probe:
                fcntl.lockf(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP):
                raise LedgerError(f"{path}: {error.strerror}; {_NO_LOCKS}") from error


def _in_our_words(error: sqlite3.Error, path: Path) -> LedgerError:
    """Return an error of SQLite with what to do about it."""
    said = str(error)
    if _code(error) == sqlite3.SQLITE_NOTADB:
        return LedgerDamaged(f"{path}: {said}", _FOREIGN)
    if _is_damaged(error):
        # Python quotes all of a text that it cannot decode.
        said = said if _code(error) is not None else "text that is not UTF-8"
        return LedgerDamaged(f"{path}: {said}", _DAMAGED)
    if getattr(error, "sqlite_errorcode", None) in _WITHOUT_LOCKS:
        remedy = _NO_LOCKS
    else:
        remedy = (
            "check that the disk has room and the folder may be written, then run the same command"
        )

    return LedgerError(f"{path}: {said}; {remedy}")


def switch_to_wal(connection: sqlite3.Connection) -> None:
    """Let readers read while one writes. Raises where the file system has no locks."""
    # SQLite refuses this at once, timeout or not, while another connection writes a file that is
    # not yet in WAL mode: two runs that create one ledger at the same moment would fail.
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            is_busy = _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not is_busy or time.monotonic() > deadline:
                raise

        time.sleep(0.01)


def _is_damaged(error: sqlite3.Error) -> bool:
    """Tell whether the file itself is broken: not SQLite, bits flipped, or text that is no text."""
    code = _code(error)
    if code is None:
        # Python's own complaint about bytes in a column that are not UTF-8 carries no code.
        return isinstance(error, sqlite3.OperationalError)
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _code(error: sqlite3.Error) -> int | None:
    """Return the primary code of an error; the upper bits only say more about it."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


# --------------------------------------------------------------------------------------------------
# Whole ledgers as files: listed, merged, extracted from, checked, exported.
#
# An exchange's key is a digest of exactly what was asked, so ledgers can be merged without any
# agreement between their writers: equal keys are the same question.
# --------------------------------------------------------------------------------------------------

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM exchange"
_INSERT = f"INSERT INTO exchange ({', '.join(COLUMNS)}) VALUES ({_marks(COLUMNS)})"
_ANSWER = itemgetter(*map(COLUMNS.index, ("reply", "finish", "refusal")))
"""What makes two answers to the same question different ones."""


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
    """The result of merging ledgers."""

    added: int
    known: int
    conflicts: tuple[Conflict, ...]


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a ledger to read. Raises LedgerError where it is not a ledger, or damaged."""
    with _translated(path), closing(_connect(path, read_only=True)) as connection:
        yield connection


def contents(path: Path) -> list[Content]:
    """Return what a ledger holds, judge by judge."""
    sql = """
        SELECT judge, parameters, count(*), total(before = ?), count(DISTINCT repeat),
               group_concat(DISTINCT model), total(prompt_tokens), total(completion_tokens),
               total(cost_usd), min(recorded_at), max(recorded_at)
        FROM exchange GROUP BY judge, parameters ORDER BY min(rowid)
    """
    with _reading(path) as connection:
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
    """Merge ledgers into one. What `out` holds already stands; otherwise the earliest reply does.

    Raises before anything is written where a source cannot be read.
    """
    for path in sources:
        _connect(path, read_only=True).close()

    out.parent.mkdir(parents=True, exist_ok=True)
    Ledger(out).close()

    added = known = 0
    conflicts: list[Conflict] = []
    origin: dict[str, Path] = {}
    with (
        _translated(out),
        closing(sqlite3.connect(out, isolation_level=None, timeout=BUSY_S)) as target,
    ):
        target.execute("BEGIN IMMEDIATE")
        for path, row in _in_order_of_recording(sources):
            key = row[0]
            done = target.execute(f"{_INSERT} ON CONFLICT DO NOTHING", row)
            if done.rowcount == 1:
                added += 1
                origin[key] = path
                continue

            known += 1
            standing = target.execute(f"{_SELECT} WHERE key = ?", (key,)).fetchone()
            if _ANSWER(standing) != _ANSWER(row):
                conflicts.append(Conflict(key, origin.get(key, out), path))

        target.execute("COMMIT")

    return Merged(added, known, tuple(conflicts))


def _named(row: Row) -> dict[str, Any]:
    return dict(zip(COLUMNS, row, strict=True))


def _in_order_of_recording(sources: Sequence[Path]) -> Iterator[tuple[Path, Row]]:
    """Yield every exchange of all sources, the earliest recorded first."""

    def rows(number: int, path: Path) -> Iterator[tuple[str, int, Path, Row]]:
        with _reading(path) as connection:
            for row in connection.execute(f"{_SELECT} ORDER BY recorded_at, key"):
                yield row[-1], number, path, row

    streams = [rows(number, path) for number, path in enumerate(sources)]
    for _, _, path, row in heapq.merge(*streams, key=lambda each: (each[0], each[1], each[3][0])):
        yield path, row


def extract(path: Path, out: Path, *, keys: Iterable[str] | None = None, judge: str = "") -> int:
    """Copy a part of a ledger: the exchanges of a run, by their keys, or those of one judge.

    Raises FileProblem where there is nothing to copy, and names the judges there are.
    """
    if out.exists():
        raise FileProblem(f"{out}: already exists; name a new file")

    rows = rows_of(path, keys=keys, judge=judge)
    first = next(rows, None)
    if first is None:
        judges = ", ".join(dict.fromkeys(each.judge for each in contents(path)))
        raise FileProblem(f"{path}: no exchange matches; it has exchanges of {judges or 'nobody'}")

    return write_rows(out, chain([first], rows))


def rows_of(path: Path, *, keys: Iterable[str] | None = None, judge: str = "") -> Iterator[Row]:
    """Yield the exchanges of a ledger as they were recorded: all, those wanted, or one judge's."""
    wanted = None if keys is None else set(keys)
    with _reading(path) as source:
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
    with _translated(out), closing(sqlite3.connect(out, isolation_level=None)) as target:
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
    return _digest(row)


def problems(path: Path, keys: Iterable[str] | None = None) -> Iterator[str]:
    """Yield what is wrong with a ledger: its file, its keys, rows that cannot be read.

    With `keys`, only these exchanges are looked at.
    """
    try:
        yield from damage(path, keys)
    except LedgerError as error:
        yield str(error)


def damage(path: Path, keys: Iterable[str] | None = None) -> Iterator[str]:
    """Yield the same for a file that can be read to its end. Raises LedgerError where it cannot."""
    with _reading(path) as connection:
        if keys is None:
            for (line,) in connection.execute("PRAGMA integrity_check"):
                if line != "ok":
                    yield f"{path}: {line}"

            rows: Iterator[Row] = connection.execute(_SELECT)
        else:
            one = f"{_SELECT} WHERE key = ?"
            rows = chain.from_iterable(connection.execute(one, (key,)) for key in keys)

        for row in rows:
            for says in faults_of(row):
                yield f"{path}: exchange {str(row[0])[:12]}: {says}"


def faults_of(row: Row) -> Iterator[str]:
    """Yield what is wrong with one exchange."""
    values = _named(row)
    asked = ("judge", "parameters", "conversation", "repeat")
    if _digest([values[name] for name in asked]) != values["key"]:
        yield "its key does not match what was asked"

    for name in ("parameters", "images"):
        try:
            json.loads(values[name])
        except (TypeError, ValueError):
            yield f"{name} is not JSON"


def export(path: Path, out: Path) -> int:
    """Write every exchange to a .jsonl or .parquet file; return how many."""
    suffix = out.suffix.lower()
    if suffix not in (".jsonl", ".parquet"):
        raise FileProblem(f"{out}: name a .jsonl or a .parquet file")

    with _reading(path) as connection:
        rows = map(_named, connection.execute(f"{_SELECT} ORDER BY rowid"))
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

    # Declared: a column in which nothing is known must have the same type in every export.
    kinds = {"repeat": pyarrow.int64(), "cost_usd": pyarrow.float64()}
    kinds |= {name: pyarrow.int64() for name in COLUMNS if name.endswith("_tokens")}
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in COLUMNS])
    count = 0
    with pyarrow.parquet.ParquetWriter(out, schema) as file:
        while part := list(islice(rows, EXPORTED_AT_ONCE)):
            file.write_table(pyarrow.Table.from_pylist(part, schema))
            count += len(part)

    return count
