"""A Hugging Face data set saved to disk, or Parquet files, with image columns.

Pictures are written as files once, beside benchmark.yaml, since a judge is shown files. A row is an item with a column
for each method's edit; or, where a column names the method, a row is an edit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmmscore.errors import FileProblem, nearest
from lmmscore.layouts.arrow import Columns, columns_of, count_rows, data_files, rows
from lmmscore.layouts.base import (
    DEFAULT_TASK,
    Choices,
    Found,
    FoundItem,
    Guess,
    LayoutError,
    counted,
    ending,
    listed,
)
from lmmscore.layouts.names import role_of
from lmmscore.layouts.tables import find_column, plain
from lmmscore.layouts.tree import Tree

NAME = "dataset"
LOOKS_LIKE = ".parquet files, or .arrow files written by datasets' save_to_disk, with image columns"

_EDITED = {"edited", "edit", "output", "result", "generated", "prediction", "after"}


@dataclass(slots=True)
class _Plan:
    """Which column is what."""

    text: dict[str, str | None]
    roles: dict[str, str] = field(default_factory=dict)
    edits: dict[str, str] = field(default_factory=dict)
    """Columns by method; with a method column, one column under the name `""`."""
    left_out: list[str] = field(default_factory=list)


def look(tree: Tree, _: Choices) -> Guess | None:
    """Guess from the files' types; a folder of pictures that also has a Parquet file is taken for what it is."""
    files = tree.named(".arrow", ".parquet")
    if not files:
        return None
    kind = "saved by datasets" if any(path.suffix == ".arrow" for path in files) else "Parquet"
    sure = 0.9 if not tree.images else 0.4
    return Guess(
        sure, f"{counted(len(files), 'data file')} ({listed((p.name for p in files), 2)}), {kind}"
    )


def take(tree: Tree, choices: Choices) -> Found:
    """Sort the columns, then write out the pictures of every row."""
    path = tree.real(tree.files[0]) if len(tree.files) == 1 else tree.root
    files = data_files(path, choices.split)
    if not files:
        raise LayoutError(f"{tree.root}: expected {LOOKS_LIKE}; seen: {tree.summary()}")
    columns = columns_of(files[0])
    plan = _plan(columns, choices, str(files[0]))
    if choices.pictures is None:
        raise LayoutError(f"{tree.root}: no folder to write the pictures of the data set to")
    extractor = _Extractor(plan, columns, choices, tree.root)
    total = count_rows(files)
    wanted = [*plan.roles.values(), *plan.edits.values(), *columns.text]
    for number, row in enumerate(rows(files, list(dict.fromkeys(wanted))), 1):
        extractor.add(number, row)
        choices.progress("writing pictures", number, total)
    return extractor.found()


def _plan(columns: Columns, choices: Choices, where: str) -> _Plan:
    """Sort the columns: as asked, else by their names."""
    for asked in (*(choices.columns.get(role) for role in ("source", "reference", "marked")),):
        _refuse_unknown(asked, columns.images, where)
    text = {
        what: find_column(columns.text, what, choices, where)
        for what in ("id", "task", "instruction", "method")
    }
    plan = _Plan(text)
    for role in ("source", "reference", "marked"):
        likely = [name for name in columns.images if _role(name) == role]
        column = choices.columns.get(role) or next(iter(likely), None)
        if column is not None:
            plan.roles[role] = column
    if "source" not in plan.roles and "image" in columns.images:
        plan.roles["source"] = "image"
    _plan_edits(plan, columns, choices, where)
    used = {*plan.roles.values(), *plan.edits.values()}
    plan.left_out = [name for name in columns.images if name not in used]
    if not plan.roles and not plan.edits:
        seen = ", ".join((*columns.images, *columns.text)) or "none"
        raise LayoutError(
            f"{where}: no image column; columns: {seen}. Name it with --source-column"
        )
    return plan


def _plan_edits(plan: _Plan, columns: Columns, choices: Choices, where: str) -> None:
    free = [name for name in columns.images if name not in plan.roles.values() and not _role(name)]
    if choices.edit_columns:
        for given in choices.edit_columns:
            method, _, column = given.rpartition("=")
            _refuse_unknown(column, columns.images, where)
            plan.edits[
                "" if plan.text["method"] and not method else method or _method_name(column)
            ] = column
    elif plan.text["method"]:
        likely = [name for name in free if _bare(name) in _EDITED] or free
        if likely:
            plan.edits[""] = likely[0]
    else:
        plan.edits = {_method_name(name): name for name in free if "mask" not in name.lower()}


def _refuse_unknown(column: str | None, known: tuple[str, ...], where: str) -> None:
    if column is not None and column not in known:
        listing = ", ".join(known) or "none"
        raise FileProblem(
            f"{where}: no image column {column!r}{nearest(column, known)}; image columns: {listing}"
        )


