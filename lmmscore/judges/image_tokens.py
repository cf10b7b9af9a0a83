"""How many tokens a picture counts for, by the formulas providers have published.

Sources, read in 2025: OpenAI "Images and vision" (tiles and patches), Anthropic "Vision" (pixels / 750, long edge
1568), Google "Understand and count tokens" (258 a tile), the Qwen2-VL and LLaVA papers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from lmmscore.errors import JudgeFileError, nearest

GUESS_TOKENS = 1000
"""For a model whose provider has published no formula."""


@dataclass(frozen=True, slots=True)
class ImageTokens:
    """A count, and whether it is a guess of ours rather than the provider's formula."""

    tokens: int
    guess: bool
    formula: str


Formula = Callable[[int, int, str | None], int]


def _fit(width: float, height: float, side: float) -> tuple[float, float]:
    scale = min(1.0, side / max(width, height))
    return width * scale, height * scale


def tiles(base: int, tile: int) -> Formula:
    """OpenAI's larger models: within 2048², then the shorter side to 768, cut into tiles of 512."""

    def count(width: int, height: int, detail: str | None) -> int:
        if detail == "low":
            return base
        w, h = _fit(width, height, 2048)
        scale = min(1.0, 768 / min(w, h))
        return base + tile * math.ceil(round(w * scale, 6) / 512) * math.ceil(
            round(h * scale, 6) / 512
        )

    return count


def patches(factor: float, most: int = 1536) -> Formula:
    """OpenAI's smaller models: patches of 32, at most 1536, times a factor of the model."""

    def count(width: int, height: int, _detail: str | None) -> int:
        number = math.ceil(width / 32) * math.ceil(height / 32)
        if number > most:
            shrink = math.sqrt(32**2 * most / (width * height))
            across, down = width * shrink / 32, height * shrink / 32
            shrink *= min(math.floor(across) / across, math.floor(down) / down)
            number = min(most, math.ceil(width * shrink / 32) * math.ceil(height * shrink / 32))
        return math.ceil(number * factor)

    return count


def anthropic(width: int, height: int, _detail: str | None) -> int:
    """Claude: pixels / 750 once the long edge is within 1568; at most about 1600."""
    w, h = _fit(width, height, 1568)
    return min(1600, math.ceil(w * h / 750))


def gemini(width: int, height: int, _detail: str | None) -> int:
    """Gemini: 258 for a small picture, else 258 for each tile of at most 768."""
    if max(width, height) <= 384:
        return 258
    unit = max(256, min(768, math.floor(min(width, height) / 1.5)))
    return 258 * math.ceil(width / unit) * math.ceil(height / unit)


def qwen(width: int, height: int, _detail: str | None) -> int:
    """Qwen2-VL and 2.5-VL: one token for 28 × 28 pixels, and two marks."""
    return max(4, round(height / 28) * round(width / 28)) + 2


def fixed(tokens: int) -> Formula:
    """The same for every picture, as with LLaVA-1.5."""
    return lambda _width, _height, _detail: tokens


FORMULAS: dict[str, Formula] = {
    "openai-tiles": tiles(85, 170),
    "openai-tiles-mini": tiles(2833, 5667),
    "openai-tiles-o": tiles(75, 150),
    "openai-tiles-5": tiles(70, 140),
    "openai-patches-mini": patches(1.62),
    "openai-patches-nano": patches(2.46),
    "openai-patches-o4": patches(1.72),
    "anthropic": anthropic,
    "gemini": gemini,
    "qwen": qwen,
    "llava": fixed(576),
}

_BY_MODEL = [
    (r"gpt-4o-mini", "openai-tiles-mini"),
    (r"gpt-(4\.1|5)-mini", "openai-patches-mini"),
    (r"gpt-(4\.1|5)-nano", "openai-patches-nano"),
    (r"o4-mini", "openai-patches-o4"),
    (r"gpt-5(-chat|-20\d\d|$)", "openai-tiles-5"),
    (r"gpt-4o|chatgpt-4o|gpt-4\.1|gpt-4\.5|gpt-4-turbo|gpt-4-vision", "openai-tiles"),
    (r"(^|/)o[13](-|$)", "openai-tiles-o"),
    (r"claude", "anthropic"),
    (r"gemini", "gemini"),
    (r"qwen-?2(\.5)?-?vl|qwen.*-vl-(max|plus)", "qwen"),
    (r"llava(-1\.5|-v1\.5|:7b|:13b)?$", "llava"),
]


def formula_name(model: str, named: str = "") -> str:
    """Return the formula for a model: the one named, else the one known; empty when there is none."""
    if named and named not in FORMULAS:
        raise JudgeFileError(
            f"unknown image_tokens {named!r}{nearest(named, FORMULAS)}; known: {', '.join(FORMULAS)}"
        )
    matches = (name for pattern, name in _BY_MODEL if re.search(pattern, model.lower()))
    return named or next(matches, "")


def image_tokens(
    model: str, width: int, height: int, detail: str | None = None, named: str = ""
) -> ImageTokens:
    """Return what a picture of this size, as sent, counts for with this model."""
    name = formula_name(model, named)
    if not name:
        return ImageTokens(GUESS_TOKENS, True, "guess")
    return ImageTokens(FORMULAS[name](width, height, detail), False, name)
