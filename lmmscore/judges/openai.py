"""The judge behind any OpenAI-compatible API, by Chat Completions or by Responses.

By Chat Completions the whole history is sent with every question. By Responses the server keeps the
conversation, and each picture is uploaded once: a session of N pictures sends each once, where Chat
Completions sends the first N times. If the server loses what it kept, the history is sent once
more, and the user is told.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from lmmscore.conversation import Conversation, Message
from lmmscore.errors import AddressNotFound, JudgeError, JudgeFileError, JudgeUnavailable, StateLost
from lmmscore.images import Picture
from lmmscore.judges.budget import Meter, Purse, Spending, cost_usd
from lmmscore.judges.client import (
    ApiClient,
    ApiQuestion,
    Gate,
    Replica,
    ReplicaFailed,
    without_secrets,
)
from lmmscore.judges.config import Address, JudgeOptions, NamedJudge, find_judge, parse_address
from lmmscore.judges.faults import Malformed
from lmmscore.judges.http import Body, file_client
from lmmscore.judges.judge import Bench, JudgeBase, register
from lmmscore.judges.limits import Clock, RealClock
from lmmscore.judges.openai_wire import (
    TOP_LOGPROBS,
    EncodedPictures,
    RenderedMessages,
    body_with,
    chat_body,
    chat_data,
    chat_renderer,
    chat_reply,
    dumps,
    responses_reply,
)
from lmmscore.records import Reply

if TYPE_CHECKING:
    from lmmscore.judges.batches import Mailbox

BATCH_PRICE = 0.5
"""What a question costs in a batch, as a part of the usual price."""
KEPT = 8192
"""How many conversations are remembered."""
LOSSES = 3
"""How often a server may lose one before it is not asked to keep any."""
_PARAMETERS = ("temperature", "seed", "max_tokens", "reasoning_effort", "image_detail")


def _configured(spec: str, options: Mapping[str, Any]) -> NamedJudge:
    return find_judge(spec, **options)


_TAKEN = {field.name for field in fields(JudgeOptions)} - {"judge_name"}


@register("openai", form="openai/MODEL[@URL[,URL…]]", takes=_TAKEN, configure=_configured)
def open_openai(spec: str, options: Mapping[str, Any]) -> Bench:
    """Return the judge `openai/MODEL[@URL…]`, with what judges.yaml says of it."""
    return Bench(judge_of(_configured(spec, options)))


def judge_of(named: NamedJudge) -> OpenAIJudge:
    """Return a judge found by its name."""
    return make(named.spec, options=named.options)


def make(
    spec: str,
    *,
    options: JudgeOptions | None = None,
    clock: Clock | None = None,
    rng: random.Random | None = None,
) -> OpenAIJudge:
    """Return the judge `openai/SPEC`, where SPEC is `MODEL[@URL…]`.

    The key is read from the environment.
    """
    address = parse_address(spec, os.environ.get("OPENAI_BASE_URL", ""))
    return OpenAIJudge(
        address,
        options or JudgeOptions(),
        clock=clock or RealClock(),
        rng=rng or random.Random(),
    )


class OpenAIJudge(JudgeBase):
    """Answers conversations through Chat Completions or Responses."""

    def __init__(
        self, address: Address, options: JudgeOptions, *, clock: Clock, rng: random.Random
    ) -> None:
        self._address = address
        self._options = options
        self._name = address.name
        self._parameters = parameters_of(options)
        self._client = ApiClient(address, options, clock=clock, rng=rng)
        self._pictures = EncodedPictures()
        messages = RenderedMessages(chat_renderer(options.image_detail), self._pictures)
        self._chat = {
            replica: ChatRoute(address, options, self._client, replica, messages)
            for replica in self._client.replicas
        }
        self._responses: dict[Replica, ResponsesRoute] = {}
        if options.api == "responses":
            self._responses = {
                replica: ResponsesRoute(address, options, self._client, replica, self._pictures)
                for replica in self._client.replicas
            }

    def __repr__(self) -> str:
        return f"<judge {self.name}>"

    @property
    def name(self) -> str:
        """The judge's identity: its model. Where the model is served is no part of it."""
        return self._name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What changes the answers. How a question travels is no part of it."""
        return self._parameters

    @property
    def meter(self) -> Meter:
        """What has been asked and spent so far."""
        return self._client.meter

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer the last message. Raises JudgeError when there is no answer."""
        while True:
            replica = self._client.replicas.of(conversation.beginning)
            with replica.busy():
                try:
                    return await self._ask_at(replica, conversation)
                except ReplicaFailed:
                    continue

    async def _ask_at(self, replica: Replica, conversation: Conversation) -> Reply:
        route = self._responses.get(replica)
        if route is not None and route.works:
            reply = await route.ask(conversation)
            if reply is not None:
                return reply
        return await self._chat[replica].ask(conversation)

    @property
    def batch_url(self) -> str:
        """The address a question in a batch is meant for."""
        path = "/responses" if self._options.api == "responses" else "/chat/completions"
        # Azure's files name its addresses without the version.
        at_azure = next(iter(self._client.replicas)).endpoint.is_azure
        return path if at_azure else f"/v1{path}"

    async def batch_body(self, conversation: Conversation) -> bytes:
        """Return a question, its whole history included, as the body of a request."""
        replica = next(iter(self._client.replicas))
        if self._options.api == "responses":
            body = await ResponsesRoute(
                self._address, self._options, self._client, replica, self._pictures
            ).whole_body(conversation)
        else:
            body = await self._chat[replica].body(conversation)
        return b"".join(body.parts)

    def batch_reply(self, body: Mapping[str, Any]) -> Reply:
        """Read an answer of a batch, at the price of batches.

        Raises JudgeError where there is none.
        """
        read = responses_reply if self._options.api == "responses" else chat_reply
        try:
            reply = without_secrets(read(body, {}), self._client.hide)
        except Malformed as error:
            raise JudgeUnavailable(f"an answer without a reply: {error}") from error
        prices = self._options.prices
        counted = cost_usd(prices, reply.usage) if prices else None
        if counted is None:
            return reply
        return replace(reply, cost_usd=counted * BATCH_PRICE)

    def batch_mailbox(self) -> Mailbox:
        """Return where the provider takes batches."""
        from lmmscore.judges.batches import ApiMailbox

        replica = next(iter(self._client.replicas))
        client, headers = file_client(replica.endpoint, replica.key, self._options)
        most_bytes = int(self._options.max_response_mb * 1e6)
        return ApiMailbox(client, headers, self._client.hide, most_bytes)

    def batch_usd(self, conversation: Conversation) -> float:
        """Return what a question may cost at most in a batch; 0 where no prices are known."""
        return self._client.till.most_usd(conversation) * BATCH_PRICE

    @property
    def left_usd(self) -> float | None:
        """What is left of the budget; None where there is none."""
        return self._client.till.left_usd

    def charge(self, usd: float, *, assumed: bool = False) -> None:
        """Book the price of a batch's answer. Raises NotRecorded."""
        self._client.till.charge(usd, assumed=assumed)

    def share(self, purse: Purse, gate: Gate) -> None:
        """Keep within a budget and a pace that hold for several processes together."""
        self._client.share(purse, gate)

    def keep(self, spending: Spending) -> None:
        """Count what a run has spent before, and write down what it spends."""
        self._client.till.keep(spending)

    def stop(self, error: JudgeError) -> None:
        """Send nothing from now on; questions that merely wait raise this error."""
        self._client.stop(error)

    async def close(self) -> None:
        """Let go of connections and threads."""
        self._pictures.close()
        await self._client.close()


