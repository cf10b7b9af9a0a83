"""A server that costs nearly nothing: it counts a request's bytes, waits, and answers the same every time.

Run as `python -m benchmarks.loopback DELAY_S SLOTS EDITS`; it prints its port and serves until its standard
input closes. It answers no more than SLOTS questions at a time, the others wait in line; its answer scores
so many EDITS. One edit is scored on one factor only and in one word, from 1 to 10 in turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator

FACTORS = ("acc", "pre", "qua", "real")


def answer_of(edits: int, score: int = 7) -> bytes:
    """Return a whole response with scores for so many edits and some words."""
    blocks = [
        f"Image {number}:\n" + "\n".join(f"- S_{factor}: {number}" for factor in FACTORS)
        for number in range(1, edits + 1)
    ]
    text = f"S_acc: {score}" if edits == 1 else "\n".join([*blocks, "A fair edit. " * 20])
    message = {"role": "assistant", "content": text}
    body = json.dumps(
        {
            "id": "chatcmpl-loopback",
            "object": "chat.completion",
            "created": 1,
            "model": "tiny",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 60, "total_tokens": 160},
        }
    ).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % len(body) + body


@contextlib.contextmanager
def serving(delay_s: float, slots: int = sys.maxsize, edits: int = 0) -> Iterator[str]:
    """Run such a server in a process of its own and yield its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.loopback", str(delay_s), str(slots), str(edits)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdin is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


DISCARD = socket.MSG_TRUNC if sys.platform == "linux" else 0
"""Takes bytes off the socket without copying them anywhere, so that two cores are enough for client and server."""
SCRATCH = bytearray(1 << 20)


class Desk:
    """Answers after a delay, and no more than so many at a time."""

    def __init__(self, delay_s: float, slots: int, edits: int) -> None:
        self.answers = itertools.cycle([answer_of(edits, score) for score in range(1, 11)])
        self._delay_s = delay_s
        self._free = slots
        self._line: deque[Callable[[], None]] = deque()
        self._loop = asyncio.get_running_loop()

    def serve(self, answer: Callable[[], None]) -> None:
        """Have an answer given when its turn has come."""
        self._line.append(answer)
        self._call_next()

    def _call_next(self) -> None:
        while self._free and self._line:
            self._free -= 1
            self._loop.call_later(self._delay_s, self._done, self._line.popleft())

    def _done(self, answer: Callable[[], None]) -> None:
        answer()
        self._free += 1
        self._call_next()


class Exchange:
    """One connection: requests are counted to their end and answered in a while."""

    def __init__(self, sock: socket.socket, desk: Desk) -> None:
        self._sock = sock
        self._desk = desk
        self._head = b""
        self._left = 0
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(sock, self._receive)

    def _receive(self) -> None:
        try:
            count = self._skip() if self._left else self._begin()
        except ConnectionError:
            count = 0
        if not count:
            self._loop.remove_reader(self._sock)
            self._sock.close()

    def _begin(self) -> int:
        """Read the head of a request, and the length of its body from it."""
        received = self._sock.recv(65536)
        self._head += received
        head, end, body = self._head.partition(b"\r\n\r\n")
        if end:
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            self._head, self._left = b"", length
            self._count(len(body))
        return len(received)

    def _skip(self) -> int:
        count = self._sock.recv_into(SCRATCH, min(self._left, len(SCRATCH)), DISCARD)
        self._count(count)
        return count

    def _count(self, received: int) -> None:
        self._left -= received
        if not self._left:
            self._desk.serve(self._answer)

    def _answer(self) -> None:
        if self._sock.fileno() >= 0:
            self._sock.send(next(self._desk.answers))


async def accept(listening: socket.socket, desk: Desk) -> None:
    loop = asyncio.get_running_loop()
    while True:
        sock, _ = await loop.sock_accept(listening)
        sock.setblocking(False)
        Exchange(sock, desk)


async def serve(delay_s: float, slots: int, edits: int) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        listening.setblocking(False)
        print(listening.getsockname()[1], flush=True)
        desk = Desk(delay_s, slots, edits)
        accepting = asyncio.create_task(accept(listening, desk))
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        accepting.cancel()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), *map(int, sys.argv[2:])))
