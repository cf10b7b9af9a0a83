"""Which ranks depend on the weights of the factors, over all weights there could be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard.cube import Cube, tabulate
from lmmscore.leaderboard.resampling import TIE, Floats, ranks
from lmmscore.leaderboard.tables import rounded
from lmmscore.leaderboard.weights import normalised
from lmmscore.records import OVERALL


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
    """Rank the methods under every weighting of a uniform sample of the simplex, and under `weights`.

    Means are over items on which all the factors are scored. `weights` None means equal weights. Whether a
    rank depends on the weights is not sampled but known: a mean difference is linear in the weights, so it
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
    """Return method × factor means over each method's fully scored items, for methods that have any."""
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
    always_below = int((lead <= TIE).all(axis=1).sum() - (np.abs(lead) <= TIE).all(axis=1).sum())
    never_above = int((lead >= -TIE).all(axis=1).sum())
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
    return tuple((methods[a], methods[b]) for a, b in pairs if (means[a] - means[b] < -TIE).any())


def statement(found: Sensitivity) -> str:
    """Return in a sentence which ranks the weights decide."""
    used = ", ".join(f"{name} {weight:.3g}" for name, weight in found.weights.items())
    fixed = [s.method for s in found.standings if not s.depends]
    if len(fixed) == len(found.standings):
        return f"No rank depends on the choice of weights ({used})."
    depends = ", ".join(s.method for s in found.standings if s.depends)
    return f"These ranks depend on the choice of weights ({used}): {depends}."
