"""A few ratings and many judge scores: prediction-powered means (PPI++; Angelopoulos et al., 2023).

The estimate is the mean rating, corrected by how the judge's scores on unrated edits differ from
those on rated ones. λ between 0 and 1 says how far the judge is believed; it is chosen for the
least variance, so a useless judge costs nothing. Over strata (tasks) the estimates are averaged by
the strata's sizes (Fogliato et al., 2024). Intervals have Student's t: λ is fitted on the rated
edits, so one more degree of freedom is gone than for a mean. A leaderboard of such means ranks the
methods by what people would say of all edits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.agreement.align import Paired, judge_means, pair, rated_edits
from lmmscore.errors import FileProblem, counted
from lmmscore.leaderboard.board import (
    BoardRow,
    BoardTable,
    Difference,
    Differences,
    Leaderboard,
    corrected,
)
from lmmscore.leaderboard.ranking import spread
from lmmscore.stats.resampling import SAME, Floats, ranks, t_quantile

FEWEST_RATED = 3
"""Rated edits below which a variance is not worth computing."""

FEW_RATED = 10
"""Rated edits below which an estimate carries a caution."""


@dataclass(frozen=True, slots=True)
class Powered:
    """A prediction-powered mean with its standard error, and what people alone would have given."""

    value: float
    error: float
    freedom: float
    trust: float
    """λ: 0 ignores the judge, 1 corrects by it in full."""
    people_only: float
    people_error: float
    people_freedom: float
    rated: int
    unrated: int

    @property
    def few(self) -> bool:
        """Whether so few edits were rated that the interval is to be taken with care."""
        return self.rated < FEW_RATED

    def interval(self) -> tuple[float, float]:
        """Return the 95% t interval."""
        reach = t_quantile(self.freedom, 0.95) * self.error
        return self.value - reach, self.value + reach

    def people_interval(self) -> tuple[float, float]:
        """Return the 95% t interval of people's mean alone."""
        reach = t_quantile(self.people_freedom, 0.95) * self.people_error
        return self.people_only - reach, self.people_only + reach

    def p_value(self) -> float:
        """Return the two-sided p of a mean of 0: for differences of two methods."""
        from scipy.special import stdtr

        if self.error <= 1e-12:
            return 1.0
        return float(2 * stdtr(self.freedom, -abs(self.value) / self.error))


def powered_mean(people: Floats, judge: Floats, judge_unrated: Floats) -> Powered | str:
    """Return the mean rating of all edits, rated or not,
    or the reason why it cannot be estimated."""
    n, more = len(people), len(judge_unrated)
    if n < FEWEST_RATED:
        return f"{n} rated edits, and at least {FEWEST_RATED} are needed"

    mean = float(people.mean())
    plain = math.sqrt(float(people.var(ddof=1)) / n)
    alone = Powered(mean, plain, n - 1, 0.0, mean, plain, n - 1, n, more)
    if more < 2:
        return alone

    spread = float(np.concatenate([judge, judge_unrated]).var(ddof=1))
    shared = float(np.cov(people, judge)[0, 1])
    if spread <= 0 or shared <= 0:
        return alone

    trust = min(1.0, shared / ((1 + n / more) * spread))
    value = mean + trust * float(judge_unrated.mean() - judge.mean())
    rated_part = float((people - trust * judge).var(ddof=1)) * (n - 1) / (n - 2) / n
    unrated_part = trust**2 * float(judge_unrated.var(ddof=1)) / more
    error = math.sqrt(rated_part + unrated_part)
    return Powered(value, error, n - 2, trust, mean, plain, n - 1, n, more)


def stratified(parts: Sequence[Powered]) -> Powered:
    """Return the mean over strata, each weighing as many edits as it has."""
    sizes = np.array([part.rated + part.unrated for part in parts], dtype=float)
    weights = sizes / sizes.sum()
    error, freedom = _combined(weights, [(part.error, part.freedom) for part in parts])
    alone = [(part.people_error, part.people_freedom) for part in parts]
    people_error, people_freedom = _combined(weights, alone)
    return Powered(
        value=float(weights @ np.array([part.value for part in parts])),
        error=error,
        freedom=freedom,
        trust=float(weights @ np.array([part.trust for part in parts])),
        people_only=float(weights @ np.array([part.people_only for part in parts])),
        people_error=people_error,
        people_freedom=people_freedom,
        rated=sum(part.rated for part in parts),
        unrated=sum(part.unrated for part in parts),
    )


