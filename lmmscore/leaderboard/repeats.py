"""Spread over repeats apart from spread over items, and how reliable one repeat is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.leaderboard.cube import codes_of
from lmmscore.leaderboard.resampling import Floats, Ints
from lmmscore.leaderboard.tables import rounded


@dataclass(frozen=True, slots=True)
class Spread:
    """Two sources of spread, for one method or for all edits together."""

    method: str | None
    edits: int
    judgements: int
    within: float | None
    """Standard deviation over repeats of the same edit; None without repeats."""
    between: float | None
    """Standard deviation over edits of their true scores, the repeats' share taken out."""
    reliability: float | None
    """Test–retest: the share of the spread of single judgements that comes back in a repeat, ICC(1,1)."""
    reliability_of_mean: float | None
    """The same for the mean over the repeats there are, ICC(1,k)."""

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            k: rounded(v, decimals) if isinstance(v, float) else v for k, v in asdict(self).items()
        }


def repeat_spread(scores: pd.DataFrame, *, factor: str) -> list[Spread]:
    """Return the spread of all edits together (`method` None), then of each method."""
    known = scores[(scores["factor"] == factor) & scores["score"].notna()]
    value = known["score"].to_numpy(dtype=np.float64)
    edit = codes_of(known, ["task", "item", "method"])
    found = [_spread(None, value, edit)]
    names = known["method"].astype(str).to_numpy()
    for method in sorted(set(names)):
        chosen = names == method
        found.append(_spread(str(method), value[chosen], edit[chosen]))
    return found


def _spread(method: str | None, value: Floats, edit: Ints) -> Spread:
    parts = components(value, edit)
    if parts is None:
        return Spread(method, len(np.unique(edit)), len(value), None, None, None, None)
    within, between, typical = parts
    total = within + between
    return Spread(
        method=method,
        edits=len(np.unique(edit)),
        judgements=len(value),
        within=float(np.sqrt(within)),
        between=float(np.sqrt(between)),
        reliability=between / total if total > 0 else None,
        reliability_of_mean=between / (between + within / typical) if total > 0 else None,
    )


def components(value: Floats, group: Ints) -> tuple[float, float, float] | None:
    """Return the variances within and between groups and the typical group size; None when nothing repeats.

    One-way random effects from the analysis of variance, also for groups of unequal size. A negative estimate
    of the variance between groups means that there is none to be seen, and is given as 0.
    """
    _, group = np.unique(group, return_inverse=True)
    sizes = np.bincount(group)
    n, groups = len(value), len(sizes)
    if groups < 2 or n == groups:
        return None
    means = np.bincount(group, weights=value) / sizes
    within = float(((value - means[group]) ** 2).sum()) / (n - groups)
    outer = float((sizes * (means - value.mean()) ** 2).sum()) / (groups - 1)
    typical = float(n - (sizes**2).sum() / n) / (groups - 1)
    within = 0.0 if within < 1e-18 else within
    return within, max(0.0, (outer - within) / typical), typical


def statement(spread: Spread) -> str:
    """Return the spread in a sentence."""
    if spread.within is None or spread.between is None:
        return "No edit was judged twice, so the spread over repeats is unknown; run with --repeats 2 or more."
    text = f"Std over repeats of the same edit {spread.within:.2f}, over edits {spread.between:.2f}"
    if spread.reliability is None or spread.reliability_of_mean is None:
        return text + "; all scores are equal, so reliability is undefined."
    return (
        f"{text}; test–retest reliability {spread.reliability:.2f} for one judgement, "
        f"{spread.reliability_of_mean:.2f} for the mean of an edit's repeats."
    )
