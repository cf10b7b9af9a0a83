"""`lmmscore leaderboard`: rank the methods of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.command_line import (
    PANEL_GROUP,
    PLOT_GROUP,
    GroupedCommand,
    Source,
    as_json_format,
    factor_titles,
    filled,
    for_all,
    human_ratings,
    method_names,
    name_table,
    open_sources,
    panel_options,
    path_option,
    plot_options,
    pooled,
    put,
    refuse,
    refuse_others,
    refuse_unknown,
    refuse_without,
    say_notes,
    scale_option,
    screen,
    table_format,
    write_plots,
)
from lmmscore.report.formats import NONE, Grid, plain

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.leaderboard import BoardTable, Leaderboard
    from lmmscore.leaderboard.compare import TaskAgainst
    from lmmscore.leaderboard.cube import Scales
    from lmmscore.leaderboard.diagnostics import Extras
    from lmmscore.leaderboard.matches import PairBoard
    from lmmscore.run_folder import Manifest
    from lmmscore.scores import Comparison

SECTIONS = ("differences", "wins", "position", "repeats", "variance", "sensitivity", "habits")


@click.command(
    "leaderboard",
    cls=GroupedCommand,
    groups={
        "What to show": ("task", "method", "item", "factor", "by", "show", "against", "expected"),
        "Several judges as one": PANEL_GROUP,
        "Corrected by human ratings": ("human", "corrected"),
        "How to print it": (
            *("format", "json", "out", "style", "columns"),
            *("table-star", "names", "decimals"),
        ),
        "Figures": PLOT_GROUP,
        "How to compute it": (
            *("weights", "missing", "average", "scale"),
            *("anyway", "holm", "resamples", "seed"),
        ),
    },
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@table_format
@as_json_format
@path_option(
    "--out",
    "-o",
    metavar="FILE",
    help="Write to this file; one per task category where its name has {task}.",
)
@click.option(
    "--style",
    type=click.Choice(["compact", "full"]),
    help="What a table has: mean, rank and group, or all figures  [compact in LaTeX, else full]",
)
@click.option(
    "--columns",
    callback=filled,
    metavar="NAME,...",
    help="Only these columns: rank, method, mean, std, n, coverage, mean_interval, "
    "rank_interval, group, or a factor.",
)
@click.option("--table-star", is_flag=True, help="LaTeX: tables over both columns of a page.")
@method_names
@click.option("--task", multiple=True, help="Only this task category; may be repeated.")
@click.option("--method", multiple=True, help="Rank only this method; may be repeated for others.")
@click.option("--item", multiple=True, help="Count only this item; may be repeated.")
@click.option(
    "--factor",
    multiple=True,
    help="Rank by this factor instead of the overall; `all` for each in turn.",
)
@click.option(
    "--by",
    callback=filled,
    help="Group by these of task, method, factor, item: `task,method` sets tasks side by side.",
)
@click.option(
    "--decimals", type=click.IntRange(0, 10), help="Decimals [2; all there are in CSV and JSON]."
)
@click.option(
    "--weights",
    callback=filled,
    help="Derive the overall again: acc=.5,pre=.2,… They are scaled to add up to 1.",
)
@click.option(
    "--missing",
    type=click.Choice(["exclude", "worst"]),
    default="exclude",
    show_default=True,
    help="Exclude missing scores, or count them as the worst score.",
)
@click.option(
    "--average",
    type=click.Choice(["items", "tasks"]),
    default="items",
    show_default=True,
    help="What the mean over all categories gives the same weight to.",
)
@scale_option(help="Lowest and highest score, where the run does not record them.")
@click.option(
    "--show",
    multiple=True,
    type=click.Choice([*SECTIONS, "all"]),
    help="Add a section; may be repeated.",
)
@click.option(
    "--against",
    callback=filled,
    metavar="TABLE",
    help="Set beside a published table: editeval_v1, or a file.",
)
@click.option(
    "--expected",
    is_flag=True,
    help="Rank by expected scores in place of those stated (of a run with --logprobs).",
)
@plot_options
@click.option("--anyway", is_flag=True, help="Pool several runs although they are not comparable.")
@click.option(
    "--resamples",
    type=click.IntRange(0),
    default=10_000,
    show_default=True,
    help="Sign patterns drawn in tests, at least; 0 for no tests and intervals.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of those draws."
)
@panel_options
@click.option("--human", multiple=True, metavar="FILE", help="Human ratings, for --corrected.")
@click.option(
    "--corrected",
    is_flag=True,
    help="Rank by what human raters would say of all edits, given ratings of some.",
)
@click.option(
    "--holm",
    type=click.Choice(["table", "tables"]),
    default="table",
    show_default=True,
    help="Correct the tests over the pairs of each table, or of all tables together.",
)
def command(runs: tuple[str, ...], form: str, as_json: bool, **options: Any) -> None:
    """Rank the methods of a run, for each task category and over all of them.

    RUN is a run's folder, or a scores.csv. Several comparable runs are pooled, each adding its
    repeats. An edit's repeats are averaged first, then items. No judge is asked.
    """
    refuse_without("corrected", "human")
    form = "json" if as_json else form
    pairs = _pairs_among(runs)
    if pairs is not None:
        _print_pairs(pairs, form, options)
        return

    source, panel = _source(runs, options)
    if options["by"] is not None and _asks_for_means(options["by"]):
        put(_group_means_table(source, form, options, _scales(source, options)), options["out"])
        return

    options["members"] = panel
    board = _corrected(source, options) if options["corrected"] else _board(source, options)
    notes = panel.notes if panel else ()
    board = replace(board, notes=(*_chosen_words(options), *notes, *board.notes))
    _write(board, source, form, options)
    if options["plots"] is not None:
        _write_plots(board, source, options)

    _say_what_csv_cannot(board, form)


def _source(runs: tuple[str, ...], options: dict[str, Any]) -> tuple[Source, PanelBoard | None]:
    """Return what is ranked: one run, several pooled, or a panel of them."""
    sources = [_part_of(source, options) for source in open_sources(runs)]
    # What is recorded of a scale or of weights holds for all of them together only if all agree.
    options["sources"] = sources
    if options["expected"]:
        from lmmscore.scores import with_expected

        sources = [
            replace(source, scores=with_expected(source.scores, source.name)) for source in sources
        ]

    if options["panel"]:
        panel = _panel(sources, options)
        return panel.source, panel

    return pooled(sources, anyway=options["anyway"]), None


def _part_of(source: Source, options: dict[str, Any]) -> Source:
    """Return a run with the scores of the chosen methods and items only."""
    for column in ("method", "item"):
        known = [str(name) for name in source.scores[column].unique()]
        refuse_unknown(column, options[column], known, source.name)
        source = source.only(column, options[column])

    return source


def _chosen_words(options: dict[str, Any]) -> list[str]:
    """Say which part of a run a table is about; nothing where it is about all of it."""
    parts = [
        f"the {name}{'s' if len(options[name]) > 1 else ''} {', '.join(options[name])}"
        for name in ("method", "item")
        if options[name]
    ]
    return [f"Only {' and '.join(parts)}."] if parts else []


@dataclass(frozen=True)
class PanelBoard:
    """The panel as a source of scores, and what tables say about its members."""

    source: Source
    notes: tuple[str, ...]
    without: dict[str, dict[str, int | None]]
    """By judge left out: each method's rank."""
    disagreements: list[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "notes": list(self.notes),
            "leave_one_out": self.without,
            "disagreements": self.disagreements,
        }

    def grids(self, board: Leaderboard) -> list[Grid]:
        """Return the ranks without each judge, and the edits on which the judges differ most."""
        from lmmscore.report.agreement_grids import disagreement_grids

        found = disagreement_grids(self.disagreements)
        if not self.without:
            return found

        rows = []
        for row in board.tables[-1].rows:
            ranks = [ranked.get(row.method) for ranked in self.without.values()]
            rows.append(plain(row.method, *(NONE if rank is None else str(rank) for rank in ranks)))

        left_out = Grid(
            "Leave one judge out",
            ("Method", *(f"without {name}" for name in self.without)),
            tuple(rows),
            f"Each method's rank {_over(board.tables[-1])} if one judge is left out.",
            text_columns=frozenset({0}),
        )
        return [left_out, *found]