def _combined(weights: Floats, errors: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the standard error of a weighted sum and its degrees of freedom (Satterthwaite)."""
    variances = weights**2 * np.array([error**2 for error, _ in errors])
    freedoms = np.array([freedom for _, freedom in errors])
    total = float(variances.sum())
    if total <= 0:
        return 0.0, float(freedoms.sum())
    return math.sqrt(total), total**2 / float((variances**2 / freedoms).sum())


Entry = dict[str, Any]


def powered_entries(judge: str, factor: str, paired: Paired) -> Iterator[Entry]:
    """Yield prediction-powered means of every method: by task, over the tasks, and pooled."""
    every = pd.concat([paired.edits, paired.unrated], ignore_index=True)
    for method, rows in every.groupby("method", sort=True):
        name = {"judge": judge, "factor": factor, "method": str(method)}
        parts = {str(task): estimate(part) for task, part in rows.groupby("task", sort=True)}
        if len(parts) > 1:
            for task, part in parts.items():
                yield name | {"stratum": task} | _json(part)

            yield name | {"stratum": "all, by task"} | _json(_over(parts))

        yield name | {"stratum": "all"} | _json(estimate(rows))


def estimate(rows: pd.DataFrame) -> Powered | str:
    """Return the prediction-powered mean of edits, some of them rated."""
    rated = rows[rows["people"].notna()]
    unrated = rows.loc[rows["people"].isna(), "judge"].to_numpy(dtype=float)
    people, judge = rated["people"].to_numpy(dtype=float), rated["judge"].to_numpy(dtype=float)
    return powered_mean(people, judge, unrated)


def _over(parts: Mapping[str, Powered | str]) -> Powered | str:
    lacking = []
    found = []
    for task, part in parts.items():
        if isinstance(part, str):
            lacking.append(f"{task or 'no task'}: {part}")
        else:
            found.append(part)

    if lacking:
        return "a task has too few ratings (" + "; ".join(lacking) + ")"
    return stratified(found)


def _json(found: Powered | str) -> Entry:
    if isinstance(found, str):
        return {"value": None, "low": None, "high": None, "why": found}

    low, high = found.interval()
    people_low, people_high = found.people_interval()
    caution = {}
    if found.few:
        caution = {"caution": f"{found.rated} rated edits are few: take the interval with care"}

    return {
        "value": found.value,
        "low": low,
        "high": high,
        "trust": found.trust,
        "people_only": found.people_only,
        "people_only_low": people_low,
        "people_only_high": people_high,
        "n": found.rated,
        "of": "rated edits",
        "n_judge": found.rated + found.unrated,
        **caution,
    }


def corrected_board(
    scores: pd.DataFrame, ratings: pd.DataFrame, factor: str, *, caution: str = ""
) -> Leaderboard:
    """Rank the methods by what people would say of all edits, per task category and over all.

    Each mean is prediction-powered (PPI++); differences of two methods are estimated the same way,
    from the differences on each item, tested by Student's t and corrected by Holm.
    """
    ours = scores[scores["factor"] == factor]
    theirs = ratings[ratings["factor"] == factor]
    if ours.empty or theirs.empty:
        raise FileProblem(f"{factor}: not both scored and rated; name a factor with --factor")

    paired = pair(ours, judge_means("the run", ours), rated_edits(theirs))
    every = pd.concat([paired.edits, paired.unrated], ignore_index=True)
    every["task"] = every["task"].fillna("")
    tables = [
        _table(str(task), factor, rows) for task, rows in every.groupby("task", sort=False) if task
    ]
    tables.append(_table(None, factor, every))
    notes = (
        "Means are of people's ratings, estimated for all edits from those rated and the judge's "
        "scores (PPI++, Student's t). They hold where the rated edits are a random part of all.",
    )
    return Leaderboard(tuple(tables), notes=notes, caution=caution, settings={"corrected": True})


def _table(task: str | None, factor: str, rows: pd.DataFrame) -> BoardTable:
    """Return the methods of one task category, or of all, by their estimated means."""
    found: dict[str, Powered] = {}
    lacking = []
    for method, part in rows.groupby("method", sort=True):
        one = estimate(part)
        if isinstance(one, str):
            lacking.append(f"{method}: {one}.")
        else:
            found[str(method)] = one

    order = sorted(found, key=lambda method: (-found[method].value, method))
    tests = _tests(rows, order)
    rated = int(rows["people"].notna().sum())
    return BoardTable(
        task=task,
        factor=factor,
        rows=tuple(_rows(rows, {method: found[method] for method in order}, tests)),
        caption=(
            f"Mean {factor} by people, corrected by the judge: {rated} of {len(rows)} edits rated; "
            "n and coverage are of rated edits, std is over them."
        ),
        warnings=tuple(_warnings(lacking, [method for method in order if found[method].few])),
        notes=(_test_note(tests),) if tests else (),
        differences=tests,
    )


def _rows(
    rows: pd.DataFrame, estimates: Mapping[str, Powered], tests: Differences | None
) -> Iterator[BoardRow]:
    """Yield each method's line; `estimates` are by method, the highest first."""
    groups = tests.groups() if tests else {}
    limits = tests.rank_intervals() if tests else {}
    means = np.array([[one.value for one in estimates.values()]])
    for place, (method, one) in zip(ranks(means)[0], estimates.items(), strict=True):
        people = rows.loc[rows["method"] == method, "people"]
        yield BoardRow(
            rank=int(place),
            method=method,
            mean=one.value,
            std=spread(people.dropna().to_numpy(dtype=float)),
            n=one.rated,
            coverage=float(people.notna().mean()),
            factors={},
            mean_interval=one.interval(),
            rank_interval=limits.get(method),
            group=groups.get(method, ""),
            items=len(people),
        )


def _warnings(lacking: Sequence[str], few: Sequence[str]) -> list[str]:
    found = [f"Without an estimate: {' '.join(lacking)}"] if lacking else []
    if few:
        found.append(
            f"Fewer than {FEW_RATED} rated edits, so take the interval with care: {', '.join(few)}."
        )

    return found


def _test_note(tests: Differences) -> str:
    """Return what the letters and the rank intervals rest on."""
    over = counted(len(tests.pairs), "pair")
    return (
        f"No significant difference at {tests.alpha:.0%} between methods that share a letter "
        "(prediction-powered differences on the items both have, Student's t, Holm-corrected over "
        f"{over}); rank intervals are from the same tests and hold for all methods together."
    )


def _tests(rows: pd.DataFrame, methods: list[str]) -> Differences | None:
    """Return the prediction-powered differences of every two methods on the items both have."""
    if len(methods) < 2:
        return None

    judge = rows.pivot(index="item", columns="method", values="judge")
    people = rows.pivot(index="item", columns="method", values="people")
    pairs = []
    for first, second in combinations(methods, 2):
        by_judge = (judge[first] - judge[second]).to_numpy(dtype=float)
        by_people = (people[first] - people[second]).to_numpy(dtype=float)
        scored = ~np.isnan(by_judge)
        rated = scored & ~np.isnan(by_people)
        own = by_people[rated]
        found = powered_mean(own, by_judge[rated], by_judge[scored & ~rated])
        estimated = found if isinstance(found, Powered) else None
        pairs.append(
            Difference(
                first=first,
                second=second,
                n=len(own),
                difference=estimated.value if estimated else None,
                interval=estimated.interval() if estimated else None,
                p=estimated.p_value() if estimated else None,
                p_holm=None,
                wins=int((own > SAME).sum()),
                ties=int((np.abs(own) <= SAME).sum()),
                losses=int((own < -SAME).sum()),
            )
        )

    return corrected([Differences(tuple(methods), tuple(pairs), exact=False, flips=False)])[0]
