"""What a layout found, written as benchmark.yaml, with an items file where templates suffice."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lmmscore.benchmark import read_item_rows
from lmmscore.errors import FileProblem
from lmmscore.images import SLOT, PictureFiles
from lmmscore.importers.layouts import IMAGE_ROLES, Found, FoundItem
from lmmscore.tables import defuse


@dataclass(frozen=True, slots=True)
class Written:
    """The files that were written."""

    benchmark: Path

    items: Path | None
    """The items file, new or the user's own; None where the items are in benchmark.yaml itself."""

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
    return Written(out, items, outside)


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
