"""`lmmscore leaderboard`: rank the methods of a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from lmmscore.cli.command_line import (
    PANEL_GROUP,
    PLOT_GROUP,
    FilePath,
    GroupedCommand,
    Screen,
    Source,
    cautions,
    factor_titles,
    filled,
    method_names,
    name_table,
    open_sources,
    panel_options,
    parse_scale,
    plot_options,
    put,
    refuse_unknown,
    screen,
    table_format,
)

if TYPE_CHECKING:
    from pathlib import Path

    from lmmscore.leaderboard import Leaderboard
    from lmmscore.leaderboard.compare import TaskAgainst
    from lmmscore.leaderboard.diagnostics import Extras
    from lmmscore.leaderboard.matches import PairBoard
    from lmmscore.leaderboard.ranking import Scales
    from lmmscore.report.grids import DisplayNames, Grid
    from lmmscore.run_folder import Manifest
    from lmmscore.scores import Comparison

SECTIONS = ("differences", "wins", "position", "repeats", "variance", "sensitivity", "habits")


@click.command(
    "leaderboard",
    cls=GroupedCommand,
    groups={
        "What to show": ("task", "method", "item", "factor", "by", "show", "against", "expected"),
        "Several judges as one": PANEL_GROUP,
        "By what people would say": ("human", "corrected"),
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
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option(
    "--out",
    "-o",
    type=FilePath(path_type=Path),
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
@click.option(
    "--method", multiple=True, help="Rank only this method and others so named; may be repeated."
)
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
    help="Exclude missing scores, or count them as the lowest score.",
)
@click.option(
    "--average",
    type=click.Choice(["items", "tasks"]),
    default="items",
    show_default=True,
    help="What the mean over all categories gives the same weight to.",
)
@click.option(
    "--scale",
    callback=filled,
    help="Lowest and highest score, where the run does not record them: 1,10.",
)
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
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of those draws."
)
@panel_options
@click.option("--human", multiple=True, metavar="FILE", help="Human ratings, for --corrected.")
@click.option(
    "--corrected",
    is_flag=True,
    help="Rank by what people would say of all edits, given the ratings of some.",
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

    RUN is a run's folder, or a scores.csv. Several comparable runs are pooled, their repeats
    counted on. An edit's repeats are averaged first, then items. Nothing is asked of a judge.
    """

    form = "json" if as_json else form
    pairs = _pairs_among(runs)
    if pairs is not None:
        _print_pairs(pairs, form, options)
        return

    sources = [_part_of(source, options) for source in open_sources(runs)]
    if options["expected"]:
        sources = [_by_expected(source) for source in sources]

    options["members"] = _panel(sources, options) if options["panel"] else None
    if options["members"] is not None:
        source = options["members"].source
    else:
        source = _pooled(sources, anyway=options["anyway"])

    if options["by"] is not None and _asks_for_means(options["by"]):
        put(_group_means_table(source, form, options, _scales(source, options)), options["out"])
        return

    board = _corrected(source, options) if options["corrected"] else _board(source, options)
    if options["members"] is not None:
        board = replace(board, notes=(*options["members"].notes, *board.notes))

    board = replace(board, notes=(*_chosen_words(options), *board.notes))
    _write(board, source, form, options)
    if options["plots"] is not None:
        _write_plots(board, source, options)

    _say_what_csv_cannot(board, form)


def _part_of(source: Source, options: dict[str, Any]) -> Source:
    """Return a run with the scores of the chosen methods and items only."""

    scores = source.scores
    for name in ("method", "item"):
        if options[name]:
            known = [str(each) for each in scores[name].unique()]
            refuse_unknown(name, options[name], known, source.name)
            scores = scores[scores[name].isin(options[name])]

    return replace(source, scores=scores)


def _chosen_words(options: dict[str, Any]) -> list[str]:
    """Say that a table is about a part of a run, and which; nothing of a whole one."""
    parts = [
        f"the {name}{'s' if len(options[name]) > 1 else ''} {', '.join(options[name])}"
        for name in ("method", "item")
        if options[name]
    ]
    return [f"Only {' and '.join(parts)}."] if parts else []


@dataclass(frozen=True)
class PanelBoard:
    """The panel as a source of scores, and what is to be said about its members."""

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
        from lmmscore.report.grids import NONE, Grid, plain

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
            "Each method's rank over all categories if one judge is left out.",
            text_columns=frozenset({0}),
        )
        return [left_out, *found]


