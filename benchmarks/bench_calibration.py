"""Do intervals cover and tests err as often as their captions claim? By simulation, from known truth.

By hand, in under 20 minutes on two cores: `make bench ONLY=calibration`. Rates are over simulated
benchmarks whose truth is known; a 95% interval should cover in 93 to 98%, a 5% test err in at most
6%. Names of parts after `calibration` choose some of them, `--quick` makes fewer simulations, and
`--write` puts the tables into docs/calibration.md.
"""

from __future__ import annotations

import re
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.agreement.align import Paired, RatedEdits, rated_edits
from lmmscore.agreement.levels import (
    BELOW,
    BELOW_ANY,
    BETTER,
    EQUAL,
    AgreementRow,
    AgreementSubject,
    compare_pairs,
    item_rows,
    level_rows,
)
from lmmscore.agreement.raters import (
    alternative_test,
    corrected_board,
    people_rows,
    two_way_interval,
    yardstick,
)
from lmmscore.agreement.statistics import ITEM, METHOD, WITHIN_ITEM, WITHIN_METHOD, statistics
from lmmscore.leaderboard import rank
from lmmscore.leaderboard.diagnostics import Placed, fit_slope
from lmmscore.leaderboard.differences import power_of
from lmmscore.leaderboard.matches import rank_pairs
from lmmscore.records import Outcome
from lmmscore.scores import Comparison
from lmmscore.stats import Floats, Powered, mean_limits, powered_mean, sign_flip_p
from lmmscore.stats.correlation import spearman

ITEMS = (5, 10, 20, 75)
SCALES = (2, 3, 7, 10, 0)
"""Levels of a scale; 0 is continuous."""
HOLES = 0.15
"""Share of scores left out in every second simulation."""
DOCS = Path(__file__).parents[1] / "docs" / "calibration.md"
TWO_SIDES = ("first", "second")

Rates = dict[tuple[str, int], list[float]]
"""By what is counted and the number of items: how often it held, and of how many."""


@dataclass
class Tally:
    """How often each thing held, for one number of items."""

    items: int
    rng: np.random.Generator
    runs: int
    rates: Rates = field(default_factory=dict)

    def add(self, what: str, held: float) -> None:
        """Count one outcome, or a share between 0 and 1."""
        rate = self.rates.setdefault((what, self.items), [0.0, 0])
        rate[0] += held
        rate[1] += 1

    def covers(self, what: str, limits: tuple[float | None, ...] | None, truth: float) -> None:
        """Count whether an interval holds the truth; one that is not given does not count."""
        if limits is None or limits[0] is None or limits[1] is None:
            return
        self.add(what, limits[0] <= truth <= limits[1])


def graded(latent: Floats, levels: int) -> Floats:
    """Put numbers on a scale of so many levels, from 1."""
    if not levels:
        return latent
    edges = np.linspace(-2, 2, levels + 1)[1:-1]
    return 1.0 + np.digitize(latent, edges)


def named(levels: int) -> str:
    """Name a scale."""
    return f"{levels} levels" if levels else "continuous"


@dataclass(frozen=True)
class World:
    """A benchmark whose truth is known: methods differ, items differ, raters and judge are noisy."""

    methods: int
    levels: int
    spread: float = 0.5
    """Between the best and the worst method."""
    noise: float = 0.8
    judge_noise: float = 0.8

    def draw(self, items: int, rng: np.random.Generator, raters: int = 3) -> tuple[Floats, Floats]:
        """Return a judge's scores, item × method, and raters' ratings, rater × item × method."""
        quality = np.linspace(-self.spread / 2, self.spread / 2, self.methods)
        latent = (
            quality
            + 0.5 * rng.normal(size=(items, 1))
            + 0.6 * rng.normal(size=(items, self.methods))
        )
        judge = graded(latent + self.judge_noise * rng.normal(size=latent.shape), self.levels)
        noisy = latent + self.noise * rng.normal(size=(raters, *latent.shape))
        return judge, graded(noisy, self.levels)


