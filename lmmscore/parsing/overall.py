"""The overall scores a judge states itself: compared with ours, never used."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from itertools import zip_longest

from lmmscore.parsing.labels import image_in, image_labels
from lmmscore.parsing.markup import strip_marks

_NUMBER = r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\d)(?!\s*[×x*·(])"
_AFTER_EQUALS = re.compile(rf"[=≈:]\s*({_NUMBER})(?:\s*/\s*10)?(?=\s|$|[,;.)|])")


def read_overall(text: str, n: int) -> dict[int, Fraction]:
    """Return the overall score the reply states for each image, as far as it does so plainly.

    The last number after an equals sign or colon counts: `Image 1: 0.4·6 + … = 6.1`, `Image 1: 6.1`; or the last
    column of a table.
    """
    plain = strip_marks(text).text
    stated: dict[int, Fraction] = {}
    labels = list(image_labels(plain, n, ()))
    for label, following in zip_longest(labels, labels[1:]):
        end = following.start if following else len(plain)
        paragraph = re.split(r"\n\s*\n(?=[A-Z][^\n=:]*\s)", plain[label.end : end])[0]
        found = _AFTER_EQUALS.findall(paragraph)
        if found:
            stated[label.position] = Fraction(Decimal(found[-1]))
    return stated or _from_table(plain, n)


def _from_table(plain: str, n: int) -> dict[int, Fraction]:
    stated: dict[int, Fraction] = {}
    for line in plain.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        position = image_in(cells[0], n) if len(cells) > 1 else None
        if position is not None and re.fullmatch(r"\d+(?:\.\d+)?", cells[-1]):
            stated[position] = Fraction(Decimal(cells[-1]))
    return stated
