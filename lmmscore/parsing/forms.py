"""Replies in a form that the dialog prescribes: scores in a list without names, words as scores.

Whatever is not in that form is read as any other reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction

from lmmscore.parsing.read import read_reply
from lmmscore.parsing.verdict import Cell, Fault, FaultKind, Reading
from lmmscore.records import Reply
from lmmscore.scales import Factor, Scale, word_key

_SCALAR = re.compile(r"""\s*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^,\[\]\n"']*)\s*""")
_NUMBER = re.compile(
    r"(?P<number>[-+]?\d{1,6}(?:\.\d{1,6})?)(?:\s*(?:/|out\s+of)\s*(?P<top>\d{1,6}(?:\.0+)?))?"
)
_IMAGE = re.compile(r"\b(?:image|edit|picture|candidate|img)[\s_#]*(\d{1,3})\b", re.IGNORECASE)
_BARE_LIST = re.compile(r"^[ \t`*]*\[(?=[^\n]*\][ \t`*.]*$)", re.MULTILINE)
_DECORATION = "\"'`*_ \t$"


# What a reader of numbers says of words, and of a reply that was read in words.
_NO_NUMBER = (FaultKind.OFF_SCALE, FaultKind.MISSING_FACTOR, FaultKind.NOT_A_NUMBER)
_BESIDE_THE_POINT = (FaultKind.NO_VERDICT, FaultKind.MISSING_IMAGE)


@dataclass(frozen=True, slots=True)
class FormReading:
    """What a reply in a prescribed form says, and what it says does not apply."""

    reading: Reading
    absent: frozenset[Cell] = frozenset()


def read_form(reply: Reply, factors: Sequence[Factor], n: int, list_key: str = "") -> FormReading:
    """Return the scores of n images: from a list under a key, from words, or as usual."""
    if reply.finish == "content_filter" or reply.refusal or not reply.text.strip():
        return FormReading(read_reply(reply, factors, n))

    if list_key:
        found = _read_lists(reply, factors, n, list_key)
        if found is not None:
            return found

    if any(factor.scale.words for factor in factors):
        return _read_words(reply, factors, n)

    return FormReading(read_reply(reply, factors, n))


# Lists


@dataclass(frozen=True, slots=True)
class _FormEntry:
    text: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Listed:
    """A list as it stands in a reply: its entries, or its inner lists."""

    entries: tuple[_FormEntry, ...]
    inner: tuple[_Listed, ...]
    end: int


def _read_lists(reply: Reply, factors: Sequence[Factor], n: int, key: str) -> FormReading | None:
    """Return what the last list under the key says; None where no list there holds a score."""
    verdicts: list[list[_Listed]] = []
    by_image: dict[int, _Listed] = {}
    for start, found in _lists(reply.text, key):
        rows = list(found.inner) or [found]
        if not any(_is_said(entry, factors) for row in rows for entry in row.entries):
            # `[score1, score2]`: the form itself, quoted.
            continue
        if n > 1 and len(rows) == 1:
            by_image[_image_before(reply.text, start) or len(by_image) + 1] = rows[0]
        else:
            verdicts.append(rows)
    if not verdicts and by_image:
        verdicts = [[by_image[image] for image in sorted(by_image)]]
        if sorted(by_image) != list(range(1, n + 1)):
            says = f"the lists are of the images {', '.join(map(str, sorted(by_image)))}"
            return _fault(FaultKind.CONTRADICTION, f"{says}; {n} were shown")
    if not verdicts:
        return None
    return _cut(_from_rows(verdicts[-1], factors, n), reply)


def _lists(text: str, key: str) -> Iterator[tuple[int, _Listed]]:
    named = re.compile(rf"(?<!\w){re.escape(key)}s?[\"'`*_\s]*[:=]\s*[`*]*\s*\[", re.IGNORECASE)
    matches = [*named.finditer(text)] or [*_BARE_LIST.finditer(text)]
    for match in matches:
        found = _list_at(text, match.end() - 1)
        if found is not None:
            yield match.start(), found


def _list_at(text: str, start: int, depth: int = 0) -> _Listed | None:
    """Return the list that opens here; None where it is not closed or nested more than once."""
    entries: list[_FormEntry] = []
    inner: list[_Listed] = []
    at = start + 1
    while at < len(text):
        if text[at] == "[" and depth == 0:
            found = _list_at(text, at, 1)
            if found is None:
                return None
            inner.append(found)
            at = found.end
        elif text[at] == "]":
            return _Listed(tuple(entries), tuple(inner), at + 1)
        elif text[at] in ", \t\r\n":
            at += 1
        else:
            match = _SCALAR.match(text, at)
            if match is None or match.end() == at:
                return None
            entries.append(_FormEntry(match[1].strip(), match.span(1)))
            at = match.end()
    return None


