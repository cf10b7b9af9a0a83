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
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from lmmscore.agreement import Agreement
from lmmscore.agreement.align import EDIT, Paired
from lmmscore.agreement.statistics import ITEM
from lmmscore.errors import FileProblem, LmmscoreError
from lmmscore.leaderboard import BoardTable, Leaderboard
from lmmscore.leaderboard.compare import RankChange, RunComparison
from lmmscore.leaderboard.matches import PairBoard
from lmmscore.records import fixed, percent
from lmmscore.report.formats import DisplayNames, rank_span
from lmmscore.report.leaderboard import RankedMethod, ranked_methods, title_of
from lmmscore.stats import FEWEST_FOR_AN_INTERVAL, Floats, correlation

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

COARSE = 20
"""Distinct values up to which a scale is coarse: points would hide each other."""


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


def refuse_without_matplotlib() -> None:
    """Raise LmmscoreError, with the remedy, where no figure can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise LmmscoreError("figures need matplotlib; pip install 'lmmscore[plots]'") from error


def _style() -> Any:
    refuse_without_matplotlib()
    import matplotlib

    return matplotlib.rc_context(STYLE)  # type: ignore[arg-type]


def _new(width_in: float, height_in: float) -> MplFigure:
    from matplotlib.figure import Figure as NewFigure

    return NewFigure(figsize=(width_in, height_in), layout="constrained")


def _diverging() -> Any:
    """Return the colours of correlations and differences: orange below zero, blue above."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("lmmscore", [ORANGE, "#ffffff", BLUE])


def _sequential() -> Any:
    """Return the colours of means; the lowest is tinted, so that a missing one stands apart."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("lmmscore-means", ["#e4f1fa", SKY, BLUE])


def _text_in(characters: int, points: float) -> float:
    """Return about how wide so many characters are, in inches."""
    return characters * 0.6 * points / 72


def _longest(names: Sequence[str]) -> int:
    return max(map(len, names), default=0)


# --------------------------------------------------------------------------------------------------
# Heat maps.
# --------------------------------------------------------------------------------------------------

LABEL_PT, CELL_PT = 7, 6
"""Sizes of the labels of a heat map, and of the values in its cells."""

COLOR_BAR_IN = 0.8
"""What a colour bar takes of the width, with its labels."""


@dataclass(frozen=True, slots=True)
class HeatFigure:
    """How tables of values are drawn: their names, and how wide a cell is."""

    rows: Sequence[str]
    columns: Sequence[str]
    cell_in: float

    @classmethod
    def fitted(
        cls, rows: Sequence[str], columns: Sequence[str], width_in: float, across: int = 1
    ) -> HeatFigure:
        """Return the map for a figure of this width, with so many maps side by side."""
        room_in = width_in - _text_in(_longest(rows), LABEL_PT) - COLOR_BAR_IN
        return cls(rows, columns, room_in / across / max(len(columns), 1))

    def fits(self, text: str) -> bool:
        """Tell whether a cell is wide enough for a value."""
        return self.cell_in >= _text_in(len(text), CELL_PT)

    @property
    def height_in(self) -> float:
        """The height of the map with the names of its columns."""
        labels = len(self.column_lines[0]) * 0.12 if self.column_lines else 0.9
        return 0.24 * len(self.rows) + labels

    @property
    def column_lines(self) -> list[list[str]]:
        """The columns' names in up to three lines each; nothing where they do not fit so."""
        room = max(int(self.cell_in / _text_in(1, LABEL_PT)), 1)
        wrapped = [textwrap.wrap(name, room, break_long_words=False) for name in self.columns]
        fit = all(len(lines) <= 3 and _longest(lines) <= room for lines in wrapped)
        return wrapped if fit else []

    def draw(self, axis: Axes, table: Floats, decimals: int, **colors: Any) -> Any:
        """Draw a table and return its image; `colors` are options of `imshow`.

        Values are written into the cells, with so many decimals, where these are wide enough. A
        missing one is a dash without a colour.
        """
        image = axis.imshow(table, aspect="auto", **colors)
        if self.fits(fixed(-0.5, decimals)):
            _label_cells(axis, table, decimals, image)

        axis.set_yticks(range(len(self.rows)), self.rows)
        if self.column_lines:
            names = ["\n".join(lines) for lines in self.column_lines]
            axis.set_xticks(range(len(names)), names)
        else:
            upright = self.cell_in < 0.4
            axis.set_xticks(
                range(len(self.columns)),
                self.columns,
                rotation=90 if upright else 40,
                rotation_mode="anchor",
                ha="right",
                va="center" if upright else "top",
            )

        _without_frame(axis)
        return image


