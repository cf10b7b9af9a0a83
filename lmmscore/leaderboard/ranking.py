"""Leaderboards: what they are, and how a tidy score table becomes one.

The methods of every task category, and of all together, ranked by their means.
"""

from __future__ import annotations

import html
import json
import math
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, TypeVar, get_args

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError, alternatives, counted, listed, refuse_unless_whole
from lmmscore.leaderboard.cube import (
    Cube,
    Missing,
    Scales,
    chosen_factors,
    chosen_tasks,
    missing_rule,
    normalised,
    reweigh,
    scale_ends,
    tabulate,
    worst_end,
)
from lmmscore.leaderboard.diagnostics import PositionEffect, position_effect
from lmmscore.leaderboard.differences import Difference, Differences, corrected, differences
from lmmscore.records import OVERALL, Outcome, fixed, percent
from lmmscore.scales import refuse_unless_scale
from lmmscore.stats import (
    SAME,
    Floats,
    Ints,
    Limits,
    as_json,
    column_means,
    draws_needed,
    mean_limits,
    ranks,
    sample_std,
)

# --------------------------------------------------------------------------------------------------
# What a leaderboard is: tables of rows with their uncertainty.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One method's line. A figure that the data cannot give is None, never 0 and never NaN."""

    rank: int | None
    """1 + the number of methods with a better mean; ties share it. None when no edit was scored."""
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
    explained: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns that a note is about, of notes that say nothing without them."""
    common_items: int | None = None
    """Items that every ranked method has a score for; None where nothing is missing."""
    among: tuple[str, ...] = ()
    """The task categories a table without a task is over, where it is not all of them."""
    level: float = 0.95
    """Of the intervals."""
    lower_better: tuple[str, ...] = ()
    """The factors whose low scores are the good ones; their figures are as they were given."""
    unranked: str = ""
    """Why no method has a rank, where it is not that no edit was scored."""

    @property
    def is_lower_better(self) -> bool:
        """Whether the lowest mean ranks first."""
        return self.factor in self.lower_better

    def row(self, method: str) -> BoardRow:
        """Return the line of `method`."""
        return next(row for row in self.rows if row.method == method)

    @property
    def verdict(self) -> str:
        """One sentence: who is first, and over whom that is significant."""
        ranked = [row for row in self.rows if row.rank is not None]
        if not ranked:
            return f"{self.unranked or 'No edit was scored'}: nothing can be ranked."

        first, *others = [row.method for row in ranked]
        if not others:
            return f"{first} is the only method with scores."

        leaders = [row.method for row in ranked if row.rank == 1]
        tests = self.differences
        best, better_scores = ("lowest", "lower") if self.is_lower_better else ("highest", "higher")
        if tests is not None and (better := tests.better_than(leaders)):
            # Only missing scores can do this: the better mean is over other items.
            said = f"{listed(leaders)} {'has' if len(leaders) == 1 else 'have'} the {best} mean"
            scores = "scores" if len(better) == 1 else "score"
            return (
                f"{said}, but {listed(better)} {scores} significantly {better_scores} on the items "
                "both have: the missing scores decide who is first."
            )

        if len(leaders) > 1:
            return f"{listed(leaders)} share the first rank."
        if tests is None:
            return f"{first} has the {best} mean; no differences were tested."

        if tests.items < tests.fewest_items:
            few = f"{counted(tests.items, 'item')} {'is' if tests.items == 1 else 'are'} too few"
            return f"{first} has the {best} mean; {few} for any difference to be significant."

        return _lead(first, others, tests, best)

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
            **({"lower_better": list(self.lower_better)} if self.lower_better else {}),
            "rows": [as_json(row, decimals) for row in self.rows],
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


def _lead(first: str, others: Sequence[str], tests: Differences, best: str) -> str:
    """Return over whom the first method's lead is significant; `best` mean is highest or lowest."""
    won = tests.won()
    close = [name for name in others if (first, name) not in won]
    if not close:
        return f"{first} ranks first, significantly ahead of all others."
    if len(close) == len(others):
        return f"{first} has the {best} mean, but is not significantly ahead of any other method."

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

    @property
    def test_notes(self) -> list[str]:
        """The notes that are about intervals and tests, and say nothing where none is shown."""
        return [_draws_note(self.settings)] if self.settings.get("resamples") else []

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
            parts.append(shown.to_html(index=False, na_rep="–", float_format=two_places))
            marks = [
                Whisker(row.method, row.mean, *(row.mean_interval or (None, None)))
                for row in table.rows
            ]
            parts.append(draw(marks, f"Means with their intervals: {table.caption}"))
            parts += small_print(table.notes)

        return "\n".join([*parts, *small_print(self.notes)])


