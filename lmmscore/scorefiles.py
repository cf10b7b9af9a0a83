"""Score files of other tools as our tidy scores table, so that every table and statistic works on them.

Read are JSON lines of nested `{factor: {score, justification}}` (or `{factor: number}`), tables with a row a score
or with a column a factor, and our own scores.csv. What has no number becomes an outcome with a reason, never a number.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from lmmscore.errors import FileProblem, nearest
from lmmscore.ratings import FACTOR_NAMES, ITEM_NAMES, METHOD_NAMES, REPEAT_NAMES, SCORE_NAMES, TASK_NAMES
from lmmscore.records import OVERALL, Outcome, Score
from lmmscore.scales import overall, weights_of
from lmmscore.scores import SCORE_COLUMNS, as_cells, frame_of, read_scores
from lmmscore.tables import Table, is_number, number, read_tables, split_field, text

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.dialogs import Dialog


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column says what, and how the task is found; empty means: look for the usual names."""

    item: str = ""
    method: str = ""
    task: str = ""
    task_pattern: str = ""
    """A regular expression whose first group, found in the item's id, is the task."""


USUAL = Layout()


@dataclass(frozen=True, slots=True)
class _Edit:
    """One edit's scores as the file has them: factor to cell."""

    item: str
    task: str
    method: str
    repeat: int
    cells: Mapping[str, Any]
    where: str


def read_score_file(spec: str, layout: Layout = USUAL, dialog: Dialog | None = None) -> pd.DataFrame:
    """Return FILE[:FIELD] as a tidy scores table; our own scores.csv as it is. See `scores_in`."""
    path, field = split_field(spec)
    if not field and path.suffix.lower() == ".csv" and _is_ours(path):
        return read_scores(path)
    return frame_of(scores_in(spec, layout, dialog))


def _is_ours(path: Path) -> bool:
    return path.is_file() and set(SCORE_COLUMNS) <= set(read_tables(path)[0].columns)


def scores_in(
    spec: str,
    layout: Layout = USUAL,
    dialog: Dialog | None = None,
    renames: Mapping[str, str] | None = None,
) -> list[Score]:
    """Return the scores in FILE[:FIELD], with overall computed where the file has none.

    With a dialog, every score must be on its scale, its factors are expected and its rule gives the overall;
    without one, the overall is the mean of all factors. An edit lacking a factor has no overall.
    """
    path, field = split_field(spec)
    table = read_tables(path, field if path.suffix.lower() == ".xlsx" else "")[0]
    edits = [_renamed(edit, renames or {}) for edit in _edits(table, field, layout)]
    factors = list(dict.fromkeys(factor for edit in edits for factor in edit.cells))
    if dialog is not None:
        factors = _expected(factors, dialog, table.where)
    if not factors:
        raise FileProblem(f"{table.where}: no scores in it; a score is a number under its factor's name")
    _refuse_duplicates(edits)
    return [score for edit in edits for score in _scores_of(edit, factors, dialog)]


def write_scores(scores: list[Score], out: Path | TextIO) -> None:
    """Write scores as a tidy scores.csv."""
    if isinstance(out, Path):
        with out.open("w", encoding="utf-8", newline="") as file:
            write_scores(scores, file)
        return
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(SCORE_COLUMNS)
    writer.writerows(as_cells(score) for score in scores)


def _renamed(edit: _Edit, renames: Mapping[str, str]) -> _Edit:
    return replace(edit, cells={renames.get(name, name): cell for name, cell in edit.cells.items()})


def _edits(table: Table, field: str, layout: Layout) -> Iterator[_Edit]:
    """Yield the edits of a table in whichever of the layouts it is."""
    # The item's column is often named for another file of the same study; only here may it be absent.
    wanted = layout.item if layout.item in table.columns else ""
    item = table.find(wanted, ITEM_NAMES)
    if item is None:
        listed = ", ".join(table.columns)
        raise FileProblem(
            f"{table.where}: which column is the item? Say --item-column NAME (it has: {listed})"
        )
    method = table.find(layout.method if layout.method in table.columns else "", METHOD_NAMES)
    task, repeat = table.find(layout.task, TASK_NAMES), table.find("", REPEAT_NAMES)
    find_task = _task_finder(layout.task_pattern, task)
    for place, cells in _cells(table, field, {item, method, task, repeat}):
        row, where = table.rows[place], f"{table.where}:{table.lines[place]}"
        times = int(number(row[repeat]) or 1) if repeat else 1
        yield _Edit(
            text(row[item]), find_task(row, item), text(row[method]) if method else "", times, cells, where
        )


