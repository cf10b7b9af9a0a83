"""`ID_METHOD.png` beside `ID_src.jpg` or `ID.jpg`, in one folder or in one folder per task."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from lmmscore.errors import counted, listed
from lmmscore.importers.layouts import (
    DEFAULT_TASK,
    IMAGE_ROLES,
    Choices,
    FolderTree,
    Found,
    FoundItem,
    Guess,
    ending,
    layout,
    methods_of,
    name_items,
    natural,
    pictures_of,
    role_of,
)

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
def look(tree: FolderTree, choices: Choices) -> Guess | None:
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
    return Guess(0.5 + 0.4 * share, why, lambda: _found(tree, choices, groups))


def _found(tree: FolderTree, choices: Choices, groups: dict[PurePosixPath, _Group]) -> Found:
    """Read ids from the sources; what follows an id in a file name is the method."""
    items: list[FoundItem] = []
    leftover: list[PurePosixPath] = []
    for folder, group in groups.items():
        task = folder.as_posix() if folder.parts else choices.task or DEFAULT_TASK
        items += _items(tree, group, task)
        leftover += group.leftover

    slot = name_items(items)
    methods = methods_of(items)
    notes = [f"ignored {path}: its name does not begin with a source's" for path in leftover[:5]]
    if len(leftover) > 5:
        notes.append(f"ignored {len(leftover) - 5} more such files")

    in_tasks = all(folder.parts for folder in groups)
    fits = in_tasks or len(groups) == 1
    templates = _templates(list(groups.values()), slot, in_tasks) if fits else {}
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


def _items(tree: FolderTree, group: _Group, task: str) -> list[FoundItem]:
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


def _templates(groups: list[_Group], slot: str, in_tasks: bool) -> dict[str, str]:
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
