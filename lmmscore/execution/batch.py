"""The batch executor: all questions that can be asked now go out as files, and the process ends.

Run again, it collects what is answered, writes every answer to the ledger, and sends the questions
that follow from them: the next wave. A conversation of k questions takes k waves.

What was sent is on disk before it is sent: `batches.jsonl` in the run's folder holds an intent for
every file, then the batch's id. A crash between the two is mended by asking the server which
batches carry the intent's digest. Nothing is sent twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lmmscore.conversation import Conversation
from lmmscore.errors import BudgetExhausted, JudgeError, LmmscoreError
from lmmscore.execution.executor import Job, LedSession, OpenQuestion, StopRequested, engine
from lmmscore.judges.faults import tolerant_json
from lmmscore.judges.judge import Heard
from lmmscore.ledger import Envelope, key_of
from lmmscore.options import MACHINES, option
from lmmscore.plan import Unit
from lmmscore.records import Outcome, Reply
from lmmscore.scores import Result, is_gated, result_of, settled
from lmmscore.session import Ending, Played

if TYPE_CHECKING:
    from lmmscore.judges.batches import BatchState, Mailbox

MOST_LINES = 50_000
MOST_BYTES = 190_000_000
"""What a batch file may hold; providers say 50,000 lines and 200 MB."""
POLL_S = 60.0
"""How often `--wait` looks whether a batch has ended."""
SHOWN = 3
"""How many open batches are named one by one."""
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

    def batch_usd(self, conversation: Conversation) -> float:
        """Return what a question may cost at most in a batch."""

    @property
    def left_usd(self) -> float | None:
        """What is left of the budget; None where there is none."""

    def charge(self, usd: float, *, assumed: bool = False) -> None:
        """Book the price of an answer."""


@dataclass(slots=True)
class Batch:
    """A file of questions on its way."""

    wave: int
    digest: str
    lines: int
    most_usd: float = 0.0
    """What its answers may cost together."""
    id: str = ""
    status: str = ""
    """What the server said of it last."""
    answered: int = 0
    ended: bool = False

    def __str__(self) -> str:
        answered = f"{self.answered} of {self.lines} answered"
        return f"{self.id}: wave {self.wave}, {answered}, {self.status or 'sent'}"


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """What only this engine understands."""

    wait: bool = option(
        False, "With --batch: stay until every wave is answered.", flag="--wait", group=MACHINES
    )
    cancel: bool = option(
        False, "With --batch: end the batches that are out.", flag="--cancel", group=MACHINES
    )
    batch_dir: Path | None = option(
        None,
        "With --batch: a folder for `vllm run-batch` files instead of a provider.",
        flag="--batch-dir",
        group=MACHINES,
    )


@engine("batch", BatchOptions)
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
        self._options: BatchOptions = job.engine_options
        # Its package is slow to import, and this module is there for every `run --help`.
        from lmmscore.judges.batches import FolderMailbox

        folder = self._options.batch_dir
        self._mailbox: Mailbox = FolderMailbox(folder) if folder else self._judge.batch_mailbox()
        self._files = job.folder / "batches"
        self._log = BatchLog(job.folder / "batches.jsonl")
        self._stopped = asyncio.Event()
        self._failures: dict[str, Ending] = {}
        self.counts: Counter[str] = Counter()
        """What became of the lines that came back, and of those that went out."""
        self.error: JudgeError | None = None
        self.waiting = ""

    def stop(self, error: JudgeError) -> None:
        """Send nothing more. Batches that are out stay out, and are collected by the next run."""
        if self.error is not None:
            return

        if isinstance(error, StopRequested) and self._log.open():
            error = StopRequested(
                f"interrupted; {self._log.summary()} go on without this command. Run it again to "
                "collect them, or with --cancel to end them"
            )

        self.error = error
        self._job.judge.stop(error)
        self._stopped.set()

    async def run(self, units: Iterable[Unit], sink: Callable[[Result], None]) -> None:
        """Collect, write down, send the next wave; with `wait`, until nothing is left to send."""
        plan = list(units)
        try:
            await self._find_orphans()
            await self._collect()
            if self._options.cancel:
                await self._cancel_all()
            else:
                await self._send_waves(plan)
        except JudgeError as error:
            self.stop(error)

        self._failures = self._log.failures()
        for unit in plan:
            result = self._derive(unit)
            if result is not None:
                self._job.listeners.on_result(result)
                sink(result)

        if self._log.open():
            self.waiting = self._log.summary()
        elif self._options.cancel:
            self.waiting = "a run without --cancel, which sends again what was not answered"

        if self.counts:
            self._log.write(event="counted", **self.counts)

    async def close(self) -> None:
        """Let go of the mailbox's connections."""
        await self._mailbox.close()

    async def _send_waves(self, plan: list[Unit]) -> None:
        """Send what can be asked now; with `wait`, look again and again until nothing is out."""
        await self._send_wave(plan)
        while self._options.wait and self._log.open() and self.error is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), POLL_S)
            if self.error is None and await self._collect():
                await self._send_wave(plan)

    async def _find_orphans(self) -> None:
        """Give every intent its batch: found at the server, or else never sent and forgotten."""
        for batch in self._log.batches():
            if not batch.id and not batch.ended:
                found = await self._mailbox.find(self._metadata(batch))
                if found:
                    self._note_sent(batch, found)
                else:
                    self._log.write(event="ended", digest=batch.digest, status="never sent")

    def _metadata(self, batch: Batch) -> dict[str, str]:
        run = hashlib.sha256(self._job.folder.name.encode()).hexdigest()[:16]
        return {"lmmscore": run, "wave": str(batch.wave), "digest": batch.digest}

    async def _collect(self) -> bool:
        """Write down every answer there is; tell whether anything has changed."""
        changed = False
        for batch in self._log.open():
            state = await self._mailbox.state(batch.id)
            if state.gone and not self._options.cancel:
                raise _BatchFailed(
                    f"the server does not know batch {batch.id}; is it the one that it was sent "
                    "to? If the batch is gone, run the same command with --cancel, then without"
                )

            envelopes = self._envelopes(batch)
            async for line in self._mailbox.answers(batch.id):
                self._take(line, envelopes, batch)

            self._note(batch, state)
            if state.ended or state.gone:
                self._log.write(event="ended", digest=batch.digest, status=state.status)
                changed = True

        return changed

    def _note(self, batch: Batch, state: BatchState) -> None:
        if (batch.status, batch.answered) != (state.status, state.answered):
            self._log.write(
                event="state", digest=batch.digest, status=state.status, answered=state.answered
            )

        if state.status == "failed":
            self.stop(
                _BatchFailed(f"batch {batch.id} was refused by the server: {state.reason or '?'}")
            )

    def _take(self, line: str, envelopes: Mapping[str, Envelope], batch: Batch) -> None:
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

        if not self._record(envelopes[key], reply):
            return

        if reply.cost_usd is not None:
            self._judge.charge(reply.cost_usd)
        elif batch.most_usd:
            # Nobody counted: it is taken to have cost what was reckoned with.
            self._judge.charge(batch.most_usd / batch.lines, assumed=True)

    def _record(self, envelope: Envelope, reply: Reply) -> bool:
        """Write an answer down; False where it is on record already."""
        recorded = self._job.judge
        if recorded.ledger.find(envelope.key) is not None:
            self.counts["twice"] += 1
            return False

        recorded.ledger.record_envelope(recorded.asker, envelope, reply).result()
        self.counts["answered"] += 1
        return True

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
            self.counts["cancelled"] += batch.lines
        # What was answered before is paid for, and kept. A server may take a while to end a batch:
        # then the next run collects it.
        await self._collect()

    async def _send_wave(self, plan: list[Unit]) -> None:
        """Send every question that can be asked now and is not on its way."""
        if self.error is not None:
            return

        out = {key for batch in self._log.open() for key in self._envelopes(batch)}
        wave = 1 + max((batch.wave for batch in self._log.batches()), default=0)
        writers = [_FileWriter(self._files, wave, 1)]
        for put in self._questions(plan):
            key, conversation = self._key(put), put.conversation
            if key in out:
                continue

            out.add(key)
            body = await self._judge.batch_body(conversation)
            line = _line(key, self._judge.batch_url, body)
            envelope = Envelope.of(self._job.judge.asker, conversation, put.repeat)
            if writers[-1].is_full(len(line)):
                writers.append(_FileWriter(self._files, wave, len(writers) + 1))

            usd = 0.0 if self._judge.left_usd is None else self._judge.batch_usd(conversation)
            writers[-1].add(line, envelope, usd)

        digests = [writer.close() for writer in writers]
        self._refuse_beyond_budget(sum(writer.most_usd for writer in writers))
        for writer, digest in zip(writers, digests, strict=True):
            if writer.lines and self.error is None:
                await self._send_file(writer, digest)

    def _refuse_beyond_budget(self, wave_usd: float) -> None:
        """Raise where the budget has no room for a wave; then nothing of it is sent."""
        left_usd = self._judge.left_usd
        if left_usd is None or not wave_usd:
            return

        out_usd = sum(batch.most_usd for batch in self._log.open())
        if wave_usd > left_usd - out_usd + 1e-9:
            raise BudgetExhausted(
                f"budget: {left_usd:.2f} USD left, {out_usd:.2f} of it for batches that are out, "
                f"and the next wave may cost {wave_usd:.2f}; nothing of it was sent, and "
                "everything paid for is saved: resume with a larger --budget"
            )

    async def _send_file(self, writer: _FileWriter, digest: str) -> None:
        batch = Batch(writer.wave, digest, writer.lines, writer.most_usd)
        self._log.write(
            event="intent",
            wave=batch.wave,
            digest=digest,
            lines=batch.lines,
            most_usd=round(batch.most_usd, 9),
        )
        metadata = self._metadata(batch)
        made = await self._mailbox.send(writer.path, self._judge.batch_url, metadata)
        self._note_sent(batch, made)

    def _note_sent(self, batch: Batch, made: str) -> None:
        self._log.write(event="created", digest=batch.digest, id=made)
        self.counts["sent"] += batch.lines

    def _questions(self, plan: list[Unit]) -> Iterator[OpenQuestion]:
        """Yield the next question of every session that has one."""
        self._failures = self._log.failures()
        for unit in plan:
            _, questions = self._replay(unit)
            yield from questions

    def _replay(self, unit: Unit) -> tuple[list[Played], list[OpenQuestion]]:
        """Lead a unit's sessions as far as answers are on record; return the questions to ask.

        All of its sessions at once, unless the answers of one may spare the others.
        """
        protocol = self._job.protocol
        finished: list[Played] = []
        questions: list[OpenQuestion] = []
        for session in protocol.sessions(unit):
            led = LedSession(session, self._job.pictures)
            question = led.recall(self._on_record)
            if question is None:
                finished.append(led.played())
                if settled(protocol, finished[-1]):
                    break
            else:
                questions.append(question)
                if is_gated(protocol):
                    break

        return finished, questions

    def _on_record(self, put: OpenQuestion) -> Heard | Ending | None:
        """Return what the ledger has, or why there will be no answer; None: it is to be asked."""
        recorded = self._job.judge
        heard = recorded.recall(put.conversation, put.repeat)
        return heard or self._failures.get(self._key(put))

    def _key(self, put: OpenQuestion) -> str:
        return key_of(self._job.judge.asker, put.conversation, put.repeat)

    def _derive(self, unit: Unit) -> Result | None:
        """Return the unit's result once all of its sessions are over."""
        played, questions = self._replay(unit)
        return None if questions else result_of(unit, self._job.protocol, played)

    def _envelopes(self, batch: Batch) -> dict[str, Envelope]:
        return _read_envelopes(self._files / f"{batch.digest[:16]}.keys.jsonl")


