"""Sessions → tidy tables: scores.csv, and pairs.csv where pairs are compared."""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from lmmscore.dialog import Dialog, Ensemble
from lmmscore.errors import FileProblem
from lmmscore.records import OVERALL, Item, Outcome, Score
from lmmscore.scales import Factor, Formula, show
from lmmscore.tables import defuse, restore

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.plan import Place, Protocol, Unit
    from lmmscore.session import Played


# --------------------------------------------------------------------------------------------------
# Pairs compared by a judge → one table, pairs.csv: who won each, or why that is not known.
# --------------------------------------------------------------------------------------------------

PAIR_COLUMNS = (
    "item",
    "task",
    "method_a",
    "method_b",
    "order",
    "repeat",
    "winner",
    "outcome",
    "reason",
    "both",
)
TIE = "tie"
"""What stands in place of the winner's name where neither won."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One pair of edits, shown once: one line of pairs.csv."""

    item: str
    task: str
    method_a: str
    method_b: str
    order: str
    """`ab` or `ba`: whose edit was shown first; empty where none was shown."""
    repeat: int
    winner: str
    """The method that won, `tie`, or nothing."""
    outcome: Outcome
    reason: str = ""
    both: str = ""
    """Of a tie: `good` or `bad`, where the judge said so."""
    scores: Mapping[str, tuple[Fraction | None, Fraction | None]] = field(default_factory=dict)
    """By factor, where the protocol has them: the scores of a and of b."""

    @property
    def shown(self) -> tuple[str, str]:
        """The methods in the order their edits were shown."""
        pair = (self.method_a, self.method_b)
        return pair if self.order != "ba" else (self.method_b, self.method_a)

    @property
    def key(self) -> tuple[Place, tuple[str, ...]]:
        """What its unit is known by in the plan."""
        return (self.task, self.item, self.repeat), self.shown


def comparison_of(unit: Unit, played: Sequence[Played]) -> Comparison:
    """Return what became of a pair."""
    item = unit.item
    a, b = unit.methods
    place = (item.id, item.task, a, b)
    order = ""
    if unit.shown:
        order = "ab" if unit.shown == (a, b) else "ba"

    if not played:
        lacking = ", ".join(method for method in unit.methods if method not in item.edits)
        reason = f"{lacking} made no edit of this item"
        return Comparison(*place, order, unit.repeat, "", Outcome.MISSING, reason)

    found = played[0]
    outcome, reason, winner, both = _verdict(found)
    named = {"first": unit.shown[0], "second": unit.shown[1], TIE: TIE}.get(winner, "")
    scores = _scores(found, reverse=order == "ba")
    return Comparison(*place, order, unit.repeat, named, outcome, reason, both, scores)


def unjudged_pair(unit: Unit) -> Comparison:
    """Return the comparison of a pair that was planned and not reached, or that lacks an edit."""
    row = comparison_of(unit, ())
    if not unit.shown:
        return row

    reason = "the run was stopped before this pair was judged"
    return replace(row, outcome=Outcome.UNJUDGED, reason=reason)


def _verdict(played: Played) -> tuple[Outcome, str, str, str]:
    """Return outcome, reason, winner by position, and whether both are good or bad."""
    failure = played.done.failure
    if failure is not None:
        return failure.outcome, failure.reason, "", ""

    said = played.done.winner
    if said is None:
        return _by_scores(played)
    if said.fault is not None:
        return said.fault.outcome, said.fault.reason, "", ""
    return Outcome.SCORED, "", said.winner, said.both


