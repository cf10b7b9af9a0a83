"""A run is a folder: what was asked, every exchange, and the scores derived from them.

`run.yaml` and `sessions.jsonl` have typed models with a version. Files of version 1, written before there
was a number, are read as they are.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from lmmscore import __version__
from lmmscore.csvsafe import restore
from lmmscore.dialog import Dialog, Suite
from lmmscore.errors import FileProblem, LmmscoreError
from lmmscore.images import Recipe
from lmmscore.ledger import Asker
from lmmscore.plan import Order, Plan, Protocol
from lmmscore.records import Reply
from lmmscore.scales import Factor, show
from lmmscore.scores import SCORE_COLUMNS, Result, as_cells, read_scores, slips
from lmmscore.session import Exchange, Played
from lmmscore.yamlfile import load_yaml, validate

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.leaderboard import Leaderboard

FORMAT = 2
"""The version of run.yaml and sessions.jsonl that is written; files without one are version 1."""


class _Record(BaseModel):
    # A later version may add keys; what is known of a file must not depend on what is not.
    model_config = ConfigDict(extra="ignore", frozen=True)


class FactorRecord(_Record):
    """A factor as run.yaml lists it."""

    key: str
    name: str = ""
    min: float
    max: float
    integers: bool = False
    values: list[float] | None = None
    weight: float | None = None

    @classmethod
    def of(cls, factor: Factor) -> FactorRecord:
        """Return the record of a dialog's factor."""
        scale = factor.scale
        return cls(
            key=factor.key,
            name=factor.name,
            min=float(scale.low),
            max=float(scale.high),
            integers=scale.integers,
            values=[float(value) for value in scale.values] if scale.values else None,
            weight=None if factor.weight is None else float(factor.weight),
        )


def factor_table(factors: Iterable[Factor]) -> list[dict[str, Any]]:
    """Return the factors as run.yaml lists them."""
    return [FactorRecord.of(factor).model_dump(mode="json") for factor in factors]


class Manifest(_Record):
    """run.yaml: what was asked, with versions and digests, and how the run ended."""

    format: int = 1
    lmmscore: str = ""
    command: str = ""
    benchmark: str = ""
    benchmark_file: str = ""
    images_root: str = ""
    dialog: str = ""
    dialog_version: int | None = None
    dialog_digest: str | None = None
    settings: dict[str, str] = {}
    structured: bool = False
    judge: str = ""
    parameters: dict[str, Any] = {}
    caution: str = ""
    order: Order = "shuffled"
    repeats: int = 1
    seed: int = 0
    image_recipe: str = ""
    methods: list[str] = []
    method_names: dict[str, str] = {}
    """What tables call the methods, where the benchmark says so."""
    tasks: list[str] = []
    task_titles: dict[str, str] = {}
    items: int = 0
    avoid_ties: bool = False
    overall: str = "none"
    factors: list[FactorRecord] = []
    suite: dict[str, Any] | None = None
    dialogs: list[dict[str, Any]] = []
    started: str = ""
    ledger: str | None = None
    """Where the exchanges are, if not in the folder of the run."""
    state: str = ""
    """`running`, `finished`, or `stopped: ` and why."""
    models: list[str] = []
    unscored: int = 0
    slips: int = 0
    """How many of the judge's own sums are arithmetic errors."""
    repairs: int = 0
    finished: str = ""

    @classmethod
    def of(cls, plan: Plan, recipe: Recipe, asker: Asker, caution: str, command: str) -> Manifest:
        """Return what run.yaml says before the first question."""
        benchmark, protocol = plan.benchmark, plan.protocol
        named = protocol.suite or protocol.dialogs[0]
        single = protocol.dialogs[0] if protocol.suite is None else None
        factors = [factor for dialog in protocol.dialogs for factor in dialog.factors]
        return cls(
            format=FORMAT,
            lmmscore=__version__,
            command=command,
            benchmark=benchmark.name,
            benchmark_file=str(benchmark.path.absolute()),
            images_root=str(benchmark.root),
            dialog=protocol.name,
            dialog_version=named.version,
            dialog_digest=single.digest if single else None,
            settings=dict(protocol.settings),
            structured=protocol.structured,
            judge=asker.judge,
            parameters=json.loads(asker.parameters),
            caution=caution,
            order=plan.order,
            repeats=plan.repeats,
            seed=plan.seed,
            image_recipe=str(recipe),
            methods=list(benchmark.methods),
            method_names=dict(benchmark.method_names),
            tasks=list(benchmark.tasks),
            task_titles=dict(benchmark.task_titles),
            items=len(benchmark.items),
            avoid_ties=any(dialog.avoid_ties for dialog in protocol.dialogs),
            overall=protocol.suite.combine if protocol.suite else protocol.dialogs[0].overall,
            factors=[FactorRecord.of(factor) for factor in factors],
            suite=protocol.suite.model_dump(mode="json") if protocol.suite else None,
            dialogs=[
                dialog.model_dump(mode="json", exclude_defaults=True) for dialog in protocol.dialogs
            ],
        )

    @cached_property
    def protocol(self) -> Protocol:
        """What was played, in the words recorded with the run, whatever those of today are."""
        where = "the dialog recorded in run.yaml"
        dialogs = tuple(validate(Dialog, dialog, where) for dialog in self.dialogs)
        suite = validate(Suite, self.suite, where) if self.suite else None
        return Protocol(dialogs, suite, self.settings, self.structured)

    @property
    def recipe(self) -> Recipe:
        """How the pictures were prepared."""
        return Recipe.parse(self.image_recipe)


