"""`agree` where items have several methods: the ranking beside people's, levels, judges, panels."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from scipy import stats

from lmmscore.agreement import Panel, agree
from lmmscore.agreement.raters import corrected_board, estimate
from lmmscore.cli import lmmscore as main
from lmmscore.errors import LmmscoreError
from lmmscore.stats import Powered


def crowd(
    items: int = 24, methods: int = 4, *, seed: int = 0, factor: str = "overall", high: int = 10
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of a judge and ratings of three people, on a scale from 1, in two task categories."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(items, methods)) + np.linspace(-1, 1, methods)
    middle, step = (1 + high) / 2, high / 6

    def graded(noise: float) -> np.ndarray:
        noisy = latent + noise * rng.normal(size=latent.shape)
        return np.clip(np.round(middle + step * noisy), 1, high).ravel()

    edits = {
        "item": np.repeat([f"i{k:02d}" for k in range(items)], methods),
        "task": np.repeat([("add", "remove")[k % 2] for k in range(items)], methods),
        "method": np.tile([f"m{k}" for k in range(methods)], items),
        "factor": factor,
    }
    scores = pd.DataFrame(edits | {"score": graded(0.5), "repeat": 1, "position": None})
    scores = scores.assign(outcome="scored", reason="")
    raters = [
        pd.DataFrame(edits | {"rater": f"r{k}", "score": graded(0.7), "where": "x"})
        for k in range(3)
    ]
    return scores, pd.concat(raters, ignore_index=True)


def written(
    folder: Path, scores: pd.DataFrame, ratings: pd.DataFrame, name: str = "judge"
) -> list[str]:
    scores.to_csv(folder / f"{name}.csv", index=False)
    ratings.drop(columns="where").to_csv(folder / "human.csv", index=False)
    return ["agree", "--scores", str(folder / f"{name}.csv"), "--human", str(folder / "human.csv")]


def told(words: list[str]) -> Result:
    return CliRunner().invoke(main, words)


def rows_of(found: dict[str, Any], **wanted: object) -> list[dict[str, Any]]:
    return [r for r in found["rows"] if all(r.get(key) == value for key, value in wanted.items())]


def test_the_first_table_is_the_ranking_beside_peoples(tmp_path: Path) -> None:
    """Each method's mean and rank by judge and people, per task and over all, with Spearman below."""
    scores, ratings = crowd()
    words = written(tmp_path, scores, ratings)
    found = json.loads(told([*words, "--json"]).stdout)
    people = ratings.groupby(["item", "method"])["score"].mean()
    by_people = people.groupby(level="method").mean()
    by_judge = scores.groupby("method")["score"].mean()
    over_all = [one for one in found["methods"] if one["task"] is None]
    assert [one["judge_rank"] for one in over_all] == sorted(one["judge_rank"] for one in over_all)
    for one in over_all:
        assert one["judge_mean"] == pytest.approx(by_judge[one["method"]])
        assert one["human_mean"] == pytest.approx(by_people[one["method"]])
        assert one["human_rank"] == 1 + (by_people > by_people[one["method"]] + 1e-9).sum()
        assert one["items"] == 24
    assert {one["task"] for one in found["methods"]} == {"add", "remove", None}
    across = rows_of(found, level="method", statistic="spearman")[0]
    expected = stats.spearmanr(by_judge, by_people[by_judge.index]).statistic
    assert across["value"] == pytest.approx(expected)
    assert across["n"] == 4 and across["low"] is None
    assert 0 < across["attenuation"] <= 1

    text = told(words).stdout
    assert text.index("judge and people, overall") < text.index("level within-item")
    assert text.index("level within-item") < text.index("against people, level item")
    assert "Over 4 methods: Spearman ρ" in text
    assert text.count("judge on overall: ") == 1
    for form, mark in (("md", "| Method |"), ("tex", "Judge's mean"), ("csv", "judge_rank")):
        assert mark in told([*words, "--format", form]).stdout


def test_within_method_is_averaged_in_named_ways(tmp_path: Path) -> None:
    """Inside each task and method over items, then the mean and the Fisher average."""
    scores, ratings = crowd()
    words = [*written(tmp_path, scores, ratings), "--level", "within-method", "--json"]
    found = json.loads(told(words).stdout)
    assert {row["level"] for row in found["rows"]} == {"within-method"}
    people = ratings.groupby(["item", "method", "task"])["score"].mean().reset_index()
    both = scores.merge(people, on=["item", "method", "task"], suffixes=("", "_people"))
    values = []
    for method in sorted(both["method"].unique()):
        part = both[(both["task"] == "add") & (both["method"] == method)]
        values.append(stats.spearmanr(part["score"], part["score_people"]).statistic)
        row = rows_of(found, statistic="spearman", task="add", method=method)[0]
        assert row["value"] == pytest.approx(values[-1])
        assert row["averaging"] is None
        assert row["low"] < row["value"] < row["high"]
    averages = {r["averaging"]: r["value"] for r in
                rows_of(found, statistic="spearman", task="add", method=None)}  # fmt: skip
    assert averages["mean"] == pytest.approx(np.mean(values))
    assert averages["fisher"] == pytest.approx(np.tanh(np.arctanh(values).mean()))


