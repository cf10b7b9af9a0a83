"""Derive the overall score anew from the factors, with other weights. Nothing is asked again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError, nearest
from lmmscore.leaderboard.cube import codes_of
from lmmscore.records import OVERALL, Outcome

_EDIT = ["task", "item", "method", "repeat"]


def parse_weights(text: str) -> dict[str, float]:
    """Read `acc=.5,pre=.2`; raise for anything else."""
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, equals, number = part.partition("=")
        try:
            weight = float(number) if equals else np.nan
        except ValueError:
            weight = np.nan
        if not name.strip() or not np.isfinite(weight):
            raise LmmscoreError(
                f"--weights: cannot read {part.strip()!r}; write acc=.5,pre=.2 and so on"
            )
        if name.strip() in weights:
            raise LmmscoreError(f"--weights: {name.strip()} is given twice")
        weights[name.strip()] = weight
    return weights


def normalised(weights: Mapping[str, float], factors: list[str]) -> dict[str, float]:
    """Return a weight for every factor, adding up to 1; a factor not named weighs nothing."""
    for name, weight in weights.items():
        if name not in factors:
            known = ", ".join(factors)
            raise LmmscoreError(
                f"no factor {name!r} to weigh{nearest(name, factors)}; known: {known}"
            )
        if weight < 0:
            raise LmmscoreError(f"the weight of {name} is {weight:g}; weights cannot be negative")
        if not np.isfinite(weight):
            raise LmmscoreError(f"the weight of {name} is {weight:g}; weights are finite numbers")
    total = sum(weights.values())
    if total <= 0:
        none = "every weight is 0" if weights else "there are no weights"
        raise LmmscoreError(f"{none}; give at least one factor a weight")
    return {name: weights.get(name, 0.0) / total for name in factors}


def reweigh(scores: pd.DataFrame, weights: Mapping[str, float]) -> pd.DataFrame:
    """Return the scores with the overall of every edit derived from its factors.

    An edit that lacks a factor with a weight has no overall: the reason of that factor becomes its
    own. A factor that was left out does not count, and the weights of the others grow in
    proportion.
    """
    parts = scores[scores["factor"] != OVERALL]
    shares = normalised(weights, [str(name) for name in parts["factor"].unique()])
    keys = [name for name in _EDIT if name in scores.columns]
    edit = codes_of(parts, keys)
    share = parts["factor"].map(shares).to_numpy(dtype=np.float64)
    value = parts["score"].to_numpy(dtype=np.float64)
    counts = np.isfinite(value) & (share > 0)
    total = np.bincount(
        edit[counts], weights=(share * value)[counts], minlength=edit.max(initial=-1) + 1
    )
    absent = _left_out(parts) & (share > 0)
    given = np.bincount(edit[counts], minlength=len(total))
    excused = np.bincount(edit[absent], minlength=len(total))
    complete = given + excused == sum(weight > 0 for weight in shares.values())
    # What was left out takes no share; without anything left out this divides by 1.
    left = 1 - np.bincount(edit[absent], weights=share[absent], minlength=len(total))
    overall = np.where(complete & (given > 0), total / np.where(given > 0, left, 1.0), np.nan)
    lines = _overalls(parts, edit, (share > 0) & (~absent | (given == 0)[edit]), overall)
    return pd.concat([lines, parts], ignore_index=True)


def _left_out(parts: pd.DataFrame) -> np.ndarray:
    if "outcome" not in parts.columns:
        return np.zeros(len(parts), dtype=bool)
    return (parts["outcome"] == Outcome.ABSENT.value).to_numpy()


def _overalls(
    parts: pd.DataFrame, edit: np.ndarray, weighed: np.ndarray, overall: np.ndarray
) -> pd.DataFrame:
    """Return one line per edit: its first unscored factor's,
    or its first factor's when all are there."""
    bad = parts["score"].isna().to_numpy() & weighed
    order = np.lexsort((np.arange(len(parts)), ~bad, edit))
    _, first = np.unique(edit[order], return_index=True)
    lines = parts.iloc[order[first]].copy()
    lines["factor"] = OVERALL
    # Weights are short decimals: what stands beyond the tenth place is noise, and would break ties.
    lines["score"] = np.round(overall, 10)
    if "outcome" in lines.columns:
        scored = lines["score"].notna()
        lines["outcome"] = lines["outcome"].astype(object).where(~scored, Outcome.SCORED.value)
        no_score = ~scored & (lines["outcome"] == Outcome.SCORED.value)
        lines.loc[no_score, "outcome"] = Outcome.UNREADABLE.value
    return lines
