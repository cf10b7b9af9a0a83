"""Whole runs with dialogs and suites of format 2."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import lmmscore
from lmmscore.cli import lmmscore as program
from lmmscore.conversation import Conversation
from lmmscore.errors import BenchmarkError, DialogError
from lmmscore.records import Reply
from tests.conftest import ScriptedJudge, picture
from tests.unit.test_format_2 import POSE, RISE, pose_reply

Maker = Callable[..., Path]


def written(folder: Path, data: dict[str, Any]) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / f"{data.get('dialog') or data['suite']}.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return str(path)


def one_factor(name: str, key: str, **more: Any) -> dict[str, Any]:
    """Return a dialog that asks for one number."""
    return {
        "dialog": name,
        "version": 1,
        "title": name,
        "format": 2,
        "covers": "edit",
        "factors": [{"key": key, "scale": {"min": 0, "max": 10}}],
        "turns": [{"name": "judge", "read": "scores", "say": f"Give {key}: {{{{show.edit}}}}"}],
        "repair": {"say": "{{problems}}", "at_most": 0},
        **more,
    }


def number_judge(**scores: int) -> ScriptedJudge:
    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        key = conversation.message.text.split()[1].rstrip(":")
        return f"{key}: {scores[key]}"

    return ScriptedJudge(answer)


def test_a_factor_that_is_not_asked_is_no_missing_score(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Full coverage, nothing unscored, `--missing worst` changes nothing; the table says how many."""

    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        return f"Final Score: {3 if 'Sharp' in conversation.message.text else 5}"

    root = make_benchmark(items=4, methods=("a", "b"), tasks=("temporal", "logical"))
    run = lmmscore.run(
        root, written(tmp_path, yaml.safe_load(RISE)), ScriptedJudge(answer), out=tmp_path / "r"
    )
    assert run.manifest.unscored == 0
    board = run.leaderboard()
    assert [row.coverage for row in board.table().rows] == [1.0, 1.0]
    assert board.table().holes == 0
    assert [row.mean for row in board.table("temporal").rows] == pytest.approx([4.6, 4.6])
    assert [row.mean for row in board.table("logical").rows] == [5.0, 5.0]
    assert "quality was left out for 4 of 8 edits" in " ".join(board.table().notes)
    worst = run.leaderboard(missing="worst")
    assert [row.mean for row in worst.table().rows] == [row.mean for row in board.table().rows]
    quality = run.leaderboard(factor="quality", missing="worst").table()
    assert [(row.mean, row.n) for row in quality.rows] == [(3.0, 2), (3.0, 2)]
    weighed = run.leaderboard(weights={"reasoning": 1, "quality": 1}).table("logical")
    assert [(row.mean, row.coverage) for row in weighed.rows] == [(5.0, 1.0), (5.0, 1.0)]


