"""What an answer other than a reply means: ask again, or stop the turn, the session or the run, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urlsplit

import orjson

from lmmscore.errors import (
    AddressNotFound,
    JudgeError,
    JudgeUnavailable,
    ModelNotFound,
    NotAuthorised,
    ParameterRefused,
    PayloadTooLarge,
    QuotaExhausted,
    RequestRefused,
    StateLost,
)
from lmmscore.judges.retry import Trouble, asked_wait_s

RETRIED = frozenset({408, 409, 425, 429})
_NO_QUOTA = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "access_terminated"}
)
_FILTERED = frozenset(
    {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
)
_FLAGGED = re.compile(
    r"\b(?:input|prompt|content|images?|request|message)\b[^.]{0,80}\bflagged\b|flagged as potentially violating"
    r"|content management policy|rejected (?:by|as a result of) (?:the|our) (?:moderation|safety) system",
    re.IGNORECASE,
)
_TOO_LONG = frozenset({"context_length_exceeded", "string_above_max_length"})
_LOST = re.compile(
    r"previous.?response|response with id|file_not_found|no such file"
    r"|\bfile\b.*\b(?:not found|not be found|expired|does not exist|deleted)"
)
_NO_SUCH_PLACE = re.compile(
    r"unexpected endpoint|unknown (?:endpoint|url|route|path)|(?:route|endpoint|method) not (?:found|implemented)",
    re.IGNORECASE,
)
_UNWANTED = re.compile(
    r"unsupported|not supported|unrecogni[sz]ed|unknown|not permitted|not allowed|extra inputs|unexpected|invalid"
)
_SHOWN_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Answer:
    """A response as it came."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    content: bytes

    def json(self) -> Any:
        """Return the parsed body. Raises ValueError when it is not JSON."""
        return sound(tolerant_json(self.content))


def tolerant_json(content: bytes) -> Any:
    """Return what JSON text says; half a surrogate pair stays one. Raises ValueError when it is not JSON."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        # Half a surrogate pair is valid JSON to Python and to several servers, though not to orjson.
        try:
            return json.loads(content.decode("utf-8", "replace"))
        except RecursionError:
            raise ValueError("nested too deeply") from None


def sound(value: Any) -> Any:
    """Return parsed JSON whose text can be written down: half a surrogate pair becomes U+FFFD.

    Raises ValueError when it is nested too deeply.
    """
    try:
        return _sound(value)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return (
            value
            if value.isascii()
            else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if isinstance(value, list):
        return [_sound(each) for each in value]
    if isinstance(value, dict):
        return {_sound(key): _sound(each) for key, each in value.items()}
    return value


@dataclass(frozen=True, slots=True)
class Asked:
    """What a message about a failure may need to name."""

    judge: str
    model: str
    url: str
    key_source: str
    fields: Mapping[str, Any]
    """The parameters sent."""
    size: int
    keeps: bool = False
    """Whether it relies on something the server keeps: an earlier response, or files."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error body, whatever its shape."""

    message: str
    codes: frozenset[str]
    """Its code, type and inner code, in lower case."""
    param: str
    status: int | None = None

    @property
    def filtered(self) -> bool:
        """Whether this is the provider's content filter speaking."""
        return bool(self.codes & _FILTERED) or bool(_FLAGGED.search(self.message))


def complaint_in(answer: Answer, hide: Callable[[str], str] = str) -> Complaint:
    """Read an error body in any of the shapes servers use; an unreadable one becomes its own message.

    `hide` takes secrets out of what the server says, before it is cut to a length that can be shown.
    """
    try:
        data = answer.json()
    except ValueError:
        data = None
    if isinstance(data, list) and data:
        data = data[0]
    if isinstance(data, dict):
        return complaint_of(data, hide)
    text = " ".join(hide(answer.content[:100_000].decode("utf-8", "replace")).split())
    return Complaint(text[:300] if not text.startswith("<") else "", frozenset(), "")


def complaint_of(data: Mapping[str, Any], hide: Callable[[str], str] = str) -> Complaint:
    """Read an error body that is a JSON object."""
    error = data.get("error") or data
    if not isinstance(error, dict):
        error = {"message": str(error)}
    inner = error.get("innererror")
    inner = inner if isinstance(inner, dict) else {}
    codes = {
        str(value).lower()
        for value in (error.get("code"), error.get("type"), inner.get("code"))
        if value
    }
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and metadata.get("reasons"):
        codes.add("content_filter")  # OpenRouter's moderation
    message = error.get("message") or error.get("detail") or data.get("detail") or ""
    status = error.get("code") if isinstance(error.get("code"), int) else None
    text = message if isinstance(message, str) else json.dumps(message)
    shown = " ".join(hide(text).split())[:_SHOWN_CHARACTERS]
    return Complaint(shown, frozenset(codes), str(error.get("param") or ""), status)


def error_in(data: Any) -> Mapping[str, Any] | None:
    """Return the error that a body with status 200 holds instead of an answer, if it does."""
    if not isinstance(data, dict):
        return None
    if data.get("error") and not data.get("choices"):
        return data
    choices = data.get("choices")
    first = (
        choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    )
    if first.get("error") or first.get("finish_reason") == "error":
        # OpenRouter reports a provider that broke off this way.
        return {"error": first.get("error") or {"message": "the provider broke off"}}
    return None


