"""Scores in a table: images as rows, images as columns, one line a score, or a table per image."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise

from lmmscore.parsing.lexicon import NO_SCORE
from lmmscore.parsing.names import Names
from lmmscore.parsing.numbers import stated_tops, value_in
from lmmscore.parsing.remarks import (
    is_no_verdict,
    is_plain,
    kind_of,
    makes_up,
    sees_nothing,
    unsettles,
)
from lmmscore.parsing.text import Span, width_of
from lmmscore.parsing.verdict import FaultKind, Kind, Mark

_RULE = re.compile(r"(?=[^-–—=]*[-–—=])[\s|:+=–—-]*")
_LINE = re.compile(r"[^\n]+")
_GAP = re.compile(r" {2,}|\t+")

_IMAGE_COLUMN = re.compile(
    r"(?:edited )?(?:image|picture|edit|img|photo|bild|imagen|immagine|图像|图片|图|画像|이미지)s?"
    r"(?: (?:no\.?|number|id|#|nr\.?))?",
    re.IGNORECASE,
)
_NUMBER_COLUMN = re.compile(r"#|n[or]\.?|№|id|编号|番号|번호|序号", re.IGNORECASE)
_COUNT_COLUMN = re.compile(
    r"(?:row|line|zeile|item|entry)?[ ]?(?:#|n[or]\.?|№|number|编号|番号|번호|序号)?", re.IGNORECASE
)
_FACTOR_COLUMN = re.compile(r"(?:factor|criterion|metric|dimension|aspect)", re.IGNORECASE)
_RANK_COLUMN = re.compile(
    r"\b(?:rank|ranking|place|placing|standing|rang|platz|puesto|rango|posto|место)\b"
    r"|排名|名次|順位|순위",
    re.IGNORECASE,
)
_COMMENTS = re.compile(
    r"\W*(?:comments?|remarks?|notes?|reasons?|reasoning|justifications?|explanations?|rationales?"
    r"|observations?|why|details?|begründung(?:en)?|kommentare?|bemerkung(?:en)?|commentaires?"
    r"|comentarios?|motivazione|理由|说明|备注|评语|コメント|이유|설명)\W*",
    re.IGNORECASE,
)
_NOT_EDITED = re.compile(r"\W*(?:unedited|unchanged|not[ ]edited)\W*", re.IGNORECASE)
# Quantities with a scale of their own: "Confidence (1-5)".
_OWN_SCALE = re.compile(
    r"\b(?:confiden(?:ce|t)|certainty|rank(?:ing)?|weights?|priority|severity)\b", re.IGNORECASE
)
_SCORE_COLUMN = re.compile(r".*\b(?:score|rating|points)s?\b.*", re.IGNORECASE | re.DOTALL)
_SCORES_FIRST = re.compile(
    r"\W*(?:(?:my|the|final)[ ])?(?:scores?|ratings?|points|评分|得分|分数|点数|スコア|점수|punkte"
    r"|bewertung|puntuación|note)\W*",
    re.IGNORECASE,
)
_EXACTLY_SCORES = re.compile(
    r"""
    (?:(?:my|the|your|final)[ ])?
    (?:scores?|ratings?|points|grade|marks?|value|result|given|awarded|edited|edit|output|after
      |评分|得分|分数|点数|スコア|점수|punkte|bewertung|puntuación)
    (?:[ ](?:given|awarded|image))?(?:[ ]?(?:\([^()]*\)|/[ ]?[0-9]+|out[ ]of[ ][0-9]+))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMERIC = re.compile(
    r"-?[0-9]+(?:[.,][0-9]+)?(?:\s*(?:/|out of)\s*[0-9]+|\s*%)?(?![\w.-])", re.IGNORECASE
)
_IN_BRACKETS = re.compile(r"\((?! *[0-9][0-9./ ]*\))[^()]*\)")
_BLANK_CELL = re.compile(r"[-–—\s.…]*")
_NO_SCORE = re.compile(rf"[-–—\s.…?]*|\W*{NO_SCORE}\W*", re.IGNORECASE)

_TOP_COLUMN = re.compile(
    r"(?:out of|of|max(?:imum|imal)?\.?)(?: (?:scores?|points|possible|value))?", re.IGNORECASE
)
_AMOUNT = re.compile(r"[×x]?\s*(?P<number>[0-9]+(?:[.,][0-9]+)?)\s*(?:(?P<percent>%)|/\s*[0-9]+)?")

_WIDEST = 60
"""How many columns are looked at: a reply of nothing but bars must not keep us busy."""

_MOST_LABELS = 200
_LONGEST_TITLE = 80
_ANOTHER_SCALE = "its table states another scale"
_TWO_IMAGES = "its row names two different images"
_TWO_COLUMNS = "its row has two different columns of numbers"
_TWO_NUMBERS = "it is given two different numbers"


@dataclass(frozen=True, slots=True)
class TableCell:
    """What stands between two bars, and where it begins in the plain text."""

    text: str
    start: int
    fault: str = ""
    """Why it cannot be said what its number is of."""


Row = list[TableCell]


@dataclass(frozen=True, slots=True)
class ReplyTable:
    """Lines of cells; the first row is the heading."""

    rows: list[Row]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Entry:
    """An image (None: that of the heading above), a factor, and what the cell says."""

    position: int | None
    key: str
    mark: Mark
    by_order: bool = False
    """Whether a running number is all that says which image it is: it may be a rank."""


Measures = Sequence[Callable[[int], int]]
"""Ways to say how far into its line a place was written: by characters, by how wide they are."""


def tables_in(text: str, names: Names, measures: Measures) -> list[ReplyTable]:
    """Return the tables of a text: with bars, with commas or tabs, or with columns aligned.

    `measures` count what was written before a place on its line, marks included: there columns were
    aligned.
    """
    found = [
        table
        for table in barred_tables(text)
        if _is_grid(table, names)
        or (_is_of_one_factor(table.rows[0]) and not _holds_lists(table, names))
    ]
    taken = [(table.start, table.end) for table in found]
    found += _spaced(text, names, taken, measures)
    return sorted(found, key=lambda table: table.start)


def _is_grid(table: ReplyTable, names: Names) -> bool:
    """Tell whether lines with bars are a table: factors head its columns or its rows."""
    if any(map(_numbered_at_random, table.rows[:_WIDEST])):
        return False
    if _name_factors_again(table, names):
        return False
    if any(_ends_in_a_factor(cell.text, names) for row in table.rows for cell in row[1:_WIDEST]):
        return False

    if sum(names.is_name(cell.text) for cell in table.rows[0][:_WIDEST]) > 1:
        # "S_acc | 1/10. S_qua | … ": entries, with bars for colons.
        return not any(
            _SCORE_FIRST.match(cell.text) or _is_an_entry(_SCALE.sub("", cell.text), names)
            for cell in table.rows[0][:_WIDEST]
        )

    remarks = {
        column for column, cell in enumerate(table.rows[0]) if _COMMENTS.fullmatch(cell.text)
    }
    for row in table.rows[:_WIDEST]:
        cells = [cell for column, cell in enumerate(row[:_WIDEST]) if column not in remarks]
        if any(_is_an_entry(cell.text, names) for cell in cells):
            return False

    labels = table.rows[0][:_WIDEST]
    numbered = [cell for cell in labels if _LARGE_NUMBERING.match(cell.text)]
    if len(numbered) == 1 and numbered[0] is not labels[-1]:
        # "accuracy | 10. preservation | 4": entries on one line, not headings.
        return False

    if any(_lists_factors(cell.text, names) for cell in labels):
        return False

    counted = _COUNT_COLUMN.fullmatch(labels[0].text) is not None
    for row in table.rows:
        labels += row[: 2 + counted]

    return any(cell.text and names.factor_named(cell.text) for cell in labels)


