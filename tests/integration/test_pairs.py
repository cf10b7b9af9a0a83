"""Runs that compare pairs of edits: what is asked, what is kept, how methods are ranked."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import lmmscore
from lmmscore.conversation import Conversation
from lmmscore.errors import LmmscoreError
from lmmscore.plan import chosen_pairs
from tests.conftest import ScriptedJudge

Maker = Callable[..., Path]
METHODS = ("alpha", "beta", "gamma")

PAIRS = """
dialog: pairwise
version: 1
title: Which is better?
covers: pair
turns:
  - name: judge
    read: winner
    form: {words: {"[[A>B]]": first, "[[B>A]]": second, "[[A=B=Good]]": tie, "[[A=B=Bad]]": tie}}
    say: "Which? Source: {{show.source}} A: {{show.first}} B: {{show.second}} {{instruction}}"
overall: bradley-terry
repair: {say: "Please give a verdict. {{problems}}"}
"""


def written(tmp_path: Path, **changes: Any) -> str:
    path = tmp_path / "pairwise.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(PAIRS), **changes}))
    return str(path)


def shown(conversation: Conversation) -> tuple[str, str]:
    """Return the methods whose edits the judge sees, first and second."""
    assert conversation.message is not None
    _, first, second = (image.path.stem.split("_")[1] for image in _three(conversation))
    return first, second


def _three(conversation: Conversation) -> Any:
    assert conversation.message is not None
    source, first, second = conversation.message.images
    return [source.__class__, first, second] and conversation.message.images


def better(*ranking: str) -> ScriptedJudge:
    """A judge that prefers by method, whatever the order."""

    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        first, second = [image.path.stem.split("_")[1] for image in conversation.message.images[1:]]
        return "[[A>B]]" if ranking.index(first) < ranking.index(second) else "[[B>A]]"

    return ScriptedJudge(answer)


def rows(run: lmmscore.Run) -> list[dict[str, str]]:
    with (run.path / "pairs.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_pair_is_asked_in_both_orders(tmp_path: Path, make_benchmark: Maker) -> None:
    """Three methods on two items: three pairs, two orders each; pairs.csv has a line for each."""
    judge = better(*METHODS)
    run = lmmscore.run(make_benchmark(), written(tmp_path), judge, out=tmp_path / "r")
    found = rows(run)
    assert len(judge.asked) == len(found) == 2 * 3 * 2
    assert list(found[0])[:9] == [
        *("item", "task", "method_a", "method_b", "order"),
        *("repeat", "winner", "outcome", "reason"),
    ]
    assert Counter(row["order"] for row in found) == {"ab": 6, "ba": 6}
    assert all(row["winner"] == row["method_a"] for row in found)
    assert run.settings["unscored"] == 0
