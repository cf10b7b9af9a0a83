"""Scores in JSON of any shape: by image or by factor, nested, as a list, one object or many.

JSON stands amid prose, with slips; these are mended where that takes no guessing, and every value
keeps its place. Libraries that mend JSON complete what was cut off (`{"acc": 1` may have been 10),
let the last of two equal keys win in silence, and forget where a value stood. Here a text that ends
too soon is cut off, and nothing else.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from lmmscore.conversation import JsonForm
from lmmscore.parsing.names import UNKNOWN, Names, normal
from lmmscore.parsing.notes import Note
from lmmscore.parsing.numbers import numbers_in, stated_tops, value_in
from lmmscore.parsing.remarks import cannot_tell, is_final, is_no_verdict, kind_of
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
    comments: tuple[str, ...] = ()


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
                )
            )
            place = reader.place

        steps += reader.steps

    return found, False


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
_IMAGE_KEYS = frozenset(
    """image imageid imagenumber imageindex edit editedimage img picture editid imageno edited
    imagenum""".split()
)
_WEAK_IMAGE_KEYS = frozenset(("id", "index", "position", "number", "no", "nr"))
"""They number images, unless the object is about a factor: then they may number anything."""
_LABEL_KEYS = frozenset(
    """name label title file filename path which candidate method option output version
    sample result type kind key imagename imagefile imagelabel model system variant entry
    submission""".split()
)
"""What stands there may name an image, "Image 2", or something that is no edit."""
_TOP_KEYS = frozenset(
    """max maximum maxscore outof maxpoints top maximumscore scalemax maxvalue maxrating
    upperbound""".split()
)
_SCALE_KEYS = frozenset(
    ("scale", "range", "scoringscale", "ratingscale", "scorerange", "scoringrange")
)
_REPLACING = frozenset(("adjusted", "revised", "corrected", "updated", "new"))
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

    def stretches(self) -> list[Span]:
        """Return the places of everything that is JSON, not a list of plain numbers."""
        return [(each.start, each.end) for each in self.texts if _has_keys(each.tree)]

    def notes(self, names: Names) -> Iterator[Note]:
        """Yield what stands beside scores, and is none: `"note": …`."""
        for each in self.texts:
            yield from _notes(each.tree, None, names)
            for comment in each.comments:
                yield Note(None, "comment", comment)


def find_json(text: str, names: Names) -> FoundJson:
    """Find every object and list in a reply."""
    return FoundJson(*json_texts(text, lambda key: _matters(key, names)))


def _matters(key: str, names: Names) -> bool:
    return normal(key) in _SCORE_KEYS or names.factor_named(key) is not None


def _has_keys(tree: Tree) -> bool:
    return any(key or (isinstance(node, Tree) and _has_keys(node)) for key, node in tree.pairs)


def _notes(tree: Tree, image: int | None, names: Names, above: str = "") -> Iterator[Note]:
    """Yield the values under keys that name neither a factor, a score nor an image.

    What is listed stands under the key above it.
    """
    if image is None:
        image = 1 if names.n == 1 else _image_of(tree, names, weak=True)

    for key, node in tree.pairs:
        if _matters(key, names):
            continue

        if isinstance(node, Tree):
            of = names.image_labelled(_spaced(key)) or image
            yield from _notes(node, of, names, key or above)
        elif (
            normal(key) not in _IMAGE_KEYS | _WEAK_IMAGE_KEYS
            and names.image_labelled(_spaced(key)) is None
        ):
            yield Note(image, _spaced(key or above), node.text)


@dataclass(frozen=True, slots=True)
class Above:
    """What heads a JSON text or a table: the image named last before it, and its caption."""

    position: int | None
    verdict: bool
    caption: str = ""
    label: str = ""
    """What stands before it on its own line."""


def json_says(found: Sequence[tuple[JsonText, Above]], names: Names) -> Iterator[Said]:
    """Yield what the JSON in a reply says, each text with what heads it."""
    verdicts = [(each, above) for each, above in found if above.verdict]
    claims = [list(_claims(each.tree, None, names)) for each, _ in verdicts]
    ordered = _in_order(verdicts, claims, names)
    labelled = _by_label(verdicts, claims, names)
    for unit, ((each, above), said) in enumerate(zip(verdicts, claims, strict=True)):
        notes: tuple[str, ...] = ()
        if each.mended:
            notes = ("JSON mended: " + ", ".join(each.mended),)

        # n images numbered from 0 to n-1 can only be meant one way.
        from_zero = {claim.position for claim in said} == set(range(names.n))
        if names.n > 1 and from_zero and not _names_image(each.tree, names.n, names):
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


def _in_order(
    verdicts: Sequence[tuple[JsonText, Above]], claims: Sequence[list[_JsonClaim]], names: Names
) -> dict[int, int]:
    """Return the images of n objects in a row, none of which says which it is of."""
    if names.n < 2:
        return {}

    scoring = [unit for unit, said in enumerate(claims) if said]
    if len(scoring) != names.n:
        return {}

    for unit in scoring:
        json_text, above = verdicts[unit]
        named = {claim.position for claim in claims[unit]}
        keys = {claim.key for claim in claims[unit]}

        twice = len(keys) < len(claims[unit])
        labelled = bool(above.label) or _may_name_an_image(json_text.tree, names)
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
    for unit, (_, above) in enumerate(verdicts):
        if not claims[unit]:
            continue

        position = names.image_labelled(above.label) if above.label else None
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

    yield from _of_pairs(node, image, names)


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

    twice = _given_twice(node, names)
    final = _has_final(node)
    others = any(kind_of(_spaced(key)) is Kind.OTHERS for key, _ in node.pairs)
    for key, inner in node.pairs:
        factor = names.factor_named(key)
        position = names.image_labelled(_spaced(key))
        if others and factor is None and position is None and kind_of(_spaced(key)) is None:
            # Beside somebody else's scores, those of a name that is not known may be anybody's.
            continue

        if factor is not None:
            for claim in _of_factor(inner, factor, image, names):
                mark = claim.mark
                if claim.key in twice:
                    mark = Mark(None, mark.span, FaultKind.CONTRADICTION, _TWO_NUMBERS)

                yield replace(claim, mark=mark)
        elif _is_something_else(key, inner, final=final):
            continue
        elif only and position is not None and isinstance(inner, Leaf):
            yield _JsonClaim(position, only.key, _mark(inner, only))
        else:
            yield from _claims(inner, image if position is None else position, names)


def _is_something_else(key: str, node: Node, *, final: bool) -> bool:
    """Tell whether what stands under a key is no verdict; `final` says that a final one stands
    beside it."""
    if is_no_verdict(key) and not _is_ranked_list(key, node):
        return True
    if final and isinstance(node, Tree) and not is_final(_spaced(key)):
        return True
    return normal(key) in _REASON_KEYS and not _holds_a_number(node)


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


def _given_twice(node: Tree, names: Names) -> set[str]:
    """Return the factors that an object gives two different values."""
    given: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)

    for key, inner in node.pairs:
        factor = names.factor_named(key)
        if factor is not None:
            given[factor.key].add(tuple(leaf.text for leaf in _leaves(inner)))

    return {key for key, values in given.items() if len(values) > 1}


def _is_ranked_list(key: str, node: Node) -> bool:
    """Tell whether this is `"ranking": [{"image": 2, "S_acc": 6, …}, …]`: scores in order of
    rank."""
    return normal(key).startswith("rank") and isinstance(node, Tree) and node.is_list


def _of_list(node: Tree, image: int | None, names: Names) -> Iterator[_JsonClaim]:
    by_entry = [list(_claims(entry, image, names)) for entry in node.nodes]
    if names.n < 2 or len(by_entry) < 2:
        for claims in by_entry:
            yield from claims

        return

    labelled = [_may_name_an_image(entry, names) for entry in node.nodes]

    # As many entries as images, none of them named: they are in the order of the images shown.
    one_each = all(by_entry) and len(by_entry) == names.n
    if one_each and _are_unplaced(by_entry) and not any(labelled):
        yield from _numbered(by_entry)
        return

    for claims, has_label in zip(by_entry, labelled, strict=True):
        for claim in claims:
            # A name that is not understood may be that of any image.
            unknown = claim.position is None and has_label
            yield replace(claim, position=UNKNOWN) if unknown else claim


def _numbered(by_entry: Sequence[Sequence[_JsonClaim]]) -> Iterator[_JsonClaim]:
    """Yield the claims of each entry as those of the image in its place."""
    for position, claims in enumerate(by_entry, 1):
        for claim in claims:
            yield replace(claim, position=position, by_order=True)


def _may_name_an_image(node: Node, names: Names) -> bool:
    """Tell whether an object has a key that images are named by, and is not about a factor."""
    if isinstance(node, Leaf) or node.is_list or _factor_of(node, names) is not None:
        return False
    return _leaf_of(node, _IMAGE_KEYS | _WEAK_IMAGE_KEYS | _LABEL_KEYS) is not None


def _are_unplaced(by_entry: Sequence[Sequence[_JsonClaim]]) -> bool:
    """Tell whether no claim of any entry says which image it is of."""
    return all(claim.position is None for claims in by_entry for claim in claims)


def _of_factor(node: Node, factor: Factor, image: int | None, names: Names) -> Iterator[_JsonClaim]:
    """Read `"S_acc": 6`, `{"score": 6}`, `{"Image 1": 6, …}`, `[6, 7, …]`, `[{"image": 1, …}]`."""
    placed: list[tuple[int | None, Node]] = []
    if isinstance(node, Tree) and image is None and _score_of(node) is None:
        placed = _placed(node, names)

    all_named = all(position is not None for position, _ in placed)
    if not placed or not all_named:
        yield _JsonClaim(image, factor.key, _mark(node, factor))
        return

    for position, inner in placed:
        yield _JsonClaim(position, factor.key, _mark(inner, factor))


def _placed(node: Tree, names: Names) -> list[tuple[int | None, Node]]:
    """Return the values that a factor has, each with its image."""
    if not node.is_list:
        return [(names.image_labelled(_spaced(key)), inner) for key, inner in node.pairs]

    images = [_image_of(each, names, weak=True) for each in node.nodes]
    unnamed = len(images) == names.n and images.count(None) == len(images)
    labelled = [_may_name_an_image(each, names) for each in node.nodes]

    # The only image is whatever it is called.
    if unnamed and (names.n == 1 or not any(labelled)):
        return list(enumerate(node.nodes, 1))

    return list(zip(images, node.nodes, strict=True))


def _mark(node: Node, factor: Factor) -> Mark:
    if isinstance(node, Leaf):
        return value_in(node.text, factor.scale, node.start)

    if _stated_tops(node) - {factor.scale.high}:
        place = next(_leaves(node), Leaf("", 0))
        span = (place.start, place.start + len(place.text))
        return Mark(None, span, FaultKind.OFF_SCALE, "another scale is stated beside it")

    disclaimed = next(
        (leaf for leaf in _leaves(node) if leaf.quoted and cannot_tell(leaf.text)), None
    )
    if disclaimed is not None:
        span = (disclaimed.start, disclaimed.start + len(disclaimed.text))
        return Mark(None, span, FaultKind.DISCLAIMED, "the judge says that it could not see it")

    score = _score_of(node) or _only_number(node, factor)
    if score is None:
        place = next(_leaves(node), Leaf("", 0))
        span = (place.start, place.start + len(place.text))
        return Mark(None, span, FaultKind.NOT_A_NUMBER, "it holds no score")

    return _mark(score, factor)


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


def _leaf_of(node: Tree, keys: frozenset[str]) -> Leaf | None:
    for key, value in node.pairs:
        if normal(key) in keys and isinstance(value, Leaf):
            return value
    return None


def _image_of(node: Node, names: Names, *, weak: bool) -> int | None:
    """Return the image an object names; what says "Image 2" counts before what merely numbers."""
    if isinstance(node, Leaf):
        return None

    leaves = [(normal(key), value.text) for key, value in node.pairs if isinstance(value, Leaf)]
    headed = {names.image_labelled(text) for key, text in leaves if key in _IMAGE_KEYS}
    spoken = {
        names.image_named(text) for key, text in leaves if key in _LABEL_KEYS | _WEAK_IMAGE_KEYS
    }
    named = (headed | spoken) - {None}
    if len(named) > 1:
        return UNKNOWN if names.n > 1 else None
    if named or headed or not weak:
        return next(iter(named), None)

    for key, text in leaves:
        if key in _WEAK_IMAGE_KEYS:
            return names.image_labelled(text)

    return None


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