def _by_scores(played: Played) -> tuple[Outcome, str, str, str]:
    """Return the verdict where both edits are scored and no winner is named: the higher one."""
    formula = played.session.dialog.formula
    assert formula is not None, "a dialog of pairs reads a winner or has a rule"
    totals = []
    for position in (1, 2):
        absent = {key for at, key in played.done.absent if at == position}
        totals.append(formula.value(_numbers(played, position), absent))

    # One score is no comparison: without both there is no winner.
    first, second = totals
    if first is None or second is None:
        fault = next(iter(played.reading.faults), None)
        if fault is None:
            return Outcome.UNREADABLE, "no score was found", "", ""

        return fault.outcome, str(fault), "", ""

    if first == second:
        return Outcome.SCORED, "", TIE, ""

    return Outcome.SCORED, "", "first" if first > second else "second", ""


def _numbers(played: Played, position: int) -> dict[str, Fraction]:
    """Return the scores that one edit was given, by factor."""
    scores = played.reading.scores
    return {key: score for (at, key), score in scores.items() if at == position}


def _scores(played: Played, *, reverse: bool) -> dict[str, tuple[Fraction | None, Fraction | None]]:
    """Return the scores of both edits by factor, that of method_a first."""
    found: dict[str, tuple[Fraction | None, Fraction | None]] = {}
    for factor in played.session.dialog.factors:
        shown = [played.reading.scores.get((position, factor.key)) for position in (1, 2)]
        # Read by position; the table has them by method.
        first, second = reversed(shown) if reverse else shown
        found[factor.key] = (first, second)
    return found


def header(dialog: Dialog) -> list[str]:
    """Return the columns of pairs.csv; scores of both edits come last, where there are any."""
    scores = [f"{factor.key}_{side}" for factor in dialog.factors for side in "ab"]
    return [*PAIR_COLUMNS, *scores]


def comparison_cells(row: Comparison, factors: Sequence[Factor]) -> list[object]:
    """Return a comparison as cells; text that a spreadsheet would run is defused."""
    cells: list[object] = [defuse(row.item), defuse(row.task)]
    cells += [defuse(row.method_a), defuse(row.method_b), row.order, row.repeat]
    cells += [defuse(row.winner), str(row.outcome), defuse(row.reason), row.both]
    for factor in factors:
        given = row.scores.get(factor.key, (None, None))
        cells += ["" if score is None else show(score) for score in given]

    return cells


