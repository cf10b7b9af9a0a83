"""The live display of a run."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

import lmmscore
from lmmscore.api import Hooks
from lmmscore.execution.executor import Listeners
from lmmscore.judges.limits import Meter
from lmmscore.records import Outcome, Reply, Usage
from lmmscore.report.formats.terminal import Progress, duration, in_place, printable, short
from lmmscore.scores import Result
from lmmscore.session import Ending, Exchange, Question
from tests.loopback import Server, serving

DEMO = Path(__file__).parents[2] / "media" / "demo"


@dataclass
class Clock:
    """A clock that goes only when told to."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


def exchange(*, recalled: bool = False, cost_usd: float | None = None) -> Exchange:
    reply = Reply("fine", usage=Usage(1000, 50), cost_usd=cost_usd)
    return Exchange(Question("source", None, "?"), reply, recalled, "key")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """Two finished units of a real run."""
    taken: list[Result] = []
    hooks = Hooks(Listeners(on_result=taken.append))
    lmmscore.run(DEMO, out=tmp_path_factory.mktemp("run"), items=["boat", "car"], hooks=hooks)
    return taken


def unscored(result: Result, reason: str) -> Result:
    """The same unit with every edit refused."""
    from dataclasses import replace

    none = [replace(row, score=None, outcome=Outcome.REFUSED) for row in result.scores]
    scores = tuple(
        replace(row, reason=f"acc: {reason}" if row.factor == "overall" else reason) for row in none
    )
    failure = Ending(Outcome.REFUSED, reason)
    played = tuple(
        replace(each, done=replace(each.done, failure=failure)) for each in result.played
    )
    return Result(result.unit, played, scores)


def test_a_pipe_gets_plain_lines_and_few(results: list[Result]) -> None:
    """In a log there is a line for every tenth of the run, without control characters, and one at the end."""
    out = io.StringIO()
    with Progress(200, None, file=out, clock=Clock()) as shown:
        for _ in range(200):
            for _ in range(12):
                shown.exchange(exchange())
            shown.result(results[0])
    lines = out.getvalue().splitlines()
    assert 5 < len(lines) <= 11
    assert "\x1b" not in out.getvalue() and "\r" not in out.getvalue()
    assert lines[0].startswith("20/200 sessions")
    assert lines[-1].startswith("200/200 sessions · took 0:00 · 2,400 calls")


def test_a_long_silence_is_broken(results: list[Result]) -> None:
    """A slow run says after a minute that it is alive."""
    clock, out = Clock(), io.StringIO()
    with Progress(10, None, file=out, clock=clock) as shown:
        shown.exchange(exchange())
        assert not out.getvalue()
        clock.now_s = 61
        shown.exchange(exchange())
        assert out.getvalue().startswith("0/10 sessions")


def test_what_came_from_the_ledger_is_neither_counted_as_a_call_nor_as_cost(
    results: list[Result],
) -> None:
    """Resuming shows what was recalled apart from what was asked."""
    out = io.StringIO()
    with Progress(1, None, file=out, clock=Clock()) as shown:
        shown.exchange(exchange(recalled=True, cost_usd=5))
        shown.exchange(exchange(cost_usd=0.25))
    assert "1 call + 1 asked before · 1.0k tokens in, 50 out · $0.25" in out.getvalue()


def test_time_left_follows_the_pace_of_sessions_that_asked(results: list[Result]) -> None:
    """Two of ten sessions in a minute leave four minutes."""
    clock = Clock()
    with Progress(10, None, file=io.StringIO(), clock=clock) as shown:
        assert shown.tally.left_s() is None
        clock.now_s = 60
        for result in results:
            for played in result.played:
                for each in played.exchanges:
                    shown.exchange(each)
            shown.result(result)
        assert shown.tally.left_s() == pytest.approx(240)


def test_whatever_went_wrong_gets_a_line(results: list[Result]) -> None:
    """A refused session names item, outcome and reason; control characters of the judge are not obeyed."""
    out = io.StringIO()
    with Progress(2, None, file=out, clock=Clock()) as shown:
        shown.result(unscored(results[0], "the judge refused: \x1b[31mno [bold]"))
    item = results[0].unit.item.id
    assert f"item {item}: 6 edits refused: the judge refused: ␛[31mno [bold]" in out.getvalue()


