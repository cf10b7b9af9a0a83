"""What limits the asking of a judge: its price, its pace, and the files a process may open.

Pictures are estimated by published formulas, words by their length, and earlier turns are known by
what the server counted. The same estimates are held against a budget and against a quota of tokens.

Sources of the formulas, read in 2025: OpenAI "Images and vision" (tiles and patches), Anthropic
"Vision" (pixels / 750, long edge 1568), Google "Understand and count tokens" (258 a tile), the
Qwen2-VL and LLaVA papers.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import heapq
import itertools
import math
import os
import random
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Literal, Protocol
from weakref import WeakKeyDictionary

from lmmscore.conversation import Conversation, Message
from lmmscore.errors import (
    BudgetExhausted,
    FileProblem,
    JudgeFileError,
    LmmscoreError,
    NotRecorded,
    nearest,
)
from lmmscore.images import Picture, Recipe, fitted_size, read_header
from lmmscore.judges.faults import Trouble, span_s
from lmmscore.options import option
from lmmscore.records import Reply, Usage

ServerSign = Literal["no responses", "lost state", "no files"]
SpendingKind = Literal["set aside", "given back", "counted", "assumed"]
NOTICES = "lmmscore.judges.notices"
"""The logger of notices to the user, apart so that a program can show them in its own way."""
GUESS_TOKENS = 1000
"""For a model whose provider has published no formula."""


@dataclass(frozen=True, slots=True)
class ImageTokens:
    """A count, and whether it is a guess of ours rather than the provider's formula."""

    tokens: int
    guess: bool
    formula: str


Formula = Callable[[int, int, str | None], int]


def _fit(width: float, height: float, side: float) -> tuple[float, float]:
    scale = min(1.0, side / max(width, height))
    return width * scale, height * scale


def tiles(base: int, tile: int) -> Formula:
    """OpenAI's larger models: within 2048², then the shorter side to 768, cut into tiles of 512."""

    def count(width: int, height: int, detail: str | None) -> int:
        if detail == "low":
            return base

        w, h = _fit(width, height, 2048)
        scale = min(1.0, 768 / min(w, h))
        # Rounded first: a side of 512.0000000001 is one tile, not two.
        across = math.ceil(round(w * scale, 6) / 512)
        down = math.ceil(round(h * scale, 6) / 512)
        return base + tile * across * down

    return count


def patches(factor: float) -> Formula:
    """OpenAI's smaller models: patches of 32, at most 1536, times a factor of the model."""

    most = 1536

    def count(width: int, height: int, _detail: str | None) -> int:
        number = math.ceil(width / 32) * math.ceil(height / 32)
        if number > most:
            shrink = math.sqrt(32**2 * most / (width * height))
            across, down = width * shrink / 32, height * shrink / 32
            # A little more, so that one side holds a whole number of patches.
            shrink *= min(math.floor(across) / across, math.floor(down) / down)
            number = min(most, math.ceil(width * shrink / 32) * math.ceil(height * shrink / 32))

        return math.ceil(number * factor)

    return count


def anthropic(width: int, height: int, _detail: str | None) -> int:
    """Claude: pixels / 750 once the long edge is within 1568; at most about 1600."""
    w, h = _fit(width, height, 1568)
    return min(1600, math.ceil(w * h / 750))


def gemini(width: int, height: int, _detail: str | None) -> int:
    """Gemini: 258 for a small picture, else 258 for each tile of at most 768."""
    if max(width, height) <= 384:
        return 258
    unit = max(256, min(768, math.floor(min(width, height) / 1.5)))
    return 258 * math.ceil(width / unit) * math.ceil(height / unit)


def qwen(width: int, height: int, _detail: str | None) -> int:
    """Qwen2-VL and 2.5-VL: one token for 28 × 28 pixels, and two marks."""
    return max(4, round(height / 28) * round(width / 28)) + 2


def fixed(tokens: int) -> Formula:
    """The same for every picture, as with LLaVA-1.5."""
    return lambda _width, _height, _detail: tokens


FORMULAS: dict[str, Formula] = {
    "openai-tiles": tiles(85, 170),
    "openai-tiles-mini": tiles(2833, 5667),
    "openai-tiles-o": tiles(75, 150),
    "openai-tiles-5": tiles(70, 140),
    "openai-patches-mini": patches(1.62),
    "openai-patches-nano": patches(2.46),
    "openai-patches-o4": patches(1.72),
    "anthropic": anthropic,
    "gemini": gemini,
    "qwen": qwen,
    "llava": fixed(576),
}

