"""Whether the place in which an edit was shown moved its score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.leaderboard.cube import codes_of
from lmmscore.stats.arrays import SAME, Floats, Ints, Limits, rounded
from lmmscore.stats.jackknife import t_quantile

FIXED = (
    "Every method always stood in the same place: an effect of position cannot be told from one of "
    "method. Run with --order shuffled or balanced, over several items, to find out."
)
_ALONE = "Each edit was judged in a conversation of its own: there is no place to have an effect."
_NONE = "No positions are recorded, so their effect cannot be known."
_FEW = "Too few judgements to tell an effect of position from one of method."
_FEW_ORDERS = "Too few different orders to tell an effect of position from chance."

MOST_SESSIONS = 100
"""Sessions up to which the orders are re-randomised; above, Student's t by item does as well."""

_DRAWS = 1_999
_ALL_UP_TO = 6
"""Sessions up to which every reassignment of the orders is tried."""


@dataclass(frozen=True, slots=True)
class PositionEffect:
    """The fitted change of score for one place later, methods and sessions held fixed."""

    factor: str
    slope: float | None
    """None when the data cannot tell it: see `statement`."""
    interval: Limits | None
    p: float | None
    n: int
    """Scores the fit is over."""
    items: int
    places: dict[str, float]
    """Each method's mean place."""
    means: dict[str, float]
    """Each method's mean score over these judgements."""
    adjusted: dict[str, float]
    """The same, had every method stood in the middle on average; empty without a slope."""
    statement: str
    fixed: bool = False
    """Whether every method always stood in the same place, so that the two are one."""
    doubts: tuple[str, ...] = ()
    """Pairs of methods whose order the places alone could explain."""

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the effect for JSON."""
        limits = None
        if self.interval is not None:
            limits = [rounded(end, decimals) for end in self.interval]
        return {
            "factor": self.factor,
            "slope": rounded(self.slope, decimals),
            "interval": limits,
            "p": rounded(self.p, None),
            "n": self.n,
            "items": self.items,
            "mean_position": {name: rounded(at, decimals) for name, at in self.places.items()},
            "adjusted": {name: rounded(mean, decimals) for name, mean in self.adjusted.items()},
            "statement": self.statement,
            "doubts": list(self.doubts),
        }


@dataclass(frozen=True, slots=True)
class Slope:
    """The fitted slope, its interval and its p-value."""

    value: float
    interval: Limits | None
    """None where so few orders cannot refuse any slope."""
    p: float
    how: str


@dataclass(frozen=True, slots=True)
class Placed:
    """Judgements as parallel arrays: the score, the place, and codes of what they belong to."""

    score: Floats
    place: Floats
    method: Ints
    session: Ints
    item: Ints


def position_effect(scores: pd.DataFrame, *, factor: str, level: float) -> PositionEffect:
    """Fit score = session + method + slope × place over all scored judgements of a factor.

    Means here are over judgements.
    """
    used = _usable(scores, factor)
    method, names = _codes(used, ["method"])
    session, _ = _codes(used, ["task", "item", "repeat"])
    item, items = _codes(used, ["task", "item"])
    placed = Placed(
        used["score"].to_numpy(dtype=np.float64),
        used["position"].to_numpy(dtype=np.float64),
        method,
        session,
        item,
    )
    fit = fit_slope(placed, level=level)
    places = _by_method(placed.place, method, names)
    means = _by_method(placed.score, method, names)
    common: dict[str, Any] = {
        "factor": factor,
        "n": len(used),
        "items": len(items),
        "places": places,
        "means": means,
    }
    if isinstance(fit, str):
        fixed = fit == FIXED and len(names) > 1
        return PositionEffect(
            slope=None, interval=None, p=None, adjusted={}, statement=fit, fixed=fixed, **common
        )
    return PositionEffect(
        slope=fit.value,
        interval=fit.interval,
        p=fit.p,
        adjusted=_adjusted(means, places, fit.value),
        statement=_statement(fit, level),
        doubts=_doubts(means, places, fit),
        **common,
    )


def _codes(used: pd.DataFrame, keys: list[str]) -> tuple[Ints, list[str]]:
    codes = codes_of(used, keys)
    first = np.unique(codes, return_index=True)[1]
    return codes, [str(name) for name in used[keys[-1]].iloc[first]]


def _adjusted(means: dict[str, float], places: dict[str, float], slope: float) -> dict[str, float]:
    middle = float(np.mean(list(places.values())))
    return {name: means[name] - slope * (places[name] - middle) for name in means}


def _usable(scores: pd.DataFrame, factor: str) -> pd.DataFrame:
    if "position" not in scores.columns or "repeat" not in scores.columns:
        return scores.iloc[:0].assign(position=0.0, repeat=0)
    known = (scores["factor"] == factor) & scores["score"].notna() & scores["position"].notna()
    return scores[known]


def _by_method(values: Floats, method: Ints, names: Sequence[str]) -> dict[str, float]:
    sums = np.bincount(method, weights=values, minlength=len(names))
    counts = np.bincount(method, minlength=len(names))
    return {name: float(s / c) for name, s, c in zip(names, sums, counts, strict=True)}


def _no_fit(placed: Placed) -> str:
    if not len(placed.place):
        return _NONE
    if len(np.unique(placed.method)) > 1 and placed.place.max() <= 1:
        return _ALONE
    counts = np.bincount(placed.method)
    middle = np.bincount(placed.method, weights=placed.place) / counts
    if np.abs(placed.place - middle[placed.method]).max() < SAME:
        return FIXED
    return _FEW


def fit_slope(placed: Placed, *, level: float) -> Slope | str:
    """Return the slope of place within sessions and methods, or why there is none."""
    if len(np.unique(placed.item)) < 2:
        return _no_fit(placed)
    swept_place, swept_score = _swept(placed, placed.place), _swept(placed, placed.score)
    spread = float(swept_place @ swept_place)
    if spread < 1e-6 * len(swept_place):
        return _no_fit(placed)
    slope = float(swept_place @ swept_score) / spread
    if int(placed.session.max()) + 1 > MOST_SESSIONS:
        return _by_items(placed, slope, swept_place, swept_score, level)
    return _by_orders(placed, slope, level)


def _swept(placed: Placed, values: Floats) -> Floats:
    """Return what sessions and methods leave of a column, by least squares."""
    methods = np.eye(int(placed.method.max()) + 1)[placed.method]
    columns = np.column_stack([values, methods])
    counts = np.bincount(placed.session)
    for column in columns.T:
        column -= (np.bincount(placed.session, weights=column) / counts)[placed.session]
    fitted = np.linalg.lstsq(columns[:, 1:], columns[:, 0], rcond=None)[0]
    return np.asarray(columns[:, 0] - columns[:, 1:] @ fitted)


def _by_items(placed: Placed, slope: float, x: Floats, y: Floats, level: float) -> Slope:
    """Return the slope with an error that allows for scores of one item hanging together."""
    from scipy.special import stdtr

    clusters = len(np.unique(placed.item))
    pushes = np.bincount(placed.item, weights=x * (y - slope * x))
    error = math.sqrt(float(pushes @ pushes) * clusters / (clusters - 1)) / float(x @ x)
    half = t_quantile(clusters - 1, level) * error
    p = float(abs(slope) < SAME)
    if error > 1e-12:
        p = float(2 * stdtr(clusters - 1, -abs(slope) / error))
    return Slope(slope, (slope - half, slope + half), p, "Student's t by item")


def _by_orders(placed: Placed, slope: float, level: float) -> Slope | str:
    """Return the slope with a p-value from giving the recorded orders to the sessions again.

    Without an effect of position any session might as well have had the order of another one with
    the same methods. That holds for shuffled and for balanced orders, and needs no normal scores.
    The interval holds the slopes that this test does not refuse.
    """
    places = _reassigned(placed)
    projection = _projection(placed)
    places = places - (places @ projection) @ projection.T
    spread = (places**2).sum(axis=1)
    usable = spread > 1e-9 * spread.max(initial=1.0)
    if usable.sum() < 2 or int(placed.session.max()) + 1 < 3:
        return _FEW_ORDERS
    places, spread = places[usable], spread[usable]

    # The first row is the order as recorded.
    slopes = places @ placed.score / spread
    p = float(np.mean(np.abs(slopes) >= abs(slopes[0]) - 1e-9))
    limits = _not_refused(slopes, places @ placed.place / spread, 1 - level)
    return Slope(slope, limits, p, "orders re-randomised")


def _not_refused(slopes: Floats, places: Floats, alpha: float) -> Limits | None:
    """Return the limits of the slopes b that the test does not refuse; None where they are endless.

    `slopes` and `places` are the fitted slopes of scores and of the recorded places under every
    order, the recorded one first. Taking b · place off the scores leaves slopes − b · places; an
    order counts against refusing b where that is as far from 0 as for the recorded order, which is
    the case between two ends, on either side of the slope itself.
    """
    own, others, shares = slopes[0], slopes[1:], places[1:]
    near = np.abs(shares) < 1 - SAME
    ends = np.full((2, len(others)), np.inf)
    ends[0, near] = (own - others[near]) / (1 - shares[near])
    ends[1, near] = (own + others[near]) / (1 + shares[near])
    lows = np.where(near, ends.min(axis=0), -np.inf)
    highs = np.where(near, ends.max(axis=0), np.inf)

    # b is kept while the recorded order and those that count are more than alpha of all.
    needed = math.floor(alpha * len(slopes) + SAME)
    if needed < 1:
        return None
    low, high = float(np.sort(lows)[needed - 1]), float(np.sort(highs)[-needed])
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _projection(placed: Placed) -> Floats:
    """Return an orthonormal basis of everything that sessions and methods explain."""
    sessions = np.eye(int(placed.session.max()) + 1)[placed.session]
    methods = np.eye(int(placed.method.max()) + 1)[placed.method]
    left, size, _ = np.linalg.svd(np.hstack([sessions, methods]), full_matrices=False)
    return np.asarray(left[:, size > 1e-9 * size[0]])


def _reassigned(placed: Placed) -> Floats:
    """Return places under reassigned orders, one row each, the recorded ones first."""
    sessions = int(placed.session.max()) + 1
    table = np.full((sessions, int(placed.method.max()) + 1), np.nan)
    table[placed.session, placed.method] = placed.place
    kinds: dict[bytes, list[int]] = {}
    for session in range(sessions):
        kinds.setdefault(np.isnan(table[session]).tobytes(), []).append(session)

    rng = np.random.default_rng(0)
    ways = _assignments(list(kinds.values()), sessions, rng)
    moved = [table[way[placed.session], placed.method] for way in ways]
    return np.array([placed.place, *moved])


def _assignments(kinds: list[list[int]], sessions: int, rng: np.random.Generator) -> list[Ints]:
    """Return which session's order each session gets; all ways but the recorded one,
    or a sample."""
    same = np.arange(sessions)
    if len(kinds) == 1 and sessions <= _ALL_UP_TO:
        return [np.array(way) for way in permutations(range(sessions))][1:]
    found = []
    for _ in range(_DRAWS):
        way = same.copy()
        for kind in kinds:
            way[kind] = rng.permutation(kind)
        found.append(way)
    return found


def _statement(fit: Slope, level: float) -> str:
    within = f"p = {fit.p:.3g}, {fit.how}"
    if fit.interval is not None:
        low, high = fit.interval
        within = f"{level:.0%} interval {low:+.3f} to {high:+.3f}, {within}"
    size = f"{fit.value:+.3f} a place later ({within})"
    if fit.p <= 1 - level:
        return f"Position moved the scores: {size}."
    return f"No effect of position was found: {size}."


def _doubts(means: dict[str, float], places: dict[str, float], fit: Slope) -> tuple[str, ...]:
    """Return the neighbours in rank whose order the slope, or its interval, could reverse."""
    ends = (fit.value, fit.value)
    if fit.interval is not None and fit.interval[0] * fit.interval[1] > 0:
        ends = fit.interval
    ordered = sorted(means, key=lambda name: (-means[name], name))
    found = []
    for better, worse in pairwise(ordered):
        lead = means[better] - means[worse]
        owed = max(end * (places[better] - places[worse]) for end in (fit.value, *ends))
        if lead > SAME and owed >= lead:
            found.append(
                f"{better} leads {worse} by {lead:.2f}, and its places ({places[better]:.2f} "
                f"against {places[worse]:.2f} on average) could explain up to {owed:.2f}."
            )
    return tuple(found)
