"""The batch executor: all questions that can be asked now go out as files, and the process ends.

Run again, it collects what is answered, writes every answer to the ledger, and sends the questions that
follow from them: the next wave. A conversation of k questions takes k waves.

What was sent is on disk before it is sent: `batches.jsonl` in the run's folder holds an intent for every
file, then the batch's id. A crash between the two is mended by asking the server which batches carry the
intent's digest. Nothing is sent twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from lmmscore.conversation import Conversation
from lmmscore.errors import ImageProblem, JudgeError, LmmscoreError
from lmmscore.execution.base import Job, answered, asked, executors
from lmmscore.judges.batches import BatchState, FolderMailbox, Mailbox, answer_line
from lmmscore.ledger import Envelope, key_of
from lmmscore.plan import Unit
from lmmscore.records import Outcome, Reply
from lmmscore.scores import Result, result_of, settled
from lmmscore.session import Done, Exchange, Played, Question, Session

MOST_LINES = 50_000
MOST_BYTES = 190_000_000
"""What a batch file may hold; providers say 50,000 lines and 200 MB."""
POLL_S = 60.0
"""How often `--wait` looks whether a batch has ended."""
TRIES = 3
"""How often a request that fails for the server's reasons is sent again."""

EXPIRED = "batch_expired"


class BatchJudge(Protocol):
    """What a judge must be able to do for its questions to travel by file."""

    batch_url: str
    """The address a request is meant for: `/v1/chat/completions`."""

    async def batch_body(self, conversation: Conversation) -> bytes:
        """Return the request as one line of JSON."""

    def batch_reply(self, body: Mapping[str, Any]) -> Reply:
        """Read an answer. Raises JudgeError where there is none in it."""

    def batch_mailbox(self) -> Mailbox:
        """Return where the provider takes batches."""


@dataclass(slots=True)
class _Batch:
    """A file of questions on its way."""

    wave: int
    digest: str
    lines: int
    id: str = ""
    ended: bool = False


