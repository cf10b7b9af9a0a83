"""How fast a server is asked, and how often: quotas, congestion, retries, open files.

Every question waits at a `Pace` before it is sent. The session that began first goes first, new
ones last, so that the turns of few sessions follow back to back and meet a warm prefix cache.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar
from weakref import WeakKeyDictionary

from lmmscore.conversation import Conversation
from lmmscore.errors import LmmscoreError
from lmmscore.judges.faults import span_s

T = TypeVar("T")
_LONGEST_RESET_S = 31 * 86_400.0
_MOST_FILES = 65_536
_MOST_OTHERS = 96
_LEAST_FILES = 40
"""What a run has open besides connections: about 20 files where one question is asked at a time."""


class Clock(Protocol):
    """Seconds from some fixed moment, and a way to let them pass."""

    def now(self) -> float:
        """Return the seconds since a moment that stays the same."""

    def wall(self) -> float:
        """Return the seconds since 1970: servers name dates."""

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""


class RealClock:
    """The clock on the wall."""

    def now(self) -> float:
        """Return the monotonic time."""
        return time.monotonic()

    def wall(self) -> float:
        """Return the time of day."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait without holding up anyone else."""
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Quota:
    """One of a server's limits, as it announces it."""

    limit: float
    remaining: float
    rate: float
    """How much of it comes back each second."""


class Bucket:
    """A level that refills steadily, like the quotas of providers.

    A large taking may leave a debt; the next one waits until it is paid.
    """

    __slots__ = ("_at_s", "_capacity", "_level", "_rate")

    def __init__(self, rate: float, capacity: float, now_s: float) -> None:
        self._rate = rate
        self._capacity = capacity
        self._level = capacity
        self._at_s = now_s

    def wait_s(self, amount: float, now_s: float) -> float:
        """Return how long until that much may be taken."""
        self._refill(now_s)
        short = min(amount, self._capacity) - self._level
        return max(0.0, short / self._rate) if short > 1e-9 else 0.0

    def take(self, amount: float, now_s: float) -> None:
        """Take an amount; a negative one gives back."""
        self._refill(now_s)
        self._level = min(self._capacity, self._level - amount)

    def tell(self, quota: Quota, now_s: float) -> None:
        """Adopt the server's count, unless ours, which includes what is in flight, is lower."""
        self._refill(now_s)
        self._rate, self._capacity = quota.rate, quota.limit
        self._level = min(self._level, quota.remaining)

    def _refill(self, now_s: float) -> None:
        self._level = min(self._capacity, self._level + (now_s - self._at_s) * self._rate)
        self._at_s = now_s


def announced(headers: Mapping[str, str], wall_s: float) -> dict[str, Quota]:
    """Return the quotas in a response's headers, by `requests` and `tokens`.

    Header names are in lower case.
    """
    found: dict[str, Quota] = {}
    if not any("ratelimit" in name for name in headers):
        return found

    for what in ("requests", "tokens"):
        quota = _quota(headers, what, wall_s)
        if quota is not None:
            found[what] = quota

    return found


def _quota(headers: Mapping[str, str], what: str, wall_s: float) -> Quota | None:
    """Return a quota as OpenAI or Anthropic announce it; None where the headers do not say it."""
    for pattern in ("x-ratelimit-{field}-" + what, "anthropic-ratelimit-" + what + "-{field}"):
        try:
            limit = float(headers[pattern.format(field="limit")])
            remaining = float(headers[pattern.format(field="remaining")])
        except (KeyError, ValueError):
            continue

        if not (0 < limit < math.inf and math.isfinite(remaining)):
            continue

        reset_s = span_s(headers.get(pattern.format(field="reset"), ""), wall_s)
        if reset_s is not None and not 0 < reset_s <= _LONGEST_RESET_S:
            # A negative span, or the time of day by somebody's clock: it does not say how fast the
            # quota refills.
            reset_s = None

        # A limit is per minute unless the time until it is full again says otherwise (some count by
        # the day).
        rate = (limit - remaining) / reset_s if reset_s and limit > remaining else limit / 60
        return Quota(limit, max(0.0, remaining), max(rate, limit / 86_400))

    return None