@pytest.mark.parametrize("level", ["within-method", "within-item"])
def test_raters_stand_beside_the_judge_inside_items_and_methods(level: str, tmp_path: Path) -> None:
    """Each rater and the judge against the mean of the others, within rater and item or method."""
    scores, ratings = crowd()
    judged = scores[scores["method"] != "m3"].drop(columns="factor")
    wide = ratings.pivot(index=["item", "task", "method"], columns="rater", values="score")
    both = judged.merge(wide.reset_index(), on=["item", "task", "method"])
    cell = ["item"] if level == "within-item" else ["task", "method"]
    values: dict[str, list[float]] = {"rater_spearman": [], "people_rater_spearman": []}
    for _, part in both.groupby(cell):
        each = []
        for rater in ("r0", "r1", "r2"):
            others = part[[one for one in ("r0", "r1", "r2") if one != rater]].mean(axis=1)
            if 1 in (part["score"].nunique(), part[rater].nunique(), others.nunique()):
                continue
            each.append([stats.spearmanr(part[one], others).statistic for one in ("score", rater)])

        for own, figure in zip(values.values(), np.mean(each, axis=0), strict=True):
            own.append(figure)

    words = [*written(tmp_path, scores[scores["method"] != "m3"], ratings), "--level", level]
    found = json.loads(told([*words, "--json"]).stdout)
    for statistic, own in values.items():
        (row,) = rows_of(found, statistic=statistic, level=level, task=None)
        assert row["value"] == pytest.approx(np.mean(own)) and row["n"] == len(own)
        assert row["low"] < row["value"] < row["high"]


def test_no_verdict_stands_beside_another_level(tmp_path: Path) -> None:
    """Without the level of edits there is ρ at the level asked for, with n and the raters' own."""
    scores, ratings = crowd(items=30)
    words = [*written(tmp_path, scores, ratings), "--level", "within-method"]
    shown = told(words).stdout
    said = " ".join(shown.split("judge: level")[0].split())
    assert said.startswith("judge, level within-method: overall ρ = ") and "8 methods)" in said
    assert "where a rater reaches" in said and said.endswith("No verdict: it is about the level "
                                                             "item, which was left out.")  # fmt: skip
    assert "than one more rater" not in shown and "below" not in shown
    lines = [one for one in shown.splitlines() if one.startswith(" a rater (mean)")]
    assert [line.split()[3] for line in lines] == ["8", "4", "4"]
    assert [one.split()[1] for one in shown.splitlines() if one.startswith(" m0")] == ["15", "15"]
    assert json.loads(told([*words, "--json"]).stdout)["verdicts"] == []


def test_one_item_has_no_soft_pairwise_accuracy(tmp_path: Path) -> None:
    """Sign flips over one item say nothing of how sure a side is; the table says why there is none."""
    scores, ratings = crowd(items=1)
    words = written(tmp_path, scores, ratings)
    shown = " ".join(told(words).stdout.split())
    assert "No soft pairwise accuracy, because no two methods share two items." in shown
    assert "soft pairwise accuracy 0" not in shown and "soft pairwise accuracy 1" not in shown
    (row,) = rows_of(json.loads(told([*words, "--json"]).stdout), level="method",
                     statistic="soft_pairwise_accuracy", task=None)  # fmt: skip
    assert row["value"] is None and row["why"] == "no two methods share two items"


def test_ceilings_that_are_missing_or_exceeded_are_explained(tmp_path: Path) -> None:
    """A ρ above its own ceiling, and a ceiling that is a dash, have a line below the table."""
    scores, ratings = crowd(items=40)
    wide = ratings.pivot(index=["item", "method"], columns="rater", values="score")
    noise = pd.DataFrame(
        np.random.default_rng(3).normal(0, 9, wide.shape), wide.index, wide.columns
    )
    apart = (
        noise.sub(noise.mean(axis=1), axis=0) + wide.mean(axis=1).to_numpy()[:, None] / 9
    ).stack()
    noisy = (wide + noise).stack()
    shown = {}
    for name, own in (("low", apart), ("high", noisy)):
        keys = zip(ratings["item"], ratings["method"], ratings["rater"], strict=True)
        made = ratings.assign(score=[own[key] for key in keys])
        means = made.groupby(["item", "method"])["score"].mean()
        copied = [means[key] for key in zip(scores["item"], scores["method"], strict=True)]
        words = written(tmp_path, scores.assign(score=copied), made)
        shown[name] = " ".join(told(words).stdout.split())

    assert "overall: no “at most”, because the raters' reliability is not above 0" in shown["low"]
    assert "overall: ρ is above its “at most”" in shown["high"]
    assert "“at most”" not in told(written(tmp_path, *crowd(items=40))).stdout


def test_tasks_are_shown_also_where_each_item_has_one_edit(tmp_path: Path) -> None:
    """`--show tasks` has the item level of every category."""
    scores, ratings = crowd(methods=1, items=40)
    words = [*written(tmp_path, scores, ratings), "--show", "tasks"]
    assert "By task category" in told(words).stdout
    found = json.loads(told([*words, "--json"]).stdout)
    kept = [r for r in found["tasks"] if (r["level"], r["statistic"]) == ("item", "spearman")]
    assert {row["task"] for row in kept} == {"add", "remove"}
    assert all(row["value"] is not None and row["n"] == 20 for row in kept)


