"""Rank methods by pairwise comparisons: Bradley–Terry strengths with ties, and how sure they are.

A pair shown in both orders is one match: won where both orders agree, a tie where they do not. A
pair of which an order gave no verdict is left out and counted.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lmmscore.errors import LmmscoreError, counted
from lmmscore.leaderboard.cube import chosen_tasks
from lmmscore.leaderboard.ranking import (
    RankedTables,
    p_words,
    refuse_unless_level,
    small_print,
    two_places,
)
from lmmscore.records import percent
from lmmscore.scores import TIE, Comparison, Match, matches
from lmmscore.stats import FEWEST_FOR_AN_INTERVAL, SAME, Bools, Floats, Ints, as_json

# --------------------------------------------------------------------------------------------------
# The model: Bradley–Terry with ties after Davidson (1970).
#
# With strengths π and a tie parameter ν, of two methods the first wins with probability
# π₁ / (π₁ + π₂ + ν√(π₁π₂)), the second likewise, and the rest is a tie. Without ties ν is 0 and
# the model is Bradley and Terry's.
# --------------------------------------------------------------------------------------------------

PRIOR = 0.5
"""Wins added each way to every pair where there is no finite fit without them."""

_MOST_STEPS = 200
_CLOSE = 1e-10
_RIDGE = 1e-12
"""Keeps a step defined where rounding leaves nothing of the information."""


@dataclass(frozen=True, slots=True)
class Votes:
    """Comparisons one by one: the two methods, the item, and who won: 1, 0 for a tie, or −1."""

    first: Ints
    second: Ints
    item: Ints
    winner: Ints


def tally(votes: Votes, items: int, methods: int) -> tuple[Floats, Floats]:
    """Return each item's matrices of wins and of ties: `wins[i, a, b]` is how often a beat b.

    `ties` is symmetric, each tie standing in both halves.
    """
    wins = np.zeros((items, methods, methods))
    ties = np.zeros((items, methods, methods))
    tied = votes.winner == 0
    for sign, one, other in ((1, votes.first, votes.second), (-1, votes.second, votes.first)):
        won = votes.winner == sign
        np.add.at(wins, (votes.item[won], one[won], other[won]), 1.0)
        np.add.at(ties, (votes.item[tied], one[tied], other[tied]), 1.0)

    return wins, ties


def connected_groups(links: Floats) -> list[list[int]]:
    """Return the methods in groups that links join in both directions."""
    reached = _reached(links)
    both = reached & reached.T
    groups: list[list[int]] = []
    seen: set[int] = set()
    for method in range(len(both)):
        if method not in seen:
            group = [int(other) for other in np.flatnonzero(both[method])]
            seen.update(group)
            groups.append(group)

    return groups


def _reached(links: Floats) -> Bools:
    """Return which methods can be reached from which, for one matrix of links or many at once."""
    methods = links.shape[-1]
    reached = (links > 0) | np.eye(methods, dtype=bool)
    for middle in range(methods):
        reached |= reached[..., :, [middle]] & reached[..., [middle], :]
    return np.asarray(reached)


def has_finite_fit(wins: Floats, ties: Floats) -> Bools:
    """Tell for each data set whether its likelihood has a maximum at finite strengths.

    It has none where strengths can move for ever so that nothing that was seen becomes less
    likely: some methods never lost to the others; or the tie parameter grows along, which ties
    allow unless the results lead in a circle with more wins than ties (6 wins, no loss and 4 ties
    of two methods do not).
    """
    linked = _reached(wins + ties).all(axis=(1, 2))
    most = np.where(wins > 0, 1.0, np.where(ties > 0, -1.0, -np.inf))
    for middle in range(wins.shape[-1]):
        most = np.maximum(most, most[..., :, [middle]] + most[..., [middle], :])

    circle = np.diagonal(most, axis1=1, axis2=2).max(axis=1) > 0
    only_ties = ~wins.any(axis=(1, 2))
    return np.asarray(only_ties | (linked & circle))


def fit_finite(wins: Floats, ties: Floats) -> tuple[Floats, Floats, Bools]:
    """Fit data sets that link all methods; True where wins had to be added to keep them finite."""
    held = ~has_finite_fit(wins, ties)
    more = wins + PRIOR * held[:, None, None] * (1 - np.eye(wins.shape[1]))
    return *fit_many(more, ties), held


def fit_many(wins: Floats, ties: Floats) -> tuple[Floats, Floats]:
    """Fit many data sets at once: strengths and tie parameter of each, by maximum likelihood.

    Axes are data set, method, method, counts as in `tally`; each must have a finite fit. Strengths
    are log π, centred on 0. Where nothing was tied the tie parameter is 0; where nothing else
    happened it is infinite, and all strengths are equal.
    """
    count, methods = wins.shape[:2]
    games = wins + wins.transpose(0, 2, 1) + ties
    margin = (wins - wins.transpose(0, 2, 1)).sum(axis=2) / 2
    tied = ties.sum(axis=(1, 2)) / 2
    won = wins.sum(axis=(1, 2))
    some_tied, some_won = tied > 0, won > 0

    strengths = np.zeros((count, methods))
    log_tie = np.log(np.where(some_tied & some_won, 2 * tied / np.maximum(won, 1e-300), 1.0))
    for _ in range(_MOST_STEPS):
        tie = np.where(some_tied, np.exp(log_tie), 0.0)
        gradient, information = _newton_terms(strengths, tie, games, margin, tied)
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        # A damped Newton step: far from the optimum a full one could overshoot.
        longest = np.abs(step).max(axis=1)
        step *= np.minimum(1.0, 2.0 / np.maximum(longest, 1e-300))[:, None]
        step[~some_won] = 0.0
        strengths = strengths + step[:, :methods]
        strengths -= strengths.mean(axis=1, keepdims=True)
        log_tie = log_tie + np.where(some_tied, step[:, methods], 0.0)
        if float(np.abs(step).max()) < _CLOSE:
            break

    return strengths, np.where(some_tied, np.where(some_won, np.exp(log_tie), np.inf), 0.0)


def _newton_terms(
    strengths: Floats, tie: Floats, games: Floats, margin: Floats, tied: Floats
) -> tuple[Floats, Floats]:
    """Return gradient and information of every data set: the strengths, then the log of the tie
    parameter.

    Davidson's model is a multinomial logit in these, so its likelihood has a single maximum.
    """
    count, methods = strengths.shape
    half = (strengths[:, :, None] - strengths[:, None, :]) / 2
    win, loss = np.exp(half), np.exp(-half)
    total = win + loss + tie[:, None, None]
    lead, p_tie = (win - loss) / total, tie[:, None, None] / total

    gradient = np.zeros((count, methods + 1))
    gradient[:, :methods] = margin - (games * lead).sum(axis=2) / 2
    gradient[:, methods] = tied - (games * p_tie).sum(axis=(1, 2)) / 2

    variance = games * (1 - p_tie - lead**2) / 4
    information = np.zeros((count, methods + 1, methods + 1))
    own = np.arange(methods)
    # Adding a constant to all strengths changes nothing; the last term keeps their mean where it
    # is.
    information[:, :methods, :methods] = 1.0 / methods - variance
    information[:, own, own] += variance.sum(axis=2) + _RIDGE
    both = -(games * lead * p_tie).sum(axis=2) / 2
    information[:, :methods, methods] = both
    information[:, methods, :methods] = both
    spread = (games * p_tie * (1 - p_tie)).sum(axis=(1, 2)) / 2
    information[:, methods, methods] = np.where(spread > 0, spread, 1.0)
    return gradient, information


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How often the edit shown first was preferred, among comparisons that were not ties."""

    share: float | None
    first: int
    decided: int
    p: float | None
    """Two-sided, of an even chance (binomial, exact)."""


