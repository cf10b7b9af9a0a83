"""The agreement section: its plots as plain geometry, and where judge and people part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from lmmscore.agreement import Agreement
from lmmscore.agreement.align import Paired
from lmmscore.report.grids import number
from lmmscore.report.page.drawing import Axis, axis_over, dots, polyline
from lmmscore.report.plots import cross_correlations, fit_band, jitter

SIDE = 220
LEFT, RIGHT, TOP, BOTTOM = 34, SIDE - 6, 8, SIDE - 26
CURVE = 24


@dataclass(frozen=True, slots=True)
class Plot:
    """One small plot: axes, a cloud of points, lines and a band."""

    title: str
    said: str
    """What it shows, in words, for whoever cannot see it."""
    x: Axis
    y: Axis
    points: str
    band: str = ""
    line: str = ""
    dashed: tuple[str, ...] = ()
    quiet: str = ""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Correlations of factors with factors."""

    title: str
    factors: tuple[str, ...]
    cells: tuple[tuple[tuple[str, float], ...], ...]
    """Text and strength from -1 to 1; 0 where undefined."""


def scatters(found: Agreement, judge: str) -> list[Plot]:
    """Return the judge's score against people's mean, a plot a factor."""
    return _plots(found, judge, _scatter)


def bland_altmans(found: Agreement, judge: str) -> list[Plot]:
    """Return judge minus people over the mean of both, a plot a factor."""
    return _plots(found, judge, _bland_altman)


def _plots(
    found: Agreement, judge: str, draw: Callable[[Agreement, str, str, Paired], Plot]
) -> list[Plot]:
    pairs = [
        (factor, found.paired[judge, factor])
        for factor in found.factors
        if (judge, factor) in found.paired
    ]
    return [draw(found, judge, factor, paired) for factor, paired in pairs if len(paired.edits)]


def _scatter(found: Agreement, judge: str, factor: str, paired: Paired) -> Plot:
    people, scores = paired.people, paired.judge
    x, y = axis_over(list(people), LEFT, RIGHT), axis_over(list(scores), BOTTOM, TOP)
    row = found.row(judge, factor, "item", "spearman")
    rho = "ρ undefined" if row is None or row.value is None else f"ρ = {number(row.value, 2)}"
    rng = np.random.default_rng(found.settings["seed"])
    grid = np.linspace(people.min(), people.max(), CURVE)
    fitted = fit_band(
        people, scores, paired.item, grid, np.random.default_rng(found.settings["seed"])
    )
    shown = [
        (x.at(a), y.at(b)) for a, b in zip(jitter(people, rng), jitter(scores, rng), strict=True)
    ]
    band = line = ""
    if fitted is not None:
        low, best, high = (
            [(x.at(a), y.at(_within(b, y))) for a, b in zip(grid, curve, strict=True)]
            for curve in fitted
        )
        band, line = polyline([*low, *high[::-1]]), polyline(best)
    said = f"{factor}: {judge}'s score over people's mean rating, {len(paired.edits)} edits, Spearman {rho}."
    return Plot(f"{factor}, {rho}, n = {len(paired.edits)}", said, x, y, dots(shown), band, line)


def _within(value: float, axis: Axis) -> float:
    return min(max(float(value), axis.low), axis.high)


def _bland_altman(_: Agreement, judge: str, factor: str, paired: Paired) -> Plot:
    gaps, means = paired.judge - paired.people, (paired.judge + paired.people) / 2
    bias = float(gaps.mean())
    reach = 1.96 * float(gaps.std(ddof=1)) if len(gaps) > 1 else 0.0
    x = axis_over(list(means), LEFT, RIGHT)
    y = axis_over([*gaps, bias - reach, bias + reach, 0.0], BOTTOM, TOP)
    said = (
        f"{factor}: {judge} minus people over the mean of both. Bias {number(bias, 2)}, limits of agreement "
        f"{number(bias - reach, 2)} to {number(bias + reach, 2)}, {len(gaps)} edits."
    )
    shown = [(x.at(a), y.at(b)) for a, b in zip(means, gaps, strict=True)]
    return Plot(
        f"{factor}, bias {number(bias, 2)}",
        said,
        x,
        y,
        dots(shown),
        line=_level(y, bias),
        dashed=(_level(y, bias - reach), _level(y, bias + reach)) if reach else (),
        quiet=_level(y, 0.0),
    )


def _level(axis: Axis, value: float) -> str:
    return polyline([(LEFT, axis.at(value)), (RIGHT, axis.at(value))])


def factor_maps(found: Agreement, judge: str) -> list[HeatMap]:
    """Return Spearman's ρ of factor by factor: judge by people, and each by itself."""
    factors = [factor for factor in found.factors if (judge, factor) in found.paired]
    sides = (
        (f"{judge} (rows) by people", ("judge", "people")),
        (f"{judge} by itself", ("judge", "judge")),
        ("people by themselves", ("people", "people")),
    )
    return [
        _map(title, factors, cross_correlations(found, judge, factors, side))
        for title, side in sides
    ]


def _map(title: str, factors: Sequence[str], table: np.ndarray) -> HeatMap:
    cells = tuple(
        tuple((number(float(value), 2), 0.0 if np.isnan(value) else float(value)) for value in row)
        for row in table
    )
    return HeatMap(title, tuple(factors), cells)


def gaps(
    found: Agreement, judge: str, original: dict[str, str]
) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Return people's mean and the judge's place minus theirs, by item, method and factor.

    A place is the share of all rated edits that are below, so that a judge who uses another part of the scale, or
    another scale, does not seem to disagree about everything. `original` maps renamed factors to the run's names.
    """
    made = {}
    for (name, factor), paired in found.paired.items():
        if name != judge or len(paired.edits) < 2:
            continue
        place = (rankdata(paired.judge) - rankdata(paired.people)) / (len(paired.edits) - 1)
        rows = zip(paired.edits["item"], paired.edits["method"], paired.people, place, strict=True)
        for item, method, people, gap in rows:
            made[str(item), str(method), original.get(factor, factor)] = (float(people), float(gap))
    return made
