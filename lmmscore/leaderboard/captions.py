"""The sentences around a table: which mean it is, what is missing, what the data cannot say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lmmscore.leaderboard.board import BoardRow
from lmmscore.leaderboard.differences import Difference, Differences
from lmmscore.stats.permutation import fewest_items

NAMED = 3
"""Contradictions that are told one by one; the others are counted."""


def caption(
    factor: str, *, task: str | None, items: int, tasks: int, average: str, rule: str
) -> str:
    """Return which mean the table shows and over what, then the rule by which it is derived."""
    over = f"over {_count(items, 'item')}"
    if task is None:
        categories = _count(tasks, "task category", "task categories")
        over += f" of {categories}"
        if average == "tasks":
            over = f"over {categories}, each the mean of its items"
    return f"Mean {factor} {over}; {rule}."


def rule(*, repeats: int, missing: str, lowest: float) -> str:
    """Return what is done before averaging, what the spread is over, and the rule for missing
    scores."""
    first = f"an edit's {repeats} repeats averaged first; " if repeats > 1 else ""
    unscored = "left out"
    if missing != "exclude":
        unscored = f"counted as {lowest:g}, the lowest score"
    return f"{first}std over items; unscored edits {unscored} (missing: {missing})"


def missing_warning(
    missing: int, asked: int, reasons: Mapping[str, int], rows: Sequence[BoardRow]
) -> str:
    """Return the sentence above a table with missing scores."""
    why = ", ".join(f"{count} {outcome}" for outcome, count in reasons.items() if count)
    short = [f"{row.method} {_share(row.coverage)}" for row in rows if row.coverage < 1]
    rest = "; all others in full" if len(short) < len(rows) else ""
    total = _count(asked, "judgement")
    return f"{missing} of {total} gave no score ({why}). Scored: {', '.join(short)}{rest}."


def left_out_note(factor: str, edits: int, of: int) -> str:
    """Return how many edits a factor does not count for."""
    return (
        f"{factor} was left out for {edits} of {_count(of, 'edit')}: not asked of their items, or said "
        "not to apply. It does not count there, and is no missing score."
    )


def _share(coverage: float) -> str:
    # Rounded down: what is nearly all must not look like all.
    return f"{math.floor(coverage * 100 + 1e-6)}%"


def range_warning(rows: Sequence[BoardRow], scale: tuple[float, float], *, observed: bool) -> str:
    """Return which ranks the missing scores could change, given what they may have been."""
    ranges = [(row.method, *row.rank_range) for row in rows if row.rank_range is not None]
    open_ranks = [f"{method} {best}–{worst}" for method, best, worst in ranges if best != worst]
    basis = "the range of scores seen" if observed else "the scale"
    within = f"between {scale[0]:g} and {scale[1]:g}, {basis}"
    if not open_ranks:
        return f"No rank depends on the missing scores (taken {within})."
    return f"Ranks the missing scores allow ({within}): {', '.join(open_ranks)}."


def contradiction_warning(tests: Differences) -> str:
    """Return which methods rank above others that beat them on the items both have; "" for none.

    Significant ones are told one by one, the rest are counted.
    """
    found = tests.contradictions()
    if not found:
        return ""
    sure = [d for d in found if d.p_holm is not None and d.p_holm <= tests.alpha]
    sure.sort(key=lambda d: d.difference or 0.0)
    said = [_contradiction(d) for d in sure[:NAMED]]
    rest = len(found) - len(said)
    if rest:
        more = "more pairs" if said else "pairs"
        verb = "are" if rest > 1 else "is"
        noun = more if rest > 1 else more.removesuffix("s")
        said.append(f"{rest} {noun} {verb} ordered against the items both have")
    return "The order contradicts paired differences: " + "; ".join(said) + "."


def _contradiction(d: Difference) -> str:
    p = "p < 0.001" if d.p_holm is not None and d.p_holm < 0.001 else f"p = {d.p_holm:.3f}"
    return (
        f"{d.first} ranks above {d.second}, but scores {abs(d.difference or 0):.2f} lower on the "
        f"{_count(d.n, 'item')} both have ({p})"
    )


def common_note(items: int, methods: int) -> str:
    """Return what the means over common items are over."""
    if not items:
        return (
            f"No item has a score of all {methods} methods, so there is no mean over common items."
        )
    return f"Common mean: over the {_count(items, 'item')} scored for all {methods} methods."


def statements(rows: Sequence[BoardRow], items: int, tests: Differences | None) -> list[str]:
    """Return what a reader must know about thin data, in plain words."""
    ranked = [row for row in rows if row.mean is not None]
    if not ranked:
        return ["No edit was scored: there is nothing to rank."]

    found = []
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


def _few(rows: Sequence[BoardRow], items: int) -> list[str]:
    if items == 1:
        return ["One item: no standard deviation, no interval and no test."]
    found = []
    if single := [row.method for row in rows if row.n == 1]:
        found.append(f"With one score there is no spread and no interval: {', '.join(single)}.")
    if flat := [row.method for row in rows if row.n > 1 and row.std == 0]:
        found.append(f"All scores equal, so there is no interval: {', '.join(flat)}.")
    if items < 20:
        found.append(
            f"{items} items are few: on a scale of two or three levels, or with very skewed "
            "scores, intervals of means hold less often than stated."
        )
    return found


def _test_note(tests: Differences, items: int) -> str:
    ways = "exact" if tests.exact else "sampled"
    over = _count(tests.tests or len(tests.pairs), "pair")
    how = f"paired sign-flip test over items, {ways}, Holm-corrected over {over}"
    if tests.tests > len(tests.pairs):
        how += " of all tables"
    needed = fewest_items(max(tests.tests, 1), tests.alpha)
    if items < needed:
        return (
            f"With {items} items no difference, however large, could reach {tests.alpha:.0%} "
            f"({how}); {needed} items are the least: the groups say nothing here."
        )
    return (
        f"No significant difference at {tests.alpha:.0%} between methods that share a letter "
        f"({how}); rank intervals are from the same tests and hold for all methods together."
    )


def uneven_entries(entered: Mapping[str, int], tasks: int) -> str:
    """Return the warning for a table over all categories not entered by all methods alike."""
    part = [f"{method} {count} of {tasks}" for method, count in entered.items() if count < tasks]
    said = "Not every method was entered for every task, so these means are over different items"
    return f"{said}: {', '.join(part)}."


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
