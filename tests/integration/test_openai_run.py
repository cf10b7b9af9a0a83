"""Whole runs against the loopback server: calm, full of faults, and killed again and again."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from lmmscore.api import Request, prepare, run
from lmmscore.forecast import forecast
from lmmscore.images import Recipe
from lmmscore.judges.config import JudgeOptions
from tests.loopback import Server, playing, serving

ITEMS, METHODS, TURNS = 64, ("plain", "noisy", "dark"), 9


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark of 64 items with three edits each, small enough to play thousands of turns."""
    folder = tmp_path_factory.mktemp("bench")
    rows = ["id,task,instruction"]
    for number in range(ITEMS):
        rows.append(f"i{number:02},task_{number % 2},Make it number {number}")
        for kind in ("src", *METHODS):
            image = Image.effect_noise((24, 24), 40).convert("RGB")
            image.putpixel((0, 0), (number, len(kind), 7))
            image.save(folder / f"i{number:02}_{kind}.png")
    (folder / "items.csv").write_text("\n".join(rows) + "\n")
    (folder / "benchmark.yaml").write_text(
        'name: many\nitems: items.csv\nimages:\n  source: "{id}_src.png"\n  edit: "{id}_{method}.png"\n'
    )
    return folder


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-written-down")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture(scope="module")
def calm(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The scores of a run in which nothing goes wrong."""
    out = tmp_path_factory.mktemp("calm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-never-written-down")
        with serving(Server(reply=playing)) as server:
            run(bench, judge=f"openai/tiny@{server.url}", out=out, concurrency=64)
    assert len(server.served) == len(server.answered) == distinct_questions()
    for file in out.iterdir():
        assert b"sk-never-written-down" not in file.read_bytes(), f"the key is in {file.name}"
    return (out / "scores.csv").read_text()


def distinct_questions() -> int:
    """Every session opens with the same two questions, and those are asked once."""
    return 2 + ITEMS * (TURNS - 2)


def test_a_run_full_of_faults_ends_with_the_scores_of_a_calm_one(
    bench: Path, tmp_path: Path, calm: str
) -> None:
    """Faults on 30% of all requests: every session is scored, and no answer is paid for twice."""
    with serving(Server(reply=playing, fault_share=0.3, seed=4)) as server:
        made = run(bench, judge=f"openai/tiny@{server.url}", out=tmp_path / "run", concurrency=64)
    assert (tmp_path / "run" / "scores.csv").read_text() == calm
    assert made.manifest.unscored == 0
    assert set(server.answered.values()) == {1}
    assert sum(server.destroyed.values()) > 30


@pytest.mark.slow
def test_killed_again_and_again_it_ends_as_if_nothing_had_happened(
    bench: Path, tmp_path: Path, calm: str
) -> None:
    """kill -9 amid 64 sessions loses at most what was in flight; the last run finishes the scores."""
    rng, lost_at_most = random.Random(2), 0
    with serving(Server(reply=playing, delay_s=0.02)) as server:
        call = "import sys; from lmmscore.api import run; "
        call += "run(sys.argv[1], judge=sys.argv[2], out=sys.argv[3], concurrency=64)"
        words = [sys.executable, "-c", call, str(bench), f"openai/tiny@{server.url}"]
        words.append(str(tmp_path / "run"))
        for _ in range(2):
            asked = len(server.served)
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            waited = 0.0
            while len(server.served) < asked + 20 and waited < 30 and process.poll() is None:
                time.sleep(0.01)
                waited += 0.01
            time.sleep(rng.uniform(0, 0.05))
            lost_at_most += 64
            process.kill()
            process.wait()
        finished = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "run" / "scores.csv").read_text() == calm
    assert len(server.answered) == distinct_questions()
    assert sum(server.answered.values()) - distinct_questions() <= lost_at_most


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_the_forecast_is_what_then_happens(bench: Path, tmp_path: Path, api: str) -> None:
    """Calls are exact, and bytes within a fifth, by either API, when replies are as long as assumed."""
    items = tuple(f"i{number:02}" for number in range(6))
    made = forecast(prepare(Request(bench, items=items)).plan, "tiny", JudgeOptions(), Recipe())
    with serving(
        Server(reply=lambda messages: playing(messages) + "\n\n" + "Well. " * 190)
    ) as server:
        run(
            bench,
            judge=f"openai/tiny@{server.url}",
            out=tmp_path / "run",
            items=items,
            judge_options={"api": api},
        )
    assert made.sessions == 6 and made.pictures == 6 * 4
    asked = [one for one in server.served if one.path != "/v1/files"]
    # The first two questions are the same for all six items, and asked once.
    assert made.calls == len(asked) == 2 + 6 * (TURNS - 2)
    sent = sum(one.size for one in server.served)
    expected = made.bytes_chat if api == "chat" else made.bytes_responses
    assert sent == pytest.approx(expected, rel=0.2)
