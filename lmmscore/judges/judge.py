"""What a judge is, how one is found by its name, and how answers are recorded and replayed.

A judge is named by one string: `pixels`, `openai/MODEL`, `replay:PATH`, or a name from judges.yaml.
What stands before the first `/` or `:` is its kind: a module of this package, or an entry point of
another in the group `lmmscore.judges`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from lmmscore.conversation import Conversation, Message
from lmmscore.errors import (
    JudgeError,
    JudgeFileError,
    LedgerError,
    LedgerUnreadable,
    LmmscoreError,
    NoRecordedReply,
    NotRecorded,
    nearest,
)
from lmmscore.judges.config import JudgeOptions, NamedJudge, load_judges, mask
from lmmscore.judges.limits import Meter, Spending
from lmmscore.ledger import Asker, Ledger, identity_of, key_of
from lmmscore.options import Registry, declared
from lmmscore.records import Reply
from lmmscore.run_folder import recorded_run
from lmmscore.transcripts import Transcript, load_transcript, same_words

T = TypeVar("T")


@runtime_checkable
class Answerer(Protocol):
    """The least a judge object can be: what version 0.1 asked of one."""

    @property
    def name(self) -> str:
        """Who answers, as it stands in keys and tables: `pixels`, `openai/MODEL`.

        Never holds a secret.
        """
        raise NotImplementedError(f"{type(self).__name__} has no name")

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Whatever else changes the answers (temperature, seed, …), as plain JSON.

        Part of every key.
        """
        return {}

    @property
    def caution(self) -> str:
        """What every table with this judge's scores must say of it; empty for most judges."""
        return ""

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer the last message.

        Raises JudgeError when there is no answer; never returns a made-up one.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot be asked")

    async def close(self) -> None:
        """Let go of connections."""
        return


@runtime_checkable
class Judge(Answerer, Protocol):
    """Anything that can answer a conversation.

    `JudgeBase` has defaults for all but name and ask.
    """

    @property
    def meter(self) -> Meter | None:
        """Running totals, to show progress; None for a judge that counts nothing."""
        return None

    def keep(self, spending: Spending) -> None:
        """Count what the run has spent before, and write down what it spends from now on."""
        return

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new: questions in flight are finished, those still waiting raise this."""
        return


class JudgeBase(Judge):
    """A judge without parameters that costs nothing and never waits.

    Give it a name and an `ask`; the rest is inherited from what a judge is.
    """


def adapted(judge: Judge | Answerer) -> Judge:
    """Return a judge object with all that a judge has.

    This is the one place that checks for its attributes.
    """
    if isinstance(judge, Judge):
        return judge
    if isinstance(judge, Answerer):
        return AdaptedJudge(judge)

    needed = ("name", "parameters", "caution", "ask", "close")
    lacking = [name for name in needed if not hasattr(judge, name)]
    raise LmmscoreError(
        f"a judge of type {type(judge).__name__} lacks {', '.join(lacking)}; derive it from "
        "lmmscore.judges.JudgeBase, which has all but name and ask"
    )


class AdaptedJudge(JudgeBase):
    """A judge object of version 0.1, with defaults for what it lacks."""

    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer

    @property
    def name(self) -> str:
        """Who answers."""
        return self._answerer.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Whatever else changes the answers."""
        return self._answerer.parameters

    @property
    def caution(self) -> str:
        """What to be careful about."""
        return self._answerer.caution

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer the last message."""
        return await self._answerer.ask(conversation)

    async def close(self) -> None:
        """Let go of connections."""
        await self._answerer.close()


_ELSEWHERE = {
    "anthropic": "openai/MODEL@https://api.anthropic.com/v1",
    "claude": "openai/MODEL@https://api.anthropic.com/v1",
    "azure": "openai/DEPLOYMENT@https://RESOURCE.openai.azure.com/openai/v1",
    "gemini": "openai/MODEL@https://generativelanguage.googleapis.com/v1beta/openai",
    "google": "openai/MODEL@https://generativelanguage.googleapis.com/v1beta/openai",
    "openrouter": "openai/PROVIDER/MODEL@https://openrouter.ai/api/v1",
    "vllm": "openai/MODEL@http://127.0.0.1:8000/v1",
    "sglang": "openai/MODEL@http://127.0.0.1:30000/v1",
    "ollama": "openai/MODEL@http://127.0.0.1:11434/v1",
    "lmstudio": "openai/MODEL@http://127.0.0.1:1234/v1",
    "llamacpp": "openai/MODEL@http://127.0.0.1:8080/v1",
}
"""How to reach providers that people ask for by name and that have no kind of their own."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The judge that is asked, and a ledger of earlier answers to look in first."""

    judge: Judge
    answers: Ledger | None = None


