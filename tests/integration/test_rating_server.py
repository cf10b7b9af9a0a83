"""The rating page's server: blind, durable, and unmoved by bad input."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from PIL import Image, PngImagePlugin

from lmmscore.web.pages import Doors, RatingStudy
from lmmscore.web.study import FILE_NAME
from tests.rating_studies import DEMO, METHODS, new_rater, rating_study, served

JSON = {"Content-Type": "application/json"}
HTML = {"Accept": "text/html"}


class Visitor:
    """A rater without a browser."""

    def __init__(self, session: aiohttp.ClientSession, link: str) -> None:
        self.session = session
        self.link = link

    async def get(self, path: str = "", **options: Any) -> tuple[int, bytes, Any]:
        async with self.session.get(self.link + path, **options) as response:
            return response.status, await response.read(), response.headers

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        data = io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
        async with self.session.post(self.link + path, data=data, headers=JSON) as response:
            return response.status, await response.json()

    async def state(self) -> Any:
        return json.loads((await self.get("state"))[1])

    async def score(self, screen: str, slot: str, factor: str, value: Any) -> tuple[int, Any]:
        sent = {"screen": screen, "kind": "score", "slot": slot, "factor": factor, "value": value}
        return await self.post("answer", {**sent, "nonce": os.urandom(8).hex(), "seconds": 1})


def visit(link: str, what: Any) -> Any:
    """Run `what(visitor)` as a rater with this link."""

    async def go() -> Any:
        async with aiohttp.ClientSession() as session:
            return await what(Visitor(session, link))

    return asyncio.run(go())


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RatingStudy, str]]:
    """A study with open registration, and its address."""
    folder = tmp_path_factory.mktemp("served")
    checks = ("source", "failure", "repeat")
    rating = rating_study(folder, checks=checks, raters_per_edit=40, max_side_px=96)
    with served(rating, folder, Doors(open_registration=True)) as address:
        yield rating, address
    rating.database.close()


@pytest.fixture
def link(study: tuple[RatingStudy, str]) -> str:
    rating, address = study
    return f"{address}/r/{new_rater(rating).token}/"


def test_nothing_a_browser_receives_names_a_method_or_a_file(
    study: tuple[RatingStudy, str],
) -> None:
    """Pages, scripts, data, pictures, headers and errors of a whole share, byte by byte."""
    rating, address = study
    link = f"{address}/r/{new_rater(rating).token}/"
    forbidden = [name.encode() for name in (*METHODS, ".jpg", "media", str(DEMO))]
    seen: list[bytes] = []

    async def go(visitor: Visitor) -> None:
        for path in ("", "state", "nonsense", "image/none", "../../assets/rate.js"):
            for accept in ("text/html", "application/json"):
                _, body, headers = await visitor.get(path, headers={"Accept": accept})
                seen.append(body + repr(headers).encode())
        while True:
            state = await visitor.state()
            waiting = [screen for screen in state["screens"] if not screen["done"]]
            if not waiting:
                break
            screen = waiting[0]
            for each in (*screen["given"], *screen["slots"]):
                status, body, headers = await visitor.get(f"image/{each['picture']}")
                assert status == 200
                seen.append(body + repr(headers).encode() + each["picture"].encode())
                picture = Image.open(io.BytesIO(body))
                assert picture.format == "WEBP" and not picture.info.get("exif")
            for slot in screen["slots"]:
                for factor in state["study"]["factors"]:
                    await visitor.score(screen["id"], slot["letter"], factor["key"], "5")
            seen.append(json.dumps(await visitor.post("next", {"screen": screen["id"]})).encode())

    visit(link, go)
    assert len(seen) > 80
    for body in seen:
        for name in forbidden:
            assert name not in body


def test_metadata_of_pictures_stays_behind(tmp_path: Path) -> None:
    """A picture whose metadata names its method arrives as pixels only."""
    bench = tmp_path / "bench"
    bench.mkdir()
    remark = PngImagePlugin.PngInfo()
    remark.add_text("Software", "SecretMethod")
    for name in ("source", "one", "two"):
        Image.new("RGB", (40, 30), (200, 30, 30)).save(bench / f"{name}.png", pnginfo=remark)
    (bench / "benchmark.yaml").write_text(
        "name: b\nitems:\n- {id: a, task: t, instruction: Go, source: source.png, "
        "edits: {SecretMethod: one.png, Other: two.png}}\n"
    )
    rating = rating_study(tmp_path / "study", benchmark=bench)
    with served(rating, tmp_path / "study") as address:
        link = f"{address}/r/{new_rater(rating).token}/"

        async def go(visitor: Visitor) -> list[bytes]:
            screen = (await visitor.state())["screens"][0]
            names = [each["picture"] for each in (*screen["given"], *screen["slots"])]
            return [(await visitor.get(f"image/{name}"))[1] for name in names]

        bodies = visit(link, go)
    assert len(bodies) == 3
    assert all(b"SecretMethod" not in body and b"Software" not in body for body in bodies)


@pytest.mark.parametrize("token", ["x", "A" * 24, "..%2F..", "'; DROP TABLE rater; --"])
def test_a_forged_link_is_told_so(study: tuple[RatingStudy, str], token: str) -> None:
    """A link nobody was given leads to a page in words, and to JSON for the page's own requests."""
    _, address = study

    async def go(visitor: Visitor) -> None:
        status, body, _ = await visitor.get(headers={"Accept": "text/html"})
        assert (status == 404 and b"not valid" in body) or b"no such page" in body
        status, body, _ = await visitor.get("state")
        assert status == 404 and json.loads(body)["error"]

    visit(f"{address}/r/{token}/", go)


