"""What an answer other than a reply means: ask again, or stop the turn, the session or the run, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
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
_FILTERED = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
_TOO_LONG = frozenset({"context_length_exceeded", "string_above_max_length"})
_LOST = re.compile(
    r"previous.?response|response with id|\bfile\b.*(not found|expired|does not exist|no such)"
)
_UNWANTED = re.compile(
    r"unsupported|not supported|unrecogni[sz]ed|unknown|not permitted|not allowed|extra inputs|unexpected|invalid"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response as it came."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    content: bytes

    def json(self) -> Any:
        """Return the parsed body. Raises ValueError when it is not JSON."""
        try:
            return orjson.loads(self.content)
        except orjson.JSONDecodeError:
            # Half a surrogate pair is valid JSON to Python and to several servers, though not to orjson.
            return json.loads(self.content.decode("utf-8", "replace"))


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
        return bool(self.codes & _FILTERED)


def complaint_in(answer: Answer) -> Complaint:
    """Read an error body in any of the shapes servers use; an unreadable one becomes its own message."""
    try:
        data = answer.json()
    except ValueError:
        data = None
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        text = " ".join(answer.content[:300].decode("utf-8", "replace").split())
        return Complaint(text if not text.startswith("<") else "", frozenset(), "")
    error = data.get("error", data)
    if not isinstance(error, dict):
        error = {"message": str(error)}
    inner = error.get("innererror")
    inner = inner if isinstance(inner, dict) else {}
    codes = {
        str(value).lower() for value in (error.get("code"), error.get("type"), inner.get("code")) if value
    }
    message = error.get("message") or error.get("detail") or data.get("detail") or ""
    status = error.get("code") if isinstance(error.get("code"), int) else None
    text = message if isinstance(message, str) else json.dumps(message)
    return Complaint(" ".join(text.split())[:400], frozenset(codes), str(error.get("param") or ""), status)


def refuse(answer: Answer, complaint: Complaint, asked: Asked, wall_s: float) -> NoReturn:
    """Raise what this answer means: Trouble when asking again may help, else the error that stops the right thing."""
    status = complaint.status if answer.status < 300 and complaint.status else answer.status
    said = f"{status}: {complaint.message}" if complaint.message else f"{status}"
    if complaint.codes & _NO_QUOTA or status == 402:
        raise QuotaExhausted(
            f"{asked.judge}: no quota or money left ({said}); top up the account, then go on"
        )
    if status in RETRIED or status >= 500 or status < 300:
        _trouble(status, said, answer, asked, wall_s)
    raise _final(status, said, complaint, answer, asked)


def _trouble(status: int, said: str, answer: Answer, asked: Asked, wall_s: float) -> NoReturn:
    wait_s = asked_wait_s(dict(answer.headers), wall_s)
    crowded = status == 429 or (status in {503, 529} and wait_s is not None)
    hint = "lower --concurrency or set --rpm" if crowded else "try again later; everything paid for is saved"
    error = JudgeUnavailable(f"{asked.judge}: no answer, however often it was asked ({said}); {hint}")
    raise Trouble(f"HTTP {said}", error, wait_s=wait_s, crowded=crowded)


def _final(status: int, said: str, complaint: Complaint, answer: Answer, asked: Asked) -> JudgeError:
    if status in {401, 403}:
        return NotAuthorised(f"{asked.judge}: the server refuses the key from {asked.key_source} ({said})")
    if status in {400, 404, 410} and _LOST.search(f"{complaint.param} {complaint.message}".lower()):
        return StateLost(f"{asked.judge}: the server no longer has what it kept ({said})")
    if status in {404, 405} and "model" in f"{complaint.codes} {complaint.message}".lower():
        return ModelNotFound(f"{asked.judge}: no model {asked.model} at {asked.url} ({said}); check its name")
    if status in {404, 405}:
        return AddressNotFound(
            f"{asked.judge}: nothing to ask at {asked.url} ({said}); check the base URL: most end in /v1"
        )
    if 300 <= status < 400:
        place = urlsplit(answer.headers.get("location", ""))
        where = f"{place.scheme}://{place.hostname}" if place.hostname else "elsewhere"
        return AddressNotFound(
            f"{asked.judge}: the server redirects to {where} ({status}), where the key is not sent; "
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


def _refused_parameter(complaint: Complaint, asked: Asked) -> str:
    if complaint.param.split(".")[0] in asked.fields:
        return complaint.param.split(".")[0]
    text = complaint.message.lower()
    if not _UNWANTED.search(text):
        return ""
    return next((name for name in asked.fields if re.search(rf"\b{re.escape(name)}\b", text)), "")


def _remedy(parameter: str) -> str:
    other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}.get(parameter)
    if other:
        return f"set max_tokens_field: {other}, or leave out max_tokens"
    return f"leave out {parameter}, or give it a value the model takes"