def read_comparisons(path: Path) -> list[Comparison]:
    """Return the comparisons of a pairs.csv. Raises FileProblem naming the line at fault."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            _refuse_without_columns(reader.fieldnames or (), path)
            lines = [(f"{path}:{reader.line_num}", cells) for cells in reader]
    except FileNotFoundError as error:
        raise FileProblem(f"{path}: no such file") from error
    except (OSError, ValueError, csv.Error) as error:
        raise FileProblem(f"{path}: not a pairs.csv ({error})") from error

    found: dict[object, Comparison] = {}
    for where, cells in lines:
        row = _row(cells, where)
        # A pair that was never shown stands once for each order, both without one.
        if row.order and row.key in found:
            raise FileProblem(f"{where}: this pair was given before; keep one of the lines")

        found[row.key if row.order else where] = row

    return list(found.values())


def _refuse_without_columns(columns: Collection[str], path: Path) -> None:
    # `both` only says more of a tie: a table without it is whole.
    lacking = [name for name in PAIR_COLUMNS if name not in columns and name != "both"]
    if lacking:
        raise FileProblem(f"{path}: not a pairs.csv: no column {', '.join(lacking)}")


def _row(row: Mapping[str, str | None], where: str) -> Comparison:
    """Return the comparison of one line. Raises FileProblem where it contradicts itself."""
    # A cell too many stands under None, one too few is None itself.
    cells = {name: restore(text or "") for name, text in row.items() if name is not None}
    methods = (cells["method_a"], cells["method_b"])
    winner, outcome = cells["winner"], cells["outcome"]
    if outcome not in list(Outcome):
        raise FileProblem(f"{where}: outcome {outcome!r} is not one of {', '.join(Outcome)}")
    if winner not in (*methods, TIE, ""):
        raise FileProblem(f"{where}: winner {winner!r} is neither of the pair, nor `{TIE}`")
    if (outcome == Outcome.SCORED) != bool(winner):
        raise FileProblem(f"{where}: winner {winner!r} does not go with outcome {outcome}")
    if methods[0] == methods[1]:
        raise FileProblem(f"{where}: {methods[0]} cannot be compared with itself")
    if cells["order"] not in ("ab", "ba", ""):
        raise FileProblem(f"{where}: order {cells['order']!r} is neither ab nor ba")
    # Which place was preferred, and which lines are one match, follows from the order.
    if winner and not cells["order"]:
        raise FileProblem(f"{where}: a winner, but no order; write ab or ba, whichever was shown")
    if not cells["repeat"].isdecimal() or int(cells["repeat"]) < 1:
        raise FileProblem(f"{where}: repeat {cells['repeat']!r} is not a whole number from 1")

    return Comparison(
        cells["item"],
        cells["task"],
        *methods,
        order=cells["order"],
        repeat=int(cells["repeat"]),
        winner=winner,
        outcome=Outcome(outcome),
        reason=cells["reason"],
        both=cells.get("both", ""),
    )


@dataclass(frozen=True, slots=True)
class Match:
    """A pair on one item in one repeat, over the orders it was shown in."""

    item: str
    task: str
    method_a: str
    method_b: str
    repeat: int
    winner: str
    """The method that won in every order, `tie`, or nothing where an order gave no verdict."""
    consistent: bool
    """Whether all orders agree; where they do not, it is a tie."""
    shown: tuple[Comparison, ...]


def matches(rows: Iterable[Comparison]) -> list[Match]:
    """Return the pairs with both orders put together: an inconsistent one is a tie."""
    groups: dict[tuple[object, ...], list[Comparison]] = {}
    for row in rows:
        # A file of another tool may call the methods a and b in one line, b and a in the next.
        key = (row.task, row.item, row.repeat, frozenset((row.method_a, row.method_b)))
        groups.setdefault(key, []).append(row)

    found = []
    for shown in groups.values():
        winners = {row.winner for row in shown}
        consistent = len(winners) == 1
        winner = next(iter(winners)) if consistent else TIE
        if "" in winners:
            # Half a comparison would bring back the preference for a position, which both orders
            # together cancel (docs/decisions/0133).
            winner, consistent = "", True

        first = shown[0]
        pair = (first.item, first.task, first.method_a, first.method_b)
        found.append(Match(*pair, first.repeat, winner, consistent, tuple(shown)))

    return found


# --------------------------------------------------------------------------------------------------
# Sessions → one tidy table of scores. The overall score is computed here and nowhere else.
# --------------------------------------------------------------------------------------------------

SCORE_COLUMNS = (
    "item",
    "task",
    "method",
    "repeat",
    "position",
    "factor",
    "score",
    "outcome",
    "reason",
)
_TEXT_COLUMNS = ("item", "task", "method", "factor", "outcome", "reason")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

EXPECTED = "expected"
"""A further column, where the judge was asked for the probabilities of its words."""

SLIP_TOLERANCE = Fraction(1, 20)
"""A stated overall within this of the exact one is rounding, not an arithmetic error."""


@dataclass(frozen=True, slots=True)
class Result:
    """A unit of the plan after it was judged."""

    unit: Unit
    played: tuple[Played, ...]
    scores: tuple[Score, ...]
    comparison: Comparison | None = None
    """What became of a pair; a pair gives no scores."""


def result_of(unit: Unit, protocol: Protocol, played: Sequence[Played]) -> Result:
    """Return the unit's scores, in the order of the benchmark's methods; or its comparison."""
    if protocol.covers_pairs:
        return Result(unit, tuple(played), (), comparison_of(unit, played))

    by_dialog = [scores_of(each) for each in played]
    rows: list[Score] = []
    if not isinstance(protocol.played, Ensemble):
        for scores in by_dialog:
            rows += scores
    elif by_dialog:
        names = [each.session.dialog.name for each in played]
        for method in unit.shown:
            members = [[row for row in scores if row.method == method] for scores in by_dialog]
            rows += combined(protocol.played, dict(zip(names, members, strict=True)))

    for method in unit.absent:
        rows += missing_scores(unit.item, method, unit.repeat, protocol.dialogs)

    place = {method: number for number, method in enumerate(unit.methods)}
    # Methods shown only for comparison are scored in sessions of their own.
    rows = [row for row in rows if row.method in place]
    rows.sort(key=lambda row: place[row.method])
    return Result(unit, tuple(played), tuple(rows))


def settled(protocol: Protocol, played: Played) -> bool:
    """Tell whether a suite's later members need not be asked: its overall is 0 in any case."""
    suite = protocol.played
    if not isinstance(suite, Ensemble) or not is_gated(protocol):
        return False

    # A dialog of a suite within the suite closes no gate of the outer one.
    own_members = {member.name for member in suite.members}
    if played.session.dialog.name not in own_members:
        return False

    return any(row.factor == OVERALL and row.score == 0 for row in scores_of(played))