def position_bias(first_won: Sequence[int]) -> PositionBias:
    """Return the preference for the first place; 1 the first won, −1 the second, 0 a tie.

    Meaningful where each pair was shown in both orders, or in a random one.
    """
    won = sum(1 for one in first_won if one > 0)
    lost = sum(1 for one in first_won if one < 0)
    decided = won + lost
    if not decided:
        return PositionBias(None, 0, 0, None)
    return PositionBias(won / decided, won, decided, binomial_p(won, decided))


def binomial_p(successes: int, trials: int) -> float:
    """Return the exact two-sided p of an even chance."""
    from scipy.special import bdtrc

    far = max(successes, trials - successes)
    return min(1.0, 2 * float(bdtrc(far - 1, trials, 0.5)))


# --------------------------------------------------------------------------------------------------
# The tables of a run that compares pairs.
# --------------------------------------------------------------------------------------------------

FEW_ITEMS = 30
"""Items below which percentile intervals of strengths are too narrow."""

MOST_RESAMPLES = 2_000
"""Each is a fit of its own; more would not change what is printed."""


@dataclass(frozen=True, slots=True)
class PairRow:
    """One method."""

    method: str
    rank: int | None
    """None where the comparisons do not link all methods."""
    strength: float | None
    """The logarithm of the Bradley–Terry strength; the mean of all methods is 0."""
    strength_interval: tuple[float, float] | None
    """None where the strength is finite only by the wins that were added for the fit."""
    rank_interval: tuple[int, int] | None
    wins: int
    ties: int
    losses: int

    @property
    def matches(self) -> int:
        """How many of its matches have a result."""
        return self.wins + self.ties + self.losses

    @property
    def win_rate(self) -> float | None:
        """The share of its matches that it won, a tie counting one half."""
        return (self.wins + self.ties / 2) / self.matches if self.matches else None

    def as_dict(self) -> dict[str, Any]:
        """Return the method's figures by name, each end of an interval by itself."""
        strength = self.strength_interval or (None, None)
        rank = self.rank_interval or (None, None)
        return {
            "rank": self.rank,
            "method": self.method,
            "strength": self.strength,
            "strength_low": strength[0],
            "strength_high": strength[1],
            "rank_low": rank[0],
            "rank_high": rank[1],
            "win_rate": self.win_rate,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
        }


