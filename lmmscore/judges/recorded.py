"""Wrap any judge with the ledger: what was answered once is not asked again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from lmmscore.conversation import Conversation
from lmmscore.errors import JudgeError, LedgerError, LedgerUnreadable, NotRecorded
from lmmscore.judges.base import Judge
from lmmscore.ledger import Asker, Ledger, key_of
from lmmscore.records import Reply

CLAIM_POLL_S = 0.05
"""How often to look whether another process has its answer."""


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
        self._under_way: dict[str, _UnderWay] = {}

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new from now on. A judge that can is told, so that what merely waits does not hold things up."""
        self.stopping = error
        tell = getattr(self.judge, "stop", None)
        if tell is not None:
            tell(error)

    async def ask(self, conversation: Conversation, repeat: int) -> Heard:
        """Return the recorded reply, or ask for one and record it first."""
        key = key_of(self.asker, conversation, repeat)
        # Every session opens with the same words: sessions that ask the same thing at the same time wait for
        # one answer, or for the reason why there is none. If whoever asks is cancelled, the next one asks.
        while (recorded := _find(self._ledger, key)) is None:
            under_way = self._under_way.get(key)
            if under_way is None:
                return await self._ask_for_all(key, conversation, repeat)
            await under_way.over.wait()
            if under_way.failure is not None:
                raise under_way.failure
        return Heard(recorded, recalled=True, key=key)

    async def _ask_for_all(self, key: str, conversation: Conversation, repeat: int) -> Heard:
        mine = self._under_way[key] = _UnderWay()
        try:
            return await self._ask_once(key, conversation, repeat)
        except JudgeError as error:
            # Whatever may pass was waited for already, attempt after attempt, and the question is the same to the
            # letter: the others would only learn it later, one after the other.
            mine.failure = error
            raise
        finally:
            del self._under_way[key]
            mine.over.set()

    async def _ask_once(self, key: str, conversation: Conversation, repeat: int) -> Heard:
        # Another process with the same ledger may be asking this very question: its answer will do.
        while not self._claim(key):
            await asyncio.sleep(CLAIM_POLL_S)
            recorded = _find(self._ledger, key)
            if recorded is not None:
                return Heard(recorded, recalled=True, key=key)
            if self.stopping is not None:
                raise self.stopping
        try:
            return await self._ask_claimed(key, conversation, repeat)
        finally:
            self._ledger.release(key)

    def _claim(self, key: str) -> bool:
        try:
            return self._ledger.claim(key)
        except LedgerError as error:
            raise NotRecorded(str(error)) from error

    async def _ask_claimed(self, key: str, conversation: Conversation, repeat: int) -> Heard:
        # Recorded between the look-up and the claim: whoever had the claim has let go of it since.
        recorded = _find(self._ledger, key)
        if recorded is not None:
            return Heard(recorded, recalled=True, key=key)
        elsewhere = _find(self._also, key) if self._also is not None else None
        if elsewhere is None and self.stopping is not None:
            raise self.stopping
        reply = elsewhere or await self.judge.ask(conversation)
        # Shielded: a reply that is paid for gets recorded even while its session is being cancelled.
        standing = asyncio.wrap_future(self._ledger.record(self.asker, conversation, repeat, reply))
        try:
            return Heard(await asyncio.shield(standing), recalled=elsewhere is not None, key=key)
        except LedgerError as error:
            raise NotRecorded(str(error)) from error


class _UnderWay:
    """A question that was asked and not answered yet."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.failure: JudgeError | None = None


def _find(ledger: Ledger, key: str) -> Reply | None:
    try:
        return ledger.find(key)
    except LedgerError as error:
        raise LedgerUnreadable(str(error)) from error
