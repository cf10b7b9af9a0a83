"""Scores in JSON, as judges write it: amid prose, fenced or bare, with slips that can be mended without guessing."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import json_repair
import pyjson5

from lmmscore.parsing.blocks import Block, Mark
from lmmscore.parsing.labels import image_in, image_labels, normal
from lmmscore.parsing.markup import Plain
from lmmscore.parsing.numbers import number_in_value
from lmmscore.scales import Factor

_CLOSING = {"{": "}", "[": "]"}
_SMART = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "\u00a0": " "})
_SCORE_KEYS = ("score", "rating", "value", "points", "grade")
_NAME_KEYS = ("factor", "name", "metric", "criterion", "criteria", "dimension", "aspect", "key")
_IMAGE_KEYS = (
    "image",
    "imageid",
    "imagenumber",
    "imageindex",
    "edit",
    "editedimage",
    "id",
    "index",
    "position",
    "number",
)

MAX_DEPTH = 12
MAX_TRIES = 200
"""A reply of nothing but opening brackets must not keep us for ever."""

_OPENING = re.compile(r"[{\[](?=\s*[\"'“‘{\[\w/}\]-])")


@dataclass(frozen=True, slots=True)
class JsonText:
    """An object or list found in a reply."""

    value: Any
    start: int
    end: int
    mended: str
    """How it had to be mended to be read; empty for plain JSON."""


def json_blocks(text: str, plain: Plain, factors: Sequence[Factor], n: int) -> Iterator[Block]:
    """Yield a block for every image that a JSON object or list scores."""
    for found in json_texts(text):
        notes = (found.mended,) if found.mended else ()
        for position, marks in _verdicts(found.value, factors, n, (found.start, found.end)):
            if position is None and n > 1:
                position = _heading_before(text, plain, found.start, factors, n)
            if marks and (position is not None or n == 1):
                marks = {key: _located(text, found, key, mark, factors, n) for key, mark in marks.items()}
                yield Block(position, marks, found.start, found.end, "json", notes)


def json_values(text: str) -> list[Any]:
    """Return every object and list in a text, in order."""
    return [found.value for found in json_texts(text)]


def cut_off(text: str, factors: Sequence[Factor]) -> bool:
    """Tell whether the reply ends inside an object that was naming factors."""
    ends = [found.end for found in json_texts(text)]
    rest = text[max(ends, default=0) :]
    place = re.search(r"[{\[]\s*[\"'“{\[]", rest)
    if place is None:
        return False
    tail = rest[place.start() :]
    open_at_end = _end_of(tail, 0, '"') is None
    named = {normal(name) for factor in factors for name in factor.names}
    keys = re.findall(r"[\"'“]([^\"'”\n]{1,80})[\"'”]\s*:", tail)
    return open_at_end and (any(normal(key) in named for key in keys) or "score" in map(str.lower, keys))


# Finding


def json_texts(text: str) -> list[JsonText]:
    """Return every outermost object or list in the text that can be read, in order."""
    found: list[JsonText] = []
    place = tries = 0
    while (match := _OPENING.search(text, place)) is not None and tries < MAX_TRIES:
        candidate = _read_at(text, match.start())
        if candidate is not None and isinstance(candidate.value, dict | list):
            found.append(candidate)
        tries += candidate is None
        place = candidate.end if candidate else match.end()
    return found


def _read_at(text: str, start: int) -> JsonText | None:
    for quotes in ('"', "\"'", "\"'“‘", ""):
        end = _end_of(text, start, quotes)
        if end is None:
            continue
        loaded = _load(text[start:end])
        if loaded is not None:
            return JsonText(loaded[0], start, end, loaded[1])
    return None


def _end_of(text: str, start: int, quotes: str) -> int | None:
    """Return the place after the bracket that closes the one at `start`, brackets inside strings aside."""
    pairs = {quote: {"“": "”", "‘": "’"}.get(quote, quote) for quote in quotes}
    stack: list[str] = []
    inside = ""
    place = start
    while place < len(text):
        character = text[place]
        if inside:
            if character == "\\":
                place += 1
            elif character == inside:
                inside = ""
        elif character in pairs:
            inside = pairs[character]
        elif character in _CLOSING:
            stack.append(_CLOSING[character])
        elif character in "}]":
            if not stack or stack.pop() != character:
                return None
            if not stack:
                return place + 1
        place += 1
    return None


class _Contradiction:
    """The value of a key that was given twice, differently."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        made[key] = value if made.get(key, value) == value else _Contradiction([made[key], value])
    return made


