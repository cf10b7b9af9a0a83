"""Anchors: a few items asked again at each run, to see whether the judge has drifted.

Their answers are kept apart from the run's scores, one round after the other, in anchors.csv.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lmmscore.errors import FileProblem, ImageProblem, counted
from lmmscore.images import Pictures
from lmmscore.ledger import Asker
from lmmscore.plan import Protocol
from lmmscore.records import OVERALL, Outcome
from lmmscore.scores import SCORE_COLUMNS, Result, as_cells
from lmmscore.session import Question, Session, Shot
from lmmscore.tables import defuse, restore

FIRST_REPEAT = 1_000_001
"""Anchor rounds are repeats from here on, so that the ledger holds each as a new question."""

_COLUMNS = ("round", "asked", "model", "question", *SCORE_COLUMNS)


def append_round(
    path: Path, results: Sequence[Result], protocol: Protocol, asker: Asker, pictures: Pictures
) -> None:
    """Add a round's scores to the file, numbered after those that are there."""
    before = read_rounds(path)
    number = 1 + max((int(row["round"]) for row in before), default=0)
    asked_at = datetime.now(UTC).isoformat(timespec="seconds")
    about = (number, asked_at, defuse(", ".join(_models(results))))
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_COLUMNS)
            for row in before:
                writer.writerow([row.get(column, "") for column in _COLUMNS])

            for result in results:
                question = question_of(protocol.sessions(result.unit), asker, pictures)
                writer.writerows([*about, question, *as_cells(score)] for score in result.scores)

        part.replace(path)
    except OSError as error:
        raise FileProblem(f"{path}: cannot be written ({error.strerror or error})") from error


def _models(results: Sequence[Result]) -> list[str]:
    """Return who answered, each once."""
    models = {
        exchange.reply.model
        for result in results
        for played in result.played
        for exchange in played.exchanges
    }
    return sorted(models - {""})


def read_rounds(path: Path) -> list[dict[str, str]]:
    """Return the rows of every round; none where the file is not there yet."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def question_of(sessions: Sequence[Session], asker: Asker, pictures: Pictures) -> str:
    """Return a digest of all that a judge is told, shown and asked with.

    The judge's own words are no part of it: rounds with equal digests differ by the judge alone.
    """
    told = []
    for session in sessions:
        for question in session.outline():
            shown = _digests(question, pictures)
            examples = [
                [shot.text, shot.heard, _digests(shot, pictures)] for shot in question.shots
            ]
            # Only where there are any: digests of earlier rounds stay what they were.
            more = [examples] if examples else []
            told.append([question.system, question.text, question.schema, shown, *more])

    parts = json.dumps([asker.judge, asker.parameters, told], ensure_ascii=False)
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _digests(said: Question | Shot, pictures: Pictures) -> list[str]:
    """Return the digest of every picture that is shown; "" of one that cannot be read."""
    found = []
    for shown in said.images:
        try:
            found.append(pictures.get(shown.path).digest)
        except ImageProblem:
            # Its session has failed, and says why.
            found.append("")

    return found


Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class Drift:
    """How far the anchors' scores have moved since the first round asked in the same way."""

    rounds: int
    """The number of the latest round."""
    against: int | None = None
    """The round it is compared with; None where there is none to compare with."""
    factor: str = OVERALL
    edits: int = 0
    """How many edits are scored in both rounds."""
    mean: float | None = None
    """Mean of latest minus earlier, over the items of those edits; None where there are none."""
    half_width: float | None = None
    """Half of the 95% interval of that mean; None for fewer than two items."""
    models: tuple[str, str] = ("", "")
    """Who answered the earlier round, and who the latest."""
    items: int = 0
    """How many items those edits are of."""
    unscored: tuple[str, ...] = ()
    """Which anchors of the latest round have no score, and why."""
    apart: str = ""
    """Why the latest round cannot be compared, though there are earlier ones."""

    def __str__(self) -> str:
        missing = f"; no score: {'; '.join(self.unscored)}" if self.unscored else ""
        return f"anchors: {self._says()}{missing}"

    def _says(self) -> str:
        latest = f"round {self.rounds}"
        if self.apart:
            return f"{latest} {self.apart}"
        if self.mean is None:
            return f"{latest} is recorded; the next run will show any drift against it"

        earlier = f"round {self.against}"
        if self.models[0] != self.models[1]:
            latest, earlier = f"{latest} ({self.models[1]})", f"{earlier} ({self.models[0]})"

        moved, over = f"{self.mean:+.2f}", f"mean over {counted(self.edits, 'edit')}"
        if self.half_width is not None:
            moved = f"{moved} ± {self.half_width:.2f}"
            over = f"{over}, 95% interval over {self.items} items"

        whom = "the overall" if self.factor == OVERALL else self.factor
        return f"{latest} against {earlier}: {moved} on {whom} ({over})"


