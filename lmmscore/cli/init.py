"""`lmmscore init`: recognise how a folder of pictures is laid out, and write its benchmark.yaml."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.options import FilePath, filled

if TYPE_CHECKING:
    from lmmscore.layouts import Choices, Found
    from lmmscore.layouts.writing import Written

LAYOUT_NAMES = ("folders", "suffixes", "editeval", "vibe", "gedit", "imgedit", "dataset")
"""Kept here so that `--help` need not import the layouts; a test holds the two together."""

_COLUMNS = ("id", "task", "instruction", "source", "reference", "marked", "method")


def _column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for what in reversed(_COLUMNS):
        kind = "image column" if what in {"source", "reference", "marked"} else "column"
        option = click.option(
            f"--{what}-column",
            callback=filled,
            metavar="NAME",
            help=f"The {kind} that holds the {what}.",
        )
        command = option(command)
    return command


@click.command("init")
@click.argument("folder", type=FilePath(path_type=Path))
@click.option(
    "--layout",
    type=click.Choice(LAYOUT_NAMES),
    help="How the folder is laid out; recognised if not said.",
)
@click.option(
    "--out",
    "-o",
    type=FilePath(path_type=Path),
    help="File to write.  [default: FOLDER/benchmark.yaml]",
)
@click.option(
    "--name", callback=filled, help="What tables call the benchmark.  [default: the folder's name]"
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@click.option(
    "--instructions",
    type=FilePath(path_type=Path),
    help="Table with id, instruction and perhaps task: .csv, .xlsx, .jsonl, .json, .parquet or a saved data set.",
)
@click.option(
    "--instruction", metavar="TEXT", help="The instruction of every item that has none of its own."
)
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
@_column_options
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
    instruction: str | None,
    **given: Any,
) -> None:
    """Look at a FOLDER of images, say what it is taken for and why, and write its benchmark.yaml.

    Prints the path of the file. Nothing is overwritten without --force, and no picture is touched. Instructions
    that are nowhere to be found are left empty, to be filled in: `lmmscore check` names each of them.
    """
    from lmmscore.layouts import choose, read, scan
    from lmmscore.layouts.writing import write_benchmark

    out = _target(folder if folder.is_dir() else folder.parent, out).absolute()
    # Pictures that an earlier init took out of a data set are no reason to take it for a folder of pictures.
    tree = scan(folder, without=_pictures(out))
    name = (
        name
        or (folder.resolve().stem if folder.is_file() else folder.resolve().name)
        or "benchmark"
    )
    _refuse_to_overwrite(out, force)
    choices = _choices(given, out)
    chosen, guess = choose(tree, choices, layout)
    click.echo(f"recognised the layout {chosen.name}: {guess.why}", err=True)
    found = read(tree, choices, chosen, instruction)
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
    header = [f"Written by `lmmscore init`; layout {chosen.name}: {guess.why}", *_advice(found)]
    written = write_benchmark(found, out, name, header, force)
    _say_next(found, written)
    click.echo(str(written.benchmark))


def _target(root: Path, out: Path | None) -> Path:
    if out is None:
        return root / "benchmark.yaml"
    return out / "benchmark.yaml" if out.is_dir() or out.suffix not in {".yaml", ".yml"} else out


def _pictures(out: Path) -> Path:
    return out.parent / f"{out.stem}-images"


def _refuse_to_overwrite(out: Path, force: bool) -> None:
    """Refuse before pictures are written out, which may take a while."""
    from lmmscore.errors import FileProblem

    if out.exists() and not force:
        raise FileProblem(f"{out}: exists; --force overwrites it, --out FILE writes elsewhere")


def _choices(given: dict[str, Any], out: Path) -> Choices:
    from lmmscore.layouts import Choices

    columns = {what: given[f"{what}_column"] for what in _COLUMNS if given[f"{what}_column"]}
    return Choices(
        source=given["source"].rstrip("/\\") if given["source"] else None,
        task=given["task"],
        language=given["language"],
        split=given["split"],
        instructions=given["instructions"],
        columns=columns,
        edit_columns=given["edit_columns"],
        pictures=_pictures(out),
        progress=_progress(),
    )


def _progress() -> Callable[[str, int, int], None]:
    """Return a callback that says every few seconds how far a long job is."""
    import time

    last = time.monotonic()

    def say(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > 2:
            last = time.monotonic()
            click.echo(f"{what}: {done} of {total}", err=True)

    return say


def _advice(found: Found) -> list[str]:
    missing = sum(not item.instruction for item in found.items)
    lines = (
        [f"Instructions still to be filled in: {missing} of {len(found.items)}."] if missing else []
    )
    if found.templates and found.methods:
        lines.append("Without the list of methods they are found from the files.")
    return lines


def _say_next(found: Found, written: Written) -> None:
    from lmmscore.layouts.base import counted

    tasks = counted(len({item.task for item in found.items}), "task category", "task categories")
    edits = sum(len(item.edits) for item in found.items)
    lacking = len(found.items) * len(found.methods) - edits
    items, methods = counted(len(found.items), "item"), counted(len(found.methods), "method")
    kinds = [
        kind
        for kind in ("source", "reference", "marked")
        if any(kind in i.images for i in found.items)
    ]
    beside = f"; beside the edits: {', '.join(kinds) or 'no other pictures'}"
    click.echo(
        f"{items} in {tasks}, {methods}, {counted(edits, 'edit')}, {lacking} missing{beside}",
        err=True,
    )
    empty = sum(not item.instruction for item in found.items)
    if empty:
        where = written.items or written.benchmark
        click.echo(
            f"{counted(empty, 'instruction')} could not be found: fill in {where}, or type the command again with "
            "--force and --instructions FILE or --instruction TEXT",
            err=True,
        )
    click.echo(f"next: lmmscore check {shlex.quote(str(written.benchmark))}", err=True)
