from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from lmmscore.benchmark import load_benchmark
from lmmscore.conversation import Conversation
from lmmscore.dialog import Dialog, load_dialog
from lmmscore.errors import ContentFiltered, JudgeError
from lmmscore.execution.executor import play
from lmmscore.images import Pictures, Recipe
from lmmscore.judges.judge import Recorded
from lmmscore.ledger import Ledger
from lmmscore.parsing import Fault, FaultKind
from lmmscore.plan import Plan, load_protocol, make_plan
from lmmscore.records import OVERALL, Item, Outcome, Reply, Score
from lmmscore.scores import scores_of, slips
from lmmscore.session import Played, Session, script
from tests.conftest import Answer, ScriptedJudge, bulleted, fair_answer

Maker = Callable[..., Path]


def played(
    tmp_path: Path,
    root: Path,
    answer: Answer,
    methods: tuple[str, ...] = ("alpha", "beta"),
    dialog: Dialog | None = None,
) -> tuple[Played, ScriptedJudge]:
    """Play lmm-score about the first item of a benchmark with a scripted judge."""
    item = load_benchmark(root).items[0]
    judge = ScriptedJudge(answer)
    with Ledger(tmp_path / "session.sqlite") as ledger:
        session = Session(dialog or load_dialog("lmm-score"), item, 1, methods)
        return asyncio.run(play(session, Recorded(judge, ledger), Pictures(Recipe()))), judge


def scoring(*replies: str | Reply) -> Answer:
    """Answer small talk with small talk, and the scoring and repair turns with these replies in turn."""
    waiting = list(replies)

    def answer(conversation: Conversation) -> str | Reply:
        assert conversation.message is not None
        text = conversation.message.text
        return (
            waiting.pop(0)
            if "Now give your scores" in text or "could not read" in text
            else "I see."
        )

    return answer


def outcomes(result: Played) -> list[str]:
    return [str(row.outcome) for row in scores_of(result) if row.factor == OVERALL]


def overalls(result: Played) -> list[Score]:
    return [row for row in scores_of(result) if row.factor == OVERALL]


def test_all_stages_are_played_in_order(tmp_path: Path, make_benchmark: Maker) -> None:
    """Greet, explain, source, factors, each edit, scores, overall: with two edits that is eight turns."""
    result, judge = played(tmp_path, make_benchmark(), fair_answer)
    names = [exchange.question.turn for exchange in result.exchanges]
    assert names == ["greeting", "step-1", "source", "step-2", "edit", "edit", "scores", "overall"]
    assert [len(c.messages) for c in judge.asked] == [1, 3, 5, 7, 9, 11, 13, 15]
    assert outcomes(result) == ["scored", "scored"]


def test_each_image_is_shown_once_in_its_turn(tmp_path: Path, make_benchmark: Maker) -> None:
    """The source in the third turn, then one edit a turn."""
    _, judge = played(tmp_path, make_benchmark(), fair_answer)
    shown = [len(message.images) for message in judge.asked[-1].messages if message.role == "user"]
    assert shown == [0, 0, 1, 0, 1, 1, 0, 0]
    digests = [image.digest for message in judge.asked[-1].messages for image in message.images]
    assert len(set(digests)) == 3


@pytest.mark.parametrize("n", [1, 2, 3, 8, 20, 25])
def test_the_dialogue_fits_any_number_of_edits(n: int) -> None:
    """The first edited image … the last one, for any N from 1."""
    lines = script(load_dialog("lmm-score"), n, "background_change", "Add a cat", {})
    said = [str(line["say"]) for line in lines if line["turn"] == "edit"]
    assert len(said) == n
    if n == 1:
        assert said == ["This is the only edited image."]
    else:
        assert said[0] == "This is the first edited image."
        assert said[-1] == "This is the last one."
        assert n < 3 or said[1] == "This is the second one."
    step_2 = next(str(line["say"]) for line in lines if line["turn"] == "step-2")
    assert f"({n} in total)" in step_2
    source = next(str(line["say"]) for line in lines if line["turn"] == "source")
    assert "Task indicator: Background Change" in source
    assert "Editing instruction: Add a cat" in source


def test_the_judge_never_learns_a_methods_name(tmp_path: Path, make_benchmark: Maker) -> None:
    """No message, picture or ledger row holds a method's or a file's name."""
    root = make_benchmark(methods=("SecretSauce", "HiddenGem"))
    _, judge = played(tmp_path, root, fair_answer, ("SecretSauce", "HiddenGem"))
    for message in judge.asked[-1].messages:
        assert "SecretSauce" not in message.text
        assert all(b"SecretSauce" not in image.data() for image in message.images)
    assert b"SecretSauce" not in b"".join(
        path.read_bytes() for path in tmp_path.glob("session.sqlite*")
    )


