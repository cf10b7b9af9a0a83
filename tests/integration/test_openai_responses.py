from __future__ import annotations

import asyncio
import logging
import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmmscore import errors
from lmmscore.conversation import Conversation
from lmmscore.images import Picture, Pictures, Recipe
from lmmscore.judges.config import JudgeOptions
from lmmscore.judges.openai import OpenAIJudge, make
from lmmscore.records import Reply
from tests.loopback import Server, error, serving


@pytest.fixture
def shown(tmp_path: Path) -> list[Picture]:
    pictures = Pictures(Recipe())
    for number in range(6):
        image = Image.effect_noise((96, 96), 10 + number * 20).convert("RGB")
        image.save(tmp_path / f"{number}.png")
    return [pictures.get(tmp_path / f"{number}.png") for number in range(6)]


def play(server: Server, shown: list[Picture], **given: Any) -> tuple[OpenAIJudge, list[Reply]]:
    """Show one picture a turn, and return the judge and what it said."""
    judge = make(
        f"tiny@{server.url}", options=JudgeOptions(attempts=2, **given), rng=random.Random(1)
    )

    async def session() -> list[Reply]:
        talk, replies = Conversation(), []
        for number, picture in enumerate(shown):
            talk = talk.say(f"Edit {number}", (picture,))
            replies.append(await judge.ask(talk))
            talk = talk.hear(replies[-1].text)
        await judge.close()
        return replies

    return judge, asyncio.run(session())


def test_each_picture_is_uploaded_once_and_each_turn_sends_only_what_is_new(
    shown: list[Picture],
) -> None:
    """N pictures travel N times, not N²/2 times, and the server answers as if it had seen the whole history."""
    with serving(Server(reply=lambda messages: str(len(messages)))) as server:
        judge, replies = play(server, shown, api="responses", temperature=0.0, max_tokens=90)
    assert [reply.text for reply in replies] == ["1", "3", "5", "7", "9", "11"]
    assert server.paths() == ["/v1/files", "/v1/responses"] * 6
    turns = [one.body for one in server.served if one.path == "/v1/responses"]
    assert [len(turn["input"]) for turn in turns] == [1] * 6
    assert [turn.get("previous_response_id") for turn in turns] == [None, *list(server.states)[:5]]
    content = turns[3]["input"][0]["content"]
    assert (content[0]["type"], content[0]["file_id"]) == ("input_image", "file-4")
    assert content[1] == {"type": "input_text", "text": "Edit 3"}
    assert (turns[0]["temperature"], turns[0]["max_output_tokens"], turns[0]["store"]) == (
        0.0,
        90,
        True,
    )
    assert judge.meter.files_uploaded == 6
    assert (replies[0].usage.prompt_tokens, replies[0].usage.cached_tokens) == (900, 300)


def test_questions_of_a_batch_upload_each_picture_once(shown: list[Picture]) -> None:
    """A batch asks about the same source image as often as there are edits."""

    async def bodies(url: str) -> list[bytes]:
        judge = make(f"tiny@{url}", options=JudgeOptions(api="responses"))
        asked = [Conversation().say("Source", (shown[0],)).say(f"Edit {n}") for n in range(3)]
        made = [await judge.batch_body(each) for each in asked]
        await judge.close()
        return made

    with serving(Server()) as server:
        made = asyncio.run(bodies(server.url))
    assert server.paths() == ["/v1/files"]
    assert all(b'"file_id":"file-1"' in body for body in made)


def test_uploads_carry_the_picture_and_no_name(shown: list[Picture]) -> None:
    """The judge must not learn from a file's name which method made an edit."""
    with serving(Server()) as server:
        play(server, shown[:1], api="responses")
    upload = server.served[0].body
    assert shown[0].data() in upload
    assert b'filename="picture.png"' in upload and b"0.png" not in upload
    assert b"vision" in upload


