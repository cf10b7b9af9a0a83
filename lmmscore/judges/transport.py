"""Requests of the openai package carried by aiohttp, whose bodies are written segment by segment."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload
from multidict import CIMultiDict
from yarl import URL

from lmmscore.errors import JudgeFileError
from lmmscore.judges.faults import Answer, sound
from lmmscore.judges.options import mask
from lmmscore.judges.wire import Body

CONNECT_TIMEOUT_S = 20.0
KEEPALIVE_S = 60.0
OUTGOING, ANSWER = "lmmscore.outgoing", "lmmscore.answer"
"""Extensions of a request and of its response: what goes past httpx2."""
_NOTHING = httpx2.ByteStream(b"")
_MOST_AT_ONCE = 1024  # IOV_MAX of Linux and macOS
_UNKNOWN_ISSUER = frozenset(
    {18, 19, 20, 21}
)  # OpenSSL's codes: self-signed, or signed by someone unknown here
_UNPACKED = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})


class Unsafe(httpx2.ConnectError):
    """The server was reached, but no safe connection to it can be made, now or later."""


class Segments(Payload):
    """A request body that is never joined: each segment goes to the socket as it is."""

    def __init__(self, parts: list[bytes]) -> None:
        super().__init__(parts, content_type="application/json")
        self._parts = parts
        self._size = sum(map(len, parts))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the whole body as text; only for debugging."""
        return b"".join(self._parts).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write every segment."""
        # Views, so that what the socket does not take at once is cut off without copying it first.
        first, *rest = [memoryview(part) for part in self._parts]
        await writer.write(first)  # along with the headers
        for part in _write_at_once(writer.transport, rest):
            await writer.write(part)

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        """Write every segment; their length is always the one announced."""
        await self.write(writer)


def _write_at_once(
    transport: asyncio.WriteTransport | None, parts: list[memoryview]
) -> list[memoryview]:
    """Hand the socket as much as it takes in one system call, and return the rest.

    asyncio has one call for each segment, and each wakes a server on this machine.
    """
    if not parts or transport is None or not _is_free(transport):
        return parts
    try:
        taken = os.writev(transport.get_extra_info("socket").fileno(), parts[:_MOST_AT_ONCE])
    except BlockingIOError:
        return parts
    for number, part in enumerate(parts):
        if taken < len(part):
            return [part[taken:], *parts[number + 1 :]]
        taken -= len(part)
    return []


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as aiohttp takes it."""

    url: URL
    headers: CIMultiDict[str]
    body: Segments | None


class Form:
    """A request that is sent over and over, each time with another body.

    Its body goes past httpx2, which would unpack what aiohttp packs again.
    """

    def __init__(self, request: httpx2.Request) -> None:
        self._method, self._url = request.method, request.url
        self._sent = _outgoing(request, None)

    def fill(self, body: Body) -> httpx2.Request:
        """Return a request with this body."""
        outgoing = Outgoing(self._sent.url, self._sent.headers, Segments(body.parts))
        return httpx2.Request(
            self._method, self._url, stream=_NOTHING, extensions={OUTGOING: outgoing}
        )


