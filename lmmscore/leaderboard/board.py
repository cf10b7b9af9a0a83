"""From a tidy score table to a leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.arguments import refuse_unless_scale, refuse_unless_whole
from lmmscore.errors import LmmscoreError, nearest
from lmmscore.leaderboard.cube import Cube, tabulate
from lmmscore.leaderboard.position import PositionEffect, position_effect
from lmmscore.leaderboard.ranking import Average, Missing, Rules, Scales, make_table
from lmmscore.leaderboard.tables import Leaderboard
from lmmscore.leaderboard.weights import normalised, reweigh
from lmmscore.records import OVERALL


def rank(
    scores: pd.DataFrame,
    *,
    task: str | Sequence[str] | None = None,
    factor: str | Sequence[str] = OVERALL,
    weights: Mapping[str, float] | None = None,
    missing: Missing = "exclude",
    average: Average = "items",
    scales: Scales | None = None,
    caution: str = "",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Leaderboard:
    """Rank the methods of a tidy score table, for each task category and over all of them.

    An edit's repeats are averaged first, then items. `task` names the categories wanted (then there is no
    table over all), `factor` what to rank by (`"all"`: each in turn). `weights` derives the overall anew from
    the factors. `missing="worst"` counts an unscored edit as the lowest value of `scales[factor]`, or the
    lowest seen where that is unknown. `average="tasks"` gives every category the same weight in the table
    over all. Intervals come from `resamples` paired bootstrap draws of items, reproducible by `seed`; 0
    leaves them out.
    """
    _refuse(missing, ("exclude", "worst"), "missing")
    _refuse(average, ("items", "tasks"), "average")
    _refuse_numbers(level, resamples, seed, scales or {})
    scores = scores if weights is None else reweigh(scores, weights)
    cube = tabulate(scores)
    known = dict(scales or {})
    ends = scale_ends(cube, known)
    rules = Rules(missing, average, ends, frozenset(known), level, resamples, seed)
    outcomes = _outcomes(scores)
    tables = [
        make_table(cube if name is None else cube.select(name), name, key, rules, outcomes)
        for key in chosen_factors(cube, factor)
        for name in _tasks(cube, task)
    ]
    settings: dict[str, Any] = {
        "missing": missing,
        "average": average,
        "level": level,
        "resamples": resamples,
        "seed": seed,
    }
    if weights is not None:
        settings["weights"] = normalised(
            weights, [name for name in cube.factors if name != OVERALL]
        )
    if tables[0].factor != OVERALL and factor == OVERALL:
        settings["factors"] = [table.factor for table in tables]
    order = position_effect(scores, factor=tables[0].factor, level=level)
    notes = (*_board_notes(settings), *_order_notes(order))
    return Leaderboard(tables=tuple(tables), notes=notes, caution=caution, settings=settings)


def _refuse(value: str, known: tuple[str, ...], name: str) -> None:
    if value not in known:
        raise LmmscoreError(f"{name}={value!r}{nearest(value, known)}; known: {', '.join(known)}")


def _refuse_numbers(level: float, resamples: int, seed: int, scales: Scales) -> None:
    if not 0 < level < 1:
        raise LmmscoreError(f"level={level!r}: it must lie between 0 and 1, as 0.95")
    refuse_unless_whole(0, resamples=resamples, seed=seed)
    for name, ends in scales.items():
        refuse_unless_scale(f"scales[{name!r}]", ends)


def scale_ends(cube: Cube, known: Scales) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest score of every factor: as known, or as seen where that is all there is."""
    return {name: known.get(name) or _seen(cube, name) for name in cube.factors}


def _seen(cube: Cube, factor: str) -> tuple[float, float]:
    """Return the lowest and highest edit of a factor: all there is to go by without its scale."""
    values = cube.mean[:, :, cube.factor(factor)]
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)


def chosen_factors(cube: Cube, wanted: str | Sequence[str]) -> list[str]:
    """Return the factors to rank by: each in turn for `all`, and where the overall wanted was never scored."""
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if not names:
        raise LmmscoreError(f"factor is empty; name one of: {', '.join(cube.factors)}")
    if "all" in names:
        names = sorted(cube.factors, key=lambda name: name != OVERALL)
    elif names == [OVERALL] and not _scored(cube, OVERALL):
        # A dialog may have no overall at all; its factors are then all there is to rank by.
        names = [name for name in cube.factors if _scored(cube, name)] or [cube.factors[0]]
    for name in names:
        cube.factor(name)
    return names


def _scored(cube: Cube, factor: str) -> bool:
    return factor in cube.factors and bool(cube.scored[:, :, cube.factor(factor)].any())


def _tasks(cube: Cube, wanted: str | Sequence[str] | None) -> list[str | None]:
    return [*cube.tasks, None] if wanted is None else list(chosen_tasks(cube.tasks, wanted))


def chosen_tasks(known: Sequence[str], wanted: str | Sequence[str]) -> list[str]:
    """Return the tasks named; raise for none, and for one that is not known."""
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if not names:
        raise LmmscoreError(f"task is empty; name one of: {', '.join(known)}")
    for name in names:
        if name not in known:
            hint = f"{nearest(name, known)}; known: {', '.join(known)}"
            raise LmmscoreError(f"no task {name!r} in these scores{hint}")
    return names


def _board_notes(settings: Mapping[str, object]) -> tuple[str, ...]:
    notes = []
    if "factors" in settings:
        notes.append("No edit has an overall score, so there is a table for each factor.")
    weights = settings.get("weights")
    if isinstance(weights, dict):
        shown = ", ".join(f"{name} {weight:.4g}" for name, weight in weights.items())
        notes.append(f"The overall was derived anew with the weights {shown}.")
    if settings["resamples"]:
        notes.append(
            f"{settings['level']:.0%} intervals of means and ranks: {settings['resamples']:,} paired "
            f"bootstrap resamples of items, percentiles widened for few items, seed {settings['seed']}."
        )
    return tuple(notes)


def _order_notes(order: PositionEffect) -> list[str]:
    """Return the warnings when an uneven order could explain a rank: it was fixed, or the fit says so."""
    if order.doubts:
        return [f"Order: {order.statement}", *order.doubts]
    return [f"Order: {order.statement}"] if order.fixed else []


def _outcomes(scores: pd.DataFrame) -> pd.DataFrame:
    """Return how often each outcome but a score occurs, by factor and task."""
    if "outcome" not in scores.columns:
        return pd.DataFrame({"factor": [], "task": [], "outcome": []})
    bad = scores.loc[scores["score"].isna(), ["factor", "task", "outcome"]]
    return bad.astype(str)
