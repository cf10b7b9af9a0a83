"""A reply as lines, each with the images and factors it names, what heads it, and what it is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise

from lmmscore.parsing.lexicon import NO_SCORE
from lmmscore.parsing.names import UNKNOWN, FactorName, ImageName, Names
from lmmscore.parsing.remarks import (
    heads_plainly,
    heads_scores,
    is_final,
    is_neutral,
    kind_ahead,
    kind_of,
)
from lmmscore.parsing.text import Plain, Span, width_of
from lmmscore.parsing.verdict import LASTING, Kind

_START = re.compile(
    r"""
    [ \t]*(?:>[ ]?){0,5}[ \t]*(?P<hashes>\#{1,6}[ ]+(?![0-9]{1,2}[ ]*:))?
    (?P<bullet>(?:[-•●▪◦+*–—·○■‣⁃][ ]{1,6}|[-+•·](?=[A-Za-z])|:{1,2}[ ])*)
    (?P<numbering>\(?(?P<number>[0-9]{1,3})
      (?:[.)](?![0-9]|[ ]*(?:[:=–—-]|(?:for|on|in|to|points?|pts)\b))
        |:(?=[ ]+[A-Za-z][A-Za-z_ ()]{1,40}[:=]))[ ]*
      |\[(?P<bracketed>[0-9]{1,3})\]
        (?=[ ]+[A-Za-z][A-Za-z_ ]{1,40}?[ :=]+[0-9.]+
          (?![0-9.]|[ ](?!because|since|for|out|with|but|and|points|due|the)[a-z]{3}))[ ]*)?
    (?:[-•*–—][ ]+)?
    """,
    re.VERBOSE,
)
_SECTION_NUMBER = re.compile(r"§?[ ]?(?P<section>[0-9]{1,2})\.(?P<sub>[0-9]{1,2})\.?[ ]+")
_BRACKETED_NUMBER = re.compile(r"[\[(](?P<sub>[0-9]{1,2})[\])][ ]+\Z")
# A line of YAML, `- image: 2`. Where one thing is scored, its number may be the score.
_KEYED_IMAGE = re.compile(
    r"(?:image|edit|picture|image_id|image_number)[ ]*:[ ]*(?P<number>[0-9]{1,3})[ ]*",
    re.IGNORECASE,
)
_NUMBERED_HEAD = re.compile(
    r"(?:No|Nr|Num|Number|Nummer|№)\b\.?[ ]?(?P<number>[0-9]{1,2})(?=[ ]*(?:[:)\]]|[–—-][ ]|$))",
    re.IGNORECASE,
)
# A sentence that begins with what it is about: "For S_acc, …".
_ON_A_FACTOR = re.compile(r"(?:^|(?<=[.;][ ]))(?:For|On|In|Regarding)[ ](?:the[ ])?", re.MULTILINE)
_IN_EARNEST = re.compile(
    r"(?<=[.!?][ ])(?:As[ ]it[ ](?:is|stands)|In[ ]its[ ]present[ ]form|As[ ]shown|I[ ]disagree)\b"
)
_ROLE = re.compile(r"(?:assistant|ai|bot|answer|response|output|judge)[ ]*:[ ]*", re.IGNORECASE)
_ENTRY_ENDS = re.compile(r"[ )]*(?:[,;|.][ ]*[\"'\[(]*[0-9]|[.;|]?\s*\Z)")
_MAY_BE_A_SCORE = re.compile(
    r"[ ]*(?:[=:–—-]|\(|(?:for|on|in)\b|(?:/|out of)[ ]*(?P<top>[0-9]{1,3}))[ ]*", re.IGNORECASE
)
_EXPLAINED_VALUE = re.compile(
    rf"(?:score|rating|grade)[ ]*[:=][ ]*(?:[-–—?]+|{NO_SCORE}|[0-9.]+(?:[ ]?/[ ]?[0-9]+)?)[ ]*"
    r"[,;(–—-]+[ ]*[^\W\d_]+[ ][^\n]*?",
    re.IGNORECASE,
)
_MOST_NAMES = 300
_FILE = re.compile(
    r"(?P<stem>[^\W\d](?:[\w-]{0,40}?[^\W\d])?)?[_-]?(?P<number>[0-9]{0,4})"
    r"\.(?:png|jpe?g|webp|gif|bmp|tiff?)\b",
    re.IGNORECASE,
)
_FILE_ENDING = re.compile(r"\.(?:png|jpe?g|webp|gif|bmp|tiff?)\b", re.IGNORECASE)
_FENCED = re.compile(
    r"^[ \t]*(?:```|~~~)[^\n]*\n(?P<body>.*?)^[ \t]*(?:```|~~~)", re.MULTILINE | re.DOTALL
)
_OTHER_FILE = re.compile(r"source|original|input|reference|mask|truth|before|target|\bgt\b", re.I)


_ITS_OWN_NUMBER = re.compile(r"[(\[]?(?P<number>[0-9]{1,2})[.)\]]?[ ]*")
_BEHIND_A_RANK = re.compile(r"[ ]*(?:[:–—]|-[ ])[ ]*")
# What may be numbered besides images: "Report, version 2".
_OF_ANSWERS = frozenset(("version", "attempt", "entry", "item", "submission", "option", "system"))


@dataclass(slots=True)
class Part:
    """A stretch of a line that is said of some images."""

    start: int
    end: int
    positions: tuple[int, ...] | None
    """The images it is said of: those that it names itself, or those of its section."""
    named: bool = False
    """Whether it names them itself."""
    section: int = 0


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
    named: list[FactorName]
    """The factors, and what only resembles them."""
    images: list[ImageName]
    gap: bool
    """Whether a blank line stands before it."""
    blanks: int = 0
    """How many do."""
    parts: list[Part] = field(default_factory=list)
    section: int = 0
    positions: tuple[int, ...] | None = None
    """The images of its section; None where none is named, (UNKNOWN,) where it cannot be said."""
    kind: Kind = Kind.VERDICT
    caption: str = ""
    """The last heading above that is neither an image nor known to head a verdict."""
    heads: bool = False
    """Whether it is a heading and says nothing itself."""
    own: bool = False
    """Whether it is the one paragraph of the image that it opens with."""

    @property
    def keys(self) -> set[str]:
        """The factors it names, each once."""
        return {factor.key for factor in self.factors}


class Page:
    """A reply laid out: its lines, and what heads each of them."""

    def __init__(self, plain: Plain, names: Names, original: str) -> None:
        self.plain = plain
        self.text = plain.text
        self.names = names
        self.n = names.n
        self.original = original
        self.numbering: list[Span] = []
        """Numbers in brackets that only number the factors behind them: "[2] Quality: 7"."""
        self.lines = self._lines()
        self._starts = [line.start for line in self.lines]
        self.tables: list[Span] = []
        """Stretches that are tables, and not prose."""

    def _lines(self) -> list[Line]:
        lines: list[Line] = []
        gap = True
        for match in re.finditer(r"[^\n]+", self.text):
            start, _end = match.span()
            newlines = self.text[lines[-1].end if lines else 0 : start]
            if not match[0].strip():
                gap = True
                continue

            gap = gap or newlines.count("\n") > 1
            end = start + len(match[0].rstrip())
            for place in [*self._sentences_by_factor(start, end), end]:
                line = self._line(start, place, gap=gap)
                line.blanks = newlines.count("\n") - 1
                lines.append(line)
                gap, newlines, start = False, "\n", place

        self._forget_comments(lines)
        self._find_numbering(lines)
        lines = _one_naming(self._without_keys_amid(lines))
        if self.n > 1:
            self._forget_files(lines)
            self._forget_counts(lines)
            self._forget_hashes(lines)
            self._forget_titles(lines)

        return lines

    def _forget_comments(self, lines: Sequence[Line]) -> None:
        """Take comments in a fenced text for what they are: "# see the remark on image 1" between
        two keys heads nothing. One that only names an image does."""
        if "#" not in self.original:
            return

        fences = [match.span("body") for match in _FENCED.finditer(self.original)]
        for line in lines if fences else ():
            written = self.written(line.start)
            fenced = any(start <= written < end for start, end in fences)
            begins = self.original.rfind("\n", 0, written) + 1
            if not fenced or not self.original[begins:].lstrip().startswith("#"):
                continue

            amid = bool(line.images) and line.images[0].start - line.head > 1
            if amid and self.words(line)[:1].islower():
                line.heading = False
                line.images = []

    def _forget_files(self, lines: Sequence[Line]) -> None:
        """Forget the numbers of files whose names describe pictures: "dusk-2.png" beside
        "red-hat.png" is not the second."""
        if not _FILE_ENDING.search(self.text):
            return

        stems = {(file["stem"] or "").lower() for file in _FILE.finditer(self.text)}
        if len([stem for stem in stems if not _OTHER_FILE.search(stem)]) < 2:
            return

        for line in lines:
            line.images = [
                replace(image, positions=(UNKNOWN,))
                if _FILE_ENDING.search(self.text, image.start, image.end + 6)
                else image
                for image in line.images
            ]

    def _forget_counts(self, lines: Sequence[Line]) -> None:
        """Take labels that count factors under the headings of images for no images: "Nr. 2:
        Quality: 7", below "## Image 1"."""
        heading: ImageName | None = None
        counting: list[Line] = []
        astray = False
        for line in lines:
            image = line.images[0] if line.images else None
            if image is None or image.start - line.head > 1:
                continue

            if not line.factors:
                heading = image if line.heading else heading
            elif (
                heading is not None
                and len(line.keys) == 1
                and self._label(image) != self._label(heading)
            ):
                counting.append(line)
                astray = astray or image.positions != heading.positions

        if astray and len({line.images[0].positions for line in counting}) > 1:
            for line in counting:
                line.images = line.images[1:]

    def _forget_hashes(self, lines: Sequence[Line]) -> None:
        """Take number signs that count factors for no images: "#1 Accuracy: 7", above "#2 Quality:
        5". Nobody scores one image on this factor only, and the next on that."""
        counted = [self._counted_factor(line) for line in lines]
        count_factors = any(
            key and other and key != other and following == number + 1
            for (number, key), (following, other) in pairwise(counted)
        )
        for line in lines if count_factors else ():
            line.images = [image for image in line.images if not self._is_hashed(image)]

        if any(not line.factors and self._is_named(line) for line in lines):
            self._doubt_hashes(lines, counted)

    def _doubt_hashes(self, lines: Sequence[Line], counted: Sequence[tuple[int, str]]) -> None:
        """Take number signs beside one factor for nobody knows what: below images with a name they
        may count either: "Image 8", "#3 Quality: 4"."""
        for line, (number, _) in zip(lines, counted, strict=True):
            if number and line.images:
                line.images[0] = replace(line.images[0], positions=(UNKNOWN,))

    def _is_named(self, line: Line) -> bool:
        """Tell whether an image that a line names has more of a name than a number sign."""
        return any(not self._is_hashed(image) for image in line.images)

    def _counted_factor(self, line: Line) -> tuple[int, str]:
        """Return the number sign at the head of a line, and the one factor that it scores."""
        image = line.images[0] if line.images and len(line.keys) == 1 else None
        lead = self.text[line.head : image.start] if image is not None else ""
        if image is None or any(map(str.isalnum, lead)) or not self._is_hashed(image):
            return 0, ""
        return image.positions[0], line.factors[0].key

    def _forget_titles(self, lines: Sequence[Line]) -> None:
        """Take what numbers the answer itself for no image: "Judge report, version 2", where no
        other version is named."""
        named: dict[str, set[tuple[int, ...]]] = {}
        for line in lines:
            for image in line.images:
                label = self._label(image)
                if label in _OF_ANSWERS:
                    named.setdefault(label, set()).add(image.positions)

        alone = {label for label, positions in named.items() if len(positions) == 1}
        for line in lines if alone else ():
            line.images = [
                image
                for image in line.images
                if image.start - line.head < 2 or self._label(image) not in alone
            ]

    def _is_hashed(self, image: ImageName) -> bool:
        """Tell whether an image has no name but a number sign: "#2"."""
        return self.text.startswith("#", image.start)

    def _label(self, image: ImageName) -> str:
        """Return the word that names an image, without its number."""
        return re.sub(r"[\W\d_]+", "", self.text[image.start : image.end]).lower()

    def _find_numbering(self, lines: Sequence[Line]) -> None:
        """Find the numbers that count factors, each the same in every section: `3.1 Accuracy`, at
        the head of lines, which it is no part of; and "[1] Accuracy: 7; [2] Quality: 5"."""
        opening: dict[int, re.Match[str]] = {}
        brackets: list[tuple[str, re.Match[str]]] = []
        for index, line in enumerate(lines):
            section = _SECTION_NUMBER.match(self.text, line.head, line.end)
            if section and line.factors and line.factors[0].start == section.end():
                opening[index] = section

            words = self.text[line.start : line.end]
            for factor in line.factors if "[" in words or "(" in words else ():
                bracket = _BRACKETED_NUMBER.search(self.text, line.start, factor.start)
                if bracket:
                    brackets.append((factor.key, bracket))

        counts = [
            (lines[index].factors[0].key, int(found["sub"])) for index, found in opening.items()
        ]
        sections = {found["section"] for found in opening.values()}
        if len(sections) <= self.n and self._counts_factors(counts):
            for index, found in opening.items():
                lines[index].head = found.end()

        if self._counts_factors([(key, int(found["sub"])) for key, found in brackets]):
            self.numbering = [found.span() for _, found in brackets]

    def _counts_factors(self, counts: Sequence[tuple[str, int]]) -> bool:
        """Tell whether numbers count factors: each has its own, and keeps it."""
        numbers = dict(counts)
        if len(counts) < 3 or any(numbers[key] != number for key, number in counts):
            return False

        distinct = len(set(numbers.values())) == len(numbers)
        small = all(1 <= number <= len(self.names.factors) for number in numbers.values())
        # Scores of a single image may be small and unlike, too, but hardly in their order.
        ascending = list(numbers.values()) == sorted(numbers.values())
        return distinct and small and (ascending or len(counts) > len(numbers))

    def _without_keys_amid(self, lines: list[Line]) -> list[Line]:
        """Return the lines; where a key names an image behind scores of the same record, in YAML
        with its keys in any order, it cannot be told which scores are its own."""
        amid = any(
            not line.gap
            and self._is_keyed(line)
            and not self._is_item(line)
            and (above.factors or not self.words(above).rstrip().endswith(":"))
            for above, line in pairwise(lines)
        )
        if amid:
            for line in filter(self._is_keyed, lines):
                line.images = [replace(image, positions=(UNKNOWN,)) for image in line.images]

        return lines

    def _is_item(self, line: Line) -> bool:
        """Tell whether a line begins with a bullet or a number."""
        return bool(self.text[line.start : line.head].strip())

    def _is_keyed(self, line: Line) -> bool:
        return len(line.images) == 1 and bool(
            _KEYED_IMAGE.fullmatch(self.text, line.head, line.end)
        )

    def _sentences_by_factor(self, start: int, end: int) -> list[int]:
        """Return where sentences begin that each go through the images on one factor:
        "For S_acc, Image 1 gets 8 and Image 2 gets 5. For S_pre, …"."""
        if self.n == 1:
            # "If the halo is ignored, S_acc would be 9. As it is, I rate it 6."
            earnest = _IN_EARNEST.search(self.text, start, end)
            return [earnest.start()] if earnest else []

        if not _ON_A_FACTOR.match(self.text, start, end):
            return []

        opens = [
            match.start()
            for match in _ON_A_FACTOR.finditer(self.text, start, end)
            if any(name.start == match.end() for name in self._names_at(match.end(), end))
        ]
        return opens[1:] if opens[:1] == [start] else []

    def _names_at(self, place: int, end: int) -> list[FactorName]:
        return self.names.factors_in(self.text, place, min(end, place + 60))[:1]

    def _line(self, start: int, end: int, *, gap: bool) -> Line:
        opening = _START.match(self.text, start, end)
        assert opening is not None
        head = opening.end()
        role = _ROLE.match(self.text, head, end)
        if role is not None and role.end() < end:
            head = role.end()

        written = opening["number"] or opening["bracketed"]
        number = int(written) if written else None
        heading = bool(opening["hashes"]) or self._is_bold(head, end)
        named = self.names.factors_in(self.text, start, end)
        if len(named) > _MOST_NAMES:
            # Nobody's verdict, and it must not keep us busy.
            named = []

        factors = [factor for factor in named if not factor.modified] or self._spelled_factor(
            head, end
        )
        images = self._images_of(start, end, factors) or self._numbered_image(head, end)
        if images and _EXPLAINED_VALUE.match(self.text, head, images[0].start):
            # "score = -, because as in Image 1, …": mentioned only.
            images = []
        if self._is_ranked(images):
            images = images[1:]
            head = images[0].start
        elif images and self._is_numbered_twice(images[0], head):
            head = images[0].start

        return Line(start, end, head, number, heading, factors, named, images, gap)

    def _spelled_factor(self, head: int, end: int) -> list[FactorName]:
        """Return the factor whose name, however spelled, is all that a line says: `S-ACC`."""
        words = self.text[head:end]
        factor = self.names.factor_named(words) if self.names.is_name(words) else None
        if factor is None:
            # "Acc.: 8", "Qual: 8": not "Edit: 8", though "Editiergenauigkeit" begins so.
            words, _, behind = words.partition(":")
            words = words.rstrip()
            factor = self.names.abbreviated(words)
            if factor is None and behind.lstrip()[:1].isdigit():
                factor = self.names.abbreviated(f"{words}.")
                factor = factor if factor and words.lower().startswith(factor.key) else None

        return [FactorName(factor.key, head, head + len(words), in_words=True)] if factor else []

    def _images_of(self, start: int, end: int, factors: Sequence[FactorName]) -> list[ImageName]:
        """Return the images a line names, outside the names of factors."""
        named = [
            self._unless_a_score(image, factors, start, end)
            for image in self.names.images_in(self.text, start, end)
            if not any(f.start < image.end and image.start < f.end for f in factors)
        ]
        return [image for image in named if image is not None]

    def _is_ranked(self, images: Sequence[ImageName]) -> bool:
        """Tell whether the first of a line's images is the rank of the second: "#1 – Image 2"."""
        if len(images) < 2 or not self._is_hashed(images[0]) or self._is_hashed(images[1]):
            return False
        return _BEHIND_A_RANK.fullmatch(self.text, images[0].end, images[1].start) is not None

    def _is_numbered_twice(self, image: ImageName, head: int) -> bool:
        """Tell whether an image has its own number before it, too: "1 Image 1", "1️⃣ Image 1"."""
        number = _ITS_OWN_NUMBER.fullmatch(self.text, head, image.start)
        return number is not None and image.positions == (int(number["number"]),)

    def _numbered_image(self, head: int, end: int) -> list[ImageName]:
        """Return the image that a line gives by a key or a number sign: `image: 2`, "No. 2:"."""
        bracketed = self.text.startswith(("[", "("), head)
        found = _NUMBERED_HEAD.match(self.text, head + bracketed, end)
        if found is None and self.names.only is None:
            found = _KEYED_IMAGE.fullmatch(self.text, head, end)

        return [ImageName((int(found["number"]),), head, found.end())] if found else []

    def _unless_a_score(
        self, image: ImageName, factors: Sequence[FactorName], start: int, end: int
    ) -> ImageName | None:
        """Return an image's name, or an unknown one where its number may be a score.

        In "the dusk picture 5 = S_qua" and "the first picture 5/10" it is. Where there is only one
        image, "I rate the edited image 8 for accuracy" names none by a number.
        """
        joint = _MAY_BE_A_SCORE.match(self.text, image.end, end)
        if joint is None:
            return image

        counted = joint["top"] is not None and int(joint["top"]) != self.n
        if counted:
            return replace(image, positions=(UNKNOWN,))

        after = [factor for factor in factors if factor.start == joint.end()]
        if after and _ENTRY_ENDS.match(self.text, after[0].end, end):
            amid = image.start > start and self.text[image.start].islower()
            alone = self.n == 1 and image.positions[0] > 1
            return None if amid and alone else replace(image, positions=(UNKNOWN,))

        return image

    def _is_bold(self, start: int, end: int) -> bool:
        if start >= end:
            return False
        first, last = self.plain.span(start, end)
        opened = self.original[max(0, first - 2) : first] in {"**", "__"}
        return opened and self.original[last : last + 2] in {"**", "__"}

    def line_at(self, place: int) -> Line | None:
        """Return the line at a place of the plain text, or the last one before it."""
        index = bisect_right(self._starts, place)
        return self.lines[index - 1] if index else None

    def in_table(self, line: Line) -> bool:
        """Tell whether a line belongs to a table."""
        if not self.tables:
            return False

        index = bisect_right(self.tables, line.start, key=lambda span: span[0])
        return index > 0 and line.start < self.tables[index - 1][1]

    def words(self, line: Line) -> str:
        """Return what a line says, without bullets and numbering."""
        return self.text[line.head : line.end]

    def written(self, place: int) -> int:
        """Return where in the reply a place of the plain text was written."""
        return self.plain.span(place, place + 1)[0]

    def column_of(self, place: int) -> int:
        """Return how far into its line a place of the plain text was written."""
        return len(self._before(place))

    def width_before(self, place: int) -> int:
        """Return how wide what was written before a place of the plain text is on its line."""
        return width_of(self._before(place))

    def _before(self, place: int) -> str:
        """Return what was written before a place of the plain text on its line."""
        written = self.written(place)
        return self.original[self.original.rfind("\n", 0, written) + 1 : written]

    @property
    def measures(self) -> list[Callable[[int], int]]:
        """The ways in which columns may have been aligned."""
        return [self.column_of] if self.original.isascii() else [self.column_of, self.width_before]

    def span(self, start: int, end: int) -> Span:
        """Return the place in the reply of a stretch of the plain text."""
        return self.plain.span(start, end)


def _one_naming(lines: list[Line]) -> list[Line]:
    """Return the lines; where images go by numbers, letters name nobody knows which."""
    by_sign = set()
    for line in lines:
        by_sign |= {image.by_sign for image in line.images if len(image.positions) == 1}

    if by_sign != {True, False}:
        return lines

    for line in lines:
        line.images = [_unknown_if_signed(image) for image in line.images]

    return lines


def _unknown_if_signed(image: ImageName) -> ImageName:
    return replace(image, positions=(UNKNOWN,)) if image.by_sign else image


_FAR = 3
"""Behind so many blank lines, what follows may be of an image whose heading is missing."""


def lay_out(page: Page, scores: Sequence[int]) -> None:
    """Find what heads each line; `scores` says of each how many factors get a number there."""
    named = any(line.images for line in page.lines) or _letters_recur(page)
    numbered = None if named or page.n < 2 else _numbers_name_images(page, scores)
    opened = [index for index, line in enumerate(page.lines) if _is_opened_by_an_image(page, line)]
    headed = _plainly_headed(page)
    listed = [
        index
        for index in opened
        if scores[index] or (not headed and _leads_to_a_list(page, index, scores))
    ]
    _mark_own_paragraphs(page, [page.lines[index] for index in listed])
    state = _State(
        by_paragraph=len(opened) > 1,
        headed=headed,
        titled=headed | _titled(page),
        remarked=_has_remarks_below(page, scores),
    )
    for index, line in enumerate(page.lines):
        if page.in_table(line):
            state.describe(line)
            state.entries = True
            continue

        if state.positions is not None and line.blanks >= _FAR and page.n > 1:
            state.closed()

        has_scores = scores[index] > 0
        another = _begins_another(page, line) if has_scores else _heads_factors(line)
        # Below "Accuracy, Image 2:" stands its number, and no other factor's.
        if page.n > 1 and (another or (state.of_a_cell and line.factors)):
            state.closed()

        state.leads = _stands_over_scores(page, index, scores)
        before = replace(state) if has_scores and line.images else state
        _place(page, line, state, has_scores, numbered)
        if page.n > 1 and (len(line.factors) > 1 or has_scores):
            several = scores[index] > 1 or len(line.keys) > 2
            if _leads_on(page, line, several=several):
                state.closed()

        state.scored = has_scores
        state.of_a_cell = line.heads and not has_scores and _names_a_cell(page, line)
        state.describe(line)
        if page.n > 1 and (_ends_in_a_heading(page, line) or _is_left_out(page, line, state)):
            state.closed()
        elif page.n > 1 and before is not state and _compares(line, before, state):
            titled = {before.positions, state.positions} <= state.titled
            state.resumed(before)
            if not titled:
                state.closed()
        elif page.n > 1 and _goes_through_images(line):
            state.closed()

    if page.n > 1:
        _withdraw_what_is_named_below(page, scores)


def _is_left_out(page: Page, line: Line, state: _State) -> bool:
    """Tell whether an image has no scores: "Image 3: skipped", or "Not scored." right below it.
    What follows is not of that one."""
    if state.positions is None or state.entries:
        return False
    begins = line.images[-1].end if line.heads and line.images else line.head
    if line.end - begins > _LONGEST_GAP:
        return False
    return _NONE_AT_ALL.fullmatch(page.text, begins, line.end) is not None


_LONGEST_GAP = 100
_NONE_AT_ALL = re.compile(rf"(?:[^\n]{{0,60}}[:–—])?\W*{NO_SCORE}\W*", re.IGNORECASE)


def _goes_through_images(line: Line) -> bool:
    """Tell whether a line goes through several images on the factor that opens it: what stands
    below is not of the last of them."""
    opens = bool(line.factors) and line.factors[0].start <= line.head + 2
    return opens and len({part.positions for part in line.parts[1:]}) > 1


def _compares(line: Line, before: _State, after: _State) -> bool:
    """Tell whether a line that no image opens goes on about one: "S_acc: 8. Image 4 got 3 for
    S_acc." What stands below is not of that one."""
    if before.positions == after.positions or (line.heading and not line.factors):
        return False
    opened = line.parts[0].named and (line.gap or after.positions not in after.titled)
    return len(line.parts) > 1 and not opened


def _heads_factors(line: Line) -> bool:
    """Tell whether a heading is one of several factors: "**B. Quality and realism**"."""
    return line.heading and len(line.keys) > 1 and not line.images


def _begins_another(page: Page, line: Line) -> bool:
    """Tell whether a line of scores is that of the next image, which is not named: "Then: S_acc 3,
    …", "*** S_acc 3"."""
    written = page.written(line.start)
    if _DIVIDED.match(page.original, page.original.rfind("\n", 0, written) + 1):
        return True
    return _THEN.match(page.text, line.head, line.end) is not None


_DIVIDED = re.compile(r"[ ]*+([*=~_–—-])\1{2,40}[ :]")
_THEN = re.compile(
    r"\W*(?:and[ ])?(?:then|next|now|finally|lastly|last|also|after(?:wards|[ ]that))\W{0,2}:",
    re.IGNORECASE,
)


def _ends_in_a_heading(page: Page, line: Line) -> bool:
    """Tell whether a line about one image ends with the heading of another: "…; on to Image 2:"."""
    if len({image.positions for image in line.images}) < 2:
        return False
    rest = page.text[line.images[-1].end : line.end]
    return ":" in rest and not rest.strip(" :*_")


def _has_remarks_below(page: Page, scores: Sequence[int]) -> bool:
    """Tell whether most scores have a sentence on the line right below them."""
    scored = [index for index, count in enumerate(scores[:-1]) if count]
    remarked = [index for index in scored if _is_a_remark_below(page, page.lines[index + 1])]
    return len(remarked) > _SEVERAL and 2 * len(remarked) > len(scored)


def _is_a_remark_below(page: Page, line: Line) -> bool:
    named = line.images or line.factors or line.heading
    return not (line.gap or named) and _SENTENCE.search(page.words(line).rstrip(" *_")) is not None


_SEVERAL = 2


def _plainly_headed(page: Page) -> set[tuple[int, ...]]:
    """Return the images that have a line of their own, with nothing else on it."""
    return {line.images[0].positions for line in page.lines if _is_only_an_image(page, line)}


def _titled(page: Page) -> set[tuple[int, ...]]:
    """Return the images that have a line of their own: marked as a heading, or with a colon behind
    it; "Evaluation of Image 2:"."""
    return {
        line.images[0].positions
        for line in page.lines
        if len(line.images) == 1
        and not line.factors
        and (line.heading or page.words(line).rstrip(" *_").endswith(":"))
    }


def _is_only_an_image(page: Page, line: Line) -> bool:
    if not line.images or page.text[line.head : line.images[0].start].strip(" |(*[#=_~-–—"):
        return False

    stop = _STOP.match(page.text, line.images[0].end, line.end)
    return stop is not None and not page.text[stop.end() : line.end].strip(" |*_#)]:.")


def _is_a_title(page: Page, line: Line) -> bool:
    """Tell whether a line is marked as the heading of the image it begins with, with a few words
    on it: "**Image 1 – red boat**"."""
    if not line.heading or line.images[0].start > line.head:
        return False
    return _STOP.match(page.text, line.images[0].end, line.end) is not None


# "↑ Image 1", "(The table above is for Image 2.)": what stands before or behind the image's name.
_ABOVE = re.compile(
    r"""
    \babove\b(?![ ](?:all|average|the|it|any|every|most|others?)\b)
    |\b(?:oben|ci-dessus|arriba|sopra|acima|hierboven)\b|[↑⬆⇧▲^]|以上|上述|上表|上記|выше
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _withdraw_what_is_named_below(page: Page, scores: Sequence[int]) -> None:
    """Leave scores without an image where images may be named below their lists, not above.

    It is so where the first list has no heading and the last heading no list, or where a heading
    speaks of what stands above it.
    """
    heads = [index for index, line in enumerate(page.lines) if line.heads and line.images]
    alone = [index for index in heads if _is_only_an_image(page, page.lines[index])]
    listed = [
        index
        for index, line in enumerate(page.lines)
        if page.in_table(line)
        or (scores[index] and line.factors and line.factors[0].start - line.head < 2)
    ]
    below = alone and listed and listed[0] < alone[0] and alone[-1] > listed[-1]
    below = below and not any(_is_a_title(page, page.lines[index]) for index in heads[:1])
    if not below and not any(_speaks_of_above(page, page.lines[index]) for index in heads):
        return

    for line in page.lines:
        if line.positions is not None:
            line.positions = (UNKNOWN,)

        for part in line.parts:
            if not part.named:
                part.positions = line.positions


def _speaks_of_above(page: Page, line: Line) -> bool:
    """Tell whether a heading is one of what stands above it."""
    image = line.images[0]
    around = page.text[line.start : image.start] + page.text[image.end : line.end]
    return _ABOVE.search(around) is not None


def _is_opened_by_an_image(page: Page, line: Line) -> bool:
    """Tell whether an image stands at the head of a line, or behind words that lead to it."""
    if not line.images:
        return False

    image = line.images[0]
    lead = page.text[line.head : image.start]
    if not _may_lead_in(line, lead, image, at_start=not lead):
        return False
    return heads_plainly(lead) and _COMPARES.search(lead) is None


def _leads_to_a_list(page: Page, index: int, scores: Sequence[int]) -> bool:
    """Tell whether a paragraph of sentences stands over a list of scores, or a table, with nothing
    but sentences between, and no heading over it."""
    if not page.lines[index].gap or (index and page.lines[index - 1].heading):
        return False

    for below in range(index, len(page.lines)):
        line = page.lines[below]
        if page.in_table(line) or (scores[below] and below > index):
            return below > index
        if below > index and (line.images or line.factors or line.heading or line.number):
            return _is_opened_by_a_factor(line) and not line.images
        if _SENTENCE.search(page.words(line).rstrip(" *_")) is None:
            return False

    return False


def _mark_own_paragraphs(page: Page, opened: Sequence[Line]) -> None:
    """Mark the paragraphs that give scores and open with an image, where each image has just one.

    "Image 1 does what was asked. … I give it 8 for accuracy …" heads itself then, which one such
    sentence amid the scores of another image would not; so does "Image 1 does what was asked." with
    a list below it. "#1 Edit 5" is a rank and its image.
    """
    positions = sorted(line.images[0].positions for line in opened)
    if any(_is_left_empty(page, line, line.images[0]) for line in opened):
        return
    if page.n > 1 and positions == [(position,) for position in range(1, page.n + 1)]:
        for line in opened:
            line.own = True


_BARE_HEAD = re.compile(
    r"""
    (?:(?P<letter>(?-i:[A-H]|[a-h](?=\))))|(?P<short>(?-i:[IEMPVRO])(?P<digits>[0-9]{1,2}))
      |(?P<ordinal>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last))
    [ ]*(?:[:)=]|[–—-](?=[ ])|$)[ ]*
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _letters_recur(page: Page) -> bool:
    """Tell whether a letter before a colon or a bracket opens several lines: "A:" answers "Q:", and
    "a)" may be the bullet of every entry. Then letters name no images."""
    heads = [_BARE_HEAD.match(page.text, line.head, line.end) for line in page.lines]
    letters = [head["letter"] for head in heads if head is not None and head["letter"]]
    return len(set(letters)) < len(letters)


