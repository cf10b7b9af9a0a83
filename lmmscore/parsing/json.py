"""Scores in JSON of any shape: by image or by factor, nested, as a list, one object or many.

JSON stands amid prose, with slips; these are mended where that takes no guessing, and every value
keeps its place. Libraries that mend JSON complete what was cut off (`{"acc": 1` may have been 10),
let the last of two equal keys win in silence, and forget where a value stood. Here a text that ends
too soon is cut off, and nothing else.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import yaml

from lmmscore.conversation import JsonForm
from lmmscore.parsing.doubts import Note
from lmmscore.parsing.names import UNKNOWN, Names, normal
from lmmscore.parsing.numbers import numbers_in, stated_tops, value_in
from lmmscore.parsing.remarks import cannot_tell, is_final, is_no_verdict, kind_of
from lmmscore.parsing.tables import ReplyTable, Row, TableCell, entries_of
from lmmscore.parsing.text import Span
from lmmscore.parsing.verdict import FaultKind, Kind, Mark, Said
from lmmscore.scales import Factor

# --- JSON as judges write it ---


MAX_DEPTH = 30
MAX_STEPS = 200_000
"""How many steps all tries may take together:
a reply of nothing but brackets must not keep us busy."""

_OPENING = re.compile(r"[{\[]")
_SPACE = re.compile(r"\s{1,2000}")
_COMMENT = re.compile(
    r"//[^\n]{0,300}|/\*(?:[^*]{0,500}+\*(?!/)){0,20}+[^*]{0,500}+\*/|\#[^\n]{0,300}"
)
_SPACE_OR_COMMENT = frozenset(" \t\r\n\v\f\u00a0\u2028\u2029/#")

# A quotation mark closes a string where structure or a line's end follows it; any other belongs to
# the string.
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
_CLOSING = {"{": "}", "[": "]", "(": ")"}
# Python's: what begins otherwise is a remark in brackets.
_TUPLE = re.compile(r"\(\s*[\"'“‘]")
_BARE_KEY = re.compile(r"[\w$][\w $.\\-]{0,60}(?=\s{0,20}:)")
_BARE = re.compile(r"(?:(?!\s*(?://|/\*|\#|```))[^,:{}\[\]\"“”\n`]){1,60}")
_BARE_IN_TUPLE = re.compile(r"[^,:(){}\[\]\"“”\n`]{1,60}")
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
    comments: tuple[str, ...] = ()
    label: str = ""
    """What stands before it on its own line: `scores["Image 1"] = {…}`."""

    def factor(self, names: Names) -> str:
        """Return the key of the factor that it is said to be of: `S_acc: {"score": 6}`,
        `S_acc = [6, 7]`. Empty where it is of several, or where that is not said."""
        if not self.label or names.only is not None:
            return ""

        named = names.factor_named(self.label)
        if self.tree.is_list:
            # One number for each image.
            row = _row_of(self.tree)
            is_of_it = names.n > 1 and len(row) == names.n
        else:
            is_of_it = _score_of(self.tree) is not None

        return named.key if named is not None and is_of_it else ""


class _CutError(Exception):
    """The text ends in the middle of an object or list."""


class _NotJsonError(Exception):
    """What stands here is something else."""


class _TooDeepError(Exception):
    """What stands here is nobody's verdict."""


def json_texts(text: str, matters: Callable[[str], bool]) -> tuple[list[JsonText], bool]:
    """Return every outermost object or list in a text,
    and whether the text ends inside one with a key that matters."""
    found: list[JsonText] = []
    place, steps = 0, 0
    while steps < MAX_STEPS and (opening := _OPENING.search(text, place)) is not None:
        reader = _JsonReader(text, opening.start())
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
                JsonText(
                    tree,
                    opening.start(),
                    reader.place,
                    tuple(dict.fromkeys(reader.mended)),
                    tuple(reader.comments),
                    _label_of(text, opening.start()),
                )
            )
            place = reader.place

        steps += reader.steps

    return found, False


def _label_of(text: str, place: int) -> str:
    label = text[text.rfind("\n", 0, place) + 1 : place].strip(" \t>*`:=-–—.)")
    item = _ITEM.fullmatch(label)
    return item["key"] if item else label


_ITEM = re.compile(r"[A-Za-z_]\w*\[(?P<mark>[\"'])(?P<key>[^\"']{1,60})(?P=mark)\]")


# --- YAML that cannot be read line by line ---

_YAML_FENCE = re.compile(
    r"^[ \t]*```[ ]?ya?ml[ ]*\n(?P<body>.*?)^[ \t]*```", re.MULTILINE | re.DOTALL | re.IGNORECASE
)
_INDENTED = re.compile(r"^[ ]{3}", re.MULTILINE)
_PARAGRAPH = re.compile(r"^[^\n]+(?:\n[^\n]+)+", re.MULTILINE)
_YAML_LINE = re.compile(r"\s*(?:#.*|(?:-\s+)*[\w\"'][^:]{0,60}:(?:\s.*)?|-(?:\s.*)?|\s\s\S.*)?")
# Objects in braces, text that is folded, and items that begin with a number of theirs.
_NESTED_YAML = re.compile(
    r":[ ]+(?:[{]|\[[^\]\n]*,|[>|][+-]?[ ]*$)|^[ ]*-[ ]+(?:id|idx|index|no|nr|number|name)[ ]*:",
    re.MULTILINE,
)
# Aliases make a page of a line; what is nested like that is nobody's verdict.
_UNLIKELY_YAML = re.compile(r"(?:^|[\s\[{,])[&*]\w|(?:-[ ]){9}|[\[{]{9}|^[ ]{60}", re.MULTILINE)
_YAML_COMMENT = re.compile(r"(?:^|\s)\#([^\n]{1,300})")
_LONGEST_YAML = 50_000


