"""Judge against human raters: the charts of an agreement, and the raters' mean of every edit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lmmscore.agreement import Agreement
from lmmscore.agreement.align import Paired
from lmmscore.report.figures import cross_correlations, fit_band
from lmmscore.report.grids import number
from lmmscore.report.page.charts import (
    Chart,
    Dot,
    Extent,
    HeatCell,
    HeatMap,
    diverging,
    scatter,
)

CURVE = 24

MeanRatings = Mapping[tuple[str, str, str], float]
"""By item, method and factor."""


@dataclass(frozen=True, slots=True)
class AgreementCharts:
    """The charts of one judge."""

    judge: str
    scatters: list[Chart]
    differences: list[Chart]
    maps: list[HeatMap]


def agreement_charts(
    found: Agreement, titles: Mapping[str, str], runs: Mapping[str, int]
) -> list[AgreementCharts]:
    """Return the charts of every judge; `runs` are the judges' places among the page's runs."""
    charts = []
    for number_of_judge, judge in enumerate(found.judges):
        pairs = {
            factor: found.paired[judge, factor]
            for factor in found.factors
            if (judge, factor) in found.paired and len(found.paired[judge, factor].edits)
        }
        scatters, differences = [], []
        for k, (factor, paired) in enumerate(pairs.items()):
            name = titles.get(factor, factor)
            where = f"{number_of_judge}-{k}"
            run = runs.get(judge, 0)
            scatters.append(_scatter(found, judge, factor, name, paired, where, run))
            differences.append(_bland_altman(name, paired, where, run))
        maps = _factor_maps(found, judge, list(pairs), titles)
        charts.append(AgreementCharts(judge, scatters, differences, maps))
    return charts


def _dots(paired: Paired, xs: np.ndarray, ys: np.ndarray) -> list[Dot]:
    items, methods = paired.edits["item"].tolist(), paired.edits["method"].tolist()
    return [
        Dot(float(x), float(y), str(item), str(method))
        for x, y, item, method in zip(xs, ys, items, methods, strict=True)
    ]


def _scatter(
    found: Agreement, judge: str, factor: str, name: str, paired: Paired, where: str, run: int
) -> Chart:
    row = found.row(judge, factor, "item", "spearman")
    rho = "undefined" if row is None or row.value is None else number(row.value, 2)
    grid = np.linspace(paired.people.min(), paired.people.max(), CURVE)
    rng = np.random.default_rng(found.settings["seed"])
    fitted = fit_band(paired.people, paired.judge, paired.item, grid, rng)
    band: list[tuple[float, float]] = []
    line: list[tuple[float, float]] = []
    if fitted is not None:
        low, best, high = fitted
        band = [*zip(grid, low, strict=True), *zip(grid[::-1], high[::-1], strict=True)]
        line = list(zip(grid, best, strict=True))
    return scatter(
        f"scatter-{where}",
        f"{name}: Spearman ρ = {rho}, {len(paired.edits)} edits",
        _dots(paired, paired.people, paired.judge),
        ("raters’ mean", "judge"),
        run=run,
        diagonal=True,
        band=band,
        line=line,
    )


def _bland_altman(name: str, paired: Paired, where: str, run: int) -> Chart:
    gaps = paired.judge - paired.people
    means = (paired.judge + paired.people) / 2
    bias = float(gaps.mean())
    reach = 1.96 * float(gaps.std(ddof=1)) if len(gaps) > 1 else 0.0
    dots = _dots(paired, means, gaps)
    limits = [bias - reach, bias + reach] if reach else []
    return scatter(
        f"difference-{where}",
        f"{name}: bias {number(bias, 2)}",
        dots,
        ("mean of judge and raters", "judge less raters"),
        run=run,
        extent=Extent.over(dots, equal=False, also=[0.0, bias, *limits]),
        levels={"quiet": [0.0], "fit": [bias], "fit dashed": limits},
    )


def _factor_maps(
    found: Agreement, judge: str, factors: list[str], titles: Mapping[str, str]
) -> list[HeatMap]:
    """Return Spearman's ρ of factor by factor: judge by raters, and each by itself."""
    sides = (
        (f"{judge} (rows) by raters (columns)", ("judge", "people")),
        (f"{judge} by itself", ("judge", "judge")),
        ("raters by themselves", ("people", "people")),
    )
    names = [titles.get(factor, factor) for factor in factors]
    return [
        _factor_map(title, names, cross_correlations(found, judge, factors, side))
        for title, side in sides
    ]


def _factor_map(title: str, names: list[str], table: np.ndarray) -> HeatMap:
    rows = []
    for name, line in zip(names, table, strict=True):
        cells = [
            HeatCell(number(float(value), 2), diverging(float(value)), f"{name}, {other}")
            for other, value in zip(names, line, strict=True)
        ]
        rows.append((name, tuple(cells)))
    return HeatMap(title, tuple(names), tuple(rows))


def mean_ratings(
    found: Agreement, judge: str, original: Mapping[str, str]
) -> dict[tuple[str, str, str], float]:
    """Return the raters' mean of every edit; `original` maps renamed factors to the run's names."""
    made = {}
    for (name, factor), paired in found.paired.items():
        if name == judge:
            for item, method, people in zip(
                paired.edits["item"], paired.edits["method"], paired.people, strict=True
            ):
                made[str(item), str(method), original.get(factor, factor)] = float(people)
    return made
