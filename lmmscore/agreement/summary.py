"""The headline table: a line a judge and factor, what it reaches, what people reach, and the verdict."""

from __future__ import annotations

import pandas as pd

from lmmscore.agreement.result import Agreement
from lmmscore.agreement.rows import Row

SHOWN = ("spearman", "pearson", "kendall_b", "mae", "bias", "pairwise_accuracy")
UNDEFINED = "undefined"


def summary(agreement: Agreement, level: str = "item") -> pd.DataFrame:
    """Return the headline table as text cells."""
    lines = []
    for judge in agreement.judges:
        for factor in agreement.factors:
            head = agreement.row(judge, factor, level, "spearman")
            if head is not None:
                lines.append(
                    {"judge": judge, "factor": factor}
                    | _cells(agreement, judge, factor, level, head)
                )
    return pd.DataFrame(lines)


def _cells(agreement: Agreement, judge: str, factor: str, level: str, head: Row) -> dict[str, str]:
    cells = {"n": str(head.measure.n), "ρ": number(head), "95%": limits(head)}
    for name, shown in (("pearson", "r"), ("kendall_b", "τ-b"), ("mae", "MAE"), ("bias", "bias")):
        found = agreement.row(judge, factor, level, name)
        if found is not None:
            cells[shown] = number(found)
    accuracy = agreement.row(judge, factor, level, "pairwise_accuracy")
    if accuracy is not None:
        cells["pairs"] = number(accuracy)
    if level == "item":
        verdict = agreement.verdict(judge, factor)
        own = agreement.row(judge, factor, "item", "rater_spearman")
        people = agreement.people_row(factor, "rater_spearman")
        cells |= {"as a rater": number(own), "a rater": number(people)}
        cells["verdict"] = verdict.words if verdict else ""
    return cells


def number(row: Row | None, digits: int = 3) -> str:
    """Return a value for a table, or the word for there being none."""
    if row is None or row.value is None:
        return UNDEFINED
    return f"{row.value:.{digits}f}"


def limits(row: Row | None, digits: int = 2) -> str:
    """Return an interval for a table."""
    low, high = (None, None) if row is None else row.limits
    return "" if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"
