"""Tables for a terminal. No row is wrapped: what has no room is left out, and a line says so."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from lmmscore.report.formats import Cell, Grid, TableDocument, TableLayout, formats

SHORT_FORM = ("rank", "method", "mean", "strength", "mean_interval", "strength_interval", "group")
"""What a narrow terminal shows of a leaderboard."""

SHORTEST_NAME = 12
"""Columns below which a name is not cut while a figure can be left out instead."""

_WIDE = 400
_GAP = 3
"""What a table puts between two columns."""
_STYLES = {"best": "bold green", "second": "underline", "": ""}

# Control characters but tab and newline, and the marks by which text can pretend to be other text.
_ACTIVE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Return text with a visible stand-in for every control and direction character, one for one.

    Words of others must not move the cursor or colour the screen. Lengths stay, so that positions
    in the text stay true.
    """
    return _ACTIVE.sub(_stand_in, text.replace("\r\n", " \n"))


def _stand_in(found: re.Match[str]) -> str:
    code = ord(found[0])
    # The control pictures of Unicode: ␛ for escape.
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


@formats.register("term")
def write_terminal(document: TableDocument, layout: TableLayout) -> str:
    """Return the tables as text for a terminal."""
    out = io.StringIO()
    system: Literal["standard"] | None = "standard" if layout.color else None
    console = Console(
        file=out,
        width=layout.width or _WIDE,
        force_terminal=layout.color,
        highlight=False,
        color_system=system,
    )
    if document.caution:
        console.print(Text(f"Caution: {document.caution}", style="bold yellow"))

    grids, shared = _shared_notes(document.grids)
    left_out: dict[str, None] = {}
    for grid in grids:
        left_out |= dict.fromkeys(_print(console, grid, layout.width))

    notes = [*shared, *document.notes]
    if left_out:
        names = ", ".join(left_out)
        notes.append(f"Left out for lack of room: {names}. Widen the terminal, or use --format md.")

    if notes:
        console.print()

    for note in dict.fromkeys(notes):
        console.print(Text(note, style="dim"))

    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _shared_notes(grids: Sequence[Grid]) -> tuple[list[Grid], list[str]]:
    """Return the grids without the notes that several of them have, and those notes once."""
    seen: dict[str, int] = {}
    for grid in grids:
        for note in grid.below:
            seen[note] = seen.get(note, 0) + 1

    shared = [note for note, times in seen.items() if times > 1]
    kept = [
        replace(grid, below=tuple(note for note in grid.below if note not in shared))
        for grid in grids
    ]
    return kept, shared


def _print(console: Console, grid: Grid, width: int | None) -> Iterable[str]:
    """Print one table; return the columns that had no room."""
    fitted = grid if width is None else fit_columns(grid, width)
    console.print()
    console.print(Text(grid.title, style="bold"))
    if grid.verdict:
        console.print(Text(grid.verdict))

    for text in grid.above:
        console.print(Text(text, style="yellow"))

    if fitted.rows:
        room, console.width = console.width, _WIDE
        console.print(_table(fitted))
        console.width = room

    for text in (grid.caption, *grid.below):
        if text:
            console.print(Text(text, style="dim"))

    return [name for name in grid.columns if name not in fitted.columns]


def fit_columns(grid: Grid, width: int) -> Grid:
    """Return the grid with as many columns as fit: all, all but the spare ones, the short form.

    Where even that is too wide, names are shortened first, and then columns go from the right.
    """
    if _width(grid) <= width:
        return grid

    needed = [k for k in range(len(grid.columns)) if k not in grid.spare]
    if needed and _width(grid.select(needed)) <= width:
        return grid.select(needed)

    kept = needed
    if "method" in grid.keys:
        kept = [grid.keys.index(key) for key in SHORT_FORM if key in grid.keys]

    while len(kept) > 2 and _least_width(grid.select(kept)) > width:
        kept.pop()

    return _shortened(grid.select(kept), width)


def _width(grid: Grid) -> int:
    columns = [_column_width(grid, k) + _GAP for k in range(len(grid.columns))]
    return max(sum(columns) - _GAP, 0) + 1


def _column_width(grid: Grid, place: int) -> int:
    cells = [cell_len(row[place].text) for row in grid.rows]
    heads = [cell_len(line) for line in _head(grid, place).split("\n")]
    return max([*heads, *cells])


def _head(grid: Grid, place: int) -> str:
    """Return a column's heading, below that of its group if it has one."""
    start = 0
    for name, width in grid.groups:
        if name and start <= place < start + width:
            return f"{name}\n{grid.columns[place]}"
        start += width
    return grid.columns[place]


def _least_width(grid: Grid) -> int:
    """Return the width with names as short as they may become."""
    place = _names(grid)
    if place is None:
        return _width(grid)
    return _width(_cut_names(grid, place, SHORTEST_NAME))


def _shortened(grid: Grid, width: int) -> Grid:
    """Return the grid with its names cut to what is left of the width."""
    excess = _width(grid) - width
    place = _names(grid)
    if excess <= 0 or place is None:
        return grid

    names = [row[place].text for row in grid.rows]
    longest = max(map(cell_len, names), default=0)
    room = max(longest - excess, SHORTEST_NAME)
    return _cut_names(grid, place, room)


def _names(grid: Grid) -> int | None:
    """Return the first column of words, which is the one to be shortened."""
    return min((k for k in grid.text_columns if k < len(grid.columns)), default=None)


def _cut_names(grid: Grid, place: int, room: int) -> Grid:
    rows = []
    for row in grid.rows:
        cells = list(row)
        cells[place] = replace(cells[place], text=shortened(cells[place].text, room))
        rows.append(tuple(cells))
    return replace(grid, rows=tuple(rows))


def shortened(text: str, room: int) -> str:
    """Return a text cut in its middle to so many columns: names often differ at their ends."""
    if cell_len(text) <= room:
        return text
    head = (room - 1) // 2
    tail = room - 1 - head
    return f"{_start(text, head)}…{_start(text[::-1], tail)[::-1]}"


def _start(text: str, room: int) -> str:
    """Return as many characters as fit; one of Chinese takes two columns."""
    end = 0
    while end < len(text) and cell_len(text[: end + 1]) <= room:
        end += 1
    return text[:end]


def _table(grid: Grid) -> RichTable:
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for k in range(len(grid.columns)):
        side: Literal["left", "right"] = "left" if k in grid.text_columns else "right"
        table.add_column(Text(_head(grid, k)), justify=side, no_wrap=True)

    for row in grid.rows:
        table.add_row(*[_text(cell) for cell in row])

    return table


def _text(cell: Cell) -> Text:
    text = "".join(c if c.isprintable() else " " for c in cell.text)
    return Text(text, style=_STYLES[cell.mark])
