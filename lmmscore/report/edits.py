"""Edits and conversations as the data that the page's scripts unpack on demand."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from lmmscore.records import OVERALL, Item, Outcome, half_up
from lmmscore.report.charts import MeanRatings
from lmmscore.report.run_data import Piece, PlayedTurn, RunData, ScoredEdit, Talk, in_utc
from lmmscore.scores import TIE, Match

TALKS_IN_BUNDLE = 20
"""Conversations per bundle."""

Counted = TypeVar("Counted")

_FIRST_KINDS = ("source", "reference", "marked")


class Numbered(dict[Counted, int]):
    """Numbers things in the order of their first use; the page refers to them by number."""

    def add(self, thing: Counted) -> int:
        """Return its number, a new one if it is new."""
        return self.setdefault(thing, len(self))


class EditData:
    """Turns one run into the items and conversations of the page."""

    def __init__(
        self, run: RunData, prefix: str, pictures: Numbered[Path], texts: Numbered[str]
    ) -> None:
        self._run = run
        self._prefix = prefix
        self._pictures = pictures
        self._texts = texts
        several = len({talk.dialog for talk in run.talks}) > 1
        self._several_dialogs = several
        self._talk_ids = [talk_id(talk, prefix, several) for talk in run.talks]

    # Items

    def items(self, ratings: MeanRatings) -> list[dict[str, Any]]:
        """Return every item with its pictures, its edits and their scores, in the run's order."""
        by_item: dict[str, list[tuple[str, Talk]]] = {}
        for name, talk in zip(self._talk_ids, self._run.talks, strict=True):
            by_item.setdefault(talk.item, []).append((name, talk))
        return [
            self._item(item, task, by_item.get(item, []), ratings) for item, task in self._run.items
        ]

    def _item(
        self, item: str, task: str, talks: list[tuple[str, Talk]], ratings: MeanRatings
    ) -> dict[str, Any]:
        run = self._run
        seen = _seen(talks)
        # The benchmark is only looked into for what no conversation shows: it may have moved.
        complete = bool(talks) and len(seen) == len(run.methods)
        known = None if complete else run.benchmark_items.get(item)
        images = talks[0][1].images if talks else known.images if known else {}
        kinds = sorted(images, key=_kind_order)
        return {
            "id": item,
            "slug": item_id(item, self._prefix),
            "task": task,
            "instruction": _instruction(talks, known),
            "pictures": [[kind, self._pictures.add(images[kind])] for kind in kinds],
            "edits": [
                self._edit(item, number, method, seen.get(method, []), known, ratings)
                for number, method in enumerate(run.methods)
                if (item, method) in run.edits
            ],
            "talks": [name for name, _ in talks],
        }

    def _edit(
        self,
        item: str,
        number: int,
        method: str,
        seen: list[tuple[Path, list[Any]]],
        known: Item | None,
        ratings: MeanRatings,
    ) -> dict[str, Any]:
        path = seen[0][0] if seen else known.edits.get(method) if known else None
        edit = self._run.edits[item, method]
        data: dict[str, Any] = {
            "method": number,
            "picture": None if path is None else self._pictures.add(path),
            "seen": [place for _, place in seen],
            "scores": [_short(edit.mean(factor)) for factor in self._run.factors],
        }
        if self._run.run.is_of_pairs:
            data["matches"] = self._matches.get((item, method), [])

        data |= _outcome(edit)
        spreads = [_short(edit.spread(factor)) for factor in self._run.factors]
        if any(value is not None for value in spreads):
            data["spread"] = spreads

        rated = [self._rating(ratings, item, method, factor) for factor in self._run.factors]
        if any(value is not None for value in rated):
            data["people"] = rated

        return data

    @cached_property
    def _matches(self) -> dict[tuple[str, str], list[list[Any]]]:
        """By item and method: the other method, how it ended, and each showing of the pair."""
        run = self._run
        numbers = {method: number for number, method in enumerate(run.methods)}
        names = {}
        for name, talk in zip(self._talk_ids, run.talks, strict=True):
            names[talk.item, talk.repeat, talk.order] = name

        found: dict[tuple[str, str], list[list[Any]]] = {}
        for match in run.matches:
            showings = [
                [[numbers[method] for method in row.shown], names[row.item, row.repeat, row.shown]]
                for row in match.shown
                if (row.item, row.repeat, row.shown) in names
            ]
            both = (match.method_a, match.method_b)
            for own, other in (both, both[::-1]):
                line = [numbers[other], _result(match, own), match.repeat, showings]
                found.setdefault((match.item, own), []).append(line)

        return found

    def _rating(self, ratings: MeanRatings, item: str, method: str, factor: str) -> float | None:
        own = ratings.get((item, method, factor))
        # Ratings of a single method may name none.
        return _short(ratings.get((item, "", factor)) if own is None else own)

    # Conversations

    def talks(self) -> list[dict[str, Any]]:
        """Return every conversation as plain data."""
        pairs = zip(self._talk_ids, self._run.talks, strict=True)
        return [self._talk(name, talk) for name, talk in pairs]

    def _talk(self, name: str, talk: Talk) -> dict[str, Any]:
        run = self._run
        methods = {method: number for number, method in enumerate(run.methods)}
        return {
            "id": name,
            "label": self._label(talk),
            "item": talk.item,
            "instruction": talk.instruction,
            "repeat": talk.repeat,
            "about": talk.covers,
            "order": [methods[method] for method in talk.order if method in methods],
            "system": talk.system,
            "turns": [self._turn(name, turn) for turn in talk.turns],
            "read": self._all_read(talk),
            "faults": list(talk.faults),
            "failure": talk.failure,
            "verdict": self._verdict(talk),
        }

    def _verdict(self, talk: Talk) -> str:
        """Return the judge's decision on a pair; empty for other conversations."""
        if talk.covers != "pair":
            return ""
        if talk.winner == TIE:
            return "A tie."
        return f"{self._run.names.method(talk.winner)} won." if talk.winner else "No verdict."

    def _all_read(self, talk: Talk) -> list[dict[str, Any]]:
        if talk.covers == "pair":
            return []
        return [self._read(talk, place) for place in range(1, len(talk.order) + 1)]

    def _label(self, talk: Talk) -> str:
        dialog = talk.dialog if self._several_dialogs else ""
        method = self._run.names.method(talk.method) if talk.method else ""
        if talk.covers == "pair":
            method = " and ".join(self._run.names.method(name) for name in talk.order)
        return ", ".join(part for part in (f"repeat {talk.repeat}", dialog, method) if part)

    def _read(self, talk: Talk, position: int) -> dict[str, Any]:
        """Return what was read for one edit in this conversation."""
        key = (talk.item, talk.method_at(position), talk.repeat)
        numbers = self._run.by_repeat.get(key, {})
        factors = [factor for factor in self._run.factors if factor != OVERALL]
        line: dict[str, Any] = {
            "scores": [numbers.get(factor) for factor in factors],
            "overall": numbers.get(OVERALL),
            "stated": talk.stated.get(position),
        }
        if position in talk.slips:
            line["error"] = True

        return line

    def _turn(self, talk: str, turn: PlayedTurn) -> dict[str, Any]:
        nodes = markup(turn.pieces)
        data: dict[str, Any] = {
            "id": turn_id(talk, turn),
            "name": turn.name,
            "position": turn.position,
            "pictures": [[kind, self._pictures.add(path)] for kind, path in turn.images],
            "question": self._texts.add(turn.entry.question if turn.entry else ""),
            "reply": nodes,
            "marks": list(turn.marks),
        }
        optional = {
            "lost": turn.entry is None,
            "raw": "" if is_plain(nodes) else turn.reply.text,
            "scored": any(piece.read for piece in turn.pieces),
            "refusal": turn.reply.refusal,
            "reasoning": turn.reply.reasoning,
            "facts": _facts(turn),
        }
        return data | {key: value for key, value in optional.items() if value}