def _yaml_texts(text: str) -> Iterator[JsonText]:
    """Yield what is marked as YAML, and what can be nothing else: keys and values over several
    levels. What has one level is read line by line, as lists are.
    """
    blocks = [(match["body"], match.start("body")) for match in _YAML_FENCE.finditer(text)]
    fenced = bool(blocks)
    if not fenced and ":" in text:
        blocks = [(match[0], match.start()) for match in _PARAGRAPH.finditer(text)]
        blocks = [block for block in blocks if all(map(_YAML_LINE.fullmatch, block[0].split("\n")))]

    for body, start in blocks:
        likely = fenced or _NESTED_YAML.search(body) or _INDENTED.search(body)
        if not likely or len(body) > _LONGEST_YAML or _UNLIKELY_YAML.search(body):
            continue

        try:
            tree = _from_yaml(yaml.compose(body, Loader=yaml.SafeLoader), start)
        except yaml.YAMLError:
            continue

        if isinstance(tree, Leaf) or not (fenced or _can_be_nothing_else(tree, body)):
            continue

        comments = tuple(_YAML_COMMENT.findall(body))
        yield JsonText(tree, start, start + len(body), (), comments)


def _can_be_nothing_else(tree: Tree, body: str) -> bool:
    """Tell whether keys and values are YAML though no fence says so."""
    if any(_is_empty(node) for node in tree.nodes):
        # "Image 2:" with nothing indented below it is a heading.
        return False
    return _NESTED_YAML.search(body) is not None or _is_nested(tree)


def _is_nested(tree: Tree, level: int = 1) -> bool:
    """Tell whether an object with several values stands on the third level: no list of a text in
    Markdown goes so deep."""
    if level >= _DEEP and not tree.is_list and len(tree.pairs) > 1:
        return True
    return any(_is_nested(node, level + 1) for node in tree.nodes if isinstance(node, Tree))


_DEEP = 3


def _is_empty(node: Node) -> bool:
    return isinstance(node, Leaf) and not node.text


def _from_yaml(node: yaml.Node | None, start: int) -> Node:
    """Return a node of YAML, each value with its place in the reply."""
    if isinstance(node, yaml.MappingNode):
        pairs = [(str(key.value), _from_yaml(value, start)) for key, value in node.value]
        return Tree(pairs)

    if isinstance(node, yaml.SequenceNode):
        return Tree([("", _from_yaml(value, start)) for value in node.value], is_list=True)

    if not isinstance(node, yaml.ScalarNode):
        return Leaf("", start)

    place = start + node.start_mark.index + (node.style in {"'", '"'})
    number = node.style is None and _PLAIN_SCALAR.fullmatch(node.value) is not None
    return Leaf(node.value.strip(), place, quoted=not number)


def json_values(text: str) -> list[Any]:
    """Return every object and list in a text as dicts and lists of strings,
    what they hold being as written."""

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
class _JsonReader:
    text: str
    place: int
    steps: int = 5
    keys: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    def container(self, depth: int) -> Tree:
        """Read the object or list that opens here."""
        if depth > MAX_DEPTH:
            raise _TooDeepError

        opening = self._take()
        is_list = opening != "{"
        end = self.place
        closing = _CLOSING[opening]
        pairs: list[tuple[str, Node]] = []
        while self._peek() != closing:
            if pairs and not self._comma(end, closing):
                break

            key = "" if is_list else self._key()
            pairs.append((key, self._value(depth, closing)))
            end = self.place

        self._take()
        return Tree(pairs, is_list)

    def _comma(self, end: int, closing: str) -> bool:
        """Pass the comma after a value that ended at `end`,
        and tell whether another value follows."""
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

    def _value(self, depth: int, closing: str) -> Node:
        first = self._peek()
        if first in "{[":
            return self.container(depth + 1)
        if first in _STRINGS:
            return self._string()
        if _TUPLE.match(self.text, self.place):
            self.mended.append("a tuple")
            return self.container(depth + 1)

        bare = (_BARE_IN_TUPLE if closing == ")" else _BARE).match(self.text, self.place)
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
                self.comments.append(comment[0].strip(" /*#"))
            else:
                break

        if not next_one or self.text.startswith("```", self.place):
            raise _CutError
        return next_one

    def _take(self) -> str:
        self.place += 1
        return self.text[self.place - 1]


# --- What it says ---


