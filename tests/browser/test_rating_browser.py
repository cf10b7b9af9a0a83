"""The rating page in a real browser: by keyboard, resumed, blind, from a disk, hostile texts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from lmmscore.score_files import Columns
from lmmscore.web.pages import RatingStudy, write_static
from lmmscore.web.rating_results import database_rows, read_human_ratings
from tests.rating_studies import METHODS, new_rater, rating_study, served

pytestmark = pytest.mark.browser

WIDE = {"width": 1300, "height": 900}
PHONE = {"width": 390, "height": 844}


class Tab:
    """A page in the browser, with everything it complained of, asked for and received."""

    def __init__(self, browser: Any, address: str, beside: Any = None, **context: Any) -> None:
        self.context = beside or browser.new_context(**{"viewport": WIDE, **context})
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector("section:not([hidden])")

    def received(self) -> list[tuple[str, bytes]]:
        """Everything the page asked for, and what comes when it is asked for once more."""
        return [(url, self.context.request.get(url).body()) for url in dict.fromkeys(self.asked)]

    def begin(self) -> None:
        self.page.click("#begin")
        self.page.wait_for_selector("#screen .card")

    def type(self, keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def saved(self) -> None:
        self.page.wait_for_function(
            "() => document.getElementById('saved').textContent === 'Saved'"
        )

    def on_screen(self, number: int, total: int) -> None:
        text = f"{number} of {total}"
        self.page.wait_for_function(
            "text => document.getElementById('progress-text').textContent.startsWith(text)",
            arg=text,
        )

    def notice(self, words: str) -> None:
        self.page.wait_for_selector(f"#trouble:not([hidden]):has-text({json.dumps(words)})")

    def values(self) -> list[str]:
        return self.page.locator(".cell .value").all_inner_texts()

    def close(self) -> None:
        self.context.close()


def scores_in(rating: RatingStudy) -> dict[tuple[str, str], float | None]:
    return {(row.method, row.factor): row.score for row in database_rows(rating.database)}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[RatingStudy]:
    """A study of two items, six edits each."""
    rating = rating_study(tmp_path / "study", items=("boat", "lake"), max_side_px=128)
    yield rating
    rating.database.close()


@pytest.mark.slow
def test_an_item_is_rated_with_the_keyboard_alone(
    chromium: Any, small: RatingStudy, tmp_path: Path
) -> None:
    """From the first page to the completion code without touching the mouse."""
    rater = small.database.add_rater(90)
    with served(small, tmp_path) as address:
        tab = Tab(chromium, f"{address}/r/{rater.token}/")
        begin = tab.page.locator("#begin")
        for _ in range(12):
            tab.page.keyboard.press("Tab")
            if begin.evaluate("node => node === document.activeElement"):
                break
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_selector("#screen .card")
        tab.type("123456")
        assert tab.values()[0::4] == ["1", "2", "3", "4", "5", "6"]
        tab.page.keyboard.press("u")
        assert tab.values()[20] == ""
        tab.type("0")
        assert tab.values()[20] == "10"
        tab.page.keyboard.press("ArrowRight")
        tab.page.keyboard.press("ArrowLeft")
        tab.type("777777888888999999")
        assert all(tab.values())
        tab.saved()
        tab.page.keyboard.press("Enter")
        tab.on_screen(2, 2)
        tab.type("5" * 24)
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_selector("#thanks:not([hidden])")
        assert tab.page.inner_text("#code") == rater.code
        assert tab.page.inner_text("#rater-name") == rater.id
        assert tab.said == []
        tab.close()
    rows = database_rows(small.database)
    assert len(rows) == 48 and all(row.score is not None for row in rows)
    first = [row for row in rows if row.item == rows[0].item and row.factor == "acc"]
    assert sorted(row.score for row in first) == sorted([1, 2, 3, 4, 5, 10])


@pytest.mark.slow
def test_closing_and_reloading_lose_nothing(
    chromium: Any, small: RatingStudy, tmp_path: Path
) -> None:
    """The same link resumes: after a reload, in another browser, after the server's restart."""
    rater = new_rater(small)
    with served(small, tmp_path) as address:
        port = int(address.rpartition(":")[2])
        tab = Tab(chromium, f"{address}/r/{rater.token}/")
        tab.page.wait_for_selector("#screen .card")
        tab.type("123")
        tab.saved()
        tab.page.reload()
        tab.page.wait_for_selector("#screen .card")
        assert tab.values()[0:12:4] == ["1", "2", "3"]
        other = Tab(chromium, f"{address}/r/{rater.token}/")
        other.page.wait_for_selector("#screen .card")
        assert other.values() == tab.values()
        other.close()
    # The server is away: the page says that it is not saved, and keeps trying.
    tab.type("4")
    tab.page.wait_for_function(
        "() => document.getElementById('saved').textContent.startsWith('Not saved yet')"
    )
    again = rating_study(tmp_path / "study", items=("boat", "lake"), max_side_px=128)
    with served(again, tmp_path, port=port):
        tab.saved()
        assert {row.score for row in database_rows(again.database)} == {1, 2, 3, 4}
        tab.close()
    again.database.close()


