"""A leaderboard as grids: one a table, or one for all task categories side by side."""

from __future__ import annotations

from collections.abc import Sequence

from lmmscore.leaderboard.board import BoardRow, BoardTable, Leaderboard
from lmmscore.records import OVERALL
from lmmscore.report.grids import HEADINGS, NONE, Cell, Grid, marks, number, percent, plain, span


def table_grid(table: BoardTable, *, decimals: int) -> Grid:
    """Return one table: rank, method, mean and all that says how sure it is, then the factors."""
    holes = any(row.rank_range for row in table.rows)
    common = any(row.common_mean is not None for row in table.rows)
    keys = ["rank", "method", "mean", *(["common_mean"] if common else [])]
    keys += ["std", "n", "coverage", "mean_interval", "rank_interval"]
    keys += [*(["rank_range"] if holes else []), "group", *_factors(table)]
    columns = [HEADINGS.get(key, key) for key in keys]
    means = marks([row.mean for row in table.rows])
    factor_marks = {
        name: marks([row.factors[name] for row in table.rows]) for name in _factors(table)
    }
    rows = []
    for k, row in enumerate(table.rows):
        cells = [
            *_lead(row),
            Cell(number(row.mean, decimals), means[k]),
            *(plain(number(row.common_mean, decimals)) if common else ()),
            *_certainty(row, decimals, holes),
        ]
        cells += [
            Cell(number(row.factors[f], decimals), factor_marks[f][k]) for f in _factors(table)
        ]
        rows.append(tuple(cells))
    return Grid(
        title=title(table),
        columns=tuple(columns),
        rows=tuple(rows),
        keys=tuple(keys),
        caption=table.caption,
        above=table.warnings,
        below=table.notes,
        text_columns=frozenset({1}),
        spare=frozenset(range(len(columns) - len(_factors(table)), len(columns))),
    )


def title(table: BoardTable) -> str:
    """Return the heading of a table."""
    everywhere = ", ".join(table.among) or "All task categories"
    place = everywhere if table.task is None else table.task
    return place if table.factor == OVERALL else f"{place}: {table.factor}"


def _factors(table: BoardTable) -> list[str]:
    return list(table.rows[0].factors) if table.rows else []


def _lead(row: BoardRow) -> tuple[Cell, ...]:
    return plain(NONE if row.rank is None else str(row.rank), row.method)


def _certainty(row: BoardRow, decimals: int, holes: bool) -> tuple[Cell, ...]:
    allowed = (span(row.rank_range, 0),) if holes else ()
    return plain(
        number(row.std, decimals),
        str(row.n),
        percent(row.coverage),
        span(row.mean_interval, decimals),
        span(row.rank_interval, 0),
        *allowed,
        row.group or NONE,
    )


def wide_grid(tables: Sequence[BoardTable], *, decimals: int) -> Grid:
    """Return all task categories side by side, as surveys print them: a group of columns for
    each."""
    methods = _by_standing(tables)
    columns, groups, blocks = ["Method"], [("", 1)], []
    for table in tables:
        groups.append((title(table), 2))
        columns += ["Mean ± std", "Rank"]
        blocks.append(_block(table, methods, decimals))
    rows = [
        (Cell(method), *(cell for block in blocks for cell in block[k]))
        for k, method in enumerate(methods)
    ]
    counts = ", ".join(f"{title(table)} {max(row.items for row in table.rows)}" for table in tables)
    warnings = [f"{title(table)}: {text}" for table in tables for text in table.warnings]
    return Grid(
        title="Task categories side by side",
        columns=tuple(columns),
        rows=tuple(rows),
        caption=f"Mean {tables[0].factor} ± std, and rank; {tables[0].rule}. Items: {counts}.",
        above=tuple(warnings),
        text_columns=frozenset({0}),
        groups=tuple(groups),
    )


def _by_standing(tables: Sequence[BoardTable]) -> list[str]:
    """Return the methods, best first in the table over all categories if there is one, else by
    name."""
    whole = [table for table in tables if table.task is None]
    if whole:
        return [row.method for row in whole[0].rows]
    return sorted({row.method for table in tables for row in table.rows})


def _block(table: BoardTable, methods: Sequence[str], decimals: int) -> list[tuple[Cell, Cell]]:
    rows = {row.method: row for row in table.rows}
    found = [rows.get(method) for method in methods]
    flags = marks([row.mean if row else None for row in found])
    cells = []
    for row, flag in zip(found, flags, strict=True):
        if row is None or row.mean is None:
            cells.append((Cell(NONE), Cell(NONE)))
            continue
        std = "" if row.std is None else f" ± {number(row.std, decimals)}"
        cells.append((Cell(number(row.mean, decimals) + std, flag), Cell(str(row.rank))))
    return cells


def board_grids(board: Leaderboard, *, decimals: int, wide: bool) -> list[Grid]:
    """Return the grids of a leaderboard: one a table or, `wide`, one a factor with tasks side by
    side."""
    if not wide:
        return [table_grid(table, decimals=decimals) for table in board.tables]
    factors = dict.fromkeys(table.factor for table in board.tables)
    return [
        wide_grid([t for t in board.tables if t.factor == f], decimals=decimals) for f in factors
    ]