def _name_factors_again(table: ReplyTable, names: Names) -> bool:
    """Tell whether rows name several factors below a row that does: `S_acc | 8 | S_pre | 7` is a
    list, with bars for colons, and no heading; a heading that comes again is the same row."""
    naming = []
    for row in table.rows[:_WIDEST]:
        labels = [cell.text for cell in row[:_WIDEST] if not cell.text.isdecimal()]
        named = map(names.factor_named, labels) if len(labels) > 1 else ()
        if len({factor.key for factor in named if factor is not None}) > 1:
            naming.append([cell.text for cell in row])

    return any(row != naming[0] for row in naming)


def _is_of_one_factor(head: Row) -> bool:
    """Tell whether a heading is that of images and their scores, on a factor named above."""
    first, *others = (cell.text for cell in head)
    named = _IMAGE_COLUMN.fullmatch(first) or _NUMBER_COLUMN.fullmatch(first)
    return bool(named) and sum(bool(_EXACTLY_SCORES.fullmatch(text)) for text in others) == 1


def _holds_lists(table: ReplyTable, names: Names) -> bool:
    """Tell whether cells hold the scores of several factors: `| 1 | S_acc = 8, S_pre = 7 |`."""
    cells = [cell.text for row in table.rows[1:_WIDEST] for cell in row[:_WIDEST]]
    return any(
        len({each.key for each in names.factors_in(text, 0, len(text))}) > 1 for text in cells
    )


def _heads_only_scores(others: Row) -> bool:
    return sum(bool(_EXACTLY_SCORES.fullmatch(cell.text)) for cell in others) == 1


_SCORE_FIRST = re.compile(r"[0-9]+(?:[.,][0-9]+)?[ ]?(?:/|out of)[ ]?[0-9]+\W+[^\W\d]")
_LARGE_NUMBERING = re.compile(r"(?:[3-9]|[1-9][0-9])[.)][ ]+[A-Za-z]")


def _numbered_at_random(row: Row) -> bool:
    """Tell whether cells begin with numbers that do not count them: `9. pre | 6. qua`."""
    found = [re.match(r"([0-9]{1,2})[.)][ ]+[A-Za-z]", cell.text) for cell in row[:_WIDEST]]
    numbers = [int(match[1]) for match in found if match]
    return len(numbers) > 1 and numbers != list(range(numbers[0], numbers[0] + len(numbers)))


def _lists_factors(text: str, names: Names) -> bool:
    """Tell whether a cell holds a list of its own: `9: S_acc, 10: S_pre`."""
    if len(text) <= 40 or not re.search(r"[0-9]", text):
        return False
    return len({factor.key for factor in names.factors_in(text, 0, len(text))}) > 1


def _ends_in_a_factor(text: str, names: Names) -> bool:
    """Tell whether a cell ends with the name of what the next cell is of: `four; S_real | 1.5`."""
    _, stop, last = text.rpartition(";")
    return bool(stop) and names.factor_named(last.strip()) is not None


@lru_cache(maxsize=4096)
def _is_an_entry(text: str, names: Names) -> bool:
    """Tell whether a cell holds a factor with its number: `S_acc 8`;
    then bars only part entries."""
    if len(text) > 40 or not re.search(r"[0-9]", _IN_BRACKETS.sub("", text)):
        return False

    bare = re.sub(r"^[0-9]{1,2}[.)][ ](?![=:–—-])|[×x][ ]?[0-9.]+", "", text)
    if not re.search(r"[0-9]", _IN_BRACKETS.sub("", bare)):
        return False

    last = bare.split()[-1] if bare.split() else ""
    if names.is_name(last):
        return True

    # "8 (S_acc)" is an entry, "8 (realism suffers)" a number and its explanation.
    outside = _IN_BRACKETS.sub(_name_or_nothing(names), text)
    return bool(names.factors_in(outside, 0, len(outside)))


def _name_or_nothing(names: Names) -> Callable[[re.Match[str]], str]:
    """Return what replaces a bracket: itself where it holds nothing but a factor's name."""
    return lambda bracket: bracket[0] if names.is_name(bracket[0]) else ""


def barred_tables(text: str) -> Iterator[ReplyTable]:
    """Yield every run of two or more lines with bars; a blank line does not end one."""
    run: list[re.Match[str]] = []

    for line in _LINE.finditer(text):
        if not line[0].strip():
            continue

        # A single cell, "| Image 2 |", heads what follows.
        barred = "|" in line[0] and ("|" in line[0].strip(" >|") or _is_left_blank(run, line))
        rule = not barred and _RULE.fullmatch(line[0])
        if run and rule and ("+" in line[0] or (len(run) == 1 and not _is_scored(run[0]))):
            continue

        if barred and _continues(text, run, line):
            run.append(line)
            continue

        yield from _table_of(run)
        run = [line] if barred else []

    yield from _table_of(run)


def _is_scored(line: re.Match[str]) -> bool:
    """Tell whether a line is a name and its number: a rule below it ends a list."""
    cells = _bare_cells(line)
    return len(cells) == 2 and _NUMBER_IN_IT.fullmatch(cells[1]) is not None


_NUMBER_IN_IT = re.compile(r"[\W_]*[0-9]+(?:[.,][0-9]+)?(?:[ ]?/[ ]?[0-9]+)?[\W_]*")


def _is_left_blank(run: Sequence[re.Match[str]], line: re.Match[str]) -> bool:
    """Tell whether all cells but one of a table's row are blank: "| Image 5 |  |  |"."""
    columns = _columns(line[0])
    return columns > 2 and bool(run) and _columns(run[0][0]) == columns


def _columns(line: str) -> int:
    """Return how many cells the bars of a line part, with or without bars around them."""
    framed = _BAR_FIRST.match(line) is not None
    return line.count("|") + 1 - framed - (framed and line.rstrip().endswith("|"))


def _continues(text: str, run: Sequence[re.Match[str]], line: re.Match[str]) -> bool:
    if not run:
        return True

    head = _bare_cells(run[0])
    if len(run) > 1 and _bare_cells(line) == head and not any(map(_NUMERIC.match, head)):
        # The same heading again: another table.
        return False

    cells = _bare_cells(line)
    if cells[0] == head[0] and len(cells) == len(head) and not any(map(_NUMERIC.match, cells)):
        # "Name | Image 2", below "Name | Image 1": another table, though this one has no rows.
        return False

    between = text[run[-1].end() : line.start()]
    parted = between.count("\n") > 1 and len(run) > 1
    if parted and (_heads_in_words(line) or _opens_with_a_corner(line) or _heads_a_score(line)):
        return False

    if between.count("\n") <= 1 or _RULE.fullmatch(between.strip() or "-"):
        # Blank lines between rows are a slip, unless a new heading and its rule follow.
        following = text[line.end() : line.end() + 200].lstrip("\n").partition("\n")[0]
        new = between.count("\n") > 1 and "|" in following and _RULE.fullmatch(following)
        return not new or len(run) < 2

    return False


# A word of three letters or more, and none that stands for a missing score.
_IN_WORDS = re.compile(rf"(?!\W*(?:{NO_SCORE}|no\b|not\b)).*[^\W\d_]{{3}}", re.IGNORECASE)


