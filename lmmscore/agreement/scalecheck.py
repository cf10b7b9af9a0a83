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
    low, high = ratings["factor"].map(lambda name: (stated or scales.get(name) or (None, None))[0]), None
    high = ratings["factor"].map(lambda name: (stated or scales.get(name) or (None, None))[1])
    seen = _seen(judges)
    guessed = low.isna()
    off = (ratings["score"] < low.astype(float).fillna(seen[0])) | (
        ratings["score"] > high.astype(float).fillna(seen[1])
    )
    _raise_for(ratings[off & ~guessed], "", low, high)
    beyond = ratings[off & guessed]
    if len(beyond) > SLIPS * len(ratings):
        span = f"{ratings['score'].min():g} to {ratings['score'].max():g}"
        notes.append(
            f"people used {span} and the judge {seen[0]:g} to {seen[1]:g}: mae and bias compare different scales"
        )
    elif len(beyond):
        hint = f"mend them, or state the scale, for example --scale {min(seen[0], beyond['score'].min()):g}-{max(seen[1], beyond['score'].max()):g}"
        _raise_for(beyond, hint, low.fillna(seen[0]), high.fillna(seen[1]))


def _seen(judges: Sequence[pd.DataFrame]) -> tuple[float, float]:
    scores = pd.concat([table[table["outcome"] == Outcome.SCORED]["score"] for table in judges])
    return (float(scores.min()), float(scores.max())) if len(scores) else (float("-inf"), float("inf"))


def _raise_for(off: pd.DataFrame, hint: str, low: pd.Series, high: pd.Series) -> None:
    if off.empty:
        return
    first = off.iloc[0]
    limits = f"{float(low[off.index[0]]):g} to {float(high[off.index[0]]):g}"
    more = f" (and {len(off) - 1} more ratings)" if len(off) > 1 else ""
    raise FileProblem(
        f"{first['where']}: {first['factor']} {first['score']:g} is off the scale of {limits}{more}; "
        + (hint or "mend them, or state another scale with --scale")
    )
