"""Files that version 0.1.0 wrote are opened, replayed and derived again, to the byte."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import lmmscore
from lmmscore.dialog import load_dialog
from lmmscore.judges.config import load_judges
from lmmscore.ledger import Ledger
from lmmscore.run_folder import open_run
from lmmscore.session import script

FIXTURES = Path(__file__).parents[1] / "fixtures" / "v0.1.0"
MEDIA = Path(__file__).parents[2] / "media" / "demo"
RUNS = ("staged", "suite", "factors", "served")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """The benchmark that was judged, as it was described then."""
    folder = tmp_path / "pictures"
    shutil.copytree(MEDIA, folder)
    shutil.copy(FIXTURES / "benchmark.yaml", folder / "benchmark.yaml")
    return folder


@pytest.fixture(params=RUNS)
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A run of 0.1.0, in a folder that may be written."""
    folder = tmp_path / "recorded" / request.param
    shutil.copytree(FIXTURES / request.param, folder)
    return folder


def test_a_replay_without_any_option_gives_the_same_scores(
    recorded: Path, pictures: Path, tmp_path: Path
) -> None:
    """Words, order, repeats, seed, methods and pictures are those of the run, not today's defaults."""
    run = lmmscore.run(pictures, judge=f"replay:{recorded}", out=tmp_path / "again")
    assert (run.path / "scores.csv").read_bytes() == (recorded / "scores.csv").read_bytes()
    then, now = open_run(recorded).manifest, run.manifest
    for key in ("order", "repeats", "seed", "methods", "image_recipe", "dialogs", "repairs"):
        assert getattr(now, key) == getattr(then, key), key


def test_every_exchange_is_found_by_its_old_key(recorded: Path) -> None:
    """The keys in sessions.jsonl are those of the ledger."""
    run = open_run(recorded)
    with Ledger(run.path / "ledger.sqlite", read_only=True) as ledger:
        keys = [exchange.key for record in run.records() for exchange in record.exchanges]
        assert keys
        assert all(ledger.find(key) is not None for key in keys)


def test_the_tables_of_an_old_run_can_be_made(recorded: Path) -> None:
    """A run of 0.1.0 is ranked as it lies there."""
    board = open_run(recorded).leaderboard(resamples=200)
    assert {row.method for table in board.tables for row in table.rows} == set(
        open_run(recorded).manifest.methods
    )


def test_an_imported_dialog_still_plays() -> None:
    """A dialog that 0.1.0 imported has its nine kinds of turn, and its words."""
    dialog = load_dialog(str(FIXTURES / "imported.yaml"))
    lines = script(dialog, 2, "background_change", "Add a cat", {})
    assert len(lines) == 8
    assert [factor.key for factor in dialog.factors] == ["acc", "pre", "qua", "real"]


def test_every_key_of_an_old_judges_file_is_known() -> None:
    """A judges.yaml of 0.1.0 means what it meant."""
    options = load_judges(FIXTURES / "judges.yaml")["local"].options
    assert options.temperature == 0.5
    assert options.attempts == 3
    assert options.prices is not None and options.prices.as_of is not None
    assert options.prices.as_of.isoformat() == "2026-01-31"
