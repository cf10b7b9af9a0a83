"""Does the judge agree with people, and as well as people agree with each other?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.agreement import align, powered_means, raters
from lmmscore.agreement import judges as several
from lmmscore.agreement.align import Paired, RatedEdits, ScaleMatch, Step
from lmmscore.agreement.levels import (
    Agreement,
    AgreementRow,
    AgreementSubject,
    MethodStanding,
    Verdict,
    level_rows,
)
from lmmscore.agreement.statistics import ITEM, LEVELS, METHOD, WITHIN_METHOD
from lmmscore.errors import LmmscoreError, nearest, refuse_unless_whole
from lmmscore.records import OVERALL
from lmmscore.scales import refuse_unless_scale
from lmmscore.stats.resampling import column_means, one_thread, ranks

__all__ = ["Agreement", "Panel", "agree"]

DRAWS = 9_999
"""Random draws of a permutation test, at most, unless a correction needs more."""

STEPS = 3
"""Of one factor of one judge: the levels, the ceiling, the rest."""


@dataclass(frozen=True, slots=True)
class Panel:
    """How several judges are taken together as one more."""

    scores: several.PanelScores = "raw"
    models: Mapping[str, str] = field(default_factory=dict)
    """The model behind each judge's name."""
    families: Mapping[str, str] = field(default_factory=dict)
    """Parts of models' names, and the family each stands for; before the table that is built in."""


def agree(
    judges: Mapping[str, pd.DataFrame],
    ratings: pd.DataFrame,
    *,
    renames: Mapping[str, str] | None = None,
    aliases: Mapping[str, str] | None = None,
    factors: Sequence[str] | str = (),
    methods: Sequence[str] = (),
    levels: Sequence[str] = LEVELS,
    scales: Mapping[str, tuple[float, float]] | None = None,
    scale: tuple[float, float] | None = None,
    rescale: bool = False,
    weights: Mapping[str, float] | None = None,
    panel: Panel | None = None,
    over_raters: bool = False,
    resamples: int = DRAWS,
    seed: int = 0,
    epsilon: float = 0.2,
    minimum_edits: int = raters.MINIMUM_EDITS,
    counting: Callable[[int], AbstractContextManager[Callable[[], None]]] | None = None,
) -> Agreement:
    """Set judges against people.

    `judges` are tidy scores tables by name; `ratings` a tidy table of ratings (see
    `lmmscore.score_files`). `renames` maps factor names, `aliases` names of items and methods;
    `factors` and `methods` pick some (`factors=["all"]`: the first tables are about every factor,
    not only the overall); `levels` are some of item, within-item, within-method and method.
    `scales` gives the limits of each factor's scale for the judge, `scale` those of the ratings,
    which `rescale` maps onto the judge's. `weights` make people's overall where they gave none.
    `panel` adds the mean of all judges as one more. `over_raters` makes intervals allow for other
    raters as well as other items. `epsilon` is the advantage people are granted in the alternative
    annotator test. `counting` takes the number of steps and gives a function to call after each,
    so that someone may be shown how far the work is.
    """
    _refuse(judges, scale, epsilon, levels)
    refuse_unless_whole(0, seed=seed)
    refuse_unless_whole(2, resamples=resamples, minimum_edits=minimum_edits)
    wanted = [factors] if isinstance(factors, str) else list(factors)
    every = "all" in wanted
    wanted = [] if every else wanted
    notes: list[str] = []

    names = list(judges)
    tables, ratings = align.separate_tasks(judges, ratings)
    ratings, *tables = align.rename_factors([ratings, *tables], renames or {})
    ratings, *tables = align.apply_aliases([ratings, *tables], aliases or {})
    tables = [
        _matched(name, table, ratings, notes) for name, table in zip(names, tables, strict=True)
    ]
    if methods:
        ratings, *tables = align.keep_methods([ratings, *tables], methods)

    known = dict(scales or {})
    align.check_scale(ratings, tables, known, scale, notes)
    align.note_ranks(ratings, notes)
    matches = align.match_scales(ratings, tables, known, scale)
    mapped: list[str] = []
    if rescale:
        ratings, matches, mapped = align.rescale(ratings, matches)
    else:
        notes += align.scale_notes(matches)

    known_factors = {factor for table in tables for factor in table["factor"].unique()}
    both = [str(name) for name in ratings["factor"].unique() if name in known_factors]
    judged_overall = OVERALL in known_factors
    plain_mean = False
    if judged_overall:
        ratings, plain_mean = align.add_overall(ratings, both, weights, notes)

    if OVERALL not in matches and OVERALL in set(ratings["factor"]):
        matches[OVERALL] = next(iter(matches.values()))

    by_name = dict(zip(names, tables, strict=True))
    parts = dict(by_name)
    if panel is not None:
        by_name |= _panel(parts, panel, notes)

    shared = {
        name: align.shared_factors(name, table, ratings, wanted, notes)
        for name, table in by_name.items()
    }
    derived = {name: align.derived_overall(table) for name, table in by_name.items()}
    notes += [f"{name}: {how}" for name, how in derived.items() if how]
    given = not plain_mean and not any(derived.values())
    headline = _headline_factors(shared, every=every or bool(wanted) or not given, given=given)
    rules = AgreementRules(
        tuple(level for level in LEVELS if level in levels),
        tuple(headline),
        matches,
        resamples,
        seed,
        epsilon,
        minimum_edits,
        over_raters,
        mapped,
    )
    steps = STEPS * sum(len(some) for some in shared.values())
    # The products are small: more threads than one would mostly wait for each other.
    with one_thread(), (counting or _uncounted)(steps) as step:
        work = Work(rules, notes, step)
        for name, some in shared.items():
            work.judge(name, by_name[name], ratings, some)

        work.compare(list(by_name))
        if panel is not None:
            for factor in headline:
                work.disagreements += several.disagreements(parts, factor)

    return work.result()


