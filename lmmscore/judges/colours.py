"""Plain colours by which a judge shows that it sees, and what counts as having named them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

COLOURS = {
    "red": (220, 20, 20),
    "green": (20, 160, 40),
    "blue": (20, 40, 220),
    "yellow": (245, 225, 30),
    "orange": (255, 140, 0),
    "purple": (120, 20, 160),
    "grey": (128, 128, 128),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
}
_SAME = {"gray": "grey", "violet": "purple", "crimson": "red", "scarlet": "red", "navy": "blue"}
_OTHERS = frozenset(
    "amber aqua azure beige bronze brown burgundy cream cyan fuchsia gold golden indigo ivory khaki lavender lilac "
    "lime magenta maroon mauve olive peach pink plum salmon silver tan teal turquoise".split()
)
"""Never shown, so that naming one is a guess."""


def draw_pair(rng: random.Random) -> tuple[str, str]:
    """Return two different colours. A judge that names two at random is right once in 70 times."""
    first, second = rng.sample(list(COLOURS), 2)
    # "Black and white" is on the lips of whoever says that no picture was shared.
    return draw_pair(rng) if {first, second} == {"black", "white"} else (first, second)


def colours_in(text: str) -> list[str]:
    """Return every colour a text names, each once, in the order of their first mention. Only whole words count."""
    words = (_SAME.get(word, word) for word in re.findall(r"[^\W\d_]+", text.lower()))
    return list(dict.fromkeys(word for word in words if word in COLOURS or word in _OTHERS))


def names_exactly(text: str, shown: Sequence[str]) -> bool:
    """Tell whether a text names these colours in this order and no other: who hedges has not seen."""
    return colours_in(text) == list(shown)
