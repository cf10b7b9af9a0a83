"""The report in a real browser: it opens, answers to mouse and keyboard, and nothing hostile runs."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lmmscore
from lmmscore.report.page import PageOptions, write_page
from lmmscore.report.run_data import RunData
from lmmscore.run_folder import open_run
from tests import hostile
from tests.conftest import PAIR_DIALOG, ScriptedJudge

pytestmark = pytest.mark.browser

DEMO = Path(__file__).parents[2] / "media" / "demo"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a real run: four items, two repeats, ratings made up for the test."""
    from lmmscore.agreement import agree
    from lmmscore.score_files import read_ratings

    folder = tmp_path_factory.mktemp("report")
    items = ["boat", "cottage", "lake", "car"]
    judged = RunData("demo", lmmscore.run(DEMO, out=folder / "demo", items=items, repeats=2))
    table = read_ratings([hostile.ratings(folder / "human.csv", items, judged.methods)]).table
    known = {"scales": {"demo": judged.scales}, "weights": judged.weights}
    found = agree({"demo": judged.scores}, table, **known, resamples=100)
    return write_page([judged], PageOptions(out=folder / "report.html", agreement=found))


@pytest.fixture(scope="module")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run in which every text is an attack."""
    folder = tmp_path_factory.mktemp("hostile")
    run = lmmscore.run(
        hostile.benchmark(folder / "bench"), judge=hostile.HostileJudge(), out=folder / "run"
    )
    return write_page(
        [RunData("<script>run</script>", run)], PageOptions(out=folder / "report.html")
    )


class Tab:
    """A page in the browser, with everything it complained of or asked for."""

    def __init__(self, browser: Any, address: str, **context: Any) -> None:
        self.context = browser.new_context(
            **{"viewport": {"width": 1300, "height": 900}, **context}
        )
        self.page = self.context.new_page()
        self.address = address.partition("#")[0]
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on(
            "dialog",
            lambda dialog: (self.said.append(f"dialog {dialog.message}"), dialog.dismiss()),
        )
        self.page.goto(address)
        self.page.wait_for_selector("html.scripted")

    @property
    def fetched(self) -> list[str]:
        """What was asked for besides the page itself and pictures inside it."""
        return [url for url in self.asked if not url.startswith("data:") and url != self.address]


@pytest.fixture
def fresh_tab(chromium: Any, report: Path) -> Iterator[Tab]:
    """The report, opened by nobody before."""
    opened = Tab(chromium, report.as_uri())
    yield opened
    assert opened.said == [] and opened.fetched == []
    opened.context.close()


@pytest.fixture(scope="module")
def wide_tab(chromium: Any, report: Path) -> Iterator[Tab]:
    """The report on a wide screen, opened once for all tests that need no fresh one."""
    opened = Tab(chromium, report.as_uri())
    yield opened
    opened.context.close()


@pytest.fixture(scope="module")
def narrow_tab(chromium: Any, report: Path) -> Iterator[Tab]:
    """The report on a phone, opened once."""
    opened = Tab(chromium, report.as_uri(), viewport={"width": 390, "height": 844})
    yield opened
    opened.context.close()


@pytest.fixture
def tab(wide_tab: Tab) -> Iterator[Tab]:
    """The report as it is when it opens."""
    wide_tab.page.set_viewport_size({"width": 1300, "height": 900})
    yield from _as_opened(wide_tab)


@pytest.fixture
def phone(narrow_tab: Tab) -> Iterator[Tab]:
    """The report as it is when it opens on a phone."""
    yield from _as_opened(narrow_tab)


def _as_opened(tab: Tab) -> Iterator[Tab]:
    """Undo what earlier tests chose: opening the page again would take ten times as long."""
    tab.said.clear()
    tab.asked.clear()
    tab.page.evaluate(
        """() => {
          for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
          lmm.leaderboard.reveal("board-all-overall");
          lmm.gallery.restore(new URLSearchParams());
          lmm.conversations.reveal("boat--1", false);
          for (const part of document.querySelectorAll(".here")) part.classList.remove("here");
          for (const part of document.querySelectorAll("details.behind")) part.open = false;
          history.replaceState(null, "", location.pathname);
          document.activeElement.blur();
          scrollTo(0, 0);
        }"""
    )
    yield tab
    assert tab.said == [] and tab.fetched == []


def _edits(tab: Tab) -> Any:
    """Scroll to the edits and return the first card, filled."""
    tab.page.locator("#gallery-list").scroll_into_view_if_needed()
    card = tab.page.locator(".item").first
    card.scroll_into_view_if_needed()
    tab.page.wait_for_selector(".item[data-filled] .edit img")
    return card


def test_it_opens_without_an_error_or_a_request(fresh_tab: Tab) -> None:
    """The page from disk draws its cards and asks no one for anything."""
    _edits(fresh_tab)
    assert fresh_tab.page.locator(".item").count() == 4
    fresh_tab.page.wait_for_function(
        "() => [...document.querySelector('.item').querySelectorAll('img')].every((i) => i.naturalWidth > 0)"
    )


def test_the_verdict_and_the_table_are_on_the_first_screen(tab: Tab) -> None:
    """At 1280 × 900 the sentence, the whole table and what to be careful about are in view."""
    tab.page.set_viewport_size({"width": 1280, "height": 900})
    verdict = tab.page.locator(".board:not([hidden]) .verdict").bounding_box()
    table = tab.page.locator(".board:not([hidden]) .ranking").bounding_box()
    careful = tab.page.locator(".careful").bounding_box()
    assert verdict["y"] < table["y"] and table["y"] + table["height"] <= 900
    assert careful["y"] < 900 and careful["x"] >= table["x"] + table["width"]
    room = tab.page.locator(".board:not([hidden]) .scroll").first
    assert room.evaluate("(box) => box.scrollWidth <= box.clientWidth")


def test_on_a_phone_the_method_and_its_mean_stay_in_view(phone: Tab) -> None:
    """Scrolled to the right, the table still shows which method a row is about, and its mean."""
    phone.page.locator(".board:not([hidden]) .scroll").first.evaluate(
        "(box) => { box.scrollLeft = 400; }"
    )
    row = phone.page.locator(".board:not([hidden]) tbody tr").first
    for cell in (row.locator("th"), row.locator("td").nth(1)):
        box = cell.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390


def test_on_a_phone_a_link_to_a_turn_or_an_edit_shows_it(phone: Tab) -> None:
    """A turn stops below the pictures that stick above it; an edit is seen in the strip."""
    phone.page.evaluate("location.hash = '#turn-boat--1--edit--2'")
    phone.page.wait_for_function(
        """() => {
             const name = document.querySelector(".turn.here .turn-name");
             const pictures = document.querySelector(".looked");
             return name && name.getBoundingClientRect().top
               >= pictures.getBoundingClientRect().bottom;
           }"""
    )
    phone.page.evaluate("location.hash = '#edit-car--TintLeak'")
    phone.page.wait_for_selector("#viewer[open]")
    strip = phone.page.locator("#viewer-strip").bounding_box()
    current = phone.page.locator("#viewer-strip [aria-current]").bounding_box()
    assert strip["x"] <= current["x"]
    assert current["x"] + current["width"] <= strip["x"] + strip["width"]


def test_on_a_phone_the_rules_between_rows_are_unbroken(phone: Tab) -> None:
    """Scrolled to the right, a rule has the same height under the method and under the rest."""
    from PIL import Image

    room = phone.page.locator(".board:not([hidden]) .scroll").first
    room.evaluate(
        """(box) => {
             box.scrollLeft = 60;
             for (const part of box.querySelectorAll("svg, .small, thead *")) {
               part.style.visibility = "hidden";
             }
           }"""
    )
    picture = Image.open(io.BytesIO(room.screenshot())).convert("RGB")
    method = room.locator("tbody th").first.bounding_box()
    left = room.bounding_box()["x"]
    # With the drawings hidden, the only thing left beside the words is the rule below a row.
    places = [round(method["x"] + method["width"] - left) - 3, picture.width - 2]
    page = picture.getpixel((places[0], 1))
    rules = [[y for y in range(picture.height) if picture.getpixel((x, y)) != page] for x in places]
    assert rules[0] == rules[1] and len(rules[0]) >= 6
    room.evaluate(
        """(box) => {
             for (const part of box.querySelectorAll("[style]")) part.style.visibility = "";
           }"""
    )


@pytest.mark.slow
def test_what_is_off_screen_is_not_drawn(fresh_tab: Tab) -> None:
    """Before one scrolls down, cards far below hold no pictures; conversations lie packed."""
    assert fresh_tab.page.locator(".item").last.locator("img").count() == 0
    fresh_tab.page.locator(".item").last.scroll_into_view_if_needed()
    fresh_tab.page.wait_for_function(
        "() => [...document.querySelectorAll('.item')].at(-1).dataset.filled === 'yes'"
    )
    assert fresh_tab.page.locator(".item").last.locator(".edit img").count() == 6


def _methods(tab: Tab) -> list[str]:
    rows = tab.page.locator(".board:not([hidden]) .ranking tbody tr")
    return [rows.nth(k).get_attribute("data-method") for k in range(rows.count())]


def test_the_leaderboard_sorts_by_any_column(tab: Tab) -> None:
    """A click or Enter on a heading sorts, once more reverses, and aria-sort says which way."""
    before = _methods(tab)
    head = tab.page.locator(".board:not([hidden]) th[data-sort=method]")
    head.locator("button").click()
    assert _methods(tab) == sorted(before) and head.get_attribute("aria-sort") == "ascending"
    head.locator("button").press("Enter")
    assert (
        _methods(tab) == sorted(before, reverse=True)
        and head.get_attribute("aria-sort") == "descending"
    )
    tab.page.locator(".board:not([hidden]) th[data-sort=rank] button").click()
    assert _methods(tab) == before


def test_the_leaderboard_shows_the_task_and_factor_chosen(tab: Tab) -> None:
    """Choosing a category and a factor shows exactly that table."""
    tab.page.select_option("#board-tools [name=task]", "color_change")
    tab.page.select_option("#board-tools [name=factor]", "qua")
    shown = tab.page.locator(".board:not([hidden])")
    assert shown.count() == 1
    assert shown.locator("h3").inner_text() == "Color change: Visual Quality"


def test_a_table_is_copied_as_latex(tab: Tab) -> None:
    """The button puts the table, not a document, on the clipboard, and says so."""
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.page.click(".board:not([hidden]) [data-copy=latex]")
    tab.page.wait_for_function(
        "() => document.getElementById('status').textContent === 'Copied as LaTeX.'"
    )
    copied = tab.page.evaluate("navigator.clipboard.readText()")
    assert r"\begin{tabular}" in copied and r"\documentclass" not in copied


def _items(tab: Tab) -> list[str]:
    return list(tab.page.locator(".item h4").all_inner_texts())


def test_the_gallery_filters_and_the_address_says_how(tab: Tab) -> None:
    """Task, method and words narrow what is shown; the link to it shows the same again."""
    tab.page.select_option("#gallery-tools [name=task]", "background_change")
    assert _items(tab) == ["boat", "cottage"]
    assert tab.page.inner_text("#gallery-count") == "2 of 4 items"
    tab.page.fill("#gallery-tools [name=find]", "snowy")
    assert _items(tab) == ["cottage"]
    tab.page.select_option("#gallery-tools [name=method]", label="TintLeak")
    tab.page.locator(".item").scroll_into_view_if_needed()
    tab.page.wait_for_selector(".picture.edit")
    assert tab.page.locator(".picture.edit").count() == 1
    address = tab.page.evaluate("location.hash")
    assert address == "#gallery?task=background_change&method=TintLeak&find=snowy"
    tab.page.fill("#gallery-tools [name=find]", "no such thing")
    assert tab.page.inner_text("#gallery-count") == "0 of 4 items: nothing matches"
    tab.page.evaluate("(hash) => { location.hash = hash; }", address)
    tab.page.wait_for_function("() => document.querySelectorAll('.item').length === 1")
    assert _items(tab) == ["cottage"]


def test_edits_stand_best_to_worst_on_the_factor_chosen(tab: Tab) -> None:
    """Choosing another factor sorts every card's edits by it."""
    for factor in ("Overall", "Logical Realism"):
        tab.page.select_option("#gallery-tools [name=factor]", label=factor)
        card = _edits(tab)
        scores = [float(text) for text in card.locator(".score").all_inner_texts()]
        assert len(scores) == 6 and scores == sorted(scores, reverse=True)


