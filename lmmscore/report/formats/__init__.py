"""Output formats of tables. A format is one file in this package that registers a writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from lmmscore.errors import LmmscoreError, nearest
from lmmscore.report.grids import Grid


@dataclass(frozen=True, slots=True)
class TableDocument:
    """Tables with what belongs to them, in every form a format may want."""

    grids: Sequence[Grid]
    caution: str = ""
    """What the judge's own limits mean for every figure; shown before all tables."""
    notes: Sequence[str] = ()
    """What holds for all tables; shown once, after them."""
    records: Sequence[Mapping[str, Any]] = ()
    """One flat line per row, at full precision, for formats that programs read."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Everything as one object."""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """What a reader asked of the form; a format takes what it can use."""

    width: int | None = None
    """Columns of the terminal; None: as wide as the tables need."""
    color: bool = False
    star: bool = False
    """LaTeX: a float over both columns of the page."""


TableWriter = Callable[[TableDocument, TableLayout], str]

_WRITERS: dict[str, TableWriter] = {}


def register(name: str) -> Callable[[TableWriter], TableWriter]:
    """Make a function the writer of a format; the command line then offers it by this name."""

    def keep(writer: TableWriter) -> TableWriter:
        _WRITERS[name] = writer
        return writer

    return keep


@cache
def _load() -> None:
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")


def format_names() -> list[str]:
    """Return the names of all formats, the terminal first."""
    _load()
    return sorted(_WRITERS, key=lambda name: (name != "term", name))


def write(document: TableDocument, name: str, layout: TableLayout | None = None) -> str:
    """Return the document in a format. Raises LmmscoreError for an unknown one."""
    _load()
    if name not in _WRITERS:
        known = format_names()
        hint = nearest(name, known)
        raise LmmscoreError(f"no format {name!r}{hint}; known: {', '.join(known)}")
    return _WRITERS[name](document, layout or TableLayout())
