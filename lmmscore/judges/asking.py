"""Asking, with everything that surrounds it: the pace, the budget, another attempt, the totals, the log."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn, Protocol, TypeVar

from lmmscore.conversation import Conversation
from lmmscore.errors import JudgeError, JudgeFileError, JudgeUnavailable, NotTrusted, ServerAway
from lmmscore.judges.charging import Sending, Till
from lmmscore.judges.clock import Clock
from lmmscore.judges.estimate import Estimator
from lmmscore.judges.faults import (
    RETRIED,
    Answer,
    Asked,
    Complaint,
    complaint_in,
    complaint_of,
    error_in,
    refuse,
)
from lmmscore.judges.keys import Key
from lmmscore.judges.logs import log
from lmmscore.judges.meter import Meter
from lmmscore.judges.options import Address, OpenAIOptions
from lmmscore.judges.pace import Pace
from lmmscore.judges.replies import Malformed, filtered_reply
from lmmscore.judges.retry import Patience, Trouble, persist
from lmmscore.judges.streams import assemble
from lmmscore.judges.wire import Body
from lmmscore.records import Reply

T = TypeVar("T")


class NoAnswer(Exception):
    """Nothing came back: the server was not reached, or the answer was lost or late."""

    def __init__(self, what: str, *, reached: bool, unsafe: bool = False) -> None:
        super().__init__(what)
        self.reached = reached
        self.unsafe = unsafe
        """No safe connection can be made: asking again would not help."""


class Connection(Protocol):
    """The way to a server: one request, one answer, no second thoughts."""

    async def post(self, path: str, body: Body) -> Answer:
        """Send a JSON body. Raises NoAnswer."""

    async def upload(self, data: bytes, mime: str) -> Answer:
        """Send a file. Raises NoAnswer."""

    async def close(self) -> None:
        """Let go of the connections."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question as it travels."""

    path: str
    body: Body
    read: Callable[[Any, Mapping[str, str]], Reply]
    fields: Mapping[str, Any]
    """The parameters sent with it, by the server's names."""
    keeps: bool = False
    """Whether it relies on something the server keeps."""


