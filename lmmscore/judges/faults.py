"""What an answer without a reply means: ask again, or stop the turn, the session or the run.

Servers agree on status codes and little else, so some of this reads the words of their messages. It
is the only place that does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn
from urllib.parse import urlsplit

import orjson

from lmmscore.errors import (
    AddressNotFound,
    ImagesRefused,
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

MOST_NESTED = 100
"""JSON nested deeper than this is refused: Python's stack would not take it."""
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
RETRIED = frozenset({408, 409, 425, 429})
_LONGEST_WAIT_S = 365 * 86_400.0
"""What asks for a longer wait is no wait but a date, in seconds since 1970."""
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SHOWN_CHARACTERS = 400
"""How much of a server's message is shown."""

# The codes and words of servers, as far as they were met. A message that fits none of them is shown
# as it is.

_NO_QUOTA = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "access_terminated"}
)
_FILTERED = frozenset(
    {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
)
_TOO_LONG = frozenset({"context_length_exceeded", "string_above_max_length"})
_UNKNOWN_MODEL = frozenset(
    """
    model_not_found unknown_model invalid_model model_not_available model_decommissioned
    model_not_supported deploymentnotfound key_model_access_denied team_model_access_denied
    """.split()
)
_WRONG_KEY = frozenset({"invalid_api_key", "api_key_invalid", "invalid_authentication"})

_FLAGGED = re.compile(
    r"\b(?:input|prompt|content|images?|request|message)\b[^.]{0,80}\bflagged\b"
    r"|flagged as potentially violating|content management policy"
    r"|rejected (?:by|as a result of) (?:the|our) (?:moderation|safety) system",
    re.IGNORECASE,
)
_LOST = re.compile(
    r"previous.?response|response with id|file_not_found|no such file"
    r"|\bfile\b.*\b(?:not found|not be found|expired|does not exist|deleted)"
)
_NO_SUCH_PLACE = re.compile(
    r"unexpected endpoint|unknown (?:endpoint|url|route|path)"
    r"|(?:route|endpoint|method) not (?:found|implemented)",
    re.IGNORECASE,
)
_NO_SUCH_MODEL = re.compile(
    # Not "invalid model output", which is about a reply.
    r"\b(?:invalid|unknown|no such) model\b(?! (?:output|response|state|parameter|setting))"
    r"|not a (?:valid|supported) model|could not find (?:a |real )?model"
    r"|\bmodels?\b.{0,160}\b(?:not found|not exist|not available|decommissioned)"
    r"|\bmodels?\b.{0,160}\bnot supported by any provider"
    r"|\bno models? (?:is |are )?loaded|unexpected model name|unable to access model"
    r"|not (?:allowed|permitted|authorized) to (?:access|call|use) (?:this |the )?model"
    # LiteLLM; Azure, of a deployment that cannot chat.
    r"|llm provider not provided|operation does not work with the specified model",
    re.IGNORECASE,
)
_ONE_PICTURE = "(?:format|type|detail|size)"
_NO_IMAGES = re.compile(
    r"(?<!multiple )(?<!animated )\bimages?(?:[ _](?:inputs?|content|url|parts?|modality))*"
    r" (?:is |are )?not (?:supported|enabled)"
    r"|image_url is only supported by|unknown variant `image_url`"
    r"|no endpoints found that support image"  # OpenRouter
    rf"|(?:not|n't) support (?:images?|vision|multi-?modal)(?![\w/ -]*{_ONE_PICTURE})"
    # vLLM: "is not a multimodal model", "at most 0 image(s) may be provided".
    r"|is not a (?:multi-?modal|vision)|\bat most 0 image|only supports? text|supports? only text"
    # llama.cpp; LM Studio.
    r"|\bmmproj\b|vision add-?on is not loaded|missing data required for image"
    r"|\bcontent\b.{0,40}(?:expected|must be|should be) a (?:valid )?string",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(
    r"\bapi.?key\b.{0,24}\b(?:not valid|invalid|expired|not found|missing|incorrect)"
    r"|\b(?:invalid|incorrect|missing|no|expired) api.?key\b",
    re.IGNORECASE,
)
_FEWER_IMAGES = re.compile(r"\bat most [1-9]\d* image|too many images", re.IGNORECASE)
_UNWANTED = re.compile(
    r"unsupported|not supported|unrecogni[sz]ed|unknown|not permitted|not allowed|extra inputs"
    r"|unexpected|invalid"
)


class NoAnswer(Exception):
    """Nothing came back: the server was not reached, or the answer was lost or late."""

    def __init__(self, what: str, *, reached: bool, unsafe: bool = False) -> None:
        super().__init__(what)
        self.reached = reached
        self.unsafe = unsafe
        """No safe connection can be made: asking again would not help."""


class Malformed(ValueError):
    """A body that is not a reply."""


class Trouble(Exception):
    """An attempt that failed in a way that may pass: asking again can help."""

    def __init__(
        self,
        what: str,
        error: JudgeError,
        *,
        wait_s: float | None = None,
        crowded: bool = False,
        paid: bool = False,
        reached: bool = True,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.error = error
        """What to raise when no attempt is left."""
        self.wait_s = wait_s
        """How long the server asks to wait, if it says."""
        self.crowded = crowded
        """The server is congested: all sessions should slow down."""
        self.paid = paid
        """The server may have answered, and charged, and the answer was lost on the way."""
        self.reached = reached
        """Whether there was a server at all."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response as it came."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    content: bytes

    @property
    def is_stream(self) -> bool:
        """Whether it came as server-sent events."""
        return self.headers.get("content-type", "").startswith("text/event-stream")

    def json(self) -> Any:
        """Return the parsed body. Raises ValueError when it is not JSON."""
        return tolerant_json(self.content)


def tolerant_json(content: bytes, *, sound: bool = True) -> Any:
    """Return what JSON text says, as texts that can be written down unless `sound` is False.

    Raises ValueError when it is not JSON.
    """
    # Code that walks the data, or writes it down again, would run out of stack.
    if content.count(b"[") + content.count(b"{") > MOST_NESTED and _depth(content) > MOST_NESTED:
        raise ValueError("nested too deeply")

    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        # Half a surrogate pair is valid JSON to Python and to several servers, though not to
        # orjson.
        data = json.loads(content.decode("utf-8", "replace"))

    return with_texts(data, sound_text) if sound else data


def _depth(content: bytes) -> int:
    """Return how deeply JSON text is nested; brackets within its texts do not count."""
    depth = deepest = 0
    for bracket in re.findall(rb"[\[\]{}]", _QUOTED.sub(b"", content)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def sound_text(text: str) -> str:
    """Return a text that can be written down: half a surrogate pair becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return parsed JSON with every text in it changed, keys included."""
    if isinstance(value, str):
        return change(value)

    if isinstance(value, list):
        return [with_texts(each, change) for each in value]

    if isinstance(value, dict):
        return {change(key): with_texts(each, change) for key, each in value.items()}

    return value


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a message about a failure may need to name."""

    judge: str
    model: str
    url: str
    key_source: str
    fields: Mapping[str, Any]
    """The parameters sent."""
    size: int
    relies: bool
    """Whether it relies on something the server keeps: an earlier response, or files."""


@dataclass(frozen=True, slots=True)
class ServerComplaint:
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


def complaint_in(answer: Answer, hide: Callable[[str], str]) -> ServerComplaint:
    """Read an error body in any of the shapes servers use; an unreadable one is its own message.

    `hide` takes secrets out of what the server says, before it is cut to a length that can be
    shown.
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
    is_page = text.startswith("<")
    return ServerComplaint("" if is_page else text[:300], frozenset(), "")


def complaint_of(data: Mapping[str, Any], hide: Callable[[str], str]) -> ServerComplaint:
    """Read an error body that is a JSON object."""
    error = data.get("error") or data
    if not isinstance(error, dict):
        error = {"message": str(error)}

    message = error.get("message") or error.get("detail") or data.get("detail") or ""
    if not isinstance(message, str):
        message = json.dumps(message)

    shown = " ".join(hide(message).split())

    code = error.get("code")
    return ServerComplaint(
        message=shown[:_SHOWN_CHARACTERS],
        codes=_codes(error),
        param=str(error.get("param") or ""),
        status=code if isinstance(code, int) else None,
    )


def _codes(error: Mapping[str, Any]) -> frozenset[str]:
    """Return every code in an error, in lower case."""
    inner = error.get("innererror")
    inner_code = inner.get("code") if isinstance(inner, dict) else None
    codes = {
        str(code).lower() for code in (error.get("code"), error.get("type"), inner_code) if code
    }
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and metadata.get("reasons"):
        codes.add("content_filter")  # OpenRouter's moderation

    return frozenset(codes)


def error_in(data: Any) -> Mapping[str, Any] | None:
    """Return the error that a body with status 200 holds instead of an answer, if it does."""
    if not isinstance(data, dict):
        return None

    choices = data.get("choices")
    if not choices:
        return data if data.get("error") else None

    return _broken_off(choices[0]) if isinstance(choices, list) else None


def _broken_off(choice: Any) -> Mapping[str, Any] | None:
    """Return the error in a choice: OpenRouter puts it there when a provider broke off."""
    if not isinstance(choice, dict):
        return None

    error = choice.get("error")
    if not error and choice.get("finish_reason") == "error":
        error = {"message": "the provider broke off"}

    return {"error": error} if error else None


def refuse(answer: Answer, complaint: ServerComplaint, attempt: Attempt, wall_s: float) -> NoReturn:
    """Raise what this answer means: Trouble when asking again may help, else a JudgeError."""
    status = answer.status
    if status < 300 and complaint.status:
        status = complaint.status

    said = f"{status}: {complaint.message}" if complaint.message else f"{status}"
    if complaint.codes & _NO_QUOTA or status == 402:
        raise QuotaExhausted(
            f"{attempt.judge}: no quota or money left ({said}); top up the account, then resume"
        )
    if status == 501 or (status < 300 and _NO_SUCH_PLACE.search(complaint.message)):
        raise _nothing_there(said, attempt)
    if _NO_IMAGES.search(complaint.message):
        # llama.cpp says so with a 500, which asking again would not change.
        raise ImagesRefused(
            f"{attempt.judge}: the model at {attempt.url} takes no images ({said}); name a model "
            "that does, or serve this one with its vision part (llama.cpp: --mmproj)"
        )

    # Below 300: an error in a body that came with a 200 says nothing of how long it will last.
    if status in RETRIED or status >= 500 or status < 300:
        _trouble(status, said, answer, attempt, wall_s)

    raise _final(status, said, complaint, answer, attempt)


def _nothing_there(said: str, attempt: Attempt) -> AddressNotFound:
    return AddressNotFound(
        f"{attempt.judge}: nothing to ask at {attempt.url} ({said}); "
        "check the base URL: most end in /v1"
    )


def _trouble(status: int, said: str, answer: Answer, attempt: Attempt, wall_s: float) -> NoReturn:
    """Raise Trouble for an answer that may be another one later."""
    wait_s = asked_wait_s(answer.headers, wall_s)
    crowded = status == 429 or (status in {503, 529} and wait_s is not None)
    hint = "try again later; everything paid for is saved"
    if crowded:
        hint = "lower --concurrency or set --rpm"

    error = JudgeUnavailable(
        f"{attempt.judge}: no answer from {attempt.url}, however often it was asked ({said}); "
        f"{hint}"
    )
    raise Trouble(f"HTTP {said}", error, wait_s=wait_s, crowded=crowded)


def _final(
    status: int, said: str, complaint: ServerComplaint, answer: Answer, attempt: Attempt
) -> JudgeError:
    """Return the error for an answer that would be the same if asked again."""
    judge = attempt.judge
    if attempt.relies and status in {400, 404, 410} and _says_lost(complaint):
        return StateLost(f"{judge}: the server no longer has what it kept ({said})")
    if _says_no_model(status, complaint):
        return ModelNotFound(
            f"{judge}: no model {attempt.model} at {attempt.url} ({said}); check its name: "
            f"{attempt.url}/models lists those it has"
        )

    # Gemini says it with a 400.
    is_key = complaint.codes & _WRONG_KEY or _BAD_KEY.search(complaint.message)
    if status in {401, 403} or (status == 400 and is_key):
        return NotAuthorised(
            f"{judge}: {attempt.url} refuses the key from {attempt.key_source} ({said})"
        )
    if status in {404, 405}:
        return _nothing_there(said, attempt)
    if 300 <= status < 400:
        return AddressNotFound(
            f"{judge}: the server redirects to {_place_in(answer)} ({status}), where the key is "
            "not sent; if you trust that address, name it as the base URL"
        )
    if status == 413:
        return PayloadTooLarge(
            f"{judge}: the question is {attempt.size / 1e6:.1f} MB, more than the server takes "
            f"({said}); show smaller pictures (--max-side 768, --image-format jpeg), or set "
            "api: responses in judges.yaml"
        )
    return _refused_question(said, complaint, attempt)


def _refused_question(said: str, complaint: ServerComplaint, attempt: Attempt) -> JudgeError:
    """Return the error for a question that the server will not take as it is."""
    judge = attempt.judge
    parameter = _refused_parameter(complaint, attempt)
    if parameter:
        otherwise = f"leave out {parameter}, or give it a value the model takes"
        remedy = _REMEDIES.get(parameter, otherwise)
        return ParameterRefused(
            f"{judge}: the server refuses the parameter {parameter} ({said}); "
            f"{remedy} (in judges.yaml or on the command line)"
        )
    if _FEWER_IMAGES.search(complaint.message):
        return RequestRefused(
            f"{judge}: more images in one conversation than the server takes ({said}); let it take "
            "more (vLLM: --limit-mm-per-prompt), or judge fewer methods at once"
        )
    if complaint.codes & _TOO_LONG or "context length" in complaint.message.lower():
        return RequestRefused(
            f"{judge}: the conversation is too long for the model ({said}); show smaller pictures "
            "(--max-side, image_detail: low), or judge fewer methods at once"
        )
    return RequestRefused(f"{judge}: the server refuses the question ({said})")


def _says_lost(complaint: ServerComplaint) -> bool:
    about = f"{complaint.param} {' '.join(complaint.codes)} {complaint.message}".lower()
    named = complaint.param.endswith(("file_id", "previous_response_id"))
    return named or bool(_LOST.search(about))


def _says_no_model(status: int, complaint: ServerComplaint) -> bool:
    """Whether it is the model that the server does not have."""
    if complaint.param == "model":
        return True
    if complaint.codes & _UNKNOWN_MODEL:
        return True
    if status not in {404, 405}:
        return bool(_NO_SUCH_MODEL.search(complaint.message))

    about = f"{' '.join(complaint.codes)} {complaint.message}"
    return bool(re.search("model|deployment", about, re.IGNORECASE))


def _place_in(answer: Answer) -> str:
    """Return where a redirect leads, without its path: that may hold a secret."""
    try:
        place = urlsplit(answer.headers.get("location", ""))
    except ValueError:
        return "elsewhere"
    return f"{place.scheme}://{place.hostname}" if place.hostname else "elsewhere"


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
"""Fields of a request that cannot be left out."""
_ORDINARY_WORDS = frozenset({"text", "store", "reasoning"})
"""Parameters whose names are also words of a sentence: they count only in quotation marks."""


def _refused_parameter(complaint: ServerComplaint, attempt: Attempt) -> str:
    """Return the parameter that the server refuses, by our name for it; empty when none."""
    sent = {*attempt.fields} - _NOT_PARAMETERS
    path = complaint.param.replace("[", ".").split(".")
    if path[0] in sent or path[0] in {"stream", "stream_options"}:
        return _OURS.get(path[0], path[0])
    if path[-1] == "detail":
        return "image_detail"

    text = complaint.message.lower()
    if not _UNWANTED.search(text):
        return ""

    for name in (*sorted(sent, key=len, reverse=True), "stream_options"):
        if _names(text, name):
            return _OURS.get(name, name)

    return ""


def _names(text: str, name: str) -> bool:
    # Servers quote the name, or write it with its underscore: "text" alone is an ordinary word.
    opening = "[\"'`“‘]" if name in _ORDINARY_WORDS else r"\b"
    return bool(re.search(rf"{opening}{re.escape(name)}\b", text))


def asked_wait_s(headers: Mapping[str, str], wall_s: float) -> float | None:
    """Return the wait a response asks for; None where it asks for none, or not readably.

    `retry-after-ms`, or `retry-after` in seconds or as a date; one in the past means now. Header
    names are in lower case.
    """
    for text in (headers.get("retry-after-ms", "") + "ms", headers.get("retry-after", "")):
        wait_s = span_s(text, wall_s)
        # `inf`, `nan` and the number of seconds since 1970 are no waits.
        if wait_s is not None and wait_s < _LONGEST_WAIT_S:
            return max(0.0, wait_s)

    return None


def span_s(text: str, wall_s: float) -> float | None:
    """Read `20ms`, `6m0s`, `1.5`, or a date as seconds from now; None when it says nothing."""
    text = text.strip()
    parts = _SPAN.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)

    try:
        return float(text)
    except ValueError:
        pass

    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return max(0.0, read(text).timestamp() - wall_s)
        except (ValueError, TypeError, IndexError):
            continue

    return None
