"""Human ratings as people keep them: long, wide, one file a rater; CSV, Excel, JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from lmmscore.errors import FileProblem
from lmmscore.score_files import Columns, read_ratings

LONG = """item,method,rater,factor,score
007,SINE,ann,quality,5
007,SINE,bob,quality,6
NA,SINE,ann,quality,4
007,SINE,ann,realism,3
"""
WIDE = """item,method,rater,instruction,quality,realism,skipped
007,SINE,ann,make it red,5,3,false
007,SINE,bob,make it red,6,,false
NA,SINE,ann,remove the cat,4,,false
NA,SINE,bob,remove the cat,1,1,true
"""


def write(path: Path, text: str) -> str:
    """Write a file and return its path."""
    path.write_text(text, encoding="utf-8")
    return str(path)


def tidy(table: pd.DataFrame) -> set[tuple[str, str, str, str, float]]:
    """The ratings without their order and place."""
    return {
        tuple(row)
        for row in table[["item", "method", "rater", "factor", "score"]].itertuples(index=False)
    }


def test_long_and_wide_tables_say_the_same(tmp_path: Path) -> None:
    """A row a rating or a column a factor: the same ratings, with ids kept as written."""
    long = read_ratings([write(tmp_path / "long.csv", LONG)]).table
    wide = read_ratings([write(tmp_path / "wide.csv", WIDE)])
    assert tidy(long) == tidy(wide.table)
    assert ("007", "SINE", "ann", "quality", 5.0) in tidy(long)
    assert ("NA", "SINE", "ann", "quality", 4.0) in tidy(long)


def test_skipped_rows_are_left_out_and_said_so(tmp_path: Path) -> None:
    """A rating its rater skipped is no rating, and the reader is told how many there were."""
    found = read_ratings([write(tmp_path / "wide.csv", WIDE)])
    assert found.notes == [f"{tmp_path / 'wide.csv'}: rows marked skipped are excluded (1)"]


@pytest.mark.parametrize("form", ["tsv", "semicolon", "bom", "xlsx", "jsonl", "json"])
def test_every_format_gives_the_same_ratings(tmp_path: Path, form: str) -> None:
    """TSV, European CSV, CSV from Excel, Excel itself, JSON lines and JSON are read alike."""
    expected = tidy(read_ratings([write(tmp_path / "long.csv", LONG)]).table)
    rows = [line.split(",") for line in LONG.strip().splitlines()]
    records = [dict(zip(rows[0], row, strict=True)) | {"score": int(row[4])} for row in rows[1:]]
    path = tmp_path / f"ratings.{ {'semicolon': 'csv', 'bom': 'csv'}.get(form, form) }"
    if form == "xlsx":
        frame = pd.DataFrame(rows[1:], columns=rows[0])
        frame["score"] = frame["score"].astype(float)
        frame.to_excel(path, index=False)
    elif form == "jsonl":
        path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    elif form == "json":
        path.write_text(json.dumps(records), encoding="utf-8")
    else:
        mark = {"tsv": "\t", "semicolon": ";"}.get(form, ",")
        text = LONG.replace(",", mark)
        path.write_text(text, encoding="utf-8-sig" if form == "bom" else "utf-8")
    assert tidy(read_ratings([path]).table) == expected


def test_one_file_a_rater_from_a_folder_or_one_by_one(tmp_path: Path) -> None:
    """Without a column for the rater, each file is one, called as the file is."""
    folder = tmp_path / "ratings"
    folder.mkdir()
    given = (("ann", 3), ("bob", 4))
    files = [
        write(folder / f"{name}.csv", f"item,quality\na,{score}\nb,2\n") for name, score in given
    ]
    by_folder, by_file = read_ratings([folder]).table, read_ratings(files).table
    assert tidy(by_folder) == tidy(by_file)
    assert set(by_folder["rater"]) == {"ann", "bob"}


def test_one_sheet_a_rater(tmp_path: Path) -> None:
    """An Excel file with the same columns on each sheet holds one rater a sheet; FILE:SHEET picks one."""
    path = tmp_path / "all.xlsx"
    with pd.ExcelWriter(path) as book:
        for name, score in (("ann", 3), ("bob", 4)):
            pd.DataFrame({"item": ["a"], "quality": [score]}).to_excel(
                book, sheet_name=name, index=False
            )
    assert set(read_ratings([path]).table["rater"]) == {"ann", "bob"}
    assert read_ratings([f"{path}:bob"]).table["score"].tolist() == [4.0]


def test_one_workbook_a_rater(tmp_path: Path) -> None:
    """Every workbook has a sheet called Sheet1: the raters are called as their files are."""
    for name, score in (("ann", 3), ("bob", 4)):
        table = pd.DataFrame({"item": ["a"], "quality": [score]})
        table.to_excel(tmp_path / f"{name}.xlsx", sheet_name="Sheet1", index=False)
    found = read_ratings([tmp_path]).table
    assert dict(zip(found["rater"], found["score"], strict=True)) == {"ann": 3, "bob": 4}


def test_sheets_without_a_name_are_told_by_their_file(tmp_path: Path) -> None:
    """Sheet1 and Sheet2 of two workbooks are four raters."""
    for name in ("ann", "bob"):
        with pd.ExcelWriter(tmp_path / f"{name}.xlsx") as book:
            for sheet in ("Sheet1", "Tabelle2"):
                pd.DataFrame({"item": ["a"], "quality": [3]}).to_excel(
                    book, sheet_name=sheet, index=False
                )
    raters = {"ann Sheet1", "ann Tabelle2", "bob Sheet1", "bob Tabelle2"}
    assert set(read_ratings([tmp_path]).table["rater"]) == raters


def test_folders_that_are_not_read_are_noted(tmp_path: Path) -> None:
    """A folder with files of its own is read by them alone, and says so; editors' files do not count."""
    for place in ("tasks/ann.csv", ".ipynb_checkpoints/ann.csv"):
        (tmp_path / place).parent.mkdir()
        write(tmp_path / place, "item,quality\na,3\n")
    write(tmp_path / "~$ann.xlsx", "")
    assert read_ratings([tmp_path]).table["task"].tolist() == ["tasks"]
    write(tmp_path / "bob.csv", "item,quality\na,4\n")
    found = read_ratings([tmp_path])
    assert found.table["score"].tolist() == [4]
    assert found.notes == [f"{tmp_path}: has ratings of its own, so those in tasks are ignored"]


