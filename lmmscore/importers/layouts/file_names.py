"""Layouts told from file names alone: METHOD/ID.png, ID/METHOD.png or ID_METHOD.png."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NoReturn

from lmmscore.errors import counted, listed, nearest
from lmmscore.importers.layouts import (
    DEFAULT_TASK,
    IMAGE_ROLES,
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
    methods_of,
    name_items,
    natural,
    pictures_of,
    role_names,
    role_of,
)

# --------------------------------------------------------------------------------------------------
# One folder per method, with the same file names in each; sources in a folder or loose.
# --------------------------------------------------------------------------------------------------

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
def look_at_folders(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from the names that the folders share."""
    task_first, parts = _arrangements(tree, choices)
    methods = _folder_methods(parts.values())
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
    return Guess(
        0.5 + 0.4 * share, why, lambda: _found_in_folders(tree, choices, task_first, parts)
    )


def _found_in_folders(
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
        items += _folder_items(part, task if task_first else None, fallback)
        notes += [f"{task}: {note}" if task else note for note in part.left_out]

    # Folders inside the method's are tasks: METHOD/TASK/ID.png.
    nested = not task_first and any(item.task != fallback for item in items)
    slot = name_items(items)
    prefix = "{task}/" if task_first else ""
    inner = f"{{task}}/{slot}" if nested else slot
    templates = _folder_templates(list(parts.values()), prefix, inner)
    notes += _orphans(parts.values())
    return Found(items, _folder_methods(parts.values()), tree.root, templates, notes)


def _folder_methods(parts: Iterable[_Arrangement]) -> list[str]:
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


def _folder_items(part: _Arrangement, task: str | None, fallback: str) -> list[FoundItem]:
    """Return an item for each source; `task` where the folders at the top are tasks."""
    items = []
    for key in sorted(part.roles["source"], key=natural):
        inner, _, number = key.rpartition("/")
        item = FoundItem(task or inner or fallback, key if task else number)
        item.images = pictures_of(key, part.roles)
        item.edits = pictures_of(key, part.methods)
        items.append(item)

    return items


def _folder_templates(parts: list[_Arrangement], prefix: str, inner: str) -> dict[str, str]:
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


# --------------------------------------------------------------------------------------------------
# One folder per item, with its source and its edits in it.
# --------------------------------------------------------------------------------------------------

PictureFolders = dict[PurePosixPath, list[PurePosixPath]]


@layout("items", "ID/source.png, ID/METHOD.png: one folder per item, optionally inside its task's")
def look_at_items(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from the folders that hold a picture named like a source."""
    folders: PictureFolders = {}
    edited = False
    for folder, paths in tree.folders.items():
        roles = [role_of(path.stem) for path in paths]
        if folder.name and roles.count("source") == 1:
            folders[folder] = paths
            edited = edited or None in roles

    if not edited:
        return None

    share = sum(map(len, folders.values())) / len(tree.images)
    holds = counted(len(folders), "folder holds", "folders hold")
    why = f"{holds} a picture named like a source and edits beside it: one folder per item"
    return Guess(0.5 + 0.48 * share, why, lambda: _found_in_items(tree, choices, folders))


def _found_in_items(tree: FolderTree, choices: Choices, folders: PictureFolders) -> Found:
    """Read an item from each folder; what is neither source nor reference is a method's edit."""
    first, *others = {folder.parent for folder in folders}
    # A single folder around all items is their task only if its name says something.
    is_plain = not others and (not first.name or is_container(first.name))
    items = []
    names: dict[str, set[str]] = {}
    for folder in sorted(folders, key=lambda folder: natural(str(folder))):
        fallback = choices.task or DEFAULT_TASK
        item = FoundItem(fallback if is_plain else folder.parent.name or fallback, folder.name)
        for path in folders[folder]:
            role = role_of(path.stem)
            if role is None:
                item.edits[path.stem] = tree.real(path)
            elif role not in item.images:
                item.images[role] = tree.real(path)
                names.setdefault(role, set()).add(path.stem)

        items.append(item)

    slot = name_items(items)
    prefix = first / slot if is_plain else PurePosixPath("{task}", slot)
    templates = {}
    for role, stems in names.items():
        pictures = [item.images[role] for item in items if role in item.images]
        templates[role] = f"{prefix}/{min(stems)}{ending(pictures)}"

    edits = [path for item in items for path in item.edits.values()]
    templates["edit"] = f"{prefix}/{{method}}{ending(edits)}"
    notes = []
    if choices.source is not None:
        notes.append(f"--source {choices.source} ignored: each folder has a source of its own")

    return Found(items, methods_of(items), tree.root, templates, notes)


# --------------------------------------------------------------------------------------------------
# `ID_METHOD.png` beside `ID_src.jpg` or `ID.jpg`, in one folder or in one folder per task.
# --------------------------------------------------------------------------------------------------

_ONE_WORD = re.compile(r"(?P<id>.+)(?P<separator>[_-])(?P<word>[A-Za-z]+)", re.DOTALL)
_TWO_WORDS = re.compile(r"(?P<id>.+)(?P<separator>[_-])(?P<word>[A-Za-z]+[_-][A-Za-z]+)", re.DOTALL)


@dataclass(slots=True)
class _Group:
    """The pictures of one folder, sorted by what their names say."""

    roles: dict[str, dict[str, PurePosixPath]] = field(default_factory=dict)
    """By role: pictures by id."""

    edits: dict[str, dict[str, PurePosixPath]] = field(default_factory=dict)
    """By method: pictures by id."""

    words: dict[str, set[str]] = field(default_factory=dict)
    """By role: the suffixes met, separator included."""

    separator: str = "_"
    leftover: list[PurePosixPath] = field(default_factory=list)

    @property
    def used(self) -> int:
        """How many pictures have a place."""
        return sum(map(len, self.roles.values())) + sum(map(len, self.edits.values()))


@layout(
    "suffixes",
    "ID_src.jpg beside ID_METHOD.png (or ID.jpg beside ID_METHOD.png), optionally one folder per "
    "task",
)
def look_at_suffixes(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from names that begin with the name of a source."""
    groups = _groups(tree)
    if not groups:
        return None

    methods: set[str] = set()
    suffixes: set[str] = set()
    for group in groups.values():
        methods |= set(group.edits)
        suffixes |= group.words["source"]

    used = sum(group.used for group in groups.values())
    ids = sum(len(group.roles["source"]) for group in groups.values())

    named = f"{counted(ids, 'source')} named ID{min(suffixes)} with edits beside"
    in_order = sorted(methods, key=natural)
    by_whom = f"{counted(len(methods), 'method')} ({listed(in_order)})"
    share = used / len(tree.images)
    why = f"{named}, by {by_whom}"
    return Guess(0.5 + 0.4 * share, why, lambda: _found_by_suffix(tree, choices, groups))


def _found_by_suffix(
    tree: FolderTree, choices: Choices, groups: dict[PurePosixPath, _Group]
) -> Found:
    """Read ids from the sources; what follows an id in a file name is the method."""
    items: list[FoundItem] = []
    leftover: list[PurePosixPath] = []
    for folder, group in groups.items():
        task = folder.as_posix() if folder.parts else choices.task or DEFAULT_TASK
        items += _suffix_items(tree, group, task)
        leftover += group.leftover

    slot = name_items(items)
    methods = methods_of(items)
    notes = [f"ignored {path}: its name does not begin with a source's" for path in leftover[:5]]
    if len(leftover) > 5:
        notes.append(f"ignored {len(leftover) - 5} more such files")

    in_tasks = all(folder.parts for folder in groups)
    fits = in_tasks or len(groups) == 1
    templates = _suffix_templates(list(groups.values()), slot, in_tasks) if fits else {}
    return Found(items, methods, tree.root, templates, notes)


def _groups(tree: FolderTree) -> dict[PurePosixPath, _Group]:
    """Return the folders in which edits stand beside sources."""
    groups = {}
    for folder, paths in tree.folders.items():
        group = _sorted(paths)
        if group is not None and group.edits:
            groups[folder] = group

    return groups


def _sorted(paths: list[PurePosixPath]) -> _Group | None:
    """Sort a folder's pictures by their names; None if no source is recognised."""
    group = _Group()
    rest = [path for path in paths if not _takes_role(group, path)]
    if "source" not in group.roles:
        plain = _plain_sources(paths)
        if not plain:
            return None

        group.roles["source"] = plain
        group.words["source"] = {""}
        rest = [path for path in rest if path not in plain.values()]

    # Only now: whose edit a picture is depends on which sources there are.
    for path in rest:
        match = _longest_id(path.stem, group.roles["source"])
        if match is None:
            group.leftover.append(path)
            continue

        name, group.separator, method = match
        group.edits.setdefault(method, {})[name] = path

    _give_back_strangers(group)
    return group


def _takes_role(group: _Group, path: PurePosixPath) -> bool:
    """Add a picture whose name ends like a source or a reference; return whether it does."""
    # Two words first: ID_ground_truth is not the truth of ID_ground.
    for expression in (_TWO_WORDS, _ONE_WORD):
        match = expression.fullmatch(path.stem)
        role = role_of(match["word"]) if match else None
        if match and role:
            group.roles.setdefault(role, {}).setdefault(match["id"], path)
            group.words.setdefault(role, set()).add(match["separator"] + match["word"])
            return True

    return False


def _give_back_strangers(group: _Group) -> None:
    """A picture called ID_target whose ID is no source's is not a reference but something else."""
    for role in set(group.roles) - {"source"}:
        strangers = set(group.roles[role]) - set(group.roles["source"])
        for name in sorted(strangers):
            group.leftover.append(group.roles[role].pop(name))

        if not group.roles[role]:
            del group.roles[role]


def _plain_sources(paths: list[PurePosixPath]) -> dict[str, PurePosixPath]:
    """Return the pictures whose whole name begins others' names and is itself begun by none."""
    stems = {path.stem: path for path in paths}
    beginnings: set[str] = set()
    begun: set[str] = set()
    for stem in stems:
        starts = [start for start in _starts(stem) if start in stems]
        beginnings.update(starts)
        if starts:
            begun.add(stem)

    return {stem: stems[stem] for stem in stems if stem in beginnings - begun}


def _starts(stem: str) -> list[str]:
    return [stem[:place] for place, letter in enumerate(stem) if letter in "_-" and place]


def _longest_id(stem: str, ids: dict[str, PurePosixPath]) -> tuple[str, str, str] | None:
    """Return id, separator and method; from the right, so that the longer of two ids wins."""
    for place in range(len(stem) - 2, 0, -1):
        if stem[place] in "_-" and stem[:place] in ids:
            return stem[:place], stem[place], stem[place + 1 :]

    return None


def _suffix_items(tree: FolderTree, group: _Group, task: str) -> list[FoundItem]:
    """Return an item for each source of a folder."""
    items = []
    for name in sorted(group.roles["source"], key=natural):
        item = FoundItem(task, name)
        for role, path in pictures_of(name, group.roles).items():
            item.images[role] = tree.real(path)

        for method, path in sorted(pictures_of(name, group.edits).items()):
            item.edits[method] = tree.real(path)

        items.append(item)

    return items


def _suffix_templates(groups: list[_Group], slot: str, in_tasks: bool) -> dict[str, str]:
    """Return templates; where folders differ in their suffixes the writer finds they do not fit."""
    prefix = "{task}/" if in_tasks else ""
    templates = {}
    for role in IMAGE_ROLES:
        words: set[str] = set()
        paths: list[PurePosixPath] = []
        for group in groups:
            words |= group.words.get(role, set())
            paths += group.roles.get(role, {}).values()

        if paths:
            templates[role] = prefix + slot + min(words) + ending(paths)

    edits = [path for group in groups for by_id in group.edits.values() for path in by_id.values()]
    templates["edit"] = prefix + slot + groups[0].separator + "{method}" + ending(edits)
    return templates
