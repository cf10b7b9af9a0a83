"""Judge and people side by side: one pair of numbers an edit, and a count of every edit that has only one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from lmmscore.agreement.arrays import Floats, Ints
from lmmscore.agreement.people import Ratings
from lmmscore.records import Outcome

EDIT = ["item", "method"]


@dataclass(frozen=True, slots=True)
class Paired:
    """One factor, one judge: the edits that both the judge and people have a number for."""

    edits: pd.DataFrame
    """item, method, task, judge, people; a row an edit, sorted by item and method."""
    left_out: dict[str, int]
    unrated: pd.DataFrame
    """The same columns for edits the judge scored and nobody rated; `people` is NaN."""

    @property
    def judge(self) -> Floats:
        """The judge's scores."""
        return self.edits["judge"].to_numpy(dtype=float)

    @property
    def people(self) -> Floats:
        """People's mean ratings."""
        return self.edits["people"].to_numpy(dtype=float)

    @property
    def item(self) -> Ints:
        """Codes of items, from 0."""
        return np.asarray(pd.factorize(self.edits["item"])[0], dtype=np.int64)

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self.edits["item"].nunique())

    @property
    def methods(self) -> list[str]:
        """The methods, sorted by name."""
        return sorted(self.edits["method"].unique())

    def grid(self, column: str) -> Floats:
        """Return a table with a row an item and a column a method, NaN where there is no edit."""
        grid = np.full((self.items, len(self.methods)), np.nan)
        place = {method: number for number, method in enumerate(self.methods)}
        grid[self.item, self.edits["method"].map(place).to_numpy(dtype=int)] = self.edits[column]
        return grid

    def of_task(self, task: str) -> Paired:
        """Return the same for one task category."""
        return Paired(
            self.edits[self.edits["task"] == task].reset_index(drop=True), {}, self.unrated
        )


def judge_means(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the judge's mean over repeats for each edit it scored, with its task; `scores` are of one factor."""
    rows = scores[scores["outcome"] == Outcome.SCORED]
    if not rows.duplicated(EDIT).any():
        # One repeat: nothing to average, and a score keeps its last digit.
        return rows[[*EDIT, "score", "task"]].rename(columns={"score": "judge"})
    grouped = rows.groupby(EDIT, sort=True).agg(judge=("score", "mean"), task=("task", "first"))
    return grouped.reset_index()


def pair(scores: pd.DataFrame, means: pd.DataFrame, rated: RatedEdits) -> Paired:
    """Pair a judge's mean scores of a factor with people's mean ratings, edit by edit."""
    both = means.merge(rated.edits, on=EDIT, how="outer", sort=True)
    complete = both["judge"].notna() & both["people"].notna()
    unrated = both[both["people"].isna()].reset_index(drop=True)
    left_out = {"edits nobody rated": len(unrated)} if len(unrated) else {}
    left_out |= _why_unscored(scores, both[both["judge"].isna()])
    return Paired(both[complete].reset_index(drop=True), left_out, unrated)


def _why_unscored(scores: pd.DataFrame, unscored: pd.DataFrame) -> dict[str, int]:
    """Return how many rated edits the judge has no score for, by outcome."""
    if unscored.empty:
        return {}
    outcomes = scores.drop_duplicates(EDIT)[[*EDIT, "outcome"]]
    counts = (
        unscored[EDIT].merge(outcomes, on=EDIT, how="left")["outcome"].fillna("").value_counts()
    )
    return {
        f"rated edits the judge left {outcome}"
        if outcome
        else "rated edits the judge never saw": int(count)
        for outcome, count in counts.items()
    }


@dataclass(frozen=True, slots=True)
class RatedEdits:
    """One factor's ratings as arrays, and the edit that each edit code stands for."""

    ratings: Ratings
    edits: pd.DataFrame
    """item, method and people's mean; a row an edit."""
    items: int

    def judge_by_edit(self, means: pd.DataFrame) -> Floats:
        """Return the judge's score of each rated edit, NaN where it has none."""
        return self.edits.merge(means, on=EDIT, how="left")["judge"].to_numpy(dtype=float)


def rated_edits(ratings: pd.DataFrame) -> RatedEdits:
    """Return one factor's ratings as arrays."""
    rows = ratings.sort_values([*EDIT, "rater"])
    edit = np.asarray(rows.groupby(EDIT, sort=False).ngroup(), dtype=np.int64)
    value = rows["score"].to_numpy(dtype=float)
    means = np.bincount(edit, weights=value) / np.bincount(edit)
    edits = rows[EDIT].drop_duplicates().reset_index(drop=True).assign(people=means)
    item, items = pd.factorize(rows["item"])
    rater = pd.factorize(rows["rater"], sort=True)[0]
    return RatedEdits(
        Ratings(value, edit, item.astype(np.int64), rater.astype(np.int64)), edits, len(items)
    )
