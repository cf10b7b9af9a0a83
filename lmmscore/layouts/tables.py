"""Tables of instructions in whatever file they come: CSV, JSON, JSON lines, Excel or Parquet."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmmscore.errors import FileProblem, nearest
from lmmscore.itemrows import read_rows
from lmmscore.layouts.base import Choices, FoundItem
from lmmscore.layouts.names import role_of
from lmmscore.layouts.tree import Tree
from lmmscore.yamlfile import read_text

Row = dict[str, str]

COLUMN_NAMES: dict[str, Sequence[str]] = {
    "id": "id item item_id key image_id sample_id image image_name file file_name filename name index number".split(),
    "task": "task task_type category edit_type editing_type type edit_task".split(),
    "instruction": "instruction editing_instruction edit_instruction edit_prompt prompt input_prompt text "
    "instruct edit".split(),
    "method": "method model method_name model_name editor system".split(),
    "language": "instruction_language language lang".split(),
}
"""What columns are called, the likeliest first."""

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".yaml", ".yml", ".xlsx")


def plain(name: str) -> str:
    """Return a column's name in lower case with underscores."""
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


def find_column(columns: Iterable[str], what: str, choices: Choices, where: str = "") -> str | None:
    """Return the column that holds `what`: the one asked for, else the likeliest by name."""
    columns = list(columns)
    asked = choices.columns.get(what)
    if asked is not None:
        if asked not in columns:
            raise FileProblem(
                f"{where}: no column {asked!r}{nearest(asked, columns)}; it has: {', '.join(columns)}"
            )
        return asked
    by_plain = {plain(column): column for column in reversed(columns)}
    return next((by_plain[name] for name in COLUMN_NAMES[what] if name in by_plain), None)


def read_table(path: Path) -> list[Row]:
    """Return a table's rows as text, whatever file it is in. Raises FileProblem naming the file."""
    if path.is_dir() or path.suffix.lower() in {".parquet", ".arrow"}:
        from lmmscore.layouts.arrow import text_rows

        return text_rows(path)
    if path.suffix.lower() in {".xlsx", ".xlsm"}:
        return [row for rows in read_sheets(path).values() for row in with_header(rows)]
    if path.suffix.lower() == ".json":
        return [_as_text(row) for row in _json_rows(path)]
    return [_as_text(row) for _, row in read_rows(path)]


def _as_text(row: Mapping[str, Any]) -> Row:
    return {str(key): "" if value is None else str(value).strip() for key, value in row.items()}


def _json_rows(path: Path) -> list[dict[str, Any]]:
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FileProblem(f"{path}: not JSON ({error})") from error
    if isinstance(data, dict) and data and all(isinstance(value, dict) for value in data.values()):
        # {"1082": {"prompt": …}}: the key names the item, whatever the entry calls its source.
        return [{**value, "key": key} for key, value in data.items()]
    if isinstance(data, dict) and data and all(isinstance(value, str) for value in data.values()):
        return [{"key": key, "instruction": value} for key, value in data.items()]
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        return data
    raise FileProblem(f"{path}: expected a list of items, or items by their id")


def read_cells(path: Path) -> dict[str, list[list[str]]]:
    """Return the cells of an Excel or CSV file by sheet, header and all; a CSV file is one sheet."""
    if path.suffix.lower() in {".xlsx", ".xlsm"}:
        return read_sheets(path)
    text = read_text(path)
    delimiter = max(",;\t", key=text.split("\n", 1)[0].count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    cells = [[cell.strip() for cell in row] for row in rows]
    return {"": [row for row in cells if any(row)]}


def read_sheets(path: Path) -> dict[str, list[list[str]]]:
    """Return the cells of an Excel file by sheet, empty rows left out, merged cells filled downwards."""
    try:
        import openpyxl
    except ImportError as error:
        raise FileProblem(
            f"{path}: reading Excel needs openpyxl: pip install 'lmmscore[excel]', or save it as CSV"
        ) from error
    try:
        book = openpyxl.load_workbook(path, data_only=True)
    except Exception as error:  # openpyxl raises whatever the zip or the XML inside it raises
        raise FileProblem(
            f"{path}: not an Excel file that can be read ({error}); save it as CSV"
        ) from error
    sheets = {}
    for sheet in book.worksheets:
        rows = [[_cell(value) for value in row] for row in sheet.iter_rows(values_only=True)]
        for area in sheet.merged_cells.ranges:
            for number in range(area.min_row, area.max_row):
                rows[number][area.min_col - 1] = rows[area.min_row - 1][area.min_col - 1]
        sheets[sheet.title] = [row for row in rows if any(row)]
    return sheets


def _cell(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value).strip()


def with_header(rows: list[list[str]]) -> list[Row]:
    """Return rows as mappings from the names in the first row."""
    if not rows:
        return []
    header = [name or f"column_{number}" for number, name in enumerate(rows[0], 1)]
    return [dict(zip(header, row, strict=False)) for row in rows[1:]]


# Which row belongs to which item


def fill_in(items: Sequence[FoundItem], rows: list[Row], choices: Choices, where: str) -> int:
    """Give items the instructions, tasks and further columns of a table; return how many were found in it."""
    columns = list(rows[0]) if rows else []
    wanted = {
        what: find_column(columns, what, choices, where) for what in ("id", "task", "instruction")
    }
    if wanted["instruction"] is None or wanted["id"] is None:
        return 0
    table = _by_name(rows, wanted["id"], wanted["task"])
    found = 0
    for item in items:
        row = next((table[name] for name in _names(item) if table.get(name) is not None), None)
        if row is not None:
            found += 1
            _take_over(item, row, wanted)
    return found


def _take_over(item: FoundItem, row: Row, wanted: Mapping[str, str | None]) -> None:
    item.instruction = row.get(wanted["instruction"] or "", "")
    task = row.get(wanted["task"] or "", "")
    if task and plain(task) != plain(item.task):
        item.task = task
    for column, value in row.items():
        if column not in {*wanted.values(), "id", "task", "instruction"} and value:
            item.fields.setdefault(plain(column), value)


def _by_name(rows: list[Row], id_column: str, task_column: str | None) -> dict[str, Row | None]:
    """Return rows by every name that stands for just one of them; a name that stands for two gives None."""
    table: dict[str, Row | None] = {}
    for row in rows:
        name = normal_name(row.get(id_column, ""))
        names = {name, name.rpartition("/")[2]}
        if task_column and row.get(task_column):
            names |= {f"{row[task_column]}/{each}" for each in names}
        for each in names - {""}:
            table[each] = row if table.get(each, row) is row else None
    return table


def _names(item: FoundItem) -> list[str]:
    source = item.images.get("source")
    stems = [source.stem] if source else []
    return [item.id, f"{item.task}/{item.number}", item.number, *stems]


def normal_name(text: str) -> str:
    """Return a picture's name without file type, source suffix or leading `./`."""
    name = re.sub(
        r"\.(png|jpe?g|webp|gif|bmp|tiff?|avif)$", "", text.strip().replace("\\", "/"), flags=re.I
    )
    stem, separator, word = name.rpartition("_")
    return (stem if separator and role_of(word) == "source" else name).removeprefix("./")


def likely_tables(tree: Tree) -> list[Path]:
    """Return the files at the top of a folder that may hold instructions."""
    return [tree.real(path) for path in tree.named(*TABLE_SUFFIXES) if len(path.parts) == 1]