def _heads_in_words(line: re.Match[str]) -> bool:
    """Tell whether all cells behind the first are words: then a blank line parts two tables, and
    this is the heading of the second, whose columns may stand in another order."""
    cells = [cell for cell in _bare_cells(line)[1:] if cell]
    return (
        len(cells) > 1 and all(map(_IN_WORDS.match, cells)) and not any(map(_NUMERIC.match, cells))
    )


def _heads_a_score(line: re.Match[str]) -> bool:
    """Tell whether one of the cells behind the first is that over scores."""
    return any(map(_EXACTLY_SCORES.fullmatch, _bare_cells(line)[1:]))


def _opens_with_a_corner(line: re.Match[str]) -> bool:
    """Tell whether the first cell is one that stands where headings meet: "Factor / Image"."""
    words = {word.lower() for word in _CORNER_WORD.findall(_bare_cells(line)[0])}
    return bool(words) and words <= _CORNER_WORDS and not re.search(r"[0-9]", _bare_cells(line)[0])


def _bare_cells(line: re.Match[str]) -> list[str]:
    return [cell.strip() for cell in line[0].strip(" >|").split("|")]


def _table_of(run: Sequence[re.Match[str]]) -> Iterator[ReplyTable]:
    lines = [row for row in run if not _RULE.fullmatch(row[0])]
    body = lines[1:] or lines

    barred = [row for row in body if _BAR_FIRST.match(row[0])]
    framed = len(barred) * 2 > len(body)

    rows = [_cells(row, framed=framed) for row in lines]
    widths = [len(row) for row in rows]
    usual = max(set(widths), key=widths.count, default=0)
    for at, line in enumerate(lines):
        other = _cells(line, framed=not framed)
        if widths[at] != usual and len(other) == usual and _is_framed_otherwise(line, framed):
            # A row that leaves out the bars around it, or has them where the others do not.
            rows[at] = other

    if len(rows) >= 2 and max(map(len, rows)) > 1:
        yield ReplyTable(rows, run[0].start(), run[-1].end())


_BAR_FIRST = re.compile(r"[ >]*\|")


def _is_framed_otherwise(line: re.Match[str], framed: bool) -> bool:
    return (_BAR_FIRST.match(line[0]) is None) is framed


def _cells(line: re.Match[str], *, framed: bool) -> Row:
    """Return the cells of a line; in a table whose rows begin with a bar,
    what stands before the first bar and after the last one is none."""
    cells = []
    place = line.start()
    for text in line[0].split("|"):
        stripped = text.strip()
        cells.append(TableCell(stripped, place + (text.index(stripped) if stripped else 0)))
        place += len(text) + 1

    if not framed:
        return cells

    if len(cells) > 1:
        cells = cells[1:]

    if len(cells) > 1 and not cells[-1].text:
        cells = cells[:-1]

    return cells


def _spaced(
    text: str, names: Names, taken: Sequence[Span], measures: Measures
) -> Iterator[ReplyTable]:
    """Yield tables whose cells are parted by commas, semicolons or runs of spaces."""
    lines = list(_LINE.finditer(text))
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if any(start <= line.start() < end for start, end in taken):
            continue

        for separator in _separators(line[0]):
            head = _split(line, separator)
            if len(head) < 2 or any(len(cell.text) > _LONGEST_TITLE for cell in head):
                continue
            if not _is_head(head, partial(_below, lines, index, names), names):
                continue

            rows, after = _rows(lines, index, separator, head, measures, names)
            table = ReplyTable([head, *rows], line.start(), lines[after - 1].end())
            if rows and not _name_factors_again(table, names):
                index = after
                yield table
                break


def _below(lines: Sequence[re.Match[str]], index: int, names: Names) -> str:
    """Return the first line under a heading, but for rules and for what is no score: "Range"."""
    found = [line[0] for line in lines[index : index + 4] if not _RULE.fullmatch(line[0])]
    named = [line for line in found[:2] if _names_one(_first_cell(line), names)]
    return next(iter(named or found), "")


def _separators(line: str) -> Iterator[str]:
    """Yield what may part the cells of a line: commas, semicolons, or runs of spaces (the empty
    string)."""
    yield from (mark for mark in ",;" if mark in line)
    if "  " in line or "\t" in line:
        yield ""


def _is_head(head: Row, below: Callable[[], str], names: Names) -> bool:
    """Tell whether cells are the heading of a table: factors or images,
    and no number of anything. `below` returns the line under it."""
    if _heads_factors(head, names):
        # A factor in the first column leaves no room for the images, unless there is only one.
        return names.factor_named(head[0].text) is None or _is_one_row(head, below(), names)

    if _heads_scores(head, names) or _heads_images(head, below, names):
        return True
    return _heads_one_score(head, below, names)


def _heads_factors(head: Row, names: Names) -> bool:
    """Tell whether factors head columns, and nothing there has a number; where there are several
    factors, one alone may be part of a sentence."""
    if any(map(_has_a_number, head)):
        return False

    known = sum(names.factor_named(cell.text) is not None for cell in head)
    return known >= max(1, min(2, len(names.factors)))


def _heads_scores(head: Row, names: Names) -> bool:
    """Tell whether columns hold a factor and its score: `Factor, Score`, `Image, Factor, Score`."""
    if len(head) < 2:
        return False

    first, second = head[0].text, head[1].text
    for factor, score in ((first, second), (second, first)):
        if names.n == 1 and _FACTOR_COLUMN.fullmatch(factor) and _EXACTLY_SCORES.fullmatch(score):
            return True

    if len(head) < 3 or not _FACTOR_COLUMN.fullmatch(second):
        return False

    return _is_of_one_factor([head[0], *head[2:]])


def _heads_one_score(head: Row, below: Callable[[], str], names: Names) -> bool:
    """Tell whether a score and something else stand in each row: `Factor  Score  Max`.

    Then a number may be either, and the place where it stands says which.
    """
    corner, *others = (cell.text for cell in head)
    if len(others) < 2 and not _FACTOR_COLUMN.fullmatch(corner):
        return False

    images = False
    for cell in head[1:]:
        named = names.image_named(cell.text) is not None
        if not named and _has_a_number(cell):
            return False
        images = images or named

    if not _may_be_a_corner(corner, names) or not _names_one(_first_cell(below()), names):
        return False

    scored = (_EXACTLY_SCORES.fullmatch(text) or _SCORE_COLUMN.fullmatch(text) for text in others)
    return images or any(scored)


def _first_cell(line: str) -> str:
    return re.split(r"[,;]", _GAP.split(line.strip())[0])[0]


def _heads_images(head: Row, below: Callable[[], str], names: Names) -> bool:
    """Tell whether images head columns, and nothing else there has a number."""
    if len(head) < 3:
        return False

    # Under "Factor", and beside factors, a bare 1 or A is an image, too.
    cornered = _FACTOR_COLUMN.fullmatch(head[0].text) is not None and _opens_with_a_factor(
        below(), names
    )

    images = 0
    for cell in head[1:]:
        label = names.image_named(cell.text)
        if label is None and cornered:
            label = names.image_labelled(cell.text)
        if label is not None:
            images += 1
        elif _has_a_number(cell):
            return False

    if images > 1:
        return True

    # One image beside other columns, and a factor in front of the row below.
    return images == 1 and _opens_with_a_factor(below(), names)


def _opens_with_a_factor(line: str, names: Names) -> bool:
    return names.factor_named(_first_cell(line)) is not None