def _stands_over_scores(page: Page, index: int, scores: Sequence[int]) -> bool:
    """Tell whether a line opens a paragraph and scores follow right below: it may head them."""
    if not page.lines[index].gap or scores[index] or index + 1 == len(page.lines):
        return False
    return scores[index + 1] > 0 and not page.lines[index + 1].gap


@dataclass(slots=True)
class _State:
    """What heads the text so far."""

    section: int = 0
    sections: int = 0
    """How many there have been."""
    positions: tuple[int, ...] | None = None
    kind: Kind = Kind.VERDICT
    caption: str = ""
    captioned: int = 0
    """Where the line ends that says so."""
    entries: bool = False
    """Whether something has been scored in this section."""
    scored: bool = False
    """Whether the last line gave scores."""
    listed: bool = False
    """Whether what is no verdict is given for each image."""
    form: set[tuple[int, ...] | None] | None = None
    """The images for which a form was shown; None where it is not blank."""
    leads: bool = False
    """Whether this line opens a paragraph and scores stand right below."""
    by_paragraph: bool = False
    """Whether several lines name an image where they begin: another that is named further on is
    mentioned there, unless it is plain what the line is of."""
    of_a_cell: bool = False
    """Whether the line above names an image and a factor, and nothing else."""
    remarked: bool = False
    """Whether scores have sentences on the lines right below them."""
    headed: Set[tuple[int, ...]] = frozenset()
    """The images that have a plain heading: words that lead to one of them elsewhere mention it."""
    titled: Set[tuple[int, ...]] = frozenset()
    """The images that have any line of their own which may be a heading."""

    def opened(self, positions: tuple[int, ...] | None) -> None:
        # Weights that are listed for each image have none before the first image.
        listed = self.kind in {Kind.WEIGHTS, Kind.AVERAGE, Kind.DIFFERENCE} and not self.entries
        self.listed = self.listed or listed
        lasting = LASTING | {self.kind} if self.listed else LASTING
        self._number()
        self.positions = positions
        self.entries = False
        # An image that comes again behind a blank form is where it is filled in.
        filled_in = self.kind is Kind.EXAMPLE and positions in (self.form or ())
        if self.kind not in lasting or filled_in:
            self.kind = Kind.VERDICT
            self.caption = ""

    def closed(self) -> None:
        self._number()
        self.positions = (UNKNOWN,) if self.positions is not None else None
        self.entries = False

    def _number(self) -> None:
        self.sections += 1
        self.section = self.sections

    def resumed(self, before: _State) -> None:
        """Go back to what headed the text, as if a remark had not named another image."""
        self.section = before.section
        self.positions = before.positions
        self.kind = before.kind
        self.caption = before.caption
        self.entries = before.entries

    def captioned_as(self, kind: Kind, words: str, line: Line) -> None:
        """Take a line for a caption of numbers that are no verdict."""
        self.headed_by(words, line)
        self.kind = kind
        self.listed = False
        self.form = set()
        self.captioned = line.end

    def headed_by(self, words: str, line: Line) -> None:
        """Take a line for a heading that is not known."""
        self.closed()
        self.kind = self.kind if self.kind in LASTING else Kind.VERDICT
        self.caption = words.strip()
        line.heads = True

    def announced(self, line: Line) -> None:
        """Take a line for the announcement of a verdict."""
        if self.entries or self.kind is not Kind.VERDICT:
            self.closed()
            self.positions = None

        self.kind = Kind.VERDICT
        self.listed = False
        self.caption = ""
        line.heads = True

    def describe(self, line: Line) -> None:
        line.section = self.section
        line.positions = self.positions
        line.kind = self.kind
        line.caption = self.caption


