"""A Hugging Face data set saved to disk, or Parquet files, with image columns.

Pictures are written as files once, beside benchmark.yaml, since a judge is shown files. A row is
an item with a column for each method's edit; or, where a column names the method, a row is an edit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmmscore.errors import FileProblem, alternatives, counted, listed
from lmmscore.importers.layouts import (
    DEFAULT_TASK,
    IMAGE_ROLES,
    Choices,
    FolderTree,
    Found,
    FoundItem,
    Guess,
    LayoutError,
    ending,
    file_inside,
    find_column,
    layout,
    plain,
    role_of,
)
from lmmscore.tables import (
    DatasetColumns,
    count_rows,
    data_files,
    dataset_columns,
    dataset_rows,
)

_EDITED = {"edited", "edit", "output", "result", "generated", "prediction", "after"}

_FILE_STARTS = {
    b"\x89PNG": ".png",
    b"\xff\xd8\xff": ".jpg",
    b"GIF8": ".gif",
    b"BM": ".bmp",
    b"II*": ".tif",
    b"MM": ".tif",
}


@dataclass(slots=True)
class _ColumnPlan:
    """Which column is what."""

    text: dict[str, str | None]
    roles: dict[str, str] = field(default_factory=dict)

    edits: dict[str, str] = field(default_factory=dict)
    """Columns by method; with a method column, one column under the name `""`."""

    left_out: list[str] = field(default_factory=list)


LOOKS_LIKE = ".parquet files, or .arrow files written by datasets' save_to_disk, with image columns"


@layout("dataset", LOOKS_LIKE)
def look(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from the files' types. Pictures next to a Parquet file make a data set less likely."""
    files = tree.named(".arrow", ".parquet")
    if not files:
        return None

    kind = "saved by datasets" if any(path.suffix == ".arrow" for path in files) else "Parquet"
    names = listed([path.name for path in files], 3)
    sure = 0.9 if not tree.images else 0.4
    why = f"{counted(len(files), 'data file')} ({names}), {kind}"
    return Guess(sure, why, lambda: _found(tree, choices))


def _found(tree: FolderTree, choices: Choices) -> Found:
    """Sort the columns, then write out the pictures of every row."""
    path = tree.real(tree.files[0]) if len(tree.files) == 1 else tree.root
    files = data_files(path, choices.split)
    if not files:
        raise tree.misfit(LOOKS_LIKE)

    if choices.pictures is None:
        raise LayoutError(f"{tree.root}: no folder to write the pictures of the data set to")

    columns = dataset_columns(files[0])
    plan = _plan(columns, choices, str(files[0]))
    extractor = _Extractor(plan, columns, choices, tree.root)
    wanted = dict.fromkeys([*plan.roles.values(), *plan.edits.values(), *columns.text])
    total = count_rows(files)
    for number, row in enumerate(dataset_rows(files, list(wanted)), 1):
        extractor.add(number, row)
        choices.progress("writing pictures", number, total)

    return extractor.found()


# Which column is what


def _plan(columns: DatasetColumns, choices: Choices, where: str) -> _ColumnPlan:
    """Sort the columns: as asked, else by their names."""
    plan = _ColumnPlan({})
    for what in ("id", "task", "instruction", "method"):
        plan.text[what] = find_column(columns.text, what, choices, where)

    for role in IMAGE_ROLES:
        asked = choices.columns.get(role)
        _refuse_unknown(asked, columns.images, where)
        likely = [name for name in columns.images if _role(name) == role]
        column = asked or next(iter(likely), None)
        if column is not None:
            plan.roles[role] = column

    # Many data sets call the source just `image`.
    if "source" not in plan.roles and "image" in columns.images:
        plan.roles["source"] = "image"

    _plan_edits(plan, columns, choices, where)
    if not plan.roles and not plan.edits:
        seen = ", ".join((*columns.images, *columns.text)) or "none"
        raise LayoutError(
            f"{where}: no image column; columns: {seen}. Name it with --source-column"
        )

    used = {*plan.roles.values(), *plan.edits.values()}
    plan.left_out = [name for name in columns.images if name not in used]
    return plan


def _plan_edits(plan: _ColumnPlan, columns: DatasetColumns, choices: Choices, where: str) -> None:
    """Sort out which columns hold edits: as asked, else whatever images are left."""
    if choices.edit_columns:
        for given in choices.edit_columns:
            method, _, column = given.rpartition("=")
            _refuse_unknown(column, columns.images, where)
            by_row = plan.text["method"] is not None and not method
            plan.edits["" if by_row else method or _method_name(column)] = column

        return

    free = [name for name in columns.images if name not in plan.roles.values() and not _role(name)]
    if plan.text["method"] is not None:
        likely = [name for name in free if _bare(name) in _EDITED] or free
        if likely:
            plan.edits[""] = likely[0]

        return

    # A mask says where to edit; it is nobody's edit.
    for name in free:
        if "mask" not in name.lower():
            plan.edits[_method_name(name)] = name


def _refuse_unknown(column: str | None, known: tuple[str, ...], where: str) -> None:
    if column is not None and column not in known:
        there_are = alternatives(column, known, "image columns")
        raise FileProblem(f"{where}: no image column {column!r}{there_are}")


def _bare(name: str) -> str:
    """Return a column's name without the words that only say that it holds images."""
    return re.sub(r"^(image|img)_|_(image|img|images|raw|png|jpg)$", "", plain(name))


