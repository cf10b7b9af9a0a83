"""Anchors: a few items asked anew at each run, to see whether the judge has drifted.

Their answers are kept apart from the run's scores, one round after the other, in anchors.csv.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from lmmscore.csvsafe import defuse
from lmmscore.errors import FileProblem, ImageProblem
from lmmscore.images import Pictures
from lmmscore.ledger import Asker
from lmmscore.planning import Plan, Unit
from lmmscore.runner import Result
from lmmscore.scores import SCORE_COLUMNS, as_cells
from lmmscore.session import Session, slots_for

FIRST_REPEAT = 1_000_001
"""Anchor rounds count as repeats from here on, so that each round is a question of its own to the ledger."""

_COLUMNS = ("round", "asked", "model", "question", *SCORE_COLUMNS)


def anchor_units(plan: Plan, repeat: int) -> Iterator[Unit]:
    """Yield the anchors' units: shown as in the first repeat, asked as a repeat of their own."""
    benchmark = replace(plan.benchmark, items=plan.anchors)
    for unit in replace(plan, benchmark=benchmark, repeats=1, anchors=()):
        sessions = tuple(replace(session, repeat=repeat) for session in unit.sessions)
        yield replace(unit, repeat=repeat, sessions=sessions)


def append_round(path: Path, results: Sequence[Result], asker: Asker, pictures: Pictures) -> None:
    """Add a round's scores to the file, numbered after those that are there."""
    before = read_rounds(path)
    number = 1 + max((int(row["round"]) for row in before), default=0)
    models = {
        e.reply.model for result in results for played in result.played for e in played.exchanges
    }
    answered = ", ".join(sorted(filter(None, models)))
    about = (number, datetime.now(UTC).isoformat(timespec="seconds"), defuse(answered))
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_COLUMNS)
            writer.writerows([row.get(column, "") for column in _COLUMNS] for row in before)
            for result in results:
                question = question_of(result.unit, asker, pictures)
                writer.writerows([*about, question, *as_cells(score)] for score in result.scores)
        part.replace(path)
    except OSError as error:
        raise FileProblem(f"{path}: cannot be written ({error.strerror or error})") from error


def read_rounds(path: Path) -> list[dict[str, str]]:
    """Return the rows of every round; none where the file is not there yet."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def question_of(unit: Unit, asker: Asker, pictures: Pictures) -> str:
    """Return a digest of all that a judge is told and shown in a unit, and with which parameters it is asked.

    The judge's own words are no part of it: rounds with equal digests differ by the judge alone.
    """
    sessions = [_told_and_shown(session, pictures) for session in unit.sessions]
    parts = json.dumps(
        [asker.judge, asker.parameters, sessions], sort_keys=True, ensure_ascii=False
    )
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _told_and_shown(session: Session, pictures: Pictures) -> list[object]:
    dialog, item = session.dialog, session.item
    kinds = sorted(set(dialog.images_shown(session.settings)) - {"edit"})
    paths = [
        *(item.images[kind] for kind in kinds),
        *(item.edits[method] for method in session.order),
    ]
    shown = [_digest(pictures, path) for path in paths]
    return [dialog.digest, slots_for(session), session.structured, shown]


def _digest(pictures: Pictures, path: Path) -> str:
    try:
        return pictures.get(path).digest
    except ImageProblem:
        return ""  # its session has failed, and says why