def _panel(sources: Sequence[Source], options: dict[str, Any]) -> PanelBoard:
    """Return the mean of several runs' judges as one source."""
    from lmmscore.agreement import judges
    from lmmscore.leaderboard import rank
    from lmmscore.run_folder import Manifest

    if len(sources) < 2:
        raise click.UsageError("--panel needs at least two runs")

    how = options["panel_scores"]
    tables = {source.name: source.scores for source in sources}
    together = judges.panel_scores(tables, how)
    if together.empty:
        raise click.UsageError("these runs have no scored edit in common; there is no panel")

    models = {source.name: source.models for source in sources}
    families = name_table(options["family_file"])
    notes = [f"{text}." for text in judges.panel_notes(tables, how, models, families)]
    without = {}
    for name, rest in judges.without_each(tables, how).items():
        ranked = rank(rest, resamples=0).tables[-1].rows
        without[name] = {row.method: row.rank for row in ranked}

    factors = list(together["factor"].unique())
    factor = "overall" if "overall" in factors else str(factors[0])
    # On other scales than the judges' own, what the runs say of theirs does not hold.
    known = sources[0].manifest if how == "raw" else Manifest()
    manifest = known.model_copy(update={"caution": cautions(sources)})
    source = replace(sources[0], name="panel", scores=together, manifest=manifest, run=None)
    return PanelBoard(source, tuple(notes), without, judges.disagreements(tables, factor))


def _corrected(source: Source, options: dict[str, Any]) -> Leaderboard:
    """Return the leaderboard by what people would say of all edits."""
    from lmmscore.agreement import align
    from lmmscore.agreement.powered_means import corrected_board
    from lmmscore.score_files import Columns
    from lmmscore.web.rating_results import read_human_ratings

    if not options["human"]:
        raise click.UsageError("--corrected needs people's ratings: --human FILE")

    unfit = {
        "--by": options["by"],
        "--against": options["against"],
        "--missing": options["missing"] != "exclude",
        "--average": options["average"] != "items",
        "--weights": options["weights"],
    }
    for name, given in unfit.items():
        if given:
            raise click.UsageError(f"{name} has no place with --corrected")

    human = read_human_ratings(options["human"], Columns())
    chosen = _of_tasks(source, options)
    sides = align.Sides({source.name: chosen.scores}, human.table)
    sides.match_names()
    factor = options["factor"][0] if options["factor"] else "overall"
    if factor == "overall":
        sides.add_overall(source.manifest.weights)

    for note in (*human.notes, *sides.notes):
        click.echo(f"note: {note}", err=True)

    scores = sides.judges[source.name]
    return corrected_board(scores, sides.ratings, factor, caution=source.caution)


def _by_expected(source: Source) -> Source:
    from lmmscore.scores import with_expected

    return replace(source, scores=with_expected(source.scores, source.name))


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
    from lmmscore.report.figures import board_drawings, write_figures
    from lmmscore.report.leaderboard import shown_tables, with_names

    named = with_names(board, _names(source, options))
    drawings = board_drawings(replace(named, tables=shown_tables(named)), factor_titles([source]))
    ending, width = options["plot_format"], options["plot_width"]
    for path in write_figures(drawings, options["plots"], ending, width):
        click.echo(f"wrote {path}", err=True)


def _names(source: Source, options: dict[str, Any]) -> DisplayNames:
    """Return the display names the benchmark gave, and those given here."""
    from lmmscore.report.grids import DisplayNames
    from lmmscore.report.leaderboard import display_names

    if source.run is None:
        return DisplayNames(options["names"])
    return display_names(source.run.manifest, options["names"])


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
}
"""The parameters that say something about a leaderboard of pairs; the others are for scores."""


def _print_pairs(path: Path, form: str, options: dict[str, Any]) -> None:
    """Print the leaderboard of a run that compares pairs."""
    from lmmscore.leaderboard.matches import rank_pairs
    from lmmscore.report.leaderboard import display_names, render_pairs

    _refuse_others(_ABOUT_PAIRS, f"is for scores; {path.parent} compares pairs")
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
    text = render_pairs(
        board,
        form,
        decimals=options["decimals"],
        names=display_names(manifest, options["names"]),
        **_layout(options["out"]),
    )
    put(text, options["out"])
    _say_what_csv_cannot(board, form)


def _compared(path: Path) -> tuple[Manifest, list[Comparison]]:
    """Return the pairs of a pairs.csv, and what the run says of itself that it belongs to."""
    from lmmscore.run_folder import Manifest, Run
    from lmmscore.scores import read_comparisons

    if not (path.parent / "run.yaml").is_file():
        return Manifest(), read_comparisons(path)

    # Of a run that was killed there is only a part of the file, which the run knows to complete.
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


