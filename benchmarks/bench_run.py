"""What a whole run costs beside a plain client, and how many short sessions it plays a second.

`lmmscore.run` does all that it does, from the ledger to scores.csv; the plain client is a loop around
AsyncOpenAI that shows the same pictures, says as much, and keeps nothing. Long sessions have 14 turns about a
source and 8 edits of some 350 KB, 64 at once; short ones have one turn about two small pictures. Each way plays
in a process of its own, which has played a little before, and the best of some rounds counts.
"""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.loopback import serving

TURNS, EDITS, AT_ONCE, ROUNDS = 14, 8, 64, 3
SHORT_ITEMS, SHORT_AT_ONCE = 2000, 256
DELAY_S = 0.05
QUESTION = "Analyse this edit along the four factors, with care. " * 6
FOLDER = Path(tempfile.gettempdir()) / "lmmscore-bench-run"
SHORT_DIALOG = """\
dialog: one-turn
version: 2
title: One turn per edit
covers: edit
factors: [{key: acc, name: Accuracy, symbol: S_acc, scale: {min: 1, max: 10}}]
overall: mean
turns:
  - name: judge
    show: [source, edit]
    read: scores
    say: "How well was this done: {{instruction}}? Give S_acc from 1 to 10."
repair: {say: "I could not read that: {{problems}}"}
"""


def make_benchmarks() -> None:
    """Write one item with pictures as long as photographs, and many items with small ones."""
    import numpy as np
    from PIL import Image

    long, short = FOLDER / "long", FOLDER / "short"
    for folder in (long, short):
        folder.mkdir(parents=True, exist_ok=True)
    slope = np.linspace(0, 220, 512, dtype=np.uint8)[None, :, None]
    for number in range(EDITS + 1):
        grain = np.random.default_rng(number).integers(0, 14, (512, 512, 3), dtype=np.uint8)
        Image.fromarray(grain + slope).save(long / f"{number}.png")
    edits = {f"m{number}": f"{number}.png" for number in range(1, EDITS + 1)}
    fox = {"id": "fox", "task": "t", "instruction": "Make it a beach", "source": "0.png"}
    _write(long, [{**fox, "edits": edits}])
    rows = []
    for number in range(SHORT_ITEMS):
        colour = (number % 251, number // 251, 0)
        Image.new("RGB", (16, 16), colour).save(short / f"{number}.png")
        row = {"id": str(number), "task": "t", "instruction": "Make it blue", "source": "0.png"}
        rows.append({**row, "edits": {"m": f"{number}.png"}})
    _write(short, rows)
    (FOLDER / "short.yaml").write_text(SHORT_DIALOG)


def _write(folder: Path, items: list[dict[str, Any]]) -> None:
    # JSON is YAML.
    (folder / "benchmark.yaml").write_text(json.dumps({"name": folder.name, "items": items}))


def run_long(url: str, sessions: int) -> None:
    """Judge the long item so many times."""
    _run(FOLDER / "long", None, url, repeats=sessions, concurrency=AT_ONCE)


def run_short(url: str, sessions: int) -> None:
    """Judge so many short items."""
    _run(FOLDER / "short", FOLDER / "short.yaml", url, limit=sessions, concurrency=SHORT_AT_ONCE)


def _run(bench: Path, dialog: Path | None, url: str, **options: Any) -> None:
    import lmmscore

    with tempfile.TemporaryDirectory() as out:
        run = lmmscore.run(
            bench,
            str(dialog) if dialog else None,
            f"openai/tiny@{url}",
            out=Path(out) / "run",
            **options,
        )
        scores = run.scores()
        assert set(scores["outcome"]) == {"scored"}, "the replies of the server were not read"


def plain_long(url: str, sessions: int) -> None:
    """Play the long sessions with the history as a list of dicts."""
    # Greeting, source, factors, then one edit a turn.
    shown = {1: 0, **{turn: turn - 2 for turn in range(3, EDITS + 3)}}
    folder = FOLDER / "long"
    turns = [[folder / f"{shown[turn]}.png"] if turn in shown else [] for turn in range(TURNS)]
    asyncio.run(_plain(url, [turns] * sessions, AT_ONCE))


def plain_short(url: str, sessions: int) -> None:
    """Play the short sessions the same way."""
    folder = FOLDER / "short"
    pictures = [[folder / "0.png", folder / f"{number}.png"] for number in range(sessions)]
    asyncio.run(_plain(url, [[each] for each in pictures], SHORT_AT_ONCE))


async def _plain(url: str, sessions: list[list[list[Path]]], at_once: int) -> None:
    import openai

    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0, timeout=600)
    gate = asyncio.Semaphore(at_once)

    async def play(turns: list[list[Path]]) -> None:
        messages: list[Any] = []
        async with gate:
            for pictures in turns:
                content = [_shown(path) for path in pictures]
                content.append({"type": "text", "text": QUESTION})
                messages.append({"role": "user", "content": content})
                reply = await client.chat.completions.create(model="tiny", messages=messages)
                messages.append({"role": "assistant", "content": reply.choices[0].message.content})

    await asyncio.gather(*map(play, sessions))
    await client.close()


def _shown(path: Path) -> dict[str, Any]:
    data = base64.b64encode(path.read_bytes()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


WAYS: dict[str, tuple[Callable[[str, int], None], int, int]] = {
    "plain, long": (plain_long, AT_ONCE, EDITS),
    "run, long": (run_long, AT_ONCE, EDITS),
    "plain, short": (plain_short, SHORT_ITEMS, 1),
    "run, short": (run_short, SHORT_ITEMS, 1),
}
"""What plays, how many sessions, and how many edits an answer of the server scores."""


def measure(way: str, url: str) -> dict[str, float]:
    """Play the sessions of a way; return CPU seconds and wall seconds a session."""
    play, sessions, _ = WAYS[way]
    play(url, 2)
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    play(url, sessions)
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    return {"cpu_s": cpu_s / sessions, "wall_s": wall_s / sessions}


def in_own_process(way: str) -> dict[str, float]:
    """Measure one way in a fresh process against a fresh server."""
    with serving(DELAY_S, edits=WAYS[way][2]) as url:
        words = [sys.executable, "-m", "benchmarks.bench_run", way, url]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    """Print CPU a session as a ratio, and short sessions a second."""
    make_benchmarks()
    rounds = [{way: in_own_process(way) for way in WAYS} for _ in range(ROUNDS)]
    best = {
        way: {name: min(one[way][name] for one in rounds) for name in ("cpu_s", "wall_s")}
        for way in WAYS
    }
    for kind in ("long", "short"):
        plain_s, run_s = best[f"plain, {kind}"]["cpu_s"], best[f"run, {kind}"]["cpu_s"]
        print(
            f"CPU a {kind} session of a whole run, over the plain client: 1/{plain_s / run_s:.1f}  "
            f"({run_s * 1e3:.2f} ms over {plain_s * 1e3:.2f} ms)"
        )
    rates = {way: 1 / best[way]["wall_s"] for way in WAYS}
    print(
        f"short sessions a second, over the plain client: "
        f"{rates['run, short'] / rates['plain, short']:.2f}  "
        f"({rates['run, short']:.0f} over {rates['plain, short']:.0f})"
    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure(*sys.argv[1:])))
    else:
        main()
