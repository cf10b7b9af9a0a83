"""The way to one server: its key, the openai package's client, and our transport beside it.

The openai package builds one request for each address; every body with that head goes to
`Transport`, on top of aiohttp, which never joins its segments. Errors of the connection become
`NoAnswer` here, and only here.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import shutil
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
import openai
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload
from multidict import CIMultiDict
from openai._models import FinalRequestOptions
from yarl import URL

from lmmscore.errors import (
    AnswerTooLarge,
    FatalJudgeError,
    FileProblem,
    JudgeFileError,
    NotAuthorised,
)
from lmmscore.judges.config import Endpoint, JudgeOptions, Key, mask
from lmmscore.judges.faults import Answer, NoAnswer, sound_text, tolerant_json, with_texts
from lmmscore.resources import __version__

CONNECT_TIMEOUT_S = 20.0
KEEPALIVE_S = 60.0
"""How long an idle connection is kept: the turns of a session follow each other in less."""
SMALL_BYTES = 16_384
"""Neighbouring segments below this are joined: a copy of so little costs less than one more write.
"""
_FILE_KEPT_S = 7 * 24 * 3600
"""When an uploaded picture is to be deleted: by then any session that shows it is over."""
_UNSAID = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
"""Headers of the package about this machine: servers need not know, and they cost time."""
_UNKNOWN_ISSUER = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for a certificate that is self-signed, or signed by someone unknown here."""


class Oversized(NoAnswer):
    """A response larger than anything a judge says."""


class Body:
    """What one request sends: byte segments in order. It can be sent any number of times."""

    __slots__ = ("parts", "size")

    def __init__(self, parts: Iterable[bytes]) -> None:
        self.parts = coalesced(parts)
        self.size = sum(map(len, self.parts))

    def __repr__(self) -> str:
        return f"Body({self.size} bytes)"


def coalesced(parts: Iterable[bytes]) -> list[bytes]:
    """Return the segments with small neighbours joined; large ones stay the objects they are."""
    result: list[bytes] = []
    small: list[bytes] = []
    for part in parts:
        if len(part) < SMALL_BYTES:
            small.append(part)
            continue

        if small:
            result.append(b"".join(small))
            small = []

        result.append(part)

    if small:
        result.append(b"".join(small))

    return result


class Segments(Payload):
    """A request body that is never joined: each segment goes to the socket as it is."""

    def __init__(self, body: Body) -> None:
        super().__init__(body, content_type="application/json")
        self._parts = body.parts
        self._size = body.size

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the whole body as text; only for debugging."""
        return b"".join(self._parts).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write every segment."""
        for part in self._parts:
            # A view: what the socket does not take at once is sliced off without a copy.
            await writer.write(memoryview(part))

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        """Write every segment; their length is always the one announced."""
        await self.write(writer)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """Where a request goes and what it says of itself, as aiohttp takes it."""

    url: URL
    headers: CIMultiDict[str]