def _is_one_row(head: Row, below: str, names: Names) -> bool:
    """Tell whether headings are all factors of the only image, and nothing but a number for each
    stands below."""
    if names.n > 1 or not all(names.factor_named(cell.text) for cell in head):
        return False
    values = re.split(r"[,;]\s*|\s{2,}|\t", below.strip())
    return len(values) == len(head) and all(map(_NUMERIC.fullmatch, values))


_OF_A_NUMBER = re.compile(r"[0-9:=]")


_SCALE = re.compile(r"(?:/|\bout of|\b(?:0|1) ?[-–—] ?|\b(?:0|1) to )[ ]?[0-9]+\b", re.IGNORECASE)


def _has_a_number(cell: TableCell) -> bool:
    if _OF_A_NUMBER.search(cell.text) is None:
        return False

    bare = _SCALE.sub("", _IN_BRACKETS.sub("", cell.text))
    return _OF_A_NUMBER.search(bare) is not None


def _is_score(cell: TableCell) -> bool:
    return not cell.text.strip() or _NUMERIC.fullmatch(cell.text.strip()) is not None


def _rows(
    lines: Sequence[re.Match[str]],
    index: int,
    separator: str,
    head: Row,
    measures: Measures,
    names: Names,
) -> tuple[list[Row], int]:
    rows: list[Row] = []
    first = index
    width = len(head)
    labels = 0 if _EXACTLY_SCORES.fullmatch(head[0].text) else 1
    numeric = False
    while index < len(lines):
        line = lines[index]
        if _RULE.fullmatch(line[0]):
            index += 1
            continue

        row = _split(line, separator)
        if "\n\n" in line.string[lines[index - 1].end() : line.start()]:
            break

        if not separator and len(row) == 1 and _names_one(row[0].text, names):
            # A row left blank, or one that heads those below it.
            rows.append(row)
            index += 1
            continue

        # A comma too many or too few: that row says nothing, the others stay what they are.
        slipped = bool(separator) and abs(len(row) - width) == 1 and all(map(_is_score, row[1:]))
        aligned = not separator and len(row) > 1
        if len(row) != width and not aligned and not (slipped and rows):
            break
        values = row[labels:]
        if not any(_NUMERIC.match(cell.text) or _is_short(cell) for cell in values):
            break

        if aligned:
            row = _under(head, row, line, measures)
        elif len(row) != width:
            row = row[:1]

        rows.append(row)
        numeric = numeric or any(_NUMERIC.match(cell.text) for cell in values)
        index += 1

    return (rows, index) if numeric else ([], first)


def _names_one(label: str, names: Names) -> bool:
    """Tell whether a label is the name of a factor or of an image."""
    return names.factor_named(label) is not None or names.image_named(label) is not None


_NEAR = 1
"""How far beside its heading a cell may stand, in characters."""


def _under(head: Row, row: Row, line: re.Match[str], measures: Measures) -> Row:
    """Return a cell for each heading: what stands under it, or a blank one. Where that cannot be
    told, only the first, which says what the row is of.

    As many cells as headings may still be one too few and one too many, unless they are parted all
    alike, by little.
    """
    gaps = {len(gap) for gap in _GAP.findall(line[0].strip())}
    if len(row) == len(head) and len(gaps) == 1 and max(gaps) <= _NARROW:
        return row

    # Whoever aligned the columns may have counted characters, or how wide they are.
    placed = [_headings_above(head, row, measure) for measure in measures]
    if any(columns is None or columns != placed[0] for columns in placed):
        return row[:1]

    cells = [replace(cell, text="") for cell in row[:1] * len(head)]
    for cell, column in zip(row, placed[0] or (), strict=False):
        cells[column] = cell

    return cells


def _headings_above(head: Row, row: Row, measure: Callable[[int], int]) -> list[int] | None:
    """Return which heading each cell of a row stands under, up to the first under none, a remark;
    None where that cannot be told."""
    titles = _places(head, measure)
    columns: list[int] = []
    for left, right in _places(row, measure):
        if left > titles[-1][1] + _NEAR:
            break

        distances = [max(first - right, left - last) for first, last in titles]
        column = distances.index(min(distances))
        clear = all(
            at == column or max(0, distance) > max(0, distances[column])
            for at, distance in enumerate(distances)
        )
        behind = not columns or column > columns[-1]
        if not clear or not behind or distances[column] > _NEAR:
            return None

        columns.append(column)

    return columns


_NARROW = 4


def _places(row: Row, measure: Callable[[int], int]) -> list[Span]:
    """Return the columns of characters that the cells of a row fill."""
    starts = [measure(cell.start) for cell in row]
    return [(at, at + width_of(cell.text)) for at, cell in zip(starts, row, strict=True)]


def _is_short(cell: TableCell) -> bool:
    return len(cell.text) < 16


def _split(line: re.Match[str], separator: str) -> Row:
    cells = []
    place = line.start()
    if separator:
        for piece in _pieces(line[0], separator):
            stripped = piece.strip().strip("\"'")
            offset = piece.index(stripped) if stripped else 0
            cells.append(TableCell(stripped, place + offset))
            place += len(piece) + 1

        return cells

    content = line[0].rstrip()
    indent = len(content) - len(content.lstrip())
    if indent >= 4:
        # A corner left blank.
        cells.append(TableCell("", place))

    place += indent
    for piece in _GAP.split(content.lstrip()):
        start = line.string.index(piece, place)
        cells.append(TableCell(piece, start))
        place = start + len(piece)

    return cells


def _pieces(line: str, separator: str) -> list[str]:
    """Return the parts of a line between separators; one in quotation marks is part of its cell."""
    if '"' not in line:
        return line.split(separator)
    return re.findall(rf'(?:^|(?<={separator}))(?:[ ]*"[^"]*"[ ]*|[^{separator}]*)', line)


def entries_of(
    table: ReplyTable, above: int | None, names: Names, factor: str | None = None
) -> list[Entry]:
    """Return what a table says, by what its heading and its first columns name, and the image and
    the factor above it."""
    found: list[Entry] = []
    for block in _side_by_side(table, names):
        for part, image, key in _sections(block, names, above, factor):
            found += _TableReader(_named_once(part, names), image, names, key).entries()

    return _without_repetition(found)


def _named_once(table: ReplyTable, names: Names) -> ReplyTable:
    """Return a table without its second column where this names the factors of the first again:
    `Symbol | Factor | Score`."""
    named = [[names.factor_named(cell.text) for cell in row[:2]] for row in table.rows[1:]]
    both = [row for row in named if len(row) == 2 and row[0] is not None]
    if len(both) < 2 or any(first is not second for first, second in both):
        return table
    return replace(table, rows=[[row[0], *row[2:]] for row in table.rows])


def _sections(
    table: ReplyTable, names: Names, above: int | None, factor: str | None
) -> list[tuple[ReplyTable, int | None, str | None]]:
    """Return the parts of a table in which rows head others, each with what heads it: a factor
    over rows of images, or an image over rows of factors."""
    head, *body = table.rows
    heading = [row[0].text for row in body if _is_alone(row)]
    headed = [row[0].text for row in body if not _is_alone(row)]
    if not heading or any(names.factor_named(cell.text) for cell in head):
        return [(table, above, factor)]

    by_factor = all(map(names.factor_named, heading)) and None not in map(names.image_named, headed)
    by_image = None not in map(names.image_named, heading) and any(map(names.factor_named, headed))
    if by_factor is by_image:
        return [(table, above, factor)]

    made: list[tuple[ReplyTable, int | None, str | None]] = []
    rows: list[Row] = []
    for row in body:
        if not _is_alone(row):
            rows.append(row)
            continue

        rows = []
        named = names.factor_named(row[0].text)
        key = named.key if named is not None and by_factor else None
        image = names.image_named(row[0].text) if by_image else None
        made.append((replace(table, rows=rows), image, key))
        rows.append(head)

    return [each for each in made if len(each[0].rows) > 1]


