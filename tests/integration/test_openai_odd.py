"""Answers and settings that are out of the ordinary: none hangs a run, leaks a secret or becomes a score."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lmmscore import errors
from lmmscore.conversation import Conversation
from lmmscore.judges import open_judge
from lmmscore.judges.config import JudgeOptions, mask
from lmmscore.judges.faults import Answer, Malformed
from lmmscore.judges.openai import OpenAIJudge, assemble, chat_reply, make, responses_reply
from lmmscore.ledger import Asker, Ledger
from lmmscore.parsing import read_reply
from lmmscore.records import Reply
from lmmscore.scales import Factor
from tests.command_line import lmm
from tests.loopback import Server, completion, error, playing, serving

Maker = Callable[..., Path]
HELLO = Conversation().say("Which is best?")
FACTORS = [Factor.model_validate({"key": "acc", "symbol": "S_acc", "scale": {"min": 1, "max": 10}})]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_BASE_URL",
        "http_proxy",
        "HTTP_PROXY",
        "all_proxy",
        "ALL_PROXY",
        "no_proxy",
        "NO_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server()) as running:
        yield running


def judge_at(server: Server, url: str = "", **options: Any) -> OpenAIJudge:
    options = {"attempts": 2, **options}
    return make(f"tiny@{url or server.url}", options=JudgeOptions(**options), rng=random.Random(1))


def ask(judge: OpenAIJudge, conversation: Conversation = HELLO) -> Reply:
    async def play() -> Reply:
        try:
            return await judge.ask(conversation)
        finally:
            await judge.close()

    return asyncio.run(play())


# What is set is sent.


def test_zero_is_a_wish_like_any_other(make_benchmark: Maker, tmp_path: Path) -> None:
    """`--temperature 0 --judge-seed 0` reach the server, and the key of every exchange."""
    root, out = make_benchmark(items=1), tmp_path / "run"
    with serving(Server(reply=playing)) as server:
        judge = f"openai/tiny@{server.url}"
        done = lmm("run", root, "-j", judge, "-o", out, "--temperature", 0, "--judge-seed", 0)
    assert done.returncode == 0, done.stderr
    assert {(one.body["temperature"], one.body["seed"]) for one in server.served} == {(0.0, 0)}
    with Ledger(out / "ledger.sqlite", read_only=True) as ledger:
        (asker,) = ledger.askers()
    assert json.loads(asker.parameters) == {"temperature": 0.0, "seed": 0}


def test_a_budget_of_nothing_asks_nothing(make_benchmark: Maker, tmp_path: Path) -> None:
    """`--budget 0` is a cap like any other."""
    (tmp_path / "judges.yaml").write_text(
        "judges: {house: {model: tiny, base_url: 'http://127.0.0.1:9/v1', "
        "prices: {input: 1, output: 2, as_of: 2026-01-01}}}"
    )
    words = ("run", make_benchmark(items=1), "-j", "house", "-o", tmp_path / "run", "--budget", 0)
    done = lmm(*words, LMMSCORE_JUDGES=str(tmp_path / "judges.yaml"))
    assert done.returncode == 1
    assert "of 0.00 USD spent" in done.stderr


@pytest.mark.parametrize(
    "words", [("--budget", "nan"), ("--rpm", "0"), ("--timeout", "-1"), ("--temperature", "inf")]
)
def test_a_number_that_makes_no_sense_is_refused(words: tuple[str, str]) -> None:
    """What judges.yaml would refuse, the command line refuses too."""
    done = lmm("run", "nowhere", *words)
    assert done.returncode == 2 and words[0] in done.stderr


def test_a_field_that_json_cannot_carry_is_refused_in_its_file(tmp_path: Path) -> None:
    """YAML makes a date of 2024-01-01; the place is named before anything is asked."""
    file = tmp_path / "judges.yaml"
    file.write_text("judges: {house: {model: m, parameters: {extra: {day: 2024-01-01}}}}")
    with pytest.raises(errors.JudgeFileError, match=r"extra"):
        from lmmscore.judges.config import load_judges

        load_judges(file)


@pytest.mark.parametrize(
    ("asked", "answering", "told"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", False),
        ("gpt-4o", "chatgpt-4o-latest", False),
        ("Qwen/Qwen2-VL-7B", "qwen2-vl-7b-awq", False),
        ("gpt-4o", "gpt-4o-mini-2024-07-18", True),
        ("gemini-2.5-flash-lite", "gemini-2.5-flash", True),
        ("gpt-4o", "llava", True),
    ],
)
def test_another_model_than_the_one_asked_for_is_mentioned(
    server: Server, asked: str, answering: str, told: bool
) -> None:
    """Tables name the model that was asked for, so a smaller one must not answer unnoticed."""
    server.extra = {"model": answering}
    judge = make(f"{asked}@{server.url}")
    ask(judge)
    assert any(answering in notice for notice in judge.meter.notices) == told


# The key, and what else is secret.


def test_a_key_under_a_header_of_its_own_goes_there_and_nowhere_else(server: Server) -> None:
    """Questions and uploads carry it; there is no Authorization besides."""
    ask(judge_at(server, key_header="X-Key"))
    sent = server.served[0].headers
    assert sent["X-Key"] == "sk-secret-0123456789" and "Authorization" not in sent


def test_classic_azure_gets_its_key_path_and_version(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recipe of the documentation, through a proxy that stands in for Azure."""
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-0123456789")
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    server.script.append(completion("Fine."))
    url = "http://res.openai.azure.com/openai/deployments/dep?api-version=2024-10-21"
    assert ask(judge_at(server, url)).text == "Fine."
    arrived = server.served[0]
    assert arrived.path == "/openai/deployments/dep/chat/completions"
    assert (arrived.query, arrived.headers["Host"]) == (
        "api-version=2024-10-21",
        "res.openai.azure.com",
    )
    assert (
        arrived.headers["api-key"] == "azure-0123456789" and "Authorization" not in arrived.headers
    )


