"""What a terminal shows: tables, how far a run is, conversations, dialogs, transcripts.

No row of a table is wrapped: what has no room is left out, and a line says so.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table as RichTable
from rich.text import Text

from lmmscore.errors import counted, listed
from lmmscore.records import OVERALL, Outcome
from lmmscore.report.formats import NONE, Cell, Grid, TableDocument, TableLayout, formats

# Every command asks for the names of the formats, which imports this file: what only progress and
# conversations need is imported where they do.
if TYPE_CHECKING:
    from fractions import Fraction

    import pandas as pd

    from lmmscore.dialog import Dialog
    from lmmscore.judges.limits import Meter
    from lmmscore.report.run_data import PlayedTurn, Talk
    from lmmscore.scores import Result
    from lmmscore.session import Exchange
    from lmmscore.transcript_reader import Replayed

SHORT_FORM = ("rank", "method", "mean", "strength", "mean_interval", "strength_interval", "group")
"""What a narrow terminal shows of a leaderboard."""

SHORTEST_NAME = 12
"""Columns below which a name is not cut while a figure can be left out instead."""

_WIDE = 400
_GAP = 3
"""What a table puts between two columns."""
_STYLES = {"best": "bold green", "second": "underline", "": ""}

# Control characters but tab and newline, and the marks by which text can pretend to be other text.
_ACTIVE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Return text with a visible stand-in for every control and direction character, one for one.

    Words of others must not move the cursor or colour the screen. Lengths stay, so that positions
    in the text stay true.
    """
    return _ACTIVE.sub(_stand_in, text.replace("\r\n", " \n"))


def _stand_in(found: re.Match[str]) -> str:
    code = ord(found[0])
    # The control pictures of Unicode: ␛ for escape.
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


@formats.register("term")
def write_terminal(document: TableDocument, layout: TableLayout) -> str:
    """Return the tables as text for a terminal."""
    out = io.StringIO()
    system: Literal["standard"] | None = "standard" if layout.color else None
    console = Console(
        file=out,
        width=layout.width or _WIDE,
        force_terminal=layout.color,
        highlight=False,
        color_system=system,
    )
    if document.caution:
        console.print(Text(f"Caution: {document.caution}", style="bold yellow"))

    if document.caution and document.headline:
        console.print()

    for text in document.headline:
        console.print(Text(text))

    # On one screen a note need not be read under every table; files may be cut into their tables.
    grids, shared = _shared_notes(document.grids)
    left_out: dict[str, None] = {}
    for grid in grids:
        left_out |= dict.fromkeys(_print(console, grid, layout.width))

    notes = [*shared, *document.notes]
    if left_out:
        names = ", ".join(left_out)
        notes.append(f"Left out for lack of room: {names}. Widen the terminal, or use --format md.")

    if notes:
        console.print()

    for note in dict.fromkeys(notes):
        console.print(Text(note, style="dim"))

    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _shared_notes(grids: Sequence[Grid]) -> tuple[list[Grid], list[str]]:
    """Return the grids without the notes that several of them have, and those notes once.

    A note that is not about every table with notes names those that it is about.
    """
    titles: dict[str, list[str]] = {}
    for grid in grids:
        for note in grid.below:
            titles.setdefault(note, []).append(grid.title)

    shared = {note: names for note, names in titles.items() if len(names) > 1}
    kept = [
        replace(grid, below=tuple(note for note in grid.below if note not in shared))
        for grid in grids
    ]
    noted = sum(bool(grid.below) for grid in grids)
    return kept, [
        note if len(names) == noted else f"{listed(names)}: {note}"
        for note, names in shared.items()
    ]


def _print(console: Console, grid: Grid, width: int | None) -> Iterable[str]:
    """Print one table; return the columns that had no room."""
    fitted = grid if width is None else fit_columns(grid, width)
    console.print()
    console.print(Text(grid.title, style="bold"))
    if grid.verdict:
        console.print(Text(grid.verdict))

    for text in grid.above:
        console.print(Text(text, style="yellow"))

    if fitted.rows:
        # Rich would squeeze a table wider than its console; what fits has been decided already.
        room, console.width = console.width, _WIDE
        console.print(_table(fitted))
        console.width = room

    for text in (grid.caption, *grid.below):
        if text:
            console.print(Text(text, style="dim"))

    return [name for name in grid.columns if name not in fitted.columns]