def _is_alone(row: Row) -> bool:
    """Tell whether nothing stands in a row but its label."""
    return bool(row[0].text) and not any(cell.text for cell in row[1:])


def _side_by_side(table: ReplyTable, names: Names) -> list[ReplyTable]:
    """Return the tables of one that repeats its first heading: `Image | S_acc | Image | S_acc`."""
    head = table.rows[0][:_WIDEST]
    title = head[0].text.casefold()
    starts = [at for at, cell in enumerate(head) if cell.text.casefold() == title]
    ends = [*starts[1:], len(head)]
    widths = {
        end - start - (not head[end - 1].text) for start, end in zip(starts, ends, strict=True)
    }
    if not title or len(starts) < 2 or len(widths) > 1 or min(widths) < 2:
        # A title alone is no block, nor is a shorter one: "# | # | S_acc" is one table.
        return [table]

    # A row of another length has a bar too many or too few: nobody knows in which block.
    rows = [row for row in table.rows if len(row) == len(head)]
    labels = [row[start].text for row in rows[1:] for start in starts[1:]]
    if not all(not text or _is_a_label(text, names) for text in labels):
        # "#" may as well head anything.
        return [table]

    blocks = []
    for start, end in zip(starts, ends, strict=True):
        if not head[end - 1].text:
            # The gap between two blocks.
            end -= 1

        parts = [row[start:end] for row in rows]
        filled = [part for part in parts if any(cell.text for cell in part)]
        blocks.append(replace(table, rows=filled))

    return blocks


def _is_a_label(text: str, names: Names) -> bool:
    """Tell whether a cell can say what its row is of: an image, a factor, or no scores at all."""
    named = names.image_labelled(text) is not None or names.factor_named(text) is not None
    return named or is_no_verdict(text)


