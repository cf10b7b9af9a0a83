"""Against a real Ray with two nodes on one machine: kill a worker, kill a node, stop, resume."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lmmscore
from lmmscore.api import Hooks
from lmmscore.execution.base import Executor, Listeners, StopRequested
from tests.loopback import Server, playing, serving

ray = pytest.importorskip("ray", reason="Ray is an extra: pip install 'lmmscore[ray]'")

Maker = Callable[..., Path]
ITEMS = 24


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two nodes on this machine."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-written-down")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
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
