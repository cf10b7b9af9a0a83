from __future__ import annotations

import contextlib
import multiprocessing
import os
import sqlite3
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmmscore.conversation import Conversation
from lmmscore.errors import LedgerError
from lmmscore.images import Pictures, Recipe
from lmmscore.ledger import Asker, Ledger, key_of
from lmmscore.records import Reply, Usage
from tests.conftest import picture

ME = Asker.of("judge", {"temperature": 0})
HELLO = Conversation().say("Hello")


def test_what_is_recorded_is_found_again(tmp_path: Path) -> None:
    """A reply comes back with everything known about it."""
    reply = Reply(
        "Hi",
        "stop",
        "",
        "thought",
        "m-1",
        "fp",
        "req",
        usage=Usage(10, 2, 5, 1),
        cost_usd=0.01,
        also="[]",
    )
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.record(ME, HELLO, 1, reply).result()
    with Ledger(tmp_path / "l.sqlite", read_only=True) as ledger:
        assert ledger.find(key_of(ME, HELLO, 1)) == reply
        assert ledger.find(key_of(ME, HELLO, 2)) is None


def test_the_first_reply_stands(tmp_path: Path) -> None:
    """A question has one answer: a second one for the same key changes nothing."""
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.record(ME, HELLO, 1, Reply("first")).result()
        assert ledger.record(ME, HELLO, 1, Reply("second")).result().text == "first"
        assert ledger.count() == 1


def test_the_key_covers_exactly_what_was_asked(tmp_path: Path) -> None:
    """A changed prompt, image, parameter, model or repeat changes the key; the order of parameters does not."""
    pictures = Pictures(Recipe())
    one, other = (
        pictures.get(picture(tmp_path / "a.png", (1, 0, 0))),
        pictures.get(picture(tmp_path / "b.png", (2, 0, 0))),
    )
    asked = Conversation().say("Look", (one,)).hear("Yes").say("Score")
    keys = [
        key_of(ME, asked, 1),
        key_of(ME, asked, 2),
        key_of(Asker.of("other", {"temperature": 0}), asked, 1),
        key_of(Asker.of("judge", {"temperature": 1}), asked, 1),
        key_of(ME, Conversation().say("Look", (other,)).hear("Yes").say("Score"), 1),
        key_of(ME, Conversation().say("Look", (one,)).hear("No").say("Score"), 1),
        key_of(ME, Conversation().say("Look", (one,)).hear("Yes").say("Score!"), 1),
        key_of(ME, Conversation().say("Look").hear("Yes").say("Score", (one,)), 1),
    ]
    assert len(set(keys)) == len(keys)
    assert Asker.of("j", {"a": 1, "b": 2}) == Asker.of("j", {"b": 2, "a": 1})


@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4))
def test_different_conversations_have_different_digests(one: list[str], other: list[str]) -> None:
    """No two conversations share a key, however their words are cut."""

    def told(words: list[str]) -> str:
        conversation = Conversation()
        for word in words:
            conversation = conversation.say(word)
        return conversation.digest

    assert (told(one) == told(other)) == (one == other)


def write_some(path: str, start: int) -> None:
    with Ledger(Path(path)) as ledger:
        for number in range(start, start + 40):
            ledger.record(ME, Conversation().say(str(number)), 1, Reply(f"{os.getpid()}")).result()


def test_two_processes_share_a_ledger(tmp_path: Path) -> None:
    """Two runs on one file lose nothing and corrupt nothing, even when they ask the same."""
    path = tmp_path / "l.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write_some, args=(str(path), start)) for start in (0, 20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with Ledger(path, read_only=True) as ledger:
        assert ledger.count() == 60
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_published_ledger_is_read_from_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """Replaying needs no write access."""
    path = tmp_path / "p" / "l.sqlite"
    path.parent.mkdir()
    with Ledger(path) as ledger:
        ledger.record(ME, HELLO, 1, Reply("Hi")).result()
    path.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with Ledger(path, read_only=True) as ledger:
            assert ledger.askers() == [ME]
        assert [p.name for p in path.parent.iterdir()] == ["l.sqlite"]
    finally:
        path.parent.chmod(stat.S_IRWXU)


def test_another_sqlite_file_is_refused(tmp_path: Path) -> None:
    """Nothing is written into somebody else's database."""
    path = tmp_path / "other.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(path)
    (tmp_path / "text.sqlite").write_text("hello, this is no database at all")
    with pytest.raises(LedgerError, match=r"text\.sqlite"):
        Ledger(tmp_path / "text.sqlite")


def test_no_image_bytes_are_stored(tmp_path: Path) -> None:
    """Pictures are known by digest: a ledger stays small enough to be published."""
    shown = Pictures(Recipe()).get(picture(tmp_path / "secret_name.png"))
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.record(ME, Conversation().say("Look", (shown,)), 1, Reply("Hi")).result()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("l.sqlite*"))
    assert shown.digest.encode() in stored
    assert b"secret_name" not in stored


def test_a_ledger_that_another_run_is_just_creating_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs that create one ledger at the same moment both get it; neither is told it is locked."""
    path = tmp_path / "l.sqlite"
    creator = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    creator.execute("BEGIN IMMEDIATE")
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        creator.rollback()

    monkeypatch.setattr("lmmscore.ledger.time.sleep", wait)
    with Ledger(path) as ledger:
        assert ledger.count() == 0
    assert waits
    creator.close()
