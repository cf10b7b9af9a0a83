"""Differences between two methods, tested on the items both have, and the power to show one."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError, alternatives, counted
from lmmscore.leaderboard.cube import Cube, tabulate
from lmmscore.records import OVERALL, SAME, percent
from lmmscore.stats import (
    EXACT_UP_TO,
    Floats,
    Ints,
    Limits,
    as_json,
    fewest_items,
    holm,
    item_weights,
    letters,
    mean_limits,
    rank_limits,
    rounded,
    sign_flip_p,
)
from lmmscore.stats.correlation import within_between


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher one method scored than another on the items both have."""

    first: str
    second: str
    difference: float | None
    interval: Limits | None
    p: float | None
    """Two-sided, of the permutation test; None without an item in common."""
    p_holm: float | None
    """The same, corrected for all the pairs of the table."""
    n: int
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
    flips: bool = True
    """Whether signs were flipped: then few items cannot be significant, however large the lead."""
    lower_better: bool = False
    """Whether the lower score wins. Differences stay first less second, as scores were given."""

    def significant(self) -> list[Difference]:
        """Return the pairs with a significant difference."""
        return [d for d in self.pairs if d.p_holm is not None and d.p_holm <= self.alpha]

    @property
    def items(self) -> int:
        """The most items that any two methods have in common."""
        return max((d.n for d in self.pairs), default=0)

    @property
    def fewest_items(self) -> int:
        """Items with which any of the tests could be significant at all."""
        if not self.flips:
            return 0
        return fewest_items(max(self.tests, len(self.pairs), 1), self.alpha)

    def lead(self, pair: Difference) -> float:
        """Return by how much the first of a pair is better than the second; 0 where unknown."""
        gap = pair.difference or 0.0
        return -gap if self.lower_better else gap

    def won(self) -> set[tuple[str, str]]:
        """Return the winner and the loser of every significant difference."""
        found = set()
        for d in self.significant():
            ahead = self.lead(d) > 0
            found.add((d.first, d.second) if ahead else (d.second, d.first))
        return found

    def better_than(self, leaders: Sequence[str]) -> list[str]:
        """Return the methods that are significantly ahead of each of these."""
        won = self.won()
        return [name for name in self.methods if all((name, one) in won for one in leaders)]

    def groups(self) -> dict[str, str]:
        """Return each method's letters: between those that share one nothing is significant."""
        apart = {(d.first, d.second) for d in self.significant()}
        limits = self.rank_intervals()
        # Letters follow the comparisons, not the means: with missing scores the two may differ.
        names = sorted(self.methods, key=lambda method: limits[method])
        return letters(names, apart)

    def rank_intervals(self) -> dict[str, tuple[int, int]]:
        """Return the ranks that the significant differences leave open for each method."""
        return rank_limits(list(self.methods), self.won())

    def contradictions(self) -> list[Difference]:
        """Return the pairs whose order by mean is the opposite of their paired difference.

        The methods stand by mean, best first, so the first of a pair has the better mean. Only
        missing scores can put it behind in the paired difference.
        """
        return [d for d in self.pairs if self.lead(d) < -SAME]

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
            # p-values keep their digits: two decimals would make many of them 0.
            exact = {"p": rounded(d.p, None), "p_holm": rounded(d.p_holm, None)}
            found.append(as_json(d, decimals) | exact)

        return found


