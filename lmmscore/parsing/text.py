"""A reply as plain text, once and for all: marks, tags, tokens and odd characters taken away or
made plain, every character's place remembered."""

from __future__ import annotations

import heapq
import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

Span = tuple[int, int]

_DRAFT_TAGS = (
    r"think(?:ing)?|thoughts?|reason(?:ing|s)?|reflection|reflect|analysis|scratch_?pad|draft"
    r"|notes?|plan(?:ning)?|inner_?monologue|monologue|brainstorm(?:ing)?|internal|deliberation"
    r"|rationale|explanation|justification|example|critique|self_?critique|cot|work(?:ing)?"
    r"|commentary|seed:think|antthinking|previous|old|template"
)
_DRAFT_OPENS = re.compile(rf"<({_DRAFT_TAGS})(?:\s[^<>]{{0,80}})?>", re.IGNORECASE)
_DRAFT_CLOSES = re.compile(rf"</({_DRAFT_TAGS})\s?>", re.IGNORECASE)
_BRACKET_DRAFT = re.compile(
    r"\[(THINK|THINKING|REASONING|SCRATCHPAD|DRAFT)\](?:.{0,100000}?)\[/\1\]", re.DOTALL
)
# "<details><summary>Reasoning</summary> … </details>"
_FOLDED_DRAFT = re.compile(
    rf"<details[^<>]{{0,40}}>\s*<summary[^<>]{{0,40}}>\W*(?:\w+\W+){{0,2}}?(?:{_DRAFT_TAGS})\W*</summary>"
    r".{0,100000}?</details>",
    re.DOTALL | re.IGNORECASE,
)

# Names of HTML elements that shape text without saying anything.
_INLINE = (
    r"sub|sup|b|strong|i|em|u|ins|code|span|font|mark|small|big|tt|a|center|pre|abbr|kbd|samp|q"
)
_BLOCK = (
    r"li|p|div|ul|ol|h[1-6]|section|article|dt|dd|dl|table|thead|tbody|tfoot|body|html|head|main"
    r"|details|summary|blockquote|hr|caption|header|footer|answer|response|output|final|result"
    r"|results|verdict|evaluation|scores|ratings|assistant|document|xml|root|images|final_answer"
    r"|final_scores|final_verdict|assessment|json|yaml"
)
_TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z_][\w.:-]{0,60})"
    r"(?P<attributes>(?:\s+[\w:.-]{1,60}\s*=\s*(?:\"[^\"<>]{0,200}\"|'[^'<>]{0,200}'))*)"
    r"\s?(?P<empty>/?)>"
)
_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_NAMING = frozenset(("id", "number", "index", "n", "no", "name", "factor", "image", "position"))

_ENDS_OF_SCALE = frozenset(("min", "max", "minimum", "maximum", "scale", "out_of"))

