"""The batch executor: all questions that can be asked now go out as files, and the process ends.

Run again, it collects what is answered, writes every answer to the ledger, and sends the questions
that follow from them: the next wave. A conversation of k questions takes k waves.

`batches.jsonl` in the run's folder holds an intent for every file before it is sent, and the
batch's id after. After a crash between the two, the server is asked which batches carry the
intent's digest. Nothing is sent twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lmmscore.conversation import Conversation
from lmmscore.errors import (
    BudgetExhausted,
    FatalJudgeError,
    JudgeError,
    LmmscoreError,
    counted,
)
from lmmscore.execution.executor import (
    Executor,
    Job,
    OpenQuestion,
    StopRequested,
    engine,
    replay_unit,
)
from lmmscore.judges.faults import RETRIED, complaint_of, tolerant_json
from lmmscore.judges.judge import Heard
from lmmscore.ledger import Envelope, key_of
from lmmscore.options import MACHINES, option
from lmmscore.plan import Unit
from lmmscore.records import Outcome, Reply
from lmmscore.scores import Result, result_of
from lmmscore.session import Ending, Played

if TYPE_CHECKING:
    from lmmscore.judges.http import BatchState, Mailbox

MOST_LINES = 50_000
MOST_BYTES = 190_000_000
"""What a batch file may hold; providers say 50,000 lines and 200 MB."""
LOGGER = logging.getLogger("lmmscore.execution.batch")

POLL_S = 60.0
"""How often `--wait` looks whether a batch has ended."""
SHOWN = 3
"""How many open batches are named one by one."""
TRIES = 3
"""How often a request that fails for the server's reasons is sent again."""

EXPIRED = "batch_expired"


@runtime_checkable
class BatchJudge(Protocol):
    """What a judge must offer to have its questions sent as batches."""

    batch_url: str
    """The endpoint of a request: `/v1/chat/completions`."""

    async def batch_body(self, conversation: Conversation) -> bytes:
        """Return the request as one line of JSON."""

    def batch_reply(self, body: Mapping[str, Any]) -> Reply:
        """Read an answer. Raises JudgeError where it holds none."""

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
    """A file of questions that was sent, or was about to be."""

    wave: int
    digest: str
    lines: int
    most_usd: float = 0.0
    """What its answers may cost in all."""
    id: str = ""
    status: str = ""
    """Its last known status at the server."""
    answered: int = 0
    ended: bool = False

    def __str__(self) -> str:
        answered = f"{self.answered} of {self.lines} answered"
        return f"{self.id}: wave {self.wave}, {answered}, {self.status or 'sent'}"


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """The options of this engine."""

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


