"""`lmmscore compare`: several runs side by side; `lmmscore power`: what a difference takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.command_line import (
    PLOT_GROUP,
    Finite,
    GroupedCommand,
    Source,
    as_json_format,
    for_all,
    json_flag,
    method_names,
    open_source,
    open_sources,
    plot_options,
    pooled,
    put,
    put_json,
    refuse_without,
    screen,
    table_file,
    table_format,
    text_option,
    write_plots,
)
from lmmscore.report.formats import TableDocument, TableLayout, write

if TYPE_CHECKING:
    from lmmscore.leaderboard import Leaderboard
    from lmmscore.leaderboard.compare import RunComparison
    from lmmscore.report.formats import DisplayNames


@click.command(
    "compare",
    cls=GroupedCommand,
    groups={
        "What to compare": ("task", "factor", "pool", "anyway"),
        "How to print it": ("format", "json", "out", "names", "decimals"),
        "Figures": PLOT_GROUP,
    },
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@table_format
@table_file
@method_names
@plot_options
@as_json_format
@click.option("--task", multiple=True, help="Only this task category; may be repeated.")
@text_option(
    "--factor",
    default="overall",
    show_default=True,
    help="What to compare them on; `all` for each in turn.",
)
@click.option("--decimals", type=click.IntRange(0, 10), help="Decimals [2; all there are in JSON].")
@click.option(
    "--pool", is_flag=True, help="Add a table over all runs together, if they are comparable."
)
@click.option(
    "--anyway", is_flag=True, help="With --pool: pool them although they are not comparable."
)
def command(
    runs: tuple[str, ...], form: str, as_json: bool, pool: bool, anyway: bool, **options: Any
) -> None:
    """Set several runs side by side: rank changes, and how far their judges agree.

    Other judges, other dialogs or other days may be compared; they are pooled only when judge,
    dialog and images are the same, or with --anyway.
    """
    from lmmscore.leaderboard.compare import compare, factors_of
    from lmmscore.report.leaderboard import display_names

    if len(runs) < 2:
        raise click.UsageError("compare needs at least two runs")

    refuse_without("pool", "anyway")
    sources = open_sources(runs)
    tasks = options["task"]
    names = [source.name for source in sources]
    factors = factors_of(names, [source.scores for source in sources], options["factor"])
    found = compare(
        names,
        [_board(source, tasks, factors) for source in sources],
        [source.only("task", tasks).scores for source in sources],
        [source.comparable() for source in sources],
        factor=factors,
    )
    together = _together(sources, tasks, factors, anyway=anyway) if pool else None
    names_shown = display_names(for_all(sources, sources[0].manifest), options["names"])
    if options["plots"]:
        from lmmscore.report.figures import comparison_drawings

        write_plots(comparison_drawings(found, names_shown.methods), options)

    document = _document(found, together, names_shown, options["decimals"])
    if options["factor"] == "overall" != factors[0]:
        without = "Not every run has an overall score, so each factor is compared."
        document = replace(document, notes=[without, *document.notes])

    form = "json" if as_json else form
    out = options["out"]
    put(write(document, form, TableLayout(**screen(out))), out)


def _document(
    found: RunComparison, together: Leaderboard | None, names: DisplayNames, decimals: int | None
) -> TableDocument:
    from lmmscore.report.leaderboard import comparison_grids, table_grid, with_names

    places = 2 if decimals is None else decimals
    grids = comparison_grids(found, places, names)
    data = found.as_dict(decimals)
    if together:
        named = with_names(together, names)
        grids += [table_grid(table, decimals=places) for table in named.tables]
        data["pooled"] = together.as_dict(decimals)

    return TableDocument(
        grids=grids,
        caution=" ".join(found.cautions),
        notes=[f"Not the same in all runs: {text}." for text in found.differing],
        records=data["ranks"],
        data=data,
    )


def _board(source: Source, tasks: tuple[str, ...], factors: list[str]) -> Leaderboard:
    from lmmscore.leaderboard import rank

    # Only ranks and means are set side by side; each run's own leaderboard has the intervals.
    chosen = [task for task in tasks if task in set(source.scores["task"])] or tasks
    return rank(
        source.scores,
        task=chosen or None,
        factor=factors,
        caution=source.caution,
        resamples=0,
        lower_better=source.manifest.lower_better,
        shown_order=source.manifest.shown_order,
    )


def _together(
    sources: Sequence[Source], tasks: tuple[str, ...], factors: list[str], *, anyway: bool
) -> Leaderboard:
    from lmmscore.leaderboard import rank

    whole = pooled(sources, anyway=anyway)
    return rank(
        whole.scores,
        task=tasks or None,
        factor=factors,
        caution=whole.caution,
        lower_better=whole.manifest.lower_better,
        shown_order=whole.manifest.shown_order,
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
def power(run: str, first: str, second: str, as_json: bool, out: Path | None, **test: Any) -> None:
    """Say how many items or repeats it takes to show a difference between methods A and B.

    RUN is a run's folder or a scores.csv. The test is the leaderboard's: paired sign flips over
    items, corrected over all pairs of methods. From a pilot the answer is a range.
    """
    from lmmscore.leaderboard.differences import power_of

    source = open_source(run)
    low = source.manifest.lower_better
    found = power_of(source.scores, first, second, lower_better=low, **test)
    if as_json:
        put_json({**found.as_dict(), "caution": source.caution}, out)
        return

    lines = [f"Caution: {source.caution}"] if source.caution else []
    put("\n".join([*lines, *found.statements]) + "\n", out)
