"""Several judges: which is closer to people, a panel of them, and where they disagree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from lmmscore.agreement.align import EDIT, Paired
from lmmscore.agreement.statistics import ITEM, METHOD, WITHIN_ITEM, WITHIN_METHOD
from lmmscore.records import Outcome
from lmmscore.stats import correlation, resampling
from lmmscore.stats.correlation import Within, spearman_rows
from lmmscore.stats.resampling import (
    Floats,
    Interval,
    Ints,
    ItemGroups,
    item_groups,
    mean_known,
)

Entry = dict[str, Any]

ALPHA = 0.05
PANEL = "panel"
PANEL_WITHOUT = f"{PANEL} without "
"""What the panel without one of its judges is called, before the judge's name."""
ENOUGH_DRAWS = 1_999
"""Permutations of a test, at most, unless Holm's correction needs more."""

PanelScores = Literal["raw", "z"]

FAMILIES = {
    "OpenAI": r"gpt|dall.?e|chatgpt|openai|\bo[134]\b",
    "Google": r"gemini|imagen|palm|nano.?banana|gemma|google",
    "Anthropic": r"claude|anthropic",
    "Alibaba": r"qwen|wan\d|alibaba|tongyi",
    "Meta": r"llama|\bemu\b|meta",
    "ByteDance": r"seed.?(edit|dream|vl)|doubao|bagel|bytedance",
    "Black Forest Labs": r"flux|kontext",
    "Stability AI": r"stable.?diffusion|\bsd(xl|3)?\b|sdedit|stability",
    "OpenGVLab": r"intern(vl|lm)",
    "StepFun": r"step.?(1|1x|fun)",
    "Tencent": r"hunyuan|tencent",
}
"""Families of models by what their names hold; a user's own table comes before it."""


def compare_pairs(
    names: tuple[str, str],
    factor: str,
    first: Paired,
    second: Paired,
    levels: Sequence[str],
    *,
    draws: int,
    seed: int,
) -> list[Entry]:
    """Return the tests of two judges on one factor at each level, over the edits both scored."""
    both = first.edits.merge(second.edits[[*EDIT, "judge"]], on=EDIT, suffixes=("", "_second"))
    shared = Paired(both, {}, first.unrated)
    other = Paired(both.assign(judge=both["judge_second"]), {}, first.unrated)
    entries = []
    for level in levels:
        rng = np.random.default_rng(seed)
        entry: Entry = {
            "judges": list(names),
            "factor": factor,
            "level": level,
            "statistic": "spearman",
        }
        entry |= _TESTS[level](shared, other, draws, rng)
        entries.append(entry)

    return entries


@dataclass(frozen=True, slots=True)
class SharedEdits:
    """Edits that two judges scored: what each gave, people's means, and the items."""

    first: Floats
    second: Floats
    people: Floats
    item: Ints

    @property
    def undefined(self) -> str:
        """Why a judge's correlation with people is undefined; "" where both are defined."""
        return correlation.reason_undefined(
            self.first, self.people
        ) or correlation.reason_undefined(self.second, self.people)


def _pooled(first: Paired, second: Paired, draws: int, rng: np.random.Generator) -> Entry:
    """Return the test over all edits pooled, and Williams' for comparison."""
    edits = SharedEdits(first.judge, second.judge, first.people, first.item)
    n, items = len(edits.item), first.items
    entry: Entry = {"n": n, "of": "edits"}
    if edits.undefined:
        return entry | {"value": None, "why": edits.undefined}

    entry |= _swap_test([edits], items, draws, rng)
    between = correlation.spearman(edits.first, edits.second)
    williams = correlation.williams(entry["first"], entry["second"], between, n)
    entry |= {
        "p_williams": williams.p if williams else None,
        "t_williams": williams.t if williams else None,
        "df_williams": williams.df if williams else None,
        "edits_independent": items == n,
    }
    return entry | _swap_limits([edits], items, entry["value"], rng)


