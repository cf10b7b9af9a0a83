"""The report of a large run: 1,000 items with 8 methods. Time to build, size, time to open, memory.

The pictures are the drawn demo's, each file made different from all others; the answers are random
numbers that no judge gave. They serve to measure with and say nothing about anything.

What is measured is set against a yardstick of the same run: reading and shrinking every picture
once, one after the other, as the report's first version did.
"""

from __future__ import annotations

import io
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
from lmmscore.images import fit, load_rgb
from lmmscore.records import Reply
from lmmscore.report.page import PageOptions, write_page
from lmmscore.report.run_data import RunData
from lmmscore.resources import bundled
from lmmscore.run_folder import Run

ITEMS, METHODS = 1_000, 8
CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --enable-precise-memory-info"
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
        _copy(item.images["source"], folder / "source" / f"i{number}.jpg", number)
        for k, path in enumerate(edits[:METHODS]):
            _copy(path, folder / "edits" / f"Method{k}" / f"i{number}.jpg", number)
        lines.append(f'i{number},task{number % 7},"{item.instruction}"')
    (folder / "items.csv").write_text("\n".join(lines) + "\n")
    file = folder / "benchmark.yaml"
    patterns = 'images:\n  source: "source/{id}.jpg"\n  edit: "edits/{method}/{id}.jpg"\n'
    file.write_text(f"name: large\nitems: items.csv\n{patterns}")
    return file


def _copy(path: Path, to: Path, number: int) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    # What follows the end of a JPEG is not shown; it makes every file another, with a digest of its own.
    to.write_bytes(path.read_bytes() + f"{to.parent.name} {number}".encode())


def make_run(folder: Path, items: int) -> Run:
    """Play the dialog about every item with the dice."""
    return lmmscore.run(
        make_benchmark(folder / "bench", items), judge=Dice(), out=folder / "run", concurrency=32
    )


def plain_shrinking_s(folder: Path, sample: int) -> float:
    """Return how long shrinking one picture takes in the plainest way, over a sample."""
    paths = sorted((folder / "bench" / "edits").rglob("*.jpg"))[:sample]
    start = time.perf_counter()
    for path in paths:
        fit(load_rgb(path), 192).save(io.BytesIO(), "WEBP", quality=75, method=2)
    return (time.perf_counter() - start) / len(paths)


@dataclass(frozen=True)
class Opened:
    """How a browser fared."""

    table_s: float
    """Until the first table stood."""
    first_s: float
    """Until the first card had its pictures."""
    longest_frame_s: float
    """The longest wait between two frames while scrolling through the edits."""
    height_px: int
    unpaged_px: int
    """How high the page would be with all its items below each other."""
    memory_mb: float


def open_page(page: Path) -> Opened:
    """Open the page in Chromium and scroll through it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        try:
            tab = browser.new_page(viewport={"width": 1400, "height": 900})
            start = time.perf_counter()
            tab.goto(page.as_uri(), wait_until="commit")
            tab.wait_for_selector(".board:not([hidden]) .ranking tbody tr")
            table_s = time.perf_counter() - start
            tab.wait_for_selector(".item", state="attached")
            tab.evaluate("document.querySelector('.item').scrollIntoView()")
            tab.wait_for_selector(".item[data-filled] img")
            first_s = time.perf_counter() - start
            longest = float(tab.evaluate(_SCROLL)) / 1000
            height = int(tab.evaluate("document.documentElement.scrollHeight"))
            unpaged = int(tab.evaluate(_UNPAGED))
            memory = float(tab.evaluate("performance.memory.usedJSHeapSize")) / 1e6
            return Opened(table_s, first_s, longest, height, unpaged, memory)
        finally:
            browser.close()


_UNPAGED = """() => {
  const cards = [...document.querySelectorAll(".item[data-filled]")];
  const mean = cards.reduce((sum, card) => sum + card.offsetHeight, 0) / cards.length;
  const list = document.getElementById("gallery-list").offsetHeight;
  return document.documentElement.scrollHeight - list + mean * lmm.core.items[0].length;
}"""

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


def _built_s(run: Run, out: Path) -> float:
    start = time.perf_counter()
    write_page([RunData("large", run)], PageOptions(out=out))
    return time.perf_counter() - start


def main() -> None:
    """Print the figures."""
    items = 100 if "--quick" in sys.argv else ITEMS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = make_run(folder, items)
        page = folder / "report.html"
        plain_s = plain_shrinking_s(folder, 200) * items * (METHODS + 1)
        first_s, again_s = _built_s(run, page), _built_s(run, page)
        print(f"report of {items:,} items × {METHODS} methods")
        print(f"  shrinking all pictures plainly {plain_s:6.1f} s")
        print(f"  build, first time              {first_s:6.1f} s, {first_s / plain_s:.2f} of that")
        print(
            f"  build again                    {again_s:6.1f} s, {again_s / first_s:.2f} of the first"
        )
        print(f"  size                           {page.stat().st_size / 1e6:6.1f} MB")
        if not CHROMIUM.is_file():
            print("  not opened: no Chromium here (apt-get install chromium)")
            return
        opened = open_page(page)
        print(f"  open, first table              {opened.table_s:6.2f} s")
        print(f"  open, first card               {opened.first_s:6.2f} s")
        print(f"  scroll, longest wait           {opened.longest_frame_s:6.3f} s between frames")
        share = opened.height_px / opened.unpaged_px
        print(f"  height                         {opened.height_px:6,d} px, {share:.2f} of unpaged")
        print(f"  memory of the page's code      {opened.memory_mb:6.1f} MB")


if __name__ == "__main__":
    main()
