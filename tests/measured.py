"""What the embedded judge measured, shared by all processes of the tests: they look at the same few pictures."""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from lmmscore.judges import pixels

FOLDER = "TESTS_MEASURED"
"""The environment variable that names the folder of what was measured."""


class KeptFacts(pixels._Memory):
    """Keeps results in files too, each under its key."""

    def __init__(self, folder: Path) -> None:
        super().__init__(keep=4096)
        self._folder = folder

    def get(self, key: Hashable, measure: Callable[[], Any]) -> Any:
        """Return the result under this key; one that another process has found is taken over."""
        return super().get(key, lambda: self._kept(key, measure))

    def _kept(self, key: Hashable, measure: Callable[[], Any]) -> Any:
        file = self._folder / hashlib.sha256(repr(key).encode()).hexdigest()
        if file.exists():
            return pickle.loads(file.read_bytes())

        found = measure()
        handle, draft = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(handle, "wb") as written:
            pickle.dump(found, written)
        Path(draft).replace(file)
        return found


def share_facts() -> None:
    """Let this process have what the others measured, and them what it measures."""
    pixels._FACTS = KeptFacts(Path(os.environ[FOLDER]))
