"""benchmark.yaml → items, methods and edits.

Reading gathers every problem instead of stopping at the first; `load_benchmark` then refuses a file that has any.
What the pictures themselves are like is looked at in `inspection`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from lmmscore.errors import BenchmarkError, FileProblem, nearest
from lmmscore.itemrows import read_rows
from lmmscore.picturefiles import PictureFiles
from lmmscore.records import Item
from lmmscore.yamlfile import complaints, load_yaml

KINDS = ("source", "reference", "marked")
"""The kinds of picture an item may have besides its edits."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class ImageTemplates(_Strict):
    """Where the pictures are: paths with `{id}`, `{task}`, `{method}` or any column of the items file."""

    source: str | None = Field(None, description="The picture before the edit.")
    edit: str = Field(description="One method's edit; must contain {method}.")
    reference: str | None = Field(None, description="The ground truth, where a dialog needs one.")
    marked: str | None = Field(
        None, description="The source with marks drawn on it, where a dialog needs it."
    )


class InlineItem(_Strict):
    """An item written out in benchmark.yaml, with the paths of its pictures."""

    id: str = Field(description="What the item is called; unique in the benchmark.")
    task: str = Field("all", description="Its task category: leaderboards have a table for each.")
    instruction: str = Field(description="The editing instruction, as the methods were given it.")
    source: str | None = Field(None, description="The picture before the edit.")
    reference: str | None = Field(None, description="The ground truth, where a dialog needs one.")
    marked: str | None = Field(None, description="The source with marks drawn on it.")
    edits: dict[str, str] = Field(
        default_factory=dict, description="Each method's edit; a method that made none is left out."
    )


