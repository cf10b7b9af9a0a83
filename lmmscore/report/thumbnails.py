"""Small copies of a run's pictures: one for each content, made by one process for each core.

Threads would not do: while one of them puts the page together, the others wait for the interpreter
between any two steps of a picture. Each process is a program of its own, neither forked from a
caller who may have threads nor begun by `multiprocessing`, which runs the caller's script again.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, Self, TypeVar
from urllib.parse import quote

from lmmscore.errors import FileProblem, ImageProblem
from lmmscore.images import encode, load_rgb, thumbnail

SIZES_PX = ((300, 512), (1_500, 320))
MANY_PX = 192

CACHE_NAME = ".thumbnails.sqlite"

_BATCH = 150
"""Pictures handed over at once. With fewer, a process waits too often for the one that puts the
page together: a tenth of the time."""

_ENOUGH = 200
"""Pictures from which on starting processes pays."""

Made = tuple[str, bytes]
"""The digest of a picture's file and its thumbnail; that is empty where it is known, or cannot be
made."""


def sensible_px(pictures: int) -> int:
    """Return the longest side of a thumbnail: the fewer there are, the more one may see of each."""
    return next((size for most, size in SIZES_PX if pictures <= most), MANY_PX)


class ThumbnailMaker:
    """Makes thumbnails in the background, while the rest of the page is put together."""

    def __init__(self, cache: Path | None) -> None:
        self._cache = cache
        self._cores = os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._cores)
        self._helpers: SimpleQueue[_Helper] = SimpleQueue()
        self._batches: list[tuple[Sequence[Path], Future[list[Made]]]] = []
        self._begun: set[Path] = set()
        self._known: dict[str, bytes] = {}
        self.side_px = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        while not self._helpers.empty():
            self._helpers.get().close()

    def begin(self, paths: Sequence[Path], side_px: int) -> None:
        """Start with these pictures, in this size."""
        self.side_px = side_px
        with contextlib.closing(ThumbnailCache(self._cache, side_px)) as kept:
            self._known = kept.known()

        apart = len(paths) >= _ENOUGH
        for _ in range(self._cores):
            self._helpers.put(_Helper(side_px, self._known, apart=apart))

        self._submit(paths)

    def _submit(self, paths: Sequence[Path]) -> None:
        new = [path for path in paths if path not in self._begun]
        self._begun.update(new)
        size = _BATCH if len(new) >= _ENOUGH else 1
        for start in range(0, len(new), size):
            batch = new[start : start + size]
            self._batches.append((batch, self._pool.submit(self._make, batch)))

    def _make(self, paths: Sequence[Path]) -> list[Made]:
        helper = self._helpers.get()
        try:
            return helper.make(paths)
        finally:
            self._helpers.put(helper)

    def finish(
        self, paths: Sequence[Path], on_done: Callable[[], None] = lambda: None
    ) -> list[bytes]:
        """Return the thumbnails in order; empty where a picture cannot be opened any more."""
        self._submit(paths)
        found: dict[Path, bytes] = {}
        with contextlib.closing(ThumbnailCache(self._cache, self.side_px)) as kept:
            for batch, future in self._batches:
                for path, (digest, data) in zip(batch, future.result(), strict=True):
                    if data:
                        kept.keep(digest, data)

                    found[path] = data or self._known.get(digest, b"")
                    on_done()

        return [found[path] for path in paths]


class _Helper:
    """Makes thumbnails: in a process of its own, or here where that is not worth it or fails."""

    def __init__(self, side_px: int, known: Mapping[str, bytes], *, apart: bool) -> None:
        self._side_px = side_px
        self._known = frozenset(known)
        self._process: subprocess.Popen[bytes] | None = None
        if apart:
            with contextlib.suppress(OSError):
                self._process = _started()
                _send((side_px, self._known), self._process)

    def make(self, paths: Sequence[Path]) -> list[Made]:
        """Return digest and thumbnail of each picture."""
        if self._process is not None:
            try:
                _send(paths, self._process)
                return _received(self._process)
            except (OSError, EOFError, pickle.UnpicklingError):
                # Whatever ended it, a picture too large for this machine perhaps: the page is made.
                self.close()

        return [_made(path, self._side_px, self._known) for path in paths]

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        with contextlib.suppress(OSError), self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()
        self._process = None


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "lmmscore.report.thumbnails"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def _send(message: object, process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(pickle.dumps(message))
    process.stdin.flush()


def _received(process: subprocess.Popen[bytes]) -> list[Made]:
    assert process.stdout is not None
    made: list[Made] = pickle.load(process.stdout)
    return made


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """Make thumbnails of the batches of pictures that come in, until no more do."""
    side_px, known = pickle.load(questions)
    while True:
        try:
            paths = pickle.load(questions)
        except EOFError:
            return

        answers.write(pickle.dumps([_made(path, side_px, known) for path in paths]))
        answers.flush()


def _made(path: Path, side_px: int, known: frozenset[str]) -> Made:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return digest, b"" if digest in known else thumbnail(path, side_px)
    except (OSError, ImageProblem):
        return "", b""


class ThumbnailCache:
    """Thumbnails by the digest of their picture, in a file that may be deleted at any time."""

    def __init__(self, path: Path | None, side_px: int) -> None:
        self._side_px = side_px
        self._db: sqlite3.Connection | None = None
        # A run may lie on a disk that cannot be written; thumbnails are then made each time.
        with contextlib.suppress(sqlite3.Error):
            self._db = sqlite3.connect(path or ":memory:")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS thumbnail "
                "(digest TEXT, side_px INTEGER, webp BLOB, PRIMARY KEY (digest, side_px))"
            )

    def known(self) -> dict[str, bytes]:
        """Return the thumbnails of this size."""
        if self._db is None:
            return {}

        with contextlib.suppress(sqlite3.Error):
            rows = self._db.execute(
                "SELECT digest, webp FROM thumbnail WHERE side_px = ?", (self._side_px,)
            )
            return dict(rows.fetchall())

        return {}

    def keep(self, digest: str, data: bytes) -> None:
        """Keep a thumbnail for the next report."""
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                values = (digest, self._side_px, data)
                self._db.execute("INSERT OR REPLACE INTO thumbnail VALUES (?, ?, ?)", values)

    def close(self) -> None:
        """Save and let go of the file."""
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.commit()
            self._db.close()


# --------------------------------------------------------------------------------------------------
# Where the page finds its pictures: inside itself, or in a folder beside it.
# --------------------------------------------------------------------------------------------------

BUNDLE = 60
"""Thumbnails per bundle, which is unpacked when the first of them comes into view."""

Bundled = TypeVar("Bundled")

_SHOWN_AS_THEY_ARE = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}


@dataclass(frozen=True, slots=True)
class PicturePlace:
    """Where a page finds its pictures."""

    thumbnails: list[list[str]]
    """In bundles: Base64, or paths relative to the page; empty where a file cannot be opened."""
    full: list[str]
    """One per picture: a data URL, or a path relative to the page; none unless asked for."""


def place_pictures(
    pictures: Iterable[Path], thumbnails: Sequence[bytes], *, assets: Path | None, full: bool
) -> PicturePlace:
    """Put the thumbnails and the full pictures where the page will find them.

    With `assets`, a folder beside the page, all pictures are files in it; else they are inside the
    page, the full ones only if asked for.
    """
    if assets is None:
        texts = [base64.b64encode(data).decode() for data in thumbnails]
        originals = [_data_address(path) for path in pictures] if full else []
        return PicturePlace(bundles(texts, BUNDLE), originals)

    try:
        assets.mkdir(parents=True, exist_ok=True)
        addresses = [_beside(data, ".webp", assets) for data in thumbnails]
        originals = [_beside(*_original(path), assets) for path in pictures]
    except OSError as error:
        reason = error.strerror or error
        raise FileProblem(f"{assets}: cannot be written ({reason}); give another --out") from error

    return PicturePlace(bundles(addresses, BUNDLE), originals)


def bundles(things: Sequence[Bundled], size: int) -> list[list[Bundled]]:
    """Return things in bundles of this size; the last may be smaller."""
    return [list(things[start : start + size]) for start in range(0, len(things), size)]


def _original(path: Path) -> tuple[bytes, str]:
    """Return a picture in full as a browser can show it, and the ending of its name."""
    ending = path.suffix.lower()
    try:
        if ending in _SHOWN_AS_THEY_ARE:
            return path.read_bytes(), ending
        return encode(load_rgb(path), "png"), ".png"
    except (OSError, ImageProblem):
        return b"", ending


def _data_address(path: Path) -> str:
    data, ending = _original(path)
    if not data:
        return ""
    return f"data:{_SHOWN_AS_THEY_ARE[ending]};base64,{base64.b64encode(data).decode()}"


def _beside(data: bytes, ending: str, folder: Path) -> str:
    """Write a file named after its content; return its path relative to the page."""
    if not data:
        return ""
    name = f"{hashlib.sha256(data).hexdigest()[:20]}{ending}"
    if not (folder / name).exists():
        (folder / name).write_bytes(data)
    return f"{quote(folder.name)}/{name}"


if __name__ == "__main__":
    # Ctrl-C reaches every process of a terminal; this one ends with the one that started it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(sys.stdin.buffer, sys.stdout.buffer)
