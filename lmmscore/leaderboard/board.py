"""What a leaderboard is: tables of rows with their uncertainty, the differences they rest on,
and the sentences that belong around them.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError, alternatives, counted, listed
from lmmscore.records import OVERALL, SAME, Outcome, percent
from lmmscore.stats.resampling import (
    EXACT_UP_TO,
    Floats,
    Ints,
    Limits,
    as_json,
    fewest_items,
    holm,
    item_weights,
    letters,
    mean_limits,
    rank_limits,
    rounded,
    sign_flip_p,
)

# --------------------------------------------------------------------------------------------------
# A small drawing for notebooks: dots with their intervals, one line each, as SVG. No plotting
# package is needed.
# --------------------------------------------------------------------------------------------------

_Place = Callable[[float], float]
_LINE, _LEFT, _WIDTH, _RIGHT = 22, 180, 360, 60


@dataclass(frozen=True, slots=True)
class Whisker:
    """A value with its interval; None where there is none."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None


def draw(whiskers: Sequence[Whisker], title: str) -> str:
    """Return the drawing, or nothing where no value can be drawn."""
    ends = [
        end
        for w in whiskers
        for end in (w.value, w.low, w.high)
        if end is not None and math.isfinite(end)
    ]
    if not ends:
        return ""

    low, high = min(ends), max(ends)
    room = (high - low) * 0.05 or 0.5

    def x(value: float) -> float:
        return _LEFT + (value - low + room) / (high - low + 2 * room) * _WIDTH

    height = _LINE * (len(whiskers) + 1)
    width = _LEFT + _WIDTH + _RIGHT
    lines = [_line(whisker, x, _LINE * (number + 0.5)) for number, whisker in enumerate(whiskers)]
    axis = "".join(
        f'<text x="{x(end):.1f}" y="{height - 5}" text-anchor="middle" font-size="11" '
        f'fill="#6b7280">{end:.2f}</text>'
        for end in dict.fromkeys((low, high))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{html.escape(title)}</title>'
        f"{''.join(lines)}{axis}</svg>"
    )


def _line(whisker: Whisker, x: _Place, y: float) -> str:
    label = whisker.label if len(whisker.label) <= 24 else whisker.label[:23] + "…"
    words = (
        f'<text x="{_LEFT - 10}" y="{y + 4:.1f}" text-anchor="end" fill="currentColor">'
        f"{html.escape(label)}</text>"
    )
    if whisker.value is None or not math.isfinite(whisker.value):
        return words

    bar = ""
    if whisker.low is not None and whisker.high is not None:
        ends = f'x1="{x(whisker.low):.1f}" x2="{x(whisker.high):.1f}" y1="{y:.1f}" y2="{y:.1f}"'
        bar = f'<line {ends} stroke="#2563eb" stroke-width="2"/>'

    return f'{words}{bar}<circle cx="{x(whisker.value):.1f}" cy="{y:.1f}" r="4" fill="#2563eb"/>'


# --------------------------------------------------------------------------------------------------
# The tidy score table as compact arrays: edits by item, method and factor, repeats averaged.
#
# Also what a table may be given before: an overall derived again with other weights.
# --------------------------------------------------------------------------------------------------

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

    A method without a line about an item of a task it takes part in has a missing score there. A
    method without any line in a task was not entered for it.
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
    """Return one line per edit, made from that of its first unscored factor, or else of its first
    factor."""
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