@engine("batch")
class BatchExecutor(Executor):
    """Plays units in waves of batches."""

    options = BatchOptions

    def __init__(self, job: Job) -> None:
        judge = job.judge.judge
        if not isinstance(judge, BatchJudge):
            raise LmmscoreError(f"{judge.name} takes no batches; run without --batch")
        if job.reader is not None:
            raise LmmscoreError(
                "batches are read by the judge itself; leave out --reader, or give --reader none"
            )

        super().__init__(job)
        self._judge: BatchJudge = judge
        self._options: BatchOptions = job.engine_options
        self._mailbox = self._open_mailbox()
        self._files = job.folder / "batches"
        self._log = BatchLog(job.folder / "batches.jsonl")
        self._failures: dict[str, Ending] = {}
        self._counts: Counter[str] = Counter()
        """How many lines were sent, and what became of those that came back."""
        self._stopped = asyncio.Event()

    def _open_mailbox(self) -> Mailbox:
        if self._options.batch_dir is None:
            return self._judge.batch_mailbox()

        # Its package is slow to import, and this module is there for every `run --help`.
        from lmmscore.judges.http import FolderMailbox

        return FolderMailbox(self._options.batch_dir)

    def stop(self, error: JudgeError) -> None:
        """Send nothing more. Batches that are out stay out, and are collected by the next run."""
        if self.error is not None:
            return

        if isinstance(error, StopRequested) and self._log.open():
            error = StopRequested(
                f"interrupted; {self._log.summary()} go on without this command. Run it again to "
                "collect them, or with --cancel to end them"
            )

        super().stop(error)
        self._stopped.set()

    async def run(self, units: Iterable[Unit], sink: Callable[[Result], None]) -> None:
        """Collect answers and send the next wave; with `wait`, until nothing is left to send."""
        plan = list(units)
        try:
            # Batches first that a crash left without a name here: their questions are out.
            await self._find_orphans()
            await self._collect()
            if self._options.cancel:
                await self._cancel_all()
            else:
                await self._send_waves(plan)
        except JudgeError as error:
            self.stop(error)

        finished = self._derive(plan)
        for result in finished:
            self._job.listeners.on_result(result)
            sink(result)

        if self._log.open():
            self.waiting = self._log.summary()
        elif self._options.cancel and len(finished) < len(plan):
            self.ended_early = (
                "cancelled; the same command without --cancel sends what was not answered"
            )

        counts = +self._counts  # without those that are 0
        if counts:
            self._log.write(event="counted", **counts)

    async def close(self) -> None:
        """Let go of the mailbox's connections."""
        await self._mailbox.close()

    # What came back.

    async def _find_orphans(self) -> None:
        """Find the batch of every intent at the server; one without was never sent."""
        for batch in self._log.batches():
            if batch.id or batch.ended:
                continue

            found = await self._mailbox.find(self._metadata(batch))
            if found:
                self._note_sent(batch, found)
            else:
                self._log.write(event="ended", digest=batch.digest, status="never sent")

    async def _collect(self) -> bool:
        """Record every answer there is; tell whether a batch has ended."""
        changed = False
        for batch in self._log.open():
            state = await self._mailbox.state(batch.id)
            if state.gone and not self._options.cancel:
                raise _BatchFailed(
                    f"{state.reason} If the batch is gone, run the same command with --cancel, "
                    "then without"
                )

            is_over = state.ended or state.gone
            await self._take_answers(batch, is_over)
            self._note_state(batch, state)
            if is_over:
                self._log.write(event="ended", digest=batch.digest, status=state.status)
                changed = True

        return changed

    async def _take_answers(self, batch: Batch, is_over: bool) -> None:
        """Write every answer to the ledger; once a batch is over, note why others are missing.

        Not earlier: a growing file is read from its beginning each time, and a failure that is
        seen three times did not happen three times.
        """
        envelopes = self._envelopes(batch)
        seen: set[str] = set()
        async for line in self._mailbox.answers(batch.id):
            answer = answer_line(line)
            if answer is None or answer.key not in envelopes:
                self._counts["unknown"] += is_over
                continue

            envelope = envelopes[answer.key]
            self._counts["twice"] += is_over and answer.key in seen
            seen.add(answer.key)

            if not answer.failed:
                self._take(answer, envelope, batch, is_over)
            elif is_over:
                self._note_failure(answer, envelope)

    def _take(self, answer: AnswerLine, envelope: Envelope, batch: Batch, is_over: bool) -> None:
        """Write one answer to the ledger and book its price, once however often it is seen."""
        try:
            reply = self._judge.batch_reply(answer.body)
        except JudgeError as error:
            if is_over:
                self._note_end(answer.key, str(error))
            return

        if not self._record(envelope, reply):
            return

        if reply.cost_usd is not None:
            self._judge.charge(reply.cost_usd)
        elif batch.most_usd:
            # No price was reported: it is assumed to have cost what was reserved for it.
            self._judge.charge(batch.most_usd / batch.lines, assumed=True)

    def _record(self, envelope: Envelope, reply: Reply) -> bool:
        """Record an answer; False where it is on record already."""
        recorded = self._job.judge
        if recorded.ledger.find(envelope.key) is not None:
            return False

        recorded.ledger.record_envelope(recorded.asker, envelope, reply).result()
        self._counts["answered"] += 1
        return True

    def _note_failure(self, answer: AnswerLine, envelope: Envelope) -> None:
        """Note why a request has no answer, unless it is to be sent again."""
        code = answer.error.get("code")
        if code == EXPIRED:
            self._counts["expired"] += 1
            return

        self._counts["failed"] += 1
        # Secrets are out of it already.
        complaint = complaint_of(answer.error, str)
        says = complaint.message or str(code or f"status {answer.status}")
        if complaint.filtered:
            # Recorded as evidence like any other reply, as when asked directly.
            self._record(envelope, Reply("", finish="content_filter", refusal=says))
        elif answer.status in RETRIED or answer.status >= 500:
            self._log.write(event="retry", key=answer.key)
        else:
            self._note_end(answer.key, says)

    def _note_end(self, key: str, reason: str) -> None:
        self._log.write(event="failed", key=key, outcome=Outcome.FAILED, reason=reason)

    def _note_state(self, batch: Batch, state: BatchState) -> None:
        """Note the state of a batch if it changed; one that was refused stops the run."""
        if (batch.status, batch.answered) != (state.status, state.answered):
            self._log.write(
                event="state",
                digest=batch.digest,
                status=state.status,
                answered=state.answered,
            )

        if state.status == "failed":
            self.stop(
                _BatchFailed(f"batch {batch.id} was refused by the server: {state.reason or '?'}")
            )

    async def _cancel_all(self) -> None:
        """End every batch that is out, and collect what was answered by then."""
        for batch in self._log.open():
            await self._mailbox.cancel(batch.id)
            self._counts["cancelled"] += batch.lines - batch.answered

        # What was answered by then is paid for, and kept. A server may take a while to end a batch:
        # then the next run collects the rest.
        await self._collect()

    # What goes out.

    async def _send_waves(self, plan: list[Unit]) -> None:
        """Send what can be asked now; with `wait`, poll until nothing is out."""
        await self._send_wave(plan)
        if not self._options.wait:
            return

        while self._log.open() and self.error is None:
            LOGGER.info("waiting for %s", self._log.summary())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), POLL_S)

            if self.error is None and await self._collect():
                await self._send_wave(plan)

    async def _send_wave(self, plan: list[Unit]) -> None:
        """Send every question that can be asked now and is not on its way."""
        if self.error is not None:
            return

        files = await self._write_wave(plan)
        self._refuse_beyond_budget(sum(file.most_usd for file in files))
        for file in files:
            if self.error is None:
                await self._send_file(file)

    async def _write_wave(self, plan: list[Unit]) -> list[WaveFile]:
        """Write the files of the next wave, as many as it takes; none if nothing is to be asked."""
        number = 1 + max((batch.wave for batch in self._log.batches()), default=0)
        out = {key for batch in self._log.open() for key in self._envelopes(batch)}
        has_budget = self._judge.left_usd is not None

        files: list[WaveFile] = []
        waiting = (put for _, _, questions in self._replayed(plan) for put in questions)
        for put in waiting:
            envelope = Envelope.of(self._job.judge.asker, put.conversation, put.repeat)
            # Sessions open with the same words, and wait for one answer.
            if envelope.key in out:
                continue

            out.add(envelope.key)
            body = await self._judge.batch_body(put.conversation)
            line = _request_line(envelope.key, self._judge.batch_url, body)
            if not files or files[-1].is_full(len(line)):
                files.append(WaveFile(self._files, number, len(files) + 1))

            # Estimating opens pictures, so it is done only where there is something to keep within.
            usd = self._judge.batch_usd(put.conversation) if has_budget else 0.0
            files[-1].add(line, envelope, usd)

        for file in files:
            file.close()

        return files

    def _refuse_beyond_budget(self, wave_usd: float) -> None:
        """Raise where the budget does not cover a wave; then nothing of it is sent."""
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

    async def _send_file(self, file: WaveFile) -> None:
        """Send a file, with the intent logged before and the batch's id after."""
        batch = Batch(file.wave, file.digest, file.lines, file.most_usd)
        self._log.write(
            event="intent",
            wave=batch.wave,
            digest=batch.digest,
            lines=batch.lines,
            most_usd=round(batch.most_usd, 9),
        )
        made = await self._mailbox.send(file.path, self._judge.batch_url, self._metadata(batch))
        self._note_sent(batch, made)

    def _note_sent(self, batch: Batch, made: str) -> None:
        self._log.write(event="created", digest=batch.digest, id=made)
        self._counts["sent"] += batch.lines

    def _metadata(self, batch: Batch) -> dict[str, str]:
        """Return what identifies this batch among all of the account."""
        # As a digest: the folder's name may contain a method's, and this goes to the provider.
        run = hashlib.sha256(self._job.folder.name.encode()).hexdigest()[:16]
        return {"lmmscore": run, "wave": str(batch.wave), "digest": batch.digest}

    def _envelopes(self, batch: Batch) -> dict[str, Envelope]:
        """Return what the ledger needs of each question of a batch, by key."""
        path = self._files / f"{batch.digest[:16]}.keys.jsonl"
        if not path.is_file():
            return {}

        with path.open(encoding="utf-8") as file:
            envelopes = [Envelope(**json.loads(line)) for line in file]
        return {envelope.key: envelope for envelope in envelopes}

    # How far the sessions have come, according to the record.

    def _replayed(
        self, plan: list[Unit]
    ) -> Iterator[tuple[Unit, list[Played], list[OpenQuestion]]]:
        """Yield every unit with its sessions that are over, and the questions to ask next."""
        job, self._failures = self._job, self._log.failures()
        for unit in plan:
            yield unit, *replay_unit(unit, job.protocol, job.pictures, self._on_record)

    def _derive(self, plan: list[Unit]) -> list[Result]:
        """Return the results of the units whose sessions are all over."""
        protocol = self._job.protocol
        return [
            result_of(unit, protocol, played)
            for unit, played, questions in self._replayed(plan)
            if not questions
        ]

    def _on_record(self, put: OpenQuestion) -> Heard | Ending | None:
        """Return the recorded answer, or why there will be none; None if it is to be asked."""
        recorded = self._job.judge
        heard = recorded.recall(put.conversation, put.repeat)
        if heard is not None:
            return heard
        return self._failures.get(key_of(recorded.asker, put.conversation, put.repeat))


