"""The result of a run that compares pairs: strengths, win rates, and whether the place decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from lmmscore.errors import counted
from lmmscore.leaderboard.matches import PairBoard, PairRow, PairTable
from lmmscore.report.grids import NONE, Grid, marks, number, p_value, percent, plain, span, write
from lmmscore.report.leaderboard import PAIR_HEADINGS, pair_document, pair_grid, pair_verdict
from lmmscore.report.page.charts import (
    Axis,
    Chart,
    DrawnStanding,
    HeatCell,
    HeatMap,
    axis_head,
    diverging,
    interval_bar,
    preference_chart,
    rank_strip,
    standings_axis,
)
from lmmscore.report.page.edits import board_id
from lmmscore.report.page.run_view import (
    FEW_ITEMS,
    Board,
    Figure,
    ResultLine,
    RunView,
    cost_grid,
    coverage,
    facts,
    gallery_link,
    provenance,
    rank_words,
)
from lmmscore.report.run_data import WIN_RATE, RunData
from lmmscore.scores import TIE, Comparison


def view_pairs(run: RunData, found: PairBoard, prefix: str, number_of_run: int) -> RunView:
    """Return everything the page says of a run that compares pairs."""
    tables = _whole_first(found)
    costs = cost_grid(run)
    task_map = _task_map(run, tables, prefix)
    return RunView(
        name=run.name,
        prefix=prefix,
        number=number_of_run,
        caution=run.manifest.caution,
        cautions=_cautions(run, tables[0]),
        boards=[_board(run, table, prefix) for table in tables],
        notes=found.notes,
        maps=[task_map] if task_map else [],
        charts=[_position_chart(run, tables, number_of_run)],
        behind="position, cost" if costs else "position",
        grids=[_position_grid(run, tables), *([costs] if costs else [])],
        facts=facts(run),
        shares=coverage(run),
        provenance=provenance(run),
    )


def _whole_first(found: PairBoard) -> list[PairTable]:
    return sorted(found.tables, key=lambda table: table.task is not None)


def copy_pairs(
    run: RunData, found: PairBoard, boards: Sequence[Board]
) -> dict[str, dict[str, str]]:
    """Return each table as LaTeX and as Markdown, by the name it has on the page."""
    texts = {}
    for board, table in zip(boards, _whole_first(found), strict=True):
        one = replace(found, tables=(table,))
        full = pair_document(one, names=run.names)
        compact = pair_document(one, names=run.names, compact=True)
        texts[board.id] = {
            "latex": write(replace(compact, grids=compact.grids[:1]), "tex"),
            "markdown": write(full, "md"),
        }

    return texts


# Tables


def _board(run: RunData, table: PairTable, prefix: str) -> Board:
    standings = [_standing(row) for row in table.rows]
    axis = standings_axis(standings)
    best = marks([row.strength for row in table.rows])
    lines = []
    for row, standing, mark in zip(table.rows, standings, best, strict=True):
        line = _line(run, row, standing, table, axis, prefix)
        lines.append(replace(line, mean=replace(line.mean, mark=mark)))

    grid = pair_grid(table, 2, run.names)
    return Board(
        id=board_id(prefix, table.task, WIN_RATE),
        task=table.task or "",
        task_title=grid.title,
        factor=WIN_RATE,
        factor_title="Comparisons of pairs",
        verdict=pair_verdict(table, run.names),
        lines=tuple(lines),
        axis=axis_head(axis),
        grouped=False,
        warnings=table.warnings,
        notes=(grid.caption, *table.notes),
        wins=_win_map(run, table, prefix),
        figures=replace(grid, caption="", above=(), below=(), verdict=""),
        value_title=PAIR_HEADINGS["strength"],
        further=(PAIR_HEADINGS["win_rate"],),
    )


def _standing(row: PairRow) -> DrawnStanding:
    return DrawnStanding(row.strength, row.strength_interval, row.rank, row.rank_interval)


def _line(
    run: RunData, row: PairRow, standing: DrawnStanding, table: PairTable, axis: Axis, prefix: str
) -> ResultLine:
    name = run.names.method(row.method)
    rank = NONE if row.rank is None else str(row.rank)
    strength, interval = number(row.strength, 2), span(row.strength_interval, 2)
    ranks = rank_words(row.rank_interval)
    return ResultLine(
        method=name,
        link=gallery_link(run, prefix, method=row.method, task=table.task),
        rank=Figure(rank, row.rank),
        mean=Figure(strength, row.strength),
        interval=interval,
        bar=interval_bar(standing, axis, f"{name}: strength {strength}, 95% interval {interval}"),
        ranks=ranks,
        strip=rank_strip(standing, len(table.rows), f"{name}: rank {rank}, interval {ranks}"),
        group=Markup(""),
        further=(Figure(percent(row.win_rate), row.win_rate),),
    )


def _win_map(run: RunData, table: PairTable, prefix: str) -> HeatMap | None:
    methods = [row.method for row in table.rows]
    if len(methods) < 2:
        return None

    rows = []
    for one in methods:
        cells = [_win_cell(run, table, one, other, prefix) for other in methods]
        rows.append((run.names.method(one), tuple(cells)))

    return HeatMap(
        "Win rates",
        tuple(run.names.method(name) for name in methods),
        tuple(rows),
        "How often the method of the row beat that of the column; a tie counts one half. "
        "Click a figure to see the pair.",
        "Method",
    )


def _win_cell(run: RunData, table: PairTable, one: str, other: str, prefix: str) -> HeatCell:
    rate = table.rate(one, other)
    if one == other or rate is None:
        return HeatCell("")

    won, lost = table.wins.get((one, other), 0), table.wins.get((other, one), 0)
    tied = table.ties.get((one, other), 0)
    first, second = run.names.method(one), run.names.method(other)
    words = f"{first} against {second}: {won} won, {tied} tied, {lost} lost"
    link = gallery_link(run, prefix, method=one, against=other, task=table.task)
    return HeatCell(percent(rate), diverging(2 * rate - 1), words, link)


def _task_map(run: RunData, tables: Sequence[PairTable], prefix: str) -> HeatMap | None:
    """Return the win rate of every method in every task category."""
    parts = [table for table in tables if table.task is not None]
    if len(parts) < 2:
        return None

    by_task = [{row.method: row.win_rate for row in table.rows} for table in parts]
    rows = []
    for row in tables[0].rows:
        cells = []
        for table, rates in zip(parts, by_task, strict=True):
            rate = rates.get(row.method)
            shade = "" if rate is None else diverging(2 * rate - 1)
            link = gallery_link(run, prefix, method=row.method, task=table.task)
            cells.append(HeatCell(percent(rate), shade, "", link if rate is not None else ""))

        rows.append((run.names.method(row.method), tuple(cells)))

    titles = tuple(run.names.task(table.task or "") for table in parts)
    return HeatMap("Win rates by task category", titles, tuple(rows), corner="Method")


# Position


def _position_chart(run: RunData, tables: Sequence[PairTable], number_of_run: int) -> Chart:
    title = "Verdicts by the place in which an edit was shown"
    lines = {_place_title(run, table): _by_place(run, table.task) for table in tables}
    return preference_chart(f"position-{number_of_run}", title, lines)


def _place_title(run: RunData, table: PairTable) -> str:
    return "All task categories" if table.task is None else run.names.task(table.task)


def _by_place(run: RunData, task: str | None) -> tuple[int, int, int]:
    """Return how many verdicts went to the edit shown first, to neither, to the second."""
    own = [row for row in run.comparisons if row.winner and task in (None, row.task)]
    counts = Counter(_place(row) for row in own)
    return counts["first"], counts[TIE], counts["second"]


def _place(row: Comparison) -> str:
    if row.winner == TIE:
        return TIE
    return "first" if row.winner == row.shown[0] else "second"


def _position_grid(run: RunData, tables: Sequence[PairTable]) -> Grid:
    rows = []
    for table in tables:
        bias, swings = table.position, table.swings
        judged = f"{table.inconsistent} of {table.twice}" if table.twice else NONE
        followed = f"{swings.first} of {swings.decided}" if swings.decided else NONE
        p = swings.p if table.twice else bias.p
        rows.append(
            plain(
                _place_title(run, table),
                f"{bias.first} of {bias.decided}",
                percent(bias.share),
                judged,
                followed,
                p_value(p),
            )
        )

    return Grid(
        "Position",
        (
            "Task category",
            "First won",
            "Share",
            "Ended differently",
            "Of these, to the first",
            "p",
        ),
        tuple(rows),
        "First won: verdicts for the edit shown first, of all that were not ties. Ended "
        "differently: matches whose two orders disagree; they count as ties. The p-value is that "
        "of a judge without preference for a place.",
        text_columns=frozenset({0}),
    )


# What to be careful about


def _cautions(run: RunData, whole: PairTable) -> list[str]:
    found = [run.manifest.caution, run.unfinished, *whole.warnings, *run.lacking(run.talks)]
    if len(run.items) < FEW_ITEMS:
        few = counted(len(run.items), "item")
        found.append(f"{few}: one odd picture can move every strength. Look at the intervals.")

    if not whole.twice:
        found.append("Each pair was shown in one order only: a preference for a place remains.")

    p = whole.swings.p if whole.twice else whole.position.p
    if p is not None and p <= 0.05:
        found += [note for note in whole.notes if note.startswith("Position:")]
    elif whole.twice and whole.inconsistent / whole.twice > 0.25:
        share = percent(whole.inconsistent / whole.twice)
        found.append(f"{share} of the matches ended differently in the two orders.")

    if run.repeats == 1:
        found.append(
            "Each pair was judged once in each order: the judge’s own variation is not known."
        )

    found.append("No human votes were given: whether people would agree is not known.")
    if run.manifest.repairs:
        times = counted(run.manifest.repairs, "time")
        found.append(f"Verdicts could only be read after asking again {times}.")

    return [text for text in dict.fromkeys(found) if text]
