"""The result of one run: its tables with the verdict, what stands behind them, how it was made."""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from scipy.stats import t as student_t

from lmmscore.errors import counted
from lmmscore.leaderboard import BoardTable, Leaderboard, rank
from lmmscore.leaderboard.diagnostics import Extras, extras, habit_statements
from lmmscore.leaderboard.matches import PairBoard, PairTable, position_notes, rank_pairs
from lmmscore.records import OVERALL, Outcome, Reply
from lmmscore.report import leaderboard
from lmmscore.report.grids import NONE, Grid, p_value, percent, plain
from lmmscore.report.page.boards import Board, make_boards, make_maps, whole_first
from lmmscore.report.page.charts import (
    Chart,
    HeatMap,
    distribution_chart,
    position_chart,
    preference_chart,
)
from lmmscore.report.run_data import RunData
from lmmscore.resources import __version__
from lmmscore.run_folder import Manifest
from lmmscore.scores import TIE, Comparison

RESAMPLES, FEWER_RESAMPLES, MANY_ITEMS = 10_000, 2_000, 300
FEW_ITEMS = 20
"""Below this, one odd item moves every mean visibly."""
WHOLE_SESSION = "whole session"
PACKAGES = ("numpy", "scipy", "pandas", "pillow", "openai")
FILES = ("run.yaml", "sessions.jsonl", "scores.csv", "pairs.csv")


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
    """What stands behind the ranking."""
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
    return rank(run.scores, factor=factor, scales=run.scales, caution=caution, resamples=resamples)


def view_run(
    run: RunData,
    found: Leaderboard | PairBoard,
    prefix: str,
    number_of_run: int,
    *,
    rated: bool,
) -> RunView:
    """Return everything the page says of a run; `rated`: there are human ratings of it."""
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
    )
    repeats = ["repeats"] if run.repeats > 1 else []
    subjects = ["position", *repeats, "weights", "the judge’s use of the scale"]
    return replace(
        view,
        cautions=_score_cautions(run, whole_first(found.tables)[0], behind, rated=rated),
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

    Of a single score there is no interval.
    """
    rows = run.scores[(run.scores["factor"] == factor) & run.scores["score"].notna()]
    rows = rows[rows["position"].notna()]
    if rows.empty:
        return {}

    gaps = rows["score"] - rows.groupby("method")["score"].transform("mean")
    found: dict[int, tuple[float, float | None]] = {}
    for place, own in gaps.groupby(rows["position"].astype(int)):
        reach = None
        if len(own) > 1:
            reach = float(student_t.ppf(0.975, len(own) - 1) * own.sem())

        found[int(place)] = (float(own.mean()), reach)

    return found


def _score_grids(run: RunData, behind: Extras) -> list[Grid]:
    grids = [leaderboard.position_grid(behind.position, 2)]
    if behind.repeats and run.repeats > 1:
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
    for talk in run.talks:
        for turn in talk.turns:
            if turn.entry is not None:
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
    dollars = np.nan if reply.cost_usd is None else reply.cost_usd
    return np.array([1, usage.prompt_tokens or 0, usage.completion_tokens or 0, dollars])


def _cost_cells(row: np.ndarray) -> list[str]:
    calls, sent, received, dollars = row
    price = NONE if np.isnan(dollars) else f"{dollars:,.4f}"
    return [f"{calls:,.0f}", f"{sent:,.0f}", f"{received:,.0f}", price]


# What to be careful about


def _score_cautions(run: RunData, whole: BoardTable, behind: Extras, *, rated: bool) -> list[str]:
    effect = behind.position
    position: list[str] = []
    if not run.apart and (effect.fixed or effect.doubts or (effect.p or 1.0) <= 0.05):
        position = [effect.statement, *effect.doubts]

    unknown = []
    if run.repeats == 1:
        unknown.append("Each edit was judged once: the judge’s own variation is not known.")

    if not rated:
        unknown.append("No human ratings were given: whether people would agree is not known.")

    # Of the judge's habits, only method names in its replies put the result in doubt.
    names = replace(behind.habits, scale=(), sessions=None)
    named = habit_statements(names, asks_to_avoid_ties=run.manifest.avoid_ties)
    return _cautions(run, whole.warnings, "mean", [*position, *unknown, *named])


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
    if run.repeats == 1:
        once = "Each pair was judged once in each order: the judge’s own variation is not known."
        unknown.insert(0, once)

    return _cautions(run, whole.warnings, "strength", [*position, *unknown])


def _cautions(
    run: RunData, warnings: Sequence[str], value: str, further: Sequence[str]
) -> list[str]:
    """Return what to be careful about, in plain words, the gravest first."""
    manifest = run.manifest
    found = [manifest.caution, run.unfinished, *warnings, *run.lacks]
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
