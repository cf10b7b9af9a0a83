"""A server that costs nearly nothing: it counts a request's bytes, waits, and answers the same every time.

Run as `python -m benchmarks.loopback DELAY_S`; it prints its port and serves until its standard input closes.
"""

from __future__ import annotations

import asyncio
import json
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


class Exchange(asyncio.BufferedProtocol):
    """One connection. Bodies are received into one scratch buffer and forgotten."""

    scratch = bytearray(1 << 20)

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._head = b""
        self._left = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> bytearray:
        """Return the scratch buffer that every connection shares."""
        return self.scratch

    def buffer_updated(self, nbytes: int) -> None:
        """Count what came, and answer in a while when it is all there."""
        if not self._left:
            self._head += bytes(self.scratch[:nbytes])
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            lowered = self._head[:end].lower()
            length = int(lowered.split(b"content-length:")[1].split(b"\r\n")[0])
            nbytes, self._left, self._head = len(self._head) - end - 4, length, b""
        self._left -= nbytes
        if not self._left:
            asyncio.get_running_loop().call_later(self._delay_s, self._answer)

    def _answer(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(ANSWER)


async def serve(delay_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Exchange(delay_s), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