def test_a_missing_factor_is_asked_for_exactly(tmp_path: Path, make_benchmark: Maker) -> None:
    """The repair turn says which score of which image is missing, and its answer is used."""
    broken = bulleted([(6, 7, 5, 6), (5, 5, 5, 5)]).replace("* $S_{real}$: 6 Fine.", "")
    result, judge = played(
        tmp_path, make_benchmark(), scoring(broken, bulleted([(6, 7, 5, 4), (5, 5, 5, 5)]))
    )
    repair = next(e.question for e in result.exchanges if e.question.repair)
    assert "Image 1, S_real: no score was found" in repair.text
    assert "Image 2" not in repair.text.split("Please write")[0]
    assert [row.score for row in scores_of(result)][3] == 4
    assert result.repairs == 1
    assert len(judge.asked) == 9


def test_at_most_two_repair_turns_then_a_reason(tmp_path: Path, make_benchmark: Maker) -> None:
    """A judge is not asked until it says something we like."""
    result, judge = played(tmp_path, make_benchmark(), scoring(*["No numbers here."] * 9))
    assert result.repairs == 2
    assert outcomes(result) == ["unreadable", "unreadable"]
    assert all(row.score is None and row.reason for row in scores_of(result))
    assert len(judge.asked) == 9


def test_advice_for_the_user_is_kept_from_the_judge(
    tmp_path: Path, make_benchmark: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 0.1.0 told the judge, too: what it recorded is found under the words of then."""
    root = make_benchmark()
    cut = Reply("Let me look at both images once more. " * 3, finish="length")
    answers = (cut, cut, bulleted([(6, 7, 5, 6), (5, 5, 5, 5)]))
    says = "the answer was cut off by the token limit; raise it with --max-tokens"
    with monkeypatch.context() as earlier:
        earlier.setattr("lmmscore.parsing.read.CUT_OFF", Fault(FaultKind.TRUNCATED, says))
        then, _ = played(tmp_path, root, scoring(*answers))

    again, judge = played(tmp_path, root, scoring())
    assert not judge.asked
    assert [each.key for each in again.exchanges] == [each.key for each in then.exchanges]
    assert outcomes(again) == ["scored", "scored"]

    (tmp_path / "now").mkdir()
    now, _ = played(tmp_path / "now", root, scoring(cut, cut, cut))
    repairs = [each.question.text for each in now.exchanges if each.question.repair]
    assert len(repairs) == 2
    assert all("cut off" in text and "--max-tokens" not in text for text in repairs)
    assert says in overalls(now)[0].reason


@pytest.mark.parametrize("refusal", [Reply("", refusal="I cannot help."), Reply("I can't assist.")])
def test_a_refusal_is_not_quoted_to_the_judge(
    tmp_path: Path, make_benchmark: Maker, monkeypatch: pytest.MonkeyPatch, refusal: Reply
) -> None:
    """A repair says what is missing; what version 0.1.0 recorded is found under its words."""
    root = make_benchmark()
    with monkeypatch.context() as earlier:
        earlier.setattr("lmmscore.session._to_judge", lambda fault, _turn: fault.reason)
        answers = (refusal, bulleted([(6, 7, 5, 6), (5, 5, 5, 5)]))
        then, _ = played(tmp_path, root, scoring(*answers))

    again, judge = played(tmp_path, root, scoring())
    assert not judge.asked
    assert [each.key for each in again.exchanges] == [each.key for each in then.exchanges]
    assert outcomes(again) == ["scored", "scored"]

    (tmp_path / "now").mkdir()
    now, _ = played(tmp_path / "now", root, scoring(refusal, refusal, refusal))
    repairs = [each.question.text for each in now.exchanges if each.question.repair]
    assert len(repairs) == 2
    assert all("- no scores were given" in text and "refused" not in text for text in repairs)
    assert "the judge refused: I can" in overalls(now)[0].reason


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply("I'm sorry, but I can't assist with that."), "refused"),
        (Reply("", refusal="I cannot help."), "refused"),
        (Reply("", finish="length"), "truncated"),
        (Reply(bulleted([(6, 7, 5, 6)]), finish="length"), "truncated"),
        (Reply(""), "unreadable"),
        (Reply("", finish="content_filter"), "filtered"),
        (Reply(bulleted([(11, 7, 5, 6), (5, 5, 5, 5)]).replace("5", "99")), "unreadable"),
    ],
)
def test_every_failure_is_an_outcome_with_a_reason(
    tmp_path: Path, make_benchmark: Maker, reply: Reply, outcome: str
) -> None:
    """Refused, truncated, empty, filtered, off the scale: never a number."""
    result, _ = played(tmp_path, make_benchmark(), scoring(reply, reply, reply))
    assert outcomes(result) == [outcome, outcome]
    assert all(row.score is None and row.reason for row in overalls(result))


def test_one_unreadable_image_does_not_cost_the_others_their_scores(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """What was read stays read; only the hole is a hole."""
    partial = bulleted([(6, 7, 5, 6)])
    result, _ = played(tmp_path, make_benchmark(), scoring(partial, partial, partial))
    assert outcomes(result) == ["scored", "unreadable"]


def test_a_judge_that_fails_leaves_a_failed_session(tmp_path: Path, make_benchmark: Maker) -> None:
    """Transport trouble ends the session, not the run, and is no reply."""

    def broken(conversation: Conversation) -> str:
        if len(conversation.messages) > 5:
            raise JudgeError("the server hung up")
        return "I see."

    result, _ = played(tmp_path, make_benchmark(), broken)
    assert outcomes(result) == ["failed", "failed"]
    assert overalls(result)[0].reason.endswith("the server hung up")
    with Ledger(tmp_path / "session.sqlite", read_only=True) as ledger:
        assert ledger.count() == 3


def test_a_filtered_question_is_filtered_not_failed(tmp_path: Path, make_benchmark: Maker) -> None:
    """The provider's filter is its own outcome."""

    def filtered(conversation: Conversation) -> str:
        raise ContentFiltered("withheld")

    result, _ = played(tmp_path, make_benchmark(), filtered)
    assert outcomes(result) == ["filtered", "filtered"]


def test_slips_of_arithmetic_are_counted_and_not_used(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """The judge's own overall is compared with ours, never taken."""

    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        if "0.4 S_acc" in conversation.message.text:
            return "- Image 1: 6.1\n- Image 2: 9.9"
        if "Now give" in conversation.message.text:
            return bulleted([(6, 7, 5, 6), (6, 8, 7, 6)])
        return "I see."

    result, _ = played(tmp_path, make_benchmark(), answer)
    assert [
        (position, float(exact), float(stated)) for position, exact, stated in slips(result)
    ] == [(2, 6.8, 9.9)]
    assert [float(row.score or 0) for row in overalls(result)] == [6.1, 6.8]


def test_the_overall_goes_by_the_symbol_of_the_dialog(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """`overall_symbol` says what the judge's own overall is called in its replies."""

    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        if "0.4 S_acc" in conversation.message.text:
            return '{"image_1": {"Q": 6.1, "S_acc": 6}, "image_2": {"Q": 9.9, "S_acc": 6}}'
        if "Now give" in conversation.message.text:
            return bulleted([(6, 7, 5, 6), (6, 8, 7, 6)])
        return "I see."

    dialog = load_dialog("lmm-score").model_copy(update={"overall_symbol": "Q"})
    result, _ = played(tmp_path, make_benchmark(), answer, dialog=dialog)
    assert [position for position, _, _ in slips(result)] == [2]


def test_a_broken_picture_fails_its_session_with_the_path(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A picture that cannot be shown is named."""
    root = make_benchmark()

    def looks(conversation: Conversation) -> str:
        assert conversation.message is not None
        for image in conversation.message.images:
            image.data()
        return "I see."

    (root / "edits" / "i0_beta.png").write_bytes(b"no picture")
    result, _ = played(tmp_path, root, looks)
    assert outcomes(result) == ["failed", "failed"]
    assert "i0_beta.png" in overalls(result)[0].reason


def test_scores_may_be_read_from_several_turns(tmp_path: Path, make_benchmark: Maker) -> None:
    """A dialog may ask for some factors in one turn and for the others in the next."""
    dialog = Dialog.model_validate(
        {
            "dialog": "two",
            "version": 1,
            "title": "Two",
            "covers": "edit",
            "overall": "mean",
            "factors": [{"key": k, "scale": {"min": 1, "max": 5}} for k in ("look", "fit")],
            "turns": [
                {
                    "name": "one",
                    "show": ["edit"],
                    "say": "Look?",
                    "read": "scores",
                    "factors": ["look"],
                },
                {"name": "two", "say": "Fit?", "read": "scores", "factors": ["fit"]},
            ],
            "repair": {"say": "{{problems}}"},
        }
    )
    item = Item("a", "t", "Do", {}, dict(load_benchmark(make_benchmark()).items[0].edits))
    replies = iter(['{"look": 4}', '{"fit": 3}'])
    with Ledger(tmp_path / "l.sqlite") as ledger:
        judge = Recorded(ScriptedJudge(lambda _: next(replies)), ledger)
        result = asyncio.run(play(Session(dialog, item, 1, ("alpha",)), judge, Pictures(Recipe())))
    assert {row.factor: row.score for row in scores_of(result)} == {
        "look": 4,
        "fit": 3,
        OVERALL: 3.5,
    }
    assert all(row.outcome == Outcome.SCORED for row in scores_of(result))


def test_a_unit_of_work_travels_light(make_benchmark: Maker) -> None:
    """It goes to other processes and machines: a few KB, however large the benchmark is."""
    sizes = []
    for items in (1, 60):
        root = make_benchmark(items=items, folder=f"of{items}")
        whole = load_benchmark(root)
        plan = make_plan(whole, Plan(whole, load_protocol("lmm-score", {})))
        unit = next(iter(plan))
        sizes.append(len(pickle.dumps(unit)))
        (session,) = plan.protocol.sessions(unit)
        again = pickle.loads(pickle.dumps(session))
        assert again.next() == session.next()
    assert abs(sizes[1] - sizes[0]) < 20
    assert max(sizes) < 2000