def _is_said(entry: _FormEntry, factors: Sequence[Factor]) -> bool:
    plain = entry.text.strip(_DECORATION)
    words = {word_key(word) for factor in factors for word in factor.scale.words or ()}
    return _NUMBER.fullmatch(plain) is not None or word_key(plain) in words


def _from_rows(rows: Sequence[_Listed], factors: Sequence[Factor], n: int) -> FormReading:
    if len(rows) != n:
        return _fault(FaultKind.CONTRADICTION, f"the list is of {len(rows)} images; {n} were shown")
    scores: dict[Cell, Fraction] = {}
    spans: dict[Cell, tuple[int, int]] = {}
    absent: set[Cell] = set()
    faults: list[Fault] = []
    for position, row in enumerate(rows, 1):
        if len(row.entries) > len(factors):
            says = f"the list has {len(row.entries)} scores; {len(factors)} were asked for"
            faults.append(Fault(FaultKind.CONTRADICTION, says, position))
            continue
        for factor, entry in zip(factors, row.entries, strict=False):
            cell = (position, factor.key)
            value = _meaning(entry.text, factor.scale)
            if isinstance(value, Fraction):
                scores[cell], spans[cell] = value, entry.span
            elif value is None:
                absent.add(cell)
            else:
                faults.append(Fault(FaultKind.OFF_SCALE, value, *cell))
        for factor in factors[len(row.entries) :]:
            says = "the list has no score for it"
            faults.append(Fault(FaultKind.MISSING_FACTOR, says, position, factor.key))
    return FormReading(Reading(scores, spans, tuple(faults), "list"), frozenset(absent))


def _meaning(text: str, scale: Scale) -> Fraction | str | None:
    """Return the score a text stands for, None for one that does not count, or what is wrong."""
    plain = text.strip(_DECORATION)
    if scale.words is not None:
        by_word = {word_key(word): value for word, value in scale.words.items()}
        if word_key(plain) not in by_word:
            return f"{plain[:40]!r} is not one of {scale}"
        value = by_word[word_key(plain)]
        return None if value is None else Fraction(value)
    match = _NUMBER.fullmatch(plain)
    if match is None:
        return f"{plain[:40]!r} is not a number"
    score = Fraction(match["number"])
    if match["top"] and Fraction(match["top"]) != scale.high:
        return f"{plain} is on another scale than {scale}"
    return scale.fault(score) or score


def _image_before(text: str, place: int) -> int | None:
    """Return the image that was named last before a place."""
    named = [int(match[1]) for match in _IMAGE.finditer(text, 0, place)]
    return named[-1] if named else None


# Words


@dataclass(slots=True)
class _Said:
    """What a reply says in words: for each image and factor, its last word."""

    values: dict[Cell, Decimal | None] = field(default_factory=dict)
    spans: dict[Cell, tuple[int, int]] = field(default_factory=dict)


def _read_words(reply: Reply, factors: Sequence[Factor], n: int) -> FormReading:
    """Return the scores of factors with scales of words, and of the others as usual."""
    said = _said(reply.text, factors, n)
    scores = {cell: Fraction(value) for cell, value in said.values.items() if value is not None}
    spans = {cell: said.spans[cell] for cell in scores}
    absent = frozenset(cell for cell, value in said.values.items() if value is None)
    silent = [
        factor
        for factor in factors
        if any((position, factor.key) not in said.values for position in range(1, n + 1))
    ]
    faults: list[Fault] = []
    layout = "words"
    notes: tuple[str, ...] = ()
    if silent:
        other = read_reply(reply, [_numeric(factor) for factor in silent], n)
        layout, notes = other.layout or layout, other.notes
        for (position, key), number in other.scores.items():
            cell = (position, key)
            value = _number_word(number, next(f for f in silent if f.key == key).scale)
            if cell in said.values:
                continue
            if isinstance(value, str):
                faults.append(Fault(FaultKind.OFF_SCALE, value, *cell))
            elif value is None:
                absent |= {cell}
            else:
                scores[cell], spans[cell] = value, other.spans[cell]
        faults += _open_faults(other.faults, silent, {*said.values, *absent, *scores}, n)
    reading = Reading(scores, spans, tuple(faults), layout, notes)
    return _cut(FormReading(reading, absent), reply)


