"""A leaderboard as grids: one a table, or one for all task categories side by side."""

from __future__ import annotations

from collections.abc import Sequence

from lmmscore.leaderboard import diagnostics
from lmmscore.leaderboard.board import BoardRow, BoardTable, Leaderboard
from lmmscore.leaderboard.compare import RankChange, RunComparison
from lmmscore.leaderboard.position import PositionEffect
from lmmscore.leaderboard.published import TaskAgainst
from lmmscore.records import OVERALL
from lmmscore.report.grids import (
    HEADINGS,
    NONE,
    Cell,
    DisplayNames,
    Grid,
    count,
    marks,
    number,
    p_value,
    percent,
    plain,
    span,
)
from lmmscore.stats.reliability import Components


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
    """Return all task categories side by side, as surveys print them:
    a group of columns for each."""
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
    """Return the methods, best first in the table over all categories if there is one,
    else by name."""
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
    """Return the grids of a leaderboard: one a table or, `wide`,
    one a factor with tasks side by side."""
    if not wide:
        return [table_grid(table, decimals=decimals) for table in board.tables]

    factors = dict.fromkeys(table.factor for table in board.tables)
    grids = []
    for factor in factors:
        tables = [table for table in board.tables if table.factor == factor]
        grids.append(wide_grid(tables, decimals=decimals))
    return grids


def difference_grid(table: BoardTable, decimals: int) -> Grid:
    """Return every pair of methods with its difference, interval and p-values."""
    pairs = table.differences.pairs if table.differences else ()
    rows = tuple(
        plain(
            d.first,
            d.second,
            number(d.difference, decimals),
            span(d.interval, decimals),
            p_value(d.p),
            p_value(d.p_holm),
            str(d.n),
            f"{d.wins}/{d.ties}/{d.losses}",
        )
        for d in pairs
    )
    columns = (
        "First",
        "Second",
        "Difference",
        "95% difference",
        "p",
        "p (Holm)",
        "n",
        "Won/tied/lost",
    )
    below = () if rows else ("Fewer than two methods with scores: no differences.",)
    return Grid(
        f"Differences: {title(table)}", columns, rows, below=below, text_columns=frozenset({0, 1})
    )


def win_grid(table: BoardTable) -> Grid:
    """Return on how many items the method of a row beat the method of a column."""
    methods = (
        table.differences.methods if table.differences else tuple(row.method for row in table.rows)
    )
    empty: list[list[int | None]] = [[None] * len(methods) for _ in methods]
    matrix = table.differences.win_matrix() if table.differences else empty
    rows = tuple(
        plain(method, *(NONE if wins is None else str(wins) for wins in line))
        for method, line in zip(methods, matrix, strict=True)
    )
    caption = "Items on which the method of the row scored higher than that of the column."
    return Grid(
        f"Wins: {title(table)}", ("Method", *methods), rows, caption, text_columns=frozenset({0})
    )


def position_grid(effect: PositionEffect, decimals: int) -> Grid:
    """Return each method's mean place and its mean before and after allowing for it."""
    order = sorted(effect.means, key=lambda name: -effect.means[name])
    rows = tuple(
        plain(
            name,
            number(effect.places[name], decimals),
            number(effect.means[name], decimals),
            number(effect.adjusted.get(name), decimals),
        )
        for name in order
    )
    columns = ("Method", "Mean place", f"Mean {effect.factor}", "Order-adjusted mean")
    items = count(effect.items, "item")
    caption = f"Means over judgements (n = {effect.n}, {items}). {effect.statement}"
    return Grid(
        "Position", columns, rows, caption, above=effect.doubts, text_columns=frozenset({0})
    )


