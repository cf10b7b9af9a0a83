"""What the page draws: plain geometry turned into SVG, and tables whose cells are coloured.

Colours mean the same everywhere: blue is more, better or agreeing, orange less, worse or opposed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from lmmscore.agreement import Agreement
from lmmscore.agreement.align import Paired
from lmmscore.errors import counted
from lmmscore.records import half_up
from lmmscore.report.figures import cross_correlations, fit_line, on_one_scale
from lmmscore.report.formats import NONE, number, true_minus
from lmmscore.report.leaderboard import RankedMethod

BAR_WIDTH = 220
STRIP_WIDTH = 150
SIDE = 260
LEFT, RIGHT, TOP, BOTTOM = 48.0, SIDE - 8.0, 10.0, SIDE - 34.0
MOST_TICKS = 12
"""Position labels that fit under a chart."""
LEVELS = 5
"""Shades of a colour in a coloured table."""


def svg(tag: str, *children: str, **attributes: object) -> Markup:
    """Return an element; `class_` is class, `text_anchor` is text-anchor."""
    written = []
    for name, value in attributes.items():
        text = f"{value:g}" if isinstance(value, float) else value
        written.append(f' {name.rstrip("_").replace("_", "-")}="{escape(text)}"')

    inside = "".join(str(escape(child)) for child in children)
    return Markup(f"<{tag}{''.join(written)}>{inside}</{tag}>")


@dataclass(frozen=True, slots=True)
class Axis:
    """A straight axis from one value to another, drawn between two coordinates."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return where a value lies, to a tenth."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def clipped(self, value: float) -> float:
        """Return where a value lies, or the end of the axis it lies beyond."""
        return self.at(min(max(float(value), self.low), self.high))

    def ticks(self, about: int) -> list[tuple[float, str]]:
        """Return round values within the axis with where they lie, about so many."""
        step = round_step((self.high - self.low) / about)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        values = [k * step for k in range(first, last + 1)]
        return [(self.at(value), true_minus(f"{value:.{digits}f}")) for value in values]


def round_step(size: float) -> float:
    """Return 1, 2 or 5 times a power of ten, the nearest from above."""
    power = math.pow(10.0, math.floor(math.log10(size)))
    return next(power * unit for unit in (1, 2, 5, 10) if power * unit >= size * (1 - 1e-9))


def axis_over(values: Iterable[float], start: float, end: float, margin: float = 0.06) -> Axis:
    """Return an axis with room for all values."""
    known = list(values)
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    room = (high - low) * margin or max(abs(low) * margin, 0.5)
    return Axis(low - room, high + room, start, end)


# The leaderboard's own drawings


def standings_axis(standings: Sequence[RankedMethod]) -> Axis:
    """Return the axis on which all values of a table and their intervals find room."""
    ends = [end for one in standings for end in (one.interval or ())]
    values = [one.value for one in standings if one.value is not None]
    return axis_over([*ends, *values], 8, BAR_WIDTH - 8)


def axis_head(axis: Axis) -> Markup:
    """Return the ticks under which all intervals of a table stand."""
    ticks = [svg("text", text, x=x, y=11, text_anchor="middle") for x, text in axis.ticks(5)]
    return _in_line("bar axis", BAR_WIDTH, 14, ticks)


def _in_line(
    kind: str, width: float, height: int, parts: Sequence[Markup], described: str = ""
) -> Markup:
    """Return a drawing for one line of a table; nothing to be read aloud where it says nothing."""
    title = [svg("title", described)] if described else []
    spoken = {"role": "img"} if described else {"aria_hidden": "true"}
    box = {"viewBox": f"0 0 {width:g} {height}", "width": width, "height": height}
    return svg("svg", *title, *parts, class_=kind, **box, **spoken)


def interval_bar(row: RankedMethod, axis: Axis, described: str) -> Markup:
    """Return a value as a dot on its interval: one line of a forest plot."""
    parts = [svg("line", class_="guide", x1=x, x2=x, y1=0, y2=24) for x, _ in axis.ticks(5)]
    if row.interval is not None:
        low, high = (axis.at(end) for end in row.interval)
        parts += [
            svg("line", class_="whisker", x1=low, x2=high, y1=12, y2=12),
            svg("line", class_="whisker", x1=low, x2=low, y1=8, y2=16),
            svg("line", class_="whisker", x1=high, x2=high, y1=8, y2=16),
        ]

    if row.value is not None:
        parts.append(svg("circle", class_="mean", cx=axis.at(row.value), cy=12, r=4.5))

    return _in_line("bar", BAR_WIDTH, 24, parts, described)


