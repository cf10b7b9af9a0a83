"""What a run would take, worked out without asking anyone: calls, pictures, bytes, tokens and price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from lmmscore.images import Pictures, Recipe, fitted_size, read_header
from lmmscore.judges.budget import cost_usd
from lmmscore.judges.config import JudgeOptions, Prices
from lmmscore.judges.tokens import MESSAGE_TOKENS, ImageTokens, image_tokens, text_tokens
from lmmscore.plan import Plan
from lmmscore.records import Usage
from lmmscore.session import Question

REPLY_TOKENS = 300
"""What a turn's reply comes to, about, with the dialogs that come with lmmscore."""
CACHE_FROM_TOKENS = 1024
"""Providers cache a prefix from about this length on."""
SAMPLE = 24
"""So many pictures are encoded to learn how many bytes a pixel takes."""

Size = Callable[[Path], tuple[int, int]]


@dataclass(slots=True)
class Forecast:
    """What a run would take. Repair turns, which depend on the judge, are not in it."""

    sessions: int = 0
    calls: int = 0
    """What several sessions ask in the same words is one call."""
    pictures: set[Path] = field(default_factory=set)
    pictures_sent: int = 0
    """By Chat Completions, where every turn sends the history again."""
    bytes_chat: int = 0
    bytes_responses: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """The part of the prompt that a provider's prefix cache would know, if every turn hits it."""
    completion_tokens: int = 0
    image_tokens_guessed: bool = False
    image_formula: str = ""

    def price_usd(self, prices: Prices | None, *, cached: bool) -> float | None:
        """Return the price of it all, with or without prefix caching; None where no price is known."""
        if prices is None:
            return None
        known = self.cached_tokens if cached else 0
        return cost_usd(prices, Usage(self.prompt_tokens, self.completion_tokens, known))


def forecast(plan: Plan, model: str, options: JudgeOptions, recipe: Recipe) -> Forecast:
    """Work out a plan for a judge. Opens every picture's header, and encodes a few to learn their size."""
    size = cache(lambda path: _size(path, recipe))
    result = Forecast()
    sessions = [
        (unit.repeat, session.outline())
        for unit in plan
        for session in plan.protocol.sessions(unit)
    ]
    for _, asked in sessions:
        for question in asked:
            result.pictures.update(shown.path for shown in question.images)
    bytes_per_pixel = _bytes_per_pixel(sorted(result.pictures), recipe, size)
    counts = cache(lambda path: _tokens(model, size(path), options))
    known: _Known = {}
    for repeat, asked in sessions:
        shared = _shared(known, repeat, asked)
        _add(
            result,
            asked,
            shared,
            counts,
            lambda path: round(bytes_per_pixel * _area(size(path))),
            options,
        )
    kinds = [counts(path) for path in result.pictures]
    result.image_tokens_guessed = any(kind.guess for kind in kinds)
    result.image_formula = next((kind.formula for kind in kinds), "")
    return result


_Known = dict[tuple[int, Question], int]
"""Every question met so far, by the number of what was asked before it; each has a number of its own."""


def _shared(known: _Known, repeat: int, asked: Sequence[Question]) -> int:
    """Return how many of a session's first questions an earlier one asks too; from now on all of its are known.

    The same words get the same reply, so two sessions are one until the first question in which they differ.
    """
    before, shared = -repeat, 0
    for question in asked:
        shared += (before, question) in known
        before = known.setdefault((before, question), len(known))
    return shared


def _add(
    result: Forecast,
    asked: Sequence[Question],
    shared: int,
    tokens: Callable[[Path], ImageTokens],
    weight: Callable[[Path], int],
    options: JudgeOptions,
) -> None:
    reply = min(options.max_tokens or REPLY_TOKENS, REPLY_TOKENS)
    result.sessions += 1
    history_tokens = history_bytes = shown = 0
    for number, question in enumerate(asked):
        # A system message travels with every turn but is no turn of its own.
        text = question.system + question.text
        paths = [image.path for image in question.images]
        words = len(text.encode()) + 60
        pictures = sum(weight(path) * 4 // 3 + 80 for path in paths)
        before = history_tokens
        history_tokens += text_tokens(text) + MESSAGE_TOKENS
        history_tokens += sum(tokens(path).tokens for path in paths)
        history_bytes += words + pictures
        shown += len(paths)
        if number >= shared:
            result.calls += 1
            result.pictures_sent += shown
            result.prompt_tokens += history_tokens
            result.cached_tokens += before if before >= CACHE_FROM_TOKENS else 0
            result.completion_tokens += reply
            result.bytes_chat += history_bytes
            # By Responses only what is new travels, and a picture as the file it is.
            result.bytes_responses += words + sum(weight(path) + 600 for path in paths)
        history_tokens += reply + MESSAGE_TOKENS
        history_bytes += reply * 4 + 60


def _size(path: Path, recipe: Recipe) -> tuple[int, int]:
    header = read_header(path)
    return fitted_size(header.width, header.height, recipe.max_side_px)


def _area(size: tuple[int, int]) -> int:
    return size[0] * size[1]


def _tokens(model: str, size: tuple[int, int], options: JudgeOptions) -> ImageTokens:
    return image_tokens(model, *size, options.image_detail, options.image_tokens)


def _bytes_per_pixel(paths: list[Path], recipe: Recipe, size: Size) -> float:
    """Return how many bytes an encoded pixel takes, on average over an even sample of the pictures."""
    chosen = paths[:: max(1, len(paths) // SAMPLE)][:SAMPLE]
    if not chosen:
        return 0.0
    pictures = Pictures(recipe)
    with ThreadPoolExecutor() as pool:
        weights = list(pool.map(lambda path: len(pictures.get(path).data()), chosen))
    return sum(weights) / sum(_area(size(path)) for path in chosen)