def _swap_test(
    parts: Sequence[SharedEdits], items: int, draws: int, rng: np.random.Generator
) -> Entry:
    """Return both judges' Spearman averaged over parts, and the test of their difference.

    Scores are turned into ranks first: only then is a swap between judges with different habits a
    fair one. Both judges' scores are sorted once, together; a swap is a choice of counts.
    """
    by_first = float(np.mean([correlation.spearman(one.first, one.people) for one in parts]))
    by_second = float(np.mean([correlation.spearman(one.second, one.people) for one in parts]))
    both = [
        np.concatenate([correlation.midranks(one.first), correlation.midranks(one.second)])
        for one in parts
    ]
    twice = [np.tile(one.people, 2) for one in parts]
    places = [np.concatenate([one.item, one.item + items]) for one in parts]
    ranks = resampling.GroupRanks(twice, [both], places, 2 * items)

    def difference(keep: Floats) -> Floats:
        swap = 1 - keep
        kept = mean_known(ranks.of(np.hstack([keep, swap]))[0])
        return kept - mean_known(ranks.of(np.hstack([swap, keep]))[0])

    return {
        "value": by_first - by_second,
        "first": by_first,
        "second": by_second,
        "p_permutation": resampling.swap_p(difference, items, draws=draws, rng=rng),
    }


def _swap_limits(
    parts: Sequence[SharedEdits], items: int, value: float, rng: np.random.Generator
) -> Entry:
    """Return the interval of that difference, leaving items out of all parts at once."""
    groups = item_groups(items, rng)
    ranks = resampling.GroupRanks(
        [one.people for one in parts],
        [[one.first for one in parts], [one.second for one in parts]],
        [groups.of_item[one.item] for one in parts],
        groups.number,
    )

    def difference(counts: Floats) -> Floats:
        by_first, by_second = ranks.of(counts)
        return mean_known(by_first) - mean_known(by_second)

    return _limits(groups.interval(value, difference, "none"))


def _limits(found: Interval | None) -> Entry:
    return {"low": found.low if found else None, "high": found.high if found else None}


def _within_items(first: Paired, second: Paired, draws: int, rng: np.random.Generator) -> Entry:
    """Return the test over items' own correlations, where both judges have one."""
    values = []
    for paired in (first, second):
        inside = Within(paired.grid("judge"), paired.grid("people"))
        values.append(inside.correlations()["spearman"])

    defined = ~(np.isnan(values[0]) | np.isnan(values[1]))
    entry: Entry = {"n": int(defined.sum()), "of": "items"}
    left = int((~defined).sum())
    entry["left_out"] = {"items where it is undefined for one of them": left} if left else {}
    if not defined.any():
        return entry | {"value": None, "why": "it is defined in no item for both judges"}

    a, b = values[0][defined], values[1][defined]
    value = float((a - b).mean())
    gap = resampling.flip_difference(a - b)
    each = ItemGroups(np.arange(len(a)), len(a))
    mean = resampling.mean_of(a - b, each.of_item, each.number)
    return entry | {
        "value": value,
        "first": float(a.mean()),
        "second": float(b.mean()),
        "p_permutation": resampling.swap_p(gap, len(a), draws=draws, rng=rng),
        **_limits(each.interval(value, mean, "none")),
    }


def _within_methods(first: Paired, second: Paired, draws: int, rng: np.random.Generator) -> Entry:
    """Return the test over the items of each method of each task, averaged over methods."""
    methods = first.edits["method"].to_numpy()
    tasks = first.edits["task"].to_numpy()
    parts = []
    for task, method in sorted(set(zip(tasks, methods, strict=True))):
        chosen = (tasks == task) & (methods == method)
        part = SharedEdits(
            first.judge[chosen], second.judge[chosen], first.people[chosen], first.item[chosen]
        )
        if not part.undefined:
            parts.append(part)

    entry: Entry = {"n": len(parts), "of": "methods", "averaging": "mean"}
    if not parts:
        return entry | {"value": None, "why": "it is defined for no method with both judges"}

    entry |= _swap_test(parts, first.items, draws, rng)
    return entry | _swap_limits(parts, first.items, entry["value"], rng)


