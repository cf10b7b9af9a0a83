"""Does the judge agree with people, and as well as people agree with each other?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from lmmscore.agreement import align, raters
from lmmscore.agreement.align import Limits, Paired, RatedEdits, ScaleMatches, Scales, Weights
from lmmscore.agreement.levels import (
    FEWEST_FOR_A_VERDICT,
    PANEL,
    PANEL_WITHOUT,
    AgreementRow,
    AgreementSubject,
    Entry,
    MethodStanding,
    Verdict,
    clusters,
    compare_judges,
    draws_used,
    level_rows,
    told,
)
from lmmscore.agreement.statistics import ITEM, LEVELS, METHOD, WITHIN_ITEM, WITHIN_METHOD
from lmmscore.errors import LmmscoreError, alternatives, counted, refuse_unless_whole
from lmmscore.leaderboard.ranking import Whisker, draw
from lmmscore.records import OVERALL, Outcome, fixed
from lmmscore.scales import refuse_unless_scale
from lmmscore.stats import SAME, Floats, column_means, one_thread, ranks

__all__ = ["Agreement", "Panel", "agree"]

DRAWS = 9_999
"""Random draws that are asked for, of which a test makes as many as it needs."""

STEPS = 3
"""Of one factor of one judge: the levels, the ceiling, the rest."""

Step = Callable[[], None]
"""Called after each step, so that someone may be shown how far the work is."""

PEOPLE = ""
"""Stands for the raters where judges go by their names."""

PanelScores = Literal["raw", "z"]


@dataclass(frozen=True, slots=True)
class Panel:
    """How several judges are taken together as one more."""

    scores: PanelScores = "raw"
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
    weights: Weights | Mapping[str, Weights | None] | None = None,
    names: Mapping[str, Mapping[str, str]] | None = None,
    panel: Panel | None = None,
    over_raters: bool = False,
    resamples: int = DRAWS,
    seed: int = 0,
    epsilon: float = 0.2,
    minimum_edits: int = raters.MINIMUM_EDITS,
    lower_better: Mapping[str, Collection[str]] | None = None,
    counting: Callable[[int], AbstractContextManager[Step]] | None = None,
) -> Agreement:
    """Set judges against people.

    `judges` are tidy scores tables by name; `ratings` a tidy table of ratings (see
    `lmmscore.score_files`). `renames` maps factor names, `aliases` names of items and methods;
    `factors` and `methods` pick some (`factors=["all"]`: the first tables are about every factor,
    not only the overall); `levels` are some of item, within-item, within-method and method.
    `scales` gives the limits of each factor's scale, for all judges or, where theirs differ, by
    judge and factor; `scale` gives those of the ratings, which `rescale` maps onto the judge's.
    `weights` make people's overall where they gave none: the judges', for all of them or by judge.
    `lower_better` names, by judge, the factors whose low scores are the good ones: people's are
    taken to run the same way, and count turned round in an overall made for them.
    `names` gives, by judge, what else its factors are called, each with its name in the scores.
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

    known = align.scales_by_judge(scales or {}, list(judges))
    shares = align.weights_by_judge(weights, list(judges))
    if renames:
        # Both were recorded under the names that a run's own dialog has.
        known = {
            judge: align.renamed_settings(own, judges[judge], renames)
            for judge, own in known.items()
        }
        shares = align.renamed_weights(shares, judges, renames)

    sides = align.Sides(judges, ratings)
    sides.match_names(renames, aliases, methods, names)
    matches, mapped = sides.match_scales(known, scale, rescaled=rescale)
    low = {name for own in (lower_better or {}).values() for name in own}
    turned = align.turned_sums({(renames or {}).get(name, name) for name in low}, known, scale)
    plain_mean = sides.add_overall(shares, turned)
    members = dict(sides.judges)
    if panel is not None:
        sides.judges |= _panel(members, panel, sides.notes)
        matches |= _panel_matches(matches, panel)

    shared = sides.shared_factors(wanted)
    without_overall = sides.note_derived_overalls() | ({PEOPLE} if plain_mean else set())
    given = not without_overall
    rules = AgreementRules(
        levels=tuple(level for level in LEVELS if level in levels),
        headline=_headline_factors(shared, every=every or bool(wanted) or not given, given=given),
        matches=matches,
        overall_parts=tuple(sides.overall_parts),
        without_overall=frozenset(without_overall),
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
            raise LmmscoreError(f"no level {level!r}{alternatives(level, LEVELS)}")


def _uncounted(_: int) -> AbstractContextManager[Step]:
    return nullcontext(lambda: None)


def _panel(
    tables: Mapping[str, pd.DataFrame], panel: Panel, notes: list[str]
) -> dict[str, pd.DataFrame]:
    """Return the panel as a judge, and the panel without each of its members."""
    if len(tables) < 2:
        raise LmmscoreError("a panel needs at least two judges; name more runs or score files")

    together = panel_scores(tables, panel.scores)
    if together.empty:
        raise LmmscoreError("the judges have no scored edit in common; there is no panel")

    notes += panel_notes(tables, panel.scores, panel.models, panel.families)
    without = without_each(tables, panel.scores)
    return {PANEL: together} | {f"{PANEL_WITHOUT}{name}": rest for name, rest in without.items()}


def _panel_matches(matches: Mapping[str, ScaleMatches], panel: Panel) -> dict[str, ScaleMatches]:
    """Return the scales of the panel, and of the panel without each of its members."""
    standardised = panel.scores == "z"
    every = list(matches.values())
    found = {PANEL: align.shared_matches(every, standardised=standardised)}
    for name in matches:
        rest = [own for other, own in matches.items() if other != name]
        without = align.shared_matches(rest, standardised=standardised)
        found[f"{PANEL_WITHOUT}{name}"] = without

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
    overall_parts: tuple[str, ...]
    """The factors that people's overall was made of; none where they gave one."""
    without_overall: frozenset[str]
    """Whose overall is the mean of their factors, which nobody gave."""
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

    def people_scale(self, judge: str, factor: str) -> Limits | None:
        """Return the ends of the scale of people's ratings, where both scales are on record."""
        match = self.matches.get(judge, {}).get(factor)
        return match.people if match and match.stated else None

    def scale_problem(self, judge: str, factor: str, scores: pd.Series[float]) -> str:
        """Return why differences of the judge's scores and ratings mean nothing; "" where they do.

        An overall that was made of people's factors is on their scales, and the judge's must be.
        """
        own = self.matches[judge]
        if factor in own:
            return own[factor].why

        parts = [own[part] for part in self.overall_parts]
        why = next((part.why for part in parts if part.why), "")
        low, high = min(part.judge[0] for part in parts), max(part.judge[1] for part in parts)
        if not why and (scores.min() < low - SAME or scores.max() > high + SAME):
            why = (
                f"the judge's {factor} goes from {scores.min():g} to {scores.max():g}, beyond the "
                f"{low:g} to {high:g} of its factors, of which people's was made"
            )

        return why

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
        problem = self.rules.scale_problem(name, factor, means["judge"])
        subject = AgreementSubject(name, factor, paired, None, problem, self.rules.rng())

        head = self._add_levels(subject)
        self.methods += standings(name, factor, paired)
        self.step()

        self._add_ceiling(head, paired, by_edit)
        self.step()

        self.alternative.append(self._alternative(subject, by_edit))
        self.powered += raters.powered_entries(
            name, factor, paired, self.rules.people_scale(name, factor)
        )
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
        """Add the judge beside the raters at each level, and the verdict, which is about edits."""
        rules, rated = self.rules, self._rated(head.judge, head.factor)
        for level in [one for one in rules.levels if one in (WITHIN_ITEM, WITHIN_METHOD)]:
            tasks = paired.tasks if level == WITHIN_METHOD else []
            for task in (None, *tasks):
                self.rows += raters.inside_rows(
                    level, task, head, rated, paired, by_edit, rules.rng()
                )

        if ITEM not in rules.levels:
            return

        beside = raters.yardstick(head, rated, by_edit, rules.rng())
        self.verdicts.append(beside.verdict)
        self.rows += beside.rows
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
        elif _surely_negative(head):
            self.sides.notes.append(
                f"{where}: the correlation is surely negative (ρ = {fixed(head.value, 2)}); is one "
                "side reversed, such as ranks whose 1 is the best?"
            )

    def compare_judges(self) -> None:
        """Add the tests of every two judges on the factors of the first tables."""
        if len(self.sides.judges) > 1:
            self.comparisons = compare_judges(
                self.paired,
                self.rules.headline,
                self.rules.levels,
                draws=self.rules.resamples,
                seed=self.rules.seed,
            )

    def add_disagreements(self, members: Mapping[str, pd.DataFrame]) -> None:
        """Add the edits on which the members of a panel differ most."""
        for factor in self.rules.headline:
            self.disagreements += disagreements(members, factor)

    def result(self) -> Agreement:
        """Return what was gathered."""
        draws = 0
        if self.comparisons:
            draws = draws_used(self.paired, self.rules.resamples)

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
            without_overall=self.rules.without_overall,
            paired=self.paired,
        )


