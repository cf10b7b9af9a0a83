"""How many raters a study needs, how long each takes, and what its size can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from lmmscore.leaderboard.power import Power, power_of
from lmmscore.records import OVERALL
from lmmscore.scales import Factor
from lmmscore.web.rating_results import RatingRow
from lmmscore.web.study import Study, Subject, raters_needed, slots_for

if TYPE_CHECKING:
    import pandas as pd

SECONDS_PER_SCREEN = 20.0
SECONDS_PER_SCORE = 3.0
"""Assumed until there are measured times: to look at a screen, and to give one score."""

INTRODUCTION_S = 120.0


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """What a study takes."""

    screens: int
    """Different ones, over the whole study."""
    edits: int
    raters: int
    screens_per_rater: int
    """Checks and practice included."""
    minutes_per_rater: float
    hours_in_all: float
    measured: bool
    """Whether times come from answers already given."""
    powers: tuple[Power, ...] = ()
    power_basis: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        found = asdict(self)
        found["powers"] = [power.as_dict() for power in self.powers]
        return found


def plan_study(
    study: Study, subjects: Sequence[Subject], seconds: Sequence[float], scores: pd.DataFrame | None
) -> StudyPlan:
    """Return what the study takes.

    `seconds` are the times of screens rated already; `scores` come from a pilot.
    """
    share = min(study.items_per_rater or len(subjects), len(subjects))
    screens = len(slots_for(study, "plan", share)) + len(study.practice)
    each = median(seconds) if len(seconds) >= 5 else _assumed_s(study, subjects)
    minutes = (INTRODUCTION_S + screens * each) / 60
    raters = raters_needed(study, len(subjects))

    return StudyPlan(
        screens=len(subjects),
        edits=len({(s.item, method) for s in subjects for method in s.methods}),
        raters=raters,
        screens_per_rater=screens,
        minutes_per_rater=minutes,
        hours_in_all=raters * minutes / 60,
        measured=len(seconds) >= 5,
        powers=() if scores is None else neighbours(scores),
    )


def _assumed_s(study: Study, subjects: Sequence[Subject]) -> float:
    edits = sum(len(subject.methods) for subject in subjects) / len(subjects)
    questions = 1 if study.covers == "pair" else edits * len(study.factors)
    return SECONDS_PER_SCREEN + SECONDS_PER_SCORE * questions


def neighbours(scores: pd.DataFrame) -> tuple[Power, ...]:
    """Return what it takes to tell each method from the next one in the ranking of these scores."""
    chosen = scores[scores["score"].notna()]
    factor = OVERALL if OVERALL in set(chosen["factor"]) else str(chosen["factor"].iloc[0])
    means = chosen[chosen["factor"] == factor].groupby("method")["score"].mean()
    order = [str(name) for name in means.sort_values(ascending=False).index]

    return tuple(
        power_of(scores, first, second, task=None, factor=factor, power=0.8, alpha=0.05)
        for first, second in pairwise(order)
    )


def scores_of_raters(
    rows: Sequence[RatingRow], factors: Sequence[Factor], weighted: bool
) -> pd.DataFrame | None:
    """Return ratings as a table of scores in which each rater is a repeat; None without any."""
    import pandas as pd

    raters: dict[str, int] = {}
    found: dict[tuple[str, str, str, str], dict[str, float]] = {}
    for row in rows:
        if row.check or row.score is None:
            continue
        raters.setdefault(row.rater, len(raters) + 1)
        found.setdefault((row.item, row.task, row.method, row.rater), {})[row.factor] = row.score

    made = []
    for (item, task, method, rater), scores in found.items():
        total = _overall(scores, factors, weighted)
        for factor, score in {**scores, OVERALL: total}.items():
            made.append((item, task, method, raters[rater], 1, factor, score, "scored", ""))

    if not made:
        return None

    columns = "item task method repeat position factor score outcome reason".split()

    return pd.DataFrame(made, columns=columns)


def _overall(scores: dict[str, float], factors: Sequence[Factor], weighted: bool) -> float | None:
    if any(factor.key not in scores for factor in factors):
        return None
    if not weighted:
        return sum(scores[factor.key] for factor in factors) / len(factors)
    return sum(float(factor.weight or 0) * scores[factor.key] for factor in factors)


def plan_lines(plan: StudyPlan, study: Study) -> list[str]:
    """Return the plan in words."""
    per = {"item": "all edits of an item", "edit": "one edit", "pair": "two edits"}[study.covers]
    basis = "measured" if plan.measured else "assumed until there are answers"
    lines = [
        f"screens        {plan.screens}, each with {per}; {plan.edits} edits",
        f"raters         {plan.raters}, so that each edit is rated by {study.raters_per_edit}",
        f"per rater      {plan.screens_per_rater} screens, about "
        f"{max(1, round(plan.minutes_per_rater))} minutes ({basis})",
        f"in all         {_time_in_all(plan.hours_in_all)} of raters' time",
    ]
    if study.checks:
        lines.append(f"checks         {', '.join(study.checks)}")

    if plan.powers:
        lines.append(f"power          from {plan.power_basis}:")
        lines += [f"  {text}" for power in plan.powers for text in power.statements[:2]]
        lines += _raters_lines(plan.powers)

    return lines


def _time_in_all(hours: float) -> str:
    return f"{hours:.1f} hours" if hours >= 1.5 else f"{round(hours * 60)} minutes"


def _raters_lines(powers: Sequence[Power]) -> list[str]:
    known = [power for power in powers if power.repeats_needed is not None]
    if not known:
        return []

    most = max(known, key=lambda power: power.repeats_needed or 0)
    return [
        f"  With these items, {most.repeats_needed} raters per edit would tell all "
        f"{len(known)} of these pairs apart that raters can."
    ]
