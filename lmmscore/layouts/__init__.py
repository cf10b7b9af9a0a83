"""Layouts: the ways people already keep their pictures, recognised and turned into benchmark.yaml.

One module a layout. Each says how sure it is of a folder and why; the surest reads it.
"""

from __future__ import annotations

from lmmscore.errors import nearest
from lmmscore.layouts import dataset, editeval, folders, gedit, imgedit, suffixes, vibe
from lmmscore.layouts.base import Choices, Found, FoundItem, Guess, Layout, LayoutError, layout_of
from lmmscore.layouts.tables import fill_in, likely_tables, read_table
from lmmscore.layouts.tree import Tree, scan

__all__ = [
    "LAYOUTS",
    "Choices",
    "Found",
    "FoundItem",
    "Guess",
    "Layout",
    "LayoutError",
    "Tree",
    "choose",
    "read",
    "scan",
]

LAYOUTS = {
    layout.name: layout
    for layout in map(layout_of, (folders, suffixes, editeval, vibe, gedit, imgedit, dataset))
}
"""Every layout by name, in the order the documentation lists them."""

ENOUGH = 0.5
"""Below this a guess is worth a hint, not a benchmark."""
CLEARLY = 0.03
"""A layout must be surer than the next by this much to be taken without asking."""


def choose(tree: Tree, choices: Choices, name: str | None = None) -> tuple[Layout, Guess]:
    """Return the layout of a folder and why. Raises LayoutError where none or several fit."""
    if name is not None:
        if name not in LAYOUTS:
            raise LayoutError(
                f"no layout {name!r}{nearest(name, LAYOUTS)}; there are: {', '.join(LAYOUTS)}"
            )
        return LAYOUTS[name], LAYOUTS[name].look(tree, choices) or Guess(0.0, "you said so")
    looked = ((layout, layout.look(tree, choices)) for layout in LAYOUTS.values())
    guesses = sorted(
        ((g, layout) for layout, g in looked if g is not None), key=lambda pair: -pair[0].sure
    )
    if not guesses or guesses[0][0].sure < ENOUGH:
        raise LayoutError(_nothing_fits(tree, guesses))
    if len(guesses) > 1 and guesses[0][0].sure - guesses[1][0].sure < CLEARLY:
        fits = "\n".join(f"  --layout {layout.name}: {guess.why}" for guess, layout in guesses[:3])
        raise LayoutError(f"{tree.root}: several layouts fit equally; choose one:\n{fits}")
    return guesses[0][1], guesses[0][0]


def _nothing_fits(tree: Tree, guesses: list[tuple[Guess, Layout]]) -> str:
    lines = [f"{tree.root}: no known layout; seen: {tree.summary()}"]
    if guesses:
        guess, layout = guesses[0]
        lines.append(
            f"nearest is --layout {layout.name}: {guess.why}; is the source folder given by --source FOLDER?"
        )
    lines.append("expected one of:")
    lines += [f"  --layout {layout.name}: {layout.looks_like}" for layout in LAYOUTS.values()]
    return "\n".join(lines)


def read(tree: Tree, choices: Choices, layout: Layout, instruction: str | None = None) -> Found:
    """Return what a layout finds, with instructions from wherever they can be had."""
    found = layout.take(tree, choices)
    if tree.unusable:
        found.notes.append(
            f"left out files whose names are not text: {', '.join(tree.unusable[:3])}"
        )
    without = [item for item in found.items if not item.instruction]
    if without and choices.instructions is not None and choices.instructions not in found.read:
        _from_given(found, without, choices)
    elif without and choices.instructions is None:
        _from_tables_beside(tree, found, without, choices)
    for item in found.items:
        item.instruction = item.instruction or instruction or ""
    return found


def _from_given(found: Found, without: list[FoundItem], choices: Choices) -> None:
    assert choices.instructions is not None
    rows = read_table(choices.instructions)
    filled = fill_in(without, rows, choices, str(choices.instructions))
    if not filled:
        columns = ", ".join(rows[0]) if rows else "none"
        raise LayoutError(
            f"{choices.instructions}: no row belongs to any item (ids such as {without[0].id!r}; columns: {columns}); "
            "name the columns with --id-column and --instruction-column"
        )
    found.read.append(choices.instructions)
    found.notes.append(
        f"instructions of {filled} of {len(found.items)} items from {choices.instructions}"
    )


def _from_tables_beside(
    tree: Tree, found: Found, without: list[FoundItem], choices: Choices
) -> None:
    """Try every table at the top of the folder and take the one that knows most items."""
    from dataclasses import replace

    best: tuple[int, object, list[dict[str, str]]] = (0, None, [])
    for path in likely_tables(tree):
        try:
            rows = read_table(path)
            trial = [replace(item, fields=dict(item.fields)) for item in without]
            known = fill_in(trial, rows, choices, str(path))
        except Exception:  # any file may lie about; only one that fits is of interest
            continue
        if known > best[0]:
            best = (known, path, rows)
    if best[1] is not None:
        fill_in(without, best[2], choices, str(best[1]))
        found.read.append(tree.root / str(best[1]))
        found.notes.append(f"instructions of {best[0]} of {len(found.items)} items from {best[1]}")
