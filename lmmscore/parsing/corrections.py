"""Second thoughts in words after a verdict, "I lower S_acc of image 2 to 3": not carried out, but not ignored."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from lmmscore.parsing.labels import Page, factor_labels, image_mentions
from lmmscore.parsing.reading import Fault, Reading

_CUE = re.compile(
    r"""
    \b(?:correct(?:ion|ed|ing)?|chang(?:e|ed|ing)|revis(?:e|ed|ing|ion)|adjust(?:ed|ing|ment)?|amend(?:ed|ing)?
      |lower(?:ed|ing)?|rais(?:e|ed|ing)|reduc(?:e|ed|ing)|increas(?:e|ed|ing)|updat(?:e|ed|ing)|bump(?:ed|ing)?
      |should[ ](?:rather[ ]|actually[ ]|really[ ])?(?:be|have|get|read)|instead|withdraw)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = re.compile(
    r"""
    (?:\b(?:to|be|been|is|get|gets|read|have|an?)[ ]+|[:=→][ ]*|->[ ]*)
    (?P<number>[0-9]{1,3}(?:\.[0-9]{1,3})?)(?![\w%]|[.,][0-9])
    (?![ ]+(?!(?:instead|rather|not|from|because|since|as|for|on|in|and|out|here|now|but|then|after|points?)\b)[a-z])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OF_SOMETHING_ELSE = re.compile(
    r"\b(?:S_all|overall|total|weight\w*|rank\w*|average|mean)\b", re.IGNORECASE
)
_SUM = re.compile(r"[0-9)][ ]*[×·*+]|[×·*+][ ]*[0-9(S]")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_LONGEST = 300


def with_corrections(reading: Reading, page: Page) -> Reading:
    """Return a reading without the scores that the words after the verdict change, each a contradiction instead."""
    end = max((span[1] for span in reading.spans.values()), default=0)
    # Where the rest begins in the text without marks.
    rest = bisect_left(
        range(len(page.text)), end, key=lambda place: page.plain.span(place, place + 1)[0]
    )
    places = {
        at for sentence in _corrections(page.text, rest) for at in _changed(page, sentence, reading)
    }
    if not places:
        return reading
    faults = tuple(
        Fault("contradiction", "is corrected later, in words", *at) for at in dict.fromkeys(places)
    )
    scores = {at: score for at, score in reading.scores.items() if at not in places}
    spans = {at: reading.spans[at] for at in scores}
    return replace(reading, scores=scores, spans=spans, faults=reading.faults + faults)


def _corrections(text: str, done: int) -> Iterator[str]:
    """Yield the sentences that speak of a change, from a place on."""
    for cue in _CUE.finditer(text, done):
        if cue.start() < done:
            continue
        begin = max(done, cue.start() - _LONGEST)
        ends = [match.end() for match in _SENTENCE_END.finditer(text, begin, cue.start())]
        done = _sentence_end(text, cue.end())
        yield text[ends[-1] if ends else begin : done]


def _sentence_end(text: str, place: int) -> int:
    """Return where a sentence ends; one that ends in a colon goes on in the next line."""
    stop = place
    while match := _SENTENCE_END.search(text, stop, place + _LONGEST):
        if text[place : match.start()].strip(" :-–"):
            return match.start()
        stop = match.end()
    return min(len(text), place + _LONGEST)


def _changed(page: Page, sentence: str, reading: Reading) -> list[tuple[int, str]]:
    """Return the images and factors that a sentence gives another number than the verdict does."""
    numbers = {Fraction(match["number"]) for match in _NUMBER.finditer(sentence)}
    images: Sequence[int | None] = [
        each.position for each in image_mentions(sentence, 0, len(sentence), page.n)
    ]
    factors = [label.key for label in factor_labels(sentence, page.factors)]
    if (
        _SUM.search(sentence)
        or not (images or factors)
        or (not factors and _OF_SOMETHING_ELSE.search(sentence))
    ):
        return []
    # What is not named may be any of them.
    return [
        at
        for at, score in reading.scores.items()
        if (at[0] in images or not images)
        and (at[1] in factors or not factors)
        and any(
            number != score and not page.factor(at[1]).scale.fault(number) for number in numbers
        )
    ]
