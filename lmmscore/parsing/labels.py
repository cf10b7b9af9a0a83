"""The names by which a reply refers to images and factors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lmmscore.scales import Factor
from lmmscore.templates import cardinal, ordinal

_LARGEST_IN_WORDS = 20
_WORDS = {cardinal(i): i for i in range(1, _LARGEST_IN_WORDS + 1)}
_ORDINALS = {ordinal(i): i for i in range(1, _LARGEST_IN_WORDS + 1)}

_NOUN = r"(?:images?|img|pictures?|photos?|edits?|results?|methods?|candidates?|outputs?|versions?|options?|samples?)"
_NUMBER = rf"(?:\d{{1,3}}|{'|'.join(_WORDS)})"
_IMAGE = re.compile(
    rf"""
    (?:the\s+)?(?:
      (?:edited|output|result|resulting)?[\s_]*{_NOUN}[\s_]*(?:no\.?|nr\.?|number|\#)?[\s_]*\#?(?P<number>{_NUMBER})
    | (?P<ordinal>{"|".join(_ORDINALS)}|last|final|\d{{1,3}}(?:st|nd|rd|th))\s+(?:edited\s+)?(?:{_NOUN}|one)
    | \#(?P<bare>\d{{1,3}})
    )(?![\w])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LINE_START = re.compile(
    r"[ \t]*(?:>\s*)*(?:\#{1,6}\s*)?(?:[-•●▪◦+–—]\s+)?(?:\d{1,3}[.)]\s+)?(?:for\s+)?", re.IGNORECASE
)
_AFTER_HEADING = re.compile(r"\s*(?:\([^()\n]*\)|\[[^\[\]\n]*\])?\s*(?P<stop>[:=–—|,.-]|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ImageLabel:
    """An image named at the beginning of a line."""

    position: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FactorLabel:
    """A factor named anywhere."""

    key: str
    start: int
    end: int
    in_words: bool
    """Named in words rather than by its symbol."""


def image_labels(text: str, n: int, factors: Sequence[Factor]) -> Iterator[ImageLabel]:
    """Yield the images that head a line: `Image 3:`, `**Image 3**`, `The third image (…)`; not "Image 3 shows"."""
    for line in re.finditer(r"[^\n]+", text):
        start = _LINE_START.match(text, line.start())
        match = _IMAGE.match(text, start.end() if start else line.start(), line.end())
        if match is None or not _ends_a_label(text, match.end(), line.end(), factors):
            continue
        position = _position(match, n)
        if position is not None:
            yield ImageLabel(position, match.start(), match.end())


def _ends_a_label(text: str, place: int, line_end: int, factors: Sequence[Factor]) -> bool:
    if _AFTER_HEADING.match(text, place, line_end):
        return True
    rest = text[place:line_end].lstrip()
    return any(label.start == 0 for label in factor_labels(rest, factors))


def image_in(text: str, n: int) -> int | None:
    """Return the image a table cell or a JSON key names: `Image 3`, `image_3`, `3`, `third`."""
    text = text.strip().strip(":.#()[] ").strip()
    if re.fullmatch(r"\d{1,3}", text):
        return int(text)
    if text.lower() in _ORDINALS or text.lower() in _WORDS:
        return _ORDINALS.get(text.lower()) or _WORDS[text.lower()]
    match = _IMAGE.match(text)
    tail = text[match.end() :].strip() if match else ""
    return _position(match, n) if match and (not tail or tail[0] in "(:-–—[") else None


def _position(match: re.Match[str], n: int) -> int | None:
    number = (match["number"] or match["bare"] or "").lower()
    if number:
        return int(number) if number.isdigit() else _WORDS[number]
    word = match["ordinal"].lower()
    if word in {"last", "final"}:
        return n
    return _ORDINALS.get(word) or int(re.sub(r"\D", "", word))


def factor_labels(text: str, factors: Sequence[Factor]) -> list[FactorLabel]:
    """Return every place where a factor is named, in order; of overlapping names the longest."""
    labels: list[FactorLabel] = []
    for match in _factor_pattern(tuple((f.key, f.symbol, f.names) for f in factors)).finditer(text):
        which = match.lastgroup or ""
        kind, index = which[0], int(which[1:])
        labels.append(FactorLabel(factors[index].key, *match.span(which), in_words=kind == "w"))
    return labels


@lru_cache(maxsize=64)
def _factor_pattern(names: tuple[tuple[str, str, tuple[str, ...]], ...]) -> re.Pattern[str]:
    alternatives: list[tuple[int, str]] = []
    for index, (key, symbol, all_names) in enumerate(names):
        symbols = {symbol, symbol.replace("_", ""), symbol.replace("_", " ")} - {""}
        words = {name for name in all_names if name not in {symbol, key}}
        # A key such as "real" is also an English word: it names the factor only before a colon or equals sign.
        bare = rf"{_loosely(key)}(?=\s*(?:\([^()\n]*\)\s*)?[:=|])" if key not in words else ""
        alternatives.append((99, rf"(?P<s{index}>{_any(symbols)})") if symbols else (0, ""))
        alternatives.append(
            (max(map(len, words), default=0), rf"(?P<w{index}>{_any(words)})") if words else (0, "")
        )
        alternatives.append((len(key), rf"(?P<k{index}>{bare})"))
    alternatives = [(length, pattern) for length, pattern in alternatives if pattern]
    longest_first = [pattern for _, pattern in sorted(alternatives, key=lambda entry: -entry[0])]
    return re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(longest_first)})(?![A-Za-z0-9_])", re.IGNORECASE)


def _any(names: Iterable[str]) -> str:
    return "|".join(_loosely(name) for name in sorted(names, key=len, reverse=True))


def _loosely(name: str) -> str:
    return r"[\s_]+".join(re.escape(part) for part in re.split(r"[\s_]+", name) if part)


def same_name(one: str, other: str) -> bool:
    """Tell whether two keys are the same but for case, spaces, underscores and LaTeX marks."""
    return normal(one) == normal(other)


def normal(name: str) -> str:
    """Return a key without anything but its letters and digits, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())
