"""Statistics as pure functions of arrays: no files, no clocks, and randomness is passed in.

Here are the arrays, means, intervals and tests that everything else is made of; most resample
items. Coefficients of correlation, and whatever is made of them, are in `correlation`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from lmmscore.errors import counted
from lmmscore.records import SAME as SAME
from lmmscore.records import fixed

if TYPE_CHECKING:
    from scipy import sparse

# --------------------------------------------------------------------------------------------------
# The array types of the statistics, and the preparations they share.
# --------------------------------------------------------------------------------------------------

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Numbers = NDArray[np.floating]
Limits = tuple[float, float]

TINY = 1e-12
"""Sums of squares below this count as 0."""


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
    """Return the sparse matrix of zeros and ones whose product sums columns' counts into rows."""
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
    """Return each known value's weight in its column's mean: all equal, or equal per stratum."""
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


def sample_std(known: Floats) -> float | None:
    """Return the sample standard deviation, 0 for equal scores, None for fewer than two."""
    if known.size < 2:
        return None
    # Equal scores can leave a few parts in 10**16; a reader would take that for a spread.
    return 0.0 if np.ptp(known) < SAME else float(known.std(ddof=1))


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


def rounded(data: Any, decimals: int | None) -> Any:
    """Return plain data for JSON: fractions rounded, None for what is no number, tuples as lists.

    Without `decimals`, what goes is only the noise of binary fractions: scores are decimals with
    few places, and nothing beyond the tenth was ever stated.
    """
    if isinstance(data, float):
        if not math.isfinite(data):
            return None
        return float(fixed(data, 10 if decimals is None else decimals))
    if isinstance(data, Mapping):
        return {key: rounded(value, decimals) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [rounded(value, decimals) for value in data]
    return data


def as_json(record: Any, decimals: int | None) -> dict[str, Any]:
    """Return a mapping, or the fields of a dataclass, rounded for JSON."""
    fields = record if isinstance(record, Mapping) else asdict(record)
    return {name: rounded(value, decimals) for name, value in fields.items()}


def one_thread() -> AbstractContextManager[object]:
    """Keep matrix products on one thread. These are small: threads would mostly wait."""
    found: AbstractContextManager[object] = _thread_pools().limit(limits=1, user_api="blas")
    return found


@cache
def _thread_pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


# --------------------------------------------------------------------------------------------------
# Intervals by the jackknife: what belongs to one item leaves together.
#
# A statistic is a function of counts, shape (rows, items), and gives one number per row. The
# jackknife evaluates it with one group of items left out at a time: one item per group, or random
# groups where there are many. Limits are taken on a scale on which the statistic is nearly
# normal, with Student's t. On correlations this covers better than percentile and BCa bootstrap
# intervals do with 5 to 20 items, and it needs a few hundred evaluations in place of ten
# thousand (docs/decisions/0070).
# --------------------------------------------------------------------------------------------------

CountStatistic = Callable[[Floats], Floats]
"""From counts, one row per evaluation, to the statistic; NaN where it is undefined."""

Transform = Literal["none", "fisher", "logit"]
"""The scale on which limits are taken: as it is, Fisher's z, or log odds."""

MOST_GROUPS = 200
"""Items above this number are left out in random groups."""

FEWEST_FOR_AN_INTERVAL = 5
"""Items below which a statistic gets no interval: the jackknife's could not be trusted."""

_EDGE = 1e-7
"""Replicates this near to ±1 stand for it: Fisher's z of 1 is infinite."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95% limits; both are None, and `why` says why, where there are none."""

    value: float
    low: float | None = None
    high: float | None = None
    why: str = ""

    @property
    def limits(self) -> tuple[float, float] | None:
        """Both limits, or None."""
        if self.low is None or self.high is None:
            return None
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class ItemGroups:
    """The groups in which the jackknife leaves items out."""

    of_item: Ints
    """The group of each item; −1 for one that takes no part."""
    number: int
    items: int
    """How many items take part."""

    def whole(self, statistic: CountStatistic) -> float:
        """Return the statistic of all items."""
        return float(statistic(np.ones((1, self.number)))[0])

    def replicates(self, statistic: CountStatistic) -> Floats:
        """Return the statistic with one group after another left out."""
        with one_thread():
            return statistic(1 - np.eye(self.number))

    def interval(
        self, value: float, statistic: CountStatistic, transform: Transform
    ) -> Interval | None:
        """Return the interval of a value, or one with the reason why so few items have no limits.

        None where the value itself is undefined.
        """
        return interval_over(self.items, value, lambda: self.replicates(statistic), transform)


def item_groups(items: Ints, rng: np.random.Generator) -> ItemGroups:
    """Return a group for each of these items or, where they are many, random groups of equal size.

    `items` are the codes of what a statistic rests on, in any order and as often as they occur.
    """
    # An item that leaves nothing out when it is left out must not count: it would add a degree of
    # freedom, and so make the interval narrower than the items with a value warrant.
    used = np.unique(items)
    number = min(len(used), MOST_GROUPS)
    groups = np.arange(len(used))
    if len(used) > MOST_GROUPS:
        groups = rng.permutation(groups % MOST_GROUPS)

    of_item = np.full(int(used.max(initial=-1)) + 1, -1)
    of_item[used] = groups
    return ItemGroups(of_item, number, len(used))


UNDEFINED_WITHOUT = "it is undefined without some of the items"
"""Why a value has no interval that one of its items alone can make undefined."""


def interval_over(
    items: int, value: float, replicates: Callable[[], Floats], transform: Transform
) -> Interval | None:
    """Return the 95% interval of a value over so many items, or why there is none.

    None where the value is undefined. `replicates`, the value with each group of items left out,
    are made only where they are needed.
    """
    if math.isnan(value):
        return None

    if items < FEWEST_FOR_AN_INTERVAL:
        are = "item is" if items == 1 else "items are"
        return Interval(value, why=f"{items} {are} too few for an interval")

    if edge := _at_edge(value, transform):
        return Interval(value, why=edge)

    forward, back = _SCALES[transform]
    without = forward(replicates())
    # What is undefined without an item rests on it alone, and the other replicates hardly differ:
    # of them an interval would be narrowest where least is known.
    if np.isnan(without).any():
        return Interval(value, why=UNDEFINED_WITHOUT)

    centre = float(forward(np.array([value]))[0])
    reach = t_quantile(len(without) - 1, 0.95) * jackknife_error(without)
    low, high = back(np.array([centre - reach, centre + reach]))
    return Interval(value, float(low), float(high))


def _at_edge(value: float, transform: Transform) -> str:
    if transform == "fisher" and abs(value) >= 1 - SAME:
        what = "agreement" if value > 0 else "disagreement"
        return f"{what} is perfect on these items, which says nothing about others"
    if transform == "logit" and not SAME < value < 1 - SAME:
        return "all pairs agree, or none, which says nothing about others"
    return ""


def fisher_z(values: Floats) -> Floats:
    """Return Fisher's z of correlations; finite, since ±1 stand for values just inside."""
    return np.asarray(np.arctanh(np.clip(values, _EDGE - 1, 1 - _EDGE)))


def _log_odds(values: Floats) -> Floats:
    inside = np.clip(values, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(inside / (1 - inside)))


def _share(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-values)))


