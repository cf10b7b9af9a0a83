"""The Ray executor: the same sessions on many machines.

One player per node leads many sessions with asyncio, by default against the server on its own node,
so that pictures do not cross the network. One keeper, on the machine where the run was started,
owns the ledger, the budget and the pace: an answer is on disk there before its session goes on.
What a dead player was doing is done again by another, and nothing that is on record is asked again.

Errors that cross between processes do so as values: Ray would wrap what is raised.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from lmmscore.conversation import Conversation
from lmmscore.errors import ImageProblem, JudgeError, LmmscoreError, NotRecorded
from lmmscore.execution.base import FailureWatch, Job, OrderedTasks, StopRequested, engine
from lmmscore.execution.local import play
from lmmscore.images import Picture, Pictures, Recipe
from lmmscore.judges.budget import Budget, Reservation, Spending
from lmmscore.judges.judge import Heard, KnownAnswers, open_judge, spending_of
from lmmscore.judges.limits import Pace, RealClock
from lmmscore.ledger import Asker, Envelope, Ledger, key_of
from lmmscore.options import MACHINES, option
from lmmscore.plan import Protocol, Unit
from lmmscore.records import Reply
from lmmscore.scores import Result, result_of, settled
from lmmscore.session import Played

T = TypeVar("T")

_OWNED = ("budget_usd", "spent_usd", "rpm", "tpm")
"""What holds for all players together, and is therefore the keeper's."""


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
    """Return where an actor is to live; softly, elsewhere too, when the node is gone."""
    strategies = _ray().util.scheduling_strategies
    return strategies.NodeAffinitySchedulingStrategy(node, soft=soft)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the keeper holds all players to."""

    rpm: float | None = None
    tpm: float | None = None
    budget_usd: float | None = None
    spent_usd: float = 0.0

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Limits:
        """Return the limits among a judge's options."""
        return cls(**{name: options[name] for name in _OWNED if options.get(name) is not None})


@dataclass(frozen=True, slots=True)
class ReplyOnRecord:
    """A reply that is on record."""

    reply: Reply
    key: str
    here: bool
    """Whether it is in the run's own ledger; if not, it still has to be written there."""


