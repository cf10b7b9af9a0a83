"""Judges set against people at four levels, and the tests of which of two is closer to them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from lmmscore.agreement.align import EDIT, Paired
from lmmscore.agreement.statistics import (
    ITEM,
    METHOD,
    WITHIN_ITEM,
    WITHIN_METHOD,
    Statistic,
    statistics,
)
from lmmscore.stats import (
    SAME,
    Floats,
    GroupRanks,
    Interval,
    Ints,
    ItemGroups,
    column_means,
    correlation,
    draws_needed,
    flip_difference,
    holm,
    interval_over,
    item_groups,
    letters,
    mean_known,
    mean_of,
    swap_p,
)
from lmmscore.stats.correlation import Within, fisher_mean, mean_reliability, spearman_rows

# --------------------------------------------------------------------------------------------------
# One statistic, one method, one verdict: the rows of the answer.
# --------------------------------------------------------------------------------------------------


def known(value: float) -> float | None:
    """Return a number, or None for NaN: JSON has no NaN, and a table must not show one."""
    return None if math.isnan(value) else float(value)


def told(counts: Mapping[str, int], between: str = ", ") -> str:
    """Return in words what was left out, each reason with its count."""
    return between.join(f"{reason} ({count})" for reason, count in counts.items())


THE_SAME = "it is the same on all of these items, which says nothing about others"
"""Why a value has no interval where no item changes it: one of no width would look certain."""


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
        """The 95% interval; nothing where there is none, or one of no width."""
        if self.interval is None or self.value is None:
            return None, None

        low, high = self.interval.limits or (0.0, 0.0)
        return (low, high) if high - low > SAME else (None, None)

    @property
    def why_no_interval(self) -> str:
        """Why a value has no interval; empty where it has one, or was never to have any."""
        if self.interval is None or self.limits[0] is not None:
            return ""
        return self.interval.why or THE_SAME

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
        elif self.why_no_interval:
            data["why"] = self.why_no_interval

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
            "level": ITEM,
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
    groups = item_groups(paired.item, subject.rng)
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
    for statistic in chosen:
        values = _row_values(statistic, judge, people)
        left = constant if statistic.correlation else lone
        extra = statistic.extra_rows(judge, people)
        yield _averaged(subject, statistic, values, left, extra)


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
    left: Mapping[str, int],
    extra: Mapping[str, Any],
) -> AgreementRow:
    """Return the mean over items where a statistic is defined, saying how many are not and why."""
    items = np.flatnonzero(~np.isnan(values))
    defined = values[items]
    left = {reason: count for reason, count in left.items() if count}
    value = float(defined.mean()) if len(defined) else float("nan")
    groups = item_groups(items, subject.rng)
    mean = mean_of(defined, groups.of_item[items], groups.number)
    return subject.row(
        WITHIN_ITEM,
        statistic,
        value,
        n=len(items),
        of="items",
        averaging="mean",
        left_out=left,
        why=f"it is defined in no item: {told(left)}",
        interval=groups.interval(value, mean, statistic.transform),
        extra=extra,
    )


@dataclass(frozen=True)
class MethodCell:
    """The edits of one method in one task, one per item."""

    task: str | None
    method: str
    judge: Floats
    people: Floats
    item: Ints

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
    groups = item_groups(paired.item, subject.rng)
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

        used = [cell.item for cell, value in zip(cells, values, strict=True) if not np.isnan(value)]
        items = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *used]))
        table = table[:, np.unique(groups.of_item[items])]
        yield from _method_averages(subject, statistic, values, table, len(items))


def _method_cells(subject: AgreementSubject) -> list[MethodCell]:
    """Return every method of every task, with its edits."""
    paired = subject.paired
    split = subject.task is None and len(paired.tasks) > 1
    task = paired.edits["task"].to_numpy() if split else np.full(len(paired.edits), "")
    found = []
    for one in sorted(set(task)):
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
    items = len(cell.item)
    row = subject.row(
        WITHIN_METHOD,
        statistic,
        value,
        n=items,
        of="items",
        why=why,
        interval=interval_over(items, value, lambda: replicates, statistic.transform),
    )
    return replace(row, task=cell.task, method=cell.method)


def _method_averages(
    subject: AgreementSubject, statistic: Statistic, values: Floats, table: Floats, items: int
) -> Iterator[AgreementRow]:
    """Yield the averages over methods, with intervals that leave items out of all at once.

    `table` has the same values without one group of items after another, a column per group that
    has any of the `items` behind them.
    """
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
            interval=interval_over(items, value, without, statistic.transform),
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
            why=why or "no two methods share two items",
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
# Tests between two judges: which of them is closer to people, at each level.
# --------------------------------------------------------------------------------------------------


Entry = dict[str, Any]

ALPHA = 0.05

PANEL = "panel"

PANEL_WITHOUT = f"{PANEL} without "
"""What the panel without one of its judges is called, before the judge's name."""

ENOUGH_DRAWS = 1_999
"""Permutations of a test, at most, unless Holm's correction needs more."""


