"""Pairs compared by a judge → one table, pairs.csv: who won each, or why that is not known."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from lmmscore.dialog import Dialog
from lmmscore.errors import FileProblem
from lmmscore.records import Outcome
from lmmscore.scales import Factor, show
from lmmscore.tables import defuse, restore

if TYPE_CHECKING:
    from lmmscore.plan import Unit
    from lmmscore.session import Played

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


def comparison_of(unit: Unit, played: Sequence[Played]) -> Comparison:
    """Return what became of a pair."""
    item = unit.item
    a, b = unit.methods
    place = (item.id, item.task, a, b)
    order = "" if not unit.shown else "ab" if unit.shown == (a, b) else "ba"
    if not played:
        lacking = ", ".join(method for method in unit.methods if method not in item.edits)
        reason = f"{lacking} made no edit of this item"
        return Comparison(*place, order, unit.repeat, "", Outcome.MISSING, reason)
    found = played[0]
    outcome, reason, winner, both = _verdict(found)
    named = {"first": unit.shown[0], "second": unit.shown[1], TIE: TIE}.get(winner, "")
    scores = _scores(found, reverse=order == "ba")
    return Comparison(*place, order, unit.repeat, named, outcome, reason, both, scores)


def unjudged_pair(row: Comparison) -> Comparison:
    """Return a comparison as one that was planned and not reached."""
    reason = "the run was stopped before this pair was judged"
    return replace(row, winner="", outcome=Outcome.UNJUDGED, reason=reason)


def _verdict(played: Played) -> tuple[Outcome, str, str, str]:
    """Return outcome, reason, winner by place, and how good both are."""
    failure = played.done.failure
    if failure is not None:
        return failure.outcome, failure.reason, "", ""
    said = played.done.winner
    if said is None:
        return _by_scores(played)
    if said.fault is not None:
        return said.fault.outcome, said.fault.says, "", ""
    return Outcome.SCORED, "", said.winner, said.both


def _by_scores(played: Played) -> tuple[Outcome, str, str, str]:
    """Return the verdict where both edits are scored and no winner is named: the higher one."""
    formula = played.session.dialog.formula
    assert formula is not None, "a dialog of pairs reads a winner or has a rule"
    totals = []
    for position in (1, 2):
        scores = played.reading.scores
        numbers = {key: score for (at, key), score in scores.items() if at == position}
        absent = {key for at, key in played.done.absent if at == position}
        totals.append(formula.value(numbers, absent))
    first, second = totals
    if first is None or second is None:
        fault = next(iter(played.reading.faults), None)
        if fault is None:
            return Outcome.UNREADABLE, "no score was found", "", ""
        return fault.outcome, str(fault), "", ""
    if first == second:
        return Outcome.SCORED, "", TIE, ""
    return Outcome.SCORED, "", "first" if first > second else "second", ""


def _scores(played: Played, *, reverse: bool) -> dict[str, tuple[Fraction | None, Fraction | None]]:
    found: dict[str, tuple[Fraction | None, Fraction | None]] = {}
    for factor in played.session.dialog.factors:
        shown = [played.reading.scores.get((position, factor.key)) for position in (1, 2)]
        first, second = reversed(shown) if reverse else shown
        found[factor.key] = (first, second)
    return found


def header(dialog: Dialog) -> list[str]:
    """Return the columns of pairs.csv; scores of both edits come last, where there are any."""
    scores = [f"{factor.key}_{side}" for factor in dialog.factors for side in "ab"]
    return [*PAIR_COLUMNS, *scores]


def as_cells(row: Comparison, factors: Sequence[Factor]) -> list[object]:
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
            return [*_rows(csv.DictReader(file), path)]
    except FileNotFoundError as error:
        raise FileProblem(f"{path}: no such file") from error
    except (OSError, ValueError, csv.Error) as error:
        raise FileProblem(f"{path}: not a pairs.csv ({error})") from error


def _rows(reader: csv.DictReader[str], path: Path) -> Iterator[Comparison]:
    lacking = [name for name in PAIR_COLUMNS[:-1] if name not in (reader.fieldnames or ())]
    if lacking:
        raise FileProblem(f"{path}: not a pairs.csv: no column {', '.join(lacking)}")

    for row in reader:
        where = f"{path}:{reader.line_num}"
        cells = {name: restore(text or "") for name, text in row.items() if name is not None}
        yield _row(cells, where)


def _row(cells: Mapping[str, str], where: str) -> Comparison:
    methods = (cells["method_a"], cells["method_b"])
    winner, outcome = cells["winner"], cells["outcome"]
    if outcome not in list(Outcome):
        raise FileProblem(f"{where}: outcome {outcome!r} is none of {', '.join(Outcome)}")
    if winner not in (*methods, TIE, ""):
        raise FileProblem(f"{where}: winner {winner!r} is neither of the pair, nor `{TIE}`")
    if (outcome == Outcome.SCORED) != bool(winner):
        raise FileProblem(f"{where}: winner {winner!r} does not go with outcome {outcome}")
    if cells["order"] not in ("ab", "ba", ""):
        raise FileProblem(f"{where}: order {cells['order']!r} is neither ab nor ba")
    if not cells["repeat"].isdecimal():
        raise FileProblem(f"{where}: repeat {cells['repeat']!r} is not a whole number from 1")
    return Comparison(
        *(cells["item"], cells["task"], *methods, cells["order"], int(cells["repeat"])),
        *(winner, Outcome(outcome), cells["reason"], cells.get("both", "")),
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
    groups: dict[tuple[str, str, str, str, int], list[Comparison]] = {}
    for row in rows:
        key = (row.task, row.item, row.method_a, row.method_b, row.repeat)
        groups.setdefault(key, []).append(row)
    found = []
    for (task, item, a, b, repeat), shown in groups.items():
        winners = {row.winner for row in shown}
        consistent = len(winners) == 1
        winner = next(iter(winners)) if consistent else TIE
        if "" in winners:
            # Half a comparison would bring back the preference for a place that both orders cancel.
            winner, consistent = "", True
        found.append(Match(item, task, a, b, repeat, winner, consistent, tuple(shown)))
    return found
