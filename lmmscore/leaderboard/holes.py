"""What missing scores could do to a ranking."""

from __future__ import annotations

import numpy as np

from lmmscore.leaderboard.cube import Cube
from lmmscore.leaderboard.differences import item_weights
from lmmscore.leaderboard.resampling import TIE, Floats, Ints


def column_means(values: Floats, strata: Ints | None) -> Floats:
    """Return each column's mean over its known items, or over the tasks in `strata`; NaN without any."""
    means: Floats = np.nansum(values * item_weights(values, strata), axis=0)
    means[~np.isfinite(values).any(axis=0)] = np.nan
    return means


def rank_ranges(
    cube: Cube, factor: int, strata: Ints | None, *, lowest: float, highest: float
) -> list[tuple[int, int]]:
    """Return each method's best and worst rank over everything the missing scores could have been.

    A method stands best when its own holes are filled with the highest score and all others' with the lowest.
    """
    low = column_means(cube.filled(factor, lowest), strata)
    high = column_means(cube.filled(factor, highest), strata)
    best = 1 + (low[None, :] > high[:, None] + TIE).sum(axis=1)
    beaten_by = high[None, :] > low[:, None] + TIE
    np.fill_diagonal(beaten_by, False)
    worst = 1 + beaten_by.sum(axis=1)
    return [(int(a), int(b)) for a, b in zip(best, worst, strict=True)]
