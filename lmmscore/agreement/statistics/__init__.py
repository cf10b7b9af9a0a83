"""The statistics of agreement, by name. A new one is one new module here that registers itself.

A statistic needs no more than a function of two columns, the judge's scores and people's means;
it is then had at every level. What else a `Statistic` holds are faster forms of the same function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from lmmscore.options import Registry
from lmmscore.stats.resampling import CountStatistic, Floats, Ints, Transform

ITEM, WITHIN_ITEM, WITHIN_METHOD, METHOD = "item", "within-item", "within-method", "method"
LEVELS = (ITEM, WITHIN_ITEM, WITHIN_METHOD, METHOD)
"""`item`: all edits pooled. `within-item`: over the methods of each item, then averaged over items.
`within-method`: over the items of each method, then averaged over methods. `method`: over methods'
means."""

Columns = Callable[[Floats, Floats], float]
OfCounts = Callable[[Floats, Floats, Ints, int], CountStatistic]
OfRows = Callable[[Floats, Floats], Floats]
OfGrid = Callable[[Floats, Floats, np.random.Generator], float]


@dataclass(frozen=True, slots=True)
class Statistic:
    """One statistic of agreement."""

    name: str
    title: str
    """What heads its column."""
    of: Columns | None = None
    """From the judge's and people's column to a value, NaN where undefined."""
    order: int = 100
    """Where it stands among the others."""
    levels: tuple[str, ...] = LEVELS
    transform: Transform = "fisher"
    correlation: bool = False
    """Whether it is undefined where a side is constant, and may be averaged by Fisher's z."""
    needs_scale: bool = False
    """Whether it means something only where both sides have the same scale."""
    of_counts: OfCounts | None = None
    """From columns, items and their number to a function of counts, for intervals."""
    of_rows: OfRows | None = None
    """From item × method tables to one value per item."""
    of_grid: OfGrid | None = None
    """At the level `method`: from item × method tables, where means alone do not do."""
    extra: Callable[[Floats, Floats], Mapping[str, Any]] = field(default=lambda _judge, _people: {})
    """From two columns to what else is to be said with the value."""
    extra_rows: Callable[[Floats, Floats], Mapping[str, Any]] = field(
        default=lambda _judge, _people: {}
    )
    """The same at the level `within-item`, from tables."""


STATISTICS: Registry[Statistic] = Registry(
    "statistic", __name__, group="lmmscore.agreement_statistics"
)


def register(statistic: Statistic) -> Statistic:
    """Add a statistic under its own name."""
    return STATISTICS.register(statistic.name)(statistic)


@cache
def statistics(level: str) -> tuple[Statistic, ...]:
    """Return the statistics of a level, in their order."""
    found = [STATISTICS.get(name) for name in STATISTICS.names()]
    chosen = [one for one in found if level in one.levels]
    return tuple(sorted(chosen, key=lambda one: (one.order, one.name)))
