"""`lmmscore check`: every problem of a benchmark at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from lmmscore.cli.options import FilePath, json_flag


@click.command("check")
@click.argument("benchmark", type=FilePath(path_type=Path))
@json_flag
def command(benchmark: Path, as_json: bool) -> None:
    """List every problem of a benchmark, each with its place and remedy.

    Exits with 1 when there is any. A method that lacks an edit is no problem: it is recorded as missing.
    """
    from lmmscore.benchmark import read_benchmark
    from lmmscore.inspection import inspect
    from lmmscore.report.progress import counting

    loaded = read_benchmark(benchmark)
    with counting("checking items", len(loaded.items)) as step:
        problems = inspect(loaded, on_item=step)
    if as_json:
        rows = [
            {"place": p.place, "kind": p.kind, "says": p.says, "fatal": p.fatal} for p in problems
        ]
        click.echo(
            json.dumps({"benchmark": loaded.name, "problems": rows}, ensure_ascii=False, indent=2)
        )
    else:
        for problem in problems:
            click.echo(f"{'problem' if problem.fatal else 'warning'}: {problem}")
    lacking = sum(method not in item.edits for item in loaded.items for method in loaded.methods)
    tasks, methods = len(loaded.tasks), len(loaded.methods)
    click.echo(
        f"{loaded.name}: {len(loaded.items)} items in {tasks} task {'category' if tasks == 1 else 'categories'}, "
        f"{methods} methods, {lacking} edits missing; {_count(problems)}",
        err=True,
    )
    if problems:
        raise click.exceptions.Exit(1)


def _count(problems: Sequence[object]) -> str:
    return (
        "no problems"
        if not problems
        else f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    )
