"""The tables of the page: methods ranked by scores, or by comparisons of pairs, drawn alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TypeVar

from markupsafe import Markup

from lmmscore.leaderboard import BoardTable, Leaderboard
from lmmscore.leaderboard.matches import PairBoard, PairTable
from lmmscore.report.grids import (
    HEADINGS,
    NONE,
    Grid,
    Mark,
    TableDocument,
    marks,
    number,
    p_value,
    percent,
    rank_span,
    span,
    write,
)
from lmmscore.report.leaderboard import PAIR_HEADINGS, BoardView, board_document, pair_document
from lmmscore.report.page.charts import (
    DrawnStanding,
    HeatCell,
    HeatMap,
    axis_head,
    diverging,
    group_bars,
    heat_map,
    interval_bar,
    means_map,
    rank_strip,
    standings_axis,
)
from lmmscore.report.page.edits import board_id, slug
from lmmscore.report.run_data import WIN_RATE, RunData

MATRIX_NOTES = 12
"""Methods up to which the win matrix has room for p-values."""

_WINS_ON_ITEMS = (
    "Items on which the method of the row scored higher than that of the column, and the p-value "
    "of the difference of their means, corrected for all pairs (Holm); * at most 0.05. "
    "Click a figure to see the pair."
)
_WINS_IN_MATCHES = (
    "How often the method of the row beat that of the column; a tie counts one half. "
    "Click a figure to see the pair."
)

AnyTable = TypeVar("AnyTable", BoardTable, PairTable)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a table: as written, as sorted by, and whether it is the best of its column."""

    text: str
    value: float | None
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class ResultLine:
    """One method's line."""

    method: str
    link: str
    rank: Figure
    mean: Figure
    interval: str
    bar: Markup
    ranks: str
    strip: Markup
    group: Markup
    further: tuple[Figure, ...] = ()
    """Figures of the board's further columns."""


@dataclass(frozen=True, slots=True)
class Board:
    """One table of the page."""

    id: str
    task: str
    """Empty for the table over all categories."""
    task_title: str
    factor: str
    factor_title: str
    verdict: str
    lines: tuple[ResultLine, ...]
    axis: Markup
    grouped: bool
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    wins: HeatMap | None
    figures: Grid
    """Every figure, as the other formats have them."""
    copies: Mapping[str, str]
    """The table to be pasted elsewhere, by format."""
    value_title: str
    further: tuple[str, ...]
    """Headings of columns that not every board has: coverage where it is not complete."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One method in a table of either kind."""

    method: str
    drawn: DrawnStanding
    further: Figure
    group: str = ""
    """Letters of the groups it belongs to; pairs have none."""


@dataclass(frozen=True, slots=True)
class _Duel:
    """How one method did against another, on items or in matches."""

    won: int
    tied: int
    lost: int
    p: float | None = None
    """Of the difference of their means, corrected for all pairs; matches have none."""
    significant: bool = False

    @property
    def rate(self) -> float | None:
        """The share won, a tie counting one half; None where the two never met."""
        met = self.won + self.tied + self.lost
        return (self.won + self.tied / 2) / met if met else None


@dataclass(frozen=True, slots=True)
class _Ranking:
    """A table of either kind, as far as the page draws both alike."""

    task: str | None
    factor: str
    factor_title: str
    value_title: str
    rows: list[_Row]
    duels: Mapping[tuple[str, str], _Duel]
    """By the two methods, both ways round."""
    full: TableDocument
    compact: TableDocument
    """With the columns a paper has room for."""
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    further: tuple[str, ...]


def whole_first(tables: Sequence[AnyTable]) -> list[AnyTable]:
    """Return the tables with those over all task categories before those of one."""
    return sorted(tables, key=lambda table: table.task is not None)


def make_boards(run: RunData, found: Leaderboard | PairBoard, prefix: str) -> list[Board]:
    """Return the tables of a run for the page, those over all categories first."""
    if isinstance(found, PairBoard):
        rankings = [_pair_ranking(run, table, found) for table in whole_first(found.tables)]
    else:
        rankings = [_score_ranking(run, table, found) for table in whole_first(found.tables)]

    if len({ranking.task for ranking in rankings} - {None}) == 1:
        # Of one task category, the table over all would say the same twice.
        rankings = [ranking for ranking in rankings if ranking.task is not None]

    return [_board(run, ranking, prefix) for ranking in rankings]


