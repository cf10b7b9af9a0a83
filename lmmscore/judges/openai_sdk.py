"""One server through the openai package: its client, with our transport beneath it.

Its own retries are off. Its errors become answers or `NoAnswer` here, and only here.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Awaitable
from typing import Any
from urllib.parse import parse_qsl

import httpx2
import openai
from openai._models import FinalRequestOptions

from lmmscore.judges.config import Endpoint, JudgeOptions
from lmmscore.judges.faults import Answer, NoAnswer
from lmmscore.judges.http import ANSWER, Body, Key, RequestForm, SegmentClient
from lmmscore.resources import __version__

_FILE_KEPT_S = 7 * 24 * 3600
_UNSAID = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
"""What the package tells servers about this machine is nobody's business here, and costs time."""


class _Client(openai.AsyncOpenAI):
    """Builds one request per address: building costs more than sending."""

    def __init__(self, session_header: str, **options: Any) -> None:
        super().__init__(**options)
        self._session_header = session_header
        self._forms: dict[str, RequestForm] = {}

    def _build_request(
        self, options: FinalRequestOptions, *, retries_taken: int = 0
    ) -> httpx2.Request:
        body = options.content
        if not isinstance(body, Body):
            return super()._build_request(options, retries_taken=retries_taken)
        form = self._forms.get(options.url)
        if form is None:
            empty = options.model_copy(update={"content": None})
            form = RequestForm(super()._build_request(empty, retries_taken=retries_taken))
            self._forms[options.url] = form
        if not self._session_header:
            return form.fill(body, {})
        return form.fill(body, {self._session_header: options.headers[self._session_header]})


class Connection:
    """The way to one server: one request, one answer, no second thoughts."""

    def __init__(self, endpoint: Endpoint, key: Key, options: JudgeOptions) -> None:
        self._url = endpoint.masked_url
        self._session_header = options.session_header
        # Left out with every request: the package does not take it from a default.
        bare = bool(_key_header(endpoint, options)) and endpoint.credentials is None
        self._unsent: dict[str, Any] = {"Authorization": openai.Omit()} if bare else {}
        self._posts: dict[str, FinalRequestOptions] = {}
        self._client = _Client(
            options.session_header,
            api_key=key.secret,
            base_url=self._url,
            max_retries=0,
            default_headers=_headers(endpoint, key, options),
            default_query=dict(parse_qsl(endpoint.query)),
            http_client=SegmentClient(endpoint, options),
        )

    async def post(self, path: str, body: Body, session_id: str = "") -> Answer:
        """Send a JSON body, segment by segment. Raises NoAnswer."""
        options = self._posts.get(path)
        if options is None:
            # The idempotency key goes nowhere; without one the package draws one for each request.
            options = FinalRequestOptions.construct(
                method="post", url=self._url + path, idempotency_key="-", headers=self._unsent
            )
            self._posts[path] = options
        filled: dict[str, Any] = {"content": body}
        if self._session_header:
            filled["headers"] = {**self._unsent, self._session_header: session_id}
        request = options.model_copy(update=filled)
        return await _answer(self._client.request(httpx2.Response, request))

    async def upload(self, data: bytes, mime: str) -> Answer:
        """Send a picture to Files, under a name that says nothing. Raises NoAnswer."""
        name = f"picture.{mime.partition('/')[2]}"

        async def send() -> httpx2.Response:
            raw = await self._client.files.with_raw_response.create(
                file=(name, data, mime),
                purpose="vision",
                expires_after={"anchor": "created_at", "seconds": _FILE_KEPT_S},
                extra_headers=self._unsent,
            )
            return raw.http_response

        return await _answer(send())

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()


def file_client(
    endpoint: Endpoint, key: Key, options: JudgeOptions
) -> tuple[openai.AsyncOpenAI, dict[str, Any]]:
    """Return a client for large files, and the headers that each of its requests needs.

    The transport for questions bounds an answer and its time by what a reply may be; a file of
    answers is larger and slower.
    """
    base_url = endpoint.masked_url
    if endpoint.is_azure:
        # Files and batches belong to the resource, not to one of its deployments.
        base_url = base_url.partition("/deployments/")[0]
    client = openai.AsyncOpenAI(
        api_key=key.secret,
        base_url=base_url,
        default_headers=_headers(endpoint, key, options),
        default_query=dict(parse_qsl(endpoint.query)),
    )
    bare = bool(_key_header(endpoint, options)) and endpoint.credentials is None
    return client, {"Authorization": openai.Omit()} if bare else {}


async def _answer(sending: Awaitable[httpx2.Response]) -> Answer:
    try:
        response = await sending
    except openai.APIStatusError as error:
        response = error.response
    except openai.APIConnectionError as error:
        if isinstance(error.__cause__, NoAnswer):
            raise error.__cause__ from None
        raise NoAnswer(str(error), reached=True) from None
    answer: Answer = response.extensions[ANSWER]
    return answer


def _headers(endpoint: Endpoint, key: Key, options: JudgeOptions) -> dict[str, Any]:
    headers: dict[str, Any] = {f"X-Stainless-{name}": openai.Omit() for name in _UNSAID}
    headers["User-Agent"] = f"lmmscore/{__version__}"
    if not endpoint.is_openai:
        # The environment of the openai package speaks to OpenAI, and is no business of others.
        headers |= {name: openai.Omit() for name in _environment_headers()}
    key_header = _key_header(endpoint, options)
    if key_header:
        headers[key_header] = key.secret
    if endpoint.credentials is not None:
        pair = base64.b64encode(":".join(endpoint.credentials).encode()).decode()
        headers["Authorization"] = f"Basic {pair}"
    return {**headers, **options.headers}


def _environment_headers() -> list[str]:
    """Return the headers that the openai package takes from environment variables."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    custom = [line.partition(":")[0].strip() for line in lines]
    names = ["OpenAI-Organization", "OpenAI-Project", *custom]
    return [name for name in names if name and name.lower() != "authorization"]


def _key_header(endpoint: Endpoint, options: JudgeOptions) -> str:
    """Return the header the key goes under, where it is not `Authorization: Bearer`."""
    if options.key_header:
        return options.key_header
    is_classic_azure = endpoint.is_azure and "/deployments/" in endpoint.url.path
    return "api-key" if is_classic_azure else ""
