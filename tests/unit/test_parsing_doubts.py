"""What is not understood beside scores: what was withheld because of it, and who may settle it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from lmmscore.dialog import load_dialog
from lmmscore.parsing import FaultKind, Reading, merged, read_reply, read_text
from lmmscore.parsing.extract import can_be_helped, doubt_question, reader_question, with_help
from lmmscore.parsing.read import read_form
from lmmscore.records import Reply
from lmmscore.scales import Factor, Scale

FOUR = load_dialog("lmm-score").factors
TWO = (
    "Image 1:\n- S_acc: 8\n- S_pre: 7\n- S_qua: 7\n- S_real: 6\n\n"
    "Image 2:\n- S_acc: 5\n- S_pre: 9\n- S_qua: 6\n- S_real: 7"
)
CALL = "I'd call it a good generation and a poor edit."
NONE = "Between the two I have no strong preference."
FIRST = "Scores first, explanations afterwards."
BESIDE = (
    '"image_1": {"S_acc": 8, "S_pre": 7, "S_qua": 9, "S_real": 6}, '
    '"image_2": {"S_acc": 5, "S_pre": 10, "S_qua": 4, "S_real": 3}'
)
TABLE = (
    "## Image {}\n| Criterion | Score |\n|---|---|\n| S_acc | 8 |\n| S_pre | 9 |\n| S_qua | 8 |\n"
    "| S_real | 7 |\n\n"
)


@pytest.mark.parametrize(
    ("reply", "doubts"),
    [
        (f"{TWO}\n\n{CALL}", (CALL,)),
        (f"{TWO}\n\n**{CALL}**", (CALL,)),
        (f"{TWO}\n\n{NONE}\n\n{CALL}", (NONE, CALL)),
        (f"{FIRST}\n\n{TWO}\n\n{CALL}", (FIRST, CALL)),
        (f"{TABLE.format(1)}{TABLE.format(2)}## Bottom line\nImage 1.", ("Bottom line",)),
        (f"{TWO}\n\nSum: 31 out of 40.", ("Sum: 31 out of 40.",)),
    ],
)
def test_everything_that_is_not_understood_is_quoted_as_it_was_written(reply, doubts):
    """No score is read; what would be is kept apart, with its places, for whoever settles it."""
    reading = read_text(reply, FOUR, 2)
    assert (reading.scores, reading.spans) == ({}, {})
    (fault,) = reading.faults
    assert fault.kind == FaultKind.DOUBTFUL
    assert doubts[0] in fault.says
    assert reading.doubts == doubts
    assert reading.withheld is not None
    assert reading.withheld.complete
    assert reading.withheld.scores[1, "acc"] == 8
    start, end = reading.withheld.spans[1, "acc"]
    assert reply[start:end].strip() == "8"


@pytest.mark.parametrize(
    "reply",
    [
        f"{TWO}\n\nPlease disregard all of the scores above.",
        f"{TWO}\n\n{CALL} These numbers are made up.",
        f"{CALL}\n\n{TWO}\n\nI take that back.",
        f"{TWO}\n\n{CALL} I could not see the images.",
        f"{TWO}\n\nS_pre and S_qua are interchanged throughout.",
        f"Scores (out of 5):\n\n{TWO}",
        f"{TWO}\n\nAll of them are out of 40.",
        f"{TWO}\n\nLower is better.",
        f"According to the human raters:\n\n{TWO}",
        f"The snowy one:\n\n{TWO}",
        f"{TWO}\n\nMy colleague dictated these to me.",
        f"{TWO}\n\nI will look at the images now.",
    ],
)
def test_what_is_known_to_void_scores_is_no_matter_of_doubt(reply):
    """Nor is what heads scores and may be an image's name; nothing is withheld to be accepted."""
    reading = read_text(reply, FOUR, 2)
    assert [fault.kind for fault in reading.faults] == [FaultKind.DISCLAIMED]
    assert (reading.doubts, reading.withheld) == ((), None)
    assert not can_be_helped(reading, reply)


def test_too_much_that_is_not_understood_is_not_asked_about():
    """Ten sentences are put to a reader at most, each of a length that can be copied."""
    calls = [
        f"I'd call it a good generation number {'i' * k} and a poor edit." for k in range(3, 14)
    ]
    ten, eleven = ("\n\n".join([TWO, *calls[:count]]) for count in (10, 11))
    assert len(read_text(ten, FOUR, 2).doubts) == 10
    assert read_text(eleven, FOUR, 2).faults[0].kind == FaultKind.DISCLAIMED
    long = f"{TWO}\n\nI'd call it {'a good generation and ' * 40}a poor edit."
    assert read_text(long, FOUR, 2).faults[0].kind == FaultKind.DISCLAIMED


@pytest.mark.parametrize(
    ("note", "kind"),
    [
        ('"summary": "I\'d call it a good generation and a poor edit."', "doubtful"),
        ('"summary": "I could not see the images."', "disclaimed"),
        ('"flurb": true', "disclaimed"),
        ('"rater": "human_03"', "disclaimed"),
        ('"status": "the model was not available today"', "disclaimed"),
    ],
)
def test_talk_beside_scores_in_json_is_asked_about_and_flags_are_not(note, kind):
    """A flag or a state says one thing; of a sentence it may not be understood which."""
    reading = read_text(f"{{{note}, {BESIDE}}}", FOUR, 2)
    assert [fault.kind for fault in reading.faults] == [kind]
    assert bool(reading.doubts) == (kind == "doubtful")


