"""`lmmscore compare`: several runs side by side."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from lmmscore.cli.inputs import Source
    from lmmscore.leaderboard import Leaderboard
    from lmmscore.report.leaderboard import Format


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@click.option(
    "--format", "form", type=click.Choice(["term", "md", "tex", "json"]), default="term", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--task", multiple=True, help="Only this task category; may be repeated.")
@click.option("--factor", default="overall", show_default=True, help="What to compare them on.")
@click.option("--decimals", type=click.IntRange(0, 10), help="Decimals [2; all there are in JSON].")
@click.option(
    "--pool", "pooled", is_flag=True, help="Add a table over all runs together, if they are comparable."
)
@click.option("--anyway", is_flag=True, help="With --pool: pool them although they are not comparable.")
def command(
    runs: tuple[str, ...], form: Format, as_json: bool, pooled: bool, anyway: bool, **options: Any
) -> None:
    """Set several runs side by side: rank changes, and how far their judges agree.

    Other judges, other dialogs or other days may be compared; they are pooled only when judge, dialog and
    images are the same, or with --anyway.
    """
    from lmmscore.cli.inputs import open_sources
    from lmmscore.leaderboard.compare import compare

    if len(runs) < 2:
        raise click.UsageError("compare needs at least two runs")
    sources = open_sources(runs)
    boards = [_board(source, options) for source in sources]
    found = compare(
        [source.name for source in sources],
        boards,
        [source.scores for source in sources],
        [source.comparable() for source in sources],
        factor=options["factor"],
    )
    together = _together(sources, options, anyway=anyway) if pooled else None
    decimals = options["decimals"]
    if as_json or form == "json":
        more = {"pooled": together.as_dict(decimals)} if together else {}
        click.echo(json.dumps({**found.as_dict(decimals), **more}, ensure_ascii=False, indent=2))
        return
    from lmmscore.cli.terminal import screen
    from lmmscore.report.board_grids import board_grids
    from lmmscore.report.extra_grids import comparison_grids
    from lmmscore.report.leaderboard import render_grids

    places = 2 if decimals is None else decimals
    grids = comparison_grids(found, places)
    grids += board_grids(together, decimals=places, wide=False) if together else []
    notes = [f"Not the same in all runs: {text}." for text in found.differing]
    caution = " ".join(found.cautions)
    click.echo(render_grids(grids, form, caution, notes, **screen()), nl=False)


def _board(source: Source, options: dict[str, Any]) -> Leaderboard:
    from lmmscore.leaderboard import rank

    # Ranks and means are all that is set side by side; intervals stand in each run's own leaderboard.
    chosen = [task for task in options["task"] if task in set(source.scores["task"])] or options["task"]
    return rank(
        source.scores, task=chosen or None, factor=options["factor"], caution=source.caution, resamples=0
    )


def _together(sources: list[Source], options: dict[str, Any], *, anyway: bool) -> Leaderboard:
    from lmmscore.cli.inputs import cautions
    from lmmscore.leaderboard import rank
    from lmmscore.leaderboard.compare import pool

    scores = pool(
        [source.name for source in sources],
        [source.scores for source in sources],
        [source.comparable() for source in sources],
        anyway=anyway,
    )
    return rank(scores, task=options["task"] or None, factor=options["factor"], caution=cautions(sources))
