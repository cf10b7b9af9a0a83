"""Ratings as they leave a study: tables, checks, and how steady each rater is.

Rows come from a study's database, from downloads of a static page together with the key in that
database, or from an earlier export. What a check found is told beside the ratings; nobody is
dropped.
"""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from io import StringIO
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from lmmscore.errors import FileProblem, counted
from lmmscore.leaderboard.differences import Power, power_of
from lmmscore.records import OVERALL, fixed, percent
from lmmscore.scales import Factor, Formula
from lmmscore.stats.correlation import Ratings, alpha
from lmmscore.tables import Table, defuse, is_excel, read_tables, restore
from lmmscore.web.study import (
    FILE_NAME,
    AnswerRefused,
    Assignment,
    RaterAnswer,
    RatingDatabase,
    ShownEdit,
    Study,
    Subject,
    answers_for_page,
    checked_answer,
    is_rating_database,
    letters,
    raters_needed,
    seconds_sent,
    share_of_scale,
    slots_for,
)

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.score_files import Columns, HumanRatings

EXPORT_FORMAT = "lmmscore ratings export"
DOWNLOAD_FORMAT = "lmmscore ratings"

HIDDEN = {"source": "(source)", "failure": "(failure)"}
"""What the method column says of a check."""

MIDDLE = 0.5
"""Of a scale; where a check must be rated below or above."""


@dataclass(frozen=True, slots=True)
class RatingRow:
    """A rater's number on a factor of an edit; or the reason why there is none."""

    # Rows come back from files that people may have changed: NaN would be taken for a rating.
    __pydantic_config__ = ConfigDict(allow_inf_nan=False)

    rater: str
    item: str
    task: str
    method: str
    factor: str
    score: float | None
    position: int
    seconds: float
    check: str = ""
    """practice, source, failure or repeat; empty for a rating proper."""
    failed: bool | None = None
    """Of a check that can fail: whether it did."""
    checks_failed: int = 0
    """How many checks this rater failed in all."""
    reason: str = ""
    """Why the rater could not judge it."""
    comment: str = ""
    screen: str = ""
    other: str = ""
    """With pairs: the method beside it."""
    choice: str = ""
    """With pairs: the method found better, `tie`, or `both bad`."""


COLUMNS = tuple(column.name for column in fields(RatingRow))
_row_from = TypeAdapter(RatingRow).validate_python

_VOTES = {"both bad": "bad"}
"""How agreement on pairs calls a choice that is neither a method nor a tie."""


# From a study to rows


def rows_of(
    study: Study,
    assignments: Iterable[Assignment],
    answers: Mapping[str, Sequence[RaterAnswer]],
) -> list[RatingRow]:
    """Return every answer as a row, checks marked and judged."""
    rows: list[RatingRow] = []
    for each in assignments:
        found = answers.get(each.id, ())
        if found:
            rows += _screen_rows(study, each, found)

    # A check has a row per factor, and counts once.
    failures: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.failed:
            failures[row.rater].add(f"{row.screen} {row.position}")

    return [replace(row, checks_failed=len(failures[row.rater])) for row in rows]


def _screen_rows(
    study: Study, assignment: Assignment, answers: Sequence[RaterAnswer]
) -> list[RatingRow]:
    told = answers_for_page(answers)
    common = {
        "rater": assignment.rater,
        "item": assignment.subject.item,
        "task": study.tasks.get(assignment.subject.item, ""),
        "seconds": assignment.seconds,
        "screen": assignment.id,
        "comment": told["comment"],
    }
    if study.covers == "pair":
        return _pair_rows(assignment, told, common)

    rows: list[RatingRow] = []
    names = letters(len(assignment.shown))
    for position, (letter, shown) in enumerate(zip(names, assignment.shown, strict=True), 1):
        scores = told["scores"].get(letter, {})
        reason = told["unable"].get(letter) or ""
        check = _check_of(assignment, shown)
        failed = None if reason else check_failed(study, check, scores)
        for factor in study.factors:
            value = None if reason else scores.get(factor.key)
            if value is None and not reason:
                continue

            rows.append(
                RatingRow(
                    **common,
                    method=HIDDEN.get(shown.kind, shown.method),
                    factor=factor.key,
                    score=None if value is None else float(value),
                    position=position,
                    check=check,
                    failed=failed,
                    reason=reason,
                )
            )

    return rows


