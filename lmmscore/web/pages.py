"""The pages on which people rate and watch, their server, and the rating page as a folder.

On a server, an answer is on the disk before the page says so; in a folder, the page keeps it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import os
import re
import signal
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from aiohttp import web
from jinja2 import Environment
from markdown_it import MarkdownIt
from markupsafe import Markup

from lmmscore.errors import FileProblem, ImageProblem, LmmscoreError
from lmmscore.images import encode, fit, load_rgb, ruined
from lmmscore.web import inline_policy, page_templates, policy
from lmmscore.web.rating import AnswerRefused, PictureWanted, RatingStudy
from lmmscore.web.study import Assignment, Rater, letters

if TYPE_CHECKING:
    from lmmscore.web.live import LiveRun

_log = logging.getLogger("lmmscore.web")

SAFE = "Something went wrong on our side. What was saved is safe; please try again in a minute."

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
    """Return a page made from a template."""
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
    """Answer browsers that ask for an icon: there is none."""
    return web.Response(status=204)


def add_headers(response: web.StreamResponse) -> None:
    """Add the headers that keep foreign code out, and hide the server's version."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers["Server"] = "lmmscore"


Trouble = Callable[[web.Request, int, str, str], web.Response]
"""Makes the answer to a request that failed, of its status, a code for the page, and words."""


def _guard(answer: Trouble) -> Any:
    """Return a middleware that answers every trouble in words; paths and tracebacks stay here."""

    @web.middleware
    async def guarded(request: web.Request, handler: Any) -> web.StreamResponse:
        try:
            response: web.StreamResponse = await handler(request)
        except AnswerRefused as refused:
            response = answer(request, refused.status, refused.code, str(refused))
        except web.HTTPRequestEntityTooLarge:
            text = "This is far too long; nothing of it was saved. Please shorten it."
            response = answer(request, 413, "too-long", text)
        except web.HTTPException as error:
            if error.status < 400:
                add_headers(error)
                raise

            response = answer(request, error.status, "no-page", "There is no such page.")
        except (FileProblem, ImageProblem):
            _log_failure(request)
            response = answer(request, 503, "not-now", SAFE)
        except Exception:
            # The border: whatever it is, the visitor hears of it in words, and our log has the
            # traceback.
            _log_failure(request)
            response = answer(request, 500, "our-fault", SAFE)

        if not response.prepared:
            add_headers(response)

        return response

    return guarded


def _log_failure(request: web.Request) -> None:
    """Log an error of ours with its traceback, but no address and no token of a rater."""
    route = request.match_info.route.resource
    _log.exception("%s %s failed", request.method, route.canonical if route else "?")


# --------------------------------------------------------------------------------------------------
# The rating page: one link per rater.
# --------------------------------------------------------------------------------------------------


Found = TypeVar("Found")

MOST_BYTES = 64 * 1024
"""Of one request; an answer is a few hundred."""

MOST_RATERS = 10_000

OUTSIDE_ID = re.compile(r"[A-Za-z0-9_.@-]{1,64}")

STYLES = ("base.css", "rate.css")
SCRIPTS = ("theme.js", "rate_viewer.js", "rate_store.js", "rate.js")
"""In the order of their imports: the page from a disk cannot import, so they become one script."""

_IMPORT = re.compile(r"^import .*;$", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)

PICTURE_SUFFIX = ".webp"
PICTURE_TYPE = "image/webp"


@dataclass(frozen=True, slots=True)
class Doors:
    """How raters get in."""

    open_registration: bool = False
    valid_days: int = 90
    prefix: str = ""
    """The path under which a reverse proxy hands requests on, if it keeps it."""


