"""One line of an agreement table: a statistic with its level, n, interval, and what was left out and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmmscore.agreement.bootstrap import CountStatistic, Interval


@dataclass(frozen=True, slots=True)
class Measure:
    """A statistic at a level, with the function of counts that gives its interval, if it has one."""

    level: str
    statistic: str
    value: float
    """NaN where undefined; `why` then says because of what."""
    n: int
    of: str
    """What n counts: edits, items, methods, raters."""
    averaging: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    why: str = ""
    counted: CountStatistic | None = None
    cost_ns: float = 0
    """About what a resample takes, where that is much: a costly statistic gets fewer resamples, and says so."""
    no_interval: str = ""
    """Why a value that is defined goes without an interval."""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A measure of one judge (or of people) on one factor, with its interval."""

    judge: str
    factor: str
    measure: Measure
    interval: Interval | None = None
    task: str = ""

    @property
    def value(self) -> float | None:
        """The value, None where undefined."""
        return known(self.measure.value)

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The 95% interval: BCa, or percentile where BCa is undefined; nothing where both are."""
        if self.interval is None or self.value is None:
            return None, None
        chosen = (
            self.interval.bca if not math.isnan(self.interval.bca[0]) else self.interval.percentile
        )
        return known(chosen[0]), known(chosen[1])

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON objects hold it: full precision, null with a reason where undefined."""
        low, high = self.limits
        measure = self.measure
        data: dict[str, Any] = {"judge": self.judge} if self.judge else {}
        data |= {"factor": self.factor, "level": measure.level, "statistic": measure.statistic}
        data |= {"task": self.task} if self.task else {}
        data |= {"value": self.value, "low": low, "high": high, "n": measure.n, "of": measure.of}
        data |= {"averaging": measure.averaging, "left_out": dict(measure.left_out)}
        if self.value is None:
            data["why"] = measure.why or "it is not defined on these scores"
        elif measure.no_interval:
            data["why"] = measure.no_interval
        return data | dict(measure.extra) | self._interval_json()

    def _interval_json(self) -> dict[str, Any]:
        if self.interval is None or self.value is None:
            return {}
        both = {"percentile": self.interval.percentile, "bca": self.interval.bca}
        limits = {name: [known(pair[0]), known(pair[1])] for name, pair in both.items()}
        chosen = "percentile" if limits["bca"][0] is None else "bca"
        dropped = self.interval.drawn - self.interval.resamples
        counts = {"resamples": self.interval.drawn, "resamples_undefined": dropped}
        return {"interval": chosen, **limits, **counts}


def known(value: float) -> float | None:
    """Return a number, or None for NaN: JSON has no NaN, and a table must not show one."""
    return None if math.isnan(value) else float(value)
