"""`lmmscore agree`: the published figures, one clear line for each thing that does not fit, every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from lmmscore.cli.agree import command
from tests.command_line import lmm

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "mllm-judge"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the human ratings are not beside the repository"
)

COLUMNS = ["--item-column", "task_id", "--rater-column", "annotator_id"]
RENAMES = [
    "--rename",
    "texture_detail=texture_and_detail",
    "--rename",
    "color_lighting=color_and_lighting",
]
TWO = ["--factor", "alignment", "--factor", "overall"]
FEW = ["--resamples", "200"]


def agree(*arguments: str) -> Result:
    """Run the command with few resamples."""
    return CliRunner().invoke(command, [*arguments, *FEW])


def published(*names: str) -> list[str]:
    """The options for the published data, as one types them."""
    judges = [
        part
        for name in names
        for part in ("--scores", f"{DATA / name}.jsonl:online_factor_results")
    ]
    return [*judges, "--human", str(DATA / "human_ratings.csv"), *COLUMNS, *RENAMES]


@pytest.fixture(scope="module")
def both() -> dict[str, Any]:
    """Both published judges against the ratings."""
    if not DATA.is_dir():
        pytest.skip("the human ratings are not beside the repository")
    result = agree(
        *published("judge_main", "judge_rubrics"), "--json", "--task-pattern", "^[^_]+_([^_]+)_"
    )
    assert result.exit_code == 0, result.exception
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def pick(rows: list[dict[str, Any]], **wanted: str) -> dict[str, Any]:
    """The one row that has these values."""
    found = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    assert len(found) == 1, (wanted, len(found))
    return found[0]


@pytest.mark.parametrize(
    ("judge", "factor", "statistic", "value"),
    [
        ("judge_main", "overall", "spearman", 0.201933217),
        ("judge_main", "overall", "pearson", 0.399358547),
        ("judge_main", "overall", "kendall_b", 0.126066755),
        ("judge_main", "overall", "mae", 1.503515152),
        ("judge_main", "alignment", "spearman", 0.317839853),
        ("judge_main", "overall", "pairwise_accuracy", 0.511711712),
        ("judge_main", "overall", "rater_spearman", 0.255045),
        ("judge_rubrics", "overall", "spearman", 0.272112623),
        ("judge_rubrics", "alignment", "spearman", 0.294193369),
    ],
)
def test_judges_reach_the_published_figures(
    both: dict[str, Any], judge: str, factor: str, statistic: str, value: float
) -> None:
    """Each figure at the item level, over the 75 rated images, inside its own interval."""
    row = pick(both["rows"], judge=judge, factor=factor, level="item", statistic=statistic)
    assert row["value"] == pytest.approx(
        value, abs=6e-7 if statistic == "rater_spearman" else 6e-10
    )
    assert row["low"] < row["value"] < row["high"]
    if statistic != "rater_spearman":
        assert row["n"] == 75
        assert row["left_out"] == {"edits nobody rated": 282}


@pytest.mark.parametrize(
    ("factor", "statistic", "value"),
    [
        ("overall", "alpha_interval", 0.137181),
        ("alignment", "alpha_interval", 0.266075),
        ("scale_realism", "alpha_interval", -0.054489),
        ("overall", "icc1", 0.138083),
        ("overall", "icc1k", 0.447712),
        ("overall", "rater_spearman", 0.442687),
        ("overall", "mean_over_ratings", 4.839474),
        ("overall", "mean_over_edits", 4.817596),
    ],
)
def test_people_reach_the_published_figures(
    both: dict[str, Any], factor: str, statistic: str, value: float
) -> None:
    """Reliability, the ceiling, and the mean in both ways of averaging, each under its name."""
    row = pick(both["people"], factor=factor, statistic=statistic)
    assert row["value"] == pytest.approx(value, abs=6e-7)
    assert row["low"] < row["value"] < row["high"]


def test_the_mean_over_factors_is_said(both: dict[str, Any]) -> None:
    """The mean of the twelve factors' Spearmans, overall excluded."""
    row = pick(both["factor_means"], judge="judge_main", statistic="spearman")
    assert row["value"] == pytest.approx(0.212042134, abs=6e-10)
    assert row["n"] == 12


