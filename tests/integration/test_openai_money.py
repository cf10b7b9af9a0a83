from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmmscore.conversation import Conversation, Message
from lmmscore.errors import BudgetExhausted, JudgeFileError
from lmmscore.images import Pictures, Recipe
from lmmscore.judges.config import JudgeOptions
from lmmscore.judges.limits import Prices, image_tokens
from lmmscore.judges.openai import make
from tests.loopback import Server, completion, error, serving

PRICES = Prices(input=10.0, output=100.0)
"""A loopback answer (1000 in, 50 out) then costs 1.5 cents."""


def options(**given: Any) -> JudgeOptions:
    return JudgeOptions(prices=PRICES, max_tokens=50, attempts=4, **given)


def test_a_run_stops_before_its_budget_is_passed() -> None:
    """However many sessions ask at once, no more is spent than allowed, and everyone is told why it stopped."""

    async def session(judge: Any, number: int) -> int:
        talk, answered = Conversation(), 0
        try:
            for turn in range(5):
                talk = talk.say(f"{number}.{turn} " + "word " * 400)
                talk = talk.hear((await judge.ask(talk)).text)
                answered += 1
        except BudgetExhausted:
            pass
        return answered

    async def play(url: str) -> tuple[int, float]:
        judge = make(f"tiny@{url}", options=options(budget_usd=0.40), rng=random.Random(1))
        answered = await asyncio.gather(*(session(judge, number) for number in range(16)))
        await judge.close()
        return sum(answered), judge.meter.cost_usd

    with serving(Server(delay_s=0.01)) as server:
        answered, cost = asyncio.run(play(server.url))
    assert answered == len(server.served)
    assert cost == pytest.approx(answered * 0.015)
    assert 0.30 < cost <= 0.40


def test_lost_answers_count_against_the_budget() -> None:
    """The server may have charged for an answer that never arrived; a cap that forgot it would be no cap."""

    async def play(url: str) -> Any:
        judge = make(f"tiny@{url}", options=options(budget_usd=5.0), rng=random.Random(1))
        reply = await judge.ask(Conversation().say("Hello"))
        await judge.close()
        return judge.meter, reply

    with serving(Server()) as server:
        server.script += [b'{"choices"', (500, {}, error("free")), completion("Yes.")]
        meter, reply = asyncio.run(play(server.url))
    assert reply.cost_usd == pytest.approx(0.015)
    assert meter.assumed_usd > 0.005
    assert meter.cost_usd == pytest.approx(0.015 + meter.assumed_usd)


def test_a_cap_holds_though_the_server_counts_more_than_any_formula_says(tmp_path: Path) -> None:
    """Sixteen sessions show a picture at once; one finds out what it costs before the others are let go."""
    Image.new("RGB", (64, 64)).save(tmp_path / "a.png")
    picture = Pictures(Recipe()).get(tmp_path / "a.png")

    async def play(url: str) -> float:
        given = options(budget_usd=1.0, image_tokens="openai-tiles")
        judge = make(f"tiny@{url}", options=given, rng=random.Random(1))
        asking = (judge.ask(Conversation().say(f"{number}", (picture,))) for number in range(16))
        await asyncio.gather(*asking, return_exceptions=True)
        await judge.close()
        return judge.meter.cost_usd

    usage = {"prompt_tokens": 25_000, "completion_tokens": 50}
    with serving(Server(delay_s=0.05, extra={"usage": usage})) as server:
        assert asyncio.run(play(server.url)) == pytest.approx(3 * 0.255)


def test_an_answer_without_a_count_does_not_hold_up_the_others(tmp_path: Path) -> None:
    """Where the server never counts there is nothing to wait for: all go at once, at the price assumed."""

    async def play(url: str) -> Any:
        judge = make(f"tiny@{url}", options=options(budget_usd=5.0), rng=random.Random(1))
        replies = await asyncio.gather(
            *(judge.ask(Conversation().say(f"{number}")) for number in range(16))
        )
        await judge.close()
        return judge.meter, replies

    async def held(_: Any) -> dict[str, Any]:
        while server.most_in_flight < 15:
            await asyncio.sleep(0.01)
        return {**completion("Fine."), "usage": None}

    with serving(Server(extra={"usage": None})) as server:
        server.script = [{**completion("Fine."), "usage": None}, *[held] * 15]
        meter, replies = asyncio.run(play(server.url))
    assert server.most_in_flight == 15
    assert {reply.cost_usd for reply in replies} == {None}
    assert meter.cost_usd == meter.assumed_usd > 16 * 0.005