# --------------------------------------------------------------------------------------------------
# From scores to tables.
# --------------------------------------------------------------------------------------------------


Average = Literal["items", "tasks"]

Family = Literal["table", "tables"]

SKEWED = 1.0
"""Skewness beyond which few items make intervals of means too narrow."""

DRAWS = 10_000
"""Sign patterns drawn at least, where not all of them can be tried."""


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
    resamples: int = DRAWS,
    seed: int = 0,
    holm: Family = "table",
    lower_better: Collection[str] = (),
    shown_order: str = "",
) -> Leaderboard:
    """Rank the methods of a tidy score table, for each task category and over all of them.

    An edit's repeats are averaged first, then items. `task` names the categories wanted (then there
    is no table over all), `factor` what to rank by (`"all"`: each in turn). `weights` derives the
    overall again from the factors. `missing="worst"` counts an unscored edit as the lowest value of
    `scales[factor]`, or the lowest seen where that is unknown. `lower_better` names the factors
    whose low scores are the good ones: their scores stay as they are, the lowest mean ranks first,
    the worst is the highest, and `weights` count them turned round. `average="tasks"` gives every
    category the same weight in the table over all.

    Intervals of means have Student's t. Differences are tested by flipping signs over items, with
    at least `resamples` random patterns (more where the correction needs them; 0 leaves intervals
    and tests out), reproducible by `seed`. `holm` says over what the tests are corrected: each
    table, or all of them together. `shown_order` is how the run ordered the edits, for advice.
    """
    low = frozenset(lower_better)
    if OVERALL in low:
        raise LmmscoreError("lower_better: an overall is always better the higher it is")

    rules = Rules(missing, average, dict(scales or {}), level, resamples, seed, holm, low)
    rules.check()
    if weights is not None:
        scores = reweigh(scores, weights, scales=rules.scales, lower_better=low)

    cube = tabulate(scores)

    # Over all tasks, before any is chosen: what one task alone shows of a scale is less.
    ends = scale_ends(cube, rules.scales)
    figures = []
    for key in chosen_factors(cube, factor):
        for name in _tasks(cube, task):
            part = cube if name is None else cube.select(name)
            figures.append(Figures(part, name, key, ends, rules))

    tests = _tests(figures, rules)
    outcomes = _outcomes(scores)
    tables = [one.table(found, outcomes) for one, found in zip(figures, tests, strict=True)]

    settings = rules.as_dict()
    if weights is not None:
        parts = [name for name in cube.factors if name != OVERALL]
        settings["weights"] = normalised(weights, parts)

    if tables[0].factor != OVERALL and factor == OVERALL:
        settings["factors"] = [table.factor for table in tables]

    order = position_effect(
        scores,
        factor=tables[0].factor,
        level=level,
        lower_better=low,
        shown_order=shown_order,
    )
    notes = (*_board_notes(settings), *_order_notes(order))
    return Leaderboard(tables=tuple(tables), notes=notes, caution=caution, settings=settings)


def refuse_unless_level(level: float) -> None:
    """Raise for a confidence level that is none."""
    if not 0 < level < 1:
        raise LmmscoreError(f"level={level!r}: it must lie between 0 and 1, as 0.95")


@dataclass(frozen=True, slots=True)
class Rules:
    """How figures are derived from scores: everything but the scores themselves."""

    missing: Missing
    average: Average
    scales: Scales
    """Lowest and highest score of the factors for which they are known."""
    level: float
    resamples: int
    seed: int
    holm: Family
    lower_better: frozenset[str] = frozenset()
    """The factors whose low scores are the good ones."""

    def check(self) -> None:
        """Raise for an unknown rule or a number out of range."""
        for name, known in (
            ("missing", get_args(Missing)),
            ("average", get_args(Average)),
            ("holm", get_args(Family)),
        ):
            value = getattr(self, name)
            if value not in known:
                raise LmmscoreError(f"{name}={value!r}{alternatives(value, known)}")

        refuse_unless_level(self.level)
        refuse_unless_whole(0, resamples=self.resamples, seed=self.seed)
        for name, ends in self.scales.items():
            refuse_unless_scale(f"scales[{name!r}]", ends)

    def as_dict(self) -> dict[str, Any]:
        """Return the settings of a leaderboard, for JSON."""
        return {
            "missing": self.missing,
            "average": self.average,
            "level": self.level,
            "resamples": self.resamples,
            "seed": self.seed,
            "holm": self.holm,
            **({"lower_better": sorted(self.lower_better)} if self.lower_better else {}),
        }

    def draws(self, tests: int) -> int:
        """Return how many sign patterns to draw, so that so many corrected tests can be passed."""
        return draws_needed(tests, 1 - self.level, self.resamples)

    def rng(self, task: str | None, factor: str) -> np.random.Generator:
        """Return a generator per table, so that asking for one alone changes no figure."""
        return np.random.default_rng([self.seed, zlib.crc32(f"{task}\0{factor}".encode())])


