"""Figures fit to print: a leaderboard's forest plot, heat maps and rank changes; an agreement's.

Drawn with matplotlib (the extra `plots`) without its global state. Everything that needs it is in
this file; the rest are the fits that the page draws too.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from lmmscore.agreement import Agreement
from lmmscore.agreement.align import EDIT, Paired
from lmmscore.errors import FileProblem, LmmscoreError
from lmmscore.leaderboard.board import BoardTable, Leaderboard
from lmmscore.leaderboard.compare import RunComparison
from lmmscore.report.leaderboard import title_of
from lmmscore.stats import correlation
from lmmscore.stats.resampling import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

PlotFormat = Literal["pdf", "svg", "png"]
PlotWidth = Literal["column", "page"]

WIDTHS_IN = {"column": 3.25, "page": 6.75}
"""A column and the page of a two-column paper."""

INK, BLUE, SKY, ORANGE, GREY = "#222222", "#0072b2", "#56b4e9", "#d55e00", "#8a8a8a"
"""Of Okabe and Ito's palette: apart for colour-blind readers and in grey print."""

STYLE = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "lmmscore",
}
"""Type 42: fonts are embedded as text, as publishers ask; a fixed salt makes files reproducible."""

MINUS = "\N{MINUS SIGN}"
LINES = 2_000
"""Resampled fits behind a band."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure that can be drawn, and the name of its file."""

    name: str
    draw: Callable[[float], MplFigure]
    """Takes the width in inches."""


@dataclass(frozen=True, slots=True)
class PlotImage:
    """A figure that a notebook shows."""

    figure: MplFigure

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.figure.savefig(out, format="png", dpi=144)
        return out.getvalue()

    def save(self, path: str | Path) -> None:
        """Write the figure; the ending says in which format."""
        self.figure.savefig(path, dpi=300)


def write_figures(
    drawings: Sequence[Drawing], folder: Path, ending: PlotFormat, width: PlotWidth
) -> list[Path]:
    """Write figures into a folder; return the files. Raises LmmscoreError without matplotlib."""
    inches = WIDTHS_IN[width]
    # Without a date in it, the same figure is the same file.
    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(ending)
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for drawing in drawings:
            path = folder / f"{_file_name(drawing.name)}.{ending}"
            with _style():
                figure = drawing.draw(inches)
                figure.savefig(path, metadata=undated, dpi=300)

            paths.append(path)
    except OSError as error:
        raise FileProblem(f"{folder}: cannot be written ({error.strerror or error})") from error

    return paths


def drawn(drawing: Drawing, width_in: float) -> MplFigure:
    """Return one figure, in the style of all. Raises LmmscoreError without matplotlib."""
    with _style():
        return drawing.draw(width_in)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "figure"


def _style() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise LmmscoreError("plots need matplotlib; pip install matplotlib") from error
    return matplotlib.rc_context(STYLE)  # type: ignore[arg-type]


def _new(width_in: float, height_in: float) -> MplFigure:
    from matplotlib.figure import Figure as NewFigure

    return NewFigure(figsize=(width_in, height_in), layout="constrained")


