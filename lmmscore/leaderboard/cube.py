"""The tidy score table as arrays: edits by item, method and factor, repeats averaged.

Also what is done with such a table before anything is ranked: an overall derived again with other
weights, the choice of factors and tasks, and plain means of groups of edits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError, alternatives
from lmmscore.records import OVERALL, Outcome
from lmmscore.stats import Floats, Ints, as_json, sample_std

Missing = Literal["exclude", "worst"]

Scales = Mapping[str, tuple[float, float]]

_NEEDED = ("item", "task", "method", "factor", "score")


@dataclass(frozen=True)
class Cube:
    """Scores of edits. Axes are item, method, factor; an item is identified by task and id."""

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
            raise LmmscoreError(
                f"no factor {name!r} in these scores{alternatives(name, self.factors)}"
            )
        return self.factors.index(name)

    def due(self, factor: int) -> Ints:
        """Return item × method: judgements that should have given a score of the factor."""
        found: Ints = np.maximum(self.asked - self.absent[:, :, factor], 0)
        return found

    def filled(self, factor: int, value: float) -> Floats:
        """Return item × method means with missing scores counted as `value`;
        NaN only where nothing was asked."""
        scored, due = self.scored[:, :, factor], self.due(factor)
        total = np.where(scored > 0, self.mean[:, :, factor], 0.0) * scored + (due - scored) * value
        return np.where(due > 0, total / np.maximum(due, 1), np.nan)

    def holes(self, factor: int) -> int:
        """Return how many judgements lack a score that they should have given."""
        return int((self.due(factor) - self.scored[:, :, factor]).sum())


def tabulate(scores: pd.DataFrame) -> Cube:
    """Return the score table as arrays; raise where a column is missing or a judgement repeated."""
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
    # One number per cell: counting and summing by cell is then a single pass, however many lines.
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
        return np.zeros(len(scores), dtype=np.int64)
    return np.unique(scores["repeat"].to_numpy(dtype=np.int64), return_inverse=True)[1]


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
    counts = np.bincount(cell[_left_out(scores)], minlength=int(np.prod(shape)))
    return counts.reshape(shape).astype(np.int64)


def _asked(item: Ints, method: Ints, repeat: Ints, task_of: Ints, shape: tuple[int, ...]) -> Ints:
    """Count the judgements asked for: an item's repeats, for every method entered for its task.

    A method without a line about an item of a task it takes part in has a missing score there. A
    method without any line in a repeat of a task was not entered for it: runs of other methods that
    are pooled, or of which one was repeated more often, lack nothing.
    """
    repeats = int(repeat.max()) + 1
    of_item, of_repeat = np.divmod(np.unique(item * repeats + repeat), repeats)
    entered = np.zeros((int(task_of.max()) + 1, repeats, shape[1]), dtype=bool)
    entered[task_of[item], repeat, method] = True
    asked = np.zeros(shape[:2], dtype=np.int64)
    np.add.at(asked, of_item, entered[task_of[of_item], of_repeat])
    return asked


# --------------------------------------------------------------------------------------------------
# What is wanted of the scores: some factors, some tasks, and the ends of their scales.
# --------------------------------------------------------------------------------------------------


def scale_ends(cube: Cube, known: Scales) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest score of every factor: as known, or else as seen."""
    return {name: known.get(name) or _seen(cube, name) for name in cube.factors}


def _seen(cube: Cube, factor: str) -> tuple[float, float]:
    """Return the lowest and highest edit of a factor: all there is without its scale."""
    values = cube.mean[:, :, cube.factor(factor)]
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)


def chosen_factors(cube: Cube, wanted: str | Sequence[str]) -> list[str]:
    """Return the factors to rank by: each in turn for `all`, and where nothing has an overall."""
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if not names:
        raise LmmscoreError(f"factor is empty; name one of: {', '.join(cube.factors)}")

    if "all" in names:
        names = sorted(cube.factors, key=lambda name: name != OVERALL)
    elif names == [OVERALL] and not _scored(cube, OVERALL):
        # A dialog may have no overall at all; its factors are then all there is to rank by.
        scored = [name for name in cube.factors if _scored(cube, name)]
        names = scored or [OVERALL if OVERALL in cube.factors else cube.factors[0]]

    for name in names:
        cube.factor(name)

    return names


