"""A folder read once: which pictures and other files it holds, and what its names suggest."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from lmmscore.errors import FileProblem
from lmmscore.images import IMAGE_SUFFIXES

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