_MARKS = re.compile(
    r"""
      (?P<crossed><s>[^<\n]{1,12}</s>)
    | (?P<token></s>|<s>|<\|[^|<>\n]{1,40}\|>|<(?:end_of_turn|start_of_turn|eos|bos|pad|endoftext)>
        |\[/?INST\])
    | (?P<struck>~~[^~\n]{0,200}~~|<(?P<del>del|strike)>[^<]{0,200}</(?P=del)>|<!--.{0,2000}?-->
        |\\(?:x?cancel|sout|st)\{[^{}\n]{0,40}\}(?:\\[,;: ])?)
    | (?P<footnote>(?:(?<=[0-9])|(?<=[0-9]\*)|(?<=[0-9]\*\*))
        (?:<sup>[\[(]?[0-9*†‡§a-f,]{1,3}[\])]?</sup>|\[\^[\w-]{1,12}\]
        |[¹²³⁴⁵⁶⁷⁸⁹⁰]{1,2}|[†‡§¶]{1,2}|\^\{?\\d?dag(?:ger)?\}?)|\[[0-9]{1,2}\])
    | (?P<raised>(?:(?<=<td>)|(?<=<th>)|(?<=\|)|(?<=\|[ ]))
        <sup>[\[(]?[0-9*†‡§a-f,]{1,3}[\])]?</sup>)    # of a cell that holds nothing else
    | (?P<celled></t[dh]>\s{1,80}(?=<t[dh][\s>]|</tr))    # cells of one row on lines of their own
    | (?P<tag><[/A-Za-z_][^<>\n]{0,400}>)
    | (?P<fraction>\\[dt]?frac\{(?P<upper>[0-9.]{1,6})\}\{(?P<lower>[0-9.]{1,6})\})
    | (?P<arrow>\\(?:rightarrow|to|longrightarrow|Rightarrow|implies)(?![A-Za-z])
        |[\u2192\u2794\u2799-\u27bf\u21d2\u27f6\u27f9\u2b62\u21a6\u2b95\u21fe\u2b06\u27a1\u2b07])
    | (?P<times>\\(?:times|cdot)(?![A-Za-z]))
    | (?P<spanning>\\multicolumn\{(?P<columns>[0-9]{1,2})\}\{[^{}\n]{0,40}\}
        \{(?P<spanned>(?:[^{}\n]|\{[^{}\n]{0,80}\}){0,200})\})
    | (?P<environment>\\(?:begin|end)\{[a-z*]{1,20}\}(?:\{[^{}\n]{0,60}\})?|\\hline
        |\\(?:top|mid|bottom)rule|\\cline\{[^{}\n]{0,20}\})
    | (?P<item>\\item(?![A-Za-z])[ ]?)
    | (?P<newline>\\\\)
    | (?P<bar>\\\|)
    | (?P<colon>(?<=[0-9])：(?=[0-9]))    # "图像1：7" is no time of day
    | (?P<rule>^(?:[*_][ ]?){3,200}$)
    | (?P<circled>^[ ]*[\u2460-\u2473\u24eb-\u24fe\u2776-\u2793])
    | (?P<ten>\U0001f51f)    # a key with 10 on it
    | ^[ ]*(?:```|~~~)[ ]?[\w+-]{0,16}[ ]*$
    | \\(?:text|mathrm|mathit|mathbf|mathsf|textbf|textit|operatorname|boxed|left|right|displaystyle
        |quad|qquad|large|Large|[,;!])(?![A-Za-z])
    | \\[()\[\]]
    | (?P<entity>&(?:\#x?[0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});)
    | (?P<leader>(?<=[A-Za-z][ ])(?:\.{2,3}(?=[ ][0-9])|\.(?=[ ][0-9.]{1,4}(?:/[0-9]+)?[ ]*$))
        |(?:\.[ ]?){4,400}(?![ ]?\w)|\.{4,400}[ ]?|(?:[·…_‥][ ]?){3,400})(?=[ ]{0,9}[0-9])
    | (?P<emoji>(?:[\U0001f000-\U0001faff\u2600-\u2775\u2795-\u2798\u2b05-\u2b5f]
        |[\u2580-\u25ff\ufe0f\u20e3\u200b-\u200f\u2060\ufeff\u231a-\u23ff])+)
    | (?!(?<=[\d)])\*[\d(S]|(?<=[\d)][ ])\*[ ][\d(S])\*     # emphasis and bullets, not 0.4*6
    | \$(?![.,]?[0-9][^$\n]*(?:\n|\Z))    # a formula's, not a price's
    | [`\\{}]
    | (?<![A-Za-z0-9])_+    # emphasis, not the underscore inside a name
    | _+(?![A-Za-z0-9{\\])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

# One for one, so that places stay.
_FULL_WIDTH = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_SAME_LENGTH = str.maketrans(
    _FULL_WIDTH
    | dict.fromkeys("\u00a0\u202f\u2009\u2002\u2003\u2007\u3000\r\x0b\x0c", " ")
    | dict.fromkeys("−‑‐﹣", "-")
    | dict.fromkeys("│┃║┆┇┊┋｜❘", "|")
    | dict.fromkeys("─━═╌╍┄┅┈┉", "-")
    | dict.fromkeys("┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬┏┓┗┛┣┫┳┻╋╒╕╘╛╞╡╤╧╪╭╮╯╰", "+")
    | dict.fromkeys("〜∼～˜", "~")
    | {"。": ".", "【": "[", "】": "]", "「": '"', "」": '"', "『": '"', "』": '"'}
    | {"〔": "(", "〕": ")", "≔": "=", "∶": ":", "꞉": ":", "⁄": "/", "∕": "/", "‒": "–", "―": "—"}
    | {
        chr(first + number): str(number + 1)
        for first in (0x2460, 0x24F5, 0x2776, 0x2780, 0x278A)
        for number in range(9)
    }
    | {chr(0x24B6 + letter): chr(ord("A") + letter) for letter in range(26)}
)


@dataclass(frozen=True, slots=True)
class Plain:
    """Text without marks, and where each piece of it stood in the original."""

    text: str
    starts: tuple[int, ...]
    """Places in the plain text where a piece begins …"""
    origins: tuple[int, ...]
    """… where that piece began in the original …"""
    fixed: tuple[bool, ...]
    """… and whether all of it stands for one place there."""
    cuts: tuple[Span, ...] = ()
    """Stretches of the original that are left out whole."""

    def span(self, start: int, end: int) -> Span:
        """Return the place in the original text of a non-empty stretch of the plain text."""
        return self._original(start), self._original(end - 1) + 1

    def _original(self, place: int) -> int:
        index = bisect_right(self.starts, place) - 1
        offset = 0 if self.fixed[index] else place - self.starts[index]
        return self.origins[index] + offset

    def place(self, original: int) -> int:
        """Return where in the plain text a place of the original is, or would be."""
        index = bisect_right(self.origins, original) - 1
        offset = 0 if self.fixed[index] else original - self.origins[index]
        return min(self.starts[index] + offset, self._end_of(index))

    def end_place(self, original: int) -> int:
        """Return where in the plain text a stretch ends that ends there in the original."""
        index = bisect_right(self.origins, original - 1) - 1
        return self._end_of(index) if self.fixed[index] else self.place(original - 1) + 1

    def _end_of(self, index: int) -> int:
        return self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)


# What a user says in a chat that a judge makes up, up to where it answers itself.
_USER_SAYS = re.compile(
    r"^[ *#]*(?:user|human|system)[ *]*:.*?"
    r"(?=(?:^[ *#]*|(?<=[.!?:>][ ]))(?:assistant|ai|bot|model|gpt)[ *]*:"
    r"|(?<=[ ])(?-i:ASSISTANT):|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)


# A changed file: what was taken out of it, and what was put in.
_DIFF = re.compile(
    r"^[ \t]*```diff[ ]*\n(?P<body>.*?)(?:^[ \t]*```|\Z)"
    r"|(?P<bare>^-(?P<key>\w[\w ]{0,40}):[^\n]*\n\+(?P=key):)",
    re.MULTILINE | re.DOTALL,
)
_TAKEN_OUT = re.compile(r"^-(?P<line>[^\n]*)", re.MULTILINE)
_ENTRY = re.compile(r"[ ]*[\"']?\w[\w ]{0,40}[\"']?[ ]*[:=][ ]*[\"']?[0-9][^:\n]*")
# Entries under a key, each behind a hash: in YAML they are commented out, and no headings.
_COMMENTED = re.compile(
    r"^[ \t]*(?:-[ ])?\w[^\n#:]{0,40}:[^\n]*(?P<lines>(?:\n[ \t]{2,}\#[^\n]*)+)", re.MULTILINE
)
_CODE_FENCE = re.compile(
    r"^[ \t]*```[ ]?(?:ya?ml|toml|ini|conf|cfg|properties|env|python|py|r|ruby|sh|bash)[ ]*\n"
    r"(?P<lines>.*?)^[ \t]*```",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_NUMBERED_ENTRY = r"[ ]*[\"']?[^\W\d][^\W\d]{0,20}(?:[ ][^\W\d]{1,20}){0,3}[\"']?[ ]*[:=][ ]*[0-9]"
_HASHED_OUT = re.compile(rf"^[ \t]*\#{_NUMBERED_ENTRY}[^\n]*", re.MULTILINE)
_COMMENTED_OUT = re.compile(rf"^[ \t]*(?://|/\*|;|--|%){_NUMBERED_ENTRY}[^\n]*", re.MULTILINE)
_PLAIN_ENTRY = re.compile(rf"^{_NUMBERED_ENTRY}", re.MULTILINE)


def _taken_out(text: str) -> Iterator[Span]:
    """Yield what a diff takes out of a list of scores, and what is commented out in one.

    Where a diff takes out more than entries (a heading, say) nobody knows what the rest is of.
    """
    for diff in _DIFF.finditer(text) if "```diff" in text or "\n+" in text else ():
        start, end = (0, len(text)) if diff["bare"] else diff.span("body")
        lines = list(_TAKEN_OUT.finditer(text, start, end))
        if all(_ENTRY.fullmatch(line["line"]) for line in lines):
            yield from (line.span() for line in lines)
        else:
            yield start, end

    if "#" in text:
        for pattern in (_COMMENTED, _CODE_FENCE):
            for block in pattern.finditer(text):
                yield from (
                    each.span() for each in _HASHED_OUT.finditer(text, *block.span("lines"))
                )

    # Where all entries are behind such a sign, it is a bullet.
    commented = [match.span() for match in _COMMENTED_OUT.finditer(text)]
    if commented and _PLAIN_ENTRY.search(text):
        yield from commented


def drafts(text: str) -> list[Span]:
    """Return the stretches that are not the judge's answer: where it thinks aloud before it, what
    it has a user say, and what it shows as taken out."""
    found = [match.span() for match in _BRACKET_DRAFT.finditer(text)]
    found += [match.span() for match in _FOLDED_DRAFT.finditer(text)]
    found += [match.span() for match in _USER_SAYS.finditer(text)]
    found += _taken_out(text)
    opened: list[re.Match[str]] = []
    place = 0
    for match in sorted(
        [*_DRAFT_OPENS.finditer(text), *_DRAFT_CLOSES.finditer(text)], key=lambda m: m.start()
    ):
        if not match[0].startswith("</"):
            opened.append(match)
            continue

        while opened and opened[-1][1].lower() != match[1].lower():
            opened.pop()

        if opened:
            found.append((opened.pop().start(), match.end()))
        elif match[1].lower().startswith("think") or match[1].lower() in {"thought", "reasoning"}:
            # The opening tag was part of the prompt: everything up to here is thought.
            found.append((place, match.end()))

        place = match.end()

    # A thought that is never closed goes on to the end.
    unclosed = [match for match in opened if match[1].lower() not in _MAY_BE_FIELDS]
    found += [(match.start(), len(text)) for match in unclosed[:1]]
    return joined(found)


_MAY_BE_FIELDS = frozenset(
    ("rationale", "explanation", "justification", "note", "notes", "example")
)


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return the stretches in order, those that touch or overlap as one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))

    return merged


def plain_text(text: str, cuts: Sequence[Span] = ()) -> Plain:
    """Return the text without marks and without the stretches to be cut out.

    `* **$S_{acc}$**: 6` becomes `  S_acc: 6`, near enough.
    """
    writer = _Writer()
    done = 0
    for start, end in [*cuts, (len(text), len(text))]:
        _write(writer, text, done, start)
        if end > start:
            writer.replaced("\n", start)

        done = end

    made = "".join(writer.pieces)
    return Plain(
        made.translate(_SAME_LENGTH),
        tuple(writer.starts),
        tuple(writer.origins),
        tuple(writer.fixed),
        tuple(cuts),
    )


class _Writer:
    """The plain text as it grows."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.starts = [0]
        self.origins = [0]
        self.fixed = [False]
        self.length = 0

    def copied(self, piece: str, origin: int) -> None:
        self._add(piece, origin, fixed=False)

    def replaced(self, piece: str, origin: int) -> None:
        # Tags that end a line one after the other end one line.
        if piece and not (piece == "\n" and self.pieces and self.pieces[-1].endswith("\n")):
            self._add(piece, origin, fixed=True)

    def _add(self, piece: str, origin: int, *, fixed: bool) -> None:
        self.pieces.append(piece)
        self.starts.append(self.length)
        self.origins.append(origin)
        self.fixed.append(fixed)
        self.length += len(piece)


def _write(writer: _Writer, text: str, start: int, end: int) -> None:
    latex_table = "\\begin{" in text
    tabbed = _is_tabbed(text)
    with_cells = latex_table or tabbed
    marks = _WITH_CELLS.finditer(text, start, end) if with_cells else _marks(text, start, end)
    wraps = [] if with_cells else list(_wraps(text, start, end))
    done = start

    for match in heapq.merge(marks, wraps, key=re.Match.start) if wraps else marks:
        if match.start() < done:
            continue

        writer.copied(text[done : match.start()], done)
        wrapped = match.re is _WRAP
        writer.replaced(" " if wrapped else _made_plain(match, text), match.start())
        done = match.end()

    writer.copied(text[done:end], done)


# The end of a line and what the next one is indented by, amid words.
_WRAP = re.compile(r"(?<=[^\W\d_]|,)[ ]?\n(?P<indent>[ \t]*+)(?=\w)")
_FEWEST_BEFORE_A_WRAP = 45
_FEWEST_IF_INDENTED = 24
# What makes a line an entry or a heading, and no end of a sentence: "quality: 7", "Image 2 –".
_LABELLED = re.compile(
    r"(?:[^.!?\n]|\.(?:png|jpe?g|webp|gif|bmp|tiff?)\b){0,40}?(?:[:=→|]|[ ][–—-][ ])"
)
# "… Score: seven"
_ENDS_AN_ENTRY = re.compile(r"[:=][ ]*[^\W\d_]+\s*\Z")
_ENDS_A_SENTENCE = re.compile(r"(?![a-z]{1,4}[.)][ ])(?:[^\n]*?[.,;!?)]|(?:[^\s]+[ ]){2})")
_LEADS_ON = re.compile(
    r"\b(?:an?|the|of|to|in|on|as|at|by|for|from|with|than|like|unlike|and|or|but|is|are|was|see"
    r"|also|that|which|compared|versus)\Z"
)
# "… as convincing as Image", and its number on the next line.
_LEADS_TO_A_NUMBER = re.compile(
    r"\b(?:of|to|in|as|by|from|with|than|like|unlike|see)[ ](?:\w+[ ])?"
    r"(?:image|edit|picture|photo|output|result|candidate|method|option)\Z",
    re.IGNORECASE,
)


def _wraps(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield where a sentence is broken over two lines."""
    for wrap in _WRAP.finditer(text, start, end):
        above = text[text.rfind("\n", 0, wrap.start()) + 1 : wrap.start()]
        if "|" in above or above.startswith("#") or not _goes_on(wrap, text, above):
            continue
        if not _LABELLED.match(text, wrap.end()) and _ENDS_A_SENTENCE.match(text, wrap.end()):
            yield wrap


def _goes_on(wrap: re.Match[str], text: str, above: str) -> bool:
    """Tell whether a long line stops amid a sentence, and the next goes on with it: in lower case,
    indented below it, or with what the last word leads to."""
    if _ENDS_AN_ENTRY.search(above):
        return False
    last, first = text[wrap.start() - 1], text[wrap.end()]
    length = len(above.strip())
    if first.isdecimal():
        return length >= _FEWEST_IF_INDENTED and _LEADS_TO_A_NUMBER.search(above) is not None

    # Where letters have no case, lines end without a stop.
    cased = first.lower() != first.upper() and (last == "," or last.lower() != last.upper())
    if not cased or length < _FEWEST_IF_INDENTED:
        return False
    if first.islower() and wrap["indent"]:
        return True

    words = above.lstrip()
    indent = len(above) - len(words)
    if indent and indent == len(wrap["indent"]) and words[0].isalnum():
        # Both go on with what stands above them.
        return _LABELLED.match(words) is None
    if length < _FEWEST_BEFORE_A_WRAP:
        return False

    indented = len(wrap["indent"]) > indent
    return first.islower() or indented or _LEADS_ON.search(above) is not None


# Every mark begins with one of these, but for the spaces before a fence.
_MAY_BE_A_MARK = re.compile(
    r"[<\[~\\&.·…_‥*`${}^：†‡§¶¹²³\u2070-\u2079\u2192\u2190-\u2bff\ufe0f\u20e3\u200b-\u200f\u2060\ufeff"
    r"\U0001f000-\U0001faff]"
)


def _marks(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield what `_MARKS` finds, looking only where a mark can begin: most of a reply is words."""
    place = start

    while (found := _MAY_BE_A_MARK.search(text, place, end)) is not None:
        at = found.start()
        if _INSIDE_A_NAME.match(text, at, end):
            place = at + 1
            continue

        if text[at] in _DOTS:
            at = _leader_start(text, at, end)

        match = None
        if text[at : at + 1] in {"`", "~"}:
            line = max(place, text.rfind("\n", place, at) + 1)
            indented = line < at and text[line:at].isspace()
            match = _MARKS.match(text, line, end) if indented else None

        match = match or _MARKS.match(text, at, end)
        place = match.end() if match is not None else at + 1
        if match is not None:
            yield match


_INSIDE_A_NAME = re.compile(r"_(?<=[A-Za-z0-9]_)(?=[A-Za-z0-9])")
_DOTS = frozenset(".·…‥")
_DOTTED = re.compile(r"[.·…‥ ]+")
_DOTTED_OR_LINED = re.compile(r"[.·…‥_ ]+")
_LONGEST_LEADER = 820


def _leader_start(text: str, place: int, end: int) -> int:
    """Return where, from a dot on, dots may begin that lead up to a number; else where they end."""
    run = _DOTTED_OR_LINED.match(text, place, end)
    assert run is not None
    if text[run.end() : min(end, run.end() + 1)].isdigit():
        # Nothing that begins further off reaches the number: a page of dots costs no more.
        return max(place, run.end() - _LONGEST_LEADER)

    dotted = _DOTTED.match(text, place, end)
    assert dotted is not None
    return dotted.end()


_WITH_CELLS = re.compile(
    rf"(?P<cell>[ ]*(?:\t|&(?![a-z#0-9]+;))[ ]*)|{_MARKS.pattern}", _MARKS.flags
)


def _is_tabbed(text: str) -> bool:
    if "\t" not in text:
        return False
    lines = [line for line in text.split("\n") if line.strip().count("\t") >= 1]
    return len(lines) >= 2


def _made_plain(match: re.Match[str], text: str) -> str:
    """Return what is written in place of a mark."""
    groups = match.groupdict()
    if groups["tag"]:
        return _tag_in_words(match[0], text, match.start())
    if groups["celled"]:
        return _bars_behind(text, match.start())
    if groups["spanning"]:
        return _over_columns(match["spanned"], int(match["columns"]))
    if groups["fraction"]:
        return f"{match['upper']}/{match['lower']}"
    if groups["entity"]:
        return html.unescape(match[0])
    if groups["circled"]:
        return f"{unicodedata.numeric(match[0].strip()):.0f}. "
    if groups["footnote"]:
        return "" if _is_a_footnote(match, text) else match[0]
    if groups.get("cell"):
        if _parts_cells(match, text):
            return " | "
        return " & " if "&" in match[0] and not text.startswith("=", match.end()) else ""

    for group, words in _WORDS_FOR.items():
        if groups[group]:
            return words

    return ""


_NOTE = re.compile(
    r"""
    (?:^|[,;.][ ]|<(?:p|li|small|div|br[ ]?/?)>)[ >*|$]*(?P<mark>
      <sup>[\[(]?[0-9*†‡§a-f,]{1,3}[\])]?</sup>|\[[0-9]{1,2}\]|[¹²³⁴⁵⁶⁷⁸⁹⁰†‡§¶]{1,2}
      |\\d?dag(?:ger)?)
    [$.:)]*[ ]*(?=[^\W\d_])
    """,
    re.VERBOSE | re.MULTILINE,
)
_SIGN_OF_A_NOTE = re.compile(r"d?dag(?:ger)?|[0-9*†‡§¶a-f,¹²³⁴⁵⁶⁷⁸⁹⁰]+")
_BRACKETS_BEHIND = re.compile(r"(?<=[0-9])\[([0-9]{1,2})\]")


@lru_cache(maxsize=8)
def _footnotes(text: str) -> dict[str, int]:
    """Return where each footnote stands, by its sign."""
    notes = _NOTE.finditer(text)
    return {_SIGN_OF_A_NOTE.findall(note["mark"])[0]: note.start("mark") for note in notes}


_RAISED = re.compile(
    r"(?<=[0-9])(?:<sup>[\[(]?([0-9]{1,2})[\])]?</sup>|\[\^([0-9]{1,2})\]|([¹²³⁴⁵⁶⁷⁸⁹]))"
)


@lru_cache(maxsize=8)
def _are_in_brackets(text: str) -> bool:
    """Tell whether a number in brackets right behind another points at a footnote."""
    return any(map(_footnotes(text).__contains__, _BRACKETS_BEHIND.findall(text)))


@lru_cache(maxsize=8)
def _are_counted(text: str) -> bool:
    """Tell whether raised numbers only count on from 1, as marks do whose notes are missing."""
    raised = [unicodedata.normalize("NFKC", "".join(each)) for each in _RAISED.findall(text)]
    return raised == [str(number) for number in range(1, len(raised) + 1)]


def _is_a_footnote(match: re.Match[str], text: str) -> bool:
    """Tell whether a mark points at a footnote: in `2³` nothing may do so.

    A number in brackets that stands for a score is one where others stand behind scores: `6[1]`.
    """
    if match[0].startswith("[^"):
        return True

    notes = _footnotes(text)
    sign = _SIGN_OF_A_NOTE.findall(match[0])[0]
    if sign not in notes and match[0][0] != "[":
        return _are_counted(text)
    if sign not in notes or notes[sign] == match.start():
        return False
    return match[0][0] != "[" or _are_in_brackets(text)


def _parts_cells(match: re.Match[str], text: str) -> bool:
    """Tell whether a tab or an ampersand parts cells; one that begins a line does where the corner
    of a table is blank: a tab there may as well indent all rows."""
    if text.startswith("=", match.end()):
        # In `S_{acc} &= 6` it only aligns the signs.
        return False

    begin = text.rfind("\n", 0, match.start()) + 1
    if "&" in match[0]:
        # "Texture & Detail", where tabs part the cells.
        return "\t" not in text[begin:].partition("\n")[0]
    if text[begin : match.start()].strip():
        return True

    block = text[text.rfind("\n\n", 0, begin) + 1 : begin + _LONGEST_CELL * 2].partition("\n\n")[0]
    tabs = text[begin : begin + _LONGEST_CELL * 2].partition("\n")[0].count("\t")
    lines = [line for line in block.split("\n") if line.strip() and line[0] != "\t"]
    return tabs > 1 and any(line.count("\t") == tabs for line in lines)


_WORDS_FOR = {
    "arrow": "→",
    "times": "×",
    "environment": "\n",
    "newline": "\n",
    "item": "- ",
    "ten": "10",
    "leader": ": ",
    "colon": ": ",
    "rule": "---",
    "token": "",
    "struck": "",
    "crossed": "",
    "raised": "",
}


# What stands in a form for a score: "S_acc: <number>".
_BLANKS = frozenset(("number", "score", "value", "rating", "integer", "int", "float"))


_NUMBER_ABOVE = re.compile(r"\|[ ]*[*_`]*[0-9]+(?:\.[0-9]+)?(?:[ ]?/[ ]?[0-9]+)?[*_` ]*\Z")


def _tag_in_words(tag: str, text: str, place: int) -> str:
    """Return a tag as the words it stands for: `<image id="1">` heads a section, `<b>` is
    nothing."""
    match = _TAG.fullmatch(tag)
    if match is None:
        return tag

    name = match["name"].lower()
    if name == "br":
        line = text[text.rfind("\n", 0, place) + 1 : place]
        if "|" not in line:
            return "\n"
        # In a cell, what stands below its number explains it.
        return " – " if _NUMBER_ABOVE.search(line) else " "

    if name in {"td", "th"}:
        return _cell_in_words(match, text, place)
    if name == "tr":
        return " |\n" if match["close"] else "\n"
    if name == "pre" and _is_beside_others(match, text, place):
        return "\n" if match["close"] else _element_in_words(match)
    if re.fullmatch(_INLINE, name):
        return ""
    if name in _BLANKS and f"</{name}" not in text:
        return "…"
    if name in _BLANKS and _is_amid_a_line(match, text, place):
        return ""
    if re.fullmatch(_BLOCK, name) or match["close"]:
        return "\n"
    if not match["attributes"] and not match["empty"] and f"</{name}" not in text.lower():
        # "7 <image_2>": brackets of another kind.
        return match["name"]
    return _element_in_words(match)


def _is_amid_a_line(match: re.Match[str], text: str, place: int) -> bool:
    """Tell whether `<score>7</score>` is the number of what stands before it: "S_acc: <score>7"."""
    opens = text.rfind(f"<{match['name']}>", 0, place) if match["close"] else place
    closes = place if match["close"] else text.find(f"</{match['name']}", place)
    before = text[text.rfind("\n", 0, opens) + 1 : max(opens, 0)]
    content = text[text.find(">", opens) + 1 : closes]
    led_up_to = any(map(str.isalpha, _ANY_TAG.sub("", before))) and not match["attributes"]
    return led_up_to and len(content) <= _LONGEST_VALUE and not {"<", "\n"} & {*content}


_LONGEST_VALUE = 24
_ANY_TAG = re.compile(r"<[^<>]{0,200}>")


def _over_columns(content: str, columns: int) -> str:
    """Return a cell that goes over several columns as that many cells.

    A number that stands in all of them at once is no score of any.
    """
    content = _LATEX_MARK.sub("", content)
    if columns > 1 and _ONE_NUMBER.fullmatch(content):
        content = "?"
    return content + " | " * (columns - 1)


_LATEX_MARK = re.compile(r"\\[A-Za-z]{1,12}(?=\{)|[{}\\$]")
_ONE_NUMBER = re.compile(r"[\W_]*[0-9]+(?:[.,][0-9]+)?(?:\s*/\s*[0-9]+)?[\W_]*")
_COLUMNS = re.compile(r"\bcolspan\s*=\s*[\"']?([0-9]{1,2})", re.IGNORECASE)
_CELL_OPENS = re.compile(r"<t[dh]\b[^<>]{0,200}>", re.IGNORECASE)
_LONGEST_CELL = 500


def _cell_in_words(match: re.Match[str], text: str, place: int) -> str:
    """Return a bar for a cell that opens, and behind one that closes as many as it goes over."""
    if not match["close"]:
        columns = _COLUMNS.search(match["attributes"] or "")
        content = text[place + len(match[0]) : place + _LONGEST_CELL].partition("</")[0]
        wide = columns is not None and int(columns[1]) > 1
        return "| ? " if wide and _ONE_NUMBER.fullmatch(content) else "| "
    return _bars_behind(text, place)


def _bars_behind(text: str, place: int) -> str:
    """Return a bar for each further column that the cell goes over which closes there."""
    opens = _CELL_OPENS.findall(text, max(0, place - _LONGEST_CELL), place)
    columns = _COLUMNS.search(opens[-1]) if opens else None
    return " | " * (int(columns[1]) - 1) if columns is not None else ""


_ELEMENT = (
    rf"(?!(?:{_INLINE}|{_BLOCK}|{_DRAFT_TAGS}|t[dhr]|br)\b)"
    r"[A-Za-z_][\w.:-]{0,60}(?:\s[^<>]{0,200})?"
)
_ELEMENT_BEFORE = re.compile(rf"<(?:/{_ELEMENT}|{_ELEMENT}/)>[\s.,;|]*\Z", re.IGNORECASE)
_ELEMENT_BEHIND = re.compile(rf"[\s.,;|]*<{_ELEMENT}>", re.IGNORECASE)


def _is_beside_others(match: re.Match[str], text: str, place: int) -> bool:
    """Tell whether `<pre>` stands beside elements that are none of HTML's: then it is one of them,
    and its name that of a factor."""
    opens = text.rfind("<pre", 0, place) if match["close"] else place
    closes = place if match["close"] else text.find("</pre>", place)
    if opens < 0 or closes < 0:
        return False

    before = _ELEMENT_BEFORE.search(text, max(0, opens - _LONGEST_CELL), opens)
    return before is not None or bool(_ELEMENT_BEHIND.match(text, closes + len("</pre>")))


def _element_in_words(match: re.Match[str]) -> str:
    words = match["name"]
    more = []
    for key, *values in _ATTRIBUTE.findall(match["attributes"] or ""):
        value = "".join(values)
        if key.lower() in _NAMING:
            words += f" {value}"
        elif key.lower() not in _ENDS_OF_SCALE:
            more.append(f"{key}: {value}")

    ends = "\n" if match["empty"] else ""
    return f"\n{words}: {', '.join(more)}{ends}"


def width_of(text: str) -> int:
    """Return how many columns of a fixed-width font a text fills."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _width(sign: str) -> int:
    # The selector behind an emoji asks for its wide picture.
    if sign == "\ufe0f":
        return 1
    if unicodedata.combining(sign) or sign in "\u200b\u200c\u200d\u2060\ufeff":
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


@lru_cache(maxsize=256)
def lowered(text: str) -> str:
    """Return the text in lower case, every character in its place.

    Patterns without a flag on such a text are several times faster than with IGNORECASE on any.
    """
    return text.replace("İ", "i").replace("ı", "i").replace("ſ", "s").lower()
