"""From path templates to picture files, none of which may lie outside the benchmark's folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmmscore.errors import nearest
from lmmscore.images import IMAGE_SUFFIXES
from lmmscore.listing import Listing

Rows = list[tuple[str, dict[str, Any]]]
"""Each item's place in its file, and its fields."""

Report = Callable[[str, str, str], None]
"""Takes note of a problem: its place, its kind and what it says."""


class PictureFiles:
    """The pictures below a folder. Problems are reported, and what has one is None."""

    def __init__(self, root: Path, report: Report) -> None:
        self.root = root
        self._report = report
        self._listing = Listing(root)

    def edits(
        self,
        template: str,
        methods: Sequence[str] | None,
        rows: Rows,
        others: Mapping[str, str],
    ) -> dict[str, dict[str, Path]]:
        """Return each item's edits by method; `others` are the templates of pictures that are no edits."""
        edits: dict[str, dict[str, Path]] = {str(row["id"]): {} for _, row in rows}
        if "{method}" not in template:
            self._report("images.edit", "bad-value", "must contain {method}")
            return edits
        for place, row in rows:
            if methods:
                for method in methods:
                    path = self.file(template, {**row, "method": method}, place, absent_ok=True)
                    if path is not None:
                        edits[str(row["id"])][method] = path
        if not methods:
            self._discover(template, rows, others, edits)
        return edits

    def _discover(
        self,
        template: str,
        rows: Rows,
        others: Mapping[str, str],
        edits: dict[str, dict[str, Path]],
    ) -> None:
        """Find the methods from the files there are. A file that fits two ids belongs to the longer one."""
        taken: dict[Path, str] = {}
        for place, row in rows:
            found = (self.file(other, row, place, absent_ok=True) for other in others.values())
            taken |= {path: "" for path in found if path is not None}
        for place, row in sorted(rows, key=lambda entry: -len(str(entry[1]["id"]))):
            pattern = self._fill(template, {**row, "method": "\0"}, place)
            if pattern is None:
                continue
            expression = re.compile(_as_regex(pattern), re.DOTALL)
            for name in self._listing.candidates(pattern):
                match = expression.fullmatch(Path(name).as_posix())
                path = self.inside(name, place) if match and _is_image(name) else None
                # Items whose places are spelt alike share their edits.
                if match and path is not None and taken.setdefault(path, pattern) == pattern:
                    edits[str(row["id"])].setdefault(match["method"], path)

    def _fill(self, template: str, row: Mapping[str, Any], place: str) -> str | None:
        unknown = [name for name in re.findall(r"\{(\w+)\}", template) if name not in row]
        if unknown:
            says = f"unknown name {{{unknown[0]}}} in {template!r}{nearest(unknown[0], row)}"
            self._report(place, "unknown-name", says)
            return None
        return re.sub(r"\{(\w+)\}", lambda match: str(row[match[1]]), template)

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
        """Return the path of that name below the folder; None, with a report, where it or a link leads out."""
        base = base or self.root
        path = base / name
        try:
            real = Path(os.path.realpath(path))
        except (OSError, ValueError):
            real = path
        if "\0" in name or not real.is_relative_to(base):
            says = f"{name!r} leaves the folder {base}; move the file inside (links out of it count too)"
            self._report(place, "path-outside", says)
            return None
        return path


def _is_image(name: str) -> bool:
    return Path(name).suffix.lower() in IMAGE_SUFFIXES


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name longer than the file system allows
        return False


def _as_regex(pattern: str) -> str:
    """Return a pattern for paths in which NUL stands for a method and a final `.*` for any type."""
    tail = r"\.[^./]+" if pattern.endswith(".*") else ""
    body = pattern.removesuffix(".*") if tail else pattern
    first, *rest = body.split("\0")
    expression = re.escape(first)
    for number, part in enumerate(rest):
        expression += (r"(?P<method>[^/]+)" if number == 0 else r"(?P=method)") + re.escape(part)
    return expression + tail
