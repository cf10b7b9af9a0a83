"""A streamed answer, once it is whole, as the body an unstreamed one would have had.

Streaming is for servers behind proxies that cut a connection on which nothing is heard for a minute: the words
come one by one, and a silence can be told from a long answer.
"""

from __future__ import annotations

from typing import Any

import orjson

from lmmscore.judges.replies import Malformed

_JOINED = ("content", "refusal", "reasoning_content", "reasoning")


def assemble(content: bytes) -> dict[str, Any]:
    """Return the Chat Completions body that these server-sent events amount to.

    Raises Malformed when an event cannot be read, or when the stream ended before the model did: part of an answer
    is no answer.
    """
    chunks = [_chunk(data) for data in _events(content)]
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant"}
    finish = None
    for chunk in chunks:
        whole |= {
            name: chunk[name] for name in ("id", "model", "system_fingerprint", "usage") if chunk.get(name)
        }
        for choice in chunk.get("choices") or []:
            if choice.get("index", 0) == 0:
                _add(message, choice.get("delta") or {})
                finish = choice.get("finish_reason") or finish
    if finish is None:
        raise Malformed("the stream ended before the answer did")
    return {**whole, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def _events(content: bytes) -> list[bytes]:
    lines = content.replace(b"\r\n", b"\n").split(b"\n")
    data = [line[5:].strip() for line in lines if line.startswith(b"data:")]
    return [event for event in data if event != b"[DONE]"]


def _chunk(data: bytes) -> dict[str, Any]:
    try:
        chunk = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise Malformed("a part of the stream is not JSON") from None
    if not isinstance(chunk, dict) or chunk.get("error"):
        raise Malformed("the stream broke off with an error")
    return chunk


def _add(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for name in _JOINED:
        if isinstance(delta.get(name), str):
            message[name] = message.get(name, "") + delta[name]
    for call in delta.get("tool_calls") or []:
        message.setdefault("tool_calls", []).append(call)
