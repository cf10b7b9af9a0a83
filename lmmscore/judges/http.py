"""The way to one server: its key, the openai package's client, and our transport beside it.

The openai package builds one request for each address; every body with that head goes to
`Transport`, on top of aiohttp, which never joins its segments. Errors of the connection become
`NoAnswer` here, and only here.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
import openai
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload
from multidict import CIMultiDict
from openai._models import FinalRequestOptions
from yarl import URL

from lmmscore.errors import JudgeFileError, NotAuthorised
from lmmscore.judges.config import Endpoint, JudgeOptions, mask
from lmmscore.judges.faults import Answer, NoAnswer, sound_text
from lmmscore.resources import __version__

CONNECT_TIMEOUT_S = 20.0
KEEPALIVE_S = 60.0
"""How long an idle connection is kept: the turns of a session follow each other in less."""
SMALL_BYTES = 16_384
"""Neighbouring segments below this are joined: a copy of so little costs less than one more write.
"""
USUAL_KEY = "OPENAI_API_KEY"
SHORTEST_SECRET = 6
"""What is shorter is no secret, and occurs in any text."""
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
_FILE_KEPT_S = 7 * 24 * 3600
_UNSAID = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
"""What the package tells servers about this machine is nobody's business here, and costs time."""
_UNKNOWN_ISSUER = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for a certificate that is self-signed, or signed by someone unknown here."""
_URL_SAFE = str.maketrans("+/", "-_")
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
    def secrets(self) -> list[str]:
        """All that must not be shown, in every form that a server may repeat it in."""
        whole = [text for text in (self.secret, *self.others) if len(text) >= SHORTEST_SECRET]
        return [form for text in whole for form in _forms(text)]


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and as it looks inside an address, in JSON and in base64."""
    yield secret
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    # In base64 it looks different at each of three places in what is encoded with it; characters
    # that depend on its neighbours are left out.
    data = secret.encode("utf-8", "replace")
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + data).decode()
        certain = encoded[(8 * shift + 5) // 6 : (shift + len(data)) * 8 // 6]
        if len(certain) >= SHORTEST_SECRET:
            yield certain
            yield certain.translate(_URL_SAFE)


def hider(keys: Iterable[Key]) -> Callable[[str], str]:
    """Return what takes secrets out of a text, should a server repeat them in whatever case."""
    forms = {form.lower() for key in keys for form in key.secrets}
    # The longest first: one may be a part of another.
    secrets = sorted(forms, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, secrets)), re.IGNORECASE)

    def hide(text: str) -> str:
        lowered = text.lower()
        if any(secret in lowered for secret in secrets):
            return pattern.sub("…", text)
        return text

    return hide


def find_key(
    endpoint: Endpoint,
    judge: str,
    options: JudgeOptions,
    environ: Mapping[str, str] | None = None,
) -> Key:
    """Return the key for a server, from the environment or a keyring.

    A provider with a variable of its own gets that key and no other: OpenAI's is none of its
    business. A server that nobody knows may need none; there, a stand-in is sent.
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
    """Return a key that a header can carry. Raises NotAuthorised."""
    if not (key.secret.isascii() and key.secret.isprintable()):
        raise NotAuthorised(
            f"{judge}: {key.source} holds a character that no key has; copy the key again"
        )
    return key


def _from_keyring(name: str) -> str | None:
    """Return what the keyring holds under this name; None without the `keyring` extra."""
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
            f"the environment names the proxy {mask(proxy)}, which speaks another language than "
            f"HTTP; name an http:// one, or add {host} to NO_PROXY"
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

    # aiohttp quotes what it cannot read, be it a megabyte.
    return re.split(r"\n|b['\"]|bytearray\(", text)[0].strip(" :")[:200]


class Connection:
    """The way to one server: one request, one answer, no second thoughts."""

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
        head = await self._head(path)
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
        head = await self._head("/files")
        headers = head.headers.copy()
        # Only the form knows what separates its parts.
        headers.popall("Content-Type", None)
        return await self._transport.post(RequestHead(head.url, headers), form)

    async def _head(self, path: str) -> RequestHead:
        """Have the package build a request, from its environment too; all others are like it.

        Its own way of sending would build each one again, which costs more than sending it.
        """
        known = self._heads.get(path)
        if known is not None:
            return known

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
        # A redirect would take the key, and a file of questions, to somebody else.
        http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
    )
    return client, _unsent(endpoint, options)


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