def _kind_order(kind: str) -> tuple[int, str]:
    known = _FIRST_KINDS.index(kind) if kind in _FIRST_KINDS else len(_FIRST_KINDS)
    return known, kind


def _instruction(talks: Sequence[tuple[str, Talk]], known: Item | None) -> str:
    if talks:
        return talks[0][1].instruction
    return known.instruction if known else ""


def _seen(talks: Sequence[tuple[str, Talk]]) -> dict[str, list[tuple[Path, list[Any]]]]:
    """Return, by method, every showing of its edit: the file, and repeat, position and turn."""
    found: dict[str, list[tuple[Path, list[Any]]]] = {}
    for name, talk in talks:
        for turn in talk.turns:
            for kind, path in turn.images:
                position = position_of(kind, turn)
                if position is None:
                    continue

                place = [talk.repeat, position, turn_id(name, turn)]
                found.setdefault(talk.method_at(position), []).append((path, place))

    return found


def position_of(kind: str, turn: PlayedTurn) -> int | None:
    """Return the place of the edit that a picture shows; None for a source or a reference."""
    if kind == "edit":
        return turn.position or 1
    return {"first": 1, "second": 2}.get(kind)


def _result(match: Match, own: str) -> str:
    if not match.winner:
        return "no verdict"
    if not match.consistent:
        return "split"
    return {own: "won", TIE: "tied"}.get(match.winner, "lost")


