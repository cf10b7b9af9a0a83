"""A response body → a Reply, with every outcome as it came."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from lmmscore.records import Reply, Usage

_THINKING = re.compile(r"\s*<think>(.*?)(?:</think>\s*|\Z)", re.DOTALL)
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
    also = {"tool_calls": message.get("tool_calls"), "choices": choices[1:], "audio": message.get("audio")}
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
    texts, refusals, thoughts, rest = [], [], [], []
    for item in filter(lambda one: isinstance(one, dict), data["output"]):
        if item.get("type") == "reasoning":
            thoughts += [
                part.get("text", "") for part in (item.get("summary") or []) + (item.get("content") or [])
            ]
        elif item.get("type") == "message":
            parts = item.get("content") or []
            texts += [part.get("text", "") for part in parts if part.get("type") == "output_text"]
            refusals += [part.get("refusal", "") for part in parts if part.get("type") == "refusal"]
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
    return Reply("", finish="content_filter", refusal=message, request_id=headers.get("x-request-id", ""))


def _finish(reason: Any, message: Mapping[str, Any]) -> str:
    if not reason:
        return "tool_calls" if message.get("tool_calls") and not message.get("content") else "stop"
    # Gemini's endpoint passes on its own words for the filter; everything reads one word.
    return "content_filter" if _FILTERS.search(str(reason)) else str(reason)


def _responses_finish(data: Mapping[str, Any], only_tools: bool) -> str:
    details = data.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if reason == "max_output_tokens":
        return "length"
    if reason:
        return "content_filter" if _FILTERS.search(str(reason)) else str(reason)
    return "tool_calls" if only_tools else "stop"


def _content(content: Any) -> tuple[str, str]:
    """Return the words and the thinking of a message's content, be it a string or a list of parts."""
    if isinstance(content, list):
        words = "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
        thinking = [
            _json_of(part["thinking"]) for part in content if isinstance(part, dict) and "thinking" in part
        ]
        return words, "\n".join(thinking)
    text = _text(content)
    # Servers without a reasoning parser leave the thinking at the head of the text.
    match = _THINKING.match(text) if text.lstrip().startswith("<think>") else None
    return (text[match.end() :], match[1].strip()) if match else (text, "")


def _count(usage: Mapping[str, Any], *path: str) -> int | None:
    value: Any = usage
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, int) and value >= 0 else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _json_of(value: Any) -> str:
    return (value if isinstance(value, str) else orjson.dumps(value).decode()) if value else ""
