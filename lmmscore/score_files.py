"""Other people's files as tidy tables: human ratings, and scores from other tools."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmmscore.errors import FileProblem, alternatives, counted, listed, typed
from lmmscore.records import OVERALL, Outcome, Score
from lmmscore.scales import Formula, geometric_mean
from lmmscore.scores import frame_of, is_scores_file, read_scores
from lmmscore.tables import (
    PROSE,
    SUFFIXES,
    Table,
    factor_columns,
    is_excel,
    is_number,
    number,
    number_list,
    parse_json,
    read_tables,
    split_field,
    text,
)
from lmmscore.yaml_files import read_text

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.dialog import Dialog


# --------------------------------------------------------------------------------------------------
# Human ratings, however they were kept, as one tidy table: one row per rating.
#
# Read are long tables (item, method, rater, factor, score), wide ones (one column per factor),
# tables with one column per method and a list of scores in each cell, and one file or sheet per
# rater; also a folder of them, or of one folder per task. CSV, TSV, Excel, JSON, JSON lines or
# Parquet.
# --------------------------------------------------------------------------------------------------

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
METHOD_NAMES = (
    "method",
    "model",
    "system",
    "editor",
    "method_name",
    "editing_method",
    "editing_model",
    "edit_method",
    "edit_model",
)
MODEL_NAMES = ("model_name", "model_id")
"""These may name the judge's model: they name the method only where there are several."""
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
    shared: frozenset[str] = frozenset({"task"})
    """The columns that may have been named for score files alone:
    where there is none so called, it goes by the usual names."""


USUAL_COLUMNS = Columns()


@dataclass(slots=True)
class HumanRatings:
    """The tidy table, and what was left out of it, in words."""

    table: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    scale: tuple[float, float] | None = None
    """The lowest and the highest rating that could be given, if that is recorded."""
    named: frozenset[str] = frozenset()
    """Which of `item` and `method` stand in the column that was named for them."""


def read_ratings(paths: Sequence[str | Path], columns: Columns = USUAL_COLUMNS) -> HumanRatings:
    """Return the ratings of one or several files, or of all files of a folder. Raises FileProblem.

    Where a file names no rater and there are several files (or sheets), each is one rater, called
    as the file is.
    """
    import pandas as pd

    notes: list[str] = []
    sources = [source for path in paths for source in _sources(str(path), columns, notes)]
    rows: list[tuple[object, ...]] = []
    for source in sources:
        # A single file that names no rater may hold the ratings of several.
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

    _refuse_duplicate_ratings(ratings, [source.table for source in sources], columns)
    headers = {name for source in sources for name in source.table.columns}
    found_parts = [part for part in ("item", "method") if getattr(columns, part) in headers]
    return HumanRatings(ratings, list(dict.fromkeys(notes)), named=frozenset(found_parts))


@dataclass(frozen=True, slots=True)
class RatingSource:
    """A table, and what its path says: who rated, and which task."""

    table: Table
    rater: str
    task: str = ""


def _sources(spec: str, columns: Columns, notes: list[str]) -> list[RatingSource]:
    """Return the tables that FILE, FILE:SHEET or FOLDER means, and who rated each."""
    path, sheet = split_field(spec)
    if not path.is_dir():
        return _rated([path], columns, notes, sheet=sheet)

    files = _files(path)
    folders = [one for one in sorted(path.iterdir()) if one.is_dir() and _files(one)]
    if files:
        if folders:
            names = listed([folder.name for folder in folders])
            notes.append(f"{path}: has ratings of its own, so those in {names} are ignored")
        return _rated(files, columns, notes)

    if not folders:
        raise FileProblem(f"{path}: no ratings in this folder; known are {', '.join(SUFFIXES)}")

    found = []
    for folder in folders:
        # A folder per task, named as the scores name it.
        found += _rated(_files(folder), columns, notes, task=folder.name)

    return found


def _files(folder: Path) -> list[Path]:
    """Return the tables in a folder; what editors leave there, `.ipynb_checkpoints`, has none."""
    if folder.name.startswith("."):
        return []

    files = [file for file in sorted(folder.iterdir()) if file.suffix.lower() in SUFFIXES]
    return [file for file in files if not file.name.startswith((".", "~$"))]


