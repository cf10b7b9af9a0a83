"""A run as one file that others can check: its exchanges, settings, scores and tables, and nothing
else.

The archive is anonymous (no path, no user's name, no request ids of an account) and deterministic:
the same run gives the same bytes. Whoever has it derives the scores again from the recorded
replies, offline and without the pictures, whose digests are recorded with every question.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from lmmscore.errors import FileProblem, LedgerError, LmmscoreError, NoRecordedReply, counted
from lmmscore.execution.executor import LedSession, OpenQuestion
from lmmscore.images import Picture, Pictures, Recipe
from lmmscore.judges.judge import Heard
from lmmscore.ledger import (
    COLUMNS,
    Ledger,
    RecordedExchange,
    faults_of,
    identity_of,
    row_digest,
    rows_of,
    write_rows,
)
from lmmscore.parsing import Reading
from lmmscore.plan import Unit
from lmmscore.records import Item, Outcome, Reply
from lmmscore.run_folder import (
    OWN_PICTURES,
    TRANSCRIPTS,
    ExchangeRecord,
    Run,
    SessionRecord,
    open_run,
    pictures_shown,
)
from lmmscore.scores import as_cells, comparison_cells, header, result_of
from lmmscore.session import Done, Ending, Played, Session, read_answer
from lmmscore.yaml_files import yaml_text

_Cells = tuple[tuple[str, str], ...]
"""A row of a table: each cell with its column."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive, so that the same run gives the same bytes."""

_COPIED = ("scores.csv", "pairs.csv", "sessions.jsonl", "anchors.csv")
"""Files of a run that are published unchanged."""

CHECKSUMS = "SHA256SUMS"
ROWS = "ledger-rows.sha256"


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check of an archive found."""

    exchanges: int
    scores: int
    """How many rows the table of results has."""
    table: str = "scores.csv"
    problems: tuple[str, ...] = ()


def publish(
    run: Run,
    out: Path,
    pictures: Path | None = None,
    complete: Callable[[Run], None] = lambda _: None,
) -> list[str]:
    """Write a run as an archive; return the names of its files.

    `pictures` adds the benchmark's own. `complete` is called with the run as it will be published,
    and adds the tables and the report: made from that copy, they hold nothing unpublished, and are
    never older than the scores.
    """
    if not run.finished:
        raise LmmscoreError(f"{run.path}: {run.progress()}; only a finished run is published")

    # Before it is copied, so that an error names the run's own files.
    if not run.is_of_pairs:
        run.scores()

    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder) / "run"
        staged.mkdir()
        _stage(run, staged)
        if pictures is not None:
            _stage_pictures(run, pictures, staged / "pictures")

        complete(open_run(staged))
        (staged / "README.md").write_text(_readme(run, staged), encoding="utf-8")
        sums = [f"{_digest(staged / name)}  {name}\n" for name in _names(staged)]
        (staged / CHECKSUMS).write_text("".join(sums), encoding="utf-8")
        return _pack(staged, out)


def _stage(run: Run, folder: Path) -> None:
    manifest = run.manifest
    records = list(run.records())
    keys = {exchange.key for record in records for exchange in record.exchanges}
    _stage_ledger(run, keys, folder)
    public = manifest.model_dump(mode="json") | {
        "command": "",
        "ledger": None,
        "benchmark_file": Path(manifest.benchmark_file).name,
        "images_root": "pictures",
    }
    (folder / "run.yaml").write_text(yaml_text(public), encoding="utf-8")
    for name, content in _dialogs(run):
        (folder / "dialogs").mkdir(exist_ok=True)
        (folder / "dialogs" / name).write_text(content, encoding="utf-8")

    if (run.path / OWN_PICTURES).is_dir():
        shutil.copytree(run.path / OWN_PICTURES, folder / OWN_PICTURES, dirs_exist_ok=True)

    for name in _COPIED:
        if (run.path / name).is_file():
            shutil.copyfile(run.path / name, folder / name)


def _dialogs(run: Run) -> Iterator[tuple[str, str]]:
    # By their names as checked: run.yaml may come from others, and a name may lead elsewhere.
    protocol = run.manifest.protocol
    for dialog, written in zip(protocol.dialogs, run.manifest.dialogs, strict=True):
        yield f"{dialog.name}.yaml", yaml_text(written)
    if protocol.suite and run.manifest.suite:
        yield f"{protocol.name}.yaml", yaml_text(run.manifest.suite)


def _stage_ledger(run: Run, keys: set[str], folder: Path) -> None:
    """Copy the exchanges of a run, in the order of their keys, and list each row's digest."""
    found = [_public(row) for row in rows_of(run.ledger_path, keys=keys)]
    if len(found) < len(keys):
        raise LmmscoreError(
            f"{run.ledger_path}: lacks {len(keys) - len(found)} of the {len(keys)} exchanges of "
            f"the run; nothing is written. Put back the ledger that belongs to {run.path}"
        )

    found.sort()
    write_rows(folder / "ledger.sqlite", found)
    lines = [f"{row_digest(row)}  {row[0]}\n" for row in found]
    (folder / ROWS).write_text("".join(lines), encoding="utf-8")


