"""The package's own source, parsed once for every test that looks into it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import lmmscore

PACKAGE = Path(lmmscore.__file__).parent
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if "_data" not in path.parts]


@cache
def trees() -> dict[Path, ast.Module]:
    """Return the syntax tree of every file."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