@pytest.mark.slow
def test_two_windows_agree_in_the_end(chromium: Any, small: RatingStudy, tmp_path: Path) -> None:
    """What one window saved is shown in the other at its next answer, with a word about it."""
    rater = new_rater(small)
    with served(small, tmp_path) as address:
        first = Tab(chromium, f"{address}/r/{rater.token}/")
        second = Tab(chromium, f"{address}/r/{rater.token}/")
        for tab in (first, second):
            tab.page.wait_for_selector("#screen .card")
        first.type("12")
        first.saved()
        second.page.keyboard.press("ArrowDown")
        second.type("9")
        second.page.wait_for_function(
            "() => document.getElementById('remark').textContent.includes('another window')"
        )
        assert second.values()[0] == "1" and second.values()[1] == "9"
        assert len(database_rows(small.database)) == 3
        first.close()
        second.close()


@pytest.mark.slow
def test_what_two_windows_could_not_send_is_sent_by_the_next(
    chromium: Any, small: RatingStudy, tmp_path: Path
) -> None:
    """Offline, each window keeps its own answers; whichever opens later sends them all."""
    rater = new_rater(small)
    with served(small, tmp_path) as address:
        first = Tab(chromium, f"{address}/r/{rater.token}/")
        second = Tab(chromium, f"{address}/r/{rater.token}/", beside=first.context)
        first.context.set_offline(True)
        for tab, keys in ((first, "12"), (second, "34")):
            tab.page.keyboard.press("ArrowDown")
            if tab is second:
                tab.page.keyboard.press("ArrowDown")
            tab.type(keys)
            tab.page.wait_for_selector("#saved:has-text('Not saved yet')")
            tab.page.close()
        first.context.set_offline(False)
        third = Tab(chromium, f"{address}/r/{rater.token}/", beside=first.context)
        third.page.wait_for_selector("#screen .card")
        assert third.values()[0:8] == ["", "1", "3", "", "", "2", "4", ""]
        first.close()
    assert {row.score for row in database_rows(small.database)} == {1, 2, 3, 4}


@pytest.mark.slow
def test_a_refusal_stays_in_view_while_other_answers_are_saved(
    chromium: Any, small: RatingStudy, tmp_path: Path
) -> None:
    """The rater is told which answer was not taken, however quickly the next ones are."""
    rater = new_rater(small)
    told = json.dumps({"error": "This screen was changed too often.", "code": "too-many"})
    refused: list[str] = []

    def refuse_second(route: Any) -> None:
        if route.request.post_data_json["value"] == "2":
            refused.append(route.request.url)
            route.fulfill(status=429, content_type="application/json", body=told)
        else:
            route.continue_()

    with served(small, tmp_path) as address:
        tab = Tab(chromium, f"{address}/r/{rater.token}/")
        tab.page.wait_for_selector("#screen .card")
        tab.page.route("**/answer", refuse_second)
        tab.type("12345")
        tab.notice("changed too often")
        tab.page.wait_for_function(
            "() => document.querySelectorAll('.cell .value')[4].textContent === ''"
        )
        tab.saved()
        assert tab.values()[0:20:4] == ["1", "", "3", "4", "5"]
        tab.notice("changed too often")
        assert refused
        tab.close()


