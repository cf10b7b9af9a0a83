"""The scale a published text states for its scores. What it does not state is left open."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from lmmscore.scales import OPEN

_NUMBER = r"\d{1,3}(?:\.\d+)?"
_TO = r"\s*(?:-|–|—|~|to|and|_to_|\.\.\.?)\s*"
_MARKS = r"[\s*_`\"'(\[<]*"

_NOT_A_SCALE = (
    r"(?!\s*[-–]?\s*(?:words?|sentences?|tokens?|characters?|degrees?|°|%|seconds?|pixels?|images?|"
    r"frames?|objects?|elements?|points?\s+(?:lower|higher)|times|steps?|lines?|bullet))"
)
_RANGE = re.compile(rf"(?<![\d.])({_NUMBER}){_MARKS}{_TO}{_MARKS}({_NUMBER})(?![\d.]*\d)", re.I)

_STATED_RANGES = (
    # on a scale of 1 to 10 · score from 0 to 100 · rating: 1-5 · integers between 0 and 10
    re.compile(
        r"(?:rang(?:e|es|ing)|scales?|scor(?:e|es|ed|ing)|rat(?:e|ed|es|ing|ings)|integers?|"
        rf"numbers?|assign|give)\b[^.\n;]{{0,60}}?(?<![\d.])({_NUMBER}){_MARKS}{_TO}{_MARKS}"
        rf"({_NUMBER})(?![\d.]*\d){_NOT_A_SCALE}",
        re.IGNORECASE,
    ),
    # from 1 to 5 · between 0 and 10
    re.compile(
        rf"\b(?:from|between)\s+{_MARKS}({_NUMBER}){_MARKS}\s*(?:to|and|-|–){_MARKS}({_NUMBER})"
        rf"(?![\d.]*\d){_NOT_A_SCALE}",
        re.IGNORECASE,
    ),
    # a 0–5 scale · the 1-10 range
    re.compile(rf"(?<![\d.])({_NUMBER}){_TO}({_NUMBER})\s*(?:scale|range|rating)", re.IGNORECASE),
    # integer scores in [0, 10]
    re.compile(
        rf"(?:scores?|ratings?|integers?|values?)\s+(?:in|within|from)\s+\[\s*({_NUMBER})\s*,\s*"
        rf"({_NUMBER})\s*\]",
        re.IGNORECASE,
    ),
    # Evaluation Scale (1 to 5) · ## Consistency Score (1-5)
    re.compile(
        r"(?:scale|score|rating|range|criteria|evaluation)[^\n(]{0,20}\(\s*"
        rf"({_NUMBER}){_TO}({_NUMBER})\s*\)",
        re.IGNORECASE,
    ),
)
_POINT_SCALE = re.compile(r"\b(\d{1,3})[\s-]*point\s+(?:likert\s+)?scale", re.IGNORECASE)

_BINARY = re.compile(
    r"\bbinary\b|(?<![\d./-])(?:0\s*(?:/|or|\|)\s*1|1\s*(?:/|or|\|)\s*0)(?![\d./-])",
    re.IGNORECASE,
)
_VALUES = re.compile(
    rf"(?<![\d.\w])({_NUMBER}(?:\s*,\s*{_NUMBER})+\s*,?\s*(?:or|and)\s+{_NUMBER}"
    rf"|{_NUMBER}(?:\s*[|/]\s*{_NUMBER}){{2,}}|\[{_NUMBER}(?:\s*,\s*{_NUMBER})+\])(?![\d.]*\d)",
    re.IGNORECASE,
)
_INTEGERS = re.compile(
    r"\bintegers?\b|\bwhole\s+numbers?\b|decimal\s+values\s+are\s+not\s+allowed", re.IGNORECASE
)
_LEVEL = re.compile(
    rf"^[\s>*•\-–#`]*(?:\w+\s*\()?(?:score[sd]?\s*(?:=|of|:)?\s*)?[*_`]*\(?({_NUMBER})\)?[*_`]*"
    r"(?:\s*points?)?[*_`]*(?=\s*[:=(–—-]|\s+[*_`]*[A-Z(]|\s{2,}|\s*$|\s+if\b)",
    re.IGNORECASE | re.MULTILINE,
)
_SCORE_VALUE = re.compile(
    rf"\bscor(?:e|ed|ing)\s*(?:=|of|:|as)?\s*[*_`]*({_NUMBER})[*_`]*"
    rf"(?![\d.]*\s*(?:-|–|to\b|/))",
    re.IGNORECASE,
)
_GIVEN_VALUE = re.compile(
    r"\b(?:give|assign|award|set|and|or|otherwise)\s+(?:a\s+|it\s+)?[*_`]*"
    rf"({_NUMBER})[*_`]*\s+(?:when|if|for|by|only|otherwise)\b",
    re.IGNORECASE,
)
_LABELLED_LEVEL = re.compile(r"^[\s>*•\-–]*[A-Z][A-Za-z ]+\((\d{1,3})\)\s*:", re.MULTILINE)


def scale_in_form(value: str) -> Any:
    """Return the scale that a form's own placeholder states: `<0-10>`, `0 or 1`, `[0, 1, 2]`."""
    text = value.replace("_", " ")
    values = _listed_values(text)
    if values is not None:
        return values

    if _BINARY.search(text):
        return {"values": [0, 1]}

    found = _RANGE.search(text)
    if found is None or not _is_scale(found[1], found[2]):
        return OPEN

    return _ranged(found[1], found[2], bool(_INTEGERS.search(text)))