def compare_pairs(
    names: tuple[str, str],
    factor: str,
    first: Paired,
    second: Paired,
    levels: Sequence[str],
    *,
    draws: int,
    seed: int,
) -> list[Entry]:
    """Return the tests of two judges on one factor at each level, over the edits both scored."""
    both = first.edits.merge(second.edits[[*EDIT, "judge"]], on=EDIT, suffixes=("", "_second"))
    shared = Paired(both, {}, first.unrated)
    other = Paired(both.assign(judge=both["judge_second"]), {}, first.unrated)
    entries = []
    for level in levels:
        rng = np.random.default_rng(seed)
        entry: Entry = {
            "judges": list(names),
            "factor": factor,
            "level": level,
            "statistic": "spearman",
        }
        entry |= _TESTS[level](shared, other, draws, rng)
        entries.append(entry)

    return entries


@dataclass(frozen=True, slots=True)
class SharedEdits:
    """Edits that two judges scored: what each gave, people's means, and the items."""

    first: Floats
    second: Floats
    people: Floats
    item: Ints

    @property
    def undefined(self) -> str:
        """Why a judge's correlation with people is undefined; "" where both are defined."""
        return correlation.reason_undefined(
            self.first, self.people
        ) or correlation.reason_undefined(self.second, self.people)


def _pooled(first: Paired, second: Paired, draws: int, rng: np.random.Generator) -> Entry:
    """Return the test over all edits pooled, and Williams' for comparison."""
    edits = SharedEdits(first.judge, second.judge, first.people, first.item)
    n, items = len(edits.item), first.items
    entry: Entry = {"n": n, "of": "edits"}
    if edits.undefined:
        return entry | {"value": None, "why": edits.undefined}

    entry |= _swap_test([edits], items, draws, rng)
    between = correlation.spearman(edits.first, edits.second)
    williams = correlation.williams(entry["first"], entry["second"], between, n)
    entry |= {
        "p_williams": williams.p if williams else None,
        "t_williams": williams.t if williams else None,
        "df_williams": williams.df if williams else None,
        "edits_independent": items == n,
    }
    return entry | _swap_limits([edits], entry["value"], rng)


def _swap_test(
    parts: Sequence[SharedEdits], items: int, draws: int, rng: np.random.Generator
) -> Entry:
    """Return both judges' Spearman averaged over parts, and the test of their difference.

    Scores are turned into ranks first: only then is a swap between judges with different habits a
    fair one. Both judges' scores are sorted once, together; a swap is a choice of counts.
    """
    by_first = float(np.mean([correlation.spearman(one.first, one.people) for one in parts]))
    by_second = float(np.mean([correlation.spearman(one.second, one.people) for one in parts]))
    both = [
        np.concatenate([correlation.midranks(one.first), correlation.midranks(one.second)])
        for one in parts
    ]
    twice = [np.tile(one.people, 2) for one in parts]
    places = [np.concatenate([one.item, one.item + items]) for one in parts]
    ranks = GroupRanks(twice, [both], places, 2 * items)

    def difference(keep: Floats) -> Floats:
        swap = 1 - keep
        kept = mean_known(ranks.of(np.hstack([keep, swap]))[0])
        return kept - mean_known(ranks.of(np.hstack([swap, keep]))[0])

    return {
        "value": by_first - by_second,
        "first": by_first,
        "second": by_second,
        "p_permutation": swap_p(difference, items, draws=draws, rng=rng),
    }


def _swap_limits(parts: Sequence[SharedEdits], value: float, rng: np.random.Generator) -> Entry:
    """Return the interval of that difference, leaving items out of all parts at once."""
    groups = item_groups(np.concatenate([one.item for one in parts]), rng)
    ranks = GroupRanks(
        [one.people for one in parts],
        [[one.first for one in parts], [one.second for one in parts]],
        [groups.of_item[one.item] for one in parts],
        groups.number,
    )

    def difference(counts: Floats) -> Floats:
        by_first, by_second = ranks.of(counts)
        return mean_known(by_first) - mean_known(by_second)

    return _limits(groups.interval(value, difference, "none"))


def _limits(found: Interval | None) -> Entry:
    return {"low": found.low if found else None, "high": found.high if found else None}


def _within_items(first: Paired, second: Paired, draws: int, rng: np.random.Generator) -> Entry:
    """Return the test over items' own correlations, where both judges have one."""
    values = []
    for paired in (first, second):
        inside = Within(paired.grid("judge"), paired.grid("people"))
        values.append(inside.correlations()["spearman"])

    defined = ~(np.isnan(values[0]) | np.isnan(values[1]))
    entry: Entry = {"n": int(defined.sum()), "of": "items"}
    left = int((~defined).sum())
    entry["left_out"] = {"items where it is undefined for one of them": left} if left else {}
    if not defined.any():
        return entry | {"value": None, "why": "it is defined in no item for both judges"}

    a, b = values[0][defined], values[1][defined]
    value = float((a - b).mean())
    gap = flip_difference(a - b)
    each = ItemGroups(np.arange(len(a)), len(a), len(a))
    mean = mean_of(a - b, each.of_item, each.number)
    return entry | {
        "value": value,
        "first": float(a.mean()),
        "second": float(b.mean()),
        "p_permutation": swap_p(gap, len(a), draws=draws, rng=rng),
        **_limits(each.interval(value, mean, "none")),
    }


