"""A real HTTP server on loopback that speaks Chat Completions, Responses and Files, and fails when told to.

It runs in a thread of its own. Its replies are a function of what was asked, so that a run full of faults must end
with the same replies as a calm one.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
import random
import socket
import ssl
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Fault = Callable[["Server", web.Request], Any]


@dataclass
class Served:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    """By name, in whatever case."""
    body: Any
    size: int
    arrived_s: float
    query: str = ""


@dataclass
class Server:
    """What the server saw, and how it is to behave."""

    delay_s: float = 0.0
    reply: Callable[[list[dict[str, Any]]], str] = lambda messages: digest_of(messages)
    script: list[Any] = field(default_factory=list)
    """Answers to give first, in order: a dict or bytes (200), a (status, headers, body), or a coroutine function."""
    fault_share: float = 0.0
    seed: int = 1
    lose_state_after: int | None = None
    keeps: bool = True
    """Whether a `previous_response_id` means anything to it."""
    names_state: bool = True
    """Whether its answers name the response they continue."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Fields that every chat completion carries besides its own."""
    answer_headers: dict[str, str] = field(default_factory=dict)
    apis: frozenset[str] = frozenset({"chat", "responses", "files"})
    served: list[Served] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    """How often each question got a whole answer."""
    destroyed: Counter[str] = field(default_factory=Counter)
    """How often the answer to each question was made and then lost to a fault."""
    faults: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    most_in_flight: int = 0
    url: str = ""
    states: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.numbers = itertools.count(1)

    def paths(self) -> list[str]:
        """The paths asked for, in order."""
        return [one.path for one in self.served]


SERVER = web.AppKey("server", Server)


def digest_of(messages: list[dict[str, Any]]) -> str:
    """The default reply: a digest of everything asked."""
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()[:16]


def completion(text: str, **message: Any) -> dict[str, Any]:
    """A Chat Completions body with this reply."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "tiny-2025-01-01",
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "finish_reason": message.pop("finish_reason", "stop"),
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {
            "prompt_tokens": 1000,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 400},
            "completion_tokens_details": {"reasoning_tokens": 7},
        },
    }


def error(message: str, **fields: Any) -> dict[str, Any]:
    """An error body the way OpenAI writes it."""
    return {
        "error": {
            "message": message,
            "type": "invalid_request_error",
            "param": None,
            "code": None,
            **fields,
        }
    }


@contextlib.contextmanager
def serving(server: Server, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Serve on a free port of loopback while the block runs."""
    app = web.Application(client_max_size=1 << 30)
    app[SERVER] = server
    app.router.add_route("*", "/{path:.*}", _handle)
    with serving_app(app, tls) as url:
        server.url = f"{url}/v1"
        yield server