def _refuse(
    scores: Mapping[str, pd.DataFrame],
    scale: tuple[float, float] | None,
    epsilon: float,
    levels: Sequence[str],
) -> None:
    if not scores:
        raise LmmscoreError(
            "there is no judge to compare with people; give at least one table of scores"
        )

    if scale is not None:
        refuse_unless_scale("scale", scale)

    if not 0 <= epsilon <= 1:
        raise LmmscoreError(f"epsilon={epsilon!r}: it must lie between 0 and 1")

    for level in levels:
        if level not in LEVELS:
            hint = f"{nearest(level, LEVELS)}; known: {', '.join(LEVELS)}"
            raise LmmscoreError(f"no level {level!r}{hint}")


def _uncounted(_: int) -> AbstractContextManager[Step]:
    return nullcontext(lambda: None)


def _matched(
    name: str, table: pd.DataFrame, ratings: pd.DataFrame, notes: list[str]
) -> pd.DataFrame:
    table = align.match_methods(name, table, ratings, notes)
    table = align.match_items(name, table, ratings, notes)
    align.check_items(name, table, ratings, notes)
    return table


def _panel(
    tables: Mapping[str, pd.DataFrame], panel: Panel, notes: list[str]
) -> dict[str, pd.DataFrame]:
    """Return the panel as a judge, and the panel without each of its members."""
    if len(tables) < 2:
        raise LmmscoreError("a panel needs at least two judges; name more runs or score files")

    notes += several.panel_notes(tables, panel.scores, panel.models, panel.families)
    found = {several.PANEL: several.panel_scores(tables, panel.scores)}
    for name, rest in several.without_each(tables, panel.scores).items():
        found[f"{several.PANEL_WITHOUT}{name}"] = rest

    return found


def _headline_factors(
    shared: Mapping[str, Sequence[str]], *, every: bool, given: bool
) -> list[str]:
    """Return what the first tables are about: the overall, unless there is none or more is asked.

    An overall that nobody gave comes last.
    """
    found = list(dict.fromkeys(factor for some in shared.values() for factor in some))
    if OVERALL in found and not every:
        return [OVERALL]
    return sorted(found, key=lambda factor: (factor == OVERALL) is not given)


@dataclass(frozen=True, slots=True)
class AgreementRules:
    """What rows depend on besides scores and ratings."""

    levels: tuple[str, ...]
    headline: tuple[str, ...]
    matches: Mapping[str, ScaleMatch]
    resamples: int
    seed: int
    epsilon: float
    minimum_edits: int
    over_raters: bool
    mapped: Sequence[str]
    """What was done to people's scale, in words."""

    def rng(self) -> np.random.Generator:
        """Return a generator that starts anew: no row depends on those before it."""
        return np.random.default_rng(self.seed)


