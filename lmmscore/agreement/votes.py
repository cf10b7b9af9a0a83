"""How often a judge's verdicts on pairs are those of human raters.

People vote on the same pairs, or rate the edits one by one: then the higher mean rating wins the pair. A
tie that says how good both are is told apart from others, as the published accuracies do.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmmscore.comparisons import TIE, Comparison, Match, matches
from lmmscore.errors import FileProblem
from lmmscore.stats.arrays import SAME
from lmmscore.tables import read_tables

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[str, str, str]
"""Item and two methods, these in alphabetical order."""

_BOTH_GOOD = frozenset(("tievote", "bothgood", "tie good", "both good", "good"))
_BOTH_BAD = frozenset(("bothbad_vote", "bothbad", "tie bad", "both bad", "bad", "tie (bothbad)"))
_TIES = frozenset((TIE, "draw", "equal", "both", "neither"))


@dataclass(frozen=True, slots=True)
class VoteAgreement:
    """Two series of verdicts on the same pairs, compared."""

    counts: Mapping[tuple[str, str], int]
    """How often a human verdict met a judge's: `first`, `second`, `tie`, `good` or `bad` each."""
    unread: int = 0
    """Human verdicts on pairs of which the judge's could not be read; not among the counts."""

    @property
    def n(self) -> int:
        """How many pairs have both verdicts."""
        return sum(self.counts.values())

    @property
    def accuracy(self) -> float | None:
        """The share of pairs with the same verdict, both kinds of tie told apart."""
        same = sum(count for (human, judge), count in self.counts.items() if human == judge)
        return same / self.n if self.n else None

    @property
    def chance(self) -> float | None:
        """The accuracy of a judge who gives its verdicts as often as it does, but at random."""
        if not self.n:
            return None
        human: Counter[str] = Counter()
        judge: Counter[str] = Counter()
        for (said, heard), count in self.counts.items():
            human[said] += count
            judge[heard] += count
        return sum(human[verdict] * judge[verdict] for verdict in human) / self.n**2

    @property
    def interval(self) -> tuple[float, float] | None:
        """A 95% interval of the accuracy (Wilson)."""
        return None if self.accuracy is None else wilson(self.accuracy, self.n)

    def without_ties(self) -> VoteAgreement:
        """Return the agreement on pairs that both decided."""
        decided = ("first", "second")
        kept = {pair: count for pair, count in self.counts.items() if {*pair} <= {*decided}}
        return VoteAgreement(kept)

    def with_one_tie(self) -> VoteAgreement:
        """Return the agreement with all kinds of tie taken as one."""
        merged: Counter[tuple[str, str]] = Counter()
        for (human, judge), count in self.counts.items():
            merged[_plain(human), _plain(judge)] += count
        return VoteAgreement(merged, self.unread)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        table: dict[str, dict[str, int]] = defaultdict(dict)
        for (human, judge), count in sorted(self.counts.items()):
            table[human][judge] = count
        one, decided = self.with_one_tie(), self.without_ties()
        return {
            "n": self.n,
            "unread": self.unread,
            "accuracy": self.accuracy,
            "interval": self.interval,
            "chance": self.chance,
            "ties_as_one": {"accuracy": one.accuracy, "chance": one.chance},
            "decided": {"n": decided.n, "accuracy": decided.accuracy, "interval": decided.interval},
            "human_by_judge": dict(table),
        }


def _plain(verdict: str) -> str:
    return verdict if verdict in ("first", "second") else TIE


def wilson(share: float, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Return Wilson's interval of a share of n."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def compare_votes(pairs: Iterable[tuple[str, str]]) -> VoteAgreement:
    """Return the agreement of (human, judge) verdicts; an empty one of the judge's was not read."""
    counts: Counter[tuple[str, str]] = Counter()
    unread = 0
    for human, judge in pairs:
        if judge:
            counts[human, judge] += 1
        else:
            unread += 1
    return VoteAgreement(counts, unread)


def agree_on_pairs(
    rows: Sequence[Comparison], human: Mapping[Pair, Sequence[str]]
) -> VoteAgreement:
    """Return how often the judge's matches end as people's votes; every vote counts by itself.

    `human` holds verdicts by pair: a method's name, `tie`, `good` or `bad`.
    """
    told: list[tuple[str, str]] = []
    for match in matches(rows):
        first, second = sorted((match.method_a, match.method_b))
        judged = _placed(_said(match), match)
        votes = human.get((match.item, first, second), ())
        told += [(_placed(vote, match), judged) for vote in votes]
    return compare_votes(told)


def _said(match: Match) -> str:
    """Return the judge's verdict; a tie is good or bad only where every order said so."""
    kinds = {row.both for row in match.shown}
    if match.winner == TIE and match.consistent and len(kinds) == 1:
        return next(iter(kinds)) or TIE
    return match.winner


def _placed(verdict: str, match: Match) -> str:
    return {match.method_a: "first", match.method_b: "second"}.get(verdict, verdict)


def read_votes(path: Path) -> dict[Pair, list[str]] | None:
    """Return people's votes by pair; None where the file holds no votes (but perhaps ratings).

    A table with the columns item, method_a, method_b and winner: a method's name, `method_a` or
    `method_b`, `tie`, `both good` or `both bad`. Several lines about a pair are several voters.
    """
    found: dict[Pair, list[str]] = {}
    for table in read_tables(path):
        columns = {name.casefold(): name for name in table.columns}
        if not {"item", "method_a", "method_b", "winner"} <= set(columns):
            return None
        for number, row in enumerate(table.rows, 1):
            cells = {key: str(row.get(name) or "").strip() for key, name in columns.items()}
            vote = _vote(cells, f"{path}, row {number}")
            first, second = sorted((cells["method_a"], cells["method_b"]))
            found.setdefault((cells["item"], first, second), []).append(vote)
    return found


def _vote(cells: Mapping[str, str], where: str) -> str:
    said = cells["winner"]
    sides = {"method_a": cells["method_a"], "method_b": cells["method_b"]}
    sides |= {"leftvote": cells["method_a"], "rightvote": cells["method_b"]}
    if said in sides.values():
        return said
    folded = said.casefold()
    if folded in sides:
        return sides[folded]
    if folded in _BOTH_GOOD:
        return "good"
    if folded in _BOTH_BAD:
        return "bad"
    if folded in _TIES:
        return TIE
    raise FileProblem(
        f"{where}: winner {said!r} is neither {cells['method_a']} nor {cells['method_b']}, nor a tie"
    )


def votes_of_ratings(ratings: pd.DataFrame, factor: str) -> dict[Pair, list[str]]:
    """Return the verdicts that ratings imply: of two edits of an item, the higher mean wins."""
    chosen = ratings[ratings["factor"] == factor]
    means = chosen.groupby(["item", "method"], as_index=False)["score"].mean()
    by_item: dict[str, list[tuple[str, float]]] = {}
    for item, method, score in zip(means["item"], means["method"], means["score"], strict=True):
        by_item.setdefault(str(item), []).append((str(method), float(score)))
    found: dict[Pair, list[str]] = {}
    for item, rated in by_item.items():
        for (first, one), (second, other) in combinations(sorted(rated), 2):
            winner = TIE if abs(one - other) < SAME else first if one > other else second
            found[item, first, second] = [winner]
    return found
