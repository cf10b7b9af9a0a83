"""Numbers without names: in a stated order, one for each image, or of the only factor there is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, pairwise

from lmmscore.conversation import cardinal
from lmmscore.parsing.names import FactorName, Names
from lmmscore.parsing.numbers import Number, Pair, entry_fault, number_at
from lmmscore.parsing.page import Line, Page
from lmmscore.parsing.remarks import (
    heads_plainly,
    is_harmless,
    is_no_verdict,
    kind_ahead,
    unsettles,
)
from lmmscore.parsing.verdict import FaultKind, Kind, Mark
from lmmscore.scales import Factor, Scale

SENTENCE_STOP = re.compile(r"[.;!?][ ]+")
CONDITION = re.compile(r"(?:^|[.;:!]\s+)(?:if|unless|assuming|suppose|supposing)\b", re.IGNORECASE)
Listed = tuple[int | None, str, Mark]
"""An image (None: that of the section), a factor, and what the number says."""

_ORDER_WORDS = re.compile(
    r"""
    \b(?:order|(?:sub-?)?scores?|format|in|the|following|as|images?|tuples?|lists?|of|for|each|are|is|given
      |factors?|(?:(?:two|three|four|five|six|twelve|all)[ ])?numbers
      |columns?|listed|this|my|here|values|sequence|vector|method|edit|and|then|ratings?|per|by)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_VALUES = re.compile(
    r"[ ]*[(\[<]?[ ]*(?P<values>[0-9](?:[0-9./ ,;|&·\t-]|[ ]and[ ])*[0-9])[ ]*[)\]>]?"
    r"(?:,?[ ]respectively)?[ ]*\.?[ ]*"
)
_VALUE = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3})?(?:/[0-9]{1,3})?")
_WHOLE_VALUE = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3})?")
_BETWEEN_VALUES = re.compile(r"[ ]*[,;|&·]?[ ]*\band[ ]+|[ ]*[,;|&·][ ]*|[ ]+")
_WIDE_GAP = re.compile(r"[ ]{2,}")
_LABEL_COLUMN = re.compile(r"\b(?:image|edit|method|id|no|img|picture)s?\b|#", re.IGNORECASE)
_TWO_BRACKETS = re.compile(r"\[\[[ ]*(?P<value>[0-9]{1,3}(?:\.[0-9]{1,3})?)[ ]*\]\]")
_OUTPUT = re.compile(
    r"(?:.{0,60}\b(?:output|scores?|ratings?|tuple|answer|verdict)\b"
    r"[^\n0-9]{0,20}(?:[:=]|\bis\b|are\b))?",
    re.IGNORECASE,
)
_I_GIVE_IT = re.compile(
    r"\b(?:I|we)(?:['’]d|[ ]would)?[ ](?:rate|give|score|assign|award|grade|mark|judge)\b"
    r"(?:[ ](?!not\b|if\b)[^\W\d_]+){0,5}?[ ](?:(?:an?|with|as|at)[ ])*"
    r"(?:(?:score|rating|grade|mark)[ ]of[ ])?(?P<value>[0-9])",
    re.IGNORECASE,
)
_OUT_OF_TOP = re.compile(
    r"\W*(?:(?:final[ ])?verdict\W+)?(?P<value>[0-9]{1,3}(?:\.[0-9]+)?)[ ]*"
    r"(?:/|out[ ]of)[ ]*[0-9]{1,3}[ ]*(?:[.!–—]|$)",
    re.IGNORECASE,
)
_BEFORE_VALUES = re.compile(
    r"[ ]*[)\]]?[ ]*(?:(?:my|the)[ ])?(?:scores?[ ]*)?(?:[:=→]|are\b)[ ]*", re.IGNORECASE
)
_OPENS_NAMES = re.compile(r"[ ]*[(\[][ ]*\Z")
_CLOSES_NAMES = re.compile(r"[ ]*[)\]][ ]*\.?")
# "For the three images, S_acc is …": what is left of it without words of order.
_COUNTED_IMAGES = re.compile(r"\W*(?:(?:[0-9]+|two|three|four|five|six|seven|eight)\b)?[\W\d]*")
_CLAUSE_OF_VALUES = re.compile(
    r"[ ]*(?:[:=]|(?:is|are|gets|scores)\b)[ ]*(?P<values>[0-9](?:[0-9., ]|and[ ])*[0-9])"
    r"(?:[ ]for[ ](?:the[ ])?(?P<images>[^;.\n]*?[0-9](?=,?[ ](?:respectively|in[ ]))))?"
    r"(?:,?[ ]respectively|,?[ ]in[ ](?:this|that)[ ]order)?[ ]*[.;,]?[ ]*(?:and[ ])?(?:the[ ])?"
)
_BEHIND_IMAGE = re.compile(r"[ ]*[)\]]?[ ]*(?:[-=]>|[:=|–—-]|→)?[ ]*")
_LABELLED_VALUE = re.compile(
    r"[ ]*(?P<label>[A-Z]|[A-Za-z]{0,3}[0-9]{1,2})[ ]*[:=(–—-][ ]*"
    r"(?P<value>[0-9]{1,3}(?:\.[0-9]{1,3})?(?:/[0-9]{1,3})?)[ ]*\)?[ ]*(?:[,;|./]|$)"
)
_BEHIND_FACTOR = re.compile(r"[ ]*(?:\([^()\n]{0,40}\))?[ ]*[:=→–—-][ ]*")
# Around the images that are named between a factor and its numbers.
_OPENS_A_FACTOR = frozenset(("", "for", "on", "in", "regarding"))
_IMAGES_LISTED = re.compile(r"[\s,:;(\[]+|\b(?:the|for|of)\b", re.IGNORECASE)
_PARTED_ALIKE = re.compile(r"[0-9][ ]*[/|][ ]*(?:\w+[ ]?)?[0-9]")
_GIVEN_IN_TURN = re.compile(
    r"[ ]*[)\]]?[ ]*(?:[:=]|(?:receive|get|score|earn|are[ ](?:given|rated|scored)|have)\b)[ ]*",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?P<label>[A-H]|\w{1,10})(?:[ ]*(?:[:=→]|->)|[ ]+[–—-](?=[ ]))[ ]*")
