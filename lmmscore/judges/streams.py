"""A streamed answer, once it is whole, as the body an unstreamed one would have had.

Streaming is for servers behind proxies that cut a connection on which nothing is heard for a minute: the words
come one by one, and a silence can be told from a long answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmmscore.judges.faults import sound, tolerant_json
from lmmscore.judges.replies import Malformed, objects

_JOINED = ("content", "refusal", "reasoning_content", "reasoning")


def assemble(content: bytes) -> dict[str, Any]:
    """Return the Chat Completions body that these server-sent events amount to, or the error they end with.

    Raises Malformed when an event cannot be read, or when the stream ended before the model did: part of an answer
    is no answer.
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
    return dict(sound(whole))


def _events(content: bytes) -> list[bytes]:
    lines = content.replace(b"\r\n", b"\n").split(b"\n")
    data = [line[5:].strip() for line in lines if line.startswith(b"data:")]
    return [event for event in data if event != b"[DONE]"]


def _chunk(data: bytes) -> dict[str, Any]:
    try:
        chunk = tolerant_json(data)
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
