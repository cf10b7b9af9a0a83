"""The people themselves: their reliability, the ceiling they set, and whether a judge may stand in.

The ceiling is each rater against the mean of the others, within rater; the judge is put through
the same in the place of each. The alternative annotator test is Calderon, Reichart and Dror's
(2025).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmmscore.agreement.align import EDIT, Paired, RatedEdits
from lmmscore.agreement.result import (
    FEWEST_ITEMS,
    NO_CEILING,
    TOO_FEW,
    AgreementRow,
    Verdict,
    in_words,
    known,
)
from lmmscore.agreement.statistics import ITEM
from lmmscore.stats import correlation, jackknife, reliability
from lmmscore.stats.arrays import SAME, Bools, Floats, Ints, mean_known
from lmmscore.stats.jackknife import (
    FEWEST_ITEMS as FEWEST_FOR_INTERVAL,
)
from lmmscore.stats.jackknife import (
    CountStatistic,
    Interval,
    Transform,
    interval,
    item_groups,
    jackknife_error,
    left_out,
    one_thread,
    t_quantile,
    too_few,
)
from lmmscore.stats.permutation import benjamini_yekutieli
from lmmscore.stats.reliability import Beside, Ratings

MINIMUM_EDITS = 30
"""Edits a person must have rated for the alternative annotator test's approximation to hold."""

FALSE_DISCOVERY_RATE = 0.05


def people_rows(factor: str, rated: RatedEdits, rng: np.random.Generator) -> list[AgreementRow]:
    """Return what is to be said about the people themselves."""
    ratings = rated.ratings
    groups = item_groups(rated.items, rng)
    lone = _why_unreliable(ratings)
    shapes: list[tuple[str, CountStatistic]] = [
        ("alpha_interval", reliability.alpha(_grouped(ratings, groups), _number(groups))),
        ("icc1", reliability.icc(_grouped(ratings, groups), _number(groups), averaged=False)),
        ("icc1k", reliability.icc(_grouped(ratings, groups), _number(groups), averaged=True)),
    ]
    rows = []
    for name, of in shapes:
        value = float("nan") if lone else float(of(np.ones((1, _number(groups))))[0])
        rows.append(
            AgreementRow(
                "",
                factor,
                ITEM,
                name,
                value,
                ratings.edits,
                "edits",
                averaging="pooled",
                interval=_leave_out(value, of, groups, "fisher"),
                why=lone or "all ratings are the same",
                extra={"ratings": len(ratings.value), "raters": ratings.raters},
            )
        )
    beside = reliability.beside_others(ratings, None)
    own = reliability.rater_spearmans(beside, judge=False)
    rows.append(_rater_row("", factor, beside, own, rated.items, rng, judge=False))
    return [*rows, *_human_means(factor, rated, groups)]


def _number(groups: Ints) -> int:
    return int(groups.max()) + 1


def _grouped(ratings: Ratings, groups: Ints) -> Ratings:
    """Return the ratings with groups of items in the place of items."""
    return Ratings(ratings.value, ratings.edit, groups[ratings.item], ratings.rater)


def _leave_out(
    value: float, of: CountStatistic, groups: Ints, transform: Transform
) -> Interval | None:
    if math.isnan(value):
        return None
    if len(groups) < FEWEST_FOR_INTERVAL:
        return Interval(value, why=too_few(len(groups)))
    with one_thread():
        return interval(value, of(left_out(np.arange(_number(groups)))), transform)


def _why_unreliable(ratings: Ratings) -> str:
    """Return why people cannot be compared with each other, or nothing."""
    if ratings.raters < 2:
        return "there is one rater"
    if ratings.edits == len(ratings.value):
        return "no edit was rated by two people"
    return "" if ratings.edits > 1 else "one edit was rated"


def _human_means(factor: str, rated: RatedEdits, groups: Ints) -> list[AgreementRow]:
    """Return the mean rating in both ways of averaging: over ratings, and over edits."""
    ratings = rated.ratings
    by_edit = np.bincount(ratings.edit, weights=ratings.value) / np.bincount(ratings.edit)
    _, first = np.unique(ratings.edit, return_index=True)
    found = []
    for unit, values, item in (
        ("ratings", ratings.value, ratings.item),
        ("edits", by_edit, ratings.item[first]),
    ):
        mean = float(values.mean())
        of = jackknife.mean_of(values, groups[item], _number(groups))
        found.append(
            AgreementRow(
                "",
                factor,
                ITEM,
                f"mean_over_{unit}",
                mean,
                len(values),
                unit,
                averaging="mean",
                interval=_leave_out(mean, of, groups, "none"),
            )
        )
    return found