def test_calling_a_factor_overall_never_averages_two_columns(tmp_path: Path) -> None:
    """What is renamed to overall takes the place of the one there was; other clashes are refused."""
    rng = np.random.default_rng(0)
    rows = [
        "item,method,rater,SC,PQ,O",
        *(f"i{k},m,r,{k % 5},{k % 3},{(k * 7) % 5}" for k in range(30)),
    ]
    human = tmp_path / "human.csv"
    human.write_text("\n".join(rows), encoding="utf-8")
    judged = ["item,method,SC,PQ,O"]
    judged += [f"i{k},m,{rng.integers(5)},{rng.integers(3)},{rng.integers(5)}" for k in range(30)]
    scores = tmp_path / "j.csv"
    scores.write_text("\n".join(judged), encoding="utf-8")
    words = ["agree", "--scores", str(scores), "--human", str(human), "--json"]
    plain = json.loads(told(words).stdout)
    named = json.loads(told([*words, "--rename", "O=overall"]).stdout)
    wish = {"level": "item", "statistic": "spearman"}
    assert rows_of(named, factor="overall", **wish)[0]["value"] == pytest.approx(
        rows_of(plain, factor="O", **wish)[0]["value"]
    )
    clash = told([*words, "--rename", "SC=PQ"])
    assert clash.exit_code == 1 or "another factor" in str(clash.exception)


def test_different_scales_give_no_distances_unless_rescaled() -> None:
    """People on 1–5 and a judge on 1–10: no MAE, no bias, no alternative test; or mapped, and said."""
    scores, _ = crowd(high=10)
    _, ratings = crowd(high=5)
    limits = {"overall": (1.0, 10.0)}
    found = agree({"j": scores}, ratings, scales=limits, scale=(1.0, 5.0))
    for name in ("mae", "bias"):
        row = found.row("j", "overall", "item", name)
        assert row is not None and row.value is None and "--rescale" in row.why
    assert found.alternative[0]["winning_rate"] is None
    assert any("different scales" in note for note in found.notes)
    seen = agree({"j": scores}, ratings, scales=limits)
    assert seen.row("j", "overall", "item", "mae").value is None  # type: ignore[union-attr]

    mapped = agree({"j": scores}, ratings, scales=limits, scale=(1.0, 5.0), rescale=True)
    row = mapped.row("j", "overall", "item", "bias")
    people = 1 + (ratings.groupby(["item", "method"])["score"].mean() - 1) / 4 * 9
    means = scores.set_index(["item", "method"])["score"]
    assert row is not None and row.value == pytest.approx((means - people).mean())
    assert "people's 1 to 5 mapped onto 1 to 10" in mapped.settings["scales"][0]
    rho = found.row("j", "overall", "item", "spearman")
    again = mapped.row("j", "overall", "item", "spearman")
    assert rho is not None and again is not None
    assert rho.value == pytest.approx(again.value)


def on_three_scales() -> tuple[dict[str, pd.DataFrame], pd.DataFrame, dict[str, Any]]:
    """A judge on 1–7, one on 1–10 and one more on 1–7; people on 1–10; the judges' scales."""
    judges = {
        "seven": crowd(high=7)[0],
        "ten": crowd(high=10)[0],
        "other": crowd(high=7, seed=1)[0],
    }
    _, ratings = crowd(high=10)
    ends = {"seven": 7.0, "ten": 10.0, "other": 7.0}
    return judges, ratings, {name: {"overall": (1.0, high)} for name, high in ends.items()}


def test_every_judge_keeps_its_own_scale() -> None:
    """A judge on people's scale beside it gives another judge no MAE, bias or annotator test."""
    judges, ratings, scales = on_three_scales()
    found = agree(judges, ratings, scales=scales, scale=(1.0, 10.0), panel=Panel())
    for name in ("mae", "bias"):
        seven, ten = (found.row(judge, "overall", "item", name) for judge in ("seven", "ten"))
        assert seven is not None and seven.value is None and "the judge on 1 to 7" in seven.why
        assert ten is not None and ten.value is not None
        panel = found.row("panel", "overall", "item", name)
        assert panel is not None and panel.value is None and "different scales" in panel.why

    tested = {entry["judge"]: entry["winning_rate"] is not None for entry in found.alternative}
    assert tested["ten"] and not tested["seven"] and not tested["panel"]
    assert any(note.startswith("seven, other: no MAE") for note in found.notes)


def test_ratings_are_mapped_onto_each_judges_scale() -> None:
    """With `rescale` each judge has the distances that it has alone; their mean has none."""
    judges, ratings, scales = on_three_scales()
    options: dict[str, Any] = {"scale": (1.0, 10.0), "rescale": True}
    found = agree(judges, ratings, scales=scales, panel=Panel(), **options)
    for name, table in judges.items():
        alone = agree({name: table}, ratings, scales=scales[name], **options)
        for statistic in ("spearman", "mae", "bias"):
            one = found.row(name, "overall", "item", statistic)
            other = alone.row(name, "overall", "item", statistic)
            assert one is not None and other is not None and one.value is not None
            assert one.value == pytest.approx(other.value)

        entries = [entry for entry in found.alternative if entry["judge"] == name]
        assert entries == alone.alternative

    values = {
        name: found.row(name, "overall", "item", "mae").value  # type: ignore[union-attr]
        for name in ("panel", "panel without ten", "panel without seven")
    }
    assert values["panel"] is None and values["panel without seven"] is None
    assert any(text.startswith("seven: people's 1 to 10") for text in found.settings["scales"])


