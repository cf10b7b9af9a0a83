"""The array types of the statistics, and the preparations they share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SAME = 1e-9
"""Two scores nearer than this are the same score."""


def snap(values: Floats) -> Floats:
    """Return the values with near-equal ones made equal.

    A weighted overall such as 0.4·7 + 0.3·8 may differ in its last bit from another that is equal on paper;
    a tie must not hang on that.
    """
    values = np.asarray(values, dtype=float)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.concatenate([[True], np.diff(ordered) > SAME]) if len(values) else np.zeros(0, bool)
    snapped = np.empty_like(values)
    snapped[order] = ordered[np.maximum.accumulate(np.where(starts, np.arange(len(values)), 0))]
    return snapped


def adding(row: Ints, column: Ints, shape: tuple[int, int]) -> sparse.csr_array:
    """Return a table that, multiplied with counts, adds up those of the given columns into the given rows."""
    return sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)
