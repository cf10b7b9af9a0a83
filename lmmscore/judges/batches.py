"""Where batches of questions are handed in and picked up: a provider's batch API, or a folder.

A mailbox knows nothing of sessions: it takes a file of requests, one JSON object to a line, and
gives back lines with answers, in any order, whenever they are ready.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx2
import openai
from openai.types import Batch

from lmmscore.errors import (
    AnswerTooLarge,
    FileProblem,
    JudgeError,
    JudgeUnavailable,
    NotAuthorised,
)
from lmmscore.judges.faults import tolerant_json, with_texts

Metadata = Mapping[str, str]

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
"""The states in which a batch gives nothing more than it has."""
GONE = "gone"


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a batch is."""

    status: str
    answered: int = 0
    reason: str = ""
    """Why the whole batch failed or cannot be found, where that is so."""

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to come."""
        return self.status in ENDED

    @property
    def gone(self) -> bool:
        """Whether the server does not know the batch; it may also be another server."""
        return self.status == GONE


class Mailbox(Protocol):
    """Takes files of requests and gives back answers."""

    async def send(self, file: Path, url: str, metadata: Metadata) -> str:
        """Hand in a file and return the batch's id."""

    async def find(self, metadata: Metadata) -> str | None:
        """Return the id of a batch that was handed in with this metadata, if there is one."""

    async def state(self, batch: str) -> BatchState:
        """Return how far a batch is."""

    def answers(self, batch: str) -> AsyncIterator[str]:
        """Yield the lines that are there: answers, and errors of single requests."""

    async def cancel(self, batch: str) -> None:
        """End a batch; what is answered already can still be had."""

    async def close(self) -> None:
        """Let go of connections."""


class ApiMailbox:
    """OpenAI's `/v1/files` and `/v1/batches`, and whatever speaks like them."""

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        headers: Mapping[str, Any],
        hide: Callable[[str], str],
        most_bytes: int,
    ) -> None:
        self._client = client
        self._most_bytes = most_bytes
        self._headers = dict(headers)
        self._hide = hide

    async def send(self, file: Path, url: str, metadata: Metadata) -> str:
        """Upload the file, then make a batch of it."""
        try:
            uploaded = await self._client.files.create(
                file=file, purpose="batch", extra_headers=self._headers
            )
            # Never tried again by itself: a server that failed to answer may have made the batch.
            made = await self._client.with_options(max_retries=0).batches.create(
                input_file_id=uploaded.id,
                endpoint=url,  # type: ignore[arg-type]
                completion_window="24h",
                metadata=dict(metadata),
                extra_headers=self._headers,
            )
        except openai.OpenAIError as error:
            raise translated(error, self._hide) from error

        return self._checked(made.id)

    async def find(self, metadata: Metadata) -> str | None:
        """Look through the account's batches, newest first."""
        seen: set[str] = set()
        try:
            async for batch in self._client.batches.list(limit=100, extra_headers=self._headers):
                if batch.id in seen:
                    # A server that knows no pages gives the first one again, for ever.
                    return None

                seen.add(batch.id)
                known = batch.metadata if isinstance(batch.metadata, dict) else {}
                if all(known.get(name) == value for name, value in metadata.items()):
                    return self._checked(batch.id)
        except openai.OpenAIError as error:
            raise translated(error, self._hide) from error

        return None

    def _checked(self, batch: Any) -> str:
        """Return a batch's id, which goes into the folder of a run. Raises JudgeError."""
        if not isinstance(batch, str) or not batch or self._hide(batch) != batch:
            raise _Run("batches: the server gives a batch no id that can be kept; try another")
        return batch

    async def state(self, batch: str) -> BatchState:
        """Ask for the batch."""
        try:
            found = await self._client.batches.retrieve(batch, extra_headers=self._headers)
        except openai.NotFoundError:
            reason = f"the server does not know batch {batch}; is it the one it was sent to?"
            return BatchState(GONE, reason=reason)
        except openai.OpenAIError as error:
            raise translated(error, self._hide) from error

        return self._state_of(found)

    def _state_of(self, found: Batch) -> BatchState:
        # Whatever a server leaves out, or fills with something else, is missing here.
        answered = getattr(found.request_counts, "completed", 0)
        errors = found.errors.data if found.errors else None
        reasons = [str(error.message) for error in errors or () if error.message]

        return BatchState(
            self._hide(str(found.status)),
            answered=answered if isinstance(answered, int) else 0,
            reason=self._hide("; ".join(reasons)),
        )

    async def answers(self, batch: str) -> AsyncIterator[str]:
        """Download both files of a batch: answers and errors."""
        try:
            found = await self._client.batches.retrieve(batch, extra_headers=self._headers)
            for file in (found.output_file_id, found.error_file_id):
                if file:
                    async for line in self._lines_of(file):
                        yield line
        except openai.NotFoundError:
            return  # its files are gone, and its state says so
        except openai.OpenAIError as error:
            raise translated(error, self._hide) from error
        except httpx2.HTTPError as error:
            raise _Run(
                f"batches: a file of answers broke off ({type(error).__name__}); run the same "
                "command again"
            ) from None

    async def _lines_of(self, file: str) -> AsyncIterator[str]:
        """Yield the lines of a file as they arrive: it may be as large as it likes."""
        files = self._client.files.with_streaming_response
        async with files.content(file, extra_headers=self._headers) as response:
            begun = b""
            async for part in response.iter_bytes():
                # Only \n ends a line; within a reply there may be others.
                *lines, begun = (begun + part).split(b"\n")
                if len(begun) > self._most_bytes:
                    raise AnswerTooLarge(
                        f"batches: a line of more than {self._most_bytes / 1e6:g} MB, which no "
                        "reply is; limits.max_response_mb in judges.yaml allows more"
                    )

                for line in filter(bytes.strip, lines):
                    yield self._safe(line)

            if begun.strip():
                yield self._safe(begun)

    def _safe(self, line: bytes) -> str:
        """Return a line without a key that the server repeats, however it is escaped."""
        text = line.decode("utf-8", "replace")
        if "\\" not in text and self._hide(text) == text:
            return text

        try:
            return json.dumps(with_texts(tolerant_json(line), self._hide))
        except ValueError:
            return self._hide(text)

    async def cancel(self, batch: str) -> None:
        """Ask the provider to stop; a batch that is over or gone needs no stopping."""
        try:
            await self._client.batches.cancel(batch, extra_headers=self._headers)
        except (openai.BadRequestError, openai.NotFoundError, openai.ConflictError):
            return
        except openai.OpenAIError as error:
            raise translated(error, self._hide) from error

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()


