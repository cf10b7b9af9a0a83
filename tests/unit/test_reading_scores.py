"""Reading a scores.csv: a line that contradicts itself is refused by its number, never ranked."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmmscore.errors import FileProblem
from lmmscore.records import Outcome
from lmmscore.scores import (
    PAIR_COLUMNS,
    SCORE_COLUMNS,
    TIE,
    Comparison,
    matches,
    read_comparisons,
    read_scores,
    with_expected,
)

GOOD = ["1", "t", "A", "1", "2", "overall", "9", "scored", ""]


def scores_csv(path: Path, *lines: list[str], delimiter: str = ",") -> Path:
    """Write a scores.csv of these lines."""
    path.write_text(
        "".join(delimiter.join(line) + "\n" for line in (SCORE_COLUMNS, *lines)), encoding="utf-8"
    )
    return path


def changed(**cells: str) -> list[str]:
    """A good line with some of its cells changed."""
    return [cells.get(name, cell) for name, cell in zip(SCORE_COLUMNS, GOOD, strict=True)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (changed(outcome="refused"), "score '9', though the outcome says there is none"),
        (changed(outcome="unreadable"), "score '9', though the outcome says there is none"),
        (changed(outcome="fine"), "outcome 'fine' is not one of scored,"),
        (changed(score=""), "outcome is scored, but there is no score"),
        *((changed(score=score), f"score '{score}' is not a number")
          for score in ("True", "nan", "inf", "1e999", "abc", "1_0", "5·5")),
        *((changed(repeat=repeat), f"repeat '{repeat}' is not a whole number")
          for repeat in ("1.5", "", "-1", "0", "x")),
        *((changed(position=position), f"position '{position}' is neither empty nor")
          for position in ("x", "1.5", "0")),
        (GOOD[:5], "outcome '' is not one of"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_meant_is_refused_by_its_number(
    tmp_path: Path, line: list[str], said: str
) -> None:
    """A refusal with a number, a score that is no number, half a repeat: the file, the line, what is wrong."""
    quoted = [*GOOD[:-1], '"two\nlines"']
    path = scores_csv(tmp_path / "s.csv", quoted, line)
    with pytest.raises(FileProblem) as caught:
        read_scores(path)
    assert str(caught.value).startswith(f"{path}:4: {said}")


def test_a_line_with_more_cells_than_the_header_is_refused(tmp_path: Path) -> None:
    """An unquoted comma in a reason must not move every cell by one column."""
    with pytest.raises(FileProblem, match="more cells than the header"):
        read_scores(scores_csv(tmp_path / "s.csv", [*GOOD, "more"]))


def test_ours_saved_by_a_spreadsheet_is_read(tmp_path: Path) -> None:
    """Semicolons, decimal commas and whole numbers written 1.0 change nothing; a failure keeps its reason."""
    failed = changed(method="B", score="", outcome="refused", position="", reason="no, thanks")
    path = scores_csv(
        tmp_path / "s.csv", changed(score="5,25", repeat="1.0"), failed, delimiter=";"
    )
    table = read_scores(path)
    assert table["score"].tolist()[0] == 5.25 and table["score"].isna().tolist() == [False, True]
    assert (
        table["outcome"].tolist() == ["scored", "refused"]
        and table["reason"].tolist()[1] == "no, thanks"
    )
    assert table["repeat"].tolist() == [1, 1]
    assert table["position"].dtype == "Int64" and table["position"].isna().tolist() == [False, True]


def test_expected_scores_saved_by_a_spreadsheet_are_read(tmp_path: Path) -> None:
    """A decimal comma in the column of expected scores is one as well."""
    path = tmp_path / "s.csv"
    lines = [[*SCORE_COLUMNS, "expected"], [*changed(score="6,5"), "6,25"]]
    path.write_text("".join(";".join(line) + "\n" for line in lines), encoding="utf-8")
    assert list(with_expected(read_scores(path), "s.csv")["score"]) == [6.25]


def test_a_quotation_mark_that_is_not_closed_is_refused(tmp_path: Path) -> None:
    """The lines up to the next quotation mark would be one long reason, their scores gone."""
    opened, closed = changed(reason='"fine'), changed(item="3", reason='"fine"')
    path = scores_csv(tmp_path / "s.csv", opened, changed(item="2"), closed)
    with pytest.raises(FileProblem, match=r"s\.csv:4: .*close every quotation mark"):
        read_scores(path)
    kept = scores_csv(tmp_path / "kept.csv", changed(reason='"two\nlines"'), changed(item="2"))
    assert list(read_scores(kept)["item"]) == ["1", "2"]


def test_a_repeat_of_a_comparison_is_a_whole_number_from_one(tmp_path: Path) -> None:
    """Repeat 0 of a pair is refused by its line, as in scores.csv."""
    path = tmp_path / "pairs.csv"
    line = "1,t,A,B,ab,0,A,scored,,"
    path.write_text(",".join(PAIR_COLUMNS) + f"\n{line}\n", encoding="utf-8")
    with pytest.raises(FileProblem, match=r"pairs\.csv:2: repeat '0' is not a whole number"):
        read_comparisons(path)


def test_a_comparison_given_twice_is_refused(tmp_path: Path) -> None:
    """Two files in one count no pair twice; what was never shown has a line for each order."""
    path = tmp_path / "pairs.csv"
    unshown = "1,t,A,C,,1,,missing,C made no edit of this item,\n"
    text = ",".join(PAIR_COLUMNS) + "\n" + unshown * 2 + "1,t,A,B,ab,1,A,scored,,\n"
    path.write_text(text + "1,t,A,B,ba,1,A,scored,,\n", encoding="utf-8")
    assert len(read_comparisons(path)) == 4
    path.write_text(text + "1,t,B,A,ba,1,B,scored,,\n", encoding="utf-8")
    with pytest.raises(FileProblem, match=r"pairs\.csv:5: this pair was given before"):
        read_comparisons(path)


def test_a_pair_is_one_whichever_method_is_named_first() -> None:
    """A against B and B against A are two orders of one match, not two matches."""
    rows = [
        Comparison("1", "t", "A", "B", "ab", 1, "A", Outcome.SCORED),
        Comparison("1", "t", "B", "A", "ab", 1, "B", Outcome.SCORED),
    ]
    (match,) = matches(rows)
    assert match.winner == TIE and not match.consistent
