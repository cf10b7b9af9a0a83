"""`lmmscore agree`: does a judge agree with people, as well as people agree with each other?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.options import FilePath, Finite, filled, ratings_scale

if TYPE_CHECKING:
    from lmmscore.agreement import Agreement
    from lmmscore.cli.inputs import Source
    from lmmscore.dialog import Dialog


SECTIONS = ("further", "tasks", "powered")
"""What a terminal shows only when asked; files hold everything."""


@click.command("agree")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--scores", "score_files", callback=filled, multiple=True, metavar="FILE[:FIELD]",
              help="A score file of another tool; may be repeated.")  # fmt: skip
@click.option("--human", "human", callback=filled, multiple=True, required=True, metavar="FILE",
              help="Human ratings: a file, a folder with a file a rater, or repeated.")  # fmt: skip
@click.option("--item-column", callback=filled, default="", help="The column that names the item.")
@click.option(
    "--rater-column", callback=filled, default="", help="The ratings' column that names the rater."
)
@click.option(
    "--method-column", callback=filled, default="", help="The column that names the method."
)
@click.option(
    "--factor-column",
    callback=filled,
    default="",
    help="The ratings' column that names the factor, in a long table.",
)
@click.option(
    "--score-column",
    callback=filled,
    default="",
    help="The ratings' column with the number, in a long table.",
)
@click.option(
    "--rename", "renames", multiple=True, metavar="OLD=NEW", help="Call a factor by another name."
)
@click.option(
    "--factor", "factors", callback=filled, multiple=True, help="Only this factor; may be repeated."
)
@click.option(
    "--dialog",
    callback=filled,
    default="",
    help="Check --scores against this dialog's scales; its rule makes the overall.",
)
@ratings_scale
@click.option(
    "--task-column",
    callback=filled,
    default="",
    help="The score file's column that names the task category.",
)
@click.option("--task-pattern", callback=filled, default="", metavar="REGEX",
              help="Find the task in the item's id: the first group in parentheses.")  # fmt: skip
@click.option("--epsilon", type=Finite(0, 1), default=0.2, show_default=True,
              help="Advantage granted to people in the alternative annotator test.")  # fmt: skip
@click.option("--min-edits", type=click.IntRange(2), default=30, show_default=True,
              help="Edits a rater needs in that test.")  # fmt: skip
@click.option(
    "--resamples",
    type=click.IntRange(100),
    default=9_999,
    show_default=True,
    help="Bootstrap draws.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all random draws."
)
@click.option("--show", multiple=True, type=click.Choice([*SECTIONS, "all"]),
              help="Add a section to what the terminal shows; may be repeated.")  # fmt: skip
@click.option(
    "--plots", type=FilePath(path_type=Path), metavar="DIR", help="Write figures into this folder."
)
@click.option(
    "--plot-format", type=click.Choice(["pdf", "svg", "png"]), default="pdf", show_default=True
)
@click.option("--format", "form", type=click.Choice(["term", "md", "csv", "tex", "json"]), default="term",
              show_default=True)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def command(
    runs: tuple[str, ...], score_files: tuple[str, ...], form: str, as_json: bool, **options: Any
) -> None:
    """Compare a judge with human ratings.

    RUN is a run's folder, or a scores.csv; score files of other tools are given with --scores. Ratings may be long
    (item, method, rater, factor, score), wide (a column a factor) or one file a rater; CSV, TSV, Excel or JSON lines.
    """
    from lmmscore.cli.inputs import cautions
    from lmmscore.report.agreement import render
    from lmmscore.report.agreement_grids import AT_A_GLANCE
    from lmmscore.report.agreement_grids import SECTIONS as ALL_SECTIONS

    if not runs and not score_files:
        raise click.UsageError("Name a RUN, or a score file with --scores.")
    judges = [*_runs(runs), *_files(score_files, options)]
    found = _agree(judges, options)
    form = "json" if as_json else form
    sections = AT_A_GLANCE if form == "term" and "all" not in options["show"] else ALL_SECTIONS
    tty, caution = sys.stdout.isatty(), cautions(judges)
    shown = (*sections, *options["show"])
    click.echo(render(found, form, sections=shown, caution=caution, color=tty), nl=False)  # type: ignore[arg-type]
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
    if options["plots"]:
        from lmmscore.report.plots import write_plots

        for path in write_plots(found, options["plots"], options["plot_format"]):
            click.echo(f"wrote {path}", err=True)


def _runs(texts: Sequence[str]) -> list[Source]:
    from lmmscore.cli.inputs import open_sources

    return open_sources(texts) if texts else []


def _files(specs: Sequence[str], options: dict[str, Any]) -> list[Source]:
    """Read other tools' score files, each under a name of its own."""
    from lmmscore.cli.inputs import Source
    from lmmscore.dialog import load_dialog
    from lmmscore.scorefiles import Layout, judge_name, read_score_file

    dialog = load_dialog(options["dialog"]) if options["dialog"] else None
    layout = Layout(
        item=options["item_column"],
        method=options["method_column"],
        task=options["task_column"],
        task_pattern=options["task_pattern"],
        shared=True,
    )
    names = [judge_name(spec) for spec in specs]
    named = [
        name if names.count(name) == 1 else spec for name, spec in zip(names, specs, strict=True)
    ]
    notes: list[str] = []
    tables = [read_score_file(spec, layout, dialog, notes) for spec in specs]
    for note in notes:
        click.echo(f"note: {note}", err=True)
    return [
        _with_scales(Source(name, Path(spec), table), dialog)
        for name, spec, table in zip(named, specs, tables, strict=True)
    ]