def rank_strip(row: RankedMethod, methods: int, described: str) -> Markup:
    """Return a row of places: a dot where the method stands, a band over the ranks it may have."""
    slot = min(15.0, STRIP_WIDTH / methods)
    width = round(slot * methods, 1)
    parts: list[Markup] = []
    if row.rank is not None:
        if row.rank_range is not None:
            parts.append(_stretch("allowed", row.rank_range, slot, 17))

        if row.rank_interval is not None:
            parts.append(_stretch("band", row.rank_interval, slot, 11))

        for rank in range(1, methods + 1):
            x = round(slot * (rank - 0.5), 1)
            parts.append(svg("circle", class_="slot", cx=x, cy=12, r=1.3))

        x = round(slot * (row.rank - 0.5), 1)
        parts.append(svg("circle", class_="mean", cx=x, cy=12, r=4.5))

    return _in_line("strip", width, 24, parts, described)


def _stretch(kind: str, ranks: tuple[int, int], slot: float, height: float) -> Markup:
    left = round(slot * (ranks[0] - 1) + 1, 1)
    width = round(slot * (ranks[1] - ranks[0] + 1) - 2, 1)
    top = 12 - height / 2
    return svg("rect", class_=kind, x=left, y=top, width=width, height=height, rx=height / 2)


def group_bars(group: str, letters: str, described: str) -> Markup:
    """Return a bar per letter, unbroken over all methods that share it."""
    parts: list[Markup] = []
    for k, letter in enumerate(letters):
        if letter in group:
            parts.append(svg("rect", class_="tie", x=16 * k + 1, y=0, width=14, height=34))
            parts.append(svg("text", letter, x=16 * k + 8, y=21, text_anchor="middle"))

    return _in_line("groups", 16 * len(letters), 34, parts, described)


# Charts


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a chart that stands for an edit."""

    x: float
    y: float
    item: str = ""
    method: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with its caption, and the edits its points stand for."""

    id: str
    title: str
    drawing: Markup
    run: int = 0
    labels: tuple[str, str] = ("", "")
    """What x and y are, for the text beside the pointer."""
    points: list[list[Any]] = field(default_factory=list)
    """Where each point is, its values, and the item and method it stands for."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The axes of a chart; equal ones where both sides are on one scale."""

    x: Axis
    y: Axis

    @classmethod
    def over(cls, dots: Sequence[Dot], *, equal: bool, also: Sequence[float] = ()) -> Extent:
        """Return axes with room for all dots; `also` are further values of y."""
        xs, ys = [dot.x for dot in dots], [*(dot.y for dot in dots), *also]
        if equal:
            both = [*xs, *ys]
            return cls(axis_over(both, LEFT, RIGHT), axis_over(both, BOTTOM, TOP))
        return cls(axis_over(xs, LEFT, RIGHT), axis_over(ys, BOTTOM, TOP))


def scatter(
    id: str,
    title: str,
    dots: Sequence[Dot],
    labels: tuple[str, str],
    *,
    run: int = 0,
    extent: Extent | None = None,
    diagonal: bool = False,
    band: Sequence[tuple[float, float]] = (),
    line: Sequence[tuple[float, float]] = (),
    levels: Mapping[str, Sequence[float]] | None = None,
) -> Chart:
    """Return a cloud of points, with what is drawn over it: a diagonal, a fit, horizontal lines."""
    room = extent or Extent.over(dots, equal=diagonal)
    parts = [*_frame(room, labels)]
    if band:
        parts.append(svg("polygon", class_="fitband", points=_points(band, room)))

    if diagonal:
        ends = [(room.x.low, room.x.low), (room.x.high, room.x.high)]
        parts.append(svg("polyline", class_="quiet", points=_points(ends, room)))

    for kind, values in (levels or {}).items():
        for value in values:
            ends = [(room.x.low, value), (room.x.high, value)]
            parts.append(svg("polyline", class_=kind, points=_points(ends, room)))

    places = [(room.x.at(dot.x), room.y.at(dot.y)) for dot in dots]
    # One path, however many points: a round cap makes a dot of a line without length.
    cloud = "".join(f"M{x:g} {y:g}h0" for x, y in places)
    parts.append(svg("path", class_="dots", d=cloud))
    if line:
        parts.append(svg("polyline", class_="fit", points=_points(line, room)))

    points = [
        [x, y, half_up(dot.x, 2), half_up(dot.y, 2), dot.item, dot.method]
        for (x, y), dot in zip(places, dots, strict=True)
    ]
    return Chart(id, title, _drawing(title, parts), run, labels, points)