def differences(
    values: Floats,
    methods: Sequence[str],
    *,
    strata: Ints | None,
    level: float,
    draws: int,
    rng: np.random.Generator,
    lower_better: bool = False,
) -> Differences:
    """Compare every two methods of an item × method array on the items both have.

    `lower_better`: who has the lower score wins an item. `strata` is the task of each item where
    the mean is over tasks, else None. `draws` is how many sign patterns are drawn where not all of
    them can be tried. Not yet corrected: see `corrected`.
    """
    pairs = list(combinations(range(len(methods)), 2))
    p_values = sign_flip_p(values, pairs, strata, draws=draws, rng=rng)
    found = []
    for (a, b), p in zip(pairs, p_values, strict=True):
        gaps = values[:, a] - values[:, b]
        pair = _difference(methods[a], methods[b], gaps, strata, level, float(p))
        if lower_better:
            pair = replace(pair, wins=pair.losses, losses=pair.wins)

        found.append(pair)

    return Differences(
        methods=tuple(methods),
        pairs=tuple(found),
        exact=len(values) <= EXACT_UP_TO,
        alpha=round(1 - level, 12),
        lower_better=lower_better,
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


# --------------------------------------------------------------------------------------------------
# Power: how many items it would take for a significant difference between two methods.
#
# The test is the one above: paired sign flips over items, corrected by Holm over all pairs of the
# table. At its strictest step it tests at α / pairs, which is what is asked for here; its power for
# many items is that of the paired t-test, and no number of items below that at which 2^(1-n)
# reaches the level is ever named.
# --------------------------------------------------------------------------------------------------


MOST_ITEMS = 1_000_000

MOST_REPEATS = 10
"""More repeats than this are never proposed: more items are cheaper."""

CONFIDENCE = 0.8
"""Of the range of items: a pilot only bounds the size of a difference."""


@dataclass(frozen=True, slots=True)
class Power:
    """What it would take, by what a pilot tells about the difference."""

    first: str
    second: str
    task: str | None
    factor: str
    items: int
    repeats: float
    """Repeats an item has on average, of both methods."""
    difference: float
    pairs: int
    """Pairs of methods the test is corrected for."""
    item_std: float | None = None
    """Of the true difference over items, the repeats' share taken out; None if that is unknown."""
    repeat_std: float | None = None
    power_now: float | None = None
    """If the difference seen were the true one; None, like all below, for a single item."""
    detectable: float | None = None
    """The least difference that the items there are would show with the wanted power."""
    fewest: int = 0
    """Items below which no difference, however large, could be significant."""
    items_needed: int | None = None
    """Items in all if the difference seen were the true one; None when no number would do."""
    items_range: tuple[int, int | None] | None = None
    """The same for the largest and smallest effect that the pilot allows; None: beyond any."""
    repeats_needed: int | None = None
    """Repeats in all, with the items there are; None when no reasonable number would do."""
    statements: tuple[str, ...] = ()
    lower_better: bool = False
    """Whether the method with the lower scores is the better one."""

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return as_json(self, None)


def power_of(
    scores: pd.DataFrame,
    first: str,
    second: str,
    *,
    task: str | None,
    factor: str,
    power: float,
    alpha: float,
    lower_better: Collection[str] = (),
) -> Power:
    """Return how many items would show a difference of two methods with the wanted power."""
    gaps, item, methods = _gaps(scores, first, second, task, factor)
    repeats = np.bincount(item)
    means = np.bincount(item, weights=gaps) / repeats
    n, effect = len(means), float(means.mean())
    pairs = methods * (methods - 1) // 2
    test = FlipTest(alpha / pairs, fewest_items(pairs, alpha), power)
    found = Power(
        first=first,
        second=second,
        task=task,
        factor=factor,
        items=n,
        repeats=len(gaps) / n,
        difference=effect,
        pairs=pairs,
        fewest=test.fewest,
        lower_better=factor in lower_better,
    )
    if n > 1:
        total = float(means.var(ddof=1))
        found = replace(
            found,
            power_now=test.power_of(effect, total, n),
            detectable=test.detectable(total, n),
            items_needed=test.items(effect, total),
            items_range=test.item_range(effect, total, n),
        )
        if parts := within_between(gaps, item):
            within = parts[0]
            over_items = max(0.0, total - within * float(np.mean(1 / repeats)))
            found = replace(
                found,
                item_std=math.sqrt(over_items),
                repeat_std=math.sqrt(within),
                repeats_needed=test.repeats(effect, over_items, within, n),
            )

    return replace(found, statements=_statements(found, power, alpha))


def _gaps(
    scores: pd.DataFrame, first: str, second: str, task: str | None, factor: str
) -> tuple[Floats, Ints, int]:
    """Return the differences of both methods in the same session, the item of each, and how many
    methods the leaderboard compares."""
    cube = tabulate(scores)
    _refuse_no_overall(cube, factor)
    cube.factor(factor)
    known = (
        ("method", first, cube.methods),
        ("method", second, cube.methods),
        ("task", task, cube.tasks),
    )
    for what, name, names in known:
        if name is not None and name not in names:
            there_are = alternatives(name, names)
            raise LmmscoreError(f"no {what} {name!r} in these scores{there_are}")

    if first == second:
        raise LmmscoreError(f"{first} cannot be compared with itself; name two methods")

    chosen = scores[(scores["factor"] == factor) & scores["score"].notna()]
    chosen = chosen if task is None else chosen[chosen["task"] == task]
    wide = chosen[chosen["method"].isin([first, second])].pivot(
        index=["task", "item", "repeat"], columns="method", values="score"
    )
    if not {first, second} <= set(wide.columns) or wide[[first, second]].dropna().empty:
        raise LmmscoreError(f"{first} and {second} have no scored item in common")

    both = wide[[first, second]].dropna()
    item = np.asarray(both.groupby(level=["task", "item"], sort=False).ngroup(), dtype=np.int64)
    gaps = (both[first] - both[second]).to_numpy(dtype=np.float64)
    return gaps, item, chosen["method"].nunique()


def _refuse_no_overall(cube: Cube, factor: str) -> None:
    """Say which factor to name where a dialog has no overall: one of them must be meant."""
    scored = [name for k, name in enumerate(cube.factors) if cube.scored[:, :, k].any()]
    if factor == OVERALL and scored and OVERALL not in scored:
        named = ", ".join(scored)
        raise LmmscoreError(f"no edit has an overall score; name a factor with --factor: {named}")


def t_power(effect: float, variance: float, n: int, alpha: float) -> float:
    """Return the power of the two-sided paired t-test over n items with this variance."""
    from scipy.special import nctdtr, stdtrit

    if n < 2:
        return 0.0
    if variance < 1e-18:
        return 1.0 if abs(effect) > 1e-9 else alpha

    away = abs(effect) * math.sqrt(n / variance)
    bar = float(stdtrit(n - 1, 1 - alpha / 2))
    above = 1 - float(nctdtr(n - 1, away, bar))
    below = float(nctdtr(n - 1, away, -bar))
    # Far from the centre scipy's noncentral t may give up: there the near tail is all.
    if math.isnan(above):
        above = float(away > bar)

    return above + (0.0 if math.isnan(below) else below)


def _least(good: Callable[[int], bool], low: int, most: int) -> int | None:
    """Return the least good number from `low` on, larger ones being good too; None beyond."""
    high = low
    while not good(high):
        if high >= most:
            return None
        low, high = high + 1, min(high * 2, most)

    while low < high:
        middle = (low + high) // 2
        if good(middle):
            high = middle
        else:
            low = middle + 1

    return high


def effect_limits(effect: float, n: int) -> tuple[float, float]:
    """Return the limits of a standardised paired difference seen on n items."""
    from scipy.special import nctdtrinc

    seen = effect * math.sqrt(n)
    tail = (1 - CONFIDENCE) / 2
    high = float(nctdtrinc(n - 1, tail, abs(seen))) / math.sqrt(n)
    low = float(nctdtrinc(n - 1, 1 - tail, abs(seen))) / math.sqrt(n)
    if math.isnan(low) or math.isnan(high):
        # Beyond the reach of the inverse the normal approximation is as good.
        half = 1.2816 * math.sqrt(1 / n + effect**2 / (2 * n))
        low, high = abs(effect) - half, abs(effect) + half

    return (low, high) if effect >= 0 else (-high, -low)


@dataclass(frozen=True, slots=True)
class FlipTest:
    """The sign-flip test of a pair at the strictest step of the correction, and the power wanted.

    Flipping signs has the power of the paired t-test, as nearly as planning needs.
    """

    alpha: float
    fewest: int
    """Items below which nothing can be significant."""
    power: float

    def power_of(self, effect: float, variance: float, n: int) -> float:
        """Return the power over n items; 0 with fewer than could be significant."""
        return t_power(effect, variance, n, self.alpha) if n >= self.fewest else 0.0

    def items(self, effect: float, variance: float) -> int | None:
        """Return the fewest items with the wanted power; None where no number would do."""
        if abs(effect) < 1e-9:
            return None

        def enough(n: int) -> bool:
            return self.power_of(effect, variance, n) >= self.power

        return _least(enough, self.fewest, MOST_ITEMS)

    def item_range(self, effect: float, variance: float, n: int) -> tuple[int, int | None] | None:
        """Return the items needed for the largest and for the smallest effect the pilot allows.

        An effect is a difference in standard deviations; its limits come from the noncentral t.
        """
        if variance < 1e-18:
            return None

        low, high = effect_limits(effect / math.sqrt(variance), n)
        fewer = self.items(max(abs(low), abs(high)), 1.0) or MOST_ITEMS
        if low <= 0 <= high:
            return fewer, None
        return fewer, self.items(min(abs(low), abs(high)), 1.0)

    def detectable(self, variance: float, n: int) -> float | None:
        """Return the least difference n items show with the wanted power; None for too few, and
        without a spread: that of other items is then unknown."""
        if n < self.fewest or variance < 1e-18:
            return None

        low, high = 0.0, 1.0
        while t_power(high, 1.0, n, self.alpha) < self.power:
            high *= 2

        for _ in range(60):
            middle = (low + high) / 2
            if t_power(middle, 1.0, n, self.alpha) < self.power:
                low = middle
            else:
                high = middle

        return high * math.sqrt(variance)

    def repeats(self, effect: float, over_items: float, within: float, n: int) -> int | None:
        """Return the fewest repeats of n items with the wanted power; None beyond MOST_REPEATS."""
        if abs(effect) < 1e-9:
            return None

        def enough(repeats: int) -> bool:
            return self.power_of(effect, over_items + within / repeats, n) >= self.power

        return _least(enough, 1, MOST_REPEATS)


def _statements(found: Power, power: float, alpha: float) -> tuple[str, ...]:
    if abs(found.difference) < 1e-9:
        same = f"{found.first} and {found.second} have the same mean"
        return (f"{same}: no number of items is known to show a difference.",)

    better, worse = found.first, found.second
    if (found.difference < 0) != found.lower_better:
        better, worse = worse, better

    which = f"{found.factor} (lower is better)" if found.lower_better else found.factor
    said = [
        f"{better} leads {worse} by {abs(found.difference):.3g} in {which}, "
        f"over {counted(found.items, 'item')} in common."
    ]
    if found.items < 2:
        return (*said, "One item says nothing about the spread over items: judge more items first.")

    over = f"at {percent(alpha)}, Holm-corrected over {counted(found.pairs, 'pair')}"
    said.append(_items_line(found, f"a power of {percent(power)} {over}"))
    if found.items_range is not None or found.items < found.fewest:
        said.append(_detectable_line(found, power))
    said.append(_repeats_line(found))
    return tuple(said)


def _items_line(found: Power, wanted: str) -> str:
    if found.items_range is None:
        needed = f"{found.items_needed:,}" if found.items_needed else f"more than {MOST_ITEMS:,}"
        return f"The same difference on every item: {needed} items in all for {wanted}."

    low, high = found.items_range
    if high is None:
        reach = f"{low:,} items or more, with no upper limit, for {wanted}"
        return f"{reach}: this pilot of {found.items} items does not even show which is better."

    if low == high == found.fewest:
        return f"{low:,} items in all for {wanted}: as few as can be significant at all."

    spread = f"{low:,} to {high:,} items"
    exact = f"{found.items_needed:,}" if found.items_needed else f"more than {MOST_ITEMS:,}"
    return (
        f"{spread} in all for {wanted}: the range is what a pilot of {found.items} items allows "
        f"({percent(CONFIDENCE)}); {exact} if the difference seen were exactly the true one."
    )


def _detectable_line(found: Power, power: float) -> str:
    if found.detectable is None:
        return (
            f"With {found.items} items no difference, however large, could be significant; "
            f"{found.fewest} items are the least."
        )

    return (
        f"The {found.items} items there are would show a difference of {found.detectable:.3g} "
        f"or more with a power of {percent(power)}."
    )


def _repeats_line(found: Power) -> str:
    if found.repeat_std is None:
        return "No item was judged twice: what repeats would do cannot be known."
    if found.repeats_needed is None:
        return f"Up to {MOST_REPEATS} repeats of these items would not do: judge more items."
    if found.repeats_needed <= found.repeats:
        return "More repeats are not needed."

    return (
        f"Or {found.repeats_needed} repeats of each of these {found.items} items, in place of "
        f"{found.repeats:.3g}, if the difference seen were exactly the true one."
    )
