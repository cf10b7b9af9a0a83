"""What was derived once is taken as it was, for as long as nothing it depends on has changed."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import lmmscore
from lmmscore import run_writer
from lmmscore.api import Hooks
from lmmscore.execution import executor
from lmmscore.execution.executor import Listeners
from lmmscore.plan import Unit
from lmmscore.run_folder import Run
from lmmscore.session import Played

Maker = Callable[..., Path]
ITEMS = 3
FILES = ("scores.csv", "sessions.jsonl")


class Reader:
    """Counts the sessions whose replies are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        play = executor.play

        async def counting(*given: Any) -> Played:
            self.count += 1
            return await play(*given)

        monkeypatch.setattr(executor, "play", counting)


@pytest.fixture
def bench(make_benchmark: Maker) -> Path:
    return make_benchmark(items=ITEMS)


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    return Reader(monkeypatch)


def content(run: Run) -> list[bytes]:
    return [(run.path / name).read_bytes() for name in FILES]


def test_nothing_is_read_again_while_nothing_has_changed(
    bench: Path, reader: Reader, tmp_path: Path
) -> None:
    """The same files, to the byte, and the same totals in run.yaml."""
    first = lmmscore.run(bench, out=tmp_path / "r")
    before, manifest = content(first), first.manifest
    assert reader.count == ITEMS
    again = lmmscore.run(bench, out=tmp_path / "r")
    assert reader.count == ITEMS
    assert content(again) == before
    assert again.manifest == manifest


def test_what_is_new_is_played_and_stands_at_its_place(
    bench: Path, reader: Reader, tmp_path: Path
) -> None:
    """The order of the files is that of the plan, whichever sessions were known."""
    whole = lmmscore.run(bench, out=tmp_path / "whole")
    items = [record.item for record in whole.records()]
    reader.count = 0
    lmmscore.run(bench, out=tmp_path / "r", items=[items[1]])
    run = lmmscore.run(bench, out=tmp_path / "r")
    assert reader.count == ITEMS
    assert content(run) == content(whole)


def test_another_reply_in_the_ledger_is_read(bench: Path, reader: Reader, tmp_path: Path) -> None:
    """The ledger is the truth: what is kept beside it gives way."""
    run = lmmscore.run(bench, out=tmp_path / "r")
    with closing(sqlite3.connect(run.ledger_path)) as ledger, ledger:
        sql = "UPDATE exchange SET reply = 'I cannot say.' WHERE reply LIKE '%S_acc%'"
        assert ledger.execute(sql).rowcount > 0
    lmmscore.run(bench, out=tmp_path / "r")
    assert reader.count == 2 * ITEMS


def test_another_picture_is_another_question(bench: Path, reader: Reader, tmp_path: Path) -> None:
    """A file with another time of change is looked at; if its content is the same, so is all else."""
    first = lmmscore.run(bench, out=tmp_path / "r")
    before = content(first)
    edit = next(path for path in bench.rglob("*.png"))
    os.utime(edit, ns=(1, 1))
    again = lmmscore.run(bench, out=tmp_path / "r")
    assert reader.count == ITEMS + 1
    assert content(again) == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps no time of change")
def test_another_picture_of_the_same_size_and_time_is_noticed(
    bench: Path, reader: Reader, tmp_path: Path
) -> None:
    """As `cp -p`, rsync or an archive with fixed times would put it there."""
    lmmscore.run(bench, out=tmp_path / "r")
    edit = next(path for path in bench.rglob("*.png"))
    before = edit.stat()
    other = bytearray(edit.read_bytes())
    other[-1] ^= 1
    edit.write_bytes(other)
    os.utime(edit, ns=(before.st_atime_ns, before.st_mtime_ns))
    lmmscore.run(bench, out=tmp_path / "r")
    assert reader.count == ITEMS + 1


def test_another_reader_reads_everything_again(
    bench: Path, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A better parser must not be kept from replies that were read before there was one."""
    lmmscore.run(bench, out=tmp_path / "r")
    monkeypatch.setattr(run_writer, "reader_version", lambda: "another")
    lmmscore.run(bench, out=tmp_path / "r")
    assert reader.count == 2 * ITEMS


@pytest.mark.parametrize("damage", [b"", b"not a database at all, but long enough to be one" * 99])
def test_the_file_is_not_needed(bench: Path, reader: Reader, tmp_path: Path, damage: bytes) -> None:
    """Lost or damaged, it is made again."""
    first = lmmscore.run(bench, out=tmp_path / "r")
    before = content(first)
    (tmp_path / "r" / run_writer.NAME).write_bytes(damage)
    again = lmmscore.run(bench, out=tmp_path / "r")
    assert reader.count == 2 * ITEMS
    assert content(again) == before
    lmmscore.run(bench, out=tmp_path / "r")
    assert reader.count == 2 * ITEMS


def test_a_file_that_fails_during_the_run_is_done_without(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found in it is read again from the ledger, and stands at its place."""
    first = lmmscore.run(bench, out=tmp_path / "r")
    before = content(first)
    with closing(sqlite3.connect(first.path / run_writer.NAME)) as file:
        file.execute("DELETE FROM reading WHERE unit = (SELECT min(unit) FROM reading)")
        file.commit()

    get = run_writer.Readings.get
    failed = []

    def failing(readings: run_writer.Readings, unit: Unit) -> run_writer.Derived | None:
        failed.append(unit)
        if readings._connection is not None:
            readings._connection.close()
        return get(readings, unit)

    monkeypatch.setattr(run_writer.Readings, "get", failing)
    again = lmmscore.run(bench, out=tmp_path / "r")
    assert len(failed) == ITEMS - 1
    assert content(again) == before
    assert again.manifest.judged == first.manifest.judged


def test_who_listens_hears_every_exchange(bench: Path, tmp_path: Path) -> None:
    """A caller's own listeners are told all, also of a run that is finished."""
    lmmscore.run(bench, out=tmp_path / "r")
    heard: list[bool] = []
    listeners = Listeners(on_exchange=lambda exchange: heard.append(exchange.recalled))
    lmmscore.run(bench, out=tmp_path / "r", hooks=Hooks(listeners))
    assert heard and all(heard)
