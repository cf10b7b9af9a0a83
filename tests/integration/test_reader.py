"""A reply that cannot be read is put to a reader, as text alone, before it is asked for again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import lmmscore
from lmmscore.cli import lmmscore as program
from lmmscore.conversation import Conversation
from lmmscore.errors import (
    ContentFiltered,
    JudgeError,
    JudgeUnavailable,
    LmmscoreError,
    NotAuthorised,
)
from lmmscore.execution.executor import LedSession
from lmmscore.images import Pictures, Recipe
from lmmscore.judges.judge import Recorded
from lmmscore.ledger import Ledger
from lmmscore.parsing import Reading
from lmmscore.parsing.extract import can_be_helped
from lmmscore.publish import publish, verify
from lmmscore.run_folder import open_run
from tests.conftest import ScriptedJudge, bulleted, fair_answer

MUSED = (
    "Image 1's S_acc lands on 7, which I find fair. Image 1's S_pre lands on 8, and that is that.\n"
    "Image 1's S_qua lands on 6, which is a pity. Image 1's S_real lands on 9, for it looks real."
)
"""What no layout that the parser knows has."""
CELLS = {
    "acc": (7, "Image 1's S_acc lands on 7"),
    "pre": (8, "Image 1's S_pre lands on 8"),
    "qua": (6, "Image 1's S_qua lands on 6"),
    "real": (9, "Image 1's S_real lands on 9"),
}


def said(conversation: Conversation) -> str:
    assert conversation.message is not None
    return conversation.message.text


def is_aside(conversation: Conversation) -> bool:
    return "<<<<<<<<" in said(conversation)


def quoted(**changes: tuple[int, str]) -> str:
    """Return a reader's answer about the only image."""
    cells = [
        {"image": 1, "factor": factor, "score": score, "quotation": quotation}
        for factor, (score, quotation) in (CELLS | changes).items()
    ]
    return json.dumps({"cells": cells})


def musing(answer: str = "") -> Callable[[Conversation], str]:
    """Return a judge's answers: scores in an odd form, put right only in a repair turn."""

    def reply(conversation: Conversation) -> str:
        if is_aside(conversation):
            return answer or quoted()
        if "Now give your scores" in said(conversation):
            return MUSED
        if "could not read" in said(conversation):
            return bulleted([(1, 1, 1, 1)])
        return fair_answer(conversation)

    return reply


def repairs(judge: ScriptedJudge) -> int:
    return sum("could not read" in said(each) for each in judge.asked)


@pytest.fixture
def bench(make_benchmark: Callable[..., Path]) -> Path:
    return make_benchmark(items=1, methods=("one",))


def scores_of(run: Path) -> dict[str, float]:
    table = open_run(run).scores()
    return dict(zip(table["factor"], table["score"], strict=True))


def test_what_is_rightly_quoted_needs_no_repair(bench: Path, tmp_path: Path):
    """The reader sees the reply and no picture, and what it quotes is counted as read with help."""
    judge = ScriptedJudge(musing())
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "run")
    asides = [each for each in judge.asked if is_aside(each)]
    assert len(asides) == 1
    assert len(asides[0].messages) == 1
    assert not asides[0].messages[0].images
    assert MUSED in said(asides[0])
    assert repairs(judge) == 0
    assert scores_of(run.path) == {"acc": 7, "pre": 8, "qua": 6, "real": 9, "overall": 7.3}
    written = yaml.safe_load((run.path / "run.yaml").read_text(encoding="utf-8"))
    assert (written["reader"], written["helped"], written["repairs"]) == ("scripted", 4, 0)
    (record,) = open_run(run.path).records()
    assert record.helped == 4
    assert "read with help" in record.notes
    assert [exchange.aside for exchange in record.exchanges].count(True) == 1
    # The sums that follow are asked in the conversation as it was, without the reader's words.
    assert not any("quotation" in message.text for message in judge.asked[-1].messages)


