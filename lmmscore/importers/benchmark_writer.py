"""What a layout found as a benchmark: its instructions looked up, its benchmark.yaml written."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from lmmscore.benchmark import read_item_rows
from lmmscore.errors import FileProblem, counted, listed
from lmmscore.images import SLOT, PictureFiles
from lmmscore.importers.layouts import (
    IMAGE_ROLES,
    Choices,
    FolderTree,
    Found,
    FoundItem,
    Guess,
    LayoutError,
    find_column,
    json_in,
    plain,
    role_of,
)
from lmmscore.tables import defuse, text_row, text_rows

# --------------------------------------------------------------------------------------------------
# Instructions for the items a layout found, from whatever table there is.
# --------------------------------------------------------------------------------------------------

Row = dict[str, str]

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".yaml", ".yml", ".xlsx")


def read(tree: FolderTree, choices: Choices, guess: Guess) -> Found:
    """Return what a layout finds, with instructions from wherever they can be had."""
    found = guess.read()
    if tree.unusable:
        names = ", ".join(tree.unusable[:3])
        found.notes.append(f"ignored files whose names are not text: {names}")

    if tree.linked:
        names = ", ".join(tree.linked[:3])
        found.notes.append(f"ignored folders that are links: {names}; copy or move the pictures in")

    found.notes += _notes_on_namesakes(tree, found)

    # What a layout knows itself is never replaced by a table that happens to lie there.
    without = [item for item in found.items if not item.instruction]
    if without and choices.instructions is None:
        _from_tables_beside(tree, found, without, choices)
    elif without and choices.instructions not in found.read:
        _from_given(found, without, choices)

    for item in found.items:
        item.instruction = item.instruction or choices.instruction or ""

    return found


def _notes_on_namesakes(tree: FolderTree, found: Found) -> list[str]:
    """Return a note for each method of which a second folder has edits that another has too.

    Nothing else would tell which of run1/A/1.png and run2/A/1.png is judged.
    """
    used: set[Path] = set()
    edits: set[tuple[str, ...]] = set()
    for item in found.items:
        used |= {*item.images.values(), *item.edits.values()}
        for method, edit in item.edits.items():
            edits.add(_below(method, edit.parts))

    ignored: dict[str, list[str]] = {}
    for path in tree.images:
        for method in set(found.methods).intersection(path.parts[:-1]):
            if _below(method, path.parts) in edits and tree.real(path) not in used:
                ignored.setdefault(method, []).append(str(path))

    notes = []
    for method, paths in ignored.items():
        pictures = f"{counted(len(paths), 'picture')} ignored: {listed(paths)}"
        notes.append(f"{method}: {pictures}; another folder of this name has them too")

    return notes


def _below(folder: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the end of a path from the last folder of that name on; empty without one."""
    places = [place for place, part in enumerate(parts[:-1]) if part == folder]
    return parts[places[-1] :] if places else ()


def _from_given(found: Found, without: list[FoundItem], choices: Choices) -> None:
    """Take instructions from the table that the user named. Raises where it knows no item."""
    path = choices.instructions
    assert path is not None
    rows = read_table(path)
    if not fill_in(without, rows, choices, str(path)):
        columns = ", ".join(rows[0]) if rows else "none"
        raise LayoutError(
            f"{path}: no row belongs to any item (ids such as {without[0].id!r}; "
            f"columns: {columns}); name the columns with --id-column and --instruction-column"
        )

    _note_read(found, without, path)


def _from_tables_beside(
    tree: FolderTree, found: Found, without: list[FoundItem], choices: Choices
) -> None:
    """Try every table at the top of the folder and take the one that knows most items."""
    best: tuple[int, Path | None, list[Row]] = (0, None, [])
    for path in likely_tables(tree):
        try:
            rows = read_table(path)
            if path.absolute() == choices.earlier_items:
                rows = _still_valid(rows, choices, found.notes)

            trial = [replace(item, fields=dict(item.fields)) for item in without]
            known = fill_in(trial, rows, choices, str(path))
        except FileProblem as error:
            # Any file may lie beside the pictures, but a spreadsheet was meant to be read.
            if path.suffix.lower() in {".csv", ".tsv", ".xlsx"}:
                found.notes.append(f"not used for instructions: {error}")

            continue

        if known > best[0]:
            best = (known, path, rows)

    _, chosen, rows = best
    if chosen is not None:
        fill_in(without, rows, choices, str(chosen))
        _note_read(found, without, chosen)


