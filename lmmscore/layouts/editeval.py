"""EditEval: a folder a task, numbered sources, and the prompts table.

Published as https://github.com/SiatMMLab/Awesome-Diffusion-Model-Based-Image-Editing-Methods. The data set holds no
edits; they are looked for as TASK/N_METHOD.png, TASK/METHOD/N.png and METHOD/TASK/N.png.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

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
from lmmscore.layouts.editeval_prompts import TASKS, Prompt, read_prompts, task_named
from lmmscore.layouts.names import is_container, role_of
from lmmscore.layouts.tree import Tree

NAME = "editeval"
LOOKS_LIKE = (
    f"TASK/1.jpg, TASK/2.jpg … for tasks such as {TASKS[0]}, and the prompts table (.xlsx or .csv)"
)

_NUMBERED = re.compile(r"(?P<number>\d+)(?:[_-](?P<word>.+))?", re.DOTALL)
_DATASETS = ("dataset", "data", "editeval", "editeval_v1")


@dataclass(slots=True)
class _Pictures:
    """The pictures of the data set by (task, number)."""

    sources: dict[tuple[str, str], PurePosixPath] = field(default_factory=dict)
    edits: dict[tuple[str, str], dict[str, PurePosixPath]] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    """By task: the folder that is called after it, spelt as it is."""
    templates: set[str] = field(default_factory=set)


def look(tree: Tree, choices: Choices) -> Guess | None:
    """Guess from folders called after EditEval's tasks, with numbered pictures inside."""
    base = _base(tree, choices)
    pictures = _pictures(tree, base) if base is not None else None
    if pictures is None or not pictures.sources:
        return None
    table = _prompts(tree, choices)
    says = f"the folders {listed(pictures.folders.values(), 7)} are EditEval's tasks, with numbered sources"
    if table:
        says += f"; {table[0].name} has their prompts"
    return Guess(0.95 if table or len(pictures.folders) > 1 else 0.55, says)


def take(tree: Tree, choices: Choices) -> Found:
    """Read the sources, the prompts and whatever edits there are."""
    base = _base(tree, choices)
    pictures = _pictures(tree, base) if base is not None else None
    if base is None or pictures is None or not pictures.sources:
        raise LayoutError(f"{tree.root}: expected {LOOKS_LIKE}; seen: {tree.summary()}")
    table = _prompts(tree, choices)
    prompts = table[1] if table else {}
    items = [
        _item(tree, key, pictures, prompts) for key in sorted(pictures.sources, key=_natural_key)
    ]
    name_items(items)
    methods = sorted({method for item in items for method in item.edits}, key=natural)
    notes = _notes(pictures, prompts, table, methods)
    templates = _templates(base, pictures, methods)
    return Found(items, methods, tree.root, templates, notes, [table[0]] if table else [])


def _natural_key(key: tuple[str, str]) -> tuple[int, list[tuple[int, int, str]]]:
    return (TASKS.index(key[0]) if key[0] in TASKS else len(TASKS), natural("/".join(key)))


def _base(tree: Tree, choices: Choices) -> PurePosixPath | None:
    """Return the folder that holds the task folders of the sources."""
    parents = {
        PurePosixPath(*folder.parts[:depth])
        for folder in tree.folders
        for depth, part in enumerate(folder.parts)
        if task_named(part)
    }
    if choices.source:
        return PurePosixPath(choices.source) if PurePosixPath(choices.source) in parents else None
    named = sorted(parent for parent in parents if parent.parts)
    likely = [parent for parent in named if role_of(parent.name) == "source"]
    likely += [parent for parent in named if parent.name.lower() in _DATASETS]
    if likely:
        return likely[0]
    here = PurePosixPath()
    return here if here in parents else next(iter(parents)) if len(parents) == 1 else None


def _pictures(tree: Tree, base: PurePosixPath) -> _Pictures:
    found = _Pictures()
    for path in tree.images:
        for depth, part in enumerate(path.parts[:-1]):
            task = task_named(part)
            if task:
                above, below = PurePosixPath(*path.parts[:depth]), path.parts[depth + 1 :]
                _place(found, base, (task, part), above, below, path)
                break
    return found


