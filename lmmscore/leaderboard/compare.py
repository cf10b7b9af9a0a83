"""Several runs side by side, pooled, or one beside a published leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError, nearest
from lmmscore.leaderboard.board import BoardRow, BoardTable, Leaderboard
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
    """Set runs side by side on each factor. Agreement is over edits both have,
    their repeats averaged."""
    factors = [factor] if isinstance(factor, str) else list(factor)
    edits = {name: [edit_means(frame, name) for frame in scores] for name in factors}
    pairs = list(combinations(range(len(names)), 2))
    return RunComparison(
        names=tuple(names),
        differing=tuple(differing(names, settings, edits[factors[0]])),
        changes=tuple(line for name in factors for line in _changes(boards, name)),
        agreements=tuple(
            _agreement(names, name, edits[name], a, b) for name in factors for a, b in pairs
        ),
        cautions=tuple(dict.fromkeys(board.caution for board in boards if board.caution)),
    )


def factors_of(names: Sequence[str], scores: Sequence[pd.DataFrame], wanted: str) -> list[str]:
    """Return what runs can be compared on: `wanted`; where that is `all`, or an overall that a run
    lacks, each factor
    that every run has scored. Raises where there is none.
    """
    scored = [list(dict.fromkeys(frame.loc[frame["score"].notna(), "factor"])) for frame in scores]
    common = [str(name) for name in scored[0] if all(name in other for other in scored)]
    if wanted == "all" or (wanted == OVERALL and OVERALL not in common):
        if not common:
            told = "; ".join(
                f"{name}: {', '.join(own) or 'none'}"
                for name, own in zip(names, scored, strict=True)
            )
            raise LmmscoreError(
                f"these runs have no scored factor in common ({told}); they cannot be compared"
            )
        return sorted(common, key=lambda name: name != OVERALL)
    for name, frame in zip(names, scores, strict=True):
        known = [str(key) for key in frame["factor"].unique()]
        if wanted not in known:
            hint = f"{nearest(wanted, known)}; known: {', '.join(known)}"
            raise LmmscoreError(f"no factor {wanted!r} in {name}{hint}")
    return [wanted]


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
    """Return a sentence for each thing that must be the same before scores may be pooled,
    and is not."""
    found = [
        f"{name}: its judge and dialog are not on record (no run.yaml)"
        for name, known in zip(names, settings, strict=True)
        if not known
    ]
    recorded = [(name, known) for name, known in zip(names, settings, strict=True) if known]
    for key, what in SAME.items():
        values = [(name, known.get(key)) for name, known in recorded]
        if len({repr(value) for _, value in values}) > 1:
            told = "; ".join(f"{name}: {_short(value)}" for name, value in values)
            found.append(f"another {what} ({told})")
    if any("images_digest" not in known for _, known in recorded):
        found += _other_edits(names, edits)
    return found


def _other_edits(names: Sequence[str], edits: Sequence[pd.Series]) -> list[str]:
    """Without a digest of the images, the names of the edits must do:
    other names are other images."""
    first = set(edits[0].index)
    return [
        f"another image set ({names[0]} and {name} share {len(first & set(other.index))} of "
        f"{len(first | set(other.index))} edits)"
        for name, other in zip(names[1:], edits[1:], strict=True)
        if set(other.index) != first
    ]


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _changes(boards: Sequence[Leaderboard], factor: str) -> list[RankChange]:
    by_task = [
        {table.task: table for table in board.tables if table.factor == factor} for board in boards
    ]
    found = []

    for task in dict.fromkeys(task for tables in by_task for task in tables):
        rows = [_rows_by_method(own.get(task)) for own in by_task]

        for method in dict.fromkeys(name for group in rows for name in group):
            lines = [group.get(method) for group in rows]
            found.append(
                RankChange(
                    factor=factor,
                    task=task,
                    method=method,
                    ranks=tuple(line.rank if line else None for line in lines),
                    means=tuple(line.mean if line else None for line in lines),
                )
            )

    return found


def _agreement(
    names: Sequence[str], factor: str, edits: Sequence[pd.Series], a: int, b: int
) -> RunAgreement:
    both = pd.concat([edits[a], edits[b]], axis=1, join="inner", keys=["a", "b"])
    x, y = both["a"].to_numpy(dtype=np.float64), both["b"].to_numpy(dtype=np.float64)
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
    """Return the scores of several runs as one table, each run's repeats counted on after those
    before it.

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


def _rows_by_method(table: BoardTable | None) -> dict[str, BoardRow]:
    return {row.method: row for row in table.rows} if table else {}
