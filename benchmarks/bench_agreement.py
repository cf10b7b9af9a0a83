"""How much faster the agreement bootstrap is than scipy's, in one run, on the same data.

The baseline is `scipy.stats.bootstrap(spearmanr, paired=True, vectorized=False)` with 9,999 resamples and its default
BCa interval, measured in full (about a minute). With `--quick` its time is scaled up from a few hundred resamples.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
from lmmscore.agreement.arrays import Floats
from scipy import stats

from lmmscore.agreement import bootstrap, counted

RESAMPLES = 9_999
SAMPLED = 400


@dataclass(frozen=True)
class Row:
    """One comparison: seconds of both, their ratio and the least it must be."""

    what: str
    ours_s: float
    scipy_s: float
    at_least: float

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return self.scipy_s / self.ours_s


def sevens(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return two columns of 7-point ratings that agree in part."""
    first = rng.integers(1, 8, n).astype(float)
    return first, np.clip(np.round(first + rng.normal(0, 2, n)), 1, 7)


def continuous(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return two columns without ties that agree in part."""
    first = rng.normal(size=n)
    return first, first + rng.normal(size=n)


def ours(x: Floats, y: Floats) -> bootstrap.Interval:
    """Return our percentile and BCa intervals."""
    judge, people, multiplicity = counted.collapse(x, y)
    of = counted.spearman(judge, people, np.arange(len(judge)))
    return bootstrap.intervals(
        {"": of}, multiplicity, resamples=RESAMPLES, rng=np.random.default_rng(0)
    )[""]


def spearmanr(x: Floats, y: Floats) -> float:
    """Return Spearman's ρ by scipy."""
    return float(stats.spearmanr(x, y).statistic)


def seconds_ours(x: Floats, y: Floats) -> float:
    """Return the best of three runs."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        ours(x, y)
        times.append(time.perf_counter() - start)
    return min(times)


def seconds_scipy(x: Floats, y: Floats, *, full: bool) -> float:
    """Return the time of scipy's BCa bootstrap: all of it, or scaled up from a part."""
    start = time.perf_counter()
    if full:
        stats.bootstrap(
            (x, y), spearmanr, paired=True, vectorized=False, n_resamples=RESAMPLES, rng=0
        )
        return time.perf_counter() - start
    stats.bootstrap(
        (x, y),
        spearmanr,
        paired=True,
        vectorized=False,
        n_resamples=SAMPLED,
        method="percentile",
        rng=0,
    )
    # BCa evaluates the statistic once more for every observation left out.
    return (time.perf_counter() - start) / SAMPLED * (RESAMPLES + len(x))


def largest_difference(x: Floats, y: Floats) -> float:
    """Return how far our replicates and limits are from scipy's on identical resamples."""
    n, resamples = len(x), 499
    theirs = stats.bootstrap(
        (x, y),
        spearmanr,
        paired=True,
        vectorized=False,
        n_resamples=resamples,
        rng=np.random.default_rng(1),
    )
    indices = np.random.default_rng(1).integers(0, n, (resamples, n))
    of = counted.spearman(x, y, np.arange(n))
    counts = bootstrap.count_indices(indices)
    interval = bootstrap.intervals_from({"": of}, np.ones(n, dtype=np.int64), [lambda: counts])[""]
    limits = np.abs(np.array(interval.bca) - np.array(theirs.confidence_interval)).max()
    return float(max(np.abs(of(counts) - theirs.bootstrap_distribution).max(), limits))


def run(*, full: bool = True) -> list[Row]:
    """Measure every case."""
    rng = np.random.default_rng(0)
    cases = (
        ("7-point ratings, n = 400", sevens(400, rng), 50),
        ("7-point ratings, n = 5,000", sevens(5_000, rng), 200),
        ("continuous scores, n = 5,000", continuous(5_000, rng), 10),
    )
    return [
        Row(what, seconds_ours(*data), seconds_scipy(*data, full=full), least)
        for what, data, least in cases
    ]


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(2)
    print(
        f"Spearman with percentile and BCa intervals, {RESAMPLES:,} resamples, against scipy.stats.bootstrap"
    )
    for row in run(full="--quick" not in sys.argv):
        verdict = "ok" if row.ratio >= row.at_least else "TOO SLOW"
        print(
            f"  {row.what:30s} {row.ours_s * 1e3:8.1f} ms  scipy {row.scipy_s:6.1f} s  "
            f"{row.ratio:6.0f}x (at least {row.at_least:.0f}x) {verdict}"
        )
    for what, data in (("7-point", sevens(120, rng)), ("continuous", continuous(120, rng))):
        print(f"  identical resamples, {what}: largest difference {largest_difference(*data):.1e}")


if __name__ == "__main__":
    main()
