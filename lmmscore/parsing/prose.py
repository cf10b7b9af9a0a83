"""Scores written as prose with a structure: headed by image, or headed by factor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from lmmscore.parsing.blocks import Block, Mark
from lmmscore.parsing.labels import FactorLabel, ImageLabel, factor_labels, image_labels
from lmmscore.parsing.markup import Plain
from lmmscore.parsing.numbers import explicit_number, number_at
from lmmscore.scales import Factor

# Between a factor's name and its number: "(S_acc)", "(1-10)", "score", a colon, an equals sign, a dash, "is".
_CONNECTOR = re.compile(
    r"""
    \s*\)?
    (?:\s*[(\[][^()\[\]\n]*[)\]])*
    \s*(?:\b(?:score|rating)\b)?
    \s*(?P<sign>[:=]|->|→|[-–—]|\bis\b|\bgets\b|\breceives\b)?
    \s*(?:\b(?:score|rating)\b\s*[:=]?)?
    \s*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


def image_blocks(plain: Plain, factors: Sequence[Factor], n: int) -> Iterator[Block]:
    """Yield a block for every image that heads lines with scores; for a single image, one for the whole text."""
    labels = list(image_labels(plain.text, n, factors))
    if not labels and n == 1:
        marks = _marks(plain, 0, len(plain.text), factors)
        if marks:
            yield _block(plain, None, marks, 0, len(plain.text))
        return
    for label, following in zip_longest(labels, labels[1:]):
        end = following.start if following else len(plain.text)
        marks = _marks(plain, label.end, end, factors)
        if marks:
            yield _block(plain, label.position, marks, label.start, end)


def _block(plain: Plain, position: int | None, marks: dict[str, Mark], start: int, end: int) -> Block:
    return Block(position, marks, *plain.span(start, end), layout="prose")


def _marks(plain: Plain, start: int, end: int, factors: Sequence[Factor]) -> dict[str, Mark]:
    """Return what a stretch of text gives each factor. A factor given twice with different numbers is at fault."""
    scales = {factor.key: factor.scale for factor in factors}
    text = plain.text[:end]
    labels = [label for label in factor_labels(text, factors) if label.start >= start]
    found: dict[str, Mark] = {}
    for label, following in zip_longest(labels, labels[1:]):
        limit = following.start if following else end
        mark = _mark_after(text, label, limit, factors) if label.key in scales else None
        if mark is None:
            continue
        mark = Mark(mark.value, mark.fault, plain.span(*mark.span))
        earlier = found.get(label.key)
        if earlier and earlier.value is not None and mark.value is not None and earlier.value != mark.value:
            mark = Mark(None, "it is given two different numbers", mark.span)
        found[label.key] = mark
    return found


def _mark_after(text: str, label: FactorLabel, limit: int, factors: Sequence[Factor]) -> Mark | None:
    scale = next(factor.scale for factor in factors if factor.key == label.key)
    connector = _CONNECTOR.match(text, label.end, limit)
    if connector is not None and "\n" not in text[label.end : connector.end()].strip(" "):
        # Without a sign between ("Visual Quality 7"), digits must look even more like a verdict.
        strict = label.in_words or connector["sign"] is None
        mark = number_at(text[:limit], connector.end(), scale, named_in_words=strict)
        if mark is not None:
            return mark
    blank = _BLANK_LINE.search(text, label.end, limit)
    return explicit_number(text, label.end, blank.start() if blank else limit, scale)


def factor_blocks(plain: Plain, factors: Sequence[Factor], n: int) -> Iterator[Block]:
    """Yield a block for every image scored in lists headed by a factor: `Visual Quality` … `- Image 1: 7`."""
    scales = {factor.key: factor.scale for factor in factors}
    images = list(image_labels(plain.text, n, factors))
    found: dict[int, dict[str, Mark]] = {}
    for heading, end in _headings(plain.text, factors):
        for label in (image for image in images if heading.end <= image.start < end):
            mark = _mark_of_image(plain.text[:end], label, scales, heading.key)
            if mark is not None:
                mark = Mark(mark.value, mark.fault, plain.span(*mark.span))
                found.setdefault(label.position, {}).setdefault(heading.key, mark)
    for position, marks in sorted(found.items()):
        spans = [mark.span for mark in marks.values()]
        start, end = min(span[0] for span in spans), max(span[1] for span in spans)
        yield Block(position, marks, start, end, layout="prose by factor")


def _headings(text: str, factors: Sequence[Factor]) -> Iterator[tuple[FactorLabel, int]]:
    """Yield every factor that heads a list, with the place where its list ends."""
    alone = []
    for label in factor_labels(text, factors):
        line_end = text.find("\n", label.end)
        line_end = len(text) if line_end < 0 else line_end
        before = text[text.rfind("\n", 0, label.start) + 1 : label.start]
        after = text[label.end : line_end]
        if re.fullmatch(r"[\s#>•\-+]*(?:\d+[.)])?[\s(]*", before) and re.fullmatch(
            r"[\s)]*(?:\([^()]*\))?\s*(?:scores?)?\s*[:.–—-]?\s*", after, re.IGNORECASE
        ):
            alone.append(label)
    for label, following in zip_longest(alone, alone[1:]):
        yield label, following.start if following else len(text)


def _mark_of_image(text: str, label: ImageLabel, scales: dict[str, object], key: str) -> Mark | None:
    connector = _CONNECTOR.match(text, label.end)
    if connector is None or connector["sign"] is None or "\n" in connector[0]:
        return None
    scale = scales[key]
    return number_at(text, connector.end(), scale, named_in_words=True)  # type: ignore[arg-type]
