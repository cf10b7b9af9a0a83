"""The report in a real browser: it opens, answers to mouse and keyboard, and nothing hostile runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lmmscore
from lmmscore.report.page import Wish, write_report
from lmmscore.report.page.judged import Judged
from tests import hostile

pytestmark = pytest.mark.browser

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
DEMO = Path(__file__).parents[2] / "media" / "demo"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium; the tests skip where there is none."""
    driver = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install 'lmmscore[dev]'"
    )
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with driver.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a real run: four items, two repeats, ratings made up for the test."""
    from lmmscore.agreement import agree
    from lmmscore.ratings import read_ratings

    folder = tmp_path_factory.mktemp("report")
    items = ["boat", "cottage", "lake", "car"]
    judged = Judged("demo", lmmscore.run(DEMO, out=folder / "demo", items=items, repeats=2))
    table = read_ratings([hostile.ratings(folder / "human.csv", items, judged.methods)]).table
    found = agree({"demo": judged.scores}, table, weights=judged.weights, resamples=100)
    return write_report([judged], Wish(out=folder / "report.html", agreement=found))


@pytest.fixture(scope="module")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run in which every text is an attack."""
    folder = tmp_path_factory.mktemp("hostile")
    run = lmmscore.run(
        hostile.benchmark(folder / "bench"), judge=hostile.HostileJudge(), out=folder / "run"
    )
    return write_report([Judged("<script>run</script>", run)], Wish(out=folder / "report.html"))


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
def tab(browser: Any, report: Path) -> Iterator[Tab]:
    """The report, opened."""
    opened = Tab(browser, report.as_uri())
    yield opened
    assert opened.said == [] and opened.fetched == []
    opened.context.close()


def test_it_opens_without_an_error_or_a_request(tab: Tab) -> None:
    """The page from disk draws its cards and asks no one for anything."""
    tab.page.locator("#gallery").scroll_into_view_if_needed()
    tab.page.wait_for_selector(".item[data-filled] img")
    assert tab.page.locator(".item").count() == 4
    card = tab.page.locator(".item[data-filled]").first
    card.scroll_into_view_if_needed()
    tab.page.wait_for_function(
        "() => [...document.querySelectorAll('.item:first-child img')].every((i) => i.naturalWidth > 0)"
    )


def test_what_is_off_screen_is_not_drawn(tab: Tab) -> None:
    """Before one scrolls down, cards far below hold no pictures; conversations lie packed."""
    assert (
        tab.page.locator(".item").last.locator("img").count() == 0
        or tab.page.evaluate("innerHeight") > 3000
    )
    tab.page.locator(".item").last.scroll_into_view_if_needed()
    tab.page.wait_for_function(
        "() => document.querySelector('.item:last-child').dataset.filled === 'yes'"
    )
    assert tab.page.locator(".item").last.locator(".edits img").count() == 6


def _methods(tab: Tab) -> list[str]:
    rows = tab.page.locator(".board:not([hidden]) tbody tr")
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
    assert shown.locator("h3").inner_text() == "Color Change: Visual Quality"


def test_a_table_is_copied_as_latex(browser: Any, report: Path) -> None:
    """The button puts a table that compiles on the clipboard, and says so."""
    opened = Tab(browser, report.as_uri(), permissions=["clipboard-read", "clipboard-write"])
    opened.page.click("[data-copy=latex]")
    opened.page.wait_for_function(
        "() => document.getElementById('status').textContent === 'Copied as LaTeX.'"
    )
    assert r"\begin{tabular}" in opened.page.evaluate("navigator.clipboard.readText()")
    opened.context.close()


def _items(tab: Tab) -> list[str]:
    return list(tab.page.locator(".item h3").all_inner_texts())


def test_the_gallery_filters(tab: Tab) -> None:
    """Task, method and words narrow what is shown, and the count says to how many."""
    tab.page.select_option("#gallery-tools [name=task]", "=background_change")
    assert _items(tab) == ["boat", "cottage"]
    assert tab.page.inner_text("#gallery-count") == "2 of 4 items"
    tab.page.fill("#gallery-tools [name=find]", "snowy")
    assert _items(tab) == ["cottage"]
    tab.page.select_option("#gallery-tools [name=method]", label="TintLeak")
    tab.page.locator(".item").scroll_into_view_if_needed()
    tab.page.wait_for_selector(".edits .picture")
    assert tab.page.locator(".edits .picture").count() == 1
    tab.page.fill("#gallery-tools [name=find]", "no such thing")
    assert tab.page.inner_text("#gallery-count") == "0 of 4 items: nothing matches"


