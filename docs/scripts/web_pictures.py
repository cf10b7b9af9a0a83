"""Photograph the rating page and the live page for the documentation.

Run as `python docs/scripts/web_pictures.py`. The scores on the pictures are typed by this script to
show the page; they are no ratings.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
DEMO = ROOT / "media" / "demo"
LOADED = "() => [...document.images].every((image) => image.naturalWidth)"
COLOURS = 128


def main() -> None:
    """Serve both pages of the demo and take one picture of each, wide and light."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        with served("rate", str(DEMO), "--out", f"{folder}/study", "--item", "street") as link:
            photograph_rating(page, link, Path(folder))
        lmmscore("run", str(DEMO), "--out", f"{folder}/demo")
        with served("watch", f"{folder}/demo") as link:
            photograph_live(page, link, Path(folder))
        browser.close()


def photograph_rating(page: Any, link: str, folder: Path) -> None:
    """A screen with a few scores given."""
    page.goto(link)
    page.click("#begin")
    page.wait_for_selector(".card")
    for key in "97":
        page.keyboard.press(key)
    page.wait_for_function(LOADED)
    page.screenshot(path=folder / "rating.png")
    keep(folder / "rating.png", IMAGES / "rating.png")


def photograph_live(page: Any, link: str, folder: Path) -> None:
    """A finished run, down to the first rows of its grid."""
    page.goto(link)
    page.wait_for_selector("#board tbody tr")
    page.screenshot(path=folder / "watch.png")
    keep(folder / "watch.png", IMAGES / "watch.png")


def keep(picture: Path, target: Path) -> None:
    """Store a screenshot with few colours: a third of the size, and it looks the same."""
    with Image.open(picture) as image:
        image.convert("RGB").quantize(COLOURS).save(target, optimize=True)
    print(target.relative_to(ROOT), f"{target.stat().st_size // 1000} KB")


def lmmscore(*words: str) -> None:
    """Run a command to its end."""
    subprocess.run([sys.executable, "-m", "lmmscore", *words], check=True, capture_output=True)


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
