"""From one judge's scores and people's ratings of one factor to rows: measures and their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.agreement import counted, levels, people, soft
from lmmscore.agreement.affording import with_intervals
from lmmscore.agreement.bootstrap import CountStatistic, Interval, intervals
from lmmscore.agreement.ceiling import rater_measure
from lmmscore.agreement.pairing import Paired, RatedEdits
from lmmscore.agreement.rows import Measure, Row


def judge_rows(judge: str, factor: str, paired: Paired, *, resamples: int, seed: int) -> list[Row]:
    """Return the rows of a judge on a factor at the three levels."""
    measures = [
        *levels.item_level(paired),
        *levels.within_item(paired),
        *levels.method_level(paired, partial(sign_flips, seed)),
    ]
    found = with_intervals(measures, paired.items, resamples=resamples, seed=seed)
    alike = _collapsed_spearman(paired, resamples, seed)
    if alike is not None:
        found[0] = alike
    return [Row(judge, factor, measure, found[place]) for place, measure in enumerate(measures)]


def task_rows(judge: str, factor: str, paired: Paired, *, resamples: int, seed: int) -> list[Row]:
    """Return the method level inside each task category."""
    rows = []
    for task in sorted(set(paired.edits["task"]) - {""}):
        part = paired.of_task(task)
        measures = levels.method_level(part, partial(sign_flips, seed))
        found = with_intervals(measures, part.items, resamples=resamples, seed=seed)
        rows += [
            Row(judge, factor, measure, found[place], task=task)
            for place, measure in enumerate(measures)
        ]
    return rows


@lru_cache(maxsize=8)
def sign_flips(seed: int, items: int) -> soft.Flips:
    """Return the flips of a seed: every factor has the same, so they are drawn once."""
    return soft.sign_flips(items, np.random.default_rng(seed))


def _collapsed_spearman(paired: Paired, resamples: int, seed: int) -> Interval | None:
    """Return Spearman's interval from the contingency table, where most edits share their pair of scores."""
    if not paired.items or len(paired.edits) > paired.items:
        return None
    judge, mean, multiplicity = counted.collapse(paired.judge, paired.people)
    if len(multiplicity) * 2 > paired.items or len(multiplicity) < 2:
        return None
    of = counted.spearman(judge, mean, np.arange(len(judge)))
    rng = np.random.default_rng(seed)
    return intervals({"": of}, multiplicity, resamples=resamples, rng=rng)[""]


def people_rows(
    factor: str, rated: RatedEdits, ceiling: Interval | None = None, *, resamples: int, seed: int
) -> list[Row]:
    """Return what is to be said about the people themselves; `ceiling` is its interval, where that is known."""
    ratings, items = rated.ratings, rated.items
    lone = _why_unreliable(ratings)
    beside = people.beside_others(ratings, None)
    own = people.rater_spearmans(beside, judge=False)
    size: dict[str, Any] = {"level": "item", "n": ratings.edits, "of": "edits"}
    counts = {"ratings": len(ratings.value), "raters": ratings.raters}

    def reliability(name: str, value: float, of: CountStatistic) -> Measure:
        why = lone or ("" if not np.isnan(value) else "all ratings are the same")
        return Measure(
            statistic=name,
            value=value,
            averaging="over edits",
            why=why,
            counted=None if why else of,
            extra=counts,
            **size,
        )

    nan, whole = float("nan"), np.ones((1, items))
    alpha = people.alpha_of_counts(ratings, items)
    single = people.icc_of_counts(ratings, items, averaged=False)
    averaged = people.icc_of_counts(ratings, items, averaged=True)
    exact_alpha = nan if lone or np.isnan(alpha(whole)[0]) else people.alpha_interval(ratings)
    measures = [
        reliability("alpha_interval", exact_alpha, alpha),
        reliability("icc1", nan if lone else float(single(whole)[0]), single),
        reliability("icc1k", nan if lone else float(averaged(whole)[0]), averaged),
        rater_measure(
            beside, own, judge=False, of=None if ceiling else people.own_of_counts(beside, items)
        ),
        *_human_means(rated),
    ]
    found = with_intervals(measures, items, resamples=resamples, seed=seed)
    rows = [Row("", factor, measure, found[place]) for place, measure in enumerate(measures)]
    return [
        replace(row, interval=row.interval or ceiling) if row.measure.of == "raters" else row
        for row in rows
    ]


def _why_unreliable(ratings: people.Ratings) -> str:
    """Return why people cannot be compared with each other, or nothing."""
    if ratings.raters < 2:
        return "there is one rater"
    if ratings.edits == len(ratings.value):
        return "no edit was rated by two people"
    return "" if ratings.edits > 1 else "one edit was rated"


def _human_means(rated: RatedEdits) -> list[Measure]:
    """Return the mean rating in both ways of averaging: over ratings, and over edits."""
    ratings = rated.ratings
    by_edit = np.bincount(ratings.edit, weights=ratings.value) / np.bincount(ratings.edit)
    _, first = np.unique(ratings.edit, return_index=True)
    found = []
    for name, values, item in (
        ("mean_over_ratings", ratings.value, ratings.item),
        ("mean_over_edits", by_edit, ratings.item[first]),
    ):
        of = counted.mean_of(values, item, rated.items)
        unit = name.removeprefix("mean_over_")
        found.append(
            Measure(
                "item", name, float(values.mean()), len(values), unit, f"over {unit}", counted=of
            )
        )
    return found


def factor_mean(judge: str, rows: Sequence[Row], statistic: str) -> dict[str, object]:
    """Return the mean over factors of a statistic at the item level, saying how many are left out."""
    values = [row.value for row in rows]
    known = [value for value in values if value is not None]
    left_out = (
        {"factors where it is undefined": len(values) - len(known)}
        if len(known) < len(values)
        else {}
    )
    mean = sum(known) / len(known) if known else None
    why = {} if known else {"why": "it is defined for no factor"}
    return {
        "judge": judge, "level": "item", "statistic": statistic, "value": mean, "n": len(known), "of": "factors",
        "averaging": "over factors, overall excluded", "left_out": left_out, **why,
    }  # fmt: skip


def frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return rows as a table, one statistic a line."""
    records = [row.to_json() | {"left_out": "; ".join(_told(row))} for row in rows]
    return pd.DataFrame(records)


def _told(row: Row) -> list[str]:
    return [f"{reason} ({count})" for reason, count in row.measure.left_out.items()]