# The first cell of a row: "[2, 8, 7, 7, 6]".
_FIRST_CELL = re.compile(r"[(\[]?[ ]*(?P<number>[0-9]{1,2})[ ]*[,;|][ ]*")
# "S = (8, 7, 7, 6)", under "S = (S_acc, S_pre, S_qua, S_real)".
_ASSIGNED = re.compile(r"(?:[A-Za-z]|scores?|vector|result|values?)[ ]*[:=][ ]*", re.IGNORECASE)
_ORDER_STATED = re.compile(
    r"\b(?:order\b|respectively\b|in turn\b|one to\b|from (?:image|left|first))"
)


_ALL_ALIKE = re.compile(
    r"(?:^|[.!][ ]+|,?[ ](?:so|thus|therefore|hence),?[ ]+)(?:all|each|every)(?:[ ]one)?(?:[ ]of)?"
    r"(?:[ ](?:the|these))?(?:[ ](?P<count>[0-9]{1,2}|[a-z]{3,6}))?[ ]"
    r"(?:factors?|criteri(?:a|on)|dimensions?)[ ]*"
    r"(?:[:=]|(?:gets?|receives?|earns?|scores?|is|are)\b)"
    r"[ ]*(?:an?[ ])?(?P<value>[0-9]{1,3}(?:\.[0-9]{1,2})?)(?:[ ]?/[ ]?[0-9]{1,3})?[.!]?[ ]*$",
    re.IGNORECASE | re.MULTILINE,
)


