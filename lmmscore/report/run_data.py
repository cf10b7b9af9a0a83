"""A run, read once: its settings, its scores edit by edit, its conversations and what they cost.

Everything the report takes from a run's files is read here, so that the files may change in one
place. A run that is still going is read from what it has written so far.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lmmscore.benchmark import load_benchmark
from lmmscore.conversation import Turn, fill, slots_of
from lmmscore.dialog import Dialog
from lmmscore.errors import ImageProblem, LedgerDamaged, LedgerError, LmmscoreError, counted, listed
from lmmscore.images import picture_digest
from lmmscore.ledger import Ledger, RecordedExchange, damage
from lmmscore.parsing import Reading, merged
from lmmscore.parsing.extract import READ_WITH_HELP, with_help
from lmmscore.records import OVERALL, Item, Outcome, Reply
from lmmscore.report.formats import LOW, DisplayNames
from lmmscore.report.leaderboard import display_names
from lmmscore.run_folder import ExchangeRecord, Manifest, Run, SessionRecord, shown_digests
from lmmscore.scales import show
from lmmscore.scores import (
    SCORE_COLUMNS,
    TIE,
    Comparison,
    Match,
    matches,
)
from lmmscore.session import Session, read_scores_of, read_winner_of, slots_for

if TYPE_CHECKING:
    import pandas as pd


WIN_RATE = "win_rate"
"""What stands in place of a factor where pairs were compared."""

Place = tuple[int, str]
"""Where a score belongs: the position of the edit, and the factor."""


NOT_SHOWN = Path("not shown")
"""Where pictures are put that are not here, or not those that were judged."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the judge's words; `read` says what it was read as, if anything."""

    text: str
    read: str = ""
    counts: bool = True
    """False where a later reply replaced what was read here."""


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """One turn: what was asked and shown, and what the judge said."""

    name: str
    position: int | None
    repair: int
    key: str
    """Its key in the ledger."""
    images: tuple[tuple[str, Path], ...]
    entry: RecordedExchange | None
    """None where the ledger does not have it."""
    aside: bool = False
    """Whether it was put to the reader, outside the conversation."""
    pieces: tuple[Piece, ...] = ()
    marks: tuple[str, ...] = ()
    """Anything unusual about it, in a word or two."""

    @property
    def reply(self) -> Reply:
        """The judge's answer; an empty one where it is not on record."""
        return self.entry.reply if self.entry else Reply("")


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation, with what became of it."""

    item: str
    task: str
    instruction: str
    repeat: int
    dialog: str
    covers: str
    """`item`; `edit` where each edit has its own conversation; `pair` where two are compared."""
    order: tuple[str, ...]
    system: str
    turns: tuple[PlayedTurn, ...]
    faults: tuple[str, ...] = ()
    failure: str = ""
    stated: Mapping[int, str] = field(default_factory=dict)
    slips: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """By position: what the sub-scores give, and what the judge said instead."""
    images: Mapping[str, Path] = field(default_factory=dict)
    """The item's own pictures, by kind."""
    winner: str = ""
    """Of a pair: the method that won, `tie`, or nothing where no verdict could be read."""

    @property
    def method(self) -> str:
        """The method, where the conversation is about one edit alone."""
        return self.order[0] if self.covers == "edit" and self.order else ""

    def method_at(self, position: int | None) -> str:
        """Return the method whose edit was shown at a position; nothing for no position."""
        if position is None or not 1 <= position <= len(self.order):
            return ""
        return self.order[position - 1]


def with_scores_marked(
    turns: list[PlayedTurn], dialog: Dialog | None, n: int
) -> Iterator[PlayedTurn]:
    """Yield the turns with the judge's words cut into pieces, those read as scores apart."""
    by_name = {turn.name: turn for turn in dialog.turns} if dialog else {}
    asked = [by_name.get(turn.name) for turn in turns]
    alone = [_reading(turn, said, dialog, n) for turn, said in zip(turns, asked, strict=True)]
    readings = _with_help(turns, asked, alone, dialog, n)
    counting = _counting(readings, dialog, n)
    for k, (turn, said) in enumerate(zip(turns, asked, strict=True)):
        before, after = alone[k], readings[k]
        if said is not None and said.read == "winner":
            pieces = _winner_pieces(turn.reply, said)
        else:
            helped = set(after.scores) - set(before.scores) if after and before else set()
            pieces = _pieces(turn.reply.text, after, counting[k], n, helped)

        marks = (*turn.marks, *_marks(turn, after))
        yield replace(turn, pieces=tuple(pieces), marks=marks)


