"""What every layout is read into: blocks, each holding what one stretch of text says of one image."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Mark:
    """A number given to a factor, or the reason why what stands there is none."""

    value: Fraction | None
    fault: str
    span: tuple[int, int]
    """Where it stands in the reply."""


@dataclass(frozen=True, slots=True)
class Block:
    """What one stretch of a reply says of one image."""

    position: int | None
    """Which image; None where the text does not say (there is only one)."""
    marks: dict[str, Mark]
    start: int
    end: int
    layout: str
    notes: tuple[str, ...] = field(default=())
    """What had to be mended to read it."""
