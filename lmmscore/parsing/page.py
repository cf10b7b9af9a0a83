"""A reply as lines, each with the images and factors it names, what heads it, and what it is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lmmscore.parsing.kinds import LASTING, Kind, kind_of
from lmmscore.parsing.names import UNKNOWN, FactorName, ImageName, Names
from lmmscore.parsing.text import Plain, Span

_START = re.compile(
    r"""
    [ \t]*(?:>[ ]?){0,5}[ \t]*(?P<hashes>\#{1,6}[ ]+(?![0-9]{1,2}[ ]*:))?
    (?P<bullet>(?:[-•●▪◦+*–—·○■‣⁃][ ]{1,6}|[-•·](?=[A-Za-z]))*)
    (?P<numbering>[(\[]?(?P<number>[0-9]{1,3})[.)\]](?![0-9])[ ]*)?
    (?:[-•*–—][ ]+)?
    """,
    re.VERBOSE,
)
_RULE = re.compile(r"[ ]*(?:[-=_*~·—–][ ]?){3,200}[ ]*")
_ROLE = re.compile(r"(?:assistant|ai|bot|answer|response|output|judge)[ ]*:[ ]*", re.IGNORECASE)
_LEAD_IN = re.compile(r"[^\d:;.!?\n]{0,60}")
_COMPARES = re.compile(
    r"""
    \b(?:compar\w+|than|versus|vs|unlike|differen\w+|relative|similar|like|better|worse|between|against
      |contrast|tie[ds]?|equal\w*|same|not|except|besides|vergl\w+)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_STOP = re.compile(
    r"""
    (?:['’]s)?(?:[ ]+(?:scores?|ratings?|evaluation|assessment|analysis|results?|verdict))*
    (?:[ ]*(?:\([^()\n]{0,120}\)|\[[^\[\]\n]{0,120}\]))?[ ]*[)\]]?[ ]*
    (?P<stop>[:=|;·•,]|[–—-](?=[ ]|$)|→|->|$)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"""
    (?:['’]s)?[ ]+(?:scores?|gets?|receives?|has|earns?|is[ ]rated|was[ ]given|is[ ]given|rates|achieves?
      |deserves?|would[ ](?:get|receive|score)|I[ ]would|I[ ]give|I['’]d|a[ ]score)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PARTS = re.compile(r"(?:^|[;.|]|,?[ ](?:and|while|whereas|but))[ ]*(?:for[ ])?$")
_BARE_HEAD = re.compile(
    r"""
    (?:(?P<letter>(?-i:[A-H]))|(?P<short>(?-i:[IEMPVRO])(?P<digits>[0-9]{1,2}))
      |(?P<ordinal>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last))
    [ ]*(?:[:)=]|[–—-](?=[ ])|$)[ ]*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NEUTRAL = re.compile(
    r"""
    (?:brief[ ]|short[ ]|my[ ]|the[ ]|overall[ ]|key[ ]|some[ ])*
    (?:analysis|descriptions?|observations?|summary|strengths?|weaknesses|comments?|justifications?
      |reasons?|reasoning|rationales?|notes?|remarks?|explanations?|details?|assessments?|evaluations?
      |pros|cons|issues|scores?|ratings?|sub-?scores?|breakdown|factors?|verdict|impressions?|overview
      |positives?|negatives?|feedback|why|overall|S_all|total|critique|discussion|thoughts|findings
      |Begründung|Bewertung\w*|Kommentar|评分|得分|理由|说明|分数|スコア|評価|점수|평가|puntuaciones|scoring)
    (?:[ ]*[(\[][^()\[\]\n]{0,60}[)\]])?[ ]*(?:[:–—-].*)?$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MOVES_ON = re.compile(
    r"""
    \b(?:next|other|another|following|remaining|previous|former|latter|subsequent)[ ]
      (?:edited[ ]|two[ ]|three[ ])?(?:one|image|edit|picture|photo|result|version|method|candidate|variant)
    | \b(?:moving|turning|going|coming)[ ](?:on|over|now)?[ ]?to\b|\bnow[ ](?:for|to|on[ ]to)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SCORE_LINE = re.compile(
    r"(?:final|my|sub-?|the)?[ ]*(?:scores?|ratings?|grade|points|marks?)[ ]*[:=–—-]?[ ]*[0-9]",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?。！？…][\"'”’)]*$")
_LONGEST_HEADING = 90


@dataclass(slots=True)
class Part:
    """A stretch of a line that is said of some images."""

    start: int
    end: int
    positions: tuple[int, ...] | None
    """The images it names itself; None where it is said of those of its section."""


@dataclass(slots=True)
class Line:
    """A line of the plain text."""

    start: int
    end: int
    head: int
    """Where its words begin, behind bullets and numbering."""
    number: int | None
    heading: bool
    """Whether it is marked as a heading."""
    factors: list[FactorName]
    images: list[ImageName]
    gap: bool
    """Whether a blank line stands before it."""
    parts: list[Part] = field(default_factory=list)
    section: int = 0
    positions: tuple[int, ...] | None = None
    """The images of its section; None where none is named, (UNKNOWN,) where it cannot be said."""
    kind: Kind = Kind.VERDICT
    caption: str = ""
    """The last heading above that is neither an image nor known to head a verdict."""
    heads: bool = False
    """Whether it is a heading and says nothing itself."""


class Page:
    """A reply laid out: its lines, and what heads each of them."""

    def __init__(self, plain: Plain, names: Names, original: str) -> None:
        self.plain = plain
        self.text = plain.text
        self.names = names
        self.n = names.n
        self._original = original
        self.lines = self._lines()
        self.tables: list[Span] = []
        """Stretches that are tables, and not prose."""

    def _lines(self) -> list[Line]:
        lines: list[Line] = []
        gap = True
        for match in re.finditer(r"[^\n]+", self.text):
            start, end = match.span()
            newlines = self.text[lines[-1].end if lines else 0 : start]
            if not match[0].strip():
                gap = True
                continue
            gap = gap or newlines.count("\n") > 1
            lines.append(self._line(start, start + len(match[0].rstrip()), gap=gap))
            gap = False
        return _one_naming(lines)

    def _line(self, start: int, end: int, *, gap: bool) -> Line:
        opening = _START.match(self.text, start, end)
        assert opening is not None
        head = opening.end()
        if role := _ROLE.match(self.text, head, end):
            head = role.end() if role.end() < end else head
        number = int(opening["number"]) if opening["number"] else None
        heading = bool(opening["hashes"]) or self._is_bold(head, end)
        factors = list(self.names.factors_in(self.text, start, end))
        images = [
            image
            for image in self.names.images_in(self.text, start, end)
            if not any(f.start < image.end and image.start < f.end for f in factors)
        ]
        return Line(start, end, head, number, heading, factors, images, gap)

    def _is_bold(self, start: int, end: int) -> bool:
        if start >= end:
            return False
        first, last = self.plain.span(start, end)
        opened = self._original[max(0, first - 2) : first] in {"**", "__"}
        return opened and self._original[last : last + 2] in {"**", "__"}

    def line_at(self, place: int) -> Line | None:
        """Return the line at a place of the plain text, or the last one before it."""
        index = bisect_right(self.lines, place, key=lambda line: line.start)
        return self.lines[index - 1] if index else None

    def in_table(self, line: Line) -> bool:
        """Tell whether a line belongs to a table."""
        index = bisect_right(self.tables, line.start, key=lambda span: span[0])
        return index > 0 and line.start < self.tables[index - 1][1]

    def words(self, line: Line) -> str:
        """Return what a line says, without bullets and numbering."""
        return self.text[line.head : line.end]

    def span(self, start: int, end: int) -> Span:
        """Return the place in the reply of a stretch of the plain text."""
        return self.plain.span(start, end)


def _one_naming(lines: list[Line]) -> list[Line]:
    """Return the lines; where images go by numbers, letters name nobody knows which."""
    signed = [line for line in lines if any(image.by_sign for image in line.images)]
    numbered = any(not image.by_sign for line in lines for image in line.images)
    if signed and numbered:
        for line in signed:
            line.images = [
                replace(image, positions=(UNKNOWN,)) if image.by_sign else image
                for image in line.images
            ]
    return lines


def lay_out(page: Page, scored: Sequence[bool]) -> None:
    """Find what heads each line; `scored` says of each whether a factor is given a number there."""
    numbered = _numbers_name_images(page)
    named = any(_head_image(page, line) is not None for line in page.lines)
    state = _State()
    for line, has_scores in zip(page.lines, scored, strict=True):
        if page.in_table(line):
            state.describe(line)
            state.entries = True
            continue
        _place(page, line, state, has_scores, numbered=numbered, bare=not named)
        state.describe(line)


@dataclass(slots=True)
class _State:
    """What heads the text so far."""

    section: int = 0
    positions: tuple[int, ...] | None = None
    kind: Kind = Kind.VERDICT
    caption: str = ""
    entries: bool = False
    """Whether something has been scored in this section."""

    def opened(self, positions: tuple[int, ...] | None) -> None:
        self.section += 1
        self.positions = positions
        self.entries = False
        if self.kind not in LASTING:
            self.kind = Kind.VERDICT
            self.caption = ""

    def closed(self) -> None:
        self.section += 1
        self.positions = (UNKNOWN,) if self.positions is not None else None
        self.entries = False

    def describe(self, line: Line) -> None:
        line.section = self.section
        line.positions = self.positions
        line.kind = self.kind
        line.caption = self.caption


def _place(
    page: Page, line: Line, state: _State, has_scores: bool, *, numbered: bool, bare: bool
) -> None:
    words = page.words(line)
    if _RULE.fullmatch(page.text, line.start, line.end):
        if state.entries:
            state.closed()
        line.heads = True
        return
    start, positions = _opening(page, line, has_scores, numbered=numbered, bare=bare)
    if positions is not None:
        state.opened(positions)
        line.parts = _parts(page, line, start, has_scores)
        line.parts[0].positions = positions
        line.heads = not has_scores
    else:
        line.parts = _parts(page, line, line.head, has_scores)
        if not has_scores:
            _caption(page, line, words, state)
    if has_scores:
        state.entries = True
    last = line.parts[-1] if line.parts else None
    if last is not None and last.positions is not None and len(line.parts) > 1:
        state.opened(last.positions)
        state.entries = has_scores


def _opening(
    page: Page, line: Line, has_scores: bool, *, numbered: bool, bare: bool
) -> tuple[int, tuple[int, ...] | None]:
    """Return where the words of a line go on behind the images that head it, and these images."""
    image = _head_image(page, line)
    if image is not None:
        stop = _STOP.match(page.text, image.end, line.end)
        return (stop.end() if stop else image.end), _checked(image.positions, page.n)
    if bare and page.n > 1:
        head = _BARE_HEAD.match(page.text, line.head, line.end)
        if head is not None:
            position = page.names.image_labelled(head["letter"] or head["short"] or head["ordinal"])
            if position is not None and (has_scores or head.end() >= line.end):
                return head.end(), (position,)
        if numbered and line.number is not None:
            return line.head, (line.number,)
    return line.head, None


def _checked(positions: tuple[int, ...], n: int) -> tuple[int, ...]:
    if len(positions) > 1 and not all(1 <= position <= n for position in positions):
        return (UNKNOWN,)
    return positions


def _head_image(page: Page, line: Line) -> ImageName | None:
    """Return the images that head a line: `Image 3:`, `Scores of the third image (…):`."""
    if not line.images:
        return None
    image = line.images[0]
    if line.factors and line.factors[0].start < image.start:
        return None
    lead = page.text[line.head : image.start]
    if not _LEAD_IN.fullmatch(lead):
        return None
    stop = _STOP.match(page.text, image.end, line.end)
    factor_next = bool(line.factors) and not page.text[image.end : line.factors[0].start].strip(" ,")
    subject = _SUBJECT.match(page.text, image.end, line.end) is not None
    at_start = not lead.strip(" (*[")
    if not at_start and len(lead.split()) > 7:
        return None
    if not (stop or factor_next or subject or line.heading):
        return None
    if _COMPARES.search(lead) or _names_others(page, line, image):
        return ImageName((UNKNOWN,), image.start, image.end)
    if not at_start and not (stop and stop["stop"] in {":", "", "–", "—", ","}) and not subject:
        return None
    return image


def _names_others(page: Page, line: Line, image: ImageName) -> bool:
    """Tell whether a heading sets several images against each other: `Image 1 vs. Image 2:`."""
    colon = page.text.find(":", image.end, line.end)
    limit = colon if colon >= 0 else line.end
    between = page.text[image.end : limit]
    others = [other for other in line.images[1:] if other.start < limit]
    return bool(others) and bool(re.search(r"\bvs\b|versus|compar|than|against", between))


def _parts(page: Page, line: Line, start: int, has_scores: bool) -> list[Part]:
    """Return the stretches of a line, cut where another image takes over."""
    parts = [Part(start, line.end, None)]
    if not has_scores:
        return parts
    for image in line.images:
        if image.start < start:
            continue
        opens = _PARTS.search(page.text[max(start, image.start - 40) : image.start])
        stop = _STOP.match(page.text, image.end, line.end)
        heads = stop is not None and stop["stop"] in {":", "=", "–", "—", "-", "|", "→", "->"}
        subject = _SUBJECT.match(page.text, image.end, line.end) is not None
        if opens is None or not (heads or subject):
            continue
        parts[-1].end = image.start
        parts.append(Part(stop.end() if heads and stop else image.end, line.end, image.positions))
    return parts


def _caption(page: Page, line: Line, words: str, state: _State) -> None:
    """Take a line that scores nothing for what it may be: a heading, or a remark."""
    short = len(words) <= _LONGEST_HEADING
    if not any(each.isalpha() for each in words):
        return
    if _SCORE_LINE.match(words):
        return
    colon = words.rstrip().endswith(":")
    marked = line.heading or colon
    neutral = _NEUTRAL.match(words.strip(" :*#")) is not None
    factor_heads = bool(line.factors) and line.factors[0].start <= line.head + 2
    if factor_heads and not marked:
        return
    kind = kind_of(words) if (marked or short) and not _SENTENCE.search(words.rstrip()) else None
    if kind is None and colon:
        kind = kind_of(words.rstrip(" :").rpartition(". ")[2])
    if kind is Kind.SOURCE and not line.images and short:
        marked = True
    if kind is not None and kind is not Kind.VERDICT and (marked or _stands_alone(line)):
        state.closed()
        state.kind = kind
        state.caption = words.strip()
        line.heads = True
        return
    if factor_heads or (line.factors and short and marked):
        return
    if kind is Kind.VERDICT and marked:
        if state.entries or state.kind is not Kind.VERDICT:
            state.closed()
            state.positions = None
        state.kind = Kind.VERDICT
        state.caption = ""
        line.heads = True
        return
    if neutral:
        return
    if marked and short or _is_unknown_heading(line, words):
        state.closed()
        state.kind = state.kind if state.kind in LASTING else Kind.VERDICT
        state.caption = words.strip()
        line.heads = True
        return
    first = line.images[0] if line.images else None
    other = first is not None and first.positions != state.positions
    goes_on = not line.gap and page.text.startswith("  ", line.start)
    near = first is not None and first.start <= line.head + 12
    if _MOVES_ON.search(words) or (other and near and not goes_on):
        state.closed()


def _stands_alone(line: Line) -> bool:
    return line.gap and not line.images


def _is_unknown_heading(line: Line, words: str) -> bool:
    """Tell whether a short line that is no sentence may head what follows."""
    if not line.gap or len(words) > 60 or len(words.split()) > 9:
        return False
    return not re.search(r"[.!?,;。]$", words.rstrip()) and not re.search(r"[0-9]", words)


def _numbers_name_images(page: Page) -> bool:
    """Tell whether the numbering of lines numbers images: some such line names several factors."""
    if page.n < 2:
        return False
    return any(
        line.number is not None
        and 1 <= line.number <= page.n
        and len({factor.key for factor in line.factors}) > 1
        for line in page.lines
    ) or all(
        any(line.number == i and line.head >= line.end for line in page.lines)
        for i in range(1, page.n + 1)
    )