def _note_read(found: Found, filled: list[FoundItem], path: Path) -> None:
    """Note the table that was used; a row may know an item and still have no instruction for it."""
    found.read.append(path)
    known = sum(bool(item.instruction) for item in filled)
    found.notes.append(
        f"instructions of {known} of {counted(len(found.items), 'item')} from {path}"
    )


def _still_valid(rows: list[Row], choices: Choices, notes: list[str]) -> list[Row]:
    """Return the rows of an earlier `init` without what the command line now replaces.

    A new --task is for all items, and what it replaces is noted. An --instruction is for those that
    have none: only where all rows share theirs, as `init` writes it, does it take its place; what
    was filled in by hand differs from row to row and stays.
    """
    replaced = set()
    instructions = {row.get("instruction") for row in rows}
    if choices.instruction is not None and len(instructions) == 1:
        replaced.add("instruction")

    if choices.task is not None:
        replaced.add("task")
        others = {str(row["task"]) for row in rows if row.get("task")} - {choices.task}
        if others:
            notes.append(f"--task {choices.task} replaces {', '.join(sorted(others))}")

    return [{key: row[key] for key in row if key not in replaced} for row in rows]


# Tables


def read_table(path: Path) -> list[Row]:
    """Return a table's rows as text, whatever file it is in. Raises FileProblem naming the file."""
    if path.is_dir() or path.suffix.lower() in {".parquet", ".arrow"}:
        return text_rows(path)

    rows = _keyed_rows(path)
    if not rows:
        rows = [row for _, row in read_item_rows(path)]

    return [text_row(row) for row in rows]


def _keyed_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSON object: {"1082": {"prompt": …}} or {"1082": "Make it blue"}.

    The key names the item, whatever the entry calls its source. Empty for anything else.
    """
    data = json_in(path) if path.suffix.lower() == ".json" else None
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
    names = list(rows[0]) if rows else []
    columns: dict[str, str | None] = {}
    for what in ("id", "task", "instruction"):
        columns[what] = find_column(names, what, choices, where)

    if columns["instruction"] is None or columns["id"] is None:
        return 0

    table = _by_name(rows, columns["id"], columns["task"])
    known = 0
    for item in items:
        row = next((table[name] for name in _names(item) if table.get(name)), None)
        if row is not None:
            known += 1
            _take_over(item, row, columns)

    return known


def _take_over(item: FoundItem, row: Row, columns: Mapping[str, str | None]) -> None:
    """Give an item what its row says; `columns` names the ones of id, task and instruction."""
    item.instruction = row.get(columns["instruction"] or "", "")

    # A task that is only spelt otherwise keeps the spelling of its folder: templates need it.
    task = row.get(columns["task"] or "", "")
    if task and plain(task) != plain(item.task):
        item.task = task

    known = {*columns.values(), "id", "task", "instruction"}
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
    """Return what a table may call an item, the surest first."""
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


# --------------------------------------------------------------------------------------------------
# benchmark.yaml, with an items file where templates suffice.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """The files that were written."""

    benchmark: Path

    items: Path | None
    """The items file, new or the user's own; None where the items are in benchmark.yaml itself."""

    items_are_new: bool
    """Whether the items file was written, too."""

    outside_root: Path | None
    """Where the pictures are, if not inside the folder of benchmark.yaml."""


def write_benchmark(found: Found, out: Path, name: str, header: list[str], force: bool) -> Written:
    """Write the files. Raises FileProblem before it would overwrite one without `force`."""
    _widen(found)
    body: dict[str, Any] = {"name": name}
    contents: dict[Path, str] = {}
    items = None
    if found.templates and _lead_to_the_same(found):
        items = _table_that_says_it_all(found, out)
        if items is None:
            items, text = _items_file(found, out)
            contents[items] = text

        body |= {"items": items.name, "images": found.templates}
    else:
        body["items"] = [_inline(item, found.root) for item in found.items]

    if found.methods:
        body["methods"] = found.methods

    root = os.path.relpath(found.root.resolve(), out.parent.resolve())
    if root != ".":
        body["root"] = root

    outside = None
    if not found.root.resolve().is_relative_to(out.parent.resolve()):
        outside = found.root
        header = [*header, "The pictures are elsewhere: commands need --root FOLDER to read them."]

    comment = "".join(f"# {line}\n" for line in header)
    dumped = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=10_000)
    contents[out] = comment + dumped
    _write_all(contents, force)
    return Written(out, items, items in contents, outside)


