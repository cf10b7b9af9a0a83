"""A run by batches: waves of files, in several processes' lives, against a server that misbehaves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import lmmscore
from lmmscore.cli import lmmscore as command
from lmmscore.errors import BudgetExhausted
from lmmscore.execution import batch as executor
from lmmscore.judges.judge import JudgeBase, open_judge
from lmmscore.ledger import Ledger
from lmmscore.run_folder import open_run
from tests.batch_server import BatchServer
from tests.loopback import Server, completion, playing, serving, serving_app

Maker = Callable[..., Path]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    """A server of batches on loopback."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-written-down")
    made = BatchServer()
    with serving_app(made.app()) as url:
        made.url = url  # type: ignore[attr-defined]
        yield made


def batch(server: BatchServer, bench: Path, out: Path, *more: str) -> Result:
    words = ["run", str(bench), "--judge", f"openai/tiny@{server.url}/v1"]  # type: ignore[attr-defined]
    return CliRunner().invoke(command, [*words, "--out", str(out), "--batch", *more])


def until_finished(server: BatchServer, bench: Path, out: Path, most: int = 30) -> int:
    """Run the same command until nothing is left; return how often."""
    for count in range(1, most + 1):
        done = batch(server, bench, out)
        assert done.exit_code in (0, 3), done.output
        if open_run(out).manifest.state == "finished":
            return count
    raise AssertionError("it does not come to an end")


@pytest.fixture
def direct(tmp_path: Path, make_benchmark: Maker, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The scores of the same benchmark, asked directly."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-written-down")
    bench = make_benchmark(items=3)
    with serving(Server(reply=playing)) as plain:
        run = lmmscore.run(bench, judge=f"openai/tiny@{plain.url}", out=tmp_path / "direct")
    return (run.path / "scores.csv").read_bytes()


def test_waves_come_to_the_same_scores(tmp_path: Path, server: BatchServer, direct: bytes) -> None:
    """Nine questions a session: nine waves and one last look, each a process of its own."""
    bench = tmp_path / "bench"
    first = batch(server, bench, tmp_path / "r")
    assert first.exit_code == 0
    assert (
        "waiting for 1 question in 1 batch (batch-1: wave 1, 0 of 1 answered, sent)" in first.output
    )
    assert open_run(tmp_path / "r").manifest.state == "waiting"
    assert until_finished(server, bench, tmp_path / "r") == 9
    assert (tmp_path / "r" / "scores.csv").read_bytes() == direct
    assert len(server.asked) == len(set(server.asked)) == 2 + 3 * 7
    for path in (tmp_path / "r").rglob("*"):
        assert not path.is_file() or b"sk-never-written-down" not in path.read_bytes()


def test_what_expired_is_sent_again(tmp_path: Path, server: BatchServer, direct: bytes) -> None:
    """Lines that were not answered in time go into the next wave."""
    lost: set[str] = set()

    def spoil(key: str, line: dict[str, Any]) -> dict[str, Any] | None:
        if len(lost) < 4 and key not in lost:
            lost.add(key)
            return None
        return line

    server.spoil = spoil
    until_finished(server, tmp_path / "bench", tmp_path / "r")
    assert (tmp_path / "r" / "scores.csv").read_bytes() == direct
    assert sorted(server.asked.count(key) for key in lost) == [2, 2, 2, 2]


def test_a_crash_between_sending_and_noting_sends_nothing_twice(
    tmp_path: Path, server: BatchServer, direct: bytes
) -> None:
    """The batch is found at the server by its digest."""
    server.crash_after_create = True
    done = batch(server, tmp_path / "bench", tmp_path / "r")
    assert done.exit_code == 1
    server.crash_after_create = False
    sent = len(server.batches)
    until_finished(server, tmp_path / "bench", tmp_path / "r")
    assert (tmp_path / "r" / "scores.csv").read_bytes() == direct
    assert sent == 1
    assert len(server.asked) == len(set(server.asked))


def test_unknown_doubled_and_broken_lines_do_no_harm(
    tmp_path: Path, server: BatchServer, direct: bytes
) -> None:
    """Answers under ids nobody asked for, and the same answer twice, are counted and passed over."""

    def content(name: str) -> str:
        text = server_content[name]
        stranger = {"custom_id": "nobody", "response": {"status_code": 200, "body": {}}}
        return text + text + json.dumps(stranger) + "\nnot json\n"

    server_content = server.files
    answer = server._answer

    def answered(made: dict[str, Any]) -> None:
        answer(made)
        if "output_file_id" in made:
            server.files[made["output_file_id"]] = content(made["output_file_id"])

    server._answer = answered  # type: ignore[method-assign]
    until_finished(server, tmp_path / "bench", tmp_path / "r")
    assert (tmp_path / "r" / "scores.csv").read_bytes() == direct


