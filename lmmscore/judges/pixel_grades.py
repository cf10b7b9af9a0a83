"""From facts to grades: how good each measurable side of an edit is, from 0 to 1.

A larger fault never grades higher. The constants say at which size a fault has cost two thirds of a grade.
They were set by eye on photographs and drawings, not fitted to any ratings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp

from lmmscore.judges.pixel_facts import EditFacts, MarkFacts

CHANGE_DELTA_E = 20.0
DISTANCE_DELTA_E = 20.0
DRIFT_DELTA_E = 22.0
KEPT_LOSS = 0.40
DETAIL_LOSS = 0.70
NOISE_LEVELS = 11.0
SEAM_PERCENT = 12.0


@dataclass(frozen=True, slots=True)
class Seen:
    """An edit as the judge has seen it."""

    facts: EditFacts
    beside_truth: bool
    """Whether the first picture is the wanted result instead of the source."""
    marks: MarkFacts | None = None


FACETS = (
    "change",
    "kept",
    "identity",
    "colour",
    "texture",
    "quality",
    "seam",
    "realism",
    "target",
    "overall",
)
"""Every side of an edit that can be graded."""

_FACETS_BY_WORD: Mapping[str, str] = {
    "unchanged": "kept", "preserv": "kept", "context": "kept", "pre": "kept", "spatial": "kept",
    "identity": "identity", "scale": "identity", "structure": "identity",
    "consist": "colour", "color": "colour", "colour": "colour", "light": "colour",
    "texture": "texture", "detail": "texture", "sharp": "texture",
    "quality": "quality", "qua": "quality", "noise": "quality", "artifact": "quality",
    "seam": "seam", "blend": "seam", "transition": "seam",
    "real": "realism", "plausib": "realism", "logic": "realism", "natural": "realism",
    "local": "target", "operator": "target", "sketch": "target", "target": "target",
    "acc": "change", "align": "change", "complete": "change", "adher": "change", "action": "change",
    "instruct": "change", "semantic": "change", "follow": "change",
}  # fmt: skip


def facet_of(factor: str) -> str:
    """Return the facet nearest to a factor's name: `S_acc`, `identity_preservation`, `Visual Quality`."""
    name = factor.lower()
    # "identity_preservation" is about identity and "image_quality" about quality: the rarer word decides.
    for word in sorted(_FACETS_BY_WORD, key=lambda word: (word in {"pre", "preserv", "context"}, -len(word))):
        if word in name:
            return _FACETS_BY_WORD[word]
    return "overall"


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
        return _cost(seen.facts.distance, DISTANCE_DELTA_E) * max(0.0, seen.facts.likeness)
    return 1 - _cost(seen.facts.change, CHANGE_DELTA_E)


def _target(seen: Seen) -> float:
    if seen.marks is None:
        return _change(seen)
    return seen.marks.inside * _change(seen)
