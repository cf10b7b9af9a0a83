"""Facts measured in pictures, grades from 0 to 1 for each side of an edit, and words for them.

A larger fault never grades higher. The constants say at which size a fault has cost two thirds of a
grade. They were set by eye on photographs and drawings, not fitted to any ratings. Only what was
measured is said; accuracy is never called more than "something changed".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
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


CAUTION = (
    "pixels is a baseline that cannot read instructions: it compares pixels, and its accuracy "
    "score only means that something changed."
)
TITLES = {
    "acc": "Editing Accuracy",
    "pre": "Contextual Preservation",
    "qua": "Visual Quality",
    "real": "Logical Realism",
}

GREETING = f"Ready. A word before we begin: {CAUTION}"
WAITING = (
    "Understood. I describe every picture as soon as it is shown, from what can be measured in it."
)
THANKS = (
    "Noted. All of it stands as measured; I can score the edited images whenever that is asked for."
)
NEXT = "I keep the scores until all images have been shown."

FACTORS = """\
Clear. This is what I can measure for each factor:

1. **Editing Accuracy:** how much of the frame changed and how strongly. \
I cannot read the instruction, so
   this only tells that something changed, not that it is the right thing.
2. **Contextual Preservation:** likeness and colour drift outside the changed region.
3. **Visual Quality:** edge sharpness compared with the first picture, and noise added to it.
4. **Logical Realism:** seams and rims along the border of the changed region, \
and a cast on the rest."""


def describe_picture(facts: PictureFacts) -> str:
    """Return a description of the first picture."""
    colours = " and ".join(facts.colours) or "many different tones"
    light = _graded(
        facts.brightness,
        (25, "very dark"),
        (45, "dark"),
        (65, "of medium brightness"),
        (101, "bright"),
    )
    contrast = _graded(facts.contrast, (8, "low"), (20, "moderate"), (101, "strong"))
    edges = _graded(
        facts.blur, (0.3, "crisp"), (0.45, "fairly sharp"), (0.6, "soft"), (2, "blurred")
    )
    noise = _graded(facts.noise, (1.5, "hardly any noise"), (5, "some noise"), (999, "much noise"))
    return (
        f"The picture is {facts.width} by {facts.height} pixels as I see it, mostly {colours}. It "
        f"is {light} (mean lightness {facts.brightness:g}), with {contrast} contrast (spread "
        f"{facts.contrast:g}), {edges} edges and {noise} (sigma {facts.noise:g}). What it shows, "
        "and what the instruction asks for, I cannot tell; I will measure how each edited image "
        "differs from it."
    )


def analyse(position: int, seen: Seen) -> str:
    """Return the analysis of one edit under the four headings."""
    lines = [f"Edited image {position}, measured against the first picture:", ""]
    for number, (factor, title) in enumerate(TITLES.items(), 1):
        lines.append(f"{number}. **{title}:** {reason(seen, factor)}")
    return "\n".join([*lines, "", NEXT])


def reason(seen: Seen, factor: str) -> str:
    """Return what was measured for a factor, in one sentence of about 15 to 30 words."""
    facts, facet = seen.facts, facet_of(factor)
    if facet == "target" and seen.marks is not None:
        return (
            f"{_percent(seen.marks.inside)} of the visible change lies inside the marked box, and "
            f"{_percent(seen.marks.covered)} of that box changed; its meaning cannot be read."
        )
    if facet in {"change", "target"}:
        return _about_truth(facts) if seen.beside_truth else _about_change(facts)
    return _SENTENCES[facet](facts)


def _about_change(facts: EditFacts) -> str:
    if not facts.changed:
        return (
            "No visible change was found anywhere in the frame, so what was asked for was hardly "
            "done at all."
        )

    return (
        f"{_percent(facts.changed)} of the frame changed, {facts.where}, by a colour difference of "
        f"{facts.change:g}; whether this is what was asked for cannot be told."
    )


def _about_truth(facts: EditFacts) -> str:
    return (
        f"{_percent(facts.changed)} of the frame misses the wanted picture, by a colour difference "
        f"of {facts.change:g}; the whole is {facts.likeness:.2f} alike, where 1 is identical."
    )


def _about_kept(facts: EditFacts) -> str:
    return (
        f"Outside the changed region the content is {facts.kept:.2f} alike, where 1 is identical, "
        f"and colours drift by {facts.drift:g}{_cast(facts)} on average."
    )


def _about_colour(facts: EditFacts) -> str:
    return (
        f"Colours outside the changed region drift by {facts.drift:g} on average{_cast(facts)}, "
        f"while {_percent(facts.changed)} of the frame counts as changed."
    )


def _about_quality(facts: EditFacts) -> str:
    return (
        f"Edges that both pictures share have {_percent(facts.detail)} of their former steepness, "
        f"and the noise rose by {facts.noise_added:g} levels of 255 over the frame."
    )


def _about_seam(facts: EditFacts) -> str:
    return (
        f"Along the border of the changed region, steps and rims stand out by {facts.seam:g} "
        "percent of the range, beyond what surrounds them."
    )


def _about_realism(facts: EditFacts) -> str:
    return (
        f"The border of the changed region stands out by {facts.seam:g} percent of the range, and "
        f"the rest drifts by {facts.drift:g} in colour{_cast(facts)}; physical sense cannot be "
        "measured."
    )


_SENTENCES = {
    "kept": _about_kept,
    "identity": _about_kept,
    "colour": _about_colour,
    "texture": _about_quality,
    "quality": _about_quality,
    "seam": _about_seam,
    "realism": _about_realism,
    "overall": _about_kept,
}


def score_block(blocks: Sequence[Sequence[tuple[str, str, str]]]) -> str:
    """Return every edit's scores; each entry is a factor, its score and a short remark."""
    lines = ["These are my scores, from measured facts only:"]
    for position, block in enumerate(blocks, 1):
        lines += ["", f"**Image {position}:**", ""]
        lines += [f"* S_{factor}: {score} {remark}" for factor, score, remark in block]
    return "\n".join(lines)


