"""Several processes with one ledger: no question is asked twice, and the dead hold nobody up."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lmmscore.conversation import Conversation
from lmmscore.judges.judge import Recorded
from lmmscore.ledger import Claims, Ledger
from tests.conftest import ScriptedJudge
from tests.loopback import Server, playing, serving

Maker = Callable[..., Path]


def test_two_processes_with_the_same_plan_ask_every_question_once(
    tmp_path: Path, make_benchmark: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both play all sessions; the server hears each question once."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-written-down")
    bench = make_benchmark(items=12)
    with serving(Server(reply=playing, delay_s=0.02)) as server:
        words = [sys.executable, "-m", "lmmscore", "run", str(bench)]
        words += ["--judge", f"openai/tiny@{server.url}", "--ledger", str(tmp_path / "l.sqlite")]
        both = [
            subprocess.Popen([*words, "--out", str(tmp_path / name)], stderr=subprocess.DEVNULL)
            for name in ("a", "b")
        ]
        assert [process.wait(120) for process in both] == [0, 0]
    one, two = (tmp_path / name / "scores.csv" for name in ("a", "b"))
    assert one.read_bytes() == two.read_bytes()
    assert len(server.served) == 2 + 12 * 7


def test_a_question_that_another_asks_is_waited_for(tmp_path: Path) -> None:
    """The second worker takes the answer of the first."""
    path = tmp_path / "l.sqlite"

    async def both() -> tuple[bool, int]:
        with Ledger(path) as one, Ledger(path) as two:
            release = asyncio.Event()
            judge = ScriptedJudge(lambda _: "fine")
            asked = judge.ask

            async def slowly(conversation: Conversation) -> object:
                await release.wait()
                return await asked(conversation)

            judge.ask = slowly  # type: ignore[method-assign, assignment]
            question = Conversation().say("hello")
            first = asyncio.create_task(Recorded(judge, one).ask(question, 1))
            await asyncio.sleep(0)
            second = asyncio.create_task(Recorded(judge, two).ask(question, 1))
            await asyncio.sleep(0)
            release.set()
            await first
            return (await second).recalled, len(judge.asked)

    assert asyncio.run(both()) == (True, 1)


CLAIM = (
    "import sys, time; from pathlib import Path; from lmmscore.ledger import Claims\n"
    "claims = Claims(Path(sys.argv[1]), lease_s=float(sys.argv[2])); assert claims.take('k')\n"
    "print('taken', flush=True); time.sleep(60)"
)


@contextlib.contextmanager
def worker(path: Path, lease_s: float) -> Iterator[None]:
    """Have another process hold the claim on `k`, until it is killed at the end."""
    words = [sys.executable, "-c", CLAIM, str(path), str(lease_s)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "taken\n"
        yield
        process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a dead worker's claim expires")
@pytest.mark.parametrize("opened_before", [True, False])
def test_the_claim_of_a_dead_worker_is_taken_at_once(tmp_path: Path, opened_before: bool) -> None:
    """Whoever resumes after a crash on the same machine waits for nobody."""
    path = tmp_path / "l.sqlite"
    with worker(path, 600):
        first = Claims(path)
        assert not first.take("k")
        if not opened_before:
            first.close()
    claims = first if opened_before else Claims(path)
    assert claims.take("k")
    claims.close()
    assert list(tmp_path.iterdir()) == []


def test_the_claim_of_a_dead_worker_elsewhere_expires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of another machine cannot be looked for: its claim holds as long as its lease."""
    path = tmp_path / "l.sqlite"
    with worker(path, 600):
        pass
    monkeypatch.setattr("lmmscore.ledger._machine", lambda: "another")
    claims = Claims(path)
    assert not claims.take("k")
    later = time.time() + 601
    monkeypatch.setattr(time, "time", lambda: later)
    assert claims.take("k")
    claims.close()


def test_a_living_worker_keeps_its_claim(tmp_path: Path) -> None:
    """A question may take longer than a lease."""
    path = tmp_path / "l.sqlite"
    one, two = Claims(path, lease_s=1.0), Claims(path, lease_s=1.0)
    assert one.take("k")
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        assert not two.take("k")
        time.sleep(0.05)
    one.release("k")
    assert two.take("k")
    one.close()
    two.close()


def test_the_last_one_out_leaves_no_file(tmp_path: Path) -> None:
    """A run's folder holds the ledger and nothing of who was asking what."""
    first = Claims(tmp_path / "l.sqlite")
    second = Claims(tmp_path / "l.sqlite")
    first.close()
    assert (tmp_path / "l.sqlite-claims").exists()
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_of_claims_is_not_blamed_on_the_ledger(tmp_path: Path) -> None:
    """A machine that fails may leave one behind; moving the ledger away would cost every answer."""
    (tmp_path / "l.sqlite-claims").write_bytes(b"not a database" * 400)
    with Ledger(tmp_path / "l.sqlite") as ledger:
        assert ledger.claim("k") == {"k"}


def test_questions_are_claimed_together_but_for_those_of_others(tmp_path: Path) -> None:
    """Sessions that come up with their questions at the same time claim them in one go."""
    one, two = Claims(tmp_path / "l.sqlite"), Claims(tmp_path / "l.sqlite")
    assert one.take("a", "b") == {"a", "b"}
    assert two.take("b", "c", "d") == {"c", "d"}
    one.release("a", "b")
    assert two.take("a", "b") == {"a", "b"}
    many = [f"k{number}" for number in range(1000)]
    assert one.take(*many) == {*many}
    one.close()
    two.close()