_BY_MODEL = [
    (r"gpt-4o-mini", "openai-tiles-mini"),
    (r"gpt-(4\.1|5)-mini", "openai-patches-mini"),
    (r"gpt-(4\.1|5)-nano", "openai-patches-nano"),
    (r"o4-mini", "openai-patches-o4"),
    (r"gpt-5(-chat|-20\d\d|$)", "openai-tiles-5"),
    (r"gpt-4o|chatgpt-4o|gpt-4\.1|gpt-4\.5|gpt-4-turbo|gpt-4-vision", "openai-tiles"),
    (r"(^|/)o[13](-|$)", "openai-tiles-o"),
    (r"claude", "anthropic"),
    (r"gemini", "gemini"),
    (r"qwen-?2(\.5)?-?vl|qwen.*-vl-(max|plus)", "qwen"),
    (r"llava(-1\.5|-v1\.5|:7b|:13b)?$", "llava"),
]


def formula_name(model: str, named: str) -> str:
    """Return the formula for a model: the one named, else the one known, else nothing."""
    if named and named not in FORMULAS:
        raise JudgeFileError(
            f"unknown image_tokens {named!r}{nearest(named, FORMULAS)}; known: "
            f"{', '.join(FORMULAS)}"
        )

    matches = (name for pattern, name in _BY_MODEL if re.search(pattern, model.lower()))
    return named or next(matches, "")


def image_tokens(
    model: str, width: int, height: int, detail: str | None = None, named: str = ""
) -> ImageTokens:
    """Return what a picture of this size, as sent, counts for with this model."""
    name = formula_name(model, named)
    if not name:
        return ImageTokens(GUESS_TOKENS, True, "guess")
    return ImageTokens(FORMULAS[name](width, height, detail), False, name)


MESSAGE_TOKENS = 6
"""What the marks around a message come to, generously."""
REPLY_TOKENS = 1024
"""The length of a reply to reserve for where nothing limits it and none was seen yet."""
_KEPT = 4096
"""How many conversations' counts are remembered: those under way, and many more."""


def text_tokens(text: str, bytes_each: float = 4.0) -> int:
    """Return about how many tokens a text is.

    English runs to four bytes a token; other scripts to fewer.
    """
    return math.ceil(len(text.encode("utf-8", "replace")) / bytes_each)


def shown_size(path: Path, recipe: Recipe) -> tuple[int, int]:
    """Return width and height of a picture as it is sent. Opens its header only."""
    header = read_header(path)
    return fitted_size(header.width, header.height, recipe.max_side_px)


@dataclass(frozen=True, slots=True)
class _Measured:
    """A picture as the formula sees it."""

    tokens: int
    long_px: int
    short_px: int