def remark(factor: str, grade: float) -> str:
    """Return a few words on a score, without a digit in them: they stand right behind the score."""
    words = _REMARKS.get(facet_of(factor), _REMARKS["quality"])
    return words[min(3, int(grade * 4))]


_REMARKS = {
    "change": (
        "Hardly anything changed.",
        "Something changed, faintly.",
        "Something changed.",
        "Something changed, plainly.",
    ),
    "kept": (
        "The rest did not stay as it was.",
        "The rest shifted visibly.",
        "The rest shifted a little.",
        "The rest stayed as it was.",
    ),
    "quality": (
        "Much sharpness lost or much noise added.",
        "Softer or noisier than before.",
        "A little softer or noisier than before.",
        "As sharp and clean as before.",
    ),
    "realism": (
        "Strong seams or a strong colour cast.",
        "Visible seams or a colour cast.",
        "Slight seams or a slight colour cast.",
        "No seam and no cast to speak of.",
    ),
}


def sums(overalls: Sequence[Fraction]) -> str:
    """Return the weighted sums, one edit a line, written out exactly."""
    lines = [
        f"- Image {position}: {_decimal(overall)}" for position, overall in enumerate(overalls, 1)
    ]
    return "\n".join(
        ["The weighted sums of my scores are:", "", *lines, "", f"Please bear in mind: {CAUTION}"]
    )


def _decimal(number: Fraction) -> str:
    text = f"{float(number):.4f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def _cast(facts: EditFacts) -> str:
    return f" ({facts.cast})" if facts.cast else ""


def _percent(share: float) -> str:
    return f"{100 * share:.0f} percent" if share >= 0.01 or share == 0 else "Less than 1 percent"


def _graded(value: float, *steps: tuple[float, str]) -> str:
    return next((word for limit, word in steps if value < limit), steps[-1][1])