# --------------------------------------------------------------------------------------------------
# What a leaderboard is: tables of rows with their uncertainty, the differences they rest on, and
# the sentences that belong around them.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher one method scored than another on the items both have."""

    first: str
    second: str
    difference: float | None
    interval: Limits | None
    p: float | None
    """Two-sided, of the permutation test; None without an item in common."""
    p_holm: float | None
    """The same, corrected for all the pairs of the table."""
    n: int
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class Differences:
    """Every pair of a table's methods, in the order of the table."""

    methods: tuple[str, ...]
    pairs: tuple[Difference, ...]
    exact: bool
    """Whether every sign pattern was tried."""
    alpha: float = 0.05
    tests: int = 0
    """How many tests the correction is for: the pairs of this table, or of several."""
    flips: bool = True
    """Whether signs were flipped: then few items cannot be significant, however large the lead."""

    def significant(self) -> list[Difference]:
        """Return the pairs with a significant difference."""
        return [d for d in self.pairs if d.p_holm is not None and d.p_holm <= self.alpha]

    @property
    def items(self) -> int:
        """The most items that any two methods have in common."""
        return max((d.n for d in self.pairs), default=0)

    @property
    def fewest_items(self) -> int:
        """Items with which any of the tests could be significant at all."""
        if not self.flips:
            return 0
        return fewest_items(max(self.tests, len(self.pairs), 1), self.alpha)

    def won(self) -> set[tuple[str, str]]:
        """Return the winner and the loser of every significant difference."""
        found = set()
        for d in self.significant():
            ahead = d.difference is not None and d.difference > 0
            found.add((d.first, d.second) if ahead else (d.second, d.first))
        return found

    def better_than(self, method: str) -> list[str]:
        """Return the methods that are significantly ahead of one."""
        won = self.won()
        return [name for name in self.methods if (name, method) in won]

    def groups(self) -> dict[str, str]:
        """Return each method's letters: between those that share one nothing is significant."""
        apart = {(d.first, d.second) for d in self.significant()}
        limits = self.rank_intervals()
        # Letters follow the comparisons, not the means: with missing scores the two may differ.
        names = sorted(self.methods, key=lambda method: limits[method])
        return letters(names, apart)

    def rank_intervals(self) -> dict[str, tuple[int, int]]:
        """Return the ranks that the significant differences leave open for each method."""
        return rank_limits(list(self.methods), self.won())

    def contradictions(self) -> list[Difference]:
        """Return the pairs whose order by mean is the opposite of their paired difference.

        The methods stand by mean, best first, so the first of a pair has the higher mean. Only
        missing scores can make its paired difference negative.
        """
        return [d for d in self.pairs if d.difference is not None and d.difference < -SAME]

    def win_matrix(self) -> list[list[int | None]]:
        """Return on how many items the method of a row won against that of a column."""
        at = {method: i for i, method in enumerate(self.methods)}
        matrix: list[list[int | None]] = [[None] * len(self.methods) for _ in self.methods]
        for d in self.pairs:
            matrix[at[d.first]][at[d.second]] = d.wins
            matrix[at[d.second]][at[d.first]] = d.losses
        return matrix

    def as_list(self, decimals: int | None = None) -> list[dict[str, Any]]:
        """Return the pairs for JSON."""
        found = []
        for d in self.pairs:
            # p-values keep their digits: two decimals would make many of them 0.
            exact = {"p": rounded(d.p, None), "p_holm": rounded(d.p_holm, None)}
            found.append(as_json(d, decimals) | exact)

        return found


def differences(
    values: Floats,
    methods: Sequence[str],
    *,
    strata: Ints | None,
    level: float,
    draws: int,
    rng: np.random.Generator,
) -> Differences:
    """Compare every two methods of an item × method array on the items both have.

    `strata` is the task of each item where the mean is over tasks, else None. `draws` is how many
    sign patterns are drawn where not all of them can be tried. Not yet corrected: see `corrected`.
    """
    pairs = list(combinations(range(len(methods)), 2))
    p_values = sign_flip_p(values, pairs, strata, draws=draws, rng=rng)
    found = []
    for (a, b), p in zip(pairs, p_values, strict=True):
        gaps = values[:, a] - values[:, b]
        found.append(_difference(methods[a], methods[b], gaps, strata, level, float(p)))

    return Differences(
        methods=tuple(methods),
        pairs=tuple(found),
        exact=len(values) <= EXACT_UP_TO,
        alpha=round(1 - level, 12),
    )


def _difference(
    first: str, second: str, gaps: Floats, strata: Ints | None, level: float, p: float
) -> Difference:
    known = gaps[np.isfinite(gaps)]
    shared = len(known) > 0
    mean = float(np.nansum(gaps * item_weights(gaps[:, None], strata)[:, 0]))
    return Difference(
        first=first,
        second=second,
        n=len(known),
        difference=mean if shared else None,
        interval=mean_limits(gaps, strata, level=level),
        p=p if shared else None,
        p_holm=None,
        wins=int((known > SAME).sum()),
        ties=int((np.abs(known) <= SAME).sum()),
        losses=int((known < -SAME).sum()),
    )