def test_lost_state_is_made_good_once_and_said(
    shown: list[Picture], caplog: pytest.LogCaptureFixture
) -> None:
    """When the server forgets the conversation, the history is sent once more, visibly; then on as before."""
    forgetful = Server(reply=lambda messages: str(len(messages)), lose_state_after=3)
    with serving(forgetful) as server, caplog.at_level(logging.WARNING, "lmmscore"):
        judge, replies = play(server, shown, api="responses")
    assert [reply.text for reply in replies] == ["1", "3", "5", "7", "9", "11"]
    turns = [one.body for one in server.served if one.path == "/v1/responses"]
    assert [len(turn["input"]) for turn in turns] == [1, 1, 1, 1, 7, 1, 1]
    assert any("lost" in notice for notice in judge.meter.notices)
    assert "history was sent once more" in caplog.text


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        (400, {"message": "No such File object: file-1"}),
        (404, {"message": "No such File object: file-1"}),
        (400, {"message": "The file with ID 'file-1' could not be found."}),
        (400, {"message": "Gone", "code": "file_not_found"}),
        (400, {"message": "Gone", "param": "input[0].content[0].file_id"}),
    ],
)
def test_a_lost_file_is_sent_again_whatever_it_is_called(
    shown: list[Picture], status: int, fields: Any
) -> None:
    """The picture is uploaded once more; the session goes on by Responses."""
    with serving(Server(reply=lambda messages: str(len(messages)))) as server:
        server.script += [{"id": "file-1"}, (status, {}, {"error": fields})]
        _, replies = play(server, shown[:2], api="responses")
    assert [reply.text for reply in replies] == ["1", "3"]
    assert server.paths()[:4] == ["/v1/files", "/v1/responses"] * 2


def test_a_server_that_loses_every_file_gets_pictures_inline(shown: list[Picture]) -> None:
    """It is told twice, then the pictures travel inside the questions, visibly."""
    lost = (404, {}, {"error": {"message": "No such File object"}})
    with serving(Server(reply=lambda messages: str(len(messages)))) as server:
        server.script += [{"id": "file-1"}, lost, {"id": "file-2"}, lost]
        judge, replies = play(server, shown[:2], api="responses")
    assert [reply.text for reply in replies] == ["1", "3"]
    assert server.paths().count("/v1/files") == 2
    assert any("loses the files" in notice for notice in judge.meter.notices)


def test_a_server_that_ignores_what_came_before_is_sent_the_history(shown: list[Picture]) -> None:
    """It answers the question alone, and says so by what it echoes: that is no answer to the conversation."""
    with serving(Server(reply=lambda messages: str(len(messages)), keeps=False)) as server:
        judge, replies = play(server, shown[:3], api="responses")
    assert [reply.text for reply in replies] == ["1", "3", "5"]
    turns = [one.body for one in server.served if one.path == "/v1/responses"]
    assert [len(turn["input"]) for turn in turns] == [1, 1, 3, 5]
    assert any("history" in notice for notice in judge.meter.notices)


def test_an_upload_that_failed_is_tried_again_when_next_needed(shown: list[Picture]) -> None:
    """One bad minute of the server does not spoil a picture for the rest of the run."""
    bad = (500, {}, {"error": "busy"})

    async def twice(judge: OpenAIJudge) -> str:
        talk = Conversation().say("Look.", (shown[0],))
        with pytest.raises(errors.JudgeUnavailable):
            await judge.ask(talk)
        text = (await judge.ask(talk)).text
        await judge.close()
        return text

    with serving(Server(script=[bad, bad], reply=lambda messages: str(len(messages)))) as server:
        options = JudgeOptions(attempts=2, api="responses")
        assert asyncio.run(twice(make(f"tiny@{server.url}", options=options))) == "1"


def test_a_server_without_responses_is_asked_by_chat(shown: list[Picture]) -> None:
    """The answers are the same; the user is told once."""
    with serving(
        Server(apis=frozenset({"chat"}), reply=lambda messages: str(len(messages)))
    ) as server:
        judge, replies = play(server, shown[:3], api="responses")
    assert [reply.text for reply in replies] == ["1", "3", "5"]
    assert server.paths().count("/v1/responses") == 1
    assert server.paths().count("/v1/chat/completions") == 3
    assert len(judge.meter.notices) == 2