def _check_of(assignment: Assignment, shown: ShownEdit) -> str:
    if assignment.purpose in ("practice", "repeat"):
        return assignment.purpose
    return "" if shown.kind == "edit" else shown.kind


def _pair_rows(
    assignment: Assignment, told: Mapping[str, Any], common: Mapping[str, Any]
) -> list[RatingRow]:
    first, second = (HIDDEN.get(shown.kind, shown.method) for shown in assignment.shown)
    reason = "; ".join(reason for reason in told["unable"].values() if reason)
    if not told["choice"] and not reason:
        return []

    said = {"A": first, "B": second, "tie": "tie", "bad": "both bad"}
    check = "" if assignment.purpose == "rate" else assignment.purpose
    choice = "" if reason else said[told["choice"]]
    failed = choice in (HIDDEN["failure"], "tie") if check == "failure" and choice else None

    return [
        RatingRow(
            **common,
            method=first,
            other=second,
            factor="choice",
            score=None,
            choice=choice,
            position=1,
            check=check,
            failed=failed,
            reason=reason,
        )
    ]


def check_failed(study: Study, check: str, scores: Mapping[str, str | None]) -> bool | None:
    """Return whether a check was failed; None where it cannot be, or is not answered.

    An obvious failure is failed by a mean above the middle of the scale; the unedited source, where
    every factor is above it: someone who compares with the instruction finds something undone.
    """
    if check not in ("source", "failure"):
        return None

    shares = []
    for factor in study.factors:
        value = scores.get(factor.key)
        if value is None:
            return None
        shares.append(share_of_scale(factor.scale, float(value)))

    if check == "failure":
        return fmean(shares) > MIDDLE

    return min(shares) > MIDDLE


def database_rows(database: RatingDatabase) -> list[RatingRow]:
    """Return the rows of a study's database."""
    given, answers = database.all_assignments(), database.answers()
    return rows_of(database.study, given, answers)


# Out


def to_csv(rows: Sequence[RatingRow]) -> str:
    """Return the rows as CSV: long form, one rating a line."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(value) for value in asdict(row).values()])

    return out.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""

    if isinstance(value, bool):
        return "yes" if value else "no"

    if isinstance(value, float):
        # A score may have six decimals, and all of them leave.
        return f"{value:.15g}"

    return defuse(value) if isinstance(value, str) else str(value)


def to_json(study: Study, rows: Sequence[RatingRow]) -> str:
    """Return the rows and what they are about as JSON."""
    factors = [factor.model_dump(mode="json", exclude_defaults=True) for factor in study.factors]
    made = {
        "format": EXPORT_FORMAT,
        "version": 1,
        "study": study.id,
        "benchmark": study.benchmark,
        "dialog": study.dialog,
        "dialog_version": study.dialog_version,
        "covers": study.covers,
        "factors": factors,
        "ratings": [asdict(row) for row in rows],
    }
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


# In: whatever `agree --human` is given


@dataclass(frozen=True, slots=True)
class OwnRatings:
    """What our own files hold: rows, notes about them, and the factors if known."""

    rows: list[RatingRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    factors: list[Factor] = field(default_factory=list)

    def add(self, other: OwnRatings) -> None:
        """Take in what another file holds."""
        self.rows.extend(other.rows)
        self.notes.extend(other.notes)
        self.factors.extend(other.factors)


def read_human_ratings(paths: Sequence[str | Path], columns: Columns) -> HumanRatings:
    """Return human ratings of any kind: ours in every form, and what `score_files` reads."""
    import pandas as pd

    from lmmscore.score_files import RATING_COLUMNS, HumanRatings, read_ratings

    found = [(path, own_ratings(Path(path))) for path in paths]
    others = [path for path, own in found if own is None]
    if len(others) == len(found):
        return read_ratings(others, columns)

    ours = OwnRatings()
    for _, own in found:
        if own is not None:
            ours.add(own)

    rated = [
        (row.item, row.task, row.method, row.rater, row.factor, row.score, f"screen {row.screen}")
        for row in ours.rows
        if not row.check and row.score is not None
    ]
    if not rated and not others:
        raise FileProblem(f"{', '.join(map(str, paths))}: no ratings in it yet")

    table = pd.DataFrame(rated, columns=list(RATING_COLUMNS))
    notes = [*ours.notes, *quality_notes(ours.rows)]
    if others:
        more = read_ratings(others, columns)
        # Where other files are among them, no one scale is known to hold for all.
        both = pd.concat([table, more.table], ignore_index=True) if rated else more.table
        return HumanRatings(both, [*notes, *more.notes], named=more.named)

    scales = {(float(factor.scale.low), float(factor.scale.high)) for factor in ours.factors}
    return HumanRatings(table, notes, scales.pop() if len(scales) == 1 else None)


Votes = dict[tuple[str, str, str, str], list[str]]
"""By task, item and the two methods in order of their names: what each rater chose."""


def read_human_votes(path: Path) -> tuple[Votes | None, list[str]]:
    """Return raters' choices between two edits, and notes about them.

    The choices are None where it is no file of ours, or holds none.
    """
    own = own_ratings(path) or OwnRatings()
    votes: Votes = defaultdict(list)
    for row in own.rows:
        if row.choice and not row.check:
            first, second = sorted((row.method, row.other))
            votes[row.task, row.item, first, second].append(_VOTES.get(row.choice, row.choice))

    if not votes:
        return None, own.notes
    return dict(votes), [*own.notes, *quality_notes(own.rows)]


def own_ratings(path: Path) -> OwnRatings | None:
    """Return what a file or folder of ours holds; None where it is something else."""
    if path.is_dir():
        return _in_folder(path)

    if is_rating_database(path):
        with closing(RatingDatabase(path, read_only=True)) as database:
            return OwnRatings(database_rows(database), factors=list(database.study.factors))

    if path.suffix.lower() == ".json":
        return _read_json(path)

    if path.is_file() and (path.suffix.lower() in (".csv", ".tsv", ".txt") or is_excel(path)):
        return _read_export(path)

    return None


def _in_folder(folder: Path) -> OwnRatings | None:
    """Return what a study's database and downloads hold; a folder of downloads may have both."""
    database, downloads = folder / FILE_NAME, downloads_of(folder)
    found = own_ratings(database) if database.is_file() else None
    if downloads:
        found = found or OwnRatings()
        found.add(_resolved(downloads, folder))

    return found


