"""A leaderboard as tables in any format, and the sentence that says who is ahead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from statistics import fmean
from typing import Any, Literal, get_args

from lmmscore.errors import LmmscoreError, counted, listed, nearest
from lmmscore.leaderboard import BoardRow, BoardTable, Leaderboard, diagnostics
from lmmscore.leaderboard.compare import RankChange, RunComparison, TaskAgainst
from lmmscore.leaderboard.cube import Groups
from lmmscore.leaderboard.diagnostics import PositionEffect
from lmmscore.leaderboard.matches import PairBoard, PairRow, PairTable
from lmmscore.records import OVERALL
from lmmscore.report.formats import (
    HEADINGS,
    LOW,
    NONE,
    Cell,
    DisplayNames,
    Grid,
    TableDocument,
    TableLayout,
    marks,
    number,
    p_value,
    percent,
    plain,
    rank_span,
    span,
    write,
)
from lmmscore.run_folder import Manifest, Run
from lmmscore.stats import rounded
from lmmscore.stats.correlation import Components

# --------------------------------------------------------------------------------------------------
# A leaderboard as grids: one a table, or one for all task categories side by side.
# --------------------------------------------------------------------------------------------------


def table_grid(table: BoardTable, *, decimals: int) -> Grid:
    """Return one table: rank, method, mean and all that says how sure it is, then the factors."""
    factors = list(table.rows[0].factors) if table.rows else []
    texts = [_texts(row, decimals) for row in table.rows]
    # Not every table has something to say in these.
    empty = [
        key for key in ("common_mean", "rank_range") if all(line[key] == NONE for line in texts)
    ]
    keys = [key for key in HEADINGS if key not in empty]
    means = marks([row.mean for row in table.rows], low=table.is_lower_better)
    by_factor = []
    for name in factors:
        low = name in table.lower_better
        by_factor.append(_marked([row.factors[name] for row in table.rows], decimals, low=low))

    rows = []
    for k, line in enumerate(texts):
        lead = [Cell(line[key], means[k] if key == "mean" else "") for key in keys]
        rows.append((*lead, *(column[k] for column in by_factor)))

    keys += factors
    heads = HEADINGS | {"mean_interval": f"{percent(table.level)} interval"}
    heads |= {name: f"{name} {LOW}" for name in table.lower_better}
    if table.is_lower_better:
        heads |= {key: f"{HEADINGS[key]} {LOW}" for key in ("mean", "common_mean")}

    return Grid(
        title=title_of(table),
        columns=tuple(heads.get(key, key) for key in keys),
        rows=tuple(rows),
        keys=tuple(keys),
        caption=table.caption,
        above=table.warnings,
        below=table.notes,
        incomplete=table.holes > 0,
        text_columns=frozenset({1}),
        spare=frozenset(range(len(keys) - len(factors), len(keys))),
    )


def _texts(row: BoardRow, decimals: int) -> dict[str, str]:
    """Return what stands in each column that `HEADINGS` names."""
    return {
        "rank": number(row.rank, 0),
        "method": row.method,
        "mean": number(row.mean, decimals),
        "common_mean": number(row.common_mean, decimals),
        "std": number(row.std, decimals),
        "n": str(row.n),
        "coverage": percent(row.coverage),
        "mean_interval": span(row.mean_interval, decimals),
        "rank_interval": span(row.rank_interval, 0),
        "rank_range": span(row.rank_range, 0),
        "group": row.group or NONE,
    }


def _marked(values: Sequence[float | None], decimals: int, *, low: bool) -> list[Cell]:
    """Return a column of figures, its best and second best marked; `low`: low ones are good."""
    flags = marks(values, low=low)
    return [Cell(number(value, decimals), flags[k]) for k, value in enumerate(values)]


@dataclass(frozen=True, slots=True)
class RankedMethod:
    """One method in a table of scores or of pairs, which are drawn alike."""

    method: str
    value: float | None
    """What methods are ranked by: the mean, or the strength."""
    interval: tuple[float, float] | None
    rank: int | None
    rank_interval: tuple[int, int] | None
    rank_range: tuple[int, int] | None = None
    """The ranks that missing scores would allow; pairs have none."""
    group: str = ""
    """Letters of the groups it belongs to; pairs have none."""
    share: float | None = None
    """The coverage of its scores, or the share of its matches that it won."""


def ranked_methods(table: BoardTable | PairTable) -> list[RankedMethod]:
    """Return the methods of a table of either kind, in its order."""
    if isinstance(table, PairTable):
        return [
            RankedMethod(
                row.method,
                row.strength,
                row.strength_interval,
                row.rank,
                row.rank_interval,
                share=row.win_rate,
            )
            for row in table.rows
        ]

    return [
        RankedMethod(
            row.method,
            row.mean,
            row.mean_interval,
            row.rank,
            row.rank_interval,
            row.rank_range,
            row.group,
            row.coverage,
        )
        for row in table.rows
    ]


def title_of(table: BoardTable) -> str:
    """Return the heading of a table: its task category and its factor."""
    everywhere = ", ".join(table.among) or "All task categories"
    place = everywhere if table.task is None else table.task
    return place if table.factor == OVERALL else f"{place}: {table.factor}"


def wide_grid(tables: Sequence[BoardTable], *, decimals: int) -> Grid:
    """Return all task categories side by side, as surveys print them:
    a group of columns for each."""
    methods = _by_standing(tables)
    columns, groups, blocks = ["Method"], [("", 1)], []
    for table in tables:
        groups.append((title_of(table), 2))
        columns += [f"Mean {LOW} ± std" if table.is_lower_better else "Mean ± std", "Rank"]
        blocks.append(_block(table, methods, decimals))

    rows = [
        (Cell(method), *(cell for block in blocks for cell in block[k]))
        for k, method in enumerate(methods)
    ]
    counts = ", ".join(
        f"{title_of(table)} {max(row.items for row in table.rows)}" for table in tables
    )
    warnings = [f"{title_of(table)}: {text}" for table in tables for text in table.warnings]
    return Grid(
        title="Task categories side by side",
        columns=tuple(columns),
        rows=tuple(rows),
        caption=f"Mean {tables[0].factor} ± std, and rank; {tables[0].rule}. Items: {counts}.",
        above=tuple(warnings),
        incomplete=any(table.holes for table in tables),
        groups=tuple(groups),
    )


def _by_standing(tables: Sequence[BoardTable]) -> list[str]:
    """Return the methods, best first: in the table over all categories if there is one, else by
    their mean rank. Methods without a rank come last."""
    whole = [table for table in tables if table.task is None]
    if whole:
        return [row.method for row in whole[0].rows]

    ranks: dict[str, list[int]] = {row.method: [] for table in tables for row in table.rows}
    for table in tables:
        for row in table.rows:
            ranks[row.method] += [] if row.rank is None else [row.rank]

    mean_rank = {name: fmean(own) if own else inf for name, own in ranks.items()}
    return sorted(ranks, key=lambda name: (mean_rank[name], name))


def _block(table: BoardTable, methods: Sequence[str], decimals: int) -> list[tuple[Cell, Cell]]:
    rows = {row.method: row for row in table.rows}
    found = [rows.get(method) for method in methods]
    flags = marks([row.mean if row else None for row in found], low=table.is_lower_better)
    cells = []

    for row, flag in zip(found, flags, strict=True):
        if row is None or row.mean is None:
            cells.append((Cell(NONE), Cell(NONE)))
            continue

        std = "" if row.std is None else f" ± {number(row.std, decimals)}"
        cells.append((Cell(number(row.mean, decimals) + std, flag), Cell(str(row.rank))))

    return cells


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
        f"{percent(table.level)} difference",
        "p",
        "p (Holm)",
        "n",
        "Won/tied/lost",
    )
    below = () if rows else ("Fewer than two methods with scores: no differences.",)
    if rows and table.is_lower_better:
        below = ("First less second. Lower is better: a negative difference is a lead.",)

    return Grid(
        f"Differences: {title_of(table)}",
        columns,
        rows,
        below=below,
        text_columns=frozenset({0, 1}),
    )


def win_rate_grid(table: BoardTable) -> Grid:
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
    better = "lower, which is better," if table.is_lower_better else "higher"
    caption = f"Items on which the method of the row scored {better} than that of the column."
    return Grid(f"Wins: {title_of(table)}", ("Method", *methods), rows, caption)


def position_grid(effect: PositionEffect, decimals: int) -> Grid:
    """Return each method's mean place and its mean before and after allowing for it."""
    sign = 1 if effect.lower_better else -1
    order = sorted(effect.means, key=lambda name: sign * effect.means[name])
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
    items = counted(effect.items, "item")
    caption = f"Means over judgements (n = {effect.n}, {items}). {effect.statement}"
    return Grid("Position", columns, rows, caption, above=effect.doubts)


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
            f"Variance components over {counted(found.items, 'item')} that all {found.methods} "
            "methods have; "
            "then the standard error of the difference of two methods' means.",
            text_columns=frozenset(),
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
    )