def drift(path: Path) -> Drift:
    """Compare the latest round with the first that was asked in the same way."""
    rows = read_rounds(path)
    rounds: dict[int, list[Row]] = {}
    factor = _standing(rows)
    for row in rows:
        if row["factor"] == factor:
            rounds.setdefault(int(row["round"]), []).append(row)

    if not rounds:
        return Drift(0, apart="is still to be asked")

    number = max(rounds)
    latest = rounds.pop(number)
    unscored = tuple(_unscored(latest))
    for earlier in sorted(rounds):
        pairs = _pairs(rounds[earlier], latest)
        if pairs:
            models = (restore(rounds[earlier][0]["model"]), restore(latest[0]["model"]))
            moved = _moved_by_item(pairs)
            return Drift(
                number,
                against=earlier,
                factor=factor,
                edits=len(pairs),
                mean=statistics.fmean(moved),
                half_width=_half_width(moved),
                models=models,
                items=len(moved),
                unscored=unscored,
            )

    before = [row for each in rounds.values() for row in each]
    return Drift(number, factor=factor, unscored=unscored, apart=_apart(before, latest))


def _standing(rows: Sequence[Row]) -> str:
    """Return the factor that represents an edit: the overall, or else the dialog's last."""
    # A method without an edit has a row for the overall under every dialog.
    factors = [row["factor"] for row in rows if row["outcome"] != Outcome.MISSING]
    return OVERALL if not factors or OVERALL in factors else factors[-1]


def _pairs(earlier: Sequence[Row], latest: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Return the rows of edits that were asked about in the same way and scored both times."""
    known = {_edit(row): row for row in earlier if row["score"]}
    then_and_now = ((known.get(_edit(row)), row) for row in latest if row["score"])
    # Other parameters, words, pictures or companions move scores without any drift of the judge.
    return [
        (t, now)
        for t, now in then_and_now
        if t is not None and now["question"] == t.get("question")
    ]


def _moved_by_item(pairs: Sequence[tuple[Row, Row]]) -> list[float]:
    """Return the mean change of each item: edits judged in one conversation move together, so that
    they do not count as independent."""
    gaps: dict[str, list[float]] = {}
    for then, now in pairs:
        gaps.setdefault(now["item"], []).append(float(now["score"]) - float(then["score"]))

    return [statistics.fmean(each) for each in gaps.values()]


def _edit(row: Row) -> tuple[str, str]:
    return row["item"], row["method"]


def _apart(before: Sequence[Row], latest: Sequence[Row]) -> str:
    """Return why the latest round is compared with none; empty where it is the first."""
    scored = {_edit(row) for row in latest if row["score"]}
    if not scored:
        return "has no score, so drift cannot be measured"

    known = {_edit(row) for row in before if row["score"]}
    then = "the next run like this one will show any drift against it"
    if scored & known:
        return (
            "was asked with other settings than the rounds before (the judge's parameters, the "
            f"dialog, the pictures or their order), so they are not compared; {then}"
        )

    return (
        f"has no scored edit in common with the rounds before, so they are not compared; {then}"
        if known
        else ""
    )


def _unscored(latest: Sequence[Row]) -> list[str]:
    """Return a line for each reason why edits of an anchor have no score."""
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for row in latest:
        # That a method made no edit was known before the run began.
        if not row["score"] and row["outcome"] != Outcome.MISSING:
            why = (restore(row["item"]), row["outcome"], restore(row["reason"]))
            reasons.setdefault(why, []).append(restore(row["method"]))

    return [
        f"{item} ({', '.join(methods) if len(methods) <= 3 else f'{len(methods)} edits'}): "
        f"{outcome}: {reason}"
        for (item, outcome, reason), methods in reasons.items()
    ]


def _half_width(moved: Sequence[float]) -> float | None:
    if len(moved) < 2:
        return None
    from scipy.stats import t

    return float(t.ppf(0.975, len(moved) - 1)) * statistics.stdev(moved) / math.sqrt(len(moved))
