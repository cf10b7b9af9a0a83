"""A folder looked at once: which pictures and which other files are in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from lmmscore.errors import FileProblem
from lmmscore.images import IMAGE_SUFFIXES

_IGNORED = {"__MACOSX", "__pycache__", "node_modules", "Thumbs.db", "desktop.ini"}


@dataclass(frozen=True)
class Tree:
    """The files of a folder, as paths relative to it, sorted."""

    root: Path
    files: tuple[PurePosixPath, ...]
    unusable: tuple[str, ...] = ()
    """Names that are not valid text and so cannot stand in any file."""

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
        loose = [path for path in self.images if len(path.parts) == 1]
        parts = [f"{len(self.images)} pictures" if self.images else "no pictures"]
        if self.tops:
            parts.append(
                "in the folders " + ", ".join(self.tops[:8]) + (" …" if len(self.tops) > 8 else "")
            )
        if loose:
            parts.append("files such as " + ", ".join(path.name for path in loose[:4]))
        return "; ".join(parts)


def scan(root: Path, without: Path | None = None) -> Tree:
    """Return what is in a folder, except for one inside it. Hidden files are left out, linked folders not followed."""
    root = root.absolute()  # not resolved: a link to a folder keeps the name the user gave it
    if not root.exists():
        raise FileProblem(f"{root}: no such folder")
    if not root.is_dir():
        return Tree(root.parent, (PurePosixPath(root.name),))
    files: list[PurePosixPath] = []
    unusable: list[str] = []
    for here, folders, names in os.walk(root):
        folders[:] = sorted(n for n in folders if not _ignored(n) and Path(here) / n != without)
        base = Path(here).relative_to(root)
        for name in names:
            if not _ignored(name):
                _sort_in(PurePosixPath(base.as_posix()) / name, files, unusable)
    return Tree(root, tuple(sorted(files)), tuple(unusable))


def _ignored(name: str) -> bool:
    return name.startswith(".") or name in _IGNORED


def _sort_in(path: PurePosixPath, files: list[PurePosixPath], unusable: list[str]) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        unusable.append(str(path).encode(errors="replace").decode())
    else:
        files.append(path)
