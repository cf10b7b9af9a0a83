"""What kind of turn a conversation has come to, told from its shape and a few key words.

`pixels` cannot read. It sees which pictures were shown when, and whether a turn holds words such as "score".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from lmmscore.conversation import Message
from lmmscore.images import Picture

Kind = Literal[
    "greeting", "waiting", "source", "factors", "analysis", "verdict", "scores", "sums", "thanks"
]

FACTORS = ("acc", "pre", "qua", "real")
WEIGHTS = {
    "acc": Fraction(2, 5),
    "pre": Fraction(3, 10),
    "qua": Fraction(1, 5),
    "real": Fraction(1, 10),
}

_TRUTH = re.compile(
    r"ground[- ]?truth|reference (?:image|picture|edit)|(?:ideal|perfect|correct(?:ly)?) edit", re.I
)
_MARKED = re.compile(
    r"\b(?:marks?|marked|drawn|drew|sketch\w*|annotat\w*|visual instructions?)\b", re.I
)
_SCORING = re.compile(r"\b(?:re-?)?(?:scor|rat|grad)(?:e|es|ed|ing)\b|S\\?_", re.I)
_SUMS = re.compile(r"S\\?_\\?\{?all|weighted (?:sum|mean|average)|overall scores?", re.I)
_SYMBOL = re.compile(r"S\\?_\\?\{?([A-Za-z]+)")
_WEIGHT = re.compile(r"(\d*\.\d+)\s*(?:\\times|\\cdot|[*·×])?\s*\$?\s*S\\?_\\?\{?([A-Za-z]+)")
_SCALE = re.compile(r"\b([01])\s*(?:to|-|–|—|and)\s*(\d{1,3})\b(?!\s*(?:words|sentences|%))")


@dataclass(frozen=True, slots=True)
class Shown:
    """The pictures of a conversation, by the part they play."""

    first: Picture | None
    """The source, or the wanted result where the conversation shows that instead."""
    marked: Picture | None
    edits: tuple[Picture, ...]
    beside_truth: bool


def shown(messages: Sequence[Message]) -> Shown:
    """Return which picture is what: the first is the one to compare with, the rest are edits in order."""
    groups = [message.images for message in messages if message.role == "user" and message.images]
    if not groups:
        return Shown(None, None, (), False)
    words = said(messages)
    opening, later = groups[0], tuple(picture for group in groups[1:] for picture in group)
    marked = opening[1] if len(opening) == 3 and _MARKED.search(words) else None
    together = opening[2:] if marked else opening[1:]
    # Edits that come one by one are the edits; what was shown along with the first picture was to explain.
    edits = later or together
    beside_truth = bool(together) and marked is None and bool(_TRUTH.search(words))
    return Shown(opening[0], marked, edits, beside_truth)


def said(messages: Sequence[Message]) -> str:
    """Return everything that was said to the judge."""
    return "\n".join(message.text for message in messages if message.role != "assistant")


def kind_of(messages: Sequence[Message]) -> Kind:
    """Return what the last message asks for."""
    last, pictures = messages[-1], shown(messages)
    if last.images:
        if not pictures.edits:
            return "source"
        # Everything at once, with a word about scoring: there will be no later turn to score in.
        return "verdict" if len(last.images) > 1 and _SCORING.search(last.text) else "analysis"
    if pictures.edits:
        return _after_edits(last.text)
    if pictures.first is None:
        return "greeting" if len(messages) <= 2 else "waiting"
    return "factors" if _SCORING.search(last.text) else "waiting"


def _after_edits(text: str) -> Kind:
    if _SUMS.search(text) and (_WEIGHT.search(text) or "weight" in text.lower()):
        return "sums"
    return "scores" if _SCORING.search(text) or "missing" in text.lower() else "thanks"


def factors_asked(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the sub-scores that were named, `acc` for `S_acc`, in order; the usual four where none was."""
    found = dict.fromkeys(symbol.lower() for symbol in _SYMBOL.findall(said(messages)))
    found.pop("all", None)
    return tuple(found) or FACTORS


def weights_asked(messages: Sequence[Message]) -> dict[str, Fraction]:
    """Return the weights written before the sub-scores, as in `0.4 S_acc`; the usual ones where none are."""
    found = {symbol.lower(): Fraction(weight) for weight, symbol in _WEIGHT.findall(said(messages))}
    return found or WEIGHTS


def scale_asked(messages: Sequence[Message]) -> tuple[int, int]:
    """Return the ends of the scale: the widest range from 0 or 1 that was named, or 1 to 10."""
    # A turn with pictures quotes the instruction, and "from 1 to 20 candles" is no scale.
    wordy = said([message for message in messages if not message.images])
    found = _SCALE.findall(wordy) or _SCALE.findall(said(messages))
    ranges = [(int(low), int(high)) for low, high in found if int(high) > int(low)]
    return max(ranges, key=lambda ends: ends[1] - ends[0], default=(1, 10))
