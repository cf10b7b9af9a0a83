"""Every problem of a benchmark before a cent is spent: its file first, then every picture."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lmmscore.benchmark import Benchmark, BenchmarkProblem
from lmmscore.errors import ImageProblem, counted
from lmmscore.images import IMAGE_SUFFIXES, SUFFIXES, Header, load_rgb, read_header
from lmmscore.records import Item

ASPECT_TOLERANCE = 0.02
"""Relative difference in width over height beyond which an edit is framed differently."""

BORDER = 0.01
"""Share of a side that a strip of one colour must take to count as a border."""

SAME_COLOUR = 6
"""How far, of 255, the pixels of a border may be from its mean."""

_MOST_FOLDERS = 20


def check_benchmark(
    benchmark: Benchmark, on_item: Callable[[], None] = lambda: None
) -> list[BenchmarkProblem]:
    """Return every problem: those of the file first, then those of the pictures, item by item."""
    problems = list(benchmark.problems)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for found in pool.map(_item_problems, benchmark.items):
            problems.extend(found)
            on_item()

    problems += names_given_away(benchmark)
    if benchmark.items:
        problems += unused_pictures(benchmark)

    return problems


def names_given_away(benchmark: Benchmark) -> list[BenchmarkProblem]:
    """Return a problem for every instruction that would tell the judge a method's name."""
    names = {}
    for method in benchmark.methods:
        name = _words(method).strip()
        if len(name) > 2:
            names[name] = method

    problems = []
    for item in benchmark.items:
        words = _words(item.instruction)
        for name, method in names.items():
            if f" {name} " in words:
                says = (
                    f"the instruction contains the method name {method!r}, "
                    "which the judge should not learn"
                )
                problems.append(
                    BenchmarkProblem(f"item {item.id!r}", "names-a-method", says, level="problem")
                )

    return problems


def _words(text: str) -> str:
    return " " + re.sub(r"\W+", " ", text).strip().casefold() + " "


def unused_pictures(benchmark: Benchmark) -> list[BenchmarkProblem]:
    """Return a warning for every folder with pictures that belong to no item and no method.

    A mistyped method or task leaves its folder behind, unused. Only folders of pictures that are
    used and the folders beside them are looked into: the root may be as wide as a home folder.
    """
    used: set[Path] = set()
    for item in benchmark.items:
        used.update(item.images.values())
        used.update(item.edits.values())

    folders = {path.parent for path in used}
    known = set(folders)
    for folder in folders:
        known.update(folder.parents)

    left: dict[Path, list[str]] = {}
    for folder in folders:
        left[folder] = [name for name in _pictures_in(folder) if folder / name not in used]
        if folder == benchmark.root:
            continue

        for beside in _folders_in(folder.parent):
            if beside not in known and beside not in left:
                left.update(_pictures_below(beside))

    problems = []
    for folder, names in sorted(left.items()):
        if names:
            examples = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
            says = f"{counted(len(names), 'picture')} that nothing uses: {examples}"
            problems.append(BenchmarkProblem(str(folder), "unused-pictures", says, level="warning"))

    return problems[:_MOST_FOLDERS]


def _pictures_below(folder: Path) -> dict[Path, list[str]]:
    """Return the pictures of a folder and of the folders below it; runs of ours are left out."""
    found: dict[Path, list[str]] = {}
    for here, folders, names in os.walk(folder):
        if "run.yaml" in names or len(found) > _MOST_FOLDERS:
            folders.clear()
            continue

        found[Path(here)] = _pictures_in(Path(here))

    return found


def _pictures_in(folder: Path) -> list[str]:
    names = os.listdir(folder)  # noqa: PTH208 - names are wanted
    return sorted(name for name in names if Path(name).suffix.lower() in IMAGE_SUFFIXES)


def _folders_in(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]

    return [folder / name for name in folders if not name.startswith(".")]