def holes(values: Floats, share: float, rng: np.random.Generator) -> Floats:
    """Leave some scores out at random."""
    return np.where(rng.random(values.shape) < share, np.nan, values)


def edits_of(shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the item and the method of every cell of an item × method table."""
    items, methods = shape
    return {
        "item": np.repeat([f"i{k:05d}" for k in range(items)], methods),
        "method": np.tile([f"m{k:02d}" for k in range(methods)], items),
    }


def tidy(values: Floats) -> pd.DataFrame:
    """Return item × method scores as a tidy table."""
    score = values.ravel()
    outcome = np.where(np.isnan(score), "refused", "scored")
    more = {"task": "t", "repeat": 1, "position": None, "factor": "overall", "reason": ""}
    return pd.DataFrame(edits_of(values.shape) | {"score": score, "outcome": outcome} | more)


def tidy_ratings(ratings: Floats) -> pd.DataFrame:
    """Return rater × item × method ratings as a tidy table; a missing one has no line."""
    raters = []
    for number, values in enumerate(ratings):
        one = pd.DataFrame(edits_of(values.shape) | {"score": values.ravel()})
        raters.append(one.assign(rater=f"r{number}", factor="overall", where=""))
    return pd.concat(raters, ignore_index=True).dropna(subset=["score"])


def paired(judge: Floats, people: Floats) -> Paired:
    """Return scores and mean ratings side by side."""
    columns = {"task": "", "judge": judge.ravel(), "people": people.ravel()}
    edits = pd.DataFrame(edits_of(judge.shape) | columns)
    return Paired(edits.dropna(), {}, edits.iloc[:0])


def subject(pair: Paired, rng: np.random.Generator) -> AgreementSubject:
    """Return what rows are computed of."""
    return AgreementSubject("j", "f", pair, None, "", rng)


def pooled(pair: Paired, rng: np.random.Generator) -> AgreementRow:
    """Return the pooled Spearman alone: the other statistics cost far more."""
    return next(item_rows(subject(pair, rng)))


def by_edit(rated: RatedEdits, pair: Paired) -> Floats:
    """Return the judge's score of each rated edit."""
    return rated.judge_by_edit(pair.edits[["item", "method", "judge"]])


def mean_intervals(tally: Tally) -> None:
    """Means of methods and differences of two, on each scale"""
    rng = tally.rng
    for levels in SCALES:
        world = World(2, levels)
        truth = world.draw(100_000, rng, raters=1)[0]
        means, gap = truth.mean(axis=0), float((truth[:, 0] - truth[:, 1]).mean())
        for number in range(tally.runs):
            drawn = world.draw(tally.items, rng, raters=1)[0]
            values = holes(drawn, HOLES * (number % 2), rng)
            found = mean_limits(values[:, 0], None, level=0.95)
            tally.covers(f"mean, {named(levels)}", found, float(means[0]))
            found = mean_limits(values[:, 0] - values[:, 1], None, level=0.95)
            tally.covers(f"difference of two means, {named(levels)}", found, gap)


def boards(tally: Tally) -> None:
    """Groups and ranks with 2, 8 and 20 methods, over all scales, 0/1 apart"""
    rng = tally.rng
    for methods in (2, 8, 20):
        for number in range(tally.runs):
            levels = SCALES[number % len(SCALES)]
            some = HOLES * (number % 2)
            binary = ", 2 levels" if levels == 2 else ""
            same = World(methods, levels, spread=0.0).draw(tally.items, rng, raters=1)[0]
            table = rank(tidy(holes(same, some, rng)), task="t", resamples=1_000).tables[0]
            error = bool(table.differences and table.differences.significant())
            tally.add(f"any significant difference among equal methods{binary} (error)", error)

            near = World(methods, levels, spread=0.4).draw(tally.items, rng, raters=1)[0]
            table = rank(tidy(holes(near, some, rng)), task="t", resamples=1_000).tables[0]
            inside = []
            for row in table.rows:
                low, high = row.rank_interval or (1, methods)
                # Method k has true rank M - k: quality rises with its number.
                inside.append(low <= methods - int(row.method[1:]) <= high)
            tally.add(f"all rank intervals hold at once, near ties{binary}", all(inside))


WANTED = {
    ITEM: (
        *("spearman", "pearson", "kendall_b", "mae", "bias"),
        *("pairwise_accuracy", "pairwise_accuracy_ordered"),
    ),
    WITHIN_ITEM: (
        *("spearman", "pearson", "kendall_b"),
        *("pairwise_accuracy", "pairwise_accuracy_ordered"),
    ),
    WITHIN_METHOD: ("spearman", "pearson", "kendall_b"),
}
"""The statistics whose intervals are tried, by level."""


def correlations(tally: Tally) -> None:
    """Correlations, distances and pairwise accuracy with 5 methods, over all scales"""
    rng = tally.rng
    for levels in SCALES:
        world = World(5, levels)
        truth = _truth(levels)
        for number in range(tally.runs):
            judge, raters = world.draw(tally.items, rng)
            pair = paired(holes(judge, HOLES * (number % 2), rng), raters.mean(axis=0))
            for (level, name), row in _rows(subject(pair, rng)).items():
                tally.covers(f"{name}, level {level}", row.limits, truth[level, name])


@cache
def _truth(levels: int) -> dict[tuple[str, str], float]:
    """Return every statistic on a benchmark of very many items."""
    judge, raters = World(5, levels).draw(2_000, np.random.default_rng(levels))
    people = raters.mean(axis=0)
    found = {}
    for level, names in WANTED.items():
        for one in statistics(level):
            if one.name not in names:
                continue
            assert one.of is not None
            if level == ITEM:
                found[level, one.name] = one.of(judge.ravel(), people.ravel())
            elif level == WITHIN_ITEM:
                assert one.of_rows is not None
                found[level, one.name] = float(np.nanmean(one.of_rows(judge, people)))
            else:
                columns = zip(judge.T, people.T, strict=True)
                found[level, one.name] = float(np.mean([one.of(x, y) for x, y in columns]))
    return found


def _rows(about: AgreementSubject) -> dict[tuple[str, str], AgreementRow]:
    found = {}
    for level, names in WANTED.items():
        for row in level_rows(about, level):
            if row.statistic in names and row.method is None and row.averaging != "fisher":
                found[level, row.statistic] = row
    return found


def people(tally: Tally) -> None:
    """The people: their reliability, each against the others, and their means"""
    rng = tally.rng
    for levels in SCALES:
        world = World(5, levels)
        for number in range(tally.runs):
            share = HOLES * (number % 2)
            # Fewer ratings of an edit make its mean less reliable: another truth.
            truth = _truth_of_people(levels, share)
            ratings = world.draw(tally.items, rng)[1]
            rated = rated_edits(tidy_ratings(holes(ratings, share, rng)))
            for row in people_rows("f", rated, rng):
                tally.covers(f"{row.statistic}, 3 raters", row.limits, truth[row.statistic])


@cache
def _truth_of_people(levels: int, share: float) -> dict[str, float]:
    rng = np.random.default_rng(levels)
    drawn = holes(World(5, levels).draw(6_000, rng)[1], share, rng)
    rows = people_rows("f", rated_edits(tidy_ratings(drawn)), rng)
    return {row.statistic: row.value_or_nan for row in rows}


def other_raters(tally: Tally) -> None:
    """ρ with other items and other raters in mind (`--over-raters`): raters differ in skill"""
    rng = tally.rng
    world = World(5, 7)

    def draw(items: int, raters: int) -> tuple[Floats, Floats]:
        judge, drawn = world.draw(items, rng, raters)
        skill = rng.uniform(0.0, 2.0, (raters, 1, 1))
        level = rng.normal(size=(raters, 1, 1))
        return judge, np.round(drawn + level + skill * rng.normal(size=drawn.shape))

    for raters in (3, 5, 10):
        many = []
        for _ in range(200):
            judge, drawn = draw(400, raters)
            many.append(spearman(judge.ravel(), drawn.mean(axis=0).ravel()))
        truth = float(np.mean(many))
        for _ in range(tally.runs):
            judge, drawn = draw(tally.items, raters)
            pair = paired(judge, drawn.mean(axis=0))
            head = pooled(pair, rng)
            found = two_way_interval(head, pair, rated_edits(tidy_ratings(drawn)), rng)
            tally.covers(f"ρ over items and {raters} raters", found.limits, truth)
            tally.covers(f"ρ over items alone, other raters, {raters} raters", head.limits, truth)


def verdicts(tally: Tally) -> None:
    """Verdicts: a rater in the judge's place, a judge just 0.1 behind, one as good as the worst"""
    rng = tally.rng
    behind = _noise_behind(0.1)
    for levels in SCALES:
        for _ in range(tally.runs):
            ratings = World(5, levels).draw(tally.items, rng, raters=4)[1]
            words = _verdict(ratings[0], ratings[1:], rng)
            wrong = words in (BETTER, BELOW, BELOW_ANY)
            tally.add("a rater in the judge's place called better or below (error)", wrong)
            tally.add("a rater in the judge's place called below any rater (error)",
                      words == BELOW_ANY)  # fmt: skip
    for _ in range(8 * tally.runs):
        judge, ratings = World(5, 0, judge_noise=behind).draw(tally.items, rng)
        words = _verdict(judge, ratings, rng)
        tally.add("a judge 0.1 behind called about as good (error)", words in (EQUAL, BETTER))
        noise = World(5, 0, judge_noise=50.0).draw(tally.items, rng)
        words = _verdict(noise[0], noise[1], rng)
        tally.add("a judge of pure noise called as good as a rater (error)",
                  words in (EQUAL, BETTER))  # fmt: skip


def _verdict(judge: Floats, ratings: Floats, rng: np.random.Generator) -> str:
    pair = paired(judge, ratings.mean(axis=0))
    rated = rated_edits(tidy_ratings(ratings))
    head = pooled(pair, rng)
    return yardstick(head, rated, by_edit(rated, pair), rng).verdict.words


@cache
def _noise_behind(gap: float) -> float:
    """Return the noise of a judge whose ρ in a rater's place is lower than a rater's by so much."""
    rng = np.random.default_rng(1)
    low, high = 0.8, 3.0
    for _ in range(12):
        noise = (low + high) / 2
        judge, ratings = World(5, 0, judge_noise=noise).draw(20_000, rng)
        others = ratings[1:].mean(axis=0).ravel()
        behind = spearman(ratings[0].ravel(), others) - spearman(judge.ravel(), others)
        if behind < gap:
            low = noise
        else:
            high = noise
    return (low + high) / 2


def replacement(tally: Tally) -> None:
    """The alternative annotator test: a judge behind by exactly ε passes; and its stated power"""
    rng = tally.rng
    noise = _noise_losing(0.2)
    for _ in range(3 * tally.runs):
        judge, ratings = World(5, 0, judge_noise=noise).draw(tally.items, rng)
        rated = rated_edits(tidy_ratings(ratings))
        scores = by_edit(rated, paired(judge, ratings.mean(axis=0)))
        test = alternative_test(rated.ratings, scores, epsilon=0.2, minimum=25)
        tally.add("a judge behind by ε passes (error)", bool(test.passed))
    for _ in range(tally.runs):
        ratings = World(5, 0).draw(tally.items, rng, raters=4)[1]
        rated = rated_edits(tidy_ratings(ratings[1:]))
        scores = by_edit(rated, paired(ratings[0], ratings[1:].mean(axis=0)))
        test = alternative_test(rated.ratings, scores, epsilon=0.2, minimum=25)
        tally.add("share of raters that one more rater wins against", test.winning_rate or 0.0)
        tally.add("the power that is stated for it", test.power or 0.0)


@cache
def _noise_losing(epsilon: float) -> float:
    """Return the noise of a judge that a rater beats by so much, in shares of edits."""
    rng = np.random.default_rng(2)
    low, high = 0.8, 6.0
    for _ in range(14):
        noise = (low + high) / 2
        judge, ratings = World(5, 0, judge_noise=noise).draw(6_000, rng)
        others = ratings[1:].mean(axis=0)
        gap = np.sign(np.abs(judge - others) - np.abs(ratings[0] - others)).mean()
        if gap < epsilon:
            low = noise
        else:
            high = noise
    return (low + high) / 2


def judge_tests(tally: Tally) -> None:
    """Two judges of the same kind, and intervals of differences of two unlike ones"""
    rng = tally.rng
    levels_tried = (ITEM, WITHIN_ITEM, WITHIN_METHOD, METHOD)
    for levels in SCALES:
        world = World(5, levels)
        for _ in range(tally.runs):
            ratings = world.draw(tally.items, rng, raters=5)[1]
            pairs = [paired(one, ratings[2:].mean(axis=0)) for one in ratings[:2]]
            found = compare_pairs(TWO_SIDES, "f", *pairs, levels_tried, draws=399, seed=0)
            for entry in found:
                p = entry.get("p_permutation")
                error = p is not None and p <= 0.05
                what = f"two equal judges differ significantly, level {entry['level']} (error)"
                tally.add(what, error)
    good, poor = World(5, 0, judge_noise=0.5), 1.5
    truth = _true_differences(good, poor, rng)
    for _ in range(2 * tally.runs):
        pairs = _unlike(good, poor, tally.items, rng)
        chosen = (ITEM, WITHIN_ITEM, WITHIN_METHOD)
        for entry in compare_pairs(TWO_SIDES, "f", *pairs, chosen, draws=2, seed=0):
            limits = entry.get("low"), entry.get("high")
            level = entry["level"]
            tally.covers(f"difference of two judges, level {level}", limits, truth[level])


def _unlike(
    good: World, poor: float, items: int, rng: np.random.Generator
) -> tuple[Paired, Paired]:
    """Return two judges of the same edits, the second with more noise."""
    judge, ratings = good.draw(items, rng)
    second = judge + poor * rng.normal(size=judge.shape)
    means = ratings.mean(axis=0)
    return paired(judge, means), paired(second, means)


def _true_differences(good: World, poor: float, rng: np.random.Generator) -> dict[str, float]:
    pairs = _unlike(good, poor, 5_000, rng)
    chosen = (ITEM, WITHIN_ITEM, WITHIN_METHOD)
    found = compare_pairs(TWO_SIDES, "f", *pairs, chosen, draws=2, seed=0)
    return {entry["level"]: float(entry["value"]) for entry in found}


def powered(tally: Tally) -> None:
    """Prediction-powered means, by the number of rated edits of a method"""
    rng = tally.rng
    for levels in SCALES:
        world = World(2, levels)
        truth = float(world.draw(100_000, rng, raters=1)[1][0][:, 0].mean())
        for _ in range(tally.runs):
            judge, ratings = world.draw(tally.items + 200, rng, raters=1)
            known = ratings[0][: tally.items, 0]
            found = powered_mean(known, judge[: tally.items, 0], judge[tally.items :, 0])
            if isinstance(found, Powered) and found.error > 0:
                tally.covers(f"prediction-powered mean, {named(levels)}", found.interval(), truth)


def corrected_boards(tally: Tally) -> None:
    """Corrected leaderboards (`--corrected`) of 5 methods, by the number of rated items"""
    rng = tally.rng
    for number in range(tally.runs):
        levels = SCALES[number % len(SCALES)]
        for spread in (0.0, 0.4):
            judge, ratings = World(5, levels, spread=spread).draw(tally.items + 100, rng)
            human = tidy_ratings(ratings[:, : tally.items])
            table = corrected_board(tidy(judge), human, "overall").tables[-1]
            if spread == 0:
                error = bool(table.differences and table.differences.significant())
                tally.add("any significant difference among equal methods (error)", error)
                continue
            inside = []
            for row in table.rows:
                low, high = row.rank_interval or (1, 5)
                inside.append(low <= 5 - int(row.method[1:]) <= high)
            tally.add("all rank intervals hold at once, near ties", all(inside))


def positions(tally: Tally) -> None:
    """The effect of position with 5 methods: none there is, and one of half a point"""
    rng = tally.rng
    for levels in SCALES:
        for _ in range(tally.runs):
            values = World(5, levels).draw(tally.items, rng, raters=1)[0]
            for slope in (0.0, 0.5):
                place = np.argsort(rng.random(values.shape), axis=1) + 1.0
                session = np.repeat(np.arange(tally.items), 5)
                method = np.tile(np.arange(5), tally.items)
                score = (values + slope * place).ravel()
                placed = Placed(score, place.ravel(), method, session, session)
                found = fit_slope(placed, level=0.95)
                if isinstance(found, str):
                    continue
                if slope == 0:
                    what = "an effect of position found where there is none (error)"
                    tally.add(what, found.p <= 0.05)
                tally.covers("slope of position", found.interval, slope)


def planning(tally: Tally) -> None:
    """The range of items that `power` gives (80% by its caption), and the power reached"""
    rng = tally.rng
    truth = 34
    for _ in range(2 * tally.runs):
        gaps = rng.normal(0.5, 1.0, tally.items)
        scores = tidy(np.column_stack([5 + gaps, np.full(tally.items, 5.0)]))
        found = power_of(scores, "m00", "m01", task=None, factor="overall", power=0.8, alpha=0.05)
        low, high = found.items_range or (0, 0)
        held = low <= truth and (high is None or high >= truth)
        tally.add("range of items needed holds the true number", held)
    for effect in (0.3, 0.5, 1.0, 2.0):
        # A pilot so large that the difference seen is the true one.
        gaps = rng.normal(0.0, 1.0, 4_000)
        gaps = effect + (gaps - gaps.mean()) / gaps.std(ddof=1)
        scores = tidy(np.column_stack([5 + gaps, np.full(len(gaps), 5.0)]))
        found = power_of(scores, "m00", "m01", task=None, factor="overall", power=0.8, alpha=0.05)
        assert found.items_needed is not None
        for _ in range(tally.runs // 2):
            drawn = np.column_stack([rng.normal(effect, 1, found.items_needed),
                                     np.zeros(found.items_needed)])  # fmt: skip
            p = sign_flip_p(drawn, [(0, 1)], None, draws=2_000, rng=rng)[0]
            tally.add(f"power reached with the items named for {effect:g} std", p <= 0.05)


def pair_boards(tally: Tally) -> None:
    """Leaderboards of pairwise comparisons (Bradley–Terry), 4 methods, every pair of each item"""
    rng = tally.rng
    names = "abcd"
    for spread in (0.0, 1.5):
        strengths = np.linspace(spread / 2, -spread / 2, 4)
        # Items that differ draw the fitted strengths together: their truth is that of many items.
        large = rank_pairs(_matches(strengths, 4_000, rng), resamples=0).tables[-1]
        truth = {row.method: row.strength or 0.0 for row in large.rows}
        for _ in range(tally.runs):
            rows = _matches(strengths, tally.items, rng)
            table = rank_pairs(rows, resamples=400, seed=0).tables[-1]
            inside = []
            for row in table.rows:
                true = strengths[names.index(row.method)]
                tally.covers("strength of a method", row.strength_interval, truth[row.method])
                low, high = row.rank_interval or (1, 4)
                place = 1 + int((strengths > true + 1e-9).sum())
                inside.append(low <= place <= high)
            if spread:
                tally.add("each method's rank interval holds", all(inside))


def _matches(strengths: Floats, items: int, rng: np.random.Generator) -> list[Comparison]:
    rows = []
    for item in range(items):
        shift = 0.5 * rng.normal(size=4)
        for a in range(4):
            for b in range(a + 1, 4):
                lead = strengths[a] + shift[a] - strengths[b] - shift[b]
                first = rng.random() < 1 / (1 + np.exp(-lead))
                one, other = "abcd"[a], "abcd"[b]
                rows.append(comparison(f"i{item:03d}", one, other, one if first else other))
    return rows


def comparison(item: str, one: str, other: str, winner: str) -> Comparison:
    """Return one comparison, shown once."""
    return Comparison(item, "t", one, other, "ab", 1, winner, Outcome.SCORED)


@dataclass(frozen=True)
class Part:
    """One table: what is simulated, for which numbers of items, and how often."""

    run: Callable[[Tally], None]
    items: tuple[int, ...]
    runs: int

    @property
    def name(self) -> str:
        """What the part is called on the command line and in the page."""
        return self.run.__name__


PARTS = (
    Part(mean_intervals, ITEMS, 2_000),
    Part(powered, (3, *ITEMS), 1_000),
    Part(corrected_boards, ITEMS, 800),
    Part(boards, ITEMS, 150),
    Part(positions, (3, *ITEMS), 40),
    Part(correlations, ITEMS, 80),
    Part(judge_tests, ITEMS, 60),
    Part(verdicts, ITEMS[1:], 60),
    Part(people, ITEMS, 100),
    Part(replacement, ITEMS, 300),
    Part(other_raters, ITEMS[1:], 150),
    Part(planning, ITEMS[1:], 300),
    Part(pair_boards, ITEMS[1:], 120),
)


def simulate(name: str, items: int, runs: int) -> Rates:
    """Return the rates of one part for one number of items; the same whatever else is run."""
    part = next(one for one in PARTS if one.name == name)
    seed = [zlib.crc32(name.encode()), items]
    tally = Tally(items, np.random.default_rng(seed), runs)
    part.run(tally)
    return tally.rates


def summary(rates: Rates) -> list[str]:
    """Return lines of a Markdown table: one per quantity, a column per number of items."""
    columns = sorted({items for _, items in rates})
    lines = ["| what | " + " | ".join(f"{n} items" for n in columns) + " | simulations |"]
    lines.append("| --- |" + " ---: |" * (len(columns) + 1))
    for what in sorted({what for what, _ in rates}, key=[key[0] for key in rates].index):
        cells, sizes = [], []
        for items in columns:
            held, of = rates.get((what, items), (0, 0))
            cells.append(f"{100 * held / of:.1f}%" if of else "–")
            sizes += [of] if of else []
        fewest, most = min(sizes), max(sizes)
        several = f"{fewest:,}" if fewest == most else f"{fewest:,}–{most:,}"
        lines.append(f"| {what} | " + " | ".join(cells) + f" | {several} |")
    return lines


def write_table(name: str, lines: Sequence[str]) -> None:
    """Put a table into the page, between the marks of its part."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    text = DOCS.read_text(encoding="utf-8")
    if start not in text:
        print(f"{DOCS.name} has no place for {name}", file=sys.stderr)
        return
    table = "\n".join([start, "", *lines, "", end])
    text = re.sub(f"{re.escape(start)}.*?{re.escape(end)}", lambda _: table, text, flags=re.DOTALL)
    DOCS.write_text(text, encoding="utf-8")


def main() -> None:
    """Print the tables, part by part, two units at a time."""
    words = sys.argv[1:]
    quick = "--quick" in words
    chosen = [part for part in PARTS if part.name in words] or list(PARTS)
    started = time.perf_counter()
    with ProcessPoolExecutor(max_workers=2) as pool:
        waiting = {}
        for part in chosen:
            runs = max(10, part.runs // 8) if quick else part.runs
            # The longest first, so that no unit is left alone at the end.
            units = sorted(part.items, reverse=True)
            waiting[part] = [pool.submit(simulate, part.name, items, runs) for items in units]
        for part, units_of_part in waiting.items():
            rates: Rates = {}
            for unit in reversed(units_of_part):
                rates |= unit.result()
            lines = summary(rates)
            print(f"\n{part.name}: {part.run.__doc__}\n")
            print("\n".join(lines), flush=True)
            if "--write" in words:
                write_table(part.name, lines)
            print(f"({time.perf_counter() - started:.0f} s so far)", flush=True)


if __name__ == "__main__":
    main()
