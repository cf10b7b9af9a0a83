"""The page: gather what is to be shown, fill the template, put the file in place."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment
from markupsafe import Markup, escape

from lmmscore.agreement import Agreement
from lmmscore.errors import FileProblem, counted, listed
from lmmscore.leaderboard import Leaderboard
from lmmscore.leaderboard.compare import RunComparison, compare
from lmmscore.leaderboard.matches import PairBoard, rank_pairs
from lmmscore.records import OVERALL
from lmmscore.report import leaderboard
from lmmscore.report.agreement_grids import SECTIONS, agreement_grids
from lmmscore.report.charts import (
    AgreementCharts,
    Chart,
    Dot,
    agreement_charts,
    bump_chart,
    mean_ratings,
    scatter,
)
from lmmscore.report.edits import (
    TALKS_IN_BUNDLE,
    EditData,
    Numbered,
    run_facts,
    slug,
    talk_list,
)
from lmmscore.report.figures import on_one_scale
from lmmscore.report.formats import HEADINGS, Grid, number, plain, true_minus
from lmmscore.report.run_data import WIN_RATE, RunData
from lmmscore.report.run_view import RunView, page_provenance, rank_run, view_run
from lmmscore.report.thumbnails import (
    BUNDLE,
    CACHE_NAME,
    PicturePlace,
    ThumbnailMaker,
    bundles,
    place_pictures,
    sensible_px,
)
from lmmscore.web import inline_policy, page_templates

STYLES = ("page.css",)
SCRIPTS = (
    "core.js",
    "controls.js",
    "leaderboard.js",
    "charts.js",
    "viewer.js",
    "gallery.js",
    "conversations.js",
    "route.js",
)


class Counting(Protocol):
    """Shows progress: entered with a label and a total, it yields a function to call per step."""

    def __call__(self, what: str, total: int) -> AbstractContextManager[Any]:
        """Start counting."""


def _silently(what: str, total: int) -> AbstractContextManager[Any]:  # noqa: ARG001
    return nullcontext(lambda: None)


@dataclass(frozen=True)
class PageOptions:
    """How the page is made."""

    out: Path
    agreement: Agreement | None = None
    renames: Mapping[str, str] = field(default_factory=dict)
    """Factors that the agreement knows by another name."""
    assets: bool = False
    """Pictures in a folder beside the page, in full, instead of inside it."""
    full_images: bool = False
    """Pictures in full inside the page."""
    thumb_px: int | None = None
    """Longest side of a thumbnail; None: depends on how many there are."""
    keep_thumbnails: bool = True
    """In the run's folder, for the next report; not where that folder is only to be read."""
    command: str = ""
    counting: Counting = _silently


@dataclass(frozen=True)
class CompareSection:
    """Several runs side by side."""

    grids: list[Grid]
    charts: list[Chart]
    bumps: list[Chart]


@dataclass(frozen=True)
class AgreementSection:
    """Judges against human raters."""

    verdicts: list[str]
    grids: list[Grid]
    """The level of edits, one per judge."""
    methods: list[Grid]
    """The ranking of methods by each judge beside the raters'."""
    more: list[Grid]
    charts: list[AgreementCharts]
    notes: list[str]


@dataclass(frozen=True)
class PageContent:
    """The page before it is written."""

    title: str
    lede: str
    views: list[RunView]
    compared: CompareSection | None
    agreement: AgreementSection | None
    core: dict[str, Any]
    """What the page's scripts need at once; the rest waits in bundles."""
    texts: list[str]
    bundles: list[list[dict[str, Any]]]