_SCORE_KEYS = ("score", "rating", "value", "points", "grade", "finalscore", "finalrating", "mark")
_NAME_KEYS = frozenset(
    """factor name metric criterion criteria dimension aspect key factorname metricname category
    criterionname""".split()
)
_NUMBERING = ("", "id", "number", "num", "no", "nr", "index", "idx", "position")
_IMAGE_KEYS = frozenset(
    noun + numbering
    for noun in """image edit img picture pic photo edited editedimage bild imagen imagem
    immagine 图像 图片 画像 이미지 изображение""".split()
    for numbering in _NUMBERING
)
_WEAK_IMAGE_KEYS = frozenset(_NUMBERING[1:]) | {"i", "编号", "序号", "番号", "번호", "nummer"}
"""They number images, unless the object is about a factor: then they may number anything."""
_ALL_IMAGE_KEYS = _IMAGE_KEYS | _WEAK_IMAGE_KEYS
_LABEL_KEYS = frozenset(
    """name label title file filename path which candidate method option output version
    sample result type kind key imagename imagefile imagelabel model system variant entry
    submission role""".split()
)
"""What stands there may name an image, "Image 2", or something that is no edit."""
_SPEAKING_KEYS = _LABEL_KEYS | _WEAK_IMAGE_KEYS
_TOP_KEYS = frozenset(
    """max maximum maxscore outof maxpoints top maximumscore scalemax maxvalue maxrating
    upperbound""".split()
)
_SCALE_KEYS = frozenset(
    ("scale", "range", "scoringscale", "ratingscale", "scorerange", "scoringrange")
)
_REPLACING = frozenset(("adjusted", "revised", "corrected", "updated", "new", "final", "my", "own"))
_REASON_KEYS = frozenset(
    """justification justifications reason reasons reasoning explanation explanations rationale
    rationales comment comments remark remarks note notes evidence""".split()
)
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:\s*/\s*[0-9]+)?")
_TWO_NUMBERS = "it is given two different numbers"


@dataclass(frozen=True, slots=True)
class _JsonClaim:
    """What a value says of an image (None where none has been named on the way to it)."""

    position: int | None
    key: str
    mark: Mark
    by_order: bool = False
    """Whether its place in a list is all that says which image it is of."""


@dataclass(frozen=True, slots=True)
class FoundJson:
    """The JSON of a reply."""

    texts: list[JsonText]
    cut: bool
    """Whether the reply ends in the middle of some."""

    def stretches(self, names: Names) -> list[Span]:
        """Return the places of everything that is JSON, not a list of plain numbers."""
        return [(each.start, each.end) for each in self.texts if _is_json(each, names)]

    def notes(self, names: Names) -> Iterator[Note]:
        """Yield what stands beside scores, and is none: `"note": …`."""
        for each in self.texts:
            if not each.factor(names):
                yield from _notes(each.tree, None, names)

            for comment in each.comments:
                yield Note(None, "comment", comment)


def find_json(text: str, names: Names) -> FoundJson:
    """Find every object and list in a reply."""
    written, cut = json_texts(text, lambda key: _matters(key, names))
    blocks = list(_yaml_texts(text))
    apart = (
        each
        for each in written
        if not any(block.start <= each.start < block.end for block in blocks)
    )
    return FoundJson([*blocks, *apart], cut)


def _matters(key: str, names: Names) -> bool:
    return normal(key) in _SCORE_KEYS or names.factor_named(key) is not None


def _is_json(found: JsonText, names: Names) -> bool:
    """Tell whether a text is read here: any other list of numbers is read as prose is."""
    if _has_keys(found.tree) or _rows_in(found.tree, names):
        return True
    return bool(found.factor(names))


def _has_keys(tree: Tree) -> bool:
    return any(key or (isinstance(node, Tree) and _has_keys(node)) for key, node in tree.pairs)


def _notes(tree: Tree, image: int | None, names: Names, above: str = "") -> Iterator[Note]:
    """Yield the values under keys that name neither a factor, a score nor an image.

    What is listed stands under the key above it. Notes in an object about one factor are heeded
    with its score.
    """
    if _factor_of(tree, names) is not None:
        return

    if image is None:
        image = 1 if names.n == 1 else _image_of(tree, names, weak=True)

    for key, node in tree.pairs:
        position, factor = _named_by(key, names)
        if factor is not None or normal(key) in _SCORE_KEYS:
            continue

        if isinstance(node, Tree):
            yield from _notes(node, position or image, names, key or above)
            continue

        names_an_image = position is not None or normal(key) in _ALL_IMAGE_KEYS
        in_table = tree.is_list and _is_of_a_table(node, names)
        if not names_an_image and not in_table:
            yield Note(image, _spaced(key or above), node.text)


def _is_of_a_table(leaf: Leaf, names: Names) -> bool:
    """Tell whether what is listed may be a cell of a table: a number, or the name of a column."""
    return _PLAIN_NUMBER.fullmatch(leaf.text) is not None or _matters(leaf.text, names)


@dataclass(frozen=True, slots=True)
class Above:
    """What heads a JSON text or a table: the image named last before it, and its caption."""

    position: int | None
    verdict: bool
    caption: str = ""


def json_says(found: Sequence[tuple[JsonText, Above]], names: Names) -> Iterator[Said]:
    """Yield what the JSON in a reply says, each text with what heads it."""
    verdicts = [(each, above) for each, above in found if above.verdict]
    claims = [list(_claims_of(each, names)) for each, _ in verdicts]
    ordered = _in_order(verdicts, claims, names)
    labelled = _by_label(verdicts, claims, names)
    for unit, ((each, above), said) in enumerate(zip(verdicts, claims, strict=True)):
        if each.factor(names) and each.tree.is_list and above.position is not None:
            # "Image 1:", and under it "S_acc: [7, 10]": not a number for each image.
            continue

        notes: tuple[str, ...] = ()
        if each.mended:
            notes = ("JSON mended: " + ", ".join(each.mended),)

        if _counts_from_zero(each, said, names):
            said = [replace(claim, position=(claim.position or 0) + 1) for claim in said]
            notes += ("images counted from 0",)

        placed = labelled.get(unit, ordered.get(unit, above.position))
        for claim in said:
            position = placed if claim.position is None else claim.position
            if position is not None or names.n == 1:
                yield Said(
                    position,
                    claim.key,
                    claim.mark,
                    "json",
                    each.start + 1_000_000,
                    above.caption,
                    notes,
                    whole=True,
                    by_order=claim.by_order or unit in ordered,
                )


