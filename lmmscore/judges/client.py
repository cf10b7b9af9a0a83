"""Asks servers until there is an answer, or a reason why there is none.

For each question it decides which of several servers to ask, when, and how often, keeps within the
budget, and keeps totals and a log.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, NoReturn, TypeVar
from weakref import WeakKeyDictionary, ref

import orjson

from lmmscore.conversation import Conversation
from lmmscore.errors import (
    AnswerTooLarge,
    JudgeError,
    JudgeFileError,
    JudgeUnavailable,
    NotTrusted,
    ServerAway,
    ServerUnreachable,
)
from lmmscore.judges.config import Address, Endpoint, JudgeOptions, Key, find_key, hider
from lmmscore.judges.faults import (
    RETRIED,
    Answer,
    Attempt,
    Malformed,
    NoAnswer,
    ServerComplaint,
    Trouble,
    complaint_in,
    complaint_of,
    error_in,
    refuse,
    with_texts,
)
from lmmscore.judges.http import Body, Connection, Oversized
from lmmscore.judges.limits import (
    NOTICES,
    Budget,
    Clock,
    Estimator,
    Gate,
    Meter,
    Pace,
    Patience,
    Sending,
    ServerSign,
    Till,
    connections_allowed,
)
from lmmscore.records import Reply, Usage

T = TypeVar("T")
LOGGER = logging.getLogger("lmmscore.judges")
FAILURES_IN_A_ROW = 3
"""After this many failed attempts with no answer in between, a server counts as down."""
FIRST_REST_S = 30.0
LONGEST_REST_S = 600.0
"""How long a server that is down is left alone: twice as long after each trial that it fails."""
_SAID_BY_SERVERS = "text finish refusal reasoning model fingerprint request_id".split()
"""The fields of a reply in which a server may repeat a key."""
_SIZES = frozenset("nano mini small medium large lite flash turbo pro max plus".split())
"""Words by which one model of a family is distinguished from another."""
REFUSALS = 2
"""After this many failed connections, before any answer, there is no server."""


def log(level: int, event: str, *, logger: logging.Logger = LOGGER, **about: object) -> None:
    """Write one line `event=retry attempt=2 wait_s=1.5`; what is None or empty is left out.

    Never a key, never the bytes of a picture.
    """
    if logger.isEnabledFor(level):
        said = {name: value for name, value in about.items() if value not in (None, "")}
        pairs = [f"{name}={_shown(value)}" for name, value in said.items()]
        logger.log(level, "%s", " ".join([f"event={event}", *pairs]))


def _shown(value: object) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return repr(text) if any(mark in text for mark in " \n\t\"'=") else text


class ReplicaFailed(Exception):
    """A server failed, and its session continues at another."""


@dataclass(eq=False, slots=True)
class Replica:
    """One server among those that offer the model."""

    endpoint: Endpoint
    key: Key
    connection: Connection
    pace: Pace
    asking: int = 0
    """Sessions with a question in flight here."""
    begun: int = 0
    """Sessions that started here."""
    answered: bool = False
    answer_s: float = 0.0
    """How long recent answers took here, on average; 0 before the first."""
    failures: int = 0
    """Attempts that failed since the last answer."""
    down: bool = False
    rest_s: float = FIRST_REST_S
    failed_at_s: float = 0.0
    rests_until_s: float = 0.0
    trial: ref[Conversation] | None = None
    """The one session that tries a server that was down, until it answers."""
    url: str = field(init=False)
    """Its base URL, without anything secret."""

    def __post_init__(self) -> None:
        self.url = self.endpoint.masked_url

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Count a session here while its question is under way."""
        self.asking += 1
        try:
            yield
        finally:
            self.asking -= 1

    @property
    def load(self) -> float:
        """How long one more session would wait for its answers, compared with other servers."""
        return (self.asking + 1) * self.answer_s

    def is_tried_by_other(self, session: Conversation) -> bool:
        """Whether another session is finding out if this server is back."""
        tried_by = self.trial() if self.trial is not None else None
        return tried_by is not None and tried_by is not session