def _with_help(
    turns: Sequence[PlayedTurn],
    asked: Sequence[Turn | None],
    readings: Sequence[Reading | None],
    dialog: Dialog | None,
    n: int,
) -> list[Reading | None]:
    """Return the readings, those that a reader helped with completed by what it quoted."""
    completed = list(readings)
    for k, turn in enumerate(turns):
        said, before = asked[k], completed[k - 1] if k else None
        if turn.aside and dialog is not None and said is not None and before is not None:
            factors = dialog.factors_read_by(said)
            reply = turns[k - 1].reply.text
            completed[k - 1] = with_help(before, turn.reply.text, reply, factors, n)

    return completed


def _counting(
    readings: Sequence[Reading | None], dialog: Dialog | None, n: int
) -> list[set[Place]]:
    """Return, turn by turn, the scores that stand: no later reply replaced or voided them."""
    last: dict[Place, int] = {}
    final = Reading()
    for k, reading in enumerate(readings):
        if reading is not None and dialog is not None:
            # A later reply may void earlier scores without giving new ones: `final` knows which
            # stand, `last` only where each was read last.
            final = merged(final, reading, dialog.factors, n)
            last |= dict.fromkeys(reading.scores, k)

    standing: list[set[Place]] = [set() for _ in readings]
    for place in final.scores:
        if place in last:
            standing[last[place]].add(place)

    return standing


def _reading(turn: PlayedTurn, said: Turn | None, dialog: Dialog | None, n: int) -> Reading | None:
    if said is None or dialog is None or turn.entry is None or turn.aside:
        return None

    if said.read == "scores":
        return read_scores_of(turn.reply, said, dialog.factors_read_by(said), n).reading

    if said.read == "winner":
        fault = read_winner_of(turn.reply, said).fault
        return Reading(faults=(fault,) if fault else ())

    return None


def _pieces(
    text: str, reading: Reading | None, counting: set[Place], n: int, helped: set[Place]
) -> Iterator[Piece]:
    spans = sorted(reading.spans.items(), key=lambda found: found[1]) if reading else []
    at = 0
    for place, (start, end) in spans:
        if reading is None or start < at or place not in reading.scores:
            continue

        if start > at:
            yield Piece(text[at:start])

        image = f"Image {place[0]}, " if n > 1 else ""
        label = f"{image}{place[1]} = {show(reading.scores[place])}"
        if place in helped:
            label += f" ({READ_WITH_HELP})"

        yield Piece(text[start:end], label, place in counting)
        at = end

    if at < len(text):
        yield Piece(text[at:])


def _winner_pieces(reply: Reply, said: Turn) -> Iterator[Piece]:
    """Yield the judge's words with its verdict on a pair apart."""
    found = read_winner_of(reply, said)
    start, end = found.span
    if found.fault is not None or start >= end:
        yield Piece(reply.text)
        return

    yield Piece(reply.text[:start])
    label = f"both {found.both}" if found.both else found.winner
    yield Piece(reply.text[start:end], f"winner = {label}")
    yield Piece(reply.text[end:])


def _marks(turn: PlayedTurn, reading: Reading | None) -> Iterator[str]:
    if turn.entry is None:
        return

    if turn.aside:
        yield "put to the reader"
    elif turn.repair:
        yield f"repair {turn.repair}"

    finish = {"length": "cut off", "content_filter": "filtered"}.get(turn.reply.finish)
    if finish:
        yield finish

    faults = reading.faults if reading else ()
    refused = turn.reply.refusal or any(fault.kind == "refused" for fault in faults)
    if refused:
        yield "refused"
    elif faults:
        yield "not all could be read"

    if not turn.reply.text.strip() and not turn.reply.refusal:
        yield "empty"


