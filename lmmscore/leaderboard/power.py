"""How many more items or repeats it would take to tell two methods apart."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError, nearest
from lmmscore.leaderboard.cube import Cube, tabulate
from lmmscore.leaderboard.repeats import components
from lmmscore.leaderboard.tables import rounded
from lmmscore.records import OVERALL

_MOST_ITEMS = 1_000_000
_MOST_REPEATS = 10_000


@dataclass(frozen=True, slots=True)
class Power:
    """What it would take, if the difference seen were the true one."""

    first: str
    second: str
    task: str | None
    factor: str
    items: int
    repeats: float
    """Repeats an item has on average, of both methods."""
    difference: float
    item_std: float | None
    """Of the true difference over items, the repeats' share taken out; None when it cannot be told apart."""
    repeat_std: float | None
    power_now: float | None
    items_needed: int | None
    """Items in all, with the repeats there are; None when no number would do, or it cannot be known."""
    repeats_needed: int | None
    """Repeats in all, with the items there are; None when no number would do, or it cannot be known."""
    statements: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        found = {
            k: rounded(v, None) if isinstance(v, float) else v for k, v in asdict(self).items()
        }
        return {**found, "statements": list(self.statements)}


def power_of(
    scores: pd.DataFrame,
    first: str,
    second: str,
    *,
    task: str | None,
    factor: str,
    power: float,
    alpha: float,
) -> Power:
    """Return how many items, or repeats, would tell two methods apart with the wanted power.

    The paired difference of an item has a variance over items and, with repeats, one over repeats. The mean
    difference is tested with a two-sided paired t-test; its power is exact for normal differences.
    """
    gaps, item = _gaps(scores, first, second, task, factor)
    means = np.bincount(item, weights=gaps) / np.bincount(item)
    n, effect = len(means), float(means.mean())
    total = float(means.var(ddof=1)) if n > 1 else None
    parts = components(gaps, item)
    within = parts[0] if parts and n > 1 else None
    over_items = (
        max(0.0, total - within * n / len(gaps))
        if total is not None and within is not None
        else None
    )
    found = Power(
        first=first,
        second=second,
        task=task,
        factor=factor,
        items=n,
        repeats=len(gaps) / n,
        difference=effect,
        item_std=_root(over_items),
        repeat_std=_root(within),
        power_now=None if total is None else t_power(effect, total, n, alpha),
        items_needed=None if total is None else _items_needed(effect, total, power, alpha),
        repeats_needed=_repeats_needed(effect, over_items, within, n, power, alpha),
    )
    return replace(found, statements=_statements(found, power, alpha))


def _root(variance: float | None) -> float | None:
    return None if variance is None else math.sqrt(variance)