def _outcome(edit: ScoredEdit) -> dict[str, str]:
    if edit.outcome == Outcome.SCORED:
        return {"outcome": str(edit.outcome)}
    return {"outcome": str(edit.outcome), "reason": edit.reason}


def _facts(turn: PlayedTurn) -> str:
    """Return who answered, when, and at what cost, in one line."""
    if turn.entry is None:
        return ""

    reply, usage = turn.reply, turn.reply.usage
    parts = [reply.model, f"{in_utc(turn.entry.recorded_at)} UTC"]
    if usage.prompt_tokens is not None or usage.completion_tokens is not None:
        sent, received = usage.prompt_tokens or 0, usage.completion_tokens or 0
        parts.append(f"{sent:,} tokens in, {received:,} out")

    if reply.cost_usd is not None:
        parts.append(f"${reply.cost_usd:.4f}")

    return " · ".join(part for part in parts if part)


def _short(value: float | None) -> float | None:
    # The page rounds once more, to what it shows. Six places are far more than that: no mean of a
    # few repeats comes so near to a half without being one.
    return None if value is None else half_up(value, 6)


def run_facts(run: RunData, *, rated: bool, alike: Collection[str]) -> dict[str, Any]:
    """Return what the page's scripts must know about a run.

    `alike` are the factors on which the judge and the raters use one scale.
    """
    tasks = dict.fromkeys(task for _, task in run.items)
    return {
        "name": run.name,
        "methods": [run.names.method(name) for name in run.methods],
        "method_ids": run.methods,
        "method_slugs": [slug(name) for name in run.methods],
        "factors": [
            {
                "key": key,
                "slug": slug(key),
                "title": run.title(key),
                "scale": run.scales.get(key),
                "alike": key in alike,
                "low": key in run.manifest.lower_better,
            }
            for key in run.factors
        ],
        "overall": OVERALL if OVERALL in run.factors else "",
        "tasks": [
            {"key": task, "slug": slug(task), "title": run.names.task(task)} for task in tasks
        ],
        "outcomes": sorted({str(edit.outcome) for edit in run.edits.values()}),
        "about": "pair" if run.run.is_of_pairs else "edit" if run.apart else "item",
        "people": rated,
        "repeats": run.manifest.repeats,
    }


def talk_list(talks: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return the conversations of all runs by name, with the bundle that each lies in."""
    every = [(run, talk) for run, own in enumerate(talks) for talk in own]
    return [
        {
            "id": talk["id"],
            "item": talk["item"],
            "label": talk["label"],
            "run": run,
            "bundle": place // TALKS_IN_BUNDLE,
        }
        for place, (run, talk) in enumerate(every)
    ]


APART = "--"
"""Separates the parts of a link; no part contains it."""


def slug(text: str) -> str:
    """Return a name fit for a link. Different texts get different names."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")
    if plain == text:
        return plain
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:6]
    return f"{plain[:40].rstrip('-')}-{digest}".lstrip("-")


def talk_id(talk: Talk, run: str, several_dialogs: bool) -> str:
    """Return the name of a conversation: item, repeat, and what distinguishes it from others."""
    dialog = slug(talk.dialog) if several_dialogs else ""
    pair = talk.order if talk.covers == "pair" else (talk.method,)
    parts = [run, slug(talk.item), str(talk.repeat), dialog, *(slug(name) for name in pair)]
    return APART.join(part for part in parts if part)


def turn_id(talk: str, turn: PlayedTurn) -> str:
    """Return the name of a turn within its conversation."""
    parts = [talk, re.sub("-+", "-", turn.name)]
    if turn.position:
        parts.append(str(turn.position))

    if turn.repair:
        parts.append(f"repair{turn.repair}")

    if turn.aside:
        parts.append("reader")

    return APART.join(parts)


def item_id(item: str, run: str) -> str:
    """Return the name of an item."""
    return "-".join(part for part in (run, slug(item)) if part)


def board_id(run: str, task: str | None, factor: str) -> str:
    """Return the name of a leaderboard table."""
    parts = ("board", run, slug(task or "all"), slug(factor))
    return "-".join(part for part in parts if part)