def fit_columns(grid: Grid, width: int) -> Grid:
    """Return the grid with as many columns as fit: all, all but the spare ones, the short form.

    Where even that is too wide, names are shortened first, and then columns go from the right.
    """
    if _width(grid) <= width:
        return grid

    needed = [k for k in range(len(grid.columns)) if k not in grid.spare]
    if needed and _width(grid.select(needed)) <= width:
        return grid.select(needed)

    kept = needed
    if "method" in grid.keys:
        kept = [grid.keys.index(key) for key in SHORT_FORM if key in grid.keys]

    while len(kept) > 2 and _least_width(grid.select(kept)) > width:
        kept.pop()

    return _shortened(grid.select(kept), width)


def _width(grid: Grid) -> int:
    columns = [_column_width(grid, k) + _GAP for k in range(len(grid.columns))]
    return max(sum(columns) - _GAP, 0) + 1


def _column_width(grid: Grid, place: int) -> int:
    cells = [cell_len(row[place].text) for row in grid.rows]
    heads = [cell_len(line) for line in _head(grid, place).split("\n")]
    return max([*heads, *cells])


def _head(grid: Grid, place: int) -> str:
    """Return a column's heading, below that of its group if it has one."""
    start = 0
    for name, width in grid.groups:
        if name and start <= place < start + width:
            return f"{name}\n{grid.columns[place]}"
        start += width
    return grid.columns[place]


def _least_width(grid: Grid) -> int:
    """Return the width with names as short as they may become."""
    place = _names(grid)
    if place is None:
        return _width(grid)
    return _width(_cut_names(grid, place, SHORTEST_NAME))


def _shortened(grid: Grid, width: int) -> Grid:
    """Return the grid with its names cut to what is left of the width."""
    excess = _width(grid) - width
    place = _names(grid)
    if excess <= 0 or place is None:
        return grid

    names = [row[place].text for row in grid.rows]
    longest = max(map(cell_len, names), default=0)
    room = max(longest - excess, SHORTEST_NAME)
    return _cut_names(grid, place, room)


def _names(grid: Grid) -> int | None:
    """Return the first column of words, which is the one to be shortened."""
    return min((k for k in grid.text_columns if k < len(grid.columns)), default=None)


def _cut_names(grid: Grid, place: int, room: int) -> Grid:
    rows = []
    for row in grid.rows:
        cells = list(row)
        cells[place] = replace(cells[place], text=shortened(cells[place].text, room))
        rows.append(tuple(cells))
    return replace(grid, rows=tuple(rows))


def shortened(text: str, room: int) -> str:
    """Return a text cut in its middle to so many columns: names often differ at their ends."""
    if cell_len(text) <= room:
        return text
    head = (room - 1) // 2
    tail = room - 1 - head
    return f"{_start(text, head)}…{_start(text[::-1], tail)[::-1]}"


def _start(text: str, room: int) -> str:
    """Return as many characters as fit; one of Chinese takes two columns."""
    end = 0
    while end < len(text) and cell_len(text[: end + 1]) <= room:
        end += 1
    return text[:end]


def _table(grid: Grid) -> RichTable:
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for k in range(len(grid.columns)):
        side: Literal["left", "right"] = "left" if k in grid.text_columns else "right"
        table.add_column(Text(_head(grid, k)), justify=side, no_wrap=True)

    for row in grid.rows:
        table.add_row(*[_text(cell) for cell in row])

    return table


def _text(cell: Cell) -> Text:
    text = "".join(c if c.isprintable() else " " for c in cell.text)
    return Text(text, style=_STYLES[cell.mark])


SAID_OF_A_KIND = 20
"""Lines printed about one kind of problem; further ones are only counted."""
STEPS = 10
"""On a pipe, a line for each tenth of the run …"""
SILENCE_S = 60.0
"""… and one after so many seconds without any."""
WIDEST = 110
"""Prose in longer lines is hard to read."""


# --------------------------------------------------------------------------------------------------
# How far a run is: in place on a terminal or in a notebook, plain sparse lines elsewhere
# --------------------------------------------------------------------------------------------------


