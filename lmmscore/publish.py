"""A run as one file that others can check: its exchanges, settings, scores and tables, and nothing
else.

The archive is anonymous (no path, no user's name, no request ids of an account) and deterministic:
the same run gives the same bytes. Whoever has it derives the scores again from the recorded
replies, offline and without the pictures, whose digests are recorded with every question.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lmmscore.errors import FileProblem, LmmscoreError
from lmmscore.ledger import COLUMNS, Ledger
from lmmscore.plan import Unit
from lmmscore.records import Item
from lmmscore.run_folder import Run, SessionRecord, open_run
from lmmscore.scores import SCORE_COLUMNS, as_cells, result_of
from lmmscore.session import Done, Played, Question, Session

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive: when it was packed is nobody's business."""

CHECKSUMS = "SHA256SUMS"
ROWS = "ledger-rows.sha256"


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check of an archive found."""

    exchanges: int
    scores: int
    problems: tuple[str, ...] = ()


def publish(run: Run, out: Path, pictures: Path | None = None) -> list[str]:
    """Write a run as an archive; return the names of its files.

    `pictures` adds the benchmark's own.
    """
    if not run.finished:
        raise LmmscoreError(f"{run.path}: {run.progress()}; only a finished run is published")
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder)
        _stage(run, staged)
        if pictures is not None:
            _stage_pictures(run, pictures, staged / "pictures")
        sums = _checksums(staged)
        (staged / CHECKSUMS).write_text(sums, encoding="utf-8")
        return _pack(staged, out)


def _stage(run: Run, folder: Path) -> None:
    manifest = run.manifest
    records = list(run.records())
    keys = {exchange.key for record in records for exchange in record.exchanges}
    rows = _extract(run.ledger_path, keys, folder / "ledger.sqlite")
    lines = "".join(f"{digest}  {key}\n" for key, digest in rows)
    (folder / ROWS).write_text(lines, encoding="utf-8")
    public = manifest.model_dump(mode="json") | {
        "command": "",
        "ledger": None,
        "benchmark_file": Path(manifest.benchmark_file).name,
        "images_root": "pictures",
    }
    text = yaml.safe_dump(public, sort_keys=False, allow_unicode=True)
    (folder / "run.yaml").write_text(text, encoding="utf-8")
    for name, content in _dialogs(run):
        (folder / "dialogs").mkdir(exist_ok=True)
        (folder / "dialogs" / name).write_text(content, encoding="utf-8")
    copied = [path for path in run.path.iterdir() if _is_table(path)]
    for path in copied:
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "README.md").write_text(_readme(run), encoding="utf-8")


def _is_table(path: Path) -> bool:
    """Tell whether a file of a run's folder is published as it is."""
    names = ("scores.csv", "pairs.csv", "sessions.jsonl", "anchors.csv", "report.html")
    return path.name in names or path.name.startswith("leaderboard.")


def _dialogs(run: Run) -> Iterator[tuple[str, str]]:
    for dialog in run.manifest.dialogs:
        yield f"{dialog['dialog']}.yaml", _yaml(dialog)
    if run.manifest.suite:
        yield f"{run.manifest.suite['suite']}.yaml", _yaml(run.manifest.suite)


def _yaml(data: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True)


def _extract(ledger: Path, keys: set[str], out: Path) -> list[tuple[str, str]]:
    """Copy the exchanges of a run, in the order of their keys;
    return each key with its row's digest."""
    # Made as a ledger is made, then written by key: the same exchanges give the same bytes.
    Ledger(out).close()
    source = sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=ro", uri=True)
    target = sqlite3.connect(out, isolation_level=None)
    digests = []
    try:
        target.execute("PRAGMA journal_mode = DELETE")
        target.execute("BEGIN")
        sql = f"SELECT {', '.join(COLUMNS)} FROM exchange WHERE key = ?"
        for key in sorted(keys):
            row = source.execute(sql, (key,)).fetchone()
            if row is None:
                raise LmmscoreError(
                    f"{ledger}: an exchange of the run is not in it; nothing written"
                )
            public = _public(row)
            marks = ", ".join("?" * len(COLUMNS))
            target.execute(f"INSERT INTO exchange ({', '.join(COLUMNS)}) VALUES ({marks})", public)
            digests.append((key, row_digest(public)))
        target.execute("COMMIT")
        target.execute("VACUUM")
    finally:
        source.close()
        target.close()
    return digests


