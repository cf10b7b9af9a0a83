"""`lmmscore report`: write runs as one HTML page."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.command_line import (
    GroupedCommand,
    factor_renames,
    filled,
    folder_option,
    human_ratings,
    method_names,
    path_option,
    ratings_scale,
    text_option,
)
from lmmscore.errors import LmmscoreError

if TYPE_CHECKING:
    from lmmscore.agreement import Agreement
    from lmmscore.report.run_data import RunData


@click.command(
    "report",
    cls=GroupedCommand,
    groups={
        "The page": ("out", "full-images", "assets", "thumb-px", "images", "names"),
        "Human ratings": (
            *("human", "item-column", "rater-column", "method-column"),
            *("rename", "scale", "resamples"),
        ),
    },
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--human",
    callback=filled,
    multiple=True,
    metavar="FILE",
    help="Human ratings, as `lmmscore agree` takes them.",
)
@path_option(
    "--out",
    "-o",
    help="The page  [default: RUN/report.html; of several, report-RUN-RUN.html beside the first]",
)
@click.option(
    "--full-images", is_flag=True, help="Put the pictures in full into the page; it grows."
)
@click.option(
    "--assets", is_flag=True, help="Put the pictures, in full, in a folder beside the page."
)
@method_names
@click.option(
    "--thumb-px",
    type=click.IntRange(32, 2048),
    help="Longest side of a thumbnail  [default: 512 for few pictures, 192 for many]",
)
@folder_option(
    "--images", "--bench", help="Where the benchmark's pictures are, if not where they were."
)
@text_option("--item-column", help="The ratings' column that names the item.")
@text_option("--rater-column", help="The ratings' column that names the rater.")
@text_option("--method-column", help="The ratings' column that names the method.")
@factor_renames
@ratings_scale
@click.option(
    "--resamples",
    type=click.IntRange(100),
    default=9_999,
    show_default=True,
    help="Random draws of tests of the agreement with raters.",
)
def command(runs: tuple[str, ...], out: Path | None, **options: Any) -> None:
    """Write one HTML page about one or several runs.

    The page opens from disk, fetches nothing and can be mailed: the result, every edit in a viewer,
    every conversation and, with --human, the agreement with raters. A run that is still going is
    shown as far as it has got.
    """
    from lmmscore.cli.run import without_folders
    from lmmscore.report.formats.terminal import counting
    from lmmscore.report.page import PageOptions, write_page

    opened = _open(runs, options["images"], options["names"])
    page = PageOptions(
        out=out or _default_page(opened),
        agreement=_agreement(opened, options) if options["human"] else None,
        renames=options["renames"],
        assets=options["assets"],
        full_images=options["full_images"],
        thumb_px=options["thumb_px"],
        command=shlex.join(["lmmscore", *map(without_folders, sys.argv[1:])]),
        counting=counting,
    )
    written = write_page(opened, page)
    for run in opened:
        for text in run.lacks:
            click.echo(f"warning: {run.run.path}: {text}", err=True)

    click.echo(written)


def _default_page(runs: list[RunData]) -> Path:
    """Return where the page goes: one about several runs does not replace a run's own."""
    first = runs[0].run.path
    if len(runs) == 1:
        return first / "report.html"
    names = "-".join(run.run.path.resolve().name for run in runs)
    return first.parent / f"report-{names}.html"


def _open(runs: tuple[str, ...], images: Path | None, names: dict[str, str]) -> list[RunData]:
    from lmmscore.report.run_data import RunData
    from lmmscore.run_folder import open_run

    where = images.absolute() if images else None
    found: list[RunData] = []
    folders = [Path(text).resolve().name for text in runs]
    for text, folder in zip(runs, folders, strict=True):
        run = open_run(Path(text))
        if any(run.path.resolve() == other.run.path.resolve() for other in found):
            raise LmmscoreError(f"{text} is given twice; name each run once")

        name = folder if folders.count(folder) == 1 else text.rstrip("/")
        found.append(RunData(name, run, where, names))

    return found


def _agreement(runs: list[RunData], options: dict[str, Any]) -> Agreement:
    from lmmscore.agreement import agree

    for run in runs:
        if run.run.is_of_pairs:
            raise LmmscoreError(
                f"{run.run.path} compares pairs: `lmmscore agree {run.run.path} --human FILE` "
                "compares its verdicts with human ones; leave --human out of the report"
            )

    ratings = human_ratings(options)
    found = agree(
        {run.name: run.scores for run in runs},
        ratings.table,
        renames=options["renames"],
        scales={run.name: run.scales for run in runs},
        scale=options["scale"] or ratings.scale,
        weights={run.name: run.weights for run in runs},
        lower_better={run.name: run.manifest.lower_better for run in runs},
        resamples=options["resamples"],
    )
    return found.with_notes(ratings.notes)