def habit_grid(found: diagnostics.Habits, *, asks_to_avoid_ties: bool) -> Grid:
    """Return how the judge uses the scale, and what else it tends to do."""
    rows = tuple(
        plain(
            use.factor,
            str(use.n),
            span((use.lowest, use.highest), 1),
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
            number(row.printed_rank, 0),
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
    return Grid(f"{place} against {name}", columns, rows, caption, (), tuple(below))


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
        heading = called.task(task) + ("" if factor == OVERALL else f": {factor}")
        grids.append(
            Grid(
                heading,
                ("Method", *_change_heads(found.names)),
                tuple(_change_row(line, called, decimals) for line in lines),
                _ranks_caption(found, factor, task),
            )
        )

    return [*grids, _agreement_grid(found, decimals)]


def _ranks_caption(found: RunComparison, factor: str, task: str | None) -> str:
    """Return what the ranks are over and what a change is."""
    lines = [line for line in found.changes if (line.factor, line.task) == (factor, task)]
    change = f", and the change of rank from {found.names[0]} among the methods that both rank"
    compared = all(line.same_items for line in lines)
    ranked = f"Rank (mean {factor}) in each run{change if compared else ''}."
    return f"{found.statement(factor, task)} {ranked}".strip()


def _change_heads(names: Sequence[str]) -> list[str]:
    heads = [names[0]]
    for name in names[1:]:
        heads += [name, "Change"]
    return heads


def _change_row(line: RankChange, names: DisplayNames, decimals: int) -> tuple[Cell, ...]:
    cells = [names.method(line.method)]
    for k, (rank, mean) in enumerate(zip(line.ranks, line.means, strict=True)):
        n = "" if line.same_items else f", n = {line.n[k]}"
        cells.append(NONE if rank is None else f"{rank} ({number(mean, decimals)}{n})")
        if k:
            cells.append(rank_change(line.changes[k]))

    return plain(*cells)


def rank_change(places: int | None) -> str:
    """Return a change of rank in a way that cannot be misread: `▲ 2 better`, `▼ 5 worse`."""
    if places is None:
        return NONE

    if not places:
        return "same"

    return f"▲ {-places} better" if places < 0 else f"▼ {places} worse"


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


# --------------------------------------------------------------------------------------------------
# A leaderboard as tables in any format, and the sentence that says who is ahead.
# --------------------------------------------------------------------------------------------------

Format = Literal["md", "csv", "tex", "json", "term"]
FORMATS: tuple[Format, ...] = get_args(Format)

Style = Literal["compact", "full"]


def display_names(manifest: Manifest, more: Mapping[str, str] | None = None) -> DisplayNames:
    """Return the names a run's benchmark gave to its methods and tasks, and `more` for methods."""
    names = {**manifest.method_names, **(more or {})}
    # What was judged beside a few methods only is marked wherever it stands.
    names |= {method: f"{names.get(method, method)} †" for method in manifest.beside}
    return DisplayNames(names, manifest.task_titles)


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
    def shows_intervals(self) -> bool:
        """Whether any column rests on intervals or tests."""
        chosen = {"mean_interval", "rank_interval", "group"}.intersection(self.columns)
        return bool(chosen) or not self.columns

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
        factors = dict.fromkeys(table.factor for table in shown)
        sides = [[table for table in shown if table.factor == factor] for factor in factors]
        grids = [wide_grid(tables, decimals=view.places) for tables in sides]
    else:
        grids = [_grid(table, view) for table in shown]

    rules = [] if view.wide else [_rule(table, view) for table in shown]
    unexplained = board.test_notes if view.wide or not view.shows_intervals else []
    notes = [note for note in board.notes if note not in unexplained]
    return TableDocument(
        grids=[*grids, *further],
        caution=board.caution,
        notes=list(dict.fromkeys([*(rule for rule in rules if rule), *notes])),
        # Programs get every table, its methods under their own names: a display name is no key.
        records=[
            {**_rounded(record, view.decimals), "caption": table.caption}
            for table in board.tables
            for record in table.records()
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


def _rule(table: BoardTable, view: BoardView) -> str:
    """Return how the means were made; without what the table does not show."""
    parts = table.rule.split("; ") if table.rule else []
    if "std" not in view.columns if view.columns else view.style == "compact":
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

    shown = {*grid.keys, "rank_interval"} if view.style == "compact" else {*grid.keys}
    below = [note for note in grid.below if shown.intersection(table.explained.get(note, shown))]
    # The rule is the same for all tables and stands once, below them.
    caption = table.caption.removesuffix(f"; {table.rule}.")
    return replace(
        grid,
        title=title_of(table),
        below=tuple(below),
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

    # Figures without the name of their method say nothing.
    named = columns if "method" in columns else ["method", *columns]
    return replace(grid.select([grid.keys.index(name) for name in named]), spare=frozenset())


def compact_grid(table: BoardTable, decimals: int) -> Grid:
    """Return what a paper prints: method, mean ± its interval, rank interval, group."""
    note = []
    if any(row.mean_interval for row in table.rows):
        level = percent(table.level)
        note.append(f"±: {level} interval of the mean, its longer side where a scale ends.")

    grouped = any(row.group for row in table.rows)
    means = [_with_margin(row, decimals) for row in table.rows]
    grid = table_grid(table, decimals=decimals)
    return _compact(
        grid, table, ("method", "mean", "rank", *(["group"] if grouped else [])), note, mean=means
    )


def _compact(
    grid: Grid,
    table: BoardTable | PairTable,
    keys: Sequence[str],
    notes: Sequence[str] = (),
    **texts: Sequence[str],
) -> Grid:
    """Return some columns, ranks with their intervals, and other `texts` in those they name."""
    texts["rank"] = [_rank_words(row) for row in table.rows]
    rows = []
    for k, row in enumerate(grid.rows):
        cells = dict(zip(grid.keys, row, strict=True))
        changed = {key: replace(cells[key], text=column[k]) for key, column in texts.items()}
        rows.append(tuple((cells | changed).values()))

    ranked = any(row.rank_interval for row in table.rows)
    said = " ".join([*notes, *(["In parentheses: rank interval."] if ranked else [])])
    below = (said, *table.notes) if said else table.notes
    return replace(grid, rows=tuple(rows), below=below).select([*map(grid.keys.index, keys)])


def _with_margin(row: BoardRow, decimals: int) -> str:
    if row.mean is None or row.mean_interval is None:
        return number(row.mean, decimals)
    # An interval ends where the scale does: half its width would be less than it reaches.
    low, high = row.mean_interval
    reach = max(row.mean - low, high - row.mean)
    return f"{number(row.mean, decimals)} ± {number(reach, decimals)}"


def _rank_words(row: BoardRow | PairRow) -> str:
    if row.rank is None:
        return NONE
    if row.rank_interval is None:
        return str(row.rank)
    return f"{row.rank} ({rank_span(row.rank_interval)})"


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
    _write_files(run, lambda form: render(board, form, names=names))
    return board


def _write_files(run: Run, rendered: Callable[[str], str]) -> None:
    for form in FORMATS:
        if form != "term":
            path = run.path / f"leaderboard.{form}"
            path.write_text(rendered(form), encoding="utf-8")


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

_PAPER = ("method", "strength", "strength_interval", "rank", "win_rate")
"""The columns that a paper has room for."""


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
    document = pair_document(board, decimals, names, compact=format == "tex")
    return write(document, format, TableLayout(width, color))


def pair_document(
    board: PairBoard,
    decimals: int | None = None,
    names: DisplayNames | None = None,
    *,
    compact: bool = False,
) -> TableDocument:
    """Return a leaderboard of pairs as a document that any format can write.

    A compact one has the columns that a paper has room for.
    """
    names = names or DisplayNames()
    places = 2 if decimals is None else decimals
    grids: list[Grid] = []
    records = []

    for table in board.tables:
        grid = pair_grid(table, places, names)
        grids += [_compact(grid, table, _PAPER) if compact else grid, win_grid(table, names)]
        records += [_rounded(record, decimals) for record in table.records()]

    return TableDocument(
        grids=grids,
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
            Cell(number(row.rank, 0)),
            Cell(names.method(row.method)),
            Cell(number(row.strength, decimals), strength_mark),
            Cell(span(row.strength_interval, decimals)),
            Cell(span(row.rank_interval, 0)),
            Cell(percent(row.win_rate), rate_mark),
            Cell(f"{row.wins}/{row.ties}/{row.losses}"),
        )
        rows.append(cells)

    items = counted(table.items, "item")
    played = counted(table.matches, "match", "matches")
    heads = PAIR_HEADINGS | {"strength_interval": f"{percent(table.level)} interval"}
    return Grid(
        title=names.task(table.task),
        columns=tuple(heads.values()),
        rows=tuple(rows),
        keys=tuple(PAIR_HEADINGS),
        caption=f"{items}, {played}.",
        above=table.warnings,
        incomplete=table.unscored > 0,
        below=("W/T/L: matches won, tied and lost.", *table.notes),
        verdict=pair_verdict(table, names),
        text_columns=frozenset({1}),
    )


def win_grid(table: PairTable, names: DisplayNames) -> Grid:
    """Return how often the method of a row beat that of a column."""
    methods = [row.method for row in table.rows]
    rows = []

    for one in methods:
        rates = ["" if one == other else percent(table.rate(one, other)) for other in methods]
        rows.append(plain(names.method(one), *rates))

    return Grid(
        title=f"{names.task(table.task)}: win rates",
        columns=("Row against column", *(names.method(name) for name in methods)),
        rows=tuple(rows),
        caption="How often the method of the row beat that of the column; a tie counts one half.",
    )


def pair_verdict(table: PairTable, names: DisplayNames) -> str:
    """Return who is ahead, in a sentence that claims no more than the rank intervals do."""
    ranked = [row for row in table.rows if row.rank is not None]
    if len(ranked) < 2:
        return "The methods cannot be ranked together." if len(table.rows) > 1 else ""

    leaders = [row for row in ranked if row.rank == 1]
    interval = leaders[0].rank_interval
    if len(leaders) > 1:
        shared = f"{listed([names.method(row.method) for row in leaders])} share the first rank"
        return f"{shared}." if interval else f"{shared}; too few comparisons to say how surely."

    first, level = names.method(leaders[0].method), percent(table.level)
    if interval is None:
        return f"{first} ranks first; too few comparisons to say how surely."
    if interval == (1, 1):
        return f"{first} ranks first; its {level} interval holds no other rank."
    return f"{first} ranks first, but its {level} interval reaches rank {interval[1]}."


def write_pair_boards(run: Run) -> PairBoard:
    """Write leaderboard.md, .csv, .tex and .json of a run that compares pairs; return the board."""
    board = run.pair_board()
    names = display_names(run.manifest)
    _write_files(run, lambda form: render_pairs(board, form, names=names))
    return board