class Asker:
    """Asks questions of one server until there is an answer, or a reason why there is none."""

    def __init__(
        self,
        address: Address,
        options: OpenAIOptions,
        key: Key,
        connection: Connection,
        *,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        if options.budget_usd is not None and options.prices is None:
            raise JudgeFileError(
                f"{address.name}: a budget needs prices, and none are known for this model; "
                f"add prices: {{input: …, output: …, as_of: …}} to judges.yaml"
            )
        self._address, self._options, self._key, self._connection = (
            address,
            options,
            key,
            connection,
        )
        self._clock, self._rng = clock, rng
        self.meter = Meter()
        self.pace = Pace(clock, rpm=options.rpm, tpm=options.tpm, most=options.concurrency)
        self._stopping: JudgeError | None = None
        self._stopped = asyncio.Event()
        self._patience = Patience(attempts=options.attempts)
        self._estimator = Estimator(address.model, options)
        self.till = Till(options, self._estimator, self.meter)

    async def ask(self, conversation: Conversation, question: Question) -> Reply:
        """Return the reply to a question about a conversation. Raises JudgeError when there is none."""

        async def once(_: int) -> Reply:
            return await self.till.charged(
                conversation, lambda sending: self._paced(question, sending)
            )

        return await self._persist(once, question.path)

    async def upload(self, data: bytes, mime: str) -> Answer:
        """Return the answer to a file sent; one that refuses it is returned too."""

        async def once(_: int) -> Answer:
            sent_s = await self.pace.admit(0, under_way=True)
            try:
                self._refuse_when_stopping()
                answer = await self._transfer(self._connection.upload(data, mime), len(data))
                if answer.status in RETRIED or (answer.status >= 500 and answer.status != 501):
                    complaint = complaint_in(answer, self._key.hide)
                    self._refuse(answer, complaint, self._asked({}, len(data)), sent_s)
                return answer
            finally:
                self.pace.leave()

        return await self._persist(once, "/files")

    async def close(self) -> None:
        """Let go of connections and timers."""
        self.pace.close()
        await self._connection.close()

    def stop(self, error: JudgeError) -> None:
        """Send nothing from now on: what is in flight is finished; whoever waits for its turn gets this error."""
        self._stopping = error
        self._stopped.set()
        self.pace.open()

    def notice(self, text: str) -> None:
        """Tell the user something once."""
        if self.meter.notice(text):
            log(logging.WARNING, "notice", judge=self._address.name, text=text)

    async def _persist(self, attempt: Callable[[int], Awaitable[T]], path: str) -> T:
        def on_trouble(number: int, trouble: Trouble, wait_s: float | None) -> None:
            what = self._key.hide(trouble.what)
            if not self._patience.bears(trouble.wait_s):
                trouble.error = self._away(trouble)
            if wait_s is None:
                log(logging.ERROR, "gave_up", path=path, attempt=number, trouble=what)
                return
            self.meter.retries += 1
            log(logging.INFO, "retry", path=path, attempt=number, wait_s=wait_s, trouble=what)

        try:
            return await persist(
                attempt,
                patience=self._patience,
                sleep=self._sleep,
                rng=self._rng,
                on_trouble=on_trouble,
            )
        except JudgeError as error:
            if error is self._stopping:
                raise
            raise type(error)(self._key.hide(str(error))) from None

    def _away(self, trouble: Trouble) -> ServerAway:
        wait_s = trouble.wait_s or 0.0
        until = datetime.fromtimestamp(self._clock.wall() + wait_s)
        when = f"{until:%H:%M}" if wait_s < 86_400 else f"{until:%Y-%m-%d %H:%M}"
        return ServerAway(
            f"{self._address.name}: the server asks to wait {wait_s:.0f} s, until {when} ({trouble.what}); "
            f"everything paid for is saved: run the same command then"
        )

    async def _sleep(self, seconds: float) -> None:
        """Wait before asking again, unless the run stops meanwhile."""
        waits = [
            asyncio.ensure_future(self._clock.sleep(seconds)),
            asyncio.ensure_future(self._stopped.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _refuse_when_stopping(self) -> None:
        if self._stopping is not None:
            raise self._stopping

    async def _paced(self, question: Question, sending: Sending) -> Reply:
        # Estimating opens pictures, so it is done only where something depends on it.
        tokens = self._estimator.all_tokens(sending.conversation) if self.pace.counts_tokens else 0
        sent_s = await self.pace.admit(tokens, session=sending.conversation.beginning)
        self.meter.in_flight = self.pace.in_flight
        try:
            self._refuse_when_stopping()
            sending.in_flight = True
            posting = self._connection.post(question.path, question.body)
            answer = await self._transfer(posting, question.body.size)
            sending.in_flight = False
            reply = self._read(question, answer, sent_s)
            used = reply.usage
            counted = (
                None
                if used.prompt_tokens is None
                else used.prompt_tokens + (used.completion_tokens or 0)
            )
            self.pace.answered(answer.headers, sent_s=sent_s, estimated=tokens, tokens=counted)
        finally:
            self.pace.leave()
            self.meter.in_flight = self.pace.in_flight
        if self.pace.counts_tokens:
            self._estimator.learn(sending.conversation, reply.usage)
        self._account(reply, answer, self._clock.now() - sent_s)
        return reply

    async def _transfer(self, sending: Awaitable[Answer], size: int) -> Answer:
        self.meter.requests += 1
        self.meter.bytes_sent += size
        try:
            return await sending
        except NoAnswer as lost:
            if lost.unsafe:
                raise NotTrusted(f"{self._address.name}: {lost}") from None
            error = JudgeUnavailable(
                f"{self._address.name}: no answer from {self._address.masked_url}, however often it was asked "
                f"({lost}); is the server running? A question is {size / 1e6:.1f} MB"
            )
            raise Trouble(str(lost), error, paid=lost.reached) from None

    def _refuse(
        self, answer: Answer, complaint: Complaint, asked: Asked, sent_s: float
    ) -> NoReturn:
        """Raise what an answer means, and slow everyone down if it means that there are too many."""
        try:
            refuse(answer, complaint, asked, self._clock.wall())
        except Trouble as trouble:
            # A wait that will stop the run is not waited for.
            if trouble.crowded and self._patience.bears(trouble.wait_s):
                first_s = self._patience.first_s * 2
                self.pace.crowded(sent_s, first_s if trouble.wait_s is None else trouble.wait_s)
            raise

    def _read(self, question: Question, answer: Answer, sent_s: float) -> Reply:
        complaint = complaint_in(answer, self._key.hide) if answer.status != 200 else None
        if complaint is None:
            try:
                data = assemble(answer.content) if _is_stream(answer) else answer.json()
                error = error_in(data)
                if error is None:
                    return question.read(data, answer.headers)
                complaint = complaint_of(error, self._key.hide)
            except (Malformed, ValueError) as unread:
                self._malformed(str(unread) if isinstance(unread, Malformed) else "not JSON")
        if complaint.filtered:
            return filtered_reply(complaint.message, answer.headers)
        asked = self._asked(question.fields, question.body.size, question.keeps)
        return self._refuse(answer, complaint, asked, sent_s)

    def _malformed(self, why: str) -> NoReturn:
        error = JudgeUnavailable(
            f"{self._address.name}: the server's answers cannot be read ({why}); is {self._address.masked_url} "
            f"the base URL of an OpenAI-compatible API?"
        )
        raise Trouble(f"malformed body: {why}", error, paid=True)

    def _asked(self, fields: Mapping[str, Any], size: int, keeps: bool = False) -> Asked:
        address = self._address
        return Asked(
            address.name, address.model, address.masked_url, self._key.source, fields, size, keeps
        )

    def _account(self, reply: Reply, answer: Answer, elapsed_s: float) -> None:
        self.meter.count(reply.usage)
        if reply.model:
            self.meter.models.add(reply.model)
        log(
            logging.DEBUG,
            "answered",
            request_id=reply.request_id,
            model=reply.model,
            finish=reply.finish,
            elapsed_s=elapsed_s,
            prompt_tokens=reply.usage.prompt_tokens,
            cached_tokens=reply.usage.cached_tokens,
            completion_tokens=reply.usage.completion_tokens,
        )


def _is_stream(answer: Answer) -> bool:
    return answer.headers.get("content-type", "").startswith("text/event-stream")