class Estimator:
    """Estimates on the high side: they are for reserving money and staying within quotas.

    Once a server has counted more than the formula says, no picture is assumed to cost less
    than the most expensive one so far.
    """

    def __init__(
        self,
        model: str,
        *,
        max_tokens: int | None = None,
        image_detail: str | None = None,
        formula: str = "",
    ) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self._image_detail = image_detail
        self._formula = formula
        self._counted: OrderedDict[str, int] = OrderedDict()
        self._pictures: dict[str, _Measured] = {}
        self._longest_reply = 0
        self._answered = False
        self._largest = (0, 0)
        """The longest and the shortest side up to which pictures have been answered about."""
        self._dearest = 0
        """The most that a picture came to by the server's count."""
        self._formula_short = False
        self._unseen = 0
        """What the server counts at the start beyond what was sent: words of its own."""

    def knows(self, conversation: Conversation) -> bool:
        """Whether a similar question was answered before; if not, the count may be far higher."""
        if not self._answered:
            return False

        added, _ = self._added(conversation)
        long_px, short_px = self._largest
        for message in added:
            for picture in message.images:
                shown = self._shown(picture)
                if shown.long_px > long_px or shown.short_px > short_px:
                    return False

        return True

    def prompt(self, conversation: Conversation) -> int:
        """Return how many tokens the conversation so far may be."""
        added, counted = self._added(conversation)
        before = counted or self._unseen
        return before + sum(self._message(message) for message in added)

    def reply(self) -> int:
        """Return how many tokens the reply may be: its limit, or more than any so far."""
        if self._max_tokens is not None:
            return self._max_tokens
        return max(REPLY_TOKENS, 2 * self._longest_reply)

    def all_tokens(self, conversation: Conversation) -> int:
        """Return what question and reply may come to together."""
        return self.prompt(conversation) + self.reply()

    def learn(self, conversation: Conversation, usage: Usage) -> None:
        """Keep what the server counted for a conversation, if it did."""
        if usage.completion_tokens is not None:
            self._longest_reply = max(self._longest_reply, usage.completion_tokens)

        added, before = self._added(conversation)
        if usage.prompt_tokens is not None:
            self._compare(added, before, usage.prompt_tokens - before)
            self._counted[conversation.digest] = usage.prompt_tokens
            while len(self._counted) > _KEPT:
                self._counted.popitem(last=False)

        self._answered = True
        for shown in (self._shown(picture) for message in added for picture in message.images):
            long_px, short_px = self._largest
            self._largest = (max(long_px, shown.long_px), max(short_px, shown.short_px))

    def _compare(self, added: list[Message], before: int, tokens: int) -> None:
        """Learn from a count by how much this server exceeds the formulas."""
        pictures = sum(len(message.images) for message in added)
        excess = tokens - sum(self._message(message) for message in added)
        if pictures:
            # Text runs to less than a token for each eight bytes nowhere; the rest went on the
            # pictures.
            words = sum(text_tokens(message.text, 8.0) for message in added)
            self._dearest = max(self._dearest, math.ceil((tokens - words) / pictures))
            self._formula_short |= excess > 0
        elif not before:
            self._unseen = max(self._unseen, excess)

    def _added(self, conversation: Conversation) -> tuple[list[Message], int]:
        """Return the messages since the last count, and that count."""
        added: list[Message] = []
        for node, message in conversation.backwards():
            if node.digest in self._counted:
                return added, self._counted[node.digest]
            added.append(message)
        return added, 0

    def _message(self, message: Message) -> int:
        # 2.5 bytes a token, where English has four: an estimate must not fall short in any script.
        words = text_tokens(message.text, 2.5) + MESSAGE_TOKENS
        least = self._dearest if self._formula_short else 0
        return words + sum(max(least, self._shown(picture).tokens) for picture in message.images)

    def _shown(self, picture: Picture) -> _Measured:
        """Return what a picture comes to; its file is opened once."""
        known = self._pictures.get(picture.digest)
        if known is None:
            width, height = shown_size(picture.path, picture.recipe)
            counted = image_tokens(self._model, width, height, self._image_detail, self._formula)
            # Where there is no formula, reserve for twice our guess.
            tokens = counted.tokens * (2 if counted.guess else 1)
            known = _Measured(tokens, max(width, height), min(width, height))
            self._pictures[picture.digest] = known

        return known


# --------------------------------------------------------------------------------------------------
# Money: prices, running totals, the account of a run, and what may not be exceeded.
#
# Money is set aside before a question is sent and settled after, whatever happens in between. The
# sum of the lines of spending.csv is what may have been spent: a process that is killed gives
# nothing back, since the server may have charged for what was in flight.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens, as they stood on a day."""

    input: float = option(0.0, "For what is sent.", section="prices", at_least=0, required=True)
    output: float = option(
        0.0,
        "For what comes back, reasoning included.",
        section="prices",
        at_least=0,
        required=True,
    )
    cached_input: float | None = option(
        None,
        "For a repeated prefix that the provider cached; as `input` if absent.",
        section="prices",
        at_least=0,
    )
    as_of: date | None = option(
        None, "The day on which these prices held.", section="prices", required=True
    )