def _rated(
    files: Sequence[Path], columns: Columns, notes: list[str], *, task: str = "", sheet: str = ""
) -> list[RatingSource]:
    """Return the tables of files, each file or sheet one rater."""
    shared = _shared_start([file.stem for file in files]) if task else ""
    found = []
    for file in files:
        tables = with_items(read_tables(file, sheet), columns.item, notes)
        alone = len(tables) == 1 and not sheet
        for table in tables:
            rater = _rater_name(table.where, alone=alone).removeprefix(shared)
            found.append(RatingSource(table, rater, task))

    return found


def _shared_start(names: Sequence[str]) -> str:
    """Return what all names begin with, up to a separator: raters of several tasks are one person
    if only the task in their files' names differs."""
    if len(names) < 2:
        return ""

    # Character by character is what is wanted here: these are names, not paths.
    shared = os.path.commonprefix(names)  # noqa: RUF071
    cut = max(shared.rfind(mark) for mark in "_- ")
    return shared[: cut + 1]


def with_items(sheets: list[Table], item: str, notes: list[str]) -> list[Table]:
    """Return the sheets of a file that name items; the others, such as a legend,
    are ignored with a note."""
    found = [sheet for sheet in sheets if item in sheet.columns or sheet.find("", ITEM_NAMES)]
    left = [sheet.where for sheet in sheets if sheet not in found]
    notes += [f"{where}: this sheet names no item and is ignored" for where in left if found]
    return found or sheets


_UNNAMED_SHEET = re.compile(
    r"sheet ?\d*"
    r"|(?:tabelle|feuil|hoja|foglio|blad|planilha|plan|folha|ark|taul|arkusz|лист|工作表) ?\d+",
    re.IGNORECASE,
)
"""The names that spreadsheets give to sheets themselves."""


def _rater_name(where: str, *, alone: bool) -> str:
    """Return a rater's name from a table's place: its sheet, or its file where the sheet has no
    name of its own."""
    path, sheet = split_field(where)
    if not _UNNAMED_SHEET.fullmatch(sheet):
        return sheet or path.stem

    return path.stem if alone else f"{path.stem} {sheet}"


def _rows(
    table: Table, columns: Columns, notes: list[str], *, rater: str, task_name: str
) -> list[tuple[object, ...]]:
    """Return the rating rows of one table: long, wide, or with lists of scores.

    `rater` and `task_name` come from the file's path; a column of the table goes before them.
    """
    item = _item_column(table, columns)
    method = _method_column(table, columns)
    own_rater = table.find(columns.rater, RATER_NAMES)
    task = _find(table, columns, "task", TASK_NAMES)
    names = {item, method, own_rater, table.find("", SKIP_NAMES), task} - {None}
    kept = _without_skipped(table, notes)

    lists = [name for name in table.columns if name not in names and _has_lists(table, name)]
    if method is None and lists:
        ratings = _list_ratings(table, lists, kept, notes)
    else:
        ratings = _cell_ratings(table, method, _cells(table, columns, names, kept, notes))

    rows: list[tuple[object, ...]] = []
    for place, method_name, factor, value in ratings:
        row = table.rows[place]
        who = text(row[own_rater]) if own_rater else rater
        its_task = text(row[task]) if task else task_name
        name = table.item_at(place, item)
        rows.append((name, its_task, method_name, who, factor, value, table.at(place)))

    return rows


def _find(
    table: Table, columns: Columns | Layout, part: str, guesses: tuple[str, ...]
) -> str | None:
    """Return the column that was named for a part, or goes by a usual name; None without one."""
    wanted = getattr(columns, part)
    elsewhere = part in columns.shared and wanted not in table.columns
    return table.find("" if elsewhere else wanted, guesses)


def _method_column(table: Table, columns: Columns | Layout) -> str | None:
    """Return the column of the method; None without one."""
    found = _find(table, columns, "method", METHOD_NAMES)
    model = table.find("", MODEL_NAMES)
    if found is None and model is not None and len({text(row[model]) for row in table.rows}) > 1:
        return model
    return found


