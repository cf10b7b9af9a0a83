"""Instructions for the items a layout found, from whatever table there is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmmscore.benchmark import read_item_rows
from lmmscore.errors import FileProblem, nearest
from lmmscore.importers.pictures.layout import (
    Choices,
    FolderTree,
    Found,
    FoundItem,
    LayoutError,
    PictureLayout,
    json_in,
    role_of,
)
from lmmscore.tables import text_rows

Row = dict[str, str]

COLUMN_NAMES: dict[str, Sequence[str]] = {
    "id": "id item item_id key image_id sample_id image image_name file file_name filename name "
    "index number".split(),
    "task": "task task_type category edit_type editing_type type edit_task".split(),
    "instruction": "instruction editing_instruction edit_instruction edit_prompt prompt "
    "input_prompt text instruct edit".split(),
    "method": "method model method_name model_name editor system".split(),
    "language": "instruction_language language lang".split(),
}
"""What columns are called, the likeliest first."""

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".yaml", ".yml", ".xlsx")


def read(tree: FolderTree, choices: Choices, layout: PictureLayout) -> Found:
    """Return what a layout finds, with instructions from wherever they can be had."""
    found = layout.take(tree, choices)
    if tree.unusable:
        names = ", ".join(tree.unusable[:3])
        found.notes.append(f"ignored files whose names are not text: {names}")

    if tree.linked:
        names = ", ".join(tree.linked[:3])
        found.notes.append(f"ignored folders that are links: {names}; copy or move the pictures in")

    without = [item for item in found.items if not item.instruction]
    if without and choices.instructions is None:
        _from_tables_beside(tree, found, without, choices)
    elif without and choices.instructions not in found.read:
        _from_given(found, without, choices)

    for item in found.items:
        item.instruction = item.instruction or choices.instruction or ""

    return found


def _from_given(found: Found, without: list[FoundItem], choices: Choices) -> None:
    path = choices.instructions
    assert path is not None
    rows = read_table(path)
    filled = fill_in(without, rows, choices, str(path))
    if not filled:
        columns = ", ".join(rows[0]) if rows else "none"
        raise LayoutError(
            f"{path}: no row belongs to any item (ids such as {without[0].id!r}; "
            f"columns: {columns}); name the columns with --id-column and --instruction-column"
        )

    found.read.append(path)
    found.notes.append(f"instructions of {filled} of {len(found.items)} items from {path}")


def _from_tables_beside(
    tree: FolderTree, found: Found, without: list[FoundItem], choices: Choices
) -> None:
    """Try every table at the top of the folder and take the one that knows most items."""
    best: tuple[int, Path | None, list[Row]] = (0, None, [])
    for path in likely_tables(tree):
        try:
            rows = _still_valid(read_table(path), path, choices)
            trial = [replace(item, fields=dict(item.fields)) for item in without]
            known = fill_in(trial, rows, choices, str(path))
        except FileProblem as error:
            # Any file may lie beside the pictures, but a spreadsheet was meant to be read.
            if path.suffix.lower() in {".csv", ".tsv", ".xlsx"}:
                found.notes.append(f"not used for instructions: {error}")

            continue

        if known > best[0]:
            best = (known, path, rows)

    known, chosen, rows = best
    if chosen is not None:
        fill_in(without, rows, choices, str(chosen))
        found.read.append(chosen)
        found.notes.append(f"instructions of {known} of {len(found.items)} items from {chosen}")


def _still_valid(rows: list[Row], path: Path, choices: Choices) -> list[Row]:
    """Return the rows without what the command line now replaces.

    The items file of an earlier `init` repeats what was then given for all items. Where all its
    rows share an instruction or a task, a new --instruction or --task takes its place; what was
    filled in by hand differs from row to row and stays.
    """
    if path != choices.earlier_items:
        return rows

    replaced = set()
    for column, given in (("instruction", choices.instruction), ("task", choices.task)):
        if given is not None and len({row.get(column) for row in rows}) == 1:
            replaced.add(column)

    return [_without(row, replaced) for row in rows]


def _without(row: Row, columns: set[str]) -> Row:
    return {key: value for key, value in row.items() if key not in columns}


# Tables


def plain(name: str) -> str:
    """Return a column's name in lower case with underscores."""
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


