"""VIBE results: MODEL/LEVEL/TASK/TASK_results.json, pictures under imgs/.

As its evaluation code reads them: https://github.com/hwanyu112/VIBE-Benchmark. An entry that did not succeed is an edit
that is missing. Sources are not among the results; with the data set at hand (--source) they are taken from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
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
    listed,
    name_items,
    natural,
)
from lmmscore.layouts.tree import Tree
from lmmscore.layouts.vibe_sources import add_sources
from lmmscore.yamlfile import read_text

NAME = "vibe"
LOOKS_LIKE = "MODEL/LEVEL/TASK/TASK_results.json with id, prompt, saved_image_path, status; pictures under imgs/"

_SUCCEEDED = {
    "",
    "success",
    "succeeded",
    "successful",
    "ok",
    "done",
    "completed",
    "complete",
    "finished",
    "true",
}


@dataclass(slots=True)
class _Results:
    """What the results files of all models say."""

    items: dict[tuple[str, str, str], FoundItem] = field(default_factory=dict)
    """By level, task and id."""
    models: list[str] = field(default_factory=list)
    failed: int = 0
    absent: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)


def look(tree: Tree, _: Choices) -> Guess | None:
    """Guess from the names of results files and the keys of their entries."""
    files = list(_files(tree))
    if not files:
        return None
    models = list(dict.fromkeys(model for model, _, _, _ in files))
    return Guess(0.98, f"{counted(len(files), 'file')} TASK/TASK_results.json, of {listed(models)}")


def take(tree: Tree, choices: Choices) -> Found:
    """Read the items of all models' results; an item is what any model was asked."""
    results = _Results()
    for model, level, task, path in _files(tree):
        if model not in results.models:
            results.models.append(model)
        for entry in _entries(tree.real(path)):
            _take_entry(results, model, (level, task), entry, tree.real(path).parent)
    if not results.items:
        raise LayoutError(f"{tree.root}: expected {LOOKS_LIKE}; seen: {tree.summary()}")
    items = [
        results.items[key] for key in sorted(results.items, key=lambda key: natural("/".join(key)))
    ]
    name_items(items)
    notes = _notes(results)
    notes += add_sources(items, tree, choices)
    return Found(items, sorted(results.models, key=natural), tree.root, {}, notes)


def _files(tree: Tree) -> Iterator[tuple[str, str, str, PurePosixPath]]:
    """Yield model, level, task and path of every results file."""
    for path in tree.named("_results.json"):
        task = path.name[: -len("_results.json")]
        if len(path.parts) < 2 or path.parts[-2] != task or not _is_results(tree.real(path)):
            continue
        level = path.parts[-3] if len(path.parts) > 2 else ""
        model = path.parts[-4] if len(path.parts) > 3 else tree.root.resolve().name
        yield model, level, task, path


def _is_results(path: Path) -> bool:
    try:
        entries = _entries(path)
    except FileProblem:
        return False
    telling = any({"saved_image_path", "status"} & set(entry) for entry in entries)
    return telling and all("id" in entry for entry in entries)


def _entries(path: Path) -> list[dict[str, Any]]:
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FileProblem(f"{path}: not JSON ({error})") from error
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        raise FileProblem(f"{path}: expected a list of entries with id and saved_image_path")
    return data


def _take_entry(
    results: _Results, model: str, where: tuple[str, str], entry: dict[str, Any], folder: Path
) -> None:
    name, prompt = (
        str(entry["id"]),
        str(entry.get("prompt") or entry.get("input_prompt") or "").strip(),
    )
    item = results.items.setdefault(
        (*where, name), FoundItem(where[1], name, fields={"level": where[0]})
    )
    if prompt and item.instruction and prompt != item.instruction:
        results.differing.append(name)
    item.instruction = item.instruction or prompt
    status = entry.get("status")
    if str("" if status is None else status).strip().lower() not in _SUCCEEDED:
        results.failed += 1
        return
    picture = _picture(folder, entry.get("saved_image_path"))
    if picture is None:
        results.absent.append(f"{model} {name}")
    else:
        item.edits[model] = picture


def _picture(folder: Path, saved: object) -> Path | None:
    """Return the picture an entry means: paths in results are relative to the task, to imgs/, or another machine's."""
    if not saved:
        return None
    given = PurePosixPath(str(saved).replace("\\", "/"))
    tries = [folder / given, folder / "imgs" / given, folder / "imgs" / given.name]
    return next(
        (
            path
            for path in tries
            if path.is_file() and path.resolve().is_relative_to(folder.resolve())
        ),
        None,
    )


def _notes(results: _Results) -> list[str]:
    notes = []
    if results.failed:
        says = f"{counted(results.failed, 'entry', 'entries')} did not succeed"
        notes.append(f"{says}: these edits are missing, and count as such")
    if results.absent:
        says = f"{counted(len(results.absent), 'entry', 'entries')} name a picture that is not there, so it is missing"
        notes.append(f"{says}: {listed(results.absent, 3)}")
    if results.differing:
        says = (
            f"{counted(len(results.differing), 'item')} have different prompts for different models"
        )
        notes.append(f"{says}; the first was taken: {listed(results.differing, 3)}")
    return notes