# --------------------------------------------------------------------------------------------------
# The judge's Markdown and mathematics as a tree of known elements.
#
# No HTML passes: the tree holds nothing but the elements named here and text, and the page builds
# it element by element. Links and pictures stay words, so that nothing can be fetched or followed.
# --------------------------------------------------------------------------------------------------

Node = str | list[Any]
"""A text; or a tag, its attributes or 0, and its children."""

# Private characters that stand around a score while the Markdown is read: open, number, bar, close.
OPEN, BAR, CLOSE = "\ue000", "\ue001", "\ue002"
_PRIVATE = re.compile("[\ue000-\ue002]")
_MARKED = re.compile(f"{OPEN}(\\d+){BAR}|{CLOSE}")

_TAGS = {
    "paragraph": "p", "heading": "h5", "bullet_list": "ul", "ordered_list": "ol",
    "list_item": "li", "blockquote": "blockquote", "table": "table", "thead": "thead",
    "tbody": "tbody", "tr": "tr", "th": "th", "td": "td", "strong": "strong", "em": "em", "s": "s",
}  # fmt: skip

_MATH_TAGS = frozenset(
    "math mrow mi mn mo mtext mspace msup msub msubsup mfrac msqrt mroot mover munder munderover "
    "mtable mtr mtd mstyle mpadded".split()
)
_MATH_ATTRIBUTES = frozenset("display mathvariant stretchy fence separator accent".split())

# A price is not a formula: after an opening dollar no space, before the closing one none, no digit
# behind it, and something inside that prose does not have.
_DOLLARS = re.compile(r"\$(?!\s)((?:[^$\\\n]|\\.)+?)(?<!\s)\$(?!\d)")
_MATHEMATICAL = re.compile(r"[\\_^=+*/<>]|^[A-Za-z]$")
_FENCED = (("\\[", "\\]", True), ("\\(", "\\)", False), ("$$", "$$", True))
_LONGEST_FORMULA = 2_000

# Paragraphs of plain words need no parser, which takes most of the time of a large page.
_WORDS = r"(?![-+=\d])(?!\s)[^*_`#>|\\~$&<\[\]!\t\r\n\x00]+(?<!\s)"
_PARAGRAPHS = re.compile(rf"{_WORDS}(?:\n\n{_WORDS})*")


class _Read(NamedTuple):
    """A score: what it was read as, and whether it counts."""

    label: str
    counts: bool


def markup(pieces: Sequence[Piece]) -> list[Node]:
    """Return the judge's words as a tree, with the scores that were read marked in place."""
    text, scores = _with_marks(pieces)
    builder = _Builder(scores)
    words = text.rstrip()
    if _PARAGRAPHS.fullmatch(words):
        return [["p", 0, *builder.text(part)] for part in words.split("\n\n")]
    return builder.blocks(_parser().parse(text))


def is_plain(nodes: Sequence[Node]) -> bool:
    """Whether there is no structure but paragraphs, so that the tree shows the words as written."""
    return all(_is_plain_paragraph(node) for node in nodes)


def _is_plain_paragraph(node: Node) -> bool:
    if isinstance(node, str) or node[0] != "p":
        return False
    inside = [child for child in node[2:] if not isinstance(child, str)]
    return all(child[0] in ("mark", "br") for child in inside)


def _with_marks(pieces: Sequence[Piece]) -> tuple[str, list[_Read]]:
    parts: list[str] = []
    scores: list[_Read] = []
    for piece in pieces:
        text = _PRIVATE.sub("\N{REPLACEMENT CHARACTER}", piece.text)
        if piece.read:
            text = f"{OPEN}{len(scores)}{BAR}{text}{CLOSE}"
            scores.append(_Read(piece.read, piece.counts))

        parts.append(text)

    return "".join(parts), scores


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 30})
    parser.enable(["table", "strikethrough"])
    # What could lead elsewhere stays as it is written.
    parser.disable(["image", "link", "autolink", "html_inline", "html_block", "reference"])
    parser.inline.ruler.before("escape", "mathematics", _mathematics)
    return parser


def _mathematics(state: StateInline, silent: bool) -> bool:
    found = _formula_at(state.src, state.pos)
    if found is None:
        return False

    source, end, display = found
    if not silent:
        token = state.push("mathematics", "math", 0)
        token.content = source
        token.info = "block" if display else ""

    state.pos = end
    return True