def is_gated(protocol: Protocol) -> bool:
    """Tell whether the score of one member of a suite may make the later ones unnecessary."""
    suite = protocol.played
    return isinstance(suite, Ensemble) and bool(suite.suite.gate) and protocol.covers_edits


def scores_of(played: Played) -> list[Score]:
    """Return the scores of every edit in a session: each factor, then the overall."""
    rows: list[Score] = []
    for position, method in enumerate(played.session.order, 1):
        rows += _scores_of_edit(played, position, method)
    return rows


def _scores_of_edit(played: Played, position: int, method: str) -> list[Score]:
    """Return the rows of one edit: a number for each factor, or why there is none; the overall."""
    session = played.session
    dialog, item = session.dialog, session.item
    place = (item.id, item.task, method, session.repeat, position)
    asked = {factor.key for factor in dialog.factors_for(item)}
    numbers: dict[str, Fraction] = {}
    absent: set[str] = set()
    rows: list[Score] = []
    for factor in dialog.factors:
        key = factor.key
        score = played.reading.scores.get((position, key))
        if score is not None:
            numbers[key] = score
            expected = played.done.expected.get((position, key))
            rows.append(Score(*place, key, score, Outcome.SCORED, expected=expected))
        elif key not in asked or (position, key) in played.done.absent:
            absent.add(key)
            reason = dialog.not_asked(key) if key not in asked else "the judge says: not applicable"
            rows.append(Score(*place, key, None, Outcome.ABSENT, reason))
        else:
            rows.append(Score(*place, key, None, *_why(played, position, key)))

    formula = dialog.formula
    if formula is None:
        return rows
    return [*rows, _overall_row(rows, formula, numbers, absent)]


def _overall_row(
    rows: Sequence[Score], formula: Formula, numbers: Mapping[str, Fraction], absent: set[str]
) -> Score:
    """Return the row of the overall, or why there is none."""
    total = formula.value(numbers, absent)
    if total is not None:
        first, expected = rows[0], _expected_overall(rows, formula, absent)
        place = (first.item, first.task, first.method, first.repeat, first.position)
        return Score(*place, OVERALL, total, Outcome.SCORED, expected=expected)

    # Never a mean over the factors that happened to be readable.
    open_rows = [row for row in rows if row.score is None and row.factor in formula.needs]
    worst = next((row for row in open_rows if row.outcome != Outcome.ABSENT), None)
    if worst is None:
        reason = "nothing that counts was asked of this edit"
        none = replace(rows[0], score=None, outcome=Outcome.ABSENT, reason=reason)
        return replace(none, factor=OVERALL, expected=None)

    return replace(worst, factor=OVERALL, reason=f"{worst.factor}: {worst.reason}")


