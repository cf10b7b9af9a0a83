"""The layouts in which other tools keep scores: a row a score, a column a factor, or nested JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lmmscore.errors import FileProblem, nearest
from lmmscore.factorcolumns import factor_columns
from lmmscore.ratings import (
    FACTOR_NAMES,
    ITEM_NAMES,
    METHOD_NAMES,
    REPEAT_NAMES,
    SCORE_NAMES,
    TASK_NAMES,
)
from lmmscore.tables import Table, is_number, number, text

FARTHEST = 1000
"""No scale in use goes further; a column of larger numbers was hardly meant as a factor."""

_Cells = Iterator[tuple[int, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column says what, and how the task is found; empty means: look for the usual names."""

    item: str = ""
    method: str = ""
    task: str = ""
    task_pattern: str = ""
    """A regular expression whose first group, found in the item's id, is the task."""
    factors: tuple[str, ...] = ()
    """Only these are factors; empty means: every column that holds scores."""
    shared: bool = False
    """Whether the names were given for another file too: here item and method may then go by the usual ones."""


USUAL = Layout()


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit's scores as the file has them: factor to cell."""

    item: str
    task: str
    method: str
    repeat: int
    cells: Mapping[str, Any]
    where: str


@dataclass(slots=True)
class Reader:
    """Reads the edits of tables, and keeps what was left out in words."""

    under: str
    """The field that holds the scores, where the user named one."""
    layout: Layout
    notes: list[str]
    seen: dict[str, None] = field(default_factory=dict)
    """The factors there were, whether or not they were wanted."""

    def edits(self, table: Table) -> Iterator[Edit]:
        """Yield the edits of a table in whichever of the layouts it is."""
        item, method = (
            self._find(table, "item", ITEM_NAMES),
            self._find(table, "method", METHOD_NAMES),
        )
        if item is None:
            listed = ", ".join(table.columns)
            raise FileProblem(
                f"{table.where}: which column is the item? Say --item-column NAME (it has: {listed})"
            )
        task, repeat = table.find(self.layout.task, TASK_NAMES), table.find("", REPEAT_NAMES)
        find_task = _task_finder(self.layout.task_pattern, task)
        for place, cells in self._cells(table, {item, method, task, repeat}):
            row, where = table.rows[place], f"{table.where}:{table.lines[place]}"
            times = _repeat(table.plain(row[repeat]), where) if repeat else 1
            name = text(row[method]) if method else ""
            self.seen |= dict.fromkeys(cells)
            yield Edit(
                text(row[item]),
                find_task(row, item),
                name,
                times,
                self._wanted(table, cells),
                where,
            )

    def refuse_unknown(self, where: str) -> None:
        """Raise for a wanted factor that no table had."""
        for name in self.layout.factors:
            if name not in self.seen:
                listed = ", ".join(self.seen)
                raise FileProblem(
                    f"{where}: no factor {name!r}{nearest(name, list(self.seen))} (it has: {listed})"
                )

    def _find(self, table: Table, what: str, guesses: tuple[str, ...]) -> str | None:
        wanted = getattr(self.layout, what)
        absent = self.layout.shared and wanted not in table.columns
        return table.find("" if absent else wanted, guesses)

    def _wanted(self, table: Table, cells: Mapping[str, Any]) -> dict[str, Any]:
        chosen = self.layout.factors
        return {
            name: table.plain(cell) for name, cell in cells.items() if not chosen or name in chosen
        }

    def _cells(self, table: Table, names: set[str | None]) -> _Cells:
        """Yield for each edit the place of its row and its cells by factor."""
        factor = table.find("", FACTOR_NAMES)
        score = table.find(self.under, SCORE_NAMES) if factor else None
        nested = [name for name in table.columns if name not in names and _is_nested(table, name)]
        if factor is not None and score is not None:
            yield from _long_cells(table, factor, score, names)
        elif self.under or nested:
            column, *deeper = _choose(table, self.under, nested).split(".")
            for place, row in enumerate(table.rows):
                yield place, _dig(row[column], deeper)
        else:
            wide = self._wide(table, names)
            for place, row in enumerate(table.rows):
                yield place, {name: row[name] for name in wide}

    def _wide(self, table: Table, names: set[str | None]) -> list[str]:
        """Return the columns that are factors. Raises where one holds what no scale has."""
        if self.layout.factors:
            return [
                name for name in table.columns if name in self.layout.factors or name not in names
            ]
        wide = factor_columns(table, names, range(len(table.rows)), self.notes)
        for name in wide:
            cells = [table.plain(row[name]) for row in table.rows]
            far = next(
                (cell for cell in cells if is_number(cell) and abs(number(cell) or 0) > FARTHEST),
                None,
            )
            if far is not None:
                raise FileProblem(
                    f"{table.where}: column {name} has {far}, and no scale goes so far; name the factors with "
                    "--factor NAME"
                )
        return wide


def _repeat(cell: Any, where: str) -> int:
    """Return the number of a repeat. Raises for anything but a whole number from 1."""
    value = number(cell) if is_number(cell) else None
    if value is None or value < 1 or not value.is_integer():
        raise FileProblem(f"{where}: repeat {text(cell)!r} is not a whole number from 1")
    return int(value)


def _task_finder(pattern: str, column: str | None) -> Any:
    """Return a function from a row and its item column to its task."""
    if not pattern:
        return lambda row, _: text(row[column]) if column else ""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise FileProblem(
            f"--task-pattern {pattern!r} is not a regular expression: {error}"
        ) from error
    if compiled.groups < 1:
        raise FileProblem(
            f"--task-pattern {pattern!r} needs a group in parentheses: that part of the id is the task"
        )

    def find(row: Mapping[str, Any], item: str) -> str:
        match = compiled.search(text(row[item]))
        return match.group(1) or "" if match else ""

    return find


def _long_cells(table: Table, factor: str, score: str, names: set[str | None]) -> _Cells:
    """Gather the rows of a long table by edit."""
    gathered: dict[tuple[str, ...], tuple[int, dict[str, Any]]] = {}
    keys = [name for name in table.columns if name in names]
    for place, row in enumerate(table.rows):
        _, cells = gathered.setdefault(tuple(text(row[name]) for name in keys), (place, {}))
        name = text(row[factor])
        if name in cells:
            raise FileProblem(
                f"{table.where}:{table.lines[place]}: a second {name} for the same edit; keep one"
            )
        cells[name] = row[score]
    yield from gathered.values()


def _choose(table: Table, field: str, nested: list[str]) -> str:
    """Return the field to read, asking for it by name where there are several."""
    listed = ", ".join(nested) or "none"
    if not field and len(nested) > 1:
        raise FileProblem(
            f"{table.where}: scores stand under {listed}; choose one: {table.where}:{nested[0]}"
        )
    chosen = field or nested[0]
    if chosen.split(".")[0] not in table.columns:
        raise FileProblem(
            f"{table.where}: no field {chosen!r}{nearest(chosen, nested)} (scores stand under: {listed})"
        )
    return chosen


def _dig(value: Any, keys: list[str]) -> Mapping[str, Any]:
    """Return the object under dotted keys; an empty one where it is not there."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _is_nested(table: Table, column: str) -> bool:
    """Return whether a column holds objects with a number, or an object with a score, in every entry."""
    values = [row[column] for row in table.rows if isinstance(row[column], dict)]
    return any(value and all(_is_score(entry) for entry in value.values()) for value in values)


def _is_score(entry: Any) -> bool:
    return is_number(entry) or (isinstance(entry, dict) and "score" in entry)
