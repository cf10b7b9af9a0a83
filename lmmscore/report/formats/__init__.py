"""Output formats of tables. A format is one file in this package that registers a writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmmscore.options import Registry
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

formats: Registry[TableWriter] = Registry("format", __name__)
"""By the name that `--format` takes. A file of this package adds one: `@formats.register(NAME)`."""


def format_names() -> list[str]:
    """Return the names of all formats, the terminal first."""
    return sorted(formats.names(), key=lambda name: (name != "term", name))


def write(document: TableDocument, name: str, layout: TableLayout | None = None) -> str:
    """Return the document in a format. Raises LmmscoreError for an unknown one."""
    # A module need not be called like its format: asking for the names imports them all.
    formats.names()
    return formats.get(name)(document, layout or TableLayout())
