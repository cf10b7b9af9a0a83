"""Score files of other tools: nested JSON lines, tables long and wide; a hole is a reason, never a number."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from lmmscore.cli.scores import command
from lmmscore.dialog import load_dialog
from lmmscore.errors import FileProblem
from lmmscore.score_files import Layout, read_score_file, scores_in
from lmmscore.scores import SCORE_COLUMNS, read_scores

JUDGES = Path(__file__).parents[2].parent / "shared" / "data" / "mllm-judge"
needs_data = pytest.mark.skipif(
    not JUDGES.is_dir(), reason="the judges' files are not beside the repository"
)


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
        [
            {"image_id": k, "results": {f: int(s["score"]) for f, s in v.items()}}
            for k, v in full.items()
        ],
    )
    long, wide = tmp_path / "long.csv", tmp_path / "wide.csv"
    long.write_text("item,factor,score\na,q,5\na,r,6\nb,q,2\nb,r,3\n", encoding="utf-8")
    wide.write_text("item,note,q,r\na,fine,5,6\nb,bad,2,3\n", encoding="utf-8")
    expected = by_factor(rich)
    assert expected["a", "", "overall"] == 5.5
    assert all(by_factor(str(path)) == expected for path in (plain, long, wide))


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(-9, 9).map(lambda n: n / 4), min_size=1)
)
@settings(max_examples=40, deadline=None)
def test_whatever_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, scores: dict[str, float]
) -> None:
    """Any scores of any factors survive the way through a file of another tool and our own scores.csv."""
    folder = tmp_path_factory.mktemp("s")
    spec = nested(
        folder / "j.jsonl", [{"id": "x", "r": {k: {"score": v} for k, v in scores.items()}}]
    )
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
    path.write_text(
        "item,model,category,repeat,q\na_add_1,X,add,1,3\na_add_1,X,add,2,4\n", encoding="utf-8"
    )
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
        ([{"id": "a", "x": {"q": 1}, "y": {"q": 2}}], "", "there are scores under x, y; choose one"),
        ([{"id": "a", "online": {"q": 1}}], ":onlin", "no field 'onlin' (did you mean online?"),
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


def csv_file(path: Path, text: str) -> str:
    """Write a file and return its path."""
    path.write_text(text, encoding="utf-8")
    return str(path)


def book(path: Path, **sheets: list[list[object]]) -> str:
    """Write an Excel file of these sheets and return its path."""
    with pd.ExcelWriter(path) as writer:
        for name, rows in sheets.items():
            pd.DataFrame(rows[1:], columns=rows[0]).to_excel(writer, sheet_name=name, index=False)
    return str(path)


def test_every_sheet_is_read_and_a_legend_is_noted(tmp_path: Path) -> None:
    """A sheet a method: neither another order of columns nor one more column makes a method vanish."""
    first, second = (
        [["item", "method", "q"], ["1", "A", 5]],
        [["q", "method", "item", "x"], [2, "B", "1", "y"]],
    )
    path = book(tmp_path / "s.xlsx", one=first, two=second, legend=[["what"], ["q is quality"]])
    assert by_factor(path) == {("1", "A", "q"): 5, ("1", "A", "overall"): 5,
                               ("1", "B", "q"): 2, ("1", "B", "overall"): 2}  # fmt: skip
    notes: list[str] = []
    assert {score.method for score in scores_in(f"{path}:two", notes=notes)} == {"B"} and not notes
    scores_in(path, notes=notes)
    assert notes == [f"{path}:legend: this sheet names no item and is ignored"]


def test_decimal_commas_are_decimals_in_a_file_with_semicolons(tmp_path: Path) -> None:
    """A European spreadsheet's 5,5 is five and a half, and the factor does not vanish from the overall."""
    path = csv_file(tmp_path / "s.csv", "item;method;acc;pre\n1,5;A;5,5;6\n2;A;7,5;8\n")
    found = by_factor(path)
    assert found["1,5", "A", "acc"] == 5.5 and found["1,5", "A", "overall"] == 5.75