@pytest.mark.slow
def test_an_answer_given_while_the_page_catches_up_stays_in_view(
    chromium: Any, small: RatingStudy, tmp_path: Path
) -> None:
    """A slow answer to "what is saved?" must not hide what was saved after the question."""
    rater = new_rater(small)
    held: list[tuple[Any, Any]] = []
    with served(small, tmp_path) as address:
        link = f"{address}/r/{rater.token}/"
        tab, other = Tab(chromium, link), Tab(chromium, link)
        for each in (tab, other):
            each.page.wait_for_selector("#screen .card")
        other.type("9")
        other.saved()
        other.close()
        tab.page.route("**/state", lambda route: held.append((route, route.fetch())), times=1)
        tab.page.keyboard.press("ArrowRight")
        tab.type("3")
        while not held:
            tab.page.wait_for_timeout(10)
        with tab.page.expect_response("**/answer"):
            tab.type("4")
        [(route, before)] = held
        route.fulfill(response=before)
        tab.page.wait_for_selector("#remark:has-text('another window')")
        assert tab.values()[0:12:4] == ["9", "3", "4"]
        tab.close()


@pytest.mark.slow
def test_answers_about_two_screens_are_not_taken_for_two_windows(
    chromium: Any, small: RatingStudy, tmp_path: Path
) -> None:
    """A rater who goes back before everything is sent is not told of another window."""
    rater = new_rater(small)
    held: list[Any] = []
    with served(small, tmp_path) as address:
        tab = Tab(chromium, f"{address}/r/{rater.token}/")
        tab.page.wait_for_selector("#screen .card")
        tab.type("5" * 24)
        tab.page.keyboard.press("Enter")
        tab.on_screen(2, 2)
        tab.page.route("**/answer", lambda route: held.append(route), times=1)
        with tab.page.expect_request("**/answer"):
            tab.type("7")
        tab.page.keyboard.press("PageUp")
        tab.on_screen(1, 2)
        tab.page.keyboard.press("ArrowDown")
        tab.type("8")
        with tab.page.expect_response("**/answer"):
            held[0].continue_()
        tab.saved()
        with tab.page.expect_response("**/answer"):
            tab.type("9")
        # A page that believed in another window would have asked for the state again by now.
        assert len([url for url in tab.asked if url.endswith("/state")]) == 1
        assert tab.said == []
        tab.close()
    assert len(database_rows(small.database)) == 25


@pytest.mark.slow
def test_a_key_held_down_scores_one_edit(chromium: Any, small: RatingStudy, tmp_path: Path) -> None:
    """Keys repeat when they are held; a score does not."""
    rater = new_rater(small)
    with served(small, tmp_path) as address:
        tab = Tab(chromium, f"{address}/r/{rater.token}/")
        tab.page.wait_for_selector("#screen .card")
        for _ in range(3):
            tab.page.keyboard.down("5")
        assert [value for value in tab.values() if value] == ["5"]
        tab.close()


def test_nothing_in_the_browser_names_a_method(
    chromium: Any, small: RatingStudy, tmp_path: Path
) -> None:
    """No response, picture, address or text of the page holds a method's or a file's name."""
    rater = new_rater(small)
    with served(small, tmp_path) as address:
        tab = Tab(chromium, f"{address}/r/{rater.token}/")
        tab.page.wait_for_selector("#screen .card")
        tab.page.wait_for_function("() => [...document.images].every((i) => i.naturalWidth)")
        received = [*tab.received(), ("", tab.page.content().encode())]
        tab.close()
    assert len([url for url, _ in received if "/image/" in url]) >= 7
    for url, body in received:
        for name in (*METHODS, ".jpg", "boat.", "lake."):
            assert name not in url and name.encode() not in body


