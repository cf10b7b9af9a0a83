"""What a judge has done so far, for whoever shows progress."""

from __future__ import annotations

from dataclasses import dataclass, field

from lmmscore.records import Usage


@dataclass(slots=True)
class Meter:
    """Running totals of one judge. Read it at any time; only the judge writes it."""

    calls: int = 0
    """Questions answered."""
    requests: int = 0
    """Requests sent, retries and uploads included."""
    retries: int = 0
    in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    bytes_sent: int = 0
    """Bodies of all requests."""
    files_uploaded: int = 0
    cost_usd: float = 0.0
    """By the price list, over all parts of the run, including what is only assumed."""
    assumed_usd: float = 0.0
    """The part of the cost that no server counted: answers lost on the way, or without a count."""
    models: set[str] = field(default_factory=set)
    """Every exact model that answered."""
    notices: list[str] = field(default_factory=list)
    """What the user should hear of, once: a fallback, several choices where one was asked for."""

    def count(self, usage: Usage) -> None:
        """Add the tokens of one answer."""
        self.calls += 1
        self.prompt_tokens += usage.prompt_tokens or 0
        self.completion_tokens += usage.completion_tokens or 0
        self.cached_tokens += usage.cached_tokens or 0

    def notice(self, text: str) -> bool:
        """Keep a remark, and return whether it is new."""
        if text in self.notices:
            return False
        self.notices.append(text)
        return True