def _counts_from_zero(found: JsonText, said: Sequence[_JsonClaim], names: Names) -> bool:
    """Tell whether images are numbered from 0 to n-1, which can only be meant one way; some of
    them may have no scores."""
    positions = {claim.position for claim in said}
    if names.n == 1 or not positions <= set(range(names.n)):
        return False

    zero = 0 in positions or _names_image(found.tree, 0, names)
    return zero and not _names_image(found.tree, names.n, names)


def _in_order(
    verdicts: Sequence[tuple[JsonText, Above]], claims: Sequence[list[_JsonClaim]], names: Names
) -> dict[int, int]:
    """Return the images of n objects in a row, none of which says which it is of."""
    if names.n < 2:
        return {}

    scoring = [unit for unit, said in enumerate(claims) if said]
    if len(scoring) != names.n or _share_nothing(claims):
        return {}
    if _are_numbered_otherwise([verdicts[unit][0].tree for unit in scoring], names):
        return {}

    for unit in scoring:
        json_text, above = verdicts[unit]
        named = {claim.position for claim in claims[unit]}
        keys = {claim.key for claim in claims[unit]}

        twice = len(keys) < len(claims[unit])
        labelled = bool(json_text.label) or _may_name_an_image(json_text.tree, names)
        if named != {None} or twice or labelled or above.position is not None:
            return {}

    return {unit: position for position, unit in enumerate(scoring, 1)}


def _by_label(
    verdicts: Sequence[tuple[JsonText, Above]], claims: Sequence[list[_JsonClaim]], names: Names
) -> dict[int, int]:
    """Return the images of objects that stand behind a bare number or letter: `2: {"S_acc": 6}`."""
    if names.n < 2:
        return {}

    made: dict[int, int] = {}
    for unit, (json_text, _) in enumerate(verdicts):
        if not claims[unit]:
            continue

        label = json_text.label
        position = names.image_labelled(_spaced(label)) if label else None
        several = names.only is not None or len({claim.key for claim in claims[unit]}) > 1
        if position is None or not several or not 1 <= position <= names.n:
            # A number before an object about one factor may count the factors.
            return {}

        made[unit] = position

    return made if len(set(made.values())) == len(made) else {}


def _names_image(tree: Tree, position: int, names: Names) -> bool:
    """Tell whether an object names an image anywhere, with scores or without."""
    return any(
        names.image_labelled(_spaced(key)) == position
        or (isinstance(node, Tree) and _names_image(node, position, names))
        for key, node in tree.pairs
    )


def _claims_of(found: JsonText, names: Names) -> Iterator[_JsonClaim]:
    key = found.factor(names)
    if key:
        return _of_factor(found.tree, names.factor(key), None, names)
    return _claims(found.tree, None, names)


def _claims(node: Node, image: int | None, names: Names) -> Iterator[_JsonClaim]:
    if isinstance(node, Leaf):
        return

    if node.is_list:
        yield from _of_list(node, image, names)
        return

    factor = _factor_of(node, names)
    if factor is None and _is_labelled_otherwise(node, names):
        return

    tops = _stated_tops(node)
    if tops and not tops <= {each.scale.high for each in names.factors}:
        # Numbers on another scale than was asked for.
        return

    if image is None:
        image = _image_of(node, names, weak=factor is None)

    if factor is not None:
        yield _JsonClaim(image, factor.key, _mark(node, factor))
        return

    order = _stated_order(node, names)
    for claim in _of_pairs(node, image, names):
        if order and claim.by_order and claim.position is not None:
            claim = replace(claim, position=order[claim.position - 1], by_order=False)

        yield claim


def _stated_order(node: Tree, names: Names) -> list[int]:
    """Return the order that an object states for its lists: `"order": ["Image 2", "Image 1"]`."""
    every = list(range(1, names.n + 1))

    for key, inner in node.pairs:
        # Bare numbers are images only under a key that speaks of them: not "editing_accuracy".
        keyed = _ORDER_KEY.search(key.lower()) is not None and names.factor_named(key) is None
        image_of = names.image_labelled if keyed else names.image_named
        order = [image_of(cell.text) or 0 for cell in _row_of(inner)]
        if sorted(order) == every:
            return order

    return []


_ORDER_KEY = re.compile(r"order|image|edit|column|picture|method|sequence")


def _stated_tops(node: Tree) -> set[Fraction]:
    """Return the highest scores of the scales that an object states: `"scale": "1-5"`."""
    found: set[Fraction] = set()
    for key, value in node.pairs:
        if isinstance(value, Tree):
            # `"scale": {"min": 0, "max": 100}`
            found |= _stated_tops(value) if normal(key) in _SCALE_KEYS else set()
            continue

        if normal(key) in _TOP_KEYS:
            found |= {number.value for number in numbers_in(value.text, 0, len(value.text))}
        elif normal(key) in _SCALE_KEYS:
            found |= stated_tops(value.text) or stated_tops(f"scale {value.text}")

    return found


def _factor_of(node: Tree, names: Names) -> Factor | None:
    """Return the factor that an object names as what it is about."""
    for key, value in node.pairs:
        if normal(key) in _NAME_KEYS and isinstance(value, Leaf):
            factor = names.factor_named(value.text)
            if factor is not None:
                return factor

    return None


def _is_labelled_otherwise(node: Tree, names: Names) -> bool:
    keys = _LABEL_KEYS | _IMAGE_KEYS
    if any(names.image_labelled(_spaced(key)) is not None for key, _ in node.pairs):
        # Beside the images, a model is the judge.
        keys -= {"model", "system"}

    for key, value in node.pairs:
        if normal(key) in keys and isinstance(value, Leaf) and is_no_verdict(value.text):
            return True
    return False