def corrected(tables: Sequence[Differences]) -> list[Differences]:
    """Return the tables with p-values corrected by Holm over the pairs of all of them together."""
    raw = [d.p for table in tables for d in table.pairs if d.p is not None]
    adjusted = iter(holm(np.array(raw, dtype=np.float64)))
    found = []
    for table in tables:
        pairs = []
        for d in table.pairs:
            p_holm = None if d.p is None else float(next(adjusted))
            pairs.append(replace(d, p_holm=p_holm))

        found.append(replace(table, pairs=tuple(pairs), tests=len(raw)))

    return found


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One method's line. A figure that the data cannot give is None, never 0 and never NaN."""

    rank: int | None
    """1 + the number of methods with a higher mean; ties share it. None when no edit was scored."""
    method: str
    mean: float | None
    std: float | None
    """Sample standard deviation over items; None with fewer than two."""
    n: int
    """Items the mean is over."""
    coverage: float
    """Share of the judgements asked for (edits × repeats) that gave a score."""
    factors: Mapping[str, float | None]
    """Mean of each factor, over the same items as far as they are scored."""
    mean_interval: Limits | None = None
    rank_interval: tuple[int, int] | None = None
    """Ranks that the significant differences leave open, right for all methods together."""
    rank_range: tuple[int, int] | None = None
    """Best and worst rank, whatever the missing scores would have been."""
    group: str = ""
    """Letters: between two methods that share one there is no significant difference."""
    items: int = 0
    """Items this method was entered for."""
    common_mean: float | None = None
    """Mean over the items that every ranked method has a score for; None where all have all."""

    def as_dict(self, decimals: int | None) -> dict[str, Any]:
        """Return the line for JSON."""
        return as_json(self, decimals)


@dataclass(frozen=True, slots=True)
class BoardTable:
    """The methods ranked on one factor, in one task category or over all (`task` is None)."""

    task: str | None
    factor: str
    rows: tuple[BoardRow, ...]
    caption: str
    """Which mean this is, over how many items, and how missing scores were treated."""
    rule: str = ""
    """The part of the caption that is the same for all tables of a leaderboard."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before the figures: missing scores first."""
    notes: tuple[str, ...] = ()
    """What the data cannot say: few items, equal scores, one method."""
    differences: Differences | None = None
    holes: int = 0
    """Judgements without a score."""
    common_items: int | None = None
    """Items that every ranked method has a score for; None where nothing is missing."""
    among: tuple[str, ...] = ()
    """The task categories a table without a task is over, where it is not all of them."""

    def row(self, method: str) -> BoardRow:
        """Return the line of `method`."""
        return next(row for row in self.rows if row.method == method)

    @property
    def verdict(self) -> str:
        """One sentence: who is first, and over whom that is significant."""
        ranked = [row for row in self.rows if row.rank is not None]
        if not ranked:
            return "No edit was scored: nothing can be ranked."

        first, *others = [row.method for row in ranked]
        if not others:
            return f"{first} is the only method with scores."

        leaders = [row.method for row in ranked if row.rank == 1]
        tests = self.differences
        if tests is not None and (better := tests.better_than(leaders[-1])):
            # Only missing scores can do this: the higher mean is over other items.
            said = f"{listed(leaders)} {'has' if len(leaders) == 1 else 'have'} the highest mean"
            scores = "scores" if len(better) == 1 else "score"
            return (
                f"{said}, but {listed(better)} {scores} significantly higher on the items both "
                "have: the missing scores decide who is first."
            )

        if len(leaders) > 1:
            return f"{listed(leaders)} share the first rank."
        if tests is None:
            return f"{first} has the highest mean; no differences were tested."

        if tests.items < tests.fewest_items:
            few = f"{counted(tests.items, 'item')} {'is' if tests.items == 1 else 'are'} too few"
            return f"{first} has the highest mean; {few} for any difference to be significant."

        return _lead(first, others, tests)

    def records(self) -> list[dict[str, Any]]:
        """Return one flat line per method.

        A factor that has the name of a column is marked as a factor.
        """
        return [_record(self, row) for row in self.rows]

    def as_dict(self, decimals: int | None) -> dict[str, Any]:
        """Return the table for JSON."""
        return {
            "task": self.task,
            "factor": self.factor,
            **({"among": list(self.among)} if self.among else {}),
            "verdict": self.verdict,
            "caption": self.caption,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "common_items": self.common_items,
            "rows": [row.as_dict(decimals) for row in self.rows],
            "differences": self.differences.as_list(decimals) if self.differences else [],
        }


