"""Several runs side by side, pooled, or one beside a published leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError, nearest
from lmmscore.leaderboard.board import BoardRow, Leaderboard
from lmmscore.leaderboard.published import correlations
from lmmscore.records import OVERALL
from lmmscore.stats.arrays import rounded

SAME = {
    "judge": "judge",
    "models": "judge snapshot",
    "parameters": "judge parameters",
    "dialog": "dialog",
    "dialog_version": "dialog version",
    "dialog_digest": "wording of the dialog",
    "images_digest": "image set",
}
"""Settings that must be equal before scores may be pooled, and what each is called."""


@dataclass(frozen=True, slots=True)
class RunAgreement:
    """How far two runs agree on the edits both have scored, in one factor."""

    factor: str
    first: str
    second: str
    edits: int
    pearson: float | None
    spearman: float | None
    mean_difference: float | None
    """Of the second run's scores from the first's: how much more generous it is."""
    mean_distance: float | None
    methods: int
    rank_spearman: float | None
    rank_kendall: float | None


@dataclass(frozen=True, slots=True)
class RankChange:
    """One method's ranks and means in every run, on one factor,
    in one task category or over all."""

    factor: str
    task: str | None
    method: str
    ranks: tuple[int | None, ...]
    means: tuple[float | None, ...]

    @property
    def change(self) -> int | None:
        """The last rank less the first; None where either is missing."""
        first, last = self.ranks[0], self.ranks[-1]
        return None if first is None or last is None else last - first


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Several runs side by side."""

    names: tuple[str, ...]
    differing: tuple[str, ...]
    """What is not the same in all runs: reasons not to pool them."""
    changes: tuple[RankChange, ...]
    agreements: tuple[RunAgreement, ...]
    cautions: tuple[str, ...] = ()

    @property
    def factors(self) -> tuple[str, ...]:
        """What they are compared on."""
        return tuple(dict.fromkeys(pair.factor for pair in self.agreements))

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the comparison for JSON."""
        return {
            "runs": list(self.names),
            "differing": list(self.differing),
            "ranks": [
                {
                    "factor": line.factor,
                    "task": line.task,
                    "method": line.method,
                    "ranks": list(line.ranks),
                    "means": [rounded(mean, decimals) for mean in line.means],
                    "change": line.change,
                }
                for line in self.changes
            ],
            "agreement": [_agreement_dict(pair, decimals) for pair in self.agreements],
            "cautions": list(self.cautions),
        }


def _agreement_dict(pair: RunAgreement, decimals: int | None) -> dict[str, Any]:
    values = {name: getattr(pair, name) for name in RunAgreement.__slots__}
    return {k: rounded(v, decimals) if isinstance(v, float) else v for k, v in values.items()}


def compare(
    names: Sequence[str],
    boards: Sequence[Leaderboard],
    scores: Sequence[pd.DataFrame],
    settings: Sequence[Mapping[str, Any]],
    *,
    factor: str | Sequence[str],
) -> RunComparison:
    """Set runs side by side on each factor.

    Agreement is over the edits both runs have, their repeats averaged.
    """
    factors = [factor] if isinstance(factor, str) else list(factor)
    changes: list[RankChange] = []
    agreements: list[RunAgreement] = []
    apart: list[str] = []
    for place, name in enumerate(factors):
        edits = [edit_means(frame, name) for frame in scores]
        if place == 0:
            apart = differing(names, settings, edits)

        changes += _changes(boards, name)
        for first, second in combinations(range(len(names)), 2):
            agreements.append(_agreement(names, name, edits, first, second))

    return RunComparison(
        names=tuple(names),
        differing=tuple(apart),
        changes=tuple(changes),
        agreements=tuple(agreements),
        cautions=tuple(dict.fromkeys(board.caution for board in boards if board.caution)),
    )


def factors_of(names: Sequence[str], scores: Sequence[pd.DataFrame], wanted: str) -> list[str]:
    """Return what runs can be compared on: `wanted`, if all have it.

    Where that is `all`, or an overall that a run lacks, it is each factor that every run has
    scored, the overall first. Raises where there is none.
    """
    scored = [_scored_factors(frame) for frame in scores]
    common = [name for name in scored[0] if all(name in other for other in scored)]
    every = wanted == "all" or (wanted == OVERALL and OVERALL not in common)
    if every and common:
        return sorted(common, key=lambda name: name != OVERALL)

    if every:
        told = []
        for name, own in zip(names, scored, strict=True):
            told.append(f"{name}: {', '.join(own) or 'none'}")
        raise LmmscoreError(
            f"these runs have no scored factor in common ({'; '.join(told)}); they cannot be "
            "compared"
        )

    for name, frame in zip(names, scores, strict=True):
        known = [str(key) for key in frame["factor"].unique()]
        if wanted not in known:
            hint = f"{nearest(wanted, known)}; known: {', '.join(known)}"
            raise LmmscoreError(f"no factor {wanted!r} in {name}{hint}")
    return [wanted]


def _scored_factors(scores: pd.DataFrame) -> list[str]:
    """Return the factors with at least one score, in the order they first occur."""
    scored = scores.loc[scores["score"].notna(), "factor"]
    return [str(name) for name in scored.unique()]


def edit_means(scores: pd.DataFrame, factor: str) -> pd.Series:
    """Return each edit's mean over its scored repeats, by task, item and method."""
    known = scores[(scores["factor"] == factor) & scores["score"].notna()]
    means: pd.Series = known.groupby(["task", "item", "method"], sort=False, observed=True)[
        "score"
    ].mean()
    return means