def test_the_gallery_sorts_by_disagreement_in_points(tab: Tab) -> None:
    """Items can be put in the order in which judge and raters differ, and each card says by how much."""
    choices = tab.page.locator("#gallery-tools [name=sort] option").all_inner_texts()
    assert (
        "disagreement of judge and raters" in choices and "disagreement between repeats" in choices
    )
    tab.page.select_option("#gallery-tools [name=sort]", "people")
    expected = tab.page.evaluate(
        """() => lmm.core.items[0].map((i) =>
             [i.id, Math.max(...i.edits.map((e) => Math.abs(e.scores[0] - e.people[0])))])
             .sort((a, b) => b[1] - a[1]).map(([id]) => id)"""
    )
    assert _items(tab) == expected
    words = _edits(tab).locator(".edit figcaption").first.inner_text()
    assert re.search(r"judge [\d.]+, raters [\d.]+", words)


@pytest.fixture(scope="module")
def two_runs(report: Path) -> Path:
    """The page about two runs, which happen to be the same."""
    run = report.parent / "demo"
    runs = [RunData(name, lmmscore.open_run(run)) for name in ("first", "second")]
    return write_page(runs, PageOptions(out=report.parent / "two.html"))


@pytest.mark.slow
def test_two_runs_are_compared_on_every_card(chromium: Any, two_runs: Path) -> None:
    """With two runs each card has both scores, and items sort by their disagreement.

    A missing score counts as unknown, not as 0: it is no disagreement.
    """
    opened = Tab(chromium, two_runs.as_uri() + "#gallery?sort=judges")
    opened.page.wait_for_selector(".item[data-filled] .twin")
    words = opened.page.locator(".twin").first.inner_text()
    assert re.fullmatch(r"first [\d.]+, second [\d.]+", words)
    assert opened.page.input_value("#gallery-tools [name=sort]") == "judges"
    assert opened.page.locator("#runs .bump.same").count() > 0

    items = _items(opened)
    opened.page.select_option("#gallery-tools [name=sort]", index=0)
    opened.page.evaluate(
        "(last) => { lmm.core.items[1].find((i) => i.id === last).edits[0].scores[0] = null; }",
        items[-1],
    )
    opened.page.select_option("#gallery-tools [name=sort]", "judges")
    assert _items(opened) == items
    assert opened.said == []
    opened.context.close()