def test_a_panel_needs_no_tasks_but_common_edits() -> None:
    """A judge whose file names no tasks is in the panel, and in every task that another names."""
    judges, ratings, scales = on_three_scales()
    task = judges["ten"]["task"].iloc[0]
    judges["ten"] = judges["ten"].assign(task="")
    found = agree(judges, ratings, scales=scales, panel=Panel())
    together = found.row("panel", "overall", "item", "spearman")
    assert together is not None and together.n == len(judges["ten"])
    assert found.row("ten", "overall", "item", "spearman", task=task) is not None
    apart = {"seven": judges["seven"].iloc[:40], "ten": judges["ten"].iloc[40:]}
    with pytest.raises(LmmscoreError, match="no scored edit in common"):
        agree(apart, ratings, panel=Panel())


def test_a_panel_of_standardised_scores_has_no_distance_from_people() -> None:
    """Standard deviations are no scores: there is no MAE between them and ratings."""
    judges, ratings, _ = on_three_scales()
    limits = {"overall": (1.0, 10.0)}
    found = agree(judges, ratings, scales=limits, scale=(1.0, 10.0), panel=Panel("z"))
    row = found.row("panel", "overall", "item", "mae")
    assert row is not None and row.value is None and "standard deviations" in row.why


def test_scales_of_an_unknown_judge_are_refused() -> None:
    """A misspelt name would leave its judge without a scale, unnoticed."""
    judges, ratings, scales = on_three_scales()
    with pytest.raises(LmmscoreError, match="no judge is called 'sevn'"):
        agree(judges, ratings, scales={"sevn": scales["seven"]})


def test_latex_prints_the_reason_of_a_section_that_is_undefined(tmp_path: Path) -> None:
    """Too few edits for the alternative annotator test: a sentence, no tabular without rows."""
    text = told([*written(tmp_path, *crowd(items=6)), "--format", "tex"]).stdout
    assert "Undefined, because" in text
    assert not re.search(r"\\midrule\s+\\bottomrule", text)


def test_ranks_in_the_place_of_scores_are_noticed() -> None:
    """A column of 1 to M per item and rater is said to look like ranks; so is a reversed judge."""
    scores, ratings = crowd()
    noisy = ratings["score"] + np.random.default_rng(0).normal(0, 0.01, len(ratings))
    ranked = ratings.assign(
        score=noisy.groupby([ratings["item"], ratings["rater"]]).rank(ascending=False)
    )
    found = agree({"j": scores}, ranked)
    assert any("looks like ranks" in note for note in found.notes)
    assert any("surely negative" in note for note in found.notes)
    assert not any("looks like ranks" in note for note in agree({"j": scores}, ratings).notes)


@pytest.mark.parametrize("ties", ["min", "max", "average"])
def test_ranks_with_ties_are_noticed_too(ties: str) -> None:
    """People who may tie methods give 1, 1, 3 or 1.5, 1.5, 3: ranks all the same."""
    scores, ratings = crowd()
    groups = ratings.groupby(["item", "rater"])["score"]
    ranked = ratings.assign(score=groups.rank(ascending=False, method=ties))
    assert any("looks like ranks" in note for note in agree({"j": scores}, ranked).notes)


def test_below_any_rater_is_shown_for_every_single_one() -> None:
    """A judge surely below the average, but not below the worst rater, is not called so."""
    scores, ratings = crowd(items=60)
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 4, len(scores))
    poor = scores.assign(score=np.clip(np.round(scores["score"] + noise), 1, 10))
    assert verdict_of(poor, ratings) == "below any rater"
    careless = ratings["rater"] == "r2"
    wild = ratings["score"].where(~careless, rng.integers(1, 11, len(ratings)).astype(float))
    assert verdict_of(poor, ratings.assign(score=wild)) != "below any rater"


def verdict_of(scores: pd.DataFrame, ratings: pd.DataFrame) -> str:
    found = agree({"j": scores}, ratings).verdict("j", "overall")
    assert found is not None
    return found.words


def test_two_items_get_no_verdict_and_no_interval() -> None:
    """With so little, nothing is concluded and no interval is a point."""
    scores, ratings = crowd(items=2)
    found = agree({"j": scores}, ratings)
    verdict = found.verdict("j", "overall")
    assert verdict is not None and verdict.words == "too few items for a verdict"
    for row in found.rows:
        assert row.limits == (None, None), row


def test_judges_stand_side_by_side_with_clusters() -> None:
    """A good judge and a random one are apart at the item level; intervals of differences are given."""
    scores, ratings = crowd(items=40)
    rng = np.random.default_rng(3)
    random = scores.assign(score=rng.integers(1, 11, len(scores)).astype(float))
    twin = crowd(items=40, seed=0)[0]
    found = agree({"good": scores, "random": random, "twin": twin}, ratings)
    lines = {line["judge"]: line for line in found.judge_table}
    assert lines["good"]["item cluster"] == lines["twin"]["item cluster"] == "a"
    assert lines["random"]["item cluster"] == "b"
    assert lines["good"]["within-item"] > lines["random"]["within-item"]
    entry = next(
        one
        for one in found.comparisons
        if (one["judges"], one["level"]) == (["good", "random"], "item")
    )
    assert entry["low"] < entry["value"] < entry["high"]
    assert entry["p_holm"] >= entry["p_permutation"]
    assert {line["factor"] for line in found.judge_table} == {"overall"}


