"""Against a real Ray with two nodes on one machine: kill a worker, kill a node, stop, resume."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lmmscore
from lmmscore.api import Hooks
from lmmscore.conversation import Conversation
from lmmscore.errors import BudgetExhausted, ImageProblem, LmmscoreError
from lmmscore.execution.executor import Executor, Listeners, StopRequested
from lmmscore.images import Recipe
from lmmscore.ledger import Ledger
from lmmscore.plan import load_protocol
from lmmscore.publish import publish, verify
from lmmscore.run_folder import open_run
from tests.loopback import Server, playing, serving

ray = pytest.importorskip("ray", reason="Ray is an extra: pip install 'lmmscore[ray]'")

Maker = Callable[..., Path]
ITEMS = 24
PROTOCOL = load_protocol("lmm-score", {})


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes on this machine, for all tests: they take longer to start than most tests do."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPENAI_API_KEY", "sk-never-written-down")
        environment.setenv("RAY_AUTH_MODE", "disabled")
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
        made.add_node(num_cpus=2)
        made.wait_for_nodes()
        ray.init(address=made.address, log_to_driver=False)
        try:
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


@pytest.fixture
def bench(make_benchmark: Maker) -> Path:
    return make_benchmark(items=ITEMS)


@pytest.fixture
def expected(bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The scores of the local executor."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-written-down")
    with serving(Server(reply=playing)) as server:
        run = lmmscore.run(bench, judge=f"openai/tiny@{server.url}", out=tmp_path / "local")
    return (run.path / "scores.csv").read_bytes()


def questions() -> int:
    return 2 + ITEMS * 7


def test_the_scores_are_the_same_to_the_byte(
    cluster: Any, bench: Path, expected: bytes, tmp_path: Path
) -> None:
    """Two players, every question once."""
    with serving(Server(reply=playing)) as server:
        run = lmmscore.run(
            bench, judge=f"openai/tiny@{server.url}", out=tmp_path / "r", engine="ray"
        )
    assert (run.path / "scores.csv").read_bytes() == expected
    assert len(server.served) == questions()
    for path in run.path.iterdir():
        assert b"sk-never-written-down" not in path.read_bytes()


@pytest.mark.parametrize("victim", ["worker", "node"])
def test_what_dies_is_played_again_from_the_ledger(
    cluster: Any, bench: Path, expected: bytes, tmp_path: Path, victim: str
) -> None:
    """The scores are the same, and at most what was in flight is asked again."""
    concurrency = 4
    held: list[Executor] = []

    def kill() -> None:
        while len(server.served) < 40:
            time.sleep(0.02)
        if victim == "node":
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
            return
        player = held[0]._players[-1]  # type: ignore[attr-defined]
        os.kill(ray.get(player.pid.remote()), signal.SIGKILL)

    with serving(Server(reply=playing, delay_s=0.05)) as server:
        killer = threading.Thread(target=kill)
        killer.start()
        run = lmmscore.run(
            bench,
            judge=f"openai/tiny@{server.url}",
            out=tmp_path / "r",
            engine="ray",
            concurrency=concurrency,
            hooks=Hooks(on_start=lambda executor, *_: held.append(executor)),
        )
        killer.join()
    if victim == "node":
        cluster.add_node(num_cpus=2)
    assert (run.path / "scores.csv").read_bytes() == expected
    assert len(server.served) <= questions() + concurrency


def test_a_stopped_run_is_resumed(
    cluster: Any, bench: Path, expected: bytes, tmp_path: Path
) -> None:
    """What was answered is not asked again."""
    held: list[Executor] = []
    done: list[object] = []

    def on_result(result: object) -> None:
        done.append(result)
        if len(done) == 5:
            held[0].stop(StopRequested("interrupted"))

    hooks = Hooks(Listeners(on_result=on_result), lambda executor, *_: held.append(executor))
    with serving(Server(reply=playing, delay_s=0.01)) as server:
        options: dict[str, Any] = {
            "judge": f"openai/tiny@{server.url}",
            "out": tmp_path / "r",
            "engine": "ray",
        }
        with pytest.raises(StopRequested):
            lmmscore.run(bench, hooks=hooks, **options)
        run = lmmscore.run(bench, **options)
    assert (run.path / "scores.csv").read_bytes() == expected
    assert len(server.served) == questions()


PRICES = {"prices": {"input": 10.0, "output": 10.0, "as_of": "2026-01-01"}}


def test_a_budget_holds_for_all_players_and_all_parts_of_a_run(
    cluster: Any, bench: Path, expected: bytes, tmp_path: Path
) -> None:
    """It stops in time, what was spent is written down, and a larger one goes on from there."""
    with serving(Server(reply=playing)) as server:
        options: dict[str, Any] = {
            "judge": f"openai/tiny@{server.url}",
            "out": tmp_path / "r",
            "engine": "ray",
        }
        with pytest.raises(BudgetExhausted, match="larger --budget"):
            lmmscore.run(bench, judge_options={**PRICES, "budget_usd": 0.2}, **options)
        spent = _spent(tmp_path / "r")
        with Ledger(tmp_path / "r" / "ledger.sqlite", read_only=True) as ledger:
            assert spent == pytest.approx(ledger.cost_usd())
        assert 0 < spent <= 0.2
        with pytest.raises(BudgetExhausted):
            lmmscore.run(bench, judge_options={**PRICES, "budget_usd": spent}, **options)
        assert _spent(tmp_path / "r") == pytest.approx(spent)
        run = lmmscore.run(bench, judge_options={**PRICES, "budget_usd": 100.0}, **options)
    assert (run.path / "scores.csv").read_bytes() == expected
    assert len(server.served) == questions()


def _spent(folder: Path) -> float:
    rows = (folder / "spending.csv").read_text().splitlines()[1:]
    return sum(float(row.partition(",")[0]) for row in rows if row)


def test_a_pace_holds_for_all_players_together(
    cluster: Any, make_benchmark: Maker, tmp_path: Path
) -> None:
    """Two players at 600 requests a minute are ten questions a second, not twenty."""
    small = make_benchmark(items=3)
    with serving(Server(reply=playing)) as server:
        lmmscore.run(
            small,
            judge=f"openai/tiny@{server.url}",
            out=tmp_path / "r",
            engine="ray",
            judge_options={"rpm": 600},
        )
    first, last = server.served[0].arrived_s, server.served[-1].arrived_s
    assert last - first >= (len(server.served) - 2) * 0.1


def test_tokens_are_counted_as_the_server_counts_them(tmp_path: Path) -> None:
    """A question that took more than was reckoned with holds up the next one, whoever asks it."""
    from lmmscore.execution.ray import Keeper, Limits, SharedGate

    limits = Limits(tpm=60_000)

    async def ask() -> float:
        keeper = KeeperHere(Keeper(tmp_path / "l.sqlite", [], PROTOCOL, limits, tmp_path))
        one, other = SharedGate(keeper, limits), SharedGate(keeper, limits)
        await one.admit(100)
        one.settle(1_200)
        began_s = time.monotonic()
        await other.admit(100)
        await keeper.close.remote()
        return time.monotonic() - began_s

    assert asyncio.run(ask()) >= 0.3


def test_another_judge_reads_what_cannot_be_read(
    cluster: Any, make_benchmark: Maker, tmp_path: Path
) -> None:
    """Its answers are on record under its own name, and what was read is the same as locally.

    A server that is gone is named, with the node that lost it.
    """
    bench, factors = make_benchmark(items=3, methods=("one",)), ("acc", "pre", "qua", "real")

    def quote(_: list[dict[str, Any]]) -> str:
        cells = [
            {"image": 1, "factor": key, "score": 7, "quotation": f"The S_{key} lands on 7"}
            for key in factors
        ]
        return json.dumps({"cells": cells})

    def judge(messages: list[dict[str, Any]]) -> str:
        if "Now give your scores" not in json.dumps(messages[-1]):
            return "I take note."
        return "\n".join(f"The S_{key} lands on 7, which is fair." for key in factors)

    meters: list[Any] = []
    hooks = Hooks(on_start=lambda _, __, bench: meters.append(bench.judge.meter))
    with serving(Server(reply=judge)) as judging, serving(Server(reply=quote)) as reading:
        options: dict[str, Any] = {
            "judge": f"openai/tiny@{judging.url},http://127.0.0.1:9/v1",
            "reader": f"openai/small@{reading.url}",
        }
        local = lmmscore.run(bench, out=tmp_path / "local", **options)
        run = lmmscore.run(bench, out=tmp_path / "r", engine="ray", hooks=hooks, **options)
    assert run.manifest.helped == local.manifest.helped == 12
    assert (run.path / "scores.csv").read_bytes() == (local.path / "scores.csv").read_bytes()
    with Ledger(run.path / "ledger.sqlite", read_only=True) as ledger:
        assert {asker.judge for asker in ledger.askers()} == {"openai/tiny", "openai/small"}
    assert any("127.0.0.1:9/v1 fails" in text for text in meters[0].notices)

    again = lmmscore.run(bench, judge=f"replay:{run.path}", out=tmp_path / "a", engine="ray")
    assert (again.path / "scores.csv").read_bytes() == (local.path / "scores.csv").read_bytes()
    for name in ("r", "a"):
        publish(open_run(tmp_path / name), tmp_path / f"{name}.zip")
        assert not verify(tmp_path / f"{name}.zip").problems


def test_answers_of_another_ledger_are_taken_over(
    cluster: Any, make_benchmark: Maker, tmp_path: Path
) -> None:
    """`replay:RUN` asks nobody, and the new folder has a ledger of its own."""
    small = make_benchmark(items=3)
    with serving(Server(reply=playing)) as server:
        first = lmmscore.run(small, judge=f"openai/tiny@{server.url}", out=tmp_path / "first")
    again = lmmscore.run(small, judge=f"replay:{first.path}", out=tmp_path / "again", engine="ray")
    assert (again.path / "scores.csv").read_bytes() == (first.path / "scores.csv").read_bytes()
    with Ledger(again.path / "ledger.sqlite", read_only=True) as ledger:
        assert ledger.count() == 2 + 3 * 7


def test_anchors_are_asked_on_the_cluster_too(
    cluster: Any, make_benchmark: Maker, tmp_path: Path
) -> None:
    """The players are started a second time, for the anchors."""
    small = make_benchmark(items=2)
    anchor = open_items(small)[0]
    with serving(Server(reply=playing)) as server:
        run = lmmscore.run(
            small,
            judge=f"openai/tiny@{server.url}",
            out=tmp_path / "r",
            engine="ray",
            anchors=[anchor],
        )
    assert (run.path / "anchors.csv").is_file()


def open_items(bench: Path) -> list[str]:
    from lmmscore.benchmark import load_benchmark

    return [item.id for item in load_benchmark(bench).items]


def test_ctrl_c_saves_and_gives_130(cluster: Any, make_benchmark: Maker, tmp_path: Path) -> None:
    """As with the local engine; the same command goes on from there."""
    bench = make_benchmark(items=12)
    with serving(Server(reply=playing, delay_s=0.1)) as server:
        words = [sys.executable, "-m", "lmmscore", "run", str(bench), "--engine", "ray"]
        words += ["--judge", f"openai/tiny@{server.url}", "--out", str(tmp_path / "r"), "-c", "2"]
        words += ["--ray-address", cluster.address]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
        while len(server.served) < 20 and process.poll() is None:
            time.sleep(0.05)
        # As a terminal does: to every process of the group.
        os.killpg(process.pid, signal.SIGINT)
        _, says = process.communicate(timeout=120)
        assert process.returncode == 130, says
        assert "Run the same command to resume" in says
        asked = len(server.served)
        assert open_run(tmp_path / "r").manifest.state.startswith("stopped")
        with Ledger(tmp_path / "r" / "ledger.sqlite", read_only=True) as ledger:
            assert ledger.count() == asked
        run = lmmscore.run(bench, judge=f"openai/tiny@{server.url}", out=tmp_path / "r")
    assert run.manifest.state == "finished"
    assert len(server.served) == 2 + 12 * 7


@pytest.mark.parametrize(
    ("address", "says"),
    [("ray://127.0.0.1:9", "on a node of the cluster"), ("127.0.0.1:9", "no Ray cluster")],
)
def test_a_wrong_address_says_what_to_do_at_once(address: str, says: str) -> None:
    """One line, with the way to a cluster; Ray by itself goes on trying for many minutes."""
    from lmmscore.execution.ray import _connect

    with pytest.raises(LmmscoreError, match=says):
        _connect(address)


class Here:
    """Stands for an actor's method, called in this process."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method

    def remote(self, *given: Any) -> Any:
        value = self._method(*given)
        if asyncio.iscoroutine(value):
            return asyncio.ensure_future(value)
        done = asyncio.get_running_loop().create_future()
        done.set_result(value)
        return done


