"""Names and numbers on one line, put together: `S_acc: 8, S_pre: 7`, but also `8 (S_acc), 7 (S_pre)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic, TypeVar

from lmmscore.parsing.names import FactorName, ImageName
from lmmscore.parsing.numbers import Number, counts, entry_fault, is_hedged, number_at, numbers_in
from lmmscore.parsing.verdict import FaultKind, Mark
from lmmscore.scales import Scale

Name = TypeVar("Name", FactorName, ImageName)

# Between a name and its number: "(S_acc)", "(1-10)", "score of", a colon, a dash, "is".
_JOINT = re.compile(
    r"""
    [ ]*[)\]\"'”]?(?:['’]s)?
    (?:[ ]*[(\[](?![ ]*(?:score[ ]*[:=]?[ ]*)?[-+]?[0-9.,]+(?:[ ]*(?:/
      |out[ ]of)[ ]*[0-9]+)?[ ]*[)\]])
       [^()\[\]\n]{0,100}[)\]])*
    (?:[ ]*\b(?:sub-?)?(?:scores?|ratings?|grades?|marks?|values?)\b)?
    (?:[ ]*\b(?:of|for|in)[ ](?:(?:the|this|that|its)[ ])?(?:(?:edited|generated|whole)[ ])?
       (?:image|edit|picture|photo|result|version|scene)\b)?
    [ ]*\"?[ ]*(?P<sign>:{1,2}=?|={1,2}|->|→|=>|[-–—](?=[ ])|\||[–—])?
    (?P<words>(?:[ ]*\b(?:is|are|gets?|receives?|earns?|scores?|scored|deserves?|merits?|rated|at
      |as|of
      |an?|the|has|assigned|given|awarded|with|my|final|solid|strong|clear|also|score|rating
      |sub-?score
      |stands|comes|achieves?|rates?|ist|es|est|note|Note|Punktzahl)\b)*)
    [ ]*[:=]?[ ]*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"[ ]*[(\[][ ]*(?:(?:score|rating)[ ]*[:=]?[ ]*)?", re.IGNORECASE)