def repeat_grid(spreads: Sequence[diagnostics.Spread], decimals: int) -> Grid:
    """Return the spread over repeats apart from that over items."""
    rows = tuple(
        plain(
            s.method or "all edits",
            str(s.edits),
            str(s.judgements),
            number(s.within, decimals),
            number(s.between, decimals),
            number(s.reliability, decimals),
            number(s.reliability_of_mean, decimals),
        )
        for s in spreads
    )
    columns = (
        "Method",
        "Edits",
        "Judgements",
        "Std over repeats",
        "Std over items",
        "Reliability",
        "of the mean",
    )
    return Grid(
        "Repeats",
        columns,
        rows,
        diagnostics.repeat_statement(spreads[0]),
        text_columns=frozenset({0}),
    )


def variance_grid(found: Components | None, decimals: int) -> list[Grid]:
    """Return where the variance of scores comes from,
    and what one more item or repeat would bring."""
    if found is None:
        return []
    parts = (found.item, found.method, found.interaction, found.residual)
    more = None if found.residual is None else found.error_of_difference(replicates=1)
    errors = (found.error_of_difference(), found.error_of_difference(items=1), more)
    places = max(decimals, 3)
    row = plain(*(number(value, places) for value in (*parts, *errors)))
    columns = ("Item", "Method", "Item × method", "Repeat", "Now", "One more item")
    return [
        Grid(
            "Variance",
            (*columns, "One more repeat"),
            (row,),
            f"Variance components over {count(found.items, 'item')} that all {found.methods} "
            "methods have; "
            "then the standard error of the difference of two methods' means.",
            groups=(("Variance", 4), ("Error of a difference", 3)),
        )
    ]


def sensitivity_grid(found: diagnostics.Sensitivity) -> Grid:
    """Return how each method fares over all weights of the factors."""
    rows = tuple(
        plain(
            s.method,
            str(s.rank),
            percent(s.first),
            percent(s.same),
            span((s.best, s.worst), 0),
            "yes" if s.depends else "no",
        )
        for s in found.standings
    )
    columns = ("Method", "Rank", "First", "Keeps its rank", "Ranks", "Depends on weights")
    drawn = f"Over {found.sample:,} weightings drawn evenly from all there are."
    caption = f"{drawn} {diagnostics.sensitivity_statement(found)}"
    pairs = ", ".join(f"{a} and {b}" for a, b in found.reversible)
    below = (f"Other weights would put these in the other order: {pairs}.",) if pairs else ()
    return Grid(
        "Sensitivity to the weights",
        columns,
        rows,
        caption,
        below=below,
        text_columns=frozenset({0}),
    )


def habit_grid(found: diagnostics.Habits, *, asks_to_avoid_ties: bool) -> Grid:
    """Return how the judge uses the scale, and what else it tends to do."""
    rows = tuple(
        plain(
            use.factor,
            str(use.n),
            span((use.lowest, use.highest), 1)
            if use.lowest is not None and use.highest is not None
            else NONE,
            str(use.distinct),
            NONE
            if use.commonest is None
            else f"{use.commonest:g} ({percent(use.commonest_share)})",
            f"{use.tied_pairs} of {use.pairs}",
            f"{use.tied_sessions} of {use.sessions}",
        )
        for use in found.scale
    )
    columns = (
        "Factor",
        "Scores",
        "Range",
        "Different",
        "Commonest",
        "Tied pairs",
        "Sessions with a tie",
    )
    outcomes = ", ".join(f"{count} {name}" for name, count in found.outcomes.items())
    said = diagnostics.habit_statements(found, asks_to_avoid_ties=asks_to_avoid_ties)
    return Grid(
        "The judge's habits",
        columns,
        rows,
        f"Edits by outcome: {outcomes}." if outcomes else "",
        below=tuple(said),
        text_columns=frozenset({0}),
    )