class Work:
    """The results as they are gathered, judge by judge and factor by factor."""

    def __init__(self, rules: AgreementRules, notes: list[str], step: Step) -> None:
        self.rules, self.notes, self.step = rules, notes, step
        self.rows: list[AgreementRow] = []
        self.task_rows: list[AgreementRow] = []
        self.methods: list[MethodStanding] = []
        self.verdicts: list[Verdict] = []
        self.factor_means: list[dict[str, Any]] = []
        self.alternative: list[dict[str, Any]] = []
        self.powered: list[dict[str, Any]] = []
        self.comparisons: list[dict[str, Any]] = []
        self.disagreements: list[dict[str, Any]] = []
        self.variance: dict[str, dict[str, Any]] = {}
        self.paired: dict[tuple[str, str], Paired] = {}
        self.rated: dict[str, RatedEdits] = {}
        self.people: dict[str, list[AgreementRow]] = {}

    def judge(
        self, name: str, table: pd.DataFrame, ratings: pd.DataFrame, factors: Sequence[str]
    ) -> None:
        """Add everything about one judge."""
        scores = dict(list(table.groupby("factor")))
        heads = []
        for factor in factors:
            if factor not in self.rated:
                rows = ratings[ratings["factor"] == factor]
                self.rated[factor] = align.rated_edits(rows)

            heads.append(self._factor(name, factor, scores[factor]))

        plain = [row for row in heads if row is not None and row.factor != OVERALL]
        if ITEM in self.rules.levels:
            self.factor_means.append(_factor_mean(name, plain))

    def _factor(self, name: str, factor: str, scores: pd.DataFrame) -> AgreementRow | None:
        """Add one factor of one judge; return its pooled Spearman."""
        rules, rated = self.rules, self.rated[factor]
        means = align.judge_means(name, scores)
        paired = self.paired[name, factor] = align.pair(scores, means, rated)
        problem = rules.matches[factor].why if factor in rules.matches else ""
        subject = AgreementSubject(name, factor, paired, None, problem, rules.rng())
        own = [row for level in rules.levels for row in level_rows(subject, level)]
        self.rows += own
        for task in paired.tasks:
            part = subject.of_task(task)
            for level in rules.levels:
                # Inside tasks, this level is what its averages are of.
                where = self.rows if level == WITHIN_METHOD else self.task_rows
                where += level_rows(part, level)

        self.methods += standings(name, factor, paired)
        self.step()

        by_edit = rated.judge_by_edit(means)
        if factor not in self.people:
            self.people[factor] = raters.people_rows(factor, rated, rules.rng())
            if found := raters.rater_components(rated):
                self.variance[factor] = found

        head = _pooled_spearman(subject, own)
        ceiling = raters.ceiling(head, rated, by_edit, rules.rng())
        self.verdicts.append(ceiling.verdict)
        if ITEM in rules.levels:
            self._add_rater_rows(head, ceiling.row, paired, rated)

        self.step()

        self.alternative.append(
            raters.alternative_entry(
                name,
                factor,
                rated,
                by_edit,
                problem,
                epsilon=rules.epsilon,
                minimum=rules.minimum_edits,
            )
        )
        self.powered += powered_means.powered_entries(name, factor, paired)
        if head.value is None:
            self.notes.append(f"{name}, {factor}: correlations undefined, because {head.why}")
        elif head.limits[1] is not None and head.limits[1] < 0:
            self.notes.append(
                f"{name}, {factor}: the correlation is surely negative (ρ = {head.value:.2f}); is "
                "one side reversed, such as ranks whose 1 is the best?"
            )

        self.step()
        return head if ITEM in rules.levels else None

    def _add_rater_rows(
        self, head: AgreementRow, as_rater: AgreementRow, paired: Paired, rated: RatedEdits
    ) -> None:
        self.rows.append(as_rater)
        self.rows.append(raters.corrected_row(head, self.people[head.factor]))
        if self.rules.over_raters:
            found = raters.two_way_interval(head, paired, rated, self.rules.rng())
            two_way = replace(
                head, statistic="spearman_over_raters", interval=found, extra={}, why=head.why
            )
            self.rows.append(two_way)

    def compare(self, names: Sequence[str]) -> None:
        """Add the tests of every two judges on the factors of the first tables."""
        if len(names) > 1:
            self.comparisons = several.compare_judges(
                self.paired,
                self.rules.headline,
                self.rules.levels,
                draws=self.rules.resamples,
                seed=self.rules.seed,
            )

    def judge_table(self) -> list[dict[str, Any]]:
        """Return each judge with its ρ at every level, soft accuracy, and its cluster."""
        names = list(dict.fromkeys(name for name, _ in self.paired))
        if len(names) < 2:
            return []

        found = []
        for factor in self.rules.headline:
            letters = {}
            for level in self.rules.levels:
                tests = [
                    entry
                    for entry in self.comparisons
                    if (entry["factor"], entry["level"]) == (factor, level)
                ]
                compared = list(dict.fromkeys(name for one in tests for name in one["judges"]))
                letters[level] = several.clusters(compared, tests)

            for name in names:
                line: dict[str, Any] = {"judge": name, "factor": factor}
                for level in self.rules.levels:
                    row = self._find(name, factor, level, "spearman")
                    line[level] = row.value if row else None
                    line[f"{level} cluster"] = letters[level].get(name)

                soft = self._find(name, factor, METHOD, "soft_pairwise_accuracy")
                line["soft_pairwise_accuracy"] = soft.value if soft else None
                found.append(line)

        return found

    def _find(self, judge: str, factor: str, level: str, statistic: str) -> AgreementRow | None:
        for row in self.rows:
            if (row.judge, row.factor, row.level, row.statistic) == (
                judge,
                factor,
                level,
                statistic,
            ) and (row.method, row.task) == (None, None):
                return row

        return None

    def result(self) -> Agreement:
        """Return what was gathered."""
        rules = self.rules
        settings = {
            "levels": list(rules.levels),
            "resamples": rules.resamples,
            "seed": rules.seed,
            "confidence": 0.95,
            "epsilon": rules.epsilon,
            "intervals": "leave-one-item-out jackknife on Fisher's z or log odds, Student's t",
            "scales": list(rules.mapped),
            "taken_as_one_scale": align.taken_scales(rules.matches),
        }
        people = [row for rows in self.people.values() for row in rows]
        return Agreement(
            rows=self.rows,
            task_rows=self.task_rows,
            methods=self.methods,
            people=people,
            factor_means=self.factor_means,
            verdicts=self.verdicts,
            comparisons=self.comparisons,
            judge_table=self.judge_table(),
            alternative=self.alternative,
            powered=self.powered,
            variance=self.variance,
            disagreements=self.disagreements,
            notes=list(dict.fromkeys(self.notes)),
            settings=settings,
            headline_factors=list(rules.headline),
            paired=self.paired,
        )


