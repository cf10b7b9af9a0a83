from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Coroutine
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmmscore.conversation import Conversation
from lmmscore.errors import BudgetExhausted
from lmmscore.judges.faults import asked_wait_s, span_s
from lmmscore.judges.limits import Budget, Pace, Patience, Prices, announced, cost_usd
from lmmscore.records import Usage


class FakeClock:
    """Time passes when everyone waits for it."""

    def __init__(self) -> None:
        self.time_s = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = itertools.count()

    def now(self) -> float:
        """Return the pretended time."""
        return self.time_s

    def wall(self) -> float:
        """Return the pretended time."""
        return self.time_s

    async def sleep(self, seconds: float) -> None:
        """Wait until the pretended time has come."""
        future = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.time_s + max(0.0, seconds), next(self._count), future))
        await future

    async def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Play the work to its end, moving time on whenever nothing else can happen."""
        task = asyncio.ensure_future(work)
        while not task.done():
            for _ in range(50):
                await asyncio.sleep(0)
            live = sorted(entry for entry in self._sleepers if not entry[2].done())
            if task.done() or not live:
                continue
            at_s, _, future = live[0]
            self._sleepers.remove(live[0])
            self.time_s = max(self.time_s, at_s)
            future.set_result(None)
        return task.result()


def play(work: Any) -> Any:
    clock = FakeClock()
    return asyncio.run(clock.run(work(clock)))


def test_requests_keep_to_the_set_rate() -> None:
    """--rpm 120 means one question every half second, from the first minute on."""

    async def work(clock: FakeClock) -> list[float]:
        pace = Pace(clock, rpm=120)
        sent = [await pace.admit(0, under_way=False) for _ in range(5)]
        pace.close()
        return sent

    sent = play(work)
    assert [b - a for a, b in itertools.pairwise(sent)] == pytest.approx([0.5] * 4)


def test_tokens_keep_to_the_set_rate_and_estimates_are_corrected() -> None:
    """A question that turned out short gives back what had been set aside for it."""

    async def work(clock: FakeClock) -> list[float]:
        pace = Pace(clock, tpm=60_000)
        sent = []
        for actual in (1000, 3000, 1000):
            sent.append(await pace.admit(3000, under_way=False))
            pace.answered({}, sent_s=sent[-1], estimated=3000, tokens=actual)
            pace.leave()
        pace.close()
        return sent

    first, second, third = play(work)
    assert second - first == pytest.approx(1.0)
    assert third - second == pytest.approx(3.0)


def test_after_a_429_the_whole_pool_waits_then_one_goes_first_and_the_rest_follow() -> None:
    """No thundering herd: after the wait the number in flight grows again from one."""

    async def work(clock: FakeClock) -> list[tuple[float, int]]:
        pace = Pace(clock)
        sent: list[tuple[float, int]] = []

        async def session(number: int) -> None:
            for turn in range(6):
                at_s = await pace.admit(0, under_way=turn > 0)
                sent.append((at_s - 1000, pace.in_flight))
                await clock.sleep(1.0)
                if number == 0 and turn == 0:
                    pace.crowded(at_s, 10.0)
                else:
                    pace.answered({}, sent_s=at_s, estimated=0, tokens=None)
                pace.leave()

        await asyncio.gather(*(session(number) for number in range(16)))
        return sent

    sent = play(work)
    before = [flight for at_s, flight in sent if at_s < 1]
    assert max(before) == 16
    after = sorted(entry for entry in sent if entry[0] >= 1)
    assert after[0][0] >= 11.0, "nothing is sent before the wait is over"
    assert sum(at_s < 11.5 for at_s, _ in after) == 1, "one goes first"
    assert sum(at_s < 12.5 for at_s, _ in after) <= 4
    assert max(flight for _, flight in after) >= 8, "then it recovers"
    assert len(sent) == 16 * 6


def test_the_session_that_began_first_goes_first_and_new_ones_last() -> None:
    """A turn of a session under way overtakes sessions that have not begun, though all open with the same words."""

    async def work(clock: FakeClock) -> list[str]:
        pace, order = Pace(clock, rpm=60), []
        first, second, third, fourth = (Conversation().say("Hello") for _ in range(4))
        await pace.admit(0, session=first)
        await pace.admit(0, session=second)

        async def enter(name: str, session: Conversation) -> None:
            await pace.admit(0, session=session)
            order.append(name)

        await asyncio.gather(
            enter("third", third),
            enter("fourth", fourth),
            enter("second", second),
            enter("first", first),
        )
        return order

    assert play(work) == ["first", "second", "third", "fourth"]


def test_what_the_server_says_is_left_is_respected() -> None:
    """With two requests left of sixty a minute, the third waits for the refill instead of meeting a 429."""

    async def work(clock: FakeClock) -> list[float]:
        pace = Pace(clock)
        start = await pace.admit(0, under_way=False)
        headers = {"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "2"}
        pace.answered(headers, sent_s=start, estimated=0, tokens=None)
        pace.leave()
        return [await pace.admit(0, under_way=True) - start for _ in range(4)]

    assert play(work) == pytest.approx([0.0, 0.0, 1.0, 2.0])


def test_a_cancelled_session_leaves_no_gap() -> None:
    """Stopping a session that waits, or that has just been let through, frees its place."""

    async def work(clock: FakeClock) -> int:
        pace = Pace(clock, rpm=60)
        await pace.admit(0, under_way=False)
        waiting = asyncio.ensure_future(pace.admit(0, under_way=False))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await pace.admit(0, under_way=False)
        pace.leave()
        pace.leave()
        return pace.in_flight

    assert play(work) == 0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": formatdate(1010, usegmt=True)}, 10.0),
        ({"retry-after": formatdate(900, usegmt=True)}, 0.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "1500ms"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "inf", "retry-after": "3"}, 3.0),
        ({"retry-after": "1795000000"}, None),
        ({}, None),
    ],
)
def test_every_form_of_retry_after_is_understood(
    headers: dict[str, str], seconds: float | None
) -> None:
    """Seconds, a date, or milliseconds; what cannot be read says nothing."""
    assert asked_wait_s(headers, 1000.0) == seconds


@given(st.text(max_size=40))
def test_no_header_can_break_the_pace(text: str) -> None:
    """Whatever a server writes, reading it gives a wait of zero or more, or nothing."""
    wait_s = asked_wait_s({"retry-after": text, "retry-after-ms": text}, 1000.0)
    assert wait_s is None or wait_s >= 0
    span = span_s(text, 1000.0)
    assert span is None or isinstance(span, float)


def test_quotas_by_the_day_are_told_from_quotas_by_the_minute() -> None:
    """The time until a quota is full again says how fast it comes back."""
    day = {"x-ratelimit-limit-requests": "14400", "x-ratelimit-remaining-requests": "14390"}
    quota = announced({**day, "x-ratelimit-reset-requests": "1m0s"}, 0)["requests"]
    assert quota.rate == pytest.approx(10 / 60)
    assert span_s("6m0s", 0) == 360 and span_s("20ms", 0) == pytest.approx(0.02)


@pytest.mark.parametrize("reset", ["-5", "1795000000", "nan", "inf", "soon"])
def test_a_reset_that_makes_no_sense_does_not_bring_the_run_to_a_standstill(reset: str) -> None:
    """A negative span or a time since 1970 says nothing of the rate, which is then by the minute."""
    headers = {"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "10"}
    assert announced({**headers, "x-ratelimit-reset-requests": reset}, 0)["requests"].rate == 1.0
    assert not announced({**headers, "x-ratelimit-limit-requests": "inf"}, 0)


def test_waits_grow_are_never_in_step_and_end() -> None:
    """Each wait is about twice the one before, with chance in it, up to a limit."""
    patience, rng = Patience(), random.Random(3)
    waits = [patience.wait_s(attempt, None, rng) for attempt in range(1, 10)]
    assert all(0 < wait <= 30 for wait in waits) and waits[5] > waits[0] * 4
    assert len(set(waits)) == len(waits)
    assert patience.wait_s(1, 20.0, rng) > 20.0


def test_a_budget_is_never_exceeded_and_waits_for_questions_in_flight() -> None:
    """Money set aside for open questions counts; once they are settled for less, the next may go."""

    async def work(clock: FakeClock) -> list[str]:
        budget, log = Budget(1.0), []
        first = await budget.reserve(lambda: 0.6)

        async def second() -> None:
            reservation = await budget.reserve(lambda: 0.6)
            log.append("second")
            budget.settle(reservation, 0.5)

        task = asyncio.ensure_future(second())
        await asyncio.sleep(0)
        log.append("waiting")
        budget.settle(first, 0.1)
        await task
        with pytest.raises(BudgetExhausted, match=r"0\.60 of 1\.00 USD"):
            await budget.reserve(lambda: 0.6)
        return log

    assert play(work) == ["waiting", "second"]


def test_what_is_learnt_while_waiting_for_money_counts() -> None:
    """A question that turns out dearer while it waits for others to be settled is not sent at the old price."""

    async def work(clock: FakeClock) -> float:
        budget, price = Budget(1.0), 0.6
        first = await budget.reserve(lambda: price)
        waiting = asyncio.ensure_future(budget.reserve(lambda: price))
        await asyncio.sleep(0)
        price = 0.9
        budget.settle(first, 0.3)
        with pytest.raises(BudgetExhausted, match=r"may cost 0\.900"):
            await waiting
        return budget.spent_usd

    assert play(work) == pytest.approx(0.3)


@given(st.lists(st.tuples(st.floats(0.01, 0.5), st.floats(0, 1)), max_size=30), st.floats(0.1, 3))
def test_whatever_is_asked_the_cap_holds(questions: list[tuple[float, float]], cap: float) -> None:
    """As long as no answer costs more than was set aside for it, the sum stays within the cap."""

    async def work(clock: FakeClock) -> float:
        budget = Budget(cap)

        async def ask(most: float, share: float) -> None:
            try:
                reservation = await budget.reserve(lambda: most)
            except BudgetExhausted:
                return
            await clock.sleep(share)
            budget.settle(reservation, most * share)

        await asyncio.gather(*(ask(*question) for question in questions))
        return budget.spent_usd

    assert play(work) <= cap + 1e-6


def test_cached_tokens_cost_what_the_list_says() -> None:
    """With no price for cached tokens there is no discount; with no count there is no price."""
    usage = Usage(1000, 100, cached_tokens=600)
    assert cost_usd(Prices(2, 10), usage) == pytest.approx(3000e-6)
    assert cost_usd(Prices(2, 10, cached_input=1), usage) == pytest.approx(
        (800 + 600 + 1000) * 1e-6
    )
    assert cost_usd(Prices(2, 10), Usage()) is None