def test_a_factor_with_few_numbers_is_still_a_factor(tmp_path: Path) -> None:
    """Cells that are no numbers are unreadable with a reason; the overall is not made from the other factors."""
    path = csv_file(
        tmp_path / "s.csv", 'item,acc,pre,comment\n1,"5,5",6,3\n2,refused,8,bad\n3,7,8,\n4,1_0,8,\n'
    )
    table = read_score_file(path).set_index(["item", "factor"])
    assert set(table.index.get_level_values("factor")) == {"acc", "pre", "overall"}
    assert table.loc[("1", "overall"), "outcome"] == "unreadable"
    assert "s.csv:3: acc: 'refused' is not a number" in table.loc[("2", "overall"), "reason"]
    assert table.loc[("4", "acc"), "outcome"] == "unreadable"
    assert table.loc[("3", "overall"), "score"] == 7.5


def test_a_seed_is_no_factor(tmp_path: Path) -> None:
    """Columns that by their name are no scores, or are empty, are left out and said so; --factor decides otherwise."""
    path = csv_file(tmp_path / "s.csv", "item,seed,acc,gone\n1,1234,5,\n2,99,7,\n")
    result = CliRunner().invoke(command, [path])
    assert result.exit_code == 0 and "1,,,1,,overall,5,scored," in result.stdout
    assert f"note: {path}: column seed is ignored; by its name it is not a score" in result.stderr
    assert f"note: {path}: column gone is empty and is ignored" in result.stderr
    assert "1 factor (acc)" in result.stderr
    both = CliRunner().invoke(command, [path, "--factor", "acc", "--factor", "seed"])
    assert "1,,,1,,overall,619.5,scored," in both.stdout
    wrong = CliRunner().invoke(command, [path, "--factor", "ac"])
    assert "no factor 'ac' (did you mean acc?" in str(wrong.exception)


@pytest.mark.parametrize("name", ["image", "Sample", "uid", "row", "trial"])
def test_a_second_number_of_the_item_is_no_factor(tmp_path: Path, name: str) -> None:
    """Where the item is known, another column that numbers it does not count in the overall."""
    path = csv_file(tmp_path / "s.csv", f"item,{name},acc\na,7,3\nb,8,4\n")
    notes: list[str] = []
    assert {score.factor for score in scores_in(path, notes=notes)} == {"acc", "overall"}
    assert notes == [f"{path}: column {name} is ignored; by its name it is not a score"]


def test_a_number_off_every_scale_is_asked_about(tmp_path: Path) -> None:
    """A column that was hardly meant as a factor does not drown the others in the overall."""
    path = csv_file(tmp_path / "s.csv", "item,iterations,acc\n1,5000,5\n")
    with pytest.raises(FileProblem, match=r"column iterations has 5000.*--factor NAME"):
        read_score_file(path)


@pytest.mark.parametrize("repeat", ["0", "1.5", "x", "-1", ""])
def test_a_repeat_is_a_whole_number_from_one(tmp_path: Path, repeat: str) -> None:
    """No repeat is quietly made the first."""
    path = csv_file(tmp_path / "s.csv", f"item,repeat,q\n1,1,3\n1,{repeat},4\n")
    with pytest.raises(
        FileProblem, match=rf"s\.csv:3: repeat '{repeat}' is not a whole number from 1"
    ):
        read_score_file(path)


def test_an_id_may_occur_in_several_tasks(tmp_path: Path) -> None:
    """Item 1 of one task and item 1 of another are two edits; twice in the same task is refused."""
    path = csv_file(tmp_path / "s.csv", "item,task,q\n1,add,3\n1,remove,4\n")
    result = CliRunner().invoke(command, [path])
    assert result.exit_code == 0 and "2 edits" in result.stderr
    with pytest.raises(FileProblem, match="'1' was scored before"):
        read_score_file(csv_file(tmp_path / "t.csv", "item,task,q\n1,add,3\n1,add,4\n"))


@pytest.mark.parametrize("what", ["item", "method", "task"])
def test_a_column_that_is_not_there_is_refused(tmp_path: Path, what: str) -> None:
    """A name the user typed is never ignored: the nearest column is suggested."""
    path = csv_file(tmp_path / "s.csv", "item,method,task,q\n1,A,t,3\n")
    result = CliRunner().invoke(command, [path, f"--{what}-column", f"{what}s"])
    assert isinstance(result.exception, FileProblem)
    assert f"no column '{what}s' (did you mean {what}?" in str(result.exception)