def _methods(first: Paired, second: Paired, draws: int, rng: np.random.Generator) -> Entry:
    """Return the test over methods' means: items are swapped, then averaged, then ranked."""
    a, b, people = first.grid("judge"), second.grid("judge"), first.grid("people")
    entry: Entry = {"n": a.shape[1], "of": "methods"}
    if a.shape[1] < 3:
        return entry | {"value": None, "why": "a comparison of rankings needs three methods"}

    a, b = _z_scores(a), _z_scores(b)
    target = np.nanmean(people, axis=0)[None, :]
    there = (~np.isnan(a)).astype(float)
    size = there.sum(axis=0)
    left, right = np.nan_to_num(a), np.nan_to_num(b)

    def rho(keep: Floats) -> Floats:
        means = (keep @ left + (1 - keep) @ right) / size
        return spearman_rows(means, np.repeat(target, len(keep), axis=0))

    def difference(keep: Floats) -> Floats:
        return rho(keep) - rho(1 - keep)

    whole = np.ones((1, len(a)))
    values = [float(rho(whole)[0]), float(rho(1 - whole)[0])]
    if np.isnan(values).any():
        return entry | {"value": None, "why": "a judge gave all methods the same mean"}

    return entry | {
        "value": values[0] - values[1],
        "first": values[0],
        "second": values[1],
        "p_permutation": resampling.swap_p(difference, len(a), draws=draws, rng=rng),
    }


def _z_scores(grid: Floats) -> Floats:
    spread = float(np.nanstd(grid))
    return np.asarray((grid - np.nanmean(grid)) / (spread if spread > 0 else 1.0))


_TESTS = {
    ITEM: _pooled,
    WITHIN_ITEM: _within_items,
    WITHIN_METHOD: _within_methods,
    METHOD: _methods,
}


def compare_judges(
    paired: Mapping[tuple[str, str], Paired],
    factors: Sequence[str],
    levels: Sequence[str],
    *,
    draws: int,
    seed: int,
) -> list[Entry]:
    """Return the tests of every two judges,
    corrected by Holm over the pairs of a factor and level."""
    pairs = _contenders(paired)
    needed = draws_used(paired, draws)
    found = []
    for factor in factors:
        for first, second in pairs:
            if (first, factor) not in paired or (second, factor) not in paired:
                continue

            sides = paired[first, factor], paired[second, factor]
            several = len(sides[0].edits) > sides[0].items
            used = levels if several else [level for level in levels if level == ITEM]
            found += compare_pairs((first, second), factor, *sides, used, draws=needed, seed=seed)

    return _holm(found)


