"""GEdit-Bench outputs: METHOD/fullset/TASK/LANGUAGE/KEY.png, the source beside as KEY_SRCIMG.png.

As its evaluation code reads them: https://github.com/stepfun-ai/Step1X-Edit, folder GEdit-Bench.
Instructions are not among the outputs; they are in the data set stepfun-ai/GEdit-Bench.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from lmmscore.errors import listed
from lmmscore.importers.layouts import (
    Choices,
    FolderTree,
    Found,
    FoundItem,
    Guess,
    LayoutError,
    ending,
    layout,
    methods_of,
    name_items,
    natural,
    notes_on_gaps,
    role_of,
)

Key = tuple[str, str]
"""Task and key."""

_LANGUAGES = ("en", "cn")
_TASKS = frozenset(
    "background_change color_alter material_alter motion_change ps_human style_change subject-add "
    "subject-remove subject-replace text_change tone_transfer".split()
)
_SOURCE = re.compile(r"(?P<key>.+)_SRCIMG", re.IGNORECASE)


@dataclass(slots=True)
class _Outputs:
    """Pictures by language, then by task and key."""

    edits: dict[str, dict[Key, dict[str, Path]]] = field(default_factory=dict)
    sources: dict[str, dict[Key, Path]] = field(default_factory=dict)
    methods: set[str] = field(default_factory=set)
    prefix: str = "fullset/"


@layout("gedit", "METHOD/fullset/TASK/en/KEY.png with KEY_SRCIMG.png beside (GEdit-Bench outputs)")
def look(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from folders fullset/TASK/en or fullset/TASK/cn."""
    outputs = _outputs(tree, choices)
    if not outputs.edits:
        return None

    methods = listed(sorted(outputs.methods))
    languages = " and ".join(sorted(outputs.edits))
    why = f"{methods} hold fullset/TASK/{languages}/KEY, as GEdit-Bench asks"
    return Guess(0.97, why, lambda: _found(tree, choices, outputs))


def _found(tree: FolderTree, choices: Choices, outputs: _Outputs) -> Found:
    """Read one language's items; sources from beside the edits or from a folder of their own."""
    language = _language(outputs, choices)
    edits = outputs.edits[language]
    sources = outputs.sources.get(language, {})
    items = []
    # An item that no method edited is still an item, and its edits are missing.
    for key in sorted({*edits, *sources}, key=lambda each: natural("/".join(each))):
        item = FoundItem(*key, fields={"language": language})
        if key in sources:
            item.images["source"] = sources[key]

        item.edits = dict(sorted(edits.get(key, {}).items()))
        items.append(item)

    slot = name_items(items)
    methods = methods_of(items)
    templates = _templates(tree, items, outputs.prefix, slot)
    notes = [
        *_notes(outputs, language, choices),
        *notes_on_gaps(items, "METHOD/fullset/TASK/LANGUAGE/KEY.png"),
    ]
    return Found(items, methods, tree.root, templates, notes)


def _outputs(tree: FolderTree, choices: Choices) -> _Outputs:
    """Return the pictures that lie as GEdit-Bench asks, with or without `fullset`."""
    found = _Outputs()
    for path in tree.images:
        parts = path.parts
        if len(parts) < 3 or parts[-2] not in _LANGUAGES:
            continue

        within = len(parts) > 3 and parts[-4] == "fullset"
        if within or parts[-3] in _TASKS:
            found.prefix = "fullset/" if within else ""
            above = parts[: -4 if within else -3]
            method = above[-1] if above else tree.name
            _place(found, method, path, tree, choices)

    return found


def _place(
    found: _Outputs, method: str, path: PurePosixPath, tree: FolderTree, choices: Choices
) -> None:
    """Add a picture as a source or as the edit of a method."""
    task, language = path.parts[-3], path.parts[-2]
    source = _SOURCE.fullmatch(path.stem)
    only_sources = method == choices.source if choices.source else role_of(method) == "source"
    if source or only_sources:
        key = (task, source["key"] if source else path.stem)
        found.sources.setdefault(language, {}).setdefault(key, tree.real(path))
        return

    found.methods.add(method)
    edits = found.edits.setdefault(language, {})
    edits.setdefault((task, path.stem), {}).setdefault(method, tree.real(path))


def _language(outputs: _Outputs, choices: Choices) -> str:
    """Return the language asked for; English, if nothing is said and there is any."""
    if choices.language is None:
        return "en" if "en" in outputs.edits else min(outputs.edits)

    if choices.language not in outputs.edits:
        known = ", ".join(sorted(outputs.edits))
        raise LayoutError(f"no edits for the language {choices.language!r}; there are: {known}")

    return choices.language


def _notes(outputs: _Outputs, language: str, choices: Choices) -> list[str]:
    others = sorted(set(outputs.edits) - {language})
    if not others or choices.language is not None:
        return []

    return [
        f"took the instructions in {language}; --language {others[0]} takes the others, as another "
        "benchmark"
    ]


def _templates(tree: FolderTree, items: list[FoundItem], prefix: str, slot: str) -> dict[str, str]:
    """Return templates from the first pictures; the writer checks that they fit all the others."""
    edits = [path for item in items for path in item.edits.values()]
    if not edits or any(len(item.images) != len(items[0].images) for item in items):
        return {}

    depth = -4 if prefix else -3  # KEY.png, language, task and perhaps fullset
    above = edits[0].relative_to(tree.root).parts[:depth]
    if not above:
        return {}

    tail = f"{prefix}{{task}}/{{language}}/{slot}"
    templates = {"edit": "/".join([*above[:-1], "{method}", tail + ending(edits)])}
    if items[0].images:
        source = items[0].images["source"].relative_to(tree.root)
        holder = "/".join(source.parts[:depth])
        suffix = source.stem.removeprefix(items[0].number) + source.suffix
        templates["source"] = f"{holder}/{tail}{suffix}"

    return templates