@executors.register("batch")
class BatchExecutor:
    """Plays units in waves of batches."""

    def __init__(self, job: Job) -> None:
        self._job = job
        judge = job.judge.judge
        if not hasattr(judge, "batch_body"):
            raise LmmscoreError(f"{judge.name} takes no batches; run without --batch")
        if job.reader is not None:
            raise LmmscoreError(
                "batches are read by the judge itself; leave out --reader, or give --reader none"
            )
        self._judge: BatchJudge = judge  # type: ignore[assignment]
        options = job.engine_options
        folder = options.get("batch_dir")
        self._mailbox: Mailbox = (
            FolderMailbox(Path(folder)) if folder else self._judge.batch_mailbox()
        )
        self._wait = bool(options.get("wait"))
        self._cancel = bool(options.get("cancel"))
        self._files = job.folder / "batches"
        self._log = _Log(job.folder / "batches.jsonl")
        self.counts: Counter[str] = Counter()
        self.error: JudgeError | None = None
        self.waiting = ""

    def stop(self, error: JudgeError) -> None:
        """Send nothing more. Batches that are out stay out, and are collected by the next run."""
        if self.error is None:
            self.error = error
            self._job.judge.stop(error)

    async def run(self, units: Iterable[Unit], sink: Callable[[Result], None]) -> None:
        """Collect, write down, send the next wave; with `wait`, until nothing is left to send."""
        plan = list(units)
        try:
            await self._find_orphans()
            while True:
                await self._collect()
                if self._cancel:
                    await self._cancel_all()
                    break
                await self._send_wave(plan)
                if not self._log.open() or not self._wait or self.error is not None:
                    break
                await asyncio.sleep(POLL_S)
        except JudgeError as error:
            self.stop(error)
        finally:
            await self._mailbox.close()
        for unit in plan:
            result = self._derive(unit)
            if result is not None:
                self._job.listeners.on_result(result)
                sink(result)
        out = sum(batch.lines for batch in self._log.open())
        if out and self.error is None:
            batches = len(self._log.open())
            self.waiting = f"{out} questions in {batches} batch{'es' if batches > 1 else ''}"

    async def _find_orphans(self) -> None:
        """Give every intent its batch: found at the server, or else never sent and forgotten."""
        for batch in self._log.batches():
            if not batch.id and not batch.ended:
                found = await self._mailbox.find(self._metadata(batch))
                if found:
                    self._log.write(event="created", digest=batch.digest, id=found)
                else:
                    self._log.write(event="ended", digest=batch.digest, status="never sent")

    def _metadata(self, batch: _Batch) -> dict[str, str]:
        run = hashlib.sha256(self._job.folder.name.encode()).hexdigest()[:16]
        return {"lmmscore": run, "wave": str(batch.wave), "digest": batch.digest}

    async def _collect(self) -> None:
        for batch in self._log.open():
            state = await self._mailbox.state(batch.id)
            envelopes = self._envelopes(batch)
            async for line in self._mailbox.answers(batch.id):
                self._take(line, envelopes)
            self._note(batch, state)
            if state.ended:
                self._log.write(event="ended", digest=batch.digest, status=state.status)

    def _note(self, batch: _Batch, state: BatchState) -> None:
        self.counts[state.status] += 1
        if state.status == "failed":
            self.stop(
                _BatchFailed(f"batch {batch.id} was refused by the server: {state.reason or '?'}")
            )

    def _take(self, line: str, envelopes: Mapping[str, Envelope]) -> None:
        """Write one answer to the ledger, or note why there is none."""
        found = answer_line(line)
        if found is None or found[0] not in envelopes:
            self.counts["unknown"] += 1
            return
        key, data = found
        response = data.get("response") or {}
        if data.get("error") or response.get("status_code") != 200:
            self._note_failure(key, data, envelopes)
            return
        try:
            reply = self._judge.batch_reply(response.get("body") or {})
        except JudgeError as error:
            self._log.write(event="failed", key=key, outcome=Outcome.FAILED, reason=str(error))
            return
        self._record(envelopes[key], reply)

    def _record(self, envelope: Envelope, reply: Reply) -> None:
        recorded = self._job.judge
        if recorded.ledger.find(envelope.key) is not None:
            self.counts["twice"] += 1
            return
        recorded.ledger.record_envelope(recorded.asker, envelope, reply).result()
        self.counts["answered"] += 1

    def _note_failure(
        self, key: str, data: Mapping[str, Any], envelopes: Mapping[str, Envelope]
    ) -> None:
        response = data.get("response") or {}
        error = data.get("error") or (response.get("body") or {}).get("error") or {}
        code, status = error.get("code"), response.get("status_code") or 0
        says = str(error.get("message") or code or f"status {status}")
        if code == EXPIRED:
            self.counts["expired"] += 1
            return
        self.counts["failed"] += 1
        if status == 429 or status >= 500:
            self._log.write(event="retry", key=key)
            return
        if code == "content_filter":
            # Evidence like any other reply, as it is when asked directly.
            withheld = Reply("", finish="content_filter", refusal=says)
            self._record(envelopes[key], withheld)
            return
        self._log.write(event="failed", key=key, outcome=Outcome.FAILED, reason=says)

    async def _cancel_all(self) -> None:
        for batch in self._log.open():
            await self._mailbox.cancel(batch.id)
            self._log.write(event="ended", digest=batch.digest, status="cancelled")
            self.counts["cancelled"] += 1

    async def _send_wave(self, plan: list[Unit]) -> None:
        """Send every question that can be asked now and is not on its way."""
        if self.error is not None:
            return
        out = {key for batch in self._log.open() for key in self._envelopes(batch)}
        wave = 1 + max((batch.wave for batch in self._log.batches()), default=0)
        writer = _FileWriter(self._files, wave)
        for key, conversation, repeat in self._questions(plan):
            if key in out:
                continue
            out.add(key)
            body = await self._judge.batch_body(conversation)
            line = _line(key, self._judge.batch_url, body)
            envelope = Envelope.of(self._job.judge.asker, conversation, repeat)
            if writer.is_full(len(line)):
                await self._send_file(writer)
                writer = _FileWriter(self._files, wave)
            writer.add(line, envelope)
        if writer.lines:
            await self._send_file(writer)

    async def _send_file(self, writer: _FileWriter) -> None:
        digest = writer.close()
        batch = _Batch(writer.wave, digest, writer.lines)
        self._log.write(event="intent", wave=batch.wave, digest=digest, lines=batch.lines)
        metadata = self._metadata(batch)
        made = await self._mailbox.send(writer.path, self._judge.batch_url, metadata)
        self._log.write(event="created", digest=digest, id=made)
        self.counts["sent"] += batch.lines

    def _questions(self, plan: list[Unit]) -> Iterator[tuple[str, Conversation, int]]:
        """Yield the next question of every session that has one."""
        for unit in plan:
            for session in self._job.protocol.sessions(unit):
                played, question = self._replay(session)
                if question is not None:
                    yield question
                    break
                if played is not None and settled(self._job.protocol, played):
                    break

    def _replay(
        self, session: Session
    ) -> tuple[Played | None, tuple[str, Conversation, int] | None]:
        """Lead a session as far as answers are on record: to its end, or to the question to ask."""
        begun = session
        exchanges: list[Exchange] = []
        conversation = Conversation()
        failures = self._log.failures()
        recorded = self._job.judge
        while isinstance(question := session.next(), Question):
            try:
                put = asked(conversation, question, self._job.pictures)
            except ImageProblem as error:
                session = session.end(Outcome.FAILED, str(error), type(error).__name__)
                continue
            key = key_of(recorded.asker, put, session.repeat)
            heard = recorded.recall(put, session.repeat)
            if heard is None and key in failures:
                session = session.end(*failures[key])
                continue
            if heard is None:
                return None, (key, put, session.repeat)
            exchanges.append(Exchange(question, heard.reply, True, heard.key))
            conversation = answered(conversation, put, question, heard.reply)
            session = session.hear(heard.reply)
        assert isinstance(question, Done)
        return Played(begun, tuple(exchanges), question), None

    def _derive(self, unit: Unit) -> Result | None:
        """Return the unit's result once all of its sessions are over."""
        finished: list[Played] = []
        for session in self._job.protocol.sessions(unit):
            played, _ = self._replay(session)
            if played is None:
                return None
            finished.append(played)
            if settled(self._job.protocol, played):
                break
        return result_of(unit, self._job.protocol, finished)

    def _envelopes(self, batch: _Batch) -> dict[str, Envelope]:
        return _read_envelopes(self._files / f"{batch.digest[:16]}.keys.jsonl")


