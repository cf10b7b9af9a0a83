"""The tidy score table as compact arrays: edits by item, method and factor, repeats averaged.

Also what a table may be given before: an overall derived again with other weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError, nearest
from lmmscore.records import OVERALL, Outcome
from lmmscore.stats.arrays import Floats, Ints

_NEEDED = ("item", "task", "method", "factor", "score")


@dataclass(frozen=True)
class Cube:
    """Scores of edits. Axes are item, method, factor;
    an item is known by its task and its id together."""

    items: tuple[str, ...]
    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    factors: tuple[str, ...]
    task_of: Ints
    """For each item, the index of its task."""
    mean: Floats
    """Mean over an edit's scored repeats; NaN where none was scored."""
    scored: Ints
    """How many repeats of an edit gave a score."""
    asked: Ints
    """Item × method: judgements asked for; 0 where the method was not entered for the task."""
    absent: Ints
    """How many of them were left out for a factor: not asked of the item, or said not to apply."""

    def select(self, task: str) -> Cube:
        """Return the items of one task and the methods entered for it."""
        rows = np.flatnonzero(self.task_of == self.tasks.index(task))
        columns = np.flatnonzero(self.asked[rows].any(axis=0))
        return Cube(
            items=tuple(self.items[i] for i in rows),
            tasks=(task,),
            methods=tuple(self.methods[i] for i in columns),
            factors=self.factors,
            task_of=np.zeros(len(rows), dtype=np.int64),
            mean=self.mean[np.ix_(rows, columns)],
            scored=self.scored[np.ix_(rows, columns)],
            asked=self.asked[np.ix_(rows, columns)],
            absent=self.absent[np.ix_(rows, columns)],
        )

    def factor(self, name: str) -> int:
        """Return the index of a factor; raise for one these scores do not have."""
        if name not in self.factors:
            known = ", ".join(self.factors)
            raise LmmscoreError(
                f"no factor {name!r} in these scores{nearest(name, self.factors)}; known: {known}"
            )
        return self.factors.index(name)

    def due(self, factor: int) -> Ints:
        """Return item × method: judgements that ought to have given a score of the factor."""
        found: Ints = np.maximum(self.asked - self.absent[:, :, factor], 0)
        return found

    def filled(self, factor: int, value: float) -> Floats:
        """Return item × method means with every hole counted as `value`;
        NaN only where nothing was asked."""
        scored, due = self.scored[:, :, factor], self.due(factor)
        total = np.where(scored > 0, self.mean[:, :, factor], 0.0) * scored + (due - scored) * value
        return np.where(due > 0, total / np.maximum(due, 1), np.nan)

    def holes(self, factor: int) -> int:
        """Return how many judgements gave no score, of those that ought to."""
        return int((self.due(factor) - self.scored[:, :, factor]).sum())


def tabulate(scores: pd.DataFrame) -> Cube:
    """Return the score table as arrays. Raises when it lacks a column
    or holds a judgement twice."""
    missing = [name for name in _NEEDED if name not in scores.columns]
    if missing:
        raise LmmscoreError(
            f"the scores lack the column {missing[0]!r}; they need {', '.join(_NEEDED)}"
        )
    if scores.empty:
        raise LmmscoreError("there are no scores to rank: the table is empty")
    task, tasks = _codes(scores["task"])
    item, pairs = _item_codes(task, scores["item"])
    method, methods = _codes(scores["method"])
    factor, factors = _codes(scores["factor"])
    repeat = _repeats(scores)
    shape = (len(pairs), len(methods), len(factors))
    cell = np.ravel_multi_index((item, method, factor), shape)
    _refuse_twice(scores, cell * (int(repeat.max()) + 1) + repeat)
    value = scores["score"].to_numpy(dtype=np.float64, na_value=np.nan)
    total, scored = _sums(cell, value, shape)
    task_of = np.array([code for code, _ in pairs], dtype=np.int64)
    return Cube(
        items=tuple(name for _, name in pairs),
        tasks=tasks,
        methods=methods,
        factors=factors,
        task_of=task_of,
        mean=np.where(scored > 0, total / np.maximum(scored, 1), np.nan),
        scored=scored,
        asked=_asked(item, method, repeat, task_of, shape),
        absent=_absent(scores, cell, shape),
    )


def codes_of(scores: pd.DataFrame, keys: Sequence[str]) -> Ints:
    """Number the lines by the values of some columns, in order of first appearance."""
    found = np.zeros(len(scores), dtype=np.int64)
    for key in keys:
        codes, names = pd.factorize(scores[key])
        found = pd.factorize(found * max(len(names), 1) + codes)[0].astype(np.int64)
    return found


def _codes(column: pd.Series) -> tuple[Ints, tuple[str, ...]]:
    codes, names = pd.factorize(column)
    if (codes < 0).any():
        raise LmmscoreError(f"a score has no {column.name}; every line must name one")
    return codes.astype(np.int64), tuple(str(name) for name in names)


def _item_codes(task: Ints, column: pd.Series) -> tuple[Ints, Sequence[tuple[int, str]]]:
    """Number items by task and id: two tasks may well both have an item 1."""
    name, names = _codes(column)
    codes, both = pd.factorize(task * len(names) + name)
    return codes.astype(np.int64), [
        (int(key) // len(names), names[int(key) % len(names)]) for key in both
    ]


def _repeats(scores: pd.DataFrame) -> Ints:
    if "repeat" not in scores.columns:
        return np.ones(len(scores), dtype=np.int64)
    return scores["repeat"].to_numpy(dtype=np.int64)


def _refuse_twice(scores: pd.DataFrame, key: Ints) -> None:
    # Averaging a judgement with itself would shrink every interval; that must not happen silently.
    if len(np.unique(key)) < len(key):
        line = scores[pd.Series(key, index=scores.index).duplicated()].iloc[0]
        place = f"item {line['item']}, method {line['method']}, factor {line['factor']}"
        raise LmmscoreError(f"the scores hold {place} twice for the same repeat; keep one of them")


def _sums(cell: Ints, value: Floats, shape: tuple[int, ...]) -> tuple[Floats, Ints]:
    size = int(np.prod(shape))
    good = np.isfinite(value)
    total: Floats = (
        np.bincount(cell[good], weights=value[good], minlength=size).astype(float).reshape(shape)
    )
    return total, np.bincount(cell[good], minlength=size).reshape(shape).astype(np.int64)


def _absent(scores: pd.DataFrame, cell: Ints, shape: tuple[int, ...]) -> Ints:
    if "outcome" not in scores.columns:
        return np.zeros(shape, dtype=np.int64)
    left_out = (scores["outcome"] == Outcome.ABSENT.value).to_numpy()
    counts = np.bincount(cell[left_out], minlength=int(np.prod(shape)))
    return counts.reshape(shape).astype(np.int64)


def _asked(item: Ints, method: Ints, repeat: Ints, task_of: Ints, shape: tuple[int, ...]) -> Ints:
    """Count the judgements asked for: an item's repeats, for every method entered for its task.

    A method without a line about an item of a task it takes part in has a hole there. A method
    without any
    line in a task was not entered for it, and has none.
    """
    sessions = np.unique(item * (int(repeat.max()) + 1) + repeat) // (int(repeat.max()) + 1)
    repeats = np.bincount(sessions, minlength=shape[0])
    entered = np.zeros((int(task_of.max()) + 1, shape[1]), dtype=bool)
    entered[task_of[item], method] = True
    return np.where(entered[task_of], repeats[:, None], 0).astype(np.int64)


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