def _contenders(paired: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return every two judges to test."""
    names = dict.fromkeys(name for name, _ in paired)
    # A panel without one of its judges shows what that judge adds; it is no contender.
    return list(combinations([name for name in names if not name.startswith(PANEL_WITHOUT)], 2))


def draws_used(paired: Iterable[tuple[str, str]], draws: int) -> int:
    """Return how many permutations each test of two judges draws.

    `paired` are judges and factors. `draws` more than enough are not made, nor fewer than Holm's
    correction over all pairs of judges needs.
    """
    tests = max(len(_contenders(paired)), 1)
    return resampling.draws_needed(tests, ALPHA, min(draws, ENOUGH_DRAWS))


def _holm(entries: list[Entry]) -> list[Entry]:
    families: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        if entry.get("p_permutation") is not None:
            families.setdefault((entry["factor"], entry["level"]), []).append(entry)

    for family in families.values():
        raw = np.array([entry["p_permutation"] for entry in family])
        for entry, p in zip(family, resampling.holm(raw), strict=True):
            entry["p_holm"] = float(p)

    return entries


def clusters(judges: Sequence[str], entries: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return letters: between judges that share one there is no significant difference."""
    apart = set()
    for entry in entries:
        p = entry.get("p_holm")
        if p is not None and p <= ALPHA:
            apart.add((entry["judges"][0], entry["judges"][1]))
    return resampling.letters(list(judges), apart)


def panel_scores(judges: Mapping[str, pd.DataFrame], how: PanelScores) -> pd.DataFrame:
    """Return the mean of several judges as one more judge's scores, over edits that all scored.

    `z` standardises each judge on each factor first, so that one with a wide scale does not outvote
    the others; the mean is then in standard deviations.
    """
    frames = []
    for name, table in judges.items():
        scored = table[table["outcome"] == Outcome.SCORED]
        means = scored.groupby(["item", "task", "method", "factor"], sort=False)["score"].mean()
        if how == "z":
            by_factor = means.groupby(level="factor")
            spread = by_factor.transform("std").replace(0.0, np.nan)
            means = (means - by_factor.transform("mean")) / spread

        frames.append(means.rename(name))

    together = pd.concat(frames, axis=1, join="inner").dropna()
    rows = together.mean(axis=1).rename("score").reset_index()
    return rows.assign(repeat=1, position=None, outcome=Outcome.SCORED.value, reason="")


def panel_notes(
    judges: Mapping[str, pd.DataFrame],
    how: PanelScores,
    models: Mapping[str, str],
    families: Mapping[str, str],
) -> list[str]:
    """Return what the panel is the mean of, and which of its judges may favour their own kind.

    `models` is the model behind each judge's name; `families` maps parts of names to families.
    """
    taken = "standardised first (z-scores)" if how == "z" else "as they are (raw)"
    methods = sorted({str(name) for table in judges.values() for name in table["method"].unique()})
    behind = {name: models.get(name, name) for name in judges}
    first = f"panel: the mean of {', '.join(judges)}, scores taken {taken}"
    return [first, *family_warnings(behind, methods, families)]


def without_each(judges: Mapping[str, pd.DataFrame], how: PanelScores) -> dict[str, pd.DataFrame]:
    """Return the panel without each of its judges; nothing where one judge would be left."""
    if len(judges) < 3:
        return {}

    found = {}
    for name in judges:
        rest = {other: table for other, table in judges.items() if other != name}
        found[name] = panel_scores(rest, how)

    return found


def disagreements(judges: Mapping[str, pd.DataFrame], factor: str, most: int = 20) -> list[Entry]:
    """Return the edits on which standardised judges differ most, the worst first."""
    frames = []
    for name, table in judges.items():
        scored = table[(table["outcome"] == Outcome.SCORED) & (table["factor"] == factor)]
        means = scored.groupby(["task", "item", "method"], sort=False)["score"].mean()
        frames.append(means.rename(name))

    raw = pd.concat(frames, axis=1, join="inner").dropna()
    if raw.empty:
        return []

    spread = raw.std(ddof=0).replace(0.0, 1.0)
    apart = ((raw - raw.mean()) / spread).std(axis=1, ddof=0)
    found = []
    for place in np.argsort(-apart.to_numpy(), kind="stable")[:most]:
        task, item, method = raw.index[place]
        scores = {str(name): float(raw[name].iloc[place]) for name in raw.columns}
        found.append(
            {
                "task": task,
                "item": item,
                "method": method,
                "factor": factor,
                "spread": float(apart.iloc[place]),
                "scores": scores,
            }
        )

    return found


def family_of(name: str, own: Mapping[str, str] | None = None) -> str:
    """Return the family a model's name belongs to, "" where none is known.

    `own` maps parts of names to families, and comes before the table here.
    """
    plain = name.lower()
    for part, family in (own or {}).items():
        if part.lower() in plain:
            return family

    for family, pattern in FAMILIES.items():
        if re.search(pattern, plain.replace("_", " ")):
            return family

    return ""


def family_warnings(
    judges: Mapping[str, str], methods: Sequence[str], own: Mapping[str, str] | None = None
) -> list[str]:
    """Return a warning for every judge that comes from one family with methods it judged.

    `judges` maps a judge's name in the tables to its model's.
    """
    found = []
    for judge, model in judges.items():
        family = family_of(model, own) or family_of(judge, own)
        if not family:
            continue

        related = [method for method in methods if family_of(method, own) == family]
        if related:
            found.append(
                f"{judge} and {', '.join(related)} come from one family of models ({family}): "
                "a judge may favour its own kind"
            )

    return found