@dataclass(order=True, slots=True)
class _Waiting:
    rank: tuple[int, int]
    session: Conversation | None = field(compare=False)
    tokens: float = field(compare=False)
    go: asyncio.Future[None] = field(compare=False)


class Pace:
    """The gate in front of one server.

    After congestion all wait as long as the server asks, then one question goes first; every answer
    lets more through, quickly up to half of what was in flight before, one by one above that.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        rpm: float | None = None,
        tpm: float | None = None,
        most: int | None = None,
    ) -> None:
        self._clock = clock
        self._most = most
        self._open = False
        self._buckets: dict[str, Bucket] = {}
        if rpm:
            self._buckets["set requests"] = Bucket(rpm / 60, 1.0, clock.now())

        if tpm:
            self._buckets["set tokens"] = Bucket(tpm / 60, tpm / 60, clock.now())

        self.in_flight = 0
        self._window: float | None = None
        """How many may be in flight after congestion; None where there was none recently."""
        self._threshold = 1.0
        """Half of what was in flight at the last congestion: above it the window grows slowly."""
        self._before_s = 0.0
        """Nothing is sent before this time."""
        self._slowed_s = float("-inf")
        """When it was last slowed down."""
        self._waiting: list[_Waiting] = []
        self._arrivals = itertools.count()
        self._begun: WeakKeyDictionary[Conversation, int] = WeakKeyDictionary()
        """When each session's first question was let through."""
        self._timer: asyncio.Task[None] | None = None
        self._wake_at_s = 0.0

    @property
    def counts_tokens(self) -> bool:
        """Whether it matters how long a question is."""
        return any(name.endswith("tokens") for name in self._buckets)

    async def admit(
        self, tokens: float, *, under_way: bool = False, session: Conversation | None = None
    ) -> float:
        """Wait for this question's turn; return the time at which it may be sent.

        Pair it with `leave`.

        `session` is the beginning of the conversation, the object itself: sessions may open with
        the same words. Something `under_way` that belongs to no session goes before all others.
        """
        if not self._waiting and self._may_go(tokens):
            self._go(tokens, session)
            return self._clock.now()

        go = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, _Waiting(self._rank(under_way, session), session, tokens, go))
        self._let_through()
        try:
            await go
        except asyncio.CancelledError:
            # Let through and cancelled at the same moment: the place is given back.
            if go.done() and not go.cancelled():
                self.leave()

            raise

        return self._clock.now()

    def _rank(self, under_way: bool, session: Conversation | None) -> tuple[int, int]:
        if session is not None and session in self._begun:
            return 1, self._begun[session]
        return 0 if under_way else 2, next(self._arrivals)

    def leave(self) -> None:
        """Note that an admitted question is no longer in flight."""
        self.in_flight -= 1
        self._let_through()

    def answered(
        self, headers: Mapping[str, str], *, sent_s: float, estimated: float, tokens: int | None
    ) -> None:
        """Learn from an answer: its tokens, the quota left, and that the server keeps up."""
        for name, quota in announced(headers, self._clock.wall()).items():
            bucket = self._buckets.setdefault(
                name, Bucket(quota.rate, quota.limit, self._clock.now())
            )
            bucket.tell(quota, self._clock.now())

        if tokens is not None:
            for name, bucket in self._buckets.items():
                if name.endswith("tokens"):
                    bucket.take(tokens - estimated, self._clock.now())

        if self._window is not None and sent_s > self._slowed_s:
            # As TCP does: one more for each answer at first, then one more for each full window.
            self._window += 1.0 if self._window < self._threshold else 1.0 / self._window
            if self._window > 4 * self._threshold + 64:
                # Far beyond any congestion so far: no window is needed any more.
                self._window = None

    def crowded(self, sent_s: float, wait_s: float) -> None:
        """Slow every session down: the question sent at `sent_s` was refused for congestion."""
        now = self._clock.now()
        self._before_s = max(self._before_s, now + wait_s)
        # A question sent before we last slowed down says nothing about the pace since.
        if sent_s >= self._slowed_s:
            self._threshold = max(1.0, self.in_flight / 2)
            self._window = 1.0
            self._slowed_s = now

        self._let_through()

    def _let_through(self) -> None:
        """Release every question that may go now, in order of rank."""
        while self._waiting:
            head = self._waiting[0]
            if head.go.done():
                heapq.heappop(self._waiting)
                continue

            if not self._may_go(head.tokens):
                return

            heapq.heappop(self._waiting)
            self._go(head.tokens, head.session)
            head.go.set_result(None)

    def _may_go(self, tokens: float) -> bool:
        """Whether a question may be sent now; if it only has to wait, set a timer."""
        if self._open:
            return True
        if self._full():
            return False

        wait_s = self._wait_s(tokens)
        if wait_s > 0:
            self._wake_in(wait_s)

        return wait_s <= 0

    def _go(self, tokens: float, session: Conversation | None) -> None:
        """Count a question as sent."""
        self.in_flight += 1
        if session is not None and session not in self._begun:
            self._begun[session] = next(self._arrivals)
        for name, bucket in self._buckets.items():
            bucket.take(tokens if name.endswith("tokens") else 1.0, self._clock.now())

    def _full(self) -> bool:
        window = self.in_flight + 1 if self._window is None else int(self._window)
        return self.in_flight >= min(window, self._most or window)

    def _wait_s(self, tokens: float) -> float:
        """Return the seconds until a question of this length may be sent; 0 or less means now."""
        now = self._clock.now()
        waits = [
            bucket.wait_s(tokens if name.endswith("tokens") else 1.0, now)
            for name, bucket in self._buckets.items()
        ]
        return max([self._before_s - now, *waits])

    def _wake_in(self, seconds: float) -> None:
        """Look at the queue again after this time, or earlier."""
        at_s = self._clock.now() + seconds
        if self._timer is not None:
            if self._wake_at_s <= at_s:
                return
            self._timer.cancel()

        self._wake_at_s = at_s
        self._timer = asyncio.create_task(self._wake(seconds))

    async def _wake(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self._timer = None
        self._let_through()

    def open(self) -> None:
        """Let every question through from now on, so that it learns that the run has stopped."""
        self._open = True
        self._let_through()

    def close(self) -> None:
        """Stop the timer, if one runs."""
        if self._timer is not None:
            self._timer.cancel()


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a question is sent, and how long to wait in between."""

    attempts: int = 10
    first_s: float = 0.25
    longest_s: float = 30.0
    longest_asked_s: float = 900.0
    """A server that asks for a longer wait than this is left alone."""

    def wait_s(self, attempt: int, asked_s: float | None, rng: random.Random) -> float:
        """Return the wait after an attempt: at least what was asked for, and out of step."""
        backoff = min(self.longest_s, self.first_s * 2.0 ** (attempt - 1))
        if asked_s is None:
            return backoff * rng.uniform(0.5, 1.0)
        return asked_s + min(1.0, backoff) * rng.uniform(0.05, 0.25)

    def bears(self, asked_s: float | None) -> bool:
        """Whether a wait that the server asks for is short enough."""
        return asked_s is None or asked_s <= self.longest_asked_s


def connections_allowed() -> int | None:
    """Return how many connections may be open at once; None where the system has no limit."""
    files = files_allowed()
    if files is None:
        return None

    # The rest is for the ledger, pictures being read, the event loop and the terminal.
    return files - min(_MOST_OTHERS, max(_LEAST_FILES, files // 2))


def files_allowed() -> int | None:
    """Raise this process's limit on open files as far as allowed, and return it; None: no limit.

    Raises LmmscoreError where too few are left for a run. Asked before anything is opened: later,
    SQLite would blame the disk, and an import would fail half-way.
    """
    try:
        import resource
    except ImportError:  # Windows
        return None

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < highest:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest, hard))
            soft = highest
        except (OSError, ValueError):
            pass  # macOS caps it below what it reports: what there is must do

    if soft == resource.RLIM_INFINITY:
        return None
    if soft <= _LEAST_FILES:
        raise LmmscoreError(
            f"the system lets this process open {soft} files, which are too few for a run; "
            "`ulimit -n 256` allows more"
        )
    return soft
