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
    assert len(server.asked) == len(set(server.asked)) == 23
    counted = executor.BatchLog(tmp_path / "r" / "batches.jsonl").totals()
    assert counted == {"sent": 23, "answered": 23}, "the end of a file is no unknown answer"


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


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ({"message": "too many images", "code": "invalid"}, "failed"),
        ({"message": "too many images", "code": "content_policy_violation"}, "filtered"),
    ],
)
def test_a_request_that_is_refused_ends_its_session_with_the_reason(
    tmp_path: Path, server: BatchServer, make_benchmark: Maker, error: dict[str, str], outcome: str
) -> None:
    """Never a number, and never asked again and again; the filter is told as when asked directly."""
    bench = make_benchmark(items=2)
    refused: list[str] = []

    def spoil(key: str, line: dict[str, Any]) -> dict[str, Any]:
        if len(server.asked) > 3 and not refused:
            refused.append(key)
        if key in refused:
            return {**line, "response": {"status_code": 400, "body": {"error": error}}}
        return line

    server.spoil = spoil
    until_finished(server, bench, tmp_path / "r")
    scores = open_run(tmp_path / "r").scores()
    failed = scores[scores["outcome"] == outcome]
    said = "content filter" if outcome == "filtered" else "too many images"
    assert set(failed["reason"].str.contains(said)) == {True}
    assert server.asked.count(refused[0]) == 1


def test_batches_can_be_cancelled(
    tmp_path: Path, server: BatchServer, make_benchmark: Maker
) -> None:
    """Nothing is out after that, and the run can be gone on with."""
    server.ready = False
    bench = make_benchmark(items=2)
    batch(server, bench, tmp_path / "r")
    ended = batch(server, bench, tmp_path / "r", "--cancel")
    assert "The same command without --cancel sends again" in ended.stderr
    assert {made["status"] for made in server.batches.values()} == {"cancelled"}


@pytest.mark.parametrize("part", [[], ["--shard", "1/1"]])
def test_cancelling_says_when_no_batch_was_out(
    tmp_path: Path, server: BatchServer, make_benchmark: Maker, part: list[str]
) -> None:
    """Nobody is to believe that something was ended, or is still on its way; a shard is in a folder of its own."""
    bench = make_benchmark(items=2)
    said = batch(server, bench, tmp_path / "r", *part, "--cancel")
    assert said.exit_code == 0 and not server.asked
    assert "no batch was out: there was nothing to cancel; 0 of 2 sessions" in said.stderr
    assert "told to end" not in said.stderr
    state = open_run(next(tmp_path.rglob("run.yaml")).parent).manifest
    assert state.state.startswith("stopped: cancelled") and not state.waiting

    server.ready = False
    batch(server, bench, tmp_path / "r", *part)
    assert "told to end" in batch(server, bench, tmp_path / "r", *part, "--cancel").stderr
    assert "nothing to cancel" in batch(server, bench, tmp_path / "r", *part, "--cancel").stderr


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
        done = folder_run(bench, out, box)
        assert done.exit_code == 0, done.output
        if open_run(out).manifest.state == "finished":
            break
        for path in box.glob("wave-*.jsonl"):
            _answer_file(path)
    assert (out / "scores.csv").read_bytes() == direct
    folder_run(bench, out, box, "--cancel")
    done = open_run(out).manifest
    assert done.state == "finished" and not done.waiting, "a finished run waits for nothing"


def folder_run(bench: Path, out: Path, box: Path, *more: str) -> Result:
    words = ["run", str(bench), "--judge", "openai/tiny@http://127.0.0.1:9/v1", "--out", str(out)]
    return CliRunner().invoke(command, [*words, "--batch", "--batch-dir", str(box), *more])


def _play_three_waves(bench: Path, out: Path, box: Path) -> None:
    """Send three waves into a folder, and answer each."""
    for _ in range(3):
        folder_run(bench, out, box)
        for path in box.glob("wave-*.jsonl"):
            _answer_file(path)