def test_rows_of_pictures_are_even(tab: Tab) -> None:
    """Nine pictures stand 5 + 4 or 3 + 3 + 3: no row holds a single one."""
    card = _edits(tab)
    for width in (1300, 900, 700):
        tab.page.set_viewport_size({"width": width, "height": 900})
        tops = card.locator(".picture").evaluate_all(
            "(all) => all.map((each) => Math.round(each.getBoundingClientRect().top))"
        )
        rows = [tops.count(top) for top in sorted(set(tops))]
        assert max(rows) - min(rows) <= 1 + max(rows) // 4, rows


def test_holding_an_edit_shows_its_source_in_place(tab: Tab) -> None:
    """While the mouse is down the source stands in the edit's place, and then the edit again."""
    card = _edits(tab)
    button = card.locator(".open").first
    image = button.locator("img")
    source = card.locator(".given img").first.get_attribute("src")
    own = image.get_attribute("src")
    button.hover()
    tab.page.mouse.down()
    tab.page.wait_for_selector(".open.held")
    assert image.get_attribute("src") == source != own
    tab.page.mouse.up()
    assert image.get_attribute("src") == own
    assert not tab.page.locator("#viewer").is_visible()


def test_the_viewer_opens_from_an_edit_and_walks_by_keyboard(tab: Tab) -> None:
    """A click opens the edit beside its source, with its scores and the judge's words; arrows walk on."""
    card = _edits(tab)
    button = card.locator(".open").first
    method = card.locator(".edit").first.get_attribute("data-method")
    button.click()
    viewer = tab.page.locator("#viewer")
    viewer.wait_for()
    assert tab.page.evaluate("location.hash").startswith("#edit-boat--")
    assert viewer.locator("#viewer-scores h3").inner_text() == method
    assert "Edited image" in viewer.locator("#viewer-words").inner_text()
    assert viewer.locator(".pane img").count() == 2
    tab.page.keyboard.press("ArrowRight")
    other = viewer.locator("#viewer-scores h3").inner_text()
    assert other != method
    tab.page.keyboard.press("4")
    assert viewer.locator(".stage").get_attribute("data-mode") == "difference"
    assert tab.page.evaluate("location.hash") == f"#edit-boat--{other}?mode=difference"
    tab.page.keyboard.press("Escape")
    assert not viewer.is_visible()
    assert tab.page.evaluate("location.hash") == "#item-boat"