def test_edits_stand_best_to_worst_on_the_factor_chosen(tab: Tab) -> None:
    """Choosing another factor sorts every card's edits by it."""
    for factor in ("Overall", "Logical Realism"):
        tab.page.select_option("#gallery-tools [name=factor]", label=factor)
        tab.page.locator("#gallery-list").scroll_into_view_if_needed()
        tab.page.wait_for_selector(".item[data-filled] .score")
        scores = [
            float(text)
            for text in tab.page.locator(".item").first.locator(".score").all_inner_texts()
        ]
        assert len(scores) == 6 and scores == sorted(scores, reverse=True)


def test_the_gallery_sorts_by_disagreement(tab: Tab) -> None:
    """With ratings and repeats, items can be put in the order in which judge and people, or repeats, differ."""
    choices = tab.page.locator("#gallery-tools [name=sort] option").all_inner_texts()
    assert (
        "disagreement between judge and people" in choices
        and "disagreement between repeats" in choices
    )
    tab.page.select_option("#gallery-tools [name=sort]", "people")
    expected = tab.page.evaluate(
        """() => lmm.core.items[0].map((i) => [i.id, Math.max(...i.edits.map((e) => Math.abs(e.gap[0])))])
             .sort((a, b) => b[1] - a[1]).map(([id]) => id)"""
    )
    assert _items(tab) == expected


def test_holding_an_edit_shows_its_source_in_place(tab: Tab) -> None:
    """While mouse or key is down the source stands in the edit's place, and then the edit again."""
    tab.page.locator(".item").first.scroll_into_view_if_needed()
    button = tab.page.locator(".item .hold").first
    image = button.locator("img")
    button.scroll_into_view_if_needed()
    source = tab.page.locator(".item .given img").first.get_attribute("src")
    own = image.get_attribute("src")
    button.hover()
    tab.page.mouse.down()
    assert image.get_attribute("src") == source != own
    tab.page.mouse.up()
    assert image.get_attribute("src") == own
    button.focus()
    tab.page.keyboard.down("Space")
    assert button.get_attribute("aria-pressed") == "true" and image.get_attribute("src") == source
    tab.page.keyboard.up("Space")
    assert image.get_attribute("src") == own


def test_the_slider_wipes_between_edit_and_source(tab: Tab) -> None:
    """The arrow keys move the seam; Escape closes and gives the focus back."""
    tab.page.locator(".item").first.scroll_into_view_if_needed()
    button = tab.page.locator(".item .acts button").first
    button.click()
    assert tab.page.locator("#compare").is_visible()
    tab.page.keyboard.press("Home")
    assert (
        tab.page.evaluate(
            "getComputedStyle(document.querySelector('.stage')).getPropertyValue('--wipe')"
        )
        == "0%"
    )
    tab.page.select_option("#compare-other", label="reference")
    tab.page.keyboard.press("Escape")
    assert not tab.page.locator("#compare").is_visible()
    assert button.evaluate("(b) => b === document.activeElement")


def test_a_link_leads_straight_to_a_turn(browser: Any, report: Path) -> None:
    """Opening the page at a turn shows its conversation, with the turn in view and in focus."""
    opened = Tab(browser, report.as_uri() + "#turn-car--2--scores")
    turn = opened.page.locator("#turn-car--2--scores")
    turn.wait_for()
    opened.page.wait_for_timeout(300)
    assert 0 <= turn.bounding_box()["y"] <= 250
    assert opened.page.evaluate("document.activeElement.id") == "turn-car--2--scores"
    assert turn.locator("mark.read").count() == 24
    assert "car, repeat 2" in opened.page.inner_text("#talk h3")
    opened.context.close()


def test_an_edit_in_the_gallery_links_to_what_was_said_of_it(tab: Tab) -> None:
    """The link under an edit opens the turn in which the judge looked at it, with the method named as ours."""
    tab.page.locator(".item").first.scroll_into_view_if_needed()
    link = tab.page.locator(".item .acts a").first
    method = tab.page.locator(".item .edits .picture").first.get_attribute("data-method")
    link.click()
    turn = tab.page.locator(".turn.here")
    turn.wait_for()
    assert f"our note: {method}" in turn.inner_text()
    assert method not in turn.locator(".answered").inner_text()