def test_a_password_and_a_key_header_go_together(server: Server) -> None:
    """A server behind a gate wants both."""
    ask(judge_at(server, server.url.replace("//", "//me:hunter22@"), key_header="X-Key"))
    sent = server.served[0].headers
    assert sent["X-Key"] == "sk-secret-0123456789" and sent["Authorization"].startswith("Basic ")


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
        ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        ("https://x.services.ai.azure.com/openai/v1", "AZURE_OPENAI_API_KEY"),
    ],
)
def test_one_providers_key_is_not_handed_to_another(
    host: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its own key a provider is not asked at all, and the right variable is named."""
    monkeypatch.delenv(name, raising=False)
    with pytest.raises(errors.NotAuthorised, match=name):
        make(f"m@{host}")


@pytest.mark.parametrize("key", ["sk-…", "sk-one\nsk-two", "sk-\x7f"])
def test_a_key_that_cannot_be_sent_is_said_and_not_shown(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied with its ellipsis, or two at once: no traceback."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(errors.NotAuthorised, match="OPENAI_API_KEY") as caught:
        make("gpt-4o")
    assert key not in str(caught.value)


def test_what_is_set_for_openai_is_not_told_to_others(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Organisation, project and custom headers of the environment are for OpenAI."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gate: open-sesame\nX-Two: b")
    ask(judge_at(server))
    assert not {"org-mine", "proj-mine", "open-sesame", "b"} & {*server.served[0].headers.values()}


@pytest.mark.parametrize(
    "echo", ["hunter22", "bWU6aHVudGVyMjI=", "QSECRET9", "sk-secret-0123456789", "tok-987654"]
)
@pytest.mark.parametrize("padding", [0, 395])
def test_a_secret_that_a_server_repeats_is_taken_out(
    server: Server, echo: str, padding: int
) -> None:
    """Password, basic header, query, key, secret header: also where the message is cut in the middle of it."""
    server.script.append((400, {}, error("x" * padding + echo)))
    url = server.url.replace("//", "//me:hunter22@") + "?code=QSECRET9"
    with pytest.raises(errors.RequestRefused) as caught:
        ask(judge_at(server, url, headers={"X-Auth": "tok-987654"}))
    assert echo[:5] not in str(caught.value).replace("x" * 5, "")


def test_a_broken_answer_does_not_show_the_query(server: Server) -> None:
    """aiohttp's own words name the address; ours do not."""

    async def broken(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n")  # type: ignore[attr-defined]
        request.transport.close()
        return web.Response()

    server.script += [broken, broken]
    with pytest.raises(errors.JudgeUnavailable) as caught:
        ask(judge_at(server, server.url + "?code=QSECRET9"))
    assert "QSECRET9" not in str(caught.value) and "code=" not in str(caught.value)


def test_no_file_of_a_run_holds_a_password(make_benchmark: Maker, tmp_path: Path) -> None:
    """Not even the command to run it again, nor the page that shows it."""
    root, out = make_benchmark(items=1), tmp_path / "run"
    with serving(Server(reply=playing)) as server:
        url = server.url.replace("//", "//alice:hunter22@") + "?code=QSECRET9"
        done = lmm("run", root, "-j", f"openai/tiny@{url}", "-o", out)
        page = lmm("report", out)
    assert (done.returncode, page.returncode) == (0, 0), done.stderr + page.stderr
    for file in filter(Path.is_file, out.rglob("*")):
        assert b"hunter22" not in file.read_bytes() and b"QSECRET9" not in file.read_bytes(), (
            file.name
        )
    assert "hunter22" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "spec",
    [
        "opnai/m@https://alice:hunter22@host/v1",
        "openai/@https://alice:hunter22@h",
        "openai/m@https://a:hun/ter22@h",
    ],
)
def test_a_mistyped_judge_is_shown_without_its_password(spec: str) -> None:
    """The message repeats what was typed, but for the secret."""
    with pytest.raises(errors.LmmscoreError) as caught:
        open_judge(spec)
    assert "ter22" not in str(caught.value)


def test_masking_keeps_what_is_not_secret() -> None:
    """Model, host and path stay; what is no address stays whole."""
    assert mask("openai/m@https://u:p/w@h:8/v1?k=s") == "openai/m@https://…@h:8/v1?…"
    assert mask("what? really") == "what? really"


# Odd bodies.

ODD = [
    completion("A fine edit \ud83d"),
    {**completion("Fine."), "model": "tiny \udc00"},
    {**completion("Fine."), "usage": {"prompt_tokens": 2**63, "completion_tokens": True}},
    completion("Fine.", tool_calls=[{"id": "\ud83d"}]),
    completion("Fine.", refusal=None, reasoning_content=7),
]


@pytest.mark.parametrize("body", ODD)
def test_an_odd_answer_is_recorded_like_any_other(
    server: Server, body: Any, tmp_path: Path
) -> None:
    """Half an emoji or a count beyond all bounds neither hangs the ledger nor is lost."""
    server.script.append(body)
    reply = ask(judge_at(server))
    assert reply.text.startswith(("Fine", "A fine"))
    with Ledger(tmp_path / "l.sqlite") as ledger:
        asker = Asker("openai/tiny", "{}")
        assert ledger.record(asker, HELLO, 1, reply).result(timeout=10) == reply
        assert (
            ledger.record(asker, HELLO.hear("x").say("And?"), 1, reply).result(timeout=10) == reply
        )


def test_the_writer_of_a_ledger_outlives_what_it_cannot_write(tmp_path: Path) -> None:
    """Whoever waits hears of it, and the next exchange is written."""
    with Ledger(tmp_path / "l.sqlite") as ledger:
        asker = Asker("openai/tiny", "{}")
        with pytest.raises(errors.LedgerError):
            ledger.record(asker, HELLO, 1, Reply("half \ud83d")).result(timeout=10)
        assert ledger.record(asker, HELLO, 1, Reply("whole")).result(timeout=10).text == "whole"


def test_a_header_that_is_not_text_is_no_reason_to_hang(server: Server) -> None:
    """Request ids are somebody else's bytes."""
    heard = threading.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        data = json.dumps(completion("Fine.")).encode()
        assert request.transport is not None
        head = b"HTTP/1.1 200 OK\r\nx-request-id: a\xff\xfeb\r\nContent-Length: %d\r\n\r\n" % len(
            data
        )
        request.transport.write(head + data)  # type: ignore[attr-defined]
        await asyncio.to_thread(heard.wait, 10)
        return web.Response()

    server.script.append(answer)
    try:
        assert ask(judge_at(server)).request_id.encode()
    finally:
        heard.set()


NAMES = """
choices message content output type text summary refusal delta usage error finish_reason status index thinking
""".split()
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(json_values)
@example({"output": [{"choices": -(2**63) - 1}]})
@settings(max_examples=300, deadline=None)
def test_whatever_json_comes_it_is_a_reply_or_malformed(value: Any) -> None:
    """No body of any shape crashes a run."""
    events = b"data: " + json.dumps(value).encode() + b"\n\n"
    for read in (
        lambda: chat_reply(value, {}),
        lambda: responses_reply(value, {}),
        lambda: chat_reply(assemble(events), {}),
    ):
        try:
            assert isinstance(read(), Reply)
        except Malformed:
            continue


def test_json_nested_beyond_reason_is_not_json() -> None:
    """The reader says so, rather than running out of stack."""
    for depth in (200_000, 1_000):
        with pytest.raises(ValueError):
            Answer(200, {}, b"[" * depth).json()
    with pytest.raises(ValueError):
        Answer(200, {}, b"[" * 1_000 + b"]" * 1_000).json()


@pytest.mark.parametrize(
    "body",
    [
        {
            **completion(""),
            "choices": [{"message": {"content": ""}, "error": {"code": 502, "message": "x"}}],
        },
        completion("S_acc: 7", finish_reason="error"),
        {"id": "r", "status": "failed", "output": []},
    ],
)
def test_a_provider_that_broke_off_is_asked_again(server: Server, body: Any) -> None:
    """Its half answer is not recorded."""
    api: Any = "responses" if "output" in body else "chat"
    server.script.append(body)
    assert ask(judge_at(server, api=api)).text
    assert len(server.served) == 2


# Thinking, refusals, filters.


@pytest.mark.parametrize(
    "text",
    [
        "Image 1: S_acc: 2, so I think. </think>\n\nI cannot score this image.",
        "<think>S_acc: 2</think>I cannot score this image.",
        "<thinking>S_acc: 2</thinking>I cannot score this image.",
        "◁think▷S_acc: 2◁/think▷I cannot score this image.",
        "First. <think>S_acc: 2</think> I cannot score this image.",
        "<think>S_acc: 2",
        "S_acc: 2</think>",
    ],
)
@pytest.mark.parametrize("as_list", [False, True])
def test_thinking_is_never_read_for_scores(text: str, as_list: bool) -> None:
    """However it is marked, and whoever left the opening tag out."""
    content: Any = [{"type": "text", "text": text}] if as_list else text
    reply = chat_reply(completion(content), {})
    assert "S_acc" not in reply.text and "S_acc: 2" in reply.reasoning
    assert not read_reply(reply, FACTORS, 1).scores


def test_a_refusal_beside_numbers_is_a_refusal() -> None:
    """What was refused is no score, whatever stands beside it."""
    reading = read_reply(Reply("S_acc: 7", refusal="I cannot judge people."), FACTORS, 1)
    assert not reading.scores and reading.faults[0].kind == "refused"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (
            403,
            {
                "error": {
                    "code": 403,
                    "message": "Your input was flagged",
                    "metadata": {"reasons": ["violence"]},
                }
            },
        ),
        (
            400,
            error(
                "Invalid prompt: your prompt was flagged as potentially violating our usage policy."
            ),
        ),
        (400, error("The response was filtered", code="content_filter")),
    ],
)
def test_every_form_of_the_filter_is_known(server: Server, status: int, body: Any) -> None:
    """It concerns this question; the key is fine, and the run goes on."""
    server.script.append((status, {}, body))
    assert ask(judge_at(server)).finish == "content_filter"


