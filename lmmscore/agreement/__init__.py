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
from lmmscore.agreement.align import Limits, Paired, RatedEdits, ScaleMatches, Scales
from lmmscore.agreement.levels import (
    Agreement,
    AgreementRow,
    AgreementSubject,
    MethodStanding,
    Verdict,
    level_rows,
)
from lmmscore.agreement.statistics import ITEM, LEVELS, WITHIN_METHOD
from lmmscore.errors import LmmscoreError, nearest, refuse_unless_whole
from lmmscore.records import OVERALL
from lmmscore.scales import refuse_unless_scale
from lmmscore.stats.resampling import SAME, Floats, column_means, one_thread, ranks

__all__ = ["Agreement", "Panel", "agree"]

DRAWS = 9_999
"""Random draws that are asked for, of which a test makes as many as it needs."""

STEPS = 3
"""Of one factor of one judge: the levels, the ceiling, the rest."""

Step = Callable[[], None]
"""Called after each step, so that someone may be shown how far the work is."""


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
    scales: Mapping[str, Limits | Scales] | None = None,
    scale: Limits | None = None,
    rescale: bool = False,
    weights: Mapping[str, float] | None = None,
    panel: Panel | None = None,
    over_raters: bool = False,
    resamples: int = DRAWS,
    seed: int = 0,
    epsilon: float = 0.2,
    minimum_edits: int = raters.MINIMUM_EDITS,
    counting: Callable[[int], AbstractContextManager[Step]] | None = None,
) -> Agreement:
    """Set judges against people.

    `judges` are tidy scores tables by name; `ratings` a tidy table of ratings (see
    `lmmscore.score_files`). `renames` maps factor names, `aliases` names of items and methods;
    `factors` and `methods` pick some (`factors=["all"]`: the first tables are about every factor,
    not only the overall); `levels` are some of item, within-item, within-method and method.
    `scales` gives the limits of each factor's scale, for all judges or, where theirs differ, by
    judge and factor; `scale` gives those of the ratings, which `rescale` maps onto the judge's.
    `weights` make people's overall where they gave none.
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

    sides = align.Sides(judges, ratings)
    sides.match_names(renames, aliases, methods)
    known = align.scales_by_judge(scales or {}, list(judges))
    matches, mapped = sides.match_scales(known, scale, rescaled=rescale)
    plain_mean = sides.add_overall(weights)
    members = dict(sides.judges)
    if panel is not None:
        sides.judges |= _panel(members, panel, sides.notes)
        matches |= _panel_matches(matches, panel)

    shared = sides.shared_factors(wanted)
    derived = sides.note_derived_overalls()
    given = not plain_mean and not derived
    rules = AgreementRules(
        levels=tuple(level for level in LEVELS if level in levels),
        headline=_headline_factors(shared, every=every or bool(wanted) or not given, given=given),
        matches=matches,
        mapped=tuple(mapped),
        resamples=resamples,
        seed=seed,
        epsilon=epsilon,
        minimum_edits=minimum_edits,
        over_raters=over_raters,
    )
    steps = STEPS * sum(len(some) for some in shared.values())
    # The products are small: more threads than one would mostly wait for each other.
    with one_thread(), (counting or _uncounted)(steps) as step:
        found = AgreementBuilder(rules, sides, step)
        for name, some in shared.items():
            found.add_judge(name, some)

        found.compare_judges()
        if panel is not None:
            found.add_disagreements(members)

    return found.result()


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


def _panel_matches(matches: Mapping[str, ScaleMatches], panel: Panel) -> dict[str, ScaleMatches]:
    """Return the scales of the panel, and of the panel without each of its members."""
    standardised = panel.scores == "z"
    every = list(matches.values())
    found = {several.PANEL: align.shared_matches(every, standardised=standardised)}
    for name in matches:
        rest = [own for other, own in matches.items() if other != name]
        without = align.shared_matches(rest, standardised=standardised)
        found[f"{several.PANEL_WITHOUT}{name}"] = without

    return found


def _headline_factors(
    shared: Mapping[str, Sequence[str]], *, every: bool, given: bool
) -> tuple[str, ...]:
    """Return what the first tables are about: the overall, unless there is none or more is asked.

    An overall that nobody gave (`given` is False) comes last.
    """
    found = list(dict.fromkeys(factor for some in shared.values() for factor in some))
    if OVERALL in found and not every:
        return (OVERALL,)
    return tuple(sorted(found, key=lambda factor: (factor == OVERALL) is not given))


@dataclass(frozen=True, slots=True)
class AgreementRules:
    """What rows depend on besides scores and ratings."""

    levels: tuple[str, ...]
    headline: tuple[str, ...]
    """The factors of the first tables, and of the tests between judges."""
    matches: Mapping[str, ScaleMatches]
    """By judge and factor."""
    mapped: tuple[str, ...]
    """What was done to people's scale, in words."""
    resamples: int
    seed: int
    epsilon: float
    minimum_edits: int
    over_raters: bool

    def rng(self) -> np.random.Generator:
        """Return a generator in its first state: no row depends on those before it."""
        return np.random.default_rng(self.seed)

    def scale_problem(self, judge: str, factor: str) -> str:
        """Return why differences of scores mean nothing on a factor; "" where they do."""
        own = self.matches[judge]
        # An overall made of people's factors has no scale on record; it is on theirs.
        return own.get(factor, next(iter(own.values()))).why

    def as_dict(self, draws: int) -> dict[str, Any]:
        """Return the settings of an agreement, for JSON; `draws` were made, not only asked for."""
        return {
            "levels": list(self.levels),
            "resamples": draws,
            "seed": self.seed,
            "confidence": 0.95,
            "epsilon": self.epsilon,
            "intervals": "leave-one-item-out jackknife on Fisher's z or log odds, Student's t",
            "scales": list(self.mapped),
            "taken_as_one_scale": align.taken_scales(self.matches),
        }