def _item_problems(item: Item) -> list[BenchmarkProblem]:
    named = dict(item.images) | {f"edit of {method}": path for method, path in item.edits.items()}
    problems: list[BenchmarkProblem] = []
    headers: dict[str, Header] = {}
    bordered: dict[str, bool] = {}
    for what, path in named.items():
        place = f"item {item.id!r}, {what}"
        try:
            headers[what] = read_header(path)
            bordered[what] = has_border(np.asarray(load_rgb(path)))
        except ImageProblem as error:
            kind = "unreadable-image" if path.exists() else "missing-image"
            problems.append(BenchmarkProblem(place, kind, str(error)))
            continue

        problems.extend(_of_file(place, path, headers[what]))

    problems.extend(_frames_that_differ(item, headers))
    problems.extend(_borders_added(item, bordered))
    problems.extend(_identical_edits(item))
    if not item.edits:
        says = "no method has an edit of it; every method will be recorded as missing here"
        problems.append(BenchmarkProblem(f"item {item.id!r}", "no-edits", says, level="problem"))

    return problems


def _of_file(place: str, path: Path, header: Header) -> Iterator[BenchmarkProblem]:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES.get(header.format, {suffix}):
        says = f"{path}: named {path.suffix} but holds {header.format}; rename or convert it"
        yield BenchmarkProblem(place, "wrong-type", says, level="warning")

    if header.frames > 1:
        says = (
            f"{path}: {header.frames} frames; only the first would be judged: "
            "export a still picture"
        )
        yield BenchmarkProblem(place, "animated", says, level="problem")


def _frames_that_differ(item: Item, headers: dict[str, Header]) -> Iterator[BenchmarkProblem]:
    source = headers.get("source")
    if source is None:
        return

    for what, header in headers.items():
        ratio = (header.width / header.height) / (source.width / source.height)
        if abs(ratio - 1) > ASPECT_TOLERANCE:
            says = (
                f"aspect ratio {header.width}×{header.height} differs from the source's "
                f"{source.width}×{source.height}; crop or pad it unless the method reframes "
                "on purpose"
            )
            yield BenchmarkProblem(
                f"item {item.id!r}, {what}", "aspect-ratio", says, level="warning"
            )
        elif (header.width, header.height) != (source.width, source.height):
            says = (
                f"size {header.width}×{header.height} where the source has "
                f"{source.width}×{source.height}; a judge may take sharpness for quality: resize it"
            )
            yield BenchmarkProblem(f"item {item.id!r}, {what}", "size", says, level="warning")


def _borders_added(item: Item, bordered: dict[str, bool]) -> Iterator[BenchmarkProblem]:
    if bordered.get("source", True):
        return

    for what, found in bordered.items():
        if found and what.startswith("edit of "):
            says = (
                "a border that the source lacks; a judge may see it as a fault, or a frame: crop it"
            )
            yield BenchmarkProblem(f"item {item.id!r}, {what}", "border", says, level="warning")


def has_border(picture: NDArray[np.uint8]) -> bool:
    """Tell whether a strip of one colour runs along all four sides, or along two opposite ones."""
    sides = (picture, picture[::-1], picture.swapaxes(0, 1), picture.swapaxes(0, 1)[::-1])
    top, bottom, left, right = (_edge_is_flat(side) for side in sides)
    return (top and bottom) or (left and right)


def _edge_is_flat(picture: NDArray[np.uint8]) -> bool:
    rows = max(2, round(picture.shape[0] * BORDER))
    strip = picture[:rows].reshape(-1, picture.shape[-1]).astype(np.int16)
    inside = picture[: 4 * rows].reshape(-1, picture.shape[-1]).astype(np.int16)
    mean = strip.mean(axis=0)
    flat = np.abs(strip - mean).max() <= SAME_COLOUR
    # A plain wall or sky is no border: that ends where the picture begins.
    return bool(flat and np.abs(inside - mean).max() > SAME_COLOUR)


def _identical_edits(item: Item) -> Iterator[BenchmarkProblem]:
    by_size: dict[int, list[tuple[str, Path]]] = defaultdict(list)
    for method, path in item.edits.items():
        if path.is_file():
            by_size[path.stat().st_size].append((method, path))

    for same_size in by_size.values():
        if len(same_size) < 2:
            continue

        by_digest: dict[str, list[str]] = defaultdict(list)
        for method, path in same_size:
            by_digest[hashlib.sha256(path.read_bytes()).hexdigest()].append(method)

        for methods in by_digest.values():
            if len(methods) > 1:
                says = (
                    f"the edits of {' and '.join(methods)} are byte-identical; "
                    "was one copied by mistake?"
                )
                yield BenchmarkProblem(
                    f"item {item.id!r}", "identical-edits", says, level="problem"
                )
