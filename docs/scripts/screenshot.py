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


def main() -> None:
    """Run the demo, write its report, photograph the page and keep the file small."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "demo"
        for words in (["demo", "--out", str(run)], ["report", str(run)]):
            subprocess.run(
                [sys.executable, "-m", "lmmscore", *words],
                check=True,
                cwd=ROOT,
                capture_output=True,
            )
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
            page.locator(
                "#item-boat"
            ).scroll_into_view_if_needed()  # pictures are loaded when they come into view
            page.wait_for_timeout(500)
            page.evaluate("scrollTo(0, 0)")
            top, boat = (
                page.locator(name).bounding_box() for name in ("#leaderboard", "#item-boat")
            )
            assert top and boat
            area = {
                "x": 0,
                "y": top["y"],
                "width": 1400,
                "height": boat["y"] + boat["height"] - top["y"] + 16,
            }
            page.screenshot(path=picture, full_page=True, clip=area)
            browser.close()
        with Image.open(picture) as image:
            # A screenshot has few colours: a palette makes it a third of the size and looks the same.
            image.convert("RGB").quantize(192).save(TARGET, optimize=True)


if __name__ == "__main__":
    main()