def test_a_constant_rater_is_counted_not_averaged(both: dict[str, Any]) -> None:
    """One rater gave every image the same: the ceiling is over 18, and says that one is left out."""
    row = pick(both["people"], factor="overall", statistic="rater_spearman")
    assert row["n"] == 18
    assert list(row["left_out"].values()) == [1]


def test_levels_without_methods_are_undefined_with_a_reason(both: dict[str, Any]) -> None:
    """One edit an image: within-item and method levels are null, because there are no methods to rank."""
    for level in ("within-item", "method"):
        row = pick(
            both["rows"], judge="judge_main", factor="overall", level=level, statistic="spearman"
        )
        assert row["value"] is None and row["low"] is None
        assert "no methods to rank" in row["why"]


def test_two_judges_are_compared_in_pairs(both: dict[str, Any]) -> None:
    """Permutation and Williams agree that these two are not told apart on the overall."""
    row = pick(both["comparisons"], factor="overall", level="item", statistic="spearman")
    assert row["value"] == pytest.approx(0.201933217 - 0.272112623, abs=1e-8)
    assert 0.3 < row["p_permutation"] < 0.55 and 0.3 < row["p_williams"] < 0.55


def test_the_alternative_test_says_why_it_cannot_be_made(both: dict[str, Any]) -> None:
    """Nobody rated thirty images, so there is a reason and no winning rate."""
    row = pick(both["alternative_annotator"], judge="judge_main", factor="overall")
    assert row["winning_rate"] is None and "the most is 20" in row["why"]


def test_prediction_powered_means_are_by_task_and_narrower(both: dict[str, Any]) -> None:
    """With tasks found in the ids there is a mean for each and one over them, narrower than people alone."""
    rows = [
        r
        for r in both["prediction_powered"]
        if (r["judge"], r["factor"]) == ("judge_main", "overall")
    ]
    assert {row["stratum"] for row in rows} >= {"Remove", "Action", "all, by task", "all"}
    over = pick(rows, stratum="all, by task")
    assert over["n"] == 75 and over["n_judge"] == 357
    assert over["high"] - over["low"] < over["people_only_high"] - over["people_only_low"]


@needs_data
def test_the_terminal_table_reads_at_a_glance() -> None:
    """The answer comes first, in words, with the ceiling beside it."""
    result = agree(*published("judge_main"), *TWO)
    head = result.stdout[:600]
    assert "judge_main against people" in head
    assert "judge_main, which has no overall of its own" in head
    assert "overall: no agreement shown (ρ = 0.202" in head
    assert "0.255 in a rater's place, where a rater reaches 0.443" in head
    assert "over ratings" in result.stdout and "4.839" in result.stdout and "4.818" in result.stdout
    assert "nan" not in result.stdout.lower()


@needs_data
@pytest.mark.parametrize("form", ["md", "csv", "tex"])
def test_every_format_holds_the_headline(form: str) -> None:
    """Markdown, CSV and LaTeX carry the value, its level and what was left out."""
    text = agree(*published("judge_main"), *TWO, "--format", form).stdout
    assert "0.20" in text and "overall" in text and "282" in text
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        row = pick(rows, judge="judge_main", factor="overall", level="item", statistic="spearman")
        assert float(row["value"]) == pytest.approx(0.201933217, abs=6e-10)
        assert pick(rows, judge="people", factor="overall", statistic="icc1")


@needs_data
def test_unmatched_factors_are_named_with_the_rename_to_type() -> None:
    """Without --rename the line holds both options, ready to be copied."""
    options = [option for option in published("judge_main") if option not in RENAMES]
    said = str(agree(*options).exception)
    assert " ".join(RENAMES) in said
    assert "\n" not in said


MADE_UP = {"a": 1, "b": 2, "c": 4, "d": 6, "e": 7}


