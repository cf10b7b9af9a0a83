"""Layouts: folders of pictures as people keep them, each way of arranging them in its own module.

Here is what the layouts have in common: a folder read once, the registry, and the choice of a
layout.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from lmmscore.errors import FileProblem, LmmscoreError, alternatives, counted, listed
from lmmscore.images import IMAGE_SUFFIXES
from lmmscore.options import Registry
from lmmscore.yaml_files import read_text

# A folder read once: its files, and what their names suggest


_IGNORED = {"__MACOSX", "__pycache__", "node_modules", "Thumbs.db", "desktop.ini"}

_ROLES = {
    "source": "source src srcs srcimg source_image input inputs input_image input_images "
    "original originals orig original_images before raw source_images images_source gedit_asset",
    "reference": "reference references ref refs gt gts ground_truth groundtruth target targets "
    "target_image truth reference_images expected",
    "marked": "marked visual visuals visual_instruction visual_instructions marks annotated "
    "sketch sketches drawn",
}
_ROLE_OF = {name: role for role, names in _ROLES.items() for name in names.split()}

CONTAINERS = frozenset(
    "edits edited edited_images outputs output results result methods models generated "
    "generations predictions images imgs image".split()
)
"""Folders that hold other folders or pictures without being a method themselves."""

PLAIN_NAMES = frozenset("images imgs image pictures photos dataset data".split())
"""Folders taken for the sources where no other folder is, beside folders named after methods."""


@dataclass(frozen=True)
class FolderTree:
    """The files of a folder, as sorted paths relative to it."""

    root: Path
    files: tuple[PurePosixPath, ...]

    unusable: tuple[str, ...] = ()
    """Names that are not valid text and so cannot be written to any file."""

    linked: tuple[str, ...] = ()
    """Folders that are links and so were not entered."""

    @property
    def name(self) -> str:
        """What the folder is called, also where the user wrote `.`: it may name a method."""
        return self.root.resolve().name

    @cached_property
    def images(self) -> tuple[PurePosixPath, ...]:
        """The files whose names are those of pictures."""
        return tuple(path for path in self.files if path.suffix.lower() in IMAGE_SUFFIXES)

    @cached_property
    def folders(self) -> dict[PurePosixPath, list[PurePosixPath]]:
        """The pictures by the folder they are in."""
        folders: dict[PurePosixPath, list[PurePosixPath]] = {}
        for path in self.images:
            folders.setdefault(path.parent, []).append(path)

        return folders

    def named(self, *suffixes: str) -> list[PurePosixPath]:
        """Return the files whose names end so."""
        return [path for path in self.files if path.name.lower().endswith(suffixes)]

    def under(self, folder: str) -> list[PurePosixPath]:
        """Return the pictures in a folder at the top and below it."""
        return [path for path in self.images if len(path.parts) > 1 and path.parts[0] == folder]

    @cached_property
    def tops(self) -> list[str]:
        """The folders at the top that hold pictures, at any depth."""
        return list(dict.fromkeys(path.parts[0] for path in self.images if len(path.parts) > 1))

    def real(self, path: PurePosixPath) -> Path:
        """Return the path on disk."""
        return self.root.joinpath(*path.parts)

    def summary(self) -> str:
        """Return in a few words what there is, for an error message."""
        parts = [counted(len(self.images), "picture") if self.images else "no pictures"]
        if self.tops:
            more = " …" if len(self.tops) > 8 else ""
            parts.append(f"in the folders {', '.join(self.tops[:8])}{more}")

        loose = [path.name for path in self.images if len(path.parts) == 1]
        if loose:
            parts.append(f"files such as {', '.join(loose[:4])}")

        if self.linked:
            parts.append(f"folders that are links, not entered: {', '.join(self.linked[:4])}")

        return "; ".join(parts)

    def misfit(self, expected: str) -> LayoutError:
        """Return the error for a folder that is not laid out as the user says."""
        return LayoutError(f"{self.root}: expected {expected}; seen: {self.summary()}")


def scan(root: Path, without: Path | None = None) -> FolderTree:
    """Return what is in a folder, except for one inside it; hidden files are left out.

    The root stays as the user wrote it, and so do all paths in messages. Linked folders are not
    entered: what they lead to may lie outside. They are named instead.
    """
    if not root.exists():
        raise FileProblem(f"{root}: no such folder")

    if not root.is_dir():
        return FolderTree(root.parent, (PurePosixPath(root.name),))

    skipped = without.absolute() if without is not None else None
    files: list[PurePosixPath] = []
    unusable: list[str] = []
    linked: list[str] = []
    for walked, folders, names in os.walk(root):
        here = Path(walked)
        # In place: os.walk enters the folders that are left in its list.
        folders[:] = [
            name
            for name in sorted(folders)
            if not _ignored(name) and (here / name).absolute() != skipped
        ]
        base = PurePosixPath(here.relative_to(root).as_posix())
        linked += [str(base / name) for name in folders if (here / name).is_symlink()]
        for name in names:
            if not _ignored(name):
                _sort_in(base / name, files, unusable)

    return FolderTree(root, tuple(sorted(files)), tuple(unusable), tuple(sorted(linked)))


def _ignored(name: str) -> bool:
    return name.startswith(".") or name in _IGNORED


def _sort_in(path: PurePosixPath, files: list[PurePosixPath], unusable: list[str]) -> None:
    """Note a file, among the unusable ones where its name is not valid text."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        unusable.append(str(path).encode(errors="replace").decode())
    else:
        files.append(path)


