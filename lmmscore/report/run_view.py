"""The result of one run: its tables with the verdict, what stands behind them, how it was made."""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import permutations
from pathlib import Path
from typing import TypeVar

import numpy as np
from markupsafe import Markup

from lmmscore.errors import counted
from lmmscore.leaderboard import BoardTable, Leaderboard, rank
from lmmscore.leaderboard.diagnostics import Extras, extras, habit_statements
from lmmscore.leaderboard.matches import PairBoard, PairTable, position_notes, rank_pairs
from lmmscore.records import OVERALL, Outcome, Reply
from lmmscore.report import leaderboard
from lmmscore.report.charts import (
    Chart,
    HeatCell,
    HeatMap,
    axis_head,
    distribution_chart,
    diverging,
    group_bars,
    heat_map,
    interval_bar,
    means_map,
    position_chart,
    preference_chart,
    rank_strip,
    standings_axis,
)
from lmmscore.report.edits import board_id, slug
from lmmscore.report.formats import (
    HEADINGS,
    LOW,
    NONE,
    Grid,
    Mark,
    TableDocument,
    marks,
    number,
    p_value,
    percent,
    plain,
    rank_span,
    span,
    write,
)
from lmmscore.report.formats.terminal import dollars
from lmmscore.report.leaderboard import (
    PAIR_HEADINGS,
    BoardView,
    RankedMethod,
    board_document,
    pair_document,
    ranked_methods,
)
from lmmscore.report.run_data import WIN_RATE, RunData, in_utc
from lmmscore.resources import __version__
from lmmscore.run_folder import Manifest
from lmmscore.scores import TIE, Comparison
from lmmscore.stats import mean_limits

RESAMPLES, FEWER_RESAMPLES, MANY_ITEMS = 10_000, 2_000, 300
FEW_ITEMS = 20
"""Below this, one odd item moves every mean visibly."""
WHOLE_SESSION = "whole session"
PACKAGES = ("numpy", "scipy", "pandas", "pillow", "openai")
FILES = ("run.yaml", "sessions.jsonl", "scores.csv", "pairs.csv")
MATRIX_NOTES = 12
"""Methods up to which the win matrix has room for p-values."""

_WINS_ON_ITEMS = (
    "Items on which the method of the row scored better than that of the column, and the p-value "
    "of the difference of their means, corrected for all pairs (Holm); * at most 0.05. "
    "Click a figure to see the pair."
)
_WINS_IN_MATCHES = (
    "How often the method of the row beat that of the column; a tie counts one half. "
    "Click a figure to see the pair."
)

AnyTable = TypeVar("AnyTable", BoardTable, PairTable)


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
    boards: list[Board]
    notes: tuple[str, ...]
    maps: list[HeatMap]
    facts: list[tuple[str, str]]
    shares: list[Share]
    provenance: list[tuple[str, str]]
    cautions: list[str] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    """Diagnostics behind the ranking."""
    behind: str = ""
    """What the grids are about, in a line."""


def rank_run(run: RunData) -> Leaderboard | PairBoard:
    """Rank the methods by every factor or by pairs, in every task category and over all."""
    if run.run.is_of_pairs:
        return rank_pairs(run.comparisons, methods=run.manifest.methods)

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
    return rank(
        run.scores,
        factor=factor,
        scales=run.scales,
        caution=caution,
        resamples=resamples,
        lower_better=run.manifest.lower_better,
        shown_order=run.manifest.shown_order,
    )


