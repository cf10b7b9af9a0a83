from __future__ import annotations

import base64
import io
import itertools
import json
import random
import re
import ssl
import time
from collections.abc import Callable
from typing import Any

import pytest
import trustme
from aiohttp import web
from click.testing import CliRunner
from PIL import Image

from lmmscore.cli import lmmscore
from lmmscore.errors import JudgeUnavailable, NotTrusted
from lmmscore.judges.config import JudgeOptions
from lmmscore.judges.openai import make
from lmmscore.judges.trials import COLOURS, WORDS, colours_in, draw_pair, hurried, names_exactly
from tests.loopback import Server, completion, error, serving, until_hung_up

Messages = list[dict[str, Any]]


def colour_of(data: bytes) -> str:
    """Look at a picture the way a judge would."""
    pixel = Image.open(io.BytesIO(data)).convert("RGB").getpixel((40, 40))
    return next(name for name, value in COLOURS.items() if value == pixel)


def picture_in(part: dict[str, Any], files: dict[str, bytes]) -> bytes:
    """The bytes of a picture, be it inside the question or in a file uploaded before."""
    if "file_id" in part:
        form = files[part["file_id"]]
        return form[form.index(b"\x89PNG") :]
    url = part["image_url"]
    return base64.b64decode((url if isinstance(url, str) else url["url"]).partition("base64,")[2])


def seeing(messages: Messages, files: dict[str, bytes] | None = None) -> str:
    """A judge that really looks, remembers, and writes JSON when asked to."""
    said = [one["content"] for one in messages if one["role"] == "user"]
    parts = [part for content in said if isinstance(content, list) for part in content]
    colours = [
        colour_of(picture_in(part, files or {})) for part in parts if "image" in part["type"]
    ]
    word = re.search("|".join(WORDS), json.dumps(said))
    last = said[-1][-1]["text"] if isinstance(said[-1], list) else said[-1]
    if "the word ready" in last:
        return "ready"
    if "three words" in last:
        return ", ".join([*colours, word[0] if word else "what word?"])
    if "Which word" in last:
        return word[0] if word else "None that I know of."
    return " ".join(colours) if colours else '{"score": 7}'


def server_with(judge: Callable[..., str] = seeing, **options: Any) -> Server:
    """A server whose judge has its uploaded files at hand."""
    server = Server(**options)
    server.reply = lambda messages: judge(messages, server.files)
    return server


def check(*words: str) -> Any:
    return CliRunner().invoke(lmmscore, ["judge", "check", *words], catch_exceptions=False)


def findings_of(result: Any) -> dict[str, dict[str, Any]]:
    return {row["what"]: row for row in json.loads(result.stdout)["findings"]}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden-in-the-test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_a_judge_that_sees_and_remembers_passes() -> None:
    """The check says what works, with the exact model that answered, and on the side what it asks."""
    with serving(server_with(apis=frozenset({"chat"}))) as server:
        result = check(f"openai/tiny@{server.url}")
    assert result.exit_code == 0, result.output
    lines = {re.split(r"  +", line)[0]: line for line in result.stdout.splitlines()}
    assert " yes " in lines["sees images"] and " yes " in lines["remembers"]
    assert "tiny-2025-01-01" in lines["model"] and "fp_1" in lines["fingerprint"]
    assert "1000 in, 50 out" in lines["reports usage"]
    assert " yes " in lines["structured output"]
    assert lines["Responses API"].split(maxsplit=2)[2] == "NO   the server has none"
    assert re.search(
        r"^asking for the colours of two pictures … \d+\.\d s$", result.stderr, re.MULTILINE
    )
    assert "sk-hidden" not in result.output


def test_a_blind_judge_is_found_out() -> None:
    """A judge that cannot see would score edits all the same; the check asks for a colour it can verify."""
    with serving(Server(reply=lambda _: "Cyan and beige, I believe.")) as server:
        result = check(f"openai/tiny@{server.url}", "--json")
    assert result.exit_code == 1
    findings = findings_of(result)
    assert findings["sees images"]["works"] is False and findings["remembers"]["works"] is False
    assert "not shown to see: it said 'Cyan and beige" in findings["sees images"]["detail"]
    assert "not fit to judge images" in result.stderr


def test_responses_keep_what_was_shown_and_said() -> None:
    """The second turn sends neither the pictures nor the word again, and both are known."""
    with serving(server_with()) as server:
        result = check(f"openai/tiny@{server.url}", "--json")
    assert result.exit_code == 0, result.output
    found = {
        what: row["works"]
        for what, row in findings_of(result).items()
        if what.startswith("Responses")
    }
    assert found == {
        "Responses API": True,
        "Responses images": True,
        "Responses memory": True,
        "Responses files": True,
    }
    last = server.served[-1].body
    assert (
        last["previous_response_id"]
        and len(last["input"]) == 1
        and "input_image" not in json.dumps(last)
    )