@dataclass
class ScoredEdit:
    """The scores of one method's edit of one item, over all repeats."""

    scores: dict[str, list[float]] = field(default_factory=dict)
    """By factor: the score of each repeat that gave one."""
    outcome: Outcome = Outcome.SCORED
    """The first that was not `scored`, if any."""
    reason: str = ""

    def mean(self, factor: str) -> float | None:
        """Return the mean over repeats, or None where no repeat gave a score."""
        known = self.scores.get(factor)
        return sum(known) / len(known) if known else None

    def spread(self, factor: str) -> float | None:
        """Return how far apart the repeats are; None with fewer than two."""
        known = self.scores.get(factor, [])
        return max(known) - min(known) if len(known) > 1 else None


def _lack(outcome: str) -> int:
    """Return how much an outcome says of an edit: that of a factor that does not apply, least."""
    return {"": 0, Outcome.ABSENT: 1, Outcome.SCORED: 2}.get(outcome, 3)


@dataclass
class RunData:
    """One run, read once."""

    name: str
    run: Run
    images: Path | None = None
    """Where the benchmark's pictures are now, if not where they were."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Display names given for methods, over those of the benchmark."""
    only: Sequence[SessionRecord] | None = None
    """The sessions it is about, if not all; nothing else is then checked or opened."""

    @property
    def manifest(self) -> Manifest:
        """What was asked, and how the run ended."""
        return self.run.manifest

    @cached_property
    def names(self) -> DisplayNames:
        """What methods and task categories are called."""
        return display_names(self.manifest, self.renamed)

    @cached_property
    def scales(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest score of each factor, as far as the dialog says."""
        if self.run.is_of_pairs:
            return {WIN_RATE: (0.0, 1.0)}
        return self.manifest.scales()

    @cached_property
    def weights(self) -> dict[str, float] | None:
        """The weights of the run's own dialog."""
        return self.manifest.weights

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The tidy table; of a run that is still going, the part that is written."""
        if self.run.is_of_pairs:
            return points_of(self.matches)
        return self.run.scores()

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Every pair shown to the judge; of a run that is still going, as far as it is written."""
        return self.run.comparisons()

    @cached_property
    def matches(self) -> list[Match]:
        """The pairs, both orders put together."""
        return matches(self.comparisons)

    @cached_property
    def sessions(self) -> list[SessionRecord]:
        """The record of each session; none where the file is missing."""
        return list(self.run.intact_records() if self.only is None else self.only)

    @property
    def unfinished(self) -> str:
        """A warning about a run that has not ended; empty for one that has."""
        # A run that was stopped says so in its caution since format 2.
        told = self.manifest.format >= 2 and self.manifest.state != "running"
        if self.run.finished or told:
            return ""
        return f"This run is not finished ({self.run.progress()}): what follows is a part of it."

    @cached_property
    def methods(self) -> list[str]:
        """The methods, in the order of the benchmark."""
        seen = [str(name) for name in self.scores["method"].unique()]
        known = [name for name in self.manifest.methods if name in seen]
        return known + [name for name in seen if name not in known]

    @cached_property
    def factors(self) -> list[str]:
        """The factors as they occur in the table, the main one first."""
        seen = [str(name) for name in self.scores["factor"].unique()]
        known = [name for name in seen if name != OVERALL or self.has_overall]
        return sorted(known, key=lambda name: name != self.main_factor)

    @cached_property
    def has_overall(self) -> bool:
        """Whether edits get an overall; one that was never judged has a line for it in any case."""
        found = self.scores["outcome"][self.scores["factor"] == OVERALL]
        if found.empty or self.manifest.overall != "none":
            return not found.empty
        return not found.isin([Outcome.MISSING, Outcome.UNJUDGED]).all()

    @cached_property
    def main_factor(self) -> str:
        """What methods are ranked by: the overall, or the first factor where only factors are
        scored."""
        scored = set(self.scores["factor"][self.scores["outcome"] == Outcome.SCORED])
        if OVERALL in scored or (self.has_overall and not scored):
            return OVERALL

        seen = [str(name) for name in self.scores["factor"].unique()]
        return next((name for name in seen if name != OVERALL), OVERALL)

    @cached_property
    def items(self) -> list[tuple[str, str]]:
        """(item, task), in the order of the run."""
        pairs = self.scores[["item", "task"]].drop_duplicates()
        return [(str(item), str(task)) for item, task in pairs.itertuples(index=False)]

    @cached_property
    def edits(self) -> dict[tuple[str, str], ScoredEdit]:
        """By item and method."""
        found: dict[tuple[str, str], ScoredEdit] = {}
        columns = ("item", "method", "factor", "score", "outcome")
        cells = (self.scores[name].tolist() for name in columns)
        for item, method, factor, score, outcome in zip(*cells, strict=True):
            edit = found.setdefault((item, method), ScoredEdit())
            if outcome == Outcome.SCORED:
                edit.scores.setdefault(factor, []).append(score)

        for (item, method, _), (outcome, reason) in self.judgements.items():
            edit = found[item, method]
            if edit.outcome == Outcome.SCORED:
                edit.outcome, edit.reason = outcome, reason

        return found

    @cached_property
    def judgements(self) -> dict[tuple[str, str, int], tuple[Outcome, str]]:
        """By item, method and repeat: what became of an edit, and the reason where it lacks a
        score.

        The overall says so; where there is none, the first factor that lacks its score.
        """
        found: dict[tuple[str, str, int], tuple[Outcome, str]] = {}
        columns = ("item", "method", "repeat", "factor", "outcome", "reason")
        cells = (self.scores[name].tolist() for name in columns)
        telling = [OVERALL] if OVERALL in self.factors else self.factors
        for item, method, repeat, factor, outcome, reason in zip(*cells, strict=True):
            place = (item, method, repeat)
            if factor not in telling or _lack(outcome) <= _lack(found.get(place, ("",))[0]):
                continue

            judged = outcome not in (Outcome.MISSING, Outcome.UNJUDGED)
            named = len(telling) > 1 and judged and reason
            found[place] = Outcome(outcome), f"{factor}: {reason}" if named else reason

        return found

    @cached_property
    def by_repeat(self) -> dict[tuple[str, str, int], dict[str, float]]:
        """By item, method and repeat: the scores there are."""
        found: dict[tuple[str, str, int], dict[str, float]] = {}
        scored = self.scores[self.scores["outcome"] == Outcome.SCORED]
        columns = ("item", "method", "repeat", "factor", "score")
        cells = (scored[name].tolist() for name in columns)
        for item, method, repeat, factor, score in zip(*cells, strict=True):
            found.setdefault((item, method, repeat), {})[factor] = score

        return found

    @cached_property
    def talks(self) -> list[Talk]:
        """Every conversation, with the replies the ledger has."""
        if not self.run.ledger_path.is_file():
            return [self._talk(record, None) for record in self.sessions]
        with Ledger(self.run.ledger_path, read_only=True) as ledger:
            return [self._talk(record, ledger) for record in self.sessions]

    @property
    def shown_pictures(self) -> list[Path]:
        """Every picture that a session showed, each once: known before any reply is read."""
        names: dict[str, None] = {}
        for record in self.sessions:
            names |= dict.fromkeys(record.images.values())
            for exchange in record.exchanges:
                names |= dict.fromkeys(path for _, path in exchange.images)

        return [self._picture(name) for name in names]

    def check_ledger(self) -> None:
        """Raise LedgerError where the ledger is damaged; one that is not there is no damage."""
        path = self.run.ledger_path
        if not path.is_file():
            return

        keys = None
        if self.only is not None:
            keys = [exchange.key for record in self.only for exchange in record.exchanges]

        try:
            says = next(damage(path, keys), None)
        except LedgerDamaged as error:
            says = error.says

        if says is not None:
            raise LedgerError(
                f"{says}; put back a copy, or move it away: the tables can be shown without it, "
                "and `lmmscore run` then says how to have asked again what it held"
            )

    @cached_property
    def lacks(self) -> list[str]:
        """What the whole run lacks; see `lacking`."""
        return self.lacking(self.talks)

    def lacking(self, talks: Sequence[Talk]) -> list[str]:
        """Return what conversations lack that was there when they were held.

        Each is said once, with what to do, and without a path of this machine: it stands on pages
        that are sent to others.
        """
        return [*self._lacking_words(talks), *self._lacking_pictures(talks)]

    def _lacking_words(self, talks: Sequence[Talk]) -> Iterator[str]:
        path = self.run.ledger_path
        turns = [turn for talk in talks for turn in talk.turns]
        lost = sum(turn.entry is None for turn in turns)
        if lost and not path.is_file():
            yield (
                f"The ledger {path.name} is not here: nothing of what was said can be shown, and "
                "no picture compared with the one that was judged. Put it back where it was."
            )
        elif lost:
            yield (
                f"The ledger {path.name} lacks {lost:,} of {counted(len(turns), 'exchange')}: "
                "`lmmscore run` with the same arguments asks them again."
            )

    def _lacking_pictures(self, talks: Sequence[Talk]) -> Iterator[str]:
        paths: dict[Path, None] = {}
        for talk in talks:
            paths |= dict.fromkeys(talk.images.values())
            for turn in talk.turns:
                paths |= dict.fromkeys(path for _, path in turn.images)

        replaced = set(self.changed_pictures)
        names = {path: self._name_of(path) for path in paths}
        changed = [name for name in names.values() if name in replaced]
        gone = [name for path, name in names.items() if not path.is_file()]
        lost = [name for name in gone if name not in replaced]
        if changed:
            yield (
                f"{counted(len(changed), 'picture')} changed since judged, and not shown: "
                f"{_first_of(changed)}."
            )

        if lost:
            which = (
                f"{len(lost):,} of {counted(len(names), 'picture')} not here: {_first_of(lost)}. "
            )
            if len(lost) == len(names):
                which = f"None of the {counted(len(names), 'picture')} is here. "

            yield (
                f"{which}Put the benchmark beside the run, or say where it is with --bench FOLDER."
            )

    def _name_of(self, path: Path) -> str:
        """Return a picture's name as the run has it."""
        root = NOT_SHOWN if path.is_relative_to(NOT_SHOWN) else self._images_root
        return path.relative_to(root).as_posix()

    @cached_property
    def _dialogs(self) -> dict[str, Dialog]:
        return {dialog.name: dialog for dialog in self.manifest.protocol.dialogs}

    @cached_property
    def _images_root(self) -> Path:
        return self.images or self.run.find_pictures() or Path()

    @cached_property
    def _as_judged(self) -> dict[str, bool]:
        """For every picture on record: whether the file that is there now is what the judge saw."""
        try:
            with Ledger(self.run.ledger_path, read_only=True) as ledger:
                recorded = shown_digests(self.sessions, ledger)

            recipe = self.manifest.recipe
        except LmmscoreError:
            return {}

        def same(name: str) -> bool | None:
            try:
                return picture_digest(self._images_root / name, recipe) in recorded[name]
            except ImageProblem:
                return None

        # None: the file is not there, or is no picture; that is another loss than a changed one.
        with ThreadPoolExecutor() as pool:
            found = dict(zip(recorded, pool.map(same, recorded), strict=True))

        return {name: state for name, state in found.items() if state is not None}

    @property
    def changed_pictures(self) -> list[str]:
        """The pictures that were replaced since the judge saw them."""
        return [name for name, same in self._as_judged.items() if not same]

    def _picture(self, name: str) -> Path:
        """Return a picture's file: only what the judge was shown, or what lies where the user says.

        A run that was received could name any file of this machine; it cannot know its digest.
        """
        path = self._images_root / name
        shown = self._as_judged.get(name)
        if shown is None:
            shown = self.images is not None or path.resolve() in self._benchmark_files
        return path if shown else NOT_SHOWN / name

    @cached_property
    def _benchmark_files(self) -> set[Path]:
        """The pictures that the benchmark lists, shown to the judge or not."""
        found: set[Path] = set()
        for item in self.benchmark_items.values():
            paths = (*item.images.values(), *item.edits.values())
            found.update(path.resolve() for path in paths)
        return found

    def _talk(self, record: SessionRecord, ledger: Ledger | None) -> Talk:
        dialog = self._dialogs.get(record.dialog)
        turns = [self._turn(exchange, ledger) for exchange in record.exchanges]
        return Talk(
            item=record.item,
            task=record.task,
            instruction=record.instruction,
            repeat=record.repeat,
            dialog=record.dialog,
            covers=dialog.covers if dialog else "item",
            order=tuple(record.order),
            system=self._system(dialog, record) if dialog else "",
            turns=tuple(with_scores_marked(turns, dialog, len(record.order))),
            faults=tuple(record.faults),
            failure=record.failure,
            stated={int(position): value for position, value in record.stated.items()},
            slips={position: (exact, said) for position, exact, said in record.slips},
            images={kind: self._picture(path) for kind, path in record.images.items()},
            winner=self._winners.get((record.item, record.repeat, tuple(record.order)), ""),
        )

    @cached_property
    def _winners(self) -> dict[tuple[str, int, tuple[str, ...]], str]:
        """By item, repeat and the order shown: who won a pair."""
        if not self.run.is_of_pairs:
            return {}
        return {(row.item, row.repeat, row.shown): row.winner for row in self.comparisons}

    def _turn(self, exchange: ExchangeRecord, ledger: Ledger | None) -> PlayedTurn:
        entry = ledger.entry(exchange.key) if ledger else None
        # Where there is no ledger at all, that is said once.
        lacks = ledger is not None and entry is None
        return PlayedTurn(
            name=exchange.turn,
            position=exchange.position,
            repair=exchange.repair,
            aside=exchange.aside,
            key=exchange.key,
            images=tuple((kind, self._picture(path)) for kind, path in exchange.images),
            entry=entry,
            marks=("not in the ledger",) if lacks else (),
        )

    def _system(self, dialog: Dialog, record: SessionRecord) -> str:
        """Return the system message as it was said."""
        if not dialog.system:
            return ""

        item = Item(record.item, record.task, record.instruction, {}, {}, record.fields)
        chosen = self.manifest.settings
        settings = {name: choice for name, choice in chosen.items() if name in dialog.settings}
        session = Session(dialog, item, record.repeat, tuple(record.order), settings)
        slots = slots_for(session)
        # Runs of older versions have no columns on record: their slots are shown as slots.
        unknown = {
            name: "{{" + name + "}}" for name in slots_of(dialog.system) if name not in slots
        }
        return fill(dialog.system, slots | unknown, f"dialog {dialog.name}, system")

    @property
    def apart(self) -> bool:
        """Whether each edit has a conversation of its own, so that none came before another."""
        return bool(self.talks) and all(talk.covers == "edit" for talk in self.talks)

    @cached_property
    def benchmark_items(self) -> Mapping[str, Item]:
        """The benchmark's items as they are now; none where it is gone."""
        with contextlib.suppress(LmmscoreError, OSError):
            file = self.run.find_benchmark()
            if file is not None:
                return {item.id: item for item in load_benchmark(file).items}
        return {}

    def title(self, factor: str) -> str:
        """Return a factor's name in words."""
        for known in self.manifest.factors:
            if known.key == factor:
                name = known.name or factor
                return f"{name} {LOW}" if known.better == "low" else name

        return {OVERALL: "Overall", WIN_RATE: "Win rate"}.get(factor, factor)


def in_utc(moment: str) -> str:
    """Return a recorded moment as people write it: date, space, time."""
    return moment.replace("T", " ").removesuffix("+00:00")


def points_of(found: Iterable[Match]) -> pd.DataFrame:
    """Return the results of matches as a tidy table: 1 for a win, ½ for a tie, 0 for a loss.

    The mean of a method's points is its win rate. They serve to find and sort edits; methods are
    ranked by the matches themselves.
    """
    import pandas as pd

    lines = []
    for match in found:
        lacking = next((row for row in match.shown if not row.winner), None)
        outcome = Outcome.SCORED if lacking is None else lacking.outcome
        reason = "" if lacking is None else lacking.reason
        for method in (match.method_a, match.method_b):
            points = math.nan if lacking else {method: 1.0, TIE: 0.5}.get(match.winner, 0.0)
            place = (match.item, match.task, method, match.repeat)
            lines.append((*place, None, WIN_RATE, points, str(outcome), reason))

    return pd.DataFrame(lines, columns=list(SCORE_COLUMNS))


def _first_of(names: Sequence[str]) -> str:
    more = [f"{len(names) - 5:,} more"] if len(names) > 5 else []
    return listed([*names[:5], *more])
