"""What is in the folders of a benchmark, each looked into once: looking anew for every edit takes minutes."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

from lmmscore.images import IMAGE_SUFFIXES


class Listing:
    """Finds pictures by their path without file type."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders: dict[str, dict[str, list[str]]] = {}

    def pictures(self, name: str) -> list[str]:
        """Return the pictures called so, of any type, sorted: `1_sd1` has 1_sd1.png but not 1_sd1.5.png."""
        folder, _, stem = name.rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = self._look_into(folder)
        found = self._folders[folder].get(_composed(stem), [])
        return [f"{folder}/{each}" if folder else each for each in found]

    def _look_into(self, folder: str) -> dict[str, list[str]]:
        try:
            names = sorted(os.listdir(self._root / folder))  # noqa: PTH208 - names are wanted, not paths
        except (OSError, ValueError):
            return {}
        stems: dict[str, list[str]] = {}
        for name in names:
            if Path(name).suffix.lower() in IMAGE_SUFFIXES:
                stems.setdefault(_composed(name.rpartition(".")[0]), []).append(name)
        return stems


def _composed(name: str) -> str:
    # macOS stores é as two characters, a table holds it as one; both mean the same file.
    return unicodedata.normalize("NFC", name)
