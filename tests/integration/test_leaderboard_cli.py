"""The ranking commands, on a real run of the bundled benchmark and on bare files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from lmmscore.api import run
from lmmscore.cli import lmmscore
from lmmscore.resources import bundled
from tests.tidy_frames import judged, overall

SHARED = Path(__file__).parents[2].parent / "shared"
ITEMS = ("lamp", "moon", "car", "fish")


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(lmmscore, [str(word) for word in words])


def data(*words: str | Path) -> dict[str, object]:
    done = call(*words)
    assert done.exit_code == 0, done.output + repr(done.exception)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a part of the bundled benchmark with the embedded judge."""
    out = tmp_path_factory.mktemp("runs") / "demo"
    methods = ("CleanEdit", "SoftBrush", "FaintTouch")
    run(
        bundled("media") / "demo", out=out, items=ITEMS, methods=methods, repeats=2, max_side_px=256
    )
    return out


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A scores.csv without a run around it."""
    file = tmp_path / "scores.csv"
    judged(6, 3, holes=0.1).to_csv(file, index=False)
    return file


def test_json_of_a_run_has_tables_and_what_stands_behind_them(demo: Path) -> None:
    """One object: tables by task and over all, position, repeats, sensitivity, habits and the caution."""
    found = data("leaderboard", demo, "--format", "json")
    tables = found["tables"]
    assert isinstance(tables, list)
    assert [table["task"] for table in tables] == ["object_removal", "color_change", None]
    assert {"position", "repeats", "sensitivity", "habits"} <= set(found)
    assert "baseline" in str(found["caution"])
    assert tables[2]["rows"][0]["method"] == "CleanEdit"


@pytest.mark.parametrize("form", ["term", "md", "csv", "tex"])
def test_every_format_names_methods_and_caution(form: str, demo: Path) -> None:
    """Whatever the format, the methods and the judge's caution are in it, on standard output."""
    done = call("leaderboard", demo, "--format", form, "--show", "all")
    assert done.exit_code == 0
    assert "FaintTouch" in done.stdout
    assert "cannot read instructions" in done.stdout.replace("\n", " ")


def test_a_bare_score_file_is_ranked(bare: Path) -> None:
    """A scores.csv by itself will do; its holes are announced."""
    done = call("leaderboard", bare, "--format", "md")
    assert done.exit_code == 0
    assert "gave no score" in done.stdout


def test_csv_sends_its_warnings_to_standard_error(bare: Path) -> None:
    """Data on standard output, sentences on standard error."""
    done = call("leaderboard", bare, "--format", "csv")
    assert done.stdout.startswith("task,factor,rank,method,mean")
    assert "gave no score" in done.stderr
    assert "gave no score" not in done.stdout.splitlines()[0]


def test_by_sets_tasks_side_by_side_or_groups_as_asked(bare: Path) -> None:
    """`task,method` is one table with task columns; other keys give plain means."""
    wide = call("leaderboard", bare, "--by", "task,method", "--format", "md").stdout
    assert "T0: Mean ± std" in wide
    tables = data("leaderboard", bare, "--by", "task,method", "--format", "json")["tables"]
    assert isinstance(tables, list)
    assert [table["task"] for table in tables] == ["t0", "t1"]
    tables = data("leaderboard", bare, "--by", "method", "--format", "json")["tables"]
    assert isinstance(tables, list)
    assert [table["task"] for table in tables] == [None]
    groups = data("leaderboard", bare, "--by", "task,factor", "--format", "json")["tables"]
    assert isinstance(groups, list)
    assert {"task", "factor", "mean", "std", "n", "coverage"} == set(groups[0]["rows"][0])
    assert len(groups[0]["rows"]) == 10
    assert "did you mean task" in str(call("leaderboard", bare, "--by", "tsk").exception)


def test_options_reach_the_table(bare: Path) -> None:
    """Task, factor, weights, decimals and the rule for holes change what they should."""
    found = data(
        "leaderboard",
        bare,
        "--json",
        "--task",
        "t1",
        "--factor",
        "acc",
        "--missing",
        "worst",
        "--scale",
        "1,10",
    )
    tables = found["tables"]
    assert isinstance(tables, list)
    assert [(table["task"], table["factor"]) for table in tables] == [("t1", "acc")]
    assert "counted as 1, the lowest score" in tables[0]["caption"]
    derived = call(
        "leaderboard", bare, "--weights", "acc=.5,pre=.5", "--decimals", "3", "--format", "md"
    ).stdout
    assert "acc 0.5, pre 0.5, qua 0, real 0" in derived