def test_a_filter_within_a_stream_is_the_filter(server: Server) -> None:
    """An error event keeps its code."""
    body = b'data: {"error": {"code": "content_filter", "message": "no"}}\n\n'

    async def stream(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, content_type="text/event-stream")

    server.script.append(stream)
    assert ask(judge_at(server, stream=True)).finish == "content_filter"
    assert len(server.served) == 1


def test_a_stream_is_put_together_whole() -> None:
    """Further choices, content in parts, an emoji in two halves."""
    deltas = [
        {"index": 0, "delta": {"content": [{"type": "text", "text": "Good "}]}},
        {"index": 0, "delta": {"content": "\ud83d"}},
        {"index": 1, "delta": {"content": "Bad"}},
        {"index": 0, "delta": {"content": "\ude00"}, "finish_reason": "stop"},
    ]
    events = b"".join(
        b"data: " + json.dumps({"choices": [one]}).encode() + b"\n\n" for one in deltas
    )
    reply = chat_reply(assemble(events), {})
    assert reply.text == "Good 😀" and "Bad" in reply.also


# Refused parameters, and servers that lack something.


@pytest.mark.parametrize(
    ("given", "body", "words"),
    [
        (
            {"api": "responses", "temperature": 0.5},
            error("Unsupported parameter: 'temperature' is not supported with this model."),
            "leave out temperature",
        ),
        (
            {"api": "responses", "reasoning_effort": "high"},
            error("Unsupported parameter", param="reasoning.effort"),
            "parameter reasoning_effort",
        ),
        (
            {"api": "responses"},
            error("Unknown parameter: 'store'.", param="store"),
            "set api: chat",
        ),
        (
            {"image_detail": "high"},
            error("Invalid", param="messages[1].content[0].image_url.detail"),
            "image_detail",
        ),
        (
            {"stream": True},
            error("Unknown parameter: 'stream_options'.", param="stream_options"),
            "stream: false",
        ),
    ],
)
def test_a_refused_parameter_goes_by_our_name(
    server: Server, given: Any, body: Any, words: str
) -> None:
    """The remedy is something the user can do."""
    server.script.append((400, {}, body))
    with pytest.raises(errors.ParameterRefused, match=words):
        ask(judge_at(server, **given))


