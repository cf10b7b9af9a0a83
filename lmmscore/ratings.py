"""Human ratings, however they were kept, as one tidy table: one row per rating.

Read are long tables (item, method, rater, factor, score), wide ones (one column per factor), tables
with one column per method and a list of scores in each cell, and one file or sheet per rater; also
a folder of them, or of one folder per task. CSV, TSV, Excel, JSON, JSON lines or Parquet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lmmscore.errors import FileProblem
from lmmscore.records import OVERALL
from lmmscore.tables import (
    SUFFIXES,
    Table,
    factor_columns,
    number,
    number_list,
    read_tables,
    split_field,
    text,
)

if TYPE_CHECKING:
    import pandas as pd

RATING_COLUMNS = ("item", "task", "method", "rater", "factor", "score", "where")

ITEM_NAMES = (
    "item",
    "item_id",
    "image_id",
    "image",
    "sample_id",
    "sample",
    "uid",
    "id",
    "key",
    "task_id",
)
METHOD_NAMES = ("method", "model", "system", "editor")
RATER_NAMES = (
    "rater",
    "rater_id",
    "annotator",
    "annotator_id",
    "worker",
    "worker_id",
    "participant",
    "user_id",
)
FACTOR_NAMES = ("factor", "criterion", "dimension", "aspect", "metric")
SCORE_NAMES = ("score", "rating", "value")
TASK_NAMES = ("task", "category", "task_type")
REPEAT_NAMES = ("repeat",)
SKIP_NAMES = ("skipped", "skip", "excluded")


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns that are not factors; empty means: look for the usual ones."""

    item: str = ""
    method: str = ""
    rater: str = ""
    factor: str = ""
    score: str = ""
    task: str = ""
    """Taken where there is such a column: it may have been named for a score file alone."""


USUAL = Columns()


@dataclass(slots=True)
class HumanRatings:
    """The tidy table, and what was left out of it, in words."""

    table: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    scale: tuple[float, float] | None = None
    """The lowest and the highest rating that could be given, if that is recorded."""


def read_ratings(paths: Sequence[str | Path], columns: Columns = USUAL) -> HumanRatings:
    """Return the ratings of one or several files, or of all files of a folder. Raises FileProblem.

    Where a file names no rater and there are several files (or sheets), each is one rater, called
    as the file is.
    """
    import pandas as pd

    notes: list[str] = []
    sources = [source for path in paths for source in _sources(str(path), columns, notes)]
    rows: list[tuple[object, ...]] = []
    for source in sources:
        rater = source.rater if len(sources) > 1 else ""
        found = _rows(source.table, columns, notes, rater=rater, task_name=source.task)
        if not found:
            notes.append(f"{source.table.where}: no ratings in it")
        rows += found
    ratings = pd.DataFrame(rows, columns=list(RATING_COLUMNS))
    if ratings.empty:
        named = ", ".join(source.table.where for source in sources)
        raise FileProblem(
            f"{named}: no ratings in it; a rating is a number in a column of its factor"
        )
    _refuse_duplicates(ratings)
    return HumanRatings(ratings, list(dict.fromkeys(notes)))


@dataclass(frozen=True, slots=True)
class RatingSource:
    """A table, and what its file's place says: who rated, and which task."""

    table: Table
    rater: str
    task: str = ""


def _sources(spec: str, columns: Columns, notes: list[str]) -> list[RatingSource]:
    path, sheet = split_field(spec)
    if not path.is_dir():
        tables = with_items(read_tables(path, sheet), columns.item, notes)
        return [RatingSource(table, _rater_name(table.where)) for table in tables]
    files = _files(path)
    if files:
        return _folder(files, columns, notes, task="")
    found = []
    for folder in sorted(one for one in path.iterdir() if one.is_dir()):
        # A folder per task, named as the scores name it.
        found += _folder(_files(folder), columns, notes, task=folder.name)
    if not found:
        raise FileProblem(f"{path}: no ratings in this folder; known are {', '.join(SUFFIXES)}")
    return found


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES)


def _folder(
    files: Sequence[Path], columns: Columns, notes: list[str], *, task: str
) -> list[RatingSource]:
    """Return the tables of a folder's files, each file one rater."""
    shared = _shared_start([file.stem for file in files]) if task else ""
    found = []
    for file in files:
        for table in with_items(read_tables(file), columns.item, notes):
            rater = _rater_name(table.where).removeprefix(shared)
            found.append(RatingSource(table, rater, task))
    return found


def _shared_start(names: Sequence[str]) -> str:
    """Return what all names begin with, up to a separator: raters of several tasks are one person
    if only the task in their files' names differs."""
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)
    same = 0
    while same < len(first) and first[same] == last[same]:
        same += 1
    cut = max(first.rfind(mark, 0, same) for mark in "_- ")
    return first[: cut + 1]


def with_items(sheets: list[Table], item: str, notes: list[str]) -> list[Table]:
    """Return the sheets of a file that name items; the others, such as a legend,
    are left out with a note."""
    found = [sheet for sheet in sheets if item in sheet.columns or sheet.find("", ITEM_NAMES)]
    left = [sheet.where for sheet in sheets if sheet not in found]
    notes += [f"{where}: this sheet names no item and is left out" for where in left if found]
    return found or sheets


def _rater_name(where: str) -> str:
    """Return a rater's name from a file's: its stem, with the sheet's name where it is a sheet."""
    path, sheet = split_field(where)
    return sheet or path.stem


