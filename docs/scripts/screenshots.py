"""Photograph the pages of the demo for the documentation: `python docs/scripts/screenshots.py`.

The scores on the rating page are typed by this script to show the page; they are no ratings.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
DEMO = ROOT / "media" / "demo"
LOADED = "() => [...document.images].every((image) => image.naturalWidth)"
QUALITY = 88
"""Of WebP. A palette would be as small, but puts blotches on the edits, which are to be judged."""


def main() -> None:
    """Run the demo and photograph its report, its live page and a screen of the rating page."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(
            viewport={"width": 1400, "height": 960}, device_scale_factor=1.2, color_scheme="light"
        )
        run = Path(folder) / "demo"
        lmmscore("demo", "--out", str(run))
        keep("report", photograph_report(page, run / "report.html"))
        with served("watch", str(run)) as link:
            keep("watch", photograph_live(page, link))

        with served("rate", str(DEMO), "--out", f"{folder}/study", "--item", "street") as link:
            keep("rating", photograph_rating(page, link))

        browser.close()


def photograph_report(page: Any, report: Path) -> list[bytes]:
    """The verdict and the table, then the edits of one item."""
    page.goto(report.as_uri())
    # Pictures are loaded when they come into view.
    item = page.locator("#item-boat")
    item.scroll_into_view_if_needed()
    page.wait_for_function(LOADED)
    edits = item.screenshot()
    page.evaluate("scrollTo(0, 0)")
    return [_down_to(page, ".board:not([hidden]) .copies"), edits]


def photograph_live(page: Any, link: str) -> list[bytes]:
    """A finished run, down to the first rows of its grid."""
    page.goto(link)
    page.wait_for_selector("#grid tbody tr")
    return [_down_to(page, "#grid tbody tr:nth-child(5)")]


def photograph_rating(page: Any, link: str) -> list[bytes]:
    """A screen with a few scores given."""
    page.goto(link)
    page.click("#begin")
    page.wait_for_selector(".card")
    for key in "97":
        page.keyboard.press(key)

    page.wait_for_function(LOADED)
    return [page.screenshot()]


def _down_to(page: Any, selector: str) -> bytes:
    """Return the page from its top to the upper edge of an element."""
    box = page.locator(selector).first.bounding_box()
    clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": box["y"]}
    return bytes(page.screenshot(clip=clip, full_page=True))


def keep(name: str, pictures: Sequence[bytes]) -> None:
    """Store screenshots, one below the other, as one picture."""
    images = [Image.open(io.BytesIO(data)).convert("RGB") for data in pictures]
    width = max(image.width for image in images)
    sheet = Image.new("RGB", (width, sum(image.height for image in images)), "#fbfaf7")
    top = 0
    for image in images:
        sheet.paste(image, ((width - image.width) // 2, top))
        top += image.height

    target = IMAGES / f"{name}.webp"
    sheet.save(target, quality=QUALITY, method=6)
    print(target.relative_to(ROOT), f"{target.stat().st_size // 1000} KB")


def lmmscore(*words: str) -> None:
    """Run a command to its end."""
    command = [sys.executable, "-m", "lmmscore", *words]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)


@contextmanager
def served(*words: str) -> Iterator[str]:
    """Run a command that serves a page, and give the first link it prints."""
    command = [sys.executable, "-m", "lmmscore", *words, "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert re.match(r"http://", line), line
        yield line.strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    main()