class Progress:
    """Shows the progress of a run.

    Enter it, then hand it every exchange and every result as they come.
    """

    def __init__(
        self,
        total_units: int,
        meter: Meter | None = None,
        *,
        console: Console | None = None,
        file: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.console = console or Console(file=file, stderr=file is None, highlight=False)
        self.tally = Tally(total_units, meter, clock)
        self._live: Live | None = None
        self._said_at_s = self.tally.started_s
        self._said_step = 0

    def __enter__(self) -> Progress:
        if in_place(self.console):
            # Data on stdout is not redirected; words on stderr go above the display.
            self._live = Live(
                get_renderable=self._picture,
                console=self.console,
                refresh_per_second=4,
                transient=True,
                redirect_stdout=False,
            )
            self._live.start()

        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for line in self.tally.notices():
            self._say(line)

        if self._live is not None:
            self._live.stop()

        self._print(Text(f"{headline(self.tally, ended=True)} · {detail(self.tally)}"))

    def exchange(self, exchange: Exchange) -> None:
        """Take note of a turn."""
        self.tally.exchange(exchange)
        self._line_if_due()

    def result(self, result: Result) -> None:
        """Take note of a finished unit, and say what went wrong in it."""
        for line in self.tally.result(result):
            self._say(line)

        self._line_if_due()

    def known(self, exchanges: int) -> None:
        """Take note of a unit that was derived before."""
        self.tally.known(exchanges)
        self._line_if_due()

    def _say(self, line: str) -> None:
        self._print(Text(printable(line), style="yellow"))

    def _print(self, text: Text) -> None:
        # A plain line stays one line, for whoever filters a log.
        self.console.print(text, soft_wrap=self._live is None)

    def _line_if_due(self) -> None:
        if self._live is not None:
            return

        tally, now_s = self.tally, self.tally.clock()
        step = tally.done * STEPS // max(tally.total, 1)
        if tally.done < tally.total and (
            step > self._said_step or now_s - self._said_at_s >= SILENCE_S
        ):
            self._said_step, self._said_at_s = step, now_s
            self._print(Text(f"{headline(tally)} · {detail(tally)}"))

    def _picture(self) -> RenderableType:
        bar = ProgressBar(total=max(self.tally.total, 1), completed=self.tally.done, width=30)
        first = RichTable.grid(padding=(0, 1))
        first.add_row(bar, Text(headline(self.tally)))
        return Group(first, Text(detail(self.tally), style="dim"))


def in_place(console: Console) -> bool:
    """Return whether progress can be redrawn in place: a person watches a capable screen."""
    if console.is_jupyter:
        # Rich draws over a notebook's output by means of ipywidgets; without it, lines work.
        return find_spec("ipywidgets") is not None
    return console.is_terminal and not console.is_dumb_terminal and not os.environ.get("CI")


@contextlib.contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show progress on standard error if that is a terminal; yield the function that counts."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return

    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as ProgressLine

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with ProgressLine(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)


@dataclass
class Tally:
    """Running totals, by the meter of the judge where it has one."""

    total: int
    meter: Meter | None
    clock: Callable[[], float]
    done: int = 0
    turns: int = 0
    recalled: int = 0
    _fresh: int = 0
    _began_s: float | None = None
    _heard: int = 0
    _kinds: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        from lmmscore.judges.limits import Meter

        # What the answers themselves say, for judges that keep no count.
        self._answers = Meter()
        self.started_s = self.clock()

    @property
    def counts(self) -> Meter:
        """Calls, retries and remarks so far."""
        return self._answers if self.meter is None else self.meter

    def exchange(self, exchange: Exchange) -> None:
        """Count a turn; what came from the ledger cost nothing."""
        self.turns += 1
        if exchange.recalled:
            self.recalled += 1
            return

        self._began_s = self.started_s if self._began_s is None else self._began_s
        self._answers.count(exchange.reply.usage)
        self._answers.cost_usd += exchange.reply.cost_usd or 0.0

    def result(self, result: Result) -> Iterator[str]:
        """Count a finished unit; yield a line for whatever went wrong in it."""
        if result.unit.shown:
            # A unit without sessions only notes that methods made no edit: nobody waits for it.
            self.done += 1
            self._fresh += any(
                not each.recalled for played in result.played for each in played.exchanges
            )

        yield from self._sparingly(result)
        yield from self.notices()

    def known(self, exchanges: int) -> None:
        """Count a unit that was derived before, from so many recorded exchanges."""
        self.done += 1
        self.turns += exchanges
        self.recalled += exchanges

    def notices(self) -> Iterator[str]:
        """Yield what the judge's meter has to say and has not said yet."""
        notices = self.counts.notices
        yield from notices[self._heard :]
        self._heard = len(notices)

    def _sparingly(self, result: Result) -> Iterator[str]:
        for kind, line in troubles(result):
            self._kinds[kind] += 1
            if self._kinds[kind] <= SAID_OF_A_KIND:
                yield line
            elif self._kinds[kind] == SAID_OF_A_KIND + 1:
                yield f"… further edits are {kind}; scores.csv will list them all"

    @property
    def in_flight(self) -> int | None:
        """How many turns wait for an answer; None where the judge does not say."""
        return None if self.meter is None else self.meter.in_flight

    def tokens(self) -> dict[str, int]:
        """Return the running totals by kind, as `Meter.tokens` has them."""
        told = self._answers.tokens()
        return {kind: known or told[kind] for kind, known in self.counts.tokens().items()}

    @property
    def cost_usd(self) -> float:
        """What was spent by the price list; 0 where no price is known."""
        return self.counts.cost_usd or self._answers.cost_usd

    def elapsed_s(self) -> float:
        """How long the run has been going."""
        return self.clock() - self.started_s

    def left_s(self) -> float | None:
        """How long the rest will take at the pace so far; None before there is a pace.

        Sessions that came from the ledger took no time, and say nothing about those that will.
        """
        if self._began_s is None or not self._fresh:
            return None
        return (self.clock() - self._began_s) / self._fresh * (self.total - self.done)


def troubles(result: Result) -> Iterator[tuple[str, str]]:
    """Yield (kind, line) for every way in which edits of a unit went unscored, and for repairs."""
    item, repeat = result.unit.item.id, result.unit.repeat
    where = f"item {item}" + (f", repeat {repeat}" if result.unit.repeats > 1 else "")
    factors = {row.factor for row in result.scores if row.outcome != Outcome.MISSING}
    telling = factors & {OVERALL} or factors
    told: set[str] = set()
    reasons: dict[tuple[Outcome, str], list[str]] = {}
    # That a method made no edit was known before the run; what does not apply is no trouble.
    expected = (Outcome.SCORED, Outcome.MISSING, Outcome.ABSENT)
    failures = [each.done.failure.reason for each in result.played if each.done.failure]
    for row in result.scores:
        # The overall says it for an edit; where there is none, the first factor without a score.
        if row.outcome in expected or row.method in told or row.factor not in telling:
            continue

        told.add(row.method)
        # A row names the factor that lacks a score, which is of no matter if the session failed.
        own = row.reason if row.factor == OVERALL else f"{row.factor}: {row.reason}"
        reason = next((each for each in failures if row.reason.endswith(each)), own)
        reasons.setdefault((row.outcome, reason), []).append(row.method)

    pair = result.comparison
    if pair is not None and pair.outcome not in expected:
        reasons[pair.outcome, pair.reason] = [f"{pair.method_a} and {pair.method_b}"]

    for (outcome, reason), methods in reasons.items():
        whom = ", ".join(methods) if len(methods) <= 3 else f"{len(methods)} edits"
        yield str(outcome), f"{where}: {whom} {outcome}: {reason}"

    repairs = sum(played.repairs for played in result.played)
    if repairs and not reasons:
        if result.played[0].session.dialog.covers != "item":
            where += f", {' and '.join(result.unit.shown)}"

        yield "repaired", f"{where}: read after {counted(repairs, 'repair turn')}"


def headline(tally: Tally, *, ended: bool = False) -> str:
    """Return how many sessions are done, how many turns are under way and how long it will take."""
    noun = "session" if tally.total == 1 else "sessions"
    parts = [f"{tally.done}/{tally.total} {noun}"]
    if ended:
        return " · ".join([*parts, f"took {duration(tally.elapsed_s())}"])

    if tally.in_flight is not None:
        parts.append(f"{counted(tally.in_flight, 'turn')} in flight")

    left = tally.left_s()
    parts.append("time left unknown" if left is None else f"{duration(left)} left")
    return " · ".join(parts)


def detail(tally: Tally) -> str:
    """Return calls, tokens and cost so far."""
    counts, tokens = tally.counts, tally.tokens()
    # Not "from the ledger": in a first run too, many sessions open with the same questions.
    recalled = f" + {tally.recalled:,} asked before" if tally.recalled else ""
    parts = [counted(counts.calls, "call") + recalled]
    if counts.retries:
        parts.append(counted(counts.retries, "retry", "retries"))

    sent, received = tokens["prompt_tokens"], tokens["completion_tokens"]
    if sent or received:
        cached = tokens["cached_tokens"]
        of_it = f" ({short(cached)} cached)" if cached else ""
        parts.append(f"{short(sent)} tokens in{of_it}, {short(received)} out")

    if tally.cost_usd:
        assumed = counts.assumed_usd
        of_it = f" ({dollars(assumed)} of it assumed)" if assumed else ""
        parts.append(dollars(tally.cost_usd) + of_it)

    return " · ".join(parts)


def dollars(usd: float) -> str:
    """Return a sum of money, small ones to the hundredth of a cent."""
    return f"${usd:,.2f}" if usd >= 0.1 else f"${usd:.4f}"


def short(number: int) -> str:
    """Return a count in short: 950, 12.3k, 4.56M."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 999_950 else f"{number / 1_000_000:.2f}M"


def duration(seconds: float) -> str:
    """Return a time as 0:07, 12:34 or 3:05:09."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


# --------------------------------------------------------------------------------------------------
# Conversations
# --------------------------------------------------------------------------------------------------


def print_talks(
    talks: Sequence[Talk], scores: pd.DataFrame, console: Console | None = None
) -> None:
    """Print conversations to standard output, each followed by what was read from it."""
    console = console or Console(highlight=False)
    console.width = min(console.width, WIDEST)
    for talk in talks:
        with console.capture() as caught:
            _print_talk(console, talk)
            console.print(_outcome(talk, scores))
            for line in _aftermath(talk):
                console.print(Text(printable(line), style="yellow"))

        # Rich pads every line to the full width, which nobody wants in a file.
        console.file.write("\n".join(line.rstrip() for line in caught.get().splitlines()) + "\n")


def talks_text(talks: Sequence[Talk], scores: pd.DataFrame) -> str:
    """Return the same as text without colours, for a file."""
    out = io.StringIO()
    print_talks(talks, scores, Console(file=out, width=WIDEST, highlight=False))
    return out.getvalue()


def _print_talk(console: Console, talk: Talk) -> None:
    parts = (talk.item, f"repeat {talk.repeat}", talk.dialog, talk.method)
    about = " · ".join(part for part in parts if part)
    console.print(Rule(Text(printable(about), style="bold"), style="dim"))
    console.print(Text(printable(f"{talk.task}: {talk.instruction}"), style="italic"))
    if talk.system:
        console.print(Padding(Text(printable(f"system: {talk.system}"), style="dim"), (1, 0, 0, 2)))

    for number, turn in enumerate(talk.turns, 1):
        _print_turn(console, talk, turn, number)


def _file(path: Path) -> str:
    from lmmscore.report.run_data import NOT_SHOWN

    if path.is_relative_to(NOT_SHOWN):
        return f"{path.relative_to(NOT_SHOWN).as_posix()} (not at hand as it was judged)"
    return os.path.normpath(path)


def _print_turn(console: Console, talk: Talk, turn: PlayedTurn, number: int) -> None:
    console.print()
    heading = Text.assemble((f"{number} {turn.name}", "bold cyan"))
    if turn.position and talk.covers == "item":
        method = talk.method_at(turn.position)
        heading.append(printable(f" · Image {turn.position} (method: {method})"))

    for mark in turn.marks:
        heading.append(f"  [{mark}]", "bold yellow")

    console.print(heading)
    for kind, path in turn.images:
        # A path is one line, however narrow the window, so that it can be copied.
        shown = Text(printable(f"  shown: {kind} {_file(path)}"), style="dim")
        console.print(shown, soft_wrap=True)

    if turn.entry is None:
        return

    # Who speaks is said in words: colour gets lost in a file, and not everybody sees it.
    console.print(Text("  asked:", style="bold dim"))
    console.print(Padding(Text(printable(turn.entry.question), style="dim"), (0, 0, 0, 4)))
    console.print(Text("  judge:", style="bold"))
    console.print(Padding(_words(turn), (0, 0, 0, 4)))


def _words(turn: PlayedTurn) -> Text:
    words = Text()
    for piece in turn.pieces:
        style = "" if not piece.read else "bold green reverse" if piece.counts else "strike"
        words.append(printable(piece.text), style)

    if turn.reply.refusal:
        words.append(printable(turn.reply.refusal), "yellow")

    return words


def _outcome(talk: Talk, scores: pd.DataFrame) -> RichTable | Text:
    if talk.covers != "pair":
        return _scores_table(talk, scores)
    from lmmscore.scores import TIE

    said = {"": "no verdict", TIE: "a tie"}.get(talk.winner, f"{talk.winner} won")
    shown = f"shown first: {talk.method_at(1)}, second: {talk.method_at(2)}"
    return Text(printable(f"\nRead from it: {said} ({shown})"), style="bold")


def _scores_table(talk: Talk, scores: pd.DataFrame) -> RichTable:
    table = RichTable(
        box=box.SIMPLE_HEAD, pad_edge=False, title="Read from it", title_justify="left"
    )
    rows = read_from(talk, scores)
    names = list(rows[0]["scores"]) if rows else []
    for head in ("Image", "Method", *names, *(["stated"] if talk.stated else [])):
        table.add_column(Text(printable(head)), justify="left" if head == "Method" else "right")

    for row in rows:
        cells = [NONE if value is None else f"{value:g}" for value in row["scores"].values()]
        said = [talk.stated.get(row["position"], NONE)] if talk.stated else []
        texts = (str(row["position"]), row["method"], *cells, *said)
        table.add_row(*(Text(printable(text)) for text in texts))

    return table


def read_from(talk: Talk, scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the scores of a conversation's edits: position, method, numbers, outcome, reason.

    The overall decides on the outcome, or the first factor without a score where there is none.
    """
    here = scores[(scores["item"] == talk.item) & (scores["repeat"] == talk.repeat)]
    found = []
    for position, method in enumerate(talk.order, 1):
        rows = here[here["method"] == method].to_dict("records")
        numbers = {
            str(row["factor"]): float(row["score"]) if row["outcome"] == "scored" else None
            for row in rows
        }
        unscored = [
            row
            for row in rows
            if row["outcome"] != "scored" and (OVERALL not in numbers or row["factor"] == OVERALL)
        ]
        found.append(
            {
                "position": position,
                "method": method,
                "scores": numbers,
                "outcome": unscored[0]["outcome"] if unscored else "scored",
                "reason": unscored[0]["reason"] if unscored else "",
            }
        )

    return found


def _aftermath(talk: Talk) -> list[str]:
    lines = [f"could not be read: {fault}" for fault in talk.faults]
    lines += [f"ended early: {talk.failure}"] if talk.failure else []
    for position, (exact, said) in talk.slips.items():
        lines.append(
            f"Image {position}: the judge's own sum is {said}; its sub-scores give {exact}, which "
            "counts"
        )

    return lines


def talks_json(talks: Sequence[Talk], scores: pd.DataFrame) -> str:
    """Return conversations as JSON: `{"conversations": [{item, repeat, turns, read, …}]}`."""
    plain = [_plain(talk, scores) for talk in talks]
    return json.dumps({"conversations": plain}, ensure_ascii=False, indent=2)


def _plain(talk: Talk, scores: pd.DataFrame) -> dict[str, Any]:
    return {
        "item": talk.item,
        "task": talk.task,
        "instruction": talk.instruction,
        "repeat": talk.repeat,
        "dialog": talk.dialog,
        "order": list(talk.order),
        **({"winner": talk.winner} if talk.covers == "pair" else {}),
        "system": talk.system,
        "turns": [_plain_turn(turn) for turn in talk.turns],
        "read": [] if talk.covers == "pair" else read_from(talk, scores),
        "stated": {str(position): value for position, value in talk.stated.items()},
        "faults": list(talk.faults),
        "failure": talk.failure,
    }


def _plain_turn(turn: PlayedTurn) -> dict[str, Any]:
    return {
        "turn": turn.name,
        "position": turn.position,
        "repair": turn.repair,
        "aside": turn.aside,
        "images": [[kind, str(path)] for kind, path in turn.images],
        "question": turn.entry.question if turn.entry else None,
        "reply": turn.reply.text if turn.entry else None,
        "refusal": turn.reply.refusal,
        "finish": turn.reply.finish,
        "model": turn.reply.model,
        "read": [{"text": piece.text, "as": piece.read} for piece in turn.pieces if piece.read],
        "marks": list(turn.marks),
    }


# --------------------------------------------------------------------------------------------------
# Dialogs
# --------------------------------------------------------------------------------------------------


def print_list(rows: Sequence[Mapping[str, Any]], n: int) -> None:
    """Print the protocols at hand, two lines each."""
    console = Console()
    table = RichTable.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for row in rows:
        facts = [
            f"shows {', '.join(row['shows'])}",
            _factors(row["factors"]),
            f"{row['calls']} calls for {n} methods",
        ]
        facts += [
            f"setting {name}: {' or '.join(choices)}" for name, choices in row["settings"].items()
        ]
        table.add_row(Text(row["name"]), Text(row["title"]))
        table.add_row("", Text(" · ".join(facts), style="dim"))

    console.print(table)


def _factors(factors: Mapping[str, str]) -> str:
    scales = "; ".join(dict.fromkeys(factors.values()))
    few = len(factors) <= 4 and max(map(len, factors)) < 16
    names = f" ({', '.join(factors)})" if few else ""
    return f"{counted(len(factors), 'factor')}{names} on {scales}"


def print_script(dialog: Dialog, lines: Sequence[Mapping[str, Any]]) -> None:
    """Print a dialog as it would be played: what is shown, what is said, what is read."""
    console = Console()
    console.print(Text(f"{dialog.name} (version {dialog.version}): {dialog.title}", style="bold"))
    factors = ", ".join(f"{factor.key} {factor.scale}" for factor in dialog.factors)
    about = [f"factors: {factors}"] if factors else []
    console.print(Text("; ".join([*about, f"overall: {dialog.overall}"]), style="dim"))
    for number, line in enumerate(lines, 1):
        shown = "".join(f" [{kind} image]" for kind in line["shows"])
        fresh = " (a new conversation)" if line.get("fresh") else ""
        console.print(Text(f"\n{number}. {line['turn']}{shown}{fresh}", style="bold cyan"))
        console.print(Padding(Text(line["say"]), (0, 0, 0, 3)))
        if line.get("heard"):
            said = f"→ put into the conversation as the answer: {line['heard']}"
            console.print(Padding(Text(said, style="green"), (0, 0, 0, 3)))

        if line["reads"]:
            read = f"→ read from the reply: {line['reads']}"
            console.print(Padding(Text(read, style="green"), (0, 0, 0, 3)))

    console.print()


# --------------------------------------------------------------------------------------------------
# Transcripts
# --------------------------------------------------------------------------------------------------


def print_replayed(replayed: Replayed) -> None:
    """Print every edit's scores, the overall computed and stated, and the ranking."""
    console = Console()
    console.print(_replayed_table(replayed))
    for edit in replayed.edits:
        if edit.reason:
            lost = f"image {edit.position} ({edit.label}) is unscored: {edit.reason}"
            console.print(Text(lost, style="yellow"))

    for edit in replayed.slips:
        says = (
            f"{edit.label}: the judge states {_number(edit.stated)}, "
            f"its sub-scores give {_number(edit.overall)}"
        )
        console.print(Text(says, style="yellow"))

    ranking = " > ".join(edit.label for edit in replayed.ranking)
    console.print(Text(f"ranking: {ranking}", style="bold"))


def _replayed_table(replayed: Replayed) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    factors = [factor.key for factor in replayed.factors]
    for head in ("image", "method", *factors, "overall", "stated"):
        table.add_column(head, justify="left" if head == "method" else "right")

    for edit in replayed.edits:
        scores = [_number(edit.scores.get(key)) for key in factors]
        stated = _number(edit.stated) + (" ✗" if edit.slipped else "")
        method = Text(edit.method or "?")
        table.add_row(str(edit.position), method, *scores, _number(edit.overall), stated)

    return table


def _number(value: Fraction | None) -> str:
    from lmmscore.scales import show

    return NONE if value is None else show(value)
