"""Intervals by leaving items out: what belongs to one item leaves together.

A statistic is a function of counts, shape (rows, items), and gives one number per row. The
jackknife evaluates it with one group of items left out at a time: one item per group, or random
groups where there are many. Limits are taken on a scale on which the statistic is nearly normal,
with Student's t. On correlations this covers better than percentile and BCa bootstrap intervals
do with 5 to 20 items, and it needs a few hundred evaluations in place of ten thousand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from lmmscore.stats.arrays import SAME, Floats, Ints

CountStatistic = Callable[[Floats], Floats]
"""From counts, one row per evaluation, to the statistic; NaN where it is undefined."""

Transform = Literal["none", "fisher", "logit"]
"""The scale on which limits are taken: as it is, Fisher's z, or log odds."""

MOST_GROUPS = 200
"""Items above this number are left out in random groups."""

FEWEST_ITEMS = 5
"""Items below which a correlation gets no interval: it could not be trusted."""

_EDGE = 1e-7
"""Replicates this near to ±1 stand for it: Fisher's z of 1 is infinite."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95% limits; `low` and `high` are None, with the reason, where there are
    none."""

    value: float
    low: float | None = None
    high: float | None = None
    why: str = ""
    groups: int = 0

    @property
    def limits(self) -> tuple[float, float] | None:
        """Both limits, or None."""
        if self.low is None or self.high is None:
            return None
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class JointPart:
    """One of several statistics that are computed together: a row of the joint function."""

    joint: CountStatistic
    place: int

    def __call__(self, counts: Floats) -> Floats:
        """Return this statistic alone."""
        return np.asarray(self.joint(counts)[self.place])


def parts(joint: CountStatistic, names: Sequence[str]) -> dict[str, JointPart]:
    """Return the statistics of a joint function by name, in the order of its rows."""
    return {name: JointPart(joint, place) for place, name in enumerate(names)}


def item_groups(items: int, rng: np.random.Generator) -> Ints:
    """Return the group of each item: its own, or one of MOST_GROUPS random ones of equal size."""
    if items <= MOST_GROUPS:
        return np.arange(items)
    return rng.permutation(np.arange(items) % MOST_GROUPS)


def left_out(groups: Ints) -> Floats:
    """Return counts in which one group after another is left out."""
    number = int(groups.max()) + 1
    return np.asarray(groups[None, :] != np.arange(number)[:, None], dtype=np.float64)


def replicates(statistics: Mapping[str, CountStatistic], groups: Ints) -> dict[str, Floats]:
    """Return every statistic with each group left out; joint functions are evaluated once."""
    counts = left_out(groups)
    found: dict[str, Floats] = {}
    joint: dict[int, Floats] = {}

    with one_thread():
        for name, of in statistics.items():
            if not isinstance(of, JointPart):
                found[name] = of(counts)
                continue
            if id(of.joint) not in joint:
                joint[id(of.joint)] = of.joint(counts)
            found[name] = np.asarray(joint[id(of.joint)][of.place])
    return found


def interval(
    value: float, replicates: Floats, transform: Transform, *, confidence: float = 0.95
) -> Interval:
    """Return the interval of a value from its leave-out replicates."""
    known = replicates[~np.isnan(replicates)]
    if math.isnan(value) or len(known) < 2 or 2 * len(known) < len(replicates):
        return Interval(value, why="it is undefined without some of the items")

    edge = _at_edge(value, transform)
    if edge:
        return Interval(value, why=edge)

    forward, back = _SCALES[transform]
    error = jackknife_error(forward(known))
    centre = float(forward(np.array([value]))[0])
    reach = t_quantile(len(known) - 1, confidence) * error
    low, high = back(np.array([centre - reach, centre + reach]))
    return Interval(value, float(low), float(high), groups=len(known))


def jackknife_error(replicates: Floats) -> float:
    """Return the standard error from leave-out replicates."""
    number = len(replicates)
    squares = float(((replicates - replicates.mean()) ** 2).sum())
    return math.sqrt(squares * (number - 1) / number)


def t_quantile(freedom: float, confidence: float) -> float:
    """Return Student's t beyond which half of what `confidence` leaves lies, on either side."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + confidence) / 2))


def _at_edge(value: float, transform: Transform) -> str:
    if transform == "fisher" and abs(value) >= 1 - SAME:
        return "agreement is perfect on these items, which says nothing about others"
    if transform == "logit" and not SAME < value < 1 - SAME:
        return "all pairs agree, or none, which says nothing about others"
    return ""


def _z(values: Floats) -> Floats:
    return np.asarray(np.arctanh(np.clip(values, _EDGE - 1, 1 - _EDGE)))


def _log_odds(values: Floats) -> Floats:
    inside = np.clip(values, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(inside / (1 - inside)))


def _share(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-values)))


_SCALES: dict[Transform, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "none": (np.asarray, np.asarray),
    "fisher": (_z, np.tanh),
    "logit": (_log_odds, _share),
}


def mean_limits(values: Floats, strata: Ints | None, *, level: float) -> tuple[float, float] | None:
    """Return the t interval of the mean of the known values, or of the mean of strata means.

    None where there are fewer than two values, or all are the same: a spread of 0 seen on a few
    items is no sign that there is none.
    """
    known = np.isfinite(values)
    sample = values[known]
    task = np.zeros(len(sample), dtype=np.int64) if strata is None else strata[known]
    means, variances, freedoms = [], [], []
    for one in np.unique(task):
        part = sample[task == one]
        means.append(float(part.mean()))
        if len(part) > 1:
            variances.append(float(part.var(ddof=1)) / len(part))
            freedoms.append(len(part) - 1)

    total = sum(variances)
    if not variances or total <= SAME**2:
        return None
    # Welch and Satterthwaite: strata with larger variances count for more of the freedom.
    shares = sum(v**2 / freedom for v, freedom in zip(variances, freedoms, strict=True))
    reach = t_quantile(total**2 / shares, level) * math.sqrt(total) / len(means)
    middle = sum(means) / len(means)
    return middle - reach, middle + reach


def one_thread() -> AbstractContextManager[object]:
    """Keep matrix products on one thread. These are small: threads would mostly wait."""
    found: AbstractContextManager[object] = _thread_pools().limit(limits=1, user_api="blas")
    return found


@cache
def _thread_pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
