"""What a run would take, without asking anyone: calls, pictures, bytes, tokens and price.

The plan is walked once and nothing of it is kept, so that a plan of any size takes the same memory.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from lmmscore.errors import NoRecordedReply
from lmmscore.execution.executor import LedSession, OpenQuestion
from lmmscore.images import Pictures, Recipe
from lmmscore.judges.config import JudgeOptions
from lmmscore.judges.judge import Heard, KnownAnswers
from lmmscore.judges.limits import (
    MESSAGE_TOKENS,
    Prices,
    cost_usd,
    image_tokens,
    shown_size,
    text_tokens,
)
from lmmscore.ledger import Asker, Ledger, key_of
from lmmscore.plan import Plan
from lmmscore.records import Usage
from lmmscore.scores import is_gated, settled
from lmmscore.session import Question, Session, Shown

REPLY_TOKENS = 300
"""The typical length of a reply, with the dialogs that come with lmmscore."""
CACHE_FROM_TOKENS = 1024
"""Providers cache prefixes of about this length or more."""
SAMPLE = 24
"""How many pictures are encoded to learn how many bytes a pixel takes."""
KEPT_SIZES = 4096
"""How many pictures' sizes are remembered: those of the current item, and more."""


@dataclass(slots=True)
class Forecast:
    """What a run would take, without repair turns, which depend on the judge."""

    sessions: int = 0
    sessions_recorded: int = 0
    """Sessions of which every answer is on record."""
    calls: int = 0
    """What several sessions ask in the same words counts once."""
    calls_recorded: int = 0
    """Questions whose answer is on record already; no part of `calls`."""
    waves: int = 0
    """How many batches must follow each other.

    As many as the longest session has questions, or as all sessions about an edit together where
    one may make the next unnecessary.
    """
    pictures: int = 0
    pictures_sent: int = 0
    """By Chat Completions, where every turn sends the history again."""
    bytes_chat: int = 0
    bytes_responses: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """The part of the prompt in the provider's prefix cache, if every turn hits it."""
    completion_tokens: int = 0
    image_tokens_guessed: bool = False
    image_formula: str = ""

    def price_usd(self, prices: Prices | None, *, cached: bool) -> float | None:
        """Return the price, with or without prefix caching; None where no price is known."""
        if prices is None:
            return None
        known = self.cached_tokens if cached else 0
        return cost_usd(prices, Usage(self.prompt_tokens, self.completion_tokens, known))


class Record:
    """What a ledger holds of a plan: how many of a session's questions need not be asked."""

    def __init__(self, ledger: Ledger, asker: Asker, recipe: Recipe) -> None:
        self._answers = KnownAnswers(ledger, asker)
        self._asker = asker
        self._pictures = Pictures(recipe)

    def replay(self, session: Session) -> LedSession:
        """Return the session led as far as answers are on record."""
        led = LedSession(session, self._pictures)
        led.recall(self._find)
        return led

    def _find(self, put: OpenQuestion) -> Heard | None:
        """Return the answer on record; None: it is to be asked.

        Raises NoRecordedReply for a reader's answer that is not there.
        """
        key = key_of(self._asker, put.conversation, put.repeat)
        if not put.question.aside:
            return self._answers.find(key, put.conversation, put.repeat)

        # Any reader will do: which one was asked is no part of the plan.
        ledger = self._answers.ledger
        for asker in ledger.askers():
            key = key_of(asker, put.conversation, put.repeat)
            reply = ledger.find(key)
            if reply is not None:
                return Heard(reply, recalled=True, key=key)

        raise NoRecordedReply("no reader was asked")


def forecast(
    plan: Plan,
    model: str,
    options: JudgeOptions,
    recipe: Recipe,
    record: Record | None = None,
) -> Forecast:
    """Return what a plan would take with a judge, less what is on record.

    Opens every picture's header, and encodes a few pictures to learn their size.
    """
    sums = _Sums(model, options, recipe)
    for unit in plan:
        sums.begin_item(unit.item.id, unit.item.task)
        left = [0]
        for session in plan.protocol.sessions(unit):
            led = record.replay(session) if record else None
            left.append(sums.add(session, led.turns_over if led else 0))
            if led and led.open() is None and settled(plan.protocol, led.played()):
                # Its answers make the rest of the suite unnecessary.
                break

        sums.add_waves(sum(left) if is_gated(plan.protocol) else max(left))

    # Anchors are asked again at every run, whatever is on record.
    for unit in plan.anchor_units(plan.repeats + 1):
        sums.begin_item(unit.item.id, unit.item.task)
        for session in plan.protocol.sessions(unit):
            sums.add(session, 0)

    return sums.total()