def test_zoom_and_place_are_shared_by_both_panes(tab: Tab) -> None:
    """Zoomed in and dragged, source and edit show the same part."""
    _edits(tab).locator(".open").first.click()
    tab.page.locator("#viewer-in").click()
    tab.page.locator("#viewer-in").click()
    stage = tab.page.locator("#viewer .stage")
    box = stage.bounding_box()
    tab.page.mouse.move(box["x"] + 100, box["y"] + 100)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + 160, box["y"] + 130)
    tab.page.mouse.up()
    shown = tab.page.locator("#viewer .pane img").evaluate_all(
        "(all) => all.map((each) => getComputedStyle(each).transform)"
    )
    assert len(set(shown)) == 1 and shown[0].startswith("matrix(2.25,")
    assert not shown[0].endswith("0, 0)")


def test_a_link_opens_the_viewer(chromium: Any, report: Path) -> None:
    """The address of an edit opens it, in the mode it names."""
    opened = Tab(chromium, report.as_uri() + "#edit-car--TintLeak?mode=wipe")
    viewer = opened.page.locator("#viewer")
    viewer.wait_for()
    assert viewer.locator("#viewer-scores h3").inner_text() == "TintLeak"
    assert viewer.locator(".stage").get_attribute("data-mode") == "wipe"
    viewer.locator("#viewer-wipe").press("Home")
    wiped = "getComputedStyle(document.querySelector('.stage')).getPropertyValue('--wipe')"
    assert opened.page.evaluate(wiped) == "0%"
    assert opened.said == []
    opened.context.close()


