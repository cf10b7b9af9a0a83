"""`lmmscore check`: every problem of a benchmark at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lmmscore.cli.command_line import json_flag, options_of, path_argument, put_json
from lmmscore.errors import counted
from lmmscore.options import Selection

if TYPE_CHECKING:
    from lmmscore.benchmark import Benchmark, BenchmarkProblem


@click.command("check")
@path_argument("benchmark")
@options_of(Selection, only=["root"])
@json_flag
def command(benchmark: Path, root: Path | None, as_json: bool) -> None:
    """List every problem of a benchmark, with its place and remedy.

    BENCHMARK is a benchmark.yaml or its folder. Exits with 1 when there is a problem; warnings
    alone leave it at 0. A method without an edit of every item is no problem: the others are
    recorded as missing.
    """
    from lmmscore.benchmark import check_benchmark, read_benchmark
    from lmmscore.report.formats.terminal import counting

    loaded = read_benchmark(benchmark, root)
    with counting("checking items", len(loaded.items)) as step:
        found = check_benchmark(loaded, on_item=step)

    if as_json:
        rows = [{**asdict(each), "fatal": each.fatal} for each in found]
        put_json({"benchmark": loaded.name, "problems": rows})
    else:
        for each in found:
            click.echo(f"{'warning' if each.level == 'warning' else 'problem'}: {each}")

    # Of a file that is no benchmark there is nothing to count.
    if loaded.items or loaded.methods:
        click.echo(_summary(loaded, found), err=True)

    if any(each.level != "warning" for each in found):
        raise click.exceptions.Exit(1)


def _summary(benchmark: Benchmark, found: Sequence[BenchmarkProblem]) -> str:
    lacking = 0
    for item in benchmark.items:
        lacking += sum(method not in item.edits for method in benchmark.methods)

    items = counted(len(benchmark.items), "item")
    tasks = counted(len(benchmark.tasks), "task category", "task categories")
    methods = counted(len(benchmark.methods), "method")
    edits = counted(lacking, "edit")

    warnings = sum(each.level == "warning" for each in found)
    problems = len(found) - warnings
    verdict = counted(problems, "problem") if problems else "no problems"
    if warnings:
        verdict += f", {counted(warnings, 'warning')}"

    return f"{benchmark.name}: {items} in {tasks}, {methods}, {edits} missing; {verdict}"
