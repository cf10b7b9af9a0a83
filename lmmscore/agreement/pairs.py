"""Pairwise accuracy with ties, and its tie-calibrated form (Deutsch, Foster and Freitag, 2023).

A pair of edits is judged correctly when the judge orders it as people do, a tie counting as an order of its own.
Calibrated, the judge is credited with a tie wherever its two scores differ by no more than a threshold, chosen so
that accuracy is greatest; without it a judge with a fine scale, which hardly ever ties, is punished for that alone.
"""

from __future__ import annotations

import numpy as np

from lmmscore.agreement.arrays import SAME, Bools, Floats, Ints, snap

MOST_CELLS = 5_000
"""Distinct pairs of scores in a group above which calibrating would not fit in memory."""


def accuracy(judge: Floats, people: Floats, threshold: float) -> float:
    """Return the share of pairs ordered alike, with the judge tied up to the threshold; NaN for no pairs."""
    n = len(judge)
    if n < 2:
        return float("nan")
    x, y, size = _cells(judge, people)
    # Edits with the same two scores are tied for both sides: every pair of them is judged correctly.
    right = float((size * (size - 1) / 2).sum())
    for row in range(len(x) - 1):
        alike = _alike(x[row + 1 :] - x[row], y[row + 1 :] - y[row], threshold)
        right += float(size[row] * (size[row + 1 :] @ alike))
    return right / (n * (n - 1) / 2)


def _cells(judge: Floats, people: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct pairs of scores and how many edits have each."""
    found, size = np.unique(snap(judge) + 1j * snap(people), return_counts=True)
    return found.real.copy(), found.imag.copy(), size.astype(float)


def distinct(judge: Floats, people: Floats) -> int:
    """Return how many distinct pairs of scores there are."""
    return len(_cells(judge, people)[0])


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
    """Return for each pair of scores its gap by the judge and what calling it a tie would add to accuracy."""
    gaps, gains = [np.zeros(0)], [np.zeros(0)]
    for members in np.split(np.argsort(group, kind="stable"), np.flatnonzero(np.diff(np.sort(group))) + 1):
        n = len(members)
        x, y, size = _cells(judge[members], people[members])
        first, second = np.triu_indices(len(x), 1)
        if n < 2:
            continue
        by_judge, by_people = x[first] - x[second], y[first] - y[second]
        gain = (by_people == 0).astype(float) - _alike(by_judge, by_people, 0.0)
        gaps.append(np.abs(by_judge))
        gains.append(gain * size[first] * size[second] / (n * (n - 1) / 2))
    return np.concatenate(gaps), np.concatenate(gains)


def _alike(by_judge: Floats, by_people: Floats, threshold: float) -> Bools:
    tied = np.abs(by_judge) <= threshold + SAME
    return np.asarray(np.where(tied, 0, np.sign(by_judge)) == np.sign(by_people))