@pytest.mark.parametrize(
    "wrong",
    [
        {"acc": (7, "Image 1's S_acc is 7")},
        {"acc": (8, "Image 1's S_acc lands on 7")},
        {"acc": (7, "lands on 7")},
        {"acc": (8, "Image 1's S_pre lands on 8")},
    ],
)
def test_what_the_reply_does_not_bear_out_is_asked_for_again(bench, tmp_path, wrong):
    """A quotation that is not in the reply, or a number that is not in the quotation, is no score."""
    judge = ScriptedJudge(musing(quoted(**wrong)))
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "run")
    assert repairs(judge) == 1
    assert scores_of(run.path)["acc"] == 1
    assert run.manifest.helped == 0


@pytest.mark.parametrize(
    "reply",
    [
        "I cannot see the images, but it might be:\n" + MUSED,
        MUSED + "\nPlease disregard the scores above.",
    ],
)
def test_a_reply_that_takes_itself_back_is_put_to_no_reader(bench, tmp_path, reply):
    """What is no verdict as a whole does not become one by being quoted."""

    def answer(conversation: Conversation) -> str:
        text = musing()(conversation)
        return reply if text == MUSED else text

    judge = ScriptedJudge(answer)
    lmmscore.run(bench, judge=judge, out=tmp_path / "run")
    assert not any(is_aside(each) for each in judge.asked)


def test_without_a_reader_it_is_asked_for_again(bench: Path, tmp_path: Path):
    """`none` does as versions before did."""
    judge = ScriptedJudge(musing())
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "run", reader="none")
    assert not any(is_aside(each) for each in judge.asked)
    assert repairs(judge) == 1
    assert run.manifest.reader == "none"


def test_another_judge_reads(bench: Path, tmp_path: Path):
    """A cheaper model does, and its answers are in the ledger under its own name."""
    judge, reader = ScriptedJudge(musing("{}")), ScriptedJudge(musing(), name="cheap")
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "run", reader=reader)
    assert [is_aside(each) for each in reader.asked] == [True]
    assert not any(is_aside(each) for each in judge.asked)
    assert run.manifest.reader == "cheap"
    with Ledger(run.path / "ledger.sqlite", read_only=True) as ledger:
        assert {asker.judge for asker in ledger.askers()} == {"scripted", "cheap"}


@pytest.mark.parametrize("failure", [JudgeUnavailable("nobody there"), ContentFiltered("withheld")])
def test_a_reader_that_fails_is_done_without(bench: Path, tmp_path: Path, failure: JudgeError):
    """The judge is asked again, as without a reader, and the run can be replayed."""

    def fails(conversation: Conversation) -> str:
        raise failure

    judge, reader = ScriptedJudge(musing()), ScriptedJudge(fails, name="cheap")
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "run", reader=reader)
    assert len(reader.asked) == 1
    assert repairs(judge) == 1
    assert scores_of(run.path)["acc"] == 1
    assert set(run.scores()["outcome"]) == {"scored"}
    again = lmmscore.run(bench, judge=f"replay:{run.path}", out=tmp_path / "again")
    assert (again.path / "scores.csv").read_bytes() == (run.path / "scores.csv").read_bytes()
    publish(open_run(run.path), tmp_path / "run.zip")
    assert verify(tmp_path / "run.zip").problems == ()


def test_a_reader_that_failed_is_not_asked_again(bench: Path, tmp_path: Path):
    """Resumed once the reader answers again, a run keeps the scores that the repair gave it."""

    def fails(conversation: Conversation) -> str:
        raise JudgeUnavailable("nobody there")

    out = tmp_path / "run"
    lmmscore.run(
        bench, judge=ScriptedJudge(musing()), out=out, reader=ScriptedJudge(fails, "cheap")
    )
    before = (out / "scores.csv").read_bytes()
    judge, reader = ScriptedJudge(musing()), ScriptedJudge(musing(), "cheap")
    lmmscore.run(bench, judge=judge, out=out, reader=reader)
    assert (out / "scores.csv").read_bytes() == before
    assert scores_of(out)["acc"] == 1
    assert not reader.asked
    assert not judge.asked