def _task_finder(pattern: str, column: str | None) -> Any:
    """Return a function from a row and its item column to its task."""
    if not pattern:
        return lambda row, _: text(row[column]) if column else ""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise FileProblem(f"--task-pattern {pattern!r} is not a regular expression: {error}") from error
    if compiled.groups < 1:
        raise FileProblem(
            f"--task-pattern {pattern!r} needs a group in parentheses: that part of the id is the task"
        )

    def find(row: Mapping[str, Any], item: str) -> str:
        match = compiled.search(text(row[item]))
        return match.group(1) or "" if match else ""

    return find


def _cells(table: Table, field: str, names: set[str | None]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield for each edit the place of its row and its cells by factor."""
    factor = table.find("", FACTOR_NAMES)
    score = table.find(field, SCORE_NAMES) if factor else None
    nested = [name for name in table.columns if name not in names and _is_nested(table, name)]
    if factor is not None and score is not None:
        yield from _long_cells(table, factor, score, names)
    elif field or nested:
        column, *deeper = _choose(table, field, nested).split(".")
        for place, row in enumerate(table.rows):
            yield place, _dig(row[column], deeper)
    else:
        wide = [name for name in table.columns if name not in names and _is_numeric(table, name)]
        for place, row in enumerate(table.rows):
            yield place, {name: row[name] for name in wide}


def _long_cells(
    table: Table, factor: str, score: str, names: set[str | None]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
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


def _is_numeric(table: Table, column: str) -> bool:
    filled = [row[column] for row in table.rows if text(row[column])]
    return bool(filled) and sum(map(is_number, filled)) * 2 > len(filled)


def _expected(found: list[str], dialog: Dialog, where: str) -> list[str]:
    """Return the dialog's factors, raising where the file has one the dialog does not know."""
    known = [factor.key for factor in dialog.factors]
    for name in found:
        if name not in known and name != OVERALL:
            hint = f"{nearest(name, known)} (it has: {', '.join(known)})"
            raise FileProblem(f"{where}: dialog {dialog.name} has no factor {name!r}{hint}")
    return known + ([OVERALL] if OVERALL in found else [])


def _refuse_duplicates(edits: list[_Edit]) -> None:
    seen: dict[tuple[str, str, int], str] = {}
    for edit in edits:
        key = (edit.item, edit.method, edit.repeat)
        if key in seen:
            raise FileProblem(
                f"{edit.where}: {edit.item!r} was scored before, at {seen[key]}; keep one, or number them in a "
                "column `repeat`"
            )
        seen[key] = edit.where


def _scores_of(edit: _Edit, factors: list[str], dialog: Dialog | None) -> Iterator[Score]:
    """Yield the scores of one edit, the overall last."""
    read = {factor: _read(edit, factor, dialog) for factor in factors}
    if OVERALL not in read:
        read[OVERALL] = _overall(read, dialog)
    for factor, (score, reason) in read.items():
        outcome = Outcome.SCORED if score is not None else Outcome.UNREADABLE
        yield Score(edit.item, edit.task, edit.method, edit.repeat, None, factor, score, outcome, reason)


def _read(edit: _Edit, factor: str, dialog: Dialog | None) -> tuple[Fraction | None, str]:
    """Return a factor's score, or None and the reason."""
    cell = edit.cells.get(factor)
    if isinstance(cell, dict):
        cell = cell.get("score")
    try:
        value = number(cell)
    except ValueError as error:
        return None, f"{edit.where}: {factor}: {error}"
    if value is None:
        return None, f"{edit.where}: no score for {factor}"
    # The decimal as written: 0.1 in the file is a tenth, not the float nearest to it.
    score = Fraction(repr(value))
    fault = dialog.factor(factor).scale.fault(score) if dialog is not None and factor != OVERALL else ""
    return (None, f"{edit.where}: {factor}: {fault}") if fault else (score, "")


def _overall(
    read: Mapping[str, tuple[Fraction | None, str]], dialog: Dialog | None
) -> tuple[Fraction | None, str]:
    """Return the overall of an edit: by the dialog's rule, else the mean; none where a factor is unscored."""
    missing = next((reason for score, reason in read.values() if score is None), "")
    if missing:
        return None, missing
    scores = {factor: score for factor, (score, _) in read.items() if score is not None}
    if dialog is None or dialog.overall == "none":
        return sum(scores.values(), Fraction(0)) / len(scores), ""
    return overall(dialog.overall, dialog.factors, scores, weights_of(dialog.factors)), ""


def judge_name(spec: str) -> str:
    """Return the name a judge goes by in tables: the stem of its file."""
    path, _ = split_field(spec)
    return Path(path).stem
