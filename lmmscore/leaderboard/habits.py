"""A judge's habits: ties, use of the scale, slips, repairs, refusals, and method names in replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.leaderboard.cube import codes_of
from lmmscore.leaderboard.resampling import TIE
from lmmscore.leaderboard.tables import rounded
from lmmscore.records import Outcome


@dataclass(frozen=True, slots=True)
class ScaleUse:
    """How a judge uses the numbers of one factor."""

    factor: str
    n: int
    lowest: float | None
    highest: float | None
    mean: float | None
    std: float | None
    distinct: int
    commonest: float | None
    commonest_share: float | None
    counts: Mapping[str, int]
    """How often each number occurs; empty where there are more than 100 different ones."""
    sessions: int
    """Sessions in which at least two edits were scored."""
    tied_sessions: int
    """Sessions in which at least two edits have the same score."""
    pairs: int
    tied_pairs: int


@dataclass(frozen=True, slots=True)
class Habits:
    """What the scores and the sessions tell about the judge."""

    scale: tuple[ScaleUse, ...]
    outcomes: Mapping[str, int]
    """Edits × repeats by outcome."""
    sessions: int | None = None
    """Sessions on record; None where only the scores are known, and then the next three are unknown too."""
    repairs: int | None = None
    slips: int | None = None
    names: Mapping[str, int] | None = field(default=None)
    """Method names found in replies, with the number of sessions they occur in."""

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the habits for JSON."""
        return {
            "scale": [_scale_dict(use, decimals) for use in self.scale],
            "outcomes": dict(self.outcomes),
            "sessions": self.sessions,
            "repairs": self.repairs,
            "slips": self.slips,
            "names_in_replies": dict(self.names) if self.names is not None else None,
        }


def _scale_dict(use: ScaleUse, decimals: int | None) -> dict[str, Any]:
    plain = {name: getattr(use, name) for name in ScaleUse.__slots__}
    return {
        name: rounded(value, decimals) if isinstance(value, float) else value
        for name, value in plain.items()
    } | {"counts": dict(use.counts)}


def habits(scores: pd.DataFrame, sessions: Iterable[Mapping[str, Any]] | None) -> Habits:
    """Return a judge's habits from the tidy scores and, where there are any, the records of the sessions.

    A session's record may have `repairs` (a number or a list), `slips` (the same) and `names` (method names
    found in a reply).
    """
    factors = [str(name) for name in pd.unique(scores["factor"])]
    use = tuple(scale_use(scores[scores["factor"] == name], name) for name in factors)
    outcomes = _outcomes(scores, factors)
    if sessions is None:
        return Habits(use, outcomes)
    count, repairs, slips, names = 0, 0, 0, Counter[str]()
    for record in sessions:
        count += 1
        repairs += _how_many(record.get("repairs"))
        slips += _how_many(record.get("slips"))
        names.update(set(map(str, record.get("names") or ())))
    return Habits(use, outcomes, count, repairs, slips, names)


def _how_many(value: Any) -> int:
    return len(value) if isinstance(value, list | tuple | dict) else int(value or 0)


def _outcomes(scores: pd.DataFrame, factors: list[str]) -> dict[str, int]:
    if "outcome" not in scores.columns or not factors:
        return {}
    # One line per edit and repeat: all factors of an edit come from one reply, and the first stands for them.
    key = [name for name in ("task", "item", "method", "repeat") if name in scores.columns]
    worst = scores.assign(good=scores["outcome"] == Outcome.SCORED.value).sort_values(
        "good", kind="stable"
    )
    edits = worst.drop_duplicates(key)
    return {str(name): int(n) for name, n in edits["outcome"].astype(str).value_counts().items()}


def scale_use(scores: pd.DataFrame, factor: str) -> ScaleUse:
    """Return how the numbers of one factor are used, and how often edits of a session tie on it."""
    known = scores[scores["score"].notna()]
    value = np.round(known["score"].to_numpy(dtype=np.float64), 9)
    numbers, counts = np.unique(value, return_counts=True)
    top = int(counts.argmax()) if len(counts) else 0
    sessions, tied, pairs, tied_pairs = _ties(known, value)
    return ScaleUse(
        factor=factor,
        n=len(value),
        lowest=float(value.min()) if len(value) else None,
        highest=float(value.max()) if len(value) else None,
        mean=float(value.mean()) if len(value) else None,
        std=float(value.std(ddof=1)) if len(value) > 1 else None,
        distinct=len(numbers),
        commonest=float(numbers[top]) if len(value) else None,
        commonest_share=float(counts[top] / len(value)) if len(value) else None,
        counts={f"{n:g}": int(c) for n, c in zip(numbers, counts, strict=True)}
        if len(numbers) <= 100
        else {},
        sessions=sessions,
        tied_sessions=tied,
        pairs=pairs,
        tied_pairs=tied_pairs,
    )


def _ties(known: pd.DataFrame, value: np.ndarray) -> tuple[int, int, int, int]:
    """Return sessions with two scored edits, those with a tie, pairs of edits, and tied pairs."""
    key = [name for name in ("task", "item", "repeat") if name in known.columns]
    session = codes_of(known, key)
    sizes = np.bincount(session) if len(session) else np.zeros(0, dtype=np.int64)
    order = np.lexsort((value, session))
    ordered_session, ordered_value = session[order], value[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(ordered_session) != 0) | (np.diff(ordered_value) > TIE)
    runs = np.bincount(np.cumsum(new) - 1) if len(order) else np.zeros(0, dtype=np.int64)
    tied_pairs = int((runs * (runs - 1) // 2).sum())
    tied = len(np.unique(ordered_session[new][runs > 1])) if len(order) else 0
    return int((sizes > 1).sum()), tied, int((sizes * (sizes - 1) // 2).sum()), tied_pairs


def statements(found: Habits, *, asks_to_avoid_ties: bool) -> list[str]:
    """Return the habits in plain sentences."""
    said = [_tie_line(use, asks_to_avoid_ties) for use in found.scale if use.pairs]
    if found.sessions is not None:
        refused = found.outcomes.get(Outcome.REFUSED.value, 0)
        said.append(
            f"{found.sessions} sessions: {found.repairs} repair turns, {found.slips} slips in the judge's "
            f"own sums, {refused} refused edits."
        )
    if found.names:
        named = ", ".join(f"{name} ({count})" for name, count in found.names.items())
        said.append(f"Method names found in replies, which should be impossible: {named}.")
    return said


def _tie_line(use: ScaleUse, asks_to_avoid_ties: bool) -> str:
    though = ", though the dialog asks to avoid it" if asks_to_avoid_ties and use.tied_pairs else ""
    ties = f"{use.tied_pairs} of {use.pairs} pairs of edits tie ({use.tied_pairs / use.pairs:.0%})"
    where = f"in {use.tied_sessions} of {use.sessions} sessions{though}"
    most = f"{use.commonest:g} the commonest ({use.commonest_share:.0%})"
    return f"{use.factor}: {ties}, {where}; {use.distinct} different numbers used, {most}."
