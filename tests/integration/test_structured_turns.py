"""Only the scoring turn of a prose dialog is held to a schema, and every table says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import lmmscore
from lmmscore.cli import lmmscore as program
from lmmscore.conversation import Conversation
from lmmscore.errors import LmmscoreError
from lmmscore.publish import publish, verify
from lmmscore.run_folder import open_run
from tests.conftest import ScriptedJudge, fair_answer


def held_answer(conversation: Conversation) -> str:
    """Answer as a server does that is held to the schema where there is one."""
    message = conversation.message
    assert message is not None
    if not message.schema:
        return fair_answer(conversation)
    images = json.loads(message.schema)["properties"]
    reply = {
        image: {factor: {"justification": "Fine.", "score": 7} for factor in made["properties"]}
        for image, made in images.items()
    }
    return json.dumps(reply)


@pytest.fixture
def judged(make_benchmark: Callable[..., Path], tmp_path: Path) -> tuple[Path, ScriptedJudge, Path]:
    bench = make_benchmark(items=1, methods=("one", "two"))
    judge = ScriptedJudge(held_answer)
    run = lmmscore.run(bench, judge=judge, out=tmp_path / "run", structured_turns="scores")
    return run.path, judge, bench


def test_only_the_scoring_turn_has_a_schema(judged):
    """One object for each image, each factor with its justification before its score."""
    path, judge, _ = judged
    schemas = [each.message.schema for each in judge.asked if each.message.schema]
    assert len(schemas) == 1
    schema = json.loads(schemas[0])
    assert list(schema["properties"]) == ["image_1", "image_2"]
    factors = schema["properties"]["image_1"]["properties"]
    assert list(factors) == ["acc", "pre", "qua", "real"]
    assert list(factors["acc"]["properties"]) == ["justification", "score"]
    scores = open_run(path).scores()
    assert (scores["score"] == 7).all()


def test_it_is_a_variant_that_every_table_names(judged):
    """Nobody takes its scores for those of the protocol as published."""
    path, _, _ = judged
    assert open_run(path).manifest.structured_turns == "scores"
    for format in ("term", "md", "tex", "csv", "json"):
        done = CliRunner().invoke(program, ["leaderboard", str(path), "--format", format])
        assert done.exit_code == 0, done.output
        words = " ".join((done.stdout + done.stderr).replace("\\", "").split())
        assert "structured-turns scores" in words, format


def test_such_a_run_is_replayed_and_verified(judged, tmp_path):
    """The schema is a part of what was asked."""
    path, _, bench = judged
    again = lmmscore.run(bench, judge=f"replay:{path}", out=tmp_path / "again")
    assert (again.path / "scores.csv").read_bytes() == (path / "scores.csv").read_bytes()
    publish(open_run(path), tmp_path / "run.zip")
    assert verify(tmp_path / "run.zip").problems == ()


def test_a_folder_holds_one_variant(judged):
    """The same folder does not mix scores given in prose with these."""
    path, _, bench = judged
    with pytest.raises(LmmscoreError, match="--structured-turns"):
        lmmscore.run(bench, judge=ScriptedJudge(held_answer), out=path)


def test_it_is_refused_beside_structured_and_where_nothing_is_scored(make_benchmark):
    """Each message says what to leave out."""
    bench = make_benchmark(items=1)
    with pytest.raises(LmmscoreError, match="leave out one"):
        lmmscore.run(
            bench,
            judge=ScriptedJudge(held_answer),
            structured_turns="scores",
            judge_options={"structured": True},
        )
    with pytest.raises(LmmscoreError, match="known: scores"):
        lmmscore.run(bench, judge=ScriptedJudge(held_answer), structured_turns="all")
    with pytest.raises(LmmscoreError, match="--structured-turns scores"):
        lmmscore.run(bench, judge=ScriptedJudge(held_answer), judge_options={"structured": True})
