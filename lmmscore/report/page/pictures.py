"""The pictures of the page: thumbnails kept beside the run, full pictures where asked for."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from lmmscore.errors import FileProblem, ImageProblem
from lmmscore.images import encode, load_rgb, thumbnail

BUNDLE = 60
"""So many thumbnails lie together in the page, unpacked when the first of them comes into view."""

SIZES_PX = ((300, 512), (1_500, 320))
MANY_PX = 192

CACHE_NAME = ".thumbnails.sqlite"

_SHOWN_AS_THEY_ARE = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}


def sensible_px(pictures: int) -> int:
    """Return the longest side of a thumbnail: the fewer there are, the more one may see of each."""
    return next((size for most, size in SIZES_PX if pictures <= most), MANY_PX)


@dataclass(frozen=True, slots=True)
class PicturePlace:
    """Where a page finds its pictures."""

    thumbnails: list[list[str]]
    """In bundles: Base64, or addresses seen from the page; empty where a file cannot be opened."""
    full: list[str]
    """One for each picture: a data address, or one seen from the page; none at all if not asked."""


class PictureSet:
    """Numbers pictures as they are met, each file once."""

    def __init__(self) -> None:
        self._numbers: dict[Path, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def paths(self) -> list[Path]:
        """The files, in the order of their numbers."""
        return list(self._numbers)

    def add(self, path: Path) -> int:
        """Return the number by which the page knows this picture."""
        return self._numbers.setdefault(path, len(self._numbers))


def place_pictures(
    pictures: PictureSet, thumbnails: Sequence[bytes], *, assets: Path | None, full: bool
) -> PicturePlace:
    """Put the thumbnails and the full pictures where the page will find them.

    With `assets`, a folder beside the page, all pictures are files in it; else they are inside the
    page, the full ones only if asked for.
    """
    if assets is None:
        texts = [base64.b64encode(data).decode() for data in thumbnails]
        originals = [_data_address(path) for path in pictures.paths] if full else []
        return PicturePlace(bundles(texts), originals)
    try:
        assets.mkdir(parents=True, exist_ok=True)
        addresses = [_beside(data, ".webp", assets) for data in thumbnails]
        originals = [_beside(*_original(path), assets) for path in pictures.paths]
    except OSError as error:
        reason = error.strerror or error
        raise FileProblem(f"{assets}: cannot be written ({reason}); give another --out") from error
    return PicturePlace(bundles(addresses), originals)


def bundles(texts: Sequence[str]) -> list[list[str]]:
    """Return texts in bundles."""
    return [list(texts[start : start + BUNDLE]) for start in range(0, len(texts), BUNDLE)]


class ThumbnailMaker:
    """Makes thumbnails in the background, while the rest of the page is put together."""

    def __init__(self, cache: Path | None) -> None:
        self._cache = cache
        self._pool = ThreadPoolExecutor(max_workers=os.cpu_count())
        self._made: dict[Path, Future[tuple[str, bytes]]] = {}
        self._known: dict[str, bytes] = {}
        self.side_px = 0

    def begin(self, paths: Sequence[Path], side_px: int) -> None:
        """Start with these pictures, in this size."""
        self.side_px = side_px
        with contextlib.closing(ThumbnailCache(self._cache, side_px)) as kept:
            self._known = kept.known()
        self._submit(paths)

    def _submit(self, paths: Sequence[Path]) -> None:
        for path in paths:
            if path not in self._made:
                self._made[path] = self._pool.submit(self._look_up_or_make, path)

    def _look_up_or_make(self, path: Path) -> tuple[str, bytes]:
        digest = _digest(path)
        return digest, self._known.get(digest) or _thumbnail(path, self.side_px)

    def finish(
        self, paths: Sequence[Path], on_done: Callable[[], None] = lambda: None
    ) -> list[bytes]:
        """Return the thumbnails in order; empty where a picture cannot be opened any more."""
        self._submit(paths)
        found = []
        with contextlib.closing(ThumbnailCache(self._cache, self.side_px)) as kept, self._pool:
            for path in paths:
                digest, data = self._made[path].result()
                if data and digest not in self._known:
                    kept.keep(digest, data)
                on_done()
                found.append(data)
        return found


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _thumbnail(path: Path, side_px: int) -> bytes:
    try:
        return thumbnail(path, side_px)
    except ImageProblem:
        return b""


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
        if self._db is not None and digest:
            with contextlib.suppress(sqlite3.Error):
                values = (digest, self._side_px, data)
                self._db.execute("INSERT OR REPLACE INTO thumbnail VALUES (?, ?, ?)", values)

    def close(self) -> None:
        """Save and let go of the file."""
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.commit()
            self._db.close()


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
    """Write a file named by its content; return its address seen from the page."""
    if not data:
        return ""
    name = f"{hashlib.sha256(data).hexdigest()[:20]}{ending}"
    if not (folder / name).exists():
        (folder / name).write_bytes(data)
    return f"{quote(folder.name)}/{name}"
