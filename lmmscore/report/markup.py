"""The judge's Markdown and mathematics as a tree of known elements.

No HTML passes: the tree holds nothing but the elements named here and text, and the page builds it
element by element. Links and pictures stay words, so that nothing can be fetched or followed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from jinja2 import Environment, PackageLoader, StrictUndefined
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup

if TYPE_CHECKING:
    from lmmscore.report.run_data import Piece

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


# What every page is made of: templates, data that stays data, and a policy for the browser

# None of these can then end the element it stands in, open another, or end a line of a script.
_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def true_minus(text: str) -> str:
    """Return a figure with a minus sign where it has a hyphen; words keep theirs."""
    return re.sub(r"(?<![\w.])-(?=\d)", "\N{MINUS SIGN}", text)


def inert_json(data: Any) -> Markup:
    """Return data as JSON that can stand inside a script element whatever its texts hold."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(_ESCAPES))


def digest_source(code: str) -> str:
    """Return the source expression that lets exactly this code run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


_FORBIDDEN = {
    "base-uri": "'none'",
    "form-action": "'none'",
    # Even our own code cannot turn a text into markup.
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}


def policy(**allowed: str) -> str:
    """Return a Content-Security-Policy; `img_src` and the like say what is not forbidden."""
    given = {name.replace("_", "-"): sources for name, sources in allowed.items()}
    directives = {"default-src": "'none'"} | given | _FORBIDDEN | given
    return "; ".join(f"{name} {sources}" for name, sources in directives.items())


def inline_policy(styles: Sequence[str], scripts: Sequence[str], **allowed: str) -> str:
    """Return the policy of a page that is one file: its own code, known by digest, may run."""
    style_src = " ".join(map(digest_source, styles))
    script_src = " ".join(map(digest_source, scripts))
    return policy(**allowed, style_src=style_src, script_src=script_src)


def page_templates(package: str, folder: str) -> Environment:
    """Return the templates of a package: texts are escaped, and a missing value is an error."""
    environment = Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inert"] = inert_json
    environment.filters["minus"] = true_minus
    return environment
