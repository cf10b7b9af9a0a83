"""Write the folder of a run: one writer at a time, derived files whole or not at all.

A folder holds one question: what would change the meaning of its scores is refused, what asks for a
part of it is refused with the command that ranks that part, and what asks for more extends it.
Whatever was planned and not reached stands in scores.csv as `unjudged`, so that no table can pass
for a finished one.
"""

from __future__ import annotations

import contextlib
import csv
import filecmp
import hashlib
import json
import os
import shlex
import shutil
import sqlite3
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from lmmscore.dialog import Dialog
from lmmscore.errors import FileProblem, LmmscoreError, counted, listed
from lmmscore.ledger import Ledger, digest_of, identity_of
from lmmscore.plan import Place, Plan, Protocol, Unit
from lmmscore.records import Outcome, Reply, Score
from lmmscore.run_folder import (
    OWN_PICTURES,
    TRANSCRIPTS,
    Manifest,
    Run,
    RunLock,
    SessionRecord,
    relative_to_run,
)
from lmmscore.scores import (
    Comparison,
    Result,
    as_cells,
    comparison_cells,
    header,
    unjudged_pair,
    unjudged_scores,
)
from lmmscore.tables import restore
from lmmscore.yaml_files import yaml_text

# --------------------------------------------------------------------------------------------------
# A cache of what was derived from a unit's replies.
#
# It is never a second source of truth: an entry holds only while the replies in the ledger, the
# pictures' files, the plan and the code that reads replies are unchanged. The file may be deleted
# at any time.
# --------------------------------------------------------------------------------------------------

NAME = ".readings.sqlite"
"""The file in a run's folder."""

COMMITTED_AT_ONCE = 500
_UNCONCERNED = {"cli", "report", "web", "leaderboard", "agreement", "stats", "importers", "judges"}
"""Packages that have no part in deriving a session's scores from its replies."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS reading (
  unit TEXT PRIMARY KEY,        -- which unit of the plan
  conditions TEXT NOT NULL,     -- digest of all that the derivation depends on, but for the replies
  keys TEXT NOT NULL,           -- JSON list of the ledger's keys, in the order of the conversation
  replies TEXT NOT NULL,        -- digest of those rows of the ledger
  derived TEXT NOT NULL         -- JSON: what was derived
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Derived:
    """What a run's folder says of a unit."""

    tables: dict[str, str]
    """By file, the lines that the unit adds to it."""
    counts: dict[str, int]
    models: list[tuple[str, str]] = field(default_factory=list)
    """Every model that answered, with its fingerprint."""
    exchanges: int = 0
    """How many replies it was derived from."""