def _gaps(
    scores: pd.DataFrame, first: str, second: str, task: str | None, factor: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the differences of both methods' scores in the same session, and the item of each."""
    cube = tabulate(scores)
    _refuse_no_overall(cube, factor)
    cube.factor(factor)
    for what, name, known in (
        ("method", first, cube.methods),
        ("method", second, cube.methods),
        ("task", task, cube.tasks),
    ):
        if name is not None and name not in known:
            hint = f"{nearest(name, known)}; known: {', '.join(known)}"
            raise LmmscoreError(f"no {what} {name!r} in these scores{hint}")
    if first == second:
        raise LmmscoreError(f"{first} cannot be told apart from itself; name two methods")
    chosen = scores[(scores["factor"] == factor) & scores["score"].notna()]
    chosen = chosen if task is None else chosen[chosen["task"] == task]
    wide = chosen[chosen["method"].isin([first, second])].pivot(
        index=["task", "item", "repeat"], columns="method", values="score"
    )
    if not {first, second} <= set(wide.columns) or wide[[first, second]].dropna().empty:
        raise LmmscoreError(f"{first} and {second} have no scored item in common")
    both = wide[[first, second]].dropna()
    item = both.groupby(level=["task", "item"], sort=False).ngroup().to_numpy()
    return (both[first] - both[second]).to_numpy(dtype=np.float64), item


def _refuse_no_overall(cube: Cube, factor: str) -> None:
    """Say which factor to name where a dialog has no overall: one of them must be meant."""
    scored = [name for k, name in enumerate(cube.factors) if cube.scored[:, :, k].any()]
    if factor == OVERALL and scored and OVERALL not in scored:
        raise LmmscoreError(
            f"no edit has an overall score; name a factor with --factor: {', '.join(scored)}"
        )


def t_power(effect: float, variance: float, n: int, alpha: float) -> float:
    """Return the power of the two-sided paired t-test over n items whose differences have this variance."""
    from scipy.stats import nct, t

    if n < 2:
        return 0.0
    if variance < 1e-18:
        return 1.0 if abs(effect) > 1e-9 else alpha
    away = abs(effect) * math.sqrt(n / variance)
    bar = float(t.ppf(1 - alpha / 2, n - 1))
    above, below = float(nct.sf(bar, n - 1, away)), float(nct.cdf(-bar, n - 1, away))
    # Far from the centre scipy's noncentral t may give up: there the near tail is all and the far one nothing.
    return (float(away > bar) if math.isnan(above) else above) + (
        0.0 if math.isnan(below) else below
    )


def _least(good: Any, low: int, most: int) -> int | None:
    """Return the least good number from `low` on, larger ones being good too; None beyond `most`."""
    high = low
    while not good(high):
        if high >= most:
            return None
        low, high = high + 1, min(high * 2, most)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle + 1, high)
    return high


def _items_needed(effect: float, variance: float, power: float, alpha: float) -> int | None:
    if abs(effect) < 1e-9:
        return None
    return _least(lambda n: t_power(effect, variance, n, alpha) >= power, 2, _MOST_ITEMS)


def _repeats_needed(
    effect: float,
    over_items: float | None,
    within: float | None,
    n: int,
    power: float,
    alpha: float,
) -> int | None:
    if abs(effect) < 1e-9 or over_items is None or within is None:
        return None
    return _least(
        lambda k: t_power(effect, over_items + within / k, n, alpha) >= power, 1, _MOST_REPEATS
    )


def _statements(found: Power, power: float, alpha: float) -> tuple[str, ...]:
    better, worse = (
        (found.first, found.second) if found.difference >= 0 else (found.second, found.first)
    )
    wanted = f"a power of {power:.0%} at {alpha:.0%}, if the difference seen is the true one"
    if abs(found.difference) < 1e-9:
        return (
            f"{found.first} and {found.second} have the same mean: no number of items would tell them apart.",
        )
    said = [
        f"{better} leads {worse} by {abs(found.difference):.3g} in {found.factor}, "
        f"over {found.items} items in common."
    ]
    if found.items < 2:
        return (*said, "One item says nothing about the spread over items: judge more items first.")
    said.append(_items_line(found, wanted))
    said.append(_repeats_line(found))
    return tuple(said)


def _items_line(found: Power, wanted: str) -> str:
    if found.items_needed is None:
        return f"More than {_MOST_ITEMS:,} items would be needed for {wanted}."
    if found.items_needed <= found.items:
        return f"The {found.items} items there are suffice for {wanted} ({found.items_needed} would do)."
    more = found.items_needed - found.items
    return f"{found.items_needed:,} items would be needed, {more:,} more, for {wanted}."


def _repeats_line(found: Power) -> str:
    if found.repeat_std is None:
        return "No item was judged twice: what repeats would do cannot be known. Run with --repeats 2 or more."
    if found.repeats_needed is None:
        return "No number of repeats of these items would do: their differences vary too much from item to item."
    instead = f"in place of {found.repeats:.3g}"
    return f"Or {found.repeats_needed:,} repeats of each of these {found.items} items, {instead}."
