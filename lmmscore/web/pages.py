"""The page on which people rate: its server, what a rater is shown, and the page as a folder.

On a server, an answer is on the disk before the page says so; in a folder, the page keeps it. The
server's guard, headers and assets serve the live page too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import random
import re
import signal
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from aiohttp import web
from jinja2 import Environment
from markdown_it import MarkdownIt
from markupsafe import Markup

from lmmscore.benchmark import Benchmark
from lmmscore.conversation import task_in_words
from lmmscore.errors import FileProblem, ImageProblem, LmmscoreError
from lmmscore.images import encode, fit, load_rgb, ruined
from lmmscore.records import Item
from lmmscore.web import inline_policy, page_templates, policy
from lmmscore.web.study import (
    COMMENT_CHARACTERS,
    AnswerRefused,
    Assignment,
    PracticeItem,
    Rater,
    RaterAnswer,
    RatingDatabase,
    ShownEdit,
    Slot,
    Subject,
    answers_for_page,
    checked_answer,
    choose_repeat,
    choose_subject,
    factor_for_page,
    letters,
    order_on_screen,
    seconds_sent,
    slots_for,
    subjects_of,
)

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


def guard(answer: Trouble) -> Any:
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
# What a rater is shown and may answer. The page hears of no method, no item id and no file.
# --------------------------------------------------------------------------------------------------

AHEAD = 2
"""Screens a rater has open: the one they see, and the next, whose pictures are loaded meanwhile."""

ANSWERS_PER_SCREEN = 2_000

NONCE = re.compile(r"[A-Za-z0-9_-]{8,64}")
"""What the page gives an answer, so that one sent twice is kept once."""

REASONS = (
    "The picture is not shown, or is broken",
    "I do not understand the instruction",
    "The factor does not apply to this edit",
    "I find the content disturbing",
    "Another reason",
)

LABELS = {"source": "Source", "reference": "Reference", "marked": "Marked source"}


@dataclass(frozen=True, slots=True)
class PictureWanted:
    """Which file a picture is made from, and how."""

    item: Item
    kind: str
    method: str
    check: Literal["", "source", "failure"]


class RatingStudy:
    """A study in progress: hands out screens, takes answers."""

    def __init__(self, database: RatingDatabase, whole: Benchmark, chosen: Benchmark) -> None:
        """`chosen` is given out from now on; raters may have screens from all of `whole`."""
        self.database = database
        self.study = database.study
        self.items = {item.id: item for item in whole.items}
        self._task_titles = whole.task_titles
        self.subjects = subjects_of(chosen, self.study.covers, self.study.practice)
        self._numbers = {subject: number for number, subject in enumerate(self.subjects)}
        self._check_given(whole)

    def _check_given(self, whole: Benchmark) -> None:
        """Raise where a rater has a screen about something that is no longer in the benchmark."""
        for each in self.database.all_assignments():
            item = self.items.get(each.subject.item)
            wanted = {shown.method for shown in each.shown if shown.kind == "edit"}
            if item is None or wanted - set(item.edits):
                raise FileProblem(
                    f"{whole.path}: raters have been given edits of {each.subject.item!r} that are "
                    "not in it any more; put them back, or begin another study with --out"
                )

    # Who

    def rater(self, token: str) -> Rater:
        """Return the rater of a link. Raises AnswerRefused for a forged or expired one."""
        found = self.database.rater_by_token(token)
        if found is None:
            raise AnswerRefused(404, "unknown", "This link is not valid. Please ask for a new one.")

        if found.expired:
            raise AnswerRefused(410, "expired", "This link has expired. Please ask for a new one.")

        return found

    # Handing out screens

    def hand_out(self, rater: Rater, ahead: int = AHEAD) -> list[Assignment]:
        """Return the rater's screens, after giving them what they are to see next."""
        given = self.database.assignments(rater)
        while sum(not each.done for each in given) < ahead:
            # Another window of this rater may have been given the place: look, do not count.
            before = len(given)
            self._give_one(rater, given)
            given = self.database.assignments(rater)
            if len(given) == before:
                break

        return given

    def _give_one(self, rater: Rater, given: Sequence[Assignment]) -> None:
        """Give the next screen, if there is one."""
        place = len(given)
        practice = self.study.practice
        if place < len(practice):
            self._give_practice(rater, place, practice[place])
            return

        slots = self._slots(rater)
        if place - len(practice) >= len(slots):
            return

        slot = slots[place - len(practice)]
        had = [each.subject for each in given if each.purpose == "rate"]
        # Seeded by the place: two windows that ask at the same time are given the same screen.
        rng = random.Random(f"{self.study.id} {rater.id} {place}")
        covered, shown_before = self.database.counts()
        subject = self._subject(slot, had, covered, rng)
        if subject is None and self._repeats_left(slots, given):
            # Others have covered the rest of the share; what is to be repeated still is.
            slot = Slot("repeat")
            subject = self._subject(slot, had, covered, rng)

        if subject is None:
            return

        number, times = self._numbers.get(subject, 0), shown_before.get(subject, 0)
        shown = order_on_screen(self.study, subject, number, times, slot, rng)
        self.database.assign(rater, place, subject, shown, slot.purpose)

    def questions(self) -> dict[str, Any]:
        """Return what is asked on every screen."""
        return {
            "covers": self.study.covers,
            "factors": [factor_for_page(factor) for factor in self.study.factors],
            "reasons": list(REASONS),
            "commentLimit": COMMENT_CHARACTERS,
        }

    def _repeats_left(self, slots: Sequence[Slot], given: Sequence[Assignment]) -> bool:
        planned = sum(slot.purpose == "repeat" for slot in slots)
        return sum(each.purpose == "repeat" for each in given) < planned

    def _subject(
        self,
        slot: Slot,
        had: Sequence[Subject],
        covered: Mapping[Subject, int],
        rng: random.Random,
    ) -> Subject | None:
        if slot.purpose == "repeat":
            return choose_repeat(had, rng)
        if slot.purpose in ("source", "failure"):
            return rng.choice(self.subjects)
        return choose_subject(self.subjects, covered, had, self.study.raters_per_edit, rng)

    def _give_practice(self, rater: Rater, place: int, practice: PracticeItem) -> None:
        present = self.items[practice.item].edits
        methods = [method for method in self.study.methods if method in present]
        if self.study.covers != "item":
            wanted = [method for method in methods if method in practice.expect] or methods
            methods = wanted[: 1 if self.study.covers == "edit" else 2]

        rng = random.Random(f"{self.study.id} practice {place}")
        rng.shuffle(methods)
        subject = Subject(item=practice.item, methods=tuple(methods))
        shown = [ShownEdit("edit", method) for method in methods]
        self.database.assign(rater, place, subject, shown, "practice")

    def _slots(self, rater: Rater) -> list[Slot]:
        share = min(self.study.items_per_rater or len(self.subjects), len(self.subjects))
        return slots_for(self.study, rater.id, share)

    # What the page is told

    def state(self, rater: Rater) -> dict[str, Any]:
        """Return all the page needs: the study, the rater's screens and answers so far."""
        own = {"rater": rater.id, "consented": rater.consented, "study": self.questions()}
        if not rater.consented:
            return {**own, "screens": [], "total": 0, "finished": False, "code": ""}

        given = self.hand_out(rater)
        answers = self.database.answers(rater)
        revisions = self.database.revisions(rater)
        screens = [
            self.screen(each, answers.get(each.id, []), revisions.get(each.id, 0)) for each in given
        ]
        finished = all(each.done for each in given)
        if finished and not rater.finished:
            self.database.finish(rater)

        planned = len(self.study.practice) + len(self._slots(rater))
        waiting = sum(not each.done for each in given)

        return {
            **own,
            "screens": screens,
            # Fewer screens waiting than there could be: others have covered the rest of the share.
            "total": planned if waiting >= AHEAD else len(given),
            "finished": finished,
            "code": rater.code if finished and given else "",
        }

    def screen(
        self, assignment: Assignment, answers: Sequence[RaterAnswer], revision: int
    ) -> dict[str, Any]:
        """Return one screen with its answers. Pictures go by random names, edits by letters."""
        item = self.items[assignment.subject.item]
        names = letters(len(assignment.shown))
        slots = [
            {"letter": letter, "picture": self._edit_picture(item, shown)}
            for letter, shown in zip(names, assignment.shown, strict=True)
        ]
        given = [
            {"label": LABELS.get(kind, kind), "picture": self.database.picture_id(item.id, kind)}
            for kind in self.study.shows
        ]
        practice = assignment.purpose == "practice"

        return {
            "id": assignment.id,
            "practice": practice,
            "done": assignment.done,
            "task": self._task_titles.get(item.task) or task_in_words(item.task),
            "instruction": item.instruction,
            "given": given,
            "slots": slots,
            "answers": answers_for_page(answers),
            "revision": revision,
            "seconds": assignment.seconds,
            "feedback": self._feedback(assignment, answers)
            if practice and assignment.done
            else None,
        }

    def _edit_picture(self, item: Item, shown: ShownEdit) -> str:
        if shown.kind == "edit":
            return self.database.picture_id(item.id, "edit", shown.method)
        return self.database.picture_id(item.id, "source", check=shown.kind)

    # What the rater answers

    def answer(self, rater: Rater, sent: Any) -> dict[str, Any]:
        """Keep one answer. Raises AnswerRefused; on return it is on the disk."""
        assignment = self._own(rater, sent)
        answer = self._checked(assignment, sent)
        seconds = seconds_sent(sent.get("seconds"))
        if not self.database.save(answer, seconds, ANSWERS_PER_SCREEN):
            text = "This screen was changed too often; please continue with the next one."
            raise AnswerRefused(429, "too-many", text)

        revision = self.database.revisions(rater)[assignment.id]
        return {"saved": True, "screen": assignment.id, "revision": revision}

    def _own(self, rater: Rater, sent: Any) -> Assignment:
        """Return the screen that something was sent about. Raises unless it is this rater's."""
        if not isinstance(sent, dict):
            raise AnswerRefused(400, "malformed", "The answer is not understood.")

        if not rater.consented:
            raise AnswerRefused(403, "consent", "Please read the first page and press Begin.")

        for each in self.database.assignments(rater):
            if each.id == sent.get("screen"):
                return each

        raise AnswerRefused(403, "not-yours", "This screen is not among yours. Please reload.")

    def _checked(self, assignment: Assignment, sent: Mapping[str, Any]) -> RaterAnswer:
        nonce = str(sent.get("nonce") or "")
        if not NONCE.fullmatch(nonce):
            raise AnswerRefused(400, "malformed", "The answer is not understood.")

        kind, slot, factor, value = checked_answer(self.study, sent)
        if slot and slot not in letters(len(assignment.shown)):
            raise AnswerRefused(422, "no-such-edit", "There is no such edit on this screen.")

        return RaterAnswer(assignment.id, kind, slot, factor, value, f"{assignment.id}:{nonce}")

    def advance(self, rater: Rater, sent: Any) -> dict[str, Any]:
        """Close a screen that is fully answered, and return the state with the next one."""
        assignment = self._own(rater, sent)
        answers = self.database.answers(rater).get(assignment.id, [])
        missing = self._missing(assignment, answers)
        if missing:
            raise AnswerRefused(422, "incomplete", f"Not answered yet: {', '.join(missing)}.")

        self.database.close_screen(assignment, seconds_sent(sent.get("seconds")))
        return self.state(rater)

    def _missing(self, assignment: Assignment, answers: Sequence[RaterAnswer]) -> list[str]:
        told = answers_for_page(answers)
        if self.study.covers == "pair":
            unable = any(told["unable"].values())
            return [] if told["choice"] or unable else ["which of the two is better"]

        lacking = []
        for letter in letters(len(assignment.shown)):
            if told["unable"].get(letter):
                continue

            scores = told["scores"].get(letter, {})
            lacking += [
                f"{letter} {factor.name or factor.key}"
                for factor in self.study.factors
                if scores.get(factor.key) is None
            ]

        return lacking

    def _feedback(self, assignment: Assignment, answers: Sequence[RaterAnswer]) -> dict[str, Any]:
        """Return what to tell a rater after practice: which answers were not as expected."""
        practiced = [p for p in self.study.practice if p.item == assignment.subject.item]
        # The study may have been started again without practice, or with other items.
        if not practiced:
            return {"text": "", "remarks": []}

        practice = practiced[0]
        told = answers_for_page(answers)
        remarks = []
        names = letters(len(assignment.shown))
        for letter, shown in zip(names, assignment.shown, strict=True):
            for key, (low, high) in practice.expect.get(shown.method, {}).items():
                score = told["scores"].get(letter, {}).get(key)
                factor = self.study.factor(key)
                if factor is None or score is None or low <= float(score) <= high:
                    continue

                expected = f"{low:g}" if low == high else f"{low:g} to {high:g}"
                remarks.append(
                    f"{letter}, {factor.name or key}: you gave {score}; expected was {expected}."
                )

        return {"text": practice.feedback, "remarks": remarks}

    # Pictures

    def picture(self, rater: Rater, name: str) -> PictureWanted:
        """Return what a picture is made from. Raises AnswerRefused unless this rater may see it."""
        wanted = self.picture_of(name)
        if not self._may_see(rater, wanted):
            raise AnswerRefused(404, "no-picture", "There is no such picture.")
        return wanted

    def picture_of(self, name: str) -> PictureWanted:
        """Return what a picture of this study is made from."""
        found = self.database.picture(name)
        if found is None:
            raise AnswerRefused(404, "no-picture", "There is no such picture.")

        item, kind, method, check = found
        return PictureWanted(self.items[item], kind, method, check)

    def _may_see(self, rater: Rater, picture: PictureWanted) -> bool:
        given = self.database.assignments(rater)
        screens = [each.shown for each in given if each.subject.item == picture.item.id]
        if picture.kind != "edit" and not picture.check:
            return bool(screens)

        wanted = ShownEdit(picture.check or "edit", picture.method)
        return any(wanted in shown for shown in screens)


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
        app = web.Application(client_max_size=MOST_BYTES, middlewares=[guard(_in_words)])
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