class RatingPage:
    """Handlers of the rating page."""

    def __init__(self, rating: RatingStudy, pictures: PictureFolder, doors: Doors) -> None:
        self._rating = rating
        self._pictures = pictures
        self._doors = doors
        # One thread for the database: assignments are made one after the other.
        self._desk = ThreadPoolExecutor(1, thread_name_prefix="ratings")
        self._painters = ThreadPoolExecutor(2, thread_name_prefix="pictures")

    def app(self) -> web.Application:
        """Return the application with all its routes."""
        app = web.Application(client_max_size=MOST_BYTES, middlewares=[_guard(_in_words)])
        for prefix in dict.fromkeys(["", self._doors.prefix]):
            own = f"{prefix}/r/{{token}}"
            if prefix:
                app.router.add_get(prefix, self._front_with_slash)

            app.router.add_get(f"{prefix}/", self._front)
            app.router.add_post(f"{prefix}/register", self._register)
            app.router.add_get(f"{prefix}/assets/{{name}}", self._asset)
            app.router.add_get(own, self._with_slash)
            app.router.add_get(f"{own}/", self._page)
            app.router.add_get(f"{own}/state", self._state)
            app.router.add_post(f"{own}/consent", self._consent)
            app.router.add_post(f"{own}/answer", self._answer)
            app.router.add_post(f"{own}/next", self._next)
            app.router.add_get(f"{own}/image/{{name}}", self._image)

        app.router.add_get("/favicon.ico", no_icon)
        app.on_cleanup.append(self._close)

        return app

    async def _close(self, _: web.Application) -> None:
        for pool in (self._desk, self._painters):
            pool.shutdown()

    async def _at_desk(self, work: Callable[..., Found], *values: Any) -> Found:
        return await asyncio.get_running_loop().run_in_executor(self._desk, work, *values)

    async def _rater(self, request: web.Request) -> Rater:
        return await self._at_desk(self._rating.rater, request.match_info["token"])

    # Getting in

    async def _front(self, request: web.Request) -> web.Response:
        outside_id = request.query.get("PROLIFIC_PID", "")
        if not self._doors.open_registration:
            raise AnswerRefused(404, "no-link", "Please use the personal link you were given.")

        if not outside_id:
            return _html(render("front.html.j2", {}))

        if not OUTSIDE_ID.fullmatch(outside_id):
            raise AnswerRefused(400, "bad-id", "PROLIFIC_PID is not an id; please use your link.")

        rater = await self._at_desk(self._enrol, outside_id)
        raise web.HTTPSeeOther(f"r/{rater.token}/")

    async def _front_with_slash(self, request: web.Request) -> web.Response:
        last = request.path.rpartition("/")[2]
        raise web.HTTPSeeOther(f"{last}/?{request.query_string}".rstrip("?"))

    async def _register(self, request: web.Request) -> web.Response:
        if not self._doors.open_registration:
            raise AnswerRefused(404, "no-link", "Please use the personal link you were given.")

        if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            # A form on somebody else's page must not fill the study with raters.
            raise AnswerRefused(403, "cross-site", "Please open the address of the study itself.")

        rater = await self._at_desk(self._enrol, "")
        raise web.HTTPSeeOther(f"r/{rater.token}/")

    def _enrol(self, outside_id: str) -> Rater:
        database = self._rating.database
        if len(database.raters()) >= MOST_RATERS:
            raise AnswerRefused(503, "full", "This study takes no more raters.")
        return database.add_rater(self._doors.valid_days, outside_id)

    # The page

    async def _asset(self, request: web.Request) -> web.Response:
        return asset_response(request.match_info["name"])

    async def _with_slash(self, request: web.Request) -> web.Response:
        # Addresses in the page are relative, so that it works under any prefix.
        raise web.HTTPSeeOther(f"{request.match_info['token']}/")

    async def _page(self, request: web.Request) -> web.Response:
        await self._rater(request)
        values = {
            "instructions": markdown(self._rating.study.instructions),
            "base": "../../assets/",
        }
        return _html(render("rate.html.j2", {**values, "inline": None}))

    async def _state(self, request: web.Request) -> web.Response:
        rater = await self._rater(request)
        return web.json_response(await self._at_desk(self._rating.state, rater))

    async def _consent(self, request: web.Request) -> web.Response:
        rater = await self._rater(request)
        await _sent(request)
        await self._at_desk(self._rating.database.consent, rater)
        return await self._state(request)

    async def _answer(self, request: web.Request) -> web.Response:
        rater = await self._rater(request)
        sent = await _sent(request)
        return web.json_response(await self._at_desk(self._rating.answer, rater, sent))

    async def _next(self, request: web.Request) -> web.Response:
        rater = await self._rater(request)
        sent = await _sent(request)
        return web.json_response(await self._at_desk(self._rating.advance, rater, sent))

    async def _image(self, request: web.Request) -> web.Response:
        rater = await self._rater(request)
        name = request.match_info["name"]
        wanted = await self._at_desk(self._rating.picture, rater, name)
        loop = asyncio.get_running_loop()
        data = await loop.run_in_executor(self._painters, self._pictures.data, name, wanted)
        # Pictures go by random names and never change: the browser may keep them for this visit.
        headers = {"Cache-Control": "private, max-age=86400, immutable"}

        return web.Response(body=data, content_type=PICTURE_TYPE, headers=headers)


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, content_type="text/html", charset="utf-8", status=status)


