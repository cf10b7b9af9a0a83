"""Wrap any judge with the ledger: what was answered once is not asked again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from lmmscore.conversation import Conversation
from lmmscore.errors import JudgeError, LedgerError, LedgerUnreadable, NotRecorded
from lmmscore.judges.budget import Spending
from lmmscore.judges.judge import Answerer, Judge, adapted
from lmmscore.ledger import Asker, Ledger, identity_of, key_of
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

    Resuming, caching and replaying are this one look-up; nothing else in the engine knows about
    them.
    """

    def __init__(self, judge: Judge | Answerer, ledger: Ledger, also: Ledger | None = None) -> None:
        self.judge = adapted(judge)
        self.asker = Asker.of(self.judge.name, self.judge.parameters)
        self.stopping: JudgeError | None = None
        """Once set, nothing new is asked: whoever wants to gets this error instead."""
        self._ledger = KnownAnswers(ledger, self.asker)
        self._also = KnownAnswers(also, self.asker) if also is not None else None
        self._under_way: dict[str, _UnderWay] = {}

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new from now on; the judge is told, so that nothing merely waits."""
        self.stopping = error
        self.judge.stop(error)

    async def ask(self, conversation: Conversation, repeat: int) -> Heard:
        """Return the recorded reply, or ask for one and record it first."""
        key = key_of(self.asker, conversation, repeat)
        # Every session opens with the same words: sessions that ask the same thing at the same time
        # wait for one answer, or for the reason why there is none. If whoever asks is cancelled,
        # the next one asks.
        while (recorded := self._ledger.find(key, conversation, repeat)) is None:
            under_way = self._under_way.get(key)
            if under_way is None:
                return await self._ask_for_all(key, conversation, repeat)
            await under_way.over.wait()
            if under_way.failure is not None:
                raise under_way.failure
        return recorded

    @property
    def ledger(self) -> Ledger:
        """Where every reply is written down."""
        return self._ledger.ledger

    @property
    def elsewhere(self) -> Ledger | None:
        """A ledger of earlier answers, in which is looked before anyone is asked."""
        return self._also.ledger if self._also is not None else None

    def recall(self, conversation: Conversation, repeat: int) -> Heard | None:
        """Return the reply that is on record, if there is one. Asks no one."""
        key = key_of(self.asker, conversation, repeat)
        heard = self._ledger.find(key, conversation, repeat)
        if heard is None and self._also is not None:
            heard = self._also.find(key, conversation, repeat)
        return heard

    def last_repeat(self) -> int:
        """Return the highest repeat that this judge has answered; 0 where there is none."""
        return self._ledger.last_repeat()

    async def _ask_for_all(self, key: str, conversation: Conversation, repeat: int) -> Heard:
        mine = self._under_way[key] = _UnderWay()
        try:
            return await self._ask_once(key, conversation, repeat)
        except JudgeError as error:
            # Whatever may pass was waited for already, attempt after attempt, and the question is
            # the same to the letter: the others would only learn it later, one after the other.
            mine.failure = error
            raise
        finally:
            del self._under_way[key]
            mine.over.set()

    async def _ask_once(self, key: str, conversation: Conversation, repeat: int) -> Heard:
        # Another process with the same ledger may be asking this very question: its answer will do.
        while not self._claim(key):
            await asyncio.sleep(CLAIM_POLL_S)
            recorded = self._ledger.find(key, conversation, repeat)
            if recorded is not None:
                return recorded
            if self.stopping is not None:
                raise self.stopping
        try:
            return await self._ask_claimed(key, conversation, repeat)
        finally:
            self._ledger.ledger.release(key)

    def _claim(self, key: str) -> bool:
        try:
            return self._ledger.ledger.claim(key)
        except LedgerError as error:
            raise NotRecorded(str(error)) from error

    async def _ask_claimed(self, key: str, conversation: Conversation, repeat: int) -> Heard:
        # Recorded between the look-up and the claim: whoever had the claim has let go of it since.
        recorded = self._ledger.find(key, conversation, repeat)
        if recorded is not None:
            return recorded
        elsewhere = None
        if self._also is not None:
            elsewhere = self._also.find(key, conversation, repeat)
        if elsewhere is None and self.stopping is not None:
            raise self.stopping
        reply = await self.judge.ask(conversation) if elsewhere is None else elsewhere.reply
        # Shielded: a reply that is paid for gets recorded even while its session is being
        # cancelled.
        standing = asyncio.wrap_future(
            self._ledger.ledger.record(self.asker, conversation, repeat, reply)
        )
        try:
            return Heard(await asyncio.shield(standing), recalled=elsewhere is not None, key=key)
        except LedgerError as error:
            raise NotRecorded(str(error)) from error


class KnownAnswers:
    """A ledger as one judge's memory, under its name and under the names it had before.

    Version 0.1 made the server's address a part of a judge's name, and so of every key.
    """

    def __init__(self, ledger: Ledger, asker: Asker) -> None:
        self.ledger = ledger
        self._asker = asker
        self._former: list[Asker] = []
        if asker.judge.startswith("openai/"):
            self._former = [each for each in _askers(ledger) if _is_former(each, asker)]

    @property
    def askers(self) -> tuple[Asker, ...]:
        """The judge by its name, then by the names it had before."""
        return (self._asker, *self._former)

    def find(self, key: str, conversation: Conversation, repeat: int) -> Heard | None:
        """Return the recorded reply with the key it is known by, or None."""
        reply = _find(self.ledger, key)
        if reply is not None:
            return Heard(reply, recalled=True, key=key)
        for former in self._former:
            former_key = key_of(former, conversation, repeat)
            reply = _find(self.ledger, former_key)
            if reply is not None:
                return Heard(reply, recalled=True, key=former_key)
        return None

    def last_repeat(self) -> int:
        """Return the highest repeat on record."""
        return max(self.ledger.last_repeat(asker) for asker in self.askers)


def spending_of(folder: Path, ledger_path: Path) -> Spending:
    """Return the account of a run's folder: a budget covers all parts of a run."""
    path, before_usd = folder / "spending.csv", 0.0
    if not path.exists() and ledger_path == folder / "ledger.sqlite" and ledger_path.is_file():
        # A folder that never had, or has lost, its own account: what its ledger has priced is the
        # least it spent.
        with Ledger(ledger_path, read_only=True) as earlier:
            before_usd = earlier.cost_usd()
    return Spending(path, before_usd)


class _UnderWay:
    """A question that was asked and not answered yet."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.failure: JudgeError | None = None


def _is_former(former: Asker, asker: Asker) -> bool:
    same_judge = identity_of(former.judge) == asker.judge and former.judge != asker.judge
    return same_judge and former.parameters == asker.parameters


def _askers(ledger: Ledger) -> list[Asker]:
    try:
        return ledger.askers()
    except LedgerError as error:
        raise LedgerUnreadable(str(error)) from error


def _find(ledger: Ledger, key: str) -> Reply | None:
    try:
        return ledger.find(key)
    except LedgerError as error:
        raise LedgerUnreadable(str(error)) from error
