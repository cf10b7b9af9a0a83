"""The package's own source, for the tests that look into it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import lmmscore

PACKAGE = Path(lmmscore.__file__).parent
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if "_data" not in path.parts]


def trees(*words: str) -> Iterator[tuple[Path, ast.Module]]:
    """Yield each file, or each that holds one of some words, with its syntax tree, one at a time.

    Kept all together, they would be the larger part of a worker's memory, and every collection of garbage would walk them.
    """
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        if not words or any(word in text for word in words):
            yield path, ast.parse(text)
