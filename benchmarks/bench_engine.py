"""The engine: start-up, a resumed run, and memory that does not grow with the number of sessions."""

from __future__ import annotations

import contextlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from lmmscore.conversation import Conversation
from lmmscore.records import Reply

METHODS = 4


class Instant:
    """A judge that costs nothing, so that only the engine is measured."""

    name = "instant"
    parameters: dict[str, str] = {}  # noqa: RUF012
    caution = ""

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer with scores, whatever was asked; a paragraph long, as answers are."""
        blocks = "\n".join(
            f"Image {i}:\n- S_acc: {3 + i}\n- S_pre: 7\n- S_qua: 6\n- S_real: 5"
            for i in range(1, METHODS + 1)
        )
        return Reply(blocks + "\n" + "A few words more about it. " * 40, model="instant-1")

    async def close(self) -> None:
        """Nothing to let go of."""


def make_benchmark(root: Path, items: int) -> Path:
    """Write a benchmark of small pictures."""
    rows = ["id,task,instruction"]
    (root / "pictures").mkdir(parents=True)
    for number in range(items):
        rows.append(f"i{number},task{number % 4},Make it blue")
        for shade, what in enumerate(["src", *(f"m{i}" for i in range(METHODS))]):
            colour = (number % 251, shade * 40, number // 251)
            Image.new("RGB", (16, 16), colour).save(root / "pictures" / f"i{number}_{what}.png")
    (root / "items.csv").write_text("\n".join(rows) + "\n")
    methods = ", ".join(f"m{i}" for i in range(METHODS))
    (root / "benchmark.yaml").write_text(
        f"name: bench\nitems: items.csv\nmethods: [{methods}]\n"
        'images: {source: "pictures/{id}_src.png", edit: "pictures/{id}_{method}.png"}\n'
    )
    return root


def seconds(words: list[str], times: int = 15) -> float:
    """Return the median time a command takes."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(words, capture_output=True, check=True)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def start_up() -> None:
    """Print what `lmmscore --help` costs over Python itself."""
    help_s = seconds([sys.executable, "-m", "lmmscore", "--help"])
    pass_s = seconds([sys.executable, "-c", "pass"])
    print(
        f"start-up of lmmscore --help over python -c pass: {help_s / pass_s:.1f}  ({help_s * 1e3:.0f} ms)"
    )


def cpu_s(work: Callable[[], object]) -> float:
    """Return what a piece of work costs this process, whatever else the machine is doing."""
    start = time.process_time()
    work()
    return time.process_time() - start


def read_rows(path: Path) -> int:
    """Read every row of a ledger by its key; return how many there are."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        keys = [row[0] for row in connection.execute("SELECT key FROM exchange")]
        for key in keys:
            connection.execute("SELECT * FROM exchange WHERE key = ?", (key,)).fetchone()
    return len(keys)


def resumed() -> None:
    """Print what a complete run costs when nothing has to be asked, over reading its ledger rows."""
    import lmmscore

    with tempfile.TemporaryDirectory() as folder:
        root = make_benchmark(Path(folder) / "bench", 1000)
        out = Path(folder) / "run"
        lmmscore.run(root, judge=Instant(), out=out)
        again_s = min(cpu_s(lambda: lmmscore.run(root, judge=Instant(), out=out)) for _ in range(3))
        rows_s = min(cpu_s(lambda: read_rows(out / "ledger.sqlite")) for _ in range(3))
        rows = read_rows(out / "ledger.sqlite")
    print(
        f"resumed run of 1,000 sessions over reading its {rows:,} ledger rows by key: {again_s / rows_s:.1f}  "
        f"({again_s:.2f} s of CPU)"
    )


def peak_mib(repeats: int) -> float:
    """Return the peak memory of a run of 100 items in a process of its own."""
    code = f"""
import pathlib, resource, sys, tempfile
from benchmarks.bench_engine import Instant, make_benchmark
import lmmscore
with tempfile.TemporaryDirectory() as folder:
    root = make_benchmark(pathlib.Path(folder) / "bench", 100)
    lmmscore.run(root, judge=Instant(), out=pathlib.Path(folder) / "run", repeats={repeats}, concurrency=8)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def memory() -> None:
    """Print how peak memory grows with the number of sessions."""
    small, large = peak_mib(1), peak_mib(100)
    print(
        f"peak memory of 10,000 sessions over 100: {large / small:.2f}  ({large:.0f} MiB over {small:.0f} MiB)"
    )


def main() -> None:
    """Run all three."""
    start_up()
    resumed()
    memory()
