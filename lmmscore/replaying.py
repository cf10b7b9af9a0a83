"""What a published transcript says: scores, overall, slips of arithmetic, ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from lmmscore.dialog import load_dialog
from lmmscore.errors import FileProblem
from lmmscore.importers.dialogs.chat import factors_in
from lmmscore.parsing import Reading, read_overall, read_text
from lmmscore.rules import Overall, overall
from lmmscore.scales import Factor, Scale, weights_of
from lmmscore.scores import SLIP_TOLERANCE
from lmmscore.transcripts import Transcript, load_transcript

_STATED = Factor(
    key="overall",
    symbol="S_all",
    name="Overall Score",
    aliases=("Overall",),
    scale=Scale(min=0, max=100),
)


@dataclass(frozen=True, slots=True)
class ReplayedEdit:
    """One edit of a transcript."""

    position: int
    method: str | None
    scores: dict[str, Fraction]
    overall: Fraction | None
    stated: Fraction | None
    reason: str
    """Why there is no overall; empty where there is one."""

    @property
    def slipped(self) -> bool:
        """Whether the judge's own overall is not what its sub-scores give."""
        if self.overall is None or self.stated is None:
            return False
        return abs(self.overall - self.stated) > SLIP_TOLERANCE

    @property
    def label(self) -> str:
        """The method, or the image's number where no method is known."""
        return self.method or f"image {self.position}"


@dataclass(frozen=True, slots=True)
class Replayed:
    """A transcript as read."""

    path: Path
    factors: tuple[Factor, ...]
    edits: tuple[ReplayedEdit, ...]

    @property
    def complete(self) -> bool:
        """Whether every edit has an overall score."""
        return all(edit.overall is not None for edit in self.edits)

    @property
    def ranking(self) -> list[ReplayedEdit]:
        """The scored edits, best first; equal ones in the order they were shown."""
        scored = [edit for edit in self.edits if edit.overall is not None]
        return sorted(scored, key=lambda edit: -(edit.overall or 0))

    @property
    def slips(self) -> list[ReplayedEdit]:
        """The edits whose stated overall is wrong."""
        return [edit for edit in self.edits if edit.slipped]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        return {
            "transcript": self.path.name,
            "edits": [_edit_dict(edit) for edit in self.edits],
            "slips": [
                {
                    "position": edit.position,
                    "method": edit.method,
                    "overall": _number(edit.overall),
                    "stated_overall": _number(edit.stated),
                }
                for edit in self.slips
            ],
            "ranking": [edit.label for edit in self.ranking],
        }


def _edit_dict(edit: ReplayedEdit) -> dict[str, Any]:
    made = {
        "position": edit.position,
        "method": edit.method,
        "scores": {key: _number(score) for key, score in edit.scores.items()},
        "overall": _number(edit.overall),
        "stated_overall": _number(edit.stated),
    }
    return made if not edit.reason else {**made, "reason": edit.reason}


def _number(score: Fraction | None) -> int | float | None:
    if score is None:
        return None
    return score.numerator if score.denominator == 1 else float(score)


def read_transcript(path: Path, dialog: str | None = None) -> Replayed:
    """Return what a transcript says. Factors are those it asks for itself, or a dialog's."""
    transcript = load_transcript(path)
    n = len(transcript.edit_turns)
    if n == 0:
        raise FileProblem(
            f"{path}: no edited images are shown in it (`<img src=…>` or `![](…)` after the source image)"
        )
    factors, rule = _protocol(transcript, dialog)
    where, reading = _scoring(transcript, factors, n)
    stated = _stated(transcript, where, n)
    edits = []
    for position, method in enumerate(transcript.methods, 1):
        scores = {
            f.key: reading.scores[position, f.key]
            for f in factors
            if (position, f.key) in reading.scores
        }
        total = overall(rule, factors, scores, weights_of(factors))
        faults = [str(fault) for fault in reading.faults_of(position)]
        reason = "" if total is not None else "; ".join(faults) or "no score was found"
        edits.append(ReplayedEdit(position, method, scores, total, stated.get(position), reason))
    return Replayed(path, tuple(factors), tuple(edits))


def _protocol(transcript: Transcript, dialog: str | None) -> tuple[Sequence[Factor], Overall]:
    if dialog is not None:
        loaded = load_dialog(dialog)
        return loaded.factors, loaded.overall
    factors = factors_in(transcript)
    if any(factor.weight is None for factor in factors):
        # A transcript that states no weights but scores the four factors of lmm-score is weighed as that is.
        usual = load_dialog("lmm-score").factors
        if {factor.key for factor in factors} == {factor.key for factor in usual}:
            return usual, "weighted"
        return factors, "mean"
    return factors, "weighted"


def _scoring(transcript: Transcript, factors: Sequence[Factor], n: int) -> tuple[int, Reading]:
    """Return the last reply with a complete verdict, else the one with most scores, and what it says."""
    after = transcript.edit_turns[-1]
    readings = [
        (number, read_text(turn.reply, factors, n))
        for number, turn in enumerate(transcript.turns)
        if number >= after and turn.reply
    ]
    if not readings:
        raise FileProblem(
            f"{transcript.path}: no reply after the last edited image, so nothing is scored"
        )
    complete = [found for found in readings if found[1].complete]
    return complete[-1] if complete else max(readings, key=lambda found: len(found[1].scores))


def _stated(transcript: Transcript, scoring: int, n: int) -> dict[int, Fraction]:
    """Return the overall scores the judge states: in a later reply, or under their own name beside the others."""
    for turn in reversed(transcript.turns[scoring + 1 :]):
        stated = read_overall(turn.reply, n)
        if stated:
            return stated
    reading = read_text(transcript.turns[scoring].reply, (_STATED,), n)
    return {position: score for (position, _), score in reading.scores.items()}