@dataclass(frozen=True)
class Figures:
    """The arrays behind one table."""

    cube: Cube
    task: str | None
    factor: str
    ends: Scales
    """Lowest and highest score of every factor; over all tasks, where they are only seen."""
    rules: Rules

    @property
    def strata(self) -> Ints | None:
        """The task of each item where the mean is over tasks, else None."""
        return self.cube.task_of if self.task is None and self.rules.average == "tasks" else None

    @property
    def index(self) -> int:
        """The place of the factor ranked by."""
        return self.cube.factor(self.factor)

    def scores(self, factor: str) -> Floats:
        """Return item × method scores of a factor under the rule for missing ones."""
        index = self.cube.factor(factor)
        if self.rules.missing == "worst":
            low = factor in self.rules.lower_better
            return self.cube.filled(index, worst_end(self.ends[factor], low=low))
        return self.cube.mean[:, :, index]

    @cached_property
    def values(self) -> Floats:
        """Item × method scores of the factor ranked by."""
        return self.scores(self.factor)

    @cached_property
    def means(self) -> Floats:
        """Each method's mean."""
        return column_means(self.values, self.strata)

    @property
    def lower_better(self) -> bool:
        """Whether the lowest mean is the best."""
        return self.factor in self.rules.lower_better

    @cached_property
    def places(self) -> Ints:
        """Each method's rank; that of one without a score means nothing."""
        found: Ints = ranks((-self.means if self.lower_better else self.means)[None, :])[0]
        return found

    @cached_property
    def order(self) -> list[int]:
        """The methods best first, tied ones by name, those without a score last."""
        place = self.places
        names = self.cube.methods
        known = np.isfinite(self.means)
        return sorted(range(len(names)), key=lambda i: (not known[i], place[i], names[i]))

    @property
    def ranked(self) -> list[int]:
        """The methods that have a mean, best first."""
        return [column for column in self.order if np.isfinite(self.means[column])]

    @property
    def pairs(self) -> int:
        """How many pairs of methods are compared."""
        return len(self.ranked) * (len(self.ranked) - 1) // 2

    def tests(self, draws: int) -> Differences | None:
        """Return the paired differences of all ranked methods; None with fewer than two."""
        columns = self.ranked
        if len(columns) < 2 or not self.rules.resamples:
            return None

        return differences(
            self.values[:, columns],
            [self.cube.methods[i] for i in columns],
            strata=self.strata,
            level=self.rules.level,
            draws=draws,
            rng=self.rules.rng(self.task, self.factor),
            lower_better=self.lower_better,
        )

    def table(self, tests: Differences | None, outcomes: pd.DataFrame) -> BoardTable:
        """Return the table, with the sentences that belong around it."""
        cube, rules = self.cube, self.rules
        common = self._common_items()
        rows = self._rows(tests, common)
        low = self.lower_better
        worst = worst_end(self.ends[self.factor], low=low)
        explained = self._explained(tests, common)
        repeats = int(cube.asked.max())
        rule = table_rule(repeats=repeats, missing=rules.missing, worst=worst, low=low)
        return BoardTable(
            task=self.task,
            factor=self.factor,
            rows=tuple(rows),
            caption=table_caption(
                self.factor,
                task=self.task,
                items=len(cube.items),
                tasks=len(cube.tasks),
                average=rules.average,
                rule=rule,
                low=low,
            ),
            rule=rule,
            warnings=tuple(self._warnings(rows, tests, outcomes)),
            notes=tuple(self._notes(rows, explained)),
            explained=explained,
            differences=tests,
            holes=cube.holes(self.index),
            common_items=None if common is None else len(common),
            level=rules.level,
            lower_better=tuple(name for name in cube.factors if name in rules.lower_better),
        )

    @property
    def _items(self) -> int:
        """How many items have a score of any method."""
        return int(np.isfinite(self.values).any(axis=1).sum())

    def _notes(self, rows: Sequence[BoardRow], explained: Mapping[str, Sequence[str]]) -> list[str]:
        """Return what stands below the table: first and last what explains some of its columns."""
        first = [note for note, columns in explained.items() if "common_mean" in columns]
        found = table_notes(rows, self._items, skewed=self._skewed(), alone=self._alone())
        last = [note for note in explained if note not in first]
        return [*first, *found, *last, *self._left_out()]

    def _explained(
        self, tests: Differences | None, common: Ints | None
    ) -> dict[str, tuple[str, ...]]:
        """Return the notes that are about some columns alone, with those columns."""
        found: dict[str, tuple[str, ...]] = {}
        if common is not None and len(self.ranked) > 1:
            found[common_note(len(common), len(self.ranked))] = ("common_mean",)
        if tests is not None and tests.pairs and self._items > 1:
            found[_test_note(tests, self._items)] = ("group", "rank_interval")
        return found

    def _skewed(self) -> list[str]:
        """Return the methods whose scores have a skewness beyond 1, best first."""
        found = []
        for column in self.ranked:
            values = self.values[:, column]
            known = values[np.isfinite(values)]
            apart = known - known.mean()
            spread = float((apart**2).mean())
            if spread > SAME and abs(float((apart**3).mean())) > SKEWED * spread**1.5:
                found.append(self.cube.methods[column])

        return found

    def _alone(self) -> list[str]:
        """Return the methods with a single score in some category that the mean is over."""
        if self.strata is None:
            return []

        found = []
        for column in self.ranked:
            scored = np.isfinite(self.values[:, column])
            if (np.bincount(self.strata[scored]) == 1).any():
                found.append(self.cube.methods[column])

        return found

    def _left_out(self) -> list[str]:
        """Return how many edits each factor was left out for."""
        cube = self.cube
        found = []
        for place, name in enumerate(cube.factors):
            edits = int((cube.absent[:, :, place] > 0).sum())
            if edits and self.factor in (name, OVERALL):
                found.append(left_out_note(name, edits, int((cube.asked > 0).sum())))

        return found

    def _common_items(self) -> Ints | None:
        """Return the items all ranked methods have a score for; None where that is every item."""
        known = np.isfinite(self.values[:, self.ranked])
        if known.all() or not known.any():
            return None
        return np.flatnonzero(known.all(axis=1))

    def _common_means(self, common: Ints | None) -> dict[int, float]:
        if common is None or not len(common):
            return {}
        strata = None if self.strata is None else self.strata[common]
        means = column_means(self.values[common], strata)
        return {column: float(means[column]) for column in self.ranked}

    def _rows(self, tests: Differences | None, common: Ints | None) -> list[BoardRow]:
        """Return the methods' lines, best first."""
        lowest, highest = self.ends[self.factor]
        bounds = rank_ranges(
            self.cube,
            self.index,
            self.strata,
            lowest=lowest,
            highest=highest,
            lower_better=self.lower_better,
        )
        holes = self.cube.holes(self.index)
        groups = tests.groups() if tests else {}
        limits = tests.rank_intervals() if tests else {}
        common_means = self._common_means(common)
        found = []
        for column in self.order:
            method = self.cube.methods[column]
            row = replace(
                self._row(column),
                group=groups.get(method, ""),
                rank_interval=limits.get(method),
                rank_range=bounds[column] if holes else None,
                common_mean=common_means.get(column),
            )
            found.append(row)

        return found

    def _row(self, column: int) -> BoardRow:
        """Return what one method's scores alone say about it."""
        values = self.values[:, column]
        known = values[np.isfinite(values)]
        asked = self.cube.due(self.index)[:, column]
        scored = self.cube.scored[:, column, self.index]
        limits = None
        if self.rules.resamples:
            limits = mean_limits(values, self.strata, level=self.rules.level)

        return BoardRow(
            rank=int(self.places[column]) if known.size else None,
            method=self.cube.methods[column],
            mean=float(self.means[column]) if known.size else None,
            std=sample_std(known),
            n=int(known.size),
            coverage=float(scored.sum() / asked.sum()) if asked.any() else 1.0,
            factors=self._factor_means(column),
            mean_interval=self._on_scale(limits),
            items=int((asked > 0).sum()),
        )

    def _on_scale(self, limits: Limits | None) -> Limits | None:
        """Return an interval without what lies off the scale, where that is known: no mean can."""
        if limits is None or self.factor not in self.rules.scales:
            return limits
        low, high = self.rules.scales[self.factor]
        return max(limits[0], low), min(limits[1], high)

    def _factor_means(self, column: int) -> dict[str, float | None]:
        found = {}
        for name in self.cube.factors:
            if name != OVERALL:
                mean = column_means(self.scores(name)[:, [column]], self.strata)[0]
                found[name] = float(mean) if np.isfinite(mean) else None

        return found

    def _warnings(
        self, rows: Sequence[BoardRow], tests: Differences | None, outcomes: pd.DataFrame
    ) -> list[str]:
        """Return what a reader must know before the figures."""
        cube, factor, found = self.cube, self.factor, []
        if holes := cube.holes(self.index):
            here = outcomes[outcomes["factor"] == factor]
            here = here[here["outcome"] != Outcome.ABSENT.value]
            here = here if self.task is None else here[here["task"] == self.task]
            counts = here["outcome"].value_counts()
            reasons = {str(name): int(count) for name, count in counts.items()}
            reasons["without a line"] = holes - len(here)
            asked = int(cube.due(self.index).sum())
            found.append(missing_warning(holes, asked, reasons, rows))
            observed = factor not in self.rules.scales
            found.append(range_warning(rows, self.ends[factor], observed=observed))

        if tests is not None and (against := contradiction_warning(tests)):
            found.insert(0, against)

        if self.task is None:
            entered = {}
            for column, method in enumerate(cube.methods):
                entered[method] = len(np.unique(cube.task_of[cube.asked[:, column] > 0]))

            if min(entered.values()) < len(cube.tasks):
                found.append(uneven_entries(entered, len(cube.tasks)))

        return found


