"""Checks of the numbers a program passes in; the command line has its own,
with the option's name."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

from lmmscore.errors import LmmscoreError


def refuse_unless_whole(least: int, **given: Any) -> None:
    """Raise for the first value that is no whole number, or is below `least`."""
    for name, value in given.items():
        if not isinstance(value, Integral) or value < least:
            raise LmmscoreError(f"{name}={value!r}: it must be a whole number from {least} on")


def refuse_unless_scale(name: str, ends: Any) -> None:
    """Raise unless `ends` are two finite numbers, the lower first."""
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise LmmscoreError(
            f"{name}={ends!r}: it must be the lowest and the highest score, as (1, 10)"
        )
