"""Time, passed in: whatever waits asks a clock, so that tests need not."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


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
