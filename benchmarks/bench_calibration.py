"""Do intervals cover and tests err as often as their captions claim? By simulation, from known truth.

By hand, in under 20 minutes: `make bench ONLY=calibration`. Rates are over simulated benchmarks whose
truth is known; a 95% interval should cover in 93 to 98%, a 5% test err in at most 6%. With
`--quick` there are fewer of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from lmmscore.agreement.align import Paired, rated_edits
from lmmscore.agreement.judges import compare_pairs
from lmmscore.agreement.levels import AgreementSubject, level_rows
from lmmscore.agreement.powered_means import Powered, powered_mean
from lmmscore.agreement.raters import ceiling
from lmmscore.agreement.result import BELOW, BELOW_ANY, BETTER, AgreementRow
from lmmscore.agreement.statistics import ITEM, METHOD, WITHIN_ITEM, WITHIN_METHOD, statistics
from lmmscore.leaderboard import rank
from lmmscore.leaderboard.position import Placed, fit_slope
from lmmscore.leaderboard.power import power_of
from lmmscore.stats.arrays import Floats
from lmmscore.stats.jackknife import mean_limits

ITEMS = (5, 10, 20, 75)
SCALES = (2, 3, 7, 10, 0)
"""Levels of a scale; 0 is continuous."""
MISSING = (0.0, 0.15)
QUICK = "--quick" in sys.argv


@dataclass(frozen=True)
class Rate:
    """How often something held, over so many simulations of one kind."""

    what: str
    items: int
    held: int
    of: int

    @property
    def share(self) -> float:
        """The rate; NaN where it never applied."""
        return self.held / self.of if self.of else float("nan")


def repeats(full: int) -> int:
    """How many benchmarks to simulate."""
    return max(10, full // 4) if QUICK else full


def graded(latent: Floats, levels: int) -> Floats:
    """Put numbers on a scale of so many levels, from 1."""
    if not levels:
        return latent
    edges = np.linspace(-2, 2, levels + 1)[1:-1]
    return 1.0 + np.digitize(latent, edges)


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


def tidy(values: Floats) -> pd.DataFrame:
    """Return item × method scores as a tidy table."""
    items, methods = values.shape
    score = values.ravel()
    return pd.DataFrame(
        {
            "item": np.repeat([f"i{k:03d}" for k in range(items)], methods),
            "task": "t",
            "method": np.tile([f"m{k:02d}" for k in range(methods)], items),
            "repeat": 1,
            "position": None,
            "factor": "overall",
            "score": score,
            "outcome": np.where(np.isnan(score), "refused", "scored"),
            "reason": "",
        }
    )


def paired(judge: Floats, people: Floats) -> Paired:
    """Return scores and mean ratings side by side."""
    items, methods = judge.shape
    edits = pd.DataFrame(
        {
            "item": np.repeat([f"i{k:05d}" for k in range(items)], methods),
            "method": np.tile([f"m{k:02d}" for k in range(methods)], items),
            "task": "",
            "judge": judge.ravel(),
            "people": people.ravel(),
        }
    )
    return Paired(edits.dropna(), {}, edits.iloc[:0])


def mean_intervals(rng: np.random.Generator) -> Iterator[Rate]:
    """Intervals of methods' means and of paired differences."""
    for items, levels, missing in product(ITEMS, SCALES, MISSING):
        world = World(2, levels)
        truth = world.draw(50_000, rng, raters=1)[0]
        means, gap = truth.mean(axis=0), float((truth[:, 0] - truth[:, 1]).mean())
        held = of = held_gap = of_gap = 0
        for _ in range(repeats(400)):
            values = holes(world.draw(items, rng, raters=1)[0], missing, rng)
            found = mean_limits(values[:, 0], None, level=0.95)
            if found is not None:
                of += 1
                held += found[0] <= means[0] <= found[1]
            found = mean_limits(values[:, 0] - values[:, 1], None, level=0.95)
            if found is not None:
                of_gap += 1
                held_gap += found[0] <= gap <= found[1]
        yield Rate(f"mean, {_named(levels)}", items, held, of)
        yield Rate(f"difference of two means, {_named(levels)}", items, held_gap, of_gap)


def _named(levels: int) -> str:
    return f"{levels} levels" if levels else "continuous"


