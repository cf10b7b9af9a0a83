"""What both pages are made of and how they are served: templates, scripts, headers, a server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from aiohttp import web
from jinja2 import Environment
from markdown_it import MarkdownIt
from markupsafe import Markup

from lmmscore.errors import LmmscoreError
from lmmscore.report.page.markup import page_templates, policy

_log = logging.getLogger("lmmscore.web")

ASSETS = Path(__file__).parent / "assets"

TYPES = {".css": "text/css", ".js": "text/javascript"}

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": policy(
        script_src="'self'",
        style_src="'self'",
        img_src="'self'",
        connect_src="'self'",
        form_action="'self'",
        frame_ancestors="'none'",
    ),
}
"""What every response carries: nothing runs but our own files, nothing is kept."""


def render(template: str, values: Mapping[str, Any]) -> str:
    """Return a page."""
    return _templates().get_template(template).render(**values)


@cache
def _templates() -> Environment:
    return page_templates("lmmscore.web", "assets")


def asset(name: str) -> str:
    """Return a style sheet or script of ours."""
    return (ASSETS / name).read_text(encoding="utf-8").strip()


def asset_names() -> frozenset[str]:
    """Return the files a browser may ask for."""
    return frozenset(path.name for path in ASSETS.iterdir() if path.suffix in TYPES)


def markdown(text: str) -> Markup:
    """Return Markdown as HTML. HTML in it is shown, not obeyed; pictures are not fetched."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    return Markup(reader.render(text))


# Serving


@contextlib.asynccontextmanager
async def hosted(app: web.Application, host: str, port: int) -> AsyncIterator[str]:
    """Serve an app while the block runs; give its address. Port 0 takes any free one."""
    # No access log: it would hold addresses of raters, and tokens of links.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=2)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise LmmscoreError(
                f"cannot listen on {host} port {port} ({error.strerror or error}); "
                "choose another --port"
            ) from error

        bound = runner.addresses[0]
        named = f"[{bound[0]}]" if ":" in str(bound[0]) else bound[0]
        yield f"http://{named}:{bound[1]}"
    finally:
        await runner.cleanup()


async def until_interrupted() -> None:
    """Wait for Ctrl-C or SIGTERM."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stopped.set)
        except (NotImplementedError, RuntimeError):
            # Windows has no such thing on its event loop.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stopped.set))

    await stopped.wait()


def asset_response(name: str) -> web.Response:
    """Return one of our own style sheets or scripts."""
    if name not in asset_names():
        raise web.HTTPNotFound
    suffix = name[name.rindex(".") :]
    return web.Response(text=asset(name), content_type=TYPES[suffix], charset="utf-8")


async def no_icon(_: web.Request) -> web.Response:
    """Answer browsers that ask for an icon, which we have not."""
    return web.Response(status=204)


def add_headers(response: web.StreamResponse) -> None:
    """Put on a response what keeps foreign code out, and take off what tells of us."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers["Server"] = "lmmscore"


def log_failure(request: web.Request) -> None:
    """Log an error of ours with its traceback, but no address and no token of a rater."""
    route = request.match_info.route.resource
    _log.exception("%s %s failed", request.method, route.canonical if route else "?")