def forgetful(messages: Messages, files: dict[str, bytes]) -> str:
    """A judge that ignores `previous_response_id`; Chat Completions bring it the history."""
    return seeing(messages if "type" not in messages[0] else messages[-1:], files)


def without_files(messages: Messages, files: dict[str, bytes]) -> str:
    """A judge that takes files and never looks at them."""
    seen = seeing(messages, files)
    return seen if "," not in seen else f"no picture, {seen.rpartition(', ')[2]}"


@pytest.mark.parametrize(
    ("judge", "images", "memory", "said"),
    [
        (forgetful, None, False, "each turn without those before it"),
        (without_files, False, True, "not shown to see pictures"),
    ],
)
def test_responses_that_would_spoil_a_run_do_not_pass(
    judge: Callable[..., str], images: bool | None, memory: bool, said: str
) -> None:
    """An API that answers but forgets the turn before, or the pictures in it, would be judged by in silence."""
    with serving(server_with(judge)) as server:
        asked = check(f"openai/tiny@{server.url}", "--json")
        relied_on = check(f"openai/tiny@{server.url}", "--api", "responses", "--json")
    found = findings_of(asked)
    assert found["Responses API"]["works"] is False and said in found["Responses API"]["detail"]
    assert (
        found["Responses images"]["works"] is images
        and found["Responses memory"]["works"] is memory
    )
    assert asked.exit_code == 0, "Chat Completions work, and are what a run would use"
    assert relied_on.exit_code == 1


def test_a_server_that_loses_conversations_saves_nothing() -> None:
    """The history is sent again, so a run would be judged rightly; the finding says what is not gained."""
    with serving(server_with(lose_state_after=1)) as server:
        found = findings_of(check(f"openai/tiny@{server.url}", "--json"))
    assert (
        found["Responses API"]["works"] is True
        and "nothing is saved" in found["Responses API"]["detail"]
    )
    assert (
        found["Responses memory"]["works"] is False and found["Responses images"]["works"] is True
    )


def test_responses_without_files_say_so() -> None:
    """Pictures travel inside the first question and are still known in the second."""
    with serving(server_with(apis=frozenset({"chat", "responses"}))) as server:
        found = findings_of(check(f"openai/tiny@{server.url}", "--json"))
    assert found["Responses API"]["works"] is True
    assert (
        found["Responses files"]["works"] is False
        and "no files (404)" in found["Responses files"]["detail"]
    )


@pytest.mark.parametrize(
    "said",
    [
        "probably red, green, blue, yellow, black or white",
        "no images were shared, so I cannot tell whether they are black and white or coloured",
        "I'd need to see the pictures: red? green? blue?",
        "The shared, blackened and evergreen ones.",
        "",
    ],
)
def test_a_guess_is_no_evidence_of_sight(said: str) -> None:
    """Only whole words count, and whoever names more colours than were shown has not seen."""
    pairs = [draw_pair(random.Random(seed)) for seed in range(2000)]
    assert len(set(pairs)) == 70, "every pair but black with white is drawn"
    assert not any(names_exactly(said, pair) for pair in pairs)


@pytest.mark.parametrize(
    "said",
    [
        "The first is red, the second image is blue.",
        "Red and blue",
        "**Red**, **blue**",
        "red → blue",
        "1. Red\n2. Blue",
        "red/blue",
        '{"first": "RED", "second": "navy blue"}',
        "First image: bright red. Second image: blue.\n\nRed, blue",
    ],
)
def test_the_ways_models_put_it_are_understood(said: str) -> None:
    """A judge that sees is not turned away for its manners, nor believed when it has the order wrong."""
    assert names_exactly(said, ("red", "blue"))
    others = [pair for pair in itertools.permutations(COLOURS, 2) if pair != ("red", "blue")]
    assert not any(names_exactly(said, pair) for pair in others)


def test_another_word_for_a_colour_is_that_colour() -> None:
    """American and British spelling, and the two names of purple."""
    assert colours_in("Gray and violet") == colours_in("grey, PURPLE") == ["grey", "purple"]


def test_a_second_turn_that_fails_is_a_finding_beside_the_others() -> None:
    """What the first turn showed is not lost."""

    async def first(request: web.Request) -> dict[str, Any]:
        return completion(seeing((await request.json())["messages"]))

    with serving(server_with(script=[first, (400, {}, error("one turn only"))])) as server:
        result = check(f"openai/tiny@{server.url}", "--json")
    found = findings_of(result)
    assert found["sees images"]["works"] is True and found["structured output"]["works"] is True
    assert found["remembers"]["works"] is False and "one turn only" in found["remembers"]["detail"]
    assert result.exit_code == 1 and "remembers failed" in result.stderr


