"""The rating page, as a server with one link per rater, and as a folder.

On a server, an answer is on the disk before the page says so; in a folder, the page keeps it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from aiohttp import web
from markupsafe import Markup

from lmmscore.errors import FileProblem, ImageProblem, LmmscoreError
from lmmscore.report.page.markup import inline_policy
from lmmscore.web.database import Assignment, Rater
from lmmscore.web.pages import (
    add_headers,
    asset,
    asset_response,
    log_failure,
    markdown,
    no_icon,
    render,
)
from lmmscore.web.rating import (
    PICTURE_SUFFIX,
    PICTURE_TYPE,
    AnswerRefused,
    PictureFolder,
    RatingStudy,
    prepared,
)
from lmmscore.web.study import letters

Found = TypeVar("Found")

MOST_BYTES = 64 * 1024
"""Of one request; an answer is a few hundred."""

MOST_RATERS = 10_000

OUTSIDE_ID = re.compile(r"[A-Za-z0-9_.@-]{1,64}")

SAFE = "Something went wrong on our side. What was saved is safe; please try again in a minute."


STYLES = ("base.css", "rate.css")
SCRIPTS = ("theme.js", "rate_viewer.js", "rate_store.js", "rate.js")
"""In the order of their imports: the page from a disk cannot import, so they become one script."""

_IMPORT = re.compile(r"^import .*;$", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


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
        app = web.Application(client_max_size=MOST_BYTES, middlewares=[_guard])
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


@web.middleware
async def _guard(request: web.Request, handler: Any) -> web.StreamResponse:
    """Answer every trouble in words for the rater; paths, names and tracebacks stay here."""
    try:
        response: web.StreamResponse = await handler(request)
    except AnswerRefused as refused:
        response = _trouble(request, refused.status, refused.code, str(refused))
    except web.HTTPRequestEntityTooLarge:
        text = "This is far too long; nothing of it was saved. Please shorten it."
        response = _trouble(request, 413, "too-long", text)
    except web.HTTPException as error:
        if error.status < 400:
            add_headers(error)
            raise

        response = _trouble(request, error.status, "no-page", "There is no such page.")
    except (FileProblem, ImageProblem):
        log_failure(request)
        response = _trouble(request, 503, "not-now", SAFE)
    except Exception:
        # The border: whatever it is, a rater hears of it in words; its traceback goes to our log.
        log_failure(request)
        response = _trouble(request, 500, "our-fault", SAFE)

    add_headers(response)
    return response


def _trouble(request: web.Request, status: int, code: str, text: str) -> web.Response:
    wants_page = "text/html" in request.headers.get("Accept", "")
    if not wants_page:
        return web.json_response({"error": text, "code": code}, status=status)

    deep = "/r/" in request.path
    return _html(render("trouble.html.j2", {"text": text, "base": _up(request, deep)}), status)


def _up(request: web.Request, deep: bool) -> str:
    """Return the way from this page to the assets, whatever prefix it is under."""
    if not deep:
        return "assets/"
    below = request.path.rpartition("/r/")[2]
    return "../" * (below.count("/") + 1) + "assets/"


# As a folder, for any web space or a USB stick. It holds letters, random names and pictures; the
# key from letters to methods stays in the study's database.


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
