"""From Python: what a program gets prints, converts and reports itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import lmmscore
from lmmscore.errors import LmmscoreError
from lmmscore.results import RunResult
from tests import hostile
from tests.command_line import lmm

DEMO = Path(__file__).parents[2] / "media" / "demo"
FEW = ["--resamples", "100"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """A real run of two items."""
    out = tmp_path_factory.mktemp("results") / "two"
    return lmmscore.run(DEMO, out=out, items=["boat", "car"])


@pytest.fixture(scope="module")
def ratings(run: RunResult) -> Path:
    """Ratings made up for the test."""
    methods = run.manifest.methods
    return hostile.ratings(run.path.parent / "human.csv", ["boat", "car"], methods)


def test_the_package_shows_what_there_is() -> None:
    """`dir(lmmscore)` lists the functions a program needs, and importing it costs little."""
    assert {"run", "open_run", "rank", "agree", "read_ratings", "render"} <= set(dir(lmmscore))
    code = "import lmmscore, sys; dir(lmmscore); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_run_is_opened_by_its_path(run: RunResult) -> None:
    """A string will do, as on the command line."""
    assert lmmscore.open_run(str(run.path)).scores().equals(run.scores())


def test_a_leaderboard_prints_and_converts(run: RunResult) -> None:
    """Printed it is the table of the command; LaTeX and Markdown are a method away."""
    board = run.leaderboard(resamples=100)
    assert "CleanEdit" in str(board) and "Rank interval" in str(board)
    assert r"\begin{tabular}" in board.to_latex()
    assert "| Rank | Method |" in board.to_markdown()
    assert board.to_csv().startswith("task,factor,rank,method")
    assert '"tables"' in board.to_json()


def test_scores_are_ranked_from_a_table_or_its_file(run: RunResult) -> None:
    """`rank` takes a frame or a path."""
    path = str(run.path / "scores.csv")
    assert str(lmmscore.rank(path, resamples=50)) == str(lmmscore.rank(run.scores(), resamples=50))


def test_agree_takes_runs_paths_and_tables(run: RunResult, ratings: Path) -> None:
    """However judge and ratings are given, the figures are the same."""
    frame = lmmscore.read_ratings(ratings)
    assert isinstance(frame, pd.DataFrame) and {"item", "rater", "score"} <= set(frame.columns)
    options = {"resamples": 100}
    answers = [
        lmmscore.agree(run, ratings, **options),
        lmmscore.agree(str(run.path), [str(ratings)], **options),
        lmmscore.agree({"two": run}, frame, **options),
    ]
    values = [answer.to_frame()["value"].round(6) for answer in answers]
    assert values[0].equals(values[1]) and values[0].equals(values[2])
    assert answers[0].judges == ["two"]
    assert "Spearman" in str(answers[0]) and "tabular" in answers[0].to_latex()
    assert answers[0].plot("bland-altman")._repr_png_().startswith(b"\x89PNG")


def test_two_judges_of_one_name_are_refused(run: RunResult, ratings: Path) -> None:
    """The message says how to tell them apart."""
    with pytest.raises(LmmscoreError, match="give them by name"):
        lmmscore.agree([run, run.path], ratings)


def test_an_item_shows_its_pictures_in_a_notebook(run: RunResult) -> None:
    """Source and edits stand side by side with their scores; an unknown item is refused."""
    shown = run.item("boat")
    assert shown._repr_html_().count("<img") == 7
    assert "CleanEdit" in repr(shown)
    with pytest.raises(LmmscoreError, match="no item 'boot'"):
        run.item("boot")


def test_a_run_writes_its_report(run: RunResult, tmp_path: Path) -> None:
    """`run.report()` writes the page beside the run, or where it is told to."""
    assert run.report() == run.path / "report.html"
    assert run.report(tmp_path / "mine.html", full_images=True).stat().st_size > 100_000


@pytest.fixture(scope="module")
def on_20(run: RunResult) -> Path:
    """The same run again, as if its judge had scored on scales up to 20."""
    folder = run.path.with_name("twenty")
    shutil.copytree(run.path, folder)
    record = folder / "run.yaml"
    found = yaml.safe_load(record.read_text(encoding="utf-8"))
    for factor in found["factors"]:
        factor["max"] = 20.0

    if found.get("overall_scale"):
        found["overall_scale"] = [1.0, 20.0]

    record.write_text(yaml.safe_dump(found, sort_keys=False), encoding="utf-8")
    return folder


@pytest.mark.parametrize("last", [0, 1], ids=["twenty last", "twenty first"])
def test_no_judge_is_measured_on_the_scale_of_another(
    run: RunResult, on_20: Path, ratings: Path, last: int
) -> None:
    """People rated on 1 to 10: in whichever order runs are named, only that one has an MAE."""
    folders = [str(run.path), str(on_20)]
    folders = folders[::-1] if last else folders
    known = lmmscore.open_run(run.path).manifest.scales()["overall"]
    found = lmmscore.agree(folders, ratings, scale=known, factors="overall", resamples=100)
    values = {row.judge: row.value for row in found.rows if _is_overall_mae(asdict(row))}
    assert values["two"] is not None and values["twenty"] is None

    low, high = known
    human = ["--human", str(ratings), "--scale", f"{low:g},{high:g}", "--resamples", "100"]
    typed = json.loads(lmm("agree", *folders, *human, "--factor", "overall", "--json").stdout)
    values = {row["judge"]: row["value"] for row in typed["rows"] if _is_overall_mae(row)}
    assert values["two"] is not None and values["twenty"] is None

    page = on_20.parent / "page.html"
    lmm("report", *folders, *human, "--out", str(page))
    assert "twenty: no MAE" in page.read_text(encoding="utf-8")


def test_runs_on_different_scales_are_not_pooled_on_that_of_the_first(
    run: RunResult, on_20: Path
) -> None:
    """Intervals end where a scale does, if all runs have that scale; who is first changes nothing."""
    folders = [str(run.path), str(on_20)]
    found = []
    for order in (folders, folders[::-1]):
        typed = json.loads(lmm("leaderboard", *order, "--anyway", "--json", *FEW).stdout)
        lines = [row for table in typed["tables"] for row in table["rows"]]
        found.append([(row["method"], row["mean_interval"]) for row in lines])
    assert found[0] == found[1]
    assert any(interval and interval[1] > 20 for _, interval in found[0])


def _is_overall_mae(row: Mapping[str, Any]) -> bool:
    return (row["factor"], row["level"], row["statistic"]) == ("overall", "item", "mae")


@pytest.fixture(scope="module")
def other_weights(run: RunResult) -> Path:
    """The same run again, as if its dialog had weighed the first factor alone."""
    folder = run.path.with_name("lopsided")
    shutil.copytree(run.path, folder)
    record = folder / "run.yaml"
    found = yaml.safe_load(record.read_text(encoding="utf-8"))
    for place, factor in enumerate(found["factors"]):
        factor["weight"] = 0.0 if place else 1.0

    record.write_text(yaml.safe_dump(found, sort_keys=False), encoding="utf-8")
    return folder


def test_peoples_overall_is_not_weighted_as_whichever_judge_is_named_first(
    run: RunResult, other_weights: Path, tmp_path: Path
) -> None:
    """Where judges weigh factors differently, people's overall is a plain mean, and a note says so."""
    factors = [factor.key for factor in run.manifest.factors]
    people = pd.DataFrame(
        [
            {"item": item, "method": method, "rater": f"r{rater}"}
            | {key: 1 + (3 * a + 5 * b + 2 * rater + c * a) % 10 for c, key in enumerate(factors)}
            for a, item in enumerate(("boat", "car"))
            for b, method in enumerate(run.manifest.methods)
            for rater in range(2)
        ]
    )
    human = tmp_path / "human.csv"
    people.to_csv(human, index=False)
    plain = people[factors].mean(axis=1).mean()

    folders = [str(run.path), str(other_weights)]
    for order in (folders, folders[::-1]):
        found = lmmscore.agree(order, human, resamples=100)
        typed = json.loads(lmm("agree", *order, "--human", human, "--json", *FEW).stdout)
        rows = [row for row in typed["people"] if row["statistic"] == "mean_over_ratings"]
        own = found.people_row("overall", "mean_over_ratings")
        assert own is not None and own.value == pytest.approx(plain)
        assert [row["value"] for row in rows if row["factor"] == "overall"] == [
            pytest.approx(plain)
        ]
        assert any("weigh factors differently" in note for note in found.notes)
        assert any("weigh factors differently" in note for note in typed["notes"])
        # A number that nobody gave is in no headline.
        assert found.headline_factors[0] != "overall"

    page = tmp_path / "page.html"
    lmm("report", *folders, "--human", str(human), "--resamples", "100", "--out", str(page))
    assert "weigh factors differently" in page.read_text(encoding="utf-8")

    alone = lmmscore.agree(str(other_weights), human, resamples=100)
    own = alone.people_row("overall", "mean_over_ratings")
    assert own is not None and own.value == pytest.approx(people[factors[0]].mean())
    assert "people gave no overall; it is weighted as the judge's" in alone.notes


