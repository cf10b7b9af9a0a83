"""How long `agree` and `leaderboard` take, as multiples of importing numpy, scipy.stats and pandas.

Whoever uses these packages waits for their import anyway, so it is the yardstick; all is measured in
one run, as processor time of a process of its own. Beside it, how much cheaper an interval of
Spearman is than scipy's bootstrap of the same correlation.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from lmmscore import stats as resampling
from lmmscore.stats import correlation

ROUNDS = 3
IMPORTS = [sys.executable, "-c", "import numpy, scipy.stats, pandas"]


def written(folder: Path, items: int, methods: int, raters: int) -> tuple[Path, Path]:
    """Write made-up scores and ratings on a scale of ten, in three task categories."""
    rng = np.random.default_rng(0)
    latent = rng.normal(5.5, 1.2, (items, methods)) + np.linspace(-1, 1, methods)

    def graded() -> np.ndarray:
        return np.clip(np.round(latent + rng.normal(0, 1, latent.shape)), 1, 10).ravel()

    edits = {
        "item": np.repeat([f"i{k}" for k in range(items)], methods),
        "task": np.repeat([f"t{k % 3}" for k in range(items)], methods),
        "method": np.tile([f"m{k}" for k in range(methods)], items),
        "factor": "overall",
    }
    scores = pd.DataFrame(
        edits
        | {
            "repeat": 1,
            "position": np.tile(np.arange(1, methods + 1), items),
            "score": graded(),
            "outcome": "scored",
            "reason": "",
        }
    )
    ratings = [pd.DataFrame(edits | {"rater": f"r{k}", "score": graded()}) for k in range(raters)]
    places = folder / f"scores{items}.csv", folder / f"human{items}.csv"
    scores.to_csv(places[0], index=False)
    pd.concat(ratings).to_csv(places[1], index=False)
    return places


def processor_s(words: list[str]) -> float:
    """Return the least processor time of a command over some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        best = min(best, spent)
    return best


def commands(folder: Path) -> None:
    """Print how long the commands take."""
    lmmscore = [sys.executable, "-m", "lmmscore"]
    base = processor_s(IMPORTS)
    print(f"  importing numpy, scipy.stats, pandas        {base:6.2f} s of processor time")
    for items, methods, most in ((1_000, 8, 2.0), (10_000, 4, 5.0)):
        scores, human = written(folder, items, methods, 3)
        words = [*lmmscore, "agree", "--scores", str(scores), "--human", str(human)]
        _told(
            f"agree, {items:,} items × {methods} methods × 3 raters", processor_s(words), base, most
        )
    scores, _ = written(folder, 2_000, 20, 1)
    spent = processor_s([*lmmscore, "leaderboard", str(scores)])
    _told("leaderboard, 2,000 items × 20 methods", spent, base, 2.0)


def _told(what: str, spent: float, base: float, most: float) -> None:
    verdict = "ok" if spent <= most * base else "TOO SLOW"
    print(f"  {what:43s} {spent / base:6.2f} x (at most {most:g} x) {verdict}")


def against_scipy() -> None:
    """Print how much cheaper our interval of Spearman is than scipy's."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = x + rng.normal(size=400)
    start = time.perf_counter()
    groups = resampling.item_groups(np.arange(400), rng)
    of = resampling.spearman_of_counts(x, y, groups.of_item, groups.number)
    groups.interval(correlation.spearman(x, y), of, "fisher")
    ours = time.perf_counter() - start

    def spearman(a: np.ndarray, b: np.ndarray) -> float:
        return float(stats.spearmanr(a, b).statistic)

    start = time.perf_counter()
    stats.bootstrap((x, y), spearman, paired=True, vectorized=False, n_resamples=400, rng=0)
    # The full 9,999 resamples, and BCa's own leave-one-out, cost in proportion.
    theirs = (time.perf_counter() - start) / 800 * (9_999 + 400)
    print(
        f"  an interval of Spearman, n = 400: scipy.stats.bootstrap / ours {theirs / ours:8.0f} x"
    )


def main() -> None:
    """Print the figures."""
    print("agree and leaderboard, against the imports they need")
    with tempfile.TemporaryDirectory() as folder:
        commands(Path(folder))
    against_scipy()


if __name__ == "__main__":
    main()
