"""Pictures for a page: nothing but pixels, under random names, encoded once."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from lmmscore.errors import FileProblem
from lmmscore.images import encode, fit, load_rgb, ruined
from lmmscore.web.rating import PictureWanted

SUFFIX = ".webp"
MIME = "image/webp"


class PictureFolder:
    """Re-encoded pictures of a study, kept beside its database for the next start."""

    def __init__(self, folder: Path, max_side_px: int) -> None:
        self._folder = folder
        self._max_side_px = max_side_px
        self._lock = threading.Lock()
        self._making: dict[str, threading.Lock] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileProblem(f"{folder}: {error.strerror or error}; name another --out") from error

    def data(self, name: str, wanted: PictureWanted) -> bytes:
        """Return a picture as lossless WebP without metadata. Work for a thread."""
        path = self._folder / f"{name}{SUFFIX}"
        with self._lock:
            making = self._making.setdefault(name, threading.Lock())
        with making:
            if not path.is_file():
                _write(path, prepared(wanted, self._max_side_px))
            return path.read_bytes()


def prepared(wanted: PictureWanted, max_side_px: int) -> bytes:
    """Return the encoded pixels of a picture or of a check made from it."""
    item = wanted.item
    path = item.edits[wanted.method] if wanted.kind == "edit" else item.images[wanted.kind]
    image = fit(load_rgb(path), max_side_px)
    if wanted.check == "failure":
        image = ruined(image)
    return encode(image, "webp")


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise FileProblem(f"{path}: {error.strerror or error}; make room on the disk") from error