class Replicas:
    """The servers of one model, and which session is at which.

    A session goes to the least busy server at its first question and stays, because that server's
    prefix cache holds its pictures. A server that fails is left alone for a while; its sessions
    move. Then one session tries it again.
    """

    def __init__(
        self, replicas: list[Replica], clock: Clock, meter: Meter, notice: Callable[[str], None]
    ) -> None:
        self._replicas = replicas
        self._clock = clock
        self._meter = meter
        self._notice = notice
        # By the object that is the first message of its conversation: sessions may open with the
        # same words. Weak, so that a session that is over is forgotten.
        self._pins: WeakKeyDictionary[Conversation, Replica] = WeakKeyDictionary()

    def __iter__(self) -> Iterator[Replica]:
        return iter(self._replicas)

    def of(self, session: Conversation) -> Replica:
        """Return the server this session is at, or is at from now on."""
        if len(self._replicas) == 1:
            return self._replicas[0]

        pinned = self._pins.get(session)
        if pinned is not None and self._takes(pinned, session):
            return pinned

        chosen = self._choose(session, pinned)
        if chosen.down:
            chosen.trial = ref(session)

        chosen.begun += 1
        self._pins[session] = chosen
        if pinned is not None and pinned is not chosen:
            self._meter.moves += 1
            log(logging.INFO, "moved", server=pinned.url, to=chosen.url)

        return chosen

    def _choose(self, session: Conversation, pinned: Replica | None) -> Replica:
        """Return the server for a session that begins, or whose server takes it no longer."""
        candidates = [each for each in self._replicas if self._takes(each, session)]
        if not candidates:
            # All of them are down: there is nothing to do but to keep trying.
            return pinned or min(self._replicas, key=lambda each: each.rests_until_s)

        # A server that has not answered yet is no faster and no slower than the others.
        known = all(each.answer_s for each in candidates)
        # A server that was down is tried by a session that begins: it has nothing to leave behind.
        # One that has moved once already goes where it is safe.
        begins = pinned is None
        return min(
            candidates,
            key=lambda each: (each.down != begins, each.load if known else each.asking, each.begun),
        )

    def succeeded(self, replica: Replica, asked_s: float) -> None:
        """Note an answer to a question asked at `asked_s`."""
        replica.answered = True
        # An answer that was under way when the server failed does not show that it is back.
        if replica.down and asked_s <= replica.failed_at_s:
            return

        replica.failures = 0
        if replica.down:
            replica.down = False
            replica.trial = None
            replica.rest_s = FIRST_REST_S
            self._notice(f"{replica.url} answers again")

    def failed(self, replica: Replica, trouble: Trouble) -> bool:
        """Note a failed attempt; return whether the session should move to another server."""
        replica.failures += 1
        if len(self._replicas) == 1:
            return False

        out_of_order = not trouble.reached or replica.failures >= FAILURES_IN_A_ROW
        is_news = not replica.down or replica.trial is not None
        if out_of_order and is_news:
            self._leave_alone(replica, trouble)

        if not replica.down:
            return False

        return any(not each.down for each in self._replicas)

    def _leave_alone(self, replica: Replica, trouble: Trouble) -> None:
        """Treat a server as down; for twice as long as before if it was on trial."""
        if replica.trial is not None:
            replica.rest_s = min(LONGEST_REST_S, 2 * replica.rest_s)

        replica.down = True
        replica.trial = None
        replica.failed_at_s = self._clock.now()
        replica.rests_until_s = replica.failed_at_s + replica.rest_s
        self._notice(
            f"{replica.url} fails ({trouble.what}); its sessions move to other servers, and it is "
            f"tried again after {replica.rest_s:.0f} s"
        )

    def _takes(self, replica: Replica, session: Conversation) -> bool:
        if not replica.down:
            return True
        rested = self._clock.now() >= replica.rests_until_s
        return rested and not replica.is_tried_by_other(session)

    @property
    def any_answered(self) -> bool:
        """Whether any server has answered anything."""
        return any(each.answered for each in self._replicas)


