"""What people would say of all edits, from a few ratings and many scores: means, and a
leaderboard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.agreement.align import Paired, judge_means, pair, rated_edits
from lmmscore.errors import FileProblem
from lmmscore.leaderboard.board import BoardRow, BoardTable, Leaderboard
from lmmscore.leaderboard.differences import Difference, Differences, corrected
from lmmscore.leaderboard.ranking import spread
from lmmscore.stats.arrays import SAME, Floats, ranks
from lmmscore.stats.prediction_powered import FEW_RATED, Powered, powered_mean, stratified

Entry = dict[str, Any]


def powered_entries(judge: str, factor: str, paired: Paired) -> Iterator[Entry]:
    """Yield prediction-powered means of every method: by task, over the tasks, and pooled."""
    every = pd.concat([paired.edits, paired.unrated], ignore_index=True)
    for method, rows in every.groupby("method", sort=True):
        name = {"judge": judge, "factor": factor, "method": str(method)}
        parts = {str(task): estimate(part) for task, part in rows.groupby("task", sort=True)}
        if len(parts) > 1:
            for task, part in parts.items():
                yield name | {"stratum": task} | _json(part)
            yield name | {"stratum": "all, by task"} | _json(_over(parts))
        yield name | {"stratum": "all"} | _json(estimate(rows))


def estimate(rows: pd.DataFrame) -> Powered | str:
    """Return the prediction-powered mean of edits, some of them rated."""
    rated = rows[rows["people"].notna()]
    unrated = rows.loc[rows["people"].isna(), "judge"].to_numpy(dtype=float)
    people, judge = rated["people"].to_numpy(dtype=float), rated["judge"].to_numpy(dtype=float)
    return powered_mean(people, judge, unrated)


def _over(parts: Mapping[str, Powered | str]) -> Powered | str:
    lacking = []
    found = []
    for task, part in parts.items():
        if isinstance(part, str):
            lacking.append(f"{task or 'no task'}: {part}")
        else:
            found.append(part)
    if lacking:
        return "a task has too few ratings (" + "; ".join(lacking) + ")"
    return stratified(found)


def _json(found: Powered | str) -> Entry:
    if isinstance(found, str):
        return {"value": None, "low": None, "high": None, "why": found}
    low, high = found.interval()
    people_low, people_high = found.people_interval()
    caution = {}
    if found.few:
        caution = {"caution": f"{found.rated} rated edits are few: take the interval with care"}
    return {
        "value": found.value,
        "low": low,
        "high": high,
        "trust": found.trust,
        "people_only": found.people_only,
        "people_only_low": people_low,
        "people_only_high": people_high,
        "n": found.rated,
        "of": "rated edits",
        "n_judge": found.rated + found.unrated,
        **caution,
    }


def corrected_board(
    scores: pd.DataFrame, ratings: pd.DataFrame, factor: str, *, caution: str = ""
) -> Leaderboard:
    """Rank the methods by what people would say of all edits, per task category and over all.

    Each mean is prediction-powered (PPI++); differences of two methods are estimated the same way,
    from the differences on each item, tested by Student's t and corrected by Holm.
    """
    ours = scores[scores["factor"] == factor]
    theirs = ratings[ratings["factor"] == factor]
    if ours.empty or theirs.empty:
        raise FileProblem(f"{factor}: not both scored and rated; name a factor with --factor")
    paired = pair(ours, judge_means("the run", ours), rated_edits(theirs))
    every = pd.concat([paired.edits, paired.unrated], ignore_index=True)
    every["task"] = every["task"].fillna("")
    tables = [
        _table(str(task), factor, rows) for task, rows in every.groupby("task", sort=False) if task
    ]
    tables.append(_table(None, factor, every))
    notes = (
        "Means are of people's ratings, estimated for all edits from those rated and the judge's "
        "scores (PPI++, Student's t). They hold where the rated edits are a random part of all.",
    )
    return Leaderboard(tuple(tables), notes=notes, caution=caution, settings={"corrected": True})


def _table(task: str | None, factor: str, rows: pd.DataFrame) -> BoardTable:
    found: dict[str, Powered] = {}
    lacking = []
    for method, part in rows.groupby("method", sort=True):
        one = estimate(part)
        if isinstance(one, str):
            lacking.append(f"{method}: {one}.")
        else:
            found[str(method)] = one
    order = sorted(found, key=lambda method: (-found[method].value, method))
    place = ranks(np.array([[found[method].value for method in order]]))[0] if order else []
    tests = _tests(rows, order)
    groups = tests.groups() if tests else {}
    limits = tests.rank_intervals() if tests else {}

    lines = []
    for number, method in enumerate(order):
        part = rows[rows["method"] == method]
        one = found[method]
        lines.append(
            BoardRow(
                rank=int(place[number]),
                method=method,
                mean=one.value,
                std=spread(part["people"].dropna().to_numpy(dtype=float)),
                n=one.rated,
                coverage=float(part["people"].notna().mean()),
                factors={},
                mean_interval=one.interval(),
                rank_interval=limits.get(method),
                group=groups.get(method, ""),
                items=len(part),
            )
        )
    few = [method for method in order if found[method].few]
    warnings = [f"Without an estimate: {' '.join(lacking)}"] if lacking else []
    if few:
        warnings.append(
            f"Fewer than {FEW_RATED} rated edits, so take the interval with care: {', '.join(few)}."
        )
    rated = int(rows["people"].notna().sum())
    caption = (
        f"Mean {factor} by people, corrected by the judge: {rated} of {len(rows)} edits rated; n "
        "and coverage are of rated edits, std is over them."
    )
    return BoardTable(
        task=task,
        factor=factor,
        rows=tuple(lines),
        caption=caption,
        rule="prediction-powered",
        warnings=tuple(warnings),
        differences=tests,
    )


def _tests(rows: pd.DataFrame, methods: list[str]) -> Differences | None:
    """Return the prediction-powered differences of every two methods on the items both have."""
    if len(methods) < 2:
        return None
    judge = rows.pivot(index="item", columns="method", values="judge")
    people = rows.pivot(index="item", columns="method", values="people")
    pairs = []
    for first, second in combinations(methods, 2):
        gaps = _gaps(judge, people, first, second)
        rated = ~np.isnan(gaps[1]) & ~np.isnan(gaps[0])
        unrated = np.isnan(gaps[1]) & ~np.isnan(gaps[0])
        found = powered_mean(gaps[1][rated], gaps[0][rated], gaps[0][unrated])
        known = not isinstance(found, str)
        own = gaps[1][rated]
        pairs.append(
            Difference(
                first=first,
                second=second,
                n=int(rated.sum()),
                difference=found.value if isinstance(found, Powered) else None,
                interval=found.interval() if isinstance(found, Powered) else None,
                p=found.p_value() if isinstance(found, Powered) and known else None,
                p_holm=None,
                wins=int((own > SAME).sum()),
                ties=int((np.abs(own) <= SAME).sum()),
                losses=int((own < -SAME).sum()),
            )
        )
    return corrected([Differences(tuple(methods), tuple(pairs), exact=False)])[0]


def _gaps(
    judge: pd.DataFrame, people: pd.DataFrame, first: str, second: str
) -> tuple[Floats, Floats]:
    by_judge = (judge[first] - judge[second]).to_numpy(dtype=float)
    by_people = (people[first] - people[second]).to_numpy(dtype=float)
    return by_judge, by_people
