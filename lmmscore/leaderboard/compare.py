"""Several runs side by side: what differs, which ranks change, how far judges agree; and pooling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard.against import correlations
from lmmscore.leaderboard.tables import Leaderboard, rounded

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
class Agreement:
    """How far two runs agree on the edits both have scored."""

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
    """One method's ranks and means in every run, in one task category or over all."""

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
class Comparison:
    """Several runs side by side."""

    names: tuple[str, ...]
    differing: tuple[str, ...]
    """What is not the same in all runs: reasons not to pool them."""
    changes: tuple[RankChange, ...]
    agreements: tuple[Agreement, ...]
    cautions: tuple[str, ...] = ()

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the comparison for JSON."""
        return {
            "runs": list(self.names),
            "differing": list(self.differing),
            "ranks": [
                {
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


def _agreement_dict(pair: Agreement, decimals: int | None) -> dict[str, Any]:
    values = {name: getattr(pair, name) for name in Agreement.__slots__}
    return {k: rounded(v, decimals) if isinstance(v, float) else v for k, v in values.items()}


def compare(
    names: Sequence[str],
    boards: Sequence[Leaderboard],
    scores: Sequence[pd.DataFrame],
    settings: Sequence[Mapping[str, Any]],
    *,
    factor: str,
) -> Comparison:
    """Set runs side by side on one factor. Agreement is over edits both have, their repeats averaged."""
    edits = [edit_means(frame, factor) for frame in scores]
    pairs = combinations(range(len(names)), 2)
    return Comparison(
        names=tuple(names),
        differing=tuple(differing(names, settings, edits)),
        changes=tuple(_changes(boards)),
        agreements=tuple(_agreement(names, boards, edits, a, b) for a, b in pairs),
        cautions=tuple(dict.fromkeys(board.caution for board in boards if board.caution)),
    )


def edit_means(scores: pd.DataFrame, factor: str) -> pd.Series:
    """Return each edit's mean over its scored repeats, by task, item and method."""
    known = scores[(scores["factor"] == factor) & scores["score"].notna()]
    means: pd.Series = known.groupby(["task", "item", "method"], sort=False, observed=True)["score"].mean()
    return means


def differing(
    names: Sequence[str], settings: Sequence[Mapping[str, Any]], edits: Sequence[pd.Series]
) -> list[str]:
    """Return a sentence for each thing that must be the same before scores may be pooled, and is not."""
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
    """Without a digest of the images, the names of the edits must do: other names are other images."""
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


def _changes(boards: Sequence[Leaderboard]) -> list[RankChange]:
    tasks = list(dict.fromkeys(table.task for board in boards for table in board.tables))
    found = []
    for task in tasks:
        tables = [{t.task: t for t in board.tables}.get(task) for board in boards]
        rows = [{row.method: row for row in table.rows} if table else {} for table in tables]
        for method in dict.fromkeys(name for group in rows for name in group):
            lines = [group.get(method) for group in rows]
            found.append(
                RankChange(
                    task=task,
                    method=method,
                    ranks=tuple(line.rank if line else None for line in lines),
                    means=tuple(line.mean if line else None for line in lines),
                )
            )
    return found


def _agreement(
    names: Sequence[str], boards: Sequence[Leaderboard], edits: Sequence[pd.Series], a: int, b: int
) -> Agreement:
    both = pd.concat([edits[a], edits[b]], axis=1, join="inner", keys=["a", "b"])
    x, y = both["a"].to_numpy(dtype=np.float64), both["b"].to_numpy(dtype=np.float64)
    spearman, _ = correlations(list(x), list(y))
    rows_a, rows_b = ({r.method: r.mean for r in board.tables[-1].rows} for board in (boards[a], boards[b]))
    shared = [m for m in rows_a if rows_a[m] is not None and rows_b.get(m) is not None]
    rho, tau = correlations([rows_a[m] or 0.0 for m in shared], [rows_b[m] or 0.0 for m in shared])
    return Agreement(
        first=names[a],
        second=names[b],
        edits=len(x),
        pearson=float(np.corrcoef(x, y)[0, 1]) if spearman is not None else None,
        spearman=spearman,
        mean_difference=float((y - x).mean()) if len(x) else None,
        mean_distance=float(np.abs(y - x).mean()) if len(x) else None,
        methods=len(shared),
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
    """Return the scores of several runs as one table, each run's repeats counted on after those before it.

    Raises unless judge, dialog and images are the same, or `anyway` says to pool regardless.
    """
    reasons = differing(names, settings, [_any_edits(frame) for frame in scores])
    if reasons and not anyway:
        raise LmmscoreError(
            f"these runs are not comparable and are not pooled: {'; '.join(reasons)}. "
            "See them side by side with lmmscore compare, or add --anyway to pool them all the same."
        )
    frames, last = [], 0
    for frame in scores:
        frames.append(frame.assign(repeat=frame["repeat"] + last))
        last = int(frames[-1]["repeat"].max())
    return pd.concat(frames, ignore_index=True)


def _any_edits(frame: pd.DataFrame) -> pd.Series:
    return frame.groupby(["task", "item", "method"], sort=False, observed=True).size()
