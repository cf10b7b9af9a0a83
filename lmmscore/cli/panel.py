"""What `lmmscore leaderboard` does with several judges at once, and with people's ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from lmmscore.cli.inputs import Source
    from lmmscore.leaderboard import Leaderboard
    from lmmscore.report.grids import Grid


def panel_options(command: Any) -> Any:
    """Add the options to a command."""
    decorators = (
        click.option(
            "--panel",
            is_flag=True,
            help="Rank by the mean of several runs' judges, instead of pooling the runs.",
        ),
        click.option(
            "--panel-scores",
            type=click.Choice(["raw", "z"]),
            default="raw",
            show_default=True,
            help="Average the panel's scores as they are, or standardised.",
        ),
        click.option(
            "--human", multiple=True, metavar="FILE", help="Human ratings, for --corrected."
        ),
        click.option(
            "--corrected",
            is_flag=True,
            help="Rank by what people would say of all edits, given the ratings of some.",
        ),
        click.option(
            "--holm",
            type=click.Choice(["table", "tables"]),
            default="table",
            show_default=True,
            help="Correct the tests over the pairs of each table, or of all tables together.",
        ),
    )
    for add in reversed(decorators):
        command = add(command)
    return command


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
        from lmmscore.report.grids import NONE, Grid, number, plain

        found = []
        methods = [row.method for row in board.tables[-1].rows]
        if self.without:
            ranks = [
                plain(
                    method,
                    *(_shown(ranks.get(method)) for ranks in self.without.values()),
                )
                for method in methods
            ]
            columns = ("Method", *(f"without {name}" for name in self.without))
            caption = "Each method's rank over all categories if one judge is left out."
            found.append(
                Grid(
                    "Leave one judge out",
                    columns,
                    tuple(ranks),
                    caption,
                    text_columns=frozenset({0}),
                )
            )
        if self.disagreements:
            names = list(self.disagreements[0]["scores"])
            rows = [
                plain(
                    entry["item"],
                    entry["method"] or NONE,
                    number(entry["spread"], 2),
                    *(number(entry["scores"][name], 2) for name in names),
                )
                for entry in self.disagreements
            ]
            found.append(
                Grid(
                    "Where the judges differ most",
                    ("Item", "Method", "Spread", *names),
                    tuple(rows),
                    "Spread: standard deviation over judges of their standardised scores.",
                    text_columns=frozenset({0, 1}),
                )
            )
        return found


def _shown(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def panel_of(sources: Sequence[Source], options: dict[str, Any]) -> PanelBoard:
    """Return the mean of several runs' judges as one source."""
    from lmmscore.agreement import judges
    from lmmscore.cli.inputs import cautions
    from lmmscore.leaderboard import rank
    from lmmscore.run_folder import Manifest

    if len(sources) < 2:
        raise click.UsageError("--panel needs at least two runs")
    how = options["panel_scores"]
    tables = {source.name: source.scores for source in sources}
    together = judges.panel_scores(tables, how)
    if together.empty:
        raise click.UsageError("these runs have no scored edit in common; there is no panel")
    methods = [str(name) for name in together["method"].unique()]
    models = {source.name: _model(source) for source in sources}
    said = "standardised first (z-scores)" if how == "z" else "as they are (raw)"
    notes = [f"Panel: the mean of {', '.join(tables)}, scores taken {said}."]
    notes += [f"{text}." for text in judges.family_warnings(models, methods)]

    without: dict[str, dict[str, int | None]] = {}
    if len(tables) > 2:
        for name in tables:
            rest = {other: table for other, table in tables.items() if other != name}
            board = rank(judges.panel_scores(rest, how), resamples=0)
            without[name] = {row.method: row.rank for row in board.tables[-1].rows}
    factor = "overall" if "overall" in set(together["factor"]) else str(together["factor"].iloc[0])
    # Other scales than the judges' own: what the runs say of theirs holds for raw scores only.
    known = sources[0].manifest if how == "raw" else Manifest()
    manifest = known.model_copy(update={"caution": cautions(sources)})
    source = replace(sources[0], name="panel", scores=together, manifest=manifest, run=None)
    return PanelBoard(source, tuple(notes), without, judges.disagreements(tables, factor))


def _model(source: Source) -> str:
    return " ".join(source.manifest.models) or source.manifest.judge or source.name


def corrected(source: Source, options: dict[str, Any]) -> Leaderboard:
    """Return the leaderboard by what people would say of all edits."""
    from lmmscore.agreement.align import match_items, match_methods, separate_tasks
    from lmmscore.agreement.powered_means import corrected_board
    from lmmscore.ratings import Columns
    from lmmscore.web.rating_results import read_human_ratings

    if not options["human"]:
        raise click.UsageError("--corrected needs people's ratings: --human FILE")
    human = read_human_ratings(options["human"], Columns())
    tables, ratings = separate_tasks({source.name: source.scores}, human.table)
    notes = list(human.notes)
    scores = match_methods(source.name, tables[0], ratings, notes)
    scores = match_items(source.name, scores, ratings, notes)
    for note in notes:
        click.echo(f"note: {note}", err=True)
    factor = options["factor"][0] if options["factor"] else "overall"
    return corrected_board(scores, ratings, factor, caution=source.caution)