@pytest.mark.slow
def test_cannot_judge_comment_exact_and_zoom(
    chromium: Any, small: RatingStudy, tmp_path: Path
) -> None:
    """Edits are set aside with a reason; scores may be fractions; pictures zoom in step."""
    rater = new_rater(small)
    with served(small, tmp_path) as address:
        tab = Tab(chromium, f"{address}/r/{rater.token}/")
        page = tab.page
        page.wait_for_selector("#screen .card")
        tab.type("x")
        page.wait_for_selector("#unable-dialog[open]")
        page.fill("#unable-text", "<b>too dark</b>")
        page.click("#unable-dialog button[value=save]")
        page.wait_for_selector(".card[data-letter=A] .why:has-text('<b>too dark</b>')")
        tab.type(".")
        page.keyboard.type("7.5")
        page.keyboard.press("Enter")
        assert page.inner_text('.cell[data-letter="B"][data-factor="acc"] .value') == "7.5"
        page.keyboard.type(".")
        page.keyboard.type("12")
        page.keyboard.press("Enter")
        page.wait_for_selector("#remark:has-text('1–10')")
        page.keyboard.press("Escape")
        tab.type("c")
        page.fill("#comment", "<script>alert(1)</script>")
        page.click("#comment-dialog button[value=save]")
        tab.saved()
        page.keyboard.press("+")
        page.keyboard.press("+")
        zooms = page.evaluate(
            """() => [...document.querySelectorAll('.frame img')].map((image) => {
              const matrix = new DOMMatrix(getComputedStyle(image).transform);
              return [matrix.a, Math.round((100 * matrix.e) / image.offsetWidth)];
            })"""
        )
        assert len(zooms) == 13 and {tuple(each) for each in zooms} == {(2.25, -62)}
        page.keyboard.press("f")
        page.keyboard.down("s")
        assert page.locator("#screen.peeking").count() == 1
        page.keyboard.up("s")
        assert page.locator("#screen.peeking").count() == 0
        box = page.locator('.card[data-letter="B"] .frame').bounding_box()
        page.mouse.move(box["x"] + 20, box["y"] + 20)
        page.mouse.down()
        page.wait_for_selector('.card[data-letter="B"] .frame.peek')
        page.mouse.up()
        assert page.locator(".frame.peek").count() == 0
        assert tab.said == []
        tab.close()
    rows = database_rows(small.database)
    aside = [row for row in rows if row.reason]
    assert len(aside) == 4 and aside[0].score is None and "too dark" in aside[0].reason
    assert {row.score for row in rows if not row.reason} == {7.5}
    assert rows[0].comment == "<script>alert(1)</script>"


def hostile_benchmark(folder: Path) -> Path:
    from PIL import Image

    folder.mkdir()
    for name in ("source", "one", "two"):
        Image.new("RGB", (40, 30), (200, 30, 30)).save(folder / f"{name}.png")
    wish = "<img src=x onerror=alert(1)></script><script>alert(2)</script> {{constructor}} \\u2028"
    item = {"id": "a", "task": "<b>t</b>", "instruction": wish, "source": "source.png"}
    item["edits"] = {"Alpha": "one.png", "Beta": "two.png"}
    text = json.dumps({"name": "b", "items": [item]}, ensure_ascii=False)
    (folder / "benchmark.yaml").write_text(text, encoding="utf-8")
    return folder


def test_hostile_texts_are_shown_and_do_not_run(chromium: Any, tmp_path: Path) -> None:
    """Instructions of items, of the study, and comments appear as they were written."""
    text = tmp_path / "hello.md"
    text.write_text("<script>alert(1)</script> Hello")
    bench = hostile_benchmark(tmp_path / "bench")
    rating = rating_study(tmp_path / "study", benchmark=bench, instructions=text)
    static = write_static(
        rating, [rating.database.add_rater(9)], tmp_path / "web", "", lambda: None
    )
    rater = new_rater(rating)
    with served(rating, tmp_path) as address:
        for where in (f"{address}/r/{rater.token}/", f"{static.as_uri()}?rater=1"):
            tab = Tab(chromium, where)
            if tab.page.locator("#begin").is_visible():
                assert "<script>alert(1)</script> Hello" in tab.page.inner_text("#intro")
                tab.begin()
            tab.page.wait_for_selector("#screen .card")
            assert "onerror=alert(1)" in tab.page.inner_text("#instruction")
            assert tab.said == []
            tab.close()
    rating.database.close()


@pytest.mark.slow
def test_a_pair_asks_which_is_better(chromium: Any, tmp_path: Path) -> None:
    """Two edits side by side and four answers, by key or by button."""
    rating = rating_study(tmp_path / "s", covers="pair", items=("boat",), items_per_rater=2)
    rater = new_rater(rating)
    with served(rating, tmp_path / "s") as address:
        tab = Tab(chromium, f"{address}/r/{rater.token}/")
        tab.page.wait_for_selector("#screen .card")
        assert tab.page.locator("#levels button").all_inner_texts()[0].startswith("A is better")
        tab.type("2")
        tab.saved()
        tab.page.keyboard.press("Enter")
        tab.on_screen(2, 2)
        tab.page.click("text=Both are bad")
        tab.page.click("#next")
        tab.page.wait_for_selector("#thanks:not([hidden])")
        assert tab.said == []
        tab.close()
    choices = [row.choice for row in database_rows(rating.database)]
    assert choices[1] == "both bad" and choices[0] in METHODS
    rating.database.close()