def test_previous_and_next_walk_through_the_conversations(tab: Tab) -> None:
    """The buttons step through all conversations, and the address follows."""
    # By keyboard: cards above may still grow to their true height, and a mouse would click where the button was.
    tab.page.press("#dialogue-tools [data-step='1']", "Enter")
    tab.page.wait_for_function("() => location.hash === '#talk-boat--2'")
    assert tab.page.inner_text("#talk h3") == "boat, repeat 2"
    tab.page.press("#dialogue-tools [data-step='-1']", "Enter")
    tab.page.wait_for_function("() => location.hash === '#talk-boat--1'")


def test_a_link_to_nothing_says_so(browser: Any, report: Path) -> None:
    """A link from another page of another run does not break this one."""
    opened = Tab(browser, report.as_uri() + "#turn-nobody--1--x")
    opened.page.wait_for_function(
        "() => document.getElementById('status').textContent.includes('Nothing on this page')"
    )
    assert opened.said == []
    opened.context.close()


def test_hostile_texts_neither_run_nor_fetch(browser: Any, hostile_report: Path) -> None:
    """Scripts, handlers, links and Markdown pictures in instructions, replies and names stay words."""
    opened = Tab(browser, hostile_report.as_uri())
    page = opened.page
    for number in range(page.locator(".item").count()):
        page.locator(".item").nth(number).scroll_into_view_if_needed()
        page.wait_for_timeout(100)
    for _ in range(3):
        page.locator("#talk").scroll_into_view_if_needed()
        page.wait_for_timeout(100)
        page.click("#dialogue-tools [data-step='1']")
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


def test_the_policy_stops_what_would_still_try(browser: Any, hostile_report: Path) -> None:
    """Even code that got in could neither fetch, nor load a picture, nor turn a text into markup."""
    opened = Tab(browser, hostile_report.as_uri())
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


def test_refusals_and_repairs_can_be_found(browser: Any, hostile_report: Path) -> None:
    """Filtering by outcome leaves the refused item; its conversation carries the mark."""
    opened = Tab(browser, hostile_report.as_uri())
    opened.page.select_option("#gallery-tools [name=outcome]", "refused")
    assert _items(opened) == ["refused"]
    opened.page.evaluate("location.hash = '#talk-refused--1'")
    opened.page.wait_for_selector("#talk .flag")
    flags = opened.page.locator("#talk .flag").all_inner_texts()
    assert "refused" in flags and "repair 1" in flags
    opened.context.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1300), ("dark", 390)])
def test_no_serious_barrier_for_anyone(browser: Any, report: Path, scheme: str, width: int) -> None:
    """axe-core finds no serious or critical violation, light and dark, wide and narrow, and nothing overflows."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="pip install 'lmmscore[dev]'"
    )
    opened = Tab(
        browser, report.as_uri(), color_scheme=scheme, viewport={"width": width, "height": 900}
    )
    opened.page.locator(".item").first.scroll_into_view_if_needed()
    opened.page.wait_for_selector(".item[data-filled] img")
    for details in opened.page.locator("details.behind").all():
        details.evaluate("(d) => { d.open = true; }")
    found = axe.Axe().run(opened.page).response["violations"]
    grave = [
        (v["id"], v["nodes"][0]["html"][:120])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
    assert grave == []
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    opened.context.close()


def test_the_theme_can_be_chosen(tab: Tab) -> None:
    """The switch overrides the system's choice."""
    light = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.page.select_option("#theme", "dark")
    dark = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    tab.page.reload()
    assert tab.page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_pictures_beside_the_page_are_shown(browser: Any, tmp_path: Path) -> None:
    """With assets the pictures come from the folder beside the page, and from nowhere else."""
    run = lmmscore.run(DEMO, out=tmp_path / "run", items=["boat"])
    page = write_report([Judged("demo", run)], Wish(out=tmp_path / "a page.html", assets=True))
    opened = Tab(browser, page.as_uri())
    opened.page.locator(".item").scroll_into_view_if_needed()
    opened.page.wait_for_function(
        "() => (document.querySelector('.item .edits img') || {}).naturalWidth > 0"
    )
    assert opened.said == []
    assert all(url.startswith((tmp_path / "a page_assets").as_uri()) for url in opened.fetched)
    opened.context.close()


def test_tables_are_there_without_scripts(browser: Any, report: Path) -> None:
    """A browser without JavaScript shows every table and says what it cannot show."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator(".board table").first.is_visible()
    assert "need JavaScript" in page.inner_text("noscript")
    assert not page.locator("#gallery-tools").is_visible()
    context.close()
