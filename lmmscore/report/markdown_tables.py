"""Grids as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmmscore.report.grids import Cell, Grid


def markdown(grids: Sequence[Grid], *, caution: str, notes: Sequence[str] = ()) -> str:
    """Return the grids as one Markdown text, the caution before everything."""
    parts = [f"> **Caution.** {escape(caution)}"] if caution else []
    parts += [_grid(grid) for grid in grids]
    parts += ["\n".join(f"- {escape(note)}" for note in notes)] if notes else []
    return "\n\n".join(parts) + "\n"


def _grid(grid: Grid) -> str:
    heading = [f"## {escape(grid.title)}"]
    warnings = [f"> **Note.** {escape(text)}" for text in grid.above]
    caption = [escape(grid.caption)] if grid.caption else []
    below = ["\n".join(f"- {escape(text)}" for text in grid.below)] if grid.below else []
    table = [_table(grid)] if grid.rows else []
    return "\n\n".join([*heading, *warnings, *caption, *table, *below])


def _table(grid: Grid) -> str:
    # Markdown has no headings over several columns: each column carries the name of its group.
    over = [name for name, width in grid.groups for _ in range(width)] or [""] * len(grid.columns)
    heads = [
        f"{group}: {name}" if group else name
        for group, name in zip(over, grid.columns, strict=True)
    ]
    rules = ["---" if k in grid.text_columns else "---:" for k in range(len(heads))]
    lines = [
        [escape(head) for head in heads],
        rules,
        *[[_cell(cell) for cell in row] for row in grid.rows],
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    return {"best": f"**{text}**", "second": f"<u>{text}</u>"}.get(cell.mark, text)


def escape(text: str) -> str:
    """Return text that Markdown shows as it is. An underscore inside a word needs nothing."""
    text = " ".join(text.split())
    text = re.sub(r"([\\`*|\[\]])", r"\\\1", text)
    text = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("~~", r"\~\~")