def _within_methods(first: Paired, second: Paired, draws: int, rng: np.random.Generator) -> Entry:
    """Return the test over the items of each method of each task, averaged over methods."""
    methods = first.edits["method"].to_numpy()
    tasks = first.edits["task"].to_numpy()
    parts = []
    for task, method in sorted(set(zip(tasks, methods, strict=True))):
        chosen = (tasks == task) & (methods == method)
        part = SharedEdits(
            first.judge[chosen], second.judge[chosen], first.people[chosen], first.item[chosen]
        )
        if not part.undefined:
            parts.append(part)

    entry: Entry = {"n": len(parts), "of": "methods", "averaging": "mean"}
    if not parts:
        return entry | {"value": None, "why": "it is defined for no method with both judges"}

    entry |= _swap_test(parts, first.items, draws, rng)
    return entry | _swap_limits(parts, entry["value"], rng)


def _methods(first: Paired, second: Paired, draws: int, rng: np.random.Generator) -> Entry:
    """Return the test over methods' means: items are swapped, then averaged, then ranked."""
    a, b, people = first.grid("judge"), second.grid("judge"), first.grid("people")
    entry: Entry = {"n": a.shape[1], "of": "methods"}
    if a.shape[1] < 3:
        return entry | {"value": None, "why": "a comparison of rankings needs three methods"}

    # Swapping scores of judges with different habits is fair only on a common scale.
    a, b = _z_scores(a), _z_scores(b)
    target = np.nanmean(people, axis=0)[None, :]
    there = (~np.isnan(a)).astype(float)
    size = there.sum(axis=0)
    left, right = np.nan_to_num(a), np.nan_to_num(b)

    def rho(keep: Floats) -> Floats:
        means = (keep @ left + (1 - keep) @ right) / size
        return spearman_rows(means, np.repeat(target, len(keep), axis=0))

    def difference(keep: Floats) -> Floats:
        return rho(keep) - rho(1 - keep)

    whole = np.ones((1, len(a)))
    values = [float(rho(whole)[0]), float(rho(1 - whole)[0])]
    if np.isnan(values).any():
        return entry | {"value": None, "why": "a judge gave all methods the same mean"}

    return entry | {
        "value": values[0] - values[1],
        "first": values[0],
        "second": values[1],
        "p_permutation": swap_p(difference, len(a), draws=draws, rng=rng),
    }


def _z_scores(grid: Floats) -> Floats:
    spread = float(np.nanstd(grid))
    return np.asarray((grid - np.nanmean(grid)) / (spread if spread > 0 else 1.0))


_TESTS = {
    ITEM: _pooled,
    WITHIN_ITEM: _within_items,
    WITHIN_METHOD: _within_methods,
    METHOD: _methods,
}


def compare_judges(
    paired: Mapping[tuple[str, str], Paired],
    factors: Sequence[str],
    levels: Sequence[str],
    *,
    draws: int,
    seed: int,
) -> list[Entry]:
    """Return the tests of every two judges,
    corrected by Holm over the pairs of a factor and level."""
    pairs = _contenders(paired)
    needed = draws_used(paired, draws)
    found = []
    for factor in factors:
        for first, second in pairs:
            if (first, factor) not in paired or (second, factor) not in paired:
                continue

            sides = paired[first, factor], paired[second, factor]
            several = len(sides[0].edits) > sides[0].items
            used = levels if several else [level for level in levels if level == ITEM]
            found += compare_pairs((first, second), factor, *sides, used, draws=needed, seed=seed)

    return _holm(found)


def _contenders(paired: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return every two judges to test."""
    names = dict.fromkeys(name for name, _ in paired)
    # A panel without one of its judges shows what that judge adds; it is no contender.
    return list(combinations([name for name in names if not name.startswith(PANEL_WITHOUT)], 2))


def draws_used(paired: Iterable[tuple[str, str]], draws: int) -> int:
    """Return how many permutations each test of two judges draws.

    `paired` are judges and factors. `draws` more than enough are not made, nor fewer than Holm's
    correction over all pairs of judges needs.
    """
    tests = max(len(_contenders(paired)), 1)
    return draws_needed(tests, ALPHA, min(draws, ENOUGH_DRAWS))


def _holm(entries: list[Entry]) -> list[Entry]:
    families: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        if entry.get("p_permutation") is not None:
            families.setdefault((entry["factor"], entry["level"]), []).append(entry)

    for family in families.values():
        raw = np.array([entry["p_permutation"] for entry in family])
        for entry, p in zip(family, holm(raw), strict=True):
            entry["p_holm"] = float(p)

    return entries


def clusters(judges: Sequence[str], entries: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return letters: between judges that share one there is no significant difference."""
    apart = set()
    for entry in entries:
        p = entry.get("p_holm")
        if p is not None and p <= ALPHA:
            apart.add((entry["judges"][0], entry["judges"][1]))
    return letters(list(judges), apart)
