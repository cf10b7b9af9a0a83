"""A leaderboard as tables in any format, and the sentence that says who is ahead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from lmmscore.errors import LmmscoreError, nearest
from lmmscore.leaderboard.board import BoardRow, BoardTable, Leaderboard, flat
from lmmscore.leaderboard.matches import PairBoard, PairTable
from lmmscore.leaderboard.matches import flat as flat_pair
from lmmscore.leaderboard.ranking import Groups
from lmmscore.records import OVERALL
from lmmscore.report.board_grids import board_grids, table_grid
from lmmscore.report.formats import TableDocument, TableLayout, write
from lmmscore.report.grids import (
    HEADINGS,
    NONE,
    Cell,
    DisplayNames,
    Grid,
    count,
    listed,
    marks,
    number,
    percent,
    plain,
    span,
)
from lmmscore.run_folder import Manifest, Run
from lmmscore.stats.arrays import rounded

Format = Literal["md", "csv", "tex", "json", "term"]
FORMATS: tuple[Format, ...] = get_args(Format)

Style = Literal["compact", "full"]


def display_names(manifest: Manifest, more: Mapping[str, str] | None = None) -> DisplayNames:
    """Return the names a run's benchmark gave to its methods and tasks, and `more` for methods."""
    return DisplayNames({**manifest.method_names, **(more or {})}, manifest.task_titles)


@dataclass(frozen=True, slots=True)
class BoardView:
    """How a leaderboard is to be shown."""

    decimals: int | None = None
    """None: 2 in tables to be read, everything there is in CSV and JSON."""
    wide: bool = False
    """Task categories side by side, in one table."""
    style: Style | None = None
    """None: compact in LaTeX, full elsewhere."""
    columns: tuple[str, ...] = ()
    names: DisplayNames = field(default_factory=DisplayNames)

    @property
    def places(self) -> int:
        """Decimals in a table to be read."""
        return 2 if self.decimals is None else self.decimals


def render(
    board: Leaderboard,
    format: str,
    *,
    decimals: int | None = None,
    wide: bool | None = None,
    style: Style | None = None,
    columns: Sequence[str] = (),
    names: DisplayNames | Mapping[str, str] | None = None,
    further: Sequence[Grid] = (),
    extra: Mapping[str, Any] | None = None,
    width: int | None = None,
    color: bool = False,
    star: bool = False,
) -> str:
    """Return a leaderboard as text, ready to be printed or written to a file.

    `decimals` None: 2 in tables to be read, everything there is in CSV and JSON. `wide` puts the
    task categories side by side. `style` and `columns` choose what a table shows, `names` what
    methods are called. `further` grids follow, in the formats that have room for them; `extra`
    adds keys to the JSON. `star` makes LaTeX floats span both columns of a page.
    """
    if style is None and format == "tex":
        style = "compact"
    view = BoardView(decimals, bool(wide), style, tuple(columns), _display(names))
    document = board_document(board, view, further, extra)
    return write(document, format, TableLayout(width, color, star))


def _display(names: DisplayNames | Mapping[str, str] | None) -> DisplayNames:
    if isinstance(names, DisplayNames):
        return names
    return DisplayNames(names or {})


def board_document(
    board: Leaderboard,
    view: BoardView,
    further: Sequence[Grid] = (),
    extra: Mapping[str, Any] | None = None,
) -> TableDocument:
    """Return a leaderboard as a document that any format can write."""
    shown = shown_tables(with_names(board, view.names))
    if view.wide:
        grids = board_grids(replace(board, tables=shown), decimals=view.places, wide=True)
    else:
        grids = [_grid(table, view) for table in shown]
    rules = [] if view.wide else [_rule(table, view) for table in shown]
    return TableDocument(
        grids=[*(labelled(grid) for grid in grids), *further],
        caution=board.caution,
        notes=list(dict.fromkeys([*(rule for rule in rules if rule), *board.notes])),
        records=[
            {**_rounded(flat(table, row), view.decimals), "caption": table.caption}
            for table in board.tables
            for row in table.rows
        ],
        data={**board.as_dict(view.decimals), **(extra or {})},
    )


