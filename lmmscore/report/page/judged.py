"""A run as the page takes it up: its settings, its scores edit by edit, its conversations."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmmscore.benchmark import load_benchmark
from lmmscore.errors import LedgerError, LmmscoreError
from lmmscore.leaderboard.weights import scales_of, weights_of
from lmmscore.ledger import Ledger
from lmmscore.records import OVERALL, Item, Outcome
from lmmscore.report.conversation import Talk, Talks
from lmmscore.run_folder import Run

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Edit:
    """What is known of one method's edit of one item, over all repeats."""

    scores: dict[str, list[float]] = field(default_factory=dict)
    """By factor: the score of each repeat that gave one."""
    outcome: Outcome = Outcome.SCORED
    """The first that was not `scored`, if any."""
    reason: str = ""
    positions: dict[int, int] = field(default_factory=dict)
    """By repeat: where it was shown."""

    def mean(self, factor: str) -> float | None:
        """Return the mean over repeats, or None where no repeat gave a score."""
        known = self.scores.get(factor)
        return sum(known) / len(known) if known else None

    def spread(self, factor: str) -> float | None:
        """Return how far apart the repeats are; None with fewer than two."""
        known = self.scores.get(factor, [])
        return max(known) - min(known) if len(known) > 1 else None


@dataclass
class Judged:
    """One run, read once."""

    name: str
    run: Run
    images: Path | None = None
    """Where the benchmark's pictures are now, if not where they were."""

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What was asked."""
        return self.run.settings

    @cached_property
    def scales(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest score of each factor, as far as the dialog says."""
        return scales_of(self.settings, None)

    @cached_property
    def weights(self) -> dict[str, float] | None:
        """The weights of the run's own dialog."""
        return weights_of(self.settings)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The tidy table."""
        return self.run.scores()

    @cached_property
    def methods(self) -> list[str]:
        """The methods, in the order of the benchmark."""
        seen = [str(name) for name in self.scores["method"].unique()]
        known = [name for name in self.settings.get("methods") or () if name in seen]
        return known + [name for name in seen if name not in known]

    @cached_property
    def factors(self) -> list[str]:
        """The factors as they occur in the table, the overall first."""
        seen = [str(name) for name in self.scores["factor"].unique()]
        return sorted(seen, key=lambda name: name != OVERALL)

    @cached_property
    def edits(self) -> dict[tuple[str, str], Edit]:
        """By item and method."""
        found: dict[tuple[str, str], Edit] = {}
        columns = ("item", "method", "repeat", "position", "factor", "score", "outcome", "reason")
        frame = self.scores[list(columns)]
        frame = frame.assign(position=frame["position"].fillna(0).astype(int))
        standing = OVERALL if OVERALL in self.factors else self.factors[-1]
        for row in zip(*(frame[name].tolist() for name in columns), strict=True):
            item, method, repeat, position, factor, score, outcome, reason = row
            edit = found.setdefault((item, method), Edit())
            if outcome == Outcome.SCORED:
                edit.scores.setdefault(factor, []).append(score)
            elif factor == standing and edit.outcome == Outcome.SCORED:
                edit.outcome, edit.reason = Outcome(outcome), reason
            if position:
                edit.positions[repeat] = position
        return found

    @cached_property
    def by_repeat(self) -> dict[tuple[str, str, int], dict[str, float]]:
        """By item, method and repeat: the scores there are."""
        found: dict[tuple[str, str, int], dict[str, float]] = {}
        columns = ("item", "method", "repeat", "factor", "score")
        scored = self.scores[self.scores["outcome"] == Outcome.SCORED]
        for item, method, repeat, factor, score in zip(
            *(scored[name].tolist() for name in columns), strict=True
        ):
            found.setdefault((item, method, repeat), {})[factor] = score
        return found

    @cached_property
    def items(self) -> list[tuple[str, str]]:
        """(item, task), in the order of the run."""
        pairs = self.scores[["item", "task"]].drop_duplicates()
        return [
            (str(item), str(task)) for item, task in zip(pairs["item"], pairs["task"], strict=True)
        ]

    @cached_property
    def sessions(self) -> list[dict[str, Any]]:
        """What is known of each session; nothing where the file was left behind."""
        return list(self.run.sessions()) if (self.run.path / "sessions.jsonl").is_file() else []

    @cached_property
    def talks(self) -> list[Talk]:
        """Every conversation."""
        with contextlib.ExitStack() as stack:
            ledger: Ledger | None = None
            with contextlib.suppress(LedgerError):
                ledger = stack.enter_context(Ledger(self.run.ledger_path, read_only=True))
            reader = Talks(self.run, ledger, self.images)
            return [reader.talk(line) for line in self.sessions]

    @property
    def apart(self) -> bool:
        """Whether each edit has a conversation of its own, so that none was shown before another."""
        return bool(self.talks) and all(talk.covers == "edit" for talk in self.talks)

    @cached_property
    def benchmark_items(self) -> Mapping[str, Item]:
        """The benchmark's items as they are now, for what the sessions do not tell; none where it is gone."""
        with contextlib.suppress(LmmscoreError, OSError):
            return {
                item.id: item
                for item in load_benchmark(Path(self.settings["benchmark_file"])).items
            }
        return {}

    def title(self, factor: str) -> str:
        """Return a factor's name in words."""
        for known in self.settings.get("factors") or ():
            if known["key"] == factor:
                return known["name"] or factor
        return "Overall" if factor == OVERALL else factor