def test_our_own_file_keeps_its_outcomes(tmp_path: Path) -> None:
    """A scores.csv of ours goes through unchanged, whether a comma or a semicolon separates; options are refused."""
    text = ",".join(SCORE_COLUMNS) + "\n1,t,A,2,3,q,5.5,scored,\n1,t,B,1,,q,,refused,no thanks\n"
    ours = csv_file(tmp_path / "a.csv", text)
    spread = csv_file(tmp_path / "b.csv", text.replace(",", ";").replace("5.5", "5,5"))
    assert CliRunner().invoke(command, [ours]).stdout == text
    assert CliRunner().invoke(command, [spread]).stdout == text
    refused = CliRunner().invoke(command, [ours, "--task-column", "item"])
    assert "already a scores.csv" in str(refused.exception)


@pytest.mark.parametrize("out", [".", "missing/x.csv"])
def test_an_output_that_cannot_be_written_is_named(tmp_path: Path, out: str) -> None:
    """A folder, or a file in a folder that is not there, is one line and no traceback."""
    path = csv_file(tmp_path / "s.csv", "item,q\n1,3\n")
    result = CliRunner().invoke(command, [path, "-o", str(tmp_path / out)])
    assert isinstance(result.exception, FileProblem) and "cannot be written" in str(
        result.exception
    )


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("s.xlsx", b"PK\x03\x04 broken", "not an Excel file"),
        ("s.xlsx", b"no zip", "not an Excel file"),
        ("s.jsonl", b'{"item": "\xe9", "r": {"q": 1}}', "not UTF-8 (byte 10)"),
        ("s.csv", b"item,q\n\xe9,1\n", "not UTF-8 (byte 7)"),
        ("s.csv", b"item,q,r\n1,5,5,6\n", ":2: 4 cells where the header has 3"),
    ],
)
def test_a_file_that_is_broken_is_named(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    """A file that is not what its ending says, or has more cells than names, is one line."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FileProblem) as caught:
        read_score_file(str(tmp_path / name))
    assert str(caught.value).startswith(str(tmp_path / name)) and said in str(caught.value)


def test_a_quotation_mark_that_is_not_closed_is_refused(tmp_path: Path) -> None:
    """The rows between two stray quotation marks would be one long comment, their scores gone."""
    path = csv_file(tmp_path / "s.csv", 'item,q,comment\n1,5,"fine\n2,6,"fine"\n3,7,\n')
    with pytest.raises(FileProblem, match=r"s\.csv:3: .*close every quotation mark"):
        read_score_file(path)


@pytest.mark.parametrize("name", ["s.json", "s.jsonl"])
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, name: str) -> None:
    """Of two scores under one key, JSON readers take the last: which one counts is not known."""
    line = '{"item": "1", "q": 7, "q": 3}\n'
    (tmp_path / name).write_text(f"[{line}]" if name == "s.json" else line, encoding="utf-8")
    with pytest.raises(FileProblem, match="an object has the key 'q' twice"):
        read_score_file(str(tmp_path / name))


def test_an_item_twice_in_a_folder_of_scores_is_refused(tmp_path: Path) -> None:
    """VIEScore's files are objects of items; the second entry of an item would hide the first."""
    file = tmp_path / "task" / "method" / "SC.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"1": {"score": [7]}, "1": {"score": [3]}}', encoding="utf-8")
    with pytest.raises(FileProblem, match=r"SC\.json: an object has the key '1' twice"):
        scores_in(str(tmp_path))


def test_a_sheet_of_a_workbook_with_macros_can_be_named(tmp_path: Path) -> None:
    """FILE.xlsm:SHEET names a sheet, as FILE.xlsx:SHEET does."""
    path = Path(
        book(tmp_path / "s.xlsx", one=[["item", "q"], ["1", 5]], two=[["item", "q"], [2, 6]])
    )
    path = path.rename(tmp_path / "s.xlsm")
    assert {score.item for score in scores_in(f"{path}:two")} == {"2"}


@pytest.mark.parametrize(("first", "second"), [("5,5", "6,5"), ("8/10", "9/10"), ("85%", "90 %")])
def test_a_factor_of_unreadable_numbers_does_not_vanish(
    tmp_path: Path, first: str, second: str
) -> None:
    """Without it the overall would be that of the other factors, and look complete."""
    path = csv_file(tmp_path / "s.csv", f'item,acc,pre\n1,"{first}",7\n2,"{second}",8\n')
    found = [score for score in scores_in(path) if score.factor in ("acc", "overall")]
    assert [score.score for score in found] == [None] * 4
    assert all("is not a number" in score.reason for score in found)


@pytest.mark.parametrize("cells", [("16/9", "4/3"), ("512x512", "64x64"), ("2024-01-05", "v2")])
def test_a_column_of_text_is_no_factor(tmp_path: Path, cells: tuple[str, str]) -> None:
    """Ratios, sizes and dates are not scores in some other spelling."""
    path = csv_file(tmp_path / "s.csv", f"item,shape,pre\n1,{cells[0]},7\n2,{cells[1]},8\n")
    assert {score.factor for score in scores_in(path)} == {"pre", "overall"}


@pytest.mark.parametrize("called", ["overall", "Overall"])
def test_the_rule_of_the_dialog_makes_the_overall(tmp_path: Path, called: str) -> None:
    """A file's own overall, right or wrong, gives way to the rule, and a note says so."""
    text = f"item,acc,pre,qua,real,{called}\n1,6,10,7,6,9.9\n2,11,10,7,6,9\n"
    path = csv_file(tmp_path / "s.csv", text)
    notes: list[str] = []
    dialog = load_dialog("lmm-score")
    found = [
        score for score in scores_in(path, dialog=dialog, notes=notes) if score.factor == "overall"
    ]
    assert [score.score for score in found] == [Fraction("7.4"), None]
    assert notes == [f"{path}: its own overall is ignored; the rule of lmm-score gives it"]
    kept = scores_in(path, dialog=dialog, renames={called: "overall"})
    assert [score.score for score in kept if score.factor == "overall"] == [Fraction("9.9"), 9]

    # Where the dialog has no rule there is none, and the mean of its factors is not made up.
    plain = dialog.model_copy(update={"overall": "none", "formula": None})
    bare = csv_file(tmp_path / "b.csv", "item,acc,pre,qua,real\n1,6,10,7,6\n")
    assert not any(score.factor == "overall" for score in scores_in(bare, dialog=plain))


def test_our_own_file_is_not_checked_against_a_dialog_and_says_so(tmp_path: Path) -> None:
    """What a run wrote was held to its own dialog; naming another changes nothing, silently no more."""
    path = csv_file(tmp_path / "s.csv", ",".join(SCORE_COLUMNS) + "\n1,t,A,1,1,acc,99,scored,\n")
    notes: list[str] = []
    table = read_score_file(path, dialog=load_dialog("lmm-score"), notes=notes)
    assert table["score"].tolist() == [99]
    assert notes == [f"{path}: a scores.csv is taken as it is; --dialog checks nothing in it"]


def test_an_overall_with_a_capital_is_the_overall(tmp_path: Path) -> None:
    """It is not one factor more in the mean of the others."""
    path = csv_file(tmp_path / "s.csv", "item,acc,pre,Overall\n1,2,4,9\n")
    assert by_factor(path) == {("1", "", "acc"): 2, ("1", "", "pre"): 4, ("1", "", "overall"): 9}


def test_a_factor_that_may_be_the_overall_is_noted(tmp_path: Path) -> None:
    """A total counts as a factor, for it may be one; the note says how to take it as the overall."""
    path = csv_file(tmp_path / "s.csv", "item,acc,Total score\n1,2,4\n")
    notes: list[str] = []
    assert {score.factor for score in scores_in(path, notes=notes)} == {
        "acc",
        "Total score",
        "overall",
    }
    assert len(notes) == 1 and "--rename 'Total score=overall'" in notes[0]
    renamed = scores_in(path, renames={"Total score": "overall"}, notes=notes)
    assert [float(score.score or 0) for score in renamed] == [2, 4] and len(notes) == 1
