"""EditEval: one folder per task, numbered sources, and the prompts table.

Published as https://github.com/SiatMMLab/Awesome-Diffusion-Model-Based-Image-Editing-Methods.
The data set holds no edits; they are looked for as TASK/N_METHOD.png, TASK/METHOD/N.png and
METHOD/TASK/N.png. Copies of the prompts table differ, so it is read leniently: one sheet for all or
one per task; a column of tasks, a line of its own for each task, or the task in the picture's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path, PurePosixPath

from lmmscore.errors import FileProblem, counted, listed
from lmmscore.importers.layouts import (
    Choices,
    FolderTree,
    Found,
    FoundItem,
    Guess,
    ending,
    is_container,
    layout,
    methods_of,
    name_items,
    natural,
    notes_on_gaps,
    plain,
    role_of,
)
from lmmscore.tables import read_cells

TASKS = (
    "object_addition",
    "object_replacement",
    "object_removal",
    "background_change",
    "style_change",
    "texture_change",
    "action_change",
)

Key = tuple[str, str]
"""Task and number."""

_NUMBERED = re.compile(r"(?P<number>\d+)(?:[_-](?P<word>.+))?", re.DOTALL)
_DATASETS = ("dataset", "data", "editeval", "editeval_v1")


@dataclass(slots=True)
class _Pictures:
    """The pictures of the data set by task and number."""

    sources: dict[Key, PurePosixPath] = field(default_factory=dict)
    edits: dict[Key, dict[str, PurePosixPath]] = field(default_factory=dict)

    folders: dict[str, str] = field(default_factory=dict)
    """By task: the folder named after it, spelt as it is."""

    templates: set[str] = field(default_factory=set)

    @property
    def spelt_otherwise(self) -> bool:
        """Whether a folder is not named exactly like its task."""
        return any(task != folder for task, folder in self.folders.items())


@dataclass(frozen=True, slots=True)
class Prompt:
    """A row of the prompts table."""

    source: str
    target: str
    instruction: str


@dataclass(frozen=True, slots=True)
class _Prompts:
    """A prompts table as read."""

    path: Path
    by_key: dict[Key, Prompt]


@layout(
    "editeval",
    f"TASK/1.jpg, TASK/2.jpg … for tasks such as {TASKS[0]}, and the prompts table (.xlsx or .csv)",
)
def look(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from folders named after EditEval's tasks, with numbered pictures inside."""
    base = _base(tree, choices)
    pictures = _pictures(tree, base) if base is not None else None
    if base is None or pictures is None or not pictures.sources:
        return None

    table = _prompts(tree, choices)
    folders = listed([*pictures.folders.values()], len(TASKS))
    why = f"the folders {folders} are EditEval's tasks, with numbered sources"
    if table is not None:
        why += f"; {table.path.name} has their prompts"

    sure = 0.95 if table or len(pictures.folders) > 1 else 0.55
    return Guess(sure, why, lambda: _found(tree, base, pictures, table))


def _found(
    tree: FolderTree, base: PurePosixPath, pictures: _Pictures, table: _Prompts | None
) -> Found:
    """Read the sources, the prompts and whatever edits there are."""
    prompts = table.by_key if table else {}
    keys = sorted(pictures.sources, key=_natural_key)
    items = [_item(tree, key, pictures, prompts) for key in keys]
    name_items(items)
    methods = methods_of(items)
    templates = _templates(base, pictures, methods)
    notes = [*_notes(pictures, table), *notes_on_gaps(items, "TASK/N_METHOD.png")]
    return Found(items, methods, tree.root, templates, notes, [table.path] if table else [])


def _natural_key(key: Key) -> tuple[int, list[tuple[int, int, str]]]:
    place = TASKS.index(key[0]) if key[0] in TASKS else len(TASKS)
    return place, natural("/".join(key))


# Pictures


def _base(tree: FolderTree, choices: Choices) -> PurePosixPath | None:
    """Return the folder that holds the task folders of the sources."""
    parents: set[PurePosixPath] = set()
    for folder in tree.folders:
        for depth, part in enumerate(folder.parts):
            if task_named(part):
                parents.add(PurePosixPath(*folder.parts[:depth]))

    if choices.source:
        asked = PurePosixPath(choices.source)
        return asked if asked in parents else None

    # Several folders may hold the tasks: the data set, and each method that kept its folders.
    named = sorted(parent for parent in parents if parent.parts)
    likely = [parent for parent in named if role_of(parent.name) == "source"]
    likely += [parent for parent in named if parent.name.lower() in _DATASETS]
    if likely:
        return likely[0]

    here = PurePosixPath()
    if here in parents:
        return here

    return parents.pop() if len(parents) == 1 else None


