"""A published run can be checked by anyone, and an edited one is noticed."""

from __future__ import annotations

import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import lmmscore
from lmmscore.cli import lmmscore as command
from lmmscore.errors import LmmscoreError
from lmmscore.publish import publish, verify
from lmmscore.run_folder import open_run
from tests.conftest import ScriptedJudge, fair_answer

Maker = Callable[..., Path]
FIXTURES = Path(__file__).parents[1] / "fixtures" / "v0.1.0"


@pytest.fixture
def run(tmp_path: Path, make_benchmark: Maker) -> Path:
    """A finished run with a missing edit."""
    bench = make_benchmark(items=2, absent=((1, "beta"),))
    return lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "r").path


def repacked(archive: Path, change: Callable[[Path], None]) -> Path:
    """Unpack an archive, change something, and pack it again."""
    folder = archive.with_suffix("")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    change(folder)
    other = archive.with_name("other.zip")
    shutil.make_archive(str(other.with_suffix("")), "zip", folder)
    return other


def test_a_published_run_verifies(run: Path, tmp_path: Path) -> None:
    """Offline, without the pictures, the scores follow from the replies."""
    publish(open_run(run), tmp_path / "out.zip")
    shutil.rmtree(tmp_path / "bench")
    found = verify(tmp_path / "out.zip")
    assert found.problems == ()
    assert found.scores == 2 * 3 * 5
    assert found.exchanges > 10


@pytest.mark.parametrize("name", ["staged", "suite", "factors", "served"])
def test_runs_of_the_first_version_can_be_published(name: str, tmp_path: Path) -> None:
    """Repairs, suites and one conversation per edit verify too."""
    publish(open_run(FIXTURES / name), tmp_path / "out.zip")
    assert verify(tmp_path / "out.zip").problems == ()


def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    """Whoever packs it, and whenever."""
    publish(open_run(run), tmp_path / "one.zip")
    shutil.copytree(run, tmp_path / "elsewhere")
    publish(open_run(tmp_path / "elsewhere"), tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_an_edited_reply_is_noticed(run: Path, tmp_path: Path) -> None:
    """Even where the checksum of the ledger's file was made to fit, the row's own digest does not."""
    publish(open_run(run), tmp_path / "out.zip")

    def edit(folder: Path) -> None:
        with sqlite3.connect(folder / "ledger.sqlite") as connection:
            sql = "UPDATE exchange SET reply = replace(reply, '6', '9') WHERE reply LIKE '%S_%6%'"
            assert connection.execute(sql).rowcount
        connection.close()

    problems = verify(repacked(tmp_path / "out.zip", edit)).problems
    assert any("ledger.sqlite is not what was published" in problem for problem in problems)
    assert any(problem.startswith("exchange ") for problem in problems)


def test_an_edited_score_is_noticed_though_its_checksum_fits(run: Path, tmp_path: Path) -> None:
    """A score must follow from the replies."""
    import hashlib

    publish(open_run(run), tmp_path / "out.zip")

    def edit(folder: Path) -> None:
        path = folder / "scores.csv"
        before = hashlib.sha256(path.read_bytes()).hexdigest()
        path.write_text(path.read_text().replace(",acc,7,scored", ",acc,9,scored", 1))
        after = hashlib.sha256(path.read_bytes()).hexdigest()
        sums = folder / "SHA256SUMS"
        sums.write_text(sums.read_text().replace(before, after))

    problems = verify(repacked(tmp_path / "out.zip", edit)).problems
    assert any("the replies do not say so" in problem for problem in problems)


def test_only_the_runs_own_exchanges_are_published(tmp_path: Path, make_benchmark: Maker) -> None:
    """A shared ledger's other runs stay at home, and so do paths, names and requests' ids."""
    bench, ledger = make_benchmark(items=3, folder="alice/bench"), tmp_path / "shared.sqlite"
    lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "all", ledger=ledger)
    run = lmmscore.run(
        bench,
        judge=ScriptedJudge(fair_answer),
        out=tmp_path / "one",
        ledger=ledger,
        items=["i0"],
    )
    publish(run, tmp_path / "out.zip")
    keys = {exchange.key for record in run.records() for exchange in record.exchanges}
    assert verify(tmp_path / "out.zip").exchanges == len(keys)
    with zipfile.ZipFile(tmp_path / "out.zip") as packed:
        for name in packed.namelist():
            assert str(tmp_path).encode() not in packed.read(name), name
            assert b"alice" not in packed.read(name), name


def test_an_unfinished_run_is_not_published(run: Path, tmp_path: Path) -> None:
    """One line says why and how to go on."""
    text = (run / "run.yaml").read_text()
    (run / "run.yaml").write_text(text.replace("state: finished", "state: 'stopped: interrupted'"))
    with pytest.raises(LmmscoreError, match="only a finished run"):
        publish(open_run(run), tmp_path / "out.zip")


def test_the_command_writes_and_checks(run: Path, tmp_path: Path) -> None:
    """As a user would type it, with the pictures."""
    out = tmp_path / "out.zip"
    done = CliRunner().invoke(command, ["publish", str(run), str(out), "--pictures"])
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(out) as packed:
        assert any(name.startswith("pictures/") for name in packed.namelist())
    checked = CliRunner().invoke(command, ["publish", "--verify", str(out)])
    assert checked.exit_code == 0
    assert "as published" in checked.output
    broken = CliRunner().invoke(command, ["publish", "--verify", str(run / "scores.csv")])
    assert broken.exit_code != 0
