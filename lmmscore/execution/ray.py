"""The Ray executor: the same sessions on many machines.

One player per node leads many sessions with asyncio, by default against the server on its own node,
so that pictures do not cross the network. One keeper, on the machine where the run was started,
owns the ledger, the budget and the pace: an answer is on disk there before its session continues.
What a dead player was doing is done again by another, and nothing that is on record is asked again.

Errors that cross between processes do so as values: Ray would wrap what is raised.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import socket
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, runtime_checkable
from typing import Protocol as Interface

from lmmscore.conversation import Conversation
from lmmscore.errors import (
    FatalJudgeError,
    ImageProblem,
    JudgeError,
    LedgerError,
    LmmscoreError,
    NotRecorded,
)
from lmmscore.execution.executor import (
    Executor,
    Job,
    StopRequested,
    engine,
    play_unit,
)
from lmmscore.images import Picture, Pictures, Recipe
from lmmscore.judges.config import JudgeOptions
from lmmscore.judges.judge import (
    CLAIM_POLL_S,
    Heard,
    Judge,
    KnownAnswers,
    Recorded,
    Silent,
    kind_of,
    open_judge,
    spending_of,
)
from lmmscore.judges.limits import Budget, Clock, Gate, Pace, Reservation, Spending
from lmmscore.ledger import Asker, Envelope, Ledger, key_of
from lmmscore.options import MACHINES, declared, option
from lmmscore.plan import Protocol, Unit
from lmmscore.records import Reply
from lmmscore.scores import Result
from lmmscore.session import Played

T = TypeVar("T")

_OWNED = ("rpm", "tpm", "budget_usd")
"""Limits that hold for all players together, so that the keeper applies them."""
CONNECT_S = 5.0
"""How long a cluster may take to be found at its address."""


def _ray() -> Any:
    """Return the package; imported when it is needed, for that takes seconds."""
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise LmmscoreError(
            "Ray is not installed, and --engine ray needs it: `pip install 'lmmscore[ray]'`, or "
            "leave out --engine to run in this process"
        ) from error

    return ray


def _on_node(node: str, *, soft: bool) -> Any:
    """Return where an actor is to live; `soft` allows another node if this one is gone."""
    strategies = _ray().util.scheduling_strategies
    return strategies.NodeAffinitySchedulingStrategy(node, soft=soft)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the keeper holds all players to."""

    rpm: float | None = None
    tpm: float | None = None
    budget_usd: float | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Limits:
        """Return the limits among a judge's options."""
        return cls(**{name: options.get(name) for name in _OWNED})


@dataclass(frozen=True, slots=True)
class Seat:
    """How a player opens a judge or a reader, and under which name its answers are on record.

    The name comes with all its options: judges.yaml exists only where the run was started.
    """

    judge: str | Judge
    options: Mapping[str, Any]
    asker: Asker

    @classmethod
    def of(cls, recorded: Recorded, spec: str | None, options: Mapping[str, Any]) -> Seat:
        """Return the seat of a judge, or of a reader. Raises where players could not open it."""
        if isinstance(recorded.judge, Silent):
            return cls(recorded.judge, {}, recorded.asker)
        if spec is None:
            raise LmmscoreError("--engine ray needs judge and reader by name, not as objects")

        configure = kind_of(spec).configure
        if configure is None:
            return cls(spec, options, recorded.asker)

        named = configure(spec, options)
        known = {each.name: getattr(named.options, each.name) for each in declared(JudgeOptions)}
        del known["judge_name"]
        return cls(f"openai/{named.spec}", known, recorded.asker)

    def without(self, *owned: str) -> Seat:
        """Return the seat without options that the keeper applies."""
        left = {name: value for name, value in self.options.items() if name not in owned}
        return replace(self, options=left)


@dataclass(frozen=True, slots=True)
class PlayedUnit:
    """What a player did, with notices for the user."""

    played: list[Played]
    notices: list[str]


@dataclass(frozen=True, slots=True)
class ReplyOnRecord:
    """A reply that is on record."""

    reply: Reply
    key: str
    here: bool
    """Whether it is in the run's own ledger; if not, it still has to be written there."""


