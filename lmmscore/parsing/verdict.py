"""What a reply is read into: scores with their places, and a fault for everything that is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from lmmscore.records import Outcome


class Kind(StrEnum):
    """What the numbers under a caption, in a row or behind a key are."""

    VERDICT = "verdict"
    DRAFT = "draft"
    EXAMPLE = "example"
    HYPOTHESIS = "hypothesis"
    WEIGHTS = "weights"
    RANKS = "ranks"
    AVERAGE = "average"
    LEGEND = "legend"
    SOURCE = "source"
    OTHERS = "somebody else's"
    DIFFERENCE = "difference"
    UNKNOWN = "of an unknown kind"


LASTING = frozenset(
    (Kind.DRAFT, Kind.EXAMPLE, Kind.HYPOTHESIS, Kind.RANKS, Kind.OTHERS, Kind.UNKNOWN)
)
"""Kinds whose blocks have sections for each image: a heading that names one does not end them."""

QUANTITIES = frozenset((Kind.DIFFERENCE, Kind.RANKS, Kind.AVERAGE, Kind.WEIGHTS, Kind.LEGEND))
"""Kinds of numbers that are no scores of anything."""

Cell = tuple[int, str]
"""An image, counted from 1, and a factor."""

Layout = Literal["json", "table", "prose", "prose by factor"]


class FaultKind(StrEnum):
    """Why there is no score. Whoever has to tell them apart asks for the kind, not the words."""

    EMPTY = "empty"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    FILTERED = "filtered"
    MISSING_IMAGE = "missing-image"
    MISSING_FACTOR = "missing-factor"
    OFF_SCALE = "off-scale"
    NOT_A_NUMBER = "not-a-number"
    AMBIGUOUS = "ambiguous"
    CONTRADICTION = "contradiction"
    DISCLAIMED = "disclaimed"
    DOUBTFUL = "doubtful"
    NO_VERDICT = "no-verdict"


SILENCE = (FaultKind.MISSING_IMAGE, FaultKind.MISSING_FACTOR)
"""Faults that only say that a reply does not speak of something."""

_OUTCOMES = {
    FaultKind.REFUSED: Outcome.REFUSED,
    FaultKind.TRUNCATED: Outcome.TRUNCATED,
    FaultKind.FILTERED: Outcome.FILTERED,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a score could not be read: of which image and factor (None: of all),
    and what is wrong."""

    kind: FaultKind
    says: str
    position: int | None = None
    factor: str | None = None
    advice: str = ""
    """What the user can do about it: no part of what the judge is told."""

    @property
    def reason(self) -> str:
        """What is wrong, and what the user can do about it."""
        return f"{self.says}; {self.advice}" if self.advice else self.says

    @property
    def outcome(self) -> Outcome:
        """The outcome of an edit with this fault."""
        return _OUTCOMES.get(self.kind, Outcome.UNREADABLE)

    def __str__(self) -> str:
        image = f"image {self.position}" if self.position else ""
        place = ", ".join(part for part in (image, self.factor or "") if part)
        return f"{place}: {self.reason}" if place else self.reason


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says: the scores that could be read, and a fault for all that could not."""

    scores: dict[tuple[int, str], Fraction] = field(default_factory=dict)
    spans: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    """Where in the reply each score stands."""
    faults: tuple[Fault, ...] = ()
    layout: str = ""
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    """What the reply says beside its scores that is not understood and may void them."""
    withheld: Reading | None = None
    """What would be read if none of that did."""

    @property
    def complete(self) -> bool:
        """Whether every score that was asked for has been read."""
        return not self.faults

    def faults_of(self, position: int) -> list[Fault]:
        """Return the faults that concern an image, those that concern all of them included."""
        return [fault for fault in self.faults if fault.position in (None, position)]


@dataclass(frozen=True, slots=True)
class Mark:
    """A number given to a factor, or the reason why what stands there is none."""

    value: Fraction | None
    span: tuple[int, int]
    """Where it stands: in the text being read, and in the reply once it is said of an image."""
    kind: FaultKind | None = None
    says: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """One number said of one image on one factor."""

    position: int | None
    """Which image; None where the text does not say."""
    factor: str
    mark: Mark
    layout: Layout
    unit: int = 0
    """The table, the JSON text or the section it stands in: what is said there is said together."""
    label: str = ""
    """What heads it, where that is neither an image nor known to head a verdict."""
    notes: tuple[str, ...] = ()
    """What had to be mended to read it."""
    whole: bool = False
    """Whether its unit may hold only one verdict: a JSON text."""
    by_order: bool = False
    """Whether only the order in which images are listed says which it is of."""

    @property
    def cell(self) -> tuple[int, str]:
        """The image and the factor."""
        return self.position or 1, self.factor
