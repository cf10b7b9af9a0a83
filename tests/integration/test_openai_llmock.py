"""Against llmock, a server of somebody else's that breaks on purpose and grades how its client behaved."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import pytest

from lmmscore import errors
from lmmscore.conversation import Conversation
from lmmscore.judges.config import JudgeOptions
from lmmscore.judges.openai import make
from lmmscore.records import Reply

pytest.importorskip("llmock")


def ask(count: int = 1, model: str = "gpt-4o", **options: Any) -> list[Reply]:
    judge = make(model, options=JudgeOptions(**options), rng=random.Random(1))

    async def play() -> list[Reply]:
        try:
            asked = [
                judge.ask(Conversation().say(f"Describe edit {number}.")) for number in range(count)
            ]
            return list(await asyncio.gather(*asked))
        finally:
            await judge.close()

    return asyncio.run(play())


def test_rate_limits_are_waited_out(llmock: Any) -> None:
    """Retry-After is honoured to the letter: the server's verdict has no complaint, not even a warning."""
    llmock.rate_limit(times=2, retry_after=0.6)
    started = time.monotonic()
    (reply,) = ask()
    assert reply.text and reply.usage.prompt_tokens
    assert time.monotonic() - started > 1.2
    llmock.assert_resilient(strict=True)


def test_server_errors_are_outlived(llmock: Any) -> None:
    """Errors in a row are met with growing waits."""
    llmock.fail(500).fail(503).fail(502)
    (reply,) = ask()
    assert reply.text
    assert [record.status for record in llmock.requests] == [500, 503, 502, 200]
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, errors.RequestRefused), (401, errors.NotAuthorised), (404, errors.ModelNotFound)],
)
def test_what_cannot_pass_is_not_repeated(llmock: Any, status: int, kind: type[Exception]) -> None:
    """One request, one clear error."""
    llmock.fail(status, times=None)
    with pytest.raises(kind):
        ask()
    assert len(llmock.requests) == 1
    llmock.assert_resilient(strict=True)


def test_a_conversation_too_long_is_said_to_be(llmock: Any) -> None:
    """The context overflow of a real provider is named, with what shrinks a question."""
    llmock.context_overflow()
    with pytest.raises(errors.RequestRefused, match="too long"):
        ask()


def test_a_stalled_answer_is_asked_for_again(llmock: Any) -> None:
    """Without streaming, the whole answer has a deadline."""
    llmock.delay(3.0)
    (reply,) = ask(timeout_s=0.7)
    assert reply.text


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "corrupt"])
def test_a_broken_stream_is_no_answer(llmock: Any, fault: str) -> None:
    """Dropped, cut short in silence or mangled: the part that came is thrown away and asked for again."""
    getattr(llmock, fault)(after_chunks=2)
    (broken,) = ask(stream=True)
    (whole,) = ask(stream=True)
    assert broken.text == whole.text and broken.finish == "stop"
    assert len(llmock.requests) == 3, "the broken one was asked for again"
    # A mangled stream is read to its end before it is thrown away, which the verdict takes for acceptance.
    llmock.assert_resilient(strict=fault != "corrupt")


def test_a_stream_that_falls_silent_is_left(llmock: Any) -> None:
    """A silence longer than allowed counts as a lost answer."""
    llmock.stall(after_chunks=1, seconds=20)
    started = time.monotonic()
    (reply,) = ask(stream=True, stall_s=0.5)
    assert reply.text and time.monotonic() - started < 10
    llmock.assert_resilient(strict=True)


def test_a_stream_says_the_same_as_a_whole_answer(llmock: Any) -> None:
    """How an answer travels does not change it."""
    (whole,), (streamed,) = ask(), ask(stream=True)
    assert (streamed.text, streamed.finish, streamed.model) == (
        whole.text,
        whole.finish,
        whole.model,
    )


def test_a_real_quota_is_kept_to_without_storms(llmock: Any) -> None:
    """Many sessions at once against a small quota: all are answered, none hammers the server."""
    llmock.limits(rpm=240)
    replies = ask(count=24)
    assert all(reply.text for reply in replies)
    llmock.assert_resilient()
    refused = sum(record.status == 429 for record in llmock.requests)
    assert refused <= 6, "after the first refusals the announced quota is respected"


def test_responses_are_understood(llmock: Any) -> None:
    """The same judge by the other API."""
    (reply,) = ask(api="responses")
    assert reply.text and reply.usage.prompt_tokens