class KeeperHere:
    """A keeper in this process."""

    def __init__(self, keeper: Any) -> None:
        self._keeper = keeper

    def __getattr__(self, name: str) -> Here:
        return Here(getattr(self._keeper, name))


class Storage:
    """A keeper that only has files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, path: str) -> bytes | None:
        there = self._folder / Path(path).name
        return there.read_bytes() if there.is_file() else None


def test_a_node_without_a_picture_gets_it_or_says_which(
    make_benchmark: Maker, tmp_path: Path
) -> None:
    """By content: the copy is the same picture. What nobody has is named, and so is the node."""
    from lmmscore.execution.ray import NodePictures

    bench = make_benchmark(items=1)
    picture = next(path for path in bench.rglob("*.png"))
    there = tmp_path / "head"
    there.mkdir()
    shutil.copy(picture, there)
    pictures = NodePictures(Recipe())
    expected = pictures.get(picture).digest

    lacking = tmp_path / "node" / picture.name
    nowhere = tmp_path / "node" / "nowhere.png"
    asyncio.run(pictures.fetch([lacking, nowhere], KeeperHere(Storage(there))))
    assert pictures.get(lacking).digest == expected
    with pytest.raises(ImageProblem, match=rf"node {os.uname().nodename}: .*nowhere\.png"):
        pictures.get(nowhere)
    copies = pictures._folder
    pictures.close()
    assert not copies.exists()


def test_localhost_is_the_node_of_the_player(
    make_benchmark: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge is opened by its player, at the address as it was written: nobody resolves it before.

    Two players stand for two nodes; what is at their localhost differs, as it does between machines.
    """
    from lmmscore.api import Request, prepare
    from lmmscore.execution.ray import Keeper, Limits, PlayedUnit, Player, Seat
    from lmmscore.ledger import Asker

    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-written-down")
    bench = make_benchmark(items=2)
    plan = prepare(Request(benchmark=bench), "").plan
    units = list(plan)
    asker = Asker.of("openai/tiny", {})

    async def play(urls: list[str]) -> None:
        limits = Limits()
        keeper = KeeperHere(Keeper(tmp_path / "l.sqlite", [], plan.protocol, limits, tmp_path))
        for number, (unit, url) in enumerate(zip(units, urls, strict=True)):
            seat = Seat(f"openai/tiny@{url}", {}, asker)
            player = Player(seat, None, limits, Recipe(), keeper, number)
            played = await player.play(unit)
            assert isinstance(played, PlayedUnit), played
            servers = {
                json.loads(exchange.reply.also)["server"]
                for each in played.played
                for exchange in each.exchanges
                if not exchange.recalled
            }
            assert servers == {url}
            await player.close()
        await keeper.close.remote()

    with serving(Server(reply=playing)) as one, serving(Server(reply=playing)) as two:
        urls = [server.url.replace("127.0.0.1", "localhost") for server in (one, two)]
        asyncio.run(play(urls))
    assert len(one.served) == 9
    assert len(two.served) == 7


