"""`ID_METHOD.png` beside `ID_src.jpg`, or beside `ID.jpg`; in one folder, or in a folder a task."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

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
from lmmscore.layouts.names import role_of
from lmmscore.layouts.tree import Tree

NAME = "suffixes"
LOOKS_LIKE = (
    "ID_src.jpg beside ID_METHOD.png (or ID.jpg beside ID_METHOD.png), perhaps a folder a task"
)

_ONE_WORD = re.compile(r"(?P<id>.+)(?P<separator>[_-])(?P<word>[A-Za-z]+)", re.DOTALL)
_TWO_WORDS = re.compile(r"(?P<id>.+)(?P<separator>[_-])(?P<word>[A-Za-z]+[_-][A-Za-z]+)", re.DOTALL)


@dataclass(slots=True)
class _Group:
    """The pictures of one folder, sorted by what their names say."""

    roles: dict[str, dict[str, PurePosixPath]] = field(default_factory=dict)
    """By role: pictures by id."""
    edits: dict[str, dict[str, PurePosixPath]] = field(default_factory=dict)
    """By id: pictures by method."""
    words: dict[str, set[str]] = field(default_factory=dict)
    """By role: the suffixes met, separator included."""
    separator: str = "_"
    leftover: list[PurePosixPath] = field(default_factory=list)

    @property
    def used(self) -> int:
        """How many pictures have a place."""
        return sum(map(len, self.roles.values())) + sum(map(len, self.edits.values()))


def look(tree: Tree, _: Choices) -> Guess | None:
    """Guess from names that begin with the name of a source."""
    groups = _groups(tree)
    if not groups:
        return None
    used = sum(group.used for group in groups.values())
    ids = sum(len(group.roles["source"]) for group in groups.values())
    methods = sorted(
        {m for group in groups.values() for edits in group.edits.values() for m in edits},
        key=natural,
    )
    suffix = sorted({word for group in groups.values() for word in group.words["source"]})
    sources = f"ID{suffix[0]}" if suffix[0] else "ID"
    says = f"{counted(ids, 'source')} named {sources} with edits beside, by {counted(len(methods), 'method')}"
    why = f"{says} ({listed(methods)})"
    return Guess(0.5 + 0.4 * used / len(tree.images), why)


def take(tree: Tree, choices: Choices) -> Found:
    """Read ids from the sources; what follows an id in a file name is the method."""
    groups = _groups(tree)
    if not groups:
        raise LayoutError(
            f"{tree.root}: no source with edits beside it; expected {LOOKS_LIKE}; seen: {tree.summary()}"
        )
    items: list[FoundItem] = []
    for folder, group in groups.items():
        task = folder.as_posix() if folder.parts else choices.task or DEFAULT_TASK
        items += _items(tree, group, task)
    slot = name_items(items)
    methods = sorted({method for item in items for method in item.edits}, key=natural)
    leftover = [path for group in groups.values() for path in group.leftover]
    notes = [f"left out {path}: no source's name begins its name" for path in leftover[:5]]
    if len(leftover) > 5:
        notes.append(f"left out {len(leftover) - 5} more such files")
    in_tasks = all(folder.parts for folder in groups)
    fits = in_tasks or len(groups) == 1
    return Found(
        items, methods, tree.root, _templates(groups, slot, in_tasks) if fits else {}, notes
    )


def _groups(tree: Tree) -> dict[PurePosixPath, _Group]:
    """Return the folders in which edits stand beside sources."""
    found = {folder: _sorted(paths) for folder, paths in tree.folders.items()}
    return {folder: group for folder, group in found.items() if group is not None and group.edits}


def _sorted(paths: list[PurePosixPath]) -> _Group | None:
    """Sort a folder's pictures by their names; None where no source can be told."""
    group = _Group()
    rest = [path for path in paths if not _takes_role(group, path)]
    if "source" not in group.roles:
        plain = _plain_sources(paths)
        if not plain:
            return None
        group.roles["source"], group.words["source"] = plain, {""}
        rest = [path for path in rest if path not in plain.values()]
    for path in rest:
        match = _longest_id(path.stem, group.roles["source"])
        if match is None:
            group.leftover.append(path)
        else:
            group.separator = match[1]
            group.edits.setdefault(match[0], {})[match[2]] = path
    _give_back_strangers(group)
    return group


def _takes_role(group: _Group, path: PurePosixPath) -> bool:
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
        for name in [name for name in group.roles[role] if name not in group.roles["source"]]:
            group.leftover.append(group.roles[role].pop(name))
        if not group.roles[role]:
            del group.roles[role]


def _plain_sources(paths: list[PurePosixPath]) -> dict[str, PurePosixPath]:
    """Return the pictures whose whole name begins the names of others and is itself begun by none."""
    stems = {path.stem: path for path in paths}
    begun = {stem: [start for start in _starts(stem) if start in stems] for stem in stems}
    beginning = {start for starts in begun.values() for start in starts}
    return {stem: path for stem, path in stems.items() if stem in beginning and not begun[stem]}


def _starts(stem: str) -> list[str]:
    return [
        stem[:position] for position, character in enumerate(stem) if character in "_-" and position
    ]


def _longest_id(stem: str, ids: dict[str, PurePosixPath]) -> tuple[str, str, str] | None:
    # From the right, so that a name that fits two ids belongs to the longer one.
    for position in range(len(stem) - 2, 0, -1):
        if stem[position] in "_-" and stem[:position] in ids:
            return stem[:position], stem[position], stem[position + 1 :]
    return None


def _items(tree: Tree, group: _Group, task: str) -> list[FoundItem]:
    items = []
    for name in sorted(group.roles["source"], key=natural):
        images = {
            role: tree.real(paths[name]) for role, paths in group.roles.items() if name in paths
        }
        edits = {m: tree.real(path) for m, path in sorted(group.edits.get(name, {}).items())}
        items.append(FoundItem(task, name, images, edits))
    return items


def _templates(groups: dict[PurePosixPath, _Group], slot: str, in_tasks: bool) -> dict[str, str]:
    """Return templates; where folders differ in their suffixes these do not fit, which the writer notices."""
    prefix = "{task}/" if in_tasks else ""
    templates = {}
    for role in ("source", "reference", "marked"):
        words = sorted({word for group in groups.values() for word in group.words.get(role, ())})
        paths = [path for group in groups.values() for path in group.roles.get(role, {}).values()]
        if paths:
            templates[role] = prefix + slot + words[0] + ending(paths)
    edits = [
        path
        for g in groups.values()
        for by_method in g.edits.values()
        for path in by_method.values()
    ]
    separator = next(iter(groups.values())).separator
    templates["edit"] = prefix + slot + separator + "{method}" + ending(edits)
    return templates