def refuse(answer: Answer, complaint: Complaint, asked: Asked, wall_s: float) -> NoReturn:
    """Raise what this answer means: Trouble when asking again may help, else the error that stops the right thing."""
    status = complaint.status if answer.status < 300 and complaint.status else answer.status
    said = f"{status}: {complaint.message}" if complaint.message else f"{status}"
    if complaint.codes & _NO_QUOTA or status == 402:
        raise QuotaExhausted(
            f"{asked.judge}: no quota or money left ({said}); top up the account, then go on"
        )
    if status == 501 or (status < 300 and _NO_SUCH_PLACE.search(complaint.message)):
        raise _nothing_there(said, asked)
    if status in RETRIED or status >= 500 or status < 300:
        _trouble(status, said, answer, asked, wall_s)
    raise _final(status, said, complaint, answer, asked)


def _nothing_there(said: str, asked: Asked) -> AddressNotFound:
    return AddressNotFound(
        f"{asked.judge}: nothing to ask at {asked.url} ({said}); check the base URL: most end in /v1"
    )


def _trouble(status: int, said: str, answer: Answer, asked: Asked, wall_s: float) -> NoReturn:
    wait_s = asked_wait_s(dict(answer.headers), wall_s)
    crowded = status == 429 or (status in {503, 529} and wait_s is not None)
    hint = (
        "lower --concurrency or set --rpm"
        if crowded
        else "try again later; everything paid for is saved"
    )
    error = JudgeUnavailable(
        f"{asked.judge}: no answer, however often it was asked ({said}); {hint}"
    )
    raise Trouble(f"HTTP {said}", error, wait_s=wait_s, crowded=crowded)


def _final(
    status: int, said: str, complaint: Complaint, answer: Answer, asked: Asked
) -> JudgeError:
    if status in {401, 403}:
        return NotAuthorised(
            f"{asked.judge}: the server refuses the key from {asked.key_source} ({said})"
        )
    if asked.keeps and status in {400, 404, 410} and _says_lost(complaint):
        return StateLost(f"{asked.judge}: the server no longer has what it kept ({said})")
    about = f"{complaint.codes} {complaint.message}".lower()
    if (
        status in {404, 405} and ("model" in about or "deployment" in about)
    ) or complaint.param == "model":
        return ModelNotFound(
            f"{asked.judge}: no model {asked.model} at {asked.url} ({said}); check its name"
        )
    if status in {404, 405}:
        return _nothing_there(said, asked)
    if 300 <= status < 400:
        return AddressNotFound(
            f"{asked.judge}: the server redirects to {_place_in(answer)} ({status}), where the key is not sent; "
            f"if you trust that address, name it as the base URL"
        )
    if status == 413:
        return PayloadTooLarge(
            f"{asked.judge}: the question is {asked.size / 1e6:.1f} MB, more than the server takes ({said}); "
            f"show smaller pictures (--max-side 768, --image-format jpeg), or set api: responses in judges.yaml"
        )
    parameter = _refused_parameter(complaint, asked)
    if parameter:
        return ParameterRefused(
            f"{asked.judge}: the server refuses the parameter {parameter} ({said}); "
            f"{_remedy(parameter)} (in judges.yaml or on the command line)"
        )
    if complaint.codes & _TOO_LONG or "context length" in complaint.message.lower():
        return RequestRefused(
            f"{asked.judge}: the conversation is too long for the model ({said}); show smaller pictures "
            f"(--max-side, image_detail: low), or judge fewer methods at once"
        )
    return RequestRefused(f"{asked.judge}: the server refuses the question ({said})")


def _says_lost(complaint: Complaint) -> bool:
    about = f"{complaint.param} {' '.join(complaint.codes)} {complaint.message}".lower()
    return bool(_LOST.search(about)) or complaint.param.endswith(
        ("file_id", "previous_response_id")
    )


def _place_in(answer: Answer) -> str:
    try:
        place = urlsplit(answer.headers.get("location", ""))
        return f"{place.scheme}://{place.hostname}" if place.hostname else "elsewhere"
    except ValueError:
        return "elsewhere"


_REMEDIES = {
    "max_tokens": "set max_tokens_field: max_completion_tokens, or leave out max_tokens",
    "max_completion_tokens": "set max_tokens_field: max_tokens, or leave out max_tokens",
    "stream": "set stream: false",
    "store": "set api: chat",
    "structured": "leave out --structured",
}
_OURS = {
    "reasoning": "reasoning_effort",
    "response_format": "structured",
    "text": "structured",
    "detail": "image_detail",
    "stream_options": "stream",
}
"""What the server calls a parameter, where we call it otherwise."""
_NOT_PARAMETERS = frozenset({"model", "messages", "input"})


def _refused_parameter(complaint: Complaint, asked: Asked) -> str:
    """Return the parameter that the server will not take, by the name we give it; empty when it is none of them."""
    sent = {*asked.fields} - _NOT_PARAMETERS
    path = complaint.param.replace("[", ".").split(".")
    if path[0] in sent or path[0] in {"stream", "stream_options"}:
        return _OURS.get(path[0], path[0])
    if path[-1] == "detail":
        return "image_detail"
    text = complaint.message.lower()
    if not _UNWANTED.search(text):
        return ""
    # Servers quote the name, or write it with its underscore: "text" alone is an ordinary word.
    found = [
        name
        for name in (*sorted(sent, key=len, reverse=True), "stream_options")
        if _names(text, name)
    ]
    return _OURS.get(found[0], found[0]) if found else ""


def _names(text: str, name: str) -> bool:
    common = name in {"text", "store", "reasoning"}
    quoted = rf"[\"'`“‘]{re.escape(name)}\b" if common else rf"\b{re.escape(name)}\b"
    return bool(re.search(quoted, text))


def _remedy(parameter: str) -> str:
    return _REMEDIES.get(parameter, f"leave out {parameter}, or give it a value the model takes")
