"""Where things are drawn: plain geometry, in the units of a plot's view box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lmmscore.leaderboard.board import BoardRow


@dataclass(frozen=True, slots=True)
class Axis:
    """A straight axis from one value to another, drawn between two coordinates."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return where a value lies, to a tenth."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, about: int) -> list[tuple[float, str]]:
        """Return round values within the axis with where they lie, about so many."""
        step = round_step((self.high - self.low) / about)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        return [(self.at(k * step), f"{k * step:.{digits}f}") for k in range(first, last + 1)]


def round_step(size: float) -> float:
    """Return 1, 2 or 5 times a power of ten, the nearest from above."""
    power = math.pow(10.0, math.floor(math.log10(size)))
    return next(power * unit for unit in (1, 2, 5, 10) if power * unit >= size * (1 - 1e-9))


def axis_over(values: Sequence[float], start: float, end: float, margin: float = 0.06) -> Axis:
    """Return an axis with room for all values."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = (high - low) * margin or max(abs(low) * margin, 0.5)
    return Axis(low - room, high + room, start, end)


BAR_WIDTH = 170
SLOT = 16


@dataclass(frozen=True, slots=True)
class Bar:
    """A mean with its interval."""

    x: float
    low: float | None
    high: float | None


def means_axis(rows: Sequence[BoardRow]) -> Axis:
    """Return the axis on which all means of a table and their intervals find room."""
    ends = [end for row in rows for end in (row.mean_interval or ())]
    return axis_over([*ends, *(row.mean for row in rows if row.mean is not None)], 6, BAR_WIDTH - 6)


def bar(row: BoardRow, axis: Axis) -> Bar | None:
    """Return where a row's mean and interval are drawn; None without a mean."""
    if row.mean is None:
        return None
    low, high = (axis.at(end) for end in row.mean_interval) if row.mean_interval else (None, None)
    return Bar(axis.at(row.mean), low, high)


@dataclass(frozen=True, slots=True)
class RankStrip:
    """A row of places: one dot where the method stands, a band over the ranks it may have."""

    slots: tuple[float, ...]
    x: float
    band: tuple[float, float] | None
    """Left edge and width of the 95% interval."""
    allowed: tuple[float, float] | None
    """The same for what holes allow."""


def rank_strip(row: BoardRow, methods: int) -> RankStrip | None:
    """Return where a row's ranks are drawn; None without a rank."""
    if row.rank is None:
        return None

    def middle(rank: int) -> float:
        return SLOT * (rank - 0.5)

    def stretch(ranks: tuple[int, int] | None) -> tuple[float, float] | None:
        return (SLOT * (ranks[0] - 1) + 1, SLOT * (ranks[1] - ranks[0] + 1) - 2) if ranks else None

    slots = tuple(middle(rank) for rank in range(1, methods + 1))
    return RankStrip(slots, middle(row.rank), stretch(row.rank_interval), stretch(row.rank_range))


def dots(points: Sequence[tuple[float, float]]) -> str:
    """Return one path that draws a dot at every point, given a round line cap: one node however many points."""
    return "".join(f"M{x:g} {y:g}h0" for x, y in points)


def polyline(points: Sequence[tuple[float, float]]) -> str:
    """Return the points of a line or an outline."""
    return " ".join(f"{x:g},{y:g}" for x, y in points)
