"""Replies in every layout a judge may use, rendered from known scores, for the parsing tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from hypothesis import strategies as st

from lmmscore.conversation import ordinal
from lmmscore.dialog import load_dialog
from lmmscore.scales import Factor, Scale, show

FOUR = load_dialog("lmm-score").factors
TWELVE = tuple(
    Factor(key=key, name=key.replace("_", " ").title(), scale=Scale(min=1, max=7, integers=True))
    for key in (
        "unchanged_regions global_consistency identity_preservation scale_realism spatial_relationship "
        "texture_and_detail image_quality color_and_lighting seamlessness alignment completeness plausibility"
    ).split()
)
BINARY = (Factor(key="Contextual_Preservation", scale=Scale(values=(0, 1))),)
ADHERENCE = (
    Factor(key="Visual_Instruction_Localization_Correctness", scale=Scale(values=(0, 1))),
    Factor(key="Visual_Operator_Type_Compliance", scale=Scale(values=(0, "0.5", 1))),
    Factor(key="Textual_Action_Semantic_Compliance", scale=Scale(values=(0, 1))),
)

Scores = Mapping[tuple[int, str], Fraction]

DIGITS_IN_PROSE = (
    "2 dogs are visible",
    "Image 3 does it better",
    "in 2024 this would be seen as poor",
    "on a 1-10 scale this is typical",
    "the clock shows 12:30",
    "50% of the sand looks wrong",
    "about 3 of 4 legs are kept",
    "12:30 light looks odd",
    "Image 2 and Image 7 are alike",
)
EXPLANATIONS = (
    "The lawn has become a lake.",
    "the snow is replaced, but nothing else",
    "because of 2 dogs in the back",
    "clear beach setting",
    "Good, though 3 seams show.",
    "keeps the fox as it was",
    "mostly intact",
    "Sand replaced the snow",
    "Excellent work on the fox (see Image 1).",
    *(text[0].upper() + text[1:] for text in DIGITS_IN_PROSE if not text[0].isdigit()),
)
JOINTS = (" ", ". ", " - ", " – ", ": ", ", ", "; ", " (", "\n  ")


def scores_of(
    factors: Sequence[Factor], n: int
) -> st.SearchStrategy[dict[tuple[int, str], Fraction]]:
    """Any scores of n images on these factors."""
    return st.fixed_dictionaries(
        {
            (position, factor.key): _scores_on(factor.scale)
            for position in range(1, n + 1)
            for factor in factors
        }
    )


def _scores_on(scale: Scale) -> st.SearchStrategy[Fraction]:
    if scale.values:
        return st.sampled_from([Fraction(value) for value in scale.values])
    low, high = int(scale.low), int(scale.high)
    whole = st.integers(low, high).map(Fraction)
    if scale.integers:
        return whole
    return st.one_of(whole, st.integers(low * 10, high * 10).map(lambda tenth: Fraction(tenth, 10)))


def number_form(score: Fraction, factor: Factor, form: str) -> str:
    """`6`, `6/10`, `6 out of 10`, `**6**`, `6.0`."""
    top = show(factor.scale.high)
    return form.format(score=show(score), top=top, decimal=f"{float(score):.1f}")


NUMBER_FORMS = (
    "{score}",
    "{score}/{top}",
    "{score} out of {top}",
    "**{score}**",
    "**{score}/{top}**",
    "**{score}**/{top}",
    "{score} / {top}",
    "{decimal}",
)

SYMBOLS: tuple[Callable[[Factor], str], ...] = (
    lambda f: f"$S_{{{f.key}}}$",
    lambda f: f"$S\\_{{{f.key}}}$",
    lambda f: f"\\( S_{{{f.key}}} \\)",
    lambda f: f"\\(S_{{\\text{{{f.key}}}}}\\)",
    lambda f: f"S_{f.key}",
    lambda f: f"S_{{{f.key}}}",
    lambda f: f"`S_{f.key}`",
    lambda f: f"S<sub>{f.key}</sub>",
    lambda f: f"$S_{{\\mathrm{{{f.key}}}}}$",
)
WORDS: tuple[Callable[[Factor], str], ...] = (
    lambda f: f.name,
    lambda f: f.name.lower(),
    lambda f: f.name.upper(),
    lambda f: f"{f.name} score",
    lambda f: f"{f.name} (1-10)",
    lambda f: f"{f.name} ({f.symbol})" if f.symbol else f.name,
    lambda f: f"{f.name} ($S_{{{f.key}}}$)" if f.symbol else f.name,
)
NAMES = SYMBOLS + WORDS
LABELLED = (
    "{name}: {number}",
    "**{name}**: {number}",
    "**{name}:** {number}",
    "*{name}*: {number}",
    "{name} = {number}",
    "{name} - {number}",
    "{name} – {number}",
    "__{name}__: {number}",
)
BULLETS = ("* ", "- ", "• ", "", "1. ", "  - ", "   * ")
IMAGE_HEADINGS = (
    "**Image {i}:**",
    "Image {i}:",
    "### Image {i}",
    "**Image {i}**",
    "{i}. **Image {i}**:",
    "#### Edited Image {i} (method unknown)",
    "The {ordinal} edited image:",
    "The {ordinal_or_last} one:",
    "**Scores for Image {i}:**",
    "- **Image #{i}**",
    "Image {i} of {n}:",
)


def heading_of(heading: str, i: int, n: int) -> str:
    """The heading of image i of n."""
    return heading.format(
        i=i, n=n, ordinal=ordinal(i), ordinal_or_last="last" if i == n else ordinal(i)
    )


@st.composite
def bulleted(draw: st.DrawFn, scores: Scores, factors: Sequence[Factor], n: int) -> str:
    """A section for each image, a line for each factor."""
    name, line = draw(st.sampled_from(NAMES)), draw(st.sampled_from(LABELLED))
    heading, bullet = draw(st.sampled_from(IMAGE_HEADINGS)), draw(st.sampled_from(BULLETS))
    form, joint = draw(st.sampled_from(NUMBER_FORMS)), draw(st.sampled_from(JOINTS))
    between = draw(st.sampled_from(["\n\n", "\n"]))
    explained = draw(st.booleans())
    parts = []
    for position in range(1, n + 1):
        lines = [heading_of(heading, position, n)]
        for factor in factors:
            number = number_form(scores[position, factor.key], factor, form)
            text = bullet + line.format(name=name(factor), number=number)
            if explained:
                text += joint + draw(st.sampled_from(EXPLANATIONS)) + (")" if joint == " (" else "")
            lines.append(text)
        parts.append((between if bullet else "\n").join(lines))
    return (
        draw(st.sampled_from(["", "Here are the scores for all images:\n\n"]))
        + "\n\n".join(parts)
        + _closing(draw)
    )


@st.composite
def inline(draw: st.DrawFn, scores: Scores, factors: Sequence[Factor], n: int) -> str:
    """One line for each image."""
    name = draw(st.sampled_from(NAMES))
    form = draw(st.sampled_from(NUMBER_FORMS))
    sign = draw(st.sampled_from([": ", " = ", "=", " "]))
    joint = draw(st.sampled_from([", ", "; ", " | ", ",  "]))
    heading = draw(
        st.sampled_from(
            [
                "Image {i}: ",
                "**Image {i}** – ",
                "- Image {i}: ",
                "* **Image {i}:** ",
                "{i}. Image {i} - ",
            ]
        )
    )
    lines = []
    for i in range(1, n + 1):
        entries = [f"{name(f)}{sign}{number_form(scores[i, f.key], f, form)}" for f in factors]
        lines.append(heading.format(i=i) + joint.join(entries))
    return "\n".join(lines) + _closing(draw)


@st.composite
def by_factor(draw: st.DrawFn, scores: Scores, factors: Sequence[Factor], n: int) -> str:
    """A list for each factor, a line for each image."""
    name, form = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NUMBER_FORMS))
    heading = draw(st.sampled_from(["**{name}**", "### {name}", "1. **{name}:**", "{name}:"]))
    entry = draw(
        st.sampled_from(
            [
                "- Image {i}: {number}",
                "* **Image {i}**: {number}",
                "- Image {i} – {number}",
                "Image {i} = {number}",
            ]
        )
    )
    parts = []
    for factor in factors:
        numbers = [number_form(scores[i, factor.key], factor, form) for i in range(1, n + 1)]
        entries = [entry.format(i=i, number=number) for i, number in enumerate(numbers, 1)]
        parts.append(heading.format(name=name(factor)) + "\n\n" + "\n".join(entries))
    return "\n\n".join(parts) + _closing(draw)


@st.composite
def table(draw: st.DrawFn, scores: Scores, factors: Sequence[Factor], n: int) -> str:
    """A Markdown table with images as rows or as columns, a line for each score, or a table for each image."""
    name, form = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NUMBER_FORMS))
    label = draw(
        st.sampled_from(
            ["Image {i}", "**Image {i}**", "{i}", "Edit {i}", "#{i}", "Image {i} (unknown)"]
        )
    )
    shape = draw(st.sampled_from(["rows", "columns", "lines", "each"]))

    def number(position: int, factor: Factor) -> str:
        return number_form(scores[position, factor.key], factor, form)

    images = range(1, n + 1)
    if shape == "rows":
        rows = [["Image", *map(name, factors), "Overall"]]
        rows += [[label.format(i=i), *(number(i, f) for f in factors), "9.9"] for i in images]
    elif shape == "columns":
        rows = [["Factor", *(label.format(i=i) for i in images)]]
        rows += [[name(f), *(number(i, f) for i in images)] for f in factors]
    elif shape == "lines":
        rows = [["Image", "Factor", "Score", "Why"]]
        rows += [
            [label.format(i=i), name(f), number(i, f), "2 dogs"] for i in images for f in factors
        ]
    else:
        parts = []
        for i in images:
            rows = [
                ["Factor", "Score", "Reason"],
                *([name(f), number(i, f), "2 of 3 dogs"] for f in factors),
            ]
            parts.append(f"**Image {i}**\n\n{_markdown(draw, rows)}")
        return "\n\n".join(parts)
    return "Here is the table:\n\n" + _markdown(draw, rows) + _closing(draw)


def _markdown(draw: st.DrawFn, rows: list[list[str]]) -> str:
    rule = ["---" for _ in rows[0]]
    lines = [rows[0], rule, *rows[1:]]
    if draw(st.booleans()):
        return "\n".join("| " + " | ".join(row) + " |" for row in lines)
    return "\n".join(" | ".join(row) for row in lines)


@st.composite
def json_reply(draw: st.DrawFn, scores: Scores, factors: Sequence[Factor], n: int) -> str:
    """JSON in many shapes, fenced or bare, after prose and before prose."""
    key = draw(st.sampled_from(KEYS))
    leaf = draw(st.sampled_from(LEAVES))
    image = draw(st.sampled_from(["Image {i}", "image_{i}", "{i}", "edited_image_{i}", "Image{i}"]))

    def of(i: int) -> dict[str, object]:
        return {key(f): leaf(scores[i, f.key], f) for f in factors}

    images = range(1, n + 1)
    shapes: list[object] = [
        {image.format(i=i): of(i) for i in images},
        {"scores": {image.format(i=i): {"scores": of(i)} for i in images}},
        [{"image": i, **of(i)} for i in images],
        {"results": [{"image": f"Image {i}", "scores": of(i)} for i in images]},
        [of(i) for i in images],
        {key(f): {image.format(i=i): leaf(scores[i, f.key], f) for i in images} for f in factors},
        {key(f): [leaf(scores[i, f.key], f) for i in images] for f in factors},
        [
            {"image": i, "factor": key(f), "score": leaf(scores[i, f.key], f)}
            for i in images
            for f in factors
        ],
        [{"index": i - 1, **of(i)} for i in images],
    ]
    if n == 1:
        shapes += [
            of(1),
            {"image_id": "0012", "offline_factor_results": of(1)},
            [{key(f): leaf(scores[1, f.key], f)} for f in factors],
            {"evaluation": [{"name": key(f), "score": leaf(scores[1, f.key], f)} for f in factors]},
        ]
    text = json.dumps(
        draw(st.sampled_from(shapes)), indent=draw(st.sampled_from([None, 2])), ensure_ascii=False
    )
    text = re.sub(r'"<([-0-9.]+)>"', r"\1", text)
    text = draw(
        st.sampled_from(["{}", "```json\n{}\n```", "```\n{}\n```", "```JSON5\n{}\n```"])
    ).replace("{}", text)
    before = draw(
        st.sampled_from(
            ["", "Let me think. In Image 3 there are 2 dogs {sic} [1].\n\n", "Final answer:\n"]
        )
    )
    after = draw(
        st.sampled_from(
            ["", "\n\nThese scores are final; 50% of them are high.", "\n\nI hope 2 dogs are fine."]
        )
    )
    return before + text + after


KEYS: tuple[Callable[[Factor], str], ...] = (
    lambda f: f.key,
    lambda f: f.key.upper(),
    lambda f: f.key.replace("_", " "),
    lambda f: f.name or f.key,
    lambda f: f.symbol or f.key,
    lambda f: (f.name or f.key).replace(" ", "_").lower() + "_score",
    lambda f: f"$S_{{{f.key}}}$" if f.symbol else f.key,
)
LEAVES: tuple[Callable[[Fraction, Factor], object], ...] = (
    lambda score, _f: f"<{show(score)}>",
    lambda score, _f: show(score),
    lambda score, f: f"{show(score)}/{show(f.scale.high)}",
    lambda score, _f: {
        "score": f"<{show(score)}>",
        "justification": "Seamlessness: 3 seams, S_acc: 2, 2 dogs at 12:30.",
    },
    lambda score, _f: {"reason": 'It says "Image 3: 4/10" {sic}, in 2024', "Score": show(score)},
)


def _closing(draw: st.DrawFn) -> str:
    return draw(
        st.sampled_from(
            [
                "",
                "\n\nThese scores weigh 4 factors on a 1-10 scale; Image 3 has 2 dogs.",
                "\n\nOverall, Image 1 has the best visual quality of all 8, as of 2024.",
            ]
        )
    )