def test_a_picture_that_one_model_cannot_read_stops_its_session_only(server: Server) -> None:
    """The word model in a complaint is no parameter."""
    server.script.append((400, {}, error("Invalid image: this model cannot read it")))
    with pytest.raises(errors.RequestRefused) as caught:
        ask(judge_at(server, api="responses"))
    assert caught.value.scope == "session"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}),
        (200, {"error": "Unexpected endpoint or method. (POST /v1/responses)"}),
        (501, {"error": {"message": "Not implemented"}}),
        (405, {"detail": "Method Not Allowed"}),
    ],
)
def test_a_server_without_responses_is_asked_by_chat(
    server: Server, status: int, body: Any
) -> None:
    """Whatever words it has for that."""
    server.script.append((status, {}, body))
    assert ask(judge_at(server, api="responses")).text
    assert [path.rpartition("/v1")[2] for path in server.paths()] == [
        "/responses",
        "/chat/completions",
    ]


def test_a_wrong_base_url_is_no_lost_file(server: Server) -> None:
    """llama.cpp says File Not Found of an unknown address; by chat nothing was kept that could be lost."""
    server.script.append((404, {}, {"error": {"code": 404, "message": "File Not Found"}}))
    with pytest.raises(errors.AddressNotFound, match="base URL"):
        ask(judge_at(server))


@pytest.mark.parametrize(
    ("proxy", "works"),
    [("{}", True), ("http://{}", True), ("socks5://{}", False), ("socks5h://u:pass99@{}", False)],
)
def test_a_proxy_is_used_or_refused_by_name(
    server: Server, proxy: str, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With or without its scheme; one of another kind is named rather than misunderstood."""
    monkeypatch.setenv(
        "ALL_PROXY", proxy.format(server.url.removeprefix("http://").removesuffix("/v1"))
    )
    if works:
        assert ask(judge_at(server, "http://judge.example/v1")).text
        assert server.served[0].headers["Host"] == "judge.example"
    else:
        with pytest.raises(errors.JudgeFileError, match="proxy socks5") as caught:
            judge_at(server, "http://judge.example/v1")
        assert "pass99" not in str(caught.value)


def test_no_proxy_may_name_a_port(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """`NO_PROXY=host:port` is understood."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", server.url.removeprefix("http://").removesuffix("/v1"))
    assert ask(judge_at(server)).text
