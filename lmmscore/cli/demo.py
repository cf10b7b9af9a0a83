"""`lmmscore demo`: everything once, offline, on pictures that come with lmmscore."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lmmscore.cli.command_line import path_option, print_board, refuse
from lmmscore.errors import FileProblem
from lmmscore.records import signed
from lmmscore.resources import bundled

if TYPE_CHECKING:
    from lmmscore.leaderboard import Leaderboard


@click.command("demo")
@path_option(
    "--out", "-o", default=Path("results/demo"), show_default=True, help="Folder of the run."
)
@path_option(
    "--copy",
    metavar="FOLDER",
    help="Copy the pictures and their instructions to FOLDER instead, "
    "to try the other commands on.",
)
def command(out: Path, copy: Path | None) -> None:
    """Judge the bundled benchmark offline with `pixels`, and write the report.

    The pictures are drawn and the six methods made up, each with a fault of known kind and size,
    so the true order is known and the ranking can be compared with it.
    """
    if copy is not None:
        refuse(["out"], "is the folder of a run; --copy makes none")
        _copy(copy)
        return

    from lmmscore.api import Request
    from lmmscore.benchmark import check_benchmark, load_benchmark
    from lmmscore.cli.run import play, without_folders
    from lmmscore.report.leaderboard import write_leaderboards
    from lmmscore.results import RunResult

    folder = bundled("media") / "demo"
    benchmark = load_benchmark(folder)
    for problem in check_benchmark(benchmark):
        click.echo(f"problem: {problem}", err=True)

    items, tasks, methods = len(benchmark.items), len(benchmark.tasks), len(benchmark.methods)
    click.echo(
        f"{benchmark.name}: {items} drawn items in {tasks} task categories, {methods} methods",
        err=True,
    )
    command = shlex.join(["lmmscore", "demo", "--out", without_folders(str(out))])
    run = play(Request(folder, "lmm-score", "pixels", out, command=command))
    board = write_leaderboards(run)
    page = RunResult(run.path).report()
    whole = tuple(table for table in board.tables if table.task is None)
    print_board(replace(board, tables=whole), run.manifest)
    _print_match(board, folder / "constructed.yaml")
    _print_next(run.path, page)


def _copy(to: Path) -> None:
    """Copy the pictures and their table without the benchmark.yaml, which `init` is to write."""
    try:
        shutil.copytree(bundled("media") / "demo", to, ignore=shutil.ignore_patterns("*.yaml"))
    except FileExistsError as error:
        raise FileProblem(f"{to}: exists; name a folder that does not") from error
    except OSError as error:
        raise FileProblem(f"{to}: {error.strerror or error}; name another folder") from error

    click.echo(str(to))
    click.echo(f"next: lmmscore init {shlex.quote(str(to))}", err=True)


def _print_match(board: Leaderboard, constructed: Path) -> None:
    """Say how well the ranking matches the order the methods were built to have."""
    from scipy.stats import spearmanr

    from lmmscore.yaml_files import load_yaml

    order: list[str] = load_yaml(constructed)["order"]
    means = {row.method: row.mean for row in board.table().rows if row.mean is not None}
    known = [method for method in order if method in means]
    places = [-order.index(method) for method in known]
    rho = spearmanr(places, [means[method] for method in known]).statistic
    click.echo(
        f"\nThe methods were drawn to rank {' > '.join(order)}: "
        f"Spearman {signed(rho, 2)} (n = {len(known)} methods).\n"
        "This shows that everything works, not how well pixels would judge real edits."
    )


def _print_next(run: Path, page: Path) -> None:
    shown = shlex.quote(str(run))
    click.echo(
        f"""
look:   {page.resolve().as_uri()}
        lmmscore leaderboard {shown}     (a table for each task category)
        lmmscore show {shown} boat       (a conversation)
next:   lmmscore init MY_FOLDER && lmmscore check MY_FOLDER
        lmmscore plan MY_FOLDER --judge openai/MODEL
        lmmscore run  MY_FOLDER --judge openai/MODEL --budget 5
MODEL is any model that sees images; docs/judges.md says how to choose one """
        "and where prices come from.",
        err=True,
    )
    program = Path(sys.argv[0])
    if program.name == "lmmscore" and shutil.which("lmmscore") is None:
        click.echo(f"lmmscore is not on your PATH yet: type {program} instead", err=True)