def _label_cells(axis: Axes, table: Floats, decimals: int, image: Any) -> None:
    """Write each value into its cell, in white where the cell is dark."""
    for i, j in np.ndindex(table.shape):
        value = table[i, j]
        if np.isnan(value):
            axis.text(j, i, "–", ha="center", va="center", fontsize=CELL_PT, color=GREY)
            continue

        text = fixed(float(value), decimals).replace("-", MINUS)
        red, green, blue, _ = image.cmap(image.norm(value))
        dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.55
        color = "white" if dark else INK
        axis.text(j, i, text, ha="center", va="center", fontsize=CELL_PT, color=color)


# --------------------------------------------------------------------------------------------------
# A leaderboard, and several side by side.
# --------------------------------------------------------------------------------------------------


def board_drawings(board: Leaderboard, titles: Mapping[str, str] | None = None) -> list[Drawing]:
    """Return the figures of a leaderboard: a forest plot per table, and its heat maps.

    `titles` are the factors' full names.
    """
    drawings = []
    for table in board.tables:
        label = f"mean {table.factor}"
        drawings += _forest_drawing(title_of(table), label, ranked_methods(table), board.settings)

    whole = next((table for table in board.tables if table.task is None), board.tables[0])
    if whole.rows and len(whole.rows[0].factors) > 1:
        drawings.append(Drawing("methods-by-factor", partial(factor_means, whole, titles or {})))

    tasks = [t for t in board.tables if t.task is not None and t.factor == whole.factor]
    if len(tasks) > 1:
        drawings.append(Drawing("methods-by-task", partial(task_means, whole, tasks)))

    return drawings


def pair_drawings(board: PairBoard, names: DisplayNames) -> list[Drawing]:
    """Return the figures of pairwise comparisons: a forest plot of strengths per table."""
    drawings = []
    for table in board.tables:
        lines = [replace(one, method=names.method(one.method)) for one in ranked_methods(table)]
        title = names.task(table.task)
        drawings += _forest_drawing(title, "strength (log scale)", lines, board.settings)

    return drawings


def _forest_drawing(
    title: str, value: str, lines: Sequence[RankedMethod], settings: Mapping[str, Any]
) -> list[Drawing]:
    """Return the forest plot of a table; none where no method has a value.

    Such is a table whose methods are not all linked by comparisons: it has no strengths.
    """
    known = [line for line in lines if line.value is not None]
    if not known:
        return []

    label = f"{value}, {percent(settings.get('level', 0.95))} interval"
    return [Drawing(f"forest-{title.lower()}", partial(forest, title, label, known))]


def forest(title: str, label: str, lines: Sequence[RankedMethod], width_in: float) -> MplFigure:
    """Return values with their intervals, best first, and the rank interval of each method."""
    figure = _new(width_in, 0.75 + 0.22 * len(lines))
    axis: Axes = figure.subplots()
    axis.set_title(title, loc="left")
    for k, line in enumerate(lines):
        if line.interval is not None:
            axis.plot(line.interval, [k, k], color=BLUE, linewidth=1.2, solid_capstyle="butt")

        if line.value is not None:
            axis.plot([line.value], [k], marker="o", markersize=4, color=BLUE)

        axis.annotate(
            "" if line.rank_interval is None else rank_span(line.rank_interval),
            (1.02, k),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=LABEL_PT,
            annotation_clip=False,
        )

    if any(line.rank_interval is not None for line in lines):
        axis.annotate("rank", (1.02, 1.0), xycoords="axes fraction", va="bottom", fontsize=LABEL_PT)

    axis.set_yticks(range(len(lines)), [line.method for line in lines])
    axis.set_ylim(len(lines) - 0.5, -0.5)
    axis.set_xlabel(label)
    axis.grid(axis="x", color="#dddddd", linewidth=0.5)
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    return figure