def test_an_expired_link_is_told_so(study: tuple[RatingStudy, str]) -> None:
    """After its days are over a link says that it has expired; the answers stay."""
    rating, address = study
    rater = new_rater(rating)
    rating.database._connection.execute(
        "UPDATE rater SET expires_at = '2020-01-01T00:00:00+00:00' WHERE id = ?", (rater.id,)
    )

    async def go(visitor: Visitor) -> None:
        status, body, _ = await visitor.get("state")
        assert status == 410 and "expired" in json.loads(body)["error"]

    visit(f"{address}/r/{rater.token}/", go)


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"value": "11"}, 422, "off-the-scale"),
        ({"value": "many"}, 422, "off-the-scale"),
        ({"value": {"$gt": 0}}, 422, "off-the-scale"),
        ({"slot": "Q"}, 422, "no-such-edit"),
        ({"factor": "nice"}, 422, "no-such-question"),
        ({"kind": "choice", "value": "A"}, 422, "no-such-question"),
        ({"kind": "drop"}, 422, "no-such-question"),
        ({"screen": "not-mine"}, 403, "not-yours"),
        ({"nonce": ""}, 400, "malformed"),
        ({"nonce": "\ud800" * 9}, 400, "malformed"),
        ({"nonce": "../" * 4}, 400, "malformed"),
        ({"factor": "\ud800"}, 422, "no-such-question"),
        ({"value": "\ud800"}, 422, "off-the-scale"),
        ({"kind": "comment", "value": 7}, 422, "malformed"),
        ({"kind": "comment", "value": "x" * 3000}, 413, "too-long"),
    ],
)
def test_a_bad_answer_gets_a_clear_one_and_changes_nothing(
    link: str, change: dict[str, Any], status: int, code: str
) -> None:
    """Each kind of bad input has its own code and words; what was saved before stays."""

    async def go(visitor: Visitor) -> None:
        screen = (await visitor.state())["screens"][0]["id"]
        assert (await visitor.score(screen, "A", "acc", "7"))[0] == 200
        sent = {"screen": screen, "kind": "score", "slot": "A", "factor": "acc", "value": "8"}
        found = await visitor.post("answer", {**sent, "nonce": "n" * 12, **change})
        assert (found[0], found[1]["code"]) == (status, code) and found[1]["error"]
        answers = (await visitor.state())["screens"][0]["answers"]
        assert answers["scores"] == {"A": {"acc": "7"}} and answers["comment"] == ""

    visit(link, go)