class Transport:
    """Sends requests to one server, without redirects, retries or cookies.

    It does what a judge needs and nothing else, because at a fast server the client's own work is
    what costs.
    """

    def __init__(self, endpoint: Endpoint, options: JudgeOptions) -> None:
        self._encrypted = endpoint.url.scheme == "https"
        self._proxy = _proxy_for(URL(endpoint.masked_url))
        self._most_bytes = int(options.max_response_mb * 1e6)
        self._limits = aiohttp.ClientTimeout(
            total=options.timeout_s,
            sock_connect=min(CONNECT_TIMEOUT_S, options.timeout_s),
            # A reply that is not streamed is silent until the model has finished.
            sock_read=options.stall_s if options.stream else None,
        )
        self._session: aiohttp.ClientSession | None = None

    async def post(self, head: RequestHead, body: Segments | aiohttp.FormData) -> Answer:
        """Send a request and return what came back, whole. Raises NoAnswer."""
        session = self._session or self._open()
        try:
            async with session.post(
                head.url,
                headers=head.headers,
                data=body,
                allow_redirects=False,
                proxy=self._proxy,
            ) as response:
                content = await self._read(response)
        except TimeoutError as error:
            raise _late(error) from None
        except aiohttp.ClientSSLError as error:
            raise _unsafe(error) from None
        except aiohttp.ClientConnectorError as error:
            why = error.os_error.strerror or type(error.os_error).__name__
            says = f"cannot connect to {error.host}:{error.port}: {why}"
            raise NoAnswer(says, reached=False) from None
        except (aiohttp.ClientError, OSError) as error:
            raise NoAnswer(_words_of(error), reached=True) from None

        # aiohttp keeps bytes that are not UTF-8 as halves of surrogate pairs, which no file takes.
        received = {name.lower(): sound_text(value) for name, value in response.headers.items()}
        return Answer(response.status, received, content)

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """Return the body, unpacked.

        A server must not be able to fill the memory of this machine.
        """
        parts: list[bytes] = []
        size = 0
        async for part in response.content.iter_any():
            size += len(part)
            if size > self._most_bytes:
                response.close()
                raise Oversized(f"more than {self._most_bytes / 1e6:g} MB", reached=True)

            parts.append(part)

        return b"".join(parts)

    def _open(self) -> aiohttp.ClientSession:
        context = httpx2.create_ssl_context() if self._encrypted else True
        # No limit here: how many questions are in flight is decided in one place, the pace.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S, ssl=context)
        # aiohttp's trust_env would look for .netrc and proxies again, in a thread, at every
        # request.
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=self._limits,
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self._session


def _proxy_for(url: URL) -> str | None:
    """Return the proxy the environment names for this address, if any.

    Raises JudgeFileError for one not of HTTP.
    """
    host = url.host or ""
    if proxy_bypass(host) or proxy_bypass(f"{host}:{url.port}"):
        return None

    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"

    if proxy and URL(proxy).scheme not in {"http", "https"}:
        raise JudgeFileError(
            f"the environment names the proxy {mask(proxy)}, which is not an "
            f"HTTP proxy; name an http:// one, or add {host} to NO_PROXY"
        )
    return proxy


def _unsafe(error: aiohttp.ClientSSLError) -> NoAnswer:
    """Return why there is no TLS connection, and whether to try again."""
    why, where = error.os_error, f"{error.host}:{error.port}"
    if isinstance(why, ssl.SSLCertVerificationError):
        says = f"the certificate of {where} is not trusted ({why.verify_message})"
        if why.verify_code in _UNKNOWN_ISSUER:
            says += "; if it is one of your own, set SSL_CERT_FILE to the file of its issuer"

        return NoAnswer(says, reached=False, unsafe=True)

    reason = why.strerror or type(why).__name__
    if isinstance(why, ssl.SSLError) and why.reason:
        reason = why.reason

    says = f"no TLS connection to {where} ({reason})"
    if isinstance(why, ssl.SSLEOFError):
        # Hung up on: a busy server may do that, and take the next call.
        return NoAnswer(says, reached=False)

    says += "; does the server speak https, or should its address begin with http://?"
    return NoAnswer(says, reached=False, unsafe=True)


def _late(error: TimeoutError) -> NoAnswer:
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return NoAnswer("no connection in time", reached=False)
    return NoAnswer("no answer in time", reached=True)


def _words_of(error: Exception) -> str:
    """Return an error in a few words, without the address and its secrets."""
    if isinstance(error, aiohttp.ClientResponseError):
        # Its full text names the address, and whatever is secret in it.
        text = f"{error.status}, {error.message}"
    else:
        text = mask(str(error)) or type(error).__name__

    # aiohttp quotes what it cannot read, even a megabyte of it.
    return re.split(r"\n|b['\"]|bytearray\(", text)[0].strip(" :")[:200]