def _rater_row(
    judge_name: str,
    factor: str,
    beside: list[Beside],
    each: Floats,
    items: int,
    rng: np.random.Generator,
    *,
    judge: bool,
) -> AgreementRow:
    """Return Spearman within rater, averaged over the raters for whom it is defined."""
    defined = ~np.isnan(each)
    value = float(each[defined].mean()) if defined.any() else float("nan")
    lone = sum(len(one.own) < 2 for one in beside)
    constant = int((~defined).sum()) - lone
    same = "raters who, or whose fellows, gave every edit the same"
    if judge:
        same = "raters on whose edits the judge or the others gave always the same"
    left = {"raters with fewer than two edits that others rated": lone, same: constant}
    left = {reason: count for reason, count in left.items() if count}
    told = ", ".join(f"{reason} ({count})" for reason, count in left.items())

    found = None
    if defined.any():
        groups = item_groups(items, rng)
        grouped = _grouped_beside(beside, groups)
        ranks = reliability.rater_ranks(grouped, _number(groups), judge=judge)
        side = 1 if judge else 0

        def of(counted: Floats) -> Floats:
            return mean_known(ranks.of(counted)[side])

        found = _leave_out(value, of, groups, "fisher")
    return AgreementRow(
        judge_name,
        factor,
        ITEM,
        "rater_spearman",
        value,
        int(defined.sum()),
        "raters",
        averaging="mean",
        interval=found,
        left_out=left,
        why=f"it is defined for no rater: {told or 'nobody rated'}",
    )


def _grouped_beside(beside: list[Beside], groups: Ints) -> list[Beside]:
    return [Beside(one.rater, one.own, one.others, one.judge, groups[one.item]) for one in beside]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The judge put through the raters' procedure."""

    row: AgreementRow
    verdict: Verdict


def ceiling(
    headline: AgreementRow, rated: RatedEdits, by_edit: Floats, rng: np.random.Generator
) -> Ceiling:
    """Return the judge's own row of the rater procedure, and the verdict beside the raters.

    `headline` is the judge's correlation with people. Everything is on the edits it scored.
    """
    beside = reliability.beside_others(rated.ratings, by_edit)
    own = reliability.rater_spearmans(beside, judge=False)
    as_rater = reliability.rater_spearmans(beside, judge=True)
    row = _rater_row(
        headline.judge, headline.factor, beside, as_rater, rated.items, rng, judge=True
    )
    both = ~np.isnan(own) & ~np.isnan(as_rater)
    items = len({int(item) for one in beside for item in one.item})
    return Ceiling(row, _verdict(headline, row, own, beside, both, items, rng))


def _verdict(
    headline: AgreementRow,
    row: AgreementRow,
    own: Floats,
    beside: list[Beside],
    both: Bools,
    items: int,
    rng: np.random.Generator,
) -> Verdict:
    people = float(np.nanmean(own)) if (~np.isnan(own)).any() else float("nan")
    names = (headline.judge, headline.factor)
    raters = int(both.sum())
    if raters < 2:
        why = "a comparison with raters needs two of them with varying ratings of the same edits"
        return Verdict(*names, NO_CEILING, row.value_or_nan, people, None, 0, why)
    if items < FEWEST_ITEMS:
        verb = "is" if items == 1 else "are"
        why = f"a verdict takes at least {FEWEST_ITEMS} items, and there {verb} {items}"
        return Verdict(*names, TOO_FEW, row.value_or_nan, people, None, raters, why)

    groups = item_groups(max(int(one.item.max()) for one in beside if len(one.item)) + 1, rng)
    usable = [one for one, fits in zip(beside, both, strict=True) if fits]
    ranks = reliability.rater_ranks(_grouped_beside(usable, groups), _number(groups), judge=True)

    def difference(counted: Floats) -> Floats:
        rater, judge = ranks.of(counted)
        return mean_known(judge - rater)

    value = float(difference(np.ones((1, _number(groups))))[0])
    gap = _leave_out(value, difference, groups, "none")
    low = headline.limits[0]
    # Perfect agreement has no interval, and is agreement all the same.
    agrees = headline.value_or_nan >= 1 - SAME or (low is not None and low > 0)
    surely_below = gap is not None and gap.high is not None and gap.high < 0
    below_each = surely_below and _below_each(ranks, groups)
    words = in_words(gap or Interval(value), agrees=agrees, below_each=below_each)
    return Verdict(*names, words, row.value_or_nan, people, gap, raters)


def _below_each(ranks: jackknife.GroupRanks, groups: Ints) -> bool:
    """Tell whether the judge is surely below every single rater.

    Each difference is tested by itself: a claim about all of them needs no correction.
    """
    rater, judge = ranks.of(np.ones((1, _number(groups))))
    values = (judge - rater)[:, 0]
    for place, value in enumerate(values):

        def difference(counted: Floats, place: int = place) -> Floats:
            rater, judge = ranks.of(counted)
            return np.asarray(judge[place] - rater[place])

        gap = _leave_out(float(value), difference, groups, "none")
        if gap is None or gap.high is None or gap.high >= 0:
            return False
    return True


