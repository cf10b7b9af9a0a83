"""A run watched while it is played: what its folder and its ledger say so far, and the live page.

Finished units stand in the files that the run appends to. Those under way are followed through
the ledger: a session is a value, so the replies recorded for it say exactly how far it is. Nothing
is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import hmac
import json
import logging
import math
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from lmmscore.errors import FileProblem, LedgerError, LmmscoreError
from lmmscore.execution.executor import LedSession, OpenQuestion
from lmmscore.images import Pictures
from lmmscore.judges.judge import Heard
from lmmscore.judges.limits import Spending
from lmmscore.ledger import Asker, Ledger, key_of
from lmmscore.plan import Unit
from lmmscore.records import OVERALL, Item, Outcome, half_up
from lmmscore.run_folder import Run, RunLock, open_run
from lmmscore.scores import (
    PAIR_COLUMNS,
    SCORE_COLUMNS,
    Comparison,
    result_of,
    settled,
    unjudged_pair,
)
from lmmscore.session import Exchange, Played, spoken, steps_of
from lmmscore.tables import restore
from lmmscore.web.pages import add_headers, asset_response, guard, no_icon, render

_log = logging.getLogger("lmmscore.web")

WINDOW = 256
"""Units under way are looked for among so many unfinished ones: a run keeps the order of its plan.
"""

PACE_S = 300
"""The pace is that of the last minutes."""

SILENCE_S = 60
"""A run that nobody holds and that recorded nothing for so long is taken to be over."""

MOST_TEXT = 6_000
"""Characters of one message that are shown."""

BOARD_RESAMPLES = 1_000
PAIR_RESAMPLES = 200
"""Each is a fit of its own."""

BOARD_PAUSE_S = 3.0
"""At least so long between two rankings: the run needs the processor too."""

_SCORED = str(Outcome.SCORED)


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What the run was held to, as far as its command says."""

    budget_usd: float | None = None
    rpm: float | None = None
    tpm: float | None = None


@dataclass(frozen=True, slots=True)
class _LedgerTotals:
    """What the ledger holds of the run's judge."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    priced: int = 0
    """Calls whose cost is known."""
    pace: float = 0.0
    """Calls a second, of late."""
    calls_minute: int = 0
    tokens_minute: int = 0


UnitKey = tuple[str, int, tuple[str, ...]]
"""The item, the repeat and, where a unit is about some of its edits, their methods."""


@dataclass
class UnitProgress:
    """How far one unit is."""

    unit: Unit
    calls: int
    """Turns it takes when nothing needs repair."""
    played: list[Played] = field(default_factory=list)
    led: LedSession | None = None
    """The session under way."""
    exchanges: list[Exchange] = field(default_factory=list)
    """What was said in it so far."""
    waits_for: tuple[OpenQuestion, str] | None = None
    """Its open question and that one's key, which is made once."""
    finished: bool = False
    """All replies are on record."""
    taken: bool = False
    """The run has written its scores."""
    failure: str = ""
    repairs: int = 0

    @property
    def answered(self) -> int:
        """How many questions have their answer."""
        return sum(len(each.exchanges) for each in self.played) + len(self.exchanges)

    @property
    def all_exchanges(self) -> list[Exchange]:
        """Every exchange so far, in order."""
        before = [exchange for each in self.played for exchange in each.exchanges]
        return before + self.exchanges


class _Tail:
    """A file that grows: hands on the whole lines appended since the last look.

    All of them once more where the file was replaced, after `forget` was called.
    """

    def __init__(
        self, name: str, forget: Callable[[], None], take: Callable[[Sequence[str]], None]
    ) -> None:
        self._name = name
        self._forget = forget
        self._take = take
        self._file: tuple[Path, int] | None = None
        """Its path and inode."""
        self._read = 0

    def restart(self) -> None:
        """Hand on every line again at the next look."""
        self._file = None

    def follow(self, folder: Path, suffix: str) -> None:
        """Look at the file, which a run in progress keeps under its name with a suffix."""
        path = folder / f"{self._name}{suffix}"
        try:
            with path.open("rb") as file:
                state = path.stat()
                if self._file != (path, state.st_ino) or state.st_size < self._read:
                    self._file, self._read = (path, state.st_ino), 0
                    self._forget()

                file.seek(self._read)
                data = file.read()
        except FileNotFoundError:
            return

        whole = data.rfind(b"\n") + 1
        self._read += whole
        # Not splitlines(): a judge may use other line separators, which no file of ours ends at.
        self._take(data[:whole].decode("utf-8", "replace").split("\n")[:-1])