@dataclass(slots=True)
class Meter:
    """Running totals of one judge. Read it at any time; only the judge writes it."""

    calls: int = 0
    """Questions answered."""
    requests: int = 0
    """Requests sent, retries and uploads included."""
    retries: int = 0
    in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    bytes_sent: int = 0
    """Bodies of all requests."""
    files_uploaded: int = 0
    cost_usd: float = 0.0
    """By the price list, over all parts of the run, including what is only assumed."""
    assumed_usd: float = 0.0
    """The part of the cost that no server counted: answers lost on the way, or without a count."""
    models: set[str] = field(default_factory=set)
    """Every exact model that answered."""
    servers: Counter[str] = field(default_factory=Counter)
    """How many questions each server answered, by its base URL."""
    moves: int = 0
    """How often a session went to another server because its own failed."""
    notices: list[str] = field(default_factory=list)
    """What the user should know: a fallback, a server that fails or is back."""
    signs: dict[ServerSign, str] = field(default_factory=dict)
    """What a server turned out to lack, with the notice about it."""

    def count(self, usage: Usage) -> None:
        """Add the tokens of one answer."""
        self.calls += 1
        self.prompt_tokens += usage.prompt_tokens or 0
        self.completion_tokens += usage.completion_tokens or 0
        self.cached_tokens += usage.cached_tokens or 0

    def tokens(self) -> dict[str, int]:
        """Return the running totals of tokens by kind."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cached_tokens": self.cached_tokens,
        }

    def notice(self, text: str, sign: ServerSign | None = None, *, again: bool = False) -> bool:
        """Keep a notice, once unless `again`, and return whether it was kept."""
        if sign is not None:
            self.signs.setdefault(sign, text)
        if text in self.notices and not again:
            return False
        self.notices.append(text)
        return True


class Spending:
    """The file `spending.csv` of a run folder.

    `counted` is what servers counted; the rest is assumed.
    """

    def __init__(self, path: Path, before_usd: float = 0.0) -> None:
        """Read what is there.

        Where there is no file yet, it starts with what was spent before there was one.
        """
        self._path = path
        self._file: int | None = None
        self._carried_usd = 0.0 if path.exists() else before_usd
        rows = _read(path) if path.exists() else []
        total_usd = math.fsum(usd for usd, _ in rows)
        counted_usd = math.fsum(usd for usd, what in rows if what == "counted")
        self.total_usd = max(0.0, total_usd) + self._carried_usd
        self.counted_usd = counted_usd + self._carried_usd
        self.committed_usd = self.total_usd
        """What is spent or set aside by now, by all judges that keep this book."""

    def write(self, *rows: tuple[float, SpendingKind]) -> None:
        """Append lines, all at once. Raises NotRecorded."""
        rows = tuple((usd, what) for usd, what in rows if usd)
        if not rows:
            return

        try:
            if self._file is None:
                self._open()

            self._append(*rows)
            self.committed_usd += math.fsum(usd for usd, _ in rows)
        except OSError as error:
            raise NotRecorded(
                f"{self._path}: cannot be written ({error.strerror or error}); make room, then run "
                "the same command"
            ) from error

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> None:
        new = not self._path.exists()
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        if new:
            os.write(self._file, b"usd,what")
            self._append((self._carried_usd, "counted"))

    def _append(self, *rows: tuple[float, SpendingKind]) -> None:
        assert self._file is not None
        # The line break comes first, so that a line cut short by a full disk cannot spoil the one
        # after it.
        os.write(self._file, "".join(f"\n{usd:.9f},{what}" for usd, what in rows).encode())


def _read(path: Path) -> list[tuple[float, str]]:
    """Return the amounts of an account, and what each is; lines cut short are left out."""
    found: list[tuple[float, str]] = []
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.reader(file):
                usd = _number(row[0]) if len(row) == 2 else None
                if usd is not None:
                    found.append((usd, row[1]))
    except (OSError, csv.Error) as error:
        raise FileProblem(
            f"{path}: cannot be read ({error}); it says what the run has spent"
        ) from error

    return found


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True, slots=True)
class Reservation:
    """Money set aside for one question."""

    usd: float


class Budget:
    """What has been spent, what is set aside for questions in flight, and the cap.

    A subclass may have the money elsewhere: several processes can share one budget.
    """

    def __init__(self, cap_usd: float | None, spent_usd: float = 0.0) -> None:
        self.cap_usd = cap_usd
        self.spent_usd = spent_usd
        self.assumed_usd = 0.0
        """The part of what was spent that no server counted."""
        self.reserved_usd = 0.0
        self._book: Spending | None = None
        self._in_flight = 0
        self._settled = asyncio.Event()

    def keep(self, book: Spending) -> None:
        """Continue from what a run has spent so far, and write down what it spends from now on."""
        self._book = book
        self.spent_usd += book.total_usd
        self.assumed_usd += max(0.0, book.total_usd - book.counted_usd)

    async def reserve(self, most_usd: Callable[[], float]) -> Reservation:
        """Set money aside for a question; without a cap there is no need to.

        Waits while only questions in flight stand in the way, and raises when nothing else does.
        What is learnt meanwhile counts: `most_usd` is called again after each wait.
        """
        if self.cap_usd is None:
            self._in_flight += 1
            return Reservation(0.0)

        while self._short(usd := most_usd()):
            if not self._in_flight:
                raise BudgetExhausted(
                    f"budget: {self.spent_usd:.2f} of {self.cap_usd:.2f} USD spent, and the next "
                    f"question may cost {usd:.3f}; everything paid for is saved: resume with a "
                    "larger --budget"
                )

            self._settled.clear()
            await self._settled.wait()

        # Written before the question is sent: a process that is killed leaves the money set aside.
        if self._book is not None:
            self._book.write((usd, "set aside"))

        self.reserved_usd += usd
        self._in_flight += 1
        return Reservation(usd)

    def settle(self, reservation: Reservation, usd: float, *, assumed: bool = False) -> None:
        """Give back what was set aside and book what it cost, or is assumed to have cost."""
        self.spent_usd += usd
        self.assumed_usd += usd if assumed else 0.0
        self._in_flight -= 1
        self.reserved_usd = self.reserved_usd - reservation.usd if self._in_flight else 0.0
        self._settled.set()

        if self._book is not None:
            # If this cannot be written, the money stays set aside in the file: too much, never too
            # little.
            with contextlib.suppress(NotRecorded):
                self._book.write(
                    (-reservation.usd, "given back"), (usd, "assumed" if assumed else "counted")
                )

    def charge(self, usd: float, *, assumed: bool = False) -> None:
        """Book what was spent without being set aside first, as batches are. Raises NotRecorded."""
        self.spent_usd += usd
        self.assumed_usd += usd if assumed else 0.0
        if self._book is not None:
            self._book.write((usd, "assumed" if assumed else "counted"))

    def _short(self, usd: float) -> bool:
        """Whether the budget has no room for this much."""
        assert self.cap_usd is not None
        # Sums of cents in binary: a question that fits exactly must not fail for the last bit.
        committed_usd = self.spent_usd + self.reserved_usd
        if self._book is not None:
            # A reader may spend from the same budget.
            committed_usd = max(committed_usd, self._book.committed_usd)

        return committed_usd + usd > self.cap_usd + 1e-9


def cost_usd(prices: Prices, usage: Usage) -> float | None:
    """Return what an answer cost, or None when the server did not say how long it was."""
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None

    cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    fresh = usage.prompt_tokens - cached
    return (
        fresh * prices.input + cached * cached_price + usage.completion_tokens * prices.output
    ) / 1e6


@dataclass(slots=True)
class Sending:
    """An attempt: what it is about, and whether the server may be answering it now."""

    conversation: Conversation
    in_flight: bool = False


Send = Callable[[Sending], Awaitable[Reply]]
_UNCOUNTED = Usage()


class Till:
    """Charges each attempt: what the server counted, or else what it may have cost."""

    def __init__(
        self, prices: Prices | None, budget: Budget, estimator: Estimator, meter: Meter
    ) -> None:
        self._prices = prices
        self._budget = budget
        self._estimator = estimator
        self._meter = meter
        self._first_of_its_kind = asyncio.Lock()
        self._show()

    def keep(self, book: Spending) -> None:
        """Continue from what a run has spent before, and write down what it spends."""
        self._budget.keep(book)
        self._show()

    def share(self, budget: Budget) -> None:
        """Take money from a budget that others take from too."""
        self._budget = budget

    @property
    def left_usd(self) -> float | None:
        """What may still be spent; None where there is no limit."""
        cap = self._budget.cap_usd
        return None if cap is None else cap - self._budget.spent_usd

    def charge(self, usd: float, *, assumed: bool) -> None:
        """Book what was spent by another way than asking."""
        self._budget.charge(usd, assumed=assumed)
        self._show()

    async def charged(self, conversation: Conversation, send: Send) -> Reply:
        """Return the reply to a question sent once, with its price where it was counted."""
        if self._budget.cap_usd is not None and not self._estimator.knows(conversation):
            # A server may count far more than any formula says. One question finds out; the others
            # wait for it.
            async with self._first_of_its_kind:
                if not self._estimator.knows(conversation):
                    return await self._charge(conversation, send)

        return await self._charge(conversation, send)

    async def _charge(self, conversation: Conversation, send: Send) -> Reply:
        """Set money aside, send, and settle what it cost, whatever happens."""
        reservation = await self._budget.reserve(lambda: self.most_usd(conversation))
        sending = Sending(conversation)
        try:
            reply = await send(sending)
        except Trouble as trouble:
            self._settle_lost(reservation, conversation, paid=trouble.paid)
            raise
        except BaseException:
            self._settle_lost(reservation, conversation, paid=sending.in_flight)
            raise

        counted = cost_usd(self._prices, reply.usage) if self._prices else None
        usd = self.most_usd(conversation, reply.usage) if counted is None else counted
        if self._budget.cap_usd is not None:
            self._estimator.learn(conversation, reply.usage)

        self._settle(reservation, usd, assumed=counted is None)
        return reply if counted is None else replace(reply, cost_usd=counted)

    def _settle_lost(
        self, reservation: Reservation, conversation: Conversation, *, paid: bool
    ) -> None:
        usd = (reservation.usd or self.most_usd(conversation)) if paid else 0.0
        self._settle(reservation, usd, assumed=paid)

    def _settle(self, reservation: Reservation, usd: float, *, assumed: bool) -> None:
        self._budget.settle(reservation, usd, assumed=assumed)
        self._show()

    def _show(self) -> None:
        self._meter.cost_usd = self._budget.spent_usd
        self._meter.assumed_usd = self._budget.assumed_usd

    def most_usd(self, conversation: Conversation, counted: Usage = _UNCOUNTED) -> float:
        """Return what an exchange may cost at most, by what was counted or else estimated."""
        if self._prices is None:
            return 0.0

        prompt = counted.prompt_tokens
        if prompt is None:
            prompt = self._estimator.prompt(conversation)

        reply = counted.completion_tokens
        if reply is None:
            reply = self._estimator.reply()

        usage = Usage(prompt, reply, counted.cached_tokens)
        return cost_usd(self._prices, usage) or 0.0


# --------------------------------------------------------------------------------------------------
# Pace: how fast a server is asked, and how often. Quotas, congestion, retries, open files.
#
# Every question waits at a `Pace` before it is sent. The session that began first goes first, new
# ones last, so that the turns of few sessions follow back to back and meet a warm prefix cache.
# --------------------------------------------------------------------------------------------------

_LONGEST_RESET_S = 31 * 86_400.0
"""No quota takes longer than a month to refill; what says so is no span of time."""
_MOST_FILES = 65_536
"""How far the limit is raised where the system names none: more than any run opens."""
_MOST_OTHERS = 96
_LEAST_FILES = 40
"""What a run has open besides connections: about 20 files where one question is asked at a time."""


class Clock:
    """Seconds, and a way to let them pass. Tests pass a clock that does not wait."""

    def now(self) -> float:
        """Return the seconds since a moment that stays the same."""
        return time.monotonic()

    def wall(self) -> float:
        """Return the seconds since 1970: servers name dates."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait without holding up anyone else."""
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Quota:
    """One of a server's limits, as it announces it."""

    limit: float
    remaining: float
    rate: float
    """How much of it comes back each second."""


