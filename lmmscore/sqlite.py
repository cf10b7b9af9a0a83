"""What every SQLite file of lmmscore needs to know."""

from __future__ import annotations

import sqlite3
import time

BUSY_S = 60.0
"""How long to wait for another process that writes the same file."""


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
            if not is_busy(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def is_busy(error: sqlite3.Error) -> bool:
    """Tell whether another connection is in the way."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_damaged(error: sqlite3.Error) -> bool:
    """Tell whether the file itself is broken: not SQLite, bits flipped, or text that is no text."""
    code = _code(error)
    if code is None:
        # Python's own complaint about bytes in a column that are not UTF-8 carries no code.
        return isinstance(error, sqlite3.OperationalError)
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def has_no_locks(error: sqlite3.Error) -> bool:
    """Tell whether the file system cannot lock files, as some network file systems cannot."""
    extended = getattr(error, "sqlite_errorcode", None)
    return extended in (
        sqlite3.SQLITE_IOERR_LOCK,
        sqlite3.SQLITE_IOERR_SHMOPEN,
        sqlite3.SQLITE_IOERR_SHMMAP,
        sqlite3.SQLITE_IOERR_SHMLOCK,
        sqlite3.SQLITE_PROTOCOL,
    )


def _code(error: sqlite3.Error) -> int | None:
    """Return the primary code of an error; the upper bits only say more about it."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