def test_a_panel_is_one_more_judge(tmp_path: Path) -> None:
    """Its scores are the mean of its members; each is left out in turn; relatives are named."""
    scores, ratings = crowd(items=30)
    others = {f"j{k}": crowd(items=30, seed=0)[0] for k in range(2)}
    for k, table in enumerate(others.values()):
        noise = np.random.default_rng(k).normal(0, 1, len(table))
        table["score"] = table["score"] + noise
    first = written(tmp_path, scores.replace({"method": {"m0": "DALL-E 3"}}),
                    ratings.replace({"method": {"m0": "DALL-E 3"}}), "gpt4o")  # fmt: skip
    words = list(first)
    for name, table in others.items():
        path = tmp_path / f"{name}.csv"
        table.replace({"method": {"m0": "DALL-E 3"}}).to_csv(path, index=False)
        words += ["--scores", str(path)]
    done = told([*words, "--panel", "--json"])
    found = json.loads(done.stdout)
    judges = {line["judge"] for line in found["judges"]}
    assert judges == {
        "gpt4o",
        "j0",
        "j1",
        "panel",
        *(f"panel without {j}" for j in ("gpt4o", "j0", "j1")),
    }
    mean = sum([scores["score"], *(table["score"] for table in others.values())]) / 3
    top = next(
        m for m in found["methods"] if (m["judge"], m["task"], m["method"]) == ("panel", None, "m3")
    )
    assert top["judge_mean"] == pytest.approx(mean[scores["method"] == "m3"].mean())
    assert found["disagreements"][0]["spread"] >= found["disagreements"][-1]["spread"]
    assert "one family of models (OpenAI)" in done.stderr and "(raw)" in done.stderr
    board = told(["leaderboard", *(str(tmp_path / f"{n}.csv") for n in ("gpt4o", "j0", "j1")),
                  "--panel", "--json"])  # fmt: skip
    assert board.exit_code == 0, board.output
    held = json.loads(board.stdout)
    assert set(held["panel"]["leave_one_out"]) == {"gpt4o", "j0", "j1"}


def test_leaving_a_judge_out_changes_nothing_else(tmp_path: Path) -> None:
    """Ranks without a judge are by the same factor, weights and tasks as the panel's own."""
    tables = {}
    for k, name in enumerate(("one", "two", "three")):
        good, bad = crowd(seed=k, factor="acc")[0], crowd(seed=k, factor="pre")[0]
        # By `pre` the methods stand the other way round.
        bad = bad.assign(score=11 - bad["score"])
        whole = good.assign(factor="overall")
        tables[name] = pd.concat([good, bad, whole])
        tables[name].to_csv(tmp_path / f"{name}.csv", index=False)

    words = ["leaderboard", *(str(tmp_path / f"{name}.csv") for name in tables), "--panel"]
    for chosen, factor, task in (
        (["--factor", "pre"], "pre", None),
        (["--weights", "pre=1"], "pre", None),
        (["--task", "add"], "overall", "add"),
    ):
        held = json.loads(told([*words, *chosen, "--json"]).stdout)
        for name, ranked in held["panel"]["leave_one_out"].items():
            rest = pd.concat([table for other, table in tables.items() if other != name])
            rest = rest[rest["factor"] == factor]
            rest = rest if task is None else rest[rest["task"] == task]
            means = rest.groupby("method")["score"].mean()
            assert ranked == {one: 1 + int((means > means[one]).sum()) for one in means.index}

    assert "rank in add if one judge" in told([*words, "--task", "add", "--format", "md"]).stdout
    assert "rank over all categories if one" in told([*words, "--format", "md"]).stdout


def test_an_alias_that_merges_two_rated_edits_is_refused() -> None:
    """Their ratings would count as two ratings of one edit by the same person."""
    scores, ratings = crowd()
    with pytest.raises(LmmscoreError, match="an alias may have given two edits one name"):
        agree({"j": scores[scores["method"] != "m1"]}, ratings, aliases={"m1": "m0"})


def test_names_that_differ_are_matched_or_given(tmp_path: Path) -> None:
    """Case and punctuation alone are matched with a note; anything else by an alias or a table."""
    scores, ratings = crowd()
    other = scores.replace({"method": {"m0": "M-0", "m1": "alpha"}})
    words = written(tmp_path, other, ratings)
    table = tmp_path / "names.csv"
    table.write_text("from,to\nalpha,m1\n", encoding="utf-8")
    done = told([*words, "--aliases", str(table), "--json"])
    assert "M-0 as m0" in done.stderr
    found = json.loads(done.stdout)
    assert {one["method"] for one in found["methods"]} == {"m0", "m1", "m2", "m3"}
    typed = told([*words, "--alias", "alpha=m1", "--method", "m1", "--method", "m2", "--json"])
    assert {one["method"] for one in json.loads(typed.stdout)["methods"]} == {"m1", "m2"}


