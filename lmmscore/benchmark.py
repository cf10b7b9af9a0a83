"""A benchmark as a folder: its file, its items, and every problem before anything is paid for."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, model_validator

from lmmscore.errors import (
    BenchmarkError,
    FileProblem,
    ImageProblem,
    alternatives,
    counted,
    listed,
    nearest,
)
from lmmscore.images import (
    IMAGE_SUFFIXES,
    SUFFIXES,
    Header,
    PathMap,
    PictureFiles,
    is_inside,
    load_rgb,
    read_header,
)
from lmmscore.records import Item
from lmmscore.tables import read_tables
from lmmscore.yaml_files import StrictModel, complaints, line_at, load_yaml

# --------------------------------------------------------------------------------------------------
# benchmark.yaml → items, methods and edits.
#
# Reading gathers every problem instead of stopping at the first; `load_benchmark` then refuses a
# file that has a fatal one. What the pictures themselves are like is looked at in `check`.
# --------------------------------------------------------------------------------------------------

KINDS = ("source", "reference", "marked")
"""The usual kinds of picture an item has besides its edits; a benchmark may name further ones."""

Level = Literal["fatal", "problem", "warning"]

Row = dict[str, Any]

_KIND = re.compile(r"[a-z][a-z0-9_]*")

_ENOUGH_ITEMS = 5
"""Of how many items the edits are looked at for methods that are not listed."""


class _StrictFile(StrictModel):
    # An id or a task may be written as a number.
    model_config = ConfigDict(coerce_numbers_to_str=True)


class _WithImageKinds(_StrictFile):
    """A model whose further keys name kinds of picture: `mask`, `subject2` …"""

    model_config = ConfigDict(json_schema_extra={"additionalProperties": {"type": "string"}})

    others: dict[str, str] = Field(
        default_factory=dict,
        description="Further kinds of picture by name; or write each as a key next to these.",
    )

    @model_validator(mode="before")
    @classmethod
    def _sort_kinds(cls, data: Any) -> Any:
        """Gather the keys that name further kinds of picture under `others`."""
        if not isinstance(data, dict):
            return data

        kinds = [key for key in data if _names_a_kind(key, list(cls.model_fields))]
        if not kinds:
            return data

        rest = {key: value for key, value in data.items() if key not in kinds}
        given = rest.get("others") or {}
        return {**rest, "others": {**given, **{kind: data[kind] for kind in kinds}}}

    def pictures(self) -> dict[str, str]:
        """Return what is written for each kind of picture, edits aside."""
        usual = {kind: getattr(self, kind) for kind in KINDS}
        return {kind: value for kind, value in usual.items() if value is not None} | self.others


def _names_a_kind(key: object, known: list[str]) -> bool:
    """Whether a key is a kind of picture rather than one of the known keys, perhaps mistyped."""
    if not isinstance(key, str) or key in known or not _KIND.fullmatch(key):
        return False

    meant = get_close_matches(key, known, n=1, cutoff=0.8)
    return not meant or re.fullmatch(rf"{meant[0]}_?\d+", key) is not None


class ImageTemplates(_WithImageKinds):
    """Where the pictures are: paths with `{id}`, `{task}`, `{method}` or a column of the items.

    Further keys name further kinds of picture, which dialogs can show: `mask: masks/{id}.png`.
    """

    source: str | None = Field(None, description="The picture before the edit.")
    edit: str = Field(description="One method's edit; must contain {method}.")
    reference: str | None = Field(None, description="The ground truth, where a dialog needs one.")
    marked: str | None = Field(
        None, description="The source with marks drawn on it, where a dialog needs it."
    )


class InlineItem(_WithImageKinds):
    """An item written out in benchmark.yaml, with the paths of its pictures.

    Further keys name further kinds of picture: `mask: masks/1.png`.
    """

    id: str = Field(description="What the item is called; unique in the benchmark.")
    task: str = Field("all", description="Its task category: leaderboards have a table for each.")
    instruction: str = Field(description="The editing instruction, as the methods were given it.")
    source: str | None = Field(None, description="The picture before the edit.")
    reference: str | None = Field(None, description="The ground truth, where a dialog needs one.")
    marked: str | None = Field(None, description="The source with marks drawn on it.")
    edits: dict[str, str] = Field(
        default_factory=dict, description="Each method's edit; a method that made none is left out."
    )
    fields: dict[str, str] = Field(
        default_factory=dict,
        description="Other texts about it that dialogs may quote, as {{field.NAME}}.",
    )


class BenchmarkFile(_StrictFile):
    """The keys of benchmark.yaml."""

    name: str = Field(description="What tables call this benchmark.")
    items: str | list[dict[str, Any]] = Field(
        description="A .csv, .tsv, .xlsx, .jsonl or .yaml file with the columns id, task and "
        "instruction; or the items."
    )
    images: ImageTemplates | None = Field(
        None,
        description="Path templates; needed when items is a file. Of items that are written out "
        "they find what those do not give themselves.",
    )
    methods: list[str] | dict[str, str] | None = Field(
        None,
        description="The methods, in order, or each with the name that tables give it; "
        "found from the files if absent.",
    )
    tasks: dict[str, str] = Field(
        default_factory=dict, description="What tables call the task categories."
    )
    root: str = Field(
        ".",
        description="The folder the pictures are in, relative to this file. One outside this "
        "file's folder counts only with --root on the command line.",
    )


@dataclass(frozen=True, slots=True)
class BenchmarkProblem:
    """Something wrong with a benchmark: where, of what kind, and what to do."""

    place: str
    kind: str
    says: str
    level: Level = "fatal"
    """A run refuses a benchmark with a fatal problem. Warnings are worth a look, no more."""

    @property
    def fatal(self) -> bool:
        """Whether a run refuses the benchmark because of it."""
        return self.level == "fatal"

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
    problems: tuple[BenchmarkProblem, ...] = field(default=(), repr=False)
    method_names: Mapping[str, str] = field(default_factory=dict)
    """What tables call the methods."""
    task_titles: Mapping[str, str] = field(default_factory=dict)
    rows: int = 0
    """How many items the file lists, also those whose row has a problem and which are left out."""

    @property
    def missing(self) -> tuple[tuple[Item, str], ...]:
        """The edits that are not there: each item with a method that has no edit of it."""
        lacking = []
        for item in self.items:
            lacking += [(item, method) for method in self.methods if method not in item.edits]

        return tuple(lacking)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The task categories in the order of their first item."""
        return tuple(dict.fromkeys(item.task for item in self.items))

    def select(
        self, tasks: Iterable[str] = (), items: Iterable[str] = (), methods: Iterable[str] = ()
    ) -> Benchmark:
        """Return the part with these tasks, items and methods; an empty choice means all."""
        kept_tasks = set(_chosen("task", tasks, self.tasks))
        kept_ids = set(_chosen("item", items, [item.id for item in self.items]))
        kept_methods = _chosen("method", methods, self.methods)

        chosen = [i for i in self.items if i.task in kept_tasks and i.id in kept_ids]
        if not chosen:
            raise BenchmarkError(f"{self.path}: no item is both of these tasks and of these ids")

        # Methods keep the order they were asked for in: `--order given` shows them so.
        methods = tuple(dict.fromkeys(kept_methods))
        return replace(self, methods=methods, items=tuple(chosen))


