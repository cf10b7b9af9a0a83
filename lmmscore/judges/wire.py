"""A conversation as bytes to send: each message is serialised once, and a body is a list of byte segments.

A conversation grows at its end only, so the JSON of its messages is append-only too. The large segments, the
pictures in base64, are the same objects in every body that shows them; nothing joins them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakKeyDictionary

import orjson
import pybase64

from lmmscore.conversation import Conversation, Message
from lmmscore.images import Picture
from lmmscore.judges.faults import sound

SMALL_BYTES = 16_384
"""Neighbouring segments below this are joined: a copy of so little costs less than one more write."""

PREPARERS = max(1, min(8, (os.cpu_count() or 1) - 1))
"""Threads that prepare pictures. One core is left to the sending, and threads beyond the cores only get in its way."""

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
        self._coming: dict[Picture, asyncio.Future[bytes]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def begin(self, picture: Picture) -> None:
        """Start preparing a picture that is not ready yet."""
        if picture in self._ready or picture in self._coming:
            return
        self._pool = self._pool or ThreadPoolExecutor(PREPARERS)
        coming = asyncio.get_running_loop().run_in_executor(self._pool, _base64_of, picture)
        self._coming[picture] = coming
        coming.add_done_callback(lambda done: self._settle(picture, done))

    async def get(self, picture: Picture) -> bytes:
        """Return the base64 of the encoded picture. Raises ImageProblem when it cannot be shown."""
        self.begin(picture)
        ready = self._ready.get(picture)
        # Shielded: other sessions may be waiting for the same picture when one of them is stopped.
        return await asyncio.shield(self._coming[picture]) if ready is None else ready

    def close(self) -> None:
        """Let go of the threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    def _settle(self, picture: Picture, done: asyncio.Future[bytes]) -> None:
        del self._coming[picture]
        if not done.cancelled() and done.exception() is None:
            self._ready[picture] = done.result()


class Transcript:
    """The messages of conversations as JSON list elements. What was said before is not rendered again."""

    def __init__(self, render: Render, pictures: EncodedPictures) -> None:
        self._render = render
        self._pictures = pictures
        self._rendered: WeakKeyDictionary[Conversation, list[bytes]] = WeakKeyDictionary()

    async def elements(self, conversation: Conversation) -> list[bytes]:
        """Return the segments of all messages, commas included."""
        new: list[Message] = []
        parts: list[bytes] = []
        for node, message in conversation.backwards():
            if node in self._rendered:
                parts = [*self._rendered[node]]
                break
            new.append(message)
        for message in reversed(new):
            for picture in message.images:
                self._pictures.begin(picture)
            shown = [await self._pictures.get(picture) for picture in message.images]
            parts += [b","] if parts else []
            parts += self._render(message, shown)
        if new:
            self._rendered[conversation] = parts = _coalesce(parts)
        return parts


def chat_renderer(detail: str | None) -> Render:
    """Return what writes a message the way Chat Completions wants it."""
    close = f'","detail":{dumps(detail).decode()}}}}}'.encode() if detail else b'"}}'

    def render(message: Message, shown: Sequence[bytes]) -> list[bytes]:
        role = dumps(message.role)
        if not message.images:
            return [b'{"role":', role, b',"content":', dumps(message.text), b"}"]
        parts = [b'{"role":', role, b',"content":[']
        encoded = iter(shown)
        for number, each in enumerate(message.content()):
            parts += [b","] if number else []
            if isinstance(each, str):
                parts += [b'{"type":"text","text":', dumps(each), b"}"]
                continue
            opening = f'{{"type":"image_url","image_url":{{"url":"data:{each.mime};base64,'
            parts += [opening.encode(), next(encoded), close]
        return [*parts, b"]}"]

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
        return orjson.dumps(sound(value))


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
