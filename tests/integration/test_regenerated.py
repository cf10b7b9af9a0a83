"""A paper's table from its own data: VIEScore's folders of answers and ImagenHub's ratings."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from lmmscore.cli import lmmscore as main

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "viescore"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="VIEScore's published data is not here")


def typed(*words: str) -> str:
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@needs_data
@pytest.mark.parametrize("judge", ["gpt4o_0shot", "gpt4v_0shot"])
def test_every_published_cell_is_met(judge: str, tmp_path: Path) -> None:
    """SC and PQ to four decimals, O to 0.001; the printed average is tanh of our mean."""
    scores = tmp_path / "scores.csv"
    typed("scores", str(DATA / "answers" / f"results_{judge}"), "--out", str(scores))
    words = ("--scores", str(scores), "--human", str(DATA / "human"), "--level", "within-method")
    found = {}
    for row in json.loads(typed("agree", *words, "--json"))["rows"]:
        if row["statistic"] == "spearman":
            found[row["task"], row["method"], row["factor"], row["averaging"]] = row["value"]
    cells = 0
    with (DATA / "figures.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if line["judge"] != judge:
                continue
            cells += 1
            tolerance = 1e-3 if line["factor"] == "O" else 5.01e-5
            printed = float(line["spearman"])
            if line["method"].startswith("("):
                mean = found[line["task"], None, line["factor"], "mean"]
                assert math.tanh(mean) == pytest.approx(printed, abs=tolerance)
            else:
                ours = found[line["task"], line["method"], line["factor"], None]
                assert ours == pytest.approx(printed, abs=tolerance), line
    assert cells == 54


def answers(root: Path, scores: dict[str, dict[str, dict[str, object]]]) -> Path:
    """Write METHOD → METRIC → item → score as a task folder of VIEScore's layout."""
    for method, metrics in scores.items():
        folder = root / "results" / "Task_A" / method
        folder.mkdir(parents=True)
        for metric, items in metrics.items():
            entries = {item: {"score": score, "reasoning": ""} for item, score in items.items()}
            (folder / f"{metric}.json").write_text(json.dumps(entries), encoding="utf-8")
    return root / "results"


def test_the_rule_of_the_layout_is_applied_and_said(tmp_path: Path) -> None:
    """The least of a list, cut to whole numbers, over 10, within 0 and 1; only items in both files."""
    folder = answers(
        tmp_path,
        {
            "M": {
                "SC": {"a": [8.5, 9], "b": [12], "c": 7.5, "only": [3]},
                "PQ": {"a": [4, 9], "b": [-2, 5], "c": ["6"]},
            }
        },
    )
    out = tmp_path / "scores.csv"
    done = CliRunner().invoke(main, ["scores", str(folder), "--out", str(out)])
    assert done.exit_code == 0
    assert "the lowest number of its list" in done.stderr
    assert "excluded: 1 edit with a score in some of their method's files" in done.stderr
    with out.open(encoding="utf-8") as file:
        read = {(row["item"], row["factor"]): float(row["score"]) for row in csv.DictReader(file)}
    assert read["a", "SC"] == 0.8 and read["a", "PQ"] == 0.4
    assert read["a", "O"] == pytest.approx(math.sqrt(0.32))
    assert read["b", "SC"] == 1 and read["b", "PQ"] == 0
    assert read["c", "SC"] == 0.75 and read["c", "PQ"] == 0.6
    assert not any(item == "only" for item, _ in read)


def test_an_unreadable_score_is_a_reason_never_a_number(tmp_path: Path) -> None:
    """Words in the place of a number leave the edit unscored, and O with it; the exit code is 3."""
    folder = answers(tmp_path, {"M": {"SC": {"a": ["n/a"], "b": [5]}, "PQ": {"a": [4], "b": [6]}}})
    out = tmp_path / "scores.csv"
    done = CliRunner().invoke(main, ["scores", str(folder), "--out", str(out)])
    assert done.exit_code == 3
    with out.open(encoding="utf-8") as file:
        rows = {(row["item"], row["factor"]): row for row in csv.DictReader(file)}
    assert rows["a", "SC"]["score"] == rows["a", "O"]["score"] == ""
    assert rows["a", "SC"]["outcome"] == "unreadable"
    assert rows["b", "SC"]["score"] == "0.5"


def test_ratings_with_a_column_per_method_are_read_task_by_task(tmp_path: Path) -> None:
    """One folder per task, one file per rater, lists in cells: raters of two tasks are the same."""
    for task in ("Task_A", "Task_B"):
        folder = tmp_path / "human" / task
        folder.mkdir(parents=True)
        for rater in (1, 2, 3):
            text = f"uid\tM\tN\nx\t[0.5, 1]\t[0,0]\ny\t[{rater / 4}, 0.25]\t\n"
            (folder / f"{task}_IE_rater{rater}.tsv").write_text(text, encoding="utf-8")
    from lmmscore.score_files import read_ratings

    found = read_ratings([tmp_path / "human"])
    table = found.table
    assert set(table["rater"]) == {"rater1", "rater2", "rater3"}
    assert set(table["task"]) == {"Task_A", "Task_B"}
    assert set(table["factor"]) == {"SC", "PQ", "O"}
    one = table[(table["item"] == "y") & (table["rater"] == "rater1") & (table["task"] == "Task_A")]
    assert dict(zip(one["factor"], one["score"], strict=True)) == {
        "SC": 0.25,
        "PQ": 0.25,
        "O": 0.25,
    }
    assert len(table) == 2 * 3 * 3 * 3
    assert any("VIEScore's rule" in note for note in found.notes)


def test_printed_averages_are_held_against_their_lines(tmp_path: Path) -> None:
    """An average that is neither the mean nor Fisher's is named, with what it is if that is known."""
    table = tmp_path / "figures.csv"
    mean = (0.2 + 0.5 + 0.8) / 3
    rows = ["task,method,spearman", "t,A,0.2000", "t,B,0.5000", "t,C,0.8000"]
    rows.append(f"t,average,{math.tanh(mean):.4f}")
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = json.loads(typed("published", "check", str(table), "--json"))["problems"]
    assert [problem["kind"] for problem in found] == ["average-contradicts-rows"]
    assert "transformed back" in found[0]["says"]
    table.write_text("\n".join([*rows[:4], "t,average,0.5", "t,D,1.2"]), encoding="utf-8")
    found = json.loads(typed("published", "check", str(table), "--json"))["problems"]
    assert "correlation-outside-range" in {problem["kind"] for problem in found}
