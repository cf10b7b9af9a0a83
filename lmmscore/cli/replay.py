"""`lmmscore replay`: a published transcript → its scores, ranking and arithmetic."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from lmmscore.cli.command_line import (
    filled,
    json_flag,
    path_argument,
    path_option,
    print_board,
    put_json,
)
from lmmscore.errors import FileProblem, counted


@click.command("replay")
@path_argument("transcripts", metavar="TRANSCRIPT…", nargs=-1, required=True)
@path_option(
    "--out",
    "-o",
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

    With --out, one transcript or many make a run, with item, task and instruction as each says. No
    judge is asked. Exits with 3 when an edit has no readable score.
    """
    from lmmscore.transcript_reader import read_transcript

    for path in transcripts:
        if path.is_dir():
            replay = f"lmmscore run BENCHMARK --judge replay:{path} replays a run"
            raise FileProblem(f"{path}: a folder, not a transcript; `{replay}`")

    if out is not None:
        _make_run(transcripts, out, dialog, as_json)
        return

    if len(transcripts) > 1:
        raise click.UsageError("several transcripts make a run; say where with --out RUN")

    replayed = read_transcript(transcripts[0], dialog)
    if as_json:
        put_json(replayed.as_dict())
    else:
        from lmmscore.report.formats.terminal import print_replayed

        print_replayed(replayed)

    if not replayed.complete:
        raise click.exceptions.Exit(3)


def _make_run(paths: tuple[Path, ...], out: Path, dialog: str | None, as_json: bool) -> None:
    """Make a run of transcripts and print its leaderboard."""
    from lmmscore.report.leaderboard import write_leaderboards
    from lmmscore.results import RunResult
    from lmmscore.transcript_reader import make_run

    names = [path.name for path in paths]
    command = shlex.join(["lmmscore", "replay", *names, "--out", out.name])
    run = make_run(paths, out, dialog, command)
    board = write_leaderboards(run)
    RunResult(run.path).report(command=command)
    manifest = run.manifest
    if as_json:
        found = {"run": str(run.path), "sessions": manifest.judged, "unscored": manifest.unscored}
        put_json({**found, "slips": manifest.slips, "caution": manifest.caution})
    else:
        print_board(board)
        click.echo(f"\nrun:  {run.path}", err=True)

    if manifest.unscored:
        edits = counted(manifest.unscored, "edit has", "edits have")
        click.echo(f"{edits} no score; scores.csv says why", err=True)
        raise click.exceptions.Exit(3)