def test_everything_leads_to_what_it_is_about(tab: Tab) -> None:
    """A row of the table leads to the method's edits, a figure of the win matrix to the pair."""
    tab.page.locator(".board:not([hidden]) tbody th a", has_text="TintLeak").click()
    tab.page.wait_for_function("() => location.hash.startsWith('#gallery?')")
    assert tab.page.input_value("#gallery-tools [name=method]") == "TintLeak"
    tab.page.evaluate("location.hash = '#result'")
    tab.page.locator(".board:not([hidden]) .heat td a").first.click()
    tab.page.wait_for_function("() => document.querySelector('[name=against]').value !== ''")
    _edits(tab)
    assert tab.page.locator(".item").first.locator(".edit").count() == 2


def test_a_dot_says_what_it_is_and_leads_there(tab: Tab) -> None:
    """Pointing at a dot names its edit; a click opens it."""
    chart = tab.page.locator("[data-chart=scatter-0-0] svg")
    chart.scroll_into_view_if_needed()
    x, y, *_ = tab.page.evaluate("lmm.core.charts['scatter-0-0'].points[0]")
    box = chart.bounding_box()
    scale = box["width"] / 260
    tab.page.mouse.move(box["x"] + x * scale, box["y"] + y * scale)
    tip = tab.page.locator(".tip")
    tip.wait_for()
    assert "raters’ mean" in tip.inner_text()
    tab.page.mouse.click(box["x"] + x * scale, box["y"] + y * scale)
    tab.page.locator("#viewer").wait_for()
    assert tab.page.evaluate("location.hash").startswith("#edit-")


def test_a_link_to_a_table_shows_that_table(tab: Tab) -> None:
    """The address of a table of one task and factor opens it, not the first one."""
    tab.page.evaluate("location.hash = '#board-color_change-qua'")
    board = tab.page.locator("#board-color_change-qua")
    board.wait_for()
    assert board.is_visible()
    assert tab.page.input_value("#board-tools [name=factor]") == "qua"


@pytest.mark.slow
def test_the_keyboard_reaches_everything_soon(fresh_tab: Tab) -> None:
    """The first card is a few tabs away, shortcuts jump, and ? lists them."""
    for _ in range(2):
        fresh_tab.page.keyboard.press("Tab")
    fresh_tab.page.keyboard.press("Enter")
    fresh_tab.page.wait_for_function("() => document.activeElement.id === 'gallery-list'")
    fresh_tab.page.wait_for_selector(".item[data-filled] .open")
    for _ in range(3):
        fresh_tab.page.keyboard.press("Tab")
    assert fresh_tab.page.evaluate("Boolean(document.activeElement.closest('.item'))")
    fresh_tab.page.keyboard.press("?")
    assert "next, previous item" in fresh_tab.page.locator("#help").inner_text()
    fresh_tab.page.keyboard.press("Escape")
    fresh_tab.page.keyboard.press("r")
    fresh_tab.page.wait_for_function("() => location.hash === '#result'")


def test_a_link_leads_straight_to_a_turn(chromium: Any, report: Path) -> None:
    """Opening the page at a turn shows its conversation, with the turn in view and in focus."""
    opened = Tab(chromium, report.as_uri() + "#turn-car--2--scores")
    turn = opened.page.locator("#turn-car--2--scores")
    turn.wait_for()
    opened.page.wait_for_function(
        """() => {
          const { y } = document.getElementById("turn-car--2--scores").getBoundingClientRect();
          return y >= 0 && y <= 250;
        }"""
    )
    assert opened.page.evaluate("document.activeElement.id") == "turn-car--2--scores"
    assert turn.locator("mark.read").count() == 24
    assert "car, repeat 2" in opened.page.inner_text("#talk h3")
    opened.context.close()


