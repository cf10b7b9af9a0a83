"""Batches at a server that others wrote, which takes seconds for each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lmmscore.cli import lmmscore as command
from lmmscore.execution import batch as executor
from lmmscore.ledger import Ledger
from lmmscore.run_folder import open_run

Maker = Callable[..., Path]


# llmock leaves its uploads open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_of_somebody_else(
    tmp_path: Path, llmock: Any, make_benchmark: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """llmock's files and batches: every wave is collected, and what it says is no score."""
    monkeypatch.setattr(executor, "POLL_S", 0.05)
    bench, out = make_benchmark(items=1, methods=("one",)), tmp_path / "r"
    # A question of one turn and its repair: llmock takes its time for every wave.
    words = ["run", str(bench), "--dialog", "preservation-3", "--setting", "against=source"]
    words += ["--judge", "openai/gpt-4o", "--out", str(out), "--batch", "--wait"]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 3, done.output
    run = open_run(out)
    assert run.manifest.state == "finished"
    assert set(run.scores()["outcome"]) == {"unreadable"}
    with Ledger(out / "ledger.sqlite", read_only=True) as ledger:
        assert ledger.count() > 0