class Readings:
    """The cached readings of a run. If anything is wrong with the file, the run does without."""

    def __init__(self, folder: Path, protocol: Protocol, asker: str, root: Path) -> None:
        self._path = folder / NAME
        self._root = f"{root}{os.sep}"
        self._context = _digest([reader_version(), _described(protocol), asker])
        self._uncommitted = 0
        # The first attempt removes a file that is not a database.
        self._connection = self._open() or self._open()
        self._is_new = self._one("SELECT unit FROM reading LIMIT 1") is None

    def _open(self) -> sqlite3.Connection | None:
        """Open the file; return None after removing one that cannot be used."""
        connection = None
        try:
            connection = sqlite3.connect(self._path)
            # It can be rebuilt at any time, so there is no need to wait for the disk.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(_SCHEMA)
        except sqlite3.Error:
            if connection is not None:
                connection.close()

            with contextlib.suppress(OSError):
                self._path.unlink()

            return None

        return connection

    def find(self, unit: Unit, ledger: Ledger) -> Derived | None:
        """Return what was derived from a unit if it still holds, else None."""
        if self._is_new:
            return None

        sql = "SELECT conditions, keys, replies, derived FROM reading WHERE unit = ?"
        name = _name(unit)
        row = self._one(sql, name)
        if row is None:
            return None

        conditions, keys, replies, derived = row
        if conditions != self._conditions(unit, name):
            return None
        if ledger.digest(orjson.loads(keys)) != replies:
            return None
        return Derived(**orjson.loads(derived))

    def get(self, unit: Unit) -> Derived | None:
        """Return what `find` found for a unit; None where the file has failed meanwhile."""
        row = self._one("SELECT derived FROM reading WHERE unit = ?", _name(unit))
        return None if row is None else Derived(**orjson.loads(row[0]))

    def keep(self, unit: Unit, replies: Mapping[str, Reply], derived: Derived) -> None:
        """Keep what was derived from replies, which are given by their keys in the ledger."""
        name = _name(unit)
        conditions = self._conditions(unit, name)
        if self._connection is None or conditions is None:
            return

        keys = orjson.dumps(list(replies)).decode()
        row = (name, conditions, keys, digest_of(replies), orjson.dumps(derived).decode())
        with self._doing_without() as connection:
            connection.execute("INSERT OR REPLACE INTO reading VALUES (?, ?, ?, ?, ?)", row)
            self._uncommitted += 1
            if self._uncommitted == COMMITTED_AT_ONCE:
                connection.commit()
                self._uncommitted = 0

    def close(self) -> None:
        """Commit what was kept, and close the file."""
        if self._connection is not None:
            with self._doing_without() as connection:
                connection.commit()
                connection.close()

            self._connection = None

    def _one(self, sql: str, *values: str) -> tuple[str, ...] | None:
        """Return the first row of a query; None where there is none, or no file."""
        row: tuple[str, ...] | None = None
        if self._connection is not None:
            with self._doing_without() as connection:
                row = connection.execute(sql, values).fetchone()
        return row

    @contextlib.contextmanager
    def _doing_without(self) -> Iterator[sqlite3.Connection]:
        """Give up the file at its first error; from then on nothing is found or kept."""
        assert self._connection is not None
        try:
            yield self._connection
        except sqlite3.Error:
            self._connection.close()
            self._connection = None

    def _conditions(self, unit: Unit, name: str) -> str | None:
        """Return a digest of all that a unit's scores depend on, its replies apart.

        A picture counts as unchanged while its file was not touched. Size and time of modification
        do not suffice, as archives and `cp -p` preserve them: the time of the last change of any
        kind, which cannot be set, must be the same too.
        """
        item = unit.item
        try:
            files = [self._file(kind, path) for kind, path in item.images.items()]
            files += [self._file(method, item.edits[method]) for method in unit.shown]
        except OSError:
            return None

        about = [item.task, item.instruction, dict(item.fields)]
        return _digest([self._context, name, about, files])

    def _file(self, name: str, path: Path) -> tuple[str, str, int, int, int]:
        return name, str(path).removeprefix(self._root), *_stamp(path)


def _name(unit: Unit) -> str:
    # With the order: a pair that is shown in both is two units of the same methods.
    return json.dumps([unit.item.id, unit.repeat, unit.methods, unit.shown])


def _digest(parts: Iterable[object]) -> str:
    # Not JSON: a file's name may not be valid Unicode, which repr escapes.
    return hashlib.sha256(repr(list(parts)).encode()).hexdigest()


def _described(protocol: Protocol) -> list[object]:
    """Return everything in a protocol that a reading depends on, its own pictures included."""
    dialogs = [dialog.model_dump(mode="json") for dialog in protocol.dialogs]
    suite = protocol.suite.model_dump(mode="json") if protocol.suite else None
    own = [_stamp(dialog.file(name)) for dialog in protocol.dialogs for name in dialog.files]
    held = (protocol.structured, protocol.structured_turns, protocol.reader)
    return [dialogs, suite, dict(protocol.settings), held, own]


def _stamp(path: Path) -> tuple[int, int, int]:
    """Return what changes when a file does. Raises OSError where there is none."""
    found = os.stat(path)  # noqa: PTH116 - a hundred thousand times, and Path.stat takes twice as long
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


@cache
def reader_version() -> str:
    """Return a digest of the code that leads sessions and reads replies.

    Not of the version number: whoever edits a parser wants to see the new scores.
    """
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in _UNCONCERNED:
            digest.update(path.name.encode())
            digest.update(path.read_bytes())

    return digest.hexdigest()


# --------------------------------------------------------------------------------------------------
# The folder of a run being written.
# --------------------------------------------------------------------------------------------------