_RULE = re.compile(r"[ ]*(?:[-=_*~·—–][ ]?){3,200}[ ]*")
# "S_acc: <number>", "S_acc: …", "S_acc: [score]"
_TO_BE_FILLED_IN = re.compile(
    r"[:=–—-][ ]*(?:…|\.{3}|\?|X{1,2}\b|[<(\[][^<>()\[\]\d\n]{1,40}[>)\]])"
)


def _place(page: Page, line: Line, state: _State, has_scores: bool, numbered: str | None) -> None:
    """Take a line for what it is, and say what each part of it is said of."""
    if _RULE.fullmatch(page.text, line.start, line.end):
        # A rule right under a heading only underlines it.
        if state.entries or (line.gap and page.n > 1):
            state.closed()

        line.heads = True
        return

    start, positions = _opening(page, line, has_scores, numbered, state.headed)
    if has_scores:
        if positions is not None:
            state.opened(positions)
        elif page.n > 1 and line.number is not None and len(line.keys) > 1:
            # "Image (1): S_acc 8, S_pre 7", and below it "(2) S_acc 6, S_pre 5".
            state.closed()
    elif positions is not None:
        _head(page, line, state, start, positions)
    elif page.n > 1 and _is_a_strange_list(page, line):
        state.closed()
    else:
        _caption(page, line, page.words(line), state)

    line.parts = _parts(page, line, start, has_scores)
    first = line.parts[0]
    first.positions = state.positions
    first.named = positions is not None
    first.section = state.section
    if has_scores:
        state.form = None
    elif (
        state.form is not None
        and line.factors
        and _TO_BE_FILLED_IN.search(page.text, line.head, line.end)
    ):
        state.form.add(state.positions)
    if has_scores or line.factors:
        state.entries = True

    _open_parts(page, line, state, unsure=positions == (UNKNOWN,))


