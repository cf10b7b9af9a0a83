"""Figures of an agreement, fit to print: judge against people, Bland–Altman, factor by factor.

Drawn with matplotlib (the extra `plots`) without its global state, in vector formats unless asked otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lmmscore.agreement import Agreement
from lmmscore.agreement.align import EDIT, Paired
from lmmscore.errors import FileProblem, LmmscoreError
from lmmscore.stats import correlation
from lmmscore.stats.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, JUDGE, BAND, QUIET = "#222222", "#0072b2", "#56b4e9", "#999999"
"""Colours that stay apart for colour-blind readers and in grey print."""
STYLE = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "axes.spines.top": False,
    "axes.spines.right": False, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    "pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "lmmscore",
}  # fmt: skip
"""Type 42: fonts are embedded as text, as publishers ask; a fixed salt makes the same figure the same file."""
COLUMNS = 4
PANEL_IN = 1.9
LINES = 2_000


def write_plots(found: Agreement, folder: Path, ending: str) -> list[Path]:
    """Write every figure of every judge into a folder; return the files. Raises LmmscoreError without matplotlib."""
    figures = [
        (f"{_file_name(judge)}-{name}.{ending}", draw(found, judge))
        for judge in found.judges
        for name, draw in (
            ("scatter", scatter),
            ("bland-altman", bland_altman),
            ("factors", factor_map),
        )
    ]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures:
            # Without a date in it, the same figure is the same file.
            dated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(ending)
            with _style():
                figure.savefig(folder / name, metadata=dated, dpi=200)
    except OSError as error:
        raise FileProblem(f"{folder}: cannot be written ({error.strerror or error})") from error
    return [folder / name for name, _ in figures]


def _file_name(judge: str) -> str:
    return re.sub(r"[^\w.-]+", "-", judge).strip("-.") or "judge"


def _style() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise LmmscoreError("plots need matplotlib; pip install 'lmmscore[plots]'") from error
    return matplotlib.rc_context(STYLE)  # type: ignore[arg-type]


def _panels(found: Agreement, judge: str) -> tuple[Figure, list[tuple[str, Paired, Axes]]]:
    """Return a figure with a panel for each factor of a judge."""
    from matplotlib.figure import Figure as NewFigure

    factors = [factor for factor in found.factors if (judge, factor) in found.paired]
    columns = min(COLUMNS, len(factors))
    rows = math.ceil(len(factors) / columns)
    figure = NewFigure(
        figsize=(PANEL_IN * columns + 0.4, PANEL_IN * rows + 0.4), layout="constrained"
    )
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = list(grid.ravel())
    for spare in axes[len(factors) :]:
        spare.set_axis_off()
    panels = [
        (factor, found.paired[judge, factor], axis)
        for factor, axis in zip(factors, axes, strict=False)
    ]
    return figure, panels


def scatter(found: Agreement, judge: str) -> Figure:
    """Return the judge's scores against people's means, with a line of best fit and its 95% band."""
    with _style():
        figure, panels = _panels(found, judge)
        for factor, paired, axis in panels:
            row = found.row(judge, factor, "item", "spearman")
            value = "ρ undefined" if row is None or row.value is None else f"ρ = {row.value:.2f}"
            axis.set_title(f"{factor}\n{value}, n = {len(paired.edits)}")
            if len(paired.edits):
                _scatter(axis, paired, found.settings["seed"])
        figure.supxlabel("people's mean rating", fontsize=8)
        figure.supylabel(f"{judge}'s score", fontsize=8)
        return figure


def _scatter(axis: Axes, paired: Paired, seed: int) -> None:
    people, judge = paired.people, paired.judge
    low, high = min(people.min(), judge.min()), max(people.max(), judge.max())
    axis.plot([low, high], [low, high], color=QUIET, linewidth=0.6, linestyle=":", zorder=0)
    grid = np.linspace(people.min(), people.max(), 40)
    band = fit_band(people, judge, paired.item, grid, np.random.default_rng(seed))
    if band is not None:
        axis.fill_between(grid, band[0], band[2], color=BAND, alpha=0.35, linewidth=0)
        axis.plot(grid, band[1], color=JUDGE, linewidth=1)
    rng = np.random.default_rng(seed)
    axis.scatter(jitter(people, rng), jitter(judge, rng), s=7, color=INK, alpha=0.55, linewidths=0)


def jitter(values: Floats, rng: np.random.Generator) -> Floats:
    """Return whole numbers moved a little, so that equal points are seen side by side; others as they are."""
    if not np.allclose(values, np.round(values)):
        return values
    return values + rng.uniform(-0.18, 0.18, len(values))


def fit_band(
    x: Floats, y: Floats, item: np.ndarray[Any, Any], grid: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats] | None:
    """Return low, fitted and high of a straight line over the grid, resampling items; None for a constant x."""
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


def bland_altman(found: Agreement, judge: str) -> Figure:
    """Return judge minus people over their mean, with the bias, its 95% interval and the limits of agreement."""
    with _style():
        figure, panels = _panels(found, judge)
        for factor, paired, axis in panels:
            axis.set_title(factor)
            row = found.row(judge, factor, "item", "bias")
            if row is None or row.value is None or len(paired.edits) < 2:
                continue
            gaps, means = paired.judge - paired.people, (paired.judge + paired.people) / 2
            reach = 1.96 * gaps.std(ddof=1)
            low, high = row.limits
            if low is not None and high is not None:
                axis.axhspan(low, high, color=BAND, alpha=0.35, linewidth=0)
            axis.axhline(0, color=QUIET, linewidth=0.6, linestyle=":")
            axis.axhline(row.value, color=JUDGE, linewidth=1)
            for limit in (row.value - reach, row.value + reach):
                axis.axhline(limit, color=JUDGE, linewidth=0.7, linestyle="--")
            axis.scatter(means, gaps, s=7, color=INK, alpha=0.55, linewidths=0)
        figure.supxlabel("mean of judge and people", fontsize=8)
        figure.supylabel(f"{judge} minus people", fontsize=8)
        return figure


def factor_map(found: Agreement, judge: str) -> Figure:
    """Return heat maps of Spearman's ρ of factor by factor: judge by people, and each by itself."""
    from matplotlib.figure import Figure as NewFigure

    factors = [factor for factor in found.factors if (judge, factor) in found.paired]
    maps = (
        (f"{judge} (rows) by people", ("judge", "people")),
        (f"{judge} by itself", ("judge", "judge")),
        ("people by themselves", ("people", "people")),
    )
    side = 1.6 + 0.22 * len(factors)
    with _style():
        figure = NewFigure(figsize=(3 * side, side + 0.6), layout="constrained")
        axes = figure.subplots(1, 3)
        for (title, sides), axis in zip(maps, axes, strict=True):
            image = _map(axis, cross_correlations(found, judge, factors, sides), factors, title)
        figure.colorbar(image, ax=axes, shrink=0.7, label="Spearman ρ")
        return figure