_IDENTITY = {
    "benchmark": "benchmark",
    "dialog": "dialog",
    "settings": "settings of the dialog",
    "structured": "--structured",
    "structured_turns": "--structured-turns",
    "judge": "judge",
    "parameters": "parameters of the judge",
    "reader": "--reader",
    "order": "--order",
    "seed": "--seed",
    "pairs": "--pairs",
    "image_recipe": "pictures as sent (--max-side, --image-format)",
}
"""The settings that give a folder's scores their meaning, with their names in messages."""

_TABLES = (
    "leaderboard.md",
    "leaderboard.csv",
    "leaderboard.tex",
    "leaderboard.json",
    "report.html",
)
"""What other commands derive from scores.csv."""

FLUSH_S = 0.2
"""How far behind the files of a run in progress may be."""


class RunWriter:
    """The folder of a run being written."""

    def __init__(self, path: Path, manifest: Manifest, plan: Plan, ledger_path: Path) -> None:
        self.path = path
        self._manifest = manifest
        self._plan = plan
        self._ledger_path = ledger_path
        self._started = _now()
        self._taken: set[tuple[Place, tuple[str, ...]]] = set()
        self._counts: Counter[str] = Counter()
        self._asked = False
        """Whether a judge was asked, so that there is something new."""
        self._says_running = False
        self._flushed_at = 0.0
        self._readings: Readings | None = None
        self._read_again: Callable[[Unit], Result] | None = None
        self._queue: deque[tuple[Unit, bool]] = deque()
        """Units under way, in the order of the plan, and whether they were derived before."""
        self._fingerprints: dict[str, dict[str, None]] = {}
        self._parts: dict[str, _Part] = {}
        """The derived files, by name."""
        self._table = "pairs.csv" if plan.protocol.covers_pairs else "scores.csv"
        """The file that holds what was judged."""
        self._known_items: set[str] = set()
        """The items the folder was asked for before, as far as they are on record."""
        if path.is_file():
            raise FileProblem(f"{path}: is a file; name a folder for the run with --out")

        with _writing(path):
            path.mkdir(parents=True, exist_ok=True)
            self._lock = RunLock(path)

        try:
            self._earlier = Run(path) if (path / "run.yaml").is_file() else None
            """The run that the folder holds already."""
            if self._earlier is not None:
                _refuse_another_question(self._earlier, manifest)
                _refuse_namesake(self._earlier, plan, manifest)
                self._known_items.update(self._earlier.item_ids())
                _refuse_subset(self._earlier, self._known_items, plan)
                _refuse_other_companions(self._earlier, plan)

            self._open()
        except BaseException:
            self._lock.close()
            raise

    def _open(self) -> None:
        with _writing(self.path):
            for name in ("scores.csv", "sessions.jsonl"):
                self._parts[name] = _Part(self.path / name)

            self._parts["scores.csv"].rows.writerow(self._manifest.score_columns)
            if self._plan.protocol.covers_pairs:
                self._parts["pairs.csv"] = _Part(self.path / "pairs.csv")
                self._parts["pairs.csv"].rows.writerow(header(self._dialog))

    @property
    def _dialog(self) -> Dialog:
        return self._plan.protocol.dialogs[0]

    @property
    def _before(self) -> Manifest | None:
        return self._earlier.manifest if self._earlier else None

    def begin(self) -> None:
        """Write run.yaml, so that even a run that is killed says what it was.

        A folder that holds a finished run stays as it is until there is something new.
        """
        with _writing(self.path):
            self._keep_pictures()
        if self._before is None or self._before.state != "finished":
            self._say_running()

    def _keep_pictures(self) -> None:
        """Copy the pictures that dialogs show of their own: a replay has only the run's folder."""
        for dialog in self._plan.protocol.dialogs:
            for name in dialog.files:
                kept = self.path / OWN_PICTURES / dialog.name / name
                if kept != dialog.file(name):
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(dialog.file(name), kept)

    def _say_running(self) -> None:
        """Mark the run as running before what the folder holds changes."""
        if self._says_running:
            return

        self._says_running = True
        with _writing(self.path):
            # A table of an earlier state must not stand beside newer scores.
            for name in _TABLES:
                (self.path / name).unlink(missing_ok=True)

        caution = f"Unfinished: the run is still going on, or was cut off. {self._manifest.caution}"
        before = self._before
        self._write_manifest(
            state="running",
            caution=caution.strip(),
            planned=max(self._plan.units, before.planned if before else 0),
            judged=before.judged if before else 0,
        )

    # Results, as they come.

    def unknown(
        self,
        units: Iterable[Unit],
        ledger: Ledger,
        known: Callable[[Unit, int], None],
        read_again: Callable[[Unit], Result],
    ) -> Iterator[Unit]:
        """Yield the units that have to be played; the others are taken as they were derived before.

        `known` is called for those, with the number of their exchanges. The order is the plan's.
        `read_again` derives one from the record, should the file with what was derived fail.
        """
        self._read_again = read_again
        self._readings = Readings(
            self.path,
            self._plan.protocol,
            f"{self._manifest.judge} {self._manifest.parameters} {self._manifest.image_recipe}",
            self._plan.benchmark.root,
        )
        for unit in units:
            reading = self._readings.find(unit, ledger) if unit.shown else None
            if reading is None:
                self._queue.append((unit, False))
                yield unit
                continue

            known(unit, reading.exchanges)
            if self._queue:
                # Looked up again when its turn comes, so that a long plan does not fill the memory.
                self._queue.append((unit, True))
            else:
                self._take_derived(unit, reading)

    def take(self, result: Result) -> None:
        """Append a result; called in the order of the plan."""
        # Units that were abandoned have no result.
        while self._queue and self._take_next() is not result.unit:
            pass

        self._take_played(result)
        while self._queue and self._queue[0][1]:
            self._take_next()

    def _take_next(self) -> Unit:
        """Move on to the next unit of the plan; append it if it was derived before."""
        unit, known = self._queue.popleft()
        if not known or self._readings is None or self._read_again is None:
            return unit

        derived = self._readings.get(unit)
        if derived is not None:
            self._take_derived(unit, derived)
        else:
            self._take_played(self._read_again(unit))

        return unit

    def _take_derived(self, unit: Unit, derived: Derived) -> None:
        with _writing(self.path):
            for name, part in self._parts.items():
                part.file.write(derived.tables.get(name, ""))

        self._taken.add(unit.key)
        self._counts.update(derived.counts)
        self._note_models(derived.models)

    def _take_played(self, result: Result) -> None:
        if any(not exchange.recalled for each in result.played for exchange in each.exchanges):
            self._asked = True
            self._say_running()

        for part in self._parts.values():
            part.said = ""

        records = [SessionRecord.of(each, self._plan.benchmark.root) for each in result.played]
        with _writing(self.path):
            self._write_scores(result.scores)
            if result.comparison is not None:
                self._write_pair(result.comparison)

            for record in records:
                self._write_session(record)

            self._flush_if_due()

        counts = {
            "judged": int(bool(result.unit.shown)),
            "unscored": _unscored(result),
            "slips": sum(len(record.slips) for record in records),
        }
        self._taken.add(result.unit.key)
        self._counts.update(counts)
        # From the sessions: the ledger may be shared, and holds the anchors too.
        models = _models_of(result)
        self._note_models(models)
        if self._readings is not None and _all_was_well(result):
            replies = {e.key: e.reply for each in result.played for e in each.exchanges}
            tables = {name: part.said for name, part in self._parts.items()}
            self._readings.keep(result.unit, replies, Derived(tables, counts, models, len(replies)))

    def _note_models(self, models: Iterable[tuple[str, str]]) -> None:
        for model, fingerprint in models:
            self._fingerprints.setdefault(model, {})[fingerprint] = None

    def _flush_if_due(self) -> None:
        """Let others see the results of a run in progress."""
        now = time.monotonic()
        if now - self._flushed_at >= FLUSH_S:
            self._flushed_at = now
            self._flush()

    def _flush(self) -> None:
        for part in self._parts.values():
            part.file.flush()

    def _write_scores(self, scores: Iterable[Score]) -> None:
        expected = self._manifest.has_expected
        rows = (as_cells(score, expected=expected) for score in scores)
        self._parts["scores.csv"].rows.writerows(rows)

    def _write_pair(self, row: Comparison) -> None:
        self._parts["pairs.csv"].rows.writerow(comparison_cells(row, self._dialog.factors))

    def _write_session(self, record: SessionRecord) -> None:
        self._counts["repairs"] += record.repairs
        self._counts["helped"] += record.helped
        self._parts["sessions.jsonl"].write(f"{record.model_dump_json()}\n")

    # The end of a run.

    def finish(self, state: str, waiting: str = "") -> Run:
        """Put the derived files in place and say how the run ended, or what it waits for."""
        # What was derived before and waits behind units that were abandoned still counts.
        while self._queue:
            self._take_next()

        missed = [unit for unit in self._plan if unit.key not in self._taken]
        with _writing(self.path):
            older = self._add_older_results()
            for unit in missed:
                self._add_unjudged(unit, older)

        kept = [unit for unit in missed if unit.shown and older.holds(unit)]
        all_here = sum(bool(unit.shown) for unit in missed) == len(kept)
        if all_here and self._before and self._before.state == "finished":
            # Stopped while it derived again what was judged before: all of it is still here.
            state = "finished"

        if state != "finished" or not self._is_as_before(self._table):
            self._say_running()

        with _writing(self.path):
            self._put_in_place()

        self._write_manifest(
            state=state,
            waiting=waiting,
            models=list(self._fingerprints) or (self._before.models if self._before else []),
            unscored=self._counts["unscored"],
            slips=self._counts["slips"],
            repairs=self._counts["repairs"],
            helped=self._counts["helped"],
            finished=self._finished_at(state),
            **self._standing(state, missed, older, len(kept)),
        )
        return Run(self.path)

    def _add_older_results(self) -> _Kept:
        """Keep what an earlier run of this folder judged and this one did not judge again."""
        kept = _Kept()
        if self._earlier is None or self._is_as_before(*self._parts):
            return kept

        taken, columns = self._taken, header(self._dialog)
        if not self._plan.protocol.covers_pairs:
            taken = {(place, (method,)) for place, methods in taken for method in methods}
            columns = self._manifest.score_columns

        unscored = set()
        for row in self._earlier.score_rows():
            key = _key_of_row(row)
            if key in taken or row["outcome"] == Outcome.UNJUDGED:
                continue

            kept.results.add(key)
            self._parts[self._table].rows.writerow([row.get(column, "") for column in columns])
            if row["outcome"] not in (Outcome.SCORED, Outcome.ABSENT):
                unscored.add(key)

        self._counts["unscored"] += len(unscored)
        self._add_older_sessions(self._earlier, kept)
        if kept.sessions:
            earlier: dict[str, dict[str, None]] = {
                name: {} for name in self._earlier.manifest.models
            }
            self._fingerprints = {**earlier, **self._fingerprints}

        return kept

    def _add_older_sessions(self, run: Run, kept: _Kept) -> None:
        """Keep the records of the sessions whose results stay."""
        for record in run.intact_records():
            edits = ((record.place, (method,)) for method in record.order)
            if not kept.results.isdisjoint([record.key, *edits]):
                kept.sessions.add(record.key)
                self._counts["slips"] += len(record.slips)
                self._write_session(record)

    def _add_unjudged(self, unit: Unit, older: _Kept) -> None:
        if unit.is_pair:
            if unit.key not in older.results:
                self._write_pair(unjudged_pair(unit))

            return

        for method in unit.methods:
            if (unit.place, (method,)) not in older.results:
                dialogs = self._plan.protocol.dialogs
                self._write_scores(unjudged_scores(unit.item, method, unit.repeat, dialogs))

    def _standing(
        self, state: str, missed: Sequence[Unit], older: _Kept, kept: int
    ) -> dict[str, Any]:
        """Return how far the folder is, and what to be careful about.

        `kept` counts the units of the plan that only an earlier run has judged.
        """
        outside = self._sessions_outside(missed, older)
        planned = self._plan.units + outside
        judged = self._counts["judged"] + kept + outside
        # Together with earlier results it is more than the part asked for now.
        chosen = "" if outside else self._manifest.chosen
        cautions = [
            *self._unfinished(state, planned, judged, chosen),
            *self._mixed_sets(missed, older),
            *self._judged_beside(),
            _cautions(self._fingerprints, self._manifest.caution),
        ]
        return {
            "planned": planned,
            "judged": judged,
            "chosen": chosen,
            "caution": " ".join(filter(None, cautions)),
        }

    def _sessions_outside(self, missed: Sequence[Unit], older: _Kept) -> int:
        """Return how many of an earlier run's sessions stay that this plan does not ask for.

        Such are the sessions about other items and repeats, and about other methods. Those that
        stand in for a unit not reached now are counted with the plan.
        """
        protocol = self._plan.protocol
        if protocol.covers_edits or protocol.covers_pairs:
            return len(older.sessions - {unit.key for unit in missed})

        # By place: the plan may show more edits of an item than the session that it is to replace.
        waiting = {unit.place for unit in missed}
        return sum(place not in waiting for place, _ in older.sessions)

    @staticmethod
    def _unfinished(state: str, planned: int, judged: int, chosen: str) -> Iterator[str]:
        if state != "finished":
            sessions = counted(planned, "session was", "sessions were")
            yield f"Unfinished: {judged} of {sessions} judged."
        elif chosen:
            yield f"A part of the benchmark: {chosen}."

    def _mixed_sets(self, missed: Sequence[Unit], older: _Kept) -> Iterator[str]:
        """Yield a caution where some items have scores from sessions with fewer methods."""
        before = self._before
        if before is None or self._plan.protocol.covers_edits:
            return
        if set(before.methods) >= set(self._manifest.methods):
            return

        judged_before = {place[:2] for place, _ in older.sessions}
        items = {unit.place[:2] for unit in missed} & judged_before
        if items:
            yield (
                f"{counted(len(items), 'item was', 'items were')} judged among "
                f"{', '.join(before.methods)} only, "
                f"the others among {', '.join(self._manifest.methods)}."
            )

    def _judged_beside(self) -> Iterator[str]:
        beside = self._extent().get("beside") or self._manifest.beside
        for method, companions in beside.items():
            yield (
                f"† {method} was judged beside {', '.join(companions)} only, not among all "
                "methods: its scores compare less well with theirs."
            )

    def _finished_at(self, state: str) -> str:
        """Deriving the tables again does not change when the judge answered."""
        if self._before and self._before.finished and not self._asked and state == "finished":
            return self._before.finished
        return _now()

    def _is_as_before(self, *names: str) -> bool:
        """Tell whether these files are, to the byte, what the folder held before."""
        with _writing(self.path):
            self._flush()

        parts = [self._parts[name] for name in names]
        return all(
            part.target.is_file() and filecmp.cmp(part.target, part.path, shallow=False)
            for part in parts
        )

    def _put_in_place(self) -> None:
        """Replace the derived files by the new ones."""
        # All are closed before any is replaced: a disk that is full says so at the last flush, and
        # then the earlier files are all still there.
        for part in self._parts.values():
            part.file.close()
        for part in self._parts.values():
            part.path.replace(part.target)

    def _write_manifest(self, **changes: Any) -> None:
        known = {
            "started": self._before.started if self._before else self._started,
            "ledger": self._other_ledger(),
            **self._extent(),
            **changes,
        }
        manifest = self._manifest.model_copy(update=known)
        text = yaml_text(manifest.model_dump(mode="json"))
        with _writing(self.path):
            part = _part_of(self.path / "run.yaml")
            part.write_text(text, encoding="utf-8")
            part.replace(self.path / "run.yaml")

    def _extent(self) -> dict[str, Any]:
        """Return what the folder was asked for in all, where that may be more than this plan."""
        if self._before is None:
            return {}

        before, now = self._before, self._manifest
        items = self._known_items | {item.id for item in self._plan.benchmark.items}
        whole = self._plan.numbers
        return {
            "methods": list(dict.fromkeys([*before.methods, *now.methods])),
            "tasks": list(dict.fromkeys([*before.tasks, *now.tasks])),
            "items": len(items),
            "item_ids": [name for name in whole if name in items]
            if len(items) < len(whole)
            else [],
            "beside": {**before.beside, **now.beside},
        }

    def _other_ledger(self) -> str | None:
        if self._ledger_path == self.path / "ledger.sqlite":
            return None
        return relative_to_run(self._ledger_path, self.path)

    def close(self) -> None:
        """Release the folder; an unfinished run leaves no half-written table behind."""
        if self._readings is not None:
            self._readings.close()

        for part in self._parts.values():
            if part.file.closed:
                continue

            # A full disk complains once more when the last rows are flushed.
            with contextlib.suppress(OSError):
                part.file.close()

            with contextlib.suppress(OSError):
                part.path.unlink()

        self._lock.close()


