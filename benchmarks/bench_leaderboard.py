"""The leaderboard's statistics: speed, memory, and whether a 95% interval holds the truth that often."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from lmmscore.leaderboard.resampling import (
    cut_of,
    interval_of,
    rank_interval,
    ranks,
    resampled_means,
)
from scipy import stats

METHODS, ITEMS, DRAWS = 20, 1_000, 10_000


def scores(rng: np.random.Generator, items: int, methods: int) -> np.ndarray:
    """Return scores as judges give them: 1 to 10 in tenths, methods apart, items hard or easy."""
    level = np.linspace(4.5, 7.5, methods)
    hardness = rng.normal(0, 0.8, (items, 1))
    return np.clip(np.round(level + hardness + rng.normal(0, 1.2, (items, methods)), 1), 1, 10)


def ours(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Resample means and ranks as the leaderboard does."""
    means = resampled_means(values, draws=DRAWS, rng=np.random.default_rng(1))
    return means, ranks(means)


def plain_scipy(values: np.ndarray) -> None:
    """Do the same with scipy.stats.bootstrap and the statistic as one would write it down."""

    def statistic(*columns: np.ndarray) -> np.ndarray:
        means = np.array([column.mean() for column in columns])
        return np.concatenate([means, stats.rankdata(-means, method="min")])

    stats.bootstrap(
        tuple(values.T),
        statistic,
        paired=True,
        vectorized=False,
        n_resamples=DRAWS,
        batch=1_000,  # by default it would hold all resamples, over 3 GB, and take twice as long
        method="percentile",
        rng=np.random.default_rng(1),
    )


def seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the best time of several rounds: the others were disturbed."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def working_memory(values: np.ndarray) -> tuple[float, float]:
    """Return the peak beyond the results, and what all resamples would take at once, in MB."""
    tracemalloc.start()
    means, _ = ours(values)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (peak - 2 * means.nbytes) / 1e6, values.nbytes * DRAWS / 1e6


def coverage(
    items: int, *, trials: int, skewed: bool, rng: np.random.Generator
) -> tuple[float, float]:
    """Return how often the 95% intervals of the mean and of the rank hold the true ones."""
    shape = (
        2.0 / 7.0 if skewed else 0.5
    )  # the mean of the beta distribution below, in the same place for all
    truth = np.array([5.0, 5.6, 6.5, 7.0])
    held = np.zeros(2)
    for _ in range(trials):
        noise = rng.beta(2, 5, (items, 4)) if skewed else rng.beta(5, 5, (items, 4))
        values = np.round(truth + 6 * (shape - noise), 1)
        draws = resampled_means(values, draws=1_000, rng=rng)
        places = ranks(draws)
        for k in range(4):
            low, high = interval_of(values[:, k], None, draws[:, k], level=0.95) or (np.nan, np.nan)
            best, worst = rank_interval(
                places[:, k], cut=cut_of(values[:, k], None, level=0.95) or 0.0
            )
            held += (low - 1e-9 <= truth[k] <= high + 1e-9, best <= 4 - k <= worst)
    mean, rank = held / trials / 4
    return float(mean), float(rank)


def main() -> None:
    """Print the figures."""
    values = scores(np.random.default_rng(0), ITEMS, METHODS)
    fast, slow = seconds(lambda: ours(values), 9), seconds(lambda: plain_scipy(values), 1)
    held, whole = working_memory(values)
    print(
        f"leaderboard: {DRAWS:,} resamples of means and ranks, {METHODS} methods x {ITEMS:,} items"
    )
    print(
        f"  plain scipy.stats.bootstrap / ours     {slow / fast:8.0f} x (at least 50; ours {fast:.3f} s)"
    )
    print(
        f"  working memory / all resamples at once {held / whole:8.5f}   ({held:.1f} MB, whatever the draws)"
    )
    rng = np.random.default_rng(2)
    for items in (10, 20, 50):
        for skewed in (False, True):
            mean, rank = coverage(items, trials=500, skewed=skewed, rng=rng)
            kind = f"{items} items, {'skewed' if skewed else 'even'}"
            print(
                f"  95% interval holds the truth, {kind}: mean {mean:.1%} (93% to 97%), rank {rank:.1%}"
            )


if __name__ == "__main__":
    main()