@dataclass(frozen=True, slots=True)
class ApiQuestion:
    """One question as it travels."""

    path: str
    body: Body
    read: Callable[[Any, Mapping[str, str]], Reply]
    fields: Mapping[str, Any]
    """The parameters sent with it, by the server's names."""
    relies: bool = False
    """Whether it relies on something the server keeps."""
    parse: Callable[[Answer], Any] = Answer.json
    """How the body of an answer is parsed."""


class ApiClient:
    """Asks the servers of one model."""

    def __init__(
        self,
        address: Address,
        options: JudgeOptions,
        *,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        if options.budget_usd is not None and options.prices is None:
            raise JudgeFileError(
                f"{address.name}: a budget needs prices, and none are known for this model; "
                "add prices: {input: …, output: …, as_of: …} to judges.yaml"
            )

        self._address = address
        self._clock = clock
        self._rng = rng
        self._patience = Patience(attempts=options.attempts)
        self.meter = Meter()
        self._room = connections_allowed()
        replicas = [self._replica(endpoint, options) for endpoint in address.endpoints]
        self.replicas = Replicas(replicas, clock, self.meter, partial(self.notice, again=True))
        self.hide = hider(replica.key for replica in replicas)
        self._estimator = Estimator(
            address.model,
            max_tokens=options.max_tokens,
            image_detail=options.image_detail,
            formula=options.image_tokens,
        )
        budget = Budget(options.budget_usd, options.spent_usd)
        self.till = Till(options.prices, budget, self._estimator, self.meter)
        self._gate: Gate | None = None
        self._stopping: JudgeError | None = None
        self._stopped = asyncio.Event()
        self._names_sessions = bool(options.session_header)
        self._session_ids: WeakKeyDictionary[Conversation, str] = WeakKeyDictionary()

    def _replica(self, endpoint: Endpoint, options: JudgeOptions) -> Replica:
        """Return the way to one server. Raises NotAuthorised where it has no key."""
        key = find_key(endpoint, self._address.name, options)
        limits = [options.concurrency] if options.concurrency else []
        if self._room is not None:
            limits.append(max(1, self._room // len(self._address.endpoints)))

        most = min(limits, default=None)
        pace = Pace(self._clock, rpm=options.rpm, tpm=options.tpm, most=most)
        return Replica(endpoint, key, Connection(endpoint, key, options), pace)

    def share(self, budget: Budget, gate: Gate) -> None:
        """Share a budget and a pace with other processes."""
        self.till.share(budget)
        self._gate = gate

    async def ask(
        self, replica: Replica, conversation: Conversation, question: ApiQuestion
    ) -> Reply:
        """Return the reply to a question about a conversation.

        Raises JudgeError when there is none, and ReplicaFailed when it should be put to another
        server.
        """

        async def once() -> Reply:
            return await self.till.charged(
                conversation, lambda sending: self._paced(replica, question, sending)
            )

        return await self._persist(replica, once, question.path)

    async def upload(self, replica: Replica, data: bytes, mime: str) -> Answer:
        """Return the answer to a file sent; one that refuses it is returned too."""

        async def once() -> Answer:
            sent_s = await replica.pace.admit(0, under_way=True)
            try:
                self._refuse_when_stopping()
                sending = replica.connection.upload(data, mime)
                answer = await self._transfer(replica, sending, len(data))
                passing = answer.status in RETRIED or answer.status >= 500
                if passing and answer.status != 501:
                    attempt = self._attempt(replica, {}, len(data))
                    complaint = complaint_in(answer, self.hide)
                    self._refuse(replica, answer, complaint, attempt, sent_s)

                return answer
            finally:
                replica.pace.leave()

        return await self._persist(replica, once, "/files")

    async def close(self) -> None:
        """Close connections and stop timers."""
        for replica in self.replicas:
            replica.pace.close()
            await replica.connection.close()

    def stop(self, error: JudgeError) -> None:
        """Send nothing from now on: what is in flight is finished, what waits raises this."""
        self._stopping = error
        self._stopped.set()
        for replica in self.replicas:
            replica.pace.open()

    def notice(self, text: str, sign: ServerSign | None = None, *, again: bool = False) -> None:
        """Tell the user something, once unless `again`; `sign` says it to programs."""
        text = self.hide(text)
        if self.meter.notice(text, sign, again=again):
            log(
                logging.WARNING,
                "notice",
                logger=logging.getLogger(NOTICES),
                judge=self._address.name,
                text=text,
            )

    async def _persist(self, replica: Replica, attempt: Callable[[], Awaitable[T]], path: str) -> T:
        """Return what an attempt returns, made again where that may help. Raises as `ask` does."""
        number = 0
        try:
            while True:
                number += 1
                asked_s = self._clock.now()
                try:
                    result = await attempt()
                except Trouble as trouble:
                    self._after(replica, trouble, number, path)
                    wait_s = self._wait_after(trouble, number, path)
                else:
                    self.replicas.succeeded(replica, asked_s)
                    return result

                await self._sleep(wait_s)
        except JudgeError as error:
            if error is self._stopping:
                raise
            # A server may repeat the key in its complaint; the message goes to screens and files.
            raise type(error)(self.hide(str(error))) from None

    def _after(self, replica: Replica, trouble: Trouble, number: int, path: str) -> None:
        """Note a failed attempt. Raises where another server, or none, should be asked next."""
        # A congested server is alive: its pace is lowered, but it does not count as down.
        if trouble.crowded:
            return

        if self.replicas.failed(replica, trouble):
            self.meter.retries += 1
            log(logging.INFO, "retry", path=path, attempt=number, trouble=self.hide(trouble.what))
            raise ReplicaFailed from None

        vain = number >= min(REFUSALS, self._patience.attempts)
        if vain and not trouble.reached and not self.replicas.any_answered:
            raise ServerUnreachable(
                f"{self._address.name}: no server at {self._address.places} ({trouble.what}); "
                "start it, or correct its address, then run the same command"
            ) from None

    def _wait_after(self, trouble: Trouble, number: int, path: str) -> float:
        """Return the wait before the next attempt. Raises JudgeError where there is none."""
        what = self.hide(trouble.what)
        bears = self._patience.bears(trouble.wait_s)
        if not bears or number == self._patience.attempts:
            log(logging.ERROR, "gave_up", path=path, attempt=number, trouble=what)
            raise (trouble.error if bears else self._away(trouble)) from None

        self.meter.retries += 1
        wait_s = self._patience.wait_s(number, trouble.wait_s, self._rng)
        log(logging.INFO, "retry", path=path, attempt=number, wait_s=wait_s, trouble=what)
        return wait_s

    def _away(self, trouble: Trouble) -> ServerAway:
        """Return the error for a server that asks for a longer wait than a run should wait."""
        wait_s = trouble.wait_s or 0.0
        until = datetime.fromtimestamp(self._clock.wall() + wait_s)
        when = f"{until:%H:%M}" if wait_s < 86_400 else f"{until:%Y-%m-%d %H:%M}"
        return ServerAway(
            f"{self._address.name}: the server asks to wait {wait_s:.0f} s, until {when} "
            f"({trouble.what}); everything paid for is saved: run the same command then"
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

    async def _paced(self, replica: Replica, question: ApiQuestion, sending: Sending) -> Reply:
        """Send a question when its turn comes, and read the answer. Raises as `_read` does."""
        pace, conversation = replica.pace, sending.conversation
        # Estimating opens pictures, so it is done only where something depends on it.
        counts = pace.counts_tokens or (self._gate is not None and self._gate.counts_tokens)
        tokens = self._estimator.all_tokens(conversation) if counts else 0

        self._mention_room()
        # The pace of all processes first: a place at this server is not held while waiting for it.
        if self._gate is not None:
            await self._gate.admit(tokens)

        sent_s = await pace.admit(tokens, session=conversation.beginning)
        self._count_in_flight()
        try:
            self._refuse_when_stopping()
            answer = await self._sent(replica, question, sending)
            reply = self._read(replica, question, answer, sent_s)

            counted = _tokens_of(reply.usage)
            pace.answered(answer.headers, sent_s=sent_s, estimated=tokens, tokens=counted)
            if self._gate is not None and counted is not None:
                self._gate.settle(counted - tokens)
        finally:
            pace.leave()
            self._count_in_flight()

        if counts:
            self._estimator.learn(conversation, reply.usage)

        self._account(replica, reply, self._clock.now() - sent_s)
        return reply

    async def _sent(self, replica: Replica, question: ApiQuestion, sending: Sending) -> Answer:
        """Send a question and return what comes back. Raises as `_transfer` does."""
        beginning = sending.conversation.beginning
        session_id = self._id_of(beginning) if self._names_sessions else ""
        posting = replica.connection.post(question.path, question.body, session_id)
        # While this is set, whatever goes wrong may have been charged for.
        sending.in_flight = True
        answer = await self._transfer(replica, posting, question.body.size)
        sending.in_flight = False
        return answer

    def _count_in_flight(self) -> None:
        self.meter.in_flight = sum(replica.pace.in_flight for replica in self.replicas)

    def _mention_model(self, replica: Replica, answering: str) -> None:
        """Tell the user if another model answers than the one that tables will name."""
        asked = self._address.model
        # At Azure one asks for a deployment, which its owner named.
        if not replica.endpoint.is_azure and not is_same_model(asked, answering):
            self.notice(
                f"asked for {asked}, and {answering} answered at {replica.url}; tables name the "
                "one that was asked for"
            )

        if len(self.meter.models) > 1:
            self.notice(
                f"several models answered: {', '.join(sorted(self.meter.models))}; name one that "
                "does not change, such as a dated snapshot"
            )

    def _mention_room(self) -> None:
        """Tell the user if the limit on open files decides how many questions are in flight."""
        if self._room is not None and self.meter.in_flight >= self._room - 1:
            self.notice(
                f"at most {self._room} questions are asked at once: the system lets this process "
                "open no more files (ulimit -n raises that)"
            )

    def _id_of(self, session: Conversation) -> str:
        """Return a session's random id, the same for all of its turns, for routers."""
        known = self._session_ids.get(session)
        if known is None:
            known = self._session_ids[session] = uuid.uuid4().hex
        return known

    async def _transfer(self, replica: Replica, sending: Awaitable[Answer], size: int) -> Answer:
        """Return what comes back. Raises Trouble, or JudgeError where nothing ever will."""
        self.meter.requests += 1
        self.meter.bytes_sent += size
        name = self._address.name
        try:
            return await sending
        except Oversized as lost:
            raise AnswerTooLarge(
                f"{name}: an answer from {replica.url} is {lost}, which no reply is; "
                "limits.max_response_mb in judges.yaml allows more"
            ) from None
        except NoAnswer as lost:
            if lost.unsafe:
                raise NotTrusted(f"{name}: {lost}") from None

            hint = "is the server running?"
            if lost.reached:
                hint += f" A question is {size / 1e6:.1f} MB"

            error = JudgeUnavailable(
                f"{name}: no answer from {replica.url}, however often it was asked ({lost}); {hint}"
            )
            raise Trouble(str(lost), error, paid=lost.reached, reached=lost.reached) from None

    def _refuse(
        self,
        replica: Replica,
        answer: Answer,
        complaint: ServerComplaint,
        attempt: Attempt,
        sent_s: float,
    ) -> NoReturn:
        """Raise what an answer means; if the server is congested, slow all sessions down."""
        try:
            refuse(answer, complaint, attempt, self._clock.wall())
        except Trouble as trouble:
            # A wait that will stop the run is not waited for.
            if trouble.crowded and self._patience.bears(trouble.wait_s):
                wait_s = self._patience.first_s * 2 if trouble.wait_s is None else trouble.wait_s
                replica.pace.crowded(sent_s, wait_s)

            raise

    def _read(
        self, replica: Replica, question: ApiQuestion, answer: Answer, sent_s: float
    ) -> Reply:
        """Return the reply in an answer. Raises Trouble, or JudgeError, where there is none."""
        headers = {"x-request-id": self.hide(answer.headers.get("x-request-id", ""))}
        if answer.status != 200:
            complaint = complaint_in(answer, self.hide)
        else:
            try:
                data = question.parse(answer)
                error = error_in(data)
                if error is None:
                    reply = without_secrets(question.read(data, headers), self.hide)
                    return _served(reply, replica)

                complaint = complaint_of(error, self.hide)
            except (Malformed, ValueError) as unread:
                self._malformed(replica, unread)

        # Asked again, a filter would say the same: its refusal is the judge's reply.
        if complaint.filtered:
            return _served(filtered_reply(complaint.message, headers), replica)

        attempt = self._attempt(replica, question.fields, question.body.size, question.relies)
        return self._refuse(replica, answer, complaint, attempt, sent_s)

    def _malformed(self, replica: Replica, unread: ValueError) -> NoReturn:
        """Raise Trouble: the server may have been paid for what cannot be read."""
        why = str(unread) if isinstance(unread, Malformed) else "not JSON"
        error = JudgeUnavailable(
            f"{self._address.name}: the server's answers cannot be read ({why}); is {replica.url} "
            "the base URL of an OpenAI-compatible API?"
        )
        raise Trouble(f"malformed body: {why}", error, paid=True)

    def _attempt(
        self, replica: Replica, fields: Mapping[str, Any], size: int, relies: bool = False
    ) -> Attempt:
        name, model = self._address.name, self._address.model
        return Attempt(name, model, replica.url, replica.key.source, fields, size, relies)

    def _account(self, replica: Replica, reply: Reply, elapsed_s: float) -> None:
        """Count an answer, and log it."""
        # A moving average over about the last ten answers.
        replica.answer_s += (elapsed_s - replica.answer_s) * (0.1 if replica.answer_s else 1.0)
        self.meter.count(reply.usage)
        self.meter.servers[replica.url] += 1
        if reply.model and reply.model not in self.meter.models:
            self.meter.models.add(reply.model)
            self._mention_model(replica, reply.model)

        log(
            logging.DEBUG,
            "answered",
            server=replica.url,
            request_id=reply.request_id,
            model=reply.model,
            finish=reply.finish,
            elapsed_s=elapsed_s,
            prompt_tokens=reply.usage.prompt_tokens,
            cached_tokens=reply.usage.cached_tokens,
            completion_tokens=reply.usage.completion_tokens,
        )


def _tokens_of(usage: Usage) -> int | None:
    """Return the tokens of question and reply; None where the server did not count the question."""
    if usage.prompt_tokens is None:
        return None
    return usage.prompt_tokens + (usage.completion_tokens or 0)


def is_same_model(asked: str, answering: str) -> bool:
    """Whether a server's name for what answered may mean the model asked for.

    Providers add a date or a quantisation, and leave out or add whose model it is. Another size is
    another model: gpt-4o-mini is not gpt-4o.
    """
    one = asked.lower().rpartition("/")[2]
    other = answering.lower().rpartition("/")[2]
    differing = {*re.findall(r"[a-z]+", one)} ^ {*re.findall(r"[a-z]+", other)}
    return (one in other or other in one) and not differing & _SIZES


def filtered_reply(message: str, headers: Mapping[str, str]) -> Reply:
    """Return the content filter's refusal of the question as the reply, and the evidence, it is."""
    request_id = headers["x-request-id"]
    return Reply("", finish="content_filter", refusal=message, request_id=request_id)


def without_secrets(reply: Reply, hide: Callable[[str], str]) -> Reply:
    """Return the reply without a key that the server repeats: whatever it says goes on record.

    Only a whole reply is looked at, since its parts may hold a key piece by piece.
    """
    changed: dict[str, Any] = {}
    for name in _SAID_BY_SERVERS:
        said = getattr(reply, name)
        shown = hide(said)
        if shown != said:
            changed[name] = shown

    if hide(reply.also) != reply.also:
        # Text by text: digits of a password may stand in a number too.
        also = with_texts(json.loads(reply.also), hide)
        changed["also"] = json.dumps(also, ensure_ascii=False, separators=(",", ":"))

    return replace(reply, **changed) if changed else reply


def _served(reply: Reply, replica: Replica) -> Reply:
    """Return the reply with the server that gave it: evidence, though no part of the key."""
    server = f'{{"server":{orjson.dumps(replica.url).decode()}'
    return replace(reply, also=f"{server},{reply.also[1:]}" if reply.also else server + "}")