@dataclass(frozen=True, slots=True)
class PairTable:
    """The methods of one task category, or of all."""

    task: str | None
    rows: tuple[PairRow, ...]
    wins: Mapping[tuple[str, str], int]
    """How often the first method of a pair beat the second."""
    ties: Mapping[tuple[str, str], int]
    """How often two methods tied; each pair stands in it both ways."""
    items: int
    matches: int
    unscored: int
    """Matches that were planned and have no result."""
    inconsistent: int
    """Matches whose result depended on the order; they count as ties."""
    twice: int
    """Matches that were shown in both orders."""
    groups: tuple[tuple[str, ...], ...]
    """The methods that comparisons link; one group where all are linked."""
    tie: float | None
    """Davidson's ν: how readily equal methods tie; None where all matches did."""
    position: PositionBias
    swings: PositionBias
    """Of the inconsistent matches alone: whether they go to the place shown first or second."""
    level: float = 0.95
    """Of the intervals."""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def connected(self) -> bool:
        """Whether comparisons link all methods."""
        return len(self.groups) == 1

    @property
    def has_intervals(self) -> bool:
        """Whether strengths and ranks have intervals."""
        return any(row.rank_interval is not None for row in self.rows)

    def rate(self, one: str, other: str) -> float | None:
        """Return how often a method beat another, a tie counting one half."""
        won, lost = self.wins.get((one, other), 0), self.wins.get((other, one), 0)
        tied = self.ties.get((one, other), 0)
        played = won + lost + tied
        return (won + tied / 2) / played if played else None

    def records(self) -> list[dict[str, Any]]:
        """Return one flat line per method."""
        return [{"task": self.task, **row.as_dict()} for row in self.rows]

    def as_dict(self, decimals: int | None) -> dict[str, Any]:
        """Return the table for JSON."""
        names = [row.method for row in self.rows]
        data = {
            "task": self.task,
            "rows": [row.as_dict() for row in self.rows],
            "matrix": {one: {other: self.rate(one, other) for other in names} for one in names},
            "items": self.items,
            "matches": self.matches,
            "unscored": self.unscored,
            "inconsistent": self.inconsistent,
            "shown_in_both_orders": self.twice,
            "connected": self.connected,
            "groups": [list(group) for group in self.groups],
            "tie_parameter": self.tie,
            "position": _bias_dict(self.position),
            "inconsistent_by_place": _bias_dict(self.swings),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }
        return data if decimals is None else as_json(data, decimals)


def _bias_dict(bias: PositionBias) -> dict[str, Any]:
    return {
        "first": bias.first,
        "decided": bias.decided,
        "share_first": bias.share,
        "p": bias.p,
    }