def _diverging() -> Any:
    """Return the colours of correlations and differences: orange below zero, blue above."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("lmmscore", [ORANGE, "#ffffff", BLUE])


def _sequential() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("lmmscore-means", ["#ffffff", SKY, BLUE])


# A leaderboard


def board_drawings(board: Leaderboard, titles: Mapping[str, str] | None = None) -> list[Drawing]:
    """Return the figures of a leaderboard: a forest plot per table, and its heat maps.

    `titles` are the factors' full names.
    """
    called = titles or {}
    drawings = []
    for table in board.tables:
        place = title_of(table).lower()

        def draw(width: float, table: BoardTable = table) -> MplFigure:
            return forest(table, width)

        drawings.append(Drawing(f"forest-{place}", draw))

    whole = next((table for table in board.tables if table.task is None), board.tables[0])
    if whole.rows and len(whole.rows[0].factors) > 1:
        drawings.append(
            Drawing("methods-by-factor", lambda width: factor_means(whole, called, width))
        )

    tasks = [t for t in board.tables if t.task is not None and t.factor == whole.factor]
    if len(tasks) > 1:
        drawings.append(Drawing("methods-by-task", lambda width: task_means(whole, tasks, width)))

    return drawings


def forest(table: BoardTable, width_in: float) -> MplFigure:
    """Return means with their intervals, best first, and the rank interval of each method."""
    rows = [row for row in table.rows if row.mean is not None]
    figure = _new(width_in, 0.75 + 0.22 * len(rows))
    axis: Axes = figure.subplots()
    axis.set_title(title_of(table), loc="left")
    for k, row in enumerate(rows):
        assert row.mean is not None
        if row.mean_interval is not None:
            axis.plot(row.mean_interval, [k, k], color=BLUE, linewidth=1.2, solid_capstyle="butt")

        axis.plot([row.mean], [k], marker="o", markersize=4, color=BLUE)
        ranks = "" if row.rank_interval is None else _interval(row.rank_interval)
        axis.annotate(
            ranks,
            (1.02, k),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=7,
            annotation_clip=False,
        )

    axis.annotate("rank", (1.02, 1.0), xycoords="axes fraction", va="bottom", fontsize=7)
    axis.set_yticks(range(len(rows)), [row.method for row in rows])
    axis.invert_yaxis()
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlabel(f"mean {table.factor}, 95% interval")
    axis.grid(axis="x", color="#dddddd", linewidth=0.5)
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    return figure


def _interval(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"


def factor_means(table: BoardTable, titles: Mapping[str, str], width_in: float) -> MplFigure:
    """Return the mean of every method on every factor."""
    factors = list(table.rows[0].factors)
    values = [[row.factors.get(factor) for factor in factors] for row in table.rows]
    names = [titles.get(factor, factor) for factor in factors]
    return _means_map(values, [row.method for row in table.rows], names, width_in)


def task_means(whole: BoardTable, tables: Sequence[BoardTable], width_in: float) -> MplFigure:
    """Return the mean of every method in every task category."""
    methods = [row.method for row in whole.rows]
    by_task = [{row.method: row.mean for row in table.rows} for table in tables]
    values = [[means.get(method) for means in by_task] for method in methods]
    return _means_map(values, methods, [title_of(table) for table in tables], width_in)


def _means_map(
    values: Sequence[Sequence[float | None]],
    rows: Sequence[str],
    columns: Sequence[str],
    width_in: float,
) -> MplFigure:
    table = np.array([[np.nan if v is None else v for v in line] for line in values], dtype=float)
    figure = _new(width_in, 1.0 + 0.24 * len(rows))
    axis: Axes = figure.subplots()
    image = axis.imshow(table, cmap=_sequential(), aspect="auto")
    _label_cells(axis, table, "{:.2f}", image)
    axis.set_xticks(range(len(columns)), columns, rotation=30, ha="right")
    axis.set_yticks(range(len(rows)), rows)
    _without_frame(axis)
    figure.colorbar(image, ax=axis, label="mean", shrink=0.8)
    return figure


def _label_cells(axis: Axes, table: Floats, form: str, image: Any) -> None:
    """Write each value into its cell, in white where the cell is dark."""
    for i, j in np.ndindex(table.shape):
        value = table[i, j]
        text = "–" if np.isnan(value) else form.format(value).replace("-0.0", "0.0")
        red, green, blue, _ = image.cmap(image.norm(0.0 if np.isnan(value) else value))
        dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.55
        color = "white" if dark else INK
        shown = text.replace("-", MINUS)
        axis.text(j, i, shown, ha="center", va="center", fontsize=6, color=color)


def _without_frame(axis: Axes) -> None:
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)


def comparison_drawings(found: RunComparison, names: Mapping[str, str]) -> list[Drawing]:
    """Return the figures of several runs side by side: how the ranks change."""
    return [Drawing("rank-changes", lambda width: rank_changes(found, names, width))]


def rank_changes(found: RunComparison, names: Mapping[str, str], width_in: float) -> MplFigure:
    """Return a bump chart: the rank of every method in every run."""
    lines = [line for line in found.changes if line.task is None] or list(found.changes)
    most = max((rank for line in lines for rank in line.ranks if rank), default=1)
    figure = _new(width_in, 0.7 + 0.24 * most)
    axis: Axes = figure.subplots()
    for line in lines:
        places = [(k, rank) for k, rank in enumerate(line.ranks) if rank is not None]
        if not places:
            continue

        change = places[-1][1] - places[0][1]
        color = BLUE if change < 0 else ORANGE if change > 0 else GREY
        axis.plot(*zip(*places, strict=True), color=color, marker="o", markersize=4, linewidth=1.2)
        name = names.get(line.method, line.method)
        for (k, rank), side in ((places[0], "right"), (places[-1], "left")):
            offset = -0.06 if side == "right" else 0.06
            axis.text(k + offset, rank, name, ha=side, va="center", fontsize=7)

    axis.set_xticks(range(len(found.names)), list(found.names))
    axis.set_xlim(-0.6, len(found.names) - 0.4)
    axis.set_yticks(range(1, most + 1))
    axis.set_ylabel("rank")
    axis.invert_yaxis()
    axis.tick_params(length=0)
    for side_of_frame in axis.spines.values():
        side_of_frame.set_visible(False)

    return figure


# An agreement


def agreement_drawings(found: Agreement, titles: Mapping[str, str]) -> list[Drawing]:
    """Return the figures of every judge; `titles` are the factors' full names."""
    drawings = []
    for judge in found.judges:
        for name, draw in (
            ("scatter", agreement_scatter),
            ("bland-altman", bland_altman),
            ("factors", factor_map),
        ):

            def drawn(
                width: float, judge: str = judge, draw: Callable[..., MplFigure] = draw
            ) -> MplFigure:
                return draw(found, judge, titles, width)

            drawings.append(Drawing(f"{judge}-{name}", drawn))

    return drawings