def against_grid(found: TaskAgainst, name: str, decimals: int) -> Grid:
    """Return a run's task category beside the published one."""
    rows = tuple(
        plain(
            row.method
            if row.method == row.published_method
            else f"{row.method} = {row.published_method}",
            number(row.mean, decimals),
            number(row.published_mean, decimals),
            number(row.difference, decimals),
            str(row.rank),
            str(row.published_rank),
            NONE if row.printed_rank is None else str(row.printed_rank),
        )
        for row in found.rows
    )
    below = []
    if found.only_run:
        below.append(f"Only in this run: {', '.join(found.only_run)}.")
    if found.only_published:
        below.append(f"Only in {name}: {', '.join(found.only_published)}.")
    if found.ambiguous:
        below.append(
            f"Left out, for more than one name may be meant: {', '.join(found.ambiguous)}."
        )
    columns = (
        "Method",
        "Mean",
        f"Mean in {name}",
        "Difference",
        "Rank",
        "Rank by published mean",
        "Printed rank",
    )
    caption = (
        f"{found.statement} Ranks are among the methods in both; the printed rank is among all."
    )
    place = found.task if found.factor == OVERALL else f"{found.task}: {found.factor}"
    return Grid(f"{place} against {name}", columns, rows, caption, (), tuple(below), frozenset({0}))


def comparison_grids(
    found: RunComparison, decimals: int, names: DisplayNames | None = None
) -> list[Grid]:
    """Return the ranks in every run for each factor and task, then how far the runs agree."""
    called = names or DisplayNames()
    grids = []
    tables = dict.fromkeys((line.factor, line.task) for line in found.changes)
    # The table over all categories says most, and stands first.
    for factor, task in sorted(tables, key=lambda table: table[1] is not None):
        lines = [line for line in found.changes if (line.factor, line.task) == (factor, task)]
        heading = "All task categories" if task is None else called.task(task)
        heading += "" if factor == OVERALL else f": {factor}"
        grids.append(
            Grid(
                heading,
                ("Method", *_change_heads(found.names)),
                tuple(_change_row(line, called, decimals) for line in lines),
                f"Rank (mean {factor}) in each run, and the change of rank from {found.names[0]}.",
                text_columns=frozenset({0}),
            )
        )
    return [*grids, _agreement_grid(found, decimals)]


def _change_heads(names: Sequence[str]) -> list[str]:
    heads = [names[0]]
    for name in names[1:]:
        heads += [name, "Change"]
    return heads


def _change_row(line: RankChange, names: DisplayNames, decimals: int) -> tuple[Cell, ...]:
    cells = [names.method(line.method)]
    first = line.ranks[0]
    for k, (rank, mean) in enumerate(zip(line.ranks, line.means, strict=True)):
        cells.append(NONE if rank is None else f"{rank} ({number(mean, decimals)})")
        if k:
            cells.append(rank_change(first, rank))
    return plain(*cells)


def rank_change(before: int | None, after: int | None) -> str:
    """Return a change of rank in a way that cannot be misread: `▲ 2 better`, `▼ 5 worse`."""
    if before is None or after is None:
        return NONE

    if before == after:
        return "same"

    places = abs(after - before)
    return f"▲ {places} better" if after < before else f"▼ {places} worse"


def _agreement_grid(found: RunComparison, decimals: int) -> Grid:
    several = found.factors != (OVERALL,)
    rows = tuple(
        plain(
            *([pair.factor] if several else []),
            pair.first,
            pair.second,
            str(pair.edits),
            number(pair.pearson, decimals),
            number(pair.spearman, decimals),
            number(pair.mean_difference, decimals),
            number(pair.mean_distance, decimals),
            number(pair.rank_spearman, decimals),
            number(pair.rank_kendall, decimals),
        )
        for pair in found.agreements
    )
    columns = (
        *(["Factor"] if several else []),
        "First", "Second", "Edits", "Pearson", "Spearman", "Mean difference", "Mean distance",
        "Spearman of methods", "Kendall of methods",
    )  # fmt: skip
    caption = (
        "Agreement over the edits both runs scored (repeats averaged), and over the methods' means."
    )
    return Grid(
        "Agreement", columns, rows, caption, text_columns=frozenset(range(3 if several else 2))
    )