def test_the_published_table_is_checked() -> None:
    """`published check` names the contradicting rows; --json has them under problems."""
    found = data("published", "check", bundled("published") / "editeval_v1.csv", "--json")
    problems = found["problems"]
    assert isinstance(problems, list)
    assert {problem["task"] for problem in problems} == {
        "background_change",
        "style_change",
        "action_change",
    }
    assert {"task", "method", "kind", "says"} == set(problems[0])
    assert "10 of 49 lines" in call("published", "check", "editeval_v1").stderr
    assert call("published", "list").stdout.split() == ["editeval_v1"]


def test_a_run_is_set_against_a_published_table(tmp_path: Path) -> None:
    """--against adds differences and a rank correlation for each task in both."""
    file = tmp_path / "mine.csv"
    names = {"SINE": [6.0, 5.0], "null_text": [8.0, 8.2], "InstructionPix2Pix": [7.0, 7.5]}
    overall(names, task="background_change").to_csv(file, index=False)
    found = data("leaderboard", file, "--against", "editeval_v1", "--json")["against"]
    assert isinstance(found, dict)
    assert {row["published_method"] for row in found["tasks"][0]["rows"]} == {
        "SINE", "Null-Text Inversion", "InstructPix2Pix",
    }  # fmt: skip
    assert found["tasks"][0]["spearman"] == pytest.approx(1.0)
    assert (
        "InstructionPix2Pix = InstructPix2Pix"
        in call("leaderboard", file, "--against", "editeval_v1").stdout
    )


def test_power_answers_in_sentences_and_json(demo: Path) -> None:
    """How many items or repeats would tell two methods apart."""
    assert "items" in call("power", demo, "CleanEdit", "SoftBrush").stdout
    found = data("power", demo, "CleanEdit", "SoftBrush", "--json")
    assert {"items_needed", "repeats_needed", "difference", "power_now", "caution"} <= set(found)
    assert "did you mean SoftBrush" in str(call("power", demo, "CleanEdit", "SoftBrsh").exception)


def test_runs_are_compared_and_pooled_with_care(demo: Path, tmp_path: Path) -> None:
    """Another judge snapshot may be compared but not pooled, unless told."""
    other = tmp_path / "other"
    shutil.copytree(demo, other)
    settings = yaml.safe_load((other / "run.yaml").read_text())
    (other / "run.yaml").write_text(yaml.safe_dump({**settings, "models": ["another"]}))
    found = data("compare", demo, other, "--json")
    assert found["runs"] == ["demo", "other"]
    assert "judge snapshot" in str(found["differing"])
    assert "same" in call("compare", demo, other).stdout
    refused = call("compare", demo, other, "--pool")
    assert "not comparable" in str(refused.exception)
    assert "not comparable" in str(call("leaderboard", demo, other).exception)
    assert "pooled" in data("compare", demo, other, "--pool", "--anyway", "--json")
    assert call("compare", demo).exit_code == 2
    assert "given twice" in str(call("leaderboard", demo, demo).exception)


def test_the_very_pictures_decide_whether_image_sets_are_the_same(tmp_path: Path) -> None:
    """Two runs over the same pictures are comparable; a changed picture makes another image set."""
    bench = tmp_path / "bench"
    shutil.copytree(bundled("media") / "demo", bench)

    def judged_again(name: str, seed: int) -> Path:
        methods = ("CleanEdit", "SoftBrush")
        run(
            bench, out=tmp_path / name, seed=seed, items=ITEMS[:1], methods=methods, max_side_px=256
        )
        return tmp_path / name

    first, again = judged_again("first", 1), judged_again("again", 2)
    assert data("compare", first, again, "--json")["differing"] == []
    for picture in (bench / "edits" / "CleanEdit").iterdir():
        shutil.copy(bench / "edits" / "SoftBrush" / picture.name, picture)
    assert "image set" in str(
        data("compare", first, judged_again("changed", 1), "--json")["differing"]
    )


def test_a_real_item_is_ranked_against_the_survey(tmp_path: Path) -> None:
    """The survey's published item, judged by the embedded judge, is set beside the survey's figures."""
    fox = SHARED / "data/editeval/fox"
    if not fox.is_dir():
        pytest.skip("the survey's published item is not at hand")
    edits = {path.stem.removeprefix("6_"): str(path) for path in sorted(fox.glob("6_*.png"))}
    shutil.copytree(fox, tmp_path / "fox")
    item = {
        "task": "background_change",
        "id": "six",
        "source": "fox/6_src.jpg",
        "instruction": "Put a beach in place of the snow",
        "edits": {name: f"fox/{Path(path).name}" for name, path in edits.items()},
    }
    (tmp_path / "benchmark.yaml").write_text(yaml.safe_dump({"name": "fox", "items": [item]}))
    run(tmp_path, out=tmp_path / "run", max_side_px=256)
    found = data("leaderboard", tmp_path / "run", "--against", "editeval_v1", "--json")
    tables, matched = found["tables"], found["against"]
    assert isinstance(tables, list)
    assert isinstance(matched, dict)
    assert len(tables[0]["rows"]) == len(matched["tasks"][0]["rows"]) == 8
    assert tables[0]["rows"][0]["std"] is None
    assert matched["tasks"][0]["only_run"] == []


