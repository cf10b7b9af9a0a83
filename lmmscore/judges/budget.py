"""A hard cap on what a run may cost: money is set aside before a question is sent, and settled after."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from lmmscore.errors import BudgetExhausted
from lmmscore.judges.options import Prices
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
        self.reserved_usd = 0.0
        self._in_flight = 0
        self._settled = asyncio.Event()

    async def reserve(self, usd: float) -> Reservation:
        """Set `usd` aside. Waits while only questions in flight stand in the way; raises when nothing else does."""
        while self.cap_usd is not None and self._short(usd):
            if not self._in_flight:
                raise BudgetExhausted(
                    f"budget: {self.spent_usd:.2f} of {self.cap_usd:.2f} USD spent, and the next question may cost "
                    f"{usd:.3f}; everything paid for is saved: go on with a larger --budget"
                )
            self._settled.clear()
            await self._settled.wait()
        self.reserved_usd += usd
        self._in_flight += 1
        return Reservation(usd)

    def settle(self, reservation: Reservation, usd: float) -> None:
        """Give back what was set aside and book what it cost."""
        self.spent_usd += usd
        self._in_flight -= 1
        self.reserved_usd = self.reserved_usd - reservation.usd if self._in_flight else 0.0
        self._settled.set()

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
    return (fresh * prices.input + cached * cached_price + usage.completion_tokens * prices.output) / 1e6