class Keeper:
    """Owns the ledger, the budget and the pace. Its methods are called from every node."""

    def __init__(
        self,
        ledger: Path,
        elsewhere: Iterable[Path],
        protocol: Protocol,
        limits: Limits,
        folder: Path,
    ) -> None:
        self._ledger = Ledger(ledger)
        self._elsewhere = [Ledger(path, read_only=True) for path in elsewhere]
        self._protocol = protocol
        self._under_way: dict[str, tuple[asyncio.Event, int]] = {}
        """What is being asked, and by which life of a player."""
        self._lives: dict[int, int] = {}
        """The process that each player now is: a number of its own for every start."""
        self._over: set[int] = set()
        """Lives that another process goes on with."""
        self._limits = limits
        self._pace: Pace | None = None
        self._spending = spending_of(folder, ledger)
        self._budget: Budget | None = None
        self._numbers = itertools.count(1)
        self._set_aside: dict[int, tuple[int, Reservation]] = {}
        """Money in flight: by ticket, whose life it is of and how much."""
        self._stopping: JudgeError | None = None

    def protocol(self) -> Protocol:
        """Return what is played."""
        return self._protocol

    def askers(self, asker: Asker) -> tuple[Asker, ...]:
        """Return a judge by every name under which its answers may be on record."""
        return KnownAnswers(self._ledger, asker).askers

    def begin(self, player: int) -> int:
        """Return a life for a player; let others ask what it was asking in the one before.

        What it had set aside counts as spent: the server may have charged for what was in flight.
        """
        life, former = next(self._numbers), self._lives.get(player)
        self._lives[player] = life
        if former is None:
            return life

        self._over.add(former)
        for key, (_, owner) in list(self._under_way.items()):
            if owner == former:
                self.release(key)

        for ticket, (owner, reservation) in list(self._set_aside.items()):
            if owner == former:
                self.settle(ticket, reservation.usd, assumed=True)

        return life

    async def _alive(self, life: int) -> None:
        """Hold up a process whose work another does now, until it notices that its node is gone.

        What it claimed after that would stay claimed, and be asked twice.
        """
        if life in self._over:
            await asyncio.Event().wait()

    async def find(self, keys: list[str], life: int) -> ReplyOnRecord | JudgeError | None:
        """Return the answer on record, waiting for one under way; None if the caller is to ask.

        A new answer is recorded under the first key. It is claimed in the ledger too, which
        another run may share.
        """
        key = keys[0]
        while True:
            await self._alive(life)
            under_way = self._under_way.get(key)
            if under_way is not None:
                await under_way[0].wait()
                continue

            try:
                found = self._recorded(keys) or self._claimed(keys)
            except LedgerError as error:
                return NotRecorded(str(error))

            if isinstance(found, ReplyOnRecord):
                return found
            if found:
                self._under_way[key] = (asyncio.Event(), life)
                return None
            if self._stopping is not None:
                return self._stopping

            await asyncio.sleep(CLAIM_POLL_S)

    def _claimed(self, keys: list[str]) -> ReplyOnRecord | bool:
        """Claim a question; return its answer if another run has recorded it just before."""
        if not self._ledger.claim(keys[0]):
            return False

        found = self._recorded(keys)
        if found is None:
            return True

        self._ledger.release(keys[0])
        return found

    def _recorded(self, keys: list[str]) -> ReplyOnRecord | None:
        """Return the answer under any of the keys; None where no ledger has one."""
        for ledger in (self._ledger, *self._elsewhere):
            for key in keys:
                reply = ledger.find(key)
                if reply is not None:
                    return ReplyOnRecord(reply, key, here=ledger is self._ledger)

        return None

    def knows(self, keys: list[str]) -> bool | JudgeError:
        """Tell whether an answer is on record, without claiming the question."""
        try:
            return self._recorded(keys) is not None
        except LedgerError as error:
            return NotRecorded(str(error))

    async def record(self, asker: Asker, envelope: Envelope, reply: Reply) -> Reply | JudgeError:
        """Record an answer and return the one that stands."""
        done = self._ledger.record_envelope(asker, envelope, reply)
        try:
            return await asyncio.wrap_future(done)
        except LmmscoreError as error:
            return NotRecorded(str(error))
        finally:
            self.release(envelope.key)

    def release(self, key: str) -> None:
        """Let others ask, in this run or another."""
        self._ledger.release(key)
        under_way = self._under_way.pop(key, None)
        if under_way is not None:
            under_way[0].set()

    async def admit(self, tokens: float) -> None:
        """Wait for the pace that holds for all players together."""
        limits = self._limits
        if limits.rpm is None and limits.tpm is None:
            return

        if self._pace is None:
            self._pace = Pace(Clock(), rpm=limits.rpm, tpm=limits.tpm, most=None)
            if self._stopping is not None:
                self._pace.open()

        await self._pace.admit(tokens, under_way=True)
        # How many are in flight is each player's own affair.
        self._pace.leave()

    def count_tokens(self, more: float) -> None:
        """Count what a question took beyond the tokens that it was admitted with."""
        if self._pace is not None:
            # Without headers: a server's quota is known to the player that it answered.
            self._pace.answered({}, sent_s=0.0, estimated=-more, tokens=0)

    async def reserve(self, life: int, usd: float) -> int | JudgeError:
        """Set money aside for a question and return a ticket for it."""
        await self._alive(life)
        if self._stopping is not None:
            return self._stopping

        try:
            reservation = await self._kept_budget().reserve(lambda: usd)
        except JudgeError as error:
            return error

        ticket = next(self._numbers)
        self._set_aside[ticket] = (life, reservation)
        return ticket

    def settle(self, ticket: int, usd: float, assumed: bool) -> None:
        """Release the reservation of a ticket, and book what the question cost."""
        _, reservation = self._set_aside.pop(ticket)
        self._kept_budget().settle(reservation, usd, assumed=assumed)

    def _kept_budget(self) -> Budget:
        # Created here, on the event loop that it waits on.
        if self._budget is None:
            self._budget = Budget(self._limits.budget_usd)
            self._budget.keep(self._spending)
        return self._budget

    def stop(self, says: str) -> None:
        """Let everyone through: whoever waits is about to learn that the run has stopped."""
        self._stopping = StopRequested(says)
        if self._pace is not None:
            self._pace.open()

    def file(self, path: str) -> bytes | None:
        """Return a picture's file, for a node that does not share this machine's storage."""
        try:
            return Path(path).read_bytes()
        except OSError:
            return None

    def close(self) -> None:
        """Write what is pending and close the files."""
        self._ledger.close()
        self._spending.close()
        for ledger in self._elsewhere:
            ledger.close()