def _score_ranking(run: RunData, table: BoardTable, found: Leaderboard) -> _Ranking:
    one = replace(found, tables=(table,))
    rows = [
        _Row(
            row.method,
            DrawnStanding(row.mean, row.mean_interval, row.rank, row.rank_interval, row.rank_range),
            Figure(percent(row.coverage), row.coverage),
            row.group,
        )
        for row in table.rows
    ]
    incomplete = any(row.coverage < 1 for row in table.rows)
    return _Ranking(
        task=table.task,
        factor=table.factor,
        factor_title=run.title(table.factor),
        value_title=HEADINGS["mean"],
        rows=rows,
        duels=_duels_on_items(table),
        full=board_document(one, BoardView(names=run.names)),
        compact=board_document(one, BoardView(style="compact", names=run.names)),
        warnings=table.warnings,
        notes=(table.caption, *table.notes),
        further=(HEADINGS["coverage"],) if incomplete else (),
    )


def _pair_ranking(run: RunData, table: PairTable, found: PairBoard) -> _Ranking:
    one = replace(found, tables=(table,))
    full = pair_document(one, names=run.names)
    compact = pair_document(one, names=run.names, compact=True)
    rows = [
        _Row(
            row.method,
            DrawnStanding(row.strength, row.strength_interval, row.rank, row.rank_interval),
            Figure(percent(row.win_rate), row.win_rate),
        )
        for row in table.rows
    ]
    return _Ranking(
        task=table.task,
        factor=WIN_RATE,
        factor_title="Comparisons of pairs",
        value_title=PAIR_HEADINGS["strength"],
        rows=rows,
        duels=_duels_in_matches(table),
        full=full,
        # The second table, who beat whom, is for the terminal: a paper has the first.
        compact=replace(compact, grids=compact.grids[:1]),
        warnings=table.warnings,
        notes=(full.grids[0].caption, *table.notes),
        further=(PAIR_HEADINGS["win_rate"],),
    )


def _duels_on_items(table: BoardTable) -> dict[tuple[str, str], _Duel]:
    tests = table.differences
    if tests is None:
        return {}

    found = {}
    for pair in tests.pairs:
        significant = pair.p_holm is not None and pair.p_holm <= tests.alpha
        duel = _Duel(pair.wins, pair.ties, pair.losses, pair.p_holm, significant)
        found[pair.first, pair.second] = duel
        found[pair.second, pair.first] = replace(duel, won=duel.lost, lost=duel.won)

    return found


def _duels_in_matches(table: PairTable) -> dict[tuple[str, str], _Duel]:
    methods = [row.method for row in table.rows]
    return {
        (one, other): _Duel(
            table.wins.get((one, other), 0),
            table.ties.get((one, other), 0),
            table.wins.get((other, one), 0),
        )
        for one, other in permutations(methods, 2)
    }


# Drawing


def _board(run: RunData, ranking: _Ranking, prefix: str) -> Board:
    grid = ranking.full.grids[0]
    return Board(
        id=board_id(prefix, ranking.task, ranking.factor),
        task=ranking.task or "",
        task_title=run.names.task(ranking.task),
        factor=ranking.factor,
        factor_title=ranking.factor_title,
        verdict=grid.verdict,
        lines=tuple(_lines(run, ranking, prefix)),
        axis=axis_head(standings_axis([row.drawn for row in ranking.rows])),
        grouped=any(row.group for row in ranking.rows),
        warnings=ranking.warnings,
        notes=ranking.notes,
        wins=_win_map(run, ranking, prefix) if ranking.duels else None,
        figures=replace(grid, caption="", above=(), below=(), verdict=""),
        copies={"latex": write(ranking.compact, "tex"), "markdown": write(ranking.full, "md")},
        value_title=ranking.value_title,
        further=ranking.further,
    )


def _lines(run: RunData, ranking: _Ranking, prefix: str) -> Iterator[ResultLine]:
    axis = standings_axis([row.drawn for row in ranking.rows])
    letters = "".join(sorted({letter for row in ranking.rows for letter in row.group}))
    best = marks([row.drawn.value for row in ranking.rows])
    noun = ranking.value_title.lower()

    for row, mark in zip(ranking.rows, best, strict=True):
        drawn, name = row.drawn, run.names.method(row.method)
        value, interval = number(drawn.value, 2), span(drawn.interval, 2)
        rank, ranks = number(drawn.rank, 0), rank_span(drawn.rank_interval)
        groups = f"groups {', '.join(row.group)}" if row.group else "no group"
        link = gallery_link(
            run, prefix, method=row.method, task=ranking.task, factor=ranking.factor
        )
        yield ResultLine(
            method=name,
            link=link,
            rank=Figure(rank, drawn.rank),
            mean=Figure(value, drawn.value, mark),
            interval=interval,
            bar=interval_bar(drawn, axis, f"{name}: {noun} {value}, 95% interval {interval}"),
            ranks=ranks,
            strip=rank_strip(
                drawn, len(ranking.rows), f"{name}: rank {rank}, rank interval {ranks}"
            ),
            group=group_bars(row.group, letters, f"{name}: {groups}"),
            further=(row.further,),
        )


