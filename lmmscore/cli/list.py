"""`lmmscore list` and `lmmscore show`: the runs in a folder, and one conversation of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from lmmscore.cli.command_line import (
    LISTED,
    folder_option,
    json_flag,
    path_argument,
    put,
    screen,
    table_file,
    table_format,
    text_option,
)
from lmmscore.errors import FileProblem, LedgerError, LmmscoreError, alternatives, counted
from lmmscore.report.formats import NONE, Grid, TableDocument, TableLayout, plain, write

if TYPE_CHECKING:
    from lmmscore.report.run_data import RunData, Talk
    from lmmscore.run_folder import Run, SessionRecord

DEEPEST = 3
"""How many folders down runs are looked for."""


@click.command("list")
@path_argument("folder", default=Path("results"))
@table_format
@json_flag
@table_file
def command(folder: Path, form: str, as_json: bool, out: Path | None) -> None:
    """List the runs in FOLDER [results], with judge, dialog, items, state and cost."""
    if folder.is_file():
        raise FileProblem(f"{folder}: a file; name a folder with runs in it")
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

    if damaged and not lines:
        raise damaged[0]

    for problem in damaged:
        click.echo(f"warning: {problem}", err=True)

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
    """Return what the replies cost, shared ones once; None where no price is on record."""
    from lmmscore.ledger import Ledger

    if not (run.path / "sessions.jsonl").is_file():
        return None

    keys = {exchange.key for record in run.records() for exchange in record.exchanges}
    try:
        with Ledger(run.ledger_path, read_only=True) as ledger:
            replies = ledger.find_all([*keys]).values()
    except LedgerError:
        return None

    known = [reply.cost_usd for reply in replies if reply.cost_usd is not None]
    return sum(known) if known else None


def _state(line: dict[str, Any]) -> str:
    """Return how far a run is; the reason why it was stopped is for `--json`."""
    word, stopped, _ = str(line["state"]).partition(": ")
    if not stopped:
        return word
    return f"{word}, {line['judged']} of {counted(line['planned'], 'session')}"


def _cost(line: dict[str, Any]) -> str:
    return NONE if line["cost_usd"] is None else f"${line['cost_usd']:,.2f}"


@click.command("show")
@path_argument("run")
@click.argument("item")
@click.option(
    "--repeat", type=click.IntRange(1), default=1, show_default=True, help="Which repeat."
)
@text_option("--method", help="Only this method, where each edit has its own conversation.")
@text_option("--dialog", help="Only this dialog, where a suite was played.")
@folder_option("--bench", help="Where the benchmark's pictures are, if not where they were.")
@table_file
@json_flag
def show(
    run: Path,
    item: str,
    repeat: int,
    method: str,
    dialog: str,
    bench: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print one conversation of RUN: the one about ITEM, turn by turn.

    The numbers that were read as scores are highlighted in the judge's own words; the scores follow
    below.
    """
    from lmmscore.report.formats.terminal import print_talks, talks_json, talks_text
    from lmmscore.report.run_data import RunData
    from lmmscore.run_folder import open_run

    opened = open_run(run)
    data = RunData("", opened, bench, only=find(opened, item, repeat, dialog))
    data.check_ledger()
    talks = about(data, method)
    for text in data.lacking(talks):
        click.echo(f"warning: {run}: {text}", err=True)

    if as_json:
        put(talks_json(talks, data.scores) + "\n", out)
    elif out is not None:
        put(talks_text(talks, data.scores), out)
    else:
        print_talks(talks, data.scores)


def find(run: Run, item: str, repeat: int, dialog: str) -> list[SessionRecord]:
    """Return the sessions asked for. Raises LmmscoreError naming what there is instead."""
    # A finished run must have them all: a damaged file is an error, not a conversation that never
    # was. The last line of any other run may be half written.
    records = list(run.records() if run.finished else run.intact_records())
    if not records:
        raise FileProblem(f"{run.path}: {run.progress()}; the same `lmmscore run` resumes it")

    records = _narrow(records, "item", item)
    records = _narrow(records, "repeat", repeat)
    return _narrow(records, "dialog", dialog) if dialog else records


def about(data: RunData, method: str) -> list[Talk]:
    """Return the conversations in which a method's edit was judged, or all of them."""
    found = [talk for talk in data.talks if not method or method in talk.order]
    if not found:
        _refuse("method", method, [name for talk in data.talks for name in talk.order])

    return found


def _narrow(records: list[SessionRecord], key: str, wanted: object) -> list[SessionRecord]:
    kept = [record for record in records if getattr(record, key) == wanted]
    if not kept:
        _refuse(key, wanted, [getattr(record, key) for record in records])
    return kept


def _refuse(key: str, wanted: object, known: Sequence[object]) -> NoReturn:
    there_are = alternatives(str(wanted), map(str, known), "there are", LISTED)
    raise LmmscoreError(f"no conversation about {key} {str(wanted)!r} here{there_are}")