@runtime_checkable
class SharingJudge(Interface):
    """A judge that can keep within limits which several processes keep together."""

    def share(self, budget: Budget, gate: Gate) -> None:
        """Take money and turns from these."""


class SharedBudget(Budget):
    """The keeper's budget, as a player's judge sees it."""

    def __init__(self, keeper: Any, life: int, limits: Limits) -> None:
        super().__init__(limits.budget_usd)
        self._keeper = keeper
        self._life = life
        self._tickets: dict[int, int] = {}
        """The keeper's tickets by the identity of a reservation, since equal amounts are not the
        same money. The judge holds each until it is settled, so that no other gets its identity.
        """

    def keep(self, book: Spending) -> None:
        """The keeper has the book."""

    async def reserve(self, most_usd: Callable[[], float]) -> Reservation:
        """Set money aside at the keeper. Raises BudgetExhausted."""
        usd = most_usd() if self.cap_usd is not None else 0.0
        ticket = await _value(self._keeper.reserve.remote(self._life, usd))
        reservation = Reservation(usd)
        self._tickets[id(reservation)] = ticket
        return reservation

    def settle(self, reservation: Reservation, usd: float, *, assumed: bool = False) -> None:
        """Tell the keeper what it cost."""
        self._keeper.settle.remote(self._tickets.pop(id(reservation)), usd, assumed)
        self.spent_usd += usd

    def charge(self, usd: float, *, assumed: bool = False) -> None:
        """Players spend nothing without a reservation."""
        raise NotImplementedError("players ask, and ask only what money was set aside for")


class SharedGate:
    """The keeper's pace, as a player's judge sees it."""

    def __init__(self, keeper: Any, limits: Limits) -> None:
        self._keeper = keeper
        self._counts = limits.rpm is not None or limits.tpm is not None
        self.counts_tokens = limits.tpm is not None

    async def admit(self, tokens: float) -> None:
        """Wait for a question's turn among those of all players."""
        if self._counts:
            await self._keeper.admit.remote(tokens)

    def settle(self, more: float) -> None:
        """Tell the keeper what a question took beyond the tokens it was admitted with."""
        if self.counts_tokens:
            self._keeper.count_tokens.remote(more)