class Sequences:
    """Reads a page's numbers that have no names."""

    def __init__(self, page: Page, pairs: Sequence[Sequence[Pair[FactorName]]]) -> None:
        self.page = page
        self.text = page.text
        self.names = page.names
        self.n = page.n
        self._pairs = pairs

    def by_line(self) -> dict[int, list[Listed]]:
        """Return, by line, what numbers say under an order that was stated."""
        made: dict[int, list[Listed]] = {}
        order = self._order_stated_last()
        labelled = False
        whole_rows: list[int] = []

        for index, line in enumerate(self.page.lines):
            if self.page.in_table(line):
                continue

            if not line.factors:
                if self.names.keys_listed(self.text, line.head, line.end):
                    order = [factor.key for factor in self.names.factors]
                    labelled = False
                    continue

                found = self._tuple_of(line, order) if order else []
                if not found and labelled:
                    found = self._row_of(line, order)
                # Of several images, numbers are read behind a label only.
                placed = self.n > 1 or bool(line.images) or line.number is not None
                if found and (placed or not labelled):
                    made[index] = found

                continue

            inline = self._listed(line) if len(line.factors) > 1 else []
            if inline:
                made[index] = inline
                order = list(dict.fromkeys(key for _, key, _ in inline))
            elif self._pairs[index]:
                order = []
            elif stated := self._stated_order(line):
                order = stated
                lead = self.text[line.head : line.factors[0].start]
                labelled = _LABEL_COLUMN.search(lead) is not None

            if self._is_sequence(line):
                whole_rows.append(index)

        return made | self._rows_of_factors(whole_rows) | self._stacked() | self._alike()

    def _alike(self) -> dict[int, list[Listed]]:
        """Return what the last words of a reply that names no factor give to all of them alike."""
        if self.n > 1 or not self.page.lines or any(line.factors for line in self.page.lines):
            return {}

        index, line = len(self.page.lines) - 1, self.page.lines[-1]
        alike = _ALL_ALIKE.search(self.text, line.head, line.end)
        size = len(self.names.factors)
        if alike is None or alike["count"] not in {None, str(size), cardinal(size)}:
            return {}

        lead = self.text[line.head : alike.start()].strip()
        number = number_at(self.text, alike.start("value"), line.end)
        if number is None or (lead and not is_harmless(f"{lead}.")):
            return {}
        return {index: [(None, each.key, number.mark(each.scale)) for each in self.names.factors]}

    def _stacked(self) -> dict[int, list[Listed]]:
        """Return what numbers say of the only image that stand right above the factors, with a
        blank line before each: without it, they might as well stand below."""
        naming = [index for index, line in enumerate(self.page.lines) if line.factors]
        keys = {self.page.lines[index].factors[0].key for index in naming}
        whole = len(naming) == len(keys) == len(self.names.factors)
        if self.n > 1 or not whole or not all(map(self._is_below_its_number, naming)):
            return {}

        made: dict[int, list[Listed]] = {}
        for index in naming:
            above, line = self.page.lines[index - 1 : index + 1]
            key = line.factors[0].key
            number = number_at(self.text, above.head, above.end)
            mark = number.mark(self.names.factor(key).scale) if number else None
            made[index] = [(None, key, mark)] if mark else []

        values = [mark.value for found in made.values() for _, _, mark in found]
        counted = values == [*range(1, len(values) + 1)]
        return {} if counted else made

    def _is_below_its_number(self, index: int) -> bool:
        """Tell whether a factor stands alone on its line, a number alone on the line above, and
        nothing but blank lines around the two."""
        above, line = self.page.lines[index - 1 : index + 1] if index else (None, None)
        if above is None or line is None or line.gap or not above.gap:
            return False

        name = line.factors[0]
        below = self.page.lines[index + 1 : index + 2]
        alone = name.start <= line.head and name.end >= line.end
        parted = all(each.gap for each in below)
        return alone and parted and _VALUE.fullmatch(self.text, above.head, above.end) is not None

    def _order_stated_last(self) -> list[str]:
        """Return the order that the last line states, where no other names a factor: "(The numbers
        are S_acc, S_pre, …, in this order.)" """
        naming = [line for line in self.page.lines if line.factors]
        ending = self.page.lines[-1] if self.page.lines else None
        if not naming and ending is not None and self._lists_the_keys(ending):
            return [factor.key for factor in self.names.factors]

        last = len(naming) == 1 and naming[0] is self.page.lines[-1]
        return self._stated_order(naming[0]) if last else []

    def _lists_the_keys(self, line: Line) -> bool:
        """Tell whether a line states the order of the keys, and nothing else: "(order: acc, …)"."""
        if not self.names.keys_listed(self.text, line.head, line.end):
            return False

        rest = _ORDER_WORDS.sub("", self.text[line.head : line.end])
        keys = {factor.key.casefold() for factor in self.names.factors}
        return {word.casefold() for word in re.findall(r"\w+", rest)} <= keys

    def _stated_order(self, line: Line) -> list[str]:
        """Return the factors of a line that names them and says nothing else."""
        keys = [factor.key for factor in line.factors]
        if len(keys) < 2 or len(set(keys)) < len(keys):
            return []

        rest = self.text[line.head : line.factors[0].start]
        for factor, following in zip(line.factors, [*line.factors[1:], None], strict=True):
            stop = following.start if following else line.end
            rest += " " + self.text[factor.end : stop]

        rest = _ORDER_WORDS.sub("", re.sub(r"^\W*[A-Za-z][ ]*=", "", rest))
        return keys if not re.search(r"\w", rest) else []

    def _listed(self, line: Line) -> list[Listed]:
        """Return what a line says by a list of factors and a list of numbers, or by a list of
        numbers for each factor."""
        keys = self._listed_keys(line)
        if not keys:
            return self._by_clause(line)
        return self._behind_names(line, keys) or self._before_names(line, keys)

    def _behind_names(self, line: Line, keys: Sequence[str]) -> list[Listed]:
        """Read `S_acc, S_pre, S_qua, S_real = 8, 7, 7, 6`."""
        joint = _BEFORE_VALUES.match(self.text, line.factors[-1].end, line.end)
        return self._values(joint.end(), line.end, keys) if joint else []

    def _before_names(self, line: Line, keys: Sequence[str]) -> list[Listed]:
        """Read `Image 1: 8, 7, 7, 6 (S_acc, S_pre, S_qua, S_real)`."""
        opened = _OPENS_NAMES.search(self.text, line.head, line.factors[0].start)
        closed = _CLOSES_NAMES.fullmatch(self.text, line.factors[-1].end, line.end)
        if opened is None or closed is None:
            return []
        return self._tuple_of(replace(line, end=opened.start()), keys)

    def _listed_keys(self, line: Line) -> list[str]:
        """Return the factors of a line, where they stand in one list, each once."""
        keys = [factor.key for factor in line.factors]
        if len(set(keys)) < len(keys):
            return []

        between = [self.text[one.end : next.start] for one, next in pairwise(line.factors)]
        listed = all(joint.strip(" ,/|&;-") in {"", "and"} for joint in between)
        return keys if listed else []

    def _by_clause(self, line: Line) -> list[Listed]:
        """Read "S_acc is 8, 5 and 9, respectively; S_pre is 6, 7 and 4; …": a number for each
        image, and all factors."""
        keys = {factor.key for factor in line.factors}
        whole = len(keys) == len(line.factors) == len(self.names.factors)
        if self.n < 2 or not whole or not _ORDER_STATED.search(self.text, line.head, line.end):
            return []

        every = tuple(range(1, self.n + 1))
        lead = _ORDER_WORDS.sub("", self.text[line.head : line.factors[0].start])
        plain = _COUNTED_IMAGES.fullmatch(lead) is not None
        if not plain or any(image.positions != every for image in line.images):
            return []

        made: list[Listed] = []
        spans = [(image.start, image.end) for image in line.images]
        ends = [*(factor.start for factor in line.factors[1:]), line.end]
        for factor, end in zip(line.factors, ends, strict=True):
            clause = _CLAUSE_OF_VALUES.fullmatch(self.text, factor.end, end)
            named = clause.span("images") if clause and clause["images"] else None
            apart = named is not None and named not in spans
            span = clause.span("values") if clause and not apart else (end, end)
            values = self._values(*span, [factor.key] * self.n)
            if not values:
                return []
            made += [(position, key, mark) for position, (_, key, mark) in enumerate(values, 1)]

        return made

    def _tuple_of(self, line: Line, order: Sequence[str]) -> list[Listed]:
        """Read `Image 1: 8, 7, 7, 6` or `1. [8, 7, 7, 6]` under a stated order."""
        image: int | None = line.number
        place = line.head
        if line.images:
            first = line.images[0]
            if len(line.images) > 1 or len(first.positions) > 1 or first.start > line.head + 2:
                return []

            image = first.positions[0]
            joint = _BEHIND_IMAGE.match(self.text, first.end, line.end)
            place = joint.end() if joint else first.end
        elif image is None and self.n == 1:
            opening = _ASSIGNED.match(self.text, line.head, line.end)
            place = opening.end() if opening else place
        elif image is None:
            label = _LABEL.match(self.text, line.head, line.end)
            image = self.names.image_labelled(label["label"]) if label else None
            place = label.end() if label else place

        if image is None and self.n > 1:
            return []

        values = self._values(place, line.end, order)
        return [(image, key, mark) for _, key, mark in values]

    def _row_of(self, line: Line, order: Sequence[str]) -> list[Listed]:
        """Read `[1, 8, 7, 7, 6]` where the order begins with the image."""
        cell = _FIRST_CELL.match(self.text, line.head, line.end)
        if cell is None or line.images or int(cell["number"]) > self.n:
            return []

        image = int(cell["number"])
        return [(image, key, mark) for _, key, mark in self._values(cell.end(), line.end, order)]

    def _values(self, start: int, end: int, keys: Sequence[str]) -> list[Listed]:
        """Return as many numbers as there are keys, where nothing else stands here."""
        match = _VALUES.fullmatch(self.text, start, end)
        if match is None or len({*_WIDE_GAP.findall(match["values"])}) > 1:
            # Cells of aligned columns, of which some are blank.
            return []

        made = self._joined_values(match, keys)
        if made:
            return made

        place = match.start("values")
        for key in keys:
            value = _VALUE.match(self.text, place, end)
            number = number_at(self.text, place, end) if value else None
            if number is None or number.in_words:
                return []

            mark = number.mark(self.names.factor(key).scale)
            made.append((None, key, mark))
            between = _BETWEEN_VALUES.match(self.text, number.end, match.end("values"))
            place = between.end() if between else number.end
            if between is None and number.end < match.end("values"):
                return []

        return made if place >= match.end("values") else []

    def _joined_values(self, match: re.Match[str], keys: Sequence[str]) -> list[Listed]:
        """Read `8/7/7/6` and `8-7-7-6`: as many numbers as keys, with one sign between all."""
        values = match["values"]
        for sign in ("/", "-"):
            pieces = values.split(sign)
            if len(pieces) != len(keys) or len(keys) < 3:
                continue
            if not all(_WHOLE_VALUE.fullmatch(piece.strip()) for piece in pieces):
                continue

            made: list[Listed] = []
            place = match.start("values")
            for key, piece in zip(keys, pieces, strict=True):
                start = place + len(piece) - len(piece.lstrip())
                end = place + len(piece.rstrip())
                number = Number(Fraction(piece.strip()), None, start, end, end)
                made.append((None, key, number.mark(self.names.factor(key).scale)))
                place += len(piece) + 1

            return made

        return []

    def _is_sequence(self, line: Line) -> bool:
        """Tell whether a line is a factor with one number for each image: `S_acc: 8, 5, 2`."""
        if self.n < 2 or len(line.factors) != 1:
            return False
        return bool(self._sequence_of_named(line) if line.images else self._sequence(line))

    def _sequence_of_named(self, line: Line) -> list[Listed]:
        """Read a number for each image, where all of them are named before: `S_acc (Image 1 / Image
        2): 8 / 5`, "For accuracy, Images 1 and 2 receive 8 and 5, respectively."."""
        factor, first, last = line.factors[0], line.images[0], line.images[-1]
        bare = _IMAGES_LISTED.sub("", self.text[factor.end : first.start])
        numbers = re.findall(r"[0-9]+", self.text[first.start : last.end])
        counted = numbers == [str(number) for number in range(1, self.n + 1)]
        lead = self.text[line.head : factor.start].strip().lower()
        if bare or not counted or lead not in _OPENS_A_FACTOR or first.start < factor.end:
            return []

        between = self.text[first.start : last.end]
        joint = _GIVEN_IN_TURN.match(self.text, last.end, line.end)
        paired = _PARTED_ALIKE.search(between) is not None
        ordered = _ORDER_STATED.search(self.text, last.end, line.end) is not None
        if joint is None or not (paired or ordered):
            return []

        values = self._values(joint.end(), line.end, [factor.key] * self.n)
        return [(position, key, mark) for position, (_, key, mark) in enumerate(values, 1)]

    def _sequence(self, line: Line) -> list[Listed]:
        factor = line.factors[0]
        if factor.start > line.head + 2:
            return []

        joint = _BEHIND_FACTOR.match(self.text, factor.end, line.end)
        if joint is None:
            return []

        if labelled := self._labelled_values(joint.end(), line.end, factor.key):
            return labelled

        values = self._values(joint.end(), line.end, [factor.key] * self.n)
        return [(position, key, mark) for position, (_, key, mark) in enumerate(values, 1)]

    def _is_labelled(self, index: int) -> bool:
        """Tell whether the numbers of a line have labels: their order need not be stated."""
        line = self.page.lines[index]
        joint = _BEHIND_FACTOR.match(self.text, line.factors[0].end, line.end)
        return joint is not None and bool(
            self._labelled_values(joint.end(), line.end, line.factors[0].key)
        )

    def _labelled_values(self, start: int, end: int, key: str) -> list[Listed]:
        """Read `A: 7, B: 4, C: 9`: one number for each image, and the labels count them."""
        found = list(_LABELLED_VALUE.finditer(self.text, start, end))
        stops = [start, *(match.end() for match in found)]
        if len(found) != self.n or stops[-1] < end or stops[:-1] != [m.start() for m in found]:
            return []

        made: list[Listed] = []
        for position, match in enumerate(found, 1):
            number = number_at(self.text, match.start("value"), match.end())
            if number is None or self.names.image_labelled(match["label"]) != position:
                return []

            made.append((position, key, number.mark(self.names.factor(key).scale)))

        return made

    def _rows_of_factors(self, lines: Sequence[int]) -> dict[int, list[Listed]]:
        """Return what lists by factor say,
        where all factors have one and their order is certain."""
        keys = {self.page.lines[index].factors[0].key for index in lines}
        whole = len(lines) == len(keys) == len(self.names.factors)
        if not whole or not self._is_order_certain(lines):
            return {}

        made = {
            index: self._sequence_of_named(line) if line.images else self._sequence(line)
            for index, line in ((index, self.page.lines[index]) for index in lines)
        }
        # Where one of them is off the scale, the others may be of another scale, too.
        off = any(mark.value is None for found in made.values() for _, _, mark in found)
        return {} if off else made

    def _is_order_certain(self, lines: Sequence[int]) -> bool:
        """Tell whether the numbers of lists by factor stand in the order of the images."""
        above = [line for line in self.page.lines[: lines[0]] if line.images]
        others = [line for line in above if not self._lists_all(line)]
        if any(line.head < line.images[0].start + 3 for line in others):
            # What heads the lists may be that image.
            return False

        if all(self.page.lines[index].images for index in lines):
            return True

        # Two numbers for two images may be a coincidence: their order must be stated.
        if self.n > 2 or len(others) < len(above):
            return True

        stated = _ORDER_STATED.search(self.text) is not None
        return stated or all(map(self._is_labelled, lines))

    def _lists_all(self, line: Line) -> bool:
        """Tell whether a line names all images in their order, and says nothing else."""
        positions = [at for image in line.images for at in image.positions]
        rest = self.text[line.head : line.end]
        for image in line.images:
            rest = rest.replace(self.text[image.start : image.end], "")

        bare = re.fullmatch(r"[\W\d]*", _ORDER_WORDS.sub("", rest)) is not None
        if positions == [*range(1, self.n + 1)]:
            return bare

        # "Images 1 / 2 / 3"
        numbers = [int(digits) for digits in re.findall(r"[0-9]+", self.text[line.head : line.end])]
        return bare and numbers == [*range(1, self.n + 1)]

    def of_only_factor(self) -> Iterator[Listed]:
        """Yield what needs no name where one thing is scored: `[[4]]`, and `6 8` for two images."""
        only = self.names.only
        if only is None:
            return

        if self.n == 1:
            for match in _TWO_BRACKETS.finditer(self.text):
                number = number_at(self.text, match.start("value"), match.end())
                if number is not None:
                    yield None, only.key, number.mark(only.scale)

            yield from self._given_outright(only)
            return

        lines = [line for line in self.page.lines if not self.page.in_table(line)]
        ends = lines[:1] if len(lines) == 1 else [*lines[:1], *lines[-1:]]

        for line in ends:
            if line.kind is not Kind.VERDICT or line.number is not None:
                continue

            opening = _OUTPUT.match(self.text, line.head, line.end)
            place = opening.end() if opening else line.head
            values = self._values(place, line.end, [only.key] * self.n)
            for position, (_, key, mark) in enumerate(values, 1):
                yield position, key, mark

    def _given_outright(self, only: Factor) -> Iterator[Listed]:
        """Yield what a sentence gives the only image: "I rate it 4 out of 5", or "7/10." alone."""
        for line in self.page.lines:
            if line.kind is not Kind.VERDICT or self.page.in_table(line):
                continue

            given = _I_GIVE_IT.search(self.text, line.head, line.end)
            given = given or _OUT_OF_TOP.match(self.text, line.head, line.end)
            if given is None:
                continue

            lead = SENTENCE_STOP.split(self.text[line.head : given.start()])[-1]
            number = number_at(self.text, given.start("value"), line.end)
            if number is None or CONDITION.search(lead) or is_no_verdict(lead):
                continue

            yield None, only.key, undisputed(self.text, number, line.end, only.scale)