_CLOSED = re.compile(r"[ ]*[)\]]")
# Between a number and the name of what it is for.
_BACKWARD = re.compile(
    r"""
    [\"'”)\]]{0,2}[ ]*(?P<sign>(?:for|on|in|to|für|en|pour)\b(?:[ ]+(?:the|its|an?|overall|die
      |la))*|[:=(\[]|[-–—])?
    [ ]*[\"'“]?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMBERS_NEXT = re.compile(r"[.)][ ]+")
# A name that stands in a sum: "0.2 × S_qua = 1.4".
_TERM = re.compile(r"(?:[×·*+]|(?<![0-9])0?\.[0-9]+)[ ]*[(]?\Z")
_MOST = 300
_STRONG = re.compile(r"[:=(\[]|→|->|=>|\w")


@dataclass(frozen=True, slots=True)
class Pair(Generic[Name]):
    """A name with the number given to it."""

    name: Name
    mark: Mark
    start: int
    end: int
    backward: bool = False
    """Whether the number stands before the name."""
    bracketed: bool = False
    """Whether it stands in brackets right behind the name."""
    value: Fraction | None = field(default=None)
    """The number as written, a score or not."""


@dataclass(slots=True)
class _Claim:
    """A number that a name may have."""

    label: int
    number: Number
    strong: bool
    bracketed: bool = False


def pairs(
    text: str,
    start: int,
    end: int,
    names: Sequence[Name],
    scale_of: Callable[[Name], Scale],
    taken: Sequence[tuple[int, int]] = (),
) -> list[Pair[Name]]:
    """Return the names in a stretch of text that are given a number, each with it.

    A number may stand behind its name or before it; where both can be, the ends of the stretch
    decide, and where they do not, nobody gets it. `taken` are stretches whose numbers mean
    something else: the names of images.
    """
    if len(names) > _MOST:
        return []
    inside = [*taken, *((name.start, name.end) for name in names)]
    numbers = [
        number
        for number in numbers_in(text, start, end)
        if not any(first <= number.start < last for first, last in inside)
    ]
    forward = _forward(text, end, names)
    for place in [place for place in forward if _inside(place, taken)]:
        del forward[place]
    backward = _backward(text, start, names, numbers)
    if names and _opens_with_a_number(text, names[0].start, numbers, backward):
        forward = {place: claim for place, claim in forward.items() if claim.strong}
    if names and _ends_with_a_number(text, names[-1].end, numbers, forward, end):
        backward = {}
    forward = _without_shifts(text, names, forward, end)
    chosen = _resolved(names, numbers, forward, backward)
    return _made(text, end, names, scale_of, chosen)


_SIGNED = re.compile(r"[ )\]]*(?:[:=→…]|->|\.\.)")
_PARTED = re.compile(r"[ ]*[)\]]?[ ]*(?:[,;|/\n]|and\b)")
_EXPLAINED = re.compile(r"[ ]*[)\]][ ]*:")


def _without_shifts(
    text: str, names: Sequence[Name], forward: dict[int, _Claim], end: int
) -> dict[int, _Claim]:
    """Return the claims without those that may be shifted: `S_acc 9 - S_pre 5 - S_qua`.

    Where only spaces or dashes part the entries and the last name has no number, the numbers may
    as well stand before their names.
    """
    claimed = {claim.label for claim in forward.values()}
    if not names or len(names) - 1 in claimed:
        return forward
    kept = {}
    for place, claim in forward.items():
        following = claim.label + 1
        limit = names[following].start if following < len(names) else end
        parted = _PARTED.match(text, claim.number.end, limit) is not None
        if claim.bracketed and _EXPLAINED.match(text, claim.number.end, limit):
            parted = True
        if claim.strong or parted or following == len(names):
            kept[place] = claim
    return kept


def _inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(first <= place < last for first, last in spans)


def _is_barred(name: FactorName | ImageName) -> bool:
    return isinstance(name, FactorName) and name.modified


def _opens_with_a_number(
    text: str, first: int, numbers: Sequence[Number], backward: dict[int, _Claim]
) -> bool:
    """Tell whether a number stands before all names and is nobody's: then any may be shifted."""
    for number in numbers:
        if (
            number.start < first
            and number.start not in backward
            and not counts(text, number, first)
        ):
            return True
    return False


def _ends_with_a_number(
    text: str, last: int, numbers: Sequence[Number], forward: dict[int, _Claim], end: int
) -> bool:
    """Tell whether a number right behind the last name is nobody's: then any may be shifted."""
    for number in numbers:
        if number.start >= last and number.start not in forward:
            near = re.fullmatch(r"\W{0,12}", text[last : number.start]) is not None
            return near and not counts(text, number, end)
    return False


def _forward(text: str, end: int, names: Sequence[Name]) -> dict[int, _Claim]:
    """Return, by where it begins, each number that stands right behind a name."""
    claims: dict[int, _Claim] = {}
    for index, name in enumerate(names):
        if _TERM.search(text, max(0, name.start - 12), name.start) or _is_barred(name):
            continue
        limit = names[index + 1].start if index + 1 < len(names) else end
        bracket = _IN_BRACKETS.match(text, name.end, limit)
        number = number_at(text, bracket.end(), limit) if bracket else None
        closed = _CLOSED.match(text, number.end, limit) if number else None
        if number is not None and closed is not None:
            if limit < end and not text[closed.end() : limit].strip():
                # "Accuracy (2) Quality (3)" numbers what comes next.
                continue
            claims[number.start] = _Claim(index, number, strong=False, bracketed=True)
            continue
        joint = _JOINT.match(text, name.end, limit)
        if joint is None:
            continue
        number = number_at(text, joint.end(), limit)
        if number is None or (number.start == name.end and not joint["sign"]):
            continue
        sign = (joint["sign"] or "") + (joint["words"] or "")
        if not _STRONG.search(sign) and _NUMBERS_NEXT.fullmatch(text, number.end, limit):
            continue
        claims[number.start] = _Claim(index, number, _STRONG.search(sign) is not None)
    return claims


def _backward(
    text: str, start: int, names: Sequence[Name], numbers: Sequence[Number]
) -> dict[int, _Claim]:
    """Return, by where it begins, each number that stands right before a name."""
    claims: dict[int, _Claim] = {}
    for index, name in enumerate(names):
        floor = names[index - 1].end if index else start
        before = [
            number for number in numbers if floor <= number.start and number.end <= name.start
        ]
        if not before:
            continue
        if _is_barred(name):
            continue
        number = before[-1]
        joint = _BACKWARD.fullmatch(text, number.end, name.start)
        if joint is None or is_hedged(text, floor, number.start):
            continue
        enclosed = text.startswith("(", number.start - 1) and text.startswith(")", number.end)
        if enclosed and not (joint["sign"] or "")[:1].isalpha():
            continue
        if _SIGNED.match(text, name.end):
            # What is followed by a colon gets its number there.
            continue
        claims[number.start] = _Claim(
            index, number, _STRONG.search(joint["sign"] or "") is not None
        )
    opened = any(claim.label == 0 for claim in claims.values())
    # A name before the first number: then any number parted by spaces may belong to the one before.
    return {place: claim for place, claim in claims.items() if opened or claim.strong}


def _resolved(
    names: Sequence[Name],
    numbers: Sequence[Number],
    forward: dict[int, _Claim],
    backward: dict[int, _Claim],
) -> dict[int, tuple[_Claim, bool] | None]:
    """Return for each name its number, and whether that stands before it; None where it is unclear."""
    places = [name.start for name in names]
    marks = [number.start for number in numbers] or [0]
    behind = bool(places) and places[0] < marks[0] and places[-1] < marks[-1]
    before = bool(places) and marks[0] < places[0] and marks[-1] < places[-1]
    chosen: dict[int, tuple[_Claim, bool] | None] = {}
    for place in sorted({*forward, *backward}):
        ahead, back = forward.get(place), backward.get(place)
        if ahead is not None and back is not None:
            if ahead.strong != back.strong:
                ahead, back = (ahead, None) if ahead.strong else (None, back)
            elif behind or before:
                ahead, back = (ahead, None) if behind else (None, back)
            else:
                chosen[ahead.label] = chosen[back.label] = None
                continue
        claim = ahead or back
        if claim is None:
            continue
        if claim.label in chosen:
            chosen[claim.label] = None
        else:
            chosen[claim.label] = (claim, ahead is None)
    return chosen


def _made(
    text: str,
    end: int,
    names: Sequence[Name],
    scale_of: Callable[[Name], Scale],
    chosen: dict[int, tuple[_Claim, bool] | None],
) -> list[Pair[Name]]:
    starts = {found[0].number.start for found in chosen.values() if found is not None}
    made = []
    for index, name in enumerate(names):
        if index not in chosen:
            continue
        found = chosen[index]
        if found is None:
            mark = Mark(
                None,
                (name.start, name.end),
                FaultKind.AMBIGUOUS,
                "it cannot be told which number is its own",
            )
            made.append(Pair(name, mark, name.start, name.end))
            continue
        claim, backward = found
        number = claim.number
        limit = names[index + 1].start if index + 1 < len(names) else end
        scale = scale_of(name)
        fault = _fault(text, name, claim, limit, scale, starts, backward=backward)
        mark = number.mark(scale)
        if fault and mark.value is not None:
            mark = Mark(None, mark.span, FaultKind.AMBIGUOUS, fault)
        made.append(
            Pair(
                name,
                mark,
                min(name.start, number.start),
                max(name.end, number.end),
                backward,
                claim.bracketed,
                number.value,
            )
        )
    return made


def _fault(
    text: str,
    name: FactorName | ImageName,
    claim: _Claim,
    limit: int,
    scale: Scale,
    starts: set[int],
    *,
    backward: bool,
) -> str:
    number = claim.number
    if not backward:
        return entry_fault(text, number, limit, scale, starts)
    # What follows the name follows the number, too.
    behind = Number(number.value, None, name.start, name.end, name.end)
    following = min((place for place in starts if place >= name.end), default=limit)
    return entry_fault(text, behind, min(limit, following), scale, starts)