@dataclass(frozen=True, slots=True)
class PairBoard(RankedTables[PairTable]):
    """The tables of a run that compares pairs."""

    def table(self, task: str | None = None) -> PairTable:
        """Return the table of a task category; None: over all. Raises KeyError without one."""
        for table in self.tables:
            if table.task == task:
                return table
        raise KeyError(f"no table for task {task!r}")

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it, the warnings above the figures."""
        warnings = [self.caution] if self.caution else []
        for table in self.tables:
            warnings += table.warnings

        parts = [f"<p>{html.escape(text)}</p>" for text in warnings]
        frame = self.to_frame()
        parts.append(frame.to_html(index=False, na_rep="–", float_format=two_places))
        return "".join([*parts, *small_print(self.notes)])


def rank_pairs(
    rows: Sequence[Comparison],
    *,
    methods: Sequence[str] = (),
    task: str | Sequence[str] | None = None,
    caution: str = "",
    level: float = 0.95,
    resamples: int = MOST_RESAMPLES,
    seed: int = 0,
) -> PairBoard:
    """Rank the methods of a pairs.csv, for each task category and over all of them.

    Strengths maximise the likelihood of Davidson's model; their intervals come from refits to items
    drawn with replacement, all comparisons of an item together.
    """
    if not rows:
        raise LmmscoreError("there are no comparisons to rank: the table is empty")

    refuse_unless_level(level)
    draws = min(resamples, MOST_RESAMPLES)
    tasks = list(dict.fromkeys(row.task for row in rows))
    found = []
    for name in _chosen(tasks, task):
        chosen = [row for row in rows if name is None or row.task == name]
        own = _methods_of(chosen, methods)
        found.append(_table(chosen, name, own, level, draws, np.random.default_rng(seed)))

    settings = {"level": level, "resamples": draws, "seed": seed}
    notes = (
        "Strengths: Bradley–Terry with ties (Davidson), on the log scale, their mean 0. "
        "Win rate: a tie counts one half.",
        *_interval_notes(found, level, draws, seed),
    )
    return PairBoard(tuple(found), notes, caution, settings)


def _methods_of(rows: Sequence[Comparison], order: Sequence[str]) -> list[str]:
    """Return the methods of some comparisons, in this order as far as it names them.

    A method that a category has no pair of was not entered for it, and unlinks nothing there.
    """
    seen: dict[str, None] = {}
    for row in rows:
        seen |= {row.method_a: None, row.method_b: None}

    named = [name for name in order if name in seen]
    return [*named, *(name for name in seen if name not in named)]


def _interval_notes(
    tables: Sequence[PairTable], level: float, draws: int, seed: int
) -> Iterator[str]:
    """Yield what the intervals are, where any table has them, and how far to trust them."""
    items = [table.items for table in tables if table.has_intervals]
    if not items:
        return

    yield (
        f"{percent(level)} intervals of strengths and ranks: {draws:,} bootstrap resamples of "
        f"items, percentiles, seed {seed}."
    )
    if min(items) < FEW_ITEMS:
        yield (
            f"With fewer than {FEW_ITEMS} items, intervals of strengths hold less often than "
            "stated: those of 95% in about 90% of cases with 10 items, 93% with 20."
        )


def _chosen(tasks: Sequence[str], wanted: str | Sequence[str] | None) -> list[str | None]:
    if wanted is None:
        return [*tasks, None] if len(tasks) > 1 else [None]
    return list(chosen_tasks(tasks, wanted))


def _table(
    rows: Sequence[Comparison],
    task: str | None,
    names: Sequence[str],
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> PairTable:
    every = matches(rows)
    decided = [match for match in every if match.winner]
    votes = _votes(decided, names)
    found = FittedStrengths.of(votes, len(names), resamples, rng)
    table = PairTable(
        task=task,
        rows=tuple(_rows(names, found, level)),
        wins=_counted(found.wins, names),
        ties=_counted(found.ties, names),
        items=len({(match.task, match.item) for match in every}),
        matches=len(decided),
        unscored=len(every) - len(decided),
        inconsistent=sum(not match.consistent for match in decided),
        twice=sum(len(match.shown) > 1 for match in decided),
        groups=tuple(tuple(names[place] for place in group) for group in found.groups),
        tie=found.tie if found.tie is not None and np.isfinite(found.tie) else None,
        position=position_bias([_place_of_winner(row) for row in rows if row.winner]),
        swings=position_bias([place for match in decided for place in _swing(match)]),
        level=level,
    )
    return _explained(table, found)


def _votes(decided: Sequence[Match], names: Sequence[str]) -> Votes:
    """Return the matches as arrays: both methods, the item, and who won."""
    number = {name: place for place, name in enumerate(names)}
    items: dict[tuple[str, str], int] = {}
    lines = []
    for match in decided:
        item = items.setdefault((match.task, match.item), len(items))
        lines.append((number[match.method_a], number[match.method_b], item, _sign(match)))

    first, second, item_codes, winner = np.array(lines, dtype=np.int64).reshape(-1, 4).T
    return Votes(first, second, item_codes, winner)


def _sign(match: Match) -> int:
    return {match.method_a: 1, match.method_b: -1}.get(match.winner, 0)


def _place_of_winner(row: Comparison) -> int:
    """Return 1 where the edit shown first won, −1 for the second, 0 for a tie."""
    if row.winner == TIE:
        return 0
    first = row.method_a if row.order == "ab" else row.method_b
    return 1 if row.winner == first else -1


def _swing(match: Match) -> list[int]:
    """Return the place that won both times, where another method stood in it each time."""
    places = {_place_of_winner(row) for row in match.shown}
    return [] if match.consistent or len(places) > 1 else list(places)


@dataclass(frozen=True, slots=True)
class FittedStrengths:
    """The model fitted to the comparisons, and again to resampled items."""

    wins: Floats
    ties: Floats
    items: int
    """How many items have results."""
    groups: list[list[int]]
    """The methods that comparisons link; strengths are None unless all are in one group."""
    strengths: Floats | None = None
    tie: float | None = None
    held: bool = False
    """Whether wins had to be added to keep the strengths finite."""
    resampled: Floats | None = None
    """Strengths of resampled items, a row each; NaN where a resample does not link the methods."""

    @property
    def unlinked(self) -> float:
        """The share of the resamples that do not link all methods."""
        return 0.0 if self.resampled is None else float(np.isnan(self.resampled[:, 0]).mean())

    @classmethod
    def of(
        cls, votes: Votes, methods: int, resamples: int, rng: np.random.Generator
    ) -> FittedStrengths:
        """Fit the model, where the comparisons link all methods."""
        items = int(votes.item.max(initial=-1)) + 1
        by_item = tally(votes, items, methods)
        wins, ties = (counts.sum(axis=0) for counts in by_item)
        groups = connected_groups(wins + wins.T + ties)
        if len(groups) > 1:
            return cls(wins, ties, items, groups)

        strengths, tie, held = fit_finite(wins[None], ties[None])
        resampled = _resampled(*by_item, resamples, rng) if items and resamples else None
        return cls(wins, ties, items, groups, strengths[0], float(tie[0]), bool(held[0]), resampled)


def _resampled(won: Floats, tied: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Return strengths refitted to items drawn with replacement, a row each."""
    items, methods = won.shape[:2]
    drawn = np.stack(
        [np.bincount(rng.integers(0, items, items), minlength=items) for _ in range(resamples)]
    ).astype(float)
    shape = (resamples, methods, methods)
    wins = (drawn @ won.reshape(items, -1)).reshape(shape)
    ties = (drawn @ tied.reshape(items, -1)).reshape(shape)

    found = np.full((resamples, methods), np.nan)
    linked = _reached(wins + wins.transpose(0, 2, 1) + ties).all(axis=(1, 2))
    if linked.any():
        found[linked] = fit_finite(wins[linked], ties[linked])[0]

    return found


