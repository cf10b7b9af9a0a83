"""`lmmscore agree`: does a judge agree with human raters as well as they do with each other?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.command_line import (
    PANEL_GROUP,
    PLOT_GROUP,
    Finite,
    GroupedCommand,
    Source,
    as_json_format,
    cautions,
    factor_renames,
    factor_titles,
    filled,
    human_ratings,
    name_table,
    open_sources,
    panel_options,
    path_option,
    plot_options,
    put,
    ratings_scale,
    refuse_others,
    rename_option,
    say_notes,
    score_columns,
    screen,
    table_file,
    table_format,
    text_option,
    write_plots,
)
from lmmscore.errors import LmmscoreError, counted
from lmmscore.records import OVERALL
from lmmscore.resources import bundled

if TYPE_CHECKING:
    from lmmscore.agreement import Agreement, Panel
    from lmmscore.agreement.raters import Pair
    from lmmscore.dialog import Dialog
    from lmmscore.run_folder import Run
    from lmmscore.score_files import HumanRatings


SECTIONS = ("further", "within-method", "tasks", "powered", "variance")
"""What a terminal shows only when asked; files hold everything."""

LEVELS = ("item", "within-item", "within-method", "method")


@click.command(
    "agree",
    cls=GroupedCommand,
    groups={
        "What to compare": (
            *("human", "scores", "factor", "method", "level"),
            *("rename", "alias", "aliases", "scale", "rescale", "dialog"),
        ),
        "Several judges as one": PANEL_GROUP,
        "How to print it": ("format", "json", "out", "show"),
        "Figures": PLOT_GROUP,
        "Columns of the files": (
            *("item-column", "rater-column", "method-column", "factor-column"),
            *("score-column", "task-column", "task-pattern"),
        ),
        "How to compute it": ("over-raters", "epsilon", "min-edits", "resamples", "seed"),
    },
)
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--scores", "score_files", callback=filled, multiple=True, metavar="FILE[:FIELD]",
              help="A score file of another tool; may be repeated.")  # fmt: skip
@click.option("--human", "human", callback=filled, multiple=True, required=True, metavar="FILE",
              help="Human ratings: a file, or a folder with a file per rater; "
              "may be repeated.")  # fmt: skip
@score_columns
@text_option("--rater-column", help="The ratings' column that names the rater.")
@text_option("--factor-column", help="The ratings' column that names the factor, in a long table.")
@text_option("--score-column", help="The ratings' column with the number, in a long table.")
@factor_renames
@rename_option(
    "--alias", "aliases", help="Call an item or a method by another name; may be repeated."
)
@path_option(
    "--aliases",
    "alias_file",
    metavar="FILE",
    help="A table of such pairs: the first column is the old name, the second the new.",
)
@click.option(
    "--factor",
    "factors",
    callback=filled,
    multiple=True,
    help="Only this factor; `all` for every factor in the first tables. May be repeated.",
)
@click.option(
    "--method", "methods", callback=filled, multiple=True, help="Only this method; may be repeated."
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    type=click.Choice(LEVELS),
    help="Only this level of agreement; may be repeated.",
)
@text_option(
    "--dialog", help="Check --scores against this dialog's scales; its rule makes the overall."
)
@ratings_scale
@click.option(
    "--rescale", is_flag=True, help="Map the ratings' scale onto the judge's where they differ."
)
@panel_options
@click.option(
    "--over-raters", is_flag=True, help="Intervals that allow for other raters as well as items."
)
@click.option("--epsilon", type=Finite(0, 1), default=0.2, show_default=True,
              help="Advantage granted to raters in the alternative annotator test.")  # fmt: skip
@click.option("--min-edits", type=click.IntRange(2), default=30, show_default=True,
              help="Edits a rater needs in that test.")  # fmt: skip
@click.option(
    "--resamples",
    type=click.IntRange(100),
    default=9_999,
    show_default=True,
    help="Random draws of a test between judges, at most 1999 unless Holm's method needs more.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of all random draws.",
)
@click.option("--show", multiple=True, type=click.Choice([*SECTIONS, "all"]),
              help="Add a section to what the terminal shows; may be repeated.")  # fmt: skip
@plot_options
@table_file
@table_format
@as_json_format
def command(
    runs: tuple[str, ...], score_files: tuple[str, ...], form: str, as_json: bool, **options: Any
) -> None:
    """Compare a judge with human ratings.

    RUN is a run's folder, or a scores.csv; score files of other tools are given with --scores.
    Ratings may be long (item, method, rater, factor, score), wide (one column per factor), a column
    per method with lists in its cells, or one file per rater, in one folder per task if there are
    several: CSV, TSV, Excel, JSON, JSON lines or Parquet.
    """
    from lmmscore.report.agreement_grids import AT_A_GLANCE, level_sections, render
    from lmmscore.report.agreement_grids import SECTIONS as ALL_SECTIONS

    if not runs and not score_files:
        raise click.UsageError("Name a RUN, or a score file with --scores.")

    form = "json" if as_json else form
    if any(_is_of_pairs(run) for run in runs):
        _print_pair_agreement(runs, form, options)
        return

    ratings = human_ratings(options, shared=bool(score_files))
    judges = [*open_sources(runs), *_files(score_files, ratings.named, options)]
    found = _agree(judges, ratings, options)
    full = form != "term" or "all" in options["show"]
    sections: Sequence[str] = ALL_SECTIONS if full else AT_A_GLANCE
    if options["levels"] and "all" not in options["show"]:
        sections = level_sections(options["levels"], sections)
    caution, shown = cautions(judges), (*sections, *options["show"])
    layout = screen(options["out"])
    text = render(found, form, sections=shown, caution=caution, **layout)  # type: ignore[arg-type]
    put(text, options["out"])
    say_notes(found.notes)
    if options["plots"]:
        from lmmscore.report.figures import agreement_drawings

        write_plots(agreement_drawings(found, factor_titles(judges)), options)


def _is_of_pairs(text: str) -> bool:
    from lmmscore.run_folder import Run

    return (Path(text) / "run.yaml").is_file() and Run(Path(text)).is_of_pairs


_ABOUT_PAIRS = {
    *("runs", "form", "as_json", "out", "human", "factors"),
    *("item_column", "method_column", "rater_column", "factor_column", "score_column"),
}
"""The parameters that mean something for verdicts on pairs; the others are for scores."""


def _print_pair_agreement(runs: tuple[str, ...], form: str, options: dict[str, Any]) -> None:
    """Print how often each run's verdicts on pairs are those of human raters."""
    from lmmscore.agreement.raters import agree_on_pairs
    from lmmscore.report.agreement_grids import votes_as_text
    from lmmscore.run_folder import Run

    scored = [run for run in runs if not _is_of_pairs(run)]
    if scored:
        raise click.UsageError(f"{scored[0]} has scores, and other runs here pairs; compare apart")
    if form not in ("term", "json", "md"):
        raise click.UsageError(f"--format {form} has no place with pairs; use term, md or json")

    refuse_others(_ABOUT_PAIRS, f"is for scores; {runs[0]} compares pairs")
    votes = _human_votes(options)
    found = {}
    for name in runs:
        run = Run(Path(name))
        one = found[run.path.name] = agree_on_pairs(run.comparisons(), votes)
        say_notes(_notes_on_own_pairs(run, options["human"]))
        if one.unmatched:
            say_notes([f"{run.path.name}: {_unmatched_note(one.unmatched)}"])

    put(votes_as_text(found, form), options["out"])


