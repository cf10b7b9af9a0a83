"""The report of a large run: 1,000 items with 8 methods. Time to build, size, and time to open in Chromium.

The pictures are the drawn demo's under other names; the answers are random numbers that no judge gave. They serve to
measure with and say nothing about anything.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lmmscore
from lmmscore.benchmark import load_benchmark
from lmmscore.conversation import Conversation
from lmmscore.records import Reply
from lmmscore.report.page import Wish, write_report
from lmmscore.report.page.judged import Judged
from lmmscore.resources import bundled
from lmmscore.run_folder import Run

ITEMS, METHODS = 1_000, 8
OPENS_WITHIN_S = 3.0
CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


class Dice:
    """Answers every question at once, scores at random."""

    name = "dice"
    parameters: Mapping[str, Any] = {}
    caution = "These numbers were thrown with dice."

    def __init__(self) -> None:
        self._rng = random.Random(0)

    async def ask(self, conversation: Conversation) -> Reply:
        """Return scores where they are asked for, else a paragraph of the usual length."""
        message = conversation.message
        if message is not None and "give your scores" in message.text:
            names = ("S_acc", "S_pre", "S_qua", "S_real")
            images = [
                f"Image {k}:\n"
                + "\n".join(f"- {name}: {self._rng.randint(10, 100) / 10}" for name in names)
                for k in range(1, METHODS + 1)
            ]
            return Reply("\n\n".join(images))
        return Reply(
            "The edit keeps most of the scene and changes what was asked for, with a few traces. "
            * 8
        )

    async def close(self) -> None:
        """Do nothing."""


def make_benchmark(folder: Path, items: int) -> Path:
    """Lay out a benchmark of so many items, every picture a file of its own."""
    demo = load_benchmark(bundled("media") / "demo")
    lines = ["id,task,instruction"]
    for number in range(items):
        item = demo.items[number % len(demo.items)]
        edits = [*item.edits.values(), item.images["reference"], item.images["marked"]]
        _link(item.images["source"], folder / "source" / f"i{number}.jpg")
        for k, path in enumerate(edits[:METHODS]):
            _link(path, folder / "edits" / f"Method{k}" / f"i{number}.jpg")
        lines.append(f'i{number},task{number % 7},"{item.instruction}"')
    (folder / "items.csv").write_text("\n".join(lines) + "\n")
    file = folder / "benchmark.yaml"
    patterns = 'images:\n  source: "source/{id}.jpg"\n  edit: "edits/{method}/{id}.jpg"\n'
    file.write_text(f"name: large\nitems: items.csv\n{patterns}")
    return file


def _link(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, to)
    except OSError:
        to.write_bytes(path.read_bytes())


def make_run(folder: Path, items: int) -> Run:
    """Play the dialog about every item with the dice."""
    return lmmscore.run(
        make_benchmark(folder / "bench", items), judge=Dice(), out=folder / "run", concurrency=32
    )


@dataclass(frozen=True)
class Opened:
    """How a browser fared."""

    first_s: float
    """Until the first card of the gallery had its pictures."""
    longest_frame_s: float
    """The longest wait between two frames while scrolling through the gallery."""


def open_page(page: Path) -> Opened:
    """Open the page in Chromium and scroll through it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        try:
            tab = browser.new_page(viewport={"width": 1400, "height": 900})
            start = time.perf_counter()
            tab.goto(page.as_uri())
            tab.wait_for_selector(".item[data-filled] img")
            first_s = time.perf_counter() - start
            return Opened(first_s, float(tab.evaluate(_SCROLL)) / 1000)
        finally:
            browser.close()


_SCROLL = """() => new Promise((done) => {
  document.getElementById("gallery-list").scrollIntoView();
  let longest = 0, before = performance.now(), frames = 0;
  const step = (now) => {
    if (frames > 1) longest = Math.max(longest, now - before);
    before = now;
    window.scrollBy(0, 120);
    if ((frames += 1) < 150) requestAnimationFrame(step); else done(longest);
  };
  requestAnimationFrame(step);
})"""


def main() -> None:
    """Print the figures; the last line says whether the page opens in time."""
    items = 100 if "--quick" in sys.argv else ITEMS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = make_run(folder, items)
        start = time.perf_counter()
        page = write_report([Judged("large", run)], Wish(out=folder / "report.html"))
        build_s = time.perf_counter() - start
        print(f"report of {items:,} items × {METHODS} methods")
        print(f"  build             {build_s:6.1f} s")
        print(f"  size              {page.stat().st_size / 1e6:6.1f} MB")
        if not CHROMIUM.is_file():
            print("  not opened: no Chromium here (apt-get install chromium)")
            return
        opened = open_page(page)
        share = opened.first_s / OPENS_WITHIN_S
        print(
            f"  open, first card  {opened.first_s:6.2f} s, {share:.2f} of the {OPENS_WITHIN_S:g} s allowed"
        )
        print(f"  scroll, longest   {opened.longest_frame_s:6.3f} s between frames")


if __name__ == "__main__":
    main()
