"""Diagnostics of a leaderboard: position, repeats, variance, sensitivity to weights, habits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard.cube import Cube, codes_of, normalised, tabulate
from lmmscore.records import AS_TOLD, OVERALL, Outcome, fixed, percent, signed
from lmmscore.stats import (
    SAME,
    Floats,
    Ints,
    Limits,
    as_json,
    ranks,
    rounded,
    sample_std,
    t_quantile,
)
from lmmscore.stats.correlation import Components, components, within_between

# --------------------------------------------------------------------------------------------------
# Whether the position of an edit in the session moved its score.
# --------------------------------------------------------------------------------------------------

FIXED = (
    "Every method always stood in the same place: an effect of position cannot be told from one of "
    "method."
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
    lower_better: bool = False
    """Whether the lower score is the better one."""

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the effect for JSON."""
        figures = {
            "factor": self.factor,
            "slope": self.slope,
            "interval": self.interval,
            "p": self.p,
            "n": self.n,
            "items": self.items,
            "mean_position": self.places,
            "adjusted": self.adjusted,
            "statement": self.statement,
            "doubts": self.doubts,
        }
        return as_json(figures, decimals) | {"p": rounded(self.p, None)}


@dataclass(frozen=True, slots=True)
class Slope:
    """The fitted slope, its interval and its p-value."""

    value: float
    interval: Limits | None
    """None where so few orders cannot refuse any slope."""
    p: float
    how: str


def _way_to_tell(items: int, shown_order: str) -> str:
    """Return what would tell place and method apart, leaving out what was done already."""
    if shown_order == AS_TOLD:
        return "Conversations that show the methods in other orders would tell."
    if shown_order in {"shuffled", "balanced"}:
        return f"Run over {'several' if items == 1 else 'more'} items to find out."

    several = ", over several items," if items == 1 else ""
    return f"Run with --order shuffled or balanced{several} to find out."


@dataclass(frozen=True, slots=True)
class Placed:
    """Judgements as parallel arrays: the score, the place, and codes of what they belong to."""

    score: Floats
    place: Floats
    method: Ints
    session: Ints
    item: Ints


def position_effect(
    scores: pd.DataFrame,
    *,
    factor: str,
    level: float,
    lower_better: Collection[str] = (),
    shown_order: str = "",
) -> PositionEffect:
    """Fit score = session + method + slope × place over all scored judgements of a factor.

    Means here are over judgements. `shown_order` is how the run ordered the edits, where known.
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
        "lower_better": factor in lower_better,
    }
    if isinstance(fit, str):
        statement = f"{fit} {_way_to_tell(len(items), shown_order)}" if fit == FIXED else fit
        fixed = fit == FIXED and len(names) > 1
        return PositionEffect(
            slope=None,
            interval=None,
            p=None,
            adjusted={},
            statement=statement,
            fixed=fixed,
            **common,
        )

    return PositionEffect(
        slope=fit.value,
        interval=fit.interval,
        p=fit.p,
        adjusted=_adjusted(means, places, fit.value),
        statement=_statement(fit, level),
        doubts=_doubts(means, places, fit, -1 if factor in lower_better else 1),
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
    """Return which session's order each session gets: every other way, or a sample of them."""
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
        within = f"{percent(level)} interval {signed(low, 3)} to {signed(high, 3)}, {within}"

    size = f"{signed(fit.value, 3)} a place later ({within})"
    if fit.p <= 1 - level:
        return f"Position moved the scores: {size}."
    return f"No effect of position was found: {size}."


def _doubts(
    means: dict[str, float], places: dict[str, float], fit: Slope, sign: int
) -> tuple[str, ...]:
    """Return the neighbours in rank whose order the slope, or its interval, could reverse.

    `sign` is -1 where the lower mean is the better one.
    """
    ends = (fit.value, fit.value)
    if fit.interval is not None and fit.interval[0] * fit.interval[1] > 0:
        ends = fit.interval

    ordered = sorted(means, key=lambda name: (-sign * means[name], name))
    found = []
    for better, worse in pairwise(ordered):
        lead = sign * (means[better] - means[worse])
        owed = max(sign * end * (places[better] - places[worse]) for end in (fit.value, *ends))
        if lead > SAME and owed >= lead:
            found.append(
                f"{better} leads {worse} by {fixed(lead, 2)}, and its places "
                f"({fixed(places[better], 2)} against {fixed(places[worse], 2)} on average) could "
                f"explain up to {fixed(owed, 2)}."
            )

    return tuple(found)


