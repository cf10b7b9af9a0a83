"""From a tidy score table to a leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd

from lmmscore.leaderboard.tables import Leaderboard
from lmmscore.records import OVERALL

Missing = Literal["exclude", "worst"]
Average = Literal["items", "tasks"]


def rank(
    scores: pd.DataFrame,
    *,
    task: str | Sequence[str] | None = None,
    factor: str | Sequence[str] = OVERALL,
    weights: Mapping[str, float] | None = None,
    missing: Missing = "exclude",
    average: Average = "items",
    scales: Mapping[str, tuple[float, float]] | None = None,
    caution: str = "",
    resamples: int = 10_000,
    seed: int = 0,
) -> Leaderboard:
    """Rank the methods of a tidy score table, for each task category and over all of them.

    An edit's repeats are averaged first, then items. `task` names the categories wanted (then there is no table
    over all), `factor` what to rank by (`"all"`: each in turn). `weights` derives the overall anew from the
    factors. `missing="worst"` counts an unscored edit as the lowest value of `scales[factor]`. `average="tasks"`
    gives every category the same weight in the table over all. Intervals come from `resamples` paired
    bootstrap draws of items, reproducible by `seed`; 0 leaves them out.
    """
    raise NotImplementedError