def test_a_lone_score_rates_the_edit_as_a_whole(tmp_path: Path) -> None:
    """item, rater, score without a factor is a rating of the overall."""
    found = read_ratings([write(tmp_path / "r.csv", "item,rater,score\na,x,3\n")]).table
    assert found["factor"].tolist() == ["overall"]


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        ("picture,rater,quality\na,x,3\n", Columns(), "--item-column NAME (it has: picture, rater, quality)"),
        ("item,rater,quality\na,x,3\n", Columns(item="itm"), "no column 'itm' (did you mean item?"),
        ("item,rater,quality\na,x,3\na,x,4\n", Columns(), "rater x rated 'a' twice (quality)"),
        ("item,quality\na,3\na,4\n", Columns(), "no column names the rater; say --rater-column NAME"),
        ("item,rater,quality\na,x,3\nb,x,good\nc,x,4\n", Columns(), ":3: quality: 'good' is not a number"),
        ("item,rater,comment\na,x,nice\n", Columns(), "no ratings in it"),
        ("item,rater,quality\na,x\n", Columns(), ":2: 2 cells where the header has 3"),
        ("item,rater,quality\na,x,3\n,x,4\n", Columns(), ":3: item is empty; name the item in every row"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_place(
    tmp_path: Path, text: str, columns: Columns, said: str
) -> None:
    """Each problem of a ratings file is one line that names the file, the place and the remedy."""
    path = write(tmp_path / "r.csv", text)
    with pytest.raises(FileProblem) as caught:
        read_ratings([path], columns)
    assert said in str(caught.value)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_sheet_is_dropped_for_its_columns(tmp_path: Path) -> None:
    """One sheet a rater: another order, or a comment more, loses no rater; a legend is left out with a note."""
    path = tmp_path / "all.xlsx"
    sheets = {
        "ann": {"item": ["a"], "quality": [3]},
        "bob": {"item": ["a"], "quality": [4], "comment": ["nice"]},
        "cy": {"quality": [5], "item": ["a"]},
        "legend": {"meaning": ["1 is bad"]},
    }
    with pd.ExcelWriter(path) as book:
        for name, columns in sheets.items():
            pd.DataFrame(columns).to_excel(book, sheet_name=name, index=False)
    found = read_ratings([path])
    assert dict(zip(found.table["rater"], found.table["score"], strict=True)) == {
        "ann": 3,
        "bob": 4,
        "cy": 5,
    }
    assert found.notes == [f"{path}:legend: this sheet names no item and is ignored"]


def test_decimal_commas_and_mostly_unreadable_factors(tmp_path: Path) -> None:
    """5,5 is a rating where semicolons separate; elsewhere it is pointed at and its factor does not vanish."""
    fine = write(tmp_path / "a.csv", "item;rater;acc;pre;seed\n1;x;5,5;6;1234\n2;x;7,5;8;1234\n")
    found = read_ratings([fine])
    assert found.table[found.table["factor"] == "acc"]["score"].tolist() == [5.5, 7.5]
    assert set(found.table["factor"]) == {"acc", "pre"}
    assert found.notes == [f"{fine}: column seed is ignored; by its name it is not a score"]
    poor = write(tmp_path / "b.csv", 'item,rater,acc,pre\n1,x,"5,5",6\n2,x,"7,5",8\n3,x,7,8\n')
    with pytest.raises(FileProblem, match=r"b\.csv:2: acc: '5,5' is not a number"):
        read_ratings([poor])
