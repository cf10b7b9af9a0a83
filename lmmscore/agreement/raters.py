"""The raters themselves: their reliability, the ceiling they set, whether a judge may replace one.

The ceiling is each rater against the mean of the others, within rater; the judge is put through
the same in the place of each. The alternative annotator test is Calderon, Reichart and Dror's
(2025).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.agreement.align import (
    EDIT,
    NOBODY_RATED,
    Paired,
    RatedEdits,
    judge_means,
    pair,
    rated_edits,
)
from lmmscore.agreement.levels import (
    FEWEST_FOR_A_VERDICT,
    NO_CEILING,
    TOO_FEW,
    AgreementRow,
    Entry,
    Verdict,
    in_words,
    known,
    told,
)
from lmmscore.agreement.statistics import ITEM, WITHIN_ITEM
from lmmscore.errors import FileProblem, counted, listed
from lmmscore.leaderboard.differences import Difference, Differences, corrected
from lmmscore.leaderboard.ranking import BoardRow, BoardTable, Leaderboard
from lmmscore.records import fixed, percent
from lmmscore.scores import TIE, Comparison, Match, matches
from lmmscore.stats import (
    FEW_RATED,
    FEWEST_FOR_AN_INTERVAL,
    SAME,
    UNDEFINED_WITHOUT,
    CountStatistic,
    Floats,
    GroupRanks,
    Interval,
    Ints,
    ItemGroups,
    Limits,
    Powered,
    benjamini_yekutieli,
    correlation,
    fisher_z,
    interval_over,
    item_groups,
    jackknife_error,
    mean_known,
    mean_of,
    powered_mean,
    ranks,
    sample_std,
    spearman_of_counts,
    stratified,
    t_quantile,
)
from lmmscore.stats.correlation import Beside, Ratings
from lmmscore.tables import read_tables, text

MINIMUM_EDITS = 30
"""Edits a person must have rated for the alternative annotator test's approximation to hold."""

FALSE_DISCOVERY_RATE = 0.05


def people_rows(factor: str, rated: RatedEdits, rng: np.random.Generator) -> list[AgreementRow]:
    """Return the rows about people: how reliable they are, and their mean ratings."""
    ratings = rated.ratings
    lone = _why_unreliable(ratings)
    # α is over edits with two ratings or more; one-way ICC learns from lone ratings too.
    shared = ratings.chosen(np.bincount(ratings.edit)[ratings.edit] > 1)
    rows = [
        _reliability_row(factor, "alpha_interval", shared, correlation.alpha, rng, lone),
        _reliability_row(
            factor, "icc1", ratings, partial(correlation.icc, averaged=False), rng, lone
        ),
        _mean_reliability(factor, ratings, rng),
    ]

    beside = correlation.beside_others(ratings, None)
    own = correlation.rater_spearmans(beside, judge=False)
    rows.append(_rater_row("", factor, beside, own, rng, judge=False))
    return [*rows, *_human_means(factor, ratings, rng)]


def _reliability_row(
    factor: str,
    name: str,
    ratings: Ratings,
    coefficient: Callable[[Ratings, int], CountStatistic],
    rng: np.random.Generator,
    lone: str,
) -> AgreementRow:
    """Return a coefficient of reliability over ratings; `lone` says why there is none."""
    value, interval = float("nan"), None
    if not lone:
        groups = item_groups(ratings.item, rng)
        # Groups of items take the place of items: what is left out together is summed together.
        of = coefficient(replace(ratings, item=groups.of_item[ratings.item]), groups.number)
        value = groups.whole(of)
        interval = groups.interval(value, of, "fisher")

    return AgreementRow(
        "",
        factor,
        ITEM,
        name,
        value,
        ratings.edits,
        "edits",
        averaging="pooled",
        interval=interval,
        why=lone or "all ratings are the same",
        extra={"ratings": len(ratings.value), "raters": ratings.raters},
    )


def _mean_reliability(factor: str, ratings: Ratings, rng: np.random.Generator) -> AgreementRow:
    """Return how reliable the mean over raters is."""
    icc = partial(correlation.icc, averaged=True)
    return _reliability_row(factor, "icc1k", ratings, icc, rng, _why_unreliable(ratings))


def _why_unreliable(ratings: Ratings) -> str:
    """Return why people cannot be compared with each other, or nothing."""
    if not ratings.raters:
        return "nobody rated"
    if ratings.raters < 2:
        return "there is one rater"
    if ratings.edits == len(ratings.value):
        return "no edit was rated by two people"
    return "" if ratings.edits > 1 else "one edit was rated"


