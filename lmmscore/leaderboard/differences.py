"""Pairwise differences between methods: sign-flip tests, Holm's correction, wins and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from lmmscore.leaderboard.board import Limits, rounded
from lmmscore.stats.arrays import SAME, Floats, Ints, item_weights
from lmmscore.stats.jackknife import mean_limits
from lmmscore.stats.permutation import EXACT_UP_TO, holm, letters, rank_limits, sign_flip_p


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher one method scored than another on the items both have."""

    first: str
    second: str
    n: int
    difference: float | None
    interval: Limits | None
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
    tests: int = 0
    """How many tests the correction is for: the pairs of this table, or of several."""

    def significant(self) -> list[Difference]:
        """Return the pairs with a significant difference."""
        return [d for d in self.pairs if d.p_holm is not None and d.p_holm <= self.alpha]

    def groups(self) -> dict[str, str]:
        """Return each method's letters: between those that share one nothing is significant."""
        apart = {(d.first, d.second) for d in self.significant()}
        limits = self.rank_intervals()
        # Letters follow the comparisons, not the means: with missing scores the two may differ.
        names = sorted(self.methods, key=lambda method: limits[method])
        return letters(names, apart)

    def rank_intervals(self) -> dict[str, tuple[int, int]]:
        """Return the ranks that the significant differences leave open for each method."""
        better = set()
        for d in self.significant():
            ahead = d.difference is not None and d.difference > 0
            better.add((d.first, d.second) if ahead else (d.second, d.first))
        return rank_limits(list(self.methods), better)

    def contradictions(self) -> list[Difference]:
        """Return the pairs whose order by mean is the opposite of their paired difference.

        The methods stand by mean, best first, so the first of a pair has the higher mean. Only
        missing scores can make its paired difference negative.
        """
        return [d for d in self.pairs if d.difference is not None and d.difference < -SAME]

    def win_matrix(self) -> list[list[int | None]]:
        """Return on how many items the method of a row won against that of a column."""
        at = {method: i for i, method in enumerate(self.methods)}
        matrix: list[list[int | None]] = [[None] * len(self.methods) for _ in self.methods]
        for d in self.pairs:
            matrix[at[d.first]][at[d.second]] = d.wins
            matrix[at[d.second]][at[d.first]] = d.losses
        return matrix

    def as_list(self, decimals: int | None = None) -> list[dict[str, Any]]:
        """Return the pairs for JSON."""
        found = []
        for d in self.pairs:
            limits = None
            if d.interval:
                limits = [rounded(end, decimals) for end in d.interval]
            line = {
                "first": d.first,
                "second": d.second,
                "difference": rounded(d.difference, decimals),
                "interval": limits,
                "p": rounded(d.p, None),
                "p_holm": rounded(d.p_holm, None),
                "n": d.n,
                "wins": d.wins,
                "ties": d.ties,
                "losses": d.losses,
            }
            found.append(line)
        return found


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

    `strata` is the task of each item where the mean is over tasks, else None. `draws` is how many
    sign patterns are drawn where not all of them can be tried. Not yet corrected: see `corrected`.
    """
    pairs = list(combinations(range(len(methods)), 2))
    p_values = sign_flip_p(values, pairs, strata, draws=draws, rng=rng)
    found = []
    for (a, b), p in zip(pairs, p_values, strict=True):
        gaps = values[:, a] - values[:, b]
        found.append(_difference(methods[a], methods[b], gaps, strata, level, float(p)))
    return Differences(
        methods=tuple(methods),
        pairs=tuple(found),
        exact=len(values) <= EXACT_UP_TO,
        alpha=round(1 - level, 12),
    )


def _difference(
    first: str, second: str, gaps: Floats, strata: Ints | None, level: float, p: float
) -> Difference:
    known = gaps[np.isfinite(gaps)]
    shared = len(known) > 0
    mean = float(np.nansum(gaps * item_weights(gaps[:, None], strata)[:, 0]))
    return Difference(
        first=first,
        second=second,
        n=len(known),
        difference=mean if shared else None,
        interval=mean_limits(gaps, strata, level=level),
        p=p if shared else None,
        p_holm=None,
        wins=int((known > SAME).sum()),
        ties=int((np.abs(known) <= SAME).sum()),
        losses=int((known < -SAME).sum()),
    )


def corrected(tables: Sequence[Differences]) -> list[Differences]:
    """Return the tables with p-values corrected by Holm over the pairs of all of them together."""
    raw = [d.p for table in tables for d in table.pairs if d.p is not None]
    adjusted = iter(holm(np.array(raw, dtype=np.float64)))
    found = []
    for table in tables:
        pairs = []
        for d in table.pairs:
            p_holm = None if d.p is None else float(next(adjusted))
            pairs.append(replace(d, p_holm=p_holm))
        found.append(replace(table, pairs=tuple(pairs), tests=len(raw)))
    return found