def undisputed(text: str, number: Number, end: int, scale: Scale) -> Mark:
    """Return what a number says, or why nobody can say: "8, or rather 7"."""
    mark = number.mark(scale)
    fault = entry_fault(text, number, end, scale)
    return Mark(None, mark.span, FaultKind.AMBIGUOUS, fault) if fault else mark


# --------------------------------------------------------------------------------------------------
# Lists of which nothing is missing: every image scored on every factor, in one order throughout.
#
# What makes a heading that is not understood dangerous is a score that is missing, for then the
# next image's may be taken for it. Where all n × factors scores are there, as n lists of the same
# factors in the same order, each is of one image, and it is enough that the labels count them.
# --------------------------------------------------------------------------------------------------


_Cells = list[tuple[int, Pair[FactorName]]]
"""Scores, each with the index of its line."""


def whole_lists(
    page: Page, found: Sequence[Sequence[Pair[FactorName]]], *, headed: bool
) -> Iterator[tuple[int, int, Pair[FactorName]]]:
    """Yield line, image and score of a reply that scores each image on every factor in one order.

    Nothing where a score is missing, comes twice, or is in doubt. `headed` says that what heads
    the lists may tell their images, whatever stands between.
    """
    lists = _lists_in_order(page, found)
    if not lists or not all(_may_be_scores(page, cells) for cells in lists):
        return

    if page.n == 1:
        alike = _numbered_alike(page, lists[0]) or _grouped(page, lists[0])
        positions = [1] if alike else []
    else:
        labels = _labels(page, lists)
        positions = _counted(labels, page.names) or _labelled_behind(page, lists)
        if not positions and headed:
            openings = [_opening(label, page.names) for label in labels]
            positions = _headings(page, lists) or _counted(openings, page.names)
        if not positions and _stand_alone(page, lists):
            # As many lists as images were shown, and nobody who says that they are sorted.
            positions = [*range(1, page.n + 1)]

    for position, cells in zip(positions, lists, strict=False):
        for index, pair in cells:
            yield index, position, pair