def _rows(
    table: Table, columns: Columns, notes: list[str], *, rater: str, task_name: str
) -> list[tuple[object, ...]]:
    """Return the rating rows of one table, long or wide."""
    item = table.find(columns.item, ITEM_NAMES)
    if item is None:
        listed = ", ".join(table.columns)
        raise FileProblem(
            f"{table.where}: which column is the item? Say --item-column NAME (it has: {listed})"
        )
    method = table.find(columns.method, METHOD_NAMES)
    own_rater = table.find(columns.rater, RATER_NAMES)
    task = table.find(columns.task if columns.task in table.columns else "", TASK_NAMES)
    names = {item, method, own_rater, table.find("", SKIP_NAMES), task} - {None}
    kept = _without_skipped(table, notes)
    found: list[tuple[object, ...]] = []

    def add(place: int, method_name: str, factor: str, value: float) -> None:
        row, where = table.rows[place], f"{table.where}:{table.lines[place]}"
        who = text(row[own_rater]) if own_rater else rater
        where_task = text(row[task]) if task else task_name
        found.append((text(row[item]), where_task, method_name, who, factor, value, where))

    lists = [name for name in table.columns if name not in names and _has_lists(table, name)]
    if method is None and lists:
        for name in lists:
            for place in kept:
                for factor, value in _list_scores(table, place, name, notes):
                    add(place, name, factor, value)
        return found
    for factor, place, cell in _cells(table, columns, names, kept, notes):
        try:
            rating = number(table.plain(cell))
        except ValueError as error:
            raise FileProblem(
                f"{table.where}:{table.lines[place]}: {factor}: {str(table.plain(cell))!r} is not "
                "a number; write a rating, or leave the cell empty"
            ) from error
        if rating is not None:
            add(place, text(table.rows[place][method]) if method else "", factor, rating)
    return found


LIST_NOTE = (
    "cells hold lists [SC, PQ], one column per method; "
    "O is √(SC·PQ), rater by rater (VIEScore's rule)"
)


def _has_lists(table: Table, column: str) -> bool:
    for row in table.rows:
        cell = row[column]
        if isinstance(cell, list) or (isinstance(cell, str) and cell.startswith("[")):
            return True
    return False


def _list_scores(
    table: Table, place: int, column: str, notes: list[str]
) -> list[tuple[str, float]]:
    """Return the ratings in a list cell. Two numbers are VIEScore's SC and PQ, which have an O."""
    cell = table.rows[place][column]
    where = f"{table.where}:{table.lines[place]}: {column}"
    try:
        values = number_list(cell)
        if values is None and number(cell) is not None:
            raise ValueError(f"{cell!r} is not a list")
    except ValueError as error:
        raise FileProblem(f"{where}: {error}; write a list such as [0.5, 1]") from error
    if values is None:
        return []
    if len(values) != 2:
        return [(str(number), value) for number, value in enumerate(values, 1)]
    if LIST_NOTE not in notes:
        notes.append(LIST_NOTE)
    semantic, quality = values
    if semantic < 0 or quality < 0:
        raise FileProblem(f"{where}: {cell!r} has a negative score; ratings start at 0")
    return [("SC", semantic), ("PQ", quality), ("O", math.sqrt(semantic * quality))]


def _without_skipped(table: Table, notes: list[str]) -> list[int]:
    """Return the places of rows that were not marked as skipped, noting how many were."""
    column = table.find("", SKIP_NAMES)
    marks = [text(row[column]).lower() if column else "" for row in table.rows]
    kept = [place for place, mark in enumerate(marks) if mark not in {"true", "1", "yes", "y", "x"}]
    if len(kept) < len(marks):
        notes.append(f"{table.where}: rows marked {column} are left out ({len(marks) - len(kept)})")

    return kept


def _cells(
    table: Table, columns: Columns, names: set[str | None], kept: list[int], notes: list[str]
) -> list[tuple[str, int, object]]:
    """Return (factor, row, cell) for every cell that may hold a rating."""
    factor = table.find(columns.factor, FACTOR_NAMES)
    score = table.find(columns.score, SCORE_NAMES)
    if factor is not None and score is not None:
        return [
            (text(table.rows[place][factor]), place, table.rows[place][score]) for place in kept
        ]

    wide = factor_columns(table, names, kept, notes)
    # A lone column called `score` rates the edit as a whole.
    called = {name: OVERALL if name == score and len(wide) == 1 else name for name in wide}
    return [(called[name], place, table.rows[place][name]) for name in wide for place in kept]


def _refuse_duplicates(ratings: pd.DataFrame) -> None:
    """Raise where one rater rated one edit twice: which of the two counts is not ours to guess."""
    key = ["item", "method", "rater", "task", "factor"]
    twice = ratings[ratings.duplicated(key, keep=False)]
    if twice.empty:
        return
    first = twice.iloc[0]
    same = twice[(twice[key] == first[key]).all(axis=1)]
    edit = f"{first['item']!r}" + (f" by {first['method']}" if first["method"] else "")
    places = " and ".join(same["where"].unique()[:3])
    edits = len(twice.drop_duplicates(key[:4]))
    more = f" ({edits} such cases in all)" if edits > 1 else ""
    if not first["rater"]:
        raise FileProblem(
            f"{places}: {edit} is rated twice and no column names the rater; "
            f"say --rater-column NAME{more}"
        )
    raise FileProblem(
        f"{places}: rater {first['rater']} rated {edit} twice ({first['factor']}); "
        f"keep one of the rows{more}"
    )