def test_a_flood_of_alike_lines_is_cut(results: list[Result]) -> None:
    """The twenty-first refusal says that there are more; the rest stand in scores.csv."""
    out = io.StringIO()
    with Progress(100, None, file=out, clock=Clock()) as shown:
        for _ in range(60):
            shown.result(unscored(results[0], "no"))
    assert out.getvalue().count("edits refused: no") == 20
    assert out.getvalue().count("scores.csv will list them all") == 1


def test_the_meter_is_shown_in_place_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns in flight, retries, tokens and cost of an API judge are drawn over themselves."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    meter = Meter(
        calls=7,
        retries=2,
        in_flight=3,
        prompt_tokens=1_500_000,
        completion_tokens=12_000,
        cached_tokens=400_000,
        cost_usd=1.5,
        notices=["no seed parameter"],
    )
    console = Console(file=io.StringIO(), force_terminal=True, width=120, legacy_windows=False)
    with Progress(5, meter, console=console, clock=Clock()) as shown:
        shown._live.refresh() if shown._live else None
        assert shown._live is not None
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())  # type: ignore[attr-defined]
    assert "0/5 sessions · 3 turns in flight · time left unknown" in plain
    assert "7 calls · 2 retries · 1.50M tokens in (400.0k cached), 12.0k out · $1.50" in plain
    assert "no seed parameter" in plain


def test_ci_and_dumb_terminals_get_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in CI, or one that cannot move its cursor, is treated as a pipe."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("CI", "true")
    assert not in_place(Console(file=io.StringIO(), force_terminal=True))
    monkeypatch.delenv("CI")
    assert in_place(Console(file=io.StringIO(), force_terminal=True))
    monkeypatch.setenv("TERM", "dumb")
    assert not in_place(Console(file=io.StringIO(), force_terminal=True))


def test_the_display_leaves_standard_output_alone(tmp_path: Path) -> None:
    """On a real terminal, `lmmscore run > file` draws on the terminal and leaves only data in the file."""
    code = "from lmmscore.report.formats.terminal import Progress\nwith Progress(3) as shown:\n    print('data')\n"
    near, far = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "CI"} | {
        "TERM": "xterm",
        "COLUMNS": "90",
    }
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=far,
        env=environment,
        check=True,
    )
    os.close(far)
    drawn = os.read(near, 65536).decode()
    os.close(near)
    assert done.stdout == b"data\n"
    assert "0/3 sessions" in drawn and "\x1b[" in drawn


def test_a_second_ctrl_c_gives_the_terminal_its_cursor_back(tmp_path: Path) -> None:
    """Stopping at once leaves a terminal as it was: the cursor hidden by the display is shown again."""
    near, far = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "CI"} | {
        "TERM": "xterm",
        "COLUMNS": "90",
    }
    environment |= {"PYTHONPATH": str(Path(__file__).parents[2]), "OPENAI_API_KEY": "none"}
    with serving(Server(delay_s=30)) as server:
        words = [
            "run",
            str(DEMO),
            "--judge",
            f"openai/tiny@{server.url}",
            "--out",
            str(tmp_path / "r"),
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", "lmmscore", *words], stderr=far, env=environment
        )
        os.close(far)
        drawn = _until(near, b"in flight")
        process.send_signal(signal.SIGINT)
        drawn += _until(near, b"Ctrl-C again")
        process.send_signal(signal.SIGINT)
        drawn += _until(near, b"sessions \xc2\xb7 took")
        assert process.wait(10) == 130
        os.close(near)
    assert drawn.count(b"\x1b[?25l") == drawn.count(b"\x1b[?25h") == 1


def _until(terminal: int, words: bytes) -> bytes:
    """Return what a terminal shows up to these words, or up to its end."""
    drawn, deadline_s = b"", time.monotonic() + 30
    while words not in drawn and time.monotonic() < deadline_s:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                drawn += os.read(terminal, 65536)
            except OSError:  # what Linux says when the other end is gone
                break
    return drawn


def test_figures_are_short() -> None:
    """Counts and times are written so that one glance takes them in."""
    assert [short(n) for n in (0, 999, 1000, 999_949, 999_950, 4_560_000)] == [
        *("0", "999", "1.0k", "999.9k", "1.00M", "4.56M")
    ]
    assert [duration(s) for s in (0, 7.4, 754, 11109)] == ["0:00", "0:07", "12:34", "3:05:09"]


def test_harmless_text_keeps_its_length() -> None:
    """What is replaced is replaced one for one: positions in a reply stay true."""
    text = "a\x1b[2Jb\u202ec\td\ne\x7f\r\n"
    shown = printable(text)
    assert len(shown) == len(text)
    assert shown == "a␛[2Jb�c\td\ne␡ \n"
