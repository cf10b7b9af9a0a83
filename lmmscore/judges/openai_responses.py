"""The Responses API: the server keeps the conversation, and each picture is uploaded once.

A session of N pictures then sends each once, where Chat Completions sends the first N times. If the
server loses what it kept, the history is sent once more, and the user is told.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from lmmscore.conversation import Conversation, Message
from lmmscore.errors import AddressNotFound, JudgeFileError, StateLost
from lmmscore.images import Picture
from lmmscore.judges.client import ApiClient, ApiQuestion, Replica
from lmmscore.judges.config import Address, JudgeOptions
from lmmscore.judges.http import Body
from lmmscore.judges.openai_wire import (
    TOP_LOGPROBS,
    EncodedPictures,
    body_with,
    dumps,
    responses_reply,
)
from lmmscore.records import Reply

KEPT = 8192
"""How many conversations are remembered."""
LOSSES = 3
"""How often a server may lose one before it is not asked to keep any."""


class ResponsesRoute:
    """Asks one server through Responses. `works` turns False when it turns out to have no such API.

    A server is relied on to know the earlier turns only as long as its answers name the response
    they continue. One that takes `previous_response_id` and says nothing of it may well ignore it,
    and judge without the pictures.
    """

    def __init__(
        self,
        address: Address,
        options: JudgeOptions,
        client: ApiClient,
        replica: Replica,
        pictures: EncodedPictures,
    ) -> None:
        self.works = True
        self._address = address
        self._client = client
        self._replica = replica
        self._fields = _fields(address, options)
        self._structured = options.structured
        self._shown = ShownPictures(client, replica, pictures, options.image_detail)
        self._states: OrderedDict[str, str] = OrderedDict()
        self._losses = 0

    async def ask(self, conversation: Conversation) -> Reply | None:
        """Answer the last message; None when the server has no Responses API."""
        known, state = self._nearest_state(conversation)
        try:
            return await self._send(conversation, known, state)
        except AddressNotFound:
            self.works = False
            self._client.notice(
                "the server has no Responses API; questions travel by Chat Completions instead"
            )
            return None
        except StateLost:
            return await self._after_loss(conversation, known)

    async def _send(
        self, conversation: Conversation, known: Conversation | None, state: str | None
    ) -> Reply:
        fields = self._fields_for(conversation)
        head = {**fields, **({"previous_response_id": state} if state else {})}
        body = body_with("input", head, await self._shown.elements(conversation, known))
        seen: list[Mapping[str, Any]] = []

        def read(data: Any, headers: Mapping[str, str]) -> Reply:
            reply = responses_reply(data, headers)
            seen.append(data)
            return reply

        relies = state is not None or self._shown.names_files(conversation)
        question = ApiQuestion("/responses", body, read, fields, relies)
        reply = await self._client.ask(self._replica, conversation, question)
        answer = seen[-1] if seen else {}
        if state is not None and seen and answer.get("previous_response_id") != state:
            # It may have answered without what came before: that is no answer to the conversation.
            self._losses = LOSSES
            raise StateLost(
                f"{self._address.name}: the server does not show that it keeps anything"
            )
        if answer.get("id"):
            self._keep(conversation.hear(reply.text or reply.refusal).digest, str(answer["id"]))
        return reply

    async def whole_body(self, conversation: Conversation) -> Body:
        """Return a question with all that was said before, as it travels in a batch."""
        elements = await self._shown.elements(conversation, None)
        return body_with("input", self._fields_for(conversation), elements)

    def _fields_for(self, conversation: Conversation) -> dict[str, Any]:
        message = conversation.message
        if not self._structured or message is None or not message.schema:
            return self._fields
        schema = {
            "type": "json_schema",
            "name": "reply",
            "strict": True,
            "schema": json.loads(message.schema),
        }
        return {**self._fields, "text": {"format": schema}}

    async def _after_loss(self, conversation: Conversation, known: Conversation | None) -> Reply:
        self._losses += 1
        if self._losses > LOSSES:
            self._client.notice(
                "the server does not show that it keeps conversations; the whole history is sent "
                "with every question"
            )
        else:
            self._client.notice(
                "the server lost a conversation it had kept; its history was sent once more"
            )
        if known is not None:
            self._states.pop(known.digest, None)
        self._shown.forget(conversation)
        try:
            return await self._send(conversation, None, None)
        except StateLost:
            if not self._shown.names_files(conversation):
                raise
            self._shown.has_files = False
            self._client.notice(
                "the server loses the files it is sent; pictures travel inside the questions"
            )
            return await self._send(conversation, None, None)

    def _nearest_state(self, conversation: Conversation) -> tuple[Conversation | None, str | None]:
        """Return the longest earlier part that the server still holds, and its name there."""
        # A server that loses what it keeps, time and again, is not asked to keep it.
        if self._losses >= LOSSES or conversation.parent is None:
            return None, None

        for node, _ in conversation.parent.backwards():
            state = self._states.get(node.digest)
            if state is not None:
                return node, state
        return None, None

    def _keep(self, digest: str, state: str) -> None:
        self._states[digest] = state
        while len(self._states) > KEPT:
            self._states.popitem(last=False)


class ShownPictures:
    """Messages as Responses wants them; pictures are uploaded and named, or inline."""

    def __init__(
        self, client: ApiClient, replica: Replica, pictures: EncodedPictures, detail: str | None
    ) -> None:
        self._client = client
        self._replica = replica
        self._pictures = pictures
        self._detail = b',"detail":' + dumps(detail or "auto")
        self._files: WeakKeyDictionary[Picture, asyncio.Task[str]] = WeakKeyDictionary()
        self.has_files = True

    async def elements(self, conversation: Conversation, after: Conversation | None) -> list[bytes]:
        """Return the segments of every message after `after`, commas included."""
        new = itertools.takewhile(lambda pair: pair[0] is not after, conversation.backwards())
        parts: list[bytes] = []
        for _, message in reversed([*new]):
            shown = await asyncio.gather(*map(self._element, message.images))
            parts += [b","] if parts else []
            parts += _message(message, shown)
        return parts

    def names_files(self, conversation: Conversation) -> bool:
        """Whether this conversation, sent whole, names files that the server keeps."""
        return self.has_files and any(message.images for message in conversation.messages)

    def forget(self, conversation: Conversation) -> None:
        """Upload the pictures of this conversation again: the server may have lost them too."""
        for message in conversation.messages:
            for picture in message.images:
                self._files.pop(picture, None)

    async def _element(self, picture: Picture) -> list[bytes]:
        name = await self._file(picture) if self.has_files else ""
        if name:
            return [b'{"type":"input_image","file_id":', dumps(name), self._detail, b"}"]
        opening = f'{{"type":"input_image","image_url":"data:{picture.mime};base64,'.encode()
        return [opening, await self._pictures.get(picture), b'"', self._detail, b"}"]

    async def _file(self, picture: Picture) -> str:
        """Return the name of the uploaded picture, or nothing where the server takes no files."""
        task = self._files.get(picture)
        if task is None or _failed(task):
            task = self._files[picture] = asyncio.create_task(self._upload(picture))
        return await asyncio.shield(task)

    async def _upload(self, picture: Picture) -> str:
        data = await asyncio.to_thread(picture.data)
        answer = await self._client.upload(self._replica, data, picture.mime)
        try:
            name = str(answer.json()["id"]) if answer.status == 200 else ""
        except (ValueError, KeyError, TypeError):
            name = ""
        if name:
            self._client.meter.files_uploaded += 1
        else:
            self.has_files = False
            self._client.notice(
                f"the server takes no files ({answer.status}); pictures travel inside the questions"
            )
        return name


def _failed(task: asyncio.Task[str]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def _message(message: Message, shown: Sequence[list[bytes]]) -> list[bytes]:
    kind = b"output_text" if message.role == "assistant" else b"input_text"
    parts = [b'{"type":"message","role":', dumps(message.role), b',"content":[']
    pictures = iter(shown)
    for number, each in enumerate(message.content()):
        parts += [b","] if number else []
        if isinstance(each, str):
            parts += [b'{"type":"', kind, b'","text":', dumps(each), b"}"]
        else:
            parts += next(pictures)
    return [*parts, b"]}"]


def _fields(address: Address, options: JudgeOptions) -> dict[str, Any]:
    if options.seed is not None:
        raise JudgeFileError(
            f"{address.name}: the Responses API takes no seed; leave out seed, or set api: chat"
        )
    fields: dict[str, Any] = {"model": address.model, "store": True}
    if options.temperature is not None:
        fields["temperature"] = options.temperature
    if options.max_tokens is not None:
        fields["max_output_tokens"] = options.max_tokens
    if options.reasoning_effort is not None:
        fields["reasoning"] = {"effort": options.reasoning_effort}
    if options.logprobs:
        fields["include"] = ["message.output_text.logprobs"]
        fields["top_logprobs"] = TOP_LOGPROBS
    return {**fields, **options.extra}