class BenchmarkFile(_Strict):
    """The keys of benchmark.yaml."""

    name: str = Field(description="What tables call this benchmark.")
    items: str | list[dict[str, Any]] = Field(
        description="A .csv, .tsv, .jsonl or .yaml file with the columns id, task and instruction; or the items."
    )
    images: ImageTemplates | None = Field(
        None, description="Path templates; needed when items is a file."
    )
    methods: list[str] | dict[str, str] | None = Field(
        None,
        description="The methods, in order, or each with the name that tables give it; "
        "found from the files if absent.",
    )
    tasks: dict[str, str] = Field(
        default_factory=dict, description="What tables call the task categories."
    )
    root: str = Field(".", description="The folder the pictures are in, relative to this file.")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a benchmark: where, of what kind, and what to do."""

    place: str
    kind: str
    says: str
    fatal: bool = True
    """A run refuses a benchmark with a fatal problem; others are worth a look."""

    def __str__(self) -> str:
        return f"{self.place}: {self.says}"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Items and the methods whose edits of them are judged."""

    name: str
    path: Path
    root: Path
    methods: tuple[str, ...]
    items: tuple[Item, ...]
    problems: tuple[Problem, ...] = field(default=(), repr=False)
    method_names: Mapping[str, str] = field(default_factory=dict)
    """What tables call the methods."""
    task_titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The task categories in the order of their first item."""
        return tuple(dict.fromkeys(item.task for item in self.items))

    def select(
        self, tasks: Iterable[str] = (), items: Iterable[str] = (), methods: Iterable[str] = ()
    ) -> Benchmark:
        """Return the part of the benchmark with these tasks, items and methods; an empty choice means all."""
        tasks = _chosen("task", tasks, self.tasks)
        ids = _chosen("item", items, [item.id for item in self.items])
        kept = _chosen("method", methods, self.methods)
        chosen = tuple(
            item for item in self.items if item.task in set(tasks) and item.id in set(ids)
        )
        if not chosen:
            raise BenchmarkError(f"{self.path}: no item is both of these tasks and of these ids")
        # Methods keep the order they were asked for in: `--order given` shows them so.
        return replace(self, methods=tuple(dict.fromkeys(kept)), items=chosen, problems=())


def _chosen(what: str, wanted: Iterable[str], known: Iterable[str]) -> list[str]:
    wanted, known = list(wanted), list(known)
    for name in wanted:
        if name not in known:
            listed = ", ".join(known[:12]) + (" …" if len(known) > 12 else "")
            raise BenchmarkError(
                f"no {what} {name!r} in the benchmark{nearest(name, known)} (it has: {listed})"
            )
    return wanted or known


def find_benchmark_file(path: Path) -> Path:
    """Return the benchmark file meant by a folder or a file."""
    if path.is_dir():
        inside = path / "benchmark.yaml"
        if not inside.exists():
            raise BenchmarkError(
                f"{path}: no benchmark.yaml in this folder; `lmmscore init {path}` writes one"
            )
        return inside
    if not path.exists():
        raise BenchmarkError(f"{path}: no such file or folder")
    return path


def load_benchmark(path: Path) -> Benchmark:
    """Return the benchmark, or raise BenchmarkError naming every fatal problem of its file."""
    benchmark = read_benchmark(path)
    fatal = [problem for problem in benchmark.problems if problem.fatal]
    if fatal:
        more = f"\n… and {len(fatal) - 10} more" if len(fatal) > 10 else ""
        raise BenchmarkError("\n".join(str(problem) for problem in fatal[:10]) + more)
    return benchmark


def read_benchmark(path: Path) -> Benchmark:
    """Return the benchmark with every problem its file has; raises only where nothing can be read."""
    path = find_benchmark_file(path)
    parsed = complaints(BenchmarkFile, load_yaml(path))
    if isinstance(parsed, list):
        problems = tuple(Problem(str(path), _kind_of(says), says) for says in parsed)
        return Benchmark(path.parent.name, path, path.parent, (), (), problems)
    return _Reader(path, parsed).benchmark()


def _kind_of(says: str) -> str:
    return (
        "unknown-key"
        if "unknown key" in says
        else "missing-key"
        if "missing" in says
        else "bad-value"
    )


class _Reader:
    """One reading of a benchmark file: gathers items and problems side by side."""

    def __init__(self, path: Path, file: BenchmarkFile) -> None:
        self.path = path
        self.file = file
        self.files = PictureFiles((path.parent / file.root).resolve(), self._problem)
        self.problems: list[Problem] = []

    def benchmark(self) -> Benchmark:
        rows = list(self._rows())
        self._refuse_duplicates(rows)
        items = (
            self._inline(rows) if isinstance(self.file.items, list) else self._from_templates(rows)
        )
        named = list(self.file.methods or ())
        methods = named or list(dict.fromkeys(m for item in items for m in item.edits))
        if items and not methods and not self.problems:
            self._problem(
                str(self.path), "no-edits", "no edit of any method was found; check images.edit"
            )
        for name in sorted({name for name in methods if methods.count(name) > 1}):
            self._problem(f"{self.path}, methods", "duplicate", f"{name!r} is listed twice")
        for name in sorted({m for item in items for m in item.edits} - set(methods)):
            says = (
                f"edits of {name!r} are given but it is not under methods{nearest(name, methods)}"
            )
            self._problem(f"{self.path}, methods", "unknown-method", says)
        return Benchmark(
            self.file.name,
            self.path,
            self.files.root,
            tuple(methods),
            tuple(items),
            tuple(self.problems),
            self.file.methods if isinstance(self.file.methods, dict) else {},
            self.file.tasks,
        )

    def _problem(self, place: str, kind: str, says: str) -> None:
        self.problems.append(Problem(place, kind, says))

    def _rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each item's place and its fields as written."""
        if isinstance(self.file.items, list):
            for number, row in enumerate(self.file.items, 1):
                yield f"{self.path}, item {number}", row
            return
        path = self.files.inside(
            self.file.items, f"{self.path}, items", base=self.path.parent.resolve()
        )
        if path is None:
            return
        try:
            yield from read_rows(path)
        except FileProblem as error:
            self._problem(str(path), "unreadable-items", str(error).removeprefix(f"{path}: "))

    def _refuse_duplicates(self, rows: list[tuple[str, dict[str, Any]]]) -> None:
        first: dict[str, str] = {}
        for place, row in rows:
            name = str(row.get("id", ""))
            if name in first:
                says = f"the id {name!r} was given before, at {first[name]}; ids must be unique"
                self._problem(place, "duplicate-id", says)
            elif name:
                first[name] = place
        if not rows and not self.problems:
            self._problem(str(self.path), "no-items", "there are no items")

    def _inline(self, rows: list[tuple[str, dict[str, Any]]]) -> list[Item]:
        items = []
        for place, row in rows:
            parsed = complaints(InlineItem, row)
            if isinstance(parsed, list):
                for says in parsed:
                    self._problem(place, _kind_of(says), says)
                continue
            if not parsed.instruction.strip():
                self._problem(place, "missing-column", "no instruction")
                continue
            images = {
                kind: getattr(parsed, kind) for kind in KINDS if getattr(parsed, kind) is not None
            }
            paths = {
                kind: self.files.inside(value, f"{place}, {kind}") for kind, value in images.items()
            }
            edits = {
                m: self.files.inside(value, f"{place}, edits.{m}")
                for m, value in parsed.edits.items()
            }
            items.append(
                Item(parsed.id, parsed.task, parsed.instruction, _present(paths), _present(edits))
            )
        return items

    def _from_templates(self, rows: list[tuple[str, dict[str, Any]]]) -> list[Item]:
        if self.file.images is None:
            says = 'missing; say where the pictures are, for example edit: "{id}_{method}.png"'
            self._problem(f"{self.path}, images", "missing-key", says)
            return []
        rows = [(place, row) for place, row in rows if self._has_columns(place, row)]
        templates = {k: getattr(self.file.images, k) for k in KINDS if getattr(self.file.images, k)}
        named = list(self.file.methods) if self.file.methods else None
        edits = self.files.edits(self.file.images.edit, named, rows, templates)
        items = []
        for place, row in rows:
            paths = {
                k: self.files.file(t, row, f"{place}, images.{k}") for k, t in templates.items()
            }
            known = {"id", "task", "instruction"}
            fields = {key: str(value) for key, value in row.items() if key not in known}
            named = row.get("task")
            # A task called 0 has a name.
            task, wish = "all" if named in (None, "") else str(named), str(row["instruction"])
            items.append(
                Item(str(row["id"]), task, wish, _present(paths), edits[str(row["id"])], fields)
            )
        return items

    def _has_columns(self, place: str, row: Mapping[str, Any]) -> bool:
        for column in ("id", "instruction"):
            value = row.get(column)
            if value is None or not str(value).strip():
                hint = (
                    nearest(column, {str(name).lower(): None for name in row})
                    if column not in row
                    else ""
                )
                self._problem(place, "missing-column", f"no {column}{hint}")
                return False
        return True


def _present(paths: Mapping[str, Path | None]) -> dict[str, Path]:
    return {key: path for key, path in paths.items() if path is not None}
