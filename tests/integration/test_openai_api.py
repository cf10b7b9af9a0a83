from __future__ import annotations

import asyncio
import base64
import json
import logging
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from PIL import Image

from lmmscore import errors
from lmmscore.conversation import Conversation
from lmmscore.images import Pictures, Recipe
from lmmscore.judges.config import JudgeOptions
from lmmscore.judges.limits import Prices
from lmmscore.judges.openai import OpenAIJudge, _opening, make
from lmmscore.records import Reply
from tests.loopback import Server, completion, error, serving, until_hung_up

KEY = "sk-secret-0123456789"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server()) as running:
        yield running


@pytest.fixture
def pictures(tmp_path: Path) -> Pictures:
    for number in range(4):
        Image.new("RGB", (40, 30), (60 * number, 10, 10)).save(tmp_path / f"{number}.png")
    return Pictures(Recipe())


def judge_at(server: Server, **options: Any) -> OpenAIJudge:
    options.setdefault("attempts", 3)
    return make(f"tiny@{server.url}", options=JudgeOptions(**options), rng=random.Random(1))


def ask(judge: OpenAIJudge, *conversations: Conversation) -> list[Reply]:
    async def play() -> list[Reply]:
        try:
            return list(await asyncio.gather(*map(judge.ask, conversations)))
        finally:
            await judge.close()

    return asyncio.run(play())


HELLO = Conversation().say("Which is best?")


def test_a_conversation_with_pictures_arrives_whole_and_in_order(
    server: Server, pictures: Pictures, tmp_path: Path
) -> None:
    """The server gets every message, with each picture before the words it was shown with."""
    first, second = pictures.get(tmp_path / "1.png"), pictures.get(tmp_path / "2.png")
    talk = Conversation().say('Look: “ä\n"', (first, second)).hear("I see.").say("And now?")
    ask(judge_at(server, temperature=0.0, seed=3, image_detail="high"), talk)
    body = server.served[0].body
    assert (body["model"], body["temperature"], body["seed"]) == ("tiny", 0.0, 3)
    shown, heard, asked = body["messages"]
    assert [part["type"] for part in shown["content"]] == ["image_url", "image_url", "text"]
    url = shown["content"][1]["image_url"]
    assert url["detail"] == "high"
    assert base64.b64decode(url["url"].removeprefix("data:image/png;base64,")) == second.data()
    assert shown["content"][2]["text"] == 'Look: “ä\n"'
    assert (heard, asked) == (
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": "And now?"},
    )
    assert server.served[0].headers["Authorization"] == f"Bearer {KEY}"


