"""`lmmscore scores`: turn another tool's score file into a tidy scores.csv."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.command_line import (
    factor_renames,
    path_option,
    say_notes,
    score_columns,
    text_option,
)
from lmmscore.errors import counted
from lmmscore.records import OVERALL

if TYPE_CHECKING:
    from lmmscore.records import Score


@click.command("scores")
@click.argument("file", metavar="FILE[:FIELD]")
@path_option("--out", "-o", help="Write here instead of to standard output.")
@text_option(
    "--dialog", "-d", help="Check against this dialog's scales; its rule makes the overall."
)
@score_columns
@click.option("--factor", "factors", multiple=True, metavar="NAME",
              help="Read only this factor; may be repeated.")  # fmt: skip
@factor_renames
def command(
    file: str, out: Path | None, dialog: str, renames: dict[str, str], **columns: Any
) -> None:
    """Turn another tool's score file into a tidy scores.csv.

    FILE holds JSON lines of nested {factor: {score, justification}}, under FIELD where there are
    several, or a table with one row per score or one column per factor (CSV, TSV, Excel, JSON,
    Parquet). It may be a folder of TASK/METHOD/METRIC.json files, as VIEScore publishes them. What
    has no number on the scale gets an outcome and a reason.
    """
    from lmmscore.dialog import load_dialog
    from lmmscore.score_files import Layout, scores_in
    from lmmscore.scores import write_scores

    layout = Layout(**{name: columns[f"{name}_column"] for name in ("item", "method", "task")},
                    task_pattern=columns["task_pattern"], factors=columns["factors"])  # fmt: skip
    notes: list[str] = []
    checked = load_dialog(dialog) if dialog else None
    scores = scores_in(file, layout, checked, renames, notes)
    write_scores(scores, sys.stdout if out is None else out)
    say_notes(notes)
    click.echo(_summary(scores), err=True)
    unscored = [score for score in scores if score.score is None and score.factor != OVERALL]
    if unscored:
        missing = counted(len(unscored), "score is", "scores are")
        click.echo(f"{missing} missing; the first: {unscored[0].reason}", err=True)
        raise click.exceptions.Exit(3)


def _summary(scores: Sequence[Score]) -> str:
    """Return in a line how many edits and which factors were read."""
    edits = set()
    factors: dict[str, None] = {}
    for score in scores:
        edits.add((score.item, score.task, score.method, score.repeat))
        factors[score.factor] = None

    own = [factor for factor in factors if factor != OVERALL]
    listed = f" ({', '.join(own)})" if own else ""
    overall = " and overall" if OVERALL in factors else ""
    return f"{counted(len(edits), 'edit')}, {counted(len(own), 'factor')}{listed}{overall}"
