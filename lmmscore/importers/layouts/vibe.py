"""VIBE results: MODEL/LEVEL/TASK/TASK_results.json, pictures under imgs/.

As its evaluation code reads them: https://github.com/hwanyu112/VIBE-Benchmark. An entry that did
not succeed is a missing edit. Sources are not among the results; with the data set
(--source) they are taken from there, with the target and the marks drawn on the source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from lmmscore.errors import FileProblem, ImageProblem, counted, listed
from lmmscore.images import draw_over
from lmmscore.importers.layouts import (
    Choices,
    FolderTree,
    Found,
    FoundItem,
    Guess,
    LayoutError,
    file_inside,
    folder_asked_for,
    json_in,
    layout,
    name_items,
    natural,
)

_SUCCEEDED = frozenset(
    ["", *"success succeeded successful ok done completed complete finished true".split()]
)


@dataclass(slots=True)
class _Results:
    """What the results files of all models say."""

    items: dict[tuple[str, str, str], FoundItem] = field(default_factory=dict)
    """By level, task and id."""

    models: list[str] = field(default_factory=list)
    failed: int = 0
    absent: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _VibeFolder:
    """Where a results file stands: whose results, of what."""

    model: str
    level: str
    task: str
    path: PurePosixPath


@layout(
    "vibe",
    "MODEL/LEVEL/TASK/TASK_results.json with id, prompt, saved_image_path, status; pictures under "
    "imgs/",
)
def look(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from the names of results files and the keys of their entries."""
    places = list(_places(tree))
    if not places:
        return None

    models = listed([*dict.fromkeys(place.model for place in places)])
    why = f"{counted(len(places), 'file')} TASK/TASK_results.json, of {models}"
    return Guess(0.98, why, lambda: _found(tree, choices, places))


def _found(tree: FolderTree, choices: Choices, places: list[_VibeFolder]) -> Found:
    """Read the items of all models' results; an item is what any model was asked."""
    results = _Results()
    for place in places:
        if place.model not in results.models:
            results.models.append(place.model)

        folder = tree.real(place.path).parent
        for entry in _entries(tree.real(place.path)):
            _take_entry(results, place, entry, folder)

    keys = sorted(results.items, key=lambda key: natural("/".join(key)))
    items = [results.items[key] for key in keys]
    name_items(items)
    notes = [*_notes(results), *_add_sources(items, tree, choices)]
    return Found(items, sorted(results.models, key=natural), tree.root, {}, notes)


# Results


def _places(tree: FolderTree) -> Iterator[_VibeFolder]:
    """Yield every results file."""
    for path in tree.named("_results.json"):
        parts = path.parts
        task = path.name[: -len("_results.json")]
        if len(parts) < 2 or parts[-2] != task or not _is_results(tree.real(path)):
            continue

        level = parts[-3] if len(parts) > 2 else ""
        model = parts[-4] if len(parts) > 3 else tree.name
        yield _VibeFolder(model, level, task, path)


def _is_results(path: Path) -> bool:
    """Whether a JSON file holds results: entries with an id and a picture or a status."""
    try:
        entries = _entries(path)
    except FileProblem:
        return False

    if not all("id" in entry for entry in entries):
        return False

    return any("saved_image_path" in entry or "status" in entry for entry in entries)


def _entries(path: Path) -> list[dict[str, Any]]:
    data = json_in(path)
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        raise FileProblem(f"{path}: expected a list of entries with id and saved_image_path")

    return data


def _take_entry(results: _Results, place: _VibeFolder, entry: dict[str, Any], folder: Path) -> None:
    """Take one model's result of an item: its edit, or that there is none."""
    name = str(entry["id"])
    prompt = str(entry.get("prompt") or entry.get("input_prompt") or "").strip()
    key = (place.level, place.task, name)
    item = results.items.setdefault(key, FoundItem(place.task, name, fields={"level": place.level}))
    if prompt and item.instruction and prompt != item.instruction:
        results.differing.append(name)

    item.instruction = item.instruction or prompt

    status = entry.get("status")
    if status is not None and str(status).strip().lower() not in _SUCCEEDED:
        results.failed += 1
        return

    picture = _picture(folder, entry.get("saved_image_path"))
    if picture is None:
        results.absent.append(f"{place.model} {name}")
    else:
        item.edits[place.model] = picture