def test_what_would_stop_a_run_ends_the_check() -> None:
    """No key, no money: the other questions would meet the same, and what was found is still printed."""

    async def first(request: web.Request) -> dict[str, Any]:
        return completion(seeing((await request.json())["messages"]))

    with serving(server_with(script=[first, (402, {}, error("no money"))])) as server:
        result = check(f"openai/tiny@{server.url}")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("answers") and "no money" in lines[-1] and len(server.served) == 2
    assert result.exit_code == 1


async def hang(request: web.Request) -> None:
    await until_hung_up(request)


@pytest.mark.parametrize(
    ("answer", "options", "sent"),
    [
        (hang, ("--timeout", "0.3"), 2),
        (b"<html>Welcome</html>", (), 2),
        ((429, {"Retry-After": "60"}, error("later")), ("--timeout", "0.1"), 1),
    ],
)
def test_a_server_that_gives_no_answer_is_soon_given_up(
    answer: Any, options: tuple[str, ...], sent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quick look: two attempts, and no long wait that the server asks for."""
    monkeypatch.setattr("lmmscore.judges.trials.GRACE_S", 0.5)
    began_s = time.monotonic()
    with serving(Server(script=[answer] * 20)) as server, pytest.raises(JudgeUnavailable):
        check(f"openai/tiny@{server.url}", *options)
    assert time.monotonic() - began_s < 8
    assert len(server.served) == sent


def test_a_certificate_that_is_not_trusted_is_named() -> None:
    """The server is running; what is missing is trust."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with serving(Server(), tls=context) as server, pytest.raises(NotTrusted, match="SSL_CERT_FILE"):
        check(f"openai/tiny@{server.url}")


def test_a_check_is_short_of_patience_unless_told_otherwise() -> None:
    """A run may wait long for a reply; whoever tries a judge out watches."""
    assert (
        hurried(JudgeOptions(), None).timeout_s == 60
        and hurried(JudgeOptions(), None).attempts == 2
    )
    assert hurried(JudgeOptions(timeout_s=5, attempts=1), None) == JudgeOptions(
        timeout_s=5, attempts=1
    )
    assert hurried(JudgeOptions(), 500).timeout_s == 500


def test_the_server_that_is_asked_is_shown_wherever_it_was_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The judge is its model; which server was tried out is said beside it, also from OPENAI_BASE_URL."""
    with serving(server_with()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = check("openai/tiny", "--json")
    found = json.loads(result.stdout)
    assert found["judge"] == "openai/tiny" == make("tiny").name
    assert {row["server"] for row in found["findings"]} == {server.url}
    assert result.stderr.startswith(f"openai/tiny at {server.url}, ")


def test_every_server_is_asked_and_differences_are_said() -> None:
    """Two servers that answer as different models would judge one run by two measures."""
    one, two = server_with(), server_with()
    two.extra = {"model": "tiny-other"}
    with serving(one), serving(two):
        result = check(f"openai/tiny@{one.url},{two.url}")
        alike = check(f"openai/tiny@{one.url},{one.url.replace('127.0.0.1', 'localhost')}")
    assert result.exit_code == 0
    assert one.served and two.served
    assert f"servers differ in model: tiny-2025-01-01 ({one.url}); tiny-other ({two.url})" in (
        result.stderr
    )
    assert "servers differ" not in alike.stderr
    assert [f"{each.url}:" in result.stdout for each in (one, two)] == [True, True]


def test_one_server_that_cannot_see_among_several_fails_the_check() -> None:
    """A session may come to any of them."""
    one, blind = server_with(), server_with()
    blind.reply = lambda _: "I see no picture."
    with serving(one), serving(blind):
        result = check(f"openai/tiny@{one.url},{blind.url}")
    assert result.exit_code == 1
    assert f"sees images at {blind.url}" in result.stderr


def test_one_budget_holds_for_the_whole_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """The questions are asked by several judges in turn, and none starts counting anew."""
    monkeypatch.chdir(tmp_path)
    with serving(server_with()) as server:
        (tmp_path / "judges.yaml").write_text(
            f"judges: {{dear: {{model: tiny, base_url: '{server.url}', parameters: {{max_tokens: 50}}, "
            f"prices: {{input: 1000, output: 0, as_of: 2026-01-01}}}}}}"
        )
        result = check("dear", "--budget", "7")
    # Each answer counts 1000 tokens, so 1 USD; a question about two pictures is reckoned to cost about 4.
    last = result.stdout.splitlines()[-1]
    assert last.startswith("Responses API      NO") and "3.00 of 7.00 USD spent" in last
    assert (
        server.paths().count("/v1/chat/completions") == 3 and "/v1/responses" not in server.paths()
    )