def test_the_viewer_leads_to_the_conversation(tab: Tab) -> None:
    """From the judge's words one gets to the turn they are from, with the method named as ours."""
    card = _edits(tab)
    method = card.locator(".edit").first.get_attribute("data-method")
    card.locator(".open").first.click()
    tab.page.locator("#viewer-words a").first.click()
    turn = tab.page.locator(".turn.here")
    turn.wait_for()
    assert method not in turn.locator(".answered").inner_text()
    tab.page.wait_for_function(
        "(name) => document.querySelector('.looked').innerText.includes(name)", arg=method
    )


def test_conversations_are_rendered_folded_and_searchable(tab: Tab) -> None:
    """Markdown shows as a reader expects, stage-setting turns are folded, words can be found."""
    tab.page.evaluate("location.hash = '#talk-boat--1'")
    tab.page.wait_for_selector("#talk .turn")
    folded = tab.page.locator("#talk .turn:not([open])").count()
    assert 0 < folded < tab.page.locator("#talk .turn").count()
    assert tab.page.locator("#talk .prose li strong").count() > 3
    tab.page.fill("#talk-tools [name=find]", "give your scores")
    found = tab.page.locator("#talk .turn:not([hidden])").count()
    assert 0 < found < tab.page.locator("#talk .turn").count()
    assert tab.page.inner_text("#talk-found").startswith(f"{found} turn")


def test_previous_and_next_walk_through_the_conversations(tab: Tab) -> None:
    """The buttons step through all conversations, and the address follows."""
    # By keyboard: cards above may still grow to their true height, and a mouse would click where the button was.
    tab.page.press("#talk-tools [data-step='1']", "Enter")
    tab.page.wait_for_function("() => location.hash === '#talk-boat--2'")
    assert tab.page.inner_text("#talk h3") == "boat, repeat 2"
    tab.page.press("#talk-tools [data-step='-1']", "Enter")
    tab.page.wait_for_function("() => location.hash === '#talk-boat--1'")


def test_a_link_to_nothing_says_so(tab: Tab) -> None:
    """A link from another page of another run does not break this one."""
    tab.page.evaluate("location.hash = '#turn-nobody--1--x'")
    tab.page.wait_for_function(
        "() => document.getElementById('status').textContent.includes('Nothing on this page')"
    )


def test_hostile_texts_neither_run_nor_fetch(chromium: Any, hostile_report: Path) -> None:
    """Scripts, handlers, links and Markdown pictures in instructions, replies and names stay words."""
    opened = Tab(chromium, hostile_report.as_uri())
    page = opened.page
    for number in range(page.locator(".item").count()):
        card = page.locator(".item").nth(number)
        card.scroll_into_view_if_needed()
        card.locator(".pictures").wait_for(state="attached")
    for name in page.evaluate("lmm.core.talks.map((talk) => talk.id)"):
        page.evaluate("(name) => { location.hash = '#talk-' + name; }", name)
        page.wait_for_function(
            "(name) => document.querySelector('#talk article').id === 'talk-' + name", arg=name
        )
    assert page.evaluate("window.broken") is None
    assert opened.fetched == [] and opened.said == []
    assert hostile.ATTACKS[0] in page.inner_text("#gallery-list")
    assert hostile.ATTACKS[1] in page.inner_text("#talk")
    assert (
        page.locator(
            "#talk a[href^='javascript'], #talk iframe, #talk script, .item script"
        ).count()
        == 0
    )
    opened.context.close()


@pytest.mark.slow
def test_the_policy_stops_what_would_still_try(chromium: Any, hostile_report: Path) -> None:
    """Even code that got in could neither fetch, nor load a picture, nor turn a text into markup."""
    opened = Tab(chromium, hostile_report.as_uri())
    tried = opened.page.evaluate(
        """async () => {
          const outcome = {};
          try { await fetch("https://evil.example/"); outcome.fetch = "ran"; } catch { outcome.fetch = "stopped"; }
          try { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); outcome.markup = "ran"; }
          catch { outcome.markup = "stopped"; }
          outcome.picture = await new Promise((done) => {
            const image = new Image();
            image.onload = () => done("ran");
            image.onerror = () => done("stopped");
            image.src = "https://evil.example/pixel.png";
          });
          return outcome;
        }"""
    )
    assert tried == {"fetch": "stopped", "markup": "stopped", "picture": "stopped"}
    assert any("Content Security Policy" in text for text in opened.said)
    opened.context.close()


