"""One server over HTTP: its key, its headers, its proxy, and requests whose bodies are never joined.

aiohttp carries them. Its errors become `NoAnswer` here, and only here.
"""

from __future__ import annotations

import base64
import os
import platform
import re
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload
from multidict import CIMultiDict
from yarl import URL

from lmmscore import __version__
from lmmscore.errors import JudgeFileError, NotAuthorised
from lmmscore.judges.config import Endpoint, JudgeOptions, mask
from lmmscore.judges.faults import Answer, NoAnswer, sound_text

CONNECT_TIMEOUT_S = 20.0
KEEPALIVE_S = 60.0
SMALL_BYTES = 16_384
"""Neighbouring segments below this are joined: a copy of so little costs less than one more write."""
USUAL_KEY = "OPENAI_API_KEY"
_FILE_KEPT_S = 7 * 24 * 3600
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
_UNKNOWN_ISSUER = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for a certificate that is self-signed, or signed by someone unknown here."""
_KEY_BY_HOST = {
    "openrouter.ai": "OPENROUTER_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "openai.azure.com": "AZURE_OPENAI_API_KEY",
    "cognitiveservices.azure.com": "AZURE_OPENAI_API_KEY",
    "services.ai.azure.com": "AZURE_OPENAI_API_KEY",
}


class Oversized(NoAnswer):
    """A response larger than anything a judge says."""


@dataclass(frozen=True, slots=True)
class Key:
    """A secret and the name of the place it came from. Only the place is ever shown."""

    secret: str = field(repr=False)
    source: str
    others: tuple[str, ...] = field(default=(), repr=False)
    """What else goes to this server and nowhere else: a password, a secret query or header."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """All that must not be shown, the longest first: one may be a part of another."""
        long_enough = {text for text in (self.secret, *self.others) if len(text) >= 6}
        return tuple(sorted(long_enough, key=len, reverse=True))


def hider(keys: Iterable[Key]) -> Callable[[str], str]:
    """Return what takes secrets out of a text, should a server repeat them."""
    secrets = [secret for key in keys for secret in key.secrets]
    secrets = sorted({*secrets}, key=len, reverse=True)

    def hide(text: str) -> str:
        for secret in secrets:
            if secret in text:
                text = text.replace(secret, "…")
        return text

    return hide


def find_key(
    endpoint: Endpoint,
    judge: str,
    options: JudgeOptions,
    environ: Mapping[str, str] | None = None,
) -> Key:
    """Return the key for a server, from the environment or a keyring.

    A provider with a variable of its own gets that key and no other: OpenAI's is none of its business. A server that
    nobody knows may need none; there, a stand-in is sent.
    """
    environ = os.environ if environ is None else environ
    name = options.key_env or _usual_key(endpoint.host)
    headers = [value for name, value in options.headers.items() if _SECRET_HEADER.search(name)]
    hidden = (*endpoint.secrets, *headers)
    if environ.get(name):
        return _checked(Key(environ[name].strip(), name, hidden), judge)
    stored = _from_keyring(name)
    if stored:
        return _checked(Key(stored.strip(), f"{name} in the keyring", hidden), judge)
    if options.key_env or name != USUAL_KEY or endpoint.is_openai:
        raise NotAuthorised(f"{judge}: no key; set the environment variable {name}")
    return Key("none", f"{USUAL_KEY}, which is not set", hidden)


def _usual_key(host: str) -> str:
    for suffix, name in _KEY_BY_HOST.items():
        if host == suffix or host.endswith("." + suffix):
            return name
    return USUAL_KEY


def _checked(key: Key, judge: str) -> Key:
    if not (key.secret.isascii() and key.secret.isprintable()):
        raise NotAuthorised(
            f"{judge}: {key.source} holds a character that no key has; copy the key again"
        )
    return key


def _from_keyring(name: str) -> str | None:
    """Return what the keyring holds for lmmscore under this name; None without the `keyring` extra."""
    try:
        import keyring
    except ImportError:
        return None
    try:
        stored = keyring.get_password("lmmscore", name)
    except keyring.errors.KeyringError:
        return None
    return stored if isinstance(stored, str) else None


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
            # A view, so that what the socket does not take at once is cut off without a copy.
            await writer.write(memoryview(part))

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        """Write every segment; their length is always the one announced."""
        await self.write(writer)


class Connection:
    """The way to one server: one request, one answer, no second thoughts.

    No redirects, no cookies, no retries, no environment but what is read here.
    """

    def __init__(self, endpoint: Endpoint, key: Key, options: JudgeOptions) -> None:
        self._url = endpoint.masked_url
        self._query = f"?{endpoint.query}" if endpoint.query else ""
        self._urls: dict[str, URL] = {}
        self._headers = _headers(endpoint, key, options)
        self._session_header = options.session_header
        self._proxy = _proxy_for(URL(self._url))
        self._most_bytes = int(options.max_response_mb * 1e6)
        self._timeout = aiohttp.ClientTimeout(
            total=options.timeout_s,
            sock_connect=min(CONNECT_TIMEOUT_S, options.timeout_s),
            sock_read=options.stall_s if options.stream else None,
        )
        self._session: aiohttp.ClientSession | None = None

    async def post(self, path: str, body: Body, session_id: str = "") -> Answer:
        """Send a JSON body, segment by segment. Raises NoAnswer."""
        headers = {self._session_header: session_id} if self._session_header else None
        return await self._send(path, Segments(body), headers)

    async def upload(self, data: bytes, mime: str) -> Answer:
        """Send a picture to Files, under a name that says nothing. Raises NoAnswer."""
        form = aiohttp.FormData()
        form.add_field("purpose", "vision")
        form.add_field("expires_after[anchor]", "created_at")
        form.add_field("expires_after[seconds]", str(_FILE_KEPT_S))
        name = f"picture.{mime.partition('/')[2]}"
        form.add_field("file", data, filename=name, content_type=mime)
        return await self._send("/files", form, None)

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(self, path: str, data: Any, headers: Mapping[str, str] | None) -> Answer:
        session = self._session or self._open()
        try:
            async with session.post(
                self._address_of(path),
                data=data,
                headers=headers,
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

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """Return the body, unpacked. A server must not be able to fill the memory of this machine."""
        parts: list[bytes] = []
        size = 0
        async for part in response.content.iter_any():
            size += len(part)
            if size > self._most_bytes:
                response.close()
                raise Oversized(f"more than {self._most_bytes / 1e6:g} MB", reached=True)
            parts.append(part)
        return b"".join(parts)

    def _address_of(self, path: str) -> URL:
        url = self._urls.get(path)
        if url is None:
            url = self._urls[path] = URL(self._url + path + self._query, encoded=True)
        return url

    def _open(self) -> aiohttp.ClientSession:
        context = _trust() if self._url.startswith("https") else True
        # No limit here: how many questions are in flight is decided in one place, the pace.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S, ssl=context)
        # aiohttp's trust_env would look for .netrc and proxies again, in a thread, at every request.
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            timeout=self._timeout,
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self._session


def _headers(endpoint: Endpoint, key: Key, options: JudgeOptions) -> CIMultiDict[str]:
    headers: CIMultiDict[str] = CIMultiDict()
    headers["User-Agent"] = f"lmmscore/{__version__}"
    headers["Accept"] = "application/json"
    key_header = options.key_header
    if not key_header and endpoint.is_azure and "/deployments/" in endpoint.url.path:
        key_header = "api-key"
    if key_header:
        headers[key_header] = key.secret
    else:
        headers["Authorization"] = f"Bearer {key.secret}"
    if endpoint.credentials is not None:
        pair = base64.b64encode(":".join(endpoint.credentials).encode()).decode()
        headers["Authorization"] = f"Basic {pair}"
    if endpoint.is_openai:
        headers.update(_openai_environment())
    headers.update(options.headers)
    return headers


def _openai_environment() -> dict[str, str]:
    """Return the headers that the environment asks for, which are no business of other servers."""
    found = {
        "OpenAI-Organization": os.environ.get("OPENAI_ORG_ID", ""),
        "OpenAI-Project": os.environ.get("OPENAI_PROJECT_ID", ""),
    }
    for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines():
        name, _, value = line.partition(":")
        found[name.strip()] = value.strip()
    return {name: value for name, value in found.items() if name and value}


def _trust() -> ssl.SSLContext:
    """Return whom to trust: SSL_CERT_FILE and SSL_CERT_DIR where set, else the system's own list."""
    named = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")
    if platform.system() in {"Darwin", "Windows"} and not named:
        # OpenSSL cannot read the lists that these systems keep.
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return ssl.create_default_context()


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
            f"the environment names the proxy {mask(proxy)}, which speaks another language than "
            f"HTTP; name an http:// one, or add {host} to NO_PROXY"
        )
    return proxy


def _unsafe(error: aiohttp.ClientSSLError) -> NoAnswer:
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
    if isinstance(error, aiohttp.ClientResponseError):
        # Its full text names the address, and whatever is secret in it.
        return f"{error.status}, {error.message}"
    return mask(str(error)) or type(error).__name__
