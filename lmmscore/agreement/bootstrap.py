"""Intervals by a bootstrap that resamples items, keeping what belongs to an item together.

A resample is never built. It is described by how often each item was drawn, and a statistic is a function of
those counts: shape (resamples, items) in, (resamples,) out. So nothing is sorted or copied inside a resample.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from lmmscore.agreement.arrays import Floats, Ints
from lmmscore.leaderboard.resampling import one_thread

CountStatistic = Callable[[Floats], Floats]
"""From counts, a row a resample, to the statistic, a number a resample; NaN where it is undefined."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of several statistics that are computed together: a row of what the joint function returns."""

    joint: CountStatistic
    place: int

    def __call__(self, counts: Floats) -> Floats:
        """Return this statistic alone."""
        return np.asarray(self.joint(counts)[self.place])


def parts(joint: CountStatistic, names: Sequence[str]) -> dict[str, Part]:
    """Return the statistics of a joint function by name, in the order of its rows."""
    return {name: Part(joint, place) for place, name in enumerate(names)}


CHUNK_CELLS = 1 << 16
"""Counts handled at once: small enough to stay in a processor's cache, large enough to amortise numpy's calls."""

MANY_CHUNKS = 256
"""Chunks above which threads share them. Below, their calls are short, and taking turns costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The value of a statistic with its percentile and BCa limits; NaN where undefined."""

    value: float
    percentile: tuple[float, float]
    bca: tuple[float, float]
    resamples: int
    """How many resamples gave a number; in the others the statistic was undefined."""
    drawn: int


NO_LIMITS = (float("nan"), float("nan"))


Draw = Callable[[], Floats]
"""Makes one chunk of counts when called, in whichever thread gets to it."""


def draw_counts(multiplicity: Ints, resamples: int, rng: np.random.Generator) -> list[Draw]:
    """Return chunks of counts yet to be drawn: how often each kind of item occurs in each resample.

    `multiplicity` says how many items there are of each kind. Where many items are alike (integer scores on a
    short scale), counts come from one multinomial draw, whatever the number of items; where all differ, from
    counting drawn indices, which is then the cheaper way. Each chunk has a generator of its own, so the numbers
    do not depend on how many threads there are.
    """
    rows = _chunk_rows(len(multiplicity))
    sizes = [min(rows, resamples - start) for start in range(0, resamples, rows)]
    return [
        partial(_draw, multiplicity, size, child)
        for size, child in zip(sizes, rng.spawn(len(sizes)), strict=True)
    ]


def _draw(multiplicity: Ints, size: int, rng: np.random.Generator) -> Floats:
    kinds, items = len(multiplicity), int(multiplicity.sum())
    if kinds < items:
        return rng.multinomial(items, multiplicity / items, size=size).astype(float)
    return count_indices(rng.integers(0, kinds, (size, kinds), dtype=np.int32))


def _chunk_rows(kinds: int) -> int:
    return max(1, CHUNK_CELLS // max(kinds, 1))


def count_indices(indices: NDArray[np.integer]) -> Floats:
    """Return how often each index occurs in each row; a row holds as many draws as there are indices."""
    rows, items = indices.shape
    flat = indices + (np.arange(rows) * items).astype(indices.dtype)[:, None]
    return np.bincount(flat.ravel(), minlength=rows * items).reshape(rows, items).astype(float)


def jackknife_counts(multiplicity: Ints) -> list[Draw]:
    """Return chunks of counts in which one item of each kind is left out: once a kind, not once an item."""
    rows = _chunk_rows(len(multiplicity))
    return [
        partial(_leave_out, multiplicity, start, rows)
        for start in range(0, len(multiplicity), rows)
    ]


def _leave_out(multiplicity: Ints, start: int, rows: int) -> Floats:
    size = min(rows, len(multiplicity) - start)
    counts = np.tile(multiplicity.astype(float), (size, 1))
    counts[np.arange(size), start + np.arange(size)] -= 1
    return counts


def intervals(
    statistics: Mapping[str, CountStatistic],
    multiplicity: Ints,
    *,
    resamples: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> dict[str, Interval]:
    """Return an interval for each statistic, all from the same resamples."""
    draws = draw_counts(multiplicity, resamples, rng)
    return intervals_from(statistics, multiplicity, draws, confidence=confidence)


def intervals_from(
    statistics: Mapping[str, CountStatistic],
    multiplicity: Ints,
    draws: Sequence[Draw],
    *,
    confidence: float = 0.95,
) -> dict[str, Interval]:
    """Return an interval for each statistic from resamples drawn elsewhere."""
    replicates = _evaluate(statistics, draws)
    knives = _evaluate(statistics, jackknife_counts(multiplicity))
    whole = multiplicity[None, :].astype(float)
    return {
        name: summarise(
            float(of(whole)[0]), replicates[name], knives[name], multiplicity, confidence
        )
        for name, of in statistics.items()
    }


def _evaluate(statistics: Mapping[str, CountStatistic], draws: Sequence[Draw]) -> dict[str, Floats]:
    """Return every statistic over every chunk: each chunk is made once and used by all."""
    together = {of.joint for of in statistics.values() if isinstance(of, Part)}

    def over_chunk(draw: Draw) -> list[Floats]:
        counts = draw()
        joint = {joint: joint(counts) for joint in together}
        return [
            joint[of.joint][of.place] if isinstance(of, Part) else of(counts)
            for of in statistics.values()
        ]

    # numpy lets go of the interpreter while it draws and sums, so threads suffice; the products inside stay on one.
    workers = os.cpu_count() if len(draws) > MANY_CHUNKS else 1
    with one_thread(), ThreadPoolExecutor(max_workers=workers) as pool:
        chunks = list(pool.map(over_chunk, draws))
    return {
        name: np.concatenate([chunk[place] for chunk in chunks]) if chunks else np.zeros(0)
        for place, name in enumerate(statistics)
    }


def summarise(
    value: float, replicates: Floats, knives: Floats, multiplicity: Ints, confidence: float
) -> Interval:
    """Return both intervals of a value from its replicates and its jackknife values."""
    known = np.sort(replicates[~np.isnan(replicates)])
    if np.isnan(value) or len(known) < 2:
        return Interval(value, NO_LIMITS, NO_LIMITS, len(known), len(replicates))
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    bca = _bca(value, known, knives, multiplicity, tail)
    return Interval(value, (float(low), float(high)), bca, len(known), len(replicates))


def _bca(
    value: float, known: Floats, knives: Floats, multiplicity: Ints, tail: float
) -> tuple[float, float]:
    """Return the bias-corrected, accelerated limits, NaN where they are undefined (Efron 1987)."""
    below, not_above = (
        np.searchsorted(known, [value, value], side="left"),
        np.searchsorted(known, value, "right"),
    )
    z0 = special.ndtri((below[0] + not_above) / 2 / len(known))
    usable = ~np.isnan(knives)
    weights = multiplicity[usable].astype(float)
    left = (
        np.average(knives[usable], weights=weights) - knives[usable]
        if weights.sum()
        else np.zeros(0)
    )
    spread = float(weights @ left**2)
    if not np.isfinite(z0) or spread == 0:
        return NO_LIMITS
    acceleration = float(weights @ left**3) / (6 * spread**1.5)
    shifted = z0 + np.array([1, -1]) * special.ndtri(tail)
    low, high = np.quantile(known, special.ndtr(z0 + shifted / (1 - acceleration * shifted)))
    return float(low), float(high)
