"""Layouts: what one finds in a folder of pictures, the registry of all, and what they share."""

from __future__ import annotations

import json
import os
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from lmmscore.errors import FileProblem, LmmscoreError
from lmmscore.images import IMAGE_SUFFIXES
from lmmscore.registry import Registry
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
        parts = [f"{len(self.images)} pictures" if self.images else "no pictures"]
        if self.tops:
            more = " …" if len(self.tops) > 8 else ""
            parts.append(f"in the folders {', '.join(self.tops[:8])}{more}")

        loose = [path.name for path in self.images if len(path.parts) == 1]
        if loose:
            parts.append(f"files such as {', '.join(loose[:4])}")

        if self.linked:
            parts.append(f"folders that are links, not entered: {', '.join(self.linked[:4])}")

        return "; ".join(parts)


def scan(root: Path, without: Path | None = None) -> FolderTree:
    """Return what is in a folder, except for one inside it; hidden files are left out.

    Linked folders are not entered: what they lead to may lie outside. They are named instead.
    """
    root = root.absolute()  # not resolved: a link to a folder keeps the name the user gave it
    if not root.exists():
        raise FileProblem(f"{root}: no such folder")

    if not root.is_dir():
        return FolderTree(root.parent, (PurePosixPath(root.name),))

    files: list[PurePosixPath] = []
    unusable: list[str] = []
    linked: list[str] = []
    for here, folders, names in os.walk(root):
        folders[:] = sorted(n for n in folders if not _ignored(n) and Path(here) / n != without)
        base = PurePosixPath(Path(here).relative_to(root).as_posix())
        linked += [str(base / name) for name in folders if (Path(here) / name).is_symlink()]
        for name in names:
            if not _ignored(name):
                _sort_in(base / name, files, unusable)

    return FolderTree(root, tuple(sorted(files)), tuple(unusable), tuple(sorted(linked)))


def _ignored(name: str) -> bool:
    return name.startswith(".") or name in _IGNORED


def _sort_in(path: PurePosixPath, files: list[PurePosixPath], unusable: list[str]) -> None:
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


def json_in(path: Path) -> Any:
    """Return what a JSON file holds. Raises FileProblem where it is none."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FileProblem(f"{path}: not JSON ({error})") from error


Listing = TypeVar("Listing", bound=Sized)


def largest_listing(
    tree: FolderTree, choices: Choices, entries_of: Callable[[Any], Listing | None]
) -> tuple[Path, Listing] | None:
    """Return the JSON file with the most entries of a layout's form; the one given, if any is.

    `entries_of` gets what a file holds and returns its entries, or nothing for another form.
    """
    paths = [tree.real(path) for path in tree.named(".json")]
    if choices.instructions is not None:
        paths = [choices.instructions]

    best: tuple[Path, Listing] | None = None
    for path in paths:
        try:
            entries = entries_of(json_in(path))
        except FileProblem:
            # Any JSON file may lie in the folder; only one of this form is of interest.
            continue

        if entries and (best is None or len(entries) > len(best[1])):
            best = (path, entries)

    return best
