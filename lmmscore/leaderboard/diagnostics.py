"""What stands behind a leaderboard: repeats, variance, sensitivity to weights, and habits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard.cube import Cube, codes_of, normalised, tabulate
from lmmscore.leaderboard.position import PositionEffect, position_effect
from lmmscore.records import OVERALL, Outcome
from lmmscore.stats.arrays import SAME, Floats, Ints, ranks, rounded
from lmmscore.stats.reliability import Components, components, within_between


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

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            k: rounded(v, decimals) if isinstance(v, float) else v for k, v in asdict(self).items()
        }


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
    text = f"Std over repeats of the same edit {spread.within:.2f}, over edits {spread.between:.2f}"
    if spread.reliability is None or spread.reliability_of_mean is None:
        return text + "; all scores are equal, so reliability is undefined."
    return (
        f"{text}; test–retest reliability {spread.reliability:.2f} for one judgement, "
        f"{spread.reliability_of_mean:.2f} for the mean of an edit's repeats."
    )


def variance_components(scores: pd.DataFrame, *, factor: str) -> Components | None:
    """Return how much of the variance comes from items, methods, both together, and repeats."""
    cube = tabulate(scores[scores["factor"] == factor])
    known = scores[(scores["factor"] == factor) & scores["score"].notna()]
    value = known["score"].to_numpy(dtype=np.float64)
    found = within_between(value, codes_of(known, ["task", "item", "method"]))
    residual, repeats = (None, 1.0) if found is None else (found[0], found[2])
    return components(cube.mean[:, :, 0], residual, repeats)


def components_dict(found: Components | None, decimals: int | None) -> dict[str, Any] | None:
    """Return the components for JSON, with what one more item or repeat would bring."""
    if found is None:
        return None
    now = found.error_of_difference()
    return {
        "item": rounded(found.item, decimals),
        "method": rounded(found.method, decimals),
        "item_method": rounded(found.interaction, decimals),
        "repeat": rounded(found.residual, decimals),
        "rater": rounded(found.rater, decimals),
        "items": found.items,
        "methods": found.methods,
        "repeats": rounded(found.replicates, decimals),
        "error_of_difference": rounded(now, decimals),
        "with_one_more_item": rounded(found.error_of_difference(items=1), decimals),
        "with_one_more_repeat": None
        if found.residual is None
        else rounded(found.error_of_difference(replicates=1), decimals),
    }


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
        names = ("method", "rank", "first", "same", "best", "worst", "depends")
        lines = [{name: getattr(s, name) for name in names} for s in self.standings]
        for line in lines:
            line["first"], line["same"] = (
                rounded(line["first"], decimals),
                rounded(line["same"], decimals),
            )
        return {
            "weights": dict(self.weights),
            "items": self.items,
            "sample": self.sample,
            "methods": lines,
            "reversible": [list(pair) for pair in self.reversible],
        }


def sensitivity(
    scores: pd.DataFrame,
    weights: Mapping[str, float] | None,
    *,
    task: str | None,
    sample: int,
    rng: np.random.Generator,
) -> Sensitivity:
    """Rank the methods under every weighting of a uniform sample of the simplex, and under
    `weights`.

    Means are over items on which all the factors are scored. `weights` None means equal weights.
    Whether a
    rank depends on the weights is not sampled but known: a mean difference is linear in the
    weights, so it
    has one sign everywhere exactly when it has one sign on every factor by itself.
    """
    cube = tabulate(scores)
    cube = cube if task is None else cube.select(task)
    factors = tuple(name for name in cube.factors if name != OVERALL)
    if len(factors) < 2:
        raise LmmscoreError("with fewer than two factors there are no weights to vary")
    used = normalised(weights or dict.fromkeys(factors, 1.0), list(factors))
    means, methods, items = _factor_means(cube, factors)
    chosen = ranks((means @ np.array([used[name] for name in factors]))[None, :])[0]
    simplex = rng.dirichlet(np.ones(len(factors)), size=sample)
    found = ranks(simplex @ means.T)
    order = sorted(range(len(methods)), key=lambda i: (chosen[i], methods[i]))
    lines = tuple(_standing(methods, i, chosen, found, means) for i in order)
    return Sensitivity(
        factors, used, items, sample, lines, _reversible(methods, order, chosen, means)
    )


def _factor_means(cube: Cube, factors: Sequence[str]) -> tuple[Floats, list[str], int]:
    """Return method × factor means over each method's fully scored items,
    for methods that have any."""
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
    lead = means[i] - np.delete(means, i, axis=0)
    always_below = int((lead <= SAME).all(axis=1).sum() - (np.abs(lead) <= SAME).all(axis=1).sum())
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
    pairs = [(a, b) for k, a in enumerate(order) for b in order[k + 1 :] if chosen[a] < chosen[b]]
    return tuple((methods[a], methods[b]) for a, b in pairs if (means[a] - means[b] < -SAME).any())


def sensitivity_statement(found: Sensitivity) -> str:
    """Return in a sentence which ranks the weights decide."""
    used = ", ".join(f"{name} {weight:.3g}" for name, weight in found.weights.items())
    fixed = [s.method for s in found.standings if not s.depends]
    if len(fixed) == len(found.standings):
        return f"No rank depends on the choice of weights ({used})."

    depends = ", ".join(s.method for s in found.standings if s.depends)
    return f"These ranks depend on the choice of weights ({used}): {depends}."


@dataclass(frozen=True, slots=True)
class ScaleUse:
    """How a judge uses the numbers of one factor."""

    factor: str
    n: int
    lowest: float | None
    highest: float | None
    mean: float | None
    std: float | None
    distinct: int
    commonest: float | None
    commonest_share: float | None
    counts: Mapping[str, int]
    """How often each number occurs; empty where there are more than 100 different ones."""
    sessions: int
    """Sessions in which at least two edits were scored."""
    tied_sessions: int
    """Sessions in which at least two edits have the same score."""
    pairs: int
    tied_pairs: int


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
            "scale": [_scale_dict(use, decimals) for use in self.scale],
            "outcomes": dict(self.outcomes),
            "sessions": self.sessions,
            "repairs": self.repairs,
            "slips": self.slips,
            "names_in_replies": dict(self.names) if self.names is not None else None,
        }


def _scale_dict(use: ScaleUse, decimals: int | None) -> dict[str, Any]:
    plain = {name: getattr(use, name) for name in ScaleUse.__slots__}
    return {
        name: rounded(value, decimals) if isinstance(value, float) else value
        for name, value in plain.items()
    } | {"counts": dict(use.counts)}


def habits(scores: pd.DataFrame, sessions: Iterable[Mapping[str, Any]] | None) -> Habits:
    """Return a judge's habits from the tidy scores and, where there are any, the records of the
    sessions.

    A session's record may have `repairs` (a number or a list), `slips` (the same) and `names`
    (method names
    found in a reply).
    """
    factors = [str(name) for name in pd.unique(scores["factor"])]
    use = tuple(scale_use(scores[scores["factor"] == name], name) for name in factors)
    outcomes = _outcomes(scores, factors)
    if sessions is None:
        return Habits(use, outcomes)
    count, repairs, slips, names = 0, 0, 0, Counter[str]()
    for record in sessions:
        count += 1
        repairs += _how_many(record.get("repairs"))
        slips += _how_many(record.get("slips"))
        names.update(set(map(str, record.get("names") or ())))
    return Habits(use, outcomes, count, repairs, slips, names)


def _how_many(value: Any) -> int:
    return len(value) if isinstance(value, list | tuple | dict) else int(value or 0)


def _outcomes(scores: pd.DataFrame, factors: list[str]) -> dict[str, int]:
    if "outcome" not in scores.columns or not factors:
        return {}
    # One line per edit and repeat: all factors of an edit come from one reply, and the first stands
    # for them.
    key = [name for name in ("task", "item", "method", "repeat") if name in scores.columns]
    worst = scores.assign(good=scores["outcome"] == Outcome.SCORED.value).sort_values(
        "good", kind="stable"
    )
    edits = worst.drop_duplicates(key)
    return {str(name): int(n) for name, n in edits["outcome"].astype(str).value_counts().items()}


def scale_use(scores: pd.DataFrame, factor: str) -> ScaleUse:
    """Return how the numbers of one factor are used, and how often edits of a session tie on it."""
    known = scores[scores["score"].notna()]
    value = np.round(known["score"].to_numpy(dtype=np.float64), 9)
    numbers, counts = np.unique(value, return_counts=True)
    top = int(counts.argmax()) if len(counts) else 0
    sessions, tied, pairs, tied_pairs = _ties(known, value)
    return ScaleUse(
        factor=factor,
        n=len(value),
        lowest=float(value.min()) if len(value) else None,
        highest=float(value.max()) if len(value) else None,
        mean=float(value.mean()) if len(value) else None,
        std=float(value.std(ddof=1)) if len(value) > 1 else None,
        distinct=len(numbers),
        commonest=float(numbers[top]) if len(value) else None,
        commonest_share=float(counts[top] / len(value)) if len(value) else None,
        counts={f"{n:g}": int(c) for n, c in zip(numbers, counts, strict=True)}
        if len(numbers) <= 100
        else {},
        sessions=sessions,
        tied_sessions=tied,
        pairs=pairs,
        tied_pairs=tied_pairs,
    )


def _ties(known: pd.DataFrame, value: np.ndarray) -> tuple[int, int, int, int]:
    """Return sessions with two scored edits, those with a tie, pairs of edits, and tied pairs."""
    key = [name for name in ("task", "item", "repeat") if name in known.columns]
    session = codes_of(known, key)
    sizes = np.bincount(session) if len(session) else np.zeros(0, dtype=np.int64)
    order = np.lexsort((value, session))
    ordered_session, ordered_value = session[order], value[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(ordered_session) != 0) | (np.diff(ordered_value) > SAME)
    runs = np.bincount(np.cumsum(new) - 1) if len(order) else np.zeros(0, dtype=np.int64)
    tied_pairs = int((runs * (runs - 1) // 2).sum())
    tied = len(np.unique(ordered_session[new][runs > 1])) if len(order) else 0
    return int((sizes > 1).sum()), tied, int((sizes * (sizes - 1) // 2).sum()), tied_pairs


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
    ties = f"{use.tied_pairs} of {use.pairs} pairs of edits tie ({use.tied_pairs / use.pairs:.0%})"
    where = f"in {use.tied_sessions} of {use.sessions} sessions{though}"
    most = f"{use.commonest:g} the commonest ({use.commonest_share:.0%})"
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
            "repeats": [spread.as_dict(decimals) for spread in self.repeats],
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
) -> Extras:
    """Return what the scores tell about order, repeats, weights and the judge's habits."""
    try:
        rng = np.random.default_rng(seed)
        weighed = sensitivity(scores, weights, task=None, sample=10_000, rng=rng)
    except LmmscoreError:
        weighed = None
    return Extras(
        position=position_effect(scores, factor=factor, level=level),
        repeats=tuple(repeat_spread(scores, factor=factor)),
        components=variance_components(scores, factor=factor),
        sensitivity=weighed,
        habits=habits(scores, sessions),
    )