def test_missing_files_are_named(tmp_path: Path) -> None:
    """What is not there is said to be not there, in one line."""
    assert "no run here" in str(call("leaderboard", tmp_path).exception)
    assert "no such file" in str(call("leaderboard", tmp_path / "x.csv").exception)


def rows(*words: str | Path) -> list[dict[str, object]]:
    tables = data("leaderboard", *words, "--json")["tables"]
    assert isinstance(tables, list)
    return [row for table in tables for row in table["rows"]]


def refused(*words: str | Path) -> str:
    done = call(*words)
    assert done.exit_code == 2, done.output
    return done.stderr


@pytest.fixture
def holed(tmp_path: Path) -> Path:
    """Two edits of which one has no score, on a file of its own."""
    file = tmp_path / "holed.csv"
    overall({"A": [8.0, None], "B": [6.0, 4.0]}).to_csv(file, index=False)
    return file


@pytest.fixture
def factors_only(tmp_path: Path) -> Path:
    """Scores of a dialog without an overall."""
    file, scores = tmp_path / "parts.csv", judged(6, 3)
    scores[scores["factor"] != "overall"].to_csv(file, index=False)
    return file


def test_plain_means_count_holes_as_told(holed: Path) -> None:
    """--missing and --scale change the means of groups too, and the caption says which rule it was."""
    assert rows(holed, "--by", "task")[0]["mean"] == 6.0
    worst = rows(holed, "--by", "task", "--missing", "worst", "--scale", "2,10")
    assert (worst[0]["mean"], worst[0]["n"]) == (5.0, 4)
    shown = call(
        "leaderboard",
        holed,
        "--by",
        "task",
        "--missing",
        "worst",
        "--scale",
        "2,10",
        "--format",
        "md",
    )
    assert "counted as 2, the lowest score (--missing worst)" in shown.stdout
    assert (
        "missing scores excluded (--missing exclude)"
        in call("leaderboard", holed, "--by", "task", "--format", "md").stdout
    )


@pytest.mark.parametrize(
    "option",
    [
        ["--average", "tasks"],
        ["--show", "wins"],
        ["--against", "editeval_v1"],
        ["--resamples", "100"],
        ["--seed", "1"],
        ["--scale", "1,10"],
    ],
)
def test_plain_means_refuse_what_only_a_ranking_has(option: list[str], bare: Path) -> None:
    """An option that would change nothing is a usage error, not a silence."""
    assert option[0] in refused("leaderboard", bare, "--by", "task", *option)


def test_tables_refuse_what_they_have_no_place_for(bare: Path) -> None:
    """Without tables by task nothing can stand against a published task; without one over all, nothing to weigh."""
    assert "--against" in refused("leaderboard", bare, "--by", "method", "--against", "editeval_v1")
    assert "--average" in refused("leaderboard", bare, "--task", "t0", "--average", "tasks")


def test_plain_means_of_several_factors_name_each(bare: Path, factors_only: Path) -> None:
    """Two factors, `all`, or no overall: a line for each factor and never one mean of all."""
    assert {row["factor"] for row in rows(bare, "--by", "task", "--factor", "acc", "--factor", "pre")} == {
        "acc", "pre",
    }  # fmt: skip
    assert len(rows(bare, "--by", "task", "--factor", "all")) == 10
    assert {row["factor"] for row in rows(factors_only, "--by", "item")} == {
        "acc",
        "pre",
        "qua",
        "real",
    }
    assert len(rows(bare, "--by", "task,factor", "--factor", "acc")) == 2


def test_plain_means_of_an_unknown_task_name_the_known(bare: Path) -> None:
    """A misspelt task is answered with those there are."""
    said = str(call("leaderboard", bare, "--by", "item", "--task", "t00").exception)
    assert "did you mean t0" in said
    assert "known: t0, t1" in said


def test_power_without_an_overall_says_what_to_name(factors_only: Path) -> None:
    """One factor must be meant, and only the user knows which."""
    assert "name a factor with --factor: acc, pre, qua, real" in str(
        call("power", factors_only, "m0", "m1").exception
    )
    assert call("power", factors_only, "m0", "m1", "--factor", "acc").exit_code == 0


