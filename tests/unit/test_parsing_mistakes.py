"""Mistakes that real tools make when they read replies, each with a test that ours does not."""

from __future__ import annotations

import pytest

from lmmscore.parsing import merged, read_reply, read_text
from lmmscore.records import Outcome, Reply
from tests.reply_layouts import BINARY, FOUR, TWELVE

REFUSAL = "I'm sorry, but I can't evaluate this image."


def test_no_random_number_on_refusal():
    """A refusal read a hundred times gives a hundred times nothing."""
    readings = [read_reply(Reply(REFUSAL), FOUR, 1) for _ in range(100)]
    assert all(
        reading.scores == {} and reading.faults[0].outcome is Outcome.REFUSED
        for reading in readings
    )


def test_ten_is_more_than_eight():
    """Scores are numbers, not strings: "10" is not below "8"."""
    scores = read_text('{"acc": "10", "pre": "8", "qua": "9", "real": "1"}', FOUR, 1).scores
    assert min(scores.values()) == 1
    assert max(scores.values()) == 10
    assert scores[1, "acc"] > scores[1, "pre"]


def test_a_fraction_is_one_number():
    """4/5 is not a 4 and a 5; on a scale to 10 it is no score at all, and on a scale to 7 neither."""
    for factors in (FOUR[:1], TWELVE[:1]):
        reading = read_text(f"{factors[0].key}: 4/5", factors, 1)
        assert reading.scores == {}
        assert reading.faults[0].says.startswith("4/5 is not on the scale")


def test_factors_that_did_not_parse_are_not_left_out():
    """Three factors out of four are not averaged: the fourth is a fault of its edit."""
    reading = read_text("S_acc: 6\nS_pre: 7\nS_qua: good\nS_real: 6", FOUR, 1)
    assert not reading.complete
    assert [(fault.kind, fault.factor) for fault in reading.faults_of(1)] == [
        ("missing-factor", "qua")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "On a scale of 1 to 10, I rate this: S_acc: 6",
        "There are 3 dogs. S_acc: 6",
        "1. S_acc: 6",
        "In 2024, with 2 methods, S_acc = 6",
    ],
)
def test_the_first_digit_in_the_text_is_not_the_score(text):
    """The score is the number given to the factor."""
    assert read_text(text, FOUR, 1).scores == {(1, "acc"): 6}


@pytest.mark.parametrize(
    "text", ["", "???", "The edit is average.", "S_acc: medium", '{"acc": "medium"}']
)
def test_no_score_in_the_middle_of_the_scale_on_failure(text):
    """What cannot be read has no score: neither the middle of the scale nor its lower end."""
    reading = read_reply(Reply(text), FOUR, 1)
    assert reading.scores == {}
    assert reading.faults


@pytest.mark.parametrize(
    "text",
    [
        "Error code: 429 - {'error': {'message': 'Rate limit reached', 'type': 'tokens', 'code': 1}}",
        "Internal Server Error (500)",
        '{"error": {"code": 503, "message": "overloaded"}}',
    ],
)
def test_an_error_message_is_not_an_answer(text):
    """A message of the transport that was taken for a reply has no scores in it."""
    for factors in (FOUR, BINARY):
        assert read_text(text, factors, 1).scores == {}


def test_two_objects_that_differ_are_a_contradiction():
    """Of two JSON objects the last one is the verdict only where words between them say so."""
    first, last = (
        f'{{"Contextual_Preservation": {{"reason": "2 lamps", "score": {score}}}}}'
        for score in (0, 1)
    )
    assert read_text(f"{first}\n{last}", BINARY, 1).faults[0].kind == "contradiction"
    reading = read_text(f"{first}\nOn reflection:\n{last}", BINARY, 1)
    assert reading.complete
    assert reading.scores == {(1, "Contextual_Preservation"): 1}


def test_a_second_refusal_is_not_a_zero():
    """On a scale that has a 0, a refusal is still no 0."""
    for text in (REFUSAL, "I have already said that I cannot help with that."):
        reading = read_reply(Reply(text), BINARY, 1)
        assert reading.scores == {}
        assert reading.faults[0].kind == "refused"


def test_a_repair_that_answers_only_what_was_missing_loses_nothing():
    """Three factors were read, the fourth is asked again, and the answer gives that one: all four are kept."""
    first = read_text(
        "Image 1: S_acc: 6, S_pre: 7, S_qua: 5, S_real: 6\nImage 2: S_pre: 4, S_qua: 3, S_real: 2",
        FOUR,
        2,
    )
    both = merged(first, read_text("Image 2: S_acc: 7", FOUR, 2), FOUR, 2)
    assert both.complete
    assert [both.scores[2, key] for key in ("acc", "pre", "qua", "real")] == [7, 4, 3, 2]
