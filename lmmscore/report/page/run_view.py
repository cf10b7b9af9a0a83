"""The result of one run: its tables with the verdict, what stands behind them, how it was made."""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from markupsafe import Markup

from lmmscore.errors import counted
from lmmscore.leaderboard import BoardRow, BoardTable, Leaderboard, rank
from lmmscore.leaderboard.diagnostics import Extras, extras, habit_statements
from lmmscore.records import OVERALL, Outcome
from lmmscore.report import leaderboard
from lmmscore.report.grids import (
    HEADINGS,
    NONE,
    Grid,
    Mark,
    marks,
    number,
    p_value,
    percent,
    plain,
    span,
    write,
)
from lmmscore.report.leaderboard import BoardView, board_document, with_names
from lmmscore.report.page.charts import (
    Axis,
    Chart,
    DrawnStanding,
    HeatCell,
    HeatMap,
    axis_head,
    distribution_chart,
    diverging,
    group_bars,
    interval_bar,
    means_map,
    position_chart,
    rank_strip,
    standings_axis,
)
from lmmscore.report.page.edits import board_id, slug
from lmmscore.report.run_data import RunData
from lmmscore.resources import __version__
from lmmscore.run_folder import Manifest

RESAMPLES, FEWER_RESAMPLES, MANY_ITEMS = 10_000, 2_000, 300
MATRIX_NOTES = 12
"""Methods up to which the win matrix has room for p-values."""
FEW_ITEMS = 20
"""Below this, one odd item moves every mean visibly."""
PACKAGES = ("numpy", "scipy", "pandas", "pillow", "openai")
FILES = ("run.yaml", "sessions.jsonl", "scores.csv", "pairs.csv")


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
    value_title: str = HEADINGS["mean"]
    further: tuple[str, ...] = ()
    """Headings of columns that not every board has: coverage where it is not complete."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many judgements had an outcome, and where that is drawn on a bar of width 100."""

    outcome: str
    count: int
    start: float
    width: float


@dataclass(frozen=True)
class RunView:
    """One run, as the page shows it."""

    name: str
    prefix: str
    number: int
    caution: str
    cautions: list[str]
    boards: list[Board]
    notes: tuple[str, ...]
    maps: list[HeatMap]
    charts: list[Chart]
    behind: str
    """What the grids are about, in a line."""
    grids: list[Grid]
    facts: list[tuple[str, str]]
    shares: list[Share]
    provenance: list[tuple[str, str]]


def rank_run(run: RunData) -> Leaderboard:
    """Rank the methods on every factor, in every task category and over all."""
    whole = _rank(run, run.main_factor, RESAMPLES)
    rest = [factor for factor in run.factors if factor != run.main_factor]
    if not rest:
        return whole

    # The factors' tables stand behind the overall's: fewer draws spare half a minute.
    fewer = RESAMPLES if len(run.items) <= MANY_ITEMS else FEWER_RESAMPLES
    parts = _rank(run, rest, fewer)
    new = [f"Factors: {note}" for note in parts.notes if note not in whole.notes]
    notes = dict.fromkeys((*whole.notes, *new))
    return replace(whole, tables=(*whole.tables, *parts.tables), notes=tuple(notes))


def _rank(run: RunData, factor: str | list[str], resamples: int) -> Leaderboard:
    caution = run.manifest.caution
    return rank(run.scores, factor=factor, scales=run.scales, caution=caution, resamples=resamples)


def view_run(
    run: RunData, found: Leaderboard, prefix: str, number_of_run: int, *, rated: bool
) -> RunView:
    """Return everything the page says of a run."""
    behind = extras(
        run.scores,
        factor=found.tables[0].factor,
        weights=run.weights,
        sessions=[record.model_dump(mode="json") for record in run.sessions] or None,
        level=0.95,
        seed=0,
    )
    return RunView(
        name=run.name,
        prefix=prefix,
        number=number_of_run,
        caution=run.manifest.caution,
        cautions=cautions(run, found, behind, rated=rated),
        boards=boards(run, found, prefix),
        notes=found.notes,
        maps=_maps(run, found, prefix),
        charts=_charts(run, number_of_run),
        behind=_behind(run),
        grids=_grids(run, behind),
        facts=facts(run),
        shares=coverage(run),
        provenance=provenance(run),
    )