class Keeper:
    """Owns what there is only one of. Its methods are called from every node."""

    def __init__(
        self, ledger: Path, elsewhere: Path | None, asker: Asker, limits: Limits, folder: Path
    ) -> None:
        self._ledger = Ledger(ledger)
        self._elsewhere = Ledger(elsewhere, read_only=True) if elsewhere else None
        self._asker = asker
        self._under_way: dict[str, tuple[asyncio.Event, int]] = {}
        """What is being asked, and by which player."""
        self._limits = limits
        self._pace: Pace | None = None
        self._spending = spending_of(folder, ledger)
        self._budget: Budget | None = None
        self._tickets = itertools.count(1)
        self._set_aside: dict[int, tuple[int, Reservation]] = {}
        """Money in flight: by ticket, whose it is and how much."""
        self._stopping: JudgeError | None = None

    def askers(self) -> tuple[Asker, ...]:
        """Return the judge by every name under which its answers may be on record."""
        return KnownAnswers(self._ledger, self._asker).askers

    def begin(self, player: int) -> None:
        """Let others ask what a player was asking that died and now begins again.

        What it had set aside counts as spent: the server may have charged for what was in flight.
        """
        for key, (_, owner) in list(self._under_way.items()):
            if owner == player:
                self.release(key)

        for ticket, (owner, reservation) in list(self._set_aside.items()):
            if owner == player:
                self.settle(ticket, reservation.usd, assumed=True)

    async def find(self, keys: list[str], player: int) -> ReplyOnRecord | None:
        """Return the answer on record, waiting for one that is under way; None: the caller asks.

        The first key is the one a new answer is recorded under.
        """
        key = keys[0]
        while True:
            found = self._recorded(keys)
            if found is not None:
                return found
            under_way = self._under_way.get(key)
            if under_way is None:
                self._under_way[key] = (asyncio.Event(), player)
                return None
            await under_way[0].wait()

    def _recorded(self, keys: list[str]) -> ReplyOnRecord | None:
        ledgers = [self._ledger]
        if self._elsewhere is not None:
            ledgers.append(self._elsewhere)

        for ledger in ledgers:
            for key in keys:
                reply = ledger.find(key)
                if reply is not None:
                    return ReplyOnRecord(reply, key, here=ledger is self._ledger)

        return None

    async def record(self, envelope: Envelope, reply: Reply) -> Reply | JudgeError:
        """Write an answer down and return the one that stands."""
        done = self._ledger.record_envelope(self._asker, envelope, reply)
        try:
            return await asyncio.wrap_future(done)
        except LmmscoreError as error:
            return NotRecorded(str(error))
        finally:
            self.release(envelope.key)

    def release(self, key: str) -> None:
        """Let others ask: whoever was to ask could not."""
        under_way = self._under_way.pop(key, None)
        if under_way is not None:
            under_way[0].set()

    async def admit(self, tokens: float) -> None:
        """Wait for the pace that holds for all players together."""
        limits = self._limits
        if limits.rpm is None and limits.tpm is None:
            return
        if self._pace is None:
            self._pace = Pace(RealClock(), rpm=limits.rpm, tpm=limits.tpm, most=None)
            if self._stopping is not None:
                self._pace.open()
        await self._pace.admit(tokens, under_way=True)
        # How many are in flight is each player's own affair.
        self._pace.leave()

    async def reserve(self, player: int, usd: float) -> int | JudgeError:
        """Set money aside for a question and return a ticket for it."""
        if self._stopping is not None:
            return self._stopping
        try:
            reservation = await self._purse().reserve(lambda: usd)
        except JudgeError as error:
            return error
        ticket = next(self._tickets)
        self._set_aside[ticket] = (player, reservation)
        return ticket

    def settle(self, ticket: int, usd: float, assumed: bool) -> None:
        """Give back what a ticket stands for, and book what the question cost."""
        _, reservation = self._set_aside.pop(ticket)
        self._purse().settle(reservation, usd, assumed=assumed)

    def _purse(self) -> Budget:
        # Made here, on the event loop that its waits belong to.
        if self._budget is None:
            self._budget = Budget(self._limits.budget_usd, self._limits.spent_usd)
            self._budget.keep(self._spending)
        return self._budget

    def stop(self, says: str) -> None:
        """Hold nobody up any longer: whoever waits is about to learn that the run has stopped."""
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
        if self._elsewhere is not None:
            self._elsewhere.close()


class SharedPurse:
    """The keeper's budget, as a player's judge sees it."""

    def __init__(self, keeper: Any, player: int, limits: Limits) -> None:
        self._keeper = keeper
        self._player = player
        self._tickets: dict[int, int] = {}
        self.cap_usd = limits.budget_usd
        self.spent_usd = 0.0
        self.assumed_usd = 0.0

    def keep(self, book: Spending) -> None:
        """The keeper has the book."""

    async def reserve(self, most_usd: Callable[[], float]) -> Reservation:
        """Set money aside at the keeper. Raises BudgetExhausted."""
        usd = most_usd() if self.cap_usd is not None else 0.0
        ticket = await _value(self._keeper.reserve.remote(self._player, usd))
        reservation = Reservation(usd)
        self._tickets[id(reservation)] = ticket
        return reservation

    def settle(self, reservation: Reservation, usd: float, *, assumed: bool = False) -> None:
        """Tell the keeper what it cost."""
        self._keeper.settle.remote(self._tickets.pop(id(reservation)), usd, assumed)
        self.spent_usd += usd

    def charge(self, usd: float, *, assumed: bool = False) -> None:
        """Nothing is spent here without being set aside first."""
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


