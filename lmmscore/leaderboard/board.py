"""What a leaderboard is: tables of rows with their uncertainty, the differences they rest on,
and the sentences that belong around them.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from lmmscore.interval_chart import Whisker, draw
from lmmscore.stats.arrays import SAME, Floats, Ints, Limits, item_weights, rounded
from lmmscore.stats.jackknife import mean_limits
from lmmscore.stats.permutation import (
    EXACT_UP_TO,
    fewest_items,
    holm,
    letters,
    rank_limits,
    sign_flip_p,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher one method scored than another on the items both have."""

    first: str
    second: str
    n: int
    difference: float | None
    interval: Limits | None
    p: float | None
    """Two-sided, of the permutation test; None without an item in common."""
    p_holm: float | None
    """The same, corrected for all the pairs of the table."""
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class Differences:
    """Every pair of a table's methods, in the order of the table."""

    methods: tuple[str, ...]
    pairs: tuple[Difference, ...]
    exact: bool
    """Whether every sign pattern was tried."""
    alpha: float = 0.05
    tests: int = 0
    """How many tests the correction is for: the pairs of this table, or of several."""
    flips: bool = True
    """Whether signs were flipped: then few items cannot be significant, however large the lead."""

    def significant(self) -> list[Difference]:
        """Return the pairs with a significant difference."""
        return [d for d in self.pairs if d.p_holm is not None and d.p_holm <= self.alpha]

    @property
    def items(self) -> int:
        """The most items that any two methods have in common."""
        return max((d.n for d in self.pairs), default=0)

    @property
    def fewest_items(self) -> int:
        """Items with which any of the tests could be significant at all."""
        if not self.flips:
            return 0
        return fewest_items(max(self.tests, len(self.pairs), 1), self.alpha)

    def won(self) -> set[tuple[str, str]]:
        """Return the winner and the loser of every significant difference."""
        found = set()
        for d in self.significant():
            ahead = d.difference is not None and d.difference > 0
            found.add((d.first, d.second) if ahead else (d.second, d.first))
        return found

    def better_than(self, method: str) -> list[str]:
        """Return the methods that are significantly ahead of one."""
        won = self.won()
        return [name for name in self.methods if (name, method) in won]

    def groups(self) -> dict[str, str]:
        """Return each method's letters: between those that share one nothing is significant."""
        apart = {(d.first, d.second) for d in self.significant()}
        limits = self.rank_intervals()
        # Letters follow the comparisons, not the means: with missing scores the two may differ.
        names = sorted(self.methods, key=lambda method: limits[method])
        return letters(names, apart)

    def rank_intervals(self) -> dict[str, tuple[int, int]]:
        """Return the ranks that the significant differences leave open for each method."""
        return rank_limits(list(self.methods), self.won())

    def contradictions(self) -> list[Difference]:
        """Return the pairs whose order by mean is the opposite of their paired difference.

        The methods stand by mean, best first, so the first of a pair has the higher mean. Only
        missing scores can make its paired difference negative.
        """
        return [d for d in self.pairs if d.difference is not None and d.difference < -SAME]

    def win_matrix(self) -> list[list[int | None]]:
        """Return on how many items the method of a row won against that of a column."""
        at = {method: i for i, method in enumerate(self.methods)}
        matrix: list[list[int | None]] = [[None] * len(self.methods) for _ in self.methods]
        for d in self.pairs:
            matrix[at[d.first]][at[d.second]] = d.wins
            matrix[at[d.second]][at[d.first]] = d.losses
        return matrix

    def as_list(self, decimals: int | None = None) -> list[dict[str, Any]]:
        """Return the pairs for JSON."""
        found = []
        for d in self.pairs:
            limits = None
            if d.interval:
                limits = [rounded(end, decimals) for end in d.interval]
            line = {
                "first": d.first,
                "second": d.second,
                "difference": rounded(d.difference, decimals),
                "interval": limits,
                "p": rounded(d.p, None),
                "p_holm": rounded(d.p_holm, None),
                "n": d.n,
                "wins": d.wins,
                "ties": d.ties,
                "losses": d.losses,
            }
            found.append(line)
        return found