class Bucket:
    """A level that refills steadily, like the quotas of providers.

    A large taking may leave a debt; the next one waits until it is paid.
    """

    __slots__ = ("_at_s", "_capacity", "_level", "_rate")

    def __init__(self, rate: float, capacity: float, now_s: float) -> None:
        self._rate = rate
        self._capacity = capacity
        self._level = capacity
        self._at_s = now_s

    def wait_s(self, amount: float, now_s: float) -> float:
        """Return how long until that much may be taken."""
        self._refill(now_s)
        short = min(amount, self._capacity) - self._level
        return max(0.0, short / self._rate) if short > 1e-9 else 0.0

    def take(self, amount: float, now_s: float) -> None:
        """Take an amount; a negative one gives back."""
        self._refill(now_s)
        self._level = min(self._capacity, self._level - amount)

    def tell(self, quota: Quota, now_s: float) -> None:
        """Adopt the server's count, unless ours, which includes what is in flight, is lower."""
        self._refill(now_s)
        self._rate, self._capacity = quota.rate, quota.limit
        self._level = min(self._level, quota.remaining)

    def _refill(self, now_s: float) -> None:
        self._level = min(self._capacity, self._level + (now_s - self._at_s) * self._rate)
        self._at_s = now_s


def announced(headers: Mapping[str, str], wall_s: float) -> dict[str, Quota]:
    """Return the quotas in a response's headers, by `requests` and `tokens`.

    Header names are in lower case.
    """
    found: dict[str, Quota] = {}
    if not any("ratelimit" in name for name in headers):
        return found

    for what in ("requests", "tokens"):
        quota = _quota(headers, what, wall_s)
        if quota is not None:
            found[what] = quota

    return found