def _surely_negative(row: AgreementRow) -> bool:
    """Tell whether a correlation lies below 0 with its interval; at -1 it has none."""
    if row.value is not None and row.value <= SAME - 1:
        return row.n >= FEWEST_FOR_A_VERDICT
    return row.limits[1] is not None and row.limits[1] < 0


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


# --------------------------------------------------------------------------------------------------
# A panel: several judges as one, where they disagree, and whom they may favour.
# --------------------------------------------------------------------------------------------------


FAMILIES = {
    "OpenAI": r"gpt|dall.?e|chatgpt|openai|\bo[134]\b",
    "Google": r"gemini|imagen|palm|nano.?banana|gemma|google",
    "Anthropic": r"claude|anthropic",
    "Alibaba": r"qwen|wan\d|alibaba|tongyi",
    "Meta": r"llama|\bemu\b|meta",
    "ByteDance": r"seed.?(edit|dream|vl)|doubao|bagel|bytedance",
    "Black Forest Labs": r"flux|kontext",
    "Stability AI": r"stable.?diffusion|\bsd(xl|3)?\b|sdedit|stability",
    "OpenGVLab": r"intern(vl|lm)",
    "StepFun": r"step.?(1|1x|fun)",
    "Tencent": r"hunyuan|tencent",
}
"""Families of models by what their names hold; a user's own table comes before it."""


