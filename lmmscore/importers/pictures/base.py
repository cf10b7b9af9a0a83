"""What a layout is, what it finds in a folder, and the registry of all layouts."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from lmmscore.errors import LmmscoreError
from lmmscore.registry import Registry

if TYPE_CHECKING:
    from lmmscore.importers.pictures.folder_tree import FolderTree

DEFAULT_TASK = "all"

IMAGE_ROLES = ("source", "reference", "marked")
"""The kinds of picture that folders and columns are recognised as, besides edits."""

ENOUGH = 0.5
"""Below this, a guess is worth a hint but not a benchmark."""

CLEARLY = 0.03
"""A layout must be surer than the next one by this much to be taken without asking."""


class LayoutError(LmmscoreError):
    """A folder that fits no layout. Says what was seen, what was expected and what to type."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user said rather than left to be recognised."""

    source: str | None = None
    """Which folder holds the sources, by name or by path."""

    task: str | None = None
    """The task category of items that are in no task folder."""

    instruction: str | None = None
    """The instruction for every item that has none."""

    language: str | None = None
    split: str | None = None
    instructions: Path | None = None

    earlier_items: Path | None = None
    """The items file of the benchmark.yaml that is about to be overwritten."""

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
    """An item as found. Its pictures are real paths; its instruction may still be unknown."""

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
    """Paths with {id}, {number}, {task}, {method} for the same pictures; may be empty."""

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
class PictureLayout:
    """A way to arrange pictures in folders: how to recognise it and how to read it."""

    name: str
    looks_like: str
    """What is expected, in one line; error messages and the documentation show it."""

    look: Callable[[FolderTree, Choices], Guess | None]
    take: Callable[[FolderTree, Choices], Found]


_PACKAGE = "lmmscore.importers.pictures.layouts"

LAYOUTS: Registry[PictureLayout] = Registry("layout", _PACKAGE)
"""Each file in layouts/ registers the layout that is named like it."""


def layout_names() -> list[str]:
    """Return the names of all layouts without importing any of them."""
    folder = Path(__file__).with_name("layouts")
    return sorted(module.name for module in pkgutil.iter_modules([str(folder)]))


def all_layouts() -> dict[str, PictureLayout]:
    """Return every layout by name."""
    return {name: LAYOUTS.get(name) for name in LAYOUTS.names()}


def choose(
    tree: FolderTree, choices: Choices, name: str | None = None
) -> tuple[PictureLayout, Guess]:
    """Return the layout of a folder and why. Raises LayoutError where none or several fit."""
    if name is not None:
        layout = LAYOUTS.get(name)
        return layout, layout.look(tree, choices) or Guess(0.0, "as you said")

    layouts = all_layouts()
    guesses: list[tuple[Guess, PictureLayout]] = []
    for layout in layouts.values():
        guess = layout.look(tree, choices)
        if guess is not None:
            guesses.append((guess, layout))

    guesses.sort(key=lambda pair: -pair[0].sure)

    if not guesses or guesses[0][0].sure < ENOUGH:
        raise LayoutError(_nothing_fits(tree, guesses, layouts))

    if len(guesses) > 1 and guesses[0][0].sure - guesses[1][0].sure < CLEARLY:
        fits = "\n".join(f"  --layout {layout.name}: {guess.why}" for guess, layout in guesses[:3])
        raise LayoutError(f"{tree.root}: several layouts fit equally; choose one:\n{fits}")

    guess, layout = guesses[0]
    return layout, guess


def _nothing_fits(
    tree: FolderTree,
    guesses: list[tuple[Guess, PictureLayout]],
    layouts: Mapping[str, PictureLayout],
) -> str:
    lines = [f"{tree.root}: no known layout; seen: {tree.summary()}"]
    if guesses:
        guess, layout = guesses[0]
        lines.append(
            f"nearest is --layout {layout.name}: {guess.why}; "
            "name the folder of sources with --source FOLDER"
        )

    lines.append("expected one of:")
    lines += [f"  --layout {layout.name}: {layout.looks_like}" for layout in layouts.values()]
    return "\n".join(lines)


# What layouts share


def natural(text: str) -> list[tuple[int, int, str]]:
    """Return a sort key by which 2 comes before 10."""
    key = []
    for part in re.findall(r"\d+|\D+", text):
        if part.isascii() and part.isdigit():
            key.append((0, int(part), part))
        else:
            key.append((1, 0, part))

    return key


def name_items(items: Sequence[FoundItem]) -> str:
    """Give every item a unique id; return the slot by which a template names it within its task.

    Numbers that repeat across tasks become `TASK/NUMBER`, with the number as a field of its own.
    """
    numbers = [item.number for item in items]
    if len(set(numbers)) == len(numbers):
        for item in items:
            item.id = item.number

        return "{id}"

    for item in items:
        item.id = f"{item.task}/{item.number}"
        item.fields.setdefault("number", item.number)

    return "{number}"


def ending(paths: Iterable[Path | PurePosixPath]) -> str:
    """Return the file type the paths share, or `.*` for any image type."""
    suffixes = {path.suffix for path in paths}
    return suffixes.pop() if len(suffixes) == 1 else ".*"


def listed(names: Iterable[object], most: int = 6) -> str:
    """Return names as `a, b, c …`."""
    words = [str(name) for name in names]
    if len(words) <= most:
        return ", ".join(words)

    return f"{', '.join(words[:most])} … ({len(words)} in all)"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return `1 item`, `2 items`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def file_inside(folder: Path, name: object) -> Path | None:
    """Return the file a data set names in a folder; None where it is absent or leads outside.

    Whoever wrote the data set chose the name: an absolute path, `..` or a link may lead to a
    private file, which would then be sent to the judge.
    """
    text = str(name or "").strip()
    if not text or "\0" in text:
        return None

    path = folder / text
    try:
        real = path.resolve()
        found = real.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):
        return None

    return path if found else None