def shown_tables(board: Leaderboard) -> tuple[BoardTable, ...]:
    """Return the tables to be read: of one task category, the table over all would repeat it."""
    tasks = {table.task for table in board.tables if table.task is not None}
    if len(tasks) != 1:
        return board.tables
    return tuple(table for table in board.tables if table.task is not None)


def with_names(board: Leaderboard, names: DisplayNames) -> Leaderboard:
    """Return the board with methods and task categories under their display names."""
    return replace(board, tables=tuple(_renamed(table, names) for table in board.tables))


def _renamed(table: BoardTable, names: DisplayNames) -> BoardTable:
    rows = [replace(row, method=names.method(row.method)) for row in table.rows]
    tests = table.differences
    if tests is not None:
        pairs = [
            replace(pair, first=names.method(pair.first), second=names.method(pair.second))
            for pair in tests.pairs
        ]
        methods = tuple(names.method(name) for name in tests.methods)
        tests = replace(tests, methods=methods, pairs=tuple(pairs))
    task = None if table.task is None else names.task(table.task)
    among = tuple(names.task(name) for name in table.among)
    return replace(table, task=task, among=among, rows=tuple(rows), differences=tests)


def title_of(table: BoardTable) -> str:
    """Return the heading of a table: its task category and its factor."""
    place = ", ".join(table.among) or "All task categories" if table.task is None else table.task
    return place if table.factor == OVERALL else f"{place}: {table.factor}"


def labelled(grid: Grid) -> Grid:
    """Return a grid with a name that LaTeX can refer to."""
    return replace(grid, label=grid.label or label(grid.title))


def label(title: str) -> str:
    """Return a name for \\label, made of a title."""
    return "tab:" + (re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "leaderboard")


def _rule(table: BoardTable, view: BoardView) -> str:
    """Return how the means were made; without what a compact table does not show."""
    parts = table.rule.split("; ") if table.rule else []
    if view.style == "compact":
        parts = [part for part in parts if not part.startswith("std")]
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _rounded(record: Mapping[str, Any], decimals: int | None) -> dict[str, Any]:
    return {
        name: rounded(value, decimals) if isinstance(value, float) else value
        for name, value in record.items()
    }


def _grid(table: BoardTable, view: BoardView) -> Grid:
    if view.style == "compact" and not view.columns:
        grid = compact_grid(table, view.places)
    else:
        grid = _chosen(table_grid(table, decimals=view.places), view.columns)
    # The rule is the same for all tables and stands once, below them.
    caption = table.caption.removesuffix(f"; {table.rule}.")
    return replace(
        grid,
        title=title_of(table),
        caption=caption if caption.endswith(".") else f"{caption}.",
        verdict=table.verdict,
    )


def _chosen(grid: Grid, columns: Sequence[str]) -> Grid:
    if not columns:
        return grid
    for name in columns:
        if name not in grid.keys:
            hint = nearest(name, grid.keys)
            known = ", ".join(grid.keys)
            raise LmmscoreError(f"no column {name!r}{hint}; known: {known}")
    return replace(grid.select([grid.keys.index(name) for name in columns]), spare=frozenset())


def compact_grid(table: BoardTable, decimals: int) -> Grid:
    """Return what a paper prints: method, mean ± half its interval, rank interval, group."""
    flags = marks([row.mean for row in table.rows])
    grouped = any(row.group for row in table.rows)
    rows = [
        (
            Cell(row.method),
            Cell(_with_margin(row, decimals), flag),
            Cell(_rank_words(row)),
            *([Cell(row.group or NONE)] if grouped else []),
        )
        for row, flag in zip(table.rows, flags, strict=True)
    ]
    columns = [HEADINGS["method"], HEADINGS["mean"], HEADINGS["rank"]]
    margins = any(row.mean_interval for row in table.rows)
    ranges = any(row.rank_interval for row in table.rows)
    note = "±: half the width of the 95% interval of the mean." if margins else ""
    note += " In parentheses: rank interval." if ranges else ""
    return Grid(
        title=title_of(table),
        columns=(*columns, *([HEADINGS["group"]] if grouped else [])),
        rows=tuple(rows),
        above=table.warnings,
        below=tuple(text for text in (note.strip(), *table.notes) if text),
        text_columns=frozenset({0}),
    )


