"""The Ray executor: the same sessions on many machines.

One player per node leads many sessions with asyncio, by default against the server on its own node, so
that pictures do not cross the network. One keeper, on the machine where the run was started, owns the
ledger, the budget and the pace: an answer is on disk there before its session goes on. What a dead player
was doing is done again by another, and nothing that is on record is asked again.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmmscore.conversation import Conversation
from lmmscore.errors import ImageProblem, JudgeError, LmmscoreError, NotRecorded
from lmmscore.execution.base import Job, StopRequested, executors
from lmmscore.execution.local import play
from lmmscore.images import Picture, Pictures, Recipe
from lmmscore.judges.limits import Pace, RealClock
from lmmscore.judges.recorded import Heard
from lmmscore.judges.registry import open_judge
from lmmscore.ledger import Asker, Envelope, Ledger, key_of
from lmmscore.plan import Protocol, Unit
from lmmscore.records import Reply
from lmmscore.scores import Result, result_of, settled
from lmmscore.session import Played

try:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError as error:  # pragma: no cover - said by the executor
    raise LmmscoreError("--engine ray needs `pip install 'lmmscore[ray]'`") from error

_remote: Any = ray.remote
_nodes: Any = ray.nodes

RESERVED_TOKENS = 4096
"""What a question is taken to come to when the pace is kept for all players together."""

Played_or_error = list[Played] | JudgeError


class Keeper:
    """Owns what there is only one of. Its methods are called from every node."""

    def __init__(self, ledger: Path, asker: Asker, limits: Mapping[str, float | None]) -> None:
        self._ledger = Ledger(ledger)
        self._asker = asker
        self._under_way: dict[str, tuple[asyncio.Event, int]] = {}
        """What is being asked, and by which player."""
        self._pace: Pace | None = None
        self._limits = limits
        self._cap_usd = limits.get("budget_usd")
        self._spent_usd = self._ledger.cost_usd() if self._cap_usd is not None else 0.0
        self._reserved_usd = 0.0

    def begin(self, player: int) -> None:
        """Let others ask what a player was asking that died and now begins again."""
        for key, (_, owner) in list(self._under_way.items()):
            if owner == player:
                self.release(key)

    async def find(self, key: str, player: int) -> Heard | None:
        """Return the answer on record, waiting for one that is under way; None: the caller asks."""
        while True:
            reply = self._ledger.find(key)
            if reply is not None:
                return Heard(reply, recalled=True, key=key)
            under_way = self._under_way.get(key)
            if under_way is None:
                self._under_way[key] = (asyncio.Event(), player)
                return None
            await under_way[0].wait()

    async def record(self, envelope: Envelope, reply: Reply) -> Reply:
        """Write an answer down and return the one that stands."""
        done = self._ledger.record_envelope(self._asker, envelope, reply)
        try:
            standing = await asyncio.wrap_future(done)
        except LmmscoreError as error:
            raise NotRecorded(str(error)) from error
        finally:
            self.release(envelope.key)
        self._spent_usd += standing.cost_usd or 0.0
        return standing

    def release(self, key: str) -> None:
        """Let others ask: whoever was to ask could not."""
        under_way = self._under_way.pop(key, None)
        if under_way is not None:
            under_way[0].set()

    async def admit(self) -> None:
        """Wait for the pace that holds for all players together."""
        if not (self._limits.get("rpm") or self._limits.get("tpm")):
            return
        if self._pace is None:
            self._pace = Pace(
                RealClock(), rpm=self._limits.get("rpm"), tpm=self._limits.get("tpm"), most=None
            )
        await self._pace.admit(RESERVED_TOKENS, under_way=True)
        self._pace.leave()

    def reserve(self, usd: float) -> bool:
        """Set money aside for a question; False where the budget has no room for it."""
        if self._cap_usd is None:
            return True
        if self._spent_usd + self._reserved_usd + usd > self._cap_usd + 1e-9:
            return False
        self._reserved_usd += usd
        return True

    def give_back(self, usd: float) -> None:
        """Give back what was set aside."""
        if self._cap_usd is not None:
            self._reserved_usd = max(0.0, self._reserved_usd - usd)

    def file(self, path: str) -> bytes | None:
        """Return a picture's file, for a node that does not share this machine's storage."""
        try:
            return Path(path).read_bytes()
        except OSError:
            return None

    def close(self) -> None:
        """Write what is pending and close the ledger."""
        self._ledger.close()


class NodePictures(Pictures):
    """Pictures by content: from shared storage where there is any, else from the keeper's machine."""

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
            raise ImageProblem(f"node {os.uname().nodename}: {error}") from error


