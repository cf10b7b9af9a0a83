"""A table as it is to be read, before any format: headings, cells, what stands above it and below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from lmmscore.stats.arrays import SAME

NONE = "–"
"""What a figure that does not exist is printed as: never 0, never nan."""

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
    text_columns: frozenset[int] = field(default_factory=frozenset)
    """Columns of words, set to the left; the others hold figures."""
    spare: frozenset[int] = field(default_factory=frozenset)
    """Columns that may be left out where there is no room for all."""
    groups: tuple[tuple[str, int], ...] = ()
    """Headings over several columns, with how many each spans; empty for none."""


def number(value: float | None, decimals: int) -> str:
    """Return a figure with so many decimals, without a negative zero; a dash for none."""
    if value is None or not math.isfinite(value):
        return NONE
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def span(interval: Sequence[float] | None, decimals: int) -> str:
    """Return an interval as `low–high`, with `to` where a minus sign would be mistaken for the dash."""
    if interval is None:
        return NONE
    low, high = (number(end, decimals) for end in interval)
    return f"{low} to {high}" if "-" in low + high else f"{low}–{high}"


def percent(share: float | None) -> str:
    """Return a share in percent; 100% means all of it, and what is nearly all says so."""
    if share is None:
        return NONE
    tenths = math.floor(share * 1000 + 1e-6)
    return f"{tenths // 10}%" if tenths % 10 == 0 else f"{tenths / 10:.1f}%"


def p_value(p: float | None) -> str:
    """Return a p-value as papers print it."""
    if p is None:
        return NONE
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def marks(values: Sequence[float | None]) -> list[Mark]:
    """Return which figures of a column are its highest and second highest; none where all are the same."""
    known = sorted({v for v in values if v is not None}, reverse=True)
    levels: list[float] = []
    for level in known:
        if not levels or levels[-1] - level > SAME:
            levels.append(level)
    names: tuple[Mark, ...] = ("best", "second")
    found: list[Mark] = []
    for value in values:
        near = [
            k for k, top in enumerate(levels[:2]) if value is not None and abs(top - value) <= SAME
        ]
        found.append(names[near[0]] if near and len(levels) > 1 else "")
    return found


def plain(*texts: str) -> tuple[Cell, ...]:
    """Return cells without a mark."""
    return tuple(Cell(text) for text in texts)