def _of_pairs(node: Tree, image: int | None, names: Names) -> Iterator[_JsonClaim]:
    only = names.only
    named = any(_own_factor(key, names) for key, _ in node.pairs)
    if only and not named and _score_of(node) is not None:
        # {"reason": …, "score": 1} where there is only one thing to score.
        yield _JsonClaim(image, only.key, _mark(node, only))
        return

    if rows := _rows_beside_columns(node, image, names):
        yield from _of_rows(rows, image, names)

    twice = _given_twice(node, names)
    for key, inner in _own_pairs(node, names):
        position, factor = _named_by(key, names)
        of = image if position is None else position
        if factor is not None:
            claims = _of_factor(inner, factor, of, names)
            contradicted = (position, factor.key) in twice
            yield from map(_contradicted, claims) if contradicted else claims
        elif only and position is not None and isinstance(inner, Leaf):
            yield _JsonClaim(position, only.key, _mark(inner, only))
        else:
            yield from _claims(inner, of, names)


def _contradicted(claim: _JsonClaim) -> _JsonClaim:
    mark = Mark(None, claim.mark.span, FaultKind.CONTRADICTION, _TWO_NUMBERS)
    return replace(claim, mark=mark)


def _own_pairs(node: Tree, names: Names) -> Iterator[tuple[str, Node]]:
    """Yield the keys and values that may hold this judge's verdict: no drafts, weights or ranks,
    and nothing of somebody else."""
    final = _has_final(node)
    own = any(_is_own(key, inner) for key, inner in node.pairs)
    others = any(kind_of(_spaced(key)) is Kind.OTHERS for key, _ in node.pairs)
    for key, inner in node.pairs:
        position, factor = _named_by(key, names)
        if factor is not None:
            yield key, inner
            continue

        # `"scores_a_human_might_give"`; "expert" may be what the judge calls itself, but not beside
        # its own. And beside somebody else's scores, those of an unknown name may be anybody's.
        somebodys = _OTHER_PEOPLE.search(_spaced(key)) or (own and _is_somebodys(key))
        anybodys = others and kind_of(_spaced(key)) is None
        if position is None and (somebodys or anybodys):
            continue

        if not _is_something_else(key, inner, final=final):
            yield key, inner


@lru_cache(maxsize=4096)
def _named_by(key: str, names: Names) -> tuple[int | None, Factor | None]:
    """Return the image and the factor that a key names: one of them, neither, or both, as in
    `image_2_S_acc`, `S_acc_2` and `S_acc (Image 2)`."""
    bracketed = _IN_BRACKETS.fullmatch(key)
    if bracketed is not None:
        for image, factor in (bracketed.groups(), reversed(bracketed.groups())):
            position, found = names.image_named(_spaced(image)), names.factor_named(factor)
            if position is not None and found is not None:
                return position, found

    found = names.factor_named(key)
    position = names.image_labelled(_spaced(key))
    if found is not None or position is not None:
        return position, found

    for match in _SPLITS.finditer(key):
        parts = (key[: match.start()], key[match.end() :])
        for image, factor in (parts, reversed(parts)):
            found = names.factor_named(factor)
            position = names.image_labelled(_spaced(image)) if found else None
            if position is not None and (names.n > 1 or position == 1):
                return position, found

    return None, None


_SPLITS = re.compile(r"[_. :/,-]+")
_IN_BRACKETS = re.compile(r"([^()\[\]]+?)\s*[(\[]([^()\[\]]+)[)\]]\s*")


def _is_own(key: str, node: Node) -> bool:
    """Tell whether a key heads the judge's own scores."""
    verdict = kind_of(_spaced(key)) is Kind.VERDICT
    return verdict and isinstance(node, Tree) and not _is_somebodys(key)


def _is_somebodys(key: str) -> bool:
    """Tell whether a key speaks of other people who score. A model may be this judge."""
    return _SOMEBODY.search(_spaced(key)) is not None


_OTHER_PEOPLE = re.compile(
    r"\b(?:humans?|persons?|people|annotators?|crowd\w*|some(?:one|body)|else"
    r"|(?:others?|another)\b(?! (?:image|edit|picture|photo|factor|metric))"
    r"|menschen?|personas?)\b|人",
    re.IGNORECASE,
)
_SOMEBODY = re.compile(
    rf"{_OTHER_PEOPLE.pattern}|\b(?:experts?|users?|colleagues?|reviewers?|raters?|critics?|public)\b",
    re.IGNORECASE,
)


def _is_something_else(key: str, node: Node, *, final: bool) -> bool:
    """Tell whether what stands under a key is no verdict; `final` says that a final one stands
    beside it."""
    if is_no_verdict(key) and not _is_ranked_list(key, node):
        return True
    if final and isinstance(node, Tree) and not is_final(_spaced(key)):
        return True
    return normal(key) in _REASON_KEYS and not _holds_a_number(node)


def _is_beside(key: str, node: Node) -> bool:
    """Tell whether a key among images is of all of them: `mean`, `weight`, `best_image`."""
    return _is_something_else(key, node, final=False) or normal(key) in _BEST_KEYS


_BEST_KEYS = frozenset(("best", "bestimage", "bestedit", "winner", "worst", "worstimage"))


def _holds_a_number(node: Node) -> bool:
    """Tell whether one of the values is a number, and nothing else."""
    return any(_PLAIN_NUMBER.fullmatch(leaf.text.strip()) for leaf in _leaves(node))


