"""The names by which a reply refers to images and factors."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lmmscore.parsing.markup import Plain, strip_marks
from lmmscore.scales import Factor
from lmmscore.templates import cardinal, ordinal

_LARGEST_IN_WORDS = 20
_WORDS = {cardinal(i): i for i in range(1, _LARGEST_IN_WORDS + 1)}
_ORDINALS = {ordinal(i): i for i in range(1, _LARGEST_IN_WORDS + 1)}

# Every run of spaces is bounded: a reply of nothing but spaces must not keep us busy.
_NOUN = r"(?:images?|img|pictures?|photos?|edits?|results?|methods?|candidates?|outputs?|versions?|options?|samples?)"
_NUMBER = rf"(?:[0-9]{{1,3}}|{'|'.join(sorted(_WORDS, key=len, reverse=True))})"
_WHICH = r"(?:edited|output|result|resulting|generated)"
_IMAGE = rf"""
    (?:the[ ]{{1,3}})?(?:
      (?:{_WHICH}[ _-]{{0,3}})?{_NOUN}[ _-]{{0,3}}(?:no\.?|nr\.?|number|\#)?[ _-]{{0,3}}\#?(?P<number>{_NUMBER})
    | (?P<ordinal>{"|".join(_ORDINALS)}|last|final|[0-9]{{1,3}}(?:st|nd|rd|th))[ _-]{{1,3}}
      (?:{_WHICH}[ _-]{{1,3}})?(?:{_NOUN}|one)
    | \#(?P<bare>[0-9]{{1,3}})
    )(?!\w)
"""
_NAMED = re.compile(_IMAGE, re.VERBOSE | re.IGNORECASE)
BULLET = r"[ ]{0,40}(?:>[ ]?){0,5}\|?[ ]{0,3}(?:\#{1,6}[ ]{0,3})?(?:[-•●▪◦+*–—][ ]{1,3})?(?:\(?[0-9]{1,3}[.)][ ]{1,3})?"
_HEADS = (
    r"(?=(?:['’]s)?(?:[ ]+(?:scores?|ratings?))?[ ]*(?:\([^()\n]{0,80}\)[ ]*)?(?::|[–—-][ ]|\n|\Z))"
)
_HEADING = re.compile(
    rf"""
    (?:^{BULLET}|(?<=[;.])[ ]{{1,3}})
    (?:(?:as[ ])?for[ ]|(?P<preamble>(?:[A-Za-z]{{1,20}}[ ]){{1,4}}(?:for|of)[ ]))?
    [(\[]?
    (?P<image>{_IMAGE}
      | (?P<source>(?:the[ ])?(?:source|original|reference|ground[ -]truth|input)(?:[ ]{_NOUN})?{_HEADS})
      | (?P<only>(?:the[ ])?edited[ ]image{_HEADS})
      | (?:the[ ])?(?:edited[ ])?image[ ](?P<letter>(?-i:[A-H])){_HEADS})
    [)\]]?
    (?P<more>[ ]*(?:[,&/–—-]|and|to|through|vs\.?)[ ]*(?:the[ ])?(?:{_NOUN}[ ]*)?\#?[0-9])?
    (?:['’]s)?(?:[ ]*(?:/|\bof\b)[ ]*[0-9]{{1,3}})?(?:[ ]+(?:scores?|ratings?|evaluation|assessment|analysis))?
    [ ]*(?:\([^()\n]{{0,120}}\)|\[[^\[\]\n]{{0,120}}\])?[ ]*
    (?P<stop>[:=|]|[–—-](?!\w)|->|→|(?=\n)|\Z)?
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_BRACKETED = re.compile(r"([^()]*)\(([^()]*)\)[: ]*")
_SCORE_OF = re.compile(r"(?:score|rating)$")
_JOINT = re.compile(r"[,.; ]{0,3}")
_UP_TO_WORDS = re.compile(r"[\s•●▪◦+>#|:.()0-9–—-]{0,60}")
_NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class ImageLabel:
    """An image named at the head of what is said of it."""

    position: int | None
    """None for the source image, or for several at once: what follows is said of no edit in particular."""
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


@dataclass(frozen=True, slots=True)
class Page:
    """A reply with the images and the factors that it names, in order."""

    plain: Plain
    factors: Sequence[Factor]
    n: int
    images: list[ImageLabel]
    named: list[FactorLabel]
    known: Mapping[str, Factor]
    """The factors by every name they go by."""

    @property
    def text(self) -> str:
        """The reply without marks."""
        return self.plain.text

    def factor(self, key: str) -> Factor:
        """Return the factor of that key."""
        return self.known[normal(key)]

    def factor_named(self, name: str) -> Factor | None:
        """Return the factor that a table's heading or a JSON key names, whatever its case, spaces and underscores.

        `Editing Accuracy (S_acc)`, `editing_accuracy_score` and `$S_{acc}$` name it too.
        """
        names = [name[:120]]
        if bracketed := _BRACKETED.fullmatch(names[0]):
            names += bracketed.groups()
        for wanted in map(normal, names):
            factor = self.known.get(wanted) or self.known.get(_SCORE_OF.sub("", wanted))
            if factor is not None:
                return factor
        return None

    def image_before(self, place: int) -> ImageLabel | None:
        """Return the image that heads what stands at a place of the plain text."""
        index = bisect_right(self.images, place, key=lambda label: label.end)
        return self.images[index - 1] if index else None


def read_page(text: str, factors: Sequence[Factor], n: int) -> Page:
    """Find the images and factors that a reply names."""
    plain = strip_marks(text)
    named = list(factor_labels(plain.text, factors))
    images = list(_image_labels(plain.text, n, named))
    return Page(plain, factors, n, images, named, known_names(factors))


def _image_labels(text: str, n: int, named: Sequence[FactorLabel]) -> Iterator[ImageLabel]:
    """Yield the images that head something: `Image 3:`, `**Image 3**`, `Scores of the third image (…):`.

    "Image 3 shows" heads nothing; "Image 3 S_acc: 6" and "Image 3, S_acc: 6" do.
    """
    starts = {label.start for label in named}
    for match in _HEADING.finditer(text):
        joint = _JOINT.match(text, match.end())
        before_factor = joint is not None and joint.end() in starts
        if match["stop"] is None and (match["preamble"] or not before_factor):
            continue
        if (
            match["source"]
            and match["stop"] != ":"
            and not _factor_follows(text, match.end(), starts)
        ):
            # A title over a description, after which anything may come.
            continue
        if match["source"] or match["more"]:
            yield ImageLabel(None, match.start("image"), match.end())
        elif match["only"]:
            if n == 1:
                yield ImageLabel(1, match.start("image"), match.end())
        elif match["letter"]:
            # Which of several images is Image B was never said; of one image, there can be no second letter.
            position = ord(match["letter"]) - ord("A") + 1 if n == 1 else None
            yield ImageLabel(position, match.start("image"), match.end())
        else:
            yield ImageLabel(_position(match, n), match.start("image"), match.end())


def _factor_follows(text: str, place: int, starts: Container[int]) -> bool:
    opening = _UP_TO_WORDS.match(text, place)
    return opening is not None and opening.end() in starts


def image_mentions(text: str, start: int, end: int, n: int) -> Iterator[ImageLabel]:
    """Yield the images that are named anywhere in a stretch of text."""
    for match in _NAMED.finditer(text, start, end):
        yield ImageLabel(_position(match, n), match.start(), match.end())


def image_in(text: str, n: int) -> int | None:
    """Return the image a table cell or a JSON key names: `Image 3`, `image_3`, `3`, `third`, `Image 3 (…)`."""
    text = text.strip(":.#()[]_ ")
    if re.fullmatch(r"[0-9]{1,3}", text):
        return int(text)
    if text.lower() in _ORDINALS or text.lower() in _WORDS:
        return _ORDINALS.get(text.lower()) or _WORDS[text.lower()]
    return image_named(text, n)


def image_named(text: str, n: int) -> int | None:
    """Return the image that a text names by a noun: `Image 3`, `the third image`, `#3`, but not `3` or `third`."""
    text = text.strip(":.()[]_ ")
    match = _NAMED.match(text)
    tail = text[match.end() :].strip(" _").lower() if match else ""
    whole = not tail or tail[0] in "(:-–—[" or tail in {"score", "scores", "ratings"}
    return _position(match, n) if match and whole else None


def _position(match: re.Match[str], n: int) -> int:
    number = (match["number"] or match["bare"] or "").lower()
    if number:
        return _WORDS[number] if number in _WORDS else int(number)
    word = match["ordinal"].lower()
    if word in {"last", "final"}:
        return n
    return _ORDINALS.get(word) or int(re.sub(r"\D", "", word))


def factor_labels(text: str, factors: Sequence[Factor]) -> Iterator[FactorLabel]:
    """Yield every place where a factor is named, in order; of overlapping names the longest."""
    for match in _factor_pattern(tuple((f.key, f.symbol, f.names) for f in factors)).finditer(text):
        which = match.lastgroup or ""
        yield FactorLabel(factors[int(which[1:])].key, *match.span(which), in_words=which[0] == "w")


def known_names(factors: Sequence[Factor]) -> dict[str, Factor]:
    """Return the factors by every name they go by, without case, spaces and underscores."""
    names = ((normal(name), factor) for factor in reversed(factors) for name in factor.names)
    return {name: factor for name, factor in names if name}


@lru_cache(maxsize=64)
def _factor_pattern(names: tuple[tuple[str, str, tuple[str, ...]], ...]) -> re.Pattern[str]:
    alternatives: list[tuple[int, str]] = []
    for index, (key, symbol, all_names) in enumerate(names):
        words = {name for name in all_names if name not in {symbol, key}}
        if symbol:
            alternatives.append((99, rf"(?P<s{index}>{_loosely(symbol)})"))
        if words:
            alternatives.append((max(map(len, words)), rf"(?P<w{index}>{_any(words)})"))
        # A key such as "real" is also an English word: it names the factor only before a colon or equals sign.
        alternatives.append(
            (len(key), rf"(?P<k{index}>{_loosely(key)})(?=[ ]*(?:\([^()\n]{{0,80}}\)[ ]*)?[:=])")
        )
    longest_first = [pattern for _, pattern in sorted(alternatives, key=lambda entry: -entry[0])]
    return re.compile(
        rf"(?<![A-Za-z0-9_])(?:{'|'.join(longest_first)})(?![A-Za-z0-9_])", re.IGNORECASE
    )


def _any(names: Iterable[str]) -> str:
    return "|".join(_loosely(name) for name in sorted(names, key=len, reverse=True))


def _loosely(name: str) -> str:
    parts = [re.escape(part) for part in re.split(r"[\s_-]+", name) if part]
    return r"[ _-]{0,3}".join(
        "(?:and|&)" if part.lower() in {"and", "&"} else part for part in parts
    )


def normal(name: str) -> str:
    """Return a key without anything but its letters and digits, in lower case."""
    return _NEITHER_LETTER_NOR_DIGIT.sub("", name.replace("&", "and").casefold())
