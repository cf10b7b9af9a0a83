"""A real Chromium for the tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A headless Chromium; the tests skip where there is none."""
    driver = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install 'lmmscore[dev]'"
    )
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with driver.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()
