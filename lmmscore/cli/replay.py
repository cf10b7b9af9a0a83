"""`lmmscore replay`: a published transcript → its scores, ranking and arithmetic."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from lmmscore.cli.command_line import FilePath, filled, json_flag, print_board


@click.command("replay")
@click.argument(
    "transcripts", metavar="TRANSCRIPT…", nargs=-1, required=True, type=FilePath(path_type=Path)
)
@click.option(
    "--out",
    "-o",
    type=FilePath(path_type=Path),
    metavar="RUN",
    help="Make a run of them in this folder: scores.csv, leaderboards and a report.",
)
@click.option(
    "--dialog",
    "-d",
    callback=filled,
    help="Take factors, scales and weights from this dialog, not from the transcript.",
)
@json_flag
def command(
    transcripts: tuple[Path, ...], out: Path | None, dialog: str | None, as_json: bool
) -> None:
    """Read a published chat transcript: every edit's scores, its overall, and the ranking.

    With --out, one transcript or many make a run, with item, task and instruction as each says.
    Nobody is asked anything. Exits with 3 when an edit has no readable score.
    """
    from lmmscore.transcript_reader import read_transcript

    if out is not None:
        _make_run(transcripts, out, dialog, as_json)
        return

    if len(transcripts) > 1:
        raise click.UsageError("several transcripts make a run; say where with --out RUN")

    replayed = read_transcript(transcripts[0], dialog)
    if as_json:
        click.echo(json.dumps(replayed.as_dict(), ensure_ascii=False, indent=2))
    else:
        from lmmscore.report.screen import print_replayed

        print_replayed(replayed)

    if not replayed.complete:
        raise click.exceptions.Exit(3)


def _make_run(paths: tuple[Path, ...], out: Path, dialog: str | None, as_json: bool) -> None:
    """Make a run of transcripts and print its leaderboard."""
    from lmmscore.report.leaderboard import write_leaderboards
    from lmmscore.report.page import PageOptions, write_page
    from lmmscore.report.run_data import RunData
    from lmmscore.transcript_reader import make_run

    names = [path.name for path in paths]
    command = shlex.join(["lmmscore", "replay", *names, "--out", out.name])
    run = make_run(paths, out, dialog, command)
    board = write_leaderboards(run)
    page = PageOptions(out=run.path / "report.html", command=command)
    write_page([RunData(run.path.resolve().name, run)], page)
    manifest = run.manifest
    if as_json:
        found = {"run": str(run.path), "sessions": manifest.judged, "unscored": manifest.unscored}
        click.echo(json.dumps(found | {"slips": manifest.slips, "caution": manifest.caution}))
    else:
        print_board(board)
        click.echo(f"\nrun:  {run.path}", err=True)

    if manifest.unscored:
        edits = "1 edit has" if manifest.unscored == 1 else f"{manifest.unscored} edits have"
        click.echo(f"{edits} no score; scores.csv says why", err=True)
        raise click.exceptions.Exit(3)