# Tables


def boards(run: RunData, found: Leaderboard, prefix: str) -> list[Board]:
    """Return the tables for the page, that over all categories first."""
    parts = [table for table in found.tables if table.task is not None]
    tasks = {table.task for table in parts}

    # Of one task category, the table over all would say the same twice.
    shown = parts
    if len(tasks) != 1:
        whole = [table for table in found.tables if table.task is None]
        shown = [*whole, *parts]

    return [_board(run, table, found, prefix) for table in shown]


def _board(run: RunData, table: BoardTable, found: Leaderboard, prefix: str) -> Board:
    shown = with_names(replace(found, tables=(table,)), run.names).tables[0]
    axis = standings_axis([_standing(row) for row in table.rows])
    complete = all(row.coverage >= 1 for row in table.rows)
    letters = "".join(sorted({letter for row in table.rows for letter in row.group}))
    document = board_document(replace(found, tables=(table,)), BoardView(names=run.names))
    return Board(
        id=board_id(prefix, table.task, table.factor),
        task=table.task or "",
        task_title="All task categories" if table.task is None else run.names.task(table.task),
        factor=table.factor,
        factor_title=run.title(table.factor),
        verdict=shown.verdict,
        lines=tuple(_lines(run, table, prefix, axis, letters)),
        axis=axis_head(axis),
        grouped=bool(letters),
        warnings=table.warnings,
        notes=(table.caption, *table.notes),
        wins=_win_map(run, shown, table, prefix),
        figures=replace(document.grids[0], caption="", above=(), below=(), verdict=""),
        further=() if complete else (HEADINGS["coverage"],),
    )


def _standing(row: BoardRow) -> DrawnStanding:
    return DrawnStanding(row.mean, row.mean_interval, row.rank, row.rank_interval, row.rank_range)


def _lines(
    run: RunData, table: BoardTable, prefix: str, axis: Axis, letters: str
) -> Sequence[ResultLine]:
    best = marks([row.mean for row in table.rows])
    return [
        _line(run, row, table, prefix, axis, letters, best[place])
        for place, row in enumerate(table.rows)
    ]


def _line(
    run: RunData,
    row: BoardRow,
    table: BoardTable,
    prefix: str,
    axis: Axis,
    letters: str,
    mark: Mark,
) -> ResultLine:
    name = run.names.method(row.method)
    standing = _standing(row)
    interval, ranks = span(row.mean_interval, 2), rank_words(row.rank_interval)
    placed = NONE if row.rank is None else str(row.rank)
    mean = number(row.mean, 2)
    group = f"groups {', '.join(row.group)}" if row.group else "no group"
    return ResultLine(
        method=name,
        link=gallery_link(run, prefix, method=row.method, task=table.task, factor=table.factor),
        rank=Figure(placed, row.rank),
        mean=Figure(mean, row.mean, mark),
        interval=interval,
        bar=interval_bar(standing, axis, f"{name}: mean {mean}, 95% interval {interval}"),
        ranks=ranks,
        strip=rank_strip(
            standing, len(table.rows), f"{name}: rank {placed}, rank interval {ranks}"
        ),
        group=group_bars(row.group, letters, f"{name}: {group}"),
        further=(Figure(percent(row.coverage), row.coverage),),
    )


def rank_words(interval: tuple[int, int] | None) -> str:
    """Return a rank interval, as one number where it is one."""
    if interval is not None and interval[0] == interval[1]:
        return str(interval[0])
    return span(interval, 0)