def files(
    tmp_path: Path, human: str, judge: dict[str, int] = MADE_UP, factor: str = "quality"
) -> list[str]:
    """A small judge file and a ratings file, as options."""
    scores = tmp_path / "judge.csv"
    scores.write_text(
        f"item,{factor}\n" + "".join(f"{k},{v}\n" for k, v in judge.items()), encoding="utf-8"
    )
    ratings = tmp_path / "human.csv"
    ratings.write_text(human, encoding="utf-8")
    return ["--scores", str(scores), "--human", str(ratings)]


def rated(scores: dict[str, int], raters: str = "xyz") -> str:
    """A wide ratings file in which every rater gives the same."""
    lines = [f"{item},{rater},{score}" for item, score in scores.items() for rater in raters]
    return "item,rater,quality\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("human", "said"),
    [
        (rated({f"{item}.png": 1 + k for k, item in enumerate(MADE_UP)}), "items matched though written differently: a as a.png"),
        (rated({f"in/{item}.JPG": 1 + k for k, item in enumerate(MADE_UP)}), "a as in/a.JPG"),
        (rated(MADE_UP).replace("quality", "QUALI ty"), "people's factors taken as the judge's: QUALI ty as quality"),
    ],
)  # fmt: skip
def test_names_that_differ_plainly_are_matched_with_a_note(
    tmp_path: Path, human: str, said: str
) -> None:
    """A file ending, a folder, capitals and spaces do not keep scores and ratings apart."""
    result = agree(*files(tmp_path, human))
    assert result.exit_code == 0 and said in result.stderr


OWN = "item,method,q,z,overall\n" + "".join(
    f"{k},m,{v},{v + 1},{9 - v}\n" for k, v in MADE_UP.items()
)


@pytest.mark.parametrize(
    ("judge", "human", "said"),
    [
        (OWN, rated(MADE_UP).replace("quality", "q,z").replace("\n", ",1\n").replace("q,z,1", "q,z"),
         "judge, beside raters who gave no overall: "),
        (OWN.replace("overall", "w"), rated(MADE_UP).replace("quality", "overall"), "judge on overall"),
    ],
)  # fmt: skip
def test_the_answer_says_whose_overall_is_missing(
    tmp_path: Path, judge: str, human: str, said: str
) -> None:
    """A judge with an overall of its own is not said to have none where it is the raters who gave none."""
    words = files(tmp_path, human)
    (tmp_path / "judge.csv").write_text(judge, encoding="utf-8")
    shown = agree(*words).stdout
    assert said in shown and "no overall of its own" not in shown


def test_the_reverse_of_people_is_perfect_disagreement(tmp_path: Path) -> None:
    """At ρ = −1 no interval can be had, and it is not for perfect agreement."""
    many = {f"i{k}": k for k in range(12)}
    human = rated({name: 20 - value for name, value in many.items()})
    result = agree(*files(tmp_path, human, many), "--level", "item")
    assert (
        "disagreement is perfect" in result.stdout and "; agreement is perfect" not in result.stdout
    )
    assert "is one side reversed" in result.stderr
    # Nothing but the level that was asked for.
    assert "People among themselves" not in result.stdout


NAMED = "item,{},q\n" + "".join(f"{k},{m},{v}\n" for k, v in MADE_UP.items() for m in "mn")