# --------------------------------------------------------------------------------------------------
# Repeats, variance, sensitivity to weights, and the judge's habits.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spread:
    """Two sources of spread, for one method or for all edits together."""

    method: str | None
    edits: int
    judgements: int
    within: float | None
    """Standard deviation over repeats of the same edit; None without repeats."""
    between: float | None
    """Standard deviation over edits of their true scores, the repeats' share taken out."""
    reliability: float | None
    """Test–retest: the share of the spread of single judgements that comes back
    in a repeat, ICC(1,1)."""
    reliability_of_mean: float | None
    """The same for the mean over the repeats there are, ICC(1,k)."""


def repeat_spread(scores: pd.DataFrame, *, factor: str) -> list[Spread]:
    """Return the spread of all edits together (`method` None), then of each method."""
    known = scores[(scores["factor"] == factor) & scores["score"].notna()]
    value = known["score"].to_numpy(dtype=np.float64)
    edit = codes_of(known, ["task", "item", "method"])
    found = [_spread(None, value, edit)]
    names = known["method"].astype(str).to_numpy()
    for method in sorted(set(names)):
        chosen = names == method
        found.append(_spread(str(method), value[chosen], edit[chosen]))

    return found


def _spread(method: str | None, value: Floats, edit: Ints) -> Spread:
    parts = within_between(value, edit)
    if parts is None:
        return Spread(method, len(np.unique(edit)), len(value), None, None, None, None)

    within, between, typical = parts
    total = within + between
    return Spread(
        method=method,
        edits=len(np.unique(edit)),
        judgements=len(value),
        within=float(np.sqrt(within)),
        between=float(np.sqrt(between)),
        reliability=between / total if total > 0 else None,
        reliability_of_mean=between / (between + within / typical) if total > 0 else None,
    )


def repeat_statement(spread: Spread) -> str:
    """Return the spread in a sentence."""
    if spread.within is None or spread.between is None:
        return (
            "No edit was judged twice, so the spread over repeats is unknown; "
            "run with --repeats 2 or more."
        )

    within, between = fixed(spread.within, 2), fixed(spread.between, 2)
    text = f"Std over repeats of the same edit {within}, over edits {between}"
    if spread.reliability is None or spread.reliability_of_mean is None:
        return text + "; all scores are equal, so reliability is undefined."

    return (
        f"{text}; test–retest reliability {fixed(spread.reliability, 2)} for one judgement, "
        f"{fixed(spread.reliability_of_mean, 2)} for the mean of an edit's repeats."
    )


def variance_components(scores: pd.DataFrame, *, factor: str) -> Components | None:
    """Return how much of the variance comes from items, methods, both together, and repeats."""
    cube = tabulate(scores[scores["factor"] == factor])
    known = scores[(scores["factor"] == factor) & scores["score"].notna()]
    value = known["score"].to_numpy(dtype=np.float64)
    found = within_between(value, codes_of(known, ["task", "item", "method"]))
    if found is None:
        return components(cube.mean[:, :, 0])
    return components(cube.mean[:, :, 0], found[0], cube.scored[:, :, 0].astype(float))


def components_dict(found: Components | None, decimals: int | None) -> dict[str, Any] | None:
    """Return the components for JSON, with what one more item or repeat would bring."""
    if found is None:
        return None

    one_more_repeat = None
    if found.residual is not None:
        one_more_repeat = found.error_of_difference(replicates=1)

    figures = {
        "item": found.item,
        "method": found.method,
        "item_method": found.interaction,
        "repeat": found.residual,
        "rater": None,
        "items": found.items,
        "methods": found.methods,
        "repeats": found.replicates,
        "error_of_difference": found.error_of_difference(),
        "with_one_more_item": found.error_of_difference(items=1),
        "with_one_more_repeat": one_more_repeat,
    }
    return as_json(figures, decimals)