def write_page(runs: Sequence[RunData], options: PageOptions) -> Path:
    """Write the page about one or several runs, and return its file. Raises FileProblem."""
    # Before the work, not after it: a folder cannot be replaced by a page.
    if options.out.is_dir():
        inside = options.out / "report.html"
        raise FileProblem(f"{options.out}: is a folder; name the page, for example {inside}")

    for run in runs:
        run.check_ledger()

    pictures: Numbered[Path] = Numbered()
    cache = runs[0].run.path / CACHE_NAME if options.keep_thumbnails else None
    with ThumbnailMaker(cache) as maker, _without_collecting():
        content = gather(runs, pictures, maker, options)
        with options.counting("thumbnails", len(pictures)) as counter:
            thumbnails = maker.finish(list(pictures), counter)

    folder = options.out.with_name(f"{options.out.stem}_assets") if options.assets else None
    placed = place_pictures(pictures, thumbnails, assets=folder, full=options.full_images)
    return _put(_filled(content, placed, maker.side_px, options), options.out)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Switch off cycle collection, a fifth of the time: a page's million lists hold no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# Gathering


@dataclass(frozen=True)
class _ShownRun:
    """One run of the page: where its links begin, its edits as data, and its ranking."""

    number: int
    run: RunData
    prefix: str
    edits: EditData
    found: Leaderboard | PairBoard


def gather(
    runs: Sequence[RunData], pictures: Numbered[Path], maker: ThumbnailMaker, options: PageOptions
) -> PageContent:
    """Return everything that is to be shown of these runs; thumbnails are begun first."""
    # They are most of the work, and can be made while replies are read and tables computed.
    shown = list(dict.fromkeys(path for run in runs for path in run.shown_pictures))
    maker.begin(shown, options.thumb_px or sensible_px(len(shown)))

    texts: Numbered[str] = Numbered()
    parts = [_part(number, run, pictures, texts) for number, run in enumerate(runs)]
    # Items before conversations: the pictures of the edits then lie together in the page.
    facts, items = _run_data(parts, options)
    talks = [part.edits.talks() for part in parts]

    agreement = options.agreement
    views = [
        view_run(part.run, part.found, part.prefix, part.number, rated=agreement is not None)
        for part in parts
    ]
    compared = compared_runs(runs, [part.found for part in parts])
    rated = _agreement_section(runs, agreement) if agreement else None
    return PageContent(
        title=_title(runs),
        lede=_lede(runs),
        views=views,
        compared=compared,
        agreement=rated,
        core={
            "runs": facts,
            "items": items,
            "talks": talk_list(talks),
            "copies": {board.id: board.copies for view in views for board in view.boards},
            "charts": _chart_data(views, compared, rated),
        },
        texts=list(texts),
        bundles=bundles([talk for own in talks for talk in own], TALKS_IN_BUNDLE),
    )


def _part(number: int, run: RunData, pictures: Numbered[Path], texts: Numbered[str]) -> _ShownRun:
    # The links of the first run are those of a page about it alone.
    prefix = slug(run.name) if number else ""
    return _ShownRun(number, run, prefix, EditData(run, prefix, pictures, texts), rank_run(run))


def _run_data(
    parts: Sequence[_ShownRun], options: PageOptions
) -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
    """Return, run by run, what the page's scripts must know, and the items with their edits."""
    facts, items = [], []
    for part in parts:
        ratings = _ratings(part.run, options)
        alike = _factors_on_one_scale(part.run, options)
        own = run_facts(part.run, rated=bool(ratings), alike=alike)
        facts.append({**own, "prefix": part.prefix})
        items.append(part.edits.items(ratings))

    return facts, items


def _title(runs: Sequence[RunData]) -> str:
    names = [run.manifest.benchmark or run.name for run in runs]
    return " and ".join(dict.fromkeys(names))


def _lede(runs: Sequence[RunData]) -> str:
    parts: dict[str, list[str]] = {}
    for run in runs:
        methods = counted(len(run.methods), "editing method")
        items = counted(len(run.items), "item")
        judge = f"{run.manifest.judge} with {run.manifest.dialog}"
        parts.setdefault(f"{methods} on {items}, judged by", []).append(judge)

    told = [f"{what} {listed(list(dict.fromkeys(how)))}" for what, how in parts.items()]
    return "; ".join(told) + "."


def _ratings(run: RunData, options: PageOptions) -> dict[tuple[str, str, str], float]:
    if options.agreement is None:
        return {}
    original = {new: old for old, new in options.renames.items() if old in run.factors}
    return mean_ratings(options.agreement, run.name, original)


