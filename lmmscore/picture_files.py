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


class FolderListing:
    """What is in the folders below a root. Each is read once: benchmarks ask for every edit."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sorted: dict[str, list[str]] = {}
        self._known: dict[str, frozenset[str]] = {}
        self._stems: dict[str, dict[str, list[str]]] = {}

    def names(self, folder: str) -> list[str]:
        """Return what is in a folder, sorted; nothing where there is no such folder."""
        if folder not in self._sorted:
            try:
                found = os.listdir(self._root / folder)  # noqa: PTH208 - names are wanted
            except (OSError, ValueError):
                found = []
            self._sorted[folder] = sorted(found)
            self._known[folder] = frozenset(found)
        return self._sorted[folder]

    def holds(self, path: str) -> bool:
        """Whether there is a file or folder of exactly this name."""
        folder, _, name = path.rpartition("/")
        self.names(folder)
        return name in self._known[folder]

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
        """Yield the paths a pattern may mean: NUL stands for a method, a final `.*` for any type."""
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
    """The pictures below a folder. Problems are reported, and what has one is None."""

    def __init__(self, root: Path, report: ProblemSink) -> None:
        self.root = root
        self._report = report
        self._listing = FolderListing(root)
        self._real_folders: dict[Path, Path] = {}

    def edits(
        self,
        template: str,
        methods: Sequence[str] | None,
        rows: Rows,
        others: Mapping[str, str],
    ) -> dict[str, dict[str, Path]]:
        """Return each item's edits by method; `others` are the templates of other pictures."""
        if "{method}" not in template:
            self._report("images.edit", "bad-value", "must contain {method}")
            return {str(row["id"]): {} for _, row in rows}
        if not methods:
            return self.discovered(template, rows, others)

        edits: dict[str, dict[str, Path]] = {}
        for place, row in rows:
            found = edits.setdefault(str(row["id"]), {})
            for method in methods:
                path = self.file(template, {**row, "method": method}, place, absent_ok=True)
                if path is not None:
                    found[method] = path
        return edits

    def discovered(
        self, template: str, rows: Rows, others: Mapping[str, str]
    ) -> dict[str, dict[str, Path]]:
        """Return the edits of whatever methods have files; one that fits two ids is the longer's."""
        edits: dict[str, dict[str, Path]] = {str(row["id"]): {} for _, row in rows}
        taken: dict[Path, str] = {}
        for place, row in rows:
            for other in others.values():
                path = self.file(other, row, place, absent_ok=True)
                if path is not None:
                    taken[path] = ""

        for place, row in sorted(rows, key=lambda entry: -len(str(entry[1]["id"]))):
            pattern = self._fill(template, {**row, "method": "\0"}, place)
            if pattern is None:
                continue
            for method, path in self._matches(pattern, place):
                # Items whose places are spelt alike share their edits.
                if taken.setdefault(path, pattern) == pattern:
                    edits[str(row["id"])].setdefault(method, path)
        return edits

    def _matches(self, pattern: str, place: str) -> Iterator[tuple[str, Path]]:
        expression = re.compile(_as_regex(pattern), re.DOTALL)
        for name in self._listing.candidates(pattern):
            match = expression.fullmatch(Path(name).as_posix())
            if match is None or Path(name).suffix.lower() not in IMAGE_SUFFIXES:
                continue
            path = self.inside(name, place)
            if path is not None:
                yield match["method"], path

    def _fill(self, template: str, row: Mapping[str, Any], place: str) -> str | None:
        unknown = [name for name in SLOT.findall(template) if name not in row]
        if unknown:
            says = f"unknown name {{{unknown[0]}}} in {template!r}{nearest(unknown[0], row)}"
            self._report(place, "unknown-name", says)
            return None
        return SLOT.sub(lambda match: str(row[match[1]]), template)

    def file(
        self, template: str, row: Mapping[str, Any], place: str, *, absent_ok: bool = False
    ) -> Path | None:
        """Return the file a template names; with `.*` at its end, the first picture of any type."""
        name = self._fill(template, row, place)
        if name is None:
            return None
        if name.endswith(".*"):
            name = next(iter(self._listing.pictures(name[:-2])), name)
        path = self.inside(name, place)
        if path is not None and absent_ok and not _exists(path):
            return None
        return path

    def inside(self, name: str, place: str, base: Path | None = None) -> Path | None:
        """Return the path below the folder; None, with a report, where it or a link leads out."""
        base = base or self.root
        path = base / name
        try:
            real = self._real(path)
        except (OSError, ValueError):
            real = path
        if "\0" in name or not real.is_relative_to(base):
            says = (
                f"{name!r} leaves the folder {base}; move the file inside "
                "(links out of it count too)"
            )
            self._report(place, "path-outside", says)
            return None
        return path

    def _real(self, path: Path) -> Path:
        """Return where a path leads. Folders are resolved once each: most files share a few."""
        if path.name in {"", ".."} or path.is_symlink():
            return Path(os.path.realpath(path))
        folder = path.parent
        if folder not in self._real_folders:
            self._real_folders[folder] = Path(os.path.realpath(folder))
        return self._real_folders[folder] / path.name


def _composed(name: str) -> str:
    # macOS stores é as two characters, a table holds it as one; both mean the same file.
    return unicodedata.normalize("NFC", name)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name longer than the file system allows
        return False


def _as_regex(pattern: str) -> str:
    """Return an expression for paths: NUL stands for a method, a final `.*` for any type."""
    tail = r"\.[^./]+" if pattern.endswith(".*") else ""
    body = pattern.removesuffix(".*") if tail else pattern
    first, *rest = body.split("\0")
    expression = re.escape(first)
    for number, part in enumerate(rest):
        expression += (r"(?P<method>[^/]+)" if number == 0 else r"(?P=method)") + re.escape(part)
    return expression + tail