_SCALES: dict[Transform, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "none": (np.asarray, np.asarray),
    "fisher": (fisher_z, np.tanh),
    "logit": (_log_odds, _share),
}


def jackknife_error(replicates: Floats) -> float:
    """Return the standard error from leave-out replicates."""
    number = len(replicates)
    squares = float(((replicates - replicates.mean()) ** 2).sum())
    return math.sqrt(squares * (number - 1) / number)


def t_quantile(freedom: float, confidence: float) -> float:
    """Return Student's t beyond which half of what `confidence` leaves lies, on either side."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + confidence) / 2))


def mean_limits(values: Floats, strata: Ints | None, *, level: float) -> tuple[float, float] | None:
    """Return the t interval of the mean of the known values, or of the mean of strata means.

    None where a stratum has a single value, whose spread nobody can know, or all values are the
    same: a spread of 0 seen on a few items is no sign that there is none.
    """
    known = np.isfinite(values)
    sample = values[known]
    task = np.zeros(len(sample), dtype=np.int64) if strata is None else strata[known]
    parts = [sample[task == one] for one in np.unique(task)]
    if any(len(part) < 2 for part in parts):
        return None

    means = [float(part.mean()) for part in parts]
    variances = [float(part.var(ddof=1)) / len(part) for part in parts]
    freedoms = [len(part) - 1 for part in parts]
    total = sum(variances)
    if total <= SAME**2:
        return None

    # Welch and Satterthwaite: strata with larger variances count for more of the freedom.
    shares = sum(v**2 / freedom for v, freedom in zip(variances, freedoms, strict=True))
    reach = t_quantile(total**2 / shares, level) * math.sqrt(total) / len(means)
    middle = sum(means) / len(means)
    return middle - reach, middle + reach


# --------------------------------------------------------------------------------------------------
# Statistics as functions of counts.
#
# Their factories take edits (`judge`, `people`), the index of each edit's item, and the number of
# items. Values are sorted once, there, and never inside a row (docs/decisions/0030).
# --------------------------------------------------------------------------------------------------

_BLOCK_EDITS = 4_096
"""Edits of several groups that are handled together."""

_AT_ONCE = 1 << 16
"""Edits times rows handled at once: half a megabyte, which a cache holds."""


def mean_of(values: Floats, item: Ints, items: int) -> CountStatistic:
    """Return the mean of counts over the values that are defined."""
    known = ~np.isnan(values)
    ones = np.ones(int(known.sum()))
    sums = item_sums(item[known], ones, values[known], items=items)

    def of(counts: Floats) -> Floats:
        n, total = (counts @ sums).T
        return divide(total, n)

    return of


def pearson_of_counts(judge: Floats, people: Floats, item: Ints, items: int) -> CountStatistic:
    """Return Pearson's r of counts, from sums per item."""
    left, right = judge - judge.mean(), people - people.mean()
    columns = (np.ones_like(left), left, right, left * left, right * right, left * right)
    sums = item_sums(item, *columns, items=items)

    def of(counts: Floats) -> Floats:
        n, a, b, aa, bb, ab = (counts @ sums).T
        return divide(n * ab - a * b, np.sqrt(spread(n, a, aa) * spread(n, b, bb)))

    return of


