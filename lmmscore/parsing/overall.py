"""The overall scores a judge states itself: compared with ours, never used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import zip_longest

from lmmscore.parsing.numbers import number_at
from lmmscore.parsing.page import Page
from lmmscore.parsing.read import contents_of
from lmmscore.parsing.tables import barred_tables, tables_in
from lmmscore.scales import Factor, Scale

# A judge may state anything, so that an error can be seen.
_ANYTHING = Scale(min=Decimal(-100_000), max=Decimal(100_000))
_OVERALL = Factor(
    key="overall",
    symbol="S_all",
    name="Overall Score",
    aliases=(
        "S_overall",
        "S_total",
        "overall",
        "overall rating",
        "total",
        "total score",
        "weighted score",
        "weighted sum",
        "weighted total",
        "weighted average",
        "final score",
        "weighted overall score",
    ),
    scale=_ANYTHING,
)

_OUT_OF = re.compile(
    r"([0-9][*_`$ ]{0,4})(?:/|out[ ]of)[ ]{0,3}(?:10|100|[1-9])(?:\.0)?(?!\.?[0-9])"
)
_RESULT = re.compile(
    r"^(?=[^\n]*(?:[+×·*]|\bx\b|times)|[ ]*=)[^\n]*"
    r"[=≈][ ]*(?P<number>-?[0-9]{1,6}(?:\.[0-9]{1,6})?)[ ]*[).,;]*[ ]*$",
    re.MULTILINE,
)
_OVERALL_COLUMN = re.compile(
    r"all\b|overall|total|weighted|final|\bsum\b|\bscores?\b|average|mean|gesamt|总", re.IGNORECASE
)
_MORE_NUMBERS = re.compile(r"[ ]*[,;][ ]*[0-9]")


def read_overall(text: str, n: int) -> dict[int, Fraction]:
    """Return the overall score the reply states for each image, as far as it does so plainly.

    By its name (`S_all: 6.1`, a column, a JSON key), else as the result of a sum (`… = 6.1`), else
    as the only number given (`Image 1: 6.1`). Of several, the last.
    """
    text = _OUT_OF.sub(r"\1 ", text)
    contents = contents_of(text, (_OVERALL,), n)
    page = contents.page
    stated = dict(_by_sums(page)) or dict(_in_last_column(page))
    for each in sorted(contents.said, key=lambda each: each.mark.span):
        if each.mark.value is not None:
            stated[each.position or 1] = each.mark.value
    return {position: stated[position] for position in sorted(stated) if 1 <= position <= n}


def _by_sums(page: Page) -> Iterator[tuple[int, Fraction]]:
    """Yield the number that each image's stretch of text ends a sum with, or gives right away."""
    heads = [line for line in page.lines if line.images and line.images[0].start <= line.head + 12]
    for line, following in zip_longest(heads, heads[1:]):
        image = line.images[0]
        end = following.start if following else len(page.text)
        stretch = page.text[image.end : end]
        number = _last_result(stretch)
        number = _first_number(stretch) if number is None else number
        if len(image.positions) == 1 and number is not None:
            yield image.positions[0], number
    if page.n == 1 and not heads:
        number = _last_result(page.text)
        if number is not None:
            yield 1, number


def _last_result(text: str) -> Fraction | None:
    results = _RESULT.findall(text)
    return Fraction(results[-1]) if results else None


def _first_number(text: str) -> Fraction | None:
    text = text.lstrip(" :=≈")
    number = number_at(text, 0, len(text))
    # "6, 7, 5, 6" are sub-scores.
    if number is None or _MORE_NUMBERS.match(text, number.end):
        return None
    return number.value


def _in_last_column(page: Page) -> Iterator[tuple[int, Fraction]]:
    for table in [*tables_in(page.text, page.names), *barred_tables(page.text)]:
        if not _OVERALL_COLUMN.search(table.rows[0][-1].text):
            # A table that repeats the sub-scores states no overall.
            continue
        for row in table.rows:
            position = page.names.image_labelled(row[0].text)
            if position is None or len(row) < 2:
                continue
            if re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]{1,6})?", row[-1].text):
                yield position, Fraction(row[-1].text)
