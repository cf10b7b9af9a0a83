"""`lmmscore publish`: a run as one file that others can check."""

from __future__ import annotations

from pathlib import Path

import click

from lmmscore.cli.options import FilePath


@click.command("publish")
@click.argument("source", type=FilePath(path_type=Path), metavar="RUN|ARCHIVE")
@click.argument("out", type=FilePath(path_type=Path), required=False, metavar="[OUT.zip]")
@click.option("--pictures", is_flag=True, help="Include the benchmark's pictures.")
@click.option(
    "--bench",
    type=FilePath(path_type=Path),
    help="Where the benchmark is now, for --pictures.",
)
@click.option("--verify", is_flag=True, help="Check an archive instead of writing one.")
def command(
    source: Path, out: Path | None, pictures: bool, bench: Path | None, verify: bool
) -> None:
    """Write RUN as an archive that others can check, or check one with --verify.

    The archive holds the run's own exchanges, its settings, scores and tables, the dialog in the
    very words, and checksums; no path, no user's name and no key. The same run gives the same
    bytes.
    """
    if verify:
        _verify(source)
        return
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
    names = publish(run, out, root)
    click.echo(f"{len(names)} files in {out}", err=True)
    click.echo(f"check it: lmmscore publish --verify {out}", err=True)
    click.echo(out)


def _verify(archive: Path) -> None:
    from lmmscore.publish import verify

    found = verify(archive)
    for problem in found.problems:
        click.echo(f"problem: {problem}")
    if found.problems:
        raise click.exceptions.Exit(1)
    click.echo(
        f"{archive}: as published; {found.scores:,} rows of scores.csv follow from "
        f"{found.exchanges:,} recorded exchanges"
    )