def _head(page: Page, line: Line, state: _State, start: int, positions: tuple[int, ...]) -> None:
    """Take a line without scores for the heading of the images it names."""
    line.heads = True
    if any(len(image.positions) > 1 for image in line.images):
        # "Ranks for each image:", and later "Final scores for each image:"
        kind = _kind_of_title(page.words(line))
        if kind in _NO_VERDICT:
            state.captioned_as(kind, page.words(line), line)
            return

        if kind is Kind.VERDICT and state.kind is not Kind.VERDICT:
            state.announced(line)

    if 1 < len(positions) == page.n:
        # "Results for Image 1 to Image 3:" stands over lists of one image each.
        state.opened(None)
        return

    if _is_mentioned_amid(page, line, positions, state):
        state.closed()
        state.positions = (UNKNOWN,)
        return

    state.opened(positions)
    if page.n > 1 and _is_more_than_a_heading(page, line, start, positions):
        state.closed()

    lead = page.text[line.head : line.images[0].start] if line.images else ""
    labels = page.text.endswith(":", line.head, line.end)
    kind = kind_ahead(lead) if labels or line.heading else None
    if labels and kind_of(lead) is Kind.DIFFERENCE:
        kind = Kind.DIFFERENCE
    if kind is not None:
        # "Difference to Image 1:" heads no scores of that image, nor of any other.
        state.kind = kind
        state.positions = (UNKNOWN,)


