"""A number as a verdict: `6`, `6.5`, `6/10`, `6 out of 10`. Digits of any other kind are not a score."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from lmmscore.parsing.blocks import Mark
from lmmscore.scales import Scale, show

_NUMBER = re.compile(
    r"""
    [\[(<"'“]?\s*
    (?P<number>[+-]?(?:\d+(?:\.\d+)?|\.\d+))
    (?:\s*(?:/|\bout\s+of\b|\bof\b)\s*(?P<top>\d+(?:\.\d+)?)(?!\.?\d))?
    (?:\s*(?:points?|pts?)\b\.?)?
    """,
    re.VERBOSE | re.IGNORECASE,
)

# What may follow a score: the end, punctuation, or words that begin an explanation. "2 dogs" begins none.
_NOT_A_SCORE_AFTER = re.compile(
    r"""
      [A-Za-z%°º]               # 6th, 50%, 3D
    | [:.,]\d                   # 12:30, 6.5.1, 6,5
    | \s*[-–—/~]\s*\d           # 1-10, 6–7, 6/7/8
    | \s*(?:to|or|and)\s+\d     # 6 to 7
    | \s*[+*×·x]\s*\d           # 6 + 7
    """,
    re.VERBOSE,
)
_COUNTED = re.compile(r"\s+(?P<word>[a-z][a-z'’-]*)")
_BEGINS_AN_EXPLANATION = frozenset(
    """a about although an and are as at because being but by clear clearly considering despite due even excellent
    fair fairly for from given good great has however if in is it its just lacks like many minor moderate most mostly
    much no not of on only out overall perfect perhaps poor quite rather since slight slightly so some still strong
    than that the there these they this though thus to too totally very was weak well were what when where which
    while with within without yet""".split()
)

_EXPLICIT = re.compile(
    r"(?<![\w./])(?P<number>\d+(?:\.\d+)?)\s*(?:/|\bout\s+of\b)\s*(?P<top>\d+(?:\.\d+)?)(?![\w/]|\.\d)",
    re.IGNORECASE,
)
_SCORE_WORD = re.compile(r"\b(?:score|rating)\s*(?:[:=]|\bis\b|\bof\b)\s*", re.IGNORECASE)


def number_at(text: str, place: int, scale: Scale, *, named_in_words: bool) -> Mark | None:
    """Return the verdict that stands right here, or None. A verdict off the scale is a fault, not a score.

    After a factor named in words ("Visual Quality: 2 dogs …") the digits must look like a verdict; after a
    symbol ("S_qua: 6 sharp edges") almost any explanation may follow.
    """
    match = _NUMBER.match(text, place)
    if match is None or _NOT_A_SCORE_AFTER.match(text, match.end()):
        return None
    if match["top"] is None and _counts_something(text, match.end(), strict=named_in_words):
        return None
    return _judged(match, scale)


def explicit_number(text: str, start: int, end: int, scale: Scale) -> Mark | None:
    """Return the last `6/10` or `score: 6` in a stretch of text, where 10 is the scale's own maximum."""
    found: list[Mark] = []
    for match in _EXPLICIT.finditer(text, start, end):
        if Fraction(match["top"]) == scale.high:
            found.append(_judged(match, scale))
    for match in _SCORE_WORD.finditer(text, start, end):
        mark = number_at(text, match.end(), scale, named_in_words=True)
        if mark is not None:
            found.append(mark)
    return max(found, key=lambda mark: mark.span[0], default=None)


def _counts_something(text: str, place: int, *, strict: bool) -> bool:
    match = _COUNTED.match(text, place)
    if match is None or match["word"] in _BEGINS_AN_EXPLANATION:
        return False
    plural = match["word"].endswith("s") and not match["word"].endswith("ss")
    return strict or plural


def _judged(match: re.Match[str], scale: Scale) -> Mark:
    span = match.span("number")[0], match.end("top") if match["top"] else match.end("number")
    # "8/10" counts only when 10 is this factor's maximum; otherwise it may be a date or a ratio.
    if match["top"] is not None and Fraction(match["top"]) != scale.high:
        return Mark(None, f"{match['number']}/{match['top']} is not on the scale {scale}", span)
    return judged(Fraction(Decimal(match["number"])), scale, span)


def judged(number: Fraction, scale: Scale, span: tuple[int, int]) -> Mark:
    """Return the number as a mark: a score when it is on the scale, else the reason why not."""
    fault = scale.fault(number)
    return Mark(None, fault, span) if fault else Mark(number, "", span)


def number_in_value(value: object, scale: Scale, span: tuple[int, int]) -> Mark:
    """Return what a JSON value says: numbers and numbers in strings are read, `true` and NaN are not."""
    if isinstance(value, bool) or value is None:
        word = "null" if value is None else str(value).lower()
        return Mark(None, f"{word} is not a number", span)
    if isinstance(value, int | Decimal | float):
        exact = Decimal(str(value))
        if not exact.is_finite():
            return Mark(None, f"{value} is not a number", span)
        return judged(Fraction(exact), scale, span)
    if isinstance(value, str):
        text = value.strip()
        mark = number_at(text, 0, scale, named_in_words=True)
        match = _NUMBER.fullmatch(text.strip("\"'()[]"))
        if mark is not None and match is not None:
            return Mark(mark.value, mark.fault, span)
        return Mark(None, f"{value!r} is not a number" if text else "the score is empty", span)
    return Mark(None, f"a {type(value).__name__} is not a number", span)


__all__ = ["explicit_number", "judged", "number_at", "number_in_value", "show"]