def _unmatched_note(votes: int) -> str:
    return (
        f"{counted(votes, 'human verdict')} excluded, on pairs that the run does not have; items "
        "and methods are matched by their exact names"
    )


def _notes_on_own_pairs(run: Run, human: Sequence[str]) -> list[str]:
    own = (run.path / "pairs.csv").resolve()
    return [
        f"{file} holds the verdicts of {run.path.name}: this compares the judge with itself"
        for file in human
        if Path(file).resolve() == own
    ]


def _human_votes(options: dict[str, Any]) -> dict[Pair, list[str]]:
    from lmmscore.agreement.raters import votes_of_ratings

    files = options["human"]
    given = [_votes_in(Path(name)) for name in files]
    voted = [each for each in given if each is not None]
    if len(voted) == len(files):
        votes: dict[Pair, list[str]] = {}
        for each in voted:
            for pair, said in each.items():
                votes.setdefault(pair, []).extend(said)

        return votes

    ratings = human_ratings(options).table
    known = [str(name) for name in ratings["factor"].unique()]
    factor = (options["factors"] or [known[0] if len(known) == 1 else "overall"])[0]
    if factor not in known:
        raise click.UsageError(f"--factor: name the one that decides: {', '.join(known)}")
    return votes_of_ratings(ratings, factor)


