"""Scores in a Markdown table: images as rows, images as columns, or one table of factors for each image."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lmmscore.parsing.blocks import Block, Mark
from lmmscore.parsing.labels import factor_labels, image_in, image_labels
from lmmscore.parsing.markup import Plain
from lmmscore.parsing.numbers import number_at
from lmmscore.scales import Factor

_RULE = re.compile(r"[\s|:+=-]*-[\s|:+=-]*")


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class _Table:
    rows: list[list[_Cell]]
    start: int
    end: int


def table_blocks(plain: Plain, factors: Sequence[Factor], n: int) -> Iterator[Block]:
    """Yield a block for every image of every table that has scores in it."""
    for table in _tables(plain.text):
        header, *body = table.rows
        columns = [_factor_of(cell, factors) for cell in header]
        images = [image_in(cell.text, n) if number else None for number, cell in enumerate(header)]
        row_factors = [_factor_of(row[0], factors) for row in body]
        if any(columns[1:]) or (columns[0] and n == 1):
            marks = _images_as_rows(plain, body, columns, factors, n)
        elif any(images) and any(row_factors):
            marks = _images_as_columns(plain, body, images, row_factors, factors)
        elif any(row_factors):
            marks = _one_image(plain, table, row_factors, factors, n)
        else:
            continue
        for position, found in marks:
            if found:
                yield Block(position, found, *plain.span(table.start, table.end), layout="table")


def _images_as_rows(
    plain: Plain, body: list[list[_Cell]], columns: list[str | None], factors: Sequence[Factor], n: int
) -> Iterator[tuple[int | None, dict[str, Mark]]]:
    for row in body:
        position = image_in(row[0].text, n) if not columns[0] else None
        if position is None and n > 1:
            continue
        cells = [(key, cell) for key, cell in zip(columns, row, strict=False) if key]
        yield position, _read(plain, cells, factors)


def _images_as_columns(
    plain: Plain,
    body: list[list[_Cell]],
    images: list[int | None],
    row_factors: list[str | None],
    factors: Sequence[Factor],
) -> Iterator[tuple[int | None, dict[str, Mark]]]:
    for column, position in enumerate(images):
        if position is not None:
            rows = zip(row_factors, body, strict=True)
            cells = [(key, row[column]) for key, row in rows if key and column < len(row)]
            yield position, _read(plain, cells, factors)


def _one_image(
    plain: Plain, table: _Table, row_factors: list[str | None], factors: Sequence[Factor], n: int
) -> Iterator[tuple[int | None, dict[str, Mark]]]:
    """Read a table of factor and score that stands under an image's heading."""
    before = [label.position for label in image_labels(plain.text[: table.start], n, factors)]
    position = before[-1] if before else None
    header = [cell.text.lower() for cell in table.rows[0]]
    column = next((i for i, text in enumerate(header) if re.search(r"\b(score|rating)s?\b", text)), 1)
    cells = [
        (k, row[column])
        for k, row in zip(row_factors, table.rows[1:], strict=True)
        if k and column < len(row)
    ]
    if position is not None or n == 1:
        yield position, _read(plain, cells, factors)


def _read(plain: Plain, cells: list[tuple[str, _Cell]], factors: Sequence[Factor]) -> dict[str, Mark]:
    scales = {factor.key: factor.scale for factor in factors}
    marks: dict[str, Mark] = {}
    for key, cell in cells:
        if not cell.text:
            continue
        mark = number_at(cell.text, 0, scales[key], named_in_words=True)
        span = plain.span(cell.start, cell.start + len(cell.text))
        if mark is None:
            marks[key] = Mark(None, f"{cell.text!r} is not a number", span)
        else:
            start, end = mark.span
            marks[key] = Mark(mark.value, mark.fault, plain.span(cell.start + start, cell.start + end))
    return marks


def _factor_of(cell: _Cell, factors: Sequence[Factor]) -> str | None:
    labels = factor_labels(cell.text + ":", factors)
    return labels[0].key if labels and len({label.key for label in labels}) == 1 else None


def _tables(text: str) -> Iterator[_Table]:
    """Yield every run of two or more lines with cells."""
    run: list[re.Match[str]] = []
    for line in [*re.finditer(r"[^\n]*(?:\n|$)", text), None]:
        if line is not None and line[0].count("|") >= 1 and line[0].strip():
            run.append(line)
            continue
        rows = [_cells(row) for row in run if not _RULE.fullmatch(row[0])]
        if len(rows) >= 2:
            yield _Table(rows, run[0].start(), run[-1].start() + len(run[-1][0].rstrip("\n")))
        run = []


def _cells(line: re.Match[str]) -> list[_Cell]:
    cells = []
    for match in re.finditer(r"[^|\n]+|(?<=\|)(?=\|)", line[0]):
        text = match[0].strip()
        lead = len(match[0]) - len(match[0].lstrip())
        cells.append(_Cell(text, line.start() + match.start() + lead))
    # The stretch before a leading bar and after a closing one is no cell.
    if line[0].lstrip().startswith("|") and cells and not line[0][: line[0].index("|")].strip():
        cells = [cell for cell in cells if cell.start > line.start() + line[0].index("|")]
    if line[0].rstrip().endswith("|") and cells and not cells[-1].text:
        cells = cells[:-1]
    return cells or [_Cell("", line.start())]