async def _sent(request: web.Request) -> Any:
    if request.content_type != "application/json":
        raise AnswerRefused(415, "malformed", "Answers are sent as JSON.")
    try:
        return json.loads(await request.text())
    except (ValueError, RecursionError) as error:
        raise AnswerRefused(400, "malformed", "The answer is not understood.") from error


def _in_words(request: web.Request, status: int, code: str, text: str) -> web.Response:
    wants_page = "text/html" in request.headers.get("Accept", "")
    if not wants_page:
        return web.json_response({"error": text, "code": code}, status=status)

    deep = "/r/" in request.path
    return _html(render("trouble.html.j2", {"text": text, "base": _up(request, deep)}), status)


def _up(request: web.Request, deep: bool) -> str:
    """Return the path from this page to the assets, whatever prefix it is under."""
    if not deep:
        return "assets/"
    below = request.path.rpartition("/r/")[2]
    return "../" * (below.count("/") + 1) + "assets/"


# Pictures as raters get them: nothing but pixels, under random names, encoded once


class PictureFolder:
    """Re-encoded pictures of a study, kept beside its database for the next start."""

    def __init__(self, folder: Path, max_side_px: int) -> None:
        self._folder = folder
        self._max_side_px = max_side_px
        self._lock = threading.Lock()
        self._making: dict[str, threading.Lock] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileProblem(f"{folder}: {error.strerror or error}; name another --out") from error

    def data(self, name: str, wanted: PictureWanted) -> bytes:
        """Return a picture as lossless WebP without metadata. Work for a thread."""
        # Another start of the study may want another size.
        path = self._folder / f"{name}-{self._max_side_px}{PICTURE_SUFFIX}"
        with self._lock:
            making = self._making.setdefault(name, threading.Lock())

        with making:
            if not path.is_file():
                _write(path, prepared(wanted, self._max_side_px))

            return path.read_bytes()


def prepared(wanted: PictureWanted, max_side_px: int) -> bytes:
    """Return the encoded pixels of a picture or of a check made from it."""
    item = wanted.item
    path = item.edits[wanted.method] if wanted.kind == "edit" else item.images[wanted.kind]
    image = fit(load_rgb(path), max_side_px)
    if wanted.check == "failure":
        image = ruined(image)

    return encode(image, "webp")


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()

        raise FileProblem(f"{path}: {error.strerror or error}; make room on the disk") from error


# --------------------------------------------------------------------------------------------------
# The rating page as a folder, for any web space or a USB stick. It holds letters, random names and
# pictures; the key from letters to methods stays in the study's database.
# --------------------------------------------------------------------------------------------------


def write_static(
    rating: RatingStudy, raters: Sequence[Rater], folder: Path, post: str, count: Callable[[], None]
) -> Path:
    """Write the page, its pictures and every rater's share; return the page's file."""
    _refuse_foreign(folder)
    shares = {str(rater.number): _share(rating, rater) for rater in raters}
    data = {
        "id": rating.study.id,
        "study": rating.questions(),
        "post": post,
        "raters": shares,
    }
    page = _page(rating.study.instructions, data, post)
    names = {name for share in shares.values() for name in _pictures(share)}
    try:
        (folder / "images").mkdir(parents=True, exist_ok=True)
        for name in sorted(names):
            _write_picture(rating, name, folder / "images" / f"{name}{PICTURE_SUFFIX}")
            count()

        (folder / "index.html").write_text(page, encoding="utf-8")
    except OSError as error:
        raise FileProblem(f"{folder}: {error.strerror or error}; name another folder") from error

    return folder / "index.html"


