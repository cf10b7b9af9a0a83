"""Permutation tests of paired data, and corrections for many tests at once."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lmmscore.stats.arrays import SAME, Floats, Ints, Numbers, item_weights
from lmmscore.stats.jackknife import CountStatistic, one_thread

EXACT_UP_TO = 16
"""Items up to which all sign patterns are tried; above, a sample of them."""

REACHED = 10
"""How often a sampled statistic should reach the observed one at the strictest step of Holm."""

_BLOCK = 1 << 20
"""Numbers handled at once, which bounds memory."""


def draws_needed(tests: int, alpha: float, least: int) -> int:
    """Return how many permutations to draw so that Holm's first step can be passed, and
    reliably."""
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
    """Return the two-sided p of each pair of columns if the sign of every difference were a coin's.

    Were two methods alike, swapping their names on an item would change nothing but the sign of its
    difference. `strata` is the task of each item where the mean is over tasks. NaN is a missing
    score, and a pair is tested on the items both have. Every pattern is tried for up to EXACT_UP_TO
    items; otherwise
    `draws`, and the data themselves count as one. NaN for a pair without an item in common.
    """
    known = np.isfinite(values)
    first = np.array([a for a, _ in pairs], dtype=np.int64)
    second = np.array([b for _, b in pairs], dtype=np.int64)
    alike = np.array([np.array_equal(known[:, a], known[:, b]) for a, b in pairs], dtype=bool)
    table, step = _on_grid(_weighed(values, strata))
    # Pairs that have the same items need no column of their own: a difference of sums is enough.
    gaps = _weighed(values[:, first[~alike]] - values[:, second[~alike]], strata) * step
    gaps = gaps.astype(table.dtype)

    observed = np.empty(len(pairs))
    observed[alike] = table.sum(axis=0)[first[alike]] - table.sum(axis=0)[second[alike]]
    observed[~alike] = gaps.sum(axis=0)
    bar = np.abs(observed) - SAME * step

    exact = len(values) <= EXACT_UP_TO
    reached = np.zeros(len(pairs))
    total = 0
    with one_thread():
        for signs in _sign_blocks(len(values), draws, len(pairs), table.dtype, rng):
            sums = signs @ table
            reached[alike] += _reached(sums, first[alike], second[alike], bar[alike])
            if len(gaps.T):
                reached[~alike] += (np.abs(signs @ gaps) >= bar[~alike]).sum(axis=0)
            total += len(signs)

    p = reached / total if exact else (reached + 1) / (total + 1)
    return np.where((known[:, first] & known[:, second]).any(axis=0), p, np.nan)


def _weighed(values: Floats, strata: Ints | None) -> Floats:
    """Return values by what they weigh, 0 where there is none; all weigh the same without
    strata."""
    if strata is not None:
        values = values * item_weights(values, strata)
    return np.where(np.isfinite(values), values, 0.0)


def _reached(sums: Numbers, first: Ints, second: Ints, bar: Floats) -> Floats:
    columns = np.ascontiguousarray(sums.T)
    found = np.empty(len(first))
    for place in range(len(first)):
        gap = columns[first[place]] - columns[second[place]]
        found[place] = np.count_nonzero(np.abs(gap) >= bar[place])
    return found


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
            # A byte is eight coins; drawing whole integers for them would take most of the time.
            packed = np.frombuffer(rng.bytes(count * ((items + 7) // 8)), dtype=np.uint8)
            bits = np.unpackbits(packed.reshape(count, -1), axis=1, count=items)
        signs = bits.astype(kind)
        signs *= 2
        signs -= 1
        yield signs


def _on_grid(values: Floats) -> tuple[Numbers, float]:
    """Return values as whole multiples of a decimal step, in single precision, if that is exact.

    Whole numbers below 2**24 add up exactly there at half the cost; other values stay as they are.
    """
    for grid in (1.0, 10.0, 100.0):
        whole = np.rint(values * grid)
        if np.abs(whole - values * grid).max(initial=0.0) < SAME:
            if np.abs(whole).max(initial=0.0) * len(values) < 1 << 24:
                return whole.astype(np.float32), grid
            return values, 1.0
    return values, 1.0


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
    """Return 1 for hypotheses rejected at this false discovery rate under any dependence, else
    0."""
    tests = len(p)
    place = np.arange(1, tests + 1)
    order = np.argsort(p)
    adjusted = p[order] * tests * np.sum(1 / place) / place
    # A hypothesis is rejected with any that has a greater p-value.
    adjusted = np.minimum.accumulate(adjusted[::-1])[::-1]
    rejected = np.zeros(tests)
    rejected[order] = adjusted <= rate
    return rejected


def swap_p(
    difference: CountStatistic, items: int, *, draws: int, rng: np.random.Generator
) -> float:
    """Return the two-sided p of no difference between two judges, by swapping them item by item.

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
    """Return a … z, then a' … : a second letter never looks like two groups."""
    return chr(ord("a") + number % 26) + "'" * (number // 26)


def rank_limits(names: list[str], better: set[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Return the ranks each name may have: 1 + those surely better … all less those surely worse.

    `better` holds (winner, loser) of every significant difference. Taken from tests that err
    family-wise in 5%, all ranks hold together with 95% confidence.
    """
    ahead = dict.fromkeys(names, 0)
    behind = dict.fromkeys(names, 0)
    for winner, loser in better:
        ahead[loser] += 1
        behind[winner] += 1
    return {name: (1 + ahead[name], len(names) - behind[name]) for name in names}
