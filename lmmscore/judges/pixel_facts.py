"""The facts that are measured of a picture, and of an edit beside the picture it was made from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """One picture by itself."""

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
    """The direction of a common colour shift outside the region, in words; empty when there is none."""
    detail: float
    """Steepness of the first picture's own edges outside the region, after over before; below 1 is softer."""
    blur: float
    """As for a picture by itself."""
    noise_added: float
    """Noise sigma above that of the first picture, in levels of 255."""
    seam: float
    """Steps and rims along the border of the region, beyond its surroundings and beyond the first picture."""
    likeness: float
    """Structural similarity of the whole frame."""


@dataclass(frozen=True, slots=True)
class MarkFacts:
    """An edit beside marks drawn on the picture it was made from."""

    inside: float
    """Share of the change that lies within the marked box."""
    covered: float
    """Share of the marked box that changed."""
