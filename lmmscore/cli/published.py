"""`lmmscore published`: check published leaderboards for contradictions."""

from __future__ import annotations

import json
from pathlib import Path

import click

from lmmscore.cli.command_line import filled, parse_scale, put, table_file


@click.group("published")
def command() -> None:
    """Published leaderboards: what is at hand, and whether their figures can be right."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="For a program.")
def list_tables(as_json: bool) -> None:
    """List the published tables that come with lmmscore."""
    from lmmscore.resources import bundled

    names = sorted(file.stem for file in bundled("published").glob("*.csv"))
    click.echo(json.dumps(names) if as_json else "\n".join(names))


@command.command("check")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="For a program.")
@click.option(
    "--scale",
    callback=filled,
    default="1,10",
    show_default=True,
    help="Lowest and highest score of the table.",
)
@table_file
def check(file: str, as_json: bool, scale: str, out: Path | None) -> None:
    """Find printed ranks that contradict printed means, and figures that cannot be.

    FILE is a table with the columns task, method, mean, rank and perhaps std, or the name of a
    table that comes with lmmscore. Where it has a column n, the largest possible std is known
    exactly.

    A table of correlations is checked too: a column method, and correlations in a column spearman,
    pearson, kendall or correlation, or in a column per factor or task. Found are values outside −1
    to 1, and averages that their lines do not give.
    """
    from dataclasses import asdict

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
        problems = compare.check(entries, scale=parse_scale(scale))
        tasks = {entry.task for entry in entries}
        total = len(entries)

    if as_json:
        found = {"problems": [asdict(problem) for problem in problems]}
        put(json.dumps(found, ensure_ascii=False, indent=2) + "\n", out)
        return

    lines = []
    for problem in problems:
        place = f"{problem.task}, {problem.method}" if problem.task else problem.method
        lines.append(f"{place}: {problem.kind}: {problem.says}\n")

    put("".join(lines), out)
    where = len({problem.task for problem in problems})
    wrong = len({(problem.task, problem.method) for problem in problems})
    kind = "figures" if columns else "lines"
    click.echo(
        f"{wrong} of {total} {kind} contradict others or the scale, "
        f"in {where} of {len(tasks)} {'tables' if columns else 'tasks'}.",
        err=True,
    )