def _refuse_others(fit: set[str], why: str) -> None:
    """Refuse what was given and does not fit: an option that changes nothing would be taken for
    one that did."""
    context = click.get_current_context()
    for param in context.command.params:
        name = param.name or ""
        if name not in fit and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{max(param.opts, key=len)} {why}")


def _layout(out: Path | None) -> Screen:
    """Return how a table is drawn: for who is looking, or plainly for a file."""
    return screen() if out is None else Screen(color=False, width=None)


def _say_what_csv_cannot(board: Leaderboard | PairBoard, form: str) -> None:
    """Print the sentences of a board that a CSV file has no room for; they must not get lost."""
    if form == "csv":
        warnings = [text for table in board.tables for text in table.warnings]
        for text in [*warnings, *board.notes]:
            click.echo(text, err=True)


def _pooled(sources: list[Source], *, anyway: bool) -> Source:
    if len(sources) == 1:
        return sources[0]

    from lmmscore.leaderboard.compare import pool

    names = [source.name for source in sources]
    settings = [source.comparable() for source in sources]
    scores = pool(names, [source.scores for source in sources], settings, anyway=anyway)
    known = sources[0].manifest.model_copy(update={"caution": cautions(sources)})
    return Source(" + ".join(names), sources[0].path, scores, known)


def _factors(options: dict[str, Any]) -> list[str]:
    by = options["by"] or ""
    return list(options["factor"]) or (["all"] if "factor" in by else ["overall"])


def _weights(options: dict[str, Any]) -> dict[str, float] | None:
    from lmmscore.leaderboard.board import parse_weights

    return None if options["weights"] is None else parse_weights(options["weights"])


def _scales(source: Source, options: dict[str, Any]) -> dict[str, tuple[float, float]]:

    if options["scale"] is None:
        return source.manifest.scales(_weights(options))

    return dict.fromkeys(
        [*source.scores["factor"].unique(), "overall"], parse_scale(options["scale"])
    )


def _board(source: Source, options: dict[str, Any]) -> Leaderboard:
    from lmmscore.leaderboard import rank

    factors, tasks = _factors(options), options["task"] or None
    over_all = options["by"] is not None and "task" not in options["by"]
    if over_all and options["against"] is not None:
        raise click.UsageError(f"--against goes with tables by task; --by {options['by']} has none")
    if options["average"] == "tasks" and not over_all and (tasks or options["by"] is not None):
        raise click.UsageError(
            "--average tasks goes with a table over all categories; this asks for none"
        )

    board = rank(
        _of_tasks(source, options).scores if over_all else source.scores,
        task=None if over_all else tasks,
        factor=factors[0] if len(factors) == 1 else factors,
        weights=_weights(options),
        missing=options["missing"],
        average=options["average"],
        scales=_scales(source, options),
        caution=source.caution,
        resamples=options["resamples"],
        seed=options["seed"],
        holm=options["holm"],
    )
    wanted = [t for t in board.tables if options["by"] is None or (t.task is None) == over_all]
    among = tuple(dict.fromkeys(tasks or ())) if over_all else ()
    return replace(board, tables=tuple(replace(table, among=among) for table in wanted))


def _of_tasks(source: Source, options: dict[str, Any]) -> Source:
    """Return the source with only the scores of the tasks named; all of them where none is."""
    from lmmscore.leaderboard.ranking import chosen_tasks

    if not options["task"]:
        return source
    tasks = chosen_tasks([str(task) for task in source.scores["task"].unique()], options["task"])
    return replace(source, scores=source.scores[source.scores["task"].isin(tasks)])


def _rendered(board: Leaderboard, source: Source, form: str, options: dict[str, Any]) -> str:
    from lmmscore.report.leaderboard import render

    matched = [] if options["against"] is None else _against(board, options["against"])
    decimals = options["decimals"]
    if form == "json":
        more: dict[str, Any] = {}
        if not options["corrected"]:
            more = _extras(board, source, options).as_dict(decimals)

        if options["members"] is not None:
            more["panel"] = options["members"].as_dict()

        if options["against"] is not None:
            more["against"] = {
                "table": options["against"],
                "tasks": [t.as_dict(decimals) for t in matched],
            }

        return render(board, "json", decimals=decimals, extra={"run": source.name, **more})

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
        names=_names(source, options),
        further=further,
        star=options["table_star"],
        **_layout(options["out"]),
    )