def differences(
    values: Floats,
    methods: Sequence[str],
    *,
    strata: Ints | None,
    level: float,
    draws: int,
    rng: np.random.Generator,
) -> Differences:
    """Compare every two methods of an item × method array on the items both have.

    `strata` is the task of each item where the mean is over tasks, else None. `draws` is how many
    sign patterns are drawn where not all of them can be tried. Not yet corrected: see `corrected`.
    """
    pairs = list(combinations(range(len(methods)), 2))
    p_values = sign_flip_p(values, pairs, strata, draws=draws, rng=rng)
    found = []
    for (a, b), p in zip(pairs, p_values, strict=True):
        gaps = values[:, a] - values[:, b]
        found.append(_difference(methods[a], methods[b], gaps, strata, level, float(p)))
    return Differences(
        methods=tuple(methods),
        pairs=tuple(found),
        exact=len(values) <= EXACT_UP_TO,
        alpha=round(1 - level, 12),
    )


def _difference(
    first: str, second: str, gaps: Floats, strata: Ints | None, level: float, p: float
) -> Difference:
    known = gaps[np.isfinite(gaps)]
    shared = len(known) > 0
    mean = float(np.nansum(gaps * item_weights(gaps[:, None], strata)[:, 0]))
    return Difference(
        first=first,
        second=second,
        n=len(known),
        difference=mean if shared else None,
        interval=mean_limits(gaps, strata, level=level),
        p=p if shared else None,
        p_holm=None,
        wins=int((known > SAME).sum()),
        ties=int((np.abs(known) <= SAME).sum()),
        losses=int((known < -SAME).sum()),
    )


def corrected(tables: Sequence[Differences]) -> list[Differences]:
    """Return the tables with p-values corrected by Holm over the pairs of all of them together."""
    raw = [d.p for table in tables for d in table.pairs if d.p is not None]
    adjusted = iter(holm(np.array(raw, dtype=np.float64)))
    found = []
    for table in tables:
        pairs = []
        for d in table.pairs:
            p_holm = None if d.p is None else float(next(adjusted))
            pairs.append(replace(d, p_holm=p_holm))
        found.append(replace(table, pairs=tuple(pairs), tests=len(raw)))
    return found


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One method's line. A figure that the data cannot give is None, never 0 and never NaN."""

    rank: int | None
    """1 + the number of methods with a higher mean; ties share it. None when no edit was scored."""
    method: str
    mean: float | None
    std: float | None
    """Sample standard deviation over items; None with fewer than two."""
    n: int
    """Items the mean is over."""
    coverage: float
    """Share of the judgements asked for (edits × repeats) that gave a score."""
    factors: Mapping[str, float | None]
    """Mean of each factor, over the same items as far as they are scored."""
    mean_interval: Limits | None = None
    rank_interval: tuple[int, int] | None = None
    """Ranks that the significant differences leave open, right for all methods together."""
    rank_range: tuple[int, int] | None = None
    """Best and worst rank, whatever the missing scores would have been."""
    group: str = ""
    """Letters: between two methods that share one there is no significant difference."""
    items: int = 0
    """Items this method was entered for."""
    common_mean: float | None = None
    """Mean over the items that every ranked method has a score for; None where all have all."""