def factor_means(table: BoardTable, titles: Mapping[str, str], width_in: float) -> MplFigure:
    """Return the mean of every method on every factor."""
    factors = list(table.rows[0].factors)
    values = [[row.factors.get(factor) for factor in factors] for row in table.rows]
    names = []
    for factor in factors:
        name = titles.get(factor, factor)
        names.append(f"{name} ↓" if factor in table.lower_better and "↓" not in name else name)

    return _means_map(values, [row.method for row in table.rows], names, "mean", width_in)


def task_means(whole: BoardTable, tables: Sequence[BoardTable], width_in: float) -> MplFigure:
    """Return the mean of every method in every task category."""
    methods = [row.method for row in whole.rows]
    by_task = [{row.method: row.mean for row in table.rows} for table in tables]
    values = [[means.get(method) for means in by_task] for method in methods]
    tasks = [str(table.task) for table in tables]
    label = f"mean {whole.factor} ↓" if whole.is_lower_better else f"mean {whole.factor}"
    return _means_map(values, methods, tasks, label, width_in)


def _means_map(
    values: Sequence[Sequence[float | None]],
    rows: Sequence[str],
    columns: Sequence[str],
    label: str,
    width_in: float,
) -> MplFigure:
    table = np.array([[np.nan if v is None else v for v in line] for line in values], dtype=float)
    heat_map = HeatFigure.fitted(rows, columns, width_in)
    figure = _new(width_in, heat_map.height_in + 0.2)
    axis: Axes = figure.subplots()
    image = heat_map.draw(axis, table, 2, cmap=_sequential())
    figure.colorbar(image, ax=axis, label=label, shrink=0.8)
    return figure


def comparison_drawings(found: RunComparison, names: Mapping[str, str]) -> list[Drawing]:
    """Return the figures of several runs side by side: how the ranks change on each factor."""
    factors = list(dict.fromkeys(line.factor for line in found.changes))
    drawings = []
    for factor in factors:
        lines = [line for line in found.changes if line.factor == factor]
        lines = [line for line in lines if line.task is None] or lines
        # A line from rank to rank would show a change where the runs share no item.
        lines = [line for line in lines if line.same_items]
        if not lines:
            continue

        name = "rank-changes" if len(factors) == 1 else f"rank-changes-{factor}"
        drawings.append(Drawing(name, partial(rank_changes, found.names, lines, names)))

    return drawings


def rank_changes(
    runs: Sequence[str], lines: Sequence[RankChange], names: Mapping[str, str], width_in: float
) -> MplFigure:
    """Return a bump chart: the rank of every method in every run."""
    most = max((rank for line in lines for rank in line.ranks if rank), default=1)
    figure = _new(width_in, 0.7 + 0.24 * most)
    axis: Axes = figure.subplots()
    # Methods that share a rank share a label; two would be printed on top of each other.
    begins: dict[tuple[int, int], list[str]] = {}
    ends: dict[tuple[int, int], list[str]] = {}
    for line in lines:
        places = [(k, rank) for k, rank in enumerate(line.ranks) if rank is not None]
        if not places:
            continue

        change = places[-1][1] - places[0][1]
        color = BLUE if change < 0 else ORANGE if change > 0 else GREY
        axis.plot(*zip(*places, strict=True), color=color, marker="o", markersize=4, linewidth=1.2)
        name = names.get(line.method, line.method)
        begins.setdefault(places[0], []).append(name)
        ends.setdefault(places[-1], []).append(name)

    _label_ends(axis, begins, ends, len(runs), width_in)
    axis.set_xticks(range(len(runs)), list(runs))
    axis.set_yticks(range(1, most + 1))
    axis.set_ylabel("rank")
    axis.invert_yaxis()
    _without_frame(axis)
    return figure


def _label_ends(
    axis: Axes,
    begins: Mapping[tuple[int, int], Sequence[str]],
    ends: Mapping[tuple[int, int], Sequence[str]],
    runs: int,
    width_in: float,
) -> None:
    """Write the methods before the first and behind the last point of their lines."""
    labels = [", ".join(tied) for tied in (*begins.values(), *ends.values())]
    # Labels stand outside the lines, so they take their width from the axis, in runs.
    label_in = _text_in(_longest(labels), LABEL_PT)
    run_in = max(width_in - 0.8 - 2 * label_in, 0.5) / max(runs - 1, 1)
    gap = 0.08 / run_in
    room = gap + label_in / run_in
    for (k, rank), tied in begins.items():
        axis.text(k - gap, rank, ", ".join(tied), ha="right", va="center", fontsize=LABEL_PT)

    for (k, rank), tied in ends.items():
        axis.text(k + gap, rank, ", ".join(tied), ha="left", va="center", fontsize=LABEL_PT)

    axis.set_xlim(-room, runs - 1 + room)


