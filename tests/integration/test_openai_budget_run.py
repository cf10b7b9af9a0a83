"""Budgets and limits over whole runs: what holds for one process must hold for all parts of a run."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmmscore.api import run
from lmmscore.errors import BudgetExhausted, ServerAway
from lmmscore.judges.limits import Prices
from lmmscore.ledger import Ledger
from lmmscore.run_folder import Run
from tests.loopback import Server, playing, serving

PRICES = Prices(input=10.0, output=30.0)
"""A loopback answer (1000 in, 50 out) then costs 1.15 cents."""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six items with two edits each."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-written-down")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    folder = tmp_path / "bench"
    folder.mkdir()
    rows = ["id,task,instruction"]
    for number in range(6):
        rows.append(f"i{number},a_task,Make it number {number}")
        for kind in ("src", "plain", "noisy"):
            Image.new("RGB", (24, 24), (number, len(kind), 7)).save(
                folder / f"i{number}_{kind}.png"
            )
    (folder / "items.csv").write_text("\n".join(rows) + "\n")
    (folder / "benchmark.yaml").write_text(
        'name: six\nitems: items.csv\nimages:\n  source: "{id}_src.png"\n  edit: "{id}_{method}.png"\n'
    )
    return folder


def judge(bench: Path, server: Server, out: Path, budget_usd: float | None, **given: Any) -> Run:
    """Run, with every question priced."""
    options: dict[str, Any] = {
        "prices": PRICES,
        "budget_usd": budget_usd,
        "max_tokens": 50,
        "image_tokens": "openai-tiles",
        "attempts": 3,
    }
    return run(bench, judge=f"openai/tiny@{server.url}", out=out, judge_options=options, **given)


def test_a_budget_covers_all_parts_of_a_run_though_the_server_never_counts(
    bench: Path, tmp_path: Path
) -> None:
    """The assumed cost is remembered for the budget, and shown nowhere as a price."""
    with serving(Server(reply=playing, extra={"usage": None})) as server:
        with pytest.raises(BudgetExhausted):
            judge(bench, server, tmp_path / "r", 0.2)
        asked = len(server.served)
        for _ in range(2):
            with pytest.raises(BudgetExhausted, match=r"of 0\.20 USD"):
                judge(bench, server, tmp_path / "r", 0.2)
        assert len(server.served) == asked > 5
    with Ledger(tmp_path / "r" / "ledger.sqlite", read_only=True) as ledger:
        assert (ledger.count(), ledger.cost_usd()) == (asked, 0.0)


def test_a_budget_remembers_lost_answers(bench: Path, tmp_path: Path) -> None:
    """Answers that could not be read may have been charged; going on does not forget them."""
    with serving(Server(reply=playing, script=[b'{"id":'] * 100)) as server:
        with pytest.raises(BudgetExhausted):
            judge(bench, server, tmp_path / "r", 0.01, concurrency=2)
        asked = len(server.served)
        for _ in range(2):
            with pytest.raises(BudgetExhausted, match=r"0\.01 of 0\.01 USD"):
                judge(bench, server, tmp_path / "r", 0.01, concurrency=2)
    assert len(server.served) == asked > 1


def test_a_budget_counts_the_run_and_not_the_ledger_it_shares(bench: Path, tmp_path: Path) -> None:
    """Two runs may keep their exchanges in one file; each has its own money."""
    shared = tmp_path / "shared.sqlite"
    with serving(Server(reply=playing)) as server:
        judge(bench, server, tmp_path / "one", 0.10, items=["i0"], ledger=shared)
        judge(bench, server, tmp_path / "two", 0.10, items=["i1"], ledger=shared)
        with pytest.raises(BudgetExhausted):
            judge(bench, server, tmp_path / "two", 0.10, items=["i1", "i2"], ledger=shared)


def test_a_budget_counts_what_was_spent_without_one(bench: Path, tmp_path: Path) -> None:
    """A part of the run without a cap is a part of the run; so is one of which only the ledger tells."""
    with serving(Server(reply=playing)) as server:
        judge(bench, server, tmp_path / "r", None, items=["i0"])
        with pytest.raises(BudgetExhausted, match=r"0\.09 of 0\.09 USD"):
            judge(bench, server, tmp_path / "r", 0.093)
        (tmp_path / "r" / "spending.csv").unlink()
        with pytest.raises(BudgetExhausted, match=r"0\.09 of 0\.09 USD"):
            judge(bench, server, tmp_path / "r", 0.093)


def test_an_empty_ledger_file_is_an_empty_ledger(bench: Path, tmp_path: Path) -> None:
    """A process killed before its first write leaves one; it stops no run with a budget."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "ledger.sqlite").touch()
    with Ledger(tmp_path / "r" / "ledger.sqlite", read_only=True) as empty:
        assert empty.count() == 0
    with serving(Server(reply=playing)) as server:
        judge(bench, server, tmp_path / "r", 5.0, items=["i0"])


def test_a_server_that_asks_for_an_hour_stops_the_run(bench: Path, tmp_path: Path) -> None:
    """Nobody waits in silence: the run ends at once, says until when to wait, and goes on later."""
    with serving(Server(reply=playing, delay_s=0.05)) as server:
        server.script += [(429, {"Retry-After": "3600"}, b"{}")]
        start = time.monotonic()
        with pytest.raises(ServerAway) as raised:
            judge(bench, server, tmp_path / "r", None)
        assert time.monotonic() - start < 10
        judge(bench, server, tmp_path / "r", None)
    said = re.search(
        r"asks to wait 3600 s, until \d\d:\d\d .*everything paid for is saved", str(raised.value)
    )
    assert said, raised.value


def test_a_wait_without_end_is_no_wait(bench: Path, tmp_path: Path) -> None:
    """`Retry-After: inf` cannot be meant; the question is asked again as if nothing had been said."""
    with serving(Server(reply=playing)) as server:
        server.script += [(429, {"Retry-After": "inf"}, b"{}")]
        made = judge(bench, server, tmp_path / "r", None, items=["i0"])
    assert made.manifest.unscored == 0