class ExchangeRecord(_Record):
    """One exchange of a session: its place in the dialog, and what the ledger knows it by."""

    turn: str
    position: int | None = None
    repair: int = 0
    key: str
    images: list[tuple[str, str]] = []
    """Kind and file of every picture shown, the file relative to the root of the benchmark."""

    @classmethod
    def of(cls, exchange: Exchange, root: Path) -> ExchangeRecord:
        """Return the record of an exchange."""
        question = exchange.question
        return cls(
            turn=question.turn,
            position=question.position,
            repair=question.repair,
            key=exchange.key,
            images=[(shown.kind, _relative(shown.path, root)) for shown in question.images],
        )


class SessionRecord(_Record):
    """One line of sessions.jsonl: a session's order, its exchanges and what was read from them."""

    item: str
    task: str
    instruction: str = ""
    repeat: int = 1
    dialog: str
    order: list[str]
    exchanges: list[ExchangeRecord] = []
    layout: str = ""
    notes: list[str] = []
    faults: list[str] = []
    failure: str = ""
    repairs: int = 0
    stated: dict[str, str] = {}
    """The judge's own overall, by position."""
    slips: list[tuple[int, str, str]] = []
    """Position, exact overall and stated overall of every arithmetic error."""
    images: dict[str, str] = {}
    usage: dict[str, float | None] = {}

    @classmethod
    def of(cls, played: Played, root: Path) -> SessionRecord:
        """Return the record of a session that was played."""
        session, done = played.session, played.done
        errors = [(at, show(exact), show(stated)) for at, exact, stated in slips(played)]
        return cls(
            item=session.item.id,
            task=session.item.task,
            instruction=session.item.instruction,
            repeat=session.repeat,
            dialog=session.dialog.name,
            order=list(session.order),
            exchanges=[ExchangeRecord.of(exchange, root) for exchange in played.exchanges],
            layout=done.reading.layout,
            notes=list(done.notes),
            faults=[str(fault) for fault in done.reading.faults],
            failure=done.failure.reason if done.failure else "",
            repairs=played.repairs,
            stated={str(position): show(stated) for position, stated in done.stated.items()},
            slips=errors,
            images={kind: _relative(path, root) for kind, path in session.item.images.items()},
            usage=_usage([exchange.reply for exchange in played.exchanges]),
        )


