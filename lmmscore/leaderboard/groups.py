"""Means by any keys: `--by task`, `--by method,factor`, `--by task,item`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError, nearest
from lmmscore.leaderboard.board import rounded
from lmmscore.leaderboard.cube import Cube, tabulate
from lmmscore.leaderboard.ranking import (
    Missing,
    Scales,
    chosen_factors,
    chosen_tasks,
    scale_ends,
    spread,
)

KEYS = ("task", "method", "factor", "item")


@dataclass(frozen=True, slots=True)
class Group:
    """The edits that share the values of some keys."""

    keys: dict[str, str]
    mean: float | None
    std: float | None
    n: int
    """Edits the mean is over."""
    coverage: float

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the group for JSON."""
        figures = {"mean": self.mean, "std": self.std, "coverage": self.coverage}
        return {**self.keys, **{k: rounded(v, decimals) for k, v in figures.items()}, "n": self.n}


@dataclass(frozen=True, slots=True)
class Groups:
    """A table of groups: its keys, its lines, and which mean it shows."""

    keys: tuple[str, ...]
    rows: tuple[Group, ...]
    caption: str


def parse_by(text: str) -> list[str]:
    """Read `task,method`; raise for a key there is not, or one given twice."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in KEYS:
            raise LmmscoreError(
                f"--by: no key {name!r}{nearest(name, KEYS)}; known: {', '.join(KEYS)}"
            )
    if not names or len(set(names)) < len(names):
        raise LmmscoreError(f"--by: name one or more of {', '.join(KEYS)}, each once")
    return names


def group_means(
    scores: pd.DataFrame,
    by: Sequence[str],
    *,
    factor: str | Sequence[str],
    task: Sequence[str] | None = None,
    missing: Missing = "exclude",
    scales: Scales | None = None,
) -> Groups:
    """Return mean, spread and coverage over the edits of each group, in the order they first occur.

    An edit's repeats are averaged first. Only the factors named count; several of them are never
    averaged together:
    the factor becomes a key, if it is none. Unscored edits are treated as `rank` treats them.
    """
    cube = tabulate(scores)
    wanted = chosen_factors(cube, factor)
    tasks = cube.tasks if task is None else chosen_tasks(cube.tasks, task)
    keys = list(by) if "factor" in by or len(wanted) == 1 else ["factor", *by]
    ends = scale_ends(cube, scales or {})
    found = []
    for name in wanted:
        edits = _edits(cube, cube.factor(name), ends[name][0] if missing == "worst" else None)
        others = [key for key in keys if key != "factor"]
        chosen = edits[edits["task"].isin(tasks)]
        for key, part in chosen.groupby(others or (lambda _: 0), sort=False):
            values = key if isinstance(key, tuple) else (key,)
            own = dict(zip(others, map(str, values), strict=False))
            found.append(_group({k: own.get(k, name) for k in keys}, part))
    return Groups(tuple(keys), tuple(found), _caption(keys, wanted, missing, ends))


def _caption(keys: Sequence[str], factors: Sequence[str], missing: Missing, ends: Scales) -> str:
    what = "the factor named" if "factor" in keys else factors[0]
    holes = "left out"
    if missing == "worst":
        lowest = {ends[name][0] for name in factors}
        holes = (
            f"counted as {lowest.pop():g}, the lowest score"
            if len(lowest) == 1
            else ("counted as the lowest score of the factor")
        )
    first = f"Mean of {what} over edits, their repeats averaged first"
    return f"{first}; std over edits; unscored edits {holes} (missing: {missing})."


def _edits(cube: Cube, factor: int, hole: float | None) -> pd.DataFrame:
    means = cube.mean[:, :, factor] if hole is None else cube.filled(factor, hole)
    due = cube.due(factor)
    item, method = np.nonzero(due)
    return pd.DataFrame(
        {
            "task": np.array(cube.tasks, dtype=object)[cube.task_of[item]],
            "item": np.array(cube.items, dtype=object)[item],
            "method": np.array(cube.methods, dtype=object)[method],
            "value": means[item, method],
            "scored": cube.scored[item, method, factor],
            "asked": due[item, method],
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
