"""What a run has done so far, counted from what the runner tells: pure of any display."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lmmscore.judges.budget import Meter
from lmmscore.records import OVERALL, Outcome
from lmmscore.scores import Result
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
    # That a method made no edit was known before the run began, and what does not apply is no trouble.
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
    """Return the factor that stands for an edit: the overall, or the last where the dialog has none."""
    return (
        OVERALL if any(row.factor == OVERALL for row in result.scores) else result.scores[-1].factor
    )