def panel_scores(judges: Mapping[str, pd.DataFrame], how: PanelScores) -> pd.DataFrame:
    """Return the mean of several judges as one more judge's scores, over edits that all scored.

    `z` standardises each judge on each factor first, so that one with a wide scale does not outvote
    the others; the mean is then in standard deviations.
    """
    frames = []
    for name, table in judges.items():
        scored = table[table["outcome"] == Outcome.SCORED]
        means = scored.groupby(["item", "task", "method", "factor"], sort=False)["score"].mean()
        if how == "z":
            by_factor = means.groupby(level="factor")
            spread = by_factor.transform("std").replace(0.0, np.nan)
            means = (means - by_factor.transform("mean")) / spread

        frames.append(means.rename(name))

    together = pd.concat(frames, axis=1, join="inner").dropna()
    rows = together.mean(axis=1).rename("score").reset_index()
    return rows.assign(repeat=1, position=None, outcome=Outcome.SCORED.value, reason="")


def panel_notes(
    judges: Mapping[str, pd.DataFrame],
    how: PanelScores,
    models: Mapping[str, str],
    families: Mapping[str, str],
) -> list[str]:
    """Return what the panel is the mean of, and which of its judges may favour their own kind.

    `models` is the model behind each judge's name; `families` maps parts of names to families.
    """
    taken = "standardised first (z-scores)" if how == "z" else "as they are (raw)"
    methods = sorted({str(name) for table in judges.values() for name in table["method"].unique()})
    behind = {name: models.get(name, name) for name in judges}
    first = f"panel: the mean of {', '.join(judges)}, scores taken {taken}"
    return [first, *family_warnings(behind, methods, families)]


def without_each(judges: Mapping[str, pd.DataFrame], how: PanelScores) -> dict[str, pd.DataFrame]:
    """Return the panel without each of its judges; nothing where one judge would be left."""
    if len(judges) < 3:
        return {}

    return {
        name: panel_scores({other: judges[other] for other in judges if other != name}, how)
        for name in judges
    }


def disagreements(judges: Mapping[str, pd.DataFrame], factor: str, most: int = 20) -> list[Entry]:
    """Return the edits on which standardised judges differ most, the worst first."""
    frames = []
    for name, table in judges.items():
        scored = table[(table["outcome"] == Outcome.SCORED) & (table["factor"] == factor)]
        means = scored.groupby(["task", "item", "method"], sort=False)["score"].mean()
        frames.append(means.rename(name))

    raw = pd.concat(frames, axis=1, join="inner").dropna()
    if raw.empty:
        return []

    spread = raw.std(ddof=0).replace(0.0, 1.0)
    apart = ((raw - raw.mean()) / spread).std(axis=1, ddof=0)
    found = []
    for place in np.argsort(-apart.to_numpy(), kind="stable")[:most]:
        task, item, method = raw.index[place]
        scores = {str(name): float(raw[name].iloc[place]) for name in raw.columns}
        found.append(
            {
                "task": task,
                "item": item,
                "method": method,
                "factor": factor,
                "spread": float(apart.iloc[place]),
                "scores": scores,
            }
        )

    return found


