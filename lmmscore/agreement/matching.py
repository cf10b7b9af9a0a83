"""Bring a judge's scores and people's ratings to the same names, or say exactly what does not match.

What can be mended by an option raises FileProblem with the option to type; what merely leaves something out is a
note. Nothing is dropped without one of the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import pandas as pd

from lmmscore.errors import FileProblem, nearest
from lmmscore.records import OVERALL

EXAMPLES = 3


def rename_factors(
    tables: Sequence[pd.DataFrame], renames: Mapping[str, str]
) -> list[pd.DataFrame]:
    """Return the tables with factors renamed in whichever has the old name. Raises where none has it."""
    known = sorted({factor for table in tables for factor in table["factor"].unique()})
    for old in renames:
        if old not in known:
            close = get_close_matches(old, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else f" (there are: {', '.join(known)})"
            raise FileProblem(f"--rename {old}={renames[old]}: no factor is called {old}{hint}")
    return [table.assign(factor=table["factor"].replace(dict(renames))) for table in tables]


def shared_factors(
    judge: str, scores: pd.DataFrame, ratings: pd.DataFrame, wanted: Sequence[str], notes: list[str]
) -> list[str]:
    """Return the factors both sides have, overall last; only the wanted ones, where some are.

    Factors that look like one thing under two names are an error with the rename to type; others are noted.
    """
    ours, theirs = list(scores["factor"].unique()), list(ratings["factor"].unique())
    both = [factor for factor in ours if factor in theirs]
    if wanted:
        return _chosen(wanted, both)
    only_ours = [factor for factor in ours if factor not in theirs]
    only_theirs = [factor for factor in theirs if factor not in ours]
    near = {name: _near(name, only_ours) for name in only_theirs}
    if any(near.values()):
        told = "; ".join(
            f"people's {name} ~ the judge's {other}" for name, other in near.items() if other
        )
        typed = " ".join(f"--rename {name}={other}" for name, other in near.items() if other)
        raise FileProblem(
            f"{judge}: factors do not match ({told}); if they are the same, add {typed}"
        )
    if not set(both) - {OVERALL} and only_theirs and only_ours:
        raise FileProblem(
            f"{judge}: no factor matches; the judge has {', '.join(only_ours)}, people {', '.join(only_theirs)}; "
            f"for example --rename {only_theirs[0]}={only_ours[0]}"
        )
    for names, where in (
        (only_ours, "people did not rate"),
        (only_theirs, f"{judge} has no scores for"),
    ):
        if names:
            notes.append(
                f"left out, because {where} {'it' if len(names) == 1 else 'them'}: {', '.join(names)}"
            )
    return sorted(both, key=lambda factor: factor == OVERALL)


def _chosen(wanted: Sequence[str], shared: list[str]) -> list[str]:
    for factor in wanted:
        if factor not in shared:
            listed = f"(both have: {', '.join(shared)})"
            raise FileProblem(
                f"--factor {factor}: not both scored and rated{nearest(factor, shared)} {listed}"
            )
    return sorted(
        (factor for factor in shared if factor in wanted), key=lambda factor: factor == OVERALL
    )


def _near(name: str, others: Sequence[str]) -> str:
    """Return the name that means the same, judging by its letters or its words; nothing if none does."""
    close = get_close_matches(name, others, n=1, cutoff=0.7)
    words = set(name.lower().replace("-", "_").split("_"))
    contained = [
        other for other in others if words <= set(other.lower().replace("-", "_").split("_"))
    ]
    return (close or contained or [""])[0]


def tell_tasks_apart(
    judges: Mapping[str, pd.DataFrame], ratings: pd.DataFrame
) -> tuple[list[pd.DataFrame], pd.DataFrame]:
    """Return scores and ratings whose item ids mean one item each: TASK/ID where an id occurs in several tasks.

    Raises where a side names no tasks to go by: pairing by the id alone would average different edits.
    """
    tables = list(judges.values())
    sides = {
        **judges,
        "people's ratings": ratings if "task" in ratings else ratings.assign(task=""),
    }
    found = next(
        ((name, *said) for name, side in sides.items() if (said := _in_several_tasks(side))), None
    )
    if found is None:
        return tables, ratings.drop(columns="task", errors="ignore")
    who, item, tasks = found
    for name, side in sides.items():
        if side["task"].eq("").all():
            raise FileProblem(
                f"{who}: item {item!r} occurs in several tasks ({tasks}), but {name} "
                f"{'names' if name in judges else 'name'} no task; add a column `task`, or give every item its own id"
            )
    *tables, ratings = (
        side.assign(item=side["task"] + "/" + side["item"]) for side in sides.values()
    )
    return tables, ratings.drop(columns="task")


def _in_several_tasks(side: pd.DataFrame) -> tuple[str, str] | None:
    """Return the first item that occurs in several tasks, and those tasks."""
    known = side[["item", "task"]].drop_duplicates()
    several = known[known.duplicated("item", keep=False)]
    if several.empty:
        return None
    item = str(several["item"].iloc[0])
    return item, _some(set(several[several["item"] == item]["task"]))


def match_methods(
    judge: str, scores: pd.DataFrame, ratings: pd.DataFrame, notes: list[str]
) -> pd.DataFrame:
    """Return the scores with the methods' names people used, where one side names none and it is plain."""
    ours, theirs = set(scores["method"]), set(ratings["method"])
    if ours & theirs:
        return scores
    if ours == {""} and len(theirs) == 1:
        method = next(iter(theirs))
        notes.append(f"{judge} names no method; taken as {method}, the only one people rated")
        return scores.assign(method=method)
    if theirs == {""} and len(ours) == 1:
        notes.append(
            f"people's ratings name no method; taken as {next(iter(ours))}, the only one {judge} has"
        )
        return scores.assign(method="")
    if theirs == {""}:
        raise FileProblem(
            f"{judge}: scores are of {len(ours)} methods ({_some(ours)}), but the ratings name none; "
            "say which column does: --method-column NAME"
        )
    raise FileProblem(
        f"{judge}: no method matches; the judge has {_some(ours)}, people rated {_some(theirs)}; "
        "rename them in one file"
    )


