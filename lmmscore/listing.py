"""What is in the folders of a benchmark, each looked into once: looking anew for every edit takes minutes."""

from __future__ import annotations

import os
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

from lmmscore.images import IMAGE_SUFFIXES


class Listing:
    """Finds pictures by their path without file type."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._names: dict[str, list[str]] = {}
        self._folders: dict[str, dict[str, list[str]]] = {}

    def names(self, folder: str) -> list[str]:
        """Return what is in a folder, sorted; nothing where there is no such folder."""
        if folder not in self._names:
            try:
                found = os.listdir(self._root / folder)  # noqa: PTH208 - names are wanted, not paths
            except (OSError, ValueError):
                found = []
            self._names[folder] = sorted(found)
        return self._names[folder]

    def candidates(self, pattern: str) -> Iterator[str]:
        """Yield the paths that a pattern may mean in which NUL stands for a method; a final `.*` is any image type."""
        before, _, after = pattern.partition("\0")
        folder, _, start = before.rpartition("/")
        rest, slash, below = after.partition("/")
        names = self.names(folder)
        for name in names[bisect_left(names, start) :]:
            if not name.startswith(start):
                break
            if name.startswith(".") and not start:
                continue  # .git, .cache: no method is called so
            path = f"{folder}/{name}" if folder else name
            if not slash:
                yield path
            elif name.endswith(rest):
                method = name[len(start) : len(name) - len(rest)]
                yield from self._files(f"{path}/{below}".replace("\0", method))

    def _files(self, path: str) -> list[str]:
        if path.endswith(".*"):
            return self.pictures(path[:-2])
        folder, _, name = path.rpartition("/")
        return [path] if name in self.names(folder) else []

    def pictures(self, name: str) -> list[str]:
        """Return the pictures called so, of any type, sorted: `1_sd1` has 1_sd1.png but not 1_sd1.5.png."""
        folder, _, stem = name.rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = self._look_into(folder)
        found = self._folders[folder].get(_composed(stem), [])
        return [f"{folder}/{each}" if folder else each for each in found]

    def _look_into(self, folder: str) -> dict[str, list[str]]:
        stems: dict[str, list[str]] = {}
        for name in self.names(folder):
            if Path(name).suffix.lower() in IMAGE_SUFFIXES:
                stems.setdefault(_composed(name.rpartition(".")[0]), []).append(name)
        return stems


def _composed(name: str) -> str:
    # macOS stores é as two characters, a table holds it as one; both mean the same file.
    return unicodedata.normalize("NFC", name)
