"""`lmmscore publish`: a run as one file that others can check."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lmmscore.cli.command_line import (
    path_argument,
    path_option,
    refuse,
    refuse_without,
    write_boards,
)
from lmmscore.errors import FileProblem, counted

if TYPE_CHECKING:
    from lmmscore.run_folder import Run


@click.command("publish")
@path_argument("source", metavar="RUN|ARCHIVE")
@path_argument("out", required=False, metavar="[OUT.zip]")
@click.option("--pictures", is_flag=True, help="Include the benchmark's pictures.")
@path_option("--bench", help="Where the benchmark is now, for --pictures.")
@click.option("--verify", is_flag=True, help="Check an archive instead of writing one.")
def command(
    source: Path, out: Path | None, pictures: bool, bench: Path | None, verify: bool
) -> None:
    """Write RUN as an archive that others can check, or check one with --verify.

    The archive holds the run's exchanges, settings and scores, the tables and the report made from
    them, the dialog word for word, and checksums; no path, no user name and no key. The same run
    gives the same bytes. Without --pictures there is no picture in the report either.
    """
    if verify:
        refuse(["out", "pictures", "bench"], "has no effect with --verify")
        _verify(source)
        return

    refuse_without("pictures", "bench")
    if out is None:
        raise click.UsageError("name the archive to write: lmmscore publish RUN OUT.zip")

    from lmmscore.publish import publish
    from lmmscore.run_folder import open_run

    run = open_run(source)
    root = None
    if pictures:
        root = run.find_pictures(bench)
        if root is None:
            raise click.UsageError("the pictures are not found; say where with --bench")

    names = publish(run, out, root, _complete)
    click.echo(f"{counted(len(names), 'file')} in {out}", err=True)
    click.echo(f"check it: lmmscore publish --verify {shlex.quote(str(out))}", err=True)
    click.echo(out)


def _complete(staged: Run) -> None:
    """Add the tables and the report of a run that is about to be published."""
    from lmmscore.report.page import PageOptions, write_page
    from lmmscore.report.run_data import RunData

    write_boards(staged)
    if staged.is_of_pairs:
        return

    page = PageOptions(out=staged.path / "report.html", keep_thumbnails=False)
    write_page([RunData(staged.manifest.benchmark, staged)], page)


def _verify(archive: Path) -> None:
    from lmmscore.publish import verify

    if archive.is_dir():
        raise FileProblem(f"{archive}: a folder; --verify takes an archive made by publish")

    found = verify(archive)
    for problem in found.problems:
        click.echo(f"problem: {problem}")

    if found.problems:
        raise click.exceptions.Exit(1)

    click.echo(
        f"{archive}: as published; {found.scores:,} rows of {found.table} follow from "
        f"{found.exchanges:,} recorded exchanges"
    )