def _over(table: BoardTable) -> str:
    """Return what a table is over, in the words of a caption."""
    if table.task is not None:
        return f"in {table.task}"
    return f"over {', '.join(table.among)}" if table.among else "over all categories"


def _panel(sources: Sequence[Source], options: dict[str, Any]) -> PanelBoard:
    """Return the mean of several runs' judges as one source."""
    from lmmscore.agreement import disagreements, panel_notes, panel_scores, without_each
    from lmmscore.run_folder import Manifest

    if len(sources) < 2:
        raise click.UsageError("--panel needs at least two runs")

    how = options["panel_scores"]
    tables = {source.name: source.scores for source in sources}
    together = panel_scores(tables, how)
    if together.empty:
        raise click.UsageError("these runs have no scored edit in common; there is no panel")

    models = {source.name: source.models for source in sources}
    families = name_table(options["family_file"])
    notes = [f"{text}." for text in panel_notes(tables, how, models, families)]
    # Standardised scores are on no judge's scale, so what the runs record of theirs does not hold.
    manifest = for_all(sources, sources[0].manifest if how == "raw" else Manifest())
    source = replace(sources[0], name="panel", scores=together, manifest=manifest, run=None)

    # Ranked as the panel itself is, or the ranks would differ for other reasons than the judge.
    plain_rank = {**options, "resamples": 0}
    without = {}
    for name, rest in without_each(tables, how).items():
        ranked = _board(replace(source, scores=rest), plain_rank).tables[-1]
        without[name] = {row.method: row.rank for row in ranked.rows}

    factor = _board(source, plain_rank).tables[-1].factor
    return PanelBoard(source, tuple(notes), without, disagreements(tables, factor))


