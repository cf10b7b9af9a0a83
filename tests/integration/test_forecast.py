from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import lmmscore
from lmmscore.api import Request, prepare
from lmmscore.cli import lmmscore as command
from lmmscore.forecast import Forecast, forecast
from lmmscore.images import Recipe
from lmmscore.judges.config import JudgeOptions
from lmmscore.ledger import Ledger
from tests.conftest import ScriptedJudge, picture

Maker = Callable[..., Path]
KINDS = ("source", "reference", "marked")


def planned(request: Request) -> Forecast:
    return forecast(prepare(request).plan, "tiny", JudgeOptions(), Recipe())


@pytest.mark.parametrize("dialog", ["lmm-score", "factors-12", "preservation-3"])
def test_a_plan_counts_the_calls_that_are_then_made(
    tmp_path: Path, make_benchmark: Maker, dialog: str
) -> None:
    """What several sessions ask in the same words is asked once in each repeat, and planned once."""
    root = make_benchmark(items=3, kinds=KINDS)
    made = planned(Request(root, dialog=dialog, repeats=2))
    lmmscore.run(root, dialog=dialog, out=tmp_path / "r", repeats=2)
    with Ledger(tmp_path / "r" / "ledger.sqlite", read_only=True) as ledger:
        assert made.calls == ledger.count()


def test_a_plan_of_many_is_less_than_many_plans(make_benchmark: Maker) -> None:
    """Two items share their openings: calls, bytes and tokens of both are less than twice those of one."""
    root = make_benchmark(items=2)
    one, both = planned(Request(root, items=("i0",))), planned(Request(root))
    assert (one.calls, both.calls) == (9, 2 + 2 * 7)
    assert both.sessions == 2 and both.pictures_sent == 2 * one.pictures_sent
    for name in ("bytes_chat", "bytes_responses", "prompt_tokens", "completion_tokens"):
        assert getattr(one, name) < getattr(both, name) < 2 * getattr(one, name)


def test_repeats_share_nothing(make_benchmark: Maker) -> None:
    """A repeat asks everything anew: that is what it is for."""
    root = make_benchmark(items=2)
    assert planned(Request(root, repeats=3)).calls == 3 * planned(Request(root)).calls


def test_a_schema_makes_another_question(make_benchmark: Maker) -> None:
    """Held to a schema or not, the number of calls is the same; the words shared are still shared."""
    root = make_benchmark(items=2, kinds=KINDS)
    plain = planned(Request(root, dialog="visual"))
    held = planned(Request(root, dialog="visual", judge_options={"structured": True}))
    assert plain.calls == held.calls > 0


def test_anchors_are_part_of_the_price(make_benchmark: Maker) -> None:
    """An item that every run asks again is planned for, selected or not."""
    root = make_benchmark(items=2)
    plain = planned(Request(root, items=("i0",)))
    anchored = planned(Request(root, items=("i0",), anchors=("i1",)))
    assert anchored.sessions == plain.sessions + 1 and anchored.calls > plain.calls


def test_examples_and_fresh_conversations_are_planned_as_they_are_sent(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """An example travels with the question behind it, a fresh turn sends nothing said before, and
    what it asks of several edits in the same words is one call."""
    picture(tmp_path / "shots" / "1.png")
    turns: list[dict[str, Any]] = [
        {"name": "shot", "show": ["shots/1.png"], "say": "And this?", "heard": "look: 3"},
        {"name": "scores", "read": "scores", "say": "Rate it: {{show.edit}}"},
        {"name": "source", "fresh": True, "say": "What is this? {{show.source}}"},
        {"name": "more", "say": "What else?"},
    ]
    dialog = {
        "dialog": "fresh",
        "version": 1,
        "title": "Fresh",
        "format": 2,
        "covers": "edit",
        "factors": [{"key": "look", "scale": {"min": 1, "max": 10}}],
        "overall": "mean",
        "turns": turns,
        "repair": {"say": "{{problems}}"},
    }
    path = tmp_path / "fresh.yaml"
    path.write_text(yaml.safe_dump(dialog))
    root = make_benchmark(items=2)
    judge = ScriptedJudge(lambda _: "look: 7")
    made = planned(Request(root, dialog=str(path)))
    lmmscore.run(root, str(path), judge, out=tmp_path / "r")
    assert made.calls == len(judge.asked) == 2 * 3 + 2 * 2
    sent = [message for asked in judge.asked for message in asked.messages]
    assert made.pictures_sent == sum(len(message.images) for message in sent)
    words = sum(len(message.text) for message in sent if message.role == "user")
    assert made.bytes_chat > words


def test_a_budget_covers_what_was_spent_before(tmp_path: Path, make_benchmark: Maker) -> None:
    """What is left of it is compared with what is left to ask, as `run` will do."""
    out = tmp_path / "r"
    out.mkdir()
    words = ["plan", str(make_benchmark(items=1)), "-j", "gpt-4o", "-o", str(out), "--budget", "9"]
    assert "not enough" not in CliRunner().invoke(command, words).stderr
    (out / "spending.csv").write_text("usd,what\n8.999,counted")
    said = CliRunner().invoke(command, words).stderr
    assert "a budget of 9.00 USD, of which 9.00 are spent, is not enough" in said