def _lists_in_order(page: Page, found: Sequence[Sequence[Pair[FactorName]]]) -> list[_Cells]:
    """Return the scores of a reply as n lists of all factors in the same order, if they are."""
    cells = [(index, pair) for index, pairs in enumerate(found) for pair in pairs]
    size = len(page.names.factors)
    if size < 2 or len(cells) != page.n * size:
        return []

    # "S_acc(2): 8" says itself of which image it is.
    if any(pair.mark.value is None or pair.name.position is not None for _, pair in cells):
        return []

    # The first list sets the order of all.
    keys = [pair.name.key for _, pair in cells]
    order = keys[:size]
    if len(set(order)) < size or keys != order * page.n:
        return []

    return [cells[place : place + size] for place in range(0, len(cells), size)]


# What stands before a name where all are numbered: "; F2 (".
_NUMBERED = re.compile(r"[\W_]*(?P<sign>[A-Za-z]{0,2})[ .]?(?P<number>[0-9]{1,2})[\W_]*")


def _numbered_alike(page: Page, cells: _Cells) -> bool:
    """Tell whether nothing but a running number of the same kind stands before each name."""
    signs = set()
    before = 0
    for number, (index, pair) in enumerate(cells, 1):
        lead = page.text[max(before, page.lines[index].start) : pair.start]
        match = _NUMBERED.fullmatch(lead)
        if match is None or int(match["number"]) != number:
            return False

        signs.add(match["sign"])
        before = pair.end

    return len(signs) == 1


