"""Answer from a record: a ledger, or a published transcript. Nobody is asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from lmmscore.conversation import Conversation, Message
from lmmscore.errors import LedgerError, NoRecordedReply
from lmmscore.judges import Bench
from lmmscore.ledger import Ledger
from lmmscore.records import Reply
from lmmscore.run_folder import recorded_run
from lmmscore.transcripts import Transcript, load_transcript, same_words


def open_replay(path: Path) -> Bench:
    """Return the judge of a recorded ledger (a run folder or its ledger.sqlite), or of a transcript."""
    run = recorded_run(f"replay:{path}")
    if run is not None:
        path = run.ledger_path
    elif path.is_dir():
        path = path / "ledger.sqlite"
    if not path.is_file():
        raise LedgerError(
            f"replay:{path}: no such file; give a run folder, a ledger.sqlite or a transcript"
        )
    with path.open("rb") as file:
        is_ledger = file.read(16) == b"SQLite format 3\0"
    if not is_ledger:
        return Bench(FromTranscript(load_transcript(path)))
    ledger = Ledger(path, read_only=True)
    if run is not None:
        # A ledger may be shared by runs with other judges: this run says whom it asked.
        return Bench(Silent(run.manifest.judge, run.manifest.parameters), ledger)
    return Bench(_the_one_asked(ledger), ledger)


def _the_one_asked(ledger: Ledger) -> Silent:
    askers = ledger.askers()
    if len(askers) != 1:
        names = ", ".join(asker.judge for asker in askers) or "nobody"
        raise LedgerError(
            f"{ledger.path}: replaying needs a ledger of one judge and one set of parameters, not {names}"
        )
    return Silent(askers[0].judge, json.loads(askers[0].parameters))


class Silent:
    """Stands for a judge that answered earlier. It adds nothing: what is not on record is an error."""

    def __init__(self, name: str, parameters: Mapping[str, Any]) -> None:
        self.name = name
        self.parameters = parameters
        self.caution = ""
        if name == "pixels":
            from lmmscore.judges.pixels import Pixels

            self.caution = Pixels().caution

    async def ask(self, conversation: Conversation) -> Reply:
        """Raise NoRecordedReply: if the answer were on record, this would not have been asked."""
        raise NoRecordedReply(
            f"the record has no answer to turn {_number(conversation)} ({_opening_words(conversation)}); was it made "
            "with another dialog, order, seed or set of images? A new judge can be asked with --judge openai/MODEL"
        )

    async def close(self) -> None:
        """Do nothing."""


class FromTranscript:
    """Answers as the transcript does, as long as it is asked the same, about the same pictures."""

    caution = ""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        digest = hashlib.sha256(transcript.path.read_bytes()).hexdigest()
        self.name = f"transcript/{transcript.path.stem}"
        self.parameters: Mapping[str, Any] = {"sha256": digest}

    async def ask(self, conversation: Conversation) -> Reply:
        """Return the transcript's reply to the turn at this place. Raises NoRecordedReply where the words differ."""
        number = _number(conversation)
        turns = self._transcript.turns
        message = conversation.message
        assert message is not None
        if number > len(turns):
            raise NoRecordedReply(
                f"{self._transcript.path}: no answer to turn {number} ({_opening_words(conversation)}): it ends before"
            )
        prompt = turns[number - 1].prompt
        if not same_words(prompt, message.text):
            theirs, ours = (
                _from_difference(prompt, message.text),
                _from_difference(message.text, prompt),
            )
            raise NoRecordedReply(
                f"{self._transcript.path}: no answer to turn {number}: it says “{theirs}” where “{ours}” is asked; "
                f"play the dialog that `lmmscore dialogs import {self._transcript.path}` writes, about the same task "
                "and instruction"
            )
        self._refuse_other_pictures(number, message)
        return Reply(turns[number - 1].reply, model=self.name)

    def _refuse_other_pictures(self, number: int, message: Message) -> None:
        """An answer about one edit must not be taken for another's."""
        expected = [image.name for image in self._transcript.turns[number - 1].images]
        shown = [picture.path.name for picture in message.images]
        if expected != shown:
            methods = " ".join(
                f"--method {method}" for method in self._transcript.methods if method
            )
            raise NoRecordedReply(
                f"{self._transcript.path}, turn {number}: it shows {', '.join(expected) or 'no picture'}, not "
                f"{', '.join(shown) or 'none'}; show the edits as it does: --order given {methods}"
            )

    async def close(self) -> None:
        """Do nothing."""


def _number(conversation: Conversation) -> int:
    return sum(message.role == "user" for message in conversation.messages)


def _opening_words(conversation: Conversation) -> str:
    words = " ".join((conversation.message.text if conversation.message else "").split())
    return f"“{words[:60]}…”" if len(words) > 60 else f"“{words}”"


def _from_difference(text: str, other: str) -> str:
    """Return a few words of a text from where it parts from another."""
    words, others = text.split(), other.split()
    same = next((i for i, (one, two) in enumerate(zip_longest(words, others)) if one != two), 0)
    return " ".join(words[max(0, same - 2) : same + 6])