def _spaced(key: str) -> str:
    return re.sub(r"[_-]", " ", key)


def _own_factor(key: str, names: Names) -> bool:
    """Tell whether a key names a factor, and not just anything that is scored."""
    return names.factor_named(key) is not None and normal(key) not in _SCORE_KEYS


def _has_final(node: Tree) -> bool:
    """Tell whether an object holds a final verdict beside others."""
    trees = [key for key, inner in node.pairs if isinstance(inner, Tree)]
    finals = [key for key in trees if re.search(r"final|revised|corrected|updated", key.lower())]
    return len(finals) == 1 and len(trees) > 1


def _given_twice(node: Tree, names: Names) -> set[tuple[int | None, str]]:
    """Return the factors, each with the image its key names, that have two different values."""
    given: defaultdict[tuple[int | None, str], set[tuple[str, ...]]] = defaultdict(set)

    for key, inner in node.pairs:
        position, factor = _named_by(key, names)
        if factor is not None:
            given[position, factor.key].add(tuple(leaf.text for leaf in _leaves(inner)))

    return {cell for cell, values in given.items() if len(values) > 1}


def _is_ranked_list(key: str, node: Node) -> bool:
    """Tell whether this is `"ranking": [{"image": 2, "S_acc": 6, …}, …]`: scores in order of
    rank."""
    return normal(key).startswith("rank") and isinstance(node, Tree) and node.is_list


def _of_list(node: Tree, image: int | None, names: Names) -> Iterator[_JsonClaim]:
    pair = _as_pair(node)
    if pair is not None:
        yield from _of_pairs(pair, image, names)
        return

    if rows := _rows_in(node, names):
        yield from _of_rows(rows, image, names)
        return

    by_entry = [list(_claims(entry, image, names)) for entry in node.nodes]
    placed: Iterable[list[_JsonClaim]]
    if _share_nothing(by_entry):
        placed = _of_factors(node, by_entry, image, names)
    elif names.n > 1 and len(by_entry) > 1:
        placed = _of_images(node, by_entry, names)
    else:
        placed = by_entry

    for claims in placed:
        yield from claims


def _of_factors(
    node: Tree, by_entry: Sequence[list[_JsonClaim]], image: int | None, names: Names
) -> Iterator[list[_JsonClaim]]:
    """Yield the claims of a list with an entry for each factor: what merely numbers the entries
    numbers no images."""
    for entry, claims in zip(node.nodes, by_entry, strict=True):
        named = _image_of(entry, names, weak=False) is not None
        yield claims if named else [replace(claim, position=image) for claim in claims]


def _of_images(
    node: Tree, by_entry: Sequence[list[_JsonClaim]], names: Names
) -> Iterator[list[_JsonClaim]]:
    """Yield the claims of a list of images, each with its position."""
    labelled = [_may_name_an_image(entry, names) for entry in node.nodes]
    by_order = not any(labelled) and _are_in_order(by_entry, names)
    if by_order and _are_numbered_otherwise(node.nodes, names):
        labelled = [True for _ in labelled]
    elif by_order:
        for position, entry in enumerate(by_entry, 1):
            yield [replace(claim, position=position, by_order=True) for claim in entry]

        return

    for entry, has_label in zip(by_entry, labelled, strict=True):
        if has_label:
            # A name that is not understood may be that of any image.
            yield [_placed_at(UNKNOWN, claim) for claim in entry]
        else:
            yield entry


def _are_in_order(by_entry: Sequence[list[_JsonClaim]], names: Names) -> bool:
    """Tell whether there are as many entries as images, and none says which it is of: then they
    are in the order of the images shown."""
    if len(by_entry) != names.n or not all(by_entry):
        return False
    return all(claim.position is None for entry in by_entry for claim in entry)


def _are_numbered_otherwise(entries: Sequence[Node], names: Names) -> bool:
    """Tell whether entries have numbers of their own under some key, other than those of their
    places: `[{"shown_as": 2, …}, {"shown_as": 1, …}]`. Ranks are no such numbers."""
    numbers: dict[str, list[int | None]] = {}
    for entry in entries:
        for key, value in entry.pairs if isinstance(entry, Tree) else ():
            if isinstance(value, Leaf) and not _matters(key, names) and "rank" not in key.lower():
                numbers.setdefault(key, []).append(names.image_labelled(value.text))

    places = list(range(1, len(entries) + 1))
    return any(
        len(found) == len(places) == len(set(found)) and None not in found and found != places
        for found in numbers.values()
    )


def _placed_at(position: int, claim: _JsonClaim) -> _JsonClaim:
    """Return a claim as of this image, unless it says itself which it is of."""
    return replace(claim, position=position) if claim.position is None else claim


def _share_nothing(by_entry: Sequence[Sequence[_JsonClaim]]) -> bool:
    """Tell whether no factor is scored in every entry that scores any."""
    keys = [{claim.key for claim in claims} for claims in by_entry if claims]
    return len(keys) > 1 and not set.intersection(*keys)


def _as_pair(node: Tree) -> Tree | None:
    """Return `["Image 2", {"S_acc": 6}]` as an object with that key."""
    if len(node.nodes) != 2:
        return None

    label, value = node.nodes
    if isinstance(label, Leaf) and isinstance(value, Tree):
        return Tree([(label.text, value)])
    return None


