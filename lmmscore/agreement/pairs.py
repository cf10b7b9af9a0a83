"""Pairwise accuracy with ties, and its tie-calibrated form (Deutsch, Foster and Freitag, 2023).

A pair of edits is judged correctly when the judge orders it as people do, a tie counting as an order of its own.
Calibrated, the judge is credited with a tie wherever its two scores differ by no more than a threshold, chosen so
that accuracy is greatest; without it a judge with a fine scale, which hardly ever ties, is punished for that alone.
"""

from __future__ import annotations

import numpy as np

from lmmscore.agreement.arrays import SAME, Bools, Floats, snap

MOST_CELLS = 5_000
"""Distinct pairs of scores above which comparing every two of them would not fit in memory."""
MOST_SCORES, MOST_WORK = 4e6, 2e10
"""Size of a table of the judge's by people's scores, and multiplications, up to which such a table is used."""


def accuracy(judge: Floats, people: Floats, threshold: float) -> float:
    """Return the share of pairs ordered alike, with the judge tied up to the threshold; NaN for no pairs."""
    n = len(judge)
    if n < 2:
        return float("nan")
    right = _right_by_scores if short_scales(judge, people) else _right_by_cells
    return right(judge, people, threshold) / (n * (n - 1) / 2)


def _right_by_scores(judge: Floats, people: Floats, threshold: float) -> float:
    levels, tied, ordered = _score_tables(judge, people)
    gaps = levels[:, None] - levels[None, :]
    # Two edits the judge gave the same are counted from both, and each with itself.
    same = (float(np.trace(tied)) - len(judge)) / 2
    higher = gaps > SAME
    alike = np.where(gaps <= threshold + SAME, tied, ordered)
    return same + float(alike[higher].sum())


def agreeing_less_opposed(judge: Floats, people: Floats) -> float:
    """Return how many pairs both sides order alike, less those they order the other way; for short scales."""
    levels, tied, ordered = _score_tables(judge, people)
    size = np.bincount(np.searchsorted(levels, snap(judge)))
    opposed = np.outer(size, size) - tied - ordered
    return float((ordered - opposed)[np.tril_indices(len(levels), -1)].sum())


def _score_tables(judge: Floats, people: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the judge's scores and, for every two of them, the pairs people tie and the pairs they order alike."""
    levels, left = np.unique(snap(judge), return_inverse=True)
    scores, right = np.unique(snap(people), return_inverse=True)
    table = np.zeros((len(levels), len(scores)))
    np.add.at(table, (left, right), 1)
    return levels, table @ table.T, table @ (np.cumsum(table, axis=1) - table).T


def _right_by_cells(judge: Floats, people: Floats, threshold: float) -> float:
    x, y, size = _cells(judge, people)
    # Edits with the same two scores are tied for both sides: every pair of them is judged correctly.
    right = float((size * (size - 1) / 2).sum())
    for row in range(len(x) - 1):
        alike = _alike(x[row + 1 :] - x[row], y[row + 1 :] - y[row], threshold)
        right += float(size[row] * (size[row + 1 :] @ alike))
    return right


def short_scales(judge: Floats, people: Floats) -> bool:
    """Return whether a table of the judge's by people's scores is small enough to work with."""
    left, right = (len(np.unique(snap(side))) for side in (judge, people))
    return left * right <= MOST_SCORES and left**2 * right <= MOST_WORK


def _cells(judge: Floats, people: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct pairs of scores and how many edits have each."""
    found, size = np.unique(snap(judge) + 1j * snap(people), return_counts=True)
    return found.real.copy(), found.imag.copy(), size.astype(float)


def calibrate(judge: Floats, people: Floats) -> float | None:
    """Return the threshold that makes accuracy over all pairs greatest, the smallest of equals.

    None where scores are so many and so fine that not all thresholds can be tried.
    """
    if short_scales(judge, people):
        levels, tied, ordered = _score_tables(judge, people)
        first, second = np.tril_indices(len(levels), -1)
        return best_threshold(levels[first] - levels[second], (tied - ordered)[first, second])
    x, y, size = _cells(judge, people)
    if len(x) > MOST_CELLS:
        return None
    first, second = np.triu_indices(len(x), 1)
    by_judge, by_people = x[first] - x[second], y[first] - y[second]
    gain = (by_people == 0).astype(float) - _alike(by_judge, by_people, 0.0)
    return best_threshold(np.abs(by_judge), gain * size[first] * size[second])


def best_threshold(gaps: Floats, gains: Floats) -> float:
    """Return the gap up to which the gains of calling pairs ties add up to the most; 0 where none adds anything."""
    if not len(gaps):
        return 0.0
    order = np.argsort(gaps, kind="stable")
    gaps, running = gaps[order], np.cumsum(gains[order])
    # Only after the last of equal gaps is a sum complete: a threshold takes in all of them.
    last = np.append(np.diff(gaps) > SAME, True)
    complete = np.where(last, running, -np.inf)
    best = int(np.argmax(complete >= complete.max() - SAME))
    return float(gaps[best]) if running[best] > SAME else 0.0


def _alike(by_judge: Floats, by_people: Floats, threshold: float) -> Bools:
    tied = np.abs(by_judge) <= threshold + SAME
    return np.asarray(np.where(tied, 0, np.sign(by_judge)) == np.sign(by_people))
