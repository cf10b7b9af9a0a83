"""One writer at a time for a run's folder: a lock that the operating system lets go when its holder dies."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path

from lmmscore.errors import FileProblem

NAME = ".lock"
"""Hidden, and there only while a run is being written (or after one was killed, which holds nothing up)."""

_HELD = {errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK}

if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        # Windows lets no one read what is locked: lock a byte far behind the number written at the start.
        os.lseek(fd, 1 << 30, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        os.lseek(fd, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class RunLock:
    """Held from its making until it is closed. Raises FileProblem where another run holds the folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._fd = -1
        while self._fd < 0:
            self._fd = self._take(folder)
        # For the message to whoever comes next; the lock holds without it.
        with contextlib.suppress(OSError):
            os.truncate(self._fd, 0)
            os.write(self._fd, f"{os.getpid()}\n".encode())

    def _take(self, folder: Path) -> int:
        """Return the locked file; -1 where its holder removed it meanwhile, so that it protects nothing any more."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(fd)
            current = os.path.samestat(os.fstat(fd), self._path.stat())
        except FileNotFoundError:
            current = False
        except OSError as error:
            if error.errno in _HELD:
                os.close(fd)
                raise FileProblem(
                    f"{folder}: another run is writing it{self._holder()}; wait until that one has ended, "
                    "or give this one another --out"
                ) from None
            # Some network file systems know no locks. A run there is as safe as its user is careful.
            current = True
        if current:
            return fd
        os.close(fd)
        return -1

    def _holder(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            return f" (process {int(self._path.read_text(encoding='ascii'))})"
        return ""

    def close(self) -> None:
        """Let others write the folder. Leaves no file behind."""
        if self._fd < 0:
            return
        # Removed while it is still held: whoever opened it meanwhile finds that it is gone and takes a new one.
        # Windows removes no open file; there it is removed after, unless someone else has it open by then.
        removed = self._remove()
        os.close(self._fd)
        self._fd = -1
        if not removed and sys.platform == "win32":
            self._remove()

    def _remove(self) -> bool:
        with contextlib.suppress(OSError):
            self._path.unlink()
            return True
        return False