def corrected_row(headline: AgreementRow, people: list[AgreementRow]) -> AgreementRow:
    """Return what ρ would be against people without noise: ρ over the root of their reliability.

    `ceiling` is the most that ρ could be, given these raters.
    """
    icc = next(row for row in people if row.statistic == "icc1k")
    most = reliability.ceiling_of(icc.value_or_nan) if icc.value is not None else float("nan")
    value = headline.value_or_nan / most if not math.isnan(most) else float("nan")
    why = headline.why if headline.value is None else "the raters' reliability is not above 0"
    if icc.value is None:
        why = f"the raters' reliability is unknown: {icc.why}"
    return AgreementRow(
        headline.judge,
        headline.factor,
        ITEM,
        "spearman_corrected",
        min(value, 1.0) if not math.isnan(value) else value,
        headline.n,
        "edits",
        averaging="pooled",
        why=why,
        extra={"ceiling": known(most)},
    )


def two_way_interval(
    headline: AgreementRow, paired: Paired, rated: RatedEdits, rng: np.random.Generator
) -> Interval:
    """Return an interval of the pooled Spearman that allows for other items and other raters.

    The variances of leaving items out and of leaving raters out add up, on Fisher's scale; the
    degrees of freedom are Satterthwaite's, and with few raters they are few.
    """
    value = headline.value_or_nan
    raters = rated.ratings.raters
    if math.isnan(value) or abs(value) >= 1 - SAME or paired.items < FEWEST_FOR_INTERVAL:
        return Interval(value, why="too few items, or no correlation to speak of")
    if raters < 3:
        return Interval(value, why=f"{raters} raters are too few to speak of others")

    groups = item_groups(paired.items, rng)
    of = jackknife.spearman_of_counts(
        paired.judge, paired.people, groups[paired.item], _number(groups)
    )
    by_item = np.arctanh(np.clip(of(left_out(np.arange(_number(groups)))), -1 + 1e-7, 1 - 1e-7))
    by_rater = []
    judged = paired.edits[[*EDIT, "judge"]]
    for rater in range(raters):
        both = rated.without_rater(rater).merge(judged, on=EDIT)
        rho = correlation.spearman(
            both["judge"].to_numpy(dtype=float), both["people"].to_numpy(dtype=float)
        )
        by_rater.append(math.atanh(max(-1 + 1e-7, min(1 - 1e-7, rho))))

    items_variance = jackknife_error(by_item[~np.isnan(by_item)]) ** 2
    raters_variance = jackknife_error(np.array(by_rater)) ** 2
    total = items_variance + raters_variance
    if not total > 0:
        return Interval(value, why="leaving items or raters out changes nothing")
    shares = items_variance**2 / (len(by_item) - 1) + raters_variance**2 / (raters - 1)
    reach = t_quantile(total**2 / shares, 0.95) * math.sqrt(total)
    z = math.atanh(value)
    return Interval(value, math.tanh(z - reach), math.tanh(z + reach), groups=len(by_item))


