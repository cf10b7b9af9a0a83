"""`lmmscore published`: check published leaderboards for contradictions."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from lmmscore.cli.command_line import (
    json_flag,
    put,
    put_json,
    scale_option,
    table_file,
)
from lmmscore.errors import counted
from lmmscore.resources import bundled


@click.group("published")
def command() -> None:
    """List published leaderboards, and check whether their figures can be right."""


@command.command("list", short_help="List the tables that come with lmmscore.")
@json_flag
def list_tables(as_json: bool) -> None:
    """List the published tables that come with lmmscore."""
    names = sorted(file.stem for file in bundled("published").glob("*.csv"))
    click.echo(json.dumps(names) if as_json else "\n".join(names))


@command.command("check", short_help="Find ranks and figures that cannot be right.")
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
