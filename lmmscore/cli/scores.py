"""Results of others. `lmmscore scores` turns another tool's score file into a tidy scores.csv;
`lmmscore published` checks published leaderboards for contradictions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.command_line import (
    factor_renames,
    json_flag,
    path_option,
    put,
    put_json,
    say_notes,
    scale_option,
    score_columns,
    table_file,
    text_option,
)
from lmmscore.errors import counted
from lmmscore.records import OVERALL
from lmmscore.resources import bundled

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


@click.group("published")
def published() -> None:
    """List published leaderboards, and check whether their figures can be right."""


@published.command("list", short_help="List the tables that come with lmmscore.")
@json_flag
def list_tables(as_json: bool) -> None:
    """List the published tables that come with lmmscore."""
    names = sorted(file.stem for file in bundled("published").glob("*.csv"))
    click.echo(json.dumps(names) if as_json else "\n".join(names))


@published.command("check", short_help="Find ranks and figures that cannot be right.")
@click.argument("file")
@json_flag
@scale_option(default="1,10", show_default=True, help="Lowest and highest score of the table.")
@table_file
def check(file: str, as_json: bool, scale: tuple[float, float], out: Path | None) -> None:
    """Find printed ranks that contradict printed means, and impossible figures.

    FILE is a table with the columns task, method, mean, rank and perhaps std, or the name of a
    table that comes with lmmscore. With a column n, the largest possible std is known exactly.

    FILE may also be a table of correlations: a column method, and correlations in a column
    spearman, pearson, kendall or correlation, or in one column per factor or task. Values outside
    −1 to 1 are found, and averages that do not follow from their lines.
    """
    from lmmscore.leaderboard import compare

    path = compare.find_published(file)
    columns = compare.correlation_columns(path)
    if columns:
        correlations = compare.load_correlations(path, columns)
        problems = compare.check_correlations(correlations)
        tasks = {", ".join(one.group) for one in correlations}
        total = len(correlations)
    else:
        entries = compare.load_published(path)
        problems = compare.check(entries, scale=scale)
        tasks = {entry.task for entry in entries}
        total = len(entries)

    if as_json:
        put_json({"problems": [asdict(problem) for problem in problems]}, out)
        return

    lines = []
    for problem in problems:
        place = f"{problem.task}, {problem.method}" if problem.task else problem.method
        lines.append(f"{place}: {problem.kind}: {problem.says}\n")

    put("".join(lines), out)
    where = len({problem.task for problem in problems})
    wrong = len({(problem.task, problem.method) for problem in problems})
    figures, tables = ("figure", "table") if columns else ("line", "task")
    click.echo(
        f"{wrong} of {counted(total, figures)} contradict others or the scale, "
        f"in {where} of {counted(len(tasks), tables)}.",
        err=True,
    )