@dataclass(frozen=True, slots=True)
class AltTest:
    """The alternative annotator test: ω, the judge's advantage, and what the test could show."""

    winning_rate: float | None
    advantage: float | None
    p_values: tuple[float, ...]
    raters: int
    left_out: int
    """People with fewer than the minimum of edits."""
    power: float | None = None
    """The chance, per rater, of showing a judge that is exactly as near as they are."""
    why: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether the judge was shown to be able to stand in; None where no test was made."""
        return None if self.winning_rate is None else self.winning_rate >= 0.5


def alternative_test(
    ratings: Ratings, judge_by_edit: Floats, *, epsilon: float, minimum: int = MINIMUM_EDITS
) -> AltTest:
    """Run the test on one factor; `judge_by_edit` is NaN where the judge has no score.

    Each person in turn is set aside, and on every edit they rated one asks who is nearer to the
    remaining people: the person or the judge. The judge wins against that person if it is surely
    not behind by ε or more; it may stand in for a person if it wins against at least half.
    """
    duels = [_duel(ratings, judge_by_edit, rater) for rater in np.unique(ratings.rater)]
    enough = [duel for duel in duels if len(duel) >= minimum]
    few = len(duels) - len(enough)
    if not enough:
        most = max((len(duel) for duel in duels), default=0)
        why = (
            f"no rater shares {minimum} edits with the judge and another rater; the most is {most}"
        )
        return AltTest(None, None, (), 0, few, why=why)
    p_values = [_p_value(duel, epsilon) for duel in enough]
    wins = int(benjamini_yekutieli(np.array(p_values), FALSE_DISCOVERY_RATE).sum())
    advantage = float(np.mean([np.mean(duel <= 0) for duel in enough]))
    power = float(np.mean([_power(duel, epsilon, len(enough)) for duel in enough]))
    return AltTest(wins / len(enough), advantage, tuple(p_values), len(enough), few, power)


def _duel(ratings: Ratings, judge_by_edit: Floats, rater: int) -> Ints:
    """Return for each edit of a rater 1 where the rater is nearer to the others, −1 the judge.

    Nearness is the root mean square distance to the others' ratings; for ordering two candidates
    the distance to their mean does as well. 0 is a draw.
    """
    n, total = np.bincount(ratings.edit), np.bincount(ratings.edit, weights=ratings.value)
    mine = ratings.rater == rater
    edit, own = ratings.edit[mine], ratings.value[mine]
    others = n[edit] - 1
    usable = (others > 0) & ~np.isnan(judge_by_edit[edit])
    edit, own, others = edit[usable], own[usable], others[usable]
    mean = (total[edit] - own) / others
    gap = np.abs(judge_by_edit[edit] - mean) - np.abs(own - mean)
    return np.where(np.abs(gap) <= SAME, 0, np.sign(gap)).astype(np.int64)


def _p_value(duel: Ints, epsilon: float) -> float:
    """Return the p-value of "the judge is behind by ε or more", one-sided t."""
    from scipy.special import stdtr

    if duel.min() == duel.max():
        return 0.0 if duel[0] < epsilon else 1.0
    t = (duel.mean() - epsilon) / (duel.std(ddof=1) / np.sqrt(len(duel)))
    return float(stdtr(len(duel) - 1, t))


def _power(duel: Ints, epsilon: float, tests: int) -> float:
    """Return the chance of winning against a rater by a judge exactly as near, at this n."""
    from scipy.special import nctdtr, stdtrit

    if duel.min() == duel.max():
        return 1.0
    spread = float(duel.std(ddof=1))
    # The strictest step of Benjamini and Yekutieli's correction.
    harmonic = sum(1 / place for place in range(1, tests + 1))
    bar = float(stdtrit(len(duel) - 1, FALSE_DISCOVERY_RATE / (tests * harmonic)))
    away = -epsilon / (spread / math.sqrt(len(duel)))
    found = float(nctdtr(len(duel) - 1, away, bar))
    return 0.0 if math.isnan(found) else found


def alternative_entry(
    judge: str,
    factor: str,
    rated: RatedEdits,
    by_edit: Floats,
    scale_problem: str,
    *,
    epsilon: float,
    minimum: int,
) -> dict[str, Any]:
    """Return the alternative annotator test of a judge on a factor, for JSON."""
    test = AltTest(None, None, (), 0, 0, why=scale_problem)
    if not scale_problem:
        test = alternative_test(rated.ratings, by_edit, epsilon=epsilon, minimum=minimum)
    left = {f"raters with fewer than {minimum} edits": test.left_out} if test.left_out else {}
    words = {None: "undefined", True: "shown", False: "not shown"}[test.passed]
    return {
        "judge": judge,
        "factor": factor,
        "winning_rate": test.winning_rate,
        "passed": test.passed,
        "replaces_a_person": words,
        "advantage": test.advantage,
        "power": test.power,
        "n": test.raters,
        "of": "raters",
        "p_values": list(test.p_values),
        "epsilon": epsilon,
        "minimum_edits": minimum,
        "correction": "Benjamini–Yekutieli",
        "false_discovery_rate": FALSE_DISCOVERY_RATE,
        "left_out": left,
        **({"why": test.why} if test.why else {}),
    }


def rater_components(rated: RatedEdits) -> dict[str, Any] | None:
    """Return the variance components of ratings, with what one more item or rater would bring."""
    ratings = rated.ratings
    within = reliability.within_between(ratings.value, ratings.edit)
    grid = Paired(rated.edits.assign(task="", judge=0.0), {}, rated.edits).grid("people")
    residual, raters = (None, 1.0) if within is None else (within[0], within[2])
    levels = reliability.rater_variance(ratings)
    if levels is not None:
        # All rated everything: a rater's own level moves all methods alike.
        residual = levels[1]
    found = reliability.components(grid, residual, raters)
    if found is None:
        return None
    return {
        "item": found.item,
        "method": found.method,
        "item_method": found.interaction,
        "rater": levels[0] if levels else None,
        "rating": found.residual,
        "items": found.items,
        "methods": found.methods,
        "raters": found.replicates,
        "error_of_difference": found.error_of_difference(),
        "with_one_more_item": found.error_of_difference(items=1),
        "with_one_more_rater": None
        if found.residual is None
        else found.error_of_difference(replicates=1),
    }