class LiveRun:
    """A run that is going on, or was."""

    def __init__(self, path: Path, limits: RunLimits | None = None) -> None:
        self.path = path
        self.limits = limits or RunLimits()
        self.run: Run = open_run(path)
        self._stamp = 0
        self._plan = self.run.plan()
        self._pictures = Pictures(self.run.manifest.recipe)
        manifest = self.run.manifest
        self._asker = Asker.of(manifest.judge, manifest.parameters)
        self._reader = Asker.of(manifest.reader, manifest.reader_parameters)
        self._units: dict[UnitKey, UnitProgress] = {}
        self._by_item: dict[str, list[UnitProgress]] = {}
        self._rows: list[list[str]] = []
        self._comparisons: list[Comparison] = []
        self._tails = (
            _Tail("sessions.jsonl", self._forget, self._take_records),
            _Tail("scores.csv", self._rows.clear, self._take_rows),
            _Tail("pairs.csv", self._comparisons.clear, self._take_comparisons),
        )
        self._newest: UnitProgress | None = None
        self._newest_record: list[dict[str, Any]] = []
        self._board: dict[str, Any] | None = None
        self._board_at = (-1, 0.0)
        self._forget()

    def _forget(self) -> None:
        """Begin again: the run was started once more."""
        self._units = {}
        self._by_item = defaultdict(list)
        for unit in self._plan:
            if unit.shown:
                edits = len(unit.shown)
                dialogs = self._plan.protocol.dialogs
                calls = sum(len(steps_of(dialog, edits, unit.item)) for dialog in dialogs)
                progress = UnitProgress(unit, calls)
                self._units[self._unit_key(unit.item.id, unit.repeat, unit.shown)] = progress
                self._by_item[unit.item.id].append(progress)

    def _unit_key(self, item: str, repeat: int, shown: Sequence[str]) -> UnitKey:
        """Return what identifies a unit; one about all edits of an item needs no methods."""
        protocol = self._plan.protocol
        several = protocol.covers_edits or protocol.covers_pairs
        return item, repeat, tuple(shown) if several else ()

    # Looking

    def refresh(self) -> None:
        """Look at the files again."""
        self._read_manifest()
        suffix = ".part" if self.run.manifest.state == "running" else ""
        for tail in self._tails:
            tail.follow(self.path, suffix)

        self._follow_ledger()

    def _read_manifest(self) -> None:
        with contextlib.suppress(OSError):
            stamp = (self.path / "run.yaml").stat().st_mtime_ns
            if stamp != self._stamp:
                self.run = open_run(self.path)
                self._stamp = stamp
                self._follow_plan()

    def _follow_plan(self) -> None:
        """Begin again where the run was extended: it has other units than before."""
        plan = self.run.plan()
        if [unit.key for unit in plan] == [unit.key for unit in self._plan]:
            return

        self._plan = plan
        self._forget()
        for tail in self._tails:
            tail.restart()

    def _take_records(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._take_record(line)

    def _take_record(self, line: str) -> None:
        try:
            record = json.loads(line)
            key = self._unit_key(record["item"], record["repeat"], record["order"])
        except (ValueError, KeyError, TypeError):
            return

        progress = self._units.get(key)
        if progress is None:
            return

        dialogs = self._plan.protocol.dialogs
        progress.taken = progress.finished = True
        progress.failure = progress.failure or str(record.get("failure") or "")
        if record["dialog"] == dialogs[0].name:
            progress.repairs = 0

        progress.repairs += int(record.get("repairs") or 0)
        if self._newest is progress:
            # Over and written down: from now on the record tells it, to its last turn.
            self._newest = None

        self._newest_record = [{**each, "item": record["item"]} for each in record["exchanges"]]

    def _take_rows(self, lines: Sequence[str]) -> None:
        width = len(SCORE_COLUMNS)
        for cells in csv.reader(lines):
            # Further columns may follow, as the expected score does where probabilities are known.
            if len(cells) >= width and cells[:width] != list(SCORE_COLUMNS):
                self._rows.append([restore(cell) for cell in cells[:width]])

    def _take_comparisons(self, lines: Sequence[str]) -> None:
        width = len(PAIR_COLUMNS)
        for cells in csv.reader(lines):
            if len(cells) < width or cells[:width] == list(PAIR_COLUMNS):
                continue

            item, task, a, b, order, repeat, winner, outcome, reason, both = (
                restore(cell) for cell in cells[:width]
            )
            place = (item, task, a, b, order, int(repeat))
            self._comparisons.append(Comparison(*place, winner, Outcome(outcome), reason, both))

    def _follow_ledger(self) -> None:
        path = self.run.ledger_path
        waiting = [each for each in self._units.values() if not each.finished][:WINDOW]
        if not waiting or not path.is_file():
            return

        with contextlib.suppress(LedgerError), Ledger(path, read_only=True) as ledger:
            for progress in waiting:
                before = progress.answered
                self._advance(progress, ledger)
                if progress.answered > before:
                    self._newest = progress

    def _advance(self, progress: UnitProgress, ledger: Ledger) -> None:
        """Hear whatever the ledger has for this unit."""
        protocol = self._plan.protocol
        sessions = protocol.sessions(progress.unit)
        find = partial(self._find, progress, ledger)
        while len(progress.played) < len(sessions):
            if progress.led is None:
                progress.led = LedSession(sessions[len(progress.played)], self._pictures)

            if progress.led.recall(find) is not None:
                return

            progress.played.append(progress.led.played())
            progress.led, progress.exchanges = None, []
            if settled(protocol, progress.played[-1]):
                break

        progress.finished = True
        progress.repairs = sum(each.repairs for each in progress.played)

    def _find(self, progress: UnitProgress, ledger: Ledger, put: OpenQuestion) -> Heard | None:
        """Return the reply to a question, if it is recorded by now."""
        if progress.waits_for is None or progress.waits_for[0] is not put:
            asker = self._reader if put.question.aside else self._asker
            progress.waits_for = (put, key_of(asker, put.conversation, put.repeat))

        key = progress.waits_for[1]
        reply = ledger.find(key)
        if reply is None:
            return None

        progress.exchanges.append(Exchange(put.question, reply, True, key))
        return Heard(reply, True, key)

    # Telling

    def snapshot(self) -> dict[str, Any]:
        """Return everything the page shows."""
        manifest = self.run.manifest
        rows, comparisons = self._fresh()
        return {
            "run": self.path.resolve().name,
            "benchmark": manifest.benchmark,
            "dialog": manifest.dialog,
            "judge": manifest.judge,
            "state": "stopped: it was cut off" if self._abandoned() else manifest.state,
            "waiting": manifest.waiting,
            "caution": manifest.caution,
            "report": (self.path / "scores.csv").is_file(),
            "totals": self._totals(),
            "grid": self._grid(rows),
            "board": self._board_of(rows, comparisons),
            "pairs": self._plan.protocol.covers_pairs,
            "talk": self._talk(),
        }

    def _abandoned(self) -> bool:
        """Return whether the run claims to be running although nothing writes it any more."""
        if self.run.manifest.state != "running":
            return False

        if RunLock.held(self.path):
            return False

        # It may run on another machine, whose locks do not reach here; its exchanges do.
        where = "SELECT count(*) FROM exchange WHERE recorded_at > ?"
        recent = self._query([(where, [_ago(SILENCE_S)])])
        begun = _seconds_since(self.run.manifest.started)

        return begun > SILENCE_S and not (recent and recent[0][0])

    def _fresh(self) -> tuple[list[list[str]], list[Comparison]]:
        """Return all scores and comparisons, also those that the run has not written down yet."""
        rows, comparisons = [*self._rows], [*self._comparisons]
        for progress in self._units.values():
            if not progress.finished or progress.taken:
                continue

            result = result_of(progress.unit, self._plan.protocol, progress.played)
            if result.comparison is not None:
                comparisons.append(result.comparison)

            for row in result.scores:
                score = "" if row.score is None else repr(float(row.score))
                place = [row.item, row.task, row.method, str(row.repeat), str(row.position or "")]
                rows.append([*place, row.factor, score, str(row.outcome), row.reason])

        return rows, comparisons

    def _totals(self) -> dict[str, Any]:
        manifest, units = self.run.manifest, list(self._units.values())
        live = manifest.state == "running"
        failed = sum(bool(each.failure) for each in units)
        # At least one each: a repair may take an unfinished unit beyond the turns foreseen.
        left = sum(max(1, each.calls - each.answered) for each in units if not each.finished)
        made = self._ledger_totals()
        return {
            "sessions": len(units),
            "done": sum(each.finished for each in units) - failed,
            "running": len(self._under_way()) if live else 0,
            "failed": failed,
            "repairs": sum(each.repairs for each in units),
            "calls": made.calls,
            "prompt_tokens": made.prompt_tokens,
            "completion_tokens": made.completion_tokens,
            "cached_tokens": made.cached_tokens,
            "cost_usd": made.cost_usd,
            "calls_minute": made.calls_minute,
            "tokens_minute": made.tokens_minute,
            **self._money(made, left),
            "budget_usd": self.limits.budget_usd,
            "rpm": self.limits.rpm,
            "tpm": self.limits.tpm,
            "calls_left": left,
            "seconds_left": left / made.pace if live and made.pace and left else None,
            "started": manifest.started,
            "finished": manifest.finished,
        }

    def _money(self, made: _LedgerTotals, left: int) -> dict[str, float | None]:
        """Return what was spent, and what the run will have cost if its last calls cost as much."""
        spent = self._spent(made.cost_usd)
        # Tokens without any price: what was spent is not known, which is not nothing.
        known = bool(spent or made.priced or not made.prompt_tokens)
        per_call = made.cost_usd / made.priced if made.priced else 0.0
        return {
            "spent_usd": spent if known else None,
            "projected_usd": spent + left * per_call if spent else None,
        }

    def _spent(self, in_ledger: float) -> float:
        path = self.path / "spending.csv"
        with contextlib.suppress(FileProblem):
            if path.is_file():
                return max(in_ledger, Spending(path).total_usd)
        return in_ledger

    def _ledger_totals(self) -> _LedgerTotals:
        """Return calls, tokens and cost of this judge, over all and of the last minutes."""
        where = "judge = ? AND parameters = ?"
        own: list[Any] = [self._asker.judge, self._asker.parameters]
        if self.run.manifest.ledger:
            # Shared with other runs: only what came since this one began can be its own.
            where += " AND recorded_at >= ?"
            own.append(self.run.manifest.started)

        sums = (
            "count(*), total(prompt_tokens), total(completion_tokens), total(cached_tokens), "
            "total(cost_usd), count(cost_usd)"
        )
        lately = "count(*), total(prompt_tokens) + total(completion_tokens), min(recorded_at)"
        since = f"SELECT {lately} FROM exchange WHERE {where} AND recorded_at > ?"
        rows = self._query(
            [
                (f"SELECT {sums} FROM exchange WHERE {where}", own),
                (since, [*own, _ago(PACE_S)]),
                (since, [*own, _ago(60)]),
            ]
        )
        if rows is None:
            return _LedgerTotals()

        whole, (calls, _, first), (calls_minute, tokens_minute, _) = rows
        return replace(
            _LedgerTotals(*whole),
            pace=calls / max(1.0, _seconds_since(first or "")),
            calls_minute=calls_minute,
            tokens_minute=tokens_minute,
        )

    def _query(self, queries: list[tuple[str, list[Any]]]) -> list[tuple[Any, ...]] | None:
        path = self.run.ledger_path
        if not path.is_file() or path.stat().st_size == 0:
            return None

        # Without a log beside it nobody writes, and a disk that is read-only will do.
        still = "" if path.with_name(path.name + "-wal").exists() else "&immutable=1"
        location = f"{path.absolute().as_uri()}?mode=ro{still}"
        try:
            with contextlib.closing(sqlite3.connect(location, uri=True, timeout=5)) as connection:
                return [connection.execute(sql, values).fetchone() for sql, values in queries]
        except sqlite3.Error:
            # Just being created or moved: the next look will find it.
            return None

    def _grid(self, rows: list[list[str]]) -> dict[str, Any]:
        """Return items × methods: a score between 0 and 1, or what stands in its way."""
        methods = list(self._plan.benchmark.methods)
        factor = _main_factor(rows)
        found = _cells(rows, factor)
        low, high = self._ends(factor, found)
        waiting, repaired = self._marks()

        def cell(item: Item, method: str) -> list[Any]:
            edit = (item.id, method)
            outcome, score = found.get(edit, ("", None))
            if method not in item.edits:
                outcome = str(Outcome.MISSING)
            elif not outcome:
                outcome = "running" if edit in waiting else "waiting"

            if score is None:
                return [outcome, None, None, edit in repaired]
            share = (score - low) / (high - low)
            if factor in self.run.manifest.lower_better:
                share = 1 - share

            return [outcome, half_up(score, 2), round(share, 3), edit in repaired]

        make = self._pair_cell if self._plan.protocol.covers_pairs else cell
        items = [
            {
                "item": item.id,
                "task": item.task,
                "cells": [make(item, method) for method in methods],
            }
            for item in self._plan.benchmark.items
        ]
        return {"methods": methods, "items": items, "factor": factor, "low": low, "high": high}

    def _pair_cell(self, item: Item, method: str) -> list[Any]:
        """Return how many of an edit's comparisons are done: pairs give an edit no score."""
        own = [each for each in self._by_item.get(item.id, ()) if method in each.unit.shown]
        if not own:
            return [str(Outcome.MISSING), None, None, False]

        done = sum(each.finished for each in own)
        repaired = any(each.repairs for each in own)
        outcome = "compared" if done else "waiting"
        return [outcome, f"{done} of {len(own)}", round(done / len(own), 3), repaired]

    def _marks(self) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        """Return the edits being talked about now, and those whose scores took a repair turn."""
        live = self.run.manifest.state == "running"
        waiting = _edits(self._under_way()) if live else set()
        repaired = _edits([each for each in self._units.values() if each.repairs])
        return waiting, repaired

    def _under_way(self) -> list[UnitProgress]:
        """Return the units that have been asked something of their own.

        Sessions may open with the same words, which are asked once for all of them.
        """
        last: dict[str, UnitProgress] = {}
        asked_by: Counter[str] = Counter()
        for each in self._units.values():
            if each.taken or not each.answered:
                continue

            keys = [exchange.key for exchange in each.all_exchanges]
            asked_by.update(keys)
            if not each.finished:
                last[keys[-1]] = each

        return [each for key, each in last.items() if asked_by[key] == 1]

    def _ends(
        self, factor: str, found: Mapping[tuple[str, str], tuple[str, float | None]]
    ) -> tuple[float, float]:
        """Return the ends of a factor's scale; of the scores so far where it is not on record."""
        scale = self.run.manifest.scales().get(factor)
        if scale is not None:
            return scale

        scores = [score for _, score in found.values() if score is not None]
        low, high = min(scores, default=0.0), max(scores, default=1.0)
        return (low, high) if high > low else (low, low + 1)

    def _board_of(
        self, rows: list[list[str]], comparisons: list[Comparison]
    ) -> dict[str, Any] | None:
        """Return the ranking so far; made again when there is something new, and not too often."""
        decided = [each for each in comparisons if each.outcome == Outcome.SCORED]
        scored = len(decided) + sum(1 for row in rows if row[7] == _SCORED)
        before, at = self._board_at
        if scored == before or (time.monotonic() - at < BOARD_PAUSE_S and before > 0):
            return self._board

        if not scored:
            self._board = None
        elif self._plan.protocol.covers_pairs:
            self._board = self._ranked_pairs(decided)
        else:
            self._board = self._ranked(rows)

        self._board_at = (scored, time.monotonic())

        return self._board

    def _ranked_pairs(self, decided: list[Comparison]) -> dict[str, Any]:
        from lmmscore.leaderboard.matches import rank_pairs

        items = {each.item for each in decided}
        # The other order of a pair may still be on its way: alone, the first one proves nothing.
        open_ones = [
            unjudged_pair(each.unit)
            for item in items
            for each in self._by_item[item]
            if not each.finished
        ]
        methods = self.run.manifest.methods
        board = rank_pairs([*decided, *open_ones], methods=methods, resamples=PAIR_RESAMPLES)
        table = min(board.tables, key=lambda table: table.task is not None)
        note = "Bradley–Terry strength"
        if not table.connected:
            note = "the comparisons so far do not link all methods"

        return {
            "measure": "Strength",
            "counted": "Matches",
            "note": note,
            "items": len(items),
            "of": len(self._plan.benchmark.items),
            "rows": [
                _board_row(row, row.strength, row.strength_interval, row.matches)
                for row in table.rows
            ],
        }

    def _ranked(self, rows: list[list[str]]) -> dict[str, Any] | None:
        import pandas as pd

        from lmmscore.leaderboard import rank

        frame = pd.DataFrame(rows, columns=list(SCORE_COLUMNS))
        for name in ("score", "position", "repeat"):
            frame[name] = pd.to_numeric(frame[name], errors="coerce")

        frame = frame.astype({"score": float, "position": "Int64", "repeat": int})
        frame = frame.drop_duplicates(["item", "task", "method", "repeat", "factor"])
        scored = frame[frame["outcome"] == _SCORED]
        factors = set(scored["factor"])
        factor = OVERALL if OVERALL in factors else str(scored["factor"].iloc[0])
        try:
            # With its scales, so that no interval reaches beyond the ends of one.
            scales = self.run.manifest.scales()
            board = rank(
                frame,
                factor=factor,
                scales=scales,
                resamples=BOARD_RESAMPLES,
                lower_better=self.run.manifest.lower_better,
            )
        except LmmscoreError:
            return None

        table = min(board.tables, key=lambda table: table.task is not None)
        return {
            "measure": "Mean",
            "counted": "Items",
            "note": f"mean {factor}{', lower is better' if table.is_lower_better else ''}",
            "items": int(scored["item"].nunique()),
            "of": len(self._plan.benchmark.items),
            "rows": [_board_row(row, row.mean, row.mean_interval, row.n) for row in table.rows],
        }

    def _talk(self) -> dict[str, Any] | None:
        """Return the newest conversation as far as it goes."""
        newest = self._newest
        if newest is not None:
            turns = []
            for exchange in newest.all_exchanges:
                asked = exchange.question
                turns.append(_turn(asked.turn, asked.position, asked.text, spoken(exchange.reply)))

            return {"item": newest.unit.item.id, "over": newest.finished, "turns": turns}

        return self._recorded_talk()

    def _recorded_talk(self) -> dict[str, Any] | None:
        if not self._newest_record or not self.run.ledger_path.is_file():
            return None

        turns = []
        with contextlib.suppress(LedgerError), Ledger(self.run.ledger_path, read_only=True) as book:
            for each in self._newest_record:
                entry = book.entry(each["key"])
                if entry is not None:
                    said = spoken(entry.reply)
                    turns.append(_turn(each["turn"], each["position"], entry.question, said))

        return {"item": self._newest_record[0]["item"], "over": True, "turns": turns}


def _board_row(
    row: Any, mean: float | None, interval: tuple[float, float] | None, n: int
) -> dict[str, Any]:
    """Return a line of a ranking, of scores or of pairs; JSON has no infinite numbers."""
    whole = interval is not None and all(map(math.isfinite, interval))
    return {
        "rank": row.rank,
        "method": row.method,
        "mean": mean if mean is not None and math.isfinite(mean) else None,
        "interval": interval if whole else None,
        "ranks": row.rank_interval,
        "n": n,
    }


def _edits(units: list[UnitProgress]) -> set[tuple[str, str]]:
    return {(each.unit.item.id, method) for each in units for method in each.unit.shown}


def _turn(name: str, position: int | None, question: str, reply: str) -> dict[str, Any]:
    return {
        "turn": name,
        "position": position,
        "question": question[:MOST_TEXT],
        "reply": reply[:MOST_TEXT],
    }


def _main_factor(rows: list[list[str]]) -> str:
    """Return what edits are shown by: the overall, or the first factor where there is none.

    Never a mean over factors: their scales may differ.
    """
    # An edit that was never judged has a line for the overall, whether or not there is one.
    factors = [row[5] for row in rows if row[7] not in (Outcome.MISSING, Outcome.UNJUDGED)]
    return OVERALL if OVERALL in factors or not factors else factors[0]


def _cells(rows: list[list[str]], factor: str) -> dict[tuple[str, str], tuple[str, float | None]]:
    """Return outcome and mean score on a factor of every edit that has one, over repeats.

    Where there is no overall to stand for all factors, an outcome may be that of any of them.
    """
    scores: dict[tuple[str, str], list[float]] = {}
    outcomes: dict[tuple[str, str], Counter[str]] = {}
    for item, _, method, _, _, own, score, outcome, _ in rows:
        if own != factor == OVERALL:
            continue

        outcomes.setdefault((item, method), Counter())[outcome] += 1
        if own == factor and outcome == _SCORED and score:
            scores.setdefault((item, method), []).append(float(score))

    found: dict[tuple[str, str], tuple[str, float | None]] = {}
    for edit, counted in outcomes.items():
        given = scores.get(edit)
        worst = next((name for name in counted if name != _SCORED), _SCORED)
        if given or worst != _SCORED:
            found[edit] = (worst, sum(given) / len(given) if given else None)

    return found


def _ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds")


def _seconds_since(moment: str) -> float:
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    except (ValueError, TypeError):
        return math.inf


# --------------------------------------------------------------------------------------------------
# The live page: a run watched through server-sent events. It answers questions and takes none.
# --------------------------------------------------------------------------------------------------


LOOK_S = 1.0
"""How often the files are looked at while somebody watches."""

BEAT_S = 15.0
"""Longest pause between two lines sent, so that a dead connection is noticed."""

RETRY_MS = 1000
"""How soon a browser connects again when the page was away."""


class LivePage:
    """Handlers of the live page; any number may watch, the files are looked at once for all."""

    def __init__(
        self,
        path: Path,
        opened: Callable[[Path], LiveRun],
        reported: Callable[[Path], Path],
        token: str,
    ) -> None:
        """`opened` opens the run once it is there; `reported` gives the file of its report."""
        self.token = token
        self._reported = reported
        self._path = path
        self._opened = opened
        self._live: LiveRun | None = None
        self._snapshot: dict[str, Any] = {}
        self._changed = asyncio.Condition()
        self._number = 0
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="watch")
        self._looking: asyncio.Task[None] | None = None
        self._closing = False

    def app(self) -> web.Application:
        """Return the application; every route requires the token of the link."""
        app = web.Application(client_max_size=1024, middlewares=[guard(_briefly)])
        app.router.add_get("/favicon.ico", no_icon)
        app.router.add_get("/w/{token}/", self._page)
        app.router.add_get("/w/{token}/events", self._events)
        app.router.add_get("/w/{token}/report", self._report)
        app.router.add_get("/w/{token}/assets/{name}", self._asset)
        app.on_startup.append(self._begin)
        app.on_shutdown.append(self._end)

        return app

    async def _begin(self, _: web.Application) -> None:
        await self._look()
        self._looking = asyncio.create_task(self._look_on())

    async def _end(self, _: web.Application) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

        async with self._changed:
            self._closing = True
            self._changed.notify_all()

        self._reader.shutdown()

    async def _look_on(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await self._look()

    async def _look(self) -> None:
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._reader, self._read)
        except (LmmscoreError, OSError) as error:
            # Files being moved or the run being started again: say so, and look again.
            found = {**self._snapshot, "trouble": str(error)}
        except Exception:
            # A mistake of ours must not end the watching: the next look may succeed.
            _log.exception("looking at the run failed")
            found = {**self._snapshot, "trouble": "Looking at the run failed; see the terminal."}

        if found != self._snapshot:
            async with self._changed:
                self._snapshot = found
                self._number += 1
                self._changed.notify_all()

    def _read(self) -> dict[str, Any]:
        if self._live is None:
            # The page may be there before the run has written anything.
            self._live = self._opened(self._path)
        self._live.refresh()
        return {**self._live.snapshot(), "trouble": ""}

    def _check(self, request: web.Request) -> None:
        given = request.match_info["token"].encode()
        if not hmac.compare_digest(given, self.token.encode()):
            raise web.HTTPNotFound

    async def _page(self, request: web.Request) -> web.Response:
        self._check(request)
        return web.Response(text=render("watch.html.j2", {}), content_type="text/html")

    async def _asset(self, request: web.Request) -> web.Response:
        self._check(request)
        return asset_response(request.match_info["name"])

    async def _report(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        loop = asyncio.get_running_loop()
        try:
            path = await loop.run_in_executor(None, self._reported, self._path)
        except LmmscoreError as error:
            return web.Response(status=503, text=f"There is no report yet: {error}\n")

        # The report brings a policy of its own, by digest; ours would forbid what it holds.
        response = web.FileResponse(path)
        response.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
        response.content_type = "text/html"

        return response

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Send everything, then what changes, part by part."""
        self._check(request)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        add_headers(response)
        # Whoever closes the page leaves in the middle of this: that is no failure.
        with contextlib.suppress(ConnectionResetError):
            await response.prepare(request)
            await self._send_changes(response)

        return response

    async def _send_changes(self, response: web.StreamResponse) -> None:
        await response.write(f"retry: {RETRY_MS}\n\n".encode())
        sent: dict[str, Any] = {}
        number = -1
        while not self._closing:
            if number != self._number:
                number, now = self._number, self._snapshot
                await response.write(_event(_difference(sent, now)))
                sent = now
            else:
                await response.write(b": here\n\n")

            await self._wait_after(number)

    async def _wait_after(self, number: int) -> None:
        async with self._changed:
            try:
                await asyncio.wait_for(
                    self._changed.wait_for(lambda: self._closing or self._number != number), BEAT_S
                )
            except TimeoutError:
                return


def _difference(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the parts that changed; of the grid, the rows that changed."""
    told = {name: part for name, part in now.items() if before.get(name) != part}
    # The grid of a large run has thousands of rows, of which a look changes a few.
    grid, old = told.get("grid"), before.get("grid")
    if (
        grid
        and old
        and grid["methods"] == old["methods"]
        and len(grid["items"]) == len(old["items"])
    ):
        pairs = zip(old["items"], grid["items"], strict=True)
        changed = {place: new for place, (was, new) in enumerate(pairs) if was != new}
        told["grid"] = {**grid, "items": None, "changed": changed}

    return told


def _event(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False, allow_nan=False)}\n\n".encode()


def _briefly(_request: web.Request, status: int, _code: str, _text: str) -> web.Response:
    words = "something went wrong; see the terminal" if status >= 500 else "not here"
    return web.Response(status=status, text=f"{status}: {words}\n")