def _expected_overall(rows: Sequence[Score], formula: Formula, absent: set[str]) -> Fraction | None:
    """Return the expected overall where the rule is a weighted sum; no other rule has one."""
    means = {row.factor: row.expected for row in rows if row.expected is not None}
    return formula.value(means, absent) if means and formula.is_linear else None


def _why(played: Played, position: int, key: str) -> tuple[Outcome, str]:
    """Return the outcome of a factor that has no score, and the reason."""
    failure = played.done.failure
    if failure is not None:
        return failure.outcome, failure.reason

    faults = [fault for fault in played.reading.faults_of(position) if fault.factor in (None, key)]
    if not faults:
        return Outcome.UNREADABLE, "no score was found"

    # A fault of this factor says more than a fault of the whole reply.
    fault = min(faults, key=lambda fault: fault.factor is None)
    return fault.outcome, fault.reason


def missing_scores(item: Item, method: str, repeat: int, dialogs: Sequence[Dialog]) -> list[Score]:
    """Return the rows of a method that made no edit of this item."""
    keys = [factor.key for dialog in dialogs for factor in dialog.factors]
    place = (item.id, item.task, method, repeat, None)
    reason = "the method made no edit of this item"
    return [Score(*place, key, None, Outcome.MISSING, reason) for key in [*keys, OVERALL]]


def unjudged_scores(item: Item, method: str, repeat: int, dialogs: Sequence[Dialog]) -> list[Score]:
    """Return the rows of an edit that was planned and not reached, or that was never made."""
    rows = missing_scores(item, method, repeat, dialogs)
    if method not in item.edits:
        return rows
    reason = "the run was stopped before this edit was judged"
    return [replace(row, outcome=Outcome.UNJUDGED, reason=reason) for row in rows]


def combined(suite: Ensemble, by_dialog: Mapping[str, Sequence[Score]]) -> list[Score]:
    """Return the rows of one edit under a suite: factors, each member's overall,
    the combination."""
    rows = [row for scores in by_dialog.values() for row in scores if row.factor != OVERALL]
    named: list[Score] = []
    total = _combined_row(suite, by_dialog, named)
    return [*rows, *named] if total is None else [*rows, *named, total]


def _combined_row(
    suite: Ensemble, by_dialog: Mapping[str, Sequence[Score]], named: list[Score]
) -> Score | None:
    """Return a suite's overall, adding its members' to `named`; None where it was not asked."""
    own = _member_rows(suite, by_dialog, named)
    if not own:
        return None

    numbers = {row.factor: row.score for row in own if row.score is not None}
    absent = {row.factor for row in own if row.outcome == Outcome.ABSENT}
    closed = next((row.factor for row in own if row.score == 0), None)
    if closed is None or not suite.suite.gate:
        return _overall_row(own, suite.formula, numbers, absent)

    # Later members of a gated suite were not asked: they count 0, as the one that closed it.
    names = [member.name for member in suite.members]
    later = names[names.index(closed) + 1 :]
    numbers |= dict.fromkeys(later, Fraction(0))
    found = _overall_row(own, suite.formula, numbers, absent)
    if {row.factor for row in own}.issuperset(later):
        return found

    return replace(found, reason=f"{closed} is 0, so the rest was not asked")


def _member_rows(
    suite: Ensemble, by_dialog: Mapping[str, Sequence[Score]], named: list[Score]
) -> list[Score]:
    """Return the overall of each member that was asked, under its name; `named` gets those of
    members within members too."""
    own: list[Score] = []
    for member in suite.members:
        if isinstance(member, Ensemble):
            row = _combined_row(member, by_dialog, named)
        else:
            scores = by_dialog.get(member.name, ())
            row = next((row for row in scores if row.factor == OVERALL), None)

        if row is not None:
            own.append(replace(row, factor=member.name))
            named.append(own[-1])

    return own