def _tests(wanted: Sequence[Figures], rules: Rules) -> list[Differences | None]:
    """Return every table's tests, corrected table by table or over all of them together."""
    if rules.holm == "tables":
        draws = rules.draws(sum(figures.pairs for figures in wanted))
        raw = [figures.tests(draws) for figures in wanted]
        again = iter(corrected([tests for tests in raw if tests is not None]))
        return [None if tests is None else next(again) for tests in raw]

    found: list[Differences | None] = []
    for place, figures in enumerate(wanted):
        if place and _same_figures(figures, wanted[place - 1]):
            # With one task category, the table over all repeats it.
            found.append(found[-1])
            continue

        tests = figures.tests(rules.draws(figures.pairs))
        found.append(None if tests is None else corrected([tests])[0])

    return found


def _same_figures(first: Figures, second: Figures) -> bool:
    if first.factor != second.factor or first.strata is not None or second.strata is not None:
        return False
    same = first.cube.methods == second.cube.methods
    return same and np.array_equal(first.values, second.values, equal_nan=True)


def rank_ranges(
    cube: Cube,
    factor: int,
    strata: Ints | None,
    *,
    lowest: float,
    highest: float,
    lower_better: bool = False,
) -> list[tuple[int, int]]:
    """Return each method's best and worst rank over all that the missing scores could have been.

    A method stands best when its own missing scores are the best and all others' the worst.
    """
    # Bounds, not a search: a mean rises with each of its scores, so the extremes are at the ends.
    low = column_means(cube.filled(factor, lowest), strata)
    high = column_means(cube.filled(factor, highest), strata)
    if lower_better:
        low, high = -high, -low

    best = 1 + (low[None, :] > high[:, None] + SAME).sum(axis=1)
    beaten_by = high[None, :] > low[:, None] + SAME
    np.fill_diagonal(beaten_by, False)
    worst = 1 + beaten_by.sum(axis=1)
    return [(int(a), int(b)) for a, b in zip(best, worst, strict=True)]


