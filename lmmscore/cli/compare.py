"""`lmmscore compare`: several runs side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.options import filled

if TYPE_CHECKING:
    from lmmscore.cli.inputs import Source
    from lmmscore.leaderboard import Leaderboard
    from lmmscore.report.leaderboard import Format


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["term", "md", "tex", "json"]),
    default="term",
    show_default=True,
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--task", multiple=True, help="Only this task category; may be repeated.")
@click.option(
    "--factor",
    callback=filled,
    default="overall",
    show_default=True,
    help="What to compare them on; `all` for each in turn.",
)
@click.option("--decimals", type=click.IntRange(0, 10), help="Decimals [2; all there are in JSON].")
@click.option(
    "--pool",
    "pooled",
    is_flag=True,
    help="Add a table over all runs together, if they are comparable.",
)
@click.option(
    "--anyway", is_flag=True, help="With --pool: pool them although they are not comparable."
)
def command(
    runs: tuple[str, ...], form: Format, as_json: bool, pooled: bool, anyway: bool, **options: Any
) -> None:
    """Set several runs side by side: rank changes, and how far their judges agree.

    Other judges, other dialogs or other days may be compared; they are pooled only when judge,
    dialog and
    images are the same, or with --anyway.
    """
    from lmmscore.cli.inputs import open_sources
    from lmmscore.leaderboard.compare import compare, factors_of

    if len(runs) < 2:
        raise click.UsageError("compare needs at least two runs")
    sources = open_sources(runs)
    names = [source.name for source in sources]
    factors = factors_of(names, [source.scores for source in sources], options["factor"])
    boards = [_board(source, options["task"], factors) for source in sources]
    chosen = [_of_tasks(source, options["task"]).scores for source in sources]
    found = compare(
        names, boards, chosen, [source.comparable() for source in sources], factor=factors
    )
    together = _together(sources, options["task"], factors, anyway=anyway) if pooled else None
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
    without = options["factor"] == "overall" != factors[0]
    notes = ["Not every run has an overall score, so each factor is compared."] if without else []
    notes += [f"Not the same in all runs: {text}." for text in found.differing]
    caution = " ".join(found.cautions)
    click.echo(render_grids(grids, form, caution, notes, **screen()), nl=False)


def _of_tasks(source: Source, tasks: tuple[str, ...]) -> Source:
    """Return the source with only these tasks' scores; all of them where none is named."""
    scores = source.scores
    return replace(source, scores=scores[scores["task"].isin(tasks)]) if tasks else source


def _board(source: Source, tasks: tuple[str, ...], factors: list[str]) -> Leaderboard:
    from lmmscore.leaderboard import rank

    # Ranks and means are all that is set side by side; intervals stand in each run's own
    # leaderboard.
    chosen = [task for task in tasks if task in set(source.scores["task"])] or tasks
    return rank(
        source.scores, task=chosen or None, factor=factors, caution=source.caution, resamples=0
    )


def _together(
    sources: list[Source], tasks: tuple[str, ...], factors: list[str], *, anyway: bool
) -> Leaderboard:
    from lmmscore.cli.inputs import cautions
    from lmmscore.leaderboard import rank
    from lmmscore.leaderboard.compare import pool

    scores = pool(
        [source.name for source in sources],
        [source.scores for source in sources],
        [source.comparable() for source in sources],
        anyway=anyway,
    )
    return rank(scores, task=tasks or None, factor=factors, caution=cautions(sources))
