from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import lmmscore
from lmmscore.api import Request, prepare
from lmmscore.conversation import Conversation
from lmmscore.errors import DialogError
from lmmscore.forecast import Record, forecast
from lmmscore.images import Recipe
from lmmscore.judges.config import JudgeOptions
from lmmscore.ledger import Asker, Ledger
from tests.conftest import ScriptedJudge

Maker = Callable[..., Path]
KINDS = ("source", "marked")
METRICS = (
    "Visual_Instruction_Localization_Correctness",
    "Visual_Operator_Type_Compliance",
    "Textual_Action_Semantic_Compliance",
)


def visual(adherence: tuple[float, float, float], context: float) -> ScriptedJudge:
    """A judge of marked images that gives every edit the same scores."""

    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        if "THREE metrics" in conversation.message.text:
            scores = zip(METRICS, adherence, strict=True)
            return "Sure.\n" + json.dumps(
                {key: {"reason": "Seen.", "score": score} for key, score in scores}
            )
        return "## Decision\nFine.\n" + json.dumps(
            {"Contextual_Preservation": {"reason": "Seen.", "score": context}}
        )

    return ScriptedJudge(answer)


def overall(run: lmmscore.Run, factor: str = "overall") -> float:
    scores = run.scores()
    return float(scores[scores["factor"] == factor]["score"].iloc[0])


def test_the_suite_is_the_geometric_mean_of_its_members(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Adherence (mean of three) and preservation, combined; each member's overall stands under its name."""
    root = make_benchmark(items=1, methods=("a",), kinds=KINDS)
    run = lmmscore.run(root, "visual", visual((1, 0.5, 0), 1), out=tmp_path / "r")
    assert overall(run, "visual-adherence") == 0.5
    assert overall(run, "visual-context") == 1
    assert overall(run) == pytest.approx(0.5**0.5)


def test_any_zero_gives_zero(tmp_path: Path, make_benchmark: Maker) -> None:
    """Changing what should have stayed costs everything."""
    root = make_benchmark(items=1, methods=("a",), kinds=KINDS)
    assert overall(lmmscore.run(root, "visual", visual((1, 1, 1), 0), out=tmp_path / "r")) == 0


def test_where_adherence_is_zero_preservation_is_not_asked(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """The gate saves the second call; the overall is 0 and says why; nothing counts as unscored."""
    root = make_benchmark(items=1, methods=("a", "b"), kinds=KINDS)
    judge = visual((0, 0, 0), 1)
    run = lmmscore.run(root, "visual", judge, out=tmp_path / "r")
    assert len(judge.asked) == 2
    scores = run.scores()
    assert set(scores[scores["factor"] == "overall"]["score"]) == {0.0}
    assert "was not asked" in scores[scores["factor"] == "overall"]["reason"].iloc[0]
    assert run.manifest.unscored == 0

    plan = prepare(Request(root, dialog="visual")).plan
    with Ledger(run.ledger_path, read_only=True) as ledger:
        record = Record(ledger, Asker.of(judge.name, judge.parameters), Recipe())
        made = forecast(plan, "scripted", JudgeOptions(), Recipe(), record)
    assert (made.calls, made.calls_recorded) == (0, 2), "a plan knows that nothing is left to ask"


def test_an_unreadable_member_leaves_no_overall(tmp_path: Path, make_benchmark: Maker) -> None:
    """0.5 where only 0 and 1 are allowed is refused, and half a suite is no score."""
    root = make_benchmark(items=1, methods=("a",), kinds=KINDS)
    scores = lmmscore.run(root, "visual", visual((1, 1, 1), 0.5), out=tmp_path / "r").scores()
    final = scores[scores["factor"] == "overall"].iloc[0]
    assert final["outcome"] == "unreadable"
    assert "0.5 is not one of 0 / 1" in final["reason"]


def test_a_suite_of_unlike_members_is_refused(tmp_path: Path, make_benchmark: Maker) -> None:
    """Conversations about an item and about an edit cannot be combined edit by edit."""
    path = tmp_path / "s.yaml"
    path.write_text(
        "suite: s\nversion: 1\ntitle: S\nmembers: [lmm-score, visual-context]\ncombine: mean\n"
    )
    with pytest.raises(DialogError, match="all members must cover"):
        lmmscore.run(
            make_benchmark(kinds=KINDS), str(path), visual((1, 1, 1), 1), out=tmp_path / "r"
        )


def test_justifications_of_another_length_are_noted(tmp_path: Path, make_benchmark: Maker) -> None:
    """15 to 30 words were asked for: three words are a note, not a failure."""
    keys = ("unchanged_regions", "global_consistency", "identity_preservation")
    reply = json.dumps(
        {
            "online_factor_results": {
                k: {"score": 5, "justification": "Looks quite fine."} for k in keys
            }
        }
    )
    root = make_benchmark(items=1, methods=("a",))
    run = lmmscore.run(
        root,
        "preservation-3",
        ScriptedJudge(lambda _: reply),
        out=tmp_path / "r",
        settings={"against": "source"},
    )
    assert run.manifest.unscored == 0
    notes = next(iter(run.records())).notes
    assert notes[0] == "the justification of unchanged_regions has 3 words; 15 to 30 were asked for"
    assert len(notes) == 3