def view_run(
    run: RunData,
    found: Leaderboard | PairBoard,
    prefix: str,
    number_of_run: int,
    *,
    rated: bool,
) -> RunView:
    """Return everything the page says about a run; `rated`: it has human ratings."""
    view = RunView(
        name=run.name,
        prefix=prefix,
        number=number_of_run,
        caution=run.manifest.caution,
        boards=make_boards(run, found, prefix),
        notes=found.notes,
        maps=make_maps(run, found, prefix),
        facts=facts(run),
        shares=coverage(run),
        provenance=provenance(run),
    )
    costs = cost_grid(run)
    if isinstance(found, PairBoard):
        tables = whole_first(found.tables)
        return replace(
            view,
            cautions=_pair_cautions(run, tables[0]),
            charts=[_verdict_chart(run, tables, number_of_run)],
            behind="position, cost" if costs else "position",
            grids=[_pair_position_grid(run, tables), *costs],
        )

    behind = extras(
        run.scores,
        factor=found.tables[0].factor,
        weights=run.weights,
        sessions=[record.model_dump(mode="json") for record in run.sessions] or None,
        level=0.95,
        seed=0,
        lower_better=run.manifest.lower_better,
        shown_order=run.manifest.shown_order,
    )
    repeats = ["repeats"] if run.manifest.repeats > 1 else []
    subjects = ["position", *repeats, "weights", "the judge’s use of the scale"]
    return replace(
        view,
        cautions=_score_cautions(run, behind, rated=rated),
        charts=_score_charts(run, number_of_run),
        behind=", ".join([*subjects, *(["cost"] if costs else [])]),
        grids=[*_score_grids(run, behind), *costs],
    )


# Charts and tables behind the ranking


def _score_charts(run: RunData, number_of_run: int) -> list[Chart]:
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


def place_means(run: RunData, factor: str) -> dict[int, tuple[float, float | None]]:
    """Return, by place, the mean of score less the method's mean, and half its 95% interval.

    Both are over items. There is no interval for a single one, or where all are the same.
    """
    rows = run.scores[(run.scores["factor"] == factor) & run.scores["score"].notna()]
    rows = rows[rows["position"].notna()]
    if rows.empty:
        return {}

    gaps = rows["score"] - rows.groupby("method")["score"].transform("mean")
    # Repeats of an item at a place are no further evidence: they would only narrow the interval.
    places = rows["position"].astype(int)
    found: dict[int, tuple[float, float | None]] = {}
    for place, own in gaps.groupby(places):
        by_item = own.groupby(rows["item"]).mean().to_numpy(dtype=float)
        mean = float(by_item.mean())
        limits = mean_limits(by_item, None, level=0.95)
        found[int(place)] = (mean, None if limits is None else limits[1] - mean)

    return found


def _score_grids(run: RunData, behind: Extras) -> list[Grid]:
    grids = [leaderboard.position_grid(behind.position, 2)]
    if behind.repeats and run.manifest.repeats > 1:
        grids.append(leaderboard.repeat_grid(behind.repeats, 2))

    if behind.sensitivity is not None:
        grids.append(leaderboard.sensitivity_grid(behind.sensitivity))

    asks = run.manifest.avoid_ties
    return [*grids, leaderboard.habit_grid(behind.habits, asks_to_avoid_ties=asks)]


def _verdict_chart(run: RunData, tables: Sequence[PairTable], number_of_run: int) -> Chart:
    title = "Verdicts by the position at which an edit was shown"
    lines = {run.names.task(table.task): _by_place(run, table.task) for table in tables}
    return preference_chart(f"position-{number_of_run}", title, lines)


def _by_place(run: RunData, task: str | None) -> tuple[int, int, int]:
    """Return how many verdicts went to the edit shown first, to neither, to the second."""
    own = [row for row in run.comparisons if row.winner and task in (None, row.task)]
    counts = Counter(_place(row) for row in own)
    return counts["first"], counts[TIE], counts["second"]


def _place(row: Comparison) -> str:
    if row.winner == TIE:
        return TIE
    return "first" if row.winner == row.shown[0] else "second"