class NodePictures(Pictures):
    """Pictures by content: from shared storage where there is any, else from the keeper."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        self._folder = Path(tempfile.mkdtemp(prefix="lmmscore-"))
        self._copies: dict[Path, Path] = {}

    async def fetch(self, paths: Iterable[Path], keeper: Any) -> None:
        """Copy the pictures that this node lacks."""
        for path in paths:
            if path.is_file() or path in self._copies:
                continue

            content = await keeper.file.remote(str(path))
            if content is None:
                # Reported when the picture is opened, with the name of this node.
                continue

            copy = self._folder / f"{len(self._copies)}{path.suffix}"
            copy.write_bytes(content)
            self._copies[path] = copy

    def get(self, path: Path) -> Picture:
        """Return the picture, wherever its file lies on this node."""
        try:
            return super().get(self._copies.get(path, path))
        except ImageProblem as error:
            raise ImageProblem(f"node {_node()}: {error}") from error

    def close(self) -> None:
        """Remove the copies."""
        shutil.rmtree(self._folder, ignore_errors=True)


class RemoteRecord:
    """A judge on this node whose every reply is in the keeper's ledger before anyone sees it."""

    def __init__(self, judge: Any, askers: tuple[Asker, ...], keeper: Any, life: int) -> None:
        self.judge = judge
        self._askers = askers
        self._keeper = keeper
        self._life = life
        self.stopping: JudgeError | None = None

    async def ask(self, conversation: Conversation, repeat: int) -> Heard:
        """Return the recorded reply, or ask for one and have it recorded first."""
        keys = self._keys(conversation, repeat)
        found: ReplyOnRecord | None
        found = await _value(self._keeper.find.remote(keys, self._life))
        if found is not None and found.here:
            return Heard(found.reply, recalled=True, key=found.key)
        if found is not None:
            return await self._record(conversation, repeat, found.reply, recalled=True)

        try:
            if self.stopping is not None:
                raise self.stopping
            reply = await self.judge.ask(conversation)
        except BaseException:
            # Cancelled or failed: another player may ask.
            await self._keeper.release.remote(keys[0])
            raise

        return await self._record(conversation, repeat, reply, recalled=False)

    async def knows(self, conversation: Conversation, repeat: int) -> bool:
        """Tell whether a reply is on record."""
        found: bool = await _value(self._keeper.knows.remote(self._keys(conversation, repeat)))
        return found

    def _keys(self, conversation: Conversation, repeat: int) -> list[str]:
        return [key_of(asker, conversation, repeat) for asker in self._askers]

    async def _record(
        self, conversation: Conversation, repeat: int, reply: Reply, *, recalled: bool
    ) -> Heard:
        """Have the keeper record an answer; return the one that stands. Raises NotRecorded."""
        envelope = Envelope.of(self._askers[0], conversation, repeat)
        standing = await _value(self._keeper.record.remote(self._askers[0], envelope, reply))
        return Heard(standing, recalled=recalled, key=envelope.key)


async def _value(answer: Awaitable[T | JudgeError]) -> T:
    """Return the keeper's answer; raise it if it is an error."""
    value = await answer
    if isinstance(value, JudgeError):
        raise value
    return value


def _node() -> str:
    return os.uname().nodename


class NodeFailed(FatalJudgeError):
    """A node cannot do its part, for a reason that is not the judge's."""