Opener = Callable[[str, Mapping[str, Any]], "Bench | Judge | Answerer"]
"""Makes a judge from its whole name and the options given with it."""


@dataclass(frozen=True, slots=True)
class JudgeKind:
    """One kind of judge, registered by a module here or named by an entry point."""

    form: str
    """How such a judge is written, for messages."""
    open: Opener
    answers_here: bool = False
    """Whether it answers on this machine, from what is at hand: such a judge costs nothing."""
    takes: Collection[str] | None = None
    """The options it takes, by their names in `JudgeOptions`; others are refused, not ignored.

    None passes on whatever is given."""
    configure: Callable[[str, Mapping[str, Any]], NamedJudge] | None = None
    """Returns model, options and prices without opening the judge, where a kind is configured so.
    """
    caution: str = ""
    """The caution of its judges, for tables made of their recorded answers."""


_KINDS: Registry[JudgeKind] = Registry("judge", "lmmscore.judges", group="lmmscore.judges")


def register(name: str, *, form: str, **about: Any) -> Callable[[Opener], Opener]:
    """Register a kind of judge: `@register("openai", form="openai/MODEL")` above what opens one."""

    def add(opener: Opener) -> Opener:
        _KINDS.register(name)(JudgeKind(form, opener, **about))
        return opener

    return add


def open_judge(spec: str | Judge | Answerer, options: Mapping[str, Any] | None = None) -> Bench:
    """Return the judge that a string names, or that an object is, ready to be asked."""
    options = options or {}
    if not isinstance(spec, str):
        _refuse_options(adapted(spec).name, options, ())
        return Bench(adapted(spec))

    kind = kind_of(spec)
    if kind.takes is not None:
        _refuse_options(spec, options, kind.takes)

    opened = kind.open(spec, options)
    return opened if isinstance(opened, Bench) else Bench(adapted(opened))


# A judge that costs nothing stays within any budget, and a structured run has another dialog
# whatever the judge.
_KEPT_BY_ALL = frozenset({"budget_usd", "structured"})


def _refuse_options(judge: str, options: Mapping[str, Any], takes: Collection[str]) -> None:
    """Raise JudgeFileError for options that this judge would ignore."""
    flags = {each.name: each.about.flag for each in declared(JudgeOptions)}
    ignored = []
    for name in sorted({*options} - _KEPT_BY_ALL - {*takes}):
        # Compared by identity: 0 equals False, and a seed of 0 is a wish.
        is_given = options[name] is not None and options[name] is not False
        if is_given:
            ignored.append(flags.get(name) or name)

    if ignored:
        raise JudgeFileError(f"{mask(judge)} takes no {', '.join(ignored)}; leave it out")


def kind_of(spec: str) -> JudgeKind:
    """Return the kind of a judge.

    Raises JudgeFileError, saying what was meant, where there is none.
    """
    name = re.split(r"[/:]", spec, maxsplit=1)[0]
    kind = _KINDS.find(name)
    if kind is not None:
        return kind

    named = load_judges()
    if spec in named:
        return _KINDS.get("openai")
    raise JudgeFileError(f"no judge {mask(spec)!r}{_advice(spec, name, [*named])}")


def _advice(spec: str, name: str, named: list[str]) -> str:
    """Return how the judge that was probably meant is written."""
    if name in _ELSEWHERE and spec != name:
        return (
            f"; no judge is of that kind, but its server speaks OpenAI's API: write "
            f"{_ELSEWHERE[name]} (the recipe is in docs/judges.md)"
        )

    kinds = _KINDS.names()
    hint = nearest(name, kinds) or nearest(spec, named)
    forms = ", ".join(_form(kind) for kind in kinds)
    return f"{hint}; a judge is {forms}, or a name from judges.yaml"


def _form(name: str) -> str:
    try:
        return _KINDS.get(name).form
    except LmmscoreError:
        # A package that cannot be loaded is no reason not to answer about another.
        return f"{name}/…"


# --------------------------------------------------------------------------------------------------
# Any judge with the ledger around it: what was answered once is not asked again.
# --------------------------------------------------------------------------------------------------

CLAIM_POLL_S = 0.05
"""How often to check whether another process has its answer."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A reply, and whether it came from the ledger."""

    reply: Reply
    recalled: bool
    key: str