def test_a_reader_that_failed_last_is_asked_again(bench: Path, tmp_path: Path):
    """Where no score followed from its failure, the next run asks it, as it asks a judge."""
    unread = musing()

    def stubborn(conversation: Conversation) -> str:
        return MUSED if "could not read" in said(conversation) else unread(conversation)

    def fails(conversation: Conversation) -> str:
        raise JudgeUnavailable("nobody there")

    out = tmp_path / "run"
    lmmscore.run(
        bench, judge=ScriptedJudge(stubborn), out=out, reader=ScriptedJudge(fails, "cheap")
    )
    assert set(open_run(out).scores()["outcome"]) == {"unreadable"}
    reader = ScriptedJudge(musing(), "cheap")
    lmmscore.run(bench, judge=ScriptedJudge(stubborn), out=out, reader=reader)
    assert len(reader.asked) == 1
    assert scores_of(out)["acc"] == 7


def test_a_record_in_which_the_reader_failed_is_led_as_it_was(bench: Path, tmp_path: Path):
    """A batch, which looks up answers and asks later, does not put the reply to the reader either."""

    def fails(conversation: Conversation) -> str:
        raise JudgeUnavailable("nobody there")

    out = tmp_path / "run"
    lmmscore.run(
        bench, judge=ScriptedJudge(musing()), out=out, reader=ScriptedJudge(fails, "cheap")
    )
    plan = open_run(out).plan()
    (session,) = plan.protocol.sessions(next(iter(plan)))
    led = LedSession(session, Pictures(Recipe()))
    with Ledger(out / "ledger.sqlite", read_only=True) as ledger:
        judge = Recorded(ScriptedJudge(musing()), ledger)
        assert led.recall(lambda put: judge.recall(put.conversation, put.repeat)) is None
    assert led.played().repairs == 1


def test_a_reader_that_stops_the_run_stops_it(bench: Path, tmp_path: Path):
    """A wrong key is to be put right, not passed over in every session."""

    def fails(conversation: Conversation) -> str:
        raise NotAuthorised("wrong key")

    reader = ScriptedJudge(fails, name="cheap")
    with pytest.raises(NotAuthorised):
        lmmscore.run(bench, judge=ScriptedJudge(musing()), out=tmp_path / "run", reader=reader)


@pytest.mark.parametrize("reader", [None, "cheap"])
def test_such_a_run_is_replayed_and_verified_to_the_byte(bench, tmp_path, reader):
    """The reader's answers are on record like any other."""
    helper = ScriptedJudge(musing(), name=reader) if reader else None
    run = lmmscore.run(bench, judge=ScriptedJudge(musing()), out=tmp_path / "run", reader=helper)
    again = lmmscore.run(bench, judge=f"replay:{run.path}", out=tmp_path / "again")
    for name in ("scores.csv", "sessions.jsonl"):
        assert (again.path / name).read_bytes() == (run.path / name).read_bytes()
    assert again.manifest.reader == run.manifest.reader
    publish(open_run(run.path), tmp_path / "run.zip")
    assert verify(tmp_path / "run.zip").problems == ()


def test_a_record_without_a_reader_is_played_without_one(bench: Path, tmp_path: Path):
    """From its run.yaml, and from its ledger alone."""
    judge = ScriptedJudge(musing())
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "run", reader="none")
    for number, where in enumerate((run.path, run.path / "ledger.sqlite")):
        again = lmmscore.run(bench, judge=f"replay:{where}", out=tmp_path / f"again{number}")
        assert (again.path / "scores.csv").read_bytes() == (run.path / "scores.csv").read_bytes()
    bare = tmp_path / "bare.sqlite"
    bare.write_bytes((run.path / "ledger.sqlite").read_bytes())
    again = lmmscore.run(bench, judge=f"replay:{bare}", out=tmp_path / "bare")
    assert (again.path / "scores.csv").read_bytes() == (run.path / "scores.csv").read_bytes()


def test_a_run_goes_on_with_the_reader_it_has(bench: Path, tmp_path: Path):
    """Resuming keeps what the folder was begun with, and another choice is refused."""
    out = tmp_path / "run"
    lmmscore.run(bench, judge=ScriptedJudge(musing()), out=out, reader="none")
    lmmscore.run(bench, judge=ScriptedJudge(musing()), out=out)
    assert open_run(out).manifest.reader == "none"
    with pytest.raises(LmmscoreError, match="--reader"):
        lmmscore.run(
            bench, judge=ScriptedJudge(musing()), out=out, reader=ScriptedJudge(musing(), "cheap")
        )


