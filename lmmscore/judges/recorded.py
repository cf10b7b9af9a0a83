"""Wrap any judge with the ledger: what was answered once is not asked again."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

from lmmscore.conversation import Conversation
from lmmscore.errors import JudgeError, LedgerError, NotRecorded
from lmmscore.judges.base import Judge
from lmmscore.ledger import Asker, Ledger, key_of
from lmmscore.records import Reply


@dataclass(frozen=True, slots=True)
class Heard:
    """A reply, and whether it came from the ledger."""

    reply: Reply
    recalled: bool
    key: str


class Recorded:
    """A judge whose every reply is in the ledger before anyone sees it.

    Resuming, caching and replaying are this one look-up; nothing else in the engine knows about them.
    """

    def __init__(self, judge: Judge, ledger: Ledger, also: Ledger | None = None) -> None:
        self.judge = judge
        self.asker = Asker.of(judge.name, judge.parameters)
        self.stopping: JudgeError | None = None
        """Once set, nothing new is asked: whoever wants to gets this error instead."""
        self._ledger = ledger
        self._also = also
        self._locks: dict[str, asyncio.Lock] = {}
        self._waiting: Counter[str] = Counter()

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new from now on. A judge that can is told, so that what merely waits does not hold things up."""
        self.stopping = error
        tell = getattr(self.judge, "stop", None)
        if tell is not None:
            tell(error)

    async def ask(self, conversation: Conversation, repeat: int) -> Heard:
        """Return the recorded reply, or ask for one and record it first."""
        key = key_of(self.asker, conversation, repeat)
        recorded = self._ledger.find(key)
        if recorded is not None:
            return Heard(recorded, recalled=True, key=key)
        # Every session opens with the same words: sessions that ask the same thing at the same time wait for
        # one answer. If the first of them gets none, the next one asks.
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._waiting[key] += 1
        try:
            async with lock:
                return await self._ask_once(key, conversation, repeat)
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key], self._locks[key]

    async def _ask_once(self, key: str, conversation: Conversation, repeat: int) -> Heard:
        recorded = self._ledger.find(key)
        if recorded is not None:
            return Heard(recorded, recalled=True, key=key)
        elsewhere = self._also.find(key) if self._also is not None else None
        if elsewhere is None and self.stopping is not None:
            raise self.stopping
        reply = elsewhere or await self.judge.ask(conversation)
        # Shielded: a reply that is paid for gets recorded even while its session is being cancelled.
        standing = asyncio.wrap_future(self._ledger.record(self.asker, conversation, repeat, reply))
        try:
            return Heard(await asyncio.shield(standing), recalled=elsewhere is not None, key=key)
        except LedgerError as error:
            raise NotRecorded(str(error)) from error