def _tasks(cube: Cube, wanted: str | Sequence[str] | None) -> list[str | None]:
    return [*cube.tasks, None] if wanted is None else list(chosen_tasks(cube.tasks, wanted))


def _board_notes(settings: Mapping[str, Any]) -> list[str]:
    notes = []
    if "factors" in settings:
        notes.append("No edit has an overall score, so there is a table for each factor.")

    weights = settings.get("weights")
    if weights is not None:
        shown = ", ".join(f"{name} {weight:.4g}" for name, weight in weights.items())
        notes.append(f"The overall was derived again with the weights {shown}.")

    if settings["resamples"]:
        notes.append(_draws_note(settings))

    return notes


def _draws_note(settings: Mapping[str, Any]) -> str:
    """Return what intervals and tests rest on, for tables that show any."""
    return (
        f"{percent(settings['level'])} intervals of means: Student's t over items. Sampled "
        f"tests draw {settings['resamples']:,} sign patterns or as many as the correction "
        f"needs, seed {settings['seed']}."
    )


def _order_notes(order: PositionEffect) -> list[str]:
    """Return the warnings when an uneven order could explain a rank."""
    if order.doubts:
        return [f"Order: {order.statement}", *order.doubts]
    return [f"Order: {order.statement}"] if order.fixed else []


