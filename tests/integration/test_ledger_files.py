"""Shards and their ledgers: united, the same run as if one machine had played it all."""

from __future__ import annotations

import contextlib
import errno
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import lmmscore
from lmmscore import ledger as ledger_module
from lmmscore.cli import lmmscore as command
from lmmscore.conversation import Conversation
from lmmscore.errors import LedgerError, LmmscoreError
from lmmscore.ledger import Asker, Ledger, export, extract, rows_of
from lmmscore.publish import publish, verify
from lmmscore.records import Reply, Usage
from lmmscore.run_folder import open_run
from tests.conftest import ScriptedJudge, fair_answer

Maker = Callable[..., Path]


def invoke(*words: object) -> Result:
    return CliRunner().invoke(command, [str(word) for word in words])


def test_shards_united_are_the_whole_run(tmp_path: Path, make_benchmark: Maker) -> None:
    """Three shards, one merge, and the same command without --shard asks nothing."""
    bench = make_benchmark(items=9)
    whole = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=tmp_path / "whole")
    out = tmp_path / "out"
    judged = []
    for number in (1, 2, 3):
        part = lmmscore.run(bench, judge=ScriptedJudge(fair_answer), out=out, shard=(number, 3))
        assert part.path == out / f"shard-{number}-of-3"
        assert f"shard {number} of 3" in part.manifest.caution
        judged += part.item_ids()
    assert sorted(judged) == sorted(whole.item_ids())
    done = invoke("ledger", "merge", out, *out.glob("shard-*"))
    assert done.exit_code == 0, done.output
    assert "0 conflicts" in done.output
    silent = ScriptedJudge(fair_answer)
    again = lmmscore.run(bench, judge=silent, out=out)
    assert silent.asked == []
    assert (again.path / "scores.csv").read_bytes() == (whole.path / "scores.csv").read_bytes()
    publish(open_run(out), tmp_path / "united.zip")
    assert not verify(tmp_path / "united.zip").problems


def _recorded(path: Path, reply: str, judge: str = "a") -> Path:
    with Ledger(path) as ledger:
        asker = Asker.of(judge, {})
        ledger.record(asker, Conversation().say("hello"), 1, Reply(reply)).result()
    return path