class _BatchFailed(FatalJudgeError):
    """The server rejected a whole file, or does not know it."""


# --------------------------------------------------------------------------------------------------
# Lines and files: a request, an answer, and the file of a wave.
# --------------------------------------------------------------------------------------------------


def _request_line(key: str, url: str, body: bytes) -> bytes:
    # Put together as bytes: a body may hold megabytes of pictures, and is JSON already.
    head = json.dumps({"custom_id": key, "method": "POST", "url": url})
    return head[:-1].encode() + b', "body": ' + body + b"}\n"


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A line that came back: an answer, or why there is none."""

    key: str
    status: int
    """Of HTTP; 0 where the line has none."""
    body: Mapping[str, Any]
    error: Mapping[str, Any]

    @property
    def failed(self) -> bool:
        """Whether it holds no answer."""
        return bool(self.error) or self.status != 200


def answer_line(line: str) -> AnswerLine | None:
    """Read a line, tolerating how servers vary the format; None if it is not an answer."""
    try:
        data = tolerant_json(line.encode("utf-8", "replace"))
    except ValueError:
        return None

    if not isinstance(data, dict) or not isinstance(data.get("custom_id"), str):
        return None

    response = _object(data.get("response"))
    body = _object(response.get("body"))
    # Some servers leave out the status of what they answered.
    status = str(response.get("status_code", 200 if body else 0))
    return AnswerLine(
        key=data["custom_id"],
        status=int(status) if status.isdecimal() else 0,
        body=body,
        error=_error(data.get("error")) or _error(body.get("error")),
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _error(value: Any) -> dict[str, Any]:
    """Return an error as an object: some servers say it in plain text."""
    return {"message": value} if isinstance(value, str) and value else _object(value)


class WaveFile:
    """A file of requests, and beside it one with what the ledger needs to record their answers.

    Once complete, both are named by the digest of the requests.
    """

    def __init__(self, folder: Path, wave: int, number: int) -> None:
        self.wave = wave
        self.lines = 0
        self.most_usd = 0.0
        self.digest = ""
        """Of all requests; known once the file is closed."""
        self.path = folder / f"wave-{wave}-{number}.part"
        self._bytes = 0
        self._envelopes: list[Envelope] = []
        folder.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("wb")
        self._hash = hashlib.sha256()

    def is_full(self, more: int) -> bool:
        """Tell whether there is no room for a line of `more` bytes."""
        return self.lines >= MOST_LINES or self._bytes + more > MOST_BYTES

    def add(self, line: bytes, envelope: Envelope, most_usd: float) -> None:
        """Append a request, and what it may cost."""
        self._file.write(line)
        self._hash.update(line)
        self._bytes += len(line)
        self._envelopes.append(envelope)
        self.most_usd += most_usd
        self.lines += 1

    def close(self) -> None:
        """Finish both files, the requests last: where that file exists, so does the other."""
        self._file.close()
        self.digest = self._hash.hexdigest()
        final = self.path.with_name(f"{self.digest[:16]}.jsonl")
        with final.with_suffix(".keys.jsonl").open("w", encoding="utf-8") as keys:
            for envelope in self._envelopes:
                keys.write(json.dumps(asdict(envelope), ensure_ascii=False) + "\n")

        self.path = self.path.replace(final)


class BatchLog:
    """batches.jsonl: an append-only log of what was intended, sent, ended and failed.

    A line that a full disk cut short is left out: whatever it was to say had not happened yet, or
    is found out again at the server.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        self._events = [event for line in text.split("\n") if (event := _event(line))]
        self._is_cut = bool(text) and not text.endswith("\n")

    def write(self, **event: Any) -> None:
        """Append an event; on disk before anything else happens."""
        event["at"] = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps(event, ensure_ascii=False) + "\n"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" + line if self._is_cut else line)

        self._is_cut = False
        self._events.append(event)

    def batches(self) -> list[Batch]:
        """Return every batch there was an intent for."""
        found: dict[str, Batch] = {}
        for event in self._events:
            kind, digest = event["event"], event.get("digest", "")
            if kind == "intent":
                usd = event.get("most_usd", 0.0)
                found[digest] = Batch(event["wave"], digest, event["lines"], usd)
            elif kind in ("created", "state", "ended"):
                batch = found[digest]
                batch.id = event.get("id", batch.id)
                batch.status = event.get("status", batch.status)
                batch.answered = event.get("answered", batch.answered)
                batch.ended = batch.ended or kind == "ended"

        return list(found.values())

    def unfinished(self) -> list[Batch]:
        """Return the batches that are out, and those of which it is not known yet."""
        return [batch for batch in self.batches() if not batch.ended]

    def open(self) -> list[Batch]:
        """Return the batches that are out."""
        return [batch for batch in self.unfinished() if batch.id]

    def summary(self) -> str:
        """Return in words what is out: how many questions wait, and the state of the batches."""
        out = self.open()
        lines = sum(batch.lines - batch.answered for batch in out)
        shown = "; ".join(map(str, out[:SHOWN]))
        more = f"; and {len(out) - SHOWN} more" if len(out) > SHOWN else ""

        batches = counted(len(out), "batch", "batches")
        return f"{counted(lines, 'question')} in {batches} ({shown}{more})"

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


def _event(line: str) -> dict[str, Any] | None:
    """Return what a line of the log says; None for one that is empty or was cut short."""
    try:
        return dict(json.loads(line))
    except ValueError:
        return None
