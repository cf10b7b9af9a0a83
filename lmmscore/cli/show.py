"""`lmmscore show`: print one conversation of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from lmmscore.cli.command_line import (
    folder_option,
    instead,
    json_flag,
    path_argument,
    put,
    table_file,
    text_option,
)
from lmmscore.errors import FileProblem, LmmscoreError

if TYPE_CHECKING:
    from lmmscore.report.run_data import RunData, Talk
    from lmmscore.run_folder import Run, SessionRecord


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
def command(
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
    there = instead(str(wanted), map(str, known))
    raise LmmscoreError(f"no conversation about {key} {str(wanted)!r} here{there}")