def gallery_link(
    run: RunData,
    prefix: str,
    *,
    method: str | None = None,
    against: str | None = None,
    task: str | None = None,
    factor: str | None = None,
) -> str:
    """Return the link to the edits that a figure is about."""
    words = []
    if prefix:
        words.append(f"run={prefix}")

    if task is not None:
        words.append(f"task={slug(task)}")

    if method is not None:
        words.append(f"method={slug(method)}")

    if against is not None:
        words += [f"against={slug(against)}", "sort=difference"]

    if factor is not None and factor != run.main_factor:
        words.append(f"factor={slug(factor)}")

    query = "&".join(words)
    return f"#gallery?{query}" if query else "#gallery"


def _win_map(run: RunData, shown: BoardTable, table: BoardTable, prefix: str) -> HeatMap | None:
    """Return how often the method of a row beat that of a column, with the corrected p-value."""
    if table.differences is None or shown.differences is None or len(table.rows) < 2:
        return None

    cells: dict[tuple[str, str], HeatCell] = {}
    pairs = zip(table.differences.pairs, shown.differences.pairs, strict=True)
    for raw, pair in pairs:
        link = gallery_link(
            run, prefix, method=raw.first, against=raw.second, task=table.task, factor=table.factor
        )
        significant = pair.p_holm is not None and pair.p_holm <= table.differences.alpha
        star = "*" if significant else ""
        for first, second, won, lost in (
            (pair.first, pair.second, pair.wins, pair.losses),
            (pair.second, pair.first, pair.losses, pair.wins),
        ):
            share = (won - lost) / pair.n if pair.n else None
            words = (
                f"{first} against {second}: {won} won, {pair.ties} tied, {lost} lost; "
                f"p = {p_value(pair.p_holm)} (Holm)"
            )
            note = f"p {p_value(pair.p_holm)}" if len(table.rows) <= MATRIX_NOTES else ""
            cells[first, second] = HeatCell(f"{won}{star}", diverging(share), words, link, note)

    names = [row.method for row in shown.rows]
    rows = [
        (name, tuple(cells.get((name, other), HeatCell("")) for other in names)) for name in names
    ]
    return HeatMap(
        "Wins and p-values",
        tuple(names),
        tuple(rows),
        "Items on which the method of the row scored higher than that of the column, and the "
        "p-value "
        "of the difference of their means, corrected for all pairs (Holm); * at most 0.05. "
        "Click a figure to see the pair.",
        "Method",
    )


def copies(run: RunData, found: Leaderboard, shown: Sequence[Board]) -> dict[str, dict[str, str]]:
    """Return each table as LaTeX and as Markdown, by the name it has on the page."""
    tables = {(table.task or "", table.factor): table for table in found.tables}
    texts = {}
    for board in shown:
        one = replace(found, tables=(tables[board.task, board.factor],))
        compact = BoardView(style="compact", names=run.names)
        texts[board.id] = {
            "latex": write(board_document(one, compact), "tex"),
            "markdown": write(board_document(one, BoardView(names=run.names)), "md"),
        }

    return texts


# What stands behind the tables


def _maps(run: RunData, found: Leaderboard, prefix: str) -> list[HeatMap]:
    main = [table for table in found.tables if table.factor == run.main_factor]
    whole = next((table for table in main if table.task is None), main[0])
    order = [row.method for row in whole.rows]
    shown = {method: run.names.method(method) for method in order}
    maps = []
    factors = [factor for factor in run.factors if factor != run.main_factor]
    if factors:
        means = {
            (shown[row.method], run.title(factor)): row.factors.get(factor)
            for row in whole.rows
            for factor in factors
        }
        links = {
            (shown[method], run.title(factor)): gallery_link(
                run, prefix, method=method, factor=factor
            )
            for method in order
            for factor in factors
        }
        titles = [run.title(factor) for factor in factors]
        maps.append(
            means_map("Methods by factor", list(shown.values()), titles, means, links=links)
        )

    tasks = [table for table in main if table.task is not None]
    if len(tasks) > 1:
        maps.append(_task_map(run, tasks, shown, prefix))

    return maps


