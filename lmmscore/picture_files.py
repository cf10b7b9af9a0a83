"""From path templates to picture files, none of which may lie outside the benchmark's folder."""

from __future__ import annotations

import os
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmmscore.errors import nearest
from lmmscore.images import IMAGE_SUFFIXES

Rows = list[tuple[str, dict[str, Any]]]
"""Each item's place in its file, and its fields."""

ProblemSink = Callable[[str, str, str], None]
"""Takes note of a problem: its place, its kind and what it says."""

SLOT = re.compile(r"\{(\w+)\}")


class PathMap(Mapping[str, Path]):
    """Paths by name, kept as short text: a benchmark holds hundreds of thousands of them."""

    __slots__ = ("_keys", "_names", "_root")

    def __init__(self, root: Path, names: Mapping[str, str], keys: Sequence[str] = ()) -> None:
        self._root = root
        # Most items have an edit of every method: they share one tuple of names.
        same = len(keys) == len(names) and all(key in names for key in keys)
        self._keys = tuple(keys) if same and isinstance(keys, tuple) else tuple(names)
        self._names = tuple(names[key] for key in self._keys)

    def __getitem__(self, key: str) -> Path:
        try:
            return self._root / self._names[self._keys.index(key)]
        except ValueError:
            raise KeyError(key) from None

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return repr(dict(self))


class FolderListing:
    """What is in the folders below a root. Each is read once: benchmarks ask for every edit."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sorted: dict[str, list[str]] = {}
        self._links: dict[str, dict[str, bool]] = {}
        self._stems: dict[str, dict[str, list[str]]] = {}

    def _entries(self, folder: str) -> dict[str, bool]:
        """Return what is in a folder, and of each whether it is a link."""
        if folder not in self._links:
            try:
                with os.scandir(self._root / folder) as entries:
                    self._links[folder] = {entry.name: entry.is_symlink() for entry in entries}
            except (OSError, ValueError):
                self._links[folder] = {}

        return self._links[folder]

    def names(self, folder: str) -> list[str]:
        """Return what is in a folder, sorted; nothing where there is no such folder."""
        if folder not in self._sorted:
            self._sorted[folder] = sorted(self._entries(folder))

        return self._sorted[folder]

    def holds(self, path: str) -> bool:
        """Whether there is a file or folder of exactly this name."""
        folder, _, name = path.rpartition("/")
        return name in self._entries(folder)

    def is_link(self, path: str) -> bool:
        """Whether what is there is a link."""
        folder, _, name = path.rpartition("/")
        return self._entries(folder).get(name, False)

    def pictures(self, path: str) -> list[str]:
        """Return the pictures called so, of any type: `1_sd1` has 1_sd1.png, not 1_sd1.5.png."""
        folder, _, stem = path.rpartition("/")
        if folder not in self._stems:
            self._stems[folder] = self._by_stem(folder)

        found = self._stems[folder].get(_composed(stem), [])
        return [f"{folder}/{name}" if folder else name for name in found]

    def _by_stem(self, folder: str) -> dict[str, list[str]]:
        stems: dict[str, list[str]] = {}
        for name in self.names(folder):
            stem, dot, suffix = name.rpartition(".")
            if dot + suffix.lower() in IMAGE_SUFFIXES:
                stems.setdefault(_composed(stem), []).append(name)

        return stems

    def candidates(self, pattern: str) -> Iterator[str]:
        """Yield the paths a pattern may mean: NUL is a method, a final `.*` any image type."""
        before, _, after = pattern.partition("\0")
        folder, _, start = before.rpartition("/")
        rest, slash, below = after.partition("/")
        names = self.names(folder)
        for name in names[bisect_left(names, start) :]:
            if not name.startswith(start):
                break

            if name.startswith(".") and not start:
                continue  # .git, .cache: no method is called so

            path = f"{folder}/{name}" if folder else name
            if not slash:
                yield path
            elif name.endswith(rest):
                method = name[len(start) : len(name) - len(rest)]
                yield from self._files(f"{path}/{below}".replace("\0", method))

    def _files(self, path: str) -> list[str]:
        if path.endswith(".*"):
            return self.pictures(path[:-2])

        return [path] if self.holds(path) else []


class PictureFiles:
    """The pictures below a folder, as paths relative to it. What has a problem is reported."""

    def __init__(self, root: Path, report: ProblemSink) -> None:
        self.root = root
        self._report = report
        self._listing = FolderListing(root)
        self._inside: dict[str, bool] = {}

    def edits(
        self,
        template: str,
        methods: Sequence[str] | None,
        rows: Rows,
        others: Mapping[str, str],
    ) -> dict[str, PathMap]:
        """Return each item's edits by method; `others` are the templates of other pictures."""
        if "{method}" not in template:
            self._report("images.edit", "bad-value", "must contain {method}")
            return {str(row["id"]): PathMap(self.root, {}) for _, row in rows}

        if not methods:
            found = self.discovered(template, rows, others)
            every = tuple(dict.fromkeys(method for edits in found.values() for method in edits))
            return {name: PathMap(self.root, edits, every) for name, edits in found.items()}

        listed = tuple(methods)
        edits: dict[str, PathMap] = {}
        for place, row in rows:
            names: dict[str, str] = {}
            for method in methods:
                name = self.file(template, {**row, "method": method}, place, absent_ok=True)
                if name is not None:
                    names[method] = name

            edits[str(row["id"])] = PathMap(self.root, names, listed)

        return edits

    def discovered(
        self, template: str, rows: Rows, others: Mapping[str, str]
    ) -> dict[str, dict[str, str]]:
        """Return the edits of all methods on disk; a file that fits two ids is the longer's."""
        edits: dict[str, dict[str, str]] = {str(row["id"]): {} for _, row in rows}
        taken: dict[str, str] = {}
        for place, row in rows:
            for other in others.values():
                name = self.file(other, row, place, absent_ok=True)
                if name is not None:
                    taken[name] = ""

        for place, row in sorted(rows, key=lambda entry: -len(str(entry[1]["id"]))):
            pattern = self._fill(template, {**row, "method": "\0"}, place)
            if pattern is None:
                continue

            for method, name in self._matches(pattern, place):
                # Items whose places are spelt alike share their edits.
                if taken.setdefault(name, pattern) == pattern:
                    edits[str(row["id"])].setdefault(method, name)

        return edits

    def _matches(self, pattern: str, place: str) -> Iterator[tuple[str, str]]:
        # Thousands of items make as many patterns; compiling each would take most of the time.
        first, rest = _split_at_method(pattern)
        for name in self._listing.candidates(pattern):
            method = _method_in(name, first, rest)
            if method is None or Path(name).suffix.lower() not in IMAGE_SUFFIXES:
                continue

            if self.inside(name, place) is not None:
                yield method, name

    def _fill(self, template: str, row: Mapping[str, Any], place: str) -> str | None:
        try:
            return SLOT.sub(lambda match: str(row[match[1]]), template)
        except KeyError as error:
            unknown = str(error.args[0])
            says = f"unknown name {{{unknown}}} in {template!r}{nearest(unknown, row)}"
            self._report(place, "unknown-name", says)
            return None

    def file(
        self, template: str, row: Mapping[str, Any], place: str, *, absent_ok: bool = False
    ) -> str | None:
        """Return the file a template names; with `.*` at its end, the first picture of any type."""
        name = self._fill(template, row, place)
        if name is None:
            return None

        if name.endswith(".*"):
            name = next(iter(self._listing.pictures(name[:-2])), name)

        if self.inside(name, place) is None:
            return None

        if absent_ok and not self._listing.holds(name) and not _exists(self.root / name):
            return None

        return name

    def inside(self, name: str, place: str) -> str | None:
        """Return the path; None, with a report, where it or a link on the way leads outside."""
        if self._stays_inside(name):
            return name

        says = (
            f"{name!r} leaves the folder {self.root}; move the file inside "
            "(links out of it count too)"
        )
        self._report(place, "path-outside", says)
        return None

    def _stays_inside(self, name: str) -> bool:
        folder, _, file = name.rpartition("/")
        plain = file not in {"", ".", ".."} and not ("\0" in name or name.startswith("/"))
        if not plain or os.sep != "/":
            return is_inside(self.root, name)

        # Folders are resolved once each: most files share a few.
        if folder not in self._inside:
            self._inside[folder] = is_inside(self.root, folder)

        if not self._inside[folder]:
            return False

        return not self._listing.is_link(name) or is_inside(self.root, name)