def test_a_misspelt_method_is_named_on_both_sides(tmp_path: Path) -> None:
    """A method that one side alone has is named, with the alias to type where it looks misspelt."""
    scores, ratings = crowd()
    judged = scores.replace({"method": {"m0": "CleanEdit", "m3": "zoom"}})
    rated = ratings.replace({"method": {"m0": "CleanEdt"}})
    words = written(tmp_path, judged, rated)
    noted = told(words).stderr
    assert (
        "methods people rated but the judge did not score (2), left out: 'CleanEdt' (did you mean "
        "CleanEdit? if so, correct it, or run agree with --alias CleanEdt=CleanEdit) and 'm3'"
    ) in noted
    assert "methods nobody rated (2), left out: 'CleanEdit' and 'zoom'" in noted
    two = told([*words, "--method", "m1", "--method", "CleanEdit"]).stderr
    assert "did you mean CleanEdit?" in two and "zoom" not in two

    mended = told([*words, "--alias", "CleanEdt=CleanEdit", "--json"])
    assert "CleanEdt" not in mended.stderr
    assert "CleanEdit" in {one["method"] for one in json.loads(mended.stdout)["methods"]}


def test_other_raters_widen_the_interval(tmp_path: Path) -> None:
    """On request an interval allows for other raters too, and the ceiling is said."""
    scores, ratings = crowd(items=40)
    words = [*written(tmp_path, scores, ratings), "--over-raters", "--json"]
    found = json.loads(told(words).stdout)
    plain = rows_of(found, level="item", statistic="spearman")[0]
    wide = rows_of(found, statistic="spearman_over_raters")[0]
    assert wide["high"] - wide["low"] > plain["high"] - plain["low"]
    corrected = rows_of(found, statistic="spearman_corrected")[0]
    icc = next(r for r in found["people"] if r["statistic"] == "icc1k")["value"]
    assert corrected["ceiling"] == pytest.approx(np.sqrt(icc))
    assert corrected["value"] == pytest.approx(min(1, plain["value"] / np.sqrt(icc)))
    assert (
        found["variance"]["overall"]["with_one_more_rater"]
        < found["variance"]["overall"]["error_of_difference"]
    )


def test_the_difference_from_raters_says_which_raters_it_is_over() -> None:
    """A rater who gave everything the same has no ρ, though the judge has one in that place."""
    scores, ratings = crowd(items=30)
    same = ratings["rater"] == "r0"
    found = agree({"j": scores}, ratings.assign(score=ratings["score"].mask(same, 5.0)))
    row = found.row("j", "overall", "item", "rater_spearman")
    assert row is not None and row.n == 3
    assert "on the 2 raters with both figures the difference is" in found.beside_raters("j")[0]


def test_a_judge_stands_beside_raters_on_the_edits_it_scored(tmp_path: Path) -> None:
    """The raters' ρ and the ceiling in the judge's row are over its edits, not over all rated ones."""
    scores, ratings = crowd(items=40)
    some = scores[scores["method"] != "m3"]
    alone = agree({"j": some}, ratings[ratings["method"] != "m3"])
    found = agree({"j": some}, ratings)
    for name in ("people_rater_spearman", "rater_spearman", "spearman_corrected"):
        assert found.row("j", "overall", "item", name) == alone.row("j", "overall", "item", name)

    of_raters = found.row("j", "overall", "item", "people_rater_spearman")
    verdict, of_all = found.verdict("j", "overall"), found.people_row("overall", "rater_spearman")
    assert of_raters is not None and verdict is not None and of_all is not None
    assert of_raters.value == verdict.people_value != of_all.value
    (line,) = [
        one
        for one in told(written(tmp_path, some, ratings)).stdout.splitlines()
        if one.split()[:2] == ["overall", "120"]
    ]
    assert f"{of_raters.value:.3f}" in line


def test_a_corrected_correlation_stays_within_its_range() -> None:
    """A judge that is the reverse of noisy raters comes out at −1 against people without noise."""
    scores, ratings = crowd(items=40)
    rng = np.random.default_rng(1)
    noisy = np.clip(ratings["score"] + rng.normal(0, 4, len(ratings)), 1, 10).round()
    means = ratings.assign(score=noisy).groupby(["item", "method"])["score"].mean()
    reversed_scores = [
        11 - means[key] for key in zip(scores["item"], scores["method"], strict=True)
    ]
    found = agree({"j": scores.assign(score=reversed_scores)}, ratings.assign(score=noisy))
    row = found.row("j", "overall", "item", "spearman_corrected")
    assert row is not None and row.value == -1


def test_an_interval_over_raters_needs_a_correlation_without_each_of_them() -> None:
    """Where one rater alone tells edits apart, the others say nothing without them, and that is said."""
    scores, ratings = crowd(items=12)
    same = ratings["rater"] != "r0"
    found = agree(
        {"j": scores}, ratings.assign(score=ratings["score"].mask(same, 5.0)), over_raters=True
    )
    row = found.row("j", "overall", "item", "spearman_over_raters")
    assert row is not None and row.value is not None
    assert row.limits == (None, None)
    assert "undefined without some of the raters" in row.to_json()["why"]

    # The same where the judge tells one item alone apart from the others.
    scores = scores.assign(score=scores["score"].where(scores["item"] == "i00", 5.0))
    row = agree({"j": scores}, ratings, over_raters=True).row(
        "j", "overall", "item", "spearman_over_raters"
    )
    assert row is not None and row.limits == (None, None)
    assert "undefined without some of the items" in row.to_json()["why"]