def family_of(name: str, own: Mapping[str, str] | None = None) -> str:
    """Return the family a model's name belongs to, "" where none is known.

    `own` maps parts of names to families, and comes before the table here.
    """
    plain = name.lower()
    for part, family in (own or {}).items():
        if part.lower() in plain:
            return family

    for family, pattern in FAMILIES.items():
        if re.search(pattern, plain.replace("_", " ")):
            return family

    return ""


def family_warnings(
    judges: Mapping[str, str], methods: Sequence[str], own: Mapping[str, str] | None = None
) -> list[str]:
    """Return a warning for every judge that comes from one family with methods it judged.

    `judges` maps a judge's name in the tables to its model's.
    """
    found = []
    for judge, model in judges.items():
        family = family_of(model, own) or family_of(judge, own)
        if not family:
            continue

        related = [method for method in methods if family_of(method, own) == family]
        if related:
            found.append(
                f"{judge} and {', '.join(related)} come from one family of models ({family}): "
                "a judge may favour its own kind"
            )

    return found


# --------------------------------------------------------------------------------------------------
# The whole answer: every row, verdict and note of judges set against people.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agreement:
    """Judge–human agreement: shows as a table in a notebook, and converts to a frame or JSON."""

    rows: Sequence[AgreementRow]
    """Over all task categories; at the level within-method also each method inside each task."""
    task_rows: Sequence[AgreementRow]
    """The other levels inside each task category."""
    methods: Sequence[MethodStanding]
    people: Sequence[AgreementRow]
    factor_means: Sequence[Mapping[str, Any]]
    verdicts: Sequence[Verdict]
    comparisons: Sequence[Mapping[str, Any]]
    """The tests of every two judges, at every level."""
    alternative: Sequence[Mapping[str, Any]]
    powered: Sequence[Mapping[str, Any]]
    variance: Mapping[str, Mapping[str, Any]]
    """By factor: the variance components of people's ratings."""
    disagreements: Sequence[Mapping[str, Any]]
    notes: Sequence[str]
    settings: Mapping[str, Any]
    headline_factors: Sequence[str]
    """What the first tables are about: the overall, or the factors asked for."""
    without_overall: frozenset[str] = frozenset()
    """The judges, and PEOPLE, whose overall is the mean of their factors: nobody gave it."""
    paired: Mapping[tuple[str, str], Paired] = field(default_factory=dict, repr=False)
    """By judge and factor: the pairs behind the rows, for plots."""

    @property
    def judges(self) -> list[str]:
        """The judges, in the order given."""
        return list(dict.fromkeys(name for name, _ in self.paired))

    @property
    def factors(self) -> list[str]:
        """The factors, overall last."""
        found = dict.fromkeys(factor for _, factor in self.paired)
        return sorted(found, key=lambda factor: factor == OVERALL)

    @property
    def tasks(self) -> list[str]:
        """The task categories there are rows for."""
        rows = (*self.task_rows, *self.rows)
        return list(dict.fromkeys(row.task for row in rows if row.task is not None))

    @property
    def judge_table(self) -> list[dict[str, Any]]:
        """Where there are several judges: each with its ρ at every level, and its cluster."""
        if len(self.judges) < 2:
            return []

        found = []
        for factor in self.headline_factors:
            letters = {level: self._clusters(factor, level) for level in self.settings["levels"]}
            for judge in self.judges:
                line: dict[str, Any] = {"judge": judge, "factor": factor}
                for level, of_judge in letters.items():
                    row = self.row(judge, factor, level, "spearman")
                    line[level] = row.value if row else None
                    line[f"{level} cluster"] = of_judge.get(judge)

                soft = self.row(judge, factor, METHOD, "soft_pairwise_accuracy")
                line["soft_pairwise_accuracy"] = soft.value if soft else None
                found.append(line)

        return found

    def _clusters(self, factor: str, level: str) -> dict[str, str]:
        """Return letters for the judges compared at a level; a panel's parts are not."""
        wanted = (factor, level)
        tests = [one for one in self.comparisons if (one["factor"], one["level"]) == wanted]
        return clusters(list(dict.fromkeys(name for one in tests for name in one["judges"])), tests)

    def row(
        self,
        judge: str,
        factor: str,
        level: str,
        statistic: str,
        *,
        task: str | None = None,
        averaging: str = "",
    ) -> AgreementRow | None:
        """Return one row that is not about a single method, or None where there is no such."""
        wanted = (judge, factor, level, statistic, task, None)
        for row in (*self.rows, *self.task_rows):
            found = (row.judge, row.factor, row.level, row.statistic, row.task, row.method)
            if found == wanted and averaging in ("", row.averaging):
                return row
        return None

    def people_row(self, factor: str, statistic: str) -> AgreementRow | None:
        """Return one row about the people, or None."""
        wanted = (factor, statistic)
        return next((row for row in self.people if (row.factor, row.statistic) == wanted), None)

    def verdict(self, judge: str, factor: str) -> Verdict | None:
        """Return the verdict on a judge for a factor, or None."""
        wanted = (judge, factor)
        return next((one for one in self.verdicts if (one.judge, one.factor) == wanted), None)

    def standings(self, judge: str, factor: str, task: str | None) -> list[MethodStanding]:
        """Return the methods of one table, best by the judge first."""
        wanted = (judge, factor, task)
        return [one for one in self.methods if (one.judge, one.factor, one.task) == wanted]

    def sentence(self, judge: str) -> str:
        """Return the verdict on a judge in one plain sentence.

        Without the level of the verdict, item, it is what was found at the others.
        """
        if ITEM not in self.settings["levels"]:
            return self._sentence_of_levels(judge)

        if OVERALL not in self.headline_factors[:1] and len(self.headline_factors) > 1:
            return self._sentence_over_factors(judge)

        factor = self.headline_factors[0] if self.headline_factors else OVERALL
        said = f"{judge} on {self._said(judge, factor)}"
        across = self.row(judge, factor, METHOD, "spearman")
        if across is not None and across.value is not None:
            rho = fixed(across.value, 2)
            said += f"; its ranking of {across.n} methods and people's: ρ = {rho}"

        verdict = self.verdict(judge, factor)
        if verdict and verdict.why:
            said += f"; {verdict.why}"

        return said + "."

    def _sentence_of_levels(self, judge: str) -> str:
        """Return a judge's ρ at each level there is, beside that of a rater."""
        said = []
        for level in self.settings["levels"]:
            each = [self._at_level(judge, factor, level) for factor in self.headline_factors]
            said.append(f"{judge}, level {level}: {'; '.join(each)}.")

        return " ".join([*said, f"No verdict: it is about the level {ITEM}, which was left out."])

    def _at_level(self, judge: str, factor: str, level: str) -> str:
        row = self.row(judge, factor, level, "spearman")
        if row is None or row.value is None:
            return f"{factor} undefined{f', because {row.why}' if row else ''}"

        low, high = row.limits
        within = "" if low is None or high is None else f"95% {_ends(low, high)}, "
        said = f"{factor} ρ = {fixed(row.value, 3)} ({within}{counted(row.n, row.of[:-1])})"
        own = self.row(judge, factor, level, "rater_spearman")
        rater = self.row(judge, factor, level, "people_rater_spearman")
        if own and rater and own.value is not None and rater.value is not None:
            where = "" if own.n == row.n else f"on {counted(own.n, own.of[:-1])} "
            said += (
                f", {where}{fixed(own.value, 3)} in a rater's place, "
                f"where a rater reaches {fixed(rater.value, 3)}"
            )

        return said

    def beside_raters(self, judge: str) -> list[str]:
        """Return what a judge reaches in a rater's place; and, of an overall nobody gave, its ρ."""
        found = []
        factor = OVERALL if OVERALL in self.factors else self.headline_factors[0]
        if factor == OVERALL and OVERALL not in self.headline_factors[:1]:
            own = "The mean of its factors as" if judge in self.without_overall else "Its own"
            against = ""
            if PEOPLE in self.without_overall:
                against = ", against the mean of the raters' factors"
            found.append(f"{own} {self._said(judge, OVERALL)}{against}.")

        verdict = self.verdict(judge, factor)
        if verdict is not None and verdict.difference is not None:
            gap = verdict.difference
            within = ""
            if gap.low is not None and gap.high is not None:
                within = f" (95% {fixed(gap.low, 3)} to {fixed(gap.high, 3)})"

            found.append(
                f"On {factor}, it reaches {fixed(verdict.judge_value, 3)} in a rater's place, "
                f"where a rater reaches {fixed(verdict.people_value, 3)}; on the {verdict.raters} "
                f"raters with both figures the difference is {fixed(gap.value, 3)}{within}."
            )

        return found

    def _said(self, judge: str, factor: str) -> str:
        """Return a factor, the verdict on it, and the correlation behind that."""
        verdict = self.verdict(judge, factor)
        row = self.row(judge, factor, ITEM, "spearman")
        said = f"{factor}: {verdict.words if verdict else 'no verdict'}"
        if row is None:
            return said
        if row.value is None:
            return f"{said} (ρ is undefined, because {row.why})"

        low, high = row.limits
        within = "" if low is None or high is None else f", 95% {_ends(low, high)}"
        value = fixed(row.value, 3)
        return f"{said} (ρ = {value}{within}, {row.n} {row.of}, level {row.level})"

    def _sentence_over_factors(self, judge: str) -> str:
        """Return the verdict where no overall was given: over the factors."""
        factors = [factor for factor in self.headline_factors if factor != OVERALL]
        words: dict[str, list[str]] = {}
        values = []
        for factor in factors:
            verdict = self.verdict(judge, factor)
            row = self.row(judge, factor, ITEM, "spearman")
            if verdict is not None:
                words.setdefault(verdict.words, []).append(factor)

            if row is not None and row.value is not None:
                values.append(row.value)

        said = "; ".join(f"{one} on {_listed(names)}" for one, names in words.items())
        mean = ""
        if values:
            average = fixed(sum(values) / len(values), 3)
            mean = f" (mean ρ = {average} over {len(values)} factors, level {ITEM})"

        return f"{judge}{self._who_gave_none(judge)}: {said or 'no verdict'}{mean}."

    def _who_gave_none(self, judge: str) -> str:
        """Return whose overall is a mean of factors, and so not what the answer is about."""
        if judge in self.without_overall:
            return ", which has no overall of its own"
        return ", beside raters who gave no overall" if PEOPLE in self.without_overall else ""

    def with_notes(self, notes: Sequence[str]) -> Agreement:
        """Return the same with more notes before its own."""
        return replace(self, notes=[*notes, *self.notes])

    def to_frame(self) -> pd.DataFrame:
        """Return the judges' rows as a table, one statistic per line."""
        return frame(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, at full precision."""
        return {
            "methods": [one.to_json() for one in self.methods],
            "rows": [row.to_json() for row in self.rows],
            "tasks": [row.to_json() for row in self.task_rows],
            "people": [row.to_json() for row in self.people],
            "factor_means": list(self.factor_means),
            "verdicts": [
                one.to_json() | {"sentence": self.sentence(one.judge)}
                if one.factor in self.headline_factors[:1]
                else one.to_json()
                for one in self.verdicts
            ],
            "judges": list(self.judge_table),
            "comparisons": list(self.comparisons),
            "alternative_annotator": list(self.alternative),
            "prediction_powered": list(self.powered),
            "variance": dict(self.variance),
            "disagreements": list(self.disagreements),
            "notes": list(self.notes),
            "settings": dict(self.settings),
        }

    def to_json(self) -> str:
        """Return everything as JSON. NaN cannot occur: what is undefined is null with a reason."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def _repr_html_(self) -> str:
        marks = []
        lines = []
        for judge in self.judges:
            for factor in self.factors:
                row = self.row(judge, factor, ITEM, "spearman")
                if row is None:
                    continue

                marks.append(Whisker(f"{judge}: {factor}", row.value, *row.limits))
                lines.append(_line(self, row))

        table = str(pd.DataFrame(lines).to_html(index=False, na_rep="undefined", border=0))
        title = "Spearman correlation with people over edits, with 95% intervals"
        return table + draw(marks, title)


def _ends(low: float, high: float) -> str:
    return f"{fixed(low, 2)} to {fixed(high, 2)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} factors"


def _line(found: Agreement, row: AgreementRow) -> dict[str, Any]:
    low, high = row.limits
    verdict = found.verdict(row.judge, row.factor)
    return {
        "judge": row.judge,
        "factor": row.factor,
        "n": row.n,
        "ρ": "undefined" if row.value is None else fixed(row.value, 3),
        "95%": "" if low is None or high is None else _ends(low, high),
        "verdict": verdict.words if verdict else "",
    }


def frame(rows: Sequence[AgreementRow]) -> pd.DataFrame:
    """Return rows as a table, one statistic per line."""
    return pd.DataFrame([row.to_json() | {"left_out": told(row.left_out, "; ")} for row in rows])
