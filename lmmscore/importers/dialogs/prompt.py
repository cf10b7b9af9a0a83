"""A single published prompt → a dialog of one turn that says exactly its words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lmmscore.importers.dialogs.factors import factors_of_json
from lmmscore.scales import OPEN
from lmmscore.templates import escape

_PLACEHOLDERS = {
    "reference": r"ground[\s_-]*truth(?:[\s_-]*image)?|reference[\s_-]*image|target[\s_-]*image|gt[\s_-]*image",
    "marked": r"(?:marked|annotated|sketch(?:ed)?|visual[\s_-]*instruction)[\s_-]*image",
    "edit": r"(?:edited|output|generated|result(?:ing)?)[\s_-]*image",
    "source": r"(?:source|original|input)[\s_-]*image",
}
_INSTRUCTION = r"(?:(?:text|edit(?:ing)?|user)[\s_-]*)?(?:instruction|prompt)s?"
_BRACKETS = (r"\[", r"\]"), (r"\{\{?", r"\}\}?"), (r"<", r">")
_DESCRIBED = re.compile(
    r"^[\W_]*(?:(?:the\s+)?(?P<ordinal>first|second|third|fourth)\s+image|image\s*\#?(?P<number>\d))\b"
    r"(?P<rest>[^\n]*(?:\n(?!\s*\n)[^\n]*)*)",
    re.IGNORECASE | re.MULTILINE,
)
# The first that fits: an original with drawings on it is the marked image, whatever else is said of it.
_KINDS = (
    ("marked", r"\bdrawn\b|sketch|visual\s+instruction|annotat|\bmark(?:s|ed|ings?)\b"),
    ("reference", r"ground[\s-]*truth|\breference\b|\bideal\b|correctly\s+edited"),
    ("edit", r"\boutput\b|\bedited\b|generated|\bresult\b|after\s+edit"),
    ("source", r"\boriginal\b|\bsource\b|\binput\b|before\s+edit"),
)


def turn_of(
    text: str, answers: Mapping[str, str]
) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, str]]:
    """Return the one turn, the factors, and a question for everything the prompt leaves open."""
    questions: dict[str, str] = {}
    shown = _answered_images(answers) or _bracketed_images(text) or _described_images(text)
    if "edit" not in shown:
        questions["show"] = (
            "which images does it show, in order? For example reference,edit or source,marked,edit"
        )
        shown = shown or [OPEN]
    factors, form = factors_of_json(text)
    if not factors:
        questions["factors"] = (
            "which factors does it score? No JSON block with `score` keys was found; write them in"
        )
    say, slots = _with_slots(text)
    if not slots:
        questions["instruction"] = (
            "where does the editing instruction go? Put {{instruction}} in its place"
        )
    turn = {"name": "judge", "show": shown, "read": "scores", "form": form, "say": say}
    return turn, factors, questions


def _answered_images(answers: Mapping[str, str]) -> list[str]:
    return [kind.strip() for kind in answers.get("show", "").split(",") if kind.strip()]


def _bracketed_images(text: str) -> list[str]:
    """Return the images named by placeholders such as `[edited image]`, in order."""
    found: list[tuple[int, str]] = []
    for kind, pattern in _PLACEHOLDERS.items():
        for left, right in _BRACKETS:
            match = re.search(rf"{left}\s*(?:{pattern})\s*{right}", text, re.IGNORECASE)
            if match:
                found.append((match.start(), kind))
    return list(dict.fromkeys(kind for _, kind in sorted(found)))


def _described_images(text: str) -> list[str]:
    """Return the images described in prose, `IMAGE 1 (Input Image): …`, in their numbered order."""
    found: dict[int, str] = {}
    for match in _DESCRIBED.finditer(text):
        number = (
            int(match["number"])
            if match["number"]
            else ["first", "second", "third", "fourth"].index(match["ordinal"].lower()) + 1
        )
        kind = next(
            (kind for kind, words in _KINDS if re.search(words, match["rest"], re.IGNORECASE)), None
        )
        if kind and number not in found:
            found[number] = kind
    return [found[number] for number in sorted(found)]


def _with_slots(text: str) -> tuple[str, int]:
    """Return the words with {{instruction}} for the placeholder of the instruction, and how many there were."""
    pattern = "|".join(rf"{left}\s*(?:{_INSTRUCTION})\s*{right}" for left, right in _BRACKETS)
    pieces = re.split(f"({pattern})", text, flags=re.IGNORECASE)
    texts = [
        escape(piece) if place % 2 == 0 else "{{instruction}}" for place, piece in enumerate(pieces)
    ]
    return "".join(texts), len(pieces) // 2