@pytest.mark.parametrize("seconds", [10**400, -1, float("nan"), float("inf"), "x", None, True])
def test_an_impossible_time_does_not_cost_the_answer(link: str, seconds: Any) -> None:
    """The score is kept, and the time is a number between nothing and a day."""

    async def go(visitor: Visitor) -> None:
        screen = (await visitor.state())["screens"][0]["id"]
        sent = {"screen": screen, "kind": "score", "slot": "A", "factor": "acc", "value": "8"}
        status, _ = await visitor.post("answer", {**sent, "nonce": "n" * 12, "seconds": seconds})
        assert status == 200
        kept = (await visitor.state())["screens"][0]
        assert kept["answers"]["scores"] == {"A": {"acc": "8"}} and 0 <= kept["seconds"] <= 86_400

    visit(link, go)


def test_a_form_on_another_site_cannot_register_raters(study: tuple[RatingStudy, str]) -> None:
    """Browsers say where a request comes from; one from elsewhere is refused and adds nobody."""
    rating, address = study
    before = len(rating.database.raters())

    async def go(visitor: Visitor) -> None:
        for site, status in (("cross-site", 403), ("same-origin", 303)):
            headers = {"Sec-Fetch-Site": site}
            async with visitor.session.post(
                f"{visitor.link}register", headers=headers, allow_redirects=False
            ) as response:
                assert response.status == status

    visit(f"{address}/", go)
    assert len(rating.database.raters()) == before + 1


def test_task_categories_are_called_as_in_tables(study: tuple[RatingStudy, str]) -> None:
    """“Add object” is no title."""
    rating, _ = study
    called = {screen["task"] for screen in rating.state(new_rater(rating))["screens"]}
    assert called <= {"Background change", "Object removal", "Color change"}
    assert called


def test_another_raters_screen_and_pictures_are_out_of_reach(
    study: tuple[RatingStudy, str], link: str
) -> None:
    """Knowing a screen's or a picture's random name is not enough."""
    rating, _ = study
    other = new_rater(rating)
    theirs = rating.state(other)["screens"]

    async def go(visitor: Visitor) -> None:
        mine = await visitor.state()
        screen = theirs[0]["id"]
        assert (await visitor.score(screen, "A", "acc", "7"))[0] == 403
        own = {each["picture"] for s in mine["screens"] for each in (*s["given"], *s["slots"])}
        foreign = {each["picture"] for s in theirs for each in s["slots"]} - own
        for name in list(foreign)[:3]:
            assert (await visitor.get(f"image/{name}"))[0] == 404

    visit(link, go)
    assert not rating.database.answers(other)


def test_a_comment_of_ten_megabytes_is_refused_in_words(link: str) -> None:
    """The server reads no more than it needs, says so, and goes on."""

    async def go(visitor: Visitor) -> None:
        screen = (await visitor.state())["screens"][0]["id"]
        sent = {"screen": screen, "kind": "comment", "value": "x" * 10_000_000, "nonce": "n" * 12}
        status, told = await visitor.post("answer", sent)
        assert status == 413 and "too long" in told["error"]
        assert (await visitor.score(screen, "A", "acc", "7"))[0] == 200

    visit(link, go)


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b"null", b'"x"', b"\xff\xfe"])
def test_a_body_that_is_no_answer_is_refused(link: str, body: bytes) -> None:
    """Broken, deep or binary JSON is a client's mistake, not the server's."""

    async def go(visitor: Visitor) -> None:
        status, told = await visitor.post("answer", body[:60_000])
        assert status == 400 and told["code"] == "malformed"

    visit(link, go)