def _formula_at(text: str, start: int) -> tuple[str, int, bool] | None:
    """Return a formula that begins here: its source, where it ends, and whether it stands alone."""
    if text[start] not in "\\$":
        return None

    for opening, closing, display in _FENCED:
        if text.startswith(opening, start):
            end = text.find(closing, start + 2)
            if end < 0:
                return None
            return text[start + 2 : end], end + 2, display

    found = _DOLLARS.match(text, start)
    if found is None or not _MATHEMATICAL.search(found[1]):
        return None
    return found[1], found.end(), False


class _Builder:
    """Turns the parser's tokens into a tree, carrying over which score a text belongs to."""

    def __init__(self, scores: Sequence[_Read]) -> None:
        self._scores = scores
        self._open: int | None = None

    def blocks(self, tokens: Sequence[Token]) -> list[Node]:
        """Return the tree of a list of tokens that open and close elements."""
        root: list[Any] = ["", 0]
        stack = [root]
        for token in tokens:
            if token.nesting == 1:
                stack.append(self._element(token))
                stack[-2].append(stack[-1])
            elif token.nesting == -1:
                stack.pop()
            else:
                stack[-1].extend(self._leaf(token))

        return root[2:]

    def _element(self, token: Token) -> list[Any]:
        tag = _TAGS.get(token.type.removesuffix("_open"), "span")
        side = str(token.attrs.get("style", "")).removeprefix("text-align:")
        if side in ("right", "center"):
            return [tag, {"class": f"to-{side}"}]

        start = token.attrs.get("start")
        if tag == "ol" and isinstance(start, int):
            return [tag, {"start": start}]
        return [tag, 0]

    def _leaf(self, token: Token) -> Iterator[Node]:
        if token.type == "inline":
            yield from self.blocks(token.children or [])
        elif token.type in ("fence", "code_block"):
            yield ["pre", 0, ["code", 0, *self.text(token.content)]]
        elif token.type == "code_inline":
            yield ["code", 0, *self.text(token.content)]
        elif token.type in ("softbreak", "hardbreak"):
            yield ["br", 0]
        elif token.type == "hr":
            yield ["hr", 0]
        elif token.type == "mathematics":
            yield self._formula(token.content, bool(token.info))
        else:
            yield from self.text(token.content)

    def text(self, text: str) -> Iterator[Node]:
        """Yield a text, the parts of it that were read as scores in an element of their own."""
        at = 0
        for found in _MARKED.finditer(text):
            yield from self._stretch(text[at : found.start()])
            self._open = int(found[1]) if found[1] else None
            at = found.end()
        yield from self._stretch(text[at:])

    def _stretch(self, text: str) -> Iterator[Node]:
        if not text:
            return
        if self._open is None:
            yield text
            return
        yield ["mark", self._attributes(), text]

    def _attributes(self) -> dict[str, str]:
        assert self._open is not None
        score = self._scores[self._open]
        if score.counts:
            return {"class": "read", "title": score.label}
        return {"class": "read replaced", "title": f"{score.label}, replaced by a later answer"}

    def _formula(self, source: str, display: bool) -> Node:
        """Return a formula as MathML; as it is written where that cannot be made of it."""
        plain = _MARKED.sub("", source)
        marked = [int(found[1]) for found in _MARKED.finditer(source) if found[1]]
        tree = _mathml(plain.strip(), display)
        if tree is None:
            return ["code", {"class": "formula"}, *self.text(source)]
        if not marked:
            return tree

        # A score inside a formula: the formula is marked as a whole, and says what was read.
        self._open = marked[-1]
        labels = "; ".join(self._scores[k].label for k in marked)
        attributes = {**self._attributes(), "title": labels}
        self._open = None
        return ["mark", attributes, tree]


def _mathml(source: str, display: bool) -> Node | None:
    if not source or len(source) > _LONGEST_FORMULA:
        return None

    try:
        text = convert(source, display="block" if display else "inline")
        root = ElementTree.fromstring(text)
    # The converter raises errors of many kinds for what it does not know; all mean the same here.
    except Exception:
        return None

    return _math_node(root)


def _math_node(element: ElementTree.Element) -> Node | None:
    """Return an element of MathML, or None where it holds one that is not known."""
    tag = element.tag.rpartition("}")[2]
    if tag not in _MATH_TAGS:
        return None

    children: list[Node] = []
    for child in element:
        node = _math_node(child)
        if node is None:
            return None
        children.append(node)

    attributes = {k: v for k, v in element.attrib.items() if k in _MATH_ATTRIBUTES}
    text = (element.text or "").strip()
    return [tag, attributes or 0, *([text] if text else []), *children]