def _quota(headers: Mapping[str, str], what: str, wall_s: float) -> Quota | None:
    """Return a quota as OpenAI or Anthropic announce it; None where the headers do not say it."""
    for pattern in ("x-ratelimit-{field}-" + what, "anthropic-ratelimit-" + what + "-{field}"):
        try:
            limit = float(headers[pattern.format(field="limit")])
            remaining = float(headers[pattern.format(field="remaining")])
        except (KeyError, ValueError):
            continue

        if not (0 < limit < math.inf and math.isfinite(remaining)):
            continue

        reset_s = span_s(headers.get(pattern.format(field="reset"), ""), wall_s)
        if reset_s is not None and not 0 < reset_s <= _LONGEST_RESET_S:
            # A negative span, or the time of day by somebody's clock: it does not say how fast the
            # quota refills.
            reset_s = None

        # A limit is per minute unless the time until it is full again says otherwise (some count by
        # the day).
        rate = (limit - remaining) / reset_s if reset_s and limit > remaining else limit / 60
        return Quota(limit, max(0.0, remaining), max(rate, limit / 86_400))

    return None


@dataclass(order=True, slots=True)
class _Waiting:
    rank: tuple[int, int]
    session: Conversation | None = field(compare=False)
    tokens: float = field(compare=False)
    go: asyncio.Future[None] = field(compare=False)