class RemoteRecord:
    """A judge on this node whose every reply is in the keeper's ledger before anyone sees it."""

    def __init__(
        self, judge: Any, asker: Asker, keeper: Any, player: int, reserve_usd: float
    ) -> None:
        self._player = player
        self._judge = judge
        self._asker = asker
        self._keeper = keeper
        self._reserve_usd = reserve_usd
        self.stopping: JudgeError | None = None

    async def ask(self, conversation: Conversation, repeat: int) -> Heard:
        """Return the recorded reply, or ask for one and have it recorded first."""
        key = key_of(self._asker, conversation, repeat)
        found: Heard | None = await self._keeper.find.remote(key, self._player)
        if found is not None:
            return found
        try:
            if self.stopping is not None:
                raise self.stopping
            if not await self._keeper.reserve.remote(self._reserve_usd):
                raise _NoMoney(
                    "the budget has no room for the next question; everything paid for is saved"
                )
            await self._keeper.admit.remote()
            reply = await self._judge.ask(conversation)
        except BaseException:
            await self._keeper.release.remote(key)
            raise
        finally:
            await self._keeper.give_back.remote(self._reserve_usd)
        envelope = Envelope.of(self._asker, conversation, repeat)
        standing = await self._keeper.record.remote(envelope, reply)
        return Heard(standing, recalled=False, key=key)


class _NoMoney(JudgeError):
    """The budget of all players together is used up."""

    scope = "run"


class Player:
    """Leads many sessions on one node."""

    def __init__(
        self,
        spec: str,
        options: Mapping[str, Any],
        protocol: Protocol,
        recipe: Recipe,
        keeper: Any,
        number: int,
        reserve_usd: float,
    ) -> None:
        # Money and pace are the keeper's.
        own = {k: v for k, v in options.items() if k not in ("budget_usd", "rpm", "tpm")}
        bench = open_judge(spec, own)
        judge = bench.judge
        asker = Asker.of(judge.name, judge.parameters)
        self._judge = RemoteRecord(judge, asker, keeper, number, reserve_usd)
        # After a death this is a new life: what the old one was asking is nobody's any more.
        ray.get(keeper.begin.remote(number))
        self._protocol = protocol
        self._pictures = NodePictures(recipe)
        self._keeper = keeper

    async def play(self, unit: Unit) -> Played_or_error:
        """Play a unit; return an error that must stop the whole run instead of raising it."""
        paths = [*unit.item.images.values(), *unit.item.edits.values()]
        await self._pictures.fetch(paths, self._keeper)
        played: list[Played] = []
        try:
            for session in self._protocol.sessions(unit):
                played.append(await play(session, self._judge, self._pictures))
                if settled(self._protocol, played[-1]):
                    break
        except JudgeError as error:
            return error
        return played

    def pid(self) -> int:
        """Return this player's process."""
        return os.getpid()

    def stop(self, says: str) -> None:
        """Ask nothing new from now on."""
        self._judge.stopping = StopRequested(says)