def _no_method(tables: Sequence[Table], columns: Columns | Layout) -> str:
    """Return what to say where edits seem to occur twice and a column may tell their methods apart.

    That is one of words that nothing was read from; "" where there is none.
    """
    known = (ITEM_NAMES, RATER_NAMES, FACTOR_NAMES, SCORE_NAMES, TASK_NAMES, SKIP_NAMES)
    named = {getattr(columns, part, "") for part in ("item", "rater", "factor", "score", "task")}
    unused = []
    for table in tables:
        if _method_column(table, columns) is None:
            used = named | {table.find("", names) for names in known}
            unused += [name for name in table.columns if name not in used and _names(table, name)]

    if not unused:
        return ""
    listed_names = ", ".join(dict.fromkeys(unused))
    return f"no column names the method (not used: {listed_names}); say --method-column NAME"


def _names(table: Table, column: str) -> bool:
    """Tell whether a column holds several names, and neither numbers nor sentences."""
    words = {text(row[column]) for row in table.rows} - {""}
    return len(words) > 1 and column.lower() not in PROSE and not any(map(is_number, words))


def _item_column(table: Table, columns: Columns | Layout) -> str:
    """Return the column of the item. Raises FileProblem where none was found."""
    found = _find(table, columns, "item", ITEM_NAMES)
    if found is None:
        names = ", ".join(table.columns)
        raise FileProblem(
            f"{table.where}: which column is the item? Say --item-column NAME (it has: {names})"
        )

    return found


_Rating = tuple[int, str, str, float]
"""The place of a row, the method, the factor and the number."""


def _list_ratings(
    table: Table, columns: Sequence[str], kept: Sequence[int], notes: list[str]
) -> Iterator[_Rating]:
    """Yield the ratings of a table with one column per method and a list in each cell."""
    for column in columns:
        for place in kept:
            for factor, value in _list_scores(table, place, column, notes):
                yield place, column, factor, value


def _cell_ratings(
    table: Table, method: str | None, cells: Sequence[tuple[str, int, object]]
) -> Iterator[_Rating]:
    """Yield the ratings of a table with one number in each cell; an empty cell is none."""
    for factor, place, cell in cells:
        try:
            rating = number(table.plain(cell))
        except ValueError as error:
            raise FileProblem(
                f"{table.at(place)}: {factor}: {str(table.plain(cell))!r} is not "
                "a number; write a rating, or leave the cell empty"
            ) from error

        if rating is not None:
            yield place, text(table.rows[place][method]) if method else "", factor, rating


LIST_NOTE = (
    "cells hold lists [SC, PQ], one column per method; "
    "O is √(SC·PQ), rater by rater (VIEScore's rule)"
)


def _has_lists(table: Table, column: str) -> bool:
    cells = [row[column] for row in table.rows]
    return any(isinstance(cell, list) or str(cell).startswith("[") for cell in cells)


def _list_scores(
    table: Table, place: int, column: str, notes: list[str]
) -> list[tuple[str, float]]:
    """Return the ratings in a list cell. Two numbers are VIEScore's SC and PQ, which have an O."""
    cell = table.rows[place][column]
    where = f"{table.at(place)}: {column}"
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

    # Rater by rater, as VIEScore does it: the mean of the roots is not the root of the means.
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
        notes.append(f"{table.where}: rows marked {column} are excluded ({len(marks) - len(kept)})")

    return kept


def _cells(
    table: Table, columns: Columns, names: set[str | None], kept: list[int], notes: list[str]
) -> list[tuple[str, int, object]]:
    """Return (factor, row, cell) for every cell that may hold a rating."""
    factor = table.find(columns.factor, FACTOR_NAMES)
    score = table.find(columns.score, SCORE_NAMES)
    rows = table.rows
    if factor is not None and score is not None:
        return [(text(rows[place][factor]), place, rows[place][score]) for place in kept]

    wide = factor_columns(table, names, kept, notes)
    found: list[tuple[str, int, object]] = []
    for name in wide:
        # A lone column called `score` rates the edit as a whole.
        lone = name == score and len(wide) == 1
        called = OVERALL if lone else name
        found += [(called, place, rows[place][name]) for place in kept]

    return found