def _corrected(source: Source, options: dict[str, Any]) -> Leaderboard:
    """Return the leaderboard by what human raters would say of all edits."""
    from lmmscore.agreement import align
    from lmmscore.agreement.raters import corrected_board

    if not options["human"]:
        raise click.UsageError("--corrected needs human ratings: --human FILE")

    unfit = {"by", "against", "missing", "average", "weights", "scale", "holm", "resamples", "seed"}
    refuse(unfit, "cannot be combined with --corrected")
    if len(options["factor"]) > 1:
        raise click.UsageError("--corrected ranks by one factor; name it with --factor")

    human = human_ratings(options)
    chosen = _of_tasks(source, options)
    # Ratings of other task categories were not asked for, and are none that the judge lacks.
    others = {*source.scores["item"]} - {*chosen.scores["item"]}
    table = human.table[~human.table["item"].isin(others)]
    sides = align.Sides({source.name: chosen.scores}, table)
    sides.match_names(names={source.name: source.manifest.factor_names})
    factor = options["factor"][0] if options["factor"] else "overall"
    if factor == "overall":
        low = source.manifest.lower_better
        turned = align.turned_sums(low, {source.name: source.manifest.scales()}, human.scale)
        sides.add_overall(source.manifest.weights, turned)

    say_notes([*human.notes, *sides.notes])
    scores = sides.judges[source.name]
    return corrected_board(
        scores,
        sides.ratings,
        factor,
        caution=source.caution,
        lower_better=factor in source.manifest.lower_better,
        scale=_scale_of_ratings(sides.ratings, factor, human.scale, source),
    )


def _scale_of_ratings(
    ratings: pd.DataFrame, factor: str, stated: tuple[float, float] | None, source: Source
) -> tuple[float, float] | None:
    """Return the scale that people rated on: the one on record, else the judge's if all fit it."""
    given = ratings.loc[ratings["factor"] == factor, "score"]
    for ends in (stated, source.manifest.scales().get(factor)):
        if ends is not None and given.between(*ends).all():
            return ends

    return None


def _write(board: Leaderboard, source: Source, form: str, options: dict[str, Any]) -> None:
    """Print the tables, or write them: to one file, or to one per task category."""
    out: Path | None = options["out"]
    if out is None or "{task}" not in out.name:
        put(_rendered(board, source, form, options), out)
        return

    for task in dict.fromkeys(table.task for table in board.tables):
        name = "all" if task is None else re.sub(r"[^\w.-]+", "-", task).strip("-")
        tables = tuple(table for table in board.tables if table.task == task)
        text = _rendered(replace(board, tables=tables), source, form, options)
        put(text, out.with_name(out.name.replace("{task}", name)))


def _write_plots(board: Leaderboard, source: Source, options: dict[str, Any]) -> None:
    from lmmscore.report.figures import board_drawings
    from lmmscore.report.leaderboard import shown_tables, with_names

    named = with_names(board, source.display_names(options["names"]))
    shown = replace(named, tables=shown_tables(named))
    write_plots(board_drawings(shown, factor_titles([source])), options)


