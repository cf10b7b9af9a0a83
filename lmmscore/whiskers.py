"""A small drawing for notebooks: dots with their intervals, one line each, as SVG. No plotting
package is needed."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_Place = Callable[[float], float]
_LINE, _LEFT, _WIDTH, _RIGHT = 22, 180, 360, 60


@dataclass(frozen=True, slots=True)
class Whisker:
    """A value with its interval; None where there is none."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None


def draw(whiskers: Sequence[Whisker], title: str) -> str:
    """Return the drawing, or nothing where no value can be drawn."""
    ends = [
        end
        for w in whiskers
        for end in (w.value, w.low, w.high)
        if end is not None and math.isfinite(end)
    ]
    if not ends:
        return ""
    low, high = min(ends), max(ends)
    room = (high - low) * 0.05 or 0.5

    def x(value: float) -> float:
        return _LEFT + (value - low + room) / (high - low + 2 * room) * _WIDTH

    height = _LINE * (len(whiskers) + 1)
    width = _LEFT + _WIDTH + _RIGHT
    lines = [_line(whisker, x, _LINE * (number + 0.5)) for number, whisker in enumerate(whiskers)]
    axis = "".join(
        f'<text x="{x(end):.1f}" y="{height - 5}" text-anchor="middle" font-size="11" fill="#6b7280">{end:.2f}</text>'
        for end in dict.fromkeys((low, high))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{html.escape(title)}</title>{"".join(lines)}{axis}</svg>'
    )


def _line(whisker: Whisker, x: _Place, y: float) -> str:
    label = whisker.label if len(whisker.label) <= 24 else whisker.label[:23] + "…"
    words = f'<text x="{_LEFT - 10}" y="{y + 4:.1f}" text-anchor="end" fill="currentColor">{html.escape(label)}</text>'
    if whisker.value is None or not math.isfinite(whisker.value):
        return words
    bar = ""
    if whisker.low is not None and whisker.high is not None:
        ends = f'x1="{x(whisker.low):.1f}" x2="{x(whisker.high):.1f}" y1="{y:.1f}" y2="{y:.1f}"'
        bar = f'<line {ends} stroke="#2563eb" stroke-width="2"/>'
    return f'{words}{bar}<circle cx="{x(whisker.value):.1f}" cy="{y:.1f}" r="4" fill="#2563eb"/>'
