"""The live display of a run: in place on a terminal or in a notebook, plain sparse lines elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from types import TracebackType
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lmmscore.judges.budget import Meter
from lmmscore.report.harmless import harmless
from lmmscore.report.tally import Tally
from lmmscore.scores import Result
from lmmscore.session import Exchange

STEPS = 10
"""On a pipe, a line for each tenth of the run …"""
SILENCE_S = 60.0
"""… and one after so many seconds without any."""


class Progress:
    """Shows how far a run is. Enter it, then hand it every exchange and every result as they come."""

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
            # What the program prints as data is not ours to redirect; words on stderr go above the display.
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
        self._print(Text(harmless(line), style="yellow"))

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
        first = Table.grid(padding=(0, 1))
        first.add_row(bar, Text(headline(self.tally)))
        return Group(first, Text(detail(self.tally), style="dim"))


def in_place(console: Console) -> bool:
    """Tell whether the display can be drawn over itself: someone looks on, and the screen can do it."""
    if console.is_jupyter:
        # Rich draws over a notebook's output by means of ipywidgets; without it lines are what works.
        return find_spec("ipywidgets") is not None
    return console.is_terminal and not console.is_dumb_terminal and not os.environ.get("CI")


def headline(tally: Tally, *, ended: bool = False) -> str:
    """Return how many sessions are done, how many turns are under way and how long it will take."""
    parts = [f"{tally.done}/{tally.total} sessions"]
    if ended:
        return " · ".join([*parts, f"took {duration(tally.elapsed_s())}"])
    if tally.in_flight is not None:
        parts.append(f"{tally.in_flight} turns in flight")
    left = tally.left_s()
    parts.append("time left unknown" if left is None else f"{duration(left)} left")
    return " · ".join(parts)


def detail(tally: Tally) -> str:
    """Return calls, tokens and cost so far."""
    parts = [
        f"{tally.calls:,} calls"
        + (f" + {tally.recalled:,} from the ledger" if tally.recalled else "")
    ]
    if tally.retries:
        parts.append(f"{tally.retries:,} retries")
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
