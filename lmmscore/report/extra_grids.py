"""What stands behind a leaderboard, as grids: differences, wins, position, repeats,
sensitivity, habits."""

from __future__ import annotations

from collections.abc import Sequence

from lmmscore.leaderboard import diagnostics
from lmmscore.leaderboard.board import BoardTable
from lmmscore.leaderboard.compare import RankChange, RunComparison
from lmmscore.leaderboard.position import PositionEffect
from lmmscore.leaderboard.published import TaskAgainst
from lmmscore.records import OVERALL
from lmmscore.report.board_grids import title
from lmmscore.report.grids import (
    NONE,
    Cell,
    DisplayNames,
    Grid,
    number,
    p_value,
    percent,
    plain,
    span,
)
from lmmscore.stats.reliability import Components


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
    caption = f"Means over judgements (n = {effect.n}, {effect.items} items). {effect.statement}"
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
            f"Variance components over {found.items} items that all {found.methods} methods have; "
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
