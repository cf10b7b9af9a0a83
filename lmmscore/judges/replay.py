"""Answers from a record, a ledger or a published transcript; no model is asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from lmmscore.conversation import Conversation, Message
from lmmscore.errors import LedgerError, NoRecordedReply
from lmmscore.judges.judge import Bench, JudgeBase, register
from lmmscore.ledger import Asker, Ledger, identity_of
from lmmscore.records import Reply
from lmmscore.run_folder import recorded_run
from lmmscore.transcripts import Transcript, load_transcript, same_words


@register("replay", form="replay:PATH[#NUMBER]", answers_here=True, takes=("judge_name",))
def open_replay(spec: str, options: Mapping[str, Any]) -> Bench:
    """Return the judge that answers from a ledger, a run's folder or a transcript.

    Where a ledger holds the answers of several, `#2` chooses the second; so does the option
    `judge_name` by name.
    """
    path, number = _place(spec.removeprefix("replay:"))
    run = recorded_run(f"replay:{path}")
    if run is not None:
        path = run.ledger_path
    elif path.is_dir():
        path = path / "ledger.sqlite"

    if not path.is_file():
        raise LedgerError(
            f"replay:{path}: no such file; give a run folder, a ledger.sqlite or a transcript"
        )

    if not _is_ledger(path):
        return Bench(FromTranscript(load_transcript(path)))

    ledger = Ledger(path, read_only=True)
    name = str(options.get("judge_name") or "")
    if run is not None and number is None and not name:
        # A ledger may be shared by runs with other judges: this run says whom it asked.
        return Bench(Silent(run.manifest.judge, run.manifest.parameters), ledger)

    try:
        asker = _the_one_meant(ledger, number, name)
    except BaseException:
        ledger.close()
        raise

    return Bench(Silent(asker.judge, json.loads(asker.parameters)), ledger)


def _is_ledger(path: Path) -> bool:
    # By its name too: a run that was killed at once leaves an empty ledger.sqlite.
    if path.suffix == ".sqlite":
        return True
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _place(text: str) -> tuple[Path, int | None]:
    """Return the path and, where the text ends in `#2` and is no path itself, the number."""
    path, mark, number = text.rpartition("#")
    if mark and number.isdecimal() and not Path(text).exists():
        return Path(path), int(number)
    return Path(text), None


def _the_one_meant(ledger: Ledger, number: int | None, name: str) -> Asker:
    """Return whose answers are replayed.

    Raises LedgerError, with a list, where several come into question.
    """
    groups = _by_identity(ledger.askers())
    if not groups:
        raise LedgerError(f"{ledger.path}: holds no answers yet; there is nothing to replay")

    if number is not None:
        if 1 <= number <= len(groups):
            return groups[number - 1]
        raise LedgerError(f"{ledger.path}: no judge #{number} in it; it has\n{_listed(groups)}")

    wanted = [asker for asker in groups if not name or _is_called(asker, name)]
    if len(wanted) == 1:
        return wanted[0]
    if not wanted:
        raise LedgerError(f"{ledger.path}: no answers of {name!r} in it; it has\n{_listed(groups)}")

    raise LedgerError(
        f"{ledger.path}: several judges or parameters; choose with replay:PATH#NUMBER\n"
        f"{_listed(groups)}"
    )


def _by_identity(askers: list[Asker]) -> list[Asker]:
    """Return one asker for each judge and parameters, whatever server answered."""
    groups: dict[tuple[str, str], list[Asker]] = {}
    for asker in askers:
        groups.setdefault((identity_of(asker.judge), asker.parameters), []).append(asker)

    # A judge that is on record under one name keeps it, and its keys with it.
    return [
        same[0] if len(same) == 1 else Asker(identity, parameters)
        for (identity, parameters), same in groups.items()
    ]


def _is_called(asker: Asker, name: str) -> bool:
    identity = identity_of(asker.judge)
    return name in {asker.judge, identity, identity.removeprefix("openai/")}


def _listed(askers: list[Asker]) -> str:
    lines = [
        f"  #{number} {asker.judge} {asker.parameters}" for number, asker in enumerate(askers, 1)
    ]
    return "\n".join(lines)


class Silent(JudgeBase):
    """Stands for a judge that answered earlier.

    It adds nothing: what is not on record is an error.
    """

    def __init__(self, name: str, parameters: Mapping[str, Any]) -> None:
        self._name = name
        self._parameters = parameters

    @property
    def name(self) -> str:
        """Who answered."""
        return self._name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What it was asked with."""
        return self._parameters

    @property
    def caution(self) -> str:
        """The caution of the judge on record."""
        if self._name != "pixels":
            return ""
        from lmmscore.judges.pixels import CAUTION

        return CAUTION

    async def ask(self, conversation: Conversation) -> Reply:
        """Raise NoRecordedReply: if the answer were on record, this would not have been asked."""
        raise NoRecordedReply(
            f"the record has no answer to turn {_number(conversation)} "
            f"({_opening_words(conversation)}); was it made with another dialog, order, seed or "
            "set of images? A new judge can be asked with --judge openai/MODEL"
        )


class FromTranscript(JudgeBase):
    """Answers as the transcript does, as long as it is asked the same, about the same pictures."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._digest = hashlib.sha256(transcript.path.read_bytes()).hexdigest()

    @property
    def name(self) -> str:
        """The transcript, by its file."""
        return f"transcript/{self._transcript.path.stem}"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The transcript, by its content."""
        return {"sha256": self._digest}

    async def ask(self, conversation: Conversation) -> Reply:
        """Return the transcript's reply to the turn at this place.

        Raises NoRecordedReply where the words differ.
        """
        number = _number(conversation)
        turns = self._transcript.turns
        message = conversation.message
        assert message is not None
        if number > len(turns):
            raise NoRecordedReply(
                f"{self._transcript.path}: no answer to turn {number} "
                f"({_opening_words(conversation)}): it ends before"
            )

        prompt = turns[number - 1].prompt
        if not same_words(prompt, message.text):
            theirs = _from_difference(prompt, message.text)
            ours = _from_difference(message.text, prompt)
            raise NoRecordedReply(
                f"{self._transcript.path}: no answer to turn {number}: it says “{theirs}” where "
                f"“{ours}” is asked; play the dialog that `lmmscore dialogs import "
                f"{self._transcript.path}` writes, about the same task and instruction"
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
                f"{self._transcript.path}, turn {number}: it shows "
                f"{', '.join(expected) or 'no picture'}, not {', '.join(shown) or 'none'}; show "
                f"the edits as it does: --order given {methods}"
            )


def _number(conversation: Conversation) -> int:
    """Return the number of the turn that is asked, from 1."""
    return sum(message.role == "user" for message in conversation.messages)


def _opening_words(conversation: Conversation) -> str:
    words = " ".join((conversation.message.text if conversation.message else "").split())
    return f"“{words[:60]}…”" if len(words) > 60 else f"“{words}”"


def _from_difference(text: str, other: str) -> str:
    """Return a few words of a text around the place where it differs from another."""
    words, others = text.split(), other.split()
    same = next((i for i, (one, two) in enumerate(zip_longest(words, others)) if one != two), 0)
    return " ".join(words[max(0, same - 2) : same + 6])