def test_answers_under_older_keys_are_known(
    make_benchmark: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger in which the judge's name has the server's address is gone on with."""
    from lmmscore.execution.ray import Keeper, Limits, RemoteRecord
    from lmmscore.ledger import Asker
    from lmmscore.records import Reply

    older, asker = Asker.of("openai/tiny@http://gpu:8000/v1", {}), Asker.of("openai/tiny", {})
    conversation = Conversation().say("Describe it.")
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.record(older, conversation, 1, Reply("as before")).result()

    async def ask() -> str:
        keeper = KeeperHere(Keeper(tmp_path / "l.sqlite", [], PROTOCOL, Limits(), tmp_path))
        askers = await keeper.askers.remote(asker)
        heard = await RemoteRecord(None, askers, keeper, 0).ask(conversation, 1)
        await keeper.close.remote()
        assert heard.recalled
        return heard.reply.text

    assert asyncio.run(ask()) == "as before"


def test_what_a_dead_player_had_set_aside_counts_as_spent(tmp_path: Path) -> None:
    """The server may have charged for what was in flight."""
    from lmmscore.execution.ray import Keeper, Limits

    async def die() -> None:
        limits = Limits(budget_usd=1.0)
        keeper = Keeper(tmp_path / "l.sqlite", [], PROTOCOL, limits, tmp_path)
        dead = keeper.begin(3)
        assert await keeper.find(["k"], dead) is None
        assert isinstance(await keeper.reserve(dead, 0.75), int)
        restarted = keeper.begin(3)
        assert await keeper.find(["k"], restarted) is None
        assert isinstance(await keeper.reserve(restarted, 0.5), BudgetExhausted)
        keeper.close()

    asyncio.run(die())
    assert _spent(tmp_path) == pytest.approx(0.75)


def test_a_process_that_another_goes_on_for_claims_nothing(tmp_path: Path) -> None:
    """It may outlive its node by a moment, and what it claimed then would stay claimed."""
    from lmmscore.execution.ray import Keeper, Limits

    async def outlive() -> None:
        keeper = Keeper(tmp_path / "l.sqlite", [], PROTOCOL, Limits(), tmp_path)
        dead = keeper.begin(0)
        assert await keeper.find(["first"], dead) is None
        waiting = asyncio.ensure_future(keeper.find(["first"], dead))
        restarted, other = keeper.begin(0), keeper.begin(1)
        late = [asyncio.ensure_future(keeper.find([key], dead)) for key in ("second", "third")]
        paid = asyncio.ensure_future(keeper.reserve(dead, 0.0))
        await asyncio.sleep(0.05)
        assert await keeper.find(["first"], restarted) is None
        assert await keeper.find(["second"], restarted) is None
        assert await keeper.find(["third"], other) is None
        for task in (waiting, *late, paid):
            assert not task.done()
            task.cancel()
        keeper.close()

    asyncio.run(asyncio.wait_for(outlive(), 10))


def test_two_runs_with_one_ledger_ask_a_question_once(tmp_path: Path) -> None:
    """The keeper of the second waits for the answer of the first, or asks where that gave up."""
    from lmmscore.execution.ray import Keeper, Limits, ReplyOnRecord
    from lmmscore.ledger import Asker, Envelope
    from lmmscore.records import Reply

    asker = Asker.of("openai/tiny", {})
    asked = Envelope.of(asker, Conversation().say("Describe it."), 1)

    async def ask() -> None:
        one, two = (
            Keeper(tmp_path / "l.sqlite", [], PROTOCOL, Limits(), tmp_path) for _ in range(2)
        )
        assert await one.find(["given up"], 0) is None
        waiting = [asyncio.ensure_future(two.find([key], 0)) for key in ("given up", asked.key)]
        assert await one.find(["another"], 0) is None
        one.release("given up")
        assert await waiting[0] is None
        # Whoever came first has the other: the second keeper, for nobody had claimed it.
        assert await waiting[1] is None
        later = asyncio.ensure_future(one.find([asked.key], 0))
        await two.record(asker, asked, Reply("a beach"))
        found = await later
        assert isinstance(found, ReplyOnRecord) and found.reply.text == "a beach"
        two.stop("enough")
        assert isinstance(await two.find(["another"], 0), StopRequested)
        one.close()
        two.close()

    asyncio.run(ask())


def test_an_item_without_edits_is_told_to_listeners_too(
    cluster: Any, make_benchmark: Maker, tmp_path: Path
) -> None:
    """Nobody plays it, and still it is one of the units that progress counts."""
    root = make_benchmark(items=2, absent=tuple((0, name) for name in ("alpha", "beta", "gamma")))
    told: list[str] = []
    listeners = Listeners(on_result=lambda result: told.append(result.unit.item.id))
    with serving(Server(reply=playing)) as server:
        judge = f"openai/tiny@{server.url}"
        lmmscore.run(root, judge=judge, out=tmp_path / "r", engine="ray", hooks=Hooks(listeners))
    assert sorted(told) == ["i0", "i1"]
