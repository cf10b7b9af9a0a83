"""`lmmscore demo`: everything once, offline, on pictures that come with lmmscore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lmmscore.cli.options import FilePath

if TYPE_CHECKING:
    from lmmscore.leaderboard import Leaderboard


@click.command("demo")
@click.option(
    "--out",
    "-o",
    type=FilePath(path_type=Path),
    default=Path("results/demo"),
    show_default=True,
    help="Folder of the run.",
)
@click.option(
    "--copy",
    type=FilePath(path_type=Path),
    metavar="FOLDER",
    help="Copy the pictures and their instructions to FOLDER instead, to try the other commands on.",
)
def command(out: Path, copy: Path | None) -> None:
    """Check the bundled benchmark, judge it offline with `pixels`, and print a leaderboard for each task.

    The six methods are made up and the pictures drawn, each method with a fault of known kind and size, so that the
    true order is known by construction and the ranking can be held against it.
    """
    if copy is not None:
        _copy(copy)
        return
    from lmmscore.benchmark import load_benchmark
    from lmmscore.check import check_benchmark
    from lmmscore.cli.playing import play
    from lmmscore.cli.terminal import print_board
    from lmmscore.report.files import write_leaderboards
    from lmmscore.request import Request
    from lmmscore.resources import bundled

    folder = bundled("media") / "demo"
    benchmark = load_benchmark(folder)
    problems = check_benchmark(benchmark)
    for problem in problems:
        click.echo(f"problem: {problem}", err=True)
    items, tasks, methods = len(benchmark.items), len(benchmark.tasks), len(benchmark.methods)
    click.echo(
        f"{benchmark.name}: {items} drawn items in {tasks} task categories, {methods} methods",
        err=True,
    )
    run = play(Request(folder, "lmm-score", "pixels", out, command=f"lmmscore demo --out {out}"))
    board = write_leaderboards(run)
    print_board(board)
    _print_match(board, folder / "constructed.yaml")
    _print_next(run.path, folder)


def _copy(to: Path) -> None:
    """Copy the benchmark as a newcomer would have it: pictures and a table, no benchmark.yaml yet."""
    import shutil

    from lmmscore.errors import FileProblem
    from lmmscore.resources import bundled

    try:
        shutil.copytree(bundled("media") / "demo", to, ignore=shutil.ignore_patterns("*.yaml"))
    except FileExistsError as error:
        raise FileProblem(f"{to}: exists; name a folder that does not") from error
    except OSError as error:
        raise FileProblem(f"{to}: {error.strerror or error}") from error
    click.echo(str(to))
    click.echo(f"next: lmmscore init {to}", err=True)


def _print_match(board: Leaderboard, constructed: Path) -> None:
    """Say how well each ranking matches the order the methods were built to have."""
    from scipy.stats import spearmanr

    from lmmscore.yaml_files import load_yaml

    order: list[str] = load_yaml(constructed)["order"]
    click.echo("\nAgainst the order known by construction (" + " > ".join(order) + "):")
    for table in board.tables:
        means = {row.method: row.mean for row in table.rows if row.mean is not None}
        known = [method for method in order if method in means]
        rho = spearmanr(
            [-order.index(method) for method in known], [means[method] for method in known]
        ).statistic
        click.echo(
            f"  {table.task or 'all categories':<20} Spearman {rho:+.2f}  (n = {len(known)} methods)"
        )
    click.echo(
        "  (This shows that everything works. It says nothing of how well pixels would judge real edits.)"
    )


def _print_next(run: Path, folder: Path) -> None:
    click.echo(
        f"""
files:  {run}/scores.csv, leaderboard.md .csv .tex .json, ledger.sqlite (every exchange)
look:   lmmscore report {run}
        lmmscore show {run} boat
next:   lmmscore init MY_FOLDER && lmmscore check MY_FOLDER
        export OPENAI_API_KEY=…
        lmmscore plan MY_FOLDER --judge openai/gpt-4o
        lmmscore run  MY_FOLDER --judge openai/gpt-4o --budget 5
(the pictures of this demo: {folder})""",
        err=True,
    )
