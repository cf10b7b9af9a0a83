"""A published run can be checked by anyone, and an edited one is noticed."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import lmmscore
from lmmscore.cli import lmmscore as command
from lmmscore.errors import LmmscoreError
from lmmscore.ledger import row_digest, rows_of
from lmmscore.publish import publish, verify
from lmmscore.run_folder import open_run
from tests.conftest import PAIR_DIALOG, ScriptedJudge, fair_answer

Maker = Callable[..., Path]
WEBP = "UklGR"
"""How a WebP picture inside a page begins."""
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


def test_a_score_listed_twice_is_noticed_though_its_checksum_fits(
    run: Path, tmp_path: Path
) -> None:
    """It follows from the replies once, and would count twice in every mean."""
    publish(open_run(run), tmp_path / "out.zip")

    def repeat(folder: Path) -> None:
        path = folder / "scores.csv"
        before = hashlib.sha256(path.read_bytes()).hexdigest()
        path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
        after = hashlib.sha256(path.read_bytes()).hexdigest()
        sums = folder / "SHA256SUMS"
        sums.write_text(sums.read_text().replace(before, after))

    problems = verify(repacked(tmp_path / "out.zip", repeat)).problems
    assert problems == ("scores.csv repeats 1 row",)


def test_an_edited_reply_is_noticed_though_every_digest_fits(run: Path, tmp_path: Path) -> None:
    """What was said before is part of every later question: a forged reply breaks the chain."""
    publish(open_run(run), tmp_path / "out.zip")

    def forge(folder: Path) -> None:
        with sqlite3.connect(folder / "ledger.sqlite") as connection:
            sql = "UPDATE exchange SET reply = 'A cat, not a fox.' WHERE question LIKE '%describe%'"
            assert connection.execute(sql).rowcount
        connection.close()
        digests = [f"{row_digest(row)}  {row[0]}\n" for row in rows_of(folder / "ledger.sqlite")]
        (folder / "ledger-rows.sha256").write_text("".join(digests))
        for line in (folder / "SHA256SUMS").read_text().splitlines():
            was, name = line.split("  ")
            now = hashlib.sha256((folder / name).read_bytes()).hexdigest()
            sums = (folder / "SHA256SUMS").read_text().replace(was, now)
            (folder / "SHA256SUMS").write_text(sums)

    problems = verify(repacked(tmp_path / "out.zip", forge)).problems
    assert any("asked after another conversation" in problem for problem in problems)
    assert not any("not what was published" in problem for problem in problems)


def test_a_run_of_pairs_verifies_and_an_edited_winner_is_noticed(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Of pairs, pairs.csv must follow from the replies."""
    dialog = tmp_path / "pairwise.yaml"
    dialog.write_text(PAIR_DIALOG)
    judge = ScriptedJudge(lambda _: "[[A>B]]")
    made = lmmscore.run(make_benchmark(items=1), str(dialog), judge, out=tmp_path / "r")
    out = tmp_path / "out.zip"
    done = CliRunner().invoke(command, ["publish", str(made.path), str(out)])
    assert done.exit_code == 0, done.output
    checked = CliRunner().invoke(command, ["publish", "--verify", str(out)])
    assert "6 rows of pairs.csv follow from 6 recorded exchanges" in checked.output

    def edit(folder: Path) -> None:
        path = folder / "pairs.csv"
        path.write_text(path.read_text().replace("ab,1,alpha,scored", "ab,1,beta,scored", 1))

    problems = verify(repacked(out, edit)).problems
    assert any("pairs.csv: " in problem and "do not say so" in problem for problem in problems)


def test_a_run_made_of_transcripts_verifies(tmp_path: Path) -> None:
    """The reply that scores is read again; the words around it are each transcript's own."""
    for number in (1, 2):
        lines = ["**You:** ![s](s.png) Describe it.", "**Judge:** A fox."]
        lines += ["**You:** ![a](a/1.png) One edit. S_acc from 1 to 10?", "**Judge:** S_acc: 7"]
        (tmp_path / f"{number}.md").write_text("\n\n".join(lines))
    words = ["replay", str(tmp_path / "1.md"), str(tmp_path / "2.md"), "--out", str(tmp_path / "r")]
    made = CliRunner().invoke(command, words)
    assert made.exit_code == 0, made.output
    publish(open_run(tmp_path / "r"), tmp_path / "out.zip")
    found = verify(tmp_path / "out.zip")
    assert found.problems == ()
    assert found.scores > 0


def test_the_report_is_made_of_what_is_published(run: Path, tmp_path: Path) -> None:
    """It is there though none was written before, the same each time, and without pictures."""
    (run / "report.html").write_text("an outdated report")
    archives = [tmp_path / "one.zip", tmp_path / "two.zip"]
    for out in archives:
        assert CliRunner().invoke(command, ["publish", str(run), str(out)]).exit_code == 0
    assert archives[0].read_bytes() == archives[1].read_bytes()
    with zipfile.ZipFile(archives[0]) as packed:
        page = packed.read("report.html").decode()
        readme = packed.read("README.md").decode()
        names = packed.namelist()
    assert "outdated" not in page
    assert WEBP not in page
    assert str(tmp_path) not in page
    assert "leaderboard.tex" in names
    assert "report.html" in readme
    assert "pairs.csv" not in readme
    assert "`pictures`" not in readme
    assert verify(archives[0]).problems == ()


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
        assert WEBP in packed.read("report.html").decode()
    checked = CliRunner().invoke(command, ["publish", "--verify", str(out)])
    assert checked.exit_code == 0
    assert "as published" in checked.output
    broken = CliRunner().invoke(command, ["publish", "--verify", str(run / "scores.csv")])
    assert broken.exit_code == 1
    assert "name one that `lmmscore publish` wrote" in str(broken.exception)


@pytest.mark.parametrize("name", ["run.yaml", "SHA256SUMS", "ledger-rows.sha256", "ledger.sqlite"])
def test_bytes_that_changed_on_the_way_are_named_by_their_file(
    run: Path, tmp_path: Path, name: str
) -> None:
    """Whatever file they are in, and whether or not it can still be read."""
    publish(open_run(run), tmp_path / "out.zip")

    def damage(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(b"\xff\xfe" + content[2:])

    problems = verify(repacked(tmp_path / "out.zip", damage)).problems
    assert any(f"{name} is" in problem for problem in problems) or name == "SHA256SUMS"
    assert problems
    assert not any(str(tempfile.gettempdir()) in problem for problem in problems)