def _rows(names: Sequence[str], found: FittedStrengths, level: float) -> list[PairRow]:
    """Return the methods' lines, the strongest first; by win rate where nothing was fitted."""
    strengths = found.strengths
    limits = _intervals(found, level)
    rows = []
    for place, name in enumerate(names):
        row = PairRow(
            method=name,
            rank=None,
            strength=None,
            strength_interval=None,
            rank_interval=None,
            wins=int(found.wins[place].sum()),
            ties=int(found.ties[place].sum()),
            losses=int(found.wins[:, place].sum()),
        )
        if strengths is not None:
            rank = 1 + int((strengths > strengths[place] + SAME).sum())
            row = replace(row, rank=rank, strength=float(strengths[place]))

        if limits is not None:
            low, high, best, worst = (ends[place] for ends in limits)
            row = replace(row, rank_interval=(int(best), int(worst)))
            # Added wins bound how far strengths can go: what they leave of an interval held the
            # true strength in none to two thirds of simulated cases. Ranks do not depend on it.
            if not found.held:
                row = replace(row, strength_interval=(float(low), float(high)))

        rows.append(row)

    return sorted(rows, key=_standing)


def _standing(row: PairRow) -> tuple[float, float, str]:
    strength = -row.strength if row.strength is not None else 0.0
    return strength, -(row.win_rate or 0.0), row.method