@pytest.mark.slow
def test_refusals_and_repairs_can_be_found(chromium: Any, hostile_report: Path) -> None:
    """Filtering by outcome leaves the refused item; its conversation carries the mark."""
    opened = Tab(chromium, hostile_report.as_uri())
    opened.page.select_option("#gallery-tools [name=outcome]", "refused")
    assert _items(opened) == ["refused"]
    opened.page.evaluate("location.hash = '#talk-refused--1'")
    opened.page.wait_for_selector("#talk .flag")
    flags = opened.page.locator("#talk .flag").all_inner_texts()
    assert "refused" in flags and "repair 1" in flags
    opened.context.close()


# Of a page with thousands of texts, axe takes half a minute to tell the colours: texts of the same
# colours, size and class, within parts of the same backgrounds, are looked at once. What is hidden
# it would only read to leave it out.
_SAMPLE = """() => {
  for (const part of document.querySelectorAll("[hidden], dialog:not([open])")) part.remove();
  const seen = new Set();
  for (const text of document.querySelectorAll("body *")) {
    if (![...text.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const { color, fill, fontSize, fontWeight } = getComputedStyle(text);
    const look = [color, fill, fontSize, fontWeight, text.getAttribute("class")];
    for (let part = text; part; part = part.parentElement) {
      const { backgroundColor, opacity, position } = getComputedStyle(part);
      look.push(backgroundColor, opacity, position);
    }
    if (!seen.has(look.join())) { seen.add(look.join()); text.dataset.sample = ""; }
  }
  return seen.size;
}"""


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1300), pytest.param("dark", 390, marks=pytest.mark.slow)]
)
def test_no_serious_barrier_for_anyone(
    chromium: Any, report: Path, scheme: str, width: int
) -> None:
    """axe-core finds no serious or critical violation, light and dark, wide and narrow, and nothing overflows."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="pip install 'lmmscore[dev]'"
    ).Axe()
    opened = Tab(
        chromium, report.as_uri(), color_scheme=scheme, viewport={"width": width, "height": 900}
    )
    opened.page.locator(".item").first.scroll_into_view_if_needed()
    opened.page.wait_for_selector(".item[data-filled] img")
    opened.page.locator("details.behind").evaluate_all(
        "(all) => all.filter((each) => !each.closest('[hidden]')).forEach((each) => { each.open = true; })"
    )
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width

    assert opened.page.evaluate(_SAMPLE) > 50
    colors, violations = "color-contrast", {"resultTypes": ["violations"]}
    rest = axe.run(opened.page, options={**violations, "rules": {colors: {"enabled": False}}})
    sample = {"include": [["[data-sample]"]]}
    seen = axe.run(opened.page, context=sample, options={**violations, "runOnly": [colors]})
    grave = [
        (v["id"], v["nodes"][0]["html"][:120])
        for found in (rest, seen)
        for v in found.response["violations"]
        if v["impact"] in ("serious", "critical")
    ]
    assert grave == []
    opened.context.close()


@pytest.mark.slow
def test_the_theme_can_be_chosen(fresh_tab: Tab) -> None:
    """The switch overrides the system's choice."""
    light = fresh_tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    fresh_tab.page.select_option("#theme", "dark")
    dark = fresh_tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    fresh_tab.page.reload()
    assert fresh_tab.page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> lmmscore.Run:
    """A run of one item."""
    return lmmscore.run(DEMO, out=tmp_path_factory.mktemp("one") / "run", items=["boat"])


@pytest.mark.slow
def test_pictures_beside_the_page_are_shown(
    chromium: Any, run: lmmscore.Run, tmp_path: Path
) -> None:
    """With assets the pictures come from the folder beside the page, and from nowhere else."""
    page = write_page(
        [RunData("demo", run)], PageOptions(out=tmp_path / "a page.html", assets=True)
    )
    opened = Tab(chromium, page.as_uri())
    opened.page.locator(".item").scroll_into_view_if_needed()
    opened.page.wait_for_function(
        "() => (document.querySelector('.item .edit img') || {}).naturalWidth > 0"
    )
    assert opened.said == []
    assert all(url.startswith((tmp_path / "a page_assets").as_uri()) for url in opened.fetched)
    opened.context.close()


