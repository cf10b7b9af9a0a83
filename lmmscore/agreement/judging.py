"""What else is asked of judges: which of two is nearer to people, may one replace a person, and what the few
ratings and many scores say together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from lmmscore.agreement import comparison, correlation
from lmmscore.agreement.alternative import FALSE_DISCOVERY_RATE, MINIMUM_EDITS, alternative_test
from lmmscore.agreement.arrays import Floats
from lmmscore.agreement.pairing import EDIT, Paired, RatedEdits
from lmmscore.agreement.powered import Powered, powered_mean, stratified
from lmmscore.agreement.within import Within

Entry = dict[str, Any]


def compare(
    names: tuple[str, str], factor: str, first: Paired, second: Paired, draws: comparison.Draws
) -> Iterator[Entry]:
    """Yield the tests of two judges on one factor, over the edits both scored."""
    both = first.edits.merge(second.edits[[*EDIT, "judge"]], on=EDIT, suffixes=("", "_second"))
    shared = Paired(both, {}, first.unrated)
    a, b, people = shared.judge, both["judge_second"].to_numpy(dtype=float), shared.people
    for statistic in ("spearman", "pearson"):
        yield _pooled(names, factor, statistic, (a, b, people, shared.item), draws)
    if len(both) > shared.items:
        yield _within(names, factor, shared, Paired(both.assign(judge=b), {}, first.unrated), draws)


def _pooled(
    names: tuple[str, str], factor: str, statistic: str, data: Any, draws: comparison.Draws
) -> Entry:
    a, b, people, item = data
    correlate = correlation.STATISTICS[statistic]
    why = correlation.reason_undefined(a, people) or correlation.reason_undefined(b, people)
    entry = _entry(names, factor, "item", statistic, len(a), "edits")
    if why:
        return entry | {"value": None, "why": why}
    first, second, between = correlate(a, people), correlate(b, people), correlate(a, b)
    test = comparison.williams(first, second, between, len(a))
    return entry | {
        "value": first - second,
        "first": first,
        "second": second,
        "p_permutation": comparison.permute(a, b, people, item, statistic=statistic, draws=draws),
        "p_williams": test.p if test else None,
        "t_williams": test.t if test else None,
        "df_williams": test.df if test else None,
        "edits_independent": int(item.max()) + 1 == len(a),
    }


def _within(
    names: tuple[str, str], factor: str, first: Paired, second: Paired, draws: comparison.Draws
) -> Entry:
    values = [_per_item(paired) for paired in (first, second)]
    known = ~(np.isnan(values[0]) | np.isnan(values[1]))
    entry = _entry(names, factor, "within-item", "spearman", int(known.sum()), "items")
    entry["left_out"] = {"items where it is undefined for one of them": int((~known).sum())}
    if not known.any():
        return entry | {"value": None, "why": "it is defined in no item for both judges"}
    a, b = values[0][known], values[1][known]
    p = comparison.flip(a, b, draws=draws)
    return entry | {
        "value": float((a - b).mean()), "first": float(a.mean()), "second": float(b.mean()), "p_permutation": p,
    }  # fmt: skip


def _per_item(paired: Paired) -> Floats:
    return Within(paired.grid("judge"), paired.grid("people")).correlations()["spearman"]


def _entry(
    names: tuple[str, str], factor: str, level: str, statistic: str, n: int, of: str
) -> Entry:
    return {
        "judges": list(names), "factor": factor, "level": level, "statistic": statistic, "n": n, "of": of,
    }  # fmt: skip


def alternative(
    judge: str, factor: str, rated: RatedEdits, by_edit: Floats, *, epsilon: float, minimum: int
) -> Entry:
    """Return the alternative annotator test of a judge on a factor."""
    test = alternative_test(rated.ratings, by_edit, epsilon=epsilon, minimum=minimum)
    entry: Entry = {
        "judge": judge,
        "factor": factor,
        "winning_rate": test.winning_rate,
        "passed": test.passed,
    }
    entry |= {
        "advantage": test.advantage,
        "n": test.raters,
        "of": "raters",
        "p_values": list(test.p_values),
    }
    entry |= {"epsilon": epsilon, "minimum_edits": minimum, "correction": "Benjamini–Yekutieli"}
    entry |= {"false_discovery_rate": FALSE_DISCOVERY_RATE}
    entry["left_out"] = (
        {f"raters with fewer than {minimum} edits": test.left_out} if test.left_out else {}
    )
    return entry | ({"why": test.why} if test.why else {})


def powered(judge: str, factor: str, paired: Paired) -> Iterator[Entry]:
    """Yield prediction-powered means of every method: by task, over the tasks, and without regard to tasks."""
    every = pd.concat([paired.edits, paired.unrated], ignore_index=True)
    for method, rows in every.groupby("method", sort=True):
        name = {"judge": judge, "factor": factor, "method": str(method)}
        parts = {str(task): _estimate(part) for task, part in rows.groupby("task", sort=True)}
        if len(parts) > 1:
            for task, part in parts.items():
                yield name | {"stratum": task} | _powered_json(part)
            yield name | {"stratum": "all, by task"} | _powered_json(_over(parts))
        yield name | {"stratum": "all"} | _powered_json(_estimate(rows))


def _estimate(rows: pd.DataFrame) -> Powered | str:
    rated = rows[rows["people"].notna()]
    unrated = rows[rows["people"].isna()]
    people, judge = rated["people"].to_numpy(dtype=float), rated["judge"].to_numpy(dtype=float)
    return powered_mean(people, judge, unrated["judge"].to_numpy(dtype=float))


def _over(parts: Mapping[str, Powered | str]) -> Powered | str:
    missing = [
        f"{task or 'no task'}: {part}" for task, part in parts.items() if isinstance(part, str)
    ]
    if missing:
        return "a task has too few ratings (" + "; ".join(missing) + ")"
    return stratified([part for part in parts.values() if isinstance(part, Powered)])


def _powered_json(found: Powered | str) -> Entry:
    if isinstance(found, str):
        return {"value": None, "low": None, "high": None, "why": found}
    low, high = found.interval()
    people = Powered(found.people_only, found.people_error, 0, 0, 0, 0, 0).interval()
    return {
        "value": found.value, "low": low, "high": high, "trust": found.trust,
        "people_only": found.people_only, "people_only_low": people[0], "people_only_high": people[1],
        "n": found.rated, "of": "rated edits", "n_judge": found.rated + found.unrated,
    }  # fmt: skip


__all__ = ["MINIMUM_EDITS", "alternative", "compare", "powered"]