def test_a_failure_that_is_seen_three_times_has_happened_once(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """While answers come in, a line that failed is read at each look; it is still sent again."""
    bench, out, box = make_benchmark(items=3), tmp_path / "r", tmp_path / "box"
    _play_three_waves(bench, out, box)
    # The third wave is the first with a question for each of the three items.
    (wave,) = box.glob("wave-3-*[0-9a-f].jsonl")
    answers = wave.with_suffix(".out.jsonl")
    first, *rest = answers.read_text().splitlines(keepends=True)
    failed = json.loads(first) | {"response": {"status_code": 503, "body": {}}}
    answers.write_text(json.dumps(failed) + "\n" + rest[0])
    for _ in range(4):
        looked = folder_run(bench, out, box)
    assert "waiting for" in looked.stderr and f"{wave.stem}: wave 3, 2 of 3" in looked.stderr
    answers.write_text(answers.read_text() + rest[1])
    folder_run(bench, out, box)
    log = executor.BatchLog(out / "batches.jsonl")
    assert log.totals() == {"sent": 8, "answered": 4, "failed": 1} and not log.failures()


def test_a_folder_is_cancelled_with_what_is_answered_kept(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Only what waits is counted as cancelled."""
    bench, out, box = make_benchmark(items=3), tmp_path / "r", tmp_path / "box"
    _play_three_waves(bench, out, box)
    (answers,) = box.glob("wave-3-*.out.jsonl")
    answers.write_text(answers.read_text().splitlines(keepends=True)[0])
    assert folder_run(bench, out, box, "--cancel").exit_code == 0
    log = executor.BatchLog(out / "batches.jsonl")
    assert log.totals()["cancelled"] == 2 and not log.open()
    assert [batch.answered for batch in log.batches()] == [1, 1, 1]


def test_a_file_of_answers_that_is_still_written_is_not_complete(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Half a line is no answer: its question is waited for, not asked again."""
    bench, out, box = make_benchmark(items=3), tmp_path / "r", tmp_path / "box"
    _play_three_waves(bench, out, box)
    (answers,) = box.glob("wave-3-*.out.jsonl")
    whole = answers.read_text()
    answers.write_text(whole[:-20])
    assert "2 of 3 answered" in folder_run(bench, out, box).stderr
    answers.write_text(whole)
    folder_run(bench, out, box)
    assert executor.BatchLog(out / "batches.jsonl").totals()["answered"] == 5


def test_another_folder_is_not_taken_for_the_one_that_was_sent_to(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """Nothing is sent twice unasked: the folder may be mistyped."""
    bench, out = make_benchmark(items=3), tmp_path / "r"
    folder_run(bench, out, tmp_path / "box")
    lost = folder_run(bench, out, tmp_path / "bx")
    assert lost.exit_code == 1 and "is it the folder it was put into?" in str(lost.exception)
    assert not (tmp_path / "bx").exists()


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
    assert "without --cancel" in ended.output
    assert open_run(out).manifest.state.startswith("stopped: cancelled"), "nothing is out"
    until_finished(server, bench, out)
    assert (out / "scores.csv").read_bytes() == direct
    assert len(server.asked) == len(set(server.asked))


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


def test_what_is_in_doubt_goes_to_the_judge_itself_in_a_wave_of_its_own(
    tmp_path: Path, server: BatchServer, make_benchmark: Maker
) -> None:
    """It says that its own sentence voids nothing, and no repair turn is sent."""
    bench = make_benchmark(items=1, methods=("one",))
    sentence = "I'd call it a good generation and a poor edit."

    def reply(messages: list[dict[str, Any]]) -> str:
        text = json.dumps(messages[-1])
        if "<<<<<<<<" in text:
            told = {"number": 1, "sentence": sentence, "voids": False}
            return json.dumps({"sentences": [told]})
        if "Now give your scores" in text:
            return f"S_acc: 7\nS_pre: 8\nS_qua: 6\nS_real: 9\n\n{sentence}"
        return "I take note."

    server.reply = reply
    until_finished(server, bench, tmp_path / "r")
    manifest = open_run(tmp_path / "r").manifest
    assert (manifest.helped, manifest.repairs, manifest.unscored) == (4, 0, 0)


def test_a_line_ends_where_json_lines_end(
    tmp_path: Path, make_benchmark: Maker, server: BatchServer
) -> None:
    """Separators of Unicode within a reply cut no answer in two, to be paid for again."""
    bench = make_benchmark(items=1)
    server.as_ascii = False
    server.reply = lambda messages: "First.\u2028Then.\x85Last.\x0b\n" + playing(messages)
    until_finished(server, bench, tmp_path / "r")
    assert len(server.asked) == len(set(server.asked))


def test_an_answer_without_its_status_is_an_answer(
    tmp_path: Path, make_benchmark: Maker, server: BatchServer
) -> None:
    """It is there and paid for, whatever the server leaves out around it."""

    def spoil(_: str, answer: dict[str, Any]) -> dict[str, Any]:
        return {**answer, "response": {"body": answer["response"]["body"]}}

    server.spoil = spoil
    until_finished(server, make_benchmark(items=1), tmp_path / "r")
    assert open_run(tmp_path / "r").manifest.unscored == 0


@pytest.mark.parametrize(
    "line",
    [
        {"response": "fine", "error": None},
        {"response": {"status_code": "400", "body": "no"}, "error": "no"},
        {"response": {"status_code": 500.5, "body": {"error": ["no"]}}, "error": ["no"]},
        {"response": {"status_code": 200, "body": {"choices": "no"}}},
        {"response": {"status_code": 200, "body": {"choices": [{"message": {"content": 7}}]}}},
        {"response": {"status_code": True, "body": {"error": "no"}}, "error": {"code": ["no"]}},
    ],
)
def test_an_answer_of_no_shape_ends_its_session_and_nothing_else(
    tmp_path: Path, make_benchmark: Maker, server: BatchServer, line: dict[str, Any]
) -> None:
    """Whatever comes back, the run goes on and says why there is no score."""
    bench = make_benchmark(items=2)
    spoiled: list[str] = []

    def spoil(key: str, answer: dict[str, Any]) -> dict[str, Any]:
        if len(server.asked) > 3 and not spoiled:
            spoiled.append(key)
        return {**line, "custom_id": key} if key in spoiled else answer

    server.spoil = spoil
    until_finished(server, bench, tmp_path / "r")
    outcomes = open_run(tmp_path / "r").scores().groupby("item")["outcome"].unique()
    assert sorted("scored" in found for found in outcomes) == [False, True]


def test_orphans_are_looked_for_among_strangers_and_without_pages(
    tmp_path: Path, server: BatchServer, direct: bytes
) -> None:
    """A list that never ends, and batches without metadata, keep nobody from what is his."""
    server.strangers = [{"id": "batch-x", "object": "batch", "metadata": None, "status": "failed"}]
    server.pages = False
    server.crash_after_create = True
    batch(server, tmp_path / "bench", tmp_path / "r")
    server.crash_after_create = False
    until_finished(server, tmp_path / "bench", tmp_path / "r")
    assert len(server.asked) == len(set(server.asked))
    assert (tmp_path / "r" / "scores.csv").read_bytes() == direct


def test_an_intent_that_was_never_sent_is_sent_though_the_list_never_ends(
    tmp_path: Path, server: BatchServer, direct: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search for an orphan that does not exist comes to an end."""
    from lmmscore.errors import JudgeUnavailable
    from lmmscore.judges.http import ApiMailbox

    async def fails(*_: Any) -> str:
        raise JudgeUnavailable("lost on the way")

    server.strangers = [{"id": "batch-x", "object": "batch", "metadata": "?", "status": "failed"}]
    server.pages = False
    with monkeypatch.context() as patched:
        patched.setattr(ApiMailbox, "send", fails)
        batch(server, tmp_path / "bench", tmp_path / "r")
    until_finished(server, tmp_path / "bench", tmp_path / "r")
    assert (tmp_path / "r" / "scores.csv").read_bytes() == direct


def test_a_batch_that_is_gone_is_named_and_can_be_given_up(
    tmp_path: Path, server: BatchServer, direct: bytes
) -> None:
    """Nothing is sent twice unasked: it may be the wrong server. `--cancel` forgets the batch."""
    bench, out = tmp_path / "bench", tmp_path / "r"
    batch(server, bench, out)
    server.batches.clear()
    lost = batch(server, bench, out)
    assert lost.exit_code == 1 and "--cancel" in str(lost.exception) and len(server.asked) == 1
    assert batch(server, bench, out, "--cancel").exit_code == 0
    until_finished(server, bench, out)
    assert (out / "scores.csv").read_bytes() == direct


def test_a_key_in_a_complaint_about_a_batch_reaches_no_file(
    tmp_path: Path, make_benchmark: Maker, server: BatchServer
) -> None:
    """Neither from a line, escaped or not, nor from the reason why a whole batch failed."""
    bench, out, key = make_benchmark(items=1), tmp_path / "r", "sk-never-written-down"

    def spoil(_: str, line: dict[str, Any]) -> dict[str, Any]:
        error = {"message": f"wrong key {key}", "code": "invalid"}
        return {**line, "response": None, "error": error}

    server.spoil = spoil
    until_finished(server, bench, out)
    other = make_benchmark(items=2)
    server.ready = False
    batch(server, other, tmp_path / "s")
    for made in server.batches.values():
        made |= {"status": "failed", "errors": {"data": [{"message": f"key {key} is wrong"}]}}
    failed = batch(server, other, tmp_path / "s")
    assert failed.exit_code == 1 and "refused" in str(failed.exception)
    assert key not in failed.output + str(failed.exception)
    for path in (*out.rglob("*"), *(tmp_path / "s").rglob("*")):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("padding", [0, 285])
def test_a_key_in_a_refusal_of_batches_is_not_shown(
    tmp_path: Path, make_benchmark: Maker, server: BatchServer, padding: int
) -> None:
    """Nor a part of it, where the message is cut in the middle of the key."""
    server.complaint = "x" * padding + "sk-never-written-down"
    refused = batch(server, make_benchmark(items=1), tmp_path / "r")
    assert refused.exit_code == 1 and "batches: " in str(refused.exception)
    assert "sk-never" not in refused.output + str(refused.exception)


def test_a_key_is_not_taken_along_to_another_server(
    tmp_path: Path, make_benchmark: Maker, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A redirect of a file is refused, whatever header the key goes by."""
    (tmp_path / "judges.yaml").write_text(
        f"judges: {{mine: {{model: tiny, base_url: '{server.url}/v1', key_header: api-key}}}}"  # type: ignore[attr-defined]
    )
    monkeypatch.setenv("LMMSCORE_JUDGES", str(tmp_path / "judges.yaml"))
    bench = make_benchmark(items=1)
    with serving(Server()) as elsewhere:
        server.redirect = elsewhere.url
        words = ["run", str(bench), "--judge", "mine", "--out", str(tmp_path / "r"), "--batch"]
        assert CliRunner().invoke(command, words).exit_code == 0
        refused = CliRunner().invoke(command, words)
        assert refused.exit_code == 1 and not elsewhere.served


@pytest.mark.parametrize(("gate", "waves"), [("true", 2), ("false", 1)])
def test_a_suite_takes_the_waves_that_the_plan_says(
    tmp_path: Path, make_benchmark: Maker, server: BatchServer, gate: str, waves: int
) -> None:
    """Its members go out together, unless the answer to one may spare the other."""
    bench = make_benchmark(items=1, methods=("a",), kinds=("source", "marked"))
    suite = (Path(__file__).parents[2] / "dialogs" / "visual.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(suite.replace("gate: true", f"gate: {gate}"))
    dialog = ("--dialog", str(tmp_path / "mine.yaml"))

    def reply(messages: list[dict[str, Any]]) -> str:
        names = ["Contextual_Preservation"]
        if "THREE metrics" in json.dumps(messages[-1]):
            names = [
                "Visual_Instruction_Localization_Correctness",
                "Visual_Operator_Type_Compliance",
                "Textual_Action_Semantic_Compliance",
            ]
        return json.dumps({name: {"reason": "Seen.", "score": 1} for name in names})

    server.reply = reply
    planned = CliRunner().invoke(
        command, ["plan", str(bench), "--judge", "openai/tiny", "--batch", "--json", *dialog]
    )
    for _ in range(waves + 1):
        done = batch(server, bench, tmp_path / "r", *dialog)
        assert done.exit_code == 0, done.output
    assert open_run(tmp_path / "r").manifest.state == "finished"
    assert len(server.batches) == waves
    assert json.loads(planned.stdout)["waves"] == waves


def test_a_log_cut_short_by_a_full_disk_goes_on(tmp_path: Path) -> None:
    """Half a line is dropped, and what is written after it is not lost with it: no wave goes out twice."""
    path = tmp_path / "batches.jsonl"
    executor.BatchLog(path).write(event="intent", wave=1, digest="a" * 64, lines=2)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"event": "crea')

    executor.BatchLog(path).write(event="created", digest="a" * 64, id="batch_1")
    log = executor.BatchLog(path)
    log.write(event="state", digest="a" * 64, status="in_progress", answered=1)
    (batch,) = executor.BatchLog(path).open()
    assert (batch.id, batch.answered) == ("batch_1", 1)
