"""Are the ratings on the scale? A 70 among sevens is a slip of the pen, and every mean with it would be wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from lmmscore.errors import FileProblem
from lmmscore.records import Outcome


def check_scale(
    ratings: pd.DataFrame,
    judges: Sequence[pd.DataFrame],
    notes: list[str],
    scales: Mapping[str, tuple[float, float]],
    stated: tuple[float, float] | None,
) -> None:
    """Raise where ratings are off a scale that is known, naming the first; note those beyond a scale that is not.

    Known is the stated scale, else the factor's own (from the run or a dialog). Without one, all there is to go by
    is the range of the judges' scores, and a rating beyond that may be right.
    """
    seen = _seen(judges)
    known = {factor: stated or scales.get(factor) for factor in ratings["factor"].unique()}
    low = (
        ratings["factor"]
        .map({factor: (ends or seen)[0] for factor, ends in known.items()})
        .astype(float)
    )
    high = (
        ratings["factor"]
        .map({factor: (ends or seen)[1] for factor, ends in known.items()})
        .astype(float)
    )
    off = ratings.assign(low=low, high=high)[(ratings["score"] < low) | (ratings["score"] > high)]
    guessed = off["factor"].map(lambda factor: known[factor] is None).astype(bool)
    if not off[~guessed].empty:
        raise FileProblem(
            f"{_told(off[~guessed], 'is off the scale of')}; mend them, or state --scale LOW,HIGH"
        )
    if len(off) * 2 > len(ratings):
        span = f"{ratings['score'].min():g} to {ratings['score'].max():g}"
        notes.append(
            f"people used {span} and the judge {seen[0]:g} to {seen[1]:g}: mae and bias compare different scales"
        )
    elif not off.empty:
        notes.append(
            f"{_told(off, 'is beyond the judge, which gave')}; to refuse such ratings state --scale LOW,HIGH"
        )


def _seen(judges: Sequence[pd.DataFrame]) -> tuple[float, float]:
    scores = pd.concat([table[table["outcome"] == Outcome.SCORED]["score"] for table in judges])
    return (
        (float(scores.min()), float(scores.max())) if len(scores) else (float("-inf"), float("inf"))
    )


def _told(off: pd.DataFrame, how: str) -> str:
    """Return the first rating that is off, where it stands, and how many there are."""
    first = off.iloc[0]
    more = f" (and {len(off) - 1} more ratings)" if len(off) > 1 else ""
    limits = f"{first['low']:g} to {first['high']:g}"
    return f"{first['where']}: {first['factor']} {first['score']:g} {how} {limits}{more}"