def _without_frame(axis: Axes) -> None:
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)


# --------------------------------------------------------------------------------------------------
# An agreement.
# --------------------------------------------------------------------------------------------------


def agreement_drawings(found: Agreement, titles: Mapping[str, str]) -> list[Drawing]:
    """Return the figures of every judge; `titles` are the factors' full names."""
    kinds = {"scatter": agreement_scatter, "bland-altman": bland_altman, "factors": factor_map}
    return [
        Drawing(f"{judge}-{name}", partial(draw, found, judge, titles))
        for judge in found.judges
        for name, draw in kinds.items()
    ]


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


def on_one_scale(found: Agreement, judge: str, factor: str) -> bool:
    """Tell whether the judge less the raters means something: not where their scales differ."""
    row = found.row(judge, factor, ITEM, "bias")
    return row is not None and row.value is not None


def agreement_scatter(
    found: Agreement, judge: str, titles: Mapping[str, str], width_in: float
) -> MplFigure:
    """Return the judge's scores over the raters' means.

    On one scale, the axes are equal, and there is the line y = x.
    """
    figure, panels = _panels(found, judge, width_in)
    for factor, paired, axis in panels:
        row = found.row(judge, factor, ITEM, "spearman")
        rho = None if row is None else row.value
        value = "ρ undefined" if rho is None else f"ρ = {fixed(rho, 2)}".replace("-", MINUS)
        axis.set_title(f"{_title(factor, titles)}\n{value}, n = {len(paired.edits)}")
        if len(paired.edits):
            alike = on_one_scale(found, judge, factor)
            _scatter(axis, paired, found.settings["seed"], alike=alike)

    figure.supxlabel("raters’ mean", fontsize=8)
    figure.supylabel(f"{judge}", fontsize=8)
    return figure


def _title(factor: str, titles: Mapping[str, str]) -> str:
    """Return a factor's full name, in lines that fit a panel."""
    return textwrap.fill(titles.get(factor, factor), 20)


def _scatter(axis: Axes, paired: Paired, seed: int, *, alike: bool) -> None:
    people, judge = paired.people, paired.judge
    if alike:
        low = min(people.min(), judge.min())
        high = max(people.max(), judge.max())
        room = 0.06 * (high - low) or 0.5
        ends = (low - room, high + room)
        axis.plot(ends, ends, color=GREY, linewidth=0.7, linestyle=":", zorder=0)
        axis.set_xlim(ends)
        axis.set_ylim(ends)
        axis.set_aspect("equal")

    grid = np.linspace(people.min(), people.max(), 40)
    fitted = fit_line(people, judge, paired.item, grid, np.random.default_rng(seed))
    if fitted is not None:
        best, band = fitted
        axis.plot(grid, best, color=BLUE, linewidth=1)
        if band is not None:
            axis.fill_between(grid, *band, color=SKY, alpha=0.35, linewidth=0)

    rng = np.random.default_rng(seed)
    _dots(axis, jitter(people, rng), jitter(judge, rng))
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(_round_ticks())


def _dots(axis: Axes, x: Floats, y: Floats) -> None:
    """Draw points, the fainter the more there are: where many lie, it is darker."""
    alpha = float(np.clip(8 / math.sqrt(max(len(x), 1)), 0.15, 0.55))
    axis.scatter(x, y, s=7, color=INK, alpha=alpha, linewidths=0)


def _round_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5, steps=[1, 2, 5, 10])


def jitter(values: Floats, rng: np.random.Generator) -> Floats:
    """Return the values of a coarse scale moved a little, so that equal points are seen."""
    levels = np.unique(np.round(values, 9))
    if not 1 < len(levels) <= COARSE:
        return values
    return np.asarray(values + rng.uniform(-0.18, 0.18, len(values)) * np.diff(levels).min())


