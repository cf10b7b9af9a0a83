"""One table: the methods of one task category, or of all, ranked on one factor."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from lmmscore.leaderboard import captions
from lmmscore.leaderboard.cube import Cube
from lmmscore.leaderboard.differences import Differences, differences
from lmmscore.leaderboard.holes import column_means, rank_ranges
from lmmscore.leaderboard.resampling import (
    Floats,
    Ints,
    cut_of,
    interval_of,
    rank_interval,
    ranks,
    resample,
)
from lmmscore.leaderboard.tables import Row, Table
from lmmscore.records import OVERALL

Missing = Literal["exclude", "worst"]
Average = Literal["items", "tasks"]
Scales = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Rules:
    """How figures are derived from scores: everything but the scores themselves."""

    missing: Missing
    average: Average
    scales: Scales
    """Lowest and highest score of every factor."""
    known: frozenset[str]
    """Factors whose scale was given; for the others it is the range of the scores seen."""
    level: float
    resamples: int
    seed: int

    def rng(self, task: str | None, factor: str) -> np.random.Generator:
        """Return a generator of its own for each table, so that asking for one alone changes no figure."""
        return np.random.default_rng([self.seed, zlib.crc32(f"{task}\0{factor}".encode())])

    def values(self, cube: Cube, factor: str) -> Floats:
        """Return item × method scores under the rule for missing ones."""
        index = cube.factor(factor)
        if self.missing == "worst":
            return cube.filled(index, self.scales[factor][0])
        return cube.mean[:, :, index]


@dataclass(frozen=True)
class Figures:
    """The arrays behind a table's rows."""

    cube: Cube
    factor: str
    strata: Ints | None
    values: Floats
    means: Floats
    draws: Floats | None
    """Resampled means; a method that a draw left empty keeps its own mean there."""
    rank_draws: Ints | None
    rules: Rules

    def row(self, column: int, group: str, bounds: tuple[int, int]) -> Row:
        """Return one method's line."""
        known = self.values[np.isfinite(self.values[:, column]), column]
        asked = self.cube.asked[:, column]
        scored = self.cube.scored[:, column, self.cube.factor(self.factor)]
        low, high = self._intervals(column)
        return Row(
            rank=int(ranks(self.means[None, :])[0, column]) if known.size else None,
            method=self.cube.methods[column],
            mean=float(self.means[column]) if known.size else None,
            std=spread(known),
            n=int(known.size),
            coverage=float(scored.sum() / asked.sum()),
            factors=self._factor_means(column),
            mean_interval=low,
            rank_interval=high,
            rank_range=bounds if self.cube.holes(self.cube.factor(self.factor)) else None,
            group=group,
            items=int((asked > 0).sum()),
        )

    def _intervals(self, column: int) -> tuple[tuple[float, float] | None, tuple[int, int] | None]:
        cut = cut_of(self.values[:, column], self.strata, level=self.rules.level)
        if self.draws is None or self.rank_draws is None or cut is None:
            return None, None
        mean = interval_of(
            self.values[:, column], self.strata, self.draws[:, column], level=self.rules.level
        )
        return mean, rank_interval(self.rank_draws[:, column], cut=cut)

    def _factor_means(self, column: int) -> dict[str, float | None]:
        found = {}
        for name in self.cube.factors:
            if name != OVERALL:
                mean = column_means(self.rules.values(self.cube, name)[:, [column]], self.strata)[0]
                found[name] = float(mean) if np.isfinite(mean) else None
        return found


def spread(known: Floats) -> float | None:
    """Return the sample standard deviation, 0 for scores that are all equal, None for fewer than two."""
    if known.size < 2:
        return None
    # Equal scores can leave a few parts in 10**16; a reader would take that for a spread.
    return 0.0 if np.ptp(known) < 1e-9 else float(known.std(ddof=1))


def make_table(
    cube: Cube, task: str | None, factor: str, rules: Rules, outcomes: pd.DataFrame
) -> Table:
    """Return the methods of `cube` ranked on `factor`, with the sentences that belong around them."""
    strata = cube.task_of if task is None and rules.average == "tasks" else None
    rng = rules.rng(task, factor)
    figures = _figures(cube, factor, strata, rules, rng)
    order = _order(figures.means, cube.methods)
    tests = _tests(figures, [i for i in order if np.isfinite(figures.means[i])], rng)
    groups = tests.groups() if tests else {}
    lowest, highest = rules.scales[factor]
    index = cube.factor(factor)
    bounds = rank_ranges(cube, index, strata, lowest=lowest, highest=highest)
    rows = tuple(figures.row(i, groups.get(cube.methods[i], ""), bounds[i]) for i in order)
    rule = captions.rule(repeats=int(cube.asked.max()), missing=rules.missing, lowest=lowest)
    items = int(np.isfinite(figures.values).any(axis=1).sum())
    return Table(
        task=task,
        factor=factor,
        rows=rows,
        caption=captions.caption(
            factor,
            task=task,
            items=len(cube.items),
            tasks=len(cube.tasks),
            average=rules.average,
            rule=rule,
        ),
        rule=rule,
        warnings=tuple(_warnings(cube, task, factor, rules, rows, outcomes)),
        notes=tuple(captions.statements(rows, items, tests)),
        differences=tests,
        holes=cube.holes(index),
    )


def _figures(
    cube: Cube, factor: str, strata: Ints | None, rules: Rules, rng: np.random.Generator
) -> Figures:
    values = rules.values(cube, factor)
    means = column_means(values, strata)
    if not rules.resamples:
        return Figures(cube, factor, strata, values, means, None, None, rules)
    draws = resample(values, strata, draws=rules.resamples, rng=rng)
    draws = np.where(np.isfinite(draws), draws, means)
    return Figures(cube, factor, strata, values, means, draws, ranks(draws), rules)


def _order(means: Floats, methods: Sequence[str]) -> list[int]:
    """Return the methods best first, tied ones by name, those without a score last."""
    place = ranks(means[None, :])[0]
    return sorted(
        range(len(methods)), key=lambda i: (not np.isfinite(means[i]), place[i], methods[i])
    )


def _tests(figures: Figures, columns: list[int], rng: np.random.Generator) -> Differences | None:
    if len(columns) < 2:
        return None
    return differences(
        figures.values[:, columns],
        [figures.cube.methods[i] for i in columns],
        strata=figures.strata,
        level=figures.rules.level,
        draws=figures.rules.resamples,
        rng=rng,
    )


def _warnings(
    cube: Cube,
    task: str | None,
    factor: str,
    rules: Rules,
    rows: Sequence[Row],
    outcomes: pd.DataFrame,
) -> list[str]:
    found = []
    if holes := cube.holes(cube.factor(factor)):
        here = outcomes[outcomes["factor"] == factor]
        here = here if task is None else here[here["task"] == task]
        reasons = {str(name): int(count) for name, count in here["outcome"].value_counts().items()}
        reasons["without a line"] = holes - len(here)
        found.append(captions.hole_warning(holes, int(cube.asked.sum()), reasons, rows))
        observed = factor not in rules.known
        found.append(captions.range_warning(rows, rules.scales[factor], observed=observed))
    if task is None:
        entered = {
            method: len(np.unique(cube.task_of[cube.asked[:, i] > 0]))
            for i, method in enumerate(cube.methods)
        }
        if min(entered.values()) < len(cube.tasks):
            found.append(captions.uneven_entries(entered, len(cube.tasks)))
    return found
