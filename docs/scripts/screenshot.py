"""Take the picture of the README: the report of the demo, in a real browser. `python docs/scripts/screenshot.py`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

TARGET = Path(__file__).parents[1] / "images" / "report.png"
ROOT = Path(__file__).parents[2]


def _joined(paths: list[Path]) -> Image.Image:
    """Return pictures one below the other."""
    images = [Image.open(path).convert("RGB") for path in paths]
    width = max(image.width for image in images)
    sheet = Image.new("RGB", (width, sum(image.height for image in images) + 24), "#fbfaf7")
    top = 0
    for image in images:
        sheet.paste(image, ((width - image.width) // 2, top))
        top += image.height
    return sheet


def main() -> None:
    """Run the demo, write its report, photograph the page and keep the file small."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "demo"
        words = [sys.executable, "-m", "lmmscore", "demo", "--out", str(run)]
        subprocess.run(words, check=True, cwd=ROOT, capture_output=True)
        picture = Path(folder) / "report.png"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(
                viewport={"width": 1400, "height": 900},
                device_scale_factor=1.3,
                color_scheme="light",
            )
            page.goto((run / "report.html").as_uri())
            page.wait_for_load_state("networkidle")
            # Pictures are loaded when they come into view.
            page.locator("#item-boat").scroll_into_view_if_needed()
            page.wait_for_timeout(500)
            first = Path(folder) / "first.png"
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=first, clip={"x": 0, "y": 0, "width": 1400, "height": 590})
            second = Path(folder) / "second.png"
            page.locator("#item-boat").screenshot(path=second)
            _joined([first, second]).save(picture)
            browser.close()
        with Image.open(picture) as image:
            # A screenshot has few colours: a palette makes it a third of the size and looks the same.
            image.convert("RGB").quantize(192).save(TARGET, optimize=True)


if __name__ == "__main__":
    main()