def _scored(cube: Cube, factor: str) -> bool:
    return factor in cube.factors and bool(cube.scored[:, :, cube.factor(factor)].any())


def chosen_tasks(known: Sequence[str], wanted: str | Sequence[str]) -> list[str]:
    """Return the tasks named; raise for none, and for one that is not known."""
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if not names:
        raise LmmscoreError(f"task is empty; name one of: {', '.join(known)}")

    for name in names:
        if name not in known:
            raise LmmscoreError(f"no task {name!r} here{alternatives(name, known)}")

    return names


# --------------------------------------------------------------------------------------------------
# Weights: an overall derived again from the factors.
# --------------------------------------------------------------------------------------------------


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
            raise LmmscoreError(f"no factor {name!r} to weigh{alternatives(name, factors)}")

        if weight < 0:
            raise LmmscoreError(f"the weight of {name} is {weight:g}; weights cannot be negative")
        if not np.isfinite(weight):
            raise LmmscoreError(f"the weight of {name} is {weight:g}; weights are finite numbers")

    total = sum(weights.values())
    if total <= 0:
        none = "every weight is 0" if weights else "there are no weights"
        raise LmmscoreError(f"{none}; give at least one factor a weight")

    return {name: weights.get(name, 0.0) / total for name in factors}


def reweigh(
    scores: pd.DataFrame,
    weights: Mapping[str, float],
    *,
    scales: Scales | None = None,
    lower_better: Collection[str] = (),
) -> pd.DataFrame:
    """Return the scores with the overall of every edit derived from its factors.

    A factor of `lower_better` counts as lowest + highest − score, by its ends in `scales`. Raises
    where these are not known.

    An edit that lacks a factor with a weight has no overall: the reason of that factor becomes its
    own. A factor that was left out does not count, and the weights of the others grow in
    proportion.
    """
    stated = (scores["factor"] == OVERALL).to_numpy()
    names = [str(name) for name in scores.loc[~stated, "factor"].unique()]
    shares = normalised(weights, names)
    keys = [name for name in _EDIT if name in scores.columns]
    # By all lines: an edit whose overall alone has a line lacks its factors, and is missing.
    edit = codes_of(scores, keys)
    share = scores["factor"].map(shares).fillna(0.0).to_numpy(dtype=np.float64)
    value = _counted(scores, shares, scales or {}, lower_better)
    counts = np.isfinite(value) & (share > 0)
    total = np.bincount(
        edit[counts], weights=(share * value)[counts], minlength=edit.max(initial=-1) + 1
    )

    # A factor that was not asked is excused; one that was asked and not scored is missing, and
    # then there is no overall: a mean of what happened to be readable would be another figure.
    absent = _left_out(scores) & (share > 0)
    given = np.bincount(edit[counts], minlength=len(total))
    excused = np.bincount(edit[absent], minlength=len(total))
    complete = given + excused == sum(weight > 0 for weight in shares.values())
    # What was left out takes no share; without anything left out this divides by 1.
    left = 1 - np.bincount(edit[absent], weights=share[absent], minlength=len(total))
    overall = np.where(complete & (given > 0), total / np.where(given > 0, left, 1.0), np.nan)
    weighed = (share > 0) & (~absent | (given == 0)[edit])
    lines = _overalls(scores, edit, weighed, stated, overall)
    return pd.concat([lines, scores[~stated]], ignore_index=True)


def _counted(
    scores: pd.DataFrame,
    shares: Mapping[str, float],
    scales: Scales,
    lower_better: Collection[str],
) -> Floats:
    """Return what each score counts in an overall: that of a factor with low as good is turned."""
    value = scores["score"].to_numpy(dtype=np.float64, copy=True)
    for name in lower_better:
        if not shares.get(name):
            continue
        if name not in scales:
            raise LmmscoreError(
                f"low scores of {name} are the good ones, and its scale is not known, so that it "
                "cannot count in an overall; state the scale, or give it no weight"
            )

        own = (scores["factor"] == name).to_numpy()
        value[own] = sum(scales[name]) - value[own]

    return value


def _left_out(scores: pd.DataFrame) -> np.ndarray:
    if "outcome" not in scores.columns:
        return np.zeros(len(scores), dtype=bool)
    return (scores["outcome"] == Outcome.ABSENT.value).to_numpy()