def test_reloading_a_thousand_times_changes_nothing(study: tuple[RatingStudy, str]) -> None:
    """However often the page is opened, a rater has the screens they had, and nobody is added."""
    rating, address = study
    rater = new_rater(rating)

    async def go(visitor: Visitor) -> None:
        first = await visitor.state()
        for _ in range(20):
            states = await asyncio.gather(*(visitor.get("state") for _ in range(50)))
            assert {status for status, _, _ in states} == {200}
        assert await visitor.state() == first

    before = len(rating.database.raters())
    visit(f"{address}/r/{rater.token}/", go)
    assert len(rating.database.raters()) == before
    assert len(rating.database.assignments(rater)) == 2


def test_a_prolific_id_finds_its_place_again_and_is_not_stored(
    study: tuple[RatingStudy, str],
) -> None:
    """The same id is the same rater; the file holds a keyed digest of it and nothing else."""
    rating, address = study
    prolific = "5f7c1d0e9abcdef012345678"

    async def go(visitor: Visitor) -> list[str]:
        links = []
        for _ in range(2):
            async with visitor.session.get(
                visitor.link, params={"PROLIFIC_PID": prolific}, allow_redirects=False
            ) as response:
                assert response.status == 303
                links.append(response.headers["Location"])
        status, _, _ = await visitor.get("?PROLIFIC_PID=%3Cscript%3E")
        assert status == 400
        return links

    first, second = visit(f"{address}/", go)
    assert first == second and prolific not in first
    stored = rating.database.path.read_bytes()
    wal = rating.database.path.with_name(FILE_NAME + "-wal")
    assert prolific.encode() not in stored + wal.read_bytes()
    assert rating.database.find_rater(prolific) is not None


def test_no_address_and_no_browser_is_stored(study: tuple[RatingStudy, str], link: str) -> None:
    """No column holds them, and nothing that a request carries is found in the file."""
    rating, _ = study
    agent = "VeryRareBrowser/1.0"

    async def go(visitor: Visitor) -> None:
        await visitor.get("state", headers={"User-Agent": agent, "X-Forwarded-For": "203.0.113.9"})

    visit(link, go)
    rating.database._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    stored = rating.database.path.read_bytes()
    assert agent.encode() not in stored and b"203.0.113.9" not in stored
    assert b"127.0.0.1" not in stored


def test_headers_keep_foreign_code_out(link: str) -> None:
    """A strict policy, no referrer, no framing, no cookie, and nothing for caches to keep."""

    async def go(visitor: Visitor) -> Any:
        return (await visitor.get())[2]

    headers = visit(link, go)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy and "script-src 'self'" in policy
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store" and "Set-Cookie" not in headers


def test_markdown_instructions_cannot_carry_markup(tmp_path: Path) -> None:
    """HTML in the instructions is shown, not obeyed; a javascript link is no link."""
    text = tmp_path / "hello.md"
    text.write_text(
        "# Hi\n\n<script>alert(1)</script> [x](javascript:alert(1)) ![p](http://e/p.png)"
    )
    rating = rating_study(tmp_path / "s", instructions=text)
    with served(rating, tmp_path / "s") as address:
        link = f"{address}/r/{new_rater(rating).token}/"

        async def go(visitor: Visitor) -> str:
            return (await visitor.get())[1].decode()

        page = visit(link, go)
    assert "<h1>Hi</h1>" in page and "&lt;script&gt;alert(1)" in page
    assert 'href="javascript' not in page and "<img" not in page


