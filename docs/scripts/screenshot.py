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
            subprocess.run([sys.executable, "-m", "lmmscore", *words], check=True, cwd=ROOT, capture_output=True)
        picture = Path(folder) / "report.png"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 860}, device_scale_factor=1.5, color_scheme="light")
            page.goto((run / "report.html").as_uri())
            page.wait_for_load_state("networkidle")
            page.screenshot(path=picture)
            browser.close()
        with Image.open(picture) as image:
            # A screenshot has few colours: a palette makes it a third of the size and looks the same.
            image.convert("RGB").quantize(192).save(TARGET, optimize=True)


if __name__ == "__main__":
    main()
