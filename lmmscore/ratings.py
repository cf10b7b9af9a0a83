"""Human ratings, however they were kept, as one tidy table: a row a rating.

Read are long tables (item, method, rater, factor, score), wide ones (a column a factor) and one file or sheet a
rater, from CSV, TSV, Excel or JSON lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lmmscore.errors import FileProblem
from lmmscore.factorcolumns import factor_columns
from lmmscore.records import OVERALL
from lmmscore.tables import SUFFIXES, Table, number, read_tables, split_field, text

if TYPE_CHECKING:
    import pandas as pd

RATING_COLUMNS = ("item", "task", "method", "rater", "factor", "score", "where")

ITEM_NAMES = ("item", "item_id", "image_id", "image", "sample_id", "sample", "id", "key", "task_id")
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


def read_ratings(paths: Sequence[str | Path], columns: Columns = USUAL) -> HumanRatings:
    """Return the ratings of one or several files, or of all files of a folder. Raises FileProblem.

    Where a file names no rater and there are several files (or sheets), each is one rater, called as the file is.
    """
    import pandas as pd

    notes: list[str] = []
    tables = [table for path in paths for table in _tables_of(str(path), columns, notes)]
    rows: list[tuple[object, ...]] = []
    for table in tables:
        found = _rows(
            table, columns, notes, stem=_rater_name(table.where) if len(tables) > 1 else ""
        )
        if not found:
            notes.append(f"{table.where}: no ratings in it")
        rows += found
    ratings = pd.DataFrame(rows, columns=list(RATING_COLUMNS))
    if ratings.empty:
        raise FileProblem(
            f"{_named(tables)}: no ratings in it; a rating is a number in a column of its factor"
        )
    _refuse_duplicates(ratings)
    return HumanRatings(ratings, notes)


def _tables_of(spec: str, columns: Columns, notes: list[str]) -> list[Table]:
    path, sheet = split_field(spec)
    if not path.is_dir():
        return with_items(read_tables(path, sheet), columns.item, notes)
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
    if not files:
        raise FileProblem(f"{path}: no ratings in this folder; known are {', '.join(SUFFIXES)}")
    return [table for file in files for table in with_items(read_tables(file), columns.item, notes)]


def with_items(sheets: list[Table], item: str, notes: list[str]) -> list[Table]:
    """Return the sheets of a file that name items; the others, such as a legend, are left out with a note."""
    found = [sheet for sheet in sheets if item in sheet.columns or sheet.find("", ITEM_NAMES)]
    left = [sheet.where for sheet in sheets if sheet not in found]
    notes += [f"{where}: this sheet names no item and is left out" for where in left if found]
    return found or sheets


def _rater_name(where: str) -> str:
    """Return a rater's name from a file's: its stem, with the sheet's name where it is a sheet."""
    path, sheet = split_field(where)
    return sheet or path.stem


def _named(tables: Sequence[Table]) -> str:
    return ", ".join(table.where for table in tables)


def _rows(
    table: Table, columns: Columns, notes: list[str], *, stem: str
) -> list[tuple[object, ...]]:
    """Return the rating rows of one table, long or wide."""
    item = table.find(columns.item, ITEM_NAMES)
    if item is None:
        listed = ", ".join(table.columns)
        raise FileProblem(
            f"{table.where}: which column is the item? Say --item-column NAME (it has: {listed})"
        )
    method = table.find(columns.method, METHOD_NAMES)
    rater = table.find(columns.rater, RATER_NAMES)
    task = table.find(columns.task if columns.task in table.columns else "", TASK_NAMES)
    names = {item, method, rater, table.find("", SKIP_NAMES), task} - {None}
    kept = _without_skipped(table, notes)
    found: list[tuple[object, ...]] = []
    for factor, place, cell in _cells(table, columns, names, kept, notes):
        row, where = table.rows[place], f"{table.where}:{table.lines[place]}"
        value = _rating(table.plain(cell), f"{where}: {factor}")
        if value is not None:
            who = text(row[rater]) if rater else stem
            what = (text(row[name]) if name else "" for name in (item, task, method))
            found.append((*what, who, factor, value, where))
    return found


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


def _rating(cell: object, where: str) -> float | None:
    try:
        return number(cell)
    except ValueError as error:
        raise FileProblem(
            f"{where}: {str(cell)!r} is not a number; write a rating, or leave the cell empty"
        ) from error


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
            f"{places}: {edit} is rated twice and no column names the rater; say --rater-column NAME{more}"
        )
    raise FileProblem(
        f"{places}: rater {first['rater']} rated {edit} twice ({first['factor']}); keep one of the rows{more}"
    )