@dataclass(frozen=True, slots=True)
class BoardTable:
    """The methods ranked on one factor in one task category,
    or over all of them (`task` is None)."""

    task: str | None
    factor: str
    rows: tuple[BoardRow, ...]
    caption: str
    """Which mean this is, over how many items, and how missing scores were treated."""
    rule: str = ""
    """The part of the caption that is the same for all tables of a leaderboard."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before the figures: missing scores first."""
    notes: tuple[str, ...] = ()
    """What the data cannot say: few items, equal scores, one method."""
    differences: Differences | None = None
    holes: int = 0
    """Judgements without a score."""
    common_items: int | None = None
    """Items that every ranked method has a score for; None where nothing is missing."""
    among: tuple[str, ...] = ()
    """The task categories a table without a task is over, where it is not all of them."""

    def row(self, method: str) -> BoardRow:
        """Return the line of `method`."""
        return next(row for row in self.rows if row.method == method)

    @property
    def verdict(self) -> str:
        """One sentence: who is first, and over whom that is significant."""
        ranked = [row for row in self.rows if row.rank is not None]
        if not ranked:
            return "No edit was scored: nothing can be ranked."

        first, *others = [row.method for row in ranked]
        if not others:
            return f"{first} is the only method with scores."

        leaders = [row.method for row in ranked if row.rank == 1]
        tests = self.differences
        if tests is not None and (better := tests.better_than(leaders[-1])):
            # Only missing scores can do this: the higher mean is over other items.
            said = f"{listed(leaders)} {'has' if len(leaders) == 1 else 'have'} the highest mean"
            scores = "scores" if len(better) == 1 else "score"
            return (
                f"{said}, but {listed(better)} {scores} significantly higher on the items both "
                "have: the missing scores decide who is first."
            )
        if len(leaders) > 1:
            return f"{listed(leaders)} share the first rank."
        if tests is None:
            return f"{first} has the highest mean; no differences were tested."
        if tests.items < tests.fewest_items:
            few = f"{count(tests.items, 'item')} {'is' if tests.items == 1 else 'are'} too few"
            return f"{first} has the highest mean; {few} for any difference to be significant."
        return _lead(first, others, tests)


_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def _lead(first: str, others: Sequence[str], tests: Differences) -> str:
    """Return over whom the first method's lead is significant."""
    won = tests.won()
    close = [name for name in others if (first, name) not in won]
    if not close:
        return f"{first} ranks first, significantly ahead of all others."
    if len(close) == len(others):
        return f"{first} has the highest mean, but is not significantly ahead of any other method."

    top = {first, *close}
    apart = any({*pair} <= top for pair in won)
    if close == list(others[: len(close)]) and not apart:
        many = _NUMBERS.get(len(top), str(len(top)))
        return f"{first} ranks first; no significant difference among the first {many}."
    return f"{first} ranks first, but not significantly ahead of {listed(close)}."


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The tables of a run. `to_frame()` is tidy, `as_dict()` the JSON;
    lmmscore.report renders the rest."""

    tables: tuple[BoardTable, ...]
    notes: tuple[str, ...] = ()
    caution: str = ""
    """What the judge's own limits mean for every figure here; shown with every table."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Weights, missing rule, average, resamples, seed:
    what these figures depend on besides the scores."""

    def table(self, task: str | None = None, factor: str | None = None) -> BoardTable:
        """Return the table of a task category (None: over all)
        and a factor (None: the first there is)."""
        for table in self.tables:
            if table.task == task and factor in (None, table.factor):
                return table
        raise KeyError(f"no table for task {task!r}, factor {factor!r}")

    def to_frame(self) -> pd.DataFrame:
        """Return one line per table and method, with intervals as low and high columns."""
        import pandas as pd

        lines = [flat(table, row) for table in self.tables for row in table.rows]
        return pd.DataFrame(lines)

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the JSON object: `{"tables": [{"task", "rows": [...]}]}` and what explains it."""
        return {
            "tables": [_table_dict(table, decimals) for table in self.tables],
            "notes": list(self.notes),
            "caution": self.caution,
            "settings": dict(self.settings),
        }

    def to_json(self, decimals: int | None = None) -> str:
        """Return the same as text."""
        return json.dumps(self.as_dict(decimals), ensure_ascii=False, indent=2) + "\n"

    def _repr_html_(self) -> str:
        """Return the tables as a notebook shows them, the warnings above the figures."""
        parts = [f"<p><strong>{html.escape(self.caution)}</strong></p>"] if self.caution else []
        frame = self.to_frame()
        for table in self.tables:
            chosen = frame[(frame["factor"] == table.factor)]
            chosen = chosen[
                chosen["task"].isna() if table.task is None else chosen["task"] == table.task
            ]
            parts += [f"<p>{html.escape(text)}</p>" for text in (*table.warnings, table.caption)]
            shown = chosen.drop(columns=["task", "factor"])
            parts.append(shown.to_html(index=False, na_rep="–", float_format="{:.2f}".format))
            marks = [
                Whisker(row.method, row.mean, *(row.mean_interval or (None, None)))
                for row in table.rows
            ]
            parts.append(draw(marks, f"Means with their intervals: {table.caption}"))
            parts += [f"<p><small>{html.escape(text)}</small></p>" for text in table.notes]
        return "\n".join(
            parts + [f"<p><small>{html.escape(text)}</small></p>" for text in self.notes]
        )