def boards(rng: np.random.Generator) -> Iterator[Rate]:
    """Family-wise error of the groups, and joint coverage of all rank intervals, near ties."""
    for items, methods, missing in product(ITEMS, (2, 8, 20), MISSING):
        err = of = held = 0
        for number in range(repeats(120)):
            levels = SCALES[number % len(SCALES)]
            same = World(methods, levels, spread=0.0).draw(items, rng, raters=1)[0]
            table = rank(tidy(holes(same, missing, rng)), resamples=1_000).tables[0]
            err += bool(table.differences and table.differences.significant())
            near = World(methods, levels, spread=0.4).draw(items, rng, raters=1)[0]
            table = rank(tidy(holes(near, missing, rng)), resamples=1_000).tables[0]
            # Method k has true rank M - k: quality rises with its number.
            inside = []
            for row in table.rows:
                low, high = row.rank_interval or (1, methods)
                inside.append(low <= methods - int(row.method[1:]) <= high)
            held += all(inside)
            of += 1
        yield Rate("any significant difference among equal methods (error)", items, err, of)
        yield Rate("all rank intervals hold at once, near ties", items, held, of)


def correlations(rng: np.random.Generator) -> Iterator[Rate]:
    """Intervals of correlations and pairwise accuracy at the levels that have them."""
    wanted = {
        ITEM: ("spearman", "pearson", "kendall_b", "pairwise_accuracy"),
        WITHIN_ITEM: ("spearman", "pairwise_accuracy"),
        WITHIN_METHOD: ("spearman",),
    }
    for items, levels, missing in product(ITEMS, SCALES, MISSING):
        world = World(5, levels)
        truth = _truth(world, wanted, rng)
        counts: dict[tuple[str, str], list[int]] = {}
        for _ in range(repeats(100)):
            judge, raters = world.draw(items, rng)
            pair = paired(holes(judge, missing, rng), raters.mean(axis=0))
            for key, row in _rows(AgreementSubject("j", "f", pair, None, "", rng), wanted).items():
                low, high = row.limits
                if low is None or high is None:
                    continue
                tally = counts.setdefault(key, [0, 0])
                tally[0] += low <= truth[key] <= high
                tally[1] += 1
        for (level, name), (held, of) in counts.items():
            yield Rate(f"{name}, level {level}, {_named(levels)}", items, held, of)


def _truth(
    world: World, wanted: dict[str, tuple[str, ...]], rng: np.random.Generator
) -> dict[tuple[str, str], float]:
    """Return every statistic on a benchmark of very many items."""
    judge, raters = world.draw(1_500, rng)
    people = raters.mean(axis=0)
    found = {}
    for level, names in wanted.items():
        for one in statistics(level):
            name = one.name
            if name not in names:
                continue
            assert one.of is not None and one.of_rows is not None
            if level == ITEM:
                found[level, name] = one.of(judge.ravel(), people.ravel())
            elif level == WITHIN_ITEM:
                found[level, name] = float(np.nanmean(one.of_rows(judge, people)))
            else:
                columns = zip(judge.T, people.T, strict=True)
                found[level, name] = float(np.mean([one.of(x, y) for x, y in columns]))
    return found


def _rows(
    subject: AgreementSubject, wanted: dict[str, tuple[str, ...]]
) -> dict[tuple[str, str], AgreementRow]:
    found = {}
    for level, names in wanted.items():
        for row in level_rows(subject, level):
            if row.statistic in names and row.method is None and row.averaging != "fisher":
                found[level, row.statistic] = row
    return found


def verdicts(rng: np.random.Generator) -> Iterator[Rate]:
    """A judge that is one more rater is called better or below: each an error."""
    for items, levels in product(ITEMS[1:], SCALES):
        world = World(5, levels)
        err = of = 0
        for _ in range(repeats(80)):
            _, ratings = world.draw(items, rng, raters=4)
            pair = paired(ratings[0], ratings[1:].mean(axis=0))
            frame = pair.edits.assign(factor="f", where="")
            rows = [
                frame.assign(rater=f"r{k}", score=one.ravel()) for k, one in enumerate(ratings[1:])
            ]
            rated = rated_edits(pd.concat(rows, ignore_index=True))
            subject = AgreementSubject("j", "f", pair, None, "", rng)
            head = level_rows(subject, ITEM)[0]
            by_edit = rated.judge_by_edit(pair.edits[["item", "method", "judge"]])
            words = ceiling(head, rated, by_edit, rng).verdict.words
            err += words in (BETTER, BELOW, BELOW_ANY)
            of += 1
        yield Rate("a rater in the judge's place called better or below (error)", items, err, of)