def answer_line(line: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return a line's id, with its response and error; None for a line that is none.

    Whatever should be an object is one, be it empty, and `status_code` is a number.
    """
    try:
        data = tolerant_json(line.encode("utf-8", "replace"))
    except ValueError:
        return None

    if not isinstance(data, dict) or not isinstance(data.get("custom_id"), str):
        return None

    response = _object(data.get("response"))
    body = _object(response.get("body"))
    if body.get("error"):
        body["error"] = _complaint(body["error"])

    status = str(response.get("status_code"))
    response = {"body": body, "status_code": int(status) if status.isdecimal() else 0}
    return data["custom_id"], {"response": response, "error": _complaint(data.get("error"))}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _complaint(value: Any) -> dict[str, Any]:
    return {"message": value} if isinstance(value, str) and value else _object(value)


class _BatchFailed(JudgeError):
    """The server took a file and refused it as a whole."""

    scope = "run"


def _line(key: str, url: str, body: bytes) -> bytes:
    head = json.dumps({"custom_id": key, "method": "POST", "url": url})
    return head[:-1].encode() + b', "body": ' + body + b"}\n"


class _FileWriter:
    """A batch file being written, with what the ledger needs to know beside it."""

    def __init__(self, folder: Path, wave: int, number: int) -> None:
        self.wave = wave
        self.lines = 0
        self.most_usd = 0.0
        self.path = folder / f"wave-{wave}-{number}.part"
        self._folder = folder
        self._bytes = 0
        self._digest = hashlib.sha256()
        self._envelopes: list[Envelope] = []
        folder.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("wb")

    def is_full(self, more: int) -> bool:
        """Tell whether a line of so many bytes would be too much."""
        return self.lines >= MOST_LINES or (self.lines > 0 and self._bytes + more > MOST_BYTES)

    def add(self, line: bytes, envelope: Envelope, most_usd: float) -> None:
        """Append a request, and what it may cost."""
        self.most_usd += most_usd
        self._file.write(line)
        self._digest.update(line)
        self._bytes += len(line)
        self._envelopes.append(envelope)
        self.lines += 1

    def close(self) -> str:
        """Finish both files and return the digest that names them."""
        self._file.close()
        digest = self._digest.hexdigest()
        if not self.lines:
            self.path.unlink()
            return digest

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
class BatchLog:
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

    def batches(self) -> list[Batch]:
        """Return every batch there was an intent for."""
        found: dict[str, Batch] = {}
        for event in self._events:
            digest = event.get("digest", "")
            if event["event"] == "intent":
                usd = event.get("most_usd", 0.0)
                found[digest] = Batch(event["wave"], digest, event["lines"], usd)
            elif event["event"] == "created":
                found[digest].id = event["id"]
            elif event["event"] == "state":
                found[digest].status = event["status"]
                found[digest].answered = event["answered"]
            elif event["event"] == "ended":
                found[digest].status = event["status"]
                found[digest].ended = True

        return list(found.values())

    def open(self) -> list[Batch]:
        """Return the batches that are out."""
        return [batch for batch in self.batches() if batch.id and not batch.ended]

    def summary(self) -> str:
        """Return what is out, in words: how many questions, and how far the batches are."""
        out = self.open()
        lines = sum(batch.lines for batch in out)
        shown = "; ".join(map(str, out[:SHOWN]))
        more = f"; and {len(out) - SHOWN} more" if len(out) > SHOWN else ""

        questions = "1 question" if lines == 1 else f"{lines:,} questions"
        batches = "1 batch" if len(out) == 1 else f"{len(out)} batches"
        return f"{questions} in {batches} ({shown}{more})"

    def totals(self) -> Counter[str]:
        """Return what became of the lines so far: answered, expired, failed, twice, unknown."""
        totals: Counter[str] = Counter()
        for event in self._events:
            if event["event"] == "counted":
                totals.update({k: v for k, v in event.items() if isinstance(v, int)})
        return totals

    def failures(self) -> dict[str, Ending]:
        """Return the questions that will not be answered, and why."""
        found: dict[str, Ending] = {}
        retries: Counter[str] = Counter()
        for event in self._events:
            if event["event"] == "failed":
                found[event["key"]] = Ending(Outcome(event["outcome"]), event["reason"])
            elif event["event"] == "retry":
                retries[event["key"]] += 1
                if retries[event["key"]] >= TRIES:
                    reason = f"the server failed {TRIES} times in batches"
                    found[event["key"]] = Ending(Outcome.FAILED, reason)

        return found