def _load(text: str) -> tuple[Any, str] | None:
    """Return the value and how the text was mended, or None where no reading is certain."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=Decimal, object_pairs_hook=_pairs), ""
    except (ValueError, RecursionError, ArithmeticError):
        pass
    try:
        return pyjson5.decode(text, MAX_DEPTH * 4), "JSON with comments, trailing commas or other quotes"
    except (pyjson5.Json5Exception, ValueError, RecursionError):
        pass
    straight = text.translate(_SMART)
    try:
        if straight != text:
            return pyjson5.decode(straight, MAX_DEPTH * 4), "smart quotes made straight"
    except (pyjson5.Json5Exception, ValueError, RecursionError):
        pass
    return _load_loosely(straight)


def _load_loosely(text: str) -> tuple[Any, str] | None:
    try:
        return ast.literal_eval(text), "a Python literal"
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        pass
    # The last resort mends stray quotation marks and missing commas. It may complete what is not there, so its
    # reading counts only if every number in it was written as a value in the text.
    repaired = json_repair.loads(text, skip_json_loads=True)
    written = Counter(Decimal(number) for number in _WRITTEN_NUMBER.findall(text))
    if isinstance(repaired, dict | list) and not Counter(_numbers(repaired)) - written:
        return repaired, "mended by json_repair"
    return None


_WRITTEN_NUMBER = re.compile(r"[:\[,]\s*[\"']?(-?\d+(?:\.\d+)?)(?=[\"']?\s*[,}\]\n])")


def _numbers(value: Any) -> Iterator[Decimal]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield Decimal(str(value))


# Understanding

Verdict = tuple[int | None, dict[str, Mark]]


def _verdicts(
    value: Any, factors: Sequence[Factor], n: int, span: tuple[int, int], depth: int = 0
) -> list[Verdict]:
    """Return (image, marks) for whatever shape the value has: nested, a list, headed by image or by factor."""
    if depth > MAX_DEPTH:
        return []
    if isinstance(value, list):
        return _of_list(value, factors, n, span, depth)
    if not isinstance(value, dict):
        return []
    by_image = _headed_by_images(value, factors, n, span, depth)
    if by_image:
        return by_image
    by_factor = _headed_by_factors(value, factors, n, span)
    if by_factor:
        return by_factor
    marks = _marks_of(value, factors, span)
    if marks:
        return [(_image_of(value, n), marks)]
    inner = [_verdicts(each, factors, n, span, depth + 1) for each in value.values()]
    return [verdict for verdicts in inner for verdict in verdicts]


def _of_list(
    values: list[Any], factors: Sequence[Factor], n: int, span: tuple[int, int], depth: int
) -> list[Verdict]:
    named = _named_entries(values, factors, span)
    if named:
        return [(None, named)]
    verdicts = [v for each in values for v in _verdicts(each, factors, n, span, depth + 1)]
    unplaced = [position for position, _ in verdicts if position is None]
    if n == 1 and len(verdicts) > 1 and not _overlap(verdicts):
        return [(None, {key: mark for _, marks in verdicts for key, mark in marks.items()})]
    if len(unplaced) == len(verdicts) == n and n > 1:
        return [(index, marks) for index, (_, marks) in enumerate(verdicts, 1)]
    if sorted(position or 0 for position, _ in verdicts) == list(range(n)) and not unplaced:
        return [((position or 0) + 1, marks) for position, marks in verdicts]
    return verdicts


def _overlap(verdicts: list[Verdict]) -> bool:
    keys = [key for _, marks in verdicts for key in marks]
    return len(set(keys)) < len(keys)


def _named_entries(values: list[Any], factors: Sequence[Factor], span: tuple[int, int]) -> dict[str, Mark]:
    """Read `[{"factor": "seamlessness", "score": 6}, …]`."""
    marks: dict[str, Mark] = {}
    for entry in values:
        if not isinstance(entry, dict):
            return {}
        name = next((v for k, v in entry.items() if normal(str(k)) in _NAME_KEYS and isinstance(v, str)), "")
        factor = _factor_named(name, factors)
        if factor is None or factor.key in marks:
            return {}
        marks[factor.key] = _mark(entry, factor, span)
    return marks


def _headed_by_images(
    value: Mapping[str, Any], factors: Sequence[Factor], n: int, span: tuple[int, int], depth: int
) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for key, inner in value.items():
        position = image_in(str(key).replace("_", " ").replace("-", " "), n)
        if position is None or not isinstance(inner, dict | list):
            continue
        for _, marks in _verdicts(inner, factors, 1, span, depth + 1):
            verdicts.append((position, marks))
    return verdicts


def _headed_by_factors(
    value: Mapping[str, Any], factors: Sequence[Factor], n: int, span: tuple[int, int]
) -> list[Verdict]:
    """Read `{"S_acc": {"Image 1": 6, …}, …}` and `{"S_acc": [6, 7, …], …}`."""
    if n == 1:
        return []
    found: dict[int, dict[str, Mark]] = {}
    for key, inner in value.items():
        factor = _factor_named(str(key), factors)
        if factor is None:
            continue
        entries: list[tuple[int | None, Any]] = []
        if isinstance(inner, dict):
            entries = [(image_in(str(k).replace("_", " "), n), v) for k, v in inner.items()]
        elif isinstance(inner, list) and len(inner) == n:
            entries = list(enumerate(inner, 1))
        for position, entry in entries:
            if position is not None:
                found.setdefault(position, {})[factor.key] = _mark(entry, factor, span)
    return list(found.items())


def _marks_of(value: Mapping[str, Any], factors: Sequence[Factor], span: tuple[int, int]) -> dict[str, Mark]:
    marks: dict[str, Mark] = {}
    for key, inner in value.items():
        factor = _factor_named(str(key), factors)
        if factor is None:
            continue
        mark = _mark(inner, factor, span)
        if factor.key in marks and marks[factor.key].value != mark.value:
            mark = Mark(None, "it is given two different numbers", span)
        marks[factor.key] = mark
    if not marks and len(factors) == 1 and any(normal(str(key)) == "score" for key in value):
        # {"reason": …, "score": 1} where there is only one thing to score.
        return {factors[0].key: _mark(value, factors[0], span)}
    return marks


def _mark(value: Any, factor: Factor, span: tuple[int, int]) -> Mark:
    if isinstance(value, Mapping):
        scores = [inner for key, inner in value.items() if normal(str(key)) in _SCORE_KEYS]
        if not scores:
            return Mark(None, "its object holds no score", span)
        value = scores[0]
    if isinstance(value, _Contradiction):
        return Mark(None, "it is given two different numbers", span)
    return number_in_value(value, factor.scale, span)


def _factor_named(name: str, factors: Sequence[Factor]) -> Factor | None:
    wanted = normal(name)
    return next((factor for factor in factors if wanted in {normal(each) for each in factor.names}), None)


def _image_of(value: Mapping[str, Any], n: int) -> int | None:
    for key, inner in value.items():
        if normal(str(key)) in _IMAGE_KEYS and isinstance(inner, str | int) and not isinstance(inner, bool):
            position = image_in(str(inner).replace("_", " "), n)
            if position is not None:
                return position
    return None


def _heading_before(text: str, plain: Plain, place: int, factors: Sequence[Factor], n: int) -> int | None:
    before = [
        label.position
        for label in image_labels(plain.text, n, factors)
        if plain.span(label.start, label.end)[1] <= place
    ]
    return before[-1] if before and text else None


def _located(text: str, found: JsonText, key: str, mark: Mark, factors: Sequence[Factor], n: int) -> Mark:
    """Return the mark with the place of its number, where that can be told; else the place of the whole object."""
    if mark.value is None or n > 1:
        return mark
    names = next(factor.names for factor in factors if factor.key == key)
    loose = "|".join(r"[\s_]+".join(map(re.escape, re.split(r"[\s_]+", name))) for name in names)
    pattern = rf"[\"'“](?:{loose})[\"'”]\s*:\s*(?:\{{[^{{}}]*?[\"'“]\w*(?:score|rating|value)\w*[\"'”]\s*:\s*)?[\"']?(?P<number>[\d.]+)"
    matches = list(re.compile(pattern, re.IGNORECASE).finditer(text, found.start, found.end))
    return Mark(mark.value, mark.fault, matches[-1].span("number")) if matches else mark
