"""Write what a layout found as benchmark.yaml, with an items file beside it where templates suffice."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lmmscore.csvsafe import defuse
from lmmscore.errors import FileProblem
from lmmscore.itemrows import read_rows
from lmmscore.layouts.base import Found, FoundItem
from lmmscore.listing import Listing


@dataclass(frozen=True, slots=True)
class Written:
    """The files that were written."""

    benchmark: Path
    items: Path | None
    """The items file, new or the user's own. None where the items stand in benchmark.yaml itself."""


def write_benchmark(found: Found, out: Path, name: str, header: list[str], force: bool) -> Written:
    """Write the files. Raises FileProblem, before anything is written, where one would be overwritten."""
    body: dict[str, Any] = {"name": name}
    _widen(found)
    root = _relative(found.root, out.parent)
    items = None
    contents: dict[Path, str] = {}
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
    if root != ".":
        body["root"] = root
    comment = "".join(f"# {line}\n" for line in header)
    dumped = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=10_000)
    contents[out] = comment + dumped
    _write_all(contents, force)
    return Written(out, items)


def _widen(found: Found) -> None:
    """Move the root up until every picture is under it; templates speak of the old one and are given up."""
    paths = [path for item in found.items for path in (*item.images.values(), *item.edits.values())]
    if not all(path.is_relative_to(found.root) for path in paths):
        try:
            found.root = Path(os.path.commonpath([found.root, *paths]))
        except ValueError as error:
            raise FileProblem(
                "sources and edits are on different drives; bring them into one folder"
            ) from error
        found.templates = {}


def _relative(root: Path, start: Path) -> str:
    try:
        return Path(os.path.relpath(root.resolve(), start.resolve())).as_posix()
    except ValueError:  # another drive, on Windows
        return root.resolve().as_posix()


def _inline(item: FoundItem, root: Path) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": item.id, "task": item.task, "instruction": item.instruction}
    entry |= {role: path.relative_to(root).as_posix() for role, path in item.images.items()}
    entry["edits"] = {
        method: path.relative_to(root).as_posix() for method, path in item.edits.items()
    }
    return entry


# Templates


def _lead_to_the_same(found: Found) -> bool:
    """Whether the templates lead to exactly the pictures that were found, no more and no fewer."""
    listing = Listing(found.root)
    for item in found.items:
        row = {**item.fields, "id": item.id, "task": item.task}
        for role in ("source", "reference", "marked"):
            template = found.templates.get(role)
            meant = _resolved(listing, found.root, template, row) if template else None
            # A template that leads nowhere would be reported as a missing picture.
            if meant != item.images.get(role) or (template and meant is None):
                return False
        for method in found.methods:
            meant = _resolved(
                listing, found.root, found.templates["edit"], {**row, "method": method}
            )
            if meant != item.edits.get(method):
                return False
    return True


def _resolved(listing: Listing, root: Path, template: str, row: dict[str, str]) -> Path | None:
    if any(name not in row for name in re.findall(r"\{(\w+)\}", template)):
        return None
    name = re.sub(r"\{(\w+)\}", lambda match: row[match[1]], template)
    if not name.endswith(".*"):
        return root / name if (root / name).is_file() else None
    return next((root / path for path in listing.pictures(name[:-2])), None)


# Files


def _table_that_says_it_all(found: Found, out: Path) -> Path | None:
    """Return the user's own table where it can serve as the items file just as it is."""
    beside = [path for path in found.read if path.absolute().parent == out.absolute().parent]
    if len(found.read) != 1 or not beside or beside[0].suffix not in {".csv", ".tsv", ".jsonl"}:
        return None
    names = {
        name for template in found.templates.values() for name in re.findall(r"\{(\w+)\}", template)
    }
    wanted = {
        item.id: {**item.fields, "task": item.task, "instruction": item.instruction}
        for item in found.items
    }
    rows = [row for _, row in read_rows(beside[0])]
    if sorted(str(row.get("id", "")) for row in rows) != sorted(wanted):
        return None
    for row in rows:
        for name in {"task", "instruction"} | names - {"id", "method"}:
            if str(row.get(name, "")) != wanted[str(row["id"])].get(name):
                return None
    return beside[0]


def _items_file(found: Found, out: Path) -> tuple[Path, str]:
    """Return the items file and its text: CSV, or JSON lines where a spreadsheet would run a cell."""
    fields = list(dict.fromkeys(name for item in found.items for name in item.fields))
    rows = [
        {"id": item.id, "task": item.task, "instruction": item.instruction}
        | {name: item.fields.get(name, "") for name in fields}
        for item in found.items
    ]
    safe = all(defuse(value) == value for row in rows for value in row.values())
    stem = "items" if not _foreign(out, found, "items") else "benchmark-items"
    if not safe:
        return out.parent / f"{stem}.jsonl", "".join(
            json.dumps(row, ensure_ascii=False) + "\n" for row in rows
        )
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, ["id", "task", "instruction", *fields], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.parent / f"{stem}.csv", text.getvalue()


def _foreign(out: Path, found: Found, stem: str) -> bool:
    """Whether an items file beside is one that instructions were read from and that no benchmark.yaml uses."""
    ours = {out.parent / f"{stem}.csv", out.parent / f"{stem}.jsonl"} & set(found.read)
    if not ours:
        return False
    try:
        text = out.read_text(encoding="utf-8")
    except OSError:
        return True
    return not any(f"items: {path.name}" in text for path in ours)


def _write_all(contents: dict[Path, str], force: bool) -> None:
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