class Recorded:
    """A judge whose every reply is in the ledger before anyone sees it.

    Resuming, caching and replaying are this one look-up; nothing else in the engine knows about
    them.
    """

    def __init__(self, judge: Judge | Answerer, ledger: Ledger, also: Ledger | None = None) -> None:
        self.judge = adapted(judge)
        self.asker = Asker.of(self.judge.name, self.judge.parameters)
        self.stopping: JudgeError | None = None
        """Once set, nothing new is asked: a question raises this error instead."""
        self._ledger = KnownAnswers(ledger, self.asker)
        self._also = KnownAnswers(also, self.asker) if also is not None else None
        self._intake = Intake(ledger)
        self._under_way: dict[str, _UnderWay] = {}

    def stop(self, error: JudgeError) -> None:
        """Ask nothing new from now on; the judge is told, so that no question keeps waiting."""
        self.stopping = error
        self.judge.stop(error)

    async def ask(self, conversation: Conversation, repeat: int) -> Heard:
        """Return the recorded reply, or ask for one and record it first."""
        key = key_of(self.asker, conversation, repeat)
        # Every session opens with the same words: sessions that ask the same thing at the same time
        # wait for one answer, or for the reason why there is none. If the one that asks is
        # cancelled, the next one asks.
        while (under_way := self._under_way.get(key)) is not None:
            await under_way.over.wait()
            if under_way.failure is not None:
                raise under_way.failure
            if under_way.heard is not None:
                return replace(under_way.heard, recalled=True)

        return await self._ask_for_all(key, conversation, repeat)

    @property
    def ledger(self) -> Ledger:
        """Where every reply is written down."""
        return self._ledger.ledger

    @property
    def elsewhere(self) -> Ledger | None:
        """A ledger of earlier answers, in which is looked before anyone is asked."""
        return self._also.ledger if self._also is not None else None

    def recall(self, conversation: Conversation, repeat: int) -> Heard | None:
        """Return the reply that is on record, if there is one. Asks no one."""
        key = key_of(self.asker, conversation, repeat)
        heard = self._ledger.find(key, conversation, repeat)
        if heard is None and self._also is not None:
            heard = self._also.find(key, conversation, repeat)
        return heard

    async def knows(self, conversation: Conversation, repeat: int) -> bool:
        """Tell whether a reply is on record."""
        return self.recall(conversation, repeat) is not None

    def last_repeat(self) -> int:
        """Return the highest repeat that this judge has answered; 0 where there is none."""
        return self._ledger.last_repeat()

    async def _ask_for_all(self, key: str, conversation: Conversation, repeat: int) -> Heard:
        """Ask on behalf of every session here that wants the same answer."""
        mine = self._under_way[key] = _UnderWay()
        try:
            mine.heard = await self._ask_once(key, conversation, repeat)
            return mine.heard
        except JudgeError as error:
            # Whatever may pass was waited for already, attempt after attempt, and the question is
            # the same to the letter: the others would only learn it later, one after the other.
            mine.failure = error
            raise
        finally:
            del self._under_way[key]
            mine.over.set()

    async def _ask_once(self, key: str, conversation: Conversation, repeat: int) -> Heard:
        """Return the answer of another process, or else claim the question and ask."""
        # Another process with the same ledger may be asking this very question: its answer will do.
        while not (found := await self._intake.take(key)):
            if self.stopping is not None:
                raise self.stopping
            await asyncio.sleep(CLAIM_POLL_S)

        if isinstance(found, Reply):
            return Heard(found, recalled=True, key=key)

        try:
            return await self._ask_claimed(key, conversation, repeat)
        finally:
            self.ledger.release(key)

    async def _ask_claimed(self, key: str, conversation: Conversation, repeat: int) -> Heard:
        """Return an answer from elsewhere, or ask; either is recorded first."""
        former = self._ledger.find_former(conversation, repeat)
        if former is not None:
            return former

        elsewhere = None
        if self._also is not None:
            elsewhere = self._also.find(key, conversation, repeat)

        if elsewhere is None and self.stopping is not None:
            raise self.stopping

        reply = await self.judge.ask(conversation) if elsewhere is None else elsewhere.reply
        try:
            # A reply that is paid for gets recorded even while its session is being cancelled.
            standing = await self.ledger.recorded(self.asker, conversation, repeat, reply)
        except LedgerError as error:
            raise NotRecorded(str(error)) from error

        return Heard(standing, recalled=elsewhere is not None, key=key)


