"""What the API judge costs beside the plain way, and how busy it keeps a fast server.

One session is 14 turns about 8 PNGs of 260–410 KB; the server answers after a fixed delay. Every way plays in a
process of its own, against the same server, one after the other in one run; the table gives ratios. What takes about
a second is played several rounds, the ways in turn, and the best of each counts: what a busy neighbour of this machine
takes away says nothing about a way.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.loopback import serving

TURNS, PICTURES, ROUNDS = 14, 8, 7
QUESTION = "Analyse this edit along the four factors, with care. " * 6
SIZES = (258_271, 330_914, 367_290, 367_675, 372_952, 383_381, 384_398, 410_992)
"""Bytes of real edits of one photograph, 512 × 512."""


class FilePicture:
    """A picture that is already encoded: what is measured is sending the same bytes, not making them."""

    mime = "image/png"

    def __init__(self, path: Path, digest: str) -> None:
        self._path = path
        self.digest = digest

    def data(self) -> bytes:
        """Return the bytes of the file."""
        return self._path.read_bytes()


FOLDER = Path(tempfile.gettempdir()) / "lmmscore-bench-pictures"


def write_pictures() -> None:
    """Write files of the right sizes; like PNGs, they do not compress further."""
    FOLDER.mkdir(exist_ok=True)
    for size in SIZES:
        (FOLDER / f"{size}.png").write_bytes(random.Random(size).randbytes(size))


def pictures_of(session: int) -> list[FilePicture]:
    """Every session has pictures of its own, as in a run over many items."""
    return [FilePicture(FOLDER / f"{size}.png", f"{session:032x}{size:032x}") for size in SIZES]


Play = Callable[[list[FilePicture]], Awaitable[None]]


def plain(url: str) -> tuple[Play, Callable[[], Awaitable[None]]]:
    """AsyncOpenAI with the history as a list of dicts."""
    import openai

    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0)

    async def play(pictures: list[FilePicture]) -> None:
        messages: list[Any] = []
        for turn in range(TURNS):
            content: list[Any] = [{"type": "text", "text": QUESTION}]
            if turn < PICTURES:
                encoded = base64.b64encode(pictures[turn].data()).decode()
                content.insert(
                    0,
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
                )
            messages.append({"role": "user", "content": content})
            reply = await client.chat.completions.create(model="tiny", messages=messages)
            messages.append({"role": "assistant", "content": reply.choices[0].message.content})

    return play, client.close


def ours(url: str) -> tuple[Play, Callable[[], Awaitable[None]]]:
    """The judge as a run uses it, with its pace, budget, retries and log."""
    from lmmscore.conversation import Conversation
    from lmmscore.judges.openai import make

    judge = make(f"tiny@{url}")

    async def play(pictures: list[FilePicture]) -> None:
        talk = Conversation()
        for turn in range(TURNS):
            shown: Any = (pictures[turn],) if turn < PICTURES else ()
            talk = talk.say(QUESTION, shown)
            talk = talk.hear((await judge.ask(talk)).text)

    return play, judge.close


def raw(url: str) -> tuple[Play, Callable[[], Awaitable[None]]]:
    """aiohttp alone, sending segments made once: what any client through it must cost."""
    import aiohttp
    import pybase64

    from lmmscore.judges.http import Body, Segments

    sessions: list[aiohttp.ClientSession] = []

    async def play(pictures: list[FilePicture]) -> None:
        if not sessions:
            sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        parts = [b'{"model":"tiny","messages":[']
        for turn in range(TURNS):
            if turn < PICTURES:
                parts.append(pybase64.b64encode(pictures[turn].data()))
            parts.append(QUESTION.encode())
            async with sessions[0].post(
                url + "/chat/completions", data=Segments(Body([*parts, b"]}"]))
            ) as response:
                reply = json.loads(await response.read())
            parts.append(reply["choices"][0]["message"]["content"].encode())

    async def close() -> None:
        await sessions[0].close()

    return play, close


def floor(url: str) -> tuple[Play, Callable[[], Awaitable[None]]]:
    """Sockets alone: the bytes, and nothing that makes sense of them."""
    import socket

    import pybase64

    host, port = url.removeprefix("http://").removesuffix("/v1").split(":")

    async def play(pictures: list[FilePicture]) -> None:
        loop = asyncio.get_running_loop()
        with socket.socket() as sock:
            sock.setblocking(False)
            await loop.sock_connect(sock, (host, int(port)))
            parts: list[bytes] = []
            for turn in range(TURNS):
                if turn < PICTURES:
                    parts.append(pybase64.b64encode(pictures[turn].data()))
                size = sum(map(len, parts))
                await loop.sock_sendall(
                    sock, b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % size
                )
                for part in parts:
                    await loop.sock_sendall(sock, part)
                await loop.sock_recv(sock, 65536)

    async def close() -> None:
        return None

    return play, close


WAYS = {"plain": plain, "ours": ours, "raw aiohttp": raw, "socket floor": floor}


async def measure(way: str, sessions: int, url: str) -> dict[str, float]:
    """Play so many sessions at once and return CPU seconds a session, wall seconds and peak memory."""
    play, close = WAYS[way](url)
    await play(pictures_of(0))
    shown = [pictures_of(number) for number in range(1, sessions + 1)]
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    await asyncio.gather(*map(play, shown))
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await close()
    return {"cpu_s": cpu_s / sessions, "wall_s": wall_s, "peak_mb": peak_kb / 1024}


@dataclass(frozen=True)
class Setting:
    """So many sessions at once against a server with this delay."""

    sessions: int
    delay_s: float


def in_own_process(way: str, setting: Setting) -> dict[str, float]:
    """Measure one way in a fresh process against a fresh server."""
    with serving(setting.delay_s) as url:
        words = [sys.executable, "-m", "benchmarks.bench_transport"]
        words += [way, str(setting.sessions), url]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    """Print the table of ratios, then the bytes by either API."""
    write_pictures()
    small, large = Setting(32, 0.05), Setting(128, 0.5)
    rounds = [{way: in_own_process(way, small) for way in WAYS} for _ in range(ROUNDS)]
    measured = {(way, large): in_own_process(way, large) for way in WAYS}
    for way in WAYS:
        measured[way, small] = {
            name: min(one[way][name] for one in rounds) for name in rounds[0][way]
        }
    print("one session: 14 turns about 8 PNGs; ratios in one run\n")
    print(f"{'':<38}" + "".join(f"{way:>14}" for way in WAYS) + f"{'to reach':>12}")
    base = measured["plain", small]["cpu_s"]
    _line(
        "CPU a session, over plain",
        [f"1/{base / measured[w, small]['cpu_s']:.1f}" for w in WAYS],
        "≤ 1/7",
    )
    for setting, goal in ((small, "≥ 0.65"), (large, "≥ 0.80")):
        ideal_s = TURNS * setting.delay_s
        shares = [f"{ideal_s / measured[way, setting]['wall_s']:.2f}" for way in WAYS]
        _line(f"share of ideal, {setting.sessions} × {setting.delay_s * 1000:.0f} ms", shares, goal)
    memory = measured["plain", large]["peak_mb"]
    _line(
        "peak memory at 128, over plain",
        [f"{measured[w, large]['peak_mb'] / memory:.2f}" for w in WAYS],
        "≤ 0.50",
    )
    milliseconds = [f"{measured[way, small]['cpu_s'] * 1000:.0f} ms" for way in WAYS]
    _line("(CPU a session here and now)", milliseconds, "")
    for way in WAYS:
        every = sorted(TURNS * small.delay_s / one[way]["wall_s"] for one in rounds)
        print(f"{way}, 32 × 50 ms, every round: {', '.join(f'{share:.2f}' for share in every)}")
    print()
    print_bytes()


def _line(name: str, values: list[str], goal: str) -> None:
    print(f"{name:<38}" + "".join(f"{value:>14}" for value in values) + f"{goal:>12}")


def print_bytes() -> None:
    """Print what a session of N edits sends by Chat Completions and by Responses with Files."""
    from tests.loopback import Server, serving

    print("MB on the wire of a session of N edits of 368 KB (N + 5 turns)\n")
    print(f"{'N':>4}{'Chat':>12}{'Responses + Files':>20}")
    for count in (2, 4, 8, 12, 16, 20):
        sent = []
        for api in ("chat", "responses"):
            with serving(Server(reply=lambda _: "A fair edit. " * 20)) as server:
                sent.append(asyncio.run(_bytes_by(api, count, server.url)) / 1e6)
        print(f"{count:>4}{sent[0]:>12.1f}{sent[1]:>20.1f}")


async def _bytes_by(api: Any, count: int, url: str) -> int:
    from lmmscore.conversation import Conversation
    from lmmscore.judges.config import JudgeOptions
    from lmmscore.judges.openai import make

    judge, talk = make(f"tiny@{url}", options=JudgeOptions(api=api)), Conversation()
    for turn in range(count + 5):
        picture: Any = FilePicture(FOLDER / f"{SIZES[3]}.png", f"{turn:064x}")
        talk = talk.say(QUESTION, (picture,) if turn < count else ())
        talk = talk.hear((await judge.ask(talk)).text)
    await judge.close()
    return judge.meter.bytes_sent


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(asyncio.run(measure(sys.argv[1], int(sys.argv[2]), sys.argv[3]))))
    else:
        main()