def test_a_request_that_is_refused_ends_its_session_with_the_reason(
    tmp_path: Path, server: BatchServer, make_benchmark: Maker
) -> None:
    """Never a number, and never asked again and again."""
    bench = make_benchmark(items=2)
    refused: list[str] = []

    def spoil(key: str, line: dict[str, Any]) -> dict[str, Any]:
        if len(server.asked) > 3 and not refused:
            refused.append(key)
        if key in refused:
            error = {"error": {"message": "too many images", "code": "invalid"}}
            return {**line, "response": {"status_code": 400, "body": error}}
        return line

    server.spoil = spoil
    until_finished(server, bench, tmp_path / "r")
    scores = open_run(tmp_path / "r").scores()
    failed = scores[scores["outcome"] == "failed"]
    assert set(failed["reason"].str.contains("too many images")) == {True}
    assert server.asked.count(refused[0]) == 1


def test_batches_can_be_cancelled(
    tmp_path: Path, server: BatchServer, make_benchmark: Maker
) -> None:
    """Nothing is out after that, and the run can be gone on with."""
    server.ready = False
    bench = make_benchmark(items=2)
    batch(server, bench, tmp_path / "r")
    batch(server, bench, tmp_path / "r", "--cancel")
    assert {made["status"] for made in server.batches.values()} == {"cancelled"}