def _place(
    found: _Pictures,
    base: PurePosixPath,
    task: tuple[str, str],
    above: PurePosixPath,
    below: tuple[str, ...],
    path: PurePosixPath,
) -> None:
    """Put a picture where its path says: ABOVE/TASK/…BELOW."""
    match = _NUMBERED.fullmatch(path.stem)
    if match is None or len(below) > 2:
        return
    key = (task[0], match["number"])
    in_base, word = above == base, match["word"] or ""
    if in_base and len(below) == 1 and (not word or role_of(word) == "source"):
        found.folders[task[0]] = task[1]
        found.sources[key] = path
        return
    method, template = word, f"{base}/{{folder}}/{{number}}_{{method}}"
    if in_base and len(below) == 2 and not word:
        method, template = below[0], f"{base}/{{folder}}/{{method}}/{{number}}"
    elif not in_base:
        method = next((part for part in reversed(above.parts) if not is_container(part)), "")
        template = (
            "/".join("{method}" if part == method else part for part in above.parts)
            + "/{folder}/{number}"
        )
    if method:
        found.edits.setdefault(key, {}).setdefault(method, path)
        found.templates.add(template.removeprefix("./"))


def _item(
    tree: Tree, key: tuple[str, str], pictures: _Pictures, prompts: dict[tuple[str, str], Prompt]
) -> FoundItem:
    edits = {m: tree.real(path) for m, path in sorted(pictures.edits.get(key, {}).items())}
    item = FoundItem(key[0], key[1], {"source": tree.real(pictures.sources[key])}, edits)
    prompt = prompts.get(key)
    if prompt is not None:
        item.instruction = prompt.instruction
        item.fields = {"source_prompt": prompt.source, "target_prompt": prompt.target}
    item.fields["number"] = key[1]
    if any(task != folder for task, folder in pictures.folders.items()):
        item.fields["folder"] = pictures.folders[key[0]]
    return item


def _templates(base: PurePosixPath, pictures: _Pictures, methods: list[str]) -> dict[str, str]:
    folder = "{folder}" if any(t != f for t, f in pictures.folders.items()) else "{task}"
    above = f"{base}/" if base.parts else ""
    words = {path.stem.partition("_")[1:] for path in pictures.sources.values()}
    suffix = "".join(words.pop()) if len(words) == 1 else ""
    source = f"{above}{folder}/{{number}}{suffix}{ending(pictures.sources.values())}"
    edits = [path for by_method in pictures.edits.values() for path in by_method.values()]
    if len(pictures.templates) > 1:
        return {}
    edit = next(iter(pictures.templates), f"{above}{{folder}}/{{number}}_{{method}}")
    edit = edit.replace("{folder}", folder) + (ending(edits) if methods else ".*")
    return {"source": source, "edit": edit}


def _prompts(tree: Tree, choices: Choices) -> tuple[Path, dict[tuple[str, str], Prompt]] | None:
    """Return the table with the most prompts, and the prompts by (task, number)."""
    if choices.instructions is not None:
        return choices.instructions, read_prompts(choices.instructions)
    best = max(_readable(tree), key=lambda entry: len(entry[1]), default=None)
    return best if best and best[1] else None


def _readable(tree: Tree) -> Iterator[tuple[Path, dict[tuple[str, str], Prompt]]]:
    for path in tree.named(".xlsx", ".csv", ".tsv"):
        try:
            yield tree.real(path), read_prompts(tree.real(path))
        except FileProblem:
            continue


def _notes(
    pictures: _Pictures,
    prompts: dict[tuple[str, str], Prompt],
    table: tuple[Path, dict[tuple[str, str], Prompt]] | None,
    methods: list[str],
) -> list[str]:
    notes = []
    if table is None:
        notes.append("no prompts table found; give it with --instructions FILE (.xlsx or .csv)")
    lost = ["/".join(key) for key in prompts if key not in pictures.sources]
    if lost:
        notes.append(
            f"{counted(len(lost), 'prompt')} without a picture left out: {listed(lost, 4)}"
        )
    strays = ["/".join(key) for key in pictures.edits if key not in pictures.sources]
    if strays:
        notes.append(f"edits without a source left out: {listed(strays, 4)}")
    if not methods:
        notes.append("no edits yet; put them beside the sources as TASK/N_METHOD.png")
    return notes