def gallery_link(
    run: RunData,
    prefix: str,
    *,
    method: str,
    against: str | None = None,
    task: str | None = None,
    factor: str | None = None,
) -> str:
    """Return the link to the edits that a figure is about."""
    words = [f"run={prefix}"] if prefix else []
    if task is not None:
        words.append(f"task={slug(task)}")

    words.append(f"method={slug(method)}")
    if against is not None:
        words += [f"against={slug(against)}", "sort=difference"]

    # The gallery opens with the main factor: a link need not name it.
    if factor is not None and factor != run.main_factor:
        words.append(f"factor={slug(factor)}")

    return f"#gallery?{'&'.join(words)}"


def _win_map(run: RunData, ranking: _Ranking, prefix: str) -> HeatMap:
    """Return how often the method of a row beat that of a column."""
    names = {row.method: run.names.method(row.method) for row in ranking.rows}
    tested = ranking.factor != WIN_RATE

    def cell(one: str, other: str) -> HeatCell:
        duel = ranking.duels.get((one, other))
        if duel is None or duel.rate is None:
            return HeatCell("")

        words = (
            f"{names[one]} against {names[other]}: "
            f"{duel.won} won, {duel.tied} tied, {duel.lost} lost"
        )
        link = gallery_link(
            run, prefix, method=one, against=other, task=ranking.task, factor=ranking.factor
        )
        shade = diverging(2 * duel.rate - 1)
        if not tested:
            return HeatCell(percent(duel.rate), shade, words, link)

        p = p_value(duel.p)
        star = "*" if duel.significant else ""
        note = f"p {p}" if len(names) <= MATRIX_NOTES else ""
        return HeatCell(f"{duel.won}{star}", shade, f"{words}; p = {p} (Holm)", link, note)

    if tested:
        return heat_map("Wins and p-values", names, names, cell, caption=_WINS_ON_ITEMS)
    return heat_map("Win rates", names, names, cell, caption=_WINS_IN_MATCHES)


# What stands behind the tables


def make_maps(run: RunData, found: Leaderboard | PairBoard, prefix: str) -> list[HeatMap]:
    """Return the methods by factor and by task category, as far as there are several."""
    if isinstance(found, PairBoard):
        return _pair_maps(run, whole_first(found.tables), prefix)

    main = [table for table in whole_first(found.tables) if table.factor == run.main_factor]
    methods = {row.method: run.names.method(row.method) for row in main[0].rows}
    factors = {name: run.title(name) for name in run.factors if name != run.main_factor}
    maps = []
    if factors:
        means = {
            (row.method, factor): row.factors.get(factor)
            for row in main[0].rows
            for factor in factors
        }
        maps.append(
            means_map(
                "Methods by factor",
                methods,
                factors,
                means,
                lambda method, factor: gallery_link(run, prefix, method=method, factor=factor),
            )
        )

    tasks = _tasks(run, main)
    if len(tasks) > 1:
        means = {(row.method, table.task or ""): row.mean for table in main for row in table.rows}
        maps.append(
            means_map(
                "Methods by task category",
                methods,
                tasks,
                means,
                lambda method, task: gallery_link(run, prefix, method=method, task=task),
            )
        )

    return maps


def _tasks(run: RunData, tables: Sequence[BoardTable] | Sequence[PairTable]) -> dict[str, str]:
    """Return the task categories that have a table of their own, with their titles."""
    return {table.task: run.names.task(table.task) for table in tables if table.task is not None}


def _pair_maps(run: RunData, tables: Sequence[PairTable], prefix: str) -> list[HeatMap]:
    tasks = _tasks(run, tables)
    if len(tasks) < 2:
        return []

    methods = {row.method: run.names.method(row.method) for row in tables[0].rows}
    rates = {(row.method, table.task): row.win_rate for table in tables for row in table.rows}

    def cell(method: str, task: str) -> HeatCell:
        rate = rates.get((method, task))
        if rate is None:
            return HeatCell(NONE)

        words = f"{methods[method]}, {tasks[task]}: {percent(rate)}"
        link = gallery_link(run, prefix, method=method, task=task)
        return HeatCell(percent(rate), diverging(2 * rate - 1), words, link)

    return [heat_map("Win rates by task category", methods, tasks, cell)]