class NodePictures(Pictures):
    """Pictures by content: from shared storage where there is any, else from the keeper."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        self._folder = Path(tempfile.mkdtemp(prefix="lmmscore-"))
        self._copies: dict[Path, Path] = {}

    async def fetch(self, paths: Iterable[Path], keeper: Any) -> None:
        """Bring what this node lacks."""
        for path in paths:
            if path.is_file() or path in self._copies:
                continue
            content = await keeper.file.remote(str(path))
            if content is None:
                # Said when the picture is opened, with the name of this node.
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

    def __init__(self, judge: Any, askers: tuple[Asker, ...], keeper: Any, player: int) -> None:
        self.judge = judge
        self._askers = askers
        self._keeper = keeper
        self._player = player
        self.stopping: JudgeError | None = None

    async def ask(self, conversation: Conversation, repeat: int) -> Heard:
        """Return the recorded reply, or ask for one and have it recorded first."""
        keys = [key_of(asker, conversation, repeat) for asker in self._askers]
        found: ReplyOnRecord | None = await self._keeper.find.remote(keys, self._player)
        if found is not None and found.here:
            return Heard(found.reply, recalled=True, key=found.key)
        if found is not None:
            return await self._record(conversation, repeat, found.reply, recalled=True)
        try:
            if self.stopping is not None:
                raise self.stopping
            reply = await self.judge.ask(conversation)
        except BaseException:
            await self._keeper.release.remote(keys[0])
            raise
        return await self._record(conversation, repeat, reply, recalled=False)

    async def _record(
        self, conversation: Conversation, repeat: int, reply: Reply, *, recalled: bool
    ) -> Heard:
        envelope = Envelope.of(self._askers[0], conversation, repeat)
        standing = await _value(self._keeper.record.remote(envelope, reply))
        return Heard(standing, recalled=recalled, key=envelope.key)


async def _value(answer: Awaitable[T | JudgeError]) -> T:
    """Return what the keeper answered; raise an error that it answered with."""
    value = await answer
    if isinstance(value, JudgeError):
        raise value
    return value


def _node() -> str:
    return os.uname().nodename


class NodeFailed(JudgeError):
    """A node cannot do its part, for a reason that is not the judge's."""

    scope = "run"


class Player:
    """Leads many sessions on one node.

    The judge is opened here, from its name: `localhost` in an address is this node, and a key is
    looked for in the environment of this node.
    """

    def __init__(
        self,
        spec: str,
        options: Mapping[str, Any],
        protocol: Protocol,
        recipe: Recipe,
        keeper: Any,
        number: int,
    ) -> None:
        self._spec = spec
        self._options = {name: value for name, value in options.items() if name not in _OWNED}
        self._limits = Limits.of(options)
        self._protocol = protocol
        self._pictures = NodePictures(recipe)
        self._keeper = keeper
        self._number = number
        self._opening = asyncio.Lock()
        self._judge: RemoteRecord | None = None
        self._stopping: JudgeError | None = None

    async def play(self, unit: Unit) -> list[Played] | JudgeError:
        """Play a unit; return an error that must stop the whole run instead of raising it."""
        played: list[Played] = []
        try:
            judge = await self._opened()
            paths = [*unit.item.images.values(), *unit.item.edits.values()]
            await self._pictures.fetch(paths, self._keeper)
            for session in self._protocol.sessions(unit):
                played.append(await play(session, judge, self._pictures))
                if settled(self._protocol, played[-1]):
                    break
        except JudgeError as error:
            return error
        except (LmmscoreError, OSError) as error:
            return NodeFailed(f"node {_node()}: {error}")
        return played

    async def _opened(self) -> RemoteRecord:
        """Return the judge, opened at the first question of this player's life."""
        async with self._opening:
            if self._judge is None:
                # After a death this is a new life: what the old one was asking is nobody's any
                # more.
                await self._keeper.begin.remote(self._number)
                judge = open_judge(self._spec, self._options).judge
                if hasattr(judge, "share"):
                    purse = SharedPurse(self._keeper, self._number, self._limits)
                    judge.share(purse, SharedGate(self._keeper, self._limits))
                askers = await self._keeper.askers.remote()
                self._judge = RemoteRecord(judge, askers, self._keeper, self._number)
                self._judge.stopping = self._stopping
            return self._judge

    async def pid(self) -> int:
        """Return this player's process."""
        return os.getpid()

    async def stop(self, says: str) -> None:
        """Ask nothing new from now on; what merely waits is told so."""
        self._stopping = StopRequested(says)
        if self._judge is not None:
            self._judge.stopping = self._stopping
            self._judge.judge.stop(self._stopping)

    async def close(self) -> None:
        """Let go of connections and copies."""
        self._pictures.close()
        if self._judge is not None:
            await self._judge.judge.close()


@dataclass(frozen=True, slots=True)
class RayOptions:
    """What only this engine understands."""

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


