"""Means by any keys: `--by task`, `--by method,factor`, `--by task,item`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError, nearest
from lmmscore.leaderboard.cube import Cube, tabulate
from lmmscore.leaderboard.ranking import spread
from lmmscore.leaderboard.tables import rounded

KEYS = ("task", "method", "factor", "item")


@dataclass(frozen=True, slots=True)
class Group:
    """The edits that share the values of some keys."""

    keys: dict[str, str]
    mean: float | None
    std: float | None
    n: int
    """Edits with a score."""
    coverage: float

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the group for JSON."""
        figures = {"mean": self.mean, "std": self.std, "coverage": self.coverage}
        return {**self.keys, **{k: rounded(v, decimals) for k, v in figures.items()}, "n": self.n}


def parse_by(text: str) -> list[str]:
    """Read `task,method`; raise for a key there is not, or one given twice."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in KEYS:
            raise LmmscoreError(f"--by: no key {name!r}{nearest(name, KEYS)}; known: {', '.join(KEYS)}")
    if not names or len(set(names)) < len(names):
        raise LmmscoreError(f"--by: name one or more of {', '.join(KEYS)}, each once")
    return names


def group_means(scores: pd.DataFrame, by: Sequence[str], *, factor: str) -> list[Group]:
    """Return mean, spread and coverage over the edits of each group, in the order they first occur.

    An edit's repeats are averaged first. Without `factor` among the keys, only `factor` counts.
    """
    cube = tabulate(scores)
    wanted = list(cube.factors) if "factor" in by else [factor]
    found = []
    for name in wanted:
        index = cube.factor(name)
        edits = _edits(cube, index)
        for key, part in edits.groupby([k for k in by if k != "factor"] or (lambda _: 0), sort=False):
            values = key if isinstance(key, tuple) else (key,)
            keys = dict(zip([k for k in by if k != "factor"], map(str, values), strict=False))
            found.append(_group({k: keys.get(k, name) for k in by}, part))
    return found


def _edits(cube: Cube, factor: int) -> pd.DataFrame:
    item, method = np.nonzero(cube.asked)
    return pd.DataFrame(
        {
            "task": np.array(cube.tasks, dtype=object)[cube.task_of[item]],
            "item": np.array(cube.items, dtype=object)[item],
            "method": np.array(cube.methods, dtype=object)[method],
            "value": cube.mean[item, method, factor],
            "scored": cube.scored[item, method, factor],
            "asked": cube.asked[item, method],
        }
    )


def _group(keys: dict[str, str], part: pd.DataFrame) -> Group:
    known = part["value"].dropna().to_numpy(dtype=np.float64)
    return Group(
        keys=keys,
        mean=float(known.mean()) if known.size else None,
        std=spread(known),
        n=int(known.size),
        coverage=float(part["scored"].sum() / part["asked"].sum()),
    )
