"""What the live page is told of a run: by its folder and ledger alone, at any moment."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import lmmscore
from lmmscore.benchmark import load_benchmark
from lmmscore.conversation import Conversation
from lmmscore.records import Reply
from lmmscore.web.live import LiveRun, RunLimits
from tests.batch_server import BatchServer
from tests.conftest import PAIR_DIALOG, ScriptedJudge
from tests.loopback import serving_app

Maker = Callable[..., Path]
METHODS = ("alpha", "beta", "gamma")


class Gated(ScriptedJudge):
    """Answers so many questions, then waits until the gate is opened."""

    def __init__(self, answer: Callable[[Conversation], str], first: int) -> None:
        super().__init__(answer)
        self.gate, self.reached = threading.Event(), threading.Event()
        self._first = first

    async def ask(self, conversation: Conversation) -> Reply:
        if len(self.asked) >= self._first:
            self.reached.set()
            await asyncio.to_thread(self.gate.wait, 60)
        return await super().ask(conversation)


@contextmanager
def going_on(judge: Gated, **options: Any) -> Iterator[None]:
    """A run in a thread, stopped at the judge's gate inside the block, finished after it."""
    run = threading.Thread(target=lambda: lmmscore.run(judge=judge, **options), daemon=True)
    run.start()
    assert judge.reached.wait(60)
    try:
        yield
    finally:
        judge.gate.set()
        run.join(60)


def look(path: Path, limits: RunLimits | None = None) -> dict[str, Any]:
    """What somebody who opens the page now is told."""
    live = LiveRun(path, limits)
    live.refresh()
    return live.snapshot()


def first_is_best(conversation: Conversation) -> str:
    """Prefer the earlier method in the alphabet."""
    assert conversation.message is not None
    one, other = [image.path.stem.split("_")[1] for image in conversation.message.images[1:]]
    return "[[A>B]]" if one < other else "[[B>A]]"


def test_pairs_are_ranked_while_the_run_goes_on(tmp_path: Path, make_benchmark: Maker) -> None:
    """After the first item: strengths, ranks, and how many items they rest on."""
    dialog = tmp_path / "pairwise.yaml"
    dialog.write_text(PAIR_DIALOG)
    out = tmp_path / "run"
    bench = make_benchmark(items=3)
    # Three pairs in two orders to an item; one more order, which alone must not count.
    judge = Gated(first_is_best, first=7)
    with going_on(judge, benchmark=bench, dialog=str(dialog), out=out, concurrency=1):
        told = look(out)
        board = told["board"]
        assert told["state"] == "running" and (board["items"], board["of"]) == (2, 3)
        assert [row["method"] for row in board["rows"]] == list(METHODS)
        assert [row["n"] for row in board["rows"]] == [2, 2, 2]
        assert board["measure"] == "Strength"
    told = look(out)
    assert told["state"] == "finished" and told["board"]["items"] == 3
    assert [row["n"] for row in told["board"]["rows"]] == [6, 6, 6]
    assert json.dumps(told, allow_nan=False)


def test_a_part_of_the_pairs_is_counted_as_such(tmp_path: Path, make_benchmark: Maker) -> None:
    """With --pairs, what was not asked for is neither waited for nor counted as left."""
    dialog = tmp_path / "pairwise.yaml"
    dialog.write_text(PAIR_DIALOG)
    judge = ScriptedJudge(first_is_best)
    bench = make_benchmark(items=3)
    run = lmmscore.run(bench, str(dialog), judge, out=tmp_path / "run", pairs=1)
    totals = look(run.path)["totals"]
    assert totals["sessions"] == totals["done"] == len(judge.asked) == 6
    assert totals["calls_left"] == 0


SCORES = """
dialog: small
format: 2
version: 1
title: Small
covers: edit
factors: [{key: a, name: A, scale: {min: 1, max: 10}}]
turns: [{name: t, read: scores, say: "Score it. {{show.source}}{{show.edit}}"}]
overall: mean
repair: {say: "Again, please. {{problems}}"}
"""


