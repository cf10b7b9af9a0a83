"""EditEval's prompts table: picture, source prompt, target prompt, instruction.

Read leniently, for copies differ: one sheet for all or a sheet a task; a column of tasks, a line of its own for each
task, or the task in the picture's name (`object_addition/1.jpg`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from lmmscore.layouts.tables import plain, read_cells

TASKS = (
    "object_addition",
    "object_replacement",
    "object_removal",
    "background_change",
    "style_change",
    "texture_change",
    "action_change",
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the table says of one picture."""

    source: str
    target: str
    instruction: str


def task_named(text: str) -> str | None:
    """Return the task a folder or cell is called after; `object_removel`, as published, counts."""
    name = re.sub(r"_?\d+$", "", plain(text))
    return next(iter(get_close_matches(name, TASKS, n=1, cutoff=0.9)), None)


def read_prompts(path: Path) -> dict[tuple[str, str], Prompt]:
    """Return the prompts by (task, number); empty where the table is of another kind."""
    prompts: dict[tuple[str, str], Prompt] = {}
    for title, rows in read_cells(path).items():
        columns = _columns(rows)
        if columns is not None:
            prompts |= _Sheet(columns, task_named(title) or "").read(rows)
    return prompts


def _columns(rows: list[list[str]]) -> dict[str, int] | None:
    """Return which column holds what, from the first line that speaks of instructions, or by the order of four."""
    for row in rows[:5]:
        named = [plain(cell) for cell in row]
        found = {what: _index(named, words) for what, words in _WORDS.items()}
        if found["instruction"] is not None:
            columns = {what: index for what, index in found.items() if index is not None}
            free = [i for i in range(len(named)) if i not in columns.values()]
            if "id" not in columns and free:
                columns["id"] = free[0]
            return columns
    widths = {len([cell for cell in row if cell]) for row in rows}
    if rows and 4 in widths and max(widths) == 4:
        return {"id": 0, "source": 1, "target": 2, "instruction": 3}
    return None


_WORDS = {
    "instruction": r"instruct",
    "source": r"source|original|src",
    "target": r"target|edited_prompt",
    "task": r"task|type|categor",
    "id": r"^(id|image|image_.*|.*_id|no|number|index|file.*|name|picture|key)$",
}


def _index(named: list[str], expression: str) -> int | None:
    return next((i for i, name in enumerate(named) if re.search(expression, name)), None)


class _Sheet:
    """One sheet read from top to bottom: the task of a line may stand lines above it."""

    def __init__(self, columns: dict[str, int], task: str) -> None:
        self.columns = columns
        self.task = task
        self.count = 0

    def read(self, rows: list[list[str]]) -> dict[tuple[str, str], Prompt]:
        prompts = {}
        for row in rows:
            filled = {cell for cell in row if cell}
            if len(filled) == 1 and task_named(next(iter(filled))):
                self._enter(task_named(filled.pop()))
                continue
            instruction = self._cell(row, "instruction")
            if not instruction or (
                len(instruction) < 30 and re.search("instruct", plain(instruction))
            ):
                continue
            self._enter(task_named(self._cell(row, "task")))
            number = self._number(self._cell(row, "id"))
            if self.task:
                texts = (self._cell(row, "source"), self._cell(row, "target"), instruction)
                prompts[self.task, number] = Prompt(*texts)
        return prompts

    def _cell(self, row: list[str], what: str) -> str:
        index = self.columns.get(what)
        return row[index] if index is not None and index < len(row) else ""

    def _enter(self, task: str | None) -> None:
        if task and task != self.task:
            self.task, self.count = task, 0

    def _number(self, cell: str) -> str:
        """Return the picture's number; where the cell has none, its place among the lines of its task."""
        stem = re.sub(r"\.\w+$", "", cell)
        self._enter(task_named(re.sub(r"[/\\].*$", "", stem)))
        digits = re.search(r"(\d+)(?:_src)?$", stem)
        self.count += 1
        return str(int(digits[1])) if digits else str(self.count)
