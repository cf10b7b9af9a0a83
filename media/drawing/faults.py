"""Six made-up methods: each carries out the edit and spoils it in a way, and to a degree, that is known."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from drawing.brush import Array


@dataclass(frozen=True)
class Drawn:
    """An item as drawn: the source, the perfect edit, and the region in which they differ."""

    id: str
    source: Array
    perfect: Array

    @property
    def region(self) -> Array:
        """1 where the edit is, 0 elsewhere."""
        changed = np.abs(self.perfect - self.source).max(axis=2) > 0.06
        # The frame is no border: beyond it the region goes on as it ends.
        wide = np.pad(changed, 8, mode="edge")
        tidy = ndimage.binary_opening(ndimage.binary_closing(wide, iterations=3), iterations=2)
        return tidy[8:-8, 8:-8].astype(float)


Fault = Callable[[Drawn, float, np.random.RandomState], Array]


@dataclass(frozen=True)
class Method:
    """A made-up method: what is wrong with its edits, by how much, and which factor that hurts first."""

    name: str
    fault: str
    size: str
    hurts: str
    spoil: Fault


def _clean(item: Drawn, size: float, random: np.random.RandomState) -> Array:
    return item.perfect + 0.003 * size * random.standard_normal(item.perfect.shape)


def _soft(item: Drawn, size: float, _: np.random.RandomState) -> Array:
    return _blurred(item.perfect, 0.75 * size)


def _grainy(item: Drawn, size: float, random: np.random.RandomState) -> Array:
    return item.perfect + 0.032 * size * random.standard_normal(item.perfect.shape[:2])[..., None]


def _seamed(item: Drawn, size: float, random: np.random.RandomState) -> Array:
    region = item.region
    askew = (*random.choice([-3, 3], 2), 0)
    patch = ndimage.shift(item.perfect, askew, order=0, mode="nearest") + 0.05 * size
    pasted = item.perfect + (patch - item.perfect) * region[..., None]
    inner = ndimage.binary_erosion(region > 0.5, iterations=1, border_value=1)
    border = ndimage.binary_dilation(region > 0.5, iterations=2) & ~inner
    halo = ndimage.gaussian_filter(border.astype(float), 0.6)[..., None]
    return np.asarray(pasted + (0.96 - pasted) * np.clip(0.6 * size * halo, 0, 1))


def _tinted(item: Drawn, size: float, _: np.random.RandomState) -> Array:
    cast = np.array([0.11, 0.01, -0.10]) * size
    return np.asarray(_blurred(item.perfect, 0.8) * (1 - 0.10 * size) + 0.05 * size + cast)


def _faint(item: Drawn, size: float, random: np.random.RandomState) -> Array:
    hint = item.source + 0.15 / size * (item.perfect - item.source)
    return _blurred(hint, 1.9 * size) + 0.012 * random.standard_normal(hint.shape[:2])[..., None]


def _blurred(picture: Array, sigma_px: float) -> Array:
    return np.asarray(ndimage.gaussian_filter(picture, (sigma_px, sigma_px, 0), mode="nearest"))


METHODS = (
    Method(
        "CleanEdit",
        "the edit as asked for, with a trace of noise",
        "noise of 0.3 % of the range",
        "quality",
        _clean,
    ),
    Method(
        "SoftBrush",
        "the whole picture slightly out of focus",
        "blur of sigma 0.75 px",
        "quality",
        _soft,
    ),
    Method(
        "GrainFill",
        "grain over the whole picture",
        "noise of 3.2 % of the range",
        "quality",
        _grainy,
    ),
    Method(
        "SeamPatch",
        "the edited region pasted askew, too bright, with a pale rim",
        "3 px askew, 5 % brighter, rim of 3 px at 60 %",
        "realism",
        _seamed,
    ),
    Method(
        "TintLeak",
        "an orange cast and a haze over everything, not only the region to edit",
        "+11 % red, -10 % blue, contrast -10 %, blur of sigma 0.8 px",
        "preservation",
        _tinted,
    ),
    Method(
        "FaintTouch",
        "hardly any edit, on a picture that came out blurred and grainy",
        "15 % of the edit, blur of sigma 1.9 px, noise of 1.2 % of the range",
        "accuracy",
        _faint,
    ),
)
"""Best first: this order is the truth of the demo, for every item."""


def edit(item: Drawn, method: Method) -> Array:
    """Return what the method makes of the item. Fault sizes vary by up to 15 % from item to item."""
    random = np.random.RandomState(zlib.crc32(f"{item.id} {method.name}".encode()))
    return np.clip(method.spoil(item, random.uniform(0.85, 1.15), random), 0, 1)