def _votes_in(path: Path) -> dict[Pair, list[str]] | None:
    """Return the votes of a file or folder, however they were collected; None where it has none."""
    from lmmscore.agreement.raters import read_votes
    from lmmscore.web.rating_results import read_human_votes

    collected, notes = read_human_votes(path)
    say_notes(notes)

    if collected is not None:
        return collected
    return None if path.is_dir() else read_votes(path)


def _files(
    specs: Sequence[str], in_ratings: frozenset[str], options: dict[str, Any]
) -> list[Source]:
    """Read other tools' score files, each under a name of its own.

    `in_ratings` says which columns that were named are the ratings', so that a score file may lack
    them.
    """
    from lmmscore.dialog import load_dialog
    from lmmscore.score_files import Layout, judge_name, read_score_file

    dialog = load_dialog(options["dialog"]) if options["dialog"] else None
    layout = Layout(
        item=options["item_column"],
        method=options["method_column"],
        task=options["task_column"],
        task_pattern=options["task_pattern"],
        shared=in_ratings,
    )
    names = [judge_name(spec) for spec in specs]
    named = [
        name if names.count(name) == 1 else spec for name, spec in zip(names, specs, strict=True)
    ]
    notes: list[str] = []
    tables = [read_score_file(spec, layout, dialog, notes) for spec in specs]
    say_notes(notes)

    return [
        _with_scales(Source(name, Path(spec), table), dialog)
        for name, spec, table in zip(named, specs, tables, strict=True)
    ]


def _with_scales(source: Source, dialog: Dialog | None) -> Source:
    """Return the source with scales: the dialog's, or those of a bundled one with its factors."""
    from lmmscore.agreement.align import alike_ranges
    from lmmscore.run_folder import FactorRecord, Manifest

    if dialog is not None:
        own = [FactorRecord.of(factor) for factor in dialog.factors]
        return replace(source, manifest=Manifest(factors=own))

    by_factor = source.scores[source.scores["factor"] != OVERALL].groupby("factor")["score"]
    lowest, highest = by_factor.min(), by_factor.max()
    for known in _bundled_dialogs():
        # Only the scales: how this file's overall was made is not known.
        scales = [
            FactorRecord.of(factor).model_copy(update={"weight": None}) for factor in known.factors
        ]
        if {factor.key for factor in scales} != set(lowest.index):
            continue

        # The names alone prove little: scores of 0 to 100, or of 1 to 5, are on another scale.
        ends = {factor.key: factor.ends for factor in scales}
        whole = min(low for low, _ in ends.values()), max(high for _, high in ends.values())
        inside = all(ends[key][0] <= lowest[key] and highest[key] <= ends[key][1] for key in ends)
        if inside and alike_ranges(whole, (lowest.min(), highest.max())):
            return replace(source, manifest=Manifest(factors=scales))

    return source


def _bundled_dialogs() -> list[Dialog]:
    from lmmscore.dialog import Dialog, load

    loaded = [load(str(path)) for path in sorted(bundled("dialogs").glob("*.yaml"))]
    return [dialog for dialog in loaded if isinstance(dialog, Dialog)]


def _agree(judges: Sequence[Source], ratings: HumanRatings, options: dict[str, Any]) -> Agreement:
    from lmmscore.agreement import agree
    from lmmscore.report.formats.terminal import counting

    panel = _panel(judges, options) if options["panel"] else None
    names = [judge.name for judge in judges]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise LmmscoreError(f"{twice} is given twice; name each judge once")

    found = agree(
        {judge.name: judge.scores for judge in judges},
        ratings.table,
        renames=options["renames"],
        aliases=name_table(options["alias_file"]) | options["aliases"],
        factors=options["factors"],
        methods=options["methods"],
        levels=options["levels"] or LEVELS,
        rescale=options["rescale"],
        panel=panel,
        over_raters=options["over_raters"],
        scales={judge.name: judge.manifest.scales() for judge in judges},
        scale=options["scale"] or ratings.scale,
        weights={judge.name: judge.manifest.weights for judge in judges},
        lower_better={judge.name: judge.manifest.lower_better for judge in judges},
        names={judge.name: judge.manifest.factor_names for judge in judges},
        resamples=options["resamples"],
        seed=options["seed"],
        epsilon=options["epsilon"],
        minimum_edits=options["min_edits"],
        counting=partial(counting, "comparing with human raters"),
    )
    return found.with_notes(ratings.notes)


def _panel(judges: Sequence[Source], options: dict[str, Any]) -> Panel:
    from lmmscore.agreement import Panel

    models = {judge.name: judge.models for judge in judges}
    return Panel(options["panel_scores"], models, name_table(options["family_file"]))
