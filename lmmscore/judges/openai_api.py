"""A judge behind any OpenAI-compatible API: the openai package, with its own retries off and our transport in it."""

from __future__ import annotations

import base64
import json
import os
import random
import re
from collections.abc import Awaitable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import httpx2
import openai
from openai._models import FinalRequestOptions

from lmmscore import __version__
from lmmscore.conversation import Conversation
from lmmscore.errors import JudgeError
from lmmscore.judges.asking import Asker, NoAnswer, Question
from lmmscore.judges.clock import Clock, RealClock
from lmmscore.judges.faults import Answer
from lmmscore.judges.keys import Key, find_key
from lmmscore.judges.meter import Meter
from lmmscore.judges.options import OPENAI_URL, Address, OpenAIOptions, parse_address
from lmmscore.judges.replies import chat_reply
from lmmscore.judges.responses import ResponsesRoute
from lmmscore.judges.spending import Spending
from lmmscore.judges.transport import ANSWER, Form, SegmentClient, Unsafe
from lmmscore.judges.wire import Body, EncodedPictures, Transcript, chat_body, chat_renderer
from lmmscore.records import Reply

__all__ = ["OpenAIJudge", "OpenAIOptions", "make"]

_SECRET = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
# What the openai package tells servers about the machine it runs on is nobody's business here, and costs time.
_UNSAID = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")


def make(
    spec: str,
    *,
    options: OpenAIOptions | None = None,
    clock: Clock | None = None,
    rng: random.Random | None = None,
) -> OpenAIJudge:
    """Return the judge `openai/SPEC`, where SPEC is `MODEL[@BASE_URL]`. The key is read from the environment."""
    options = options or OpenAIOptions()
    address = parse_address(spec, os.environ.get("OPENAI_BASE_URL", ""))
    hidden = [value for name, value in options.headers.items() if _SECRET.search(name)]
    key = find_key(address, options.key_env, others=hidden)
    return OpenAIJudge(
        address, options, key, clock=clock or RealClock(), rng=rng or random.Random()
    )