@pytest.mark.parametrize(
    ("reply", "parameters"),
    [("a: 7", {"logprobs": True}), ("So\u2028be it.\x0ba: 7", {})],
    ids=["one-more-column", "odd-line-ends"],
)
def test_every_score_is_seen_whatever_stands_beside_it(
    tmp_path: Path, make_benchmark: Maker, reply: str, parameters: dict[str, Any]
) -> None:
    """Further columns and strange characters in replies hide no score and no session."""
    dialog = tmp_path / "small.yaml"
    dialog.write_text(SCORES)
    judge = ScriptedJudge(lambda _: Reply(reply), parameters=parameters)
    run = lmmscore.run(make_benchmark(items=2), str(dialog), judge, out=tmp_path / "run")
    told = look(run.path)
    cells = [cell for row in told["grid"]["items"] for cell in row["cells"]]
    assert [cell[:2] for cell in cells] == [["scored", 7.0]] * 6
    assert told["totals"]["done"] == 6 and len(told["talk"]["turns"]) == 1
    assert told["board"]["rows"][0]["mean"] == 7.0


def test_an_edit_is_never_shown_by_a_mean_over_scales(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Without an overall, an edit's score is that of the first factor, between its own ends."""
    dialog = tmp_path / "small.yaml"
    second = "}, {key: b, name: B, scale: {values: [0, 1]}}]\nturns:"
    dialog.write_text(
        SCORES.replace("}]\nturns:", second).replace("overall: mean", "overall: none")
    )
    judge = ScriptedJudge(lambda _: "a: 8\nb: 1")
    run = lmmscore.run(make_benchmark(items=1), str(dialog), judge, out=tmp_path / "run")
    grid = look(run.path)["grid"]
    assert [cell[:3] for cell in grid["items"][0]["cells"]] == [["scored", 8.0, 0.778]] * 3
    assert (grid["factor"], grid["low"], grid["high"]) == ("a", 1.0, 10.0)


def test_no_interval_reaches_beyond_the_scale(tmp_path: Path, make_benchmark: Maker) -> None:
    """The live ranking knows the scale, as the leaderboard does: no mean may be above its top."""
    dialog = tmp_path / "small.yaml"
    dialog.write_text(SCORES)
    scores = itertools.cycle([10, 10, 9, 10, 9])
    judge = ScriptedJudge(lambda _: f"a: {next(scores)}")
    run = lmmscore.run(make_benchmark(items=4), str(dialog), judge, out=tmp_path / "run")
    told = {row["method"]: row["interval"] for row in look(run.path)["board"]["rows"]}
    assert told == {row.method: row.mean_interval for row in run.leaderboard().tables[-1].rows}
    assert max(high for _, high in told.values()) == 10.0


def test_a_run_that_is_extended_is_counted_whole(tmp_path: Path, make_benchmark: Maker) -> None:
    """Whoever watched a run of one item sees the others once it is extended to them."""
    dialog = tmp_path / "small.yaml"
    dialog.write_text(SCORES)
    bench, judge = make_benchmark(items=2), ScriptedJudge(lambda _: "a: 7")
    options = {"dialog": str(dialog), "judge": judge, "out": tmp_path / "run"}
    first, *_ = [item.id for item in load_benchmark(bench).items]
    lmmscore.run(bench, items=[first], **options)
    live = LiveRun(tmp_path / "run")
    live.refresh()
    assert live.snapshot()["totals"]["sessions"] == 3
    lmmscore.run(bench, **options)
    live.refresh()
    told = live.snapshot()
    assert (told["totals"]["sessions"], told["totals"]["done"]) == (6, 6)
    assert len(told["grid"]["items"]) == 2


def test_a_run_that_waits_for_batches_says_for_what(
    tmp_path: Path, make_benchmark: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two waves: what is on its way, what is left, and what it will have cost."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-written-down")
    bench, out = make_benchmark(items=2), tmp_path / "run"
    server = BatchServer()
    with serving_app(server.app()) as url:
        for wave in range(1, 4):
            lmmscore.run(bench, judge=f"openai/tiny@{url}/v1", out=out, engine="batch")
            told = look(out, RunLimits(budget_usd=5.0))
            assert told["state"] == "waiting"
            assert f"wave {wave}" in told["waiting"]
    totals = told["totals"]
    assert totals["sessions"] == 2 and totals["done"] == 0
    assert totals["calls"] > 0 and totals["calls_left"] > 0
    assert totals["spent_usd"] is None, "tokens without a price are not free"
    assert told["talk"]["turns"] and not told["talk"]["over"]