def _pair_position_grid(run: RunData, tables: Sequence[PairTable]) -> Grid:
    rows = []
    for table in tables:
        bias, swings = table.position, table.swings
        judged = f"{table.inconsistent} of {table.twice}" if table.twice else NONE
        followed = f"{swings.first} of {swings.decided}" if swings.decided else NONE
        p = swings.p if table.twice else bias.p
        rows.append(
            plain(
                run.names.task(table.task),
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
        "of a judge without preference for a position.",
    )


def cost_grid(run: RunData) -> list[Grid]:
    """Return what the turns about each method's edits took; none where no token was counted."""
    spent: dict[str, np.ndarray] = {}
    paid: set[str] = set()
    for talk in run.talks:
        for turn in talk.turns:
            # Sessions that open with the same words share their first replies, paid for once.
            if turn.entry is None or turn.key in paid:
                continue

            paid.add(turn.key)
            method = talk.method_at(turn.position) or talk.method or WHOLE_SESSION
            spent[method] = spent.get(method, np.zeros(4)) + _cost_of(turn.reply)

    total = sum(spent.values(), np.zeros(4))
    _, sent, received, _ = total
    if not sent and not received:
        return []

    order = [name for name in (*run.methods, WHOLE_SESSION) if name in spent]
    rows = [plain(run.names.method(name), *_cost_cells(spent[name])) for name in order]
    rows.append(plain("mean per session", *_cost_cells(total / len(run.talks))))
    grid = Grid(
        "Tokens and cost",
        ("Method", "Calls", "Tokens in", "Tokens out", "US dollars"),
        tuple(rows),
        "Turns about one method’s edit count for it; all other turns for the whole session.",
    )
    return [grid]


def _cost_of(reply: Reply) -> np.ndarray:
    """Return calls, tokens in and out, and US dollars; NaN where the price is not known."""
    usage = reply.usage
    price = np.nan if reply.cost_usd is None else reply.cost_usd
    return np.array([1, usage.prompt_tokens or 0, usage.completion_tokens or 0, price])


def _cost_cells(row: np.ndarray) -> list[str]:
    calls, sent, received, price = row
    shown = NONE if np.isnan(price) else f"{price:,.4f}"
    return [f"{calls:,.0f}", f"{sent:,.0f}", f"{received:,.0f}", shown]


# What to be careful about


def _score_cautions(run: RunData, behind: Extras, *, rated: bool) -> list[str]:
    effect = behind.position
    position: list[str] = []
    significant = effect.p is not None and effect.p <= 0.05
    if not run.apart and (effect.fixed or effect.doubts or significant):
        position = [effect.statement, *effect.doubts]

    unknown = []
    if run.manifest.repeats == 1:
        unknown.append("Each edit was judged once: the judge’s own variation is not known.")

    if not rated:
        unknown.append("No human ratings were given: whether people would agree is not known.")

    # Of the judge's habits, only method names in its replies put the result in doubt.
    names = replace(behind.habits, scale=(), sessions=None)
    named = habit_statements(names, asks_to_avoid_ties=run.manifest.avoid_ties)
    return _cautions(run, "mean", [*position, *unknown, *named])


def _pair_cautions(run: RunData, whole: PairTable) -> list[str]:
    position: list[str] = []
    if not whole.twice:
        position.append(
            "Each pair was shown in one order only: a preference for a position remains."
        )

    p = whole.swings.p if whole.twice else whole.position.p
    if p is not None and p <= 0.05:
        position += position_notes(whole)
    elif whole.twice and whole.inconsistent / whole.twice > 0.25:
        share = percent(whole.inconsistent / whole.twice)
        position.append(f"{share} of the matches ended differently in the two orders.")

    unknown = ["No human votes were given: whether people would agree is not known."]
    if run.manifest.repeats == 1:
        once = "Each pair was judged once in each order: the judge’s own variation is not known."
        unknown.insert(0, once)

    return _cautions(run, "strength", [*position, *unknown])


def _cautions(run: RunData, value: str, further: Sequence[str]) -> list[str]:
    """Return what to be careful about in every table, in plain words, the gravest first."""
    manifest = run.manifest
    found = [manifest.caution, run.unfinished, *run.lacks]
    if len(run.items) < FEW_ITEMS:
        few = counted(len(run.items), "item")
        found.append(f"{few}: one odd picture can move every {value}. Look at the intervals.")

    found += further
    if manifest.slips:
        times = _times(manifest.slips)
        found.append(
            f"The judge made arithmetic errors {times}; overalls here are computed from sub-scores."
        )

    if manifest.repairs:
        read = "Verdicts" if run.run.is_of_pairs else "Scores"
        found.append(f"{read} could only be read after asking again {_times(manifest.repairs)}.")

    if manifest.helped:
        scores = counted(manifest.helped, "score")
        found.append(
            f"{scores} read with help: {manifest.reader} quoted them from replies that could not "
            "be read, and each quotation was checked; or it said of sentences beside them that "
            "these void no score."
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
        counts = Counter(str(outcome) for outcome, _ in run.judgements.values())

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
                           f"{counted(run.manifest.repeats, 'repeat')}"),
        ("When", _when(manifest)),
        ("Cost", cost_line(run)),
    ]  # fmt: skip
    return [(name, value) for name, value in found if value]