def find_column(columns: Iterable[str], what: str, choices: Choices, where: str = "") -> str | None:
    """Return the column that holds `what`: the one asked for, else the likeliest by name."""
    columns = list(columns)
    asked = choices.columns.get(what)
    if asked is not None:
        if asked not in columns:
            hint = nearest(asked, columns)
            raise FileProblem(f"{where}: no column {asked!r}{hint}; it has: {', '.join(columns)}")

        return asked

    by_plain = {plain(column): column for column in reversed(columns)}
    return next((by_plain[name] for name in COLUMN_NAMES[what] if name in by_plain), None)


def read_table(path: Path) -> list[Row]:
    """Return a table's rows as text, whatever file it is in. Raises FileProblem naming the file."""
    suffix = path.suffix.lower()
    if path.is_dir() or suffix in {".parquet", ".arrow"}:
        return text_rows(path)

    keyed = _keyed_rows(path) if suffix == ".json" else []
    rows = keyed or [row for _, row in read_item_rows(path)]
    return [_as_text(row) for row in rows]


def _as_text(row: Mapping[str, Any]) -> Row:
    return {str(key): "" if value is None else str(value).strip() for key, value in row.items()}


def _keyed_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSON object: {"1082": {"prompt": …}} or {"1082": "Make it blue"}.

    The key names the item, whatever the entry calls its source. Empty for anything else.
    """
    data = json_in(path)
    if not isinstance(data, dict):
        return []

    kinds = {type(value) for value in data.values()}
    if kinds == {dict}:
        return [{**value, "key": key} for key, value in data.items()]

    if kinds == {str}:
        return [{"key": key, "instruction": value} for key, value in data.items()]

    return []


def likely_tables(tree: FolderTree) -> list[Path]:
    """Return the files at the top of a folder that may hold instructions."""
    return [tree.real(path) for path in tree.named(*TABLE_SUFFIXES) if len(path.parts) == 1]


# Which row belongs to which item


def fill_in(items: Sequence[FoundItem], rows: list[Row], choices: Choices, where: str) -> int:
    """Give items the instructions, tasks and fields of a table; return how many it knows."""
    columns = list(rows[0]) if rows else []
    wanted = {}
    for what in ("id", "task", "instruction"):
        wanted[what] = find_column(columns, what, choices, where)

    if wanted["instruction"] is None or wanted["id"] is None:
        return 0

    table = _by_name(rows, wanted["id"], wanted["task"])
    found = 0
    for item in items:
        for name in _names(item):
            row = table.get(name)
            if row is not None:
                found += 1
                _take_over(item, row, wanted)
                break

    return found


def _take_over(item: FoundItem, row: Row, wanted: Mapping[str, str | None]) -> None:
    item.instruction = row.get(wanted["instruction"] or "", "")
    task = row.get(wanted["task"] or "", "")
    if task and plain(task) != plain(item.task):
        item.task = task

    known = {*wanted.values(), "id", "task", "instruction"}

    for column, value in row.items():
        if value and column not in known:
            item.fields.setdefault(plain(column), value)


def _by_name(rows: list[Row], id_column: str, task_column: str | None) -> dict[str, Row | None]:
    """Return rows by every name that stands for just one of them; None where it stands for two."""
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
    names = [item.id, f"{item.task}/{item.number}", item.number]
    source = item.images.get("source")
    if source is not None:
        names.append(source.stem)

    return names


def normal_name(text: str) -> str:
    """Return a picture's name without file type, source suffix or leading `./`."""
    name = text.strip().replace("\\", "/")
    name = re.sub(r"\.(png|jpe?g|webp|gif|bmp|tiff?|avif)$", "", name, flags=re.I)
    stem, separator, word = name.rpartition("_")
    if separator and role_of(word) == "source":
        name = stem

    return name.removeprefix("./")
