"""Scores in a Markdown table: images as rows, images as columns, one line a score, or one table for each image."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from lmmscore.parsing.captions import captioned_otherwise, is_no_verdict
from lmmscore.parsing.columns import TWO_COLUMNS, TWO_IMAGES, Cell, images_of_rows, score_column
from lmmscore.parsing.labels import Page, image_in
from lmmscore.parsing.numbers import number_at
from lmmscore.parsing.said import TWO_NUMBERS, Mark, Said

_RULE = re.compile(r"[\s|:+=–—-]*[-–—][\s|:+=–—-]*")
_NUMBERING = re.compile(r"^[0-9]{1,2}[.)] *")


@dataclass(frozen=True, slots=True)
class Table:
    """A run of lines with bars; the first row is the heading."""

    rows: list[list[Cell]]
    start: int
    end: int


Entry = tuple[int | None, str, Cell]
"""An image, a factor, and the cell with its score."""


def table_says(page: Page) -> Iterator[Said]:
    """Yield what every table in the reply says."""
    for table in tables(page.text):
        if captioned_otherwise(page.text, table.start):
            continue
        unit = page.plain.span(table.start, table.end)
        said = [
            Said(position, key, mark, "table", unit)
            for position, key, cell in _entries(table, page)
            if (mark := _mark(page, key, cell)) is not None
            and (position is not None or page.n == 1)
        ]
        yield from _without_repetition(said)


def _without_repetition(said: Sequence[Said]) -> Iterator[Said]:
    """Yield what a table says; where it says two different things of one image and factor, that neither holds."""
    values: defaultdict[tuple[int | None, str], set[Fraction | None]] = defaultdict(set)
    for each in said:
        values[each.cell].add(each.mark.value)
    for each in said:
        twice = len(values[each.cell]) > 1
        yield replace(each, mark=Mark(None, TWO_NUMBERS, each.mark.span)) if twice else each


def _entries(table: Table, page: Page) -> list[Entry]:
    """Return the cells with scores, by what the heading and the first column name."""
    head, *body = table.rows
    above = page.image_before(table.start)
    position = image_in(head[0].text, page.n) or (above.position if above else None)
    columns = [_factor_in(cell, page) for cell in head]
    first = [_factor_in(row[0], page) for row in table.rows]
    images = [None, *(image_in(cell.text, page.n) for cell in head[1:])]
    if any(columns[1:]):
        return _images_as_rows(table, columns, position, page.n)
    if any(first) and any(images):
        return _images_as_columns(body, images, first[1:])
    if any(first):
        return _one_image(table, first, position)
    return _a_line_a_score(body, head, page)


def _images_as_rows(
    table: Table, columns: Sequence[str | None], position: int | None, n: int
) -> list[Entry]:
    head, *body = table.rows
    body = [row for row in body if not _is_labelled_otherwise(row, columns)]
    images = images_of_rows(head, body, columns, n)
    # Without a column that names images, a single row belongs to the image named above the table.
    alone = {position} if position is not None and len(body) == 1 else set()
    found: list[Entry] = []
    for row, named in zip(body, images or [alone] * len(body), strict=True):
        fault = TWO_IMAGES if len(named) > 1 else ""
        scored = [
            (key, replace(cell, fault=fault))
            for key, cell in zip(columns, row, strict=False)
            if key
        ]
        found += [(image, key, cell) for image in (named or (None,)) for key, cell in scored]
    return found


def _is_labelled_otherwise(row: list[Cell], columns: Sequence[str | None]) -> bool:
    return any(
        is_no_verdict(cell.text) for key, cell in zip(columns, row, strict=False) if key is None
    )


def _images_as_columns(
    body: list[list[Cell]], images: Sequence[int | None], first: Sequence[str | None]
) -> list[Entry]:
    return [
        (image, key, cell)
        for key, row in zip(first, body, strict=True)
        for image, cell in zip(images, row, strict=False)
        if key and image is not None
    ]


def _one_image(table: Table, first: Sequence[str | None], position: int | None) -> list[Entry]:
    """Read a table of factor and score: of the image named in its corner or above it."""
    scored = [(key, row) for key, row in zip(first, table.rows, strict=True) if key]
    # Where the first line is a score already, there is no heading.
    head = [] if first[0] else table.rows[0]
    column = score_column(head, [row for _, row in scored], 1)
    return [
        (position, key, cell)
        for key, row in scored
        if (cell := _score_cell(row, column, 1)) is not None
    ]


def _a_line_a_score(body: list[list[Cell]], head: list[Cell], page: Page) -> list[Entry]:
    """Read `| Image 1 | S_acc | 6 |`; a blank image is the one above."""
    scored = [row for row in body if len(row) > 2 and _factor_in(row[1], page)]
    column = score_column(head, scored, 2)
    found: list[Entry] = []
    image: int | None = None
    for row in body:
        image = image_in(row[0].text, page.n) if row[0].text else image
        key = _factor_in(row[1], page) if len(row) > 2 else None
        cell = _score_cell(row, column, 2)
        if key is not None and cell is not None:
            found.append((image, key, cell))
    return found


def _score_cell(row: list[Cell], column: int | None, first: int) -> Cell | None:
    """Return the cell in the column of scores; where that is unknown, one that says so."""
    place = first if column is None else column
    if place >= len(row):
        return None
    return replace(row[place], fault="" if column is not None else TWO_COLUMNS)


def _factor_in(cell: Cell, page: Page) -> str | None:
    factor = page.factor_named(_NUMBERING.sub("", cell.text)) if cell.text else None
    return factor.key if factor else None


def _mark(page: Page, key: str, cell: Cell) -> Mark | None:
    """Return what a cell says: its number, or a fault where it holds anything else; nothing where it is blank."""
    if not cell.text.strip("-–— "):
        return None
    end = cell.start + len(cell.text)
    if cell.fault:
        return Mark(None, cell.fault, page.plain.span(cell.start, end))
    mark = number_at(page.text, cell.start, end, page.factor(key).scale, alone=True)
    if mark is None:
        return Mark(None, f"{cell.text[:40]} is not a number", page.plain.span(cell.start, end))
    return Mark(mark.value, mark.fault, page.plain.span(*mark.span))


def tables(text: str) -> Iterator[Table]:
    """Yield every run of two or more lines with cells."""
    run: list[re.Match[str]] = []
    for line in [*re.finditer(r"[^\n]+", text), None]:
        follows = (
            line is not None and "|" in line[0] and (not run or line.start() <= run[-1].end() + 1)
        )
        if line is not None and follows:
            run.append(line)
            continue
        rows = [_cells(row) for row in run if not _RULE.fullmatch(row[0])]
        if len(rows) >= 2:
            yield Table(rows, run[0].start(), run[-1].end())
        run = [line] if line is not None and "|" in line[0] else []


def _cells(line: re.Match[str]) -> list[Cell]:
    """Return the cells of a line; what stands before a leading bar and after a closing one is none."""
    cells, place = [], line.start()
    for text in line[0].split("|"):
        stripped = text.strip()
        cells.append(Cell(stripped, place + (text.index(stripped) if stripped else 0)))
        place += len(text) + 1
    if len(cells) > 1 and not cells[0].text and line[0].lstrip().startswith("|"):
        cells = cells[1:]
    if len(cells) > 1 and not cells[-1].text:
        cells = cells[:-1]
    return cells