def spread(n: Floats, total: Floats, squares: Floats) -> Floats:
    """Return n·Σx² − (Σx)², exactly 0 where the values are all the same but for rounding."""
    found = n * squares - total**2
    return np.where(found > 1e-11 * n * squares, found, 0.0)


def spearman_of_counts(judge: Floats, people: Floats, item: Ints, items: int) -> CountStatistic:
    """Return Spearman's ρ of counts."""
    ranks = GroupRanks([people], [[judge]], [item], items)
    return lambda counts: ranks.of(counts)[0, 0]


class GroupRanks:
    """Spearman inside each of many groups (raters, methods), for many rows of counts at once.

    Here a column is a row of counts: each step runs along contiguous memory, and small groups
    share numpy's calls.
    """

    def __init__(
        self,
        people: Sequence[Floats],
        sides: Sequence[Sequence[Floats]],
        item: Sequence[Ints],
        items: int,
    ) -> None:
        """Take for each group its edits: people's values, the sides' scores and the items."""
        self.sides = len(sides)
        self.blocks = []

        for places in _blocks([len(one) for one in item], _BLOCK_EDITS):
            own = [[side[place] for place in places] for side in sides]
            block = _Block(
                [people[place] for place in places], own, [item[place] for place in places], items
            )
            self.blocks.append(block)

    def of(self, counts: Floats) -> Floats:
        """Return Spearman's ρ, of shape (sides, groups, rows), NaN where undefined."""
        if not self.blocks:
            return np.zeros((self.sides, 0, len(counts)))
        return np.concatenate([_in_slices(block, counts) for block in self.blocks], axis=1)