def _task_map(
    run: RunData, tables: Sequence[BoardTable], shown: Mapping[str, str], prefix: str
) -> HeatMap:
    means: dict[tuple[str, str], float | None] = {}
    links: dict[tuple[str, str], str] = {}
    for table in tables:
        assert table.task is not None
        title = run.names.task(table.task)
        for row in table.rows:
            place = (shown.get(row.method, row.method), title)
            means[place] = row.mean
            links[place] = gallery_link(run, prefix, method=row.method, task=table.task)

    titles = [run.names.task(table.task or "") for table in tables]
    return means_map("Methods by task category", list(shown.values()), titles, means, links=links)


def _charts(run: RunData, number_of_run: int) -> list[Chart]:
    factor = run.main_factor
    values = {
        run.names.method(method): [
            mean
            for item, _ in run.items
            if (edit := run.edits.get((item, method))) and (mean := edit.mean(factor)) is not None
        ]
        for method in run.methods
    }
    values = dict(sorted(values.items(), key=lambda own: -float(np.mean(own[1] or [-1e9]))))
    known = [value for own in values.values() for value in own]
    charts = []
    if known:
        scale = run.scales.get(factor) or (min(known), max(known) + 1e-9)
        name = f"distribution-{number_of_run}"
        charts.append(distribution_chart(name, values, scale, run.title(factor)))

    places = {} if run.apart else place_means(run, factor)
    if len(places) > 1:
        charts.append(position_chart(f"position-{number_of_run}", places, run.title(factor)))

    return charts


def place_means(run: RunData, factor: str) -> dict[int, tuple[float, float]]:
    """Return, by place, the mean of score less the method's mean, and half its 95% interval."""
    rows = run.scores[(run.scores["factor"] == factor) & run.scores["score"].notna()]
    rows = rows[rows["position"].notna()]
    if rows.empty:
        return {}

    gaps = rows["score"] - rows.groupby("method")["score"].transform("mean")
    found = {}
    for place, own in gaps.groupby(rows["position"].astype(int)):
        spread = float(own.std(ddof=1)) if len(own) > 1 else 0.0
        found[int(place)] = (float(own.mean()), 1.96 * spread / float(np.sqrt(len(own))))

    return found


def _behind(run: RunData) -> str:
    repeats = "repeats, " if run.repeats > 1 else ""
    return f"position, {repeats}weights, the judge’s use of the scale, cost"


def _grids(run: RunData, behind: Extras) -> list[Grid]:
    grids = [leaderboard.position_grid(behind.position, 2)]
    if behind.repeats and run.repeats > 1:
        grids.append(leaderboard.repeat_grid(behind.repeats, 2))

    if behind.sensitivity is not None:
        grids.append(leaderboard.sensitivity_grid(behind.sensitivity))

    asks = run.manifest.avoid_ties
    grids.append(leaderboard.habit_grid(behind.habits, asks_to_avoid_ties=asks))
    cost = cost_grid(run)
    return [*grids, cost] if cost else grids


def cost_grid(run: RunData) -> Grid | None:
    """Return what the turns about each method's edits took, and what a session took on average."""
    spent: dict[str, list[float]] = {}
    for talk in run.talks:
        for turn in talk.turns:
            if turn.entry is None:
                continue

            method = talk.method_at(turn.position) or talk.method or "whole session"
            usage = turn.reply.usage
            row = spent.setdefault(method, [0.0, 0.0, 0.0, 0.0])
            row[0] += 1
            row[1] += usage.prompt_tokens or 0
            row[2] += usage.completion_tokens or 0
            row[3] += turn.reply.cost_usd or 0.0

    totals = [sum(column) for column in zip(*spent.values(), strict=True)]
    if not totals or not (totals[1] or totals[2]):
        return None

    order = [name for name in (*run.methods, "whole session") if name in spent]
    rows = [plain(run.names.method(name), *_cost_cells(spent[name])) for name in order]
    sessions = len(run.talks)
    rows.append(plain("mean per session", *_cost_cells([total / sessions for total in totals])))
    return Grid(
        "Tokens and cost",
        ("Method", "Calls", "Tokens in", "Tokens out", "US dollars"),
        tuple(rows),
        "Turns about one method’s edit count for it; all other turns for the whole session.",
        text_columns=frozenset({0}),
    )