def _points(pairs: Sequence[tuple[float, float]], room: Extent) -> str:
    return " ".join(f"{room.x.clipped(x):g},{room.y.clipped(y):g}" for x, y in pairs)


def _frame(
    room: Extent, labels: tuple[str, str], ticks: Sequence[tuple[float, str]] | None = None
) -> list[Markup]:
    """Return the grid, the ticks and the names of both axes; `ticks` are those of x, if given."""
    parts: list[Markup] = []
    for x, text in room.x.ticks(5) if ticks is None else ticks:
        parts.append(svg("line", class_="guide", x1=x, x2=x, y1=TOP, y2=BOTTOM))
        parts.append(svg("text", text, class_="tick", x=x, y=BOTTOM + 13, text_anchor="middle"))

    for y, text in room.y.ticks(5):
        parts.append(svg("line", class_="guide", x1=LEFT, x2=RIGHT, y1=y, y2=y))
        parts.append(svg("text", text, class_="tick", x=LEFT - 5, y=y + 3, text_anchor="end"))

    middle_x, middle_y = (LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2
    parts.append(
        svg("text", labels[0], class_="tick", x=middle_x, y=SIDE - 5, text_anchor="middle")
    )
    parts.append(
        svg(
            "text",
            labels[1],
            class_="tick",
            x=11,
            y=middle_y,
            text_anchor="middle",
            transform=f"rotate(-90 11 {middle_y:g})",
        )
    )
    return parts


def _drawing(title: str, parts: Sequence[Markup], width: int = SIDE, height: int = SIDE) -> Markup:
    return svg(
        "svg",
        *parts,
        class_="chart",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=title,
    )


def position_chart(id: str, means: Mapping[int, tuple[float, float | None]], factor: str) -> Chart:
    """Return the mean score at each position less the methods' own means, with 95% intervals."""
    dots = [Dot(float(place), mean) for place, (mean, _) in means.items()]
    ends = [mean + side * (reach or 0.0) for mean, reach in means.values() for side in (-1, 1)]
    room = Extent.over(dots, equal=False, also=[*ends, 0.0])
    title = f"{factor} by the position at which an edit was shown"
    # Positions are whole numbers: round steps of an axis would fall between them.
    every = math.ceil(len(means) / MOST_TICKS)
    ticks = [(room.x.at(place), str(place)) for place in sorted(means)[::every]]
    parts = _frame(room, ("position", "score less the method’s mean"), ticks)
    zero = [(room.x.low, 0.0), (room.x.high, 0.0)]
    parts.append(svg("polyline", class_="quiet", points=_points(zero, room)))
    for place, (mean, reach) in means.items():
        x = room.x.at(place)
        words = f"position {place}: {number(mean, 2)}"
        if reach is not None:
            low, high = room.y.at(mean - reach), room.y.at(mean + reach)
            words += f" ± {number(reach, 2)}"
            parts.append(svg("line", class_="whisker", x1=x, x2=x, y1=low, y2=high))

        dot = svg("circle", svg("title", words), class_="mean", cx=x, cy=room.y.at(mean), r=4)
        parts.append(dot)

    return Chart(id, title, _drawing(title, parts))


def distribution_chart(
    id: str, values: Mapping[str, Sequence[float]], scale: tuple[float, float], factor: str
) -> Chart:
    """Return how the scores of each method spread over the scale, one row of columns per method."""
    width, label, row_height = 560, 150, 34
    bins = 20
    edges = np.linspace(scale[0], scale[1], bins + 1)
    counts = {name: np.histogram(own, edges)[0] for name, own in values.items()}
    highest = max((int(own.max()) for own in counts.values() if own.size), default=1) or 1
    axis = Axis(scale[0], scale[1], label, width - 10)
    step = (axis.end - axis.start) / bins
    title = f"Distribution of {factor} over items, by method"
    parts: list[Markup] = []
    for n, (name, own) in enumerate(counts.items()):
        base = (n + 1) * row_height
        parts.append(_row_label(name, label, base))
        parts.append(svg("line", class_="guide", x1=label, x2=width - 10, y1=base, y2=base))
        for k, many in enumerate(own):
            if many:
                height = (row_height - 6) * int(many) / highest
                words = f"{name}: {many} from {edges[k]:g} to {edges[k + 1]:g}"
                left = axis.start + k * step + 0.5
                parts.append(
                    svg(
                        "rect",
                        svg("title", words),
                        class_="column",
                        x=round(left, 1),
                        y=round(base - height, 1),
                        width=round(step - 1, 1),
                        height=round(height, 1),
                    )
                )

    bottom = len(counts) * row_height
    for x, text in axis.ticks(9):
        parts.append(svg("text", text, class_="tick", x=x, y=bottom + 14, text_anchor="middle"))

    return Chart(id, title, _drawing(title, parts, width, bottom + 20))


def preference_chart(id: str, title: str, verdicts: Mapping[str, tuple[int, int, int]]) -> Chart:
    """Return how often the edit shown first won, tied and lost: a bar of three parts per line."""
    width, label, row_height = 560, 170, 30
    start, end = label, width - 10
    parts: list[Markup] = []

    for n, (name, counts) in enumerate(verdicts.items()):
        base = (n + 1) * row_height
        parts.append(_row_label(name, label, base))
        total, at = sum(counts), float(start)
        for kind, words, many in zip(
            ("first", "neither", "second"),
            ("the edit shown first won", "a tie", "the edit shown second won"),
            counts,
            strict=True,
        ):
            wide = (end - start) * many / total if total else 0.0
            said = svg("title", f"{name}: {words} {many} of {total} times")
            box = {"x": round(at, 1), "y": base - 22, "width": round(wide, 1), "height": 18}
            parts.append(svg("rect", said, class_=f"share {kind}", **box))
            at += wide

    bottom = len(verdicts) * row_height
    middle = (start + end) / 2
    parts.append(svg("line", class_="half", x1=middle, x2=middle, y1=4, y2=bottom))
    for x, text, anchor in (
        (start, "shown first won", "start"),
        (middle, "tie", "middle"),
        (end, "shown second won", "end"),
    ):
        parts.append(svg("text", text, class_="tick", x=x, y=bottom + 12, text_anchor=anchor))

    return Chart(id, title, _drawing(title, parts, width, bottom + 18))


def _row_label(name: str, room: int, base: int) -> Markup:
    # On a phone, where the whole chart shrinks, letters are drawn larger: 8.2 wide on average.
    return _name(name, int(room // 8.2), x=room - 8, y=base - 8, text_anchor="end")


def _name(name: str, most: int, **place: object) -> Markup:
    """Return a name, cut to so many characters; pointing at it shows all of it."""
    shown = name if len(name) <= most else name[: most - 1] + "…"
    return svg("text", shown, svg("title", name), class_="name", **place)


def bump_chart(id: str, names: Sequence[str], ranks: Mapping[str, Sequence[int | None]]) -> Chart:
    """Return the ranks of every method from run to run, as lines that cross where order changes."""
    left, gap, row_height = 130, max(150, 420 // max(len(names) - 1, 1)), 26
    width = left * 2 + gap * (len(names) - 1)
    height = 38 + row_height * len(ranks)
    parts = [
        _name(name, 24, x=left + k * gap, y=14, text_anchor="middle")
        for k, name in enumerate(names)
    ]
    columns = [_slots([own[k] for own in ranks.values()]) for k in range(len(names))]
    for n, (method, own) in enumerate(ranks.items()):
        places = [
            (left + k * gap, 34 + row_height * (columns[k][n] + 0.5), rank)
            for k, rank in enumerate(own)
            if rank is not None
        ]
        if places:
            parts += _bump_line(method, places)

    title = f"Ranks of the methods in {len(names)} runs"
    return Chart(id, title, _drawing(title, parts, width, height))


def _slots(ranks: Sequence[int | None]) -> list[int]:
    """Return the row of each method: by rank, those that share one below each other."""
    order = sorted(range(len(ranks)), key=lambda n: (ranks[n] is None, ranks[n] or 0))
    rows = {n: row for row, n in enumerate(order)}
    return [rows[n] for n in range(len(ranks))]


def _bump_line(method: str, places: Sequence[tuple[int, float, int]]) -> Iterable[Markup]:
    """Yield a method's line over (x, y, rank), its name at both ends."""
    words = f"{method}: rank {' → '.join(str(rank) for _, _, rank in places)}"
    for (x0, y0, before), (x1, y1, after) in pairwise(places):
        kind = "up" if after < before else "down" if after > before else "same"
        yield svg("line", svg("title", words), class_=f"bump {kind}", x1=x0, y1=y0, x2=x1, y2=y1)

    for x, y, rank in places:
        yield svg("circle", class_="bump same", cx=x, cy=y, r=9)
        yield svg("text", str(rank), class_="rank", x=x, y=y + 3.5, text_anchor="middle")

    (x0, y0, _), (x1, y1, _) = places[0], places[-1]
    for x, y, anchor in ((x0 - 14, y0 + 4, "end"), (x1 + 14, y1 + 4, "start")):
        yield _name(method, 18, x=x, y=y, text_anchor=anchor)


# Coloured tables


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A figure in a coloured table."""

    text: str
    shade: str = ""
    """pos1 … pos5 or neg1 … neg5; nothing for the middle."""
    title: str = ""
    link: str = ""
    note: str = ""
    """Smaller, below the figure."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A table whose cells are coloured by their figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]
    caption: str = ""
    corner: str = ""


def diverging(value: float | None, reach: float = 1.0) -> str:
    """Return the shade of a value about zero: blue above, orange below."""
    if value is None or not math.isfinite(value):
        return ""

    share = min(abs(value) / reach, 1.0)
    level = round(share * LEVELS)
    side = "pos" if value > 0 else "neg"
    return f"{side}{level}" if level else ""


def sequential(value: float | None, low: float, high: float) -> str:
    """Return the shade of a value between two ends: the higher, the bluer."""
    if value is None or not math.isfinite(value) or high <= low:
        return ""
    level = round((value - low) / (high - low) * LEVELS)
    return f"pos{level}" if level > 0 else ""


def heat_map(
    title: str,
    rows: Mapping[str, str],
    columns: Mapping[str, str],
    cell: Callable[[str, str], HeatCell],
    *,
    caption: str = "",
    corner: str = "Method",
) -> HeatMap:
    """Return a coloured table; rows and columns are keys with what they are called."""
    made = [(shown, tuple(cell(row, column) for column in columns)) for row, shown in rows.items()]
    return HeatMap(title, tuple(columns.values()), tuple(made), caption, corner)


def means_map(
    title: str,
    rows: Mapping[str, str],
    columns: Mapping[str, str],
    means: Mapping[tuple[str, str], float | None],
    link: Callable[[str, str], str],
    *,
    low: Collection[str] = (),
) -> HeatMap:
    """Return means by row and column, each column shaded from its worst to its best.

    The highest is the best, but the lowest in the columns that `low` names.
    """
    ends = {}
    for column in columns:
        known = [mean for row in rows if (mean := means.get((row, column))) is not None]
        ends[column] = (min(known, default=0.0), max(known, default=0.0))

    def cell(row: str, column: str) -> HeatCell:
        mean = means.get((row, column))
        text = NONE if mean is None else number(mean, 2)
        words = f"{rows[row]}, {columns[column]}: {text}"
        first, last = ends[column]
        shown = first + last - mean if mean is not None and column in low else mean
        return HeatCell(text, sequential(shown, first, last), words, link(row, column))

    return heat_map(title, rows, columns, cell)


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
            # Of two scales, a difference says nothing; the notes say that they are two.
            if on_one_scale(found, judge, factor):
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
    fitted = fit_line(paired.people, paired.judge, paired.item, grid, rng)
    band: list[tuple[float, float]] = []
    line: list[tuple[float, float]] = []
    if fitted is not None:
        best, ends = fitted
        line = list(zip(grid, best, strict=True))
        if ends is not None:
            low, high = ends
            band = [*zip(grid, low, strict=True), *zip(grid[::-1], high[::-1], strict=True)]

    return scatter(
        f"scatter-{where}",
        f"{name}: Spearman ρ = {rho}, {counted(len(paired.edits), 'edit')}",
        _dots(paired, paired.people, paired.judge),
        ("raters’ mean", "judge"),
        run=run,
        diagonal=on_one_scale(found, judge, factor),
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
    """Return Spearman's ρ of every two factors: judge by raters, and each by itself."""
    sides = (
        (f"{judge} (rows) by raters (columns)", ("judge", "people")),
        (f"{judge} by itself", ("judge", "judge")),
        ("raters by themselves", ("people", "people")),
    )
    names = {factor: titles.get(factor, factor) for factor in factors}
    return [
        _factor_map(title, names, cross_correlations(found, judge, factors, side))
        for title, side in sides
    ]


def _factor_map(title: str, names: Mapping[str, str], table: np.ndarray) -> HeatMap:
    places = {factor: place for place, factor in enumerate(names)}

    def cell(row: str, column: str) -> HeatCell:
        rho = float(table[places[row], places[column]])
        return HeatCell(number(rho, 2), diverging(rho), f"{names[row]}, {names[column]}")

    return heat_map(title, names, names, cell, corner="")


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