def _factors_on_one_scale(run: RunData, options: PageOptions) -> set[str]:
    """Return the factors on which the judge and the raters can be told apart in points."""
    if options.agreement is None:
        return set()
    called = {factor: options.renames.get(factor, factor) for factor in run.factors}
    return {
        factor for factor, name in called.items() if on_one_scale(options.agreement, run.name, name)
    }


def _agreement_section(runs: Sequence[RunData], agreement: Agreement) -> AgreementSection:
    titles = {factor: run.title(factor) for run in runs for factor in run.factors}
    places = {run.name: k for k, run in enumerate(runs)}
    first = ("item", "methods")
    rest = [section for section in SECTIONS if section not in first]
    drawn, seed = agreement.settings["resamples"], agreement.settings["seed"]
    draws = f"Random draws: {drawn:,}, seed {seed}." if drawn else f"Seed of random draws: {seed}."
    return AgreementSection(
        verdicts=[agreement.sentence(run.name) for run in runs],
        grids=[replace(grid, above=()) for grid in agreement_grids(agreement, ["item"])],
        methods=[replace(grid, above=()) for grid in agreement_grids(agreement, ["methods"])],
        more=[replace(grid, above=()) for grid in agreement_grids(agreement, rest)],
        charts=agreement_charts(agreement, titles, places),
        notes=[draws, *agreement.notes],
    )


def _chart_data(
    views: Sequence[RunView], compared: CompareSection | None, rated: AgreementSection | None
) -> dict[str, dict[str, Any]]:
    """Return the points of the charts whose dots lead to edits, by the chart's name."""
    drawn = [chart for view in views for chart in view.charts]
    if rated:
        drawn += [chart for each in rated.charts for chart in (*each.scatters, *each.differences)]

    if compared:
        drawn += compared.charts

    return {
        chart.id: {"run": chart.run, "labels": list(chart.labels), "points": chart.points}
        for chart in drawn
        if chart.points
    }


# Several runs


def compared_runs(
    runs: Sequence[RunData], boards: Sequence[Leaderboard | PairBoard]
) -> CompareSection | None:
    """Return how several runs compare, over the items that they share; None for a single run."""
    if len(runs) < 2:
        return None

    found = [board for board in boards if isinstance(board, Leaderboard)]
    if len(found) < len(runs):
        return _ranks_compared(runs, boards)

    every = all(OVERALL in run.factors for run in runs)
    factor = OVERALL if every else found[0].tables[0].factor
    ranked = [
        replace(board, tables=tuple(t for t in board.tables if t.factor == factor))
        for board in found
    ]
    names = [run.name for run in runs]
    scores = [run.scores for run in runs]
    settings = [run.manifest.model_dump(mode="json") for run in runs]
    result = compare(names, ranked, scores, settings, factor=factor)
    return CompareSection(
        grids=leaderboard.comparison_grids(result, 2, runs[0].names),
        charts=[_run_scatter(runs, k, factor) for k in range(1, len(runs))],
        bumps=_bumps(runs[0], names, result),
    )


def _ranks_compared(
    runs: Sequence[RunData], boards: Sequence[Leaderboard | PairBoard]
) -> CompareSection:
    """Return the ranks of runs side by side, where pairs and scores have nothing else in common."""
    items = [_items(run) for run in runs]
    shared = set.intersection(*items)
    differ = any(own != shared for own in items)
    of_pairs = all(run.run.is_of_pairs for run in runs)
    if differ and shared and of_pairs:
        boards = [_over_items(run, shared) for run in runs]

    standings = [_ranks(board) for board in boards]
    methods = dict.fromkeys(name for own in standings for name in own)
    names = [run.name for run in runs]
    ranks: dict[str, list[int | None]] = {}
    rows = []

    for method in methods:
        title = runs[0].names.method(method)
        ranks[title] = [own.get(method) for own in standings]
        rows.append(plain(title, *(number(rank, 0) for rank in ranks[title])))

    caption = ""
    same_items = not differ or bool(shared and of_pairs)
    if differ:
        counts = [str(len(own)) for own in items]
        over = "the ranks are not over the same items, and no change is shown"
        over = f"compared over the {len(shared)} they share" if same_items else over
        caption = f"{counts[0]} items against {listed(counts[1:])}; {over}."

    grid = Grid("Ranks", ("Method", *names), tuple(rows), caption)
    charts: list[Chart] = []
    if of_pairs:
        charts = [_run_scatter(runs, k, WIN_RATE) for k in range(1, len(runs))]

    return CompareSection([grid], charts, [bump_chart("bump", names, ranks)] if same_items else [])


