"""The leaderboard section: every task category and factor, with what is drawn beside the figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lmmscore.dialog import task_title
from lmmscore.leaderboard import BoardRow, BoardTable, Leaderboard, rank
from lmmscore.records import OVERALL
from lmmscore.report.board_grids import table_grid
from lmmscore.report.grids import NONE, Mark, marks, number, percent, span
from lmmscore.report.latex_tables import latex
from lmmscore.report.markdown_tables import markdown
from lmmscore.report.page.drawing import Axis, Bar, RankStrip, bar, means_axis, rank_strip
from lmmscore.report.page.judged import Judged
from lmmscore.report.page.names import slug

RESAMPLES, FEWER_RESAMPLES, MANY_ITEMS = 10_000, 2_000, 300


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a table: as written, as sorted by, and whether it is the best of its column."""

    text: str
    value: float | None
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One method's line."""

    method: str
    rank: Figure
    mean: Figure
    interval: str
    bar: Bar | None
    ranks: str
    strip: RankStrip | None
    group: str
    std: Figure
    n: Figure
    coverage: Figure
    factors: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Board:
    """One table of the page."""

    id: str
    task: str
    """Empty for the table over all categories."""
    task_title: str
    factor: str
    factor_title: str
    lines: tuple[Line, ...]
    columns: tuple[str, ...]
    """The factors beside the one ranked by."""
    axis: Axis
    letters: tuple[str, ...]
    caption: str
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    holes: bool


def ranked(judged: Judged) -> Leaderboard:
    """Rank the methods on every factor, in every task category and over all."""
    best = OVERALL if OVERALL in judged.factors else judged.factors[0]
    whole = _rank(judged, best, RESAMPLES)
    rest = [factor for factor in judged.factors if factor != best]
    if not rest:
        return whole
    # The factors' tables stand behind the overall's: on a large benchmark fewer draws spare half a minute.
    fewer = RESAMPLES if len(judged.items) <= MANY_ITEMS else FEWER_RESAMPLES
    parts = _rank(judged, rest, fewer)
    notes = dict.fromkeys(
        (*whole.notes, *(f"Factors: {note}" for note in parts.notes if note not in whole.notes))
    )
    return replace(whole, tables=(*whole.tables, *parts.tables), notes=tuple(notes))


def _rank(judged: Judged, factor: str | list[str], resamples: int) -> Leaderboard:
    caution = judged.settings.get("caution") or ""
    return rank(
        judged.scores, factor=factor, scales=judged.scales, caution=caution, resamples=resamples
    )


def boards(judged: Judged, found: Leaderboard, prefix: str) -> list[Board]:
    """Return the tables for the page, that over all categories first."""
    ordered = sorted(found.tables, key=lambda table: table.task is not None)
    return [_board(judged, table, prefix) for table in ordered]


def _board(judged: Judged, table: BoardTable, prefix: str) -> Board:
    axis = means_axis(table.rows)
    columns = tuple(table.rows[0].factors) if table.rows else ()
    letters = "".join(sorted({letter for row in table.rows for letter in row.group}))
    return Board(
        id="-".join(
            part
            for part in ("board", prefix, slug(table.task or "all"), slug(table.factor))
            if part
        ),
        task=table.task or "",
        task_title="All task categories"
        if table.task is None
        else task_title(table.task) or "(no category)",
        factor=table.factor,
        factor_title=judged.title(table.factor),
        lines=tuple(_lines(table.rows, columns, axis)),
        columns=columns,
        axis=axis,
        letters=tuple(letters),
        caption=table.caption,
        warnings=table.warnings,
        notes=table.notes,
        holes=any(row.rank_range for row in table.rows),
    )


def _lines(rows: Sequence[BoardRow], columns: Sequence[str], axis: Axis) -> list[Line]:
    best = marks([row.mean for row in rows])
    best_factors = {name: marks([row.factors[name] for row in rows]) for name in columns}
    return [
        Line(
            method=row.method,
            rank=Figure(NONE if row.rank is None else str(row.rank), row.rank),
            mean=Figure(number(row.mean, 2), row.mean, best[place]),
            interval=span(row.mean_interval, 2),
            bar=bar(row, axis),
            ranks=_ranks(row),
            strip=rank_strip(row, len(rows)),
            group=row.group,
            std=Figure(number(row.std, 2), row.std),
            n=Figure(str(row.n), row.n),
            coverage=Figure(percent(row.coverage), row.coverage),
            factors=tuple(
                Figure(number(row.factors[name], 2), row.factors[name], best_factors[name][place])
                for name in columns
            ),
        )
        for place, row in enumerate(rows)
    ]


def _ranks(row: BoardRow) -> str:
    low, high = row.rank_interval or (None, None)
    return str(low) if low == high and low is not None else span(row.rank_interval, 0)


def copies(found: Leaderboard, shown: Sequence[Board]) -> dict[str, dict[str, str]]:
    """Return each table as LaTeX and as Markdown, by the name it has on the page."""
    tables = {(table.task or "", table.factor): table for table in found.tables}
    texts = {}
    for board in shown:
        grid = [table_grid(tables[board.task, board.factor], decimals=2)]
        texts[board.id] = {
            "latex": latex(grid, caution=found.caution, notes=found.notes),
            "markdown": markdown(grid, caution=found.caution, notes=found.notes),
        }
    return texts
