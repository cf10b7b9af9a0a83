"""Bring a judge's scores and people's ratings to the same names, scale and edits.

What an option can fix raises FileProblem with the option to type; what merely leaves something out
is a note. Nothing is dropped without one of the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import combinations
from typing import TypeVar

import numpy as np
import pandas as pd

from lmmscore.errors import FileProblem, LmmscoreError, alternatives, counted, listed, typed
from lmmscore.leaderboard.compare import key_of
from lmmscore.records import OVERALL, Outcome
from lmmscore.score_files import refuse_merging, replaced
from lmmscore.stats import SAME, Bools, Floats, Ints
from lmmscore.stats.correlation import Ratings

EXAMPLES = 3
NOBODY_RATED = "edits nobody rated"
EDIT = ["item", "method"]

Limits = tuple[float, float]

Scales = Mapping[str, Limits]
"""One judge's scales by factor."""

Weights = Mapping[str, float]
"""What each factor counts for in one judge's overall."""

_SAME_SHARE = 0.7
"""Of two ranges, the share both must cover to be taken for the same scale where none is stated."""

_FEW_OFF = 0.1
"""Up to this share of ratings off a known scale they are typos; above, it is another scale."""


class Sides:
    """Judges' scores and people's ratings, step by step brought to the same names and scales.

    The steps are taken in the order of the methods here: scales are matched by the factors' final
    names, and an overall is made of ratings that are already on the judge's scale.
    """

    def __init__(self, judges: Mapping[str, pd.DataFrame], ratings: pd.DataFrame) -> None:
        self.judges = dict(judges)
        self.ratings = ratings[ratings["score"].notna()]
        self.rescaled: dict[str, pd.DataFrame] = {}
        """By judge: the ratings on its scale, where judges with different scales need their own."""
        self.overall_parts: list[str] = []
        """The factors that people's overall was made of; none where they gave one."""
        self.notes: list[str] = []
        """What was assumed or left out, in the order it was found."""

    def match_names(
        self,
        renames: Mapping[str, str] | None = None,
        aliases: Mapping[str, str] | None = None,
        methods: Sequence[str] = (),
        names: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """Give factors, items and methods the same names; keep only some methods, if named.

        `names` says by judge what else its factors are called.
        """
        # First of all: everything after this goes by the id of an item alone.
        tables, ratings = separate_tasks(self.judges, self.ratings, self.notes)
        ratings, *tables = rename_factors([ratings, *tables], renames or {})
        others = [own for known in (names or {}).values() for own in known.items()]
        ratings = match_factors(ratings, tables, others, renames or {}, self.notes)
        ratings, *tables = apply_aliases([ratings, *tables], aliases or {})
        _refuse_ratings_twice(ratings)
        matched = []
        for name, table in zip(self.judges, tables, strict=True):
            table = match_methods(name, table, ratings, self.notes)
            note_methods(name, table, ratings, methods, self.notes)
            items = set(ratings["item"])
            for key in (key_of, _without_ending, _plain):
                if not items & set(table["item"]):
                    table = _same_keys(name, table, "item", items, self.notes, key)

            check_items(name, table, items, self.notes)
            matched.append(table)

        if methods:
            ratings, *matched = keep_methods([ratings, *matched], methods)

        self.ratings = ratings
        self.judges = dict(zip(self.judges, matched, strict=True))

    def match_scales(
        self, known: Mapping[str, Scales], stated: Limits | None, *, rescaled: bool
    ) -> tuple[dict[str, ScaleMatches], list[str]]:
        """Return what is known about each judge's scales, and what was done to people's.

        `known` are the judges' scales by judge, `stated` is people's. `rescaled` maps people's onto
        each judge's where they differ.
        """
        check_scale(self.ratings, list(self.judges.values()), widest(known), stated, self.notes)
        note_ranks(self.ratings, self.notes)
        matches = {
            judge: match_scales(self.ratings, table, known.get(judge, {}), stated)
            for judge, table in self.judges.items()
        }
        if not rescaled:
            self.notes += scale_notes(matches)
            return matches, []
        return self._rescale(matches)

    def _rescale(
        self, matches: Mapping[str, ScaleMatches]
    ) -> tuple[dict[str, ScaleMatches], list[str]]:
        """Map people's ratings onto the judges' scale, or onto each judge's where theirs differ."""
        common = matches_of_all(list(matches.values()))
        self.ratings, shared, told = rescale(self.ratings, common)
        found: dict[str, ScaleMatches] = {}
        for judge, own in matches.items():
            differing = {factor: match for factor, match in own.items() if factor not in common}
            ratings, mapped, how = rescale(self.ratings, differing)
            if differing:
                self.rescaled[judge] = ratings

            # In the order that the factors had.
            found[judge] = own | shared | mapped
            told += [f"{judge}: {done}" for done in how]

        return found, told

    def ratings_for(self, judge: str) -> pd.DataFrame:
        """Return the ratings that a judge is compared with; people's own for any other name."""
        return self.rescaled.get(judge, self.ratings)

    def add_overall(
        self,
        weights: Weights | Mapping[str, Weights | None] | None,
        turned: Mapping[str, float] | None = None,
    ) -> bool:
        """Give people an overall where only the judges have one; True for a plain mean.

        `turned` has the factors whose low scores are the good ones, with the sum of their ends.

        It is weighted as the judges', whose weights are given for all of them or by judge. Where
        they are unknown, or differ, it is the mean of the factors: a number nobody gave, which no
        headline should be about. A rating that lacks a factor gets none.
        """
        known = weights_by_judge(weights, list(self.judges))
        with_overall = [name for name, table in self.judges.items() if _has_overall(table)]
        by_judge = {name: known[name] for name in with_overall if name in known}
        shares = _common_weights(by_judge)
        wanted = self._parts_of_overall(shares)
        if not wanted:
            return False

        overall, lacking = overall_ratings(self.ratings, wanted, shares, turned)
        left = f"; {lacking} ratings lack a factor and have none" if lacking else ""
        everyone = len(by_judge) == len(with_overall)
        how = _how_derived(wanted, shares, by_judge, everyone=everyone)
        self.notes.append(f"people gave no overall; it is {how}{left}")
        self.overall_parts = wanted
        self.ratings = pd.concat([self.ratings, overall], ignore_index=True)
        for judge, ratings in self.rescaled.items():
            overall, _ = overall_ratings(ratings, wanted, shares, turned)
            self.rescaled[judge] = pd.concat([ratings, overall], ignore_index=True)

        return shares is None and len(wanted) > 1

    def _parts_of_overall(self, weights: Weights | None) -> list[str]:
        """Return the factors to make people's overall of; none where it is given or cannot be."""
        rated = [str(name) for name in self.ratings["factor"].unique()]
        scored = {name for table in self.judges.values() for name in table["factor"].unique()}
        if OVERALL in rated or OVERALL not in scored:
            return []

        both = [name for name in rated if name in scored]
        if not weights:
            return both

        # Without one of the factors that count, it would be another overall than the judge's.
        return list(weights) if set(weights) <= set(both) else []

    def shared_factors(self, wanted: Sequence[str]) -> dict[str, list[str]]:
        """Return the factors that each judge shares with people; the wanted ones, if named.

        The overall comes last. Factors that look like one thing under two names are an error with
        the rename to type; others are noted.
        """
        theirs = [str(name) for name in self.ratings["factor"].unique()]
        found = {}
        for judge, table in self.judges.items():
            ours = [str(name) for name in table["factor"].unique()]
            both = [factor for factor in ours if factor in theirs]
            if wanted:
                both = _chosen(wanted, both)
            else:
                self._check_unshared(judge, ours, theirs)

            found[judge] = sorted(both, key=lambda factor: factor == OVERALL)

        return found

    def _check_unshared(self, judge: str, ours: Sequence[str], theirs: Sequence[str]) -> None:
        """Note the factors that one side lacks; raise where a rename would bring them together."""
        only_ours = [factor for factor in ours if factor not in theirs]
        only_theirs = [factor for factor in theirs if factor not in ours]
        near = [(name, _near(name, only_ours)) for name in only_theirs]
        near = [(name, other) for name, other in near if other]
        if near:
            pairs = "; ".join(f"people's {name} ~ the judge's {other}" for name, other in near)
            options = " ".join(typed("--rename", f"{name}={other}") for name, other in near)
            raise FileProblem(
                f"{judge}: factors do not match ({pairs}); if they are the same, add {options}"
            )

        if not set(ours) & set(theirs) - {OVERALL} and only_theirs and only_ours:
            example = typed("--rename", f"{only_theirs[0]}={only_ours[0]}")
            raise FileProblem(
                f"{judge}: no factor matches; the judge has {', '.join(only_ours)}, people "
                f"{', '.join(only_theirs)}; for example {example}"
            )

        left = ((only_ours, "people did not rate"), (only_theirs, f"{judge} has no scores for"))
        for names, where in left:
            if names:
                it = "it" if len(names) == 1 else "them"
                self.notes.append(f"left out, because {where} {it}: {', '.join(names)}")

    def note_derived_overalls(self) -> set[str]:
        """Note how overalls were made that no file and no dialog gave; return whose they are."""
        made = {name: derived_overall(table) for name, table in self.judges.items()}
        derived = {name: how for name, how in made.items() if how}
        self.notes += [f"{name}: {how}" for name, how in derived.items()]
        return set(derived)


def weights_by_judge(
    weights: Weights | Mapping[str, Weights | None] | None, judges: Sequence[str]
) -> dict[str, Weights]:
    """Return the weights of each judge that has any, without factors that weigh nothing."""
    given = weights or {}
    own = {name: one for name, one in given.items() if isinstance(one, Mapping)}
    shared = {name: one for name, one in given.items() if isinstance(one, int | float)}
    _refuse_unknown("weights", own, judges)
    found: dict[str, Weights] = {}
    for judge in judges:
        used = {factor: share for factor, share in own.get(judge, shared).items() if share > 0}
        if used:
            found[judge] = used

    return found


def _has_overall(scores: pd.DataFrame) -> bool:
    return bool((scores["factor"] == OVERALL).any())


def _common_weights(by_judge: Mapping[str, Weights]) -> Weights | None:
    """Return the weights that all these judges have; None where they differ, or there are none.

    Never the first judge's alone: who is named first must not change a figure.
    """
    every = list(by_judge.values())
    if not every or any(not _same_weights(every[0], other) for other in every):
        return None
    return every[0]


def _how_derived(
    parts: Sequence[str],
    shares: Weights | None,
    by_judge: Mapping[str, Weights],
    *,
    everyone: bool,
) -> str:
    """Return in words how people's overall was made; `everyone` has known weights, or not all."""
    named = ", ".join(by_judge)
    if shares is not None:
        return "weighted as the judge's" if everyone else f"weighted as that of {named}"

    how = f"their {parts[0]}"
    if len(parts) > 1:
        how = f"the mean of their {len(parts)} factors"

    if by_judge:
        how += f", because {named} weigh factors differently: for the weights of one, compare it "
        how += "alone"

    return how


def _same_weights(first: Weights, second: Weights) -> bool:
    """Tell whether two judges weigh factors alike, whatever their weights add up to."""
    if first.keys() != second.keys():
        return False
    ratio = sum(second.values()) / sum(first.values())
    return all(abs(first[factor] * ratio - second[factor]) <= SAME for factor in first)


def _refuse_unknown(what: str, given: Collection[str], judges: Sequence[str]) -> None:
    for name in given:
        if name not in judges:
            there_are = alternatives(name, judges, "there are")
            raise LmmscoreError(f"{what}: no judge is called {name!r}{there_are}")


Setting = TypeVar("Setting")


def renamed_settings(
    settings: Mapping[str, Setting], scores: pd.DataFrame, renames: Mapping[str, str]
) -> dict[str, Setting]:
    """Return what is known of a judge's factors under their new names.

    Only what its own scores are renamed by counts: a rename may be of people's factors. What is
    called the overall now takes the place of the one there was.
    """
    own = {old: new for old, new in renames.items() if old in set(scores["factor"])}
    kept = {name: one for name, one in settings.items() if not replaced(name, own)}
    return {own.get(name, name): one for name, one in kept.items()}


def renamed_weights(
    by_judge: Mapping[str, Weights], judges: Mapping[str, pd.DataFrame], renames: Mapping[str, str]
) -> dict[str, Weights]:
    """Return the weights under the factors' new names, without judges that get another overall."""
    found: dict[str, Weights] = {}
    for judge, own in by_judge.items():
        table = judges[judge]
        new_names = {renames.get(str(factor)) for factor in table["factor"].unique()}
        # A factor that is called the overall now was not made by any weights.
        if OVERALL not in new_names:
            found[judge] = renamed_settings(own, table, renames)

    return found


def rename_factors(
    tables: Sequence[pd.DataFrame], renames: Mapping[str, str]
) -> list[pd.DataFrame]:
    """Return the tables with factors renamed in whichever has the old name.

    Raises where none has it, and where a table would then have two factors of one name: averaging
    them would make a number that stands in no file.
    """
    known = sorted({factor for table in tables for factor in table["factor"].unique()})
    for old, new in renames.items():
        if old not in known:
            there_are = alternatives(old, known, "there are")
            given = typed("--rename", f"{old}={new}")
            raise FileProblem(f"{given}: no factor is called {old}{there_are}")

    found = []
    for table in tables:
        factors = [str(factor) for factor in table["factor"].unique()]
        refuse_merging(factors, renames)
        gone = [name for name in factors if replaced(name, renames)]
        if gone and set(factors) & set(renames):
            table = table[~table["factor"].isin(gone)]

        found.append(table.assign(factor=table["factor"].replace(dict(renames))))

    return found


def match_factors(
    ratings: pd.DataFrame,
    tables: Sequence[pd.DataFrame],
    names: Sequence[tuple[str, str]],
    renames: Mapping[str, str],
    notes: list[str],
) -> pd.DataFrame:
    """Return the ratings with factors under the judges' names where that is plain.

    `names` are other names of factors, each with its name in the scores. Names are the same
    whatever the case and whether words are joined by spaces, underscores or hyphens.
    """
    ours = {str(name) for table in tables for name in table["factor"].unique()}
    theirs = [str(name) for name in ratings["factor"].unique()]
    meant: dict[str, set[str]] = {}
    for other, name in (*((one, one) for one in ours), *names):
        meant.setdefault(_joined(other), set()).add(renames.get(name, name))

    found = {name: meant.get(_joined(name), set()) & ours for name in theirs if name not in ours}
    taken = [name for name in theirs if name in ours]
    taken += [name for several in found.values() for name in several]
    plain = {
        old: name
        for old, several in found.items()
        for name in several
        if len(several) == taken.count(name) == 1
    }
    if plain:
        notes.append(f"people's factors taken as the judge's: {_pairs(plain)}")
    return ratings.assign(factor=ratings["factor"].replace(plain))


def _joined(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name.casefold())


def _pairs(renames: Mapping[str, str]) -> str:
    """Return the first few of what is taken as what."""
    told = ", ".join(f"{old} as {new}" for old, new in list(renames.items())[:EXAMPLES])
    return told + (", …" if len(renames) > EXAMPLES else "")


def derived_overall(scores: pd.DataFrame) -> str:
    """Return how an overall was made that no file and no dialog gave; "" where it was given.

    Every line of such an overall says the same about itself in its reason.
    """
    rows = scores[(scores["factor"] == OVERALL) & (scores["outcome"] == Outcome.SCORED)]
    if rows.empty or "reason" not in rows:
        return ""
    said = rows["reason"].unique()
    return str(said[0]) if len(said) == 1 else ""


def _chosen(wanted: Sequence[str], shared: list[str]) -> list[str]:
    for factor in wanted:
        if factor not in shared:
            both_have = alternatives(factor, shared, "both have")
            raise FileProblem(f"{typed('--factor', factor)}: not both scored and rated{both_have}")

    return [factor for factor in shared if factor in wanted]


def _near(name: str, others: Sequence[str]) -> str:
    """Return the name that means the same, by its letters or its words; "" if none does."""
    close = get_close_matches(name, others, n=1, cutoff=0.7)
    if close:
        return close[0]
    words = _words(name)
    return next((other for other in others if words <= _words(other)), "")


def _words(name: str) -> set[str]:
    return set(name.lower().replace("-", "_").split("_"))


def separate_tasks(
    judges: Mapping[str, pd.DataFrame], ratings: pd.DataFrame, notes: list[str]
) -> tuple[list[pd.DataFrame], pd.DataFrame]:
    """Return scores and ratings whose ids mean one item each: TASK/ID where tasks share an id.

    Then an item is in one task for every judge: the first that any side names. Raises where a side
    names no tasks to go by: pairing by the id alone would average different edits.
    """
    rated = ratings.assign(task=ratings["task"].fillna("") if "task" in ratings else "")
    sides = {**judges, "people's ratings": rated}
    found = None
    for name, side in sides.items():
        found = found or _in_several_tasks(name, side)

    if found := found or _in_different_tasks(sides, notes):
        who, item, tasks = found
        for name, side in sides.items():
            if side["task"].eq("").all():
                verb = "names" if name in judges else "name"
                raise FileProblem(
                    f"{who}: item {item!r} occurs in several tasks ({tasks}), but {name} {verb} no "
                    "task; add a column `task`, or give every item its own id"
                )

        # Named alike wherever only case and punctuation differ, as methods are.
        spelt: dict[str, str] = {}
        for name, side in sides.items():
            named = side["task"].map(lambda task: spelt.setdefault(key_of(task), task))
            sides[name] = side.assign(task=named, item=named + "/" + side["item"])

    known: dict[str, str] = {}
    for side in sides.values():
        known = _task_by_item(side) | known

    *tables, rated = sides.values()
    tables = [
        table.assign(task=[known.get(item, "") for item in table["item"]]) for table in tables
    ]
    return tables, rated.drop(columns="task")


def _task_by_item(side: pd.DataFrame) -> dict[str, str]:
    named = side.loc[side["task"] != "", ["item", "task"]].drop_duplicates("item")
    return dict(zip(named["item"], named["task"], strict=True))


def _in_different_tasks(
    sides: Mapping[str, pd.DataFrame], notes: list[str]
) -> tuple[str, str, str] | None:
    """Return two sides, an item that they put in different tasks, and those tasks.

    Only where they have other tasks in common. Else one may call the tasks by other names, and it
    is noted that ids alone say which items are the same.
    """
    by_side = {name: _task_by_item(side) for name, side in sides.items()}
    for (one, first), (other, second) in combinations(by_side.items(), 2):
        both = sorted(first.keys() & second.keys())
        differing = [item for item in both if key_of(first[item]) != key_of(second[item])]
        if not differing:
            continue

        item = differing[0]
        tasks = _some({first[item], second[item]})
        if {*map(key_of, first.values())} & {*map(key_of, second.values())}:
            return f"{one} and {other}", item, tasks

        notes.append(
            f"{one} and {other} have no task in common: their items are taken as the same by id "
            f"alone ({len(differing)}), for example {item!r} in {tasks}"
        )

    return None


def _in_several_tasks(name: str, side: pd.DataFrame) -> tuple[str, str, str] | None:
    """Return whose table it is, the first item that occurs in several tasks, and those tasks."""
    known = side[["item", "task"]].drop_duplicates()
    several = known[known.duplicated("item", keep=False)]
    if several.empty:
        return None
    item = str(several["item"].iloc[0])
    return name, item, _some(set(several[several["item"] == item]["task"]))


def apply_aliases(tables: Sequence[pd.DataFrame], aliases: Mapping[str, str]) -> list[pd.DataFrame]:
    """Return the tables with items and methods under the names of an alias table."""
    known = {name for table in tables for name in (*table["item"], *table["method"])}
    for old in aliases:
        if old not in known:
            given = typed("--alias", f"{old}={aliases[old]}")
            raise FileProblem(f"{given}: nothing is called {old}")

    names = dict(aliases)
    return [
        table.assign(item=table["item"].replace(names), method=table["method"].replace(names))
        for table in tables
    ]


def _refuse_ratings_twice(ratings: pd.DataFrame) -> None:
    """Raise where a rater rated an edit twice, as an alias may make it seem."""
    twice = ratings[ratings.duplicated([*EDIT, "rater", "factor"])]
    if not twice.empty:
        first = twice.iloc[0]
        rater = f"rater {first['rater']} has" if first["rater"] else "there are"
        raise FileProblem(
            f"{rater} two ratings of {first['item']!r}, {first['method']} ({first['factor']}); an "
            "alias may have given two edits one name: keep one of them"
        )


def keep_methods(tables: Sequence[pd.DataFrame], wanted: Sequence[str]) -> list[pd.DataFrame]:
    """Return the tables with these methods alone. Raises for one that none of them has."""
    known = sorted({str(name) for table in tables for name in table["method"].unique()})

    for name in wanted:
        if name not in known:
            there_are = alternatives(name, known, "there are")
            raise FileProblem(f"{typed('--method', name)}: no such method{there_are}")

    return [table[table["method"].isin(list(wanted))] for table in tables]


def match_methods(
    judge: str, scores: pd.DataFrame, ratings: pd.DataFrame, notes: list[str]
) -> pd.DataFrame:
    """Return the scores with the methods' names that people used, where that is plain."""
    ours, theirs = set(scores["method"]), set(ratings["method"])
    if ours & theirs:
        return _same_keys(judge, scores, "method", theirs, notes)

    if ours == {""} and len(theirs) == 1:
        method = next(iter(theirs))
        notes.append(f"{judge} names no method; taken as {method}, the only one people rated")
        return scores.assign(method=method)

    if theirs == {""} and len(ours) == 1:
        method = next(iter(ours))
        notes.append(
            f"people's ratings name no method; taken as {method}, the only one {judge} has"
        )
        return scores.assign(method="")

    if theirs == {""}:
        raise FileProblem(
            f"{judge}: scores are of {len(ours)} methods ({_some(ours)}), but the ratings name "
            "none; say which column does: --method-column NAME"
        )

    matched = _same_keys(judge, scores, "method", theirs, notes)
    if set(matched["method"]) & theirs:
        return matched

    raise FileProblem(
        f"{judge}: no method matches; the judge has {_some(ours)}, people rated {_some(theirs)}; "
        "give the pairs with --alias OLD=NEW, or a file of them with --aliases FILE"
    )


def _same_keys(
    judge: str,
    scores: pd.DataFrame,
    column: str,
    theirs: set[str],
    notes: list[str],
    key_of: Callable[[str], str] = key_of,
) -> pd.DataFrame:
    """Return the scores with names made people's that have the same key as theirs.

    As a rule, these differ in case and punctuation alone. Only where it is plain: no two names of a
    side may have the same key.
    """
    ours = {str(name) for name in scores[column].unique()}
    mine = _by_key(ours - theirs, key_of)
    people = _by_key(theirs - ours, key_of)
    renames = {
        names[0]: people[key][0]
        for key, names in mine.items()
        if len(names) == 1 == len(people.get(key, ()))
    }
    if not renames:
        return scores

    notes.append(f"{judge}: {column}s matched though written differently: {_pairs(renames)}")
    return scores.assign(**{column: scores[column].replace(renames)})


def _by_key(names: set[str], key_of: Callable[[str], str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        found.setdefault(key_of(name), []).append(name)
    return found


def check_items(judge: str, scores: pd.DataFrame, theirs: set[str], notes: list[str]) -> None:
    """Raise where no item matches, with examples; note those that do not where some do."""
    ours = set(scores["item"])
    if not ours & theirs:
        raise FileProblem(
            f"{judge}: no item was both judged and rated; the judge has for example "
            f"{_some(ours)}, people {_some(theirs)}; give the pairs with --aliases FILE"
        )

    left = (
        (theirs - ours, "people rated but the judge did not score"),
        (ours - theirs, "nobody rated"),
    )
    for only, which in left:
        if only:
            notes.append(f"{judge}: items {which} ({len(only)}), for example {_some(only)}")


def note_methods(
    judge: str,
    scores: pd.DataFrame,
    ratings: pd.DataFrame,
    wanted: Sequence[str],
    notes: list[str],
) -> None:
    """Note the methods that one side alone has, with the alias to type for one that looks misspelt.

    Where some methods are `wanted`, only these, and what they may be called on the other side.
    """
    ours, theirs = set(scores["method"]), set(ratings["method"])
    only_ours, only_theirs = sorted(ours - theirs), sorted(theirs - ours)
    near = {name: get_close_matches(name, only_ours, n=1, cutoff=0.7) for name in only_theirs}
    meant = {name: close[0] for name, close in near.items() if close}
    asked = set(wanted)
    for name, other in meant.items():
        if {name, other} & set(wanted):
            asked |= {name, other}

    left = (
        (only_theirs, "people rated but the judge did not score"),
        (only_ours, "nobody rated"),
    )
    for only, which in left:
        shown = [name for name in only if name in asked or not wanted]
        said = [repr(name) + _alias_for(name, meant) for name in shown]
        if said:
            notes.append(f"{judge}: methods {which} ({len(said)}), left out: {listed(said, 8)}")


def _alias_for(name: str, meant: Mapping[str, str]) -> str:
    if name not in meant:
        return ""
    option = typed("--alias", f"{name}={meant[name]}")
    return f" (did you mean {meant[name]}? if so, correct it, or run agree with {option})"


def _without_ending(item: str) -> str:
    """Return an id without case and file ending; the 5 of `v1.5` is none."""
    return re.sub(r"\.[a-z][a-z0-9]{1,4}$", "", item.replace("\\", "/").lower())


def _plain(item: str) -> str:
    """Return an id without case, file ending and folder."""
    return _without_ending(item).rsplit("/", 1)[-1]


def _some(names: set[str]) -> str:
    listed = sorted(names)
    more = ", …" if len(listed) > EXAMPLES else ""
    return ", ".join(repr(name) for name in listed[:EXAMPLES]) + more


def overall_ratings(
    ratings: pd.DataFrame,
    factors: list[str],
    weights: Mapping[str, float] | None,
    turned: Mapping[str, float] | None = None,
) -> tuple[pd.DataFrame, int]:
    """Return overalls derived from whole ratings, and how many ratings lack a factor.

    Factors in `turned` count as lowest + highest, which is given there, less the rating.
    """
    shares = pd.Series(dict(weights) if weights else 1.0, index=factors, dtype=float)
    rows = ratings[ratings["factor"].isin(factors)]
    wide = rows.pivot(index=["item", "method", "rater"], columns="factor", values="score")
    whole = wide[factors].dropna()
    for name, ends in (turned or {}).items():
        if name in factors:
            whole[name] = ends - whole[name]

    scores = (whole * shares).sum(axis=1) / shares.sum()
    made = scores.rename("score").reset_index().assign(factor=OVERALL, where="")
    return made.reindex(columns=ratings.columns), len(wide) - len(whole)


def turned_sums(
    names: Collection[str], known: Mapping[str, Mapping[str, Limits]], stated: Limits | None
) -> dict[str, float]:
    """Return lowest + highest of the factors whose low scores are the good ones.

    By the scale stated for people, else by a judge's. Where neither is known it is 0: another sum
    would move every overall by the same amount.
    """
    found = {}
    for name in names:
        ends = [stated, *(own.get(name) for own in known.values())]
        found[name] = next((one[0] + one[1] for one in ends if one is not None), 0.0)

    return found


def note_ranks(ratings: pd.DataFrame, notes: list[str]) -> None:
    """Note the factors that look like ranks: a rank's 1 is its best.

    They do if every rater gave the methods of every item 1, 2, … up to their number, tied methods
    sharing the best, the worst or the mean of their ranks.
    """
    for factor, rows in ratings.groupby("factor", sort=False):
        size = rows.groupby(["item", "rater"])["score"].transform("size")
        rows = rows[size > 2]
        if rows.empty or rows["score"].min() < 1 or rows["score"].max() > size.max():
            continue

        groups = rows.groupby(["item", "rater"])["score"]
        ways = [groups.rank(method=method) for method in ("min", "max", "average")]
        if any((ranked == rows["score"]).all() for ranked in ways):
            notes.append(
                f"people's {factor} looks like ranks, 1 to the number of methods of each item: if "
                "1 is the best, agreement shows as a negative correlation; give scores, or ranks "
                "counted from the worst"
            )


@dataclass(frozen=True, slots=True)
class ScaleMatch:
    """What is known about the scales of judge and people on one factor."""

    judge: Limits
    people: Limits
    same: bool
    stated: bool
    """Whether both are known, and not only seen."""
    no_scale: str = ""
    """Why the judge's scores are on no scale at all, such as the mean of judges on several."""

    @property
    def why(self) -> str:
        """Why differences of scores mean nothing; "" where they do."""
        if self.no_scale:
            return self.no_scale
        if self.same:
            return ""

        judge, people = _span(self.judge), _span(self.people)
        if self.stated:
            return f"people rate on {people} and the judge on {judge}; add --rescale"

        return (
            f"people used {people} and the judge's scale is {judge}, as far as is known; state "
            "people's with --scale LOW,HIGH, and add --rescale if they differ"
        )


ScaleMatches = dict[str, ScaleMatch]
"""What is known about one judge's scales, by factor."""


def _span(ends: Limits) -> str:
    return f"{ends[0]:g} to {ends[1]:g}"


def scales_by_judge(
    scales: Mapping[str, Limits | Scales], judges: Sequence[str]
) -> dict[str, Scales]:
    """Return each judge's scales; limits given by factor alone hold for every judge."""
    shared = {name: given for name, given in scales.items() if not isinstance(given, Mapping)}
    own = {name: given for name, given in scales.items() if isinstance(given, Mapping)}
    _refuse_unknown("scales", own, judges)
    return {judge: {**shared, **own.get(judge, {})} for judge in judges}


def widest(known: Mapping[str, Scales]) -> dict[str, Limits]:
    """Return for each factor the limits that hold the scales of all judges."""
    found: dict[str, Limits] = {}
    for scales in known.values():
        for factor, (low, high) in scales.items():
            lowest, highest = found.get(factor, (low, high))
            found[factor] = min(low, lowest), max(high, highest)

    return found


def match_scales(
    ratings: pd.DataFrame, scores: pd.DataFrame, scales: Scales, stated: Limits | None
) -> ScaleMatches:
    """Return for each factor people rated whether their scale is the judge's.

    The judge's scale is known from its run or dialog; people's is what was stated. Where either is
    not, the range seen over all factors of that kind must do.
    """
    factors = [str(factor) for factor in ratings["factor"].unique()]
    ends = {factor: scales.get(factor) or _seen(scores, factor) for factor in factors}
    found = {}
    for factor in factors:
        alike = [other for other in factors if ends[other] == ends[factor]]
        people = stated or _seen(ratings[ratings["factor"].isin(alike)], factor)
        known = factor in scales and stated is not None
        same = people == ends[factor] if known else alike_ranges(ends[factor], people)
        found[factor] = ScaleMatch(ends[factor], people, same, known)

    return found


def matches_of_all(judges: Sequence[ScaleMatches]) -> ScaleMatches:
    """Return the factors for which the same is known about every judge's scale."""
    first, *others = judges
    return {
        factor: match
        for factor, match in first.items()
        if all(own[factor] == match for own in others)
    }


def taken_scales(matches: Mapping[str, ScaleMatches]) -> list[str]:
    """Return which scales are taken to be the same, though nobody stated both."""
    every = [match for own in matches.values() for match in own.values()]
    seen = [match for match in every if not match.why and not match.stated]
    told = [f"people's {_span(one.people)}, the judge's {_span(one.judge)}" for one in seen]
    return list(dict.fromkeys(told))


def scale_notes(matches: Mapping[str, ScaleMatches]) -> list[str]:
    """Return what cannot be said because of different or unknown scales, once for each reason.

    A reason that does not hold for every judge names those that it holds for.
    """
    judges_by_reason: dict[str, list[str]] = {}
    for judge, own in matches.items():
        for why in dict.fromkeys(match.why for match in own.values() if match.why):
            judges_by_reason.setdefault(why, []).append(judge)

    notes = []
    for why, judges in judges_by_reason.items():
        whose = "" if len(judges) == len(matches) else f"{', '.join(judges)}: "
        notes.append(
            f"{whose}no MAE, no bias and no alternative annotator test, because {why}: mae and "
            "bias compare different scales"
        )

    return notes


def shared_matches(members: Sequence[ScaleMatches], *, standardised: bool) -> ScaleMatches:
    """Return what is known about the scale of the mean of several judges, by factor."""
    common = matches_of_all(members)
    found: ScaleMatches = {}
    for factor, first in members[0].items():
        each = [own[factor] for own in members]
        # Seen ranges differ a little even where every judge is on people's scale.
        on_one = all(match.same and match.people == first.people for match in each)
        problem = ""
        if standardised:
            problem = "the panel's scores are in standard deviations, on no scale of people's"
        elif factor not in common and not on_one:
            problem = "the panel is the mean of judges on different scales, as far as is known"

        found[factor] = replace(first, no_scale=problem)

    return found


def alike_ranges(judge: Limits, people: Limits) -> bool:
    """Tell whether two ranges are one scale: each covers most of what they cover together."""
    if judge[0] == judge[1] and people[0] <= judge[0] <= people[1]:
        # A judge that always says the same shows no scale of its own.
        return True
    both = min(judge[1], people[1]) - max(judge[0], people[0])
    either = max(judge[1], people[1]) - min(judge[0], people[0])
    return either > 0 and both / either >= _SAME_SHARE


def _seen(rows: pd.DataFrame, factor: str) -> Limits:
    """Return the range over all factors; for the overall its own where it goes beyond theirs.

    An overall of 0 to 100 beside factors of 1 to 10 says nothing about their scale, nor they of it.
    """
    overall = rows["factor"] == OVERALL
    scores, own = rows.loc[~overall, "score"], rows.loc[overall, "score"]
    beyond = own.min() < scores.min() or own.max() > scores.max()
    if scores.empty or (factor == OVERALL and beyond):
        scores = own
    if scores.isna().all():
        return float("-inf"), float("inf")
    return float(scores.min()), float(scores.max())


def check_scale(
    ratings: pd.DataFrame,
    judges: Sequence[pd.DataFrame],
    scales: Scales,
    stated: Limits | None,
    notes: list[str],
) -> None:
    """Raise where a few ratings are off the scale: a 70 among sevens is a typo.

    That is the stated scale, else the factor's own where most ratings are on it. Without either, a
    rating beyond the range of the judges' scores may be right, and is noted.
    """
    every = pd.concat(judges)
    for factor, rows in ratings.groupby("factor", sort=False):
        known = stated or scales.get(str(factor))
        low, high = known or _seen(every, str(factor))
        off = rows[(rows["score"] < low) | (rows["score"] > high)]
        if off.empty:
            continue

        few = len(off) <= _FEW_OFF * len(rows) or len(off) == 1
        if stated is not None or (known is not None and few):
            told = _told(off, "is off the scale of", (low, high))
            remedy = "correct them, or state --scale LOW,HIGH"
            if stated is not None:
                remedy = "correct them, or the ends in --scale"

            raise FileProblem(f"{told}; {remedy}")

        if known is None and few:
            told = _told(off, "is beyond the judge, which gave", (low, high))
            notes.append(f"{told}; to refuse such ratings state --scale LOW,HIGH")


def _told(off: pd.DataFrame, how: str, ends: Limits) -> str:
    """Return the first rating that is off, where it stands, and how many there are."""
    first = off.iloc[0]
    more = f" (and {counted(len(off) - 1, 'more rating')})" if len(off) > 1 else ""
    score = f"{first['factor']} {first['score']:g}"
    return f"{first['where']}: {score} {how} {_span(ends)}{more}"


def rescale(
    ratings: pd.DataFrame, matches: ScaleMatches
) -> tuple[pd.DataFrame, ScaleMatches, list[str]]:
    """Return the ratings mapped linearly onto the judge's scale,
    and what was done to which factor."""
    scores = ratings["score"].astype(float).copy()
    done: dict[str, list[str]] = {}
    after = dict(matches)
    for factor, match in matches.items():
        if match.same:
            continue

        (low, high), (to_low, to_high) = match.people, match.judge
        if not high > low:
            continue

        rows = ratings["factor"] == factor
        scores[rows] = to_low + (scores[rows] - low) / (high - low) * (to_high - to_low)
        after[factor] = ScaleMatch(match.judge, match.judge, True, match.stated)
        seen = "" if match.stated else ", as far as is known"
        how = f"people's {_span(match.people)} mapped onto {_span(match.judge)}{seen}"
        done.setdefault(how, []).append(factor)

    told = [f"{how} ({', '.join(factors)})" for how, factors in done.items()]
    return ratings.assign(score=scores), after, told


@dataclass(frozen=True)
class Paired:
    """One factor, one judge: the edits that both the judge and people have a number for."""

    edits: pd.DataFrame
    """item, method, task, judge, people; one row per edit, sorted by item and method."""
    left_out: dict[str, int]
    unrated: pd.DataFrame
    """The same columns for edits the judge scored and nobody rated; `people` is NaN."""

    @cached_property
    def judge(self) -> Floats:
        """The judge's scores."""
        return self.edits["judge"].to_numpy(dtype=float)

    @cached_property
    def people(self) -> Floats:
        """People's mean ratings."""
        return self.edits["people"].to_numpy(dtype=float)

    @cached_property
    def item(self) -> Ints:
        """Codes of items, from 0."""
        return np.asarray(pd.factorize(self.edits["item"])[0], dtype=np.int64)

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self.item.max()) + 1 if len(self.edits) else 0

    @cached_property
    def _by_method(self) -> tuple[Ints, list[str]]:
        codes, names = pd.factorize(self.edits["method"], sort=True)
        return np.asarray(codes, dtype=np.int64), [str(name) for name in names]

    @property
    def method(self) -> Ints:
        """Codes of methods, from 0, in the order of their names."""
        return self._by_method[0]

    @property
    def methods(self) -> list[str]:
        """The methods, sorted by name."""
        return self._by_method[1]

    @cached_property
    def tasks(self) -> list[str]:
        """The task categories, sorted by name, without the unnamed one."""
        return sorted(set(self.edits["task"]) - {""})

    def grid(self, column: str) -> Floats:
        """Return a table with a row per item and a column per method, NaN without an edit."""
        grid = np.full((self.items, len(self.methods)), np.nan)
        grid[self.item, self.method] = self.edits[column]
        return grid

    def of_task(self, task: str) -> Paired:
        """Return the same for one task category."""
        edits = self.edits[self.edits["task"] == task].reset_index(drop=True)
        return Paired(edits, {}, self.unrated)


def judge_means(judge: str, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the judge's mean over repeats of each edit, with its task; `scores` are of one factor.

    Raises for an edit with two lines for one repeat: which of them counts cannot be guessed.
    """
    rows = scores[scores["outcome"] == Outcome.SCORED]
    if not rows.duplicated(EDIT).any():
        # One repeat: nothing to average, and a score keeps its last digit.
        return rows[[*EDIT, "score", "task"]].rename(columns={"score": "judge"})

    twice = rows[rows.duplicated([*EDIT, "repeat"])]
    if not twice.empty:
        first = twice.iloc[0]
        raise FileProblem(
            f"{judge}: {first['factor']} of {first['item']!r}, {first['method']} occurs twice "
            f"for repeat {first['repeat']}; keep one"
        )

    grouped = rows.groupby(EDIT, sort=True).agg(judge=("score", "mean"), task=("task", "first"))
    return grouped.reset_index()


def pair(scores: pd.DataFrame, means: pd.DataFrame, rated: RatedEdits) -> Paired:
    """Pair a judge's mean scores of a factor with people's mean ratings, edit by edit."""
    both = means.merge(rated.edits, on=EDIT, how="outer", sort=True)
    complete = both["judge"].notna() & both["people"].notna()
    unrated = both[both["people"].isna()].reset_index(drop=True)
    left_out = {NOBODY_RATED: len(unrated)} if len(unrated) else {}
    left_out |= _why_unscored(scores, both[both["judge"].isna()])
    return Paired(both[complete].reset_index(drop=True), left_out, unrated)


def _why_unscored(scores: pd.DataFrame, unscored: pd.DataFrame) -> dict[str, int]:
    """Return how many rated edits the judge has no score for, by outcome."""
    if unscored.empty:
        return {}

    outcomes = scores.drop_duplicates(EDIT)[[*EDIT, "outcome"]]
    merged = unscored[EDIT].merge(outcomes, on=EDIT, how="left")
    found = {}
    for outcome, count in merged["outcome"].fillna("").value_counts().items():
        told = f"rated edits the judge left {outcome}"
        found[told if outcome else "rated edits the judge never saw"] = int(count)

    return found


@dataclass(frozen=True, slots=True)
class RatedEdits:
    """One factor's ratings as arrays, and the edit that each edit code stands for."""

    ratings: Ratings
    edits: pd.DataFrame
    """item, method and people's mean; one row per edit."""

    def judge_by_edit(self, means: pd.DataFrame) -> Floats:
        """Return the judge's score of each rated edit, NaN where it has none."""
        return self.edits.merge(means, on=EDIT, how="left")["judge"].to_numpy(dtype=float)

    def only(self, kept: Bools) -> RatedEdits:
        """Return some of the edits, with their ratings; `kept` says for each edit whether."""
        if kept.all():
            return self

        some = self.ratings.chosen(kept[self.ratings.edit])
        edit, item, rater = (
            np.unique(codes, return_inverse=True)[1] for codes in (some.edit, some.item, some.rater)
        )
        return RatedEdits(
            Ratings(some.value, edit, item, rater), self.edits[kept].reset_index(drop=True)
        )

    def without_rater(self, rater: int) -> pd.DataFrame:
        """Return the edits with people's mean without one rater, if anyone else rated them."""
        ratings = self.ratings
        kept = ratings.rater != rater
        size = np.bincount(ratings.edit[kept], minlength=len(self.edits))
        total = np.bincount(
            ratings.edit[kept], weights=ratings.value[kept], minlength=len(self.edits)
        )
        means = np.divide(total, size, out=np.full(len(total), np.nan), where=size > 0)
        return self.edits.assign(people=means).dropna(subset=["people"])


def rated_edits(ratings: pd.DataFrame) -> RatedEdits:
    """Return one factor's ratings as arrays."""
    rows = ratings.sort_values([*EDIT, "rater"])
    edit = np.asarray(rows.groupby(EDIT, sort=False).ngroup(), dtype=np.int64)
    value = rows["score"].to_numpy(dtype=float)
    means = np.bincount(edit, weights=value) / np.bincount(edit)
    edits = rows[EDIT].drop_duplicates().reset_index(drop=True).assign(people=means)
    item = pd.factorize(rows["item"])[0].astype(np.int64)
    rater = pd.factorize(rows["rater"], sort=True)[0].astype(np.int64)
    return RatedEdits(Ratings(value, edit, item, rater), edits)