def flat(table: BoardTable, row: BoardRow) -> dict[str, Any]:
    """Return a row as one flat line. A factor that is called like a column of ours is marked
    as a factor."""
    mean, rank, holes = row.mean_interval, row.rank_interval, row.rank_range
    lead = {
        "task": table.task,
        "factor": table.factor,
        "rank": row.rank,
        "method": row.method,
        "mean": row.mean,
        "std": row.std,
        "n": row.n,
        "coverage": row.coverage,
    }
    rest = {
        "mean_low": mean[0] if mean else None,
        "mean_high": mean[1] if mean else None,
        "rank_low": rank[0] if rank else None,
        "rank_high": rank[1] if rank else None,
        "rank_best": holes[0] if holes else None,
        "rank_worst": holes[1] if holes else None,
        "group": row.group,
        "common_mean": row.common_mean,
    }
    taken = {*lead, *rest}
    factors = {
        f"factor_{name}" if name in taken else name: value for name, value in row.factors.items()
    }
    return {**lead, **factors, **rest}


def _table_dict(table: BoardTable, decimals: int | None) -> dict[str, Any]:
    return {
        "task": table.task,
        "factor": table.factor,
        **({"among": list(table.among)} if table.among else {}),
        "verdict": table.verdict,
        "caption": table.caption,
        "warnings": list(table.warnings),
        "notes": list(table.notes),
        "common_items": table.common_items,
        "rows": [_row_dict(row, decimals) for row in table.rows],
        "differences": table.differences.as_list(decimals) if table.differences else [],
    }


def _row_dict(row: BoardRow, decimals: int | None) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "method": row.method,
        "mean": rounded(row.mean, decimals),
        "std": rounded(row.std, decimals),
        "n": row.n,
        "coverage": rounded(row.coverage, decimals),
        "factors": {name: rounded(value, decimals) for name, value in row.factors.items()},
        "mean_interval": [rounded(end, decimals) for end in row.mean_interval]
        if row.mean_interval
        else None,
        "rank_interval": list(row.rank_interval) if row.rank_interval else None,
        "rank_range": list(row.rank_range) if row.rank_range else None,
        "group": row.group,
        "items": row.items,
        "common_mean": rounded(row.common_mean, decimals),
    }


VERY_FEW_ITEMS = 5
MANY_ITEMS = 75
"""Items from which on the mean of skewed scores is near enough to normal."""

NAMED = 3
"""Contradictions that are told one by one; the others are counted."""


def table_caption(
    factor: str, *, task: str | None, items: int, tasks: int, average: str, rule: str
) -> str:
    """Return which mean the table shows and over what, then the rule by which it is derived."""
    over = f"over {count(items, 'item')}"
    if task is None:
        categories = count(tasks, "task category", "task categories")
        over += f" of {categories}"
        if average == "tasks":
            over = f"over {categories}, each the mean of its items"
    return f"Mean {factor} {over}; {rule}."


def table_rule(*, repeats: int, missing: str, lowest: float) -> str:
    """Return what is done before averaging, what the spread is over,
    and the rule for missing scores."""
    first = f"an edit's {repeats} repeats averaged first; " if repeats > 1 else ""
    return f"{first}std over items; {missing_rule(missing, lowest)}"


def missing_rule(missing: str, lowest: float | None) -> str:
    """Return what is done with missing scores; `lowest` is None where factors differ in it."""
    if missing == "exclude":
        return "missing scores excluded (--missing exclude)"
    value = "the lowest score of the factor"
    if lowest is not None:
        value = f"{lowest:g}, the lowest score"
    return f"missing scores counted as {value} (--missing {missing})"


