"""The one layer that asks again. It ends, and it repeats named troubles only."""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeVar

from lmmscore.errors import JudgeError

T = TypeVar("T")
_NO_WAIT_S = 365 * 86_400.0


class Trouble(Exception):
    """An attempt that failed in a way that may pass: asking again can help."""

    def __init__(
        self,
        what: str,
        error: JudgeError,
        *,
        wait_s: float | None = None,
        crowded: bool = False,
        paid: bool = False,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.error = error
        """What to raise when no attempt is left."""
        self.wait_s = wait_s
        """How long the server asks to wait, if it says."""
        self.crowded = crowded
        """The server has too many questions, not only this one: everyone should slow down."""
        self.paid = paid
        """The server may have answered, and charged, and the answer was lost on the way."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a question is sent, and how long is waited in between."""

    attempts: int = 10
    first_s: float = 0.25
    longest_s: float = 30.0
    longest_asked_s: float = 900.0
    """A server that asks for a longer wait than this is left alone."""

    def wait_s(self, attempt: int, asked_s: float | None, rng: random.Random) -> float:
        """Return the wait after the given attempt: at least what the server asked, and never in step with others."""
        backoff = min(self.longest_s, self.first_s * 2.0 ** (attempt - 1))
        if asked_s is None:
            return backoff * rng.uniform(0.5, 1.0)
        return asked_s + min(1.0, backoff) * rng.uniform(0.05, 0.25)

    def bears(self, asked_s: float | None) -> bool:
        """Tell whether a wait that the server asks for is short enough to be waited."""
        return asked_s is None or asked_s <= self.longest_asked_s


async def persist(
    attempt: Callable[[int], Awaitable[T]],
    *,
    patience: Patience,
    sleep: Callable[[float], Awaitable[None]],
    rng: random.Random,
    on_trouble: Callable[[int, Trouble, float | None], None],
) -> T:
    """Return what `attempt(1)`, or else `attempt(2)`, … returns.

    Only Trouble is met by another attempt. `on_trouble` hears of each, with the wait that follows; None when
    this was the last.
    """
    for number in range(1, patience.attempts + 1):
        try:
            return await attempt(number)
        except Trouble as trouble:
            asked_s = trouble.wait_s
            if number == patience.attempts or not patience.bears(asked_s):
                on_trouble(number, trouble, None)
                raise trouble.error from None
            wait_s = patience.wait_s(number, asked_s, rng)
            on_trouble(number, trouble, wait_s)
        await sleep(wait_s)
    raise AssertionError("at least one attempt")


def asked_wait_s(headers: dict[str, str], wall_s: float) -> float | None:
    """Return the wait a response asks for: `retry-after-ms`, or `retry-after` in seconds or as a date.

    Header names are in lower case. A date in the past means now; what cannot be read, or is no wait, says nothing.
    """
    try:
        in_ms = _sensible(float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        in_ms = None
    if in_ms is not None:
        return in_ms
    value = headers.get("retry-after", "").strip()
    try:
        seconds = (
            float(value.removesuffix("ms")) / 1000
            if value.endswith("ms")
            else float(value.removesuffix("s"))
        )
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - wall_s
        except (ValueError, TypeError, IndexError):
            return None
    return _sensible(seconds)


def _sensible(seconds: float) -> float | None:
    # `inf`, `nan` and the number of seconds since 1970 are no waits.
    return max(0.0, seconds) if math.isfinite(seconds) and seconds < _NO_WAIT_S else None