def _cost_cells(row: Sequence[float]) -> list[str]:
    calls, sent, received, dollars = row
    return [f"{calls:,.0f}", f"{sent:,.0f}", f"{received:,.0f}", f"{dollars:,.4f}"]


# What to be careful about


def cautions(run: RunData, board: Leaderboard, behind: Extras, *, rated: bool) -> list[str]:
    """Return what to be careful about, in plain words, the gravest first."""
    manifest = run.manifest
    whole = next((table for table in board.tables if table.task is None), board.tables[0])
    found = [manifest.caution, run.unfinished, *whole.warnings, *run.lacking(run.talks)]
    if len(run.items) < FEW_ITEMS:
        few = counted(len(run.items), "item")
        found.append(f"{few}: one odd picture can move every mean. Look at the intervals.")

    effect = behind.position
    if not run.apart and (effect.fixed or effect.doubts or (effect.p or 1.0) <= 0.05):
        found += [effect.statement, *effect.doubts]

    if run.repeats == 1:
        found.append("Each edit was judged once: the judge’s own variation is not known.")

    if not rated:
        found.append("No human ratings were given: whether people would agree is not known.")

    asks = manifest.avoid_ties
    habits = habit_statements(behind.habits, asks_to_avoid_ties=asks)
    found += [text for text in habits if "impossible" in text]
    if manifest.slips:
        times = _times(manifest.slips)
        found.append(
            f"The judge made arithmetic errors {times}; overalls here are computed from sub-scores."
        )

    if manifest.repairs:
        times = _times(manifest.repairs)
        found.append(f"Scores could only be read after asking again {times}.")

    if manifest.helped:
        scores = counted(manifest.helped, "score")
        found.append(
            f"{scores} read with help: {manifest.reader} quoted them from replies that could not "
            "be read, and each quotation was checked."
        )

    return [text for text in dict.fromkeys(found) if text]


def _times(number_of_times: int) -> str:
    return "once" if number_of_times == 1 else f"{number_of_times:,} times"


# Facts about the run


def coverage(run: RunData) -> list[Share]:
    """Return the judgements by outcome, scored ones first: edits × repeats, or pairs as shown."""
    if run.run.is_of_pairs:
        counts = Counter(str(row.outcome) for row in run.comparisons)
    else:
        standing = OVERALL if OVERALL in run.factors else run.factors[-1]
        rows = run.scores[run.scores["factor"] == standing]
        counts = Counter(str(outcome) for outcome in rows["outcome"])

    total, start = max(counts.total(), 1), 0.0
    shares = []
    for outcome in sorted(counts, key=lambda name: (name != Outcome.SCORED, -counts[name])):
        width = 100 * counts[outcome] / total
        shares.append(Share(outcome, counts[outcome], round(start, 2), round(width, 2)))
        start += width

    return shares


def facts(run: RunData) -> list[tuple[str, str]]:
    """Return the run in a few lines: name and value."""
    manifest = run.manifest
    models = ", ".join(manifest.models)
    tasks = [run.names.task(task) for task in dict.fromkeys(task for _, task in run.items)]
    categories = counted(len(tasks), "task category", "task categories")
    items = counted(len(run.items), "item")
    names = [run.names.method(name) for name in run.methods]
    found = [
        ("Benchmark", f"{manifest.benchmark}: {items} in {categories} "
                      f"({', '.join(tasks)})"),
        ("Methods", f"{len(names)}: {', '.join(names)}"),
        ("Judge", manifest.judge + (f" (answered by {models})" if models else "")),
        ("Dialog", f"{manifest.dialog}, version {manifest.dialog_version or '?'}"),
        ("Order of edits", f"{manifest.order}, seed {manifest.seed}, "
                           f"{counted(run.repeats, 'repeat')}"),
        ("When", _when(manifest)),
        ("Cost", cost_line(run)),
    ]  # fmt: skip
    return [(name, value) for name, value in found if value]