def test_each_picture_is_encoded_once_whatever_the_number_of_turns(
    server: Server, pictures: Pictures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening and encoding is work for once a run, not for once a turn or once a session."""
    from lmmscore import images

    opened: list[Path] = []
    data = images.Picture.data
    monkeypatch.setattr(
        images.Picture, "data", lambda self: (opened.append(self.path), data(self))[1]
    )
    talk = Conversation().say("One.", (pictures.get(tmp_path / "1.png"),))
    other = Conversation().say("Two.", (pictures.get(tmp_path / "1.png"),))
    longer = talk.hear("Yes.").say("More?", (pictures.get(tmp_path / "2.png"),))
    ask(judge_at(server), talk, other, longer)
    assert sorted(path.name for path in opened) == ["1.png", "2.png"]


def test_a_picture_is_encoded_once_per_content(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a copy of the file, nor a session long after the first, encodes the same pixels again."""
    from lmmscore import images

    opened: list[Path] = []
    data = images.Picture.data
    monkeypatch.setattr(
        images.Picture, "data", lambda self: (opened.append(self.path), data(self))[1]
    )
    Image.new("RGB", (40, 30), (9, 9, 9)).save(tmp_path / "one.png")
    (tmp_path / "copy.png").write_bytes((tmp_path / "one.png").read_bytes())

    async def play() -> None:
        judge = judge_at(server)
        for name in ("one.png", "copy.png", "one.png"):
            # A new set each time: what an earlier session held is let go.
            shown = Pictures(Recipe()).get(tmp_path / name)
            await judge.ask(Conversation().say(name, (shown,)))
        await judge.close()

    asyncio.run(play())
    assert len(opened) == 1


def test_a_reply_carries_model_fingerprint_usage_and_price(server: Server) -> None:
    """Who answered, and what it cost, is part of the evidence."""
    server.script.append(completion("Edit 2."))
    prices = Prices(input=2.0, output=10.0, cached_input=1.0)
    (reply,) = ask(judge_at(server, prices=prices), HELLO)
    assert (reply.text, reply.finish) == ("Edit 2.", "stop")
    assert (reply.model, reply.fingerprint, reply.request_id) == (
        "tiny-2025-01-01",
        "fp_1",
        "chatcmpl-1",
    )
    usage = reply.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (1000, 50)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (400, 7)
    assert reply.cost_usd == pytest.approx((600 * 2 + 400 * 1 + 50 * 10) / 1e6)


def test_reasoning_is_kept_apart_from_the_reply(server: Server) -> None:
    """Thinking aloud is never read for scores, however the server sends it."""
    server.script += [
        completion("8/10", reasoning_content="Maybe 3/10?"),
        completion("8/10", reasoning="Maybe 3/10?"),
        completion("<think>\nMaybe 3/10?\n</think>\n8/10"),
        completion(
            [{"type": "thinking", "thinking": "Maybe 3/10?"}, {"type": "text", "text": "8/10"}]
        ),  # type: ignore[arg-type]
    ]
    for _ in range(4):
        (reply,) = ask(judge_at(server), HELLO)
        assert (reply.text, reply.reasoning) == ("8/10", "Maybe 3/10?")


def test_outcomes_are_recorded_as_they_came(server: Server) -> None:
    """A filter, a refusal, a cut, silence, a tool call and a second choice each leave their trace."""
    two = completion("first")
    two["choices"].append({"index": 1, "message": {"content": "second"}, "finish_reason": "stop"})
    call = {"id": "c1", "type": "function", "function": {"name": "score", "arguments": "{}"}}
    server.script += [
        completion(None, finish_reason="content_filter"),  # type: ignore[arg-type]
        completion(None, refusal="I cannot judge this."),  # type: ignore[arg-type]
        completion("The first edit is", finish_reason="length"),
        completion(""),
        completion(None, finish_reason="tool_calls", tool_calls=[call]),  # type: ignore[arg-type]
        two,
    ]
    filtered, refused, cut, silent, called, several = [
        ask(judge_at(server), HELLO)[0] for _ in range(6)
    ]
    assert (filtered.text, filtered.finish) == ("", "content_filter")
    assert refused.refusal == "I cannot judge this."
    assert (cut.text, cut.finish) == ("The first edit is", "length")
    assert (silent.text, silent.finish) == ("", "stop")
    assert called.finish == "tool_calls"
    assert json.loads(called.also)["tool_calls"] == [call]
    assert several.text == "first"
    assert json.loads(several.also)["choices"][0]["message"]["content"] == "second"


def test_azures_filter_error_is_a_filtered_reply_not_a_failure(server: Server) -> None:
    """Azure refuses the question itself with a 400; it is evidence, and asking again would not help."""
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}}
    server.script.append((400, {}, error("Filtered.", code="content_filter", innererror=inner)))
    (reply,) = ask(judge_at(server), HELLO)
    assert (reply.finish, reply.text, reply.refusal) == ("content_filter", "", "Filtered.")
    assert len(server.served) == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_passing_trouble_is_met_by_asking_again(server: Server, status: int) -> None:
    """Troubles that pass cost a retry, not a session."""
    server.script += [(status, {"retry-after-ms": "1"}, error("not now")), completion("Edit 1.")]
    judge = judge_at(server)
    (reply,) = ask(judge, HELLO)
    assert reply.text == "Edit 1."
    assert judge.meter.retries == 1


