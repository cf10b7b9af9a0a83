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
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from typing import Any
from weakref import WeakKeyDictionary

import orjson
import pybase64

from lmmscore.conversation import Conversation, Message
from lmmscore.errors import AddressNotFound, JudgeError, JudgeFileError, JudgeUnavailable, StateLost
from lmmscore.images import Picture
from lmmscore.judges.client import (
    ApiClient,
    ApiQuestion,
    Replica,
    ReplicaFailed,
    without_secrets,
)
from lmmscore.judges.config import Address, JudgeOptions, NamedJudge, find_judge, parse_address
from lmmscore.judges.faults import Answer, Malformed, sound_text, tolerant_json, with_texts
from lmmscore.judges.http import ApiMailbox, Body, Mailbox, coalesced
from lmmscore.judges.judge import Bench, JudgeBase, register
from lmmscore.judges.limits import Budget, Clock, Gate, Meter, Spending, cost_usd
from lmmscore.records import Reply, Usage

# --------------------------------------------------------------------------------------------------
# Conversations as the bodies of requests, the way OpenAI's APIs write them.
#
# A conversation grows at its end only, so the JSON of its messages is append-only too: each
# message is serialised once, and the large segments, the pictures in base64, are the same objects
# in every body that shows them.
# --------------------------------------------------------------------------------------------------

PREPARERS = max(1, min(8, (os.cpu_count() or 1) - 1))
"""Threads that prepare pictures.

One core is left to the sending, and threads beyond the cores get in its way.
"""
TOP_LOGPROBS = 20
"""The most that OpenAI gives for a token, and vLLM unless told otherwise."""
KEPT_BYTES = 128_000_000
"""How many bytes of encoded pictures are kept for the next session that shows them."""
_MOST = 2**63 - 1
"""The largest number a ledger can hold; what counts more tokens counts nothing."""
_FILTERS = re.compile(r"filter|safety|prohibited|blocklist|recitation", re.IGNORECASE)
_JOINED = ("content", "refusal", "reasoning_content", "reasoning")
_THINKING = re.compile(
    # Some templates put the opening tag into the prompt, so that a reply has the closing one only.
    r"\A(?P<begun>(?:(?![<◁]think(?:ing)?[>▷]).)*?)[<◁]/think(?:ing)?[>▷]\s*"
    r"|[<◁]think(?:ing)?[>▷](?P<inside>.*?)(?:[<◁]/think(?:ing)?[>▷]\s*|\Z)",
    re.DOTALL | re.IGNORECASE,
)

Render = Callable[[Message, Sequence[bytes]], list[bytes]]