def _refuse_foreign(folder: Path) -> None:
    if not folder.is_dir():
        return

    foreign = [path.name for path in folder.iterdir() if path.name not in ("index.html", "images")]
    if foreign:
        raise FileProblem(
            f"{folder}: holds other files ({', '.join(sorted(foreign)[:3])}); "
            "name an empty folder, since all of it goes to the raters"
        )


def web_origin(address: str, option: str) -> str:
    """Return the origin of an address that an option names. Raises for what is no web address."""
    try:
        parts = urlsplit(address)
        known = parts.scheme in ("http", "https") and parts.hostname and not parts.username
    except ValueError:
        known = False

    if not known or parts.query or parts.fragment:
        raise LmmscoreError(
            f"{option}: {address!r} is not a web address; write one like https://lab.example.org/rate"
        )
    return f"{parts.scheme}://{parts.netloc}"


def one_script(names: Sequence[str]) -> str:
    """Return our modules as one: imports taken out, exports made plain."""
    joined = "\n\n".join(asset(name) for name in names)
    return _EXPORT.sub("", _IMPORT.sub("", joined)).strip()


def _page(instructions: str, data: dict[str, Any], post: str) -> str:
    styles = [asset(name) for name in STYLES]
    script = one_script(SCRIPTS)
    connect = web_origin(post, "--post") if post else "'none'"
    inline = {
        # From a disk, `self` is nobody: pictures beside the page are files.
        "policy": inline_policy(styles, [script], img_src="'self' file:", connect_src=connect),
        "styles": [Markup(code) for code in styles],
        "script": Markup(script),
        "data": data,
    }
    values = {"instructions": markdown(instructions), "base": "", "inline": inline}

    return render("rate.html.j2", values)


def _share(rating: RatingStudy, rater: Rater) -> dict[str, Any]:
    """Return all screens of a rater, given out at once as if every earlier rater finished."""
    given = rating.hand_out(rater, ahead=10**6)
    return {
        "name": rater.id,
        "code": rater.code,
        "screens": [_screen(rating, each) for each in given],
    }


def _screen(rating: RatingStudy, assignment: Assignment) -> dict[str, Any]:
    screen = rating.screen(assignment, [], 0)
    kept = ("id", "practice", "task", "instruction", "given", "slots", "revision")
    made = {name: screen[name] for name in kept}
    return made | _expected(rating, assignment) if screen["practice"] else made


def _expected(rating: RatingStudy, assignment: Assignment) -> dict[str, Any]:
    practice = next(p for p in rating.study.practice if p.item == assignment.subject.item)
    names = letters(len(assignment.shown))
    expect = [
        [letter, key, low, high]
        for letter, shown in zip(names, assignment.shown, strict=True)
        for key, (low, high) in practice.expect.get(shown.method, {}).items()
    ]
    return {"expect": expect, "told": practice.feedback}


def _pictures(share: dict[str, Any]) -> set[str]:
    found = set()
    for screen in share["screens"]:
        found |= {each["picture"] for each in (*screen["given"], *screen["slots"])}
    return found


def _write_picture(rating: RatingStudy, name: str, path: Path) -> None:
    wanted = rating.picture_of(name)
    path.write_bytes(prepared(wanted, rating.study.max_side_px))


# --------------------------------------------------------------------------------------------------
# The live page: a run watched through server-sent events. It answers questions and takes none.
# --------------------------------------------------------------------------------------------------


LOOK_S = 1.0
"""How often the files are looked at while somebody watches."""

BEAT_S = 15.0
"""Longest pause between two lines sent, so that a dead connection is noticed."""

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
        """Return the application; every route requires the token of the link."""
        app = web.Application(client_max_size=1024, middlewares=[_guard(_briefly)])
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
        """Send everything, then what changes, part by part."""
        self._check(request)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        add_headers(response)
        # Whoever closes the page leaves in the middle of this: that is no failure.
        with contextlib.suppress(ConnectionResetError):
            await response.prepare(request)
            await self._send_changes(response)

        return response

    async def _send_changes(self, response: web.StreamResponse) -> None:
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


def _briefly(_request: web.Request, status: int, _code: str, _text: str) -> web.Response:
    words = "something went wrong; see the terminal" if status >= 500 else "not here"
    return web.Response(status=status, text=f"{status}: {words}\n")
