"""Judges set against people at four levels, and the whole answer that comes of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lmmscore.agreement.align import Paired
from lmmscore.agreement.judges import clusters
from lmmscore.agreement.statistics import (
    ITEM,
    METHOD,
    WITHIN_ITEM,
    WITHIN_METHOD,
    Statistic,
    statistics,
)
from lmmscore.leaderboard.board import Whisker, draw
from lmmscore.records import OVERALL
from lmmscore.stats import correlation, resampling
from lmmscore.stats.correlation import Within, fisher_mean, mean_reliability
from lmmscore.stats.resampling import (
    Floats,
    Interval,
    Ints,
    ItemGroups,
    column_means,
    interval_over,
    item_groups,
)

if TYPE_CHECKING:
    import pandas as pd

# --------------------------------------------------------------------------------------------------
# One statistic, one method, one verdict: the rows of the answer.
# --------------------------------------------------------------------------------------------------


def known(value: float) -> float | None:
    """Return a number, or None for NaN: JSON has no NaN, and a table must not show one."""
    return None if math.isnan(value) else float(value)


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """A statistic of one judge (or of people) on one factor, with its level, n and interval."""

    judge: str
    factor: str
    level: str
    statistic: str
    value_or_nan: float
    n: int
    of: str
    """What n counts: edits, items, methods, raters."""
    averaging: str = ""
    """`mean` or `fisher` where values are averaged, `pooled` where edits are, else empty."""
    task: str | None = None
    method: str | None = None
    interval: Interval | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    why: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float | None:
        """The value, None where undefined."""
        return known(self.value_or_nan)

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The 95% interval; nothing where there is none."""
        if self.interval is None or self.value is None:
            return None, None
        return self.interval.low, self.interval.high

    def to_json(self) -> dict[str, Any]:
        """Return the row as a JSON object: full precision, null with a reason where undefined."""
        low, high = self.limits
        data: dict[str, Any] = {"judge": self.judge} if self.judge else {}
        data |= {
            "factor": self.factor,
            "level": self.level,
            "statistic": self.statistic,
            "task": self.task,
            "method": self.method,
            "value": self.value,
            "low": low,
            "high": high,
            "n": self.n,
            "of": self.of,
            "averaging": self.averaging or None,
            "left_out": dict(self.left_out),
        }
        if self.value is None:
            data["why"] = self.why or "it is not defined on these scores"
        elif self.interval is not None and low is None:
            data["why"] = self.interval.why

        return data | dict(self.extra)


@dataclass(frozen=True, slots=True)
class MethodStanding:
    """One method beside itself: the judge's mean and rank, people's mean and rank."""

    judge: str
    factor: str
    task: str | None
    method: str
    judge_mean: float
    judge_rank: int
    human_mean: float
    human_rank: int
    items: int

    def to_json(self) -> dict[str, Any]:
        """Return the standing as a JSON object."""
        return {name: getattr(self, name) for name in MethodStanding.__slots__}


MARGIN = 0.1
"""A difference in Spearman's ρ that would not matter: a judge less behind is about as good."""

FEWEST_FOR_A_VERDICT = 10
"""Items below which nothing is concluded about a judge."""

BETTER = "better than one more rater"
EQUAL = "about as good as one more rater"
UNSURE = "no significant difference from one more rater"
BELOW = "below the average rater"
BELOW_ANY = "below any rater"
NONE = "no agreement shown"
TOO_FEW = "too few items for a verdict"
NO_CEILING = "no raters to compare with"