def fit_line(
    x: Floats, y: Floats, item: np.ndarray[Any, Any], grid: Floats, rng: np.random.Generator
) -> tuple[Floats, tuple[Floats, Floats] | None] | None:
    """Return a straight line over the grid, and the ends of its band; None for a constant x.

    The band is the 95% interval over resampled items. Of fewer items than an interval takes there
    is none, as there is none in any table: resampled, four items look surer than they are.
    """
    if correlation.reason_undefined(x, x):
        return None

    best = np.asarray(np.polyval(np.polyfit(x, y, 1), grid), dtype=float)
    # Numbered again: an item without an edit here must not be drawn in place of one with edits.
    known, place = np.unique(item, return_inverse=True)
    items = len(known)
    if items < FEWEST_FOR_AN_INTERVAL:
        return best, None

    draws = rng.multinomial(items, np.full(items, 1 / items), size=LINES)
    counts = draws[:, place].astype(float)
    n = counts.sum(axis=1)
    mean_x, mean_y = counts @ x / n, counts @ y / n
    spread = counts @ x**2 / n - mean_x**2
    usable = spread > 1e-9
    slope = (counts @ (x * y) / n - mean_x * mean_y)[usable] / spread[usable]
    lines = mean_y[usable, None] + slope[:, None] * (grid[None, :] - mean_x[usable, None])
    low, high = np.quantile(lines, [0.025, 0.975], axis=0)
    return best, (low, high)


def bland_altman(
    found: Agreement, judge: str, titles: Mapping[str, str], width_in: float
) -> MplFigure:
    """Return judge less raters over their mean, with the bias and the limits of agreement."""
    figure, panels = _panels(found, judge, width_in)
    for factor, paired, axis in panels:
        axis.set_title(_title(factor, titles))
        row = found.row(judge, factor, ITEM, "bias")
        if row is None or row.value is None or len(paired.edits) < 2:
            why = f"undefined, because {row.why}" if row is not None and row.why else "undefined"
            axis.set_axis_off()
            axis.text(0.5, 0.5, textwrap.fill(why, 26), ha="center", va="center", fontsize=CELL_PT)
        else:
            _differences(axis, paired, row.value, row.limits, found.settings["seed"])

    figure.supxlabel("mean of judge and raters", fontsize=8)
    figure.supylabel(f"{judge} less raters", fontsize=8)
    return figure


def _differences(
    axis: Axes,
    paired: Paired,
    bias: float,
    interval: tuple[float | None, float | None],
    seed: int,
) -> None:
    reach = 1.96 * (paired.judge - paired.people).std(ddof=1)
    low, high = interval
    if low is not None and high is not None:
        axis.axhspan(low, high, color=SKY, alpha=0.35, linewidth=0)

    axis.axhline(0, color=GREY, linewidth=0.7, linestyle=":")
    axis.axhline(bias, color=BLUE, linewidth=1)
    for limit in (bias - reach, bias + reach):
        axis.axhline(limit, color=BLUE, linewidth=0.7, linestyle="--")

    rng = np.random.default_rng(seed)
    by_judge, by_people = jitter(paired.judge, rng), jitter(paired.people, rng)
    _dots(axis, (by_judge + by_people) / 2, by_judge - by_people)
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(_round_ticks())


def factor_map(
    found: Agreement, judge: str, titles: Mapping[str, str], width_in: float
) -> MplFigure:
    """Return heat maps of Spearman's ρ, factor by factor: judge by raters, each by itself.

    Side by side where the values then fit into their cells, else one below the other.
    """
    factors = [factor for factor in found.factors if (judge, factor) in found.paired]
    names = [titles.get(factor, factor) for factor in factors]
    maps = (
        (f"{judge} by raters", ("judge", "people")),
        (f"{judge} by itself", ("judge", "judge")),
        ("raters by themselves", ("people", "people")),
    )
    heat_map = HeatFigure.fitted(names, names, width_in, across=3)
    title_in = _text_in(_longest([title for title, _ in maps]), 8)
    stacked = not heat_map.fits("−0.5") or title_in > heat_map.cell_in * len(names)
    if stacked:
        heat_map = HeatFigure.fitted(names, names, width_in)

    down = 3 if stacked else 1
    height_in = max(heat_map.height_in + 0.3, 1.6) + (down - 1) * (0.22 * len(names) + 0.3)
    figure = _new(width_in, height_in)
    axes = figure.subplots(down, 3 // down, sharex=True, sharey=True)
    for (title, sides), axis in zip(maps, axes, strict=True):
        table = cross_correlations(found, judge, factors, sides)
        image = heat_map.draw(axis, table, 1, cmap=_diverging(), vmin=-1, vmax=1)
        axis.set_title(title)

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