def _record(table: BoardTable, row: BoardRow) -> dict[str, Any]:
    mean, rank, holes = row.mean_interval, row.rank_interval, row.rank_range
    lead = {
        "task": table.task,
        "factor": table.factor,
        "rank": row.rank,
        "method": row.method,
        "mean": row.mean,
        "std": row.std,
        "n": row.n,
        "coverage": row.coverage,
    }
    rest = {
        "mean_low": mean[0] if mean else None,
        "mean_high": mean[1] if mean else None,
        "rank_low": rank[0] if rank else None,
        "rank_high": rank[1] if rank else None,
        "rank_best": holes[0] if holes else None,
        "rank_worst": holes[1] if holes else None,
        "group": row.group,
        "common_mean": row.common_mean,
    }
    taken = {*lead, *rest}
    factors = {
        f"factor_{name}" if name in taken else name: value for name, value in row.factors.items()
    }
    return {**lead, **factors, **rest}


_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def _lead(first: str, others: Sequence[str], tests: Differences) -> str:
    """Return over whom the first method's lead is significant."""
    won = tests.won()
    close = [name for name in others if (first, name) not in won]
    if not close:
        return f"{first} ranks first, significantly ahead of all others."
    if len(close) == len(others):
        return f"{first} has the highest mean, but is not significantly ahead of any other method."

    top = {first, *close}
    apart = any({*pair} <= top for pair in won)
    if close == list(others[: len(close)]) and not apart:
        many = _NUMBERS.get(len(top), str(len(top)))
        return f"{first} ranks first; no significant difference among the first {many}."

    return f"{first} ranks first, but not significantly ahead of {listed(close)}."


class RankedTable(Protocol):
    """What a leaderboard needs of a table: of scores, or of pairwise comparisons."""

    def records(self) -> list[dict[str, Any]]:
        """Return one flat line per method."""
        ...

    def as_dict(self, decimals: int | None) -> dict[str, Any]:
        """Return the table for JSON; `decimals` None rounds nothing."""
        ...


TableType = TypeVar("TableType", bound=RankedTable)


@dataclass(frozen=True, slots=True)
class RankedTables(Generic[TableType]):
    """The tables of a run, with what holds for all of them."""

    tables: tuple[TableType, ...]
    notes: tuple[str, ...] = ()
    caution: str = ""
    """What the judge's own limits mean for every figure here; shown with every table."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What these figures depend on besides the scores: the level, the seed and so on."""

    def to_frame(self) -> pd.DataFrame:
        """Return one line per table and method, with intervals as low and high columns."""
        return pd.DataFrame([line for table in self.tables for line in table.records()])

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the JSON object: `{"tables": [{"task", "rows": [...]}]}` and what explains it."""
        return {
            "tables": [table.as_dict(decimals) for table in self.tables],
            "notes": list(self.notes),
            "caution": self.caution,
            "settings": dict(self.settings),
        }

    def to_json(self, decimals: int | None = None) -> str:
        """Return the same as text."""
        return json.dumps(self.as_dict(decimals), ensure_ascii=False, indent=2) + "\n"


@dataclass(frozen=True, slots=True)
class Leaderboard(RankedTables[BoardTable]):
    """The tables of a run's scores; `lmmscore.report` renders them."""

    def table(self, task: str | None = None, factor: str | None = None) -> BoardTable:
        """Return the table of a task category and a factor.

        `task` None is the table over all categories, `factor` None the first there is. Raises
        KeyError for a table there is not.
        """
        for table in self.tables:
            if table.task == task and factor in (None, table.factor):
                return table
        raise KeyError(f"no table for task {task!r}, factor {factor!r}")

    def _repr_html_(self) -> str:
        """Return the tables as a notebook shows them, the warnings above the figures."""
        parts = [f"<p><strong>{html.escape(self.caution)}</strong></p>"] if self.caution else []
        for table in self.tables:
            parts += [f"<p>{html.escape(text)}</p>" for text in (*table.warnings, table.caption)]
            shown = pd.DataFrame(table.records()).drop(columns=["task", "factor"], errors="ignore")
            parts.append(shown.to_html(index=False, na_rep="–", float_format="{:.2f}".format))
            marks = [
                Whisker(row.method, row.mean, *(row.mean_interval or (None, None)))
                for row in table.rows
            ]
            parts.append(draw(marks, f"Means with their intervals: {table.caption}"))
            parts += small_print(table.notes)

        return "\n".join([*parts, *small_print(self.notes)])


