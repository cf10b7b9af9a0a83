"""Measure pictures: arrays in, facts out.

Facts are rounded where they are made: the last bits of a float differ between machines, and a reply
must not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.color import rgb2gray, rgb2lab
from skimage.filters import sobel, threshold_otsu
from skimage.measure import blur_effect
from skimage.metrics import structural_similarity
from skimage.morphology import disk
from skimage.restoration import estimate_sigma

Array = NDArray[np.floating]
Mask = NDArray[np.bool_]

VISIBLE_DELTA_E = 5.0
"""Colour differences (CIE76) below this are compression and noise to most eyes, not an edit."""

CONTENT_SIGMA_PX = 2.0
"""Grain and focus are smoothed away first: what was changed and kept is a matter of content.
"""

SEAM_BAND_PX = 3
SMALLEST_PX = 16
COLOURS = {
    "black": (0, 0, 0),
    "grey": (54, 0, 0),
    "white": (97, 0, 0),
    "red": (48, 62, 42),
    "orange": (68, 36, 62),
    "yellow": (86, 0, 72),
    "green": (55, -42, 38),
    "teal": (55, -30, -8),
    "blue": (45, 8, -48),
    "pale blue": (80, -10, -18),
    "violet": (38, 42, -48),
    "pink": (72, 38, 4),
    "brown": (40, 18, 30),
    "beige": (86, 3, 18),
}
"""Colour names with their place in CIE Lab."""


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """One picture on its own."""

    width: int
    height: int
    brightness: float
    """Mean lightness, 0 (black) to 100 (white)."""
    contrast: float
    """Standard deviation of lightness."""
    blur: float
    """0 (sharp) to 1 (blurred), by re-blurring (skimage's blur_effect)."""
    noise: float
    """Noise sigma in levels of 255, from wavelets."""
    colours: tuple[str, ...]
    """The commonest colours, most frequent first."""


@dataclass(frozen=True, slots=True)
class EditFacts:
    """An edit beside the picture it was made from."""

    changed: float
    """Share of the frame that changed visibly, 0 to 1."""
    change: float
    """Mean colour difference inside the changed region (CIE76)."""
    where: str
    """The thirds of the frame with most of the change, in words; empty when nothing changed."""
    kept: float
    """Structural similarity of content outside the changed region, 1 when nothing else moved."""
    drift: float
    """Mean colour difference outside the changed region."""
    cast: str
    """The direction of a common colour shift outside the region, in words, if any."""
    detail: float
    """Steepness of the first picture's edges outside the region; below 1 is softer."""
    blur: float
    """As for a picture on its own."""
    noise_added: float
    """Noise sigma above that of the first picture, in levels of 255."""
    seam: float
    """Steps and rims along the border of the region, beyond those around it and before."""
    likeness: float
    """Structural similarity of the whole frame."""


@dataclass(frozen=True, slots=True)
class MarkFacts:
    """An edit beside marks drawn on the picture it was made from."""

    inside: float
    """Share of the change that lies within the marked box."""
    covered: float
    """Share of the marked box that changed."""


def _known(value: float) -> float:
    return value if np.isfinite(value) else 0.0


class Frame:
    """A picture with what is computed from it more than once; `size` is width and height."""

    def __init__(self, pixels: NDArray[np.uint8]) -> None:
        self.size = (pixels.shape[1], pixels.shape[0])
        # Every measure looks at a neighbourhood: a picture smaller than that is seen magnified.
        larger = -(-SMALLEST_PX // min(self.size))
        pixels = pixels.repeat(larger, axis=0).repeat(larger, axis=1) if larger > 1 else pixels
        unit = pixels.astype(np.float32) / 255
        self.lab: Array = rgb2lab(unit)
        self.gray: Array = rgb2gray(unit)
        self.edges: Array = sobel(self.gray)
        self.content: Array = ndimage.gaussian_filter(
            self.lab, (CONTENT_SIGMA_PX, CONTENT_SIGMA_PX, 0)
        )
        # A picture of one colour has neither noise nor edges to measure blur by: the measures would
        # give NaN.
        flat = float(np.ptp(self.gray)) < 1e-6
        self.noise = 0.0 if flat else _known(float(estimate_sigma(self.gray))) * 255
        self.blur = 0.0 if flat else _known(float(blur_effect(self.gray)))

    def rims(self) -> Array:
        """Return thin lines lighter or darker than both sides; a plain step leaves no trace."""
        line_px = disk(SEAM_BAND_PX)
        closed = ndimage.grey_closing(self.gray, footprint=line_px)
        opened = ndimage.grey_opening(self.gray, footprint=line_px)
        return np.asarray(np.maximum(self.gray - opened, closed - self.gray))


def describe(frame: Frame) -> PictureFacts:
    """Return the facts of one picture."""
    height, width = frame.gray.shape
    lightness = frame.lab[..., 0]
    return PictureFacts(
        width,
        height,
        round(float(lightness.mean()), 1),
        round(float(lightness.std()), 1),
        round(frame.blur, 3),
        round(frame.noise, 2),
        _colours(frame.lab),
    )


def _colours(lab: Array) -> tuple[str, ...]:
    """Return the names of up to three colours, each of at least 8% of the pixels."""
    pixels = lab[::4, ::4].reshape(-1, 1, 3)
    nearest = np.linalg.norm(pixels - np.array(list(COLOURS.values())), axis=2).argmin(axis=1)
    counts = np.bincount(nearest, minlength=len(COLOURS))
    order = np.argsort(-counts, kind="stable")[:3]
    names = list(COLOURS)
    return tuple(names[index] for index in order if counts[index] >= 0.08 * len(pixels))


def compare(first: Frame, edit: Frame) -> EditFacts:
    """Return the facts of an edit beside the picture it was made from; both of one size."""
    delta = difference(first, edit)
    region = changed_region(delta)
    rest = ~ndimage.binary_dilation(region, iterations=SEAM_BAND_PX)
    likeness, similar = structural_similarity(
        first.content[..., 0], edit.content[..., 0], data_range=100.0, full=True
    )
    return EditFacts(
        changed=round(float(region.mean()), 3),
        change=round(_mean(delta, region), 1),
        where=_where(region),
        kept=round(_mean(similar, rest, 1.0), 3),
        drift=round(_mean(delta, rest), 1),
        cast=_cast(edit.content - first.content, rest),
        detail=round(_detail(first, edit, rest), 2),
        blur=round(edit.blur, 3),
        noise_added=round(max(0.0, edit.noise - first.noise), 1),
        seam=round(_seam(first, edit, region), 2),
        likeness=round(float(likeness), 3),
    )


def difference(first: Frame, edit: Frame) -> Array:
    """Return the colour difference of content at every pixel (CIE76)."""
    return np.asarray(np.linalg.norm(edit.content - first.content, axis=2))


def changed_region(delta: Array) -> Mask:
    """Return where an edit was made: the larger differences, as far as they are visible at all.

    The threshold is Otsu's, so that a cast over the whole picture does not pass for an edit of
    everything.
    """
    if delta.max() < VISIBLE_DELTA_E:
        return np.zeros(delta.shape, dtype=bool)
    return np.asarray(delta > max(VISIBLE_DELTA_E, float(threshold_otsu(delta))))


def within_marks(first: Frame, marked: Frame, edit: Frame) -> MarkFacts:
    """Return how far the change lies where the marks are."""
    drawn = np.linalg.norm(marked.lab - first.lab, axis=2) > 3 * VISIBLE_DELTA_E
    region = changed_region(difference(first, edit))
    if not drawn.any() or not region.any():
        return MarkFacts(0.0, 0.0)

    rows, columns = np.flatnonzero(drawn.any(1)), np.flatnonzero(drawn.any(0))
    box = np.zeros(drawn.shape, dtype=bool)
    box[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = True
    return MarkFacts(round(_mean(box, region), 2), round(_mean(region, box), 2))


def _mean(values: Array | Mask, mask: Mask, otherwise: float = 0.0) -> float:
    return float(values[mask].mean()) if mask.any() else otherwise


def _where(region: Mask) -> str:
    """Return the place of a region in words; empty for no region."""
    if not region.any():
        return ""

    rows = [part.sum() for part in np.array_split(region, 3, axis=0)]
    columns = [part.sum() for part in np.array_split(region, 3, axis=1)]
    vertical = _third(rows, ("top", "middle", "bottom"))
    horizontal = _third(columns, ("left", "centre", "right"))
    if not vertical and not horizontal:
        return "spread over the frame"
    return f"mostly in the {' '.join(part for part in (vertical, horizontal) if part)} of the frame"


def _third(parts: list[int], names: tuple[str, str, str]) -> str:
    # Half of all change in one third is a place; anything less is spread.
    return names[int(np.argmax(parts))] if max(parts) > 0.5 * sum(parts) else ""


def _cast(shift: Array, rest: Mask) -> str:
    """Return the common shift of colours outside the region, in words; empty if too small."""
    if not rest.any():
        return ""

    lightness, red, yellow = (float(shift[..., axis][rest].mean()) for axis in range(3))
    words = [
        ("lighter", "darker", lightness),
        ("redder", "greener", red),
        ("yellower", "bluer", yellow),
    ]
    return " and ".join(
        up if value > 0 else down for up, down, value in words if abs(round(value, 1)) >= 2.0
    )


def _detail(first: Frame, edit: Frame, rest: Mask) -> float:
    """Return the steepness of edges, as a part of what it was; 1 where there are none."""
    # Only where the first picture has edges: elsewhere grain would pass for detail.
    if rest.mean() < 0.01:
        return 1.0
    strong = rest & (first.edges >= np.quantile(first.edges[rest], 0.95))
    before = _mean(first.edges, strong)
    return _mean(edit.edges, strong) / before if before > 0.005 else 1.0


def _seam(first: Frame, edit: Frame, region: Mask) -> float:
    """Return what stands out along the border, a steeper step or a rim, in percent of the range."""
    grown = ndimage.binary_dilation(region, iterations=SEAM_BAND_PX)
    border = grown & ~ndimage.binary_erosion(region, iterations=SEAM_BAND_PX, border_value=1)
    wider = ndimage.binary_dilation(region, iterations=4 * SEAM_BAND_PX) & ~border
    if not border.any() or not wider.any():
        return 0.0

    before, after = (
        _mean(frame.edges, border) - _mean(frame.edges, wider) for frame in (first, edit)
    )
    rims = edit.rims()
    rim = _mean(rims, border) - _mean(rims, wider)
    return 100 * (max(0.0, after - max(0.0, before)) + max(0.0, rim))
