"""A run is a folder: what was asked, every exchange, and the scores derived from them."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import yaml

from lmmscore import __version__
from lmmscore.errors import FileProblem, LmmscoreError
from lmmscore.images import Recipe
from lmmscore.ledger import Asker
from lmmscore.planning import Plan
from lmmscore.runlock import RunLock
from lmmscore.runner import Result
from lmmscore.scales import Factor, show
from lmmscore.scores import SCORE_COLUMNS, as_cells, read_scores, slips
from lmmscore.session import Exchange, Played
from lmmscore.yaml_files import load_yaml

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.leaderboard import Leaderboard


@dataclass(frozen=True)
class Run:
    """A finished or interrupted run."""

    path: Path

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What was asked, as run.yaml has it."""
        loaded = load_yaml(self.path / "run.yaml")
        if not isinstance(loaded, dict):
            raise FileProblem(f"{self.path / 'run.yaml'}: not a run's settings")
        return loaded

    def scores(self) -> pd.DataFrame:
        """Return the tidy table: one row an edit, repeat and factor."""
        return read_scores(self.path / "scores.csv")

    def sessions(self) -> Iterator[dict[str, Any]]:
        """Yield what is known of each session, in the order of the plan."""
        with (self.path / "sessions.jsonl").open(encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)

    def leaderboard(self, **options: Any) -> Leaderboard:
        """Rank the methods; options as `lmmscore.leaderboard.rank` takes them."""
        from lmmscore.leaderboard import rank
        from lmmscore.leaderboard.weights import scales_of

        known = {
            "caution": self.settings.get("caution", ""),
            "scales": scales_of(self.settings, options.get("weights")),
        }
        return rank(self.scores(), **{**known, **options})

    @property
    def ledger_path(self) -> Path:
        """Where the exchanges are."""
        return Path(self.settings.get("ledger") or self.path / "ledger.sqlite")

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _repr_html_(self) -> str:
        return self.leaderboard()._repr_html_()


def open_run(path: Path) -> Run:
    """Return the run in a folder. Raises FileProblem where there is none."""
    if not (path / "run.yaml").is_file():
        raise FileProblem(f"{path}: no run here (no run.yaml); `lmmscore run` makes one")
    return Run(path)


def factor_table(factors: Iterator[Factor] | tuple[Factor, ...]) -> list[dict[str, Any]]:
    """Return the factors as run.yaml lists them."""
    return [
        {
            "key": factor.key,
            "name": factor.name,
            "min": float(factor.scale.low),
            "max": float(factor.scale.high),
            "integers": factor.scale.integers,
            "values": [float(value) for value in factor.scale.values]
            if factor.scale.values
            else None,
            "weight": None if factor.weight is None else float(factor.weight),
        }
        for factor in factors
    ]


def describe(
    plan: Plan, recipe: Recipe, asker: Asker, caution: str, command: str
) -> dict[str, Any]:
    """Return what run.yaml says before the first question."""
    benchmark, protocol = plan.benchmark, plan.protocol
    return {
        "lmmscore": __version__,
        "command": command,
        "benchmark": benchmark.name,
        "benchmark_file": str(benchmark.path.absolute()),
        "images_root": str(benchmark.root),
        "dialog": protocol.name,
        "dialog_version": (protocol.suite or protocol.dialogs[0]).version,
        "dialog_digest": protocol.dialogs[0].digest if protocol.suite is None else None,
        "settings": dict(protocol.settings),
        "judge": asker.judge,
        "parameters": json.loads(asker.parameters),
        "caution": caution,
        "order": plan.order,
        "repeats": plan.repeats,
        "seed": plan.seed,
        "image_recipe": str(recipe),
        "methods": list(benchmark.methods),
        "tasks": list(benchmark.tasks),
        "items": len(benchmark.items),
        "avoid_ties": any(dialog.avoid_ties for dialog in protocol.dialogs),
        "overall": protocol.suite.combine if protocol.suite else protocol.dialogs[0].overall,
        "factors": factor_table(tuple(f for dialog in protocol.dialogs for f in dialog.factors)),
        "suite": protocol.suite.model_dump(mode="json") if protocol.suite else None,
        "dialogs": [
            dialog.model_dump(mode="json", exclude_defaults=True) for dialog in protocol.dialogs
        ],
    }


_MUST_NOT_CHANGE = ("benchmark", "dialog", "judge")


