"""JSON as judges write it, amid prose: slips are mended where that takes no guessing, every value keeps its place.

Libraries that mend JSON complete what was cut off (`{"acc": 1` may have been 10), let the last of two equal keys
win in silence, and forget where a value stood. Here a text that ends too soon is cut off, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 30
MAX_STEPS = 200_000
"""How many steps all tries may take together: a reply of nothing but brackets must not keep us busy."""

_OPENING = re.compile(r"[{\[]")
_SPACE = re.compile(r"\s{1,2000}")
_COMMENT = re.compile(
    r"//[^\n]{0,300}|/\*(?:[^*]{0,500}+\*(?!/)){0,20}+[^*]{0,500}+\*/|\#[^\n]{0,300}"
)
_SPACE_OR_COMMENT = frozenset(" \t\r\n\v\f\u00a0\u2028\u2029/#")

# A quotation mark closes a string where structure or a line's end follows it; any other belongs to the string.
_CLOSES = r"(?=\s*(?:[,:}\]]|//|/\*|\#|\Z)|[ \t]*\n)"
_STRINGS = {
    '"': re.compile(rf'"(?P<text>(?:[^"\\]|\\.|"(?!{_CLOSES})){{0,5000}})"', re.DOTALL),
    "'": re.compile(rf"'(?P<text>(?:[^'\\]|\\.|'(?!{_CLOSES})){{0,5000}})'", re.DOTALL),
    "“": re.compile(
        rf"[“„”](?P<text>(?:[^”“\"\\]|\\.|[”“\"](?!{_CLOSES})){{0,5000}})[”“\"]", re.DOTALL
    ),
    "‘": re.compile(rf"[‘’](?P<text>(?:[^’'\\]|\\.|[’'](?!{_CLOSES})){{0,5000}})[’']", re.DOTALL),
}
_STRINGS |= {"”": _STRINGS["“"], "„": _STRINGS["“"], "’": _STRINGS["‘"]}
_BARE_KEY = re.compile(r"[\w$][\w $.\\-]{0,60}(?=\s{0,20}:)")
_BARE = re.compile(r"(?:(?!\s*(?://|/\*|\#|```))[^,:{}\[\]\"“”\n`]){1,60}")
_PLAIN_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A string, a number or a word such as `true`, as written, and where it begins in the reply."""

    text: str
    start: int
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """An object (its pairs in order, repeated keys included) or a list (its keys are empty)."""

    pairs: list[tuple[str, Node]]
    is_list: bool = False

    @property
    def nodes(self) -> list[Node]:
        """The values."""
        return [node for _, node in self.pairs]


Node = Leaf | Tree


@dataclass(frozen=True, slots=True)
class JsonText:
    """An object or list found in a reply."""

    tree: Tree
    start: int
    end: int
    mended: tuple[str, ...]
    """What was wrong with it; empty for plain JSON."""


class _CutError(Exception):
    """The text ends in the middle of an object or list."""


class _NotJsonError(Exception):
    """What stands here is something else."""


class _TooDeepError(Exception):
    """What stands here is nobody's verdict."""


def json_texts(text: str, matters: Callable[[str], bool]) -> tuple[list[JsonText], bool]:
    """Return every outermost object or list in a text, and whether the text ends inside one with a key that matters."""
    found: list[JsonText] = []
    place, steps = 0, 0
    while steps < MAX_STEPS and (opening := _OPENING.search(text, place)) is not None:
        reader = _Reader(text, opening.start())
        try:
            tree = reader.container(0)
        except _TooDeepError:
            place = reader.place
        except _NotJsonError:
            place = opening.end()
        except _CutError:
            if any(map(matters, reader.keys)):
                return found, True
            place = opening.end()
        else:
            found.append(
                JsonText(tree, opening.start(), reader.place, tuple(dict.fromkeys(reader.mended)))
            )
            place = reader.place
        steps += reader.steps
    return found, False


def json_values(text: str) -> list[Any]:
    """Return every object and list in a text as dicts and lists of strings, what they hold being as written."""

    def value(node: Node) -> Any:
        if isinstance(node, Leaf):
            return node.text
        return (
            [value(inner) for inner in node.nodes]
            if node.is_list
            else {k: value(v) for k, v in node.pairs}
        )

    return [value(found.tree) for found in json_texts(text, lambda _: False)[0]]


@dataclass(slots=True)
class _Reader:
    text: str
    place: int
    steps: int = 5
    keys: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)

    def container(self, depth: int) -> Tree:
        """Read the object or list that opens here."""
        if depth > MAX_DEPTH:
            raise _TooDeepError
        is_list = self._take() == "["
        end = self.place
        closing = "]" if is_list else "}"
        pairs: list[tuple[str, Node]] = []
        while self._peek() != closing:
            if pairs and not self._comma(end, closing):
                break
            key = "" if is_list else self._key()
            pairs.append((key, self._value(depth)))
            end = self.place
        self._take()
        return Tree(pairs, is_list)

    def _comma(self, end: int, closing: str) -> bool:
        """Pass the comma after a value that ended at `end`, and tell whether another value follows."""
        if self._peek() == ",":
            self._take()
            if self._peek() != closing:
                return True
            self.mended.append("a trailing comma")
            return False
        # A comma may be missing only where a new line makes up for it.
        if "\n" not in self.text[end : self.place]:
            raise _NotJsonError
        self.mended.append("a missing comma")
        return True

    def _key(self) -> str:
        if self._peek() in _STRINGS:
            key = self._string().text
        elif bare := _BARE_KEY.match(self.text, self.place):
            key, self.place = bare[0], bare.end()
            self.mended.append("a key without quotation marks")
        else:
            raise _NotJsonError
        self.keys.append(key)
        if self._peek() != ":":
            raise _NotJsonError
        self._take()
        return key

    def _value(self, depth: int) -> Node:
        first = self._peek()
        if first in "{[":
            return self.container(depth + 1)
        if first in _STRINGS:
            return self._string()
        bare = _BARE.match(self.text, self.place)
        if bare is None:
            raise _NotJsonError
        start, self.place = self.place, bare.end()
        if not _PLAIN_SCALAR.fullmatch(bare[0].rstrip()):
            self.mended.append("a value that is neither a number nor in quotation marks")
        return Leaf(bare[0].rstrip(), start)

    def _string(self) -> Leaf:
        mark = self.text[self.place]
        match = _STRINGS[mark].match(self.text, self.place)
        self.steps += (match.end() - self.place if match else 5000) // 10
        if match is None:
            raise _CutError if len(self.text) - self.place < 5000 else _NotJsonError
        if mark != '"':
            self.mended.append("single quotes" if mark == "'" else "smart quotes")
        elif '"' in re.sub(r"\\.", "", match["text"]):
            self.mended.append("a quotation mark inside a string")
        self.place = match.end()
        return Leaf(re.sub(r"\\(.)", r"\1", match["text"]), match.start("text"), quoted=True)

    def _peek(self) -> str:
        """Return the next character that is neither space nor comment."""
        self.steps += 1
        while (next_one := self.text[self.place : self.place + 1]) in _SPACE_OR_COMMENT:
            if space := _SPACE.match(self.text, self.place):
                self.place = space.end()
            elif comment := _COMMENT.match(self.text, self.place):
                self.place = comment.end()
                self.mended.append("comments")
            else:
                break
        if not next_one or self.text.startswith("```", self.place):
            raise _CutError
        return next_one

    def _take(self) -> str:
        self.place += 1
        return self.text[self.place - 1]