def _usage(replies: Iterable[Reply]) -> dict[str, float | None]:
    """Return tokens and price, those of recalled answers included; None where nobody counted."""
    totals: dict[str, float | None] = dict.fromkeys(
        ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "cost_usd")
    )
    for reply in replies:
        for name in totals:
            source = reply if name == "cost_usd" else reply.usage
            counted = getattr(source, name)
            if counted is not None:
                totals[name] = (totals[name] or 0) + counted
    return totals


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


@dataclass(frozen=True)
class Run:
    """A finished or interrupted run."""

    path: Path

    @cached_property
    def manifest(self) -> Manifest:
        """What was asked and how the run ended, as run.yaml has it."""
        path = self.path / "run.yaml"
        loaded = load_yaml(path)
        if not isinstance(loaded, dict):
            raise FileProblem(f"{path}: not a run's settings")
        version = loaded.get("format", 1)
        if isinstance(version, int) and version > FORMAT:
            raise FileProblem(
                f"{path}: written by a newer lmmscore (format {version}); update lmmscore"
            )
        return validate(Manifest, loaded, str(path))

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The manifest as a plain dictionary."""
        return self.manifest.model_dump(mode="json")

    def scores(self) -> pd.DataFrame:
        """Return the tidy table: one row per edit, repeat and factor."""
        return read_scores(self.path / "scores.csv")

    def records(self) -> Iterator[SessionRecord]:
        """Yield what is known of each session, in the order of the plan."""
        path = self.path / "sessions.jsonl"
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield SessionRecord.model_validate_json(line)
                except ValidationError as error:
                    raise FileProblem(
                        f"{path}, line {number}: not the record of a session; "
                        "`lmmscore run` with the same arguments writes it again"
                    ) from error

    def orders(self) -> dict[tuple[str, str, int], tuple[str, ...]]:
        """Return how the edits were shown, by task, item and repeat."""
        return {
            (record.task, record.item, record.repeat): tuple(record.order)
            for record in self.records()
        }

    def item_ids(self) -> tuple[str, ...]:
        """Return the items of the run, each once."""
        with (self.path / "scores.csv").open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            return tuple(dict.fromkeys(restore(row["item"]) for row in rows))

    def sessions(self) -> Iterator[dict[str, Any]]:
        """Yield the records of the sessions as plain dictionaries."""
        for record in self.records():
            yield record.model_dump(mode="json")

    def leaderboard(self, **options: Any) -> Leaderboard:
        """Rank the methods; options as `lmmscore.leaderboard.rank` takes them."""
        from lmmscore.leaderboard import rank
        from lmmscore.leaderboard.weights import scales_of

        known = {
            "caution": self.manifest.caution,
            "scales": scales_of(self.settings, options.get("weights")),
        }
        return rank(self.scores(), **{**known, **options})

    @property
    def ledger_path(self) -> Path:
        """Where the exchanges are."""
        return Path(self.manifest.ledger or self.path / "ledger.sqlite")

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _repr_html_(self) -> str:
        return self.leaderboard()._repr_html_()


def open_run(path: str | Path) -> Run:
    """Return the run in a folder. Raises FileProblem where there is none."""
    folder = Path(path)
    if not (folder / "run.yaml").is_file():
        raise FileProblem(f"{folder}: no run here (no run.yaml); `lmmscore run` makes one")
    return Run(folder)


_MUST_NOT_CHANGE = ("benchmark", "dialog", "judge")


def recorded_run(judge: str) -> Run | None:
    """Return the run that a judge called `replay:PATH` answers from, where PATH is a run's folder."""
    if not judge.startswith("replay:"):
        return None
    path = Path(judge.removeprefix("replay:").split("#")[0])
    folder = path if path.is_dir() else path.parent
    if path.name not in (folder.name, "ledger.sqlite") or not (folder / "run.yaml").is_file():
        return None
    return Run(folder)


