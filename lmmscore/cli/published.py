"""`lmmscore published`: check published leaderboards for contradictions."""

from __future__ import annotations

import json

import click

from lmmscore.cli.options import filled


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
def check(file: str, as_json: bool, scale: str) -> None:
    """Find printed ranks that contradict printed means, and figures that cannot be.

    FILE is a table with the columns task, method, mean, rank and perhaps std, or the name of a
    table
    that comes with lmmscore. Where it has a column n, the largest possible std is known exactly.

    A table of correlations (columns method and spearman, pearson, kendall or correlation, and any
    that say of what) is checked too: values outside −1 to 1, and averages that their lines do not
    give.
    """
    from dataclasses import asdict

    from lmmscore.cli.inputs import parse_scale
    from lmmscore.leaderboard import published

    path = published.find_published(file)
    column = published.correlation_column(path)
    if column is not None:
        correlations = published.load_correlations(path, column)
        problems = published.check_correlations(correlations)
        tasks = {", ".join(one.group) for one in correlations}
        total = len(correlations)
    else:
        entries = published.load_published(path)
        problems = published.check(entries, scale=parse_scale(scale))
        tasks = {entry.task for entry in entries}
        total = len(entries)
    if as_json:
        click.echo(
            json.dumps(
                {"problems": [asdict(problem) for problem in problems]},
                ensure_ascii=False,
                indent=2,
            )
        )
        return
    for problem in problems:
        click.echo(f"{problem.task}, {problem.method}: {problem.kind}: {problem.says}")
    where = len({problem.task for problem in problems})
    lines = len({(problem.task, problem.method) for problem in problems})
    click.echo(
        f"{lines} of {total} lines contradict others or the scale, "
        f"in {where} of {len(tasks)} tasks.",
        err=True,
    )
