from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import lmmscore
from lmmscore.anchors import drift
from lmmscore.conversation import Conversation
from lmmscore.errors import BenchmarkError
from tests.conftest import ScriptedJudge, bulleted

Maker = Callable[..., Path]


def scores(value: float) -> ScriptedJudge:
    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        return bulleted([(value,) * 4] * 3) if "Now give" in conversation.message.text else "I see."

    return ScriptedJudge(answer)


def test_anchors_are_asked_anew_at_each_run_and_show_drift(tmp_path: Path, make_benchmark: Maker) -> None:
    """A judge that has become kinder by two points is found out, though the run itself asks nothing again."""
    root = make_benchmark(items=2)
    first, second = scores(5), scores(7)
    lmmscore.run(root, judge=first, out=tmp_path / "r", anchors=["i1"])
    before = (tmp_path / "r" / "scores.csv").read_bytes()
    lmmscore.run(root, judge=second, out=tmp_path / "r", anchors=["i1"])
    assert len(second.asked) == 9
    found = drift(tmp_path / "r" / "anchors.csv")
    assert (found.rounds, found.edits, found.mean) == (2, 3, 2.0)
    assert "+2.00" in str(found)
    assert (tmp_path / "r" / "scores.csv").read_bytes() == before


def test_one_round_shows_no_drift_yet(tmp_path: Path, make_benchmark: Maker) -> None:
    """With nothing to compare, no number is printed."""
    lmmscore.run(make_benchmark(items=1), judge=scores(5), out=tmp_path / "r", anchors=["i0"])
    assert "next run" in str(drift(tmp_path / "r" / "anchors.csv"))


def test_an_unknown_anchor_is_refused_before_anything_is_asked(tmp_path: Path, make_benchmark: Maker) -> None:
    """A mistyped item costs nothing."""
    judge = scores(5)
    with pytest.raises(BenchmarkError, match="no item 'x0'"):
        lmmscore.run(make_benchmark(), judge=judge, out=tmp_path / "r", anchors=["x0"])
    assert judge.asked == []