def _public(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return an exchange without what could be traced to an account or a machine."""
    values = dict(zip(COLUMNS, row, strict=True))
    values["request_id"] = ""
    also = json.loads(values["also"]) if values["also"] else None
    if isinstance(also, dict) and "server" in also:
        del also["server"]
        values["also"] = json.dumps(also, ensure_ascii=False) if also else ""
    return tuple(values.values())


def row_digest(row: tuple[Any, ...]) -> str:
    """Return the digest of an exchange: every column, in order."""
    return hashlib.sha256(json.dumps(row, ensure_ascii=False).encode()).hexdigest()


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


def _checksums(folder: Path) -> str:
    lines = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            lines.append(f"{digest}  {path.relative_to(folder).as_posix()}\n")
    return "".join(lines)


def _pack(folder: Path, out: Path) -> list[str]:
    names = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )
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
        raise FileProblem(f"{out}: cannot be written ({error.strerror or error})") from error
    return names


def _readme(run: Run) -> str:
    manifest = run.manifest
    dialog = f"{manifest.dialog} (version {manifest.dialog_version})"
    return f"""# A run of lmmscore

{dialog} about {manifest.benchmark}: {manifest.items} items,
{len(manifest.methods)} methods, judged by {manifest.judge}.

- `ledger.sqlite`: every question and every reply, verbatim
- `scores.csv`: every score, or the reason why there is none
- `sessions.jsonl`: each session's order, and which exchanges it consists of
- `run.yaml`, `dialogs/`: what was asked, in the very words
- `leaderboard.*`, `report.html`: tables made from the scores
- `{CHECKSUMS}`, `{ROWS}`: digests of every file, and of every row of the ledger

To check that the scores follow from the replies, without asking anyone and without the pictures:

    lmmscore publish --verify THIS.zip
"""


def verify(archive: Path) -> Verification:
    """Check an archive: its digests, and that its scores follow from its recorded replies."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _unpack(archive, folder)
        problems = [*_wrong_files(folder)]
        run = open_run(folder)
        rows, wrong_rows = _wrong_rows(folder)
        problems += wrong_rows
        count, wrong_scores = _wrong_scores(run)
        return Verification(rows, count, (*problems, *wrong_scores))


def _unpack(archive: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                target = (folder / info.filename).resolve()
                if not target.is_relative_to(folder.resolve()):
                    raise FileProblem(f"{archive}: {info.filename} leads out of the archive")
                packed.extract(info, folder)
    except (OSError, zipfile.BadZipFile) as error:
        raise FileProblem(f"{archive}: not an archive that can be read ({error})") from error


def _wrong_files(folder: Path) -> Iterator[str]:
    try:
        text = (folder / CHECKSUMS).read_text(encoding="utf-8")
    except OSError:
        yield f"{CHECKSUMS} is missing"
        return
    listed = _listed(text)
    present = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    } - {CHECKSUMS}
    for name in sorted(present - set(listed)):
        yield f"{name} is in the archive but has no checksum"
    for name, digest in listed.items():
        path = folder / name
        if not path.is_file():
            yield f"{name} is missing"
        elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            yield f"{name} is not what was published"


def _listed(text: str) -> dict[str, str]:
    """Return the digests of a list of checksums, by name."""
    found = {}
    for line in text.splitlines():
        digest, _, name = line.partition("  ")
        found[name] = digest
    return found


def _wrong_rows(folder: Path) -> tuple[int, list[str]]:
    """Return how many exchanges there are, and which of them were edited, added or taken away."""
    text = (folder / ROWS).read_text(encoding="utf-8") if (folder / ROWS).is_file() else ""
    listed = _listed(text)
    connection = sqlite3.connect(f"{(folder / 'ledger.sqlite').as_uri()}?mode=ro", uri=True)
    problems = []
    found = set()
    try:
        for row in connection.execute(f"SELECT {', '.join(COLUMNS)} FROM exchange"):
            key = row[0]
            found.add(key)
            if listed.get(key) != row_digest(row):
                problems.append(f"exchange {key[:12]} of the ledger is not what was published")
    except sqlite3.Error as error:
        problems.append(f"ledger.sqlite: {error}")
    finally:
        connection.close()
    problems += [f"exchange {key[:12]} is missing" for key in listed if key not in found]
    return len(found), problems


def _wrong_scores(run: Run) -> tuple[int, list[str]]:
    """Derive every score again from the recorded replies, and compare."""
    published = [tuple(row[column] for column in SCORE_COLUMNS) for row in run.score_rows()]
    derived: set[tuple[str, ...]] = set()
    problems = []
    with Ledger(run.path / "ledger.sqlite", read_only=True) as ledger:
        for records in _by_unit(run):
            try:
                derived.update(_derive(run, records, ledger))
            except LmmscoreError as error:
                problems.append(f"item {records[0].item}: {error}")
    # A method without an edit has no session; its rows say so and need no reply.
    problems += [
        f"scores.csv: {', '.join(row[:7])}: the replies do not say so"
        for row in published
        if row[7] not in ("missing", "unjudged") and row not in derived
    ]
    missing = len(derived - set(published))
    if missing:
        problems.append(f"scores.csv lacks {missing} rows that the replies give")
    return len(published), problems


def _by_unit(run: Run) -> Iterator[list[SessionRecord]]:
    """Yield the sessions that were played about the same edits, which a suite has several of."""
    waiting: list[SessionRecord] = []
    for record in run.records():
        if waiting and _unit_of(waiting[0]) != _unit_of(record):
            yield waiting
            waiting = []
        waiting.append(record)
    if waiting:
        yield waiting


def _unit_of(record: SessionRecord) -> tuple[str, str, int, tuple[str, ...]]:
    return record.task, record.item, record.repeat, tuple(record.order)


def _derive(run: Run, records: list[SessionRecord], ledger: Ledger) -> Iterator[tuple[str, ...]]:
    protocol = run.protocol
    played = [_play(run, record, ledger) for record in records]
    first = records[0]
    order = tuple(first.order)
    scored = order
    if run.manifest.beside:
        newcomers = tuple(name for name in order if name in run.manifest.beside)
        scored = newcomers or order
    unit = Unit(played[0].session.item, first.repeat, scored, order)
    result = result_of(unit, protocol, played)
    for score in result.scores:
        yield tuple(str(cell) for cell in as_cells(score))


def _play(run: Run, record: SessionRecord, ledger: Ledger) -> Played:
    """Lead the session again with the replies on record. No picture is opened."""
    protocol = run.protocol
    dialog = next(each for each in protocol.dialogs if each.name == record.dialog)
    images = {kind: Path(name) for kind, name in record.images.items()}
    edits = {method: Path(method) for method in record.order}
    item = Item(record.item, record.task, record.instruction, images, edits, record.fields)
    settings = protocol.settings_for(dialog)
    session = Session(
        dialog,
        item,
        record.repeat,
        tuple(record.order),
        settings,
        protocol.structured,
        protocol.reader,
        protocol.structured_turns,
    )
    begun = session
    for exchange in record.exchanges:
        question = session.next()
        if isinstance(question, Question) and question.aside and not exchange.aside:
            session = session.unhelped()
            question = session.next()
        if not isinstance(question, Question):
            raise LmmscoreError("the ledger holds more replies than the dialog has questions")
        entry = ledger.entry(exchange.key)
        if entry is None:
            raise LmmscoreError(f"the reply to turn {exchange.turn} is not in the ledger")
        if entry.question != question.text:
            raise LmmscoreError(f"turn {exchange.turn} was asked in other words than the dialog's")
        session = session.hear(entry.reply)
    done = session.next()
    if isinstance(done, Question) and done.aside and not record.failure:
        session = session.unhelped()
        done = session.next()
    if not isinstance(done, Done):
        # Ended early by a failure that left no reply; the record says which.
        session = session.end(record.outcome, record.failure)
        done = session.next()
    assert isinstance(done, Done)
    return Played(begun, (), done)
