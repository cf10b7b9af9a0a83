"""Whether the place in which an edit was shown moved its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.leaderboard.cube import codes_of
from lmmscore.leaderboard.resampling import TIE, Floats, Ints
from lmmscore.leaderboard.tables import Interval, rounded

_FIXED = (
    "Every method always stood in the same place: an effect of position cannot be told from one of method. "
    "Run with --order shuffled or balanced, over several items, to find out."
)
_ALONE = "Each edit was judged in a conversation of its own: there is no place to have an effect."


@dataclass(frozen=True, slots=True)
class PositionEffect:
    """The fitted change of score for one place later, methods and sessions held fixed."""

    factor: str
    slope: float | None
    """None when the data cannot tell it: see `statement`."""
    interval: Interval | None
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
    """Whether every method always stood in the same place, so that method and position are one."""
    doubts: tuple[str, ...] = ()
    """Pairs of methods whose order the places alone could explain."""

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the effect for JSON."""
        return {
            "factor": self.factor,
            "slope": rounded(self.slope, decimals),
            "interval": [rounded(end, decimals) for end in self.interval]
            if self.interval
            else None,
            "p": rounded(self.p, None),
            "n": self.n,
            "items": self.items,
            "mean_position": {
                name: rounded(value, decimals) for name, value in self.places.items()
            },
            "adjusted": {name: rounded(value, decimals) for name, value in self.adjusted.items()},
            "statement": self.statement,
            "doubts": list(self.doubts),
        }


def position_effect(scores: pd.DataFrame, *, factor: str, level: float) -> PositionEffect:
    """Fit score = session + method + slope × place over all scored judgements of a factor.

    The standard error allows for scores of one item hanging together. Means here are over judgements.
    """
    used = _usable(scores, factor)
    method, names = _codes(used, ["method"])
    place = used["position"].to_numpy(dtype=np.float64)
    score = used["score"].to_numpy(dtype=np.float64)
    session, _ = _codes(used, ["task", "item", "repeat"])
    item, items = _codes(used, ["task", "item"])
    fit = slope_within(score, place, method, session, item, level=level)
    known = None if isinstance(fit, str) else fit
    places, means = _by_method(place, method, names), _by_method(score, method, names)
    return PositionEffect(
        factor=factor,
        slope=known[0] if known else None,
        interval=known[1] if known else None,
        p=known[2] if known else None,
        n=len(used),
        items=len(items),
        places=places,
        means=means,
        adjusted=_adjusted(means, places, known[0]) if known else {},
        statement=fit if isinstance(fit, str) else _statement(*fit, level),
        fixed=fit == _FIXED and len(names) > 1,
        doubts=_doubts(means, places, known[0], known[1]) if known else (),
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


def _no_fit(place: Floats, method: Ints) -> str:
    if not len(place):
        return "No positions are recorded, so their effect cannot be known."
    if len(np.unique(method)) > 1 and place.max() <= 1:
        return _ALONE
    middle = np.bincount(method, weights=place) / np.bincount(method)
    if np.abs(place - middle[method]).max() < TIE:
        return _FIXED
    return "Too few judgements to tell an effect of position from one of method."


def slope_within(
    score: Floats, place: Floats, method: Ints, session: Ints, item: Ints, *, level: float
) -> tuple[float, Interval, float] | str:
    """Return slope, interval and two-sided p of place within sessions and methods, or why there is none.

    Sessions are swept out by subtracting their means, methods by least squares on their swept indicators;
    what is left of score is regressed on what is left of place. Errors are clustered by item, with G - 1
    degrees of freedom.
    """
    from scipy.special import stdtr, stdtrit

    clusters = len(np.unique(item))
    if clusters < 2:
        return _no_fit(place, method)
    columns = np.column_stack([place, score, np.eye(int(method.max()) + 1)[method]])
    swept = _within(columns, session)
    fitted, *_ = np.linalg.lstsq(swept[:, 2:], swept[:, :2], rcond=None)
    left = swept[:, :2] - swept[:, 2:] @ fitted
    x, y = left[:, 0], left[:, 1]
    spread = float(x @ x)
    if spread < 1e-6 * len(x):
        return _no_fit(place, method)
    slope = float(x @ y) / spread
    pushes = np.bincount(item, weights=x * (y - slope * x))
    error = float(np.sqrt((pushes @ pushes) * clusters / (clusters - 1))) / spread
    if clusters < 3 and error <= 1e-12 and abs(slope) >= TIE:
        # Two items shown in two orders leave residuals that cancel: nothing is left to measure the error by.
        return "Too few judgements to tell an effect of position from chance."
    half = float(stdtrit(clusters - 1, (1 + level) / 2)) * error
    p = (
        float(2 * stdtr(clusters - 1, -abs(slope) / error))
        if error > 1e-12
        else float(abs(slope) < TIE)
    )
    return slope, (slope - half, slope + half), p


def _within(columns: Floats, group: Ints) -> Floats:
    counts = np.bincount(group)
    means = np.column_stack([np.bincount(group, weights=column) / counts for column in columns.T])
    swept: Floats = columns - means[group]
    return swept


def _statement(slope: float, interval: Interval, p: float, level: float) -> str:
    within = f"{level:.0%} interval {interval[0]:+.3f} to {interval[1]:+.3f}, p = {p:.3g}"
    size = f"{slope:+.3f} a place later ({within})"
    if p <= 1 - level:
        return f"Position moved the scores: {size}."
    return f"No effect of position was found: {size}."


def _doubts(
    means: dict[str, float], places: dict[str, float], slope: float, interval: Interval
) -> tuple[str, ...]:
    """Return the neighbours in rank whose order the slope, or a certain slope's interval, could reverse."""
    ends = interval if interval[0] * interval[1] > 0 else (slope, slope)
    ordered = sorted(means, key=lambda name: (-means[name], name))
    found = []
    for better, worse in pairwise(ordered):
        lead = means[better] - means[worse]
        owed = max(end * (places[better] - places[worse]) for end in (slope, *ends))
        if lead > TIE and owed >= lead:
            found.append(
                f"{better} leads {worse} by {lead:.2f}, and its places ({places[better]:.2f} against "
                f"{places[worse]:.2f} on average) could explain up to {owed:.2f}."
            )
    return tuple(found)