def small_print(notes: Sequence[str]) -> list[str]:
    """Return notes as a notebook shows them below a table."""
    return [f"<p><small>{html.escape(text)}</small></p>" for text in notes]


VERY_FEW_ITEMS = 5
MANY_ITEMS = 75
"""Items from which on the mean of skewed scores is near enough to normal."""

NAMED = 3
"""Contradictions that are listed; the rest are only counted."""


def table_caption(
    factor: str, *, task: str | None, items: int, tasks: int, average: str, rule: str
) -> str:
    """Return which mean the table shows and over what, then the rule by which it is derived."""
    over = f"over {counted(items, 'item')}"
    if task is None:
        categories = counted(tasks, "task category", "task categories")
        over += f" of {categories}"
        if average == "tasks":
            over = f"over {categories}, each the mean of its items"

    return f"Mean {factor} {over}; {rule}."


def table_rule(*, repeats: int, missing: str, lowest: float) -> str:
    """Return what is averaged first, what the std is over, and the rule for missing scores."""
    first = f"an edit's {repeats} repeats averaged first; " if repeats > 1 else ""
    return f"{first}std over items; {missing_rule(missing, lowest)}"


def missing_rule(missing: str, lowest: float | None) -> str:
    """Return what is done with missing scores; `lowest` is None where factors differ in it."""
    if missing == "exclude":
        return "missing scores excluded (--missing exclude)"
    value = "the lowest score of the factor"
    if lowest is not None:
        value = f"{lowest:g}, the lowest score"
    return f"missing scores counted as {value} (--missing {missing})"


def missing_warning(
    missing: int, asked: int, reasons: Mapping[str, int], rows: Sequence[BoardRow]
) -> str:
    """Return the sentence above a table with missing scores."""
    why = ", ".join(f"{count} {outcome}" for outcome, count in reasons.items() if count)
    short = [f"{row.method} {percent(row.coverage)}" for row in rows if row.coverage < 1]
    rest = "; all others in full" if len(short) < len(rows) else ""
    total = counted(asked, "judgement")
    return f"{missing} of {total} gave no score ({why}). Scored: {', '.join(short)}{rest}."


def left_out_note(factor: str, edits: int, of: int) -> str:
    """Return how many edits a factor does not count for."""
    return (
        f"{factor} was left out for {edits} of {counted(of, 'edit')}: not asked of their items, or "
        "said not to apply. It does not count there, and is no missing score."
    )


def range_warning(rows: Sequence[BoardRow], scale: tuple[float, float], *, observed: bool) -> str:
    """Return which ranks the missing scores could change, given what they may have been."""
    ranges = [(row.method, *row.rank_range) for row in rows if row.rank_range is not None]
    open_ranks = [f"{method} {best}–{worst}" for method, best, worst in ranges if best != worst]
    basis = "the range of scores seen" if observed else "the scale"
    within = f"between {scale[0]:g} and {scale[1]:g}, {basis}"
    if not open_ranks:
        return f"No rank depends on the missing scores (taken {within})."
    return f"Ranks the missing scores allow ({within}): {', '.join(open_ranks)}."