def test_a_conversation_shows_what_was_read_with_help(bench: Path, tmp_path: Path):
    """`show` marks the scores in the judge's own words."""
    run = lmmscore.run(bench, judge=ScriptedJudge(musing()), out=tmp_path / "run")
    shown = CliRunner().invoke(program, ["show", str(run.path), "i0", "--json"])
    assert shown.exit_code == 0, shown.output
    assert "acc = 7 (read with help)" in shown.stdout
    assert "put to the reader" in shown.stdout
    made = CliRunner().invoke(program, ["report", str(run.path)])
    assert made.exit_code == 0, made.output
    assert "read with help" in (run.path / "report.html").read_text(encoding="utf-8")


def test_it_costs_a_small_part_of_a_repair_turn(bench: Path, tmp_path: Path):
    """A repair turn sends the conversation again, with every picture; the reader gets one reply."""
    with_reader, without = ScriptedJudge(musing()), ScriptedJudge(musing())
    lmmscore.run(bench, judge=with_reader, out=tmp_path / "one")
    lmmscore.run(bench, judge=without, out=tmp_path / "two", reader="none")
    aside = next(each for each in with_reader.asked if is_aside(each))
    repair = next(each for each in without.asked if "could not read" in said(each))
    assert _images(aside) == 0
    assert _images(repair) == 2
    assert _characters(aside) < _characters(repair)


def _images(conversation: Conversation) -> int:
    return sum(len(message.images) for message in conversation.messages)


def _characters(conversation: Conversation) -> int:
    return sum(len(message.text) for message in conversation.messages)


# --- What is not understood beside scores ---

CALL = "I'd call it a good generation and a poor edit."
LOOSE = "Let us leave it there and call it a day."
DOUBTED = f"{bulleted([(7, 8, 6, 9)])}\n\n{CALL} {LOOSE}"
"""Scores that any reader of layouts finds, and two sentences that no rule knows."""


def settling(*voids: bool | None, sentences: tuple[str, ...] = (CALL, LOOSE)) -> str:
    """Return a reader's answer about sentences in doubt."""
    told = [
        {"number": number, "sentence": sentence, "voids": void}
        for number, (sentence, void) in enumerate(zip(sentences, voids, strict=True), 1)
    ]
    return json.dumps({"sentences": told})


def doubting(answer: str, reply: str = DOUBTED) -> Callable[[Conversation], str]:
    """Return a judge's answers: scores with something beside them, without it in a repair turn."""

    def said_next(conversation: Conversation) -> str:
        text = musing(answer)(conversation)
        return reply if text == MUSED else text

    return said_next


def test_scores_count_where_the_reader_says_that_nothing_voids_them(bench: Path, tmp_path: Path):
    """It is asked about every sentence at once, without a picture, and no repair follows."""
    judge = ScriptedJudge(doubting(settling(False, False)))
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "run")
    (aside,) = [each for each in judge.asked if is_aside(each)]
    assert len(aside.messages) == 1
    assert not aside.messages[0].images
    assert f"1. {CALL}\n2. {LOOSE}\n" in said(aside)
    assert DOUBTED in said(aside)
    assert repairs(judge) == 0
    assert scores_of(run.path) == {"acc": 7, "pre": 8, "qua": 6, "real": 9, "overall": 7.3}
    written = yaml.safe_load((run.path / "run.yaml").read_text(encoding="utf-8"))
    assert (written["reader"], written["helped"], written["repairs"]) == ("scripted", 4, 0)
    (record,) = open_run(run.path).records()
    assert (record.helped, [each.aside for each in record.exchanges].count(True)) == (4, 1)
    assert "read with help" in record.notes
    shown = CliRunner().invoke(program, ["show", str(run.path), "i0", "--json"])
    assert "acc = 7 (read with help)" in shown.stdout
    assert "put to the reader" in shown.stdout
    assert CliRunner().invoke(program, ["report", str(run.path)]).exit_code == 0
    assert "4 scores read with help" in (run.path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "answer",
    [
        settling(False, True),
        settling(None, False),
        settling(False, sentences=(CALL,)),
        settling(False, False, sentences=(LOOSE, CALL)),
        "Neither of them does.",
    ],
)
def test_scores_of_which_the_reader_does_not_say_so_are_asked_for_again(bench, tmp_path, answer):
    """One of the sentences voids them, is not clear, not told of or not quoted."""
    judge = ScriptedJudge(doubting(answer))
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "run")
    assert sum(map(is_aside, judge.asked)) == 1
    assert repairs(judge) == 1
    assert CALL in next(said(each) for each in judge.asked if "could not read" in said(each))
    assert scores_of(run.path)["acc"] == 1
    assert run.manifest.helped == 0


