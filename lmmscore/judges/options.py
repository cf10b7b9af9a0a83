"""How a judge behind an OpenAI-compatible API is asked: who, with which parameters, how fast, at what price."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit, urlunsplit

from lmmscore.errors import JudgeFileError

Api = Literal["chat", "responses"]
OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens, as they stood on a day."""

    input: float
    output: float
    cached_input: float | None = None
    """None: the provider gives no discount for a repeated prefix, or none is known."""
    as_of: date | None = None


@dataclass(frozen=True, slots=True)
class OpenAIOptions:
    """Everything about a judge but its name. None means: not sent, the server's own default applies."""

    # These change the answers, so they are part of every key.
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    image_detail: str | None = None
    structured: bool = False
    """Hold the judge to the JSON schema of a question that has one, where the server can enforce it."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, as the server names them (`top_p`, `provider`, …)."""

    # These say how a question travels; answers do not depend on them.
    api: Api = "chat"
    concurrency: int | None = None
    """How many questions may be open at once, whatever the number of sessions; None: as many as there are."""
    rpm: float | None = None
    tpm: float | None = None
    timeout_s: float = 300.0
    stream: bool = False
    """Have the answer sent word by word: for proxies that cut a silent connection. Chat Completions only."""
    stall_s: float = 60.0
    """How long a streamed answer may fall silent."""
    attempts: int = 10
    """How often one question is sent at most, the first time included."""
    headers: Mapping[str, str] = field(default_factory=dict)
    key_env: str = ""
    """The environment variable that holds the key; empty: the usual one for the host."""
    key_header: str = ""
    """Send the key under this header instead of `Authorization: Bearer`."""
    max_tokens_field: str = ""
    """What the server calls the limit of a reply; empty: `max_completion_tokens` at OpenAI, else `max_tokens`."""

    # These say what it may cost.
    prices: Prices | None = None
    budget_usd: float | None = None
    spent_usd: float = 0.0
    """What the budget has already been charged, for something else that it is to cover as well."""
    image_tokens: str = ""
    """The image-token formula to estimate with; empty: the one known for the model, if any."""
    reply_tokens: int = 1024
    """The length of a reply to reserve money for when no `max_tokens` is set."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a judge is asked. `str()` and `name` never hold a secret."""

    model: str
    url: SplitResult = field(repr=False)

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The judge's identity: `openai/MODEL`, with the server's address unless it is OpenAI itself."""
        shown = self.masked_url
        return f"openai/{self.model}" if shown == OPENAI_URL else f"openai/{self.model}@{shown}"

    @property
    def masked_url(self) -> str:
        """The base URL without credentials, query or fragment."""
        return urlunsplit((self.url.scheme, self._netloc, self.url.path.rstrip("/"), "", ""))

    @property
    def host(self) -> str:
        """The server's host name, in lower case."""
        return self.url.hostname or ""

    @property
    def query(self) -> str:
        """The query of the base URL (`api-version=…`), sent with every request."""
        return self.url.query

    @property
    def credentials(self) -> tuple[str, str] | None:
        """User and password written into the URL, for servers behind a gate."""
        if self.url.username is None and self.url.password is None:
            return None
        return unquote(self.url.username or ""), unquote(self.url.password or "")

    @property
    def secrets(self) -> list[str]:
        """What stands in the base URL and is nobody's business: the password and the query, in every form they take."""
        found = [
            value for name, value in parse_qsl(self.query) if name not in {"api-version", "version"}
        ]
        if self.credentials is not None:
            pair = ":".join(self.credentials)
            found += [self.credentials[1], base64.b64encode(pair.encode()).decode()]
        return [*found, *(quote(secret, safe="") for secret in found)]

    @property
    def _netloc(self) -> str:
        return self.url.netloc.rpartition("@")[2]


def parse_address(spec: str, default_url: str = OPENAI_URL) -> Address:
    """Read `MODEL[@BASE_URL]`. Only `@http://` or `@https://` starts an address: a model may hold an `@` itself."""
    model, found, rest = spec.partition("@http")
    url = "http" + rest if found else default_url or OPENAI_URL
    if not model:
        raise JudgeFileError(
            f"judge openai/{mask(spec)}: no model named; write openai/MODEL[@BASE_URL]"
        )
    stray = re.search(r"@(\S*[:/]\S*)$", model)
    if stray and not found:
        raise JudgeFileError(
            f"judge openai/{mask(spec)}: the base URL must begin with http:// or https://, "
            f"as in openai/MODEL@http://127.0.0.1:8000/v1"
        )
    try:
        parts = urlsplit(url)
        port_is_number = parts.port is None or parts.port > 0
    except ValueError:
        parts, port_is_number = urlsplit(""), False
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_number:
        raise JudgeFileError(
            f"judge openai/{mask(spec)}: not a base URL; write http://HOST[:PORT]/v1"
        )
    if "@" in parts.path:
        # The password of https://user:12/3@host would become a part of the path, and be shown.
        raise JudgeFileError(
            f"judge openai/{mask(spec)}: an @ in the path; write / as %2F in a password, and @ as %40 elsewhere"
        )
    return Address(model, parts)


def mask(text: str) -> str:
    """Return the text without what may be secret in an address: user and password, and the query."""
    # It may be no valid URL, so everything up to the last @ goes, and everything behind the first question mark.
    return re.sub(r"(?<=://)\S*@", "…@", re.sub(r"(://[^\s?]*)\?\S+", r"\1?…", text))