def _intervals(
    found: FittedStrengths, level: float
) -> tuple[Floats, Floats, Floats, Floats] | None:
    """Return the ends of strengths and of ranks over the resamples that link all methods.

    None for very few items, where most resamples do not link them, or none differs from another.
    """
    if found.resampled is None or found.items < FEWEST_FOR_AN_INTERVAL or found.unlinked > 0.5:
        return None

    known = found.resampled[~np.isnan(found.resampled).any(axis=1)]
    # Where every resample is the same, a spread of 0 is no sign that there is none.
    if np.ptp(known, axis=0).max() <= SAME:
        return None

    tail = (1 - level) / 2
    low, high = np.quantile(known, [tail, 1 - tail], axis=0)
    ranks = 1 + (known[:, None, :] > known[:, :, None] + SAME).sum(axis=2)
    best = np.quantile(ranks, tail, axis=0, method="lower")
    worst = np.quantile(ranks, 1 - tail, axis=0, method="higher")
    return low, high, best, worst


def _counted(matrix: Floats, names: Sequence[str]) -> dict[tuple[str, str], int]:
    found = {}
    for place, one in enumerate(names):
        for other_place, other in enumerate(names):
            if matrix[place, other_place]:
                found[one, other] = int(matrix[place, other_place])
    return found


def _explained(table: PairTable, found: FittedStrengths) -> PairTable:
    """Return the table with what a reader must know before the figures, and what explains them."""
    warnings, notes = [], []
    if not table.connected:
        groups = "; ".join(", ".join(group) for group in table.groups)
        warnings.append(
            f"The comparisons do not link all methods ({groups}), so they cannot be ranked "
            "together: compare methods of different groups with each other."
        )
    elif found.held:
        notes.append(
            "Some methods never lost to some others, which would make strengths infinite: "
            f"{PRIOR:g} wins each way were added to every pair for the fit, and strengths have no "
            "interval."
        )

    if found.tie == np.inf:
        notes.append("All matches were ties, so all strengths are equal and ν has no finite value.")

    if found.resampled is not None and not table.has_intervals:
        warnings.append(f"No intervals: {_why_no_intervals(found)}.")
    elif found.unlinked:
        notes.append(
            f"{percent(found.unlinked)} of the resamples of items do not link all methods: the "
            "intervals are over the others."
        )

    if table.unscored:
        planned = table.matches + table.unscored
        warnings.append(f"{table.unscored} of {planned} matches have no result and are left out.")

    if table.twice:
        share = percent(table.inconsistent / table.twice)
        notes.append(
            f"{table.inconsistent} of {table.twice} matches shown in both orders ({share}) "
            "ended differently in the two; they count as ties."
        )

    notes += position_notes(table)
    return replace(table, warnings=tuple(warnings), notes=tuple(notes))


def _why_no_intervals(found: FittedStrengths) -> str:
    if found.items < FEWEST_FOR_AN_INTERVAL:
        return f"{counted(found.items, 'item')} with results cannot show how they vary"
    if found.unlinked > 0.5:
        return f"{percent(found.unlinked)} of the resamples of items do not link all methods"
    return "every resample of items that links all methods gives the same strengths"


def position_notes(table: PairTable) -> list[str]:
    """Return whether the position of an edit decided; nothing where no pair was decided."""
    bias, swings = table.position, table.swings
    if bias.share is None:
        return []

    said = f"The edit shown first was preferred in {bias.first} of {bias.decided} verdicts"
    said += f" that were not ties ({percent(bias.share)})"
    if not table.twice:
        return [f"Position: {said} ({p_words(bias.p)})."]
    if not swings.decided:
        return [f"Position: {said}; no match followed the place rather than the edit."]

    second = swings.decided - swings.first
    return [
        f"Position: {said}; of the matches that followed the place, {swings.first} went to the "
        f"first and {second} to the second ({p_words(swings.p)})."
    ]
