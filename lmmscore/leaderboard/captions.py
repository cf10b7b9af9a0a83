"""The sentences around a table: which mean it is, what is missing, and what the data cannot say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lmmscore.leaderboard.differences import EXACT_UP_TO, Differences
from lmmscore.leaderboard.tables import Row


def caption(
    factor: str, *, task: str | None, items: int, tasks: int, average: str, rule: str
) -> str:
    """Return which mean the table shows and over what, then the rule by which it is derived."""
    over = f"over {_count(items, 'item')}"
    if task is None:
        over += f" of {_count(tasks, 'task category', 'task categories')}"
        if average == "tasks":
            over = f"over {_count(tasks, 'task category', 'task categories')}, each the mean of its items"
    return f"Mean {factor} {over}; {rule}."


def rule(*, repeats: int, missing: str, lowest: float) -> str:
    """Return what is done before averaging, what the spread is over, and how missing scores are treated."""
    first = f"an edit's {repeats} repeats averaged first; " if repeats > 1 else ""
    holes = "left out" if missing == "exclude" else f"counted as {lowest:g}, the lowest score"
    return f"{first}std over items; unscored edits {holes} (missing: {missing})"


def hole_warning(holes: int, asked: int, reasons: Mapping[str, int], rows: Sequence[Row]) -> str:
    """Return the sentence above a table with holes."""
    why = ", ".join(f"{count} {outcome}" for outcome, count in reasons.items() if count)
    short = [f"{row.method} {_share(row.coverage)}" for row in rows if row.coverage < 1]
    rest = "; all others in full" if len(short) < len(rows) else ""
    return f"{holes} of {_count(asked, 'judgement')} gave no score ({why}). Scored: {', '.join(short)}{rest}."


def _share(coverage: float) -> str:
    # Rounded down: what is nearly all must not look like all.
    return f"{math.floor(coverage * 100 + 1e-6)}%"


def range_warning(rows: Sequence[Row], scale: tuple[float, float], *, observed: bool) -> str:
    """Return which ranks the holes could change, given what the missing scores may have been."""
    open_ranks = [
        f"{r.method} {r.rank_range[0]}–{r.rank_range[1]}" for r in rows if _open(r) and r.rank_range
    ]
    basis = "the range of scores seen" if observed else "the scale"
    within = f"between {scale[0]:g} and {scale[1]:g}, {basis}"
    if not open_ranks:
        return f"No rank depends on the missing scores (taken {within})."
    return f"Ranks the missing scores allow ({within}): {', '.join(open_ranks)}."


def _open(row: Row) -> bool:
    return row.rank_range is not None and row.rank_range[0] != row.rank_range[1]


def statements(rows: Sequence[Row], items: int, tests: Differences | None) -> list[str]:
    """Return what a reader must know about thin data, in plain words."""
    found = []
    ranked = [row for row in rows if row.mean is not None]
    if not ranked:
        return ["No edit was scored: there is nothing to rank."]
    if len(ranked) == 1:
        found.append("One method: there is nothing to rank it against.")
    elif len({row.rank for row in ranked}) == 1:
        found.append("All methods have the same mean: they share rank 1.")
    found += _few(ranked, items)
    if unscored := [row.method for row in rows if row.mean is None]:
        found.append(f"Without any score, and so without a rank: {', '.join(unscored)}.")
    if tests is not None and tests.pairs and items > 1:
        found.append(_test_note(tests, items))
    return found


def _few(rows: Sequence[Row], items: int) -> list[str]:
    if items == 1:
        return ["One item: no standard deviation, no interval and no test."]
    found = []
    if single := [row.method for row in rows if row.n == 1]:
        found.append(f"With one score there is no spread and no interval: {', '.join(single)}.")
    if items < 6:
        # Resampled means stay between the lowest and highest score, and those miss a true median this often.
        most = 1 - 2.0 ** (1 - items)
        found.append(
            f"{items} items: an interval made from them can be right at most {most:.0%} of the time."
        )
    if flat := [row.method for row in rows if row.n > 1 and row.std == 0]:
        found.append(f"All scores equal, so the interval has no width: {', '.join(flat)}.")
    return found


def _test_note(tests: Differences, items: int) -> str:
    pairs = len(tests.pairs)
    how = f"paired permutation test over items, {_ways(items)}, Holm-corrected over {_count(pairs, 'pair')}"
    if 2.0 ** (1 - items) * pairs > tests.alpha:
        return (
            f"With {items} items and {pairs} pairs no difference, however large, could reach "
            f"{tests.alpha:.0%} ({how}): the groups say nothing here."
        )
    return f"Methods that share a letter cannot be told apart at {tests.alpha:.0%} ({how})."


def _ways(items: int) -> str:
    return "exact" if items <= EXACT_UP_TO else "sampled sign patterns"


def uneven_entries(entered: Mapping[str, int], tasks: int) -> str:
    """Return the warning for a table over all categories whose methods were not entered for the same ones."""
    part = [f"{method} {count} of {tasks}" for method, count in entered.items() if count < tasks]
    said = "Not every method was entered for every task, so these means are over different items"
    return f"{said}: {', '.join(part)}."


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
