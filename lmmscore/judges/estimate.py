"""How long a question will be, before it is sent: what was counted at the last turn, and what has been added."""

from __future__ import annotations

import math
from collections import OrderedDict

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


class Estimator:
    """Estimates that lean to too much: they are for reserving money and keeping within quotas."""

    def __init__(self, model: str, options: OpenAIOptions) -> None:
        self._model = model
        self._options = options
        self._counted: OrderedDict[str, int] = OrderedDict()
        self._pictures: dict[str, int] = {}
        self._longest_reply = 0

    def prompt(self, conversation: Conversation) -> int:
        """Return how many tokens the conversation so far may be."""
        tokens = 0
        node: Conversation | None = conversation
        while node is not None and node.message is not None:
            if node.digest in self._counted:
                return tokens + self._counted[node.digest]
            tokens += self._message(node.message)
            node = node.parent
        return tokens

    def reply(self) -> int:
        """Return how many tokens the reply may be: its limit, or, without one, more than any reply so far."""
        if self._options.max_tokens is not None:
            return self._options.max_tokens
        return max(self._options.reply_tokens, 2 * self._longest_reply)

    def learn(self, conversation: Conversation, usage: Usage) -> None:
        """Keep what the server counted for a conversation."""
        if usage.completion_tokens is not None:
            self._longest_reply = max(self._longest_reply, usage.completion_tokens)
        if usage.prompt_tokens is not None:
            self._counted[conversation.digest] = usage.prompt_tokens
            while len(self._counted) > KEPT:
                self._counted.popitem(last=False)

    def _message(self, message: Message) -> int:
        words = text_tokens(message.text, 2.5) + MESSAGE_TOKENS
        return words + sum(self._picture(picture) for picture in message.images)

    def _picture(self, picture: Picture) -> int:
        known = self._pictures.get(picture.digest)
        if known is None:
            width, height = shown_size(picture)
            options = self._options
            counted = image_tokens(self._model, width, height, options.image_detail, options.image_tokens)
            # Where there is no formula, reserve for twice our guess.
            known = self._pictures[picture.digest] = counted.tokens * (2 if counted.guess else 1)
        return known