def test_what_is_merged_into_a_run_goes_where_the_run_looks(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Into its ledger, which may be elsewhere; and into a file that is there, whatever its name."""
    shared = tmp_path / "shared.db"
    lmmscore.run(make_benchmark(items=1), out=tmp_path / "r", ledger=shared)
    held = len(list(rows_of(shared)))
    more = _recorded(tmp_path / "more.sqlite", "first")
    assert "1 exchange added" in invoke("ledger", "merge", tmp_path / "r", more).output
    again = _recorded(tmp_path / "again.sqlite", "second")
    assert "1 conflict" in invoke("ledger", "merge", shared, again).output
    assert len(list(rows_of(shared))) == held + 1
    assert not (tmp_path / "r" / "ledger.sqlite").exists()


def test_a_conflict_is_named_and_the_first_recorded_stands(tmp_path: Path) -> None:
    """Equal keys with different replies are never silently mixed."""
    one, two = _recorded(tmp_path / "1.sqlite", "first"), _recorded(tmp_path / "2.sqlite", "second")
    with sqlite3.connect(two) as connection:
        connection.execute("UPDATE exchange SET recorded_at = '2000-01-01T00:00:00+00:00'")
    connection.close()
    done = invoke("ledger", "merge", tmp_path / "out.sqlite", one, two)
    assert done.exit_code == 0
    assert "1 conflict" in done.output
    with Ledger(tmp_path / "out.sqlite", read_only=True) as ledger:
        (asker,) = ledger.askers()
        assert asker.judge == "a"
        assert ledger.count() == 1
    with sqlite3.connect(tmp_path / "out.sqlite") as connection:
        assert connection.execute("SELECT reply FROM exchange").fetchone() == ("second",)
    connection.close()


def test_a_judge_is_taken_out(tmp_path: Path) -> None:
    """One judge of a shared ledger, in a ledger of its own."""
    _recorded(tmp_path / "l.sqlite", "hi", "a")
    _recorded(tmp_path / "l.sqlite", "ho", "b")
    done = invoke("ledger", "extract", tmp_path / "l.sqlite", tmp_path / "o.sqlite", "--judge", "b")
    assert done.exit_code == 0
    with Ledger(tmp_path / "o.sqlite", read_only=True) as ledger:
        assert [asker.judge for asker in ledger.askers()] == ["b"]


def test_a_ledger_says_what_is_in_it(tmp_path: Path) -> None:
    """In words and as JSON."""
    _recorded(tmp_path / "l.sqlite", "hi")
    assert "1 exchange" in invoke("ledger", "list", tmp_path / "l.sqlite").output
    found = json.loads(invoke("ledger", "list", tmp_path / "l.sqlite", "--json").stdout)
    ((content,),) = found.values()
    assert (content["judge"], content["exchanges"], content["openings"]) == ("a", 1, 1)


def test_an_edited_question_does_not_verify(tmp_path: Path) -> None:
    """A key is a digest of what was asked."""
    path = _recorded(tmp_path / "l.sqlite", "hi")
    assert invoke("ledger", "verify", path).exit_code == 0
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE exchange SET judge = 'other'")
    connection.close()
    done = invoke("ledger", "verify", path)
    assert done.exit_code == 1
    assert "does not match" in done.output


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_ledger_is_exported(tmp_path: Path, suffix: str) -> None:
    """Every exchange, every column."""
    pytest.importorskip("pyarrow")
    import pandas as pd

    path = _recorded(tmp_path / "l.sqlite", "hi")
    out = tmp_path / f"out.{suffix}"
    assert invoke("ledger", "export", path, out).exit_code == 0
    frame = pd.read_json(out, lines=True) if suffix == "jsonl" else pd.read_parquet(out)
    assert frame["reply"].tolist() == ["hi"]
    assert "recorded_at" in frame.columns


def test_exports_of_several_ledgers_fit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column has its type whether or not anybody counted; memory does not grow with a ledger."""
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(ledger_module, "EXPORTED_AT_ONCE", 2)
    for name, usage in (("none", Usage()), ("counted", Usage(prompt_tokens=7))):
        with Ledger(tmp_path / f"{name}.sqlite") as ledger:
            for number in range(3):
                talk = Conversation().say(f"{name} {number}")
                ledger.record(Asker.of("j", {}), talk, 1, Reply("x", usage=usage)).result()
        assert export(tmp_path / f"{name}.sqlite", tmp_path / f"{name}.parquet") == 3
    one, other = (parquet.read_table(tmp_path / f"{n}.parquet") for n in ("none", "counted"))
    assert one.schema == other.schema
    assert other["prompt_tokens"].to_pylist() == [7, 7, 7]


def test_a_judge_who_is_not_there_is_not_taken_out(tmp_path: Path) -> None:
    """It says whose exchanges there are, and leaves no empty ledger behind."""
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.record(Asker.of("here", {}), Conversation().say("?"), 1, Reply("x")).result()
    with pytest.raises(LmmscoreError, match="exchanges of here"):
        extract(tmp_path / "l.sqlite", tmp_path / "out.sqlite", judge="nobody")
    assert not (tmp_path / "out.sqlite").exists()


def test_what_is_no_ledger_is_said(tmp_path: Path) -> None:
    """One line, no traceback."""
    (tmp_path / "x.sqlite").write_text("not a ledger at all, but long enough to be looked at")
    done = invoke("ledger", "merge", tmp_path / "out.sqlite", tmp_path / "x.sqlite")
    assert done.exit_code == 1
    assert not (tmp_path / "out.sqlite").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("list", "a.sqlite"),
        ("export", "a.sqlite", "a.jsonl"),
        ("extract", "a.sqlite", "b.sqlite", "--judge", "a"),
        ("merge", "b.sqlite", "a.sqlite"),
    ],
)
def test_a_ledger_with_flipped_bits_is_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Whatever is to be done with it: one line with the remedy, and not the text around the bits."""
    monkeypatch.chdir(tmp_path)
    damaged = _recorded(tmp_path / "a.sqlite", "a word that is found")
    content = damaged.read_bytes()
    damaged.write_bytes(content.replace(b"a word", b"a w\xffrd").replace(b"a{}", b"\xff{}"))
    done = invoke("ledger", *words)
    assert isinstance(done.exception, LedgerError), done.exception
    assert "the file is damaged; put back a copy" in str(done.exception)
    assert "found" not in str(done.exception)


def test_a_ledger_that_a_full_disk_cut_short_holds_nothing(tmp_path: Path) -> None:
    """Its first page was written, and its tables were not."""
    with contextlib.closing(sqlite3.connect(tmp_path / "a.sqlite")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("DROP TABLE t")
    done = invoke("ledger", "list", tmp_path / "a.sqlite")
    assert done.exit_code == 0, done.exception
    assert "0 exchanges" in done.stdout


def test_a_file_system_without_locks_is_said_in_those_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself says that the file is locked, after a minute of waiting."""
    fcntl = pytest.importorskip("fcntl", reason="Windows locks files in another way")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", refuse)
    with pytest.raises(LedgerError, match=r"this file system has no locks, .* with --ledger"):
        Ledger(tmp_path / "a.sqlite")


def test_a_ledger_is_listed_with_the_dialogs_of_the_runs_around_it(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """By judge; of exchanges that no run here knows, it is said that it is not recorded."""
    shared = tmp_path / "shared.sqlite"
    _recorded(shared, "hello", judge="somebody")
    judge = ScriptedJudge(fair_answer)
    lmmscore.run(make_benchmark(), judge=judge, out=tmp_path / "r", ledger=shared)
    listed = invoke("ledger", "list", shared).stdout.splitlines()
    assert listed[1].endswith("dialog: not recorded")
    assert listed[2].endswith("dialog: lmm-score")
    told = json.loads(invoke("ledger", "list", "--json", shared).stdout)
    assert [each["dialogs"] for each in told[str(shared)]] == [[], ["lmm-score"]]


def test_a_damaged_ledger_is_not_taken_for_a_transcript(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A replay names the ledger and its remedy."""
    (tmp_path / "ledger.sqlite").write_text("not a database")
    with pytest.raises(LedgerError, match="the file is damaged"):
        lmmscore.run(make_benchmark(), judge=f"replay:{tmp_path}", out=tmp_path / "r")
