"""Spearman within each of many raters, in every resample, all raters together.

Here a column is a resample: each step runs along contiguous memory, and small raters share numpy's calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmmscore.agreement.arrays import Floats, Ints, adding, snap
from lmmscore.agreement.counted import TINY

BLOCK_EDITS = 4_096
"""Edits of several raters that are handled together."""
AT_ONCE = 1 << 16
"""Edits times resamples handled at once: half a megabyte, which a cache holds and the allocator hands out again."""


class RaterRanks:
    """Some raters' edits, with the mean of the others and any number of columns to correlate with it."""

    def __init__(
        self,
        others: Sequence[Floats],
        sides: Sequence[Sequence[Floats]],
        item: Sequence[Ints],
        items: int,
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
    slices = [
        np.ascontiguousarray(counts[start : start + step].T)
        for start in range(0, len(counts), step)
    ]
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
    """Some raters. A group is one rater's column of the others' means, or of one side; all are ranked in one go."""

    def __init__(
        self,
        others: Sequence[Floats],
        sides: Sequence[Sequence[Floats]],
        item: Sequence[Ints],
        items: int,
    ) -> None:
        raters, sizes = len(item), [len(one) for one in item]
        self.item = np.concatenate(item)
        edits = np.arange(len(self.item))
        self.by_rater = adding(np.repeat(np.arange(raters), sizes), edits, (raters, len(edits)))
        columns = [*others, *(column for side in sides for column in side)]
        group = np.repeat(np.arange(len(columns)), sizes * (1 + len(sides)))
        # Values are sorted once, here; the levels of all groups lie one after the other.
        levels, code = np.unique(
            group + 1j * np.concatenate([snap(one) for one in columns]), return_inverse=True
        )
        self.code = code.reshape(1 + len(sides), len(edits))
        self.group = levels.real.astype(np.int64)
        self.first = np.flatnonzero(np.diff(self.group, prepend=-1))
        self.last = np.append(self.first[1:], len(levels)) - 1
        self.table = adding(code, np.tile(self.item, len(self.code)), (len(levels), items))
        self.by_group = adding(self.group, np.arange(len(levels)), (len(columns), len(levels)))

    def of(self, columns: Floats) -> Floats:
        """Return ρ by side, rater and resample, from counts with a column a resample."""
        ranks, n, middle, spread = self._ranks(columns)
        weighted = np.take(ranks, self.code[0], axis=0)
        weighted *= np.take(columns, self.item, axis=0)
        # Ranks are whole numbers, so taking their means off the sums of products afterwards loses nothing.
        cross = np.stack([self.by_rater @ _times(ranks, code, weighted) for code in self.code[1:]])
        cross -= n * middle[0] * middle[1:]
        below = 4 * np.sqrt(np.maximum(spread[0] * spread[1:] / 144, 0))
        return np.asarray(
            np.divide(cross, below, out=np.full_like(cross, np.nan), where=below > TINY)
        )

    def _ranks(self, columns: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return twice each level's midrank, counted on through the groups, and of the groups, by side and rater:
        how many edits were drawn, twice their mean midrank, and n³ − Σ(tied³)."""
        level = self.table @ columns
        upto = np.cumsum(level, axis=0)
        through = upto[self.last]
        before = upto[self.first] - level[self.first]
        # Products, for numpy's ** 3 is a general power and many times slower.
        cubes = level * level
        cubes *= level
        n = through - before
        spread = n * n * n - self.by_group @ cubes
        upto += upto
        upto -= level
        shape = (len(self.code), -1, columns.shape[1])
        n, middle, spread = (one.reshape(shape) for one in (n, before + through, spread))
        return upto, n[0], middle, spread


def _times(ranks: Floats, code: Ints, weights: Floats) -> Floats:
    product = np.take(ranks, code, axis=0)
    product *= weights
    return product
