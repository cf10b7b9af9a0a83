"""Pairwise accuracy with ties, and its tie-calibrated form (Deutsch, Foster and Freitag, 2023).

A pair of edits is judged correctly when the judge orders it as people do, a tie counting as an order of its own.
Calibrated, the judge is credited with a tie wherever its two scores differ by no more than a threshold, chosen so
that accuracy is greatest; without it a judge with a fine scale, which hardly ever ties, is punished for that alone.
"""

from __future__ import annotations

import numpy as np

from lmmscore.agreement.arrays import SAME, Bools, Floats, Ints, snap

MOST_EDITS = 5_000
"""Pairs grow with the square of the edits; above this many a calibration would not fit in memory."""


def accuracy(judge: Floats, people: Floats, threshold: float) -> float:
    """Return the share of pairs ordered alike, with the judge tied up to the threshold; NaN for no pairs."""
    n = len(judge)
    if n < 2:
        return float("nan")
    judge, people = snap(judge), snap(people)
    right = sum(
        int(_alike(judge[row + 1 :] - judge[row], people[row + 1 :] - people[row], threshold).sum())
        for row in range(n - 1)
    )
    return right / (n * (n - 1) / 2)


def correct_matrix(judge: Floats, people: Floats, threshold: float) -> Bools:
    """Return for every two edits whether the judge orders them as people do."""
    judge, people = snap(judge), snap(people)
    return _alike(judge[:, None] - judge[None, :], people[:, None] - people[None, :], threshold)


def calibrate(judge: Floats, people: Floats, group: Ints) -> float:
    """Return the threshold that makes accuracy greatest, averaged over groups; the smallest of equals.

    One threshold serves all groups. At the item level all edits are one group; within items each item is one.
    """
    gaps, gains = _gains(snap(judge), snap(people), group)
    if not len(gaps):
        return 0.0
    order = np.argsort(gaps, kind="stable")
    gaps, running = gaps[order], np.cumsum(gains[order])
    # Only after the last of equal gaps is a sum complete: a threshold takes in all of them.
    last = np.append(np.diff(gaps) > SAME, True)
    best = int(np.argmax(np.where(last, running, -np.inf)))
    return float(gaps[best]) if running[best] > SAME else 0.0


def _gains(judge: Floats, people: Floats, group: Ints) -> tuple[Floats, Floats]:
    """Return for each pair its gap in the judge's score and what calling it a tie would add to accuracy."""
    gaps, gains = [], []
    for name in np.unique(group):
        x, y = judge[group == name], people[group == name]
        first, second = np.triu_indices(len(x), 1)
        if not len(first):
            continue
        by_judge, by_people = x[first] - x[second], y[first] - y[second]
        now = _alike(by_judge, by_people, 0.0)
        gaps.append(np.abs(by_judge))
        gains.append(((by_people == 0).astype(float) - now) / len(first))
    empty = np.zeros(0)
    return (np.concatenate(gaps), np.concatenate(gains)) if gaps else (empty, empty)


def _alike(by_judge: Floats, by_people: Floats, threshold: float) -> Bools:
    tied = np.abs(by_judge) <= threshold + SAME
    return np.asarray(np.where(tied, 0, np.sign(by_judge)) == np.sign(by_people))