def _pairs_among(runs: tuple[str, ...]) -> Path | None:
    """Return the pairs.csv that is to be ranked; None where scores are."""
    from lmmscore.run_folder import open_run

    for text in runs:
        path = Path(text)
        if (path / "run.yaml").is_file() and open_run(path).is_of_pairs:
            path /= "pairs.csv"

        if path.name == "pairs.csv":
            if len(runs) > 1:
                raise click.UsageError(f"{text} compares pairs; rank it by itself")
            return path

    return None


_ABOUT_PAIRS = {
    *("runs", "form", "as_json", "out", "names", "decimals"),
    *("task", "method", "item", "resamples", "seed"),
    *("plots", "plot_format", "plot_width"),
}
"""The parameters that mean something for a leaderboard of pairs; the others are for scores."""


def _print_pairs(path: Path, form: str, options: dict[str, Any]) -> None:
    """Print the leaderboard of a run that compares pairs."""
    from lmmscore.leaderboard.matches import rank_pairs
    from lmmscore.report.leaderboard import display_names, render_pairs

    refuse_others(_ABOUT_PAIRS, f"is for scores; {path.parent} compares pairs")
    manifest, rows = _compared(path)
    board = rank_pairs(
        _part_of_pairs(rows, path, options),
        methods=options["method"] or manifest.methods,
        task=options["task"] or None,
        caution=manifest.caution,
        resamples=options["resamples"],
        seed=options["seed"],
    )
    board = replace(board, notes=(*_chosen_words(options), *board.notes))
    names = display_names(manifest, options["names"])
    text = render_pairs(
        board,
        form,
        decimals=options["decimals"],
        names=names,
        **screen(options["out"]),
    )
    put(text, options["out"])
    _say_what_csv_cannot(board, form)
    if options["plots"] is not None:
        from lmmscore.report.figures import pair_drawings

        write_plots(pair_drawings(board, names), options)


def _compared(path: Path) -> tuple[Manifest, list[Comparison]]:
    """Return the comparisons of a pairs.csv, with the manifest of its run if it is in one."""
    from lmmscore.run_folder import Manifest, Run
    from lmmscore.scores import read_comparisons

    if not (path.parent / "run.yaml").is_file():
        return Manifest(), read_comparisons(path)

    # A run that was killed has written only a part of the file, and completes it from its sessions.
    run = Run(path.parent)
    return run.manifest, run.comparisons()


def _part_of_pairs(rows: list[Comparison], path: Path, options: dict[str, Any]) -> list[Comparison]:
    """Return the comparisons of the chosen methods and items only."""
    methods, items = set(options["method"]), set(options["item"])
    if methods:
        known = [name for row in rows for name in row.shown]
        refuse_unknown("method", options["method"], known, str(path))
        rows = [row for row in rows if methods.issuperset(row.shown)]

    if items:
        refuse_unknown("item", options["item"], [row.item for row in rows], str(path))
        rows = [row for row in rows if row.item in items]

    return rows


def _say_what_csv_cannot(board: Leaderboard | PairBoard, form: str) -> None:
    """Print the warnings and notes that a CSV file has no room for."""
    if form == "csv":
        warnings = [text for table in board.tables for text in table.warnings]
        for text in [*warnings, *board.notes]:
            click.echo(text, err=True)


def _factors(options: dict[str, Any]) -> list[str]:
    by = options["by"] or ""
    return list(options["factor"]) or (["all"] if "factor" in by else ["overall"])


def _weights(options: dict[str, Any]) -> dict[str, float] | None:
    from lmmscore.leaderboard.cube import parse_weights

    return None if options["weights"] is None else parse_weights(options["weights"])


