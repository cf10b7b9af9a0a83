"""`lmmscore leaderboard`: rank the methods of a run."""

from __future__ import annotations

import sys
from dataclasses import replace
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.options import filled
from lmmscore.cli.panel import panel_options

if TYPE_CHECKING:
    from pathlib import Path

    from lmmscore.cli.inputs import Source
    from lmmscore.leaderboard import Leaderboard
    from lmmscore.leaderboard.compare import TaskAgainst
    from lmmscore.leaderboard.diagnostics import Extras
    from lmmscore.report.grids import Grid
    from lmmscore.report.leaderboard import Format

SECTIONS = ("differences", "wins", "position", "repeats", "variance", "sensitivity", "habits")


@click.command("leaderboard")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["term", "md", "csv", "tex", "json"]),
    default="term",
    show_default=True,
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--task", multiple=True, help="Only this task category; may be repeated.")
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
    help="Derive the overall anew: acc=.5,pre=.2,… They are scaled to add up to 1.",
)
@click.option("--missing", type=click.Choice(["exclude", "worst"]), default="exclude", show_default=True,
              help="Leave unscored edits out, or count them as the lowest score.")  # fmt: skip
@click.option("--average", type=click.Choice(["items", "tasks"]), default="items", show_default=True,
              help="What the mean over all categories gives the same weight to.")  # fmt: skip
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
def command(runs: tuple[str, ...], form: Format, as_json: bool, **options: Any) -> None:
    """Rank the methods of a run, for each task category and over all of them.

    RUN is a run's folder, or a scores.csv. Several comparable runs are pooled, their repeats counted on. An
    edit's repeats are averaged first, then items. Nothing is asked of a judge.
    """
    from lmmscore.cli.grouping import grouped, plain_groups
    from lmmscore.cli.inputs import open_sources
    from lmmscore.cli.panel import corrected, panel_of

    form = "json" if as_json else form
    pairs = _pairs_among(runs)
    if pairs is not None:
        _print_pairs(pairs, form, options)
        return
    sources = open_sources(runs)
    options["members"] = panel_of(sources, options) if options["panel"] else None
    if options["members"] is not None:
        source = options["members"].source
    else:
        source = _pooled(sources, anyway=options["anyway"])
    if options["by"] is not None and plain_groups(options["by"]):
        click.echo(grouped(source, form, options, _scales(source, options)), nl=False)
        return
    board = corrected(source, options) if options["corrected"] else _board(source, options)
    if options["members"] is not None:
        board = replace(board, notes=(*options["members"].notes, *board.notes))
    click.echo(_rendered(board, source, form, options), nl=False)
    if form == "csv":
        # A CSV file has no room for sentences; they must not get lost for that.
        for text in [*(t for table in board.tables for t in table.warnings), *board.notes]:
            click.echo(text, err=True)


def _pairs_among(runs: tuple[str, ...]) -> Path | None:
    """Return the pairs.csv that is to be ranked; None where scores are."""
    from pathlib import Path

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


def _print_pairs(path: Path, form: Format, options: dict[str, Any]) -> None:
    """Print the leaderboard of a run that compares pairs."""
    from lmmscore.comparisons import read_comparisons
    from lmmscore.leaderboard.pairs import rank_pairs
    from lmmscore.report.pair_grids import render_pairs
    from lmmscore.run_folder import Run

    unfit = ("factor", "by", "weights", "scale", "show", "against")
    given = [name for name in unfit if options[name]]
    if given or options["missing"] != "exclude" or options["average"] != "items":
        name = given[0] if given else "missing" if options["missing"] != "exclude" else "average"
        raise click.UsageError(f"--{name} is for scores; {path.parent} compares pairs")
    known: dict[str, Any] = {}
    if (path.parent / "run.yaml").is_file():
        manifest = Run(path.parent).manifest
        known = {"caution": manifest.caution, "methods": manifest.methods}
    board = rank_pairs(
        read_comparisons(path),
        task=options["task"] or None,
        resamples=options["resamples"],
        seed=options["seed"],
        **known,
    )
    tty = sys.stdout.isatty()
    width = get_terminal_size().columns if tty else None
    text = render_pairs(board, form, decimals=options["decimals"], width=width, color=tty)
    click.echo(text, nl=False)
    if form == "csv":
        for note in [*(t for table in board.tables for t in table.warnings), *board.notes]:
            click.echo(note, err=True)