def _overalls(
    scores: pd.DataFrame,
    edit: np.ndarray,
    weighed: np.ndarray,
    stated: np.ndarray,
    overall: np.ndarray,
) -> pd.DataFrame:
    """Return one line per edit, made from that of its first unscored factor, or else of its first
    factor, or else of the overall as stated."""
    bad = scores["score"].isna().to_numpy() & weighed
    order = np.lexsort((np.arange(len(scores)), stated, ~bad, edit))
    _, first = np.unique(edit[order], return_index=True)
    lines = scores.iloc[order[first]].copy()
    lines["factor"] = OVERALL
    # Weights are short decimals: what stands beyond the tenth place is noise, and would break ties.
    lines["score"] = np.round(overall, 10)
    if "outcome" in lines.columns:
        scored = lines["score"].notna()
        lines["outcome"] = lines["outcome"].astype(object).where(~scored, Outcome.SCORED.value)
        no_score = ~scored & (lines["outcome"] == Outcome.SCORED.value)
        lines.loc[no_score, "outcome"] = Outcome.UNREADABLE.value

    return lines


# --------------------------------------------------------------------------------------------------
# Plain means by any keys, which rank nothing: `--by task`, `--by method,factor` and so on.
# --------------------------------------------------------------------------------------------------


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
        figures = {"mean": self.mean, "std": self.std, "coverage": self.coverage, "n": self.n}
        return as_json({**self.keys, **figures}, decimals)


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
            raise LmmscoreError(f"--by: no key {name!r}{alternatives(name, KEYS)}")

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
    lower_better: Collection[str] = (),
) -> Groups:
    """Return mean, spread and coverage over the edits of each group, in the order they first occur.

    An edit's repeats are averaged first. Only the factors named count, and they are never averaged
    together: with several, the factor becomes a key. Missing scores are treated as in `rank`.
    """
    cube = tabulate(scores)
    wanted = chosen_factors(cube, factor)
    tasks = cube.tasks if task is None else chosen_tasks(cube.tasks, task)
    keys = list(by) if "factor" in by or len(wanted) == 1 else ["factor", *by]
    ends = scale_ends(cube, scales or {})
    found = []

    for name in wanted:
        hole = worst_end(ends[name], low=name in lower_better)
        edits = _edits(cube, cube.factor(name), hole if missing == "worst" else None)
        others = [key for key in keys if key != "factor"]
        chosen = edits[edits["task"].isin(tasks)]

        for key, part in chosen.groupby(others or (lambda _: 0), sort=False):
            values = key if isinstance(key, tuple) else (key,)
            own = dict(zip(others, map(str, values), strict=False))
            found.append(_group({k: own.get(k, name) for k in keys}, part))

    return Groups(tuple(keys), tuple(found), _caption(keys, wanted, missing, ends, lower_better))


def _caption(
    keys: Sequence[str],
    factors: Sequence[str],
    missing: Missing,
    ends: Scales,
    lower_better: Collection[str],
) -> str:
    what = "the factor named" if "factor" in keys else factors[0]
    low = [name for name in factors if name in lower_better]
    worst = {worst_end(ends[name], low=name in low) for name in factors}
    rule = missing_rule(missing, worst.pop() if len(worst) == 1 else None, low=bool(low))
    first = f"Mean of {what} over edits, their repeats averaged first"
    turned = f"; lower is better: {', '.join(low)}" if low else ""
    return f"{first}{turned}; std over edits; {rule}."


def worst_end(ends: tuple[float, float], *, low: bool) -> float:
    """Return the worst score of a scale; `low`: its low scores are the good ones."""
    return ends[1] if low else ends[0]


def missing_rule(missing: str, worst: float | None, *, low: bool = False) -> str:
    """Return what is done with missing scores; `worst` is None where factors differ in it.

    `low`: low scores are the good ones, of some factor at least.
    """
    if missing == "exclude":
        return "missing scores excluded (--missing exclude)"
    value = f"the {'worst' if low else 'lowest'} score of the factor"
    if worst is not None:
        value = f"{worst:g}, the {'highest' if low else 'lowest'} score"
    return f"missing scores counted as {value} (--missing {missing})"


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
        std=sample_std(known),
        n=int(known.size),
        coverage=float(part["scored"].sum() / part["asked"].sum()),
    )