def _when(manifest: Manifest) -> str:
    started, finished = in_utc(manifest.started), in_utc(manifest.finished)
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

    price = dollars(sum(costs)) if costs else "no price on record"
    if 0 < len(costs) < len(replies):
        price += f" for {len(costs):,} of them; the others have no price on record"

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


# --------------------------------------------------------------------------------------------------
# The tables: methods ranked by scores, or by comparisons of pairs, drawn alike.
# --------------------------------------------------------------------------------------------------


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


def whole_first(tables: Sequence[AnyTable]) -> list[AnyTable]:
    """Return the tables with those over all task categories before those of one."""
    return sorted(tables, key=lambda table: table.task is not None)


def make_boards(run: RunData, found: Leaderboard | PairBoard, prefix: str) -> list[Board]:
    """Return the tables of a run for the page, those over all categories first."""
    if isinstance(found, PairBoard):
        tables = [_pair_board(run, table, found, prefix) for table in whole_first(found.tables)]
    else:
        tables = [_score_board(run, table, found, prefix) for table in whole_first(found.tables)]

    if len({table.task for table in tables if table.task}) == 1:
        # Of one task category, the table over all would say the same twice.
        return [table for table in tables if table.task]

    return tables


def _score_board(run: RunData, table: BoardTable, found: Leaderboard, prefix: str) -> Board:
    one = replace(found, tables=(table,))
    incomplete = any(row.coverage < 1 for row in table.rows)
    board = _board(
        run,
        table,
        prefix,
        factor=table.factor,
        full=board_document(one, BoardView(names=run.names)),
        compact=board_document(one, BoardView(style="compact", names=run.names)),
    )
    return replace(
        board,
        factor_title=run.title(table.factor),
        notes=(table.caption, *table.notes),
        further=(HEADINGS["coverage"],) if incomplete else (),
    )


def _pair_board(run: RunData, table: PairTable, found: PairBoard, prefix: str) -> Board:
    one = replace(found, tables=(table,))
    full = pair_document(one, names=run.names)
    compact = pair_document(one, names=run.names, compact=True)
    board = _board(
        run,
        table,
        prefix,
        factor=WIN_RATE,
        full=full,
        # The second table, who beat whom, is for the terminal: a paper has the first.
        compact=replace(compact, grids=compact.grids[:1]),
    )
    return replace(
        board,
        factor_title="Comparisons of pairs",
        notes=(full.grids[0].caption, *table.notes),
        further=(PAIR_HEADINGS["win_rate"],),
    )


def _board(
    run: RunData,
    table: BoardTable | PairTable,
    prefix: str,
    *,
    factor: str,
    full: TableDocument,
    compact: TableDocument,
) -> Board:
    """Return a table as far as scores and pairs are drawn alike.

    `compact` has the columns a paper has room for.
    """
    grid = full.grids[0]
    rows = ranked_methods(table)
    duels = _duels(table)
    low = isinstance(table, BoardTable) and table.is_lower_better
    mean_title = f"{HEADINGS['mean']} {LOW}" if low else HEADINGS["mean"]
    value_title = PAIR_HEADINGS["strength"] if factor == WIN_RATE else mean_title
    link = partial(gallery_link, run, prefix, task=table.task, factor=factor)
    return Board(
        id=board_id(prefix, table.task, factor),
        task=table.task or "",
        task_title=run.names.task(table.task),
        factor=factor,
        factor_title=factor,
        verdict=grid.verdict,
        lines=tuple(_lines(run, rows, value_title, link, low=low)),
        axis=axis_head(standings_axis(rows)),
        grouped=any(row.group for row in rows),
        warnings=table.warnings,
        notes=table.notes,
        wins=_win_map(run, rows, duels, link, tested=factor != WIN_RATE) if duels else None,
        figures=replace(grid, caption="", above=(), below=(), verdict=""),
        copies={"latex": write(compact, "tex"), "markdown": write(full, "md")},
        value_title=value_title,
        further=(),
    )


