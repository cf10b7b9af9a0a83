"""Messages and their digest chain.

A conversation grows at its end only. Each message carries the digest of everything up to it, so that the key of a
question costs one hash, whatever the length of what was said before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from lmmscore.images import Picture

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One thing said, with the pictures shown with it."""

    role: Role
    text: str
    images: tuple[Picture, ...] = ()
    schema: str = ""
    """A JSON schema, as text, that the answer is to follow where a judge can be held to one."""
    places: tuple[int, ...] = ()
    """Before which character each picture stands; empty where all stand before the words."""

    def content(self) -> Iterator[str | Picture]:
        """Yield the words and pictures in the order the judge meets them."""
        at = 0
        for picture, place in zip(self.images, self.places or [0] * len(self.images), strict=True):
            # Some servers refuse a stretch of text that is nothing but blanks.
            if self.text[at:place].strip():
                yield self.text[at:place]
            yield picture
            at = place
        if self.text[at:].strip() or not self.images or not self.places:
            yield self.text[at:]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Conversation:
    """A message and the conversation before it; the empty one has no message."""

    parent: Conversation | None = None
    message: Message | None = None
    digest: str = field(default=hashlib.sha256(b"lmmscore conversation v1").hexdigest())
    """Covers every message so far: role, text, every picture and where it stands."""

    def add(self, message: Message) -> Conversation:
        """Return this conversation with one message more."""
        return Conversation(self, message, _chain(self.digest, message))

    def say(
        self,
        text: str,
        images: tuple[Picture, ...] = (),
        schema: str = "",
        places: tuple[int, ...] = (),
    ) -> Conversation:
        """Return this conversation with one more thing said to the judge."""
        return self.add(Message("user", text, images, schema, places if any(places) else ()))

    def hear(self, text: str) -> Conversation:
        """Return this conversation with one more reply of the judge."""
        return self.add(Message("assistant", text))

    @property
    def messages(self) -> list[Message]:
        """All messages, first to last."""
        return [message for _, message in self.backwards()][::-1]

    @property
    def beginning(self) -> Conversation:
        """The conversation when its first message had been said."""
        nodes = [node for node, _ in self.backwards()]
        return nodes[-1] if nodes else self

    def backwards(self) -> Iterator[tuple[Conversation, Message]]:
        """Yield the conversation as it was after each message, last to first, and that message."""
        node: Conversation | None = self
        while node is not None and node.message is not None:
            yield node, node.message
            node = node.parent


def _chain(before: str, message: Message) -> str:
    # Lengths keep the fields apart: no two different messages can hash the same bytes.
    digest = hashlib.sha256(bytes.fromhex(before))
    schema = (f"schema {message.schema}",) if message.schema else ()
    # Absent where the pictures stand before the words, so that old keys stay what they were.
    places = (f"places {' '.join(map(str, message.places))}",) if message.places else ()
    for part in (
        message.role,
        message.text,
        *(picture.digest for picture in message.images),
        *schema,
        *places,
    ):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()