def _extras(board: Leaderboard, source: Source, options: dict[str, Any]) -> Extras:
    from lmmscore.leaderboard.board import reweigh
    from lmmscore.leaderboard.diagnostics import extras

    given = _weights(options)
    weights = source.manifest.weights if given is None else given
    scores = _of_tasks(source, options).scores
    scores = scores if given is None else reweigh(scores, given)
    return extras(
        scores,
        factor=board.tables[0].factor,
        weights=weights,
        sessions=source.sessions(with_names=True),
        level=0.95,
        seed=options["seed"],
    )


def _sections(board: Leaderboard, source: Source, options: dict[str, Any]) -> list[Grid]:
    from lmmscore.report import leaderboard as grids

    shown = set(SECTIONS) if "all" in options["show"] else set(options["show"])
    decimals = 2 if options["decimals"] is None else options["decimals"]
    found: list[Grid] = []
    for table in board.tables:
        found += [grids.difference_grid(table, decimals)] if "differences" in shown else []
        found += [grids.win_rate_grid(table)] if "wins" in shown else []

    if options["corrected"] or not shown & set(SECTIONS[2:]):
        return found

    behind = _extras(board, source, options)
    found += [grids.position_grid(behind.position, decimals)] if "position" in shown else []
    found += [grids.repeat_grid(behind.repeats, decimals)] if "repeats" in shown else []
    found += grids.variance_grid(behind.components, decimals) if "variance" in shown else []
    if "sensitivity" in shown and behind.sensitivity:
        found.append(grids.sensitivity_grid(behind.sensitivity))

    asks = source.manifest.avoid_ties
    found += [grids.habit_grid(behind.habits, asks_to_avoid_ties=asks)] if "habits" in shown else []
    return found


def _against(board: Leaderboard, name: str) -> list[TaskAgainst]:
    from lmmscore.leaderboard.compare import against, find_published, load_published

    return against(board, load_published(find_published(name)))


def _against_grids(matched: list[TaskAgainst], options: dict[str, Any]) -> list[Grid]:
    from lmmscore.report.grids import Grid
    from lmmscore.report.leaderboard import against_grid

    if options["against"] is not None and not matched:
        name = options["against"]
        return [
            Grid(f"Against {name}", ("Task",), (), f"No task category of this run is in {name}.")
        ]

    decimals = 2 if options["decimals"] is None else options["decimals"]
    return [against_grid(task, Path(options["against"]).stem, decimals) for task in matched]


def _asks_for_means(by: str) -> bool:
    """Tell whether `--by` asks for plain means: anything but methods ranked,
    within tasks or over all."""
    from lmmscore.leaderboard.ranking import parse_by

    return parse_by(by) not in (
        ["task", "method"],
        ["method"],
        ["factor", "method"],
        ["task", "factor", "method"],
    )


def _group_means_table(source: Source, form: str, options: dict[str, Any], scales: Scales) -> str:
    """Return the means by any keys, in any format.

    Raises a usage error for options that do not go with them.
    """
    from lmmscore.leaderboard.board import parse_weights, reweigh
    from lmmscore.leaderboard.ranking import group_means, parse_by
    from lmmscore.report.leaderboard import render_groups

    _refuse_ranking_options(options)
    by, weights = parse_by(options["by"]), options["weights"]
    scores = source.scores if weights is None else reweigh(source.scores, parse_weights(weights))
    found = group_means(
        scores,
        by,
        factor=list(options["factor"]) or ("all" if "factor" in by else "overall"),
        task=options["task"] or None,
        missing=options["missing"],
        scales=scales,
    )
    return render_groups(found, form, caution=source.caution, decimals=options["decimals"])


def _refuse_ranking_options(options: dict[str, Any]) -> None:
    """Refuse what only a ranking has: an option that changes nothing would be taken
    for one that did."""
    given = click.get_current_context().get_parameter_source
    ranked = {
        "--average tasks": options["average"] == "tasks",
        "--show": bool(options["show"]),
        "--against": options["against"] is not None,
        "--resamples": options["resamples"] and given("resamples") is ParameterSource.COMMANDLINE,
        "--seed": given("seed") is ParameterSource.COMMANDLINE,
    }
    for name, used in ranked.items():
        if used:
            raise click.UsageError(
                f"{name} goes with ranked methods; --by {options['by']} gives plain means over "
                "edits"
            )

    if options["scale"] is not None and options["missing"] != "worst":
        raise click.UsageError(f"with --by {options['by']}, --scale goes with --missing worst only")