class _Part:
    """A file being written, under a name that says so, which remembers what was written last."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = _part_of(target)
        self.file = self.path.open("w", encoding="utf-8", newline="")
        self.rows = csv.writer(self, lineterminator="\n")
        self.said = ""

    def write(self, text: str) -> None:
        """Append text, and remember it."""
        self.file.write(text)
        self.said += text


@dataclass(frozen=True, slots=True)
class _Kept:
    """What of an earlier run's results stays."""

    results: set[tuple[Place, tuple[str, ...]]] = field(default_factory=set)
    """Places with the one method that was scored, or the pair in the order it was shown."""
    sessions: set[tuple[Place, tuple[str, ...]]] = field(default_factory=set)
    """The same by session: all edits that were shown in it."""

    def holds(self, unit: Unit) -> bool:
        """Tell whether all that a unit stands for is among what stays."""
        if unit.is_pair:
            return unit.key in self.results
        present = [method for method in unit.methods if method in unit.item.edits]
        return all((unit.place, (method,)) in self.results for method in present)


def _refuse_another_question(run: Run, manifest: Manifest) -> None:
    """Raise where a folder's scores would come to mean something else."""
    for key, name in _IDENTITY.items():
        before, now = getattr(run.manifest, key), getattr(manifest, key)
        if key == "judge":
            # Version 0.1 wrote down the server too, which is no part of who judges.
            before, now = identity_of(before), identity_of(now)

        if before != now:
            raise LmmscoreError(
                f"{run.path} holds a run with {name} {_shown(before)}, not {_shown(now)}; "
                f"give this one {_another_out(run, manifest)}"
            )

    # A dialog of the same name may have been edited; a finished run keeps the words it was made
    # with.
    if run.manifest.protocol.wording != manifest.protocol.wording:
        raise LmmscoreError(
            f"{run.path} holds a run in which {manifest.dialog} says something else "
            f"(version {run.manifest.dialog_version}, now {manifest.dialog_version}); "
            "give this one another --out"
        )


