"""What a reply is read into: scores with their places, and a fault for everything that could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from lmmscore.records import Outcome

FaultKind = Literal[
    "empty",
    "refused",
    "truncated",
    "filtered",
    "missing-image",
    "missing-factor",
    "off-scale",
    "contradiction",
    "no-verdict",
]

_OUTCOMES: dict[str, Outcome] = {
    "refused": Outcome.REFUSED,
    "truncated": Outcome.TRUNCATED,
    "filtered": Outcome.FILTERED,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a score could not be read: of which image and factor (None: of all), and what is wrong."""

    kind: FaultKind
    says: str
    position: int | None = None
    factor: str | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcome of an edit with this fault."""
        return _OUTCOMES.get(self.kind, Outcome.UNREADABLE)

    def __str__(self) -> str:
        image = f"image {self.position}" if self.position else ""
        place = ", ".join(part for part in (image, self.factor or "") if part)
        return f"{place}: {self.says}" if place else self.says


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says: the scores that could be read, and a fault for everything that could not."""

    scores: dict[tuple[int, str], Fraction] = field(default_factory=dict)
    spans: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    """Where in the reply each score stands."""
    faults: tuple[Fault, ...] = ()
    layout: str = ""
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every score that was asked for has been read."""
        return not self.faults

    def faults_of(self, position: int) -> list[Fault]:
        """Return the faults that concern an image, those that concern all of them included."""
        return [fault for fault in self.faults if fault.position in (None, position)]