@pytest.mark.slow
def test_practice_gives_feedback(chromium: Any, tmp_path: Path) -> None:
    """After a practice item the page says where the answers were off, then goes on."""
    file = tmp_path / "practice.yaml"
    file.write_text(
        "practice:\n- {item: boat, feedback: Mind the sail., expect: {CleanEdit: {acc: [8, 10]}}}\n"
    )
    rating = rating_study(tmp_path / "s", items=("boat", "lake"), practice=file)
    rater = new_rater(rating)
    with served(rating, tmp_path / "s") as address:
        tab = Tab(chromium, f"{address}/r/{rater.token}/")
        tab.page.wait_for_selector("#practice-mark:not([hidden])")
        tab.type("2" * 24)
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_selector("#feedback:not([hidden])")
        told = tab.page.inner_text("#feedback")
        assert "you gave 2; expected was 8 to 10" in told and "Mind the sail." in told
        tab.page.click("#feedback-on")
        tab.page.wait_for_selector("#screen .card")
        assert tab.page.locator("#practice-mark").is_hidden()
        assert tab.said == []
        tab.close()
    rating.database.close()


@pytest.mark.slow
def test_the_static_page_works_from_a_disk(chromium: Any, tmp_path: Path) -> None:
    """From file://: answers survive a reload, and the download goes into `agree` as it is."""
    study = tmp_path / "ratings" / "demo"
    rating = rating_study(study, items=("boat", "lake"), max_side_px=128)
    raters = [rating.database.add_rater(90) for _ in range(2)]
    page_file = write_static(rating, raters, tmp_path / "web", "", lambda: None)
    handed_out = b"".join(path.read_bytes() for path in (tmp_path / "web").rglob("*.*"))
    for name in (*METHODS, "CleanEdit", ".jpg"):
        assert name.encode() not in handed_out
    tab = Tab(chromium, f"{page_file.as_uri()}?rater=2", accept_downloads=True)
    tab.begin()
    tab.page.wait_for_function("() => [...document.images].every((i) => i.naturalWidth)")
    tab.type("123456")
    tab.saved()
    tab.page.reload()
    tab.page.wait_for_selector("#screen .card")
    assert tab.values()[0::4] == ["1", "2", "3", "4", "5", "6"]
    tab.type("7" * 18)
    tab.page.keyboard.press("Enter")
    tab.on_screen(2, 2)
    tab.type("8" * 24)
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_selector("#thanks:not([hidden])")
    with tab.page.expect_download() as started:
        tab.page.click("#download")
    downloads = tmp_path / "ratings" / "downloads"
    downloads.mkdir()
    started.value.save_as(downloads / started.value.suggested_filename)
    assert tab.said == []
    tab.close()
    rating.database.close()
    table = read_human_ratings([str(downloads)], Columns()).table
    assert len(table) == 48 and set(table["method"]) == set(METHODS)
    assert set(table["rater"]) == {raters[1].id}


@pytest.mark.slow
def test_two_windows_of_a_static_page_keep_each_others_answers(
    chromium: Any, tmp_path: Path
) -> None:
    """What one window kept is still there after the other has answered, and is shown in it."""
    rating = rating_study(tmp_path / "s", items=("boat",), max_side_px=64)
    page_file = write_static(
        rating, [rating.database.add_rater(90)], tmp_path / "web", "", lambda: None
    )
    first = Tab(chromium, f"{page_file.as_uri()}?rater=1")
    first.begin()
    second = Tab(chromium, f"{page_file.as_uri()}?rater=1", beside=first.context)
    second.page.wait_for_selector("#screen .card")
    first.type("12")
    first.saved()
    second.page.keyboard.press("ArrowDown")
    second.type("9")
    second.page.wait_for_selector("#remark:has-text('another window')")
    assert second.values()[0:5] == ["1", "9", "", "", "2"]
    second.page.reload()
    second.page.wait_for_selector("#screen .card")
    assert second.values()[0:5] == ["1", "9", "", "", "2"]
    first.close()
    rating.database.close()