def _with_margin(row: BoardRow, decimals: int) -> str:
    if row.mean is None or row.mean_interval is None:
        return number(row.mean, decimals)
    low, high = row.mean_interval
    return f"{number(row.mean, decimals)} ± {number((high - low) / 2, decimals)}"


def _rank_words(row: BoardRow) -> str:
    if row.rank is None:
        return NONE
    if row.rank_interval is None:
        return str(row.rank)
    low, high = row.rank_interval
    return f"{row.rank} ({low})" if low == high else f"{row.rank} ({low}–{high})"


def render_grids(
    grids: Sequence[Grid],
    format: str,
    caution: str,
    notes: Sequence[str] = (),
    *,
    width: int | None = None,
    color: bool = False,
    star: bool = False,
) -> str:
    """Return grids as Markdown, LaTeX or terminal text."""
    document = TableDocument([labelled(grid) for grid in grids], caution, list(notes))
    return write(document, format, TableLayout(width, color, star))


def render_groups(groups: Groups, format: str, *, caution: str, decimals: int | None) -> str:
    """Return means by any keys: one table with a line per group."""
    lines = [group.as_dict(decimals) for group in groups.rows]
    places = 2 if decimals is None else decimals
    rows = tuple(
        plain(
            *group.keys.values(),
            number(group.mean, places),
            number(group.std, places),
            str(group.n),
            percent(group.coverage),
        )
        for group in groups.rows
    )
    figures = [HEADINGS[key] for key in ("mean", "std", "n", "coverage")]
    title = f"By {', '.join(groups.keys)}"
    grid = Grid(
        title,
        (*(name.capitalize() for name in groups.keys), *figures),
        rows,
        groups.caption,
        text_columns=frozenset(range(len(groups.keys))),
        label=label(title),
    )
    table = {"task": None, "by": list(groups.keys), "caption": groups.caption, "rows": lines}
    heads = [*groups.keys, "mean", "std", "n", "coverage"]
    document = TableDocument(
        grids=[grid],
        caution=caution,
        records=[{head: line[head] for head in heads} for line in lines],
        data={"tables": [table], "caution": caution},
    )
    return write(document, format)


def write_leaderboards(run: Run) -> Leaderboard:
    """Write leaderboard.md, .csv, .tex and .json beside the scores, and return the leaderboard."""
    board = run.leaderboard()
    names = display_names(run.manifest)
    for form in FORMATS:
        if form != "term":
            text = render(board, form, names=names)
            (run.path / f"leaderboard.{form}").write_text(text, encoding="utf-8")
    return board


# Comparisons of pairs


PAIR_HEADINGS = {
    "rank": "Rank",
    "method": "Method",
    "strength": "Strength",
    "strength_interval": "95% interval",
    "rank_interval": "Rank interval",
    "win_rate": "Win rate",
    "results": "W/T/L",
}
"""The columns of a leaderboard of pairs, under the names they have everywhere."""


def render_pairs(
    board: PairBoard,
    format: str,
    *,
    decimals: int | None = None,
    names: DisplayNames | None = None,
    width: int | None = None,
    color: bool = False,
) -> str:
    """Return a leaderboard of pairs as text, ready to be printed or written to a file."""
    document = pair_document(board, decimals, names)
    return write(document, format, TableLayout(width, color))