def cross_correlations(
    found: Agreement, judge: str, factors: Sequence[str], sides: tuple[str, str]
) -> Floats:
    """Return Spearman's ρ of every factor of one side with every factor of the other, NaN where undefined."""
    columns = [found.paired[judge, factor].edits.set_index(EDIT) for factor in factors]
    left = (
        pd.concat([edits[sides[0]] for edits in columns], axis=1).sort_index().to_numpy(dtype=float)
    )
    right = (
        pd.concat([edits[sides[1]] for edits in columns], axis=1).sort_index().to_numpy(dtype=float)
    )
    table = np.full((len(factors), len(factors)), np.nan)
    for i, j in np.ndindex(table.shape):
        known = ~(np.isnan(left[:, i]) | np.isnan(right[:, j]))
        table[i, j] = correlation.spearman(left[known, i], right[known, j])
    return table


def _map(axis: Axes, table: Floats, factors: Sequence[str], title: str) -> Any:
    image = axis.imshow(table, vmin=-1, vmax=1, cmap="RdBu_r")
    axis.set_title(title)
    axis.set_xticks(range(len(factors)), factors, rotation=90, fontsize=6)
    axis.set_yticks(range(len(factors)), factors, fontsize=6)
    for i, j in np.ndindex(table.shape):
        value = table[i, j]
        text = "–" if np.isnan(value) else f"{value:.1f}".replace("-0.0", "0.0")
        axis.text(
            j,
            i,
            text,
            ha="center",
            va="center",
            fontsize=4.5,
            color="white" if abs(value) > 0.6 else INK,
        )
    return image