def test_a_server_without_files_gets_pictures_inline(shown: list[Picture]) -> None:
    """Server-side state still saves sending them again."""
    with serving(Server(apis=frozenset({"responses"}))) as server:
        play(server, shown[:3], api="responses")
    turns = [one.body for one in server.served if one.path == "/v1/responses"]
    assert all(
        turn["input"][0]["content"][0]["image_url"].startswith("data:image/png") for turn in turns
    )
    assert [len(turn["input"]) for turn in turns] == [1, 1, 1]
    assert server.paths().count("/v1/files") == 1


def test_bytes_grow_as_n_not_as_n_squared(shown: list[Picture]) -> None:
    """Twice the pictures cost about twice the bytes by Responses, and far more by Chat."""
    sent = {}
    for api in ("chat", "responses"):
        for count in (3, 6):
            with serving(Server()) as server:
                judge, _ = play(server, shown[:count], api=api)
            sent[api, count] = judge.meter.bytes_sent
    assert sent["responses", 6] < 2.3 * sent["responses", 3]
    assert sent["chat", 6] > 3 * sent["chat", 3]


def test_the_key_of_a_question_does_not_depend_on_how_it_travels() -> None:
    """A ledger filled by one way answers for the other."""
    chat = make("m@http://127.0.0.1:1/v1", options=JudgeOptions(temperature=0))
    other = make("m@http://127.0.0.1:1/v1", options=JudgeOptions(temperature=0, api="responses"))
    assert (chat.name, chat.parameters) == (other.name, other.parameters)


def test_outcomes_of_responses_are_recorded_as_they_came() -> None:
    """Cut short, filtered, refused, thought and called: each leaves the same trace as by Chat."""
    message = {"type": "message", "role": "assistant"}

    def body(*output: Any, **fields: Any) -> dict[str, Any]:
        return {
            "id": "resp_1",
            "model": "m",
            "status": "completed",
            "output": list(output),
            **fields,
        }

    def said(text: str) -> dict[str, Any]:
        return {**message, "content": [{"type": "output_text", "text": text}]}

    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
    script = [
        body(
            said("The first"),
            status="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
        ),
        body(status="incomplete", incomplete_details={"reason": "content_filter"}),
        body({**message, "content": [{"type": "refusal", "refusal": "No."}]}),
        body(thought, said("8/10")),
        body({"type": "function_call", "name": "f", "arguments": "{}"}),
    ]
    replies = []
    for step in script:
        with serving(Server(script=[step])) as server:
            judge = make(f"tiny@{server.url}", options=JudgeOptions(attempts=1, api="responses"))
            replies.append(asyncio.run(_ask_once(judge)))
    cut, filtered, refused, reasoned, called = replies
    assert (cut.text, cut.finish) == ("The first", "length")
    assert (filtered.text, filtered.finish) == ("", "content_filter")
    assert refused.refusal == "No."
    assert (reasoned.text, reasoned.reasoning) == ("8/10", "Hm.")
    assert called.finish == "tool_calls" and "function_call" in called.also


def test_a_missing_model_is_not_taken_for_a_missing_api() -> None:
    """Falling back would only ask the wrong model by another way."""
    with serving(
        Server(script=[(404, {}, error("The model `tiny` does not exist", code="model_not_found"))])
    ) as server:
        judge = make(f"tiny@{server.url}", options=JudgeOptions(attempts=1, api="responses"))
        with pytest.raises(errors.ModelNotFound, match="tiny"):
            asyncio.run(_ask_once(judge))
    assert len(server.served) == 1


def test_a_seed_cannot_travel_by_responses() -> None:
    """What cannot be sent is refused, rather than recorded as if it had been."""
    with pytest.raises(errors.JudgeFileError, match="seed"):
        make("m@http://127.0.0.1:1/v1", options=JudgeOptions(seed=1, api="responses"))


async def _ask_once(judge: OpenAIJudge) -> Reply:
    try:
        return await judge.ask(Conversation().say("Which?"))
    finally:
        await judge.close()
