"""The pictures of the VIBE data set that belong to results: source, target and the marks drawn on the source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lmmscore.errors import FileProblem, ImageProblem
from lmmscore.images import draw_over
from lmmscore.layouts.base import Choices, FoundItem, LayoutError, counted
from lmmscore.layouts.tree import Tree
from lmmscore.yamlfile import read_text


def add_sources(items: list[FoundItem], tree: Tree, choices: Choices) -> list[str]:
    """Give items their pictures from the data set, if it is at hand; return what the user should know."""
    dataset = _dataset(tree, choices)
    if dataset is None:
        return ["no sources; download the VIBE data set and name its folder with --source FOLDER"]
    known = {
        (path.parent, str(entry["id"])): entry
        for path in sorted(dataset.rglob("*.json"))
        for entry in _entries(path)
    }
    by_name: dict[str, list[tuple[Path, dict[str, Any]]]] = {}
    for (folder, name), entry in known.items():
        by_name.setdefault(name, []).append((folder, entry))
    for done, item in enumerate(items):
        choices.progress("drawing marks", done, len(items))
        fits = [
            pair
            for pair in by_name.get(item.number, [])
            if len(by_name[item.number]) == 1 or _same(pair, item)
        ]
        if fits:
            _add(item, *fits[0], dataset, choices)
    bare = sum("source" not in item.images for item in items)
    return [f"{counted(bare, 'item')} not found in {dataset}"] if bare else []


def _dataset(tree: Tree, choices: Choices) -> Path | None:
    if choices.source is None:
        return tree.root if (tree.root / "Tasks").is_dir() else None
    for path in (Path(choices.source), tree.root / choices.source):
        if path.is_dir():
            return path.absolute()
    raise LayoutError(
        f"{choices.source}: no such folder; --source names the VIBE data set, the folder with Tasks/"
    )


def _entries(path: Path) -> list[dict[str, Any]]:
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError, FileProblem):
        return []
    rows = data if isinstance(data, list) else []
    return [
        row
        for row in rows
        if isinstance(row, dict) and "id" in row and isinstance(row.get("file_paths"), dict)
    ]


def _same(pair: tuple[Path, dict[str, Any]], item: FoundItem) -> bool:
    return pair[0].name.lower() in {item.task.lower(), item.task.lower().partition("_")[0]}


def _add(
    item: FoundItem, folder: Path, entry: dict[str, Any], dataset: Path, choices: Choices
) -> None:
    """Find the files an entry names: relative to its task's folder or to the whole data set."""
    paths = entry["file_paths"]

    def find(what: str) -> Path | None:
        name = str(paths.get(what) or "").strip()
        tries = [folder / name, dataset / name] if name else []
        return next((path for path in tries if path.is_file()), None)

    source, target, layer = find("source"), find("target"), find("visual_instruction")
    if source is not None:
        item.images["source"] = source
    if target is not None:
        item.images["reference"] = target
    if source is not None and layer is not None and choices.pictures is not None:
        _mark(item, source, layer, choices.pictures)


def _mark(item: FoundItem, source: Path, layer: Path, pictures: Path) -> None:
    if (
        item.task == "Pose_Control"
    ):  # shown as it is: it is a picture of its own, not marks on the source
        item.images["marked"] = layer
        return
    marked = pictures / "marked" / item.task / f"{layer.stem}.png"
    try:
        if not marked.exists():
            draw_over(source, layer, marked)
        item.images["marked"] = marked
    except ImageProblem:
        # `lmmscore check` will say what is wrong with the source; the layer alone is no reason to stop.
        return
