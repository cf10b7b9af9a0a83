"""`lmmscore power`: how many items or repeats it takes to show a difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lmmscore.cli.command_line import (
    Finite,
    json_flag,
    open_source,
    put,
    put_json,
    table_file,
    text_option,
)


@click.command("power")
@click.argument("run")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--task", help="Only this task category.")
@text_option("--factor", default="overall", show_default=True, help="What to compare them on.")
@click.option(
    "--power",
    type=Finite(0.05, 0.999),
    default=0.8,
    show_default=True,
    help="Chance of finding the difference.",
)
@click.option(
    "--alpha", type=Finite(0.0001, 0.5), default=0.05, show_default=True, help="Level of the test."
)
@json_flag
@table_file
def command(
    run: str, first: str, second: str, as_json: bool, out: Path | None, **test: Any
) -> None:
    """Say how many items or repeats it takes to show a difference between methods A and B.

    RUN is a run's folder or a scores.csv. The test is the leaderboard's: paired sign flips over
    items, corrected over all pairs of methods. From a pilot the answer is a range.
    """
    from lmmscore.leaderboard.differences import power_of

    source = open_source(run)
    found = power_of(source.scores, first, second, **test)
    if as_json:
        put_json({**found.as_dict(), "caution": source.caution}, out)
        return

    lines = [f"Caution: {source.caution}"] if source.caution else []
    put("\n".join([*lines, *found.statements]) + "\n", out)
