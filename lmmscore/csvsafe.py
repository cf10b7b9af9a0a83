"""Cells of text that a spreadsheet would run as a formula, made harmless."""

from __future__ import annotations

_STARTERS = ("=", "+", "-", "@", "\t", "\r")


def defuse(cell: str) -> str:
    """Return a text cell fit for a CSV file: one that a spreadsheet would run gets a quote before it.

    For text only: a number keeps its minus sign. `restore` undoes it.
    """
    if cell.startswith(_STARTERS) or (
        cell.startswith("'") and cell[1:].startswith((*_STARTERS, "'"))
    ):
        return "'" + cell
    return cell


def restore(cell: str) -> str:
    """Return the text that was defused: what `defuse` put before it is taken away, and nothing else."""
    if cell.startswith("'") and cell[1:].startswith((*_STARTERS, "'")):
        return cell[1:]
    return cell