class _Sums:
    """The running totals of a plan."""

    def __init__(self, model: str, options: JudgeOptions, recipe: Recipe) -> None:
        self._recipe = recipe
        self._reply_tokens = min(options.max_tokens or REPLY_TOKENS, REPLY_TOKENS)
        self._result = Forecast()
        self._size = lru_cache(KEPT_SIZES)(lambda path: shown_size(path, recipe))
        self._tokens = lru_cache(KEPT_SIZES)(
            lambda path: image_tokens(
                model, *self._size(path), options.image_detail, options.image_tokens
            )
        )
        self._known = _KnownQuestions()
        self._item = ""
        self._shown: set[Path] = set()
        self._sample: list[Path] = []
        self._rng = random.Random(0)
        self._pixels_chat = 0
        self._pixels_responses = 0

    def begin_item(self, item: str, task: str) -> None:
        """Announce whose sessions come next; those of one item come together."""
        if item != self._item:
            self._item = item
            self._shown = set()
            self._known.begin(task)

    def add_waves(self, waves: int) -> None:
        """Take note of how many batches must follow each other for one unit."""
        self._result.waves = max(self._result.waves, waves)

    def add(self, session: Session, answered: int) -> int:
        """Count a session of which the first turns are on record; return how many are left."""
        questions = session.outline()
        asked_before = self._known.among(session.repeat, questions)
        self._result.sessions += 1
        self._result.sessions_recorded += answered >= len(questions)

        history: Counter[str] = Counter()
        for number, question in enumerate(questions):
            if question.fresh:
                history.clear()

            before = history["tokens"]
            new = self._load_of(question)
            history.update(new)
            if asked_before[number]:
                pass
            elif number < answered:
                self._result.calls_recorded += 1
            else:
                self._add_call(history, new, cached=before if before >= CACHE_FROM_TOKENS else 0)

            # The reply is repeated with every later question.
            history["tokens"] += self._reply_tokens + MESSAGE_TOKENS
            history["bytes"] += self._reply_tokens * 4 + 60

        return len(questions) - answered

    def _add_call(self, sent: Counter[str], new: Counter[str], cached: int) -> None:
        """Count a question: all that is sent with it, and what of that is new."""
        result = self._result
        result.calls += 1
        result.pictures_sent += sent["pictures"]
        result.prompt_tokens += sent["tokens"]
        result.cached_tokens += cached
        result.completion_tokens += self._reply_tokens
        result.bytes_chat += sent["bytes"]
        self._pixels_chat += sent["pixels"]

        # By Responses only what is new travels, and a picture as the file it is, once, in a form
        # of about 520 bytes.
        result.bytes_responses += new["bytes"] + 520 * new["pictures"]
        self._pixels_responses += new["pixels"]

    def _load_of(self, question: Question) -> Counter[str]:
        """Return what a question adds to its conversation, the examples before it included."""
        # A system message travels with every turn but is no turn of its own.
        load = self._message(question.system + question.text, question.images)
        for shot in question.shots:
            load.update(self._message(shot.text, shot.images))
            load.update(self._message(shot.heard, ()))

        return load

    def _message(self, text: str, images: Sequence[Shown]) -> Counter[str]:
        paths = [shown.path for shown in images]
        self._note(paths)
        seen = sum(self._tokens(path).tokens for path in paths)
        return Counter(
            tokens=text_tokens(text) + MESSAGE_TOKENS + seen,
            bytes=len(text.encode()) + 60 + 80 * len(paths),
            # Not as bytes: how many a pixel takes is known at the end.
            pixels=sum(_area(self._size(path)) for path in paths),
            pictures=len(paths),
        )

    def _note(self, paths: Sequence[Path]) -> None:
        """Count the pictures of this item, and keep a random sample of all."""
        for path in paths:
            if path in self._shown:
                continue

            self._shown.add(path)
            self._result.pictures += 1
            # Each picture of the plan is equally likely to end up in the sample, however many come.
            if len(self._sample) < SAMPLE:
                self._sample.append(path)
            else:
                place = self._rng.randrange(self._result.pictures)
                if place < SAMPLE:
                    self._sample[place] = path

            kind = self._tokens(path)
            self._result.image_tokens_guessed |= kind.guess
            self._result.image_formula = self._result.image_formula or kind.formula

    def total(self) -> Forecast:
        """Return the sums."""
        per_pixel = self._bytes_per_pixel()
        # In JSON a picture is in base64: four bytes for three.
        self._result.bytes_chat += round(self._pixels_chat * per_pixel * 4 / 3)
        self._result.bytes_responses += round(self._pixels_responses * per_pixel)
        return self._result

    def _bytes_per_pixel(self) -> float:
        """Return how many bytes an encoded pixel takes, on average over the sample."""
        if not self._sample:
            return 0.0

        pictures = Pictures(self._recipe)
        with ThreadPoolExecutor() as pool:
            weights = pool.map(lambda path: len(pictures.get(path).data()), self._sample)
            return sum(weights) / sum(_area(self._size(path)) for path in self._sample)


class _KnownQuestions:
    """Which questions were met before, so that what is asked once is counted once.

    The same words get the same reply: two conversations are one until the first question in which
    they differ. What several items have in common stands in all of them, so the questions of the
    item at hand and of the latest item of each task category are all that must be remembered.
    """

    def __init__(self) -> None:
        self._here: set[int] = set()
        self._latest: dict[str, set[int]] = {}
        self._others: list[set[int]] = []

    def begin(self, task: str) -> None:
        """Begin the sessions of another item."""
        self._here = set()
        self._others = [*self._latest.values()]
        self._latest[task] = self._here

    def among(self, repeat: int, questions: Sequence[Question]) -> list[bool]:
        """Return of each question whether an earlier session asks it, too."""
        found = []
        conversation = hash(repeat)
        for question in questions:
            # Its place in the dialog is no part of what is asked.
            asked = replace(question, turn="", position=None, fresh=False)
            conversation = hash((repeat if question.fresh else conversation, asked))
            known = conversation in self._here or any(conversation in each for each in self._others)
            found.append(known)
            self._here.add(conversation)

        return found


def _area(size: tuple[int, int]) -> int:
    return size[0] * size[1]