def differing(
    names: Sequence[str], settings: Sequence[Mapping[str, Any]], edits: Sequence[pd.Series]
) -> list[str]:
    """Return a sentence for each thing that is not the same in all runs, and would have to be
    before their scores are pooled."""
    found = []
    recorded = []
    for name, known in zip(names, settings, strict=True):
        if known:
            recorded.append((name, known))
        else:
            found.append(f"{name}: its judge and dialog are not on record (no run.yaml)")

    for key, what in SAME.items():
        values = [(name, known.get(key)) for name, known in recorded]
        if len({repr(value) for _, value in values}) > 1:
            told = "; ".join(f"{name}: {_short(value)}" for name, value in values)
            found.append(f"another {what} ({told})")

    # Without a digest of the images, the names of the edits must do.
    if any("images_digest" not in known for _, known in recorded):
        found += _other_edits(names, edits)
    return found


def _other_edits(names: Sequence[str], edits: Sequence[pd.Series]) -> list[str]:
    """Return a sentence for each run whose edits have other names than those of the first."""
    found = []
    first = set(edits[0].index)
    for name, other in zip(names[1:], edits[1:], strict=True):
        own = set(other.index)
        if own != first:
            shared = f"{len(first & own)} of {len(first | own)} edits"
            found.append(f"another image set ({names[0]} and {name} share {shared})")
    return found


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _changes(boards: Sequence[Leaderboard], factor: str) -> list[RankChange]:
    """Return every method's ranks in the tables of all runs, table by table."""
    found = []
    for task in _tasks(boards, factor):
        rows = [_rows_by_method(board, task, factor) for board in boards]
        methods: dict[str, None] = {}
        for own in rows:
            methods |= dict.fromkeys(own)
        found += [_change(factor, task, method, rows) for method in methods]
    return found


def _change(
    factor: str, task: str | None, method: str, rows: Sequence[Mapping[str, BoardRow]]
) -> RankChange:
    """Return one method's rank and mean in each run; None where a run lacks it."""
    lines = [own.get(method) for own in rows]
    ranks = tuple(line.rank if line else None for line in lines)
    means = tuple(line.mean if line else None for line in lines)
    return RankChange(factor, task, method, ranks, means)


def _tasks(boards: Sequence[Leaderboard], factor: str) -> list[str | None]:
    """Return the tasks that any run has a table of, in the order they first occur."""
    tables = [table for board in boards for table in board.tables]
    return list(dict.fromkeys(table.task for table in tables if table.factor == factor))


def _rows_by_method(board: Leaderboard, task: str | None, factor: str) -> dict[str, BoardRow]:
    """Return the lines of one table; none where the run has no such table."""
    for table in board.tables:
        if (table.task, table.factor) == (task, factor):
            return {row.method: row for row in table.rows}
    return {}


def _agreement(
    names: Sequence[str], factor: str, edits: Sequence[pd.Series], a: int, b: int
) -> RunAgreement:
    """Return how far two runs agree on the edits both have, and on the methods."""
    both = pd.concat([edits[a], edits[b]], axis=1, join="inner", keys=["a", "b"])
    x = both["a"].to_numpy(dtype=np.float64)
    y = both["b"].to_numpy(dtype=np.float64)
    spearman, _ = correlations(list(x), list(y))

    # Over every task that is compared: the last table of a board may be that of one task alone.
    means = [edits[k].groupby(level="method", sort=False).mean() for k in (a, b)]
    methods = pd.concat(means, axis=1, join="inner", keys=["a", "b"])
    rho, tau = correlations(list(methods["a"]), list(methods["b"]))
    return RunAgreement(
        factor=factor,
        first=names[a],
        second=names[b],
        edits=len(x),
        pearson=float(np.corrcoef(x, y)[0, 1]) if spearman is not None else None,
        spearman=spearman,
        mean_difference=float((y - x).mean()) if len(x) else None,
        mean_distance=float(np.abs(y - x).mean()) if len(x) else None,
        methods=len(methods),
        rank_spearman=rho,
        rank_kendall=tau,
    )


def pool(
    names: Sequence[str],
    scores: Sequence[pd.DataFrame],
    settings: Sequence[Mapping[str, Any]],
    *,
    anyway: bool,
) -> pd.DataFrame:
    """Return the scores of several runs as one table; repeats are counted on from run to run.

    Raises unless judge, dialog and images are the same, or `anyway` says to pool regardless.
    """
    reasons = differing(names, settings, [_any_edits(frame) for frame in scores])
    if reasons and not anyway:
        raise LmmscoreError(
            f"these runs are not comparable and are not pooled: {'; '.join(reasons)}. "
            "See them side by side with lmmscore compare, "
            "or add --anyway to pool them all the same."
        )
    frames, last = [], 0
    for frame in scores:
        frames.append(frame.assign(repeat=frame["repeat"] + last))
        last = int(frames[-1]["repeat"].max())
    return pd.concat(frames, ignore_index=True)


def _any_edits(frame: pd.DataFrame) -> pd.Series:
    return frame.groupby(["task", "item", "method"], sort=False, observed=True).size()