def _without_repetition(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries; where two say different things of one image and factor, neither holds."""
    values: defaultdict[tuple[int | None, str], set[Fraction | None]] = defaultdict(set)
    for entry in entries:
        values[entry.position, entry.key].add(entry.mark.value)

    made = []
    for entry in entries:
        if len(values[entry.position, entry.key]) > 1:
            mark = Mark(None, entry.mark.span, FaultKind.CONTRADICTION, _TWO_NUMBERS)
            entry = replace(entry, mark=mark)

        made.append(entry)

    return made


class _TableReader:
    """Reads one table."""

    def __init__(
        self, table: ReplyTable, above: int | None, names: Names, factor: str | None
    ) -> None:
        self.names = names
        self.n = names.n
        self.rows = _image_first(self._without_numbering(table.rows, above))
        self.head, *self.body = self.rows
        self._tops = self._stated_tops()
        """The tops of the scales that its headings state."""
        corner = names.image_named(self.head[0].text)
        self.above = corner if corner is not None else above
        named = self._factor_in(self.head[0]) if _heads_only_scores(self.head[1:]) else None
        self.factor = named or factor
        """The factor that heads the whole table, or stands in its corner."""

    def _without_numbering(self, rows: list[Row], above: int | None) -> list[Row]:
        """Return the rows without a first column that counts them, before one of factors or of
        images: `No. | Factor | Image 1`."""
        head, *body = rows
        if not _COUNT_COLUMN.fullmatch(head[0].text):
            return rows

        counted = [row[0].text.rstrip(".)") for row in body]
        second = [self._factor_in(row[1]) for row in body if len(row) > 1]
        by_factor = None not in second and len({*second}) == len(second)
        several = len(second) > (above is None)
        if by_factor and several and _ascends(counted):
            # Factors that are left out may keep their numbers: 1, 2, 4.
            return [row[1:] for row in rows if len(row) > 1]

        running = counted == [str(number) for number in range(1, len(body) + 1)]
        listed = len(head) > 3 and _FACTOR_COLUMN.fullmatch(head[2].text)
        if running and listed and _IMAGE_COLUMN.fullmatch(head[1].text):
            return [row[1:] for row in rows if len(row) > 1]
        return rows

    def _stated_tops(self) -> list[set[Fraction]]:
        """Return the scales of its headings, but for those of totals over scores and of
        quantities that have their own."""
        stated: list[set[Fraction]] = []
        of_totals: list[set[Fraction]] = []
        factors = 0
        for cell in [*self.head, *(row[0] for row in self.body)][:_MOST_LABELS]:
            is_factor = self._factor_in(cell) is not None
            factors += is_factor
            tops = stated_tops(cell.text)
            if not tops or _OWN_SCALE.search(cell.text):
                continue

            total = not is_factor and kind_of(_IN_BRACKETS.sub("", cell.text)) is Kind.AVERAGE
            (of_totals if total else stated).append(tops)

        stated += self._tops_in_columns()
        # "Total (max 40)" is a sum of four scores up to 10; "(max 20)" leaves 5 for each.
        sums = {factor.scale.high * factors for factor in self.names.factors}
        if stated and len(stated) >= factors:
            return stated
        return stated + [tops for tops in of_totals if not tops <= sums]

    def _tops_in_columns(self) -> list[set[Fraction]]:
        """Return the tops that stand in a column of their own: `Factor | Score | Max`.

        Beside columns of factors, what is one of the row's scores is the highest of these.
        """
        columns = [at for at, cell in enumerate(self.head) if _TOP_COLUMN.fullmatch(cell.text)]
        if not columns:
            return []

        factors = [at for at, cell in enumerate(self.head) if self._factor_in(cell)]
        stated: list[set[Fraction]] = []
        for row in self.body:
            scores = {_value_at(row, at) for at in factors}
            tops = {_value_at(row, at) for at in columns} - scores - {None}
            if tops and kind_of(row[0].text) is not Kind.AVERAGE:
                stated.append({Fraction(top) for top in tops if top is not None})

        return stated

    def _is_labelled_within(self) -> bool:
        """Tell whether images are named in a later column: then the first may hold anything.

        A rank may stand before a column of images, too.
        """
        within = self.body[0][1:] if self.body else []
        if any(self.names.image_named(cell.text) is not None for cell in within):
            return True

        if not _RANK_COLUMN.fullmatch(self.head[0].text):
            return False

        return any(_IMAGE_COLUMN.fullmatch(cell.text) for cell in self.head[1:_WIDEST])

    def _may_hold_scores(self) -> bool:
        """Tell whether headings leave the numbers scores, and which is whose can be told."""
        if not self._is_labelled_within() and not _may_be_a_corner(self.head[0].text, self.names):
            return False

        if any(_DOWNWARD in cell.text for cell in self.head):
            # "S_acc ↓": the lower, the better.
            return False

        return self._lines_up()

    def _lines_up(self) -> bool:
        """Tell whether it is clear which column a cell is of: all are headed, or as many as the
        cells of each row."""
        if all(cell.text for cell in self.head[1:]):
            return True
        return all(len(row) == len(self.head) for row in self.body)

    def entries(self) -> list[Entry]:
        """Return what the table says, by which way its factors and its images run."""
        if not self._may_hold_scores():
            return []

        columns = self._factors_of(self.head[:_WIDEST])
        first = self._factors_of([row[0] for row in self.rows])
        if any(columns[1:]) or self._is_one_row_a_factor(columns, first):
            return self._images_as_rows(columns)

        if self.factor is not None and self._is_of_one_factor(columns, first):
            return self._of_one_factor(self.factor)

        if not any(first):
            return self._a_line_a_score()

        images = [None, *(self._image(cell) for cell in self.head[1:_WIDEST])]
        named = images.count(None) < len(images)
        if named and not first[0]:
            return self._images_as_columns(images, first[1:])

        return self._one_image(first)

    def _is_of_one_factor(self, columns: Sequence[str | None], first: Sequence[str | None]) -> bool:
        """Tell whether rows are of images, and all scores of the factor above or in the corner."""
        if any(first[1:]):
            return False
        if columns[0] is None:
            return _is_of_one_factor(self.head) or _heads_only_scores(self.head[1:])
        return columns[0] == self.factor and self._names_images(self.body, 0)

    def _is_one_row_a_factor(
        self, columns: Sequence[str | None], first: Sequence[str | None]
    ) -> bool:
        """Tell whether the first column is a factor's own: of one image it may be,
        unless factors head the rows."""
        lone = self.n == 1 and len(columns) > 1
        return lone and columns[0] is not None and not any(first[1:])

    def _factor_in(self, cell: TableCell) -> str | None:
        if not cell.text:
            return None

        if not self.names.is_name(cell.text) and is_no_verdict(cell.text):
            return None

        factor = self.names.factor_named(cell.text)
        return factor.key if factor else None

    def _factors_of(self, cells: Sequence[TableCell]) -> list[str | None]:
        """Return the factor whose scores each heading heads.

        Another word beside a factor's name makes it another quantity, "errors (S_acc)", unless it
        is one for scores. Words that are unknown may translate the names: then all names have one,
        and each its own.
        """
        keys = [self._factor_in(cell) for cell in cells]
        words = [
            _beside_a_name(cell.text, self.names) if key else ""
            for cell, key in zip(cells, keys, strict=True)
        ]
        if not any(words):
            return keys

        headings = list(zip(keys, words, strict=True))
        named = [cell.text for cell, key in zip(cells, keys, strict=True) if key]
        translated = len(set(keys) - {None}) > 1 and all(map(_TWO_PARTS.fullmatch, named))
        own = self._own_words(headings, translated=translated or self.names.only is not None)
        return [key if not beside or beside in own else None for key, beside in headings]

    def _own_words(
        self, headings: Sequence[tuple[str | None, str]], *, translated: bool
    ) -> set[str]:
        """Return the words beside factors' names that may belong to these."""
        clear = {key for key, words in headings if key and not words}
        odd = [(key, words) for key, words in headings if words]
        made = set()
        for key, words in odd:
            shared = any(words == other for of, other in odd if of != key)
            known = translated or is_plain(words)
            if known and not shared and key not in clear and not _OF_ANOTHER_UNIT.search(words):
                made.add(words)

        return made

    def _image(self, cell: TableCell) -> int | None:
        if is_no_verdict(cell.text):
            return None
        return self.names.image_labelled(cell.text) if cell.text else None

    def _entry(self, position: int | None, key: str, cell: TableCell) -> list[Entry]:
        """Return what a cell says; nothing where it is blank."""
        if _BLANK_CELL.fullmatch(cell.text) and not cell.fault:
            return []

        if any(tops - {self.names.factor(key).scale.high} for tops in self._tops):
            cell = replace(cell, fault=_ANOTHER_SCALE)

        span = (cell.start, cell.start + max(1, len(cell.text)))
        if cell.fault:
            mark = Mark(None, span, FaultKind.CONTRADICTION, cell.fault)
        else:
            mark = value_in(cell.text, self.names.factor(key).scale, cell.start)

        if position is None and self.n > 1:
            return []
        return [Entry(position, key, mark)]

    def _images_as_rows(self, columns: Sequence[str | None]) -> list[Entry]:
        body = [row for row in self.body if not self._is_labelled_otherwise(row, columns)]
        images, by_order = self._images_of_rows(body, columns)
        if images is None:
            images = [self._image_above(body)] * len(body)

        found: list[Entry] = []
        for row, named in zip(body, images, strict=True):
            # Image 0 is the only one where no other is.
            zero = self.n == 1 and named == {0} and {1} in images
            if not zero and self._is_whole(row, last=row is body[-1]):
                found += self._row_entries(row, named, columns)

        return [replace(entry, by_order=True) for entry in found] if by_order else found

    def _image_above(self, body: Sequence[Row]) -> set[int]:
        """Return the image named above the table: a single row that names none belongs to it.

        One under "Rank" may number its image all the same.
        """
        ranked = _RANK_COLUMN.search(self.head[0].text) is not None
        return {self.above} if self.above is not None and len(body) == 1 and not ranked else set()

    def _is_whole(self, row: Row, *, last: bool) -> bool:
        """Tell whether a row has a cell for each column; the last one may have been cut off.

        A bar too many or too few: which column a number stands in is anybody's guess.
        """
        return len(row) == len(self.head) or (last and len(row) < len(self.head))

    def _row_entries(
        self, row: Row, images: set[int], columns: Sequence[str | None]
    ) -> Iterator[Entry]:
        if len(images) > 1:
            row = [replace(cell, fault=_TWO_IMAGES) for cell in row]

        for key, cell in zip(columns, row, strict=False):
            if key is None:
                continue

            for image in images or (None,):
                yield from self._entry(image, key, cell)

    def _is_labelled_otherwise(self, row: Row, columns: Sequence[str | None]) -> bool:
        for key, heading, cell in zip(columns, self.head, row, strict=False):
            if key is not None:
                continue

            # "unedited", as a comment on an image, says how it was edited: not at all.
            if _NOT_EDITED.fullmatch(cell.text) and _COMMENTS.fullmatch(heading.text):
                continue

            short = len(cell.text) < 40
            if short and is_no_verdict(cell.text):
                return True

            if _says_it_is_none(cell.text) or (len(cell.text.split()) < 4 and unsettles(cell.text)):
                return True

        return False

    def _images_of_rows(
        self, body: Sequence[Row], columns: Sequence[str | None]
    ) -> tuple[list[set[int]] | None, bool]:
        """Return the images that each row names, or None where no column names any; and whether
        they are merely numbered.

        Cells that say "Image 2" and columns headed so count before a column of bare numbers, which
        may number the rows; of those the ones headed `#` before the first, unless that ranks.
        """
        free = [
            column
            for column, key in enumerate(columns[: len(self.head)])
            if key is None and not _RANK_COLUMN.search(self.head[column].text)
        ]
        spoken = [column for column in free if self._names_images(body, column)]
        headed = [at for at in free if _IMAGE_COLUMN.fullmatch(self.head[at].text)]
        named = list(dict.fromkeys([*spoken, *headed]))
        chosen = named or self._numbering(body, free)
        if not chosen:
            return None, False

        return [self._named_by(row, chosen) for row in body], not named

    def _numbering(self, body: Sequence[Row], free: Sequence[int]) -> list[int]:
        """Return the columns that may number images: those headed `#`, else the first and what
        agrees with it."""
        numbers = [at for at in free if _NUMBER_COLUMN.fullmatch(self.head[at].text)]
        if 0 not in free:
            return numbers

        if numbers:
            labelled = self._are_images(body)
            return [0, *numbers] if labelled else numbers

        # "Artifacts: 2, 1, 3" counts something else, whatever it agrees with.
        labelled = any(self.names.image_labelled(row[0].text) is not None for row in body)
        others = [at for at in free if at and (labelled or not self.head[at].text.strip())]
        return [0, *(at for at in others if self._numbers_images(body, at))]

    def _named_by(self, row: Row, columns: Sequence[int]) -> set[int]:
        named = {self._image_at(row, column) for column in columns}
        return {image for image in named if image is not None}

    def _names_images(self, body: Sequence[Row], column: int) -> bool:
        return any(
            column < len(row) and self.names.image_named(row[column].text) is not None
            for row in body
        )

    def _are_images(self, body: Sequence[Row]) -> bool:
        """Tell whether the first column labels every row with another image."""
        labels = [self._image_at(row, 0) for row in body]
        return None not in labels and len(set(labels)) == len(labels)

    def _numbers_images(self, body: Sequence[Row], column: int) -> bool:
        """Tell whether a column holds the numbers of all images, each once."""
        numbers = sorted(self._image_at(row, column) or 0 for row in body)
        return self.n > 1 and numbers == list(range(1, self.n + 1))

    def _image_at(self, row: Row, column: int) -> int | None:
        return self.names.image_labelled(row[column].text) if column < len(row) else None

    def _images_as_columns(
        self, images: Sequence[int | None], first: Sequence[str | None]
    ) -> list[Entry]:
        found: list[Entry] = []
        for key, row in zip(first, self.body, strict=True):
            if len(row) > len(self.head):
                continue

            for image, cell in zip(images, row, strict=False):
                if key and image is not None:
                    found += self._entry(image, key, cell)

        return found

    def _one_image(self, first: Sequence[str | None]) -> list[Entry]:
        """Read a table of factor and score: of the image named in its corner or above it."""
        scored = [(key, row) for key, row in zip(first, self.rows, strict=True) if key]
        keys = {key for key, _ in scored}
        if self.n > 1 and len(keys) < len(scored):
            # A factor comes twice: another image has begun unannounced.
            return []

        # Where the first line is a score already, there is no heading.
        head = [] if first[0] else self.head
        column = _score_column(head, [row for _, row in scored], 1)
        rows = [(self.above, key, row) for key, row in scored]
        return self._scores(rows, column, 1)

    def _of_one_factor(self, key: str) -> list[Entry]:
        """Read `| Image 1 | 6 |` under a factor."""
        column = _score_column(self.head, self.body, 1)
        images, by_order = self._images_of_rows(self.body, [None] * len(self.head))
        named = zip(self.body, images or (), strict=False)
        rows = [(image, key, row) for row, of in named if len(of) == 1 for image in of]
        return [replace(entry, by_order=by_order) for entry in self._scores(rows, column, 1)]

    def _a_line_a_score(self) -> list[Entry]:
        """Read `| Image 1 | S_acc | 6 |`; a blank image is the one above."""
        if _SCORES_FIRST.fullmatch(self.head[0].text):
            # 3/10 is no third of ten images.
            return []

        if any(self.names.image_named(cell.text) is not None for cell in self.head[1:]):
            # Images that head columns are not those of the rows.
            return []

        scored = [row for row in self.body if len(row) > 2 and self._factor_in(row[1])]
        column = _score_column(self.head, scored, 2)
        if column is not None and _IMAGE_COLUMN.fullmatch(_title(self.head, column)):
            # "Rank | Factor | Image" holds no scores.
            return []

        images = self._images_above(scored)
        keys = [self._factor_in(row[1]) or "" for row in scored]
        return self._scores(zip(images, keys, scored, strict=True), column, 2)

    def _scores(
        self, rows: Iterable[tuple[int | None, str, Row]], column: int | None, first: int
    ) -> list[Entry]:
        """Return what a column says in rows of which the image and the factor are known."""
        found: list[Entry] = []
        for image, key, row in rows:
            cell = _score_cell(row, column, first)
            if cell is not None:
                found += self._entry(image, key, cell)

        return found

    def _images_above(self, scored: Sequence[Row]) -> list[int | None]:
        """Return the image of each row; a running number over the rows names none."""
        cells = [self._image(row[0]) if row[0].text else None for row in scored]
        running = cells == list(range(1, len(cells) + 1)) and len(cells) > self.n
        if running or (self.n == 1 and not self._names_images(scored, 0)):
            return [self.above] * len(scored)

        # A row that is not scored may begin another image all the same.
        found: dict[int, int | None] = {}
        image: int | None = None
        for row in self.body:
            if row[0].text:
                image = self._image(row[0])

            found[row[0].start] = image

        return [found[row[0].start] for row in scored]


def _ascends(counted: Sequence[str]) -> bool:
    """Tell whether cells count up."""
    if not all(map(str.isdecimal, counted)):
        return False
    return all(int(former) < int(later) for former, later in pairwise(counted))


def _image_first(rows: list[Row]) -> list[Row]:
    """Return the rows of a long table, `Score | Factor | Image`, as `Image | Factor | Score`, each
    with the factor above where its own is blank; those of `Score | Factor` as `Factor | Score`."""
    titles = {column: cell.text for column, cell in enumerate(rows[0])}
    found = [_matching(kind, titles) for kind in (_IMAGE_COLUMN, _FACTOR_COLUMN, _EXACTLY_SCORES)]
    found = [columns for columns in found[:1] if columns] + found[1:]
    order = [columns[0] for columns in found if len(columns) == 1]
    if len(set(order)) < len(found) or order == sorted(order):
        # "Edited image" may head images or their scores, and is no two columns.
        return rows

    at = len(order) - 2
    order += [column for column in titles if column not in order]
    made: list[Row] = []
    above: TableCell | None = None
    for row in rows:
        if len(row) != len(order):
            # It may have begun the next factor: of a blank cell below it nothing is known.
            above = None
            continue

        cells = [row[column] for column in order]
        above = cells[at] if cells[at].text else above
        if above is not None:
            cells[at] = above
            made.append(cells)

    return made


_CORNER_WORDS = frozenset(
    """image images img edit edits edited editing picture pictures photo photos photograph method
    methods model models candidate candidates id ids no nr num number index idx file files filename
    name names result results output outputs version versions variant variants sample samples item
    items entry entries submission submissions option options system systems approach case example
    assistant response answer answers score scores scoring rating ratings evaluation evaluations
    assessment factor factors criterion criteria metric metrics aspect aspects dimension dimensions
    category categories attribute attributes measure measures key label labels row column and per
    symbol symbols abbreviation code kürzel symbole
    by vs of the s all sub question questions position test what which who
    bild bilder nummer faktor kriterium methode imagen imagenes imagem imagens immagine immagini
    critère critere critères criterio criterios critério critérios criteri fattore fattori
    facteur facteurs factores fatores faktoren kriterien kriteria note notes évaluation aspekt
    afbeelding resim obraz kryterium изображение картинка фактор
    критерий 图像 图片 图 编号 序号 指标 因素 评分项 评分 维度 方法
    画像 番号 項目 指標 評価項目 이미지 번호 항목 지표""".split()
)
_CORNER_WORD = re.compile(r"[^\W\d_]+")
_DOWNWARD = "↓"


def _may_be_a_corner(text: str, names: Names) -> bool:
    """Tell whether the cell where the headings meet leaves the numbers scores: not "Votes"."""
    words = {word.lower() for word in _CORNER_WORD.findall(text)}
    if words <= _CORNER_WORDS or names.image_named(text) is not None:
        return True
    return names.factor_named(text) is not None


@lru_cache(maxsize=1024)
def _says_it_is_none(remark: str) -> bool:
    """Tell whether a cell says of its row's scores that they are none."""
    return sees_nothing(remark) or makes_up(f"scores: {remark}")


def _score_column(head: Row, rows: Sequence[Row], first: int) -> int | None:
    """Return the column, from the first on, that holds the scores; None where it cannot be told."""
    titles = {column: head[column].text for column in range(first, len(head))}
    final = _matching(_FINAL_COLUMN, titles)
    if len(final) == 1:
        return final[0]

    called = _matching(_EXACTLY_SCORES, titles)
    if len(called) == 1 and not is_no_verdict(titles[called[0]]):
        return called[0]

    width = min(max(map(len, rows), default=0), _WIDEST)
    numeric = [i for i in range(first, width) if any(_is_number(row, i) for row in rows)]
    if not numeric:
        # No cell has a number; its column is wanted for the fault.
        named = _matching(_SCORE_COLUMN, titles)
        return named[0] if named else first

    headings = {column: titles.get(column, "") for column in numeric}
    if not head and not all(
        _are_words(rows, at) for at in range(first, width) if at not in numeric
    ):
        # What has no heading may as well be the column in which scores are missing.
        return None

    if len(numeric) == 1:
        # "Factor | A | Overall", with nothing under A: the numbers are not what was asked for.
        heading = headings[numeric[0]]
        clear = _SCORE_COLUMN.fullmatch(heading) or not _is_left_empty(titles, rows)
        return numeric[0] if clear and _may_head_scores(heading) else None

    return _column_of_several(headings, rows)


_FINAL_COLUMN = re.compile(
    r"(?:my[ ])?final(?:[ ](?:scores?|ratings?|points|grade|marks?|value|result|verdict))?"
    r"(?:[ ]?(?:\([^()]*\)|/[ ]?[0-9]+))?|最终(?:评分|得分|分数)?|最終(?:スコア|評価)?",
    re.IGNORECASE,
)


def _is_left_empty(titles: Mapping[int, str], rows: Sequence[Row]) -> bool:
    """Tell whether a column has a heading and nothing below it: scores that were never given."""
    return any(
        title and all(column >= len(row) or _NO_SCORE.fullmatch(row[column].text) for row in rows)
        for column, title in titles.items()
    )


def _column_of_several(headings: Mapping[int, str], rows: Sequence[Row]) -> int | None:
    """Return which of several columns of numbers holds the scores, by what heads them; of two that
    are headed so, the one that the other is a multiple of."""
    scores = {column: title for column, title in headings.items() if not is_no_verdict(title)}
    if len(scores) == 1 and all(map(_may_head_scores, scores.values())):
        return next(iter(scores))

    clear = _matching(_EXACTLY_SCORES, scores) or _matching(_SCORE_COLUMN, scores)
    if len(clear) == 2:
        clear = _weighted(clear, headings, rows)

    return clear[0] if len(clear) == 1 else None


def _are_words(rows: Sequence[Row], column: int) -> bool:
    """Tell whether a column holds remarks."""
    cells = [row[column].text for row in rows if column < len(row)]
    remarks = [text for text in cells if len(text.split()) > 1 or len(text) > _LONGEST_SIGN]
    return 2 * len(remarks) >= len(cells)


_LONGEST_SIGN = 6


def _matching(pattern: re.Pattern[str], titles: Mapping[int, str]) -> list[int]:
    return [column for column, title in titles.items() if pattern.fullmatch(title)]


def _weighted(
    columns: Sequence[int], headings: Mapping[int, str], rows: Sequence[Row]
) -> list[int]:
    """Return those of the columns that, times a column of weights, make another of them."""
    weights = [at for at, title in headings.items() if kind_of(title) is Kind.WEIGHTS]
    return [
        column
        for column in columns
        if any(
            _is_product(rows, column, weight, product)
            for weight in weights
            for product in columns
            if product != column
        )
    ]


def _is_product(rows: Sequence[Row], column: int, weight: int, product: int) -> bool:
    """Tell whether a column, times the weights, makes another in every row."""
    for row in rows:
        values = [_value_at(row, at) for at in (column, weight, product)]
        if None in values:
            return False

        score, share, points = (value or 0.0 for value in values)
        if abs(score * share - points) > _ROUNDING:
            return False

    return bool(rows)


_ROUNDING = 0.051
"""Points are written with a decimal or two."""


def _value_at(row: Row, column: int) -> float | None:
    """Return the number in a cell, a percentage as a share of 1."""
    found = _AMOUNT.fullmatch(row[column].text) if column < len(row) else None
    if found is None:
        return None

    value = float(found["number"].replace(",", "."))
    return value / 100 if found["percent"] else value


_OF_ANOTHER_UNIT = re.compile(
    r"[(\[](?:s|ms|sec|min|h|px|kb|mb|mm|cm|n)[)\]]|\b(?:time|duration|latency|count|size|words)\b",
    re.IGNORECASE,
)


_SCORE_WORDS = frozenset(
    """score scores scored rating ratings points point pts mark marks grade grades value final my
    the of for on in subscore sub factor factors criterion metric dimension aspect f q
    punkte punkt bewertung note nota puntuación puntos 分 评分 得分 分数 点 点数 スコア 점수 점
    баллы балл оценка""".split()
)
"""What may stand before a factor's name in the heading of its scores."""
_SCALE_WORDS = _SCORE_WORDS | frozenset(
    """out max maximum min minimum scale from to is are as better best worst high higher highest
    low lowest a an per each integer whole decimal decimals up bis von auf sur sobre skala besser
    满分""".split()
)
"""What may stand behind it."""


@lru_cache(maxsize=1024)
def _beside_a_name(heading: str, names: Names) -> str:
    """Return what stands beside a factor's name in a heading, or before it, and is neither the name
    again nor a word for scores or their scale: "conf." of "conf. (Accuracy)"."""
    found = _TWO_PARTS.fullmatch(heading)
    if found is None or names.is_name(heading):
        return ""

    for part, known in zip(found.groups(), (_SCORE_WORDS, _SCALE_WORDS), strict=True):
        bare = _NUMBERING.sub("", part)
        if names.factor_named(bare) is not None:
            continue

        words = {word.lower() for word in _CORNER_WORD.findall(bare)}
        if not words <= known:
            return " ".join(bare.lower().split())

    return ""


_TWO_PARTS = re.compile(r"([^()\[\]]*)[(\[]([^()\[\]]*)[)\]][: ]*")
_NUMBERING = re.compile(
    r"^\s*(?:[A-Za-z]{1,10}[ ]?)?[0-9]{1,2}[.):]?\s*(?=[^\W\d])|^\s*F[0-9]{1,2}\s*$"
)


def _may_head_scores(heading: str) -> bool:
    """Tell whether a column of that name may hold this judge's scores: not "Last year"."""
    bare = _IN_BRACKETS.sub("", heading)
    if _OF_ANOTHER_UNIT.search(heading):
        return False
    return not is_no_verdict(heading) and (not bare.strip() or is_plain(bare))


def _is_number(row: Row, column: int) -> bool:
    return column < len(row) and _A_NUMBER.match(row[column].text) is not None


_A_NUMBER = re.compile(rf"[(\[<~≈]*[ ]?(?:{_NUMERIC.pattern}|[0-9]+(?:[.,][0-9]+)?[)\]>])", re.I)


def _title(head: Row, column: int) -> str:
    return head[column].text if column < len(head) else ""


def _score_cell(row: Row, column: int | None, first: int) -> TableCell | None:
    """Return the cell in the column of scores; where that is unknown, one that says so."""
    place = first if column is None else column
    if place >= len(row):
        return None
    return replace(row[place], fault="" if column is not None else _TWO_COLUMNS)
