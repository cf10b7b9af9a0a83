"""Pairwise differences between methods: paired permutation tests, Holm's correction, wins and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from lmmscore.leaderboard.resampling import TIE, Floats, Ints, interval_of, one_thread, resample
from lmmscore.leaderboard.tables import Interval, rounded

EXACT_UP_TO = 16
"""Items up to which all 2**n sign patterns are tried; above, a sample of them."""

_BLOCK = 1 << 19
_PAIRS = 256
"""Pairs compared at a time: a hundred methods have thousands, and each holds all its resampled differences."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher one method scored than another on the items both have."""

    first: str
    second: str
    n: int
    difference: float | None
    interval: Interval | None
    p: float | None
    """Two-sided, of the permutation test; None without an item in common."""
    p_holm: float | None
    """The same, corrected for all the pairs of the table."""
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class Differences:
    """Every pair of a table's methods, in the order of the table."""

    methods: tuple[str, ...]
    pairs: tuple[Difference, ...]
    exact: bool
    """Whether every sign pattern was tried."""
    alpha: float = 0.05

    def groups(self) -> dict[str, str]:
        """Return each method's letters: methods that share one were not told apart."""
        apart = {
            (d.first, d.second)
            for d in self.pairs
            if d.p_holm is not None and d.p_holm <= self.alpha
        }
        return letters(self.methods, apart)

    def win_matrix(self) -> list[list[int | None]]:
        """Return how many items the method of a row won against that of a column; None on the diagonal."""
        at = {method: i for i, method in enumerate(self.methods)}
        matrix: list[list[int | None]] = [[None] * len(self.methods) for _ in self.methods]
        for d in self.pairs:
            matrix[at[d.first]][at[d.second]] = d.wins
            matrix[at[d.second]][at[d.first]] = d.losses
        return matrix

    def as_list(self, decimals: int | None = None) -> list[dict[str, Any]]:
        """Return the pairs for JSON."""
        return [
            {
                "first": d.first,
                "second": d.second,
                "difference": rounded(d.difference, decimals),
                "interval": [rounded(end, decimals) for end in d.interval] if d.interval else None,
                "p": rounded(d.p, None),
                "p_holm": rounded(d.p_holm, None),
                "n": d.n,
                "wins": d.wins,
                "ties": d.ties,
                "losses": d.losses,
            }
            for d in self.pairs
        ]


def differences(
    values: Floats,
    methods: Sequence[str],
    *,
    strata: Ints | None,
    level: float,
    draws: int,
    rng: np.random.Generator,
) -> Differences:
    """Compare every two methods of an item × method array on the items both have.

    `strata` is the task of each item when the mean is over tasks, else None. With `draws` 0 there are no
    intervals.
    """
    pairs = list(combinations(range(len(methods)), 2))
    found: list[Difference] = []
    for start in range(0, len(pairs), _PAIRS):
        some = pairs[start : start + _PAIRS]
        gaps = values[:, [a for a, _ in some]] - values[:, [b for _, b in some]]
        names = [(methods[a], methods[b]) for a, b in some]
        found += _compared(gaps, names, strata, level, draws, rng)
    tested = [d for d in found if d.p is not None]
    corrected = iter(holm(np.array([d.p for d in tested], dtype=np.float64)))
    found = [d if d.p is None else replace(d, p_holm=float(next(corrected))) for d in found]
    exact = len(values) <= EXACT_UP_TO
    return Differences(
        methods=tuple(methods), pairs=tuple(found), exact=exact, alpha=round(1 - level, 12)
    )


def _compared(
    gaps: Floats,
    names: Sequence[tuple[str, str]],
    strata: Ints | None,
    level: float,
    draws: int,
    rng: np.random.Generator,
) -> list[Difference]:
    """Return the pairs whose differences are the columns of `gaps`, not yet corrected for their number."""
    shares = gaps * item_weights(gaps, strata)
    p = permutation_p(shares, draws=draws or 10_000, rng=rng)
    resampled = resample(gaps, strata, draws=draws, rng=rng) if draws else None
    n = np.isfinite(gaps).sum(axis=0)
    return [
        Difference(
            first=first,
            second=second,
            n=int(n[k]),
            difference=float(np.nansum(shares[:, k])) if n[k] else None,
            interval=None
            if resampled is None
            else interval_of(gaps[:, k], strata, resampled[:, k], level=level),
            p=float(p[k]) if n[k] else None,
            p_holm=None,
            wins=int((gaps[:, k] > TIE).sum()),
            ties=int((np.abs(gaps[:, k]) <= TIE).sum()),
            losses=int((gaps[:, k] < -TIE).sum()),
        )
        for k, (first, second) in enumerate(names)
    ]


