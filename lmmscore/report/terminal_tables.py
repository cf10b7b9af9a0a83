"""Grids for a terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
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
    """Return the grids as text for a terminal of so many columns; None: as wide as the tables need.

    In a narrow terminal the columns to the right make way, and a line says which: half a figure is worse than none.
    """
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
    hidden: list[str] = []
    if grid.rows:
        kept = _columns_that_fit(console, grid)
        hidden = [name for k, name in enumerate(grid.columns) if k not in kept]
        console.print(_table(grid, kept))
    if hidden:
        names = ", ".join(hidden)
        console.print(Text(f"No room for: {names}. Widen the terminal, or use --format md.", style="yellow"))
    for text in (grid.caption, *grid.below):
        if text:
            console.print(Text(text, style="dim"))


def _columns_that_fit(console: Console, grid: Grid) -> list[int]:
    kept = list(range(len(grid.columns)))
    boundless = console.options.update(max_width=10_000)
    while len(kept) > 2 and Measurement.get(console, boundless, _table(grid, kept)).maximum > console.width:
        figures = [k for k in kept if k not in grid.text_columns]
        kept.remove(figures[-1] if len(figures) > 1 else kept[-1])
    return kept


def _table(grid: Grid, kept: Sequence[int]) -> Table:
    over = [name for name, width in grid.groups for _ in range(width)] or [""] * len(grid.columns)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k in kept:
        group, name = over[k], grid.columns[k]
        head = Text(f"{group}\n{name}" if group else name)
        words = k in grid.text_columns
        table.add_column(head, justify="left" if words else "right", overflow="fold", no_wrap=not words)
    for row in grid.rows:
        table.add_row(*[_text(row[k]) for k in kept])
    return table


def _text(cell: Cell) -> Text:
    return Text("".join(c if c.isprintable() else " " for c in cell.text), style=_STYLES[cell.mark])
