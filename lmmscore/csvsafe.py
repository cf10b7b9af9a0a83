"""Cells of text that a spreadsheet would run as a formula, made harmless."""

from __future__ import annotations

_STARTERS = ("=", "+", "-", "@", "\t", "\r")


def defuse(cell: str) -> str:
    """Return a text cell fit for a CSV file: a quote goes before what a spreadsheet would run.

    For text only: a number keeps its minus sign. `restore` undoes it.
    """
    if cell.startswith(_STARTERS) or (
        cell.startswith("'") and cell[1:].startswith((*_STARTERS, "'"))
    ):
        return "'" + cell
    return cell


def restore(cell: str) -> str:
    """Return the text that was defused, without the quote that `defuse` put before it."""
    if cell.startswith("'") and cell[1:].startswith((*_STARTERS, "'")):
        return cell[1:]
    return cell
