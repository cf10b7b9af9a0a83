"""Who is asking what right now, so that several processes with one ledger never ask the same
question.

A claim is a lease: its holder renews it while it lives, and when it dies the claim expires and
another may ask. Claims lie in a file of their own beside the ledger, because they are written for
every question and need not survive the machine.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
import uuid
from pathlib import Path

from lmmscore.sqlite import switch_to_wal

LEASE_S = 30.0
"""How long a claim holds after its holder was last heard of."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS claim (key TEXT PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL)
"""

_TAKE = """
INSERT INTO claim VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires = excluded.expires
WHERE claim.expires < ? OR claim.owner = excluded.owner
"""


class Claims:
    """The claims of one process. Safe to use from many threads."""

    def __init__(self, ledger: Path, lease_s: float = LEASE_S) -> None:
        self._path = ledger.with_name(ledger.name + "-claims")
        self._owner = uuid.uuid4().hex
        self._lease_s = lease_s
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._connection = self._open()
        # Whoever closes last removes the file: if that happened while it was opened here, what was
        # opened is seen by nobody else.
        while not self._path.exists():
            self._connection.close()
            self._connection = self._open()
        self._renewer = threading.Thread(target=self._renew_forever, name="claims", daemon=True)
        self._renewer.start()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, check_same_thread=False, timeout=60, isolation_level=None
        )
        switch_to_wal(connection)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(_SCHEMA)
        # Not a question, but a sign of life.
        now = time.time()
        connection.execute(_TAKE, (self._owner, self._owner, now + self._lease_s, now))
        return connection

    def take(self, key: str) -> bool:
        """Claim a question; False where another process is asking it."""
        now = time.time()
        with self._lock:
            done = self._connection.execute(_TAKE, (key, self._owner, now + self._lease_s, now))
        return done.rowcount == 1

    def release(self, key: str) -> None:
        """Let go of a question: it is answered, or someone else may try."""
        sql = "DELETE FROM claim WHERE key = ? AND owner = ?"
        # On a full disk it stays, and expires.
        with self._lock, contextlib.suppress(sqlite3.OperationalError):
            self._connection.execute(sql, (key, self._owner))

    def close(self) -> None:
        """Let go of everything. The last one out removes the file."""
        self._closing.set()
        self._renewer.join()
        with (
            self._lock,
            contextlib.closing(self._connection) as connection,
            contextlib.suppress(sqlite3.OperationalError),
        ):
            # Nobody can sign in while this transaction lasts, so nobody loses a file in use.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM claim WHERE owner = ?", (self._owner,))
            alive = "SELECT count(*) FROM claim WHERE expires > ?"
            (others,) = connection.execute(alive, (time.time(),)).fetchone()
            if not others:
                for suffix in ("-wal", "-shm", ""):
                    with contextlib.suppress(OSError):
                        self._path.with_name(self._path.name + suffix).unlink()
            connection.execute("COMMIT")

    def _renew_forever(self) -> None:
        while not self._closing.wait(self._lease_s / 3):
            sql = "UPDATE claim SET expires = ? WHERE owner = ?"
            with self._lock, contextlib.suppress(sqlite3.OperationalError):
                self._connection.execute(sql, (time.time() + self._lease_s, self._owner))
