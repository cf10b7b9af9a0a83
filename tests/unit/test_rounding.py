"""One number is never shown as two: every place that shows figures rounds alike."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lmmscore.records import fixed, half_up, signed
from lmmscore.report.edits import _short

PACKAGE = Path(__file__).parents[2] / "lmmscore"

VALUES = [9.665, 2.675, 1.005, 0.125, 7.125, -2.345, -0.001, 0.0, 20 / 3, 8.0, 0.15, 1e-14]


def test_halves_go_away_from_zero() -> None:
    """As a reader rounds by hand, and not by the nearest binary fraction."""
    assert [fixed(value, 2) for value in (9.665, 2.675, -2.345)] == ["9.67", "2.68", "-2.35"]
    assert [half_up(value, 2) for value in (9.665, 0.125, -0.001)] == [9.67, 0.13, 0]
    assert [signed(value, 2) for value in (0.125, -0.125, -0.001)] == ["+0.13", "-0.13", "+0.00"]


def test_rounding_for_the_page_leaves_what_the_page_rounds() -> None:
    """A figure just below a half stays below it: 2.3449 is 2.34, though 2.345 would be 2.35."""
    given = _short(2.3449)
    assert given is not None
    assert fixed(given, 2) == fixed(2.3449, 2) == "2.34"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize(
    ("script", "name", "call"),
    [
        ("report/templates/core.js", "rounded", "rounded(value, 2).toFixed(2)"),
        ("web/assets/watch.js", "fixed", "fixed(value, 2)"),
    ],
)
def test_pages_round_as_tables_do(script: str, name: str, call: str) -> None:
    """The scripts of the report and of the live page show what the tables print."""
    text = (PACKAGE / script).read_text(encoding="utf-8")
    found = re.search(rf"^( *)function {name}\(.*?^\1\}}$", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    program = (
        f"{found[0]}\nconsole.log(JSON.stringify({json.dumps(VALUES)}.map((value) => {call})))"
    )
    told = subprocess.run(
        ["node", "-e", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(told.stdout) == [fixed(value, 2) for value in VALUES]
