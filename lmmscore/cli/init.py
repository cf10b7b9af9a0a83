"""`lmmscore init` and `lmmscore check`: from a folder of pictures to a sound benchmark."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.command_line import (
    filled,
    json_flag,
    options_of,
    path_argument,
    path_option,
    put_json,
    refuse,
    say_notes,
    together,
)
from lmmscore.errors import FileProblem, counted
from lmmscore.importers.layouts import (
    IMAGE_ROLES,
    Choices,
    Found,
    LayoutError,
    choose,
    layout_names,
    scan,
)
from lmmscore.options import Selection

if TYPE_CHECKING:
    from lmmscore.benchmark import Benchmark, BenchmarkProblem
    from lmmscore.importers.benchmark_writer import Written

_OF_ONE_LAYOUT = {"language": "gedit", "split": "dataset", "edit_columns": "dataset"}
"""Options that only one layout understands."""

_MOST_MISSING = 10
"""How many missing edits `check` lists in its text."""

_COLUMNS = ("id", "task", "instruction", "source", "reference", "marked", "method")


def _column_option(what: str) -> Callable[..., Any]:
    image = " image" if what in {"source", "reference", "marked"} else ""
    return click.option(
        f"--{what}-column",
        callback=filled,
        metavar="NAME",
        help=f"The column that holds the {what}{image}.",
    )


@click.command("init")
@path_argument("folder")
@click.option(
    "--layout",
    type=click.Choice(layout_names()),
    help="How the folder is laid out.  [default: recognised]",
)
@path_option("--out", "-o", help="File to write.  [default: FOLDER/benchmark.yaml]")
@click.option(
    "--name", callback=filled, help="What tables call the benchmark.  [default: the folder's name]"
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@path_option(
    "--instructions",
    help="Table with id, instruction and perhaps task: .csv, .xlsx, .jsonl, .json, .parquet or "
    "a saved data set.",
)
@click.option("--instruction", metavar="TEXT", help="The instruction for every item that has none.")
@click.option(
    "--source",
    callback=filled,
    metavar="FOLDER",
    help="The folder that holds the sources (for vibe: the data set).",
)
@click.option(
    "--task", metavar="NAME", help="The task category of items that are in no task folder."
)
@click.option("--language", callback=filled, metavar="LANG", help="gedit: en or cn.")
@click.option("--split", callback=filled, metavar="NAME", help="dataset: which split to take.")
@together(*map(_column_option, _COLUMNS))
@click.option(
    "--edit-column",
    "edit_columns",
    multiple=True,
    metavar="[METHOD=]NAME",
    help="dataset: an image column that holds a method's edits; may be repeated.",
)
def command(
    folder: Path,
    layout: str | None,
    out: Path | None,
    name: str | None,
    force: bool,
    **given: Any,
) -> None:
    """Recognise how a FOLDER of images is laid out, say why, and write its benchmark.yaml.

    Prints the path of the file. The items go to items.csv beside it, unless a table of yours serves
    as it is, or no pattern of paths fits all pictures. Nothing is overwritten without --force, and
    no picture is touched. Instructions that cannot be found are left empty for you to fill in:
    `lmmscore check` lists them.
    """
    from lmmscore.importers.benchmark_writer import read, write_benchmark

    out = _target(folder if folder.is_dir() else folder.parent, out)
    # Before pictures are written out, which may take a while.
    if out.exists() and not force:
        raise FileProblem(f"{out}: exists; --force overwrites it, --out FILE writes elsewhere")

    # Pictures that an earlier init took out of a data set do not make it a folder of pictures.
    tree = scan(folder, without=_pictures(out))
    choices = _choices(given, out)
    try:
        chosen, guess = choose(tree, choices, layout)
    except LayoutError as error:
        if folder.is_dir():
            raise
        remedy = "name the folder of your pictures, or the .parquet file of a data set"
        raise FileProblem(f"{folder}: not a folder; {remedy}") from error

    for option, only in _OF_ONE_LAYOUT.items():
        if chosen.name != only:
            refuse([option], f"is for the layout {only}; this is {chosen.name}")

    click.echo(f"recognised the layout {chosen.name}: {guess.why}", err=True)

    found = read(tree, choices, guess)
    say_notes(found.notes)

    header = [f"Written by `lmmscore init`; layout {chosen.name}: {guess.why}", *_advice(found)]
    written = write_benchmark(found, out, name or _default_name(folder), header, force)
    _say_next(found, written)
    click.echo(str(written.benchmark))


def _default_name(folder: Path) -> str:
    real = folder.resolve()
    return (real.stem if folder.is_file() else real.name) or "benchmark"


def _target(root: Path, out: Path | None) -> Path:
    if out is None:
        return root / "benchmark.yaml"

    if out.is_dir() or out.suffix not in {".yaml", ".yml"}:
        return out / "benchmark.yaml"

    return out


def _pictures(out: Path) -> Path:
    return out.parent / f"{out.stem}-images"


def _choices(given: dict[str, Any], out: Path) -> Choices:
    from lmmscore.importers.benchmark_writer import items_file_of

    columns = {what: given[f"{what}_column"] for what in _COLUMNS if given[f"{what}_column"]}
    earlier_items = items_file_of(out)
    return Choices(
        source=given["source"].rstrip("/\\") if given["source"] else None,
        task=given["task"],
        instruction=given["instruction"],
        language=given["language"],
        split=given["split"],
        instructions=given["instructions"],
        earlier_items=earlier_items.absolute() if earlier_items is not None else None,
        columns=columns,
        edit_columns=given["edit_columns"],
        pictures=_pictures(out),
        progress=_progress(),
    )


def _progress() -> Callable[[str, int, int], None]:
    """Return a callback that prints the progress of a long job every few seconds."""
    last = time.monotonic()

    def say(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > 2:
            last = time.monotonic()
            click.echo(f"{what}: {done} of {total}", err=True)

    return say


def _advice(found: Found) -> list[str]:
    lines = []
    missing = sum(not item.instruction for item in found.items)
    if missing:
        lines.append(f"Instructions still to be filled in: {missing} of {len(found.items)}.")

    if found.templates and found.methods:
        lines.append(
            "A new method is judged once it is in the list; without a list, all found are."
        )

    return lines


def _summary(found: Found) -> str:
    items = counted(len(found.items), "item")
    tasks = counted(len({item.task for item in found.items}), "task category", "task categories")
    methods = counted(len(found.methods), "method")
    edits = sum(len(item.edits) for item in found.items)
    missing = len(found.items) * len(found.methods) - edits
    made = f"{items} in {tasks}, {methods}, {counted(edits, 'edit')}, {missing} missing"

    kinds = [kind for kind in IMAGE_ROLES if any(kind in item.images for item in found.items)]
    return f"{made}; besides the edits: {', '.join(kinds) or 'no other pictures'}"


def _say_next(found: Found, written: Written) -> None:
    click.echo(_summary(found), err=True)
    if written.items_are_new:
        click.echo(f"wrote {written.items}, too: id, task and instruction of every item", err=True)

    empty = sum(not item.instruction for item in found.items)
    if empty:
        where = written.items or written.benchmark
        click.echo(
            f"{counted(empty, 'instruction')} could not be found: fill in {where}, or type the "
            "command again with --force and --instructions FILE or --instruction TEXT",
            err=True,
        )

    following = f"lmmscore check {shlex.quote(str(written.benchmark))}"
    if written.outside_root is not None:
        following += f" --root {shlex.quote(str(written.outside_root))}"
        click.echo(
            "the pictures are outside the folder of benchmark.yaml: check, plan and run read them "
            "only with the --root below",
            err=True,
        )

    click.echo(f"next: {following}", err=True)


@click.command("check")
@path_argument("benchmark")
@options_of(Selection, only=["root"])
@json_flag
def check(benchmark: Path, root: Path | None, as_json: bool) -> None:
    """List every problem of a benchmark, with its place and remedy.

    BENCHMARK is a benchmark.yaml or its folder. Exits with 1 when there is a problem; warnings
    alone leave it at 0. A method without an edit of every item is no problem: the others are
    recorded as missing.
    """
    from lmmscore.benchmark import check_benchmark, read_benchmark
    from lmmscore.report.formats.terminal import counting

    loaded = read_benchmark(benchmark, root)
    with counting("checking items", len(loaded.items)) as step:
        found = check_benchmark(loaded, on_item=step)

    if as_json:
        rows = [{**asdict(each), "fatal": each.fatal} for each in found]
        missing = [{"item": item.id, "method": method} for item, method in loaded.missing]
        put_json({"benchmark": loaded.name, "problems": rows, "missing": missing})
    else:
        for each in found:
            click.echo(f"{'warning' if each.level == 'warning' else 'problem'}: {each}")

        for line in _missing(loaded):
            click.echo(f"missing: {line}")

    # Of a file that is no benchmark there is nothing to count.
    if loaded.items or loaded.methods:
        click.echo(_checked(loaded, found), err=True)

    if any(each.level != "warning" for each in found):
        raise click.exceptions.Exit(1)


def _missing(benchmark: Benchmark) -> list[str]:
    """Return a line for each edit that is missing: the first ones, then how many more there are.

    Where a method or an item has no edit at all, a problem says so, which is enough.
    """
    made = {method for item in benchmark.items for method in item.edits}
    lines = []
    for item, method in benchmark.missing:
        if item.edits and method in made:
            lines.append(f"{item.id}: {method}")

    more = len(lines) - _MOST_MISSING
    if more > 1:
        lines[_MOST_MISSING:] = [f"{more:,} more edits; --json lists all"]

    return lines


def _checked(benchmark: Benchmark, found: Sequence[BenchmarkProblem]) -> str:
    warnings = sum(each.level == "warning" for each in found)
    problems = len(found) - warnings
    verdict = counted(problems, "problem") if problems else "no problems"
    if warnings:
        verdict += f", {counted(warnings, 'warning')}"

    items = counted(len(benchmark.items), "item")
    if benchmark.rows > len(benchmark.items):
        items = f"{len(benchmark.items):,} of {counted(benchmark.rows, 'item')} usable"

    methods = counted(len(benchmark.methods), "method")
    if not benchmark.items:
        return f"{benchmark.name}: {items}, {methods}; {verdict}"

    tasks = counted(len(benchmark.tasks), "task category", "task categories")
    missing = counted(len(benchmark.missing), "edit")
    return f"{benchmark.name}: {items} in {tasks}, {methods}, {missing} missing; {verdict}"