def slips(played: Played) -> list[tuple[int, Fraction, Fraction]]:
    """Return (position, exact, stated) wherever the judge's own overall is an arithmetic error."""
    dialog = played.session.dialog
    found = []
    for position, stated in sorted(played.done.stated.items()):
        exact = dialog.formula.value(_numbers(played, position)) if dialog.formula else None
        if exact is not None and abs(exact - stated) > SLIP_TOLERANCE:
            found.append((position, exact, stated))

    return found


def as_cells(row: Score, *, expected: bool = False) -> list[object]:
    """Return a score as the cells of scores.csv; text that a spreadsheet would run is defused."""
    number = "" if row.score is None else show(row.score)
    position = "" if row.position is None else row.position
    cells: list[object] = [
        defuse(row.item),
        defuse(row.task),
        defuse(row.method),
        row.repeat,
        position,
        defuse(row.factor),
        number,
        str(row.outcome),
        defuse(row.reason),
    ]
    if expected:
        cells.append("" if row.expected is None else f"{float(row.expected):.4f}")

    return cells


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


def read_scores(path: Path) -> pd.DataFrame:
    """Return a scores.csv as a tidy frame. Raises FileProblem where it is not one, naming the line
    at fault.

    A spreadsheet's own CSV, with semicolons and decimal commas, is read too.
    """
    frame, delimiter = _read_cells(path)
    if delimiter == ";":
        for name in frame.columns.intersection(["score", EXPECTED]):
            frame[name] = frame[name].str.replace(",", ".")

    faults = _faults(frame)
    if faults:
        place, says = min(faults, key=itemgetter(0))
        raise FileProblem(f"{path}:{_line_at(path, delimiter, place)}: {says}")

    for name in _TEXT_COLUMNS:
        # By distinct texts: a large table has few, and most need no change.
        texts = {text: restore(text) for text in frame[name].unique()}
        if any("\n" in text for text in texts):
            _refuse_stray_quotes(path, delimiter)
        if any(text != plain for text, plain in texts.items()):
            frame[name] = frame[name].map(texts)

    numbers = {name: _mapped(frame[name], _number) for name in ("score", "repeat", "position")}
    return frame.assign(
        score=numbers["score"].astype(float),
        repeat=numbers["repeat"].astype(int),
        position=numbers["position"].astype("Int64"),
    )


def is_scores_file(path: Path) -> bool:
    """Tell by its header alone whether a file is a scores.csv: the file may be large."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False

    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        header = file.readline()

    columns = header.replace(";", ",").replace('"', "").strip().split(",")
    return set(SCORE_COLUMNS) <= {column.strip() for column in columns}


def with_expected(scores: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return the scores with the expected ones in place of those stated."""
    import pandas as pd

    if EXPECTED not in scores.columns:
        raise FileProblem(f"{where}: no expected scores; `lmmscore run --logprobs` asks for them")

    numbers = pd.to_numeric(scores[EXPECTED], errors="coerce")
    # Never the stated score in place of a missing expected one: the two are different figures.
    lacking = numbers.isna() & (scores["outcome"] == Outcome.SCORED.value)
    outcome = scores["outcome"].where(~lacking, Outcome.UNREADABLE.value)
    reason = scores["reason"].where(~lacking, "no expected score")
    return scores.assign(score=numbers, outcome=outcome, reason=reason)


