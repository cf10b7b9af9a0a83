"""A response body → a Reply, with every outcome as it came."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import orjson

from lmmscore.records import Reply, Usage

_THINKING = re.compile(
    # Some templates put the opening tag into the prompt, so that a reply has the closing one only.
    r"\A(?P<begun>(?:(?![<◁]think(?:ing)?[>▷]).)*?)[<◁]/think(?:ing)?[>▷]\s*"
    r"|[<◁]think(?:ing)?[>▷](?P<inside>.*?)(?:[<◁]/think(?:ing)?[>▷]\s*|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_MOST = 2**63 - 1
"""The largest number a ledger can hold; what counts more tokens counts nothing."""
_FILTERS = re.compile(r"filter|safety|prohibited|blocklist|recitation", re.IGNORECASE)


class Malformed(ValueError):
    """A body that is not a reply."""


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
        else:
            rest.append(item)
    text, thinking = _content("".join(texts))
    return Reply(
        text=text,
        finish=_responses_finish(data, bool(rest) and not texts),
        refusal="".join(refusals),
        reasoning="\n".join(filter(None, [*thoughts, thinking])),
        model=_text(data.get("model")),
        request_id=headers.get("x-request-id") or _text(data.get("id")),
        also=_json_of({"output": rest} if rest else {}),
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


def filtered_reply(message: str, headers: Mapping[str, str]) -> Reply:
    """The content filter's refusal of the question itself: evidence like any other reply, and not asked again."""
    return Reply(
        "", finish="content_filter", refusal=message, request_id=headers.get("x-request-id", "")
    )


def _finish(reason: Any, message: Mapping[str, Any]) -> str:
    if not reason:
        # Several small servers never say why they ended; what they sent is then all there is.
        return "tool_calls" if message.get("tool_calls") and not message.get("content") else "stop"
    # Gemini's endpoint passes on its own words for the filter; everything reads one word.
    return "content_filter" if _FILTERS.search(str(reason)) else str(reason)


def _responses_finish(data: Mapping[str, Any], only_tools: bool) -> str:
    details = data.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if reason == "max_output_tokens" or (data.get("status") == "incomplete" and not reason):
        return "length"
    if reason:
        return "content_filter" if _FILTERS.search(str(reason)) else str(reason)
    return "tool_calls" if only_tools else "stop"


def _content(content: Any) -> tuple[str, str]:
    """Return the words and the thinking of a message's content, be it a string or a list of parts."""
    thoughts = []
    if isinstance(content, list):
        thoughts = [_json_of(part["thinking"]) for part in objects(content) if "thinking" in part]
        content = "".join(_text(part.get("text")) for part in objects(content))
    # Servers without a reasoning parser leave the thinking in the text, as a rule at its head.
    text = _text(content)
    if "think" in text:
        found = [match["begun"] or match["inside"] or "" for match in _THINKING.finditer(text)]
        thoughts += [thought.strip() for thought in found]
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
