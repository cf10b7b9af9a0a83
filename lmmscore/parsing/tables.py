"""Scores in a Markdown table: images as rows, images as columns, one line a score, or one table for each image."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lmmscore.parsing.labels import Page, image_in
from lmmscore.parsing.numbers import number_at
from lmmscore.parsing.said import Mark, Said

_RULE = re.compile(r"[\s|:+=–—-]*[-–—][\s|:+=–—-]*")
_IMAGE_COLUMN = re.compile(
    r"(?:edited )?(?:image|picture|edit|img)s?(?: (?:no\.?|number|id|#))?|#|no\.?", re.IGNORECASE
)
_RANK_COLUMN = re.compile(r"\b(?:rank|ranking|place)\b", re.IGNORECASE)
_NUMBERING = re.compile(r"^[0-9]{1,2}[.)] *")
_SCORE_COLUMN = re.compile(r"\b(?:score|rating|points)s?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands between two bars, and where it begins in the plain text."""

    text: str
    start: int


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
        unit = page.plain.span(table.start, table.end)
        for position, key, cell in _entries(table, page):
            mark = _mark(page, key, cell)
            if mark is not None and (position is not None or page.n == 1):
                yield Said(position, key, mark, "table", unit)


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


def _images_as_rows(table: Table, columns: Sequence[str | None], position: int | None, n: int) -> list[Entry]:
    head, *body = table.rows
    column = _image_column(head, body, columns, n)
    found: list[Entry] = []
    for row in body:
        image = image_in(row[column].text, n) if column is not None and column < len(row) else None
        # Without a column that names images, a single row belongs to the image named above the table.
        image = position if column is None and len(body) == 1 else image
        found += [(image, key, cell) for key, cell in zip(columns, row, strict=False) if key]
    return found


def _image_column(
    head: list[Cell], body: list[list[Cell]], columns: Sequence[str | None], n: int
) -> int | None:
    """Return the column that names images: by its heading, else by its words, else the first unless that ranks."""
    free = [i for i, key in enumerate(columns) if key is None]
    headed = [i for i in free if _IMAGE_COLUMN.fullmatch(head[i].text)]
    spoken = [
        i
        for i in free
        if any(i < len(row) and not row[i].text.isdigit() and image_in(row[i].text, n) for row in body)
    ]
    first = [0] if 0 in free and not _RANK_COLUMN.search(head[0].text) else []
    return next(iter(headed + spoken + first), None)


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
    head = table.rows[0]
    column = _score_column(head) or 1
    return [
        (position, key, row[column])
        for key, row in zip(first, table.rows, strict=True)
        if key and column < len(row)
    ]


def _a_line_a_score(body: list[list[Cell]], head: list[Cell], page: Page) -> list[Entry]:
    """Read `| Image 1 | S_acc | 6 |`; a blank image is the one above."""
    column = _score_column(head) or 2
    found: list[Entry] = []
    image: int | None = None
    for row in body:
        image = image_in(row[0].text, page.n) if row[0].text else image
        key = _factor_in(row[1], page) if len(row) > column else None
        if key is not None:
            found.append((image, key, row[column]))
    return found


def _score_column(head: list[Cell]) -> int | None:
    return next((i for i, cell in enumerate(head) if i and _SCORE_COLUMN.search(cell.text)), None)


def _factor_in(cell: Cell, page: Page) -> str | None:
    factor = page.factor_named(_NUMBERING.sub("", cell.text)) if cell.text else None
    return factor.key if factor else None


def _mark(page: Page, key: str, cell: Cell) -> Mark | None:
    """Return what a cell says: its number, or a fault where it holds anything else; nothing where it is blank."""
    if not cell.text.strip("-–— "):
        return None
    end = cell.start + len(cell.text)
    mark = number_at(page.text, cell.start, end, page.factor(key).scale, alone=True)
    if mark is None:
        return Mark(None, f"{cell.text[:40]} is not a number", page.plain.span(cell.start, end))
    return Mark(mark.value, mark.fault, page.plain.span(*mark.span))


def tables(text: str) -> Iterator[Table]:
    """Yield every run of two or more lines with cells."""
    run: list[re.Match[str]] = []
    for line in [*re.finditer(r"[^\n]+", text), None]:
        follows = line is not None and "|" in line[0] and (not run or line.start() <= run[-1].end() + 1)
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