@pytest.mark.parametrize("form", ["md", "csv", "tex", "json"])
def test_methods_are_ranked_over_the_tasks_named(form: str, bare: Path) -> None:
    """`--by method --task` is one table over those tasks, in every format and with its sections."""
    done = call(
        "leaderboard",
        bare,
        "--by",
        "method",
        "--task",
        "t1",
        "--format",
        form,
        "--show",
        "position",
    )
    assert done.exit_code == 0, repr(done.exception)
    assert "m2" in done.stdout
    assert {
        row["n"] for row in rows(bare, "--by", "method", "--task", "t1", "--missing", "worst")
    } == {3}
    assert "All task categories" not in done.stdout
    assert "known: t0, t1" in str(
        call("leaderboard", bare, "--by", "method", "--task", "x").exception
    )


@pytest.mark.parametrize("scale", ["1,inf", "-inf,10", "nan,10", "1,nan"])
def test_a_scale_has_two_ends(scale: str, bare: Path) -> None:
    """Without an end nothing could be said about what missing scores may change."""
    assert "finite" in str(call("leaderboard", bare, "--scale", scale).exception)
    assert "finite" in str(call("published", "check", "editeval_v1", "--scale", scale).exception)


def test_levels_and_powers_are_numbers(bare: Path) -> None:
    """NaN lies in no range."""
    for option in ("--power", "--alpha"):
        assert "not a finite number" in refused("power", bare, "m0", "m1", option, "nan")
    assert "not a finite number" in refused("agree", bare, "--human", bare, "--epsilon", "nan")


@pytest.mark.parametrize(
    "words",
    [
        ["leaderboard", "RUN", "--by", ""],
        ["leaderboard", "RUN", "--weights", ""],
        ["leaderboard", "RUN", "--against", " "],
        ["leaderboard", "RUN", "--scale", ""],
        ["published", "check", "editeval_v1", "--scale", ""],
        ["agree", "RUN", "--human", ""],
        ["agree", "RUN", "--human", "RUN", "--scale", ""],
        ["agree", "RUN", "--human", "RUN", "--item-column", ""],
        ["agree", "RUN", "--human", "RUN", "--plots", ""],
        ["agree", "--scores", "", "--human", "RUN"],
        ["report", "RUN", "--human", ""],
        ["report", "RUN", "--out", ""],
        ["scores", "RUN", "--dialog", ""],
        ["show", "RUN", "lamp", "--method", ""],
        ["replay", "RUN", "--dialog", ""],
        ["init", "RUN", "--name", ""],
        ["init", "RUN", "--source-column", ""],
        ["run", "RUN", "--out", ""],
        ["check", ""],
    ],
)
def test_an_empty_value_is_refused(words: list[str], bare: Path) -> None:
    """What an unset shell variable gives is a usage error: it is neither none given nor the current folder."""
    assert "it is empty" in refused(*(bare if word == "RUN" else word for word in words))


def test_a_run_with_an_empty_name_is_refused() -> None:
    """The folder one happens to be in is not what was named."""
    assert "the name of a run is empty" in str(call("leaderboard", "").exception)


def test_a_table_is_written_to_a_file_or_one_per_task(demo: Path, tmp_path: Path) -> None:
    """-o writes a file and prints nothing to standard output; {task} in its name makes one per task."""
    done = call("leaderboard", demo, "--format", "tex", "-o", tmp_path / "t.tex")
    assert done.stdout == "" and "tabular" in (tmp_path / "t.tex").read_text(encoding="utf-8")
    call("leaderboard", demo, "--format", "tex", "-o", tmp_path / "{task}.tex")
    tasks = {path.stem for path in tmp_path.glob("*.tex")} - {"t"}
    assert "all" in tasks and len(tasks) > 1


def test_figures_are_written_for_a_paper(demo: Path, tmp_path: Path) -> None:
    """A forest plot per table and heat maps, in the format and width asked for."""
    call("leaderboard", demo, "--plots", tmp_path, "--plot-format", "svg", "--plot-width", "column")
    names = {path.name for path in tmp_path.iterdir()}
    assert {"forest-all-task-categories.svg", "methods-by-factor.svg"} <= names
    text = (tmp_path / "forest-all-task-categories.svg").read_text(encoding="utf-8")
    assert 'width="234pt"' in text and "CleanEdit" in text


def test_changes_of_rank_cannot_be_misread() -> None:
    """Better is up, worse is down, in words as well."""
    from lmmscore.report.leaderboard import rank_change

    changes = [rank_change(places) for places in (5, -3, 0, None)]
    assert changes == ["▼ 5 worse", "▲ 3 better", "same", "–"]