def _bare(name: str) -> str:
    return re.sub(r"^(image|img)_|_(image|img|images|raw|png|jpg)$", "", plain(name))


def _role(name: str) -> str | None:
    return role_of(plain(name)) or role_of(_bare(name)) or role_of(_bare(_bare(name)))


def _method_name(column: str) -> str:
    return (
        re.sub(
            r"(?i)^(image|img|edit|edited|output)[_.-]|[_.-](image|img|edit|edited|output)$",
            "",
            column,
        )
        or column
    )


class _Extractor:
    """Writes the pictures of rows as files and gathers the items they belong to."""

    def __init__(self, plan: _Plan, columns: Columns, choices: Choices, root: Path) -> None:
        assert choices.pictures is not None
        self.plan, self.columns, self.choices, self.root = plan, columns, choices, root
        self.folder = choices.pictures
        self.items: dict[str, FoundItem] = {}
        self.methods: dict[str, None] = {}
        self.files: dict[str, str] = {}
        self.missing: list[str] = []

    def add(self, number: int, row: dict[str, Any]) -> None:
        """Take up one row."""
        text = {
            what: _text(row.get(column)) if column else ""
            for what, column in self.plan.text.items()
        }
        name = text["id"] or str(number)
        if name in self.items and not self.plan.text["method"]:
            name = f"{name}#{number}"
        item = self.items.setdefault(
            name, FoundItem(text["task"] or self.choices.task or DEFAULT_TASK, name, id=name)
        )
        item.instruction = item.instruction or text["instruction"]
        for column in self.columns.text:
            if column not in self.plan.text.values() and plain(column) not in {
                "id",
                "task",
                "instruction",
            }:
                item.fields.setdefault(plain(column), _text(row.get(column)))
        for role, column in self.plan.roles.items():
            self._picture(item, item.images, role, role, row.get(column))
        for method, column in self.plan.edits.items():
            method = method or text["method"]
            self.methods.setdefault(method)
            self._picture(item, item.edits, method, f"edits/{_safe(method)}", row.get(column))

    def _picture(
        self, item: FoundItem, into: dict[str, Path], key: str, folder: str, value: Any
    ) -> None:
        if key in into or value is None:
            return
        data = value.get("bytes") if isinstance(value, dict) else value
        path = value.get("path") if isinstance(value, dict) else None
        if data is None and path and (self.root / path).is_file():
            into[key] = self.root / path
        elif data is None:
            self.missing.append(f"{item.id} ({key})")
        else:
            into[key] = self._write(self.folder / folder, self._file_name(item.id), data)

    def _file_name(self, item: str) -> str:
        """Return a file name for an id that no other id has, even where names ignore case."""
        if item not in self.files:
            name, taken = _safe(item), {name.lower() for name in self.files.values()}
            while name.lower() in taken:
                name += "_"
            self.files[item] = name
        return self.files[item]

    def _write(self, folder: Path, name: str, data: bytes) -> Path:
        path = folder / f"{name}{suffix_of(data)}"
        try:
            if not path.is_file() or path.stat().st_size != len(data):
                folder.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        except OSError as error:
            raise FileProblem(
                f"{path}: {error.strerror or error}; --out FILE writes elsewhere"
            ) from error
        return path

    def found(self) -> Found:
        """Return the items with templates over the files that were written."""
        items = list(self.items.values())
        notes = [f"left out the image column {name}" for name in self.plan.left_out]
        if self.missing:
            notes.append(
                f"{counted(len(self.missing), 'picture')} not in the data: {listed(self.missing, 3)}"
            )
        if not self.methods:
            notes.append(
                "no column of edits; name them with --edit-column METHOD=COLUMN, or put pictures in "
                f"{self.folder.name}/edits/METHOD/"
            )
        templates = {
            "edit": "edits/{method}/{id}" + ending(p for i in items for p in i.edits.values())
        }
        for role in self.plan.roles:
            templates[role] = f"{role}/{{id}}" + ending(
                i.images[role] for i in items if role in i.images
            )
        return Found(items, list(self.methods), self.folder, templates, notes)


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _safe(name: str) -> str:
    """Return a name every file system takes."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._")[:100] or "item"


def suffix_of(data: bytes) -> str:
    """Return the file type the bytes begin like."""
    starts = {
        b"\x89PNG": ".png",
        b"\xff\xd8\xff": ".jpg",
        b"GIF8": ".gif",
        b"BM": ".bmp",
        b"II*": ".tif",
        b"MM": ".tif",
    }
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ".webp"
    if data[4:12] in {b"ftypavif", b"ftypavis"}:
        return ".avif"
    return next((suffix for start, suffix in starts.items() if data.startswith(start)), ".png")