def test_a_renamed_factor_keeps_the_scale_and_weight_on_record(
    run: RunResult, ratings: Path
) -> None:
    """`--rename` of a judge's factor to people's name for it loses neither."""
    first = run.manifest.factors[0].key
    human = lmmscore.read_ratings(ratings)
    theirs = human.assign(factor=human["factor"].replace({first: "faithful"}))

    scale = run.manifest.scales()[first]
    plain = lmmscore.agree(run, human, scale=scale, resamples=100)
    renamed = lmmscore.agree(run, theirs, scale=scale, renames={first: "faithful"}, resamples=100)
    mae = plain.row(run.path.name, first, "item", "mae")
    same = renamed.row(run.path.name, "faithful", "item", "mae")
    assert mae is not None and same is not None
    assert mae.value is not None and same.value == mae.value
    assert renamed.settings["taken_as_one_scale"] == plain.settings["taken_as_one_scale"]

    overall, again = (one.people_row("overall", "mean_over_ratings") for one in (plain, renamed))
    assert overall is not None and again is not None
    assert again.value == pytest.approx(overall.value)


def test_a_run_compared_with_its_own_scores_is_noticed(run: RunResult, ratings: Path) -> None:
    """`--human RUN/scores.csv` would look like perfect agreement: a note says what it is."""
    own = run.path / "scores.csv"
    done = lmm("agree", run.path, "--human", own, "--json", *FEW)
    said = "compares the judge with itself"
    assert said in done.stderr
    assert any(said in note for note in json.loads(done.stdout)["notes"])
    assert any(said in note for note in lmmscore.agree(run, own, resamples=100).notes)
    assert not any(said in note for note in lmmscore.agree(run, ratings, resamples=100).notes)
