"""KRIS-Bench outputs: KRIS_Bench/CATEGORY/annotation.json and results/MODEL/CATEGORY/ID.jpg.

As its evaluation code reads them: https://github.com/mercurystraw/Kris_Bench. The category is the
task; an item with several inputs has the images source, source2, source3 …
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmmscore.errors import FileProblem, listed
from lmmscore.importers.layouts import (
    Choices,
    FolderTree,
    Found,
    FoundItem,
    Guess,
    file_inside,
    folder_asked_for,
    in_natural_order,
    json_in,
    layout,
    natural,
    notes_on_gaps,
    pictures_of,
)

Annotations = dict[str, dict[str, Any]]
"""The entries of one category by id."""

Methods = dict[str, dict[tuple[str, str], Path]]
"""Pictures by model, then by category and id."""


@layout(
    "kris",
    "KRIS_Bench/CATEGORY/annotation.json with ori_img and ins_en, results/MODEL/CATEGORY/ID.jpg",
)
def look(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from annotation files of KRIS-Bench's form."""
    annotations = _annotations(tree, choices)
    if not annotations:
        return None

    methods = _methods(tree, annotations)
    categories = listed([folder.name for folder in annotations])
    why = (
        f"annotation.json of {categories}; edits by category in {listed([*methods]) or 'no folder'}"
    )
    return Guess(0.97, why, lambda: _found(tree, annotations, methods))


def _found(tree: FolderTree, annotations: dict[Path, Annotations], methods: Methods) -> Found:
    """Read the items of every category, their inputs, and the edits of every model."""
    items: list[FoundItem] = []
    for folder, entries in sorted(annotations.items()):
        for name in sorted(entries, key=natural):
            item = _item(folder, name, entries[name])
            item.edits = pictures_of((folder.name, name), methods)
            items.append(item)

    notes = notes_on_gaps(items, "results/MODEL/CATEGORY/ID.jpg")
    return Found(items, list(methods), tree.root, {}, notes)


def _item(folder: Path, name: str, entry: dict[str, Any]) -> FoundItem:
    """Return an item of a category with its inputs and its reference."""
    item = FoundItem(folder.name, name, id=f"{folder.name}/{name}")
    item.instruction = str(entry.get("ins_en") or "")
    inputs = entry.get("ori_img")
    # Most items have one input, some a list of them.
    names = inputs if isinstance(inputs, list) else [inputs]
    for number, each in enumerate(names, 1):
        path = file_inside(folder, each)
        if path is not None:
            item.images["source" if number == 1 else f"source{number}"] = path

    reference = file_inside(folder, entry.get("gt_img"))
    if reference is not None:
        item.images["reference"] = reference

    if entry.get("explain_en"):
        item.fields["explain_en"] = str(entry["explain_en"])

    return item


def _annotations(tree: FolderTree, choices: Choices) -> dict[Path, Annotations]:
    """Return the entries of each category's folder; with --source, from the data set there."""
    paths = [tree.real(path) for path in tree.named("annotation.json")]
    if choices.source:
        paths = sorted(folder_asked_for(tree, choices.source).rglob("annotation.json"))

    found = {}
    for path in paths:
        entries = _entries(path)
        if entries:
            found[path.parent] = entries

    return found


def _entries(path: Path) -> Annotations:
    """Return the entries of an annotation file; none where it is of another form."""
    try:
        data = json_in(path)
    except FileProblem:
        return {}

    if not isinstance(data, dict):
        return {}

    for entry in data.values():
        if not isinstance(entry, dict) or not {"ori_img", "ins_en"} <= set(entry):
            return {}

    return data


def _methods(tree: FolderTree, annotations: dict[Path, Annotations]) -> Methods:
    """Return the pictures that lie as MODEL/CATEGORY/ID.jpg."""
    categories = {folder.name for folder in annotations}
    methods: Methods = {}
    for path in tree.images:
        real = tree.real(path)
        if len(path.parts) < 2 or path.parts[-2] not in categories or real.parent in annotations:
            continue

        model = path.parts[-3] if len(path.parts) > 2 else tree.name
        methods.setdefault(model, {})[path.parts[-2], path.stem] = real

    return in_natural_order(methods)
