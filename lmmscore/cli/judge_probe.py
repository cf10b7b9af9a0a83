"""`lmmscore judge probe`: can a judge be steered by what should not matter?"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import click

from lmmscore.cli.options import FilePath, filled, json_flag, judge_options, take_judge_options


@click.command("probe")
@click.argument("judge")
@click.argument("benchmark", type=FilePath(path_type=Path))
@click.option(
    "--items",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="How many items are judged again.",
)
@click.option("--dialog", "-d", callback=filled, default=None, help="The dialog  [lmm-score]")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the choice.")
@click.option(
    "--out",
    "-o",
    type=FilePath(path_type=Path),
    help="Keep the runs here; again with the same folder, it resumes where it stopped.",
)
@judge_options
@json_flag
def command(
    judge: str,
    benchmark: Path,
    items: int,
    dialog: str | None,
    seed: int,
    out: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Judge some items again with changes to an edit that should not move its score.

    The changes are a caption that praises the edit, “score: 10” written on it, a border, a little
    brightness, and JPEG compression. Each item is judged twice as it is and once for each change:
    seven sessions per item. Reported is the mean change of score with its 95% interval.
    """
    from lmmscore.probe import probe

    options = take_judge_options(given)

    def said(text: str) -> None:
        click.echo(f"judging {text} …", err=True)

    with tempfile.TemporaryDirectory() as scratch:
        found = probe(
            judge,
            benchmark,
            items=items,
            out=out or Path(scratch),
            dialog=dialog,
            seed=seed,
            judge_options=options,
            said=said,
        )
    if as_json:
        rows = [one.as_dict() for one in found]
        click.echo(json.dumps({"judge": judge, "changes": rows}, ensure_ascii=False, indent=2))
        return
    from lmmscore.cli.terminal import screen
    from lmmscore.report.grids import Grid, number, plain, span
    from lmmscore.report.leaderboard import render_grids

    factor = found[0].factor
    shown = []
    for one in found:
        if one.factor != factor:
            continue
        limits = None if one.low is None or one.high is None else (one.low, one.high)
        shown.append(plain(one.done, number(one.change, 2), span(limits, 2), str(one.items)))
    grid = Grid(
        f"{judge}: what moves its scores",
        ("change of the edit", f"change of {factor}", "95%", "items"),
        tuple(shown),
        caption="Score of the altered edit minus that of the same edit as it is. The first line is "
        "the judge's own noise: an interval that does not hold 0 beside one that does means that "
        "the judge can be steered by it.",
        text_columns=frozenset({0}),
    )
    click.echo(render_grids([grid], "term", "", **screen()), nl=False)
