"""How long a question will be, before it is sent: what was counted at the last turn, and what has been added."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass

from lmmscore.conversation import Conversation, Message
from lmmscore.images import Picture, fitted_size, read_header
from lmmscore.judges.image_tokens import image_tokens
from lmmscore.judges.options import OpenAIOptions
from lmmscore.records import Usage

MESSAGE_TOKENS = 6
"""What the marks around a message come to, generously."""
KEPT = 4096


def text_tokens(text: str, bytes_each: float = 4.0) -> int:
    """Return about how many tokens a text is. English runs to four bytes a token; other scripts to fewer."""
    return math.ceil(len(text.encode("utf-8", "replace")) / bytes_each)


def shown_size(picture: Picture) -> tuple[int, int]:
    """Return width and height of a picture as it is sent."""
    header = read_header(picture.path)
    return fitted_size(header.width, header.height, picture.recipe.max_side_px)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A picture as the formula sees it."""

    tokens: int
    long_px: int
    short_px: int


class Estimator:
    """Estimates that lean to too much: they are for reserving money and keeping within quotas.

    Once a server has counted more than the formula says, no picture is taken to cost less than the dearest so far.
    """

    def __init__(self, model: str, options: OpenAIOptions) -> None:
        self._model = model
        self._options = options
        self._counted: OrderedDict[str, int] = OrderedDict()
        self._pictures: dict[str, _Shown] = {}
        self._longest_reply = 0
        self._answered = False
        self._largest = (0, 0)
        """The longest and the shortest side up to which pictures have been answered about."""
        self._dearest = 0
        """The most that a picture came to by the server's count."""
        self._formula_short = False
        self._unseen = 0
        """What the server counts at the start of a conversation beyond what was sent: words of its own."""

    def knows(self, conversation: Conversation) -> bool:
        """Tell whether the like has been answered before: if not, the server may count far more than the estimate."""
        added, _ = self._added(conversation)
        shown = [self._shown(picture) for message in added for picture in message.images]
        long_px, short_px = self._largest
        return self._answered and all(
            p.long_px <= long_px and p.short_px <= short_px for p in shown
        )

    def prompt(self, conversation: Conversation) -> int:
        """Return how many tokens the conversation so far may be."""
        added, counted = self._added(conversation)
        return (
            counted
            + sum(self._message(message) for message in added)
            + (0 if counted else self._unseen)
        )

    def reply(self) -> int:
        """Return how many tokens the reply may be: its limit, or, without one, more than any reply so far."""
        if self._options.max_tokens is not None:
            return self._options.max_tokens
        return max(self._options.reply_tokens, 2 * self._longest_reply)

    def all_tokens(self, conversation: Conversation) -> int:
        """Return what question and reply may come to together."""
        return self.prompt(conversation) + self.reply()

    def learn(self, conversation: Conversation, usage: Usage) -> None:
        """Keep what the server counted for a conversation; where it did not count, there is nothing to wait for."""
        if usage.completion_tokens is not None:
            self._longest_reply = max(self._longest_reply, usage.completion_tokens)
        added, before = self._added(conversation)
        if usage.prompt_tokens is not None:
            self._compare(added, before, usage.prompt_tokens - before)
            self._counted[conversation.digest] = usage.prompt_tokens
            while len(self._counted) > KEPT:
                self._counted.popitem(last=False)
        self._answered = True
        for shown in (self._shown(picture) for message in added for picture in message.images):
            long_px, short_px = self._largest
            self._largest = (max(long_px, shown.long_px), max(short_px, shown.short_px))

    def _compare(self, added: list[Message], before: int, tokens: int) -> None:
        pictures = sum(len(message.images) for message in added)
        excess = tokens - sum(self._message(message) for message in added)
        if pictures:
            # Text runs to less than a token for each eight bytes nowhere; the rest went on the pictures.
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

    def _shown(self, picture: Picture) -> _Shown:
        known = self._pictures.get(picture.digest)
        if known is None:
            width, height = shown_size(picture)
            options = self._options
            counted = image_tokens(
                self._model, width, height, options.image_detail, options.image_tokens
            )
            # Where there is no formula, reserve for twice our guess.
            tokens = counted.tokens * (2 if counted.guess else 1)
            known = _Shown(tokens, max(width, height), min(width, height))
            self._pictures[picture.digest] = known
        return known