def _pooled_spearman(subject: AgreementSubject, rows: Sequence[AgreementRow]) -> AgreementRow:
    for row in rows:
        if (row.level, row.statistic) == (ITEM, "spearman"):
            return row
    return level_rows(subject, ITEM)[0]


def _factor_mean(judge: str, rows: Sequence[AgreementRow]) -> dict[str, Any]:
    """Return the mean over factors of the pooled Spearman, the overall excluded."""
    defined = [row.value for row in rows if row.value is not None]
    left = len(rows) - len(defined)
    return {
        "judge": judge,
        "level": ITEM,
        "statistic": "spearman",
        "value": sum(defined) / len(defined) if defined else None,
        "n": len(defined),
        "of": "factors",
        "averaging": "mean",
        "left_out": {"factors for which it is undefined": left} if left else {},
        **({} if defined else {"why": "it is defined for no factor"}),
    }


def standings(judge: str, factor: str, paired: Paired) -> list[MethodStanding]:
    """Return the methods by the judge's mean beside people's, for each task and over all.

    Both means are over the same edits: those with a score and a rating.
    """
    found = []
    parts: list[tuple[str | None, Paired]] = [(task, paired.of_task(task)) for task in paired.tasks]
    for task, part in [*parts, (None, paired)]:
        if not len(part.edits):
            continue

        by_judge, by_people = part.grid("judge"), part.grid("people")
        means = np.stack([column_means(by_judge, None), column_means(by_people, None)])
        place = ranks(means)
        items = (~np.isnan(by_judge)).sum(axis=0)
        for column in np.argsort(place[0], kind="stable"):
            standing = MethodStanding(
                judge,
                factor,
                task,
                part.methods[column],
                float(means[0, column]),
                int(place[0, column]),
                float(means[1, column]),
                int(place[1, column]),
                int(items[column]),
            )
            found.append(standing)

    return found
