"""ImgEdit-Bench outputs: basic_edit.json, the originals it names, and one folder per method.

As its evaluation code reads them: https://github.com/PKU-YuanGroup/ImgEdit, folder Benchmark. The
keys of the JSON name the edits (METHOD/KEY.png); `id` is the path of the original, `edit_type` the
task, `prompt` the instruction.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from lmmscore.errors import counted, listed
from lmmscore.importers.layouts import (
    Choices,
    FolderTree,
    Found,
    FoundItem,
    Guess,
    ending,
    file_inside,
    folder_asked_for,
    in_natural_order,
    is_container,
    largest_listing,
    layout,
    name_items,
    natural,
    notes_on_gaps,
    pictures_of,
)

Entries = dict[str, dict[str, Any]]
Methods = dict[str, dict[str, Path]]
"""Pictures by method and key."""


@layout(
    "imgedit",
    'basic_edit.json ({"KEY": {"id": "animal/1.jpg", "prompt": …, "edit_type": …}}), '
    "originals, METHOD/KEY.png",
)
def look(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from a JSON file of ImgEdit's form."""
    listing = largest_listing(tree, choices, _entries)
    if listing is None:
        return None

    path, entries = listing
    originals = _originals(tree, entries, choices)
    methods = _methods(tree, entries, originals)
    count = counted(len(entries), "entry", "entries")
    why = (
        f"{path.name} has {count} with id, prompt and edit_type, as ImgEdit's; edits named by its "
        f"keys in {listed([*methods]) or 'no folder'}"
    )
    return Guess(0.96, why, lambda: _found(tree, path, entries, originals, methods))


def _found(
    tree: FolderTree, path: Path, entries: Entries, originals: Path | None, methods: Methods
) -> Found:
    """Read the items from the JSON, the originals by their paths and the edits by their keys."""
    items = []
    for key in sorted(entries, key=natural):
        entry = entries[key]
        item = FoundItem(str(entry.get("edit_type") or "all"), key)
        item.instruction = str(entry["prompt"])
        item.fields["original"] = str(entry["id"])
        original = file_inside(originals, entry["id"]) if originals is not None else None
        if original is not None:
            item.images["source"] = original

        item.edits = pictures_of(key, methods)
        items.append(item)

    name_items(items)
    templates = _templates(tree.root, items, originals, methods)
    notes = notes_on_gaps(items, "METHOD/KEY.png")
    return Found(items, list(methods), tree.root, templates, notes, [path])


def _entries(data: Any) -> Entries | None:
    """Return the entries of a JSON file of ImgEdit's form; None for any other."""
    if not isinstance(data, dict):
        return None

    for entry in data.values():
        if not isinstance(entry, dict) or not {"id", "prompt"} <= set(entry):
            return None

    return data


def _originals(tree: FolderTree, entries: Entries, choices: Choices) -> Path | None:
    """Return the folder under which the paths in the JSON are found."""
    if choices.source:
        return folder_asked_for(tree, choices.source)

    wanted = [PurePosixPath(str(entry["id"])) for entry in entries.values()]
    known = set(tree.files)
    folders = {PurePosixPath()}
    for path in tree.images:
        folders.update(path.parents)

    # The JSON has paths below a folder that it does not name: the one that fits most of them.
    best, most = PurePosixPath(), 0
    for folder in sorted(folders):
        hits = sum(folder / path in known for path in wanted)
        if hits > most:
            best, most = folder, hits

    return tree.real(best) if most else None


def _methods(tree: FolderTree, entries: Entries, originals: Path | None) -> Methods:
    """Return the pictures of every folder whose pictures are named by keys."""
    methods: Methods = {}
    for folder, paths in tree.folders.items():
        if _holds_originals(tree, folder, originals):
            continue

        keyed = {path.stem: tree.real(path) for path in paths if path.stem in entries}
        if keyed:
            methods[_method_name(tree, folder)] = keyed

    return in_natural_order(methods)


def _holds_originals(tree: FolderTree, folder: PurePosixPath, originals: Path | None) -> bool:
    if originals is None or originals == tree.root:
        return False

    return tree.real(folder).is_relative_to(originals)


def _method_name(tree: FolderTree, folder: PurePosixPath) -> str:
    """Return the folder that names a method, past those that only hold pictures."""
    for part in reversed(folder.parts):
        if not is_container(part) and part.lower() != "imgedit":
            return part

    return folder.name or tree.name


def _templates(
    root: Path, items: list[FoundItem], originals: Path | None, methods: Methods
) -> dict[str, str]:
    """Return templates; none where a source is missing or something lies outside the root."""
    # A template would report the sources that are missing one by one.
    complete = all(item.images for item in items)
    if not methods or originals is None or not complete:
        return {}

    name, keyed = next(iter(methods.items()))
    folder = next(iter(keyed.values())).parent
    inside = folder.is_relative_to(root) and originals.is_relative_to(root)
    if not inside or name not in folder.parts:
        return {}

    spelt = ["{method}" if part == name else part for part in folder.relative_to(root).parts]
    above = "/".join(spelt)
    origin = originals.relative_to(root).as_posix()
    source = "{original}" if origin == "." else f"{origin}/{{original}}"

    edits: list[Path] = []
    for by_key in methods.values():
        edits += by_key.values()

    return {"source": source, "edit": f"{above}/{{id}}{ending(edits)}"}