class Connection:
    """The way to one server: one request, one answer, no retries."""

    def __init__(self, endpoint: Endpoint, key: Key, options: JudgeOptions) -> None:
        self._url = endpoint.masked_url
        self._session_header = options.session_header
        self._unsent = _unsent(endpoint, options)
        self._heads: dict[str, RequestHead] = {}
        self._transport = Transport(endpoint, options)
        self._client = openai.AsyncOpenAI(
            api_key=key.secret,
            base_url=self._url,
            default_headers=_headers(endpoint, key, options),
            default_query=dict(parse_qsl(endpoint.query)),
            # It only builds requests: this keeps a pool of connections from being made.
            http_client=httpx2.AsyncClient(transport=httpx2.AsyncBaseTransport(), trust_env=False),
        )

    async def post(self, path: str, body: Body, session_id: str = "") -> Answer:
        """Send a JSON body, segment by segment. Raises NoAnswer."""
        head = self._heads.get(path) or await self._built(path)
        if self._session_header:
            headers = head.headers.copy()
            headers[self._session_header] = session_id
            head = RequestHead(head.url, headers)

        return await self._transport.post(head, Segments(body))

    async def upload(self, data: bytes, mime: str) -> Answer:
        """Send a picture to Files, under a name that says nothing. Raises NoAnswer."""
        form = aiohttp.FormData(
            {
                "purpose": "vision",
                "expires_after[anchor]": "created_at",
                "expires_after[seconds]": str(_FILE_KEPT_S),
            }
        )
        name = f"picture.{mime.partition('/')[2]}"
        form.add_field("file", io.BytesIO(data), content_type=mime, filename=name)
        head = self._heads.get("/files") or await self._built("/files")
        headers = head.headers.copy()
        # Only the form knows what separates its parts.
        headers.popall("Content-Type", None)
        return await self._transport.post(RequestHead(head.url, headers), form)

    async def _built(self, path: str) -> RequestHead:
        """Have the package build a request, from its environment too; all others are like it.

        Its own way of sending would build each one again, which costs more than sending it.
        """
        blank = FinalRequestOptions.construct(
            method="post", url=self._url + path, headers=self._unsent
        )
        request = self._client._build_request(await self._client._prepare_options(blank))
        headers = CIMultiDict(request.headers.multi_items())
        for name in ("Host", "Content-Length", "Accept-Encoding", "Connection"):
            headers.popall(name, None)  # aiohttp gives its own

        head = self._heads[path] = RequestHead(URL(str(request.url), encoded=True), headers)
        return head

    async def close(self) -> None:
        """Close every connection."""
        await self._transport.close()
        await self._client.close()


def _headers(endpoint: Endpoint, key: Key, options: JudgeOptions) -> dict[str, Any]:
    """Return the headers of every request: the key, and nothing about this machine."""
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


def _unsent(endpoint: Endpoint, options: JudgeOptions) -> dict[str, Any]:
    """Return the headers that leave out `Authorization: Bearer`, where the key goes elsewhere.

    They go with every request: the package does not take an omission from its defaults.
    """
    is_elsewhere = bool(_key_header(endpoint, options)) and endpoint.credentials is None
    return {"Authorization": openai.Omit()} if is_elsewhere else {}


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


# --------------------------------------------------------------------------------------------------
# Where batches of questions are handed in and picked up: a provider's batch API, or a folder.
#
# A mailbox knows nothing of sessions: it takes a file of requests, one JSON object to a line, and
# gives back lines with answers, in any order, whenever they are ready.
# --------------------------------------------------------------------------------------------------

Metadata = Mapping[str, str]

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
"""The states in which a batch gives nothing more than it has."""
GONE = "gone"


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a batch is."""

    status: str
    answered: int = 0
    reason: str = ""
    """Why the whole batch failed or cannot be found, where that is so."""

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to come."""
        return self.status in ENDED

    @property
    def gone(self) -> bool:
        """Whether the server does not know the batch; it may also be another server."""
        return self.status == GONE


class Mailbox(Protocol):
    """Takes files of requests and gives back answers."""

    async def send(self, file: Path, url: str, metadata: Metadata) -> str:
        """Hand in a file and return the batch's id."""

    async def find(self, metadata: Metadata) -> str | None:
        """Return the id of a batch that was handed in with this metadata, if there is one."""

    async def state(self, batch: str) -> BatchState:
        """Return how far a batch is."""

    def answers(self, batch: str) -> AsyncIterator[str]:
        """Yield the lines that are there: answers, and errors of single requests."""

    async def cancel(self, batch: str) -> None:
        """End a batch; what is answered already can still be had."""

    async def close(self) -> None:
        """Close connections."""