def _may_name_an_image(node: Node, names: Names) -> bool:
    """Tell whether an object has a key that images are named by, and is not about a factor."""
    if isinstance(node, Leaf) or _factor_of(node, names) is not None:
        return False

    if node.is_list:
        return _as_pair(node) is not None

    keys = _ALL_IMAGE_KEYS | _LABEL_KEYS
    return any(normal(key) in keys and isinstance(value, Leaf) for key, value in node.pairs)


def _of_factor(node: Node, factor: Factor, image: int | None, names: Names) -> Iterator[_JsonClaim]:
    """Read `"S_acc": 6`, `{"score": 6}`, `{"Image 1": 6, …}`, `[6, 7, …]`, `[{"image": 1, …}]`."""
    placed: list[tuple[int | None, Node]] = []
    by_order = False
    if isinstance(node, Tree) and image is None and _score_of(node) is None:
        placed, by_order = _placed(node, names)

    all_named = all(position is not None for position, _ in placed)
    if not placed or not all_named:
        yield _JsonClaim(image, factor.key, _mark(node, factor))
        return

    for position, inner in placed:
        yield _JsonClaim(position, factor.key, _mark(inner, factor), by_order)


def _placed(node: Tree, names: Names) -> tuple[list[tuple[int | None, Node]], bool]:
    """Return the values that a factor has, each with its image,
    and whether their order alone says which."""
    if not node.is_list:
        placed = [(names.image_labelled(_spaced(key)), inner) for key, inner in node.pairs]
        if any(position is not None for position, _ in placed):
            # A mean, a weight or a note beside the images' scores is none of them.
            pairs = zip(placed, node.pairs, strict=True)
            placed = [each for each, (key, inner) in pairs if each[0] or not _is_beside(key, inner)]

        return placed, False

    images = [_image_of(each, names, weak=True) for each in node.nodes]
    unnamed = len(images) == names.n and images.count(None) == len(images)
    labelled = [_may_name_an_image(each, names) for each in node.nodes]

    # The only image is whatever it is called.
    if unnamed and (names.n == 1 or not any(labelled)):
        return list(enumerate(node.nodes, 1)), True

    return list(zip(images, node.nodes, strict=True)), False


def _mark(node: Node, factor: Factor) -> Mark:
    """Return the score of a factor, or why it is none: `6`, `{"score": 6, "reason": …}`."""
    if isinstance(node, Leaf):
        return value_in(node.text, factor.scale, node.start)

    if _stated_tops(node) - {factor.scale.high}:
        says = "another scale is stated beside it"
        return _faulty(next(_leaves(node), None), FaultKind.OFF_SCALE, says)

    disclaimed = _disclaimed(node)
    if disclaimed is not None:
        return disclaimed

    score = _score_of(node) or _only_number(node, factor)
    if score is None:
        return _faulty(next(_leaves(node), None), FaultKind.NOT_A_NUMBER, "it holds no score")
    return _mark(score, factor)


def _disclaimed(node: Tree) -> Mark | None:
    """Return what says, beside a score, that it is none: `{"score": 6, "reason": "not shown"}`."""
    for leaf in _leaves(node):
        if leaf.quoted and cannot_tell(leaf.text):
            return _faulty(leaf, FaultKind.DISCLAIMED, "the judge says that it could not see it")

    for key, inner in node.pairs:
        if not isinstance(inner, Leaf) or normal(key) in _SCORE_KEYS:
            continue

        if Note(1, _spaced(key), inner.text).voids_a_score():
            says = f"what stands beside it may void it: “{_spaced(key)}: {inner.text[:60]}”"
            return _faulty(inner, FaultKind.DISCLAIMED, says)

    return None


def _faulty(leaf: Leaf | None, kind: FaultKind, says: str) -> Mark:
    span = (leaf.start, leaf.start + len(leaf.text)) if leaf else (0, 0)
    return Mark(None, span, kind, says)


def _only_number(node: Tree, factor: Factor) -> Leaf | None:
    """Return the number of `[6, "because …"]`."""
    if not node.is_list or len(node.nodes) > 3:
        return None

    leaves = [inner for inner in node.nodes if isinstance(inner, Leaf)]
    numbers = [
        leaf
        for leaf in leaves
        if value_in(leaf.text, factor.scale, 0).kind is not FaultKind.NOT_A_NUMBER
    ]
    return numbers[0] if len(leaves) == len(node.nodes) and len(numbers) == 1 else None


def _score_of(node: Tree) -> Node | None:
    """Return the value of `score` or of a like key; of two that differ, one that is no number."""
    scores = [
        inner
        for key, inner in node.pairs
        if normal(key) in _SCORE_KEYS or normal(key).removesuffix("score") in _REPLACING
    ]
    texts = {inner.text for inner in scores if isinstance(inner, Leaf)}
    if len(texts) > 1 and isinstance(scores[0], Leaf):
        return replace(scores[0], text=" and ".join(sorted(texts)))
    return scores[0] if scores else None


def _leaves(node: Node) -> Iterator[Leaf]:
    if isinstance(node, Leaf):
        yield node
        return
    for inner in node.nodes:
        yield from _leaves(inner)


def _image_of(node: Node, names: Names, *, weak: bool) -> int | None:
    """Return the image an object names; what says "Image 2" counts before what merely numbers."""
    if isinstance(node, Leaf):
        return None

    leaves = [(normal(key), value.text) for key, value in node.pairs if isinstance(value, Leaf)]
    headed = {names.image_labelled(text) for key, text in leaves if key in _IMAGE_KEYS}
    spoken = {names.image_named(text) for key, text in leaves if key in _SPEAKING_KEYS}
    named = (headed | spoken) - {None}
    if len(named) > 1:
        return UNKNOWN if names.n > 1 else None
    if named or headed or not weak:
        return next(iter(named), None)

    for key, text in leaves:
        if key in _WEAK_IMAGE_KEYS:
            return names.image_labelled(text)

    return None


