"""A hard cap on what a run may cost: money is set aside before a question is sent, and settled after."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from lmmscore.errors import BudgetExhausted, NotRecorded
from lmmscore.judges.options import Prices
from lmmscore.judges.spending import Spending
from lmmscore.records import Usage


@dataclass(frozen=True, slots=True)
class Reservation:
    """Money set aside for one question."""

    usd: float


class Budget:
    """What has been spent, what is set aside for questions in flight, and what may be spent in all."""

    def __init__(self, cap_usd: float | None, spent_usd: float = 0.0) -> None:
        self.cap_usd = cap_usd
        self.spent_usd = spent_usd
        self.assumed_usd = 0.0
        """The part of what was spent that no server counted."""
        self.reserved_usd = 0.0
        self._book: Spending | None = None
        self._in_flight = 0
        self._settled = asyncio.Event()

    def keep(self, book: Spending) -> None:
        """Go on from what a run has spent so far, and write down what it spends from now on."""
        self._book = book
        self.spent_usd += book.total_usd
        self.assumed_usd += max(0.0, book.total_usd - book.counted_usd)

    async def reserve(self, most_usd: Callable[[], float]) -> Reservation:
        """Set money aside for a question; without a cap there is no need to.

        Waits while only questions in flight stand in the way, and raises when nothing else does. What is learnt
        meanwhile counts: `most_usd` is asked anew after each wait.
        """
        if self.cap_usd is None:
            self._in_flight += 1
            return Reservation(0.0)
        while self._short(usd := most_usd()):
            if not self._in_flight:
                raise BudgetExhausted(
                    f"budget: {self.spent_usd:.2f} of {self.cap_usd:.2f} USD spent, and the next question may cost "
                    f"{usd:.3f}; everything paid for is saved: go on with a larger --budget"
                )
            self._settled.clear()
            await self._settled.wait()
        if self._book is not None:
            self._book.write((usd, "set aside"))
        self.reserved_usd += usd
        self._in_flight += 1
        return Reservation(usd)

    def settle(self, reservation: Reservation, usd: float, *, assumed: bool = False) -> None:
        """Give back what was set aside and book what it cost, or is assumed to have cost."""
        self.spent_usd += usd
        self.assumed_usd += usd if assumed else 0.0
        self._in_flight -= 1
        self.reserved_usd = self.reserved_usd - reservation.usd if self._in_flight else 0.0
        self._settled.set()
        if self._book is not None:
            # If this cannot be written, the money stays set aside in the file: too much, never too little.
            with contextlib.suppress(NotRecorded):
                self._book.write(
                    (-reservation.usd, "given back"), (usd, "assumed" if assumed else "counted")
                )

    def _short(self, usd: float) -> bool:
        assert self.cap_usd is not None
        # Sums of cents in binary: a question that fits exactly must not fail for the last bit.
        return self.spent_usd + self.reserved_usd + usd > self.cap_usd + 1e-9


def cost_usd(prices: Prices, usage: Usage) -> float | None:
    """Return what an answer cost, or None when the server did not say how long it was."""
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    fresh = usage.prompt_tokens - cached
    return (
        fresh * prices.input + cached * cached_price + usage.completion_tokens * prices.output
    ) / 1e6