def test_a_question_given_up_while_the_server_answers_counts_as_paid() -> None:
    """Ctrl-C does not undo what the server has begun."""

    async def play(url: str) -> float:
        judge = make(f"tiny@{url}", options=options(budget_usd=5.0), rng=random.Random(1))
        asking = asyncio.ensure_future(judge.ask(Conversation().say("Hello")))
        while not server.served:
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await judge.close()
        return judge.meter.assumed_usd

    with serving(Server(delay_s=1.0)) as server:
        assert asyncio.run(play(server.url)) > 0.005


def test_a_429_inside_a_200_slows_the_whole_pool_down() -> None:
    """Some servers answer 200 and put the refusal in the body; it means the same."""

    async def play(url: str) -> None:
        judge = make(f"tiny@{url}", options=options(), rng=random.Random(1))
        first = asyncio.ensure_future(judge.ask(Conversation().say("1")))
        while not judge.meter.retries:
            await asyncio.sleep(0.01)
        await asyncio.gather(first, judge.ask(Conversation().say("2")))
        await judge.close()

    with serving(Server()) as server:
        server.script.append((200, {"Retry-After": "0.5"}, error("slow down", code=429)))
        asyncio.run(play(server.url))
    first, *later = (served.arrived_s for served in server.served)
    assert len(later) == 2 and min(later) - first >= 0.5


def test_the_next_turn_of_a_session_goes_before_sessions_that_have_not_begun() -> None:
    """Neither a system message nor turns answered from the ledger make a session begun: nothing of it is cached."""
    begun = Conversation().say("first")
    system = Conversation().add(Message("system", "Be kind.")).say("system")
    recalled = Conversation().say("first").hear("Yes.").say("recalled")

    async def play(url: str) -> None:
        judge = make(f"tiny@{url}", options=options(concurrency=1), rng=random.Random(1))
        waiting = [begun, system, recalled, begun.hear("Yes.").say("next")]
        await asyncio.gather(*(judge.ask(conversation) for conversation in waiting))
        await judge.close()

    with serving(Server(delay_s=0.2)) as server:
        asyncio.run(play(server.url))
    asked = [str(served.body["messages"][-1]["content"]) for served in server.served]
    order = [
        next(word for word in ("first", "next", "system", "recalled") if word in text)
        for text in asked
    ]
    assert order == ["first", "next", "system", "recalled"]


def test_a_budget_without_prices_is_refused() -> None:
    """A cap that cannot be kept must not be promised."""
    with pytest.raises(JudgeFileError, match=r"prices.*judges\.yaml"):
        make("tiny@http://127.0.0.1:1/v1", options=JudgeOptions(budget_usd=1.0))


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        ("gpt-4o", (1024, 1024), "high", 765),
        ("gpt-4o", (2048, 4096), "high", 1105),
        ("gpt-4o", (4096, 8192), "low", 85),
        ("gpt-4o-mini", (512, 512), None, 2833 + 5667),
        ("gpt-4.1-mini", (1024, 1024), None, round(1024 * 1.62)),
        ("o4-mini", (1800, 2400), None, round(1452 * 1.72)),
        ("claude-sonnet-4-20250514", (1000, 1000), None, 1334),
        ("gemini-2.5-pro", (384, 384), None, 258),
        ("gemini-2.5-pro", (960, 540), None, 6 * 258),
    ],
)
def test_picture_tokens_follow_the_published_examples(
    model: str, size: tuple[int, int], detail: str | None, tokens: int
) -> None:
    """The providers' own worked examples come out as they print them."""
    counted = image_tokens(model, *size, detail)
    assert counted.tokens == pytest.approx(tokens, abs=1) and not counted.guess


def test_a_guess_is_called_a_guess() -> None:
    """For a model without a published formula the number says that it is a guess."""
    assert image_tokens("some-local-model", 512, 512).guess


def test_quotas_count_pictures_before_they_are_sent(tmp_path: Path) -> None:
    """With --tpm, the second question waits although the first one's text was short: its picture was not."""
    Image.new("RGB", (512, 512)).save(tmp_path / "a.png")
    picture = Pictures(Recipe()).get(tmp_path / "a.png")

    async def play(url: str) -> float:
        judge = make(f"gpt-4o@{url}", options=JudgeOptions(tpm=60_000, max_tokens=10))
        start = asyncio.get_running_loop().time()
        for number in range(2):
            await judge.ask(Conversation().say(f"{number}", (picture,) * 4))
        await judge.close()
        return asyncio.get_running_loop().time() - start

    with serving(Server()) as server:
        assert asyncio.run(play(server.url)) > 0.5