@pytest.mark.parametrize(
    "obstacle",
    [
        "Object.defineProperty(window, 'indexedDB', {get() { throw new DOMException('no'); }})",
        "IDBObjectStore.prototype.put = function () { this.transaction.abort(); }",
    ],
    ids=["forbidden", "no-room"],
)
@pytest.mark.slow
def test_a_browser_that_keeps_nothing_is_said_to(
    chromium: Any, tmp_path: Path, obstacle: str
) -> None:
    """Without storage the page warns, works in its window, and the download has every answer."""
    rating = rating_study(tmp_path / "s", items=("boat",), max_side_px=64)
    page_file = write_static(
        rating, [rating.database.add_rater(90)], tmp_path / "web", "", lambda: None
    )
    context = chromium.new_context(viewport=WIDE, accept_downloads=True)
    context.add_init_script(obstacle)
    tab = Tab(chromium, f"{page_file.as_uri()}?rater=1", beside=context)
    tab.begin()
    tab.notice("in this window only")
    tab.type("6" * 24)
    tab.page.wait_for_selector("#saved:has-text('Only in this window')")
    tab.page.keyboard.press("?")
    with tab.page.expect_download() as started:
        tab.page.click("#download-now")
    handed_in = json.loads(Path(started.value.path()).read_text())
    assert len(handed_in["screens"][0]["answers"]) == 24
    tab.page.click("#help-dialog button[value=close]")
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_selector("#thanks:not([hidden])")
    tab.close()
    rating.database.close()


@pytest.mark.slow
def test_a_static_page_without_a_number_asks_for_one(chromium: Any, tmp_path: Path) -> None:
    """Whoever lost the end of the link can type the number."""
    rating = rating_study(tmp_path / "s", items=("boat",), max_side_px=64)
    page_file = write_static(
        rating, [rating.database.add_rater(90)], tmp_path / "web", "", lambda: None
    )
    tab = Tab(chromium, f"{page_file.as_uri()}?rater=constructor")
    tab.page.fill("#number", "77")
    tab.page.click("#begin")
    assert "no such rater number" in tab.page.inner_text("#trouble")
    tab.page.fill("#number", "1")
    tab.page.click("#begin")
    tab.page.wait_for_url("**rater=1")
    tab.begin()
    tab.close()
    rating.database.close()


@pytest.mark.slow
def test_a_static_page_sends_its_answers_where_it_was_told(chromium: Any, tmp_path: Path) -> None:
    """With an address given, each finished screen is posted there; letters only, as in the download."""
    received: list[dict[str, Any]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep the test quiet."""

    rating = rating_study(tmp_path / "s", items=("boat",), max_side_px=64)
    rater = rating.database.add_rater(90)
    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        post = f"http://127.0.0.1:{server.server_port}/collect"
        page_file = write_static(rating, [rater], tmp_path / "web", post, lambda: None)
        tab = Tab(chromium, f"{page_file.as_uri()}?rater=1")
        tab.begin()
        tab.type("6" * 24)
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_selector("#thanks:not([hidden])")
        assert "They have been sent" in tab.page.inner_text("#download-hint")
        assert tab.said == []
        tab.close()
        server.shutdown()
    [sent] = received
    assert sent["rater"] == rater.id and len(sent["screens"][0]["answers"]) == 24
    assert not any(method in json.dumps(sent) for method in METHODS)
    rating.database.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("viewport", "scheme"),
    [pytest.param(WIDE, "light", id="wide-light"), pytest.param(PHONE, "dark", id="phone-dark")],
)
def test_the_page_is_accessible(
    chromium: Any, small: RatingStudy, tmp_path: Path, viewport: dict[str, int], scheme: str
) -> None:
    """axe finds nothing on any page or dialog, and nothing overflows."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    rater = small.database.add_rater(90)
    with served(small, tmp_path) as address:
        link = f"{address}/r/{rater.token}/"
        tab = Tab(chromium, link, viewport=viewport, color_scheme=scheme, bypass_csp=True)
        page = tab.page

        def clean(where: str) -> None:
            found = axe.run(page)
            assert found.violations_count == 0, f"{where}: {found.generate_report()}"
            assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], where

        clean("first page")
        tab.begin()
        tab.type("12")
        tab.saved()
        page.wait_for_function("() => [...document.images].every((i) => i.naturalWidth)")
        clean("screen")
        page.click("#help-open")
        clean("help")
        page.click("#help-dialog button[value=close]")
        page.click(".card[data-letter=B] header button")
        clean("cannot judge")
        page.click("#unable-dialog button[value=cancel]")
        tab.type("5" * 22)
        page.keyboard.press("Enter")
        tab.on_screen(2, 2)
        tab.type("5" * 24)
        page.keyboard.press("Enter")
        page.wait_for_selector("#thanks:not([hidden])")
        clean("thanks")
        tab.close()