def test_it_works_under_the_path_prefix_of_a_proxy(tmp_path: Path) -> None:
    """Addresses in the page are relative: with the prefix kept or stripped, everything is found."""
    rating = rating_study(tmp_path)
    with served(rating, tmp_path, Doors(prefix="/lab/rate", open_registration=True)) as address:
        token = new_rater(rating).token

        async def go(visitor: Visitor) -> None:
            for base in ("", "lab/rate/"):
                status, page, _ = await visitor.get(f"{base}r/{token}/")
                assert status == 200
                for path in re.findall(rb'(?:href|src)="([^"#]+)"', page):
                    assert path.startswith(b"../../assets/")
                    status, _, _ = await visitor.get(f"{base}r/{token}/{path.decode()}")
                    assert status == 200
                assert (await visitor.get(f"{base}r/{token}/state"))[0] == 200
            # Whoever leaves out the last slash keeps the id in the address.
            _, page, _ = await visitor.get("lab/rate?PROLIFIC_PID=abc", headers=HTML)
            assert b"Rating edited pictures" in page
            assert rating.database.find_rater("abc") is not None

        visit(f"{address}/", go)


def _start(folder: Path, port: str = "0") -> tuple[subprocess.Popen[str], list[str]]:
    words = [sys.executable, "-m", "lmmscore", "rate", str(DEMO), "--out", str(folder)]
    words += ["--raters", "50", "--raters-per-edit", "50", "--port", port]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1
    )
    assert process.stdout is not None
    return process, [process.stdout.readline().strip() for _ in range(50)]


@pytest.mark.slow
def test_fifty_raters_lose_nothing_when_the_server_is_killed(tmp_path: Path) -> None:
    """Every answer called saved is there after kill -9 and a restart, with the same links."""
    process, links = _start(tmp_path / "study")
    saved: dict[tuple[str, str, str], str] = {}

    async def rate(session: aiohttp.ClientSession, link: str, killed: asyncio.Event) -> None:
        visitor = Visitor(session, link)
        await visitor.post("consent", {})
        screen = (await visitor.state())["screens"][0]
        for turn in range(400):
            slot = screen["slots"][turn % 6]["letter"]
            factor = ("acc", "pre", "qua", "real")[turn // 6 % 4]
            value = str(1 + turn % 10)
            try:
                status, _ = await visitor.score(screen["id"], slot, factor, value)
            except aiohttp.ClientError:
                return
            assert status == 200
            saved[screen["id"], slot, factor] = value
            if len(saved) > 600 and not killed.is_set():
                killed.set()
                process.send_signal(signal.SIGKILL)

    async def go() -> None:
        killed = asyncio.Event()
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=50)) as session:
            await asyncio.gather(*(rate(session, link, killed) for link in links))

    try:
        asyncio.run(go())
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    assert len(saved) > 600

    again, links_again = _start(tmp_path / "study")
    try:
        ending = [link.rpartition("/r/")[2] for link in links]
        assert [link.rpartition("/r/")[2] for link in links_again] == ending
        kept: dict[tuple[str, str, str], str] = {}

        async def look() -> None:
            async with aiohttp.ClientSession() as session:
                for link in links_again:
                    for screen in (await Visitor(session, link).state())["screens"]:
                        for slot, scores in screen["answers"]["scores"].items():
                            for factor, value in scores.items():
                                kept[screen["id"], slot, factor] = value

        asyncio.run(look())
    finally:
        again.terminate()
        again.wait(60)
        assert again.stdout is not None
        again.stdout.close()
    # What was under way at that moment may have been kept without having been called saved.
    lost = {place: value for place, value in saved.items() if place not in kept}
    assert lost == {}
    differing = [place for place, value in saved.items() if kept[place] != value]
    assert len(differing) <= 50


def test_answers_are_flushed_to_the_disk_before_they_are_called_saved(tmp_path: Path) -> None:
    """The database commits with synchronous=FULL, in WAL mode, and is private to its owner."""
    rating = rating_study(tmp_path)
    connection = rating.database._connection
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    if os.name == "posix":
        assert rating.database.path.stat().st_mode & 0o077 == 0
    rating.database.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as other:
        assert other.execute("PRAGMA application_id").fetchone() == (0x6C6D6D72,)
    other.close()
