"""Does the judge agree with people, and as well as people agree with each other?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pandas as pd

from lmmscore.agreement import building, judging, matching, people
from lmmscore.agreement.bootstrap import Interval
from lmmscore.agreement.ceiling import ceiling
from lmmscore.agreement.comparison import Draws
from lmmscore.agreement.pairing import Paired, RatedEdits, judge_means, pair, rated_edits
from lmmscore.agreement.result import Agreement
from lmmscore.agreement.rows import Row
from lmmscore.agreement.scalecheck import check_scale
from lmmscore.agreement.verdict import Verdict
from lmmscore.arguments import refuse_unless_scale, refuse_unless_whole
from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard.resampling import one_thread
from lmmscore.records import OVERALL

__all__ = ["Agreement", "agree"]

STEPS = 4
"""Of one factor of one judge: the levels, the ceiling, the people, the rest."""


def agree(
    judges: Mapping[str, pd.DataFrame],
    ratings: pd.DataFrame,
    *,
    renames: Mapping[str, str] | None = None,
    factors: Sequence[str] = (),
    scales: Mapping[str, tuple[float, float]] | None = None,
    scale: tuple[float, float] | None = None,
    weights: Mapping[str, float] | None = None,
    resamples: int = 9_999,
    seed: int = 0,
    epsilon: float = 0.2,
    minimum_edits: int = judging.MINIMUM_EDITS,
    counting: Callable[[int], AbstractContextManager[Callable[[], None]]] | None = None,
) -> Agreement:
    """Set judges against people.

    `judges` are tidy scores tables by name; `ratings` a tidy table of ratings (see `lmmscore.ratings`). `renames`
    maps factor names; `factors` picks some; `scales` gives the limits of each factor's scale, `scale` of all.
    `weights` make people's overall where they gave none. `epsilon` is the advantage people are granted in the
    alternative annotator test. `counting` takes the number of steps and gives a function to call after each, so that
    someone may be shown how far the work is.
    """
    _refuse(judges, scale, epsilon)
    refuse_unless_whole(0, seed=seed)
    refuse_unless_whole(2, resamples=resamples, minimum_edits=minimum_edits)
    factors = [factors] if isinstance(factors, str) else factors
    notes: list[str] = []
    names = list(judges)
    tables, ratings = matching.tell_tasks_apart(judges, ratings)
    ratings, *tables = matching.rename_factors([ratings, *tables], renames or {})
    tables = [
        _matched(name, table, ratings, notes) for name, table in zip(names, tables, strict=True)
    ]
    check_scale(ratings, tables, notes, scales or {}, scale)
    known = {factor for table in tables for factor in table["factor"].unique()}
    ratings = matching.add_overall(
        ratings, [f for f in ratings["factor"].unique() if f in known], weights, notes
    )
    shared = [
        matching.shared_factors(name, table, ratings, factors, notes)
        for name, table in zip(names, tables, strict=True)
    ]
    # The products are small: more threads than one would mostly wait for each other.
    with one_thread(), (counting or _uncounted)(STEPS * sum(map(len, shared))) as step:
        work = _Work(resamples, seed, epsilon, minimum_edits, notes, step)
        for name, table, some in zip(names, tables, shared, strict=True):
            work.judge(name, table, ratings, some)
        work.compare_judges()
    return work.result()


def _refuse(
    judges: Mapping[str, pd.DataFrame], scale: tuple[float, float] | None, epsilon: float
) -> None:
    if not judges:
        raise LmmscoreError(
            "there is no judge to compare with people; give at least one table of scores"
        )
    if scale is not None:
        refuse_unless_scale("scale", scale)
    if not 0 <= epsilon <= 1:
        raise LmmscoreError(f"epsilon={epsilon!r}: it must lie between 0 and 1")


def _uncounted(_: int) -> AbstractContextManager[Callable[[], None]]:
    return nullcontext(lambda: None)


def _matched(
    name: str, table: pd.DataFrame, ratings: pd.DataFrame, notes: list[str]
) -> pd.DataFrame:
    table = matching.match_methods(name, table, ratings, notes)
    matching.check_items(name, table, ratings, notes)
    return table


class _Work:
    """The results as they are gathered, judge by judge and factor by factor."""

    def __init__(self, resamples: int, seed: int, epsilon: float, minimum: int, notes: list[str],
                 step: Callable[[], None]) -> None:  # fmt: skip
        self.resamples, self.seed, self.epsilon, self.minimum = resamples, seed, epsilon, minimum
        self.notes, self.step = notes, step
        self.rows: list[Row] = []
        self.tasks: list[Row] = []
        self.verdicts: list[Verdict] = []
        self.factor_means: list[dict[str, object]] = []
        self.alternative: list[judging.Entry] = []
        self.powered: list[judging.Entry] = []
        self.comparisons: list[judging.Entry] = []
        self.paired: dict[tuple[str, str], Paired] = {}
        self.rated: dict[str, RatedEdits] = {}
        self.people: dict[str, list[Row]] = {}

    def judge(
        self, name: str, table: pd.DataFrame, ratings: pd.DataFrame, factors: list[str]
    ) -> None:
        """Add everything about one judge."""
        scores, rated = dict(list(table.groupby("factor"))), dict(list(ratings.groupby("factor")))
        heads = []
        for factor in factors:
            if factor not in self.rated:
                self.rated[factor] = rated_edits(rated[factor])
            heads.append(self._factor(name, factor, scores[factor]))
        for place, statistic in enumerate(("spearman", "pearson", "kendall_b")):
            rows = [
                head[place]
                for head, factor in zip(heads, factors, strict=True)
                if factor != OVERALL
            ]
            self.factor_means.append(building.factor_mean(name, rows, statistic))

    def _people(self, factor: str, ceiling: Interval | None) -> None:
        if factor not in self.people:
            how = {"resamples": self.resamples, "seed": self.seed}
            self.people[factor] = building.people_rows(factor, self.rated[factor], ceiling, **how)

    def _factor(self, name: str, factor: str, scores: pd.DataFrame) -> list[Row]:
        """Add one factor of one judge; return its rows."""
        how = {"resamples": self.resamples, "seed": self.seed}
        rated, means = self.rated[factor], judge_means(scores)
        paired = self.paired[name, factor] = pair(scores, means, rated)
        by_edit = rated.judge_by_edit(means)
        rows = building.judge_rows(name, factor, paired, **how)
        self.step()
        beside = people.beside_others(rated.ratings, by_edit)
        found = ceiling(rows[0], beside, rated.items, **how)
        self.rows += [*rows, found.row]
        self.verdicts.append(found.verdict)
        self.step()
        # On the edits of a judge that scored all of them, people's own ceiling is the one just found.
        self._people(factor, None if np.isnan(by_edit).any() else found.people)
        self.step()
        if len(paired.methods) > 1:
            self.tasks += building.task_rows(name, factor, paired, **how)
        self.alternative.append(
            judging.alternative(
                name, factor, rated, by_edit, epsilon=self.epsilon, minimum=self.minimum
            )
        )
        self.powered += judging.powered(name, factor, paired)
        self._note_undefined(rows[0])
        self.step()
        return rows

    def _note_undefined(self, head: Row) -> None:
        if head.value is None:
            self.notes.append(
                f"{head.judge}, {head.factor}: correlations undefined, because {head.measure.why}"
            )

    def compare_judges(self) -> None:
        """Add the tests of every two judges on every factor both have."""
        names = list(dict.fromkeys(name for name, _ in self.paired))
        for first, second in itertools.combinations(names, 2):
            for factor in [factor for name, factor in self.paired if name == first]:
                if (second, factor) in self.paired:
                    pairs = self.paired[first, factor], self.paired[second, factor]
                    draws = Draws(self.resamples, np.random.default_rng(self.seed))
                    self.comparisons += judging.compare((first, second), factor, *pairs, draws)

    def result(self) -> Agreement:
        """Return what was gathered."""
        settings = {
            "resamples": self.resamples,
            "seed": self.seed,
            "confidence": 0.95,
            "epsilon": self.epsilon,
        }
        people_rows = [row for rows in self.people.values() for row in rows]
        return Agreement(
            self.rows, self.tasks, people_rows, self.factor_means, self.verdicts, self.comparisons,
            self.alternative, self.powered, list(dict.fromkeys(self.notes)), settings, self.paired,
        )  # fmt: skip
