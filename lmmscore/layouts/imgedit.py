"""ImgEdit-Bench outputs: basic_edit.json, the originals it names, and a folder of KEY.png for each method.

As its evaluation code reads them: https://github.com/PKU-YuanGroup/ImgEdit, folder Benchmark. The keys of the JSON name
the edits; `id` is the path of the original, `edit_type` the task, `prompt` the instruction.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

from lmmscore.errors import FileProblem
from lmmscore.layouts.base import (
    Choices,
    Found,
    FoundItem,
    Guess,
    LayoutError,
    counted,
    ending,
    listed,
    name_items,
    natural,
)
from lmmscore.layouts.names import is_container
from lmmscore.layouts.tree import Tree
from lmmscore.yamlfile import read_text

NAME = "imgedit"
LOOKS_LIKE = 'basic_edit.json ({"KEY": {"id": "animal/1.jpg", "prompt": …, "edit_type": …}}), originals, METHOD/KEY.png'

Entries = dict[str, dict[str, Any]]


def look(tree: Tree, choices: Choices) -> Guess | None:
    """Guess from a JSON file of ImgEdit's form."""
    listing = _listing(tree, choices)
    if listing is None:
        return None
    path, entries = listing
    methods = _methods(tree, entries, _originals(tree, entries, choices))
    why = f"{path.name} has {counted(len(entries), 'entry', 'entries')} with id, prompt and edit_type, as ImgEdit's"
    return Guess(0.96, f"{why}; edits named by its keys in {listed(methods) or 'no folder'}")


def take(tree: Tree, choices: Choices) -> Found:
    """Read the items from the JSON, the originals by their paths and the edits by their keys."""
    listing = _listing(tree, choices)
    if listing is None:
        raise LayoutError(f"{tree.root}: expected {LOOKS_LIKE}; seen: {tree.summary()}")
    path, entries = listing
    originals = _originals(tree, entries, choices)
    methods = _methods(tree, entries, originals)
    items = []
    for key in sorted(entries, key=natural):
        item = FoundItem(str(entries[key].get("edit_type") or "all"), key)
        item.instruction = str(entries[key]["prompt"])
        item.fields["original"] = str(entries[key]["id"])
        if originals is not None and (originals / item.fields["original"]).is_file():
            item.images["source"] = originals / item.fields["original"]
        item.edits = {name: folder[key] for name, folder in methods.items() if key in folder}
        items.append(item)
    name_items(items)
    templates = _templates(tree.root, items, originals, methods)
    return Found(
        items, list(methods), tree.root, templates, _notes(items, originals, methods), [path]
    )


def _listing(tree: Tree, choices: Choices) -> tuple[Path, Entries] | None:
    """Return the JSON file of ImgEdit's form with the most entries."""
    named = (
        [choices.instructions]
        if choices.instructions
        else [tree.real(p) for p in tree.named(".json")]
    )
    found = [(path, entries) for path in named if (entries := _entries(path))]
    return max(found, key=lambda entry: len(entry[1]), default=None)


def _entries(path: Path) -> Entries | None:
    if path.suffix.lower() != ".json":
        return None
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError, FileProblem):
        return None
    if not isinstance(data, dict) or not data:
        return None
    wanted = {"id", "prompt"}
    return (
        data
        if all(isinstance(value, dict) and wanted <= set(value) for value in data.values())
        else None
    )


def _originals(tree: Tree, entries: Entries, choices: Choices) -> Path | None:
    """Return the folder under which the paths in the JSON are found."""
    if choices.source:
        given = Path(choices.source)
        return given.absolute() if given.is_dir() else tree.root / choices.source
    wanted = [PurePosixPath(str(entry["id"])) for entry in entries.values()]
    known = set(tree.files)
    folders = {PurePosixPath()} | {parent for path in tree.images for parent in path.parents}
    hits = {folder: sum(folder / path in known for path in wanted) for folder in sorted(folders)}
    best = max(hits, key=lambda folder: hits[folder])
    return tree.real(best) if hits[best] else None


def _methods(tree: Tree, entries: Entries, originals: Path | None) -> dict[str, dict[str, Path]]:
    """Return pictures by method and key: every folder whose pictures are named by keys."""
    methods: dict[str, dict[str, Path]] = {}
    for folder, paths in tree.folders.items():
        if (
            originals is not None
            and originals != tree.root
            and tree.real(folder).is_relative_to(originals)
        ):
            continue
        keyed = {path.stem: tree.real(path) for path in paths if path.stem in entries}
        if keyed:
            telling = [
                part
                for part in folder.parts
                if not is_container(part) and part.lower() != "imgedit"
            ]
            methods[telling[-1] if telling else folder.name or tree.root.resolve().name] = keyed
    return dict(sorted(methods.items(), key=lambda entry: natural(entry[0])))


def _templates(
    root: Path, items: list[FoundItem], originals: Path | None, methods: dict[str, dict[str, Path]]
) -> dict[str, str]:
    if not methods or originals is None or not all(item.images for item in items):
        return {}
    name, keyed = next(iter(methods.items()))
    folder = next(iter(keyed.values())).parent
    if (
        not folder.is_relative_to(root)
        or name not in folder.parts
        or not originals.is_relative_to(root)
    ):
        return {}
    above = "/".join(
        "{method}" if part == name else part for part in folder.relative_to(root).parts
    )
    origin = originals.relative_to(root).as_posix()
    edits = [path for by_key in methods.values() for path in by_key.values()]
    source = "{original}" if origin == "." else origin + "/{original}"
    return {"source": source, "edit": f"{above}/{{id}}{ending(edits)}"}


def _notes(
    items: list[FoundItem], originals: Path | None, methods: dict[str, dict[str, Path]]
) -> list[str]:
    notes = []
    bare = [item.fields["original"] for item in items if not item.images]
    if originals is None:
        notes.append("the originals were not found; give their folder with --source FOLDER")
    elif bare:
        notes.append(f"{counted(len(bare), 'original')} not found: {listed(bare, 3)}")
    if not methods:
        notes.append("no edits yet; put them as METHOD/KEY.png")
    return notes