def _widen(found: Found) -> None:
    """Move the root up until every picture is under it; templates speak of the old one and go."""
    paths: list[Path] = []
    for item in found.items:
        paths += [*item.images.values(), *item.edits.values()]

    if all(path.is_relative_to(found.root) for path in paths):
        return

    common = os.path.commonpath(
        [os.path.normpath(path.absolute()) for path in [found.root, *paths]]
    )
    # Relative where the user wrote it so: messages name the root.
    found.root = Path(common if found.root.is_absolute() else os.path.relpath(common))
    found.templates = {}


def _inline(item: FoundItem, root: Path) -> dict[str, Any]:
    """Return an item as benchmark.yaml writes it out, its paths relative to the root."""
    entry: dict[str, Any] = {"id": item.id, "task": item.task, "instruction": item.instruction}
    for role, path in item.images.items():
        entry[role] = os.path.relpath(path, root)

    entry["edits"] = {method: os.path.relpath(path, root) for method, path in item.edits.items()}
    fields = {name: value for name, value in item.fields.items() if value}
    if fields:
        entry["fields"] = fields

    return entry


# Templates


def _lead_to_the_same(found: Found) -> bool:
    """Whether the templates lead to exactly the pictures that were found, no more and no fewer."""
    files = PictureFiles(found.root.resolve(), lambda *_: None)

    def meant(template: str, row: dict[str, str]) -> Path | None:
        name = files.file(template, row, "", absent_ok=True)
        return None if name is None else found.root / name

    for item in found.items:
        row = {**item.fields, "id": item.id, "task": item.task}
        for role in IMAGE_ROLES:
            template = found.templates.get(role)
            picture = meant(template, row) if template else None
            # A template that leads nowhere would be reported as a missing picture.
            if picture != item.images.get(role) or (template and picture is None):
                return False

        for method in found.methods:
            edit = meant(found.templates["edit"], {**row, "method": method})
            if edit != item.edits.get(method):
                return False

    return True


# Files


def _table_that_says_it_all(found: Found, out: Path) -> Path | None:
    """Return the user's own table where it can serve as the items file just as it is."""
    if len(found.read) != 1:
        return None

    table = found.read[0]
    beside = table.absolute().parent == out.absolute().parent
    if not beside or table.suffix not in {".csv", ".tsv", ".jsonl"}:
        return None

    wanted = {}
    for item in found.items:
        wanted[item.id] = {**item.fields, "task": item.task, "instruction": item.instruction}

    rows = [row for _, row in read_item_rows(table)]
    if sorted(str(row.get("id", "")) for row in rows) != sorted(wanted):
        return None

    # What the table must say as it was understood here; its other columns may say anything.
    columns = {"task", "instruction"}
    for template in found.templates.values():
        columns.update(SLOT.findall(template))

    columns -= {"id", "method"}
    for row in rows:
        item_says = wanted[str(row["id"])]
        if any(str(row.get(column, "")) != item_says.get(column) for column in columns):
            return None

    return table


def _items_file(found: Found, out: Path) -> tuple[Path, str]:
    """Return the items file and its text: CSV, or JSON lines where a cell would be run."""
    fields = list(dict.fromkeys(name for item in found.items for name in item.fields))
    rows = []
    for item in found.items:
        row = {"id": item.id, "task": item.task, "instruction": item.instruction}
        row |= {name: item.fields.get(name, "") for name in fields}
        rows.append(row)

    stem = "benchmark-items" if _foreign(out, "items") else "items"
    # A quote before the text would become part of the instruction.
    if any(defuse(value) != value for row in rows for value in row.values()):
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        return out.parent / f"{stem}.jsonl", "".join(lines)

    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, ["id", "task", "instruction", *fields], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.parent / f"{stem}.csv", text.getvalue()


def _foreign(out: Path, stem: str) -> bool:
    """Whether an items file beside is the user's own, which no benchmark of ours names."""
    beside = {out.parent / f"{stem}.csv", out.parent / f"{stem}.jsonl"}
    there = {path for path in beside if path.exists()}
    return bool(there) and items_file_of(out) not in there


def items_file_of(benchmark: Path) -> Path | None:
    """Return the items file that an existing benchmark.yaml names; None without one."""
    try:
        body = yaml.safe_load(benchmark.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return None

    items = body.get("items") if isinstance(body, dict) else None
    return benchmark.parent / items if isinstance(items, str) else None


def _write_all(contents: dict[Path, str], force: bool) -> None:
    """Write the files, or none of them where one exists and is not to be overwritten."""
    taken = [path for path in contents if path.exists()]
    if taken and not force:
        raise FileProblem(f"{taken[0]}: exists; --force overwrites it, --out FILE writes elsewhere")

    for path, text in contents.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise FileProblem(
                f"{path}: {error.strerror or error}; --out FILE writes the benchmark elsewhere"
            ) from error