def judge_tests(rng: np.random.Generator) -> Iterator[Rate]:
    """Two judges of the same kind: a significant difference is an error."""
    for items, levels in product(ITEMS, SCALES):
        world = World(5, levels)
        err: dict[str, int] = {}
        of = 0
        for _ in range(repeats(60)):
            _, ratings = world.draw(items, rng, raters=5)
            people = ratings[2:].mean(axis=0)
            pairs = [paired(one, people) for one in ratings[:2]]
            chosen = (ITEM, WITHIN_ITEM, WITHIN_METHOD, METHOD)
            found = compare_pairs(("a", "b"), "f", *pairs, chosen, draws=399, seed=0)
            for entry in found:
                p = entry.get("p_permutation")
                err[entry["level"]] = err.get(entry["level"], 0) + (p is not None and p <= 0.05)
            of += 1
        for level, number in err.items():
            yield Rate(f"two equal judges differ significantly, level {level} (error)", items,
                       number, of)  # fmt: skip


def powered(rng: np.random.Generator) -> Iterator[Rate]:
    """Prediction-powered means with few ratings."""
    for rated, levels in product((3, 5, 10, 20, 75), SCALES):
        world = World(2, levels)
        truth = float(world.draw(50_000, rng, raters=1)[1][0][:, 0].mean())
        held = of = 0
        for _ in range(repeats(400)):
            judge, ratings = world.draw(rated + 200, rng, raters=1)
            found = powered_mean(ratings[0][:rated, 0], judge[:rated, 0], judge[rated:, 0])
            if isinstance(found, Powered) and found.error > 0:
                low, high = found.interval()
                held += low <= truth <= high
                of += 1
        yield Rate(f"prediction-powered mean, {_named(levels)}", rated, held, of)


def positions(rng: np.random.Generator) -> Iterator[Rate]:
    """No effect of position: finding one is an error."""
    for items, levels in product((3, 5, 10, 20, 75), SCALES):
        err = of = 0
        for _ in range(repeats(80)):
            values = World(5, levels).draw(items, rng, raters=1)[0]
            place = np.argsort(rng.random(values.shape), axis=1) + 1.0
            session = np.repeat(np.arange(items), 5)
            placed = Placed(
                values.ravel(), place.ravel(), np.tile(np.arange(5), items), session, session
            )
            found = fit_slope(placed, level=0.95)
            if not isinstance(found, str):
                err += found.p <= 0.05
                of += 1
        yield Rate("an effect of position found where there is none (error)", items, err, of)


def planning(rng: np.random.Generator) -> Iterator[Rate]:
    """The items that a pilot of 10, 20 or 75 asks for: the range holds the true number."""
    truth = 34
    for items in (10, 20, 75):
        held = of = 0
        for _ in range(repeats(300)):
            gaps = rng.normal(0.5, 1.0, items)
            scores = tidy(np.column_stack([5 + gaps, np.full(items, 5.0)]))
            found = power_of(
                scores, "m00", "m01", task=None, factor="overall", power=0.8, alpha=0.05
            )
            low, high = found.items_range or (0, 0)
            held += low <= truth and (high is None or high >= truth)
            of += 1
        yield Rate("range of items needed, 80% by its caption", items, held, of)


PARTS: tuple[Callable[[np.random.Generator], Iterator[Rate]], ...] = (
    mean_intervals,
    boards,
    correlations,
    verdicts,
    judge_tests,
    powered,
    positions,
    planning,
)


def summary(rates: list[Rate]) -> list[str]:
    """Return lines of a Markdown table: one per quantity, a column per number of items."""
    columns = sorted({rate.items for rate in rates})
    lines = ["| what | " + " | ".join(f"{n} items" for n in columns) + " |"]
    lines.append("| --- |" + " ---: |" * len(columns))
    for what in dict.fromkeys(rate.what for rate in rates):
        cells = []
        for items in columns:
            some = [rate for rate in rates if (rate.what, rate.items) == (what, items)]
            held, of = sum(rate.held for rate in some), sum(rate.of for rate in some)
            cells.append(f"{100 * held / of:.1f}%" if of else "–")
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Print the table, part by part."""
    wanted = [name for name in sys.argv[1:] if name.isidentifier() and name != "calibration"]
    for part in PARTS:
        if wanted and part.__name__ not in wanted:
            continue
        start = time.perf_counter()
        rates = list(part(np.random.default_rng(0)))
        print(f"\n{part.__doc__} ({sum(rate.of for rate in rates):,} simulations, "
              f"{time.perf_counter() - start:.0f} s)\n")  # fmt: skip
        print("\n".join(summary(rates)), flush=True)


if __name__ == "__main__":
    main()