def _human_means(factor: str, ratings: Ratings, rng: np.random.Generator) -> list[AgreementRow]:
    """Return the mean rating in both ways of averaging: over ratings, and over edits."""
    groups = item_groups(ratings.item, rng)
    by_edit = np.bincount(ratings.edit, weights=ratings.value) / np.bincount(ratings.edit)
    _, first = np.unique(ratings.edit, return_index=True)
    found = []
    for unit, values, item in (
        ("ratings", ratings.value, ratings.item),
        ("edits", by_edit, ratings.item[first]),
    ):
        mean = float(values.mean())
        of = mean_of(values, groups.of_item[item], groups.number)
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
                interval=groups.interval(mean, of, "none"),
            )
        )

    return found


def _rater_row(
    judge_name: str,
    factor: str,
    beside: list[Beside],
    each: Floats,
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

    interval = None
    if defined.any():
        usable = [one for one, fits in zip(beside, defined, strict=True) if fits]
        groups = item_groups(correlation.items_of(usable), rng)
        ranks = correlation.rater_ranks(usable, groups, judge=judge)
        interval = groups.interval(value, lambda counts: mean_known(ranks.of(counts)[-1]), "fisher")

    return AgreementRow(
        judge_name,
        factor,
        ITEM,
        "rater_spearman",
        value,
        int(defined.sum()),
        "raters",
        averaging="mean",
        interval=interval,
        left_out=left,
        why=f"it is defined for no rater: {told(left) or 'nobody rated'}",
    )


@dataclass(frozen=True, slots=True)
class Yardstick:
    """A judge beside the raters, all on the edits that it scored."""

    as_rater: AgreementRow
    """The judge in the place of each rater."""
    raters: AgreementRow
    """The raters themselves."""
    corrected: AgreementRow
    """What ρ would be without the raters' noise, and the most that it could be with it."""
    verdict: Verdict

    @property
    def rows(self) -> list[AgreementRow]:
        """What the verdict rests on, in the order of the tables."""
        return [self.as_rater, self.raters, self.corrected]


def yardstick(
    headline: AgreementRow, rated: RatedEdits, by_edit: Floats, rng: np.random.Generator
) -> Yardstick:
    """Return a judge beside the raters, and the verdict.

    `headline` is the judge's correlation with people. Everything is on the edits it scored; the
    difference is over the raters for whom both correlations are defined.
    """
    judge, factor = headline.judge, headline.factor
    scored = ~np.isnan(by_edit)
    ratings = rated.only(scored).ratings
    beside = correlation.beside_others(ratings, by_edit[scored])
    own = correlation.rater_spearmans(beside, judge=False)
    as_rater = correlation.rater_spearmans(beside, judge=True)
    row = _rater_row(judge, factor, beside, as_rater, rng, judge=True)
    people = _rater_row(judge, factor, beside, own, rng, judge=False)
    both = ~np.isnan(own) & ~np.isnan(as_rater)
    verdict = Verdict(
        judge,
        factor,
        words=NO_CEILING,
        judge_value=row.value_or_nan,
        people_value=people.value_or_nan,
        difference=None,
        raters=int(both.sum()) if both.sum() > 1 else 0,
    )
    usable = [one for one, fits in zip(beside, both, strict=True) if fits]
    return Yardstick(
        row,
        replace(people, statistic="people_rater_spearman"),
        _corrected_row(headline, _mean_reliability(factor, ratings, rng)),
        _with_difference(verdict, headline, usable, rng),
    )


def inside_rows(
    level: str,
    task: str | None,
    headline: AgreementRow,
    rated: RatedEdits,
    paired: Paired,
    by_edit: Floats,
    rng: np.random.Generator,
) -> list[AgreementRow]:
    """Return a judge and the raters inside items or inside methods, each in a rater's place.

    Both are over the raters for whom both are defined there, averaged over these raters and then
    over items or methods. Methods count in each task apart.
    """
    parts = _parts(level, task, rated, paired, by_edit)
    cells = [cell for cell, _ in parts]
    beside = [one for _, one in parts]
    groups = item_groups(correlation.items_of(beside), rng)
    ranks = correlation.rater_ranks(beside, groups, judge=True)
    starts = [place for place, cell in enumerate(cells) if cells[place - 1 : place] != [cell]]

    def by_cell(counted: Floats) -> Floats:
        own = ranks.of(counted)
        own[:, np.isnan(own).any(axis=0)] = np.nan
        of_cells = [
            [mean_known(some) for some in np.split(side, starts[1:])] if starts else []
            for side in own
        ]
        return np.array(of_cells).reshape(len(own), len(starts), len(counted))

    whole = by_cell(np.ones((1, groups.number)))
    found = []
    for side, statistic in ((1, "rater_spearman"), (0, "people_rater_spearman")):
        n = int((~np.isnan(whole[side])).sum())
        value = float(mean_known(whole[side])[0])
        of = partial(_mean_of_side, by_cell, side)
        row = AgreementRow(
            headline.judge,
            headline.factor,
            level,
            statistic,
            value,
            n,
            "items" if level == WITHIN_ITEM else "methods",
            averaging="mean",
            task=task,
            interval=groups.interval(value, of, "fisher") if n else None,
            why="no rater and judge have varying scores of the same edits there",
        )
        found.append(row)

    return found


def _mean_of_side(by_cell: CountStatistic, side: int, counted: Floats) -> Floats:
    return mean_known(by_cell(counted)[side])


def _parts(
    level: str, task: str | None, rated: RatedEdits, paired: Paired, by_edit: Floats
) -> list[tuple[int, Beside]]:
    """Return each rater's edits of each item, or method of a task, with its code, by code."""
    judged = rated.only(~np.isnan(by_edit))
    edits = judged.edits[EDIT].merge(paired.edits, on=EDIT, how="left")
    columns = ["item"] if level == WITHIN_ITEM else ["task", "method"]
    cell = np.asarray(edits.groupby(columns).ngroup(), dtype=np.int64)
    wanted = np.ones(len(edits), dtype=bool)
    if task is not None:
        wanted = (edits["task"] == task).to_numpy()

    scores = np.where(wanted, edits["judge"].to_numpy(dtype=float), np.nan)
    ratings = judged.ratings
    of_cells = Ratings(ratings.value, ratings.edit, cell[ratings.edit], ratings.rater)
    found = []
    for one, coded in zip(
        correlation.beside_others(ratings, scores),
        correlation.beside_others(of_cells, scores),
        strict=True,
    ):
        for code in np.unique(coded.item):
            kept = coded.item == code
            if kept.sum() > 1:
                arrays = (one.own[kept], one.others[kept], one.judge[kept], one.item[kept])
                found.append((int(code), Beside(one.rater, *arrays)))

    return sorted(found, key=lambda part: part[0])


def _with_difference(
    verdict: Verdict,
    headline: AgreementRow,
    usable: list[Beside],
    rng: np.random.Generator,
) -> Verdict:
    """Return the verdict with how far the judge is from the raters, or why that is not known.

    `usable` are the raters for whom both correlations are defined.
    """
    if not verdict.raters:
        why = "a comparison with raters needs two of them with varying ratings of the same edits"
        return replace(verdict, why=why)

    groups = item_groups(correlation.items_of(usable), rng)
    items = groups.items
    if items < FEWEST_FOR_A_VERDICT:
        verb = "is" if items == 1 else "are"
        why = f"a verdict takes at least {FEWEST_FOR_A_VERDICT} items, and there {verb} {items}"
        return replace(verdict, words=TOO_FEW, why=why)

    ranks = correlation.rater_ranks(usable, groups, judge=True)

    def difference(counted: Floats) -> Floats:
        rater, judge = ranks.of(counted)
        return mean_known(judge - rater)

    value = groups.whole(difference)
    gap = groups.interval(value, difference, "none")
    low = headline.limits[0]
    # Perfect agreement has no interval, and is agreement all the same.
    agrees = headline.value_or_nan >= 1 - SAME or (low is not None and low > 0)
    surely_below = gap is not None and gap.high is not None and gap.high < 0
    below_each = surely_below and _below_each(usable, ranks, groups)
    words = in_words(gap or Interval(value), agrees=agrees, below_each=below_each)
    return replace(verdict, words=words, difference=gap)


def _below_each(usable: list[Beside], ranks: GroupRanks, groups: ItemGroups) -> bool:
    """Tell whether the judge is significantly below every single rater.

    Each difference is tested at the full level: a claim about all of them needs no correction
    (docs/decisions/0172).
    """

    def differences(counted: Floats) -> Floats:
        rater, judge = ranks.of(counted)
        return np.asarray(judge - rater)

    whole = differences(np.ones((1, groups.number)))[:, 0]
    without = groups.replicates(differences)
    for value, replicates, one in zip(whole, without, usable, strict=True):
        # Leaving out a group of which this rater has no item leaves nothing out.
        own = replicates[np.unique(groups.of_item[one.item])]
        gap = interval_over(
            len(np.unique(one.item)), float(value), partial(np.asarray, own), "none"
        )
        if gap is None or gap.high is None or gap.high >= 0:
            return False

    return True


def _corrected_row(headline: AgreementRow, icc: AgreementRow) -> AgreementRow:
    """Return what ρ would be against people without noise: ρ over the root of their reliability.

    `icc` is the reliability of their mean. `ceiling` is the most that ρ could be, given these
    raters.
    """
    most = correlation.ceiling_of(icc.value_or_nan) if icc.value is not None else float("nan")
    value = headline.value_or_nan / most if not math.isnan(most) else float("nan")
    why = headline.why if headline.value is None else "the raters' reliability is not above 0"
    if icc.value is None:
        why = f"the raters' reliability is unknown: {icc.why}"

    return AgreementRow(
        headline.judge,
        headline.factor,
        ITEM,
        "spearman_corrected",
        float(np.clip(value, -1.0, 1.0)),
        headline.n,
        "edits",
        averaging="pooled",
        why=why,
        extra={"ceiling": known(most), **({"above_ceiling": True} if value > 1 + SAME else {})},
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
    if math.isnan(value) or abs(value) >= 1 - SAME or paired.items < FEWEST_FOR_AN_INTERVAL:
        return Interval(value, why="too few items, or no correlation to speak of")
    if raters < 3:
        return Interval(value, why=f"{raters} raters are too few to speak of others")

    groups = item_groups(paired.item, rng)
    of = spearman_of_counts(paired.judge, paired.people, groups.of_item[paired.item], groups.number)
    by_item = fisher_z(groups.replicates(of))
    if np.isnan(by_item).any():
        return Interval(value, why=UNDEFINED_WITHOUT)

    by_rater = []
    judged = paired.edits[[*EDIT, "judge"]]
    for rater in range(raters):
        both = rated.without_rater(rater).merge(judged, on=EDIT)
        rho = correlation.spearman(
            both["judge"].to_numpy(dtype=float), both["people"].to_numpy(dtype=float)
        )
        by_rater.append(rho)

    if np.isnan(by_rater).any():
        return Interval(value, why="it is undefined without some of the raters")

    items_variance = jackknife_error(by_item) ** 2
    raters_variance = jackknife_error(fisher_z(np.array(by_rater))) ** 2
    total = items_variance + raters_variance
    if not total > 0:
        return Interval(value, why="leaving items or raters out changes nothing")

    shares = items_variance**2 / (len(by_item) - 1) + raters_variance**2 / (raters - 1)
    reach = t_quantile(total**2 / shares, 0.95) * math.sqrt(total)
    z = math.atanh(value)
    return Interval(value, math.tanh(z - reach), math.tanh(z + reach))


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
        """Whether the judge was shown to be able to replace a rater; None where not tested."""
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
    """Return the chance of winning against a rater by a judge exactly as near, at this n.

    Such a judge draws as often as this one, and wins as often as it loses.
    """
    from scipy.special import nctdtr, stdtrit

    spread = math.sqrt(float((duel**2).mean()))
    if not spread:
        return 1.0

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
    within = correlation.within_between(ratings.value, ratings.edit)
    residual = within[0] if within else None
    levels = correlation.rater_variance(ratings)
    if levels is not None:
        # All rated everything: a rater's own level moves all methods alike.
        residual = levels[1]

    edits = rated.edits.assign(task="", judge=0.0, ratings=np.bincount(ratings.edit))
    paired = Paired(edits, {}, rated.edits)
    found = correlation.components(paired.grid("people"), residual, paired.grid("ratings"))
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


# --------------------------------------------------------------------------------------------------
# A few ratings and many judge scores: what people would say of all edits, and a leaderboard of it.
# --------------------------------------------------------------------------------------------------


def powered_entries(
    judge: str, factor: str, paired: Paired, scale: Limits | None = None
) -> Iterator[Entry]:
    """Yield prediction-powered means of every method: by task, over the tasks, and pooled."""
    every = pd.concat([paired.edits, paired.unrated], ignore_index=True)
    for method, rows in every.groupby("method", sort=True):
        name = {"judge": judge, "factor": factor, "method": str(method)}
        parts = {str(task): estimate(part, scale) for task, part in rows.groupby("task", sort=True)}
        if len(parts) > 1:
            for task, part in parts.items():
                yield name | {"stratum": task} | _json(part)

            yield name | {"stratum": "all, by task"} | _json(_over(parts))

        yield name | {"stratum": "all"} | _json(estimate(rows, scale))


def estimate(rows: pd.DataFrame, scale: Limits | None = None) -> Powered | str:
    """Return the prediction-powered mean of edits, some of them rated.

    `scale` has the ends of people's ratings, where they are known.
    """
    rated = rows[rows["people"].notna()]
    unrated = rows.loc[rows["people"].isna(), "judge"].to_numpy(dtype=float)
    people, judge = rated["people"].to_numpy(dtype=float), rated["judge"].to_numpy(dtype=float)
    found = powered_mean(people, judge, unrated)
    return found if isinstance(found, str) else replace(found, scale=scale)


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
    return replace(stratified(found), scale=found[0].scale)


def _json(found: Powered | str) -> Entry:
    if isinstance(found, str):
        return {"value": None, "low": None, "high": None, "why": found}

    low, high = found.limits or (None, None)
    people_low, people_high = found.people_limits or (None, None)
    caution = {}
    edits = counted(found.rated, "rated edit is", "rated edits are")
    if found.rated < FEWEST_FOR_AN_INTERVAL:
        caution = {"caution": f"{edits} too few for an interval"}
    elif found.few:
        caution = {"caution": f"{edits} few: take the interval with care"}

    return {
        "value": found.mean,
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
    scores: pd.DataFrame,
    ratings: pd.DataFrame,
    factor: str,
    *,
    caution: str = "",
    lower_better: bool = False,
    scale: Limits | None = None,
) -> Leaderboard:
    """Rank the methods by what people would say of all edits, per task category and over all.

    Each mean is prediction-powered (PPI++); differences of two methods are estimated the same way,
    from the differences on each item, tested by Student's t and corrected by Holm. `scale` has the
    ends of people's ratings, where they are known: no mean and no interval passes them.
    """
    ours = scores[scores["factor"] == factor]
    theirs = ratings[ratings["factor"] == factor]
    if ours.empty or theirs.empty:
        raise FileProblem(f"{factor}: not both scored and rated; name a factor with --factor")

    paired = pair(ours, judge_means("the run", ours), rated_edits(theirs))
    every = pd.concat([paired.edits, paired.unrated], ignore_index=True)
    every["task"] = every["task"].fillna("")
    tables = []
    for task, rows in every.groupby("task", sort=False):
        if task:
            tables.append(_table(str(task), factor, rows, low=lower_better, scale=scale))

    tables.append(_table(None, factor, every, low=lower_better, scale=scale))
    notes = [
        "Means are of people's ratings, estimated for all edits from those rated and the judge's "
        "scores (PPI++, Student's t). They hold where the rated edits are a random part of all.",
    ]
    # Unlike unrated edits, these are lost: there is no score to correct.
    lost = {why: count for why, count in paired.left_out.items() if why != NOBODY_RATED}
    if lost:
        notes.append(f"Excluded: {told(lost)}.")

    settings = {"corrected": True}
    return Leaderboard(tuple(tables), notes=tuple(notes), caution=caution, settings=settings)


def _table(
    task: str | None, factor: str, rows: pd.DataFrame, *, low: bool, scale: Limits | None
) -> BoardTable:
    """Return the methods of one task category, or of all, by their estimated means.

    `low`: the lowest mean is the best.
    """
    found: dict[str, Powered] = {}
    lacking: dict[str, list[str]] = {}
    for method, part in rows.groupby("method", sort=True):
        one = estimate(part, scale)
        if isinstance(one, str):
            lacking.setdefault(one, []).append(str(method))
        else:
            found[str(method)] = one

    sign = 1 if low else -1
    order = sorted(found, key=lambda method: (sign * found[method].mean, method))
    tests = _tests(rows, order, low=low, scale=scale)
    rated = int(rows["people"].notna().sum())
    which = f"{factor} (lower is better)" if low else factor
    return BoardTable(
        task=task,
        factor=factor,
        rows=tuple(_rows(rows, {method: found[method] for method in order}, tests, low=low)),
        caption=(
            f"Mean {which} by people, corrected by the judge: {rated} of {len(rows)} edits rated; "
            "n and coverage are of rated edits, std is over them."
        ),
        warnings=tuple(_warnings(lacking, {method: found[method] for method in order})),
        notes=(_test_note(tests),) if tests else (),
        differences=tests,
        lower_better=(factor,) if low else (),
        unranked="Too few edits were rated",
    )


def _rows(
    rows: pd.DataFrame, estimates: Mapping[str, Powered], tests: Differences | None, *, low: bool
) -> Iterator[BoardRow]:
    """Yield each method's line; `estimates` are by method, the best first."""
    groups = tests.groups() if tests else {}
    limits = tests.rank_intervals() if tests else {}
    means = np.array([[one.mean for one in estimates.values()]])
    for place, (method, one) in zip(
        ranks(-means if low else means)[0], estimates.items(), strict=True
    ):
        people = rows.loc[rows["method"] == method, "people"]
        yield BoardRow(
            rank=int(place),
            method=method,
            mean=one.mean,
            std=sample_std(people.dropna().to_numpy(dtype=float)),
            n=one.rated,
            coverage=float(people.notna().mean()),
            factors={},
            mean_interval=one.limits,
            rank_interval=limits.get(method),
            group=groups.get(method, ""),
            items=len(people),
        )


def _warnings(
    lacking: Mapping[str, Sequence[str]], estimates: Mapping[str, Powered]
) -> Iterator[str]:
    """Yield what a reader must know before the estimates; `lacking` has methods by the reason."""
    if lacking:
        told = "; ".join(f"{', '.join(methods)} ({why})" for why, methods in lacking.items())
        yield f"Without an estimate: {told}."

    least = FEWEST_FOR_AN_INTERVAL
    if bare := [name for name, one in estimates.items() if one.rated < least]:
        yield f"Fewer than {least} rated edits, too few for an interval or a test: {listed(bare)}."

    if few := [name for name, one in estimates.items() if one.few and one.rated >= least]:
        yield f"Fewer than {FEW_RATED} rated edits, so take the interval with care: {listed(few)}."

    if past := [name for name, one in estimates.items() if abs(one.mean - one.value) > SAME]:
        yield (
            "The estimate passed the end of the scale, which stands for it: "
            f"{listed([f'{name} ({fixed(estimates[name].value, 2)})' for name in past])}."
        )


def _test_note(tests: Differences) -> str:
    """Return what the letters and the rank intervals rest on."""
    return (
        f"No significant difference at {percent(tests.alpha)} between methods that share a letter "
        "(prediction-powered differences on the items both have, Student's t, Holm-corrected over "
        f"{counted(len(tests.pairs), 'pair')}); rank intervals are from the same tests and hold "
        "for all methods together."
    )


def _tests(
    rows: pd.DataFrame, methods: list[str], *, low: bool, scale: Limits | None
) -> Differences | None:
    """Return the prediction-powered differences of every two methods on the items both have."""
    if len(methods) < 2:
        return None

    reach = None if scale is None else (scale[0] - scale[1], scale[1] - scale[0])

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
        few = isinstance(found, str) or found.rated < FEWEST_FOR_AN_INTERVAL
        estimated = None if few or isinstance(found, str) else replace(found, scale=reach)
        pairs.append(
            Difference(
                first=first,
                second=second,
                n=len(own),
                difference=estimated.mean if estimated else None,
                interval=estimated.limits if estimated else None,
                p=estimated.p_value() if estimated else None,
                p_holm=None,
                wins=int(((-own if low else own) > SAME).sum()),
                ties=int((np.abs(own) <= SAME).sum()),
                losses=int(((-own if low else own) < -SAME).sum()),
            )
        )

    tests = Differences(tuple(methods), tuple(pairs), exact=False, flips=False, lower_better=low)
    return corrected([tests])[0]


# --------------------------------------------------------------------------------------------------
# How often a judge's verdicts on pairs are those of human raters.
#
# People vote on the same pairs, or rate the edits one by one: then the higher mean rating wins
# the pair. Ties that say how good both are count as verdicts of their own, as in the published
# accuracies.
# --------------------------------------------------------------------------------------------------

Pair = tuple[str, str, str, str]
"""Task, item and two methods, these in alphabetical order; the task is "" where none is named."""

_BOTH_GOOD = frozenset(("tievote", "bothgood", "tie good", "both good", "good"))
_BOTH_BAD = frozenset(("bothbad_vote", "bothbad", "tie bad", "both bad", "bad", "tie (bothbad)"))
_TIES = frozenset((TIE, "draw", "equal", "both", "neither"))

Vote = tuple[str, str, str]
"""An item, a human verdict and the judge's: `first`, `second`, `tie`, `good` or `bad` each."""


@dataclass(frozen=True, slots=True)
class VoteAgreement:
    """Two series of verdicts on the same pairs, compared."""

    votes: tuple[Vote, ...]
    unread: int = 0
    """Human verdicts on pairs of which the judge's could not be read; not among the votes."""
    unmatched: int = 0
    """Human verdicts on pairs that the judge was not asked about; not among the votes either."""

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """How often a human verdict met a judge's."""
        return Counter((human, judge) for _, human, judge in self.votes)

    @property
    def n(self) -> int:
        """How many votes there are."""
        return len(self.votes)

    @property
    def accuracy(self) -> float | None:
        """The share of votes that are the judge's verdict, the two kinds of tie distinguished."""
        same = sum(human == judge for _, human, judge in self.votes)
        return same / self.n if self.votes else None

    @property
    def chance(self) -> float | None:
        """The accuracy of a judge who gives its verdicts as often as it does, but at random."""
        if not self.votes:
            return None

        human, judge = (Counter(vote[side] for vote in self.votes) for side in (1, 2))
        # A verdict that only one side gives is never met by chance.
        return sum(human[verdict] * judge[verdict] for verdict in human) / self.n**2

    @property
    def interval(self) -> tuple[float, float] | None:
        """A 95% interval of the accuracy: Wilson's, of as many votes as these are worth."""
        if self.accuracy is None:
            return None
        return wilson(self.accuracy, _worth(self.votes, self.accuracy))

    def without_ties(self) -> VoteAgreement:
        """Return the agreement on pairs that both decided."""
        decided = {"first", "second"}
        return VoteAgreement(tuple(vote for vote in self.votes if {*vote[1:]} <= decided))

    def with_one_tie(self) -> VoteAgreement:
        """Return the agreement with all kinds of tie taken as one."""
        merged = [(item, _plain(human), _plain(judge)) for item, human, judge in self.votes]
        return replace(self, votes=tuple(merged))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        table: dict[str, dict[str, int]] = defaultdict(dict)
        for (human, judge), count in sorted(self.counts.items()):
            table[human][judge] = count

        one, decided = self.with_one_tie(), self.without_ties()
        return {
            "n": self.n,
            "unread": self.unread,
            "unmatched": self.unmatched,
            "accuracy": self.accuracy,
            "interval": self.interval,
            "chance": self.chance,
            "ties_as_one": {"accuracy": one.accuracy, "chance": one.chance},
            "decided": {"n": decided.n, "accuracy": decided.accuracy, "interval": decided.interval},
            "human_by_judge": dict(table),
        }


def _plain(verdict: str) -> str:
    return verdict if verdict in ("first", "second") else TIE


def _worth(votes: Sequence[Vote], accuracy: float) -> float:
    """Return how many independent votes would tell as much about the accuracy as these do.

    Votes on one item are not independent: several people vote on one verdict of the judge, and a
    judge that misreads an item is wrong on all its pairs.
    """
    by_item: dict[str, float] = defaultdict(float)
    for item, human, judge in votes:
        by_item[item] += (human == judge) - accuracy

    n, items = len(votes), len(by_item)
    together = sum(excess**2 for excess in by_item.values())
    alone = n * accuracy * (1 - accuracy)
    if alone <= SAME:
        # All alike: nothing shows how far items hang together, so each counts once.
        return items
    if items == 1:
        # What one item's votes have in common cannot be seen in them.
        return 1.0

    return n * min(1.0, alone / max(together, SAME))


def wilson(share: float, n: float, z: float = 1.959964) -> tuple[float, float]:
    """Return Wilson's interval of a share of n."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def compare_votes(votes: Iterable[Vote]) -> VoteAgreement:
    """Return the agreement of votes; an empty verdict of the judge was not read."""
    every = list(votes)
    read = tuple(vote for vote in every if vote[-1])
    return VoteAgreement(read, len(every) - len(read))


def agree_on_pairs(
    rows: Sequence[Comparison], human: Mapping[Pair, Sequence[str]]
) -> VoteAgreement:
    """Return how often the judge's matches end as people's votes.

    `human` holds verdicts by pair: a method's name, `tie`, `good` or `bad`. Raises where an item
    occurs in several tasks and one side names none: its votes could be about another picture.
    """
    shared = _items_of_several_tasks(rows, human)
    votes: dict[Pair, list[str]] = defaultdict(list)
    for (task, item, first, second), said in human.items():
        # An id of one task is enough to go by, however each side calls the task.
        votes[task if item in shared else "", item, first, second] += said

    found: list[Vote] = []
    asked = set()
    for match in matches(rows):
        first, second = sorted((match.method_a, match.method_b))
        judged = _placed(_said(match), match)
        task = match.task if match.item in shared else ""
        name = f"{task}/{match.item}" if task else match.item
        pair = (task, match.item, first, second)
        asked.add(pair)
        found += [(name, _placed(vote, match), judged) for vote in votes.get(pair, ())]

    unmatched = sum(len(said) for pair, said in votes.items() if pair not in asked)
    return replace(compare_votes(found), unmatched=unmatched)


def _items_of_several_tasks(rows: Sequence[Comparison], human: Iterable[Pair]) -> set[str]:
    """Return the ids that several tasks share on either side. Raises where a side names no task."""
    sides: dict[str, dict[str, set[str]]] = {
        "the run": defaultdict(set),
        "people's votes": defaultdict(set),
    }
    judged, voted = sides.values()
    for row in rows:
        judged[row.item].add(row.task)

    for task, item, _, _ in human:
        voted[item].add(task)

    # With a task in common, both name tasks alike: then an id may be in another task over there.
    alike = (set().union(*judged.values()) & set().union(*voted.values())) - {""}
    shared = set()
    for item in judged.keys() & voted.keys():
        tasks = max(judged[item] - {""}, voted[item] - {""}, key=len)
        if alike:
            tasks = (judged[item] | voted[item]) - {""}

        if len(tasks) < 2:
            continue

        shared.add(item)
        for name, tasks_by_item in sides.items():
            if "" in tasks_by_item[item]:
                verb = "names" if name == "the run" else "name"
                raise FileProblem(
                    f"item {item!r} occurs in several tasks ({', '.join(sorted(tasks))}), but "
                    f"{name} {verb} no task; add a column `task`, or give every item its own id"
                )

    return shared


def _said(match: Match) -> str:
    """Return the judge's verdict; a tie is good or bad only where every order said so."""
    kinds = {row.both for row in match.shown}
    if match.winner == TIE and match.consistent and len(kinds) == 1:
        return next(iter(kinds)) or TIE
    return match.winner


def _placed(verdict: str, match: Match) -> str:
    return {match.method_a: "first", match.method_b: "second"}.get(verdict, verdict)


def read_votes(path: Path) -> dict[Pair, list[str]] | None:
    """Return people's votes by pair; None where the file holds no votes (but perhaps ratings).

    A table with the columns item, method_a, method_b and winner: a method's name, `method_a` or
    `method_b`, `tie`, `both good` or `both bad`; and task, where tasks share ids. Several lines
    about a pair are several voters.
    """
    found: dict[Pair, list[str]] = {}
    for table in read_tables(path):
        columns = {name.casefold(): name for name in table.columns}
        if not {"item", "method_a", "method_b", "winner"} <= set(columns):
            return None

        for number, row in enumerate(table.rows, 1):
            cells = {key: text(row[name]) for key, name in columns.items()}
            vote = _vote(cells, f"{path}, row {number}")
            first, second = sorted((cells["method_a"], cells["method_b"]))
            pair = (cells.get("task", ""), cells["item"], first, second)
            found.setdefault(pair, []).append(vote)

    return found


def _vote(cells: Mapping[str, str], where: str) -> str:
    said = cells["winner"]
    sides = {"method_a": cells["method_a"], "method_b": cells["method_b"]}
    sides |= {"leftvote": cells["method_a"], "rightvote": cells["method_b"]}
    if said in sides.values():
        return said

    folded = said.casefold()
    if folded in sides:
        return sides[folded]
    if folded in _BOTH_GOOD:
        return "good"
    if folded in _BOTH_BAD:
        return "bad"
    if folded in _TIES:
        return TIE

    raise FileProblem(
        f"{where}: winner {said!r} is neither {cells['method_a']} nor {cells['method_b']}, nor a "
        "tie"
    )


def votes_of_ratings(ratings: pd.DataFrame, factor: str) -> dict[Pair, list[str]]:
    """Return the verdicts that ratings imply: of two edits of an item, the higher mean wins."""
    rows = ratings if "task" in ratings else ratings.assign(task="")
    chosen = rows[rows["factor"] == factor]
    edit = ["task", "item", "method"]
    means = chosen.groupby(edit, as_index=False)["score"].mean()
    by_item: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for task, item, method, score in zip(*(means[name] for name in [*edit, "score"]), strict=True):
        by_item.setdefault((str(task), str(item)), []).append((str(method), float(score)))

    found: dict[Pair, list[str]] = {}
    for (task, item), rated in by_item.items():
        for (first, one), (second, other) in combinations(sorted(rated), 2):
            winner = TIE if abs(one - other) < SAME else first if one > other else second
            found[task, item, first, second] = [winner]

    return found
