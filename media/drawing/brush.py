"""A brush over numpy: shapes are distances to an outline, so that edges are smooth and machines agree.

A shape is an array of signed distances in pixels, negative inside. Colours are hex strings or RGB arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Array = NDArray[np.float64]
Paint = str | Array

SIDE_PX = 256
Y, X = np.mgrid[0:SIDE_PX, 0:SIDE_PX] + 0.5


def rgb(paint: Paint) -> Array:
    """Return a colour or a painted surface as numbers in 0–1."""
    if isinstance(paint, str):
        return np.array([int(paint[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return paint


def circle(cx: float, cy: float, radius: float) -> Array:
    """A disc."""
    return np.hypot(X - cx, Y - cy) - radius


def ellipse(cx: float, cy: float, rx: float, ry: float, turn_deg: float = 0) -> Array:
    """An ellipse, perhaps turned; its distance is approximate, which a soft edge never shows."""
    c, s = np.cos(np.radians(turn_deg)), np.sin(np.radians(turn_deg))
    u, v = (c * (X - cx) + s * (Y - cy)) / rx, (-s * (X - cx) + c * (Y - cy)) / ry
    return np.asarray((np.hypot(u, v) - 1) * min(rx, ry))


def box(x0: float, y0: float, x1: float, y1: float, corner: float = 0) -> Array:
    """A rectangle with rounded corners."""
    dx = np.abs(X - (x0 + x1) / 2) - (x1 - x0) / 2 + corner
    dy = np.abs(Y - (y0 + y1) / 2) - (y1 - y0) / 2 + corner
    outside = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0))
    return np.asarray(outside + np.minimum(np.maximum(dx, dy), 0) - corner)


def line(x0: float, y0: float, x1: float, y1: float, width: float) -> Array:
    """A stroke with round ends."""
    dx, dy = x1 - x0, y1 - y0
    along = np.clip(((X - x0) * dx + (Y - y0) * dy) / (dx * dx + dy * dy), 0, 1)
    return np.asarray(np.hypot(X - x0 - along * dx, Y - y0 - along * dy) - width / 2)


def polygon(*corners: tuple[float, float]) -> Array:
    """A closed polygon."""
    inside = np.zeros(X.shape, dtype=bool)
    nearest = np.full(X.shape, np.inf)
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        nearest = np.minimum(nearest, line(x0, y0, x1, y1, 0))
        if y0 != y1:
            crosses = (y0 > Y) != (y1 > Y)
            inside ^= crosses & ((x1 - x0) * (Y - y0) / (y1 - y0) + x0 > X)
    return np.where(inside, -nearest, nearest)


def below(height: Callable[[Array], Array]) -> Array:
    """Everything under a curve y(x): hills, dunes, the sea."""
    return height(X) - Y


def ridge(base: float, seed: int, rise: float, period: float = 60) -> Array:
    """Everything under a rolling skyline."""
    phase = np.random.RandomState(seed).uniform(0, 2 * np.pi, 4)
    waves = [np.sin(X * 2 * np.pi * k / (period * 4) + phase[k - 1]) / k for k in (1, 2, 3, 4)]
    return np.asarray(base - rise * sum(waves) / 1.6 - Y)


def union(*shapes: Array) -> Array:
    """Everything in any of the shapes."""
    return np.asarray(np.minimum.reduce(shapes))


def both(*shapes: Array) -> Array:
    """What the shapes have in common."""
    return np.asarray(np.maximum.reduce(shapes))


def minus(shape: Array, cut: Array) -> Array:
    """The first shape without the second."""
    return np.maximum(shape, -cut)


def down(top: Paint, bottom: Paint, y0: float = 0, y1: float = SIDE_PX) -> Array:
    """A surface that runs from one colour to another, downwards."""
    return _mix(rgb(top), rgb(bottom), np.clip((Y - y0) / (y1 - y0), 0, 1))


def glow(cx: float, cy: float, radius: float, centre: Paint, rim: Paint) -> Array:
    """A surface that runs from one colour at a point to another at a distance: a round body in the light."""
    return _mix(rgb(centre), rgb(rim), np.clip(np.hypot(X - cx, Y - cy) / radius, 0, 1) ** 1.2)


def _mix(first: Array, second: Array, share: Array) -> Array:
    return np.asarray(first + (second - first) * share[..., None])


def cloud(seed: int, cells: int = 4, octaves: int = 4) -> Array:
    """Smooth random relief of mean 0 and about ±1, from coarse to fine."""
    # RandomState, not default_rng: its stream is frozen, so the pictures come out alike under any numpy.
    random = np.random.RandomState(seed)
    relief = np.zeros((SIDE_PX, SIDE_PX))
    for octave in range(octaves):
        grid = random.standard_normal((cells * 2**octave + 3,) * 2)
        big = ndimage.zoom(grid, SIDE_PX / (cells * 2**octave) * 1.02, order=3)
        relief += big[:SIDE_PX, :SIDE_PX] / 2**octave
    relief -= relief.mean()
    return np.asarray(relief / (2 * relief.std()))


class Canvas:
    """A picture being painted."""

    def __init__(self, paint: Paint) -> None:
        self.pixels: Array = np.broadcast_to(rgb(paint), (SIDE_PX, SIDE_PX, 3)).copy()

    def fill(self, shape: Array, paint: Paint, alpha: float = 1, soft_px: float = 1) -> None:
        """Lay a colour over a shape; `soft_px` wide edges make shadows and glows."""
        rows, columns = (
            np.flatnonzero((shape < soft_px / 2).any(1)),
            np.flatnonzero((shape < soft_px / 2).any(0)),
        )
        if not rows.size:
            return
        # Most shapes are small: only the rectangle they touch is blended.
        part = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        cover = alpha * np.clip(0.5 - shape[part] / soft_px, 0, 1)
        surface = rgb(paint)
        self.pixels[part] = _mix(
            self.pixels[part], surface if surface.ndim == 1 else surface[part], cover
        )

    def shadow(self, shape: Array, alpha: float = 0.3, soft_px: float = 12) -> None:
        """Darken softly under a shape."""
        self.fill(shape, "#101828", alpha, soft_px)

    def grain(self, shape: Array, seed: int, depth: float, cells: int = 16) -> None:
        """Give a shape the texture of its stuff: grass, sand, plaster."""
        inside = np.clip(0.5 - shape, 0, 1)
        self.pixels = self.pixels * (1 + depth * inside * cloud(seed, cells))[..., None]

    def finished(self, seed: int) -> Array:
        """Return the picture on its paper, a little darker in the corners."""
        paper = 1 + 0.022 * cloud(seed, 32, 3)
        corners = 1 - 0.10 * (np.hypot(X - SIDE_PX / 2, Y - SIDE_PX / 2) / (SIDE_PX / 1.41)) ** 3
        return np.clip(self.pixels * (paper * corners)[..., None], 0, 1)


def scatter(
    seed: int, count: int, x: Sequence[float], y: Sequence[float]
) -> list[tuple[float, float, float]]:
    """Return `count` places in a rectangle, each with a random size in 0–1."""
    random = np.random.RandomState(seed)
    return [(random.uniform(*x), random.uniform(*y), random.uniform()) for _ in range(count)]
