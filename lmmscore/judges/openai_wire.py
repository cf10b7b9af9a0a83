"""Conversations as bodies of requests, and bodies of responses as replies, the way OpenAI's APIs
write them.

A conversation grows at its end only, so the JSON of its messages is append-only too: each message
is serialised once, and the large segments, the pictures in base64, are the same objects in every
body that shows them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakKeyDictionary

import orjson
import pybase64

from lmmscore.conversation import Conversation, Message
from lmmscore.images import Picture
from lmmscore.judges.faults import Answer, Malformed, sound_text, tolerant_json, with_texts
from lmmscore.judges.http import Body, coalesced
from lmmscore.records import Reply, Usage

PREPARERS = max(1, min(8, (os.cpu_count() or 1) - 1))
"""Threads that prepare pictures.

One core is left to the sending, and threads beyond the cores get in its way.
"""
TOP_LOGPROBS = 20
"""The most that OpenAI gives for a token, and vLLM unless told otherwise."""
KEPT_BYTES = 128_000_000
"""Encoded pictures are kept up to so many bytes, for the next session that shows them."""
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

    def __init__(self, keep_bytes: int = KEPT_BYTES) -> None:
        self._keep_bytes = keep_bytes
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
        """Let go of the threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    def _settle(self, digest: str, done: asyncio.Future[bytes]) -> None:
        del self._coming[digest]
        if done.cancelled() or done.exception() is not None:
            return
        self._ready[digest] = done.result()
        self._kept_bytes += len(done.result())
        while self._kept_bytes > self._keep_bytes and len(self._ready) > 1:
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
            for picture in message.images:
                self._pictures.begin(picture)
            shown = [await self._pictures.get(picture) for picture in message.images]
            parts += [b","] if parts else []
            parts += self._render(message, shown)
        if new:
            self._rendered[conversation] = parts = coalesced(parts)
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
        return orjson.dumps(with_texts(value, sound_text))


def _base64_of(picture: Picture) -> bytes:
    return pybase64.b64encode(picture.data())


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
    text, thinking = _content(message.get("content"))
    thought = message.get("reasoning_content") or message.get("reasoning") or ""
    also = {
        "tool_calls": message.get("tool_calls"),
        "choices": choices[1:],
        "audio": message.get("audio"),
        "logprobs": score_logprobs(_logprobs_of(first)),
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
        usage=chat_usage(data.get("usage")),
    )


def chat_usage(usage: Any) -> Usage:
    """Read the usage of a Chat Completions body; None for whatever it does not say."""
    if not isinstance(usage, dict):
        return Usage()
    # DeepSeek reports cached tokens beside the others; everyone else among the details.
    cached = _count(usage, "prompt_tokens_details", "cached_tokens")
    return Usage(
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        cached_tokens=cached if cached is not None else _count(usage, "prompt_cache_hit_tokens"),
        reasoning_tokens=_count(usage, "completion_tokens_details", "reasoning_tokens"),
    )


def responses_reply(data: Any, headers: Mapping[str, str]) -> Reply:
    """Read a Responses body. Raises Malformed when there is no reply in it."""
    if not isinstance(data, dict) or not isinstance(data.get("output"), list):
        raise Malformed("no output in the body")
    status = _text(data.get("status"))
    if status in {"failed", "cancelled", "queued", "in_progress"}:
        raise Malformed(f"the response is {status}")
    texts, refusals, thoughts, rest = [], [], [], []
    tokens: list[dict[str, Any]] = []
    for item in objects(data["output"]):
        parts = objects(item.get("content"))
        if item.get("type") == "reasoning":
            thoughts += [
                _text(part.get("text")) for part in [*objects(item.get("summary")), *parts]
            ]
        elif item.get("type") == "message":
            texts += [
                _text(part.get("text")) for part in parts if part.get("type") == "output_text"
            ]
            refusals += [
                _text(part.get("refusal")) for part in parts if part.get("type") == "refusal"
            ]
            texts += [_text(item.get("content"))]
            for part in parts:
                tokens += objects(part.get("logprobs"))
        else:
            rest.append(item)
    text, thinking = _content("".join(texts))
    also = {"output": rest, "logprobs": score_logprobs(tokens)}
    return Reply(
        text=text,
        finish=_responses_finish(data, bool(rest) and not texts),
        refusal="".join(refusals),
        reasoning="\n".join(filter(None, [*thoughts, thinking])),
        model=_text(data.get("model")),
        request_id=headers.get("x-request-id") or _text(data.get("id")),
        also=_json_of({name: value for name, value in also.items() if value}),
        usage=responses_usage(data.get("usage")),
    )