class _BatchFailed(JudgeError):
    """The server took a file and refused it as a whole."""

    scope = "run"


def _line(key: str, url: str, body: bytes) -> bytes:
    head = json.dumps({"custom_id": key, "method": "POST", "url": url})
    return head[:-1].encode() + b', "body": ' + body + b"}\n"


class _FileWriter:
    """A batch file being written, with what the ledger needs to know beside it."""

    def __init__(self, folder: Path, wave: int) -> None:
        self.wave = wave
        self.lines = 0
        self.path = folder / f"wave-{wave}.part"
        self._folder = folder
        self._bytes = 0
        self._digest = hashlib.sha256()
        self._envelopes: list[Envelope] = []
        folder.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("wb")

    def is_full(self, more: int) -> bool:
        """Tell whether a line of so many bytes would be too much."""
        return self.lines >= MOST_LINES or (self.lines > 0 and self._bytes + more > MOST_BYTES)

    def add(self, line: bytes, envelope: Envelope) -> None:
        """Append a request."""
        self._file.write(line)
        self._digest.update(line)
        self._bytes += len(line)
        self._envelopes.append(envelope)
        self.lines += 1

    def close(self) -> str:
        """Finish both files and return the digest that names them."""
        self._file.close()
        digest = self._digest.hexdigest()
        with (self._folder / f"{digest[:16]}.keys.jsonl").open("w", encoding="utf-8") as keys:
            for envelope in self._envelopes:
                keys.write(json.dumps(asdict(envelope), ensure_ascii=False) + "\n")
        final = self._folder / f"{digest[:16]}.jsonl"
        self.path.replace(final)
        self.path = final
        return digest


def _read_envelopes(path: Path) -> dict[str, Envelope]:
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8") as file:
        envelopes = [Envelope(**json.loads(line)) for line in file]
    return {envelope.key: envelope for envelope in envelopes}


@dataclass
class _Log:
    """batches.jsonl: what was meant, sent, ended and failed, one event to a line, never changed."""

    path: Path
    _events: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.path.is_file():
            with self.path.open(encoding="utf-8") as file:
                self._events = [json.loads(line) for line in file if line.endswith("\n")]

    def write(self, **event: Any) -> None:
        """Append an event; on disk before anything else happens."""
        event["at"] = datetime.now(UTC).isoformat(timespec="seconds")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event, ensure_ascii=False) + "\n")
            file.flush()
        self._events.append(event)

    def batches(self) -> list[_Batch]:
        """Return every batch there was an intent for."""
        found: dict[str, _Batch] = {}
        for event in self._events:
            if event["event"] == "intent":
                found[event["digest"]] = _Batch(event["wave"], event["digest"], event["lines"])
            elif event["event"] == "created":
                found[event["digest"]].id = event["id"]
            elif event["event"] == "ended":
                found[event["digest"]].ended = True
        return list(found.values())

    def open(self) -> list[_Batch]:
        """Return the batches that are out."""
        return [batch for batch in self.batches() if batch.id and not batch.ended]

    def failures(self) -> dict[str, tuple[Outcome, str]]:
        """Return the questions that will not be answered, and why."""
        found: dict[str, tuple[Outcome, str]] = {}
        retries: Counter[str] = Counter()
        for event in self._events:
            if event["event"] == "failed":
                found[event["key"]] = (Outcome(event["outcome"]), event["reason"])
            elif event["event"] == "retry":
                retries[event["key"]] += 1
                if retries[event["key"]] >= TRIES:
                    reason = f"the server failed {TRIES} times in batches"
                    found[event["key"]] = (Outcome.FAILED, reason)
        return found
