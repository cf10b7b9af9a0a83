"""Leaderboards of pairs in the format asked for."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from lmmscore.leaderboard.matches import PairBoard, PairTable, flat
from lmmscore.report.grids import NONE, Cell, Grid, marks, number, percent, span
from lmmscore.report.leaderboard import FORMATS, render_grids
from lmmscore.run_folder import Run
from lmmscore.tables import defuse


def render_pairs(
    board: PairBoard,
    format: str,
    *,
    decimals: int | None = None,
    width: int | None = None,
    color: bool = False,
) -> str:
    """Return a leaderboard of pairs as text, ready to be printed or written to a file."""
    if format == "json":
        return board.to_json(decimals)

    if format == "csv":
        return _csv_text(board, decimals)

    places = 2 if decimals is None else decimals
    grids = [grid for table in board.tables for grid in _grids(table, places)]
    return render_grids(grids, format, board.caution, board.notes, width=width, color=color)


def _grids(table: PairTable, decimals: int) -> Iterator[Grid]:
    name = "All tasks" if table.task is None else table.task
    strength_marks = marks([row.strength for row in table.rows])
    rate_marks = marks([row.win_rate for row in table.rows])
    rows = []
    for row, strength_mark, rate_mark in zip(table.rows, strength_marks, rate_marks, strict=True):
        ranks = NONE if row.rank_interval is None else "–".join(map(str, row.rank_interval))
        rows.append(
            (
                Cell(NONE if row.rank is None else str(row.rank)),
                Cell(row.method),
                Cell(number(row.strength, decimals), strength_mark),
                Cell(span(row.strength_interval, decimals)),
                Cell(ranks),
                Cell(percent(row.win_rate), rate_mark),
                Cell(f"{row.wins}/{row.ties}/{row.losses}"),
            )
        )
    yield Grid(
        title=name,
        columns=("#", "Method", "Strength", "95%", "Rank", "Win rate", "W/T/L"),
        rows=tuple(rows),
        caption=f"{table.items} items, {table.matches} matches",
        above=table.warnings,
        below=table.notes,
        text_columns=frozenset({1}),
    )
    yield _matrix(table, name)


def _matrix(table: PairTable, name: str) -> Grid:
    names = [row.method for row in table.rows]
    rows = []
    for one in names:
        rates = ("" if one == other else percent(table.rate(one, other)) for other in names)
        rows.append((Cell(one), *map(Cell, rates)))
    return Grid(
        title=f"{name}: win rates",
        columns=("Row against column", *names),
        rows=tuple(rows),
        caption="how often the method of the row beat that of the column, a tie counting one half",
        text_columns=frozenset({0}),
    )


def _csv_text(board: PairBoard, decimals: int | None) -> str:
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    for first, table in enumerate(board.tables):
        for number_, row in enumerate(table.rows):
            cells = flat(table, row)
            if first == number_ == 0:
                writer.writerow(cells)
            writer.writerow([_cell(value, decimals) for value in cells.values()])
    return made.getvalue()


def _cell(value: object, decimals: int | None) -> object:
    if isinstance(value, float) and decimals is not None:
        return round(value, decimals)
    return defuse(value) if isinstance(value, str) else value


def write_pair_boards(run: Run) -> PairBoard:
    """Write leaderboard.md, .csv, .tex and .json of a run that compares pairs; return the board."""
    board = run.pair_board()
    for form in FORMATS:
        if form != "term":
            text = render_pairs(board, form)
            (run.path / f"leaderboard.{form}").write_text(text, encoding="utf-8")
    return board