def _read_export(path: Path) -> OwnRatings | None:
    """Return the rows of an exported table, however a spreadsheet has saved it since.

    It is known by two of its columns: as a table of anyone's, its checks would count as ratings.
    """
    marks = {"check", "checks_failed"}
    tables = [table for table in read_tables(path) if marks <= set(table.columns)]
    rows = [_row_at(table, place) for table in tables for place in range(len(table.rows))]
    return OwnRatings(rows) if tables else None


def _row_at(table: Table, place: int) -> RatingRow:
    cells = {name: table.rows[place].get(name, "") for name in COLUMNS}
    made: dict[str, Any] = {name: restore(cell) for name, cell in cells.items()}
    for name in ("score", "seconds"):
        made[name] = table.plain(made[name])

    made["score"] = made["score"] or None
    made["failed"] = {"yes": True, "no": False}.get(made["failed"])
    try:
        return _row_from(made)
    except ValidationError as error:
        column = error.errors()[0]["loc"][0]
        raise FileProblem(
            f"{table.at(place)}: {column}: {made[str(column)]!r} is not a number; export the "
            "ratings again"
        ) from error


def _read_json(path: Path) -> OwnRatings | None:
    loaded = _loaded(path)
    if loaded is None:
        return None

    if loaded["format"] == DOWNLOAD_FORMAT:
        return _resolved({path: loaded}, path.parent)

    try:
        rows = [_row_from(row) for row in loaded["ratings"]]
        factors = [Factor.model_validate(each) for each in loaded["factors"]]
        return OwnRatings(rows, factors=factors)
    except (KeyError, TypeError, ValueError) as error:
        raise FileProblem(
            f"{path}: not an export as it was written ({error}); export the ratings again"
        ) from error


def _loaded(path: Path) -> dict[str, Any] | None:
    """Return the content of a JSON file if it is one of ours, else None."""
    try:
        loaded = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    known = (EXPORT_FORMAT, DOWNLOAD_FORMAT)
    return loaded if isinstance(loaded, dict) and loaded.get("format") in known else None


# Downloads of a static page


def downloads_of(folder: Path) -> dict[Path, Mapping[str, Any]]:
    """Return the downloads in a folder, whatever their files are called."""
    found = {path: _loaded(path) for path in sorted(folder.glob("*.json"))}
    return {
        path: loaded
        for path, loaded in found.items()
        if loaded is not None and loaded["format"] == DOWNLOAD_FORMAT
    }