def missing_warning(
    missing: int, asked: int, reasons: Mapping[str, int], rows: Sequence[BoardRow]
) -> str:
    """Return the sentence above a table with missing scores."""
    why = ", ".join(f"{count} {outcome}" for outcome, count in reasons.items() if count)
    short = [f"{row.method} {percent(row.coverage)}" for row in rows if row.coverage < 1]
    rest = "; all others in full" if len(short) < len(rows) else ""
    total = count(asked, "judgement")
    return f"{missing} of {total} gave no score ({why}). Scored: {', '.join(short)}{rest}."


def left_out_note(factor: str, edits: int, of: int) -> str:
    """Return how many edits a factor does not count for."""
    return (
        f"{factor} was left out for {edits} of {count(of, 'edit')}: not asked of their items, or "
        "said "
        "not to apply. It does not count there, and is no missing score."
    )


def percent(share: float) -> str:
    """Return a share in percent, rounded; only all of it is 100%, and only none of it is 0%."""
    tenths = round(share * 1000)
    if tenths == 1000 and share < 1 - SAME:
        return ">99.9%"
    if tenths == 0 and share > SAME:
        return "<0.1%"
    whole, rest = divmod(tenths, 10)
    return f"{whole}.{rest}%" if rest else f"{whole}%"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return names as a sentence lists them: `a`, `a and b`, `a, b and c`."""
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(names) - most + 1} others"]
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


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
        f"{count(d.n, 'item')} both have ({p})"
    )


def common_note(items: int, methods: int) -> str:
    """Return what the means over common items are over."""
    if not items:
        return (
            f"No item has a score of all {methods} methods, so there is no mean over common items."
        )
    return f"Common mean: over the {count(items, 'item')} scored for all {methods} methods."


def table_notes(
    rows: Sequence[BoardRow], items: int, tests: Differences | None, skewed: Sequence[str] = ()
) -> list[str]:
    """Return what a reader must know about thin data, in plain words.

    `skewed` are the methods whose scores are so skewed that Student's t is too sure of itself.
    """
    ranked = [row for row in rows if row.mean is not None]
    if not ranked:
        return ["No edit was scored: there is nothing to rank."]

    found = []
    if len(ranked) == 1:
        found.append("One method: there is nothing to rank it against.")
    elif len({row.rank for row in ranked}) == 1:
        found.append("All methods have the same mean: they share rank 1.")
    found += _few(ranked, items, skewed)
    if unscored := [row.method for row in rows if row.mean is None]:
        found.append(f"Without any score, and so without a rank: {', '.join(unscored)}.")
    if tests is not None and tests.pairs and items > 1:
        found.append(_test_note(tests, items))
    return found


def _few(rows: Sequence[BoardRow], items: int, skewed: Sequence[str]) -> list[str]:
    if items == 1:
        return ["One item: no standard deviation, no interval and no test."]
    found = []
    if single := [row.method for row in rows if row.n == 1]:
        found.append(f"With one score there is no spread and no interval: {', '.join(single)}.")
    if flat := [row.method for row in rows if row.n > 1 and row.std == 0]:
        found.append(f"All scores equal, so there is no interval: {', '.join(flat)}.")
    if items < VERY_FEW_ITEMS:
        found.append(f"{items} items are very few: nothing here can be concluded from them.")
    elif skewed and items < MANY_ITEMS:
        found.append(
            f"With {items} items, intervals of means hold less often than stated where scores are "
            f"skewed: {listed(skewed)}."
        )
    return found


def _test_note(tests: Differences, items: int) -> str:
    ways = "exact" if tests.exact else "sampled"
    over = count(tests.tests or len(tests.pairs), "pair")
    how = f"paired sign-flip test over items, {ways}, Holm-corrected over {over}"
    if tests.tests > len(tests.pairs):
        how += " of all tables"
    needed = tests.fewest_items
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


def count(number: int, noun: str, plural: str = "") -> str:
    """Return `1 item`, `2 items`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
