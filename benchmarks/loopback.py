"""A server that costs nearly nothing: it counts a request's bytes, waits, and answers the same every time.

Run as `python -m benchmarks.loopback DELAY_S`; it prints its port and serves until its standard input closes.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys

REPLY = json.dumps(
    {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 1,
        "model": "loopback",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "A fair edit. " * 20},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 60, "total_tokens": 160},
    }
).encode()
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
    len(REPLY),
    REPLY,
)


DISCARD = socket.MSG_TRUNC if sys.platform == "linux" else 0
"""Takes bytes off the socket without copying them anywhere, so that two cores are enough for client and server."""
SCRATCH = bytearray(1 << 20)


class Exchange:
    """One connection: requests are counted to their end and answered in a while."""

    def __init__(self, sock: socket.socket, delay_s: float) -> None:
        self._sock = sock
        self._delay_s = delay_s
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
            self._loop.call_later(self._delay_s, self._answer)

    def _answer(self) -> None:
        if self._sock.fileno() >= 0:
            self._sock.send(ANSWER)


async def accept(listening: socket.socket, delay_s: float) -> None:
    loop = asyncio.get_running_loop()
    while True:
        sock, _ = await loop.sock_accept(listening)
        sock.setblocking(False)
        Exchange(sock, delay_s)


async def serve(delay_s: float) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        listening.setblocking(False)
        print(listening.getsockname()[1], flush=True)
        accepting = asyncio.create_task(accept(listening, delay_s))
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        accepting.cancel()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