MEANING = (
    f"“{EQUAL.capitalize()}”: surely less than {MARGIN:g} in ρ behind. “{UNSURE.capitalize()}”: "
    "the interval of the difference holds 0 and reaches further down than that. "
    f"“{BELOW.capitalize()}”: the interval lies below 0; “{BELOW_ANY}”: so does that of the "
    "difference from every single rater."
)
"""The margins behind the words."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the judge does beside the raters, each against the mean of the others, within rater."""

    judge: str
    factor: str
    words: str
    judge_value: float
    people_value: float
    difference: Interval | None
    raters: int
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as a JSON object."""
        gap = self.difference
        return {
            "judge": self.judge,
            "factor": self.factor,
            "verdict": self.words,
            "judge_rater_spearman": known(self.judge_value),
            "people_rater_spearman": known(self.people_value),
            "difference": known(gap.value) if gap else None,
            "low": gap.low if gap else None,
            "high": gap.high if gap else None,
            "margin": MARGIN,
            "raters": self.raters,
            **({"why": self.why} if self.why else {}),
        }


def in_words(difference: Interval, *, agrees: bool, below_each: bool) -> str:
    """Return the verdict.

    `difference` is judge minus rater, averaged over raters. `agrees` says whether the judge's own
    correlation with people is surely above zero: being near a crowd that hardly agrees with itself
    is no merit. `below_each` says whether it is surely below every single rater.
    """
    if difference.low is None or difference.high is None:
        return UNSURE if agrees else NONE

    if difference.high < 0:
        return BELOW_ANY if below_each else BELOW

    if not agrees:
        return NONE

    if difference.low > 0:
        return BETTER

    return EQUAL if difference.low > -MARGIN else UNSURE


# --------------------------------------------------------------------------------------------------
# The same statistics at four levels. The level changes the answer, so every number carries it.
# --------------------------------------------------------------------------------------------------

OVER = {
    ITEM: "over all edits pooled",
    WITHIN_ITEM: "over the methods of each item, then averaged over items",
    WITHIN_METHOD: "over the items of each method, then averaged over methods",
    METHOD: "over the methods' means",
}
"""What a level means, in words."""

NO_METHODS = "there is one edit per item, so no methods to rank"
NO_EDITS = "no edit has both a score and a rating"
LONE = "items with fewer than two methods"
NO_METHOD_INTERVAL = (
    "no interval over methods: with few methods none was found that covers; see attenuation"
)


@dataclass(frozen=True)
class AgreementSubject:
    """What rows are about: a judge, a factor, perhaps one task; and the randomness they use."""

    judge: str
    factor: str
    paired: Paired
    task: str | None
    scale_problem: str
    """Why differences of scores mean nothing; "" where they do."""
    rng: np.random.Generator

    def of_task(self, task: str) -> AgreementSubject:
        """Return the same within one task category."""
        return replace(self, paired=self.paired.of_task(task), task=task)

    def row(self, level: str, statistic: Statistic, value: float, **rest: Any) -> AgreementRow:
        """Return a row of this subject."""
        return AgreementRow(
            self.judge, self.factor, level, statistic.name, value, task=self.task, **rest
        )


def level_rows(subject: AgreementSubject, level: str) -> list[AgreementRow]:
    """Return every statistic of a level."""
    return list(_LEVELS[level](subject))


def item_rows(subject: AgreementSubject) -> Iterator[AgreementRow]:
    """Yield every statistic over all edits pooled."""
    paired = subject.paired
    judge, people = paired.judge, paired.people
    constant = correlation.reason_undefined(judge, people)
    groups = item_groups(paired.items, subject.rng)
    for statistic in statistics(ITEM):
        why = _why_undefined(statistic, constant, len(judge), subject.scale_problem)
        value = float("nan") if why or statistic.of is None else statistic.of(judge, people)
        yield subject.row(
            ITEM,
            statistic,
            value,
            n=len(judge),
            of="edits",
            averaging="pooled",
            left_out=paired.left_out,
            why=why or "scores are too many and too fine to compare every two",
            interval=_pooled_interval(statistic, value, paired, groups),
            extra={} if why else statistic.extra(judge, people),
        )


def _why_undefined(statistic: Statistic, constant: str, n: int, scale_problem: str) -> str:
    if n == 0:
        return NO_EDITS
    if statistic.needs_scale:
        return scale_problem
    if statistic.correlation:
        return constant
    return "a pair needs two edits" if n < 2 else ""


def _pooled_interval(
    statistic: Statistic, value: float, paired: Paired, groups: ItemGroups
) -> Interval | None:
    """Return the interval of a statistic over all edits, leaving groups of items out."""

    def replicates() -> Floats:
        return _replicates(statistic, paired.judge, paired.people, paired.item, groups)

    try:
        return interval_over(paired.items, value, replicates, statistic.transform)
    except OverflowError as error:
        return Interval(value, why=f"no interval, because {error}")


def _replicates(
    statistic: Statistic, judge: Floats, people: Floats, item: Ints, groups: ItemGroups
) -> Floats:
    """Return a statistic of two columns with each group of items left out.

    Raises OverflowError where the statistic is over pairs of edits, and these are too many.
    """
    group = groups.of_item[item]
    if statistic.of_counts is not None:
        return groups.replicates(statistic.of_counts(judge, people, group, groups.number))

    assert statistic.of is not None
    found = np.full(groups.number, np.nan)
    for one in range(groups.number):
        kept = group != one
        found[one] = statistic.of(judge[kept], people[kept])

    return found


def within_item_rows(subject: AgreementSubject) -> Iterator[AgreementRow]:
    """Yield the statistics inside items, averaged over the items where they are defined."""
    paired = subject.paired
    chosen = statistics(WITHIN_ITEM)
    if len(paired.edits) == paired.items:
        lone = {LONE: paired.items} if paired.items else {}
        why = NO_METHODS if paired.items else NO_EDITS
        for statistic in chosen:
            yield subject.row(
                WITHIN_ITEM,
                statistic,
                float("nan"),
                n=0,
                of="items",
                averaging="mean",
                left_out=lone,
                why=why,
            )

        return

    judge, people = paired.grid("judge"), paired.grid("people")
    inside = Within(judge, people)
    lone = {LONE: int(inside.lone.sum())}
    constant = lone | {
        "items where the judge gave all methods the same": int(inside.judge_constant.sum()),
        "items where people gave all methods the same": int(
            (inside.people_constant & ~inside.judge_constant).sum()
        ),
    }
    groups = item_groups(paired.items, subject.rng)
    for statistic in chosen:
        values = _row_values(statistic, judge, people)
        left = constant if statistic.correlation else lone
        extra = statistic.extra_rows(judge, people)
        yield _averaged(subject, statistic, values, groups, left, extra)


def _row_values(statistic: Statistic, judge: Floats, people: Floats) -> Floats:
    if statistic.of_rows is not None:
        return statistic.of_rows(judge, people)

    assert statistic.of is not None
    found = np.full(len(judge), np.nan)
    for place in range(len(judge)):
        both = ~(np.isnan(judge[place]) | np.isnan(people[place]))
        if both.sum() > 1:
            found[place] = statistic.of(judge[place][both], people[place][both])

    return found


def _averaged(
    subject: AgreementSubject,
    statistic: Statistic,
    values: Floats,
    groups: ItemGroups,
    left: Mapping[str, int],
    extra: Mapping[str, Any],
) -> AgreementRow:
    """Return the mean over items where a statistic is defined, saying how many are not and why."""
    defined = ~np.isnan(values)
    left = {reason: count for reason, count in left.items() if count}
    value = float(values[defined].mean()) if defined.any() else float("nan")
    told = ", ".join(f"{reason} ({count})" for reason, count in left.items())
    items = int(defined.sum())

    def replicates() -> Floats:
        return groups.replicates(resampling.mean_of(values, groups.of_item, groups.number))

    return subject.row(
        WITHIN_ITEM,
        statistic,
        value,
        n=items,
        of="items",
        averaging="mean",
        left_out=left,
        why=f"it is defined in no item: {told}",
        interval=interval_over(items, value, replicates, statistic.transform),
        extra=extra,
    )


@dataclass(frozen=True)
class MethodCell:
    """The edits of one method in one task."""

    task: str | None
    method: str
    judge: Floats
    people: Floats
    item: Ints

    @property
    def items(self) -> int:
        """How many items they are of."""
        return len(np.unique(self.item))

    @property
    def undefined(self) -> str:
        """Why a correlation of them is undefined; "" where it is defined."""
        return correlation.reason_undefined(self.judge, self.people)


def within_method_rows(subject: AgreementSubject) -> Iterator[AgreementRow]:
    """Yield the statistics over the items of each method, then their averages, named.

    Without a task of its own, a subject with several tasks has no rows of single methods: a method
    stands for other edits in each task. Its averages are over every method of every task.
    """
    paired = subject.paired
    groups = item_groups(paired.items, subject.rng)
    cells = _method_cells(subject)
    for statistic in statistics(WITHIN_METHOD):
        values = np.full(len(cells), np.nan)
        table = np.full((len(cells), groups.number), np.nan)
        for place, cell in enumerate(cells):
            why = _why_undefined(statistic, cell.undefined, len(cell.judge), subject.scale_problem)
            if not why and statistic.of is not None:
                values[place] = statistic.of(cell.judge, cell.people)
                table[place] = _replicates(statistic, cell.judge, cell.people, cell.item, groups)

            if cell.task == subject.task:
                # A group without an edit of this method leaves nothing out.
                own = table[place][np.unique(groups.of_item[cell.item])]
                yield _method_row(subject, statistic, cell, values[place], own, why)

        yield from _method_averages(subject, statistic, values, table)


def _method_cells(subject: AgreementSubject) -> list[MethodCell]:
    """Return every method of every task, with its edits."""
    paired = subject.paired
    split = subject.task is None and len(paired.tasks) > 1
    task = paired.edits["task"].to_numpy() if split else np.full(len(paired.edits), "")
    found = []
    for one in paired.tasks if split else [""]:
        for code, method in enumerate(paired.methods):
            chosen = (task == one) & (paired.method == code)
            if chosen.any():
                cell = MethodCell(
                    task=one if split else subject.task,
                    method=method,
                    judge=paired.judge[chosen],
                    people=paired.people[chosen],
                    item=paired.item[chosen],
                )
                found.append(cell)

    return found


def _method_row(
    subject: AgreementSubject,
    statistic: Statistic,
    cell: MethodCell,
    value: float,
    replicates: Floats,
    why: str,
) -> AgreementRow:
    row = subject.row(
        WITHIN_METHOD,
        statistic,
        value,
        n=len(cell.judge),
        of="items",
        why=why,
        interval=interval_over(cell.items, value, lambda: replicates, statistic.transform),
    )
    return replace(row, task=cell.task, method=cell.method)


def _method_averages(
    subject: AgreementSubject, statistic: Statistic, values: Floats, table: Floats
) -> Iterator[AgreementRow]:
    """Yield the averages over methods, with intervals that leave items out of all at once."""
    defined = ~np.isnan(values)
    undefined = int((~defined).sum())
    left = {"methods for which it is undefined": undefined} if undefined else {}
    ways = ("mean", "fisher") if statistic.correlation else ("mean",)
    for averaging in ways:
        value = _average(values, averaging)
        why = "it is defined for no method"
        if defined.any():
            why = "a correlation of ±1 has no Fisher transform"

        without = partial(_column_averages, table, averaging)
        yield subject.row(
            WITHIN_METHOD,
            statistic,
            value,
            n=int(defined.sum()),
            of="methods",
            averaging=averaging,
            left_out=left,
            why=why,
            interval=interval_over(subject.paired.items, value, without, statistic.transform),
        )


def _column_averages(table: Floats, averaging: str) -> Floats:
    return np.array([_average(column, averaging) for column in table.T])


def _average(values: Floats, averaging: str) -> float:
    """Return the average of the values that are defined; NaN where none is."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return float("nan")
    return fisher_mean(defined) if averaging == "fisher" else float(defined.mean())