class Player:
    """Leads many sessions on one node.

    The judge is opened here, from its name: `localhost` in an address is this node, and a key is
    looked for in the environment of this node.
    """

    def __init__(
        self,
        judge: Seat,
        reader: Seat | None,
        limits: Limits,
        recipe: Recipe,
        keeper: Any,
        number: int,
    ) -> None:
        self._seats = (judge, reader) if reader is not None else (judge,)
        self._limits = limits
        self._pictures = NodePictures(recipe)
        self._keeper = keeper
        self._number = number
        self._opening = asyncio.Lock()
        self._protocol: Protocol | None = None
        self._asked: list[RemoteRecord] = []
        """The judge and, where another reads what cannot be read, the reader."""
        self._heard: Counter[int] = Counter()
        """How many notices of each were passed on."""
        self._stopping: JudgeError | None = None

    async def play(self, unit: Unit) -> PlayedUnit | JudgeError:
        """Play a unit; return an error that must stop the whole run instead of raising it."""
        try:
            protocol = await self._opened()
            judge, reader = self._asked[0], self._asked[-1]
            paths = [*unit.item.images.values(), *unit.item.edits.values()]
            await self._pictures.fetch(paths, self._keeper)
            played = await play_unit(unit, protocol, judge, self._pictures, reader=reader)
        except JudgeError as error:
            return error
        except (LmmscoreError, OSError) as error:
            return NodeFailed(f"node {_node()}: {error}")

        return PlayedUnit(played, self._news())

    def _news(self) -> list[str]:
        """Return what judge and reader noticed since this was last asked."""
        found: list[str] = []
        for number, asked in enumerate(self._asked):
            notices = asked.judge.meter.notices if asked.judge.meter is not None else []
            found += [f"node {_node()}: {text}" for text in notices[self._heard[number] :]]
            self._heard[number] = len(notices)
        return found

    async def _opened(self) -> Protocol:
        """Return what is played; judge and reader are opened at this player's first unit."""
        async with self._opening:
            if self._protocol is None:
                # After a restart, what the previous process was asking is nobody's any more.
                life = await self._keeper.begin.remote(self._number)
                self._asked = [await self._open(seat, life) for seat in self._seats]
                self._protocol = await self._keeper.protocol.remote()

            return self._protocol

    async def _open(self, seat: Seat, life: int) -> RemoteRecord:
        """Open a judge on this node, with the budget and the pace shared by all players."""
        judge = open_judge(seat.judge, seat.options).judge
        if isinstance(judge, SharingJudge):
            # The pace is the judge's alone; the budget covers the reader too.
            limits = self._limits if seat is self._seats[0] else Limits()
            budget = SharedBudget(self._keeper, life, self._limits)
            judge.share(budget, SharedGate(self._keeper, limits))

        askers = await self._keeper.askers.remote(seat.asker)
        record = RemoteRecord(judge, askers, self._keeper, life)
        record.stopping = self._stopping
        return record

    async def pid(self) -> int:
        """Return this player's process."""
        return os.getpid()

    async def stop(self, says: str) -> None:
        """Ask nothing new from now on; whatever only waits gives up."""
        self._stopping = StopRequested(says)
        for asked in self._asked:
            asked.stopping = self._stopping
            asked.judge.stop(self._stopping)

    async def close(self) -> None:
        """Let go of connections and copies."""
        self._pictures.close()
        for asked in self._asked:
            await asked.judge.close()


@dataclass(frozen=True, slots=True)
class RayOptions:
    """The options of this engine."""

    ray_address: str | None = option(
        None, "With --engine ray: the cluster, such as auto.", flag="--ray-address", group=MACHINES
    )
    ray_players: int | None = option(
        None,
        "With --engine ray: how many players  [default: one per node]",
        flag="--ray-players",
        group=MACHINES,
        at_least=1,
    )