class AgreementBuilder:
    """Gathers an agreement judge by judge and factor by factor."""

    def __init__(self, rules: AgreementRules, sides: align.Sides, step: Step) -> None:
        self.rules, self.sides, self.step = rules, sides, step
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
        self.rated: dict[tuple[str, str], RatedEdits] = {}
        """By judge and factor; under "" what judges without ratings of their own share."""
        self.people: dict[str, list[AgreementRow]] = {}

    def add_judge(self, name: str, factors: Sequence[str]) -> None:
        """Add everything about one judge."""
        scores = dict(list(self.sides.judges[name].groupby("factor")))
        heads = []
        for factor in factors:
            self._add_people(factor)
            heads.append(self._add_factor(name, factor, scores[factor]))

        self._note_copy(name, factors)
        if ITEM in self.rules.levels:
            plain = [row for row in heads if row.factor != OVERALL]
            self.factor_means.append(_factor_mean(name, plain))

    def _add_people(self, factor: str) -> None:
        """Add what the ratings of a factor say about the people, once for all judges."""
        if factor in self.people:
            return

        rated = self._rated("", factor)
        self.people[factor] = raters.people_rows(factor, rated, self.rules.rng())
        if found := raters.rater_components(rated):
            self.variance[factor] = found

    def _rated(self, judge: str, factor: str) -> RatedEdits:
        """Return the ratings of a factor on the scale that the judge is compared on."""
        whose = judge if judge in self.sides.rescaled else ""
        if (whose, factor) not in self.rated:
            ratings = self.sides.ratings_for(whose)
            chosen = ratings[ratings["factor"] == factor]
            self.rated[whose, factor] = align.rated_edits(chosen)

        return self.rated[whose, factor]

    def _add_factor(self, name: str, factor: str, scores: pd.DataFrame) -> AgreementRow:
        """Add one factor of one judge; return its pooled Spearman."""
        rated = self._rated(name, factor)
        means = align.judge_means(name, scores)
        by_edit = rated.judge_by_edit(means)
        paired = align.pair(scores, means, rated)
        self.paired[name, factor] = paired
        subject = AgreementSubject(
            name, factor, paired, None, self.rules.scale_problem(name, factor), self.rules.rng()
        )

        head = self._add_levels(subject)
        self.methods += standings(name, factor, paired)
        self.step()

        self._add_ceiling(head, paired, by_edit)
        self.step()

        self.alternative.append(self._alternative(subject, by_edit))
        self.powered += powered_means.powered_entries(name, factor, paired)
        self._note_oddities(head)
        self.step()
        return head

    def _add_levels(self, subject: AgreementSubject) -> AgreementRow:
        """Add the rows of every level, over all and inside tasks; return the pooled Spearman."""
        levels = self.rules.levels
        own = [row for level in levels for row in level_rows(subject, level)]
        self.rows += own
        for task in subject.paired.tasks:
            part = subject.of_task(task)
            for level in levels:
                # Inside tasks, this level is what its averages are of.
                where = self.rows if level == WITHIN_METHOD else self.task_rows
                where += level_rows(part, level)

        pooled = own if ITEM in levels else level_rows(subject, ITEM)
        return next(row for row in pooled if (row.level, row.statistic) == (ITEM, "spearman"))

    def _add_ceiling(self, head: AgreementRow, paired: Paired, by_edit: Floats) -> None:
        """Add the verdict beside the raters and, at the item level, the rows it rests on."""
        rules, rated = self.rules, self._rated(head.judge, head.factor)
        as_rater, verdict = raters.ceiling(head, rated, by_edit, rules.rng())
        self.verdicts.append(verdict)
        if ITEM not in rules.levels:
            return

        self.rows += [as_rater, raters.corrected_row(head, self.people[head.factor])]
        if rules.over_raters:
            found = raters.two_way_interval(head, paired, rated, rules.rng())
            self.rows.append(
                replace(head, statistic="spearman_over_raters", interval=found, extra={})
            )

    def _alternative(self, subject: AgreementSubject, by_edit: Floats) -> dict[str, Any]:
        return raters.alternative_entry(
            subject.judge,
            subject.factor,
            self._rated(subject.judge, subject.factor),
            by_edit,
            subject.scale_problem,
            epsilon=self.rules.epsilon,
            minimum=self.rules.minimum_edits,
        )

    def _note_copy(self, name: str, factors: Sequence[str]) -> None:
        """Note ratings that may be the judge's own scores: no number differs on any factor."""
        every = [self.paired[name, factor] for factor in factors]
        edits = max((len(paired.edits) for paired in every), default=0)
        if edits < 2:
            return

        if all(np.allclose(paired.judge, paired.people, rtol=0, atol=SAME) for paired in every):
            self.sides.notes.append(
                f"{name}: the ratings equal its scores on all {edits} edits; if they are its own "
                "scores, this compares the judge with itself"
            )

    def _note_oddities(self, head: AgreementRow) -> None:
        where = f"{head.judge}, {head.factor}"
        if head.value is None:
            self.sides.notes.append(f"{where}: correlations undefined, because {head.why}")
        elif head.limits[1] is not None and head.limits[1] < 0:
            self.sides.notes.append(
                f"{where}: the correlation is surely negative (ρ = {head.value:.2f}); is one side "
                "reversed, such as ranks whose 1 is the best?"
            )

    def compare_judges(self) -> None:
        """Add the tests of every two judges on the factors of the first tables."""
        if len(self.sides.judges) > 1:
            self.comparisons = several.compare_judges(
                self.paired,
                self.rules.headline,
                self.rules.levels,
                draws=self.rules.resamples,
                seed=self.rules.seed,
            )

    def add_disagreements(self, members: Mapping[str, pd.DataFrame]) -> None:
        """Add the edits on which the members of a panel differ most."""
        for factor in self.rules.headline:
            self.disagreements += several.disagreements(members, factor)

    def result(self) -> Agreement:
        """Return what was gathered."""
        draws = 0
        if self.comparisons:
            draws = several.draws_used(self.paired, self.rules.resamples)

        return Agreement(
            rows=self.rows,
            task_rows=self.task_rows,
            methods=self.methods,
            people=[row for rows in self.people.values() for row in rows],
            factor_means=self.factor_means,
            verdicts=self.verdicts,
            comparisons=self.comparisons,
            alternative=self.alternative,
            powered=self.powered,
            variance=self.variance,
            disagreements=self.disagreements,
            notes=list(dict.fromkeys(self.sides.notes)),
            settings=self.rules.as_dict(draws),
            headline_factors=list(self.rules.headline),
            paired=self.paired,
        )


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
                judge=judge,
                factor=factor,
                task=task,
                method=part.methods[column],
                judge_mean=float(means[0, column]),
                judge_rank=int(place[0, column]),
                human_mean=float(means[1, column]),
                human_rank=int(place[1, column]),
                items=int(items[column]),
            )
            found.append(standing)

    return found
