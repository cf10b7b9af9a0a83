"""Published tables: their contradictions, and a run beside one."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lmmscore.cli import lmmscore as main
from lmmscore.errors import FileProblem
from lmmscore.leaderboard import rank
from lmmscore.leaderboard.compare import (
    PublishedRow,
    against,
    check,
    check_correlations,
    correlation_columns,
    correlations,
    find_published,
    key_of,
    largest_std,
    load_correlations,
    load_published,
)
from lmmscore.report.leaderboard import against_grid
from tests.tidy_frames import judged, overall

SHARED = Path(__file__).parents[2].parent / "shared"


def table(*lines: tuple[str, float, float | None, int | None]) -> list[PublishedRow]:
    return [
        PublishedRow("t", method, mean, std, place, k + 2)
        for k, (method, mean, std, place) in enumerate(lines)
    ]


def kinds(
    entries: list[PublishedRow], scale: tuple[float, float] = (1, 10)
) -> list[tuple[str, str]]:
    return [(problem.method, problem.kind) for problem in check(entries, scale=scale)]


def test_the_editeval_table_contradicts_itself_in_three_tasks() -> None:
    """The rows whose printed rank and mean cannot both be right are found, and no others."""
    problems = check(load_published(find_published("editeval_v1")), scale=(1, 10))
    assert {(p.task, p.method) for p in problems} == {
        *(
            ("background_change", m)
            for m in ("InstructPix2Pix", "ProxEdit", "DDS", "AIDI", "EDICT", "SINE")
        ),
        *(("style_change", m) for m in ("LEDITS++", "ProxEdit")),
        *(("action_change", m) for m in ("Forgedit", "MasaCtrl")),
    }
    assert {p.kind for p in problems} == {"rank-contradicts-mean"}
    sine = next(p for p in problems if p.method == "SINE")
    assert "printed rank 5 with mean 3.02" in sine.says
    assert "by its mean it is 8" in sine.says


def test_the_bundled_figures_are_the_published_ones() -> None:
    """Every line of the published leaderboard is there, figure for figure."""
    original = SHARED / "data/editeval/leaderboard_published.csv"
    if not original.is_file():
        pytest.skip("the published leaderboard is not at hand")
    with original.open(newline="") as file:
        wanted = [
            (r["task"], r["method"], float(r["mean"]), float(r["std"]), int(r["rank"]))
            for r in csv.DictReader(file)
        ]
    found = [
        (e.task, e.method, e.mean, e.std, e.rank)
        for e in load_published(find_published("editeval_v1"))
    ]
    assert found == wanted


def test_a_sound_table_has_no_problems() -> None:
    """Descending means with ascending ranks are in order, also with gaps, shared ranks and rounding ties."""
    assert kinds(table(("A", 8.0, 1.0, 1), ("B", 7.0, 1.0, 2), ("C", 6.0, 1.0, 4))) == []
    assert kinds(table(("A", 8.0, 1.0, 1), ("B", 8.0, 1.0, 1), ("C", 6.0, 1.0, 3))) == []
    assert kinds(table(("A", 8.0, 1.0, 1), ("B", 8.0, 1.0, 2))) == []
    assert kinds(table(("A", 8.0, None, None), ("B", 9.0, None, None))) == []


def test_a_shared_rank_with_different_means_is_a_contradiction() -> None:
    """Two means that differ in print cannot have the same rank."""
    assert kinds(table(("A", 8.0, 1.0, 1), ("B", 7.0, 1.0, 1))) == [
        ("A", "rank-contradicts-mean"),
        ("B", "rank-contradicts-mean"),
    ]


def test_impossible_figures_are_found() -> None:
    """A mean outside the scale, a spread no scores on it can have, a negative one, a method printed twice."""
    entries = table(
        ("A", 11.0, 1.0, 1),
        ("B", 9.5, 4.0, 2),
        ("C", 6.0, -1.0, 3),
        ("LEDITS++", 5.0, 1.0, 4),
        ("ledits_plusplus", 4.0, 1.0, 5),
    )
    assert kinds(entries) == [
        ("A", "mean-outside-scale"),
        ("B", "std-too-large"),
        ("C", "std-negative"),
        ("ledits_plusplus", "printed-twice"),
    ]
    assert kinds(entries[:1], scale=(0, 100)) == []


def test_the_largest_std_is_that_of_the_most_spread_out_scores() -> None:
    """For 2 to 4 scores it equals the largest found by trying every combination of whole numbers."""
    grid = range(1, 11)
    for n in (2, 3, 4):
        best: dict[float, float] = {}
        for scores in product(grid, repeat=n):
            mean = round(float(np.mean(scores)), 6)
            best[mean] = max(best.get(mean, 0.0), float(np.std(scores, ddof=1)))
        for mean, std in best.items():
            assert largest_std(mean, 1, 10, n) == pytest.approx(std, abs=1e-4)


def test_an_unknown_number_of_scores_allows_the_most() -> None:
    """Without n the bound is that of whichever number of scores allows the largest spread."""
    assert largest_std(5.5, 1, 10, None) == pytest.approx(9 / 2**0.5)
    assert largest_std(10, 1, 10, None) == 0


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("InstructionPix2Pix", "InstructPix2Pix"),
        ("LEDITS_PLUSPLUS", "LEDITS++"),
        ("null_text", "Null-Text Inversion"),
        ("proxedit", "ProxEdit"),
        ("edict", "EDICT"),
    ],
)
def test_names_of_one_method_match(ours: str, theirs: str) -> None:
    """Files and papers spell methods differently; known aliases and plain spelling variants are matched."""
    assert key_of(ours) == key_of(theirs)


def test_different_methods_do_not_match() -> None:
    """No two methods of the published table fall together, nor do names in other scripts."""
    names = {entry.method for entry in load_published(find_published("editeval_v1"))}
    assert len({key_of(name) for name in names}) == len(names)
    assert key_of("方法一") != key_of("方法二")
    assert key_of("++") != key_of("--")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("task,method,mean,std\nt,A,5,1\n", "no column 'rank'"),
        ("task,method,rank\nt,A,1\n", "no column 'mean'"),
        ("task,method,mean,std,rank\nt,A,five,1,1\n", "line 2: mean 'five' is not a number"),
        ("task,method,mean,std,rank\nt,A,,1,1\n", "line 2: the mean is empty"),
        ("task,method,mean,std,rank\nt,A,5,1,1.5\n", "not a whole number"),
        ("", "no rows"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_its_line(
    text: str, says: str, tmp_path: Path
) -> None:
    """What is wrong, and where."""
    file = tmp_path / "x.csv"
    file.write_text(text)
    with pytest.raises(FileProblem, match=says):
        load_published(file)


def test_an_unknown_table_is_answered_with_those_there_are() -> None:
    """A slip in the name of a bundled table finds the one that was meant."""
    with pytest.raises(FileProblem, match="did you mean editeval_v1"):
        find_published("editeval_1")


def test_a_run_is_set_beside_the_published_table() -> None:
    """Methods are matched by name, ranks are among those in both, and what is not in both is listed."""
    scores = overall(
        {"SINE": [6.0], "null_text": [8.0], "LEDITS_PLUSPLUS": [7.0], "Mine": [9.0]},
        task="background_change",
    )
    found = against(rank(scores, resamples=0), load_published(find_published("editeval_v1")))
    assert [task.task for task in found] == ["background_change"]
    rows = {row.published_method: row for row in found[0].rows}
    assert set(rows) == {"SINE", "Null-Text Inversion", "LEDITS++"}
    assert rows["SINE"].difference == pytest.approx(6.0 - 3.02)
    assert (rows["SINE"].rank, rows["SINE"].published_rank, rows["SINE"].printed_rank) == (3, 3, 5)
    assert (found[0].spearman, found[0].kendall) == (pytest.approx(1.0), pytest.approx(1.0))
    assert found[0].only_run == ("Mine",)
    assert "AIDI" in found[0].only_published


def test_too_few_methods_have_no_correlation() -> None:
    """Two pairs, or one side all ties, give no correlation, and a sentence."""
    assert correlations([1.0, 2.0], [1.0, 2.0]) == (None, None)
    assert correlations([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) == (None, None)
    scores = overall({"SINE": [6.0], "DDS": [8.0]}, task="background_change")
    found = against(rank(scores, resamples=0), load_published(find_published("editeval_v1")))
    assert "too few" in found[0].statement


def test_a_name_that_fits_two_lines_is_matched_by_its_spelling_or_left_out() -> None:
    """`a` and `A` are not one method counted twice, and of `v1.5` and `v15` none stands for the other."""
    scores = overall({"A": [6.0], "B": [8.0], "v1.5": [5.0], "v15": [4.0]})
    names = {"a": 7.0, "A": 5.0, "b": 3.0, "V 1.5": 2.0}
    entries = [
        PublishedRow("t", name, mean, None, None, line)
        for line, (name, mean) in enumerate(names.items(), 2)
    ]
    found = against(rank(scores, resamples=0), entries)[0]
    assert [(row.method, row.published_method) for row in found.rows] == [("B", "b"), ("A", "A")]
    assert set(found.ambiguous) == {"a", "v1.5", "v15", "V 1.5"}
    assert (found.only_run, found.only_published) == ((), ())
    assert "more than one name may be meant" in str(against_grid(found, "theirs", 2))


def test_each_factor_against_a_published_table_is_named() -> None:
    """Several factors beside one table are told apart."""
    board = rank(judged(4, 3), factor="all", resamples=0)
    found = against(board, [PublishedRow("t0", "m0", 5.0, None, 1, 2)])
    assert [task.factor for task in found] == ["overall", "acc", "pre", "qua", "real"]
    assert against_grid(found[1], "theirs", 2).title == "t0: acc against theirs"


def test_a_table_with_a_column_per_factor_is_one_of_correlations(tmp_path: Path) -> None:
    """As papers print them: every column is checked by itself, under whatever name."""
    wide = tmp_path / "wide.csv"
    wide.write_text("judge,method,SC,PQ\nx,A,0.5,0.6\nx,B,0.7,1.2\nx,Average,0.9,0.9\n")
    columns = correlation_columns(wide)
    assert columns == ["SC", "PQ"]
    found = check_correlations(load_correlations(wide, columns))
    assert [(one.task, one.method, one.kind) for one in found] == [
        ("x, SC", "Average", "average-contradicts-rows"),
        ("x, PQ", "B", "correlation-outside-range"),
    ]
    greek = tmp_path / "greek.tsv"
    greek.write_text("method\tρ\nA\t-.5\nB\t0.7\nmean over methods\t0.1\n")
    assert correlation_columns(greek) == ["ρ"]
    assert check_correlations(load_correlations(greek, ["ρ"])) == []
    assert correlation_columns(find_published("editeval_v1")) == []


def test_figures_are_doubted_no_further_than_they_are_printed(tmp_path: Path) -> None:
    """A mean of 9.9 may be 9.86, and 0.99 may be 0.995, which is far away on Fisher's scale."""
    means, ten_low = tmp_path / "means.csv", np.array([10.0] * 984 + [1.0] * 16)
    for decimals, kinds_found in ((1, []), (2, []), (None, ["std-too-large"])):
        mean, std = (9.9, 1.13) if decimals is None else (ten_low.mean(), ten_low.std(ddof=1))
        line = f"t,A,{mean:.{decimals or 2}f},{std:.{decimals or 2}f},1,1000"
        means.write_text(f"task,method,mean,std,rank,n\n{line}\n")
        assert [one.kind for one in check(load_published(means), scale=(1, 10))] == kinds_found

    printed = tmp_path / "printed.csv"
    exact = np.array([0.9949, 0.5049, 0.3049])
    for average, wrong in ((np.tanh(np.arctanh(exact).mean()), 0), (exact.mean(), 0), (0.9, 1)):
        lines = [f"m{k},{value:.2f}" for k, value in enumerate(exact)]
        printed.write_text("\n".join(["method,ρ", *lines, f"average,{average:.2f}"]))
        assert len(check_correlations(load_correlations(printed, ["ρ"]))) == wrong


def test_what_is_found_goes_to_a_file_where_one_is_named(tmp_path: Path) -> None:
    """`-o FILE` of `published check` and `power` writes what would be printed, and says so."""
    run = CliRunner().invoke
    table, scores = tmp_path / "found.txt", tmp_path / "scores.csv"
    done = run(main, ["published", "check", "editeval_v1", "-o", str(table)])
    assert done.exit_code == 0 and done.stdout == ""
    assert table.read_text() == run(main, ["published", "check", "editeval_v1"]).stdout

    judged(6, 3).to_csv(scores, index=False)
    words = ["power", str(scores), "m0", "m1"]
    printed = run(main, words)
    assert printed.exit_code == 0, printed.output
    assert run(main, [*words, "-o", str(table)]).stdout == ""
    assert table.read_text() == printed.stdout
