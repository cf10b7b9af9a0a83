"""What every layout is read into: numbers, each said of one image on one factor, with its place in the reply."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Layout = Literal["json", "table", "prose", "prose by factor"]

TWO_NUMBERS = "it is given two different numbers"
"""The fault of a mark that stands for several which contradict each other."""

UNKNOWN_IMAGE = -1
"""The position of an image that is named in a way that is not understood."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A number given to a factor, or the reason why what stands there is none."""

    value: Fraction | None
    fault: str
    span: tuple[int, int]
    """Where the number stands: in the text being read, and in the reply once it is said of an image."""


@dataclass(frozen=True, slots=True)
class Said:
    """One number said of one image on one factor."""

    position: int | None
    """Which image; None where the text does not say."""
    factor: str
    mark: Mark
    layout: Layout
    unit: tuple[int, int] = (0, 0)
    """The table or JSON text it stands in, which is a whole; (0, 0) for prose."""
    notes: tuple[str, ...] = ()
    """What had to be mended to read it."""

    @property
    def cell(self) -> tuple[int | None, str]:
        """The image and the factor."""
        return self.position, self.factor