def _role(name: str) -> str | None:
    # Twice bare: `image_source_raw` has such a word on both sides.
    return role_of(plain(name)) or role_of(_bare(name)) or role_of(_bare(_bare(name)))


def _method_name(column: str) -> str:
    words = r"(?:image|img|edit|edited|output)"
    return re.sub(rf"(?i)^{words}[_.-]|[_.-]{words}$", "", column) or column


# Rows to pictures


class _Extractor:
    """Writes the pictures of rows as files and gathers the items they belong to."""

    def __init__(
        self, plan: _ColumnPlan, columns: DatasetColumns, choices: Choices, root: Path
    ) -> None:
        assert choices.pictures is not None
        self.plan = plan
        self.columns = columns
        self.choices = choices
        self.root = root
        self.folder = choices.pictures
        self.items: dict[str, FoundItem] = {}
        self.methods: dict[str, None] = {}
        self.names: dict[str, str] = {}
        self.taken: set[str] = set()
        self.missing: list[str] = []
        self.repeated: list[str] = []
        self.outside: list[str] = []

    def add(self, number: int, row: dict[str, Any]) -> None:
        """Take up one row."""
        text = {}
        for what, column in self.plan.text.items():
            text[what] = _text(row.get(column)) if column else ""

        item = self._item(number, text)
        item.instruction = item.instruction or text["instruction"]
        known = {*self.plan.text.values(), "id", "task", "instruction"}
        for column in self.columns.text:
            if column not in known and plain(column) not in known:
                item.fields.setdefault(plain(column), _text(row.get(column)))

        for role, column in self.plan.roles.items():
            self._picture(item, item.images, role, role, row.get(column))

        for key, column in self.plan.edits.items():
            method = key or text["method"]
            self.methods.setdefault(method)
            if method in item.edits:
                self.repeated.append(f"{item.id} ({method})")

            self._picture(item, item.edits, method, f"edits/{_safe(method)}", row.get(column))

    def _item(self, number: int, text: dict[str, str]) -> FoundItem:
        """Return the item a row belongs to, a new one where it is the first."""
        name = text["id"] or str(number)

        # Rows share an id where each is one method's edit; otherwise they are different items.
        row_per_edit = self.plan.text["method"] is not None
        if name in self.items and not row_per_edit:
            name = f"{name}#{number}"

        task = text["task"] or self.choices.task or DEFAULT_TASK
        return self.items.setdefault(name, FoundItem(task, name, id=name))

    def _picture(
        self, item: FoundItem, into: dict[str, Path], key: str, folder: str, value: Any
    ) -> None:
        """Put the picture of a cell into `into[key]`: written to `folder`, or where it lies."""
        if key in into or value is None:
            return

        # Hugging Face stores {"bytes": …, "path": …}, either of them perhaps empty.
        data, path = value, None
        if isinstance(value, dict):
            data, path = value.get("bytes"), value.get("path")

        if data is not None:
            into[key] = self._write(self.folder / folder, self._file_name(item.id), data)
            return

        inside = file_inside(self.root, path)
        if inside is not None:
            into[key] = inside
        elif path and (self.root / path).is_file():
            self.outside.append(f"{item.id} ({key}): {path}")
        else:
            self.missing.append(f"{item.id} ({key})")

    def _file_name(self, item: str) -> str:
        """Return a file name for an id that no other id has, even where names ignore case."""
        if item not in self.names:
            name = _safe(item)
            while name.lower() in self.taken:
                name += "_"

            self.names[item] = name
            self.taken.add(name.lower())

        return self.names[item]

    def _write(self, folder: Path, name: str, data: bytes) -> Path:
        """Write a picture unless it is there already, and return its path."""
        path = folder / f"{name}{suffix_of(data)}"
        try:
            # A second `init` finds most pictures as they should be.
            if not path.is_file() or path.read_bytes() != data:
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
        edits = [path for item in items for path in item.edits.values()]
        templates = {"edit": "edits/{method}/{id}" + ending(edits)}
        for role in self.plan.roles:
            images = [item.images[role] for item in items if role in item.images]
            templates[role] = f"{role}/{{id}}" + ending(images)

        return Found(items, list(self.methods), self.folder, templates, self._notes())

    def _notes(self) -> list[str]:
        notes = [f"ignored the image column {name}" for name in self.plan.left_out]
        if self.missing:
            count = counted(len(self.missing), "picture")
            notes.append(f"{count} not in the data: {listed(self.missing)}")

        if self.repeated:
            notes.append(f"more than one edit, the first was taken: {listed(self.repeated)}")

        if self.outside:
            count = counted(len(self.outside), "picture")
            notes.append(
                f"ignored {count} whose paths lead outside {self.root}: "
                f"{listed(self.outside)}; copy them into the folder if you trust the data set"
            )

        if not self.methods:
            notes.append(
                "no column of edits; name them with --edit-column METHOD=COLUMN, or put pictures "
                f"in {self.folder.name}/edits/METHOD/"
            )

        return notes


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _safe(name: str) -> str:
    """Return a name every file system takes."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._")[:100] or "item"


def suffix_of(data: bytes) -> str:
    """Return the file type the bytes begin like."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ".webp"

    if data[4:12] in {b"ftypavif", b"ftypavis"}:
        return ".avif"

    for start, suffix in _FILE_STARTS.items():
        if data.startswith(start):
            return suffix

    return ".png"
