"""How many tokens a question will be.

Pictures are estimated by published formulas, words by their length, and earlier turns are known by
what the server counted.

Sources of the formulas, read in 2025: OpenAI "Images and vision" (tiles and patches), Anthropic
"Vision" (pixels / 750, long edge 1568), Google "Understand and count tokens" (258 a tile), the
Qwen2-VL and LLaVA papers.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from lmmscore.conversation import Conversation, Message
from lmmscore.errors import JudgeFileError, nearest
from lmmscore.images import Picture, fitted_size, read_header
from lmmscore.records import Usage

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
        # Rounded first: a side of 512.0000000001 is one tile, not two.
        across = math.ceil(round(w * scale, 6) / 512)
        down = math.ceil(round(h * scale, 6) / 512)
        return base + tile * across * down

    return count


def patches(factor: float, most: int = 1536) -> Formula:
    """OpenAI's smaller models: patches of 32, at most 1536, times a factor of the model."""

    def count(width: int, height: int, _detail: str | None) -> int:
        number = math.ceil(width / 32) * math.ceil(height / 32)
        if number > most:
            shrink = math.sqrt(32**2 * most / (width * height))
            across, down = width * shrink / 32, height * shrink / 32
            # A little more, so that one side holds a whole number of patches.
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
    """Return the formula for a model: the one named, else the one known, else nothing."""
    if named and named not in FORMULAS:
        raise JudgeFileError(
            f"unknown image_tokens {named!r}{nearest(named, FORMULAS)}; known: "
            f"{', '.join(FORMULAS)}"
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


MESSAGE_TOKENS = 6
"""What the marks around a message come to, generously."""
REPLY_TOKENS = 1024
"""The length of a reply to reserve for where nothing limits it and none was seen yet."""
_KEPT = 4096


def text_tokens(text: str, bytes_each: float = 4.0) -> int:
    """Return about how many tokens a text is.

    English runs to four bytes a token; other scripts to fewer.
    """
    return math.ceil(len(text.encode("utf-8", "replace")) / bytes_each)


def shown_size(picture: Picture) -> tuple[int, int]:
    """Return width and height of a picture as it is sent."""
    header = read_header(picture.path)
    return fitted_size(header.width, header.height, picture.recipe.max_side_px)


@dataclass(frozen=True, slots=True)
class _Measured:
    """A picture as the formula sees it."""

    tokens: int
    long_px: int
    short_px: int


class Estimator:
    """Estimates that lean to too much: they are for reserving money and keeping within quotas.

    Once a server has counted more than the formula says, no picture is taken to cost less than the
    dearest so far.
    """

    def __init__(
        self,
        model: str,
        *,
        max_tokens: int | None = None,
        image_detail: str | None = None,
        formula: str = "",
    ) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self._image_detail = image_detail
        self._formula = formula
        self._counted: OrderedDict[str, int] = OrderedDict()
        self._pictures: dict[str, _Measured] = {}
        self._longest_reply = 0
        self._answered = False
        self._largest = (0, 0)
        """The longest and the shortest side up to which pictures have been answered about."""
        self._dearest = 0
        """The most that a picture came to by the server's count."""
        self._formula_short = False
        self._unseen = 0
        """What the server counts at the start beyond what was sent: words of its own."""

    def knows(self, conversation: Conversation) -> bool:
        """Tell whether the like was answered before; if not, far more may be counted."""
        if not self._answered:
            return False

        added, _ = self._added(conversation)
        long_px, short_px = self._largest
        for message in added:
            for picture in message.images:
                shown = self._shown(picture)
                if shown.long_px > long_px or shown.short_px > short_px:
                    return False

        return True

    def prompt(self, conversation: Conversation) -> int:
        """Return how many tokens the conversation so far may be."""
        added, counted = self._added(conversation)
        before = counted or self._unseen
        return before + sum(self._message(message) for message in added)

    def reply(self) -> int:
        """Return how many tokens the reply may be: its limit, or more than any so far."""
        if self._max_tokens is not None:
            return self._max_tokens
        return max(REPLY_TOKENS, 2 * self._longest_reply)

    def all_tokens(self, conversation: Conversation) -> int:
        """Return what question and reply may come to together."""
        return self.prompt(conversation) + self.reply()

    def learn(self, conversation: Conversation, usage: Usage) -> None:
        """Keep what the server counted for a conversation, if it did."""
        if usage.completion_tokens is not None:
            self._longest_reply = max(self._longest_reply, usage.completion_tokens)

        added, before = self._added(conversation)
        if usage.prompt_tokens is not None:
            self._compare(added, before, usage.prompt_tokens - before)
            self._counted[conversation.digest] = usage.prompt_tokens
            while len(self._counted) > _KEPT:
                self._counted.popitem(last=False)

        self._answered = True
        for shown in (self._shown(picture) for message in added for picture in message.images):
            long_px, short_px = self._largest
            self._largest = (max(long_px, shown.long_px), max(short_px, shown.short_px))

    def _compare(self, added: list[Message], before: int, tokens: int) -> None:
        """Learn from a count how much dearer than the formulas this server is."""
        pictures = sum(len(message.images) for message in added)
        excess = tokens - sum(self._message(message) for message in added)
        if pictures:
            # Text runs to less than a token for each eight bytes nowhere; the rest went on the
            # pictures.
            words = sum(text_tokens(message.text, 8.0) for message in added)
            self._dearest = max(self._dearest, math.ceil((tokens - words) / pictures))
            self._formula_short |= excess > 0
        elif not before:
            self._unseen = max(self._unseen, excess)

    def _added(self, conversation: Conversation) -> tuple[list[Message], int]:
        """Return the messages since the last count, and that count."""
        added: list[Message] = []
        for node, message in conversation.backwards():
            if node.digest in self._counted:
                return added, self._counted[node.digest]
            added.append(message)
        return added, 0

    def _message(self, message: Message) -> int:
        words = text_tokens(message.text, 2.5) + MESSAGE_TOKENS
        least = self._dearest if self._formula_short else 0
        return words + sum(max(least, self._shown(picture).tokens) for picture in message.images)

    def _shown(self, picture: Picture) -> _Measured:
        """Return what a picture comes to; its file is opened once."""
        known = self._pictures.get(picture.digest)
        if known is None:
            width, height = shown_size(picture)
            counted = image_tokens(self._model, width, height, self._image_detail, self._formula)
            # Where there is no formula, reserve for twice our guess.
            tokens = counted.tokens * (2 if counted.guess else 1)
            known = _Measured(tokens, max(width, height), min(width, height))
            self._pictures[picture.digest] = known

        return known
