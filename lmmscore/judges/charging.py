"""Sending a question for money: set aside before, settled after, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from lmmscore.conversation import Conversation
from lmmscore.judges.budget import Budget, Reservation, cost_usd
from lmmscore.judges.estimate import Estimator
from lmmscore.judges.meter import Meter
from lmmscore.judges.options import OpenAIOptions
from lmmscore.judges.retry import Trouble
from lmmscore.judges.spending import Spending
from lmmscore.records import Reply, Usage


@dataclass(slots=True)
class Sending:
    """An attempt: what it is about, and whether the server may be answering it now."""

    conversation: Conversation
    in_flight: bool = False


Send = Callable[[Sending], Awaitable[Reply]]
_UNCOUNTED = Usage()


class Till:
    """Charges each attempt to the budget, at what the server counted or else at what it may have cost."""

    def __init__(self, options: OpenAIOptions, estimator: Estimator, meter: Meter) -> None:
        self._prices = options.prices
        self._budget = Budget(options.budget_usd, options.spent_usd)
        self._estimator = estimator
        self._meter = meter
        self._first_of_its_kind = asyncio.Lock()
        self._show()

    def keep(self, book: Spending) -> None:
        """Go on from what a run has spent before, and write down what it spends."""
        self._budget.keep(book)
        self._show()

    async def charged(self, conversation: Conversation, send: Send) -> Reply:
        """Return the reply to a question sent once, with its price where it was counted."""
        if self._budget.cap_usd is not None and not self._estimator.knows(conversation):
            # A server may count far more than any formula says. One question finds out; the others wait for it.
            async with self._first_of_its_kind:
                if not self._estimator.knows(conversation):
                    return await self._charge(conversation, send)
        return await self._charge(conversation, send)

    async def _charge(self, conversation: Conversation, send: Send) -> Reply:
        reservation = await self._budget.reserve(lambda: self._most_usd(conversation))
        sending = Sending(conversation)
        try:
            reply = await send(sending)
        except Trouble as trouble:
            self._settle_lost(reservation, conversation, paid=trouble.paid)
            raise
        except BaseException:
            self._settle_lost(reservation, conversation, paid=sending.in_flight)
            raise
        counted = cost_usd(self._prices, reply.usage) if self._prices else None
        usd = self._most_usd(conversation, reply.usage) if counted is None else counted
        if self._budget.cap_usd is not None:
            self._estimator.learn(conversation, reply.usage)
        self._settle(reservation, usd, assumed=counted is None)
        return reply if counted is None else replace(reply, cost_usd=counted)

    def _settle_lost(
        self, reservation: Reservation, conversation: Conversation, *, paid: bool
    ) -> None:
        usd = (reservation.usd or self._most_usd(conversation)) if paid else 0.0
        self._settle(reservation, usd, assumed=paid)

    def _settle(self, reservation: Reservation, usd: float, *, assumed: bool) -> None:
        self._budget.settle(reservation, usd, assumed=assumed)
        self._show()

    def _show(self) -> None:
        self._meter.cost_usd, self._meter.assumed_usd = (
            self._budget.spent_usd,
            self._budget.assumed_usd,
        )

    def _most_usd(self, conversation: Conversation, counted: Usage = _UNCOUNTED) -> float:
        """Return what an exchange may cost at most, by what was counted of it and else by estimate."""
        if self._prices is None:
            return 0.0
        prompt, reply = counted.prompt_tokens, counted.completion_tokens
        prompt = self._estimator.prompt(conversation) if prompt is None else prompt
        reply = self._estimator.reply() if reply is None else reply
        return cost_usd(self._prices, Usage(prompt, reply, counted.cached_tokens)) or 0.0
