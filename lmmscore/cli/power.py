"""`lmmscore power`: how many items or repeats would tell two methods apart."""

from __future__ import annotations

import json
from pathlib import Path

import click

from lmmscore.cli.command_line import Finite, filled, json_flag, open_source, put, table_file


@click.command("power")
@click.argument("run")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--task", help="Only this task category.")
@click.option(
    "--factor",
    callback=filled,
    default="overall",
    show_default=True,
    help="What to compare them on.",
)
@click.option(
    "--power", type=Finite(0.05, 0.999), default=0.8, show_default=True, help="Chance to find it."
)
@click.option(
    "--alpha", type=Finite(0.0001, 0.5), default=0.05, show_default=True, help="Level of the test."
)
@json_flag
@table_file
def command(
    run: str,
    first: str,
    second: str,
    task: str | None,
    factor: str,
    power: float,
    alpha: float,
    as_json: bool,
    out: Path | None,
) -> None:
    """Say how many items or repeats it would take to tell methods A and B apart.

    RUN is a run's folder or a scores.csv. The test is the leaderboard's: paired sign flips over
    items, corrected over all pairs of methods. A pilot tells a range of items, not a number.
    """
    from lmmscore.leaderboard.power import power_of

    source = open_source(run)
    found = power_of(
        source.scores, first, second, task=task, factor=factor, power=power, alpha=alpha
    )
    if as_json:
        data = {**found.as_dict(), "caution": source.caution}
        put(json.dumps(data, ensure_ascii=False, indent=2) + "\n", out)
        return

    lines = [f"Caution: {source.caution}"] if source.caution else []
    put("\n".join([*lines, *found.statements]) + "\n", out)
