"""`lmmscore replay`: a published transcript → its scores, ranking and arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import click

from lmmscore.cli.options import FilePath, filled, json_flag


@click.command("replay")
@click.argument("transcript", type=FilePath(path_type=Path))
@click.option(
    "--dialog",
    "-d",
    callback=filled,
    help="Take factors, scales and weights from this dialog, not from the transcript.",
)
@json_flag
def command(transcript: Path, dialog: str | None, as_json: bool) -> None:
    """Read a published chat transcript: every edit's scores, the overall computed and stated, and
    the ranking.

    Nobody is asked anything. Exits with 3 when an edit has no readable score.
    """
    from lmmscore.transcript_reader import read_transcript

    replayed = read_transcript(transcript, dialog)
    if as_json:
        click.echo(json.dumps(replayed.as_dict(), ensure_ascii=False, indent=2))
    else:
        from lmmscore.report.replayed import print_replayed

        print_replayed(replayed)
    if not replayed.complete:
        raise click.exceptions.Exit(3)