@pytest.mark.slow
def test_a_page_without_pictures_still_opens_its_viewer(
    chromium: Any, run: lmmscore.Run, tmp_path: Path
) -> None:
    """Where every picture is gone, cards and viewer say so and nothing breaks."""
    data = RunData("demo", run, images=tmp_path / "nowhere")
    page = write_page([data], PageOptions(out=tmp_path / "page.html"))
    opened = Tab(chromium, page.as_uri() + "#edit-boat--CleanEdit")
    opened.page.locator("#viewer").wait_for()
    assert "picture not shown" in opened.page.locator("#viewer .stage").inner_text()
    assert opened.said == []
    opened.context.close()


@pytest.mark.slow
def test_turns_without_their_words_are_listed_and_the_loss_is_said_once(
    chromium: Any, run: lmmscore.Run, tmp_path: Path
) -> None:
    """Without the ledger, a conversation says so in one line; no turn has an empty question or reply."""
    shutil.copytree(run.path, tmp_path / "run")
    (tmp_path / "run" / "ledger.sqlite").unlink()
    page = write_page(
        [RunData("demo", open_run(tmp_path / "run"))], PageOptions(out=tmp_path / "page.html")
    )
    opened = Tab(chromium, page.as_uri())
    talk = opened.page.locator("#talk")
    assert talk.inner_text().count("not in the ledger") == 1
    assert talk.locator(".turn").count() > 10
    assert talk.locator(".speaker").count() == 0
    assert opened.said == []
    opened.context.close()


@pytest.mark.slow
def test_full_pictures_are_shown_in_the_viewer(
    chromium: Any, run: lmmscore.Run, tmp_path: Path
) -> None:
    """With full images the viewer shows the picture itself, the card its thumbnail."""
    options = PageOptions(out=tmp_path / "page.html", full_images=True, thumb_px=64)
    page = write_page([RunData("demo", run)], options)
    opened = Tab(chromium, page.as_uri() + "#edit-boat--CleanEdit")
    opened.page.locator("#viewer .pane img").last.wait_for()
    width = "(image) => image.decode().then(() => image.naturalWidth)"
    assert opened.page.locator("#viewer .pane img").last.evaluate(width) > 64
    assert opened.said == []
    opened.context.close()


@pytest.mark.slow
def test_paper_has_every_edit_and_no_clipped_table(
    chromium: Any, report: Path, tmp_path: Path
) -> None:
    """Printed, the cards are filled, and the number of pages is sensible."""
    opened = Tab(chromium, report.as_uri())
    opened.page.emulate_media(media="print")
    opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator(".item[data-filled]").count() == 4
    opened.page.pdf(path=tmp_path / "page.pdf", format="A4")
    pages = len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes()))
    assert 3 <= pages <= 25, pages
    opened.context.close()


def test_tables_are_there_without_scripts(chromium: Any, report: Path) -> None:
    """A browser without JavaScript shows every table and says what it cannot show."""
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator(".board table").first.is_visible()
    assert "need JavaScript" in page.inner_text("noscript")
    assert not page.locator("#gallery-tools").is_visible()
    context.close()


@pytest.mark.slow
def test_pairs_are_shown_with_both_edits_and_the_words_that_decided(
    chromium: Any, tmp_path: Path
) -> None:
    """A win rate leads to the pair, its edit to both side by side, and these to the verdicts."""
    dialog = tmp_path / "pairwise.yaml"
    dialog.write_text(PAIR_DIALOG)
    judge = ScriptedJudge(lambda _: "The *first* keeps the sea.\n\nVerdict: [[A>B]]")
    data = RunData(
        "pairs", lmmscore.run(DEMO, str(dialog), judge, out=tmp_path / "run", items=["boat"])
    )
    page = write_page([data], PageOptions(out=tmp_path / "page.html"))
    opened = Tab(chromium, page.as_uri())
    assert "share the first rank" in opened.page.inner_text(".verdict")
    opened.page.locator(".heat td a").first.click()
    opened.page.wait_for_selector(".item[data-filled] .verdicts")
    assert opened.page.locator(".item .edit").count() == 2
    assert "the two orders disagree" in opened.page.inner_text(".verdicts")
    opened.page.locator(".item .open").first.click()
    viewer = opened.page.locator("#viewer")
    viewer.wait_for()
    assert "?with=" in opened.page.evaluate("location.hash")
    words = viewer.locator("#viewer-words").inner_text()
    assert "shown first" in words and "shown second" in words
    assert viewer.locator("#viewer-words em").first.inner_text() == "first"
    viewer.locator("#viewer-words a").first.click()
    opened.page.locator("#talk mark.read").wait_for()
    assert "was shown first" in opened.page.inner_text("#talk .outcomes")
    assert opened.said == []
    opened.context.close()
