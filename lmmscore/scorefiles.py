"""Score files of other tools as our tidy scores table, so that every table and statistic works on
them.

Read are JSON lines of nested `{factor: {score, justification}}` (or `{factor: number}`), tables
with a row a score
or with a column a factor, and our own scores.csv. What has no number becomes an outcome with a
reason, never a number.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from lmmscore.errors import FileProblem, nearest
from lmmscore.ratings import with_items
from lmmscore.records import OVERALL, Outcome, Score
from lmmscore.rules import overall
from lmmscore.scales import weights_of
from lmmscore.scorelayouts import USUAL, Edit, Layout, Reader, read_score_folder
from lmmscore.scores import SCORE_COLUMNS, as_cells, frame_of, read_scores
from lmmscore.tables import number, read_tables, split_field

MEAN_OF = "no overall in the file; the mean of its"
"""How the reason of an overall begins that no file and no dialog gave."""

__all__ = ["MEAN_OF", "Layout", "judge_name", "read_score_file", "scores_in", "write_scores"]

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.dialog import Dialog


def read_score_file(
    spec: str, layout: Layout = USUAL, dialog: Dialog | None = None, notes: list[str] | None = None
) -> pd.DataFrame:
    """Return FILE[:FIELD] as a tidy scores table; our own scores.csv as it is. See `scores_in`."""
    path, field = split_field(spec)
    if not path.is_dir() and not field and path.suffix.lower() == ".csv" and _is_ours(path):
        return read_scores(path)
    return frame_of(scores_in(spec, layout, dialog, notes=notes))


def _is_ours(path: Path) -> bool:
    """Tell by its header alone whether a file is a scores.csv: it may be a large one."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        header = file.readline()
    columns = header.replace(";", ",").replace('"', "").strip().split(",")
    return set(SCORE_COLUMNS) <= {column.strip() for column in columns}


def scores_in(
    spec: str,
    layout: Layout = USUAL,
    dialog: Dialog | None = None,
    renames: Mapping[str, str] | None = None,
    notes: list[str] | None = None,
) -> list[Score]:
    """Return the scores in FILE[:FIELD], or of a folder in a known layout.

    Of an Excel file all sheets are read, or the one that FIELD names. What is left out is added to
    the notes. With a dialog, every score must be on its scale, its factors are expected and its
    rule gives the overall. Without one, a file that has no overall gets the mean of its factors,
    and each such line says so in its reason. An edit lacking a factor has no overall.
    """
    path, field = split_field(spec)
    if path.is_dir():
        return _folder(path, layout, dialog, renames or {}, [] if notes is None else notes)
    if not field and path.suffix.lower() == ".csv" and _is_ours(path):
        return _own(path, renames or {}, plain=layout == USUAL and dialog is None)
    sheet, field = (field, "") if path.suffix.lower() == ".xlsx" else ("", field)
    reader = Reader(field, layout, [] if notes is None else notes)
    tables = with_items(read_tables(path, sheet), layout.item, reader.notes)
    edits = [edit for table in tables for edit in reader.edits(table)]
    named = list(dict.fromkeys(factor for edit in edits for factor in edit.cells))
    refuse_merging(named, renames or {})
    edits = [_renamed(edit, renames or {}) for edit in edits]
    factors = list(dict.fromkeys(factor for edit in edits for factor in edit.cells))
    reader.refuse_unknown(str(path))
    if dialog is not None:
        factors = _expected(factors, dialog, str(path))
    if not factors:
        raise FileProblem(f"{path}: no scores in it; a score is a number under its factor's name")
    _refuse_duplicates(edits)
    return [score for edit in edits for score in _scores_of(edit, factors, dialog)]


def _folder(
    path: Path, layout: Layout, dialog: Dialog | None, renames: Mapping[str, str], notes: list[str]
) -> list[Score]:
    """Return the scores of a folder, by its layout's rule."""
    plain = replace(layout, factors=(), shared=False)
    if plain != USUAL or dialog is not None:
        raise FileProblem(
            f"{path}: a folder says itself what is what; "
            "only --factor, --rename and --out can be used"
        )
    found = read_score_folder(path)
    notes += found.notes
    factors = [name for name in found.factors if not layout.factors or name in layout.factors]
    for name in layout.factors:
        if name not in found.factors:
            hint = f"{nearest(name, found.factors)} (it has: {', '.join(found.factors)})"
            raise FileProblem(f"{path}: no factor {name!r}{hint}")
    refuse_merging(factors, renames)
    scores = []
    for edit in found.edits:
        own = [name for name in factors if name in edit.cells]
        renamed = _renamed(edit, renames)
        scores += list(_scores_of(renamed, [renames.get(name, name) for name in own], None))
    return scores


def refuse_merging(factors: Sequence[str], renames: Mapping[str, str]) -> None:
    """Raise where renaming would give two of these factors one name: one would hide the other."""
    taken: dict[str, str] = {}
    for factor in factors:
        new = renames.get(factor, factor)
        if new == OVERALL and new in renames.values():
            # What the user calls the overall takes the place of the one there was.
            continue
        if new in taken:
            old, other = (factor, taken[new]) if factor in renames else (taken[new], factor)
            raise FileProblem(
                f"--rename {old}={new}: the same file has another factor that would be called "
                f"{new}; rename that one too, as --rename {other}=other_{other}"
            )
        taken[new] = factor