class Pace:
    """The gate in front of one server.

    After congestion all wait as long as the server asks, then one question goes first; every answer
    lets more through, quickly up to half of what was in flight before, one by one above that.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        rpm: float | None = None,
        tpm: float | None = None,
        most: int | None = None,
    ) -> None:
        self._clock = clock
        self._most = most
        self._open = False
        self._buckets: dict[str, Bucket] = {}
        """The user's limits, and beside them those that the server announces, whose names are
        `requests` and `tokens`."""

        # Small, so that questions are spread over the minute: one that held a minute's worth would
        # let it all through at once.
        if rpm:
            self._buckets["set requests"] = Bucket(rpm / 60, 1.0, clock.now())

        if tpm:
            self._buckets["set tokens"] = Bucket(tpm / 60, tpm / 60, clock.now())

        self.in_flight = 0
        self._window: float | None = None
        """How many may be in flight after congestion; None where there was none recently."""
        self._threshold = 1.0
        """Half of what was in flight at the last congestion: above it the window grows slowly."""
        self._before_s = 0.0
        """Nothing is sent before this time."""
        self._slowed_s = float("-inf")
        """When it was last slowed down."""
        self._waiting: list[_Waiting] = []
        self._arrivals = itertools.count()
        self._begun: WeakKeyDictionary[Conversation, int] = WeakKeyDictionary()
        """When each session's first question was let through."""
        self._timer: asyncio.Task[None] | None = None
        self._wake_at_s = 0.0

    @property
    def counts_tokens(self) -> bool:
        """Whether it matters how long a question is."""
        return any(name.endswith("tokens") for name in self._buckets)

    async def admit(
        self, tokens: float, *, under_way: bool = False, session: Conversation | None = None
    ) -> float:
        """Wait for this question's turn; return the time at which it may be sent.

        Pair it with `leave`.

        `session` is the beginning of the conversation, the object itself: sessions may open with
        the same words. Something `under_way` that belongs to no session goes before all others.
        """
        if not self._waiting and self._may_go(tokens):
            self._go(tokens, session)
            return self._clock.now()

        go = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, _Waiting(self._rank(under_way, session), session, tokens, go))
        self._let_through()
        try:
            await go
        except asyncio.CancelledError:
            # Let through and cancelled at the same moment: the place is given back.
            if go.done() and not go.cancelled():
                self.leave()

            raise

        return self._clock.now()

    def _rank(self, under_way: bool, session: Conversation | None) -> tuple[int, int]:
        if session is not None and session in self._begun:
            return 1, self._begun[session]
        return 0 if under_way else 2, next(self._arrivals)

    def leave(self) -> None:
        """Note that an admitted question is no longer in flight."""
        self.in_flight -= 1
        self._let_through()

    def answered(
        self, headers: Mapping[str, str], *, sent_s: float, estimated: float, tokens: int | None
    ) -> None:
        """Learn from an answer: its tokens, the quota left, and that the server keeps up."""
        for name, quota in announced(headers, self._clock.wall()).items():
            bucket = self._buckets.setdefault(
                name, Bucket(quota.rate, quota.limit, self._clock.now())
            )
            bucket.tell(quota, self._clock.now())

        if tokens is not None:
            for name, bucket in self._buckets.items():
                if name.endswith("tokens"):
                    bucket.take(tokens - estimated, self._clock.now())

        if self._window is not None and sent_s > self._slowed_s:
            # As TCP does: one more for each answer at first, then one more for each full window.
            self._window += 1.0 if self._window < self._threshold else 1.0 / self._window
            if self._window > 4 * self._threshold + 64:
                # Far beyond any congestion so far: no window is needed any more.
                self._window = None

    def crowded(self, sent_s: float, wait_s: float) -> None:
        """Slow every session down: the question sent at `sent_s` was refused for congestion."""
        now = self._clock.now()
        self._before_s = max(self._before_s, now + wait_s)
        # A question sent before we last slowed down says nothing about the pace since.
        if sent_s >= self._slowed_s:
            self._threshold = max(1.0, self.in_flight / 2)
            self._window = 1.0
            self._slowed_s = now

        self._let_through()

    def _let_through(self) -> None:
        """Release every question that may go now, in order of rank."""
        while self._waiting:
            head = self._waiting[0]
            if head.go.done():
                heapq.heappop(self._waiting)
                continue

            if not self._may_go(head.tokens):
                return

            heapq.heappop(self._waiting)
            self._go(head.tokens, head.session)
            head.go.set_result(None)

    def _may_go(self, tokens: float) -> bool:
        """Whether a question may be sent now; if it only has to wait, set a timer."""
        if self._open:
            return True
        if self._full():
            return False

        wait_s = self._wait_s(tokens)
        if wait_s > 0:
            self._wake_in(wait_s)

        return wait_s <= 0

    def _go(self, tokens: float, session: Conversation | None) -> None:
        """Count a question as sent."""
        self.in_flight += 1
        if session is not None and session not in self._begun:
            self._begun[session] = next(self._arrivals)
        for name, bucket in self._buckets.items():
            bucket.take(tokens if name.endswith("tokens") else 1.0, self._clock.now())

    def _full(self) -> bool:
        window = self.in_flight + 1 if self._window is None else int(self._window)
        return self.in_flight >= min(window, self._most or window)

    def _wait_s(self, tokens: float) -> float:
        """Return the seconds until a question of this length may be sent; 0 or less means now."""
        now = self._clock.now()
        waits = [
            bucket.wait_s(tokens if name.endswith("tokens") else 1.0, now)
            for name, bucket in self._buckets.items()
        ]
        return max([self._before_s - now, *waits])

    def _wake_in(self, seconds: float) -> None:
        """Look at the queue again after this time, or earlier."""
        at_s = self._clock.now() + seconds
        if self._timer is not None:
            if self._wake_at_s <= at_s:
                return
            self._timer.cancel()

        self._wake_at_s = at_s
        self._timer = asyncio.create_task(self._wake(seconds))

    async def _wake(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self._timer = None
        self._let_through()

    def open(self) -> None:
        """Let every question through from now on, so that it learns that the run has stopped."""
        self._open = True
        self._let_through()

    def close(self) -> None:
        """Stop the timer, if one runs."""
        if self._timer is not None:
            self._timer.cancel()


class Gate(Protocol):
    """A pace that several processes keep together."""

    counts_tokens: bool
    """Whether it matters how long a question is."""

    async def admit(self, tokens: float) -> None:
        """Wait for a question's turn."""

    def settle(self, more: float) -> None:
        """Count what a question took beyond the tokens that it was admitted with."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a question is sent, and how long to wait in between."""

    attempts: int = 10
    first_s: float = 0.25
    longest_s: float = 30.0
    longest_asked_s: float = 900.0
    """A server that asks for a longer wait than this is left alone."""

    def wait_s(self, attempt: int, asked_s: float | None, rng: random.Random) -> float:
        """Return the wait after an attempt: at least what was asked for, and out of step."""
        backoff = min(self.longest_s, self.first_s * 2.0 ** (attempt - 1))
        if asked_s is None:
            return backoff * rng.uniform(0.5, 1.0)
        return asked_s + min(1.0, backoff) * rng.uniform(0.05, 0.25)

    def bears(self, asked_s: float | None) -> bool:
        """Whether a wait that the server asks for is short enough."""
        return asked_s is None or asked_s <= self.longest_asked_s


def connections_allowed() -> int | None:
    """Return how many connections may be open at once; None where the system has no limit."""
    files = files_allowed()
    if files is None:
        return None

    # The rest is for the ledger, pictures being read, the event loop and the terminal.
    return files - min(_MOST_OTHERS, max(_LEAST_FILES, files // 2))


def files_allowed() -> int | None:
    """Raise this process's limit on open files as far as allowed, and return it; None: no limit.

    Raises LmmscoreError where too few are left for a run. Asked before anything is opened: later,
    SQLite would blame the disk, and an import would fail half-way.
    """
    try:
        import resource
    except ImportError:  # Windows
        return None

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < highest:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest, hard))
            soft = highest
        except (OSError, ValueError):
            pass  # macOS caps it below what it reports: what there is must do

    if soft == resource.RLIM_INFINITY:
        return None
    if soft <= _LEAST_FILES:
        raise LmmscoreError(
            f"the system lets this process open {soft} files, which are too few for a run; "
            "`ulimit -n 256` allows more"
        )
    return soft