def test_a_corrected_leaderboard_ranks_by_what_people_would_say(tmp_path: Path) -> None:
    """Few ratings and many scores: means of people's scale, with ranks and their intervals."""
    scores, ratings = crowd(items=60)
    scores = scores.assign(score=scores["score"] + 5)
    some = ratings[ratings["item"].isin([f"i{k:02d}" for k in range(20)])]
    scores.to_csv(tmp_path / "scores.csv", index=False)
    some.drop(columns="where").to_csv(tmp_path / "human.csv", index=False)
    done = told(["leaderboard", str(tmp_path / "scores.csv"), "--human", str(tmp_path / "human.csv"),
                 "--corrected", "--json"])  # fmt: skip
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)["tables"][-1]
    assert [row["rank"] for row in table["rows"]] == [1, 2, 3, 4]
    truth = ratings.groupby("method")["score"].mean()
    for row in table["rows"]:
        low, high = row["mean_interval"]
        assert low - 0.5 < truth[row["method"]] < high + 0.5
        assert row["n"] == 20
        assert row["rank_interval"][0] <= row["rank"] <= row["rank_interval"][1]


def test_a_statistic_can_be_added_by_registering_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of two columns is enough: it appears at its levels, with an interval."""
    from lmmscore.agreement import statistics as known

    monkeypatch.setattr(known.STATISTICS, "_members", dict(known.STATISTICS._members))
    known.register(
        known.Statistic(
            "cosine",
            "cosine",
            lambda judge, people: float(
                judge @ people / np.sqrt((judge @ judge) * (people @ people))
            ),
            levels=("item", "within-method"),
        )
    )
    known.statistics.cache_clear()
    scores, ratings = crowd()
    found = agree({"j": scores}, ratings)
    known.statistics.cache_clear()
    row = found.row("j", "overall", "item", "cosine")
    assert row is not None and row.value is not None and 0.9 < row.value <= 1
    assert row.limits[0] is not None


@pytest.mark.parametrize(
    ("judges", "asked", "used"), [(1, 9_999, 0), (2, 9_999, 1_999), (2, 500, 500), (6, 500, 3_000)]
)
def test_the_settings_hold_the_draws_that_were_made(judges: int, asked: int, used: int) -> None:
    """No more than enough, no fewer than Holm's correction needs; none where there is no test."""
    _, ratings = crowd(items=6, methods=2)
    tables = {f"j{k}": crowd(items=6, methods=2, seed=k)[0] for k in range(judges)}
    found = agree(tables, ratings, resamples=asked, levels=["item"])
    assert found.settings["resamples"] == used


def test_a_panel_is_compared_with_its_judges_and_not_with_its_parts() -> None:
    """Leaving a judge out shows what it adds; those panels take no place among the tests."""
    ratings = crowd()[1]
    judges = {name: crowd(seed=seed)[0] for seed, name in enumerate("abc")}
    found = agree(judges, ratings, panel=Panel())
    tested = {name for entry in found.comparisons for name in entry["judges"]}
    assert tested == {"a", "b", "c", "panel"}
    lines = {line["judge"]: line for line in found.judge_table}
    assert lines["panel without a"]["item cluster"] is None
    inside = [one for one in found.comparisons if one["level"] == "within-method"]
    assert all(one["low"] < one["value"] < one["high"] for one in inside)


def test_items_that_say_nothing_make_no_interval_narrower() -> None:
    """An item that one person rated one edit of adds nothing to agreement within items or raters."""
    scores, ratings = crowd(12)
    more_scores, more = crowd(60, seed=1)
    alone = (more["rater"] == "r0") & (more["method"] == "m0")
    added = more[alone].assign(item="x" + more["item"])
    of_added = more_scores[more_scores["method"] == "m0"].assign(item="x" + more_scores["item"])

    short = agree({"j": scores}, ratings)
    long = agree({"j": pd.concat([scores, of_added])}, pd.concat([ratings, added]))
    for level, statistic in (("within-item", "spearman"), ("item", "rater_spearman")):
        before = short.row("j", "overall", level, statistic)
        after = long.row("j", "overall", level, statistic)
        assert before is not None and after is not None
        assert after.value == pytest.approx(before.value)
        assert after.limits == pytest.approx(before.limits)

    for statistic in ("alpha_interval", "rater_spearman"):
        own, same = (one.people_row("overall", statistic) for one in (short, long))
        assert own is not None and same is not None
        assert (same.n, same.value) == (own.n, pytest.approx(own.value))
        assert same.limits == pytest.approx(own.limits)

    gaps = [one.verdict("j", "overall").difference for one in (short, long)]  # type: ignore[union-attr]
    assert gaps[1].limits == pytest.approx(gaps[0].limits)