class RunFolder:
    """The folder of a run being written, by one run at a time. Derived files appear whole or not at all."""

    def __init__(self, path: Path, manifest: Manifest, root: Path, ledger_path: Path) -> None:
        self.path = path
        self._manifest = manifest
        self._root = root
        self._ledger_path = ledger_path
        self._started = datetime.now(UTC)
        self.unscored = self.slips = self.repairs = self._taken = 0
        self._fingerprints: dict[str, dict[str, None]] = {}
        self._before: Manifest | None = None
        with _writing(path):
            path.mkdir(parents=True, exist_ok=True)
            self._lock = RunLock(path)
        try:
            self._refuse_another_run()
            self._open()
        except BaseException:
            self._lock.close()
            raise

    def _open(self) -> None:
        with _writing(self.path):
            self._scores = self._part("scores.csv")
            self._sessions = self._part("sessions.jsonl")
            self._rows = csv.writer(self._scores, lineterminator="\n")
            self._rows.writerow(SCORE_COLUMNS)

    def _refuse_another_run(self) -> None:
        if not (self.path / "run.yaml").is_file():
            return
        self._before = Run(self.path).manifest
        for key in _MUST_NOT_CHANGE:
            before, now = getattr(self._before, key), getattr(self._manifest, key)
            if before != now:
                raise LmmscoreError(
                    f"{self.path} holds a run with {key} {before!r}, not {now!r}; "
                    "give this one another --out"
                )

    def _part(self, name: str) -> TextIO:
        return (self.path / f"{name}.part").open("w", encoding="utf-8", newline="")

    def begin(self) -> None:
        """Write run.yaml, so that even a run that is killed says what it was."""
        self._write_manifest(state="running")

    def take(self, result: Result) -> None:
        """Append a result; called in the order of the plan."""
        with _writing(self.path):
            self._rows.writerows(as_cells(row) for row in result.scores)
            for played in result.played:
                record = SessionRecord.of(played, self._root)
                self.slips += len(record.slips)
                line = record.model_dump(mode="json")
                self._sessions.write(json.dumps(line, ensure_ascii=False) + "\n")
                self._note_models(played)
        self._taken += 1
        self.unscored += len({row.method for row in result.scores if row.score is None})
        self.repairs += sum(played.repairs for played in result.played)

    def _note_models(self, played: Played) -> None:
        # From the sessions, not from the ledger: that one may be shared, and holds the anchors too.
        for exchange in played.exchanges:
            reply = exchange.reply
            if reply.model:
                self._fingerprints.setdefault(reply.model, {})[reply.fingerprint] = None

    def finish(self, state: str) -> Run:
        """Put the derived files in place and say how the run ended."""
        nothing = state != "finished" and not self._taken
        if nothing:
            # Stopped before anything was finished: what an earlier run derived is worth more than
            # an empty table.
            self._discard()
        else:
            self._put_in_place()
        derived: dict[str, Any] = {
            "caution": _cautions(self._fingerprints, self._manifest.caution),
            "models": list(self._fingerprints),
            "unscored": self.unscored,
            "slips": self.slips,
            "repairs": self.repairs,
        }
        if nothing and self._before is not None:
            derived = {key: getattr(self._before, key) for key in derived}
        finished = datetime.now(UTC).isoformat(timespec="seconds")
        self._write_manifest(state=state, finished=finished, **derived)
        return Run(self.path)

    def _put_in_place(self) -> None:
        with _writing(self.path):
            for file, name in self._derived():
                file.flush()
                file.close()
                (self.path / f"{name}.part").replace(self.path / name)

    def _derived(self) -> tuple[tuple[TextIO, str], ...]:
        return (self._scores, "scores.csv"), (self._sessions, "sessions.jsonl")

    def close(self) -> None:
        """Let go of the folder; what was not finished leaves no half-written table behind."""
        self._discard()
        self._lock.close()

    def _discard(self) -> None:
        for file, name in self._derived():
            if file.closed:
                continue
            # A full disk complains once more when the last rows are flushed.
            with contextlib.suppress(OSError):
                file.close()
            with contextlib.suppress(OSError):
                (self.path / f"{name}.part").unlink()

    def _write_manifest(self, **more: Any) -> None:
        started = self._started.isoformat(timespec="seconds")
        known = {"started": started, "ledger": self._other_ledger(), **more}
        manifest = self._manifest.model_copy(update=known)
        text = yaml.safe_dump(manifest.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
        with _writing(self.path):
            part = self.path / "run.yaml.part"
            part.write_text(text, encoding="utf-8")
            part.replace(self.path / "run.yaml")

    def _other_ledger(self) -> str | None:
        own = self.path / "ledger.sqlite"
        return None if self._ledger_path == own else str(self._ledger_path.absolute())


def _cautions(answered: Mapping[str, Mapping[str, None]], own: str) -> str:
    """Return what to be careful about: who answered, and the judge's own caution."""
    found = []
    if len(answered) > 1:
        found.append(f"The judge's model changed during this run: {', '.join(answered)}.")
    if own:
        found.append(own)
    several = []
    for model, fingerprints in answered.items():
        names = [name for name in fingerprints if name]
        if len(names) > 1:
            several.append(f"{model} ({_first_few(names)})")
    if several:
        found.append(
            f"Same model name, several system fingerprints: {', '.join(several)}; "
            "the provider may have changed its servers."
        )
    return " ".join(found)


def _first_few(names: list[str]) -> str:
    # A busy provider has many, and a table's heading is no place for all of them.
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileProblem(
            f"{path}: cannot be written ({error.strerror or error}); every reply so far is in the ledger: make room or "
            "give another --out, then run the same command"
        ) from error


_LOCK_NAME = ".lock"
"""Hidden, and there only while a run is being written (or after one was killed, which holds nothing up)."""

_HELD = {errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK}

if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        # Windows lets no one read what is locked: lock a byte far behind the number written at the start.
        os.lseek(fd, 1 << 30, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        os.lseek(fd, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class RunLock:
    """Held from its making until it is closed. Raises FileProblem where another run holds the folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _LOCK_NAME
        self._fd = -1
        while self._fd < 0:
            self._fd = self._take(folder)
        # For the message to whoever comes next; the lock holds without it.
        with contextlib.suppress(OSError):
            os.truncate(self._fd, 0)
            os.write(self._fd, f"{os.getpid()}\n".encode())

    def _take(self, folder: Path) -> int:
        """Return the locked file; -1 where its holder removed it meanwhile, so that it protects nothing any more."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(fd)
            current = os.path.samestat(os.fstat(fd), self._path.stat())
        except FileNotFoundError:
            current = False
        except OSError as error:
            if error.errno in _HELD:
                os.close(fd)
                raise FileProblem(
                    f"{folder}: another run is writing it{self._holder()}; wait until that one has ended, "
                    "or give this one another --out"
                ) from None
            # Some network file systems know no locks. A run there is as safe as its user is careful.
            current = True
        if current:
            return fd
        os.close(fd)
        return -1

    def _holder(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            return f" (process {int(self._path.read_text(encoding='ascii'))})"
        return ""

    def close(self) -> None:
        """Let others write the folder. Leaves no file behind."""
        if self._fd < 0:
            return
        # Removed while it is still held: whoever opened it meanwhile finds that it is gone and takes a new one.
        # Windows removes no open file; there it is removed after, unless someone else has it open by then.
        removed = self._remove()
        os.close(self._fd)
        self._fd = -1
        if not removed and sys.platform == "win32":
            self._remove()

    def _remove(self) -> bool:
        with contextlib.suppress(OSError):
            self._path.unlink()
            return True
        return False