_GROUP = re.compile(r"(?P<label>[^\d\n:;.!?]{3,40}?)[ ]*(?::|[–—]|[ ]-)[ ]+(?:the[ ])?")
_FEWEST_GROUPS = 3


def _grouped(page: Page, cells: _Cells) -> bool:
    """Tell whether the scores of the only image stand in groups, a label of its own before each:
    "Geometry – Scale gets a 4, …", "Light – …"."""
    labels = []
    for index in dict.fromkeys(index for index, _ in cells):
        line = page.lines[index]
        first = next(pair for at, pair in cells if at == index)
        label = _GROUP.fullmatch(page.text, line.head, first.start)
        if label is None or is_no_verdict(label["label"]) or unsettles(label["label"]):
            return False

        labels.append(label["label"].lower())

    return len(labels) >= _FEWEST_GROUPS and len(set(labels)) == len(labels)


def _may_be_scores(page: Page, group: _Cells) -> bool:
    """Tell whether the captions above leave numbers scores: what is more than n is no rank."""
    lines = [page.lines[index] for index, _ in group]
    kinds = {line.kind for line in lines} - {Kind.VERDICT}
    if kinds == {Kind.RANKS}:
        # Among more than were shown, any number may be a rank; a ranking may list scores.
        listed = all(_RANKING.search(line.caption) for line in lines)
        return listed and any((pair.mark.value or 0) > page.n for _, pair in group)
    return not kinds