class Intake:
    """Looks up and claims questions: all that come up in one turn of the event loop together.

    One by one, each would cost three transactions, and three times the wait for other threads.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting: dict[str, asyncio.Future[Reply | bool]] = {}

    def take(self, key: str) -> asyncio.Future[Reply | bool]:
        """Return the reply on record, or else whether the question is now this process's to ask.

        Raises JudgeError where the ledger cannot be read or written.
        """
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._serve)
        coming: asyncio.Future[Reply | bool] = loop.create_future()
        self._waiting[key] = coming
        return coming

    def _serve(self) -> None:
        """Answer all questions taken since this was scheduled."""
        waiting, self._waiting = self._waiting, {}
        try:
            known = _looked_up(self._ledger.find_all, [*waiting])
            claimed = self._claim([key for key in waiting if key not in known])
            # Recorded between look-up and claim: its owner has released the claim since.
            late = _looked_up(self._ledger.find_all, [*claimed])
        except JudgeError as error:
            for coming in waiting.values():
                if not coming.done():
                    coming.set_exception(error)

            return

        # A session cancelled in the meantime asks nothing.
        given_up = [key for key, coming in waiting.items() if coming.done()]
        self._ledger.release(*late, *given_up)
        for key, coming in waiting.items():
            if not coming.done():
                coming.set_result(known.get(key) or late.get(key) or key in claimed)

    def _claim(self, keys: list[str]) -> set[str]:
        try:
            return self._ledger.claim(*keys)
        except LedgerError as error:
            raise NotRecorded(str(error)) from error


class KnownAnswers:
    """A ledger as one judge's memory, under its name and under the names it had before.

    Version 0.1 made the server's address a part of a judge's name, and so of every key.
    """

    def __init__(self, ledger: Ledger, asker: Asker) -> None:
        self.ledger = ledger
        self._asker = asker
        self._former: list[Asker] = []
        if asker.judge.startswith("openai/"):
            known = _looked_up(ledger.askers)
            self._former = [each for each in known if _is_former(each, asker)]

    @property
    def askers(self) -> tuple[Asker, ...]:
        """The judge by its name, then by the names it had before."""
        return (self._asker, *self._former)

    def find(self, key: str, conversation: Conversation, repeat: int) -> Heard | None:
        """Return the recorded reply with the key it is known by, or None."""
        reply = _looked_up(self.ledger.find, key)
        if reply is not None:
            return Heard(reply, recalled=True, key=key)
        return self.find_former(conversation, repeat)

    def find_former(self, conversation: Conversation, repeat: int) -> Heard | None:
        """Return the reply recorded under a name that the judge had before, or None."""
        for former in self._former:
            former_key = key_of(former, conversation, repeat)
            reply = _looked_up(self.ledger.find, former_key)
            if reply is not None:
                return Heard(reply, recalled=True, key=former_key)
        return None

    def last_repeat(self) -> int:
        """Return the highest repeat on record."""
        return max(self.ledger.last_repeat(asker) for asker in self.askers)


def spending_of(folder: Path, ledger_path: Path) -> Spending:
    """Return the account of a run's folder: a budget covers all parts of a run."""
    path, before_usd = folder / "spending.csv", 0.0
    if not path.exists() and ledger_path == folder / "ledger.sqlite" and ledger_path.is_file():
        # A folder that never had, or has lost, its own account: what its ledger has priced is the
        # least it spent.
        with Ledger(ledger_path, read_only=True) as earlier:
            before_usd = earlier.cost_usd()

    return Spending(path, before_usd)


class _UnderWay:
    """A question that is in flight."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.heard: Heard | None = None
        self.failure: JudgeError | None = None


def _is_former(former: Asker, asker: Asker) -> bool:
    same_judge = identity_of(former.judge) == asker.judge and former.judge != asker.judge
    return same_judge and former.parameters == asker.parameters


def _looked_up(look: Callable[..., T], *about: Any) -> T:
    """Return what a ledger says. Raises LedgerUnreadable, which stops the run, where it cannot."""
    try:
        return look(*about)
    except LedgerError as error:
        raise LedgerUnreadable(str(error)) from error


# --------------------------------------------------------------------------------------------------
# Judges that answer from a record, a ledger or a published transcript; no model is asked.
# --------------------------------------------------------------------------------------------------


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
        try:
            kind = _KINDS.find(self._name)
        except LmmscoreError:
            # Its package cannot be loaded, which is no obstacle to what it said before.
            return ""
        return kind.caution if kind is not None else ""

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