def scale_of(text: str) -> Any:
    """Return the one scale a passage states; an open question where there is none, or several."""
    ranges = _stated_ranges(text)
    values = _score_values(text)
    if len(ranges) == 1:
        low, high = ranges.pop()
        return _ranged(low, high, bool(_INTEGERS.search(text)))

    if not ranges:
        points = {match[1] for match in _POINT_SCALE.finditer(text)}
        if len(points) == 1:
            return {"min": 1, "max": int(points.pop())}

        listed = _listed_values(text)
        if listed is not None:
            return listed

        if 0.5 in values and {0.0, 1.0} <= values:
            return {"values": [0, 0.5, 1]}

        if _BINARY.search(text) or values == {0.0, 1.0}:
            return {"values": [0, 1]}

        if values == {0.0, 0.5, 1.0}:
            return {"values": [0, 0.5, 1]}

    return _by_levels(text, ranges)


def _stated_ranges(text: str) -> set[tuple[str, str]]:
    found = set()
    for expression in _STATED_RANGES:
        for match in expression.finditer(text):
            if _is_scale(match[1], match[2]):
                found.add((match[1], match[2]))

    # "0-29", "1-3": the lowest band of a scale that is stated elsewhere.
    return {each for each in found if not _is_band(each, found)}


def _is_band(each: tuple[str, str], found: set[tuple[str, str]]) -> bool:
    low, high = float(each[0]), float(each[1])
    return any(float(other[0]) == low and float(other[1]) > high for other in found)


def _is_scale(low: str, high: str) -> bool:
    return float(low) < float(high) <= 100 and float(low) in {0.0, 1.0, -1.0}


def _by_levels(text: str, ranges: set[tuple[str, str]]) -> Any:
    """Return the scale whose levels the text lists line by line: 5: …, 4: …, 3: …"""
    levels = _levels_in(text)
    stated = {(float(first), float(last)) for first, last in ranges}
    for low in (0, 1):
        high = _end_of_run(low, levels)
        listed = low in levels and high - low >= 2
        if listed and (not stated or (low, high) in stated):
            return {"min": low, "max": high}

    if not ranges and levels == {0, 1}:
        return {"values": [0, 1]}

    return _most_stated(text, ranges)


def _levels_in(text: str) -> set[int]:
    found = [match[1] for match in _LEVEL.finditer(text)]
    found += [match[1] for match in _LABELLED_LEVEL.finditer(text)]
    return {int(level) for level in found if "." not in level}


def _end_of_run(first: int, levels: set[int]) -> int:
    """Return the last of the consecutive levels that begin with the first."""
    last = first
    while last + 1 in levels:
        last += 1

    return last


def _most_stated(text: str, ranges: set[tuple[str, str]]) -> Any:
    """Of several ranges, return the one stated more than twice as often as any other."""
    counts: Counter[tuple[str, str]] = Counter()
    for expression in _STATED_RANGES:
        counts.update((match[1], match[2]) for match in expression.finditer(text))

    ranked = [(each, count) for each, count in counts.most_common() if each in ranges]
    if len(ranked) > 1 and ranked[0][1] > 2 * ranked[1][1]:
        low, high = ranked[0][0]
        return _ranged(low, high, bool(_INTEGERS.search(text)))

    return OPEN


def _score_values(text: str) -> set[float]:
    found = {float(match[1]) for match in _SCORE_VALUE.finditer(text)}
    found |= {float(match[1]) for match in _GIVEN_VALUE.finditer(text)}
    return found


def _listed_values(text: str) -> Any:
    """Return values written as a list: `0, 0.5 or 1`; consecutive integers make a range."""
    for match in _VALUES.finditer(text):
        values = sorted({float(value) for value in re.findall(_NUMBER, match[0])})
        if len(values) < 3 or not _is_scale(str(values[0]), str(values[-1])):
            continue

        low, high = values[0], values[-1]
        consecutive = high - low == len(values) - 1 and low.is_integer()
        if consecutive and len(values) > 3:
            return {"min": int(low), "max": int(high), "integers": True}

        return {"values": [_plain(value) for value in values]}

    return None


def _ranged(low: str, high: str, integers: bool) -> dict[str, Any]:
    if (float(low), float(high)) == (0.0, 1.0) and integers:
        return {"values": [0, 1]}

    numbers: dict[str, Any] = {"min": _plain(float(low)), "max": _plain(float(high))}
    return {**numbers, "integers": True} if integers else numbers


def _plain(number: float) -> int | float:
    return int(number) if number.is_integer() else number


def parse_scale(answer: str) -> dict[str, Any] | None:
    """Return the scale a user typed: `1-10`, `integers 1-7`, `0,0.5,1`, `yes=1,no=0`."""
    if re.fullmatch(rf"\s*{_NUMBER}(?:\s*,\s*{_NUMBER})+\s*", answer):
        return {"values": [_plain(float(value)) for value in answer.split(",")]}

    if "=" in answer:
        return _word_values(answer)

    match = _RANGE.search(answer)
    if match is None:
        return None

    return _ranged(match[1], match[2], bool(_INTEGERS.search(answer)))


def _word_values(answer: str) -> dict[str, Any] | None:
    words: dict[str, Any] = {}
    for pair in answer.split(","):
        word, _, value = pair.partition("=")
        if not word.strip() or not re.fullmatch(rf"{_NUMBER}|none|", value.strip()):
            return None

        number = value.strip()
        words[word.strip()] = None if number in {"", "none"} else _plain(float(number))

    return {"words": words}
