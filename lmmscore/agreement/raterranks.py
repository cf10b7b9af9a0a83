"""Spearman within each of many raters, in every resample, all raters together.

Here a column is a resample: each step runs along contiguous memory, and small raters share numpy's calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from lmmscore.agreement.arrays import Floats, Ints, snap
from lmmscore.agreement.counted import TINY

BLOCK_EDITS = 4_096
"""Edits of several raters that are handled together."""
AT_ONCE = 1 << 16
"""Edits times resamples handled at once: half a megabyte, which a cache holds and the allocator hands out again."""


class RaterRanks:
    """Some raters' edits, with the mean of the others and any number of columns to correlate with it."""

    def __init__(
        self, others: Sequence[Floats], sides: Sequence[Sequence[Floats]], item: Sequence[Ints], items: int
    ) -> None:
        """Take for each rater their edits: the others' mean, the sides' scores and the items."""
        self.blocks = [
            _Block([others[k] for k in group], [[side[k] for k in group] for side in sides],
                   [item[k] for k in group], items)
            for group in _groups([len(one) for one in item], BLOCK_EDITS)
        ]  # fmt: skip
        self.sides = len(sides)

    def of(self, counts: Floats) -> Floats:
        """Return Spearman's ρ, of shape (sides, raters, resamples), NaN where undefined."""
        if not self.blocks:
            return np.zeros((self.sides, 0, len(counts)))
        return np.concatenate([_in_slices(block, counts) for block in self.blocks], axis=1)


def _in_slices(block: _Block, counts: Floats) -> Floats:
    step = max(8, AT_ONCE // len(block.item))
    slices = [np.ascontiguousarray(counts[start : start + step].T) for start in range(0, len(counts), step)]
    return np.concatenate([block.of(columns) for columns in slices], axis=2)


def _groups(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Return raters in runs that together have no more than so many edits, or one rater."""
    groups: list[list[int]] = []
    held = most + 1
    for place, size in enumerate(sizes):
        if held + size > most:
            groups.append([])
            held = 0
        groups[-1].append(place)
        held += size
    return groups


class _Block:
    def __init__(
        self,
        others: Sequence[Floats],
        sides: Sequence[Sequence[Floats]],
        item: Sequence[Ints],
        items: int,
    ) -> None:
        rater = np.repeat(np.arange(len(item)), [len(one) for one in item])
        self.item = np.concatenate(item)
        self.raters = _indicator(rater, np.arange(len(rater)), (len(item), len(rater)))
        self.drawn = _indicator(rater, self.item, (len(item), items))
        self.others = _Column(others, rater, self.item, items)
        self.sides = [_Column(side, rater, self.item, items) for side in sides]

    def of(self, columns: Floats) -> Floats:
        n = self.drawn @ columns
        ranks, spread = self.others.of(columns, n)
        weighted = ranks
        weighted *= np.take(columns, self.item, axis=0)
        found = []
        for side in self.sides:
            own, own_spread = side.of(columns, n)
            own *= weighted
            below = np.sqrt(np.maximum(spread * own_spread / 144, 0))
            cross = self.raters @ own
            found.append(np.divide(cross, below, out=np.full_like(cross, np.nan), where=below > TINY))
        return np.stack(found)


class _Column:
    """Centred midranks within rater: values are sorted once, levels of all raters lie one after the other."""

    def __init__(self, values: Sequence[Floats], rater: Ints, item: Ints, items: int) -> None:
        snapped = np.concatenate([snap(one) for one in values])
        levels, self.code = np.unique(rater + 1j * snapped, return_inverse=True)
        self.rater = levels.real.astype(np.int64)
        self.starts = np.flatnonzero(np.diff(self.rater, prepend=-1))
        self.table = _indicator(self.code, item, (len(levels), items))
        self.raters = _indicator(self.rater, np.arange(len(levels)), (int(rater.max()) + 1, len(levels)))

    def of(self, columns: Floats, n: Floats) -> tuple[Floats, Floats]:
        """Return each edit's rank among its rater's and, for each rater, n³ − Σ(tied³); a column a resample."""
        level = self.table @ columns
        upto = np.cumsum(level, axis=0)
        middle = upto[self.starts] - level[self.starts] + n / 2
        centred = upto - level / 2
        centred -= np.take(middle, self.rater, axis=0)
        # Products, for numpy's ** 3 is a general power and many times slower.
        return np.take(centred, self.code, axis=0), n * n * n - self.raters @ (level * level * level)


def _indicator(row: Ints, column: Ints, shape: tuple[int, int]) -> sparse.csr_array:
    """Return a table that adds up the given columns into the given rows."""
    return sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)
