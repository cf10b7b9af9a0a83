"""Scores written as prose with a structure: headed by image, or headed by factor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, zip_longest

from lmmscore.parsing.captions import gives_an_example
from lmmscore.parsing.labels import BULLET, FactorLabel, ImageLabel, Page, image_mentions
from lmmscore.parsing.numbers import number_at, number_below
from lmmscore.parsing.said import Layout, Mark, Said

# Between a name and its number: "(S_acc)", "(1-10)", "score", a colon, an equals sign, a dash, "is".
_CONNECTOR = re.compile(
    r"""
    [ ]*\)?
    (?:[ ]*[(\[][^()\[\]\n]{0,120}[)\]]){0,3}
    [ ]*(?:\b(?:score|rating)\b)?
    [ ]*(?P<sign>[:=]|->|→|[-–—]|\b(?P<verb>is|gets|receives)\b)?
    [ ]*(?:\b(?:score|rating)\b[ ]*[:=]?)?
    [ ]*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_IN_BRACKETS = re.compile(
    r"[ ]*[(\[](?:score[ ]*[:=]?[ ]*)?(?=[0-9.]+[ ]*(?:(?:/|out of)[ ]*[0-9]+)?[)\]][ ]*(?:[,;:.\n–—-]|$))",
    re.IGNORECASE,
)
_ENDS_AN_ENTRY = re.compile(r"[ ]*(?:/|out of\b|and\b|[,;|)\]]|\.?[ ]*(?:\n|$))", re.IGNORECASE)
_OPENS_A_CLAUSE = re.compile(rf"^{BULLET}[(\[]?$|[:;,.|(\[–—-][ ]*$|->[ ]*$|→[ ]*$")
_LEADS_IN = re.compile(r"\b(?:and|are|is|with|scores?|gets?|receives?|for)[ ]+$", re.IGNORECASE)
_FACTOR_OF_A_SUM = re.compile(r"(?:[×·*+]|[0-9]\.[0-9]+)[ ]*$")
_UP_TO_A_LIST = re.compile(
    rf"[ )]*(?:\((?![0-9./ ]+\))[^()\n]{{0,120}}\))?[ ]*(?:scores?)?[ ]*[:.–—-]?[ ]*(?:\n\s*^{BULLET})?[(\[]?",
    re.IGNORECASE | re.MULTILINE,
)

_SENTENCE = 240


def prose_says(page: Page) -> Iterator[Said]:
    """Yield what is said under images, `Image 1: S_acc: 6 …`; and, of a single image, anywhere."""
    for image, labels in groupby(
        _labels_in_prose(page), key=lambda pair: page.image_before(pair[0].start)
    ):
        if (image is None and page.n > 1) or (image is not None and image.position is None):
            continue
        position = image.position if image else None
        marks = [(label.key, _mark_after(page, label, limit)) for label, limit in labels]
        found = [(key, *mark) for key, mark in marks if mark is not None]
        # The only number, below the last of several factors, may be the overall score.
        if len(found) == 1 and found[0][2] and len({key for key, _ in marks}) > 1:
            continue
        for key, mark, _ in found:
            yield _said(page, position, key, mark, "prose")


def _labels_in_prose(page: Page) -> Iterator[tuple[FactorLabel, int]]:
    """Yield the factors that are named, those that head lists of images aside, and how far the text speaks of each."""
    for label, following in zip_longest(page.named, page.named[1:]):
        end = following.start if following else len(page.text)
        if _first_of_a_list(page, label, end) is None:
            yield label, _limit(page, label, end)


def _limit(page: Page, label: FactorLabel, end: int) -> int:
    """Return the place up to which the text may speak of this factor: the next factor or image that is named."""
    image = page.image_before(end)
    return image.start if image is not None and image.start >= label.end else end


def _said(page: Page, position: int | None, key: str, mark: Mark, layout: Layout) -> Said:
    return Said(position, key, Mark(mark.value, mark.fault, page.plain.span(*mark.span)), layout)


