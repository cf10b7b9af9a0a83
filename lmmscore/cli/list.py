"""`lmmscore list`: the runs in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.command_line import (
    json_flag,
    path_argument,
    put,
    screen,
    table_file,
    table_format,
)
from lmmscore.errors import FileProblem, counted
from lmmscore.report.formats import NONE, Grid, TableDocument, TableLayout, plain, write

if TYPE_CHECKING:
    from lmmscore.run_folder import Run

DEEPEST = 3
"""How many folders down runs are looked for."""


@click.command("list")
@path_argument("folder", default=Path("results"))
@table_format
@json_flag
@table_file
def command(folder: Path, form: str, as_json: bool, out: Path | None) -> None:
    """List the runs in FOLDER [results], with judge, dialog, items, state and cost."""
    if not folder.is_dir():
        raise FileProblem(
            f"{folder}: no such folder; `lmmscore run` makes runs in results, "
            "and `lmmscore list FOLDER` lists those elsewhere"
        )

    document = _document(folder, _lines(folder))
    put(write(document, "json" if as_json else form, TableLayout(**screen(out))), out)


def _lines(folder: Path) -> list[dict[str, Any]]:
    """Return one record per run. Raises FileProblem where there is none that can be read."""
    from lmmscore.run_folder import Run

    lines: list[dict[str, Any]] = []
    damaged: list[FileProblem] = []
    for path in _manifests(folder):
        try:
            lines.append(_line(Run(path.parent), folder))
        except FileProblem as error:
            # One damaged run does not hide the others.
            damaged.append(error)

    for problem in damaged:
        click.echo(f"warning: {problem}", err=True)

    if damaged and not lines:
        raise damaged[0]
    if not lines:
        raise FileProblem(f"{folder}: no run in this folder; `lmmscore run` makes one")

    return lines


def _document(folder: Path, lines: list[dict[str, Any]]) -> TableDocument:
    heads = ("Run", "Benchmark", "Judge", "Dialog", "Items", "State", "Cost")
    rows = [
        plain(*(str(line[head.lower()]) for head in heads[:-2]), _state(line), _cost(line))
        for line in lines
    ]
    grid = Grid(
        f"Runs in {folder}",
        heads,
        tuple(rows),
        text_columns=frozenset({0, 1, 2, 3, 5}),
        spare=frozenset({1}),
    )
    return TableDocument([grid], records=lines, data={"runs": lines})


def _manifests(folder: Path) -> list[Path]:
    found: list[Path] = []
    for depth in range(DEEPEST + 1):
        found += folder.glob("/".join(["*"] * depth + ["run.yaml"]))
    return sorted(found)


def _line(run: Run, folder: Path) -> dict[str, Any]:
    from lmmscore.run_folder import RunLock

    manifest = run.manifest
    where = run.path.relative_to(folder)
    unscored = f", {manifest.unscored} unscored" if manifest.unscored else ""
    state = manifest.state or "unknown"
    if state == "running" and not RunLock.held(run.path):
        state = "cut off"

    return {
        "run": str(where) if where.parts else run.path.resolve().name,
        "benchmark": manifest.benchmark,
        "judge": manifest.judge,
        "dialog": manifest.dialog,
        "items": manifest.items,
        "state": f"{state}{unscored}",
        "judged": manifest.judged,
        "planned": manifest.planned,
        "cost_usd": _spent(run),
    }


def _spent(run: Run) -> float | None:
    """Return what the replies cost; None where no price is on record."""
    if not (run.path / "sessions.jsonl").is_file():
        return None
    costs = [record.usage.get("cost_usd") for record in run.records()]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _state(line: dict[str, Any]) -> str:
    """Return how far a run is; the reason why it was stopped is for `--json`."""
    word, stopped, _ = str(line["state"]).partition(": ")
    if not stopped:
        return word
    return f"{word}, {line['judged']} of {counted(line['planned'], 'session')}"


def _cost(line: dict[str, Any]) -> str:
    return NONE if line["cost_usd"] is None else f"${line['cost_usd']:,.2f}"
