"""Grids for a terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Literal

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from lmmscore.report.grids import Cell, Grid

_WIDE = 400
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

    Where a table does not fit, its spare columns are left out and a line says so; no figure is ever cut short.
    """
    out = io.StringIO()
    system: Literal["standard"] | None = "standard" if color else None
    console = Console(
        file=out, width=width or _WIDE, force_terminal=color, highlight=False, color_system=system
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
        _print_table(console, grid)
    for text in (grid.caption, *grid.below):
        if text:
            console.print(Text(text, style="dim"))


def _print_table(console: Console, grid: Grid) -> None:
    room, wide = console.width, console.options.update(max_width=_WIDE)
    left_out = (
        grid.spare if Measurement.get(console, wide, _table(grid)).maximum > room else frozenset()
    )
    console.width = _WIDE
    console.print(_table(grid, left_out))
    console.width = room
    if left_out:
        names = ", ".join(grid.columns[k] for k in sorted(left_out))
        console.print(
            Text(f"No room for {names}: widen the terminal, or use --format md.", style="dim")
        )


def _table(grid: Grid, left_out: frozenset[int] = frozenset()) -> Table:
    over = [name for name, width in grid.groups for _ in range(width)] or [""] * len(grid.columns)
    shown = [k for k in range(len(grid.columns)) if k not in left_out]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k in shown:
        head = Text(f"{over[k]}\n{grid.columns[k]}" if over[k] else grid.columns[k])
        table.add_column(head, justify="left" if k in grid.text_columns else "right", no_wrap=True)
    for row in grid.rows:
        table.add_row(*[_text(row[k]) for k in shown])
    return table


def _text(cell: Cell) -> Text:
    return Text("".join(c if c.isprintable() else " " for c in cell.text), style=_STYLES[cell.mark])