def _chosen(what: str, wanted: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the names asked for, in that order; all of them where none is."""
    wanted = list(wanted)
    known = dict.fromkeys(known)
    for name in wanted:
        if name not in known:
            it_has = alternatives(name, known, "it has", most=12)
            raise BenchmarkError(f"no {what} {name!r} in the benchmark{it_has}")

    return wanted or list(known)


def find_benchmark_file(path: Path) -> Path:
    """Return the benchmark file meant by a folder or a file."""
    if path.is_dir():
        inside = path / "benchmark.yaml"
        if not inside.exists() and (path / "run.yaml").is_file():
            raise BenchmarkError(
                f"{path}: a run's folder, not a benchmark's; `benchmark_file` in its run.yaml says "
                "which benchmark was judged"
            )
        if not inside.exists():
            raise BenchmarkError(
                f"{path}: no benchmark.yaml in this folder; `lmmscore init {path}` writes one"
            )

        return inside

    if not path.exists():
        raise BenchmarkError(f"{path}: no such file or folder")

    return path


def load_benchmark(path: Path, root: Path | None = None) -> Benchmark:
    """Return the benchmark, or raise BenchmarkError naming every fatal problem of its file.

    `root` is the folder of the pictures as the user names it, in place of `root:` in the file.
    """
    benchmark = read_benchmark(path, root)
    fatal = [problem for problem in benchmark.problems if problem.fatal]
    if fatal:
        more = f"\n… and {len(fatal) - 10} more" if len(fatal) > 10 else ""
        raise BenchmarkError("\n".join(str(problem) for problem in fatal[:10]) + more)

    return benchmark


def read_benchmark(path: Path, root: Path | None = None) -> Benchmark:
    """Return the benchmark with every problem it has; raises only where nothing can be read."""
    path = find_benchmark_file(path)
    parsed = complaints(BenchmarkFile, load_yaml(path))
    if isinstance(parsed, list):
        problems = tuple(
            BenchmarkProblem(line_at(path, *says.place), says.kind, says) for says in parsed
        )
        return Benchmark(path.parent.name, path, path.parent, (), (), problems)

    return _BenchmarkReader(path, parsed, root).benchmark()


class _BenchmarkReader:
    """One reading of a benchmark file: gathers items and problems side by side."""

    def __init__(self, path: Path, file: BenchmarkFile, root: Path | None) -> None:
        self.path = path
        self.file = file
        self.problems: list[BenchmarkProblem] = []
        self.folder = path.parent.resolve()
        self._kinds: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.files = PictureFiles(self._root(root), self._problem)

    def _root(self, given: Path | None) -> Path:
        """Return the folder of the pictures: inside the file's own unless the user says so."""
        if given is not None:
            if not given.is_dir():
                raise BenchmarkError(f"{given}: no such folder; --root is where the pictures are")

            return given.resolve()

        root = (self.folder / self.file.root).resolve()
        if not root.is_relative_to(self.folder):
            says = (
                f"{self.file.root!r} leads outside {self.folder}, and pictures are sent to a "
                f"judge; if you trust this file, add --root {root}"
            )
            self._problem(f"{self.path}, root", "path-outside", says)
            return self.folder

        if not root.is_dir():
            self._problem(f"{self.path}, root", "bad-value", f"no folder {self.file.root!r} here")

        return root

    def benchmark(self) -> Benchmark:
        """Return the benchmark; what is wrong with it is in its problems."""
        if self.problems:
            # Without the right folder every picture would be reported as missing.
            return self._made([], [], 0)

        given = list(self._rows())
        self._refuse_duplicates(given)
        rows = [(place, row) for place, row in given if self._is_text(place, row)]
        written_out = isinstance(self.file.items, list)
        items = self._inline(rows) if written_out else self._from_templates(rows)
        items = _with_all_columns(items)

        found = list(dict.fromkeys(method for item in items for method in item.edits))
        methods = list(self.file.methods or ()) or found
        if items and not methods and not self.problems:
            self._problem(
                str(self.path), "no-edits", "no edit of any method was found; check images.edit"
            )

        # Where every item is faulty, that alone is why methods have no edits.
        self._check_methods(methods, found, rows if items else [])
        return self._made(methods, items, len(given))

    def _made(self, methods: list[str], items: list[Item], rows: int) -> Benchmark:
        root = self.files.root
        # It holds the name of every file below its folder, which is not needed any more.
        del self.files
        return Benchmark(
            name=self.file.name,
            path=self.path,
            root=root,
            methods=tuple(methods),
            items=tuple(items),
            problems=tuple(self.problems),
            method_names=self._method_names(),
            task_titles=self.file.tasks,
            rows=rows,
        )

    def _method_names(self) -> dict[str, str]:
        return self.file.methods if isinstance(self.file.methods, dict) else {}

    def _problem(self, place: str, kind: str, says: str, level: Level = "fatal") -> None:
        self.problems.append(BenchmarkProblem(place, kind, says, level))

    # Rows

    def _rows(self) -> Iterator[tuple[str, Row]]:
        """Yield each item's place and its fields as written."""
        if isinstance(self.file.items, list):
            for number, row in enumerate(self.file.items, 1):
                yield f"{self.path}, item {number}", row

            return

        if not is_inside(self.folder, self.file.items):
            says = f"{self.file.items!r} leaves the folder {self.folder}; move the file inside"
            self._problem(f"{self.path}, items", "path-outside", says)
            return

        # Complaints name the file as the user would, not by its resolved path.
        path = self.path.parent / self.file.items
        try:
            yield from read_item_rows(path)
        except FileProblem as error:
            place, says = _place_and_text(path, str(error))
            self._problem(place, "unreadable-items", says)

    def _refuse_duplicates(self, rows: list[tuple[str, Row]]) -> None:
        """Report ids that occur twice: they identify the scores."""
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

    def _is_text(self, place: str, row: Row) -> bool:
        """Report half a surrogate pair, which JSON can spell but no file can hold."""
        for key, value in row.items():
            try:
                f"{key}{value}".encode()
            except UnicodeEncodeError:
                says = f"{value!a} in {key!a} is not valid Unicode text; write it again"
                self._problem(place, "bad-value", says)
                return False

        return True

    # Items

    def _inline(self, rows: list[tuple[str, Row]]) -> list[Item]:
        """Return the items that are written out, except those with a problem.

        What one does not say of its pictures, the path templates do.
        """
        written: list[tuple[str, InlineItem]] = []
        for place, row in rows:
            parsed = complaints(InlineItem, row)
            if isinstance(parsed, list):
                for says in parsed:
                    self._problem(place, says.kind, says)
            elif self._has_columns(place, row):
                written.append((place, parsed))

        templates = self.file.images.pictures() if self.file.images else {}
        by_template = self._edits([(place, _row_of(parsed)) for place, parsed in written])
        items = []
        for place, parsed in written:
            own = parsed.pictures()
            images = {
                kind: self.files.inside(value, f"{place}, {kind}") for kind, value in own.items()
            }
            for kind, template in templates.items():
                if kind not in own:
                    where = f"{place}, images.{kind}"
                    images[kind] = self.files.file(template, _row_of(parsed), where)

            edits = {
                method: self.files.inside(value, f"{place}, edits.{method}")
                for method, value in parsed.edits.items()
            }
            items.append(
                Item(
                    parsed.id,
                    parsed.task,
                    parsed.instruction,
                    self._present(images),
                    self._present(edits)
                    if edits
                    else by_template.get(parsed.id, self._present({})),
                    parsed.fields,
                )
            )

        return items

    def _edits(self, rows: list[tuple[str, Row]]) -> dict[str, PathMap]:
        """Return each item's edits where the path template leads to them; none without one."""
        if self.file.images is None:
            return {}

        methods = list(self.file.methods or ())
        return self.files.edits(self.file.images.edit, methods, rows, self.file.images.pictures())

    def _from_templates(self, rows: list[tuple[str, Row]]) -> list[Item]:
        """Return the items of a table, their pictures found by path templates."""
        if self.file.images is None:
            says = 'missing; say where the pictures are, for example edit: "{id}_{method}.png"'
            self._problem(f"{self.path}, images", "missing-key", says)
            return []

        rows = [(place, row) for place, row in rows if self._has_columns(place, row)]
        templates = self.file.images.pictures()
        edits = self._edits(rows)
        items = []
        for place, row in rows:
            images = {
                kind: self.files.file(template, row, f"{place}, images.{kind}")
                for kind, template in templates.items()
            }
            # Not `or`: a task called 0 has a name.
            task = "all" if row.get("task") in (None, "") else str(row["task"])
            name, instruction = str(row["id"]), str(row["instruction"])
            fields = {}
            for key, value in row.items():
                if key not in {"id", "task", "instruction"}:
                    fields[key] = "" if value is None else str(value)

            items.append(Item(name, task, instruction, self._present(images), edits[name], fields))

        return items

    def _has_columns(self, place: str, row: Mapping[str, Any]) -> bool:
        """Tell whether a row has an id and an instruction; report it where not."""
        for column in ("id", "instruction"):
            value = row.get(column)
            if value is not None and str(value).strip():
                continue

            hint = "; fill it in"
            if column not in row:
                hint = nearest(column, [str(name).lower() for name in row])

            self._problem(place, "missing-column", f"no {column}{hint}")
            return False

        return True

    def _present(self, names: Mapping[str, str | None]) -> PathMap:
        """Return the pictures that are where they should be; items share the tuple of kinds."""
        found = {key: name for key, name in names.items() if name is not None}
        return PathMap(self.files.root, found, self._kinds.setdefault(tuple(found), tuple(found)))

    # Methods

    def _check_methods(
        self, methods: list[str], found: list[str], rows: list[tuple[str, Row]]
    ) -> None:
        """Report methods that are listed twice, or not listed, or have no edit at all."""
        place = f"{self.path}, methods"
        for name in sorted({name for name in methods if methods.count(name) > 1}):
            self._problem(place, "duplicate", f"{name!r} is listed twice")

        self._check_names(methods, place)
        for name in sorted(set(found) - set(methods)):
            says = (
                f"edits of {name!r} are given but it is not under methods{nearest(name, methods)}"
            )
            self._problem(place, "unknown-method", says)

        if not rows:
            return

        empty = [name for name in methods if name not in found]
        # All items only where a listed method has no edit at all: looking for them takes a while.
        unused = self._methods_on_disk(rows if empty else rows[:_ENOUGH_ITEMS]) - set(methods)
        if not empty:
            self._warn_of_unlisted(unused, place)
            return

        for name in empty:
            hint = nearest(name, unused)
            if not hint and unused:
                hint = f"; on disk but not listed: {', '.join(sorted(unused)[:8])}"

            says = f"no edit of {name!r} was found, for any item{hint}; correct or remove the name"
            self._problem(place, "method-without-edits", says, "problem")

    def _warn_of_unlisted(self, names: set[str], place: str) -> None:
        """Warn of methods that have edits and are not judged, having been added later perhaps."""
        template = self.file.images.edit if self.file.images else ""
        # ID_METHOD.png is not sure: the rest of another item's id may look like a method.
        if not re.search(r"(?:^|/)\{method\}(?:/|\.)", template):
            return

        for name in sorted(names):
            says = (
                f"there are pictures of {name!r} where edits are, but it is not listed, so it is "
                "not judged; if it is a method, add its name here"
            )
            self._problem(place, "unlisted-method", says, "warning")

    def _check_names(self, methods: list[str], place: str) -> None:
        """Report methods that tables would call by the same name, or by nearly the same."""
        called: dict[str, list[str]] = {}
        alike: dict[str, list[str]] = {}
        for method in dict.fromkeys(methods):
            name = self._method_names().get(method, method)
            called.setdefault(name, []).append(method)
            alike.setdefault(name.casefold(), []).append(name)

        for name, same in called.items():
            if len(same) > 1:
                says = f"{listed(same)} are all called {name!r} in tables; give each its own name"
                self._problem(place, "duplicate", says, "problem")

        for names in alike.values():
            if len(set(names)) > 1:
                says = (
                    f"{listed(names)} differ in capitals alone, and names in human ratings are "
                    "matched without regard to them; rename one, unless they are the same method"
                )
                self._problem(place, "similar-names", says, "warning")

    def _methods_on_disk(self, rows: list[tuple[str, Row]]) -> set[str]:
        """Return the methods that have edits, listed or not, to suggest one for a mistyped name."""
        images = self.file.images
        if images is None or "{method}" not in images.edit:
            return set()

        # Its problems were reported when the listed methods were looked for.
        named = [(place, row) for place, row in rows if row.get("id")]
        edits = self.files.silent().discovered(images.edit, named, images.pictures())
        return {method for by_method in edits.values() for method in by_method}


def _row_of(item: InlineItem) -> Row:
    """Return what path templates may name of an item that is written out."""
    return {**item.fields, "id": item.id, "task": item.task, "instruction": item.instruction}


def _with_all_columns(items: list[Item]) -> list[Item]:
    """Return the items with every column that one of them has; empty where it has none."""
    columns = dict.fromkeys(name for item in items for name in item.fields)
    made = []
    for item in items:
        if len(item.fields) < len(columns):
            fields = {name: item.fields.get(name, "") for name in columns}
            item = replace(item, fields=fields)

        made.append(item)

    return made


def read_item_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield the place and the fields of each row of an items file. Raises FileProblem."""
    if path.suffix.lower() in {".yaml", ".yml"}:
        rows = load_yaml(path)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise FileProblem(
                f"{path}: expected a list of items, each with id, task and instruction"
            )

        for number, row in enumerate(rows, 1):
            yield f"{path}, item {number}", row

        return

    # Excel files may have several sheets, one per task for instance.
    for table in read_tables(path):
        for line, cells in zip(table.lines, table.rows, strict=True):
            row = {key: value for key, value in cells.items() if value is not None}
            yield f"{table.where}, line {line}", row


def _place_and_text(path: Path, message: str) -> tuple[str, str]:
    """Split `FILE:LINE: what is wrong` so that the place is said once."""
    found = re.match(r":(\d+): ", message.removeprefix(str(path)))
    if found is None:
        return str(path), message.removeprefix(f"{path}: ")

    return f"{path}, line {found[1]}", message.removeprefix(f"{path}{found[0]}")


# --------------------------------------------------------------------------------------------------
# Every problem of a benchmark before a cent is spent: its file first, then every picture.
# --------------------------------------------------------------------------------------------------

ASPECT_TOLERANCE = 0.02
"""Relative difference in width over height beyond which an edit is framed differently."""

BORDER = 0.01
"""Share of a side that a strip of one colour must take to count as a border."""

SAME_COLOUR = 6
"""How far, of 255, the pixels of a border may be from its mean."""

_MOST_FOLDERS = 20


def check_benchmark(
    benchmark: Benchmark, on_item: Callable[[], None] = lambda: None
) -> list[BenchmarkProblem]:
    """Return every problem: those of the file first, then those of the pictures, item by item."""
    problems = list(benchmark.problems)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for found in pool.map(_item_problems, benchmark.items):
            problems.extend(found)
            on_item()

    problems += names_given_away(benchmark)
    if benchmark.items:
        problems += unused_pictures(benchmark)

    return problems


def names_given_away(benchmark: Benchmark, columns: Iterable[str] = ()) -> list[BenchmarkProblem]:
    """Return a problem for every text about an item that would tell the judge a method's name:
    its instruction, and the columns of the items file that the judge is told."""
    names = {}
    for method in benchmark.methods:
        name = _words(method).strip()
        # A method called A or X2 would be found in any sentence.
        if len(name) > 2:
            names[name] = method

    problems = []
    for item in benchmark.items:
        told = {"the instruction": item.instruction}
        told |= {f"the column {name}": item.fields.get(name, "") for name in columns}
        for what, text in told.items():
            words = _words(text)
            for name, method in names.items():
                if f" {name} " in words:
                    says = (
                        f"{what} contains the method name {method!r}, "
                        "which the judge should not learn"
                    )
                    problems.append(
                        BenchmarkProblem(f"item {item.id!r}", "names-a-method", says, "problem")
                    )

    return problems


def _words(text: str) -> str:
    return " " + re.sub(r"\W+", " ", text).strip().casefold() + " "


def unused_pictures(benchmark: Benchmark) -> list[BenchmarkProblem]:
    """Return a warning for every folder with pictures that belong to no item and no method.

    A mistyped method or task leaves its folder behind, unused. Only folders of pictures that are
    used and the folders beside them are looked into: the root may be as wide as a home folder.
    """
    used: set[Path] = set()
    for item in benchmark.items:
        used.update(item.images.values())
        used.update(item.edits.values())

    problems = []
    for folder, names in sorted(_left_over(used, benchmark.root).items()):
        if names:
            examples = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
            says = (
                f"{counted(len(names), 'picture')} that nothing uses: {examples}; if they are "
                f"edits, add their method to {benchmark.path.name}, or write it again with "
                "`lmmscore init FOLDER --force`"
            )
            problems.append(BenchmarkProblem(str(folder), "unused-pictures", says, level="warning"))

    return problems[:_MOST_FOLDERS]


def _left_over(used: set[Path], root: Path) -> dict[Path, list[str]]:
    """Return the pictures that are not used, by folder; folders beside the root are left alone."""
    folders = {path.parent for path in used}
    known = set(folders)
    for folder in folders:
        known.update(folder.parents)

    left: dict[Path, list[str]] = {}
    for folder in folders:
        left[folder] = [name for name in _pictures_in(folder) if folder / name not in used]
        # What is next to the root does not belong to the benchmark.
        if folder == root:
            continue

        for beside in _folders_in(folder.parent):
            if beside not in known and beside not in left:
                left.update(_pictures_below(beside))

    return left


def _pictures_below(folder: Path) -> dict[Path, list[str]]:
    """Return the pictures of a folder and of the folders below it; folders of runs are skipped."""
    found: dict[Path, list[str]] = {}
    for here, folders, names in os.walk(folder):
        if "run.yaml" in names or len(found) > _MOST_FOLDERS:
            folders.clear()
            continue

        found[Path(here)] = _pictures_in(Path(here))

    return found


def _pictures_in(folder: Path) -> list[str]:
    names = os.listdir(folder)  # noqa: PTH208 - names are wanted
    return sorted(name for name in names if Path(name).suffix.lower() in IMAGE_SUFFIXES)


def _folders_in(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]

    return [folder / name for name in folders if not name.startswith(".")]


def _item_problems(item: Item) -> list[BenchmarkProblem]:
    """Return what is wrong with one item's pictures. Run in threads: it reads every file."""
    named = dict(item.images) | {f"edit of {method}": path for method, path in item.edits.items()}
    problems: list[BenchmarkProblem] = []
    headers: dict[str, Header] = {}
    bordered: dict[str, bool] = {}
    for what, path in named.items():
        place = f"item {item.id!r}, {what}"
        try:
            headers[what] = read_header(path)
            bordered[what] = has_border(np.asarray(load_rgb(path)))
        except ImageProblem as error:
            kind = "unreadable-image" if path.exists() else "missing-image"
            problems.append(BenchmarkProblem(place, kind, str(error)))
            continue

        problems.extend(_of_file(place, path, headers[what]))

    # Only pictures that could be read are compared.
    problems.extend(_frames_that_differ(item, headers))
    problems.extend(_borders_added(item, bordered))
    problems.extend(_identical_edits(item))
    if not item.edits:
        says = "no method has an edit of it; every method will be recorded as missing here"
        problems.append(BenchmarkProblem(f"item {item.id!r}", "no-edits", says, level="problem"))

    return problems


def _of_file(place: str, path: Path, header: Header) -> Iterator[BenchmarkProblem]:
    """Yield what is wrong with a single file."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES.get(header.format, {suffix}):
        says = f"{path}: named {path.suffix} but holds {header.format}; rename or convert it"
        yield BenchmarkProblem(place, "wrong-type", says, level="warning")

    if header.frames > 1:
        says = (
            f"{path}: {header.frames} frames; only the first would be judged: "
            "export a still picture"
        )
        yield BenchmarkProblem(place, "animated", says, level="problem")


def _frames_that_differ(item: Item, headers: dict[str, Header]) -> Iterator[BenchmarkProblem]:
    """Yield the pictures that differ from the source in shape, or in size."""
    source = headers.get("source")
    if source is None:
        return

    for what, header in headers.items():
        ratio = (header.width / header.height) / (source.width / source.height)
        if abs(ratio - 1) > ASPECT_TOLERANCE:
            says = (
                f"aspect ratio {header.width}×{header.height} differs from the source's "
                f"{source.width}×{source.height}; crop or pad it unless the method reframes "
                "on purpose"
            )
            yield BenchmarkProblem(
                f"item {item.id!r}, {what}", "aspect-ratio", says, level="warning"
            )
        elif (header.width, header.height) != (source.width, source.height):
            says = (
                f"size {header.width}×{header.height} where the source has "
                f"{source.width}×{source.height}; a judge may take sharpness for quality: resize it"
            )
            yield BenchmarkProblem(f"item {item.id!r}, {what}", "size", says, level="warning")


def _borders_added(item: Item, bordered: dict[str, bool]) -> Iterator[BenchmarkProblem]:
    """Yield the edits with a border that the source lacks."""
    if bordered.get("source", True):
        return

    for what, found in bordered.items():
        if found and what not in item.images:
            says = (
                "a border that the source lacks; a judge may take it for a fault or a frame: "
                "crop it"
            )
            yield BenchmarkProblem(f"item {item.id!r}, {what}", "border", says, level="warning")


def has_border(picture: NDArray[np.uint8]) -> bool:
    """Tell whether a strip of one colour runs along all four sides, or along two opposite ones."""
    sides = (picture, picture[::-1], picture.swapaxes(0, 1), picture.swapaxes(0, 1)[::-1])
    top, bottom, left, right = (_edge_is_flat(side) for side in sides)
    return (top and bottom) or (left and right)


def _edge_is_flat(picture: NDArray[np.uint8]) -> bool:
    """Tell whether the first rows of a picture are of one colour, and those below them not."""
    rows = max(2, round(picture.shape[0] * BORDER))
    strip = picture[:rows].reshape(-1, picture.shape[-1]).astype(np.int16)
    inside = picture[: 4 * rows].reshape(-1, picture.shape[-1]).astype(np.int16)
    mean = strip.mean(axis=0)
    flat = np.abs(strip - mean).max() <= SAME_COLOUR
    # A plain wall or sky is not a border: a border ends where the picture begins.
    return bool(flat and np.abs(inside - mean).max() > SAME_COLOUR)


def _identical_edits(item: Item) -> Iterator[BenchmarkProblem]:
    """Yield the methods whose edits are the same file."""
    sizes = {method: path.stat().st_size for method, path in item.edits.items() if path.is_file()}
    often = Counter(sizes.values())
    by_digest: dict[str, list[str]] = defaultdict(list)
    for method, size in sizes.items():
        # Files that differ in size are different: most need not be read.
        if often[size] > 1:
            digest = hashlib.sha256(item.edits[method].read_bytes()).hexdigest()
            by_digest[digest].append(method)

    for methods in by_digest.values():
        if len(methods) > 1:
            says = (
                f"the edits of {' and '.join(methods)} are byte-identical; "
                "was one copied by mistake?"
            )
            yield BenchmarkProblem(f"item {item.id!r}", "identical-edits", says, level="problem")