_RANKING = re.compile(r"^\W*(?:\w+[ ]){0,2}(?:ranking|rangliste|rangfolge)\b", re.IGNORECASE)


def _headings(page: Page, groups: Sequence[_Cells]) -> list[int]:
    """Return the images that head the lists, each its own: in the paragraph that an image opens,
    or under its heading."""
    positions: list[int] = []
    for group in groups:
        lines = [page.lines[index] for index in sorted({index for index, _ in group})]
        images = {
            line.parts[0].positions if line.parts and line.parts[0].named else line.positions
            for line in lines
        }
        image = images.pop() if len(images) == 1 else None
        if image is None or any(_speaks_of_another(page, line, group, image) for line in lines):
            return []

        positions += image

    return positions if sorted(positions) == [*range(1, page.n + 1)] else []


def _speaks_of_another(page: Page, line: Line, group: _Cells, positions: tuple[int, ...]) -> bool:
    """Tell whether a line of scores names another image otherwise than in a sentence before or
    behind all of them."""
    first, last = group[0][1].start, group[-1][1].end
    return any(
        image.positions != positions
        and image.start < last
        and SENTENCE_STOP.search(page.text, image.end, first) is None
        for image in line.images
    )


_LABEL_BEHIND = re.compile(r"[ ]*[–—-]?[ ]*[(\[][^()\[\]]{1,40}[)\]]\W*|[ ]*(?:←|<-)[^\n]{1,40}")


