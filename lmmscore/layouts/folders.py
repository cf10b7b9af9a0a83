"""A folder a method, the same file names inside; sources in a folder of their own or beside the folders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from lmmscore.errors import nearest
from lmmscore.layouts.base import (
    DEFAULT_TASK,
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
from lmmscore.layouts.names import PLAIN_NAMES, is_container, role_names, role_of
from lmmscore.layouts.tree import Tree

NAME = "folders"
LOOKS_LIKE = "source/ID.png, METHOD/ID.png: a folder a method, the same file names inside"

Keyed = dict[str, PurePosixPath]
"""Pictures by their name inside a folder, without file type."""


@dataclass(slots=True)
class _Arrangement:
    """Which folder is what."""

    roles: dict[str, tuple[str, Keyed]] = field(default_factory=dict)
    """By role: the folder (`""` for the top) and its pictures."""
    methods: dict[str, tuple[str, Keyed]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def look(tree: Tree, choices: Choices) -> Guess | None:
    """Guess from the names that the folders share."""
    task_first, parts = _arrangements(tree, choices)
    used = sum(len(keyed) for part in parts.values() for _, keyed in part.methods.values())
    methods = dict.fromkeys(name for part in parts.values() for name in part.methods)
    if not parts or not methods:
        shared = _shared_without_source(tree)
        return (
            Guess(0.3, f"{listed(shared)} share file names, but none is called a source")
            if shared
            else None
        )
    sources = {part.roles["source"][0] or "the files at the top" for part in parts.values()}
    used += sum(len(keyed) for part in parts.values() for _, keyed in part.roles.values())
    where = f", in {counted(len(parts), 'task folder')}" if task_first else ""
    why = f"{counted(len(methods), 'folder')} ({listed(methods)}) repeat file names of {listed(sources)}{where}"
    return Guess(0.5 + 0.4 * used / len(tree.images), why)


def take(tree: Tree, choices: Choices) -> Found:
    """Read the items from the sources and the methods from the folders."""
    task_first, parts = _arrangements(tree, choices)
    parts = {task: part for task, part in parts.items() if part.methods}
    if not parts:
        raise _no_sources(tree)
    if choices.source and all(part.roles["source"][0] != choices.source for part in parts.values()):
        hint = nearest(choices.source, tree.tops)
        raise LayoutError(
            f"{tree.root}: no folder {choices.source} with sources{hint}; see --source"
        )
    items, left_out = [], []
    for task, part in parts.items():
        items += _items(tree, part, task if task_first else None, choices.task or DEFAULT_TASK)
        left_out += part.left_out
    nested = any(item.task != (choices.task or DEFAULT_TASK) for item in items) and not task_first
    slot = name_items(items)
    methods = list(dict.fromkeys(name for part in parts.values() for name in part.methods))
    prefix = "{task}/" if task_first else ""
    inner = f"{{task}}/{slot}" if nested else slot
    templates = _templates(list(parts.values()), prefix, inner)
    return Found(items, methods, tree.root, templates, [*left_out, *_orphans(parts.values())])


def _arrangements(tree: Tree, choices: Choices) -> tuple[bool, dict[str, _Arrangement]]:
    """Return whether the folders at the top are tasks, and an arrangement of the whole or for each of them."""
    whole = _arrange(tree.images, choices)
    if whole is not None:
        return False, {"": whole}
    parts: dict[str, _Arrangement] = {}
    for top in tree.tops:
        inside = [PurePosixPath(*path.parts[1:]) for path in tree.under(top)]
        part = _arrange(inside, choices, loose_sources=False)
        if part is not None and part.methods:
            parts[top] = _moved(part, top)
    return True, parts


def _moved(part: _Arrangement, top: str) -> _Arrangement:
    def moved(keyed: Keyed) -> Keyed:
        return {key: PurePosixPath(top) / path for key, path in keyed.items()}

    roles = {role: (folder, moved(keyed)) for role, (folder, keyed) in part.roles.items()}
    methods = {name: (folder, moved(keyed)) for name, (folder, keyed) in part.methods.items()}
    return _Arrangement(roles, methods, [f"{top}: {note}" for note in part.left_out])


def _arrange(
    images: Iterable[PurePosixPath], choices: Choices, loose_sources: bool = True
) -> _Arrangement | None:
    """Return which folder is what, or None where no sources can be told."""
    images = list(images)
    tops = list(dict.fromkeys(path.parts[0] for path in images if len(path.parts) > 1))
    folders: dict[str, Keyed] = {}
    containers = [top for top in tops if is_container(top) and _holds_folders(images, top)]
    for path in images:
        depth = 2 if path.parts[0] in containers else 1
        if len(path.parts) > depth:
            folder = "/".join(path.parts[:depth])
            folders.setdefault(folder, {})["/".join(path.with_suffix("").parts[depth:])] = path
    found = _Arrangement()
    for folder, keyed in folders.items():
        role = "source" if folder == choices.source else role_of(PurePosixPath(folder).name)
        if role and (role not in found.roles or folder == choices.source):
            found.roles[role] = (folder, keyed)
    if "source" not in found.roles and loose_sources:
        loose = {path.stem: path for path in images if len(path.parts) == 1}
        if loose:
            found.roles["source"] = ("", loose)
    if "source" not in found.roles:
        plain = [folder for folder in folders if folder.lower() in PLAIN_NAMES]
        if len(plain) != 1 or len(folders) < 2:
            return None
        found.roles["source"] = (plain[0], folders[plain[0]])
    _sort_methods(found, folders, containers)
    return found


def _holds_folders(images: list[PurePosixPath], top: str) -> bool:
    inside = [path for path in images if path.parts[0] == top]
    return all(len(path.parts) > 2 for path in inside)


def _sort_methods(found: _Arrangement, folders: dict[str, Keyed], containers: list[str]) -> None:
    known = set(found.roles["source"][1])
    taken = {folder for folder, _ in found.roles.values()}
    for folder, keyed in folders.items():
        if folder in taken:
            continue
        name = PurePosixPath(folder).name
        if role_of(name) or not known & set(keyed) or (containers and "/" not in folder):
            why = (
                "none of its names is a source's"
                if not known & set(keyed)
                else "it is not among the methods"
            )
            found.left_out.append(f"left out {folder}/ ({counted(len(keyed), 'picture')}): {why}")
        else:
            found.methods[name] = (folder, keyed)


def _items(tree: Tree, part: _Arrangement, task: str | None, fallback: str) -> list[FoundItem]:
    items = []
    for key in sorted(part.roles["source"][1], key=natural):
        inner, _, number = key.rpartition("/")
        item = FoundItem(task or inner or fallback, key if task else number)
        for role, (_, keyed) in part.roles.items():
            if key in keyed:
                item.images[role] = tree.real(keyed[key])
        for method, (_, keyed) in part.methods.items():
            if key in keyed:
                item.edits[method] = tree.real(keyed[key])
        items.append(item)
    return items


def _templates(parts: list[_Arrangement], prefix: str, inner: str) -> dict[str, str]:
    """Return templates where all tasks name their folders alike; whether they fit is checked by the writer."""
    templates = {}
    for role, (folder, _) in parts[0].roles.items():
        paths = [
            path for part in parts if role in part.roles for path in part.roles[role][1].values()
        ]
        templates[role] = prefix + (f"{folder}/" if folder else "") + inner + ending(paths)
    folder = next(iter(parts[0].methods.values()))[0]
    above = folder.rpartition("/")[0]
    edits = [
        path for part in parts for _, keyed in part.methods.values() for path in keyed.values()
    ]
    templates["edit"] = (
        prefix + (f"{above}/" if above else "") + "{method}/" + inner + ending(edits)
    )
    return templates


def _orphans(parts: Iterable[_Arrangement]) -> list[str]:
    notes = []
    for part in parts:
        known = set(part.roles["source"][1])
        for method, (_, keyed) in part.methods.items():
            lost = sorted(set(keyed) - known)
            if lost:
                says = f"{method}: {counted(len(lost), 'picture')} without a source left out"
                notes.append(f"{says}: {listed(lost, 3)}")
    return notes


def _shared_without_source(tree: Tree) -> list[str]:
    keys = {
        top: {"/".join(path.with_suffix("").parts[1:]) for path in tree.under(top)}
        for top in tree.tops
    }
    return [top for top in keys if any(keys[top] & keys[other] for other in keys if other != top)]


def _no_sources(tree: Tree) -> LayoutError:
    seen = listed(tree.tops) or "no folders"
    return LayoutError(
        f"{tree.root}: no folder of sources; seen: {seen}. Name one of {role_names('source')}, "
        "or say which it is with --source FOLDER"
    )
