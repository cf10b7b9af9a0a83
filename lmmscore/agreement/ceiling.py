"""The ceiling: each rater against the mean of the others, and the judge in the place of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lmmscore.agreement import people
from lmmscore.agreement.affording import affordable
from lmmscore.agreement.arrays import Floats
from lmmscore.agreement.bootstrap import CountStatistic, Interval, intervals, parts
from lmmscore.agreement.people import Beside
from lmmscore.agreement.rows import Measure, Row
from lmmscore.agreement.verdict import Verdict, in_words

RANK_NS = 4.0
"""About what ranking one rating among its rater's takes in a resample."""
WITHIN_RATER = "within each rater against the mean of the others, then averaged over raters"


def rater_measure(
    beside: list[Beside], each: Floats, *, judge: bool, of: CountStatistic | None = None
) -> Measure:
    """Return Spearman within rater, averaged over the raters for whom it is defined; `each` has theirs."""
    known = ~np.isnan(each)
    lone = sum(len(one.own) < 2 for one in beside)
    constant = int((~known).sum()) - lone
    left_out = {
        "raters with fewer than two edits that others rated": lone,
        _constant(judge): constant,
    }
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


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The judge put through the raters' procedure."""

    row: Row
    verdict: Verdict
    people: Interval | None
    """The raters' own interval, which falls off on the way."""


def ceiling(
    headline: Row, beside: list[Beside], items: int, *, resamples: int, seed: int
) -> Ceiling:
    """Return the judge's own row of the rater procedure, and the verdict on it beside the raters.

    `headline` is the judge's correlation with people. Everything is on the edits the judge scored.
    """
    own, as_rater = (people.rater_spearmans(beside, judge=judge) for judge in (False, True))
    both = ~np.isnan(own) & ~np.isnan(as_rater)
    measure = rater_measure(beside, as_rater, judge=True)
    found: dict[str, Interval] = {}
    if not np.isnan(as_rater).all():
        of = parts(people.judge_of_counts(beside, both, items), ("judge", "gap", "people"))
        number, once = affordable(measure.cost_ns, resamples), np.ones(items, dtype=np.int64)
        found = intervals(of, once, resamples=number, rng=np.random.default_rng(seed))
    row = Row(headline.judge, headline.factor, measure, found.get("judge"))
    verdict = _verdict(row, headline, own, int(both.sum()), found.get("gap"))
    return Ceiling(row, verdict, found.get("people"))


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
