"""What a layout finds in a folder, and what it may be told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from lmmscore.errors import LmmscoreError
from lmmscore.layouts.tree import Tree

DEFAULT_TASK = "all"


class LayoutError(LmmscoreError):
    """A folder that cannot be made out; says what was seen, what was expected and what to type."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user said rather than left to be guessed."""

    source: str | None = None
    """Which folder holds the sources, by name or by path."""
    task: str | None = None
    language: str | None = None
    split: str | None = None
    instructions: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    """Column names by what they hold: id, task, instruction, source, reference, marked, method."""
    edit_columns: tuple[str, ...] = ()
    """`COLUMN` or `METHOD=COLUMN`."""
    pictures: Path | None = None
    """Where pictures that are not files yet are written to."""
    progress: Callable[[str, int, int], None] = lambda *_: None
    """Called with what is being done, how much of it is done, and how much there is."""


@dataclass(slots=True)
class FoundItem:
    """An item as found: its pictures are real paths, its instruction may still be unknown."""

    task: str
    number: str
    """What the item is called within its task."""
    images: dict[str, Path] = field(default_factory=dict)
    edits: dict[str, Path] = field(default_factory=dict)
    instruction: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    id: str = ""


@dataclass(slots=True)
class Found:
    """Everything a layout found."""

    items: list[FoundItem]
    methods: list[str]
    root: Path
    templates: dict[str, str] = field(default_factory=dict)
    """Paths with {id}, {number}, {task}, {method} that should lead to the same pictures; may be empty."""
    notes: list[str] = field(default_factory=list)
    """What the user should know: what was left out, what is missing."""
    read: list[Path] = field(default_factory=list)
    """Tables that instructions came from."""


@dataclass(frozen=True, slots=True)
class Guess:
    """How well a folder fits a layout, from 0 to 1, and why."""

    sure: float
    why: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A way to arrange pictures in folders: how to recognise it and how to read it."""

    name: str
    looks_like: str
    """What is expected, in one line; error messages and the documentation show it."""
    look: Callable[[Tree, Choices], Guess | None]
    take: Callable[[Tree, Choices], Found]


def layout_of(module: ModuleType) -> Layout:
    """Return the layout a module describes with NAME, LOOKS_LIKE, look and take."""
    parts: Any = module
    return Layout(parts.NAME, parts.LOOKS_LIKE, parts.look, parts.take)


def natural(text: str) -> list[tuple[int, int, str]]:
    """Return a sort key by which 2 comes before 10."""
    parts = re.findall(r"\d+|\D+", text)
    return [
        (0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part)
        for part in parts
    ]


def name_items(items: Sequence[FoundItem]) -> str:
    """Give every item a unique id and return the slot by which a template names it within its task.

    Numbers that repeat from task to task become `TASK/NUMBER`, with the number kept as a column of its own.
    """
    numbers = [item.number for item in items]
    unique = len(set(numbers)) == len(numbers)
    for item in items:
        item.id = item.number if unique else f"{item.task}/{item.number}"
        if not unique:
            item.fields.setdefault("number", item.number)
    return "{id}" if unique else "{number}"


def ending(paths: Iterable[Path | PurePosixPath]) -> str:
    """Return the file type the paths share, or `.*` for any image type."""
    suffixes = {path.suffix for path in paths}
    return suffixes.pop() if len(suffixes) == 1 else ".*"


def listed(names: Iterable[object], most: int = 6) -> str:
    """Return names as `a, b, c …`."""
    words = [str(name) for name in names]
    return ", ".join(words[:most]) + (f" … ({len(words)} in all)" if len(words) > most else "")


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return `1 item`, `2 items`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
