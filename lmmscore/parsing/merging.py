"""Two readings of one conversation as one: what a repair turn adds to what was read before it."""

from __future__ import annotations

from collections.abc import Sequence

from lmmscore.parsing.reading import Fault, Reading
from lmmscore.scales import Factor

_SILENCE = ("missing-image", "missing-factor")
"""Faults that only say that a reply does not speak of something."""


def merged(earlier: Reading, later: Reading, factors: Sequence[Factor], n: int) -> Reading:
    """Return the later reading where it is complete; else the earlier one with what the later adds or replaces.

    A number is never carried over into a contradiction: what the later reply faults stays faulted. What it merely
    leaves out was not asked again, and is kept.
    """
    if not earlier.scores or (later.complete and _covers(later, factors, n)):
        return later
    scores = earlier.scores | later.scores
    explained = {
        (fault.position, fault.factor) for fault in later.faults if fault.kind not in _SILENCE
    }
    open_places = [
        (position, factor.key)
        for position in range(1, n + 1)
        for factor in factors
        if (position, factor.key) not in scores
    ]
    faults = [_fault_at(place, later, earlier) for place in open_places]
    for place in explained & set(scores) - set(later.scores):
        faults.append(_fault_at((place[0] or 0, place[1] or ""), later, earlier))
        del scores[place]  # type: ignore[arg-type]
    notes = tuple(dict.fromkeys(earlier.notes + later.notes))
    # Places in the text belong to one reply only: those of the later one can be shown.
    return Reading(
        scores, later.spans, tuple(dict.fromkeys(faults)), later.layout or earlier.layout, notes
    )


def _covers(reading: Reading, factors: Sequence[Factor], n: int) -> bool:
    return all(
        (position, factor.key) in reading.scores
        for position in range(1, n + 1)
        for factor in factors
    )


def _fault_at(place: tuple[int, str], later: Reading, earlier: Reading) -> Fault:
    """Return the newest reason why a place has no score."""
    for reading in (later, earlier):
        for fault in reading.faults:
            if fault.position in (None, place[0]) and fault.factor in (None, place[1]):
                return Fault(fault.kind, fault.says, *place)
    return Fault("missing-factor", "no score was found", *place)