class ApiMailbox:
    """OpenAI's `/v1/files` and `/v1/batches`, and whatever speaks like them."""

    def __init__(
        self, endpoint: Endpoint, key: Key, options: JudgeOptions, hide: Callable[[str], str]
    ) -> None:
        base_url = endpoint.masked_url
        if endpoint.is_azure:
            # Files and batches belong to the resource, not to one of its deployments.
            base_url = base_url.partition("/deployments/")[0]

        # Not the transport for questions: it bounds an answer and its time by what a reply may be,
        # and a file of answers is larger and slower.
        self._client = openai.AsyncOpenAI(
            api_key=key.secret,
            base_url=base_url,
            default_headers=_headers(endpoint, key, options),
            default_query=dict(parse_qsl(endpoint.query)),
            # A redirect would take the key, and a file of questions, to somebody else.
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
        )
        self._headers = _unsent(endpoint, options)
        self._most_bytes = int(options.max_response_mb * 1e6)
        self._hide = hide

    async def send(self, file: Path, url: str, metadata: Metadata) -> str:
        """Upload the file, then make a batch of it."""
        with self._border():
            uploaded = await self._client.files.create(
                file=file, purpose="batch", extra_headers=self._headers
            )
            # Never retried: a server that failed to answer may have made the batch all the same.
            made = await self._client.with_options(max_retries=0).batches.create(
                input_file_id=uploaded.id,
                endpoint=url,  # type: ignore[arg-type]
                completion_window="24h",
                metadata=dict(metadata),
                extra_headers=self._headers,
            )

        return self._checked(made.id)

    async def find(self, metadata: Metadata) -> str | None:
        """Look through the account's batches, newest first."""
        seen: set[str] = set()
        with self._border():
            async for batch in self._client.batches.list(limit=100, extra_headers=self._headers):
                if batch.id in seen:
                    # A server without pages gives the first one again and again.
                    return None

                seen.add(batch.id)
                known = batch.metadata if isinstance(batch.metadata, dict) else {}
                if all(known.get(name) == value for name, value in metadata.items()):
                    return self._checked(batch.id)

        return None

    def _checked(self, batch: Any) -> str:
        """Return a batch's id, which goes into the folder of a run. Raises JudgeError."""
        if not isinstance(batch, str) or not batch or self._hide(batch) != batch:
            raise BatchesStopped(
                "batches: the server gives a batch no id that can be kept; try another"
            )
        return batch

    async def state(self, batch: str) -> BatchState:
        """Ask for the batch."""
        with self._border():
            try:
                found = await self._client.batches.retrieve(batch, extra_headers=self._headers)
            except openai.NotFoundError:
                reason = f"the server does not know batch {batch}; is it the one it was sent to?"
                return BatchState(GONE, reason=reason)

        # Whatever a server leaves out, or fills with something else, is missing here.
        answered = getattr(found.request_counts, "completed", 0)
        errors = found.errors.data if found.errors else None
        reasons = [str(error.message) for error in errors or () if error.message]
        return BatchState(
            self._hide(str(found.status)),
            answered=answered if isinstance(answered, int) else 0,
            reason=self._hide("; ".join(reasons)),
        )

    async def answers(self, batch: str) -> AsyncIterator[str]:
        """Download both files of a batch: answers and errors."""
        with self._border():
            try:
                found = await self._client.batches.retrieve(batch, extra_headers=self._headers)
                for file in (found.output_file_id, found.error_file_id):
                    if file:
                        async for line in self._lines_of(file):
                            yield line
            except openai.NotFoundError:
                return  # its files are gone, and its state says so

    async def _lines_of(self, file: str) -> AsyncIterator[str]:
        """Yield the lines of a file as they arrive: it may be as large as it likes."""
        files = self._client.files.with_streaming_response
        async with files.content(file, extra_headers=self._headers) as response:
            begun = b""
            async for part in response.iter_bytes():
                # Only \n ends a line; within a reply there may be others.
                *lines, begun = (begun + part).split(b"\n")
                if len(begun) > self._most_bytes:
                    raise AnswerTooLarge(
                        f"batches: a line of more than {self._most_bytes / 1e6:g} MB, which no "
                        "reply is; limits.max_response_mb in judges.yaml allows more"
                    )

                for line in filter(bytes.strip, lines):
                    yield self._safe(line)

            if begun.strip():
                yield self._safe(begun)

    def _safe(self, line: bytes) -> str:
        """Return a line without a key that the server repeats, however it is escaped."""
        text = line.decode("utf-8", "replace")
        if "\\" not in text and self._hide(text) == text:
            return text

        try:
            return json.dumps(with_texts(tolerant_json(line), self._hide))
        except ValueError:
            return self._hide(text)

    async def cancel(self, batch: str) -> None:
        """Ask the provider to stop; a batch that is over or gone needs no stopping."""
        over = (openai.BadRequestError, openai.NotFoundError, openai.ConflictError)
        with self._border(), contextlib.suppress(*over):
            await self._client.batches.cancel(batch, extra_headers=self._headers)

    @contextlib.contextmanager
    def _border(self) -> Iterator[None]:
        """Raise one of our errors for one of the client's, without anything secret in it."""
        try:
            yield
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            says = "the server refuses the key for batches; check it and its rights"
            raise NotAuthorised(says) from error
        except openai.OpenAIError as error:
            raise BatchesStopped(_says(error, self._hide)) from error
        except httpx2.HTTPError as error:
            raise BatchesStopped(
                f"batches: a file of answers broke off ({type(error).__name__}); run the same "
                "command again"
            ) from None

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()


