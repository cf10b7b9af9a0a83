"""Anchors: a few items asked anew at each run, to see whether the judge has drifted.

Their answers are kept apart from the run's scores, one round after the other, in anchors.csv.
"""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from lmmscore.csvsafe import defuse
from lmmscore.errors import FileProblem
from lmmscore.planning import Plan, Unit
from lmmscore.records import OVERALL, Score
from lmmscore.scores import as_cells

FIRST_REPEAT = 1_000_001
"""Anchor rounds count as repeats from here on, so that each round is a question of its own to the ledger."""

_COLUMNS = (
    "round",
    "asked",
    "model",
    "item",
    "task",
    "method",
    "repeat",
    "position",
    "factor",
    "score",
    "outcome",
    "reason",
)


@dataclass(frozen=True, slots=True)
class Drift:
    """How the overall scores of the anchors have moved since the first round."""

    rounds: int
    edits: int
    mean: float | None
    """Mean of latest minus first, over edits scored in both; None where there are none."""
    half_width: float | None
    """Half of the 95% interval of that mean; None for fewer than two edits."""

    def __str__(self) -> str:
        if self.rounds < 2 or self.mean is None:
            return f"anchors: round {self.rounds} is recorded; the next run will show any drift against the first"
        interval = f" ± {self.half_width:.2f}" if self.half_width is not None else ""
        return (
            f"anchors: round {self.rounds} against round 1: {self.mean:+.2f}{interval} on the overall "
            f"(mean and 95% interval over {self.edits} edits)"
        )


def next_round(path: Path) -> int:
    """Return the number of the round that is due."""
    return 1 + max((int(row["round"]) for row in _rows(path)), default=0)


def anchor_units(plan: Plan, items: Sequence[str], round_number: int) -> Iterator[Unit]:
    """Yield the anchors' units: shown as in the first repeat, asked as a repeat of their own."""
    repeat = FIRST_REPEAT + round_number - 1
    for unit in replace(plan, repeats=1):
        if unit.item.id in items:
            sessions = tuple(replace(session, repeat=repeat) for session in unit.sessions)
            yield replace(unit, repeat=repeat, sessions=sessions)


def append_round(path: Path, round_number: int, scores: Sequence[Score], model: str) -> None:
    """Add a round's scores to the file."""
    asked = datetime.now(UTC).isoformat(timespec="seconds")
    new = not path.exists()
    try:
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([_COLUMNS] if new else [])
            writer.writerows([round_number, asked, defuse(model), *as_cells(score)] for score in scores)
    except OSError as error:
        raise FileProblem(f"{path}: cannot be written ({error.strerror or error})") from error


def drift(path: Path) -> Drift:
    """Return how far the latest round is from the first."""
    rounds: dict[int, dict[tuple[str, str], float]] = {}
    for row in _rows(path):
        if row["factor"] == OVERALL and row["score"]:
            rounds.setdefault(int(row["round"]), {})[row["item"], row["method"]] = float(row["score"])
    if not rounds:
        return Drift(next_round(path) - 1, 0, None, None)
    first, latest = rounds[min(rounds)], rounds[max(rounds)]
    moved = [latest[edit] - first[edit] for edit in latest if edit in first]
    mean = statistics.fmean(moved) if moved else None
    return Drift(max(rounds), len(moved), mean, _half_width(moved))


def _half_width(moved: Sequence[float]) -> float | None:
    if len(moved) < 2:
        return None
    from scipy.stats import t

    return float(t.ppf(0.975, len(moved) - 1)) * statistics.stdev(moved) / math.sqrt(len(moved))


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