def _panels(
    found: Agreement, judge: str, width_in: float
) -> tuple[MplFigure, list[tuple[str, Paired, Axes]]]:
    """Return a figure with a square panel for each factor of a judge."""
    factors = [factor for factor in found.factors if (judge, factor) in found.paired]
    rows = math.ceil(len(factors) / (2 if width_in < 5 else 4))
    # Rows of even length: five panels stand 3 + 2, not 4 + 1.
    columns = math.ceil(len(factors) / rows)
    panel_in = width_in / columns
    figure = _new(width_in, panel_in * 1.08 * rows + 0.25)
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for spare in axes[len(factors) :]:
        spare.set_axis_off()

    panels = [
        (factor, found.paired[judge, factor], axis)
        for factor, axis in zip(factors, axes, strict=False)
    ]
    return figure, panels


def agreement_scatter(
    found: Agreement, judge: str, titles: Mapping[str, str], width_in: float
) -> MplFigure:
    """Return the judge's scores over the raters' means on equal axes, with the line y = x."""
    figure, panels = _panels(found, judge, width_in)
    for factor, paired, axis in panels:
        row = found.row(judge, factor, "item", "spearman")
        rho = None if row is None else row.value
        value = "ρ undefined" if rho is None else f"ρ = {rho:.2f}".replace("-", MINUS)
        axis.set_title(f"{_title(factor, titles)}\n{value}, n = {len(paired.edits)}")
        if len(paired.edits):
            _scatter(axis, paired, found.settings["seed"])

    figure.supxlabel("raters’ mean", fontsize=8)
    figure.supylabel(f"{judge}", fontsize=8)
    return figure


def _title(factor: str, titles: Mapping[str, str]) -> str:
    """Return a factor's full name, in lines that fit a panel."""
    return textwrap.fill(titles.get(factor, factor), 20)


def _scatter(axis: Axes, paired: Paired, seed: int) -> None:
    people, judge = paired.people, paired.judge
    low = min(people.min(), judge.min())
    high = max(people.max(), judge.max())
    room = 0.06 * (high - low) or 0.5
    ends = (low - room, high + room)
    axis.plot(ends, ends, color=GREY, linewidth=0.7, linestyle=":", zorder=0)
    grid = np.linspace(people.min(), people.max(), 40)
    band = fit_band(people, judge, paired.item, grid, np.random.default_rng(seed))
    if band is not None:
        axis.fill_between(grid, band[0], band[2], color=SKY, alpha=0.35, linewidth=0)
        axis.plot(grid, band[1], color=BLUE, linewidth=1)

    rng = np.random.default_rng(seed)
    axis.scatter(jitter(people, rng), jitter(judge, rng), s=7, color=INK, alpha=0.55, linewidths=0)
    axis.set_xlim(ends)
    axis.set_ylim(ends)
    axis.set_aspect("equal")
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(_round_ticks())


def _round_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5, steps=[1, 2, 5, 10])


def jitter(values: Floats, rng: np.random.Generator) -> Floats:
    """Return whole numbers moved a little, so that equal points are seen; others as they are."""
    if not np.allclose(values, np.round(values)):
        return values
    return values + rng.uniform(-0.18, 0.18, len(values))