def test_what_is_missing_beside_scores_in_doubt_is_asked_for_alone(bench: Path, tmp_path: Path):
    """Once they count, the repair turn names only what the reply lacks, and the rest is kept."""
    reply = DOUBTED.replace("* $S_{qua}$: 6 Fine.\n", "")
    assert reply != DOUBTED

    def answers(conversation: Conversation) -> str:
        if "could not read" in said(conversation):
            assert CALL not in said(conversation)
            return "S_qua: 5"
        return doubting(settling(False, False), reply)(conversation)

    judge = ScriptedJudge(answers)
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "run")
    found = scores_of(run.path)
    assert {key: found[key] for key in CELLS} == {"acc": 7, "pre": 8, "qua": 5, "real": 9}
    assert (repairs(judge), run.manifest.helped) == (1, 3)


def test_without_a_reader_nothing_in_doubt_is_asked_about(bench: Path, tmp_path: Path):
    """A repair turn follows, as it does where scores are known to be void."""
    judge = ScriptedJudge(doubting(settling(False, False)))
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "run", reader="none")
    assert not any(map(is_aside, judge.asked))
    assert repairs(judge) == 1
    assert scores_of(run.path)["acc"] == 1


def test_a_run_in_which_a_doubt_was_settled_is_replayed_and_verified(bench, tmp_path):
    """By another judge, whose answer is on record under its own name."""
    reader = ScriptedJudge(doubting(settling(False, False)), name="cheap")
    judge = ScriptedJudge(doubting("{}"))
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "run", reader=reader)
    assert (run.manifest.reader, run.manifest.helped, len(reader.asked)) == ("cheap", 4, 1)
    again = lmmscore.run(bench, judge=f"replay:{run.path}", out=tmp_path / "again")
    for name in ("scores.csv", "sessions.jsonl"):
        assert (again.path / name).read_bytes() == (run.path / name).read_bytes()
    publish(open_run(run.path), tmp_path / "run.zip")
    assert verify(tmp_path / "run.zip").problems == ()


def test_a_record_without_that_question_is_played_as_it_was(bench, tmp_path, monkeypatch):
    """Versions that did not ask it had a reader, too, and sent a repair turn in the same words."""
    out = tmp_path / "run"

    def could_be_helped(reading: Reading, reply: str) -> bool:
        return not reading.doubts and can_be_helped(reading, reply)

    with monkeypatch.context() as earlier:
        earlier.setattr("lmmscore.session.can_be_helped", could_be_helped)
        judge = ScriptedJudge(doubting(settling(False, False)))
        run = lmmscore.run(bench, judge=judge, out=out)
        assert (repairs(judge), sum(map(is_aside, judge.asked))) == (1, 0)
        assert run.manifest.reader == "scripted"

    again = lmmscore.run(bench, judge=f"replay:{out}", out=tmp_path / "again")
    for name in ("scores.csv", "sessions.jsonl"):
        assert (again.path / name).read_bytes() == (out / name).read_bytes()
    before = (out / "scores.csv").read_bytes()
    judge = ScriptedJudge(doubting(settling(False, False)))
    lmmscore.run(bench, judge=judge, out=out)
    assert (out / "scores.csv").read_bytes() == before
    assert not judge.asked
    publish(open_run(out), tmp_path / "run.zip")
    assert verify(tmp_path / "run.zip").problems == ()