def pair_document(
    board: PairBoard, decimals: int | None = None, names: DisplayNames | None = None
) -> TableDocument:
    """Return a leaderboard of pairs as a document that any format can write."""
    names = names or DisplayNames()
    places = 2 if decimals is None else decimals
    grids: list[Grid] = []
    records = []

    for table in board.tables:
        grids += [pair_grid(table, places, names), win_grid(table, names)]
        records += [_rounded(flat_pair(table, row), decimals) for row in table.rows]

    return TableDocument(
        grids=[labelled(grid) for grid in grids],
        caution=board.caution,
        notes=board.notes,
        records=records,
        data=board.as_dict(decimals),
    )


def pair_grid(table: PairTable, decimals: int, names: DisplayNames) -> Grid:
    """Return one table: rank, method, strength and how sure it is, and the count of results."""
    strength_marks = marks([row.strength for row in table.rows])
    rate_marks = marks([row.win_rate for row in table.rows])
    rows = []

    for row, strength_mark, rate_mark in zip(table.rows, strength_marks, rate_marks, strict=True):
        cells = (
            Cell(NONE if row.rank is None else str(row.rank)),
            Cell(names.method(row.method)),
            Cell(number(row.strength, decimals), strength_mark),
            Cell(span(row.strength_interval, decimals)),
            Cell(span(row.rank_interval, 0)),
            Cell(percent(row.win_rate), rate_mark),
            Cell(f"{row.wins}/{row.ties}/{row.losses}"),
        )
        rows.append(cells)

    items = count(table.items, "item")
    played = count(table.matches, "match", "matches")
    return Grid(
        title=_pair_title(table, names),
        columns=tuple(PAIR_HEADINGS.values()),
        rows=tuple(rows),
        keys=tuple(PAIR_HEADINGS),
        caption=f"{items}, {played}. W/T/L: matches won, tied and lost.",
        above=table.warnings,
        below=table.notes,
        verdict=pair_verdict(table, names),
        text_columns=frozenset({1}),
    )


def _pair_title(table: PairTable, names: DisplayNames) -> str:
    return "All task categories" if table.task is None else names.task(table.task)


def win_grid(table: PairTable, names: DisplayNames) -> Grid:
    """Return how often the method of a row beat that of a column."""
    methods = [row.method for row in table.rows]
    rows = []

    for one in methods:
        rates = ["" if one == other else percent(table.rate(one, other)) for other in methods]
        rows.append(plain(names.method(one), *rates))

    return Grid(
        title=f"{_pair_title(table, names)}: win rates",
        columns=("Row against column", *(names.method(name) for name in methods)),
        rows=tuple(rows),
        caption="How often the method of the row beat that of the column; a tie counts one half.",
        text_columns=frozenset({0}),
    )


def pair_verdict(table: PairTable, names: DisplayNames) -> str:
    """Return who is ahead, in a sentence that claims no more than the rank intervals do."""
    ranked = [row for row in table.rows if row.rank is not None]
    if len(ranked) < 2:
        return "The methods cannot be ranked together." if len(table.rows) > 1 else ""

    leaders = [row for row in ranked if row.rank == 1]
    if len(leaders) > 1:
        return f"{listed([names.method(row.method) for row in leaders])} share the first rank."
    first, interval = names.method(leaders[0].method), leaders[0].rank_interval
    if interval is None:
        return f"{first} ranks first; too few comparisons to say how surely."
    if interval == (1, 1):
        return f"{first} ranks first; its 95% interval holds no other rank."
    return f"{first} ranks first, but its 95% interval reaches rank {interval[1]}."


def write_pair_boards(run: Run) -> PairBoard:
    """Write leaderboard.md, .csv, .tex and .json of a run that compares pairs; return the board."""
    board = run.pair_board()
    names = display_names(run.manifest)
    for form in FORMATS:
        if form != "term":
            text = render_pairs(board, form, names=names)
            (run.path / f"leaderboard.{form}").write_text(text, encoding="utf-8")
    return board
