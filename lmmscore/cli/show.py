"""`lmmscore show`: print one conversation of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.options import FilePath, filled, json_flag

if TYPE_CHECKING:
    from lmmscore.report.conversation import Talk
    from lmmscore.run_folder import Run


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
@json_flag
def command(run: Path, item: str, repeat: int, method: str, dialog: str, as_json: bool) -> None:
    """Print one conversation of RUN: the one about ITEM, turn by turn.

    The numbers that were read as scores stand out in the judge's own words; what was read stands below.
    """
    from lmmscore.report.terminal_talk import print_talks, talks_json
    from lmmscore.run_folder import open_run
    from lmmscore.scores import read_scores

    opened = open_run(run)
    talks = find(opened, item, repeat, method, dialog)
    # Pairs have no scores: what was read of them stands out in the judge's words.
    of_pairs = opened.is_of_pairs
    scores = read_scores(opened.path / "scores.csv") if of_pairs else opened.scores()
    if as_json:
        click.echo(talks_json(talks, scores))
    else:
        print_talks(talks, scores)


def find(run: Run, item: str, repeat: int, method: str, dialog: str) -> list[Talk]:
    """Return the conversations asked for. Raises LmmscoreError naming what there is instead."""
    from lmmscore.ledger import Ledger
    from lmmscore.report.conversation import Talks

    lines = _narrow(list(run.sessions()), "item", item, [line["item"] for line in run.sessions()])
    lines = _narrow(lines, "repeat", repeat, [line["repeat"] for line in lines])
    if dialog:
        lines = _narrow(lines, "dialog", dialog, [line["dialog"] for line in lines])
    with Ledger(run.ledger_path, read_only=True) as ledger:
        reader = Talks(run, ledger)
        talks = [reader.talk(line) for line in lines]
    if not method:
        return talks
    about = [talk for talk in talks if method == talk.method]
    if run.is_of_pairs:
        about = [talk for talk in talks if method in talk.order]
    if not about and any(method in talk.order for talk in talks):
        # One conversation covers all edits: the one asked for is in it.
        return talks
    return about or _refuse("method", method, [name for talk in talks for name in talk.order])


def _narrow(lines: list[Any], key: str, wanted: object, known: Sequence[object]) -> list[Any]:
    return [line for line in lines if line[key] == wanted] or _refuse(key, wanted, known)


def _refuse(key: str, wanted: object, known: Sequence[object]) -> list[Any]:
    from lmmscore.errors import LmmscoreError, nearest

    names = [str(name) for name in dict.fromkeys(known)]
    listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    meant = nearest(str(wanted), names)
    raise LmmscoreError(
        f"no conversation about {key} {str(wanted)!r} here{meant} (there are: {listed})"
    )
