"""One folder per method, with the same file names in each; sources in a folder or loose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NoReturn

from lmmscore.errors import counted, listed, nearest
from lmmscore.importers.layouts import (
    DEFAULT_TASK,
    PLAIN_NAMES,
    Choices,
    FolderTree,
    Found,
    FoundItem,
    Guess,
    LayoutError,
    ending,
    is_container,
    layout,
    name_items,
    natural,
    pictures_of,
    role_names,
    role_of,
)

Keyed = dict[str, Path]
"""Pictures by their name inside a folder, without file type."""

Images = dict[PurePosixPath, Path]
"""Pictures by their paths below the folder that is looked at."""


@dataclass(slots=True)
class _Arrangement:
    """Which folder is what."""

    roles: dict[str, Keyed] = field(default_factory=dict)
    methods: dict[str, Keyed] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    """By role or method: its folder, `""` for the top."""

    left_out: list[str] = field(default_factory=list)

    @property
    def used(self) -> int:
        """How many pictures have a place."""
        return sum(map(len, [*self.roles.values(), *self.methods.values()]))


@layout(
    "folders",
    "source/ID.png, METHOD/ID.png: one folder per method, with the same file names in each",
)
def look(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from the names that the folders share."""
    task_first, parts = _arrangements(tree, choices)
    methods = _methods(parts.values())
    if not methods:
        shared = _shared_without_source(tree)
        if not shared:
            return None

        why = f"{listed(shared)} share file names, but none is named like a source"
        return Guess(0.3, why, lambda: _no_sources(tree))

    sources = {part.folders["source"] or "the files at the top" for part in parts.values()}
    used = sum(part.used for part in parts.values())
    where = f", in {counted(len(parts), 'task folder')}" if task_first else ""
    folders = f"{counted(len(methods), 'folder')} ({listed(methods)})"
    why = f"{folders} repeat file names of {listed(sorted(sources))}{where}"
    share = used / len(tree.images)
    return Guess(0.5 + 0.4 * share, why, lambda: _found(tree, choices, task_first, parts))


def _found(
    tree: FolderTree, choices: Choices, task_first: bool, parts: dict[str, _Arrangement]
) -> Found:
    """Read the items from the sources and the methods from the folders."""
    if choices.source and all(part.folders["source"] != choices.source for part in parts.values()):
        hint = nearest(choices.source, tree.tops)
        raise LayoutError(
            f"{tree.root}: no folder {choices.source} with sources{hint}; see --source"
        )

    fallback = choices.task or DEFAULT_TASK
    items: list[FoundItem] = []
    notes: list[str] = []
    for task, part in parts.items():
        items += _items(part, task if task_first else None, fallback)
        notes += [f"{task}: {note}" if task else note for note in part.left_out]

    # Folders inside the method's are tasks: METHOD/TASK/ID.png.
    nested = not task_first and any(item.task != fallback for item in items)
    slot = name_items(items)
    prefix = "{task}/" if task_first else ""
    inner = f"{{task}}/{slot}" if nested else slot
    templates = _templates(list(parts.values()), prefix, inner)
    notes += _orphans(parts.values())
    return Found(items, _methods(parts.values()), tree.root, templates, notes)


def _methods(parts: Iterable[_Arrangement]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part.methods))


def _arrangements(tree: FolderTree, choices: Choices) -> tuple[bool, dict[str, _Arrangement]]:
    """Return whether the top folders are tasks, and the arrangement of the whole or of each."""
    # Tasks as outer folders are tried only where the whole makes no sense.
    whole = _arrange({path: tree.real(path) for path in tree.images}, choices)
    if whole is not None:
        return False, {"": whole}

    parts: dict[str, _Arrangement] = {}
    for top in tree.tops:
        inside = {PurePosixPath(*path.parts[1:]): tree.real(path) for path in tree.under(top)}
        part = _arrange(inside, choices, loose_sources=False)
        if part is not None and part.methods:
            parts[top] = part

    return True, parts