class OpenAIJudge:
    """Answers conversations through Chat Completions or Responses."""

    caution = ""

    def __init__(
        self,
        address: Address,
        options: OpenAIOptions,
        key: Key,
        *,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._address = address
        self._parameters = _parameters(options)
        self._fields = _chat_fields(address, options)
        connection = OpenAIConnection(address, options, key)
        self._asker = Asker(address, options, key, connection, clock=clock, rng=rng)
        self._pictures = pictures = EncodedPictures()
        self._structured = options.structured
        self._head: dict[str, Any] = {"model": address.model}
        if options.stream:
            self._head |= {"stream": True, "stream_options": {"include_usage": True}}
        self._transcript = Transcript(chat_renderer(options.image_detail), pictures)
        self._responses = (
            ResponsesRoute(address, options, self._asker, pictures)
            if options.api == "responses"
            else None
        )

    def __repr__(self) -> str:
        return f"<judge {self.name}>"

    @property
    def name(self) -> str:
        """The judge's identity, without credentials or query."""
        return self._address.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What changes the answers. How a question travels is no part of it."""
        return self._parameters

    @property
    def meter(self) -> Meter:
        """What has been asked and spent so far."""
        return self._asker.meter

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer the last message. Raises JudgeError when there is no answer."""
        if self._responses is not None and self._responses.works:
            reply = await self._responses.ask(conversation)
            if reply is not None:
                return reply
        head = self._head
        if self._address.masked_url == OPENAI_URL:
            # Sends the turns of one session to the same cache; the answers do not depend on it.
            head = {**head, "prompt_cache_key": _opening(conversation).digest[:32]}
        fields = self._fields
        if self._structured and conversation.message is not None and conversation.message.schema:
            schema = {
                "name": "reply",
                "strict": True,
                "schema": json.loads(conversation.message.schema),
            }
            fields = {**fields, "response_format": {"type": "json_schema", "json_schema": schema}}
        body = chat_body({**head, **fields}, await self._transcript.elements(conversation))
        return await self._asker.ask(
            conversation, Question("/chat/completions", body, chat_reply, fields)
        )

    def keep(self, book: Spending) -> None:
        """Count what a run has spent before, and write down what it spends."""
        self._asker.till.keep(book)

    def stop(self, error: JudgeError) -> None:
        """Send nothing from now on; questions that wait for their turn, or to be asked again, raise this error."""
        self._asker.stop(error)

    async def close(self) -> None:
        """Let go of connections and threads."""
        self._pictures.close()
        await self._asker.close()


class _Client(openai.AsyncOpenAI):
    """Builds the request for each address once: only bodies differ, and building one takes longer than sending it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._forms: dict[str, Form] = {}

    def _build_request(
        self, options: FinalRequestOptions, *, retries_taken: int = 0
    ) -> httpx2.Request:
        body = options.content
        if not isinstance(body, Body):
            return super()._build_request(options, retries_taken=retries_taken)
        form = self._forms.get(options.url)
        if form is None:
            empty = options.model_copy(update={"content": None})
            form = Form(super()._build_request(empty, retries_taken=retries_taken))
            self._forms[options.url] = form
        return form.fill(body)


class OpenAIConnection:
    """One server, reached through the openai package. Its errors become Answers or NoAnswer here, and only here."""

    def __init__(self, address: Address, options: OpenAIOptions, key: Key) -> None:
        self._url = address.masked_url
        # Left out with every request: the package does not take it from a default.
        bare = bool(_key_header(address, options)) and address.credentials is None
        self._unsent = {"Authorization": openai.Omit()} if bare else {}
        self._posts: dict[str, FinalRequestOptions] = {}
        self._client = _Client(
            api_key=key.secret,
            base_url=self._url,
            max_retries=0,
            default_headers=_headers(address, options, key),
            default_query=dict(parse_qsl(address.query)),
            http_client=SegmentClient(
                self._url, options.timeout_s, options.stall_s if options.stream else None
            ),
        )

    async def post(self, path: str, body: Body) -> Answer:
        """Send a JSON body, written segment by segment."""
        options = self._posts.get(path)
        if options is None:
            # The idempotency key goes nowhere; without one the package would draw a random one each time.
            options = FinalRequestOptions.construct(
                method="post", url=self._url + path, idempotency_key="-", headers=self._unsent
            )
            self._posts[path] = options
        filled = options.model_copy(update={"content": body})
        return await _answer(self._client.request(httpx2.Response, filled))

    async def upload(self, data: bytes, mime: str) -> Answer:
        """Send a picture to Files, under a name that says nothing."""
        name = f"picture.{mime.partition('/')[2]}"

        async def send() -> httpx2.Response:
            raw = await self._client.files.with_raw_response.create(
                file=(name, data, mime),
                purpose="vision",
                expires_after={"anchor": "created_at", "seconds": 7 * 24 * 3600},
                extra_headers=self._unsent,
            )
            return raw.http_response

        return await _answer(send())

    async def get(self, path: str) -> Answer:
        """Fetch something small, such as the list of models."""
        options: Any = {"headers": self._unsent}
        return await _answer(
            self._client.get(self._url + path, cast_to=httpx2.Response, options=options)
        )

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.close()


async def _answer(sending: Awaitable[httpx2.Response]) -> Answer:
    try:
        response = await sending
    except openai.APIStatusError as error:
        response = error.response
    except openai.APITimeoutError as error:
        raise NoAnswer(
            _cause(error), reached=not isinstance(error.__cause__, httpx2.ConnectTimeout)
        ) from None
    except openai.APIConnectionError as error:
        cause = error.__cause__
        reached, unsafe = not isinstance(cause, httpx2.ConnectError), isinstance(cause, Unsafe)
        raise NoAnswer(_cause(error), reached=reached, unsafe=unsafe) from None
    answer: Answer = response.extensions[ANSWER]
    return answer


def _cause(error: BaseException) -> str:
    return str(error.__cause__ or error)


def _headers(address: Address, options: OpenAIOptions, key: Key) -> dict[str, Any]:
    headers: dict[str, Any] = {f"X-Stainless-{name}": openai.Omit() for name in _UNSAID}
    headers["User-Agent"] = f"lmmscore/{__version__}"
    if address.masked_url != OPENAI_URL:
        # The environment of the openai package speaks to OpenAI, and is no business of other servers.
        lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
        names = [
            "OpenAI-Organization",
            "OpenAI-Project",
            *(line.partition(":")[0].strip() for line in lines),
        ]
        headers |= {
            name: openai.Omit() for name in names if name and name.lower() != "authorization"
        }
    if header := _key_header(address, options):
        headers[header] = key.secret
    if address.credentials is not None:
        pair = base64.b64encode(":".join(address.credentials).encode()).decode()
        headers["Authorization"] = f"Basic {pair}"
    return {**headers, **options.headers}


def _key_header(address: Address, options: OpenAIOptions) -> str:
    """The header the key goes under, where it is not `Authorization: Bearer`."""
    return options.key_header or ("api-key" if _is_classic_azure(address) else "")


def _is_classic_azure(address: Address) -> bool:
    return address.host.endswith(".azure.com") and "/deployments/" in address.url.path


def _parameters(options: OpenAIOptions) -> dict[str, Any]:
    names = ("temperature", "seed", "max_tokens", "reasoning_effort", "image_detail")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.structured:
        given["structured"] = True
    if options.temperature is not None:
        # 0 and 0.0 are the same question, and must be the same key.
        given["temperature"] = float(options.temperature)
    return {**given, **({"extra": dict(options.extra)} if options.extra else {})}


def _chat_fields(address: Address, options: OpenAIOptions) -> dict[str, Any]:
    at_openai = address.masked_url == OPENAI_URL or address.host.endswith(".azure.com")
    limit = options.max_tokens_field or ("max_completion_tokens" if at_openai else "max_tokens")
    fields = {
        "temperature": options.temperature,
        "seed": options.seed,
        limit: options.max_tokens,
        "reasoning_effort": options.reasoning_effort,
    }
    return {**{name: value for name, value in fields.items() if value is not None}, **options.extra}


def _opening(conversation: Conversation) -> Conversation:
    """Return the conversation up to its first picture: before it, all sessions say the same."""
    shown = [node for node, message in conversation.backwards() if message.images]
    return shown[-1] if shown else conversation.beginning