def _outcomes(scores: pd.DataFrame) -> pd.DataFrame:
    """Return every outcome but a score, by factor and task."""
    if "outcome" not in scores.columns:
        return pd.DataFrame({"factor": [], "task": [], "outcome": []})
    bad = scores.loc[scores["score"].isna(), ["factor", "task", "outcome"]]
    return bad.astype(str)


# --------------------------------------------------------------------------------------------------
# The sentences around a table.
# --------------------------------------------------------------------------------------------------


VERY_FEW_ITEMS = 5

MANY_ITEMS = 75
"""Items from which on the mean of skewed scores is near enough to normal."""

NAMED = 3
"""Contradictions that are listed; the rest are only counted."""


def table_caption(
    factor: str,
    *,
    task: str | None,
    items: int,
    tasks: int,
    average: str,
    rule: str,
    low: bool = False,
) -> str:
    """Return which mean the table shows and over what, then the rule by which it is derived.

    `low`: the lowest mean is the best.
    """
    over = f"over {counted(items, 'item')}"
    if task is None:
        categories = counted(tasks, "task category", "task categories")
        over += f" of {categories}"
        if average == "tasks":
            over = f"over {categories}, each the mean of its items"

    turned = " (lower is better)" if low else ""
    return f"Mean {factor}{turned} {over}; {rule}."


def table_rule(*, repeats: int, missing: str, worst: float, low: bool = False) -> str:
    """Return what is averaged first, what the std is over, and the rule for missing scores."""
    first = f"an edit's {repeats} repeats averaged first; " if repeats > 1 else ""
    return f"{first}std over items; {missing_rule(missing, worst, low=low)}"


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
    sure.sort(key=tests.lead)
    said = [_contradiction(d, low=tests.lower_better) for d in sure[:NAMED]]
    rest = len(found) - len(said)
    if rest:
        pairs = counted(rest, "more pair" if said else "pair")
        said.append(f"{pairs} {'are' if rest > 1 else 'is'} ordered against the items both have")

    return "The order contradicts paired differences: " + "; ".join(said) + "."


def _contradiction(d: Difference, *, low: bool) -> str:
    gap = f"{fixed(abs(d.difference or 0), 2)} {'higher' if low else 'lower'}"
    return (
        f"{d.first} ranks above {d.second}, but scores {gap} on the "
        f"{counted(d.n, 'item')} both have ({p_words(d.p_holm)})"
    )


def p_words(p: float | None) -> str:
    """Return a p-value in words: `p = 0.012`."""
    if p is None:
        return "p –"
    return "p < 0.001" if p < 0.001 else f"p = {fixed(p, 3)}"


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
    if tests.items < needed:
        shared = "" if tests.items == items else " that two methods share"
        return (
            f"With {counted(tests.items, 'item')}{shared} no difference, however large, could "
            f"reach {percent(tests.alpha)} ({how}); {needed} items are the least: the groups say "
            "nothing here."
        )

    return (
        f"No significant difference at {percent(tests.alpha)} between methods that share a letter "
        f"({how}); rank intervals are from the same tests and hold for all methods together."
    )


def uneven_entries(entered: Mapping[str, int], tasks: int) -> str:
    """Return the warning for a table over all categories not entered by all methods alike."""
    part = [f"{method} {count} of {tasks}" for method, count in entered.items() if count < tasks]
    said = "Not every method was entered for every task, so these means are over different items"
    return f"{said}: {', '.join(part)}."


# --------------------------------------------------------------------------------------------------
# For notebooks: notes, and a small drawing as SVG, dots with their intervals, one line each. No
# plotting package is needed.
# --------------------------------------------------------------------------------------------------


def two_places(value: float) -> str:
    """Return a figure as a notebook shows it."""
    return fixed(value, 2)


def small_print(notes: Sequence[str]) -> list[str]:
    """Return notes as a notebook shows them below a table."""
    return [f"<p><small>{html.escape(text)}</small></p>" for text in notes]


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
        f'fill="#6b7280">{two_places(end)}</text>'
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