def fit_band(
    x: Floats, y: Floats, item: np.ndarray[Any, Any], grid: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats] | None:
    """Return low, fitted and high of a straight line over the grid; None for a constant x.

    The band is the 95% interval over resampled items.
    """
    if correlation.reason_undefined(x, x):
        return None

    items = int(item.max()) + 1
    counts = rng.multinomial(items, np.full(items, 1 / items), size=LINES)[:, item].astype(float)
    n = counts.sum(axis=1)
    mean_x, mean_y = counts @ x / n, counts @ y / n
    spread = counts @ x**2 / n - mean_x**2
    usable = spread > 1e-9
    slope = (counts @ (x * y) / n - mean_x * mean_y)[usable] / spread[usable]
    lines = mean_y[usable, None] + slope[:, None] * (grid[None, :] - mean_x[usable, None])
    low, high = np.quantile(lines, [0.025, 0.975], axis=0)
    best = np.polyfit(x, y, 1)
    return low, np.asarray(np.polyval(best, grid), dtype=float), high


def bland_altman(
    found: Agreement, judge: str, titles: Mapping[str, str], width_in: float
) -> MplFigure:
    """Return judge less raters over their mean, with the bias and the limits of agreement."""
    figure, panels = _panels(found, judge, width_in)
    for factor, paired, axis in panels:
        axis.set_title(_title(factor, titles))
        row = found.row(judge, factor, "item", "bias")
        if row is None or row.value is None or len(paired.edits) < 2:
            continue

        gaps = paired.judge - paired.people
        means = (paired.judge + paired.people) / 2
        reach = 1.96 * gaps.std(ddof=1)
        low, high = row.limits
        if low is not None and high is not None:
            axis.axhspan(low, high, color=SKY, alpha=0.35, linewidth=0)

        axis.axhline(0, color=GREY, linewidth=0.7, linestyle=":")
        axis.axhline(row.value, color=BLUE, linewidth=1)
        for limit in (row.value - reach, row.value + reach):
            axis.axhline(limit, color=BLUE, linewidth=0.7, linestyle="--")

        axis.scatter(means, gaps, s=7, color=INK, alpha=0.55, linewidths=0)
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_locator(_round_ticks())

    figure.supxlabel("mean of judge and raters", fontsize=8)
    figure.supylabel(f"{judge} less raters", fontsize=8)
    return figure


def factor_map(
    found: Agreement, judge: str, titles: Mapping[str, str], width_in: float
) -> MplFigure:
    """Return heat maps of Spearman's ρ, factor by factor: judge by raters, each by itself."""
    factors = [factor for factor in found.factors if (judge, factor) in found.paired]
    names = [titles.get(factor, factor) for factor in factors]
    maps = (
        (f"{judge} by raters", ("judge", "people")),
        (f"{judge} by itself", ("judge", "judge")),
        ("raters by themselves", ("people", "people")),
    )
    stacked = width_in < 5
    height = (3 * (0.8 + 0.2 * len(factors)) + 0.6) if stacked else width_in / 3 + 0.9
    figure = _new(width_in, height)
    shape = (3, 1) if stacked else (1, 3)
    axes = figure.subplots(*shape, sharex=True, sharey=True)
    for (title, sides), axis in zip(maps, axes, strict=True):
        table = cross_correlations(found, judge, factors, sides)
        image = axis.imshow(table, vmin=-1, vmax=1, cmap=_diverging(), aspect="auto")
        _label_cells(axis, table, "{:.1f}", image)
        axis.set_title(title)
        axis.set_xticks(range(len(factors)), names, rotation=40, ha="right")
        axis.set_yticks(range(len(factors)), names)
        _without_frame(axis)

    figure.colorbar(image, ax=axes, shrink=0.7, label="Spearman ρ")
    return figure


def cross_correlations(
    found: Agreement, judge: str, factors: Sequence[str], sides: tuple[str, str]
) -> Floats:
    """Return Spearman's ρ of every factor of one side with every factor of the other.

    NaN where undefined.
    """
    tables = [found.paired[judge, factor].edits.set_index(EDIT) for factor in factors]
    left = _side(tables, sides[0])
    right = _side(tables, sides[1])
    result = np.full((len(factors), len(factors)), np.nan)
    for i, j in np.ndindex(result.shape):
        known = ~(np.isnan(left[:, i]) | np.isnan(right[:, j]))
        result[i, j] = correlation.spearman(left[known, i], right[known, j])

    return result


def _side(tables: Sequence[pd.DataFrame], side: str) -> Floats:
    columns = [table[side] for table in tables]
    return pd.concat(columns, axis=1).sort_index().to_numpy(dtype=float)
