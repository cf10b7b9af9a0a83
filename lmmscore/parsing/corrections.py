"""Scores that words after the verdict change: contradictions, whichever number is the right one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from lmmscore.parsing.numbers import numbers_in
from lmmscore.parsing.page import Page
from lmmscore.parsing.verdict import Cell, Fault, FaultKind, Reading

_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$|[\"'”’)])\s*")
_ONE_PICTURE = re.compile(
    r"\b(?:this|the|that)[ ](?:\w+[ ])?(?:image|picture|photo|photograph|edit|file)\b(?!s)|\bit\b",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"""
    \b(?:correct(?:ion|ed|ing)?|chang(?:e|ed|ing)|revis(?:e|ed|ing|ion)|adjust(?:ed|ing|ment)?
      |amend(?:ed|ing)?|lower(?:ed|ing)?|rais(?:e|ed|ing)|reduc(?:e|ed|ing)|increas(?:e|ed|ing)
      |updat(?:e|ed|ing)|bump(?:ed|ing)?|instead|withdraw|deserves?|merits?|ought|actually|rather
      |reconsider\w*|looking[ ]again|on[ ]second|wait|oops|mistake|erratum|typo|meant|mean
      |make[ ](?:that|it)|too[ ](?:generous|harsh|strict|lenient|high|low|kind)
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
    \b(?:an?|one|two|half[ ]an?|[0-9])[ ]points?[ ](?:lower|higher|less|more)\b(?![ ]than) |
    \b(?:lower|rais|reduc|increas|bump|adjust|drop|deduct|subtract|add|downgrad
      |upgrad)\w*\b[^.\n]{0,60}\bby[ ](?:an?|one|two|three|half|[0-9.]+)\b |
    \b(?:lower|rais|reduc|increas|bump|adjust|drop|deduct|subtract|add|downgrad
      |upgrad)\w*\b[^.\n]{0,60}
    \b(?:by|of)?[ ]?(?:an?|one|two|half|0?\.5|[0-9])[ ]?(?:half[ ]?)?(?:a[ ])?points?\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_GIVEN = re.compile(
    r"(?:[ ](?:of|for)[ ][^.:;0-9]{0,20}[0-9]{1,3})?[ ]*(?:[:=→–—-]|->|is\b|to\b|at\b)?"
    r"[ ]*(?:an?[ ])?[0-9]",
    re.IGNORECASE,
)
_OF_SOMETHING_ELSE = re.compile(
    r"\b(?:S_all|overall|total|weight\w*|rank\w*|average|mean of)\b", re.IGNORECASE
)
_SUM = re.compile(r"[0-9)][ ]*[×·*+]|[×·*+][ ]*[0-9(S]")
_COUNTED = re.compile(
    r"[ ]+(?:points?[ ]+(?!because|since|for\b)|%|times\b|percent)", re.IGNORECASE
)
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
_PLAIN_END = re.compile(
    r"[ ]*(?:[.,;:!?)\]/\n–—→-]|$|(?:out of|instead|rather|not|from|because|since|as|for|on|in|and"
    r"|here"
    r"|now|but|then|after|points?|would|is|to|than|while|if|though|too)\b)",
    re.IGNORECASE,
)


def with_corrections(reading: Reading, page: Page) -> Reading:
    """Return a reading without the scores that words after the verdict change.

    Each is a contradiction instead: "I lower S_acc of image 2 to 3".
    """
    end = max((span[1] for span in reading.spans.values()), default=0)
    places: dict[tuple[int, str], None] = {}
    for sentence_start, sentence_end in _corrections(page, page.plain.place(end)):
        for cell in _changed(page, sentence_start, sentence_end, reading):
            places[cell] = None
    return _without(reading, places, "is corrected later, in words")


def without_contradicted(reading: Reading, mentioned: Sequence[tuple[Cell, Fraction]]) -> Reading:
    """Return a reading without the scores that a sentence elsewhere gives another number."""
    differing = {
        cell: None for cell, value in mentioned if reading.scores.get(cell, value) != value
    }
    return _without(reading, differing, "is given another number in a sentence")


def _without(reading: Reading, cells: dict[Cell, None], says: str) -> Reading:
    """Return a reading in which these cells are contradictions."""
    faults = tuple(Fault(FaultKind.CONTRADICTION, says, *cell) for cell in cells)
    if not faults:
        return reading
    scores = {cell: score for cell, score in reading.scores.items() if cell not in cells}
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
            if _speaks_of_change(page, place, end):
                open_end = page.text[place:end].rstrip().endswith((":", "-", "–"))
                if open_end and index + 1 < len(lines):
                    end = lines[index + 1].end

                yield place, end

            place = end


def _speaks_of_change(page: Page, start: int, end: int) -> bool:
    """Tell whether a sentence may change a score: by its words, or as it gives a factor one."""
    if _CUE.search(page.text, start, end) or _CHANGED.search(page.text, start, end):
        return True

    image = next(page.names.images_in(page.text, start, end), None)
    if image is None:
        return False

    named = page.names.factors_in(page.text, start, end)
    return any(_GIVEN.match(page.text, factor.end, end) for factor in named)


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