def _pictures(tree: FolderTree, base: PurePosixPath) -> _Pictures:
    """Return the pictures below folders that are named after tasks, by task and number."""
    found = _Pictures()
    for path in tree.images:
        for depth, part in enumerate(path.parts[:-1]):
            task = task_named(part)
            if task:
                _place(found, base, path, depth, task)
                break

    return found


def _place(
    found: _Pictures, base: PurePosixPath, path: PurePosixPath, depth: int, task: str
) -> None:
    """Add a picture by its path, which reads ABOVE/TASK/…BELOW with the task at `depth`."""
    above, below = path.parts[:depth], path.parts[depth + 1 :]
    match = _NUMBERED.fullmatch(path.stem)
    if match is None or len(below) > 2:
        return

    key = (task, match["number"])
    word = match["word"] or ""
    in_base = PurePosixPath(*above) == base
    plain_or_source = not word or role_of(word) == "source"
    if in_base and len(below) == 1 and plain_or_source:
        found.folders[task] = path.parts[depth]
        found.sources[key] = path
        return

    if not in_base:
        method, template = _in_folder_of_method(above)
    elif len(below) == 2 and not word:
        method, template = below[0], f"{base}/{{folder}}/{{method}}/{{number}}"
    else:
        method, template = word, f"{base}/{{folder}}/{{number}}_{{method}}"

    if method:
        found.edits.setdefault(key, {}).setdefault(method, path)
        found.templates.add(template.removeprefix("./"))


def _in_folder_of_method(above: tuple[str, ...]) -> tuple[str, str]:
    """Return the method of METHOD/TASK/N.png, empty where no folder names one, and its template."""
    method = next((part for part in reversed(above) if not is_container(part)), "")
    spelt = ["{method}" if part == method else part for part in above]
    return method, "/".join([*spelt, "{folder}/{number}"])


def _item(tree: FolderTree, key: Key, pictures: _Pictures, prompts: dict[Key, Prompt]) -> FoundItem:
    item = FoundItem(key[0], key[1], {"source": tree.real(pictures.sources[key])})
    for method, path in sorted(pictures.edits.get(key, {}).items()):
        item.edits[method] = tree.real(path)

    prompt = prompts.get(key)
    if prompt is not None:
        item.instruction = prompt.instruction
        item.fields = {"source_prompt": prompt.source, "target_prompt": prompt.target}

    item.fields["number"] = key[1]
    if pictures.spelt_otherwise:
        item.fields["folder"] = pictures.folders[key[0]]

    return item


def _templates(base: PurePosixPath, pictures: _Pictures, methods: list[str]) -> dict[str, str]:
    """Return templates; none where edits are kept in more than one way."""
    if len(pictures.templates) > 1:
        return {}

    folder = "{folder}" if pictures.spelt_otherwise else "{task}"
    above = f"{base}/" if base.parts else ""
    words = {path.stem.partition("_")[1:] for path in pictures.sources.values()}
    suffix = "".join(words.pop()) if len(words) == 1 else ""
    source = f"{above}{folder}/{{number}}{suffix}{ending(pictures.sources.values())}"

    edits = [path for by_method in pictures.edits.values() for path in by_method.values()]
    edit = next(iter(pictures.templates), f"{above}{{folder}}/{{number}}_{{method}}")
    edit = edit.replace("{folder}", folder) + (ending(edits) if methods else ".*")
    return {"source": source, "edit": edit}


def _notes(pictures: _Pictures, table: _Prompts | None) -> list[str]:
    notes = []
    if table is None:
        notes.append("no prompts table found; give it with --instructions FILE (.xlsx or .csv)")

    prompts = table.by_key if table else {}
    lost = ["/".join(key) for key in prompts if key not in pictures.sources]
    if lost:
        count = counted(len(lost), "prompt")
        notes.append(f"{count} without a picture ignored: {listed(lost)}")

    strays = ["/".join(key) for key in pictures.edits if key not in pictures.sources]
    if strays:
        notes.append(f"edits without a source ignored: {listed(strays)}")

    return notes


# The prompts table