def _with_scales(source: Source, dialog: Dialog | None) -> Source:
    """Return the source with its factors' scales: the named dialog's, or those of a bundled one with its factors."""
    from dataclasses import replace

    from lmmscore.records import OVERALL
    from lmmscore.run_folder import factor_table

    if dialog is not None:
        return replace(source, settings={"factors": factor_table(dialog.factors)})
    factors = set(source.scores["factor"]) - {OVERALL}
    for known in _bundled_dialogs():
        if {factor.key for factor in known.factors} == factors:
            # Only the scales: how this file's overall was made is not known.
            scales = [entry | {"weight": None} for entry in factor_table(known.factors)]
            return replace(source, settings={"factors": scales})
    return source


def _bundled_dialogs() -> list[Dialog]:
    from lmmscore.dialog import Dialog, load
    from lmmscore.resources import bundled

    loaded = [load(str(path)) for path in sorted(bundled("dialogs").glob("*.yaml"))]
    return [dialog for dialog in loaded if isinstance(dialog, Dialog)]


def _agree(judges: Sequence[Source], options: dict[str, Any]) -> Agreement:
    from lmmscore.agreement import agree
    from lmmscore.cli.inputs import parse_scale
    from lmmscore.errors import LmmscoreError
    from lmmscore.leaderboard.weights import scales_of, weights_of
    from lmmscore.ratings import Columns, read_ratings
    from lmmscore.report.lines import counting

    names = [judge.name for judge in judges]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise LmmscoreError(f"{twice} is given twice; name each judge once")
    columns = Columns(
        **{
            name: options[f"{name}_column"]
            for name in ("item", "method", "rater", "factor", "score", "task")
        }
    )
    ratings = read_ratings(options["human"], columns)
    scales = {
        factor: ends for judge in judges for factor, ends in scales_of(judge.settings, None).items()
    }
    found = agree(
        {judge.name: judge.scores for judge in judges},
        ratings.table,
        renames=parse_renames(options["renames"]),
        factors=options["factors"],
        scales=scales,
        scale=parse_scale(options["scale"]) if options["scale"] else None,
        weights=weights_of(judges[0].settings),
        resamples=options["resamples"],
        seed=options["seed"],
        epsilon=options["epsilon"],
        minimum_edits=options["min_edits"],
        counting=partial(counting, "comparing with people"),
    )
    return found.with_notes(ratings.notes)


def parse_renames(texts: Sequence[str]) -> dict[str, str]:
    """Read OLD=NEW pairs."""
    pairs = [text.partition("=") for text in texts]
    for (old, equals, new), text in zip(pairs, texts, strict=True):
        if not (old and equals and new):
            raise click.UsageError(f"--rename takes OLD=NEW, not {text!r}.")
    return {old.strip(): new.strip() for old, _, new in pairs}