def item_weights(values: Floats, strata: Ints | None) -> Floats:
    """Return what each known value weighs in its column's mean: the same each, or the same for each task."""
    known = np.isfinite(values)
    if strata is None:
        equal: Floats = known / np.maximum(known.sum(axis=0), 1)
        return equal
    weights = np.zeros(values.shape)
    tasks = np.unique(strata)
    for task in tasks:
        part = known[strata == task]
        weights[strata == task] = part / np.maximum(part.sum(axis=0), 1)
    present = sum(
        (known[strata == task].any(axis=0).astype(float) for task in tasks),
        np.zeros(values.shape[1]),
    )
    return weights / np.maximum(present, 1)


def permutation_p(shares: Floats, *, draws: int, rng: np.random.Generator) -> Floats:
    """Return the two-sided p of each column's sum if the sign of every entry were a coin's.

    Were two methods alike, swapping their names on an item would change nothing but the sign of its
    difference. All patterns are tried for up to EXACT_UP_TO items; otherwise `draws`, and the data themselves
    count as one.
    """
    data = np.nan_to_num(shares)
    bar = np.abs(data.sum(axis=0)) - TIE
    exact = len(data) <= EXACT_UP_TO
    total = 1 << len(data) if exact else draws
    reached = np.zeros(data.shape[1])
    size = max(1, _BLOCK // max(len(data), 1))
    with one_thread():
        for start in range(0, total, size):
            count = min(size, total - start)
            signs = _patterns(start, count, len(data)) if exact else _coins(count, len(data), rng)
            reached += (np.abs(signs @ data) >= bar).sum(axis=0)
    result: Floats = reached / total if exact else (reached + 1) / (total + 1)
    return result


def _patterns(start: int, count: int, n: int) -> Floats:
    bits = (np.arange(start, start + count)[:, None] >> np.arange(n)) & 1
    return np.asarray(bits * 2.0 - 1.0, dtype=np.float64)


def _coins(count: int, n: int, rng: np.random.Generator) -> Floats:
    # A byte is eight coins; drawing whole integers for them would take most of the time.
    packed = np.frombuffer(rng.bytes(count * ((n + 7) // 8)), dtype=np.uint8).reshape(count, -1)
    return np.asarray(np.unpackbits(packed, axis=1, count=n) * 2.0 - 1.0, dtype=np.float64)


def holm(p: Floats) -> Floats:
    """Return p-values corrected by Holm's step-down method: never below the raw ones, never above 1."""
    order = np.argsort(p, kind="stable")
    steps = (len(p) - np.arange(len(p))) * p[order]
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(p) else steps
    return corrected


def letters(methods: Sequence[str], apart: set[tuple[str, str]]) -> dict[str, str]:
    """Return a compact letter display: two methods share a letter exactly when they are not in `apart`.

    Begin with one group of all; a pair that is apart splits every group that holds both; a group inside
    another is dropped (Piepho 2004).
    """
    groups: list[frozenset[str]] = [frozenset(methods)]
    for first, second in sorted(apart):
        split = [g - {drop} for g in groups if {first, second} <= g for drop in (first, second)]
        if not split:
            continue
        kept = list(dict.fromkeys([g for g in groups if not {first, second} <= g] + split))
        groups = [g for g in kept if not any(g < other for other in kept)]
    place = {method: i for i, method in enumerate(methods)}
    groups.sort(key=lambda group: sorted(place[m] for m in group))
    names = [_letter(i) for i in range(len(groups))]
    return {
        m: "".join(name for name, group in zip(names, groups, strict=True) if m in group)
        for m in methods
    }


def _letter(index: int) -> str:
    """Return a … z, then aa' style names: a second letter never looks like two groups."""
    return chr(ord("a") + index % 26) + "'" * (index // 26)
