"""Texts with slots: `{{name}}`. Single braces are plain text, since prompts are full of JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from lmmscore.errors import DialogError, nearest

SLOT = re.compile(r"(\\?)\{\{\s*([A-Za-z][\w.\-]*)\s*\}\}")
"""A slot, or with a backslash before it the same characters as plain text."""

_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_CARDINALS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()


def ordinal(number: int) -> str:
    """Return `first`, `second`, … `twentieth`, `21st`, …"""
    if 1 <= number <= len(_ORDINALS):
        return _ORDINALS[number - 1]

    suffix = (
        "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{suffix}"


def cardinal(number: int) -> str:
    """Return `one`, `two`, … `twenty`, `21`, …"""
    return _CARDINALS[number - 1] if 1 <= number <= len(_CARDINALS) else str(number)


# A dialog's few texts are looked through for every session: a quarter of the time of a large plan.
@lru_cache(maxsize=512)
def slots_of(text: str) -> tuple[str, ...]:
    """Return the names of the slots in a text, in order."""
    return tuple(match[2] for match in SLOT.finditer(text) if not match[1])


@lru_cache(maxsize=512)
def split_at(text: str, prefix: str) -> tuple[tuple[str, str], ...]:
    """Return the text cut at the slots whose names begin so: pieces, each with its slot."""
    pieces = []
    at = 0
    for match in SLOT.finditer(text):
        if not match[1] and match[2].startswith(prefix):
            pieces.append((text[at : match.start()], match[2]))
            at = match.end()

    return (*pieces, (text[at:], ""))


def escape(text: str) -> str:
    """Return the text so that filling it gives the text itself, whatever braces it holds."""
    return SLOT.sub(lambda match: "\\" + match[0], text)


def fill(text: str, values: Mapping[str, str], where: str) -> str:
    """Return the text with its slots filled. Raises DialogError for an unknown name.

    A full stop right after a slot is not doubled when the value ends in one already.
    """

    def value(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]

        if match[2] not in values:
            known = ", ".join(sorted(values))
            raise DialogError(
                f"{where}: unknown name {{{{{match[2]}}}}}{nearest(match[2], values)}; "
                f"known: {known}"
            )

        filled = values[match[2]]
        return filled.removesuffix(".") if text[match.end() : match.end() + 1] == "." else filled

    return SLOT.sub(value, text) if "{{" in text else text
