"""The live page: a run watched through server-sent events. It answers questions and takes none."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from aiohttp import web

from lmmscore.errors import LmmscoreError
from lmmscore.web.live_run import LiveRun
from lmmscore.web.pages import add_headers, asset_response, log_failure, no_icon, render

_log = logging.getLogger("lmmscore.web")

LOOK_S = 1.0
"""How often the files are looked at while somebody watches."""

BEAT_S = 15.0
"""A line is sent at least so often, so that a dead connection is noticed."""

RETRY_MS = 1000
"""How soon a browser connects again when the page was away."""


class LivePage:
    """Handlers of the live page; any number may watch, the files are looked at once for all."""

    def __init__(
        self,
        path: Path,
        opened: Callable[[Path], LiveRun],
        reported: Callable[[Path], Path],
        token: str,
    ) -> None:
        """`opened` opens the run once it is there; `reported` gives the file of its report."""
        self.token = token
        self._reported = reported
        self._path = path
        self._opened = opened
        self._live: LiveRun | None = None
        self._snapshot: dict[str, Any] = {}
        self._changed = asyncio.Condition()
        self._number = 0
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="watch")
        self._looking: asyncio.Task[None] | None = None
        self._closing = False

    def app(self) -> web.Application:
        """Return the application; every route wants the token of the link."""
        app = web.Application(client_max_size=1024, middlewares=[_guard])
        app.router.add_get("/favicon.ico", no_icon)
        app.router.add_get("/w/{token}/", self._page)
        app.router.add_get("/w/{token}/events", self._events)
        app.router.add_get("/w/{token}/report", self._report)
        app.router.add_get("/w/{token}/assets/{name}", self._asset)
        app.on_startup.append(self._begin)
        app.on_shutdown.append(self._end)

        return app

    async def _begin(self, _: web.Application) -> None:
        await self._look()
        self._looking = asyncio.create_task(self._look_on())

    async def _end(self, _: web.Application) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        async with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._reader.shutdown()

    async def _look_on(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await self._look()

    async def _look(self) -> None:
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._reader, self._read)
        except (LmmscoreError, OSError) as error:
            # Files being moved or the run being started again: say so, and look again.
            found = {**self._snapshot, "trouble": str(error)}
        except Exception:
            # A mistake of ours must not end the watching: the next look may succeed.
            _log.exception("looking at the run failed")
            found = {**self._snapshot, "trouble": "Looking at the run failed; see the terminal."}
        if found != self._snapshot:
            async with self._changed:
                self._snapshot = found
                self._number += 1
                self._changed.notify_all()

    def _read(self) -> dict[str, Any]:
        if self._live is None:
            # The page may be there before the run has written anything.
            self._live = self._opened(self._path)
        self._live.refresh()
        return {**self._live.snapshot(), "trouble": ""}

    def _check(self, request: web.Request) -> None:
        given = request.match_info["token"].encode()
        if not hmac.compare_digest(given, self.token.encode()):
            raise web.HTTPNotFound

    async def _page(self, request: web.Request) -> web.Response:
        self._check(request)
        return web.Response(text=render("watch.html.j2", {}), content_type="text/html")

    async def _asset(self, request: web.Request) -> web.Response:
        self._check(request)
        return asset_response(request.match_info["name"])

    async def _report(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        loop = asyncio.get_running_loop()
        try:
            path = await loop.run_in_executor(None, self._reported, self._path)
        except LmmscoreError as error:
            return web.Response(status=503, text=f"There is no report yet: {error}\n")

        # The report brings a policy of its own, by digest; ours would forbid what it holds.
        response = web.FileResponse(path)
        response.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
        response.content_type = "text/html"

        return response

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Send what changed, part by part; first of all everything."""
        self._check(request)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        add_headers(response)
        await response.prepare(request)
        await response.write(f"retry: {RETRY_MS}\n\n".encode())
        sent: dict[str, Any] = {}
        number = -1
        while not self._closing:
            if number != self._number:
                number, now = self._number, self._snapshot
                await response.write(_event(_difference(sent, now)))
                sent = now
            else:
                await response.write(b": here\n\n")
            await self._wait_after(number)

        return response

    async def _wait_after(self, number: int) -> None:
        async with self._changed:
            try:
                await asyncio.wait_for(
                    self._changed.wait_for(lambda: self._closing or self._number != number), BEAT_S
                )
            except TimeoutError:
                return


def _difference(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the parts that changed; of the grid, the rows that changed."""
    told = {name: part for name, part in now.items() if before.get(name) != part}
    grid, old = told.get("grid"), before.get("grid")
    if (
        grid
        and old
        and grid["methods"] == old["methods"]
        and len(grid["items"]) == len(old["items"])
    ):
        pairs = zip(old["items"], grid["items"], strict=True)
        changed = {place: new for place, (was, new) in enumerate(pairs) if was != new}
        told["grid"] = {**grid, "items": None, "changed": changed}

    return told


def _event(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False, allow_nan=False)}\n\n".encode()


@web.middleware
async def _guard(request: web.Request, handler: Any) -> web.StreamResponse:
    try:
        response: web.StreamResponse = await handler(request)
    except web.HTTPException as error:
        response = web.Response(status=error.status, text=f"{error.status}: not here\n")
    except (ConnectionResetError, asyncio.CancelledError):
        raise
    except Exception:
        log_failure(request)
        response = web.Response(status=500, text="500: something went wrong; see the terminal\n")
    if not response.prepared:
        add_headers(response)
    return response