@engine("ray", RayOptions)
class RayExecutor:
    """Plays units on the nodes of a Ray cluster."""

    def __init__(self, job: Job) -> None:
        if not isinstance(job.judge_spec, str):
            raise LmmscoreError("--engine ray needs a judge by name, not an object")
        if job.reader is not None:
            raise LmmscoreError(
                "with --engine ray replies are read by the judge itself; leave out --reader, or "
                "give --reader none"
            )
        self._job = job
        self._failures = FailureWatch()
        self.error: JudgeError | None = None
        self.waiting = ""
        self._keeper: Any = None
        self._players: list[Any] = []
        self._load: dict[int, int] = {}
        """How many units each player has."""
        self._protocol: Any = None
        options: RayOptions = job.engine_options
        self._ray = _ray()
        self._own = not self._ray.is_initialized()
        if self._own:
            _connect(options.ray_address)
        self._nodes = [node for node in self._ray.nodes() if node["Alive"]]
        self._count = options.ray_players or len(self._nodes)

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new from now on; what is in flight is finished and recorded."""
        if self.error is None:
            self.error = error
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
            tasks = OrderedTasks(self._play)
            await tasks.run(units, sink, at_once, lambda: self.error is not None)
        finally:
            await self._end_actors()

    async def close(self) -> None:
        """Leave the cluster, where it was joined here."""
        if self._own:
            self._ray.shutdown()

    async def _end_actors(self) -> None:
        actors = (*self._players, self._keeper)
        closing = [asyncio.ensure_future(_quietly(actor.close.remote())) for actor in actors]
        await asyncio.wait(closing, timeout=CLOSE_S)
        for actor in actors:
            self._ray.kill(actor)
        self._players = []
        self._keeper = None

    def _start_keeper(self) -> Any:
        here = self._ray.get_runtime_context().get_node_id()
        where = _on_node(here, soft=False)
        judge, elsewhere = self._job.judge, self._job.judge.elsewhere
        remote = self._ray.remote(num_cpus=0, max_concurrency=10_000, scheduling_strategy=where)
        actor = remote(Keeper)
        return actor.remote(
            judge.ledger.path.absolute(),
            elsewhere.path.absolute() if elsewhere is not None else None,
            judge.asker,
            Limits.of(self._job.judge_options),
            self._job.folder.absolute(),
        )

    def _start_players(self, keeper: Any) -> list[Any]:
        job = self._job
        # Kept: a player that begins again on another node needs it once more.
        self._protocol = protocol = self._ray.put(job.protocol)
        players = []
        for number in range(self._count):
            node = self._nodes[number % len(self._nodes)]["NodeID"]
            # Soft: when its node dies, a player begins again on another and its sessions with it.
            where = _on_node(node, soft=True)
            actor = self._ray.remote(
                num_cpus=0,
                max_concurrency=10_000,
                max_restarts=-1,
                # A number would be used up before a killed node is noticed.
                max_task_retries=-1,
                scheduling_strategy=where,
            )(Player)
            players.append(
                actor.remote(
                    job.judge_spec,
                    dict(job.judge_options),
                    protocol,
                    job.pictures.recipe,
                    keeper,
                    number,
                )
            )
        return players

    async def _play(self, unit: Unit) -> Result | None:
        """Have the player with most room play a unit; None where the run was stopped before."""
        job = self._job
        if not unit.shown:
            return result_of(unit, job.protocol, [])
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
        # The unit as it is here: the paths of another node are no part of the result.
        finished = [replace(each, session=replace(each.session, item=unit.item)) for each in played]
        for each in finished:
            self._count_exchanges(each)
        result = result_of(unit, job.protocol, finished)
        alike = self._failures.see(finished)
        if alike is not None:
            self.stop(alike)
        job.listeners.on_result(result)
        return result

    def _count_exchanges(self, played: Played) -> None:
        """Show what the players did as if it had been done here."""
        meter = self._job.judge.judge.meter
        for exchange in played.exchanges:
            if meter is not None and not exchange.recalled:
                meter.count(exchange.reply.usage)
                meter.cost_usd += exchange.reply.cost_usd or 0.0
                meter.models.update(filter(None, [exchange.reply.model]))
            self._job.listeners.on_exchange(exchange)


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
        _ray().init(address=address, log_to_driver=False, configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        says = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise LmmscoreError(
            f"--ray-address {address or '(none)'}: no Ray cluster could be joined ({says}); start "
            "one "
            "with `ray start --head`, or correct the address; docs/scale.md says more"
        ) from error
