"""Expected scores from the probabilities of a judge's words."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import pytest

from lmmscore.judges.openai import chat_reply
from lmmscore.parsing import read_reply
from lmmscore.parsing.read import expected_scores
from lmmscore.records import Reply
from lmmscore.scales import Factor, Scale

LOOK = Factor(key="look", scale=Scale(min=1, max=5, integers=True))


def token(said: str, **shares: float) -> dict[str, Any]:
    """Return a token as a server reports it; alternatives `_4=0.5` stand for the number 4."""
    tops = [
        {"token": name.removeprefix("_"), "logprob": math.log(share)}
        for name, share in shares.items()
    ]
    return {"token": said, "logprob": 0.0, "top_logprobs": tops}


def reply(*tokens: dict[str, Any]) -> Reply:
    text = "".join(each["token"] for each in tokens)
    return Reply(text, also=json.dumps({"logprobs": {"content": tokens}}))


def expected(answer: Reply, factor: Factor = LOOK) -> Fraction | None:
    reading = read_reply(answer, (factor,), 1)
    return expected_scores(answer, reading, (factor,)).get((1, factor.key))


def test_the_expected_score_is_the_mean_over_the_scale() -> None:
    """4 with 0.6 and 5 with 0.2, of what is on the scale: 4.25; words and numbers off the scale do not count."""
    answer = reply(token("look"), token(": "), token("4", _4=0.6, _5=0.2, _9=0.1, about=0.05))
    assert float(expected(answer) or 0) == pytest.approx(4.25)


def test_a_token_with_its_blank_is_the_same_number() -> None:
    """Tokenizers put the space before the number into its token."""
    answer = reply(token("look:"), token(" 4", **{" 4": 0.5, "_3": 0.5}))
    assert float(expected(answer) or 0) == pytest.approx(3.5)


def test_thinking_and_emoji_do_not_move_the_numbers() -> None:
    """What a judge thinks aloud is no part of its reply, and an emoji may come in two tokens."""
    halves = [
        {"token": r"\xf0\x9f", "bytes": [0xF0, 0x9F]},
        {"token": r"\x98\x80", "bytes": [0x98, 0x80]},
    ]
    tokens = [token("<think>5?</think>"), *halves, token(" look: "), token("4", _4=0.5, _3=0.5)]
    message = {"content": "<think>5?</think>😀 look: 4"}
    answer = chat_reply({"choices": [{"message": message, "logprobs": {"content": tokens}}]}, {})
    assert (answer.text, expected(answer)) == ("😀 look: 4", Fraction(7, 2))


@pytest.mark.parametrize(
    "answer",
    [
        Reply("look: 4"),
        Reply("look: 4", also='{"logprobs": null}'),
        Reply("look: 4", also='{"logprobs": {"content": [{"token": "other"}]}}'),
        reply(token("look"), token(": "), token("4")),
    ],
)
def test_without_probabilities_there_is_none(answer: Reply) -> None:
    """Nothing reported, or not about this text: no number is made up."""
    assert expected(answer) is None


def test_a_first_digit_that_may_go_on_leaves_it_open() -> None:
    """Where 10 is two tokens, a likely 1 may be either."""
    ten = Factor(key="look", scale=Scale(min=1, max=10, integers=True))
    split = reply(token("look"), token(": "), token("9", _9=0.6, _1=0.3))
    assert expected(split, ten) is None
    whole = reply(token("look"), token(": "), token("9", _9=0.6, _1=0.1, _10=0.3))
    assert float(expected(whole, ten) or 0) == pytest.approx(8.5)
