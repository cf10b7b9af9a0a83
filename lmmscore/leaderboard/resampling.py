"""The paired bootstrap over items: every method is averaged over the same drawn items.

A draw of n items with replacement is a vector of counts, so that the means of all methods in many draws are
one matrix product. Counts are made in blocks that fit the processor's cache, which bounds memory and is what
makes this fast.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.floating]

TIE = 1e-9
"""Means closer than this are equal: scores are short decimals, so smaller gaps are rounding noise."""

_BLOCK = 1 << 17
"""Counts made at a time: a megabyte, about a second-level cache."""


def resampled_means(values: Floats, *, draws: int, rng: np.random.Generator) -> Floats:
    """Return draws × column means of an item × column array, each draw over the same items for all columns.

    NaN marks a hole: a column's mean is over the drawn items it has. A draw without any gives NaN.
    """
    known = np.isfinite(values)
    data, grid = _on_grid(np.where(known, values, 0.0))
    complete = bool(known.all())
    sums = np.empty((draws, values.shape[1]))
    sizes = np.full_like(sums, len(values))
    with one_thread():
        for start, counts in _blocks(len(values), draws, data.dtype, rng):
            rows = slice(start, start + len(counts))
            sums[rows] = counts @ data
            if not complete:
                sizes[rows] = counts @ known.astype(data.dtype)
    return np.divide(sums, sizes * grid, out=np.full_like(sums, np.nan), where=sizes > 0)


def one_thread() -> AbstractContextManager[object]:
    """Keep matrix products on one thread. These are small: threads would mostly wait."""
    found: AbstractContextManager[object] = _thread_pools().limit(limits=1, user_api="blas")
    return found


@cache
def _thread_pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def resampled_task_means(
    values: Floats, task_of: Ints, *, draws: int, rng: np.random.Generator
) -> Floats:
    """Return draws × column means over tasks: items are drawn within each task, and tasks weigh the same."""
    total = np.zeros((draws, values.shape[1]))
    tasks = np.zeros_like(total)
    for task in np.unique(task_of):
        means = resampled_means(values[task_of == task], draws=draws, rng=rng)
        total += np.nan_to_num(means)
        tasks += np.isfinite(means)
    return np.divide(total, tasks, out=np.full_like(total, np.nan), where=tasks > 0)


def ranks(means: Floats) -> Ints:
    """Return 1 + the number of columns that are higher, for each row; columns within TIE share a rank.

    A NaN is higher than nothing and has no meaningful rank of its own.
    """
    # Methods first: each comparison then runs along one stretch of memory.
    columns = np.ascontiguousarray(np.moveaxis(means, -1, 0))
    bar = columns + TIE
    found = np.ones(columns.shape, dtype=np.int16)
    for column in columns:
        found += column > bar
    return np.moveaxis(found, 0, -1).astype(np.int64)


def tail(sizes: Sequence[int], *, level: float) -> float:
    """Return the share to cut off each end of resampled means, so that the `level` is kept.

    Plain percentiles are too narrow for few items: they use n where the sample variance has n - 1, and a
    normal quantile where Student's t belongs. Both are put right by cutting off less (Hesterberg 2015,
    section 3.3.2). `sizes` is the number of items, or of those of each task when items are drawn within
    tasks.
    """
    return _tail(tuple(sizes), level)


@cache
def _tail(sizes: tuple[int, ...], level: float) -> float:
    from scipy.special import ndtr, stdtrit

    n = np.array(sizes, dtype=np.float64)
    spread = float((1 / n).sum() / ((n - 1) / n**2).sum())
    freedom = int(n.sum()) - len(n)
    return float(ndtr(-stdtrit(freedom, (1 + level) / 2) * math.sqrt(spread)))


def resample(
    values: Floats, strata: Ints | None, *, draws: int, rng: np.random.Generator
) -> Floats:
    """Return resampled means over items, or over the tasks in `strata`."""
    if strata is None:
        return resampled_means(values, draws=draws, rng=rng)
    return resampled_task_means(values, strata, draws=draws, rng=rng)


def cut_of(column: Floats, strata: Ints | None, *, level: float) -> float | None:
    """Return the share to cut off each end for one column; None with too few values for an interval."""
    known = np.isfinite(column)
    sizes = (
        (int(known.sum()),)
        if strata is None
        else tuple(int(k) for k in np.bincount(strata[known]) if k)
    )
    if sum(sizes) - len(sizes) < 1:
        return None
    return tail(sizes, level=level)


def interval_of(
    column: Floats, strata: Ints | None, draws: Floats, *, level: float
) -> tuple[float, float] | None:
    """Return the interval of one column's mean from its resampled means; None with too few values."""
    cut = cut_of(column, strata, level=level)
    if cut is None:
        return None
    low, high = np.quantile(draws[np.isfinite(draws)], [cut, 1 - cut])
    return float(low), float(high)


def rank_interval(draws: Ints, *, cut: float) -> tuple[int, int]:
    """Return the outermost ranks left after cutting `cut` off each side; always whole ranks."""
    ordered = np.sort(draws)
    skip = int(cut * len(ordered))
    return int(ordered[skip]), int(ordered[len(ordered) - 1 - skip])


def _blocks(
    n: int, draws: int, dtype: np.dtype[np.floating], rng: np.random.Generator
) -> Iterator[tuple[int, Numbers]]:
    """Yield the number of a first draw and how often each item is in that and the next draws."""
    size = max(1, _BLOCK // n)
    shift = (np.arange(size) * n)[:, None]
    # Narrow integers cost the generator a fraction of wide ones.
    narrow = np.uint16 if n <= 1 << 16 else np.uint32
    for start in range(0, draws, size):
        rows = min(size, draws - start)
        drawn = rng.integers(0, n, (rows, n), dtype=narrow) + shift[:rows]
        yield start, np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(dtype)


def _on_grid(values: Floats) -> tuple[Numbers, float]:
    """Return values as whole multiples of a decimal step, in single precision, when that loses nothing.

    Whole numbers below 2**24 add up exactly there at half the cost; anything else stays as it is, with step
    1.
    """
    for grid in (1.0, 10.0, 100.0):
        whole = np.rint(values * grid)
        if np.abs(whole - values * grid).max(initial=0.0) < TIE:
            exact = np.abs(whole).max(initial=0.0) * len(values) < 1 << 24
            return (whole.astype(np.float32), grid) if exact else (values, 1.0)
    return values, 1.0