@executors.register("ray")
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
        self.error: JudgeError | None = None
        self.waiting = ""
        self._players: list[Any] = []
        self._protocol: Any = None
        options = job.engine_options
        address = options.get("ray_address")
        self._own = not ray.is_initialized()
        if self._own:
            ray.init(address=address, log_to_driver=False, configure_logging=False)
        self._nodes = [node for node in _nodes() if node["Alive"]]
        self._count = int(options.get("ray_players") or len(self._nodes))

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new from now on; what is in flight is finished and recorded."""
        if self.error is None:
            self.error = error
            for player in self._players:
                player.stop.remote(str(error))

    async def run(self, units: Iterable[Unit], sink: Callable[[Result], None]) -> None:
        """Hand units to whichever player has room, and the results to `sink` in the order of the plan."""
        keeper = self._start_keeper()
        self._players = self._start_players(keeper)
        try:
            await self._play_all(iter(units), sink)
        finally:
            ray.get(keeper.close.remote())
            for actor in (*self._players, keeper):
                ray.kill(actor)
            if self._own:
                ray.shutdown()

    def _start_keeper(self) -> Any:
        here = ray.get_runtime_context().get_node_id()
        where = NodeAffinitySchedulingStrategy(here, soft=False)
        options = self._job.judge_options
        limits = {name: options.get(name) for name in ("rpm", "tpm", "budget_usd")}
        judge = self._job.judge
        actor = _remote(num_cpus=0, max_concurrency=10_000, scheduling_strategy=where)(Keeper)
        return actor.remote(judge.ledger.path.absolute(), judge.asker, limits)

    def _start_players(self, keeper: Any) -> list[Any]:
        job = self._job
        # Kept: a player that begins again on another node needs it once more.
        self._protocol = protocol = ray.put(job.protocol)
        players = []
        for number in range(self._count):
            node = self._nodes[number % len(self._nodes)]["NodeID"]
            # Soft: when its node dies, a player begins again on another and its sessions with it.
            where = NodeAffinitySchedulingStrategy(node, soft=True)
            actor = _remote(
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
                    float(job.engine_options.get("reserve_usd") or 0.0),
                )
            )
        return players

    async def _play_all(self, units: Iterator[Unit], sink: Callable[[Result], None]) -> None:
        per_player = max(1, self._job.concurrency)
        most = per_player * len(self._players)
        waiting: deque[tuple[Unit, asyncio.Task[Result | None]]] = deque()
        active: set[asyncio.Task[Result | None]] = set()
        load = dict.fromkeys(range(len(self._players)), 0)
        exhausted = False
        while not exhausted or waiting:
            while not exhausted and len(active) < most and len(waiting) < 8 * most:
                unit = next(units, None) if self.error is None else None
                if unit is None:
                    exhausted = True
                    break
                number = min(load, key=load.__getitem__)
                load[number] += 1
                task = asyncio.create_task(self._play(unit, number, load))
                active.add(task)
                waiting.append((unit, task))
            if active:
                done, _ = await asyncio.wait(active, return_when=asyncio.FIRST_COMPLETED)
                active -= done
            while waiting and waiting[0][1].done():
                result = waiting.popleft()[1].result()
                if result is not None:
                    sink(result)

    async def _play(self, unit: Unit, number: int, load: dict[int, int]) -> Result | None:
        job = self._job
        try:
            if not unit.shown:
                return result_of(unit, job.protocol, [])
            played = await self._players[number].play.remote(unit)
        except ray.exceptions.RayError as error:
            self.stop(_RayFailed(f"Ray: {str(error).strip().splitlines()[-1]}"))
            return None
        finally:
            load[number] -= 1
        if isinstance(played, JudgeError):
            self.stop(played)
            return None
        # The unit as it is here: the paths of another node are no part of the result.
        finished = [replace(each, session=replace(each.session, item=unit.item)) for each in played]
        for each in finished:
            for exchange in each.exchanges:
                job.listeners.on_exchange(exchange)
        result = result_of(unit, job.protocol, finished)
        job.listeners.on_result(result)
        return result


class _RayFailed(JudgeError):
    """Ray itself gave up."""

    scope = "run"
