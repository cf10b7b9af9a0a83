"""A run watched in a real browser from start to end, through restarts of the page."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import lmmscore
from lmmscore.cli.watch import open_live, report_of
from lmmscore.judges.pixels import Pixels
from lmmscore.records import Reply
from lmmscore.web.live import LivePage
from lmmscore.web.pages import hosted
from tests.loopback import beside
from tests.rating_studies import DEMO

pytestmark = pytest.mark.browser

ITEMS = ("boat", "lake", "car")
TOKEN = "a-token-of-this-test"


class GatedPixels(Pixels):
    """Answers so many questions, then waits until the gate is opened."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.reached = threading.Event()
        self._left = first

    async def ask(self, conversation: Any) -> Reply:
        self._left -= 1
        if self._left < 0:
            self.reached.set()
            await asyncio.to_thread(self.gate.wait, 60)
        return await super().ask(conversation)


@contextmanager
def watched(folder: Path, port: int = 0) -> Iterator[str]:
    """The live page of a run on loopback, in a thread; gives its link."""
    page = LivePage(folder, open_live, report_of, TOKEN)
    with beside(lambda: hosted(page.app(), "127.0.0.1", port)) as address:
        yield f"{address}/w/{TOKEN}/"


def says(page: Any, selector: str, words: str) -> None:
    """Wait until an element holds these words."""
    page.wait_for_function(
        "([selector, words]) => document.querySelector(selector)?.textContent.includes(words)",
        arg=[selector, words],
    )


@pytest.mark.slow
def test_a_run_is_watched_from_start_to_end(chromium: Any, tmp_path: Path) -> None:
    """Sessions, grid, leaderboard and conversation follow the run, through a restart of the page."""
    judge = GatedPixels(first=16)
    out = tmp_path / "run"
    options = {"judge": judge, "out": out, "items": ITEMS, "concurrency": 1}
    run = threading.Thread(target=lambda: lmmscore.run(DEMO, **options), daemon=True)
    context = chromium.new_context(viewport={"width": 1300, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    with watched(out) as link:
        port = int(re.search(r":(\d+)/", link)[1])  # type: ignore[index]
        page.goto(link)
        says(page, "#trouble", "no such folder")
        run.start()
        assert judge.reached.wait(60)
        says(page, "#state", "running")
        says(page, "#totals", "1 of 3")
        says(page, "#totals", "1 running")
        says(page, "#board-note", "1 of 3 items")
        says(page, "#talk", "image")
        assert page.locator("#grid td.scored").count() == 6
        assert page.locator("#grid td.running").count() == 6
        assert page.locator("#grid td.waiting").count() == 6
    says(page, "#state", "connection lost")
    with watched(out, port):
        says(page, "#state", "running")
        judge.gate.set()
        run.join(60)
        says(page, "#state", "finished")
        says(page, "#board-note", "3 of 3 items")
        says(page, "#totals", "3 of 3")
        assert page.locator("#grid td.scored").count() == 18
        says(page, "#board-title", "Leaderboard")
        with context.expect_page() as opened:
            page.click("#over a")
        report = opened.value
        report.wait_for_selector("#result")
        assert "lmmscore report" in report.title()
    assert errors == []
    assert not (out / "report.html").exists()
    context.close()


def test_nothing_can_be_changed_and_nothing_is_told_without_the_token(tmp_path: Path) -> None:
    """Other tokens, methods and paths are refused; the folder is the same after as before."""
    out = tmp_path / "run"
    lmmscore.run(DEMO, out=out, items=["boat"])
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with watched(out) as link:
        assert "watch.js" in urllib.request.urlopen(link).read().decode()
        root = link.partition("/w/")[0]
        wrong = (f"{root}/w/guess/", f"{root}/w/guess/events", f"{root}/", f"{link}../../run.yaml")
        for address in (*wrong, f"{link}assets/..%2f__init__.py"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(address)
            assert refused.value.code == 404
            refused.value.close()
        for method in ("POST", "PUT", "DELETE"):
            asked = urllib.request.Request(link, data=b"x", method=method)
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(asked)
            assert refused.value.code == 405
            refused.value.close()
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.slow
def test_closing_the_page_is_no_failure(
    finished: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever leaves is noticed at the next line to them; nothing is logged about it."""
    left = threading.Event()
    sending = LivePage._send_changes

    async def noticed(page: LivePage, response: Any) -> None:
        try:
            await sending(page, response)
        finally:
            left.set()

    monkeypatch.setattr(LivePage, "_send_changes", noticed)
    monkeypatch.setattr(sys.modules[LivePage.__module__], "BEAT_S", 0.02)
    with watched(finished) as link:
        with urllib.request.urlopen(f"{link}events") as events:
            assert events.readline().startswith(b"retry:")
        assert left.wait(30)
    assert caplog.records == []


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("dark", 1300), ("light", 390)])
def test_the_page_is_accessible(chromium: Any, finished: Path, scheme: str, width: int) -> None:
    """axe finds nothing, and nothing overflows."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with watched(finished) as link:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
        )
        page = context.new_page()
        page.goto(link)
        says(page, "#board-note", "2 of 2 items")
        found = axe.run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        context.close()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("watched") / "run"
    lmmscore.run(DEMO, out=out, items=["boat", "lake"])
    return out


def test_hostile_texts_of_a_run_do_not_run(chromium: Any, tmp_path: Path) -> None:
    """What a judge says and what items and methods are called is shown as text."""
    from tests import hostile

    out = tmp_path / "run"
    lmmscore.run(hostile.benchmark(tmp_path / "bench"), judge=hostile.HostileJudge(), out=out)
    with watched(out) as link:
        page = chromium.new_page()
        page.goto(link)
        says(page, "#state", "finished")
        says(page, "#grid", "onclick=alert(1)")
        assert page.evaluate("window.broken") is None
        assert page.locator("#grid td.trouble").count() > 0
        page.close()


@pytest.mark.slow
def test_run_watch_starts_the_page_along_with_the_run(tmp_path: Path) -> None:
    """`run … --watch` prints the link first, plays, and keeps the page up until Ctrl-C."""
    words = [sys.executable, "-m", "lmmscore", "run", str(DEMO), "--out", str(tmp_path / "run")]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    process = subprocess.Popen(
        [*words, "--item", "boat", "--watch", "--budget", "3"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    assert process.stderr is not None
    try:
        lines = iter(process.stderr.readline, "")
        link = next(line for line in lines if "watch: http" in line).split()[-1]
        next(line for line in lines if "until Ctrl-C" in line)
        with urllib.request.urlopen(f"{link}events", timeout=20) as events:
            told = next(line for line in map(bytes.decode, events) if line.startswith("data:"))
            assert '"budget_usd": 3.0' in told and '"sessions": 1' in told
            while '"state": "finished"' not in told:
                told = events.readline().decode()
        process.send_signal(2)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