def method_rows(subject: AgreementSubject) -> Iterator[AgreementRow]:
    """Yield the statistics over methods' means, with how far noise in them lowers a correlation."""
    paired = subject.paired
    judge, people = paired.grid("judge"), paired.grid("people")
    means = column_means(judge, None), column_means(people, None)
    methods = len(paired.methods)
    unranked = _why_unranked(paired)
    constant = "" if unranked else correlation.reason_undefined(*means, of="method")
    noise = {} if unranked else attenuation(judge, people)
    for statistic in statistics(METHOD):
        why = unranked or _why_undefined(statistic, constant, methods, subject.scale_problem)
        value = float("nan")
        extra: Mapping[str, Any] = {}
        if not why and statistic.of_grid is not None:
            value = statistic.of_grid(judge, people, np.random.default_rng(0))
            extra = statistic.extra_rows(judge, people)
        elif not why and statistic.of is not None:
            value = statistic.of(*means)
            extra = noise if statistic.correlation else {}

        yield subject.row(
            METHOD,
            statistic,
            value,
            n=methods,
            of="methods",
            why=why or "no two methods share an item",
            interval=Interval(value, why=NO_METHOD_INTERVAL),
            extra=extra,
        )


def _why_unranked(paired: Paired) -> str:
    """Return why there is no ranking of methods; "" where there is one."""
    if len(paired.methods) > 1:
        return ""
    if not paired.methods:
        return "a ranking needs two methods, and there is none"
    return "a ranking needs two methods" if paired.methods[0] else NO_METHODS