def _when(manifest: Manifest) -> str:
    started = manifest.started.replace("T", " ").removesuffix("+00:00")
    finished = manifest.finished.replace("T", " ").removesuffix("+00:00")
    if finished:
        return f"{started} to {finished} UTC"
    return f"started {started} UTC, not finished" if started else ""


def cost_line(run: RunData) -> str:
    """Return what the replies of a run cost; those that conversations share count once."""
    turns = [turn for talk in run.talks for turn in talk.turns]
    by_key = {turn.key: turn.reply for turn in turns if turn.entry is not None}
    replies = list(by_key.values())
    if not replies:
        return "no replies at hand"

    usages = [reply.usage for reply in replies]
    sent = sum(usage.prompt_tokens or 0 for usage in usages)
    received = sum(usage.completion_tokens or 0 for usage in usages)
    costs = [reply.cost_usd for reply in replies if reply.cost_usd is not None]

    parts = [counted(len(replies), "reply", "replies")]
    if sent + received:
        parts.append(f"{sent:,} tokens in, {received:,} out")

    price = f"${sum(costs):,.2f}" if costs else "no price on record"
    return ", ".join([*parts, price])


# How it was made


def provenance(run: RunData) -> list[tuple[str, str]]:
    """Return how a run was made: name and value."""
    manifest = run.manifest
    parameters = json.dumps(manifest.parameters, sort_keys=True, ensure_ascii=False)
    chosen = ", ".join(f"{name}={choice}" for name, choice in manifest.settings.items())
    dialog = f"{manifest.dialog} v{manifest.dialog_version}"
    found = [
        ("Run again with", manifest.command or command_of(manifest, run.run.path)),
        ("lmmscore of the run", manifest.lmmscore),
        ("Judge", manifest.judge),
        ("Models that answered", ", ".join(manifest.models)),
        ("Parameters", parameters),
        ("Dialog", f"{dialog}, {chosen}" if chosen else dialog),
        ("Digest of the dialog", manifest.dialog_digest or ""),
        ("Pictures as sent", manifest.image_recipe),
        ("Overall score", overall_rule(manifest)),
    ]
    found += [(f"SHA-256 of {name}", digest) for name, digest in _digests(run).items()]
    return [(name, value) for name, value in found if value]


def overall_rule(manifest: Manifest) -> str:
    """Return how the overall is made, as a formula where it is one."""
    if manifest.overall == "weighted":
        weighed = [factor for factor in manifest.factors if factor.weight]
        return " + ".join(f"{factor.weight:g} × {factor.key}" for factor in weighed)
    return {"mean": "mean of the factors", "geometric": "geometric mean"}.get(manifest.overall, "")


def command_of(manifest: Manifest, out: Path) -> str:
    """Return the command that makes a run like this one, for runs that were started from Python."""
    words = ["lmmscore", "run", manifest.benchmark_file or "BENCHMARK"]
    words += ["--dialog", manifest.dialog, "--judge", manifest.judge]
    words += ["--order", manifest.order, "--repeats", str(manifest.repeats)]
    words += ["--seed", str(manifest.seed), "--out", out.resolve().name]
    for name, choice in manifest.settings.items():
        words += ["--setting", f"{name}={choice}"]

    return shlex.join(words)


def _digests(run: RunData) -> dict[str, str]:
    paths = {name: run.run.path / name for name in FILES}
    paths["ledger.sqlite"] = run.run.ledger_path
    found = {}
    for name, path in paths.items():
        if path.is_file():
            with path.open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()

    return found


def page_provenance(command: str, side_px: int) -> list[tuple[str, str]]:
    """Return how the page itself was made."""
    packages = [f"{name} {installed}" for name in PACKAGES if (installed := _installed(name))]
    found = [
        ("Page made with", command),
        ("lmmscore of the page", __version__),
        ("Python", f"{platform.python_version()} on {platform.system()}"),
        ("Packages", ", ".join(packages)),
        ("Thumbnails", f"longest side {side_px} px, WebP; the judge saw the pictures as sent"),
    ]
    return [(name, value) for name, value in found if value]


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