def role_of(name: str) -> str | None:
    """Return source, reference or marked where a folder or a suffix is named like one."""
    plain = re.sub(r"[\s.-]+", "_", name.strip().lower()).strip("_")
    if plain not in _ROLE_OF:
        plain = re.sub(r"(?<=.)s$", "", plain)

    return _ROLE_OF.get(plain)


def is_container(name: str) -> bool:
    """Whether a folder so named says nothing about what is in it."""
    return name.lower() in CONTAINERS


def role_names(role: str) -> str:
    """Return some names for a role, for messages."""
    return ", ".join(_ROLES[role].split()[:6])


# Layouts


DEFAULT_TASK = "all"

IMAGE_ROLES = tuple(_ROLES)
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
    """The items file of the benchmark.yaml that is about to be overwritten, as absolute path."""

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
    read: Callable[[], Found]
    """Reads the folder by the layout."""


Look = Callable[[FolderTree, Choices], Guess | None]
"""Checks whether a folder is laid out in a certain way; None if there is no sign of it."""


@dataclass(frozen=True, slots=True)
class PictureLayout:
    """A way to arrange pictures in folders."""

    name: str
    looks_like: str
    """What is expected, in one line; error messages and the documentation show it."""

    look: Look


LAYOUTS: Registry[PictureLayout] = Registry("layout", __name__)
"""Each module of this package registers one layout, or several that have much in common."""


def layout(name: str, looks_like: str) -> Callable[[Look], Look]:
    """Register a layout: `@layout("folders", "METHOD/ID.png")` above what looks for it."""

    def add(look: Look) -> Look:
        LAYOUTS.register(name)(PictureLayout(name, looks_like, look))
        return look

    return add


def layout_names() -> list[str]:
    """Return the names of all layouts."""
    return LAYOUTS.names()


def all_layouts() -> dict[str, PictureLayout]:
    """Return every layout by name."""
    return {name: LAYOUTS.get(name) for name in layout_names()}


def choose(
    tree: FolderTree, choices: Choices, name: str | None = None
) -> tuple[PictureLayout, Guess]:
    """Return the layout of a folder and why. Raises LayoutError where none or several fit."""
    layouts = all_layouts()
    if name is not None:
        named = LAYOUTS.get(name)
        guess = named.look(tree, choices)
        if guess is None:
            raise tree.misfit(named.looks_like)
        return named, guess

    guesses: list[tuple[Guess, PictureLayout]] = []
    for each in layouts.values():
        guess = each.look(tree, choices)
        if guess is not None:
            guesses.append((guess, each))

    guesses.sort(key=lambda pair: -pair[0].sure)

    if not guesses or guesses[0][0].sure < ENOUGH:
        raise LayoutError(_nothing_fits(tree, guesses, layouts))

    # A benchmark made by the wrong layout looks plausible, so nothing is taken by chance.
    if len(guesses) > 1 and guesses[0][0].sure - guesses[1][0].sure < CLEARLY:
        fits = "\n".join(f"  --layout {each.name}: {guess.why}" for guess, each in guesses[:3])
        raise LayoutError(f"{tree.root}: several layouts fit equally; choose one:\n{fits}")

    surest, fitting = guesses[0]
    return fitting, surest