def contradiction_warning(tests: Differences) -> str:
    """Return which methods rank above others that beat them on the items both have; "" for none.

    A few significant ones are listed, the rest are counted.
    """
    found = tests.contradictions()
    if not found:
        return ""

    sure = [d for d in found if d.p_holm is not None and d.p_holm <= tests.alpha]
    sure.sort(key=lambda d: d.difference or 0.0)
    said = [_contradiction(d) for d in sure[:NAMED]]
    rest = len(found) - len(said)
    if rest:
        more = "more pairs" if said else "pairs"
        verb = "are" if rest > 1 else "is"
        noun = more if rest > 1 else more.removesuffix("s")
        said.append(f"{rest} {noun} {verb} ordered against the items both have")

    return "The order contradicts paired differences: " + "; ".join(said) + "."


def _contradiction(d: Difference) -> str:
    p = "p < 0.001" if d.p_holm is not None and d.p_holm < 0.001 else f"p = {d.p_holm:.3f}"
    return (
        f"{d.first} ranks above {d.second}, but scores {abs(d.difference or 0):.2f} lower on the "
        f"{counted(d.n, 'item')} both have ({p})"
    )


def common_note(items: int, methods: int) -> str:
    """Return what the means over common items are over."""
    if not items:
        return (
            f"No item has a score of all {methods} methods, so there is no mean over common items."
        )
    return f"Common mean: over the {counted(items, 'item')} scored for all {methods} methods."


def table_notes(
    rows: Sequence[BoardRow],
    items: int,
    tests: Differences | None,
    *,
    skewed: Sequence[str],
    alone: Sequence[str],
) -> list[str]:
    """Return what a reader must know about thin data, in plain words.

    `skewed` are the methods whose scores are so skewed that Student's t is too sure of itself,
    `alone` those with a single score in some category, where the mean is over categories.
    """
    ranked = [row for row in rows if row.mean is not None]
    if not ranked:
        return ["No edit was scored: there is nothing to rank."]

    found = []
    if len(ranked) == 1:
        found.append("One method: there is nothing to rank it against.")
    elif len({row.rank for row in ranked}) == 1:
        found.append("All methods have the same mean: they share rank 1.")

    found += _few(ranked, items, skewed, alone)
    if unscored := [row.method for row in rows if row.mean is None]:
        found.append(f"Without any score, and so without a rank: {', '.join(unscored)}.")

    if tests is not None and tests.pairs and items > 1:
        found.append(_test_note(tests, items))

    return found


def _few(
    rows: Sequence[BoardRow], items: int, skewed: Sequence[str], alone: Sequence[str]
) -> list[str]:
    if items == 1:
        return ["One item: no standard deviation, no interval and no test."]

    found = []
    if single := [row.method for row in rows if row.n == 1]:
        found.append(f"With one score there is no spread and no interval: {', '.join(single)}.")

    if flat := [row.method for row in rows if row.n > 1 and row.std == 0]:
        found.append(f"All scores equal, so there is no interval: {', '.join(flat)}.")

    if alone:
        found.append(
            f"With one score in a task category there is no interval of the mean over categories: "
            f"{', '.join(alone)}."
        )

    if items < VERY_FEW_ITEMS:
        found.append(f"{items} items are very few: nothing here can be concluded from them.")
    elif skewed and items < MANY_ITEMS:
        found.append(
            f"With {items} items, intervals of means hold less often than stated where scores are "
            f"skewed: {listed(skewed)}."
        )

    return found


def _test_note(tests: Differences, items: int) -> str:
    ways = "exact" if tests.exact else "sampled"
    over = counted(tests.tests or len(tests.pairs), "pair")
    how = f"paired sign-flip test over items, {ways}, Holm-corrected over {over}"
    if tests.tests > len(tests.pairs):
        how += " of all tables"

    needed = tests.fewest_items
    if items < needed:
        return (
            f"With {items} items no difference, however large, could reach {tests.alpha:.0%} "
            f"({how}); {needed} items are the least: the groups say nothing here."
        )

    return (
        f"No significant difference at {tests.alpha:.0%} between methods that share a letter "
        f"({how}); rank intervals are from the same tests and hold for all methods together."
    )


def uneven_entries(entered: Mapping[str, int], tasks: int) -> str:
    """Return the warning for a table over all categories not entered by all methods alike."""
    part = [f"{method} {count} of {tasks}" for method, count in entered.items() if count < tasks]
    said = "Not every method was entered for every task, so these means are over different items"
    return f"{said}: {', '.join(part)}."