def check_items(judge: str, scores: pd.DataFrame, ratings: pd.DataFrame, notes: list[str]) -> None:
    """Raise where no item matches, with examples of both sides; note those that do not where some do."""
    ours, theirs = set(scores["item"]), set(ratings["item"])
    if not ours & theirs:
        raise FileProblem(
            f"{judge}: no item was both judged and rated; the judge has for example {_some(ours)}, people "
            f"{_some(theirs)}{_hint(ours, theirs)}"
        )
    for only, told in (
        (theirs - ours, "people rated but the judge did not score"),
        (ours - theirs, "nobody rated"),
    ):
        if only:
            notes.append(f"{judge}: items {told} ({len(only)}), for example {_some(only)}")


def _hint(ours: set[str], theirs: set[str]) -> str:
    """Return what would make ids match, where it is as plain as a file ending or a folder."""
    plain = {
        item: item.replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0].lower()
        for item in ours | theirs
    }
    same = {plain[item] for item in ours} & {plain[item] for item in theirs}
    return " (they match without folder, file ending and case: make them alike)" if same else ""


def _some(names: set[str]) -> str:
    listed = sorted(names)
    return ", ".join(repr(name) for name in listed[:EXAMPLES]) + (
        ", …" if len(listed) > EXAMPLES else ""
    )


def add_overall(
    ratings: pd.DataFrame,
    factors: Sequence[str],
    weights: Mapping[str, float] | None,
    notes: list[str],
) -> pd.DataFrame:
    """Return the ratings with an overall for each rating: people's own, else as the judge's is made.

    That is the weighted mean where there are weights, else the mean of the factors. A rating that lacks a factor
    gets no overall: a mean over what happens to be there is another quantity.
    """
    wanted = [factor for factor in (weights or factors) if factor != OVERALL]
    if OVERALL in set(ratings["factor"]) or not set(wanted) <= set(factors) or not wanted:
        return ratings
    shares = pd.Series(weights or dict.fromkeys(wanted, 1.0), dtype=float)
    rows = ratings[ratings["factor"].isin(wanted)]
    wide = rows.pivot(index=["item", "method", "rater"], columns="factor", values="score")[
        list(shares.index)
    ]
    whole = wide.dropna()
    scores = (whole * shares).sum(axis=1) / shares.sum()
    lacking = len(wide) - len(whole)
    left = f"; {lacking} ratings lack a factor and have none" if lacking else ""
    how = "weighted as the judge's" if weights else f"the mean of their {len(wanted)} factors"
    notes.append(f"people gave no overall; it is {how}{left}")
    added = scores.rename("score").reset_index().assign(factor=OVERALL, where="")
    return pd.concat([ratings, added[ratings.columns]], ignore_index=True)