def _arrange(images: Images, choices: Choices, loose_sources: bool = True) -> _Arrangement | None:
    """Return which folder is what, or None if the sources are not recognised."""
    containers = _containers(images)
    folders = _pictures_by_folder(images, containers)
    found = _Arrangement()
    for folder in folders:
        role = "source" if folder == choices.source else role_of(PurePosixPath(folder).name)
        if role and (role not in found.folders or folder == choices.source):
            found.folders[role] = folder

    if "source" not in found.folders:
        # Pictures at the top are sources only if no folder is named like one.
        loose = {path.stem: real for path, real in images.items() if len(path.parts) == 1}
        plain = [folder for folder in folders if folder.lower() in PLAIN_NAMES]
        if loose and loose_sources:
            found.folders["source"] = ""
            folders[""] = loose
        elif len(plain) == 1 and len(folders) > 1:
            found.folders["source"] = plain[0]
        else:
            return None

    found.roles = {role: folders[folder] for role, folder in found.folders.items()}
    _sort_methods(found, folders, containers)
    return found


def _containers(images: Images) -> list[str]:
    """Return the top folders such as `outputs/` that hold nothing but folders."""
    depths: dict[str, int] = {}
    for path in images:
        if len(path.parts) > 1:
            top = path.parts[0]
            depths[top] = min(depths.get(top, len(path.parts)), len(path.parts))

    return [top for top, depth in depths.items() if depth > 2 and is_container(top)]


def _pictures_by_folder(images: Images, containers: list[str]) -> dict[str, Keyed]:
    """Return the pictures of each folder at the top, or in a container, by name."""
    folders: dict[str, Keyed] = {}
    for path, real in images.items():
        depth = 2 if path.parts[0] in containers else 1
        if len(path.parts) > depth:
            folder = "/".join(path.parts[:depth])
            key = "/".join(path.with_suffix("").parts[depth:])
            folders.setdefault(folder, {})[key] = real

    return folders


def _sort_methods(found: _Arrangement, folders: dict[str, Keyed], containers: list[str]) -> None:
    """Take the folders that share names with the sources for methods; note the others."""
    known = set(found.roles["source"])
    taken = set(found.folders.values())
    for folder, keyed in folders.items():
        if folder in taken:
            continue

        name = PurePosixPath(folder).name
        why = ""
        if not known & set(keyed):
            why = "none of its names is a source's"
        elif role_of(name) or (containers and "/" not in folder):
            why = "it is not among the methods"

        if why:
            found.left_out.append(f"ignored {folder}/ ({counted(len(keyed), 'picture')}): {why}")
        else:
            found.methods[name] = keyed
            found.folders[name] = folder


def _items(part: _Arrangement, task: str | None, fallback: str) -> list[FoundItem]:
    """Return an item for each source; `task` where the folders at the top are tasks."""
    items = []
    for key in sorted(part.roles["source"], key=natural):
        inner, _, number = key.rpartition("/")
        item = FoundItem(task or inner or fallback, key if task else number)
        item.images = pictures_of(key, part.roles)
        item.edits = pictures_of(key, part.methods)
        items.append(item)

    return items


def _templates(parts: list[_Arrangement], prefix: str, inner: str) -> dict[str, str]:
    """Return templates as the first task suggests; the writer checks that they fit the others."""
    first = parts[0]
    templates = {}
    for role in first.roles:
        folder = first.folders[role]
        above = f"{folder}/" if folder else ""
        paths = [path for part in parts for path in part.roles.get(role, {}).values()]
        templates[role] = prefix + above + inner + ending(paths)

    container = first.folders[next(iter(first.methods))].rpartition("/")[0]
    above = f"{container}/" if container else ""
    edits = [path for part in parts for keyed in part.methods.values() for path in keyed.values()]
    templates["edit"] = prefix + above + "{method}/" + inner + ending(edits)
    return templates


def _orphans(parts: Iterable[_Arrangement]) -> list[str]:
    """Return a note for each method with edits that have no source."""
    notes = []
    for part in parts:
        known = set(part.roles["source"])
        for method, keyed in part.methods.items():
            lost = sorted(set(keyed) - known)
            if lost:
                says = f"{method}: {counted(len(lost), 'picture')} without a source ignored"
                notes.append(f"{says}: {listed(lost)}")

    return notes


def _shared_without_source(tree: FolderTree) -> list[str]:
    """Return the folders at the top that share file names, for a hint."""
    keys = {}
    for top in tree.tops:
        keys[top] = {"/".join(path.with_suffix("").parts[1:]) for path in tree.under(top)}

    return [top for top in keys if any(keys[top] & keys[other] for other in keys if other != top)]


def _no_sources(tree: FolderTree) -> NoReturn:
    """Refuse a folder in which no sources are recognised."""
    seen = listed(tree.tops) or "no folders"
    raise LayoutError(
        f"{tree.root}: no folder of sources; seen: {seen}. Name one of {role_names('source')}, "
        "or say which it is with --source FOLDER"
    )
