"""From a tidy score table to a leaderboard: the methods of every task, and of all, ranked.

And plain means by any keys, which rank nothing: `--by task`, `--by method,factor` and so on.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError, alternatives, refuse_unless_whole
from lmmscore.leaderboard.board import (
    BoardRow,
    BoardTable,
    Cube,
    Differences,
    Leaderboard,
    common_note,
    contradiction_warning,
    corrected,
    differences,
    left_out_note,
    missing_rule,
    missing_warning,
    normalised,
    range_warning,
    reweigh,
    table_caption,
    table_notes,
    table_rule,
    tabulate,
    uneven_entries,
)
from lmmscore.leaderboard.diagnostics import PositionEffect, position_effect
from lmmscore.records import OVERALL, Outcome
from lmmscore.scales import refuse_unless_scale
from lmmscore.stats.resampling import (
    SAME,
    Floats,
    Ints,
    Limits,
    as_json,
    column_means,
    draws_needed,
    mean_limits,
    ranks,
)

Missing = Literal["exclude", "worst"]
Average = Literal["items", "tasks"]
Family = Literal["table", "tables"]
Scales = Mapping[str, tuple[float, float]]

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
) -> Leaderboard:
    """Rank the methods of a tidy score table, for each task category and over all of them.

    An edit's repeats are averaged first, then items. `task` names the categories wanted (then there
    is no table over all), `factor` what to rank by (`"all"`: each in turn). `weights` derives the
    overall again from the factors. `missing="worst"` counts an unscored edit as the lowest value of
    `scales[factor]`, or the lowest seen where that is unknown. `average="tasks"` gives every
    category the same weight in the table over all.

    Intervals of means have Student's t. Differences are tested by flipping signs over items, with
    at least `resamples` random patterns (more where the correction needs them; 0 leaves intervals
    and tests out), reproducible by `seed`. `holm` says over what the tests are corrected: each
    table, or all of them together.
    """
    rules = Rules(missing, average, dict(scales or {}), level, resamples, seed, holm)
    rules.check()
    scores = scores if weights is None else reweigh(scores, weights)
    cube = tabulate(scores)

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

    order = position_effect(scores, factor=tables[0].factor, level=level)
    notes = (*_board_notes(settings), *_order_notes(order))
    return Leaderboard(tables=tuple(tables), notes=notes, caution=caution, settings=settings)


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

        if not 0 < self.level < 1:
            raise LmmscoreError(f"level={self.level!r}: it must lie between 0 and 1, as 0.95")

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
            return self.cube.filled(index, self.ends[factor][0])
        return self.cube.mean[:, :, index]

    @cached_property
    def values(self) -> Floats:
        """Item × method scores of the factor ranked by."""
        return self.scores(self.factor)

    @cached_property
    def means(self) -> Floats:
        """Each method's mean."""
        return column_means(self.values, self.strata)

    @cached_property
    def order(self) -> list[int]:
        """The methods best first, tied ones by name, those without a score last."""
        place = ranks(self.means[None, :])[0]
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
        )

    def table(self, tests: Differences | None, outcomes: pd.DataFrame) -> BoardTable:
        """Return the table, with the sentences that belong around it."""
        cube, rules = self.cube, self.rules
        common = self._common_items()
        rows = self._rows(tests, common)
        lowest = self.ends[self.factor][0]
        rule = table_rule(repeats=int(cube.asked.max()), missing=rules.missing, lowest=lowest)
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
            ),
            rule=rule,
            warnings=tuple(self._warnings(rows, tests, outcomes)),
            notes=tuple(self._notes(rows, tests, common)),
            differences=tests,
            holes=cube.holes(self.index),
            common_items=None if common is None else len(common),
        )

    def _notes(
        self, rows: Sequence[BoardRow], tests: Differences | None, common: Ints | None
    ) -> list[str]:
        """Return what stands below the table."""
        items = int(np.isfinite(self.values).any(axis=1).sum())
        found = table_notes(rows, items, tests, skewed=self._skewed(), alone=self._alone())
        if common is not None and len(self.ranked) > 1:
            found.insert(0, common_note(len(common), len(self.ranked)))

        return found + self._left_out()

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
        bounds = rank_ranges(self.cube, self.index, self.strata, lowest=lowest, highest=highest)
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
            rank=int(ranks(self.means[None, :])[0, column]) if known.size else None,
            method=self.cube.methods[column],
            mean=float(self.means[column]) if known.size else None,
            std=spread(known),
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


def spread(known: Floats) -> float | None:
    """Return the sample standard deviation, 0 for equal scores, None for fewer than two."""
    if known.size < 2:
        return None
    # Equal scores can leave a few parts in 10**16; a reader would take that for a spread.
    return 0.0 if np.ptp(known) < SAME else float(known.std(ddof=1))


def rank_ranges(
    cube: Cube, factor: int, strata: Ints | None, *, lowest: float, highest: float
) -> list[tuple[int, int]]:
    """Return each method's best and worst rank over all that the missing scores could have been.

    A method stands best when its own missing scores are the highest and all others' the lowest.
    """
    low = column_means(cube.filled(factor, lowest), strata)
    high = column_means(cube.filled(factor, highest), strata)
    best = 1 + (low[None, :] > high[:, None] + SAME).sum(axis=1)
    beaten_by = high[None, :] > low[:, None] + SAME
    np.fill_diagonal(beaten_by, False)
    worst = 1 + beaten_by.sum(axis=1)
    return [(int(a), int(b)) for a, b in zip(best, worst, strict=True)]


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
            raise LmmscoreError(f"no task {name!r} in these scores{alternatives(name, known)}")

    return names


def _board_notes(settings: Mapping[str, Any]) -> list[str]:
    notes = []
    if "factors" in settings:
        notes.append("No edit has an overall score, so there is a table for each factor.")

    weights = settings.get("weights")
    if weights is not None:
        shown = ", ".join(f"{name} {weight:.4g}" for name, weight in weights.items())
        notes.append(f"The overall was derived again with the weights {shown}.")

    if settings["resamples"]:
        notes.append(
            f"{settings['level']:.0%} intervals of means: Student's t over items. Sampled tests "
            f"draw {settings['resamples']:,} sign patterns or as many as the correction needs, "
            f"seed {settings['seed']}."
        )

    return notes


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
    lowest = {ends[name][0] for name in factors}
    rule = missing_rule(missing, lowest.pop() if len(lowest) == 1 else None)
    first = f"Mean of {what} over edits, their repeats averaged first"
    return f"{first}; std over edits; {rule}."


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