def _nothing_fits(
    tree: FolderTree,
    guesses: list[tuple[Guess, PictureLayout]],
    layouts: Mapping[str, PictureLayout],
) -> str:
    """Return what was seen in a folder, what came nearest, and every layout there is."""
    lines = [f"{tree.root}: no known layout; seen: {tree.summary()}"]
    if guesses:
        guess, nearest_layout = guesses[0]
        lines.append(
            f"nearest is --layout {nearest_layout.name}: {guess.why}; "
            "name the folder of sources with --source FOLDER"
        )

    lines.append("expected one of:")
    lines += [f"  --layout {each.name}: {each.looks_like}" for each in layouts.values()]
    return "\n".join(lines)


# What layouts share

Key = TypeVar("Key")
Value = TypeVar("Value")


def natural(text: str) -> list[tuple[int, int, str]]:
    """Return a sort key by which 2 comes before 10."""
    return [
        (0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part)
        for part in re.findall(r"\d+|\D+", text)
    ]


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


def methods_of(items: Iterable[FoundItem]) -> list[str]:
    """Return every method that has an edit, in natural order."""
    return sorted({method for item in items for method in item.edits}, key=natural)


def pictures_of(key: Key, by_name: Mapping[str, Mapping[Key, Value]]) -> dict[str, Value]:
    """Return the pictures of one item by role or method, from those of all items."""
    return {name: pictures[key] for name, pictures in by_name.items() if key in pictures}


def in_natural_order(methods: Mapping[str, Value]) -> dict[str, Value]:
    """Return the methods sorted by name; tables and orders follow it."""
    return {name: methods[name] for name in sorted(methods, key=natural)}


def ending(paths: Iterable[Path | PurePosixPath]) -> str:
    """Return the file type the paths share, or `.*` for any image type."""
    suffixes = {path.suffix for path in paths}
    return suffixes.pop() if len(suffixes) == 1 else ".*"


def notes_on_gaps(items: Sequence[FoundItem], edits_as: str) -> list[str]:
    """Return notes on items without a source, and on how to add edits where there are none."""
    notes = []
    bare = [item.id for item in items if "source" not in item.images]
    if bare:
        sources = f"{counted(len(bare), 'source')} not found: {listed(bare)}"
        notes.append(f"{sources}; name the folder they are in with --source FOLDER")

    if not any(item.edits for item in items):
        notes.append(f"no edits yet; put them as {edits_as}")

    return notes


def file_inside(folder: Path, name: object) -> Path | None:
    """Return the file a data set names in a folder; None where it is absent or leads outside.

    The authors of the data set chose the name: an absolute path, `..` or a link may lead to a
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


def folder_asked_for(tree: FolderTree, source: str) -> Path:
    """Return the folder that --source names, from where the user is or inside the tree.

    A folder inside the tree begins as the tree's own paths do, so that the two can be compared
    whether the user wrote them as relative or as absolute paths.
    """
    given = Path(source)
    folder = given if given.is_dir() else tree.root / source
    try:
        return tree.root / folder.absolute().relative_to(tree.root.absolute())
    except ValueError:
        return folder


def json_in(path: Path) -> Any:
    """Return what a JSON file holds. Raises FileProblem where it is none."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FileProblem(f"{path}: not JSON ({error})") from error


def json_if_valid(path: Path) -> Any:
    """Return what a JSON file holds, or None: any file may lie in a folder of pictures."""
    try:
        return json_in(path)
    except FileProblem:
        return None


Listing = TypeVar("Listing", bound=Sized)


def largest_listing(
    tree: FolderTree, choices: Choices, entries_of: Callable[[Any], Listing]
) -> tuple[Path, Listing] | None:
    """Return the JSON file with the most entries of a layout's form; the one given, if any is.

    `entries_of` gets what a file holds and returns its entries, or nothing for another form.
    """
    paths = [tree.real(path) for path in tree.named(".json")]
    if choices.instructions is not None:
        paths = [choices.instructions]

    best: tuple[Path, Listing] | None = None
    for path in paths:
        entries = entries_of(json_if_valid(path))
        if entries and (best is None or len(entries) > len(best[1])):
            best = (path, entries)

    return best


# Columns of tables, by what they are called


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


def plain(name: str) -> str:
    """Return a column's name in lower case with underscores."""
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


def find_column(columns: Iterable[str], what: str, choices: Choices, where: str) -> str | None:
    """Return the column that holds `what`: the one asked for, else the likeliest by name."""
    columns = list(columns)
    asked = choices.columns.get(what)
    if asked is not None:
        if asked not in columns:
            there_are = alternatives(asked, columns, "it has")
            raise FileProblem(f"{where}: no column {asked!r}{there_are}")

        return asked

    by_plain = {plain(column): column for column in reversed(columns)}
    return next((by_plain[name] for name in COLUMN_NAMES[what] if name in by_plain), None)