def _duels(table: BoardTable | PairTable) -> dict[tuple[str, str], _Duel]:
    """Return how every two methods did against each other, both ways round."""
    if isinstance(table, PairTable):
        return {
            (one, other): _Duel(
                table.wins.get((one, other), 0),
                table.ties.get((one, other), 0),
                table.wins.get((other, one), 0),
            )
            for one, other in permutations([row.method for row in table.rows], 2)
        }

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


# Drawing


def _lines(
    run: RunData,
    rows: Sequence[RankedMethod],
    value_title: str,
    link: Callable[..., str],
    *,
    low: bool,
) -> Iterator[ResultLine]:
    axis = standings_axis(rows)
    letters = "".join(sorted({letter for row in rows for letter in row.group}))
    best = marks([row.value for row in rows], low=low)
    noun = value_title.removesuffix(f" {LOW}").lower()

    for row, mark in zip(rows, best, strict=True):
        name = run.names.method(row.method)
        value, interval = number(row.value, 2), span(row.interval, 2)
        rank, ranks = number(row.rank, 0), rank_span(row.rank_interval)
        groups = f"groups {', '.join(row.group)}" if row.group else "no group"
        yield ResultLine(
            method=name,
            link=link(method=row.method),
            rank=Figure(rank, row.rank),
            mean=Figure(value, row.value, mark),
            interval=interval,
            bar=interval_bar(row, axis, f"{name}: {noun} {value}, 95% interval {interval}"),
            ranks=ranks,
            strip=rank_strip(row, len(rows), f"{name}: rank {rank}, rank interval {ranks}"),
            group=group_bars(row.group, letters, f"{name}: {groups}"),
            further=(Figure(percent(row.share), row.share),),
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


def _win_map(
    run: RunData,
    rows: Sequence[RankedMethod],
    duels: Mapping[tuple[str, str], _Duel],
    link: Callable[..., str],
    *,
    tested: bool,
) -> HeatMap:
    """Return how often the method of a row beat that of a column; `tested`: with p-values."""
    names = {row.method: run.names.method(row.method) for row in rows}

    def cell(one: str, other: str) -> HeatCell:
        duel = duels.get((one, other))
        if duel is None or duel.rate is None:
            return HeatCell("")

        words = (
            f"{names[one]} against {names[other]}: "
            f"{duel.won} won, {duel.tied} tied, {duel.lost} lost"
        )
        address = link(method=one, against=other)
        shade = diverging(2 * duel.rate - 1)
        if not tested:
            return HeatCell(percent(duel.rate), shade, words, address)

        p = p_value(duel.p)
        star = "*" if duel.significant else ""
        note = f"p {p}" if len(names) <= MATRIX_NOTES else ""
        return HeatCell(f"{duel.won}{star}", shade, f"{words}; p = {p} (Holm)", address, note)

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
    maps = []

    # The overall stands in the table; a factor by which methods are ranked is one of the factors.
    factors = {name: run.title(name) for name in run.factors if name != OVERALL}
    if len(run.factors) > 1:
        rated = [(row.method, row.factors) for row in main[0].rows]
        means = {(method, name): own.get(name) for method, own in rated for name in factors}
        by_factor = means_map(
            "Methods by factor",
            methods,
            factors,
            means,
            lambda method, factor: gallery_link(run, prefix, method=method, factor=factor),
            low=run.manifest.lower_better,
        )
        maps.append(by_factor)

    tasks = _tasks(run, main)
    if len(tasks) > 1:
        means = {(row.method, table.task or ""): row.mean for table in main for row in table.rows}
        by_task = means_map(
            "Methods by task category",
            methods,
            tasks,
            means,
            lambda method, task: gallery_link(run, prefix, method=method, task=task),
            low=tasks if main[0].is_lower_better else (),
        )
        maps.append(by_task)

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
