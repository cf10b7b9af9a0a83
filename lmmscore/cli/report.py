"""`lmmscore report`: write runs as one HTML page."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.options import FilePath, filled, ratings_scale

if TYPE_CHECKING:
    from lmmscore.agreement import Agreement
    from lmmscore.report.page.judged import Judged


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--human",
    callback=filled,
    multiple=True,
    metavar="FILE",
    help="Human ratings, as `lmmscore agree` takes them.",
)
@click.option(
    "--out", "-o", type=FilePath(path_type=Path), help="The page  [default: RUN/report.html]"
)
@click.option(
    "--assets", is_flag=True, help="Put the pictures in a folder beside the page, not inside it."
)
@click.option(
    "--thumb-px",
    type=click.IntRange(32, 2048),
    help="Longest side of a thumbnail  [default: 384 for few pictures, 192 for many]",
)
@click.option(
    "--images",
    type=FilePath(path_type=Path, exists=True, file_okay=False),
    help="Where the benchmark's pictures are, if not where they were.",
)
@click.option(
    "--item-column", callback=filled, default="", help="The ratings' column that names the item."
)
@click.option(
    "--rater-column", callback=filled, default="", help="The ratings' column that names the rater."
)
@click.option(
    "--method-column",
    callback=filled,
    default="",
    help="The ratings' column that names the method.",
)
@click.option(
    "--rename", "renames", multiple=True, metavar="OLD=NEW", help="Call a factor by another name."
)
@ratings_scale
@click.option(
    "--resamples",
    type=click.IntRange(100),
    default=9_999,
    show_default=True,
    help="Random draws of tests of the agreement with people.",
)
def command(runs: tuple[str, ...], out: Path | None, **options: Any) -> None:
    """Write one HTML page about one or several runs.

    The page opens from disk, fetches nothing and can be mailed: summary, leaderboard, gallery, every
    conversation and, with --human, the agreement with people.
    """
    from lmmscore.cli.agree import parse_renames
    from lmmscore.report.lines import counting
    from lmmscore.report.page import Wish, write_report

    judged = _open(runs, options["images"])
    renames = parse_renames(options["renames"])
    wish = Wish(
        out=out or judged[0].run.path / "report.html",
        agreement=_agreement(judged, renames, options) if options["human"] else None,
        renames=renames,
        assets=options["assets"],
        thumb_px=options["thumb_px"],
        command=shlex.join(["lmmscore", *sys.argv[1:]]),
        counting=counting,
    )
    click.echo(write_report(judged, wish))


def _open(runs: tuple[str, ...], images: Path | None) -> list[Judged]:
    from lmmscore.cli.inputs import open_sources
    from lmmscore.report.page.judged import Judged
    from lmmscore.run_folder import open_run

    opened = [open_run(Path(text)) for text in runs]
    names = [source.name for source in open_sources(runs)]
    where = images.absolute() if images else None
    return [Judged(name, run, where) for name, run in zip(names, opened, strict=True)]


def _agreement(judged: list[Judged], renames: dict[str, str], options: dict[str, Any]) -> Agreement:
    from lmmscore.agreement import agree
    from lmmscore.cli.inputs import parse_scale
    from lmmscore.ratings import Columns
    from lmmscore.web.results import read_human_ratings

    columns = Columns(**{name: options[f"{name}_column"] for name in ("item", "method", "rater")})
    ratings = read_human_ratings(options["human"], columns)
    found = agree(
        {each.name: each.scores for each in judged},
        ratings.table,
        renames=renames,
        scales={factor: ends for each in judged for factor, ends in each.scales.items()},
        scale=parse_scale(options["scale"]) if options["scale"] else None,
        weights=judged[0].weights,
        resamples=options["resamples"],
    )
    return found.with_notes(ratings.notes)
