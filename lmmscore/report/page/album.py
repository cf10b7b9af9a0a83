"""The pictures of the page: thumbnails inside it, or beside it in a folder."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

from lmmscore.errors import FileProblem, ImageProblem
from lmmscore.images import thumbnail

PAGE_OF = 100
"""So many pictures lie together in the page; a bundle is unpacked when the first of them comes into view."""

SIZES_PX = ((300, 384), (1_500, 256))
MANY_PX = 192


def sensible_px(pictures: int) -> int:
    """Return the longest side of a thumbnail: the fewer there are, the more one may see of each."""
    return next((size for most, size in SIZES_PX if pictures <= most), MANY_PX)


class Album:
    """Numbers pictures as they are met, each file once, and makes all their thumbnails at the end."""

    def __init__(self) -> None:
        self._numbers: dict[Path, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, path: Path) -> int:
        """Return the number by which the page knows this picture."""
        return self._numbers.setdefault(path, len(self._numbers))

    def thumbnails(self, max_side_px: int, on_done: Callable[[], None]) -> Iterator[bytes]:
        """Yield the thumbnails in order; empty where a picture cannot be opened any more."""
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            for data in pool.map(lambda path: _thumbnail(path, max_side_px), self._numbers):
                on_done()
                yield data


def _thumbnail(path: Path, max_side_px: int) -> bytes:
    try:
        return thumbnail(path, max_side_px)
    except ImageProblem:
        return b""


def embedded(thumbnails: Iterator[bytes]) -> list[list[str]]:
    """Return the thumbnails in Base64, in bundles."""
    texts = [base64.b64encode(data).decode() for data in thumbnails]
    return [texts[start : start + PAGE_OF] for start in range(0, len(texts), PAGE_OF)]


def beside(thumbnails: Iterator[bytes], folder: Path) -> list[list[str]]:
    """Write the thumbnails into a folder, named by their content; return their addresses seen from the page."""
    addresses = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for data in thumbnails:
            name = f"{hashlib.sha256(data).hexdigest()[:20]}.webp"
            if data:
                (folder / name).write_bytes(data)
            addresses.append(f"{quote(folder.name)}/{name}" if data else "")
    except OSError as error:
        raise FileProblem(f"{folder}: cannot be written ({error.strerror or error})") from error
    return [addresses[start : start + PAGE_OF] for start in range(0, len(addresses), PAGE_OF)]