def _refuse_duplicate_ratings(
    ratings: pd.DataFrame, tables: Sequence[Table], columns: Columns
) -> None:
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

    hint = _no_method(tables, columns) or "keep one of the rows"
    said = f"{places}: rater {first['rater']} rated {edit} twice ({first['factor']})"
    raise FileProblem(f"{said}; {hint}{more}")


# --------------------------------------------------------------------------------------------------
# Other tools' score files as tidy scores: long and wide tables, nested JSON, folders.
#
# What has no number on the scale becomes a score without one, with its reason.
# --------------------------------------------------------------------------------------------------

FARTHEST = 1000
"""No scale in use goes further: a column of larger numbers is hardly a factor."""

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
    shared: frozenset[str] = frozenset()
    """Which of `item` and `method` stand so in another file:
    where there is no such column, they go by the usual names."""


USUAL_LAYOUT = Layout()


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
    """Whether a folder's layout says which factors it has: none is missing, and none is added."""

    def only(self, factors: Collection[str]) -> Edit:
        """Return the edit with these factors alone."""
        cells = {name: cell for name, cell in self.cells.items() if name in factors}
        return replace(self, cells=cells)


@dataclass(slots=True)
class Reader:
    """Reads the edits of tables, and notes what was left out."""

    under: str
    """The field that holds the scores, where the user named one."""
    layout: Layout
    notes: list[str]

    def edits(self, table: Table) -> Iterator[Edit]:
        """Yield the edits of a table in whichever of the layouts it is."""
        item = _item_column(table, self.layout)
        method = _method_column(table, self.layout)
        task = table.find(self.layout.task, TASK_NAMES)
        repeat = table.find("", REPEAT_NAMES)
        find_task = _task_finder(self.layout.task_pattern, task)
        for place, cells in self._cells(table, {item, method, task, repeat}):
            row, where = table.rows[place], table.at(place)
            yield Edit(
                item=table.item_at(place, item),
                task=find_task(row, item),
                method=text(row[method]) if method else "",
                repeat=_repeat(table.plain(row[repeat]), where) if repeat else 1,
                cells={name: table.plain(cell) for name, cell in cells.items()},
                where=where,
            )

    def _cells(self, table: Table, names: set[str | None]) -> _Cells:
        """Yield for each edit the place of its row and its cells by factor."""
        factor = table.find("", FACTOR_NAMES)
        score = table.find(self.under, SCORE_NAMES) if factor else None
        if factor is not None and score is not None:
            yield from self._long_cells(table, factor, score, names)
            return

        # JSON keeps the scores of an edit together, as {"scores": {"accuracy": 7, …}}.
        others = [name for name in table.columns if name not in names]
        nested = [name for name in others if _is_nested(table, name)]
        if self.under or nested:
            column, *deeper = _choose(table, self.under, nested).split(".")
            for place, row in enumerate(table.rows):
                yield place, _dig(row[column], deeper)

            return

        wide = self._wide(table, names)
        for place, row in enumerate(table.rows):
            yield place, {name: row[name] for name in wide}

    def _long_cells(self, table: Table, factor: str, score: str, names: set[str | None]) -> _Cells:
        """Gather the rows of a long table by edit."""
        gathered: dict[tuple[str, ...], tuple[int, dict[str, Any]]] = {}
        keys = [name for name in table.columns if name in names]
        for place, row in enumerate(table.rows):
            _, cells = gathered.setdefault(tuple(text(row[name]) for name in keys), (place, {}))
            name = text(row[factor])
            if name in cells:
                hint = _no_method([table], self.layout) or "keep one"
                raise FileProblem(f"{table.at(place)}: a second {name} for the same edit; {hint}")

            cells[name] = row[score]

        yield from gathered.values()

    def _wide(self, table: Table, names: set[str | None]) -> list[str]:
        """Return the columns that are factors. Raises where one holds what no scale has."""
        if self.layout.factors:
            return [
                name for name in table.columns if name in self.layout.factors or name not in names
            ]

        wide = factor_columns(table, names, range(len(table.rows)), self.notes)
        for name in wide:
            for cell in (table.plain(row[name]) for row in table.rows):
                if is_number(cell) and abs(number(cell) or 0) > FARTHEST:
                    raise FileProblem(
                        f"{table.where}: column {name} has {cell}, which is on no scale in use; "
                        "name the factors with --factor NAME"
                    )

        return wide