def _scales(source: Source, options: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the scale given, or those on record, of several runs only what all of them have."""
    if options["scale"] is None:
        found = source.manifest.scales(_weights(options))
        every = [one.manifest.scales(_weights(options)) for one in options["sources"]]
        return {
            name: ends
            for name, ends in found.items()
            if all(own.get(name) == ends for own in every)
        }

    return dict.fromkeys([*source.scores["factor"].unique(), "overall"], options["scale"])


def _lower_better(source: Source, options: dict[str, Any]) -> tuple[str, ...]:
    """Return the factors whose low scores are the good ones. Raises where runs differ in it."""
    from lmmscore.errors import LmmscoreError

    found = source.manifest.lower_better
    for one in options["sources"]:
        shared = {factor.key for factor in one.manifest.factors}
        shared &= {factor.key for factor in source.manifest.factors}
        for name in sorted(shared & ({*found} ^ {*one.manifest.lower_better})):
            raise LmmscoreError(
                f"low scores of {name} are the good ones in one of these runs and not in another; "
                "rank them apart"
            )

    return found


def _board(source: Source, options: dict[str, Any]) -> Leaderboard:
    """Return the ranking: a table per task category and one over all, or what `--by` asks for."""
    by, tasks = options["by"], options["task"]
    # `--by method`: one table over all categories, or over those named.
    over_all = by is not None and "task" not in by
    _refuse_unfit(options, over_all)
    if over_all:
        board = _ranked(_of_tasks(source, options), (), options)
    else:
        board = _ranked(source, tasks, options)

    if by is None:
        return board

    among = tuple(dict.fromkeys(tasks)) if over_all else ()
    wanted = [table for table in board.tables if (table.task is None) == over_all]
    return replace(board, tables=tuple(replace(table, among=among) for table in wanted))


def _refuse_unfit(options: dict[str, Any], over_all: bool) -> None:
    """Refuse what has no effect on the tables asked for."""
    by = options["by"]
    if over_all and options["against"] is not None:
        raise click.UsageError(f"--against goes with tables by task; --by {by} has none")

    by_task = not over_all and (options["task"] or by is not None)
    if options["average"] == "tasks" and by_task:
        raise click.UsageError(
            "--average tasks goes with a table over all categories; this asks for none"
        )


def _ranked(source: Source, tasks: Sequence[str], options: dict[str, Any]) -> Leaderboard:
    from lmmscore.leaderboard import rank

    factors = _factors(options)
    return rank(
        source.scores,
        task=tasks or None,
        factor=factors[0] if len(factors) == 1 else factors,
        weights=_weights(options),
        missing=options["missing"],
        average=options["average"],
        scales=_scales(source, options),
        caution=source.caution,
        resamples=options["resamples"],
        seed=options["seed"],
        holm=options["holm"],
        lower_better=_lower_better(source, options),
        shown_order=source.manifest.shown_order,
    )


def _of_tasks(source: Source, options: dict[str, Any]) -> Source:
    """Return the scores of the tasks named, or all. Raises for a task that there is not."""
    from lmmscore.leaderboard.cube import chosen_tasks

    if not options["task"]:
        return source
    known = [str(task) for task in source.scores["task"].unique()]
    return source.only("task", chosen_tasks(known, options["task"]))


def _rendered(board: Leaderboard, source: Source, form: str, options: dict[str, Any]) -> str:
    from lmmscore.report.leaderboard import render

    matched = [] if options["against"] is None else _against(board, options["against"])
    decimals = options["decimals"]
    if form == "json":
        extra = _json_extra(board, source, matched, options)
        return render(board, "json", decimals=decimals, extra=extra)

    further = _sections(board, source, options)
    further += _against_grids(matched, options)
    if options["members"] is not None:
        further += options["members"].grids(board)

    wide = (options["by"] or "").replace(" ", "") == "task,method"
    columns = [name.strip() for name in (options["columns"] or "").split(",") if name.strip()]
    return render(
        board,
        form,
        decimals=decimals,
        wide=wide,
        style=options["style"],
        columns=columns,
        names=source.display_names(options["names"]),
        further=further,
        star=options["table_star"],
        **screen(options["out"]),
    )


def _json_extra(
    board: Leaderboard, source: Source, matched: list[TaskAgainst], options: dict[str, Any]
) -> dict[str, Any]:
    """Return what the JSON object has beside the tables; a program gets every section."""
    decimals = options["decimals"]
    extra: dict[str, Any] = {"run": source.name}
    if not options["corrected"]:
        extra |= _extras(board, source, options).as_dict(decimals)

    if options["members"] is not None:
        extra["panel"] = options["members"].as_dict()

    if options["against"] is not None:
        from lmmscore.stats import as_json

        tasks = [as_json(task, decimals) for task in matched]
        extra["against"] = {"table": options["against"], "tasks": tasks}

    return extra


def _extras(board: Leaderboard, source: Source, options: dict[str, Any]) -> Extras:
    from lmmscore.leaderboard.cube import reweigh
    from lmmscore.leaderboard.diagnostics import extras

    given = _weights(options)
    weights = source.manifest.weights if given is None else given
    if given is None and any(one.manifest.weights != weights for one in options["sources"]):
        weights = None
    scores = _of_tasks(source, options).scores
    low = _lower_better(source, options)
    if given is not None:
        scores = reweigh(scores, given, scales=_scales(source, options), lower_better=low)

    return extras(
        scores,
        factor=board.tables[0].factor,
        weights=weights,
        sessions=source.sessions(),
        level=0.95,
        seed=options["seed"],
        lower_better=low,
        shown_order=source.manifest.shown_order,
    )


def _sections(board: Leaderboard, source: Source, options: dict[str, Any]) -> list[Grid]:
    from lmmscore.report import leaderboard as grids

    shown = SECTIONS if "all" in options["show"] else options["show"]
    decimals = _decimals(options)
    found: list[Grid] = []
    for table in board.tables:
        if "differences" in shown:
            found.append(grids.difference_grid(table, decimals))
        if "wins" in shown:
            found.append(grids.win_rate_grid(table))

    # The rest is about the judge's own scores, and takes reading every session.
    if options["corrected"] or not set(shown) & set(SECTIONS[2:]):
        return found

    return [*found, *_judge_sections(board, source, options, shown)]


def _judge_sections(
    board: Leaderboard, source: Source, options: dict[str, Any], shown: Sequence[str]
) -> Iterator[Grid]:
    """Yield the tables about how the judge scored, in the order of SECTIONS."""
    from lmmscore.report import leaderboard as grids

    decimals = _decimals(options)
    behind = _extras(board, source, options)
    if "position" in shown:
        yield grids.position_grid(behind.position, decimals)

    if "repeats" in shown:
        yield grids.repeat_grid(behind.repeats, decimals)

    if "variance" in shown:
        yield from grids.variance_grid(behind.components, decimals)

    if "sensitivity" in shown and behind.sensitivity:
        yield grids.sensitivity_grid(behind.sensitivity)

    if "habits" in shown:
        yield grids.habit_grid(behind.habits, asks_to_avoid_ties=source.manifest.avoid_ties)


def _decimals(options: dict[str, Any]) -> int:
    return 2 if options["decimals"] is None else int(options["decimals"])


def _against(board: Leaderboard, name: str) -> list[TaskAgainst]:
    from lmmscore.leaderboard.compare import against, find_published, load_published

    return against(board, load_published(find_published(name)))


def _against_grids(matched: list[TaskAgainst], options: dict[str, Any]) -> list[Grid]:
    from lmmscore.report.leaderboard import against_grid

    if options["against"] is not None and not matched:
        name = options["against"]
        return [
            Grid(f"Against {name}", ("Task",), (), f"No task category of this run is in {name}.")
        ]

    title, decimals = Path(options["against"] or "").stem, _decimals(options)
    return [against_grid(task, title, decimals) for task in matched]


def _asks_for_means(by: str) -> bool:
    """Tell whether `--by` asks for plain means rather than for a ranking of methods."""
    from lmmscore.leaderboard.cube import parse_by

    return parse_by(by) not in (
        ["task", "method"],
        ["method"],
        ["factor", "method"],
        ["task", "factor", "method"],
    )


def _group_means_table(source: Source, form: str, options: dict[str, Any], scales: Scales) -> str:
    """Return the means by any keys, in any format. Raises for options that only a ranking has."""
    from lmmscore.leaderboard.cube import group_means, parse_by, reweigh
    from lmmscore.report.leaderboard import render_groups

    _refuse_ranking_options(options)
    by, weights = parse_by(options["by"]), _weights(options)
    low, scores = _lower_better(source, options), source.scores
    if weights is not None:
        scores = reweigh(scores, weights, scales=scales, lower_better=low)

    found = group_means(
        scores,
        by,
        factor=list(options["factor"]) or ("all" if "factor" in by else "overall"),
        task=options["task"] or None,
        missing=options["missing"],
        scales=scales,
        lower_better=low,
    )
    return render_groups(found, form, caution=source.caution, decimals=options["decimals"])


def _refuse_ranking_options(options: dict[str, Any]) -> None:
    by = options["by"]
    ranked = {"average", "show", "against", "resamples", "seed"}
    if options["resamples"] == 0:
        # No tests: that is what plain means are.
        ranked.remove("resamples")

    refuse(ranked, f"goes with ranked methods; --by {by} gives plain means over edits")
    if options["scale"] is not None and options["missing"] != "worst":
        raise click.UsageError(f"with --by {by}, --scale goes with --missing worst only")
