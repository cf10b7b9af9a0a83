"""Requests of the openai package carried by aiohttp, whose bodies are written segment by segment."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload
from yarl import URL

from lmmscore.judges.wire import Body

CONNECT_TIMEOUT_S = 20.0
KEEPALIVE_S = 60.0
BODY, HEADERS = "lmmscore.body", "lmmscore.headers"
"""Extensions of a request: its body and headers, not yet taken apart."""
_UNPACKED = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})


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
        for part in self._parts:
            # A view, so that what the socket did not take at once is cut off without copying it first.
            await writer.write(memoryview(part))

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """Write every segment; their length is always the one announced."""
        await self.write(writer)


class SegmentClient(httpx2.AsyncClient):
    """An http client for the openai package: one pool of connections, no redirects, no retries, no cookies.

    It does what a judge needs and nothing else, because at a fast server the client's own work is what costs.
    """

    def __init__(self, url: str, timeout_s: float, stall_s: float | None = None) -> None:
        # The inherited pool is never used; this keeps it from being made.
        super().__init__(transport=httpx2.AsyncBaseTransport(), trust_env=False)
        self._limits = aiohttp.ClientTimeout(
            total=timeout_s, sock_connect=min(CONNECT_TIMEOUT_S, timeout_s), sock_read=stall_s
        )
        self._proxy = _proxy_for(URL(url))
        self._session: aiohttp.ClientSession | None = None
        self._urls: dict[Any, httpx2.URL] = {}

    def build_request(self, method: str, url: Any, **options: Any) -> httpx2.Request:
        """Return the request as given, without defaults of ours."""
        known = self._urls.get(url)
        if known is None:
            # A judge asks at two or three addresses, over and over; reading one takes longer than sending it.
            known = self._urls[url] = httpx2.URL(url)
        options.pop("timeout", None)
        if isinstance(options.get("content"), Body):
            # What httpx2 would unpack and aiohttp pack again goes past it instead.
            shortcut = {BODY: options["content"], HEADERS: options["headers"]}
            return httpx2.Request(method, known, extensions=shortcut)
        return httpx2.Request(method, known, **options)

    async def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:
        """Send the request and return the whole response. Raises httpx2's own errors, as its caller expects."""
        session = self._session or self._open(request.url.scheme)
        try:
            async with session.request(
                request.method,
                URL(str(request.url), encoded=True),
                headers=request.extensions.get(HEADERS) or request.headers.multi_items(),
                data=await _payload(request),
                allow_redirects=False,
                timeout=self._limits,
                proxy=self._proxy,
            ) as response:
                content = await response.read()
        except TimeoutError as error:
            raise _timeout(error, request) from None
        except aiohttp.ClientConnectorError as error:
            why = error.os_error.strerror or type(error.os_error).__name__
            raise httpx2.ConnectError(
                f"cannot connect to {error.host}:{error.port}: {why}", request=request
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            raise httpx2.ReadError(str(error) or type(error).__name__, request=request) from None
        headers = _headers(response.raw_headers)
        return httpx2.Response(response.status, headers=headers, content=content, request=request)

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


async def _payload(request: httpx2.Request) -> Segments | None:
    body = request.extensions.get(BODY)
    if isinstance(body, Body):
        return Segments(body.parts)
    assert isinstance(request.stream, httpx2.AsyncByteStream)
    parts = [part async for part in request.stream]
    return Segments(parts) if parts else None


def _proxy_for(url: URL) -> str | None:
    """Return the proxy the environment names for this address, if any."""
    host = url.host or ""
    return None if proxy_bypass(host) else getproxies().get(url.scheme)


def _timeout(error: TimeoutError, request: httpx2.Request) -> httpx2.TimeoutException:
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return httpx2.ConnectTimeout("no connection in time", request=request)
    return httpx2.ReadTimeout("no answer in time", request=request)


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    # aiohttp has already unpacked the body, so what described its packing no longer holds.
    return [(name, value) for name, value in raw if name.lower() not in _UNPACKED]