def _repeat(cell: Any, where: str) -> int:
    """Return the number of a repeat. Raises for anything but a whole number from 1."""
    value = number(cell) if is_number(cell) else None
    if value is None or value < 1 or not value.is_integer():
        raise FileProblem(f"{where}: repeat {text(cell)!r} is not a whole number from 1")
    return int(value)


def _task_finder(pattern: str, column: str | None) -> Callable[[Mapping[str, Any], str], str]:
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


def _choose(table: Table, field: str, nested: list[str]) -> str:
    """Return the field to read, asking for it by name where there are several."""
    if not field and len(nested) > 1:
        names = ", ".join(nested)
        raise FileProblem(
            f"{table.where}: there are scores under {names}; choose one: {table.where}:{nested[0]}"
        )

    chosen = field or nested[0]
    if chosen.split(".")[0] not in table.columns:
        there_are = alternatives(chosen, nested, "there are scores under")
        raise FileProblem(f"{table.where}: no field {chosen!r}{there_are}")

    return chosen


def _dig(value: Any, keys: list[str]) -> Mapping[str, Any]:
    """Return the object under dotted keys; an empty one where it is not there."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _is_nested(table: Table, column: str) -> bool:
    """Return whether a column holds objects with a number, or an object with a score,
    in every entry."""
    values = [row[column] for row in table.rows if isinstance(row[column], dict)]
    return any(value and all(_is_score(entry) for entry in value.values()) for value in values)


def _is_score(entry: Any) -> bool:
    return is_number(entry) or (isinstance(entry, dict) and "score" in entry)


VIESCORE = ("SC", "PQ")
VIESCORE_NOTE = (
    "VIEScore's layout and rule: a metric is the lowest number of its list, truncated to an "
    "integer, over 10 and clipped to 0–1; O is the geometric mean of SC and PQ"
)


def read_score_folder(root: Path, notes: list[str]) -> list[Edit]:
    """Read a folder of METRIC.json files, in one folder per method, in one folder per task.

    A file maps an item to an object with a `score`: a number, or a list of them. ROOT may be a task
    folder itself; and METHOD.json files may map items to one number per metric.
    """
    files = sorted(root.glob("*/*/*.json"))
    if files:
        return _from_metrics(files, lambda file: (file.parts[-3], file.parts[-2]), notes)

    files = sorted(root.glob("*/*.json"))
    if not files and (root / "run.yaml").is_file():
        raise FileProblem(
            f"{root}: a run's folder; its scores are in {root / 'scores.csv'} already"
        )
    if not files:
        raise FileProblem(
            f"{root}: no scores in this folder; known is TASK/METHOD/METRIC.json, as VIEScore's"
        )

    if any(isinstance(entry, dict) and "score" in entry for entry in _load(files[0]).values()):
        task = root.resolve().name
        return _from_metrics(files, lambda file: (task, file.parts[-2]), notes)

    return _from_methods(files)


def _load(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file. Raises FileProblem."""
    data = parse_json(read_text(file), file)
    if not isinstance(data, dict):
        raise FileProblem(f"{file}: an object of items is expected, not a {type(data).__name__}")
    return data