@dataclass(frozen=True, slots=True)
class Standing:
    """How one method fares as the weights vary."""

    method: str
    rank: int
    """At the weights in use."""
    first: float
    """Share of all weights under which it is first, alone or with others."""
    same: float
    """Share of all weights under which it keeps its rank."""
    best: int
    worst: int
    depends: bool
    """Whether some weights give it another rank than those in use."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The standings over a uniform sample of all weights."""

    factors: tuple[str, ...]
    weights: Mapping[str, float]
    items: int
    sample: int
    standings: tuple[Standing, ...]
    reversible: tuple[tuple[str, str], ...]
    """Pairs, the higher first, that some other weights would put in the other order."""

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "weights": dict(self.weights),
            "items": self.items,
            "sample": self.sample,
            "methods": [as_json(one, decimals) for one in self.standings],
            "reversible": [list(pair) for pair in self.reversible],
        }


def sensitivity(
    scores: pd.DataFrame,
    weights: Mapping[str, float] | None,
    *,
    task: str | None,
    sample: int,
    rng: np.random.Generator,
    lower_better: Collection[str] = (),
) -> Sensitivity:
    """Rank the methods under a uniform sample of all weights, and under `weights`.

    Means are over items on which all the factors are scored. `weights` None means equal weights.
    Whether a rank depends on the weights is not sampled but known: a mean difference is linear in
    the weights, so it has one sign everywhere exactly when it has one sign on every factor.
    """
    cube = tabulate(scores)
    if task is not None:
        cube = cube.select(task)

    factors = tuple(name for name in cube.factors if name != OVERALL)
    if len(factors) < 2:
        raise LmmscoreError("with fewer than two factors there are no weights to vary")

    used = normalised(weights or dict.fromkeys(factors, 1.0), list(factors))
    means, methods, items = _factor_means(cube, factors)
    # Only who is ahead matters here, and by how much: where a scale ends does not.
    means = means * np.where([name in lower_better for name in factors], -1.0, 1.0)
    in_use = np.array([used[name] for name in factors])
    chosen = ranks((means @ in_use)[None, :])[0]
    simplex = rng.dirichlet(np.ones(len(factors)), size=sample)
    found = ranks(simplex @ means.T)

    order = sorted(range(len(methods)), key=lambda i: (chosen[i], methods[i]))
    standings = tuple(_standing(methods, i, chosen, found, means) for i in order)
    reversible = _reversible(methods, order, chosen, means)
    return Sensitivity(factors, used, items, sample, standings, reversible)


def _factor_means(cube: Cube, factors: Sequence[str]) -> tuple[Floats, list[str], int]:
    """Return method × factor means over each method's fully scored items, for methods with any."""
    parts = cube.mean[:, :, [cube.factor(name) for name in factors]]
    complete = np.asarray(np.isfinite(parts).all(axis=2))
    kept = np.flatnonzero(complete.any(axis=0))
    if not len(kept):
        raise LmmscoreError("no edit has all its factors scored, so there is nothing to weigh")

    sums = np.where(complete[:, :, None], parts, 0.0).sum(axis=0)[kept]
    return (
        sums / complete.sum(axis=0)[kept, None],
        [cube.methods[i] for i in kept],
        int(complete.any(axis=1).sum()),
    )


def _standing(
    methods: list[str], i: int, chosen: np.ndarray, found: np.ndarray, means: Floats
) -> Standing:
    """Return how one method fares under the sampled weights, and whether any weights matter."""
    # Against a rival that is behind on every factor, or ahead on every factor, weights decide
    # nothing.
    lead = means[i] - np.delete(means, i, axis=0)
    same = (np.abs(lead) <= SAME).all(axis=1)
    always_below = int((lead <= SAME).all(axis=1).sum() - same.sum())
    never_above = int((lead >= -SAME).all(axis=1).sum())
    best, worst = int(found[:, i].min()), int(found[:, i].max())
    return Standing(
        method=methods[i],
        rank=int(chosen[i]),
        first=float((found[:, i] == 1).mean()),
        same=float((found[:, i] == chosen[i]).mean()),
        best=min(best, int(chosen[i])),
        worst=max(worst, int(chosen[i])),
        depends=always_below + never_above < len(lead),
    )


def _reversible(
    methods: list[str], order: list[int], chosen: np.ndarray, means: Floats
) -> tuple[tuple[str, str], ...]:
    """Return the pairs of which the lower method is ahead on some factor."""
    found = []
    for higher, lower in combinations(order, 2):
        behind_somewhere = (means[higher] - means[lower] < -SAME).any()
        if chosen[higher] < chosen[lower] and behind_somewhere:
            found.append((methods[higher], methods[lower]))
    return tuple(found)