class ChatRoute:
    """Asks one server through Chat Completions, which is sent the whole history every time."""

    def __init__(
        self,
        address: Address,
        options: JudgeOptions,
        client: ApiClient,
        replica: Replica,
        messages: RenderedMessages,
    ) -> None:
        self._client = client
        self._replica = replica
        self._messages = messages
        self._structured = options.structured
        self._names_cache = replica.endpoint.is_openai
        self._fields = _chat_fields(replica, options)
        self._head: dict[str, Any] = {"model": address.model}
        if options.stream:
            self._head |= {"stream": True, "stream_options": {"include_usage": True}}

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer the last message."""
        body, fields = await self._request(conversation)
        question = ApiQuestion("/chat/completions", body, chat_reply, fields, parse=chat_data)
        return await self._client.ask(self._replica, conversation, question)

    async def body(self, conversation: Conversation) -> Body:
        """Return the body of a question, as it also travels in a batch."""
        body, _ = await self._request(conversation)
        return body

    async def _request(self, conversation: Conversation) -> tuple[Body, dict[str, Any]]:
        head, fields = self._head, self._fields
        if self._names_cache:
            # Sends the turns of one session to the same cache; the answers do not depend on it.
            head = {**head, "prompt_cache_key": _opening(conversation).digest[:32]}
        if self._structured and conversation.message is not None and conversation.message.schema:
            schema = json.loads(conversation.message.schema)
            held = {"name": "reply", "strict": True, "schema": schema}
            fields = {**fields, "response_format": {"type": "json_schema", "json_schema": held}}
        body = chat_body({**head, **fields}, await self._messages.elements(conversation))
        return body, fields


def parameters_of(options: JudgeOptions) -> dict[str, Any]:
    """Return what changes the answers, as it stands in every key."""
    given = {name: getattr(options, name) for name in _PARAMETERS}
    given = {name: value for name, value in given.items() if value is not None}
    if options.temperature is not None:
        # 0 and 0.0 are the same question, and must be the same key.
        given["temperature"] = float(options.temperature)
    if options.structured:
        given["structured"] = True
    if options.logprobs:
        # It changes no answer, but a reply on record without them is not what is asked for.
        given["logprobs"] = True
    if options.extra:
        given["extra"] = dict(options.extra)
    return given


def _chat_fields(replica: Replica, options: JudgeOptions) -> dict[str, Any]:
    at_openai = replica.endpoint.is_openai or replica.endpoint.is_azure
    limit = options.max_tokens_field or ("max_completion_tokens" if at_openai else "max_tokens")
    fields = {
        "temperature": options.temperature,
        "seed": options.seed,
        limit: options.max_tokens,
        "reasoning_effort": options.reasoning_effort,
    }
    given = {name: value for name, value in fields.items() if value is not None}
    if options.logprobs:
        given |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    return {**given, **options.extra}


def _opening(conversation: Conversation) -> Conversation:
    """Return the conversation up to its first picture: before it, all sessions say the same."""
    shown = [node for node, message in conversation.backwards() if message.images]
    return shown[-1] if shown else conversation.beginning


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