def _resolved(downloads: Mapping[Path, Mapping[str, Any]], folder: Path) -> OwnRatings:
    """Return what downloads hold, by the key from letters to methods of the study's owner."""
    by_study: dict[str, dict[Path, Mapping[str, Any]]] = defaultdict(dict)
    for path, loaded in downloads.items():
        by_study[str(loaded.get("study"))][path] = loaded

    found = OwnRatings()
    for name, of_study in by_study.items():
        with closing(find_key(name, folder)) as key:
            found.add(download_ratings(key, of_study))

    return found


def find_key(study: str, folder: Path) -> RatingDatabase:
    """Return the database with the key of a study, from the usual places. Raises FileProblem."""
    near = [folder, *list(folder.absolute().parents)[:3]]
    places = [place / FILE_NAME for place in near]
    for root in [Path("ratings"), *(place / "ratings" for place in near)]:
        places += sorted(root.glob(f"*/{FILE_NAME}"))

    for path in dict.fromkeys(places):
        if not is_rating_database(path):
            continue

        database = RatingDatabase(path, read_only=True)
        if database.begun and database.study.id == study:
            return database
        database.close()

    raise FileProblem(
        f"{folder}: these downloads name edits by letters, and the key to them is not here; copy "
        f"{FILE_NAME} of the study (it is in ratings/BENCHMARK-DIALOG) into this folder"
    )


def download_ratings(
    key: RatingDatabase, downloads: Mapping[Path, Mapping[str, Any]]
) -> OwnRatings:
    """Return what the downloads of one study hold."""
    notes = []
    known = {each.id: each for each in key.all_assignments()}
    answers: dict[str, list[RaterAnswer]] = {}
    given: dict[str, Assignment] = {}
    for path, loaded in downloads.items():
        ignored = 0
        for screen in _screens(path, loaded):
            assignment = known.get(str(screen.get("id")))
            if assignment is None:
                ignored += 1
                continue

            found = _download_answers(screen, assignment.id, key.study)
            # Someone may have handed in twice: what has more answers is the later one.
            if len(found) >= len(answers.get(assignment.id, ())):
                answers[assignment.id] = found
                seconds = seconds_sent(screen.get("seconds"))
                given[assignment.id] = replace(assignment, seconds=seconds)

        if ignored:
            screens = counted(ignored, "screen")
            notes.append(f"{path.name}: {screens} of a withdrawn or unknown rater ignored")

    rows = rows_of(key.study, given.values(), answers)
    return OwnRatings(rows, notes, list(key.study.factors))


