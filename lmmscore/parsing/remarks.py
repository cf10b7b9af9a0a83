"""What a reply says about its own scores: that there is nothing to score, that they are made up,
that they are taken back or changed. Nothing of it is carried out, and nothing of it is ignored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from lmmscore.parsing.kinds import Kind, kind_of, makes_up, sees_nothing, takes_back
from lmmscore.parsing.names import UNKNOWN
from lmmscore.parsing.numbers import numbers_in
from lmmscore.parsing.page import Line, Page
from lmmscore.parsing.verdict import Fault, FaultKind, Reading, Said

_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$|[\"'”’)])\s*")
_PLURAL = re.compile(
    r"\b(?:images|pictures|photos|photographs|attachments|files|uploads|edits|them)\b",
    re.IGNORECASE,
)
_SCORES = re.compile(r"\b(?:scores?|ratings?|values?|numbers?)\b", re.IGNORECASE)
_BACKWARD = re.compile(r"\b(?:above|previous|preceding|earlier|these were|those)\b", re.IGNORECASE)
_CUE = re.compile(
    r"""
    \b(?:correct(?:ion|ed|ing)?|chang(?:e|ed|ing)|revis(?:e|ed|ing|ion)|adjust(?:ed|ing|ment)?
      |amend(?:ed|ing)?|lower(?:ed|ing)?|rais(?:e|ed|ing)|reduc(?:e|ed|ing)|increas(?:e|ed|ing)
      |updat(?:e|ed|ing)|bump(?:ed|ing)?|instead|withdraw|deserves?|merits?|ought|actually|rather
      |reconsider\w*|looking[ ]again|on[ ]second|wait|oops|mistake|erratum|typo|meant|mean
      |make[ ]that
      |downgrad\w+|upgrad\w+|drop(?:ped)?|re-?scor\w+|re-?rat\w+|sorry|fix(?:ed)?|korrig\w+
      |Korrektur
      |should[ ](?:rather[ ]|actually[ ]|really[ ])?(?:be|have|get|read)|better[ ]to)\b
    | 更正|改为|应为|訂正|修正
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CHANGED = re.compile(
    r"""
    \b(?:should|must|ought)\b[^.\n]{0,40}\bpoints?[ ](?:lower|higher|less|more)\b |
    \b(?:lower|rais|reduc|increas|bump|adjust|drop|deduct|subtract|add|downgrad
      |upgrad)\w*\b[^.\n]{0,60}
    \b(?:by|of)?[ ]?(?:an?|one|two|half|0?\.5|[0-9])[ ]?(?:half[ ]?)?(?:a[ ])?points?\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OF_SOMETHING_ELSE = re.compile(
    r"\b(?:S_all|overall|total|weight\w*|rank\w*|average|mean of)\b", re.IGNORECASE
)
_SUM = re.compile(r"[0-9)][ ]*[×·*+]|[×·*+][ ]*[0-9(S]")
_COUNTED = re.compile(
    r"[ ]+(?:points?[ ]+(?!because|since|for\b)|%|times\b|percent)", re.IGNORECASE
)
_OLD = re.compile(r"\b(?:from|than|not|instead of|rather than|was|were)[ ]+$", re.IGNORECASE)
_PLAIN_END = re.compile(
    r"[ ]*(?:[.,;:!?)\]/\n–—→-]|$|(?:out of|instead|rather|not|from|because|since|as|for|on|in|and"
    r"|here"
    r"|now|but|then|after|points?|would|is|to|than|while|if|though|too)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Voids:
    """What of a reply counts for nothing."""

    all: str = ""
    """Why none of its scores count."""
    images: frozenset[int] = frozenset()
    """Images of which the judge says that it did not see them."""
    before: int = 0
    """Up to where in the reply everything was taken back."""

    def keep(self, said: Sequence[Said]) -> list[Said]:
        """Return what is left."""
        if self.all:
            return []
        return [
            each
            for each in said
            if each.mark.span[0] >= self.before and (each.position or 1) not in self.images
        ]


def voids(page: Page, entries: Sequence[bool], said: Sequence[Said], notes: Iterator[str]) -> Voids:
    """Return what the judge itself says of its scores that makes them count for nothing."""
    for note in notes:
        if sees_nothing(note) or makes_up(note):
            return Voids(all=_because(note))
    blind: set[int] = set()
    before = 0
    first = min((each.mark.span[0] for each in said), default=0)
    for line, start, sentence in _sentences(page, entries):
        place = page.span(start, start + 1)[0]
        if sees_nothing(sentence):
            own = line.positions or ()
            if page.n > 1 and len(own) == 1 and own[0] != UNKNOWN and not _PLURAL.search(sentence):
                blind.add(own[0])
            else:
                return Voids(all=_because(sentence))
        elif makes_up(sentence) and line.kind in {Kind.VERDICT, Kind.HYPOTHESIS, Kind.EXAMPLE}:
            if place > first and _BACKWARD.search(sentence):
                before = place
            elif not _real_ones_follow(page, line):
                return Voids(all=_because(sentence))
            else:
                before = place
        elif takes_back(sentence) and place > first:
            before = place
    return Voids(images=frozenset(blind), before=before)


def _because(sentence: str) -> str:
    short = " ".join(sentence.split())
    return short if len(short) <= 100 else short[:97] + "…"


def _real_ones_follow(page: Page, line: Line) -> bool:
    """Tell whether a later heading announces scores in earnest."""
    return any(
        later.start > line.start and later.heads and kind_of(page.words(later)) is Kind.VERDICT
        for later in page.lines
    )


def _sentences(page: Page, entries: Sequence[bool]) -> Iterator[tuple[Line, int, str]]:
    """Yield the sentences that are not part of an entry, with the line and the place of each."""
    for line, scored in zip(page.lines, entries, strict=True):
        if page.in_table(line):
            continue
        place = line.head
        for number, match in enumerate([*_SENTENCE_END.finditer(page.text, place, line.end), None]):
            end = match.end() if match else line.end
            sentence = page.text[place:end]
            # The sentence with the score may say of the picture what it likes.
            explains = scored and (number == 0 or not _SCORES.search(sentence))
            if sentence.strip() and (not explains or sees_nothing(sentence)):
                yield line, place, sentence
            place = end


def with_corrections(reading: Reading, page: Page) -> Reading:
    """Return a reading without the scores that words after the verdict change.

    Each is a contradiction instead: "I lower S_acc of image 2 to 3".
    """
    end = max((span[1] for span in reading.spans.values()), default=0)
    places: dict[tuple[int, str], None] = {}
    for sentence_start, sentence_end in _corrections(page, page.plain.place(end)):
        for cell in _changed(page, sentence_start, sentence_end, reading):
            places[cell] = None
    if not places:
        return reading
    faults = tuple(
        Fault(FaultKind.CONTRADICTION, "is corrected later, in words", *cell) for cell in places
    )
    scores = {cell: score for cell, score in reading.scores.items() if cell not in places}
    spans = {cell: reading.spans[cell] for cell in scores}
    return replace(reading, scores=scores, spans=spans, faults=reading.faults + faults)


def _corrections(page: Page, start: int) -> Iterator[tuple[int, int]]:
    """Yield where sentences stand that speak of a change, from a place on.

    A line that ends in a colon goes on in the next.
    """
    lines = [line for line in page.lines if line.end > start]
    for index, line in enumerate(lines):
        place = max(start, line.head)
        for match in [*_SENTENCE_END.finditer(page.text, place, line.end), None]:
            end = match.end() if match else line.end
            if _CUE.search(page.text, place, end) or _CHANGED.search(page.text, place, end):
                open_end = page.text[place:end].rstrip().endswith((":", "-", "–"))
                if open_end and index + 1 < len(lines):
                    end = lines[index + 1].end
                yield place, end
            place = end


def _changed(page: Page, start: int, end: int, reading: Reading) -> list[tuple[int, str]]:
    """Return the images and factors that a sentence gives another number than the verdict does."""
    sentence = page.text[start:end]
    images = {
        position
        for image in page.names.images_in(page.text, start, end)
        for position in image.positions
    }
    factors = {factor.key for factor in page.names.factors_in(page.text, start, end)}
    if _SUM.search(sentence) or not (images or factors):
        return []
    if not factors and _OF_SOMETHING_ELSE.search(sentence):
        return []
    anything = _CHANGED.search(sentence) is not None
    numbers = _numbers_of(page, start, end)
    changed = []
    # What is not named may be any of them.
    for cell, score in reading.scores.items():
        named = (cell[0] in images or not images) and (cell[1] in factors or not factors)
        scale = page.names.factor(cell[1]).scale
        other = any(number != score and not scale.fault(number) for number in numbers)
        if named and (other or anything):
            changed.append(cell)
    return changed


def _numbers_of(page: Page, start: int, end: int) -> set[Fraction]:
    """Return the numbers in a sentence that may be scores, those in the names of images aside."""
    inside = [(image.start, image.end) for image in page.names.images_in(page.text, start, end)]
    found = set()
    for number in numbers_in(page.text, start, end):
        if any(first <= number.start < last for first, last in inside):
            continue
        if _COUNTED.match(page.text, number.digits_end, end):
            continue
        if _OLD.search(page.text, max(start, number.start - 20), number.start):
            continue
        if _PLAIN_END.match(page.text, number.digits_end, end):
            found.add(number.value)
    return found