def _refuse_namesake(run: Run, plan: Plan, manifest: Manifest) -> None:
    """Raise where another benchmark has the name, and so the default folder, of the one judged.

    Its scores would replace those of items with the same id, and be ranked along with the others. A
    benchmark that was moved, or whose file is not here any more, is taken for the same.
    """
    before, now = run.path / run.manifest.benchmark_file, plan.benchmark.path
    if before.is_file() and now.is_file() and not before.samefile(now):
        raise LmmscoreError(
            f"{run.path} holds a run of {os.path.normpath(before)}, and {now} is another benchmark "
            f"of the same name; give this one {_another_out(run, manifest)}"
        )


def _another_out(run: Run, manifest: Manifest) -> str:
    """Return the remedy for a run that has no place in this folder."""
    if manifest.judge == TRANSCRIPTS:
        # Nothing is paid for, and `replay` takes no ledger.
        return "another --out"

    ledger = shlex.quote(str(run.ledger_path))
    return f"another --out (with --ledger {ledger} it pays for no answer twice)"


def _refuse_subset(run: Run, known: set[str], plan: Plan) -> None:
    """Raise where the folder holds all that is asked for, and more; `known` are its items."""
    before = run.manifest
    items = {item.id for item in plan.benchmark.items}
    methods = set(plan.benchmark.methods) | set(before.methods if plan.newcomers else ())
    fewer_methods = methods < set(before.methods)
    more = items > known or plan.repeats > before.repeats
    a_part = (items < known or fewer_methods) and not more
    if plan.repeats < before.repeats or a_part:
        command = _part_command(run, plan, fewer_methods)
        ranked = f"; a part of it is ranked by `{command}`" if command else ""
        raise LmmscoreError(
            f"{run.path} holds more than is asked for here{ranked}; a new run needs "
            f"{_another_out(run, before)}"
        )


