"""Facts in words.

Only what was measured is said; accuracy is never called more than "something changed".
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from lmmscore.judges.pixels.grades import EditFacts, PictureFacts, Seen, facet_of

CAUTION = (
    "pixels is a baseline that cannot read instructions: it compares pixels, and its accuracy "
    "score only "
    "means that something changed."
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
        f"is {light} "
        f"(mean lightness {facts.brightness:g}), with {contrast} contrast (spread "
        f"{facts.contrast:g}), "
        f"{edges} edges and {noise} (sigma {facts.noise:g}). What it shows, and what the "
        "instruction asks "
        "for, I cannot tell; I will measure how each edited image differs from it."
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
        "of "
        f"{facts.change:g}; the whole is {facts.likeness:.2f} alike, where 1 is identical."
    )


def _about_kept(facts: EditFacts) -> str:
    return (
        f"Outside the changed region the content is {facts.kept:.2f} alike, where 1 is identical, "
        "and "
        f"colours drift by {facts.drift:g}{_cast(facts)} on average."
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
        "percent of the "
        "range, beyond what surrounds them."
    )


def _about_realism(facts: EditFacts) -> str:
    return (
        f"The border of the changed region stands out by {facts.seam:g} percent of the range, and "
        "the rest "
        f"drifts by {facts.drift:g} in colour{_cast(facts)}; physical sense cannot be measured."
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