def _picture(folder: Path, saved: object) -> Path | None:
    """Return the picture an entry means.

    Paths are relative to the task, to imgs/, or those of another machine.
    """
    if not saved:
        return None

    given = PurePosixPath(str(saved).replace("\\", "/"))
    for name in (given, PurePosixPath("imgs") / given, PurePosixPath("imgs") / given.name):
        path = file_inside(folder, name)
        if path is not None:
            return path

    return None


def _notes(results: _Results) -> list[str]:
    notes = []
    if results.failed:
        count = counted(results.failed, "entry", "entries")
        notes.append(f"{count} did not succeed: these edits are missing, and count as such")

    if results.absent:
        count = counted(len(results.absent), "entry", "entries")
        names = listed(results.absent)
        notes.append(f"{count} name a picture that is not there, so the edit is missing: {names}")

    if results.differing:
        count = counted(len(results.differing), "item")
        names = listed(results.differing)
        notes.append(
            f"{count} have different prompts for different models; the first was taken: {names}"
        )

    return notes


# The data set: source, target, and the marks drawn on the source


@dataclass(frozen=True, slots=True)
class _DatasetEntry:
    """An entry of the data set and the folder of its JSON file."""

    folder: Path
    paths: dict[str, Any]


def _add_sources(items: list[FoundItem], tree: FolderTree, choices: Choices) -> list[str]:
    """Give items their pictures from the data set, if there is one; return what to note."""
    dataset = _dataset(tree, choices)
    if dataset is None:
        return ["no sources; download the VIBE data set and name its folder with --source FOLDER"]

    by_name: dict[str, list[_DatasetEntry]] = {}
    for path in sorted(dataset.rglob("*.json")):
        for name, entry in _dataset_entries(path).items():
            by_name.setdefault(name, []).append(entry)

    for done, item in enumerate(items):
        choices.progress("drawing marks", done, len(items))
        entries = by_name.get(item.number, [])
        # Ids may repeat from task to task; then the folder tells which entry is meant.
        fits = entries if len(entries) == 1 else [each for each in entries if _same(each, item)]
        if fits:
            _add(item, fits[0], dataset, choices)

    bare = sum("source" not in item.images for item in items)
    return [f"{counted(bare, 'item')} not found in {dataset}"] if bare else []


def _dataset(tree: FolderTree, choices: Choices) -> Path | None:
    """Return the folder of the data set: the one named, or the results folder; None without."""
    if choices.source is None:
        return tree.root if (tree.root / "Tasks").is_dir() else None

    folder = folder_asked_for(tree, choices.source)
    if folder.is_dir():
        return folder

    raise LayoutError(
        f"{choices.source}: no such folder; --source names the VIBE data set, "
        "the folder with Tasks/"
    )


def _dataset_entries(path: Path) -> dict[str, _DatasetEntry]:
    """Return the entries of a JSON file that name pictures, by id; none for any other file."""
    try:
        data = json_in(path)
    except FileProblem:
        return {}

    entries = {}
    for row in data if isinstance(data, list) else []:
        if isinstance(row, dict) and "id" in row and isinstance(row.get("file_paths"), dict):
            entries[str(row["id"])] = _DatasetEntry(path.parent, row["file_paths"])

    return entries


def _same(entry: _DatasetEntry, item: FoundItem) -> bool:
    task = item.task.lower()
    return entry.folder.name.lower() in {task, task.partition("_")[0]}


def _add(item: FoundItem, entry: _DatasetEntry, dataset: Path, choices: Choices) -> None:
    """Find the files an entry names: relative to its task's folder or to the whole data set."""

    def find(what: str) -> Path | None:
        name = entry.paths.get(what)
        below = file_inside(entry.folder, name)
        return below or file_inside(dataset, name)

    source, target, layer = find("source"), find("target"), find("visual_instruction")
    if source is not None:
        item.images["source"] = source

    if target is not None:
        item.images["reference"] = target

    if source is not None and layer is not None and choices.pictures is not None:
        _mark(item, source, layer, choices.pictures)


def _mark(item: FoundItem, source: Path, layer: Path, pictures: Path) -> None:
    """Give an item its marked source, drawn once and kept."""
    if item.task == "Pose_Control":
        # Shown as it is: it is a picture of its own, not marks on the source.
        item.images["marked"] = layer
        return

    marked = pictures / "marked" / item.task / f"{layer.stem}.png"
    try:
        if not marked.exists():
            draw_over(source, layer, marked)

        item.images["marked"] = marked
    except ImageProblem:
        # `lmmscore check` says what is wrong with the source; the layer is no reason to stop.
        return