def _pooled(sources: list[Source], *, anyway: bool) -> Source:
    if len(sources) == 1:
        return sources[0]
    from lmmscore.cli.inputs import Source, cautions
    from lmmscore.leaderboard.compare import pool

    names = [source.name for source in sources]
    settings = [source.comparable() for source in sources]
    scores = pool(names, [source.scores for source in sources], settings, anyway=anyway)
    known = {**sources[0].settings, "caution": cautions(sources)}
    return Source(" + ".join(names), sources[0].path, scores, known)


def _factors(options: dict[str, Any]) -> list[str]:
    by = options["by"] or ""
    return list(options["factor"]) or (["all"] if "factor" in by else ["overall"])


def _weights(options: dict[str, Any]) -> dict[str, float] | None:
    from lmmscore.leaderboard.weights import parse_weights

    return None if options["weights"] is None else parse_weights(options["weights"])


def _scales(source: Source, options: dict[str, Any]) -> dict[str, tuple[float, float]]:
    from lmmscore.cli.inputs import parse_scale
    from lmmscore.leaderboard.weights import scales_of

    if options["scale"] is None:
        return scales_of(source.settings, _weights(options))
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


def _rendered(board: Leaderboard, source: Source, form: Format, options: dict[str, Any]) -> str:
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
    wide = True if (options["by"] or "").replace(" ", "") == "task,method" else None
    tty = sys.stdout.isatty()
    width = get_terminal_size().columns if tty else None
    return render(
        board, form, decimals=decimals, wide=wide, further=further, width=width, color=tty
    )


def _extras(board: Leaderboard, source: Source, options: dict[str, Any]) -> Extras:
    from lmmscore.leaderboard.diagnostics import extras
    from lmmscore.leaderboard.weights import reweigh, weights_of

    given = _weights(options)
    weights = weights_of(source.settings) if given is None else given
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
    from lmmscore.report import extra_grids as grids

    shown = set(SECTIONS) if "all" in options["show"] else set(options["show"])
    decimals = 2 if options["decimals"] is None else options["decimals"]
    found: list[Grid] = []
    for table in board.tables:
        found += [grids.difference_grid(table, decimals)] if "differences" in shown else []
        found += [grids.win_grid(table)] if "wins" in shown else []
    if options["corrected"] or not shown & set(SECTIONS[2:]):
        return found
    behind = _extras(board, source, options)
    found += [grids.position_grid(behind.position, decimals)] if "position" in shown else []
    found += [grids.repeat_grid(behind.repeats, decimals)] if "repeats" in shown else []
    found += grids.variance_grid(behind.components, decimals) if "variance" in shown else []
    if "sensitivity" in shown and behind.sensitivity:
        found.append(grids.sensitivity_grid(behind.sensitivity))
    asks = bool(source.settings.get("avoid_ties"))
    found += [grids.habit_grid(behind.habits, asks_to_avoid_ties=asks)] if "habits" in shown else []
    return found


def _against(board: Leaderboard, name: str) -> list[TaskAgainst]:
    from lmmscore.leaderboard.compare import against
    from lmmscore.leaderboard.published import find_published, load_published

    return against(board, load_published(find_published(name)))


def _against_grids(matched: list[TaskAgainst], options: dict[str, Any]) -> list[Grid]:
    from pathlib import Path

    from lmmscore.report.extra_grids import against_grid
    from lmmscore.report.grids import Grid

    if options["against"] is not None and not matched:
        name = options["against"]
        return [
            Grid(f"Against {name}", ("Task",), (), f"No task category of this run is in {name}.")
        ]
    decimals = 2 if options["decimals"] is None else options["decimals"]
    return [against_grid(task, Path(options["against"]).stem, decimals) for task in matched]
