"""How far a run is: counted from what the runner tells, and shown where someone looks on.

In place on a terminal or in a notebook, plain sparse lines elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as ProgressLine
from rich.progress_bar import ProgressBar
from rich.table import Table as RichTable
from rich.text import Text

from lmmscore.errors import counted
from lmmscore.judges.budget import Meter
from lmmscore.records import OVERALL, Outcome
from lmmscore.report.formats.terminal import printable
from lmmscore.scores import Result

if TYPE_CHECKING:
    from lmmscore.session import Exchange

SAID_OF_A_KIND = 20
"""So many lines about the same kind of trouble are printed; the rest is counted."""

_COUNTED = ("prompt_tokens", "completion_tokens", "cached_tokens")


@dataclass
class Tally:
    """Running totals, with the meter of the judge where it has one."""

    total: int
    meter: Meter | None
    clock: Callable[[], float]
    done: int = 0
    turns: int = 0
    recalled: int = 0
    _asked: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))
    _cost_usd: float | None = None
    _fresh: int = 0
    _began_s: float | None = None
    _heard: int = 0
    _kinds: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.started_s = self.clock()

    def exchange(self, exchange: Exchange) -> None:
        """Count a turn; what came from the ledger cost nothing."""
        self.turns += 1
        if exchange.recalled:
            self.recalled += 1
            return

        self._began_s = self.started_s if self._began_s is None else self._began_s
        usage = exchange.reply.usage
        for name in _COUNTED:
            self._asked[name] += getattr(usage, name) or 0

        if exchange.reply.cost_usd is not None:
            self._cost_usd = (self._cost_usd or 0.0) + exchange.reply.cost_usd

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
        notices = [] if self.meter is None else self.meter.notices
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

    @property
    def calls(self) -> int:
        """How many questions were answered by the judge, not by the ledger."""
        return self.turns - self.recalled if self.meter is None else self.meter.calls

    @property
    def retries(self) -> int:
        """How many requests had to be sent again."""
        return 0 if self.meter is None else self.meter.retries

    def tokens(self, name: str) -> int:
        """Return the running total of `prompt_tokens`, `completion_tokens` or `cached_tokens`."""
        counted = {} if self.meter is None else self.meter.tokens()
        return counted.get(name) or self._asked[name]

    @property
    def cost_usd(self) -> float | None:
        """What was spent by the price list; None where no price is known."""
        spent = None if self.meter is None else self.meter.cost_usd
        return spent or self._cost_usd

    @property
    def assumed_usd(self) -> float:
        """The part of it that no server counted."""
        return 0.0 if self.meter is None else self.meter.assumed_usd

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
    reasons: dict[tuple[Outcome, str], list[str]] = {}
    # That a method made no edit was known before the run; what does not apply is no trouble.
    expected = (Outcome.SCORED, Outcome.MISSING, Outcome.ABSENT)
    for row in result.scores:
        if row.outcome not in expected and row.factor == _last_factor(result):
            reasons.setdefault((row.outcome, row.reason), []).append(row.method)

    pair = result.comparison
    if pair is not None and pair.outcome not in expected:
        reasons[pair.outcome, pair.reason] = [f"{pair.method_a} and {pair.method_b}"]

    for (outcome, reason), methods in reasons.items():
        whom = ", ".join(methods) if len(methods) <= 3 else f"{len(methods)} edits"
        yield str(outcome), f"{where}: {whom} {outcome}: {reason}"

    repairs = sum(played.repairs for played in result.played)
    if repairs and not reasons:
        yield "repaired", f"{where}: read after {repairs} repair turn{'s' if repairs > 1 else ''}"


def _last_factor(result: Result) -> str:
    """Return the factor that stands for an edit: the overall,
    or the last where the dialog has none."""
    return (
        OVERALL if any(row.factor == OVERALL for row in result.scores) else result.scores[-1].factor
    )


STEPS = 10
"""On a pipe, a line for each tenth of the run …"""
SILENCE_S = 60.0
"""… and one after so many seconds without any."""


class Progress:
    """Shows how far a run is.

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
            # What the program prints as data is not ours to redirect; words on stderr go above the
            # display.
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
    """Tell whether the display can be drawn over itself: someone looks on,
    and the screen can do it."""
    if console.is_jupyter:
        # Rich draws over a notebook's output by means of ipywidgets; without it lines are what
        # works.
        return find_spec("ipywidgets") is not None
    return console.is_terminal and not console.is_dumb_terminal and not os.environ.get("CI")


def headline(tally: Tally, *, ended: bool = False) -> str:
    """Return how many sessions are done, how many turns are under way and how long it will take."""
    parts = [f"{tally.done}/{tally.total} {'session' if tally.total == 1 else 'sessions'}"]
    if ended:
        return " · ".join([*parts, f"took {duration(tally.elapsed_s())}"])

    if tally.in_flight is not None:
        parts.append(f"{counted(tally.in_flight, 'turn')} in flight")

    left = tally.left_s()
    parts.append("time left unknown" if left is None else f"{duration(left)} left")
    return " · ".join(parts)


def detail(tally: Tally) -> str:
    """Return calls, tokens and cost so far."""
    parts = [
        counted(tally.calls, "call")
        + (f" + {tally.recalled:,} from the ledger" if tally.recalled else "")
    ]
    if tally.retries:
        parts.append(counted(tally.retries, "retry", "retries"))

    sent, cached = tally.tokens("prompt_tokens"), tally.tokens("cached_tokens")
    if sent or tally.tokens("completion_tokens"):
        of_it = f" ({short(cached)} cached)" if cached else ""
        parts.append(
            f"{short(sent)} tokens in{of_it}, {short(tally.tokens('completion_tokens'))} out"
        )

    if tally.cost_usd:
        of_it = f" ({dollars(tally.assumed_usd)} of it assumed)" if tally.assumed_usd else ""
        parts.append(dollars(tally.cost_usd) + of_it)

    return " · ".join(parts)


def dollars(usd: float) -> str:
    """Return a sum of money, small ones to the hundredth of a cent."""
    return f"${usd:,.2f}" if usd >= 0.1 else f"${usd:.4f}"


def short(number: int) -> str:
    """Return a count as one glance takes it in: 950, 12.3k, 4.56M."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 999_950 else f"{number / 1_000_000:.2f}M"


def duration(seconds: float) -> str:
    """Return a time as 0:07, 12:34 or 3:05:09."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextlib.contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show how far the work is on standard error, where someone is looking; yield the counter."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with ProgressLine(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)