def responses_usage(usage: Any) -> Usage:
    """Read the usage of a Responses body."""
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        prompt_tokens=_count(usage, "input_tokens"),
        completion_tokens=_count(usage, "output_tokens"),
        cached_tokens=_count(usage, "input_tokens_details", "cached_tokens"),
        reasoning_tokens=_count(usage, "output_tokens_details", "reasoning_tokens"),
    )


def score_logprobs(tokens: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what a server says of the tokens that hold a digit, with their places in its text.

    Those of a whole reply are hundreds of times as long as the reply, and a score is a number.
    """
    found = []
    at = 0
    for token in tokens:
        text = _text(token.get("token"))
        if any(character.isdigit() for character in text):
            top = [
                [_text(other.get("token")), other.get("logprob")]
                for other in objects(token.get("top_logprobs"))
            ]
            found.append({"at": at, "token": text, "logprob": token.get("logprob"), "top": top})
        at += len(text)
    return found


def _logprobs_of(choice: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = choice.get("logprobs")
    return objects(given.get("content")) if isinstance(given, dict) else []


def _finish(reason: Any, message: Mapping[str, Any]) -> str:
    if not reason:
        # Several small servers never say why they ended; what they sent is then all there is.
        return "tool_calls" if message.get("tool_calls") and not message.get("content") else "stop"
    # Gemini's endpoint passes on its own words for the filter; everything reads one word.
    return "content_filter" if _FILTERS.search(str(reason)) else str(reason)


def _responses_finish(data: Mapping[str, Any], only_tools: bool) -> str:
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
    thoughts: list[str] = []
    if isinstance(content, list):
        parts = objects(content)
        thoughts += [_json_of(part["thinking"]) for part in parts if "thinking" in part]
        content = "".join(_text(part.get("text")) for part in parts)

    text = _text(content)
    if "think" in text:
        # Servers without a reasoning parser leave the thinking in the text, as a rule at its head.
        for match in _THINKING.finditer(text):
            thought = match["begun"] or match["inside"] or ""
            thoughts.append(thought.strip())
        text = _THINKING.sub("", text)
    return text, "\n".join(filter(None, thoughts))


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of what should be a list of objects."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _count(usage: Mapping[str, Any], *path: str) -> int | None:
    value: Any = usage
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if type(value) is int and 0 <= value <= _MOST else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _json_of(value: Any) -> str:
    if isinstance(value, str) or not value:
        return value or ""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        # Numbers beyond 64 bits, and nesting that orjson gives up on, are evidence like any other.
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def assemble(content: bytes) -> dict[str, Any]:
    """Return the Chat Completions body that these server-sent events amount to, or the error they
    end with.

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
    try:
        chunk = tolerant_json(data, sound=False)
    except ValueError:
        raise Malformed("a part of the stream is not JSON") from None
    if not isinstance(chunk, dict):
        raise Malformed("a part of the stream is no object")
    return chunk


def _extend(choices: dict[int, dict[str, Any]], part: Mapping[str, Any]) -> None:
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
            message[name] = message.get(name, "") + _words(delta[name])
    message["tool_calls"] = [*message.get("tool_calls", ()), *objects(delta.get("tool_calls"))]


def _words(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part["text"] for part in objects(value) if isinstance(part.get("text"), str))
    return value if isinstance(value, str) else ""