def test_a_server_that_asks_for_an_hour_is_left_alone(server: Server) -> None:
    """Waiting has an end too: the run stops, saved, instead of sleeping until tomorrow."""
    server.script.append((429, {"retry-after": "3600"}, error("come back later")))
    with pytest.raises(errors.ServerAway, match="come back later"):
        ask(judge_at(server), HELLO)
    assert len(server.served) == 1


async def _drop(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def _stall(request: web.Request) -> web.Response:
    await until_hung_up(request)
    return web.Response(text="too late")


@pytest.mark.parametrize(
    "trouble",
    [
        _drop,
        _stall,
        b"",
        b"<html>",
        b'{"choices": [',
        {"choices": []},
        {"error": {"code": 502, "message": "x"}},
    ],
    ids=["dropped", "stalled", "empty", "html", "cut", "no choices", "error in a 200"],
)
def test_a_lost_answer_is_asked_for_again(server: Server, trouble: Any) -> None:
    """A dropped, stalled or mangled answer is no reply."""
    server.script += [trouble, completion("Edit 1.")]
    (reply,) = ask(judge_at(server, timeout_s=0.4), HELLO)
    assert reply.text == "Edit 1."


def test_retries_end(server: Server) -> None:
    """A server that is down is left alone after the agreed number of attempts, and the message says so."""
    server.script += [(503, {}, error("overloaded"))] * 9
    with pytest.raises(errors.JudgeUnavailable, match="overloaded") as caught:
        ask(judge_at(server, attempts=3), HELLO)
    assert len(server.served) == 3
    assert caught.value.scope == "session"


@pytest.mark.parametrize(
    ("status", "body", "kind", "scope", "words"),
    [
        (400, error("bad image"), errors.RequestRefused, "session", "bad image"),
        (
            422,
            {"detail": [{"msg": "field required"}]},
            errors.RequestRefused,
            "session",
            "field required",
        ),
        (401, error("wrong key"), errors.NotAuthorised, "run", "OPENAI_API_KEY"),
        (403, error("no access"), errors.NotAuthorised, "run", "no access"),
        (404, error("no such model", code="model_not_found"), errors.ModelNotFound, "run", "tiny"),
        (404, {"detail": "Not Found"}, errors.AddressNotFound, "run", "/v1"),
        (402, error("no credits"), errors.QuotaExhausted, "run", "no credits"),
        (
            429,
            error("no money", code="insufficient_quota"),
            errors.QuotaExhausted,
            "run",
            "no money",
        ),
        (413, b"too big", errors.PayloadTooLarge, "session", "0.0 MB.*--max-side"),
        (
            400,
            error("x", code="context_length_exceeded"),
            errors.RequestRefused,
            "session",
            "too long",
        ),
        (307, b"", errors.AddressNotFound, "run", "redirects"),
    ],
)
def test_what_cannot_pass_is_not_asked_again(
    server: Server, status: int, body: Any, kind: type[errors.JudgeError], scope: str, words: str
) -> None:
    """Each refusal stops the right thing at once, and says what to do."""
    server.script.append((status, {}, body))
    with pytest.raises(kind, match=words) as caught:
        ask(judge_at(server), HELLO)
    assert caught.value.scope == scope
    assert len(server.served) == 1


@pytest.mark.parametrize(
    "complaint",
    [
        error(
            "Unsupported value: 'temperature' does not support 0",
            param="temperature",
            code="unsupported_value",
        ),
        {"object": "error", "message": "temperature: Extra inputs are not permitted", "code": 400},
    ],
)
def test_a_refused_parameter_is_named(server: Server, complaint: Any) -> None:
    """The message says which parameter, and that leaving it out mends it; the whole run stops."""
    server.script.append((400, {}, complaint))
    with pytest.raises(errors.ParameterRefused, match="leave out temperature") as caught:
        ask(judge_at(server, temperature=0.0), HELLO)
    assert caught.value.scope == "run"


def test_a_413_sent_before_the_body_was_read_is_still_understood(
    pictures: Pictures, tmp_path: Path
) -> None:
    """Gateways answer a large body early and hang up; the size is named all the same."""
    Image.effect_noise((1024, 1024), 90).convert("RGB").save(tmp_path / "big.png")
    talk = Conversation().say("Look.", (pictures.get(tmp_path / "big.png"),) * 8)
    hung_up = asyncio.Event()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 413 Payload Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
        await writer.drain()
        await asyncio.sleep(0.05)  # the time of the answer on its way, as over a real network
        writer.transport.abort()
        hung_up.set()

    async def play() -> None:
        gateway = await asyncio.start_server(refuse, "127.0.0.1", 0)
        port = gateway.sockets[0].getsockname()[1]
        judge = make(f"tiny@http://127.0.0.1:{port}/v1", options=JudgeOptions(attempts=1))
        try:
            await judge.ask(talk)
        finally:
            await judge.close()
            gateway.close()
            await hung_up.wait()

    with pytest.raises(errors.PayloadTooLarge, match=r"\d\d\.\d MB"):
        asyncio.run(play())


def test_the_key_is_not_sent_to_another_host_on_a_redirect(server: Server) -> None:
    """A redirect is reported, not followed: neither key nor pictures go anywhere else."""
    with serving(Server()) as other:
        server.script.append((308, {"Location": f"{other.url}/chat/completions"}, b""))
        with pytest.raises(errors.AddressNotFound, match=r"127\.0\.0\.1"):
            ask(judge_at(server), HELLO)
        assert other.served == []


def test_the_key_is_shown_nowhere(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Neither repr, nor log, nor message, nor traceback holds the key, even when the server repeats it."""
    import traceback

    server.script += [
        (500, {}, error(f"key {KEY} crashed")),
        (401, {}, error(f"Incorrect API key: {KEY}")),
    ]
    judge = judge_at(server, temperature=1.0)
    with caplog.at_level(logging.DEBUG), pytest.raises(errors.NotAuthorised) as caught:
        ask(judge, HELLO)
    shown = (
        "".join(traceback.format_exception(caught.value))
        + caplog.text
        + repr(judge)
        + repr(vars(judge))
    )
    assert KEY not in shown + judge.name + repr(judge.parameters)
    assert "Incorrect API key: …" in str(caught.value)


def test_credentials_in_a_base_url_are_used_and_masked(server: Server) -> None:
    """A server behind a gate gets its password; nobody else sees it."""
    url = server.url.replace("http://", "http://me:hunter2@") + "?api-version=7"
    judge = make(f"tiny@{url}", options=JudgeOptions(attempts=1))
    assert judge.name == "openai/tiny"
    server.script.append((404, {}, {"detail": "Not Found"}))
    with pytest.raises(errors.AddressNotFound) as caught:
        ask(judge, HELLO)
    assert "hunter2" not in str(caught.value) + repr(judge)
    expected = base64.b64encode(b"me:hunter2").decode()
    assert server.served[0].headers["Authorization"] == f"Basic {expected}"


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_the_query_of_a_base_url_goes_with_every_request(
    server: Server, api: Any, pictures: Pictures, tmp_path: Path
) -> None:
    """Azure answers nothing without its api-version: questions and uploads alike."""
    options = JudgeOptions(api=api, attempts=1)
    shown = Conversation().say("Look.", (pictures.get(tmp_path / "1.png"),))
    ask(make(f"tiny@{server.url}?api-version=2024-10-21&x=a%20b", options=options), shown)
    assert len(server.served) == (1 if api == "chat" else 2)
    assert {one.query for one in server.served} == {"api-version=2024-10-21&x=a b"}


def test_without_a_key_openai_itself_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing key is said before anything is sent; a local server needs none."""
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(errors.NotAuthorised, match="OPENAI_API_KEY"):
        make("gpt-4o")
    assert make("llava@http://127.0.0.1:8000/v1").name == "openai/llava"


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("gpt-4o", "openai/gpt-4o"),
        ("gpt-4o@https://api.openai.com/v1/", "openai/gpt-4o"),
        ("google/gemini-2.5@001", "openai/google/gemini-2.5@001"),
        ("m@https://u:p@h.example:8443/v1?k=secret#x", "openai/m"),
        ("m@http://127.0.0.1:1/v1,http://127.0.0.1:2/v1", "openai/m"),
    ],
)
def test_a_judges_name_is_its_model_wherever_that_is_served(spec: str, name: str) -> None:
    """The name stands in every key and table: a server that moved is still the same judge."""
    assert make(spec).name == name


