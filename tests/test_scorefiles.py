"""Score files of other tools: nested JSON lines, tables long and wide; a hole is a reason, never a number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from lmmscore.cli.scores import command
from lmmscore.dialogs import load_dialog
from lmmscore.errors import FileProblem
from lmmscore.scorefiles import Layout, read_score_file, scores_in
from lmmscore.scores import SCORE_COLUMNS, read_scores

JUDGES = Path(__file__).parents[1].parent / "shared" / "data" / "mllm-judge"
needs_data = pytest.mark.skipif(not JUDGES.is_dir(), reason="the judges' files are not beside the repository")


def nested(path: Path, lines: list[dict[str, object]]) -> str:
    """Write JSON lines and return the path."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def by_factor(spec: str) -> dict[tuple[str, str, str], float]:
    """The scores by item, method and factor."""
    table = read_score_file(spec)
    return {(r.item, r.method, r.factor): r.score for r in table.itertuples()}


def test_all_layouts_give_the_same_scores(tmp_path: Path) -> None:
    """Nested JSON, plain nested numbers, a long and a wide table of the same scores become the same table."""
    full = {
        "a": {"q": {"score": 5, "justification": "x"}, "r": {"score": "6"}},
        "b": {"q": {"score": 2}, "r": {"score": 3}},
    }
    rich = nested(tmp_path / "rich.jsonl", [{"image_id": k, "results": v} for k, v in full.items()])
    plain = nested(
        tmp_path / "plain.jsonl",
        [{"image_id": k, "results": {f: int(s["score"]) for f, s in v.items()}} for k, v in full.items()],
    )
    long, wide = tmp_path / "long.csv", tmp_path / "wide.csv"
    long.write_text("item,factor,score\na,q,5\na,r,6\nb,q,2\nb,r,3\n", encoding="utf-8")
    wide.write_text("item,note,q,r\na,fine,5,6\nb,bad,2,3\n", encoding="utf-8")
    expected = by_factor(rich)
    assert expected["a", "", "overall"] == 5.5
    assert all(by_factor(str(path)) == expected for path in (plain, long, wide))


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(-9, 9).map(lambda n: n / 4), min_size=1))
@settings(max_examples=40, deadline=None)
def test_whatever_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, scores: dict[str, float]
) -> None:
    """Any scores of any factors survive the way through a file of another tool and our own scores.csv."""
    folder = tmp_path_factory.mktemp("s")
    spec = nested(folder / "j.jsonl", [{"id": "x", "r": {k: {"score": v} for k, v in scores.items()}}])
    out = folder / "scores.csv"
    assert CliRunner().invoke(command, [spec, "--out", str(out)]).exit_code == 0
    table = read_scores(out)
    assert tuple(table.columns) == SCORE_COLUMNS
    found = dict(zip(table["factor"], table["score"], strict=True))
    assert {k: found[k] for k in scores} == scores
    assert found["overall"] == pytest.approx(sum(scores.values()) / len(scores))


def test_a_missing_factor_leaves_no_overall(tmp_path: Path) -> None:
    """The overall is never a mean over the factors that happen to be there; the reason names the line."""
    spec = nested(
        tmp_path / "j.jsonl",
        [{"id": "a", "r": {"q": 5, "s": 6}}, {"id": "b", "r": {"q": 5}}, {"id": "c", "r": None}],
    )
    table = read_score_file(spec)
    of_b = table[table["item"] == "b"].set_index("factor")
    assert of_b.loc["overall", "outcome"] == "unreadable"
    assert of_b["score"].isna().tolist() == [False, True, True]
    assert "j.jsonl:2: no score for s" in of_b.loc["overall", "reason"]
    assert table[table["item"] == "c"]["score"].isna().all()


def test_a_score_off_the_dialogs_scale_is_unreadable(tmp_path: Path) -> None:
    """With a dialog named, 11 on a scale of 10 and `true` are no scores, and the command ends with 3."""
    keys = [factor.key for factor in load_dialog("lmm-score").factors]
    good, bad = dict.fromkeys(keys, 7), dict.fromkeys(keys, 7) | {keys[0]: 11, keys[1]: True}
    spec = nested(tmp_path / "j.jsonl", [{"id": "a", "r": good}, {"id": "b", "r": bad}])
    result = CliRunner().invoke(command, [spec, "--dialog", "lmm-score"])
    assert result.exit_code == 3
    assert "2 scores are missing" in result.stderr and "11 is outside" in result.stderr
    assert "b,,,1,,overall,,unreadable" in result.stdout


def test_a_factor_the_dialog_does_not_know_is_named(tmp_path: Path) -> None:
    """The nearest factor of the dialog is suggested."""
    key = load_dialog("lmm-score").factors[0].key
    spec = nested(tmp_path / "j.jsonl", [{"id": "a", "r": {key + "s": 5}}])
    with pytest.raises(FileProblem, match=f"did you mean {key}"):
        scores_in(spec, dialog=load_dialog("lmm-score"))


def test_methods_tasks_and_repeats_are_kept(tmp_path: Path) -> None:
    """A column each for method, task and repeat; or the task found in the id by a pattern."""
    path = tmp_path / "wide.csv"
    path.write_text("item,model,category,repeat,q\na_add_1,X,add,1,3\na_add_1,X,add,2,4\n", encoding="utf-8")
    table = read_score_file(str(path))
    assert table[["method", "task", "repeat"]].drop_duplicates().values.tolist() == [
        ["X", "add", 1],
        ["X", "add", 2],
    ]
    other = tmp_path / "plain.csv"
    other.write_text("item,q\na_add_1,3\n", encoding="utf-8")
    found = read_score_file(str(other), Layout(task_pattern=r"_([a-z]+)_"))
    assert set(found["task"]) == {"add"}


@pytest.mark.parametrize(
    ("lines", "field", "said"),
    [
        ([{"id": "a", "x": {"q": 1}, "y": {"q": 2}}], "", "scores stand under x, y; choose one"),
        ([{"id": "a", "online": {"q": 1}}], ":onlin", "no field 'onlin'; did you mean online?"),
        ([{"nr": "a", "x": {"q": 1}}], "", "which column is the item? Say --item-column NAME"),
        ([{"id": "a", "x": {"q": 1}}, {"id": "a", "x": {"q": 2}}], "", "'a' was scored before"),
        ([{"id": "a", "x": "fine"}], "", "no scores in it"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said(
    tmp_path: Path, lines: list[dict[str, object]], field: str, said: str
) -> None:
    """Each problem is one line with the file and the remedy."""
    with pytest.raises(FileProblem) as caught:
        read_score_file(nested(tmp_path / "j.jsonl", lines) + field)
    assert said in str(caught.value)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    """JSON that does not parse is pointed at by line and column."""
    path = tmp_path / "j.jsonl"
    path.write_text('{"id": "a", "r": {"q": 1}}\n{"id": \n', encoding="utf-8")
    with pytest.raises(FileProblem, match=r"j\.jsonl:2: not JSON"):
        read_score_file(str(path))


@needs_data
def test_the_published_judges_are_read_whole() -> None:
    """357 images with twelve factors and an overall each, nothing missing."""
    table = read_score_file(f"{JUDGES / 'judge_main.jsonl'}:offline_factor_results")
    assert len(table) == 357 * 13
    assert table["score"].notna().all()
    assert table["score"].between(1, 7).all()