def _items(run: RunData) -> set[tuple[str, str]]:
    """Return the task and id of each item with a verdict or a score."""
    if run.run.is_of_pairs:
        return {(row.task, row.item) for row in run.comparisons if row.winner}

    known = run.scores[run.scores["score"].notna()]
    return set(zip(known["task"].astype(str), known["item"].astype(str), strict=True))


def _over_items(run: RunData, items: set[tuple[str, str]]) -> PairBoard:
    """Return the ranks of a run of pairs over these items alone."""
    rows = [row for row in run.comparisons if (row.task, row.item) in items]
    return rank_pairs(rows, methods=run.manifest.methods, resamples=0)


def _ranks(board: Leaderboard | PairBoard) -> dict[str, int | None]:
    """Return the rank of every method over all task categories."""
    whole = [table for table in board.tables if table.task is None] or board.tables
    return {row.method: row.rank for row in whole[0].rows}


def _run_scatter(runs: Sequence[RunData], other: int, factor: str) -> Chart:
    """Return the scores of one run over those of the first, a dot per edit that both scored."""
    first, second = runs[0], runs[other]
    dots = []
    for place, edit in first.edits.items():
        x = edit.mean(factor)
        y = second.edits[place].mean(factor) if place in second.edits else None
        if x is not None and y is not None:
            dots.append(Dot(x, y, *place))

    scales = first.scales.get(factor), second.scales.get(factor)
    edits = counted(len(dots), "edit")
    title = f"{first.title(factor)}: {first.name} and {second.name}, {edits}"
    return scatter(
        f"runs-{other}", title, dots, (first.name, second.name), diagonal=scales[0] == scales[1]
    )


def _bumps(run: RunData, names: Sequence[str], result: RunComparison) -> list[Chart]:
    """Return how ranks change; nothing where the runs share no item, as no change is known."""
    lines = [line for line in result.changes if line.task is None] or list(result.changes)
    ranks = {run.names.method(line.method): line.ranks for line in lines if line.same_items}
    return [bump_chart("bump", names, ranks)] if ranks else []


# Writing


def _filled(
    content: PageContent, placed: PicturePlace, side_px: int, options: PageOptions
) -> Iterable[str]:
    environment = page_templates("lmmscore.report", "templates")
    environment.filters["minus"] = true_minus
    environment.filters["breakable"] = _breakable
    styles = [_source(environment, name) for name in STYLES]
    scripts = [_source(environment, name) for name in SCRIPTS]
    pictures = "data: 'self'" if options.assets else "data:"
    core = {
        **content.core,
        "assets": options.assets,
        "full": bool(placed.full),
        "bundle": BUNDLE,
    }
    return environment.get_template("page.html.j2").generate(
        page=content,
        policy=inline_policy(styles, scripts, img_src=pictures),
        styles=[Markup(code) for code in styles],
        scripts=[Markup(code) for code in scripts],
        core=core,
        placed=placed,
        headings=HEADINGS,
        provenance=page_provenance(options.command, side_px),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _breakable(name: str) -> Markup:
    """Return a name that is broken after a mark, where a narrow column must break it."""
    return Markup(re.sub(r"([_./])(?=\w)", r"\1<wbr>", str(escape(name))))


def _source(environment: Environment, name: str) -> str:
    """Return a style sheet or script exactly as the browser will see and digest it."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0].strip()


def _put(text: Iterable[str], out: Path) -> Path:
    part = out.with_name(out.name + ".part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.writelines(text)

        part.replace(out)
    except OSError as error:
        reason = error.strerror or error
        raise FileProblem(f"{out}: cannot be written ({reason}); give another --out") from error

    return out