def test_files_are_split_by_lines(
    tmp_path: Path, server: BatchServer, direct: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider takes so many lines in a file and no more."""
    monkeypatch.setattr(executor, "MOST_LINES", 2)
    until_finished(server, tmp_path / "bench", tmp_path / "r")
    assert (tmp_path / "r" / "scores.csv").read_bytes() == direct
    sizes = {made["request_counts"]["total"] for made in server.batches.values()}
    assert max(sizes) == 2


def test_a_folder_serves_where_there_is_no_network(
    tmp_path: Path, direct: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`vllm run-batch` reads NAME.jsonl and writes NAME.out.jsonl; somebody carries the files."""
    bench, out, box = tmp_path / "bench", tmp_path / "r", tmp_path / "box"
    for _ in range(12):
        words = ["run", str(bench), "--judge", "openai/tiny@http://127.0.0.1:9/v1"]
        words += ["--out", str(out), "--batch", "--batch-dir", str(box)]
        done = CliRunner().invoke(command, words)
        assert done.exit_code == 0, done.output
        if open_run(out).manifest.state == "finished":
            break
        for path in box.glob("wave-*.jsonl"):
            _answer_file(path)
    assert (out / "scores.csv").read_bytes() == direct


def _answer_file(path: Path) -> None:
    """Do what a batch runner does."""
    answers = path.with_suffix(".out.jsonl")
    if path.name.endswith(".out.jsonl") or answers.exists():
        return
    lines = []
    for line in path.read_text().splitlines():
        asked = json.loads(line)
        body = completion(playing(asked["body"]["messages"]))
        response = {"status_code": 200, "request_id": "", "body": body}
        lines.append({"custom_id": asked["custom_id"], "response": response, "error": None})
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_judge_without_batches_says_so(tmp_path: Path, make_benchmark: Maker) -> None:
    """One line, before anything is asked."""
    words = ["run", str(make_benchmark()), "--out", str(tmp_path / "r"), "--batch"]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 1
    assert "takes no batches" in str(done.exception)
    assert not hasattr(JudgeBase, "batch_body")


def test_waiting_plays_all_waves_in_one_process(
    tmp_path: Path, server: BatchServer, direct: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--wait` looks again and again, and ends when nothing is left to send."""
    monkeypatch.setattr(executor, "POLL_S", 0.01)
    done = batch(server, tmp_path / "bench", tmp_path / "r", "--wait")
    assert done.exit_code == 0, done.output
    assert open_run(tmp_path / "r").manifest.state == "finished"
    assert (tmp_path / "r" / "scores.csv").read_bytes() == direct
    assert len(server.asked) == len(set(server.asked)) == 2 + 3 * 7


def test_ctrl_c_leaves_batches_running_and_says_so(
    tmp_path: Path, server: BatchServer, make_benchmark: Maker
) -> None:
    """130, at once though the next look is a minute away; the same command collects them."""
    server.ready = False
    bench, out = make_benchmark(items=2), tmp_path / "r"
    words = [sys.executable, "-m", "lmmscore", "run", str(bench), "--out", str(out)]
    words += ["--judge", f"openai/tiny@{server.url}/v1", "--batch", "--wait"]  # type: ignore[attr-defined]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    while not (out / "batches.jsonl").is_file() or '"created"' not in _text(out):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, says = process.communicate(timeout=50)
    assert process.returncode == 130, says
    assert "go on without this command" in says
    assert "--cancel" in says
    assert {made["status"] for made in server.batches.values()} == {"in_progress"}
    server.ready = True
    until_finished(server, bench, out)
    assert len(server.asked) == len(set(server.asked))


def _text(out: Path) -> str:
    return (out / "batches.jsonl").read_text()


def test_open_batches_are_shown(tmp_path: Path, server: BatchServer, direct: bytes) -> None:
    """By the command that sent them, by `ledger list`, and in JSON."""
    server.ready = False
    bench, out = tmp_path / "bench", tmp_path / "r"
    batch(server, bench, out)
    again = batch(server, bench, out, "--json")
    waiting = json.loads(again.stdout)
    assert waiting["state"] == "waiting"
    assert "batch-1: wave 1, 0 of 1 answered, in_progress" in waiting["waiting"]
    listed = CliRunner().invoke(command, ["ledger", "list", str(out)])
    assert "batch batch-1: wave 1, 0 of 1 answered, in_progress" in listed.output
    assert len(server.batches) == 1


def test_a_wave_beyond_the_budget_is_not_sent(
    tmp_path: Path, server: BatchServer, direct: bytes
) -> None:
    """Nothing of it; what was answered is booked at half price, and counts in the next process too."""
    bench, out = tmp_path / "bench", tmp_path / "r"
    options = {"prices": {"input": 10.0, "output": 10.0, "as_of": "2026-01-01"}}
    judge = f"openai/tiny@{server.url}/v1"  # type: ignore[attr-defined]

    def run(budget_usd: float) -> lmmscore.Run:
        limits = {**options, "budget_usd": budget_usd}
        return lmmscore.run(bench, judge=judge, out=out, engine="batch", judge_options=limits)

    with pytest.raises(BudgetExhausted, match="next wave may cost"):
        run(0.0001)
    assert not server.batches
    assert run(100.0).manifest.state == "waiting"
    run(100.0)
    spent = (out / "spending.csv").read_text()
    with Ledger(out / "ledger.sqlite", read_only=True) as ledger:
        cost = ledger.cost_usd()
    assert cost > 0
    assert f"{cost:.9f},counted" in spent
    sent = len(server.batches)
    with pytest.raises(BudgetExhausted):
        run(cost + 0.0001)
    assert len(server.batches) == sent


def test_what_was_answered_before_a_cancel_is_kept(
    tmp_path: Path, server: BatchServer, direct: bytes
) -> None:
    """It is paid for; only the rest is sent again."""
    bench, out = tmp_path / "bench", tmp_path / "r"
    batch(server, bench, out)
    ended = batch(server, bench, out, "--cancel")
    assert ended.exit_code == 0
    assert "a run without --cancel" in ended.output
    assert open_run(out).manifest.state == "waiting"
    until_finished(server, bench, out)
    assert (out / "scores.csv").read_bytes() == direct
    assert len(server.asked) == len(set(server.asked))


# llmock leaves its uploads open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_of_somebody_else(
    tmp_path: Path, llmock: Any, make_benchmark: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """llmock's files and batches: every wave is collected, and what it says is no score."""
    monkeypatch.setattr(executor, "POLL_S", 0.05)
    bench, out = make_benchmark(items=2), tmp_path / "r"
    words = ["run", str(bench), "--judge", "openai/gpt-4o", "--out", str(out), "--batch", "--wait"]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 3, done.output
    run = open_run(out)
    assert run.manifest.state == "finished"
    assert set(run.scores()["outcome"]) == {"unreadable"}
    with Ledger(out / "ledger.sqlite", read_only=True) as ledger:
        assert ledger.count() > 0


def test_azure_has_its_own_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """As documented: no version in the files, and batches at the resource, not at a deployment."""
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "sk-never-written-down")
    host = "https://me.openai.azure.com/openai"
    for url in (f"{host}/v1", f"{host}/deployments/gpt?api-version=2024-10-21"):
        judge = open_judge(f"openai/gpt@{url}").judge
        assert judge.batch_url == "/chat/completions"  # type: ignore[attr-defined]
        mailbox = judge.batch_mailbox()  # type: ignore[attr-defined]
        assert "deployments" not in str(mailbox._client.base_url)


def test_a_reply_that_cannot_be_read_goes_to_the_reader_in_a_wave_of_its_own(
    tmp_path: Path, server: BatchServer, make_benchmark: Maker
) -> None:
    """The judge itself quotes its scores, and no repair turn is sent; another reader is refused."""
    bench = make_benchmark(items=1, methods=("one",))
    factors = ("acc", "pre", "qua", "real")

    def reply(messages: list[dict[str, Any]]) -> str:
        text = json.dumps(messages[-1])
        if "<<<<<<<<" in text:
            cells = [
                {"image": 1, "factor": key, "score": 7, "quotation": f"The S_{key} lands on 7"}
                for key in factors
            ]
            return json.dumps({"cells": cells})
        if "Now give your scores" in text:
            return "\n".join(f"The S_{key} lands on 7, which is fair." for key in factors)
        return "I take note."

    server.reply = reply
    until_finished(server, bench, tmp_path / "r")
    manifest = open_run(tmp_path / "r").manifest
    assert (manifest.helped, manifest.repairs, manifest.unscored) == (4, 0, 0)
    other = batch(server, bench, tmp_path / "s", "--reader", "openai/other")
    assert "leave out --reader" in str(other.exception)
