"""The layouts in which other tools keep scores: long and wide tables, nested JSON, folders."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from lmmscore.errors import FileProblem, nearest
from lmmscore.ratings import (
    FACTOR_NAMES,
    ITEM_NAMES,
    METHOD_NAMES,
    REPEAT_NAMES,
    SCORE_NAMES,
    TASK_NAMES,
)
from lmmscore.rules import geometric_mean
from lmmscore.tables import Table, factor_columns, is_number, number, text

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
    """Whether the names were given for another file too: here item and method may then go by the
    usual ones."""


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
    whole: bool = False
    """Whether the layout has an overall of its own, under whatever name: none is then added."""


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
                f"{table.where}: which column is the item? "
                f"Say --item-column NAME (it has: {listed})"
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
                    f"{where}: no factor {name!r}{nearest(name, list(self.seen))} "
                    f"(it has: {listed})"
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
                    f"{table.where}: column {name} has {far}, and no scale goes so far; "
                    "name the factors with --factor NAME"
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
            f"--task-pattern {pattern!r} needs a group in parentheses: "
            "that part of the id is the task"
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
            f"{table.where}: no field {chosen!r}{nearest(chosen, nested)} "
            f"(scores stand under: {listed})"
        )
    return chosen


def _dig(value: Any, keys: list[str]) -> Mapping[str, Any]:
    """Return the object under dotted keys; an empty one where it is not there."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _is_nested(table: Table, column: str) -> bool:
    """Return whether a column holds objects with a number, or an object with a score, in every
    entry."""
    values = [row[column] for row in table.rows if isinstance(row[column], dict)]
    return any(value and all(_is_score(entry) for entry in value.values()) for value in values)


def _is_score(entry: Any) -> bool:
    return is_number(entry) or (isinstance(entry, dict) and "score" in entry)


@dataclass(frozen=True, slots=True)
class FolderScores:
    """Scores kept as ROOT/TASK/METHOD/METRIC.json, read by the layout's own rule."""

    edits: list[Edit]
    factors: list[str]
    notes: list[str]


VIESCORE = ("SC", "PQ")
VIESCORE_NOTE = (
    "VIEScore's layout and rule: a metric is the lowest number of its list, truncated to an "
    "integer, over 10 and clipped to 0–1; O is the geometric mean of SC and PQ"
)


def read_score_folder(root: Path) -> FolderScores:
    """Read a folder of METRIC.json files, in one folder per method, in one folder per task.

    A file maps an item to an object with a `score`: a number, or a list of them. ROOT may be a task
    folder itself; and METHOD.json files may map items to one number per metric.
    """
    files = sorted(root.glob("*/*/*.json"))
    if files:
        return _from_metrics(files, lambda file: (file.parts[-3], file.parts[-2]))
    files = sorted(root.glob("*/*.json"))
    if not files:
        raise FileProblem(
            f"{root}: no scores in this folder; known is TASK/METHOD/METRIC.json, as VIEScore's"
        )
    if _scored_items(_load(files[0])):
        task = root.resolve().name
        return _from_metrics(files, lambda file: (task, file.parts[-2]))
    return _from_methods(files)


def _load(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileProblem(f"{file}: cannot be read as JSON ({error})") from error
    if not isinstance(data, dict):
        raise FileProblem(f"{file}: an object of items is expected, not a {type(data).__name__}")
    return data


def _scored_items(data: Mapping[str, Any]) -> bool:
    return any(isinstance(entry, dict) and "score" in entry for entry in data.values())


def _from_metrics(files: list[Path], place: Callable[[Path], tuple[str, str]]) -> FolderScores:
    metrics: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for file in files:
        metrics.setdefault(place(file), {})[file.stem] = _load(file)
    names = sorted({name for found in metrics.values() for name in found})
    viescore = set(names) <= set(VIESCORE)
    notes = [VIESCORE_NOTE] if viescore else []
    edits: list[Edit] = []
    left = 0
    for (task, method), found in metrics.items():
        every = dict.fromkeys(item for data in found.values() for item in data)
        # With one file alone there is nothing to have in common.
        shared = [item for item in every if all(item in data for data in found.values())]
        left += len(every) - len(shared)
        for item in shared:
            where = f"{task}/{method}: {item}"
            raw = {name: _score_of(found[name][item]) for name in names if name in found}
            cells = _viescore_cells(raw) if viescore else raw
            edits.append(Edit(item, task, method, 1, cells, where, whole=True))
    if left:
        notes.append(
            f"{left} edits have a score in some of their method's files only, and are left out: "
            "only items that all files have count"
        )
    alone = [f"{task}/{method}" for (task, method), found in metrics.items() if len(found) < 2]
    factors = list(names)
    if viescore and len(names) == len(VIESCORE):
        factors = [*VIESCORE, "O"]
        if alone:
            notes.append(f"one of SC and PQ alone, so no O: {', '.join(alone)}")
    return FolderScores(edits, factors, notes)


def _score_of(entry: Any) -> Any:
    return entry.get("score") if isinstance(entry, dict) else entry


def _viescore_cells(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return SC, PQ and O of one edit; a score that cannot be read stays as it is, for its
    reason."""
    cells: dict[str, Any] = {}
    for name, score in raw.items():
        least = _least(score)
        if least is None:
            cells[name] = f"unreadable score {score!r}"
        else:
            cells[name] = min(max(least / 10, Fraction(0)), Fraction(1))
    values = [value for value in cells.values() if isinstance(value, Fraction)]
    if len(values) == len(VIESCORE):
        cells["O"] = geometric_mean(values)
    elif len(cells) == len(VIESCORE):
        cells["O"] = "SC or PQ is unreadable"
    return cells


def _least(score: Any) -> Fraction | None:
    """Return the least of a list, each element cut to a whole number; a lone number as it is."""
    if is_number(score) and not isinstance(score, str):
        return Fraction(repr(score))
    if not isinstance(score, list) or not score or not all(map(is_number, score)):
        return None
    return min(Fraction(int(number(part) or 0)) for part in score)


def _from_methods(files: list[Path]) -> FolderScores:
    edits: list[Edit] = []
    factors: dict[str, None] = {}
    for file in files:
        for item, entry in _load(file).items():
            cells = entry if isinstance(entry, dict) else {"score": entry}
            factors |= dict.fromkeys(cells)
            edits.append(
                Edit(item, file.parts[-2], file.stem, 1, cells, f"{file}: {item}", whole=True)
            )
    return FolderScores(edits, list(factors), [])