@pytest.mark.parametrize(
    "spec", ["", "@http://h/v1", "m@localhost:8000/v1", "m@http://", "m@http://h:port/v1"]
)
def test_a_judge_that_cannot_be_reached_as_written_is_refused(spec: str) -> None:
    """A mistyped address is said at once."""
    with pytest.raises(errors.JudgeFileError, match="openai/"):
        make(spec)


def test_parameters_hold_what_changes_answers_and_nothing_else() -> None:
    """How a question travels must not change its key in the ledger."""
    options = JudgeOptions(
        temperature=0.0, max_tokens=9, api="responses", rpm=5, timeout_s=1, key_env=""
    )
    judge = make("gpt-4o", options=options)
    assert judge.parameters == {"temperature": 0.0, "max_tokens": 9}


def test_the_log_names_requests_and_holds_no_picture(
    server: Server, pictures: Pictures, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Structured lines with request ids, none of them long."""
    server.script += [(500, {}, error("oops")), completion("Edit 1.")]
    with caplog.at_level(logging.DEBUG, "lmmscore"):
        ask(judge_at(server), Conversation().say("Look.", (pictures.get(tmp_path / "1.png"),)))
    assert "event=retry" in caplog.text
    assert "request_id=chatcmpl-1" in caplog.text
    assert "base64" not in caplog.text and max(map(len, caplog.text.splitlines())) < 400


def test_faults_on_a_third_of_all_requests_change_no_reply(
    pictures: Pictures, tmp_path: Path
) -> None:
    """Every session ends with the replies of a calm run; nothing is paid for again but what the faults destroyed."""
    shown = [pictures.get(tmp_path / f"{number}.png") for number in range(4)]

    async def session(judge: OpenAIJudge, number: int) -> list[str]:
        talk = Conversation()
        for turn in range(8):
            talk = talk.say(f"Session {number}, turn {turn}", (shown[turn],) if turn < 4 else ())
            talk = talk.hear((await judge.ask(talk)).text)
        return [message.text for message in talk.messages]

    async def play(url: str) -> list[list[str]]:
        judge = make(f"tiny@{url}", options=JudgeOptions(timeout_s=5), rng=random.Random(5))
        try:
            return await asyncio.gather(*(session(judge, number) for number in range(24)))
        finally:
            await judge.close()

    with serving(Server()) as calm:
        expected = asyncio.run(play(calm.url))
    with serving(Server(fault_share=0.3, seed=11)) as stormy:
        assert asyncio.run(play(stormy.url)) == expected
    assert len(stormy.faults) == 10, "every kind of fault was met"
    assert set(stormy.answered.values()) == {1}
    assert sum(stormy.answered.values()) == 24 * 8
    assert len(stormy.served) == 24 * 8 + sum(
        stormy.faults[kind] for kind in stormy.faults if kind != "late"
    )


def test_stopping_does_not_wait_for_what_only_waits(server: Server) -> None:
    """After Ctrl-C a question in flight is finished; one that waits to be asked again is not."""
    server.script += [(503, {"Retry-After": "60"}, error("down for a minute"))]
    server.delay_s = 0.3

    async def play() -> tuple[Any, ...]:
        judge = judge_at(server)
        waiting = asyncio.create_task(judge.ask(HELLO))
        while not judge.meter.retries:
            await asyncio.sleep(0.01)
        queued = asyncio.create_task(judge.ask(Conversation().say("Next?")))
        await asyncio.sleep(0)  # it runs as far as it can: into the queue
        judge.stop(errors.BudgetExhausted("stop here"))
        results = await asyncio.wait_for(asyncio.gather(waiting, queued, return_exceptions=True), 5)
        await judge.close()
        return tuple(results)

    assert [str(result) for result in asyncio.run(play())] == ["stop here", "stop here"]
    assert len(server.served) == 1


def test_a_judge_can_be_held_to_few_questions_at_once(server: Server) -> None:
    """A small server is not given more than it can take, however many sessions there are."""
    server.delay_s = 0.02
    ask(judge_at(server, concurrency=2), *(Conversation().say(str(number)) for number in range(8)))
    assert server.most_in_flight == 2


def test_the_turns_of_one_session_share_a_cache_and_sessions_do_not(
    pictures: Pictures, tmp_path: Path
) -> None:
    """All sessions open with the same words; what tells them apart is the first picture."""
    hello = Conversation().say("Hello.").hear("Hello.")
    talks = [hello.say("Look.", (pictures.get(tmp_path / f"{number}.png"),)) for number in (1, 2)]
    later = (
        talks[0]
        .hear("I see.")
        .say("And this?", (pictures.get(tmp_path / "3.png"),))
        .hear("Yes.")
        .say("So?")
    )
    assert _opening(later) is talks[0] and _opening(talks[0]) is talks[0]
    assert _opening(talks[0]).digest != _opening(talks[1]).digest
    assert _opening(HELLO) is HELLO


# Log-probabilities.

TOKENS = [
    {"token": "S_acc: ", "logprob": -0.01, "top_logprobs": []},
    {
        "token": "7",
        "logprob": -0.2,
        "top_logprobs": [{"token": "7", "logprob": -0.2}, {"token": "8", "logprob": -1.9}],
    },
]
KEPT = [{"at": 7, "token": "7", "logprob": -0.2, "top": [["7", -0.2], ["8", -1.9]]}]


def test_log_probabilities_of_score_tokens_are_asked_for_and_kept(server: Server) -> None:
    """Raw, beside the reply; those of ordinary words are not kept."""
    whole = completion("S_acc: 7")
    whole["choices"][0]["logprobs"] = {"content": TOKENS}
    server.script.append(whole)
    judge = judge_at(server, logprobs=True)
    (reply,) = ask(judge, HELLO)
    assert json.loads(reply.also)["logprobs"] == KEPT
    asked = server.served[0].body
    assert (asked["logprobs"], asked["top_logprobs"]) == (True, 20)
    assert judge.parameters == {"logprobs": True}, "a reply without them is no answer to this"


def test_log_probabilities_come_by_streams_and_by_responses_too(server: Server) -> None:
    """The same, whatever way they travel."""
    deltas: list[Any] = [
        {
            "choices": [
                {"index": 0, "delta": {"content": one["token"]}, "logprobs": {"content": [one]}}
            ]
        }
        for one in TOKENS
    ]
    deltas.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    events = "".join(f"data: {json.dumps(delta)}\n\n" for delta in deltas)

    async def stream(_: web.Request) -> web.Response:
        return web.Response(body=events.encode(), content_type="text/event-stream")

    part = {"type": "output_text", "text": "S_acc: 7", "logprobs": TOKENS}
    item = {"type": "message", "role": "assistant", "content": [part]}
    server.script += [stream, {"id": "r", "status": "completed", "output": [item]}]
    (streamed,) = ask(judge_at(server, logprobs=True, stream=True), HELLO)
    (kept,) = ask(judge_at(server, logprobs=True, api="responses"), HELLO)
    assert json.loads(streamed.also)["logprobs"] == KEPT
    assert json.loads(kept.also)["logprobs"] == KEPT
    assert server.served[1].body["include"] == ["message.output_text.logprobs"]


def test_a_server_that_gives_no_log_probabilities_is_no_trouble(server: Server) -> None:
    """There is simply nothing to keep."""
    (reply,) = ask(judge_at(server, logprobs=True), HELLO)
    assert "logprobs" not in json.loads(reply.also)