# Words that come to an image where no sign makes them a heading.
_COMES_TO = re.compile(
    r"""
    [\W_]*(?:and[ ]|so[ ]|und[ ]|et[ ]|y[ ]|e[ ])?
    (?:
      (?:now|next|then|finally|lastly|last|first|second|third|fourth|fifth)(?:ly|[ ]up)?
      |(?:up[ ]next|last[ ]but[ ]not[ ]least|then[ ]there[ ]is|here[ ](?:is|comes))
      |(?:[\w'’]+[ ]){0,3}(?:moving|turning|going|coming|passing|continuing|beginning|starting|over
        |on|move|turn|go|come|pass|continue|begin|start)(?:[ ](?:on|over|now|next))?[ ](?:to|with)
      |(?:let[ ]us|let['’]s|we|I)[ ](?:[\w'’]+[ ]){0,2}
        (?:look(?:ing)?[ ]at|see|examine|consider|take|turn[ ]to|come[ ]to)
      |(?:as|what|how|now)[ ](?:for|to|of|about|regards)|regarding|concerning|considering|about
      |nun|jetzt|dann|weiter|als[ ]nächstes|schließlich|zuletzt|zu|kommen[ ]wir|betrachten[ ]wir
      |maintenant|ensuite|puis|enfin|passons|quant|concernant|voyons|regardons|pour
      |ahora|luego|después|finalmente|por[ ]último|pasemos|pasando|en[ ]cuanto|respecto|veamos
      |ora|poi|infine|passiamo|vediamo|agora|depois|por[ ]fim|passemos|vejamos|vamos
      |nu|dan|tot[ ]slot|ten[ ]slotte|over[ ]naar|теперь|далее|затем|наконец|перейд\w+|рассмотрим
      |teraz|następnie|wreszcie|şimdi|sonra|son[ ]olarak|härnäst|till[ ]sist
      |接下来|现在|然后|最后|下面|关于|对于|再看|来看|次に?|続いて|最後に?|다음은?|이제|마지막
    )
    [\W_]*(?:\w+[\W_]*){0,2}
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _is_mentioned_amid(page: Page, line: Line, positions: tuple[int, ...], state: _State) -> bool:
    """Tell whether a line between the heading of one image and its scores, or amid these, only
    mentions another: "See image 2.", "Requested edit 2: the dog", "**Image 2 is better here.**"
    """
    if state.positions == positions or not line.images or line.own:
        return False

    image = line.images[0]
    headed = positions in state.headed
    lead = page.text[line.head : image.start].strip(" *[")
    begun = state.positions is not None or state.entries or state.caption
    said_of_it = state.sections and _STOP.match(page.text, image.end, line.end) is None
    if not begun and not said_of_it and "(" not in lead:
        return False

    if lead.strip("("):
        if heads_scores(lead):
            return False

        marked = line.heading or page.words(line).rstrip().endswith(":")
        leads = marked or _COMES_TO.fullmatch(lead) or lead.lower() in {"in", "for", "on", "with"}
        return headed or not leads or lead.endswith("-")

    if headed and any(factor.start - image.end < 3 for factor in line.factors):
        # "Nr. 2: Context Preservation (not scored)" counts factors.
        return True
    if _STOP.match(page.text, image.end, line.end):
        return False
    amid = headed or not (state.entries and line.gap)
    return amid and _SENTENCE.search(page.words(line).rstrip(" *_)")) is not None


_SENTENCE_STARTS = re.compile(r"[.!?][ ]")


def _open_parts(page: Page, line: Line, state: _State, *, unsure: bool) -> None:
    """Open a section for each image that takes over on a line: "…; Image 2: S_acc 7".

    Where it is unsure what opens the line, so is the rest of the sentence: "The paper reports for
    Image 1 …, and for Image 2 …" says the same of both.
    """
    lost = False
    for part in line.parts[1:]:
        if unsure and not _SENTENCE_STARTS.search(page.text, line.head, part.start):
            part.positions = (UNKNOWN,)

        if line.own or (lost and state.by_paragraph):
            # "The third picture is odd. … Image 5 got 2; this one gets no score. …"
            part.positions = (UNKNOWN,)

        lost = lost or part.positions == (UNKNOWN,)
        before = replace(state)
        state.opened(part.positions)
        part.section = state.section
        state.entries = part.start < line.end
        if _is_aside(page, line, part):
            state.resumed(before)
        elif _ends_strangely(page, line, part):
            state.closed()


_IN_WORDS = re.compile(r"[^\W\d_]{2,}")


def _ends_strangely(page: Page, line: Line, part: Part) -> bool:
    """Tell whether a line of scores ends in an image behind words that nobody knows: they may set
    it against this one, or head the next lines. "S_pre: 8; zachter dan afbeelding 3"."""
    if page.text[part.start : line.end].strip(" .:") or not line.factors:
        return False

    named = [image for image in line.images if line.factors[0].start < image.end <= part.start]
    if not named:
        return False

    lead = re.split(r"[.;:,–—|][ ]", page.text[line.head : named[-1].start])[-1]
    return not (heads_plainly(lead) and lead.isascii())


def _is_aside(page: Page, line: Line, part: Part) -> bool:
    """Tell whether the end of a line that a factor opens only mentions another image: "S_acc: 8.
    Image 4 got 3 here". What stands on the next lines is not of that one."""
    if part is not line.parts[-1] or not line.factors or line.factors[0].start > line.head + 24:
        return False

    if any(factor.start >= part.start for factor in line.factors):
        return False

    if line.parts[0].named or len(line.parts) > 2:
        # "Image 1: S_acc 5; Image 2 …": images take turns here.
        return False

    scored = page.text[line.factors[0].end : part.start]
    if not any(map(str.isdigit, scored)):
        return False

    return _IN_WORDS.search(page.text, part.start, line.end) is not None


_A_NUMBER = re.compile(r"(?<![\w.:/-])(?<!of )[0-9]{1,2}(?![\w.:%-]|[ ]of\b)")


def _is_a_strange_list(page: Page, line: Line) -> bool:
    """Tell whether a line names several factors and numbers that could not be put together."""
    if len(line.keys) < 2:
        return False
    return len(_A_NUMBER.findall(page.text[line.head : line.end])) > 1


# "Image 2: 9/10", "(Photo C) —": an item of a list under a factor heads nothing.
_BARE_ITEM = re.compile(
    r"[ ]*(?:gets|has|receives|scores|earns|is)?[ ]*[(\[]?[ ]*"
    r"(?:[0-9]{1,3}(?:\.[0-9]+)?(?:[ ]?(?:/|out[ ]of)[ ]?[0-9]{1,3})?"
    rf"|[-–—?…]+|{NO_SCORE}|not[ ]\w+)[ ]*[)\].,;]*[ ]*$",
    re.IGNORECASE,
)
# What makes an image part of an explanation: "(see Image 1)", "less than in Image 2".
_MENTIONED = re.compile(
    r"(?:[(\[]|\b(?:see|as|in|like|than|to|of|with|from|unlike|beside|versus|vs\.?|cf\.?)[ ]+)"
    r"(?:see[ ]+|also[ ]+|in[ ]+|the[ ]+)*$",
    re.IGNORECASE,
)


def _is_more_than_a_heading(page: Page, line: Line, start: int, positions: tuple[int, ...]) -> bool:
    """Tell whether a line that an image opens is a list that was not understood, or an item of one.

    What stands below it may be of any image then.
    """
    if _BARE_ITEM.match(page.text, start, line.end) and not line.heading:
        return True
    behind = line.images[0].end if line.images else start
    if not line.own and len(_A_NUMBER.findall(page.text[behind : line.end])) > 1:
        return True
    if line.images and page.text[line.head : line.images[0].start].strip() == "for":
        # "for Image 2", where its number is left out.
        return True

    return any(
        image.positions != positions
        and not _MENTIONED.search(page.text[max(line.start, image.start - 40) : image.start])
        for image in line.images[1:]
    )


_NUMBER_TAIL = re.compile(
    r"[.;|?][ ]+[(\[]?[0-9]{1,2}[)\]]\W*$"
    r"|[A-Z][\w.]*[ ]#?(?:[0-9]{1,2}|[A-H])\W*$|[=#–—-]{2,}\W*$"
)
_LABEL_TAIL = re.compile(rf"[A-Za-z].*:\s*$|{_NUMBER_TAIL.pattern}")
# An image that ends a line behind a stop: "… 8, Image 2".
_APART = re.compile(r"[,.;|/–—][ ]*\Z")
# What may be left of a line behind an image: "edit_3.png".
_LINE_ENDS = re.compile(r"(?:\.[a-z]{3,4})?\W{0,2}", re.IGNORECASE)


def _leads_on(page: Page, line: Line, *, several: bool) -> bool:
    """Tell whether a line of scores ends in words that head the next: `…: 6. The next one:`."""
    if not line.factors:
        return False

    last = line.factors[-1].end
    tail = page.text[last : line.end]
    last_image = line.images[-1] if line.images else None
    if last_image is not None and last_image.start > last:
        ends = _LINE_ENDS.fullmatch(page.text, last_image.end, line.end) is not None
        if ends and _APART.search(page.text, last, last_image.start):
            return True

    if len(line.factors) < 2:
        return _takes_turns(page, line)

    ends = tail.rstrip().endswith(":")
    label = (_LABEL_TAIL if ends else _NUMBER_TAIL).search(tail)
    if label is not None and not _MENTIONED.search(tail[: label.start()]):
        return True

    if several and _moves_on_at_the_end(tail):
        return True

    behind = [image for image in line.images if image.start > last]
    return any(not _MENTIONED.search(page.text[last : image.start]) for image in behind)


def _takes_turns(page: Page, line: Line) -> bool:
    """Tell whether a line goes on with another image: "Image 1 gets 7 in quality, Image 2 8"."""
    last = line.factors[-1].end
    return any(
        image.start > last and _A_NUMBER.match(page.text, image.end + 1) for image in line.images
    )


_STOPS = re.compile(r"[.;|/–—](?=[ ])|,?[ ](?:and|then|while|whereas|but)\b")
_MOST_WORDS = 6


def _moves_on_at_the_end(tail: str) -> bool:
    """Tell whether a few words behind a list head another: "…, S_real 6; Scores for Image 2"."""
    tail = tail.rstrip(" .:")
    stops = [stop.end() for stop in _STOPS.finditer(tail, max(0, len(tail) - 80))]
    if not stops:
        return False

    words = tail[stops[-1] :].split()
    return 0 < len(words) <= _MOST_WORDS and words[0][0].isalpha() and "(" not in words[-1]


_STOP = re.compile(
    r"""
    (?:['’]s)?(?:[ ]+(?:scores?|ratings?|evaluation|assessment|analysis|results?|verdict))*
    (?:[ ]*(?:\([^()\n]{0,120}\)|\[[^\[\]\n]{0,120}\]))?[ ]*[)\]]?[ ]*
    (?P<stop>[:=|;·•,]|[–—-](?=[ ]|$)|→|->|\.?$)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _opening(
    page: Page,
    line: Line,
    has_scores: bool,
    numbered: str | None,
    headed: Set[tuple[int, ...]],
) -> tuple[int, tuple[int, ...] | None]:
    """Return where the words of a line go on behind the images that head it, and these images."""
    image = _head_image(page, line)
    if image is None and not has_scores and _names_a_cell(page, line):
        return line.end, line.images[0].positions
    if image is None and line.own:
        return line.images[0].end, line.images[0].positions
    if image is None:
        return _label(page, line, has_scores, numbered)

    if not has_scores and _is_compared_below(page, line):
        return line.head, None

    inside = _bracket_of_entries(page, line, image)
    if inside is not None:
        return inside[0], _checked(image.positions, page.n)

    stop = _STOP.match(page.text, image.end, line.end)
    place = stop.end() if stop else image.end
    if any(image.end <= factor.start < place for factor in line.factors):
        # "Image 1 score: 8", where that is what is scored.
        place = image.end

    if has_scores:
        hidden = page.n > 1 and _hides_a_list(page, line, image)
        unsure = hidden or _is_left_empty(page, line, image)
    else:
        # "Image 5 has the better horizon." amid the scores of another: of which it goes on?
        others = any(positions != image.positions for positions in headed)
        unsure = (others or not line.gap) and _is_a_sentence_about(page, line, image)

    return place, (UNKNOWN,) if unsure else _checked(image.positions, page.n)


_JOINT = re.compile(r"[\W_]*(?:(?:of|for|in|on|the|von|für|bei|de|pour|para|per|di)[\W_]*)*")


def _names_a_cell(page: Page, line: Line) -> bool:
    """Tell whether a line is an image and a factor and nothing else, with its number still to come:
    "Accuracy, Image 2:"."""
    if len(line.images) != 1 or len(line.keys) != 1:
        return False

    named = [(image.start, image.end) for image in line.images]
    named += [(factor.start, factor.end) for factor in line.factors]
    places = [line.head, *(place for span in sorted(named) for place in span), line.end]
    between = zip(places[::2], places[1::2], strict=True)
    return all(end < start or _JOINT.fullmatch(page.text, start, end) for start, end in between)


def _label(
    page: Page, line: Line, has_scores: bool, numbered: str | None
) -> tuple[int, tuple[int, ...] | None]:
    """Return where a line goes on behind a label or a number, and the image that it stands for,
    in a reply that names none: `B: S_acc 7`, `2. S_acc 7, S_pre 5`."""
    if numbered is None:
        return line.head, None

    head = _BARE_HEAD.match(page.text, line.head, line.end)
    if head is not None and (has_scores or head.end() >= line.end):
        position = _labelled(page, line, head)
        if position is not None:
            return head.end(), (position,)

    if line.number is None:
        return line.head, None

    alone = line.head >= line.end
    counts = numbered == "lines" or (alone and numbered == "headings")
    return line.head, (line.number,) if counts else None


def _labelled(page: Page, line: Line, head: re.Match[str]) -> int | None:
    """Return the image that a label stands for."""
    letter = head["letter"]
    if letter is None:
        return page.names.image_labelled(head["short"] or head["ordinal"])

    if letter.islower() and len(line.keys) < 2:
        # "a) S_acc: 9" counts factors.
        return None

    return page.names.image_labelled(letter.upper())


_OPENS_BRACKET = re.compile(r"[ ]*[:–—-]?[ ]*[(\[]")
_BRACKETS = re.compile(r"[()\[\]]")


def _bracket_of_entries(page: Page, line: Line, image: ImageName) -> Span | None:
    """Return what stands in brackets right behind an image, where that names factors."""
    opening = _OPENS_BRACKET.match(page.text, image.end, line.end)
    if opening is None:
        return None

    depth = 1
    end = line.end

    for bracket in _BRACKETS.finditer(page.text, opening.end(), line.end):
        depth += 1 if bracket[0] in "([" else -1
        if depth == 0:
            end = bracket.start()
            break

    named = any(opening.end() <= factor.start < end for factor in line.factors)
    return (opening.end(), end) if named else None


_COMPARES = re.compile(
    r"""
    \b(?:compar\w+|than|versus|vs|unlike|differen\w+|relative|similar|like|better|worse|between
      |against
      |contrast|tie[ds]?|equal\w*|same|not|except|besides|vergl\w+|dan|als)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _is_compared_below(page: Page, line: Line) -> bool:
    """Tell whether an indented line under a score sets it against another image's."""
    if line.gap or not page.text.startswith("  ", line.start):
        return False
    return _COMPARES.search(page.text, line.head, line.images[0].start) is not None


_SUBJECT = re.compile(
    r"""
    (?:['’]s)?[ ]+(?:scores?|gets?|receives?|has|earns?|is[ ]rated|was[ ]given|is[ ]given|rates
      |achieves?|deserves?|would[ ](?:get|receive|score)|a[ ]score|got|received|scored|earned
      |obtains?|(?:is|was)[ ](?:awarded|scored|assigned)|(?:comes[ ](?:out|in)|ends[ ]up|finishes)
      [ ](?:with|at)
      |erhält|bekommt|erzielt|erreicht|obtient|reçoit|recibe|obtiene|riceve|ottiene|recebe|obtém
      |krijgt|vergebe[ ]ich|je[ ]donne)\b
    | [ ]?(?:得|获得|得到)(?=[ ]?[0-9])
    | ,?[ ]+(?:I[ ](?:would|give|gave|assign|assigned|rate|rated|score|scored|award)|I['’]d
      |(?:my|the)[ ](?:scores?|ratings?)[ ](?:is|are)|it[ ](?:gets|scores|receives|earns))\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _is_a_sentence_about(page: Page, line: Line, image: ImageName) -> bool:
    """Tell whether a line says something of an image, rather than heads what is said of it."""
    if _SUBJECT.match(page.text, image.end, line.end) is None:
        return False
    return not page.words(line).rstrip().endswith(":")


def _is_left_empty(page: Page, line: Line, image: ImageName) -> bool:
    """Tell whether another image stands right behind one, with nothing but signs between: the
    first has no scores in "Image 1 ; Image 2 6 S_acc". "Image 1 (first edit)" is one."""
    behind = next((other for other in line.images if other.start > image.end), None)
    if behind is None or behind.positions == image.positions:
        return False
    return not re.search(r"\w", page.text[image.end : behind.start])


_DESCRIPTION = re.compile(r"[ ]*(?:\((?:[^()\n]|\([^()\n]*\)){0,200}\)|\[[^\[\]\n]{0,200}\])")


def _hides_a_list(page: Page, line: Line, image: ImageName) -> bool:
    """Tell whether the bracket behind an image holds numbers: scores that were not understood."""
    bracket = _DESCRIPTION.match(page.text, image.end, line.end)
    return bracket is not None and len(_A_NUMBER.findall(bracket[0])) > 1


def _checked(positions: tuple[int, ...], n: int) -> tuple[int, ...]:
    if len(positions) > 1 and not all(1 <= position <= n for position in positions):
        return (UNKNOWN,)
    return positions


_ORNAMENT = " (*[=~_–—>|<«»/\\•·▶◀→#@%§※{}])\"'-"
"""What may stand around the name of an image where it heads something: "=== Image 2 ==="."""


def _head_image(page: Page, line: Line) -> ImageName | None:
    """Return the images that head a line: `Image 3:`, `Scores of the third image (…):`."""
    if not line.images:
        return None

    image = line.images[0]
    lead = page.text[line.head : image.start]
    at_start = lead.strip(_ORNAMENT).lower() in {"", "l'", "l’"}
    if not _may_lead_in(line, lead, image, at_start=at_start):
        return None

    stop = _stop_behind(page, line, image, lead)
    factor_next = followed_by_a_score(page, line, image.end)
    subject = _SUBJECT.match(page.text, image.end, line.end) is not None
    if not (stop is not None or factor_next or subject or line.heading):
        return None

    passed = not at_start and _comes_to_another(line, image)
    compared = _COMPARES.search(lead) or _names_others(page, line, image)
    if compared or passed or not (at_start or heads_plainly(lead)):
        return ImageName((UNKNOWN,), image.start, image.end)

    headed = stop in {":", "", ".", "–", "—", ","}
    led = factor_next and lead.strip().lower() in {"in", "for", "with"}
    return image if at_start or headed or subject or led else None


def _stop_behind(page: Page, line: Line, image: ImageName, lead: str) -> str | None:
    """Return the sign that ends a heading behind an image, empty at the end of the line.

    "Now Image 6." heads something, "Sharper (see Image 1)." does not.
    """
    stop = _STOP.match(page.text, image.end, line.end)
    if stop is None and not page.text[image.end : line.end].strip(_ORNAMENT):
        return ""
    if stop is None or (stop["stop"] == "." and ("(" in lead or not heads_plainly(lead))):
        return None
    return stop["stop"]


_LEAD_IN = re.compile(r"[^\d:;.!?\n]{0,60}")
_MOST_WORDS_BEFORE = 7


def _may_lead_in(line: Line, lead: str, image: ImageName, *, at_start: bool) -> bool:
    """Tell whether no more than a few words stand before the image that may head a line."""
    if line.factors and line.factors[0].start < image.start:
        return False
    if not _LEAD_IN.fullmatch(lead):
        return False
    return at_start or len(lead.split()) <= _MOST_WORDS_BEFORE


def _comes_to_another(line: Line, image: ImageName) -> bool:
    """Tell whether an image is only mentioned on the way to another that heads what follows:
    "After Image 7, now Image 6:"."""
    first = line.factors[0].start if line.factors else line.end
    return any(
        other.positions != image.positions and other.start < first for other in line.images[1:]
    )


_AGAINST = re.compile(r"\bvs\b|versus|compar|than|against")
# A colon, or the end of a sentence: "vs. Image 2" goes on.
_HEADING_STOPS = re.compile(r":|(?<!\bvs)[.!?][ ]")
# "Image 1 (your Image 2)": nobody knows which of the two is meant.
_OTHERWISE = re.compile(
    r"[(\[][^()\[\]]*\b(?:your|originally|really|actually|i\.e\.|formerly)\b", re.I
)


def _names_others(page: Page, line: Line, image: ImageName) -> bool:
    """Tell whether a heading sets several images against each other: `Image 1 vs. Image 2:`."""
    stop = _HEADING_STOPS.search(page.text, image.end, line.end)
    limit = stop.start() if stop else line.end
    if line.factors:
        limit = min(limit, line.factors[0].start)

    between = page.text[image.end : limit]
    others = [other for other in line.images[1:] if other.start < limit]
    if not others:
        return False

    if _AGAINST.search(between):
        return True

    differ = any(other.positions != image.positions for other in others)
    return differ and _OTHERWISE.search(between) is not None


def _parts(page: Page, line: Line, start: int, has_scores: bool) -> list[Part]:
    """Return the stretches of a line, cut where another image takes over."""
    parts = [Part(start, line.end, None)]
    for image in line.images if has_scores else ():
        last = parts[-1]
        if image.start < last.start:
            continue

        before = page.text[max(start, image.start - 40) : image.start]
        inside = _bracket_of_entries(page, line, image)
        if inside is not None and not _MENTIONED.search(before):
            part: Part | None = Part(*inside, _checked(image.positions, page.n), named=True)
        elif _is_bracketed_remark(page, line, last.start, image):
            part = None
        else:
            # What a heading on the same line leads into is not a new clause.
            lead = before if start == line.head else "·" + before
            part = _clause_of(page, line, image, last, lead)

        if part is not None:
            last.end = image.start
            parts.append(part)

    return parts


# What opens a clause, up to an image: a stop or a joining word, and a few words behind it.
_PARTS = re.compile(
    r"(?:^|[;.!|]|(?P<comma>,)|,?[ ](?:and|while|whereas"
    r"|but)\b)[ ]*(?P<lead>(?:[^\W\d]+[ ,]+){0,6})[(\[\"'“*]{0,2}$"
)
_WORD_OR_NUMBER = re.compile(r"\w")


def _clause_of(page: Page, line: Line, image: ImageName, last: Part, before: str) -> Part | None:
    """Return the clause that an image opens behind what stands `before` it, if it opens one.

    What follows is said of that image, or nobody can say of which.
    """
    opens = _PARTS.search(before)
    if opens is None:
        return None

    gets = _SUBJECT.match(page.text, image.end, line.end) is not None
    if opens["comma"] and not gets:
        return None

    stop = _STOP.match(page.text, image.end, line.end)
    sign = stop["stop"] if stop else None
    subject = gets or followed_by_a_score(page, line, image.end)
    # "Turning to Image 4, it gets …" mentions nobody.
    moves_on = _MOVES_ON.search(opens[0]) is not None
    mentioned = not moves_on and _MENTIONED.search(before) is not None
    if mentioned or _COMPARES.search(opens["lead"]):
        # "S_acc 2; see Image 1, S_pre 7": the rest may be of either.
        ends = _ends_a_clause(page, line, image, sign)
        remark = mentioned and bool(opens["lead"]) and ends and not subject
    elif stop is not None and sign in {":", "=", "–", "—", "-", "|", "→", "->", ""}:
        return Part(stop.end(), line.end, _positions_of_clause(page, line, image, last), True)
    elif subject or (moves_on and sign == ","):
        return Part(image.end, line.end, _positions_of_clause(page, line, image, last), True)
    else:
        remark = bool(opens["lead"]) and not moves_on

    if remark or _is_remark(page, line, image):
        return None
    return Part(image.end, line.end, (UNKNOWN,), named=True)


def _ends_a_clause(page: Page, line: Line, image: ImageName, sign: str | None) -> bool:
    """Tell whether a comma or nothing more stands behind an image."""
    return sign in {"", ","} or not _WORD_OR_NUMBER.search(page.text, image.end, line.end)


def _positions_of_clause(page: Page, line: Line, image: ImageName, last: Part) -> tuple[int, ...]:
    """Return the images that a clause is said of, behind the part before it."""
    passing = last.start < image.start and _is_a_clause(page, line, image)
    aside = _ASIDE_BEFORE.search(page.text, line.head, image.start)
    compared = aside or _RETURNS.match(page.text, image.end, line.end)
    if passing or compared or _hides_a_list(page, line, image):
        return (UNKNOWN,)
    return _checked(image.positions, page.n)


# "…, although image 5 received 4 for it": the sentence is about another.
_ASIDE_BEFORE = re.compile(
    r"\b(?:although|though|since|because|as|even[ ]if)[ ](?:the[ ])?\Z", re.I
)
# "Image 5 got 9 for S_pre; for this one I give no score": what follows is said of "this one".
_RETURNS = re.compile(
    r"[^.!?\n]{0,120}(?<=[;,:][ ])(?:but[ ]|and[ ]|while[ ]|whereas[ ])?(?:for[ ]|in[ ]|with[ ])?"
    r"(?:this[ ](?:one|image|edit|picture|result|version)|here)\b",
    re.IGNORECASE,
)


# What an image is said to have got, up to where the sentence ends.
_GOT = re.compile(
    r"[^.;!?:\n]*(?:[0-9]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten)\b)"
    r"[^.;!?:\n]*[.;!?]"
)
_AMID_A_SENTENCE = re.compile(r"[;,–—][ ]+(?:the[ ])?\Z")
_UP_TO_THE_END = re.compile(r"[ ]+[^\W\d_][^.;!?:\n]*[.;!?]")
# "Image 1 got 2 for realism; for this one I give no score."
_BACK_TO_THIS = re.compile(r"[^.!?:\n]*\bthis[ ](?:one|image|edit|picture|result)\b", re.IGNORECASE)


def _is_a_clause(page: Page, line: Line, image: ImageName) -> bool:
    """Tell whether an image is only given a number in passing, of a factor named elsewhere: "its
    quality is 4; Image 7 got 2 here. The realism …". What follows may be of either."""
    if _BACK_TO_THIS.match(page.text, image.end, line.end):
        return True

    if _AMID_A_SENTENCE.search(page.text, line.head, image.start):
        # "quality gets 7; Image 2 has a nicer sky. The realism …"
        said = _UP_TO_THE_END.match(page.text, image.end, line.end)
        if said and not any(image.end <= each.start < said.end() for each in line.factors):
            return True

    said = _GOT.match(page.text, image.end, line.end)
    if said is None:
        return False
    return not any(image.end <= factor.start < said.end() for factor in line.factors)


def _is_bracketed_remark(page: Page, line: Line, start: int, image: ImageName) -> bool:
    """Tell whether an image is named in brackets, and nothing is scored there: "S_acc 7 (sharp,
    Image 3 got 10 here)"."""
    depth = 0
    for bracket in _BRACKETS.finditer(page.text, start, image.start):
        depth = max(0, depth + (1 if bracket[0] in "([" else -1))

    if not depth:
        return False

    for bracket in _BRACKETS.finditer(page.text, image.end, line.end):
        depth += 1 if bracket[0] in "([" else -1
        if not depth:
            return not any(image.end <= each.start < bracket.start() for each in line.factors)

    return False


# "Lower than Image 1's 7."
_ITS_NUMBER = re.compile(r"['’]s[ ][0-9]{1,2}(?:\.[0-9]{1,2})?(?![0-9/])")


def _is_remark(page: Page, line: Line, image: ImageName) -> bool:
    """Tell whether the rest of a line only says something of an image: `Image 3 does it better`."""
    if any(factor.start > image.end for factor in line.factors):
        return False

    rest = page.text[image.end : line.end]
    behind = [other for other in line.images if other.start > image.end]

    for other in behind:
        rest = rest.replace(page.text[other.start : other.end], "")

    owned = _ITS_NUMBER.match(rest)
    rest = rest[owned.end() :] if owned else rest
    in_words = owned or re.search(r"[a-z]{2,}[ ]+[a-z]", rest)
    return bool(in_words) and not re.search(r"[0-9:]", rest)


_UP_TO_A_SCORE = re.compile(
    r"[ ]*(?:[(\[][^()\[\]\n]{0,60}[)\]])?(?:\.(?=\w)|[ ,]*(?:(?:an?|the|its)[ ]|的|の)?)"
)


def followed_by_a_score(page: Page, line: Line, place: int) -> bool:
    """Tell whether a name is followed by a factor or a number,
    with nothing but brackets between."""
    joint = _UP_TO_A_SCORE.match(page.text, place, line.end)
    after = joint.end() if joint else place
    if page.text[after : after + 1].isdigit():
        return True
    return any(place <= factor.start <= after for factor in line.factors)


_SCORE_LINE = re.compile(
    r"(?:final|my|sub-?|the)?[ ]*(?:scores?|ratings?|grade|points|marks?)[ ]*[:=–—-]?[ ]*[0-9]",
    re.IGNORECASE,
)


def _caption(page: Page, line: Line, words: str, state: _State) -> None:
    """Take a line that scores nothing for what it may be: a heading, or a remark."""
    if _may_name_another(page, words, state):
        state.closed()

    if not any(map(str.isalpha, words)):
        _pass_numbers(page, line, state)
    elif _SCORE_LINE.match(words):
        return
    elif line.heading or words.rstrip().endswith(":"):
        _pass_heading(page, line, words, state)
    elif not _is_opened_by_a_factor(line):
        _pass_words(page, line, words, state)


# "Six", "Scores (fifth):", "And then number 4": what a few words end in.
_LAST_WORD = re.compile(r"(?:[^\W\d]+[ ]+){0,3}[(\[#=:]?[ ]*(?P<label>\w{1,9})\W*")


def _may_name_another(page: Page, words: str, state: _State) -> bool:
    """Tell whether a few words between an image's heading and its first score end in what may be
    the label of another: that of the first has no scores then."""
    if page.n < 2 or state.entries or not state.positions:
        return False

    found = _LAST_WORD.fullmatch(words)
    position = page.names.image_labelled(found["label"]) if found else None
    return position is not None and position not in state.positions


def _is_opened_by_a_factor(line: Line) -> bool:
    return bool(line.factors) and line.factors[0].start <= line.head + 2


_LONGEST_HEADING = 90
_ANSWER = re.compile(r"\W*(?:(?:the|my)[ ])?(?:answer|response|reply|output)\W*", re.IGNORECASE)
_NO_VERDICT = frozenset(Kind) - {Kind.VERDICT}


def _pass_heading(page: Page, line: Line, words: str, state: _State) -> None:
    """Take a line that is marked as a heading for what it heads: "**Weights**", "My scores:"."""
    short = len(words) <= _LONGEST_HEADING
    title = words
    if words.rstrip().endswith(":"):
        # What a sentence before the caption speaks of is not what it heads.
        title = words.rstrip(" :").rpartition(". ")[2] + ":"

    kind = _kind_of_title(title)
    if kind in _NO_VERDICT and not _is_only_a_factor(page, line):
        state.captioned_as(kind, title, line)
    elif line.factors and (short or _is_opened_by_a_factor(line)):
        # "Accuracy:", whose score or explanation is still to come.
        return
    elif _stays_captioned(page, line, title, state):
        return
    elif kind is Kind.VERDICT and line.images and page.n > 1:
        # "After Image 1, now Image 5:" announces scores of one of them.
        state.headed_by(title, line)
    elif kind is Kind.VERDICT or (state.kind is Kind.DRAFT and _ANSWER.fullmatch(title)):
        # "**Thinking**", and later "**Answer**"
        state.announced(line)
    elif is_neutral(words):
        return
    elif short:
        state.headed_by(title, line)
    else:
        _pass_unknown(page, line, title, state)


def _is_only_a_factor(page: Page, line: Line) -> bool:
    """Tell whether a heading is one factor's name and no more: "Scale Realism" heads no scale."""
    if len(line.factors) != 1:
        return False
    factor = line.factors[0]
    around = page.text[line.head : factor.start] + page.text[factor.end : line.end]
    return not any(map(str.isalpha, around))


def _pass_words(page: Page, line: Line, words: str, state: _State) -> None:
    """Take a line that nothing marks as a heading for what its words make it: "Example ratings" in
    a paragraph of its own, or a remark."""
    kind = _kind_of_title(words) if len(words) <= _LONGEST_HEADING else None
    # The source image is no image of ours: it ends what stands above it with or without a gap.
    alone = not line.images and (line.gap or kind is Kind.SOURCE)
    if alone and kind in _NO_VERDICT:
        state.captioned_as(kind, words, line)
        return

    if _stays_captioned(page, line, words, state):
        return

    if alone and kind is Kind.VERDICT and state.kind is not Kind.VERDICT:
        state.announced(line)
    elif not is_neutral(words):
        _pass_unknown(page, line, words, state)


_SENTENCE = re.compile(r"[.!?。！？…][\"'”’)]*$")


def _kind_of_title(title: str) -> Kind | None:
    """Return the kind of numbers that words head; none of a whole sentence."""
    return None if _SENTENCE.search(title.rstrip()) else kind_of(title)


def _stays_captioned(page: Page, line: Line, words: str, state: _State) -> bool:
    """Tell whether a line right under a caption leaves it as it is: under "# dummy data", "scores:"
    are dummy scores."""
    below = bool(state.captioned) and page.text[state.captioned : line.start] == "\n"
    return below and not is_final(words)


_MOVES_ON = re.compile(
    r"""
    \A\W*(?:and[ ])?(?:next|then|now|finally|lastly|last)\W*\Z
      |\bcomes[ ]next\b|\bis[ ](?:up|next)\b
      |\bon[ ]to[ ](?:the|number|no\.)(?![a-z])|\bnext\b[ ]*[:.,]
      |\blast[ ]but[ ]not[ ]least\b |
    \b(?:next|other|another|following|remaining|previous|former|latter|subsequent)[ ]
      (?:edited[ ]|two[ ]|three[ ])?(?:one|image|edit|picture|photo|result|version|method
        |candidate|variant)
    | \b(?:moving|turning|going|coming)[ ](?:on|over|now)?[ ]?to\b|\bnow[ ](?:for|to|on[ ]to)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _pass_unknown(page: Page, line: Line, words: str, state: _State) -> None:
    """Take a line of unknown words for a heading, for the beginning of something new, or for
    nothing that matters."""
    if _is_unknown_heading(line, words):
        state.headed_by(words, line)
    elif _MOVES_ON.search(words) or (page.n > 1 and _interrupts(page, line, words, state)):
        state.closed()


def _pass_numbers(page: Page, line: Line, state: _State) -> None:
    """Pass a line without words: unless it is the score of the factor above it, what it numbers
    may be another image."""
    below = not state.scored and _is_below_a_factor(page, line)
    whole = page.text[line.start : line.end]
    numbered = page.names.only is None and any(map(str.isdigit, whole))
    if (state.entries or numbered) and page.n > 1 and not below:
        state.closed()


def _is_below_a_factor(page: Page, line: Line) -> bool:
    """Tell whether a line of nothing but a number is the score of the factor named above it."""
    above = page.line_at(line.start - 1)
    return above is not None and _ends_with_a_factor(above)


def _is_under_a_factor(page: Page, line: Line) -> bool:
    """Tell whether a line explains the factor that heads it, whose score is still to come or stands
    right below the heading."""
    if line.images:
        return False

    above = page.line_at(line.start - 1)
    if above is not None and _SCORE_LINE.match(page.words(above)):
        above = page.line_at(above.start - 1)
    return above is not None and above.heading and _ends_with_a_factor(above)


def _ends_with_a_factor(line: Line) -> bool:
    return bool(line.factors) and not line.images and line.factors[-1].end >= line.end - 2


_LABELLED_ITEM = re.compile(r"\W*(?P<label>\w{1,12})[ ]*(?:[:=–—-]|gets\b)[ ]*(?:[0-9]|\W*$)")


def _interrupts(page: Page, line: Line, words: str, state: _State) -> bool:
    """Tell whether a line that scores nothing may begin something new, though it is no heading."""
    goes_on = not line.gap and page.text.startswith(("  ", "::"), line.start)
    if goes_on:
        return False

    item = _LABELLED_ITEM.match(words)
    if item is not None and page.names.image_labelled(item["label"]) is not None:
        return True

    if _is_under_a_factor(page, line):
        # "### Visual Quality", and below it "Nothing to complain about."
        return False
    if state.remarked and state.scored and _is_a_remark_below(page, line):
        return False

    count = len(words.split())
    short_remark = state.entries and count <= 6
    others = [image for image in line.images if image.positions != state.positions]
    if not others:
        return short_remark

    if state.leads:
        return True

    behind = others[0].start - line.head
    if _COMPARES.search(words):
        return behind <= 6 or short_remark

    return count <= 14 or behind <= 12


def _is_unknown_heading(line: Line, words: str) -> bool:
    """Tell whether a short line that is no sentence may head what follows."""
    count = len(words.split())
    if not line.gap or len(words) > 60 or count > 9:
        return False

    if re.search(r"[.!?,;。]$", words.rstrip()):
        return False

    # "Image: 1" heads something; a longer line with a number may say something.
    return count <= 2 or not re.search(r"[0-9]", words)


# The second factor of a line with a number of its own: then the first number is a factor's, too.
_NUMBERED_FACTOR = re.compile(r"(?<![0-9])[0-9]{1,2}[.)][ ]*\Z")


def _numbers_name_images(page: Page, scores: Sequence[int]) -> str:
    """Tell whether the numbering of lines numbers images: of `lines` that score several factors, or
    of `headings` that are nothing but a number."""
    if page.n < 2:
        return ""

    alone = {line.number for line in page.lines if line.head >= line.end}
    if alone >= set(range(1, page.n + 1)):
        return "headings"

    numbered = [
        (line, count)
        for line, count in zip(page.lines, scores, strict=True)
        if line.number is not None and line.factors
    ]
    if len({line.number for line, _ in numbered}) < len(numbered):
        # "1." before every entry counts nothing.
        return ""

    found = False
    for line, count in numbered:
        # What an explanation mentions is not scored: "2. Quality: 7, regardless of accuracy".
        several = len(line.keys) > 1 and count > 1
        if several and 1 <= (line.number or 0) <= page.n:
            if _NUMBERED_FACTOR.search(page.text, line.head, line.factors[1].start):
                return ""
            found = True

    return "lines" if found else ""