class SegmentClient(httpx2.AsyncClient):
    """An http client for the openai package: one pool of connections, no redirects, no retries, no cookies.

    It does what a judge needs and nothing else, because at a fast server the client's own work is what costs. Every
    response carries its Answer as an extension; a response to a filled form carries nothing else.
    """

    def __init__(self, url: str, timeout_s: float, stall_s: float | None = None) -> None:
        # The inherited pool is never used; this keeps it from being made.
        super().__init__(transport=httpx2.AsyncBaseTransport(), trust_env=False)
        self._limits = aiohttp.ClientTimeout(
            total=timeout_s, sock_connect=min(CONNECT_TIMEOUT_S, timeout_s), sock_read=stall_s
        )
        self._proxy = _proxy_for(URL(url))
        self._session: aiohttp.ClientSession | None = None

    def build_request(self, method: str, url: Any, **options: Any) -> httpx2.Request:
        """Return the request as given, without defaults of ours."""
        options.pop("timeout", None)
        return httpx2.Request(method, url, **options)

    async def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:
        """Send the request and return the whole response. Raises httpx2's own errors, as its caller expects."""
        session = self._session or self._open(request.url.scheme)
        outgoing = request.extensions.get(OUTGOING) or _outgoing(request, await _body(request))
        try:
            async with session.request(
                request.method,
                outgoing.url,
                headers=outgoing.headers,
                data=outgoing.body,
                allow_redirects=False,
                timeout=self._limits,
                proxy=self._proxy,
            ) as response:
                content = await response.read()
        except TimeoutError as error:
            raise _timeout(error, request) from None
        except aiohttp.ClientSSLError as error:
            raise _unsafe(error, request) from None
        except aiohttp.ClientConnectorError as error:
            why = error.os_error.strerror or type(error.os_error).__name__
            raise httpx2.ConnectError(
                f"cannot connect to {error.host}:{error.port}: {why}", request=request
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            raise httpx2.ReadError(_words_of(error), request=request) from None
        # aiohttp keeps bytes that are not UTF-8 as halves of surrogate pairs, which can be written down nowhere.
        headers = {name.lower(): sound(value) for name, value in response.headers.items()}
        answer = {ANSWER: Answer(response.status, headers, content)}
        if OUTGOING in request.extensions:
            return httpx2.Response(
                response.status, stream=_NOTHING, request=request, extensions=answer
            )
        raw = _headers(response.raw_headers)
        return httpx2.Response(
            response.status, headers=raw, content=content, request=request, extensions=answer
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await super().aclose()
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self, scheme: str) -> aiohttp.ClientSession:
        context: ssl.SSLContext | bool = httpx2.create_ssl_context() if scheme == "https" else True
        # No limit here: how many questions are in flight is decided in one place, the pace.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S, ssl=context)
        # aiohttp's trust_env would look for .netrc and proxies anew, in a thread, at every request.
        self._session = aiohttp.ClientSession(
            connector=connector, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()
        )
        return self._session


def _outgoing(request: httpx2.Request, body: Segments | None) -> Outgoing:
    headers = CIMultiDict(request.headers.multi_items())
    for name in ("Host", "Content-Length"):
        headers.popall(name, None)  # aiohttp gives its own
    return Outgoing(URL(str(request.url), encoded=True), headers, body)


async def _body(request: httpx2.Request) -> Segments | None:
    assert isinstance(request.stream, httpx2.AsyncByteStream)
    parts = [part async for part in request.stream]
    return Segments(parts) if parts else None


def _proxy_for(url: URL) -> str | None:
    """Return the proxy the environment names for this address, if any. Raises JudgeFileError for one not of HTTP."""
    host = url.host or ""
    if proxy_bypass(host) or proxy_bypass(f"{host}:{url.port}"):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    if proxy and URL(proxy).scheme not in {"http", "https"}:
        raise JudgeFileError(
            f"the environment names the proxy {mask(proxy)}, which speaks another language than HTTP; "
            f"name an http:// one, or add {host} to NO_PROXY"
        )
    return proxy


def _unsafe(error: aiohttp.ClientSSLError, request: httpx2.Request) -> httpx2.ConnectError:
    why, where = error.os_error, f"{error.host}:{error.port}"
    if isinstance(why, ssl.SSLCertVerificationError):
        said = f"the certificate of {where} is not trusted ({why.verify_message})"
        if why.verify_code in _UNKNOWN_ISSUER:
            said += "; if it is one of your own, set SSL_CERT_FILE to the file of the authority that issued it"
        return Unsafe(said, request=request)
    reason = (
        (why.reason if isinstance(why, ssl.SSLError) else None)
        or why.strerror
        or type(why).__name__
    )
    said = f"no TLS connection to {where} ({reason})"
    if isinstance(
        why, ssl.SSLEOFError
    ):  # hung up on: a busy server may do that, and take the next call
        return httpx2.ConnectError(said, request=request)
    return Unsafe(
        f"{said}; does the server speak https, or should its address begin with http://?",
        request=request,
    )


def _timeout(error: TimeoutError, request: httpx2.Request) -> httpx2.TimeoutException:
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return httpx2.ConnectTimeout("no connection in time", request=request)
    return httpx2.ReadTimeout("no answer in time", request=request)


def _words_of(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{error.status}, {error.message}"  # its full text names the address, and whatever is secret in it
    return mask(str(error)) or type(error).__name__


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    # aiohttp has already unpacked the body, so what described its packing no longer holds.
    return [(name, value) for name, value in raw if name.lower() not in _UNPACKED]


def _is_free(transport: asyncio.WriteTransport) -> bool:
    """Tell whether the socket may be written to directly: nothing waits before it, and nothing encrypts it."""
    return (
        hasattr(os, "writev")
        and not transport.is_closing()
        and not transport.get_write_buffer_size()
        and transport.get_extra_info("sslcontext") is None
    )
