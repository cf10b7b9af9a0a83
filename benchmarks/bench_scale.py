"""The ways beyond one process, on the same sessions: how many a second, and what each adds to the wait for answers.

Every server answers each question after the same delay, however many are asked, so that the wait for answers is known:
questions × delay / sessions at once. All ways lead as many sessions at once, but for batches, where a whole wave is out
at once and a server of this process answers at once: there, only what a wave costs is of interest.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench_engine import METHODS, make_benchmark
from benchmarks.loopback import serving

ITEMS, AT_ONCE, DELAY_S, ROUNDS = 200, 32, 0.1, 3
ENVIRONMENT = {"OPENAI_API_KEY": "none", "RAY_AUTH_MODE": "disabled", "NO_COLOR": "1"}
Way = Callable[[str, Path, Path], None]


def lmmscore(*words: object) -> subprocess.Popen[bytes]:
    """Start the program, quietly."""
    line = [sys.executable, "-m", "lmmscore", *map(str, words)]
    return subprocess.Popen(
        line,
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def finish(*processes: subprocess.Popen[bytes]) -> None:
    """Wait for all; a way that fails is no measurement."""
    for process in processes:
        assert process.wait() == 0, process.args


def in_one_process(judge: str, bench: Path, out: Path) -> None:
    """Play everything in one process, at however many servers."""
    finish(lmmscore("run", bench, "--judge", judge, "--out", out, "-c", AT_ONCE))


def in_shards(judge: str, bench: Path, out: Path) -> None:
    """Play two halves side by side, unite them, and write the tables."""
    each = ("--judge", judge, "--out", out)
    shards = [
        lmmscore("run", bench, *each, "-c", AT_ONCE // 2, "--shard", f"{n}/2") for n in (1, 2)
    ]
    finish(*shards)
    finish(lmmscore("ledger", "merge", out, *out.glob("shard-*")))
    finish(lmmscore("run", bench, *each))


def with_ray(judge: str, bench: Path, out: Path) -> None:
    """Play with two players of a Ray that is started for it."""
    each = ("--engine", "ray", "--ray-players", 2, "-c", AT_ONCE // 2)
    finish(lmmscore("run", bench, "--judge", judge, "--out", out, *each))


def in_batches(bench: Path, out: Path) -> None:
    """Print what a wave costs where the answers are there at once."""
    import lmmscore as package
    from tests.batch_server import BatchServer
    from tests.loopback import serving_app

    waves = 0
    began_s = time.perf_counter()
    with serving_app(BatchServer().app()) as url:
        state = "waiting"
        while state == "waiting":
            judge = f"openai/tiny@{url}/v1"
            state = package.run(bench, judge=judge, out=out, engine="batch").manifest.state
            waves += 1
    wave_s = (time.perf_counter() - began_s) / waves
    print(
        f"{'batches':<16} {waves} looks, {wave_s:.1f} s each, in which {ITEMS} questions are "
        "collected, read, written and sent"
    )


def main() -> None:
    """Print sessions a second of every way, start-up included: the median of several rounds."""
    os.environ |= ENVIRONMENT
    ways: dict[str, tuple[int, Way]] = {
        "one server": (1, in_one_process),
        "three servers": (3, in_one_process),
        "two shards": (1, in_shards),
        "Ray, two players": (1, with_ray),
    }
    if importlib.util.find_spec("ray") is None:
        del ways["Ray, two players"]

    # Two questions are the same in all sessions, and asked once.
    questions = 2 + ITEMS * (METHODS + 5)
    wait_s = questions * DELAY_S / AT_ONCE
    print(f"{ITEMS} sessions, {AT_ONCE} at once, {DELAY_S} s an answer: {wait_s:.1f} s of waiting")
    taken_s: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        bench = make_benchmark(Path(folder) / "bench", ITEMS)
        urls = [stack.enter_context(serving(DELAY_S, edits=METHODS)) for _ in range(3)]
        # In turn, so that whatever else the machine does is shared out among the ways.
        for number in range(ROUNDS):
            for name, (servers, play) in ways.items():
                out = Path(folder) / f"{number}-{name.replace(' ', '-')}"
                began_s = time.perf_counter()
                play(f"openai/tiny@{','.join(urls[:servers])}", bench, out)
                taken_s[name].append(time.perf_counter() - began_s)
        for name, all_s in taken_s.items():
            wall_s = statistics.median(all_s)
            ratio = wall_s / statistics.median(taken_s["one server"])
            print(
                f"{name:<16} {ITEMS / wall_s:5.1f} sessions/s, {wall_s - wait_s:5.1f} s more than "
                f"the waiting; {ratio:.2f} of the time that one server takes",
                flush=True,
            )
        in_batches(bench, Path(folder) / "batches")


if __name__ == "__main__":
    main()
