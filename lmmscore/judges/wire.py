"""A conversation as bytes to send: each message is serialised once, and a body is a list of byte segments.

A conversation grows at its end only, so the JSON of its messages is append-only too. The large segments, the
pictures in base64, are the same objects in every body that shows them; nothing joins them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import orjson
import pybase64

from lmmscore.conversation import Conversation, Message
from lmmscore.images import Picture

SMALL_BYTES = 16_384
"""Neighbouring segments below this are joined: a copy of so little costs less than one more write."""

Render = Callable[[Message, Sequence[bytes]], list[bytes]]


class Body:
    """What one request sends. Iterating yields the segments in order; it can be sent any number of times."""

    __slots__ = ("parts", "size")

    def __init__(self, parts: Iterable[bytes]) -> None:
        self.parts = _coalesce(parts)
        self.size = sum(map(len, self.parts))

    def __repr__(self) -> str:
        return f"Body({self.size} bytes)"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            yield part


class EncodedPictures:
    """Pictures in base64, each prepared once, in a thread, and kept exactly as long as its Picture lives."""

    def __init__(self) -> None:
        self._ready: WeakKeyDictionary[Picture, bytes] = WeakKeyDictionary()
        self._coming: dict[Picture, asyncio.Task[bytes]] = {}

    async def get(self, picture: Picture) -> bytes:
        """Return the base64 of the encoded picture. Raises ImageProblem when it cannot be shown."""
        ready = self._ready.get(picture)
        if ready is not None:
            return ready
        task = self._coming.get(picture)
        if task is None:
            task = asyncio.create_task(asyncio.to_thread(_base64_of, picture))
            self._coming[picture] = task
            task.add_done_callback(lambda done: self._settle(picture, done))
        # Shielded: other sessions may be waiting for the same picture when one of them is stopped.
        return await asyncio.shield(task)

    def _settle(self, picture: Picture, task: asyncio.Task[bytes]) -> None:
        del self._coming[picture]
        if not task.cancelled() and task.exception() is None:
            self._ready[picture] = task.result()


class Transcript:
    """The messages of conversations as JSON list elements, each rendered once."""

    def __init__(self, render: Render, pictures: EncodedPictures) -> None:
        self._render = render
        self._pictures = pictures
        self._rendered: WeakKeyDictionary[Conversation, list[bytes]] = WeakKeyDictionary()

    async def elements(self, conversation: Conversation, after: Conversation | None = None) -> list[bytes]:
        """Return the segments of every message after `after` (default: of all), commas included."""
        nodes = []
        node: Conversation | None = conversation
        while node is not None and node is not after and node.message is not None:
            nodes.append(node)
            node = node.parent
        parts: list[bytes] = []
        for node in reversed(nodes):
            if parts:
                parts.append(b",")
            parts += self._rendered.get(node) or await self._render_node(node)
        return parts

    async def _render_node(self, node: Conversation) -> list[bytes]:
        message = node.message
        assert message is not None
        shown = await asyncio.gather(*map(self._pictures.get, message.images))
        self._rendered[node] = parts = self._render(message, shown)
        return parts


def chat_renderer(detail: str | None) -> Render:
    """Return what writes a message the way Chat Completions wants it."""
    close = f'","detail":{dumps(detail).decode()}}}}},'.encode() if detail else b'"}},'

    def render(message: Message, shown: Sequence[bytes]) -> list[bytes]:
        role = dumps(message.role)
        if not message.images:
            return [b'{"role":', role, b',"content":', dumps(message.text), b"}"]
        parts = [b'{"role":', role, b',"content":[']
        for picture, encoded in zip(message.images, shown, strict=True):
            opening = f'{{"type":"image_url","image_url":{{"url":"data:{picture.mime};base64,'
            parts += [opening.encode(), encoded, close]
        parts += [b'{"type":"text","text":', dumps(message.text), b"}]}"]
        return parts

    return render


def chat_body(fields: Mapping[str, Any], messages: list[bytes]) -> Body:
    """Return the body of a request: the fields, then the list of messages under `messages`."""
    return body_with("messages", fields, messages)


def body_with(name: str, fields: Mapping[str, Any], elements: list[bytes]) -> Body:
    """Return a JSON object of the fields and, last, the list of elements under `name`."""
    head = orjson.dumps(fields)[:-1]
    comma = b"," if fields else b""
    return Body([head, comma, dumps(name), b":[", *elements, b"]}"])


def dumps(value: Any) -> bytes:
    """Return the value as JSON. Half a surrogate pair, which no UTF-8 can carry, becomes U+FFFD."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        if not isinstance(value, str):
            raise
        return orjson.dumps(value.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _base64_of(picture: Picture) -> bytes:
    return pybase64.b64encode(picture.data())


def _coalesce(parts: Iterable[bytes]) -> list[bytes]:
    result: list[bytes] = []
    small: list[bytes] = []
    for part in parts:
        if len(part) < SMALL_BYTES:
            small.append(part)
            continue
        if small:
            result.append(b"".join(small))
            small = []
        result.append(part)
    if small:
        result.append(b"".join(small))
    return result
