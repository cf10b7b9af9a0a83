"""Quotas that refill: those a user sets, and those a server announces in its response headers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_LONGEST_RESET_S = 31 * 86_400.0


@dataclass(frozen=True, slots=True)
class Quota:
    """What a server says of one of its limits."""

    limit: float
    remaining: float
    rate: float
    """How much of it comes back each second."""


class Bucket:
    """A level that refills steadily. A large taking may leave a debt; the next one waits until it is paid."""

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
        """Adopt what the server says, unless our own count is lower: it may not yet have seen what is on its way."""
        self._refill(now_s)
        self._rate, self._capacity = quota.rate, quota.limit
        self._level = min(self._level, quota.remaining)

    def _refill(self, now_s: float) -> None:
        self._level = min(self._capacity, self._level + (now_s - self._at_s) * self._rate)
        self._at_s = now_s


def announced(headers: Mapping[str, str], wall_s: float) -> dict[str, Quota]:
    """Return the quotas in a response's headers, by `requests` and `tokens`. Header names are in lower case."""
    found: dict[str, Quota] = {}
    if not any("ratelimit" in name for name in headers):
        return found
    for what in ("requests", "tokens"):
        quota = _quota(headers, what, wall_s)
        if quota is not None:
            found[what] = quota
    return found


def _quota(headers: Mapping[str, str], what: str, wall_s: float) -> Quota | None:
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
            # A negative span, or the time of day by somebody's clock: it does not say how fast the quota refills.
            reset_s = None
        # A limit is per minute unless the time until it is full again says otherwise (some count by the day).
        rate = (limit - remaining) / reset_s if reset_s and limit > remaining else limit / 60
        return Quota(limit, max(0.0, remaining), max(rate, limit / 86_400))
    return None


def span_s(text: str, wall_s: float) -> float | None:
    """Read `20ms`, `6m0s`, `1.5`, or a date as seconds from now; None when it says nothing."""
    text = text.strip()
    parts = _SPAN.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return max(0.0, datetime.fromisoformat(text).timestamp() - wall_s)
    except ValueError:
        return None
