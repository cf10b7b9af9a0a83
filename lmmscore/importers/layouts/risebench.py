"""RISEBench outputs: data_total.json, the inputs it names, and MODEL/images/CATEGORY/INDEX.png.

As its evaluation code reads them: https://github.com/PhoenixZ810/RISEBench. The category is the
task; reference texts become fields, a reference image the kind `reference`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmmscore.errors import counted, listed
from lmmscore.importers.layouts import (
    Choices,
    FolderTree,
    Found,
    FoundItem,
    Guess,
    file_inside,
    folder_asked_for,
    in_natural_order,
    largest_listing,
    layout,
    natural,
    notes_on_gaps,
    pictures_of,
)

FIELDS = ("reference", "reference_txt", "reasoning_img", "reasoning_wo_ins", "subtask")
"""What dialogs may say of an item or ask about it."""

_KEYS = {"index", "category", "instruction", "image"}

Entries = list[dict[str, Any]]


@layout(
    "risebench",
    "data_total.json ([{index, category, instruction, image, reference …}]), the inputs it names, "
    "MODEL/images/CATEGORY/INDEX.png (RISEBench outputs)",
)
def look(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from a JSON list of RISEBench's form."""
    listing = largest_listing(tree, choices, _entries)
    if listing is None:
        return None

    path, entries = listing
    count = counted(len(entries), "entry", "entries")
    methods = listed([*_methods(tree)]) or "no folder"
    why = f"{path.name} has {count} of RISEBench's form; edits in {methods}"
    return Guess(0.97, why, lambda: _found(tree, choices, path, entries))


def _found(tree: FolderTree, choices: Choices, path: Path, entries: Entries) -> Found:
    """Read the items from the JSON, the inputs by their paths, the edits by category and index."""
    inputs = folder_asked_for(tree, choices.source) if choices.source else path.parent
    methods = _methods(tree)
    items = [_item(entry, inputs) for entry in entries]
    items.sort(key=lambda item: natural(item.id))
    for item in items:
        item.edits = pictures_of((item.task, item.id), methods)

    notes = notes_on_gaps(items, "MODEL/images/CATEGORY/INDEX.png")
    return Found(items, list(methods), tree.root, {}, notes, [path])


def _item(entry: dict[str, Any], inputs: Path) -> FoundItem:
    """Return the item of an entry, with those of its pictures that are there."""
    name = str(entry["index"])
    item = FoundItem(str(entry["category"]), name, id=name)
    item.instruction = str(entry["instruction"])
    for kind, key in (("source", "image"), ("reference", "reference_img")):
        found = file_inside(inputs, entry.get(key))
        if found is not None:
            item.images[kind] = found

    for column in FIELDS:
        if entry.get(column) not in (None, ""):
            item.fields[column] = str(entry[column])

    return item


def _entries(data: Any) -> Entries:
    """Return the entries of a JSON file of RISEBench's form; none for any other."""
    if not isinstance(data, list):
        return []

    for entry in data:
        if not isinstance(entry, dict) or not set(entry) >= _KEYS:
            return []

    return data


def _methods(tree: FolderTree) -> dict[str, dict[tuple[str, str], Path]]:
    """Return pictures by model, then by category and index: …/MODEL/images/CATEGORY/INDEX.png."""
    methods: dict[str, dict[tuple[str, str], Path]] = {}
    for path in tree.images:
        if len(path.parts) < 3 or path.parts[-3] != "images":
            continue

        model = path.parts[-4] if len(path.parts) > 3 else tree.name
        methods.setdefault(model, {})[path.parts[-2], path.stem] = tree.real(path)

    return in_natural_order(methods)