def _mark_after(page: Page, label: FactorLabel, limit: int) -> tuple[Mark, bool] | None:
    """Return the verdict on a factor, and whether it stands below its name rather than right behind it."""
    if gives_an_example(_line_before(page.text, label.start, _SENTENCE)):
        return None
    opens = _opens_a_clause(page, label)
    if not opens and not _may_stand_in_a_sentence(page.text, label):
        return None
    mark = _mark_behind(page, label, limit, opens=opens)
    if mark is not None:
        return mark, False
    mark = (
        number_below(page.text, label.end, limit, page.factor(label.key).scale) if opens else None
    )
    return (mark, True) if mark else None


def _mark_behind(page: Page, label: FactorLabel, limit: int, *, opens: bool) -> Mark | None:
    text, scale = page.text, page.factor(label.key).scale
    connector = _CONNECTOR.match(text, label.end, limit)
    if connector is None:
        return None
    signed = connector["sign"] is not None and connector["verb"] is None
    alone = not signed or not (opens or not label.in_words)
    mark = number_at(text, connector.end(), limit, scale, alone=alone, singular=not label.in_words)
    if (
        mark is not None
        and connector["sign"] is None
        and not _ENDS_AN_ENTRY.match(text, mark.span[1])
    ):
        # "1. Editing Accuracy 2. Visual Quality 3." numbers them, "Editing Accuracy 6, Visual Quality 7" scores.
        mark = None
    if mark is None and (bracket := _IN_BRACKETS.match(text, label.end)):
        mark = number_at(text, bracket.end(), limit, scale, alone=True)
    return mark


def _opens_a_clause(page: Page, label: FactorLabel) -> bool:
    image = page.image_before(label.start)
    before = _line_before(page.text, label.start)
    after_image = image is not None and not page.text[image.end : label.start].strip(" ,.;:")
    return after_image or bool(
        _OPENS_A_CLAUSE.search(before) and not _FACTOR_OF_A_SUM.search(before)
    )


def _may_stand_in_a_sentence(text: str, label: FactorLabel) -> bool:
    """Tell "and Visual Quality: 7" from "overall quality: 7", and "with S_qua = 7" from "0.2 × S_qua = 1.4"."""
    before = _line_before(text, label.start)
    if label.in_words:
        return bool(_LEADS_IN.search(before))
    return not _FACTOR_OF_A_SUM.search(before)


def _line_before(text: str, place: int, length: int = 80) -> str:
    # A stretch of it will do: nothing that is looked for is longer.
    start = max(0, place - length)
    return text[max(start, text.rfind("\n", start, place) + 1) : place]


def by_factor_says(page: Page) -> Iterator[Said]:
    """Yield what is said in lists headed by a factor: `Visual Quality` … `- Image 1: 7`, `S_qua: Image 1: 7, …`."""
    for label, following in zip_longest(page.named, page.named[1:]):
        end = following.start if following else len(page.text)
        first = _first_of_a_list(page, label, end)
        if first is None:
            continue
        # On one line with its factor, a list ends with the line.
        line_end = page.text.find("\n", label.end, end)
        end = line_end if line_end > first.start else end
        scale = page.factor(label.key).scale
        for image in image_mentions(page.text, first.start, end, page.n):
            connector = _CONNECTOR.match(page.text, image.end, end)
            if connector is not None and connector["sign"] and _opens(page.text, image.start):
                mark = number_at(page.text, connector.end(), end, scale, alone=True)
                if mark is not None:
                    yield _said(page, image.position, label.key, mark, "prose by factor")


def _first_of_a_list(page: Page, label: FactorLabel, end: int) -> ImageLabel | None:
    """Return the image that opens the list which a factor heads, or None where it heads none."""
    first = next(image_mentions(page.text, label.end, min(end, label.end + 400), page.n), None)
    if first is None or not _opens_a_clause(page, label):
        return None
    return first if _UP_TO_A_LIST.fullmatch(page.text, label.end, first.start) else None


def _opens(text: str, place: int) -> bool:
    return bool(_OPENS_A_CLAUSE.search(_line_before(text, place)))