def _from_metrics(
    files: list[Path], place: Callable[[Path], tuple[str, str]], notes: list[str]
) -> list[Edit]:
    """Return the scores of TASK/METHOD/METRIC.json; `place` tells task and method of a file."""
    metrics: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for file in files:
        metrics.setdefault(place(file), {})[file.stem] = _load(file)

    factors = {file.stem for file in files}
    viescore = factors <= set(VIESCORE)
    if viescore:
        notes.append(VIESCORE_NOTE)

    edits: list[Edit] = []
    left = 0
    for (task, method), found in metrics.items():
        every = dict.fromkeys(item for data in found.values() for item in data)
        shared = set.intersection(*map(set, found.values()))
        left += len(every) - len(shared)
        for item in filter(shared.__contains__, every):
            raw = {name: _score_of(found[name][item]) for name in sorted(found)}
            cells = _viescore_cells(raw) if viescore else raw
            edits.append(Edit(item, task, method, 1, cells, f"{task}/{method}: {item}", whole=True))

    if left:
        notes.append(
            f"excluded: {counted(left, 'edit')} with a score in some of their method's files: "
            "only items that all files have count"
        )

    alone = [f"{task}/{method}" for (task, method), found in metrics.items() if len(found) < 2]
    if factors == set(VIESCORE) and alone:
        notes.append(f"one of SC and PQ alone, so no O: {', '.join(alone)}")

    return edits


def _score_of(entry: Any) -> Any:
    return entry.get("score") if isinstance(entry, dict) else entry