def _public(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return an exchange without anything that identifies an account or a machine."""
    values = dict(zip(COLUMNS, row, strict=True))
    values["request_id"] = ""
    also = json.loads(values["also"]) if values["also"] else None
    if isinstance(also, dict) and "server" in also:
        del also["server"]
        values["also"] = json.dumps(also, ensure_ascii=False) if also else ""

    return tuple(values.values())


def _stage_pictures(run: Run, root: Path, folder: Path) -> None:
    names = {name for record in run.records() for name in _files(record)}
    for name in sorted(names):
        source = root / name
        if not source.is_file():
            raise FileProblem(
                f"{source}: a picture of the run is not there; --bench says where it is"
            )

        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())


def _files(record: SessionRecord) -> Iterator[str]:
    yield from record.images.values()
    for exchange in record.exchanges:
        for _, name in exchange.images:
            yield name


def _names(folder: Path) -> list[str]:
    """Return every file in a folder, relative to it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.relative_to(folder).as_posix() for path in files)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _pack(folder: Path, out: Path) -> list[str]:
    names = _names(folder)
    part = out.with_name(f"{out.name}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name in names:
                info = zipfile.ZipInfo(name, _EPOCH)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                archive.writestr(info, (folder / name).read_bytes())

        part.replace(out)
    except OSError as error:
        raise FileProblem(
            f"{out}: cannot be written ({error.strerror or error}); name another file, such as "
            f"{out.with_suffix('.zip').name}"
        ) from error

    return names


_CONTENTS = {
    "ledger.sqlite": "every question and every reply, verbatim",
    "scores.csv": "every score, or the reason why there is none",
    "pairs.csv": "every pair compared: who won, or why that is not known",
    "sessions.jsonl": "each session's order, and which exchanges it consists of",
    "anchors.csv": "items that were asked again at each run, to measure drift",
    "run.yaml": "what was asked, and how the run ended",
    "dialogs": "the protocol, in the very words",
    "leaderboard.md": "the ranking; also as CSV, LaTeX and JSON",
    "report.html": "the ranking, every edit and every conversation on one page",
    "pictures": "the benchmark's pictures",
    ROWS: "a digest of every row of the ledger",
}


def _readme(run: Run, folder: Path) -> str:
    """Return the description of the archive; it names only what is there."""
    manifest = run.manifest
    dialog = f"{manifest.dialog} (version {manifest.dialog_version})"
    held = [f"- `{name}`: {says}" for name, says in _CONTENTS.items() if (folder / name).exists()]
    listed = "\n".join([*held, f"- `{CHECKSUMS}`: a digest of every file"])
    return f"""# A run of lmmscore

{dialog} about {manifest.benchmark}, judged by {manifest.judge}.
Items: {manifest.items}. Methods: {len(manifest.methods)}.

{listed}

To check that the results follow from the replies, without asking anyone and without the pictures:

    lmmscore publish --verify THIS.zip
"""


def verify(archive: Path) -> Verification:
    """Check an archive: its digests, and that its scores follow from its recorded replies."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _unpack(archive, folder)
        rows, wrong_rows = _wrong_rows(folder)
        problems = [*_wrong_files(folder), *wrong_rows]
        try:
            run = open_run(folder)
            count, wrong_results = _wrong_results(run)
            return Verification(rows, count, run.results_file, (*problems, *wrong_results))
        except LmmscoreError as error:
            # Changes since publication are reported already. Without any, it was published so.
            if not problems:
                raise FileProblem(f"{archive}: cannot be checked ({error})") from error
            return Verification(rows, 0, "", tuple(problems))


def _unpack(archive: Path, folder: Path) -> None:
    if not archive.is_file():
        raise FileProblem(f"{archive}: no such file; `lmmscore publish RUN {archive}` writes one")

    try:
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                target = (folder / info.filename).resolve()
                if not target.is_relative_to(folder.resolve()):
                    raise FileProblem(f"{archive}: {info.filename} leads out of the archive")
                packed.extract(info, folder)
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise FileProblem(
            f"{archive}: not an archive that can be read ({error}); name one that `lmmscore "
            "publish` wrote, and if it is one, get it again"
        ) from error


def _wrong_files(folder: Path) -> Iterator[str]:
    try:
        text = (folder / CHECKSUMS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        yield f"{CHECKSUMS} is missing"
        return

    listed = _listed(text)
    for name in _names(folder):
        if name not in listed and name != CHECKSUMS:
            yield f"{name} is in the archive but has no checksum"

    for name, digest in listed.items():
        path = folder / name
        if not path.is_file():
            yield f"{name} is missing"
        elif _digest(path) != digest:
            yield f"{name} is not what was published"


def _listed(text: str) -> dict[str, str]:
    """Return the digests of a list of checksums, by name."""
    found = {}
    for line in text.splitlines():
        digest, _, name = line.partition("  ")
        found[name] = digest
    return found


def _wrong_rows(folder: Path) -> tuple[int, list[str]]:
    """Return the number of exchanges, and those that were edited, added or removed."""
    path = folder / ROWS
    listed = _listed(path.read_text(encoding="utf-8", errors="replace") if path.is_file() else "")
    problems: list[str] = []
    found = set()
    try:
        for row in rows_of(folder / "ledger.sqlite"):
            key = row[0]
            found.add(key)
            if listed.get(key) != row_digest(row):
                problems.append(f"exchange {key[:12]} of the ledger is not what was published")

            problems += [f"exchange {key[:12]}: {says}" for says in faults_of(row)]
    except LmmscoreError:
        # The remaining rows cannot be read one by one.
        return len(found), [*problems, "ledger.sqlite is damaged"]

    problems += [f"exchange {key[:12]} is missing" for key in listed if key not in found]
    return len(found), problems


def _wrong_results(run: Run) -> tuple[int, list[str]]:
    """Compare every score, or every winner, with what the recorded replies say.

    Returns how many rows were published, and what is wrong with them.
    """
    table = run.results_file
    published = [tuple(row.items()) for row in run.score_rows()]
    derived, problems = _derive_all(run)

    for row in published:
        # A method without an edit has no session, so its rows need no reply.
        needs_reply = dict(row)["outcome"] not in (Outcome.MISSING, Outcome.UNJUDGED)
        if needs_reply and row not in derived:
            says = ", ".join(cell for _, cell in row if cell)
            problems.append(f"{table}: {says}: the replies do not say so")

    # A row that stands there twice would count twice in every mean.
    repeated = len(published) - len(set(published))
    if repeated:
        problems.append(f"{table} repeats {counted(repeated, 'row')}")

    lacking = len(derived - set(published))
    if lacking:
        problems.append(f"{table} lacks {counted(lacking, 'row')} that the replies give")

    return len(published), problems


def _derive_all(run: Run) -> tuple[set[_Cells], list[str]]:
    """Return every row that the recorded replies give, and the items of which they give none."""
    derived: set[_Cells] = set()
    problems = []
    compared = run.comparisons() if run.is_of_pairs else []
    pairs = {frozenset(row.shown): (row.method_a, row.method_b) for row in compared}
    with Ledger(run.path / "ledger.sqlite", read_only=True) as ledger:
        for _, group in groupby(run.records(), key=attrgetter("key")):
            records = list(group)
            try:
                derived.update(_derive(run, records, ledger, pairs))
            except LedgerError:
                # Not one item's: nothing more can be looked up.
                raise
            except LmmscoreError as error:
                problems.append(f"item {records[0].item}: {error}")

    return derived, problems


def _derive(
    run: Run,
    records: list[SessionRecord],
    ledger: Ledger,
    pairs: Mapping[frozenset[str], tuple[str, str]],
) -> Iterator[_Cells]:
    """Yield the rows of a unit as the published table must have them.

    `pairs` gives, for each pair, which method is a and which is b.
    """
    protocol, manifest = run.protocol, run.manifest
    if manifest.judge == TRANSCRIPTS:
        played = [_read_transcript(run, record, ledger) for record in records]
    else:
        played = [_play(run, record, ledger) for record in records]

    first = records[0]
    order = tuple(first.order)
    newcomers = tuple(name for name in order if name in manifest.beside)
    scored = newcomers or pairs.get(frozenset(order), order)
    unit = Unit(played[0].session.item, first.repeat, scored, order, is_pair=run.is_of_pairs)
    result = result_of(unit, protocol, played)
    if result.comparison is not None:
        dialog = protocol.dialogs[0]
        cells = comparison_cells(result.comparison, dialog.factors)
        yield tuple(zip(header(dialog), map(str, cells), strict=True))

    for score in result.scores:
        cells = as_cells(score, expected=manifest.has_expected)
        yield tuple(zip(manifest.score_columns, map(str, cells), strict=True))


def _session(run: Run, record: SessionRecord) -> Session:
    """Return the session of a record at its beginning, with made-up names for the pictures."""
    images = {kind: Path("shown", kind) for kind in record.images}
    edits = {method: Path("edits", method) for method in record.order}
    item = Item(record.item, record.task, record.instruction, images, edits, record.fields)
    unit = Unit(item, record.repeat, tuple(record.order), tuple(record.order))
    sessions = run.protocol.sessions(unit)
    return next(each for each in sessions if each.dialog.name == record.dialog)


def _play(run: Run, record: SessionRecord, ledger: Ledger) -> Played:
    """Play the session again with the replies on record, without opening its pictures."""
    session = _session(run, record)
    waiting = deque(record.exchanges)

    def find(put: OpenQuestion) -> Heard | Ending | None:
        if not waiting and record.failure:
            # A failure that left no reply ended the session; it is in the record.
            return Ending(record.outcome, record.failure)

        aside_on_record = bool(waiting) and waiting[0].aside
        if put.question.aside and not aside_on_record:
            raise NoRecordedReply("no reader was asked")

        if not waiting:
            raise LmmscoreError(f"its record ends before the reply to turn {put.question.turn}")

        reply = _reply(put, waiting[0], run, ledger)
        return Heard(reply, recalled=True, key=waiting.popleft().key)

    led = LedSession(session, _RecordedPictures(session, record, run.manifest.recipe, ledger))
    led.recall(find)
    if waiting:
        raise LmmscoreError("its record holds more replies than the dialog has questions")
    return led.played()


def _reply(put: OpenQuestion, exchange: ExchangeRecord, run: Run, ledger: Ledger) -> Reply:
    """Return the recorded reply to a question. Raises where the record is of another question."""
    entry = _entry(exchange, ledger)
    if entry.question != put.question.text:
        raise LmmscoreError(f"turn {exchange.turn} was asked in other words than the dialog's")
    if entry.conversation != put.conversation.digest:
        raise LmmscoreError(
            f"turn {exchange.turn} was asked after another conversation, or with other pictures"
        )

    asked = run.manifest.reader if exchange.aside else run.manifest.judge
    if identity_of(entry.judge) != identity_of(asked):
        raise LmmscoreError(f"turn {exchange.turn} was answered by {entry.judge}, not by {asked}")
    return entry.reply


def _entry(exchange: ExchangeRecord, ledger: Ledger) -> RecordedExchange:
    entry = ledger.entry(exchange.key)
    if entry is None:
        raise LmmscoreError(f"the reply to turn {exchange.turn} is not in the ledger")
    return entry


def _read_transcript(run: Run, record: SessionRecord, ledger: Ledger) -> Played:
    """Read the scoring reply of a transcript, whose other words follow no dialog."""
    session = _session(run, record)
    scoring = [exchange for exchange in record.exchanges if exchange.turn == "scores"]
    if len(scoring) != 1:
        raise LmmscoreError("its record does not name the one reply that scores")

    reply = _entry(scoring[0], ledger).reply
    reading = read_answer(session.dialog, reply, len(session.order), "scores")
    assert isinstance(reading, Reading), "transcripts score, they do not compare"
    return Played(session, (), Done(reading))


class _RecordedPictures(Pictures):
    """The pictures of a session, known by their recorded digests instead of their files."""

    def __init__(
        self, session: Session, record: SessionRecord, recipe: Recipe, ledger: Ledger
    ) -> None:
        super().__init__(recipe)
        self._digests: dict[Path, str] = {}
        for exchange, kind, _, digest in pictures_shown(record, ledger):
            path = session.file_of(kind, exchange.position or 1)
            self._digests.setdefault(path, digest)

    def get(self, path: Path) -> Picture:
        """Return the picture as recorded; one of the dialog's own is read from its file."""
        if path not in self._digests and path.is_file():
            return super().get(path)
        # A picture that was never shown has no digest, and matches no question on record.
        return Picture(path, self.recipe, self._digests.get(path, ""))
