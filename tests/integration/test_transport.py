"""Bodies on the wire: every byte arrives, once and in order, however slowly it is taken and whatever encrypts it."""

from __future__ import annotations

import asyncio
import hashlib
import random
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

from lmmscore.conversation import Conversation
from lmmscore.errors import NotTrusted
from lmmscore.judges.config import JudgeOptions
from lmmscore.judges.http import SMALL_BYTES, Body, Segments
from lmmscore.judges.openai import make
from lmmscore.records import Reply
from tests.loopback import Server, serving


class Noise:
    """A picture of random bytes: nothing on the way may know them."""

    mime = "image/png"

    def __init__(self, size: int) -> None:
        self._size = size
        self.digest = f"{size:064x}"

    def data(self) -> bytes:
        return random.Random(self._size).randbytes(self._size)


def talk_of(*sizes: int) -> Conversation:
    talk = Conversation()
    for size in sizes:
        talk = talk.say(f"This one has {size} bytes.", (Noise(size),)).hear("Seen.")  # type: ignore[arg-type]
    return talk.say("Which is best?")


def ask(url: str, *talks: Conversation, attempts: int = 1) -> list[Reply]:
    async def play() -> list[Reply]:
        judge = make(f"tiny@{url}", options=JudgeOptions(attempts=attempts, key_env=""))
        try:
            return [await judge.ask(talk) for talk in talks]
        finally:
            await judge.close()

    return asyncio.run(play())


SIZES = (2_000_000, 100, 3_000_001, SMALL_BYTES, 700_000)


def test_large_bodies_arrive_as_written_again_and_again() -> None:
    """The server's digest of what it got is that of what was said; the connection is good for more."""
    with serving(Server()) as server:
        replies = ask(server.url, talk_of(*SIZES), talk_of(1), talk_of(*SIZES))
    assert replies[0].text == replies[2].text != replies[1].text
    assert len({one.size for one in server.served}) == 2
    assert [part["type"] for part in server.served[0].body["messages"][4]["content"]] == [
        "image_url",
        "text",
    ]


def test_over_tls_the_same_bytes_arrive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server behind TLS is told exactly what a bare one is told."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with serving(Server()) as bare, serving(Server(), tls=context) as encrypted:
        plain = ask(bare.url, talk_of(*SIZES))
        secret = ask(encrypted.url, talk_of(*SIZES), talk_of(*SIZES))
    assert [reply.text for reply in secret] == [plain[0].text] * 2


@pytest.mark.parametrize(
    ("host", "said"),
    [("127.0.0.1", "set SSL_CERT_FILE"), ("elsewhere.test", "IP address mismatch")],
)
def test_a_certificate_that_is_not_trusted_is_named_at_once(
    host: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asking again would not help, and the server is running: the message says what is wrong and what mends it."""
    authority = trustme.CA()
    if host != "127.0.0.1":
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    with serving(Server(), tls=context) as server, pytest.raises(NotTrusted) as caught:
        ask(server.url, talk_of(1), attempts=10)
    assert "the certificate of 127.0.0.1:" in str(caught.value) and said in str(caught.value)
    assert ("SSL_CERT_FILE" in str(caught.value)) == (host == "127.0.0.1")
    assert caught.value.scope == "run" and not server.served


def test_a_server_without_tls_is_not_asked_over_it_again() -> None:
    """The address is wrong, and the message says in which way."""
    with serving(Server()) as server, pytest.raises(NotTrusted, match="begin with http://"):
        ask(server.url.replace("http:", "https:"), talk_of(1), attempts=10)


@contextmanager
def slow_reader(taken: list[bytes]) -> Iterator[str]:
    """A server with a tiny buffer that takes a request in sips, then answers."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def serve() -> None:
            sock, _ = listening.accept()
            with sock:
                received = b""
                while b"\r\n\r\n" not in received:
                    received += sock.recv(65536)
                head, _, body = received.partition(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                parts = [body]
                while sum(map(len, parts)) < length:
                    parts.append(sock.recv(random.Random(len(parts)).randrange(1, 200_000)))
                taken.append(b"".join(parts))
                answer = b'{"choices": [{"message": {"content": "Seen."}}]}'
                sock.sendall(
                    b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(answer), answer)
                )

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        thread.join(30)


def test_a_server_that_takes_its_time_gets_every_byte_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket takes a part of a segment; the rest follows from there."""
    sent: list[bytes] = []
    first_write = Segments.write

    async def remembering(self: Segments, writer: object) -> None:
        sent.append(self.decode("latin-1").encode("latin-1"))
        await first_write(self, writer)  # type: ignore[arg-type]

    monkeypatch.setattr(Segments, "write", remembering)
    taken: list[bytes] = []
    with slow_reader(taken) as url:
        assert ask(url, talk_of(*SIZES, 4_000_000))[0].text == "Seen."
    assert len(sent) == 1 and hashlib.sha256(sent[0]).digest() == hashlib.sha256(taken[0]).digest()


def test_small_neighbours_are_joined_and_large_segments_are_the_same_objects() -> None:
    """A copy of a few KB costs less than another segment; a copy of a picture does not."""
    picture = bytes(SMALL_BYTES)
    body = Body([b"a", b"b", picture, b"c", picture, b"d"])
    assert [len(part) for part in body.parts] == [2, SMALL_BYTES, 1, SMALL_BYTES, 1]
    assert body.parts[1] is picture and body.parts[3] is picture
    assert body.size == 4 + 2 * SMALL_BYTES
