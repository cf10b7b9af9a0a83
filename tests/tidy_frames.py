"""Tidy score tables for the tests of the ranking: small, of numbers that are easy to check by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

FACTORS = ("acc", "pre", "qua", "real")
WEIGHTS = {"acc": 0.4, "pre": 0.3, "qua": 0.2, "real": 0.1}


def tidy(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Return rows as a tidy table; what they leave out is a scored overall of task `t`, shown once."""
    lines = []
    for row in rows:
        score = row.get("score")
        bad = score is None or (isinstance(score, float) and np.isnan(score))
        lines.append(
            {
                "item": "1",
                "task": "t",
                "method": "A",
                "repeat": 1,
                "position": 1,
                "factor": "overall",
                "outcome": "unreadable" if bad else "scored",
                "reason": "",
                **row,
                "score": np.nan if bad else score,
            }
        )
    return pd.DataFrame(lines).astype({"score": float, "position": "Int64"})


def overall(scores: Mapping[str, Sequence[float | None]], task: str = "t") -> pd.DataFrame:
    """Return a table of overalls from each method's scores, item by item; None is a hole."""
    return tidy(
        [
            {"item": str(i), "task": task, "method": method, "score": score}
            for method, column in scores.items()
            for i, score in enumerate(column)
        ]
    )


def judged(
    items: int, methods: int, *, repeats: int = 1, tasks: int = 2, seed: int = 0, holes: float = 0.0
) -> pd.DataFrame:
    """Return a full table of random scores in tenths: four factors, their overall, shuffled positions."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(items):
        for repeat in range(1, repeats + 1):
            places = rng.permutation(methods) + 1
            for m in range(methods):
                numbers = {f: int(rng.integers(20, 80)) + 4 * m for f in FACTORS}
                total = (
                    4 * numbers["acc"] + 3 * numbers["pre"] + 2 * numbers["qua"] + numbers["real"]
                )
                bad = rng.random() < holes
                for factor, tenths in {**numbers, "overall": total / 10}.items():
                    rows.append(
                        {
                            "item": f"i{i}",
                            "task": f"t{i % tasks}",
                            "method": f"m{m}",
                            "repeat": repeat,
                            "position": int(places[m]),
                            "factor": factor,
                            "score": None if bad else round(tenths / 10, 6),
                            "outcome": "refused" if bad else "scored",
                        }
                    )
    return tidy(rows)