# --- Lists of lists: tables without bars ---

_ROW_KEYS = frozenset(
    """score scores rating ratings value values point points grade grades mark marks data row rows
    result results verdict verdicts evaluation evaluations image images edit edits item items
    entries list table finalscores""".split()
)


def _of_rows(rows: Sequence[Row], image: int | None, names: Names) -> Iterator[_JsonClaim]:
    only = names.only.key if names.only else None
    table = ReplyTable(list(rows), 0, 0)
    for entry in entries_of(table, image, names, only):
        position = image if entry.position is None else entry.position
        yield _JsonClaim(position, entry.key, entry.mark, entry.by_order)


def _rows_in(node: Tree, names: Names) -> list[Row]:
    """Return the rows of a list of lists, with a heading, where they say what their numbers are:
    `[["S_acc", 6], …]`, `[["image", "S_acc"], [1, 6], …]`. Empty for any other list."""
    rows = [_row_of(entry) for entry in node.nodes]
    widths = {len(row) for row in rows}
    if len(rows) < 2 or len(widths) > 1 or widths <= {0, 1}:
        return []

    first = [row[0] for row in rows]
    if _name_factors(rows[0], names) or _name_factors(first, names):
        return rows

    # Rows that begin with their images have no heading of their own.
    if all(names.image_named(cell.text) is not None for cell in first):
        return _with_heading(rows, names)

    return []


def _with_heading(rows: list[Row], names: Names) -> list[Row]:
    """Return rows of image, factor and score, or of image and score, under such a heading; none
    where they are neither."""
    pairs = len(rows[0]) == 2
    if pairs and names.only is not None:
        return [_titles("image", "score"), *rows]

    by_factor = all(names.factor_named(row[1].text) for row in rows)
    if by_factor and not pairs:
        return [_titles("image", "factor", "score"), *rows]

    return []


def _row_of(node: Node) -> Row:
    """Return the values of a list of nothing else; empty for anything but such a list."""
    if isinstance(node, Leaf) or not node.is_list:
        return []
    row = [TableCell(leaf.text, leaf.start) for leaf in node.nodes if isinstance(leaf, Leaf)]
    return row if len(row) == len(node.nodes) else []


def _titles(*texts: str) -> Row:
    return [TableCell(text, 0) for text in texts]


def _name_factors(row: Row, names: Names) -> bool:
    """Tell whether cells name factors, and not just one of several."""
    found = [cell for cell in row if names.factor_named(cell.text) is not None]
    return len(found) > 1 or (names.only is not None and bool(found))


def _rows_beside_columns(node: Tree, image: int | None, names: Names) -> list[Row]:
    """Return the rows of `{"columns": ["image", "S_acc"], "data": [[1, 6], …]}`, with a heading,
    and of `{"factors": ["S_acc", "S_pre"], "scores": [6, 7]}`, with what labels them."""
    heads = [row for each in node.nodes if _name_factors(row := _row_of(each), names)]
    if len(heads) != 1:
        return []

    head = heads[0]
    below = [each for each in _rows_below(node, names) if len(each[1]) == len(head)]
    if not below:
        return []

    if not all(names.factor_named(cell.text) for cell in head):
        return [head, *(row for _, row in below)]

    rows = [[*_titles(""), *head]]
    for number, (label, row) in enumerate(below, 1):
        if names.image_labelled(label) is None and image is not None:
            label = str(image)
        elif not label and len(below) == names.n:
            label = str(number)

        rows.append([*_titles(label), *row])

    return rows


def _rows_below(node: Tree, names: Names) -> Iterator[tuple[str, Row]]:
    """Yield the lists of values under keys that may head scores, each with its key."""
    for key, inner in node.pairs:
        known = normal(key) in _ROW_KEYS or names.image_labelled(_spaced(key)) is not None
        if not known or isinstance(inner, Leaf):
            continue

        if row := _row_of(inner):
            yield _spaced(key), row
        elif inner.is_list:
            yield from (("", row) for entry in inner.nodes if (row := _row_of(entry)))
        else:
            yield from _rows_below(inner, names)


# --- How long justifications are ---


def length_notes(reply: str, form: JsonForm | None, factors: Sequence[Factor]) -> tuple[str, ...]:
    """Return a note for every justification that is shorter or longer than the dialog asks for."""
    if form is None or form.lengths is None or not form.text:
        return ()

    least, most = form.lengths
    texts: dict[str, str] = {}
    for value in json_values(reply):
        texts |= dict(
            _texts(value, form.text, {normal(factor.key): factor.key for factor in factors})
        )

    counts = {key: len(text.split()) for key, text in texts.items()}
    return tuple(
        f"the {form.text} of {key} has {count} words; {least} to {most} were asked for"
        for key, count in counts.items()
        if not least <= count <= most
    )


def _texts(value: Any, text_key: str, factors: dict[str, str]) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for inner in value:
            yield from _texts(inner, text_key, factors)

    if not isinstance(value, dict):
        return

    for key, inner in value.items():
        factor = factors.get(normal(str(key)))
        if factor is not None and isinstance(inner, dict):
            said = next(
                (text for name, text in inner.items() if normal(str(name)) == normal(text_key)),
                None,
            )
            if isinstance(said, str):
                yield factor, said
        else:
            yield from _texts(inner, text_key, factors)