@contextlib.contextmanager
def serving_app(app: web.Application, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve an application on a free port of loopback; yield its address."""

    @contextlib.asynccontextmanager
    async def host() -> AsyncIterator[str]:
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024, ssl_context=tls)
        await site.start()
        _, port = runner.addresses[0]
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        await runner.cleanup()

    with beside(host) as url:
        yield url


@contextlib.contextmanager
def beside(host: Callable[[], contextlib.AbstractAsyncContextManager[str]]) -> Iterator[str]:
    """Keep a server up in a thread of its own while the block runs; yield the address it gives."""
    begun: Future[tuple[str, Callable[[], None]]] = Future()

    async def main() -> None:
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        async with host() as address:
            begun.set_result((address, lambda: loop.call_soon_threadsafe(over.set)))
            await over.wait()

    def serve() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:
            if begun.done():
                raise
            begun.set_exception(error)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    address, stop = begun.result(60)
    try:
        yield address
    finally:
        stop()
        thread.join(60)


@contextlib.contextmanager
def closed_port() -> Iterator[str]:
    """An address at which nothing listens, held so that nobody else comes to listen there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


async def until_hung_up(request: web.Request) -> None:
    """Answer nothing until the client has had enough."""
    while request.transport is not None and not request.transport.is_closing():
        await asyncio.sleep(0.01)


async def _handle(request: web.Request) -> web.StreamResponse:
    server: Server = request.app[SERVER]
    raw = await request.read()
    try:
        body = json.loads(raw)
    except ValueError:
        body = raw
    now_s = asyncio.get_running_loop().time()
    server.served.append(
        Served(request.path, request.headers.copy(), body, len(raw), now_s, request.query_string)
    )
    server.in_flight += 1
    server.most_in_flight = max(server.most_in_flight, server.in_flight)
    try:
        if server.script:
            return await _scripted(server, server.script.pop(0), request)
        return await _play(server, request, body)
    finally:
        server.in_flight -= 1


async def _scripted(server: Server, step: Any, request: web.Request) -> web.StreamResponse:
    if callable(step):
        step = await step(request)
    if isinstance(step, web.StreamResponse):
        return step
    status, headers, content = step if isinstance(step, tuple) else (200, {}, step)
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return web.Response(status=status, headers=headers, body=data, content_type="application/json")


async def _play(server: Server, request: web.Request, body: Any) -> web.StreamResponse:
    kind = request.path.removeprefix("/v1/").split("/")[0]
    if kind not in server.apis:
        return web.json_response({"detail": "Not Found"}, status=404)
    if kind == "files":
        return await _upload(server, body)
    fault = server.rng.random() < server.fault_share
    if fault:
        response = await _early_fault(server, request)
        if response is not None:
            return response
    await asyncio.sleep(server.delay_s)
    answer = _chat(server, body) if kind == "chat" else _responses(server, body)
    if isinstance(answer, web.Response):
        return answer
    if fault:
        return await _late_fault(server, request, answer, digest_of([body]))
    server.answered[digest_of([body])] += 1
    return web.json_response(answer, headers=server.answer_headers)


async def _early_fault(server: Server, request: web.Request) -> web.StreamResponse | None:
    """Faults before any answer is made; None leaves it to the faults that destroy one."""
    kind = server.rng.choice(["429", "429 ms", "500", "503", "409", "late", "late", "late"])
    server.faults[kind] += 1
    if kind == "429":
        return web.json_response(
            error("slow down", type="requests"), status=429, headers={"Retry-After": "0"}
        )
    if kind == "429 ms":
        headers = {"retry-after-ms": "20"}
        return web.json_response(error("slow down", type="tokens"), status=429, headers=headers)
    if kind in {"500", "503", "409"}:
        return web.Response(status=int(kind), text="<html>oops</html>", content_type="text/html")
    return None


async def _late_fault(
    server: Server, request: web.Request, answer: Any, key: str
) -> web.StreamResponse:
    server.destroyed[key] += 1
    data = json.dumps(answer).encode()
    kind = server.rng.choice(["dropped", "cut", "garbage", "no choices"])
    server.faults[kind] += 1
    assert request.transport is not None
    if kind == "dropped":
        request.transport.abort()
        return web.Response()
    if kind == "garbage":
        return web.Response(body=data[: len(data) // 2], content_type="application/json")
    if kind == "no choices":
        return web.json_response({"id": "x", "choices": []})
    response = web.StreamResponse(
        headers={"Content-Length": str(len(data)), "Content-Type": "application/json"}
    )
    await response.prepare(request)
    await response.write(data[: len(data) // 2])
    request.transport.abort()
    return response


def _chat(server: Server, body: dict[str, Any]) -> dict[str, Any]:
    return {**completion(server.reply(body["messages"])), **server.extra}


async def _upload(server: Server, raw: bytes) -> web.Response:
    name = f"file-{len(server.files) + 1}"
    server.files[name] = raw
    return web.json_response({"id": name, "object": "file", "bytes": len(raw), "purpose": "vision"})


def _responses(server: Server, body: dict[str, Any]) -> Any:
    before: list[dict[str, Any]] = []
    state = body.get("previous_response_id") if server.keeps else None
    if state is not None:
        if state not in server.states:
            said = f"Previous response with id '{state}' not found."
            complaint = error(
                said, param="previous_response_id", code="previous_response_not_found"
            )
            return web.json_response(complaint, status=400)
        before = server.states[state]
    messages = [*before, *body["input"]]
    text = server.reply(messages)
    name = f"resp_{next(server.numbers)}"
    spoken = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }
    server.states[name] = [*messages, spoken]
    if server.lose_state_after is not None and len(server.states) == server.lose_state_after:
        server.states.clear()
    named = {"previous_response_id": state} if server.names_state else {}
    return {
        "id": name,
        "object": "response",
        **named,
        "status": "completed",
        "model": "tiny-2025-01-01",
        "output": [
            {"type": "reasoning", "summary": []},
            {**spoken, "id": "msg_1", "status": "completed"},
        ],
        "usage": {
            "input_tokens": 900,
            "output_tokens": 40,
            "input_tokens_details": {"cached_tokens": 300},
        },
    }


def playing(messages: list[dict[str, Any]]) -> str:
    """A judge for the lmm-score dialogue: its scores are a function of the edits it is shown, whatever their order."""
    parts = [part for one in messages for part in _parts(one)]
    shown = [json.dumps(part) for part in parts if part["type"] in {"image_url", "input_image"}]
    last = _parts(messages[-1])[-1]["text"]
    if last.startswith("Now give your scores"):
        return "\n\n".join(_verdict(number, url) for number, url in enumerate(shown[1:], start=1))
    return f"I have seen {len(shown)} images and take note."


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _verdict(number: int, url: str) -> str:
    digest = hashlib.sha256(url.encode()).digest()
    factors = zip(("S_acc", "S_pre", "S_qua", "S_real"), digest, strict=False)
    return f"Image {number}:\n" + "\n".join(f"- {name}: {1 + byte % 10}" for name, byte in factors)