def test_a_failure_is_still_missing_and_worst_is_the_rules_lowest(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A protocol that counts failures as 0 is served by `--missing worst`; no number is put in its place."""

    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        name = conversation.messages[0].images[-1].path.stem
        return "I cannot tell." if name == "i0_a" else pose_reply(*["MATCH"] * 4)

    root = make_benchmark(items=2, methods=("a",), kinds=("source", "reference"))
    dialog = {**POSE, "overall": {"rule": "mean", "scaled_to": [-1, 1]}}
    run = lmmscore.run(root, written(tmp_path, dialog), ScriptedJudge(answer), out=tmp_path / "r")
    assert run.manifest.unscored == 1
    assert run.leaderboard().table().rows[0].mean == 1
    assert run.leaderboard(missing="worst").table().rows[0].mean == 0


def test_suites_take_rules_and_hold_suites(tmp_path: Path, make_benchmark: Maker) -> None:
    """√(min(a, b) · c), with the inner suite's overall under its own name; members lie beside the suite."""
    folder = tmp_path / "protocols"
    for key in "abc":
        written(folder, one_factor(f"dialog-{key}", key))
    inner = {"suite": "inner", "version": 1, "title": "I", "format": 2}
    written(folder, {**inner, "members": ["dialog-a", "dialog-b"], "overall": "min"})
    outer = {"suite": "outer", "version": 1, "title": "O", "format": 2}
    rule = {"geometric": ["inner", "dialog-c"]}
    path = written(folder, {**outer, "members": ["inner", "dialog-c"], "overall": rule})
    judge = number_judge(a=9, b=4, c=9)
    root = make_benchmark(items=1, methods=("m",))
    run = lmmscore.run(root, path, judge, out=tmp_path / "r")
    scores = {row.factor: row.score for row in run.scores().itertuples()}
    assert scores == {
        "a": 9,
        "b": 4,
        "c": 9,
        "dialog-a": 9,
        "dialog-b": 4,
        "inner": 4,
        "dialog-c": 9,
        "overall": 6,
    }
    again = lmmscore.run(root, judge=f"replay:{run.path}", out=tmp_path / "again")
    assert (again.path / "scores.csv").read_bytes() == (run.path / "scores.csv").read_bytes()


def test_a_gate_saves_calls_and_counts_the_rest_as_zero(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Where a member is 0 the later ones are not asked: half of (0 + 0)."""
    for key in "ab":
        written(tmp_path, one_factor(f"dialog-{key}", key))
    suite = {"suite": "gated", "version": 1, "title": "G", "format": 2, "gate": True}
    path = written(tmp_path, {**suite, "members": ["dialog-a", "dialog-b"], "overall": "mean"})
    judge = number_judge(a=0, b=8)
    run = lmmscore.run(make_benchmark(items=1, methods=("m",)), path, judge, out=tmp_path / "r")
    assert len(judge.asked) == 1
    final = run.scores().iloc[-1]
    assert (final["score"], final["reason"]) == (0, "dialog-a is 0, so the rest was not asked")


def test_a_member_that_does_not_apply_does_not_count(tmp_path: Path, make_benchmark: Maker) -> None:
    """Asked of one task only: for the other the suite is the other member's overall."""
    written(tmp_path, one_factor("dialog-a", "a"))
    only = one_factor("dialog-b", "b")
    only["turns"][0]["when"] = {"task": "shape"}
    written(tmp_path, only)
    suite = {"suite": "both", "version": 1, "title": "B", "format": 2}
    path = written(tmp_path, {**suite, "members": ["dialog-a", "dialog-b"], "overall": "mean"})
    root = make_benchmark(items=2, methods=("m",), tasks=("colour", "shape"))
    run = lmmscore.run(root, path, number_judge(a=4, b=8), out=tmp_path / "r")
    table = run.scores()
    overall = table[table["factor"] == "overall"]["score"].tolist()
    assert overall == [4, 6]
    assert run.manifest.unscored == 0


@pytest.mark.parametrize(
    ("suite", "says"),
    [
        ({"members": ["dialog-a", "same-a"], "overall": "mean"}, "factor name a is taken"),
        ({"members": ["dialog-a", "no-overall"], "overall": "mean"}, "no-overall gives no overall"),
        ({"members": ["dialog-a"], "overall": {"mean": ["dialog-x"]}}, "unknown name dialog-x"),
        ({"members": ["dialog-a", "suite"], "overall": "mean"}, "holds itself"),
        ({"members": ["dialog-a"], "combine": "mean", "format": 1, "gates": True}, "gates"),
        ({"members": ["dialog-a"], "overall": "weighted"}, "cannot be used in a suite"),
        ({"members": ["pairs"], "overall": "mean"}, "compare pairs"),
        ({"members": ["open"], "overall": "mean"}, "leaves a question open, scale"),
    ],
)
def test_check_refuses_what_run_would_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suite: dict[str, Any], says: str
) -> None:
    """Shared factors, members without an overall, unknown names, suites in circles, open questions."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "dialogs"
    written(folder, one_factor("dialog-a", "a"))
    written(folder, one_factor("same-a", "a"))
    two = [{"key": key, "scale": {"min": 0, "max": 1}} for key in ("x", "y")]
    written(folder, one_factor("no-overall", "x", factors=two))
    written(folder, one_factor("open", "x", questions={"scale": "Which?"}))
    pair = {"name": "j", "read": "winner", "say": "{{show.first}}{{show.second}}"}
    written(folder, one_factor("pairs", "x", covers="pair", factors=[], turns=[pair]))
    path = written(folder, {"suite": "suite", "version": 1, "title": "S", "format": 2, **suite})
    found = CliRunner().invoke(program, ["dialogs", "check", path])
    assert found.exit_code == 1
    assert says in found.output
    with pytest.raises(DialogError, match=says):
        lmmscore.run(tmp_path / "none", path, out=tmp_path / "r")


def test_check_and_show_know_format_2(tmp_path: Path) -> None:
    """`check` says ok; `show` puts the kind of each picture where it stands, and says what is fresh."""
    path = written(tmp_path, yaml.safe_load(RISE))
    runner = CliRunner()
    assert runner.invoke(program, ["dialogs", "check", path]).output == f"ok: {path}\n"
    shown = runner.invoke(program, ["dialogs", "show", path, "--task", "temporal"]).output
    assert "Kept? [source image][edit image]" in shown
    assert "a new conversation" in shown
    assert "quality" in shown
    logical = runner.invoke(program, ["dialogs", "show", path, "--task", "logical"]).output
    assert "Sharp?" not in logical


def test_an_item_of_which_nothing_is_asked_is_refused_before_the_run(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """With its task, and what to do."""
    data = one_factor("dialog-a", "a")
    data["turns"][0]["when"] = {"task": "shape"}
    judge = number_judge(a=1)
    with pytest.raises(BenchmarkError, match=r"asks nothing of item i0 \(task colour\)"):
        lmmscore.run(make_benchmark(), written(tmp_path, data), judge, out=tmp_path / "r")
    assert judge.asked == []


def test_only_items_that_are_shown_a_picture_need_it(tmp_path: Path, make_benchmark: Maker) -> None:
    """A picture that a turn shows for one task is asked for from the items of that task alone."""
    data = one_factor("dialog-a", "a")
    reference = {**data["turns"][0], "name": "with", "when": {"task": "shape"}}
    reference["say"] = "Give a: {{show.reference}}{{show.edit}}"
    plain = {**data["turns"][0], "when": {"task": "colour"}}
    path = written(tmp_path, {**data, "turns": [plain, reference]})
    root = make_benchmark(items=2, methods=("m",), tasks=("colour", "shape"))
    with pytest.raises(BenchmarkError, match="reference image, which 1 of 1 item lacks: i1"):
        lmmscore.run(root, path, number_judge(a=1), out=tmp_path / "r")
    run = lmmscore.run(root, path, number_judge(a=1), out=tmp_path / "s", tasks=["colour"])
    assert run.manifest.unscored == 0


def test_words_for_one_task_need_only_their_own_pictures(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """`say_for` replaces the words, and with them the pictures that stand between these."""
    turn = {
        "name": "judge",
        "read": "scores",
        "say": "Give fit: {{show.mask}}{{show.edit}}",
        "say_for": {"plain": "Give fit: {{show.edit}}"},
    }
    dialog = written(tmp_path, one_factor("masked", "fit", turns=[turn]))
    plain = make_benchmark(items=2, methods=("a", "b"), tasks=("plain",))
    lmmscore.run(plain, dialog, number_judge(fit=3), out=tmp_path / "r")
    other = make_benchmark(items=2, methods=("a", "b"), tasks=("other",))
    with pytest.raises(BenchmarkError, match="shows the mask image"):
        lmmscore.run(other, dialog, number_judge(fit=3), out=tmp_path / "o")


def test_a_column_of_some_items_is_empty_for_the_others(tmp_path: Path) -> None:
    """A column nobody has is refused before anything is asked, with the nearest there is."""
    items = []
    for number, fields in enumerate([{"hint": "warm"}, {}]):
        picture(tmp_path / "b" / f"{number}.png", (number, 2, 3))
        edits = {"a": f"{number}.png"}
        row = {"id": str(number), "task": "t", "instruction": "x", "edits": edits}
        items.append({**row, "fields": fields})
    (tmp_path / "b" / "benchmark.yaml").write_text(json.dumps({"name": "b", "items": items}))

    said = []

    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        said.append(conversation.message.text)
        return "fit: 3"

    turn = {"name": "judge", "read": "scores", "say": "Hint {{field.hint}}. {{show.edit}}"}
    dialog = one_factor("hinted", "fit", turns=[turn])
    lmmscore.run(
        tmp_path / "b", written(tmp_path, dialog), ScriptedJudge(answer), out=tmp_path / "r"
    )
    assert sorted(said) == ["Hint . ", "Hint warm. "]
    dialog["turns"] = [{**turn, "say": "Hint {{field.hintt}}. {{show.edit}}"}]
    with pytest.raises(BenchmarkError, match=r"\{\{field.hintt\}\}.*did you mean hint"):
        lmmscore.run(
            tmp_path / "b", written(tmp_path, dialog), number_judge(fit=1), out=tmp_path / "s"
        )


def test_examples_travel_with_the_run(tmp_path: Path, make_benchmark: Maker) -> None:
    """A run whose dialog shows pictures of its own is replayed where the dialog is gone."""
    folder = tmp_path / "protocols"
    data = one_factor("dialog-a", "a")
    shot = {"name": "shot", "show": ["shots/1.png"], "say": "This?", "heard": "a: 3"}
    picture(folder / "shots" / "1.png")
    path = written(folder, {**data, "turns": [shot, *data["turns"]]})
    root = make_benchmark(items=1, methods=("m",))
    run = lmmscore.run(root, path, number_judge(a=7), out=tmp_path / "r")
    folder.rename(tmp_path / "elsewhere")
    again = lmmscore.run(root, judge=f"replay:{run.path}", out=tmp_path / "again")
    assert again.scores()["score"].tolist() == [7, 7]


def test_expected_scores_stand_beside_the_stated_ones(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Asked for with --logprobs: one more column, and the stated score is what counts."""
    tops = [{"token": "7", "logprob": math.log(0.5)}, {"token": "5", "logprob": math.log(0.5)}]
    tokens = [{"token": "a: "}, {"token": "7", "top_logprobs": tops}]

    def answer(_: Conversation) -> Reply:
        return Reply("a: 7", also=json.dumps({"logprobs": {"content": tokens}}))

    judge = ScriptedJudge(answer, parameters={"logprobs": True})
    root = make_benchmark(items=1, methods=("m",))
    path = written(tmp_path, one_factor("dialog-a", "a"))
    run = lmmscore.run(root, path, judge, out=tmp_path / "r")
    assert run.scores()["score"].tolist() == [7, 7]
    assert run.scores()["expected"].tolist() == ["6.0000", "6.0000"]
    shown = CliRunner().invoke(program, ["leaderboard", str(run.path), "--expected", "--json"])
    assert json.loads(shown.output)["tables"][0]["rows"][0]["mean"] == 6