class FolderMailbox:
    """A folder for `vllm run-batch`: `NAME.jsonl` goes in, `NAME.out.jsonl` comes back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def send(self, file: Path, url: str, metadata: Metadata) -> str:
        """Put the file into the folder, whole or not at all."""
        name = _file_name(metadata)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            part = self._folder / f"{name}.part"
            shutil.copyfile(file, part)
            part.replace(self._folder / f"{name}.jsonl")
        except OSError as error:
            raise FileProblem(f"{self._folder}: {error.strerror or error}") from error

        return name

    async def find(self, metadata: Metadata) -> str | None:
        """Look whether the file is there."""
        name = _file_name(metadata)
        return name if (self._folder / f"{name}.jsonl").is_file() else None

    async def state(self, batch: str) -> BatchState:
        """Compare what went in with what has come back."""
        asked = _lines(self._folder / f"{batch}.jsonl")
        answers = self._folder / f"{batch}.out.jsonl"
        answered = _lines(answers)
        if asked:
            return BatchState("completed" if answered >= asked else "in_progress", answered)
        if answers.is_file():
            return BatchState("cancelled", answered)

        reason = f"{self._folder}: no {batch}.jsonl; is it the folder it was put into?"
        return BatchState(GONE, reason=reason)

    async def answers(self, batch: str) -> AsyncIterator[str]:
        """Read what has come back so far."""
        path = self._folder / f"{batch}.out.jsonl"
        if path.is_file():
            with path.open("rb") as file:
                for line in filter(_is_written, file):
                    yield line.decode("utf-8", "replace")

    async def cancel(self, batch: str) -> None:
        """Take the file out again."""
        (self._folder / f"{batch}.jsonl").unlink(missing_ok=True)

    async def close(self) -> None:
        """Do nothing."""


def _lines(path: Path) -> int:
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        return sum(map(_is_written, file))


def _is_written(line: bytes) -> bool:
    """Whether a line is there, and whole: one that is still being written has no end yet."""
    return line.endswith(b"\n") and bool(line.strip())


def _file_name(metadata: Metadata) -> str:
    return f"wave-{metadata['wave']}-{metadata['digest'][:12]}"


class BatchesStopped(FatalJudgeError):
    """What stops a run by batches; what was sent stays there."""


def _says(error: openai.OpenAIError, hide: Callable[[str], str]) -> str:
    """Return what went wrong with batches, and what to do."""
    body = getattr(error, "body", None)
    said = body.get("message") if isinstance(body, dict) else None
    # Secrets go first: half of one would no longer be recognised.
    said = hide(said if isinstance(said, str) else str(error))[:300]
    if isinstance(error, openai.NotFoundError):
        return f"the server has no batches: {said}; run without --batch"
    if isinstance(error, openai.APIConnectionError):
        return f"the server cannot be reached for batches: {said}"
    return f"batches: {said}; run the same command again later"