def _in_slices(block: _Block, counts: Floats) -> Floats:
    step = max(8, _AT_ONCE // max(len(block.item), 1))
    slices = [counts[start : start + step] for start in range(0, len(counts), step)]
    return np.concatenate([block.of(np.ascontiguousarray(some.T)) for some in slices], axis=2)


def _blocks(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Return groups in runs that together have no more than so many edits, or one group."""
    found: list[list[int]] = []
    held = most + 1
    for place, size in enumerate(sizes):
        if held + size > most:
            found.append([])
            held = 0

        found[-1].append(place)
        held += size

    return found


class _Block:
    """Some groups. Each has a column of people's values and one per side;
    all are ranked at once."""

    def __init__(
        self,
        people: Sequence[Floats],
        sides: Sequence[Sequence[Floats]],
        item: Sequence[Ints],
        items: int,
    ) -> None:
        groups, sizes = len(item), [len(one) for one in item]
        self.item = np.concatenate(item)
        edits = np.arange(len(self.item))
        self.by_group = sum_table(np.repeat(np.arange(groups), sizes), edits, (groups, len(edits)))

        columns = list(people)
        for side in sides:
            columns += side

        column = np.repeat(np.arange(len(columns)), sizes * (1 + len(sides)))
        values = np.concatenate([snap(one) for one in columns])
        # Sorted once; the levels of all columns lie one after the other.
        levels, code = np.unique(column + 1j * values, return_inverse=True)
        self.code = code.reshape(1 + len(sides), len(edits))
        owner = levels.real.astype(np.int64)
        self.first = np.flatnonzero(np.diff(owner, prepend=-1))
        self.last = np.append(self.first[1:], len(levels)) - 1
        self.table = sum_table(code, np.tile(self.item, len(self.code)), (len(levels), items))
        self.by_column = sum_table(owner, np.arange(len(levels)), (len(columns), len(levels)))

    def of(self, columns: Floats) -> Floats:
        """Return ρ by side, group and row, from counts with one column per row."""
        ranks, n, middle, untied = self._ranks(columns)
        weighted = np.take(ranks, self.code[0], axis=0)
        weighted *= np.take(columns, self.item, axis=0)

        products = []
        for code in self.code[1:]:
            side = np.take(ranks, code, axis=0)
            side *= weighted
            products.append(self.by_group @ side)

        # Ranks are whole numbers, so taking their means off afterwards loses nothing.
        cross = np.stack(products) - n * middle[0] * middle[1:]
        below = 4 * np.sqrt(np.maximum(untied[0] * untied[1:] / 144, 0))
        out = np.full_like(cross, np.nan)
        return np.asarray(np.divide(cross, below, out=out, where=below > TINY))

    def _ranks(self, columns: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return twice each level's midrank, counted on through the columns; and for each column
        how many edits count, twice their mean midrank, and n³ − Σ(tied³)."""
        level = self.table @ columns
        upto = np.cumsum(level, axis=0)
        through = upto[self.last]
        before = upto[self.first] - level[self.first]
        # Products, for numpy's ** 3 is a general power and many times slower.
        cubes = level * level
        cubes *= level
        n = through - before
        untied = n * n * n - self.by_column @ cubes
        upto += upto
        upto -= level
        shape = (len(self.code), -1, columns.shape[1])
        return (
            upto,
            n.reshape(shape)[0],
            (before + through).reshape(shape),
            untied.reshape(shape),
        )


# --------------------------------------------------------------------------------------------------
# Permutation tests of paired data.
# --------------------------------------------------------------------------------------------------

EXACT_UP_TO = 16
"""Items up to which all sign patterns are tried; above, a sample of them."""

REACHED = 10
"""How often a sampled statistic should reach the observed one at the strictest step of Holm."""

_BLOCK = 1 << 20
"""Numbers handled at once, which bounds memory."""


def draws_needed(tests: int, alpha: float, least: int) -> int:
    """Return how many permutations to draw so that Holm's first step can be passed reliably."""
    return max(least, math.ceil(REACHED * tests / alpha))


def fewest_items(tests: int, alpha: float) -> int:
    """Return the fewest items with which any of so many sign-flip tests could be significant.

    The least p-value of n items is 2^(1-n): all differences have one sign.
    """
    return 1 + math.ceil(math.log2(tests / alpha))


def sign_flip_p(
    values: Floats,
    pairs: list[tuple[int, int]],
    strata: Ints | None,
    *,
    draws: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the two-sided p-value of each pair of columns, by flipping signs of differences.

    If two methods were equal, swapping their names on an item would change nothing but the sign of
    its difference. `strata` is the task of each item where the mean is over tasks. NaN is a missing
    score, and a pair is tested on the items both have. Up to EXACT_UP_TO items every pattern is
    tried; above, `draws` random ones and the data themselves. NaN for a pair without an item in
    common.
    """
    known = np.isfinite(values)
    first = np.array([a for a, _ in pairs], dtype=np.int64)
    second = np.array([b for _, b in pairs], dtype=np.int64)
    # Methods with the same items need no column of their own: a difference of sums is enough.
    alike = np.array([np.array_equal(known[:, a], known[:, b]) for a, b in pairs], dtype=bool)
    gaps = values[:, first[~alike]] - values[:, second[~alike]]
    # One grid for both: weights, and so steps, of a gap may differ from those of its methods.
    table, step = _on_grid(np.hstack([_weighed(values, strata), _weighed(gaps, strata)]))
    own = slice(values.shape[1], None)

    totals = table.sum(axis=0)
    observed = np.empty(len(pairs))
    observed[alike] = totals[first[alike]] - totals[second[alike]]
    observed[~alike] = totals[own]
    bar = np.abs(observed) - SAME * step

    exact = len(values) <= EXACT_UP_TO
    reached = np.zeros(len(pairs))
    total = 0
    with one_thread():
        for signs in _sign_blocks(len(values), draws, len(pairs), table.dtype, rng):
            sums = signs @ table
            reached[alike] += _reached(sums, first[alike], second[alike], bar[alike])
            reached[~alike] += (np.abs(sums[:, own]) >= bar[~alike]).sum(axis=0)
            total += len(signs)

    p = reached / total if exact else (reached + 1) / (total + 1)
    return np.where((known[:, first] & known[:, second]).any(axis=0), p, np.nan)


def _weighed(values: Floats, strata: Ints | None) -> Floats:
    """Return values times their weights, 0 for missing ones; without strata all weigh 1."""
    if strata is not None:
        values = values * item_weights(values, strata)
    return np.where(np.isfinite(values), values, 0.0)


def _on_grid(values: Floats) -> tuple[Numbers, float]:
    """Return values as whole multiples of a decimal step, in single precision, if that is exact.

    Whole numbers below 2**24 add up exactly there at half the cost, and below 2**23 so do the
    differences of two sums; other values stay as they are.
    """
    for grid in (1.0, 10.0, 100.0):
        whole = np.rint(values * grid)
        if np.abs(whole - values * grid).max(initial=0.0) < SAME:
            if np.abs(whole).max(initial=0.0) * len(values) < 1 << 23:
                return whole.astype(np.float32), grid
            return values, 1.0

    return values, 1.0


def _sign_blocks(
    items: int, draws: int, pairs: int, kind: np.dtype[np.floating], rng: np.random.Generator
) -> Iterator[Numbers]:
    """Yield blocks of sign patterns: each of half of them all for few items, else random ones.

    A pattern and its opposite give the same two-sided answer, so the first sign may stay.
    """
    rows = max(1, _BLOCK // max(items, pairs, 1))
    exact = items <= EXACT_UP_TO
    total = 1 << max(items - 1, 0) if exact else draws
    for start in range(0, total, rows):
        count = min(rows, total - start)
        bits: NDArray[np.integer]
        if exact:
            bits = (np.arange(start, start + count)[:, None] >> np.arange(items)) & 1
        else:
            bits = coins(count, items, rng)

        signs = bits.astype(kind)
        signs *= 2
        signs -= 1
        yield signs


def coins(rows: int, columns: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return random zeros and ones."""
    # A byte is eight coins; drawing whole integers for them would take most of the time.
    packed = np.frombuffer(rng.bytes(rows * ((columns + 7) // 8)), dtype=np.uint8)
    return np.unpackbits(packed.reshape(rows, -1), axis=1, count=columns)


def _reached(sums: Numbers, first: Ints, second: Ints, bar: Floats) -> Floats:
    columns = np.ascontiguousarray(sums.T)
    found = np.empty(len(first))
    for place in range(len(first)):
        gap = columns[first[place]] - columns[second[place]]
        found[place] = np.count_nonzero(np.abs(gap) >= bar[place])
    return found


def swap_p(
    difference: CountStatistic, items: int, *, draws: int, rng: np.random.Generator
) -> float:
    """Return the two-sided p-value of no difference between two judges, by swapping them per item.

    `difference` takes rows of 1 for items that stay and 0 for those that are swapped.
    """
    observed = float(difference(np.ones((1, items)))[0])
    rows = max(1, _BLOCK // max(items, 1))
    reached = total = 0
    with one_thread():
        for start in range(0, draws, rows):
            keep = rng.integers(0, 2, (min(rows, draws - start), items)).astype(float)
            permuted = difference(keep)
            known = permuted[~np.isnan(permuted)]
            reached += int((np.abs(known) >= abs(observed) - 1e-12).sum())
            total += len(known)

    return (1 + reached) / (1 + total)


def flip_difference(gaps: Floats) -> CountStatistic:
    """Return the mean of item differences for `swap_p`: a swap turns an item's sign."""

    def difference(keep: Floats) -> Floats:
        return np.asarray((2 * keep - 1) @ gaps / len(gaps))

    return difference


# --------------------------------------------------------------------------------------------------
# Many tests at once: corrections, and what may be concluded from them together.
# --------------------------------------------------------------------------------------------------


def holm(p: Floats) -> Floats:
    """Return p-values corrected by Holm's step-down method: never below the raw ones or above 1."""
    if not len(p):
        return p.copy()

    order = np.argsort(p, kind="stable")
    steps = (len(p) - np.arange(len(p))) * p[order]
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def benjamini_yekutieli(p: Floats, rate: float) -> Floats:
    """Return 1 for hypotheses rejected at this false discovery rate, under any dependence."""
    tests = len(p)
    place = np.arange(1, tests + 1)
    order = np.argsort(p)
    adjusted = p[order] * tests * np.sum(1 / place) / place
    # A hypothesis is rejected with any that has a greater p-value.
    adjusted = np.minimum.accumulate(adjusted[::-1])[::-1]
    rejected = np.zeros(tests)
    rejected[order] = adjusted <= rate
    return rejected


def letters(names: list[str], apart: set[tuple[str, str]]) -> dict[str, str]:
    """Return a compact letter display: two names share a letter exactly if they are not apart.

    Begin with one group of all; a pair that is apart splits every group that holds both; a group
    inside another is dropped (Piepho 2004).
    """
    groups = [frozenset(names)]
    for pair in sorted(apart):
        holding = [group for group in groups if set(pair) <= group]
        kept = [group for group in groups if group not in holding]
        for group in holding:
            kept += [group - {pair[0]}, group - {pair[1]}]

        kept = list(dict.fromkeys(kept))
        groups = [group for group in kept if not any(group < other for other in kept)]

    place = {name: number for number, name in enumerate(names)}
    groups.sort(key=lambda group: sorted(place[name] for name in group))
    found = dict.fromkeys(names, "")
    for number, group in enumerate(groups):
        for name in group:
            found[name] += _letter(number)

    return {name: found[name] for name in names}


def _letter(number: int) -> str:
    """Return a … z, then a' … z': two letters would look like two groups."""
    return chr(ord("a") + number % 26) + "'" * (number // 26)


def rank_limits(names: list[str], better: set[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Return the ranks each name may have, given the significant differences.

    `better` holds the (winner, loser) of each. The best rank is 1 + the number of those better, the
    worst the number of names less those worse. From tests with a family-wise error of 5%, all rank
    intervals hold together with 95% confidence.
    """
    ahead = dict.fromkeys(names, 0)
    behind = dict.fromkeys(names, 0)
    for winner, loser in better:
        ahead[loser] += 1
        behind[winner] += 1
    return {name: (1 + ahead[name], len(names) - behind[name]) for name in names}


# --------------------------------------------------------------------------------------------------
# Prediction-powered means (PPI++; Angelopoulos et al., 2023): a few ratings, many judge scores.
#
# The estimate is the mean rating, corrected by how the judge's scores on unrated edits differ from
# those on rated ones. λ between 0 and 1 says how far the judge is believed; it is chosen for the
# least variance, so a useless judge costs nothing. Over strata (tasks) the estimates are averaged
# by the strata's sizes (Fogliato et al., 2024). Intervals have Student's t: λ is fitted on the
# rated edits, so one more degree of freedom is gone than for a mean.
# --------------------------------------------------------------------------------------------------


FEWEST_RATED = 3
"""Rated edits below which a variance is not worth computing."""

FEW_RATED = 10
"""Rated edits below which an estimate carries a caution."""


@dataclass(frozen=True, slots=True)
class Powered:
    """A prediction-powered mean with its standard error, and what people alone would have given."""

    value: float
    error: float
    freedom: float
    trust: float
    """λ: 0 ignores the judge, 1 corrects by it in full."""
    people_only: float
    people_error: float
    people_freedom: float
    rated: int
    unrated: int
    scale: Limits | None = None
    """The ends of people's scale, where they are known: no mean can lie beyond."""

    @property
    def mean(self) -> float:
        """The estimate; the end of the scale where it passes it, for the correction knows none."""
        if self.scale is None:
            return self.value

        low, high = self.scale
        return min(max(self.value, low), high)

    @property
    def limits(self) -> Limits | None:
        """The interval within the scale; None where too few edits were rated for one.

        Its theory is of large samples, and from a handful of ratings the spread is hardly known.
        """
        return self._shown(self.interval())

    @property
    def people_limits(self) -> Limits | None:
        """The same of people's mean alone."""
        return self._shown(self.people_interval())

    def _shown(self, limits: Limits | None) -> Limits | None:
        if limits is None or self.rated < FEWEST_FOR_AN_INTERVAL:
            return None
        if self.scale is None:
            return limits

        low, high = max(limits[0], self.scale[0]), min(limits[1], self.scale[1])
        return (low, high) if low < high else None

    @property
    def few(self) -> bool:
        """Whether so few edits were rated that the interval is to be taken with care."""
        return self.rated < FEW_RATED

    def interval(self) -> Limits | None:
        """Return the 95% t interval; None without a spread, which a few equal ratings do not rule
        out."""
        return _t_limits(self.value, self.error, self.freedom)

    def people_interval(self) -> Limits | None:
        """Return the same of people's mean alone."""
        return _t_limits(self.people_only, self.people_error, self.people_freedom)

    def p_value(self) -> float:
        """Return the two-sided p of a mean of 0: for differences of two methods."""
        from scipy.special import stdtr

        if self.error <= TINY:
            return 1.0
        return float(2 * stdtr(self.freedom, -abs(self.value) / self.error))


def _t_limits(value: float, error: float, freedom: float) -> Limits | None:
    if error <= TINY:
        return None
    reach = t_quantile(freedom, 0.95) * error
    return value - reach, value + reach


def powered_mean(people: Floats, judge: Floats, judge_unrated: Floats) -> Powered | str:
    """Return the mean rating of all edits, rated or not,
    or the reason why it cannot be estimated."""
    n, more = len(people), len(judge_unrated)
    if n < FEWEST_RATED:
        return f"{counted(n, 'rated edit')}, and at least {FEWEST_RATED} are needed"

    mean = float(people.mean())
    plain = math.sqrt(float(people.var(ddof=1)) / n)
    alone = Powered(mean, plain, n - 1, 0.0, mean, plain, n - 1, n, more)
    if more < 2:
        return alone

    # A judge that says nothing, or the opposite, is not believed: λ is 0, and people stand alone.
    spread = float(np.concatenate([judge, judge_unrated]).var(ddof=1))
    shared = float(np.cov(people, judge)[0, 1])
    if spread <= 0 or shared <= 0:
        return alone

    # λ of least variance; the denominator allows for the noise of the unrated edits' mean.
    trust = min(1.0, shared / ((1 + n / more) * spread))
    value = mean + trust * float(judge_unrated.mean() - judge.mean())
    rated_part = float((people - trust * judge).var(ddof=1)) * (n - 1) / (n - 2) / n
    unrated_part = trust**2 * float(judge_unrated.var(ddof=1)) / more
    error = math.sqrt(rated_part + unrated_part)
    return Powered(value, error, n - 2, trust, mean, plain, n - 1, n, more)


def stratified(parts: Sequence[Powered]) -> Powered:
    """Return the mean over strata, each weighing as many edits as it has."""
    sizes = np.array([part.rated + part.unrated for part in parts], dtype=float)
    weights = sizes / sizes.sum()
    error, freedom = _combined(weights, [(part.error, part.freedom) for part in parts])
    alone = [(part.people_error, part.people_freedom) for part in parts]
    people_error, people_freedom = _combined(weights, alone)
    return Powered(
        value=float(weights @ np.array([part.value for part in parts])),
        error=error,
        freedom=freedom,
        trust=float(weights @ np.array([part.trust for part in parts])),
        people_only=float(weights @ np.array([part.people_only for part in parts])),
        people_error=people_error,
        people_freedom=people_freedom,
        rated=sum(part.rated for part in parts),
        unrated=sum(part.unrated for part in parts),
    )


def _combined(weights: Floats, errors: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the standard error of a weighted sum and its degrees of freedom (Satterthwaite)."""
    variances = weights**2 * np.array([error**2 for error, _ in errors])
    freedoms = np.array([freedom for _, freedom in errors])
    total = float(variances.sum())
    if total <= 0:
        return 0.0, float(freedoms.sum())
    return math.sqrt(total), total**2 / float((variances**2 / freedoms).sum())