def _part_command(run: Run, plan: Plan, fewer_methods: bool) -> str:
    """Return what ranks the part asked for; nothing where only a run of its own does."""
    # `leaderboard` ranks all repeats.
    if plan.repeats < run.manifest.repeats:
        return ""

    tasks = plan.benchmark.tasks
    chosen = [item.id for item in plan.benchmark.items]
    words = ["lmmscore", "leaderboard", str(run.path)]
    if set(tasks) != set(run.manifest.tasks):
        for task in tasks:
            words += ["--task", task]

    rows = [row for row in run.score_rows() if restore(row["task"]) in tasks]
    if set(chosen) != {restore(row["item"]) for row in rows}:
        for item in chosen:
            words += ["--item", item]

    if fewer_methods:
        for method in plan.benchmark.methods:
            words += ["--method", method]

    return shlex.join(words)


def _refuse_other_companions(run: Run, plan: Plan) -> None:
    """Raise where edits were judged among others that are not shown any more.

    In a comparative dialog the set may grow, not change.
    """
    if plan.protocol.covers_edits or plan.newcomers:
        return

    lacking = [name for name in run.manifest.methods if name not in plan.benchmark.methods]
    if lacking:
        raise LmmscoreError(
            f"{run.path} was judged with {', '.join(lacking)} among the edits shown; "
            "name all methods, or judge new ones with --beside, or give this run another --out"
        )


