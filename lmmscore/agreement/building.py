"""From one judge's scores and people's ratings of one factor to rows: measures, their intervals, the ceiling."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.agreement import counted, levels, people, soft
from lmmscore.agreement.arrays import Floats
from lmmscore.agreement.bootstrap import CountStatistic, Interval, Part, intervals
from lmmscore.agreement.pairing import Paired, RatedEdits
from lmmscore.agreement.people import Beside
from lmmscore.agreement.rows import Measure, Row
from lmmscore.agreement.verdict import Verdict, in_words

BUDGET_NS = 6e8
"""Time granted to all resamples of one costly statistic, as estimated: so a machine's speed changes no number."""
FEWEST_RESAMPLES = 400
RANK_NS = 4.0
"""About what ranking one rating among its rater's takes in a resample."""
WITHIN_RATER = "within each rater against the mean of the others, then averaged over raters"


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
            Row(judge, factor, measure, found[place], task=task) for place, measure in enumerate(measures)
        ]
    return rows


@lru_cache(maxsize=8)
def sign_flips(seed: int, items: int) -> soft.Flips:
    """Return the flips of a seed: every factor has the same, so they are drawn once."""
    return soft.sign_flips(items, np.random.default_rng(seed))


def with_intervals(
    measures: Sequence[Measure], items: int, *, resamples: int, seed: int
) -> dict[int, Interval | None]:
    """Return the interval of each measure by its place. The same seed gives all of them the same resamples."""
    once = np.ones(items, dtype=np.int64)
    granted: dict[int, dict[int, CountStatistic]] = {}
    for place, measure in enumerate(measures):
        if measure.counted:
            granted.setdefault(affordable(measure.cost_ns, resamples), {})[place] = measure.counted
    found: dict[int, Interval | None] = dict.fromkeys(range(len(measures)))
    for number, of in granted.items():
        named = {str(place): one for place, one in of.items()}
        drawn = intervals(named, once, resamples=number, rng=np.random.default_rng(seed))
        found |= {int(place): one for place, one in drawn.items()}
    return found


def affordable(cost_ns: float, resamples: int) -> int:
    """Return how many of the resamples a statistic gets that takes this long in each."""
    return int(np.clip(BUDGET_NS / max(cost_ns, 1.0), min(FEWEST_RESAMPLES, resamples), resamples))


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


def people_rows(factor: str, rated: RatedEdits, *, resamples: int, seed: int) -> list[Row]:
    """Return what is to be said about the people themselves."""
    ratings, items = rated.ratings, rated.items
    lone = _why_unreliable(ratings)
    beside = people.beside_others(ratings, None)
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
        rater_measure(beside, people.own_of_counts(beside, items), judge=False),
        *_human_means(rated),
    ]
    found = with_intervals(measures, items, resamples=resamples, seed=seed)
    return [Row("", factor, measure, found[place]) for place, measure in enumerate(measures)]


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
            Measure("item", name, float(values.mean()), len(values), unit, f"over {unit}", counted=of)
        )
    return found


def rater_measure(beside: list[Beside], of: CountStatistic, *, judge: bool) -> Measure:
    """Return Spearman within rater, averaged over the raters for whom it is defined."""
    each = people.rater_spearmans(beside, judge=judge)
    known = ~np.isnan(each)
    lone = sum(len(one.own) < 2 for one in beside)
    constant = int((~known).sum()) - lone
    left_out = {"raters with fewer than two edits that others rated": lone, _constant(judge): constant}
    left_out = {reason: count for reason, count in left_out.items() if count}
    told = ", ".join(f"{reason} ({count})" for reason, count in left_out.items())
    return Measure(
        level="item",
        statistic="rater_spearman",
        value=float(each[known].mean()) if known.any() else float("nan"),
        n=int(known.sum()),
        of="raters",
        averaging=WITHIN_RATER,
        left_out=left_out,
        why="" if known.any() else f"it is defined for no rater: {told or 'nobody rated'}",
        counted=of if known.any() else None,
        cost_ns=_rank_cost(beside, sides=3 if judge else 2),
    )


def _rank_cost(beside: list[Beside], *, sides: int) -> float:
    return RANK_NS * sides * sum(len(one.own) for one in beside)


def _constant(judge: bool) -> str:
    if judge:
        return "raters on whose edits the judge or the others gave always the same"
    return "raters who, or whose fellows, gave every edit the same"


def ceiling(
    headline: Row, beside: list[Beside], items: int, *, resamples: int, seed: int
) -> tuple[Row, Verdict]:
    """Return the judge's own row of the rater procedure, and the verdict on it beside the raters.

    `headline` is the judge's correlation with people. Both results are on the edits the judge scored.
    """
    own, as_rater = (people.rater_spearmans(beside, judge=judge) for judge in (False, True))
    both = ~np.isnan(own) & ~np.isnan(as_rater)
    joint = people.judge_of_counts(beside, both, items)
    measure = rater_measure(beside, Part(joint, 0), judge=True)
    statistics = {} if measure.counted is None else {"judge": Part(joint, 0), "gap": Part(joint, 1)}
    number, once = affordable(measure.cost_ns, resamples), np.ones(items, dtype=np.int64)
    found = (
        intervals(statistics, once, resamples=number, rng=np.random.default_rng(seed)) if statistics else {}
    )
    row = Row(headline.judge, headline.factor, measure, found.get("judge"))
    return row, _verdict(row, headline, own, int(both.sum()), found.get("gap"))


def _verdict(row: Row, headline: Row, own: Floats, raters: int, gap: Interval | None) -> Verdict:
    value = row.measure.value
    if gap is None or raters < 2:
        why = "a comparison with raters needs two of them with varying ratings of the same edits"
        return Verdict(row.judge, row.factor, "no ceiling", value, _mean(own), None, 0, why)
    low = headline.limits[0]
    words = in_words(value, own, gap, agrees=low is not None and low > 0)
    return Verdict(row.judge, row.factor, words, value, _mean(own), gap, raters)


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def factor_mean(judge: str, rows: Sequence[Row], statistic: str) -> dict[str, object]:
    """Return the mean over factors of a statistic at the item level, saying how many are left out."""
    values = [row.value for row in rows]
    known = [value for value in values if value is not None]
    left_out = {"factors where it is undefined": len(values) - len(known)} if len(known) < len(values) else {}
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