def attenuation(judge: Floats, people: Floats) -> dict[str, float | None]:
    """Return how reliable both sides' method means are, and by what factor that lowers ρ.

    A ρ of 1 between true means would be expected to show as about √(reliability × reliability),
    if the noise of the two were independent.
    """
    by_judge, by_people = mean_reliability(judge), mean_reliability(people)
    factor = math.sqrt(max(by_judge, 0.0) * max(by_people, 0.0))
    return {
        "judge_reliability": known(by_judge),
        "human_reliability": known(by_people),
        "attenuation": known(factor),
    }


_LEVELS = {
    ITEM: item_rows,
    WITHIN_ITEM: within_item_rows,
    WITHIN_METHOD: within_method_rows,
    METHOD: method_rows,
}


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
        for row in self.people:
            if (row.factor, row.statistic) == (factor, statistic):
                return row
        return None

    def verdict(self, judge: str, factor: str) -> Verdict | None:
        """Return the verdict on a judge for a factor, or None."""
        for one in self.verdicts:
            if (one.judge, one.factor) == (judge, factor):
                return one
        return None

    def standings(self, judge: str, factor: str, task: str | None) -> list[MethodStanding]:
        """Return the methods of one table, best by the judge first."""
        wanted = (judge, factor, task)
        return [one for one in self.methods if (one.judge, one.factor, one.task) == wanted]

    def sentence(self, judge: str) -> str:
        """Return the verdict on a judge in one plain sentence."""
        if OVERALL not in self.headline_factors[:1] and len(self.headline_factors) > 1:
            return self._sentence_over_factors(judge)

        factor = self.headline_factors[0] if self.headline_factors else OVERALL
        said = f"{judge} on {self._said(judge, factor)}"
        across = self.row(judge, factor, METHOD, "spearman")
        if across is not None and across.value is not None:
            said += f"; its ranking of {across.n} methods and people's: ρ = {across.value:.2f}"

        verdict = self.verdict(judge, factor)
        if verdict and verdict.why:
            said += f"; {verdict.why}"

        return said + "."

    def beside_raters(self, judge: str) -> list[str]:
        """Return what a judge reaches in a rater's place; and, of an overall nobody gave, its ρ."""
        found = []
        factor = OVERALL if OVERALL in self.factors else self.headline_factors[0]
        if factor == OVERALL and OVERALL not in self.headline_factors[:1]:
            found.append(f"The mean of its factors as {self._said(judge, OVERALL)}.")

        verdict = self.verdict(judge, factor)
        if verdict is not None and verdict.difference is not None:
            gap = verdict.difference
            within = ""
            if gap.low is not None and gap.high is not None:
                within = f" (95% {gap.low:.3f} to {gap.high:.3f})"

            found.append(
                f"On {factor}, it reaches {verdict.judge_value:.3f} in a rater's place, where a "
                f"rater reaches {verdict.people_value:.3f}; on the {verdict.raters} raters with "
                f"both figures the difference is {gap.value:.3f}{within}."
            )

        return found

    def _said(self, judge: str, factor: str) -> str:
        """Return a factor, the verdict on it, and the correlation behind that."""
        verdict = self.verdict(judge, factor)
        row = self.row(judge, factor, ITEM, "spearman")
        if row is None:
            row = self.row(judge, factor, WITHIN_ITEM, "spearman")

        said = f"{factor}: {verdict.words if verdict else 'no verdict'}"
        if row is None:
            return said
        if row.value is None:
            return f"{said} (ρ is undefined, because {row.why})"

        low, high = row.limits
        within = "" if low is None or high is None else f", 95% {low:.2f} to {high:.2f}"
        return f"{said} (ρ = {row.value:.3f}{within}, {row.n} {row.of}, level {row.level})"

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
            mean = f" (mean ρ = {sum(values) / len(values):.3f} over {len(values)} factors)"

        return f"{judge}, which has no overall of its own: {said or 'no verdict'}{mean}."

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

        import pandas as pd

        table = str(pd.DataFrame(lines).to_html(index=False, na_rep="undefined", border=0))
        title = "Spearman correlation with people over edits, with 95% intervals"
        return table + draw(marks, title)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} factors"


def _line(found: Agreement, row: AgreementRow) -> dict[str, Any]:
    low, high = row.limits
    verdict = found.verdict(row.judge, row.factor)
    return {
        "judge": row.judge,
        "factor": row.factor,
        "n": row.n,
        "ρ": "undefined" if row.value is None else f"{row.value:.3f}",
        "95%": "" if low is None or high is None else f"{low:.2f} to {high:.2f}",
        "verdict": verdict.words if verdict else "",
    }


def frame(rows: Sequence[AgreementRow]) -> pd.DataFrame:
    """Return rows as a table, one statistic per line."""
    import pandas as pd

    records = []
    for row in rows:
        told = [f"{reason} ({count})" for reason, count in row.left_out.items()]
        records.append(row.to_json() | {"left_out": "; ".join(told)})

    return pd.DataFrame(records)