def _all_was_well(result: Result) -> bool:
    """Tell whether nothing went wrong in a unit, not even something a repair put right."""
    if not result.played:
        return False

    for each in result.played:
        if each.done.failure or each.repairs or each.done.helped:
            return False

    if result.comparison is not None and result.comparison.outcome != Outcome.SCORED:
        return False

    return all(row.outcome in (Outcome.SCORED, Outcome.MISSING) for row in result.scores)


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else repr(value)


def _unscored(result: Result) -> int:
    """Return how many edits, or pairs, lack a score; what does not apply needs none."""
    if result.comparison is not None:
        return int(result.comparison.outcome != Outcome.SCORED)
    unscored = (row for row in result.scores if row.score is None)
    return len({row.method for row in unscored if row.outcome != Outcome.ABSENT})


def _models_of(result: Result) -> list[tuple[str, str]]:
    """Return every model that answered, with its fingerprint, each once."""
    replies = [exchange.reply for each in result.played for exchange in each.exchanges]
    models = [(reply.model, reply.fingerprint) for reply in replies if reply.model]
    return list(dict.fromkeys(models))


def _key_of_row(row: Mapping[str, str]) -> tuple[Place, tuple[str, ...]]:
    """Return what a row of scores.csv or pairs.csv is about: an edit, or a pair as it was shown."""
    place = (restore(row["task"]), restore(row["item"]), int(row["repeat"]))
    if "method" in row:
        return place, (restore(row["method"]),)

    pair = (restore(row["method_a"]), restore(row["method_b"]))
    return place, pair if row["order"] != "ba" else pair[::-1]


def _part_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _cautions(answered: Mapping[str, Mapping[str, None]], own: str) -> str:
    """Return what readers must know: which models answered, and the judge's own caution."""
    found = []
    if len(answered) > 1:
        found.append(f"The judge's model changed during this run: {', '.join(answered)}.")

    if own:
        found.append(own)

    several = []
    for model, fingerprints in answered.items():
        names = [name for name in fingerprints if name]
        if len(names) > 1:
            # A busy provider has many, too many for the heading of a table.
            several.append(f"{model} ({listed(names, 5)})")

    if several:
        found.append(
            f"Same model name, several system fingerprints: {', '.join(several)}; "
            "the provider may have changed its servers."
        )

    return " ".join(found)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileProblem(
            f"{path}: cannot be written ({error.strerror or error}); every reply so far is in the "
            "ledger: make room or give another --out, then run the same command"
        ) from error
