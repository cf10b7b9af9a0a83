from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lmmscore.errors import BudgetExhausted, NotRecorded
from lmmscore.judges.limits import Budget, Spending


def budget_of(path: Path, cap_usd: float | None = 10.0) -> Budget:
    """A budget that goes on from what the file says."""
    budget = Budget(cap_usd)
    budget.keep(Spending(path))
    return budget


def ask(budget: Budget, most_usd: float, usd: float, assumed: bool = False) -> None:
    """Set money aside for one question, and settle it."""
    budget.settle(asyncio.run(budget.reserve(lambda: most_usd)), usd, assumed=assumed)


def test_a_budget_goes_on_from_what_earlier_parts_spent(tmp_path: Path) -> None:
    """What was counted and what was assumed are both spent, and stay apart."""
    path = tmp_path / "spending.csv"
    first = budget_of(path)
    ask(first, 0.5, 0.3)
    ask(first, 0.5, 0.5, assumed=True)
    ask(first, 0.5, 0.0)
    second = budget_of(path, None)
    assert (second.spent_usd, second.assumed_usd) == pytest.approx((0.8, 0.5))
    ask(second, 0.5, 0.1)
    assert budget_of(path).spent_usd == pytest.approx(0.9)


def test_what_was_in_flight_when_the_process_was_killed_counts_as_spent(tmp_path: Path) -> None:
    """The server may have charged for it: only a settled question gives back what was set aside."""
    path = tmp_path / "spending.csv"
    first = budget_of(path)
    asyncio.run(first.reserve(lambda: 0.5))
    second = budget_of(path)
    assert (second.spent_usd, second.assumed_usd) == pytest.approx((0.5, 0.5))


def test_a_line_cut_short_spoils_no_other(tmp_path: Path) -> None:
    """A disk that was full for a moment costs at most the line that did not fit."""
    path = tmp_path / "spending.csv"
    ask(budget_of(path), 0.5, 0.3)
    with path.open("a") as file:
        file.write("\n0.2")
    ask(budget_of(path), 0.5, 0.1)
    assert budget_of(path).spent_usd == pytest.approx(0.4)


def test_nothing_is_asked_that_cannot_be_written_down(tmp_path: Path) -> None:
    """Where the file cannot be written, the question is not sent: its cost would be forgotten."""
    budget = budget_of(tmp_path / "no such folder" / "spending.csv")
    with pytest.raises(NotRecorded, match=r"spending\.csv: cannot be written"):
        asyncio.run(budget.reserve(lambda: 0.5))
    assert not list(tmp_path.iterdir())


def test_a_new_file_begins_with_what_was_spent_before_it(tmp_path: Path) -> None:
    """What a ledger already has on record is carried over once."""
    path = tmp_path / "spending.csv"
    for carried in (1.5, 99.0):
        budget = Budget(10.0)
        budget.keep(Spending(path, carried))
        ask(budget, 0.5, 0.25)
    assert budget_of(path).spent_usd == pytest.approx(2.0)
    assert budget_of(path).assumed_usd == pytest.approx(0.0)


def test_a_judge_and_its_reader_spend_from_one_budget(tmp_path: Path) -> None:
    """What one has spent, or set aside, the other cannot spend again."""
    book = Spending(tmp_path / "spending.csv")
    judge, reader = Budget(1.0), Budget(1.0)
    judge.keep(book)
    reader.keep(book)
    ask(judge, 0.6, 0.5)
    ask(reader, 0.3, 0.2)
    with pytest.raises(BudgetExhausted):
        ask(judge, 0.4, 0.4)
    held = asyncio.run(reader.reserve(lambda: 0.2))
    with pytest.raises(BudgetExhausted):
        ask(judge, 0.2, 0.1)
    reader.settle(held, 0.0)
    ask(judge, 0.3, 0.3)
    assert book.committed_usd == pytest.approx(1.0)