def sensitivity_statement(found: Sensitivity) -> str:
    """Return in a sentence which ranks the weights decide."""
    used = ", ".join(f"{name} {weight:.3g}" for name, weight in found.weights.items())
    fixed = [s.method for s in found.standings if not s.depends]
    if len(fixed) == len(found.standings):
        return f"No rank depends on the choice of weights ({used})."

    depends = ", ".join(s.method for s in found.standings if s.depends)
    return f"These ranks depend on the choice of weights ({used}): {depends}."


MOST_NUMBERS = 100
"""Different scores up to which each is listed with how often it occurs."""


@dataclass(frozen=True, slots=True)
class ScaleUse:
    """How a judge uses the numbers of one factor; what no score can tell is None."""

    factor: str
    n: int = 0
    lowest: float | None = None
    highest: float | None = None
    mean: float | None = None
    std: float | None = None
    distinct: int = 0
    commonest: float | None = None
    commonest_share: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    """How often each number occurs; empty where there are more than 100 different ones."""
    sessions: int = 0
    """Sessions in which at least two edits were scored."""
    tied_sessions: int = 0
    """Sessions in which at least two edits have the same score."""
    pairs: int = 0
    tied_pairs: int = 0


@dataclass(frozen=True, slots=True)
class Habits:
    """What the scores and the sessions tell about the judge."""

    scale: tuple[ScaleUse, ...]
    outcomes: Mapping[str, int]
    """Edits × repeats by outcome."""
    sessions: int | None = None
    """Sessions on record; None where only the scores are known,
    and then the next three are unknown too."""
    repairs: int | None = None
    slips: int | None = None
    names: Mapping[str, int] | None = field(default=None)
    """Method names found in replies, with the number of sessions they occur in."""

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the habits for JSON."""
        return {
            "scale": [as_json(use, decimals) for use in self.scale],
            "outcomes": dict(self.outcomes),
            "sessions": self.sessions,
            "repairs": self.repairs,
            "slips": self.slips,
            "names_in_replies": dict(self.names) if self.names is not None else None,
        }


def habits(scores: pd.DataFrame, sessions: Iterable[Mapping[str, Any]] | None) -> Habits:
    """Return a judge's habits from the tidy scores and, where there are any, its sessions.

    A session's record may have `repairs` (their number), `slips` (a list) and `names` (method names
    found in a reply).
    """
    factors = [str(name) for name in pd.unique(scores["factor"])]
    use = tuple(scale_use(scores[scores["factor"] == name], name) for name in factors)
    outcomes = _outcomes(scores, factors)
    if sessions is None:
        return Habits(use, outcomes)

    count = repairs = slips = 0
    names = Counter[str]()
    for record in sessions:
        count += 1
        repairs += record.get("repairs") or 0
        slips += len(record.get("slips") or ())
        names.update(set(map(str, record.get("names") or ())))

    return Habits(use, outcomes, count, repairs, slips, names)


def _outcomes(scores: pd.DataFrame, factors: list[str]) -> dict[str, int]:
    if "outcome" not in scores.columns or not factors:
        return {}

    # One line per edit and repeat, since all its factors come from one reply: an unscored factor's
    # if there is one, and that of a factor left out only where nothing else is.
    key = [name for name in ("task", "item", "method", "repeat") if name in scores.columns]
    place = scores["outcome"].map({Outcome.SCORED.value: 1, Outcome.ABSENT.value: 2}).fillna(0)
    edits = scores.iloc[np.argsort(place.to_numpy(), kind="stable")].drop_duplicates(key)
    return {str(name): int(n) for name, n in edits["outcome"].astype(str).value_counts().items()}


def scale_use(scores: pd.DataFrame, factor: str) -> ScaleUse:
    """Return how the numbers of one factor are used, and how often edits of a session tie on it."""
    known = scores[scores["score"].notna()]
    value = np.round(known["score"].to_numpy(dtype=np.float64), 9)
    if not len(value):
        return ScaleUse(factor)

    numbers, counts = np.unique(value, return_counts=True)
    top = int(counts.argmax())
    listed = {}
    if len(numbers) <= MOST_NUMBERS:
        listed = {f"{n:g}": int(c) for n, c in zip(numbers, counts, strict=True)}

    return ScaleUse(
        factor=factor,
        n=len(value),
        lowest=float(value.min()),
        highest=float(value.max()),
        mean=float(value.mean()),
        std=sample_std(value),
        distinct=len(numbers),
        commonest=float(numbers[top]),
        commonest_share=float(counts[top] / len(value)),
        counts=listed,
        **_ties(known, value),
    )


def _ties(known: pd.DataFrame, value: Floats) -> dict[str, int]:
    """Return sessions with two scored edits, those with a tie, pairs of edits, and tied pairs."""
    key = [name for name in ("task", "item", "repeat") if name in known.columns]
    session = codes_of(known, key)
    sizes = np.bincount(session)

    # Sorted by session and score, equal scores of a session stand in runs.
    order = np.lexsort((value, session))
    session, value = session[order], value[order]
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = (np.diff(session) != 0) | (np.diff(value) > SAME)
    runs = np.bincount(np.cumsum(starts) - 1)
    return {
        "sessions": int((sizes > 1).sum()),
        "tied_sessions": len(np.unique(session[starts][runs > 1])),
        "pairs": int((sizes * (sizes - 1) // 2).sum()),
        "tied_pairs": int((runs * (runs - 1) // 2).sum()),
    }


def habit_statements(found: Habits, *, asks_to_avoid_ties: bool) -> list[str]:
    """Return the habits in plain sentences."""
    said = [_tie_line(use, asks_to_avoid_ties) for use in found.scale if use.pairs]
    if found.sessions is not None:
        refused = found.outcomes.get(Outcome.REFUSED.value, 0)
        said.append(
            f"{found.sessions} sessions: {found.repairs} repair turns, {found.slips} slips in the "
            f"judge's own sums, {refused} refused edits."
        )

    if found.names:
        named = ", ".join(f"{name} ({count})" for name, count in found.names.items())
        said.append(f"Method names found in replies, which should be impossible: {named}.")

    return said


def _tie_line(use: ScaleUse, asks_to_avoid_ties: bool) -> str:
    though = ", though the dialog asks to avoid it" if asks_to_avoid_ties and use.tied_pairs else ""
    share = percent(use.tied_pairs / use.pairs)
    ties = f"{use.tied_pairs} of {use.pairs} pairs of edits tie ({share})"
    where = f"in {use.tied_sessions} of {use.sessions} sessions{though}"
    most = f"{use.commonest:g} the commonest ({percent(use.commonest_share or 0)})"
    return f"{use.factor}: {ties}, {where}; {use.distinct} different numbers used, {most}."


@dataclass(frozen=True, slots=True)
class Extras:
    """Everything a run's scores tell besides the ranking."""

    position: PositionEffect
    repeats: tuple[Spread, ...]
    components: Components | None
    """None with fewer than two items or methods."""
    sensitivity: Sensitivity | None
    """None where the scores have no two factors to weigh."""
    habits: Habits

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "position": self.position.as_dict(decimals),
            "repeats": [as_json(spread, decimals) for spread in self.repeats],
            "variance": components_dict(self.components, decimals),
            "sensitivity": self.sensitivity.as_dict(decimals) if self.sensitivity else None,
            "habits": self.habits.as_dict(decimals),
        }


def extras(
    scores: pd.DataFrame,
    *,
    factor: str,
    weights: Mapping[str, float] | None,
    sessions: Iterable[Mapping[str, Any]] | None,
    level: float,
    seed: int,
    lower_better: Collection[str] = (),
    shown_order: str = "",
) -> Extras:
    """Return what the scores tell about order, repeats, weights and the judge's habits."""
    try:
        rng = np.random.default_rng(seed)
        weighed = sensitivity(
            scores, weights, task=None, sample=10_000, rng=rng, lower_better=lower_better
        )
    except LmmscoreError:
        weighed = None

    return Extras(
        position=position_effect(
            scores,
            factor=factor,
            level=level,
            lower_better=lower_better,
            shown_order=shown_order,
        ),
        repeats=tuple(repeat_spread(scores, factor=factor)),
        components=variance_components(scores, factor=factor),
        sensitivity=weighed,
        habits=habits(scores, sessions),
    )
