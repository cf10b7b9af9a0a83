"""What is measured of pictures, as facts; and from facts to grades: how good each side of an edit
is, from 0 to 1.

A larger fault never grades higher. The constants say at which size a fault has cost two thirds of a
grade. They were set by eye on photographs and drawings, not fitted to any ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

CHANGE_DELTA_E = 20.0
MISS_DELTA_E = 25.0
DRIFT_DELTA_E = 22.0
KEPT_LOSS = 0.40
DETAIL_LOSS = 0.70
NOISE_LEVELS = 11.0
SEAM_PERCENT = 12.0


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
    """The direction of a common colour shift outside the region, in words, if any."""
    detail: float
    """Steepness of the first picture's edges outside the region; below 1 is softer."""
    blur: float
    """As for a picture by itself."""
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


@dataclass(frozen=True, slots=True)
class Seen:
    """An edit as the judge has seen it."""

    facts: EditFacts
    beside_truth: bool
    """Whether the first picture is the wanted result instead of the source."""
    marks: MarkFacts | None = None


_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("target", ("locali", "operator", "sketch", "target")),
    ("identity", ("identity", "scale", "structure")),
    ("seam", ("seam", "blend", "transition")),
    ("texture", ("texture", "detail", "sharp")),
    ("colour", ("consist", "color", "colour", "light")),
    ("kept", ("unchanged", "preserv", "context", "spatial", "pre")),
    ("quality", ("qua", "noise", "artifact", "artefact")),
    ("realism", ("real", "plausib", "logic", "natural")),
    (
        "change",
        (
            "acc",
            "align",
            "complet",
            "complian",
            "adher",
            "action",
            "instruct",
            "semantic",
            "follow",
        ),
    ),
)
"""What parts of a factor's name mean.

The special come first: "identity preservation" is about identity.
"""


def facet_of(factor: str) -> str:
    """Return the facet nearest to a factor's name, such as `S_acc` or `Visual Quality`."""
    name = factor.lower()
    return next(
        (facet for facet, parts in _WORDS if any(part in name for part in parts)), "overall"
    )


def grades(seen: Seen) -> dict[str, float]:
    """Return the grade of every facet, 0 to 1."""
    facts = seen.facts
    kept = _cost(1 - facts.kept, KEPT_LOSS) * _cost(facts.drift, DRIFT_DELTA_E)
    sharp = _cost(max(0.0, 1 - facts.detail), DETAIL_LOSS)
    clean = _cost(facts.noise_added, NOISE_LEVELS)
    smooth = _cost(facts.seam, SEAM_PERCENT)
    colour = _cost(facts.drift, DRIFT_DELTA_E)
    result = {
        "change": _change(seen),
        "kept": kept,
        "identity": _cost(1 - facts.kept, KEPT_LOSS) * sharp,
        "colour": colour,
        "texture": sharp * clean,
        "quality": sharp * clean * smooth**0.3,
        "seam": smooth,
        "realism": smooth * colour**0.5,
        "target": _target(seen),
    }
    result["overall"] = sum(result.values()) / len(result)
    return result


def _cost(size: float, scale: float) -> float:
    return exp(-size / scale)


def _change(seen: Seen) -> float:
    """Return how much happened; beside the wanted result, how near the edit came to it."""
    if seen.beside_truth:
        return _cost(seen.facts.change, MISS_DELTA_E) * max(0.0, seen.facts.likeness)
    return 1 - _cost(seen.facts.change, CHANGE_DELTA_E)


def _target(seen: Seen) -> float:
    if seen.marks is None:
        return _change(seen)
    return seen.marks.inside * _change(seen)