@pytest.mark.parametrize(
    ("ours", "theirs", "options", "said"),
    [
        ("model_name", "Editing Model", [], ""),
        ("tool", "method", ["--method-column", "tool"], ""),
        ("method", "tool", ["--method-column", "tool"], ""),
        ("method", "method", ["--method-column", "tool"], "no column 'tool'"),
        ("method", "tool", [], "no column names the method (not used: tool); say --method-column NAME"),
        ("tool", "method", [], "no column names the method (not used: tool); say --method-column NAME"),
    ],
)  # fmt: skip
def test_the_column_of_the_method_is_found_or_asked_for(
    tmp_path: Path, ours: str, theirs: str, options: list[str], said: str
) -> None:
    """By its name, or by that given for either file; nobody is told to delete ratings in its stead."""
    human = NAMED.format(theirs).replace("item,", "rater,item,").replace("\n", "\nx,")[:-2]
    words = files(tmp_path, human)
    (tmp_path / "judge.csv").write_text(NAMED.format(ours), encoding="utf-8")
    result = agree(*words, *options)
    assert said in str(result.exception) if said else result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("human", "said"),
    [
        (rated({"p": 1, "q": 2}), "no item was both judged and rated; the judge has for example 'a', 'b', 'c', …"),
        (rated(MADE_UP, "x" * 1) + "a,x,1\n", "rater x rated 'a' twice"),
        (rated(MADE_UP).replace("quality", "beauty"), "no factor matches"),
        (rated(MADE_UP).replace("quality", "my quality"), "add --rename 'my quality=quality'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_clear_line(tmp_path: Path, human: str, said: str) -> None:
    """Ids, twice the same rater, a rating off the scale, other factors: each names the place and the remedy."""
    result = agree(*files(tmp_path, human))
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)


def test_the_command_line_exits_with_1_and_one_line(tmp_path: Path) -> None:
    """A problem the user can mend prints one line to standard error and nothing to standard output."""
    found = lmm("agree", *files(tmp_path, rated({"p": 1})))
    assert found.returncode == 1
    assert found.stdout == ""
    assert len(found.stderr.strip().splitlines()) == 1


def test_a_stated_scale_is_kept_to(tmp_path: Path) -> None:
    """With --scale 1,5 a rating of 7 is refused; with --scale 1,7 it counts."""
    options = files(tmp_path, rated(MADE_UP))
    said = str(agree(*options, "--scale", "1,5").exception)
    assert "off the scale of 1 to 5" in said
    assert said.endswith("; correct them, or the ends in --scale")
    assert agree(*options, "--scale", "1,7").exit_code == 0


def test_a_rating_beyond_the_judge_is_noted_where_no_scale_is_known(tmp_path: Path) -> None:
    """A 70 among sevens is pointed at, with the option that would refuse it; it may be right, so it counts."""
    result = agree(*files(tmp_path, rated(MADE_UP, "tuvwxyz") + "a,s,70\n"))
    assert result.exit_code == 0
    assert "human.csv:37: quality 70 is beyond the judge, which gave 1 to 7" in result.stderr


@needs_data
def test_the_scale_of_known_factors_is_known(tmp_path: Path) -> None:
    """The twelve factors are those of a bundled dialog, so a rating of 9 is refused without being told the scale."""
    text = (DATA / "human_ratings.csv").read_text(encoding="utf-8")
    changed = tmp_path / "human.csv"
    changed.write_text(text.replace(",3,2,7,7,7,2,4,", ",3,9,7,7,7,2,4,", 1), encoding="utf-8")
    options = [
        str(changed) if option.endswith("human_ratings.csv") else option
        for option in published("judge_main")
    ]
    said = str(agree(*options).exception)
    assert f"{changed}:2: global_consistency 9 is off the scale of 1 to 7" in said


def test_a_scale_is_not_known_by_names_alone(tmp_path: Path) -> None:
    """Scores of 1 to 5 under the names of a dialog of 1 to 10 are not on its scale."""
    rows = [f"i{k},{1 + k % 5},{1 + k // 4},{1 + k % 3},{1 + k % 4}\n" for k in range(20)]
    judge, human = tmp_path / "judge.csv", tmp_path / "human.csv"
    judge.write_text("item,acc,pre,qua,real\n" + "".join(rows), encoding="utf-8")
    human.write_text(judge.read_text(encoding="utf-8"), encoding="utf-8")
    words = ["--scores", str(judge), "--human", str(human), "--scale", "1,5", "--rescale"]
    rows = json.loads(agree(*words, "--json").stdout)["rows"]
    assert pick(rows, factor="acc", level="item", statistic="mae")["value"] == 0


@pytest.mark.parametrize("people_overall", ["", "overall"])
def test_an_overall_may_be_on_another_scale_than_its_factors(people_overall: str) -> None:
    """No MAE of a judge's 10 to 70 and people's mean of 1 to 7; nor do 10 to 70 hide a 1 to 3."""
    import pandas as pd

    from lmmscore.agreement import agree as compare

    scores, ratings = [], []
    for k in range(21):
        for factor in ("one", "two", "overall"):
            times = 10 if factor == "overall" else 1
            score = (1 + k % 7) * times
            scores.append((f"i{k}", "", "A", 1, factor, float(score), "scored", ""))
            rating = min(score, 3) if people_overall and times == 1 else score
            if times == 1 or people_overall:
                ratings.append((f"i{k}", "A", "x", factor, float(rating), ""))

    judge = pd.DataFrame(
        scores, columns="item task method repeat factor score outcome reason".split()
    )
    people = pd.DataFrame(ratings, columns="item method rater factor score where".split())
    found = compare({"j": judge}, people, resamples=100)
    mae = {factor: found.row("j", factor, "item", "mae") for factor in ("one", "overall")}
    if people_overall:
        assert mae["overall"].value == 0 and "people used 1 to 3" in mae["one"].why
    else:
        assert (
            mae["one"].value == 0 and "goes from 10 to 70, beyond the 1 to 7" in mae["overall"].why
        )


def test_people_on_another_scale_are_noted(tmp_path: Path) -> None:
    """Ratings of 0 to 100 against scores of 1 to 7: correlations stand, and a note says what does not."""
    result = agree(*files(tmp_path, rated({k: v * 13 for k, v in MADE_UP.items()})))
    assert result.exit_code == 0
    assert "mae and bias compare different scales" in result.stderr


def test_a_constant_judge_is_undefined_and_said_so(tmp_path: Path) -> None:
    """Correlations are null with the reason; the error that can be computed still is."""
    result = agree(*files(tmp_path, rated(MADE_UP), dict.fromkeys(MADE_UP, 6)), "--json")
    rows = json.loads(result.stdout)["rows"]
    row = pick(rows, factor="quality", level="item", statistic="spearman")
    assert row["value"] is None and row["why"] == "the judge gave every edit 6"
    assert pick(rows, factor="quality", level="item", statistic="mae")["value"] == pytest.approx(
        2.4
    )
    assert "correlations undefined, because the judge gave every edit 6" in result.stderr


def test_items_only_one_side_has_are_counted_with_examples(tmp_path: Path) -> None:
    """Some ids in common is enough; the others are noted."""
    result = agree(*files(tmp_path, rated({**MADE_UP, "zz": 3})))
    assert result.exit_code == 0
    assert "items people rated but the judge did not score (1), for example 'zz'" in result.stderr


def test_a_judge_like_the_crowd_is_about_as_good_as_a_rater(tmp_path: Path) -> None:
    """A judge in full agreement with raters in full agreement is about as good as one more."""
    many = {f"i{k:02d}": 1 + k % 7 for k in range(28)}
    result = agree(*files(tmp_path, rated(many), many))
    assert "overall: about as good as one more rater" in result.stdout


def test_an_error_that_is_the_same_everywhere_has_no_interval(tmp_path: Path) -> None:
    """A judge 1 above everybody on 28 items may be 2 above on the next."""
    many = {f"i{k:02d}": 1 + k % 7 for k in range(28)}
    above = {item: score + 1 for item, score in many.items()}
    rows = json.loads(agree(*files(tmp_path, rated(many), above), "--json").stdout)["rows"]
    errors = [row for row in rows if row["statistic"] in {"mae", "bias"} and row["level"] == "item"]
    assert {row["value"] for row in errors} == {1.0}
    assert all(row["low"] is None and "the same on all" in row["why"] for row in errors)


def test_a_judge_at_odds_with_the_crowd_is_below_any_rater(tmp_path: Path) -> None:
    """A judge that orders everything the other way round is below every rater."""
    many = {f"i{k:02d}": 1 + k % 7 for k in range(28)}
    result = agree(*files(tmp_path, rated(many), {item: 8 - score for item, score in many.items()}))
    assert "overall: below any rater" in result.stdout


def test_methods_are_ranked_inside_items(tmp_path: Path) -> None:
    """With methods in both files the within-item and method levels are defined, tasks apart, holes counted."""
    rows = [
        (f"i{i}", m, 1 + (3 * i + s) % 5 + s)
        for i in range(8)
        for s, m in enumerate(("A", "B", "C"))
    ]
    scores, human = tmp_path / "judge.csv", tmp_path / "human.csv"
    tasks = {item: ("add", "remove")[place % 2] for place, (item, _, _) in enumerate(rows[::3])}
    scores.write_text(
        "item,method,task,quality\n" + "".join(f"{i},{m},{tasks[i]},{q}\n" for i, m, q in rows),
        encoding="utf-8",
    )
    human.write_text(
        "item,method,rater,quality\n"
        + "".join(f"{i},{m},{r},{q + (r == 'y')}\n" for i, m, q in rows for r in "xy"),
        encoding="utf-8",
    )
    result = agree("--scores", str(scores), "--human", str(human), "--json")
    found = json.loads(result.stdout)
    within = pick(found["rows"], factor="quality", level="within-item", statistic="spearman")
    assert within["value"] == 1 and within["n"] + sum(within["left_out"].values()) == 8
    method = pick(
        found["rows"], factor="quality", level="method", statistic="soft_pairwise_accuracy"
    )
    assert method["value"] == 1 and method["n"] == 3 and method["exact"]
    assert {row["task"] for row in found["tasks"]} == {"add", "remove"}
    bias = pick(found["rows"], factor="quality", level="item", statistic="bias")
    assert bias["value"] == -0.5


def test_neither_run_nor_scores_is_wrong_usage(tmp_path: Path) -> None:
    """Ratings alone compare with nothing."""
    human = tmp_path / "human.csv"
    human.write_text(rated(MADE_UP), encoding="utf-8")
    assert agree("--human", str(human)).exit_code == 2


def test_a_scores_csv_of_ours_is_taken_as_a_run(tmp_path: Path) -> None:
    """`lmmscore agree scores.csv` works on what `lmmscore scores` wrote, refusals counted by name."""
    from lmmscore.cli.scores import command as scores

    options = files(tmp_path, rated(MADE_UP))
    out = tmp_path / "scores.csv"
    assert CliRunner().invoke(scores, [options[1], "--out", str(out)]).exit_code == 0
    text = out.read_text(encoding="utf-8").replace(
        "e,,,1,,quality,7,scored,", "e,,,1,,quality,,refused,no thanks"
    )
    out.write_text(text, encoding="utf-8")
    result = agree(str(out), *options[2:], "--json")
    row = pick(
        json.loads(result.stdout)["rows"], factor="quality", level="item", statistic="spearman"
    )
    assert row["judge"] == "scores"
    assert row["n"] == 4 and row["left_out"] == {"rated edits the judge left refused": 1}


@pytest.mark.parametrize(("names", "width_in", "written"), [(3, 6.75, True), (13, 3.25, False)])
def test_values_are_written_only_into_cells_that_hold_them(
    names: int, width_in: float, written: bool
) -> None:
    """Thirteen factors in a column of a paper are colours alone: values would overlap."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from lmmscore.report.figures import HeatFigure

    factors = [f"factor {k}" for k in range(names)]
    axis = Figure(figsize=(width_in, 3)).subplots()
    HeatFigure.fitted(factors, factors, width_in).draw(axis, np.eye(names), 1)
    assert [text.get_text() for text in axis.texts].count("1.0") == (names if written else 0)


@pytest.mark.parametrize("ending", ["pdf", "svg"])
def test_plots_are_written_as_vectors(tmp_path: Path, ending: str) -> None:
    """Three figures a judge: scatter, Bland–Altman, factor by factor; the same input gives the same bytes."""
    pytest.importorskip("matplotlib")
    options = files(tmp_path, rated(MADE_UP))
    for folder in ("one", "two"):
        chosen = [
            *options,
            "--factor",
            "quality",
            "--plots",
            str(tmp_path / folder),
            "--plot-format",
            ending,
        ]
        result = agree(*chosen)
        assert result.exit_code == 0, result.exception
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == [
        f"judge-bland-altman.{ending}",
        f"judge-factors.{ending}",
        f"judge-scatter.{ending}",
    ]
    for name in names:
        first = (tmp_path / "one" / name).read_bytes()
        assert first.startswith(b"%PDF" if ending == "pdf" else b"<?xml")
        assert first == (tmp_path / "two" / name).read_bytes()


def test_the_synthetic_check_goes_through_the_command(tmp_path: Path) -> None:
    """Four methods on ten items by a formula, as long files: each level has its own figure."""
    grid = [(i, s) for i in range(10) for s in range(4)]
    scores, human = tmp_path / "judge.csv", tmp_path / "human.csv"
    lines = [f"{i},m{s},q,{(5 * i + 2 * s) % 13 + 0.5 * s}" for i, s in grid]
    scores.write_text("item,method,factor,score\n" + "\n".join(lines) + "\n", encoding="utf-8")
    lines = [f"{i},m{s},ann,q,{(7 * i + 3 * s) % 11 + s}" for i, s in grid]
    human.write_text("item,method,rater,factor,score\n" + "\n".join(lines) + "\n", encoding="utf-8")
    result = agree("--scores", str(scores), "--human", str(human), "--json")
    assert result.exit_code == 0, result.exception
    found = json.loads(result.stdout)
    for level, statistic, value in (
        ("within-item", "pearson", 0.194398238),
        ("item", "pearson", 0.174890068),
        ("method", "pearson", 0.940543381),
        ("within-item", "spearman", 0.24),
        ("within-item", "pairwise_accuracy_calibrated", 0.616666667),
        ("method", "soft_pairwise_accuracy", 0.85205078125),
    ):
        for factor in ("q", "overall"):
            row = pick(found["rows"], factor=factor, level=level, statistic=statistic)
            assert row["value"] == pytest.approx(value, abs=6e-10)
    alpha = pick(found["people"], factor="q", statistic="alpha_interval")
    assert alpha["value"] is None and alpha["why"] == "there is one rater"


def test_an_agreement_shows_in_a_notebook_and_as_a_frame(tmp_path: Path) -> None:
    """`agree` returns an object with a frame, an HTML table and JSON that holds the same numbers."""
    from lmmscore.agreement import agree as compare
    from lmmscore.score_files import read_ratings, read_score_file

    options = files(tmp_path, rated(MADE_UP))
    found = compare(
        {"mine": read_score_file(options[1])}, read_ratings([options[3]]).table, resamples=100
    )
    assert "<table" in found._repr_html_() and "mine" in found._repr_html_()
    frame = found.to_frame()
    first = frame[(frame["statistic"] == "spearman") & (frame["level"] == "item")].iloc[0]
    assert first["value"] == json.loads(found.to_json())["rows"][0]["value"] == 1.0


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"seed": -1}, "whole number of at least 0"),
        ({"resamples": 0}, "whole number of at least 2"),
        ({"minimum_edits": 1}, "whole number of at least 2"),
        ({"epsilon": float("nan")}, "between 0 and 1"),
        ({"scale": (1, float("inf"))}, "lowest and the highest"),
        ({"judges": {}}, "no judge"),
    ],
)
def test_what_cannot_be_agreed_by_is_refused_in_a_line(wish: dict[str, Any], says: str) -> None:
    """A program that asks for what makes no sense is told so, as LmmscoreError."""
    import pandas as pd

    from lmmscore.agreement import agree as compare
    from lmmscore.errors import LmmscoreError

    with pytest.raises(LmmscoreError, match=says):
        compare(**{"judges": {"j": pd.DataFrame()}, "ratings": pd.DataFrame(), **wish})


def in_two_tasks(folder: Path, people_columns: str) -> list[str]:
    """Files in which items 1 to 4 occur in two tasks, and the judge is people's equal on every edit."""
    edits = [(task, str(item), score + 4 * (task == "t2")) for task in ("t1", "t2")
             for item, score in enumerate((2, 5, 3, 4), 1)]  # fmt: skip
    judge = folder / "judge.csv"
    lines = [f"{item},{task},A,{score}" for task, item, score in edits]
    judge.write_text("\n".join(["item,task,method,overall", *lines]) + "\n", encoding="utf-8")
    kept = people_columns.split(",")
    rows = [{"item": item, "task": task, "method": "A", "rater": who, "overall": str(score)}
            for task, item, score in edits for who in ("x", "y")]  # fmt: skip
    people = folder / "people.csv"
    body = [
        ",".join(row[name] for name in kept)
        for row in rows
        if "task" in kept or row["task"] == "t1"
    ]
    people.write_text("\n".join([people_columns, *body]) + "\n", encoding="utf-8")
    return ["--scores", str(judge), "--human", str(people)]


def test_the_same_id_in_two_tasks_is_two_items(tmp_path: Path) -> None:
    """Edits are paired by task and item where an id occurs in several tasks, not averaged as if repeated."""
    result = agree(*in_two_tasks(tmp_path, "item,task,method,rater,overall"), "--json")
    assert result.exit_code == 0, result.exception
    rows = json.loads(result.stdout)["rows"]
    row = pick(rows, factor="overall", level="item", statistic="mae")
    assert (row["n"], row["value"]) == (8, 0)


def test_an_id_in_another_task_is_another_item(tmp_path: Path) -> None:
    """A run of one task and ratings of another are not paired by id; unless no task is in both.

    Then the tasks may have other names on the other side, and a note says what was done.
    """
    options = in_two_tasks(tmp_path, "item,task,method,rater,overall")
    judge, people = Path(options[1]), Path(options[3])
    judge.write_text(
        "item,task,method,overall\n1,t1,A,2\n2,t1,A,5\n5,t2,A,3\n6,t2,A,4\n", encoding="utf-8"
    )
    people.write_text(
        "item,task,method,rater,overall\n1,t1,A,x,2\n2,t2,A,x,1\n5,T2,A,x,3\n", encoding="utf-8"
    )
    rows = json.loads(agree(*options, "--json").stdout)["rows"]
    assert pick(rows, factor="overall", level="item", statistic="mae")["n"] == 2
    people.write_text(
        "item,task,method,rater,overall\n1,add,A,x,2\n2,cut,A,x,1\n5,cut,A,x,3\n", encoding="utf-8"
    )
    result = agree(*options, "--json")
    assert "no task in common: their items are taken as the same by id alone (3)" in result.stderr


def test_ids_in_two_tasks_need_ratings_with_a_task(tmp_path: Path) -> None:
    """Where the ratings do not say which task they are of, nothing is paired, and the line says what to do."""
    result = agree(*in_two_tasks(tmp_path, "item,method,rater,overall"))
    assert str(result.exception) == (
        "judge: item '1' occurs in several tasks ('t1', 't2'), but people's ratings name no task; add a column "
        "`task`, or give every item its own id"
    )


def test_ratings_in_two_tasks_need_a_judge_with_tasks(tmp_path: Path) -> None:
    """The other way round too: people rated item 1 of two tasks, and the scores do not say which they are of."""
    options = in_two_tasks(tmp_path, "item,task,method,rater,overall")
    judge = Path(options[1])
    judge.write_text("item,method,overall\n1,A,3\n2,A,4\n3,A,5\n", encoding="utf-8")
    said = str(agree(*options).exception)
    assert said.startswith(
        "people's ratings: item '1' occurs in several tasks ('t1', 't2'), but judge names no task"
    )
