"""Grids for a terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmmscore.report.grids import Cell, Grid

_STYLES = {"best": "bold green", "second": "underline", "": ""}


def terminal(
    grids: Sequence[Grid],
    *,
    caution: str,
    notes: Sequence[str] = (),
    width: int | None = None,
    color: bool = False,
) -> str:
    """Return the grids as text for a terminal of so many columns; None: as wide as the tables need."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width or 400,
        force_terminal=color,
        highlight=False,
        color_system="standard" if color else None,
    )
    if caution:
        console.print(Text(f"Caution: {caution}", style="bold yellow"))
    for grid in grids:
        _print(console, grid)
    for note in notes:
        console.print(Text(note, style="dim"))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _print(console: Console, grid: Grid) -> None:
    console.print()
    console.print(Text(grid.title, style="bold"))
    for text in grid.above:
        console.print(Text(text, style="yellow"))
    if grid.rows:
        console.print(_table(grid))
    for text in (grid.caption, *grid.below):
        if text:
            console.print(Text(text, style="dim"))


def _table(grid: Grid) -> Table:
    over = [name for name, width in grid.groups for _ in range(width)] or [""] * len(grid.columns)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, (group, name) in enumerate(zip(over, grid.columns, strict=True)):
        head = Text(f"{group}\n{name}" if group else name)
        words = k in grid.text_columns
        table.add_column(head, justify="left" if words else "right", overflow="fold", no_wrap=not words)
    for row in grid.rows:
        table.add_row(*[_text(cell) for cell in row])
    return table


def _text(cell: Cell) -> Text:
    return Text("".join(c if c.isprintable() else " " for c in cell.text), style=_STYLES[cell.mark])