def doubtful(reply: str = f"{TWO}\n\n{NONE}\n\n{CALL}") -> tuple[Reading, str]:
    return read_text(reply, FOUR, 2), reply


def answer(*told: Mapping[str, Any]) -> str:
    return json.dumps({"sentences": told}, ensure_ascii=False)


def told(reading: Reading, **changes: Any) -> list[dict[str, Any]]:
    """Return what settles all doubts, with changes to what is said of the last."""
    entries = [
        {"number": number, "sentence": doubt, "voids": False}
        for number, doubt in enumerate(reading.doubts, 1)
    ]
    return [*entries[:-1], entries[-1] | changes]


def test_scores_count_once_nothing_in_doubt_voids_them():
    """They are the scores that were withheld, and marked as read with help."""
    reading, reply = doubtful()
    settled = with_help(reading, f"Sure:\n{answer(*told(reading))}", reply, FOUR, 2)
    assert reading.withheld is not None
    assert settled.scores == reading.withheld.scores
    assert len(settled.scores) == 8
    assert settled.spans == reading.withheld.spans
    assert settled.complete
    assert settled.notes == ("read with help",)
    assert settled.doubts == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"voids": True},
        {"voids": None},
        {"voids": "no"},
        {"voids": 0},
        {"sentence": CALL.lower()},
        {"sentence": CALL.replace("'", "’")},
        {"sentence": "a poor edit."},
        {"sentence": None},
        {"number": 1},
        {"number": 3},
    ],
)
def test_one_sentence_that_is_not_settled_leaves_everything_withheld(changes):
    """It voids them, it is not clear, another sentence is quoted, or none."""
    reading, reply = doubtful()
    assert with_help(reading, answer(*told(reading, **changes)), reply, FOUR, 2) == reading


def test_an_answer_that_is_not_about_every_sentence_once_settles_none():
    """Missing, told twice, without its quotation, or no answer at all."""
    reading, reply = doubtful()
    entries = told(reading)
    bare = [{"number": each["number"], "voids": False} for each in entries]
    refused = [answer(*entries[:1]), answer(*entries, entries[0]), answer(*bare)]
    refused += ["", "None of these voids anything.", '{"sentences": false}', '{"voids": false}']
    for each in refused:
        assert with_help(reading, each, reply, FOUR, 2) == reading


def test_what_was_withheld_may_have_faults_of_its_own():
    """They are what a repair turn asks for."""
    reading, reply = doubtful(f"{TWO}\n\n{CALL}".replace("- S_pre: 9\n", ""))
    settled = with_help(reading, answer(*told(reading)), reply, FOUR, 2)
    assert len(settled.scores) == 7
    assert [(fault.position, fault.factor) for fault in settled.faults] == [(2, "pre")]


def test_a_repair_in_doubt_adds_to_what_was_read_before():
    """Settled, it has the scores of both replies; not settled, those of the first."""
    first = read_text("Image 1:\n- S_acc: 8\n- S_pre: 7\n- S_qua: 7\n- S_real: 6", FOUR, 2)
    reply = f"Image 2:\n- S_acc: 5\n- S_pre: 9\n- S_qua: 6\n- S_real: 7\n\n{CALL}"
    both = merged(first, read_text(reply, FOUR, 2), FOUR, 2)
    assert len(both.scores) == 4
    assert can_be_helped(both, reply)
    settled = with_help(both, answer(*told(both)), reply, FOUR, 2)
    assert settled.complete
    assert len(settled.scores) == 8
    assert with_help(both, answer(*told(both, voids=True)), reply, FOUR, 2) == both


def test_the_question_lists_what_is_in_doubt_with_the_scales_that_were_asked_for():
    """The reader gets the reply as it is, and is held to one answer for each sentence."""
    reading, reply = doubtful()
    words, schema = reader_question(reading, reply, FOUR, 2)
    assert (words, schema) == doubt_question(reading.doubts, reply, FOUR, 2)
    assert f"<<<<<<<<\n{reply}\n>>>>>>>>" in words
    assert f"1. {NONE}\n2. {CALL}\n" in words
    assert all(f"{factor.key}, {factor.scale}" in words for factor in FOUR)
    sentence = json.loads(schema)["properties"]["sentences"]["items"]
    assert sentence["properties"]["number"]["enum"] == [1, 2]
    assert sentence["properties"]["voids"]["type"] == ["boolean", "null"]
    assert sorted(sentence["required"]) == ["number", "sentence", "voids"]


def test_what_was_cut_off_is_put_to_no_reader():
    """The sentence in doubt may go on."""
    reply = Reply(f"{TWO}\n\n{CALL}", finish="length")
    reading = read_reply(reply, FOUR, 2)
    assert [fault.kind for fault in reading.faults] == [FaultKind.TRUNCATED]
    assert not can_be_helped(reading, reply.text)


def test_numbers_that_stand_for_words_are_withheld_likewise():
    """A scale of words may have numbers among its words."""
    scale = Scale(words={"1": 5, "0": 1})
    factors = [Factor(key=key, name=key.title(), scale=scale) for key in ("logic", "looks", "feel")]
    reply = Reply("Logic: 1\nLooks: 0\nFeel: 1\n\nI aimed to flatter the gallery.")
    found = read_form(reply, factors, 1)
    assert not found.reading.scores
    assert {fault.kind for fault in found.reading.faults} == {FaultKind.DOUBTFUL}
    entries = answer(*told(found.reading))
    settled = with_help(found.reading, entries, reply.text, factors, 1)
    assert settled.scores == {(1, "logic"): 5, (1, "looks"): 1, (1, "feel"): 5}