def _read_cells(path: Path) -> tuple[pd.DataFrame, str]:
    """Return the cells as they are written, every one a string, and what separates them."""
    import pandas as pd

    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()

        # Spreadsheets of many countries write semicolons.
        delimiter = ";" if header.count(";") > header.count(",") else ","
        frame = pd.read_csv(
            path, sep=delimiter, dtype="str", keep_default_na=False, encoding="utf-8-sig"
        )
    except FileNotFoundError as error:
        raise FileProblem(f"{path}: no such file") from error
    except pd.errors.EmptyDataError as error:
        raise FileProblem(f"{path}: the file is empty: it has no header and no scores") from error
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise FileProblem(f"{path}: not a scores.csv ({str(error).strip()})") from error

    lacking = [name for name in SCORE_COLUMNS if name not in frame.columns]
    if lacking:
        raise FileProblem(
            f"{path}: not a scores.csv: no column {', '.join(lacking)}; `lmmscore scores` converts "
            "other files"
        )
    # pandas takes the first column for row names where every line has a cell more than the header.
    if not isinstance(frame.index, pd.RangeIndex):
        raise FileProblem(
            f"{path}: lines have more cells than the header; quote text that has a {delimiter!r}"
        )
    return frame, delimiter


def _refuse_stray_quotes(path: Path, delimiter: str) -> None:
    """Raise for a quotation mark that is not closed: pandas reads the lines after it as one cell,
    and their scores would be missing silently."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            for _ in reader:
                pass
        except csv.Error as error:
            raise FileProblem(
                f"{path}:{reader.line_num}: {error}; close every quotation mark"
            ) from error


def _faults(frame: pd.DataFrame) -> list[tuple[int, str]]:
    """Return (row, what is wrong), the first of each kind.

    A failure that carries a number is a fault.
    """
    numbers = _mapped(frame["score"], _number)
    scored, empty = frame["outcome"] == Outcome.SCORED, frame["score"] == ""
    counts = _mapped(frame["repeat"], _is_count)
    positions = _mapped(frame["position"], lambda cell: cell == "" or _is_count(cell))
    kinds = (
        (
            ~frame["outcome"].isin(list(Outcome)),
            "outcome",
            f"outcome {{!r}} is not one of {', '.join(Outcome)}",
        ),
        (
            numbers.isna() & ~empty,
            "score",
            "score {!r} is not a number; leave it empty where there is none",
        ),
        (scored & empty, "score", "outcome is scored, but there is no score"),
        (
            ~scored & ~empty,
            "score",
            "score {!r}, though the outcome says there is none; correct one of the two",
        ),
        (~counts, "repeat", "repeat {!r} is not a whole number from 1"),
        (~positions, "position", "position {!r} is neither empty nor a whole number from 1"),
    )
    found = []
    for wrong, column, says in kinds:
        if wrong.any():
            place = int(wrong.to_numpy().argmax())
            found.append((place, says.format(frame[column].iloc[place])))

    return found


def _mapped(cells: pd.Series, function: Callable[[Any], object]) -> pd.Series:
    """Return a function of each cell, called once per distinct cell: a large table has few."""
    return cells.map({cell: function(cell) for cell in cells.unique()})


def _number(cell: object) -> float:
    """Return a cell's number, NaN for anything else: `True`, `inf` and `1_000` are no scores."""
    value = float(cell) if isinstance(cell, str) and _DECIMAL.fullmatch(cell.strip()) else math.nan
    return value if math.isfinite(value) else math.nan


def _is_count(cell: object) -> bool:
    value = _number(cell)
    return value >= 1 and value.is_integer()


def _line_at(path: Path, delimiter: str, place: int) -> int:
    """Return the line at which a row of the table ends: a text with line breaks takes several."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        lines = (reader.line_num for row in reader if row)
        return next(itertools.islice(lines, place + 1, None), 0)


def frame_of(rows: Iterable[Score]) -> pd.DataFrame:
    """Return scores as the tidy frame."""
    import pandas as pd

    cells = [
        (
            r.item,
            r.task,
            r.method,
            r.repeat,
            r.position,
            r.factor,
            None if r.score is None else float(r.score),
            str(r.outcome),
            r.reason,
        )
        for r in rows
    ]
    frame = pd.DataFrame(cells, columns=list(SCORE_COLUMNS))
    return frame.astype({"score": float, "position": "Int64", "repeat": int})