class FolderMailbox:
    """A folder for `vllm run-batch`: `NAME.jsonl` goes in, `NAME.out.jsonl` comes back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def send(self, file: Path, url: str, metadata: Metadata) -> str:
        """Put the file into the folder, whole or not at all."""
        name = f"wave-{metadata['wave']}-{metadata['digest'][:12]}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            part = self._folder / f"{name}.part"
            shutil.copyfile(file, part)
            part.replace(self._folder / f"{name}.jsonl")
        except OSError as error:
            raise FileProblem(f"{self._folder}: {error.strerror or error}") from error

        return name

    async def find(self, metadata: Metadata) -> str | None:
        """Look whether the file is there."""
        name = f"wave-{metadata['wave']}-{metadata['digest'][:12]}"
        return name if (self._folder / f"{name}.jsonl").is_file() else None

    async def state(self, batch: str) -> BatchState:
        """Compare what went in with what has come back."""
        asked = _lines(self._folder / f"{batch}.jsonl")
        answers = self._folder / f"{batch}.out.jsonl"
        answered = _lines(answers)
        if asked:
            return BatchState("completed" if answered >= asked else "in_progress", answered)
        if answers.is_file():
            return BatchState("cancelled", answered)

        reason = f"{self._folder}: no {batch}.jsonl; is it the folder it was put into?"
        return BatchState(GONE, reason=reason)

    async def answers(self, batch: str) -> AsyncIterator[str]:
        """Read what has come back so far."""
        path = self._folder / f"{batch}.out.jsonl"
        if path.is_file():
            with path.open(encoding="utf-8", errors="replace") as file:
                for line in file:
                    # A line still being written has no end yet.
                    if line.endswith("\n") and line.strip():
                        yield line

    async def cancel(self, batch: str) -> None:
        """Take the file out again."""
        (self._folder / f"{batch}.jsonl").unlink(missing_ok=True)

    async def close(self) -> None:
        """Do nothing."""


def _lines(path: Path) -> int:
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def translated(error: openai.OpenAIError, hide: Callable[[str], str]) -> JudgeError:
    """Return one of our errors for one of the client's. The border of the openai package."""
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return NotAuthorised("the server refuses the key for batches; check it and its rights")
    if isinstance(error, openai.NotFoundError):
        return _Run(f"the server has no batches: {hide(_says(error))}; run without --batch")
    if isinstance(error, openai.APIConnectionError):
        return _Run(f"the server cannot be reached for batches: {hide(_says(error))}")
    return _Run(f"batches: {hide(_says(error))}; run the same command again later")


class _Run(JudgeUnavailable):
    """What stops a run by batches; what was sent stays there."""

    scope = "run"


def _says(error: openai.OpenAIError) -> str:
    body = getattr(error, "body", None)
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return str(body["message"])[:300]
    return str(error)[:300]
