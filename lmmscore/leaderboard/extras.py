"""What stands behind a leaderboard: position, repeats, sensitivity and habits, computed together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard.habits import Habits, habits
from lmmscore.leaderboard.position import PositionEffect, position_effect
from lmmscore.leaderboard.repeats import Spread, repeat_spread
from lmmscore.leaderboard.sensitivity import Sensitivity, sensitivity


@dataclass(frozen=True, slots=True)
class Extras:
    """Everything a run's scores tell besides the ranking."""

    position: PositionEffect
    repeats: tuple[Spread, ...]
    sensitivity: Sensitivity | None
    """None where the scores have no two factors to weigh."""
    habits: Habits

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "position": self.position.as_dict(decimals),
            "repeats": [spread.as_dict(decimals) for spread in self.repeats],
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
        sensitivity=weighed,
        habits=habits(scores, sessions),
    )