def _screens(path: Path, loaded: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the screens of a download, which went through the hands of a rater."""
    screens = loaded.get("screens")
    whole = isinstance(screens, list) and all(_is_screen(each) for each in screens)
    if not whole:
        raise FileProblem(f"{path}: a download without screens; ask its rater to download it again")
    return list(screens or ())


def _is_screen(found: Any) -> bool:
    return isinstance(found, dict) and isinstance(found.get("answers", []), list)


def _download_answers(screen: Mapping[str, Any], name: str, study: Study) -> list[RaterAnswer]:
    """Return the answers of one screen. What is off the scale is no answer."""
    made = []
    for place, each in enumerate(screen.get("answers", ())):
        try:
            kind, slot, factor, value = checked_answer(study, each)
        except AnswerRefused:
            continue

        made.append(RaterAnswer(name, kind, slot, factor, value, f"{name}:{place}"))

    return made


# How good the ratings are


def quality_notes(rows: Sequence[RatingRow]) -> list[str]:
    """Return what to know of the raters: failed checks, steadiness, what nobody could judge."""
    return [*_check_notes(rows), *_steadiness_notes(rows), *_unable_notes(rows)]


def _check_notes(rows: Sequence[RatingRow]) -> list[str]:
    seen: dict[str, dict[tuple[str, str, int], bool]] = defaultdict(dict)
    for row in rows:
        if row.failed is not None:
            seen[row.rater][row.check, row.screen, row.position] = row.failed

    if not seen:
        return []

    failed = {
        rater: [place for place, bad in found.items() if bad] for rater, found in seen.items()
    }
    bad = {rater: places for rater, places in failed.items() if places}
    if not bad:
        return [f"checks: none of {len(seen)} raters failed any"]

    named = "; ".join(
        f"{rater} failed {len(places)} of {len(seen[rater])} "
        f"({', '.join(sorted({place[0] for place in places}))})"
        for rater, places in sorted(bad.items())
    )

    return [f"checks: {len(bad)} of {len(seen)} raters failed some: {named}; none is excluded"]


@dataclass(frozen=True, slots=True)
class Steadiness:
    """How well raters agree with themselves on what they saw twice."""

    factor: str
    pairs: int
    raters: int
    same: float
    """Share of exactly equal answers."""
    difference: float | None
    """Mean absolute difference; None for choices."""
    alpha: float | None
    """Krippendorff's alpha of first and second answer, interval; None where it is undefined."""


def steadiness(rows: Sequence[RatingRow]) -> list[Steadiness]:
    """Return intra-rater reliability, factor by factor, from repeated screens."""
    judged = [row for row in rows if not row.reason]
    first = {_edit_of(row): row for row in judged if not row.check}
    again = [row for row in judged if row.check == "repeat"]

    twice: dict[str, list[tuple[RatingRow, RatingRow]]] = defaultdict(list)
    for row in again:
        before = first.get(_edit_of(row))
        if before is not None:
            twice[row.factor].append((before, row))

    return [_steadiness(factor, pairs) for factor, pairs in twice.items()]


def _edit_of(row: RatingRow) -> tuple[str, ...]:
    pair = sorted((row.method, row.other))
    return (row.rater, row.item, *pair, row.factor)


def _steadiness(factor: str, pairs: Sequence[tuple[RatingRow, RatingRow]]) -> Steadiness:
    raters = len({row.rater for row, _ in pairs})
    numbers: list[tuple[float, float]] = []
    equal = 0
    for before, after in pairs:
        equal += (before.score, before.choice) == (after.score, after.choice)
        if before.score is not None and after.score is not None:
            numbers.append((before.score, after.score))

    same = equal / len(pairs)

    if not numbers:
        # Choices between two: there is no distance between them.
        return Steadiness(factor, len(pairs), raters, same, None, None)

    difference = fmean(abs(before - after) for before, after in numbers)

    return Steadiness(factor, len(pairs), raters, same, difference, _alpha(numbers))


def _alpha(pairs: Sequence[tuple[float, float]]) -> float | None:
    edit = np.repeat(np.arange(len(pairs)), 2)
    ratings = Ratings(np.ravel(pairs), edit, np.zeros_like(edit), np.tile([0, 1], len(pairs)))
    found = float(alpha(ratings, items=1)(np.ones((1, 1)))[0])
    return None if math.isnan(found) else found


def _steadiness_notes(rows: Sequence[RatingRow]) -> list[str]:
    notes = []
    for found in steadiness(rows):
        parts = [f"{percent(found.same)} the same"]
        if found.difference is not None:
            parts.append(f"mean difference {fixed(found.difference, 2)}")

        if found.alpha is not None:
            parts.append(f"Krippendorff's alpha {fixed(found.alpha, 2)}")

        notes.append(
            f"intra-rater reliability, {found.factor}: {', '.join(parts)} "
            f"({found.pairs} edits rated twice by {found.raters} raters)"
        )

    return notes


def _unable_notes(rows: Sequence[RatingRow]) -> list[str]:
    edits = {(row.rater, row.item, row.method, row.other) for row in rows if row.reason}
    return [f"cannot judge: {counted(len(edits), 'edit')} set aside with a reason"] if edits else []


# --------------------------------------------------------------------------------------------------
# How many raters a study needs, how long each takes, and what its size can show.
# --------------------------------------------------------------------------------------------------

SECONDS_PER_SCREEN = 20.0
SECONDS_PER_SCORE = 3.0
"""Assumed until there are measured times: to look at a screen, and to give one score."""

INTRODUCTION_S = 120.0


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """What a study takes."""

    screens: int
    """Different ones, over the whole study."""
    edits: int
    raters: int
    screens_per_rater: int
    """Checks and practice included."""
    minutes_per_rater: float
    hours_in_all: float
    measured: bool
    """Whether times come from answers already given."""
    powers: tuple[Power, ...] = ()
    power_basis: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        found = asdict(self)
        found["powers"] = [power.as_dict() for power in self.powers]
        return found


def plan_study(
    study: Study, subjects: Sequence[Subject], seconds: Sequence[float], scores: pd.DataFrame | None
) -> StudyPlan:
    """Return what the study takes.

    `seconds` are the times of screens rated already; `scores` come from a pilot.
    """
    share = min(study.items_per_rater or len(subjects), len(subjects))
    screens = len(slots_for(study, "plan", share)) + len(study.practice)
    each = median(seconds) if len(seconds) >= 5 else _assumed_s(study, subjects)
    minutes = (INTRODUCTION_S + screens * each) / 60
    raters = raters_needed(study, len(subjects))

    return StudyPlan(
        screens=len(subjects),
        edits=len({(s.item, method) for s in subjects for method in s.methods}),
        raters=raters,
        screens_per_rater=screens,
        minutes_per_rater=minutes,
        hours_in_all=raters * minutes / 60,
        measured=len(seconds) >= 5,
        powers=() if scores is None else neighbours(scores),
    )


def _assumed_s(study: Study, subjects: Sequence[Subject]) -> float:
    edits = sum(len(subject.methods) for subject in subjects) / len(subjects)
    questions = 1 if study.covers == "pair" else edits * len(study.factors)
    return SECONDS_PER_SCREEN + SECONDS_PER_SCORE * questions


def neighbours(scores: pd.DataFrame) -> tuple[Power, ...]:
    """Return what it takes to show a difference between neighbours in the ranking."""
    chosen = scores[scores["score"].notna()]
    factor = OVERALL if OVERALL in set(chosen["factor"]) else str(chosen["factor"].iloc[0])
    means = chosen[chosen["factor"] == factor].groupby("method")["score"].mean()
    order = [str(name) for name in means.sort_values(ascending=False).index]

    return tuple(
        power_of(scores, first, second, task=None, factor=factor, power=0.8, alpha=0.05)
        for first, second in pairwise(order)
    )


def scores_of_raters(rows: Sequence[RatingRow], rule: Formula | None) -> pd.DataFrame | None:
    """Return ratings as a table of scores in which each rater is a repeat; None without any.

    The rule makes the overall, as it does of a judge's scores.
    """
    import pandas as pd

    raters: dict[str, int] = {}
    found: dict[tuple[str, str, str, str], dict[str, float]] = {}
    for row in rows:
        if row.check or row.score is None:
            continue

        raters.setdefault(row.rater, len(raters) + 1)
        found.setdefault((row.item, row.task, row.method, row.rater), {})[row.factor] = row.score

    made = []
    for (item, task, method, rater), scores in found.items():
        exact = {factor: Fraction(score) for factor, score in scores.items()}
        total = rule.value(exact) if rule else None
        overall = {} if total is None else {OVERALL: float(total)}
        for factor, score in {**scores, **overall}.items():
            made.append((item, task, method, raters[rater], 1, factor, score, "scored", ""))

    if not made:
        return None

    columns = "item task method repeat position factor score outcome reason".split()

    return pd.DataFrame(made, columns=columns)


def plan_lines(plan: StudyPlan, study: Study) -> list[str]:
    """Return the plan in words."""
    per = {"item": "all edits of an item", "edit": "one edit", "pair": "two edits"}[study.covers]
    basis = "measured" if plan.measured else "assumed until there are answers"
    hours = plan.hours_in_all
    spent = f"{hours:.1f} hours" if hours >= 1.5 else f"{round(hours * 60)} minutes"
    lines = [
        f"screens        {plan.screens}, each with {per}; {plan.edits} edits",
        f"raters         {plan.raters}, so that each edit is rated by {study.raters_per_edit}",
        f"per rater      {plan.screens_per_rater} screens, about "
        f"{max(1, round(plan.minutes_per_rater))} minutes ({basis})",
        f"in all         {spent} of raters' time",
    ]
    if study.checks:
        lines.append(f"checks         {', '.join(study.checks)}")

    if plan.powers:
        lines.append(f"power          from {plan.power_basis}:")
        lines += [f"  {text}" for power in plan.powers for text in power.statements[:2]]
        lines += _raters_lines(plan.powers)

    return lines


def _raters_lines(powers: Sequence[Power]) -> list[str]:
    known = [power for power in powers if power.repeats_needed is not None]
    if not known:
        return []

    most = max(known, key=lambda power: power.repeats_needed or 0)
    return [
        f"  With these items, {most.repeats_needed} raters per edit would show the difference in "
        f"all {len(known)} of these pairs in which more raters can."
    ]