@engine("ray")
class RayExecutor(Executor):
    """Plays units on the nodes of a Ray cluster."""

    options = RayOptions

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        judge = Seat.of(job.judge, job.judge_spec, job.judge_options)
        self._limits = Limits.of(judge.options)
        self._judge = judge.without(*_OWNED)
        self._reader = None
        if job.reader is not None:
            self._reader = Seat.of(job.reader, job.reader_spec, {})

        self._keeper: Any = None
        self._players: list[Any] = []
        self._load: dict[int, int] = {}
        """How many units each player has."""
        options: RayOptions = job.engine_options
        self._ray = _ray()
        self._own = not self._ray.is_initialized()
        if self._own:
            _connect(options.ray_address)

        self._nodes = [node for node in self._ray.nodes() if node["Alive"]]
        self._count = options.ray_players or len(self._nodes)

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new from now on, on any node; what is in flight is finished and recorded."""
        if self.error is None:
            super().stop(error)
            for actor in (*self._players, self._keeper):
                if actor is not None:
                    actor.stop.remote(str(error))

    async def run(self, units: Iterable[Unit], sink: Callable[[Result], None]) -> None:
        """Hand units to whichever player has room; results leave in the order of the plan."""
        self._keeper = self._start_keeper()
        self._players = self._start_players(self._keeper)
        self._load = dict.fromkeys(range(len(self._players)), 0)
        try:
            at_once = max(1, self._job.concurrency) * len(self._players)
            await self._play_in_order(self._play, units, sink, at_once)
        finally:
            await self._end_actors()

    async def close(self) -> None:
        """Leave the cluster, where it was joined here."""
        if self._own:
            self._ray.shutdown()

    async def _end_actors(self) -> None:
        """End the keeper and the players, after they have written what is pending."""
        actors = (*self._players, self._keeper)
        closing = [asyncio.ensure_future(_quietly(actor.close.remote())) for actor in actors]
        await asyncio.wait(closing, timeout=CLOSE_S)
        for actor in actors:
            self._ray.kill(actor)

        self._players = []
        self._keeper = None

    def _start_keeper(self) -> Any:
        """Start the keeper on this very node: the ledger's file is here."""
        here = self._ray.get_runtime_context().get_node_id()
        where = _on_node(here, soft=False)
        asked = [each for each in (self._job.judge, self._job.reader) if each is not None]
        elsewhere = {each.elsewhere.path.absolute() for each in asked if each.elsewhere is not None}
        remote = self._ray.remote(num_cpus=0, max_concurrency=10_000, scheduling_strategy=where)
        actor = remote(Keeper)
        return actor.remote(
            self._job.judge.ledger.path.absolute(),
            sorted(elsewhere),
            self._job.protocol,
            self._limits,
            self._job.folder.absolute(),
        )

    def _start_players(self, keeper: Any) -> list[Any]:
        """Start the players, in turn on every node."""
        recipe = self._job.pictures.recipe
        players = []
        for number in range(self._count):
            node = self._nodes[number % len(self._nodes)]["NodeID"]
            # Soft: when its node dies, a player begins again on another and its sessions with it.
            where = _on_node(node, soft=True)
            actor = self._ray.remote(
                # A player waits for servers: it takes no processor from the models beside it.
                num_cpus=0,
                max_concurrency=10_000,
                max_restarts=-1,
                # Any number would be used up before a killed node is noticed.
                max_task_retries=-1,
                scheduling_strategy=where,
            )(Player)
            players.append(
                actor.remote(self._judge, self._reader, self._limits, recipe, keeper, number)
            )

        return players

    async def _play(self, unit: Unit) -> Result | None:
        """Have the least busy player play a unit; None where the run was stopped before."""
        if not unit.shown:
            return self._finish(unit, [])

        number = min(self._load, key=self._load.__getitem__)
        self._load[number] += 1
        try:
            played = await self._players[number].play.remote(unit)
        except self._ray.exceptions.RayError as error:
            self.stop(NodeFailed(f"Ray: {str(error).strip().splitlines()[-1]}"))
            return None
        finally:
            self._load[number] -= 1

        if isinstance(played, JudgeError):
            self.stop(played)
            return None

        # With the item as it is here: the paths of another node are no part of the result.
        finished = [
            replace(each, session=replace(each.session, item=unit.item)) for each in played.played
        ]
        for each in finished:
            self._count_exchanges(each)

        self._pass_on(played.notices)
        return self._finish(unit, finished)

    def _count_exchanges(self, played: Played) -> None:
        """Count what the players did as if it had been done here."""
        meter = self._job.judge.judge.meter
        for exchange in played.exchanges:
            if meter is not None and not exchange.recalled:
                meter.count(exchange.reply.usage)
                meter.cost_usd += exchange.reply.cost_usd or 0.0
                meter.models.update(filter(None, [exchange.reply.model]))

            self._job.listeners.on_exchange(exchange)

    def _pass_on(self, notices: list[str]) -> None:
        """Show what players noticed, and how many units are under way."""
        meter = self._job.judge.judge.meter
        if meter is not None:
            meter.in_flight = sum(self._load.values())
            for text in notices:
                meter.notice(text)


CLOSE_S = 10.0
"""How long an actor may take to close its files before it is ended."""


async def _quietly(closing: Awaitable[object]) -> None:
    """Wait for an actor to close; one that is dead has nothing to close."""
    try:
        await closing
    except _ray().exceptions.RayError:
        return


def _connect(address: str | None) -> None:
    """Join the cluster; without an address, the one that runs here, or a new one."""
    if address and address.startswith("ray://"):
        raise LmmscoreError(
            f"--ray-address {address}: a Ray client has no node for the ledger; run the command on "
            "a node of the cluster, with --ray-address auto"
        )

    try:
        _knock_at(address or os.environ.get("RAY_ADDRESS", ""))
        _ray().init(address=address, log_to_driver=False, configure_logging=False)
    except (OSError, RuntimeError, ValueError) as error:
        says = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise LmmscoreError(
            f"--ray-address {address or '(none)'}: no Ray cluster could be joined ({says}); "
            "start one with `ray start --head`, or correct the address; docs/scale.md says more"
        ) from error


def _knock_at(address: str) -> None:
    """Raise OSError where nothing listens at HOST:PORT: Ray itself would try for many minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