def _open_faults(
    faults: Sequence[Fault], factors: Sequence[Factor], known: set[Cell], n: int
) -> list[Fault]:
    """Return a fault for everything still open: the reader's own, or that nothing was said."""
    return [
        _open_fault(faults, factor, position, partly=bool(known))
        for position in range(1, n + 1)
        for factor in factors
        if (position, factor.key) not in known
    ]


def _open_fault(faults: Sequence[Fault], factor: Factor, position: int, *, partly: bool) -> Fault:
    silence = Fault(
        FaultKind.MISSING_FACTOR, f"none of {factor.scale} was found", position, factor.key
    )
    for fault in reversed(faults):
        concerns = fault.position in (None, position) and fault.factor in (None, factor.key)
        # What a reader of numbers says of a reply that was read in words is beside the point.
        if concerns and not (partly and fault.kind in _BESIDE_THE_POINT):
            if factor.scale.words and fault.kind in _NO_NUMBER:
                return silence
            return replace(fault, position=position, factor=factor.key)
    return silence


def _numeric(factor: Factor) -> Factor:
    """Return the factor as one of numbers: those among its words, or none that could be met."""
    if factor.scale.words is None:
        return factor
    numbers = [Decimal(word) for word in factor.scale.words if _NUMBER.fullmatch(word)]
    scale = Scale(values=tuple(numbers)) if numbers else Scale(values=(_NEVER,))
    return factor.model_copy(update={"scale": scale})


_NEVER = Decimal("-987654.5")
"""On no scale: a factor of words alone has no score in numbers."""


def _number_word(number: Fraction, scale: Scale) -> Fraction | str | None:
    """Return what a number means on a scale of words, where it is one of the words."""
    if scale.words is None:
        return number

    for word, value in scale.words.items():
        if _NUMBER.fullmatch(word) and Fraction(word) == number:
            return None if value is None else Fraction(value)

    return f"{number} is not one of {scale}"


def _said(text: str, factors: Sequence[Factor], n: int) -> _Said:
    found = _Said()
    for factor in factors:
        words = [w for w in factor.scale.words or () if not _NUMBER.fullmatch(w)]
        if not words:
            continue
        only = len(factors) == 1
        for match in _word_pattern(factor, words, only=only).finditer(text):
            position = 1 if n == 1 else _image_before(text, match.start("word"))
            if position is None or not 1 <= position <= n:
                continue
            cell = (position, factor.key)
            spoken = word_key(match["word"])
            meaning = {word_key(word): value for word, value in (factor.scale.words or {}).items()}
            found.values[cell] = meaning[spoken]
            found.spans[cell] = match.span("word")
    return found


def _word_pattern(factor: Factor, words: Sequence[str], *, only: bool) -> re.Pattern[str]:
    """Return what finds `Left Arm: MATCH`, the same in JSON, or the word as the whole reply."""
    listed = "|".join(_loosely(word) for word in sorted(words, key=len, reverse=True))
    names = "|".join(_loosely(name) for name in sorted(factor.names, key=len, reverse=True))
    # A word with another beside it, `MATCH | MISMATCH`, is the choice that was offered.
    word = rf"(?P<word>{listed})(?!\w)(?![\"'`*]*\s*(?:\||/|or\b))"
    value = r"[\s\"'`*_(\[]*"
    joint = rf"[\"'`*_)\]\s]*(?:[:=|–—-]|->|→|\bis\b){value}"
    labelled = rf"(?:\{{[^{{}}]*?[\"'](?:{_VALUE_KEYS})[\"']\s*:{value})?"
    alone = rf"|\A{value}(?P<whole>)" if only else ""
    named = rf"(?<!\w)(?:{names})(?!\w){joint}{labelled}"
    return re.compile(rf"(?:{named}{alone}){word}", re.IGNORECASE)


_VALUE_KEYS = "score|label|value|answer|result|verdict|status|rating|judge?ment|decision"


def _loosely(name: str) -> str:
    """Return a pattern for a name, whatever stands between its parts."""
    parts = [re.escape(part) for part in re.split(r"[\s_]+", name.strip()) if part]
    return r"[\s_-]*".join(parts)


# Both


def _fault(kind: str, says: str) -> FormReading:
    return FormReading(Reading(faults=(Fault(FaultKind(kind), says),)))


def _cut(found: FormReading, reply: Reply) -> FormReading:
    """Return the reading; nothing of it where the reply was cut off before it was complete."""
    if reply.finish != "length" or found.reading.complete:
        return found
    return _fault(
        FaultKind.TRUNCATED, "the answer was cut off by the token limit; raise it with --max-tokens"
    )
