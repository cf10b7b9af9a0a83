"""The array types of the statistics, and the preparations they share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lmmscore.records import SAME as SAME

if TYPE_CHECKING:
    from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Numbers = NDArray[np.floating]
Limits = tuple[float, float]

TINY = 1e-12
"""A variance below this is none."""


def snap(values: Floats) -> Floats:
    """Return the values with near-equal ones made equal.

    A weighted overall such as 0.4·7 + 0.3·8 may differ in its last bit from another that is equal
    on paper; a tie must not hang on that.
    """
    values = np.asarray(values, dtype=float)
    if not len(values):
        return values.copy()

    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.concatenate([[True], np.diff(ordered) > SAME])
    first = np.maximum.accumulate(np.where(starts, np.arange(len(values)), 0))

    snapped = np.empty_like(values)
    snapped[order] = ordered[first]
    return snapped


def sum_table(row: Ints, column: Ints, shape: tuple[int, int]) -> sparse.csr_array:
    """Return a table whose product with counts adds those of the columns into the rows."""
    from scipy import sparse

    return sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)


def divide(top: Floats, bottom: Floats) -> Floats:
    """Divide, giving NaN where the bottom vanishes: there the statistic is undefined."""
    safe = bottom > TINY
    return np.asarray(np.divide(top, bottom, out=np.full(len(top), np.nan), where=safe))


def item_sums(item: Ints, *columns: Floats, items: int | None = None) -> Floats:
    """Return the sums of columns by item, one row per item."""
    size = int(item.max()) + 1 if items is None else items
    sums = [np.bincount(item, weights=column, minlength=size) for column in columns]
    return np.stack(sums, axis=1)


def mean_known(table: Floats) -> Floats:
    """Return the mean over rows, in each column over those that are known; NaN where none is."""
    known = ~np.isnan(table)
    total = np.where(known, table, 0).sum(axis=0)
    return divide(total, known.sum(axis=0).astype(float))


def item_weights(values: Floats, strata: Ints | None) -> Floats:
    """Return what each known value weighs in its column's mean: the same,
    or the same per stratum."""
    known = np.isfinite(values)
    if strata is None:
        return np.asarray(known / np.maximum(known.sum(axis=0), 1))

    weights = np.zeros(values.shape)
    present = np.zeros(values.shape[1])
    for stratum in np.unique(strata):
        inside = strata == stratum
        part = known[inside]
        weights[inside] = part / np.maximum(part.sum(axis=0), 1)
        present += part.any(axis=0)

    return np.asarray(weights / np.maximum(present, 1))


def column_means(values: Floats, strata: Ints | None) -> Floats:
    """Return each column's mean over its known items, or over strata; NaN without any."""
    means: Floats = np.nansum(values * item_weights(values, strata), axis=0)
    means[~np.isfinite(values).any(axis=0)] = np.nan
    return means


def ranks(means: Floats) -> Ints:
    """Return 1 + the number of columns that are higher, for each row; equal columns share a rank.

    A NaN is higher than nothing and has no meaningful rank of its own.
    """
    # Methods first: each comparison then runs along one stretch of memory.
    columns = np.ascontiguousarray(np.moveaxis(means, -1, 0))
    bar = columns + SAME
    found = np.ones(columns.shape, dtype=np.int16)
    for column in columns:
        found += column > bar
    return np.moveaxis(found, 0, -1).astype(np.int64)


def rounded(value: float | None, decimals: int | None) -> float | None:
    """Return a figure for JSON: None for what is no number,
    and no digits that only arithmetic put there."""
    if value is None or not math.isfinite(value):
        return None
    # Scores are decimals with few places: beyond the tenth there is only the noise of binary
    # fractions.
    return round(value, 10 if decimals is None else decimals)