def _own(path: Path, renames: Mapping[str, str], *, plain: bool) -> list[Score]:
    """Return the scores of our own scores.csv, every outcome and reason kept."""
    if not plain:
        raise FileProblem(
            f"{path}: already a scores.csv; only --rename and --out can be used on it"
        )
    table = read_scores(path)
    refuse_merging([str(name) for name in table["factor"].unique()], renames)
    return [
        Score(
            *(row["item"], row["task"], row["method"], row["repeat"], row["position"] or None),
            renames.get(row["factor"], row["factor"]),
            Fraction(repr(row["score"])) if row["outcome"] == Outcome.SCORED else None,
            Outcome(row["outcome"]),
            row["reason"],
        )
        for row in table.fillna({"position": 0}).to_dict("records")
        if not replaced(row["factor"], renames)
    ]


def write_scores(scores: list[Score], out: Path | TextIO) -> None:
    """Write scores as a tidy scores.csv."""
    if isinstance(out, Path):
        try:
            with out.open("w", encoding="utf-8", newline="") as file:
                write_scores(scores, file)
        except OSError as error:
            raise FileProblem(
                f"{out}: cannot be written ({error.strerror or error}); give another --out"
            ) from error
        return
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(SCORE_COLUMNS)
    writer.writerows(as_cells(score) for score in scores)


def _renamed(edit: Edit, renames: Mapping[str, str]) -> Edit:
    cells = {name: cell for name, cell in edit.cells.items() if not replaced(name, renames)}
    return replace(edit, cells={renames.get(name, name): cell for name, cell in cells.items()})


def replaced(factor: str, renames: Mapping[str, str]) -> bool:
    """Tell whether a factor gives way to another that is renamed to be the overall."""
    others = [old for old, new in renames.items() if new == OVERALL]
    return factor == OVERALL and factor not in renames and bool(others)


def _expected(found: list[str], dialog: Dialog, where: str) -> list[str]:
    """Return the dialog's factors, raising where the file has one the dialog does not know."""
    known = [factor.key for factor in dialog.factors]
    for name in found:
        if name not in known and name != OVERALL:
            hint = f"{nearest(name, known)} (it has: {', '.join(known)})"
            raise FileProblem(f"{where}: dialog {dialog.name} has no factor {name!r}{hint}")
    return known + ([OVERALL] if OVERALL in found else [])


def _refuse_duplicates(edits: list[Edit]) -> None:
    seen: dict[tuple[str, str, str, int], str] = {}
    for edit in edits:
        key = (edit.item, edit.task, edit.method, edit.repeat)
        if key in seen:
            raise FileProblem(
                f"{edit.where}: {edit.item!r} was scored before, at {seen[key]}; keep one, "
                "or tell them apart in a column `repeat`, `method` or `task`"
            )
        seen[key] = edit.where


def _scores_of(edit: Edit, factors: list[str], dialog: Dialog | None) -> Iterator[Score]:
    """Yield the scores of one edit, the overall last."""
    read = {factor: _read(edit, factor, dialog) for factor in factors}
    if OVERALL not in read and not edit.whole:
        read[OVERALL] = _overall(read, dialog)
    for factor, (score, reason) in read.items():
        outcome = Outcome.SCORED if score is not None else Outcome.UNREADABLE
        yield Score(
            edit.item, edit.task, edit.method, edit.repeat, None, factor, score, outcome, reason
        )


def _read(edit: Edit, factor: str, dialog: Dialog | None) -> tuple[Fraction | None, str]:
    """Return a factor's score, or None and the reason."""
    cell = edit.cells.get(factor)
    if isinstance(cell, Fraction):
        return cell, ""
    if isinstance(cell, dict):
        cell = cell.get("score")
    try:
        value = number(cell)
    except ValueError as error:
        return None, f"{edit.where}: {factor}: {error}"
    if value is None:
        return None, f"{edit.where}: no score for {factor}"
    # The decimal as written: 0.1 in the file is a tenth, not the float nearest to it.
    score = Fraction(repr(value))
    fault = (
        dialog.factor(factor).scale.fault(score) if dialog is not None and factor != OVERALL else ""
    )
    return (None, f"{edit.where}: {factor}: {fault}") if fault else (score, "")


def _overall(
    read: Mapping[str, tuple[Fraction | None, str]], dialog: Dialog | None
) -> tuple[Fraction | None, str]:
    """Return the overall of an edit: by the dialog's rule, else the mean, which is said with it.

    There is none where a factor is unscored.
    """
    missing = next((reason for score, reason in read.values() if score is None), "")
    if missing:
        return None, missing
    scores = {factor: score for factor, (score, _) in read.items() if score is not None}
    if dialog is None or dialog.overall == "none":
        mean = sum(scores.values(), Fraction(0)) / len(scores)
        return mean, f"{MEAN_OF} {len(scores)} factors" if len(scores) > 1 else ""
    return overall(dialog.overall, dialog.factors, scores, weights_of(dialog.factors)), ""


def judge_name(spec: str) -> str:
    """Return the name a judge goes by in tables: the stem of its file."""
    path, _ = split_field(spec)
    return Path(path).stem
