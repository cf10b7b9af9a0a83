"""A table as it is to be read, before any format: headings, cells, what stands above and below."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from lmmscore.conversation import task_in_words
from lmmscore.options import Registry
from lmmscore.records import SAME, fixed
from lmmscore.records import percent as share_in_words

NONE = "–"
"""Stands for a figure that does not exist: never 0, never nan."""

HEADINGS = {
    "rank": "Rank",
    "method": "Method",
    "mean": "Mean",
    "common_mean": "Common mean",
    "std": "Std",
    "n": "n",
    "coverage": "Coverage",
    "mean_interval": "95% interval",
    "rank_interval": "Rank interval",
    "rank_range": "Ranks missing scores allow",
    "group": "Group",
}
"""The columns of a leaderboard: the key in JSON and `--columns`, and the heading elsewhere."""

Mark = Literal["", "best", "second"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, and whether it is the best or the second best of its column."""

    text: str
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table ready to be written in any format."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    above: tuple[str, ...] = ()
    """Warnings: a reader must see them before the figures."""
    below: tuple[str, ...] = ()
    text_columns: frozenset[int] = frozenset({0})
    """Columns of words, set to the left; the others hold figures."""
    spare: frozenset[int] = frozenset()
    """Columns that may be left out where there is no room for all."""
    groups: tuple[tuple[str, int], ...] = ()
    """Headings over several columns, with how many each spans; empty for none."""
    keys: tuple[str, ...] = ()
    """Names of the columns in `--columns` and in JSON; empty where they cannot be chosen."""
    verdict: str = ""
    """What the table says, in a sentence."""
    incomplete: bool = False
    """Whether scores are missing, which a caption must say before the figures."""

    def select(self, places: Sequence[int]) -> Grid:
        """Return the grid with these columns only, in this order."""
        moved = {old: new for new, old in enumerate(places)}
        rows = [tuple(row[k] for k in places) for row in self.rows]
        keys = [self.keys[k] for k in places] if self.keys else []
        return replace(
            self,
            columns=tuple(self.columns[k] for k in places),
            rows=tuple(rows),
            text_columns=_kept(self.text_columns, moved),
            spare=_kept(self.spare, moved),
            keys=tuple(keys),
            groups=(),
        )


def _kept(columns: frozenset[int], moved: Mapping[int, int]) -> frozenset[int]:
    return frozenset(moved[k] for k in columns if k in moved)


@dataclass(frozen=True, slots=True)
class DisplayNames:
    """What methods and task categories are called in tables to be read."""

    methods: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)

    def method(self, name: str) -> str:
        """Return a method's display name; its own where none was given."""
        return self.methods.get(name, name)

    def task(self, name: str | None) -> str:
        """Return a task category in words: background_change is `Background change`.

        None stands for all of them.
        """
        if name is None:
            return "All task categories"

        return self.tasks.get(name) or task_in_words(name) or "(no category)"


def number(value: float | None, decimals: int) -> str:
    """Return a figure with so many decimals, without a negative zero; a dash for none."""
    if value is None or not math.isfinite(value):
        return NONE
    return fixed(value, decimals)


def true_minus(text: str) -> str:
    """Return a figure with a minus sign where it has a hyphen; words keep theirs."""
    return re.sub(r"(?<![\w.])-(?=\d)", "\N{MINUS SIGN}", text)


def span(interval: Sequence[float | None] | None, decimals: int) -> str:
    """Return `low–high`, with `to` where a minus sign would be mistaken for the dash."""
    if interval is None or None in interval:
        return NONE
    low, high = (number(end, decimals) for end in interval)
    return f"{low} to {high}" if "-" in low + high else f"{low}–{high}"


def rank_span(ranks: tuple[int, int] | None) -> str:
    """Return a rank interval, as one number where it is one."""
    if ranks is not None and ranks[0] == ranks[1]:
        return str(ranks[0])
    return span(ranks, 0)


def percent(share: float | None) -> str:
    """Return a share in percent, rounded; only all of it is 100%, and only none of it is 0%."""
    if share is None:
        return NONE
    return share_in_words(share)


def p_value(p: float | None) -> str:
    """Return a p-value as papers print it."""
    if p is None:
        return NONE
    return "<0.001" if p < 0.001 else fixed(p, 3)


LOW = "↓"
"""Behind the name of a factor in a heading: its low scores are the good ones."""


def marks(values: Sequence[float | None], *, low: bool = False) -> list[Mark]:
    """Return which figures of a column are its best and second best; none where all agree.

    The highest is the best, or the lowest where `low`.
    """
    if low:
        return marks([None if value is None else -value for value in values])

    known = sorted({value for value in values if value is not None}, reverse=True)
    if not known:
        return [""] * len(values)

    # Equal up to rounding is equal: two methods of the same mean share the mark.
    best = known[0]
    lower = [value for value in known if best - value > SAME]
    if not lower:
        return [""] * len(values)
    return [_mark(value, best, lower[0]) for value in values]


def _mark(value: float | None, best: float, second: float) -> Mark:
    if value is None:
        return ""
    if abs(best - value) <= SAME:
        return "best"
    return "second" if abs(second - value) <= SAME else ""


def plain(*texts: str) -> tuple[Cell, ...]:
    """Return cells without a mark."""
    return tuple(Cell(text) for text in texts)


# --------------------------------------------------------------------------------------------------
# Tables with what belongs to them, and the formats they are written in: one file each in
# report/formats that registers a writer.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableDocument:
    """Tables with what belongs to them, in every form a format may want."""

    grids: Sequence[Grid]
    caution: str = ""
    """What the judge's own limits mean for every figure; shown before all tables."""
    headline: Sequence[str] = ()
    """The answer, in sentences about all tables together; shown before them."""
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

formats: Registry[TableWriter] = Registry("format", "lmmscore.report.formats")
"""By the name that `--format` takes. A file of that package adds one: `@formats.register(NAME)`."""


def format_names() -> list[str]:
    """Return the names of all formats, the terminal first."""
    return sorted(formats.names(), key=lambda name: (name != "term", name))


def write(document: TableDocument, name: str, layout: TableLayout | None = None) -> str:
    """Return the document in a format. Raises LmmscoreError for an unknown one."""
    # A module need not be called like its format: asking for the names imports them all.
    formats.names()
    return formats.get(name)(document, layout or TableLayout())