def _viescore_cells(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return SC, PQ and O of one edit; a score that cannot be read stays as it is,
    for its reason."""
    # VIEScore counts the lowest of its sub-scores, of 10.
    cells: dict[str, Any] = {}
    for name in filter(raw.__contains__, VIESCORE):
        least = _least(raw[name])
        if least is None:
            cells[name] = f"unreadable score {raw[name]!r}"
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


def _from_methods(files: list[Path]) -> list[Edit]:
    """Return the scores of TASK/METHOD.json files, one number per metric and item."""
    edits: list[Edit] = []
    for file in files:
        for item, entry in _load(file).items():
            cells = entry if isinstance(entry, dict) else {"score": entry}
            where = f"{file}: {item}"
            edits.append(Edit(item, file.parts[-2], file.stem, 1, cells, where, whole=True))

    return edits


MEAN_OF = "no overall in the file; the mean of its"
"""How the reason begins for an overall that neither the file nor a dialog gives."""


def read_score_file(
    spec: str,
    layout: Layout = USUAL_LAYOUT,
    dialog: Dialog | None = None,
    notes: list[str] | None = None,
) -> pd.DataFrame:
    """Return FILE[:FIELD] as a tidy scores table; our own scores.csv as it is. See `scores_in`."""
    path, field = split_field(spec)
    if not field and is_scores_file(path):
        if dialog is not None and notes is not None:
            notes.append(f"{path}: a scores.csv is taken as it is; --dialog checks nothing in it")

        return read_scores(path)

    return frame_of(scores_in(spec, layout, dialog, notes=notes))


def scores_in(
    spec: str,
    layout: Layout = USUAL_LAYOUT,
    dialog: Dialog | None = None,
    renames: Mapping[str, str] | None = None,
    notes: list[str] | None = None,
) -> list[Score]:
    """Return the scores in FILE[:FIELD], or of a folder in a known layout.

    Of an Excel file all sheets are read, or the one that FIELD names. What is left out is added to
    the notes. With a dialog, every score must be on its scale, its factors are expected and its
    rule gives the overall. Without one, a file that has no overall gets the mean of its factors,
    and each such line says so in its reason. An edit lacking a factor has no overall.
    """
    renames = renames or {}
    notes = [] if notes is None else notes
    path, field = split_field(spec)
    if not field and is_scores_file(path):
        return _own(path, renames, plain=layout == USUAL_LAYOUT and dialog is None)

    # Which columns are what has no meaning in a folder; choosing factors has.
    named = replace(layout, factors=(), shared=frozenset()) != USUAL_LAYOUT or dialog is not None
    if path.is_dir() and named:
        raise FileProblem(
            f"{path}: the names in a folder say what is what; "
            "only --factor, --rename and --out can be used"
        )

    edits = _edits_in(path, field, layout, notes)
    all_renames = _with_overall(renames, _factors_of(edits), str(path), notes)
    refuse_merging(_factors_of(edits), all_renames)
    edits = [_renamed(edit, all_renames) for edit in edits]

    factors = _factors_of(edits)
    if dialog is not None:
        factors = _expected(factors, dialog, str(path))
        # A column that the user calls the overall stands; any other gives way to the rule.
        if OVERALL not in renames.values():
            factors = _without_overall(factors, dialog, str(path), notes)

    if not factors:
        raise FileProblem(f"{path}: no scores in it; a score is a number under its factor's name")

    scores: list[Score] = []
    for edit in edits:
        scores += _scores_of(edit, factors, dialog)
    return scores


def _edits_in(path: Path, field: str, layout: Layout, notes: list[str]) -> list[Edit]:
    """Return the edits of a file or folder with the factors wanted.

    Of an Excel file `field` names a sheet.
    """
    tables: list[Table] = []
    if path.is_dir():
        edits = read_score_folder(path, notes)
    else:
        sheet = ""
        if is_excel(path):
            sheet, field = field, ""

        reader = Reader(field, layout, notes)
        tables = with_items(read_tables(path, sheet), layout.item, notes)
        edits = [edit for table in tables for edit in reader.edits(table)]

    _refuse_duplicates(edits, tables, layout)
    known = _factors_of(edits)
    for name in layout.factors:
        if name not in known:
            raise FileProblem(f"{path}: no factor {name!r}{alternatives(name, known, 'it has')}")

    return [edit.only(layout.factors) for edit in edits] if layout.factors else edits


_OVERALL_NAMES = frozenset(
    "overall_score overall_rating total total_score average avg mean final_score".split()
)
"""What other tools call an overall, and some of them a factor."""


def _with_overall(
    renames: Mapping[str, str], factors: Sequence[str], where: str, notes: list[str]
) -> Mapping[str, str]:
    """Return the renames, `Overall` among them; other names that may mean it are noted.

    A column of overalls that is taken for a factor would count in the mean that becomes the
    overall.
    """
    if OVERALL in factors or OVERALL in renames.values():
        return renames

    found = dict(renames)
    for name in factors:
        plain = name.strip().lower().replace(" ", "_")
        if plain == OVERALL:
            found.setdefault(name, OVERALL)
        elif plain in _OVERALL_NAMES and name not in renames:
            notes.append(
                f"{where}: {name} counts as a factor; if it is the overall, "
                f"say {typed('--rename', f'{name}={OVERALL}')}"
            )

    return found


def refuse_merging(factors: Sequence[str], renames: Mapping[str, str]) -> None:
    """Raise where renaming would give two of these factors one name: one would hide the other."""
    taken: dict[str, str] = {}
    for factor in factors:
        new = renames.get(factor, factor)
        if new == OVERALL and new in renames.values():
            # What the user calls the overall takes the place of the one there was.
            continue

        if new in taken:
            old, other = (factor, taken[new]) if factor in renames else (taken[new], factor)
            given = typed("--rename", f"{old}={new}")
            raise FileProblem(
                f"{given}: the same file has another factor that would be called {new}; rename "
                f"that one too, as {typed('--rename', f'{other}=other_{other}')}"
            )

        taken[new] = factor


def _own(path: Path, renames: Mapping[str, str], *, plain: bool) -> list[Score]:
    """Return the scores of our own scores.csv, every outcome and reason kept."""
    if not plain:
        raise FileProblem(
            f"{path}: already a scores.csv; only --rename and --out can be used on it"
        )

    table = read_scores(path)
    refuse_merging([str(name) for name in table["factor"].unique()], renames)
    scores = []
    for row in table.fillna({"position": 0}).to_dict("records"):
        if replaced(row["factor"], renames):
            continue

        scored = row["outcome"] == Outcome.SCORED
        scores.append(
            Score(
                item=row["item"],
                task=row["task"],
                method=row["method"],
                repeat=row["repeat"],
                position=row["position"] or None,
                factor=renames.get(row["factor"], row["factor"]),
                # The decimal as written: 0.1 in the file is a tenth.
                score=Fraction(repr(row["score"])) if scored else None,
                outcome=Outcome(row["outcome"]),
                reason=row["reason"],
            )
        )

    return scores


def _renamed(edit: Edit, renames: Mapping[str, str]) -> Edit:
    cells = {name: cell for name, cell in edit.cells.items() if not replaced(name, renames)}
    return replace(edit, cells={renames.get(name, name): cell for name, cell in cells.items()})


def replaced(factor: str, renames: Mapping[str, str]) -> bool:
    """Tell whether a factor gives way to another that is renamed to be the overall."""
    others = [old for old, new in renames.items() if new == OVERALL]
    return factor == OVERALL and factor not in renames and bool(others)


def _factors_of(edits: Sequence[Edit]) -> list[str]:
    """Return the factors that any edit has a cell for, in the order they first occur."""
    return list(dict.fromkeys(factor for edit in edits for factor in edit.cells))


def _expected(found: list[str], dialog: Dialog, where: str) -> list[str]:
    """Return the dialog's factors, raising where the file has one the dialog does not know."""
    known = [factor.key for factor in dialog.factors]

    for name in found:
        if name not in known and name != OVERALL:
            there_are = alternatives(name, known, "it has")
            raise FileProblem(f"{where}: dialog {dialog.name} has no factor {name!r}{there_are}")

    return known + ([OVERALL] if OVERALL in found else [])


def _without_overall(factors: list[str], dialog: Dialog, where: str, notes: list[str]) -> list[str]:
    """Return the factors without an overall that the dialog's rule gives."""
    if OVERALL not in factors or dialog.formula is None:
        return factors
    notes.append(f"{where}: its own overall is ignored; the rule of {dialog.name} gives it")
    return [factor for factor in factors if factor != OVERALL]


def _refuse_duplicates(edits: list[Edit], tables: Sequence[Table], layout: Layout) -> None:
    """Refuse an edit that is scored twice: which of the two counts is not ours to guess."""
    seen: dict[tuple[str, str, str, int], str] = {}
    for edit in edits:
        key = (edit.item, edit.task, edit.method, edit.repeat)
        if key in seen:
            hint = _no_method(tables, layout) or (
                "keep one, or tell them apart in a column `repeat`, `method` or `task`"
            )
            raise FileProblem(
                f"{edit.where}: {edit.item!r} was scored before, at {seen[key]}; {hint}"
            )
        seen[key] = edit.where


def _scores_of(edit: Edit, factors: list[str], dialog: Dialog | None) -> Iterator[Score]:
    """Yield the scores of one edit, the overall last."""
    read = {}
    for factor in factors:
        # A table lacks the score of an empty cell; a folder has what its files are about.
        if factor in edit.cells or not edit.whole:
            read[factor] = _read(edit, factor, dialog)

    formula = None if dialog is None else dialog.formula
    # A dialog without a rule has no overall: a mean of its factors would be made up.
    if OVERALL not in read and not edit.whole and (dialog is None or formula is not None):
        read[OVERALL] = _overall(read, formula)

    for factor, (score, reason) in read.items():
        outcome = Outcome.SCORED if score is not None else Outcome.UNREADABLE
        yield Score(
            edit.item, edit.task, edit.method, edit.repeat, None, factor, score, outcome, reason
        )


def _read(edit: Edit, factor: str, dialog: Dialog | None) -> tuple[Fraction | None, str]:
    """Return a factor's score, or None and the reason."""
    cell = edit.cells.get(factor)
    if isinstance(cell, Fraction):
        return cell, ""

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
    if dialog is not None and factor != OVERALL:
        fault = dialog.factor(factor).scale.fault(score)
        if fault:
            return None, f"{edit.where}: {factor}: {fault}"

    return score, ""


def _overall(
    read: Mapping[str, tuple[Fraction | None, str]], formula: Formula | None
) -> tuple[Fraction | None, str]:
    """Return the overall of an edit: by a dialog's rule, else the mean, with a note that says so.

    There is none where a factor is unscored.
    """
    missing = next((reason for score, reason in read.values() if score is None), "")
    if missing:
        return None, missing

    scores = {factor: score for factor, (score, _) in read.items() if score is not None}
    if formula is not None:
        return formula.value(scores), ""

    mean = sum(scores.values(), Fraction(0)) / len(scores)
    return mean, f"{MEAN_OF} {len(scores)} factors" if len(scores) > 1 else ""


def judge_name(spec: str) -> str:
    """Return the name a judge goes by in tables: the stem of its file."""
    path, _ = split_field(spec)
    return path.stem
