"""`lmmscore scores`: turn another tool's score file into a tidy scores.csv."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from lmmscore.cli.command_line import (
    FilePath,
    factor_renames,
    filled,
    parse_renames,
    say_notes,
    score_columns,
)
from lmmscore.errors import counted


@click.command("scores")
@click.argument("file", metavar="FILE[:FIELD]")
@click.option(
    "--out", "-o", type=FilePath(path_type=Path), help="Write here instead of to standard output."
)
@click.option(
    "--dialog",
    "-d",
    callback=filled,
    default="",
    help="Check against this dialog's scales; its rule makes the overall.",
)
@score_columns
@click.option("--factor", "factors", multiple=True, metavar="NAME",
              help="Read only the factors named so; may be given several times.")  # fmt: skip
@factor_renames
def command(
    file: str, out: Path | None, dialog: str, renames: tuple[str, ...], **columns: Any
) -> None:
    """Turn another tool's score file into a tidy scores.csv.

    FILE holds JSON lines of nested {factor: {score, justification}}, under FIELD where there are
    several, or a table with one row per score or one column per factor (CSV, TSV, Excel, JSON,
    Parquet). It may be a folder of TASK/METHOD/METRIC.json files, as VIEScore publishes them. What
    has no number on the scale gets an outcome and a reason.
    """
    from lmmscore.dialog import load_dialog
    from lmmscore.records import OVERALL
    from lmmscore.score_files import Layout, scores_in
    from lmmscore.scores import write_scores

    layout = Layout(**{name: columns[f"{name}_column"] for name in ("item", "method", "task")},
                    task_pattern=columns["task_pattern"], factors=columns["factors"])  # fmt: skip
    notes: list[str] = []
    checked = load_dialog(dialog) if dialog else None
    scores = scores_in(file, layout, checked, parse_renames(renames), notes)
    write_scores(scores, sys.stdout if out is None else out)
    say_notes(notes)

    unscored = [score for score in scores if score.score is None and score.factor != OVERALL]
    edits = len({(score.item, score.task, score.method, score.repeat) for score in scores})
    factors = list(dict.fromkeys(score.factor for score in scores if score.factor != OVERALL))
    listed = f" ({', '.join(factors)})" if factors else ""
    overall = any(score.factor == OVERALL for score in scores)
    more = " and overall" if overall else ""
    found = f"{counted(edits, 'edit')}, {counted(len(factors), 'factor')}"
    click.echo(f"{found}{listed}{more}", err=True)
    if unscored:
        are = "is" if len(unscored) == 1 else "are"
        lacking = f"{counted(len(unscored), 'score')} {are} missing"
        click.echo(f"{lacking}; the first: {unscored[0].reason}", err=True)
        sys.exit(3)