def is_inside(root: Path, name: str) -> bool:
    """Whether a path below a folder, links followed, stays there."""
    if "\0" in name:
        return False

    path = root / name
    try:
        real = Path(os.path.realpath(path))
    except (OSError, ValueError):
        real = path

    return real.is_relative_to(root)


def _composed(name: str) -> str:
    # macOS stores é as two characters, a table holds it as one; both mean the same file.
    return unicodedata.normalize("NFC", name)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name longer than the file system allows
        return False


def _split_at_method(pattern: str) -> tuple[str, list[str]]:
    first, *rest = pattern.split("\0")
    return first, rest


def _method_in(name: str, first: str, rest: list[str]) -> str | None:
    """Return what stands where the pattern has the method; None where the path does not fit.

    The pattern is given in parts, around every place of the method; a final `.*` is any file type.
    """
    if not name.startswith(first):
        return None

    tail = rest[-1]
    if tail.endswith(".*"):
        tail = tail[:-2]
        stem, dot, suffix = name.rpartition(".")
        if not dot or "/" in suffix:
            return None

        name = stem

    if len(rest) == 1:
        method = name[len(first) : len(name) - len(tail)] if name.endswith(tail) else ""
    else:
        # The first part after the method ends it; a method has no slash in it.
        method = name[len(first) :].partition(rest[0])[0] if rest[0] else ""

    if not method or "/" in method or first + method.join(["", *rest[:-1], tail]) != name:
        return None

    return method