def test_the_interval_within_items_is_students_over_the_items_with_a_value() -> None:
    """Items where ρ is undefined lend it no degree of freedom; the jackknife by hand says so."""
    scores, ratings = crowd(20)
    # Everyone gave all methods of five items the same: ρ is undefined there.
    flat = ratings["item"] < "i05"
    ratings = ratings.assign(score=ratings["score"].where(~flat, 5.0))
    row = agree({"j": scores}, ratings).row("j", "overall", "within-item", "spearman")
    assert row is not None and row.n == 15

    wide = ratings.groupby(["item", "method"])["score"].mean()
    judge = scores.set_index(["item", "method"])["score"]
    each = [
        stats.spearmanr(judge[item], wide[item][judge[item].index]).statistic
        for item in sorted({*ratings["item"]})
        if item >= "i05"
    ]
    without = np.arctanh([np.mean(np.delete(each, k)) for k in range(15)])
    error = np.sqrt(14 / 15 * ((without - without.mean()) ** 2).sum())
    reach = stats.t.ppf(0.975, 14) * error
    centre = np.arctanh(np.mean(each))
    assert row.limits == pytest.approx(np.tanh([centre - reach, centre + reach]))


def test_an_overall_made_of_a_factor_on_another_scale_has_no_mae() -> None:
    """People rated both factors on 1 to 10, the judge one of them on 0 to 1."""
    scores, ratings = crowd(factor="a")
    fine = scores.assign(factor="b", score=scores["score"] / 10)
    overall = scores.assign(factor="overall", score=(scores["score"] + fine["score"]) / 2)
    judge = pd.concat([scores, fine, overall])
    people = pd.concat([ratings, ratings.assign(factor="b")])
    scales = {"a": (1.0, 10.0), "b": (0.0, 1.0), "overall": (0.5, 5.5)}
    for order in (people, people.iloc[::-1]):
        found = agree({"j": judge}, order, scales=scales, scale=(1, 10))
        values = [found.row("j", factor, "item", "mae") for factor in ("a", "b", "overall")]
        assert [row is not None and row.value is not None for row in values] == [True, False, False]


def test_a_corrected_leaderboard_says_which_rated_edits_are_lost() -> None:
    """An edit that people rated and the judge did not score takes no part, and is counted."""
    scores, ratings = crowd(20)
    refused = (scores["item"] == "i03") & (scores["method"] == "m1")
    scores = scores.assign(
        score=scores["score"].mask(refused), outcome=scores["outcome"].mask(refused, "refused")
    )
    some = ratings[ratings["item"] < "i10"]
    board = corrected_board(scores, some, "overall", caution="")
    assert "Excluded: rated edits the judge left refused (1)." in board.notes
    assert not any(
        "Excluded" in note for note in corrected_board(*crowd(), "overall", caution="").notes
    )


def test_a_corrected_leaderboard_has_no_impossible_interval() -> None:
    """Means and intervals stay on people's scale; below five rated edits there is no interval."""
    scores, ratings = crowd(20)
    # People use both ends, so that a t interval of six ratings passes them.
    ends = ratings.assign(score=np.where(ratings["item"].str[-1].astype(int) % 2, 1.0, 10.0))
    for rated, has in ((3, False), (4, False), (6, True)):
        some = ends[ends["item"] < f"i{rated:02d}"]
        table = corrected_board(scores, some, "overall", scale=(1, 10)).tables[-1]
        assert {row.n for row in table.rows} == {rated}
        assert all((row.mean_interval is not None) is has for row in table.rows)
        for row in table.rows:
            low, high = row.mean_interval or (1, 10)
            assert row.mean is not None and 1 <= low <= row.mean <= high <= 10
        assert any("too few for an interval" in text for text in table.warnings) is not has


def test_an_estimate_past_the_end_of_the_scale_is_not_printed() -> None:
    """The correction knows no scale: its end stands for what passes it, and a warning says so."""
    judge = np.r_[[1.0, 3, 9, 9, 9], np.full(60, 10.0)]
    people = pd.Series([2.0, 4, 10, 10, 10, *[None] * 60], dtype=float)
    found = estimate(pd.DataFrame({"judge": judge, "people": people}), (1, 10))
    assert isinstance(found, Powered) and found.value > 10
    assert found.mean == 10 and (found.limits is None or found.limits[1] == 10)


def test_where_too_few_edits_were_rated_that_is_the_reason() -> None:
    """All edits were scored and few rated: no line says that none was scored."""
    scores, ratings = crowd(20)
    table = corrected_board(scores, ratings[ratings["item"] < "i01"], "overall").tables[-1]
    assert table.verdict == "Too few edits were rated: nothing can be ranked."
    assert "1 rated edit, and at least 3 are needed" in table.warnings[0]


def test_the_names_of_a_bundled_dialog_do_not_make_its_scale(tmp_path: Path) -> None:
    """Scores of 0 to 100 under the factors of lmm-score are not on 1 to 10, so there is no MAE."""
    parts = [crowd(seed=k, factor=key) for k, key in enumerate(("acc", "pre", "qua", "real"))]
    scores = pd.concat([part[0] for part in parts])
    ratings = pd.concat([part[1] for part in parts])
    for times, known in ((1, True), (10, False)):
        words = written(tmp_path, scores.assign(score=scores["score"] * times), ratings)
        found = json.loads(told([*words, "--factor", "acc", "--scale", "1,10", "--json"]).stdout)
        [row] = rows_of(found, level="item", statistic="mae", task=None)
        assert (row["value"] is not None) is known