def _labelled_behind(page: Page, groups: Sequence[_Cells]) -> list[int]:
    """Return the images that stand in brackets behind their lists: `S_acc 8, S_pre 5 (Image 1)`."""
    labels = []
    for group in groups:
        index, pair = group[-1]
        line = page.lines[index]
        if group[0][0] != index or not _LABEL_BEHIND.fullmatch(page.text, pair.end, line.end):
            return []
        if any(image.start < pair.end for image in line.images):
            return []

        labels.append(page.text[pair.end : line.end])

    return _counted(labels, page.names)


def _labels(page: Page, groups: Sequence[_Cells]) -> list[str]:
    """Return what stands right before each list: on its line, and above it on lines of its own."""
    labels = []
    for group, following in pairwise(groups):
        index, pair = group[-1]
        after = following[0][1].start
        same = page.lines[index].end >= after
        labels.append(page.text[pair.end if same else page.lines[index].end : after])

    # What opens a reply stands before the first label; that is as many lines as the others.
    lines = max((label.strip().count("\n") for label in labels), default=0) + 1
    first = page.text[: groups[0][0][1].start]
    opening = [line for line in first.split("\n") if line.strip()][-lines:]
    return [" ".join(each.split()).lstrip(",;/. ") for each in ("\n".join(opening), *labels)]


def _opening(label: str, names: Names) -> str:
    """Return the first sentence of what stands before a list, if it only names what follows:
    "Next, Image 2. The rabbit has the ears of a bear."."""
    opening = _STOP.split(label, maxsplit=1)[0]
    images = list(names.images_in(label, 0, len(label)))
    if len(images) != 1 or images[0].end != len(opening):
        return ""
    return opening if heads_plainly(opening[: images[0].start]) else ""


def _stand_alone(page: Page, groups: Sequence[_Cells]) -> bool:
    """Tell whether no word stands before, between or behind lists on lines of their own."""
    ends = [0, *(group[-1][1].end for group in groups)]
    starts = [*(group[0][1].start for group in groups), len(page.text)]
    apart = [page.text[end:start] for end, start in zip(ends, starts, strict=True)]
    by_lines = all("\n" in words for words in apart[1:-1])
    return by_lines and not any(re.search(r"\w", words) for words in apart)


_STOP = re.compile(r"[.!?](?:\s|$)")
_LONGEST_LABEL = 80


def _counted(labels: Sequence[str], names: Names) -> list[int]:
    """Return the images that labels name or count; nothing where they do not do so alike."""
    if any(len(label) > _LONGEST_LABEL or unsettles(label) for label in labels):
        return []
    if any(_heads_other_numbers(label, names) for label in labels):
        return []

    named = [_positions_in(label, names) for label in labels]
    found = [*chain(*named)]
    every = [*range(1, len(labels) + 1)]
    if found:
        # Every label names one image, and no two the same.
        complete = all(named) and sorted(found) == every
        return found if complete else []

    return every if _count_alike(labels, names) else []


def _heads_other_numbers(label: str, names: Names) -> bool:
    """Tell whether the words before an image say that its numbers are no scores: "Ranks of …"."""
    image = next(iter(names.images_in(label, 0, len(label))), None)
    return image is not None and kind_ahead(label[: image.start]) is not None


def _count_alike(labels: Sequence[str], names: Names) -> bool:
    """Tell whether labels are the same words around 1, 2, 3 …, or around a, b, c …"""
    if any(is_no_verdict(label) or _PLACE.search(label) for label in labels):
        return False

    forms = [set(_forms(label, position, names)) for position, label in enumerate(labels, 1)]
    return bool(set.intersection(*forms))


def _positions_in(label: str, names: Names) -> set[int]:
    images = names.images_in(label, 0, len(label))
    return {position for image in images for position in image.positions}


_INDEX = re.compile(r"[0-9]{1,2}(?:st|nd|rd|th)?(?![0-9.,/]*[0-9])|[^\W\d_]+")
# "1st place" is a rank.
_PLACE = re.compile(r"\b(?:place|platz|puesto|lugar|posto)\b", re.IGNORECASE)


def _forms(label: str, position: int, names: Names) -> Iterator[str]:
    """Yield a label with a gap in the place of each word or number that counts this image."""
    for match in _INDEX.finditer(label):
        short = len(match[0]) <= len("viii")
        if names.image_labelled(match[0].upper() if short else match[0]) == position:
            yield f"{label[: match.start()]}#{label[match.end() :]}".lower()