class RunFolder:
    """The folder of a run being written, by one run at a time. Derived files appear whole or not at all."""

    def __init__(self, path: Path, described: Mapping[str, Any], ledger_path: Path) -> None:
        self.path = path
        self._described = dict(described)
        self._ledger_path = ledger_path
        self._started = datetime.now(UTC)
        self.unscored = self.slips = self.repairs = self._taken = 0
        self._fingerprints: dict[str, dict[str, None]] = {}
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
        self._before = Run(self.path).settings if (self.path / "run.yaml").is_file() else {}
        for key in _MUST_NOT_CHANGE if self._before else ():
            before = self._before.get(key)
            if before != self._described[key]:
                raise LmmscoreError(
                    f"{self.path} holds a run with {key} {before!r}, not {self._described[key]!r}; "
                    "give this one another --out"
                )

    def _part(self, name: str) -> TextIO:
        return (self.path / f"{name}.part").open("w", encoding="utf-8", newline="")

    def begin(self) -> None:
        """Write run.yaml, so that even a run that is killed says what it was."""
        self._write_settings({"state": "running"})

    def take(self, result: Result) -> None:
        """Append a result; called in the order of the plan."""
        with _writing(self.path):
            self._rows.writerows(as_cells(row) for row in result.scores)
            for played in result.played:
                line = _session_line(played, result)
                self.slips += len(line["slips"])
                self._sessions.write(json.dumps(line, ensure_ascii=False) + "\n")
                self._note_models(played)
        self._taken += 1
        self.unscored += len({row.method for row in result.scores if row.score is None})
        self.repairs += sum(played.repairs for played in result.played)

    def _note_models(self, played: Played) -> None:
        # From the sessions, not from the ledger: that one may be shared, and holds the anchors too.
        for reply in (exchange.reply for exchange in played.exchanges if exchange.reply.model):
            self._fingerprints.setdefault(reply.model, {})[reply.fingerprint] = None

    def finish(self, state: str) -> Run:
        """Put the derived files in place and say how the run ended."""
        nothing = state != "finished" and not self._taken
        if nothing:
            # Stopped before anything was finished: what an earlier run derived is worth more than an empty table.
            self._discard()
        with _writing(self.path):
            for file, name in () if nothing else self._derived():
                file.flush()
                file.close()
                (self.path / f"{name}.part").replace(self.path / name)
        derived = {
            "caution": _cautions(self._fingerprints, self._described["caution"]),
            "models": list(self._fingerprints),
            "unscored": self.unscored,
            "slips": self.slips,
            "repairs": self.repairs,
        }
        if nothing:
            derived |= {key: self._before[key] for key in derived if key in self._before}
        finished = datetime.now(UTC).isoformat(timespec="seconds")
        self._write_settings({"state": state, **derived, "finished": finished})
        return Run(self.path)

    def _derived(self) -> tuple[tuple[TextIO, str], ...]:
        return (self._scores, "scores.csv"), (self._sessions, "sessions.jsonl")

    def close(self) -> None:
        """Let go of the folder; what was not finished leaves no half-written table behind."""
        self._discard()
        self._lock.close()

    def _discard(self) -> None:
        for file, name in self._derived():
            if not file.closed:
                with contextlib.suppress(
                    OSError
                ):  # a full disk complains once more when the last rows are flushed
                    file.close()
                with contextlib.suppress(OSError):
                    (self.path / f"{name}.part").unlink()

    def _write_settings(self, more: Mapping[str, Any]) -> None:
        started = {
            "started": self._started.isoformat(timespec="seconds"),
            "ledger": self._other_ledger(),
        }
        text = yaml.safe_dump(
            {**self._described, **started, **more}, sort_keys=False, allow_unicode=True
        )
        with _writing(self.path):
            part = self.path / "run.yaml.part"
            part.write_text(text, encoding="utf-8")
            part.replace(self.path / "run.yaml")

    def _other_ledger(self) -> str | None:
        own = self.path / "ledger.sqlite"
        return None if self._ledger_path == own else str(self._ledger_path.absolute())


def _cautions(answered: Mapping[str, Mapping[str, None]], own: str) -> str:
    """Return what to be careful about: who answered, by model and fingerprint, and the judge's own caution."""
    changed = (
        f"The judge's model changed during this run: {', '.join(answered)}."
        if len(answered) > 1
        else ""
    )
    told = {model: [name for name in names if name] for model, names in answered.items()}
    several = ", ".join(
        f"{model} ({_first_few(names)})" for model, names in told.items() if len(names) > 1
    )
    behind = (
        f"Same model name, several system fingerprints: {several}; the provider may have changed its servers."
        if several
        else ""
    )
    return " ".join(filter(None, [changed, own, behind]))


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


def _session_line(played: Played, result: Result) -> dict[str, Any]:
    session = played.session
    root = result.unit.plan.benchmark.root
    return {
        "item": session.item.id,
        "task": session.item.task,
        "instruction": session.item.instruction,
        "repeat": session.repeat,
        "dialog": session.dialog.name,
        "order": list(session.order),
        "exchanges": [_exchange_line(exchange, root) for exchange in played.exchanges],
        "layout": played.reading.layout,
        "notes": list(played.notes),
        "faults": [str(fault) for fault in played.reading.faults],
        "failure": played.failure.reason if played.failure else "",
        "repairs": played.repairs,
        "stated": {str(position): show(stated) for position, stated in played.stated.items()},
        "slips": [
            [position, show(exact), show(stated)] for position, exact, stated in slips(played)
        ],
        "images": _all_images(played, root),
        "usage": _usage(played),
    }


def _usage(played: Played) -> dict[str, float | None]:
    """Return the session's tokens and price, those of recalled answers included; None where nobody counted."""
    replies = [exchange.reply for exchange in played.exchanges]
    names = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
    counted: dict[str, float | None] = {
        n: _total([getattr(r.usage, n) for r in replies]) for n in names
    }
    return {**counted, "cost_usd": _total([reply.cost_usd for reply in replies])}


def _total(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _all_images(played: Played, root: Path) -> dict[str, str]:
    return {kind: _relative(path, root) for kind, path in played.session.item.images.items()}


def _exchange_line(exchange: Exchange, root: Path) -> dict[str, Any]:
    return {
        "turn": exchange.turn,
        "position": exchange.position,
        "repair": exchange.repair,
        "key": exchange.key,
        "images": [[kind, _relative(path, root)] for kind, path in exchange.images],
    }


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
