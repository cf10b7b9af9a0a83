"""The same statistics at four levels. The level changes the answer, so every number carries it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lmmscore.agreement.align import Paired
from lmmscore.agreement.result import AgreementRow, known
from lmmscore.agreement.statistics import (
    ITEM,
    METHOD,
    WITHIN_ITEM,
    WITHIN_METHOD,
    Statistic,
    statistics,
)
from lmmscore.stats import correlation, resampling
from lmmscore.stats.arrays import Floats, Ints, column_means
from lmmscore.stats.correlation import Within, fisher_mean
from lmmscore.stats.reliability import mean_reliability
from lmmscore.stats.resampling import (
    FEWEST_ITEMS,
    Interval,
    interval,
    item_groups,
    left_out,
    one_thread,
    too_few,
)

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
            interval=column_interval(statistic, value, judge, people, paired.item, groups),
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


def column_interval(
    statistic: Statistic, value: float, judge: Floats, people: Floats, item: Ints, groups: Ints
) -> Interval | None:
    """Return the interval of a statistic of two columns, leaving groups of items out."""
    if math.isnan(value):
        return None

    items = len(groups)
    if items < FEWEST_ITEMS:
        return Interval(value, why=too_few(items))

    number = int(groups.max()) + 1
    try:
        replicates = _replicates(statistic, judge, people, groups[item], number)
    except OverflowError as error:
        return Interval(value, why=f"no interval, because {error}")

    return interval(value, replicates, statistic.transform)


def _replicates(
    statistic: Statistic, judge: Floats, people: Floats, group: Ints, number: int
) -> Floats:
    """Return a statistic with each group of items left out."""
    if statistic.of_counts is not None:
        of = statistic.of_counts(judge, people, group, number)
        with one_thread():
            return of(left_out(np.arange(number)))

    assert statistic.of is not None
    found = np.full(number, np.nan)
    for one in range(number):
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
    groups: Ints,
    left: Mapping[str, int],
    extra: Mapping[str, Any],
) -> AgreementRow:
    """Return the mean over items where a statistic is defined, saying how many are not and why."""
    defined = ~np.isnan(values)
    left = {reason: count for reason, count in left.items() if count}
    value = float(values[defined].mean()) if defined.any() else float("nan")
    told = ", ".join(f"{reason} ({count})" for reason, count in left.items())
    found = None
    if defined.sum() >= FEWEST_ITEMS:
        of = resampling.mean_of(values, groups, int(groups.max()) + 1)
        replicates = of(left_out(np.arange(int(groups.max()) + 1)))
        found = interval(value, replicates, statistic.transform)
    elif defined.any():
        found = Interval(value, why=too_few(int(defined.sum())))

    return subject.row(
        WITHIN_ITEM,
        statistic,
        value,
        n=int(defined.sum()),
        of="items",
        averaging="mean",
        left_out=left,
        why=f"it is defined in no item: {told}",
        interval=found,
        extra=extra,
    )


@dataclass(frozen=True)
class MethodCell:
    """The edits of one method in one task, and the group in which each leaves."""

    task: str | None
    method: str
    judge: Floats
    people: Floats
    group: Ints
    items: int

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
    number = int(groups.max(initial=-1)) + 1
    cells = _method_cells(subject, groups)
    for statistic in statistics(WITHIN_METHOD):
        values = np.full(len(cells), np.nan)
        table = np.full((len(cells), number), np.nan)
        for place, cell in enumerate(cells):
            why = _why_undefined(statistic, cell.undefined, len(cell.judge), subject.scale_problem)
            if not why and statistic.of is not None:
                values[place] = statistic.of(cell.judge, cell.people)
                table[place] = _replicates(statistic, cell.judge, cell.people, cell.group, number)

            if cell.task == subject.task:
                yield _method_row(subject, statistic, cell, values[place], table[place], why)

        yield from _method_averages(subject, statistic, values, table)


def _method_cells(subject: AgreementSubject, groups: Ints) -> list[MethodCell]:
    """Return every method of every task, with its edits."""
    paired = subject.paired
    split = subject.task is None and len(paired.tasks) > 1
    task = paired.edits["task"].to_numpy() if split else np.full(len(paired.edits), "")
    found = []
    for one in paired.tasks if split else [""]:
        for code, method in enumerate(paired.methods):
            chosen = (task == one) & (paired.method == code)
            if not chosen.any():
                continue

            item = paired.item[chosen]
            found.append(
                MethodCell(
                    one if split else subject.task,
                    method,
                    paired.judge[chosen],
                    paired.people[chosen],
                    groups[item],
                    len(np.unique(item)),
                )
            )

    return found


def _method_row(
    subject: AgreementSubject,
    statistic: Statistic,
    cell: MethodCell,
    value: float,
    replicates: Floats,
    why: str,
) -> AgreementRow:
    found = None
    if not math.isnan(value):
        found = Interval(value, why=too_few(cell.items))
        if cell.items >= FEWEST_ITEMS:
            # A group without an edit of this method leaves nothing out.
            found = interval(value, replicates[np.unique(cell.group)], statistic.transform)

    row = subject.row(
        WITHIN_METHOD,
        statistic,
        value,
        n=len(cell.judge),
        of="items",
        why=why,
        interval=found,
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
        value = float("nan")
        why = "it is defined for no method"
        found = None
        if defined.any():
            value = _average(values[defined], averaging)
            why = "a correlation of ±1 has no Fisher transform"

        if not math.isnan(value):
            found = Interval(value, why="there are too few items for an interval")
            if subject.paired.items >= FEWEST_ITEMS:
                columns = table[defined].T
                averages = np.array([_average(one[~np.isnan(one)], averaging) for one in columns])
                found = interval(value, averages, statistic.transform)

        yield subject.row(
            WITHIN_METHOD,
            statistic,
            value,
            n=int(defined.sum()),
            of="methods",
            averaging=averaging,
            left_out=left,
            why=why,
            interval=found,
        )


def _average(values: Floats, averaging: str) -> float:
    if not len(values):
        return float("nan")
    return fisher_mean(values) if averaging == "fisher" else float(values.mean())


def method_rows(subject: AgreementSubject) -> Iterator[AgreementRow]:
    """Yield the statistics over methods' means, with how far noise in them lowers a correlation."""
    paired = subject.paired
    judge, people = paired.grid("judge"), paired.grid("people")
    methods = judge.shape[1]
    lone = ""
    if methods < 2:
        unnamed = methods == 1 and paired.edits["method"].eq("").all()
        lone = NO_METHODS if unnamed else "a ranking needs two methods"
        lone += "" if unnamed or methods else ", and there is none"

    x, y = column_means(judge, None), column_means(people, None)
    constant = "" if lone else correlation.reason_undefined(x, y, of="method")
    noise = {} if lone else attenuation(judge, people)
    for statistic in statistics(METHOD):
        why = lone
        if not why and statistic.correlation:
            why = constant

        if not why and statistic.needs_scale:
            why = subject.scale_problem

        value = float("nan")
        extra: Mapping[str, Any] = noise if statistic.correlation and not why else {}
        if not why and statistic.of_grid is not None:
            value = statistic.of_grid(judge, people, np.random.default_rng(0))
            extra = statistic.extra_rows(judge, people)
        elif not why and statistic.of is not None:
            value = statistic.of(x, y)

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
