"""Which column of a table names the images, and which holds the scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lmmscore.parsing.captions import is_no_verdict
from lmmscore.parsing.labels import image_in, image_named

_IMAGE_COLUMN = re.compile(
    r"(?:edited )?(?:image|picture|edit|img)s?(?: (?:no\.?|number|id|#))?", re.IGNORECASE
)
_NUMBER_COLUMN = re.compile(r"#|n[or]\.?", re.IGNORECASE)
_RANK_COLUMN = re.compile(r"\b(?:rank|ranking|place|standing)\b", re.IGNORECASE)
_SCORE_COLUMN = re.compile(r"\b(?:score|rating|points)s?\b", re.IGNORECASE)
_EXACTLY_SCORES = re.compile(
    r"""
    (?:(?:my|the|your|final)[ ])?
    (?:scores?|ratings?|points|grade|marks?|value|result|given|awarded|edited|edit|output|after)
    (?:[ ](?:given|awarded|image))?(?:[ ]?(?:\([^()]*\)|/[ ]?[0-9]+|out[ ]of[ ][0-9]+))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMERIC = re.compile(
    r"-?[0-9]+(?:[.,][0-9]+)?(?:\s*(?:/|out of)\s*[0-9]+|\s*%)?(?![\w.-])", re.IGNORECASE
)

_WIDEST = 60
"""How many columns are looked at: a reply of nothing but bars must not keep us busy."""

TWO_IMAGES = "its row names two different images"
TWO_COLUMNS = "its row has two different columns of numbers"


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands between two bars, and where it begins in the plain text."""

    text: str
    start: int
    fault: str = ""
    """Why it cannot be said what its number is of."""


Row = list[Cell]


def images_of_rows(
    head: Row, body: Sequence[Row], columns: Sequence[str | None], n: int
) -> list[set[int]] | None:
    """Return the images that each row names, or None where no column names any.

    Cells that say "Image 2" and columns headed so count before a column of bare numbers, which may number the rows;
    of those the ones headed `#` before the first, unless that ranks.
    """
    free = [i for i, key in enumerate(columns[:_WIDEST]) if key is None and i < len(head)]
    free = [i for i in free if not _RANK_COLUMN.search(head[i].text)]
    spoken = [i for i in free if any(i < len(row) and image_named(row[i].text, n) for row in body)]
    headed = [i for i in free if _IMAGE_COLUMN.fullmatch(head[i].text)]
    numbers = [i for i in free if _NUMBER_COLUMN.fullmatch(head[i].text)]
    first = [i for i in free if i == 0 or _numbers_images(body, i, n)] if 0 in free else []
    chosen = [*spoken, *(i for i in headed if i not in spoken)] or numbers or first
    if not chosen:
        return None
    return [{image for i in chosen if (image := _image_at(row, i, n)) is not None} for row in body]


def _numbers_images(body: Sequence[Row], column: int, n: int) -> bool:
    """Tell whether a column holds the numbers of all images, each once."""
    return n > 1 and sorted(_image_at(row, column, n) or 0 for row in body) == list(range(1, n + 1))


def _image_at(row: Row, column: int, n: int) -> int | None:
    return image_in(row[column].text, n) if column < len(row) else None


def score_column(head: Row, rows: Sequence[Row], first: int) -> int | None:
    """Return the column, from the first on, that holds the scores; None where it cannot be told."""
    width = min(max(map(len, rows), default=0), _WIDEST)
    numeric = [i for i in range(first, width) if any(_is_number(row, i) for row in rows)]
    scores = [i for i in numeric if i >= len(head) or not is_no_verdict(head[i].text)]
    if not numeric:
        return next(
            (i for i in range(first, len(head)) if _SCORE_COLUMN.search(head[i].text)), first
        )
    if len(numeric) == 1:
        return scores[0] if scores else None
    for pattern in (_EXACTLY_SCORES.fullmatch, _SCORE_COLUMN.search):
        clear = [i for i in scores if i < len(head) and pattern(head[i].text)]
        if clear:
            return clear[0] if len(clear) == 1 else None
    return None


def _is_number(row: Row, column: int) -> bool:
    return column < len(row) and _NUMERIC.match(row[column].text) is not None
