"""Are the ratings on the judge's scale? A 70 among sevens is a slip of the pen; all of them to 100 is another scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from lmmscore.errors import FileProblem
from lmmscore.records import Outcome

SLIPS = 0.05
"""Up to this share of ratings beyond the judge's scores are taken for slips; more for a scale of their own."""


def check_scale(
    ratings: pd.DataFrame,
    judges: Sequence[pd.DataFrame],
    notes: list[str],
    scales: Mapping[str, tuple[float, float]],
    stated: tuple[float, float] | None,
) -> None:
    """Raise where ratings are off the scale, naming them; note where people plainly used another scale.

    The scale is the stated one, else the factor's own (from the run or the dialog), else the range of the
    judges' scores over all factors.
    """
    seen = _seen(judges)
    known = {factor: stated or scales.get(factor) for factor in ratings["factor"].unique()}
    low = ratings["factor"].map({factor: (ends or seen)[0] for factor, ends in known.items()}).astype(float)
    high = ratings["factor"].map({factor: (ends or seen)[1] for factor, ends in known.items()}).astype(float)
    off = ratings.assign(low=low, high=high)[(ratings["score"] < low) | (ratings["score"] > high)]
    guessed = off["factor"].map(lambda factor: known[factor] is None).astype(bool)
    _raise_for(off[~guessed], "mend them, or state another scale with --scale LOW,HIGH")
    beyond = off[guessed]
    if len(beyond) > SLIPS * len(ratings):
        span = f"{ratings['score'].min():g} to {ratings['score'].max():g}"
        notes.append(
            f"people used {span} and the judge {seen[0]:g} to {seen[1]:g}: mae and bias compare different scales"
        )
        return
    ends = min(seen[0], beyond["score"].min()), max(seen[1], beyond["score"].max())
    _raise_for(beyond, f"mend them, or state the scale, for example --scale {ends[0]:g},{ends[1]:g}")


def _seen(judges: Sequence[pd.DataFrame]) -> tuple[float, float]:
    scores = pd.concat([table[table["outcome"] == Outcome.SCORED]["score"] for table in judges])
    return (float(scores.min()), float(scores.max())) if len(scores) else (float("-inf"), float("inf"))


def _raise_for(off: pd.DataFrame, hint: str) -> None:
    if off.empty:
        return
    first = off.iloc[0]
    more = f" (and {len(off) - 1} more ratings)" if len(off) > 1 else ""
    raise FileProblem(
        f"{first['where']}: {first['factor']} {first['score']:g} is off the scale of {first['low']:g} to "
        f"{first['high']:g}{more}; {hint}"
    )
