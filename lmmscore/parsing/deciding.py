"""Of everything a reply says, the verdict: the last complete one counts, and what contradicts it is a fault."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from lmmscore.parsing.reading import Fault, FaultKind, Reading
from lmmscore.parsing.said import UNKNOWN_IMAGE, Mark, Said
from lmmscore.scales import Factor

_TWICE = "is scored twice with different numbers"
_AGAIN = "is scored again later with another number"

Marks = dict[tuple[int, str], Mark]


def decide(said: Sequence[Said], factors: Sequence[Factor], n: int) -> Reading:
    """Return the last verdict that scores n images on every factor, or else what can be read and what is missing."""
    said = sorted(said, key=lambda each: each.mark.span)
    strange = [
        each.position for each in said if each.position is not None and not 1 <= each.position <= n
    ]
    if n == 1:
        said, strange = _of_the_only_image(said)
    if strange:
        # Whoever scores an image that was not shown may have numbered all of them otherwise.
        return Reading(faults=(Fault("contradiction", _strangeness(strange[0], n)),))
    said = _whole_objects(said, len(factors), n)
    size = n * len(factors)
    starts = _complete_verdicts(said, size)
    if not starts:
        return _reading(_merged(said), _repeated(said), said, factors, n)
    start = starts[-1]
    verdict = said[start : start + size]
    faults = _contradictions(_merged(verdict), said[start + size :], _AGAIN)
    faults += _opened_twice(said, start, size, len(factors))
    faults += _begun_twice(said, starts, size)
    return _reading(_merged(verdict), faults, verdict, factors, n)


def _strangeness(position: int, n: int) -> str:
    if position == UNKNOWN_IMAGE:
        return "it does not say by number which image is which"
    shown = "1 was" if n == 1 else f"{n} were"
    return f"there is no image {position}; {shown} shown"


def _of_the_only_image(said: Sequence[Said]) -> tuple[list[Said], list[int]]:
    """Return everything as said of image 1; where several images are scored, also which cannot be it."""
    named = list(dict.fromkeys(each.position for each in said if each.position is not None))
    # A single number, whatever it is, numbers the only image; 0 is a way of saying 1.
    strange = [position for position in named if position > 1] if len(named) > 1 else []
    return [replace(each, position=1) for each in said], strange


def _whole_objects(said: Sequence[Said], size: int, n: int) -> Sequence[Said]:
    """Drop JSON objects that score the only image on some factors, where another object does so on all."""
    if n > 1:
        return said
    factors: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    for each in said:
        if each.layout == "json":
            factors[each.unit].add(each.factor)
    whole = {unit for unit, keys in factors.items() if len(keys) == size}
    return [each for each in said if not whole or each.layout != "json" or each.unit in whole]


def _complete_verdicts(said: Sequence[Said], size: int) -> list[int]:
    """Return where each verdict begins that gives every score once.

    Of two verdicts in the same order, so does any stretch between their beginnings: in 1 2 3 1 2 3 also 2 3 1.
    So they are told apart from the front, each beginning where the one before has ended.
    """
    found: list[int] = []
    for start in _complete_stretches(said, size):
        if not found or start >= found[-1] + size:
            found.append(start)
    return found


def _complete_stretches(said: Sequence[Said], size: int) -> list[int]:
    """Return where as many neighbours as there are scores to give are of all different images and factors."""
    counts: Counter[tuple[int | None, str]] = Counter()
    found = []
    for place, each in enumerate(said):
        counts[each.cell] += 1
        if place >= size:
            gone = said[place - size].cell
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
        if len(counts) == size:
            found.append(place - size + 1)
    return found


def _opened_twice(said: Sequence[Said], start: int, size: int, factors: int) -> list[Fault]:
    """Return a fault where the image that opens the verdict was scored just before it, differently."""
    before = said[max(0, start - factors) : start]
    opener = said[start]
    if len({each.position for each in before} | {opener.position}) > 1 or any(
        each.layout != opener.layout or each.unit != opener.unit for each in before
    ):
        return []
    return (
        _contradictions(_merged(said[start : start + size]), before, _TWICE)
        if size > factors
        else []
    )


def _begun_twice(said: Sequence[Said], starts: Sequence[int], size: int) -> list[Fault]:
    """Return a fault where the first score of the verdict was given just before it, differently."""
    start = starts[-1]
    ended = starts[-2] + size if len(starts) > 1 else 0
    before = said[start - 1] if start > ended else None
    opener = said[start]
    if before is None or before.cell != opener.cell or before.layout != opener.layout:
        return []
    return _contradictions(_merged([opener]), [before], _TWICE)


def _merged(said: Iterable[Said]) -> Marks:
    return {(each.position or 1, each.factor): each.mark for each in said}


def _repeated(said: Sequence[Said]) -> list[Fault]:
    return _contradictions(_merged(said), said, _TWICE)


def _contradictions(marks: Marks, said: Iterable[Said], says: str) -> list[Fault]:
    return [
        Fault("contradiction", says, each.position, each.factor)
        for each in said
        if each.mark.value != marks[each.position or 1, each.factor].value
    ]


def _reading(
    marks: Marks, faults: list[Fault], said: Sequence[Said], factors: Sequence[Factor], n: int
) -> Reading:
    faults = list(dict.fromkeys(faults))
    bad = {(fault.position, fault.factor) for fault in faults}
    faults += [
        fault for fault in _holes(marks, factors, n) if (fault.position, fault.factor) not in bad
    ]
    bad = {(fault.position, fault.factor) for fault in faults}
    scores = {
        at: mark.value for at, mark in marks.items() if mark.value is not None and at not in bad
    }
    spans = {at: marks[at].span for at in scores}
    notes = tuple(dict.fromkeys(note for each in said for note in each.notes))
    return Reading(scores, spans, tuple(faults), said[-1].layout, notes)


def _holes(marks: Marks, factors: Sequence[Factor], n: int) -> list[Fault]:
    """Return a fault for every score that is missing, or that is not one."""
    faults = []
    for position in range(1, n + 1):
        if not any((position, factor.key) in marks for factor in factors):
            faults.append(Fault("missing-image", "no scores for it were found", position))
            continue
        for factor in factors:
            mark = marks.get((position, factor.key))
            if mark is None:
                faults.append(Fault("missing-factor", "no score was found", position, factor.key))
            elif mark.value is None:
                kind: FaultKind = "contradiction" if "two different" in mark.fault else "off-scale"
                faults.append(Fault(kind, mark.fault, position, factor.key))
    return faults
