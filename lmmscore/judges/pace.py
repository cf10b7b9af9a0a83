"""How fast the whole pool asks: limits set or announced, and slowing down together when the server is crowded.

Every session waits here before each question. The session that began first goes first, new ones last, so that the
turns of few sessions follow back to back and meet a warm prefix cache.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from lmmscore.conversation import Conversation
from lmmscore.judges.clock import Clock
from lmmscore.judges.quota import Bucket, announced


@dataclass(order=True, slots=True)
class _Waiting:
    rank: tuple[int, int]
    session: Conversation | None = field(compare=False)
    tokens: float = field(compare=False)
    go: asyncio.Future[None] = field(compare=False)


class Pace:
    """The gate in front of one server.

    After a sign of crowding all wait as long as it asks, then one question goes first; every answer lets more
    through, quickly up to half of what was in flight before, one by one above that.
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
        self._threshold = 1.0
        self._before_s = 0.0
        self._slowed_s = float("-inf")
        self._waiting: list[_Waiting] = []
        self._arrivals = itertools.count()
        self._begun: WeakKeyDictionary[Conversation, int] = WeakKeyDictionary()
        """When each session's first question was let through, by the first message of its conversation."""
        self._timer: asyncio.Task[None] | None = None
        self._wake_at_s = 0.0

    @property
    def counts_tokens(self) -> bool:
        """Whether it matters how long a question is."""
        return any(name.endswith("tokens") for name in self._buckets)

    async def admit(
        self, tokens: float, *, under_way: bool = False, session: Conversation | None = None
    ) -> float:
        """Wait for this question's turn; return the time at which it may be sent. Pair it with `leave`.

        `session` is the beginning of the conversation, the object itself: sessions may open with the same words.
        Something `under_way` that belongs to no session goes before all others.
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
            if go.done() and not go.cancelled():
                self.leave()
            raise
        return self._clock.now()

    def _rank(self, under_way: bool, session: Conversation | None) -> tuple[int, int]:
        if session is not None and session in self._begun:
            return 1, self._begun[session]
        return 0 if under_way else 2, next(self._arrivals)

    def leave(self) -> None:
        """Say that a question admitted before is no longer in flight."""
        self.in_flight -= 1
        self._let_through()

    def answered(
        self, headers: Mapping[str, str], *, sent_s: float, estimated: float, tokens: int | None
    ) -> None:
        """Learn from an answer: what it cost, what the server says is left, and that it copes."""
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
            self._window += 1.0 if self._window < self._threshold else 1.0 / self._window
            if self._window > 4 * self._threshold + 64:
                self._window = None

    def crowded(self, sent_s: float, wait_s: float) -> None:
        """Slow everyone down: the server said at an answer to a question sent at `sent_s` that it is too much."""
        now = self._clock.now()
        self._before_s = max(self._before_s, now + wait_s)
        # Questions sent before the last slowing-down say nothing new about the pace since.
        if sent_s >= self._slowed_s:
            self._threshold = max(1.0, self.in_flight / 2)
            self._window = 1.0
            self._slowed_s = now
        self._let_through()

    def _let_through(self) -> None:
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
        """Tell whether a question may be sent now; if it is only a matter of time, a timer is set."""
        if self._open:
            return True
        if self._full():
            return False
        wait_s = self._wait_s(tokens)
        if wait_s > 0:
            self._wake_in(wait_s)
        return wait_s <= 0

    def _go(self, tokens: float, session: Conversation | None) -> None:
        self.in_flight += 1
        if session is not None and session not in self._begun:
            self._begun[session] = next(self._arrivals)
        for name, bucket in self._buckets.items():
            bucket.take(tokens if name.endswith("tokens") else 1.0, self._clock.now())

    def _full(self) -> bool:
        window = self.in_flight + 1 if self._window is None else int(self._window)
        return self.in_flight >= min(window, self._most or window)

    def _wait_s(self, tokens: float) -> float:
        now = self._clock.now()
        waits = [
            bucket.wait_s(tokens if name.endswith("tokens") else 1.0, now)
            for name, bucket in self._buckets.items()
        ]
        return max([self._before_s - now, *waits])

    def _wake_in(self, seconds: float) -> None:
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
        """Let everyone through from now on: whoever comes through is about to learn that the run has stopped."""
        self._open = True
        self._let_through()

    def close(self) -> None:
        """Stop the timer, if one runs."""
        if self._timer is not None:
            self._timer.cancel()