_COLUMN_WORDS = {
    "instruction": r"instruct",
    "source": r"source|original|src",
    "target": r"target|edited_prompt",
    "task": r"task|type|categor",
    "id": r"^(id|image|image_.*|.*_id|no|number|index|file.*|name|picture|key)$",
}


def _prompts(tree: FolderTree, choices: Choices) -> _Prompts | None:
    """Return the table with the most prompts."""
    if choices.instructions is not None:
        return _Prompts(choices.instructions, read_prompts(choices.instructions))

    best = max(_readable(tree), key=lambda table: len(table.by_key), default=None)
    return best if best and best.by_key else None


def _readable(tree: FolderTree) -> Iterator[_Prompts]:
    """Yield every table that can be read, whatever it holds."""
    for path in tree.named(".xlsx", ".csv", ".tsv"):
        try:
            yield _Prompts(tree.real(path), read_prompts(tree.real(path)))
        except FileProblem:
            # Some other table; where it matters, `check` says that instructions are missing.
            continue


def task_named(text: str) -> str | None:
    """Return the task a folder or cell is named after; `object_removel`, as published, counts."""
    name = re.sub(r"_?\d+$", "", plain(text))
    return next(iter(get_close_matches(name, TASKS, n=1, cutoff=0.9)), None)


def read_prompts(path: Path) -> dict[Key, Prompt]:
    """Return the prompts by task and number; empty where the table is of another kind."""
    prompts: dict[Key, Prompt] = {}
    for title, rows in read_cells(path).items():
        columns = _columns(rows)
        if columns is not None:
            prompts |= _Sheet(columns, task_named(title) or "").read(rows)

    return prompts


def _columns(rows: list[list[str]]) -> dict[str, int] | None:
    """Return which column holds what: by the line that speaks of instructions, or by order."""
    for row in rows[:5]:
        columns = _named_columns([plain(cell) for cell in row])
        if "instruction" in columns:
            return columns

    widest = 0
    for row in rows:
        filled = [cell for cell in row if cell]
        widest = max(widest, len(filled))

    if widest == 4:
        return {"id": 0, "source": 1, "target": 2, "instruction": 3}

    return None


def _named_columns(names: list[str]) -> dict[str, int]:
    """Return which column holds what by the words of a header."""
    columns: dict[str, int] = {}
    for what, expression in _COLUMN_WORDS.items():
        places = [place for place, name in enumerate(names) if re.search(expression, name)]
        if places:
            columns[what] = places[0]

    free = [place for place in range(len(names)) if place not in columns.values()]
    if "id" not in columns and free:
        columns["id"] = free[0]

    return columns


class _Sheet:
    """One sheet read from top to bottom: the task of a line may stand lines above it."""

    def __init__(self, columns: dict[str, int], task: str) -> None:
        self.columns = columns
        self.task = task
        self.count = 0

    def read(self, rows: list[list[str]]) -> dict[Key, Prompt]:
        """Return the prompts of a sheet by task and number."""
        prompts = {}
        for row in rows:
            # A line with a task alone, perhaps in merged cells, heads the lines below it.
            filled = {cell for cell in row if cell}
            heading = task_named(next(iter(filled))) if len(filled) == 1 else None
            if heading:
                self._enter(heading)
                continue

            instruction = self._cell(row, "instruction")
            if not instruction or _is_heading(instruction):
                continue

            self._enter(task_named(self._cell(row, "task")))
            number = self._number(self._cell(row, "id"))
            if self.task:
                prompts[self.task, number] = Prompt(
                    self._cell(row, "source"), self._cell(row, "target"), instruction
                )

        return prompts

    def _cell(self, row: list[str], what: str) -> str:
        index = self.columns.get(what)
        return row[index] if index is not None and index < len(row) else ""

    def _enter(self, task: str | None) -> None:
        if task and task != self.task:
            self.task = task
            self.count = 0

    def _number(self, cell: str) -> str:
        """Return the picture's number; without one, its place among the lines of its task."""
        stem = re.sub(r"\.\w+$", "", cell)
        self._enter(task_named(re.sub(r"[/\\].*$", "", stem)))
        digits = re.search(r"(\d+)(?:_src)?$", stem)
        self.count += 1
        return str(int(digits[1])) if digits else str(self.count)


def _is_heading(instruction: str) -> bool:
    return len(instruction) < 30 and "instruct" in plain(instruction)
