"""Servers that are broken, lie, or are not there: none is believed, none fills the memory, none
waits for nothing.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import json
import os
import random
import resource
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web
from PIL import Image

import lmmscore
from lmmscore import errors
from lmmscore.conversation import Conversation
from lmmscore.images import Picture, Pictures, Recipe
from lmmscore.judges.config import JudgeOptions
from lmmscore.judges.limits import connections_allowed
from lmmscore.judges.openai import OpenAIJudge, make
from lmmscore.records import Reply
from tests.command_line import lmm
from tests.loopback import Server, closed_port, completion, error, playing, serving

Maker = Callable[..., Path]
KEY = "sk-secret/0123456789"
HELLO = Conversation().say("Which is best?")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server()) as running:
        yield running


def judge_at(url: str, **options: Any) -> OpenAIJudge:
    return make(f"tiny@{url}", options=JudgeOptions(**options), rng=random.Random(1))


def ask(judge: OpenAIJudge, *talks: Conversation) -> list[Reply]:
    async def play() -> list[Reply]:
        try:
            return [await judge.ask(talk) for talk in talks or (HELLO,)]
        finally:
            await judge.close()

    return asyncio.run(play())


# State that a server does not show to have.


@pytest.fixture
def shown(tmp_path: Path) -> list[Picture]:
    pictures = Pictures(Recipe())
    for number in range(3):
        Image.new("RGB", (40, 30), (60 * number, 10, 10)).save(tmp_path / f"{number}.png")
    return [pictures.get(tmp_path / f"{number}.png") for number in range(3)]


@pytest.mark.parametrize("keeps", [False, True])
def test_a_server_that_does_not_show_its_state_is_sent_the_history(
    keeps: bool, shown: list[Picture]
) -> None:
    """Without `previous_response_id` in its answer nobody knows whether it saw the pictures before."""
    silent = Server(keeps=keeps, names_state=False, reply=lambda messages: str(len(messages)))

    async def play(url: str) -> tuple[list[str], list[str]]:
        judge = judge_at(url, api="responses", attempts=2)
        talk, heard = Conversation(), []
        for picture in shown:
            talk = talk.say("Look.", (picture,))
            heard.append((await judge.ask(talk)).text)
            talk = talk.hear(heard[-1])
        await judge.close()
        return heard, judge.meter.notices

    with serving(silent) as server:
        heard, notices = asyncio.run(play(server.url))
    assert heard == ["1", "3", "5"], "every reply rests on all that was said and shown"
    asked = [one.body for one in server.served if one.path.endswith("/responses")]
    assert [len(body["input"]) for body in asked] == [1, 1, 3, 5]
    assert any("whole history is sent" in notice for notice in notices)


# Answers without end.


async def _endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(b'{"choices": [{"message": {"content": "')
    try:
        while True:
            await response.write(b"a" * 1_000_000)
    except ConnectionError:
        return response


async def _endless_stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    event = (
        b'data: {"choices": [{"index": 0, "delta": {"content": "' + b"a" * 100_000 + b'"}}]}\n\n'
    )
    try:
        while True:
            await response.write(event)
    except ConnectionError:
        return response


async def _bomb(_: web.Request) -> web.StreamResponse:
    packed = gzip.compress(json.dumps(completion("a" * 200_000_000)).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    return web.Response(body=packed, headers=headers)


@pytest.mark.parametrize("answer", [_endless, _endless_stream, _bomb])
def test_an_answer_is_read_up_to_a_size_and_no_further(server: Server, answer: Any) -> None:
    """Neither an endless body nor one that unpacks to 200 MB is taken into memory, or for a reply."""
    server.script.append(answer)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stream = answer is _endless_stream
    with pytest.raises(errors.AnswerTooLarge, match="more than 2 MB") as caught:
        ask(judge_at(server.url, max_response_mb=2.0, stream=stream))
    assert len(server.served) == 1, "asking again would bring the same"
    assert "max_response_mb" in str(caught.value)
    if answer is not _bomb:  # which this process makes, too
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 60_000


def test_a_packed_answer_of_ordinary_size_is_read(server: Server) -> None:
    """A bound on the size is none on the packing."""
    body = gzip.compress(json.dumps(completion("Fine.")).encode())

    async def packed(_: web.Request) -> web.StreamResponse:
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        return web.Response(body=body, headers=headers)

    server.script.append(packed)
    assert ask(judge_at(server.url))[0].text == "Fine."


@contextlib.contextmanager
def sending(head: bytes, again: bytes) -> Iterator[str]:
    """Answer each connection with these bytes, the second for ever; yield the base URL."""

    def answer(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.recv(65_536)
            connection.sendall(head)
            while True:
                connection.sendall(again)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "again"),
    [
        (OK, b"X-Flood: %b\r\n" % (b"y" * 1000) * 50),
        (OK + b"X: ", b"y" * 65_536),
        (b"HTTP/1.1 200 ", b"z" * 65_536),
        (b"", b"\0" * 65_536),
        (CHUNKED + b"0\r\n", b"Trailer: %b\r\n" % (b"y" * 1000) * 50),
        (CHUNKED + b"5;", b"e" * 65_536),
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 100),
        (CHUNKED, b"1\r\n \r\n" * 10_000),
    ],
    ids=["headers", "header", "status", "garbage", "trailers", "extension", "hints", "crumbs"],
)
def test_a_flood_below_the_answer_ends_soon_and_is_named_in_few_words(
    head: bytes, again: bytes
) -> None:
    """Whatever part of HTTP a server lets run on, it fills neither the memory nor the screen."""
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with sending(head, again) as url, pytest.raises(errors.JudgeError) as caught:
        ask(judge_at(url, attempts=1, timeout_s=0.5))
    assert len(str(caught.value)) < 500
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 50_000


# Secrets that a server repeats.


DISGUISES = {
    "in an address": quote(KEY, safe=""),
    "in capitals": KEY.upper(),
    "in base64": base64.b64encode(KEY.encode()).decode(),
    "in the base64 of a header": base64.b64encode(f"Bearer {KEY}, thanks".encode()).decode(),
    "in the base64 of an address": base64.urlsafe_b64encode(f"u:{KEY}@h".encode()).decode(),
}


def _echo(where: str) -> Any:
    whole = completion("Fine.")
    headers = {}
    if where == "text":
        whole = completion(f"Your key is {KEY}.")
    elif where == "header":
        headers["x-request-id"] = f"req-{KEY}"
    elif where == "reasoning":
        whole = completion("Fine.", reasoning_content=f"Hm, {KEY}")
    elif where == "tool":
        whole = completion("Fine.", tool_calls=[{"id": KEY, KEY: 1}])
    elif where == "refusal":
        whole = completion("", refusal=KEY)
    elif where == "parts":
        halves = [{"type": "text", "text": half} for half in (KEY[:9], KEY[9:])]
        whole["choices"][0]["message"]["content"] = halves
    elif where == "around thoughts":
        whole = completion(f"{KEY[:9]}<think>Hm.</think>{KEY[9:]}")
    elif where == "finish":
        whole = completion("Fine.", finish_reason=f"stop {KEY}")
    elif where == "other choices":
        whole["choices"].append({"message": {"content": KEY}})
    elif where in DISGUISES:
        whole = completion(f"You sent {DISGUISES[where]}.", tool_calls=[{"id": DISGUISES[where]}])
    else:
        whole[where] = f"x {KEY}"
    # PHP and others write / as \/, which is the same text.
    return 200, headers, json.dumps(whole).replace("/", "\\/").encode()


@pytest.mark.parametrize(
    "where",
    [
        *("text", "header", "reasoning", "tool", "refusal", "model", "system_fingerprint", "id"),
        *("parts", "around thoughts", "finish", "other choices", *DISGUISES),
    ],
)
def test_a_key_that_a_server_repeats_reaches_no_record(server: Server, where: str) -> None:
    """Whatever part of an answer it is in, and however it is escaped, cut up or disguised."""
    server.script.append(_echo(where))
    (reply,) = ask(judge_at(server.url))
    assert KEY not in repr(reply) and KEY not in reply.also
    if where in DISGUISES:
        # Characters at its ends that depend on its neighbours may be left, and tell nothing.
        assert DISGUISES[where][8:-8] not in repr(reply) + reply.also
    assert "…" in repr(reply)


def test_a_key_in_a_stream_reaches_no_record(server: Server) -> None:
    """Not even when it comes in two parts."""

    async def stream(_: web.Request) -> web.StreamResponse:
        parts = [KEY[:9], KEY[9:]]
        deltas = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in parts]
        deltas.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        body = "".join(f"data: {json.dumps(delta)}\n\n" for delta in deltas)
        return web.Response(body=body.encode(), content_type="text/event-stream")

    server.script.append(stream)
    assert ask(judge_at(server.url, stream=True))[0].text == "…"


def test_no_file_of_a_run_holds_a_key_that_the_server_repeated(
    make_benchmark: Maker, tmp_path: Path
) -> None:
    """Ledger, run.yaml, sessions and report are safe to publish."""
    root, out = make_benchmark(items=1), tmp_path / "run"
    echoing = Server(
        reply=lambda messages: playing(messages) + f"\n{KEY}",
        extra={"model": KEY, "system_fingerprint": KEY},
        answer_headers={"x-request-id": KEY},
    )
    with serving(echoing) as server:
        done = lmm("run", root, "-j", f"openai/tiny@{server.url}", "-o", out)
    assert done.returncode == 0, done.stderr
    for file in filter(Path.is_file, out.rglob("*")):
        assert KEY.encode() not in file.read_bytes(), file.name


# Another model than the one asked for.


@pytest.mark.parametrize(
    ("asked", "answering", "said"),
    [
        ("tiny", "somebody-else-7b", True),
        ("gpt-4o", "gpt-3.5-turbo", True),
        ("gpt-4o", "gpt-4o-2024-08-06", False),
        ("openai/gpt-4o", "gpt-4o", False),
        ("Qwen2.5-VL-7B-Instruct", "/models/qwen2.5-vl-7b-instruct-q4.gguf", False),
        ("tiny", "", False),
    ],
)
def test_a_model_that_nobody_asked_for_is_mentioned(
    server: Server, asked: str, answering: str, said: bool
) -> None:
    """LM Studio answers with whatever is loaded; a router falls back. A table must not hide it."""
    server.extra["model"] = answering
    judge = make(f"{asked}@{server.url}", rng=random.Random(1))
    ask(judge)
    assert any(f"asked for {asked}" in notice for notice in judge.meter.notices) is said


def test_models_that_take_turns_are_mentioned_once(server: Server) -> None:
    """Scores of one run are then not all by one judge."""
    judge = judge_at(server.url)
    for model in ("tiny-1", "tiny-2", "tiny-1", "tiny-2"):
        server.script.append({**completion("Fine."), "model": model})
    ask(judge, *[HELLO] * 4)
    assert len(judge.meter.notices) == 1 and "tiny-1, tiny-2" in judge.meter.notices[0]


# What is known after one attempt or two.


def test_a_run_stops_at_once_where_nothing_listens(make_benchmark: Maker, tmp_path: Path) -> None:
    """Two attempts say it all; nothing is said of megabytes, and the remedy is named."""
    words = ("run", make_benchmark(items=4), "-o", tmp_path / "run")
    with closed_port() as url:
        done = lmm(*words, "-j", f"openai/tiny@{url}")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert f"no server at {url}" in last and "start it, or correct its address" in last
    assert "MB" not in done.stderr


def test_a_server_that_answered_before_is_waited_for(server: Server) -> None:
    """A server that is being restarted in the middle of a run is no wrong address."""

    async def play() -> list[str]:
        judge = judge_at(server.url, attempts=10)
        heard = [(await judge.ask(HELLO)).text]
        post = judge._client.replicas.of(HELLO).connection.post
        refused = iter(range(4))

        async def sometimes(*given: Any) -> Any:
            if next(refused, None) is not None:
                from lmmscore.judges.faults import NoAnswer

                raise NoAnswer("cannot connect", reached=False)
            return await post(*given)

        judge._client.replicas.of(HELLO).connection.post = sometimes  # type: ignore[method-assign]
        heard.append((await judge.ask(HELLO)).text)
        await judge.close()
        return heard

    first, second = asyncio.run(play())
    assert first == second


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
        (400, "Qwen/Qwen2.5-7B-Instruct is not a multimodal model"),
        (400, "This model does not support image input."),
        (404, "No endpoints found that support image input"),
        (400, "Invalid content type. image_url is only supported by certain models."),
        (400, "messages[0]: unknown variant `image_url`, expected `text`"),
        (400, "At most 0 image(s) may be provided in one prompt."),
        (400, "Image input modality is not enabled for models/gemma-3-1b-it"),
        (400, "Image input is not enabled for this model"),
        (400, "Invalid request: Image input not supported for model tiny"),
        (400, "image_url content is not supported by this model"),
        (500, "failed to process inputs: this model is missing data required for image input"),
        (400, "Vision add-on is not loaded, but images were provided for processing"),
        (400, "Model does not support images. Please use a model that does."),
        (400, "'messages.0.content' : value must be a string"),
        (422, "messages[0].content: invalid type: sequence, expected a string at line 1"),
    ],
)
def test_a_model_without_eyes_stops_the_run_at_once(
    server: Server, status: int, message: str
) -> None:
    """In whatever words it says so; no other question would fare better."""
    server.script += [(status, {}, error(message))] * 3
    with pytest.raises(errors.ImagesRefused, match="takes no images") as caught:
        ask(judge_at(server.url))
    assert caught.value.scope == "run" and len(server.served) == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid one."}}]),
        (400, error("x", code="invalid_api_key")),
        (401, error("Incorrect API key provided")),
        (403, {"detail": "Not authenticated"}),
    ],
)
def test_a_key_that_is_refused_stops_the_run_at_once(
    server: Server, status: int, body: Any
) -> None:
    """Gemini says it with a 400 like any other; the place of the key is named, never the key."""
    server.script += [(status, {}, body)] * 3
    with pytest.raises(errors.NotAuthorised, match="OPENAI_API_KEY") as caught:
        ask(judge_at(server.url))
    assert caught.value.scope == "run" and len(server.served) == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (
            400,
            error(
                "/chat/completions: Invalid model name passed in model=tiny. Call `/v1/models` to "
                "view available models for your key.",
                type="None",
                param="None",
                code="400",
            ),
        ),
        (400, error("tiny is not a valid model ID")),
        (400, {"object": "error", "message": "Invalid model: tiny", "code": "1500"}),
        (400, error("Model Not Exist")),
        (404, error('model "tiny" not found, try pulling it first')),
        (400, error("The model `tiny-4.1` does not exist")),
        (422, error("x", code="model_not_found")),
        (404, {"object": "error", "message": "The model `tiny` does not exist.", "code": 404}),
        (404, error("The model `tiny` does not exist.", type="NotFoundError", param="model")),
        (400, {"error": "Invalid model identifier tiny. Please specify a valid downloaded model"}),
        (404, error("No models loaded. Please load a model in the developer page")),
        (400, error("No models loaded. Please load a model in the developer page")),
        (404, {"error": {"code": "DeploymentNotFound", "message": "The API deployment … is gone"}}),
        (400, error("Unknown model: tiny", code="unknown_model")),
        (400, error("The chatCompletion operation does not work with the specified model, tiny.")),
        (404, [{"error": {"code": 404, "message": "models/tiny is not found for API version v1"}}]),
        (400, [{"error": {"code": 400, "message": "* model: unexpected model name format"}}]),
        (404, error("No endpoints found for the model tiny.")),
        (400, error("litellm.BadRequestError: LLM Provider NOT provided. You passed model=tiny")),
        (401, error("Invalid Authentication", type="key_model_access_denied")),
        (400, error("The model `tiny` has been decommissioned", code="model_decommissioned")),
        (
            400,
            error("The requested model 'tiny' is not supported by any provider you have enabled"),
        ),
        (404, error("model: tiny", type="not_found_error")),
        (
            404,
            {"code": "not found", "error": "The model tiny does not exist or your team lacks it"},
        ),
    ],
)
def test_an_unknown_model_stops_the_run_at_once(server: Server, status: int, body: Any) -> None:
    """LiteLLM, OpenRouter, Mistral and others say it with a 400, which is no matter of one
    question.
    """
    server.script += [(status, {}, body)] * 3
    with pytest.raises(errors.ModelNotFound, match="check its name") as caught:
        ask(judge_at(server.url))
    assert caught.value.scope == "run" and len(server.served) == 1


@pytest.mark.parametrize(
    "message",
    [
        "Invalid image: this model cannot read it",
        "Images larger than 5 MB are not supported",
        "Multiple images are not supported in one message",
        "The image type image/heic is not supported",
        "Could not process image",
        "invalid model output, try again",
        "The model does not support image format webp",
        "At most 4 image(s) may be provided in one prompt.",
    ],
)
def test_what_concerns_one_question_stops_one_session(server: Server, message: str) -> None:
    """Words such as model and image alone prove nothing about the rest."""
    server.script.append((400, {}, error(message)))
    with pytest.raises(errors.RequestRefused) as caught:
        ask(judge_at(server.url))
    assert caught.value.scope == "session"


# A judge is its model and parameters, not its address.


def exchanges(path: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(path) as ledger:
        return ledger.execute("SELECT judge, also FROM exchange").fetchall()


def test_a_server_that_moved_is_paid_nothing_again(make_benchmark: Maker, tmp_path: Path) -> None:
    """Neither the ledger's keys nor the run's identity hold the address; who answered is on record."""
    root, out = make_benchmark(items=2), tmp_path / "run"
    with serving(Server(reply=playing)) as first, serving(Server(reply=playing)) as second:
        lmmscore.run(root, judge=f"openai/tiny@{first.url}", out=out)
        scores = (out / "scores.csv").read_bytes()
        lmmscore.run(root, judge=f"openai/tiny@{second.url}", out=out)
    assert not second.served
    assert (out / "scores.csv").read_bytes() == scores
    rows = exchanges(out / "ledger.sqlite")
    assert {judge for judge, _ in rows} == {"openai/tiny"}
    assert {json.loads(also)["server"] for _, also in rows} == {first.url}


def test_a_wrong_port_does_not_block_the_folder(make_benchmark: Maker, tmp_path: Path) -> None:
    """The run that asked nothing at a mistyped address is simply gone on with at the right one."""
    root, out = make_benchmark(items=1), tmp_path / "run"
    with closed_port() as url, pytest.raises(errors.ServerUnreachable):
        lmmscore.run(root, judge=f"openai/tiny@{url}", out=out)
    with serving(Server(reply=playing)) as server:
        run = lmmscore.run(root, judge=f"openai/tiny@{server.url}", out=out)
    assert run.manifest.state == "finished"


# Open files.


def test_the_limit_on_open_files_is_raised_where_that_is_allowed() -> None:
    """The soft limit is a default, not a wish."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        allowed = connections_allowed()
        assert allowed is not None and allowed > 256
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_a_run_keeps_within_the_open_files_it_is_allowed(
    make_benchmark: Maker, tmp_path: Path
) -> None:
    """With 64 files in all, 200 sessions at once are asked fewer at a time, and it is said."""
    root, out = make_benchmark(items=60, methods=("alpha",)), tmp_path / "run"
    with serving(Server(reply=playing, delay_s=0.05)) as server:
        words = [sys.executable, "-m", "lmmscore", "run", root, "-o", out, "-c", 200]
        words += ["-j", f"openai/tiny@{server.url}"]
        command = "ulimit -n 64; exec " + " ".join(map(str, words))
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=100
        )
    assert done.returncode == 0, done.stderr
    assert "Too many open files" not in done.stderr + (out / "scores.csv").read_text()
    assert "ulimit -n" in done.stderr
    assert server.most_in_flight < 64


@pytest.mark.parametrize(("judge", "files"), [("openai/tiny", 22), ("pixels", 22), ("pixels", 17)])
def test_too_few_open_files_are_no_fault_of_the_pictures(
    make_benchmark: Maker, tmp_path: Path, judge: str, files: int
) -> None:
    """A run for which there is no room says so in one line, and nothing is begun."""
    root, out = make_benchmark(items=12), tmp_path / "run"
    words = ["run", root, "-o", out, "-c", 64, "-j", judge]
    shown = " ".join(map(str, [sys.executable, "-m", "lmmscore", *words]))
    done = subprocess.run(
        ["bash", "-c", f"ulimit -n {files}; exec {shown}"],
        env=os.environ | {"OPENAI_API_KEY": KEY},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 1 and "`ulimit -n 256` allows more" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not out.exists()
