"""`lmmscore show`: print one conversation of a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from lmmscore.cli.options import FilePath, filled, json_flag, table_file
from lmmscore.cli.terminal import put

if TYPE_CHECKING:
    from lmmscore.report.run_data import RunData, Talk
    from lmmscore.run_folder import SessionRecord


@click.command("show")
@click.argument("run", type=FilePath(path_type=Path))
@click.argument("item")
@click.option(
    "--repeat", type=click.IntRange(1), default=1, show_default=True, help="Which repeat."
)
@click.option(
    "--method",
    callback=filled,
    default="",
    help="Only this method, where each edit has its own conversation.",
)
@click.option(
    "--dialog", callback=filled, default="", help="Only this dialog, where a suite was played."
)
@click.option(
    "--bench",
    type=FilePath(path_type=Path, exists=True, file_okay=False),
    help="Where the benchmark's pictures are, if not where they were.",
)
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

    The numbers that were read as scores stand out in the judge's own words; what was read stands
    below.
    """
    from lmmscore.errors import FileProblem
    from lmmscore.report.run_data import RunData
    from lmmscore.report.screen import print_talks, talks_json, talks_text
    from lmmscore.run_folder import open_run

    opened = RunData("", open_run(run), bench)
    if opened.run.finished:
        # Raises where the file is damaged: a conversation it has lost is not one there never was.
        deque(opened.run.records(), maxlen=0)

    if not opened.sessions:
        raise FileProblem(f"{run}: {opened.run.progress()}; the same `lmmscore run` resumes it")

    opened.check_ledger()
    talks = find(opened, item, repeat, method, dialog)
    for text in opened.lacking(talks):
        click.echo(f"warning: {run}: {text}", err=True)

    if as_json:
        put(talks_json(talks, opened.scores) + "\n", out)
    elif out is not None:
        put(talks_text(talks, opened.scores), out)
    else:
        print_talks(talks, opened.scores)


def find(run: RunData, item: str, repeat: int, method: str, dialog: str) -> list[Talk]:
    """Return the conversations asked for. Raises LmmscoreError naming what there is instead."""
    records = _narrow(run.sessions, "item", item)
    records = _narrow(records, "repeat", repeat)
    if dialog:
        records = _narrow(records, "dialog", dialog)

    talks = list(run.conversations(records))
    if not method:
        return talks

    about = [talk for talk in talks if method == talk.method]
    if run.run.is_of_pairs:
        about = [talk for talk in talks if method in talk.order]

    if not about and any(method in talk.order for talk in talks):
        # One conversation covers all edits: the one asked for is in it.
        return talks

    if not about:
        _refuse("method", method, [name for talk in talks for name in talk.order])

    return about


def _narrow(records: list[SessionRecord], key: str, wanted: object) -> list[SessionRecord]:
    kept = [record for record in records if getattr(record, key) == wanted]
    if not kept:
        _refuse(key, wanted, [getattr(record, key) for record in records])
    return kept


def _refuse(key: str, wanted: object, known: Sequence[object]) -> NoReturn:
    from lmmscore.errors import LmmscoreError, nearest

    names = [str(name) for name in dict.fromkeys(known)]
    listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    meant = nearest(str(wanted), names)
    raise LmmscoreError(
        f"no conversation about {key} {str(wanted)!r} here{meant}; there are: {listed}"
    )