class EncodedPictures:
    """Pictures in base64, each content prepared once, in a thread, and kept while there is room."""

    def __init__(self) -> None:
        self._kept_bytes = 0
        self._ready: OrderedDict[str, bytes] = OrderedDict()
        """By the picture's digest, which covers content and recipe; the least recently used first.
        """
        self._coming: dict[str, asyncio.Future[bytes]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def begin(self, picture: Picture) -> None:
        """Start preparing a picture that is not ready yet."""
        digest = picture.digest
        if digest in self._ready or digest in self._coming:
            return

        self._pool = self._pool or ThreadPoolExecutor(PREPARERS)
        coming = asyncio.get_running_loop().run_in_executor(self._pool, _base64_of, picture)
        self._coming[digest] = coming
        coming.add_done_callback(lambda done: self._settle(digest, done))

    async def get(self, picture: Picture) -> bytes:
        """Return the base64 of the encoded picture. Raises ImageProblem when it cannot be shown."""
        ready = self._ready.get(picture.digest)
        if ready is not None:
            self._ready.move_to_end(picture.digest)
            return ready

        self.begin(picture)
        # Shielded: other sessions may be waiting for the same picture when one of them is stopped.
        return await asyncio.shield(self._coming[picture.digest])

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    def _settle(self, digest: str, done: asyncio.Future[bytes]) -> None:
        del self._coming[digest]
        # No failure is kept: a picture that could not be read may be mended by the next session.
        if done.cancelled() or done.exception() is not None:
            return

        self._ready[digest] = done.result()
        self._kept_bytes += len(done.result())
        while self._kept_bytes > KEPT_BYTES and len(self._ready) > 1:
            _, dropped = self._ready.popitem(last=False)
            self._kept_bytes -= len(dropped)


class RenderedMessages:
    """The messages of conversations as JSON list elements.

    What was said before is not rendered again.
    """

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
            # All are begun before the first is waited for: they are prepared side by side.
            for picture in message.images:
                self._pictures.begin(picture)

            shown = [await self._pictures.get(picture) for picture in message.images]
            parts += [b","] if parts else []
            parts += self._render(message, shown)

        if new:
            self._rendered[conversation] = parts = coalesced(parts)

        return parts


def chat_renderer(detail: str | None) -> Render:
    """Return a function that writes a message as Chat Completions wants it."""
    close = f'","detail":{dumps(detail).decode()}}}}}'.encode() if detail else b'"}}'

    def render(message: Message, shown: Sequence[bytes]) -> list[bytes]:
        role = dumps(message.role)
        if not message.images:
            return [b'{"role":', role, b',"content":', dumps(message.text), b"}"]

        encoded = iter(shown)
        parts: list[list[bytes]] = []
        for each in message.content():
            if isinstance(each, str):
                parts.append([b'{"type":"text","text":', dumps(each), b"}"])
            else:
                opening = f'{{"type":"image_url","image_url":{{"url":"data:{each.mime};base64,'
                parts.append([opening.encode(), next(encoded), close])

        return [b'{"role":', role, b',"content":[', *separated(parts), b"]}"]

    return render


def separated(elements: Iterable[list[bytes]]) -> list[bytes]:
    """Return the segments of the elements of a JSON list, with a comma between two of them."""
    parts: list[bytes] = []
    for element in elements:
        parts += [b",", *element] if parts else element
    return parts


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
        return orjson.dumps(with_texts(value, sound_text))


def _base64_of(picture: Picture) -> bytes:
    return pybase64.b64encode(picture.data())


# --------------------------------------------------------------------------------------------------
# The bodies of responses as replies. Servers that speak "like OpenAI" leave out, rename and fill in
# at will, so whatever is not of the kind it should be is taken for missing.
# --------------------------------------------------------------------------------------------------


def chat_data(answer: Answer) -> Any:
    """Return the parsed body of a Chat Completions answer, streamed or not."""
    return assemble(answer.content) if answer.is_stream else answer.json()


def chat_reply(data: Any, headers: Mapping[str, str]) -> Reply:
    """Read a Chat Completions body. Raises Malformed when there is no reply in it."""
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Malformed("no choices in the body")

    first = choices[0]
    message = first.get("message")
    if not isinstance(message, dict):
        raise Malformed("no message in the first choice")

    content = message.get("content")
    text, thinking = _content(content)
    thought = message.get("reasoning_content") or message.get("reasoning")
    also = {
        "tool_calls": message.get("tool_calls"),
        "choices": choices[1:],
        "audio": message.get("audio"),
        "logprobs": score_logprobs(_logprobs_of(first), len(_joined_text(content)) - len(text)),
    }
    return Reply(
        text=text,
        finish=_finish(first.get("finish_reason"), message),
        refusal=_text(message.get("refusal")),
        reasoning="\n".join(filter(None, [_text(thought), thinking])),
        model=_text(data.get("model")),
        fingerprint=_text(data.get("system_fingerprint")),
        request_id=headers.get("x-request-id") or _text(data.get("id")),
        also=_json_of({name: value for name, value in also.items() if value}),
        usage=usage_of(data.get("usage"), "prompt", "completion"),
    )


def usage_of(usage: Any, sent: str, received: str) -> Usage:
    """Read the usage of a body; None for whatever it does not say.

    The tokens are `SENT_tokens` and `RECEIVED_tokens`, their details `SENT_tokens_details`, …
    """
    # DeepSeek reports cached tokens beside the others; everyone else among the details.
    cached = _count(usage, f"{sent}_tokens_details", "cached_tokens")
    return Usage(
        prompt_tokens=_count(usage, f"{sent}_tokens"),
        completion_tokens=_count(usage, f"{received}_tokens"),
        cached_tokens=cached if cached is not None else _count(usage, "prompt_cache_hit_tokens"),
        reasoning_tokens=_count(usage, f"{received}_tokens_details", "reasoning_tokens"),
    )


def responses_reply(data: Any, headers: Mapping[str, str]) -> Reply:
    """Read a Responses body. Raises Malformed when there is no reply in it."""
    if not isinstance(data, dict) or not isinstance(data.get("output"), list):
        raise Malformed("no output in the body")

    status = _text(data.get("status"))
    if status in {"failed", "cancelled", "queued", "in_progress"}:
        raise Malformed(f"the response is {status}")

    output = ResponsesOutput()
    for item in objects(data["output"]):
        output.add(item)

    said = "".join(output.texts)
    text, thinking = _content(said)
    tokens = score_logprobs(output.tokens, len(said) - len(text))
    also = {"output": output.rest, "logprobs": tokens}
    return Reply(
        text=text,
        finish=_responses_finish(data, bool(output.rest) and not output.texts),
        refusal="".join(output.refusals),
        reasoning="\n".join(filter(None, [*output.thoughts, thinking])),
        model=_text(data.get("model")),
        request_id=headers.get("x-request-id") or _text(data.get("id")),
        also=_json_of({name: value for name, value in also.items() if value}),
        usage=usage_of(data.get("usage"), "input", "output"),
    )


@dataclass(slots=True)
class ResponsesOutput:
    """What the items of a Responses body hold, kind by kind."""

    texts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    tokens: list[dict[str, Any]] = field(default_factory=list)
    """With their probabilities, where they were asked for."""
    rest: list[dict[str, Any]] = field(default_factory=list)
    """Items that are neither words nor thinking: calls of tools."""

    def add(self, item: Mapping[str, Any]) -> None:
        """Add one item."""
        parts = objects(item.get("content"))
        if item.get("type") == "reasoning":
            for part in [*objects(item.get("summary")), *parts]:
                self.thoughts.append(_text(part.get("text")))
            return

        if item.get("type") != "message":
            self.rest.append(dict(item))
            return

        for part in parts:
            self.tokens += objects(part.get("logprobs"))
            if part.get("type") == "output_text":
                self.texts.append(_text(part.get("text")))
            elif part.get("type") == "refusal":
                self.refusals.append(_text(part.get("refusal")))

        # Some servers send a plain string where OpenAI sends a list of parts.
        self.texts.append(_text(item.get("content")))


def score_logprobs(tokens: Sequence[Mapping[str, Any]], thought: int = 0) -> list[dict[str, Any]]:
    """Return the probabilities of the tokens that are numbers, with their places in the text.

    Those of a whole reply are hundreds of times as long as the reply, and a score is a number.
    `thought` characters of thinking stand before the text and are no part of it.
    """
    found = []
    at = -thought
    for token in tokens:
        text = _text(token.get("token"))
        if at >= 0 and text.strip().isdecimal():
            top = [
                [_text(other.get("token")), other.get("logprob")]
                for other in objects(token.get("top_logprobs"))
            ]
            found.append({"at": at, "token": text, "logprob": token.get("logprob"), "top": top})

        at += _length(token, text)

    return found


def _length(token: Mapping[str, Any], text: str) -> int:
    """Return how many characters a token adds: an emoji may come in several, spelt as escapes."""
    data = token.get("bytes")
    if not isinstance(data, list) or not all(isinstance(byte, int) for byte in data):
        return len(text)
    # As many as there are bytes with which a character begins.
    return sum(byte & 0xC0 != 0x80 for byte in data)


def _logprobs_of(choice: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = choice.get("logprobs")
    return objects(given.get("content")) if isinstance(given, dict) else []


def _finish(reason: Any, message: Mapping[str, Any]) -> str:
    """Return why a reply ended, in OpenAI's words."""
    if not reason:
        # Several small servers never say why they ended; what they sent is then all there is.
        return "tool_calls" if message.get("tool_calls") and not message.get("content") else "stop"
    # Gemini's endpoint passes on its own words for the filter; everything reads one word.
    return "content_filter" if _FILTERS.search(str(reason)) else str(reason)


def _responses_finish(data: Mapping[str, Any], only_tools: bool) -> str:
    """Return why a response ended, in the words of Chat Completions."""
    details = data.get("incomplete_details")
    reason = str(details.get("reason") or "") if isinstance(details, dict) else ""
    if not reason and data.get("status") == "incomplete":
        reason = "max_output_tokens"

    if reason == "max_output_tokens":
        return "length"
    if _FILTERS.search(reason):
        return "content_filter"
    if reason:
        return reason
    return "tool_calls" if only_tools else "stop"


def _content(content: Any) -> tuple[str, str]:
    """Return the words and the thinking of a message's content, string or list of parts."""
    thoughts = [_json_of(part["thinking"]) for part in objects(content) if "thinking" in part]
    text = _joined_text(content)
    if "think" in text:
        # Servers without a reasoning parser leave the thinking in the text, as a rule at its head.
        for match in _THINKING.finditer(text):
            thought = match["begun"] or match["inside"] or ""
            thoughts.append(thought.strip())

        text = _THINKING.sub("", text)

    return text, "\n".join(filter(None, thoughts))


def _joined_text(content: Any) -> str:
    """Return the words of content that is a text, or a list of parts with texts."""
    return _text(content) or "".join(_text(part.get("text")) for part in objects(content))


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of what should be a list of objects."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _count(value: Any, *path: str) -> int | None:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if type(value) is int and 0 <= value <= _MOST else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _json_of(value: Any) -> str:
    """Return a value as text: JSON, unless it is text already; empty for nothing."""
    if isinstance(value, str) or not value:
        return value or ""

    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        # Numbers beyond 64 bits, and nesting that orjson gives up on, are evidence like any other.
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def assemble(content: bytes) -> dict[str, Any]:
    """Return the Chat Completions body, or the error, that server-sent events amount to.

    Raises Malformed when an event cannot be read, or when the stream ended before the model did:
    part of an answer is no answer.
    """
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in map(_chunk, _events(content)):
        if chunk.get("error"):
            return {"error": chunk["error"]}

        whole |= {
            name: chunk[name]
            for name in ("id", "model", "system_fingerprint", "usage")
            if chunk.get(name)
        }
        for part in objects(chunk.get("choices")):
            _extend(choices, part)

    if 0 not in choices or choices[0]["finish_reason"] is None:
        raise Malformed("the stream ended before the answer did")

    whole["choices"] = [choices[index] for index in sorted(choices)]
    # Only now: an emoji may have come in two halves.
    return dict(with_texts(whole, sound_text))


def _events(content: bytes) -> list[bytes]:
    lines = content.replace(b"\r\n", b"\n").split(b"\n")
    data = [line[5:].strip() for line in lines if line.startswith(b"data:")]
    return [event for event in data if event != b"[DONE]"]


def _chunk(data: bytes) -> dict[str, Any]:
    """Return one event of a stream. Raises Malformed."""
    try:
        chunk = tolerant_json(data, sound=False)
    except ValueError:
        raise Malformed("a part of the stream is not JSON") from None

    if not isinstance(chunk, dict):
        raise Malformed("a part of the stream is no object")
    return chunk


def _extend(choices: dict[int, dict[str, Any]], part: Mapping[str, Any]) -> None:
    """Add a part of a stream to the choice it belongs to."""
    index = part.get("index")
    index = index if isinstance(index, int) else 0
    blank = {"index": index, "message": {"role": "assistant"}, "finish_reason": None}
    choice = choices.setdefault(index, blank)
    choice["finish_reason"] = part.get("finish_reason") or choice["finish_reason"]
    if part.get("error"):
        choice["error"] = part["error"]

    tokens = _logprobs_of(part)
    if tokens:
        choice["logprobs"] = {"content": [*_logprobs_of(choice), *tokens]}

    delta, message = part.get("delta"), choice["message"]
    if not isinstance(delta, dict):
        return

    for name in _JOINED:
        if name in delta:
            message[name] = message.get(name, "") + _joined_text(delta[name])

    message["tool_calls"] = [*message.get("tool_calls", ()), *objects(delta.get("tool_calls"))]


# --------------------------------------------------------------------------------------------------
# The judge behind any OpenAI-compatible API, by Chat Completions or by Responses.
# --------------------------------------------------------------------------------------------------

BATCH_PRICE = 0.5
"""What a question costs in a batch, as a part of the usual price."""
KEPT = 8192
"""How many conversations' names at a server are remembered: one for each turn under way, and more.
"""
LOSSES = 3
"""How often a server may lose one before it is not asked to keep any."""
_PARAMETERS = ("temperature", "seed", "max_tokens", "reasoning_effort", "image_detail")


def _configured(spec: str, options: Mapping[str, Any]) -> NamedJudge:
    return find_judge(spec, **options)


_TAKEN = {each.name for each in fields(JudgeOptions)} - {"judge_name"}


@register("openai", form="openai/MODEL[@URL[,URL…]]", takes=_TAKEN, configure=_configured)
def open_openai(spec: str, options: Mapping[str, Any]) -> Bench:
    """Return the judge `openai/MODEL[@URL…]`, with its options from judges.yaml."""
    named = _configured(spec, options)
    return Bench(make(named.spec, options=named.options))


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
        clock=clock or Clock(),
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
        # A batch goes to one server, and stays there.
        self._first = next(iter(self._client.replicas))
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
        """Ask one server, by Responses where that is wanted and offered. Raises ReplicaFailed."""
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
        return path if self._first.endpoint.is_azure else f"/v1{path}"

    async def batch_body(self, conversation: Conversation) -> bytes:
        """Return a question, its whole history included, as the body of a request."""
        if self._first in self._responses:
            body = await self._responses[self._first].whole_body(conversation)
        else:
            body, _ = await self._chat[self._first].request(conversation)

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
        first = self._first
        return ApiMailbox(first.endpoint, first.key, self._options, self._client.hide)

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

    def share(self, budget: Budget, gate: Gate) -> None:
        """Share a budget and a pace with other processes."""
        self._client.share(budget, gate)

    def keep(self, spending: Spending) -> None:
        """Count what a run has spent before, and write down what it spends."""
        self._client.till.keep(spending)

    def stop(self, error: JudgeError) -> None:
        """Send nothing from now on; questions still waiting raise this error."""
        self._client.stop(error)

    async def close(self) -> None:
        """Close connections and stop threads."""
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
        body, fields = await self.request(conversation)
        question = ApiQuestion("/chat/completions", body, chat_reply, fields, parse=chat_data)
        return await self._client.ask(self._replica, conversation, question)

    async def request(self, conversation: Conversation) -> tuple[Body, dict[str, Any]]:
        """Return the body of a question, and the parameters in it by the server's names."""
        head, fields = self._head, self._fields
        if self._names_cache:
            # Sends the turns of one session to the same cache; the answers do not depend on it.
            head = {**head, "prompt_cache_key": _opening(conversation).digest[:32]}

        schema = _schema_of(conversation) if self._structured else None
        if schema:
            fields = {**fields, "response_format": {"type": "json_schema", "json_schema": schema}}

        elements = await self._messages.elements(conversation)
        return body_with("messages", {**head, **fields}, elements), fields


def parameters_of(options: JudgeOptions) -> dict[str, Any]:
    """Return what changes the answers, as it stands in every key."""
    given = _given({name: getattr(options, name) for name in _PARAMETERS})
    if options.temperature is not None:
        # 0 and 0.0 are the same question, and must be the same key.
        given["temperature"] = float(options.temperature)

    # Probabilities change no answer, but a reply on record without them is not what is asked for.
    asked = {
        "structured": options.structured,
        "logprobs": options.logprobs,
        "extra": dict(options.extra),
    }
    return given | {name: value for name, value in asked.items() if value}


def _chat_fields(replica: Replica, options: JudgeOptions) -> dict[str, Any]:
    """Return the parameters by the names that this server has for them."""
    at_openai = replica.endpoint.is_openai or replica.endpoint.is_azure
    limit = options.max_tokens_field or ("max_completion_tokens" if at_openai else "max_tokens")
    fields = {
        "temperature": options.temperature,
        "seed": options.seed,
        limit: options.max_tokens,
        "reasoning_effort": options.reasoning_effort,
    }
    if options.logprobs:
        fields |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}

    return {**_given(fields), **options.extra}


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields without those that are not given."""
    return {name: value for name, value in fields.items() if value is not None}


def _schema_of(conversation: Conversation) -> dict[str, Any] | None:
    """Return the schema that the last message asks for, as both APIs name it."""
    message = conversation.message
    if message is None or not message.schema:
        return None
    return {"name": "reply", "strict": True, "schema": json.loads(message.schema)}


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
                "the server has no Responses API; questions travel by Chat Completions instead",
                "no responses",
            )
            return None
        except StateLost:
            return await self._after_loss(conversation, known)

    async def _send(
        self, conversation: Conversation, known: Conversation | None, state: str | None
    ) -> Reply:
        """Send what comes after `known`, which the server has under the name `state`.

        Raises StateLost where the answer does not show that it had.
        """
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
        """Return the parameters of a question, with its schema where it has one."""
        schema = _schema_of(conversation) if self._structured else None
        if not schema:
            return self._fields
        return {**self._fields, "text": {"format": {"type": "json_schema", **schema}}}

    async def _after_loss(self, conversation: Conversation, known: Conversation | None) -> Reply:
        """Send the whole history, and the pictures once more. Raises JudgeError."""
        self._losses += 1
        if self._losses > LOSSES:
            self._client.notice(
                "the server does not show that it keeps conversations; the whole history is sent "
                "with every question",
                "lost state",
            )
        else:
            self._client.notice(
                "the server lost a conversation it had kept; its history was sent once more",
                "lost state",
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
                "the server loses the files it is sent; pictures travel inside the questions",
                "no files",
            )
            return await self._send(conversation, None, None)

    def _nearest_state(self, conversation: Conversation) -> tuple[Conversation | None, str | None]:
        """Return the longest earlier part that the server still holds, and its name there."""
        # A server that loses what it keeps again and again is not asked to keep it.
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
        messages: list[list[bytes]] = []
        for _, message in reversed([*new]):
            shown = await asyncio.gather(*map(self._element, message.images))
            messages.append(_message(message, shown))

        return separated(messages)

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
        """Return the name of a picture at the server; empty where it takes no files."""
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
                f"the server takes no files ({answer.status}); pictures travel inside the "
                "questions",
                "no files",
            )

        return name


def _failed(task: asyncio.Task[str]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def _message(message: Message, shown: Sequence[list[bytes]]) -> list[bytes]:
    """Return a message as Responses takes it, in segments."""
    kind = b"output_text" if message.role == "assistant" else b"input_text"
    pictures = iter(shown)
    parts: list[list[bytes]] = []
    for each in message.content():
        if isinstance(each, str):
            parts.append([b'{"type":"', kind, b'","text":', dumps(each), b"}"])
        else:
            parts.append(next(pictures))

    opening = [b'{"type":"message","role":', dumps(message.role), b',"content":[']
    return [*opening, *separated(parts), b"]}"]


def _fields(address: Address, options: JudgeOptions) -> dict[str, Any]:
    """Return the parameters by their names in Responses. Raises JudgeFileError."""
    if options.seed is not None:
        raise JudgeFileError(
            f"{address.name}: the Responses API takes no seed; leave out seed, or set api: chat"
        )

    fields: dict[str, Any] = {
        "model": address.model,
        "store": True,
        "temperature": options.temperature,
        "max_output_tokens": options.max_tokens,
    }
    if options.reasoning_effort is not None:
        fields["reasoning"] = {"effort": options.reasoning_effort}
    if options.logprobs:
        fields |= {"include": ["message.output_text.logprobs"], "top_logprobs": TOP_LOGPROBS}

    return {**_given(fields), **options.extra}
